//! File formats, and their detection by name or by the first bytes.

use std::ffi::OsStr;
use std::path::Path;

use super::address::without_query;
use super::delta::name_of;
use super::lichess::{puzzle, scored};
use super::manifest::begins_manifest;
use epdb_chess::codec::polyglot::BookMove;
use epdb_chess::error::{Error, Result};

/// A file format that can be read; most can be written too.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum FileFormat {
    /// EPD text, `.epd`.
    Epd,
    /// FEN text, one position on each line, `.fen`.
    Fen,
    /// A stream of binary records, `.epb`.
    Epb,
    /// A position store, `.epdb`.
    Epdb,
    /// Games as text, `.pgn`.
    Pgn,
    /// Games as bytes, `.pgc`.
    Pgc,
    /// An archive, `.epa`.
    Epa,
    /// Evaluations as lichess publishes them, a JSON object on each line, `.jsonl`. This format is
    /// only read.
    LichessEvaluations,
    /// Puzzles as lichess publishes them, `.csv`; the header identifies them. This format is only
    /// read.
    LichessPuzzles,
    /// A table of positions and evaluations, `.csv` with the columns `FEN` and `Evaluation`. This
    /// format is only read, and only with
    /// [`ParseOptions::score_view`](epdb_chess::text::ParseOptions::score_view).
    EvaluationTable,
    /// An opening book of Polyglot, `.bin`. It is read as records of the positions. A book has only
    /// keys, so only positions that can be found are read.
    Polyglot,
    /// A Parquet file, `.parquet`, with the table of records. The columns show which table the file
    /// has.
    Parquet,
    /// A Parquet file with all columns of the table of records.
    ParquetAllRecords,
    /// A Parquet file with the table of games.
    ParquetGames,
    /// A Parquet file with the table of moves of a library.
    ParquetMoves,
    /// A Parquet file with evaluations in the columns that lichess publishes.
    ParquetLichessEvaluations,
    /// A Parquet file with puzzles in the columns that lichess publishes. This format is only read.
    ParquetLichessPuzzles,
    /// A Parquet file with games in the columns that lichess publishes.
    ParquetLichessGames,
    /// The manifest of a sharded archive, `.json`. It is read as the records of all shards.
    Shards,
}

struct Facts {
    format: FileFormat,
    /// The suffix of names, without a dot.
    suffix: &'static str,
    /// Description of a file of the format.
    what: &'static str,
    is_text: bool,
    /// Whether files of the format can be written.
    is_written: bool,
}

const fn facts(
    format: FileFormat,
    suffix: &'static str,
    what: &'static str,
    is_text: bool,
) -> Facts {
    Facts { format, suffix, what, is_text, is_written: true }
}

const fn only_read(facts: Facts) -> Facts {
    Facts { is_written: false, ..facts }
}

const PARQUET: &str = "parquet";

/// One entry for each format, in the order of [`FileFormat`].
const FACTS: [Facts; 19] = [
    facts(FileFormat::Epd, "epd", "EPD text", true),
    facts(FileFormat::Fen, "fen", "FEN text", true),
    facts(FileFormat::Epb, "epb", "a stream of binary records", false),
    facts(FileFormat::Epdb, "epdb", "a store", false),
    facts(FileFormat::Pgn, "pgn", "games as text", true),
    facts(FileFormat::Pgc, "pgc", "games as bytes", false),
    facts(FileFormat::Epa, "epa", "an archive", false),
    only_read(facts(FileFormat::LichessEvaluations, "jsonl", "evaluations of lichess", true)),
    only_read(facts(FileFormat::LichessPuzzles, "csv", "puzzles of lichess", true)),
    only_read(facts(FileFormat::EvaluationTable, "csv", "a table of evaluations", true)),
    only_read(facts(FileFormat::Polyglot, "bin", "an opening book of Polyglot", false)),
    facts(FileFormat::Parquet, PARQUET, "a Parquet table of records", false),
    facts(FileFormat::ParquetAllRecords, PARQUET, "a Parquet table of records", false),
    facts(FileFormat::ParquetGames, PARQUET, "a Parquet table of games", false),
    facts(FileFormat::ParquetMoves, PARQUET, "a Parquet table of moves", false),
    facts(
        FileFormat::ParquetLichessEvaluations,
        PARQUET,
        "a Parquet table of evaluations as lichess publishes them",
        false,
    ),
    only_read(facts(
        FileFormat::ParquetLichessPuzzles,
        PARQUET,
        "a Parquet table of puzzles as lichess publishes them",
        false,
    )),
    facts(
        FileFormat::ParquetLichessGames,
        PARQUET,
        "a Parquet table of games as lichess publishes them",
        false,
    ),
    only_read(facts(FileFormat::Shards, "json", "a sharded archive", false)),
];

