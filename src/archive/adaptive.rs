//! An adaptive binary arithmetic coder: its probabilities follow the coded bits. It codes
//! operations, and the models of segments: data that is too small or too irregular for a static
//! model.
//!
//! A [`BitCoder`] is an encoder or a decoder. Every bit passes through the [`BitCoder`], so encoder
//! and decoder share one description of the format.
// rANS, which codes the positions, needs the intervals of all symbols before the first byte is
// written, because it encodes backwards. Here each probability depends on the bits before it, so
// the coder must run forwards.

/// The probability of a one bit, adapted to previous bits.
#[derive(Copy, Clone, Debug)]
pub(super) struct BitModel {
    /// The probability that the next bit is 1, in units of 1/65,536, from 0 to 65,535.
    one: u16,
    /// Number of bits that the model saw, up to a maximum.
    seen: u16,
}

impl Default for BitModel {
    fn default() -> BitModel {
        BitModel { one: 1 << 15, seen: 0 }
    }
}

/// Adaptation rates, by the number of bits that a model saw, in units of 1/256.
const RATES: [u16; 12] = [110, 75, 55, 44, 36, 30, 25, 21, 17, 14, 11, 9];

impl BitModel {
    #[inline]
    fn update(&mut self, bit: bool) {
        let rate = u32::from(RATES[usize::from(self.seen)]);
        let one = u32::from(self.one);
        let moved =
            if bit { one + (((0xffff - one) * rate) >> 8) } else { one - ((one * rate) >> 8) };
        self.one = moved as u16;
        self.seen = (self.seen + 1).min(RATES.len() as u16 - 1);
    }
}

/// The lowest initial probability of a bit, in units of 1/65,536.
const MIN_ONE: u16 = 32;

impl BitModel {
    /// Adapts to a bit so that the probability becomes the average over all bits.
    fn train(&mut self, bit: bool) {
        let seen = u32::from(self.seen);
        let one = u32::from(self.one);
        let step = |distance: u32| distance * 2 / (2 * seen + 3);
        let moved = if bit { one + step(0xffff - one) } else { one - step(one) };
        self.one = moved as u16;
        self.seen = (self.seen + 1).min(u8::MAX.into());
    }

    /// Returns the state of a trained model in the form that a segment stores. The flag is true if
    /// a one bit is more likely. The number is the rounded probability of the less likely bit.
    /// `None` if the model saw at most one bit.
    pub(super) fn trained(self) -> Option<(bool, u32)> {
        let is_likely = self.one >= 1 << 15;
        let other = if is_likely { 0xffff - self.one } else { self.one };
        (self.seen > 1).then(|| (is_likely, encode_count(other.max(MIN_ONE).into())))
    }

    /// Makes a model with a stored state, as if it had seen `seen` bits.
    pub(super) fn start((is_likely, other): (bool, u32), seen: u8) -> BitModel {
        let other = decode_count(other).min(1 << 15) as u16;
        let one = if is_likely { 0xffff - other } else { other };
        BitModel { one, seen: u16::from(seen).min(RATES.len() as u16 - 1) }
    }
}

/// Coder that only trains the models and writes no bytes.
pub(super) struct BitTrainer;

impl BitCoder for BitTrainer {
    fn digit(&mut self, bit: bool, _: u16) -> usize {
        bit.into()
    }

    fn is_exhausted(&self) -> bool {
        false
    }

    fn adaptive_digit(&mut self, bit: bool, model: &mut BitModel) -> usize {
        model.train(bit);
        bit.into()
    }
}

/// An encoder or a decoder. An encoder writes the bits that it gets as arguments. A decoder returns
/// the bits that it reads.
pub(super) trait BitCoder {
    /// Codes a bit; `one` is the probability of a one bit, in units of 1/65,536. A decoder ignores
    /// `bit` and returns the bit that it reads. An encoder returns `bit`.
    // The result is 0 or 1 and not a `bool`, so that the processor predicts a branch and fetches
    // the model of the next bit early. A `bool` would be converted to an index only after the bit
    // is known.
    fn digit(&mut self, bit: bool, one: u16) -> usize;

    /// True if the decoder has read far past the end of its bytes. Always false for an encoder.
    fn is_exhausted(&self) -> bool;

    /// Codes a bit with a model that adapts to it.
    #[inline]
    fn adaptive_digit(&mut self, bit: bool, model: &mut BitModel) -> usize {
        let digit = self.digit(bit, model.one);
        model.update(digit != 0);
        digit
    }

    /// Does the same as [`BitCoder::digit`], but returns a `bool`.
    #[inline]
    fn bit(&mut self, bit: bool, one: u16) -> bool {
        self.digit(bit, one) != 0
    }

    /// [`BitCoder::adaptive_digit`] as a `bool`.
    #[inline]
    fn adaptive_bit(&mut self, bit: bool, model: &mut BitModel) -> bool {
        self.adaptive_digit(bit, model) != 0
    }

    /// Codes the low `count` bits of a value with equal probabilities.
    fn raw(&mut self, value: u64, count: u32) -> u64 {
        (0..count)
            .rev()
            .fold(0, |read, place| read << 1 | self.digit(value >> place & 1 != 0, 1 << 15) as u64)
    }

