//! Binary EPD records: a marker, the packed identity board, and what the record says beyond it.
//! The format is `formats/epd_record.md`.

mod operands;
mod write;

use byteorder::{ByteOrder, LittleEndian};

use super::error::{DecodeError, DecodeErrorKind, EncodeError};
use super::item::Cursor;
use super::{direct, packed};
use crate::model::rules::{Playable, en_passant_is_legal};
use crate::model::{
    CastlingDialect, Counters, EpdRecord, Opcode, Operand, Operands, Operation, Position, Square,
    StandardOpcode, TypedOperand, en_passant_rank,
};
use crate::text::{WriteOptions, epd};
use operands::{Moves, has_integers, is_string, is_token, read_integer};
use write::{integer_width, put_integer};

/// The longest record in bytes.
pub const MAX_LEN: usize = 16 << 20;

/// The three high bits of every marker.
const MARKER: u8 = 0b1010_0000;
const MARKER_MASK: u8 = 0b1110_0000;
/// Bits 0 and 1: no counters, or two of one, two or four bytes.
const COUNTERS: u8 = 0b0000_0011;
/// An en passant square that is not part of the identity.
const EN_PASSANT: u8 = 0b0000_0100;
/// The castling field was in Shredder's letters.
const SHREDDER: u8 = 0b0000_1000;
/// Operations follow.
const OPERATIONS: u8 = 0b0001_0000;

/// Added to the number of a standard opcode: its operands are a general list.
const GENERAL: u8 = 0x40;
/// Added to the length of an opcode that is not in the table.
const OTHER: u8 = 0x80;
/// Behind the last operation.
const NO_MORE_OPERATIONS: u8 = 0xff;
/// Standard opcodes may have numbers below this one day.
const NUMBERS: u8 = 64;

/// Kinds of operands in a general list; the low four bits say the width of what follows.
mod kind {
    pub(super) const END: u8 = 0x00;
    pub(super) const INTEGER: u8 = 0x00;
    pub(super) const TOKEN: u8 = 0x10;
    pub(super) const STRING: u8 = 0x20;
    pub(super) const MOVES: u8 = 0x30;
    pub(super) const WIDE_MOVE: u8 = 0x42;
    pub(super) const TYPED: u8 = 0x50;
    pub(super) const NEGATIVE: u8 = 0x80;
}

/// Appends the encoding of a record.
///
/// # Errors
/// [`EncodeError`] when the record holds a value that breaks the documentation of its type; no
/// record that was read from text does. `out` is then as it was.
///
/// The bytes follow from the canonical text of the record: where a record that was put together by
/// hand has a move, an integer or an unquoted operand in the place of another with the same text,
/// the one is written that reading the text would give.
pub fn encode(record: &EpdRecord, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    let start = out.len();
    let result = encode_parts(record, out).and_then(|()| match out.len() - start {
        len if len > MAX_LEN => Err(EncodeError::LimitExceeded {
            what: "bytes of a record",
            found: len as u64,
            limit: MAX_LEN as u64,
        }),
        _ => Ok(()),
    });
    if result.is_err() {
        out.truncate(start);
    }
    result
}

fn encode_parts(record: &EpdRecord, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    let identity = record.position().identity();
    let extra_en_passant = match identity.en_passant() {
        None => record.position().en_passant(),
        Some(_) => None,
    };
    let width = record.fen_counters().map_or(0, counter_width);
    let flag = |condition: bool, flag: u8| if condition { flag } else { 0 };
    out.push(
        MARKER
            | width
            | flag(extra_en_passant.is_some(), EN_PASSANT)
            | flag(record.dialect() == CastlingDialect::Shredder, SHREDDER)
            | flag(!record.operations().is_empty(), OPERATIONS),
    );
    out.extend_from_slice(packed::pack(&identity).as_bytes());
    out.extend(extra_en_passant.map(Square::file));
    if let Some(Counters { halfmove_clock, fullmove_number }) = record.fen_counters() {
        if fullmove_number == 0 {
            return Err(EncodeError::FullmoveNumber);
        }
        for value in [halfmove_clock, fullmove_number] {
            put_integer(out, 1 << (width - 1), value.into());
        }
    }
    if !record.operations().is_empty() {
        let root = Playable::new(record.position());
        for operation in record.operations() {
            write::operation(root.as_ref(), operation, out)?;
        }
        out.push(NO_MORE_OPERATIONS);
    }
    Ok(())
}

