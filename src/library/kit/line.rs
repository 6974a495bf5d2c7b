//! A line of moves from a record, with the records of its positions; and the errors of the command
//! processor.

use super::verb::Verb;
use epdb_chess::model::rules::Move;
use epdb_chess::model::{BuildError, Counters, EpdRecord, Game, GameBuilder, Start};
use epdb_chess::text::{Diagnostic, Profile, parse_moves};

/// A first record, the moves played from it, and the record after each move. One of the records is
/// the current one.
///
/// ```
/// use epdb_library::kit::Line;
/// let mut line = Line::new(epdb_chess::parse_epd(b"4k3/8/8/8/8/8/4P3/4K3 w - - id \"x\"; hmvc 5;")?);
/// line.play(b"e4 Kd7")?;
/// line.back(1)?;
/// assert_eq!(epdb_chess::format_epd(line.record()), b"4k3/8/8/8/4P3/8/8/4K3 b - e3 hmvc 0;");
/// assert_eq!(line.records().count(), 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Line {
    start: EpdRecord,
    /// Each move with the record after it.
    played: Vec<(Move, EpdRecord)>,
    /// Number of moves to the current record.
    at: usize,
}

impl Line {
    /// Maximum number of moves. By the seventy-five-move rule, all games are shorter.
    pub const MAX_MOVES: usize = 20_000;

    /// A record without moves.
    pub const fn new(start: EpdRecord) -> Line {
        Line { start, played: Vec::new(), at: 0 }
    }

    /// The current record.
    pub fn record(&self) -> &EpdRecord {
        self.nth(self.at)
    }

    /// All records, the first one included.
    pub fn records(&self) -> impl Iterator<Item = &EpdRecord> {
        std::iter::once(&self.start).chain(self.played.iter().map(|(_, record)| record))
    }

    /// The records from the first to the current one.
    pub(super) fn records_so_far(&self) -> impl Iterator<Item = &EpdRecord> {
        self.records().take(self.at + 1)
    }

    /// Plays moves, with or without numbers, from the current record. If moves that were taken back are
    /// played again, they keep their records; otherwise they are forgotten.
    ///
    /// # Errors
    /// A word is not a legal move, or the line would have more than [`Line::MAX_MOVES`] moves. No
    /// move is played then.
    pub fn play(&mut self, text: &[u8]) -> Result<(), KitError> {
        let moves = self.read(text).map_err(KitError::Move)?;
        self.make(&moves)
    }

    pub(super) fn read(&self, text: &[u8]) -> Result<Vec<Move>, Diagnostic> {
        parse_moves(self.record().position(), text, Profile::Lenient)
    }

    /// Plays legal moves.
    pub(super) fn make(&mut self, moves: &[Move]) -> Result<(), KitError> {
        if self.at + moves.len() > Line::MAX_MOVES {
            return Err(KitError::Full(Line::MAX_MOVES));
        }
        for &mv in moves {
            if self.played.get(self.at).is_none_or(|(next, _)| *next != mv) {
                let next = self.record().play(mv);
                self.played.truncate(self.at);
                if let Some(next) = next {
                    self.played.push((mv, next));
                }
            }
            self.at = self.played.len().min(self.at + 1);
        }
        Ok(())
    }

    /// Takes moves back.
    ///
    /// # Errors
    /// Fewer than `moves` moves can be taken back.
    pub fn back(&mut self, moves: usize) -> Result<(), KitError> {
        self.at = self.at.checked_sub(moves).ok_or(KitError::End(self.at))?;
        Ok(())
    }

    /// Plays moves again that were taken back.
    ///
    /// # Errors
    /// Fewer than `moves` moves were taken back.
    pub fn forward(&mut self, moves: usize) -> Result<(), KitError> {
        let there = self.played.len() - self.at;
        if moves > there {
            return Err(KitError::End(there));
        }
        self.at += moves;
        Ok(())
    }

    /// Takes all moves back.
    pub(super) const fn go_to_start(&mut self) {
        self.at = 0;
    }

