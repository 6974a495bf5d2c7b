//! Messages of the referee.

use super::clocks::{TimeLeft, UsedTime};
use super::framing::{read_record, record_line};
use super::operations::WireError;
use super::operations::{
    has, is_ready, moves, put, put_flag, put_integer, put_line, put_ready, said, string,
    supplied_move, text,
};
use epdb_chess::model::rules::Move;
use epdb_chess::model::{EpdRecord, Opcode, Operand, Position};
use epdb_chess::text::codes;

/// Commands to a client.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum Command {
    /// The game is over; the position is the last one of the game.
    Conclude,
    /// The referee ends: close the channel.
    Disconnect,
    /// Set the position, make the moves of `history` or the move `mv`, and wait.
    Execute,
    /// Something was wrong with the client's messages; `reason` says what.
    Fault,
    /// Take the tags.
    Inform,
    /// Forget the game and get ready for a new one.
    Reset,
    /// Set the position, make the move if there is one, and answer with a move.
    Respond,
}

impl Command {
    const ALL: [(Command, &'static str); 7] = [
        (Command::Conclude, "conclude"),
        (Command::Disconnect, "disconnect"),
        (Command::Execute, "execute"),
        (Command::Fault, "fault"),
        (Command::Inform, "inform"),
        (Command::Reset, "reset"),
        (Command::Respond, "respond"),
    ];

    /// The operand of `refcom`.
    pub const fn word(self) -> &'static str {
        Command::ALL[self as usize].1
    }
}

/// A message of the referee: a record with `refcom`.
///
/// ```
/// use epdb_chess::model::Position;
/// use epdb_referee::wire::{Command, Directive};
/// let directive = Directive::new(Command::Respond, Position::START);
/// assert!(directive.line().ends_with(b"w KQkq - refcom respond;"));
/// assert_eq!(Directive::parse(&directive.line())?, directive);
/// # Ok::<(), epdb_referee::wire::WireError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Directive {
    /// The command.
    pub command: Command,
    /// The position before the move and the moves of `history`.
    pub position: Position,
    /// `hmvc`: the halfmove clock in that position.
    pub halfmove_clock: Option<u32>,
    /// `fmvn`: the fullmove number in that position.
    pub fullmove_number: Option<u32>,
    /// `sm`: the move that was made in that position.
    pub mv: Option<Move>,
    /// `sv`: the moves of the game from `position` on; the first of them is `mv`.
    pub history: Vec<Move>,
    /// `draw_offer`: the opponent offered a draw with the move.
    pub draw_offer: bool,
    /// `draw_reject`: the draw that the client offered or claimed is refused, and its move stands.
    pub draw_reject: bool,
    /// `cc`: the time that both sides have used.
    pub used: Option<UsedTime>,
    /// The time that both sides have left.
    pub left: TimeLeft,
    /// `ready`: the referee waits until the client says that it is ready.
    pub ready: bool,
    /// `ptp`: tags of the game.
    pub tags: Vec<(String, String)>,
    /// `c0`: the reason for the fault.
    pub reason: Option<String>,
}

impl Directive {
    /// A message with a command and a position, and nothing else.
    pub fn new(command: Command, position: Position) -> Directive {
        Directive {
            command,
            position,
            halfmove_clock: None,
            fullmove_number: None,
            mv: None,
            history: Vec::new(),
            draw_offer: false,
            draw_reject: false,
            used: None,
            left: TimeLeft::default(),
            ready: false,
            tags: Vec::new(),
            reason: None,
        }
    }

    /// Reads a line.
    ///
    /// # Errors
    /// The line is not a record, its opcodes contradict each other, or it is not a message of a referee.
    pub fn parse(line: &[u8]) -> Result<Directive, WireError> {
        Directive::from_record(&read_record(line)?)
    }

    /// Reads the message from a record.
    ///
    /// # Errors
    /// `E-REF-NOREFCOM` without `refcom`, `E-EPD-TYPE` for an operand of the wrong type,
    /// `E-REF-EXTRA-SM` for an unexpected move.
    pub fn from_record(record: &EpdRecord) -> Result<Directive, WireError> {
        let command = command_of(record)?;
        let mv = supplied_move(record)?;
        if mv.is_some() && matches!(command, Command::Conclude | Command::Disconnect) {
            let message = format!("sm beside {}, which has no move", command.word());
            return Err(WireError::new(codes::E_REF_EXTRA_SM, message));
        }
        let (halfmove_clock, fullmove_number) = record.counters();
        Ok(Directive {
            command,
            position: *record.position(),
            halfmove_clock,
            fullmove_number,
            mv,
            history: moves(record, Opcode::SV),
            draw_offer: has(record, Opcode::DRAW_OFFER),
            draw_reject: has(record, Opcode::DRAW_REJECT),
            used: UsedTime::read(record),
            left: TimeLeft::read(record),
            ready: is_ready(record),
            tags: tags(record),
            reason: text(record, Opcode::C0),
        })
    }

    /// The message as a record.
    pub fn record(&self) -> EpdRecord {
        let mut record = EpdRecord::new(self.position);
        put(&mut record, Opcode::REFCOM, vec![Operand::token(self.command.word())]);
        put_integer(&mut record, Opcode::HMVC, self.halfmove_clock);
        put_integer(&mut record, Opcode::FMVN, self.fullmove_number);
        put_line(&mut record, Opcode::SM, self.mv.as_slice());
        put_line(&mut record, Opcode::SV, &self.history);
        put_flag(&mut record, Opcode::DRAW_OFFER, self.draw_offer);
        put_flag(&mut record, Opcode::DRAW_REJECT, self.draw_reject);
        if let Some(used) = self.used {
            used.write(&mut record);
        }
        self.left.write(&mut record);
        put_ready(&mut record, self.ready);
        if !self.tags.is_empty() {
            let pair =
                |(name, value): &(String, String)| [Operand::token(name.as_str()), string(value)];
            put(&mut record, Opcode::PTP, self.tags.iter().flat_map(pair).collect());
        }
        if let Some(reason) = &self.reason {
            put(&mut record, Opcode::C0, vec![string(reason)]);
        }
        record
    }

    /// The message as a line in canonical form, without its end.
    pub fn line(&self) -> Vec<u8> {
        record_line(&self.record())
    }
}

fn command_of(record: &EpdRecord) -> Result<Command, WireError> {
    let word = text(record, Opcode::REFCOM).ok_or_else(|| {
        WireError::new(codes::E_REF_NOREFCOM, "no refcom, which each message of a referee has")
    })?;
    let known = Command::ALL.into_iter().find(|(_, name)| *name == word);
    known.map(|(command, _)| command).ok_or_else(|| {
        WireError::new(codes::E_EPD_TYPE, format!("`refcom {word}` is no command of a referee"))
    })
}

fn tags(record: &EpdRecord) -> Vec<(String, String)> {
    let operands = record.operands(Opcode::PTP).unwrap_or_default();
    // Other names could not be written again, so their tags are dropped.
    let is_name = |name: &[u8]| {
        !name.is_empty() && name.iter().all(|it| it.is_ascii_alphanumeric() || *it == b'_')
    };
    let pair = |pair: &[Operand]| match pair {
        [name, value] if is_name(&name.text()) => Some((said(&name.text()), said(&value.text()))),
        _ => None,
    };
    operands.chunks(2).filter_map(pair).collect()
}
