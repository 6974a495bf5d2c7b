//! The object that `explore --json` prints: the shape of the opening explorer of lichess.org, and
//! more. What is not known is left out.

use std::collections::BTreeMap;

use serde::Serialize;

use super::shown::Shown;
use crate::cli::json;
use crate::library::explore::{Entry, Explored, MoveRow, ParentRow, performance};
use crate::library::names::OpeningName;
use crate::model::{Color, GameCounts};

/// A position.
#[derive(Serialize)]
pub(super) struct Position {
    #[serde(flatten)]
    results: Results,
    /// Games that reached it.
    #[serde(skip_serializing_if = "Option::is_none")]
    reached: Option<u64>,
    /// What another library knows of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    vs: Option<Other>,
    moves: Vec<Move>,
    /// The positions from which a move leads here.
    #[serde(skip_serializing_if = "Option::is_none")]
    parents: Option<Vec<Parent>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    operations: BTreeMap<String, serde_json::Value>,
    /// The name of the position, or the nearest one.
    opening: Option<Opening>,
}

/// The name of an opening.
#[derive(Serialize)]
struct Opening {
    eco: String,
    name: String,
}

/// What became of games.
#[derive(Serialize)]
struct Results {
    white: u64,
    draws: u64,
    black: u64,
    /// Games whose result is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    unknown: Option<u64>,
}

/// What another library knows.
#[derive(Serialize)]
struct Other {
    #[serde(flatten)]
    results: Results,
    /// Games that reached the position, or that to which the move leads.
    #[serde(skip_serializing_if = "Option::is_none")]
    reached: Option<u64>,
}

/// A move.
#[derive(Serialize)]
struct Move {
    /// Coordinates; castling as the king taking its rook.
    uci: String,
    san: String,
    /// The mean rating of who made it.
    #[serde(rename = "averageRating", skip_serializing_if = "Option::is_none")]
    average_rating: Option<u64>,
    #[serde(rename = "averageOpponentRating", skip_serializing_if = "Option::is_none")]
    average_opponent_rating: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    performance: Option<i64>,
    #[serde(flatten)]
    results: Results,
    /// The name of the position that it leads to.
    #[serde(skip_serializing_if = "Option::is_none")]
    opening: Option<Opening>,
    /// What another library knows of the move.
    #[serde(skip_serializing_if = "Option::is_none")]
    vs: Option<Other>,
    /// The first and the last year.
    #[serde(skip_serializing_if = "Option::is_none")]
    years: Option<(u16, u16)>,
    /// The evaluation of the position that it leads to, from the mover's view.
    #[serde(skip_serializing_if = "Option::is_none")]
    ce: Option<i32>,
    /// Games that reached that position.
    #[serde(skip_serializing_if = "Option::is_none")]
    reached: Option<u64>,
    /// What else is known of that position.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    operations: BTreeMap<String, serde_json::Value>,
    /// The moves of that position.
    #[serde(skip_serializing_if = "Option::is_none")]
    moves: Option<Vec<Move>>,
}

/// A position from which a move leads to another.
#[derive(Serialize)]
struct Parent {
    fen: String,
    uci: String,
    san: String,
    #[serde(flatten)]
    results: Results,
    /// Games that reached it.
    #[serde(skip_serializing_if = "Option::is_none")]
    reached: Option<u64>,
}

impl Position {
    /// With the operations of the positions that moves lead to where these are wanted.
    pub(super) fn new(shown: &Shown, with_operations: bool) -> Position {
        let Shown { explored, parents, opening, other, .. } = shown;
        Position {
            results: Results::new(&explored.counts()),
            reached: explored.games.as_ref().map(|games| games.reached),
            moves: moves(shown, explored, with_operations),
            parents: parents.as_ref().map(|rows| rows.iter().map(Parent::new).collect()),
            operations: explored.entry.as_ref().map(operations).unwrap_or_default(),
            opening: opening.as_ref().map(Opening::new),
            vs: other.as_ref().map(|other| Other {
                results: Results::new(&other.counts()),
                reached: other.games.as_ref().map(|games| games.reached),
            }),
        }
    }
}

impl Opening {
    fn new(name: &OpeningName) -> Opening {
        Opening { eco: name.eco().to_string(), name: name.name().to_string() }
    }
}

/// The first operation of each opcode.
fn operations(entry: &Entry) -> BTreeMap<String, serde_json::Value> {
    let mut all = BTreeMap::new();
    for operation in &entry.operations {
        let value = || json::operands(operation.opcode, Some(&operation.operands));
        all.entry(operation.opcode.to_string()).or_insert_with(value);
    }
    all
}

/// The moves of a position, and those that only another library knows.
fn moves(shown: &Shown, explored: &Explored, with_operations: bool) -> Vec<Move> {
    let mover = explored.position.turn();
    let rows = explored.rows.iter();
    let mut moves: Vec<Move> =
        rows.map(|row| Move::new(shown, row, mover, with_operations)).collect();
    let others = shown.other.iter().flat_map(|other| explored.rows_only_in(other));
    moves.extend(others.map(|row| {
        let mut unknown = row.clone();
        (unknown.counts, unknown.reached, unknown.ce) = (GameCounts::default(), None, None);
        Move::new(shown, &unknown, mover, false)
    }));
    moves
}

impl Results {
    fn new(counts: &GameCounts) -> Results {
        let GameCounts { white, draws, black, unknown, .. } = *counts;
        Results { white, draws, black, unknown: (unknown > 0).then_some(unknown) }
    }
}

impl Move {
    fn new(shown: &Shown, row: &MoveRow, mover: Color, with_operations: bool) -> Move {
        let counts = &row.counts;
        let same = |other: &Explored| {
            let row = other.row(row.mv);
            let results = Results::new(&row.map(|row| row.counts).unwrap_or_default());
            Other { results, reached: row.and_then(|row| row.reached) }
        };
        let child = row.child.as_ref().filter(|_| with_operations);
        Move {
            uci: row.mv.to_string(),
            san: row.san.to_string(),
            average_rating: counts.elo.mean().map(|mean| mean.round() as u64),
            average_opponent_rating: counts.opponents.mean().map(|mean| mean.round() as u64),
            performance: performance(counts, mover).map(|rating| rating.round() as i64),
            results: Results::new(counts),
            opening: shown.names.get(row.leads_to()).map(Opening::new),
            vs: shown.other.as_ref().map(same),
            years: counts.years,
            ce: row.ce,
            reached: row.reached,
            operations: child.map(operations).unwrap_or_default(),
            moves: row.next.as_ref().map(|next| moves(shown, next, with_operations)),
        }
    }
}

impl Parent {
    fn new(row: &ParentRow) -> Parent {
        Parent {
            fen: row.position.to_string(),
            uci: row.mv.to_string(),
            san: row.san.to_string(),
            results: Results::new(&row.counts),
            reached: row.reached,
        }
    }
}
