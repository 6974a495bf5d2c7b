//! Tests of a position alone, as masks over sets of squares. Neither a record nor its moves are needed.

use super::pawns::PawnTerm;
use crate::field::{balance, value_of};
use crate::value::Comparison;
use epdb_chess::model::rules::{between, pawn_attacks, role_attacks};
use epdb_chess::model::{Board, Color, Piece, Position, Role, Setup, Side, Square};

/// A test of the pieces, the side to move and the castling rights.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum BoardTest {
    Or(Vec<BoardTest>),
    And(Vec<BoardTest>),
    Not(Box<BoardTest>),
    /// All of these requirements are met.
    Pattern(Vec<Requirement>),
    /// The set has a square.
    Any(SquareSet),
    Compare(BoardNumber, Comparison, BoardNumber),
    /// The exact number of each of these pieces.
    Exactly(Vec<(Color, Role, u32)>),
    /// All of these castling rights exist.
    Castling(Vec<(Color, Side)>),
    Turn(Color),
    /// The definition is in [`QUIET`](super::structures::QUIET).
    Quiet,
    /// The position is this one, whatever the en passant squares are.
    Setup(Box<Position>),
}

/// A condition on the squares of a mask.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Requirement {
    pub(super) pieces: Pieces,
    pub(super) squares: u64,
    /// True if no square may have one of the pieces. Otherwise every square must have one.
    pub(super) is_forbidden: bool,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Pieces {
    One(Color, Role),
    /// Sets of roles, White's and Black's: a bit for each [`Role`].
    Several([u8; 2]),
}

/// A set of squares that depends on the position.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct SquareSet {
    pub(super) kind: SetKind,
    /// The squares that count.
    pub(super) squares: u64,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum SetKind {
    Pieces(Pieces),
    /// Pawns of one side, or of both.
    Pawns(PawnTerm, Option<Color>),
    /// Pieces that attack one of the second pieces.
    Attackers(Pieces, Pieces),
    /// Pieces that an enemy piece pins to their king.
    Pinned(Pieces),
    /// Pieces that attack two targets. The definition is in [`FORK`](super::structures::FORK).
    Forks(Pieces),
}

/// A number that depends on the position alone.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum BoardNumber {
    Constant(i64),
    Count(SquareSet),
    /// White's material minus Black's.
    Balance,
    Abs(Box<BoardNumber>),
    /// A sum. Numbers with the flag are subtracted.
    Sum(Vec<(bool, BoardNumber)>),
}

impl BoardTest {
    pub(super) fn holds(&self, setup: &Setup) -> bool {
        match self {
            BoardTest::Or(tests) => tests.iter().any(|test| test.holds(setup)),
            BoardTest::And(tests) => tests.iter().all(|test| test.holds(setup)),
            BoardTest::Not(test) => !test.holds(setup),
            BoardTest::Pattern(all) => all.iter().all(|one| one.is_met(&setup.board)),
            BoardTest::Any(set) => set.on(setup) != 0,
            BoardTest::Compare(left, comparison, right) => {
                comparison.fits(left.value(setup).cmp(&right.value(setup)))
            }
            BoardTest::Exactly(counts) => counts
                .iter()
                .all(|(color, role, count)| setup.board.pieces(*color, *role).count() == *count),
            BoardTest::Castling(rights) => {
                rights.iter().all(|(color, side)| setup.may_castle(*color, *side))
            }
            BoardTest::Turn(color) => setup.turn == *color,
            BoardTest::Quiet => is_quiet(&setup.board, setup.turn),
            BoardTest::Setup(position) => {
                setup.board == *position.board() && *setup == Setup::from(&**position)
            }
        }
    }
}

impl Requirement {
    fn is_met(&self, board: &Board) -> bool {
        let found = self.pieces.on(board) & self.squares;
        if self.is_forbidden { found == 0 } else { found == self.squares }
    }
}

impl Pieces {
    /// A bit for each role.
    const ALL_ROLES: u8 = 0b11_1111;
    /// Any piece.
    pub(super) const ANY: Pieces = Pieces::Several([Pieces::ALL_ROLES; 2]);

    /// Any piece of a colour.
    pub(super) const fn of(color: Color) -> Pieces {
        match color {
            Color::White => Pieces::Several([Pieces::ALL_ROLES, 0]),
            Color::Black => Pieces::Several([0, Pieces::ALL_ROLES]),
        }
    }

    /// The pieces of both.
    pub(super) fn and(self, other: Pieces) -> Pieces {
        if self == other {
            return self;
        }
        let own = self.roles();
        let others = other.roles();
        Pieces::Several([own[0] | others[0], own[1] | others[1]])
    }

    const fn roles(self) -> [u8; 2] {
        match self {
            Pieces::One(Color::White, role) => [1 << role as u8, 0],
            Pieces::One(Color::Black, role) => [0, 1 << role as u8],
            Pieces::Several(roles) => roles,
        }
    }

    pub(super) const fn has(self, color: Color, role: Role) -> bool {
        self.roles()[color as usize] >> role as u8 & 1 == 1
    }

    /// The squares of these pieces.
    fn on(self, board: &Board) -> u64 {
        match self {
            Pieces::One(color, role) => board.pieces(color, role).bits(),
            Pieces::Several([white, black]) => {
                of_roles(board, white) & board.color(Color::White).bits()
                    | of_roles(board, black) & board.color(Color::Black).bits()
            }
        }
    }
}

