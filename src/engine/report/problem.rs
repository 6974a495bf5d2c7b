//! A problem of a suite and the result of one run.

use std::borrow::Cow;
use std::fmt;

use serde::{Serialize, Serializer};

use super::points::PointTable;
use epdb_chess::error::Place;
use epdb_chess::model::answer::{Verdict, answer, finds_mate, verdict};
use epdb_chess::model::rules::Playable;
use epdb_chess::model::score::Score;
use epdb_chess::model::{EpdRecord, Opcode, Operand, Position};
use epdb_chess::text::san;

/// Options for judging records and assigning themes.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Reading {
    /// The opcode of the operation that names the theme. If it is `id`, the theme is the id without
    /// the number at its end.
    pub theme: Opcode,
    /// Whether the run searched for mates. In such a run, a record with `acms` has a mate that was
    /// found. Other records have no answer, even if an earlier run left one.
    pub is_mate_search: bool,
    /// Whether such a run had a number of moves for records that state none. Otherwise it left these records out.
    pub has_mate_length: bool,
}

impl Default for Reading {
    fn default() -> Reading {
        Reading { theme: Opcode::ID, is_mate_search: false, has_mate_length: false }
    }
}

/// A problem and the result of one run. The text in JSON has the result only.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Problem {
    /// The `id` of the problem.
    #[serde(skip)]
    pub id: Option<String>,
    /// The position.
    #[serde(skip)]
    pub position: Position,
    /// The theme of the problem; empty if the problem has no theme.
    #[serde(skip)]
    pub theme: String,
    /// The moves of `bm`, including mates such as `#5`.
    #[serde(skip)]
    pub best: Vec<NamedMove>,
    /// The moves of `am`.
    #[serde(skip)]
    pub avoid: Vec<NamedMove>,
    /// The number of moves of the mate to find, for a problem without `bm` and `am`.
    #[serde(skip)]
    pub mate: Option<i128>,
    /// The reason why the points of the record cannot be used.
    #[serde(skip)]
    pub wrong_points: Option<String>,
    /// The place of the problem in its file.
    #[serde(rename = "line", serialize_with = "number")]
    pub place: Place,
    /// The verdict.
    #[serde(serialize_with = "named")]
    pub verdict: Verdict,
    /// The chosen move.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<NamedMove>,
    /// Points, if the problem has points.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub points: Option<Points>,
    /// The score from the point of view of the side to move, as [`Score`] reads it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ce: Option<i128>,
    /// Depth in plies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depth: Option<u64>,
    /// Nodes searched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes: Option<u64>,
    /// Milliseconds, from `acms`, else from the seconds of `acs`.
    #[serde(rename = "ms", skip_serializing_if = "Option::is_none")]
    pub milliseconds: Option<u64>,
    /// Effort when a solution was first chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first: Option<Effort>,
    /// Effort after which only solutions were chosen until the end of the search. Only solved problems have
    /// this value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held: Option<Effort>,
    /// The engine's principal variation.
    #[serde(rename = "pv", skip_serializing_if = "str::is_empty")]
    pub line_of_play: String,
    /// The reason why the search failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The reason why a defective record cannot be scored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub defect: Option<String>,
}

fn number<S: Serializer>(place: &Place, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(place.number())
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn named<S: Serializer>(verdict: &Verdict, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(verdict_word(*verdict))
}

/// The name of a verdict.
pub const fn verdict_word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Solved => "solved",
        Verdict::Missed => "missed",
        Verdict::Unscored => "unscored",
        Verdict::Defective => "defective",
    }
}

/// A move in two notations, or a mate as target.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct NamedMove {
    /// Canonical SAN.
    pub san: String,
    /// Coordinates; `None` if it is not a legal move.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uci: Option<String>,
}

/// Points of an answer.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Points {
    /// Points of the chosen move.
    pub got: u32,
    /// Points of the best move.
    pub of: u32,
}

/// Effort up to a point of a search.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Effort {
    /// Number of nodes.
    pub nodes: u64,
    /// Time in milliseconds.
    pub ms: u64,
    /// Depth in plies.
    pub depth: u64,
}

