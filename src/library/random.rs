//! Random numbers that are the same on every machine: for shuffles, samples and splits.

/// The number that belongs to one place of one sequence: the output number `place` (from 0) of
/// the SplitMix64 generator (Steele, Lea and Flood 2014) that begins in state `seed`.
///
/// Any place can be asked for without the ones before it, so the result does not depend on how
/// work is shared between threads.
///
/// ```
/// use epdb::library::random::number;
/// assert_eq!(number(1_234_567, 0), 6_457_827_717_110_365_317);
/// assert_eq!(number(1_234_567, 1), 3_203_168_211_198_807_973);
/// ```
pub const fn number(seed: u64, place: u64) -> u64 {
    const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
    mix(seed.wrapping_add(STEP.wrapping_mul(place.wrapping_add(1))))
}

/// A number that depends on a seed and on bytes, such as those of a position.
pub fn of_bytes(seed: u64, bytes: &[u8]) -> u64 {
    bytes.chunks(8).fold(number(seed, bytes.len() as u64), |state, chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        number(state ^ u64::from_le_bytes(word), 0)
    })
}

const fn mix(state: u64) -> u64 {
    let state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ (state >> 31)
}
