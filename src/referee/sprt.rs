//! The sequential probability ratio test of two hypotheses about the strength of a side (Wald
//! 1945).
//!
//! The generalized likelihood ratio compares how probable the counts are under both hypotheses. A hypothesis
//! states a difference in Elo. From all distributions of scores with this difference, the ratio takes the
//! most probable one. Van den Bergh describes the test ("A practical introduction to the GSPRT", 2020) and
//! the normalized difference ("Normalized Elo", 2021). fishtest and fastchess show the logarithm of the ratio
//! as LLR. As in these programs, a score that did not occur counts as a thousandth of an occurrence.

use super::settings::{EloModel, Sprt};
use super::strength::{NORMALIZED_UNIT, expected_score, games_in_each, scores};

/// The state of a test.
#[derive(Copy, Clone, PartialEq, Debug)]
pub struct SprtState {
    /// The logarithm of the likelihood ratio.
    pub llr: f64,
    /// The first hypothesis is accepted if `llr` is at most this value.
    pub lower: f64,
    /// The second hypothesis is accepted if `llr` is at least this value.
    pub upper: f64,
}

/// The result of a test.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// The first hypothesis: the difference is `elo0` or less.
    First,
    /// The second hypothesis: the difference is `elo1` or more.
    Second,
}

impl SprtState {
    /// The state of a test with counts as in [`strength`](super::strength).
    ///
    /// ```
    /// use epdb_referee::sprt::{SprtState, Verdict};
    /// let test = epdb_referee::Sprt { elo0: 0.0, elo1: 5.0, ..Default::default() };
    /// let state = SprtState::new(&test, &[200, 1800, 4000, 2000, 400]);
    /// assert_eq!(state.verdict(), Some(Verdict::Second));
    /// assert_eq!(format!("{:.2} {:.2}", state.lower, state.upper), "-2.94 2.94");
    /// ```
    pub fn new(test: &Sprt, counts: &[u64]) -> SprtState {
        SprtState {
            llr: llr(test, counts).unwrap_or(0.0),
            lower: libm::log(test.beta / (1.0 - test.alpha)),
            upper: libm::log((1.0 - test.beta) / test.alpha),
        }
    }

    /// The result of the test; `None` if it is not finished.
    pub fn verdict(&self) -> Option<Verdict> {
        match self.llr {
            llr if llr >= self.upper => Some(Verdict::Second),
            llr if llr <= self.lower => Some(Verdict::First),
            _ => None,
        }
    }
}

/// A score and how probable it is.
type Cell = (f64, f64);

/// The logarithm of the likelihood ratio. `None` if there are no results, or if no distribution of
/// the scores has the mean that a hypothesis requires.
fn llr(test: &Sprt, counts: &[u64]) -> Option<f64> {
    if counts.iter().all(|count| *count == 0) {
        return None;
    }
    let counted = |count: &u64| if *count == 0 { NEVER_MET } else { *count as f64 };
    let all: f64 = counts.iter().map(counted).sum();
    let met: Vec<Cell> =
        scores(counts.len()).zip(counts.iter().map(|count| counted(count) / all)).collect();
    let most_probable = |elo: f64| match test.model {
        EloModel::Logistic => with_mean(&met, expected_score(elo)),
        EloModel::Normalized => {
            let of_game = elo / NORMALIZED_UNIT;
            with_normalized_mean(&met, of_game * games_in_each(counts).sqrt())
        }
    };
    let first = most_probable(test.elo0)?;
    let second = most_probable(test.elo1)?;
    let cells = met.iter().zip(first.iter().zip(&second));
    let of_one: f64 =
        cells.map(|((_, share), (first, second))| share * libm::log(second / first)).sum();
    Some(all * of_one)
}

/// The count of a score that did not occur.
const NEVER_MET: f64 = 1e-3;

/// The most probable distribution with this mean.
fn with_mean(met: &[Cell], mean: f64) -> Option<Vec<f64>> {
    let distances: Vec<Cell> = met.iter().map(|(score, share)| (score - mean, *share)).collect();
    with_mean_of_zero(&distances)
}

/// The most probable distribution whose mean is `deviations` standard deviations above one half. Near a
/// distribution, the condition is almost linear. Each step solves the linear condition near the distribution
/// of the step before.
fn with_normalized_mean(met: &[Cell], deviations: f64) -> Option<Vec<f64>> {
    const MAX_STEPS: usize = 100;
    const CLOSE: f64 = 1e-11;
    let mut shares = vec![1.0 / met.len() as f64; met.len()];
    for _ in 0..MAX_STEPS {
        let now = || met.iter().zip(&shares);
        let mean: f64 = now().map(|((score, _), share)| score * share).sum();
        let variance: f64 = now().map(|((score, _), share)| share * (score - mean).powi(2)).sum();
        let deviation = variance.sqrt();
        let distance = |(score, share): &Cell| {
            let spread = 1.0 + ((score - mean) / deviation).powi(2);
            (score - 0.5 - deviations * deviation * spread / 2.0, *share)
        };
        let distances: Vec<Cell> = met.iter().map(distance).collect();
        let next = with_mean_of_zero(&distances)?;
        let change = next.iter().zip(&shares).map(|(next, share)| (next - share).abs());
        let is_close = change.fold(0.0, f64::max) < CLOSE;
        shares = next;
        if is_close {
            break;
        }
    }
    Some(shares)
}

/// The most probable shares for which the distances have a mean of zero. By Lagrange, each share is
/// p / (1 + x d) for one x, which is found by bisection.
fn with_mean_of_zero(distances: &[Cell]) -> Option<Vec<f64>> {
    const HALVINGS: usize = 200;
    let least = distances.iter().map(|(distance, _)| *distance).fold(f64::INFINITY, f64::min);
    let most = distances.iter().map(|(distance, _)| *distance).fold(f64::NEG_INFINITY, f64::max);
    if !(least < 0.0 && most > 0.0) {
        return None;
    }
    let mut low = -1.0 / most;
    let mut high = -1.0 / least;
    for _ in 0..HALVINGS {
        let middle = low + (high - low) / 2.0;
        let terms =
            distances.iter().map(|(distance, share)| share * distance / (1.0 + middle * distance));
        if terms.sum::<f64>() > 0.0 { low = middle } else { high = middle }
    }
    let x = low + (high - low) / 2.0;
    Some(distances.iter().map(|(distance, share)| share / (1.0 + x * distance)).collect())
}
