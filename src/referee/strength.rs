//! Difference of strength from counts of results.
//!
//! Counts are numbers of results by score, the lowest score first. There are three counts of games
//! (lost, drawn, won), or five counts of pairs of games (0, ½, 1, 1½, 2 points). The games of a
//! pair have the same opening, with the colours turned. Pairs give better estimates, because
//! openings favour one side, and so the two games of a pair are not independent. The functions of
//! [`libm`] give the same results on every machine.

/// The 97.5 % quantile of the normal distribution.
const Z: f64 = 1.959_963_984_540_054;

/// Normalized Elo if the mean score of a game is one half plus one standard deviation: 800 / ln 10
/// (Van den Bergh, "Normalized Elo", 2021).
pub(crate) const NORMALIZED_UNIT: f64 = 347.435_585_522_601_5;

/// Statistics of a side.
#[derive(Copy, Clone, PartialEq, Debug)]
pub struct Strength {
    /// The share of all points.
    pub score: f64,
    /// The difference in Elo.
    pub elo: Estimate,
    /// The difference in normalized Elo: the mean in units of the standard deviation of a game.
    pub normalized: Estimate,
    /// Likelihood of superiority: the probability that the side is stronger than its opponent.
    pub superiority: f64,
}

/// A value, and half the width of its 95 % interval.
#[derive(Copy, Clone, PartialEq, Debug, Default)]
pub struct Estimate {
    /// The value; `None` if it is unbounded, for example if all games were won.
    pub value: Option<f64>,
    /// Half the width of the interval; `None` if it is unbounded or unknown.
    pub error: Option<f64>,
}

/// Statistics of counts; `None` without games.
///
/// The mean is assumed to be normally distributed with the variance of the counts, as in fishtest
/// (`stat_util.py`). The mean, and both ends of its interval, are converted to logistic Elo. If all results
/// have the same score, the variance is 0. In this case, the superiority is computed from the number of games
/// that must have been decided. Each such game counts as a toss of a coin.
///
/// ```
/// use epdb_referee::strength::strength;
/// let of_games = strength(&[20, 50, 30]).expect("games");
/// assert_eq!(format!("{:.2}", of_games.elo.value.expect("a value")), "34.86");
/// assert_eq!(format!("{:.3}", of_games.superiority), "0.923");
/// assert_eq!(strength(&[0, 0, 0]), None);
/// ```
pub fn strength(counts: &[u64]) -> Option<Strength> {
    let Moments { count, mean, variance } = moments(counts)?;
    let deviation = (variance / count).sqrt();
    let is_spread = variance > 0.0;
    let low = mean - Z * deviation;
    let high = mean + Z * deviation;
    let elo_error = elo(low).zip(elo(high)).map(|(low, high)| (high - low) / 2.0);
    let of_game = (games_in_each(counts) * variance).sqrt();
    let normalized = (mean - 0.5) / of_game * NORMALIZED_UNIT;
    let normalized_error = Z * NORMALIZED_UNIT / (games_in_each(counts) * count).sqrt();
    Some(Strength {
        score: mean,
        elo: Estimate { value: elo(mean), error: if is_spread { elo_error } else { None } },
        normalized: Estimate {
            value: is_spread.then_some(normalized),
            error: is_spread.then_some(normalized_error),
        },
        superiority: normal(if is_spread {
            (mean - 0.5) / deviation
        } else {
            surplus(mean, games_in_each(counts) * count)
        }),
    })
}

/// Mean and variance of scores from 0 to 1.
#[derive(Copy, Clone, Debug)]
struct Moments {
    /// Number of results.
    count: f64,
    mean: f64,
    variance: f64,
}

fn moments(counts: &[u64]) -> Option<Moments> {
    let count: u64 = counts.iter().sum();
    if count == 0 {
        return None;
    }
    let count = count as f64;
    let shares = counts.iter().map(|of_score| *of_score as f64 / count);
    let scores: Vec<(f64, f64)> = scores(counts.len()).zip(shares).collect();
    let mean: f64 = scores.iter().map(|(score, share)| score * share).sum();
    let variance = scores.iter().map(|(score, share)| share * (score - mean).powi(2)).sum();
    Some(Moments { count, mean, variance })
}

/// `steps` scores from 0 to 1 in even steps.
pub(super) fn scores(steps: usize) -> impl Iterator<Item = f64> + Clone {
    (0..steps).map(move |step| step as f64 / (steps.max(2) - 1) as f64)
}

/// Number of games that one result covers: 1 if the counts are of games, 2 if they are of pairs.
pub(super) fn games_in_each(counts: &[u64]) -> f64 {
    (counts.len() / 2) as f64
}

/// The difference in Elo that gives a share of the points; `None` for a share of 0 or 1.
fn elo(score: f64) -> Option<f64> {
    (score > 0.0 && score < 1.0).then(|| 400.0 * libm::log10(score / (1.0 - score)))
}

/// The share of the points that a difference in Elo gives.
///
/// ```
/// assert_eq!(epdb_referee::strength::expected_score(0.0), 0.5);
/// ```
pub fn expected_score(elo: f64) -> f64 {
    1.0 / (1.0 + libm::pow(10.0, -elo / 400.0))
}

/// The surplus of games won over games lost, in standard deviations, if `games` games gave this
/// score. Each decided game counts as a toss of a coin. The number of decided games is the smallest
/// with which the score is possible.
fn surplus(score: f64, games: f64) -> f64 {
    let lead = 2.0 * score - 1.0;
    lead.signum() * (lead.abs() * games).sqrt()
}

/// The share of a normal distribution below a value.
fn normal(value: f64) -> f64 {
    libm::erfc(-value / std::f64::consts::SQRT_2) / 2.0
}
