//! Texts of moves that are compared with moves of any position.

use super::read::{
    Leading, MoveError, NO_PIECE, Pattern, SYNTAX, castling_side, strip_annotation, strip_marks,
};
use crate::model::rules::{BACK_RANKS, Move};
use crate::model::{Position, Role, Side, Square};

/// The text of a move without a position: `Bxh7+`, `e8=Q`, `O-O`, or squares such as `e2e4`. Marks of check
/// and mate are not compared, and a square of origin that is not written may be any.
///
/// ```
/// use epdb_chess::model::{Position, Square, rules::Move};
/// use epdb_chess::text::san::MovePattern;
/// let mv = Move { from: Square::at(6, 0), to: Square::at(5, 2), promotion: None };
/// assert!(MovePattern::parse(b"Nf3")?.fits(&Position::START, mv));
/// assert!(!MovePattern::parse(b"Nxf3")?.fits(&Position::START, mv));
/// # Ok::<(), epdb_chess::text::san::MoveError>(())
/// ```
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct MovePattern(Written);

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Written {
    Castling(Side),
    Move(Pattern),
}

impl MovePattern {
    /// Parses the text of a move.
    ///
    /// # Errors
    /// The text is not that of a move, or lacks the piece of a promotion.
    pub fn parse(text: &[u8]) -> Result<MovePattern, MoveError> {
        let text = strip_marks(strip_annotation(text)?.0);
        if let Some(side) = castling_side(text) {
            return Ok(MovePattern(Written::Castling(side)));
        }
        let leading = match text.first() {
            Some(b'B') => Leading::Piece,
            Some(b'b') => Leading::File,
            _ => Leading::Any,
        };
        let pattern = Pattern::read(text, leading).ok_or(SYNTAX)?;
        let is_of_pawn = matches!(pattern.role, None | Some(Role::Pawn));
        let is_promotion = is_of_pawn && pattern.to.bit() & BACK_RANKS != 0;
        if is_promotion && pattern.promotion.is_none() && pattern.origin().is_none() {
            return Err(NO_PIECE);
        }
        let has_no_file = is_of_pawn && pattern.captures && pattern.from_file.is_none();
        if has_no_file || !is_promotion && pattern.promotion.is_some() {
            return Err(SYNTAX);
        }
        Ok(MovePattern(Written::Move(pattern)))
    }

    /// The move on a board with mirrored files, ranks or both. With files, castling changes its side.
    #[must_use]
    pub fn mirrored(self, files: bool, ranks: bool) -> MovePattern {
        let file = |file: u8| if files { 7 - file } else { file };
        let rank = |rank: u8| if ranks { 7 - rank } else { rank };
        MovePattern(match self.0 {
            Written::Castling(Side::King) if files => Written::Castling(Side::Queen),
            Written::Castling(Side::Queen) if files => Written::Castling(Side::King),
            Written::Castling(side) => Written::Castling(side),
            Written::Move(pattern) => Written::Move(Pattern {
                from_file: pattern.from_file.map(file),
                from_rank: pattern.from_rank.map(rank),
                to: Square::at(file(pattern.to.file()), rank(pattern.to.rank())),
                ..pattern
            }),
        })
    }

    /// Whether a legal move of a position is this move.
    pub fn fits(&self, position: &Position, mv: Move) -> bool {
        let board = position.board();
        let is_castling = board.pieces(position.turn(), Role::Rook).contains(mv.to);
        let side = if mv.to.file() > mv.from.file() { Side::King } else { Side::Queen };
        match &self.0 {
            Written::Castling(wanted) => is_castling && *wanted == side,
            Written::Move(pattern) if is_castling => {
                let (target, _) = side.targets(position.turn());
                pattern.role.is_none()
                    && pattern.origin() == Some(mv.from)
                    && [target, mv.to].contains(&pattern.to)
            }
            Written::Move(pattern) => {
                pattern.to == mv.to
                    && pattern.promotion == mv.promotion
                    && pattern.from_file.is_none_or(|file| file == mv.from.file())
                    && pattern.from_rank.is_none_or(|rank| rank == mv.from.rank())
                    && pattern.fits_piece(position, mv)
            }
        }
    }
}

impl Pattern {
    /// Whether the piece, and the capture mark, are those of a move.
    fn fits_piece(&self, position: &Position, mv: Move) -> bool {
        let role = position.board().role_at(mv.from);
        match self.role {
            // A text of two squares leaves the piece and captures open.
            None if self.origin().is_some() => true,
            None | Some(Role::Pawn) => {
                let file = self.from_file.unwrap_or(self.to.file());
                role == Some(Role::Pawn) && file == mv.from.file()
            }
            wanted => role == wanted && self.captures == captured(position, mv).is_some(),
        }
    }
}

/// The role of the piece that a legal move captures.
pub fn captured(position: &Position, mv: Move) -> Option<Role> {
    let board = position.board();
    if board.color(!position.turn()).contains(mv.to) {
        return board.role_at(mv.to);
    }
    let is_pawn = board.role(Role::Pawn).contains(mv.from);
    (is_pawn && mv.from.file() != mv.to.file()).then_some(Role::Pawn)
}
