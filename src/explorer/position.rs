//! `/api/position`: everything that a source knows of a position, and the legal moves.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::filter::{FoundRecords, GameFilter};
use crate::line::ParsedLine;
use crate::{Answer, Explorer, Refusal, Served};
use epdb_chess::codec::ordinal;
use epdb_chess::codec::query::Query;
use epdb_chess::error::Error;
use epdb_chess::model::rules::{Move, Playable, is_insufficient_material};
use epdb_chess::model::{Color, EpdRecord, Opcode, Position};
use epdb_chess::text::{FormatOptions, epd, san};
use epdb_library::backsolve::{CE_LEAF, CE_OWN, CE_PLIES, CE_REPEATS};
use epdb_library::explore::object::{OpeningObject, PositionObject, Shown};
use epdb_library::explore::{self, CellFilter, ExploreOptions, ParentRow, parents};
use epdb_library::field::{json_operands, json_operations};
use epdb_library::names::{Names, OpeningName};
use epdb_source::Lookup;

#[derive(Deserialize, Default, Debug)]
pub(crate) struct PositionQuery {
    source: Option<String>,
    fen: Option<String>,
    #[serde(default)]
    play: String,
    /// `1`: also list the parent positions.
    #[serde(default)]
    parents: String,
    #[serde(flatten)]
    games: GameFilter,
}

/// Maximum number of records that are listed in full.
const TOLD_RECORDS: usize = 100;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PositionAnswer {
    source: String,
    /// Version of the served data, which increases with each change.
    changes: u64,
    start: String,
    fen: String,
    chess960: bool,
    turn: &'static str,
    check: bool,
    over: Option<&'static str>,
    line: Vec<Step>,
    legal: Vec<LegalMove>,
    found: bool,
    #[serde(flatten)]
    explored: PositionObject,
    records: Vec<RecordObject>,
    record_count: usize,
    /// True if there are more records.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    records_cut: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    backsolved: Option<BacksolvedObject>,
    #[serde(skip_serializing_if = "Option::is_none")]
    nearest: Option<Option<Nearest>>,
    not_split: Vec<&'static str>,
}

/// A move of the line.
#[derive(Serialize)]
struct Step {
    ply: usize,
    number: String,
    uci: String,
    san: String,
    fen: String,
    opening: Option<OpeningObject>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LegalMove {
    uci: String,
    san: String,
    from: String,
    /// The target square; for castling, the target square of the king.
    to: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    takes_rook: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    promotion: Option<char>,
}

#[derive(Serialize)]
struct RecordObject {
    number: u64,
    epd: String,
    operations: BTreeMap<String, serde_json::Value>,
}

/// A score that was propagated back from the ends of lines.
#[derive(Serialize)]
struct BacksolvedObject {
    ce: serde_json::Value,
    /// The score that the record had before its score was computed from its moves.
    own: serde_json::Value,
    /// The position from which the score comes.
    leaf: serde_json::Value,
    /// Distance to that position in plies.
    plies: serde_json::Value,
    /// True if the score is 0 because best play repeats positions.
    repeats: bool,
    pm: serde_json::Value,
}

/// The last position of the line for which the source has records.
#[derive(Serialize)]
struct Nearest {
    ply: usize,
    fen: String,
    play: String,
}

pub(crate) fn position(
    explorer: &Explorer,
    asked: PositionQuery,
) -> Result<PositionAnswer, Refusal> {
    let served = explorer.source(asked.source.as_deref())?;
    let line = ParsedLine::parse(asked.fen.as_deref(), &asked.play)?;
    let cells = asked.games.filter()?;
    let with_parents = asked.parents == "1";
    let playable = line.playable()?;
    PositionAnswer::new(explorer, served, &line, &playable, cells, with_parents)
}

impl Explorer {
    /// The answer to [`Question::Position`](crate::Question::Position) for the start position of a source, with its
    /// parents.
    ///
    /// # Errors
    /// There is no such source, or it cannot be read.
    pub fn start_position(&self, source: &str) -> Result<Answer, Refusal> {
        let parents = "1".to_string();
        let asked =
            PositionQuery { source: Some(source.to_string()), parents, ..Default::default() };
        Answer::new(&position(self, asked)?)
    }
}

impl PositionAnswer {
    fn new(
        explorer: &Explorer,
        served: &Served,
        line: &ParsedLine,
        playable: &Playable,
        cells: CellFilter,
        with_parents: bool,
    ) -> Result<PositionAnswer, Refusal> {
        let Explorer { strict, names, changes, .. } = explorer;
        explore::prefetch(served.lookup(), line.end());
        let mut at = FoundRecords::new(served, line.end(), cells, &[], *strict)?;
        let options = ExploreOptions { children: true, ..Default::default() };
        let explored = at.explore(served, line.end(), options)?;
        let FoundRecords { records, numbers, is_cut, applied, .. } = at;
        let options = ExploreOptions { cells: applied.filter.clone(), ..Default::default() };
        let ask = &mut |queries: &[Query]| served.records(queries);
        let parents =
            if with_parents { Some(parents::<Error>(line.end(), &options, ask)?) } else { None };
        let opening = names.last_on_line(line.line());
        let opening = opening.or_else(|| name_of_parents(parents.as_deref()?, names));
        let shown = Shown { parents: parents.as_deref(), opening, ..Shown::new(&explored, names) };
        let mut fens = line.fens();
        let found = explored.entry.is_some();
        Ok(PositionAnswer {
            source: served.name().to_string(),
            changes: *changes,
            start: fens[0].clone(),
            chess960: line.end().is_chess960(),
            turn: if line.end().turn() == Color::White { "white" } else { "black" },
            check: playable.is_check(),
            over: over(playable),
            line: steps(line, &fens, names),
            legal: legal_moves(playable),
            found,
            explored: PositionObject::new(&shown),
            records: numbers
                .iter()
                .zip(&records)
                .take(TOLD_RECORDS)
                .map(|(&number, record)| RecordObject::new(number, record))
                .collect(),
            record_count: records.len(),
            records_cut: is_cut,
            backsolved: records.iter().find_map(BacksolvedObject::from_record),
            nearest: if found { None } else { Some(nearest(served, line, &fens)?) },
            not_split: applied.not_split,
            fen: fens.pop().unwrap_or_default(),
        })
    }
}

/// The opening name of a parent position: of the parents with a name, the one with the most games.
fn name_of_parents<'n>(parents: &[ParentRow], names: &'n Names) -> Option<&'n OpeningName> {
    let played = parents.iter().filter(|row| row.counts.games() > 0);
    played.filter_map(|row| names.get(&row.position)).next()
}

