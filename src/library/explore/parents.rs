//! Finding the positions from which a move leads to a position.

use epdb_chess::model::rules::{Move, PROMOTIONS, Playable, after, en_passant_is_possible};
use epdb_chess::model::rules::{pawn_attacks, role_attacks};
use epdb_chess::model::{
    Board, Castling, Color, Piece, Position, Role, Side, Square, en_passant_rank, may_hold_right,
};

/// A position and one of its legal moves.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct Predecessor {
    /// The position, with an en passant square only where a capture is legal.
    pub position: Position,
    /// The move.
    pub mv: Move,
}

/// Returns every position from which a legal move leads to `position`, with that move. Some of these
/// positions may be impossible in a game. The list is empty if no move leads to `position`.
///
/// ```
/// use epdb_library::explore::predecessors;
/// use epdb_chess::model::{Position, rules::{Playable, after}};
/// let start = Playable::new(&Position::START).expect("playable");
/// let mv = "e2e4".parse()?;
/// let before = predecessors(&after(start.position(), mv));
/// assert!(before.iter().any(|it| it.position == Position::START && it.mv == mv));
/// # Ok::<(), epdb_chess::model::rules::MoveTextError>(())
/// ```
pub fn predecessors(position: &Position) -> Vec<Predecessor> {
    let target = position.identity();
    let mut found = Vec::new();
    if Playable::new(&target).is_err() {
        return found;
    }
    let retraction = Retraction { target, mover: !target.turn() };
    retraction.each_board(&mut |board, mv| retraction.complete(&board, mv, &mut found));
    found
}

/// The position whose last move is taken back.
struct Retraction {
    target: Position,
    /// The side that made the move.
    mover: Color,
}

impl Retraction {
    /// Calls `take` with each board from which a move leads to the board of the target, and that
    /// move.
    fn each_board(&self, take: &mut dyn FnMut(Board, Move)) {
        let board = self.target.board();
        for role in Role::ALL {
            for to in board.pieces(self.mover, role) {
                match role {
                    Role::Pawn => self.pawn_moves(to, None, take),
                    _ => self.piece_moves(role, to, take),
                }
                if PROMOTIONS.contains(&role) && to.rank() == (!self.mover).back_rank() {
                    self.pawn_moves(to, Some(role), take);
                }
            }
        }
        for side in Side::ALL {
            self.castlings(side, take);
        }
    }

    fn piece_moves(&self, role: Role, to: Square, take: &mut dyn FnMut(Board, Move)) {
        let occupied = self.target.board().occupied().bits();
        for from in Square::each(role_attacks(role, to, occupied) & !occupied) {
            let mv = Move { from, to, promotion: None };
            take(self.taken_back(mv, role, None), mv);
            self.captures(mv, role, take);
        }
    }

    fn pawn_moves(&self, to: Square, promotion: Option<Role>, take: &mut dyn FnMut(Board, Move)) {
        let free = !self.target.board().occupied().bits();
        let back: fn(u64) -> u64 = match self.mover {
            Color::White => |set| set >> 8,
            Color::Black => |set| set << 8,
        };
        let one = back(to.bit()) & free;
        // A double step passes over the en passant square.
        let is_double = |one: &Square| one.rank() == en_passant_rank(!self.mover);
        let stepped_over = Square::lowest(one).filter(is_double).map_or(0, Square::bit);
        for from in Square::each(one | back(stepped_over) & free) {
            let mv = Move { from, to, promotion };
            take(self.taken_back(mv, Role::Pawn, None), mv);
        }
        for from in Square::each(pawn_attacks(!self.mover, to) & free) {
            let mv = Move { from, to, promotion };
            self.captures(mv, Role::Pawn, take);
            let passed = Square::at(to.file(), from.rank());
            if to.rank() == en_passant_rank(self.mover) && free & passed.bit() != 0 {
                let mut board = self.taken_back(mv, Role::Pawn, None);
                board.put(passed, Some(Piece { color: !self.mover, role: Role::Pawn }));
                take(board, mv);
            }
        }
    }

