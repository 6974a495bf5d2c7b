//! Move ordinals. All legal moves of a position are sorted by their SANs in ASCII order; the
//! ordinal of a move is its place in this order. The format is `formats/chess.md`.
//!
//! No SAN is written to find an ordinal. Moves are divided into classes, which in ASCII order are:
//! bishops, king, knights, castling, queens, rooks, pawns. The moves in all classes before the
//! move's own class are counted as sets of destination squares.
//!
//! The move's own class is mostly counted in the same way. If no two pieces of the class reach the
//! same square, its moves are sorted by destination, file by file, with all captures last. Pawn
//! moves are counted as sets too. Sort keys are made only if pieces of one kind share destinations.

use std::cmp::Ordering;

use crate::model::rules::{BACK_RANKS, Move, PROMOTIONS, Playable};
use crate::model::{Color, Role, Side, Square};
use crate::simd::{InstructionSet, Kernel};

/// Calls `choose` with the number of legal moves, and returns the move with the ordinal that
/// `choose` returns. `None` if `choose` returns `None`, or an ordinal that no move has.
pub fn pick(playable: &Playable, choose: impl FnOnce(u16) -> Option<u16>) -> Option<Move> {
    let counts = counts(playable);
    let ordinal = choose(counts.iter().sum())?;
    InstructionSet::fastest().run(CountedMove { playable, counts, ordinal })
}

/// The move with an ordinal, where the moves of each class are counted already.
struct CountedMove<'p> {
    playable: &'p Playable,
    counts: [u16; Class::ALL.len()],
    ordinal: u16,
}

impl Kernel for CountedMove<'_> {
    type Output = Option<Move>;

    #[inline(always)]
    fn run(self) -> Option<Move> {
        let mut place = self.ordinal;
        for (class, count) in Class::ALL.into_iter().zip(self.counts) {
            if place < count {
                return class.at(self.playable, place).ok();
            }
            place -= count;
        }
        None
    }
}

/// Returns the ordinal of a move; `None` if the move is not legal. Ordinals above 255 exist only on
/// boards with more pieces than a game can have.
///
/// ```
/// use epdb_chess::codec::ordinal;
/// use epdb_chess::model::{Position, Square, rules::{Move, Playable}};
/// let start = Playable::new(&Position::START).expect("playable");
/// let e4 = Move { from: Square::at(4, 1), to: Square::at(4, 3), promotion: None };
/// assert_eq!(ordinal::ordinal(&start, e4), Some(13));
/// assert_eq!(ordinal::move_at(&start, 13), Some(e4));
/// ```
pub fn ordinal(playable: &Playable, mv: Move) -> Option<u16> {
    InstructionSet::fastest().run(OrdinalOf { playable, mv })
}

/// Does the same as [`ordinal`], inside another kernel.
#[inline(always)]
pub fn ordinal_in(playable: &Playable, mv: Move) -> Option<u16> {
    OrdinalOf { playable, mv }.run()
}

struct OrdinalOf<'p> {
    playable: &'p Playable,
    mv: Move,
}

impl Kernel for OrdinalOf<'_> {
    type Output = Option<u16>;

    #[inline(always)]
    fn run(self) -> Option<u16> {
        let OrdinalOf { playable, mv } = self;
        let class = Class::new(playable, mv)?;
        let mut before = 0;
        // Not in a loop, so that each class has its own code to count it.
        macro_rules! count_up_to_it {
            ($($nth:literal)*) => {
                $(
                    if class == Class::ALL[$nth] {
                        return Some(before + Class::ALL[$nth].place(playable, mv)?);
                    }
                    before += Class::ALL[$nth].count(playable);
                )*
            };
        }
        count_up_to_it!(0 1 2 3 4 5);
        Some(before + Class::Pawns.place(playable, mv)?)
    }
}

/// Returns the move with this ordinal; `None` if there are not that many moves. Only the classes up to that of
/// the move are counted.
pub fn move_at(playable: &Playable, ordinal: u16) -> Option<Move> {
    InstructionSet::fastest().run(MoveAt { playable, ordinal })
}

struct MoveAt<'p> {
    playable: &'p Playable,
    ordinal: u16,
}

impl Kernel for MoveAt<'_> {
    type Output = Option<Move>;

    #[inline(always)]
    fn run(self) -> Option<Move> {
        move_in(self.playable, self.ordinal).map(|(mv, _)| mv)
    }
}

