//! Moves, positions in which moves can be generated, and the positions after moves.

use std::fmt;
use std::str::FromStr;

use super::attacks::{
    BACK_RANKS, aligned_sliders, attackers, between, is_attacked, king_attacks, leaper_attacks,
    line, pawn_attacks, pinned, pseudo_attacks, ray_beyond, role_attacks, slider_attacks,
    sliders_attack,
};
use super::legality::en_passant_is_possible;
use crate::model::board::Board;
use crate::model::position::{Castling, Position, Side};
use crate::model::square::{Bitboard, Color, Role, Square};

/// A position in which moves can be generated. Each side has one king, no pawn is on a back rank,
/// and the side to move could not take a king. An en passant square that cannot result from a
/// double step is dropped.
///
/// ```
/// use epdb_chess::model::{Position, rules::Playable};
/// let start = Playable::new(&Position::START).expect("the start array is playable");
/// assert_eq!(start.legal_moves().len(), 20);
/// ```
#[derive(Copy, Clone, Debug)]
pub struct Playable {
    position: Position,
    king: Square,
    checkers: u64,
    pinned: u64,
    /// Squares to which pieces other than the king may move. Without check: all squares except
    /// those of our own pieces. In single check: the square of the checker, and the squares between
    /// the checker and the king. In double check: none.
    targets: u64,
}

impl Playable {
    /// Prepares a position for move generation.
    ///
    /// # Errors
    /// Why no move can be made in it.
    pub fn new(position: &Position) -> Result<Playable, NotPlayable> {
        let board = position.board();
        let us = position.turn();
        let them = !position.turn();
        let (Some(king), Some(their_king)) = (board.king(us), board.king(them)) else {
            return Err(NotPlayable::Kings);
        };
        if board.role(Role::Pawn).bits() & BACK_RANKS != 0 {
            return Err(NotPlayable::PawnOnBackRank);
        }
        if is_attacked(board, their_king, us, board.occupied().bits()) {
            return Err(NotPlayable::KingInReach);
        }
        let may_be_check = true;
        Ok(Playable::prepare(*position, king, may_be_check))
    }

    /// Does the same as [`Playable::new`], for a position that is known to be playable.
    /// `may_be_check` may be false only if the side to move is known not to be in check.
    #[inline(always)]
    pub(in crate::model) fn from_playable(position: &Position, may_be_check: bool) -> Playable {
        let king = position.board().king(position.turn()).unwrap_or(Square::at(4, 0));
        Playable::prepare(*position, king, may_be_check)
    }

