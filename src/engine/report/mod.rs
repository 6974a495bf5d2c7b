//! Reports on finished suites. Files with an engine's answers are read as runs, counted and
//! compared.
//!
//! A [`Run`] holds a [`Problem`] for each record of its files. A [`Report`] joins several runs and
//! tests their differences. [`object`] has the JSON form, and [`html`] has the page.

mod comparison;
pub mod distribution;
pub mod html;
pub mod object;
pub mod points;
mod problem;
mod run;
pub mod statistics;
mod verdict;

pub use comparison::{Joined, Pair, PointDifference, Row, pairs};
pub use problem::{Effort, NamedMove, Points, Problem, Reading, verdict_word};
pub use run::{Axis, Counts, Measures, PointSum, Run, RunOutput};
pub use verdict::{grouped, percent, probability, range, signed};

use std::collections::{BTreeSet, HashMap};

use epdb_chess::model::answer::Verdict;
use epdb_library::run_file::NodeExcess;

/// Problems of one theme.
#[derive(Clone, PartialEq, Debug)]
pub struct Theme<'r> {
    /// The name of the theme.
    pub name: &'r str,
    /// Number of problems by verdict, for each run; `None` if the run has no problem of the theme.
    pub runs: Vec<Option<Counts>>,
}

/// A comparison of runs.
#[derive(Clone, Debug)]
pub struct Report<'r> {
    /// The runs in order.
    pub runs: &'r [Run],
    /// The problems of all runs.
    pub joined: Joined<'r>,
    /// The comparison of each run with each later run.
    pub pairs: Vec<Pair>,
    /// The summary sentence.
    pub verdict: String,
    /// Limitations of the result.
    pub notes: Vec<String>,
}

impl<'r> Report<'r> {
    /// The maximum number of runs.
    pub const MAX_RUNS: usize = 16;

    /// Joins runs and tests their differences.
    ///
    /// ```
    /// use epdb_chess::error::{At, Place};
    /// use epdb_chess::model::Opcode;
    /// use epdb_engine::report::{Report, Run};
    /// let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -";
    /// let mut memory = 1 << 20;
    /// let runs: Vec<Run> = [("old", "d4"), ("new", "e4")]
    ///     .map(|(label, answer)| {
    ///         let text = format!("{start} bm e4; id \"A.1\"; pm {answer};");
    ///         let record = epdb_chess::parse_epd(text.as_bytes()).expect("a record");
    ///         let mut run = Run::new(label.into(), Vec::new(), Opcode::ID);
    ///         run.add(&record, 0, &Place::new(label, At::Line(1)), &mut memory).expect("memory");
    ///         run
    ///     })
    ///     .into();
    /// let report = Report::new(&runs);
    /// assert_eq!(
    ///     report.verdict,
    ///     "new solves 1 more of 1 problems than old (1 against 0), which chance may explain (exact \
    ///      McNemar p = 1.0000)."
    /// );
    /// ```
    pub fn new(runs: &'r [Run]) -> Report<'r> {
        let joined = Joined::new(runs);
        let pairs = pairs(runs.len(), &joined);
        let verdict = verdict::sentence(runs, &pairs);
        let notes = notes(runs, &joined);
        Report { runs, joined, pairs, verdict, notes }
    }

    /// Number of problems by verdict for each theme and run. Themes are in order of appearance;
    /// problems without a theme have the empty name.
    pub fn themes(&self) -> Vec<Theme<'r>> {
        let mut themes: Vec<Theme<'r>> = Vec::new();
        let mut places: HashMap<&str, usize> = HashMap::new();
        for (place, run) in self.runs.iter().enumerate() {
            for problem in run.problems() {
                let theme = *places.entry(&problem.theme).or_insert_with(|| {
                    themes.push(Theme { name: &problem.theme, runs: vec![None; self.runs.len()] });
                    themes.len() - 1
                });
                themes[theme].runs[place].get_or_insert_default().add(problem);
            }
        }
        themes
    }
}

fn notes(runs: &[Run], joined: &Joined<'_>) -> Vec<String> {
    let mut notes = Vec::new();
    let suites: BTreeSet<Vec<&str>> = runs.iter().filter_map(suites).collect();
    if suites.len() > 1 {
        notes.push("the runs are of different suites".to_string());
    }
    for run in runs {
        let facts = run.outputs.iter().filter_map(|output| output.facts.as_ref());
        let mut settings =
            facts.map(|facts| (&facts.engine.name, &facts.engine.options, &facts.limit));
        let first = settings.next();
        if settings.any(|other| Some(other) != first) {
            notes.push(format!("{}: its files are of different engines or limits", run.label));
        } else {
            let mut excess = NodeExcess::new(first.and_then(|(_, _, limit)| limit.nodes));
            run.problems().iter().filter_map(|it| it.nodes).for_each(|nodes| excess.add(nodes));
            notes.extend(excess.message(&run.label));
        }
    }
    let mut note = |what: String, count: usize| {
        if count > 0 {
            notes.push(format!("{what}: {}", grouped(count as u128)));
        }
    };
    note("problems that are not in all runs".into(), joined.incomplete);
    note("ids that name different positions".into(), joined.of_different_positions);
    note("problems that ask for different moves".into(), joined.of_different_targets);
    for run in runs {
        for (what, is_wanted) in DOUBTS {
            let count = run.problems().iter().filter(|problem| is_wanted(problem)).count();
            note(format!("{}: {what}", run.label), count);
        }
    }
    notes
}

fn suites(run: &Run) -> Option<Vec<&str>> {
    let hashes = run.outputs.iter().map(|output| output.facts.as_ref()?.suite.blake3.as_deref());
    let mut hashes: Vec<&str> = hashes.collect::<Option<_>>()?;
    hashes.sort_unstable();
    Some(hashes)
}

/// A limitation of the result of a run, and the test for problems that it concerns.
type Doubt = (&'static str, fn(&Problem) -> bool);

const DOUBTS: [Doubt; 3] = [
    ("searches that failed", |problem| problem.error.is_some()),
    ("records that cannot be scored", |problem| problem.verdict == Verdict::Defective),
    ("records without points, for these name a move that is not legal", |problem| {
        problem.wrong_points.is_some()
    }),
];