/// Does the same as [`move_at`], inside another kernel. Also returns the role of the piece; `None` for castling.
#[inline(always)]
pub(super) fn move_in(playable: &Playable, ordinal: u16) -> Option<(Move, Option<Role>)> {
    let mut place = ordinal;
    // Not in a loop, so that each class has its own code to count it.
    macro_rules! pass_classes {
        ($($nth:literal)*) => {
            $(match Class::ALL[$nth].at(playable, place) {
                Ok(mv) => return Some((mv, Class::ALL[$nth].role())),
                Err(count) => place = place.checked_sub(count)?,
            })*
        };
    }
    pass_classes!(0 1 2 3 4 5);
    let mv = Class::Pawns.at(playable, place).ok()?;
    Some((mv, Some(Role::Pawn)))
}

/// Lists all legal moves in the order of their ordinals.
pub fn list(playable: &Playable) -> Vec<Move> {
    let mut moves = Vec::with_capacity(48);
    for class in Class::ALL {
        match class {
            Class::Pieces(role) => {
                moves.extend(sorted_keys(playable, role).into_iter().map(move_of_key));
            }
            _ => moves.extend((0..).map_while(|place| class.at(playable, place).ok())),
        }
    }
    moves
}

/// The number of legal moves.
pub fn count(playable: &Playable) -> u16 {
    counts(playable).iter().sum()
}

fn counts(playable: &Playable) -> [u16; Class::ALL.len()] {
    InstructionSet::fastest().run(CountsOf(playable))
}

struct CountsOf<'p>(&'p Playable);

impl Kernel for CountsOf<'_> {
    type Output = [u16; Class::ALL.len()];

    #[inline(always)]
    fn run(self) -> Self::Output {
        // Not in a loop, so that each class has its own code to count it.
        macro_rules! counts {
            ($($nth:literal)*) => { [$(Class::ALL[$nth].count(self.0)),*] };
        }
        counts!(0 1 2 3 4 5 6)
    }
}

/// A class of moves whose SANs begin in the same way: with the letter of a piece, with `O`, or with
/// a file.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Class {
    Pieces(Role),
    Castling,
    Pawns,
}

impl Class {
    /// The classes in ASCII order of the first letter.
    const ALL: [Class; 7] = [
        Class::Pieces(Role::Bishop),
        Class::Pieces(Role::King),
        Class::Pieces(Role::Knight),
        Class::Castling,
        Class::Pieces(Role::Queen),
        Class::Pieces(Role::Rook),
        Class::Pawns,
    ];

    fn new(playable: &Playable, mv: Move) -> Option<Class> {
        let board = playable.position().board();
        let us = playable.position().turn();
        if !board.color(us).contains(mv.from) {
            return None;
        }
        match board.role_at(mv.from)? {
            Role::Pawn => Some(Class::Pawns),
            _ if mv.promotion.is_some() => None,
            Role::King if board.color(us).contains(mv.to) => Some(Class::Castling),
            role => Some(Class::Pieces(role)),
        }
    }

    /// The role of the pieces; `None` for castling.
    const fn role(self) -> Option<Role> {
        match self {
            Class::Pieces(role) => Some(role),
            Class::Castling => None,
            Class::Pawns => Some(Role::Pawn),
        }
    }

    /// Number of legal moves of the class.
    #[inline(always)]
    fn count(self, playable: &Playable) -> u16 {
        match self {
            Class::Pieces(Role::King) => size(playable.king_destinations().bits()),
            Class::Pieces(role) => Reach::new(playable, role).count,
            Class::Castling => {
                let [king_side, queen_side] =
                    Side::ALL.map(|side| playable.castling(side).is_some());
                u16::from(king_side) + u16::from(queen_side)
            }
            Class::Pawns => PawnMoves::new(playable).count(),
        }
    }

    /// Returns the place of a move in its class; `None` if the move is not legal.
    #[inline(always)]
    fn place(self, playable: &Playable, mv: Move) -> Option<u16> {
        match self {
            Class::Pieces(role) => {
                let reach = Reach::new(playable, role);
                if !playable.destinations(mv.from, role).contains(mv.to) {
                    return None;
                }
                if reach.shared == 0 {
                    return Some(reach.place(playable, mv.to));
                }
                Some(reach.place_among_rivals(playable, role, mv))
            }
            Class::Castling => {
                let side = playable.castling_side(mv)?;
                let has_king_side = playable.castling(Side::King).is_some();
                Some(u16::from(side == Side::Queen && has_king_side))
            }
            Class::Pawns => PawnMoves::new(playable).place(playable, mv),
        }
    }