    /// Prepares a position for move generation, as [`Playable::new`] does after its checks. The
    /// position must be playable.
    #[inline(always)]
    fn prepare(mut position: Position, king: Square, may_be_check: bool) -> Playable {
        if !en_passant_is_possible(&position) {
            position = position.with_en_passant(None).unwrap_or(position);
        }
        let board = position.board();
        let us = position.turn();
        let checkers =
            if may_be_check { attackers(board, king, !us, board.occupied().bits()) } else { 0 };
        let targets = !board.color(us).bits()
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

    /// The position, without an en passant square that cannot result from a double step.
    pub const fn position(&self) -> &Position {
        &self.position
    }

    /// The pieces that give check.
    pub const fn checkers(&self) -> Bitboard {
        Bitboard(self.checkers)
    }

    /// True if the side to move is in check.
    pub const fn is_check(&self) -> bool {
        self.checkers != 0
    }

    /// The square of the king of the side to move.
    pub const fn king(&self) -> Square {
        self.king
    }

    /// Our pieces that may only move along the line through our king.
    pub const fn pinned(&self) -> Bitboard {
        Bitboard(self.pinned)
    }

    /// The squares to which pieces other than the king may move. Without check: all squares except
    /// those of our own pieces. In check: the squares on which a move ends the check. In double
    /// check: none. En passant captures are not included.
    pub const fn targets(&self) -> Bitboard {
        Bitboard(self.targets)
    }

    /// The squares to which the piece on `from` may legally move, without castling and en passant.
    /// The piece must be of the side to move and of this role.
    #[inline(always)]
    pub fn destinations(&self, from: Square, role: Role) -> Bitboard {
        if role == Role::King {
            return self.king_destinations();
        }
        let board = self.position.board();
        let reach = match role {
            Role::Pawn => self.pawn_reach(from),
            _ => role_attacks(role, from, board.occupied().bits()),
        };
        let line = if self.pinned & from.bit() != 0 { line(self.king, from) } else { !0 };
        Bitboard(reach & self.targets & line)
    }

    /// Our pieces of this role that may legally go to a square. The role is not pawn. SAN has to
    /// tell these pieces apart.
    pub fn origins(&self, role: Role, to: Square) -> Bitboard {
        let board = self.position.board();
        let candidates = role_attacks(role, to, board.occupied().bits())
            & board.pieces(self.position.turn(), role).bits();
        let held_by_pin = Square::each(candidates & self.pinned)
            .filter(|&from| line(self.king, from) & to.bit() == 0)
            .fold(0, |held, from| held | from.bit());
        Bitboard(match role {
            Role::King if self.king_destinations().contains(to) => candidates,
            Role::King => 0,
            _ if self.targets & to.bit() == 0 => 0,
            _ => candidates & !held_by_pin,
        })
    }

    /// The squares to which the king may legally step.
    #[inline(always)]
    pub(crate) fn king_destinations(&self) -> Bitboard {
        let board = self.position.board();
        let us = self.position.turn();
        let steps = king_attacks(self.king) & !board.color(us).bits();
        // Most kings are closed in.
        if steps == 0 {
            return Bitboard::EMPTY;
        }
        let theirs = board.color(!us).bits();
        let straight = theirs & (board.role(Role::Rook).bits() | board.role(Role::Queen).bits());
        let diagonal = theirs & (board.role(Role::Bishop).bits() | board.role(Role::Queen).bits());
        let without_king = board.occupied().bits() & !self.king.bit();
        let attacked =
            leaper_attacks(board, !us) | slider_attacks(straight, diagonal, without_king);
        Bitboard(steps & !attacked)
    }

    fn pawn_reach(&self, from: Square) -> u64 {
        let board = self.position.board();
        let us = self.position.turn();
        let free = !board.occupied().bits();
        let (start_rank, forward): (u8, fn(u64) -> u64) = match us {
            Color::White => (1, |set| set << 8),
            Color::Black => (6, |set| set >> 8),
        };
        let one = forward(from.bit()) & free;
        let two = if from.rank() == start_rank { forward(one) & free } else { 0 };
        one | two | (pawn_attacks(us, from) & board.color(!us).bits())
    }

    /// The pawns that may legally capture en passant, and the square they go to.
    #[inline]
    pub fn en_passant(&self) -> Option<(Bitboard, Square)> {
        match self.position.en_passant() {
            Some(target) => self.en_passant_to(target),
            None => None,
        }
    }

    fn en_passant_to(&self, target: Square) -> Option<(Bitboard, Square)> {
        let board = self.position.board();
        let us = self.position.turn();
        let candidates = pawn_attacks(!us, target) & board.pieces(us, Role::Pawn).bits();
        let legal = Square::each(candidates)
            .filter(|from| {
                let captured = Square::at(target.file(), from.rank());
                let occupied =
                    (board.occupied().bits() & !from.bit() & !captured.bit()) | target.bit();
                attackers(board, self.king, !us, occupied) & !captured.bit() == 0
            })
            .map(Square::bit)
            .sum();
        (legal != 0).then_some((Bitboard(legal), target))
    }

    /// The square of the rook with which the king may castle to a side right now.
    #[inline]
    pub fn castling(&self, side: Side) -> Option<Square> {
        if self.checkers != 0 || self.position.castling().is_empty() {
            return None;
        }
        castling_rook(&self.position, self.king, side)
    }

    /// Calls `visit` with each legal move, in no promised order, until it returns false.
    pub fn each_move(&self, visit: impl FnMut(Move) -> bool) {
        self.each_move_from(Bitboard::ALL, visit);
    }

    /// Does the same as [`Playable::each_move`], for the moves of pieces on some squares.
    pub fn each_move_from(&self, squares: Bitboard, mut visit: impl FnMut(Move) -> bool) {
        let board = self.position.board();
        let us = self.position.turn();
        for role in Role::ALL {
            for from in board.pieces(us, role) & squares {
                for to in self.destinations(from, role) {
                    let promotes = role == Role::Pawn && to.bit() & BACK_RANKS != 0;
                    let continues = if promotes {
                        PROMOTIONS
                            .iter()
                            .all(|&promoted| visit(Move { from, to, promotion: Some(promoted) }))
                    } else {
                        visit(Move { from, to, promotion: None })
                    };
                    if !continues {
                        return;
                    }
                }
            }
        }
        let (capturers, target) = self.en_passant().unwrap_or((Bitboard::EMPTY, self.king));
        let en_passant = (capturers & squares).into_iter().map(|from| (from, target));
        let king = Some(self.king).filter(|king| squares.contains(*king));
        let castling = Side::ALL.into_iter().filter_map(|side| Some((king?, self.castling(side)?)));
        for (from, to) in en_passant.chain(castling) {
            if !visit(Move { from, to, promotion: None }) {
                return;
            }
        }
    }

    /// All legal moves, in no promised order. [`crate::codec`] has the order of move ordinals.
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

    /// Whether a move is legal in the position.
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
            && (self.destinations(mv.from, piece.role).contains(mv.to)
                || self.is_en_passant(mv)
                || self.castling_side(mv).is_some())
    }

