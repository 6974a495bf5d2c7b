//! Lines of `lichess_db_puzzle.csv`. The first move in a line is a move of the opponent. So the
//! position of the puzzle is the position after that move.

use super::csv::{Columns, Field, TableKind};
use super::{Part, put, scored, shown};
use epdb_chess::model::rules::Playable;
use epdb_chess::model::{EpdRecord, Opcode, Operand};
use epdb_chess::text::epd::Line;
use epdb_chess::text::{Diagnostic, ParseOptions, Profile, codes, fen, san};

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
pub(crate) const NAMES: [&str; 11] = [
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

pub(crate) static TABLE: TableKind = TableKind {
    names: &NAMES,
    aliases: &[("GameId", Column::GameUrl as usize)],
    required: &[Column::Fen as usize, Column::Moves as usize],
    in_each_line: Column::GameUrl as usize + 1,
    without_header: NAMES.len(),
    takes_opcodes: false,
    content: "puzzles",
    is_header,
};

const NUMBERS: [(Column, Opcode); 4] = [
    (Column::Rating, private(b"rating")),
    (Column::RatingDeviation, private(b"rating_dev")),
    (Column::Popularity, private(b"popularity")),
    (Column::NbPlays, private(b"plays")),
];

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

/// Tables of scored positions may also have moves, so a table with a score is a table of puzzles only
/// if it has another column of puzzles.
fn is_header(fields: &[Field<'_>]) -> bool {
    let has = |name: &str| fields.iter().any(|field| field.is_named(name));
    if has("FEN") && has("Moves") {
        let is_of_puzzles = |column: &(Column, Opcode)| has(NAMES[column.0 as usize]);
        return NUMBERS.iter().chain(&TEXTS).any(is_of_puzzles) || !scored::has_score(fields);
    }
    has("PuzzleId") && NAMES.iter().filter(|name| has(name)).count() > 1
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
    let Some(fields) = columns.split(&whole, warnings)? else { return Ok(Line::Comment) };
    let needed = |column: Column| columns.required(&whole, &fields, column as usize);
    let before =
        needed(Column::Fen)?.part().read_position(fen::parse_line, options.profile, warnings)?;
    let (mut record, solution) = play_first(&before, &needed(Column::Moves)?.part())?;
    let moves = read_solution(&record, &solution, warnings)?;
    let best = moves.iter().take(1).cloned().collect();
    put(&mut record, Opcode::BM, best);
    put(&mut record, Opcode::PV, moves);
    let get =
        |column: Column| columns.get(&fields, column as usize).filter(|field| !field.is_missing());
    for (column, opcode) in NUMBERS {
        if let Some(field) = get(column) {
            put(&mut record, opcode, vec![number(column, field)?]);
        }
    }
    for (column, opcode) in TEXTS {
        let Some(field) = get(column) else { continue };
        let text = if column == Column::GameUrl { game_url(field)? } else { string(field)? };
        put(&mut record, opcode, vec![text]);
    }
    if let Some(field) = get(Column::DailyDate) {
        put(&mut record, DAILY_DATE, vec![time(field)?]);
    }
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
    let text = field.number();
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    if !(1..=9).contains(&digits.len()) || !digits.iter().all(u8::is_ascii_digit) {
        let name = NAMES[column as usize];
        let message = format!("{name} {}: expected a number", shown(&field.text));
        return Err(field.part().error(codes::E_LINE_CSV, message));
    }
    Ok(Operand::token(text))
}

/// A number of milliseconds; any other value is kept as a string.
fn time(field: &Field<'_>) -> Result<Operand, Diagnostic> {
    let text = field.number();
    if text.len() <= 18 && text.iter().all(u8::is_ascii_digit) {
        Ok(Operand::token(text))
    } else {
        string(field)
    }
}

/// The address of a game. The column `GameId` has only the last part of the address.
fn game_url(field: &Field<'_>) -> Result<Operand, Diagnostic> {
    let is_id = field.text.len() == 8 && field.text.iter().all(u8::is_ascii_alphanumeric);
    if !is_id {
        return string(field);
    }
    Ok(Operand::string([b"https://lichess.org/", &*field.text].concat()))
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
