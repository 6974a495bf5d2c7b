//! Costs of a large library, predicted from the costs of two samples of its games.
//!
//! Each cost follows the law of its cause:
//!
//! - Distinct positions follow Heaps' law, `k * plies^b`: games share their openings, so the share of new
//!   positions falls with the number of games.
//! - Bytes per record are linear in the logarithm of the number of records of a file: an index needs a
//!   constant number of bits more for each doubling.
//! - Peak memory is linear in the plies or records that are read, up to a limit, which is linear in the
//!   option `--memory`. A third run with little memory measures the limit. Digests of games take
//!   further memory, which the limit does not include.
//! - Processor time is linear in the plies or records too. Beyond the limit of memory, each of them takes
//!   as long as in the third run, which uses temporary files.

mod sample_games;

pub use sample_games::SampleGames;

/// Costs of one run of a command.
#[derive(Copy, Clone, PartialEq, Debug, Default)]
pub struct RunCosts {
    /// Plies or records read.
    pub input: u64,
    /// Records written.
    pub records: u64,
    /// Size of the files written.
    pub bytes: u64,
    /// Processor time of all threads, in user and system mode.
    pub cpu_seconds: f64,
    /// Peak resident memory.
    pub peak_bytes: u64,
}

/// Costs of one command for any size of its input, from three runs.
///
/// ```
/// use epdb::library::plan::{CostModel, RunCosts};
///
/// let run = |input, records, cpu_seconds, peak_bytes| RunCosts {
///     input,
///     records,
///     bytes: 3 * records,
///     cpu_seconds,
///     peak_bytes,
/// };
/// let small = run(100_000, 90_000, 0.2, 40 << 20);
/// let large = run(800_000, 648_000, 1.6, 110 << 20);
/// let limited = run(800_000, 648_000, 2.0, 62 << 20);
/// let model = CostModel { small, large, limited, limited_memory: 32 << 20 };
/// assert_eq!(model.cpu_seconds(8e6, 1e12).round(), 16.0);
/// assert_eq!(model.cpu_seconds(8e6, 1e6).round(), 20.0);
/// assert_eq!(model.records(6.4e6).round(), 4_665_600.0);
/// let peak = model.peak_bytes(1e9, 256.0 * f64::from(1 << 20));
/// assert_eq!((peak / f64::from(1 << 20)).round(), 286.0);
/// ```
#[derive(Copy, Clone, PartialEq, Debug, Default)]
pub struct CostModel {
    /// A run on the smaller sample.
    pub small: RunCosts,
    /// A run on the larger sample.
    pub large: RunCosts,
    /// A run on the larger sample with memory for a part of it.
    pub limited: RunCosts,
    /// The memory of the third run in bytes, as the option `--memory` gives it.
    pub limited_memory: u64,
}

impl CostModel {
    /// Number of records that are written for an input.
    pub fn records(&self, input: f64) -> f64 {
        let RunCosts { input: read, records, .. } = self.large;
        let growth = (records as f64 / self.small.records as f64).ln();
        let exponent = growth / (read as f64 / self.small.input as f64).ln();
        let exponent = if exponent.is_finite() { exponent.clamp(0.0, 1.0) } else { 1.0 };
        records as f64 * (input / read as f64).powf(exponent)
    }

    /// Size of records that are spread over a number of files.
    pub fn bytes(&self, records: f64, files: f64) -> f64 {
        let (small, large) = (bytes_a_record(&self.small), bytes_a_record(&self.large));
        let (few, many) = (self.small.records as f64, self.large.records as f64);
        let step = (large - small) / (many / few).ln();
        let step = if step.is_finite() { step.max(0.0) } else { 0.0 };
        records * (large + step * (records / files / many).ln()).max(0.0)
    }

    /// Processor time for an input, with a value of the option `--memory`.
    pub fn cpu_seconds(&self, input: f64, memory: f64) -> f64 {
        if self.growth().at(input) > self.limit(memory) {
            return self.limited.cpu_seconds * input / self.limited.input as f64;
        }
        line(&self.small, &self.large, |run| run.cpu_seconds).at(input)
    }

    /// Peak memory for an input, with a value of the option `--memory`.
    pub fn peak_bytes(&self, input: f64, memory: f64) -> f64 {
        self.growth().at(input).min(self.limit(memory))
    }

    /// Peak memory without a limit.
    fn growth(&self) -> Line {
        line(&self.small, &self.large, |run| run.peak_bytes as f64)
    }

    /// Peak memory of any input, with a value of the option `--memory`.
    fn limit(&self, memory: f64) -> f64 {
        let (start, limited) = (self.growth().start, self.limited.peak_bytes as f64);
        let used = (limited - start).max(0.0);
        limited.max(start + memory * used / self.limited_memory as f64)
    }
}

