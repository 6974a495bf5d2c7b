//! The visits of games to positions. By default, a position that a game repeats counts only once.

use std::ops::Range;

use zerocopy::IntoBytes;
use zerocopy::little_endian::U64;

use super::facts::GameFacts;
use epdb_chess::codec::key::{self, LineKeys};
use epdb_chess::codec::ordinal;
use epdb_chess::codec::packed::{self, PLAIN_MAX, PackedBoard};
use epdb_chess::model::rules::Move;
use epdb_chess::model::{Color, Position, Replay, Start};
use epdb_chess::simd::prefetch;
use epdb_chess::simd::{InstructionSet, Kernel};

/// The main line of a game and its facts.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub(super) start: Start,
    /// The range of the line's moves in the list of the moves of all lines.
    pub(super) moves: Range<usize>,
    pub(super) facts: GameFacts,
    pub(super) role: Role,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Role {
    /// A game that counts.
    Counts,
    /// A copy that counts instead of another copy of the same game.
    CountsInstead,
    /// The replaced copy, which is subtracted.
    Retracted,
}

/// Selects the positions of a game that count.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Which {
    /// Maximum number of plies before a position.
    pub(super) max_ply: u32,
    /// Whether repeated positions and repeated moves count.
    pub(super) repeats: bool,
    /// Whether boards keep an en passant square, as in Polyglot's keys, if an enemy pawn stands
    /// next to the pawn that moved but may not capture it.
    pub(super) polyglot_en_passant: bool,
}

/// A position of a game, and the move played there.
#[derive(Copy, Clone, Debug)]
pub(super) struct Visit {
    pub(super) key: u64,
    /// Index of the game.
    pub(super) game: u32,
    /// Number of moves before the position.
    pub(super) ply: u16,
    /// The low byte is the ordinal of the move. The flags [`HAS_MOVE`], [`IS_FIRST`] and [`BLACK`]
    /// follow, and from bit [`LEN_SHIFT`] on the length of the board.
    what: u16,
    /// The packed identity board, padded with zeros. For a long board (see [`Visits::long`]), the length is
    /// zero, and the field refers to the board: it has a zero word, the index in [`Visits::long`], and the
    /// number of the [`Visits`].
    board: [U64; PLAIN_MAX / 8],
}

/// Flags in [`Visit::what`], above the ordinal.
const HAS_MOVE: u16 = 1 << 8;
const IS_FIRST: u16 = 1 << 9;
const BLACK: u16 = 1 << 10;
const LEN_SHIFT: u32 = 11;
const _: () = assert!(PLAIN_MAX < 1 << (u16::BITS - LEN_SHIFT));

impl Visit {
    /// Whether this is the first visit of the game to the position.
    pub(super) const fn is_first(&self) -> bool {
        self.what & IS_FIRST != 0
    }

    pub(super) const fn turn(&self) -> Color {
        if self.what & BLACK != 0 { Color::Black } else { Color::White }
    }

    /// The ordinal of the move; `None` if there is no move, if the game played it in this position
    /// before, or if the ordinal does not fit into a byte.
    pub(super) const fn ordinal(&self) -> Option<u8> {
        if self.what & HAS_MOVE != 0 { Some(self.what as u8) } else { None }
    }

    /// The packed identity board; `all` are the visits of all threads.
    pub(super) fn board<'a>(&'a self, all: &'a [Visits]) -> &'a [u8] {
        match self.plain_board() {
            Some((board, len)) => &board[..len],
            None => long_board(all, self.long_place()).as_bytes(),
        }
    }

    /// The place of a long board: its index in [`Visits::long`], and the number of its [`Visits`].
    fn long_place(&self) -> [usize; 2] {
        let [_, number, of] = self.board.map(|word| word.get() as usize);
        [number, of]
    }

    /// The packed identity board padded with zeros, and its length; `None` for a long board.
    #[inline]
    pub(super) fn plain_board(&self) -> Option<(&[u8; PLAIN_MAX], usize)> {
        let len = usize::from(self.what >> LEN_SHIFT);
        if len == 0 {
            return None;
        }
        self.board.as_bytes().first_chunk().map(|board| (board, len))
    }

