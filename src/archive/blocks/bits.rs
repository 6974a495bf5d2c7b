//! Numbers as bits, the lowest first: plain, Rice and gamma codes.

#[derive(Default)]
pub(super) struct BitWriter {
    bytes: Vec<u8>,
    /// Bits of the last byte, which is incomplete.
    bits: u64,
    /// Number of bits in the incomplete last byte, fewer than 8.
    len: u32,
}

impl BitWriter {
    /// Writes the lowest bits of a value, at most 56.
    pub(super) fn put(&mut self, value: u64, bits: u32) {
        self.bits |= value << self.len;
        self.len += bits;
        while self.len >= 8 {
            self.bytes.push(self.bits as u8);
            self.bits >>= 8;
            self.len -= 8;
        }
    }

    /// Writes a Rice code. It begins with the part above the lowest `plain` bits, in unary: that
    /// number of ones, and a zero. Then come the lowest `plain` bits.
    pub(super) fn put_rice(&mut self, value: u64, plain: u32) {
        for _ in 0..value >> plain {
            self.put(1, 1);
        }
        self.put(0, 1);
        self.put(value & ((1 << plain) - 1), plain);
    }

    /// Writes the Elias gamma code of a number that is at least 1. First comes the number of bits
    /// below the highest bit, in unary. Then come these bits.
    pub(super) fn put_gamma(&mut self, value: u32) {
        let bits = value.ilog2();
        self.put((1 << bits) - 1, bits + 1);
        self.put(u64::from(value) - (1 << bits), bits);
    }

    /// Writes a truncated binary code of a number below `end`: low numbers take a bit less.
    pub(super) fn put_below(&mut self, value: u32, end: u32) {
        let bits = end.ilog2();
        let short = (2u64 << bits) - u64::from(end);
        let value = u64::from(value);
        if value < short {
            self.put(value, bits);
        } else {
            self.put((value + short) >> 1, bits);
            self.put((value + short) & 1, 1);
        }
    }

    /// Returns the bytes. The last byte is padded with zeros.
    pub(super) fn finish(mut self) -> Vec<u8> {
        if self.len > 0 {
            self.bytes.push(self.bits as u8);
        }
        self.bytes
    }
}

/// Reader of the codes of [`BitWriter`]. Its methods return `None` past the end of the bits.
#[derive(Clone, Default)]
pub(super) struct BitReader<'a> {
    bytes: &'a [u8],
    /// The number of the next bit.
    at: usize,
}

impl<'a> BitReader<'a> {
    pub(super) const fn new(bytes: &'a [u8]) -> BitReader<'a> {
        BitReader { bytes, at: 0 }
    }

    /// The next bits, at least 56 of them; zeros past the end.
    #[inline]
    fn window(&self) -> u64 {
        let rest = self.bytes.get(self.at / 8..).unwrap_or_default();
        let word = match rest.first_chunk() {
            Some(word) => *word,
            None => {
                let mut word = [0; 8];
                word[..rest.len()].copy_from_slice(rest);
                word
            }
        };
        u64::from_le_bytes(word) >> (self.at % 8)
    }

    #[inline]
    fn advance(&mut self, bits: u32) -> Option<()> {
        self.at += bits as usize;
        (self.at <= 8 * self.bytes.len()).then_some(())
    }

    pub(super) const fn skip(&mut self, bits: usize) {
        self.at += bits;
    }

    /// Takes a number of bits, at most 56.
    #[inline]
    pub(super) fn take(&mut self, bits: u32) -> Option<u64> {
        let value = self.window() & ((1 << bits) - 1);
        self.advance(bits)?;
        Some(value)
    }

    /// Takes all ones before the next zero, and the zero. Returns the number of ones.
    #[inline]
    fn take_ones(&mut self) -> Option<u64> {
        let mut all = 0;
        loop {
            let ones = self.window().trailing_ones().min(56);
            all += u64::from(ones);
            if ones < 56 {
                self.advance(ones + 1)?;
                return Some(all);
            }
            self.advance(ones)?;
        }
    }

    /// Takes all ones before the next zero, and the zero. But after `max` ones it stops and takes
    /// no zero. Returns the number of ones.
    #[inline]
    pub(super) fn take_some_ones(&mut self, max: u32) -> Option<u32> {
        let ones = self.window().trailing_ones().min(max);
        self.advance(ones + u32::from(ones < max))?;
        Some(ones)
    }

    #[inline]
    pub(super) fn take_rice(&mut self, plain: u32) -> Option<u64> {
        let high = self.take_ones()?;
        let low = self.take(plain)?;
        Some(high.checked_mul(1 << plain)? | low)
    }

    #[inline]
    pub(super) fn take_gamma(&mut self) -> Option<u32> {
        let bits = self.take_ones().filter(|&bits| bits < 32)? as u32;
        Some(1 << bits | self.take(bits)? as u32)
    }

    /// Takes a number below `end`; `None` if `end` is 0, or if the bits end.
    #[inline]
    pub(super) fn take_below(&mut self, end: u32) -> Option<u32> {
        let bits = end.checked_ilog2()?;
        let short = (2u64 << bits) - u64::from(end);
        let value = self.take(bits)?;
        let value = if value < short { value } else { (value << 1 | self.take(1)?) - short };
        Some(value as u32)
    }

    /// True if only the padding of the last byte is left.
    pub(super) fn is_at_end(&self) -> bool {
        self.at.div_ceil(8) == self.bytes.len() && self.window() == 0
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn numbers_round_trip(numbers in prop::collection::vec((any::<u32>(), 0u32..32), 0..200)) {
            let mut writer = BitWriter::default();
            for &(number, shift) in &numbers {
                let number = number >> shift;
                writer.put_rice(number.into(), 32u32.saturating_sub(shift + 4));
                writer.put_gamma(number.max(1));
                writer.put_below(number, number.saturating_add(shift + 1));
                writer.put(number.into(), 32);
            }
            let bytes = writer.finish();
            let mut reader = BitReader::new(&bytes);
            for &(number, shift) in &numbers {
                let number = number >> shift;
                prop_assert_eq!(reader.take_rice(32u32.saturating_sub(shift + 4)), Some(number.into()));
                prop_assert_eq!(reader.take_gamma(), Some(number.max(1)));
                let end = number.saturating_add(shift + 1);
                prop_assert_eq!(reader.take_below(end), (number < end).then_some(number));
                prop_assert_eq!(reader.take(32), Some(number.into()));
            }
            prop_assert!(reader.is_at_end());
        }
    }

    #[test]
    fn a_number_below_another_takes_no_more_bits_than_it_needs() {
        for end in 1..70 {
            for number in 0..end {
                let mut writer = BitWriter::default();
                writer.put_below(number, end);
                writer.put(1, 1);
                let mut reader = BitReader::new(&writer.bytes);
                let bytes = writer.bits.to_le_bytes();
                if writer.bytes.is_empty() {
                    reader = BitReader::new(&bytes);
                }
                assert_eq!(reader.take_below(end), Some(number), "{number} of {end}");
            }
        }
    }
}
