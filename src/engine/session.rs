//! A session with an engine: start, options, and searches with limits and time-outs.

use std::sync::Arc;
use std::time::Duration;

use super::clock::Clock;
use super::clock::{ClockReading, milliseconds};
use super::declared::{Declared, MAX_OPTIONS, find};
use super::error::{EngineError, EngineErrorKind};
use super::info::{Info, best_move};
use super::moves::{read_line, read_move};
use super::process::Process;
use super::search::{Effort, Elapsed, Search, is_answer};
use super::spec::EngineSpec;
use epdb_chess::model::rules::{Move, Playable};
use epdb_chess::model::{EpdRecord, Operand};
use epdb_chess::text::{CastlingForm, EnPassantForm, Format, FormatOptions, epd};
use epdb_library::run_file::{RunEngine, RunLimit};

/// The time that an engine has to end after `quit`.
const QUIT_GRACE: Duration = Duration::from_secs(1);
/// The option for the number of lines.
const MULTI_PV: &str = "MultiPV";
/// The option of engines that play Chess960.
const CHESS960: &str = "UCI_Chess960";
const THREADS: &str = "Threads";

/// Limits of a search. If several are set, the first one reached counts. An engine that exceeds a
/// limit gets `stop`.
///
/// Nodes, depth and time are hard limits of each search. A clock is a soft limit: the engine
/// decides how much of its time to use.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Limits {
    /// Maximum number of nodes.
    pub nodes: Option<u64>,
    /// Maximum depth in plies.
    pub depth: Option<u32>,
    /// Maximum time, after which the engine gets `stop`.
    pub movetime: Option<Duration>,
    /// The clock of a game in which the position is played. The engine gets `stop` when the clock
    /// has run out.
    pub clock: Option<ClockReading>,
    /// Maximum number of moves until mate.
    pub mate: Option<u32>,
}

impl Limits {
    pub(crate) fn in_run(&self) -> RunLimit {
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

/// The `go` command with all limits that are set.
pub(super) fn go(limits: &[(&str, Option<u64>)]) -> String {
    let set = limits.iter().filter_map(|(name, value)| Some((name, (*value)?)));
    set.fold("go".into(), |command, (name, value)| format!("{command} {name} {value}"))
}

/// The identity of an engine.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Identity {
    /// The name of the engine.
    pub name: String,
    /// The author of the engine.
    pub author: String,
    /// The options that were set, in order.
    pub options: Vec<(String, String)>,
    /// The options that were skipped because the engine does not have them.
    pub left_out: Vec<String>,
}

impl Identity {
    pub(crate) fn in_run(&self, engine: &EngineSpec) -> RunEngine {
        RunEngine {
            label: Some(engine.label.clone()),
            name: Some(self.name.clone()),
            author: Some(self.author.clone()),
            path: Some(engine.program().display().to_string()),
            arguments: engine.arguments.clone(),
            folder: engine.folder.as_ref().map(|folder| folder.display().to_string()),
            options: self.options.iter().cloned().collect(),
        }
    }
}

/// The result of a search.
#[derive(Clone, PartialEq, Debug)]
pub struct Answer {
    /// The best move.
    pub best: Operand,
    /// The best move as the engine wrote it.
    pub best_word: String,
    /// The last line with the best move and an exact score, otherwise the last line with the best
    /// move. `None` if no line has the best move.
    pub line: Option<Info>,
    /// The last line of each rank, in order; an exact score is preferred to a bound.
    pub ranks: Vec<Info>,
    /// The effort at the end of the search. The time is measured by epdb, not reported by the
    /// engine.
    pub end: Elapsed,
    /// The first field of an `info` line that could not be read, or the first score that was clamped.
    pub unreadable: Option<String>,
}

impl Answer {
    /// The exact score of the best move as a `ce`; `None` if the engine reported no exact score.
    pub fn ce(&self) -> Option<i32> {
        self.line.as_ref()?.ce()
    }

    /// The depth of the line with the best move. If there is no such line, the depth of the search;
    /// 0 if unknown.
    pub fn depth(&self) -> u32 {
        self.line.as_ref().and_then(|line| line.depth).unwrap_or(self.end.depth)
    }

    /// The line of the best move: at most `max_moves` moves, up to the first illegal move.
    pub fn moves(&self, start: &Playable, max_moves: usize) -> Vec<Move> {
        let words = self.words();
        let moves = read_line(start, &words[..words.len().min(max_moves)]).moves;
        let mv = |operand: &Operand| match operand {
            Operand::Move { mv, .. } => Some(*mv),
            _ => None,
        };
        moves.iter().filter_map(mv).collect()
    }

    /// The line of the best move in the engine's notation.
    pub(super) fn words(&self) -> &[String] {
        self.line.as_ref().map_or(&[], |line| &line.pv)
    }
}

/// A running engine.
///
/// It is a child process that ends when this value is dropped, or earlier. On Linux it also ends
/// with the thread that started it, so only that thread should use it.
#[derive(Debug)]
pub struct Engine {
    process: Process,
    identity: Identity,
    declared: Vec<Declared>,
    plays_chess960: bool,
    /// True from the command that starts a search to its best move.
    is_searching: bool,
    timeout: Duration,
}

impl Engine {
    /// Starts an engine and sets its options. It uses one thread unless the options set another
    /// number.
    ///
    /// If an engine prints nothing for `timeout`, it gets `isready`. If it does not answer within this time,
    /// it is given up. If it only answers `isready`, for ten times as long, it gets `stop`.
    ///
    /// # Errors
    /// The program cannot be started, does not answer, or lacks an option.
    pub fn start(
        spec: &EngineSpec,
        timeout: Duration,
        clock: Arc<dyn Clock>,
    ) -> Result<Engine, EngineError> {
        let folder = spec.folder.as_deref();
        let process = Process::start(&spec.program(), &spec.arguments, folder, clock)?;
        let mut engine = Engine {
            process,
            identity: Identity::default(),
            declared: Vec::new(),
            plays_chess960: false,
            is_searching: false,
            timeout,
        };
        engine.ask("uci", "uciok")?;
        engine.set_options(spec)?;
        engine.ask("isready", "readyok")?;
        Ok(engine)
    }

