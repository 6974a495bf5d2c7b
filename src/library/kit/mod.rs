//! The command processor of the SAN Kit. A line is a command, a FEN or moves. It sets a position,
//! plays moves, takes them back, or changes the current record.
//!
//! The processor does no input or output itself: a command returns a [`Reply`]. A command that
//! needs files or other programs is returned to the caller.
//!
//! ```
//! use epdb_library::kit::{Reply, Session};
//! let mut session = Session::new();
//! for line in ["1. e4 c5 2. Nf3", "back", "set c0 to be continued", "# a comment"] {
//!     session.run(line)?;
//! }
//! assert!(session.run("Ke5").is_err(), "an error changes nothing");
//! let record = b"rnbqkbnr/pp1ppppp/8/2p5/4P3/8/PPPP1PPP/RNBQKBNR w KQkq c6 \
//!     c0 \"to be continued\"; fmvn 2; hmvc 0;";
//! assert_eq!(session.run("epd")?, Reply::Text(record.to_vec()));
//! # Ok::<(), epdb_library::kit::KitError>(())
//! ```

mod line;
mod verb;

pub use line::{KitError, Line};
pub use verb::Verb;

use std::str::FromStr;

use crate::edit::{Edit, Setting};
use crate::field::parse_opcode;
use epdb_chess::codec::ordinal;
use epdb_chess::model::registers::Registers;
use epdb_chess::model::rules::Playable;
use epdb_chess::model::{Color, Counters, EpdRecord, Position, StandardOpcode};
use epdb_chess::text::{
    CounterForm, Diagnostic, Format, FormatOptions, ParseOptions, Profile, codes, epd, parse_moves,
    san,
};

/// The output of a command.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reply {
    /// No output.
    Done,
    /// The session has another position, or shows the same position from the other side. The list
    /// has warnings.
    Position(Vec<Diagnostic>),
    /// The board.
    Board,
    /// Lines of text; the last one has no line end.
    Text(Vec<u8>),
    /// A request for another record of the sources.
    Go(Step),
    /// A command that the caller must run, with its operands, because the command needs files, a terminal or
    /// other programs.
    Outside(Verb, String),
}

impl Reply {
    /// The reply that shows another position, without warnings.
    const POSITION: Reply = Reply::Position(Vec::new());

    /// The same reply for a line in which `bytes` bytes precede the text: the columns of its
    /// warnings grow by this number.
    fn behind(mut self, bytes: usize) -> Reply {
        if let Reply::Position(warnings) = &mut self {
            warnings.iter_mut().for_each(|warning| warning.column += bytes);
        }
        self
    }
}

/// A record of the sources, by its distance from the current one or by its number.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Step {
    /// The n-th record after the current one.
    On(u64),
    /// The n-th record before the current one.
    Back(u64),
    /// The record with this number, counted from 1 over all sources.
    To(u64),
}

/// The position on the board with its record, the moves played, and the side at the bottom of the
/// board. A command that fails changes nothing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Session {
    line: Line,
    /// The registers before the first record of the line.
    before: Registers,
    bottom: Color,
}

impl Default for Session {
    fn default() -> Session {
        Session::new()
    }
}

impl Session {
    /// The start array, from White's side.
    pub fn new() -> Session {
        let line = Line::new(start_array());
        let before = Registers::default();
        Session { line, before, bottom: Color::White }
    }

    /// The moves played, and their records.
    pub const fn line(&self) -> &Line {
        &self.line
    }

    /// The current record.
    pub fn record(&self) -> &EpdRecord {
        self.line.record()
    }

    /// The position on the board.
    pub fn position(&self) -> &Position {
        self.record().position()
    }

    /// The side at the bottom of the board.
    pub const fn bottom(&self) -> Color {
        self.bottom
    }

    /// Starts a new line of moves with a record. `before` are the values of the registers before
    /// this record.
    pub fn set_record(&mut self, record: EpdRecord, before: Registers) {
        self.line = Line::new(record);
        self.before = before;
    }

    /// The registers after the current record.
    pub fn registers(&self) -> Registers {
        let mut registers = self.before.clone();
        self.line.records_so_far().for_each(|record| registers.apply(record));
        registers
    }