/// The way in which a position ends a game, if it does.
fn over(playable: &Playable) -> Option<&'static str> {
    if !playable.has_move() {
        return Some(if playable.is_check() { "checkmate" } else { "stalemate" });
    }
    is_insufficient_material(playable.position().board()).then_some("insufficient")
}

fn steps(line: &ParsedLine, fens: &[String], names: &Names) -> Vec<Step> {
    let moves = line.line().moves().iter().zip(line.line().coordinates());
    let step = |(before, (san, uci)): (usize, (&_, &Move))| Step {
        ply: before + 1,
        number: line.number_of(before),
        uci: uci.to_string(),
        san: ToString::to_string(san),
        fen: fens[before + 1].clone(),
        opening: line
            .line()
            .position(before + 1)
            .and_then(|position| names.get(position))
            .map(OpeningObject::new),
    };
    moves.enumerate().map(step).collect::<Vec<Step>>()
}

fn legal_moves(playable: &Playable) -> Vec<LegalMove> {
    let turn = playable.position().turn();
    let legal = |mv: Move| {
        let castling = playable.castling_side(mv);
        let to = castling.map_or(mv.to, |side| side.targets(turn).0);
        LegalMove {
            uci: mv.to_string(),
            san: san::format(playable, mv).to_string(),
            from: mv.from.to_string(),
            to: to.to_string(),
            takes_rook: castling.map(|_| mv.to.to_string()),
            promotion: mv.promotion.map(|role| char::from(role.letter().to_ascii_lowercase())),
        }
    };
    ordinal::list(playable).into_iter().map(legal).collect()
}

impl RecordObject {
    fn new(number: u64, record: &EpdRecord) -> RecordObject {
        RecordObject {
            number,
            epd: canonical(record),
            operations: json_operations(record.operations()),
        }
    }
}

fn canonical(record: &EpdRecord) -> String {
    let mut line = Vec::new();
    epd::format(record, &FormatOptions::default(), &mut line);
    String::from_utf8_lossy(&line).into_owned()
}

impl BacksolvedObject {
    /// The details of a propagated score in a record.
    fn from_record(record: &EpdRecord) -> Option<BacksolvedObject> {
        let value = |opcode| json_operands(opcode, record.operands(opcode));
        let own = record.operands(CE_OWN)?;
        Some(BacksolvedObject {
            ce: value(Opcode::CE),
            own: if own.is_empty() { serde_json::Value::Null } else { value(CE_OWN) },
            leaf: value(CE_LEAF),
            plies: value(CE_PLIES),
            repeats: record.operands(CE_REPEATS).is_some(),
            pm: value(Opcode::PM),
        })
    }
}

/// Number of positions of a line that are received together from an address, where each answer takes long.
const RECEIVED_TOGETHER: usize = 16;

/// The ply of the last position before the end of the line for which the source has records.
fn last_found(served: &Served, line: &ParsedLine) -> Result<Option<usize>, Refusal> {
    let plies = 0..line.line().moves().len();
    let positions: Vec<(usize, &Position)> =
        plies.filter_map(|ply| Some((ply, line.line().position(ply)?))).collect();
    for latest in positions.rchunks(RECEIVED_TOGETHER) {
        if served.lookup().is_remote() {
            let queries: Vec<Query> =
                latest.iter().map(|(_, position)| Query::from(*position)).collect();
            served.lookup().prefetch(&queries);
        }
        for (ply, position) in latest.iter().rev() {
            if served.has(position)? {
                return Ok(Some(*ply));
            }
        }
    }
    Ok(None)
}

/// The last position of the line for which the source has records.
fn nearest(
    served: &Served,
    line: &ParsedLine,
    fens: &[String],
) -> Result<Option<Nearest>, Refusal> {
    let ply = last_found(served, line)?;
    let moves = line.line().coordinates();
    Ok(ply.map(|ply| Nearest {
        ply,
        fen: fens[ply].clone(),
        play: moves[..ply].iter().map(Move::to_string).collect::<Vec<_>>().join(","),
    }))
}
