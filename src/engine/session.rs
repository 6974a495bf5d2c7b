//! A conversation with an engine: its beginning, and searches with limits and time-outs.

use std::sync::Arc;
use std::time::Duration;

use super::clock::Clock;
use super::clock::{ClockReading, milliseconds};
use super::declared::{Declared, MOST_OPTIONS, find};
use super::error::{EngineError, EngineErrorKind};
use super::info::{Info, best_move};
use super::moves::{read_line, read_move};
use super::process::Process;
use super::search::{Effort, Moment, Search};
use super::spec::EngineSpec;
use crate::library::run_file::{RunEngine, RunLimit};
use crate::model::rules::{Move, Playable};
use crate::model::{EpdRecord, Operand};
use crate::text::{CastlingForm, EnPassantForm, Format, FormatOptions, epd};

/// How long it may take to end itself after `quit`.
const QUIT_GRACE: Duration = Duration::from_secs(1);
/// The option of most engines that says how many lines are wanted.
const MULTI_PV: &str = "MultiPV";
/// The option of engines that play Chess960.
const CHESS960: &str = "UCI_Chess960";
const THREADS: &str = "Threads";

/// How much effort a search may take: if several are given, whichever is reached first. An engine that
/// goes beyond is told to stop.
///
/// Nodes, depth and time are hard limits: each search gets as much. A clock is a soft one: the engine
/// decides how much of it a position is worth.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Limits {
    /// Nodes.
    pub nodes: Option<u64>,
    /// Plies.
    pub depth: Option<u32>,
    /// Time, which is never exceeded: the engine is told to stop when it is over.
    pub movetime: Option<Duration>,
    /// The clock of a game in which the position would be played; when it has run out the engine is told
    /// to stop.
    pub clock: Option<ClockReading>,
    /// Moves in which a mate is looked for.
    pub mate: Option<u32>,
}

impl Limits {
    /// The same as a run says it of itself.
    pub fn in_run(&self) -> RunLimit {
        RunLimit {
            nodes: self.nodes,
            depth: self.depth.map(u64::from),
            movetime: self.movetime.map(milliseconds),
            clock: self.clock.map(|clock| milliseconds(clock.left[0])),
            increment: self.clock.and_then(|clock| clock.told_increments()[0]),
            moves_to_go: self.clock.and_then(|clock| clock.moves_to_go).map(u64::from),
            mate: self.mate.map(u64::from),
        }
    }

    fn effort(&self) -> Effort {
        let Limits { nodes, depth, movetime, clock, mate } = *self;
        let mut limits = clock.map_or(Vec::new(), |clock| clock.limits().to_vec());
        limits.extend([
            ("nodes", nodes),
            ("depth", depth.map(u64::from)),
            ("movetime", movetime.map(milliseconds)),
            ("mate", mate.map(u64::from)),
        ]);
        let times = movetime.into_iter().chain(clock.map(|clock| clock.left[0]));
        Effort { command: go(&limits), nodes, depth, time: times.min() }
    }
}

/// The command that begins a search, with the limits that there are.
pub(super) fn go(limits: &[(&str, Option<u64>)]) -> String {
    let given = limits.iter().filter_map(|(name, value)| Some((name, (*value)?)));
    given.fold("go".into(), |command, (name, value)| format!("{command} {name} {value}"))
}

/// What an engine says of itself.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Identity {
    /// Its name.
    pub name: String,
    /// Who made it.
    pub author: String,
    /// The options that were set, in that order.
    pub options: Vec<(String, String)>,
    /// The options that were left out because it does not have them.
    pub left_out: Vec<String>,
}

impl Identity {
    /// The engine as a run with it says of itself.
    pub fn in_run(&self, engine: &EngineSpec) -> RunEngine {
        RunEngine {
            label: Some(engine.label.clone()),
            name: Some(self.name.clone()),
            author: Some(self.author.clone()),
            path: Some(engine.program().display().to_string()),
            options: self.options.iter().cloned().collect(),
        }
    }
}

/// What a search came to.
#[derive(Clone, PartialEq, Debug)]
pub struct Answer {
    /// The best move.
    pub best: Operand,
    /// The best move as the engine wrote it.
    pub best_word: String,
    /// The line of the best move: the last one with an exact score, otherwise the last one. `None` if the
    /// engine reported none that begins with this move.
    pub line: Option<Info>,
    /// The last line of each rank, in their order; exact rather than a bound.
    pub ranks: Vec<Info>,
    /// The place where the search ended; its time was measured here.
    pub end: Moment,
    /// The first field of an `info` line that could not be read, or whose score was clamped.
    pub unreadable: Option<String>,
}

