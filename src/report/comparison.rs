//! Runs side by side: their problems joined, and what sets two of them apart.

use std::collections::HashMap;

use super::problem::Problem;
use super::run::{PointSum, Run};
use super::statistics::{Interval, bootstrap, holm, mcnemar};
use crate::model::Position;
use crate::model::answer::Verdict;

/// Problems of several runs, each a row.
#[derive(Clone, Debug)]
pub struct Joined<'r> {
    /// The problems in the order of the first run, then those that only later ones have.
    pub rows: Vec<Row<'r>>,
    /// Rows whose runs have one `id` for different positions.
    pub of_different_positions: usize,
    /// Rows whose runs ask for different moves.
    pub of_different_targets: usize,
    /// Rows that some run does not have.
    pub incomplete: usize,
}

/// A problem in each run that has it.
#[derive(Clone, Debug)]
pub struct Row<'r>(Vec<Option<&'r Problem>>);

/// What makes problems of different runs one; several in one run are told apart by their order.
#[derive(PartialEq, Eq, Hash)]
enum Name<'r> {
    Id(&'r str),
    Position(Box<Position>),
}

impl<'r> Joined<'r> {
    /// Joins problems by `id`, or, where they have none, by position.
    pub fn new(runs: &'r [Run]) -> Joined<'r> {
        let mut rows: Vec<Row<'r>> = Vec::new();
        let mut places: HashMap<(Name<'r>, u32), usize> = HashMap::new();
        for (number, run) in runs.iter().enumerate() {
            let mut seen: HashMap<Name<'r>, u32> = HashMap::new();
            for problem in run.problems() {
                let count = seen.entry(name(problem)).or_default();
                *count += 1;
                let place = *places.entry((name(problem), *count)).or_insert_with(|| {
                    rows.push(Row(vec![None; runs.len()]));
                    rows.len() - 1
                });
                rows[place].0[number] = Some(problem);
            }
        }
        let count =
            |is_wanted: fn(&Row<'_>) -> bool| rows.iter().filter(|row| is_wanted(row)).count();
        Joined {
            of_different_positions: count(|row| row.differ(|it| it.position.identity())),
            of_different_targets: count(|row| row.differ(Problem::targets)),
            incomplete: count(|row| row.0.contains(&None)),
            rows,
        }
    }
}

fn name(problem: &Problem) -> Name<'_> {
    match &problem.id {
        Some(id) => Name::Id(id),
        None => Name::Position(Box::new(problem.position.identity())),
    }
}

impl<'r> Row<'r> {
    /// What each run has.
    pub fn of_runs(&self) -> &[Option<&'r Problem>] {
        &self.0
    }

    /// The problem as the first run that has it tells it.
    pub fn problem(&self) -> Option<&'r Problem> {
        self.0.iter().flatten().next().copied()
    }

    /// Whether a run counts and missed it.
    pub fn is_missed(&self) -> bool {
        self.0.iter().flatten().any(|problem| problem.verdict == Verdict::Missed)
    }

    /// Whether some run solved it.
    pub fn is_solved(&self) -> bool {
        self.0.iter().flatten().any(|problem| problem.is_solved())
    }

    /// Whether at least two runs have it and all of them agree on a move that is not the solution: the
    /// problem may be wrong.
    pub fn is_cook(&self) -> bool {
        let mut answers = self.0.iter().map(|problem| {
            let missed = problem.filter(|problem| problem.verdict == Verdict::Missed);
            missed?.answer.as_ref()
        });
        let Some(Some(first)) = answers.next() else { return false };
        self.0.len() > 1 && answers.all(|answer| answer == Some(first))
    }

    fn differ<T: PartialEq>(&self, part: impl Fn(&Problem) -> T) -> bool {
        let mut parts = self.0.iter().flatten().map(|problem| part(problem));
        let first = parts.next();
        parts.any(|other| Some(other) != first)
    }
}

/// What sets two runs apart, of the problems that count in both.
#[derive(Clone, PartialEq, Debug)]
pub struct Pair {
    /// The number of the first run, from 0.
    pub first: usize,
    /// The number of the second run.
    pub second: usize,
    /// Problems that both solve.
    pub both: u64,
    /// Problems that only the first one solves.
    pub only_first: u64,
    /// Problems that only the second one solves.
    pub only_second: u64,
    /// Problems that neither solves.
    pub neither: u64,
    /// The exact test of McNemar.
    pub p: f64,
    /// The same, adjusted for the number of pairs.
    pub holm: f64,
    /// How many more the second one would solve, of as many other problems of this kind.
    pub difference: Option<Interval>,
    /// Points, where problems have them in both.
    pub points: Option<PointDifference>,
}

/// What sets two runs apart in points.
#[derive(Copy, Clone, PartialEq, Debug)]
pub struct PointDifference {
    /// What the first one earned.
    pub first: PointSum,
    /// What the second one earned of the same problems.
    pub second: PointSum,
    /// How many more points the second one would earn of as many other problems of this kind.
    pub interval: Interval,
}

impl Pair {
    /// Problems that count in both.
    pub const fn common(&self) -> u64 {
        self.both + self.only_first + self.only_second + self.neither
    }

    fn new(rows: &[Row<'_>], first: usize, second: usize) -> Pair {
        let in_both = |row: &Row<'_>| {
            let (one, other) = (row.0[first]?, row.0[second]?);
            let is_scored = one.is_scored() && other.is_scored();
            is_scored.then(|| [one.is_solved(), other.is_solved()])
        };
        let solved: Vec<[bool; 2]> = rows.iter().filter_map(in_both).collect();
        let count = |wanted| solved.iter().filter(|&&pair| pair == wanted).count() as u64;
        let (only_first, only_second) = (count([true, false]), count([false, true]));
        let more = |[one, other]: &[bool; 2]| i64::from(*other) - i64::from(*one);
        let p = mcnemar(only_first, only_second);
        Pair {
            first,
            second,
            both: count([true, true]),
            only_first,
            only_second,
            neither: count([false, false]),
            p,
            holm: p,
            difference: bootstrap(&solved.iter().map(more).collect::<Vec<_>>()),
            points: PointDifference::new(rows, first, second),
        }
    }
}

impl PointDifference {
    fn new(rows: &[Row<'_>], first: usize, second: usize) -> Option<PointDifference> {
        let in_both = |row: &Row<'_>| Some((row.0[first]?.points?, row.0[second]?.points?));
        let points: Vec<_> = rows.iter().filter_map(in_both).collect();
        let mut sums = [PointSum::default(); 2];
        let mut differences = Vec::new();
        for (one, other) in points {
            for (sum, points) in sums.iter_mut().zip([one, other]) {
                sum.problems += 1;
                sum.got += u128::from(points.got);
                sum.of += u128::from(points.of);
            }
            differences.push(i64::from(other.got) - i64::from(one.got));
        }
        let interval = bootstrap(&differences)?;
        Some(PointDifference { first: sums[0], second: sums[1], interval })
    }
}

/// Each run against each later one.
pub fn pairs(runs: usize, joined: &Joined<'_>) -> Vec<Pair> {
    let places = (0..runs).flat_map(|first| (first + 1..runs).map(move |second| (first, second)));
    let mut pairs: Vec<Pair> =
        places.map(|(first, second)| Pair::new(&joined.rows, first, second)).collect();
    let adjusted = holm(&pairs.iter().map(|pair| pair.p).collect::<Vec<_>>());
    for (pair, p) in pairs.iter_mut().zip(adjusted) {
        pair.holm = p;
    }
    pairs
}
