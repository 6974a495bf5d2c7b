//! Joins the problems of runs and compares the runs in pairs.

use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::Hash;

use super::problem::Problem;
use super::run::{PointSum, Run};
use super::statistics::{Interval, bootstrap, holm, mcnemar};
use epdb_chess::model::answer::Verdict;

/// Problems of several runs. Each row has one problem in all runs.
#[derive(Clone, Debug)]
pub struct Joined<'r> {
    /// The problems in the order of the first run, then the problems that only later runs have.
    pub rows: Vec<Row<'r>>,
    /// Number of rows in which the runs have the same `id` for different positions.
    pub of_different_positions: usize,
    /// Number of rows in which the runs have different target moves.
    pub of_different_targets: usize,
    /// Number of rows in which at least one run does not have the problem.
    pub incomplete: usize,
}

/// A problem in each run that has it.
#[derive(Clone, Debug)]
pub struct Row<'r>(Vec<Option<&'r Problem>>);

impl<'r> Joined<'r> {
    /// Joins problems with equal `id` and position. Equal problems within a run are joined in
    /// order. The remaining problems are joined by an `id` that is unique in each run, then by a
    /// position that is unique in each run.
    pub fn new(runs: &'r [Run]) -> Joined<'r> {
        let ids = unique(runs, |problem| problem.id.as_deref());
        let positions = unique(runs, |problem| Some(problem.position.identity()));
        let mut rows: Vec<Row<'r>> = Vec::new();
        for (number, run) in runs.iter().enumerate() {
            let mut left: Vec<&'r Problem> = run.problems().iter().collect();
            join(&mut rows, number, &mut left, |_, problem| {
                Some((problem.id.as_deref(), problem.position.identity()))
            });
            join(&mut rows, number, &mut left, |run, problem| {
                problem.id.as_deref().filter(|id| ids[run].contains(id))
            });
            join(&mut rows, number, &mut left, |run, problem| {
                Some(problem.position.identity()).filter(|it| positions[run].contains(it))
            });
            rows.extend(left.into_iter().map(|problem| Row::new(problem, number, runs.len())));
        }
        let count =
            |is_wanted: fn(&Row<'_>) -> bool| rows.iter().filter(|row| is_wanted(row)).count();
        Joined {
            of_different_positions: count(|row| row.is_of_different_positions()),
            of_different_targets: count(|row| row.differ(Problem::targets)),
            incomplete: count(|row| row.0.contains(&None)),
            rows,
        }
    }
}

fn unique<'r, K: Eq + Hash>(
    runs: &'r [Run],
    key: impl Fn(&'r Problem) -> Option<K>,
) -> Vec<HashSet<K>> {
    let of_run = |run: &'r Run| {
        let mut counts: HashMap<K, u32> = HashMap::new();
        for key in run.problems().iter().filter_map(&key) {
            *counts.entry(key).or_default() += 1;
        }
        counts.into_iter().filter_map(|(key, count)| (count == 1).then_some(key)).collect()
    };
    runs.iter().map(of_run).collect()
}

/// Moves problems of the run `number` from `left` into rows, in order. A problem goes into a row
/// with the same key in which this run has no problem yet.
fn join<'r, K: Eq + Hash>(
    rows: &mut [Row<'r>],
    number: usize,
    left: &mut Vec<&'r Problem>,
    key: impl Fn(usize, &'r Problem) -> Option<K>,
) {
    let mut places: HashMap<K, VecDeque<usize>> = HashMap::new();
    for (place, row) in rows.iter().enumerate().filter(|(_, row)| row.0[number].is_none()) {
        let problems = row.0.iter().enumerate();
        for key in problems.filter_map(|(run, problem)| key(run, (*problem)?)) {
            places.entry(key).or_default().push_back(place);
        }
    }
    left.retain(|&problem| {
        let Some(places) = key(number, problem).and_then(|key| places.get_mut(&key)) else {
            return true;
        };
        while let Some(place) = places.pop_front() {
            if rows[place].0[number].is_none() {
                rows[place].0[number] = Some(problem);
                return false;
            }
        }
        true
    });
}

impl<'r> Row<'r> {
    fn new(problem: &'r Problem, run: usize, runs: usize) -> Row<'r> {
        let mut row = Row(vec![None; runs]);
        row.0[run] = Some(problem);
        row
    }

    /// The problem in each run.
    pub fn problems(&self) -> &[Option<&'r Problem>] {
        &self.0
    }

    /// The problem in the first run that has it.
    pub fn problem(&self) -> Option<&'r Problem> {
        self.0.iter().flatten().next().copied()
    }

    /// True if some run missed the problem.
    pub fn is_missed(&self) -> bool {
        self.0.iter().flatten().any(|problem| problem.verdict == Verdict::Missed)
    }

    /// True if some run solved the problem.
    pub fn is_solved(&self) -> bool {
        self.0.iter().flatten().any(|problem| problem.is_solved())
    }

    /// True if at least two runs have the problem, and all of them chose the same move, which is
    /// not the solution. The problem may be wrong.
    pub fn is_cook(&self) -> bool {
        let problems = || self.0.iter().flatten();
        let is_agreed = problems().all(|problem| problem.verdict == Verdict::Missed)
            && problems().all(|problem| problem.answer.is_some())
            && !self.differ(|problem| problem.answer.clone());
        is_agreed && problems().count() > 1 && !self.is_of_different_positions()
    }

    /// Whether the runs of the row have the same `id` for different positions.
    fn is_of_different_positions(&self) -> bool {
        self.differ(|problem| problem.position.identity())
    }

    /// The problem in two runs, if both have it with the same position.
    fn in_both(&self, first: usize, second: usize) -> Option<[&'r Problem; 2]> {
        let both @ [one, other] = [self.0[first]?, self.0[second]?];
        (one.position.identity() == other.position.identity()).then_some(both)
    }

    fn differ<T: PartialEq>(&self, part: impl Fn(&Problem) -> T) -> bool {
        let mut parts = self.0.iter().flatten().map(|problem| part(problem));
        let first = parts.next();
        parts.any(|other| Some(other) != first)
    }
}

/// Difference between two runs, over the problems scored in both.
#[derive(Clone, PartialEq, Debug)]
pub struct Pair {
    /// Index of the first run, from 0.
    pub first: usize,
    /// Index of the second run.
    pub second: usize,
    /// Number of problems that both runs solve.
    pub both: u64,
    /// Number of problems that only the first run solves.
    pub only_first: u64,
    /// Problems that only the second run solves.
    pub only_second: u64,
    /// Number of problems that neither run solves.
    pub neither: u64,
    /// p-value of the exact McNemar test; `None` if no problem is scored in both.
    pub p: Option<f64>,
    /// p-value after Holm's adjustment for the number of pairs with a test.
    pub holm: Option<f64>,
    /// 95 % interval of the difference: problems solved by the second run minus problems solved by
    /// the first run.
    pub difference: Option<Interval>,
    /// Difference in points, if some problems have points in both runs.
    pub points: Option<PointDifference>,
}

/// Difference between two runs in points.
#[derive(Copy, Clone, PartialEq, Debug)]
pub struct PointDifference {
    /// Points of the first run.
    pub first: PointSum,
    /// Points of the second run on the same problems.
    pub second: PointSum,
    /// 95 % interval of the points of the second run minus the points of the first run.
    pub interval: Interval,
}

impl Pair {
    /// Number of problems that are scored in both runs.
    pub const fn common(&self) -> u64 {
        self.both + self.only_first + self.only_second + self.neither
    }

    fn new(rows: &[Row<'_>], first: usize, second: usize) -> Pair {
        let in_both = |row: &Row<'_>| {
            let [one, other] = row.in_both(first, second)?;
            let is_scored = one.is_scored() && other.is_scored();
            is_scored.then(|| [one.is_solved(), other.is_solved()])
        };
        let solved: Vec<[bool; 2]> = rows.iter().filter_map(in_both).collect();
        let count = |wanted| solved.iter().filter(|&&pair| pair == wanted).count() as u64;
        let only_first = count([true, false]);
        let only_second = count([false, true]);
        let more = |[one, other]: &[bool; 2]| i64::from(*other) - i64::from(*one);
        let p = (!solved.is_empty()).then(|| mcnemar(only_first, only_second));
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
        let in_both = |row: &Row<'_>| {
            let [one, other] = row.in_both(first, second)?;
            Some((one.points?, other.points?))
        };
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

/// Compares each run with each later one.
pub fn pairs(runs: usize, joined: &Joined<'_>) -> Vec<Pair> {
    let places = (0..runs).flat_map(|first| (first + 1..runs).map(move |second| (first, second)));
    let mut pairs: Vec<Pair> =
        places.map(|(first, second)| Pair::new(&joined.rows, first, second)).collect();
    let known: Vec<f64> = pairs.iter().filter_map(|pair| pair.p).collect();
    let adjusted = holm(&known);
    for (pair, p) in pairs.iter_mut().filter(|pair| pair.p.is_some()).zip(adjusted) {
        pair.holm = Some(p);
    }
    pairs
}
