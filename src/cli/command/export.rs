//! `epdb export`: a store back to canonical text.

use std::path::PathBuf;
use std::sync::Arc;

use clap::ValueEnum;

use crate::cli::args::{MemoryArgs, OutputArgs, Wanted, WriteArgs};
use crate::cli::ledgers;
use crate::cli::outcome::Outcome;
use crate::cli::record_output::RecordOutput;
use epdb::error::{At, Place};
use epdb::source::Local;
use epdb::store::{StoreError, StoredRecord};

/// Write all records of a store
///
/// In import order this is, byte for byte, what `normalize` makes of the same files in the same
/// order.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Example: epdb export book.epdb -o book.epd")]
pub(crate) struct Args {
    /// The store; `-` is standard input
    store: PathBuf,
    /// The order of the records
    #[arg(long, alias = "order", value_enum, default_value_t = Order::Import, value_name = "BY")]
    sort: Order,
    /// Of a library, only positions in which moves were played in so many games
    #[arg(long, value_name = "N")]
    min_games: Option<u64>,
    #[command(flatten)]
    wanted: Wanted,
    #[command(flatten)]
    write: WriteArgs,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    memory: MemoryArgs,
}

#[derive(ValueEnum, Copy, Clone, Debug)]
enum Order {
    /// As they were imported
    Import,
    /// By position key: fastest
    Key,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let local = Local::open(&args.store)?;
    let store = local.store(args.memory.memory)?;
    let reader = store.reader().map_err(|error| local.failed(error))?;
    let mut output = RecordOutput::open(&args.output, &args.write)?;
    let files = std::slice::from_ref(&args.store);
    let wanted = match args.min_games {
        Some(games) => args.wanted.with_games(games)?,
        None => args.wanted.clone(),
    };
    output.keep_ledger(files, || ledgers::of_records(files, &wanted, true))?;
    let file: Arc<str> = args.store.to_string_lossy().into();
    let mut write = |stored: Result<StoredRecord, StoreError>| {
        let StoredRecord { import_number, record } = stored.map_err(|error| local.failed(error))?;
        let place = Place::new(Arc::clone(&file), At::Record(import_number + 1));
        if wanted.takes(&record, &place) { output.write(&record) } else { Ok(()) }
    };
    match args.sort {
        Order::Import => reader.by_import().try_for_each(&mut write)?,
        Order::Key => reader.by_key().try_for_each(&mut write)?,
    }
    output.finish()
}
