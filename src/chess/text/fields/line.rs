//! The writer of the fields of a line.

use super::castling::CastlingText;
use super::placement::{Letters, write_ranks};
use super::placement::{ROOM, letters_of, write_letters};
use crate::model::{Board, Color, Counters, Square};
use crate::simd::InstructionSet;

/// The fields and counters of a line.
#[derive(Debug)]
pub struct Line<'a> {
    /// Field 1.
    pub placement: Placement<'a>,
    /// Field 2.
    pub turn: Color,
    /// Field 3.
    pub castling: CastlingText,
    /// Field 4.
    pub en_passant: Option<Square>,
    /// Fields 5 and 6.
    pub counters: CounterText,
}

/// A piece placement, in one of two representations.
#[derive(Debug)]
pub enum Placement<'a> {
    /// One set of squares for each role and color.
    Board(&'a Board),
    /// Eight ranks of piece codes, four bits each. The a-file is in the lowest bits; 0 is an empty
    /// square.
    Ranks {
        /// The squares with a piece.
        occupied: u64,
        /// The ranks, rank 1 first.
        ranks: &'a [u32; 8],
        /// The letter of each code.
        letters: &'a Letters,
    },
}

/// The counters of a line.
#[derive(Copy, Clone, Debug)]
pub enum CounterText {
    /// No counters, or counters that are already among the operations.
    None,
    /// Fields 5 and 6.
    Fields(Counters),
    /// The operations `fmvn` and `hmvc`.
    Operations {
        /// The operand of `hmvc`.
        halfmove_clock: Option<u32>,
        /// The operand of `fmvn`.
        fullmove_number: Option<u32>,
    },
}

impl Line<'_> {
    /// Appends the text of the line.
    #[inline]
    pub fn write(&self, out: &mut Vec<u8>) {
        let start = out.len();
        let written = room_behind(out).map(|room| {
            let len = self.write_placement(InstructionSet::fastest(), room);
            let Line { turn, castling, en_passant, counters, .. } = self;
            write_behind(room, len, *turn, castling, *en_passant, counters)
        });
        out.truncate(start + written.unwrap_or(0));
    }

    /// Writes the placement to the start of the buffer and returns its length.
    #[inline]
    fn write_placement(&self, instructions: InstructionSet, room: &mut [u8; ROOM]) -> usize {
        match self.placement {
            Placement::Board(board) => {
                write_letters(board.occupied().bits(), &letters_of(board), instructions, room)
            }
            Placement::Ranks { occupied, ranks, letters } => {
                write_ranks(occupied, ranks, letters, instructions, room)
            }
        }
    }
}

/// Appends bytes for the caller to overwrite, and returns them. The caller then truncates the text to
/// the bytes that were written.
#[inline(always)]
pub(crate) fn room_behind(out: &mut Vec<u8>) -> Option<&mut [u8; ROOM]> {
    let start = out.len();
    out.extend_from_slice(&[0; ROOM]);
    out.get_mut(start..)?.first_chunk_mut()
}

/// Writes the fields after a placement of `placement` bytes, and the counters. Returns the length.
#[inline(always)]
pub(crate) fn write_behind(
    room: &mut [u8; ROOM],
    placement: usize,
    turn: Color,
    castling: &CastlingText,
    en_passant: Option<Square>,
    counters: &CounterText,
) -> usize {
    let mut text = Text { room, len: placement };
    let turn = if turn == Color::White { *b" w \0" } else { *b" b \0" };
    let (letters, len) = castling.padded();
    let [turn, letters] = [turn, *letters].map(|bytes| u64::from(u32::from_le_bytes(bytes)));
    text.push_padded((turn | letters << 24).to_le_bytes(), 3 + len);
    match en_passant.map(Square::to_ascii) {
        Some([file, rank]) => text.push_padded([b' ', file, rank, 0], 3),
        None => text.push_padded([b' ', b'-', 0, 0], 2),
    }
    let len = text.len;
    match counters {
        CounterText::None => len,
        counters => write_counters(room, len, counters),
    }
}

/// Writes counters after a text of `len` bytes. Returns the total length.
#[inline(never)]
fn write_counters(room: &mut [u8; ROOM], len: usize, counters: &CounterText) -> usize {
    let mut text = Text { room, len };
    text.push_counters(counters);
    text.len
}

/// Text in a buffer that is large enough for the longest text.
struct Text<'a> {
    room: &'a mut [u8; ROOM],
    len: usize,
}

impl Text<'_> {
    fn push(&mut self, bytes: &[u8]) {
        self.room[self.len..self.len + bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }

    /// Appends the first `len` of these bytes.
    #[inline(always)]
    fn push_padded<const N: usize>(&mut self, bytes: [u8; N], len: usize) {
        self.room[self.len..self.len + N].copy_from_slice(&bytes);
        self.len += len;
    }

    fn push_counters(&mut self, counters: &CounterText) {
        match *counters {
            CounterText::None => {}
            CounterText::Fields(Counters { halfmove_clock, fullmove_number }) => {
                self.push(b" ");
                self.push_number(halfmove_clock);
                self.push(b" ");
                self.push_number(fullmove_number);
            }
            CounterText::Operations { halfmove_clock, fullmove_number } => {
                self.push_operation(b" fmvn ", fullmove_number);
                self.push_operation(b" hmvc ", halfmove_clock);
            }
        }
    }

    fn push_operation(&mut self, opcode: &[u8; 6], value: Option<u32>) {
        if let Some(value) = value {
            self.push(opcode);
            self.push_number(value);
            self.push(b";");
        }
    }

    fn push_number(&mut self, value: u32) {
        if value < 10 {
            return self.push(&[b'0' + value as u8]);
        }
        let mut digits = [0; 10];
        let mut start = digits.len();
        let mut rest = value;
        while rest > 0 {
            start -= 1;
            digits[start] = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        self.push(&digits[start..]);
    }
}
