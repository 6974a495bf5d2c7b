//! The decompressed bytes of a source: a file, an address, standard input, a pipe, or any reader.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use memchr::memchr2;
use serde::{Deserialize, Serialize};

use super::address::{self, ArchiveEnd, is_address};
use super::delta::name_of;
use super::encoding::{self, TextEncoding, Transcoder};
use super::format::{Compression, FileFormat, Foreign, HEAD, is_told_by_line};
use super::frames::{self, Fault};
use super::manifest::begins_manifest;
#[cfg(not(target_family = "wasm"))]
use super::members::{self, ArchiveKind};
use super::notes::Notes;
use epdb_base::new_file::{self, SpooledFile};
#[cfg(not(target_family = "wasm"))]
use epdb_chess::error::At;
use epdb_chess::error::{Error, Result, caught, panic_text};
#[cfg(not(target_family = "wasm"))]
use epdb_chess::text::{Diagnostic, codes};

pub(super) struct Input {
    /// The bytes, decompressed.
    pub(super) bytes: Box<dyn Read + Send>,
    /// The first bytes, which `bytes` returns as well.
    pub(super) start: Vec<u8>,
    /// The bytes of `start`. If reading cannot block, more bytes follow, up to [`HEAD`] in all.
    pub(super) head: Vec<u8>,
    /// Tells whether more bytes are available at once; `None` for an input that never blocks.
    pub(super) ready: Option<Ready>,
    /// Whether these are the bytes of an uncompressed file, which can be opened by its path.
    pub(super) is_file: bool,
    /// The end of an archive at an address, which can be read in ranges.
    pub(super) archive_end: Option<ArchiveEnd>,
    /// The file, to read it again.
    pub(super) file: Option<File>,
    /// The encoding that was converted to UTF-8.
    pub(super) encoding: Option<&'static str>,
    /// Warnings of the decoders, which are complete when all bytes were read.
    pub(super) notes: Notes,
    /// The name of the first file that is read, if the input is an archive of files.
    pub(super) member: Option<PathBuf>,
}

/// Opens a file or an address, or standard input for `-`; see [`of_reader`]. `count` grows by the
/// number of bytes that are read from a file or an address, before they are decompressed.
///
/// # Errors
/// The file cannot be read, or its format is not supported. The error names it.
pub(super) fn open(path: &Path, count: Option<&Arc<AtomicU64>>) -> Result<Input> {
    if path == Path::new("-") {
        let may_wait = !is_stdin_a_file();
        let is_named_file = false;
        let input = of_reader(path, Box::new(io::stdin()), may_wait, is_named_file)?;
        return Ok(Input { is_file: false, ..input });
    }
    if is_address(path) {
        return of_address(path, count);
    }
    let file = File::open(path).map_err(|error| cannot_read(path, error))?;
    of_file(path, file, count)
}

/// Does the same as [`open`], but refuses pipes and devices, except for standard input.
pub(super) fn open_regular(path: &Path, count: Option<&Arc<AtomicU64>>) -> Result<Input> {
    if path == Path::new("-") || is_address(path) {
        return open(path, count);
    }
    let file = new_file::open_regular(path).map_err(|error| match error.kind() {
        io::ErrorKind::InvalidInput => Error::new(format!(
            "{} is a pipe or a device, and cannot be opened again when it changes: name a file, or \
             send the data to standard input (-)",
            name_of(path)
        )),
        _ => cannot_read(path, error),
    })?;
    of_file(path, file, count)
}

