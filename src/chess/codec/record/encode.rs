//! Encoding of records as bytes.

use std::borrow::Cow;

use super::super::error::EncodeError;
use super::super::item::PutItems;
use super::super::packed;
use super::operands::{
    EN_PASSANT, GENERAL, MARKER, MAX_LEN, Moves, NO_MORE_OPERATIONS, OPERATIONS, OTHER, SHREDDER,
    counter_width, has_integers, integer_width, is_string, is_token, kind, read_integer,
};
use super::{kept, tally};
use crate::model::rules::Playable;
use crate::model::{
    CastlingDialect, Counters, EpdRecord, Opcode, Operand, Operands, Operation, Square,
    StandardOpcode, TypedOperand,
};

/// Appends the encoding of a record.
///
/// # Errors
/// [`EncodeError`] if a value of the record breaks the documentation of its type; then `out` is
/// unchanged. Records that were read from text have no such values.
///
/// The bytes depend only on the canonical text of the record. A record made by a program may have
/// an operand of another type with the same text, for example a move as an unquoted operand. Such
/// an operand is written as if it had been read from its text.
pub fn encode(record: &EpdRecord, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    let start = out.len();
    let mut result = encode_parts(record, out);
    let len = out.len() - start;
    if result.is_ok() && len > MAX_LEN {
        result = Err(EncodeError::LimitExceeded {
            what: "bytes of a record",
            found: len as u64,
            limit: MAX_LEN as u64,
        });
    }
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
    let bit_if = |is_set: bool, bit: u8| if is_set { bit } else { 0 };
    out.push(
        MARKER
            | width
            | bit_if(extra_en_passant.is_some(), EN_PASSANT)
            | bit_if(record.dialect() == CastlingDialect::Shredder, SHREDDER)
            | bit_if(!record.operations().is_empty(), OPERATIONS),
    );
    out.extend_from_slice(packed::encode(&identity).as_bytes());
    out.extend(extra_en_passant.map(Square::file));
    if let Some(Counters { halfmove_clock, fullmove_number }) = record.fen_counters() {
        if fullmove_number == 0 {
            return Err(EncodeError::FullmoveNumber);
        }
        put_counters(halfmove_clock, fullmove_number, width, out);
    }
    if !record.operations().is_empty() {
        let root = Playable::new(record.position()).ok();
        for operation in record.operations() {
            put_operation(root.as_ref(), operation, out)?;
        }
        out.push(NO_MORE_OPERATIONS);
    }
    Ok(())
}

/// Appends two counters. `bits` are those of the marker, which say the size of a counter.
fn put_counters(halfmove_clock: u32, fullmove_number: u32, bits: u8, out: &mut Vec<u8>) {
    let width = 1 << (bits - 1);
    put_integer(out, width, halfmove_clock.into());
    put_integer(out, width, fullmove_number.into());
}

/// The parts of a record that has no operations and whose castling field does not have the letters
/// of Shredder-FEN.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct PlainRecord<'a> {
    /// The packed identity board.
    pub board: &'a [u8],
    /// An en passant square that the record has and that is not part of the identity.
    pub en_passant: Option<Square>,
    /// The counters; a fullmove number is at least 1.
    pub counters: Option<Counters>,
}

/// Appends the encoding of a record, given by its parts.
///
/// ```
/// use epdb_chess::codec::{packed, record, record::PlainRecord};
/// use epdb_chess::model::Counters;
/// let read = epdb_chess::parse_epd(b"4k3/8/8/8/8/8/4P3/4K3 w - - 5 39")?;
/// let board = packed::encode(read.position());
/// let counters = Some(Counters { halfmove_clock: 5, fullmove_number: 39 });
/// let parts = PlainRecord { board: board.as_bytes(), en_passant: None, counters };
/// let (mut whole, mut plain) = (Vec::new(), Vec::new());
/// record::encode(&read, &mut whole)?;
/// record::encode_plain(&parts, &mut plain);
/// assert_eq!(whole, plain);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn encode_plain(record: &PlainRecord<'_>, out: &mut Vec<u8>) {
    let PlainRecord { board, en_passant, counters } = *record;
    let width = counters.map_or(0, counter_width);
    out.push(MARKER | width | if en_passant.is_some() { EN_PASSANT } else { 0 });
    out.extend_from_slice(board);
    out.extend(en_passant.map(Square::file));
    if let Some(Counters { halfmove_clock, fullmove_number }) = counters {
        put_counters(halfmove_clock, fullmove_number, width, out);
    }
}

