//! The explorer's answer as JSON: the format of the opening explorer of lichess.org, with more
//! members. A member whose value is unknown is left out, except `opening` and `game`, which are
//! then null.
//!
//! ```
//! use epdb_library::explore::object::{PositionObject, Shown};
//! use epdb_library::explore::{ExploreOptions, explore};
//! use epdb_library::names::Names;
//! use epdb_chess::model::Position;
//! use epdb_source::Lookup;
//! # use epdb_archive::{Archive, ArchiveWriter, PackOptions};
//! # let mut writer = ArchiveWriter::new(Vec::new(), PackOptions::default())?;
//! # let line = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - tally \"reached 3, e4 +2=1-0\";";
//! # writer.push(&epdb_chess::parse_epd(line.as_bytes())?)?;
//! # let archive = Archive::from_bytes(writer.finish()?)?;
//! let ask = &mut |queries: &[_]| archive.records(queries, &|_| false);
//! let explored = explore::<epdb_chess::Error>(&Position::START, 1, &ExploreOptions::default(), ask)?;
//! let object = PositionObject::new(&Shown::new(&explored, &Names::new()));
//! let text = serde_json::to_string(&object)?;
//! assert!(text.starts_with(r#"{"white":2,"draws":1,"black":0,"reached":3,"moves":[{"uci":"e2e4""#));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Explored, MoveRow, ParentRow, performance};
use crate::field::json_operations;
use crate::kept_games::GameObject;
use crate::names::{Names, OpeningName};
use epdb_chess::model::{Color, GameCounts};

/// The parts of an answer.
#[derive(Copy, Clone, Debug)]
pub struct Shown<'a> {
    /// The explored position.
    pub explored: &'a Explored,
    /// The positions before the explored one, if they were requested.
    pub parents: Option<&'a [ParentRow]>,
    /// Names of openings, for the positions after the moves.
    pub names: &'a Names,
    /// The name of the explored position, or of the nearest position with a name
    /// ([`Names::nearest`]).
    pub opening: Option<&'a OpeningName>,
    /// The same position in another library.
    pub other: Option<&'a Explored>,
}

impl<'a> Shown<'a> {
    /// An answer with the explored position only.
    pub const fn new(explored: &'a Explored, names: &'a Names) -> Shown<'a> {
        let parents = None;
        let opening = None;
        let other = None;
        Shown { explored, parents, names, opening, other }
    }
}

/// A position.
#[derive(Clone, Debug, Serialize)]
pub struct PositionObject {
    /// Results of the games.
    #[serde(flatten)]
    pub results: Results,
    /// Number of games that reached the position.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reached: Option<u64>,
    /// The sum of the weights that an opening book gives to the moves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<u64>,
    /// The counts of another library.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vs: Option<OtherResults>,
    /// The moves of the position.
    pub moves: Vec<MoveObject>,
    /// The positions from which a move leads to the position.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parents: Option<Vec<ParentObject>>,
    /// The operations of the position's records, except tallies and lists of kept games.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub operations: BTreeMap<String, serde_json::Value>,
    /// The name of the position, or of the nearest position with a name.
    pub opening: Option<OpeningObject>,
}

/// The name of an opening.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct OpeningObject {
    /// The code of the Encyclopaedia of Chess Openings.
    pub eco: String,
    /// The full name.
    pub name: String,
}

/// Results of games.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Results {
    /// Games that White won.
    pub white: u64,
    /// Drawn games.
    pub draws: u64,
    /// Games that Black won.
    pub black: u64,
    /// Games with an unknown result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unknown: Option<u64>,
}

/// Counts of another library.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize)]
pub struct OtherResults {
    /// Results of the games.
    #[serde(flatten)]
    pub results: Results,
    /// Number of games that reached the position, or for a move, the position after it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reached: Option<u64>,
    /// The weight of the move, or of all moves, in an opening book.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<u64>,
}

