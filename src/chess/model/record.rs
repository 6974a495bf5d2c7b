//! EPD records: a position and its operations.

use super::game::GameResult;
use super::opcode::{Opcode, Operands};
use super::position::{Position, is_outermost};
use super::rules::{Legality, Move, Playable, is_zeroing, legality};
use super::san::San;
use super::square::Color;
use super::tally::Tally;
use super::typed::TypedOperand;

/// One operand of an operation.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Operand {
    /// A legal move of the record's position (or of the line so far), with its canonical SAN.
    Move {
        /// The move.
        mv: Move,
        /// The canonical SAN of the move, check and mate marks included.
        san: San,
    },
    /// The operand of a standard opcode that takes an integer, from `i64::MIN` to `u64::MAX`.
    Integer(i128),
    /// A quoted string: the bytes between the quotes. No byte is a quote or a control byte. A
    /// [`TypedOperand`] is such a string too.
    Str(Box<[u8]>),
    /// Results of the games that reached the position; in text a quoted string.
    Tally(Box<Tally>),
    /// Any unquoted operand, as written in the text: identifiers, dates, clocks, operands of
    /// unknown opcodes, and moves that are not legal. It is not empty, and has printing ASCII
    /// characters without blanks, `;` and quotes.
    Token(Box<[u8]>),
}

impl Operand {
    /// A string operand.
    pub fn string(bytes: impl Into<Vec<u8>>) -> Operand {
        Operand::Str(bytes.into().into_boxed_slice())
    }

    /// A typed operand, as the string that represents it.
    pub fn typed(operand: &TypedOperand) -> Operand {
        Operand::string(operand.to_text())
    }

    /// The operand of `tally`.
    pub fn tally(tally: Tally) -> Operand {
        Operand::Tally(Box::new(tally))
    }

    /// The typed operand that the string represents; `None` if the operand is not a typed one.
    ///
    /// ```
    /// use epdb_chess::model::{Operand, TypedOperand};
    /// let operand = TypedOperand::new(32_768, *b"any bytes").expect("a number other than 0");
    /// assert_eq!(Operand::typed(&operand).as_typed(), Some(operand));
    /// assert_eq!(Operand::string("a string").as_typed(), None);
    /// ```
    pub fn as_typed(&self) -> Option<TypedOperand> {
        match self {
            Operand::Str(text) => TypedOperand::from_text(text),
            _ => None,
        }
    }

    /// An unquoted operand.
    pub fn token(bytes: impl Into<Vec<u8>>) -> Operand {
        Operand::Token(bytes.into().into_boxed_slice())
    }

    /// Appends the operand as EPD text, quotes of a string included.
    pub fn write_to(&self, out: &mut Vec<u8>) {
        match self {
            Operand::Move { san, .. } => out.extend_from_slice(san.as_bytes()),
            Operand::Integer(value) => out.extend_from_slice(value.to_string().as_bytes()),
            Operand::Token(bytes) => out.extend_from_slice(bytes),
            Operand::Str(_) | Operand::Tally(_) => {
                out.push(b'"');
                self.write_text(out);
                out.push(b'"');
            }
        }
    }

    /// The operand as text, without the quotes of a string.
    pub fn text(&self) -> Vec<u8> {
        let mut text = Vec::new();
        self.write_text(&mut text);
        text
    }

    /// Appends [`Operand::text`].
    pub fn write_text(&self, out: &mut Vec<u8>) {
        match self {
            Operand::Str(bytes) => out.extend_from_slice(bytes),
            Operand::Tally(tally) => out.extend_from_slice(&tally.to_text()),
            other => other.write_to(out),
        }
    }
}

impl Tally {
    /// The tally in the operands of an operation `tally`; `None` if they are something else.
    pub fn from_operands(operands: &[Operand]) -> Option<&Tally> {
        match operands {
            [Operand::Tally(tally)] => Some(tally),
            _ => None,
        }
    }
}

/// An opcode with its operands.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Operation {
    /// The opcode.
    pub opcode: Opcode,
    /// The operands, in the order of the canonical form.
    pub operands: Vec<Operand>,
}