    /// The identity of the engine.
    pub const fn identity(&self) -> &Identity {
        &self.identity
    }

    /// True if the engine is in a search, or failed in one.
    pub(super) const fn is_searching(&self) -> bool {
        self.is_searching
    }

    /// Whether the current game is a Chess960 game.
    pub(super) const fn plays_chess960(&self) -> bool {
        self.plays_chess960
    }

    /// Sends a command and waits for its answer. Lines before the answer may declare name and
    /// options.
    fn ask(&mut self, question: &'static str, answer: &str) -> Result<(), EngineError> {
        self.process.begin();
        self.process.send(question)?;
        let until = self.process.clock().now() + self.timeout;
        while let Some(line) = self.process.recv(until)? {
            if is_answer(&line, answer) {
                return Ok(());
            }
            self.introduce(&line);
            // A flood of lines must not extend the time-out.
            if self.process.clock().now() >= until {
                break;
            }
        }
        let within = self.timeout;
        Err(self.process.error(EngineErrorKind::Handshake { question, within }))
    }

    fn introduce(&mut self, line: &str) {
        if let Some(name) = line.strip_prefix("id name ") {
            self.identity.name = name.trim().into();
        } else if let Some(author) = line.strip_prefix("id author ") {
            self.identity.author = author.trim().into();
        } else if let Some(option) = Declared::parse(line)
            && self.declared.len() < MAX_OPTIONS
        {
            self.declared.push(option);
        }
    }

    /// Sets options. The last value of a name counts.
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
        self.process.send(&command)
    }

    /// Searches a position that has legal moves, as the first of a new game. `watch` gets each
    /// `info` line with the effort so far, and ends the search by returning true.
    ///
    /// # Errors
    /// The engine failed. It should not be used again.
    pub fn search(
        &mut self,
        record: &EpdRecord,
        limits: &Limits,
        watch: &mut dyn FnMut(&Info, Elapsed) -> bool,
    ) -> Result<Answer, EngineError> {
        let playable = playable(record)?;
        self.begin_game(record.position().is_chess960())?;
        self.go(&playable, &format!("position fen {}", fen(record)), &limits.effort(), watch)
    }

    /// Starts a new game, of Chess960 or not.
    ///
    /// # Errors
    /// The engine does not answer, or does not play Chess960.
    pub fn begin_game(&mut self, is_chess960: bool) -> Result<(), EngineError> {
        self.switch_chess960(is_chess960)?;
        self.process.send("ucinewgame")?;
        self.ask("isready", "readyok").map_err(|error| self.without_handshake(error))
    }

    /// Searches a position and reads the best move.
    pub(super) fn go(
        &mut self,
        playable: &Playable,
        position: &str,
        effort: &Effort,
        watch: &mut dyn FnMut(&Info, Elapsed) -> bool,
    ) -> Result<Answer, EngineError> {
        self.process.begin();
        self.is_searching = true;
        self.process.send(position)?;
        self.process.send(&effort.command)?;
        let started = self.process.clock().now();
        let mut search = Search::begin(playable, started, effort, self.timeout);
        let word = loop {
            let now = self.process.clock().now();
            if let Some(word) = search.tend(&mut self.process, now)? {
                self.process.send(word)?;
            }
            let Some(line) = self.process.recv(search.next_deadline())? else { continue };
            if let Some(word) = best_move(&line) {
                break word.to_string();
            }
            let now = self.process.clock().now();
            if search.process_line(&line, now, watch) && search.stop(now) {
                self.process.send("stop")?;
            }
        };
        let best = read_move(playable, &word);
        let best =
            best.ok_or_else(|| self.process.error(EngineErrorKind::IllegalMove(word.clone())))?;
        let time = self.process.clock().now().saturating_sub(search.started);
        let end = Elapsed { time, ..search.moment };
        let line = search.line_of(&best.operand);
        let unreadable = search.unreadable.take();
        let ranks = search.into_ranks();
        self.is_searching = false;
        Ok(Answer { best: best.operand, best_word: word, line, ranks, end, unreadable })
    }

    /// Converts the error of an engine that has started: if it no longer answers, it is reported as
    /// silent.
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

    /// Ends the engine with `quit`.
    pub fn quit(self) {
        self.process.quit(QUIT_GRACE);
    }
}

impl EngineSpec {
    /// Sets the number of lines that the engine reports.
    #[must_use]
    pub fn with_lines(mut self, lines: usize) -> EngineSpec {
        if lines > 1 {
            self.options.push((MULTI_PV.into(), lines.to_string()));
        }
        self
    }
}

/// The position, prepared for move generation.
pub(super) fn playable(record: &EpdRecord) -> Result<Playable, EngineError> {
    Playable::new(record.position()).map_err(|_| EngineError::new(EngineErrorKind::NotPlayable))
}

/// The position as FEN for engines.
pub(super) fn fen(record: &EpdRecord) -> String {
    let is_chess960 = record.position().is_chess960();
    let options = FormatOptions {
        format: Format::Fen,
        castling: if is_chess960 { CastlingForm::Shredder } else { CastlingForm::XFen },
        en_passant: EnPassantForm::Legal,
        ..Default::default()
    };
    let mut text = Vec::new();
    epd::format(record, &options, &mut text);
    String::from_utf8_lossy(&text).into_owned()
}