/// The squares of the pieces of some roles, of both colours. If all roles are wanted, it has all squares.
fn of_roles(board: &Board, roles: u8) -> u64 {
    if roles == Pieces::ALL_ROLES {
        return u64::MAX;
    }
    let is_wanted = |role: &Role| roles >> *role as u8 & 1 == 1;
    Role::ALL.into_iter().filter(is_wanted).fold(0, |set, role| set | board.role(role).bits())
}

impl SquareSet {
    fn on(&self, setup: &Setup) -> u64 {
        let set = match self.kind {
            SetKind::Pieces(pieces) => pieces.on(&setup.board),
            SetKind::Pawns(term, Some(side)) => term.on(&setup.board, side),
            SetKind::Pawns(term, None) => {
                term.on(&setup.board, Color::White) | term.on(&setup.board, Color::Black)
            }
            SetKind::Attackers(pieces, targets) => {
                attackers(&setup.board, pieces, targets.on(&setup.board))
            }
            SetKind::Pinned(pieces) => {
                pieces.on(&setup.board)
                    & Color::ALL.into_iter().fold(0, |set, it| set | pinned(&setup.board, it))
            }
            SetKind::Forks(pieces) => forks(&setup.board, pieces),
        };
        set & self.squares
    }
}

/// The squares of pieces that attack a piece on one of the targets, or protect it.
fn attackers(board: &Board, pieces: Pieces, targets: u64) -> u64 {
    let occupied = board.occupied().bits();
    let targets = targets & occupied;
    let attacks = |square: &Square| attacks_from(board, *square) & targets != 0;
    Square::each(pieces.on(board) & occupied).filter(attacks).fold(0, |set, it| set | it.bit())
}

/// The squares that the piece on a square attacks or protects.
fn attacks_from(board: &Board, square: Square) -> u64 {
    board.piece_at(square).map_or(0, |Piece { color, role }| match role {
        Role::Pawn => pawn_attacks(color, square),
        role => role_attacks(role, square, board.occupied().bits()),
    })
}

/// The squares of pieces that fork.
fn forks(board: &Board, pieces: Pieces) -> u64 {
    let forks = |square: &Square| {
        let Some(piece) = board.piece_at(*square) else { return false };
        let enemies = board.color(!piece.color).bits() & !board.role(Role::Pawn).bits();
        let attacked = attacks_from(board, *square) & enemies;
        attacked.count_ones() > 1
            && Square::each(attacked).filter(|target| is_target(board, piece, *target)).count() > 1
    };
    let squares = pieces.on(board) & board.occupied().bits();
    Square::each(squares).filter(forks).fold(0, |set, it| set | it.bit())
}

/// Whether the enemy piece on a square is worth more than a piece that attacks it, or is not protected.
fn is_target(board: &Board, attacker: Piece, target: Square) -> bool {
    let is_worth_more = |it: Piece| value_of(it.role) > value_of(attacker.role);
    board.piece_at(target).is_some_and(is_worth_more)
        || attackers(board, Pieces::of(!attacker.color), target.bit()) == 0
}

fn is_quiet(board: &Board, turn: Color) -> bool {
    let king = board.king(turn).map_or(0, Square::bit);
    if attackers(board, Pieces::of(!turn), king) != 0 {
        return false;
    }
    let enemies = board.color(!turn).bits();
    Square::each(board.color(turn).bits()).all(|from| {
        let Some(piece) = board.piece_at(from) else { return true };
        let attacked = attacks_from(board, from) & enemies;
        !may_promote(board, piece, from)
            && !Square::each(attacked).any(|target| is_target(board, piece, target))
    })
}

/// Whether a piece is a pawn before the last rank, and the square ahead is empty.
fn may_promote(board: &Board, piece: Piece, from: Square) -> bool {
    let ahead = match piece.color {
        Color::White => from.bit() << 8,
        Color::Black => from.bit() >> 8,
    };
    const LAST_RANKS: u64 = 0xff00_0000_0000_00ff;
    piece.role == Role::Pawn && ahead & LAST_RANKS & !board.occupied().bits() != 0
}

/// The squares of a side's pieces that stand alone between their king and an enemy piece that would attack it.
fn pinned(board: &Board, side: Color) -> u64 {
    let Some(king) = board.king(side) else { return 0 };
    let occupied = board.occupied().bits();
    let mut pinned = 0;
    for role in [Role::Bishop, Role::Rook, Role::Queen] {
        for from in board.pieces(!side, role) {
            let blockers = between(king, from) & occupied;
            if blockers.count_ones() == 1
                && role_attacks(role, from, occupied & !blockers) & king.bit() != 0
            {
                pinned |= blockers & board.color(side).bits();
            }
        }
    }
    pinned
}

impl BoardNumber {
    pub(super) fn value(&self, setup: &Setup) -> i64 {
        match self {
            BoardNumber::Constant(value) => *value,
            BoardNumber::Count(set) => set.on(setup).count_ones().into(),
            BoardNumber::Balance => balance(&setup.board),
            BoardNumber::Abs(number) => number.value(setup).saturating_abs(),
            BoardNumber::Sum(parts) => parts.iter().fold(0, |sum: i64, (is_subtracted, part)| {
                let value = part.value(setup);
                if *is_subtracted { sum.saturating_sub(value) } else { sum.saturating_add(value) }
            }),
        }
    }
}
