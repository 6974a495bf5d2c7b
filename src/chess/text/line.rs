//! Positions in user input: a FEN, or the moves that lead to a position.

use super::codes;
use super::diagnostic::{Diagnostic, shown};
use super::epd::{Line, parse_line};
use super::options::{ParseOptions, Profile};
use super::san::{self, SanRead};
use crate::model::rules::{Move, Playable};
use crate::model::{Position, San};

/// A position and, if they were given, the moves that lead to it.
///
/// ```
/// use epdb_chess::text::{ParseOptions, PositionLine, Profile};
/// let options = ParseOptions::new(Profile::Lenient);
/// let same = ["e4 c5 Nf3", "1. e4 c5 2. Nf3", "startpos moves e2e4 c7c5 g1f3"];
/// for text in same {
///     let line = PositionLine::parse(text.as_bytes(), &options)?.expect("no blank line");
///     assert_eq!(line.moves().len(), 3);
///     assert_eq!(
///         line.end().to_string(),
///         "rnbqkbnr/pp1ppppp/8/2p5/4P3/5N2/PPPP1PPP/RNBQKB1R b KQkq -"
///     );
/// }
/// # Ok::<(), epdb_chess::text::Diagnostic>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PositionLine {
    /// The first position of the line.
    start: Position,
    moves: Vec<San>,
    /// The moves of the line in coordinates.
    coordinates: Vec<Move>,
    after: Vec<Position>,
}

impl PositionLine {
    /// Makes a position without moves before it.
    pub const fn new(start: Position) -> PositionLine {
        PositionLine { start, moves: Vec::new(), coordinates: Vec::new(), after: Vec::new() }
    }

    /// Parses a position. The text is a FEN or EPD, optionally followed by the word `moves` and
    /// moves. It may also be just moves from the start array, with or without move numbers.
    /// Operations are ignored. Returns `None` for a blank line or a comment.
    ///
    /// # Errors
    /// The error of the EPD reader. If the text begins with a move (even an illegal one), the error
    /// is about the first word that is not a legal move.
    pub fn parse(text: &[u8], options: &ParseOptions) -> Result<Option<PositionLine>, Diagnostic> {
        if let Some(place) = moves_behind(text, options) {
            let Some(mut line) = parse_epd_line(&text[..place.start], options)? else {
                return Ok(None);
            };
            line.play(text, place.end, options.profile)?;
            return Ok(Some(line));
        }
        let error = match parse_epd_line(text, options) {
            Ok(line) => return Ok(line),
            Err(error) => error,
        };
        let mut line = PositionLine::new(Position::START);
        let played = line.play(text, 0, options.profile);
        let is_illegal = played.as_ref().is_err_and(|found| found.code == codes::E_MOVE_ILLEGAL);
        // A move number alone is no line of moves either.
        let has_move = !line.moves.is_empty() || is_illegal;
        if has_move {
            return played.map(|()| Some(line));
        }
        let is_fen = error.code != codes::E_EPD_FIELDS || text.contains(&b'/');
        if is_fen {
            return Err(error);
        }
        let message = format!("{} is neither a FEN nor moves", shown(text.trim_ascii()));
        Err(Diagnostic::error(error.code, error.column, message))
    }

    /// Parses moves from the start array, with or without move numbers.
    ///
    /// # Errors
    /// The first word that is not a legal move.
    pub fn parse_moves(text: &[u8], profile: Profile) -> Result<PositionLine, Diagnostic> {
        let mut line = PositionLine::new(Position::START);
        line.play(text, 0, profile)?;
        Ok(line)
    }

    /// The position after all moves.
    pub fn end(&self) -> &Position {
        self.after.last().unwrap_or(&self.start)
    }

    /// The moves of the line.
    pub fn moves(&self) -> &[San] {
        &self.moves
    }

    /// The moves in coordinates, with castling as the king taking its rook.
    pub fn coordinates(&self) -> &[Move] {
        &self.coordinates
    }

    /// Returns the position after the first `moves` moves; `None` if the line has fewer moves.
    pub fn position(&self, moves: usize) -> Option<&Position> {
        match moves.checked_sub(1) {
            None => Some(&self.start),
            Some(place) => self.after.get(place),
        }
    }

    /// Plays the moves of a text, beginning at the byte `from`.
    fn play(&mut self, text: &[u8], from: usize, profile: Profile) -> Result<(), Diagnostic> {
        let played = each_move(*self.end(), text, from, profile, &mut |read| {
            self.moves.push(read.san);
            self.coordinates.push(read.mv);
            self.after.push(*read.after.position());
        });
        played.map_err(|error| self.with_position(text, error))
    }

    /// Adds the position to the error of a move that is not legal.
    fn with_position(&self, text: &[u8], error: Diagnostic) -> Diagnostic {
        let word = text.get(error.column.saturating_sub(1)..).unwrap_or_default();
        let Some(mv) = word.split(u8::is_ascii_whitespace).next() else { return error };
        if error.code != codes::E_MOVE_ILLEGAL {
            return error;
        }
        let position = if *self.end() == Position::START {
            "the start position".to_string()
        } else {
            self.end().to_string()
        };
        let message = format!("{} is not legal in {position}", shown(mv));
        Diagnostic::error(error.code, error.column, message)
    }
}

