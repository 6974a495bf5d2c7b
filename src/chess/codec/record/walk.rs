//! Walking through the parts of a record by their lengths, without decoding them.

use byteorder::{ByteOrder, LittleEndian};

use super::super::error::{DecodeError, DecodeErrorKind};
use super::super::item::Cursor;
use super::super::packed;
use super::operands::{
    COUNTERS, EN_PASSANT, GENERAL, MARKER, MARKER_MASK, NAMED_BY_OLDER_WRITERS, NO_MORE_OPERATIONS,
    NUMBERS, OPERATIONS, OTHER, integer_width, kind,
};
use super::{kept, tally};
use crate::model::{Opcode, Operands, StandardOpcode};

/// Returns the packed identity board of the record at the start of the bytes. Lookups compare this
/// board; nothing else is read.
///
/// # Errors
/// [`DecodeError`] if the bytes do not begin with a marker, or are shorter than the board.
pub fn board_of(bytes: &[u8]) -> Result<&[u8], DecodeError> {
    let mut cursor = Cursor::new(bytes);
    marker(&mut cursor)?;
    packed_board(&mut cursor)
}

#[inline]
pub(super) fn marker(cursor: &mut Cursor) -> Result<u8, DecodeError> {
    let error = cursor.error(DecodeErrorKind::Corrupt("marker of a record"));
    let marker = cursor.int_1()?;
    if marker & MARKER_MASK == MARKER { Ok(marker) } else { Err(error) }
}

#[inline]
pub(super) fn packed_board<'a>(cursor: &mut Cursor<'a>) -> Result<&'a [u8], DecodeError> {
    let base = cursor.offset() as u64;
    let len = packed::len_of(cursor.rest()).map_err(|error| error.after(base))?;
    cursor.take(len, "a packed board")
}

/// Returns the length of the record at the start of the bytes. Only lengths are read, so success
/// does not prove that the record can be decoded.
///
/// # Errors
/// [`DecodeError`] if the bytes end too early or a tag is unknown.
pub fn len_of(bytes: &[u8]) -> Result<usize, DecodeError> {
    walk(bytes, |_, _| {})
}

/// A part of a record.
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
    /// The byte after the last operation.
    End,
}

/// Walks through the record at the start of the bytes. Calls `visit` with each part, in order, and
/// with the offset after it. Returns the length of the record, like [`len_of`].
///
/// # Errors
/// The errors of [`len_of`].
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
    if marker & COUNTERS != 0 {
        let width = 1 << ((marker & COUNTERS) - 1);
        cursor.take(2 * width, "counters")?;
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

/// True if a record consists of the board and operations, and none of the operations is a counter.
///
/// # Errors
/// The errors of [`len_of`].
pub fn is_board_with_operations(record: &[u8]) -> Result<bool, DecodeError> {
    let mut has_counters = false;
    walk(record, |part, _| {
        has_counters |= matches!(part, Part::Operation(Opcode::HMVC | Opcode::FMVN));
    })?;
    Ok(record.first() == Some(&(MARKER | OPERATIONS)) && !has_counters)
}

/// Returns the operand of `tally` of a record, if the record has one in its short form.
///
/// # Errors
/// The errors of [`len_of`].
pub fn tally_bytes(record: &[u8]) -> Result<Option<&[u8]>, DecodeError> {
    short_form(record, Opcode::TALLY)
}

/// Returns the operand of `kept_games` of a record, if the record has one in its short form.
///
/// # Errors
/// The errors of [`len_of`].
pub(super) fn kept_games_bytes(record: &[u8]) -> Result<Option<&[u8]>, DecodeError> {
    short_form(record, Opcode::KEPT_GAMES)
}

/// Returns the operands of an operation of a record, if the record has them in their short form.
fn short_form(record: &[u8], opcode: Opcode) -> Result<Option<&[u8]>, DecodeError> {
    let mut start = 0;
    let mut found = None;
    walk(record, |part, end| {
        if part == Part::Operation(opcode)
            && record.get(start) == opcode.standard().map(StandardOpcode::number).as_ref()
        {
            found = record.get(start + 1..end);
        }
        start = end;
    })?;
    Ok(found)
}

/// The form in which the operands of an operation are encoded.
pub(super) enum Form {
    Short(&'static StandardOpcode),
    General(&'static StandardOpcode),
    Other(Opcode),
}

impl Form {
    pub(super) fn opcode(&self) -> Opcode {
        match self {
            Form::Short(entry) | Form::General(entry) => entry.opcode,
            Form::Other(opcode) => *opcode,
        }
    }

    pub(super) fn standard(&self) -> Option<&'static StandardOpcode> {
        match self {
            Form::Short(entry) | Form::General(entry) => Some(entry),
            Form::Other(_) => None,
        }
    }
}

pub(super) fn next_operation(cursor: &mut Cursor) -> Result<Option<Form>, DecodeError> {
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
            if opcode.standard().is_some_and(|entry| entry.number() < NAMED_BY_OLDER_WRITERS) {
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
            Operands::Tally => tally::skip(cursor),
            Operands::KeptGames => kept::skip(cursor),
            _ => Ok(()),
        },
        _ => {
            while next_item(cursor)?.is_some() {}
            Ok(())
        }
    }
}

/// An item of a general list.
pub(super) enum Item<'a> {
    Integer(i128),
    Token(&'a [u8]),
    Str(&'a [u8]),
    Moves(&'a [u8]),
    WideMove(u16),
    Typed(u16, &'a [u8]),
}

pub(super) fn next_item<'a>(cursor: &mut Cursor<'a>) -> Result<Option<Item<'a>>, DecodeError> {
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

/// Reads a length and then this number of bytes. `width` is the number of bytes of the length; the
/// length must have the smallest possible width.
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

pub(super) fn tagged_integer(cursor: &mut Cursor) -> Result<i128, DecodeError> {
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
