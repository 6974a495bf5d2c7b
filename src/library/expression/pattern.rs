//! The texts in terms about the board: pieces, squares, placements and material.

use super::board_test::{BoardTest, Pieces, Requirement};
use crate::question;
use epdb_chess::model::{Color, Piece, Position, Role, Side, Square};
use epdb_chess::text::{ParseOptions, Profile};

/// A mistake in a text: its place in characters from 0, and the message.
pub(super) type TextError = (usize, String);
type Parsed<T> = Result<T, TextError>;

/// Parses a position: a FEN, or moves from the start array.
pub(super) fn position(text: &str) -> Parsed<Position> {
    let position = question::parse(text.as_bytes(), &ParseOptions::new(Profile::Lenient));
    let position = position.map_err(|error| (0, error.message))?;
    let expected = || (0, "expected a FEN, or moves such as 'e4 c5'".into());
    position.map(|position| position.identity()).ok_or_else(expected)
}

const LIGHT: u64 = 0x55aa_55aa_55aa_55aa;
const PIECES: &str =
    "a piece: K Q R B N P of White, k q r b n p of Black, A or a for any of White or Black";

/// Parses pieces: `N`, `Nn`, `A`, `!`.
pub(super) fn pieces(text: &str) -> Parsed<Pieces> {
    let mut found: Option<Pieces> = None;
    for (place, letter) in text.chars().enumerate() {
        let piece = match letter {
            '!' => Pieces::ANY,
            letter => piece(letter).ok_or_else(|| {
                (place, format!("`{letter}` is not {PIECES}, or ! for any piece"))
            })?,
        };
        found = Some(found.map_or(piece, |found| found.and(piece)));
    }
    found.ok_or_else(|| (0, format!("expected {PIECES}, or ! for any piece")))
}

fn piece(letter: char) -> Option<Pieces> {
    match letter {
        'A' => Some(Pieces::of(Color::White)),
        'a' => Some(Pieces::of(Color::Black)),
        letter => {
            let piece = Piece::from_letter(u8::try_from(letter).ok()?)?;
            Some(Pieces::One(piece.color, piece.role))
        }
    }
}

/// Parses a set of squares: parts such as `e5`, `f1-h1`, `a-h7`, `d4-6`, `c-e`, `light`, with commas between them.
pub(super) fn squares(text: &str) -> Parsed<u64> {
    let mut set = 0;
    let mut place = 0;
    for part in text.split(',') {
        let blanks = part.len() - part.trim_start().len();
        set |= squares_of_part(part.trim()).ok_or_else(|| {
            let examples = "e5, f1-h1, a-h7 (a rank), d4-6, d (a file), light or dark";
            (
                place + blanks,
                format!("`{}` is not a set of squares such as {examples}", part.trim()),
            )
        })?;
        place += part.chars().count() + 1;
    }
    Ok(set)
}

fn squares_of_part(part: &str) -> Option<u64> {
    match part {
        "light" => return Some(LIGHT),
        "dark" => return Some(!LIGHT),
        _ => {}
    }
    // Two squares are the corners of a rectangle.
    if let Some((one, other)) = part.split_once('-')
        && let (Some(one), Some(other)) =
            (Square::from_ascii(one.as_bytes()), Square::from_ascii(other.as_bytes()))
    {
        return rectangle([one.file(), other.file()], [one.rank(), other.rank()]);
    }
    let digits = part.find(|letter: char| letter.is_ascii_digit()).unwrap_or(part.len());
    let (files, ranks) = part.split_at(digits);
    rectangle(range(files, b'a')?, range(ranks, b'1')?)
}

/// Parses `c`, `c-e` or nothing, which means all eight.
fn range(text: &str, first: u8) -> Option<[u8; 2]> {
    let number = |letter: u8| letter.checked_sub(first).filter(|number| *number < 8);
    match *text.as_bytes() {
        [] => Some([0, 7]),
        [one] => Some([number(one)?; 2]),
        [one, b'-', other] => Some([number(one)?, number(other)?]),
        _ => None,
    }
}

fn rectangle(files: [u8; 2], ranks: [u8; 2]) -> Option<u64> {
    let is_in = |[one, other]: [u8; 2], number: u8| one <= number && number <= other;
    let squares = Square::each(u64::MAX);
    let set = squares.filter(|it| is_in(files, it.file()) && is_in(ranks, it.rank()));
    Some(set.fold(0, |set, square| set | square.bit())).filter(|set| *set != 0)
}

/// One square of a rank in a pattern, or several.
#[derive(Copy, Clone, PartialEq)]
enum Cell {
    /// A square of no interest.
    Free,
    /// A square that has one of these pieces, or that has none of them.
    Piece { pieces: Pieces, is_forbidden: bool },
    /// Any number of squares of no interest.
    Star,
}