    /// Codes one of `count` equally likely numbers; `None` if `count` is 0.
    fn uniform(&mut self, value: u32, count: u32) -> Option<u32> {
        let mut low = 0;
        let mut high = count;
        while high.checked_sub(low)? > 1 {
            let middle = low + (high - low) / 2;
            let one = u64::from(high - middle) * 0x1_0000 / u64::from(high - low);
            if self.bit(value >= middle, one as u16) { low = middle } else { high = middle }
        }
        (low < count).then_some(low)
    }
}

/// Encoder of bits, given the probability of each bit.
pub(super) struct BitEncoder {
    low: u32,
    high: u32,
    out: Vec<u8>,
}

impl BitEncoder {
    pub(super) const fn new() -> BitEncoder {
        BitEncoder { low: 0, high: u32::MAX, out: Vec::new() }
    }

    /// Returns the shortest sequence of bytes that decodes to all bits. After these bytes the
    /// decoder reads zeros.
    pub(super) fn finish(mut self) -> Vec<u8> {
        if self.low > 0 {
            for len in 1..=4 {
                let mask = u32::MAX.checked_shl(32 - 8 * len).unwrap_or(u32::MAX);
                let end = self.high & mask;
                if end >= self.low {
                    self.out.extend_from_slice(&end.to_be_bytes()[..len as usize]);
                    break;
                }
            }
        }
        while self.out.last() == Some(&0) {
            self.out.pop();
        }
        self.out
    }
}

/// Highest number of the range that means a one bit. The numbers above it mean a zero bit.
fn cut(low: u32, high: u32, one: u16) -> u32 {
    let one = u64::from(one.clamp(32, u16::MAX - 32));
    low + ((u64::from(high - low) * one) >> 16) as u32
}

impl BitCoder for BitEncoder {
    fn digit(&mut self, bit: bool, one: u16) -> usize {
        let cut = cut(self.low, self.high, one);
        if bit {
            self.high = cut
        } else {
            self.low = cut + 1
        }
        while (self.low ^ self.high) >> 24 == 0 {
            self.out.push((self.high >> 24) as u8);
            self.low <<= 8;
            self.high = self.high << 8 | 0xff;
        }
        bit.into()
    }

    fn is_exhausted(&self) -> bool {
        false
    }
}

/// Decoder of bits, given the probability of each bit.
pub(super) struct BitDecoder<'a> {
    low: u32,
    high: u32,
    at: u32,
    rest: &'a [u8],
    /// Number of zero bytes that were read past the end.
    beyond: u32,
}

impl<'a> BitDecoder<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> BitDecoder<'a> {
        let mut decoder = BitDecoder { low: 0, high: u32::MAX, at: 0, rest: bytes, beyond: 0 };
        (0..4).for_each(|_| decoder.shift());
        decoder
    }

    fn shift(&mut self) {
        let byte = match self.rest.split_first() {
            Some((&byte, rest)) => {
                self.rest = rest;
                byte
            }
            None => {
                self.beyond = self.beyond.saturating_add(1);
                0
            }
        };
        self.at = self.at << 8 | u32::from(byte);
    }
}

/// Number of zero bytes past the end after which a decoder is exhausted. At the highest
/// probability, 65,504 of 65,536, about a thousand coded bits take one bit in the file. So the
/// decoder of sound bytes stays far below this number.
const MAX_BEYOND: u32 = 64;

impl BitCoder for BitDecoder<'_> {
    #[inline]
    fn digit(&mut self, _: bool, one: u16) -> usize {
        // The range is renormalised before the bit is read and not after it, so that the code after
        // a bit depends only on the branch that decides the bit.
        while (self.low ^ self.high) >> 24 == 0 {
            self.low <<= 8;
            self.high = self.high << 8 | 0xff;
            self.shift();
        }
        let cut = cut(self.low, self.high, one);
        if self.at <= cut {
            self.high = cut;
            1
        } else {
            self.low = cut + 1;
            0
        }
    }

    fn is_exhausted(&self) -> bool {
        self.beyond > MAX_BEYOND
    }
}

/// Model of a symbol of some bits. Codes the highest bit first, each in the context of those
/// before.
#[derive(Clone, Debug)]
pub(super) struct SymbolModel {
    models: Box<[BitModel]>,
    bits: u32,
}

impl SymbolModel {
    pub(super) fn new(bits: u32) -> SymbolModel {
        SymbolModel { models: vec![BitModel::default(); 1 << bits].into(), bits }
    }

    pub(super) fn code(&mut self, coder: &mut impl BitCoder, symbol: u32) -> u32 {
        code_symbol(&mut self.models, self.bits, coder, symbol)
    }
}

#[inline(always)]
fn code_symbol(models: &mut [BitModel], bits: u32, coder: &mut impl BitCoder, symbol: u32) -> u32 {
    let mut node = 1;
    for place in (0..bits).rev() {
        let bit = symbol >> place & 1 != 0;
        node = node << 1 | coder.adaptive_digit(bit, &mut models[node]);
    }
    node as u32 - (1 << bits)
}

