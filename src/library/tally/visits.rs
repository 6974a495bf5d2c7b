//! The positions of games, each once in a game.

use std::ops::Range;

use byteorder::{ByteOrder, LittleEndian};

use super::facts::GameFacts;
use crate::codec::key::{self, LineKeys};
use crate::codec::ordinal;
use crate::codec::packed::{self, PLAIN_MAX, PackedBoard};
use crate::model::rules::Move;
use crate::model::{Color, Replay, Start};

/// The main line of a game and what is known of it.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub(super) start: Start,
    /// The place of its moves among those of the lines that it stands with.
    pub(super) moves: Range<usize>,
    pub(super) facts: GameFacts,
    pub(super) role: Role,
}

/// What a line is for.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Role {
    /// A game that counts.
    Counts,
    /// A copy of a game that counted as another copy says; this one counts.
    CountsInstead,
    /// The copy that counted before, and is taken off.
    CountsNoMore,
}

/// Which positions of a game count.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Which {
    /// Those after so many plies and before.
    pub(super) max_ply: u32,
    /// Those that come again, and moves that are played again in them.
    pub(super) repeats: bool,
    /// An en passant square counts where a pawn stands beside.
    pub(super) polyglot_en_passant: bool,
}

/// A position that a game reached, and the move that was played there.
#[derive(Copy, Clone, Debug)]
pub(super) struct Visit {
    pub(super) key: u64,
    /// The number of the game among those that are counted together.
    pub(super) game: u32,
    /// The moves that the game had made.
    pub(super) ply: u16,
    /// The ordinal, the bits below, and from [`LEN_SHIFT`] on the length of the board.
    what: u16,
    /// The packed identity board, zeros behind it; of one that is longer, which has no length here,
    /// its number among [`LongBoards`].
    board: [u8; PLAIN_MAX],
}

/// Bits above the ordinal.
const HAS_MOVE: u16 = 1 << 8;
const IS_FIRST: u16 = 1 << 9;
const BLACK: u16 = 1 << 10;
const LEN_SHIFT: u32 = 11;
const _: () = assert!(PLAIN_MAX < 1 << (u16::BITS - LEN_SHIFT));

/// The boards of visits that have more pieces than a game begins with.
pub(super) type LongBoards = Vec<PackedBoard>;

impl Visit {
    /// The game had not reached the position before.
    pub(super) const fn is_first(&self) -> bool {
        self.what & IS_FIRST != 0
    }

    /// The side to move.
    pub(super) const fn turn(&self) -> Color {
        if self.what & BLACK != 0 { Color::Black } else { Color::White }
    }

    /// The move, if it had not been played there before in the game.
    pub(super) const fn ordinal(&self) -> Option<u8> {
        if self.what & HAS_MOVE != 0 { Some(self.what as u8) } else { None }
    }

    /// The packed identity board.
    pub(super) fn board<'a>(&'a self, long: &'a LongBoards) -> &'a [u8] {
        match usize::from(self.what >> LEN_SHIFT) {
            0 => long[self.number_of_board()].as_bytes(),
            len => &self.board[..len],
        }
    }

    pub(super) fn is_of_board(&self, other: &Visit, long: &LongBoards) -> bool {
        let is_long = |visit: &Visit| visit.what >> LEN_SHIFT == 0;
        match is_long(self) && is_long(other) {
            true => self.board(long) == other.board(long),
            // The number of a long board begins as no other does.
            false => self.board == other.board,
        }
    }

    fn number_of_board(&self) -> usize {
        LittleEndian::read_u64(&self.board[8..]) as usize
    }

    #[inline(always)]
    fn set_board(&mut self, board: &PackedBoard, long: &mut LongBoards) {
        match board.as_plain() {
            Some(plain) => {
                self.board = *plain;
                self.what |= (board.as_bytes().len() as u16) << LEN_SHIFT;
            }
            None => {
                // Eight zeros, as the longer form begins with.
                self.board = [0; PLAIN_MAX];
                LittleEndian::write_u64(&mut self.board[8..], long.len() as u64);
                long.push(*board);
            }
        }
    }
}

/// Visits in pieces of one size, so that none is ever copied to grow.
#[derive(Default, Debug)]
pub(super) struct Part {
    pieces: Vec<Vec<Visit>>,
}

