//! Records and games by year, rating, opening, ply and score, for the charts of a page of statistics.
//!
//! ```
//! use epdb_library::breakdown::Breakdown;
//! let mut breakdown = Breakdown::default();
//! let record = b"4k3/8/8/8/4P3/8/8/4K3 b - - ce -30; c9 \"1-0\"; ptp ECO \"B20\" Date \"1995.??.??\";";
//! breakdown.add_record(&epdb_chess::parse_epd(record)?, None);
//! assert_eq!(breakdown.results_by_year[&1995].white, 1);
//! assert_eq!(breakdown.openings["B20"].counts.white, 1);
//! assert_eq!(breakdown.scores[&30], 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::collections::BTreeMap;

use super::field::{BuiltinField, Field};
use super::game_tag::Tags;
use super::names::split_name;
use super::value::{EvalContext, Number, Value, record_of_game};
use epdb_chess::codec::query::Query;
use epdb_chess::error::{Error, Result};
use epdb_chess::model::score::Score;
use epdb_chess::model::{
    Cell, Color, Element, EpdRecord, Game, GameCounts, Opcode, Position, Replay, Start, Tally,
};
use epdb_chess::text::pgn::{self, GamePosition, PositionOptions};
use epdb_source::Lookup;

/// Maximum number of openings that are counted one by one, to bound the memory.
const MAX_OPENINGS: usize = 10_000;
/// Maximum number of plies of the most-played line of a library.
const LINE_PLIES: usize = 16;
/// Maximum score in centipawns, for either side. Larger scores count as this score.
const MAX_SCORE: i32 = 1000;
/// Maximum ply. Later plies count as this ply.
const MAX_PLY: u32 = 600;
const RATING_GROUP: u16 = 100;

/// Games by result.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct Results {
    /// Number of games that White won.
    pub white: u64,
    /// Number of drawn games.
    pub draws: u64,
    /// Number of games that Black won.
    pub black: u64,
    /// Number of games with an unknown result.
    pub unknown: u64,
}

impl Results {
    /// All games.
    pub const fn games(&self) -> u64 {
        self.white + self.draws + self.black + self.unknown
    }

    /// Games with a result.
    pub const fn known(&self) -> u64 {
        self.white + self.draws + self.black
    }

    /// Adds the games of other results.
    pub fn add(&mut self, other: Results) {
        self.white += other.white;
        self.draws += other.draws;
        self.black += other.black;
        self.unknown += other.unknown;
    }
}

impl From<&GameCounts> for Results {
    fn from(counts: &GameCounts) -> Results {
        let GameCounts { white, draws, black, unknown, .. } = *counts;
        Results { white, draws, black, unknown }
    }
}

/// An opening, or a first move.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct OpeningResults {
    /// Results of the games, or records, with the opening.
    pub counts: Results,
    /// Number of games or records by year, without those of an unknown year.
    pub by_year: BTreeMap<u16, u64>,
}

/// Counts of records or games. If a property is unknown for all records and games, its map is
/// empty.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Breakdown {
    /// All records, or games.
    pub all: Results,
    /// Results by year, of records or games whose year is known.
    pub results_by_year: BTreeMap<u16, Results>,
    /// Results by rating group. The key is the lower bound of the group. The mean rating of the two players
    /// decides the group of a game.
    pub results_by_rating: BTreeMap<u16, Results>,
    /// Results by opening. The key is the name of the opening or, if it has no name, its ECO code.
    pub openings: BTreeMap<String, OpeningResults>,
    /// Games of libraries by first move.
    pub first_moves: BTreeMap<String, OpeningResults>,
    /// The moves of the most-played line of libraries, from the start position on. Each move has
    /// the results of the games in which it was played.
    pub line: Vec<(String, Results)>,
    /// Number of scores by White's score in centipawns, −1000 to 1000.
    pub scores: BTreeMap<i32, u64>,
    /// Number of scores by ply, and by White's score in centipawns.
    pub scores_by_ply: BTreeMap<u32, BTreeMap<i32, u64>>,
    /// Number of records by the depth of their analysis.
    pub depths: BTreeMap<u64, u64>,
    /// Number of records by ply.
    pub plies: BTreeMap<u32, u64>,
    /// Number of games by their number of plies.
    pub lengths: BTreeMap<u32, u64>,
}

impl Breakdown {
    /// Counts a record, which may be a position of a game.
    pub fn add_record(&mut self, record: &EpdRecord, game: Option<GamePosition<'_>>) {
        let ply = ply(record);
        if let Some(ply) = ply {
            *self.plies.entry(ply).or_default() += 1;
        }
        self.add_score(record, ply);
        if game.is_some() || !record.operations().is_empty() {
            self.add_facts(&EvalContext { game, ..EvalContext::from_record(record) }, Color::White);
        }
    }

    /// Counts a game, and the evaluations in its comments.
    pub fn add_game(&mut self, game: &Game) {
        self.add_tags(game, Color::White);
        let length = game.plies().count().min(MAX_PLY as usize) as u32;
        *self.lengths.entry(length).or_default() += 1;
        if game.elements().any(|element| matches!(element, Element::Comment(_))) {
            for record in
                pgn::positions(game, &PositionOptions { evaluations: true, ..Default::default() })
            {
                self.add_score(&record, ply(&record));
            }
        }
    }

    /// Counts the tags of a game, and returns its result. If the side is Black, `white` counts games that Black
    /// won.
    pub(crate) fn add_tags(&mut self, game: &Game, side: Color) -> Results {
        let is_of_position = false;
        let (record, position) = record_of_game(game, is_of_position);
        let subject = EvalContext { game: Some(position), ..EvalContext::from_record(&record) };
        self.add_facts(&subject, side)
    }