/// The marker's bits for counters: 1, 2 or 3 for the shortest of int-1, int-2, int-4.
fn counter_width(counters: Counters) -> u8 {
    match counters.halfmove_clock.max(counters.fullmove_number) {
        0..=0xff => 1,
        0x100..=0xffff => 2,
        _ => 3,
    }
}

/// The packed identity board of the record at the start of these bytes, without a look at
/// anything else: what lookups compare.
///
/// # Errors
/// [`DecodeError`] when the bytes do not begin with a marker and the length of a packed board.
pub fn board_of(bytes: &[u8]) -> Result<&[u8], DecodeError> {
    let mut cursor = Cursor::new(bytes);
    marker(&mut cursor)?;
    packed_board(&mut cursor)
}

fn marker(cursor: &mut Cursor) -> Result<u8, DecodeError> {
    let error = cursor.error(DecodeErrorKind::Corrupt("marker of a record"));
    match cursor.int_1()? {
        marker if marker & MARKER_MASK == MARKER => Ok(marker),
        _ => Err(error),
    }
}

fn packed_board<'a>(cursor: &mut Cursor<'a>) -> Result<&'a [u8], DecodeError> {
    let base = cursor.offset() as u64;
    let len = packed::len_of(cursor.rest()).map_err(|error| error.after(base))?;
    cursor.take(len, "a packed board")
}

/// The length of the record at the start of these bytes. Only lengths are looked at: that a
/// record has a length does not mean that it can be decoded.
///
/// # Errors
/// [`DecodeError`] where the bytes end too early or a tag is unknown.
pub fn len_of(bytes: &[u8]) -> Result<usize, DecodeError> {
    walk(bytes, |_, _| {})
}

/// What the next bytes of a record are.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Part {
    /// The marker byte.
    Marker,
    /// The packed identity board.
    Board,
    /// The file of an en passant square that is not part of the identity.
    EnPassant,
    /// Halfmove clock and fullmove number of a six-field record.
    Counters,
    /// An operation with its operands.
    Operation(Opcode),
    /// The byte behind the last operation.
    End,
}

/// Walks over the record at the start of these bytes and calls `visit` with each of its parts, in
/// order, and the offset behind it. Gives the length of the record, as [`len_of`] does.
///
/// # Errors
/// As [`len_of`].
pub fn walk(bytes: &[u8], mut visit: impl FnMut(Part, usize)) -> Result<usize, DecodeError> {
    let mut cursor = Cursor::new(bytes);
    let marker = marker(&mut cursor)?;
    visit(Part::Marker, cursor.offset());
    packed_board(&mut cursor)?;
    visit(Part::Board, cursor.offset());
    if marker & EN_PASSANT != 0 {
        cursor.int_1()?;
        visit(Part::EnPassant, cursor.offset());
    }
    if let Some(width) = (marker & COUNTERS).checked_sub(1) {
        cursor.take(2 << width, "counters")?;
        visit(Part::Counters, cursor.offset());
    }
    if marker & OPERATIONS != 0 {
        while let Some(form) = next_operation(&mut cursor)? {
            let opcode = form.opcode();
            skip_operands(&mut cursor, form)?;
            visit(Part::Operation(opcode), cursor.offset());
        }
        visit(Part::End, cursor.offset());
    }
    Ok(cursor.offset())
}

