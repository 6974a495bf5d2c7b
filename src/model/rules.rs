//! The rules of chess: which moves are legal, what a move leads to, what is wrong with a position.
//!
//! Attack tables come from shakmaty. Legal moves are counted and listed here as sets of
//! destination squares, because move ordinals need the sets (SPEC PGC-05) and because positions
//! of the format may have more than the 256 moves that shakmaty's move list holds (PGC-10). Tests
//! hold every answer of this file against shakmaty's.

use shakmaty::{Bitboard, attacks};

use super::board::Board;
use super::position::{Castling, Position, Side, en_passant_rank};
use super::record::EpdRecord;
use super::square::{Color, Role, Square};

/// A move of a playable position.
///
/// Castling is said as the king taking its own rook (`e1h1`), which no other move can be
/// (C960-11).
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Move {
    /// The square the man leaves.
    pub from: Square,
    /// The square it goes to; for castling the square of the rook.
    pub to: Square,
    /// What a pawn on its last rank becomes.
    pub promotion: Option<Role>,
}

/// The four roles of a promotion in the order of their letters: `B N Q R`.
pub const PROMOTIONS: [Role; 4] = [Role::Bishop, Role::Knight, Role::Queen, Role::Rook];

/// A position in which moves can be generated (POS-05): one king a side, no pawn on a back rank,
/// and the side to move could not take a king. A bad en passant square counts as none.
///
/// ```
/// use epdb::model::{Position, rules::Playable};
/// let start = Playable::new(&Position::START).expect("the start array is playable");
/// assert_eq!(start.legal_moves().len(), 20);
/// ```
#[derive(Copy, Clone, Debug)]
pub struct Playable {
    position: Position,
    king: Square,
    checkers: u64,
    pinned: u64,
    /// Where a man other than the king may go: all squares but our own without check, between
    /// king and checker or onto it in check, nowhere in double check.
    targets: u64,
}

impl Playable {
    /// Prepares a position for move generation; `None` when it is not playable.
    pub fn new(position: &Position) -> Option<Playable> {
        let board = position.board();
        let (us, them) = (position.turn(), !position.turn());
        let (king, their_king) = (board.king(us)?, board.king(them)?);
        if board.role(Role::Pawn) & BACK_RANKS != 0
            || attackers(board, their_king, us, board.occupied()) != 0
        {
            return None;
        }
        Some(Playable::prepare(*position, king))
    }

    /// [`Playable::new`] for a position that is known to be playable.
    pub(super) fn of_playable(position: &Position) -> Playable {
        let king = position.board().king(position.turn()).unwrap_or(Square::at(4, 0));
        Playable::prepare(*position, king)
    }

    /// What [`Playable::new`] does after it has found the position playable.
    fn prepare(mut position: Position, king: Square) -> Playable {
        if !en_passant_is_possible(&position) {
            position = position.with_en_passant(None).unwrap_or(position);
        }
        let board = position.board();
        let us = position.turn();
        let checkers = attackers(board, king, !us, board.occupied());
        let targets = !board.color(us)
            & match checkers.count_ones() {
                0 => !0,
                1 => {
                    Square::lowest(checkers).map_or(0, |checker| between(king, checker)) | checkers
                }
                _ => 0,
            };
        let pinned = pinned(board, king, us);
        Playable { position, king, checkers, pinned, targets }
    }

    /// The position, without an en passant square that no double step can have left.
    pub const fn position(&self) -> &Position {
        &self.position
    }

    /// The men that give check.
    pub const fn checkers(&self) -> u64 {
        self.checkers
    }

    /// The square of the king of the side to move.
    pub const fn king(&self) -> Square {
        self.king
    }

    /// Our men that may only move along the line through our king.
    pub const fn pinned(&self) -> u64 {
        self.pinned
    }

    /// The squares that men other than the king may move to at all: without check all but our
    /// own, in check those that end it, in double check none. En passant captures are apart.
    pub const fn targets(&self) -> u64 {
        self.targets
    }

