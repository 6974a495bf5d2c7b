//! `epdb sort`: records in the order of what they say, games in the order of archives.

use std::sync::Arc;

use anyhow::Context;

use crate::cli::args::MemoryArgs;
use crate::cli::comments::Way;
use crate::cli::diagnostics::Diagnostics;
use crate::cli::games::{GamePipe, GamesArgs};
use crate::cli::ledgers;
use crate::cli::outcome::Outcome;
use crate::cli::pipe::{NeverMet, Pipe, temporary_directory, write_all};
use crate::cli::record_output::RecordOutput;
use crate::cli::source::read_encoded;
use epdb::codec::record::PlainRecord;
use epdb::error::{self, Place};
use epdb::library::order::{RecordSorter, SortOrder};
use epdb::library::sets::By;
use epdb::library::value::{EvalContext, record_of_game};
use epdb::model::EpdRecord;
use epdb::source::{Encode, Item};
use epdb::spill::Sorter;
use epdb::text::pgn;

/// Sort records by fields, or games in the order of archives
///
/// With --by, records, or games where the output is .pgn or .pgc or with --games: texts are in natural order (WAC.2 before WAC.10), what lacks a field
/// comes last, and what agrees in all fields stays in the order of the input. Fields are those
/// of `epdb help where`; `position` brings records of one position together.
///
/// Without --by, games: by date, event, site, round, White, Black, result, moves. Rounds are
/// compared part by part as numbers. The output is PGN in export format, or PGC.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Examples:
  epdb sort --by id suite.epd
  epdb sort --by=-ce,id analysed.epd
  epdb sort 1991.pgn 1992.pgn -o archive.pgn
  epdb sort --by=-elo_avg,Date games.pgn -o best.pgn")]
pub(crate) struct Args {
    /// Fields, the first decides first; a minus sign before a field sorts downwards
    #[arg(long, alias = "sort", value_name = "FIELD[,...]", allow_hyphen_values = true)]
    by: Option<SortOrder>,
    #[command(flatten)]
    pipe: Pipe,
    #[command(flatten)]
    games: GamesArgs,
    #[command(flatten)]
    memory: MemoryArgs,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    match (&args.by, args.pipe.games(&args.games)?) {
        (Some(order), Some(games)) => sort_games(args, order, games),
        (Some(order), None) => sort_records(args, order),
        (None, _) => sort_archive(args),
    }
}

/// Encodes records with their sort keys, and remembers which fields they had.
struct Keyed {
    order: SortOrder,
    never_met: NeverMet,
}

impl Encode for Keyed {
    fn encode(&self, record: &EpdRecord, place: &Place, out: &mut Vec<u8>) -> error::Result<()> {
        let subject = EvalContext::new(record, None, place);
        self.never_met.ask(&subject);
        self.order.encode(&subject, out)
    }

    fn encode_plain(&self, record: &PlainRecord<'_>, out: &mut Vec<u8>) -> bool {
        let is_encoded = self.order.encode_plain(record, out);
        if is_encoded {
            self.never_met.met_record();
        }
        is_encoded
    }
}

fn sort_records(args: &Args, order: &SortOrder) -> anyhow::Result<Outcome> {
    let Pipe { files, read, write, output } = &args.pipe;
    let mut diagnostics = Diagnostics::new(&read.form)?;
    let mut output = RecordOutput::open(output, write)?;
    output.carry_comments(diagnostics.comments(), Way::Collect(By::Record));
    output.keep_ledger(files, || ledgers::of_records(files, &read.wanted, true))?;
    let mut sorter = RecordSorter::new(order.clone(), temporary_directory(), args.memory.memory);
    let never_met = NeverMet::new(order.fields());
    let keyed = Arc::new(Keyed { order: order.clone(), never_met });
    let (encode, mut encoded) = (Arc::clone(&keyed), Vec::new());
    read_encoded(files, read, &mut diagnostics, encode, |item| match item {
        Item::Encoded { records, .. } => {
            Ok(records.iter().try_for_each(|record| sorter.add_keyed(record))?)
        }
        Item::Record { record, place, game, .. } => {
            let subject = EvalContext::new(&record, game, place);
            keyed.never_met.ask(&subject);
            encoded.clear();
            order.encode(&subject, &mut encoded)?;
            Ok(sorter.add_keyed(&encoded)?)
        }
        _ => Ok(()),
    })?;
    write_all(sorter.finish()?, &mut output)?;
    let written = output.finish()?;
    keyed.never_met.report();
    Ok(diagnostics.finish()?.and(written))
}

fn sort_games(args: &Args, order: &SortOrder, games: GamePipe<'_>) -> anyhow::Result<Outcome> {
    let sorter = RecordSorter::new(order.clone(), temporary_directory(), args.memory.memory);
    let never_met = NeverMet::new(order.fields());
    let outcome = games.collect(
        sorter,
        |sorter, game, place, bytes| {
            let record = record_of_game(game, order.is_of_record());
            let subject = EvalContext::new(&record, Some(game), place);
            never_met.ask(&subject);
            Ok(sorter.add_encoded(&subject, bytes)?)
        },
        |sorter| Ok(sorter.finish()?),
    )?;
    never_met.report();
    Ok(outcome)
}

/// Games in the order of archives.
fn sort_archive(args: &Args) -> anyhow::Result<Outcome> {
    let games = args.pipe.games(&args.games.implied())?.context(
        "without --by games are sorted, which become .pgn or .pgc; to sort records, say --by FIELD",
    )?;
    games.collect(
        Sorter::new(temporary_directory(), args.memory.memory),
        |sorter, game, _, bytes| Ok(sorter.push(&pgn::collation_key(game), bytes)?),
        |sorter| Ok(sorter.finish()?.into()),
    )
}