    /// Returns the move at a place of the class. If the place is beyond the class, the error is the number of
    /// moves of the class.
    #[inline(always)]
    fn at(self, playable: &Playable, place: u16) -> Result<Move, u16> {
        match self {
            Class::Pieces(Role::King) => {
                let reach = Reach::of_king(playable);
                let to = reach.at(playable, place).ok_or(reach.count)?;
                Ok(Move { from: playable.king(), to, promotion: None })
            }
            Class::Pieces(role) => {
                let reach = Reach::new(playable, role);
                if place >= reach.count {
                    return Err(reach.count);
                }
                reach.move_at(playable, role, place).ok_or(reach.count)
            }
            Class::Castling => {
                let king_side = playable.castling(Side::King);
                let queen_side = playable.castling(Side::Queen);
                let first = king_side.or(queen_side);
                let second = king_side.and(queen_side);
                let to = if place == 0 { first } else { second.filter(|_| place == 1) };
                let to = to.ok_or(u16::from(first.is_some()) + u16::from(second.is_some()))?;
                Ok(Move { from: playable.king(), to, promotion: None })
            }
            Class::Pawns => {
                let moves = PawnMoves::new(playable);
                moves.at(playable, place).ok_or_else(|| moves.count())
            }
        }
    }
}

#[inline(always)]
fn pieces(playable: &Playable, role: Role) -> impl Iterator<Item = Square> {
    let position = playable.position();
    position.board().pieces(position.turn(), role).into_iter()
}

/// The destinations of the lowest of some pieces of one role; none if there are no pieces.
#[inline(always)]
fn destinations_of_lowest(playable: &Playable, role: Role, pieces: u64) -> u64 {
    let any = Square::at(0, 0);
    let all_if_some = 0_u64.wrapping_sub(u64::from(pieces != 0));
    let from = Square::lowest(pieces).unwrap_or(any);
    playable.destinations(from, role).bits() & all_if_some
}

/// The destinations of the pieces of one role.
struct Reach {
    /// The squares that at least one piece reaches.
    all: u64,
    /// The squares that several pieces reach, so that SAN must name the piece.
    shared: u64,
    /// Number of moves.
    count: u16,
    /// The destinations of the piece on the lowest square.
    of_first: u64,
    /// All pieces.
    pieces: u64,
}

impl Reach {
    #[inline(always)]
    fn new(playable: &Playable, role: Role) -> Reach {
        let position = playable.position();
        let pieces = position.board().pieces(position.turn(), role).bits();
        let all_but_first = pieces & pieces.wrapping_sub(1);
        // Without a branch for the second piece, because the processor could not predict it.
        let of_first = destinations_of_lowest(playable, role, pieces);
        let of_second = match role {
            Role::Queen => 0,
            _ => destinations_of_lowest(playable, role, all_but_first),
        };
        let others = match role {
            Role::Queen => all_but_first,
            _ => all_but_first & all_but_first.wrapping_sub(1),
        };
        let mut reach = Reach {
            all: of_first | of_second,
            shared: of_first & of_second,
            count: size(of_first) + size(of_second),
            of_first,
            pieces,
        };
        for from in Square::each(others) {
            let own = playable.destinations(from, role).bits();
            reach.shared |= reach.all & own;
            reach.all |= own;
            reach.count += size(own);
        }
        reach
    }

    /// The destinations of the king.
    #[inline(always)]
    fn of_king(playable: &Playable) -> Reach {
        let all = playable.king_destinations().bits();
        let pieces = playable.king().bit();
        Reach { all, shared: 0, count: size(all), of_first: all, pieces }
    }

    /// The piece that reaches a square that is not shared.
    #[inline(always)]
    fn origin(&self, playable: &Playable, role: Role, to: Square) -> Option<Square> {
        let all_but_first = self.pieces & self.pieces.wrapping_sub(1);
        let is_of_first = self.of_first & to.bit() != 0;
        let is_third = all_but_first & all_but_first.wrapping_sub(1) != 0;
        if is_third && !is_of_first {
            return Square::lowest(playable.origins(role, to).bits());
        }
        Square::lowest(if is_of_first { self.pieces } else { all_but_first })
    }