const _: () = {
    let mut row = 0;
    while row < FACTS.len() {
        assert!(FACTS[row].format as usize == row);
        row += 1;
    }
};

impl FileFormat {
    /// All formats.
    pub const ALL: [FileFormat; FACTS.len()] = {
        let mut all = [FileFormat::Epd; FACTS.len()];
        let mut row = 0;
        while row < FACTS.len() {
            all[row] = FACTS[row].format;
            row += 1;
        }
        all
    };

    const fn facts(self) -> &'static Facts {
        &FACTS[self as usize]
    }

    /// The suffix of names, without a dot.
    pub const fn suffix(self) -> &'static str {
        self.facts().suffix
    }

    /// Description of a file of the format, with an article where one is needed.
    pub const fn description(self) -> &'static str {
        self.facts().what
    }

    /// Word for the content of a file of the format, in the plural, such as "records".
    pub const fn content(self) -> &'static str {
        match self {
            format if format.is_of_games() => "games",
            FileFormat::LichessEvaluations => "evaluations of lichess",
            FileFormat::LichessPuzzles => "puzzles of lichess",
            FileFormat::EvaluationTable => "evaluated positions",
            FileFormat::ParquetMoves => "moves",
            FileFormat::Polyglot => "entries of an opening book",
            _ => "records",
        }
    }

    /// Whether files of the format consist of lines of text.
    pub const fn is_text(self) -> bool {
        self.facts().is_text
    }

    /// Whether files of the format have games.
    pub const fn is_of_games(self) -> bool {
        use FileFormat::{ParquetGames, ParquetLichessGames, Pgc, Pgn};
        matches!(self, Pgn | Pgc | ParquetGames | ParquetLichessGames)
    }

    /// Whether each line of a file is read by itself.
    pub(super) const fn is_of_lines(self) -> bool {
        use FileFormat::{Epd, EvaluationTable, Fen, LichessEvaluations, LichessPuzzles};
        matches!(self, Epd | Fen | LichessEvaluations | LichessPuzzles | EvaluationTable)
    }

    /// Whether it is a Parquet file, with any table.
    pub fn is_parquet(self) -> bool {
        self.suffix() == PARQUET
    }

    /// Whether it is a file whose records are found by position: a store, an archive, or a sharded
    /// archive.
    pub const fn is_indexed(self) -> bool {
        matches!(self, FileFormat::Epdb | FileFormat::Epa | FileFormat::Shards)
    }

    /// Whether files of the format can be written; other formats are only read.
    pub const fn is_written(self) -> bool {
        self.facts().is_written
    }

    /// The format that belongs to the suffix of a file name; `None` if this format cannot be
    /// written. A `.gz` or `.zst` at the end is ignored.
    ///
    /// ```
    /// use std::path::Path;
    /// use epdb_source::FileFormat;
    /// assert_eq!(FileFormat::from_name(Path::new("book.EPD.zst")), Some(FileFormat::Epd));
    /// assert_eq!(FileFormat::from_name(Path::new("book.txt")), None);
    /// ```
    pub fn from_name(path: &Path) -> Option<FileFormat> {
        FileFormat::from_suffix(path).filter(|format| format.is_written())
    }

    /// The format of a source by its name. The suffixes `.csv` and `.json` show no format, because files of any kind
    /// have them; a `manifest.json` is a sharded archive, even a damaged one.
    pub(super) fn from_source_name(path: &Path) -> Option<FileFormat> {
        let is_manifest = path.file_name().is_some_and(|name| name == "manifest.json");
        match FileFormat::of_suffix(source_suffix(path)?)? {
            FileFormat::LichessPuzzles => None,
            FileFormat::Shards if !is_manifest => None,
            format => Some(format),
        }
    }

    /// The format that the suffix of a name shows. A `.gz` or `.zst` at the end is ignored.
    pub(super) fn from_suffix(path: &Path) -> Option<FileFormat> {
        FileFormat::of_suffix(known_suffix(path)?)
    }

    fn of_suffix(suffix: &str) -> Option<FileFormat> {
        FACTS.iter().find(|facts| facts.suffix == suffix).map(|facts| facts.format)
    }

    /// The format that the suffix of a file in an archive shows.
    pub(super) fn from_member_name(name: &[u8]) -> Option<FileFormat> {
        let (_, suffix) = name.split_at(memchr::memrchr(b'.', name)? + 1);
        let suffix = std::str::from_utf8(suffix).ok()?.to_ascii_lowercase();
        FileFormat::of_suffix(&suffix).filter(|format| *format != FileFormat::Shards)
    }

    /// The format that the first bytes of a file show. Text has no signature, but games usually
    /// begin with a tag and records never do. White space may come first.
    pub fn from_bytes(start: &[u8]) -> Option<FileFormat> {
        let text = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start).trim_ascii_start();
        match start {
            _ if start.starts_with(&epdb_chess::codec::stream::MAGIC) => Some(FileFormat::Epb),
            _ if start.starts_with(epdb_store::MAGIC) => Some(FileFormat::Epdb),
            _ if start.starts_with(&epdb_archive::MAGIC) => Some(FileFormat::Epa),
            _ if start.starts_with(b"PAR1") => Some(FileFormat::Parquet),
            _ if begins_manifest(start) == Some(true) => Some(FileFormat::Shards),
            _ if matches!(text, [b'[', b'A'..=b'Z' | b'a'..=b'z', ..]) => Some(FileFormat::Pgn),
            _ if begins_evaluation(text) => Some(FileFormat::LichessEvaluations),
            _ if begins_opening_table(text) => None,
            _ if puzzle::TABLE.header(start).is_some() => Some(FileFormat::LichessPuzzles),
            _ if scored::TABLE.header(start).is_some() => Some(FileFormat::EvaluationTable),
            _ => None,
        }
    }

    /// The format of a source. The first bytes decide; if they show no format, `said` (the format
    /// that the options name) decides, and then the name. An opening book may begin with any bytes,
    /// so for a book the name decides unless all bytes are text.
    pub(super) fn from_source(path: &Path, start: &[u8], said: Option<FileFormat>) -> FileFormat {
        let named = FileFormat::from_source_name(path);
        let is_book = named == Some(FileFormat::Polyglot);
        if is_book && !start.iter().all(|byte| is_text(*byte)) {
            return FileFormat::Polyglot;
        }
        let is_of_lines = matches!(said.or(named), Some(FileFormat::Epd | FileFormat::Fen));
        let shown = FileFormat::from_bytes(start);
        // If lines of positions and games were read as games, the lines after a game would be taken
        // for its moves. So only a file without lines of positions is read as games.
        let is_mixed = shown == Some(FileFormat::Pgn) && is_of_lines && has_position(start);
        if let Some(shown) = shown
            && !is_mixed
        {
            return shown;
        }
        let named = if is_book { None } else { named };
        said.or(named).unwrap_or_else(|| FileFormat::from_content(start))
    }

    /// The format of a file if neither a signature nor the name shows it. PGC begins with the
    /// marker of a game, and an opening book with an entry; anything else is EPD.
    fn from_content(start: &[u8]) -> FileFormat {
        match start {
            _ if begins_book(start) => FileFormat::Polyglot,
            [0x01 | 0x05, ..] => FileFormat::Pgc,
            // An extension of ours, in an escape record.
            [0x0a, _, _, b'p', b'g', b'c', b'x', b':', ..] => FileFormat::Pgc,
            _ => FileFormat::Epd,
        }
    }

    /// Refuses a name whose suffix belongs to another format than the written one. EPD and FEN
    /// count as one format. A name without a known suffix is accepted, unless the suffix looks like a
    /// known one with a typing error, such as `.edp`.
    ///
    /// # Errors
    /// The mismatch, and a suffix that fits.
    pub fn check_name(self, path: &Path) -> Result<()> {
        let is_lines = |format| matches!(format, FileFormat::Epd | FileFormat::Fen);
        let is_read_in_place =
            matches!(self, FileFormat::Epdb | FileFormat::Epa) || self.is_parquet();
        let what = self.description();
        let named = FileFormat::from_name(path);
        let fits = |named: FileFormat| {
            self.suffix() == named.suffix() || is_lines(self) && is_lines(named)
        };
        let wrong = match known_suffix(path) {
            Some(suffix) if !named.is_some_and(fits) => {
                let name = named.map_or_else(
                    || format!("has the suffix .{suffix}"),
                    |named| format!("is the name of {}", named.description()),
                );
                format!("{name}, and what is to be written is {what}")
            }
            _ if is_read_in_place && Compression::from_name(path) != Compression::None => {
                format!("would be compressed, but {what} is read in place and cannot be compressed")
            }
            Some(_) => return Ok(()),
            None => return refuse_misspelt(path),
        };
        let suffix = self.suffix();
        Err(Error::new(format!("{} {wrong}: give it the suffix .{suffix}", name_of(path))))
    }
}