impl Problem {
    /// Judges a record.
    ///
    /// ```
    /// use epdb_chess::error::{At, Place};
    /// use epdb_chess::model::answer::Verdict;
    /// use epdb_engine::report::{Problem, Reading};
    /// let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -";
    /// let record = epdb_chess::parse_epd(format!("{start} bm e4; id \"A.1\"; pm d4;").as_bytes())?;
    /// let problem = Problem::new(&record, &Place::new("a.epd", At::Line(1)), &Reading::default());
    /// assert_eq!((problem.verdict, problem.theme.as_str()), (Verdict::Missed, "A"));
    /// # Ok::<(), epdb_chess::text::Diagnostic>(())
    /// ```
    pub fn new(record: &EpdRecord, place: &Place, reading: &Reading) -> Problem {
        let record = &*without_old_answers(record, reading);
        let playable = Playable::new(record.position()).ok();
        let named = |operand: &Operand| NamedMove::new(operand, playable.as_ref());
        let moves =
            |opcode| record.operands(opcode).unwrap_or_default().iter().map(named).collect();
        let verdict = judge(record, playable.as_ref(), reading);
        let number = |opcode| record.integer(opcode).and_then(|value| u64::try_from(value).ok());
        let seconds = || number(Opcode::ACS).and_then(|seconds| seconds.checked_mul(1000));
        let (points, wrong_points) = match PointTable::parse(record) {
            Ok(table) => (table.map(|table| points(&table, answer(record))), None),
            Err(wrong) => (None, Some(wrong.to_string())),
        };
        let is_mate = verdict != Verdict::Unscored && has_no_moves(record);
        Problem {
            id: record.text_of(Opcode::ID).map(text),
            position: *record.position(),
            place: place.clone(),
            theme: theme(record, reading.theme),
            best: moves(Opcode::BM),
            avoid: moves(Opcode::AM),
            mate: if is_mate { record.integer(Opcode::DM) } else { None },
            defect: (verdict == Verdict::Defective).then(|| defect(record, playable.as_ref())),
            verdict,
            answer: answer(record).map(named),
            points,
            wrong_points,
            nodes: number(Opcode::ACN),
            milliseconds: only_number(record, Opcode::ACMS).or_else(seconds),
            depth: only_number(record, Opcode::ACD),
            ce: record.integer(Opcode::CE),
            first: effort(record, Opcode::SOLVE_FIRST),
            held: if verdict == Verdict::Solved {
                effort(record, Opcode::SOLVE_HELD)
            } else {
                None
            },
            line_of_play: line_of_play(record),
            error: record.text_of(Opcode::RUN_ERROR).map(text),
        }
    }

    /// Whether the problem is scored: solved or missed.
    pub(crate) fn is_scored(&self) -> bool {
        matches!(self.verdict, Verdict::Solved | Verdict::Missed)
    }

    /// Whether the problem was solved.
    pub fn is_solved(&self) -> bool {
        self.verdict == Verdict::Solved
    }

    /// The parsed score.
    pub fn score(&self) -> Option<Score> {
        score(self.ce)
    }

    /// The targets as operations: `bm Nf3; am d4`.
    pub fn targets(&self) -> String {
        let part = |opcode: &str, moves: &[NamedMove]| {
            let names: Vec<&str> = moves.iter().map(|mv| mv.san.as_str()).collect();
            (!names.is_empty()).then(|| format!("{opcode} {}", names.join(" ")))
        };
        let mate = self.mate.map(|moves| format!("dm {moves}"));
        let parts = [part("bm", &self.best), part("am", &self.avoid), mate];
        parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
    }

    /// Approximate size in memory, in bytes.
    pub(super) fn bytes(&self) -> usize {
        let texts = [&self.theme, &self.line_of_play].map(String::capacity);
        let options = [&self.id, &self.error, &self.wrong_points, &self.defect];
        let options = options.map(|text| text.as_ref().map_or(0, String::capacity));
        let moves = (self.best.len() + self.avoid.len() + 1) * (size_of::<NamedMove>() + 16);
        size_of::<Problem>() + texts.iter().chain(&options).sum::<usize>() + moves
    }
}

impl NamedMove {
    fn new(operand: &Operand, playable: Option<&Playable>) -> NamedMove {
        let uci = match (operand, playable) {
            (Operand::Move { mv, .. }, Some(playable)) => Some(san::uci(playable, *mv)),
            _ => None,
        };
        NamedMove { san: text(operand.text()), uci }
    }
}