    /// The squares to which the man on `from` may legally move, castling and en passant apart.
    /// The man must be of the side to move and of this role.
    pub fn destinations(&self, from: Square, role: Role) -> u64 {
        if role == Role::King {
            return self.king_destinations();
        }
        let board = self.position.board();
        let reach = match role {
            Role::Pawn => self.pawn_reach(from),
            _ => role_attacks(role, from, board.occupied()),
        };
        let line = if self.pinned & from.bit() != 0 { line(self.king, from) } else { !0 };
        reach & self.targets & line
    }

    /// Our men of a role, pawns apart, that may legally go to a square: the question that SAN's
    /// disambiguation asks (SAN-06).
    pub fn origins(&self, role: Role, to: Square) -> u64 {
        let board = self.position.board();
        let candidates =
            role_attacks(role, to, board.occupied()) & board.pieces(self.position.turn(), role);
        let held = Square::each(candidates & self.pinned)
            .filter(|&from| line(self.king, from) & to.bit() == 0)
            .fold(0, |held, from| held | from.bit());
        match role {
            Role::King => {
                candidates & if self.king_destinations() & to.bit() != 0 { !0 } else { 0 }
            }
            _ if self.targets & to.bit() == 0 => 0,
            _ => candidates & !held,
        }
    }

    /// The squares to which the king may legally step.
    pub fn king_destinations(&self) -> u64 {
        let board = self.position.board();
        let us = self.position.turn();
        let without_king = board.occupied() & !self.king.bit();
        Square::each(king_attacks(self.king) & !board.color(us))
            .filter(|to| attackers(board, *to, !us, without_king) == 0)
            .map(Square::bit)
            .sum()
    }

    fn pawn_reach(&self, from: Square) -> u64 {
        let board = self.position.board();
        let us = self.position.turn();
        let free = !board.occupied();
        let (start_rank, forward): (u8, fn(u64) -> u64) = match us {
            Color::White => (1, |set| set << 8),
            Color::Black => (6, |set| set >> 8),
        };
        let one = forward(from.bit()) & free;
        let two = if from.rank() == start_rank { forward(one) & free } else { 0 };
        one | two | (pawn_attacks(us, from) & board.color(!us))
    }

    /// The pawns that may legally capture en passant, and the square they go to.
    pub fn en_passant(&self) -> Option<(u64, Square)> {
        let target = self.position.en_passant()?;
        let board = self.position.board();
        let us = self.position.turn();
        let candidates = pawn_attacks(!us, target) & board.pieces(us, Role::Pawn);
        let legal = Square::each(candidates)
            .filter(|from| {
                let captured = Square::at(target.file(), from.rank());
                let occupied = (board.occupied() & !from.bit() & !captured.bit()) | target.bit();
                attackers(board, self.king, !us, occupied) & !captured.bit() == 0
            })
            .map(Square::bit)
            .sum();
        (legal != 0).then_some((legal, target))
    }

    /// The square of the rook with which the king may castle to a side right now (C960-10).
    pub fn castling(&self, side: Side) -> Option<Square> {
        let us = self.position.turn();
        let rook = Square::at(self.position.castling().rook(us, side)?, us.back_rank());
        let board = self.position.board();
        if self.checkers != 0 {
            return None;
        }
        let (king_to, rook_to) = side.targets(us);
        let path =
            between(self.king, king_to) | king_to.bit() | between(rook, rook_to) | rook_to.bit();
        let others = board.occupied() & !self.king.bit() & !rook.bit();
        let passes = between(self.king, king_to);
        let without_king = board.occupied() & !self.king.bit();
        (path & others == 0
            && attackers(board, king_to, !us, others | rook_to.bit()) == 0
            && Square::each(passes).all(|square| attackers(board, square, !us, without_king) == 0))
        .then_some(rook)
    }