const EMPTY: Cell = Cell::Piece { pieces: Pieces::ANY, is_forbidden: true };

#[derive(Copy, Clone, PartialEq)]
pub(super) enum Dialect {
    /// Digits are squares of no interest.
    Board,
    /// Digits are empty squares, `*` any number of squares, as in pgn-extract.
    FenPattern,
}

/// Parses a placement with wildcards.
pub(super) fn placement(text: &str, dialect: Dialect) -> Parsed<BoardTest> {
    let mut fixed: Vec<Requirement> = Vec::new();
    let mut tests = Vec::new();
    let mut place = 0;
    let ranks: Vec<&str> = text.split('/').collect();
    if ranks.len() != 8 {
        let found = ranks.len();
        return Err((0, format!("expected eight ranks with / between them, found {found}")));
    }
    for (rank, written) in (0..8).rev().zip(ranks) {
        let cells = cells(written, dialect).map_err(|(at, message)| (place + at, message))?;
        let mut ways = Vec::new();
        spread(&cells, &mut Vec::new(), &mut ways);
        match &ways[..] {
            [] => {
                let count = cells.iter().filter(|cell| **cell != Cell::Star).count();
                return Err((place, format!("rank {} has {count} squares, not 8", rank + 1)));
            }
            [only] => add_rank(&mut fixed, only, rank),
            several => {
                tests.push(BoardTest::Or(several.iter().map(|way| of_rank(way, rank)).collect()))
            }
        }
        place += written.chars().count() + 1;
    }
    // The requirements that fail most often come first.
    fixed.sort_by_key(|it| it.is_forbidden || !matches!(it.pieces, Pieces::One(..)));
    tests.insert(0, BoardTest::Pattern(fixed));
    Ok(if tests.len() == 1 { tests.remove(0) } else { BoardTest::And(tests) })
}

fn cells(text: &str, dialect: Dialect) -> Parsed<Vec<Cell>> {
    let mut cells: Vec<Cell> = Vec::new();
    let mut letters = text.chars().enumerate();
    while let Some((place, letter)) = letters.next() {
        let cell = match letter {
            '1'..='8' => {
                let cell = if dialect == Dialect::Board { Cell::Free } else { EMPTY };
                cells.extend(std::iter::repeat_n(cell, letter as usize - '0' as usize));
                continue;
            }
            '?' => Cell::Free,
            '_' => EMPTY,
            '!' => Cell::Piece { pieces: Pieces::ANY, is_forbidden: false },
            '*' if dialect == Dialect::FenPattern => Cell::Star,
            'm' if dialect == Dialect::FenPattern => {
                let pawns = Pieces::One(Color::White, Role::Pawn);
                let pieces = pawns.and(Pieces::One(Color::Black, Role::Pawn));
                Cell::Piece { pieces, is_forbidden: true }
            }
            '*' => {
                return Err((
                    place,
                    "`*` has no meaning in board(): write ? or digits, or use fenpattern()".into(),
                ));
            }
            ' ' => {
                return Err((
                    place,
                    "only the placement of the pieces is expected, without other fields".into(),
                ));
            }
            '[' => {
                let list: String =
                    letters.by_ref().map(|(_, it)| it).take_while(|it| *it != ']').collect();
                if !text.chars().skip(place + 1 + list.chars().count()).any(|it| it == ']') {
                    return Err((place, "this `[` is not closed".into()));
                }
                let (list, is_forbidden) = match list.strip_prefix('^') {
                    Some(list) => (list.to_string(), true),
                    None => (list, false),
                };
                let first = place + 1 + usize::from(is_forbidden);
                if let Some(at) = list.chars().position(|it| it == '!') {
                    return Err((first + at, format!("`!` is not {PIECES}")));
                }
                let pieces = pieces(&list).map_err(|(at, message)| (first + at, message))?;
                Cell::Piece { pieces, is_forbidden }
            }
            letter => {
                let pieces = piece(letter);
                let wildcards = if dialect == Dialect::Board { "? _ ! [" } else { "? ! * m [" };
                let pieces = pieces.ok_or_else(|| {
                    (
                        place,
                        format!(
                            "`{letter}` is neither {PIECES}, nor a digit or one of {wildcards}"
                        ),
                    )
                })?;
                Cell::Piece { pieces, is_forbidden: false }
            }
        };
        // Two stars mean the same as one.
        if cell != Cell::Star || cells.last() != Some(&Cell::Star) {
            cells.push(cell);
        }
        if cells.len() > 17 {
            return Err((place, "a rank has 8 squares".into()));
        }
    }
    Ok(cells)
}

