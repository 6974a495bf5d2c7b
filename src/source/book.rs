//! Opening books of Polyglot, as entries and as the records of their positions.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use super::binary::Records;
use super::book_walk::{BookPosition, BookResolver};
use super::delta::name_of;
use super::input;
use super::item::{BookFindings, Summary, VisitItem};
use super::options::SourceOptions;
use epdb_chess::codec::polyglot::{Book, BookMove, Entry};
use epdb_chess::error::{Error, Result};
use epdb_chess::model::rules::{Move, Playable};
use epdb_chess::model::{EpdRecord, Opcode, Operand, Operation};
use epdb_chess::text::san;

/// Reads an opening book of Polyglot, or standard input for `-`. A book may begin with any bytes,
/// so compression is recognised only by a name that ends in `.gz` or `.zst`.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("book.bin");
/// std::fs::write(&path, [0; 17])?;
/// let error = epdb_source::open_book(&path).expect_err("a byte too many");
/// assert!(error.to_string().contains("book.bin: byte 16: this is no Polyglot book"));
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// The file cannot be read, or is not a book. The error names it.
pub fn open_book(path: impl AsRef<Path>) -> Result<Book> {
    let path = path.as_ref();
    let bytes = input::open_named(path)?;
    Book::read(bytes).map_err(|error| Error::from_cause(error).in_source(name_of(path)))
}

/// Reads the positions of a book that are found from the start array, with the moves of the book.
pub(super) fn read<E: From<Error>>(
    input: Box<dyn Read + Send>,
    name: Arc<str>,
    options: &SourceOptions,
    visit: &mut VisitItem<'_, E>,
) -> Result<Summary, E> {
    let book =
        Book::read(input).map_err(|error| Error::from_cause(error).in_source(Arc::clone(&name)))?;
    let known = BookResolver::new(&book).finish();
    let mut found = BookFindings {
        unknown_entries: known.unknown().map(|entries| entries.len() as u64).sum(),
        disordered_entries: book.disorder().map_or(0, |disorder| disorder.count),
        illegal_entries: 0,
    };
    let mut records = Records::new(name, options);
    for position in known.positions() {
        let (record, illegal) = record_of(position);
        found.illegal_entries += illegal;
        records.count();
        if records.hand_on(record, &[], visit)?.is_break() {
            return Ok(Summary { was_stopped: true, book: found, ..Summary::default() });
        }
    }
    Ok(Summary { book: found, ..Summary::default() })
}

/// Builds the record of a position: `bm` has the moves that the book may play, `pm` the heaviest of several, and
/// comments have all moves with their weights. Returns the number of illegal entries too.
fn record_of(found: &BookPosition<'_>) -> (EpdRecord, u64) {
    let mut record = EpdRecord::new(found.position);
    let Ok(playable) = Playable::new(&found.position) else {
        return (record, found.entries.len() as u64);
    };
    let mut best = Vec::new();
    let mut weights = Comments::default();
    let mut illegal = 0;
    for entry in found.entries {
        match entry.mv.legal_in(&playable) {
            Some(mv) => {
                if entry.weight > 0 {
                    let operand = Operand::Move { mv, san: san::format(&playable, mv) };
                    best.push((entry.weight, operand));
                }
                weights.push(&weight_of(entry, &playable, mv));
            }
            None => illegal += u64::from(entry.mv != BookMove::NONE),
        }
    }
    // The first one of the largest weight: of equals, `max_by_key` takes the last.
    let main = best.iter().rev().max_by_key(|(weight, _)| *weight);
    if let Some((_, main)) = main.filter(|_| best.len() > 1) {
        record.set(Operation { opcode: Opcode::PM, operands: vec![main.clone()] });
    }
    if !best.is_empty() {
        let operands = best.into_iter().map(|(_, operand)| operand).collect();
        record.set(Operation { opcode: Opcode::BM, operands });
    }
    for (opcode, text) in COMMENTS.into_iter().zip(weights.0) {
        record.set(Operation { opcode, operands: vec![Operand::string(text)] });
    }
    (record, illegal)
}

/// The text of an entry in a comment: `e4 120`, followed by the learned value.
fn weight_of(entry: &Entry, playable: &Playable, mv: Move) -> String {
    let Entry { weight, learn, .. } = entry;
    let learn = if *learn == 0 { String::new() } else { format!(" learn {learn}") };
    format!("{} {weight}{learn}", san::format(playable, mv))
}

/// The registers for comments, in order.
pub const COMMENTS: [Opcode; 10] = [
    Opcode::C0,
    Opcode::C1,
    Opcode::C2,
    Opcode::C3,
    Opcode::C4,
    Opcode::C5,
    Opcode::C6,
    Opcode::C7,
    Opcode::C8,
    Opcode::C9,
];

/// Maximum length of a string in the standard.
const MAX_STRING: usize = 255;

/// Texts of comments. The last comment takes all texts that do not fit into the others.
#[derive(Default)]
struct Comments(Vec<String>);

impl Comments {
    fn push(&mut self, text: &str) {
        const SEPARATOR: &str = ", ";
        // The last comment takes all that is left, and may be longer than a string should be.
        let is_last = self.0.len() == COMMENTS.len();
        match self.0.last_mut() {
            Some(last) if is_last || last.len() + SEPARATOR.len() + text.len() <= MAX_STRING => {
                *last += SEPARATOR;
                *last += text;
            }
            _ => self.0.push(text.into()),
        }
    }
}