fn refuse_misspelt(path: &Path) -> Result<()> {
    let Some(suffix) = any_suffix(path) else { return Ok(()) };
    let mut written = FACTS.iter().filter(|facts| facts.is_written).map(|facts| facts.suffix);
    // A suffix with a digit or a sign, such as `.pgn2` or `.epd~`, is no typing error.
    let is_word = suffix.bytes().all(|byte| byte.is_ascii_alphabetic());
    let is_near = |known: &&str| strsim::osa_distance(known, &suffix) <= known.len() / 3;
    match written.find(is_near).filter(|_| is_word) {
        None => Ok(()),
        Some(known) => Err(Error::new(format!(
            "{} has the unknown suffix .{suffix}: did you mean .{known}?",
            name_of(path)
        ))),
    }
}

/// The suffix of a file name in lower-case letters, even if it is not known. A suffix of a compression at the end is
/// ignored.
pub fn any_suffix(path: &Path) -> Option<String> {
    let name = without_query(path);
    let plain = match Compression::from_name(name) {
        Compression::None => name.to_path_buf(),
        _ => name.with_extension(""),
    };
    plain.extension().and_then(OsStr::to_str).map(str::to_ascii_lowercase)
}

/// Suffixes of formats that are neither read nor written as records or games.
const OTHER_SUFFIXES: [&str; 14] = [
    "tsv", "ndjson", "html", "htm", "pdf", "bz2", "xz", "zip", "7z", "rar", "lz4", "lz", "tar",
    "tgz",
];

