//! Texts that are lists of moves or numbers, and texts that are derived from them.

use std::io::Write;

use crate::adaptive::{BitCoder, BitModel, IntegerModel};
use epdb_chess::codec::ordinal;
use epdb_chess::model::San;
use epdb_chess::model::rules::{Move, Playable};
use epdb_chess::text::{Profile, san};

/// Coding of a text.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(super) enum TextKind {
    /// The text is coded byte by byte.
    Plain,
    /// A text that is equal to the text in the previous record that has the opcode.
    Same,
    /// The text in the previous record that has the opcode, with its last number increased by one.
    Successor,
    /// SANs of legal moves, separated by blanks.
    Moves,
    /// The text consists of integers, separated by blanks.
    Numbers,
    /// The record's list of moves, in coordinates.
    Coordinates,
    /// The record's lists of moves and numbers, as `move=number`, separated by commas.
    Pairs,
}

/// All kinds, by number.
pub(super) const TEXT_KINDS: [TextKind; 7] = [
    TextKind::Plain,
    TextKind::Same,
    TextKind::Successor,
    TextKind::Moves,
    TextKind::Numbers,
    TextKind::Coordinates,
    TextKind::Pairs,
];

/// Minimum length of a list. Shorter lists are coded byte by byte.
const SHORTEST: usize = 2;

/// The models of the lists of a block.
#[derive(Default)]
pub(super) struct ListModel {
    len: IntegerModel,
    first: IntegerModel,
    rises: BitModel,
    step: IntegerModel,
}

/// The lists of a record so far.
#[derive(Default)]
pub(super) struct RecordLists {
    pub(super) moves: Vec<Move>,
    /// SANs of `moves`; empty if they were not made.
    sans: Vec<San>,
    numbers: Vec<u32>,
}

impl RecordLists {
    /// Returns the kind of a text: [`TextKind::Moves`], [`TextKind::Numbers`] or
    /// [`TextKind::Plain`]. If the text is a list, the list is stored, as the decoder also does.
    pub(super) fn note(&mut self, root: Option<&Playable>, text: &[u8]) -> TextKind {
        if let Some(moves) = root.and_then(|root| moves_of(root, text)) {
            self.moves = moves;
            self.sans.clear();
            TextKind::Moves
        } else if let Some(numbers) = numbers_of(text) {
            self.numbers = numbers;
            TextKind::Numbers
        } else {
            TextKind::Plain
        }
    }

    /// True if the lists determine a text of this kind.
    pub(super) fn have(&self, text_kind: TextKind) -> bool {
        let is_of_both = text_kind == TextKind::Pairs;
        self.moves.len() >= SHORTEST
            && (text_kind == TextKind::Coordinates || is_of_both)
            && (!is_of_both || self.moves.len() == self.numbers.len())
    }

    /// Makes a text of a kind that follows from the lists of the record; `None` if the lists do not
    /// give such a text.
    pub(super) fn derived(&self, root: &Playable, text_kind: TextKind) -> Option<Vec<u8>> {
        if !self.have(text_kind) {
            return None;
        }
        let mut text = Vec::new();
        for (nth, &mv) in self.moves.iter().enumerate() {
            if text_kind == TextKind::Coordinates {
                text.extend_from_slice(if nth > 0 { b" " } else { b"" });
                text.extend_from_slice(san::uci(root, mv).as_bytes());
            } else {
                let san = self.sans.get(nth).copied().unwrap_or_else(|| san::format(root, mv));
                text.extend_from_slice(if nth > 0 { b", " } else { b"" });
                text.extend_from_slice(san.as_bytes());
                text.push(b'=');
                put_number(self.numbers[nth], &mut text);
            }
        }
        Some(text)
    }

    /// The text of the last list of moves.
    pub(super) fn text_of_moves(&mut self, root: &Playable) -> Vec<u8> {
        self.sans = self.moves.iter().map(|&mv| san::format(root, mv)).collect();
        joined(&self.sans)
    }
}

pub(super) fn text_of(root: &Playable, moves: &[Move]) -> Vec<u8> {
    let sans: Vec<San> = moves.iter().map(|&mv| san::format(root, mv)).collect();
    joined(&sans)
}

fn joined(sans: &[San]) -> Vec<u8> {
    let mut text = Vec::new();
    for (nth, san) in sans.iter().enumerate() {
        text.extend_from_slice(if nth > 0 { b" " } else { b"" });
        text.extend_from_slice(san.as_bytes());
    }
    text
}

fn put_number(number: u32, text: &mut Vec<u8>) {
    // Writing to a vector cannot fail.
    let _ = write!(text, "{number}");
}