    /// Counts games of a tally in which a move was played.
    pub fn add_visits(&mut self, cell: &Cell, counts: Results) {
        self.all.add(counts);
        if let Some(year) = cell.year {
            self.results_by_year.entry(year).or_default().add(counts);
        }
        if let Some(rating) = cell.rating {
            self.results_by_rating.entry(rating).or_default().add(counts);
        }
    }

    /// Counts the games of libraries. The numbers come from the tallies of the start position, and
    /// of the later positions of the most-played line.
    ///
    /// # Errors
    /// A library is damaged.
    pub fn add_libraries(&mut self, libraries: &[&dyn Lookup]) -> Result<()> {
        let Some(mut replay) = Replay::new(&Start::ARRAY) else { return Ok(()) };
        let root = tally_at(libraries, replay.position())?;
        for part in root.parts() {
            for one in &part.moves {
                let counts = Results::from(&one.counts);
                self.add_visits(&part.cell, counts);
                let opening = self.first_moves.entry(format!("1. {}", one.san)).or_default();
                opening.counts.add(counts);
                if let Some(year) = part.cell.year {
                    *opening.by_year.entry(year).or_default() += counts.games();
                }
            }
        }
        let mut tally = root;
        while self.line.len() < LINE_PLIES {
            let total = tally.total();
            let Some(most_played) = total.moves.first() else { break };
            let dots = if replay.position().turn() == Color::White { ". " } else { "..." };
            let name = format!("{}{dots}{}", replay.fullmove_number(), most_played.san);
            self.line.push((name, Results::from(&most_played.counts)));
            replay.play(most_played.mv);
            tally = tally_at(libraries, replay.position())?;
        }
        Ok(())
    }

    fn add_facts(&mut self, subject: &EvalContext<'_>, side: Color) -> Results {
        let number = |field| match Field::BuiltinField(field).value(subject) {
            Value::Number(Number::Whole(value)) => u16::try_from(value).ok(),
            Value::Number(Number::Fraction(value)) => Some(value as u16),
            _ => None,
        };
        let mut results = Results::default();
        match Field::BuiltinField(BuiltinField::Result).value(subject) {
            Value::Number(Number::Fraction(1.0)) => results.white = 1,
            Value::Number(Number::Fraction(0.5)) => results.draws = 1,
            Value::Number(Number::Fraction(0.0)) => results.black = 1,
            _ => results.unknown = 1,
        }
        if side == Color::Black {
            std::mem::swap(&mut results.white, &mut results.black);
        }
        self.all.add(results);
        let year = number(BuiltinField::Year);
        if let Some(year) = year {
            self.results_by_year.entry(year).or_default().add(results);
        }
        if let Some(rating) = number(BuiltinField::EloAverage) {
            let group = rating - rating % RATING_GROUP;
            self.results_by_rating.entry(group).or_default().add(results);
        }
        let Some(name) = opening(subject) else { return results };
        if self.openings.len() >= MAX_OPENINGS && !self.openings.contains_key(&name) {
            return results;
        }
        let opening = self.openings.entry(name).or_default();
        opening.counts.add(results);
        if let Some(year) = year {
            *opening.by_year.entry(year).or_default() += 1;
        }
        results
    }

    fn add_score(&mut self, record: &EpdRecord, ply: Option<u32>) {
        let depth = record.text_of(Opcode::ACD).and_then(|text| String::from_utf8(text).ok());
        if let Some(depth) = depth.and_then(|text| text.parse::<u64>().ok()) {
            *self.depths.entry(depth.min(MAX_PLY.into())).or_default() += 1;
        }
        let Some(score) = record.integer(Opcode::CE).and_then(|ce| Score::from_ce(ce).ok()) else {
            return;
        };
        let own = match score {
            Score::Centipawns(score) => score.clamp(-MAX_SCORE, MAX_SCORE),
            Score::Mates(_) => MAX_SCORE,
            Score::Mated(_) | Score::Checkmated => -MAX_SCORE,
            Score::Illegal => return,
        };
        let score = if record.position().turn() == Color::White { own } else { -own };
        *self.scores.entry(score).or_default() += 1;
        if let Some(ply) = ply {
            *self.scores_by_ply.entry(ply).or_default().entry(score).or_default() += 1;
        }
    }
}

/// Number of plies before the position, computed from the fullmove number.
fn ply(record: &EpdRecord) -> Option<u32> {
    let (_, fullmove_number) = record.counters();
    let blacks = u32::from(record.position().turn() == Color::Black);
    Some(fullmove_number?.checked_sub(1)?.saturating_mul(2).saturating_add(blacks).min(MAX_PLY))
}

/// The opening of a record or its game: the part of the opening's name before the variation or, if
/// there is no name, the ECO code.
fn opening(subject: &EvalContext<'_>) -> Option<String> {
    let tags = Tags::new(subject);
    let text = |tag: &str, opcode: Opcode| {
        let own = || subject.record.text_of(opcode).filter(|text| !text.is_empty());
        let text = tags.get(tag).map(<[u8]>::to_vec).or_else(own)?;
        Some(String::from_utf8_lossy(&text).into_owned())
    };
    let family =
        |name: String| split_name(&name).map_or(name.clone(), |(opening, _)| opening.into());
    text("Opening", Opcode::V0).map(family).or_else(|| text("ECO", Opcode::ECO))
}

fn tally_at(libraries: &[&dyn Lookup], position: &Position) -> Result<Tally> {
    let mut all = Tally::default();
    for library in libraries {
        let found = library.records(&[Query::from(position)], &|_| false)?;
        for record in found.iter().flatten() {
            if let Some(tally) = record.operands(Opcode::TALLY).and_then(Tally::from_operands) {
                all.add(tally).map_err(Error::from_cause)?;
            }
        }
    }
    Ok(all)
}