impl Operation {
    /// Appends the operation as EPD text, semicolon included.
    pub fn write_to(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.opcode.as_bytes());
        for operand in &self.operands {
            out.push(b' ');
            operand.write_to(out);
        }
        out.push(b';');
    }

    /// If the operands are a set of moves, sorts them and removes repeated moves.
    pub fn settle(&mut self) {
        if self.operands.len() > 1
            && let Some(entry) = self.opcode.standard()
            && entry.operands == Operands::MoveSet
        {
            self.operands.sort_by_cached_key(Operand::text);
            self.operands.dedup_by_key(|operand| operand.text());
        }
    }
}

/// The kind of letters in a record's castling field.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug, Default)]
pub enum CastlingDialect {
    /// The letters `KQkq`, and file letters only for inner rooks, as in FEN and X-FEN. A field `-`
    /// also has this dialect.
    #[default]
    XFen,
    /// The file letters of all rooks: Shredder-FEN.
    Shredder,
}

/// The two counters of a FEN record.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct Counters {
    /// Halfmove clock: plies since the last pawn move or capture.
    pub halfmove_clock: u32,
    /// Fullmove number, at least 1.
    pub fullmove_number: u32,
}

impl Default for Counters {
    /// The counters `0 1`, which are written in FEN for a record without counters.
    fn default() -> Counters {
        Counters { halfmove_clock: 0, fullmove_number: 1 }
    }
}

/// One EPD or FEN record.
///
/// The operations are in ASCII order of their opcodes, each opcode at most once. Counters that were
/// written as FEN fields 5 and 6 are kept as fields only in a record without operations. In other
/// records they are the operations `hmvc` and `fmvn`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct EpdRecord {
    position: Position,
    dialect: CastlingDialect,
    counters: Option<Counters>,
    operations: Vec<Operation>,
}

impl EpdRecord {
    /// A record of a position, without counters and operations.
    pub const fn new(position: Position) -> EpdRecord {
        EpdRecord {
            position,
            dialect: CastlingDialect::XFen,
            counters: None,
            operations: Vec::new(),
        }
    }

    /// The position.
    pub const fn position(&self) -> &Position {
        &self.position
    }

    /// The kind of letters in the castling field.
    pub const fn dialect(&self) -> CastlingDialect {
        self.dialect
    }

    /// Sets the kind of letters in the castling field. If both dialects write the same field (no
    /// right, or inner rooks only), the dialect is always [`CastlingDialect::XFen`].
    pub fn set_dialect(&mut self, dialect: CastlingDialect) {
        let board = self.position.board();
        let castling = self.position.castling();
        let mut rights = castling.iter();
        let differs = rights.any(|(color, side, file)| is_outermost(board, color, side, file));
        self.dialect = if differs { dialect } else { CastlingDialect::XFen };
    }

    /// The counters in FEN fields 5 and 6; `None` if the record does not have these fields.
    pub const fn fen_counters(&self) -> Option<Counters> {
        self.counters
    }

    /// Sets the FEN fields 5 and 6, or removes them. In a record with operations, counters are
    /// operations instead of fields: they become `hmvc` and `fmvn`.
    pub fn set_fen_counters(&mut self, counters: Option<Counters>) {
        self.counters = counters;
        self.move_counters_to_operations();
    }

    /// The operations, in ASCII order of their opcodes.
    pub fn operations(&self) -> &[Operation] {
        &self.operations
    }

    /// The operands of an opcode; `None` when the record has no such operation.
    pub fn operands(&self, opcode: Opcode) -> Option<&[Operand]> {
        let place = self.find(opcode).ok()?;
        self.operations.get(place).map(|operation| operation.operands.as_slice())
    }

    /// The first operand of an opcode as text, without quotes.
    ///
    /// ```
    /// use epdb_chess::model::Opcode;
    /// let record = epdb_chess::parse_epd(b"4k3/8/8/8/8/8/4P3/4K3 w - - id \"E.01\"; fmvn 39;")?;
    /// assert_eq!(record.text_of(Opcode::ID), Some(b"E.01".to_vec()));
    /// assert_eq!(record.text_of(Opcode::CE), None);
    /// # Ok::<(), epdb_chess::text::Diagnostic>(())
    /// ```
    pub fn text_of(&self, opcode: Opcode) -> Option<Vec<u8>> {
        self.operands(opcode)?.first().map(Operand::text)
    }