    /// Calls `visit` with each legal move, in no promised order, until it returns false.
    pub fn each_move(&self, mut visit: impl FnMut(Move) -> bool) {
        let board = self.position.board();
        let us = self.position.turn();
        for role in Role::ALL {
            for from in Square::each(board.pieces(us, role)) {
                for to in Square::each(self.destinations(from, role)) {
                    let promotes = role == Role::Pawn && to.bit() & BACK_RANKS != 0;
                    let go_on = if promotes {
                        PROMOTIONS
                            .iter()
                            .all(|&promoted| visit(Move { from, to, promotion: Some(promoted) }))
                    } else {
                        visit(Move { from, to, promotion: None })
                    };
                    if !go_on {
                        return;
                    }
                }
            }
        }
        let (capturers, target) = self.en_passant().unwrap_or((0, self.king));
        let en_passant = Square::each(capturers).map(|from| (from, target));
        let castling =
            Side::ALL.into_iter().filter_map(|side| Some((self.king, self.castling(side)?)));
        for (from, to) in en_passant.chain(castling) {
            if !visit(Move { from, to, promotion: None }) {
                return;
            }
        }
    }

    /// All legal moves, in no promised order. Ordinal order is the business of the codec.
    pub fn legal_moves(&self) -> Vec<Move> {
        let mut moves = Vec::with_capacity(48);
        self.each_move(|mv| {
            moves.push(mv);
            true
        });
        moves
    }

    /// Whether the side to move has a legal move.
    pub fn has_move(&self) -> bool {
        let mut found = false;
        self.each_move(|_| {
            found = true;
            false
        });
        found
    }

    /// Whether a move is legal here.
    pub fn is_legal(&self, mv: Move) -> bool {
        let Some(piece) = self.position.board().piece_at(mv.from) else { return false };
        if piece.color != self.position.turn() {
            return false;
        }
        let promotes = piece.role == Role::Pawn && mv.to.bit() & BACK_RANKS != 0;
        let promotion_fits = match mv.promotion {
            Some(role) => promotes && PROMOTIONS.contains(&role),
            None => !promotes,
        };
        promotion_fits
            && (self.destinations(mv.from, piece.role) & mv.to.bit() != 0
                || self.is_en_passant(mv)
                || self.castling_side(mv).is_some())
    }

    /// Whether a move is a legal en passant capture.
    pub fn is_en_passant(&self, mv: Move) -> bool {
        self.en_passant().is_some_and(|(from, to)| from & mv.from.bit() != 0 && to == mv.to)
    }

    /// To which side a move castles, if it is legal castling.
    pub fn castling_side(&self, mv: Move) -> Option<Side> {
        Side::ALL
            .into_iter()
            .find(|&side| mv.from == self.king && self.castling(side) == Some(mv.to))
    }

    /// Whether a move captures a man, en passant included.
    pub fn is_capture(&self, mv: Move) -> bool {
        self.position.board().color(!self.position.turn()) & mv.to.bit() != 0
            || self.is_en_passant(mv)
    }

    /// The position after a legal move. The en passant square is set after every double step
    /// (FEN-09).
    pub fn after(&self, mv: Move) -> Playable {
        let next = after(&self.position, mv);
        Playable::prepare(next, next.board().king(next.turn()).unwrap_or(self.king))
    }

    /// Whether the side to move is checkmated.
    pub fn is_checkmate(&self) -> bool {
        self.checkers != 0 && !self.has_move()
    }
}

/// The position after a legal move of a playable position whose en passant square, if it has one,
/// is possible: [`Playable::after`] without getting ready for the next move.
pub fn after(position: &Position, mv: Move) -> Position {
    let us = position.turn();
    let before = position.board();
    let role = before.role_at(mv.from).unwrap_or(Role::Pawn);
    let (from, to) = (mv.from.bit(), mv.to.bit());
    let mut en_passant = None;
    let board = if before.pieces(us, Role::Rook) & to != 0 {
        let side = if mv.to.file() > mv.from.file() { Side::King } else { Side::Queen };
        let (king_to, rook_to) = side.targets(us);
        let without_rook = before.replaced(from | to, king_to.bit(), us, Role::King);
        without_rook.replaced(0, rook_to.bit(), us, Role::Rook)
    } else {
        let mut gone = from | to;
        if role == Role::Pawn {
            if position.en_passant() == Some(mv.to) && mv.from.file() != mv.to.file() {
                gone |= Square::at(mv.to.file(), mv.from.rank()).bit();
            } else if mv.from.rank().abs_diff(mv.to.rank()) == 2 {
                let passed = (mv.from.rank() + mv.to.rank()) / 2;
                en_passant = Some(Square::at(mv.from.file(), passed));
            }
        }
        before.replaced(gone, to, us, mv.promotion.unwrap_or(role))
    };
    let castling = castling_after(position, mv, role);
    Position::from_parts(board, !us, castling, en_passant)
}