    /// Prefetches the visit, which may lie in two cache lines.
    #[inline]
    pub(super) fn ask_for(&self) {
        prefetch(self);
        prefetch(&self.board[PLAIN_MAX / 8 - 1]);
    }

    /// Whether both visits have the same board; `long` returns the long board of a place.
    pub(super) fn is_of_board<'a>(
        &self,
        other: &Visit,
        long: impl Fn([usize; 2]) -> &'a PackedBoard,
    ) -> bool {
        match (self.plain_board(), other.plain_board()) {
            (None, None) => long(self.long_place()) == long(other.long_place()),
            // The reference to a long board begins with a zero word, and no packed board does.
            _ => self.board == other.board,
        }
    }
}

/// A long board of these visits, by its index and the number of its visits.
pub(super) fn long_board(all: &[Visits], [number, of]: [usize; 2]) -> &PackedBoard {
    &all[of].long[number]
}

/// Visits in chunks of equal size, so that no visits are copied when the list grows.
#[derive(Default, Debug)]
pub(super) struct Part {
    full: Vec<Vec<Visit>>,
    last: Vec<Visit>,
}

const PIECE: usize = 1 << 6;

impl Part {
    #[inline(always)]
    fn push(&mut self, visit: Visit) {
        if self.last.len() == self.last.capacity() {
            self.begin_piece();
        }
        self.last.push(visit);
    }

    #[cold]
    fn begin_piece(&mut self) {
        let full = std::mem::replace(&mut self.last, Vec::with_capacity(PIECE));
        if !full.is_empty() {
            self.full.push(full);
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Visit> {
        self.full.iter().chain([&self.last]).flatten()
    }

    pub(super) fn len(&self) -> usize {
        self.full.iter().map(Vec::len).sum::<usize>() + self.last.len()
    }
}

/// The visits of the games of one thread.
#[derive(Debug)]
pub(super) struct Visits {
    /// The visits, divided by the first [`PART_BITS`] bits of their keys.
    pub(super) parts: Vec<Part>,
    pub(super) len: usize,
    /// Boards with more pieces than the start array.
    pub(super) long: Vec<PackedBoard>,
    /// Number of plies of the main lines, up to the last ply that counts.
    pub(super) plies: u64,
    /// Number of moves that are not counted, because their ordinals do not fit into a byte.
    pub(super) wide_moves: u64,
    /// The visits of the game since its last irreversible move.
    recent: Vec<Visit>,
    /// The index of these visits among those of all threads.
    number: usize,
}

/// Number of key bits that select the part of a visit.
pub(super) const PART_BITS: u32 = 8;
/// Minimum number of plies between repetitions.
const SOONEST_REPEAT: usize = 4;

/// The arguments of [`Visits::add`].
struct Added<'a> {
    visits: &'a mut Visits,
    lines: &'a [Line],
    moves: &'a [Move],
    first: usize,
    which: Which,
}

impl Kernel for Added<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Added { visits, lines, moves, first, which } = self;
        for (line, game) in lines.iter().zip(first..) {
            let Visits { plies, wide_moves, .. } = *visits;
            visits.add_line(&line.start, &moves[line.moves.clone()], game as u32, which);
            // Only a game that counts for the first time adds to these numbers.
            if line.role != Role::Counts {
                visits.plies = plies;
                visits.wide_moves = wide_moves;
            }
        }
    }
}

impl Visits {
    /// Empty visits, with their index among those of all threads.
    pub(super) fn new(number: usize) -> Visits {
        let mut parts = Vec::new();
        parts.resize_with(1 << PART_BITS, Part::default);
        let (long, recent) = Default::default();
        Visits { parts, len: 0, long, plies: 0, wide_moves: 0, recent, number }
    }

