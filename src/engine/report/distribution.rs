//! Distribution of values: nodes, times, depths, scores.

use std::collections::BTreeMap;

use serde::Serialize;

/// Statistics of integers. Median and quartiles are values of the sample. If there are two middle values, the
/// lower one counts.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Distribution {
    /// Number of values, at least one.
    pub count: usize,
    /// Sum of the values.
    pub sum: i128,
    /// The smallest value.
    pub min: i128,
    /// Lower quartile.
    pub lower_quartile: i128,
    /// Median.
    pub median: i128,
    /// Upper quartile.
    pub upper_quartile: i128,
    /// The largest value.
    pub max: i128,
    /// Arithmetic mean.
    pub mean: f64,
    /// Counts per bin, from the first to the last bin that is not empty.
    pub bins: Vec<Bin>,
}

/// A range of values.
#[derive(Copy, Clone, PartialEq, Debug, Serialize)]
pub struct Bin {
    /// The smallest value in the bin.
    pub from: i128,
    /// The largest value in the bin.
    pub to: i128,
    /// Number of values in the bin.
    pub count: u64,
}

/// Boundaries of bins.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Bins {
    /// Powers of two: 0, 1, 2 to 3, 4 to 7 and so on.
    PowersOfTwo,
    /// Single values up to 400, and one bin for larger values.
    Single,
    /// Tens from 0 on.
    Tens,
    /// Bins of one hundred each from −1000 to 1000, and one bin beyond each end.
    Hundreds,
}

impl Bins {
    /// The smallest and the largest value of the bin into which `value` falls.
    fn range(self, value: i128) -> (i128, i128) {
        match self {
            Bins::Single if value > 400 => (401, u64::MAX.into()),
            Bins::Single => (value, value),
            Bins::Tens => (value.div_euclid(10) * 10, value.div_euclid(10) * 10 + 9),
            Bins::PowersOfTwo if value < 1 => (value.min(0), 0),
            Bins::PowersOfTwo => {
                let from = 1i128 << value.ilog2();
                (from, 2 * from - 1)
            }
            Bins::Hundreds if value < -1000 => (-32_000, -1001),
            Bins::Hundreds if value >= 1000 => (1000, 32_000),
            Bins::Hundreds => {
                let from = value.div_euclid(100) * 100;
                (from, from + 99)
            }
        }
    }

    /// Counts the values by bin. Each value comes with the number of times that it occurs.
    pub fn count(self, values: impl IntoIterator<Item = (i128, u64)>) -> Vec<Bin> {
        let mut counts: BTreeMap<(i128, i128), u64> = BTreeMap::new();
        for (value, count) in values {
            *counts.entry(self.range(value)).or_default() += count;
        }
        counts.into_iter().map(|((from, to), count)| Bin { from, to, count }).collect()
    }
}

impl Distribution {
    /// The distribution of the values; `None` if there are none. The sum of 64-bit numbers cannot
    /// overflow.
    ///
    /// ```
    /// use epdb_engine::report::distribution::{Bins, Distribution};
    /// let values = Distribution::new(vec![7, 1, 2, 10], Bins::PowersOfTwo).expect("some");
    /// assert_eq!((values.median, values.mean, values.bins.len()), (2, 5.0, 4));
    /// ```
    pub fn new(mut values: Vec<i128>, bins: Bins) -> Option<Distribution> {
        values.sort_unstable();
        let min = *values.first()?;
        let max = *values.last()?;
        let count = values.len();
        let sum = values.iter().sum::<i128>();
        let quarter = |number: usize| values[(count - 1) * number / 4];
        Some(Distribution {
            count,
            sum,
            min,
            lower_quartile: quarter(1),
            median: quarter(2),
            upper_quartile: quarter(3),
            max,
            mean: sum as f64 / count as f64,
            bins: bins.count(values.iter().map(|&value| (value, 1))),
        })
    }
}