    /// Assumes that the move was a capture. For each piece that it can have captured, calls `take`
    /// with the board before the move.
    fn captures(&self, mv: Move, role: Role, take: &mut dyn FnMut(Board, Move)) {
        for captured in Role::ALL.into_iter().filter(|&role| role != Role::King) {
            take(self.taken_back(mv, role, Some(captured)), mv);
        }
    }

    /// The board before a move of a piece, with or without a capture.
    fn taken_back(&self, mv: Move, role: Role, captured: Option<Role>) -> Board {
        let mut board = *self.target.board();
        board.put(mv.to, captured.map(|role| Piece { color: !self.mover, role }));
        board.put(mv.from, Some(Piece { color: self.mover, role }));
        board
    }

    /// Calls `take` with each board before castling, for all squares on which king and rook can
    /// have stood.
    fn castlings(&self, side: Side, take: &mut dyn FnMut(Board, Move)) {
        let board = self.target.board();
        let (king_to, rook_to) = side.targets(self.mover);
        let stand = board.pieces(self.mover, Role::King).contains(king_to)
            && board.pieces(self.mover, Role::Rook).contains(rook_to);
        if !stand {
            return;
        }
        let mut without = *board;
        without.put(king_to, None);
        without.put(rook_to, None);
        let squares = (0..8).map(|file| Square::at(file, self.mover.back_rank()));
        let free: Vec<Square> =
            squares.filter(|square| !without.occupied().contains(*square)).collect();
        for &from in &free {
            for &to in free.iter().filter(|&&to| to != from) {
                let mut before = without;
                before.put(from, Some(Piece { color: self.mover, role: Role::King }));
                before.put(to, Some(Piece { color: self.mover, role: Role::Rook }));
                take(before, Move { from, to, promotion: None });
            }
        }
    }

    /// Adds to `found` each position with this board from which the move leads to the target. All possible
    /// castling rights and en passant squares are tried.
    fn complete(&self, board: &Board, mv: Move, found: &mut Vec<Predecessor>) {
        for castling in self.rights_before(board, mv) {
            let with = |square| Position::new(*board, self.mover, castling, square).ok();
            let Some(plain) = with(None) else { continue };
            self.take_if_it_leads(plain, mv, found);
            let rank = en_passant_rank(self.mover);
            for square in (0..8).map(|file| Square::at(file, rank)) {
                if let Some(position) = with(Some(square))
                    && en_passant_is_possible(&position)
                    && position.identity() == position
                {
                    self.take_if_it_leads(position, mv, found);
                }
            }
        }
    }

    fn take_if_it_leads(&self, position: Position, mv: Move, found: &mut Vec<Predecessor>) {
        let is_legal = Playable::new(&position).is_ok_and(|playable| playable.is_legal(mv));
        if is_legal && after(&position, mv).identity() == self.target {
            found.push(Predecessor { position, mv });
        }
    }