    /// Splits the destinations into those of quiet moves and those of captures. Captures come last,
    /// because `x` sorts after every file.
    #[inline(always)]
    fn split(&self, playable: &Playable) -> (u64, u64) {
        let occupied = playable.position().board().occupied().bits();
        (self.all & !occupied, self.all & occupied)
    }

    /// Returns the place of the move to a square. No square may be shared.
    #[inline(always)]
    fn place(&self, playable: &Playable, to: Square) -> u16 {
        let (quiet, captures) = self.split(playable);
        if quiet & to.bit() != 0 {
            size(quiet & before(to))
        } else {
            size(quiet) + size(captures & before(to))
        }
    }

    /// Returns the place of a move if squares are shared. Moves to shared squares are counted by
    /// their keys, other moves as in [`Reach::place`].
    #[inline(always)]
    fn place_among_rivals(&self, playable: &Playable, role: Role, mv: Move) -> u16 {
        let own = key(playable, role, mv.from, mv.to, self.shared);
        let mut place = 0;
        each_key(playable, role, self.shared, self.shared, |other| place += u16::from(other < own));
        let alone = self.alone();
        if alone.all & mv.to.bit() != 0 {
            return place + alone.place(playable, mv.to);
        }
        place + alone.before_rival(playable, role, mv)
    }

    /// The destinations that one piece reaches.
    #[inline(always)]
    fn alone(&self) -> Reach {
        Reach { all: self.all & !self.shared, shared: 0, ..*self }
    }

    /// Returns the number of these moves that come before a move to a shared square.
    #[inline(always)]
    fn before_rival(&self, playable: &Playable, role: Role, rival: Move) -> u16 {
        // The texts are compared after the letter of the piece. Captures begin with `x`, after all others.
        let (quiet, _) = self.split(playable);
        let file = rival.from.file();
        let before_it = match Origin::new(playable, role, rival) {
            // `b1d2` comes after the squares up to `b1`.
            Origin { file: true, rank: true } => before(rival.from),
            // `bd2` comes after all squares of the files a and b: a digit sorts before a letter.
            Origin { file: true, rank: false } => through_file(file),
            // `1d2` comes before every square.
            Origin { file: false, .. } => 0,
        };
        size(quiet & before_it)
    }

    /// Returns the move at a place.
    #[inline(always)]
    fn move_at(&self, playable: &Playable, role: Role, place: u16) -> Option<Move> {
        if self.shared != 0 {
            return match self.pieces.count_ones() {
                2 => self.move_of_two(playable, place),
                _ => self.move_among_rivals(playable, role, place),
            };
        }
        let to = self.at(playable, place)?;
        let from = self.origin(playable, role, to)?;
        Some(Move { from, to, promotion: None })
    }

    /// Does the same as [`Reach::move_at`], if two pieces share squares. SAN names the file of the piece or, if
    /// both are on one file, its rank. So the moves of one piece to shared squares follow each other.
    #[inline(always)]
    fn move_of_two(&self, playable: &Playable, place: u16) -> Option<Move> {
        let low = Square::lowest(self.pieces)?;
        let high = Square::lowest(self.pieces & !low.bit())?;
        let [first, second] = if high.file() < low.file() { [high, low] } else { [low, high] };
        let rivals = Reach { all: self.shared, shared: 0, ..*self };
        let alone = self.alone();
        let (quiet, _) = alone.split(playable);
        let count = size(self.shared);
        let mut place = place;
        for from in [first, second] {
            // As in `before_rival`.
            let files = through_file(from.file());
            let before_it = if low.file() == high.file() { 0 } else { size(quiet & files) };
            match place.checked_sub(before_it) {
                None => break,
                Some(place) if place < count => {
                    let to = rivals.at(playable, place)?;
                    return Some(Move { from, to, promotion: None });
                }
                Some(_) => place -= count,
            }
        }
        let to = alone.at(playable, place)?;
        let from = if self.of_first & to.bit() != 0 { low } else { high };
        Some(Move { from, to, promotion: None })
    }

