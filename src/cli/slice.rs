//! Slices of a plan, which are read instead of files.

use std::fs;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use anyhow::Context;

use super::args::FormArgs;
use super::outcome::usage;
use epdb_source::{Slice, SlicePlan};

/// A slice that is read instead of files.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "Slices")]
pub(crate) struct SliceArgs {
    /// Read a slice of the files in this plan, which `epdb shard plan` made
    #[arg(long, value_name = "PLAN.json")]
    plan: Option<PathBuf>,
    /// The slice to read, such as 3/16: the third of 16
    #[arg(long, value_name = "I/N")]
    slice: Option<SliceNumber>,
}

/// Options about copies of games in other slices.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "Slices")]
pub(crate) struct SliceGamesArgs {
    /// Count each game only once in all slices. FILE, from `epdb shard copies`, says which copy counts
    #[arg(long, value_name = "FILE", conflicts_with = "unique_games")]
    pub(crate) copies: Option<PathBuf>,
    /// Declare that no game occurs twice in the files, so that epdb does not look for copies in other slices.
    /// The library stores this declaration
    #[arg(long)]
    pub(crate) unique_games: bool,
}

/// Number of a slice, and of all slices.
#[derive(Copy, Clone, Debug)]
struct SliceNumber {
    number: usize,
    slices: usize,
}

impl FromStr for SliceNumber {
    type Err = String;

    fn from_str(text: &str) -> Result<SliceNumber, String> {
        let expected = || "expected the number of a slice and of all slices, such as 3/16";
        let (number, slices) = text.split_once('/').ok_or_else(expected)?;
        let parsed = |text: &str| text.parse::<usize>().map_err(|_| expected());
        let number = parsed(number)?;
        let slices = parsed(slices)?;
        if !(1..=slices).contains(&number) {
            return Err(format!("slices are numbered from 1 to {slices}"));
        }
        Ok(SliceNumber { number, slices })
    }
}

impl SliceArgs {
    /// The slice that was asked for.
    ///
    /// # Errors
    /// The plan cannot be read, has another number of slices, or options join lines.
    pub(crate) fn open(&self, form: &FormArgs) -> anyhow::Result<Option<Slice>> {
        let (Some(path), Some(slice)) = (&self.plan, self.slice) else { return Ok(None) };
        if form.labels || form.perft {
            let why = "a slice may begin between the lines of one record";
            let advice = "leave it out, or read the whole files";
            let option = if form.labels { "--labels" } else { "--perft" };
            let text = format!("{option} joins lines, and {why}: {advice}");
            return Err(usage(text));
        }
        let shown = path.display();
        let text =
            fs::read_to_string(path).with_context(|| format!("cannot read the plan {shown}"))?;
        let plan = SlicePlan::from_json(&text).with_context(|| shown.to_string())?;
        let SliceNumber { number, slices } = slice;
        anyhow::ensure!(plan.len() == slices, "{shown} has {} slices, not {slices}", plan.len());
        Ok(Slice::new(Arc::new(plan), number - 1))
    }
}