    /// The value of a tag in `ptp`.
    pub fn tag(&self, name: &str) -> Option<&[u8]> {
        let operands = self.operands(Opcode::PTP)?;
        operands.chunks_exact(2).find_map(|pair| match pair {
            [Operand::Token(key), Operand::Str(value)] if **key == *name.as_bytes() => {
                Some(&**value)
            }
            _ => None,
        })
    }

    /// The result of the game from which the position comes. It is the first result in these
    /// operands: `c9` (where labels of training files are kept), the tag `Result` in `ptp`, and the
    /// comment registers in order.
    ///
    /// ```
    /// use epdb_chess::model::GameResult;
    /// let record = epdb_chess::parse_epd(b"8/8/8/4k3/8/1K6/8/8 b - - c9 \"1/2-1/2\";")?;
    /// assert_eq!(record.game_result(), Some(GameResult::Draw));
    /// # Ok::<(), epdb_chess::text::Diagnostic>(())
    /// ```
    pub fn game_result(&self) -> Option<GameResult> {
        let known = |text: &[u8]| {
            GameResult::from_text(text).filter(|result| *result != GameResult::Unknown)
        };
        let known_in = |operands: &[Operand]| match operands.first()? {
            Operand::Str(text) => known(text),
            other => known(&other.text()),
        };
        let registers = Opcode::C0..=Opcode::C9;
        let mut comments = self.operations.iter().filter(|it| registers.contains(&it.opcode));
        known_in(self.operands(Opcode::C9).unwrap_or_default())
            .or_else(|| known(self.tag("Result")?))
            .or_else(|| comments.find_map(|comment| known_in(&comment.operands)))
    }

    /// The value of an integer operation such as `ce` or `acn`.
    pub fn integer(&self, opcode: Opcode) -> Option<i128> {
        match self.operands(opcode)?.first()? {
            Operand::Integer(value) => Some(*value),
            _ => None,
        }
    }

    /// Inserts an operation, and returns the operation of the same opcode that it replaced. A set
    /// of moves is sorted and repeated moves are removed. Operands are not checked against the
    /// opcode; [`crate::text::epd`] does that.
    pub fn set(&mut self, mut operation: Operation) -> Option<Operation> {
        operation.settle();
        let old = match self.find(operation.opcode) {
            Ok(place) => Some(std::mem::replace(&mut self.operations[place], operation)),
            Err(place) => {
                self.operations.insert(place, operation);
                None
            }
        };
        self.move_counters_to_operations();
        old
    }

    /// Returns the operations and drops the rest of the record.
    pub fn into_operations(self) -> Vec<Operation> {
        self.operations
    }

    /// Replaces all operations of the record by operations whose sets of moves are sorted
    /// ([`Operation::settle`]). Of several operations with the same opcode, the first stays.
    pub fn with_operations(mut self, mut operations: Vec<Operation>) -> EpdRecord {
        operations.sort_by_key(|operation| operation.opcode);
        operations.dedup_by_key(|operation| operation.opcode);
        self.operations = operations;
        self.move_counters_to_operations();
        self
    }

    /// The same record with the operands of `noop` and of non-standard opcodes in ASCII order,
    /// because the order of these operands has no meaning. A numbered line of moves, such as `pv2`,
    /// keeps its order.
    #[must_use]
    pub fn with_operands_in_order(mut self) -> EpdRecord {
        for Operation { opcode, operands } in &mut self.operations {
            if *opcode == Opcode::NOOP || opcode.standard().is_none() && !opcode.is_line() {
                operands.sort_by_cached_key(|operand| {
                    let mut text = Vec::new();
                    operand.write_to(&mut text);
                    text
                });
            }
        }
        self
    }

    /// Removes an operation and returns it.
    pub fn remove(&mut self, opcode: Opcode) -> Option<Operation> {
        let place = self.find(opcode).ok()?;
        Some(self.operations.remove(place))
    }

    /// The halfmove clock and the fullmove number, from FEN fields or operations. A value is `None`
    /// if it is missing, or too large for a FEN field.
    pub fn counters(&self) -> (Option<u32>, Option<u32>) {
        let operation = |opcode| self.integer(opcode).and_then(|value| u32::try_from(value).ok());
        match self.counters {
            Some(counters) => (Some(counters.halfmove_clock), Some(counters.fullmove_number)),
            None => (operation(Opcode::HMVC), operation(Opcode::FMVN)),
        }
    }