    /// Whether a move is a legal en passant capture.
    pub fn is_en_passant(&self, mv: Move) -> bool {
        self.en_passant().is_some_and(|(from, to)| from.contains(mv.from) && to == mv.to)
    }

    /// The side to which a move castles; `None` if the move is not legal castling.
    pub fn castling_side(&self, mv: Move) -> Option<Side> {
        Side::ALL
            .into_iter()
            .find(|&side| mv.from == self.king && self.castling(side) == Some(mv.to))
    }

    /// Whether a move captures a piece, en passant included.
    pub fn is_capture(&self, mv: Move) -> bool {
        self.position.board().color(!self.position.turn()).contains(mv.to) || self.is_en_passant(mv)
    }

    /// The position after a legal move. The en passant square is set after every double step.
    pub fn after(&self, mv: Move) -> Playable {
        let mut next = self.position;
        let Played { may_be_check, .. } = play(&self.position, mv, &mut next);
        let king = next.board().king(next.turn()).unwrap_or(self.king);
        Playable::prepare(next, king, may_be_check)
    }

    /// Whether the side to move is checkmated.
    pub fn is_checkmate(&self) -> bool {
        self.checkers != 0 && !self.has_move()
    }
}

/// The square of the rook with which a king that is not in check may castle to a side.
pub(crate) fn castling_rook(position: &Position, king: Square, side: Side) -> Option<Square> {
    let us = position.turn();
    let rook = Square::at(position.castling().rook(us, side)?, us.back_rank());
    let board = position.board();
    let (king_to, rook_to) = side.targets(us);
    let path = between(king, king_to) | king_to.bit() | between(rook, rook_to) | rook_to.bit();
    let without_king = board.occupied().bits() & !king.bit();
    let others = without_king & !rook.bit();
    let passed = between(king, king_to);
    let may_castle = path & others == 0
        && !is_attacked(board, king_to, !us, others | rook_to.bit())
        && !Square::each(passed).any(|square| is_attacked(board, square, !us, without_king));
    may_castle.then_some(rook)
}

/// The position after a legal move. Unlike [`Playable::after`], this function does not prepare for
/// the next move. The position must be playable, and its en passant square must be one that can
/// result from a double step.
pub fn after(position: &Position, mv: Move) -> Position {
    let mut next = *position;
    play(position, mv, &mut next);
    next
}

