//! Engines, and the limits of their searches.

use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::cli::outcome::usage;
use crate::cli::values::word_of;
use epdb_chess::model::merge::Prefer;
use epdb_engine::{ClockReading, EngineSpec, Limits, Plan, SystemClock, Task};
use epdb_referee::{Stage, TimeControl};

/// Engines, and the effort per record.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct EngineArgs {
    /// Run this engine: a program, NAME=PROGRAM, or 'cmd=PROGRAM arg=ARGUMENT name=NAME option.Hash=64'. With
    /// several --engine, the name of the output needs {engine}
    #[arg(long = "engine", value_name = "ENGINE", required = true)]
    pub(crate) engines: Vec<EngineSpec>,
    /// Search N nodes per record; K, M and G stand for thousands, millions and billions
    #[arg(long, value_name = "N", value_parser = parse_nodes)]
    nodes: Option<NonZeroU64>,
    /// Search to this depth in plies
    #[arg(long, value_name = "PLIES")]
    depth: Option<NonZeroU32>,
    /// Search this long: 500ms, 5s, or a number of milliseconds
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    movetime: Option<Duration>,
    /// Search each record with this clock (a soft limit), such as 60+0.5 or 40/60
    #[arg(long, value_name = "[MOVES/]TIME[+INCREMENT]", value_parser = parse_clock)]
    #[arg(conflicts_with = "movetime")]
    clock: Option<ClockReading>,
    /// Resume an interrupted run from the journal next to its output
    #[arg(long)]
    pub(crate) resume: bool,
    /// If the output is an existing store that has another analysis of a position, keep the later one (the
    /// default), the first, the deepest, or that with the most nodes
    #[arg(long, value_parser = word_of::<Prefer>(), value_name = "WHOSE", help_heading = "Engines")]
    pub(crate) prefer: Option<Prefer>,
    #[command(flatten)]
    process: ProcessArgs,
}

/// Settings of engine processes.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "Engines")]
pub(crate) struct ProcessArgs {
    /// Set an option of all engines, such as Hash=64; the default of Threads is 1
    #[arg(long = "option", value_name = "NAME=VALUE", value_parser = parse_option)]
    options: Vec<(String, String)>,
    /// Search N records at once, each with its own engine process [default: one per core]
    #[arg(long, value_name = "N")]
    concurrency: Option<NonZeroUsize>,
    /// Send `isready` to an engine that is silent for this time. Give up on the engine if it does not answer
    /// within this time, or if it answers ten times in a row and sends nothing else
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "60s")]
    patience: Duration,
    /// Search N lines. The best line becomes pv and ce; the others become pv2 and ce2, pv3 and ce3 ...
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=500))]
    multipv: u16,
    /// Set ts to the current time in each changed record
    #[arg(long)]
    ts: bool,
}

/// Largest useful number of processes.
const MAX_PROCESSES: usize = 1024;

impl EngineArgs {
    /// The limits; at least one is required.
    pub(crate) fn limits(&self) -> anyhow::Result<Limits> {
        let EngineArgs { nodes, depth, movetime, clock, .. } = *self;
        if nodes.is_none() && depth.is_none() && movetime.is_none() && clock.is_none() {
            let text = "set a limit per record, for example --nodes 100000, \
                        --depth 12, --movetime 5s or, as a soft limit, --clock 60+0.5";
            return Err(usage(text));
        }
        let nodes = nodes.map(NonZeroU64::get);
        let depth = depth.map(NonZeroU32::get);
        Ok(Limits { nodes, depth, movetime, clock, mate: None })
    }

