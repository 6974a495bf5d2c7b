//! Counts rounded to few bits.

/// The code of a count: exact up to 8, then rounded to three significant bits.
pub(super) fn encode_count(count: u32) -> u32 {
    match count {
        0..8 => count,
        _ => {
            let exponent = 29 - count.leading_zeros();
            let rounded = (u64::from(count) + (1 << (exponent - 1))) >> exponent;
            4 * exponent + rounded as u32
        }
    }
}

/// The count of a code.
pub(super) fn decode_count(code: u32) -> u32 {
    match code {
        0..8 => code,
        _ => {
            let exponent = (code / 4 - 1).min(28);
            (4 + code % 4) << exponent
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounded_counts_ascend_and_rounding_again_changes_nothing() {
        let mut before = 0;
        for count in (0..5000).chain([1 << 20, 1 << 27, 1 << 30, u32::MAX]) {
            let code = encode_count(count);
            assert!(code >= before, "{count}");
            before = code;
            if count < 1 << 31 {
                assert_eq!(super::encode_count(decode_count(code)), code, "{count}");
                assert!(decode_count(code).abs_diff(count) <= count / 8);
            }
        }
    }
}
