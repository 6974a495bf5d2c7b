//! A line of best moves.

use std::collections::HashSet;

use super::known::{Known, named};
use super::reply::{LineReply, Named, Reply};
use crate::answer::Refusal;
use epdb_chess::model::rules::{Move, Playable};
use epdb_explorer::Served;

/// Maximum number of moves of a line.
const LONGEST: usize = 200;

/// The line of best moves from a position, up to a repetition. If there are no further scores, the
/// line continues with the moves of the last record.
pub(super) fn best(served: &Served, mut known: Known) -> Result<Reply, Refusal> {
    let score = known.moves.first().map(|first| first.score);
    let Some(score) = score else { return Ok(known.nothing()) };
    let mut line = Vec::new();
    let mut seen = HashSet::from([known.playable.position().identity()]);
    while line.len() < LONGEST {
        let Some(first) = known.moves.first().filter(|first| first.is_of_child) else {
            add_told(&mut line, known.playable, &known.line);
            break;
        };
        line.push(first.named.clone());
        let is_new = seen.insert(first.after.identity());
        let Ok(playable) = Playable::new(&first.after) else { break };
        if !is_new {
            break;
        }
        known = Known::look_up(served, &playable)?;
    }
    let (pv, pv_san) =
        line.into_iter().map(|Named { uci, san }| (uci, san)).unzip::<_, _, Vec<_>, Vec<_>>();
    let line = Some(LineReply { score, depth: pv.len(), pv, pv_san });
    Ok(Reply { line, ..Reply::word("ok") })
}

/// Adds the moves that a record continues with, as far as they are legal.
fn add_told(line: &mut Vec<Named>, mut playable: Playable, told: &[Move]) {
    for &mv in told.iter().take(LONGEST - line.len()) {
        if !playable.is_legal(mv) {
            break;
        }
        line.push(named(&playable, mv));
        playable = playable.after(mv);
    }
}
