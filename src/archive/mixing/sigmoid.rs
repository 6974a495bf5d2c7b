//! From a weight of evidence to a probability.

/// Of 16,384, the probability for -10, -9.5, ... 10 units of evidence.
const POINTS: [i32; 41] = [
    1, 1, 2, 3, 5, 9, 15, 25, 41, 67, 110, 180, 295, 480, 777, 1243, 1953, 2989, 4406, 6186, 8192,
    10198, 11978, 13395, 14431, 15141, 15607, 15904, 16089, 16204, 16274, 16317, 16343, 16359,
    16369, 16375, 16379, 16381, 16382, 16383, 16383,
];
/// Evidence is counted in 256ths.
pub(super) const UNIT: i32 = 256;
/// Evidence beyond says no more.
const LIMIT: i32 = 10 * UNIT;
/// From one point to the next, two to this power.
const STEP_BITS: u32 = 7;

/// The probability of each evidence within the limits, of [`SCALE`]; never 0 nor all.
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

/// The probability of what has this evidence.
#[inline(always)]
pub(super) fn probability(evidence: i32) -> u16 {
    PROBABILITIES[(evidence.clamp(-LIMIT, LIMIT - 1) + LIMIT) as usize]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::rans::SCALE;

    #[test]
    fn more_evidence_is_never_less_likely() {
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