impl Answer {
    /// The exact score of the best move as the operand of `ce`; `None` if the engine reported none.
    pub fn ce(&self) -> Option<i32> {
        self.line.as_ref()?.ce()
    }

    /// The depth of the line of the best move, otherwise of the search; 0 if the engine reported none.
    pub fn depth(&self) -> u32 {
        self.line.as_ref().and_then(|line| line.depth).unwrap_or(self.end.depth)
    }

    /// The line of the best move, at most so many moves, up to one that is not legal.
    pub fn moves(&self, start: &Playable, most: usize) -> Vec<Move> {
        let words = self.words();
        let moves = read_line(start, &words[..words.len().min(most)]).moves;
        let mv = |operand: &Operand| match operand {
            Operand::Move { mv, .. } => Some(*mv),
            _ => None,
        };
        moves.iter().filter_map(mv).collect()
    }

    /// The line of the best move as the engine wrote it.
    pub(super) fn words(&self) -> &[String] {
        self.line.as_ref().map_or(&[], |line| &line.pv)
    }
}

/// An engine that was started and can be asked.
///
/// It is a child process, which ends at the latest when this is dropped. On Linux it also ends with
/// the thread that started it: that thread must be the one that asks.
#[derive(Debug)]
pub struct Engine {
    process: Process,
    identity: Identity,
    declared: Vec<Declared>,
    plays_chess960: bool,
    patience: Duration,
}

impl Engine {
    /// Starts an engine and sets its options; it has one thread unless the options say another number.
    ///
    /// An engine that says nothing for `patience` is asked whether it still listens, and given up when
    /// it does not answer for as long again. One that answers and tells nothing for ten times as long is
    /// told to stop.
    ///
    /// # Errors
    /// The program cannot be started, does not answer, or lacks an option.
    pub fn start(
        spec: &EngineSpec,
        patience: Duration,
        clock: Arc<dyn Clock>,
    ) -> Result<Engine, EngineError> {
        let folder = spec.folder.as_deref();
        let process = Process::start(&spec.program(), &spec.arguments, folder, clock)?;
        let identity = Identity::default();
        let declared = Vec::new();
        let mut engine = Engine { process, identity, declared, plays_chess960: false, patience };
        engine.ask("uci", "uciok")?;
        engine.set_options(spec)?;
        engine.ask("isready", "readyok")?;
        Ok(engine)
    }

    /// What the engine says of itself.
    pub const fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Whether it was told that the game is one of Chess960.
    pub(super) const fn plays_chess960(&self) -> bool {
        self.plays_chess960
    }

    /// Says something and waits for the answer. What comes before it may introduce the engine.
    fn ask(&mut self, question: &'static str, answer: &str) -> Result<(), EngineError> {
        self.process.begin();
        self.process.say(question)?;
        let until = self.process.clock().now() + self.patience;
        while let Some(line) = self.process.hear(until)? {
            if line.trim() == answer {
                return Ok(());
            }
            self.introduce(&line);
            if self.process.clock().now() >= until {
                break;
            }
        }
        let within = self.patience;
        Err(self.process.error(EngineErrorKind::Handshake { question, within }))
    }

    fn introduce(&mut self, line: &str) {
        if let Some(name) = line.strip_prefix("id name ") {
            self.identity.name = name.trim().into();
        } else if let Some(author) = line.strip_prefix("id author ") {
            self.identity.author = author.trim().into();
        } else if let Some(option) = Declared::parse(line)
            && self.declared.len() < MOST_OPTIONS
        {
            self.declared.push(option);
        }
    }

    /// Sets options, of which a later one of the same name counts.
    fn set_options(&mut self, spec: &EngineSpec) -> Result<(), EngineError> {
        let mut options: Vec<(String, String)> = Vec::new();
        if find(&self.declared, THREADS).is_ok() {
            options.push((THREADS.into(), "1".into()));
        }
        for (name, value) in &spec.options {
            if spec.optional.contains(name) && find(&self.declared, name).is_err() {
                self.identity.left_out.push(name.clone());
                continue;
            }
            options.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
            options.push((name.clone(), value.clone()));
        }
        for (name, value) in &options {
            self.set(name, value)?;
        }
        self.identity.options = options;
        Ok(())
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), EngineError> {
        let command = find(&self.declared, name).and_then(|option| option.command(value));
        let command =
            command.map_err(|message| EngineError::new(EngineErrorKind::Option(message)))?;
        self.process.say(&command)
    }