/// A move.
#[derive(Clone, Debug, Serialize)]
pub struct MoveObject {
    /// The move in coordinates; in castling, the king moves to the square of its rook.
    pub uci: String,
    /// Canonical SAN.
    pub san: String,
    /// The mean rating of the mover.
    #[serde(rename = "averageRating", skip_serializing_if = "Option::is_none")]
    pub average_rating: Option<u64>,
    /// The mean rating of the opponent.
    #[serde(rename = "averageOpponentRating", skip_serializing_if = "Option::is_none")]
    pub average_opponent_rating: Option<u64>,
    /// The performance rating of the mover; see [`performance`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub performance: Option<i64>,
    /// Results of the games.
    #[serde(flatten)]
    pub results: Results,
    /// The weight in an opening book.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<u64>,
    /// The game, if there is only one and it is known.
    pub game: Option<GameObject>,
    /// The name of the position after the move.
    pub opening: Option<OpeningObject>,
    /// The counts of another library.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vs: Option<OtherResults>,
    /// The first and the last year.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub years: Option<(u16, u16)>,
    /// The evaluation of the position after the move, from the point of view of the mover.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ce: Option<i32>,
    /// Number of games that reached the position after the move, by any moves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reached: Option<u64>,
    /// The operations of the position after the move, except tallies and lists of kept games.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub operations: BTreeMap<String, serde_json::Value>,
    /// The moves of the position after the move, if they were requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moves: Option<Vec<MoveObject>>,
}

/// A position from which a move leads to the explored position.
#[derive(Clone, Debug, Serialize)]
pub struct ParentObject {
    /// The position as FEN.
    pub fen: String,
    /// The move, as in [`MoveObject::uci`].
    pub uci: String,
    /// The canonical SAN of the move.
    pub san: String,
    /// Results of the games with the move.
    #[serde(flatten)]
    pub results: Results,
    /// The weight of the move in an opening book.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<u64>,
    /// Number of games that reached the position.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reached: Option<u64>,
}

impl PositionObject {
    /// Builds the object.
    pub fn new(shown: &Shown<'_>) -> PositionObject {
        let Shown { explored, parents, opening, other, .. } = *shown;
        PositionObject {
            results: Results::new(&explored.counts()),
            reached: explored.games.as_ref().map(|games| games.reached),
            weight: explored.weight,
            moves: moves(shown, explored),
            parents: parents.map(|rows| rows.iter().map(ParentObject::new).collect()),
            operations: explored
                .entry
                .as_ref()
                .map(|it| json_operations(&it.operations))
                .unwrap_or_default(),
            opening: opening.map(OpeningObject::new),
            vs: other.map(|other| OtherResults {
                results: Results::new(&other.counts()),
                reached: other.games.as_ref().map(|games| games.reached),
                weight: other.weight,
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

/// Lists the moves of a position, then the moves that only the other library has.
fn moves(shown: &Shown<'_>, explored: &Explored) -> Vec<MoveObject> {
    let mover = explored.position.turn();
    let rows = explored.rows.iter();
    let mut moves: Vec<MoveObject> = rows.map(|row| MoveObject::new(shown, row, mover)).collect();
    let others = shown.other.iter().flat_map(|other| explored.rows_only_in(other));
    moves.extend(others.map(|row| {
        let counts = GameCounts::default();
        let unknown = MoveRow { counts, weight: None, reached: None, ce: None, ..row.clone() };
        MoveObject::new(shown, &unknown, mover)
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
    fn new(shown: &Shown<'_>, row: &MoveRow, mover: Color) -> MoveObject {
        let counts = &row.counts;
        let same = |other: &Explored| {
            let row = other.row(row.mv);
            let results = Results::new(&row.map(|row| row.counts).unwrap_or_default());
            let (reached, weight) = row.map_or((None, None), |row| (row.reached, row.weight));
            OtherResults { results, reached, weight }
        };
        MoveObject {
            uci: row.mv.to_string(),
            san: row.san.to_string(),
            average_rating: counts.elo.mean().map(|mean| mean.round() as u64),
            average_opponent_rating: counts.opponents.mean().map(|mean| mean.round() as u64),
            performance: performance(counts, mover).map(|rating| rating.round() as i64),
            results: Results::new(counts),
            weight: row.weight,
            game: None,
            opening: shown.names.get(row.leads_to()).map(OpeningObject::new),
            vs: shown.other.map(same),
            years: counts.years,
            ce: row.ce,
            reached: row.reached,
            operations: json_operations(&row.operations),
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
            weight: row.weight,
            reached: row.reached,
        }
    }
}
