//! JSON objects of a report for other programs. Fields are only ever added.

use serde::Serialize;

use super::comparison::{Pair, Row};
use super::problem::{NamedMove, Problem};
use super::run::{Axis, Counts, Measures, PointSum, Run};
use super::statistics::Interval;
use super::{PointDifference, Report, Theme};
use epdb_library::run_file::RunFile;

/// A whole report.
#[derive(Serialize, Debug)]
pub struct ReportObject<'r> {
    /// The summary sentence.
    pub verdict: &'r str,
    /// Limitations of the result.
    pub notes: &'r [String],
    /// Number of runs.
    pub runs: usize,
    /// Number of different problems in all runs together.
    pub problems: usize,
    /// Number of cooks: problems for which all runs agree on another move.
    pub cooks: usize,
}

/// Results of a run.
#[derive(Serialize, Debug)]
pub struct RunObject<'r> {
    /// The name of the run.
    pub run: &'r str,
    /// The files of the run.
    pub files: Vec<&'r str>,
    /// Number of problems by verdict.
    #[serde(flatten)]
    pub counts: CountsObject,
    /// Distributions of effort and scores.
    #[serde(flatten)]
    pub measures: Measures,
    /// Milliseconds after which a quarter, half and three quarters of the scored problems were solved until
    /// the end of the search; null if fewer were solved.
    pub solved_within_ms: [Option<u64>; 3],
    /// Nodes after which a quarter, half and three quarters of the scored problems were solved until the end
    /// of the search; null if fewer were solved.
    pub solved_within_nodes: [Option<u64>; 3],
    /// For each file, the contents of its run file; null if it has none.
    pub facts: Vec<Option<&'r RunFile>>,
}

/// Number of problems by verdict.
#[derive(Serialize, Debug)]
pub struct CountsObject {
    /// All records.
    pub records: u64,
    /// Solved and missed records.
    pub scored: u64,
    /// Number of solved records.
    pub solved: u64,
    /// Number of missed records, including those without an answer.
    pub missed: u64,
    /// Number of records that are missed because there is no answer.
    pub unanswered: u64,
    /// Records whose search failed.
    pub failed: u64,
    /// Records with neither `bm` nor `am` nor a mate to find.
    pub unscored: u64,
    /// Records with an illegal move in `bm` or `am`.
    pub defective: u64,
    /// Share of solved records among scored ones, 0 to 1.
    pub share: Option<f64>,
    /// Wilson interval (95 %) of the share.
    pub interval: Option<[f64; 2]>,
    /// Points earned; null if no problem has points.
    pub points: Option<u128>,
    /// Maximum number of points.
    pub points_of: Option<u128>,
}

/// Results of a run on a theme.
#[derive(Serialize, Debug)]
pub struct ThemeObject<'r> {
    /// The run.
    pub run: &'r str,
    /// The theme; empty for problems without one.
    pub theme: &'r str,
    /// Number of problems by verdict.
    #[serde(flatten)]
    pub counts: CountsObject,
}

/// Difference between two runs.
#[derive(Serialize, Debug)]
pub struct PairObject<'r> {
    /// First run.
    pub first: &'r str,
    /// Second run.
    pub second: &'r str,
    /// Number of problems that are scored in both runs.
    pub common: u64,
    /// Number of problems that both runs solved.
    pub both: u64,
    /// Number of problems that only the first run solved.
    pub only_first: u64,
    /// Number of problems that only the second run solved.
    pub only_second: u64,
    /// Number of problems that neither run solved.
    pub neither: u64,
    /// Number of problems solved by the second run, minus the number solved by the first run.
    pub difference: i64,
    /// Bootstrap interval (95 %) of the difference.
    pub difference_interval: Option<[f64; 2]>,
    /// p-value of the exact two-sided McNemar test; null if no problem is scored in both.
    pub mcnemar_p: Option<f64>,
    /// p-value after Holm's adjustment.
    pub holm_p: Option<f64>,
    /// Points of the first run.
    pub points_first: Option<u128>,
    /// Points of the second run.
    pub points_second: Option<u128>,
    /// Maximum number of points.
    pub points_of: Option<u128>,
    /// Bootstrap interval (95 %) of the points of the second run minus the points of the first run.
    pub points_interval: Option<[f64; 2]>,
}