/// Parses moves from a position, with or without move numbers, as in `1. e4 c5`.
///
/// ```
/// use epdb_chess::model::Position;
/// use epdb_chess::text::{Profile, parse_moves};
/// let moves = parse_moves(&Position::START, b"1. e4 c7c5 2.Nf3", Profile::Lenient)?;
/// let moves: Vec<_> = moves.iter().map(ToString::to_string).collect();
/// assert_eq!(moves, ["e2e4", "c7c5", "g1f3"]);
/// # Ok::<(), epdb_chess::text::Diagnostic>(())
/// ```
///
/// # Errors
/// The first word that is not a legal move, and the reason.
pub fn parse_moves(
    start: &Position,
    text: &[u8],
    profile: Profile,
) -> Result<Vec<Move>, Diagnostic> {
    let mut moves = Vec::new();
    each_move(*start, text, 0, profile, &mut |read| moves.push(read.mv))?;
    Ok(moves)
}

/// Calls a function with each move of a text, beginning at the byte `from`.
fn each_move(
    mut position: Position,
    text: &[u8],
    from: usize,
    profile: Profile,
    take: &mut dyn FnMut(SanRead),
) -> Result<(), Diagnostic> {
    let mut at = from;
    for word in text[from..].split(u8::is_ascii_whitespace) {
        let mv = without_number(word);
        let column = at + word.len() - mv.len() + 1;
        at += word.len() + 1;
        if mv.is_empty() {
            continue;
        }
        let refuse =
            |code, why: &str| Diagnostic::error(code, column, format!("{}: {why}", shown(mv)));
        let playable = Playable::new(&position)
            .map_err(|error| refuse(codes::E_MOVE_ILLEGAL, &error.to_string()))?;
        let read = san::parse(&playable, mv, profile)
            .map_err(|error| refuse(error.code, error.message))?;
        position = *read.after.position();
        take(read);
    }
    Ok(())
}

fn parse_epd_line(text: &[u8], options: &ParseOptions) -> Result<Option<PositionLine>, Diagnostic> {
    Ok(match parse_line(text, options, &mut Vec::new())? {
        Line::Record(record) => Some(PositionLine::new(*record.position())),
        Line::Blank | Line::Comment => None,
    })
}

/// Finds the word `moves` between a position and the moves to play. In a line with operations the
/// word does not have this meaning.
fn moves_behind(text: &[u8], options: &ParseOptions) -> Option<std::ops::Range<usize>> {
    const WORD: &[u8] = b" moves ";
    let has_operations = memchr::memchr2(b';', b'"', text).is_some();
    if options.profile != Profile::Lenient || options.keep_moves || has_operations {
        return None;
    }
    let start = memchr::memmem::find(text, WORD)?;
    Some(start..start + WORD.len())
}

/// Removes a move number from the start of a word: `2.Nf3` becomes `Nf3`, and `2...` becomes empty.
fn without_number(word: &[u8]) -> &[u8] {
    let digits = word.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let dots = word[digits..].iter().take_while(|&&byte| byte == b'.').count();
    let is_number = dots > 0 || digits == word.len();
    if is_number { &word[digits + dots..] } else { word }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn read(text: &str) -> Result<Option<PositionLine>, Diagnostic> {
        PositionLine::parse(text.as_bytes(), &ParseOptions::new(Profile::Lenient))
    }

    fn end(text: &str) -> String {
        read(text).unwrap().unwrap().end().to_string()
    }

    #[test]
    fn positions_are_read_in_every_form() {
        let start = Position::START.to_string();
        for text in
            [&*start, "startpos", "position startpos", &format!("{start} 0 1"), "startpos moves "]
        {
            assert_eq!(end(text), start, "{text}");
        }
        let castled = "r1bqk1nr/pppp1ppp/2n5/2b1p3/2B1P3/5N2/PPPP1PPP/RNBQ1RK1 b kq -";
        for text in [
            "e4 e5 Nf3 Nc6 Bc4 Bc5 O-O",
            "1. e4 e5 2. Nf3 Nc6 3. Bc4 Bc5 4. 0-0",
            "1.e4 e5 2.Nf3! Nc6 3.Bc4 3...Bc5 4.O-O",
            "e2e4 e7e5 g1f3 b8c6 f1c4 f8c5 e1g1",
            "position startpos moves e2e4 e7e5 g1f3 b8c6 f1c4 f8c5 e1g1",
            "r1bqk1nr/pppp1ppp/2n5/2b1p3/2B1P3/5N2/PPPP1PPP/RNBQK2R w KQkq - 4 4 moves e1g1",
        ] {
            assert_eq!(end(text), castled, "{text}");
        }
        assert_eq!(read(""), Ok(None));
        assert_eq!(read("# comment"), Ok(None));
    }

    #[test]
    fn the_positions_on_the_way_are_kept() {
        let line = read("1. e4 c5").unwrap().unwrap();
        let moves: Vec<String> = line.moves().iter().map(ToString::to_string).collect();
        assert_eq!(moves, ["e4", "c5"]);
        assert_eq!(line.position(0), Some(&Position::START));
        assert_eq!(line.position(2), Some(line.end()));
        assert_eq!(line.position(3), None);
    }

    #[test]
    fn errors_say_which_word_is_no_move() {
        for number in ["5", "7.", "1..."] {
            let error = read(number).unwrap_err();
            assert!(error.message.contains("is neither a FEN nor moves"), "{error:?}");
        }
        let later = read("1. e4 e5 2.Ke3").unwrap_err();
        assert_eq!((later.code, later.column), (codes::E_MOVE_ILLEGAL, 12));
        let behind = read("startpos moves e2e4 e2e4").unwrap_err();
        assert_eq!((behind.code, behind.column), (codes::E_MOVE_ILLEGAL, 21));
        assert_eq!(read("nonsense").unwrap_err().code, codes::E_EPD_FIELDS);
    }
}
