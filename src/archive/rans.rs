//! The entropy coder rANS (range asymmetric numeral systems), with a 64-bit state and 32-bit words.
//! It encodes backwards, so that a block is decoded forwards. Blocks are independent of each other.
//!
//! The initial state of the encoder is a checksum of the coded data. The decoder must arrive at the
//! same number at the end of the block, so the checksum takes no extra byte.
// Why rANS: the distributions of the position models are static, and a decoded symbol costs one
// multiplication and no division. A block of 64 records decodes in about 30 µs. On five opening
// books the tree of contexts with rANS needed 4.2 to 10.6 bytes a record. A general compressor over
// packed boards (zstd -19 with a dictionary) needed 10.6 to 13.1, and xz -9e over whole files 5.8
// to 14.8.

use super::file::check;
use std::hint::select_unpredictable;

/// Binary logarithm of [`SCALE`].
pub(super) const SCALE_BITS: u32 = 14;
/// Sum of the frequencies of a distribution.
pub(super) const SCALE: u32 = 1 << SCALE_BITS;

/// Lower bound of the state, which is in `LOW..LOW << 32` between symbols.
const LOW: u64 = 1 << 31;

/// The part of a distribution that belongs to a symbol. It is a range within `0..SCALE`, given by
/// the cumulative frequency and the frequency, which is at least 1.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Interval {
    pub(super) start: u16,
    pub(super) freq: u16,
}

impl Interval {
    /// Interval of one of 256 equally likely bytes.
    pub(super) const fn byte(byte: u8) -> Interval {
        Interval { start: (byte as u16) << (SCALE_BITS - 8), freq: 1 << (SCALE_BITS - 8) }
    }

    /// Start of the next interval.
    pub(super) const fn end(self) -> u16 {
        self.start + self.freq
    }
}

/// Counts the starts that are not above a slot. The starts ascend, and `COUNT` is a multiple of
/// four. All starts are compared, four at a time, without a branch that could be mispredicted.
#[inline]
pub(super) fn starts_up_to<const COUNT: usize>(starts: &[u16; COUNT], slot: u16) -> usize {
    /// The highest bit of each 16-bit lane; slots and starts do not use it.
    const TOPS: u64 = 0x8000_8000_8000_8000;
    let slots = (u64::from(slot) * 0x0001_0001_0001_0001) | TOPS;
    let of_four = |four: &[u16; 4]| {
        let starts = four.iter().rev().fold(0, |word, &start| word << 16 | u64::from(start));
        // Subtracting a larger start borrows the top bit of its lane.
        (!slots.wrapping_sub(starts) & TOPS).trailing_zeros() / 16
    };
    starts.as_chunks().0.iter().map(of_four).sum::<u32>() as usize
}

/// Encodes intervals, given in the order of decoding. The low 31 bits of `check` are stored.
pub(super) fn encode(intervals: &[Interval], check: u32, out: &mut Vec<u8>) {
    let mut state = LOW | u64::from(check) & (LOW - 1);
    let mut words = Vec::with_capacity(intervals.len() / 2);
    for interval in intervals.iter().rev() {
        let freq = u64::from(interval.freq);
        if state >= freq << (63 - SCALE_BITS) {
            words.push(state as u32);
            state >>= 32;
        }
        let (quotient, rest) = divide(state, freq);
        state = (quotient << SCALE_BITS) + rest + u64::from(interval.start);
    }
    if state >= 1 << 56 {
        words.push(state as u32);
        state >>= 32;
    }
    let len = (8 - state.leading_zeros() as usize / 8).max(4);
    out.extend_from_slice(&state.to_le_bytes()[..len]);
    for word in words.iter().rev() {
        out.extend_from_slice(&word.to_le_bytes());
    }
}

/// Divides by a multiplication with the reciprocal, and returns quotient and remainder. The
/// reciprocal depends only on the divisor, so the processor can compute it before the number is
/// known.
fn divide(number: u64, divisor: u64) -> (u64, u64) {
    let reciprocal = u64::MAX / divisor;
    // The quotient is at most one too small.
    let quotient = ((u128::from(number) * u128::from(reciprocal)) >> u64::BITS) as u64;
    let rest = number - quotient * divisor;
    if rest < divisor { (quotient, rest) } else { (quotient + 1, rest - divisor) }
}

/// The decoder. Missing bytes are read as zeros, which [`RansDecoder::is_done`] detects.
pub(super) struct RansDecoder<'a> {
    state: u64,
    words: &'a [u8],
    overrun: bool,
}