    /// Searches a position that has legal moves, as the first of a new game. `watch` sees each line that
    /// the engine tells of, with the place in the search, and ends the search by returning true.
    ///
    /// # Errors
    /// What the engine did wrong. It should not be asked again then.
    pub fn search(
        &mut self,
        record: &EpdRecord,
        limits: &Limits,
        watch: &mut dyn FnMut(&Info, Moment) -> bool,
    ) -> Result<Answer, EngineError> {
        let playable = playable(record)?;
        self.begin_game(record.position().is_chess960())?;
        self.go(&playable, &format!("position fen {}", fen(record)), &limits.effort(), watch)
    }

    /// Tells the engine that what it is asked next belongs to a new game, of Chess960 or not.
    ///
    /// # Errors
    /// It does not answer, or does not play Chess960.
    pub fn begin_game(&mut self, is_chess960: bool) -> Result<(), EngineError> {
        self.switch_chess960(is_chess960)?;
        self.process.say("ucinewgame")?;
        self.ask("isready", "readyok").map_err(|error| self.without_handshake(error))
    }

    /// Has a position searched, and reads the move that is found.
    pub(super) fn go(
        &mut self,
        playable: &Playable,
        position: &str,
        effort: &Effort,
        watch: &mut dyn FnMut(&Info, Moment) -> bool,
    ) -> Result<Answer, EngineError> {
        self.process.begin();
        self.process.say(position)?;
        self.process.say(&effort.command)?;
        let started = self.process.clock().now();
        let mut search = Search::begin(playable, started, effort, self.patience);
        let word = loop {
            let now = self.process.clock().now();
            if let Some(word) = search.tend(&mut self.process, now)? {
                self.process.say(word)?;
            }
            let Some(line) = self.process.hear(search.next_deadline())? else { continue };
            if let Some(word) = best_move(&line) {
                break word.to_string();
            }
            let now = self.process.clock().now();
            if search.hear(&line, now, watch) && search.stop(now) {
                self.process.say("stop")?;
            }
        };
        let best = read_move(playable, &word);
        let best =
            best.ok_or_else(|| self.process.error(EngineErrorKind::IllegalMove(word.clone())))?;
        let time = self.process.clock().now().saturating_sub(search.started);
        let end = Moment { time, ..search.moment };
        let (line, unreadable) = (search.line_of(&best.operand), search.unreadable.take());
        let ranks = search.into_ranks();
        Ok(Answer { best: best.operand, best_word: word, line, ranks, end, unreadable })
    }

    /// An engine that was started and does not answer any more has fallen silent.
    fn without_handshake(&self, error: EngineError) -> EngineError {
        match error.kind {
            EngineErrorKind::Handshake { within, .. } => {
                EngineError { kind: EngineErrorKind::Silent(within), ..error }
            }
            _ => error,
        }
    }

    fn switch_chess960(&mut self, is_needed: bool) -> Result<(), EngineError> {
        if is_needed == self.plays_chess960 {
            return Ok(());
        }
        if find(&self.declared, CHESS960).is_err() {
            return Err(EngineError::new(EngineErrorKind::NoChess960));
        }
        self.set(CHESS960, if is_needed { "true" } else { "false" })?;
        self.plays_chess960 = is_needed;
        Ok(())
    }

    /// Lets the engine end by itself, if it does so soon.
    pub fn quit(self) {
        self.process.quit(QUIT_GRACE);
    }
}

impl EngineSpec {
    /// The same engine, asked for so many lines.
    #[must_use]
    pub fn with_lines(mut self, lines: usize) -> EngineSpec {
        if lines > 1 {
            self.options.push((MULTI_PV.into(), lines.to_string()));
        }
        self
    }
}

/// The position with what its moves need.
pub(super) fn playable(record: &EpdRecord) -> Result<Playable, EngineError> {
    Playable::new(record.position()).map_err(|_| EngineError::new(EngineErrorKind::NotPlayable))
}

/// The position as engines read it.
pub(super) fn fen(record: &EpdRecord) -> String {
    let is_chess960 = record.position().is_chess960();
    let options = FormatOptions::new()
        .format(Format::Fen)
        .castling(if is_chess960 { CastlingForm::Shredder } else { CastlingForm::XFen })
        .en_passant(EnPassantForm::Legal);
    let mut text = Vec::new();
    epd::format(record, &options, &mut text);
    String::from_utf8_lossy(&text).into_owned()
}
