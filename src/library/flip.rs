//! Mirror images of records.

use epdb_chess::model::rules::{Move, Playable};
use epdb_chess::model::score::mate_target;
use epdb_chess::model::{
    Board, Castling, Color, EpdRecord, Opcode, Operand, Operands, Operation, Piece, Position, Role,
    Square,
};
use epdb_chess::text::san;

/// The axis of a mirror image.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Mirror {
    /// The ranks are mirrored (rank 1 becomes rank 8), and the colours are swapped. The result is
    /// the same position from the other side.
    Colors,
    /// The files are mirrored, so that file a becomes file h. Castling rights are lost, because
    /// castling ends on the files c and g, and not on mirrored files.
    Files,
    /// Both the ranks and the files are mirrored, and the colours are swapped.
    Both,
}

/// A mirrored record, and its losses.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Flipped {
    /// The record.
    pub record: EpdRecord,
    /// Number of castling rights that were dropped.
    pub lost_rights: usize,
    /// Number of castling moves that are kept as text, because they are no longer legal moves.
    pub lost_moves: usize,
    /// Number of typed operands, which are kept unchanged because their meaning is unknown.
    pub kept_typed: usize,
}

/// Mirrors a record.
///
/// Moves are mirrored with the board. `ce` stays, as it is relative to the side to move. If the
/// colours are swapped, so are the two clocks of `cc`, and White and Black at the start of tag
/// names in `ptp`. The results 1-0 and 0-1 are swapped in the tag Result, and in comment registers
/// that contain nothing else. All other texts stay as they are.
///
/// ```
/// use epdb_library::flip::{Mirror, flip};
/// let record = epdb_chess::parse_epd(b"4k3/8/8/8/4P3/8/8/R3K3 b Q e3 bm Kd7; ce -80; id \"x\";")?;
/// let flipped = flip(&record, Mirror::Colors).record;
/// let expected = b"r3k3/8/8/4p3/8/8/8/4K3 w q e6 bm Kd2; ce -80; id \"x\";";
/// assert_eq!(flipped, epdb_chess::parse_epd(expected)?);
/// assert_eq!(flip(&flipped, Mirror::Colors).record, record);
/// # Ok::<(), epdb_chess::text::Diagnostic>(())
/// ```
pub fn flip(record: &EpdRecord, mirror: Mirror) -> Flipped {
    let position = mirror.position(record.position());
    let mut flipped =
        Flipped { record: EpdRecord::new(position), lost_rights: 0, lost_moves: 0, kept_typed: 0 };
    let rights = |position: &Position| position.castling().iter().count();
    flipped.lost_rights = rights(record.position()) - rights(&position);
    flipped.record.set_dialect(record.dialect());
    flipped.record.set_fen_counters(record.fen_counters());
    let playable = Playable::new(&position).ok();
    for Operation { opcode, operands } in record.operations() {
        flipped.kept_typed +=
            operands.iter().filter(|operand| operand.as_typed().is_some()).count();
        let operands = match opcode.standard().map(|entry| entry.operands) {
            Some(Operands::Move | Operands::MoveSet) => {
                let mut moves = Vec::with_capacity(operands.len());
                for operand in operands {
                    moves.push(
                        mirror.operand(operand, playable.as_ref(), &mut flipped.lost_moves).0,
                    );
                }
                moves
            }
            Some(Operands::MoveLine) => {
                let mut playable = playable;
                let mut line = Vec::with_capacity(operands.len());
                for operand in operands {
                    let (operand, after) =
                        mirror.operand(operand, playable.as_ref(), &mut flipped.lost_moves);
                    line.push(operand);
                    playable = after;
                }
                line
            }
            _ if mirror.swaps_colors() => with_sides_swapped(*opcode, operands),
            _ => operands.clone(),
        };
        flipped.record.set(Operation { opcode: *opcode, operands });
    }
    flipped
}

impl Mirror {
    pub(crate) const fn swaps_colors(self) -> bool {
        matches!(self, Mirror::Colors | Mirror::Both)
    }

    pub(crate) const fn swaps_files(self) -> bool {
        matches!(self, Mirror::Files | Mirror::Both)
    }

    pub(crate) const fn square(self, square: Square) -> Square {
        let file = if self.swaps_files() { 7 - square.file() } else { square.file() };
        let rank = if self.swaps_colors() { 7 - square.rank() } else { square.rank() };
        Square::at(file, rank)
    }

