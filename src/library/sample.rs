//! Shuffles and samples of any size, in bounded memory, with the same result on every machine.

use std::collections::BinaryHeap;
use std::path::PathBuf;

use super::ordered::{Ordered, push_record};
use epdb_base::spill::Sorter;
use epdb_chess::error::Result;
use epdb_chess::model::EpdRecord;

/// All records in random order.
///
/// Record number n (from 0) is sorted by [`random_number`]`(seed, n)`.
#[derive(Debug)]
pub struct Shuffle {
    seed: u64,
    sorter: Sorter,
}

impl Shuffle {
    /// A shuffle that uses about `memory_bytes` of memory, and a temporary file in `directory` for
    /// the rest.
    pub fn new(seed: u64, directory: impl Into<PathBuf>, memory_bytes: usize) -> Shuffle {
        Shuffle { seed, sorter: Sorter::new(directory, memory_bytes) }
    }

    /// Adds the next record.
    ///
    /// # Errors
    /// The temporary file cannot be created or written.
    pub fn add(&mut self, record: &EpdRecord) -> Result<()> {
        let mut bytes = Vec::new();
        push_record(record, &mut bytes)?;
        self.add_encoded(&bytes)
    }

    /// Adds bytes in any form; [`Ordered::next_encoded`] returns them.
    ///
    /// # Errors
    /// The errors of [`Shuffle::add`].
    pub fn add_encoded(&mut self, bytes: &[u8]) -> Result<()> {
        let key = random_number(self.seed, self.sorter.len()).to_be_bytes();
        Ok(self.sorter.push(&key, bytes)?)
    }

    /// Ends the input.
    ///
    /// # Errors
    /// The temporary file cannot be created, written or read.
    pub fn finish(self) -> Result<Ordered> {
        Ok(self.sorter.finish()?.into())
    }
}

/// A sample of a given size, in the order of the input; every choice of records is equally likely.
/// A [`Shuffle`] with the same seed begins with the same records.
///
/// ```
/// use epdb_library::sample::Sample;
/// use epdb_chess::model::Opcode;
/// let mut sample = Sample::new(2, 7, std::env::temp_dir(), 1 << 20);
/// for file in 'a'..='e' {
///     sample.add(&epdb_chess::parse_epd(format!("7k/8/8/8/8/8/8/K7 w - - id \"{file}\";").as_bytes())?)?;
/// }
/// let (mut records, mut ids) = (sample.finish()?, Vec::new());
/// for record in records.by_ref() {
///     let record = record?;
///     ids.extend(record.text_of(Opcode::ID));
/// }
/// assert_eq!(ids, [b"a", b"b"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Sample {
    wanted: u64,
    seed: u64,
    directory: PathBuf,
    memory_bytes: usize,
    /// The candidates, by their random numbers.
    sorter: Sorter,
    seen: u64,
    /// The `wanted` smallest random numbers so far; a record with a larger number is not a
    /// candidate. `None` if they do not fit into memory; then all records are candidates.
    least: Option<BinaryHeap<u64>>,
}

impl Sample {
    /// A sample of `wanted` records, or of all if there are fewer. It uses about `memory_bytes` of
    /// memory, and temporary files in `directory` for the rest.
    pub fn new(
        wanted: u64,
        seed: u64,
        directory: impl Into<PathBuf>,
        memory_bytes: usize,
    ) -> Sample {
        let directory = directory.into();
        let has_room = wanted.saturating_mul(16) <= memory_bytes as u64 / 2;
        let sorter = Sorter::new(&directory, memory_bytes / 4);
        let least = has_room.then(BinaryHeap::new);
        Sample { wanted, seed, directory, memory_bytes, sorter, seen: 0, least }
    }

    /// Adds the next record.
    ///
    /// # Errors
    /// The temporary file cannot be created or written.
    pub fn add(&mut self, record: &EpdRecord) -> Result<()> {
        self.add_with(|entry| push_record(record, entry))
    }

