//! Positions of games of random moves, the same in every run.

#![allow(clippy::unwrap_used)]

use epdb_chess::model::Position;
use epdb_chess::model::rules::Playable;

/// Positions of games of random moves.
pub(crate) fn positions(count: usize) -> Vec<Position> {
    let mut positions = Vec::with_capacity(count);
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    while positions.len() < count {
        let mut playable = Playable::new(&Position::START).unwrap();
        for _ in 0..100 {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let moves = playable.legal_moves();
            if moves.is_empty() || positions.len() == count {
                break;
            }
            playable = playable.after(moves[(random >> 32) as usize % moves.len()]);
            positions.push(*playable.position());
        }
    }
    positions
}