/// A [`SymbolModel`] of few bits that is stored in place, so that many such models can be made and
/// copied at once. `MODELS`, its number of bit models, is a power of two.
#[derive(Copy, Clone)]
pub(super) struct SmallSymbolModel<const MODELS: usize = 8>([BitModel; MODELS]);

impl<const MODELS: usize> Default for SmallSymbolModel<MODELS> {
    fn default() -> SmallSymbolModel<MODELS> {
        SmallSymbolModel([BitModel::default(); MODELS])
    }
}

impl<const MODELS: usize> SmallSymbolModel<MODELS> {
    pub(super) fn code(&mut self, coder: &mut impl BitCoder, symbol: u32) -> u32 {
        code_symbol(&mut self.0, MODELS.ilog2(), coder, symbol)
    }
}

/// Model of integers that codes small ones in few bits. It codes the length in bits, then the bits
/// below the highest one. The first two of these bits, the head, have models; all others are
/// equally likely to be 0 or 1.
#[derive(Clone, Debug)]
pub(super) struct IntegerModel {
    /// The models of the length, then those of the heads.
    models: Box<[BitModel]>,
}

/// Number of bits that code a length.
const LENGTH_BITS: u32 = 7;
/// Number of models of the length.
const LENGTHS: usize = 1 << LENGTH_BITS;
/// Number of models of heads: four for each length from 0 to 64.
const HEADS: usize = 65 * 4;

impl Default for IntegerModel {
    fn default() -> IntegerModel {
        IntegerModel { models: vec![BitModel::default(); LENGTHS + HEADS].into() }
    }
}

impl IntegerModel {
    pub(super) fn code(&mut self, coder: &mut impl BitCoder, value: u64) -> u64 {
        let (lengths, heads) = self.models.split_at_mut(LENGTHS);
        let length = code_symbol(lengths, LENGTH_BITS, coder, 64 - value.leading_zeros()).min(64);
        if length < 2 {
            return length.into();
        }
        let mut below = length - 1;
        let mut read = 1;
        let mut node = 1;
        while below > 0 && node < 4 {
            below -= 1;
            let model = &mut heads[length as usize * 4 + node];
            let digit = coder.adaptive_digit(value >> below & 1 != 0, model);
            node = node << 1 | digit;
            read = read << 1 | digit as u64;
        }
        read << below | coder.raw(value & ((1 << below) - 1), below)
    }
}

/// A structure that consists of bit models.
pub(super) trait BitModels {
    /// Visits all models, always in the same order.
    fn each_model(&mut self, visit: &mut impl FnMut(&mut BitModel));
}

impl BitModels for BitModel {
    fn each_model(&mut self, visit: &mut impl FnMut(&mut BitModel)) {
        visit(self);
    }
}

impl BitModels for SymbolModel {
    fn each_model(&mut self, visit: &mut impl FnMut(&mut BitModel)) {
        self.models.iter_mut().skip(1).for_each(visit);
    }
}

impl<const MODELS: usize> BitModels for SmallSymbolModel<MODELS> {
    fn each_model(&mut self, visit: &mut impl FnMut(&mut BitModel)) {
        self.0[1..].iter_mut().for_each(visit);
    }
}

impl BitModels for IntegerModel {
    fn each_model(&mut self, visit: &mut impl FnMut(&mut BitModel)) {
        let (lengths, heads) = self.models.split_at_mut(LENGTHS);
        lengths[1..].iter_mut().for_each(&mut *visit);
        let heads = heads.chunks_mut(4).skip(2);
        heads.for_each(|heads| heads[1..].iter_mut().for_each(&mut *visit));
    }
}

/// Returns a code for a count, which is rounded to three significant bits from 8 on.
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

/// Returns the count that belongs to a code.
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

    #[test]
    fn numbers_and_symbols_round_trip() {
        let values: Vec<u64> = (0..2000u64)
            .map(|i| i.wrapping_mul(i.wrapping_mul(0x9e37_79b9_7f4a_7c15)) >> (i % 64))
            .collect();
        let mut encoder = BitEncoder::new();
        let mut numbers = IntegerModel::default();
        let mut symbols = SymbolModel::new(5);
        for &value in values.iter().chain(&[0, u64::MAX]) {
            numbers.code(&mut encoder, value);
            symbols.code(&mut encoder, (value % 32) as u32);
        }
        let bytes = encoder.finish();
        let mut decoder = BitDecoder::new(&bytes);
        let mut numbers = IntegerModel::default();
        let mut symbols = SymbolModel::new(5);
        for &value in values.iter().chain(&[0, u64::MAX]) {
            assert_eq!(numbers.code(&mut decoder, 0), value);
            assert_eq!(u64::from(symbols.code(&mut decoder, 0)), value % 32);
        }
        assert!(!decoder.is_exhausted());
    }

    #[test]
    fn a_run_of_equal_bits_costs_little() {
        let mut encoder = BitEncoder::new();
        let mut model = BitModel::default();
        (0..10_000).for_each(|_| {
            encoder.adaptive_bit(true, &mut model);
        });
        assert!(encoder.finish().len() < 100);
    }
}
