//! A problem of a suite and what one run made of it.

use std::borrow::Cow;
use std::fmt;

use serde::Serialize;

use super::points::PointTable;
use crate::error::Place;
use crate::model::answer::{Verdict, answer, finds_mate, verdict};
use crate::model::rules::Playable;
use crate::model::score::Score;
use crate::model::{EpdRecord, Opcode, Operand, Position};
use crate::text::san;

/// How records are judged and sorted into themes.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Reading {
    /// What names the theme: of `id` what stands before the number at its end, of others all.
    pub theme: Opcode,
    /// Mates were searched: a record in which one was found says by `acms` how long it took, and others
    /// are without an answer, whatever an earlier run left in them.
    pub is_mate_search: bool,
}

impl Default for Reading {
    fn default() -> Reading {
        Reading { theme: Opcode::ID, is_mate_search: false }
    }
}

/// A problem and what one run made of it.
#[derive(Clone, PartialEq, Debug)]
pub struct Problem {
    /// Its `id`.
    pub id: Option<String>,
    /// The position.
    pub position: Position,
    /// Where it was read.
    pub place: Place,
    /// Its theme; empty where it has none.
    pub theme: String,
    /// The moves of `bm`, mates such as `#5` among them.
    pub best: Vec<NamedMove>,
    /// The moves of `am`.
    pub avoid: Vec<NamedMove>,
    /// The moves to mate of a problem that is to find a mate and has neither `bm` nor `am`.
    pub mate: Option<i128>,
    /// What became of it.
    pub verdict: Verdict,
    /// The move that was chosen.
    pub answer: Option<NamedMove>,
    /// What the move is worth.
    pub points: Option<Points>,
    /// Why no points can be given, if the record has some.
    pub wrong_points: Option<String>,
    /// Why it cannot be scored, if it is defective.
    pub defect: Option<String>,
    /// Nodes that were searched.
    pub nodes: Option<u64>,
    /// Milliseconds: `acms`, else the seconds of `acs`.
    pub milliseconds: Option<u64>,
    /// Plies of depth.
    pub depth: Option<u64>,
    /// The score as the side to move sees it: centipawns, or a mate, as [`Score`] reads it.
    pub ce: Option<i128>,
    /// When a solution was chosen for the first time.
    pub first: Option<Effort>,
    /// Since when a solution was chosen to the end; of solved problems.
    pub held: Option<Effort>,
    /// The line that the engine expects.
    pub line_of_play: String,
    /// Why the search failed.
    pub error: Option<String>,
}

/// A move by its names, or a mate that is a target.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct NamedMove {
    /// Canonical SAN.
    pub san: String,
    /// Coordinates; of what is no legal move there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uci: Option<String>,
}

/// What an answer is worth.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Points {
    /// What the chosen move is worth.
    pub got: u32,
    /// What the best move is worth.
    pub of: u32,
}

/// What it took to come to a point of a search.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Effort {
    /// Nodes.
    pub nodes: u64,
    /// Milliseconds.
    pub ms: u64,
    /// Plies.
    pub depth: u64,
}

impl Problem {
    /// Reads a record from a place.
    ///
    /// ```
    /// use epdb::error::{At, Place};
    /// use epdb::model::answer::Verdict;
    /// use epdb::report::{Problem, Reading};
    /// let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -";
    /// let record = epdb::parse_epd(format!("{start} bm e4; id \"A.1\"; pm d4;").as_bytes())?;
    /// let problem = Problem::new(&record, &Place::new("a.epd", At::Line(1)), &Reading::default());
    /// assert_eq!((problem.verdict, problem.theme.as_str()), (Verdict::Missed, "A"));
    /// # Ok::<(), epdb::text::Diagnostic>(())
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
        let (points, wrong_points) = match PointTable::of(record) {
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
            mate: record.integer(Opcode::DM).filter(|_| is_mate),
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
            held: effort(record, Opcode::SOLVE_HELD).filter(|_| verdict == Verdict::Solved),
            line_of_play: line_of_play(record),
            error: record.text_of(Opcode::RUN_ERROR).map(text),
        }
    }

    /// Whether it counts: it was solved or missed.
    pub fn is_scored(&self) -> bool {
        matches!(self.verdict, Verdict::Solved | Verdict::Missed)
    }

    /// Whether it was solved.
    pub fn is_solved(&self) -> bool {
        self.verdict == Verdict::Solved
    }

    /// What the score says.
    pub fn score(&self) -> Option<Score> {
        score(self.ce)
    }

    /// What was asked for, as operations: `bm Nf3; am d4`.
    pub fn targets(&self) -> String {
        let part = |opcode: &str, moves: &[NamedMove]| {
            let names: Vec<&str> = moves.iter().map(|mv| mv.san.as_str()).collect();
            (!names.is_empty()).then(|| format!("{opcode} {}", names.join(" ")))
        };
        let mate = self.mate.map(|moves| format!("dm {moves}"));
        let parts = [part("bm", &self.best), part("am", &self.avoid), mate];
        parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
    }

    /// About how many bytes it takes in memory.
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

/// The record without what an earlier run answered, where this one failed or found no mate.
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

/// What became of a problem; one without moves may be to find a mate. Where no move can be made, no
/// answer is right or wrong.
fn judge(record: &EpdRecord, playable: Option<&Playable>, reading: &Reading) -> Verdict {
    let verdict = match verdict(record) {
        Verdict::Unscored => mate_verdict(record, reading.is_mate_search),
        verdict => verdict,
    };
    match playable {
        None if verdict != Verdict::Unscored => Verdict::Defective,
        _ => verdict,
    }
}

/// Why a record is defective.
fn defect(record: &EpdRecord, playable: Option<&Playable>) -> String {
    if playable.is_none() {
        return "the position is illegal".to_string();
    }
    let asked = [Opcode::BM, Opcode::AM].into_iter().filter_map(|opcode| record.operands(opcode));
    let wrong = asked.flatten().filter(|operand| !matches!(operand, Operand::Move { .. }));
    let wrong: Vec<String> = wrong.map(|operand| text(operand.text())).collect();
    format!("{} is not legal here", wrong.join(" "))
}

/// Whether a mate was found that is no longer than `dm`. Where mates were searched, a record without any
/// target is one in which none was found.
fn mate_verdict(record: &EpdRecord, is_mate_search: bool) -> Verdict {
    match record.integer(Opcode::DM) {
        None if !is_mate_search => Verdict::Unscored,
        Some(moves) if finds_mate(record, moves) => Verdict::Solved,
        _ => Verdict::Missed,
    }
}

fn points(table: &PointTable, answer: Option<&Operand>) -> Points {
    let got = match answer {
        Some(Operand::Move { mv, .. }) => table.worth(*mv),
        _ => 0,
    };
    Points { got, of: table.most() }
}

/// What stands before the number at the end of an `id`, or all of another operation.
fn theme(record: &EpdRecord, opcode: Opcode) -> String {
    let whole = record.text_of(opcode).map(text).unwrap_or_default();
    if opcode != Opcode::ID {
        return whole;
    }
    let before = whole.trim_end_matches(|letter: char| letter.is_ascii_digit());
    match before.len() < whole.len() {
        true => before.trim_end_matches([' ', '.', '-', '_', '#', ':', '/']).to_string(),
        false => String::new(),
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
