//! A search in progress and its deadlines.

use std::collections::HashMap;
use std::time::Duration;

use super::error::{EngineError, EngineErrorKind};
use super::info::Info;
use super::moves::read_move;
use super::process::Process;
use crate::model::Operand;
use crate::model::rules::{Move, Playable};

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
    /// The maximum number of nodes.
    pub(super) nodes: Option<u64>,
    /// The maximum depth in plies.
    pub(super) depth: Option<u32>,
    /// The time after which the engine gets `stop`.
    pub(super) time: Option<Duration>,
}

/// The last two `info` lines of a search for one move or one rank: the last line with an exact score, and the
/// last line without.
#[derive(Default)]
struct Reported {
    /// The last line with an exact score.
    exact: Option<Info>,
    /// The last line without an exact score.
    inexact: Option<Info>,
}

impl Reported {
    fn keep(&mut self, info: Info) {
        let place = if info.ce().is_some() { &mut self.exact } else { &mut self.inexact };
        *place = Some(info);
    }

    /// The last line with an exact score, otherwise the last line.
    fn best(self) -> Option<Info> {
        self.exact.or(self.inexact)
    }

    /// True if no line with moves has arrived.
    fn is_without_moves(&self) -> bool {
        [&self.exact, &self.inexact].into_iter().flatten().all(|info| info.pv.is_empty())
    }
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
    most: (Option<u64>, Option<u32>),
    /// The lines of each rank, from the first.
    ranks: Vec<Reported>,
    /// The lines that begin with each legal move.
    moves: HashMap<Move, Reported>,
    pub(super) moment: Elapsed,
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
            most: (effort.nodes, effort.depth),
            ranks: Vec::new(),
            moves: HashMap::new(),
            moment: Elapsed::default(),
            unreadable: None,
        }
    }

    /// The next deadline.
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
        if line.trim() == "readyok" {
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
            return is_beyond;
        }
        self.moment.depth = info.depth.unwrap_or(self.moment.depth);
        let wants_end = !info.pv.is_empty() && watch(&info, self.moment);
        self.keep(info);
        wants_end || is_beyond
    }

    /// True if the engine has exceeded its limits.
    fn is_beyond(&self, info: &Info) -> bool {
        let (nodes, depth) = self.most;
        info.nodes.zip(nodes).is_some_and(|(nodes, most)| nodes > most)
            || info.depth.zip(depth).is_some_and(|(depth, most)| depth > most)
    }

    fn keep(&mut self, info: Info) {
        let first = info.pv.first().and_then(|word| read_move(self.playable, word));
        if let Some(Operand::Move { mv, .. }) = first.map(|read| read.operand) {
            self.moves.entry(mv).or_default().keep(info.clone());
        }
        let Some(place) = info.multipv.checked_sub(1) else { return };
        if self.ranks.len() <= place {
            self.ranks.resize_with(place + 1, Reported::default);
        }
        let rank = &mut self.ranks[place];
        // A score alone has less information than a score with its line.
        if !info.pv.is_empty() || rank.is_without_moves() {
            rank.keep(info);
        }
    }

    /// The line of a move. Among the lines that begin with the move, the last one with an exact
    /// score counts, or else the last one. A score without moves belongs to the best move.
    pub(super) fn line_of(&mut self, best: &Operand) -> Option<Info> {
        let own = match best {
            Operand::Move { mv, .. } => self.moves.remove(mv).and_then(Reported::best),
            _ => None,
        };
        let alone = |first: &&Reported| first.is_without_moves();
        own.or_else(|| self.ranks.first().filter(alone)?.exact.clone())
    }

    /// The last line of each rank.
    pub(super) fn into_ranks(self) -> Vec<Info> {
        self.ranks.into_iter().filter_map(Reported::best).collect()
    }
}
