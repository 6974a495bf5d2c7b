//! What is known of a position as JSON: in the shape of the opening explorer of lichess.org, and more. What is
//! not known is left out; of an opening and a game, null.
//!
//! ```
//! use epdb::library::explore::object::{PositionObject, Shown};
//! use epdb::library::explore::{ExploreOptions, explore};
//! use epdb::library::names::Names;
//! use epdb::model::Position;
//! # use epdb::archive::{Archive, ArchiveWriter, PackOptions};
//! # let mut writer = ArchiveWriter::new(Vec::new(), PackOptions::default())?;
//! # let line = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - tally \"reached 3, e4 +2=1-0\";";
//! # writer.push(&epdb::parse_epd(line.as_bytes())?)?;
//! # let archive = Archive::from_bytes(writer.finish()?)?;
//! let ask = &mut |queries: &[_]| epdb::library::explore::records_of(&archive, queries);
//! let explored = explore::<epdb::Error>(&Position::START, 1, &ExploreOptions::new(), ask)?;
//! let object = PositionObject::new(&Shown::new(&explored, &Names::new()));
//! let text = serde_json::to_string(&object)?;
//! assert!(text.starts_with(r#"{"white":2,"draws":1,"black":0,"reached":3,"moves":[{"uci":"e2e4""#));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Entry, Explored, MoveRow, ParentRow, performance};
use crate::library::field::json_operations;
use crate::library::kept_games::GameObject;
use crate::library::names::{Names, OpeningName};
use crate::model::{Color, GameCounts};

/// All that is shown of a position.
#[derive(Copy, Clone, Debug)]
pub struct Shown<'a> {
    /// What is known of it.
    pub explored: &'a Explored,
    /// The positions from which a move leads to it, where they were asked for.
    pub parents: Option<&'a [ParentRow]>,
    /// Names for the positions that its moves lead to.
    pub names: &'a Names,
    /// Its name, or the nearest one.
    pub opening: Option<&'a OpeningName>,
    /// What another library knows of it.
    pub other: Option<&'a Explored>,
    /// Whether the operations of the positions that its moves lead to are shown.
    pub with_operations: bool,
}

impl<'a> Shown<'a> {
    /// What is known of a position, and nothing beside it.
    pub const fn new(explored: &'a Explored, names: &'a Names) -> Shown<'a> {
        let (parents, opening, other) = (None, None, None);
        Shown { explored, parents, names, opening, other, with_operations: false }
    }
}

/// A position.
#[derive(Clone, Debug, Serialize)]
pub struct PositionObject {
    /// What became of the games.
    #[serde(flatten)]
    pub results: Results,
    /// Games that reached it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reached: Option<u64>,
    /// What another library knows of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vs: Option<OtherResults>,
    /// Its moves.
    pub moves: Vec<MoveObject>,
    /// The positions from which a move leads here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parents: Option<Vec<ParentObject>>,
    /// What else its records say.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub operations: BTreeMap<String, serde_json::Value>,
    /// The name of the position, or the nearest one.
    pub opening: Option<OpeningObject>,
}

/// The name of an opening.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct OpeningObject {
    /// The code of the Encyclopaedia of Chess Openings.
    pub eco: String,
    /// The whole name.
    pub name: String,
}

/// What became of games.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Results {
    /// Games that White won.
    pub white: u64,
    /// Drawn games.
    pub draws: u64,
    /// Games that Black won.
    pub black: u64,
    /// Games whose result is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unknown: Option<u64>,
}

/// What another library knows.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize)]
pub struct OtherResults {
    /// What became of the games.
    #[serde(flatten)]
    pub results: Results,
    /// Games that reached the position, or that to which the move leads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reached: Option<u64>,
}

/// A move.
#[derive(Clone, Debug, Serialize)]
pub struct MoveObject {
    /// Coordinates; castling as the king taking its rook.
    pub uci: String,
    /// Canonical SAN.
    pub san: String,
    /// The mean rating of who made it.
    #[serde(rename = "averageRating", skip_serializing_if = "Option::is_none")]
    pub average_rating: Option<u64>,
    /// The mean rating of whom it was made against.
    #[serde(rename = "averageOpponentRating", skip_serializing_if = "Option::is_none")]
    pub average_opponent_rating: Option<u64>,
    /// The rating that the mover showed; see [`performance`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub performance: Option<i64>,
    /// What became of the games.
    #[serde(flatten)]
    pub results: Results,
    /// The game, where it is a single one that is known.
    pub game: Option<GameObject>,
    /// The name of the position that it leads to.
    pub opening: Option<OpeningObject>,
    /// What another library knows of the move.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vs: Option<OtherResults>,
    /// The first and the last year.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub years: Option<(u16, u16)>,
    /// The evaluation of the position that it leads to, from the mover's view.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ce: Option<i32>,
    /// Games that reached that position.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reached: Option<u64>,
    /// What else is known of that position.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub operations: BTreeMap<String, serde_json::Value>,
    /// The moves of that position.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moves: Option<Vec<MoveObject>>,
}

