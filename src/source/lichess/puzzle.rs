//! Lines of `lichess_db_puzzle.csv`. The position of a puzzle is the one after the first of its moves,
//! which is the opponent's.

use std::borrow::Cow;

use super::part::{Part, put, shown};
use crate::model::rules::Playable;
use crate::model::{EpdRecord, Opcode, Operand};
use crate::text::epd::Line;
use crate::text::{Diagnostic, ParseOptions, Profile, codes, fen, san};

/// The header. The last column is missing in older files.
const COLUMNS: [&str; 10] = [
    "PuzzleId",
    "FEN",
    "Moves",
    "Rating",
    "RatingDeviation",
    "Popularity",
    "NbPlays",
    "Themes",
    "GameUrl",
    "OpeningTags",
];
const FEWEST: usize = COLUMNS.len() - 1;

/// The columns of numbers, and the opcodes that they become.
const NUMBERS: [(usize, Opcode); 4] = [
    (3, private(b"rating")),
    (4, private(b"rating_dev")),
    (5, private(b"popularity")),
    (6, private(b"plays")),
];

/// The columns of text, and the opcodes that they become.
const TEXTS: [(usize, Opcode); 4] =
    [(0, Opcode::ID), (7, Opcode::C0), (8, Opcode::C1), (9, Opcode::C2)];

/// An opcode that is none of the standard's.
const fn private(name: &[u8]) -> Opcode {
    match Opcode::new(name) {
        Ok(opcode) => opcode,
        Err(_) => panic!("this is no opcode"),
    }
}

/// A field of a line.
struct Field<'l> {
    at: usize,
    text: Cow<'l, [u8]>,
}

impl Field<'_> {
    fn part(&self) -> Part<'_> {
        Part { at: self.at, text: &self.text }
    }
}