    /// Adds the next record in any form. `push` appends its bytes, and is called only if the record
    /// may be in the sample. [`Ordered::next_encoded`] returns the bytes.
    ///
    /// # Errors
    /// The errors of [`Sample::add`]. Errors of `push` are passed on.
    pub fn add_with(&mut self, push: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Result<()> {
        let number = random_number(self.seed, self.seen);
        let order = self.seen;
        self.seen += 1;
        if let Some(least) = &mut self.least {
            if least.len() as u64 >= self.wanted {
                if least.peek().is_none_or(|&largest| number >= largest) {
                    return Ok(());
                }
                least.pop();
            }
            least.push(number);
        }
        let mut entry = order.to_be_bytes().to_vec();
        push(&mut entry)?;
        Ok(self.sorter.push(&number.to_be_bytes(), &entry)?)
    }

    /// Ends the input.
    ///
    /// # Errors
    /// A temporary file cannot be created, written or read.
    pub fn finish(self) -> Result<Ordered> {
        drop(self.least);
        let mut out = Sorter::new(&self.directory, self.memory_bytes / 2);
        let mut sorted = self.sorter.finish()?;
        for _ in 0..self.wanted {
            let Some((_, entry)) = sorted.next_entry()? else { break };
            let (order, record) = entry.split_at(entry.len().min(8));
            out.push(order, record)?;
        }
        Ok(out.finish()?.into())
    }
}

/// Whether a number is in the lowest `fraction` (0 to 1) of all 64-bit numbers.
pub fn is_within(number: u64, fraction: f64) -> bool {
    // The upper 53 bits give a fraction below 1 without rounding.
    ((number >> 11) as f64) < fraction * (1_u64 << 53) as f64
}

/// The index of the part to which a number belongs. All 64-bit numbers are split into parts in
/// proportion to these weights.
pub fn part_of(number: u64, weights: &[u64]) -> usize {
    let total: u128 = weights.iter().map(|&weight| u128::from(weight)).sum();
    let place = (u128::from(number) * total) >> 64;
    let mut end = 0;
    for (part, weight) in weights.iter().enumerate() {
        end += u128::from(*weight);
        if place < end {
            return part;
        }
    }
    0
}

/// The number at a place of a sequence: output `place` (from 0) of the SplitMix64 generator
/// (Steele, Lea and Flood 2014) with the state `seed`.
///
/// A number does not depend on earlier numbers, so results do not depend on how threads divide the
/// work.
///
/// ```
/// use epdb_library::sample::random_number;
/// assert_eq!(random_number(1_234_567, 0), 6_457_827_717_110_365_317);
/// assert_eq!(random_number(1_234_567, 1), 3_203_168_211_198_807_973);
/// ```
pub const fn random_number(seed: u64, place: u64) -> u64 {
    const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
    mix(seed.wrapping_add(STEP.wrapping_mul(place.wrapping_add(1))))
}

/// A number that depends on a seed and on bytes, such as those of a position.
pub fn random_from_bytes(seed: u64, bytes: &[u8]) -> u64 {
    bytes.chunks(8).fold(random_number(seed, bytes.len() as u64), |state, chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        random_number(state ^ u64::from_le_bytes(word), 0)
    })
}

const fn mix(state: u64) -> u64 {
    let state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ (state >> 31)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]

    use super::*;
    use epdb_chess::model::Opcode;

    fn records(count: usize) -> Vec<EpdRecord> {
        let line = |n| format!("7k/8/8/8/8/8/8/K7 w - - id \"{n}\";");
        (0..count).map(|n| epdb_chess::parse_epd(line(n).as_bytes()).unwrap()).collect()
    }

    fn ids(mut records: Ordered) -> Vec<usize> {
        let mut ids = Vec::new();
        for record in records.by_ref() {
            let record = record.unwrap();
            ids.push(
                String::from_utf8(record.text_of(Opcode::ID).unwrap()).unwrap().parse().unwrap(),
            );
        }
        ids
    }

    fn shuffled(seed: u64, memory_bytes: usize) -> Vec<usize> {
        let mut shuffle = Shuffle::new(seed, std::env::temp_dir(), memory_bytes);
        records(200).iter().for_each(|record| shuffle.add(record).unwrap());
        ids(shuffle.finish().unwrap())
    }

    fn sampled(wanted: u64, seed: u64, memory_bytes: usize) -> Vec<usize> {
        let mut sample = Sample::new(wanted, seed, std::env::temp_dir(), memory_bytes);
        records(200).iter().for_each(|record| sample.add(record).unwrap());
        ids(sample.finish().unwrap())
    }

    /// The numbers are the same on every machine, because the commands promise equal results.
    #[test]
    fn a_seed_gives_one_order_whatever_the_memory() {
        let order = shuffled(1, 1 << 20);
        assert_eq!(order[..5], [98, 160, 67, 172, 107]);
        assert_eq!(shuffled(1, 1000), order);
        assert_ne!(shuffled(2, 1 << 20), order);
        let mut sorted = order;
        sorted.sort_unstable();
        assert_eq!(sorted, (0..200).collect::<Vec<_>>());
    }

    #[test]
    fn a_sample_is_the_start_of_the_shuffle_in_the_order_of_the_input() {
        let mut expected = shuffled(1, 1 << 20)[..20].to_vec();
        expected.sort_unstable();
        assert_eq!(sampled(20, 1, 1 << 20), expected);
        assert_eq!(sampled(20, 1, 100), expected, "without room for the numbers");
        assert!(sampled(0, 1, 1 << 20).is_empty());
        assert_eq!(sampled(500, 1, 1 << 20), (0..200).collect::<Vec<_>>());
    }

    #[test]
    fn a_large_input_pushes_few_candidates() {
        let mut sample = Sample::new(10, 3, std::env::temp_dir(), 1 << 20);
        let record = &records(1)[0];
        (0..10_000).for_each(|_| sample.add(record).unwrap());
        assert!(sample.sorter.len() < 200, "{} candidates", sample.sorter.len());
    }

    #[test]
    fn numbers_fall_into_parts_in_proportion() {
        let numbers = (0..100_000).map(|place| random_number(5, place));
        let first = numbers.clone().filter(|&number| is_within(number, 0.1)).count();
        assert!((9_700..10_300).contains(&first), "{first} of 10000");
        let parts = numbers.map(|number| part_of(number, &[90, 0, 10]));
        let last = parts.filter(|&part| part == 2).count();
        assert!((9_700..10_300).contains(&last), "{last} of 10000");
        assert!(is_within(u64::MAX, 1.0) && !is_within(0, 0.0));
        assert_eq!((part_of(0, &[1, 1]), part_of(u64::MAX, &[1, 1])), (0, 1));
    }
}
