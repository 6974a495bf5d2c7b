//! Decoding of bytes as records.

use std::cell::LazyCell;

use byteorder::{ByteOrder, LittleEndian};

use super::super::error::{DecodeError, DecodeErrorKind};
use super::super::item::Cursor;
use super::super::{identity, packed};
use super::kept;
use super::operands::{
    COUNTERS, EN_PASSANT, MAX_LEN, Moves, OPERATIONS, SHREDDER, counter_width, has_integers,
    is_string, is_token, read_integer,
};
use super::tally::{self, TallyMoves};
use super::walk::{
    Form, Item, kept_games_bytes, marker, next_item, next_operation, packed_board, tagged_integer,
};
use crate::model::rules::Move;
use crate::model::rules::{Playable, en_passant_is_legal};
use crate::model::{
    CastlingDialect, Counters, EpdRecord, KeptGames, Opcode, Operand, Operands, Operation,
    Position, Square, StandardOpcode, TypedOperand, en_passant_rank,
};
use crate::text::{FormatOptions, epd};

/// Reads the record at the start of the bytes. Returns it and its length; bytes after it are
/// ignored. Memory is at most about a hundred times the length of the record.
///
/// # Errors
/// [`DecodeError`] for all bytes that [`encode`](super::encode) does not write.
pub fn decode(bytes: &[u8]) -> Result<(EpdRecord, usize), DecodeError> {
    decode_with(bytes, TallyMoves::Spelled)
}

/// Does the same as [`decode`], but without the SAN of the moves in `tally`, which is
/// [`San::NONE`](crate::model::San). `known` can have a legal move of the position, with its ordinal.
/// If a tally has only this move, the other legal moves are not made.
pub fn decode_unspelled(
    bytes: &[u8],
    known: Option<(u16, Move)>,
) -> Result<EpdRecord, DecodeError> {
    decode_with(bytes, TallyMoves::Unspelled { known }).map(|(record, _)| record)
}

fn decode_with(bytes: &[u8], moves: TallyMoves) -> Result<(EpdRecord, usize), DecodeError> {
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
        operations(&mut cursor, &mut record, moves)?;
    }
    Ok((record, cursor.offset()))
}

/// Appends the canonical text of the record at the start of the bytes, without line end. For usual
/// records this is done without decoding the record.
///
/// # Errors
/// [`DecodeError`] as for [`decode`]; then nothing is appended. Success proves that the bytes are a
/// record.
///
/// ```
/// use epdb_chess::codec::record;
/// let line = b"4k3/8/8/8/8/8/4P3/4K3 w - - 3 40";
/// let (mut bytes, mut text) = (Vec::new(), Vec::new());
/// record::encode(&epdb_chess::parse_epd(line)?, &mut bytes)?;
/// record::write_text(&bytes, &mut text)?;
/// assert_eq!(text, line);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write_text(bytes: &[u8], out: &mut Vec<u8>) -> Result<(), DecodeError> {
    if write_usual_text(bytes, out).is_none() {
        epd::format(&decode(bytes)?.0, &FormatOptions::default(), out);
    }
    Ok(())
}

/// Does the same as [`write_text`], for usual records without operations. Returns `None` and
/// appends nothing for other records, and for bytes that are not a record.
#[inline(always)]
fn write_usual_text(bytes: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let mut cursor = Cursor::new(bytes);
    let marker = marker(&mut cursor).ok()?;
    if marker & (OPERATIONS | SHREDDER) != 0 {
        return None;
    }
    let board = packed_board(&mut cursor).ok()?;
    let en_passant = match marker & EN_PASSANT {
        0 => None,
        _ => Some(cursor.int_1().ok()?),
    };
    let counters = match marker & COUNTERS {
        0 => None,
        width => Some(counters(&mut cursor, width).ok()?),
    };
    identity::write_line(board, en_passant, counters, out)
}

/// Returns the games that a record in its binary form lists in the short form; `None` if it has no
/// such list.
///
/// # Errors
/// [`DecodeError`] if the bytes are not a record, or if its list of kept games is not canonical.
pub fn kept_games_of(record: &[u8]) -> Result<Option<KeptGames>, DecodeError> {
    let bytes = kept_games_bytes(record)?;
    bytes.map(|bytes| kept::take_kept_games(&mut Cursor::new(bytes))).transpose()
}

