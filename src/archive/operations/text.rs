//! Coding of text byte by byte. Several contexts predict each bit, and a mixer computes a weighted
//! sum of their predictions.
// Context mixing codes short texts in few bytes and is affordable because texts are few. A
// pretrained state, from words that are common in EPD files, replaces a dictionary in the file.
// Undoing the changes of a block is faster than copying the state: two short texts took 10.6 µs
// instead of 16.6. Vectors of eight numbers brought a bit from 38.5 to 28.2 ns.

use std::cell::Cell;
use std::sync::LazyLock;

use super::lanes::{LANES, Lanes};
use crate::adaptive::BitCoder;

/// Predictions of a context, indexed by hash.
type Slots = [u16; 1 << 16];
const CONTEXTS: usize = 7;
const PROBABILITY_BITS: u32 = 12;
const HALF: u16 = 1 << 15;
/// Number of the lowest bits of a slot. They count the uses of the slot, up to [`COUNT_LIMIT`].
const COUNT_BITS: i32 = 4;
const COUNT_MASK: u16 = (1 << COUNT_BITS) - 1;
const COUNT_LIMIT: u16 = 14;
/// Number of fractional bits of a weight.
const WEIGHT_BITS: i32 = 16;
/// Learning rate of weights, in units of `2^-RATE_BITS`.
const LEARNING_RATE: i16 = 5;
const RATE_BITS: i32 = 13;
/// End of a text; no text contains it.
const END: u8 = 0;

/// Maximum number of coded bits whose changes of slots are logged. To undo more changes would take
/// longer than to copy all slots.
const MAX_CHANGES: usize = 1 << 12;

/// The model of the texts of a block; each block begins with the pretrained model ([`PRETRAINED`]).
///
/// The model is large, and most blocks change only a small part. So each thread keeps one model,
/// and resets it for the next block.
pub(super) struct TextModel(TextState);

thread_local! {
    static SPARE: Cell<Option<TextState>> = const { Cell::new(None) };
}

impl TextModel {
    /// Returns a model in the state that it has at the start of every block.
    pub(super) fn pretrained() -> TextModel {
        TextModel(SPARE.take().unwrap_or_else(|| PRETRAINED.clone()))
    }

    /// Codes a text. `field` is the kind of the text, `before` the previous text of this kind. A
    /// decoder returns `None` if the text has no end.
    pub(super) fn code(
        &mut self,
        coder: &mut impl BitCoder,
        field: u32,
        before: &[u8],
        text: &[u8],
    ) -> Option<Vec<u8>> {
        self.0.code(coder, field, before, text)
    }
}

impl Drop for TextModel {
    fn drop(&mut self) {
        let mut state = std::mem::take(&mut self.0);
        state.reset();
        // Fails only while the thread ends.
        let _ = SPARE.try_with(|spare| spare.set(Some(state)));
    }
}

#[derive(Clone, Default)]
struct TextState {
    slots: Vec<Slots>,
    weights: Vec<Weights>,
    /// A log with at most [`MAX_CHANGES`] entries, one for each bit that was coded since the
    /// pretrained state. An entry has the slots that the bit used, and their old values.
    changes: Vec<([u16; CONTEXTS], Lanes)>,
}

/// The state after training with the built-in words.
static PRETRAINED: LazyLock<TextState> = LazyLock::new(|| {
    let mut state = TextState {
        slots: vec![[HALF & !COUNT_MASK; 1 << 16]; CONTEXTS],
        weights: vec![Weights::new([(1 << WEIGHT_BITS) * 2 / 5; LANES]); 256],
        changes: Vec::new(),
    };
    let mut coder = NullCoder;
    for line in include_bytes!("../data/words.txt").split(|&byte| byte == b'\n') {
        state.code(&mut coder, 0, &[], line);
    }
    state.changes = Vec::new();
    state
});

/// A coder that writes nothing.
struct NullCoder;

impl BitCoder for NullCoder {
    fn digit(&mut self, bit: bool, _: u16) -> usize {
        bit.into()
    }

    fn is_exhausted(&self) -> bool {
        false
    }
}

/// Maximum length of a text, from the limit of records.
const MAX_TEXT: usize = epdb_chess::codec::record::MAX_LEN;

