//! Costs of a large library, predicted from the costs of three samples of its games.
//!
//! Each cost follows the law of its cause:
//!
//! - Distinct positions follow Heaps' law, `k * plies^b`: games share their openings, so the share of new
//!   positions falls with the number of games.
//! - Bytes per record are linear in the logarithm of the number of records of a file: an index needs a
//!   constant number of bits more for each doubling.
//! - Peak memory is linear in the plies or records that are read, up to a limit: the option `--memory`.
//!   Samples run with little memory, so that the largest one reaches the limit. Digests of games take
//!   further memory, which the limit does not include.
//! - Processor time is linear in the records that are written, as long as they fit into memory. If they do
//!   not, all of them pass through temporary files. Then the time is in proportion to that of the largest
//!   sample, which needs such files.
//! - Requests of lookups are counted on a sample. In a large library, two lookups hardly ever
//!   need the same bytes, so each has its own requests.

mod requests;
mod sample_games;

pub use requests::LookupCosts;
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
/// let runs = [
///     run(100_000, 90_000, 0.2, 40 << 20),
///     run(800_000, 720_000, 1.6, 110 << 20),
///     run(6_400_000, 5_760_000, 24.0, 260 << 20),
/// ];
/// let model = CostModel { runs, sample_memory: 256 << 20, memory: 256 << 20 };
/// assert_eq!(model.records(12.8e6).round(), 11_520_000.0);
/// assert_eq!((10.0 * model.cpu_seconds(400_000.0)).round(), 8.0);
/// assert_eq!((10.0 * model.cpu_seconds(12.8e6)).round(), 480.0);
/// assert_eq!(model.peak_bytes(12e6).round(), f64::from(260 << 20));
/// ```
#[derive(Copy, Clone, PartialEq, Debug, Default)]
pub struct CostModel {
    /// Runs on samples of ascending sizes.
    pub runs: [RunCosts; 3],
    /// Value of the option `--memory` in the runs, in bytes.
    pub sample_memory: u64,
    /// Value of the option `--memory` that is planned, in bytes; at least that of the runs.
    pub memory: u64,
}

impl CostModel {
    /// Number of records that are written for an input.
    pub fn records(&self, input: f64) -> f64 {
        let [_, middle, large] = &self.runs;
        let growth = (large.records as f64 / middle.records as f64).ln();
        let exponent = growth / (large.input as f64 / middle.input as f64).ln();
        let exponent = if exponent.is_finite() { exponent.clamp(0.0, 1.0) } else { 1.0 };
        large.records as f64 * (input / large.input as f64).powf(exponent)
    }

    /// Size of records that are spread over a number of files.
    pub fn bytes(&self, records: f64, files: f64) -> f64 {
        let [_, middle, large] = &self.runs;
        let (few, many) = (middle.records as f64, large.records as f64);
        let step = (bytes_a_record(large) - bytes_a_record(middle)) / (many / few).ln();
        let step = if step.is_finite() { step.max(0.0) } else { 0.0 };
        records * (bytes_a_record(large) + step * (records / files / many).ln()).max(0.0)
    }

    /// Processor time for an input.
    pub fn cpu_seconds(&self, input: f64) -> f64 {
        let records = self.records(input);
        let [_, middle, large] = &self.runs;
        let [below, above] = self.lines(|run| run.records as f64, |run| run.cpu_seconds);
        if input < middle.input as f64 {
            below.at(records)
        } else if !self.is_limited() {
            above.at(records)
        } else if self.peaks()[0].at(input) < self.peak_limit() {
            below.at(records)
        } else {
            large.cpu_seconds * records / large.records.max(1) as f64
        }
    }

    /// Peak memory for an input.
    pub fn peak_bytes(&self, input: f64) -> f64 {
        let [_, middle, _] = &self.runs;
        let [below, above] = self.peaks();
        if input < middle.input as f64 {
            return below.at(input);
        }
        let has_more_memory = self.memory > self.sample_memory;
        let grown = if self.is_limited() && has_more_memory { below } else { above };
        grown.at(input).min(self.peak_limit())
    }

    /// Peak memory of a run that reaches the limit.
    fn peak_limit(&self) -> f64 {
        // A sample that did not reach the limit may need all the memory besides.
        let added = if self.is_limited() { self.memory - self.sample_memory } else { self.memory };
        (self.runs[2].peak_bytes + added) as f64
    }

    /// Whether the largest sample reached the limit of memory.
    fn is_limited(&self) -> bool {
        let [_, _, large] = &self.runs;
        (large.peak_bytes as f64) < 0.9 * self.peaks()[0].at(large.input as f64)
    }

    /// Peak memory for an input, as lines.
    fn peaks(&self) -> [Line; 2] {
        self.lines(|run| run.input as f64, |run| run.peak_bytes as f64)
    }