    /// Does the same as [`Reach::move_at`], for any number of pieces. Only moves to shared squares are sorted.
    #[cold]
    fn move_among_rivals(&self, playable: &Playable, role: Role, mut place: u16) -> Option<Move> {
        let alone = self.alone();
        let mut keys = Vec::with_capacity(16);
        each_key(playable, role, self.shared, self.shared, |key| keys.push(key));
        keys.sort_unstable();
        for rival in keys.into_iter().map(move_of_key) {
            match place.cmp(&alone.before_rival(playable, role, rival)) {
                Ordering::Less => break,
                Ordering::Equal => return Some(rival),
                Ordering::Greater => place -= 1,
            }
        }
        let to = alone.at(playable, place)?;
        let from = self.origin(playable, role, to)?;
        Some(Move { from, to, promotion: None })
    }

    /// Returns the destination of the move at a place; `None` beyond the last move. No square may be shared.
    #[inline(always)]
    fn at(&self, playable: &Playable, place: u16) -> Option<Square> {
        let (quiet, captures) = self.split(playable);
        match place.checked_sub(size(quiet)) {
            None => nth_by_file(quiet, place),
            Some(place_in_captures) => nth_by_file(captures, place_in_captures),
        }
    }
}

/// The parts of the origin square that SAN writes to tell a move from others.
struct Origin {
    file: bool,
    rank: bool,
}

impl Origin {
    #[inline(always)]
    fn new(playable: &Playable, role: Role, mv: Move) -> Origin {
        let rivals = playable.origins(role, mv.to).bits() & !mv.from.bit();
        let same_file = rivals & file_set(mv.from.file()) != 0;
        let same_rank = rivals & rank_set(mv.from.rank()) != 0;
        Origin { file: rivals != 0 && (!same_file || same_rank), rank: same_file }
    }
}

/// Returns the sort key of a move of a piece. The highest bits have the characters of the SAN after
/// the piece letter, at most five, in five bits each. The lowest twelve bits are the move itself. A
/// digit has its value, a file has 16 to 23, and `x` has 24.
#[inline(always)]
fn key(playable: &Playable, role: Role, from: Square, to: Square, shared: u64) -> u64 {
    const FILE_A: u64 = 16;
    const CAPTURE: u64 = 24;
    let mut text = 0;
    let mut shift = 37;
    let mut push = |character: u64| {
        text |= character << shift;
        shift -= 5;
    };
    if shared & to.bit() != 0 {
        let origin = Origin::new(playable, role, Move { from, to, promotion: None });
        if origin.file {
            push(FILE_A + u64::from(from.file()));
        }
        if origin.rank {
            push(1 + u64::from(from.rank()));
        }
    }
    if playable.position().board().occupied().contains(to) {
        push(CAPTURE);
    }
    push(FILE_A + u64::from(to.file()));
    push(1 + u64::from(to.rank()));
    text | (from.index() as u64) << 6 | to.index() as u64
}

fn move_of_key(key: u64) -> Move {
    let square = |index: u64| Square::at(index as u8 & 7, index as u8 >> 3 & 7);
    Move { from: square(key >> 6), to: square(key), promotion: None }
}

/// Calls `visit` with the sort key of each move to one of the `squares`.
#[inline(always)]
fn each_key(
    playable: &Playable,
    role: Role,
    shared: u64,
    squares: u64,
    mut visit: impl FnMut(u64),
) {
    for from in pieces(playable, role) {
        for to in Square::each(playable.destinations(from, role).bits() & squares) {
            visit(key(playable, role, from, to, shared));
        }
    }
}

fn sorted_keys(playable: &Playable, role: Role) -> Vec<u64> {
    let shared = Reach::new(playable, role).shared;
    let all_squares = !0;
    let mut keys = Vec::with_capacity(32);
    each_key(playable, role, shared, all_squares, |key| keys.push(key));
    keys.sort_unstable();
    keys
}

/// The pawn moves as three sets. Each move (or group of four promotions) is one square of a set.
/// The square has the file that the pawn leaves, and the rank to which the pawn goes.
struct PawnMoves {
    pushes: u64,
    /// Captures towards the a-file.
    left: u64,
    /// Captures towards the h-file.
    right: u64,
}

