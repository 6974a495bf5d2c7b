//! The one writer of a line's fields.

use super::castling::CastlingText;
#[cfg(feature = "archive")]
use super::placement::write_ranks;
use super::placement::{InstructionSet, Letters, ROOM, letters_of, write_letters, write_pieces};
use crate::model::{Board, Color, Counters, Square};

/// A line up to its operations.
pub(crate) struct Line<'a> {
    pub(crate) placement: Placement<'a>,
    pub(crate) turn: Color,
    pub(crate) castling: CastlingText,
    pub(crate) en_passant: Option<Square>,
    pub(crate) counters: CounterText,
}

/// A placement in one of the forms that it is kept in.
pub(crate) enum Placement<'a> {
    /// Sets of squares.
    Board(&'a Board),
    /// At most 32 pieces in the order of squares, two codes a byte, 0 behind the last.
    Pieces { occupied: u64, codes: &'a [u8; 16], letters: &'a Letters },
    /// Eight ranks of codes, each with its a-file lowest, 0 where no piece stands.
    #[cfg(feature = "archive")]
    Ranks { occupied: u64, ranks: &'a [u32; 8], letters: &'a Letters },
}

/// The counters of a line.
pub(crate) enum CounterText {
    /// None that are fields or operations put in their place.
    None,
    /// Fields 5 and 6.
    Fields(Counters),
    /// The operations `fmvn` and `hmvc`.
    Operations { halfmove_clock: Option<u32>, fullmove_number: Option<u32> },
}

impl Line<'_> {
    /// Appends the text.
    #[inline]
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        self.write_with(InstructionSet::fastest(), out);
    }

    /// As [`Line::write`], with these instructions.
    #[inline]
    pub(crate) fn write_with(&self, instructions: InstructionSet, out: &mut Vec<u8>) {
        let start = out.len();
        out.resize(start + ROOM, 0);
        let room = out.get_mut(start..).and_then(<[u8]>::first_chunk_mut);
        let len = room.map_or(0, |room| self.write_to(instructions, room));
        out.truncate(start + len);
    }

    /// Writes the text to the start of the room and gives its length.
    #[inline]
    fn write_to(&self, instructions: InstructionSet, room: &mut [u8; ROOM]) -> usize {
        let len = match self.placement {
            Placement::Board(board) => {
                write_letters(board.occupied(), &letters_of(board), instructions, room)
            }
            Placement::Pieces { occupied, codes, letters } => {
                write_pieces(occupied, codes, letters, instructions, room)
            }
            #[cfg(feature = "archive")]
            Placement::Ranks { occupied, ranks, letters } => {
                write_ranks(occupied, ranks, letters, instructions, room)
            }
        };
        let mut text = Text { room, len };
        text.push(if self.turn == Color::White { b" w " } else { b" b " });
        text.push_castling(&self.castling);
        match self.en_passant.map(Square::to_ascii) {
            Some([file, rank]) => text.push(&[b' ', file, rank]),
            None => text.push(b" -"),
        }
        text.push_counters(&self.counters);
        text.len
    }
}

/// Text in room that is enough for all of it.
struct Text<'a> {
    room: &'a mut [u8; ROOM],
    len: usize,
}

impl Text<'_> {
    fn push(&mut self, bytes: &[u8]) {
        self.room[self.len..self.len + bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }

    fn push_castling(&mut self, castling: &CastlingText) {
        let (letters, len) = castling.padded();
        self.push(letters);
        self.len -= letters.len() - len;
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