/// How the operands of an operation are written.
enum Form {
    Short(&'static StandardOpcode),
    General(&'static StandardOpcode),
    Other(Opcode),
}

impl Form {
    fn opcode(&self) -> Opcode {
        match self {
            Form::Short(entry) | Form::General(entry) => entry.opcode,
            Form::Other(opcode) => *opcode,
        }
    }

    fn standard(&self) -> Option<&'static StandardOpcode> {
        match self {
            Form::Short(entry) | Form::General(entry) => Some(entry),
            Form::Other(_) => None,
        }
    }
}

fn next_operation(cursor: &mut Cursor) -> Result<Option<Form>, DecodeError> {
    let start = cursor.clone();
    let tag = cursor.int_1()?;
    let reserved =
        || start.error(DecodeErrorKind::Reserved { what: "tag of an operation", value: tag });
    let numbered = |number| StandardOpcode::with_number(number).ok_or_else(reserved);
    let form = match tag {
        NO_MORE_OPERATIONS => return Ok(None),
        0..NUMBERS => Form::Short(numbered(tag)?),
        GENERAL..OTHER => Form::General(numbered(tag - GENERAL)?),
        _ => {
            let len = usize::from(tag - OTHER);
            if len == 0 || len > Opcode::MAX_LEN {
                return Err(reserved());
            }
            let name = cursor.take(len, "an opcode")?;
            let no_opcode = start.error(DecodeErrorKind::Corrupt("opcode"));
            let opcode = Opcode::new(name).map_err(|_| no_opcode)?;
            if opcode.standard().is_some() {
                return Err(start.error(DecodeErrorKind::NonCanonical("the opcode is standard")));
            }
            Form::Other(opcode)
        }
    };
    Ok(Some(form))
}

fn skip_operands(cursor: &mut Cursor, form: Form) -> Result<(), DecodeError> {
    match form {
        Form::Short(entry) => match entry.operands {
            Operands::Integer(..) => tagged_integer(cursor).map(drop),
            Operands::Str { .. } => cursor.string_1().map(drop),
            Operands::Move => cursor.int_1().map(drop),
            Operands::MoveSet | Operands::MoveLine => cursor.mvseq_1().map(drop),
            _ => Ok(()),
        },
        _ => {
            while next_item(cursor)?.is_some() {}
            Ok(())
        }
    }
}

/// One item of a general list.
enum Item<'a> {
    Integer(i128),
    Token(&'a [u8]),
    Str(&'a [u8]),
    Moves(&'a [u8]),
    WideMove(u16),
    Typed(u16, &'a [u8]),
}

fn next_item<'a>(cursor: &mut Cursor<'a>) -> Result<Option<Item<'a>>, DecodeError> {
    let start = cursor.clone();
    let kind = cursor.int_1()?;
    let item = match (kind & 0xf0, kind & 0x0f) {
        (kind::END, 0) => return Ok(None),
        (kind::INTEGER | kind::NEGATIVE, _) => {
            *cursor = start;
            Item::Integer(tagged_integer(cursor)?)
        }
        (kind::TOKEN, width) => Item::Token(sized(cursor, &start, width)?),
        (kind::STRING, width) => Item::Str(sized(cursor, &start, width)?),
        (kind::MOVES, width @ 1..=2) => Item::Moves(sized(cursor, &start, width)?),
        (kind::TYPED, width) => {
            let number = cursor.int_2()?;
            Item::Typed(number, sized(cursor, &start, width)?)
        }
        _ if kind == kind::WIDE_MOVE => Item::WideMove(cursor.int_2()?),
        (0x60 | 0x70 | 0x90.., _) => {
            let what = "kind of an operand";
            return Err(start.error(DecodeErrorKind::Reserved { what, value: kind }));
        }
        _ => return Err(start.error(DecodeErrorKind::Corrupt("kind of an operand"))),
    };
    Ok(Some(item))
}

/// Bytes with a length of this width in front, which must be the shortest that holds it.
fn sized<'a>(cursor: &mut Cursor<'a>, start: &Cursor, width: u8) -> Result<&'a [u8], DecodeError> {
    let (bytes, shortest) = match width {
        1 => (cursor.string_1()?, 0),
        2 => (cursor.string_2()?, 0x100),
        4 => (cursor.string_4()?, 0x1_0000),
        _ => return Err(start.error(DecodeErrorKind::Corrupt("kind of an operand"))),
    };
    if bytes.len() < shortest {
        return Err(start.error(DecodeErrorKind::NonCanonical("the shortest length is taken")));
    }
    Ok(bytes)
}

