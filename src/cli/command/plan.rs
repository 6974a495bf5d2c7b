//! `epdb plan`: the costs of a large library, predicted from samples.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context;
use serde::Serialize;
use wait4::Wait4;

use crate::cli::args::MemoryArgs;
use crate::cli::json;
use crate::cli::outcome::Outcome;
use crate::cli::output::open_output;
use crate::cli::progress::Writing;
use crate::cli::terminal::{many, note};
use epdb::archive::Archive;
use epdb::library::plan::{
    CostModel, LookupCosts, MeasuredCosts, PlannedGames, Route, RunCosts, SampleGames,
};
use epdb::library::shards::MANIFEST;
use epdb::source::{Manifest, OwnedItem, SourceOptions, Sources, Target};

/// Predict the size, processor time and memory of a library of many games
///
/// epdb builds libraries from three samples of games on this computer, which takes two minutes. From the
/// costs, epdb computes the costs for all games. Positions follow Heaps' law, because games share their
/// openings. Bytes per position grow with the logarithm of the number of positions. Memory grows in
/// proportion, up to the limit of --memory. Time grows in proportion too, and a position takes longer once
/// temporary files are needed. Requests are what 1,000 lookups in one batch need if the library is in object
/// storage. Nothing is kept. (`epdb shard plan` is another command: it cuts files.)
///
/// Give games like yours as the sample, because openings and comments decide the result. Without files, the
/// sample is made up. Predictions are usually right within a fifth, if no other program runs while epdb
/// measures. `shard merge` maps its inputs, so the system may show more memory while it has some to spare.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Examples:
  epdb plan --games 7e9 --plies 70
  epdb plan --games 3e6 games.pgn --memory 4G")]
pub(crate) struct Args {
    /// Files of games; the first 48,000 games are the sample
    files: Vec<PathBuf>,
    /// Number of games to plan for, such as 300000 or 7e9
    #[arg(long, value_name = "N", value_parser = parse_amount)]
    games: f64,
    /// Average number of plies of a game [default: that of the sample]
    #[arg(long, value_name = "N", value_parser = parse_amount)]
    plies: Option<f64>,
    /// Print one JSON object for each way to build the library
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    memory: MemoryArgs,
}

/// Parses a positive number, which may have an exponent.
fn parse_amount(text: &str) -> Result<f64, String> {
    let expected = || "expected a number from 1 to 1e15, such as 300000 or 7e9".to_string();
    let amount: f64 = text.parse().map_err(|_| expected())?;
    if (1.0..=1e15).contains(&amount) { Ok(amount) } else { Err(expected()) }
}

/// The files of the samples. Each has one of this many games of the largest sample.
const SAMPLES: [(&str, usize); 3] = [("small.pgn", 32), ("middle.pgn", 4), ("large.pgn", 1)];
/// Number of games of the largest sample.
const LARGE: usize = 48_000;
/// Maximum value of the option `--memory` in bytes for commands on samples. The largest sample needs
/// more, so that the costs of temporary files are measured too.
const SAMPLE_MEMORY: u64 = 256 << 20;
/// Number of plies of a game that is made up, if the user gives no number.
const PLIES: f64 = 80.0;

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let folder = tempfile::tempdir().context("cannot create a temporary folder")?;
    let measuring = Writing::new("measuring", true);
    let bench = Bench { folder: folder.path(), program: std::env::current_exe()? };
    let games = bench.write_samples(args)?;
    let memory = args.memory.memory_bytes as u64;
    let (measured, plies) = bench.measure(memory)?;
    drop(measuring);
    let planned = PlannedGames { games: args.games, plies: args.plies.unwrap_or(plies) };
    note!("measured with {} of {plies:.1} plies", many(games, "game"));
    if games < LARGE as u64 {
        note!("a sample of {LARGE} games would reach the limit of memory, and be more certain");
    }
    let routes = measured.plan(&planned);
    let mut out = open_output(None)?;
    if args.json {
        for route in &routes {
            json::line(&mut out, &Planned::new(route))?;
        }
    } else {
        write_table(&mut out, &routes)?;
    }
    out.finish()?;
    Ok(Outcome::Done)
}

/// A route (`plan --json`).
#[derive(Serialize)]
struct Planned {
    route: &'static str,
    slices: u64,
    shards: u64,
    records: u64,
    bytes: u64,
    cpu_seconds: f64,
    peak_bytes: u64,
    requests: Option<u64>,
}