fn bytes_a_record(run: &RunCosts) -> f64 {
    run.bytes as f64 / run.records.max(1) as f64
}

/// A cost that grows linearly with the input.
struct Line {
    start: f64,
    step: f64,
}

impl Line {
    fn at(&self, input: f64) -> f64 {
        self.start + self.step * input
    }
}

/// The line through two runs. It neither falls nor begins below 0.
fn line(small: &RunCosts, large: &RunCosts, cost: impl Fn(&RunCosts) -> f64) -> Line {
    let more = large.input.saturating_sub(small.input).max(1) as f64;
    let step = ((cost(large) - cost(small)) / more).max(0.0);
    let step = step.min(cost(large) / large.input.max(1) as f64);
    Line { start: cost(large) - step * large.input as f64, step }
}

/// Costs of all commands on samples of games.
#[derive(Copy, Clone, PartialEq, Debug, Default)]
pub struct MeasuredCosts {
    /// `epdb tally` into a store.
    pub store: CostModel,
    /// `epdb tally` into an archive.
    pub archive: CostModel,
    /// `epdb tally` of one slice into a sorted archive.
    pub slice: CostModel,
    /// `epdb shard merge` of these archives; its input are their records.
    pub merge: CostModel,
    /// `epdb pack` of every position by number; its input are the positions of all games.
    pub pack: CostModel,
}

/// The collection of games for which a library is planned.
#[derive(Copy, Clone, PartialEq, Debug)]
pub struct PlannedGames {
    /// Number of games.
    pub games: f64,
    /// Average number of plies of a game.
    pub plies: f64,
    /// The option `--memory` of each command, in bytes.
    pub memory: f64,
}

/// A way to make a library, with its predicted costs.
#[derive(Copy, Clone, PartialEq, Debug)]
pub struct Route {
    /// The commands.
    pub name: &'static str,
    /// Number of slices that are read separately.
    pub slices: f64,
    /// Number of files of the result.
    pub shards: f64,
    /// Number of records of the result.
    pub records: f64,
    /// Size of the result.
    pub bytes: f64,
    /// Processor time of all commands.
    pub cpu_seconds: f64,
    /// Peak memory of the largest command.
    pub peak_bytes: f64,
}

/// Size of the largest shard that is planned: a file that is copied in a minute, and that a machine
/// can keep in memory.
const SHARD_BYTES: f64 = (4_u64 << 30) as f64;
/// Processor time of the largest slice that is planned. If a slice has to be repeated, little is
/// lost.
const SLICE_SECONDS: f64 = 3600.0;
/// Memory for the digest of a game: a table with entries of 17 bytes that is at least 7/16 full, and a
/// sorted copy of 16 bytes when it is written.
const DIGEST_BYTES: f64 = 55.0;

impl MeasuredCosts {
    /// Predicts the costs of each route.
    pub fn plan(&self, planned: &PlannedGames) -> Vec<Route> {
        let PlannedGames { games, plies, memory } = *planned;
        let whole = |name, model: &CostModel, input: f64, digests: f64| {
            let records = model.records(input);
            Route {
                name,
                slices: 1.0,
                shards: 1.0,
                records,
                bytes: model.bytes(records, 1.0),
                cpu_seconds: model.cpu_seconds(input, memory),
                peak_bytes: model.peak_bytes(input, memory) + digests,
            }
        };
        vec![
            whole("tally into a store", &self.store, games * plies, DIGEST_BYTES * games),
            whole("tally into an archive", &self.archive, games * plies, DIGEST_BYTES * games),
            self.sliced(planned),
            whole("pack by number", &self.pack, games * (plies + 1.0), 0.0),
        ]
    }

    /// Slices, which are merged into shards.
    fn sliced(&self, planned: &PlannedGames) -> Route {
        let PlannedGames { games, plies, memory } = *planned;
        let input = games * plies;
        let slices = (self.slice.cpu_seconds(input, memory) / SLICE_SECONDS).ceil().max(2.0);
        let merged = slices * self.slice.records(input / slices);
        let records = self.slice.records(input);
        let shards = (self.merge.bytes(records, 1.0) / SHARD_BYTES).ceil().max(1.0);
        let digests = DIGEST_BYTES * games;
        let peak = self.slice.peak_bytes(input / slices, memory) + digests / slices;
        Route {
            name: "tally in slices, shard merge",
            slices,
            shards,
            records,
            bytes: self.merge.bytes(records, shards),
            cpu_seconds: slices * self.slice.cpu_seconds(input / slices, memory)
                + self.merge.cpu_seconds(merged, memory),
            peak_bytes: peak.max(self.merge.peak_bytes(merged, memory) + digests),
        }
    }
}