impl PawnMoves {
    #[inline(always)]
    fn new(playable: &Playable) -> PawnMoves {
        let position = playable.position();
        let pawns = position.board().pieces(position.turn(), Role::Pawn).bits();
        let mut moves = PawnMoves { pushes: 0, left: 0, right: 0 };
        let all_squares = !0;
        moves.add(playable, pawns & !playable.pinned().bits(), all_squares);
        for pawn in Square::each(pawns & playable.pinned().bits()) {
            moves.add(playable, pawn.bit(), crate::model::rules::line(playable.king(), pawn));
        }
        if let Some((capturers, target)) = playable.en_passant() {
            for from in capturers {
                let square = Square::at(from.file(), target.rank()).bit();
                let side =
                    if target.file() < from.file() { &mut moves.left } else { &mut moves.right };
                *side |= square;
            }
        }
        moves
    }

    #[inline(always)]
    fn add(&mut self, playable: &Playable, pawns: u64, line: u64) {
        let position = playable.position();
        let board = position.board();
        let free = !board.occupied().bits();
        let targets = playable.targets().bits() & line;
        let prey = board.color(!position.turn()).bits() & targets;
        let (ahead, third_rank) = match position.turn() {
            Color::White => (pawns << 8, rank_set(2)),
            Color::Black => (pawns >> 8, rank_set(5)),
        };
        let one = ahead & free;
        let two = match position.turn() {
            Color::White => (one & third_rank) << 8,
            Color::Black => (one & third_rank) >> 8,
        };
        self.pushes |= (one | two & free) & targets;
        self.left |= ahead & (prey & !file_set(7)) << 1;
        self.right |= ahead & (prey & !file_set(0)) >> 1;
    }

    /// The three sets of pawn moves, in the order of their SANs: pushes (a digit follows the file),
    /// captures on a lower file, captures on a higher file.
    fn groups(&self) -> [u64; 3] {
        [self.pushes, self.left, self.right]
    }

    #[inline(always)]
    fn count(&self) -> u16 {
        self.groups().into_iter().map(pawn_moves).sum()
    }

    #[inline(always)]
    fn place(&self, playable: &Playable, mv: Move) -> Option<u16> {
        let file = mv.from.file();
        let group = match mv.to.file() as i8 - file as i8 {
            0 => 0,
            -1 => 1,
            1 => 2,
            _ => return None,
        };
        let groups = self.groups();
        let square = Square::at(file, mv.to.rank());
        if groups[group] & square.bit() == 0 || origin(playable, square, group) != mv.from {
            return None;
        }
        let promotes = square.bit() & BACK_RANKS != 0;
        let promotion = match mv.promotion {
            Some(role) if promotes => PROMOTIONS.iter().position(|&other| other == role)? as u16,
            None if !promotes => 0,
            _ => return None,
        };
        let mut place = promotion;
        // Of each group, the moves from lower files come first. On the same file, the groups come
        // one after the other.
        for (nth, set) in groups.into_iter().enumerate() {
            let before_it = match nth.cmp(&group) {
                Ordering::Less => through_file(file),
                Ordering::Equal => before(square),
                Ordering::Greater => before(Square::at(file, 0)),
            };
            place += pawn_moves(set & before_it);
        }
        Some(place)
    }

    #[inline(always)]
    fn at(&self, playable: &Playable, mut place: u16) -> Option<Move> {
        let [pushes, left, right] = self.groups();
        if (pushes | left | right) & BACK_RANKS != 0 {
            return self.at_with_promotions(playable, place);
        }
        if place >= self.count() {
            return None;
        }
        let mut file = 0;
        for (files, half) in FILE_HALVES {
            let count = self.groups().into_iter().map(|set| size(set >> file & half)).sum();
            let is_beyond = place >= count;
            place -= if is_beyond { count } else { 0 };
            file += if is_beyond { files } else { 0 };
        }
        let mut group = 0;
        let mut set = pushes;
        for (nth, next) in [(1, left), (2, right)] {
            let count = size(set & file_set(file));
            let is_beyond = place >= count && group == nth - 1;
            place -= if is_beyond { count } else { 0 };
            set = if is_beyond { next } else { set };
            group = if is_beyond { nth } else { group };
        }
        let square = nth_of_file(set, file, place)?;
        Some(pawn_move(playable, square, group, 0))
    }