    /// Executes a line: a command with its operands, a FEN, or moves. Blank lines and comments, which
    /// begin with `#`, do nothing.
    ///
    /// # Errors
    /// The reason why the command failed; nothing has changed then.
    pub fn run(&mut self, line: &str) -> Result<Reply, KitError> {
        if let Some(place) = line.find(|letter: char| letter.is_control() && letter != '\t') {
            return Err(KitError::ControlCharacter(place + 1));
        }
        let text = line.trim_start();
        if text.is_empty() || text.starts_with('#') {
            return Ok(Reply::Done);
        }
        let (word, operands) = text.split_once([' ', '\t']).unwrap_or((text, ""));
        let operands = operands.trim_start();
        let (read, reply) = match Verb::named(word) {
            Some(verb) => (operands, self.obey(verb, operands.trim_end())),
            None if is_placement(word) => (text, self.set_position(text.trim_end())),
            None => (text, self.play_only(word, text)),
        };
        let before = line.len() - read.len();
        reply.map(|reply| reply.behind(before)).map_err(|error| error.behind(before))
    }

    fn obey(&mut self, verb: Verb, operands: &str) -> Result<Reply, KitError> {
        let takes_none = verb.operands().is_empty();
        let needs_some = !takes_none && !verb.operands().starts_with('[');
        if takes_none && !operands.is_empty() || needs_some && operands.is_empty() {
            return Err(KitError::Operands(verb));
        }
        match verb {
            Verb::Svfe => self.set_position(operands),
            Verb::New => {
                self.set_record(start_array(), Registers::default());
                Ok(Reply::POSITION)
            }
            Verb::Flip => {
                self.bottom = !self.bottom;
                Ok(Reply::POSITION)
            }
            Verb::Move => self.line.play(operands.as_bytes()).map(|()| Reply::POSITION),
            Verb::Back => self.line.back(count(verb, operands)?).map(|()| Reply::POSITION),
            Verb::Forward => self.line.forward(count(verb, operands)?).map(|()| Reply::POSITION),
            Verb::Start => {
                self.line.go_to_start();
                Ok(Reply::POSITION)
            }
            Verb::Set => self.set(operands),
            Verb::Remove => self.remove(operands),
            Verb::Board => Ok(Reply::Board),
            Verb::Dvfe => Ok(Reply::Text(formatted(
                self.record(),
                &FormatOptions { format: Format::Fen, ..Default::default() },
            ))),
            Verb::Record => {
                let four_fields =
                    FormatOptions { counters: CounterForm::Ops, ..Default::default() };
                Ok(Reply::Text(formatted(self.record(), &four_fields)))
            }
            Verb::Registers => Ok(Reply::Text(shown_registers(&self.registers()))),
            Verb::Next => Ok(Reply::Go(Step::On(count(verb, operands)?))),
            Verb::Previous => Ok(Reply::Go(Step::Back(count(verb, operands)?))),
            Verb::Goto => Ok(Reply::Go(Step::To(count(verb, operands)?))),
            _ => Ok(Reply::Outside(verb, operands.to_string())),
        }
    }

    fn set_position(&mut self, text: &str) -> Result<Reply, KitError> {
        let mut warnings = Vec::new();
        let read = epd::parse_line(text.as_bytes(), &ParseOptions::default(), &mut warnings);
        match read.map_err(KitError::Position)? {
            epd::Line::Record(record) => {
                if Playable::new(record.position()).is_err() {
                    let illegal = warnings.iter_mut().filter(|it| it.code == codes::W_POS_ILLEGAL);
                    illegal.for_each(|it| it.message += NO_MOVES);
                }
                self.set_record(record, Registers::default());
                Ok(Reply::Position(warnings))
            }
            _ => Err(KitError::Operands(Verb::Svfe)),
        }
    }

    /// Plays the moves of a line that does not begin with a command.
    fn play_only(&mut self, word: &str, text: &str) -> Result<Reply, KitError> {
        let unknown = |found| KitError::Unknown(found, Verb::nearest(word));
        let moves = self.line.read(text.as_bytes()).map_err(unknown)?;
        self.line.make(&moves).map(|()| Reply::POSITION)
    }

    fn set(&mut self, operands: &str) -> Result<Reply, KitError> {
        let (opcode, operands) = operands.split_once([' ', '\t']).unwrap_or((operands, ""));
        let setting = Setting::parse(&format!("{opcode}={operands}"));
        let settings = vec![setting.map_err(KitError::Operation)?];
        self.edit(&Edit { settings, ..Edit::default() })
    }

    fn remove(&mut self, operands: &str) -> Result<Reply, KitError> {
        let mut drop = Vec::new();
        for name in operands.split_whitespace() {
            let opcode = parse_opcode(name).map_err(KitError::Operation)?;
            if self.record().with_counter_operations().operands(opcode).is_none() {
                return Err(KitError::Operation(format!("the record has no `{opcode}`")));
            }
            drop.push(opcode);
        }
        self.edit(&Edit { drop, ..Edit::default() })
    }