impl fmt::Display for NamedMove {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.san)
    }
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8_lossy(&bytes).into_owned()
}

fn score(ce: Option<i128>) -> Option<Score> {
    Score::from_ce(ce?).ok()
}

/// The record. If the run that wrote the record failed or found no mate, the answers in the record
/// are from an earlier run and are removed.
fn without_old_answers<'r>(record: &'r EpdRecord, reading: &Reading) -> Cow<'r, EpdRecord> {
    let has = |opcode| record.operands(opcode).is_some();
    let is_answered = !reading.is_mate_search || has(Opcode::ACMS);
    if is_answered && !has(Opcode::RUN_ERROR) {
        return Cow::Borrowed(record);
    }
    let mut bare = record.clone();
    for old in [Opcode::PM, Opcode::PV, Opcode::SM, Opcode::CE] {
        bare.remove(old);
    }
    Cow::Owned(bare)
}

fn has_no_moves(record: &EpdRecord) -> bool {
    let is_empty = |opcode| record.operands(opcode).unwrap_or_default().is_empty();
    is_empty(Opcode::BM) && is_empty(Opcode::AM)
}

/// The verdict on a record. A record without `bm` and `am` may have a mate to find. A record with
/// targets is defective if no game can be played from its position.
fn judge(record: &EpdRecord, playable: Option<&Playable>, reading: &Reading) -> Verdict {
    let verdict = match verdict(record) {
        Verdict::Unscored => mate_verdict(record, reading.has_mate_length),
        verdict => verdict,
    };
    match playable {
        None if verdict != Verdict::Unscored => Verdict::Defective,
        _ => verdict,
    }
}

fn defect(record: &EpdRecord, playable: Option<&Playable>) -> String {
    if playable.is_none() {
        return "the position is illegal".to_string();
    }
    let asked = [Opcode::BM, Opcode::AM].into_iter().filter_map(|opcode| record.operands(opcode));
    let wrong = asked.flatten().filter(|operand| !matches!(operand, Operand::Move { .. }));
    let wrong: Vec<String> = wrong.map(|operand| text(operand.text())).collect();
    format!("{} is not legal here", wrong.join(" "))
}

/// The verdict on the search for a mate in at most `dm` moves. A search with a length for all records writes `dm`
/// into a record only if it finds a mate. So a record without `dm` is missed.
fn mate_verdict(record: &EpdRecord, has_length: bool) -> Verdict {
    match record.integer(Opcode::DM) {
        None if !has_length => Verdict::Unscored,
        Some(moves) if finds_mate(record, moves) => Verdict::Solved,
        _ => Verdict::Missed,
    }
}

fn points(table: &PointTable, answer: Option<&Operand>) -> Points {
    let got = match answer {
        Some(Operand::Move { mv, .. }) => table.worth(*mv),
        _ => 0,
    };
    Points { got, of: table.max() }
}

/// The part of an `id` before the number at its end, or the whole text of another operation.
fn theme(record: &EpdRecord, opcode: Opcode) -> String {
    let whole = record.text_of(opcode).map(text).unwrap_or_default();
    if opcode != Opcode::ID {
        return whole;
    }
    let before = whole.trim_end_matches(|letter: char| letter.is_ascii_digit());
    if before.len() < whole.len() {
        before.trim_end_matches([' ', '.', '-', '_', '#', ':', '/']).to_string()
    } else {
        String::new()
    }
}

fn numbers(record: &EpdRecord, opcode: Opcode) -> Option<Vec<u64>> {
    let number = |operand: &Operand| std::str::from_utf8(&operand.text()).ok()?.parse().ok();
    record.operands(opcode)?.iter().map(number).collect()
}

fn only_number(record: &EpdRecord, opcode: Opcode) -> Option<u64> {
    match numbers(record, opcode)?[..] {
        [number] => Some(number),
        _ => None,
    }
}

fn effort(record: &EpdRecord, opcode: Opcode) -> Option<Effort> {
    match numbers(record, opcode)?[..] {
        [nodes, ms, depth] => Some(Effort { nodes, ms, depth }),
        _ => None,
    }
}

fn line_of_play(record: &EpdRecord) -> String {
    let moves = record.operands(Opcode::PV).unwrap_or_default();
    moves.iter().map(|operand| text(operand.text())).collect::<Vec<_>>().join(" ")
}