/// A right is lost when its king moves, or when its rook moves or is captured.
fn castling_after(position: &Position, mv: Move, role: Role) -> Castling {
    let mut castling = *position.castling();
    if castling.is_empty() {
        return castling;
    }
    let touched = mv.from.bit() | mv.to.bit();
    for color in Color::ALL {
        for side in Side::ALL {
            let Some(file) = castling.rook(color, side) else { continue };
            let rook = Square::at(file, color.back_rank()).bit();
            if touched & rook != 0 || (color == position.turn() && role == Role::King) {
                castling.set(color, side, None);
            }
        }
    }
    castling
}

/// Whether a move starts the halfmove clock again: a pawn move or a capture (FEN-10).
pub fn is_zeroing(position: &Position, mv: Move) -> bool {
    let board = position.board();
    let prey = board.role(Role::Pawn) & mv.from.bit() | board.color(!position.turn()) & mv.to.bit();
    prey != 0
}

/// Whether a legal en passant capture exists (STO-01); never on a board that is not playable.
pub fn en_passant_is_legal(position: &Position) -> bool {
    let Some(target) = position.en_passant() else { return false };
    let us = position.turn();
    pawn_attacks(!us, target) & position.board().pieces(us, Role::Pawn) != 0
        && Playable::new(position).is_some_and(|playable| playable.en_passant().is_some())
}

/// Whether a double step can have left the en passant square: the square and the one the
/// pawn came from are empty, and the pawn stands in front. True when there is no such square.
pub fn en_passant_is_possible(position: &Position) -> bool {
    let Some(target) = position.en_passant() else { return true };
    let board = position.board();
    let (pawn, origin) = match position.turn() {
        Color::White => (target.bit() >> 8, target.bit() << 8),
        Color::Black => (target.bit() << 8, target.bit() >> 8),
    };
    board.pieces(!position.turn(), Role::Pawn) & pawn != 0
        && board.occupied() & (target.bit() | origin) == 0
        && target.rank() == en_passant_rank(position.turn())
}

/// The squares of a colour's men that attack a square, when these squares are occupied.
pub fn attackers(board: &Board, square: Square, by: Color, occupied: u64) -> u64 {
    let queens = board.role(Role::Queen);
    board.color(by)
        & ((role_attacks(Role::Rook, square, occupied) & (board.role(Role::Rook) | queens))
            | (role_attacks(Role::Bishop, square, occupied) & (board.role(Role::Bishop) | queens))
            | (role_attacks(Role::Knight, square, occupied) & board.role(Role::Knight))
            | (king_attacks(square) & board.role(Role::King))
            | (pawn_attacks(!by, square) & board.role(Role::Pawn)))
}

/// The squares attacked by a man other than a pawn from a square, when these squares are occupied.
#[inline]
pub fn role_attacks(role: Role, from: Square, occupied: u64) -> u64 {
    let (from, occupied) = (table_square(from), Bitboard(occupied));
    match role {
        Role::Knight => attacks::knight_attacks(from).0,
        Role::Bishop => attacks::bishop_attacks(from, occupied).0,
        Role::Rook => attacks::rook_attacks(from, occupied).0,
        Role::Queen => attacks::queen_attacks(from, occupied).0,
        Role::King => attacks::king_attacks(from).0,
        Role::Pawn => 0,
    }
}

/// The squares a pawn of this colour attacks from a square.
#[inline]
pub fn pawn_attacks(color: Color, from: Square) -> u64 {
    let color = match color {
        Color::White => shakmaty::Color::White,
        Color::Black => shakmaty::Color::Black,
    };
    attacks::pawn_attacks(color, table_square(from)).0
}