impl TextState {
    /// Goes back to the pretrained state.
    fn reset(&mut self) {
        self.weights.copy_from_slice(&PRETRAINED.weights);
        if self.changes.len() < MAX_CHANGES {
            let Ok(slots) = <&mut [Slots; CONTEXTS]>::try_from(&mut self.slots[..]) else { return };
            for (at, was) in self.changes.iter().rev() {
                put(slots, at, *was);
            }
        } else {
            self.slots.copy_from_slice(&PRETRAINED.slots);
        }
        self.changes.clear();
    }

    fn code(
        &mut self,
        coder: &mut impl BitCoder,
        field: u32,
        before: &[u8],
        text: &[u8],
    ) -> Option<Vec<u8>> {
        let mut read = Vec::new();
        let mut history = 0u32;
        let mut word = 0u32;
        let mut bytes = text.iter();
        loop {
            let given = bytes.next().copied().unwrap_or(END);
            let at = read.len();
            let above = [at, at + 1].map(|at| u32::from(before.get(at).copied().unwrap_or(END)));
            let contexts = [
                field,
                history & 0xff,
                history & 0xffff,
                history & 0xff_ffff,
                history,
                word,
                above[0] << 16 | above[1] << 8 | history & 0xff,
            ];
            let byte = self.byte(coder, &contexts, given);
            if byte == END {
                return Some(read);
            }
            if coder.is_exhausted() || read.len() >= MAX_TEXT {
                return None;
            }
            read.push(byte);
            history = history << 8 | u32::from(byte);
            word = if byte.is_ascii_alphabetic() {
                word.wrapping_add(byte.into()).wrapping_mul(0x2c1b_3c6d)
            } else {
                0
            };
        }
    }

    fn byte(&mut self, coder: &mut impl BitCoder, contexts: &[u32; CONTEXTS], given: u8) -> u8 {
        let Ok(slots) = <&mut [Slots; CONTEXTS]>::try_from(&mut self.slots[..]) else {
            return END;
        };
        let mut hashes = [0u32; CONTEXTS];
        for (nth, (hash, context)) in (1u32..).zip(hashes.iter_mut().zip(contexts)) {
            *hash = (context.wrapping_add(nth.wrapping_mul(0x9e37_79b1))).wrapping_mul(0x85eb_ca6b);
        }
        let mut partial = 1u32;
        for place in (0..8).rev() {
            let salt = partial.wrapping_mul(0x9e37_79b1);
            let at = places(&hashes, salt);
            let (was, predictions) = take(slots, &at);
            let weights = &mut self.weights[partial as usize & 0xff];
            let one = squash(weights.sum(predictions));
            if self.changes.len() < MAX_CHANGES {
                self.changes.push((at, was));
            }
            // This is a branch, so that branch prediction starts the next bit before this one is
            // known.
            if coder.bit(given >> place & 1 != 0, one << (16 - PROBABILITY_BITS)) {
                put(slots, &at, moved::<true>(was));
                weights.adjust(predictions, (1 << PROBABILITY_BITS) - one as i16);
                partial = partial << 1 | 1;
            } else {
                put(slots, &at, moved::<false>(was));
                weights.adjust(predictions, -(one as i16));
                partial <<= 1;
            }
        }
        partial as u8
    }
}

// Loops over places stay loops in a build for tests, where `map` becomes a call for each of them.

/// Returns the places of the slots of a bit.
#[inline(always)]
fn places(hashes: &[u32; CONTEXTS], salt: u32) -> [u16; CONTEXTS] {
    let mut places = [0; CONTEXTS];
    for nth in 0..CONTEXTS {
        places[nth] = ((hashes[nth] ^ salt).wrapping_mul(0xc2b2_ae35) >> 16) as u16;
    }
    places
}

/// Returns the slots at these places, after them a slot that predicts nothing, and their predictions.
#[inline(always)]
fn take(slots: &[Slots; CONTEXTS], at: &[u16; CONTEXTS]) -> (Lanes, Lanes) {
    let mut taken = [HALF; LANES];
    let mut predictions = [0; LANES];
    for nth in 0..CONTEXTS {
        taken[nth] = slots[nth][usize::from(at[nth])];
    }
    for nth in 0..LANES {
        predictions[nth] = stretch(taken[nth] >> COUNT_BITS);
    }
    (Lanes::from_array(taken), Lanes::from_array(predictions))
}