/// Does the same as [`open`], for an address. Bytes are received before they are read.
fn of_address(path: &Path, count: Option<&Arc<AtomicU64>>) -> Result<Input> {
    // Both ends of an archive are requested at the same time.
    let is_named_archive =
        FileFormat::from_name(address::without_query(path)) == Some(FileFormat::Epa);
    let (input, end) = thread::scope(|scope| {
        let end = is_named_archive.then(|| scope.spawn(|| address::archive_end(path, None)));
        let bytes = Counted { input: address::stream(path)?, count: count.cloned() };
        let may_wait = false;
        let is_named_file = false;
        let input = of_reader(path, Box::new(bytes), may_wait, is_named_file)?;
        let joined = end.map(|end| end.join().map_err(|panic| Error::new(panic_text(&*panic))));
        Ok::<_, Error>((input, joined.transpose()?))
    })?;
    if input.is_file && FileFormat::from_bytes(&input.start) == Some(FileFormat::Epa) {
        let archive_end = match end {
            Some(end) => end?,
            None => address::archive_end(path, None)?,
        };
        return Ok(Input { is_file: false, archive_end, ..input });
    }
    // The rest is received when it is read first: many a format is known, or read by ranges, without it.
    let bytes = Box::new(ReadLater::Waiting(input.bytes));
    Ok(Input { is_file: false, bytes, ..input })
}

/// An input that is read ahead from its first read on.
enum ReadLater {
    Waiting(Box<dyn Read + Send>),
    Begun(ReadAhead),
}

impl Read for ReadLater {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            match self {
                ReadLater::Begun(ahead) => return ahead.read(out),
                ReadLater::Waiting(input) => {
                    let input = std::mem::replace(input, Box::new(io::empty()));
                    *self = ReadLater::Begun(ReadAhead::new(input));
                }
            }
        }
    }
}

/// Does the same as [`open`], for a file that is already open.
pub(super) fn of_file(path: &Path, file: File, count: Option<&Arc<AtomicU64>>) -> Result<Input> {
    let found = file.metadata().map_err(|error| cannot_read(path, error))?;
    if found.is_dir() {
        let mut message = format!("{} is a folder", name_of(path));
        let manifest = path.join("manifest.json");
        if manifest.is_file() {
            message += &format!(": name {}", name_of(&manifest));
        }
        return Err(Error::new(message));
    }
    let is_regular = found.is_file();
    let handle = if is_regular { file.try_clone().ok() } else { None };
    let bytes = Counted { input: file, count: count.cloned() };
    let may_wait = !is_regular;
    let input = of_reader(path, Box::new(bytes), may_wait, is_regular)?;
    let is_file = input.is_file && is_regular && !is_address(path);
    Ok(Input { is_file, file: handle, ..input })
}

/// A part of a file that a slice reads.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlicePart {
    /// Index of the file.
    pub(super) file: usize,
    /// Byte of the file at which decompressing begins. In an uncompressed file, it is the first
    /// byte of the part.
    pub(super) offset: u64,
    /// Number of decompressed bytes before the part.
    pub(super) skip: u64,
    /// Number of decompressed bytes of the file before the part.
    pub(super) byte: u64,
    /// Number of the line that begins there, from 1.
    pub(super) line: u64,
    /// Number of decompressed bytes of the part; `None` for all bytes to the end of the file.
    pub(super) length: Option<u64>,
}

/// Opens a file at the start of a part; the input continues to the end of the file. `head` is the
/// file opened at its start, because its first bytes show the format.
pub(super) fn of_part(
    path: &Path,
    head: Input,
    part: &SlicePart,
    count: Option<&Arc<AtomicU64>>,
) -> Result<Input> {
    let failed = |error| cannot_read(path, error);
    if head.member.is_some() {
        // An archive of files has one part, which is all of it.
        return Ok(head);
    }
    let mut file = File::open(path).map_err(failed)?;
    file.seek(SeekFrom::Start(part.offset)).map_err(failed)?;
    let mut bytes: Box<dyn Read + Send> = Box::new(Counted { input: file, count: count.cloned() });
    if !head.is_file {
        let mut start = Vec::new();
        read_start(&mut start, &mut bytes).map_err(failed)?;
        let compression = Compression::from_bytes(&start);
        bytes = decoded(start, bytes, compression, &head.notes).map_err(failed)?;
    }
    io::copy(&mut bytes.by_ref().take(part.skip), &mut io::sink()).map_err(failed)?;
    Ok(Input { bytes, is_file: false, ready: None, file: None, ..head })
}

