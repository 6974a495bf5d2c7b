//! Statistics compared with values of SciPy 1.17 and statsmodels 0.15.

use epdb_engine::report::distribution::{Bins, Distribution};
use epdb_engine::report::statistics::{Interval, RESAMPLES, bootstrap, holm, mcnemar, wilson};
use epdb_library::sample::random_number;

#[track_caller]
fn assert_close(value: f64, expected: f64) {
    let error = (value - expected).abs() / expected.abs().max(1e-300);
    assert!(error < 1e-12 || value == expected, "{value} instead of {expected}");
}

#[test]
fn mcnemar_is_the_exact_binomial_test() {
    for (first, second, expected) in [
        (0, 0, 1.0),
        (1, 0, 1.0),
        (3, 15, 0.007537841796875),
        (10, 25, 0.016673847800120715),
        (4, 81, 1.0997423112559616e-19),
        (40, 41, 1.0),
        (600, 700, 0.0060157938610449395),
        // Beyond what powers of two alone can say.
        (2000, 2600, 9.221221076769678e-19),
    ] {
        assert_close(mcnemar(first, second), expected);
        assert_close(mcnemar(second, first), expected);
    }
    assert_eq!(mcnemar(0, 1100), 0.0, "2^-1099 is below the smallest number");
}

#[test]
fn intervals_of_shares_are_those_of_wilson() {
    for (solved, scored, low, high) in [
        (0, 10, 0.0, 0.27753279986288926),
        (1, 1, 0.2065493143772374, 1.0),
        (9, 10, 0.5958499732047614, 0.982123786904927),
        (287, 300, 0.9272825343659885, 0.9745035519155927),
        (150, 300, 0.4437795161339169, 0.5562204838660831),
    ] {
        let interval = wilson(solved, scored).unwrap();
        assert_close(interval.low, low);
        assert_close(interval.high, high);
    }
    assert_eq!(wilson(0, 0), None);
}

#[test]
fn several_tests_are_adjusted_as_holm_does() {
    let adjusted = holm(&[0.01, 0.04, 0.03, 0.005, 0.9]);
    for (value, expected) in adjusted.iter().zip([0.04, 0.09, 0.09, 0.025, 0.9]) {
        assert_close(*value, expected);
    }
    assert_eq!(holm(&[]), [] as [f64; 0]);
}

/// The same draws, sorted, and the quantiles between them by proportion.
#[test]
fn the_bootstrap_depends_only_on_its_seed() {
    let differences: Vec<i64> = (0..40).map(|place| i64::from(place % 7) - 2).collect();
    let mut sums: Vec<i64> = (0..RESAMPLES as u64)
        .map(|sample| {
            let draw = |place: u64| {
                let number = u128::from(random_number(1995, sample * 40 + place));
                differences[(number * 40 / (1 << 64)) as usize]
            };
            (0..40).map(draw).sum()
        })
        .collect();
    sums.sort_unstable();
    let between = |below: usize, part: f64| {
        sums[below] as f64 + part * (sums[below + 1] - sums[below]) as f64
    };
    let Interval { low, high } = bootstrap(&differences).unwrap();
    assert_close(low, between(249, 0.975));
    assert_close(high, between(9749, 0.025));
    assert!(low < 36.0 && high > 36.0, "the sum is 36");
    assert_eq!(bootstrap(&[]), None);
}

#[test]
fn distributions_are_of_values_that_were_there() {
    let values = vec![9, 1, 4, 2, 0, u64::MAX.into()];
    let nodes = Distribution::new(values, Bins::PowersOfTwo).unwrap();
    assert_eq!(nodes.sum, i128::from(u64::MAX) + 16);
    let told = [nodes.min, nodes.lower_quartile, nodes.median, nodes.upper_quartile, nodes.max];
    assert_eq!(told, [0, 1, 2, 4, u64::MAX.into()]);
    let bins: Vec<_> = nodes.bins.iter().map(|bin| (bin.from, bin.to, bin.count)).collect();
    let last = (1 << 63, i128::from(u64::MAX), 1);
    assert_eq!(bins, [(0, 0, 1), (1, 1, 1), (2, 3, 1), (4, 7, 1), (8, 15, 1), last]);
    let scores = Distribution::new(vec![-1001, -1000, -1, 0, 99, 1000], Bins::Hundreds).unwrap();
    let bins: Vec<_> = scores.bins.iter().map(|bin| (bin.from, bin.count)).collect();
    assert_eq!(bins, [(-32_000, 1), (-1000, 1), (-100, 1), (0, 2), (1000, 1)]);
    assert_eq!(Distribution::new(Vec::new(), Bins::Single), None);
}
