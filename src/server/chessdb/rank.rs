//! Ranks moves by score.

use super::known::{Known, KnownMove, named};
use super::reply::{MoveReply, Named, Reply, Scored};
use crate::answer::Refusal;
use epdb_chess::model::rules::Playable;
use epdb_explorer::Served;

/// If the best score is at least this value, only moves with the best score are good.
const DECIDED: f64 = 75.0;
/// If the best score is above this value, the range of good moves is narrower.
const NEARLY_DECIDED: f64 = 50.0;
/// If the best score is below this value, the lowest score of a good move approaches [`LOST`].
const BAD: f64 = -30.0;
/// Lower bound of the lowest score that a good move may have.
const LOST: f64 = -50.0;

/// All moves with a score, and with `showall` also the moves without a score.
pub(super) fn all(served: &Served, known: &Known, showall: bool) -> Result<Reply, Refusal> {
    let best = known.moves.first().map(|one| one.score).unwrap_or_default();
    let mut scored = Vec::new();
    for one in &known.moves {
        let replies = Playable::new(&one.after).ok().map(|after| Known::look_up(served, &after));
        scored.push((one, Replies::new(replies.transpose()?)));
    }
    // Of moves with equal scores, the move with fewer good replies comes first.
    scored.sort_by_key(|(one, replies)| {
        (-one.score, replies.good, std::cmp::Reverse(replies.all), one.named.uci.clone())
    });
    let mut moves: Vec<MoveReply> =
        scored.iter().map(|(one, replies)| scored_move(one, best, replies)).collect();
    if showall {
        moves.extend(moves_without_score(known));
    }
    Ok(if moves.is_empty() { known.nothing() } else { Reply { moves, ..Reply::word("ok") } })
}

/// The move with the best score. If no move has a score, the first move of the record's line, if that move is
/// legal.
pub(super) fn best(known: &Known) -> Reply {
    let uci = if let Some(scored) = known.moves.first() {
        scored.named.uci.clone()
    } else if let Some(told) = known.line.first()
        && known.playable.is_legal(*told)
    {
        named(&known.playable, *told).uci
    } else {
        return Reply::word("nobestmove");
    };
    Reply { single: Some(uci), ..Reply::word("ok") }
}

/// The good moves, or the best move if none is good.
pub(super) fn good(known: &Known) -> Reply {
    let Some(best) = known.moves.first() else { return Reply::word("nobestmove") };
    let is_good = |one: &&KnownMove| one.score == best.score || rank(one.score, best.score) > 0;
    let search_moves: Vec<Named> =
        known.moves.iter().filter(is_good).map(|one| one.named.clone()).collect();
    let single = if known.moves.len() == 1 { Some(best.named.uci.clone()) } else { None };
    Reply { search_moves, single, ..Reply::word("ok") }
}

/// Number of replies to a move.
#[derive(Default)]
struct Replies {
    /// Replies with a score.
    all: usize,
    good: usize,
}

impl Replies {
    fn new(known: Option<Known>) -> Replies {
        let moves = known.map(|known| known.moves).unwrap_or_default();
        let best = moves.first().map(|one| one.score).unwrap_or_default();
        let good = moves.iter().filter(|one| rank(one.score, best) > 0).count();
        Replies { all: moves.len(), good }
    }
}

fn scored_move(one: &KnownMove, best: i32, replies: &Replies) -> MoveReply {
    let rank = rank(one.score, best);
    let mark = ["?", "*", "!"][usize::from(rank)];
    let Replies { all, good } = replies;
    MoveReply {
        named: one.named.clone(),
        score: Scored::Known(one.score),
        rank,
        note: format!("{mark} ({all:02}-{good:02})"),
        winrate: (one.score.abs() < 10_000).then(|| format!("{:.2}", points(one.score))),
    }
}

fn moves_without_score(known: &Known) -> impl Iterator<Item = MoveReply> {
    let moves = known.playable.legal_moves().into_iter();
    let others = moves.filter(|mv| known.moves.iter().all(|one| one.mv != *mv));
    others.map(|mv| MoveReply {
        named: named(&known.playable, mv),
        score: Scored::Unknown("??"),
        rank: 0,
        note: "? (??-??)".into(),
        winrate: None,
    })
}

/// The expected score in percent.
fn points(score: i32) -> f64 {
    100.0 * logistic(f64::from(score) / 330.0)
}

fn logistic(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// The rank of a move: 2 if it is as good as the best move, 1 if it is good, 0 otherwise.
fn rank(score: i32, best: i32) -> u8 {
    let score = f64::from(score);
    let best = f64::from(best);
    if score >= good_from(best) { 1 + u8::from(score >= best_from(best)) } else { 0 }
}

/// The lowest score of a good move: 5 to 10 centipawns below the best score while the game is
/// undecided.
fn good_from(best: f64) -> f64 {
    let below = |best: f64| best - 10.0 * logistic(best.abs() / 10.0);
    if best >= DECIDED {
        best
    } else if best > NEARLY_DECIDED {
        let share = (best - NEARLY_DECIDED) / (DECIDED - NEARLY_DECIDED);
        below(best) + share * (best - below(best))
    } else if best >= BAD {
        below(best)
    } else if best > LOST {
        LOST + (best - LOST) / (BAD - LOST) * (below(BAD) - LOST)
    } else {
        LOST
    }
}

/// The lowest score that counts as equal to the best score `best`. While the game is undecided, it
/// is up to 5 centipawns below `best`.
fn best_from(best: f64) -> f64 {
    if !(BAD..NEARLY_DECIDED).contains(&best) {
        return best;
    }
    let from = best - 5.0 * logistic(best.abs() / 20.0);
    if best > 0.0 { from.max(1.0) } else { from }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moves_rank_by_their_distance_to_the_best() {
        for (best, wanted) in [
            (200, [(200, 2), (199, 0)]),
            (20, [(17, 2), (12, 1)]),
            (20, [(15, 1), (10, 0)]),
            (1, [(1, 2), (0, 1)]),
            (0, [(-2, 2), (-6, 0)]),
            (-40, [(-40, 2), (-46, 0)]),
            (-29_990, [(-29_990, 0), (-29_990, 0)]),
        ] {
            for (score, rank_wanted) in wanted {
                assert_eq!(rank(score, best), rank_wanted, "{score} of {best}");
            }
        }
        assert_eq!(format!("{:.2}", points(0)), "50.00");
        assert_eq!(format!("{:.2}", points(330)), "73.11");
    }
}
