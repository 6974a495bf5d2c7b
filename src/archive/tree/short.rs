//! Counts in few bits.

/// A count as a small number: exact up to 8, then rounded to three significant bits.
pub(super) fn short(count: u32) -> u32 {
    match count {
        0..8 => count,
        _ => {
            let exponent = 29 - count.leading_zeros();
            let rounded = (u64::from(count) + (1 << (exponent - 1))) >> exponent;
            4 * exponent + rounded as u32
        }
    }
}

/// The count that a small number stands for.
pub(super) fn of_short(short: u32) -> u32 {
    match short {
        0..8 => short,
        _ => {
            let exponent = (short / 4 - 1).min(28);
            (4 + short % 4) << exponent
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_counts_ascend_and_stay_what_they_are() {
        let mut before = 0;
        for count in (0..5000).chain([1 << 20, 1 << 27, 1 << 30, u32::MAX]) {
            let short = short(count);
            assert!(short >= before, "{count}");
            before = short;
            if count < 1 << 31 {
                assert_eq!(super::short(of_short(short)), short, "{count}");
                assert!(of_short(short).abs_diff(count) <= count / 8);
            }
        }
    }
}