/// Decompresses an input, takes the files of an archive of files, and converts UTF-16 to UTF-8. An
/// input that may block is read ahead on a separate thread. If `is_named_file` is true, the input is the
/// file with this name.
///
/// # Errors
/// The input cannot be read, is not compressed as its name says, or its format is not supported.
/// The error names it.
pub(super) fn of_reader(
    name: &Path,
    bytes: Box<dyn Read + Send>,
    may_wait: bool,
    is_named_file: bool,
) -> Result<Input> {
    let is_book = FileFormat::from_suffix(name) == Some(FileFormat::Polyglot);
    let mut input = decompressed(name, bytes, may_wait, is_book)?;
    if is_book {
        return Ok(input);
    }
    #[cfg(not(target_family = "wasm"))]
    if let Some(kind) = ArchiveKind::from_head(&input.head) {
        input = of_archive(name, input, kind, is_named_file)?;
    }
    if let Some(foreign) = Foreign::from_bytes(&input.start) {
        return Err(foreign.refused(name));
    }
    let is_text = FileFormat::from_name(name) != Some(FileFormat::Pgc);
    match encoding::of_utf16(&input.start) {
        Some(encoding) if is_text => {
            input.decoded(encoding).map_err(|error| cannot_read(name, error))
        }
        _ => Ok(input),
    }
}

#[cfg(not(target_family = "wasm"))]
fn of_archive(
    name: &Path,
    mut input: Input,
    kind: ArchiveKind,
    is_named_file: bool,
) -> Result<Input> {
    let failed = |error| cannot_read(name, error);
    // The files are found before they are read, so the archive is read twice. A file has to be opened
    // again, because other handles of it share their place.
    let (file, kind) = if is_named_file {
        let mut file = File::open(name).map_err(failed)?;
        let mut start = Vec::new();
        file.by_ref().take(ENOUGH as u64).read_to_end(&mut start).map_err(failed)?;
        match kind {
            ArchiveKind::Tar(_) => (file, ArchiveKind::Tar(Compression::from_bytes(&start))),
            ArchiveKind::Zip => (file, kind),
        }
    } else {
        let mut file = tempfile::tempfile().map_err(failed)?;
        io::copy(&mut input.bytes, &mut file).map_err(failed)?;
        (file, kind)
    };
    let members = members::open(name, file, kind)?;
    let mut bytes = members.bytes;
    let mut start = Vec::new();
    read_start(&mut start, &mut bytes).map_err(failed)?;
    let input = Input { member: Some(members.first), ..Input::new(start, bytes, false) };
    if let Some(message) = members.left_out {
        input.notes.add(At::Whole, Diagnostic::warning(codes::W_SOURCE_MEMBERS, 1, message));
    }
    Ok(input)
}

/// An input of text that this program makes.
#[cfg(feature = "parquet")]
pub(super) fn of_text(mut bytes: Box<dyn Read + Send>) -> Input {
    let mut start = Vec::new();
    let mut fault = Fault(None);
    fault.0 = bytes.by_ref().take(HEAD as u64).read_to_end(&mut start).err();
    Input::new(start, Box::new(fault.chain(bytes)), false)
}

impl Input {
    /// An input whose first bytes, `start`, were taken from `bytes`. If reading ahead fails, the
    /// input first returns the bytes before the fault, and then the error.
    fn new(start: Vec<u8>, mut bytes: Box<dyn Read + Send>, may_wait: bool) -> Input {
        let mut head = start.clone();
        let mut fault = Fault(None);
        if !may_wait {
            let missing = HEAD.saturating_sub(head.len());
            fault.0 = bytes.by_ref().take(missing as u64).read_to_end(&mut head).err();
        }
        let bytes = Box::new(io::Cursor::new(head.clone()).chain(fault).chain(bytes));
        Input {
            bytes,
            start,
            head,
            ready: None,
            is_file: false,
            archive_end: None,
            file: None,
            encoding: None,
            notes: Notes::default(),
            member: None,
        }
    }

