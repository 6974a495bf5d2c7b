//! Messages of clients.

use super::framing::{read_record, record_line};
use super::operations::WireError;
use super::operations::{
    has, is_ready, moves, number, put, put_flag, put_integer, put_line, put_ready, said, string,
    supplied_move, text,
};
use epdb_chess::model::rules::Move;
use epdb_chess::model::{EpdRecord, Opcode, Operand, Position};
use epdb_chess::text::codes;

/// Draw offers and claims, with a move or instead of a move.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum DrawWord {
    /// `draw_offer`: a draw is offered with the move.
    Offer,
    /// `draw_claim`: a draw is claimed with the move, or by insufficient material.
    Claim,
    /// `draw_accept`: the opponent's offer is accepted.
    Accept,
    /// `draw_reject`: the opponent's offer, or a claim, is rejected.
    Reject,
}

impl DrawWord {
    const ALL: [(DrawWord, Opcode); 4] = [
        (DrawWord::Accept, Opcode::DRAW_ACCEPT),
        (DrawWord::Claim, Opcode::DRAW_CLAIM),
        (DrawWord::Offer, Opcode::DRAW_OFFER),
        (DrawWord::Reject, Opcode::DRAW_REJECT),
    ];

    pub(super) fn read(record: &EpdRecord) -> Option<DrawWord> {
        DrawWord::ALL.into_iter().find(|(_, opcode)| has(record, *opcode)).map(|(word, _)| word)
    }

    pub(super) fn write(word: Option<DrawWord>, record: &mut EpdRecord) {
        for (one, opcode) in DrawWord::ALL {
            put_flag(record, opcode, word == Some(one));
        }
    }
}

/// A client's report on the search for its move.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct SearchReport {
    /// `ce`: centipawns or the distance to a mate, from the view of the client.
    pub ce: Option<i32>,
    /// `acd`: the depth in plies.
    pub depth: Option<u32>,
    /// `acn`: the number of nodes that were searched.
    pub nodes: Option<u64>,
    /// `acs`: the time of the search in seconds.
    pub seconds: Option<u64>,
    /// `pv`: the line that is expected.
    pub line: Vec<Move>,
}

/// An answer to `respond`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reply {
    /// The position after the move that came with `respond`.
    pub position: Position,
    /// `sm`: the client's own move.
    pub mv: Option<Move>,
    /// A draw offer or claim.
    pub draw: Option<DrawWord>,
    /// `resign`: true if the client resigns.
    pub resigns: bool,
    /// The report on the search.
    pub search: SearchReport,
}

impl Reply {
    /// A reply with a move and nothing else.
    pub fn with_move(position: Position, mv: Move) -> Reply {
        let search = SearchReport::default();
        Reply { position, mv: Some(mv), draw: None, resigns: false, search }
    }

    fn write(&self, record: &mut EpdRecord) {
        put_line(record, Opcode::SM, self.mv.as_slice());
        DrawWord::write(self.draw, record);
        put_flag(record, Opcode::RESIGN, self.resigns);
        let SearchReport { ce, depth, nodes, seconds, line } = &self.search;
        put_integer(record, Opcode::CE, *ce);
        put_integer(record, Opcode::ACD, *depth);
        put_integer(record, Opcode::ACN, *nodes);
        put_integer(record, Opcode::ACS, *seconds);
        put_line(record, Opcode::PV, line);
    }

    fn read(record: &EpdRecord) -> Result<Reply, WireError> {
        Ok(Reply {
            position: *record.position(),
            mv: supplied_move(record)?,
            draw: DrawWord::read(record),
            resigns: has(record, Opcode::RESIGN),
            search: SearchReport {
                ce: number(record, Opcode::CE),
                depth: number(record, Opcode::ACD),
                nodes: number(record, Opcode::ACN),
                seconds: number(record, Opcode::ACS),
                line: moves(record, Opcode::PV),
            },
        })
    }
}