/// Sets the slots at these places.
#[inline(always)]
fn put(slots: &mut [Slots; CONTEXTS], at: &[u16; CONTEXTS], values: Lanes) {
    let values = values.array();
    for nth in 0..CONTEXTS {
        slots[nth][usize::from(at[nth])] = values[nth];
    }
}

#[derive(Copy, Clone)]
struct Weights {
    /// Low bits of the weights.
    low: Lanes,
    /// High bits of the weights. No text that fits into a block can make a weight longer than 30
    /// bits. A weight changes much only if the prediction is wrong by much, and then the change
    /// reduces the error.
    high: Lanes,
}

/// Number of low bits of a weight. They are so few that a signed 16-bit number holds them even
/// after a step was added.
const LOW_BITS: i32 = 14;
const LOW_MASK: u16 = (1 << LOW_BITS) - 1;

impl Weights {
    fn new(weights: [i32; LANES]) -> Weights {
        Weights {
            low: Lanes::from_array(weights.map(|weight| weight as u16 & LOW_MASK)),
            high: Lanes::from_array(weights.map(|weight| (weight >> LOW_BITS) as u16)),
        }
    }

    /// The weighted sum of the predictions.
    #[inline(always)]
    fn sum(&self, predictions: Lanes) -> i32 {
        let low = self.low.dot(predictions);
        let high = self.high.dot(predictions);
        (high + (low >> LOW_BITS)) >> (WEIGHT_BITS - LOW_BITS)
    }

    /// Adjusts the weights by the error of a sum.
    #[inline(always)]
    fn adjust(&mut self, predictions: Lanes, error: i16) {
        let step = predictions.scaled::<RATE_BITS>(error * LEARNING_RATE);
        let low = self.low + step;
        self.low = low & Lanes::splat(LOW_MASK);
        self.high = self.high + low.shifted_right_signed::<LOW_BITS>();
    }
}

/// Returns slots after a bit. Each probability moves towards the bit, by the fraction 2 / (2 *
/// count + 3) of the distance, rounded.
#[inline(always)]
fn moved<const BIT: bool>(slots: Lanes) -> Lanes {
    let one = Lanes::splat(1);
    let count = slots & Lanes::splat(COUNT_MASK);
    let probability = slots.shifted_right::<COUNT_BITS>();
    let twice = probability + probability;
    let parts = count + count + Lanes::splat(3);
    // In effect, the step is computed in 16 bits, and the lowest bits are then dropped.
    let moved = if BIT {
        probability + (Lanes::splat(2 * 0xfff + 1) - twice).quotient(parts)
    } else {
        let is_many = Lanes::splat(16).is_less(parts);
        probability - (twice + parts - one + is_many).quotient(parts)
    };
    moved.shifted_left::<COUNT_BITS>() | (count + one).min(Lanes::splat(COUNT_LIMIT))
}

/// `4096 / (1 + e^(-x / 256))`, clamped.
fn squash(x: i32) -> u16 {
    SQUASHED[(x.clamp(-2047, 2047) + 2047) as usize]
}

/// The inverse of [`squash`].
fn stretch(probability: u16) -> u16 {
    STRETCHED[usize::from(probability) & 4095]
}

static SQUASHED: [u16; 4095] = squashed();
static STRETCHED: [u16; 4096] = stretched();

/// Makes the table in integers, so that it is the same on all machines.
const fn squashed() -> [u16; 4095] {
    /// e^(-1/256) in units of 2^-62.
    const STEP: u128 = 4_593_706_758_521_714_574;
    let mut table = [0; 4095];
    let mut power: u128 = 1 << 62;
    let mut x = 0;
    while x <= 2047 {
        let high = ((4096u128 << 62) / ((1 << 62) + power)) as u16;
        let high = if high > 4095 { 4095 } else { high };
        table[2047 + x] = high;
        table[2047 - x] = if 4096 - high < 1 { 1 } else { 4096 - high };
        power = (power * STEP) >> 62;
        x += 1;
    }
    table[2047] = 2048;
    table
}

