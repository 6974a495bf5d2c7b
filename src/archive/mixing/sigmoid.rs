//! The logistic function, from evidence to a probability, in integers.

/// Probabilities for evidence of -10, -9.5, ... 10 units, in units of 1/16,384.
const POINTS: [i32; 41] = [
    1, 1, 2, 3, 5, 9, 15, 25, 41, 67, 110, 180, 295, 480, 777, 1243, 1953, 2989, 4406, 6186, 8192,
    10198, 11978, 13395, 14431, 15141, 15607, 15904, 16089, 16204, 16274, 16317, 16343, 16359,
    16369, 16375, 16379, 16381, 16382, 16383, 16383,
];
/// One unit of evidence.
pub(super) const UNIT: i32 = 256;
/// Bound of the evidence.
const LIMIT: i32 = 10 * UNIT;
/// Binary logarithm of the distance of points.
const STEP_BITS: u32 = 7;

/// The probability for each evidence within the bounds, in units of 1/[`SCALE`]; never 0 or 1.
static PROBABILITIES: [u16; 2 * LIMIT as usize] = {
    let mut all = [0; 2 * LIMIT as usize];
    let mut at = 0;
    while at < all.len() {
        let (point, part) = (at >> STEP_BITS, (at & ((1 << STEP_BITS) - 1)) as i32);
        let (low, high) = (POINTS[point], POINTS[point + 1]);
        all[at] = (low + (((high - low) * part) >> STEP_BITS)) as u16;
        at += 1;
    }
    all
};

/// The probability for an evidence.
#[inline(always)]
pub(super) fn probability(evidence: i32) -> u16 {
    PROBABILITIES[(evidence.clamp(-LIMIT, LIMIT - 1) + LIMIT) as usize]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::rans::SCALE;

    #[test]
    fn probabilities_ascend_with_the_evidence() {
        let mut last = 0;
        for evidence in -3000..3000 {
            let now = probability(evidence);
            assert!(now >= last && now > 0 && u32::from(now) < SCALE);
            last = now;
        }
        assert_eq!(probability(0), 8192);
        assert_eq!(probability(i32::MIN), 1);
        assert_eq!(probability(i32::MAX), 16383);
    }
}
