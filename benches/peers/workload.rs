//! The records, the queries and the clock for measuring all stores.

pub mod contestants;

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::time::Instant;

use epdb_chess::codec::key::position_key;
use epdb_chess::model::rules::{Playable, is_zeroing};
use epdb_chess::model::{Counters, EpdRecord, Position};

/// A small generator of random numbers (xorshift64*): the same numbers on every machine.
pub struct Random(u64);

impl Random {
    /// Starts a sequence; the seed must not be 0.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// The next number below `limit`.
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let high = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32;
        ((high * limit as u64) >> 32) as usize
    }
}

/// Six-field records of different positions out of random legal games of up to 120 plies, in the
/// order in which they were played: castling rights, and an en passant square after each double
/// step, as real files have them.
///
/// No two of them share a key with each other or with one in `taken`, to which theirs are added,
/// so that peers may keep one record a key.
pub fn records(count: usize, seed: u64, taken: &mut HashSet<u64>) -> Vec<EpdRecord> {
    let mut random = Random::new(seed);
    let mut records = Vec::with_capacity(count);
    while records.len() < count {
        let mut left = count - records.len();
        play(&mut random, |record| {
            if taken.insert(position_key(record.position())) {
                left -= 1;
                records.push(record);
            }
            left > 0
        });
    }
    records
}

/// Plays a random legal game of up to 120 plies. `visit` takes a record of each position after a move,
/// and returns whether the game goes on.
pub fn play(random: &mut Random, mut visit: impl FnMut(EpdRecord) -> bool) {
    let mut playable = Playable::new(&Position::START).expect("playable");
    let mut counters = Counters::default();
    for ply in 1..=120 {
        let moves = playable.legal_moves();
        if moves.is_empty() {
            return;
        }
        let mv = moves[random.below(moves.len())];
        counters.halfmove_clock =
            if is_zeroing(playable.position(), mv) { 0 } else { counters.halfmove_clock + 1 };
        counters.fullmove_number = 1 + ply / 2;
        playable = playable.after(mv);
        let mut record = EpdRecord::new(*playable.position());
        record.set_fen_counters(Some(counters));
        if !visit(record) {
            return;
        }
    }
}

/// Seconds that `work` takes, and what it gives.
pub fn timed<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let start = Instant::now();
    let result = work();
    (start.elapsed().as_secs_f64(), result)
}

/// Bytes of all files of a directory.
pub fn size_of_files(directory: &Path) -> u64 {
    let files = fs::read_dir(directory).expect("a directory");
    files.map(|file| file.and_then(|file| file.metadata()).expect("a file").len()).sum()
}

/// Lines of the processor's cache, each with the number of another: all of them are one cycle.
pub struct CacheLines(Vec<[u64; 8]>);

impl CacheLines {
    /// As many as fill a number of bytes, in random order.
    pub fn new(bytes: usize, random: &mut Random) -> CacheLines {
        let mut order: Vec<u64> = (0..(bytes / 64).max(2) as u64).collect();
        for place in (1..order.len()).rev() {
            order.swap(place, random.below(place));
        }
        CacheLines(order.into_iter().map(|next| [next; 8]).collect())
    }

    /// Loads random lines, none of which waits for another.
    pub fn load_independent(&self, loads: usize, random: &mut Random) -> u64 {
        (0..loads).map(|_| self.0[random.below(self.0.len())][0]).fold(0, u64::wrapping_add)
    }

    /// Loads lines each of which says where the next one is.
    pub fn load_dependent(&self, loads: usize) -> u64 {
        (0..loads).fold(0, |line, _| self.0[line as usize][0])
    }
}

/// The middle one of some figures.
pub fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

/// The value of `--name N` on the command line, or what else it is.
///
/// # Panics
/// If the value is no number.
pub fn argument(name: &str, otherwise: usize) -> usize {
    let mut arguments = std::env::args().skip_while(|argument| argument != name);
    match arguments.nth(1) {
        Some(value) => value.parse().unwrap_or_else(|_| panic!("{name} takes a number")),
        None => otherwise,
    }
}
