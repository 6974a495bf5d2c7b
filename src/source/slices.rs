//! Plans that cut files into slices. Each slice can be read separately.
//!
//! The format of a plan is `formats/notes/slices.md`.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use memchr::memchr;
use serde::{Deserialize, Serialize};

use super::address::is_address;
use super::delta::name_of;
use super::format::{Compression, FileFormat};
use super::frames::{Frames, Limits};
use super::input::{self, SlicePart};
use super::notes::Notes;
use super::open::Source;
use super::options::SourceOptions;
use epdb_chess::codec::tally_origin::{self, PlanSlices};
use epdb_chess::error::{Error, Result};
use epdb_chess::text::lines::read_more;
use epdb_chess::text::pgn::line_ends;

/// Name of the format in a plan.
const FORMAT: &str = "epdb-slices";
const VERSION: u32 = 1;
/// Number of bytes at the start of a file, and at its end, that the fingerprint of the file covers.
const FINGERPRINT: u64 = 64 << 10;
/// Maximum number of slices of a plan.
pub const MAX_SLICES: u32 = tally_origin::MAX_SLICES;
/// Maximum number of bytes of a line that are examined at once.
const MAX_PART: usize = 1 << 18;
/// Start of a line that always begins a game, except among the tags of a game.
const EVENT: &[u8] = b"[Event \"";
/// The ends of games.
const MARKERS: [&[u8]; 4] = [b"1-0", b"0-1", b"1/2-1/2", b"*"];

/// A plan that cuts files into slices of about equal size.
///
/// ```
/// use std::sync::Arc;
/// use epdb_source::{Slice, SlicePlan, SourceOptions, Sources};
/// # let folder = std::env::temp_dir().join(format!("epdb-slices-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// # let path = folder.join("a.epd");
/// std::fs::write(&path, "8/8/8/4k3/8/1K6/8/8 b - -\n".repeat(100))?;
/// let plan = SlicePlan::new(&[path], 3, &SourceOptions::default())?;
/// let plan = Arc::new(SlicePlan::from_json(&plan.to_json())?);
/// let mut records = 0;
/// for slice in (0..3).filter_map(|number| Slice::new(Arc::clone(&plan), number)) {
///     records += Sources::new(slice, &SourceOptions::default()).records().count();
/// }
/// assert_eq!(records, 100);
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), epdb_chess::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlicePlan {
    format: String,
    version: u32,
    files: Vec<PlannedFile>,
    slices: Vec<Vec<SlicePart>>,
}

/// A file of a plan, which must stay the same.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PlannedFile {
    path: PathBuf,
    bytes: u64,
    /// BLAKE3 of the first and the last bytes, in hexadecimal digits.
    blake3: String,
}

/// A place at which a file is cut.
#[derive(Copy, Clone)]
struct Cut {
    offset: u64,
    skip: u64,
    byte: u64,
    line: u64,
}

impl Cut {
    const START: Cut = Cut { offset: 0, skip: 0, byte: 0, line: 1 };
}

impl SlicePlan {
    /// Reads files to find `slices` slices of about equal size, from 1 to [`MAX_SLICES`]. Text is
    /// cut at lines, and games at lines that begin with `[Event `. A compressed file is cut only if
    /// its frames announce their sizes, as frames of `pzstd` do. Other files are not cut.
    ///
    /// # Errors
    /// A file cannot be read, or is standard input. A file that would be cut has games without
    /// `[Event `. The number of slices is out of range.
    pub fn new(paths: &[PathBuf], slices: u32, options: &SourceOptions) -> Result<SlicePlan> {
        check_count(slices as usize)?;
        let files = paths.iter().map(|path| PlannedFile::new(path)).collect::<Result<Vec<_>>>()?;
        let total: u64 = files.iter().map(|file| file.bytes).sum();
        let ends: Vec<u64> = (1..u64::from(slices))
            .map(|end| (u128::from(total) * u128::from(end) / u128::from(slices)) as u64)
            .collect();
        let mut made = Vec::new();
        let mut slice = Vec::new();
        let mut before = 0;
        let mut ends = ends.into_iter().peekable();
        for (index, file) in files.iter().enumerate() {
            let mut wanted = Vec::new();
            while let Some(end) = ends.next_if(|end| *end < before + file.bytes) {
                wanted.push(end - before);
            }
            let mut parts = parts_of(index, file, &wanted, options)?.into_iter();
            slice.extend(parts.next().flatten());
            for part in parts {
                made.push(std::mem::take(&mut slice));
                slice.extend(part);
            }
            before += file.bytes;
        }
        made.push(slice);
        // Slices of empty files.
        made.resize(slices as usize, Vec::new());
        Ok(SlicePlan { format: FORMAT.to_string(), version: VERSION, files, slices: made })
    }

