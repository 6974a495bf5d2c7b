//! EPD lines read, and whatever of them can be repaired.

mod consistency;
mod moves;
mod operation;
mod strings;
mod tail;
mod uci;

pub(in crate::text) use moves::is_promotion;
pub(in crate::text) use operation::{Raw, split_operands};
pub(in crate::text) use strings::string_end;
pub(in crate::text) use uci::is_word_before_position;

use super::write::write;
use crate::model::rules::Playable;
use crate::model::{Counters, EpdRecord, Opcode, Operand, Operation, Position, StandardOpcode};
use crate::text::checks::{
    BYTE_ORDER_MARK, illegal_position, is_control, refuse_control_bytes, refuse_other_than,
};
use crate::text::diagnostic::{Diagnostic, Severity, shown};
use crate::text::lines::{SPEC_LINE_LIMIT, too_long};
use crate::text::options::{Profile, ReadOptions, WriteOptions};
use crate::text::scan::{Word, is_blank};
use crate::text::{codes, fields};

/// What a line holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Line {
    /// Nothing but white space.
    Blank,
    /// A comment, `# …` (lenient only).
    Comment,
    /// A record.
    Record(EpdRecord),
}

/// Reads one line, without its line end.
///
/// Whatever was repaired or is doubtful is appended to `warnings`, in the order of the columns; of
/// more than a thousand warnings the last is `W-LEN-MORE`, which counts the others. A line that is
/// refused leaves no warnings.
///
/// # Errors
/// Why the profile does not take the line, with the column.
///
/// ```
/// use epdb::text::{Profile, ReadOptions, epd};
/// let line = b"8/8/8/4k3/8/1K6/8/8 b - - id KK; bm Ke6 Ke4";
/// let mut warnings = Vec::new();
/// let epd::Line::Record(record) =
///     epd::read_line(line, &ReadOptions::new(Profile::Lenient), &mut warnings)?
/// else {
///     panic!("a record");
/// };
/// assert_eq!(epdb::format_epd(&record), b"8/8/8/4k3/8/1K6/8/8 b - - bm Ke4 Ke6; id \"KK\";");
/// assert_eq!((warnings[0].code, warnings[0].column), ("W-LEN-UNQUOTED", 30));
/// # Ok::<(), epdb::text::Diagnostic>(())
/// ```
pub fn read_line(
    line: &[u8],
    options: &ReadOptions,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Line, Diagnostic> {
    let before = warnings.len();
    let result = Reader::new(options, warnings).line(line);
    match &result {
        Ok(_) => {
            warnings[before..].sort_by_key(|warning| warning.column);
            cap(warnings, before);
        }
        Err(_) => warnings.truncate(before),
    }
    result
}

/// The most warnings about one line.
const MOST_WARNINGS: usize = 1000;

/// Leaves [`MOST_WARNINGS`] of the warnings from `before` on; the last then counts the others.
fn cap(warnings: &mut Vec<Diagnostic>, before: usize) {
    let last = before + MOST_WARNINGS - 1;
    if warnings.len() - before > MOST_WARNINGS {
        let more = u32::try_from(warnings.len() - last).unwrap_or(u32::MAX);
        let (column, message) =
            (warnings[last].column, format!("{more} more warnings about the line"));
        warnings.truncate(last);
        let more = Diagnostic {
            findings: more,
            ..Diagnostic::warning(codes::W_LEN_MORE, column, message)
        };
        warnings.push(more);
    }
}

/// An operation of the line and where it stands.
#[derive(Clone)]
struct Placed {
    operation: Operation,
    at: usize,
}

/// The reading of one line.
struct Reader<'o, 'w> {
    options: &'o ReadOptions,
    warnings: &'w mut Vec<Diagnostic>,
    operations: Vec<Placed>,
    /// Operations that are kept as operands of `noop`, with their places.
    salvaged: Vec<(usize, Operand)>,
    /// Operations of one move that have several.
    choices: Vec<moves::Choice>,
    /// Whether the line begins with a word that is no part of a record, such as `position`.
    has_words: bool,
    /// The operation that the last one of the line became, if it was am, bm or pv.
    moves_before: Option<usize>,
    /// The position's moves, prepared when the first move is met.
    playable: Option<Option<Playable>>,
}

impl<'o, 'w> Reader<'o, 'w> {
    const fn new(options: &'o ReadOptions, warnings: &'w mut Vec<Diagnostic>) -> Self {
        Reader {
            options,
            warnings,
            operations: Vec::new(),
            salvaged: Vec::new(),
            choices: Vec::new(),
            has_words: false,
            moves_before: None,
            playable: None,
        }
    }

    fn is_lenient(&self) -> bool {
        self.options.profile == Profile::Lenient
    }

    fn warn(&mut self, code: &'static str, at: usize, message: impl Into<String>) {
        self.warnings.push(Diagnostic::warning(code, at + 1, message));
    }

    fn repaired(
        &mut self,
        code: &'static str,
        at: usize,
        message: impl Into<String>,
        before: &[u8],
        after: &[u8],
    ) {
        let warning = Diagnostic::warning(code, at + 1, message).with_repair(before, after);
        self.warnings.push(warning);
    }

    /// The table's entry for an opcode, as far as the revision knows it.
    fn standard(&self, opcode: Opcode) -> Option<&'static StandardOpcode> {
        opcode.standard().filter(|entry| entry.in_1994 || !self.options.revision_1994)
    }

    fn line(mut self, line: &[u8]) -> Result<Line, Diagnostic> {
        let rest = self.check_bytes(line)?.trimmed();
        if rest.text.is_empty() {
            return self.blank(line);
        }
        if rest.text.starts_with(b"#") {
            return self.comment(rest);
        }
        let (mut record, at, rest) = self.read_position(rest)?;
        let rest = self.read_moves_behind(&mut record, rest)?;
        let position = *record.position();
        let counters = record.fen_counters().map(|counters| (counters, at));
        record.set_fen_counters(None);
        self.read_tail(&position, rest)?;
        self.settle_choices();

        let plain = self.operations.is_empty() && self.salvaged.is_empty();
        match counters {
            Some((counters, _)) if plain && self.is_lenient() => {
                record.set_fen_counters(Some(counters));
            }
            Some((counters, at)) => self.add_counters(counters, at),
            None => {}
        }
        if !(self.operations.is_empty() && self.salvaged.is_empty()) {
            self.convert_mate_targets();
            let operations = self.settle_operations(&position)?;
            self.check_consistency(&position, &operations)?;
            record = record.with_operations(operations.into_iter().map(|p| p.operation).collect());
        }
        if self.options.profile == Profile::Strict {
            refuse_other_than_canonical(&record, line)?;
        }
        Ok(Line::Record(record))
    }

    /// Finds bytes that no line should have, and lines that are too long.
    fn check_bytes<'a>(&mut self, line: &'a [u8]) -> Result<Word<'a>, Diagnostic> {
        let whole = Word { at: 0, text: line };
        if line.len() > SPEC_LINE_LIMIT {
            match self.options.profile {
                Profile::Strict => return Err(too_long(SPEC_LINE_LIMIT)),
                Profile::Standard => {}
                Profile::Lenient => self.warn(
                    codes::W_LEN_LINELEN,
                    SPEC_LINE_LIMIT,
                    format!("the line has {} bytes, more than {SPEC_LINE_LIMIT}", line.len()),
                ),
            }
        }
        let unusual = line.iter().fold(false, |found, byte| found | !(b' '..=b'~').contains(byte));
        if !unusual {
            return Ok(whole);
        }
        if !self.is_lenient() {
            refuse_control_bytes(line)?;
            return Ok(whole);
        }
        let start = if line.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
        let whole = whole.part(start, line.len());
        let kept = whole.trimmed();
        let tail = &line[kept.end()..];
        if let Some(place) = tail.iter().position(|&byte| is_control(byte)) {
            self.repaired(
                codes::W_LEN_CTRLEND,
                kept.end() + place,
                "control bytes at the end of the line dropped",
                tail,
                b"",
            );
        }
        let body = &line[..kept.end()];
        let mut controls = (0..body.len()).filter(|&place| is_control(body[place]));
        if let Some(first) = controls.next() {
            let after: Vec<u8> =
                body.iter().map(|&byte| if is_control(byte) { b' ' } else { byte }).collect();
            let message = format!("{} control bytes read as blanks", controls.count() + 1);
            self.repaired(codes::W_LEN_CTRL, first, message, body, &after);
        }
        Ok(whole)
    }

    fn blank(self, line: &[u8]) -> Result<Line, Diagnostic> {
        if self.options.profile == Profile::Strict {
            refuse_other_than(b"", line, codes::E_EPD_NONCANON)?;
        }
        Ok(Line::Blank)
    }

    fn comment(mut self, rest: Word) -> Result<Line, Diagnostic> {
        if !self.is_lenient() {
            let message = "a comment, and EPD has none";
            return Err(Diagnostic::error(codes::E_EPD_FIELDS, rest.column(), message));
        }
        self.warn(codes::W_LEN_COMMENT, rest.at, "comment line skipped");
        Ok(Line::Comment)
    }

    /// The position with its counters as fields, the place of these, and what follows them.
    fn read_position<'a>(
        &mut self,
        line: Word<'a>,
    ) -> Result<(EpdRecord, usize, Word<'a>), Diagnostic> {
        let (begin, rest) = self.skip_words(line);
        if let uci::Begin::StartArray = begin {
            let mut record = EpdRecord::new(Position::START);
            record.set_fen_counters(Some(Counters::default()));
            return Ok((record, line.at, rest));
        }
        let (words, rest) = self.split_fields(rest)?;
        let (position, dialect) = fields::read(words, self.options.profile, self.warnings)?;
        self.warnings.extend(illegal_position(&position, words[0].at));
        let (counters, rest) = self.read_counters(rest)?;
        let mut record = EpdRecord::new(position);
        record.set_dialect(dialect);
        record.set_fen_counters(counters.map(|(counters, _)| counters));
        Ok((record, counters.map_or(0, |(_, at)| at), rest))
    }

    /// The four fields and what follows them. In the lenient profile, and where perft counts are
    /// taken, the fourth also ends at a semicolon or a comma.
    fn split_fields<'a>(
        &mut self,
        line: Word<'a>,
    ) -> Result<([Word<'a>; 4], Word<'a>), Diagnostic> {
        let (placement, rest) = line.split_word();
        let (turn, rest) = rest.split_word();
        let (castling, rest) = rest.split_word();
        let rest = rest.trimmed_start();
        let takes_glued = self.is_lenient() || self.options.perft;
        let ends = |&byte: &u8| is_blank(byte) || (takes_glued && matches!(byte, b';' | b','));
        let end = rest.text.iter().position(ends).unwrap_or(rest.text.len());
        let end = self.end_of_en_passant(rest.part(0, end));
        let en_passant = rest.part(0, end);
        let fields = [placement, turn, castling, en_passant];
        let count = fields.iter().take_while(|field| !field.text.is_empty()).count();
        if count < 4 {
            let message = format!(
                "{} has {count} of the four fields placement, side to move, castling, en passant",
                shown(line.text)
            );
            return Err(Diagnostic::error(codes::E_EPD_FIELDS, line.column(), message));
        }
        Ok((fields, rest.part(end, rest.text.len())))
    }

    /// The position's moves; `None` when it is not playable.
    fn playable(&mut self, position: &Position) -> Option<Playable> {
        *self.playable.get_or_insert_with(|| Playable::new(position).ok())
    }

    fn add(&mut self, opcode: Opcode, operands: Vec<Operand>, at: usize) {
        let mut operation = Operation { opcode, operands };
        operation.settle();
        self.operations.push(Placed { operation, at });
    }

    fn add_integer(&mut self, opcode: Opcode, value: i128, at: usize) {
        self.add(opcode, vec![Operand::Integer(value)], at);
    }

    /// Puts the counters of fields 5 and 6 before the line's own operations.
    fn add_counters(&mut self, counters: Counters, at: usize) {
        let own = std::mem::take(&mut self.operations);
        self.add_integer(Opcode::HMVC, counters.halfmove_clock.into(), at);
        self.add_integer(Opcode::FMVN, counters.fullmove_number.into(), at);
        self.operations.extend(own);
    }

    /// Keeps a text as an operand of `noop`.
    fn salvage(&mut self, code: &'static str, text: Word, why: &str) {
        let kept = strings::readable(text.trimmed().text);
        let message = format!("{why}; {} kept as noop", shown(text.text));
        let mut after = b"noop ".to_vec();
        let operand = Operand::string(kept);
        operand.write_to(&mut after);
        self.repaired(code, text.at, message, text.text, &after);
        self.salvaged.push((text.at, operand));
    }

    /// Sorts the operations, settles duplicates and adds what was salvaged.
    fn settle_operations(&mut self, position: &Position) -> Result<Vec<Placed>, Diagnostic> {
        let mut placed = std::mem::take(&mut self.operations);
        placed.sort_by_key(|one| one.operation.opcode);
        let mut kept: Vec<Placed> = Vec::with_capacity(placed.len());
        for next in placed {
            if let Some(last) = kept.last_mut() {
                if last.operation.opcode == next.operation.opcode {
                    let same = last.operation.operands == next.operation.operands;
                    self.settle_duplicate(next, same)?;
                    continue;
                }
                // Read again, a move would stand behind the operation.
                if self.joins_operation(position, last, &next) {
                    continue;
                }
            }
            kept.push(next);
        }
        if self.is_lenient() {
            self.salvage_loose_marks(&mut kept);
        }
        self.add_salvaged(&mut kept);
        Ok(kept)
    }

    fn settle_duplicate(&mut self, second: Placed, same: bool) -> Result<(), Diagnostic> {
        let opcode = second.operation.opcode;
        let mut text = Vec::new();
        second.operation.write_to(&mut text);
        if same {
            let message = format!("operation `{opcode}` stands twice; one is kept");
            self.repaired(codes::W_EPD_DUP, second.at, message, &text, b"");
            return Ok(());
        }
        let message = format!("opcode `{opcode}` stands twice with different operands");
        if !self.is_lenient() {
            return Err(Diagnostic::error(codes::E_EPD_DUP, second.at + 1, message));
        }
        let text = text.strip_suffix(b";").unwrap_or(&text);
        self.salvage(codes::W_LEN_DUP, Word { at: second.at, text }, &message);
        Ok(())
    }

    /// One `noop` takes all that was salvaged, in the order of the line, behind its own operands.
    fn add_salvaged(&mut self, operations: &mut Vec<Placed>) {
        if self.salvaged.is_empty() {
            return;
        }
        let mut salvaged = std::mem::take(&mut self.salvaged);
        salvaged.sort_by_key(|(at, _)| *at);
        let at = salvaged.first().map_or(0, |(at, _)| *at);
        let operands = salvaged.into_iter().map(|(_, operand)| operand);
        let place = operations.iter().position(|one| one.operation.opcode == Opcode::NOOP);
        if let Some(noop) = place.and_then(|place| operations.get_mut(place)) {
            noop.operation.operands.extend(operands);
        } else {
            let operation = Operation { opcode: Opcode::NOOP, operands: operands.collect() };
            operations.push(Placed { operation, at });
        }
    }

    /// Reports the rules between opcodes: warnings, and errors in the strict profile.
    fn check_consistency(
        &mut self,
        position: &Position,
        operations: &[Placed],
    ) -> Result<(), Diagnostic> {
        let before = self.warnings.len();
        consistency::check(self.options, position, operations, self.warnings);
        if self.options.profile == Profile::Strict
            && let Some(first) = self.warnings.drain(before..).next()
        {
            return Err(Diagnostic { severity: Severity::Error, ..first });
        }
        Ok(())
    }
}

fn refuse_other_than_canonical(record: &EpdRecord, line: &[u8]) -> Result<(), Diagnostic> {
    let mut canonical = Vec::with_capacity(line.len());
    write(record, &WriteOptions::default(), &mut canonical);
    refuse_other_than(&canonical, line, codes::E_EPD_NONCANON)
}
