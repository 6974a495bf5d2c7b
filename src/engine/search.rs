//! A search that goes on, and when it must end.

use std::time::Duration;

use super::error::{EngineError, EngineErrorKind};
use super::info::{Bound, Info};
use super::process::Process;

/// How long an engine may take to end a search after `stop`.
const GRACE: Duration = Duration::from_secs(5);
/// So often an engine that tells nothing may answer that it still listens.
const MOST_ANSWERS: u32 = 9;

/// A place in a search.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug)]
pub struct Moment {
    /// Nodes that were searched.
    pub nodes: u64,
    /// The time that was searched.
    pub time: Duration,
    /// The depth in plies.
    pub depth: u32,
}

/// How a search is begun, and what it may not exceed.
pub(super) struct Effort {
    /// What begins it.
    pub(super) command: String,
    /// The most nodes.
    pub(super) nodes: Option<u64>,
    /// The most plies.
    pub(super) depth: Option<u32>,
    /// The time after which it is told to stop.
    pub(super) time: Option<Duration>,
}

/// A search that goes on: what it told, and when it must end.
pub(super) struct Search {
    pub(super) started: Duration,
    /// When it must be told to stop.
    ends: Option<Duration>,
    /// Until when it may go on after that.
    stopped_until: Option<Duration>,
    patience: Duration,
    /// Until when something must be heard.
    silent_until: Duration,
    /// Whether it was asked if it still listens, and how often it only said that it does.
    was_asked: bool,
    answers: u32,
    /// The most nodes and plies.
    most: (Option<u64>, Option<u32>),
    pub(super) lines: Vec<(Option<Info>, Option<Info>)>,
    pub(super) moment: Moment,
}

impl Search {
    pub(super) fn begin(started: Duration, effort: &Effort, patience: Duration) -> Search {
        Search {
            started,
            ends: effort.time.map(|time| started + time),
            stopped_until: None,
            patience,
            silent_until: started + patience,
            was_asked: false,
            answers: 0,
            most: (effort.nodes, effort.depth),
            lines: Vec::new(),
            moment: Moment::default(),
        }
    }

    /// The next time at which something must be done if nothing is heard.
    pub(super) fn next_deadline(&self) -> Duration {
        let ends = match self.stopped_until {
            Some(until) => Some(until),
            None => self.ends,
        };
        ends.map_or(self.silent_until, |end| end.min(self.silent_until))
    }

    /// What must be said now.
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
            return Err(process.error(EngineErrorKind::Silent(2 * self.patience)));
        }
        self.was_asked = true;
        self.silent_until = now + self.patience;
        Ok(Some("isready"))
    }

    /// Begins the time in which the search must end; false when it runs already.
    pub(super) fn stop(&mut self, now: Duration) -> bool {
        let is_new = self.stopped_until.is_none();
        self.stopped_until.get_or_insert(now + GRACE);
        is_new
    }

    /// Takes a line; true when the search should end.
    pub(super) fn hear(
        &mut self,
        line: &str,
        now: Duration,
        watch: &mut dyn FnMut(&Info, Moment) -> bool,
    ) -> Result<bool, String> {
        self.silent_until = now + self.patience;
        self.was_asked = false;
        if line.trim() == "readyok" {
            self.answers += 1;
            return Ok(self.answers > MOST_ANSWERS);
        }
        let Some(info) = Info::parse(line)? else { return Ok(false) };
        self.answers = 0;
        let elapsed = now.saturating_sub(self.started);
        self.moment.nodes = info.nodes.unwrap_or(self.moment.nodes);
        self.moment.time = info.time.unwrap_or(elapsed);
        let is_beyond = self.is_beyond(&info);
        if info.score.is_none() {
            return Ok(is_beyond);
        }
        self.moment.depth = info.depth.unwrap_or(self.moment.depth);
        let wants_end = !info.pv.is_empty() && watch(&info, self.moment);
        self.keep(info);
        Ok(wants_end || is_beyond)
    }

    /// Whether the engine has gone beyond its limits.
    fn is_beyond(&self, info: &Info) -> bool {
        let (nodes, depth) = self.most;
        info.nodes.zip(nodes).is_some_and(|(nodes, most)| nodes > most)
            || info.depth.zip(depth).is_some_and(|(depth, most)| depth > most)
    }

    fn keep(&mut self, info: Info) {
        let place = info.multipv - 1;
        if self.lines.len() <= place {
            self.lines.resize(place + 1, (None, None));
        }
        let (exact, bound) = &mut self.lines[place];
        // A score alone says less than one with its line.
        if info.pv.is_empty() && (exact.is_some() || bound.is_some()) {
            return;
        }
        match info.score {
            Some((_, Bound::Exact)) => (*exact, *bound) = (Some(info), None),
            _ => *bound = Some(info),
        }
    }
}