    /// Reads the text of a plan.
    ///
    /// # Errors
    /// The text is not a plan of this version, or its parts do not make up whole files.
    pub fn from_json(text: &str) -> Result<SlicePlan> {
        #[derive(Deserialize)]
        struct Head {
            format: String,
            version: u32,
        }
        let not_plan = |error| Error::new("not a plan of slices").because(error);
        let head: Head = serde_json::from_str(text).map_err(not_plan)?;
        if head.format != FORMAT {
            return Err(Error::new(format!(
                "not a plan of slices: its format is {:?}, not {FORMAT:?}",
                head.format
            )));
        }
        if head.version != VERSION {
            let version = head.version;
            return Err(Error::new(format!(
                "the plan has version {version}, and this program reads version {VERSION}: plan again"
            )));
        }
        let plan: SlicePlan = serde_json::from_str(text).map_err(not_plan)?;
        plan.check()?;
        Ok(plan)
    }

    /// The text of the plan, in JSON.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }

    /// BLAKE3 hash of the plan. Files that were made with the plan store this hash to identify the
    /// plan.
    pub fn id(&self) -> [u8; 32] {
        *blake3::hash(self.to_json().as_bytes()).as_bytes()
    }

    /// Number of slices.
    pub fn len(&self) -> usize {
        self.slices.len()
    }

    /// Whether the plan has no slices.
    pub fn is_empty(&self) -> bool {
        self.slices.is_empty()
    }

    /// The parts of the slice with this number, in the order of the files. Slices are numbered from 0.
    /// No parts if there is no such slice.
    pub fn slice(&self, slice: usize) -> &[SlicePart] {
        self.slices.get(slice).map_or(&[], Vec::as_slice)
    }

    fn path(&self, part: &SlicePart) -> &Path {
        self.files.get(part.file).map_or(Path::new(""), |file| &file.path)
    }

    /// Opens a part as a source with the name and the line numbers of its file.
    ///
    /// # Errors
    /// The file cannot be read, or it has changed since the plan was made.
    fn open(&self, part: &SlicePart, options: &SourceOptions) -> Result<Source> {
        let path = self.path(part);
        if let Some(planned) = self.files.get(part.file) {
            planned.check()?;
        }
        if part.is_whole() {
            return Source::open(path, options);
        }
        Source::open_part(path, part, options)
    }

    /// Checks the number of slices, and that the parts of each file follow each other and make up the
    /// file.
    fn check(&self) -> Result<()> {
        check_count(self.len())?;
        let mut ends: Vec<Option<u64>> = vec![Some(0); self.files.len()];
        for part in self.slices.iter().flatten() {
            if ends.get(part.file) != Some(&Some(part.byte)) {
                return Err(Error::new(format!(
                    "not a plan of slices: a part of file {} begins at byte {}, where no part ends",
                    part.file, part.byte
                )));
            }
            ends[part.file] = part.length.map(|length| part.byte.saturating_add(length));
        }
        for (end, file) in ends.iter().zip(&self.files) {
            if end.is_some() && file.bytes > 0 {
                let path = file.path.display();
                let what = format!("not a plan of slices: it has not all parts of {path}");
                return Err(Error::new(what));
            }
        }
        Ok(())
    }
}

fn check_count(slices: usize) -> Result<()> {
    if (1..=MAX_SLICES as usize).contains(&slices) {
        Ok(())
    } else {
        Err(Error::new(format!("a plan has from 1 to {MAX_SLICES} slices, not {slices}")))
    }
}

/// A slice of a plan, which is read instead of files.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Slice {
    plan: Arc<SlicePlan>,
    number: usize,
}

impl Slice {
    /// The slice with this number, counted from 0; `None` if the plan has fewer slices.
    pub fn new(plan: Arc<SlicePlan>, number: usize) -> Option<Slice> {
        (number < plan.len()).then_some(Slice { plan, number })
    }

    /// The plan of which this is a slice.
    pub const fn plan(&self) -> &Arc<SlicePlan> {
        &self.plan
    }

    /// The number of the slice, from 0.
    pub const fn number(&self) -> usize {
        self.number
    }

    /// The slice as the origin of a library stores it; empty if the plan has no other slice.
    pub fn origin(&self) -> Vec<PlanSlices> {
        let slices = self.plan.len() as u32;
        let present = vec![self.number as u32];
        let slice = PlanSlices { plan: self.plan.id(), slices, present };
        [slice].into_iter().filter(PlanSlices::is_sound).collect()
    }

    /// The parts of files in the slice.
    pub fn parts(&self) -> &[SlicePart] {
        self.plan.slice(self.number)
    }

    /// The file of a part.
    pub fn path(&self, part: &SlicePart) -> &Path {
        self.plan.path(part)
    }