const fn stretched() -> [u16; 4096] {
    let mut table = [0; 4096];
    let mut x = 0;
    let mut probability = 0;
    while probability < 4096 {
        while x < 4094 && (SQUASHED_FOR_STRETCH[x] as usize) < probability {
            x += 1;
        }
        table[probability] = (x as i16 - 2047).cast_unsigned();
        probability += 1;
    }
    table
}

const SQUASHED_FOR_STRETCH: [u16; 4095] = squashed();

#[cfg(test)]
mod tests {
    use proptest::array::uniform8;
    use proptest::prelude::*;

    use super::*;
    use crate::adaptive::{BitDecoder, BitEncoder};

    #[test]
    fn stretch_undoes_squash() {
        assert_eq!(squash(0), 2048);
        assert!(SQUASHED.is_sorted());
        for x in (-1500..1500).step_by(7) {
            let squashed = squash(x);
            assert!(squash(stretch(squashed).cast_signed().into()).abs_diff(squashed) <= 1, "{x}");
        }
    }

    #[test]
    fn steps_are_those_of_a_division() {
        for slot in (0..=u16::MAX).filter(|slot| slot & COUNT_MASK <= COUNT_LIMIT) {
            let count = slot & COUNT_MASK;
            let probability = slot & !COUNT_MASK;
            let step =
                |distance: u16| (u32::from(distance) * 2 / (2 * u32::from(count) + 3)) as u16;
            let up = probability + step(0xffff - probability);
            let down = probability - step(probability);
            let [up, down] =
                [up, down].map(|moved| moved & !COUNT_MASK | (count + 1).min(COUNT_LIMIT));
            assert_eq!(moved::<true>(Lanes::splat(slot)).array(), [up; LANES]);
            assert_eq!(moved::<false>(Lanes::splat(slot)).array(), [down; LANES]);
        }
    }

    proptest! {
        #[test]
        fn parts_of_weights_are_whole_weights(
            weights in uniform8(-1 << 29..1 << 29),
            predictions in uniform8(-2047..=2047_i16),
            error in -4095..=4095_i16,
        ) {
            let mut parts = Weights::new(weights);
            let given = Lanes::from_array(predictions.map(i16::cast_unsigned));
            let products = weights.iter().zip(predictions);
            let sum: i64 = products.map(|(&w, p)| i64::from(w) * i64::from(p)).sum();
            prop_assert_eq!(parts.sum(given), (sum >> 16) as i32);
            parts.adjust(given, error);
            for nth in 0..LANES {
                let product = i32::from(predictions[nth]) * i32::from(error) * 10;
                let weight = weights[nth] + ((product + (1 << 13)) >> 14);
                let [low, high] = [parts.low, parts.high].map(|part| part.array()[nth].cast_signed());
                prop_assert_eq!((i32::from(high) << LOW_BITS) + i32::from(low), weight);
            }
        }
    }

    #[test]
    fn a_block_begins_in_the_pretrained_state() {
        let code = || {
            let mut encoder = BitEncoder::new();
            let mut model = TextModel::pretrained();
            model.code(&mut encoder, 1, b"", b"Undermining the centre");
            encoder.finish()
        };
        let first = code();
        assert_eq!(code(), first);
        // More changes than are logged.
        let text: Vec<u8> = (0..MAX_CHANGES).map(|at| (at * at % 251) as u8 | 1).collect();
        let text = [&text[..], b"Undermining the centre"].concat();
        TextModel::pretrained().code(&mut NullCoder, 1, b"", &text);
        assert_eq!(code(), first);
    }

    #[test]
    fn texts_round_trip_and_repeats_are_cheap() {
        let texts: Vec<Vec<u8>> = (0..200)
            .map(|i| format!("Karpov-Kasparov, World Championship 19{i}").into_bytes())
            .chain([b"".to_vec(), vec![0xff; 300]])
            .collect();
        let mut encoder = BitEncoder::new();
        let mut model = TextModel::pretrained();
        for text in &texts {
            assert_eq!(model.code(&mut encoder, 3, b"", text).as_ref(), Some(text));
        }
        let bytes = encoder.finish();
        assert!(bytes.len() < 900, "{}", bytes.len());
        let mut decoder = BitDecoder::new(&bytes);
        let mut model = TextModel::pretrained();
        for text in &texts {
            assert_eq!(model.code(&mut decoder, 3, b"", b"").as_ref(), Some(text));
        }
    }
}