/// Reads a line; the header is a comment.
///
/// # Errors
/// It has not the columns of a puzzle, or the position or one of the first two moves is none.
pub(in crate::source) fn parse_line(
    line: &[u8],
    options: &ParseOptions,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Line, Diagnostic> {
    let Some(whole) = Part::of_line(line) else { return Ok(Line::Blank) };
    let fields = split(&whole)?;
    if !(FEWEST..=COLUMNS.len()).contains(&fields.len()) {
        let message = format!(
            "{} columns; expected the {} of puzzles: {}",
            fields.len(),
            COLUMNS.len(),
            COLUMNS.join(",")
        );
        return Err(whole.error(codes::E_LINE_CSV, message));
    }
    if *fields[0].text == *COLUMNS[0].as_bytes() {
        return check_header(&fields);
    }
    let before = fields[1].part().read_position(fen::parse_line, options.profile, warnings)?;
    let (mut record, solution) = play_first(&before, &fields[2].part())?;
    let moves = read_solution(&record, &solution, warnings)?;
    let best = moves.iter().take(1).cloned().collect();
    put(&mut record, Opcode::BM, best);
    put(&mut record, Opcode::PV, moves);
    for (column, opcode) in NUMBERS {
        put(&mut record, opcode, vec![number(column, &fields[column])?]);
    }
    for (column, opcode) in TEXTS {
        let text = fields.get(column).filter(|field| !field.text.is_empty());
        put(&mut record, opcode, text.map(string).transpose()?.into_iter().collect());
    }
    Ok(Line::Record(record))
}

fn check_header(fields: &[Field<'_>]) -> Result<Line, Diagnostic> {
    let wrong = fields.iter().zip(COLUMNS).find(|(field, name)| *field.text != *name.as_bytes());
    match wrong {
        None => Ok(Line::Comment),
        Some((field, name)) => {
            let message = format!("column {}; expected {name}", shown(&field.text));
            Err(field.part().error(codes::E_LINE_CSV, message))
        }
    }
}

/// The record after the opponent's move, and the moves of the solution.
fn play_first<'l>(
    before: &EpdRecord,
    moves: &Part<'l>,
) -> Result<(EpdRecord, Part<'l>), Diagnostic> {
    let (first, solution) = moves.split_word().ok_or_else(|| {
        moves.error(codes::E_LINE_CSV, "expected the opponent's move and the solution")
    })?;
    let played = Playable::new(before.position())
        .ok()
        .and_then(|playable| san::parse(&playable, first.text, Profile::Lenient).ok())
        .and_then(|read| before.play(read.mv));
    let refused = || {
        let message = format!("{} is no legal move of the position", shown(first.text));
        first.error(codes::E_MOVE_ILLEGAL, message)
    };
    Ok((played.ok_or_else(refused)?, solution))
}

/// The moves of the solution, of which the first must be legal.
fn read_solution(
    record: &EpdRecord,
    solution: &Part<'_>,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Vec<Operand>, Diagnostic> {
    let (first, _) = solution.split_word().ok_or_else(|| {
        solution.error(codes::E_LINE_CSV, "expected the solution behind the opponent's move")
    })?;
    let mut found = Vec::new();
    let moves = solution.read_moves(record.position(), &mut found);
    if moves.is_empty() {
        let message = format!("{} is no legal move after the opponent's", shown(first.text));
        return Err(first.error(codes::E_MOVE_ILLEGAL, message));
    }
    warnings.extend(found);
    Ok(moves)
}

fn number(column: usize, field: &Field<'_>) -> Result<Operand, Diagnostic> {
    let digits = field.text.strip_prefix(b"-").unwrap_or(&field.text);
    if !(1..=9).contains(&digits.len()) || !digits.iter().all(u8::is_ascii_digit) {
        let message = format!("{} {}: expected a number", COLUMNS[column], shown(&field.text));
        return Err(field.part().error(codes::E_LINE_CSV, message));
    }
    Ok(Operand::token(&*field.text))
}

/// A string, in which quotes become apostrophes.
fn string(field: &Field<'_>) -> Result<Operand, Diagnostic> {
    let is_text = std::str::from_utf8(&field.text)
        .is_ok_and(|text| !text.chars().any(|letter| letter.is_control()));
    if !is_text {
        let message = "expected text in UTF-8 without control characters";
        return Err(field.part().error(codes::E_LINE_CSV, message));
    }
    let text: Vec<u8> =
        field.text.iter().map(|&byte| if byte == b'"' { b'\'' } else { byte }).collect();
    Ok(Operand::string(text))
}

/// The fields of a line between commas. One in quotes may have commas, and two quotes for one; a line
/// end it cannot have, since each puzzle is a line. The place of each is known, for messages.
fn split<'l>(line: &Part<'l>) -> Result<Vec<Field<'l>>, Diagnostic> {
    let mut fields = Vec::new();
    let mut at = 0;
    loop {
        let rest = &line.text[at..];
        let (text, len) = match rest.strip_prefix(b"\"") {
            Some(quoted) => {
                let place = Part { at: line.at + at, text: rest };
                let (text, len) = unquoted(quoted).ok_or_else(|| {
                    place.error(codes::E_LINE_CSV, "the quoted field is not closed")
                })?;
                (text, len + 1)
            }
            None => {
                let len = memchr::memchr(b',', rest).unwrap_or(rest.len());
                (Cow::Borrowed(&rest[..len]), len)
            }
        };
        fields.push(Field { at: line.at + at, text });
        match rest.get(len) {
            None => return Ok(fields),
            Some(b',') if fields.len() <= COLUMNS.len() => at += len + 1,
            Some(b',') => return Ok(fields),
            Some(_) => {
                let place = Part { at: line.at + at + len, text: rest };
                return Err(
                    place.error(codes::E_LINE_CSV, "expected a comma behind the quoted field")
                );
            }
        }
    }
}

/// The text of a field up to the quote that closes it, and how many bytes it and the quote take.
fn unquoted(quoted: &[u8]) -> Option<(Cow<'_, [u8]>, usize)> {
    let mut text = Vec::new();
    let mut from = 0;
    loop {
        let quote = from + memchr::memchr(b'"', &quoted[from..])?;
        text.extend_from_slice(&quoted[from..quote]);
        if quoted.get(quote + 1) != Some(&b'"') {
            return Some((Cow::Owned(text), quote + 1));
        }
        text.push(b'"');
        from = quote + 2;
    }
}