    /// An input of which only the first bytes are known, because the file was opened before.
    pub(super) fn of_start(start: Vec<u8>) -> Input {
        Input::new(start, Box::new(io::empty()), true)
    }

    /// The name whose suffix may show the format: that of the file, or of a file in an archive.
    pub(super) fn name<'n>(&'n self, path: &'n Path) -> &'n Path {
        self.member.as_deref().unwrap_or(path)
    }

    pub(super) fn decoded(self, encoding: TextEncoding) -> io::Result<Input> {
        let notes = self.notes;
        let transcoder = Transcoder::new(self.bytes, encoding, notes.clone());
        let mut bytes: Box<dyn Read + Send> = Box::new(transcoder);
        let mut start = Vec::new();
        read_start(&mut start, &mut bytes)?;
        let encoding = Some(encoding.name());
        Ok(Input { encoding, is_file: self.is_file, notes, ..Input::new(start, bytes, true) })
    }
}

/// Opens a file, an address, or standard input for `-`. Its content may begin with any bytes, so only the
/// name shows whether it is compressed.
///
/// # Errors
/// The file cannot be opened, or is not compressed as its name says. The error names it.
pub(super) fn open_named(path: &Path) -> Result<Box<dyn Read + Send>> {
    let may_wait = false;
    let has_any_bytes = true;
    Ok(decompressed(path, open_bytes(path)?, may_wait, has_any_bytes)?.bytes)
}

/// Opens a file or an address without decompressing it, or standard input for `-`.
pub(super) fn open_bytes(path: &Path) -> Result<Box<dyn Read + Send>> {
    if path == Path::new("-") {
        return Ok(Box::new(io::stdin()));
    }
    if is_address(path) {
        return Ok(Box::new(ReadAhead::new(address::stream(path)?)));
    }
    let file = File::open(path).map_err(|error| cannot_read(path, error))?;
    Ok(Box::new(io::BufReader::new(file)))
}

/// Copies bytes into a temporary file, for readers that need a file. `name` is the source in errors.
pub(super) fn spooled(
    name: &Path,
    fill: impl FnOnce(&mut File) -> io::Result<()>,
) -> Result<SpooledFile> {
    let folder = std::env::temp_dir();
    SpooledFile::fill(&folder, fill).map_err(|error| {
        let what = format!("cannot copy {} into {}", name_of(name), folder.display());
        Error::new(what).because(error)
    })
}

/// Copies the bytes at an address into a file, so that they can be read twice and are the same bytes both
/// times.
pub(super) fn copy_of_address(path: &Path) -> Result<File> {
    let mut bytes = open_bytes(path)?;
    let copy = spooled(path, |file| io::copy(&mut bytes, file).map(drop))?;
    // The copy is removed at once; its bytes stay until the file is closed.
    File::open(copy.path()).map_err(|error| cannot_read(path, error))
}

pub(super) fn cannot_read(name: &Path, error: io::Error) -> Error {
    Error::new(format!("cannot read {}", name_of(name))).because(error)
}

