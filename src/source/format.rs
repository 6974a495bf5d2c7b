//! Which format a file has: by its suffix, or by its first bytes.

use std::path::Path;

use crate::error::{Error, Result};

/// The formats that are read and written.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum FileFormat {
    /// EPD text, `.epd`.
    Epd,
    /// FEN text, one position a line, `.fen`.
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
}

/// What is known of a format.
struct Facts {
    format: FileFormat,
    /// The suffix of names, without a dot.
    suffix: &'static str,
    /// What a file of the format is.
    what: &'static str,
    is_text: bool,
}

const fn facts(
    format: FileFormat,
    suffix: &'static str,
    what: &'static str,
    is_text: bool,
) -> Facts {
    Facts { format, suffix, what, is_text }
}

/// One row a format, in the order of [`FileFormat`].
const FACTS: [Facts; 7] = [
    facts(FileFormat::Epd, "epd", "EPD text", true),
    facts(FileFormat::Fen, "fen", "FEN text", true),
    facts(FileFormat::Epb, "epb", "a stream of binary records", false),
    facts(FileFormat::Epdb, "epdb", "a store", false),
    facts(FileFormat::Pgn, "pgn", "games as text", true),
    facts(FileFormat::Pgc, "pgc", "games as bytes", false),
    facts(FileFormat::Epa, "epa", "an archive", false),
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

    /// What a file of the format is, with an article where it needs one.
    pub const fn description(self) -> &'static str {
        self.facts().what
    }

    /// Whether it is lines of text.
    pub const fn is_text(self) -> bool {
        self.facts().is_text
    }

    /// Whether it holds games.
    pub const fn is_of_games(self) -> bool {
        matches!(self, FileFormat::Pgn | FileFormat::Pgc)
    }

    /// The format that a name stands for, `.gz` and `.zst` aside.
    ///
    /// ```
    /// use std::path::Path;
    /// use epdb::source::FileFormat;
    /// assert_eq!(FileFormat::of_name(Path::new("book.EPD.zst")), Some(FileFormat::Epd));
    /// assert_eq!(FileFormat::of_name(Path::new("book.txt")), None);
    /// ```
    pub fn of_name(path: &Path) -> Option<FileFormat> {
        let name = path.file_name()?.to_str()?.to_ascii_lowercase();
        let suffix = Compression::strip(&name).rsplit_once('.')?.1;
        FACTS.iter().find(|facts| facts.suffix == suffix).map(|facts| facts.format)
    }

    /// The format that the first bytes of a file show; text has no marks of its own, but games
    /// mostly begin with a tag, and no record does. Blanks and line ends may stand before it.
    pub fn of_bytes(start: &[u8]) -> Option<FileFormat> {
        let text = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start).trim_ascii_start();
        match start {
            _ if start.starts_with(&crate::codec::stream::MAGIC) => Some(FileFormat::Epb),
            _ if start.starts_with(crate::store::MAGIC) => Some(FileFormat::Epdb),
            _ if start.starts_with(&crate::archive::MAGIC) => Some(FileFormat::Epa),
            _ if matches!(text, [b'[', b'A'..=b'Z' | b'a'..=b'z', ..]) => Some(FileFormat::Pgn),
            _ => None,
        }
    }

    /// What a file is whose format nothing else shows: games in PGC begin with the marker of
    /// a game, which is no text; everything else is taken for EPD.
    pub(super) const fn of_first_byte(start: &[u8]) -> FileFormat {
        if matches!(start, [0x01 | 0x05, ..]) { FileFormat::Pgc } else { FileFormat::Epd }
    }

    /// Refuses a name that says another format than the one that will be written under it. EPD
    /// and FEN are the same kind of lines, and a name may say nothing.
    ///
    /// # Errors
    /// What the name says, and what to do.
    pub fn check_name(self, path: &Path) -> Result<()> {
        let Some(named) = FileFormat::of_name(path) else { return Ok(()) };
        let is_lines = |format| matches!(format, FileFormat::Epd | FileFormat::Fen);
        let is_whole = matches!(self, FileFormat::Epdb | FileFormat::Epa);
        let what = self.description();
        let wrong = if self != named && !(is_lines(self) && is_lines(named)) {
            format!("is the name of {}, and what is to be written is {what}", named.description())
        } else if is_whole && Compression::of_name(path) != Compression::None {
            format!("would be compressed, and {what} is read where it lies")
        } else {
            return Ok(());
        };
        let suffix = self.suffix();
        Err(Error::new(format!("{} {wrong}: give it the suffix .{suffix}", path.display())))
    }
}