    /// Replaces the operations of the current position.
    pub(super) fn edit(&mut self, edited: EpdRecord) {
        match self.at.checked_sub(1).and_then(|before| self.played.get_mut(before)) {
            Some((_, record)) => *record = edited,
            None => self.start = edited,
        }
    }

    /// The moves as a game without tags.
    ///
    /// # Errors
    /// The first position has no moves, or cannot be the start of a game.
    pub fn game(&self) -> Result<Game, BuildError> {
        let mut game = GameBuilder::new();
        let position = *self.start.position();
        let usual = Counters::default();
        let (clock, number) = self.start.counters();
        let counters = Counters {
            halfmove_clock: clock.unwrap_or(usual.halfmove_clock),
            fullmove_number: number.unwrap_or(usual.fullmove_number),
        };
        let start = Start { position, counters };
        if start != Start::ARRAY {
            let Counters { halfmove_clock, fullmove_number } = counters;
            game.set_tag("SetUp", "1")?;
            game.set_tag("FEN", &format!("{position} {halfmove_clock} {fullmove_number}"))?;
        }
        game.set_start(start);
        self.played.iter().try_for_each(|(mv, _)| game.play(*mv))?;
        game.finish()
    }

    /// The current position in a form that can be entered: the first position, and the moves from
    /// it.
    pub fn question(&self) -> String {
        let mut text = self.start.position().to_string();
        if self.at > 0 {
            text += " moves";
        }
        for (mv, _) in &self.played[..self.at] {
            text += &format!(" {mv}");
        }
        text
    }

    fn nth(&self, moves: usize) -> &EpdRecord {
        let before = moves.checked_sub(1);
        before.and_then(|before| self.played.get(before)).map_or(&self.start, |(_, record)| record)
    }
}

/// The reason why a command failed. The session has not changed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KitError {
    /// A control character, at a byte of the line from 1.
    #[error("a control character; a command is one line of text")]
    ControlCharacter(usize),
    /// The first word is not a command, and the line cannot be read as moves. The [`Verb`] is the command
    /// with a similar name, if any.
    #[error("error[{}]: {}; nor is it a command{}", .0.code, .0.message, advice(*.1))]
    Unknown(Diagnostic, Option<Verb>),
    /// A word is not a move of the position.
    #[error("error[{}]: {}", .0.code, .0.message)]
    Move(Diagnostic),
    /// The text is not a position.
    #[error("error[{}]: {}", .0.code, .0.message)]
    Position(Diagnostic),
    /// A command lacks an operand, or has one too many.
    #[error("expected `{}`", .0.usage())]
    Operands(Verb),
    /// An operation cannot be set or removed.
    #[error("{0}")]
    Operation(String),
    /// A command takes back, or plays again, more moves than possible. The value is the number of possible
    /// moves.
    #[error("there are only {0} moves to go")]
    End(usize),
    /// The line would exceed the maximum number of moves.
    #[error("a line has at most {0} moves; `svfe` begins another one")]
    Full(usize),
}

impl KitError {
    /// The place of the error: the number of its byte in the line, from 1. `None` if the error has
    /// no place.
    pub const fn column(&self) -> Option<usize> {
        match self {
            KitError::ControlCharacter(column) => Some(*column),
            KitError::Unknown(found, _) | KitError::Move(found) | KitError::Position(found) => {
                Some(found.column)
            }
            _ => None,
        }
    }

    /// The same error for a line in which `bytes` bytes precede the text. The column of the error
    /// grows by this number.
    pub(super) fn behind(mut self, bytes: usize) -> KitError {
        if let KitError::Unknown(found, _) | KitError::Move(found) | KitError::Position(found) =
            &mut self
        {
            found.column += bytes;
        }
        self
    }
}

/// The suggestion for an unknown command.
fn advice(near: Option<Verb>) -> String {
    match near {
        Some(verb) => format!("; is it `{}`?", verb.name()),
        None => " (`help` lists them)".into(),
    }
}