    /// Opens a part.
    ///
    /// # Errors
    /// The file cannot be read, or has changed. The options join several lines into one record;
    /// then a slice could begin between these lines.
    pub fn open(&self, part: &SlicePart, options: &SourceOptions) -> Result<Source> {
        let named = |error: Error| Error::new(self.name(part)).because(error);
        if options.text.labels || options.text.perft {
            return Err(named(Error::new(
                "labels and perft counts join lines, and a slice may begin between the lines of one \
                 record: read whole files",
            )));
        }
        self.plan.open(part, options).map_err(named)
    }

    /// The name of a part in errors.
    pub fn name(&self, part: &SlicePart) -> String {
        let number = self.number + 1;
        let slices = self.plan.len();
        let byte = part.byte();
        format!("slice {number}/{slices}, from byte {byte} of {}", self.path(part).display())
    }
}

impl SlicePart {
    fn new(file: usize, start: Cut, end: Option<Cut>) -> Option<SlicePart> {
        let Cut { offset, skip, byte, line } = start;
        let length = end.map(|end| end.byte - byte);
        (length != Some(0)).then_some(SlicePart { file, offset, skip, byte, line, length })
    }

    /// Offset of the part in the decompressed file, in bytes.
    pub const fn byte(&self) -> u64 {
        self.byte
    }

    const fn is_whole(&self) -> bool {
        self.byte == 0 && self.length.is_none()
    }
}

impl PlannedFile {
    fn new(path: &Path) -> Result<PlannedFile> {
        if path == Path::new("-") {
            return Err(Error::new("standard input cannot be cut into slices: name a file"));
        }
        if is_address(path) {
            let what = "an address cannot be cut into slices: download the file";
            return Err(Error::new(what).in_source(name_of(path)));
        }
        let failed = |error| input::cannot_read(path, error);
        let mut file = File::open(path).map_err(failed)?;
        let bytes = file.metadata().map_err(failed)?.len();
        let blake3 = fingerprint(&mut file, bytes).map_err(failed)?;
        Ok(PlannedFile { path: path.to_path_buf(), bytes, blake3 })
    }

    /// Refuses a file that has changed.
    fn check(&self) -> Result<()> {
        let PlannedFile { path, bytes, blake3 } = self;
        let now = PlannedFile::new(path)?;
        let difference = if now.bytes != *bytes {
            format!("it has {} bytes, and had {bytes}", now.bytes)
        } else if now.blake3 != *blake3 {
            "its content differs".to_string()
        } else {
            return Ok(());
        };
        let path = path.display();
        let advice = "plan again, and repeat all slices";
        Err(Error::new(format!(
            "{path} has changed since the plan was made: {difference}; {advice}"
        )))
    }
}

fn fingerprint(file: &mut File, bytes: u64) -> io::Result<String> {
    let mut hasher = blake3::Hasher::new();
    for start in [0, bytes.saturating_sub(FINGERPRINT)] {
        file.seek(SeekFrom::Start(start))?;
        let mut part = Vec::new();
        file.take(FINGERPRINT).read_to_end(&mut part)?;
        hasher.update(&part);
    }
    Ok(hasher.finalize().to_hex().to_string())
}

/// The parts of a file between the cuts; `None` for a part without bytes. `wanted` has the offset in the
/// file, compressed if it is, at which each part should begin. A part begins at the first possible cut at or
/// after this offset.
fn parts_of(
    file: usize,
    planned: &PlannedFile,
    wanted: &[u64],
    options: &SourceOptions,
) -> Result<Vec<Option<SlicePart>>> {
    let inside = wanted.iter().copied().filter(|offset| *offset > 0).collect();
    let mut cuts = find_cuts(&planned.path, inside, options)?.into_iter();
    let mut start = if planned.bytes > 0 { Some(Cut::START) } else { None };
    let mut parts = Vec::new();
    for offset in wanted {
        let cut = if *offset == 0 { Some(Cut::START) } else { cuts.next() };
        parts.push(start.and_then(|start| SlicePart::new(file, start, cut)));
        // Without a cut, the part before takes the rest of the file.
        start = start.and(cut);
    }
    parts.push(start.and_then(|start| SlicePart::new(file, start, None)));
    Ok(parts)
}

