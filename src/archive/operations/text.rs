//! Text byte by byte: several contexts predict each bit, and a mixer weighs their predictions.

use std::cell::Cell;
use std::sync::LazyLock;

use crate::archive::adaptive::BitCoder;

/// Predictions of a context, by hash.
type Slots = [u16; 1 << 16];
/// How many contexts predict.
const CONTEXTS: usize = 7;
/// Bits of a probability.
const PROBABILITY_BITS: u32 = 12;
const HALF: u16 = 1 << 15;
/// The lowest bits of a slot count how often it was met, up to this.
const COUNT_MASK: u16 = 15;
const COUNT_LIMIT: u16 = 14;
/// Weights are in units of this.
const WEIGHT_ONE: i32 = 1 << 16;
/// How fast weights move.
const LEARNING_RATE: i32 = 10;
/// What ends a text: no text has it.
const END: u8 = 0;

/// Bits whose changes of slots are put down: to undo more takes longer than to copy all slots.
const MOST_CHANGES: usize = 1 << 12;

/// The model of the texts of a block; each block begins with the [`PRETRAINED`] one.
///
/// It is large and most blocks change little of it, so each thread keeps one for the next block.
pub(super) struct TextModel(TextState);

thread_local! {
    static SPARE: Cell<Option<TextState>> = const { Cell::new(None) };
}

impl TextModel {
    /// What every block begins with.
    pub(super) fn pretrained() -> TextModel {
        TextModel(SPARE.take().unwrap_or_else(|| PRETRAINED.clone()))
    }

    /// Passes a text through a coder. `field` says what kind of text it is, `before` is the text
    /// of that kind before this one. `None` when a decoder finds no end.
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
        // A thread that ends has no place for it.
        let _ = SPARE.try_with(|spare| spare.set(Some(state)));
    }
}

#[derive(Clone, Default)]
struct TextState {
    /// By context.
    slots: Vec<Slots>,
    weights: Vec<[i32; CONTEXTS]>,
    /// The slots of each bit since the pretrained state, in the order of the bits, and what they
    /// were. When there are [`MOST_CHANGES`] no more are put down.
    changes: Vec<[(u16, u16); CONTEXTS]>,
}

/// The state after the words that come with epdb.
static PRETRAINED: LazyLock<TextState> = LazyLock::new(|| {
    let mut state = TextState {
        slots: vec![[HALF & !COUNT_MASK; 1 << 16]; CONTEXTS],
        weights: vec![[WEIGHT_ONE * 2 / 5; CONTEXTS]; 256],
        changes: Vec::new(),
    };
    let mut coder = NullCoder;
    for line in include_bytes!("../../../formats/data/words.txt").split(|&byte| byte == b'\n') {
        state.code(&mut coder, 0, &[], line);
    }
    state.changes = Vec::new();
    state
});

/// A coder whose bytes nobody wants.
struct NullCoder;

impl BitCoder for NullCoder {
    fn digit(&mut self, bit: bool, _: u16) -> usize {
        bit.into()
    }

    fn is_exhausted(&self) -> bool {
        false
    }
}

/// The most bytes of a text, which the codec's limit on records sets.
const MAX_TEXT: usize = crate::codec::record::MAX_LEN;

