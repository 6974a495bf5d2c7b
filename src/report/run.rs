//! A run of an engine over a suite.

use super::distribution::{Bins, Distribution};
use super::problem::{Effort, Problem, Reading};
use super::statistics::{Interval, wilson};
use crate::error::{Error, Place, Result};
use crate::library::run_file::RunFile;
use crate::model::answer::Verdict;
use crate::model::score::Score;
use crate::model::{EpdRecord, Opcode};

/// A run of an engine over a suite.
#[derive(Clone, PartialEq, Debug)]
pub struct Run {
    /// What it is called.
    pub label: String,
    /// The files that hold it, such as one for each suite.
    pub outputs: Vec<RunOutput>,
    problems: Vec<Problem>,
    theme: Opcode,
}

/// A file that holds a run, or a part of it.
#[derive(Clone, PartialEq, Debug)]
pub struct RunOutput {
    /// Its name as it was given.
    pub file: String,
    /// What is known of the engine and the limit.
    pub facts: Option<RunFile>,
}

/// How many problems there are of each kind.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// All records.
    pub records: u64,
    /// Solved.
    pub solved: u64,
    /// Missed; those without an answer too.
    pub missed: u64,
    /// Missed for want of an answer.
    pub unanswered: u64,
    /// Records that ask for nothing.
    pub unscored: u64,
    /// Records whose `bm` or `am` has a move that is not legal.
    pub defective: u64,
    /// Records whose search failed.
    pub failed: u64,
    /// The points of all problems that have points.
    pub points: Option<PointSum>,
}

/// Points of several problems.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct PointSum {
    /// How many problems have points.
    pub problems: u64,
    /// What was earned.
    pub got: u128,
    /// What could be earned.
    pub of: u128,
}

impl Counts {
    /// What is said of problems.
    pub fn of<'p>(problems: impl IntoIterator<Item = &'p Problem>) -> Counts {
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

    /// Solved and missed ones.
    pub const fn scored(&self) -> u64 {
        self.solved + self.missed
    }

    /// The share of the scored ones that was solved, 0 to 1; `None` of none.
    pub fn share(&self) -> Option<f64> {
        (self.scored() > 0).then(|| self.solved as f64 / self.scored() as f64)
    }

    /// In which interval the share of solved ones lies, of as many problems of this kind as one
    /// likes.
    pub fn interval(&self) -> Option<Interval> {
        wilson(self.solved, self.scored())
    }
}

/// What a run took and said.
#[derive(Clone, PartialEq, Debug)]
pub struct Measures {
    /// Nodes of each record.
    pub nodes: Option<Distribution>,
    /// Milliseconds of each record.
    pub milliseconds: Option<Distribution>,
    /// Depths in plies.
    pub depth: Option<Distribution>,
    /// Scores in centipawns, mates left out.
    pub score: Option<Distribution>,
    /// Moves to mate where the side to move mates.
    pub mates: Option<Distribution>,
    /// Moves to mate where the side to move is mated.
    pub mated: Option<Distribution>,
    /// Moves to the mates that were asked for or found, as `dm` has them.
    pub dm: Option<Distribution>,
    /// Nodes a second, of the records that say both and took longer than nothing.
    pub nodes_per_second: Option<u64>,
}

/// Which part of the effort is meant.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Axis {
    /// Milliseconds.
    Time,
    /// Nodes.
    Nodes,
}

impl Axis {
    /// That part.
    pub const fn of(self, effort: &Effort) -> u64 {
        match self {
            Axis::Time => effort.ms,
            Axis::Nodes => effort.nodes,
        }
    }
}

impl Run {
    /// A run without problems yet; `theme` is the operation that names the theme of a problem.
    pub const fn new(label: String, outputs: Vec<RunOutput>, theme: Opcode) -> Run {
        Run { label, outputs, problems: Vec::new(), theme }
    }

    /// Takes a record from a place in the output with this number, from 0. Of `memory` bytes it takes
    /// what the record needs.
    ///
    /// # Errors
    /// There is not as much memory.
    pub fn add(
        &mut self,
        record: &EpdRecord,
        output: usize,
        place: &Place,
        memory: &mut usize,
    ) -> Result<()> {
        let facts = self.outputs.get(output).and_then(|output| output.facts.as_ref());
        let verb = facts.and_then(|facts| facts.verb.as_deref());
        let reading = Reading { theme: self.theme, is_mate_search: verb == Some("mate") };
        let problem = Problem::new(record, place, &reading);
        *memory = memory.checked_sub(problem.bytes()).ok_or_else(|| {
            let what = "the problems take more memory than was given: raise --memory, or take fewer \
                        with --where";
            Error::new(what).at(place.clone())
        })?;
        self.problems.push(problem);
        Ok(())
    }

    /// What is known of the engine and the limit, as its first output that knows it says.
    pub fn facts(&self) -> Option<&RunFile> {
        self.outputs.iter().find_map(|output| output.facts.as_ref())
    }

    /// Its problems in their order.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// How many there are of each kind.
    pub fn counts(&self) -> Counts {
        Counts::of(&self.problems)
    }

    /// What it took and said.
    pub fn measures(&self) -> Measures {
        let all = |value: fn(&Problem) -> Option<u64>, bins| {
            let values = self.problems.iter().filter_map(value).map(i128::from);
            Distribution::of(values.collect(), bins)
        };
        let scores = |value: fn(Score) -> Option<i128>, bins| {
            let values = self.problems.iter().filter_map(|problem| value(problem.score()?));
            Distribution::of(values.collect(), bins)
        };
        Measures {
            nodes: all(|problem| problem.nodes, Bins::PowersOfTwo),
            milliseconds: all(|problem| problem.milliseconds, Bins::PowersOfTwo),
            depth: all(|problem| problem.depth, Bins::Single),
            score: scores(centipawns, Bins::Hundreds),
            mates: scores(mates_in, Bins::Single),
            mated: scores(mated_in, Bins::Single),
            dm: Distribution::of(
                self.problems.iter().filter_map(|problem| problem.mate).collect(),
                Bins::Single,
            ),
            nodes_per_second: self.nodes_per_second(),
        }
    }

    fn nodes_per_second(&self) -> Option<u64> {
        let both = |problem: &Problem| problem.nodes.zip(problem.milliseconds.filter(|&ms| ms > 0));
        let sum = |(nodes, time): (u128, u128), (more_nodes, more_time): (u64, u64)| {
            (nodes + u128::from(more_nodes), time + u128::from(more_time))
        };
        let (nodes, time) = self.problems.iter().filter_map(both).fold((0, 0), sum);
        u64::try_from((nodes * 1000).checked_div(time)?).ok()
    }

    /// What it took to hold the solution of each solved problem, in ascending order; or until a
    /// solution was chosen for the first time, of all that say so. Empty where the run does not tell.
    pub fn efforts(&self, axis: Axis, is_first: bool) -> Vec<u64> {
        let scored = self.problems.iter().filter(|problem| problem.is_scored());
        let effort = |problem: &Problem| if is_first { problem.first } else { problem.held };
        let efforts = scored.filter_map(effort).map(|effort| axis.of(&effort));
        let mut efforts: Vec<u64> = efforts.collect();
        efforts.sort_unstable();
        efforts
    }

    /// The effort within which so many quarters of the scored problems are solved for good; `None`
    /// where fewer are, or the run does not tell.
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
