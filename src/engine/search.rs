//! A search in progress and its deadlines.

use std::collections::HashMap;
use std::time::Duration;

use super::error::{EngineError, EngineErrorKind};
use super::info::Info;
use super::moves::read_move;
use super::process::Process;
use epdb_chess::model::Operand;
use epdb_chess::model::rules::{Move, Playable};

/// The time that an engine has to end a search after `stop`.
const GRACE: Duration = Duration::from_secs(5);
/// Number of times in a row that an engine may answer `isready` without other output.
const MAX_ANSWERS: u32 = 9;

/// Effort of a search so far.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug)]
pub struct Elapsed {
    /// Nodes searched.
    pub nodes: u64,
    /// Time elapsed.
    pub time: Duration,
    /// The depth in plies.
    pub depth: u32,
}

/// The command that starts a search, and its limits.
pub(super) struct Effort {
    /// The `go` command.
    pub(super) command: String,
    pub(super) nodes: Option<u64>,
    /// The maximum depth in plies.
    pub(super) depth: Option<u32>,
    /// The time after which the engine gets `stop`.
    pub(super) time: Option<Duration>,
}

/// The last `info` lines of a search for one move or one rank.
#[derive(Default)]
struct Reported {
    /// The last line with moves and an exact score.
    exact: Option<Info>,
    /// The last line with moves but without an exact score.
    inexact: Option<Info>,
    /// The last line with moves, if it came without a score of its own.
    unscored: Option<Info>,
}

impl Reported {
    /// Keeps a line with moves. `has_own_score` is false if its score, if any, came on an earlier line.
    fn keep(&mut self, info: Info, has_own_score: bool) {
        self.unscored = if has_own_score { None } else { Some(info.clone()) };
        let place = if info.ce().is_some() { &mut self.exact } else { &mut self.inexact };
        *place = Some(info);
    }

    /// The last line with an exact score, otherwise the last line. If the last line had no score of its
    /// own, the score that came after it belongs to it.
    fn best(self, after: Option<&Info>) -> Option<Info> {
        match (self.unscored, after) {
            (Some(line), Some(after)) if is_of_one_depth(&line, after) => {
                Some(Info { score: after.score, depth: line.depth.or(after.depth), ..line })
            }
            _ => self.exact.or(self.inexact),
        }
    }
}

/// Lines of a rank that have a score and no moves. The score belongs to the next line with moves of the
/// rank. If there is no such line, it belongs to the last one, or to the best move.
#[derive(Default)]
struct Scores {
    exact: Option<Info>,
    bound: Option<Info>,
}

impl Scores {
    fn keep(&mut self, info: Info) {
        if info.ce().is_some() {
            *self = Scores { exact: Some(info), bound: None };
        } else {
            self.bound = Some(info);
        }
    }

    /// Takes the score for a line with moves. A score of another depth does not belong to the line.
    fn take_for(&mut self, line: &Info) -> Option<Info> {
        let Scores { exact, bound } = std::mem::take(self);
        [exact, bound].into_iter().flatten().find(|score| is_of_one_depth(score, line))
    }
}

/// True if neither of two lines says that it has another depth than the other one.
fn is_of_one_depth(one: &Info, other: &Info) -> bool {
    one.depth.is_none() || other.depth.is_none() || one.depth == other.depth
}

/// Lines and scores of one rank.
#[derive(Default)]
struct Rank {
    lines: Reported,
    scores: Scores,
}

/// A search in progress: its lines so far, and its deadlines.
pub(super) struct Search<'p> {
    playable: &'p Playable,
    pub(super) started: Duration,
    /// The time at which the engine gets `stop`.
    ends: Option<Duration>,
    /// The time by which the search must end after `stop`.
    stopped_until: Option<Duration>,
    timeout: Duration,
    /// The time by which some output must arrive.
    silent_until: Duration,
    /// True if `isready` was sent and no output has arrived since then.
    was_asked: bool,
    /// Number of times in a row that the engine answered `isready` without other output.
    answers: u32,
    /// The maximum number of nodes and plies.
    max_nodes: Option<u64>,
    max_depth: Option<u32>,
    /// The lines of each rank, from the first.
    ranks: Vec<Rank>,
    /// The lines that begin with each legal move.
    moves: HashMap<Move, Reported>,
    pub(super) moment: Elapsed,
    /// The depth of the last line that had neither a score nor moves.
    stated_depth: Option<u32>,
    /// The first field that could not be read or was clamped.
    pub(super) unreadable: Option<String>,
}

