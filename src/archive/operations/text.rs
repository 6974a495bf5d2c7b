//! Text byte by byte: several contexts guess each bit, and a mixer learns whom to believe.

use std::sync::LazyLock;

use super::super::adaptive::Coder;

/// Guesses of each context, by hash.
const SLOTS_LOG: u32 = 16;
/// How many contexts guess.
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

/// What has been learnt so far.
#[derive(Clone)]
pub(super) struct TextModel {
    slots: Vec<u16>,
    weights: Vec<[i32; CONTEXTS]>,
}

/// What was learnt from the words that come with epdb.
static TAUGHT: LazyLock<TextModel> = LazyLock::new(|| {
    let mut model = TextModel {
        slots: vec![HALF & !COUNT_MASK; CONTEXTS << SLOTS_LOG],
        weights: vec![[WEIGHT_ONE * 2 / 5; CONTEXTS]; 256],
    };
    let mut coder = Pupil;
    for line in include_bytes!("words.txt").split(|&byte| byte == b'\n') {
        model.code(&mut coder, 0, &[], line);
    }
    model
});

/// A coder whose bytes nobody wants.
struct Pupil;

impl Coder for Pupil {
    fn bit(&mut self, bit: bool, _: u16) -> bool {
        bit
    }

    fn is_exhausted(&self) -> bool {
        false
    }
}

/// The most bytes of a text, which the codec's limit on records sets.
const MAX_TEXT: usize = crate::codec::record::MAX_LEN;

impl TextModel {
    /// What every block begins with.
    pub(super) fn taught() -> TextModel {
        TAUGHT.clone()
    }

    /// Passes a text through a coder. `field` says what kind of text it is, `before` is the text
    /// of that kind before this one. `None` when a reader finds no end.
    pub(super) fn code(
        &mut self,
        coder: &mut impl Coder,
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

    fn byte(&mut self, coder: &mut impl Coder, contexts: &[u32; CONTEXTS], given: u8) -> u8 {
        let mut hashes = [0u32; CONTEXTS];
        for (nth, (hash, context)) in (1u32..).zip(hashes.iter_mut().zip(contexts)) {
            *hash = (context.wrapping_add(nth.wrapping_mul(0x9e37_79b1))).wrapping_mul(0x85eb_ca6b);
        }
        let mut partial = 1u32;
        for place in (0..8).rev() {
            let mut slots = [0usize; CONTEXTS];
            let mut guesses = [0i32; CONTEXTS];
            for (nth, hash) in hashes.iter().enumerate() {
                let mixed = (hash ^ partial.wrapping_mul(0x9e37_79b1)).wrapping_mul(0xc2b2_ae35);
                slots[nth] = nth << SLOTS_LOG | (mixed >> (32 - SLOTS_LOG)) as usize;
                guesses[nth] = stretch(self.slots[slots[nth]] >> (16 - PROBABILITY_BITS));
            }
            let weights = &mut self.weights[partial as usize & 0xff];
            let sum: i64 =
                weights.iter().zip(&guesses).map(|(&w, &g)| i64::from(w) * i64::from(g)).sum();
            let one = squash((sum >> 16) as i32);
            let bit = coder.bit(given >> place & 1 != 0, one << (16 - PROBABILITY_BITS));
            let error = (i32::from(bit) << PROBABILITY_BITS) - i32::from(one);
            for (weight, guess) in weights.iter_mut().zip(guesses) {
                *weight += (guess * error * LEARNING_RATE + (1 << 13)) >> 14;
            }
            for slot in slots {
                learn(&mut self.slots[slot], bit);
            }
            partial = partial << 1 | u32::from(bit);
        }
        partial as u8
    }
}

fn learn(slot: &mut u16, bit: bool) {
    let count = *slot & COUNT_MASK;
    let chance = i32::from(*slot & !COUNT_MASK);
    let target = if bit { 0xffff } else { 0 };
    let moved = chance + (target - chance) * 2 / (2 * i32::from(count) + 3);
    let count = if count < COUNT_LIMIT { count + 1 } else { count };
    *slot = moved.clamp(0, 0xffff) as u16 & !COUNT_MASK | count;
}

/// `4096 / (1 + e^(-x / 256))`, kept off its ends.
fn squash(x: i32) -> u16 {
    SQUASHED[(x.clamp(-2047, 2047) + 2047) as usize]
}

/// The `x` that [`squash`] takes to a probability.
fn stretch(probability: u16) -> i32 {
    STRETCHED[usize::from(probability) & 4095].into()
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
    use super::super::super::adaptive::{Reader, Writer};
    use super::*;

    #[test]
    fn stretch_undoes_squash() {
        assert_eq!(squash(0), 2048);
        assert!(SQUASHED.is_sorted());
        for x in (-1500..1500).step_by(7) {
            let squashed = squash(x);
            assert!(squash(stretch(squashed)).abs_diff(squashed) <= 1, "{x}");
        }
    }

    #[test]
    fn texts_come_back_and_repeats_are_cheap() {
        let texts: Vec<Vec<u8>> = (0..200)
            .map(|i| format!("Karpov-Kasparov, World Championship 19{i}").into_bytes())
            .chain([b"".to_vec(), vec![0xff; 300]])
            .collect();
        let mut writer = Writer::new();
        let mut model = TextModel::taught();
        for text in &texts {
            assert_eq!(model.code(&mut writer, 3, b"", text).as_ref(), Some(text));
        }
        let bytes = writer.finish();
        assert!(bytes.len() < 900, "{}", bytes.len());
        let mut reader = Reader::new(&bytes);
        let mut model = TextModel::taught();
        for text in &texts {
            assert_eq!(model.code(&mut reader, 3, b"", b"").as_ref(), Some(text));
        }
    }
}