/// The suffix of a file name, if it belongs to a known format. A `.gz` or `.zst` at the end is
/// ignored.
pub fn known_suffix(path: &Path) -> Option<&'static str> {
    let known = FACTS.iter().map(|facts| facts.suffix).chain(OTHER_SUFFIXES);
    suffix_among(path, &[b".gz", b".zst"], known)
}

const ARCHIVE_SUFFIXES: [&str; 5] = ["zip", "tar", "tgz", "tbz2", "txz"];

/// The suffix of the name of a source, if epdb reads files with this suffix: that of a format, or of
/// an archive of files. The suffix of a compression at the end is ignored.
pub fn source_suffix(path: &Path) -> Option<&'static str> {
    let known = FACTS.iter().map(|facts| facts.suffix).chain(ARCHIVE_SUFFIXES);
    suffix_among(path, &[b".gz", b".zst", b".bz2", b".xz"], known)
}

/// The suffix of a file name, if it is one of the known ones. A name that is not UTF-8 has a suffix
/// too.
fn suffix_among(
    path: &Path,
    compressions: &[&[u8]],
    known: impl Iterator<Item = &'static str>,
) -> Option<&'static str> {
    let name = without_query(path).file_name()?.as_encoded_bytes().to_ascii_lowercase();
    let plain = compressions.iter().find_map(|suffix| name.strip_suffix(*suffix));
    let name = plain.unwrap_or(&name);
    let dot = memchr::memrchr(b'.', name)?;
    known.into_iter().find(|known| known.as_bytes() == &name[dot + 1..])
}

