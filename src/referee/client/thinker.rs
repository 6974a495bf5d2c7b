//! Move finders of a client.

use std::sync::Arc;
use std::time::Duration;

use crate::board::{GameBoard, Place};
use crate::wire::{SearchReport, WireError};
use epdb_chess::model::rules::{Move, Playable};
use epdb_chess::model::{Counters, EpdRecord, Operand, Position};
use epdb_chess::text::codes;
use epdb_engine::{
    Answer, Clock, Engine, EngineError, EngineErrorKind, EngineSpec, MoveTime, SearchLimits,
};

/// A move to be found.
#[derive(Clone, Debug)]
pub struct Turn {
    /// The game so far.
    pub board: GameBoard,
    /// Time limit.
    pub time: MoveTime,
    /// Search limits.
    pub search: SearchLimits,
}

/// A move that was found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Thought {
    /// The move.
    pub mv: Move,
    /// The report on the search.
    pub search: SearchReport,
}

/// Called repeatedly during a search; returns true if the game has ended meanwhile.
pub type Interrupt<'a> = dyn FnMut() -> bool + 'a;

/// A move finder.
pub trait Thinker {
    /// Call this when a new game begins.
    fn forget(&mut self);

    /// True if [`Thinker::prepare`] takes time. Then the referee is asked to wait until the client
    /// is ready.
    fn takes_time(&self) -> bool {
        false
    }

    /// Gets ready for a game that begins in this position. No clock runs yet, so that getting ready
    /// costs no thinking time.
    fn prepare(&mut self, _start: &Position) {}

    /// Finds a legal move. After `interrupt` has returned true, any legal move is accepted.
    ///
    /// # Errors
    /// The reason why there is no move.
    fn think(&mut self, turn: &Turn, interrupt: &mut Interrupt<'_>) -> Result<Thought, String>;

    /// Returns a remark for the user about the last search, if there is a remark that was not returned
    /// before.
    fn remark(&mut self) -> Option<String> {
        None
    }
}

/// A UCI engine that finds moves. An engine that fails at a move is started again for the next
/// game.
#[derive(Debug)]
pub struct EngineThinker {
    spec: EngineSpec,
    timeout: Duration,
    clock: Arc<dyn Clock>,
    engine: Option<Engine>,
    /// True if the current game of the engine is a game of Chess960; `None` before its first game.
    game: Option<bool>,
    /// The first field of the engine's output that could not be read.
    unreadable: Option<String>,
    /// True if such a field was ever reported in a remark.
    has_remarked: bool,
}

/// Maximum number of moves of a reported variation; the message with it must fit into one line.
const MAX_LINE: usize = 32;

impl EngineThinker {
    /// Takes an engine without starting it. The engine is given up if it prints nothing for
    /// `timeout`, as described at [`Engine::start`].
    pub fn new(spec: EngineSpec, timeout: Duration, clock: Arc<dyn Clock>) -> EngineThinker {
        EngineThinker {
            spec,
            timeout,
            clock,
            engine: None,
            game: None,
            unreadable: None,
            has_remarked: false,
        }
    }

    /// Starts the engine if it does not run yet.
    ///
    /// # Errors
    /// The engine cannot be started.
    pub fn start(&mut self) -> Result<&mut Engine, EngineError> {
        let engine = match self.engine.take() {
            Some(engine) => engine,
            None => {
                self.game = None;
                Engine::start(&self.spec, self.timeout, self.clock.clone())?
            }
        };
        Ok(self.engine.insert(engine))
    }

    fn search(
        &mut self,
        turn: &Turn,
        interrupt: &mut Interrupt<'_>,
    ) -> Result<Answer, EngineError> {
        let start = record(turn.board.start());
        let engine = self.begin_game(start.position().is_chess960())?;
        let limits = (&turn.time, turn.search);
        engine.play_within(&start, turn.board.moves(), limits, &mut |_, _| interrupt())
    }

    /// Returns the engine. If the engine does not know yet that a game has begun, tells it first.
    fn begin_game(&mut self, is_chess960: bool) -> Result<&mut Engine, EngineError> {
        // An engine that is started here knows no game yet: `start` sets `game` to `None`.
        self.start()?;
        let known = self.game.replace(is_chess960);
        let engine = self.start()?;
        if known != Some(is_chess960) {
            engine.begin_game(is_chess960)?;
        }
        Ok(engine)
    }
}

impl Thinker for EngineThinker {
    fn forget(&mut self) {
        self.game = None;
        // If the engine cannot be started, the error is reported when a move is wanted.
        self.start().ok();
    }

    fn takes_time(&self) -> bool {
        true
    }

    fn prepare(&mut self, start: &Position) {
        if self.begin_game(start.is_chess960()).is_err() {
            // When a move is wanted, the engine is started again, and this attempt reports the
            // error.
            (self.engine, self.game) = (None, None);
        }
    }

    fn think(&mut self, turn: &Turn, interrupt: &mut Interrupt<'_>) -> Result<Thought, String> {
        let answer = self.search(turn, interrupt).map_err(|error| {
            self.engine = None;
            match error.kind {
                EngineErrorKind::IllegalMove(_) => illegal(error),
                _ => error.to_string(),
            }
        })?;
        let Operand::Move { mv, .. } = answer.best else {
            return Err(illegal(EngineErrorKind::IllegalMove(answer.best_word)));
        };
        let search = report(&turn.board.playable(), &answer);
        self.unreadable = answer.unreadable;
        Ok(Thought { mv, search })
    }

    fn remark(&mut self) -> Option<String> {
        let unreadable = self.unreadable.take()?;
        if self.has_remarked {
            return None;
        }
        self.has_remarked = true;
        Some(unreadable)
    }
}

/// The reason of a fault about an illegal move. By its code, the referee tells it from a crash.
fn illegal(error: impl ToString) -> String {
    WireError::new(codes::E_MOVE_ILLEGAL, error.to_string()).to_string()
}

/// The start of a game as a record with its counters.
fn record(place: &Place) -> EpdRecord {
    let mut record = EpdRecord::new(place.position);
    record.set_fen_counters(Some(Counters {
        halfmove_clock: place.halfmove_clock,
        fullmove_number: place.fullmove_number,
    }));
    record
}

fn report(start: &Playable, answer: &Answer) -> SearchReport {
    SearchReport {
        ce: answer.ce(),
        depth: Some(answer.depth()).filter(|depth| *depth > 0),
        nodes: Some(answer.end.nodes).filter(|nodes| *nodes > 0),
        seconds: Some(answer.end.time.as_secs()),
        line: answer.moves(start, MAX_LINE),
    }
}