fn position(cursor: &mut Cursor, marker: u8) -> Result<Position, DecodeError> {
    let start = cursor.clone();
    let board = packed_board(cursor)?;
    let base = start.offset() as u64;
    let (identity, _) = packed::decode(board).map_err(|error| error.after(base))?;
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

fn operations(
    cursor: &mut Cursor,
    record: &mut EpdRecord,
    moves: TallyMoves,
) -> Result<(), DecodeError> {
    let position = *record.position();
    let root = LazyCell::new(|| Playable::new(&position).ok());
    let start = cursor.clone();
    loop {
        let place = cursor.clone();
        let Some(form) = next_operation(cursor)? else { break };
        let opcode = form.opcode();
        if record.operations().last().is_some_and(|last| last.opcode >= opcode) {
            let kind = DecodeErrorKind::NonCanonical("operations ascend by opcode");
            return Err(place.error(kind));
        }
        let operands = operands(cursor, &form, &root, moves)?;
        record.set(Operation { opcode, operands });
    }
    if record.operations().is_empty() {
        return Err(start.error(DecodeErrorKind::NonCanonical("at least one operation")));
    }
    Ok(())
}

fn operands(
    cursor: &mut Cursor,
    form: &Form,
    root: &LazyCell<Option<Playable>, impl FnOnce() -> Option<Playable>>,
    tally_moves: TallyMoves,
) -> Result<Vec<Operand>, DecodeError> {
    let moves = || Moves::new(root.as_ref(), form.standard());
    match form {
        Form::Short(entry) if entry.operands == Operands::Tally => {
            let is_tally = form.opcode() == Opcode::TALLY;
            let moves = if is_tally { tally_moves } else { TallyMoves::Spelled };
            Ok(vec![tally::decode(cursor, root, moves)?])
        }
        Form::Short(entry) if entry.operands == Operands::KeptGames => {
            Ok(vec![kept::decode(cursor)?])
        }
        Form::Short(entry) => short_operands(cursor, entry.operands, &mut moves()),
        Form::General(entry) => {
            let list = cursor.clone();
            let operands = general_operands(cursor, Some(entry), &mut moves())?;
            match (entry.operands, &operands[..]) {
                (Operands::Tally, [Operand::Str(text)])
                    if tally::encode_text(text, root.as_ref()).is_some() =>
                {
                    Err(list.error(HAS_SHORT_FORM))
                }
                (Operands::KeptGames, [Operand::Str(text)]) if kept::encode(text).is_some() => {
                    Err(list.error(HAS_SHORT_FORM))
                }
                _ => Ok(operands),
            }
        }
        Form::Other(_) => general_operands(cursor, None, &mut moves()),
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
            return Err(list.error(HAS_SHORT_FORM));
        }
        let ascend = || operands.windows(2).all(|pair| pair[0].text() < pair[1].text());
        if entry.operands == Operands::MoveSet && !ascend() {
            return Err(list.error(DecodeErrorKind::NonCanonical("the operands of a set ascend")));
        }
    }
    Ok(operands)
}

const HAS_SHORT_FORM: DecodeErrorKind =
    DecodeErrorKind::NonCanonical("the short form says these operands");

/// Whether operands have the short form of a standard opcode. Moves among them must have ordinals
/// of one byte.
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

/// Reads an unquoted operand. It must not be the text of an integer or a legal move for which the
/// record format has another kind of item.
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::codec::record::encode;

    #[test]
    fn a_known_move_changes_nothing() {
        let record = crate::parse_epd(
            b"rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - tally \"reached 5, e4 +2=1-0, Nf3 +0=1-1\";",
        )
        .unwrap();
        let mut bytes = Vec::new();
        encode(&record, &mut bytes).unwrap();
        let root = Playable::new(record.position()).unwrap();
        let without = decode_unspelled(&bytes, None).unwrap();
        assert!(matches!(without.operations()[0].operands[..], [Operand::Tally(_)]));
        for (ordinal, mv) in (0..).zip(crate::codec::ordinal::list(&root)) {
            assert_eq!(
                decode_unspelled(&bytes, Some((ordinal, mv))).unwrap(),
                without,
                "{ordinal}"
            );
        }
    }
}