/// A format that is not read.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Foreign {
    /// The name of the format with an article.
    pub(super) name: &'static str,
    pub(super) advice: &'static str,
}

const fn foreign(name: &'static str, advice: &'static str) -> Foreign {
    Foreign { name, advice }
}

/// Signatures of formats that cannot be read.
const FOREIGN: [(&[u8], Foreign); 10] = [
    (b"PK\x05\x06", foreign("a zip archive", "it has no files")),
    (b"7z\xbc\xaf\x27\x1c", foreign("a 7z archive", "`7z x -so` gives the text of its files")),
    (b"Rar!\x1a\x07", foreign("a RAR archive", "`unrar p -inul` gives the text of its files")),
    (b"\x04\x22\x4d\x18", foreign("lz4", "`lz4 -dc` gives its text")),
    (b"LZIP\x01", foreign("lzip", "`lzip -dc` gives its text")),
    (b"\x1f\x9d", foreign("compress (.Z)", "`uncompress -c` gives its text")),
    (
        b"BINP",
        foreign(
            "a binpack of training positions",
            "`stockfish convert FILE.binpack FILE.plain`, of its branch `tools`, gives them as text",
        ),
    ),
    (b"SQLite format 3\0", foreign("an SQLite database", "export its positions as text")),
    (b"Scid.si", SCID),
    (b"\xff\xfe\0\0", foreign("UTF-32", "`iconv -f UTF-32 -t UTF-8` makes it readable")),
];

const SCID: Foreign = foreign("a database of Scid", "Scid exports its games as PGN");

const CHESSBASE: Foreign =
    foreign("a database of ChessBase", "ChessBase and Scid export its games as PGN");

const POLYGLOT: Foreign =
    foreign("a Polyglot opening book", "give it the suffix .bin, then epdb finds its positions");

impl Foreign {
    /// The error for a file of the format.
    pub(super) fn refused(&self, name: &Path) -> Error {
        Error::new(format!(
            "{} is {}, which is not read: {}",
            name_of(name),
            self.name,
            self.advice
        ))
    }

    /// The foreign format that the first bytes of a file show.
    pub(super) fn from_bytes(start: &[u8]) -> Option<Foreign> {
        FOREIGN.iter().find(|(magic, _)| start.starts_with(magic)).map(|(_, foreign)| *foreign)
    }

    /// Recognises a binary file by its suffix, if files of its format have no signature.
    pub(super) fn from_name(path: &Path) -> Option<Foreign> {
        let suffix = path.extension()?;
        let is_one_of =
            |known: &[&str]| known.iter().any(|known| suffix.eq_ignore_ascii_case(known));
        if is_one_of(&["cbh", "cbv", "cbf", "cbone", "2cbh"]) {
            Some(CHESSBASE)
        } else if is_one_of(&["si3", "sg3", "sn3", "sg4", "sn4", "si5", "sg5", "sn5"]) {
            Some(SCID)
        } else {
            None
        }
    }