/// An operand in the form in which it is written.
enum Item<'a> {
    Move(u16),
    Integer(i128),
    Token(Cow<'a, [u8]>),
    Str(Cow<'a, [u8]>),
    Typed(TypedOperand),
    /// A tally or a list of kept games, in its short form.
    Short(Vec<u8>),
}

/// Appends an operation of a record. `root` is the position of the record; `None` if no moves can
/// be made in it.
fn put_operation(
    root: Option<&Playable>,
    operation: &Operation,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    let Operation { opcode, operands } = operation;
    let standard = opcode.standard();
    let form = standard.map(|entry| entry.operands);
    let items = match short_string(*opcode, form, operands, root)? {
        Some(bytes) => vec![Item::Short(bytes)],
        None => {
            let mut moves = Moves::new(root, standard);
            let items = operands.iter().map(|operand| item(operand, *opcode, standard, &mut moves));
            items.collect::<Result<_, EncodeError>>()?
        }
    };
    match standard {
        Some(entry) if is_short(entry.operands, &items) => {
            out.push(entry.number());
            return put_short(entry.operands, &items, out);
        }
        Some(entry) => out.push(GENERAL + entry.number()),
        None => {
            out.push(OTHER + opcode.as_bytes().len() as u8);
            out.extend_from_slice(opcode.as_bytes());
        }
    }
    put_general(&items, out)
}

/// Returns the short form of a tally or of a list of kept games; `None` for other operands.
fn short_string(
    opcode: Opcode,
    form: Option<Operands>,
    operands: &[Operand],
    root: Option<&Playable>,
) -> Result<Option<Vec<u8>>, EncodeError> {
    Ok(match (form, operands) {
        (Some(Operands::Tally), [Operand::Tally(tally)]) => {
            let bytes = tally::encode(tally, root);
            Some(bytes.map_err(|san| EncodeError::Move { opcode, san })?)
        }
        (Some(Operands::Tally), [Operand::Str(text)]) => tally::encode_text(text, root),
        (Some(Operands::KeptGames), [Operand::Str(text)]) => kept::encode(text),
        _ => None,
    })
}

/// Returns the encoded form of an operand. It is the form of an operand that is read from the same
/// text.
fn item<'a>(
    operand: &'a Operand,
    opcode: Opcode,
    standard: Option<&StandardOpcode>,
    moves: &mut Moves,
) -> Result<Item<'a>, EncodeError> {
    let text: Cow<'a, [u8]> = match operand {
        Operand::Move { mv, san } if !moves.are_text() => {
            let ordinal = moves.play_text(*mv, san.as_bytes());
            return ordinal.map(Item::Move).ok_or(EncodeError::Move { opcode, san: *san });
        }
        Operand::Integer(value) => {
            if u64::try_from(*value).is_err() && i64::try_from(*value).is_err() {
                return Err(EncodeError::Integer { opcode, value: *value });
            }
            if has_integers(standard) {
                return Ok(Item::Integer(*value));
            }
            value.to_string().into_bytes().into()
        }
        Operand::Str(bytes) => {
            check_text(opcode, is_string(bytes))?;
            let typed = TypedOperand::from_text(bytes);
            return Ok(typed.map_or(Item::Str(bytes.as_ref().into()), Item::Typed));
        }
        Operand::Move { san, .. } => san.as_bytes().to_vec().into(),
        Operand::Tally(tally) => return Ok(Item::Str(tally.to_text().into())),
        Operand::Token(bytes) => bytes.as_ref().into(),
    };
    check_text(opcode, is_token(&text))?;
    if has_integers(standard)
        && let Some(value) = read_integer(&text)
    {
        return Ok(Item::Integer(value));
    }
    if let Some(mv) = moves.find(&text)
        && let Some(ordinal) = moves.play_text(mv, &text)
    {
        return Ok(Item::Move(ordinal));
    }
    moves.pass_text(&text);
    Ok(Item::Token(text))
}

