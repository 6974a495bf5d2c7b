//! The files of lichess that have no games: evaluated positions and puzzles (one on each line), and
//! tables of evaluations. `formats/notes/sources.md` maps their fields.

pub(super) mod csv;
pub(super) mod evaluation;
pub(super) mod puzzle;
pub(super) mod scored;

use epdb_chess::model::rules::Playable;
use epdb_chess::model::{EpdRecord, Opcode, Operand, Operands, Operation, Position};
use epdb_chess::text::epd::{self, Line};
use epdb_chess::text::{
    CastlingForm, Diagnostic, EnPassantForm, ParseOptions, Profile, codes, fen, san,
};

/// A part of a line, and its offset from 0.
#[derive(Copy, Clone, Debug)]
pub(super) struct Part<'l> {
    pub(super) at: usize,
    pub(super) text: &'l [u8],
}

pub(super) type ParseLine =
    fn(&[u8], &ParseOptions, &mut Vec<Diagnostic>) -> Result<Line, Diagnostic>;

impl<'l> Part<'l> {
    /// Makes a part of a line from `text`, which is usually a slice of `line`. If the text had
    /// escapes, it is not a slice of the line, and the offset is 0.
    pub(super) fn new(line: &[u8], text: &'l [u8]) -> Part<'l> {
        // If the text begins before the line, the difference wraps, and is larger than any line.
        let start = text.as_ptr().addr().wrapping_sub(line.as_ptr().addr());
        let is_within = start <= line.len() && text.len() <= line.len() - start;
        Part { at: if is_within { start } else { 0 }, text }
    }

    /// A whole line without its byte order mark; `None` if it is blank.
    pub(super) fn from_line(line: &'l [u8]) -> Option<Part<'l>> {
        let text = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        (!text.trim_ascii().is_empty()).then(|| Part::new(line, text))
    }

    pub(super) fn error(&self, code: &'static str, message: impl Into<String>) -> Diagnostic {
        Diagnostic::error(code, self.at + 1, message)
    }

    pub(super) fn warning(&self, code: &'static str, message: impl Into<String>) -> Diagnostic {
        Diagnostic::warning(code, self.at + 1, message)
    }

    /// The rest of this part from an offset.
    fn behind(&self, from: usize) -> Part<'l> {
        let from = from.min(self.text.len());
        Part { at: self.at + from, text: &self.text[from..] }
    }

    /// The first word and the rest; `None` at the end.
    pub(super) fn split_word(&self) -> Option<(Part<'l>, Part<'l>)> {
        let start = self.text.iter().position(|byte| !byte.is_ascii_whitespace())?;
        let rest = self.behind(start);
        let end = rest.text.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.text.len());
        Some((Part { text: &rest.text[..end], ..rest }, rest.behind(end)))
    }

