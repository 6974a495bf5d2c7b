//! Which format a file has: by its suffix, or by its first bytes.

use std::path::Path;

use clap::ValueEnum;

use super::outcome::Usage;

/// The formats epdb reads and writes.
#[derive(ValueEnum, Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum FileFormat {
    /// EPD text
    Epd,
    /// FEN text, one position a line
    Fen,
    /// a stream of binary records
    Epb,
    /// a position store
    Epdb,
    /// games as text
    Pgn,
    /// games as bytes
    Pgc,
    /// an archive
    Epa,
}

impl FileFormat {
    /// The format that a name tells, `.gz` and `.zst` aside.
    pub(crate) fn of_name(path: &Path) -> Option<FileFormat> {
        let name = path.file_name()?.to_str()?.to_ascii_lowercase();
        let name = Compression::strip(&name);
        let suffix = name.rsplit_once('.')?.1;
        match suffix {
            "epd" => Some(FileFormat::Epd),
            "fen" => Some(FileFormat::Fen),
            "epb" => Some(FileFormat::Epb),
            "epdb" => Some(FileFormat::Epdb),
            "pgn" => Some(FileFormat::Pgn),
            "pgc" => Some(FileFormat::Pgc),
            "epa" => Some(FileFormat::Epa),
            _ => None,
        }
    }

    /// Refuses a name that says another format than the one that will be written under it. EPD
    /// and FEN are the same kind of lines, and a name may say nothing.
    ///
    /// # Errors
    /// What the name says, and what to do.
    pub(crate) fn check_name(self, path: &Path) -> anyhow::Result<()> {
        let Some(named) = FileFormat::of_name(path) else { return Ok(()) };
        let is_lines = |format| matches!(format, FileFormat::Epd | FileFormat::Fen);
        let is_whole = matches!(self, FileFormat::Epdb | FileFormat::Epa);
        let wrong = if self != named && !(is_lines(self) && is_lines(named)) {
            format!("is the name of {}, and what is to be written is {}", named.what(), self.what())
        } else if is_whole && Compression::of_name(path) != Compression::None {
            format!("would be compressed, and {} is read where it lies", self.what())
        } else {
            return Ok(());
        };
        let text = format!("{} {wrong}: give it the suffix .{}", path.display(), self.suffix());
        Err(Usage(text).into())
    }

    /// Refuses a name that says a format of epdb for something that is none.
    ///
    /// # Errors
    /// What the name says, and what to do.
    pub(crate) fn check_other_name(path: &Path, what: &str) -> anyhow::Result<()> {
        match FileFormat::of_name(path) {
            None => Ok(()),
            Some(named) => Err(Usage(format!(
                "{} is the name of {}, and what is to be written is {what}: give it another suffix",
                path.display(),
                named.what()
            ))
            .into()),
        }
    }

    /// The suffix of names, without a dot.
    pub(crate) const fn suffix(self) -> &'static str {
        match self {
            FileFormat::Epd => "epd",
            FileFormat::Fen => "fen",
            FileFormat::Epb => "epb",
            FileFormat::Epdb => "epdb",
            FileFormat::Pgn => "pgn",
            FileFormat::Pgc => "pgc",
            FileFormat::Epa => "epa",
        }
    }

    /// What a file of the format is.
    const fn what(self) -> &'static str {
        match self {
            FileFormat::Epd => "EPD text",
            FileFormat::Fen => "FEN text",
            FileFormat::Epb => "a stream of binary records",
            FileFormat::Epdb => "a store",
            FileFormat::Pgn => "games as text",
            FileFormat::Pgc => "games as bytes",
            FileFormat::Epa => "an archive",
        }
    }

    /// Whether it is lines of text.
    pub(crate) const fn is_text(self) -> bool {
        matches!(self, FileFormat::Epd | FileFormat::Fen | FileFormat::Pgn)
    }

    /// The format that the first bytes of a file tell; text has no marks of its own, but games
    /// mostly begin with a tag, and no record does. Blanks and line ends may stand before it.
    pub(crate) fn of_bytes(start: &[u8]) -> FileFormat {
        let text = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start).trim_ascii_start();
        if start.starts_with(&crate::codec::stream::MAGIC) {
            FileFormat::Epb
        } else if start.starts_with(crate::store::MAGIC) {
            FileFormat::Epdb
        } else if matches!(text, [b'[', b'A'..=b'Z' | b'a'..=b'z', ..]) {
            FileFormat::Pgn
        } else if start.starts_with(&crate::archive::MAGIC) {
            FileFormat::Epa
        } else {
            FileFormat::Epd
        }
    }
}

impl FileFormat {
    /// What a file is that nothing else tells the format of: games in PGC begin with the marker of
    /// a game, which is no text.
    pub(crate) fn of_first_byte(start: &[u8]) -> FileFormat {
        if matches!(start, [0x01 | 0x05, ..]) { FileFormat::Pgc } else { FileFormat::Epd }
    }
}

/// A format that is not read.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Foreign {
    /// Its name with an article.
    pub(crate) name: &'static str,
    /// What to do with such a file.
    pub(crate) advice: &'static str,
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
    "it holds keys, not positions: make the book again from the games it was made of",
);

impl Foreign {
    /// The error for a file of the format.
    pub(crate) fn refused(&self, path: &Path) -> anyhow::Error {
        anyhow::anyhow!("{} is {}, which is not read: {}", path.display(), self.name, self.advice)
    }

    /// The foreign format that the first bytes of a file tell.
    pub(crate) fn of_bytes(start: &[u8]) -> Option<Foreign> {
        FOREIGN.iter().find(|(magic, _)| start.starts_with(magic)).map(|(_, foreign)| *foreign)
    }

    /// A Polyglot book that would be taken for text: it has no mark, but its entries of 16 bytes are
    /// binary, and end in the four bytes of the learning field, which nobody uses.
    pub(crate) fn of_text(start: &[u8], path: &Path) -> Option<Foreign> {
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
pub(crate) enum Compression {
    /// Not at all.
    None,
    /// gzip, `.gz`.
    Gzip,
    /// Zstandard, `.zst`.
    Zstd,
}

impl Compression {
    /// The compression that a name tells.
    pub(crate) fn of_name(path: &Path) -> Compression {
        match path.extension().and_then(|suffix| suffix.to_str()) {
            Some(suffix) if suffix.eq_ignore_ascii_case("gz") => Compression::Gzip,
            Some(suffix) if suffix.eq_ignore_ascii_case("zst") => Compression::Zstd,
            _ => Compression::None,
        }
    }

    /// The compression that the first bytes of a file tell.
    pub(crate) fn of_bytes(start: &[u8]) -> Compression {
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