    /// The same record, but counters in FEN fields become the operations `hmvc` and `fmvn`.
    pub fn with_counter_operations(&self) -> EpdRecord {
        let mut record = self.clone();
        if let Some(counters) = record.counters.take() {
            record.set_counter_operations(counters);
        }
        record
    }

    /// Replaces the en passant square of the position; `None` for `-`.
    ///
    /// # Errors
    /// [`super::PositionError`] when the rank of the square does not fit the side to move.
    pub fn set_en_passant(
        &mut self,
        square: Option<super::Square>,
    ) -> Result<(), super::PositionError> {
        self.position = self.position.with_en_passant(square)?;
        Ok(())
    }

    /// All reasons why the position is illegal, or the halfmove clock contradicts it.
    pub fn legality(&self) -> Legality {
        let mut flags = legality(&self.position);
        let (halfmove_clock, _) = self.counters();
        let clock_runs = halfmove_clock.is_some_and(|clock| clock != 0);
        let has_square = self.position.en_passant().is_some();
        flags.set_if(clock_runs && has_square, Legality::CLOCK_BESIDE_EP);
        flags
    }

    /// The record of the position after a legal move; `None` if the move is not legal here, or the
    /// position is not playable. Counters are updated: FEN fields stay fields, operations stay
    /// operations. The other operations are dropped, because they belong to the old position.
    ///
    /// ```
    /// use epdb_chess::model::rules::Playable;
    /// use epdb_chess::text::{Profile, san};
    /// let record = epdb_chess::parse_epd(b"4k3/8/8/8/8/8/4P3/4K3 w - - id \"x\"; hmvc 5;")?;
    /// let playable = Playable::new(record.position()).expect("playable");
    /// let mv = san::parse(&playable, b"Kd2", Profile::Strict)?.mv;
    /// let next = record.play(mv).expect("legal");
    /// assert_eq!(epdb_chess::format_epd(&next), b"4k3/8/8/8/8/8/3KP3/8 b - - hmvc 6;");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn play(&self, mv: Move) -> Option<EpdRecord> {
        let playable = Playable::new(&self.position).ok()?;
        if !playable.is_legal(mv) {
            return None;
        }
        let mut next = EpdRecord::new(*playable.after(mv).position());
        next.set_dialect(self.dialect);
        let zeroing = is_zeroing(playable.position(), mv);
        let clock = |value: u32| if zeroing { 0 } else { value.saturating_add(1) };
        let number = |value: u32| match self.position.turn() {
            Color::White => value,
            Color::Black => value.saturating_add(1),
        };
        if let Some(Counters { halfmove_clock, fullmove_number }) = self.counters {
            next.counters = Some(Counters {
                halfmove_clock: clock(halfmove_clock),
                fullmove_number: number(fullmove_number),
            });
            return Some(next);
        }
        let (old_clock, old_number) = self.counters();
        let values = [(Opcode::HMVC, old_clock.map(clock)), (Opcode::FMVN, old_number.map(number))];
        for (opcode, value) in values {
            if let Some(value) = value {
                next.set(Operation { opcode, operands: vec![Operand::Integer(value.into())] });
            }
        }
        Some(next)
    }

    fn find(&self, opcode: Opcode) -> Result<usize, usize> {
        self.operations.binary_search_by(|operation| operation.opcode.cmp(&opcode))
    }

    fn move_counters_to_operations(&mut self) {
        if !self.operations.is_empty()
            && let Some(counters) = self.counters.take()
        {
            self.set_counter_operations(counters);
        }
    }

    /// Adds the operations `hmvc` and `fmvn` that the record does not have yet.
    fn set_counter_operations(&mut self, counters: Counters) {
        let values =
            [(Opcode::HMVC, counters.halfmove_clock), (Opcode::FMVN, counters.fullmove_number)];
        for (opcode, value) in values {
            if self.find(opcode).is_err() {
                let operands = vec![Operand::Integer(value.into())];
                self.set(Operation { opcode, operands });
            }
        }
    }
}
