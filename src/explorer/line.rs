//! Lines: a start position and moves.

use std::io::Read;

use crate::Refusal;
use epdb_chess::model::rules::{Move, Playable};
use epdb_chess::model::{Counters, EpdRecord, Game, Position, Replay, Start};
use epdb_chess::text::epd::{self, Line};
use epdb_chess::text::pgn::{GameReader, PgnReadOptions};
use epdb_chess::text::{ParseOptions, PositionLine, Profile, parse_moves};

/// Maximum number of moves, more than any game has.
const MAX_MOVES: usize = 20_000;

/// A start position and moves.
#[derive(Clone, Debug)]
pub struct ParsedLine {
    start: Start,
    line: PositionLine,
}

impl ParsedLine {
    /// Parses a FEN, by default the start array, and moves separated by commas.
    ///
    /// # Errors
    /// The text is not a position, or has a move that is not legal.
    pub fn parse(fen: Option<&str>, play: &str) -> Result<ParsedLine, Refusal> {
        let fen = fen.unwrap_or_default();
        let start = if fen.trim().is_empty() { Start::ARRAY } else { parse_start(fen)? };
        ParsedLine::from_moves(start, &play.replace(',', " "))
    }

    fn from_moves(start: Start, moves: &str) -> Result<ParsedLine, Refusal> {
        let text = format!("{} moves {moves}", start.position);
        let refuse = |error: epdb_chess::text::Diagnostic| Refusal::bad_request(error.message);
        let line = PositionLine::parse(text.as_bytes(), &ParseOptions::new(Profile::Lenient));
        let line = line.map_err(refuse)?.ok_or_else(|| Refusal::bad_request("no position"))?;
        if line.moves().len() > MAX_MOVES {
            return Err(Refusal::bad_request(format!("more than {MAX_MOVES} moves")));
        }
        Ok(ParsedLine { start, line })
    }

    /// Parses typed text: a FEN or EPD, moves to continue from this position, moves from the start array
    /// with their numbers from 1, or a game in PGN.
    pub(crate) fn read_on(&self, text: &str) -> Result<ParsedLine, Refusal> {
        let text = text.trim().trim_matches('"').trim();
        if text.is_empty() {
            return Err(Refusal::bad_request("type a move, a FEN, or a game in PGN"));
        }
        let from_start = text.starts_with("1.") || text.starts_with("startpos");
        let on = parse_moves(self.line.end(), text.as_bytes(), Profile::Lenient);
        if let Ok(on) = &on
            && !from_start
        {
            return self.played_on(on);
        }
        if let Ok(line) = parse_whole(text) {
            return Ok(line);
        }
        if is_like_fen(text) {
            parse_start(text)?;
            return Err(Refusal::bad_request("not a FEN that can be played from"));
        }
        if let Some(game) = parse_game(text) {
            let moves: Vec<String> = game.main_line().map(|mv| mv.to_string()).collect();
            return ParsedLine::from_moves(*game.start(), &moves.join(" "));
        }
        let why = on.err().map(|error| error.message).unwrap_or_default();
        Err(Refusal::bad_request(format!("neither a move here, nor a FEN or a game: {why}")))
    }

    fn played_on(&self, moves: &[Move]) -> Result<ParsedLine, Refusal> {
        let all = self.line.coordinates().iter().chain(moves);
        let all: Vec<String> = all.map(Move::to_string).collect();
        ParsedLine::from_moves(self.start, &all.join(" "))
    }

    /// The start and the moves.
    pub(crate) const fn line(&self) -> &PositionLine {
        &self.line
    }

    /// The final position.
    pub fn end(&self) -> &Position {
        self.line.end()
    }

    /// The final position, if it is playable.
    ///
    /// # Errors
    /// The position is not playable.
    pub fn playable(&self) -> Result<Playable, Refusal> {
        Playable::new(self.end())
            .map_err(|error| Refusal::bad_request(format!("bad request: {error}")))
    }

    /// The six-field FEN of each position, from the start to the end.
    pub(crate) fn fens(&self) -> Vec<String> {
        let mut replay = Replay::new(&self.start);
        let mut fens = vec![fen(&self.start.position, self.start.counters)];
        for (place, &mv) in self.line.coordinates().iter().enumerate() {
            let Some((replay, position)) = replay.as_mut().zip(self.line.position(place + 1))
            else {
                break;
            };
            replay.play(mv);
            let counters = Counters {
                halfmove_clock: replay.halfmove_clock(),
                fullmove_number: replay.fullmove_number(),
            };
            fens.push(fen(position, counters));
        }
        fens
    }

    /// A move number in PGN, such as `12.` or `12...`.
    pub(crate) fn number_of(&self, ply: usize) -> String {
        let turn = self.start.position.turn() as usize;
        let number = self.start.counters.fullmove_number as usize + (ply + turn) / 2;
        let dots = if (ply + turn).is_multiple_of(2) { "." } else { "..." };
        format!("{number}{dots}")
    }
}

/// Whether a text looks like a FEN: its first word has the slashes of ranks.
fn is_like_fen(text: &str) -> bool {
    let placement = text.split_ascii_whitespace().next().unwrap_or_default();
    placement.matches('/').count() >= 3
}

/// The FEN with six fields, with an en passant square only if a capture is legal.
fn fen(position: &Position, counters: Counters) -> String {
    let Counters { halfmove_clock, fullmove_number } = counters;
    format!("{} {halfmove_clock} {fullmove_number}", position.identity())
}

/// Parses a FEN or an EPD, optionally followed by moves, or moves from the start array.
fn parse_whole(text: &str) -> Result<ParsedLine, Refusal> {
    let options = ParseOptions::new(Profile::Lenient);
    let Ok(Some(line)) = PositionLine::parse(text.as_bytes(), &options) else {
        return Err(Refusal::bad_request("no position"));
    };
    let position = line.position(0).copied().unwrap_or(Position::START);
    let before_moves = text.split(" moves ").next().unwrap_or(text);
    let counters = parse_start(before_moves).map_or(Counters::default(), |start| start.counters);
    let start = Start { position, counters };
    Ok(ParsedLine { start, line })
}

fn parse_start(fen: &str) -> Result<Start, Refusal> {
    let fen = fen.replace('_', " ");
    let options = ParseOptions::new(Profile::Lenient);
    let record = match epd::parse_line(fen.as_bytes(), &options, &mut Vec::new()) {
        Ok(Line::Record(record)) => record,
        Ok(Line::Blank | Line::Comment) => return Err(Refusal::bad_request("no position")),
        Err(error) => return Err(Refusal::bad_request(format!("invalid fen: {}", error.message))),
    };
    Ok(Start { position: *record.position(), counters: counters_of(&record) })
}

fn counters_of(record: &EpdRecord) -> Counters {
    let usual = Counters::default();
    let (clock, number) = record.counters();
    Counters {
        halfmove_clock: clock.unwrap_or(usual.halfmove_clock),
        fullmove_number: number.unwrap_or(usual.fullmove_number),
    }
}

/// The first game of a text, if it has no errors.
fn parse_game(text: &str) -> Option<Game> {
    let options = PgnReadOptions { truncate: Some(false), ..Default::default() };
    let text: &mut dyn Read = &mut text.as_bytes();
    let mut reader = GameReader::new(text, options);
    let game = reader.next_game().ok()??.game.ok()?.clone();
    let is_playable = Playable::new(&game.start().position).is_ok();
    (is_playable && game.main_line().next().is_some()).then_some(game)
}