    /// Recognises a Polyglot book that would otherwise be read as text.
    pub(super) fn from_text(start: &[u8]) -> Option<Foreign> {
        begins_book(start).then_some(POLYGLOT)
    }
}

/// Whether a text begins with an object that has one of the members of an evaluated position.
fn begins_evaluation(text: &[u8]) -> bool {
    let line = &text[..memchr::memchr(b'\n', text).unwrap_or(text.len())];
    let has = |member: &[u8]| memchr::memmem::find(line, member).is_some();
    line.starts_with(b"{") && (has(b"\"fen\"") || has(b"\"evals\""))
}

/// Whether a line begins with a placement of eight ranks and the side to move.
fn has_position(text: &[u8]) -> bool {
    text.split(|&byte| byte == b'\n').any(|line| {
        let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        let is_placement = |word: &[u8]| memchr::memchr_iter(b'/', word).count() == 7;
        words.next().is_some_and(is_placement) && matches!(words.next(), Some(b"w" | b"b"))
    })
}

/// True if the first bytes are those of a tar archive. Its header begins with the name of a file.
pub(super) fn begins_tar(start: &[u8]) -> bool {
    start.get(257..).is_some_and(|rest| rest.starts_with(b"ustar"))
}

/// Whether the first line of a text names the columns of a table of openings.
pub(super) fn begins_opening_table(start: &[u8]) -> bool {
    let line = &start[..memchr::memchr(b'\n', start).unwrap_or(start.len())];
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    let has = |name: &[u8]| line.split(|&it| it == b'\t').any(|column| column.trim_ascii() == name);
    has(b"eco") && has(b"name") && has(b"pgn")
}

/// Whether the whole first line is needed to find the format, because the line begins a JSON object
/// or may be the header of a table.
pub(super) fn is_told_by_line(start: &[u8]) -> bool {
    let text = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start).trim_ascii_start();
    let is_of_name = |byte: &&u8| byte.is_ascii_alphanumeric() || b"_-: ".contains(byte);
    let name = text.iter().take_while(is_of_name).count();
    match text {
        [b'{' | b'"' | b',' | b';' | b'|', ..] => true,
        _ => name > 0 && matches!(text.get(name), Some(b',' | b';' | b'|' | b'\t') | None),
    }
}

/// Number of first bytes that are examined.
pub(super) const HEAD: usize = 1024;

/// Whether this is the begin of a Polyglot book, of up to [`HEAD`] bytes. A book has no signature.
/// But its first key is binary, its first learn field is zero, its keys ascend, and each of its
/// moves can be made by some piece. A book that is shorter than [`HEAD`] must consist of whole
/// entries.
fn begins_book(start: &[u8]) -> bool {
    let (entries, rest) = start.as_chunks::<16>();
    let Some(first) = entries.first() else { return false };
    let is_binary = first[..8].iter().any(|byte| !matches!(byte, 0 | b' '..=b'~'));
    let has_move = first[8..10] != [0; 2];
    let has_learn = first[12..] != [0; 4];
    let is_whole = rest.is_empty() || start.len() >= HEAD;
    let is_ascending = entries.is_sorted_by_key(|entry| &entry[..8]);
    let is_move = |entry: &[u8; 16]| {
        let mv = BookMove::from_bits(u16::from_be_bytes([entry[8], entry[9]]));
        mv == BookMove::NONE || mv.coordinates().is_some()
    };
    is_binary && has_move && !has_learn && is_whole && is_ascending && entries.iter().all(is_move)
}

/// Signatures of files that are not text and may have no NUL byte at their start.
const BINARY: [&[u8]; 5] = [b"\x7fELF", b"\x89PNG", b"\xff\xd8\xff", b"%PDF-", b"GIF8"];