/// Adds all ranks of eight squares that the cells may stand for. There are at most 70: with N squares between
/// stars, each of the other 8 - N belongs to one of the stars.
fn spread(cells: &[Cell], before: &mut Vec<Cell>, ways: &mut Vec<Vec<Cell>>) {
    let Some((first, rest)) = cells.split_first() else {
        if before.len() == 8 {
            ways.push(before.clone());
        }
        return;
    };
    let needed = rest.iter().filter(|cell| **cell != Cell::Star).count();
    let start = before.len();
    if *first != Cell::Star {
        if start < 8 {
            before.push(*first);
            spread(rest, before, ways);
            before.truncate(start);
        }
        return;
    }
    // If no star follows, this one takes all squares that are left.
    let left = (8_usize).saturating_sub(start + needed);
    let least = if rest.contains(&Cell::Star) { 0 } else { left };
    if start + needed > 8 {
        return;
    }
    for count in least..=left {
        before.extend(std::iter::repeat_n(Cell::Free, count));
        spread(rest, before, ways);
        before.truncate(start);
    }
}

fn of_rank(cells: &[Cell], rank: u8) -> BoardTest {
    let mut all = Vec::new();
    add_rank(&mut all, cells, rank);
    BoardTest::Pattern(all)
}

/// Adds the requirements of a rank. Squares with the same requirement share one mask.
fn add_rank(all: &mut Vec<Requirement>, cells: &[Cell], rank: u8) {
    for (file, cell) in (0..8).zip(cells) {
        let Cell::Piece { pieces, is_forbidden } = *cell else { continue };
        let square = Square::at(file, rank).bit();
        let is_same =
            |it: &&mut Requirement| it.pieces == pieces && it.is_forbidden == is_forbidden;
        match all.iter_mut().find(is_same) {
            Some(requirement) => requirement.squares |= square,
            None => all.push(Requirement { pieces, squares: square, is_forbidden }),
        }
    }
}

/// Parses material such as `RPP v R`. The first side is that of `side`; either if `side` is `None`.
pub(super) fn material(text: &str, side: Option<Color>) -> Parsed<BoardTest> {
    // A bare king needs no letter.
    let padded = format!(" {text} ");
    let Some((own, other)) = padded.split_once(" v ") else {
        return Err((0, "expected the pieces of two sides, as in 'RPP v R' or 'Q v RR'".into()));
    };
    let [own, other] = [own.trim_start(), other.trim_end()];
    let place = text.chars().count() - other.chars().count();
    let own = roles(own)?;
    let other = roles(other).map_err(|(at, message)| (place + at, message))?;
    let test = |color: Color| {
        let both = [(color, own), (!color, other)];
        let of_role = |role: Role| both.map(|(color, counts)| (color, role, counts[role as usize]));
        // The numbers of pawns differ most often, and come first.
        let roles = Role::ALL.into_iter().filter(|role| *role != Role::King);
        BoardTest::Exactly(roles.flat_map(of_role).collect())
    };
    Ok(match side {
        Some(color) => test(color),
        None if own == other => test(Color::White),
        None => BoardTest::Or(Color::ALL.map(test).into()),
    })
}

/// Counts roles by their letters. A king may be written, but is not needed.
fn roles(text: &str) -> Parsed<[u32; 6]> {
    let mut counts = [0; 6];
    for (place, letter) in text.chars().enumerate() {
        let role = u8::try_from(letter).ok().and_then(Role::from_letter);
        let role = role
            .ok_or_else(|| (place, format!("`{letter}` is not one of the letters K Q R B N P")))?;
        counts[role as usize] += 1;
    }
    Ok(counts)
}

/// The exact material of the field `material`, whose letters are known to be right.
pub(super) fn exact_material(text: &[u8]) -> BoardTest {
    let count = |piece: Piece| text.iter().filter(|it| **it == piece.letter()).count() as u32;
    let counts = Role::ALL
        .into_iter()
        .flat_map(|role| Color::ALL.map(|color| (color, role, count(Piece { color, role }))));
    BoardTest::Exactly(counts.collect())
}

/// Parses castling rights: letters of `KQkq`.
pub(super) fn castling(text: &str) -> Parsed<BoardTest> {
    let mut rights = Vec::new();
    for (place, letter) in text.chars().enumerate() {
        rights.push(match letter {
            'K' => (Color::White, Side::King),
            'Q' => (Color::White, Side::Queen),
            'k' => (Color::Black, Side::King),
            'q' => (Color::Black, Side::Queen),
            _ => return Err((place, format!("`{letter}` is not one of the rights K Q k q"))),
        });
    }
    if rights.is_empty() {
        Err((0, "expected one or more of the rights K Q k q".into()))
    } else {
        Ok(BoardTest::Castling(rights))
    }
}