    pub(crate) fn plans(&self, limits: &Limits, task: &Task) -> anyhow::Result<Vec<Plan>> {
        let mut plans: Vec<Plan> = Vec::new();
        for engine in &self.engines {
            if plans.iter().any(|plan| plan.engine.label == engine.label) {
                let label = &engine.label;
                return Err(usage(format!(
                    "two engines are called {label}: name them by NAME=PROGRAM"
                )));
            }
            let mut engine = engine.clone().with_lines(self.lines());
            engine.set_before(&self.process.options);
            let concurrency = self.concurrency(&engine.options);
            plans.push(Plan {
                engine,
                task: task.clone(),
                limits: limits.clone(),
                timeout: self.process.patience,
                concurrency,
                clock: Arc::new(SystemClock::new()),
                stamps: self.process.ts,
            });
        }
        Ok(plans)
    }

    /// Number of lines (MultiPV).
    pub(crate) fn lines(&self) -> usize {
        self.process.multipv.into()
    }

    /// Number of processes: as requested, or one per core.
    fn concurrency(&self, options: &[(String, String)]) -> usize {
        let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let threads = options.iter().rfind(|(name, _)| name.eq_ignore_ascii_case("Threads"));
        let threads = threads.and_then(|(_, threads)| threads.parse().ok()).unwrap_or(1).max(1);
        let usual = (cores / threads).max(1);
        self.process.concurrency.map_or(usual, NonZeroUsize::get).min(MAX_PROCESSES)
    }

    pub(crate) fn output_of(
        &self,
        engine: &EngineSpec,
        output: Option<&Path>,
    ) -> anyhow::Result<Option<PathBuf>> {
        const PLACE: &str = "{engine}";
        let named = output.and_then(Path::to_str).filter(|name| name.contains(PLACE));
        if self.engines.len() > 1 && named.is_none() {
            let text = "several engines need several outputs, for example -o 'wac.{engine}.epd'";
            return Err(usage(text));
        }
        let label = engine.label.replace(char::is_whitespace, "_");
        Ok(match named {
            Some(name) => Some(name.replace(PLACE, &label).into()),
            None => output.map(Path::to_path_buf),
        })
    }
}

pub(crate) fn parse_option(text: &str) -> Result<(String, String), String> {
    let (name, value) =
        text.split_once('=').ok_or("expected NAME=VALUE, such as Hash=64; NAME= for a button")?;
    Ok((name.trim().into(), value.into()))
}

/// Reads a clock for a game, written as a time control.
fn parse_clock(text: &str) -> Result<ClockReading, String> {
    match text.parse()? {
        TimeControl::Stages(stages) if stages.len() == 1 => {
            let Stage { moves, time, increment } = stages[0];
            Ok(ClockReading::both(time, increment, moves))
        }
        _ => Err("expected the clock of a game, such as 60, 60+0.5 or 40/60".into()),
    }
}

/// Reads `100000`, `100K`, `1M`.
fn parse_nodes(text: &str) -> Result<NonZeroU64, String> {
    let digits = text.trim_end_matches(|letter: char| !letter.is_ascii_digit());
    let factor: u64 = match &text[digits.len()..] {
        "" => 1,
        "K" | "k" => 1_000,
        "M" | "m" => 1_000_000,
        "G" | "g" => 1_000_000_000,
        unit => return Err(format!("`{unit}` is not a unit: use K, M or G")),
    };
    let nodes = digits.parse().ok().and_then(|count: u64| count.checked_mul(factor));
    nodes.and_then(NonZeroU64::new).ok_or_else(|| "expected a number such as 100000 or 1M".into())
}

/// Reads `500ms`, `5s`, `1m 30s`; a bare number is milliseconds.
pub(crate) fn parse_time(text: &str) -> Result<Duration, String> {
    let time = match text.parse() {
        Ok(milliseconds) => Duration::from_millis(milliseconds),
        Err(_) => humantime::parse_duration(text)
            .map_err(|_| "expected a time such as 500ms or 5s".to_string())?,
    };
    let day = Duration::from_secs(24 * 60 * 60);
    match time {
        time if time < Duration::from_millis(1) => Err("at least 1ms".into()),
        time if time > 30 * day => Err("at most 30 days".into()),
        time => Ok(time),
    }
}