/// Decompresses bytes. The first bytes show the compression. If the data may begin with any bytes
/// (`has_any_bytes`), as in an opening book, the file name decides instead.
fn decompressed(
    name: &Path,
    bytes: Box<dyn Read + Send>,
    may_wait: bool,
    has_any_bytes: bool,
) -> Result<Input> {
    let failed = |error| cannot_read(name, error);
    let (mut bytes, ready): (Box<dyn Read + Send>, _) = if may_wait {
        let ahead = ReadAhead::new(bytes);
        let ready = ahead.ready();
        (Box::new(ahead), Some(ready))
    } else {
        (bytes, None)
    };
    let mut start = Vec::new();
    read_start(&mut start, &mut bytes).map_err(failed)?;
    let may_wait = may_wait && !may_begin_tar(&start);
    let named = Compression::from_name(name);
    let compression = match named {
        Compression::None if has_any_bytes => Compression::None,
        _ => find_compression(&mut start, &mut bytes).map_err(failed)?,
    };
    match compression {
        Compression::None => {
            named.refuse_other(name, &start)?;
            Ok(Input { ready, is_file: true, ..Input::new(start, bytes, may_wait) })
        }
        _ => {
            let notes = Notes::default();
            let mut bytes = decoded(start, bytes, compression, &notes).map_err(failed)?;
            let mut start = Vec::new();
            read_start(&mut start, &mut bytes).map_err(failed)?;
            let may_wait = may_wait && !may_begin_tar(&start);
            Ok(Input { notes, ..Input::new(start, bytes, may_wait) })
        }
    }
}

/// True if these bytes may begin a tar archive, which more bytes will show: the name of a file, with
/// zeros after it.
fn may_begin_tar(start: &[u8]) -> bool {
    let name = start.iter().take_while(|byte| **byte != 0).count();
    name > 0 && start[name..].starts_with(b"\0\0") && !start.contains(&b'\n')
}

/// Decompresses an input that begins with `start`.
fn decoded(
    start: Vec<u8>,
    bytes: Box<dyn Read + Send>,
    compression: Compression,
    notes: &Notes,
) -> io::Result<Box<dyn Read + Send>> {
    let compressed = Box::new(io::Cursor::new(start).chain(bytes));
    let decoder = frames::decoder(compressed, compression, notes)?;
    Ok(Box::new(Decoded { decoder, compression, has_failed: false }))
}

/// The compression that the first bytes show. Skippable frames at the start are skipped, because
/// both zstd and LZ4 have such frames.
fn find_compression(
    start: &mut Vec<u8>,
    bytes: &mut Box<dyn Read + Send>,
) -> io::Result<Compression> {
    if !begins_unknown(start) {
        return Ok(Compression::from_bytes(start));
    }
    while begins_unknown(start) {
        pass_frame(start, bytes)?;
    }
    if start.is_empty() || Compression::from_bytes(start) == Compression::Zstd {
        return Ok(Compression::Zstd);
    }
    if Foreign::from_bytes(start).is_some() {
        return Ok(Compression::None);
    }
    let what = "skippable frames without zstd data after them";
    Err(io::Error::new(io::ErrorKind::InvalidData, what))
}

/// True if these bytes begin a skippable frame, so that they do not show the compression.
fn begins_unknown(start: &[u8]) -> bool {
    Compression::begins_skippable(start) && Compression::from_bytes(start) == Compression::None
}

fn pass_frame(start: &mut Vec<u8>, bytes: &mut Box<dyn Read + Send>) -> io::Result<()> {
    let cut_off = || io::Error::new(io::ErrorKind::UnexpectedEof, "a skippable frame is cut off");
    let (_, behind) = start.split_first_chunk::<4>().ok_or_else(cut_off)?;
    let content = u32::from_le_bytes(*behind.first_chunk().ok_or_else(cut_off)?);
    // The magic number and the length come first, of four bytes each.
    let len = 8 + u64::from(content);
    let here = start.len().min(usize::try_from(len).unwrap_or(usize::MAX));
    start.drain(..here);
    let missing = len - here as u64;
    if io::copy(&mut bytes.by_ref().take(missing), &mut io::sink())? < missing {
        return Err(cut_off());
    }
    read_start(start, bytes)
}

/// Whether standard input is a file, which never blocks.
#[cfg(unix)]
fn is_stdin_a_file() -> bool {
    use std::os::fd::AsFd;
    let stdin = io::stdin().as_fd().try_clone_to_owned().map(File::from);
    stdin.and_then(|stdin| stdin.metadata()).is_ok_and(|found| found.is_file())
}

#[cfg(not(unix))]
fn is_stdin_a_file() -> bool {
    false
}