/// The squares strictly between two squares of one line; none for others.
#[inline]
pub fn between(a: Square, b: Square) -> u64 {
    attacks::between(table_square(a), table_square(b)).0
}

/// The whole rank, file or diagonal through two squares; none when they share none.
pub fn line(a: Square, b: Square) -> u64 {
    attacks::ray(table_square(a), table_square(b)).0
}

fn king_attacks(from: Square) -> u64 {
    role_attacks(Role::King, from, 0)
}

#[inline]
fn table_square(square: Square) -> shakmaty::Square {
    shakmaty::Square::new(square.index() as u32)
}

fn pinned(board: &Board, king: Square, us: Color) -> u64 {
    let queens = board.role(Role::Queen);
    let snipers = board.color(!us)
        & ((role_attacks(Role::Rook, king, 0) & (board.role(Role::Rook) | queens))
            | (role_attacks(Role::Bishop, king, 0) & (board.role(Role::Bishop) | queens)));
    Square::each(snipers)
        .map(|sniper| between(king, sniper) & board.occupied())
        .filter(|blockers| blockers.count_ones() == 1)
        .fold(0, |pinned, blocker| pinned | (blocker & board.color(us)))
}

/// Both back ranks, where no pawn may stand.
pub const BACK_RANKS: u64 = 0xff00_0000_0000_00ff;

/// What is wrong with a position, as a set of flags.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Legality(u16);

impl Legality {
    /// White has no king.
    pub const NO_WHITE_KING: Legality = Legality(1);
    /// Black has no king.
    pub const NO_BLACK_KING: Legality = Legality(1 << 1);
    /// A side has more than one king.
    pub const TOO_MANY_KINGS: Legality = Legality(1 << 2);
    /// A pawn stands on rank 1 or 8.
    pub const PAWN_ON_BACKRANK: Legality = Legality(1 << 3);
    /// A side has more than eight pawns.
    pub const TOO_MANY_PAWNS: Legality = Legality(1 << 4);
    /// A side has more than sixteen pieces.
    pub const TOO_MANY_PIECES: Legality = Legality(1 << 5);
    /// A side has more promoted pieces than pawns that are gone.
    pub const TOO_MANY_PROMOTED: Legality = Legality(1 << 6);
    /// The side that is not to move stands in check.
    pub const OPPOSITE_CHECK: Legality = Legality(1 << 7);
    /// A castling right without its king or rook. A [`Position`] never has one.
    pub const BAD_CASTLING: Legality = Legality(1 << 8);
    /// An en passant square that no double step can have left.
    pub const BAD_EP: Legality = Legality(1 << 9);
    /// A check that no single move can have given.
    pub const IMPOSSIBLE_CHECK: Legality = Legality(1 << 10);

    /// A halfmove clock other than 0 beside an en passant square. Only
    /// [`record_legality`] can tell.
    pub const CLOCK_BESIDE_EP: Legality = Legality(1 << 11);

    const NAMES: [(Legality, &'static str); 12] = [
        (Legality::NO_WHITE_KING, "White has no king"),
        (Legality::NO_BLACK_KING, "Black has no king"),
        (Legality::TOO_MANY_KINGS, "a side has more than one king"),
        (Legality::PAWN_ON_BACKRANK, "a pawn stands on rank 1 or 8"),
        (Legality::TOO_MANY_PAWNS, "a side has more than eight pawns"),
        (Legality::TOO_MANY_PIECES, "a side has more than sixteen pieces"),
        (Legality::TOO_MANY_PROMOTED, "a side has more promoted pieces than missing pawns"),
        (Legality::OPPOSITE_CHECK, "the side not to move stands in check"),
        (Legality::BAD_CASTLING, "a castling right has no king and rook"),
        (Legality::BAD_EP, "no double step can have left the en passant square"),
        (Legality::IMPOSSIBLE_CHECK, "no single move can have given this check"),
        (Legality::CLOCK_BESIDE_EP, "the halfmove clock is not 0 after a double step"),
    ];

    /// Whether nothing is wrong.
    pub const fn is_legal(self) -> bool {
        self.0 == 0
    }

    /// Whether all flags of `other` are set.
    pub const fn contains(self, other: Legality) -> bool {
        self.0 & other.0 == other.0
    }

    /// A short English description of each flag that is set.
    pub fn reasons(self) -> impl Iterator<Item = &'static str> {
        Legality::NAMES
            .into_iter()
            .filter(move |(flag, _)| self.contains(*flag))
            .map(|(_, name)| name)
    }