fn tagged_integer(cursor: &mut Cursor) -> Result<i128, DecodeError> {
    let start = cursor.clone();
    let kind = cursor.int_1()?;
    let width = kind & 0x0f;
    let sign = kind & 0xf0;
    if ![1, 2, 4, 8].contains(&width) || ![kind::INTEGER, kind::NEGATIVE].contains(&sign) {
        return Err(start.error(DecodeErrorKind::Corrupt("kind of an integer")));
    }
    let bytes = cursor.take(width.into(), "an integer")?;
    let value = match sign {
        kind::NEGATIVE => LittleEndian::read_int(bytes, width.into()).into(),
        _ => LittleEndian::read_uint(bytes, width.into()).into(),
    };
    if integer_width(value) != width || (value < 0) != (sign == kind::NEGATIVE) {
        return Err(start.error(DecodeErrorKind::NonCanonical("the shortest integer is taken")));
    }
    Ok(value)
}

/// Reads the record at the start of these bytes; with it comes its length. What is behind it is
/// not looked at. Memory is at most about a hundred times the length of the record.
///
/// # Errors
/// [`DecodeError`] for all bytes but those that [`encode`] writes.
pub fn decode(bytes: &[u8]) -> Result<(EpdRecord, usize), DecodeError> {
    let bytes = bytes.get(..MAX_LEN).unwrap_or(bytes);
    let mut cursor = Cursor::new(bytes);
    let marker = marker(&mut cursor)?;
    let position = position(&mut cursor, marker)?;
    let mut record = EpdRecord::new(position);
    if marker & SHREDDER != 0 {
        record.set_dialect(CastlingDialect::Shredder);
        if record.dialect() != CastlingDialect::Shredder {
            let kind =
                DecodeErrorKind::NonCanonical("both dialects write these castling rights alike");
            return Err(DecodeError::new(0, kind));
        }
    }
    if marker & COUNTERS != 0 {
        let counters = counters(&mut cursor, marker & COUNTERS)?;
        if marker & OPERATIONS != 0 {
            let kind = DecodeErrorKind::NonCanonical("counters beside operations are operations");
            return Err(DecodeError::new(0, kind));
        }
        record.set_fen_counters(Some(counters));
    }
    if marker & OPERATIONS != 0 {
        operations(&mut cursor, &mut record)?;
    }
    Ok((record, cursor.offset()))
}

/// Appends the canonical text of the record at the start of these bytes, without line end
/// and, where that is possible, without a record in between. That the bytes are a record is not
/// proved by success.
///
/// # Errors
/// [`DecodeError`] when the bytes are no record; `out` may then have got a part of its text.
///
/// ```
/// use epdb::codec::record;
/// let line = b"4k3/8/8/8/8/8/4P3/4K3 w - - 3 40";
/// let (mut bytes, mut text) = (Vec::new(), Vec::new());
/// record::encode(&epdb::parse_epd(line)?, &mut bytes)?;
/// record::write_text(&bytes, &mut text)?;
/// assert_eq!(text, line);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write_text(bytes: &[u8], out: &mut Vec<u8>) -> Result<(), DecodeError> {
    let mut cursor = Cursor::new(bytes);
    let marker = marker(&mut cursor)?;
    if marker & OPERATIONS != 0 {
        epd::write(&decode(bytes)?.0, &WriteOptions::default(), out);
        return Ok(());
    }
    let board = packed_board(&mut cursor)?;
    let en_passant = match marker & EN_PASSANT {
        0 => None,
        _ => Some(cursor.int_1()? & 7),
    };
    let counters = match marker & COUNTERS {
        0 => None,
        width => Some(counters(&mut cursor, width)?),
    };
    direct::write_plain(board, en_passant, counters, out)
}

fn position(cursor: &mut Cursor, marker: u8) -> Result<Position, DecodeError> {
    let start = cursor.clone();
    let board = packed_board(cursor)?;
    let base = start.offset() as u64;
    let (identity, _) = packed::unpack(board).map_err(|error| error.after(base))?;
    if identity.en_passant().is_some() && !en_passant_is_legal(&identity) {
        let kind = DecodeErrorKind::NonCanonical("no en passant capture is legal on this board");
        return Err(start.error(kind));
    }
    if marker & EN_PASSANT == 0 {
        return Ok(identity);
    }
    let start = cursor.clone();
    let file = cursor.int_1()?;
    let no_file = start.error(DecodeErrorKind::Corrupt("file of an en passant square"));
    if file > 7 || identity.en_passant().is_some() {
        return Err(no_file);
    }
    let target = Square::at(file, en_passant_rank(identity.turn()));
    let position = identity.with_en_passant(Some(target)).map_err(|_| no_file)?;
    if en_passant_is_legal(&position) {
        let kind = DecodeErrorKind::NonCanonical("the en passant square belongs to the board");
        return Err(start.error(kind));
    }
    Ok(position)
}