    /// The memory that the visits take, in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.len * size_of::<Visit>() + size_of_val(&self.long[..])
    }

    /// Adds the visits of games. `first` is the index of the first game; `moves` has the moves of
    /// all lines.
    pub(super) fn add(&mut self, lines: &[Line], moves: &[Move], first: usize, which: Which) {
        let visits = self;
        InstructionSet::fastest().run(Added { visits, lines, moves, first, which });
    }

    #[inline(always)]
    fn add_line(&mut self, start: &Start, moves: &[Move], game: u32, which: Which) {
        let Some(mut replay) = Replay::new(start) else { return };
        let mut keys = LineKeys::default();
        self.recent.clear();
        let mut moves = moves.iter();
        loop {
            let mv = if replay.ply() < which.max_ply { moves.next() } else { None };
            if replay.halfmove_clock() == 0 {
                self.recent.clear();
            }
            self.add_position(&replay, mv, game, which, &mut keys);
            let Some(mv) = mv else { return };
            replay.play(*mv);
            self.plies += 1;
        }
    }

    /// Adds the visit of a position, unless the game has visited the position and played the same
    /// move there before.
    #[inline(always)]
    fn add_position(
        &mut self,
        replay: &Replay,
        mv: Option<&Move>,
        game: u32,
        which: Which,
        keys: &mut LineKeys,
    ) {
        let with_en_passant = replay.position().en_passant().map(|_| {
            if which.polyglot_en_passant {
                key::with_polyglot_en_passant(replay.position())
            } else {
                replay.position().identity()
            }
        });
        let identity = with_en_passant.as_ref().unwrap_or(replay.position());
        // Not `and_then`: a closure would be compiled without the instructions of the kernel.
        let ordinal = match mv {
            Some(mv) => ordinal::ordinal_in(&replay.playable(), *mv),
            None => None,
        };
        let narrow = ordinal.and_then(|ordinal| u8::try_from(ordinal).ok());
        self.wide_moves += u64::from(ordinal.is_some() && narrow.is_none());
        let turn = if identity.turn() == Color::Black { BLACK } else { 0 };
        let key = keys.next(identity);
        let (board, len) = match packed::plain_parts(identity, keys.board()) {
            Some((occupied, codes)) => {
                let words = [occupied, codes as u64, (codes >> 64) as u64];
                (words.map(U64::new), packed::plain_len(occupied.count_ones()))
            }
            None => (self.keep_long(identity), 0),
        };
        let ply = u16::try_from(replay.ply()).unwrap_or(u16::MAX);
        let played = narrow.map_or(0, |ordinal| HAS_MOVE | u16::from(ordinal));
        let what = played | IS_FIRST | turn | (len as u16) << LEN_SHIFT;
        let mut visit = Visit { key, game, ply, what, board };
        if !which.repeats && self.recent.len() >= SOONEST_REPEAT {
            visit.what = self.without_repeats(visit);
        }
        if visit.what & (IS_FIRST | HAS_MOVE) != 0 {
            self.parts[(key >> (u64::BITS - PART_BITS)) as usize].push(visit);
            self.recent.push(visit);
            self.len += 1;
        }
    }

    /// Returns [`Visit::what`] without [`IS_FIRST`] if the game visited the position before, and
    /// without [`HAS_MOVE`] if it also played the same move there. The visit is passed by value,
    /// because a reference would force it into memory, and reading it back would wait for the
    /// write.
    fn without_repeats(&self, visit: Visit) -> u16 {
        let mut what = visit.what;
        for other in &self.recent {
            let long = |[number, _]: [usize; 2]| &self.long[number];
            if other.key == visit.key && other.is_of_board(&visit, long) {
                what &= !IS_FIRST;
                if other.ordinal() == visit.ordinal() {
                    what &= !HAS_MOVE;
                }
            }
        }
        what
    }

    /// Stores a long board, and returns the value of [`Visit::board`] that refers to it.
    #[cold]
    fn keep_long(&mut self, identity: &Position) -> [U64; PLAIN_MAX / 8] {
        let place = [0, self.long.len() as u64, self.number as u64];
        self.long.push(packed::encode(identity));
        place.map(U64::new)
    }
}