    fn set_if(&mut self, condition: bool, flag: Legality) {
        if condition {
            self.0 |= flag.0;
        }
    }
}

/// Finds everything that is wrong with a position.
pub fn legality(position: &Position) -> Legality {
    let mut flags = Legality::default();
    let board = position.board();
    let us = position.turn();
    let count = |color, role| board.pieces(color, role).count_ones();

    flags.set_if(count(Color::White, Role::King) == 0, Legality::NO_WHITE_KING);
    flags.set_if(count(Color::Black, Role::King) == 0, Legality::NO_BLACK_KING);
    for color in Color::ALL {
        let pawns = count(color, Role::Pawn);
        let extra = |role, normal| count(color, role).saturating_sub(normal);
        let promoted = extra(Role::Knight, 2)
            + extra(Role::Bishop, 2)
            + extra(Role::Rook, 2)
            + extra(Role::Queen, 1);
        flags.set_if(count(color, Role::King) > 1, Legality::TOO_MANY_KINGS);
        flags.set_if(pawns > 8, Legality::TOO_MANY_PAWNS);
        flags.set_if(board.color(color).count_ones() > 16, Legality::TOO_MANY_PIECES);
        flags.set_if(promoted > 8u32.saturating_sub(pawns), Legality::TOO_MANY_PROMOTED);
    }
    flags.set_if(board.role(Role::Pawn) & BACK_RANKS != 0, Legality::PAWN_ON_BACKRANK);
    flags.set_if(!en_passant_is_possible(position), Legality::BAD_EP);
    let their_kings = Square::each(board.pieces(!us, Role::King));
    let attacked = |king, by| attackers(board, king, by, board.occupied());
    flags.set_if(
        their_kings.into_iter().any(|king| attacked(king, us) != 0),
        Legality::OPPOSITE_CHECK,
    );
    if let Some(king) = board.king(us) {
        flags.set_if(
            is_impossible_check(position, king, attacked(king, !us)),
            Legality::IMPOSSIBLE_CHECK,
        );
    }
    flags
}

/// Finds everything that is wrong with a position and its halfmove clock.
pub fn record_legality(record: &EpdRecord) -> Legality {
    let mut flags = legality(record.position());
    let runs = record.counters().0.is_some_and(|clock| clock != 0);
    let stepped = record.position().en_passant().is_some();
    flags.set_if(runs && stepped, Legality::CLOCK_BESIDE_EP);
    flags
}

/// Whether no single move can have given this check.
fn is_impossible_check(position: &Position, king: Square, checkers: u64) -> bool {
    let board = position.board();
    let steppers = board.role(Role::Pawn) | board.role(Role::Knight);
    let (Some(first), last) = (Square::lowest(checkers), 63 - checkers.leading_zeros().min(63))
    else {
        return false;
    };
    let last = Square::new(last as u8).unwrap_or(first);
    let two = first != last;
    if (checkers & steppers).count_ones() > 1 {
        return true;
    }
    match position.en_passant().filter(|_| en_passant_is_possible(position)) {
        // The pawn that stepped is the only checker, or its step opened one line.
        Some(target) => {
            let us = position.turn();
            let (pawn, origin) = match us {
                Color::White => (target.bit() >> 8, target.bit() << 8),
                Color::Black => (target.bit() << 8, target.bit() >> 8),
            };
            let before = (board.occupied() & !pawn) | origin;
            two || (first.bit() != pawn && attackers(board, king, !us, before) != 0)
        }
        None => two && (checkers.count_ones() > 2 || line(first, king) & last.bit() != 0),
    }
}
