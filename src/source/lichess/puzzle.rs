//! Lines of `lichess_db_puzzle.csv`. The first move of a puzzle is the opponent's. So the position
//! of a puzzle is the position after that move.

use std::borrow::Cow;

use super::{Part, put, shown};
use crate::model::rules::Playable;
use crate::model::{EpdRecord, Opcode, Operand};
use crate::text::epd::Line;
use crate::text::{Diagnostic, ParseOptions, Profile, codes, fen, san};

/// The columns, in the order of files without a header.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Column {
    PuzzleId,
    Fen,
    Moves,
    Rating,
    RatingDeviation,
    Popularity,
    NbPlays,
    Themes,
    GameUrl,
    OpeningTags,
    DailyDate,
}

/// The names of the columns. Older files lack the columns after the ninth.
const NAMES: [&str; 11] = [
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
    "DailyDate",
];
const REQUIRED: usize = Column::GameUrl as usize + 1;

/// Columns of numbers, with their opcodes.
const NUMBERS: [(Column, Opcode); 4] = [
    (Column::Rating, private(b"rating")),
    (Column::RatingDeviation, private(b"rating_dev")),
    (Column::Popularity, private(b"popularity")),
    (Column::NbPlays, private(b"plays")),
];

/// Columns of text, with their opcodes.
const TEXTS: [(Column, Opcode); 4] = [
    (Column::PuzzleId, Opcode::ID),
    (Column::Themes, Opcode::C0),
    (Column::GameUrl, Opcode::C1),
    (Column::OpeningTags, Opcode::C2),
];

/// The day on which the puzzle was the puzzle of the day, in milliseconds since 1970.
const DAILY_DATE: Opcode = private(b"DailyDate");

/// A non-standard opcode.
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
    fn is_named(&self, name: &str) -> bool {
        self.text.trim_ascii().eq_ignore_ascii_case(name.as_bytes())
    }

    fn part(&self) -> Part<'_> {
        Part { at: self.at, text: &self.text }
    }
}

/// The columns of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Columns {
    /// The index of each column in a line, if the file has it.
    places: [Option<usize>; NAMES.len()],
    /// The number of columns of a line, unknown ones included.
    count: usize,
    has_header: bool,
}

impl Columns {
    /// The columns of a file by its first bytes, which include the header if there is one.
    pub(crate) fn from_start(start: &[u8]) -> Columns {
        let header =
            first_line(start).and_then(|line| split(&line).ok()).filter(|it| is_header(it));
        header.map_or_else(Columns::without_header, |fields| Columns::from_header(&fields))
    }

    fn without_header() -> Columns {
        let places = std::array::from_fn(Some);
        Columns { places, count: NAMES.len(), has_header: false }
    }

    fn from_header(fields: &[Field<'_>]) -> Columns {
        let places = NAMES.map(|name| fields.iter().position(|field| field.is_named(name)));
        Columns { places, count: fields.len(), has_header: true }
    }

    /// A required column that the header lacks.
    fn missing(&self) -> Option<&'static str> {
        let required = self.places.iter().zip(NAMES).take(REQUIRED);
        required.filter(|(place, _)| place.is_none()).map(|(_, name)| name).next()
    }

    /// Refuses a header that differs from the first header of the file, or lacks a required column;
    /// warns of unknown columns.
    fn check_header(
        &self,
        fields: &[Field<'_>],
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<Line, Diagnostic> {
        let first = &fields[0].part();
        if *self != Columns::from_header(fields) {
            let message = "a header that is not the first line, with other columns than before: \
                           another file follows it";
            return Err(first.error(codes::E_LINE_CSV, message));
        }
        if let Some(name) = self.missing() {
            let message = format!("the header has no column {name}: puzzles need {}", required());
            return Err(first.error(codes::E_LINE_CSV, message));
        }
        for (place, field) in fields.iter().enumerate() {
            if self.places.contains(&Some(place)) {
                continue;
            }
            let message = format!("column {} is unknown: it is left out", shown(&field.text));
            warnings.push(field.part().warning(codes::W_LINE_COLUMN, message));
        }
        Ok(Line::Comment)
    }

    /// Refuses a line without the columns of the header. The last columns may be missing if they
    /// are optional.
    fn check_line(&self, whole: &Part<'_>, fields: &[Field<'_>]) -> Result<(), Diagnostic> {
        if let Some(name) = self.missing() {
            let message = format!("the header of the file has no column {name}");
            return Err(whole.error(codes::E_LINE_CSV, message));
        }
        let last_required = self.places[..REQUIRED].iter().flatten().max();
        let fewest = last_required.map_or(0, |last| last + 1);
        if (fewest..=self.count).contains(&fields.len()) {
            return Ok(());
        }
        let (found, wanted) = (fields.len(), self.count);
        let message = match self.has_header {
            true => format!("{found} columns; expected the {wanted} that the header names"),
            false => {
                format!("{found} columns; expected the {wanted} of puzzles: {}", NAMES.join(","))
            }
        };
        Err(whole.error(codes::E_LINE_CSV, message))
    }

    /// A column of a line, if the line has it.
    fn get<'f, 'l>(&self, fields: &'f [Field<'l>], column: Column) -> Option<&'f Field<'l>> {
        fields.get(self.places[column as usize]?)
    }
}