    /// Parses a position; its diagnostics get their columns in the line.
    pub(super) fn read_position(
        &self,
        parse: ParseLine,
        profile: Profile,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<EpdRecord, Diagnostic> {
        let placed = |found: Diagnostic| Diagnostic { column: found.column + self.at, ..found };
        let mut found = Vec::new();
        let read = parse(self.text, &ParseOptions::new(profile), &mut found);
        warnings.extend(found.into_iter().map(placed));
        match read.map_err(placed)? {
            Line::Record(record) => Ok(record),
            Line::Blank | Line::Comment => {
                Err(self.error(codes::E_EPD_FIELDS, "expected a position, found nothing"))
            }
        }
    }

    /// Parses the operands of an opcode of a record; `None` for an empty text. A string needs no quotes.
    pub(super) fn read_operation(
        &self,
        record: &EpdRecord,
        opcode: Opcode,
        options: &ParseOptions,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<Option<Operation>, Diagnostic> {
        let text = self.text.trim_ascii();
        if text.is_empty() {
            return Ok(None);
        }
        let mut line = Vec::new();
        let position = record.position();
        fen::format_fields(position, CastlingForm::Shredder, EnPassantForm::Keep, &mut line);
        line.extend_from_slice(format!(" {opcode} ").as_bytes());
        if is_string(opcode) {
            line.push(b'"');
            // EPD has no quotation mark in a string.
            let string: Vec<u8> =
                text.iter().map(|byte| if *byte == b'"' { b'\'' } else { *byte }).collect();
            if string != text {
                let message = format!("a quotation mark in `{opcode}` written as an apostrophe");
                let warning = self.warning(codes::W_LEN_ESCAPE, message);
                warnings.push(warning.with_repair(text, string.as_slice()));
            }
            line.extend_from_slice(&string);
            line.push(b'"');
        } else {
            line.extend_from_slice(text);
        }
        line.push(b';');
        let placed = |found: Diagnostic| Diagnostic { column: self.at + 1, ..found };
        let mut found = Vec::new();
        let read = epd::parse_line(&line, options, &mut found).map_err(placed)?;
        warnings.extend(found.into_iter().filter(|it| !it.code.starts_with("W-POS")).map(placed));
        let Line::Record(read) = read else { return Ok(None) };
        let [operation] = read.operations() else {
            let message = format!("{} is not the value of one {opcode}", shown(text));
            return Err(self.error(codes::E_LINE_CSV, message));
        };
        Ok(Some(operation.clone()))
    }

    /// Parses the moves of a line in coordinates. The first illegal move and all moves after it are
    /// left out, with a warning.
    pub(super) fn read_moves(
        &self,
        position: &Position,
        warnings: &mut Vec<Diagnostic>,
    ) -> Vec<Operand> {
        let mut moves = Vec::new();
        let mut playable = Playable::new(position).ok();
        let mut rest = *self;
        while let Some((word, behind)) = rest.split_word() {
            let read = playable
                .as_ref()
                .and_then(|playable| san::parse(playable, word.text, Profile::Lenient).ok());
            let Some(read) = read else {
                warnings.push(cut(&word, &rest));
                break;
            };
            moves.push(Operand::Move { mv: read.mv, san: read.san });
            playable = Some(read.after);
            rest = behind;
        }
        moves
    }
}

/// The opcode whose operands a column of this name has: one of the standard, or of an analysis.
fn opcode_of_column(name: &[u8]) -> Option<Opcode> {
    let opcode = Opcode::new(&name.trim_ascii().to_ascii_lowercase()).ok()?;
    let is_read = match opcode.standard() {
        Some(entry) => entry.operands != Operands::None,
        None => opcode == Opcode::ACD || opcode.is_of_further_line(),
    };
    is_read.then_some(opcode)
}

/// True if the opcode has one string.
fn is_string(opcode: Opcode) -> bool {
    let operands = opcode.standard().map(|entry| entry.operands);
    matches!(operands, Some(Operands::Str { .. } | Operands::KeptGames | Operands::Tally))
}

/// The warning that the moves from `word` on are left out.
fn cut(word: &Part<'_>, rest: &Part<'_>) -> Diagnostic {
    let message = format!("{} cannot be played here: the line ends before it", shown(word.text));
    Diagnostic::warning(codes::W_LINE_CUT, word.at + 1, message)
        .with_repair(rest.text.trim_ascii(), *b"")
}

/// Bytes of a line for a message.
pub(super) fn shown(text: &[u8]) -> String {
    const MAX_CHARS: usize = 40;
    // A character has at most four bytes.
    let text = String::from_utf8_lossy(&text[..text.len().min(4 * MAX_CHARS)]);
    let mut shown: String = text.chars().take(MAX_CHARS).filter(|c| !c.is_control()).collect();
    if text.chars().nth(MAX_CHARS).is_some() {
        shown.push('…');
    }
    format!("`{shown}`")
}

/// Sets an operation of a record, unless it has no operands.
pub(super) fn put(record: &mut EpdRecord, opcode: Opcode, operands: Vec<Operand>) {
    if !operands.is_empty() {
        record.set(Operation { opcode, operands });
    }
}