fn counters(cursor: &mut Cursor, bits: u8) -> Result<Counters, DecodeError> {
    let start = cursor.clone();
    let width = 1 << (bits - 1);
    let mut next = || -> Result<u32, DecodeError> {
        Ok(LittleEndian::read_uint(cursor.take(width, "counters")?, width) as u32)
    };
    let counters = Counters { halfmove_clock: next()?, fullmove_number: next()? };
    if counters.fullmove_number == 0 {
        return Err(start.error(DecodeErrorKind::Corrupt("fullmove number")));
    }
    if counter_width(counters) != bits {
        return Err(start.error(DecodeErrorKind::NonCanonical("the shortest counters are taken")));
    }
    Ok(counters)
}

fn operations(cursor: &mut Cursor, record: &mut EpdRecord) -> Result<(), DecodeError> {
    let root = Playable::new(record.position());
    let start = cursor.clone();
    loop {
        let place = cursor.clone();
        let Some(form) = next_operation(cursor)? else { break };
        let opcode = form.opcode();
        if record.operations().last().is_some_and(|last| last.opcode >= opcode) {
            let kind = DecodeErrorKind::NonCanonical("operations ascend by opcode");
            return Err(place.error(kind));
        }
        let operands = operands(cursor, &form, root.as_ref())?;
        record.set(Operation { opcode, operands });
    }
    match record.operations() {
        [] => Err(start.error(DecodeErrorKind::NonCanonical("at least one operation"))),
        _ => Ok(()),
    }
}

fn operands(
    cursor: &mut Cursor,
    form: &Form,
    root: Option<&Playable>,
) -> Result<Vec<Operand>, DecodeError> {
    let mut moves = Moves::new(root, form.standard());
    match form {
        Form::Short(entry) => short_operands(cursor, entry.operands, &mut moves),
        Form::General(entry) => general_operands(cursor, Some(entry), &mut moves),
        Form::Other(_) => general_operands(cursor, None, &mut moves),
    }
}

fn short_operands(
    cursor: &mut Cursor,
    form: Operands,
    moves: &mut Moves,
) -> Result<Vec<Operand>, DecodeError> {
    let start = cursor.clone();
    let ordinals = match form {
        Operands::None => return Ok(Vec::new()),
        Operands::Integer(..) => return Ok(vec![Operand::Integer(tagged_integer(cursor)?)]),
        Operands::Str { .. } => return Ok(vec![string(cursor.string_1()?, &start)?]),
        Operands::Move => cursor.take(1, "a move ordinal")?,
        Operands::MoveSet => cursor.mvset_1()?,
        Operands::MoveLine => cursor.mvseq_1()?,
        _ => {
            let kind = DecodeErrorKind::NonCanonical("this opcode has no short form");
            return Err(start.error(kind));
        }
    };
    let mut operands = Vec::new();
    push_moves(&mut operands, ordinals, moves, cursor.offset() - ordinals.len())?;
    Ok(operands)
}