    /// The castling rights that are possible before the move: the rights of the target, plus any of the
    /// rights that the move may have ended.
    fn rights_before(&self, board: &Board, mv: Move) -> Vec<Castling> {
        let mut all = vec![*self.target.castling()];
        for (color, side) in Color::ALL.into_iter().flat_map(|it| Side::ALL.map(|side| (it, side)))
        {
            if self.target.castling().rook(color, side).is_some() {
                continue;
            }
            let moves_king = board.king(color) == Some(mv.from);
            let is_ended = |file: &u8| {
                let rook = Square::at(*file, color.back_rank());
                may_hold_right(board, color, side, *file)
                    && (moves_king || rook == mv.from || rook == mv.to)
            };
            let files: Vec<u8> = (0..8).filter(is_ended).collect();
            for rights in all.clone() {
                for file in &files {
                    let mut before = rights;
                    before.set(color, side, Some(*file));
                    all.push(before);
                }
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use epdb_chess::model::rules::Playable;
    use std::collections::HashSet;

    fn position(fen: &str) -> Position {
        *epdb_chess::parse_epd(fen.as_bytes()).unwrap().position()
    }

    fn before(fen: &str) -> Vec<String> {
        let found = predecessors(&position(fen)).into_iter();
        found.map(|Predecessor { position, mv }| format!("{mv} {position}")).collect()
    }

    /// Every legal move leads to a position whose predecessors include that move.
    #[test]
    fn each_move_can_be_taken_back() {
        let fens = [
            "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq -",
            "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R b KQkq -",
            "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - -",
            "r3k2r/1P4P1/8/8/8/8/1p4p1/R3K2R w KQkq -",
            "bqnb1rkr/pp3ppp/3ppn2/2p5/5P2/P2P4/NPP1P1PP/BQ1BNRKR w HFhf -",
            "4k3/8/8/8/8/8/8/RK4R1 w GA -",
            "rnbqkbnr/ppp1p1pp/8/3pPp2/8/8/PPPP1PPP/RNBQKBNR w KQkq f6",
        ];
        let mut frontier: HashSet<Position> = fens.map(position).into_iter().collect();
        for _ in 0..2 {
            let mut next = HashSet::new();
            for position in &frontier {
                let playable = Playable::new(position).unwrap();
                for mv in playable.legal_moves() {
                    let led_to = after(position, mv).identity();
                    let one = Predecessor { position: *position, mv };
                    assert!(predecessors(&led_to).contains(&one), "{mv} in {position}");
                    next.insert(led_to);
                }
            }
            frontier = next.into_iter().take(60).collect();
        }
    }

    #[test]
    fn each_predecessor_is_given_once_and_leads_there() {
        for fen in [
            "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq -",
            "Rnbq1rk1/8/8/8/8/8/8/2KR3N b - -",
        ] {
            let target = position(fen);
            let found = predecessors(&target);
            let different: HashSet<&Predecessor> = found.iter().collect();
            assert_eq!(different.len(), found.len());
            for Predecessor { position, mv } in found {
                assert_eq!(position.identity(), position);
                assert!(Playable::new(&position).unwrap().is_legal(mv));
                assert_eq!(after(&position, mv).identity(), target);
            }
        }
    }

    #[test]
    fn special_moves_are_taken_back() {
        // The pawn came to d6 by capturing en passant, by another capture, or by a step.
        let found = before("4k3/8/3P4/8/8/8/8/4K3 b - -");
        for expected in [
            "e5d6 4k3/8/8/3pP3/8/8/8/4K3 w - d6",
            "e5d6 4k3/8/3q4/4P3/8/8/8/4K3 w - -",
            "d5d6 4k3/8/8/3P4/8/8/8/4K3 w - -",
        ] {
            assert!(found.iter().any(|it| it == expected), "{expected}");
        }
        // Only a double step leaves a square on which a capture is legal.
        let found = before("4k3/8/8/8/3pP3/8/8/4K3 b - e3");
        assert_eq!(found, ["e2e4 4k3/8/8/8/3p4/8/4P3/4K3 w - -"]);
        // Castling, by the king-side right alone, or with both rights.
        let found = before("4k3/8/8/8/8/8/8/R4RK1 b - -");
        for expected in [
            "e1h1 4k3/8/8/8/8/8/8/R3K2R w K -",
            "e1h1 4k3/8/8/8/8/8/8/R3K2R w KQ -",
            "d1h1 4k3/8/8/8/8/8/8/R2K3R w K -",
        ] {
            assert!(found.iter().any(|it| it == expected), "{expected}: {found:#?}");
        }
        // A promotion that took a rook with its right.
        let found = before("Q3k3/8/8/8/8/8/8/4K3 b - -");
        for expected in ["b7a8q r3k3/1P6/8/8/8/8/8/4K3 w q -", "a7a8q 4k3/P7/8/8/8/8/8/4K3 w - -"] {
            assert!(found.iter().any(|it| it == expected), "{expected}: {found:#?}");
        }
    }

    #[test]
    fn what_no_move_leads_to_has_no_predecessors() {
        assert_eq!(before("8/8/8/8/8/8/8/4K3 b - -"), Vec::<String>::new());
        assert_eq!(before("4k3/4R3/8/8/8/8/8/4K3 w - -"), Vec::<String>::new());
    }
}
