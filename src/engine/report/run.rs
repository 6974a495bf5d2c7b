//! The run of an engine over a suite.

use serde::Serialize;

use super::distribution::{Bins, Distribution};
use super::problem::{Effort, Problem, Reading};
use super::statistics::{Interval, wilson};
use epdb_chess::error::{Error, Place, Result};
use epdb_chess::model::answer::Verdict;
use epdb_chess::model::score::Score;
use epdb_chess::model::{EpdRecord, Opcode};
use epdb_library::run_file::RunFile;

/// The run of an engine over a suite.
#[derive(Clone, PartialEq, Debug)]
pub struct Run {
    /// The label of the run.
    pub label: String,
    /// The files of the run, such as one per suite.
    pub outputs: Vec<RunOutput>,
    problems: Vec<Problem>,
    theme: Opcode,
}

/// A file with a run, or with a part of a run.
#[derive(Clone, PartialEq, Debug)]
pub struct RunOutput {
    /// The name of the file on the command line.
    pub file: String,
    /// Engine and limit, if a run file states them.
    pub facts: Option<RunFile>,
}

/// Number of problems by verdict.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// All records.
    pub records: u64,
    /// Number of solved problems.
    pub solved: u64,
    /// Number of missed problems, including those without an answer.
    pub missed: u64,
    /// Number of problems that are missed because there is no answer.
    pub unanswered: u64,
    /// Records with neither `bm` nor `am` nor a mate to find.
    pub unscored: u64,
    /// Records with an illegal move in `bm` or `am`.
    pub defective: u64,
    /// Records whose search failed.
    pub failed: u64,
    /// The points of all problems that have points.
    pub points: Option<PointSum>,
}

/// Points of several problems.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct PointSum {
    /// Number of problems with points.
    pub problems: u64,
    /// Points earned.
    pub got: u128,
    /// Maximum number of points.
    pub of: u128,
}

impl Counts {
    pub(crate) fn from_problems<'p>(problems: impl IntoIterator<Item = &'p Problem>) -> Counts {
        let mut counts = Counts::default();
        problems.into_iter().for_each(|problem| counts.add(problem));
        counts
    }

    pub(super) fn add(&mut self, problem: &Problem) {
        self.records += 1;
        match problem.verdict {
            Verdict::Solved => self.solved += 1,
            Verdict::Missed => self.missed += 1,
            Verdict::Unscored => self.unscored += 1,
            Verdict::Defective => self.defective += 1,
        }
        let is_unanswered = problem.verdict == Verdict::Missed && problem.answer.is_none();
        self.unanswered += u64::from(is_unanswered);
        self.failed += u64::from(problem.error.is_some());
        if let Some(points) = problem.points {
            let sum = self.points.get_or_insert_default();
            sum.problems += 1;
            sum.got += u128::from(points.got);
            sum.of += u128::from(points.of);
        }
    }

    /// Number of solved and missed problems.
    pub const fn scored(&self) -> u64 {
        self.solved + self.missed
    }

    /// The share of solved problems among scored ones, 0 to 1; `None` if no problem is scored.
    pub fn share(&self) -> Option<f64> {
        (self.scored() > 0).then(|| self.solved as f64 / self.scored() as f64)
    }

    /// The Wilson interval of the share of solved problems.
    pub fn interval(&self) -> Option<Interval> {
        wilson(self.solved, self.scored())
    }
}

/// Measurements of a run.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Measures {
    /// Nodes of each record.
    pub nodes: Option<Distribution>,
    /// Milliseconds of each record.
    #[serde(rename = "ms")]
    pub milliseconds: Option<Distribution>,
    /// Depths in plies.
    pub depth: Option<Distribution>,
    /// Scores in centipawns, mates left out.
    #[serde(rename = "ce")]
    pub score: Option<Distribution>,
    /// Numbers of moves to mate, in records in which the side to move mates.
    #[serde(rename = "mates_in")]
    pub mates: Option<Distribution>,
    /// Numbers of moves to mate, in records in which the side to move is mated.
    #[serde(rename = "mated_in")]
    pub mated: Option<Distribution>,
    /// Numbers of moves in `dm`: the lengths of the mates that were searched or found.
    pub dm: Option<Distribution>,
    /// Nodes per second, over the records that have nodes and a time above 0.
    pub nodes_per_second: Option<u64>,
}

/// The measure of effort.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Axis {
    /// The time in milliseconds.
    Time,
    /// The number of nodes.
    Nodes,
}

impl Axis {
    /// The effort in this measure.
    pub const fn value(self, effort: &Effort) -> u64 {
        match self {
            Axis::Time => effort.ms,
            Axis::Nodes => effort.nodes,
        }
    }
}

impl Run {
    /// A run without problems yet; `theme` is the opcode of the theme of a problem.
    pub const fn new(label: String, outputs: Vec<RunOutput>, theme: Opcode) -> Run {
        Run { label, outputs, problems: Vec::new(), theme }
    }