fn general_operands(
    cursor: &mut Cursor,
    standard: Option<&StandardOpcode>,
    moves: &mut Moves,
) -> Result<Vec<Operand>, DecodeError> {
    let list = cursor.clone();
    let mut operands = Vec::new();
    let mut has_wide_moves = false;
    let mut run_goes_on = false;
    loop {
        let start = cursor.clone();
        let Some(item) = next_item(cursor)? else { break };
        let fault = |kind| start.error(kind);
        let mut run_is_full = false;
        match item {
            Item::Integer(value) => {
                if !has_integers(standard) {
                    let why = "integers of this opcode are unquoted operands";
                    return Err(fault(DecodeErrorKind::NonCanonical(why)));
                }
                operands.push(Operand::Integer(value));
            }
            Item::Str(bytes) => operands.push(string(bytes, &start)?),
            Item::Token(bytes) => operands.push(token(bytes, standard, moves).map_err(fault)?),
            Item::Typed(number, bytes) => {
                let no_type = fault(DecodeErrorKind::Corrupt("type of an operand"));
                let operand = TypedOperand::new(number, bytes).ok_or(no_type)?;
                operands.push(Operand::typed(&operand));
            }
            Item::Moves(run) => {
                if run.is_empty() || run_goes_on {
                    return Err(fault(DecodeErrorKind::NonCanonical("moves in a row are one run")));
                }
                push_moves(&mut operands, run, moves, cursor.offset() - run.len())?;
                run_is_full = run.len() == usize::from(u16::MAX);
            }
            Item::WideMove(ordinal) => {
                if ordinal <= 0xff {
                    let why = "a wide move has ordinal 256 or more";
                    return Err(fault(DecodeErrorKind::NonCanonical(why)));
                }
                operands.push(moves.operand(ordinal).map_err(fault)?);
                has_wide_moves = true;
            }
        }
        run_goes_on = matches!(item, Item::Moves(_)) && !run_is_full;
    }
    if let Some(entry) = standard {
        if !has_wide_moves && is_short(entry.operands, &operands) {
            let kind = DecodeErrorKind::NonCanonical("the short form says these operands");
            return Err(list.error(kind));
        }
        let ascend = || operands.windows(2).all(|pair| pair[0].text() < pair[1].text());
        if entry.operands == Operands::MoveSet && !ascend() {
            return Err(list.error(DecodeErrorKind::NonCanonical("the operands of a set ascend")));
        }
    }
    Ok(operands)
}

/// Whether operands, the moves among them of one byte, have the short form of a standard opcode.
fn is_short(form: Operands, operands: &[Operand]) -> bool {
    let are_moves = || operands.iter().all(|operand| matches!(operand, Operand::Move { .. }));
    match (form, operands) {
        (Operands::None, []) | (Operands::Integer(..), [Operand::Integer(_)]) => true,
        (Operands::Str { .. }, [text @ Operand::Str(bytes)]) => {
            bytes.len() <= 0xff && text.as_typed().is_none()
        }
        (Operands::Move, [_]) => are_moves(),
        (Operands::MoveSet | Operands::MoveLine, _) => operands.len() <= 0xff && are_moves(),
        _ => false,
    }
}

/// An unquoted operand, which must not be the text of something that has an item of its own here.
fn token(
    bytes: &[u8],
    standard: Option<&StandardOpcode>,
    moves: &mut Moves,
) -> Result<Operand, DecodeErrorKind> {
    if !is_token(bytes) {
        return Err(DecodeErrorKind::Corrupt("unquoted operand"));
    }
    if has_integers(standard) && read_integer(bytes).is_some() {
        return Err(DecodeErrorKind::NonCanonical("an integer of this opcode is no unquoted text"));
    }
    if moves.find(bytes).is_some() {
        return Err(DecodeErrorKind::NonCanonical("a legal move is its ordinal"));
    }
    moves.pass_text(bytes);
    Ok(Operand::token(bytes))
}

fn push_moves(
    operands: &mut Vec<Operand>,
    ordinals: &[u8],
    moves: &mut Moves,
    offset: usize,
) -> Result<(), DecodeError> {
    operands.reserve(ordinals.len());
    for (place, &ordinal) in ordinals.iter().enumerate() {
        let operand = moves.operand(ordinal.into());
        operands.push(operand.map_err(|kind| DecodeError::new(offset + place, kind))?);
    }
    Ok(())
}

fn string(bytes: &[u8], start: &Cursor) -> Result<Operand, DecodeError> {
    if !is_string(bytes) {
        return Err(start.error(DecodeErrorKind::Corrupt("string of EPD")));
    }
    if TypedOperand::from_text(bytes).is_some() {
        return Err(start.error(DecodeErrorKind::NonCanonical("a typed operand is no string")));
    }
    Ok(Operand::string(bytes))
}
