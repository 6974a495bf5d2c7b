//! Statistics of counts: intervals, exact tests, resampling. Only operations that IEEE 754 defines
//! exactly are used, so results are the same on every machine.

use epdb_library::sample::random_number;

/// The 97.5 % quantile of the normal distribution.
const Z: f64 = 1.959_963_984_540_054;
/// Number of bootstrap samples.
pub const RESAMPLES: usize = 10_000;
/// Seed of every bootstrap.
const SEED: u64 = 1995;

/// A 95 % interval.
#[derive(Copy, Clone, PartialEq, Debug)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// The Wilson score interval of a share (Wilson 1927); `None` without trials.
///
/// ```
/// use epdb_engine::report::statistics::wilson;
/// let interval = wilson(9, 10).expect("ten trials");
/// assert!((interval.low - 0.596).abs() < 0.001 && (interval.high - 0.982).abs() < 0.001);
/// ```
pub fn wilson(successes: u64, trials: u64) -> Option<Interval> {
    if trials == 0 {
        return None;
    }
    let n = trials as f64;
    let share = successes as f64 / trials as f64;
    let scale = 1.0 + Z * Z / n;
    let middle = (share + Z * Z / (2.0 * n)) / scale;
    let half = Z / scale * (share * (1.0 - share) / n + Z * Z / (4.0 * n * n)).sqrt();
    // An end is exactly 0 if nothing succeeded, and exactly 1 if everything succeeded.
    let low = if successes == 0 { 0.0 } else { (middle - half).max(0.0) };
    let high = if successes == trials { 1.0 } else { (middle + half).min(1.0) };
    Some(Interval { low, high })
}

/// The p-value of the exact two-sided McNemar test (1947): the probability that the differing pairs
/// are split at least as unevenly, if neither side is favoured. It is 1 if no pairs differ.
///
/// ```
/// use epdb_engine::report::statistics::mcnemar;
/// assert_eq!(mcnemar(0, 5), 0.0625);
/// assert_eq!(mcnemar(4, 4), 1.0);
/// ```
pub fn mcnemar(only_first: u64, only_second: u64) -> f64 {
    let few = only_first.min(only_second);
    let all = only_first + only_second;
    (2.0 * binomial_tail(few, all)).min(1.0)
}

/// The probability of at most `few` heads in `all` tosses.
fn binomial_tail(few: u64, all: u64) -> f64 {
    const STEP: i32 = 512;
    let large = 2f64.powi(STEP);
    // Sum and term are stored as multiples of 2^exponent, so that they neither overflow nor
    // underflow.
    let mut term = 1.0;
    let mut sum = 1.0;
    let mut exponent = -(all as i64);
    for place in 0..few {
        term *= (all - place) as f64 / (place + 1) as f64;
        sum += term;
        if sum > large {
            term /= large;
            sum /= large;
            exponent += i64::from(STEP);
        }
    }
    while exponent < -i64::from(STEP) && sum > 0.0 {
        sum /= large;
        exponent += i64::from(STEP);
    }
    sum * 2f64.powi(exponent as i32)
}

/// p-values after Holm's adjustment (1979), in the same order.
///
/// ```
/// use epdb_engine::report::statistics::holm;
/// assert_eq!(holm(&[0.5, 0.25]), [0.5, 0.5]);
/// ```
pub fn holm(probabilities: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..probabilities.len()).collect();
    order.sort_by(|&one, &other| probabilities[one].total_cmp(&probabilities[other]));
    let mut adjusted = vec![0.0; probabilities.len()];
    let mut largest = 0.0f64;
    for (rank, place) in order.into_iter().enumerate() {
        let factor = (probabilities.len() - rank) as f64;
        largest = largest.max((factor * probabilities[place]).min(1.0));
        adjusted[place] = largest;
    }
    adjusted
}

/// The percentile interval (Efron 1979) of a sum of paired differences, from [`RESAMPLES`] samples
/// with replacement. `None` without pairs.
///
/// ```
/// use epdb_engine::report::statistics::bootstrap;
/// assert_eq!(bootstrap(&[2, 2, 2]).map(|sum| (sum.low, sum.high)), Some((6.0, 6.0)));
/// ```
pub fn bootstrap(differences: &[i64]) -> Option<Interval> {
    let count = differences.len() as u64;
    if count == 0 {
        return None;
    }
    let mut place = 0;
    let mut draw = || {
        place += 1;
        let number = u128::from(random_number(SEED, place - 1));
        differences[((number * u128::from(count)) >> 64) as usize]
    };
    let mut sums: Vec<i128> =
        (0..RESAMPLES).map(|_| (0..count).map(|_| i128::from(draw())).sum()).collect();
    sums.sort_unstable();
    Some(Interval { low: quantile(&sums, 0.025), high: quantile(&sums, 0.975) })
}

/// A quantile of sorted values, interpolated linearly.
fn quantile(sorted: &[i128], share: f64) -> f64 {
    let place = share * (sorted.len() - 1) as f64;
    let below = place.floor() as usize;
    let part = place.fract();
    let above = sorted[(below + 1).min(sorted.len() - 1)] as f64;
    let below = sorted[below] as f64;
    below + part * (above - below)
}