const PIECE: usize = 1 << 9;

impl Part {
    #[inline]
    fn push(&mut self, visit: &Visit) {
        match self.pieces.last_mut() {
            Some(last) if last.len() < PIECE => last.push(*visit),
            _ => {
                let mut piece = Vec::with_capacity(PIECE);
                piece.push(*visit);
                self.pieces.push(piece);
            }
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Visit> {
        self.pieces.iter().flatten()
    }

    pub(super) fn len(&self) -> usize {
        self.pieces.last().map_or(0, |last| (self.pieces.len() - 1) * PIECE + last.len())
    }

    pub(super) fn at(&self, place: u32) -> &Visit {
        &self.pieces[place as usize / PIECE][place as usize % PIECE]
    }
}

/// The visits of some games.
#[derive(Default, Debug)]
pub(super) struct Visits {
    pub(super) visits: Vec<Visit>,
    pub(super) long: LongBoards,
    /// Plies of the main lines, up to the last that counts.
    pub(super) plies: u64,
    /// Moves that are not counted, because their positions have more than 256.
    pub(super) wide_moves: u64,
}

impl Visits {
    /// Moves the visits into parts by the first bits of their keys, so many, and their long boards
    /// behind others.
    pub(super) fn move_to(&mut self, parts: &mut [Part], part_bits: u32, long: &mut LongBoards) {
        for visit in &mut self.visits {
            if visit.what >> LEN_SHIFT == 0 {
                let number = visit.number_of_board() + long.len();
                LittleEndian::write_u64(&mut visit.board[8..], number as u64);
            }
            parts[(visit.key >> (64 - part_bits)) as usize].push(visit);
        }
        self.visits.clear();
        long.append(&mut self.long);
    }

    /// Adds those of a game.
    pub(super) fn add(&mut self, start: &Start, moves: &[Move], game: u32, which: Which) {
        let Some(mut replay) = Replay::new(start) else { return };
        let mut keys = LineKeys::new();
        self.visits.reserve(moves.len() + 1);
        // Where those since the last move that cannot be taken back begin.
        let mut since = self.visits.len();
        let mut moves = moves.iter();
        loop {
            let mv = moves.next().filter(|_| replay.ply() < which.max_ply);
            if replay.halfmove_clock() == 0 {
                since = self.visits.len();
            }
            self.add_position(&replay, mv, game, (which, since), &mut keys);
            let Some(mv) = mv else { return };
            replay.play(*mv);
            self.plies += 1;
        }
    }

    /// Adds that of a position unless it counts already.
    fn add_position(
        &mut self,
        replay: &Replay,
        mv: Option<&Move>,
        game: u32,
        (which, since): (Which, usize),
        keys: &mut LineKeys,
    ) {
        let with_en_passant =
            replay.position().en_passant().map(|_| match which.polyglot_en_passant {
                true => key::with_polyglot_en_passant(replay.position()),
                false => replay.position().identity(),
            });
        let identity = with_en_passant.as_ref().unwrap_or(replay.position());
        let ordinal = mv.and_then(|mv| ordinal::ordinal(&replay.playable(), *mv));
        let narrow = ordinal.and_then(|ordinal| u8::try_from(ordinal).ok());
        self.wide_moves += u64::from(ordinal.is_some() && narrow.is_none());
        let turn = if identity.turn() == Color::Black { BLACK } else { 0 };
        let mut visit = Visit {
            key: keys.next(identity),
            game,
            ply: u16::try_from(replay.ply()).unwrap_or(u16::MAX),
            what: narrow.map_or(0, |ordinal| HAS_MOVE | u16::from(ordinal)) | IS_FIRST | turn,
            board: [0; PLAIN_MAX],
        };
        visit.set_board(&packed::encode(identity), &mut self.long);
        if !which.repeats {
            for other in &self.visits[since..] {
                if other.key == visit.key && other.is_of_board(&visit, &self.long) {
                    visit.what &= !IS_FIRST;
                    if other.ordinal() == visit.ordinal() {
                        visit.what &= !HAS_MOVE;
                    }
                }
            }
        }
        if visit.what & (IS_FIRST | HAS_MOVE) != 0 {
            self.visits.push(visit);
        }
    }
}