/// Parses a text of distinct canonical SANs, separated by single blanks. `None` for any other text.
fn moves_of(root: &Playable, text: &[u8]) -> Option<Vec<Move>> {
    let first = &text[..text.iter().position(|&byte| byte == b' ')?];
    // The first word is tested first, because few texts are lists of moves and making the SANs of
    // all moves takes long.
    san::parse(root, first, Profile::Strict).ok()?;
    let legal: Vec<(Move, San)> =
        ordinal::list(root).into_iter().map(|mv| (mv, san::format(root, mv))).collect();
    let mut moves: Vec<Move> = Vec::new();
    for word in text.split(|&byte| byte == b' ') {
        let (mv, _) = legal.iter().find(|(_, san)| san.as_bytes() == word)?;
        if moves.contains(mv) {
            return None;
        }
        moves.push(*mv);
    }
    Some(moves)
}

/// Parses a text of canonical integers, separated by single blanks. `None` for any other text.
fn numbers_of(text: &[u8]) -> Option<Vec<u32>> {
    if !text.contains(&b' ') {
        return None;
    }
    text.split(|&byte| byte == b' ')
        .map(|word| {
            let number: u32 = std::str::from_utf8(word).ok()?.parse().ok()?;
            (number.to_string().as_bytes() == word).then_some(number)
        })
        .collect()
}

/// Returns the text with its last number increased by one. The number keeps its width if the digits
/// suffice. `None` if the text has no number.
pub(super) fn successor(text: &[u8]) -> Option<Vec<u8>> {
    let end = text.iter().rposition(u8::is_ascii_digit)? + 1;
    let start = text[..end].iter().rposition(|byte| !byte.is_ascii_digit()).map_or(0, |at| at + 1);
    let mut out = text.to_vec();
    for at in (start..end).rev() {
        if out[at] < b'9' {
            out[at] += 1;
            return Some(out);
        }
        out[at] = b'0';
    }
    out.insert(start, b'1');
    Some(out)
}

impl ListModel {
    pub(super) fn moves(
        &mut self,
        coder: &mut impl BitCoder,
        root: &Playable,
        text: &[u8],
        found: &mut RecordLists,
    ) -> Option<()> {
        let given = moves_of(root, text).unwrap_or_default();
        let mut rest = ordinal::list(root);
        let len = self.len.code(coder, given.len() as u64) as usize;
        if !(SHORTEST..=rest.len()).contains(&len) {
            return None;
        }
        let mut moves = Vec::with_capacity(len);
        for nth in 0..len {
            let wanted = given.get(nth);
            let place = rest.iter().position(|mv| Some(mv) == wanted).unwrap_or(0);
            let place = coder.uniform(place as u32, rest.len() as u32)?;
            moves.push(rest.remove(place as usize));
        }
        found.moves = moves;
        found.sans.clear();
        Some(())
    }

    pub(super) fn numbers(
        &mut self,
        coder: &mut impl BitCoder,
        text: &[u8],
        found: &mut RecordLists,
    ) -> Option<Vec<u8>> {
        let given = numbers_of(text).unwrap_or_default();
        let len = self.len.code(coder, given.len() as u64) as usize;
        let mut numbers: Vec<u32> = Vec::new();
        let mut out = Vec::new();
        if len < SHORTEST {
            return None;
        }
        for nth in 0..len {
            let wanted = given.get(nth).copied().unwrap_or(0);
            let number = match numbers.last() {
                None => u32::try_from(self.first.code(coder, wanted.into())).ok()?,
                Some(&last) => {
                    let rises = coder.adaptive_bit(wanted > last, &mut self.rises);
                    let step = self.step.code(coder, wanted.abs_diff(last).into());
                    let step = u32::try_from(step).ok()?;
                    if rises { last.checked_add(step)? } else { last.checked_sub(step)? }
                }
            };
            if coder.is_exhausted() {
                return None;
            }
            out.extend_from_slice(if nth > 0 { b" " } else { b"" });
            put_number(number, &mut out);
            numbers.push(number);
        }
        found.numbers = numbers;
        Some(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn successors_keep_their_width() {
        for (text, next) in [
            (&b"WAC.009"[..], &b"WAC.010"[..]),
            (b"STS(v1.0) Undermining.99", b"STS(v1.0) Undermining.100"),
            (b"7", b"8"),
            (b"a9b", b"a10b"),
        ] {
            assert_eq!(successor(text).as_deref(), Some(next));
        }
        assert_eq!(successor(b"none"), None);
    }
}