/// True if the first bytes of a file are not text. Such bytes begin with a known signature, or the
/// first line has NUL bytes that text does not have. A NUL byte in a later line is a fault of that
/// line.
pub(super) fn is_binary(start: &[u8]) -> bool {
    let line = memchr::memchr2(b'\r', b'\n', start).unwrap_or(start.len());
    has_binary_nul(&start[..line]) || BINARY.iter().any(|magic| start.starts_with(magic))
}

/// True if a line has NUL bytes and is not text. Some programs end each line with NUL bytes, or fill
/// a file with them, so NUL bytes at the end are text. Other NUL bytes are text if they are few and
/// the line has no other control characters.
fn has_binary_nul(line: &[u8]) -> bool {
    let end = line.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    let body = &line[..end];
    let inner = memchr::memchr_iter(0, body).count();
    if end == line.len() && inner == 0 {
        return false;
    }
    let is_control = |byte: &u8| *byte != 0 && *byte != b'\t' && byte.is_ascii_control();
    body.is_empty() || inner * 4 > body.len() || body.iter().any(is_control)
}

/// Whether a byte occurs in text (ASCII).
const fn is_text(byte: u8) -> bool {
    matches!(byte, b' '..=b'~' | b'\t' | b'\r' | b'\n')
}

/// The compression of a file.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Compression {
    /// The file is not compressed.
    None,
    /// The file is compressed by gzip, `.gz`.
    Gzip,
    /// The file is compressed by Zstandard, `.zst`.
    Zstd,
    /// The file is compressed by bzip2. Such files are only read.
    Bzip2,
    /// The file is compressed by xz. Such files are only read.
    Xz,
}

impl Compression {
    /// The compression of a name, if files with this compression can be written.
    pub fn from_name(path: &Path) -> Compression {
        match without_query(path).extension() {
            Some(suffix) if suffix.eq_ignore_ascii_case("gz") => Compression::Gzip,
            Some(suffix) if suffix.eq_ignore_ascii_case("zst") => Compression::Zstd,
            _ => Compression::None,
        }
    }

    /// The compression that the first bytes show.
    pub fn from_bytes(start: &[u8]) -> Compression {
        match start {
            [0x1f, 0x8b, ..] => Compression::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Compression::Zstd,
            [b'B', b'Z', b'h', b'1'..=b'9', 0x31, 0x41, 0x59, 0x26, 0x53, 0x59, ..]
            | [b'B', b'Z', b'h', b'1'..=b'9', 0x17, 0x72, 0x45, 0x38, 0x50, 0x90, ..] => {
                Compression::Bzip2
            }
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Compression::Xz,
            // `pzstd` begins with a skippable frame of four bytes.
            [0x50..=0x5f, 0x2a, 0x4d, 0x18, 4, 0, 0, 0, _, _, _, _, 0x28, 0xb5, 0x2f, 0xfd, ..] => {
                Compression::Zstd
            }
            _ => Compression::None,
        }
    }

    /// Whether these bytes begin a skippable frame. Both zstd and LZ4 have such frames, so the data
    /// after the frame decide the compression.
    pub(super) fn begins_skippable(start: &[u8]) -> bool {
        matches!(start, [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..])
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Compression::None => "uncompressed",
            Compression::Gzip => "gzip",
            Compression::Zstd => "zstd",
            Compression::Bzip2 => "bzip2",
            Compression::Xz => "xz",
        }
    }

    /// Refuses data that are not compressed, although the file name says that they are.
    ///
    /// # Errors
    /// The data are not compressed as the name says, or have an unsupported format.
    pub(super) fn refuse_other(self, name: &Path, start: &[u8]) -> Result<()> {
        if self == Compression::None {
            return Ok(());
        }
        let what = self.name();
        Err(match Foreign::from_bytes(start) {
            Some(foreign) => foreign.refused(name),
            None => Error::new(format!(
                "{} is not {what} data, as its name says: if it is not compressed, give it a name \
                 that does not say so",
                name_of(name)
            )),
        })
    }
}
