//! `epdb export`: a store back to canonical text.

use std::path::PathBuf;

use clap::ValueEnum;

use crate::cli::args::{MemoryArgs, OutputArgs, WriteArgs};
use crate::cli::outcome::Outcome;
use crate::cli::record_output::RecordOutput;
use crate::store::{Store, StoreOptions};

/// Write all records of a store
///
/// In import order this is, byte for byte, what `normalize` makes of the same files in the same
/// order.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Example: epdb export book.epdb -o book.epd")]
pub(crate) struct Args {
    /// The store
    store: PathBuf,
    /// The order of the records
    #[arg(long, value_enum, default_value_t = Order::Import)]
    order: Order,
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
    let store =
        Store::open_read_only(&args.store, &StoreOptions::new().memory_bytes(args.memory.memory))?;
    let reader = store.reader()?;
    let mut output = RecordOutput::open(&args.output, &args.write)?;
    match args.order {
        Order::Import => reader.by_import().try_for_each(|stored| output.write(&stored?.record))?,
        Order::Key => reader.by_key().try_for_each(|stored| output.write(&stored?.record))?,
    }
    output.finish()?;
    Ok(Outcome::Done)
}
