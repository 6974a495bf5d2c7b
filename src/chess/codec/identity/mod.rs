//! The fast path between the fields of a line and the packed identity board with its key. It makes
//! no [`Position`](crate::model::Position), because lookups spend most of their time on this path.
//! An identity board has an en passant square only if a capture there is legal.
//!
//! It accepts lines in the usual form: at most 32 pieces, castling rights `KQkq` of the outermost
//! rooks, one blank between fields. For other lines it returns `None`. Then the text reader reads
//! the line and makes the diagnostics.

#[cfg(target_arch = "x86_64")]
mod avx512;
mod back_ranks;
#[cfg(any(
    target_arch = "x86_64",
    all(target_arch = "aarch64", target_feature = "neon", target_endian = "little")
))]
mod lanes;
mod read;
mod write;

#[doc(hidden)]
pub use crate::simd::InstructionSet;
pub use read::Identity;

use crate::codec::error::DecodeError;
use crate::codec::key::position_key;
use crate::codec::packed::{self, PackedBoard};
use crate::model::Counters;
use crate::simd::with_instructions;
use crate::text::fields::CounterText;
use crate::text::{Diagnostic, Profile, fen};
use read::read_bytewise;
use write::{Beside, is_idle, write_anywhere, write_unusual};

/// Reads the first four fields of an EPD or FEN line; text after them is ignored.
///
/// `None` does not mean that the line is wrong, only that it is unusual. For a line that is
/// accepted, the text reader gives the same result in every profile.
///
/// ```
/// use epdb_chess::codec::{identity, key, packed};
/// use epdb_chess::model::Position;
/// let line = b"rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
/// let identity = identity::read_fields(line).expect("a usual line");
/// assert_eq!(identity.board, packed::encode(&Position::START));
/// assert_eq!(identity.key, key::position_key(&Position::START));
/// assert_eq!(identity.len, 52);
/// ```
pub fn read_fields(line: &[u8]) -> Option<Identity> {
    read_with::<true>(InstructionSet::fastest(), line)
}

/// Does the same as [`read_fields`], but without computing the key, which may take a third of the
/// time. The key in the result has no meaning.
pub fn read_board(line: &[u8]) -> Option<Identity> {
    read_with::<false>(InstructionSet::fastest(), line)
}

/// Does the same as [`read_fields_with`], without the key. For tests.
#[doc(hidden)]
pub fn read_board_with(instructions: InstructionSet, line: &[u8]) -> Option<Identity> {
    read_with::<false>(instructions, line)
}

/// Does the same as [`read_fields`], with these instructions instead of the fastest. For tests and
/// benchmarks.
#[doc(hidden)]
pub fn read_fields_with(instructions: InstructionSet, line: &[u8]) -> Option<Identity> {
    read_with::<true>(instructions, line)
}

#[inline(always)]
#[allow(unsafe_code)]
fn read_with<const HAS_KEY: bool>(instructions: InstructionSet, line: &[u8]) -> Option<Identity> {
    with_instructions!(
        instructions,
        // SAFETY: a set of this level is made only where its instructions are detected.
        avx512(GATHERS) => unsafe { avx512::read::<GATHERS, HAS_KEY>(line) },
        // SAFETY: as above.
        lanes => unsafe { lanes::read(line) },
        portable => read_bytewise(line),
    )
}

/// Returns the packed identity board and the position key of any line that the lenient reader
/// accepts as a record. A usual line takes the fast path; the text reader reads others. Text after
/// the four fields of a usual line is ignored.
///
/// # Errors
/// The error of the text reader.
///
/// ```
/// use epdb_chess::codec::identity;
/// let usual = identity::parse_line(b"4k2r/8/8/8/8/8/8/4K3 b k - bm O-O;")?;
/// let shredder = identity::parse_line(b"4k2r/8/8/8/8/8/8/4K3 b h - 5 39")?;
/// assert_eq!(usual, shredder);
/// # Ok::<(), epdb_chess::text::Diagnostic>(())
/// ```
pub fn parse_line(line: &[u8]) -> Result<(PackedBoard, u64), Diagnostic> {
    if let Some(identity) = read_fields(line) {
        return Ok((identity.board, identity.key));
    }
    let record = fen::parse(line, Profile::Lenient)?;
    let identity = record.position().identity();
    Ok((packed::encode(&identity), position_key(&identity)))
}

/// Reads the packed board with which `board` begins, and appends its four fields in canonical form.
/// If the board has an en passant square, it is written.
///
/// # Errors
/// [`DecodeError`] as for [`packed::decode`]. Success proves that the bytes are a packed board.
///
/// ```
/// use epdb_chess::{codec::{identity, packed}, model::Position};
/// let mut text = Vec::new();
/// identity::write_fields(packed::encode(&Position::START).as_bytes(), &mut text)?;
/// assert_eq!(text, b"rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -");
/// # Ok::<(), epdb_chess::codec::error::DecodeError>(())
/// ```
pub fn write_fields(board: &[u8], out: &mut Vec<u8>) -> Result<(), DecodeError> {
    write_fields_with(InstructionSet::fastest(), board, out)
}

/// Does the same as [`write_fields`], with these instructions instead of the fastest. For tests and
/// benchmarks.
///
/// # Errors
/// The errors of [`write_fields`].
#[doc(hidden)]
pub fn write_fields_with(
    instructions: InstructionSet,
    board: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), DecodeError> {
    match write_usual(instructions, board, &Beside::NOTHING, out) {
        Some(()) => Ok(()),
        None => write_unusual(board, out),
    }
}

/// Appends the canonical line of a usual record without operations. `board` is its packed identity
/// board. `en_passant` is the file of an en passant square that is not part of the identity.
/// Returns `None` and appends nothing in two cases: the record is unusual, or the bytes are not a
/// record. To distinguish these cases, decode the bytes.
pub fn write_line(
    board: &[u8],
    en_passant: Option<u8>,
    counters: Option<Counters>,
    out: &mut Vec<u8>,
) -> Option<()> {
    if en_passant.is_some_and(|file| !is_idle(board, file)) {
        return None;
    }
    let counters = counters.map_or(CounterText::None, CounterText::Fields);
    write_usual(InstructionSet::fastest(), board, &Beside { en_passant, counters }, out)
}

/// Appends the text of a usual board. `None` for other boards, and for bytes that are not a packed
/// board.
#[inline(always)]
#[allow(unsafe_code)]
fn write_usual(
    instructions: InstructionSet,
    board: &[u8],
    beside: &Beside,
    out: &mut Vec<u8>,
) -> Option<()> {
    with_instructions!(
        instructions,
        // SAFETY: a set of this level is made only where its instructions are detected.
        avx512(_GATHERS) => unsafe { avx512::write(instructions, board, beside, out) },
        // SAFETY: as above.
        lanes => unsafe { lanes::write(board, beside, out) },
        portable => write_anywhere(instructions, board, beside, out),
    )
}
