//! The arguments of `epdb import`.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use clap::ValueEnum;

use crate::cli::args::{KeepGoingArgs, MergeArgs, ReadArgs, parse_memory};
use crate::cli::command::tally::TallyArgs;
use crate::cli::ledgers::LibraryArgs;
use crate::cli::settings;
use crate::cli::values::word_of;
use epdb_base::new_file::folder_of;
use epdb_chess::model::merge::MergeRules;
use epdb_library::delta::DeltaBase;
use epdb_library::import::{GameCounting, ImportJob};
use epdb_store::{ImportOptions, OnDuplicate, Same};

/// Add the records of files to a store; create the store if it does not exist
///
/// If an import fails, the same command continues where it stopped. A file that was imported with the same
/// settings is skipped, even at an address; standard input and pipes never are.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Examples:
  epdb import suite.epdb wac1.epd wac2.epd --on-duplicate merge --bm union
  epdb import today.epdb today.pgn --tally --base library/manifest.json")]
pub(crate) struct Args {
    /// Store to which the records are added
    pub(super) store: PathBuf,
    /// Files to import, in this order; `-` is standard input
    #[arg(required = true)]
    pub(super) files: Vec<PathBuf>,
    /// Decide about a record whose duplicate is already in the store
    #[arg(long, value_enum, default_value_t = OnDuplicateArg::Keep, value_name = "WHAT")]
    on_duplicate: OnDuplicateArg,
    /// Count new games into a library, with the options of `epdb tally` that it was built with
    #[arg(long, conflicts_with_all = ["on_duplicate", "same", "prefer", "bm", "add",
          "positions", "keep_moves", "game_tags", "game_openings", "game_evals"])]
    pub(super) tally: bool,
    /// With --tally: skip the games of this library, whose delta is STORE; see `epdb help delta`
    #[arg(long, value_name = "LIBRARY")]
    pub(super) base: Option<PathBuf>,
    /// Duplicates have the same position (position, the default), or are equal (record)
    #[arg(long, value_parser = word_of::<Same>(), default_value = "position", value_name = "WHAT",
          hide_default_value = true, hide_possible_values = true)]
    pub(super) same: Same,
    /// Discard the state of an interrupted import, and import its file from the start
    #[arg(long)]
    pub(super) restart: bool,
    /// Use about this memory (K, M, G), by default a quarter of what is free, 64M to 1G. Records beyond it
    /// wait beside the store and are merged at the end; more memory makes this faster
    #[arg(id = "memory", long = "memory", value_parser = parse_memory, value_name = "SIZE")]
    #[arg(default_value_t = default_memory(), hide_default_value = true)]
    pub(super) memory_bytes: usize,
    /// Import files even if they were imported before
    #[arg(long)]
    pub(super) again: bool,
    #[command(flatten)]
    pub(super) refused: KeepGoingArgs,
    /// Print one JSON object per file
    #[arg(long)]
    pub(super) json: bool,
    #[command(flatten)]
    pub(super) counting: TallyArgs,
    #[command(flatten)]
    pub(super) merge: MergeArgs,
    #[command(flatten)]
    pub(super) libraries: LibraryArgs,
    #[command(flatten)]
    pub(super) read: ReadArgs,
}

/// A quarter of the memory that is free, within bounds.
fn default_memory() -> usize {
    let Some(free) = free_memory() else { return 256 << 20 };
    usize::try_from(free / 4).unwrap_or(usize::MAX).clamp(64 << 20, 1 << 30)
}

/// Bytes of memory that programs can still get, if the system says it: Linux does.
fn free_memory() -> Option<u64> {
    let number = |text: &str| text.trim().parse::<u64>().ok();
    let meminfo = fs::read_to_string("/proc/meminfo").ok()?;
    let available = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let available = number(available.trim().strip_suffix("kB")?)? << 10;
    // The limit of a container, if there is one.
    let in_group = |name: &str| {
        let text = fs::read_to_string(format!("/sys/fs/cgroup/memory.{name}")).ok()?;
        number(&text)
    };
    let left = in_group("max").zip(in_group("current")).map(|(max, now)| max.saturating_sub(now));
    Some(available.min(left.unwrap_or(u64::MAX)))
}

#[derive(ValueEnum, Copy, Clone, Debug)]
enum OnDuplicateArg {
    /// Keep both
    Keep,
    /// Skip the later one
    Skip,
    /// Replace the earlier records with the later one
    Replace,
    /// Merge the later record into the earlier one, unless they contradict each other
    Merge,
}

impl Args {
    /// The values of the arguments that decide which records or games are imported, by name.
    pub(super) fn settings(&self) -> BTreeMap<String, String> {
        let mut settings = settings::of_reading(&self.read);
        if self.tally {
            settings.insert("--tally".to_string(), String::new());
            for (name, value) in self.counting.settings(&self.read).options() {
                settings.insert(name.to_string(), value);
            }
        }
        settings
    }

    /// The import, with the games of a base.
    pub(super) fn job(&self, base: Option<Arc<DeltaBase>>) -> ImportJob {
        let counting = GameCounting {
            options: self.counting.options(),
            settings: self.counting.settings(&self.read),
            directory: folder_of(&self.store),
            memory_bytes: self.memory_bytes / 2,
            base,
        };
        ImportJob {
            options: self.options(),
            allowed: self.libraries.allowed(),
            filter: self.read.wanted.filter_text().map(String::from),
            counting: self.tally.then_some(counting),
            again: self.again,
            adds_positions: self.read.form.games.positions.is_some(),
        }
    }

    fn options(&self) -> ImportOptions {
        let options = ImportOptions {
            restart: self.restart,
            settings: self.settings(),
            ..Default::default()
        };
        if self.tally {
            return ImportOptions {
                on_duplicate: OnDuplicate::Merge(MergeRules::default()),
                ..options
            };
        }
        let on_duplicate = match self.on_duplicate {
            OnDuplicateArg::Keep => OnDuplicate::Keep,
            OnDuplicateArg::Skip => OnDuplicate::Skip,
            OnDuplicateArg::Replace => OnDuplicate::Replace,
            OnDuplicateArg::Merge => OnDuplicate::Merge(self.merge.rules()),
        };
        ImportOptions { on_duplicate, same: self.same, ..options }
    }
}