    /// The squares of a set, a bit each.
    pub(crate) const fn squares(self, set: u64) -> u64 {
        let set = if self.swaps_colors() { set.swap_bytes() } else { set };
        // Bits in reverse turn the board by half a turn. Bytes in reverse put the ranks back.
        if self.swaps_files() { set.reverse_bits().swap_bytes() } else { set }
    }

    pub(crate) fn color(self, color: Color) -> Color {
        if self.swaps_colors() { !color } else { color }
    }

    pub(crate) fn position(self, position: &Position) -> Position {
        let mut board = Board::EMPTY;
        for color in Color::ALL {
            for role in Role::ALL {
                for square in position.board().pieces(color, role) {
                    let piece = Piece { color: self.color(color), role };
                    board.put(self.square(square), Some(piece));
                }
            }
        }
        let mut castling = Castling::NONE;
        if !self.swaps_files() {
            for (color, side, file) in position.castling().iter() {
                castling.set(self.color(color), side, Some(file));
            }
        }
        let en_passant = position.en_passant().map(|square| self.square(square));
        let turn = self.color(position.turn());
        // This cannot fail: a castling right is mirrored with its king and rook, and an en passant
        // square with the side to move.
        Position::new(board, turn, castling, en_passant).unwrap_or(*position)
    }

    /// Mirrors an operand of a move opcode. Returns the operand, and the position after it if it is
    /// a legal move in `playable`; `lost` counts moves that are no longer legal.
    fn operand(
        self,
        operand: &Operand,
        playable: Option<&Playable>,
        lost: &mut usize,
    ) -> (Operand, Option<Playable>) {
        let Operand::Move { mv, san } = operand else {
            let Operand::Token(text) = operand else { return (operand.clone(), None) };
            // A mate target does not change the position of a line.
            let after = if mate_target(text).is_some() { playable.copied() } else { None };
            return (Operand::token(self.move_text(text)), after);
        };
        let mirrored =
            Move { from: self.square(mv.from), to: self.square(mv.to), promotion: mv.promotion };
        match playable.filter(|playable| playable.is_legal(mirrored)) {
            Some(playable) => {
                let san = san::format(playable, mirrored);
                (Operand::Move { mv: mirrored, san }, Some(playable.after(mirrored)))
            }
            None => {
                *lost += 1;
                (Operand::token(self.move_text(san.as_bytes())), None)
            }
        }
    }

    /// Mirrors the text of a move; a mate target (`#5`) stays.
    fn move_text(self, text: &[u8]) -> Vec<u8> {
        match text {
            [b'#', ..] => return text.to_vec(),
            b"O-O" if self.swaps_files() => return b"O-O-O".to_vec(),
            b"O-O-O" if self.swaps_files() => return b"O-O".to_vec(),
            _ => {}
        }
        let mirrored = |&byte: &u8| match byte {
            b'1'..=b'8' if self.swaps_colors() => b'1' + b'8' - byte,
            b'a'..=b'h' if self.swaps_files() => b'a' + b'h' - byte,
            _ => byte,
        };
        text.iter().map(mirrored).collect()
    }
}

/// The operands of an opcode without moves, with the colours swapped.
fn with_sides_swapped(opcode: Opcode, operands: &[Operand]) -> Vec<Operand> {
    let mut swapped = operands.to_vec();
    match opcode.as_bytes() {
        b"cc" => swapped.reverse(),
        b"ptp" => swapped.iter_mut().for_each(swap_tag),
        [b'c', b'0'..=b'9'] => swapped.iter_mut().for_each(swap_result),
        _ => {}
    }
    swapped
}

/// Swaps the colour in the name of a tag, or the result in its value.
fn swap_tag(operand: &mut Operand) {
    let Operand::Token(name) = operand else { return swap_result(operand) };
    if let Some(swapped) = of_other_side(name) {
        *operand = Operand::token(swapped);
    }
}

/// The tag of the other side, as in `BlackElo` for `WhiteElo`; `None` if the tag is of no side.
pub(crate) fn of_other_side(tag: &[u8]) -> Option<Vec<u8>> {
    match (tag.strip_prefix(b"White"), tag.strip_prefix(b"Black")) {
        (Some(rest), _) => Some([b"Black", rest].concat()),
        (_, Some(rest)) => Some([b"White", rest].concat()),
        (None, None) => None,
    }
}