/// A format that is not read.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Foreign {
    /// Its name with an article.
    pub(super) name: &'static str,
    /// What to do with such a file.
    pub(super) advice: &'static str,
}

const fn foreign(name: &'static str, advice: &'static str) -> Foreign {
    Foreign { name, advice }
}

/// The first bytes of formats that are not read.
const FOREIGN: [(&[u8], Foreign); 11] = [
    (b"BZh", foreign("bzip2", "`bzip2 -dc` gives its text")),
    (b"\xfd7zXZ\0", foreign("xz", "`xz -dc` gives its text")),
    (b"PK\x03\x04", foreign("a zip archive", "`unzip -p` gives the text of its files")),
    (b"PK\x05\x06", foreign("a zip archive", "it has no files")),
    (b"7z\xbc\xaf\x27\x1c", foreign("a 7z archive", "`7z x -so` gives the text of its files")),
    (b"Rar!\x1a\x07", foreign("a RAR archive", "`unrar p -inul` gives the text of its files")),
    (b"\x04\x22\x4d\x18", foreign("lz4", "`lz4 -dc` gives its text")),
    (b"LZIP\x01", foreign("lzip", "`lzip -dc` gives its text")),
    (b"\x1f\x9d", foreign("compress (.Z)", "`uncompress -c` gives its text")),
    (b"SQLite format 3\0", foreign("an SQLite database", "export its positions as text")),
    (b"\xff\xfe\0\0", foreign("UTF-32", "`iconv -f UTF-32 -t UTF-8` makes it readable")),
];

const POLYGLOT: Foreign = foreign(
    "a Polyglot opening book",
    "it holds keys, not positions: `epdb book list` shows its moves and finds their positions",
);

impl Foreign {
    /// The error for a file of the format.
    pub(super) fn refused(&self, name: &Path) -> Error {
        Error::new(format!(
            "{} is {}, which is not read: {}",
            name.display(),
            self.name,
            self.advice
        ))
    }

    /// The foreign format that the first bytes of a file show.
    pub(super) fn of_bytes(start: &[u8]) -> Option<Foreign> {
        FOREIGN.iter().find(|(magic, _)| start.starts_with(magic)).map(|(_, foreign)| *foreign)
    }

    /// A Polyglot book that would be taken for text: it has no mark, but its entries of 16 bytes are
    /// binary, and end in the four bytes of the learning field, which nobody uses.
    pub(super) fn of_text(start: &[u8], path: &Path) -> Option<Foreign> {
        let is_named = path.extension().is_some_and(|suffix| suffix.eq_ignore_ascii_case("bin"));
        let has_zero = start.contains(&0);
        let is_binary = |key: &[u8]| key.iter().any(|byte| !matches!(byte, 0 | b' '..=b'~'));
        let is_entry = start
            .first_chunk::<16>()
            .is_some_and(|entry| is_binary(&entry[..8]) && entry[12..] == [0; 4]);
        ((is_named && has_zero) || is_entry).then_some(POLYGLOT)
    }
}

/// How a text file is compressed.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Compression {
    /// Not at all.
    None,
    /// gzip, `.gz`.
    Gzip,
    /// Zstandard, `.zst`.
    Zstd,
}

impl Compression {
    /// The compression that a name stands for.
    pub fn of_name(path: &Path) -> Compression {
        match path.extension().and_then(|suffix| suffix.to_str()) {
            Some(suffix) if suffix.eq_ignore_ascii_case("gz") => Compression::Gzip,
            Some(suffix) if suffix.eq_ignore_ascii_case("zst") => Compression::Zstd,
            _ => Compression::None,
        }
    }

    /// The compression that the first bytes of a file show.
    pub fn of_bytes(start: &[u8]) -> Compression {
        match start {
            [0x1f, 0x8b, ..] => Compression::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Compression::Zstd,
            _ => Compression::None,
        }
    }

    fn strip(name: &str) -> &str {
        name.strip_suffix(".gz").or_else(|| name.strip_suffix(".zst")).unwrap_or(name)
    }
}