    /// Adds a record of the output with the index `output`. `memory_bytes` is the number of bytes
    /// left; it is reduced by the size of the problem.
    ///
    /// # Errors
    /// The memory is used up.
    pub fn add(
        &mut self,
        record: &EpdRecord,
        output: usize,
        place: &Place,
        memory_bytes: &mut usize,
    ) -> Result<()> {
        let facts = self.outputs.get(output).and_then(|output| output.facts.as_ref());
        let verb = facts.and_then(|facts| facts.verb.as_deref());
        let is_mate_search = verb == Some("mate");
        let has_mate_length =
            is_mate_search && facts.is_some_and(|facts| facts.limit.mate.is_some());
        let reading = Reading { theme: self.theme, is_mate_search, has_mate_length };
        let problem = Problem::new(record, place, &reading);
        *memory_bytes = memory_bytes.checked_sub(problem.bytes()).ok_or_else(|| {
            let what = "the problems take more memory than was given: raise --memory, or take fewer \
                        with --where";
            Error::new(what).at(place.clone())
        })?;
        self.problems.push(problem);
        Ok(())
    }

    /// Whether there are problems, and none of them has an answer or a failed search.
    pub fn has_no_answer(&self) -> bool {
        let is_bare = |one: &Problem| one.answer.is_none() && one.error.is_none();
        !self.problems.is_empty() && self.problems.iter().all(is_bare)
    }

    /// Engine and limit, from the first output that has a run file.
    pub fn facts(&self) -> Option<&RunFile> {
        self.outputs.iter().find_map(|output| output.facts.as_ref())
    }

    /// The problems in order.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// Number of problems by verdict.
    pub fn counts(&self) -> Counts {
        Counts::from_problems(&self.problems)
    }

    /// Measurements of the run.
    pub fn measures(&self) -> Measures {
        let all = |value: fn(&Problem) -> Option<u64>, bins| {
            let values = self.problems.iter().filter_map(value).map(i128::from);
            Distribution::new(values.collect(), bins)
        };
        let scores = |value: fn(Score) -> Option<i128>, bins| {
            let values = self.problems.iter().filter_map(|problem| value(problem.score()?));
            Distribution::new(values.collect(), bins)
        };
        Measures {
            nodes: all(|problem| problem.nodes, Bins::PowersOfTwo),
            milliseconds: all(|problem| problem.milliseconds, Bins::PowersOfTwo),
            depth: all(|problem| problem.depth, Bins::Single),
            score: scores(centipawns, Bins::Hundreds),
            mates: scores(mates_in, Bins::Single),
            mated: scores(mated_in, Bins::Single),
            dm: Distribution::new(
                self.problems.iter().filter_map(|problem| problem.mate).collect(),
                Bins::Single,
            ),
            nodes_per_second: self.nodes_per_second(),
        }
    }

    fn nodes_per_second(&self) -> Option<u64> {
        let mut nodes = 0_u128;
        let mut time = 0_u128;
        for problem in &self.problems {
            if let Some(more_nodes) = problem.nodes
                && let Some(more_time @ 1..) = problem.milliseconds
            {
                nodes += u128::from(more_nodes);
                time += u128::from(more_time);
            }
        }
        u64::try_from((nodes * 1000).checked_div(time)?).ok()
    }

    /// The efforts of problems in ascending order. If `is_first` is true, these are the efforts at which a
    /// solution was first chosen; otherwise, the efforts after which only solutions were chosen until the
    /// end. The list is empty if the records do not state them.
    pub fn efforts(&self, axis: Axis, is_first: bool) -> Vec<u64> {
        let scored = self.problems.iter().filter(|problem| problem.is_scored());
        let effort = |problem: &Problem| if is_first { problem.first } else { problem.held };
        let efforts = scored.filter_map(effort).map(|effort| axis.value(&effort));
        let mut efforts: Vec<u64> = efforts.collect();
        efforts.sort_unstable();
        efforts
    }

    /// The effort after which `quarters` quarters of the scored problems are solved until the end of the
    /// search. `None` if fewer are solved, or if the records do not state the efforts.
    pub fn quarters_within(&self, quarters: u64, axis: Axis) -> Option<u64> {
        let wanted = (self.counts().scored() * quarters).div_ceil(4);
        let place = usize::try_from(wanted.checked_sub(1)?).ok()?;
        self.efforts(axis, false).get(place).copied()
    }
}

fn centipawns(score: Score) -> Option<i128> {
    match score {
        Score::Centipawns(value) => Some(value.into()),
        _ => None,
    }
}

fn mates_in(score: Score) -> Option<i128> {
    match score {
        Score::Mates(plies) => Some(plies.div_ceil(2).into()),
        _ => None,
    }
}

fn mated_in(score: Score) -> Option<i128> {
    match score {
        Score::Mated(plies) => Some(plies.div_ceil(2).into()),
        Score::Checkmated => Some(0),
        _ => None,
    }
}