fn swap_result(operand: &mut Operand) {
    if let Operand::Str(text) = operand {
        match &**text {
            b"1-0" => *operand = Operand::string(*b"0-1"),
            b"0-1" => *operand = Operand::string(*b"1-0"),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]

    use super::*;
    use crate::perft::perft;

    fn flipped(line: &str, mirror: Mirror) -> String {
        let record = epdb_chess::parse_epd(line.as_bytes()).unwrap();
        String::from_utf8(epdb_chess::format_epd(&flip(&record, mirror).record)).unwrap()
    }

    const KIWIPETE: &str = "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R";

    #[test]
    fn colors_change_with_everything_that_belongs_to_a_side() {
        let line = format!(
            "{KIWIPETE} w KQkq - bm Qxf6; c9 \"1-0\"; cc 000:00:00:01 000:00:00:02; ce 31999; \
             fmvn 3; hmvc 1; id \"1-0\"; ptp BlackElo \"2\" Result \"0-1\" White \"A\"; \
             pv Qxf6 Bxf6 O-O-O; x 1-0;"
        );
        let expected = "r3k2r/pppbbppp/2n2q1P/1P2p3/3pn3/BN2PNP1/P1PPQPB1/R3K2R b KQkq - bm Qxf3; \
             c9 \"0-1\"; cc 000:00:00:02 000:00:00:01; ce 31999; fmvn 3; hmvc 1; id \"1-0\"; \
             ptp WhiteElo \"2\" Result \"1-0\" Black \"A\"; pv Qxf3 Bxf3 O-O-O; x 1-0;";
        assert_eq!(flipped(&line, Mirror::Colors), expected);
        assert_eq!(flipped(expected, Mirror::Colors), line);
    }

    #[test]
    fn files_change_without_castling() {
        let line = format!("{KIWIPETE} w KQkq - bm Nd3 O-O; pv O-O Bxe2;");
        let record = epdb_chess::parse_epd(line.as_bytes()).unwrap();
        let flipped = flip(&record, Mirror::Files);
        assert_eq!((flipped.lost_rights, flipped.lost_moves), (4, 3));
        let expected = "r2k3r/1bpqpp1p/1pnp2nb/3NP3/3P2p1/p1Q2N2/PPPBBPPP/R2K3R w - - \
             bm Ne3 O-O-O; pv O-O-O Bxd2;";
        assert_eq!(epdb_chess::format_epd(&flipped.record), expected.as_bytes());
    }

    #[test]
    fn what_is_no_move_is_mirrored_as_text() {
        let line = "4k3/8/8/8/8/8/8/4K3 w - - bm #5 Na1b3 e9;";
        assert_eq!(flipped(line, Mirror::Both), "3k4/8/8/8/8/8/8/3K4 b - - bm #5 Nh8g6 d9;");
    }

    #[test]
    fn a_mate_target_does_not_end_a_line() {
        let line = "4k3/8/8/8/8/8/4P3/4K3 w - - pv e4 #5 Ke7;";
        assert_eq!(flipped(line, Mirror::Files), "3k4/8/8/8/8/8/3P4/3K4 w - - pv d4 #5 Kd7;");
        let record = epdb_chess::parse_epd(line.as_bytes()).unwrap();
        assert_eq!(flip(&record, Mirror::Files).lost_moves, 0);
        let operations = flip(&record, Mirror::Files).record.operations().to_vec();
        let is_move = |operand: &Operand| matches!(operand, Operand::Move { .. });
        assert!(is_move(&operations[0].operands[2]));
    }

    #[test]
    fn typed_operands_are_kept_and_counted() {
        let line = "4k3/8/8/8/8/8/4P3/4K3 w - - c0 \"epdb:1:\"; noop \"epdb:7:AQI=\" x;";
        let record = epdb_chess::parse_epd(line.as_bytes()).unwrap();
        let flipped = flip(&record, Mirror::Colors);
        assert_eq!(flipped.kept_typed, 2);
        assert_eq!(flipped.record.operations(), record.operations());
    }

    #[test]
    fn perft_of_a_flipped_position_is_that_of_the_original() {
        for fen in [
            "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq -",
            "rnbqkb1r/ppppp1pp/7n/4Pp2/8/8/PPPP1PPP/RNBQKBNR w KQkq f6",
            "bqnb1rkr/pp3ppp/3ppn2/2p5/5P2/P2P4/NPP1P1PP/BQ1BNRKR w HFhf -",
        ] {
            let record = epdb_chess::parse_epd(fen.as_bytes()).unwrap();
            let count = |record: &EpdRecord| perft(&Playable::new(record.position()).unwrap(), 3);
            assert_eq!(count(&flip(&record, Mirror::Colors).record), count(&record), "{fen}");
        }
    }
}
