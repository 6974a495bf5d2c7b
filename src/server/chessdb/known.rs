//! Scores of a position and of its moves.

use std::cmp::Reverse;

use super::reply::{Named, Reply};
use crate::answer::Refusal;
use epdb_chess::error::Error;
use epdb_chess::model::rules::{Move, Playable};
use epdb_chess::model::score::Score;
use epdb_chess::model::{Opcode, Operand, Position};
use epdb_chess::text::san;
use epdb_explorer::Served;
use epdb_library::explore::{Entry, ExploreOptions, explore};

/// If a position has at least this number of scored moves, the answer to `queue` is `ok`.
const ENOUGH: usize = 5;
/// Maximum score in centipawns; larger scores are mates.
const MAX_CENTIPAWNS: i32 = 9999;
/// Score of a mate on the board.
const MATE: i32 = 30_000;

/// Scores of a position and of its moves.
pub(super) struct Known {
    pub(super) playable: Playable,
    /// Moves with a score, best first.
    pub(super) moves: Vec<KnownMove>,
    /// The score in the records of the position itself, from the mover's view.
    own: Option<i32>,
    /// The moves with which the records continue: the moves of `pv`, else the first move of `pm`,
    /// else the first move of `bm`.
    pub(super) line: Vec<Move>,
}

pub(super) struct KnownMove {
    pub(super) mv: Move,
    pub(super) named: Named,
    pub(super) score: i32,
    pub(super) after: Position,
    /// True if the score comes from the position after the move.
    pub(super) is_of_child: bool,
}

impl Known {
    pub(super) fn look_up(served: &Served, playable: &Playable) -> Result<Known, Refusal> {
        let ask = &mut |queries: &[_]| served.scored_records(queries);
        let options = ExploreOptions { children: true, ..Default::default() };
        let explored = explore::<Error>(playable.position(), 1, &options, ask)?;
        let entry = explored.entry.as_ref();
        let own = entry.and_then(own_score);
        let line = entry.map(own_line).unwrap_or_default();
        let mut moves: Vec<KnownMove> = Vec::new();
        for row in &explored.rows {
            if let Some(score) = row.ce.and_then(score) {
                let is_of_child = true;
                moves.push(KnownMove::new(playable, row.mv, score, is_of_child));
            }
        }
        if let Some(&first) = line.first()
            && let Some(own) = own
            && playable.is_legal(first)
            && moves.iter().all(|known| known.mv != first)
        {
            let is_of_child = false;
            moves.push(KnownMove::new(playable, first, own, is_of_child));
        }
        moves.sort_by(|one, other| one.order().cmp(&other.order()));
        Ok(Known { playable: *playable, moves, own, line })
    }

    /// The status of a position without a score: unknown, or the game is over.
    pub(super) fn nothing(&self) -> Reply {
        Reply::word(if self.playable.has_move() {
            "unknown"
        } else if self.playable.is_checkmate() {
            "checkmate"
        } else {
            "stalemate"
        })
    }

    pub(super) fn score_reply(&self) -> Reply {
        let best = self.moves.first().map(|known| known.score);
        match self.own.or(best) {
            Some(eval) if self.playable.has_move() => {
                Reply { eval: Some(eval), ..Reply::word("ok") }
            }
            _ => self.nothing(),
        }
    }

    /// The answer to `queue`: `ok` if the position has enough scored moves, otherwise nothing.
    /// Nothing is ever queued, so an `ok` without scores would make clients repeat their requests
    /// for ever.
    pub(super) fn queue_reply(&self) -> Reply {
        if self.playable.has_move() && self.moves.len() >= ENOUGH {
            Reply::word("ok")
        } else {
            Reply::default()
        }
    }
}

impl KnownMove {
    fn new(playable: &Playable, mv: Move, score: i32, is_of_child: bool) -> KnownMove {
        let after = *playable.after(mv).position();
        KnownMove { mv, named: named(playable, mv), score, after, is_of_child }
    }

    fn order(&self) -> (Reverse<i32>, &str) {
        (Reverse(self.score), &self.named.uci)
    }
}

/// A move in the notation of chessdb.
pub(super) fn named(playable: &Playable, mv: Move) -> Named {
    Named { uci: san::uci(playable, mv), san: san::format(playable, mv).to_string() }
}

/// Converts a `ce` to the scale of chessdb.
fn score(ce: i32) -> Option<i32> {
    match Score::from_ce(ce.into()).ok()? {
        Score::Centipawns(value) => Some(value.clamp(-MAX_CENTIPAWNS, MAX_CENTIPAWNS)),
        Score::Mates(plies) => Some(MATE - i32::try_from(plies).ok()?),
        Score::Mated(plies) => Some(i32::try_from(plies).ok()? - MATE),
        Score::Checkmated => Some(-MATE),
        Score::Illegal => None,
    }
}

fn operands(entry: &Entry, opcode: Opcode) -> &[Operand] {
    let found = entry.operations.iter().find(|operation| operation.opcode == opcode);
    found.map(|operation| &operation.operands[..]).unwrap_or_default()
}

fn own_score(entry: &Entry) -> Option<i32> {
    match operands(entry, Opcode::CE).first()? {
        Operand::Integer(ce) => score(i32::try_from(*ce).ok()?),
        _ => None,
    }
}

fn own_line(entry: &Entry) -> Vec<Move> {
    let moves = |opcode, maximum: usize| -> Vec<Move> {
        let moves = operands(entry, opcode).iter().map_while(|operand| match operand {
            Operand::Move { mv, .. } => Some(*mv),
            _ => None,
        });
        moves.take(maximum).collect()
    };
    let lines = [(Opcode::PV, usize::MAX), (Opcode::PM, 1), (Opcode::BM, 1)];
    let mut lines = lines.into_iter().map(|(opcode, maximum)| moves(opcode, maximum));
    lines.find(|line| !line.is_empty()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use epdb_chess::text::epd::{Line, parse_line};
    use epdb_chess::text::{ParseOptions, Profile};

    #[test]
    fn scores_are_read_back() {
        let options = ParseOptions { labels: true, ..ParseOptions::new(Profile::Lenient) };
        let mates = (32_001..=32_766).chain(-32_767..=-32_001);
        for ce in mates.chain([-9999, -1, 0, 1, 9999]) {
            let text = score(ce).map(|score| format!("4k3/8/8/8/8/8/4P3/4K3 w - - ; {score};"));
            let read = parse_line(text.unwrap_or_default().as_bytes(), &options, &mut Vec::new());
            let Ok(Line::Record(record)) = read else { panic!("{ce}: {read:?}") };
            assert_eq!(record.operands(Opcode::CE), Some(&[Operand::Integer(ce.into())][..]));
        }
    }
}