fn check_text(opcode: Opcode, holds: bool) -> Result<(), EncodeError> {
    if holds { Ok(()) } else { Err(EncodeError::Text { opcode }) }
}

/// Whether the operands of a standard opcode can be written in its short form.
fn is_short(form: Operands, items: &[Item]) -> bool {
    let are_narrow = || items.iter().all(|item| matches!(item, Item::Move(0..=0xff)));
    match (form, items) {
        (Operands::None, []) | (Operands::Integer(..), [Item::Integer(_)]) => true,
        (Operands::Str { .. }, [Item::Str(bytes)]) => bytes.len() <= 0xff,
        (Operands::Move, [_]) => are_narrow(),
        (Operands::MoveSet | Operands::MoveLine, _) => items.len() <= 0xff && are_narrow(),
        (Operands::Tally | Operands::KeptGames, [Item::Short(_)]) => true,
        _ => false,
    }
}

fn put_short(form: Operands, items: &[Item], out: &mut Vec<u8>) -> Result<(), EncodeError> {
    if matches!(form, Operands::MoveSet | Operands::MoveLine) {
        out.push(items.len() as u8);
    }
    for item in items {
        match item {
            Item::Move(ordinal) => out.push(*ordinal as u8),
            Item::Integer(value) => put_tagged_integer(*value, out),
            Item::Str(bytes) => out.put_sized_1(bytes)?,
            Item::Short(bytes) => out.extend_from_slice(bytes),
            Item::Token(_) | Item::Typed(_) => {}
        }
    }
    Ok(())
}

fn put_general(items: &[Item], out: &mut Vec<u8>) -> Result<(), EncodeError> {
    let mut run = Vec::new();
    for item in items {
        if let Item::Move(narrow @ 0..=0xff) = item {
            run.push(*narrow as u8);
            continue;
        }
        put_run(&mut run, out)?;
        match item {
            Item::Move(ordinal) => {
                out.push(kind::WIDE_MOVE);
                out.put_int_2(*ordinal);
            }
            Item::Integer(value) => put_tagged_integer(*value, out),
            Item::Str(bytes) => put_bytes(kind::STRING, &[], bytes, out)?,
            Item::Token(bytes) => put_bytes(kind::TOKEN, &[], bytes, out)?,
            Item::Typed(operand) => {
                let number = operand.number().to_le_bytes();
                put_bytes(kind::TYPED, &number, operand.bytes(), out)?;
            }
            Item::Short(_) => {}
        }
    }
    put_run(&mut run, out)?;
    out.push(kind::END);
    Ok(())
}

/// Appends items for consecutive operands that are legal moves. An item has at most 65,535 moves.
fn put_run(run: &mut Vec<u8>, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    for piece in run.chunks(u16::MAX.into()) {
        put_bytes(kind::MOVES, &[], piece, out)?;
    }
    run.clear();
    Ok(())
}

/// Appends an item in four parts: its kind with the width of the length, the bytes `before`, the
/// length of `bytes`, and `bytes`.
fn put_bytes(kind: u8, before: &[u8], bytes: &[u8], out: &mut Vec<u8>) -> Result<(), EncodeError> {
    let width = match bytes.len() {
        0..=0xff => 1,
        0x100..=0xffff => 2,
        _ => 4,
    };
    out.push(kind | width);
    out.extend_from_slice(before);
    match width {
        1 => out.put_sized_1(bytes),
        2 => out.put_sized_2(bytes),
        _ => out.put_sized_4(bytes),
    }
}

/// Appends an integer, which must be between the smallest `i64` and the largest `u64`.
fn put_tagged_integer(value: i128, out: &mut Vec<u8>) {
    let sign = if value < 0 { kind::NEGATIVE } else { kind::INTEGER };
    let width = integer_width(value);
    out.push(sign | width);
    put_integer(out, width, value as u64);
}

/// Appends the low `width` bytes of a value.
fn put_integer(out: &mut Vec<u8>, width: u8, value: u64) {
    out.extend_from_slice(&value.to_le_bytes()[..usize::from(width).min(8)]);
}