fn required() -> String {
    NAMES[..REQUIRED].join(", ")
}

/// The first line that is not blank.
fn first_line(start: &[u8]) -> Option<Part<'_>> {
    let text = Part::from_line(start)?.text.trim_ascii_start();
    let end = memchr::memchr2(b'\r', b'\n', text).unwrap_or(text.len());
    Some(Part { at: 0, text: &text[..end] })
}

/// Whether the first line of a text is a header of puzzles, perhaps with mistakes.
pub(crate) fn begins_with_header(start: &[u8]) -> bool {
    first_line(start).is_some_and(|line| split(&line).is_ok_and(|fields| is_header(&fields)))
}

fn is_header(fields: &[Field<'_>]) -> bool {
    let has = |name| fields.iter().any(|field| field.is_named(name));
    has("FEN") && has("Moves")
        || has("PuzzleId") && NAMES.iter().filter(|name| has(name)).count() > 1
}

/// Parses a line; the header is a comment.
///
/// # Errors
/// The line lacks a column, the position is invalid, or one of the first two moves is illegal.
pub(crate) fn parse_line(
    line: &[u8],
    columns: &Columns,
    options: &ParseOptions,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Line, Diagnostic> {
    let Some(whole) = Part::from_line(line) else { return Ok(Line::Blank) };
    let fields = split(&whole)?;
    if is_header(&fields) {
        return columns.check_header(&fields, warnings);
    }
    columns.check_line(&whole, &fields)?;
    let get = |column| columns.get(&fields, column);
    let needed = |column: Column| {
        let none = || whole.error(codes::E_LINE_CSV, format!("no {}", NAMES[column as usize]));
        get(column).ok_or_else(none)
    };
    let before =
        needed(Column::Fen)?.part().read_position(fen::parse_line, options.profile, warnings)?;
    let (mut record, solution) = play_first(&before, &needed(Column::Moves)?.part())?;
    let moves = read_solution(&record, &solution, warnings)?;
    let best = moves.iter().take(1).cloned().collect();
    put(&mut record, Opcode::BM, best);
    put(&mut record, Opcode::PV, moves);
    for (column, opcode) in NUMBERS {
        put(&mut record, opcode, vec![number(column, needed(column)?)?]);
    }
    for (column, opcode) in TEXTS {
        let text = get(column).filter(|field| !field.text.is_empty());
        put(&mut record, opcode, text.map(string).transpose()?.into_iter().collect());
    }
    let date = get(Column::DailyDate).filter(|field| !field.text.is_empty());
    put(&mut record, DAILY_DATE, date.map(time).transpose()?.into_iter().collect());
    Ok(Line::Record(record))
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
        let message = format!("{} is not a legal move of the position", shown(first.text));
        first.error(codes::E_MOVE_ILLEGAL, message)
    };
    Ok((played.ok_or_else(refused)?, solution))
}

/// The moves of the solution; the first must be legal.
fn read_solution(
    record: &EpdRecord,
    solution: &Part<'_>,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Vec<Operand>, Diagnostic> {
    let (first, _) = solution.split_word().ok_or_else(|| {
        solution.error(codes::E_LINE_CSV, "expected the solution after the opponent's move")
    })?;
    let mut found = Vec::new();
    let moves = solution.read_moves(record.position(), &mut found);
    if moves.is_empty() {
        let message = format!("{} is not a legal move after the opponent's", shown(first.text));
        return Err(first.error(codes::E_MOVE_ILLEGAL, message));
    }
    warnings.extend(found);
    Ok(moves)
}

fn number(column: Column, field: &Field<'_>) -> Result<Operand, Diagnostic> {
    let digits = field.text.strip_prefix(b"-").unwrap_or(&field.text);
    if !(1..=9).contains(&digits.len()) || !digits.iter().all(u8::is_ascii_digit) {
        let name = NAMES[column as usize];
        let message = format!("{name} {}: expected a number", shown(&field.text));
        return Err(field.part().error(codes::E_LINE_CSV, message));
    }
    Ok(Operand::token(&*field.text))
}

/// A number of milliseconds; any other value is kept as a string.
fn time(field: &Field<'_>) -> Result<Operand, Diagnostic> {
    match field.text.len() <= 18 && field.text.iter().all(u8::is_ascii_digit) {
        true => Ok(Operand::token(&*field.text)),
        false => string(field),
    }
}

/// A string; quotes become apostrophes.
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

/// Splits a line into fields at commas. In a quoted field, commas are text, and two quotes are one.
/// A quoted field has no line end, because each puzzle is one line. Each field keeps its offset,
/// for diagnostics.
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
            Some(b',') => at += len + 1,
            Some(_) => {
                let place = Part { at: line.at + at + len, text: rest };
                return Err(
                    place.error(codes::E_LINE_CSV, "expected a comma after the quoted field")
                );
            }
        }
    }
}

/// The text of a quoted field, and the length of its bytes with the closing quote; `None` if that
/// quote is missing.
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
