//! How values are distributed: nodes, times, depths, scores.

use std::collections::BTreeMap;

use serde::Serialize;

/// What is told of some whole numbers. Of an even count the lower of the two middle values is the
/// median, and quartiles likewise are values that were there.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Distribution {
    /// How many there are, at least one.
    pub count: usize,
    /// Their sum.
    pub sum: i128,
    /// The smallest.
    pub min: i128,
    /// A quarter is at most this.
    pub lower_quartile: i128,
    /// Half are at most this.
    pub median: i128,
    /// Three quarters are at most this.
    pub upper_quartile: i128,
    /// The largest.
    pub max: i128,
    /// The sum over the count.
    pub mean: f64,
    /// How many are in each bin, from the lowest to the highest that is not empty.
    pub bins: Vec<Bin>,
}

/// Some consecutive values.
#[derive(Copy, Clone, PartialEq, Debug, Serialize)]
pub struct Bin {
    /// The smallest value in it.
    pub from: i128,
    /// The largest value in it.
    pub to: i128,
    /// How many there are.
    pub count: u64,
}

/// Where one bin ends and the next one begins.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Bins {
    /// At the powers of two: 0, 1, 2 to 3, 4 to 7 and so on.
    PowersOfTwo,
    /// Each value for itself, and one bin for all over 400.
    Single,
    /// At the hundreds from −1000 to 1000, and one bin for all that is beyond at either end.
    Hundreds,
}

impl Bins {
    /// The smallest and the largest value of the bin that a value is in.
    fn of(self, value: i128) -> (i128, i128) {
        match self {
            Bins::Single if value > 400 => (401, u64::MAX.into()),
            Bins::Single => (value, value),
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
}

impl Distribution {
    /// Looks at values; `None` if there are none. The sum of as many 64-bit numbers as memory holds
    /// fits.
    ///
    /// ```
    /// use epdb::report::distribution::{Bins, Distribution};
    /// let values = Distribution::of(vec![7, 1, 2, 10], Bins::PowersOfTwo).expect("some");
    /// assert_eq!((values.median, values.mean, values.bins.len()), (2, 5.0, 4));
    /// ```
    pub fn of(mut values: Vec<i128>, bins: Bins) -> Option<Distribution> {
        values.sort_unstable();
        let (&min, &max) = (values.first()?, values.last()?);
        let (count, sum) = (values.len(), values.iter().sum::<i128>());
        let quarter = |number: usize| values[(count - 1) * number / 4];
        let mut counts: BTreeMap<(i128, i128), u64> = BTreeMap::new();
        for &value in &values {
            *counts.entry(bins.of(value)).or_default() += 1;
        }
        let bin = |((from, to), count)| Bin { from, to, count };
        Some(Distribution {
            count,
            sum,
            min,
            lower_quartile: quarter(1),
            median: quarter(2),
            upper_quartile: quarter(3),
            max,
            mean: sum as f64 / count as f64,
            bins: counts.into_iter().map(bin).collect(),
        })
    }
}