/// Finds the first cut at or after each wanted byte of a file. There are fewer cuts if the file
/// ends earlier or cannot be cut.
fn find_cuts(path: &Path, wanted: VecDeque<u64>, options: &SourceOptions) -> Result<Vec<Cut>> {
    let opened = input::open(path, None)?;
    let format = FileFormat::from_source(opened.name(path), &opened.head, options.format);
    if matches!(format, FileFormat::Epa | FileFormat::Epdb | FileFormat::Shards) {
        return Err(Error::new(format!(
            "{} is {}, which has no slices: `epdb shard merge` reads it as a whole",
            path.display(),
            format.description()
        )));
    }
    let is_games = format == FileFormat::Pgn;
    let is_converted = opened.encoding.is_some() || options.encoding.is_some();
    let has_one_part = is_converted || opened.member.is_some();
    if wanted.is_empty() || !(is_games || format.is_of_lines()) || has_one_part {
        return Ok(Vec::new());
    }
    let failed = |error| input::cannot_read(path, error);
    let mut file = File::open(path).map_err(failed)?;
    let mut finder = CutFinder::new(is_games, wanted);
    if opened.is_file {
        finder.read(file, |_| None).map_err(failed)?;
    } else {
        let mut start = Vec::new();
        file.by_ref().take(16).read_to_end(&mut start).map_err(failed)?;
        let compression = Compression::from_bytes(&start);
        if compression == Compression::None {
            return Ok(Vec::new());
        }
        file.rewind().map_err(failed)?;
        let frames = Frames::new(Box::new(file), compression, Limits::IN_PIECES, &Notes::default());
        let read = finder.read(frames, |frames| Some(frames.piece()));
        read.map_err(|error| failed(input::cannot_decode(compression, error)))?;
    }
    if finder.is_games && !finder.has_event {
        return Err(Error::new(format!(
            "{} has no line that begins with `[Event `, before which games can be cut: convert it to \
             PGN by `epdb convert`, which writes such lines, or make one slice",
            path.display()
        )));
    }
    Ok(finder.cuts)
}

/// Finds places at which a text can be cut.
struct CutFinder {
    is_games: bool,
    /// Offsets in the compressed file. A cut is wanted at or after each of them.
    wanted: VecDeque<u64>,
    cuts: Vec<Cut>,
    /// Number of bytes of the text that were examined. The next field is the number of lines.
    byte: u64,
    line: u64,
    last: u8,
    /// Starts of the pieces that can be decompressed separately: the offset in the file, and the
    /// offset in the text.
    pieces: VecDeque<(u64, u64)>,
    has_event: bool,
    /// Whether the last line that is not blank ends a game.
    is_after_game: bool,
}

impl CutFinder {
    fn new(is_games: bool, wanted: VecDeque<u64>) -> CutFinder {
        CutFinder {
            is_games,
            wanted,
            cuts: Vec::new(),
            byte: 0,
            line: 1,
            last: b'\n',
            pieces: VecDeque::new(),
            has_event: false,
            is_after_game: false,
        }
    }

    /// Reads until all wanted cuts are found. `piece` returns the start of the piece from which
    /// bytes were read last; `None` if the input is not compressed.
    fn read<R: Read>(
        &mut self,
        mut input: R,
        piece: impl Fn(&R) -> Option<(u64, u64)>,
    ) -> io::Result<()> {
        let mut text = Vec::new();
        let mut filled = 0;
        while !self.wanted.is_empty() {
            let len = read_more(&mut input, &mut text, filled)?;
            filled += len;
            let piece = piece(&input);
            if piece.as_ref() != self.pieces.back() {
                self.pieces.extend(piece);
            }
            let mut rest = &text[..filled];
            while let Some(end) = memchr(b'\n', rest) {
                self.take(&rest[..=end]);
                rest = &rest[end + 1..];
            }
            // The last line may have no end, and a long line is looked at in parts.
            if len == 0 || rest.len() > MAX_PART {
                self.take(rest);
                rest = &[];
            }
            if len == 0 {
                break;
            }
            let left = filled - rest.len()..filled;
            filled = rest.len();
            text.copy_within(left, 0);
        }
        Ok(())
    }

    /// Examines a line, or a part of a long line.
    fn take(&mut self, part: &[u8]) {
        let Some(last) = part.last() else { return };
        let begins = self.last == b'\n';
        if begins && self.may_cut(part) {
            self.cut();
        }
        let shown = part.trim_ascii_end();
        if !shown.is_empty() {
            self.is_after_game = MARKERS.iter().any(|marker| shown.ends_with(marker));
        }
        self.line += line_ends(part, self.last);
        self.byte += part.len() as u64;
        self.last = *last;
    }

    fn may_cut(&mut self, line: &[u8]) -> bool {
        if !self.is_games {
            return true;
        }
        let is_event = line.starts_with(EVENT);
        self.has_event |= is_event;
        is_event && self.is_after_game
    }

    fn cut(&mut self) {
        while self.pieces.get(1).is_some_and(|(_, start)| *start <= self.byte) {
            self.pieces.pop_front();
        }
        let (offset, start) = self.pieces.front().copied().unwrap_or((self.byte, self.byte));
        let cut = Cut { offset, skip: self.byte - start, byte: self.byte, line: self.line };
        while self.wanted.pop_front_if(|wanted| *wanted <= offset).is_some() {
            self.cuts.push(cut);
        }
    }
}