/// An input that counts the bytes that are read.
struct Counted<R> {
    input: R,
    count: Option<Arc<AtomicU64>>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = self.input.read(buffer)?;
        if let Some(count) = &self.count {
            count.fetch_add(len as u64, Ordering::Relaxed);
        }
        Ok(len)
    }
}

/// Number of bytes that decide the format of an input.
const ENOUGH: usize = 16;

/// Maximum number of bytes of white space before the bytes that decide the format of an input.
const MAX_WHITE_SPACE: usize = 64 * 1024;

/// Maximum length of a first line that decides the format.
const MAX_OF_LINE: usize = 64 * 1024;

/// Reads on until the format can be found. This needs [`ENOUGH`] bytes besides white space, or the begin of a
/// manifest, or the whole first line if that line decides, or the end of the input.
fn read_start(start: &mut Vec<u8>, input: &mut Box<dyn Read + Send>) -> io::Result<()> {
    loop {
        let here = start.trim_ascii_start().len();
        if start.len() > MAX_WHITE_SPACE {
            return Ok(());
        }
        let missing = match ENOUGH.saturating_sub(here) {
            0 if begins_manifest(start).is_none() => ENOUGH,
            missing => missing,
        };
        if missing == 0 {
            break;
        }
        if input.by_ref().take(missing as u64).read_to_end(start)? == 0 {
            return Ok(());
        }
    }
    if is_told_by_line(start) { read_line(start, input) } else { Ok(()) }
}

/// Reads on to the end of the first line, if it is short.
fn read_line(start: &mut Vec<u8>, input: &mut Box<dyn Read + Send>) -> io::Result<()> {
    let mut bytes = [0; 4096];
    let mut from = start.len() - start.trim_ascii_start().len();
    while start.len() < MAX_OF_LINE && memchr2(b'\r', b'\n', &start[from..]).is_none() {
        from = start.len();
        let taken = input.read(&mut bytes)?;
        if taken == 0 {
            break;
        }
        start.extend_from_slice(&bytes[..taken]);
    }
    Ok(())
}

/// A decoder whose errors name the damaged format.
struct Decoded {
    decoder: Box<dyn Read + Send>,
    compression: Compression,
    /// True after an error. The decoder must not be used again then.
    has_failed: bool,
}

impl Read for Decoded {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.has_failed {
            return Err(io::Error::other("reading failed before"));
        }
        // The decoder of xz has states in which it panics.
        let read = caught(|| self.decoder.read(out));
        self.has_failed = read
            .as_ref()
            .is_err_and(|error: &io::Error| error.kind() != io::ErrorKind::Interrupted);
        read.map_err(|error| cannot_decode(self.compression, error))
    }
}

/// Names the damaged format in an error of decompressing, and a program that reads the data or the
/// sound part of them. Errors of the system stay as they are.
pub(super) fn cannot_decode(compression: Compression, error: io::Error) -> io::Error {
    if error.raw_os_error().is_some() {
        return error;
    }
    let format = compression.name();
    let text = error.to_string();
    let what = if text.contains("requires too much memory") {
        "the zstd data need more memory than epdb takes, because they were made with --long: \
         `zstd -dc --long=31 FILE | epdb ... -` reads them"
            .to_string()
    } else if text.contains("mem_limit") {
        "the xz data need more memory than epdb takes: `xz -dc FILE | epdb ... -` reads them"
            .to_string()
    } else if text.contains("Dictionary mismatch") {
        "the zstd data need the dictionary with which they were made: `zstd -dc -D DICTIONARY FILE | \
         epdb ... -` reads them"
            .to_string()
    } else {
        format!(
            "the {format} data are damaged or cut off ({text}), so the last lines before this place may be \
             wrong too: `{format} -dc FILE` writes what is left"
        )
    };
    io::Error::new(error.kind(), what)
}