impl<'p> Search<'p> {
    pub(super) fn begin(
        playable: &'p Playable,
        started: Duration,
        effort: &Effort,
        timeout: Duration,
    ) -> Search<'p> {
        Search {
            playable,
            started,
            ends: effort.time.map(|time| started + time),
            stopped_until: None,
            timeout,
            silent_until: started + timeout,
            was_asked: false,
            answers: 0,
            max_nodes: effort.nodes,
            max_depth: effort.depth,
            ranks: Vec::new(),
            moves: HashMap::new(),
            moment: Elapsed::default(),
            stated_depth: None,
            unreadable: None,
        }
    }

    pub(super) fn next_deadline(&self) -> Duration {
        let ends = match self.stopped_until {
            Some(until) => Some(until),
            None => self.ends,
        };
        ends.map_or(self.silent_until, |end| end.min(self.silent_until))
    }

    /// Returns the command that is due now, if any.
    pub(super) fn tend(
        &mut self,
        process: &mut Process,
        now: Duration,
    ) -> Result<Option<&'static str>, EngineError> {
        if self.stopped_until.is_some_and(|until| now >= until) {
            return Err(process.error(EngineErrorKind::IgnoredStop(GRACE)));
        }
        if self.ends.is_some_and(|end| now >= end) && self.stop(now) {
            return Ok(Some("stop"));
        }
        if now < self.silent_until {
            return Ok(None);
        }
        if self.was_asked {
            return Err(process.error(EngineErrorKind::Silent(2 * self.timeout)));
        }
        self.was_asked = true;
        self.silent_until = now + self.timeout;
        Ok(Some("isready"))
    }

    /// Starts the time within which the search must end. Returns false if that time runs already.
    pub(super) fn stop(&mut self, now: Duration) -> bool {
        let is_new = self.stopped_until.is_none();
        self.stopped_until.get_or_insert(now + GRACE);
        is_new
    }

    /// Processes a line; true if the search should end.
    pub(super) fn process_line(
        &mut self,
        line: &str,
        now: Duration,
        watch: &mut dyn FnMut(&Info, Elapsed) -> bool,
    ) -> bool {
        self.silent_until = now + self.timeout;
        self.was_asked = false;
        if is_answer(line, "readyok") {
            self.answers += 1;
            return self.answers > MAX_ANSWERS;
        }
        let Some(mut info) = Info::parse(line) else { return false };
        self.answers = 0;
        if let Some(unreadable) = info.unreadable.take() {
            self.unreadable.get_or_insert(unreadable);
        }
        let elapsed = now.saturating_sub(self.started);
        self.moment.nodes = info.nodes.unwrap_or(self.moment.nodes);
        self.moment.time = info.time.unwrap_or(elapsed);
        let is_beyond = self.is_beyond(&info);
        if info.score.is_none() && info.pv.is_empty() {
            self.stated_depth = info.depth.or(self.stated_depth);
            return is_beyond;
        }
        // The fields of a report may come on several lines.
        self.moment.depth = info.depth.or(self.stated_depth).unwrap_or(self.moment.depth);
        self.stated_depth = None;
        let has_own_score = info.score.is_some();
        let Some(info) = self.with_moves(info) else { return is_beyond };
        let wants_end = watch(&info, self.moment);
        self.keep(info, has_own_score);
        wants_end || is_beyond
    }

    /// A line with moves, with the score of an earlier line if it has none. A line without moves is
    /// kept until its moves come.
    fn with_moves(&mut self, info: Info) -> Option<Info> {
        let place = info.multipv.checked_sub(1);
        if let Some(place) = place
            && self.ranks.len() <= place
        {
            self.ranks.resize_with(place + 1, Rank::default);
        }
        let rank = place.and_then(|place| self.ranks.get_mut(place));
        if info.pv.is_empty() {
            if let Some(rank) = rank {
                rank.scores.keep(info);
            }
            return None;
        }
        let earlier = rank.and_then(|rank| rank.scores.take_for(&info));
        Some(match earlier {
            Some(Info { score, depth, .. }) if info.score.is_none() => {
                Info { score, depth: info.depth.or(depth), ..info }
            }
            _ => info,
        })
    }

    /// True if the engine has exceeded its limits.
    fn is_beyond(&self, info: &Info) -> bool {
        info.nodes.zip(self.max_nodes).is_some_and(|(nodes, maximum)| nodes > maximum)
            || info.depth.zip(self.max_depth).is_some_and(|(depth, maximum)| depth > maximum)
    }

    /// Keeps a line with moves.
    fn keep(&mut self, info: Info, has_own_score: bool) {
        let first = info.pv.first().and_then(|word| read_move(self.playable, word));
        if let Some(Operand::Move { mv, .. }) = first.map(|read| read.operand) {
            self.moves.entry(mv).or_default().keep(info.clone(), has_own_score);
        }
        let rank = info.multipv.checked_sub(1).and_then(|place| self.ranks.get_mut(place));
        if let Some(rank) = rank {
            rank.lines.keep(info, has_own_score);
        }
    }

    /// The line of a move. Among the lines that begin with the move, the last one with an exact
    /// score counts, or else the last one. A score without moves belongs to the best move.
    pub(super) fn line_of(&mut self, best: &Operand) -> Option<Info> {
        let alone = self.ranks.first().and_then(|rank| rank.scores.exact.as_ref());
        let own = match best {
            Operand::Move { mv, .. } => self.moves.remove(mv),
            _ => None,
        };
        match own {
            Some(own) => own.best(alone),
            None => alone.cloned(),
        }
    }

    /// The last line of each rank.
    pub(super) fn into_ranks(self) -> Vec<Info> {
        let ranks = self.ranks.into_iter();
        ranks.filter_map(|Rank { lines, scores }| lines.best(scores.exact.as_ref())).collect()
    }
}

/// True if a line is this answer of an engine; other words may follow it.
pub(super) fn is_answer(line: &str, answer: &str) -> bool {
    line.split_ascii_whitespace().next() == Some(answer)
}