/// A position from which a move leads to another.
#[derive(Clone, Debug, Serialize)]
pub struct ParentObject {
    /// The position.
    pub fen: String,
    /// The move, as in [`MoveObject::uci`].
    pub uci: String,
    /// Its canonical SAN.
    pub san: String,
    /// What became of the games in which it was played there.
    #[serde(flatten)]
    pub results: Results,
    /// Games that reached the position.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reached: Option<u64>,
}

impl PositionObject {
    /// Puts the object together.
    pub fn new(shown: &Shown<'_>) -> PositionObject {
        let Shown { explored, parents, opening, other, .. } = *shown;
        PositionObject {
            results: Results::new(&explored.counts()),
            reached: explored.games.as_ref().map(|games| games.reached),
            moves: moves(shown, explored),
            parents: parents.map(|rows| rows.iter().map(ParentObject::new).collect()),
            operations: explored.entry.as_ref().map(operations).unwrap_or_default(),
            opening: opening.map(OpeningObject::new),
            vs: other.map(|other| OtherResults {
                results: Results::new(&other.counts()),
                reached: other.games.as_ref().map(|games| games.reached),
            }),
        }
    }
}

impl OpeningObject {
    /// The object of a name.
    pub fn new(name: &OpeningName) -> OpeningObject {
        OpeningObject { eco: name.eco().to_string(), name: name.name().to_string() }
    }
}

fn operations(entry: &Entry) -> BTreeMap<String, serde_json::Value> {
    json_operations(&entry.operations)
}

/// The moves of a position, and those that only another library knows.
fn moves(shown: &Shown<'_>, explored: &Explored) -> Vec<MoveObject> {
    let mover = explored.position.turn();
    let rows = explored.rows.iter();
    let mut moves: Vec<MoveObject> =
        rows.map(|row| MoveObject::new(shown, row, mover, shown.with_operations)).collect();
    let others = shown.other.iter().flat_map(|other| explored.rows_only_in(other));
    moves.extend(others.map(|row| {
        let mut unknown = row.clone();
        (unknown.counts, unknown.reached, unknown.ce) = (GameCounts::default(), None, None);
        MoveObject::new(shown, &unknown, mover, false)
    }));
    moves
}

impl Results {
    /// The object of counts.
    pub fn new(counts: &GameCounts) -> Results {
        let GameCounts { white, draws, black, unknown, .. } = *counts;
        Results { white, draws, black, unknown: (unknown > 0).then_some(unknown) }
    }
}

impl MoveObject {
    fn new(shown: &Shown<'_>, row: &MoveRow, mover: Color, with_operations: bool) -> MoveObject {
        let counts = &row.counts;
        let same = |other: &Explored| {
            let row = other.row(row.mv);
            let results = Results::new(&row.map(|row| row.counts).unwrap_or_default());
            OtherResults { results, reached: row.and_then(|row| row.reached) }
        };
        let child = row.child.as_ref().filter(|_| with_operations);
        MoveObject {
            uci: row.mv.to_string(),
            san: row.san.to_string(),
            average_rating: counts.elo.mean().map(|mean| mean.round() as u64),
            average_opponent_rating: counts.opponents.mean().map(|mean| mean.round() as u64),
            performance: performance(counts, mover).map(|rating| rating.round() as i64),
            results: Results::new(counts),
            game: None,
            opening: shown.names.get(row.leads_to()).map(OpeningObject::new),
            vs: shown.other.map(same),
            years: counts.years,
            ce: row.ce,
            reached: row.reached,
            operations: child.map(operations).unwrap_or_default(),
            moves: row.next.as_ref().map(|next| moves(shown, next)),
        }
    }
}

impl ParentObject {
    fn new(row: &ParentRow) -> ParentObject {
        ParentObject {
            fen: row.position.to_string(),
            uci: row.mv.to_string(),
            san: row.san.to_string(),
            results: Results::new(&row.counts),
            reached: row.reached,
        }
    }
}