/// The position after a null move: the other side is to move, and there is no en passant square. It
/// is playable if the side that passes is not in check.
pub(in crate::model) fn after_null_move(position: &Position) -> Position {
    let mut next = position.without_en_passant();
    let (_, turn, ..) = next.parts_mut();
    *turn = !*turn;
    next
}

/// Facts about a move that [`play`] finds on its way.
pub(in crate::model) struct Played {
    /// A pawn moved, or a piece was captured.
    pub(in crate::model) is_zeroing: bool,
    /// False only if the side to move is certainly not in check.
    pub(in crate::model) may_be_check: bool,
}

/// Writes the position after a move to `next`. [`after`] returns the position; copying it would
/// take as long as the move itself.
#[inline(always)]
pub(in crate::model) fn play(position: &Position, mv: Move, next: &mut Position) -> Played {
    let us = position.turn();
    let before = position.board();
    if before.pieces(us, Role::Rook).contains(mv.to) {
        return castle(position, mv, next);
    }
    play_piece(position, mv, before.role_on(mv.from), next)
}

fn castle(position: &Position, mv: Move, next: &mut Position) -> Played {
    let us = position.turn();
    let (board, turn, castling, en_passant) = next.parts_mut();
    *turn = !us;
    *en_passant = None;
    *castling = castling_after(position, mv, Role::King);
    let side = if mv.to.file() > mv.from.file() { Side::King } else { Side::Queen };
    let (king_to, rook_to) = side.targets(us);
    position.board().replace(mv.from.bit() | mv.to.bit(), king_to.bit(), us, Role::King, board);
    let king_moved = *board;
    king_moved.replace(0, rook_to.bit(), us, Role::Rook, board);
    Played { is_zeroing: false, may_be_check: true }
}

/// Does the same as [`play`], for a move that is not castling, by a piece of this role.
#[inline(always)]
pub(in crate::model) fn play_piece(
    position: &Position,
    mv: Move,
    role: Role,
    next: &mut Position,
) -> Played {
    let us = position.turn();
    let before = position.board();
    let from = mv.from.bit();
    let to = mv.to.bit();
    let (board, turn, castling, en_passant) = next.parts_mut();
    *turn = !us;
    *en_passant = None;
    *castling = *position.castling();
    // A right ends if its king or rook moves, or if its rook is captured.
    let holders = (before.role(Role::King).bits() | before.role(Role::Rook).bits()) & BACK_RANKS;
    if !castling.is_empty() && (from | to) & holders != 0 {
        *castling = castling_after(position, mv, role);
    }
    let mut gone = from | to;
    let mut is_special = mv.promotion.is_some();
    if role == Role::Pawn {
        if position.en_passant() == Some(mv.to) && mv.from.file() != mv.to.file() {
            gone |= Square::at(mv.to.file(), mv.from.rank()).bit();
            is_special = true;
        } else if mv.from.rank().abs_diff(mv.to.rank()) == 2 {
            let passed = (mv.from.rank() + mv.to.rank()) / 2;
            *en_passant = Some(Square::at(mv.from.file(), passed));
        }
    }
    before.replace(gone, to, us, mv.promotion.unwrap_or(role), board);
    // Promotions and captures en passant give check in more ways than `may_give_check` looks at.
    Played {
        is_zeroing: role == Role::Pawn || before.color(!us).bits() & to != 0,
        may_be_check: is_special || may_give_check(board, us, role, mv),
    }
}

/// True if a move may give check, by its piece or by a line that the move opened.
#[inline]
fn may_give_check(after: &Board, us: Color, role: Role, mv: Move) -> bool {
    let king = after.pieces(!us, Role::King).bits();
    let Some(square) = Square::lowest(king) else { return true };
    let reach_of_piece = match role {
        Role::Pawn => pawn_attacks(us, mv.to),
        _ => pseudo_attacks(role, mv.to),
    };
    let is_direct =
        (reach_of_piece & king != 0) & (between(mv.to, square) & after.occupied().bits() == 0);
    let opens_line = aligned_sliders(after, us, square) & ray_beyond(square, mv.from) != 0;
    is_direct || opens_line && sliders_attack(after, square, us, after.occupied().bits())
}

