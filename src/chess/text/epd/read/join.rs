//! Moves that are written after the semicolon of their operation: `bm Be3; Bd2;`.

use super::moves::{pawn_reaches, read_misspelt};
use super::reader::{Placed, Reader};
use super::segment::{Raw, Segment, split_operands, takes_more_moves};
use crate::model::rules::Playable;
use crate::model::score::mate_target;
use crate::model::{Opcode, Operand, Position};
use crate::text::diagnostic::{Diagnostic, shown};
use crate::text::scan::Word;
use crate::text::{codes, san};

/// Maximum length of the text of a move.
const MAX_LEN: usize = 16;

impl Reader<'_, '_> {
    /// Joins a text that is just a move to the operation before it in the line, as in
    /// `bm Be3; Bd2;`. Returns false if the text is a separate operation.
    pub(super) fn join_to_operation<'a>(
        &mut self,
        position: &Position,
        before: usize,
        text: Word<'a>,
        raws: &mut Vec<Raw<'a>>,
    ) -> bool {
        if !could_be_move(text.text) {
            return false;
        }
        split_operands(text, self.is_lenient(), raws);
        let Some(one) = self.operations.get(before).cloned() else { return false };
        let Some(mv) = self.move_behind(position, &one, text, raws) else { return false };
        if let Some(one) = self.operations.get_mut(before) {
            one.operation.operands.push(mv);
            one.operation.settle();
        }
        true
    }

    /// Does the same as [`Reader::join_to_operation`], but for two operations that are neighbours
    /// in canonical order.
    pub(super) fn joins_operation(
        &mut self,
        position: &Position,
        before: &mut Placed,
        next: &Placed,
    ) -> bool {
        if !self.is_lenient() || !takes_more_moves(before.operation.opcode) {
            return false;
        }
        let is_quoted = |operand: &Operand| matches!(operand, Operand::Str(_) | Operand::Tally(_));
        if next.operation.operands.iter().any(is_quoted) {
            return false;
        }
        let mut text = Vec::new();
        next.operation.write_to(&mut text);
        text.pop();
        if !could_be_move(&text) {
            return false;
        }
        let mut raws = Vec::new();
        let word = Word { at: next.at, text: &text };
        split_operands(word, self.is_lenient(), &mut raws);
        let Some(mv) = self.move_behind(position, before, word, &raws) else { return false };
        before.operation.operands.push(mv);
        before.operation.settle();
        true
    }

    /// Reads a text as one more move of the operation `before` (`am`, `bm` or `pv`), and reports
    /// that the move is joined to that operation. `None` if the text is not such a move.
    fn move_behind(
        &mut self,
        position: &Position,
        before: &Placed,
        text: Word,
        raws: &[Raw],
    ) -> Option<Operand> {
        let opcode = before.operation.opcode;
        // `bm #2; O-O-O;` says that a mate involves castling, not which move mates.
        if before.operation.operands.iter().any(|it| mate_target(&it.text()).is_some()) {
            return None;
        }
        let mut playable = self.playable(position)?;
        if opcode == Opcode::PV {
            for operand in &before.operation.operands {
                let Operand::Move { mv, .. } = operand else { return None };
                playable = playable.after(*mv);
            }
        }
        let mark = self.mark();
        let Some(found) = self.only_move(&playable, &Segment { opcode, text, raws }) else {
            self.forget_since(mark);
            return None;
        };
        let message = format!("{} joined to `{opcode}` before it", shown(text.text));
        let warning = Diagnostic::warning(codes::W_LEN_JOINED, text.column(), message);
        self.warnings.insert(mark, warning.with_repair(text.text, found.text()));
        Some(found)
    }

    fn only_move(&mut self, playable: &Playable, segment: &Segment) -> Option<Operand> {
        let reached = if segment.opcode == Opcode::PV { None } else { Some(playable) };
        let (texts, count) = self.move_texts(segment, reached).ok()?;
        let [text] = texts.as_slice() else { return None };
        if count < segment.raws.len() || mate_target(&text.text).is_some() {
            return None;
        }
        let is_legal = san::parse(playable, &text.text, self.options.profile).is_ok()
            || read_misspelt(playable, &text.text).is_some();
        if !is_legal && !reached.is_some_and(|playable| pawn_reaches(playable, &text.text)) {
            return None;
        }
        let in_line = false;
        self.read_move(&mut Some(*playable), text, in_line).ok()?
    }
}

/// Whether a text may be a move. This cheap check is made first for each text after `am`, `bm` and
/// `pv`.
fn could_be_move(text: &[u8]) -> bool {
    let has_square = |text: &[u8]| {
        text.windows(2).any(|pair| matches!(pair, [b'a'..=b'h', b'1'..=b'8']))
            || matches!(text, [b'O' | b'0', ..] | [_, _, b'x', ..])
    };
    let begins =
        matches!(text.first(), Some(b'a'..=b'h' | b'N' | b'B' | b'R' | b'Q' | b'K' | b'O' | b'0'));
    begins && text.len() <= MAX_LEN && !text.contains(&b'"') && has_square(text)
}