impl TextState {
    /// Goes back to the pretrained state.
    fn reset(&mut self) {
        self.weights.copy_from_slice(&PRETRAINED.weights);
        if self.changes.len() < MOST_CHANGES {
            let Ok(slots) = <&mut [Slots; CONTEXTS]>::try_from(&mut self.slots[..]) else { return };
            for changes in self.changes.iter().rev() {
                for (slots, &(at, was)) in slots.iter_mut().zip(changes) {
                    slots[usize::from(at)] = was;
                }
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
            let at = hashes.map(|hash| {
                let mixed = hash ^ partial.wrapping_mul(0x9e37_79b1);
                (mixed.wrapping_mul(0xc2b2_ae35) >> 16) as u16
            });
            let mut was = [(0, 0); CONTEXTS];
            let mut predictions = [0; CONTEXTS];
            for nth in 0..CONTEXTS {
                was[nth] = (at[nth], slots[nth][usize::from(at[nth])]);
                predictions[nth] = stretch(was[nth].1 >> (16 - PROBABILITY_BITS));
            }
            let weights = &mut self.weights[partial as usize & 0xff];
            let products = weights.iter().zip(&predictions);
            let sum: i64 = products.map(|(&w, &g)| i64::from(w) * i64::from(g)).sum();
            let one = squash((sum >> 16) as i32);
            let bit = coder.bit(given >> place & 1 != 0, one << (16 - PROBABILITY_BITS));
            if self.changes.len() < MOST_CHANGES {
                self.changes.push(was);
            }
            // A branch, so that the next bit is begun before this one is certain.
            if bit {
                learn::<true>(slots, &was, weights, &predictions, one);
                partial = partial << 1 | 1;
            } else {
                learn::<false>(slots, &was, weights, &predictions, one);
                partial <<= 1;
            }
        }
        partial as u8
    }
}

/// Moves slots and weights towards a bit; `one` is what its probability was.
fn learn<const BIT: bool>(
    slots: &mut [Slots; CONTEXTS],
    was: &[(u16, u16); CONTEXTS],
    weights: &mut [i32; CONTEXTS],
    predictions: &[i16; CONTEXTS],
    one: u16,
) {
    let error = (i32::from(BIT) << PROBABILITY_BITS) - i32::from(one);
    for (weight, &prediction) in weights.iter_mut().zip(predictions) {
        *weight += (i32::from(prediction) * error * LEARNING_RATE + (1 << 13)) >> 14;
    }
    for (slots, &(at, was)) in slots.iter_mut().zip(was) {
        slots[usize::from(at)] = moved(was, BIT);
    }
}

/// A slot moved towards a bit: by 2 parts of `2 * count + 3`.
fn moved(slot: u16, bit: bool) -> u16 {
    let count = slot & COUNT_MASK;
    let probability = slot & !COUNT_MASK;
    let distance = if bit { 0xffff - probability } else { probability };
    let step = ((u64::from(distance) * PARTS[usize::from(count)]) >> 40) as u16;
    let moved = if bit { probability + step } else { probability - step };
    moved & !COUNT_MASK | (count + 1).min(COUNT_LIMIT)
}

/// `2 / (2 * count + 3)` in units of 2^-40, rounded up: exact for distances of 16 bits.
static PARTS: [u64; 16] = {
    let mut parts = [0; 16];
    let mut count = 0;
    while count < 16 {
        parts[count as usize] = (2_u64 << 40).div_ceil(2 * count + 3);
        count += 1;
    }
    parts
};

/// `4096 / (1 + e^(-x / 256))`, kept off its ends.
fn squash(x: i32) -> u16 {
    SQUASHED[(x.clamp(-2047, 2047) + 2047) as usize]
}

/// The `x` that [`squash`] takes to a probability.
fn stretch(probability: u16) -> i16 {
    STRETCHED[usize::from(probability) & 4095]
}

static SQUASHED: [u16; 4095] = squashed();
static STRETCHED: [i16; 4096] = stretched();

/// Computed in whole numbers, so that all machines agree.
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

const fn stretched() -> [i16; 4096] {
    let mut table = [0; 4096];
    let mut x = 0;
    let mut probability = 0;
    while probability < 4096 {
        while x < 4094 && (SQUASHED_FOR_STRETCH[x] as usize) < probability {
            x += 1;
        }
        table[probability] = x as i16 - 2047;
        probability += 1;
    }
    table
}

const SQUASHED_FOR_STRETCH: [u16; 4095] = squashed();

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::adaptive::{BitDecoder, BitEncoder};

    #[test]
    fn stretch_undoes_squash() {
        assert_eq!(squash(0), 2048);
        assert!(SQUASHED.is_sorted());
        for x in (-1500..1500).step_by(7) {
            let squashed = squash(x);
            assert!(squash(stretch(squashed).into()).abs_diff(squashed) <= 1, "{x}");
        }
    }

    #[test]
    fn steps_are_those_of_a_division() {
        for count in 0..=COUNT_LIMIT {
            for distance in 0..=u16::MAX {
                let step = (u64::from(distance) * PARTS[usize::from(count)]) >> 40;
                assert_eq!(step, u64::from(distance) * 2 / (2 * u64::from(count) + 3));
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
        // More changes than are put down.
        let text: Vec<u8> = (0..MOST_CHANGES).map(|at| (at * at % 251) as u8 | 1).collect();
        let text = [&text[..], b"Undermining the centre"].concat();
        TextModel::pretrained().code(&mut NullCoder, 1, b"", &text);
        assert_eq!(code(), first);
    }

    #[test]
    fn texts_come_back_and_repeats_are_cheap() {
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
