//! The positions of games, each once in a game, as bytes that are sorted by key.

use super::facts::GameFacts;
use crate::codec::{key, ordinal, packed};
use crate::model::rules::Move;
use crate::model::{Color, Replay, Start};

/// The main line of a game and what is known of it.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub(super) start: Start,
    pub(super) moves: Vec<Move>,
    pub(super) facts: GameFacts,
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
///
/// As bytes: the key, the game, the ply, what follows as one number, all least byte first, the packed
/// board.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Visit<'a> {
    pub(super) key: u64,
    /// The number of the game among those that are counted together.
    pub(super) game: u32,
    /// The moves that the game had made.
    pub(super) ply: u16,
    /// The game had not reached the position before.
    pub(super) is_first: bool,
    /// Of the side to move.
    pub(super) turn: Color,
    /// The move, if it had not been played there before in the game.
    pub(super) ordinal: Option<u8>,
    /// The packed identity board.
    pub(super) board: &'a [u8],
}

const KEY: usize = 8;
const HEAD: usize = KEY + 4 + 2 + 2;
/// Bits above the ordinal.
const HAS_MOVE: u16 = 1 << 8;
const IS_FIRST: u16 = 1 << 9;
const BLACK: u16 = 1 << 10;

impl<'a> Visit<'a> {
    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.key.to_le_bytes());
        out.extend_from_slice(&self.game.to_le_bytes());
        out.extend_from_slice(&self.ply.to_le_bytes());
        let played = self.ordinal.map_or(0, |ordinal| HAS_MOVE | u16::from(ordinal));
        let first = if self.is_first { IS_FIRST } else { 0 };
        let turn = if self.turn == Color::Black { BLACK } else { 0 };
        out.extend_from_slice(&(played | first | turn).to_le_bytes());
        out.extend_from_slice(self.board);
    }

    /// The visit at the start of bytes that visits were put into, and its length.
    pub(super) fn read(bytes: &'a [u8]) -> Option<(Visit<'a>, usize)> {
        let (head, rest) = bytes.split_first_chunk::<HEAD>()?;
        let (key, rest_of_head) = head.split_first_chunk::<KEY>()?;
        let (game, rest_of_head) = rest_of_head.split_first_chunk::<4>()?;
        let [ply, what] =
            [0, 2].map(|at| u16::from_le_bytes([rest_of_head[at], rest_of_head[at + 1]]));
        let board = rest.get(..packed::len_of(rest).ok()?)?;
        let visit = Visit {
            key: u64::from_le_bytes(*key),
            game: u32::from_le_bytes(*game),
            ply,
            is_first: what & IS_FIRST != 0,
            turn: if what & BLACK != 0 { Color::Black } else { Color::White },
            ordinal: (what & HAS_MOVE != 0).then_some(what as u8),
            board,
        };
        Some((visit, HEAD + board.len()))
    }
}

/// What [`put_visits`] met.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Met {
    /// Plies of the main line, up to the last that counts.
    pub(super) plies: u64,
    /// Moves that are not counted, because their positions have more than 256.
    pub(super) wide_moves: u64,
}

/// Appends the visits of a game.
pub(super) fn put_visits(line: &Line, game: u32, which: Which, out: &mut Vec<u8>) -> Met {
    let mut met = Met::default();
    let Some(mut replay) = Replay::new(&line.start) else { return met };
    // Where the visits since the last move that cannot be taken back begin.
    let mut before: Vec<usize> = Vec::new();
    let mut moves = line.moves.iter();
    loop {
        let mv = moves.next().filter(|_| replay.ply() < which.max_ply);
        if replay.halfmove_clock() == 0 {
            before.clear();
        }
        let start = out.len();
        met.wide_moves += put_visit(&replay, mv, game, (which, &before), out);
        if out.len() > start {
            before.push(start);
        }
        let Some(mv) = mv else { return met };
        replay.play(*mv);
        met.plies += 1;
    }
}

/// Appends the visit of a position unless it counts already; says how many moves have no ordinal of
/// a byte.
fn put_visit(
    replay: &Replay,
    mv: Option<&Move>,
    game: u32,
    (which, before): (Which, &[usize]),
    out: &mut Vec<u8>,
) -> u64 {
    let identity = match which.polyglot_en_passant {
        true => key::with_polyglot_en_passant(replay.position()),
        false => replay.position().identity(),
    };
    let board = packed::encode(&identity);
    let ordinal = mv.and_then(|mv| ordinal::ordinal(&replay.playable(), *mv));
    let narrow = ordinal.and_then(|ordinal| u8::try_from(ordinal).ok());
    let mut visit = Visit {
        key: key::position_key(&identity),
        game,
        ply: u16::try_from(replay.ply()).unwrap_or(u16::MAX),
        is_first: true,
        turn: identity.turn(),
        ordinal: narrow,
        board: board.as_bytes(),
    };
    if !which.repeats {
        for &place in before {
            let Some((other, _)) = out.get(place..).and_then(Visit::read) else { continue };
            if other.key == visit.key && other.board == visit.board {
                visit.is_first = false;
                visit.ordinal = visit.ordinal.filter(|own| other.ordinal != Some(*own));
            }
        }
    }
    if visit.is_first || visit.ordinal.is_some() {
        visit.put(out);
    }
    u64::from(ordinal.is_some() && narrow.is_none())
}
