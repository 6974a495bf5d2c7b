//! Positions that the user asks for.

use std::ffi::OsStr;
use std::path::Path;

use epdb::model::Position;
use epdb::text::{ParseOptions, PositionLine};

/// Whether an argument is a position: it has a blank in it, and no file has its name.
pub(crate) fn is_position(argument: &OsStr) -> bool {
    let has_blank = argument.to_string_lossy().contains([' ', '\t']);
    has_blank && !Path::new(argument).exists()
}

/// The position that the words of arguments say, and the line to it; the start for none.
///
/// # Errors
/// They say none.
pub(crate) fn parse_position(
    words: &[String],
    options: &ParseOptions,
) -> anyhow::Result<PositionLine> {
    let text = words.join(" ");
    let line = PositionLine::parse(text.as_bytes(), options)
        .map_err(|error| anyhow::anyhow!("POSITION:1:{error}"))?;
    match line {
        Some(line) => Ok(line),
        None if text.is_empty() => Ok(PositionLine::new(Position::START)),
        None => anyhow::bail!("expected a position, found {text}"),
    }
}
