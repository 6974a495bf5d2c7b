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
    /// mostly begin with a tag, and no record does.
    pub(crate) fn of_bytes(start: &[u8]) -> FileFormat {
        let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
        if start.starts_with(&crate::codec::stream::MAGIC) {
            FileFormat::Epb
        } else if start.starts_with(b"redb\x1a\x0a\xa9\x0d\x0a") {
            FileFormat::Epdb
        } else if matches!(start, [b'[', b'A'..=b'Z' | b'a'..=b'z', ..]) {
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
