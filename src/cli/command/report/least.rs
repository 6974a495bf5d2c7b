//! `--min-solved`: how many problems a run must solve.

use std::str::FromStr;

use epdb::report::Run;

/// How many problems must be solved.
#[derive(Copy, Clone, PartialEq, Debug)]
pub(super) enum Least {
    /// So many.
    Count(u64),
    /// So many percent of those that are scored.
    Percent(f64),
}

impl FromStr for Least {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Least, &'static str> {
        const EXPECTED: &str = "expected a number such as 290, or percent such as 95.5%";
        let Some(percent) = text.strip_suffix('%') else {
            return text.parse().map(Least::Count).map_err(|_| EXPECTED);
        };
        match percent.trim_end().parse() {
            Ok(percent) if (0.0..=100.0).contains(&percent) => Ok(Least::Percent(percent)),
            _ => Err(EXPECTED),
        }
    }
}

impl Least {
    /// Whether some run solves fewer. Percent of nothing are never reached.
    pub(super) fn refuses(self, runs: &[Run]) -> bool {
        runs.iter().any(|run| {
            let counts = run.counts();
            match self {
                Least::Count(least) => counts.solved < least,
                Least::Percent(least) => counts.share().is_none_or(|share| 100.0 * share < least),
            }
        })
    }
}