    fn edit(&mut self, edit: &Edit) -> Result<Reply, KitError> {
        let edited = edit.apply(self.record(), 0).map_err(KitError::Operation)?;
        self.line.edit(edited);
        Ok(Reply::Done)
    }
}

/// Whether a word is meant as the first field of a FEN, and not as a move or a result. The field
/// need not be valid.
fn is_placement(word: &str) -> bool {
    word.matches('/').count() > 2
}

/// The end of the warning about an illegal position from which no moves can be played.
const NO_MOVES: &str = "; it is set, but no moves can be played from it";

/// The first record of a session, with counters.
fn start_array() -> EpdRecord {
    let mut record = EpdRecord::new(Position::START);
    record.set_fen_counters(Some(Counters::default()));
    record
}

/// A number of moves or records; 1 by default.
fn count<N: FromStr>(verb: Verb, operands: &str) -> Result<N, KitError> {
    let text = if operands.is_empty() { "1" } else { operands };
    text.parse().map_err(|_| KitError::Operands(verb))
}

fn formatted(record: &EpdRecord, options: &FormatOptions) -> Vec<u8> {
    let mut text = Vec::new();
    epd::format(record, options, &mut text);
    text
}

/// The registers that are set, as operations.
fn shown_registers(registers: &Registers) -> Vec<u8> {
    let mut text = Vec::new();
    for operation in registers.operations() {
        if !text.is_empty() {
            text.push(b' ');
        }
        operation.write_to(&mut text);
    }
    if text.is_empty() {
        text.extend_from_slice(b"all registers are null");
    }
    text
}

/// Completions of a line.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Completion {
    /// Replacements of the word that begins at a byte of the line.
    Words {
        /// Start of the word.
        start: usize,
        /// The complete words, in order.
        words: Vec<String>,
    },
    /// Names of files.
    Files,
}

/// Returns the completions of the start of a line: commands and legal moves, opcodes, topics of
/// help, or files.
///
/// ```
/// use epdb_library::kit::{Completion, Session, complete};
/// let session = Session::new();
/// let words = |line: &str| match complete(&session, line) {
///     Completion::Words { words, .. } => words.join(" "),
///     _ => "files".into(),
/// };
/// assert_eq!(words("N"), "Na3 Nc3 Nf3 Nh3");
/// assert_eq!(words("e4 d"), "d5 d6 d7d5 d7d6");
/// assert_eq!(words("pre"), "previous");
/// assert_eq!(words("open su"), "files");
/// ```
pub fn complete(session: &Session, line: &str) -> Completion {
    let start = line.rfind([' ', '\t']).map_or(0, |blank| blank + 1);
    let (before, begun) = line.split_at(start);
    let (first, behind) = before.trim_start().split_once([' ', '\t']).unwrap_or_default();
    let mut words = match Verb::named(first) {
        None if first.is_empty() => [names(), moves(session.position(), "")].concat(),
        None => moves(session.position(), before),
        Some(Verb::Move) => moves(session.position(), behind),
        Some(Verb::Set) if behind.trim().is_empty() => opcodes(),
        Some(Verb::Remove) => set_opcodes(session),
        Some(Verb::Help) => names(),
        Some(verb) if takes_files(verb) => return Completion::Files,
        Some(_) => Vec::new(),
    };
    words.retain(|word| word.starts_with(begun));
    Completion::Words { start, words }
}

const fn takes_files(verb: Verb) -> bool {
    matches!(
        verb,
        Verb::Write
            | Verb::Save
            | Verb::Open
            | Verb::Get
            | Verb::Explore
            | Verb::Parents
            | Verb::Games
            | Verb::Tfgg
    )
}

fn names() -> Vec<String> {
    Verb::all().map(|verb| verb.name().to_string()).collect()
}

/// The legal moves after the moves in `played`: first all of them in SAN, then all in coordinates.
fn moves(start: &Position, played: &str) -> Vec<String> {
    let Ok(played) = parse_moves(start, played.as_bytes(), Profile::Lenient) else {
        return Vec::new();
    };
    let Ok(mut playable) = Playable::new(start) else { return Vec::new() };
    for mv in played {
        playable = playable.after(mv);
    }
    let legal = ordinal::list(&playable);
    let sans = legal.iter().map(|mv| san::format(&playable, *mv).to_string());
    sans.chain(legal.iter().map(|mv| san::uci(&playable, *mv).to_string())).collect()
}

fn opcodes() -> Vec<String> {
    StandardOpcode::ALL.iter().map(|entry| entry.opcode.to_string()).collect()
}

fn set_opcodes(session: &Session) -> Vec<String> {
    let record = session.record().with_counter_operations();
    record.operations().iter().map(|operation| operation.opcode.to_string()).collect()
}