impl<'a> RansDecoder<'a> {
    /// Makes a decoder at the start of a block. The first four to seven bytes have the state. The
    /// other bytes are whole words.
    pub(super) fn new(block: &'a [u8]) -> RansDecoder<'a> {
        let len = (4 + block.len() % 4).min(block.len());
        let (head, words) = block.split_at(len);
        let mut state = [0; 8];
        state[..len].copy_from_slice(head);
        let mut decoder =
            RansDecoder { state: u64::from_le_bytes(state), words, overrun: block.len() < 4 };
        decoder.refill();
        decoder
    }

    /// A number in `0..SCALE` that lies in the interval of the next symbol.
    pub(super) const fn slot(&self) -> u16 {
        (self.state & (SCALE as u64 - 1)) as u16
    }

    /// Consumes the next symbol, whose interval contains [`RansDecoder::slot`].
    pub(super) fn pass(&mut self, interval: Interval) {
        let slot = self.slot();
        self.state = (self.state >> SCALE_BITS)
            .wrapping_mul(interval.freq.into())
            .wrapping_add(slot.wrapping_sub(interval.start).into());
        self.refill();
    }

    /// One of 256 equally likely bytes.
    pub(super) fn byte(&mut self) -> u8 {
        let byte = (self.slot() >> (SCALE_BITS - 8)) as u8;
        self.pass(Interval::byte(byte));
        byte
    }

    // The processor cannot predict whether a word is needed. So the word is read in any case, and
    // selected without a branch.
    fn refill(&mut self) {
        let is_low = self.state < LOW;
        let (word, rest) = match self.words.split_first_chunk() {
            Some((word, rest)) => (u32::from_le_bytes(*word), rest),
            None => {
                self.overrun |= is_low;
                (0, self.words)
            }
        };
        self.state = select_unpredictable(is_low, self.state << 32 | u64::from(word), self.state);
        self.words = select_unpredictable(is_low, rest, self.words);
    }

    /// True if the block was read exactly to its end and its checksum is `check`.
    pub(super) fn is_done(&self, check: u32) -> bool {
        let is_at_end = !self.overrun && self.words.is_empty() && self.state >> 31 == 1;
        check::holds((self.state as u32) << 1 | u32::from(!is_at_end), check << 1)
    }
}

/// Returns the starts of the intervals of symbols with these counts, and then [`SCALE`].
pub(super) fn starts<const LEN: usize>(counts: &[u32]) -> [u16; LEN] {
    let mut starts = [SCALE as u16; LEN];
    let mut next = 0;
    for (start, freq) in starts.iter_mut().zip(normalise(counts)) {
        *start = next;
        next += freq;
    }
    starts
}

/// Scales counts to frequencies that add up to [`SCALE`], each at least 1. There may be at most
/// [`SCALE`] counts.
pub(super) fn normalise(counts: &[u32]) -> Vec<u16> {
    let total: u64 = counts.iter().map(|&count| u64::from(count.max(1))).sum();
    let scaled = |count: u32| {
        let part = u64::from(count.max(1)) * u64::from(SCALE) + total / 2;
        (part / total.max(1)).clamp(1, u64::from(SCALE)) as u16
    };
    let mut freqs: Vec<u16> = counts.iter().map(|&count| scaled(count)).collect();
    let sum: u32 = freqs.iter().map(|&freq| u32::from(freq)).sum();
    let mut excess = i64::from(sum) - i64::from(SCALE);
    let mut order: Vec<u16> = (0..freqs.len() as u16).collect();
    order.sort_by_key(|&place| std::cmp::Reverse(freqs[usize::from(place)]));
    while excess != 0 && !order.is_empty() {
        for &place in &order {
            let freq = &mut freqs[usize::from(place)];
            let max = i64::from(*freq / 8) + 1;
            let step = match excess {
                0 => break,
                1.. => excess.min(max).min(i64::from(*freq) - 1),
                _ => -((-excess).min(max)),
            };
            *freq = (i64::from(*freq) - step) as u16;
            excess -= step;
        }
    }
    freqs
}

#[cfg(test)]
mod tests {
    use proptest::array::uniform8;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn division_is_exact(number: u64, divisor in 1..=u64::from(SCALE)) {
            let multiple = number / divisor * divisor;
            for number in [number, multiple, multiple.wrapping_sub(1), u64::MAX, 0] {
                prop_assert_eq!(divide(number, divisor), (number / divisor, number % divisor));
            }
        }

        #[test]
        fn starts_are_counted(mut starts in uniform8(0..1_u16 << 15), slot in 0..SCALE as u16) {
            starts.sort_unstable();
            let count = starts.iter().filter(|&&start| start <= slot).count();
            prop_assert_eq!(starts_up_to(&starts, slot), count);
        }
    }

    #[test]
    fn symbols_and_checksums_round_trip() {
        let freqs = normalise(&[1, 5, 0, 900_000, 77]);
        assert_eq!(freqs.iter().map(|&freq| u32::from(freq)).sum::<u32>(), SCALE);
        let mut start = 0;
        let mut intervals = Vec::new();
        for &freq in &freqs {
            intervals.push(Interval { start, freq });
            start += freq;
        }
        for len in 0..300usize {
            let symbols: Vec<usize> = (0..len).map(|i| (i * i + len) % 5).collect();
            let coded: Vec<Interval> = symbols.iter().map(|&symbol| intervals[symbol]).collect();
            let mut bytes = Vec::new();
            let check = (len as u32).wrapping_mul(0x9e37_79b9);
            encode(&coded, check, &mut bytes);
            let mut decoder = RansDecoder::new(&bytes);
            for &symbol in &symbols {
                let slot = decoder.slot();
                let found = intervals.iter().rposition(|interval| interval.start <= slot);
                assert_eq!(found, Some(symbol));
                decoder.pass(intervals[symbol]);
            }
            assert!(decoder.is_done(check));
            assert!(!decoder.is_done(check ^ 1));
        }
    }

    #[test]
    fn frequencies_add_up_however_lopsided_the_counts() {
        for counts in [vec![1], vec![u32::MAX, 1, 1], vec![1; SCALE as usize], vec![3; 10_000]] {
            let freqs = normalise(&counts);
            assert_eq!(freqs.iter().map(|&freq| u32::from(freq)).sum::<u32>(), SCALE);
            assert!(freqs.iter().all(|&freq| freq > 0));
        }
    }
}