impl Planned {
    fn new(route: &Route) -> Planned {
        Planned {
            route: route.name,
            slices: route.slices as u64,
            shards: route.shards as u64,
            records: route.records as u64,
            bytes: route.bytes as u64,
            cpu_seconds: (route.cpu_seconds * 100.0).round() / 100.0,
            peak_bytes: route.peak_bytes as u64,
            requests: route.requests.map(|requests| requests as u64),
        }
    }
}

fn write_table(out: &mut impl Write, routes: &[Route]) -> anyhow::Result<()> {
    writeln!(
        out,
        "{:<28} {:>8} {:>7} {:>9} {:>9} {:>10} {:>9} {:>9}",
        "", "slices", "shards", "records", "bytes", "CPU time", "memory", "requests"
    )?;
    for route in routes {
        let requests = route.requests.map_or("-".into(), |requests| format!("{requests:.0}"));
        writeln!(
            out,
            "{:<28} {:>8} {:>7} {:>9.3e} {:>9} {:>10} {:>9} {requests:>9}",
            route.name,
            route.slices,
            route.shards,
            route.records,
            size(route.bytes),
            time(route.cpu_seconds),
            size(route.peak_bytes)
        )?;
    }
    Ok(())
}

/// A size with three digits and a unit.
fn size(bytes: f64) -> String {
    let units = ["B", "kB", "MB", "GB", "TB", "PB"];
    let place = ((bytes.max(1.0).log10() / 3.0) as usize).min(units.len() - 1);
    let amount = bytes / 1000_f64.powi(place as i32);
    with_unit(amount, units[place])
}

/// A time with three digits and a unit.
fn time(seconds: f64) -> String {
    let units = [("h", 3600.0), ("min", 60.0), ("s", 1.0)];
    let (unit, length) = units.into_iter().find(|unit| seconds >= unit.1).unwrap_or(units[2]);
    with_unit(seconds / length, unit)
}

/// An amount with three digits, and its unit.
fn with_unit(amount: f64, unit: &str) -> String {
    let digits = if amount < 10.0 { 2 } else { usize::from(amount < 100.0) };
    format!("{amount:.digits$} {unit}")
}

/// Writes games that are made up.
fn write_made_up(file: &Path, plies: usize) -> anyhow::Result<()> {
    let mut out = BufWriter::new(File::create(file)?);
    for game in SampleGames::new(plies).take(LARGE) {
        out.write_all(game.as_bytes())?;
    }
    Ok(out.flush()?)
}

/// The folder in which commands run on samples.
struct Bench<'f> {
    folder: &'f Path,
    program: PathBuf,
}

/// Costs of the commands on one sample.
struct SampleCosts {
    store: RunCosts,
    archive: RunCosts,
    slice: RunCosts,
    merge: RunCosts,
    pack: RunCosts,
    /// Average number of plies of a game.
    plies: f64,
}

/// Counts that `tally --json` prints.
#[derive(serde::Deserialize)]
struct Counted {
    games: u64,
    plies: u64,
    positions: u64,
}