/// A message of a client: a record with `refreq`.
///
/// ```
/// use epdb_chess::model::Position;
/// use epdb_referee::wire::Request;
/// let request = Request::SignOn { address: "a@host".into(), name: "ProgA".into() };
/// let line = request.line();
/// assert!(line.ends_with(b"w KQkq - refreq sign_on; tcsi \"a@host\" \"ProgA\";"));
/// assert_eq!(Request::parse(&line)?, request);
/// # Ok::<(), epdb_referee::wire::WireError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Request {
    /// `sign_on`: the first message on a channel.
    SignOn {
        /// The address that the client reports.
        address: String,
        /// The name under which the client plays.
        name: String,
    },
    /// `reply`: the answer to `respond`.
    Reply(Reply),
    /// `reply` with `ready`: the client is ready for the game of which it was informed.
    Ready,
    /// `sign_off`: the last message on a channel.
    SignOff,
    /// `fault`: the client cannot go on.
    Fault {
        /// The reason that the client gives, in `c0`.
        reason: Option<String>,
    },
}

impl Request {
    /// Reads a line.
    ///
    /// # Errors
    /// The line is not a record, its opcodes contradict each other, or it is not a request.
    pub fn parse(line: &[u8]) -> Result<Request, WireError> {
        Request::from_record(&read_record(line)?)
    }

    /// Reads the request from a record.
    ///
    /// # Errors
    /// `E-REF-NOREFREQ` without `refreq`, `E-EPD-TYPE` for an operand of the wrong type,
    /// `E-EPD-ARITY` for a `sign_on` without `tcsi`.
    pub fn from_record(record: &EpdRecord) -> Result<Request, WireError> {
        let word = text(record, Opcode::REFREQ).ok_or_else(|| {
            WireError::new(codes::E_REF_NOREFREQ, "no refreq, which each message of a client has")
        })?;
        match word.as_str() {
            "sign_on" => Request::sign_on(record),
            "reply" if is_ready(record) => Ok(Request::Ready),
            "reply" => Reply::read(record).map(Request::Reply),
            "sign_off" => Ok(Request::SignOff),
            "fault" => Ok(Request::Fault { reason: text(record, Opcode::C0) }),
            other => {
                Err(WireError::new(codes::E_EPD_TYPE, format!("`refreq {other}` is no request")))
            }
        }
    }

    fn sign_on(record: &EpdRecord) -> Result<Request, WireError> {
        match record.operands(Opcode::TCSI) {
            Some([address, name]) => {
                Ok(Request::SignOn { address: said(&address.text()), name: said(&name.text()) })
            }
            _ => Err(WireError::new(
                codes::E_EPD_ARITY,
                "a sign_on without tcsi, which says address and name",
            )),
        }
    }

    /// The request as a record. Requests that are not about a position have the start array.
    pub fn record(&self) -> EpdRecord {
        let position = match self {
            Request::Reply(reply) => reply.position,
            _ => Position::START,
        };
        let mut record = EpdRecord::new(position);
        let word = match self {
            Request::SignOn { address, name } => {
                put(&mut record, Opcode::TCSI, vec![string(address), string(name)]);
                "sign_on"
            }
            Request::Reply(reply) => {
                reply.write(&mut record);
                "reply"
            }
            Request::Ready => {
                put_ready(&mut record, true);
                "reply"
            }
            Request::SignOff => "sign_off",
            Request::Fault { reason } => {
                if let Some(reason) = reason {
                    put(&mut record, Opcode::C0, vec![string(reason)]);
                }
                "fault"
            }
        };
        put(&mut record, Opcode::REFREQ, vec![Operand::token(word)]);
        record
    }

    /// The request as a line in canonical form, without its end.
    pub fn line(&self) -> Vec<u8> {
        record_line(&self.record())
    }

    /// The line of [`Request::line`] with `ready`. In a `sign_on` it asks the referee to wait for
    /// the client before each game.
    pub(crate) fn line_with_ready(&self) -> Vec<u8> {
        let mut record = self.record();
        put_ready(&mut record, true);
        record_line(&record)
    }

    pub(crate) fn has_ready(line: &[u8]) -> bool {
        read_record(line).is_ok_and(|record| is_ready(&record))
    }
}