    /// Does the same as [`PawnMoves::at`], if a pawn may promote.
    #[cold]
    fn at_with_promotions(&self, playable: &Playable, mut place: u16) -> Option<Move> {
        for file in 0..8 {
            for (group, set) in self.groups().into_iter().enumerate() {
                let set = set & file_set(file);
                if place >= pawn_moves(set) {
                    place -= pawn_moves(set);
                    continue;
                }
                for square in Square::each(set) {
                    let moves = pawn_moves(square.bit());
                    if place < moves {
                        return Some(pawn_move(playable, square, group, place));
                    }
                    place -= moves;
                }
            }
        }
        None
    }
}

/// Returns a move of a set of [`PawnMoves`]. `nth` selects one of four promotions.
#[inline(always)]
fn pawn_move(playable: &Playable, square: Square, group: usize, nth: u16) -> Move {
    let file = square.file();
    let to_file = [file, file.wrapping_sub(1), file + 1][group];
    let promotes = square.bit() & BACK_RANKS != 0;
    Move {
        from: origin(playable, square, group),
        to: Square::at(to_file, square.rank()),
        promotion: if promotes { PROMOTIONS.get(usize::from(nth)).copied() } else { None },
    }
}

/// Returns the square that the pawn leaves in a move of [`PawnMoves`].
#[inline(always)]
fn origin(playable: &Playable, square: Square, group: usize) -> Square {
    let position = playable.position();
    let back = |rank: u8| match position.turn() {
        Color::White => rank.wrapping_sub(1),
        Color::Black => rank + 1,
    };
    let one_back = Square::at(square.file(), back(square.rank()));
    let pawns = position.board().pieces(position.turn(), Role::Pawn).bits();
    let is_double_step = group == 0 && pawns & one_back.bit() == 0;
    if is_double_step { Square::at(square.file(), back(one_back.rank())) } else { one_back }
}

/// Number of moves in a set of pawn moves. A square on a back rank counts as four promotions.
#[inline(always)]
const fn pawn_moves(set: u64) -> u16 {
    size(set) + 3 * size(set & BACK_RANKS)
}

#[inline(always)]
const fn size(set: u64) -> u16 {
    set.count_ones() as u16
}

const fn file_set(file: u8) -> u64 {
    0x0101_0101_0101_0101 << file
}

const fn rank_set(rank: u8) -> u64 {
    0xff << (rank * 8)
}

/// The squares before a square, in the order a1, a2, … a8, b1, … h8.
#[inline(always)]
const fn before(square: Square) -> u64 {
    let lower_files = 0x0101_0101_0101_0101 * ((1 << square.file()) - 1);
    lower_files | file_set(square.file()) & ((1 << (square.rank() * 8)) - 1)
}

/// The squares of a file and of all files before it.
#[inline(always)]
const fn through_file(file: u8) -> u64 {
    before(Square::at(file, 0)) | file_set(file)
}

/// Returns the square at a place of a set, in the order a1, a2, … a8, b1, … h8.
///
/// The files, and then the ranks, are halved three times, without a branch: the processor could not predict it.
#[inline(always)]
fn nth_by_file(set: u64, mut place: u16) -> Option<Square> {
    if place >= size(set) {
        return None;
    }
    let mut first_file = 0;
    for (files, half) in FILE_HALVES {
        let count = size(set >> first_file & half);
        let is_beyond = place >= count;
        place -= if is_beyond { count } else { 0 };
        first_file += if is_beyond { files } else { 0 };
    }
    nth_of_file(set, first_file, place)
}

/// Returns the square at a place of the part of a set on one file.
#[inline(always)]
fn nth_of_file(set: u64, file: u8, mut place: u16) -> Option<Square> {
    let on_file = set >> file & file_set(0);
    let mut first = file;
    for ranks in [4, 2, 1] {
        let count = size(on_file >> (first - file) & ((1 << (8 * ranks)) - 1));
        let is_beyond = place >= count;
        place -= if is_beyond { count } else { 0 };
        first += if is_beyond { 8 * ranks } else { 0 };
    }
    Square::new(first)
}

/// The lowest files of a board, a half of twice as many: their number and their squares.
const FILE_HALVES: [(u8, u64); 3] =
    [(4, 0x0f0f_0f0f_0f0f_0f0f), (2, 0x0303_0303_0303_0303), (1, 0x0101_0101_0101_0101)];