/// Castling rights after a move. A right is lost when its king moves, or when its rook moves or is
/// captured; all kings and rooks with rights stand on a back rank.
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

/// Whether a move resets the halfmove clock: a pawn move or a capture.
pub fn is_zeroing(position: &Position, mv: Move) -> bool {
    let board = position.board();
    board.role(Role::Pawn).contains(mv.from) || board.color(!position.turn()).contains(mv.to)
}

/// Whether a legal en passant capture exists; false if the position is not playable.
pub fn en_passant_is_legal(position: &Position) -> bool {
    let Some(target) = position.en_passant() else { return false };
    let us = position.turn();
    pawn_attacks(!us, target) & position.board().pieces(us, Role::Pawn).bits() != 0
        && Playable::new(position).is_ok_and(|playable| playable.en_passant().is_some())
}

impl TryFrom<&Position> for Playable {
    type Error = NotPlayable;

    fn try_from(position: &Position) -> Result<Playable, NotPlayable> {
        Playable::new(position)
    }
}

/// Reason why moves cannot be generated in a position.
#[derive(Copy, Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NotPlayable {
    /// A side has no king, or several.
    #[error("each side must have one king")]
    Kings,
    /// A pawn on rank 1 or 8.
    #[error("no pawn may stand on rank 1 or 8")]
    PawnOnBackRank,
    /// The side to move could take the king.
    #[error("the side that is not to move stands in check")]
    KingInReach,
}

impl Position {
    /// The identity board: the same position with the en passant square only if a legal en passant
    /// capture exists. Two records have the same position if their identities are equal.
    pub fn identity(&self) -> Position {
        match self.en_passant() {
            Some(_) if !en_passant_is_legal(self) => self.without_en_passant(),
            _ => *self,
        }
    }
}

/// A move of a playable position.
///
/// Castling is written as the king taking its own rook (`e1h1`), which no other move does.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Move {
    /// The square the piece leaves.
    pub from: Square,
    /// The destination square; for castling the square of the rook.
    pub to: Square,
    /// Role of the promoted pawn.
    pub promotion: Option<Role>,
}

/// The four roles of a promotion in the order of their letters: `B N Q R`.
pub const PROMOTIONS: [Role; 4] = [Role::Bishop, Role::Knight, Role::Queen, Role::Rook];

impl fmt::Display for Move {
    /// The squares, and the letter of a promotion: `e2e4`, `a7a8q`, `e1h1` for castling.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.from, self.to)?;
        match self.promotion {
            Some(role) => write!(f, "{}", char::from(role.letter().to_ascii_lowercase())),
            None => Ok(()),
        }
    }
}

/// Error of a text that is not a move in coordinates.
#[derive(Copy, Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("a move in coordinates is two squares, and the letter n, b, r or q of a promotion")]
pub struct MoveTextError;

impl FromStr for Move {
    type Err = MoveTextError;

    /// Reads a move as [`Move`] is displayed. The move need not be legal in any position.
    ///
    /// ```
    /// use epdb_chess::model::rules::Move;
    /// let mv: Move = "e7e8q".parse()?;
    /// assert_eq!((mv.from.to_string(), mv.to_string()), ("e7".into(), "e7e8q".into()));
    /// # Ok::<(), epdb_chess::model::rules::MoveTextError>(())
    /// ```
    fn from_str(text: &str) -> Result<Move, MoveTextError> {
        let (&[a, b, c, d, ref rest @ ..], true) = (text.as_bytes(), text.len() < 6) else {
            return Err(MoveTextError);
        };
        let square = |name: [u8; 2]| Square::from_ascii(&name).ok_or(MoveTextError);
        let promotion = match *rest {
            [] => None,
            [letter @ (b'n' | b'b' | b'r' | b'q')] => {
                Role::from_letter(letter.to_ascii_uppercase())
            }
            _ => return Err(MoveTextError),
        };
        Ok(Move { from: square([a, b])?, to: square([c, d])?, promotion })
    }
}
