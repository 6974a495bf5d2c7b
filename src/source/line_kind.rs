//! What is on the lines of a text, each of which is a record.

use super::format::FileFormat;
use super::lichess::puzzle::Columns;
use super::lichess::{evaluation, puzzle};
use crate::text::epd::{self, Line};
use crate::text::{Diagnostic, ParseOptions, fen};

/// What is on each line.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum LineKind {
    /// EPD in any dialect.
    Epd,
    /// FEN and nothing else.
    Fen,
    /// An evaluated position of lichess.
    Evaluation,
    /// A puzzle of lichess.
    Puzzle,
}

impl LineKind {
    /// The format of such lines; FEN is EPD here.
    pub(super) const fn format(self) -> FileFormat {
        match self {
            LineKind::Epd | LineKind::Fen => FileFormat::Epd,
            LineKind::Evaluation => FileFormat::LichessEvaluations,
            LineKind::Puzzle => FileFormat::LichessPuzzles,
        }
    }

    /// Whether a line may be the fields of a position and nothing else.
    pub(super) const fn may_be_plain(self) -> bool {
        matches!(self, LineKind::Epd | LineKind::Fen)
    }

    /// Reads a line without its line end, of a table with these columns where it is one.
    ///
    /// # Errors
    /// Why it is no record, with the column.
    pub(super) fn parse(
        self,
        line: &[u8],
        columns: &Columns,
        options: &ParseOptions,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<Line, Diagnostic> {
        match self {
            LineKind::Epd => epd::parse_line(line, options, warnings),
            LineKind::Fen => fen::parse_line(line, options, warnings),
            LineKind::Evaluation => evaluation::parse_line(line, options, warnings),
            LineKind::Puzzle => puzzle::parse_line(line, columns, options, warnings),
        }
    }
}