/// Number of bytes that are read at a time.
const CHUNK: usize = 1 << 16;
/// Maximum number of chunks that were read ahead and wait to be taken.
const CHUNKS: usize = 256;

/// Reads an input on a separate thread. At most 16 MiB wait to be taken.
pub(super) struct ReadAhead {
    chunks: Receiver<io::Result<Vec<u8>>>,
    /// Number of chunks that are in the channel or are about to be sent. The empty chunk for the
    /// end of the input counts too.
    waiting: Arc<AtomicUsize>,
    chunk: io::Cursor<Vec<u8>>,
    /// Whether the input has failed. Then every further read is an error.
    has_failed: bool,
}

impl ReadAhead {
    pub(super) fn new(input: impl Read + Send + 'static) -> ReadAhead {
        let (sender, chunks) = sync_channel(CHUNKS);
        let waiting = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&waiting);
        thread::spawn(move || read_all(input, &sender, &count));
        ReadAhead { chunks, waiting, chunk: io::Cursor::default(), has_failed: false }
    }

    /// Tells whether reading would block.
    pub(super) fn ready(&self) -> Ready {
        Ready(Arc::clone(&self.waiting))
    }
}

/// Tells whether an input that is read ahead would block.
pub(super) struct Ready(Arc<AtomicUsize>);

impl Ready {
    /// Whether reading returns bytes, or the end, at once.
    pub(super) fn is_ready(&self) -> bool {
        self.0.load(Ordering::Acquire) > 0
    }
}

/// Sends the chunks of an input; an empty chunk is the end.
fn read_all(mut input: impl Read, sender: &SyncSender<io::Result<Vec<u8>>>, waiting: &AtomicUsize) {
    loop {
        let mut chunk = vec![0; CHUNK];
        let read = match caught(|| input.read(&mut chunk)) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read,
        };
        let is_last = !matches!(read, Ok(1..));
        // The count is raised before the chunk is sent. The chunk follows at once, so reading a
        // counted chunk never blocks.
        waiting.fetch_add(1, Ordering::Release);
        let sent = sender.send(read.map(|len| {
            chunk.truncate(len);
            chunk
        }));
        if is_last || sent.is_err() {
            return;
        }
    }
}

impl Read for ReadAhead {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.chunk.position() == self.chunk.get_ref().len() as u64 {
            if self.has_failed {
                return Err(io::Error::other("reading failed before"));
            }
            // After the end the channel is closed.
            let Ok(chunk) = self.chunks.recv() else { return Ok(0) };
            self.waiting.fetch_sub(1, Ordering::Acquire);
            self.has_failed = chunk.is_err();
            self.chunk = io::Cursor::new(chunk?);
        }
        self.chunk.read(out)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn everything_comes_through_in_order() {
        let text: Vec<u8> = (0..5_000_000u32).map(|place| (place % 251) as u8).collect();
        let mut out = Vec::new();
        let mut input = ReadAhead::new(io::Cursor::new(text.clone()));
        input.read_to_end(&mut out).unwrap();
        assert!(out == text);
        assert_eq!(input.read(&mut [0]).unwrap(), 0);
    }

    /// An input that panics, or fails, after some bytes.
    struct Faulty {
        text: &'static [u8],
        panics: bool,
    }

    impl Read for Faulty {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            match self.text.read(out)? {
                0 if self.panics => panic!("as a test wants it"),
                0 => Err(io::Error::other("the disk is gone")),
                len => Ok(len),
            }
        }
    }

    #[test]
    fn a_failure_never_becomes_an_end() {
        for panics in [true, false] {
            let mut input = ReadAhead::new(Faulty { text: b"some", panics });
            let mut out = [0; 9];
            assert_eq!(input.read(&mut out).unwrap(), 4);
            let error = input.read(&mut out).unwrap_err().to_string();
            let expected = if panics { "as a test wants it" } else { "the disk is gone" };
            assert!(error.ends_with(expected), "{error}");
            input.read(&mut out).unwrap_err();
        }
    }
}