impl Bench<'_> {
    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Writes the samples, and returns the number of games of the largest one.
    fn write_samples(&self, args: &Args) -> anyhow::Result<u64> {
        let made_up = self.path("made_up.pgn");
        let files = match args.files.is_empty() {
            true => {
                write_made_up(&made_up, args.plies.unwrap_or(PLIES) as usize)?;
                &[made_up]
            }
            false => &args.files[..],
        };
        let target = |(name, _)| Target::create(self.path(name));
        let mut samples: Vec<Target> = SAMPLES.into_iter().map(target).collect::<Result<_, _>>()?;
        let mut games = 0;
        for item in Sources::new(files, &SourceOptions::new()).items() {
            let OwnedItem::Game { game, .. } = item? else { continue };
            for (sample, (_, share)) in samples.iter_mut().zip(SAMPLES) {
                if games % share == 0 {
                    sample.write_game(&game)?;
                }
            }
            games += 1;
            if games == LARGE {
                break;
            }
        }
        let fewest = SAMPLES[0].1 + 1;
        anyhow::ensure!(
            games >= fewest,
            "the files have too few games for a sample: {games}; give files with at least {fewest} games",
        );
        samples.into_iter().try_for_each(|sample| sample.finish().map(drop))?;
        Ok(games as u64)
    }

    /// Measures all commands for a value of the option `--memory`, and returns the average number of
    /// plies of a game too.
    fn measure(&self, memory: u64) -> anyhow::Result<(MeasuredCosts, f64)> {
        let sample_memory = memory.min(SAMPLE_MEMORY);
        let sample = |(name, _)| self.measure_sample(name, sample_memory);
        let [small, middle, large] = SAMPLES;
        let samples = [sample(small)?, sample(middle)?, sample(large)?];
        let model = |of: fn(&SampleCosts) -> RunCosts| CostModel {
            runs: samples.each_ref().map(of),
            sample_memory,
            memory,
        };
        let manifest = self.manifest()?;
        let merged = manifest.shards().first().context("a manifest without shards")?;
        let measured = MeasuredCosts {
            store: model(|costs| costs.store),
            archive: model(|costs| costs.archive),
            slice: model(|costs| costs.slice),
            merge: model(|costs| costs.merge),
            pack: model(|costs| costs.pack),
            archive_lookups: LookupCosts::measure(&self.path("l.epa"))?,
            merged_lookups: LookupCosts::measure(&self.path("all").join(&merged.file))?,
        };
        Ok((measured, samples[2].plies))
    }

    /// The manifest that `shard merge` wrote.
    fn manifest(&self) -> anyhow::Result<Manifest> {
        Ok(Manifest::from_bytes(&fs::read(self.path("all").join(MANIFEST))?)?)
    }

    /// Runs all commands on a sample.
    fn measure_sample(&self, sample: &str, memory: u64) -> anyhow::Result<SampleCosts> {
        let (store, counted) = self.tally(&[sample], "l.epdb", memory)?;
        let (archive, _) = self.tally(&[sample], "l.epa", memory)?;
        self.run(&["shard", "plan", sample, "--slices", "2", "-o", "plan.json", "--force"], None)?;
        let of_slice = |slice| ["--plan", "plan.json", "--slice", slice, "--unique-games"];
        let (slice, _) = self.tally(&of_slice("1/2"), "1.epa", memory)?;
        let (other, _) = self.tally(&of_slice("2/2"), "2.epa", memory)?;
        let merge = ["shard", "merge", "1.epa", "2.epa", "--shards", "1", "--force", "-o", "all"];
        let (merge, _) = self.run(&[&merge[..], &["--allow-overlap"]].concat(), Some(memory))?;
        let manifest = self.manifest()?;
        let merge = RunCosts {
            input: slice.records + other.records,
            records: manifest.records(),
            bytes: manifest.bytes(),
            ..merge
        };
        let pack = ["pack", sample, "--no-index", "-o", "n.epa", "--force"];
        let (pack, _) = self.run(&pack, Some(memory))?;
        let packed = self.path("n.epa");
        let positions = Archive::open(&packed)?.len();
        let pack = RunCosts {
            input: positions,
            records: positions,
            bytes: fs::metadata(&packed)?.len(),
            ..pack
        };
        let plies = counted.plies as f64 / counted.games.max(1) as f64;
        Ok(SampleCosts { store, archive, slice, merge, pack, plies })
    }

    /// Runs `epdb tally`.
    fn tally(
        &self,
        inputs: &[&str],
        output: &str,
        memory: u64,
    ) -> anyhow::Result<(RunCosts, Counted)> {
        let args = [&["tally"], inputs, &["-o", output, "--json", "--force"]].concat();
        let (costs, out) = self.run(&args, Some(memory))?;
        let counted: Counted = serde_json::from_slice(&out)?;
        let bytes = fs::metadata(self.path(output))?.len();
        let costs = RunCosts { input: counted.plies, records: counted.positions, bytes, ..costs };
        Ok((costs, counted))
    }

    /// Runs epdb, and returns its costs and its output.
    fn run(&self, args: &[&str], memory: Option<u64>) -> anyhow::Result<(RunCosts, Vec<u8>)> {
        let printed = self.path("stdout");
        let mut command = Command::new(&self.program);
        command.args(args).arg("--quiet").current_dir(self.folder);
        if let Some(memory) = memory {
            command.arg(format!("--memory={memory}"));
        }
        command.stdin(Stdio::null()).stdout(File::create(&printed)?);
        let child = command.spawn();
        let child = child.with_context(|| format!("cannot run {}", self.program.display()))?;
        let ended = child.wait4()?;
        let is_done = matches!(ended.status.code(), Some(0 | 1));
        anyhow::ensure!(is_done, "epdb {} failed", args.join(" "));
        let used = ended.rusage;
        let costs = RunCosts {
            cpu_seconds: (used.utime + used.stime).as_secs_f64(),
            peak_bytes: used.maxrss,
            ..RunCosts::default()
        };
        Ok((costs, fs::read(printed)?))
    }
}