    /// The lines through the first two and through the last two runs.
    fn lines(
        &self,
        amount: impl Fn(&RunCosts) -> f64,
        cost: impl Fn(&RunCosts) -> f64,
    ) -> [Line; 2] {
        let [small, middle, large] = self.runs.each_ref().map(|run| (amount(run), cost(run)));
        [Line::through(small, middle), Line::through(middle, large)]
    }
}

fn bytes_a_record(run: &RunCosts) -> f64 {
    run.bytes as f64 / run.records.max(1) as f64
}

/// A cost that grows linearly.
struct Line {
    start: f64,
    step: f64,
}

impl Line {
    /// The line through two runs, each with its amount and its cost. The line does not fall. If the
    /// amounts are equal, the cost is in proportion.
    fn through(small: (f64, f64), large: (f64, f64)) -> Line {
        let step = match large.0 > small.0 {
            true => ((large.1 - small.1) / (large.0 - small.0)).max(0.0),
            false => large.1 / large.0.max(1.0),
        };
        Line { start: large.1 - step * large.0, step }
    }

    fn at(&self, amount: f64) -> f64 {
        (self.start + self.step * amount).max(0.0)
    }
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
    /// Lookups in the archive of `epdb tally`.
    pub archive_lookups: LookupCosts,
    /// Lookups in the result of `epdb shard merge`.
    pub merged_lookups: LookupCosts,
}

/// The collection of games for which a library is planned.
#[derive(Copy, Clone, PartialEq, Debug)]
pub struct PlannedGames {
    /// Number of games.
    pub games: f64,
    /// Average number of plies of a game.
    pub plies: f64,
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
    /// Number of requests that [`BATCH`] lookups in one batch need, if the result is in object storage.
    /// `None` if it is not searched there.
    pub requests: Option<f64>,
}

/// Number of lookups of a batch whose requests are predicted.
pub const BATCH: u32 = 1000;
/// Size of the largest shard that is planned: a file that is copied in a minute, and that a machine
/// can keep in memory.
const SHARD_BYTES: f64 = (4_u64 << 30) as f64;
/// Processor time of the largest slice that is planned. If a slice has to be repeated, little is
/// lost.
const SLICE_SECONDS: f64 = 3600.0;
/// Memory for the digest of a game in a command that counts games: a table with entries of 17 bytes,
/// of which 7/16 to 7/8 are in use.
const DIGEST_BYTES: f64 = 29.0;

impl MeasuredCosts {
    /// Predicts the costs of each route.
    pub fn plan(&self, planned: &PlannedGames) -> Vec<Route> {
        let PlannedGames { games, plies } = *planned;
        let tally = |name, model: &CostModel| whole(name, model, games * plies, games);
        let archive = tally("tally into an archive", &self.archive);
        let requests = self.archive_lookups.of_batch(f64::from(BATCH), 1.0, archive.bytes);
        vec![
            tally("tally into a store", &self.store),
            Route { requests: Some(requests), ..archive },
            self.sliced(planned),
            whole("pack by number", &self.pack, games * (plies + 1.0), 0.0),
        ]
    }

    /// Slices, which are merged into shards.
    fn sliced(&self, planned: &PlannedGames) -> Route {
        let PlannedGames { games, plies } = *planned;
        let input = games * plies;
        let slices = (self.slice.cpu_seconds(input) / SLICE_SECONDS).ceil().max(2.0);
        let merged = slices * self.slice.records(input / slices);
        let records = self.slice.records(input);
        let shards = (self.merge.bytes(records, 1.0) / SHARD_BYTES).ceil().max(1.0);
        let bytes = self.merge.bytes(records, shards);
        let peak = self.slice.peak_bytes(input / slices) + DIGEST_BYTES * games / slices;
        Route {
            name: "tally in slices, shard merge",
            slices,
            shards,
            records,
            bytes,
            cpu_seconds: slices * self.slice.cpu_seconds(input / slices)
                + self.merge.cpu_seconds(merged),
            peak_bytes: peak.max(self.merge.peak_bytes(merged)),
            requests: Some(self.merged_lookups.of_batch(f64::from(BATCH), shards, bytes)),
        }
    }
}

/// A route of one command with one file, which keeps the digests of this number of games in memory.
fn whole(name: &'static str, model: &CostModel, input: f64, games: f64) -> Route {
    let records = model.records(input);
    Route {
        name,
        slices: 1.0,
        shards: 1.0,
        records,
        bytes: model.bytes(records, 1.0),
        cpu_seconds: model.cpu_seconds(input),
        peak_bytes: model.peak_bytes(input) + DIGEST_BYTES * games,
        requests: None,
    }
}
