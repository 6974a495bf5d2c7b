//! Operations, and the boundaries between them.

use super::reader::Reader;
use super::segment::string_end;
use super::segment::{Raw, Segment, Taken, split_operands, takes_more_moves};
use crate::model::rules::Playable;
use crate::model::{Opcode, Operands, Position};
use crate::text::diagnostic::{Diagnostic, shown};
use crate::text::options::Profile;
use crate::text::scan::{Word, is_blank};
use crate::text::{codes, san};

impl Reader<'_, '_> {
    pub(super) fn read_operations(
        &mut self,
        position: &Position,
        mut rest: Word,
    ) -> Result<(), Diagnostic> {
        let mut raws = Vec::new();
        loop {
            let (operation, behind) = self.split_operation(rest)?;
            if !operation.text.is_empty() {
                self.read_operation(position, operation, &mut raws)?;
            }
            match behind {
                Some(behind) => rest = behind,
                None => return Ok(()),
            }
        }
    }

    /// Splits off the text up to the next semicolon outside strings. Returns it and the rest after
    /// the semicolon.
    fn split_operation<'a>(
        &self,
        rest: Word<'a>,
    ) -> Result<(Word<'a>, Option<Word<'a>>), Diagnostic> {
        let mut from = 0;
        while let Some(place) = memchr::memchr2(b';', b'"', &rest.text[from..]) {
            let place = from + place;
            if rest.text[place] == b';' {
                let behind = rest.part(place + 1, rest.text.len());
                return Ok((rest.part(0, place).trimmed(), Some(behind)));
            }
            match string_end(rest.text, place + 1, self.is_lenient()) {
                Some(quote) => from = quote + 1,
                None if self.is_lenient() => break,
                None => {
                    let message = "string is not closed; a quote is missing";
                    let column = rest.column() + place;
                    return Err(Diagnostic::error(codes::E_EPD_QUOTE, column, message));
                }
            }
        }
        Ok((rest.trimmed(), None))
    }

    fn read_operation<'a>(
        &mut self,
        position: &Position,
        text: Word<'a>,
        raws: &mut Vec<Raw<'a>>,
    ) -> Result<(), Diagnostic> {
        let before = self.moves_before.take();
        if let Some(before) = before
            && self.join_to_operation(position, before, text, raws)
        {
            self.moves_before = Some(before);
            return Ok(());
        }
        let ends = |&byte: &u8| is_blank(byte) || byte == b'"';
        let end = text.text.iter().position(ends).unwrap_or(text.text.len());
        let mut name = text.part(0, end);
        let Some(mut opcode) = self.read_opcode(name, text)? else { return Ok(()) };
        self.warn_of_name(position, opcode, name);
        split_operands(text.part(end, text.text.len()), self.is_lenient(), raws);

        let mut raws = &raws[self.repeated_opcodes(opcode, name, raws)..];
        loop {
            let segment =
                Segment { opcode, text: text.part(name.at - text.at, text.text.len()), raws };
            let taken = self.read_segment(position, &segment)?;
            let Some((next, behind)) = raws.get(taken..).and_then(|left| left.split_first()) else {
                return Ok(());
            };
            let (Raw::Token(word), Some(next_opcode)) = (next, next.as_opcode()) else {
                let left = text.part(next.at() - text.at, text.text.len());
                self.salvage(codes::W_LEN_SALVAGED, left, "no operation begins here");
                return Ok(());
            };
            name = *word;
            opcode = next_opcode;
            let message = format!("semicolon missing before `{opcode}`; split");
            self.repaired(codes::W_LEN_SEMICOLON, name.at, message, b" ", b"; ");
            raws = behind;
        }
    }

    /// Number of further copies of the opcode before its operands: 1 in `bm bm Qd1` (in the lenient
    /// profile only).
    fn repeated_opcodes(&mut self, opcode: Opcode, name: Word, raws: &[Raw]) -> usize {
        let count = raws.iter().take_while(|raw| raw.as_opcode() == Some(opcode)).count();
        let follows = match self.standard(opcode).map(|entry| &entry.operands) {
            None | Some(Operands::Any | Operands::TagPairs) => false,
            Some(Operands::Str { .. }) => matches!(raws.get(count), Some(Raw::Str(..))),
            Some(_) => count < raws.len(),
        };
        if count == 0 || !follows || !self.is_lenient() {
            return 0;
        }
        let message =
            format!("opcode `{opcode}` is written {} times in a row; one is kept", count + 1);
        let before = vec![opcode.as_bytes(); count + 1].join(&b' ');
        self.repaired(codes::W_LEN_DUP, name.at, message, &before, opcode.as_bytes());
        count
    }

    fn read_opcode(&mut self, name: Word, text: Word) -> Result<Option<Opcode>, Diagnostic> {
        if let Ok(opcode) = Opcode::new(name.text) {
            if name.text.len() == 1 {
                let message = format!("opcode `{opcode}` of one character");
                self.warn(codes::W_EPD_SHORTOPCODE, name.at, message);
            }
            return Ok(Some(opcode));
        }
        let what = format!(
            "{} is not an opcode; expected a letter and up to 14 letters, digits or underscores",
            shown(name.text)
        );
        if !self.is_lenient() {
            return Err(Diagnostic::error(codes::E_EPD_OPCODE, name.column(), what));
        }
        if name.text.iter().filter(|byte| **byte == b'/').count() == 7 {
            let what = "a second position in the line: a line end is missing before it";
            return Err(Diagnostic::error(codes::E_EPD_OPCODE, name.column(), what));
        }
        if let Some(opcode) = name.text.strip_suffix(b":").and_then(|name| self.as_meant(name)) {
            let message = format!("colon after opcode `{opcode}` dropped");
            self.repaired(codes::W_LEN_COLON, name.at, message, name.text, opcode.as_bytes());
            return Ok(Some(opcode));
        }
        self.salvage(codes::W_LEN_OPCODE, text, &what);
        Ok(None)
    }

    /// Warns of the name of a private opcode that was probably meant otherwise: a move, as in lists
    /// of positions with one move each, or an opcode of the standard.
    fn warn_of_name(&mut self, position: &Position, opcode: Opcode, name: Word) {
        if self.standard(opcode).is_some() {
            return;
        }
        if looks_like_move(name.text)
            && Playable::new(position)
                .is_ok_and(|playable| san::parse(&playable, name.text, Profile::Lenient).is_ok())
        {
            let message = format!(
                "`{opcode}` is a move, not an opcode: is it `bm {opcode}` or `sm {opcode}`?"
            );
            self.warn(codes::W_EPD_MOVEOPCODE, name.at, message);
            return;
        }
        let small = Opcode::new(&name.text.to_ascii_lowercase()).ok();
        if let Some(small) = small.filter(|small| self.standard(*small).is_some()) {
            let message = format!("`{opcode}` is not `{small}`: opcodes have small letters");
            self.warn(codes::W_EPD_OPCODECASE, name.at, message);
        }
    }

    /// Finds the opcode that a name before a colon means. The letter case may differ: `PV:` means
    /// `pv`.
    fn as_meant(&self, name: &[u8]) -> Option<Opcode> {
        let known = Opcode::new(&name.to_ascii_lowercase()).ok();
        let known = known.filter(|opcode| self.standard(*opcode).is_some());
        known.or_else(|| Opcode::new(name).ok())
    }

    /// Reads the operation of a segment. If that fails in the lenient profile, the text is kept as
    /// an operand of `noop`. Returns the number of operands taken; if operands are left, the next
    /// one begins another operation.
    pub(super) fn read_segment(
        &mut self,
        position: &Position,
        segment: &Segment,
    ) -> Result<usize, Diagnostic> {
        let before = self.mark();
        self.moves_before = None;
        let error = match self.read_operands(position, segment) {
            Ok(Taken { operands: Some(operands), count }) => {
                let opcode = self.perft_depth(segment.opcode);
                self.add(opcode, operands, segment.at());
                if self.is_lenient() && takes_more_moves(opcode) {
                    self.moves_before = Some(self.operations.len() - 1);
                }
                return Ok(count);
            }
            Ok(Taken { operands: None, count }) => return Ok(count),
            Err(error) if !self.is_lenient() => return Err(error),
            Err(error) => error,
        };
        self.forget_since(before);
        let count = self.end_of_segment(segment);
        let code = match self.standard(segment.opcode).map(|entry| &entry.operands) {
            Some(Operands::Integer(..)) if error.code != codes::E_EPD_RANGE => codes::W_LEN_INTEGER,
            _ => codes::W_LEN_SALVAGED,
        };
        self.salvage(code, segment.text_before(count), &error.message);
        Ok(count)
    }

    /// Number of operands that belong to an operation that cannot be read. The operands end before
    /// the next known opcode, unless that opcode may be a move or the operands are free text.
    fn end_of_segment(&self, segment: &Segment) -> usize {
        match self.standard(segment.opcode).map(|entry| &entry.operands) {
            None | Some(Operands::Any | Operands::Str { .. } | Operands::TagPairs) => {
                segment.raws.len()
            }
            Some(_) => segment
                .raws
                .iter()
                .position(|raw| self.known_opcode(raw) && !could_be_square(raw))
                .unwrap_or(segment.raws.len()),
        }
    }
}

/// Whether a word may be a move, so that the moves of the position have to be known.
fn looks_like_move(word: &[u8]) -> bool {
    matches!(word, [b'a'..=b'h' | b'K' | b'Q' | b'R' | b'B' | b'N', _, ..])
        && word.len() <= 7
        && word.iter().any(|byte| matches!(byte, b'1'..=b'8'))
}

/// Whether an unquoted word is a square to which a pawn can step. The opcodes `c2` to `c7` are such
/// words too.
fn could_be_square(raw: &Raw) -> bool {
    matches!(raw, Raw::Token(Word { text: [b'a'..=b'h', b'2'..=b'7'], .. }))
}