/// A problem with the result of each run.
#[derive(Serialize, Debug)]
pub struct ProblemObject<'r> {
    /// The `id` of the problem.
    pub id: Option<&'r str>,
    /// The theme of the problem.
    pub theme: &'r str,
    /// The four fields of the position.
    pub fen: String,
    /// The moves that solve the problem, including mates such as `#5`.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub bm: &'r [NamedMove],
    /// The moves to avoid.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub am: &'r [NamedMove],
    /// The number of moves of the mate to find.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dm: Option<i128>,
    /// True if all runs agree on another move.
    pub cook: bool,
    /// One result per run; null if the run does not have the problem.
    pub results: &'r [Option<&'r Problem>],
}

impl CountsObject {
    fn new(counts: &Counts) -> CountsObject {
        let points = |part: fn(PointSum) -> u128| counts.points.map(part);
        CountsObject {
            records: counts.records,
            scored: counts.scored(),
            solved: counts.solved,
            missed: counts.missed,
            unanswered: counts.unanswered,
            failed: counts.failed,
            unscored: counts.unscored,
            defective: counts.defective,
            share: counts.share(),
            interval: counts.interval().map(ends),
            points: points(|sum| sum.got),
            points_of: points(|sum| sum.of),
        }
    }
}

const fn ends(interval: Interval) -> [f64; 2] {
    [interval.low, interval.high]
}

impl<'r> RunObject<'r> {
    fn new(run: &'r Run) -> RunObject<'r> {
        let within = |axis| [1, 2, 3].map(|quarters| run.quarters_within(quarters, axis));
        RunObject {
            run: &run.label,
            files: run.outputs.iter().map(|output| output.file.as_str()).collect(),
            counts: CountsObject::new(&run.counts()),
            measures: run.measures(),
            solved_within_ms: within(Axis::Time),
            solved_within_nodes: within(Axis::Nodes),
            facts: run.outputs.iter().map(|output| output.facts.as_ref()).collect(),
        }
    }
}

impl<'r> PairObject<'r> {
    fn new(runs: &'r [Run], pair: &Pair) -> PairObject<'r> {
        let points = |part: fn(PointDifference) -> u128| pair.points.map(part);
        PairObject {
            first: &runs[pair.first].label,
            second: &runs[pair.second].label,
            common: pair.common(),
            both: pair.both,
            only_first: pair.only_first,
            only_second: pair.only_second,
            neither: pair.neither,
            difference: pair.only_second.cast_signed() - pair.only_first.cast_signed(),
            difference_interval: pair.difference.map(ends),
            mcnemar_p: pair.p,
            holm_p: pair.holm,
            points_first: points(|points| points.first.got),
            points_second: points(|points| points.second.got),
            points_of: points(|points| points.first.of),
            points_interval: pair.points.map(|points| ends(points.interval)),
        }
    }
}

impl<'r> ProblemObject<'r> {
    fn new(row: &'r Row<'r>) -> Option<ProblemObject<'r>> {
        let problem = row.problem()?;
        Some(ProblemObject {
            id: problem.id.as_deref(),
            theme: &problem.theme,
            fen: problem.position.to_string(),
            bm: &problem.best,
            am: &problem.avoid,
            dm: problem.mate,
            cook: row.is_cook(),
            results: row.problems(),
        })
    }
}

impl<'r> Report<'r> {
    /// The whole report.
    pub fn object(&self) -> ReportObject<'_> {
        let rows = &self.joined.rows;
        ReportObject {
            verdict: &self.verdict,
            notes: &self.notes,
            runs: self.runs.len(),
            problems: rows.len(),
            cooks: rows.iter().filter(|row| row.is_cook()).count(),
        }
    }

    /// Results of each run.
    pub fn run_objects(&self) -> impl Iterator<Item = RunObject<'r>> {
        self.runs.iter().map(RunObject::new)
    }

    /// Results of each run on each theme.
    pub fn theme_objects(&self) -> Vec<ThemeObject<'r>> {
        let object = |run: &'r Run, theme: &'r str, counts: &Option<Counts>| {
            let counts = CountsObject::new(counts.as_ref()?);
            Some(ThemeObject { run: &run.label, theme, counts })
        };
        let of_theme = |theme: &Theme<'r>| -> Vec<ThemeObject<'r>> {
            let of_runs = self.runs.iter().zip(&theme.runs);
            of_runs.filter_map(|(run, counts)| object(run, theme.name, counts)).collect()
        };
        self.themes().iter().flat_map(of_theme).collect()
    }

    /// Differences between runs, for each pair of runs.
    pub fn pair_objects(&self) -> impl Iterator<Item = PairObject<'r>> {
        self.pairs.iter().map(|pair| PairObject::new(self.runs, pair))
    }

    /// Each problem with the result of each run.
    pub fn problem_objects(&self) -> impl Iterator<Item = ProblemObject<'_>> {
        self.joined.rows.iter().filter_map(ProblemObject::new)
    }
}
