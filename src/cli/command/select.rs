//! `epdb sort` and `epdb sample`: records or games in another order, or some of them.

use std::ops::ControlFlow;
use std::sync::Arc;

use crate::cli::args::MemoryArgs;
use crate::cli::comments::CommentOrder;
use crate::cli::diagnostics::Diagnostics;
use crate::cli::games::{GameBytes, GamePipe, GamesArgs};
use crate::cli::outcome::{Outcome, usage};
use crate::cli::pipe::{Pipe, UnusedFields, temporary_directory, write_all};
use crate::cli::record_output::RecordOutput;
use crate::cli::source::{Reading, Visited};
use epdb_base::spill::Sorter;
use epdb_chess::codec::record::PlainRecord;
use epdb_chess::error::{self, Place};
use epdb_chess::model::EpdRecord;
use epdb_chess::text::pgn;
use epdb_library::order::{RecordSorter, SortOrder};
use epdb_library::sample::{Sample, Shuffle, is_within, random_number};
use epdb_library::sets::{By, Ordered};
use epdb_library::value::{EvalContext, record_of_game};
use epdb_source::{Encode, Item};

/// Sort records or games by fields, games in archival order, or anything at random
///
/// With --by, records or games are sorted by fields; fields of positions refer to the last position of a
/// game. Text is in natural order (WAC.2 before WAC.10), and `key` is a number. Records that
/// lack a field come last. Records that are equal in all fields keep their order. `epdb help where` lists the fields;
/// the field `position` puts records of one position together.
///
/// Without --by, games are sorted by date, event, site, round, White, Black, result and moves.
/// Rounds such as 2.10 are compared part by part, as numbers. The output is PGN in export format,
/// or PGC.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Examples:
  epdb sort --by id suite.epd
  epdb sort --by=-ce,id analysed.epd
  epdb sort 1991.pgn 1992.pgn -o archive.pgn
  epdb sort --by=-elo_avg,Date games.pgn -o best.pgn
  epdb sort --random --seed 7 book.epd -o shuffled.epd")]
pub(crate) struct SortArgs {
    /// Sort by these fields, the most important field first. A minus sign before a field means descending
    /// order; abs(ce) is the absolute value of a number
    #[arg(long, alias = "sort", value_name = "FIELD[,...]", allow_hyphen_values = true)]
    by: Option<SortOrder>,
    /// Write all records or games in random order. `shuffle` is the same
    #[arg(long, conflicts_with = "by")]
    random: bool,
    /// Random seed; the same seed gives the same order on every machine and with any number of threads
    #[arg(long, default_value_t = 0, value_name = "NUMBER")]
    seed: u64,
    #[command(flatten)]
    pipe: Pipe,
    #[command(flatten)]
    games: GamesArgs,
    #[command(flatten)]
    memory: MemoryArgs,
}

pub(crate) fn sort(args: &SortArgs) -> anyhow::Result<Outcome> {
    if args.random {
        return shuffle(args);
    }
    match (&args.by, args.pipe.games(&args.games)?) {
        (Some(order), Some(games)) => sort_games(args, order, games.counting()),
        (Some(order), None) => sort_records(args, order),
        (None, Some(games)) => sort_archive(args, games.counting()),
        (None, None) => Err(usage(NO_KEY)),
    }
}

/// Encodes records with their sort keys, and remembers which fields they had.
struct Keyed {
    order: SortOrder,
    never_met: UnusedFields,
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

fn sort_records(args: &SortArgs, order: &SortOrder) -> anyhow::Result<Outcome> {
    let Pipe { files, read, write, output } = &args.pipe;
    let mut diagnostics = Diagnostics::new(&read.form)?;
    let mut output = RecordOutput::open_sorted(output, write, order.is_by_key())?;
    output.carry_comments(diagnostics.comments(), CommentOrder::Collect(By::Record));
    output.keep_ledger_of_records(files, read, true)?;
    let mut sorter =
        RecordSorter::new(order.clone(), temporary_directory(), args.memory.memory_bytes);
    let never_met = UnusedFields::new(order.fields());
    let keyed = Arc::new(Keyed { order: order.clone(), never_met });
    let (encode, mut encoded) = (Arc::clone(&keyed), Vec::new());
    Reading::of(files, read, &mut diagnostics).encode(encode).items(|item| {
        match item {
            Item::Encoded { records, .. } => {
                records.iter().try_for_each(|record| sorter.add_keyed(record))?;
            }
            Item::Record { record, place, game, .. } => {
                let subject = EvalContext::new(&record, game, place);
                keyed.never_met.ask(&subject);
                encoded.clear();
                order.encode(&subject, &mut encoded)?;
                sorter.add_keyed(&encoded)?;
            }
            _ => {}
        }
        Ok(ControlFlow::Continue(()))
    })?;
    write_all(sorter.finish()?, &mut output)?;
    let written = output.finish()?;
    keyed.never_met.report("record");
    Ok(diagnostics.finish()?.and(written))
}

fn sort_games(args: &SortArgs, order: &SortOrder, games: GamePipe<'_>) -> anyhow::Result<Outcome> {
    let sorter = RecordSorter::new(order.clone(), temporary_directory(), args.memory.memory_bytes);
    let never_met = UnusedFields::new(order.fields());
    let outcome = games.collect(
        sorter,
        |sorter, read, bytes| {
            let (record, position) = record_of_game(read.game, order.is_of_record());
            let subject = EvalContext::new(&record, Some(position), read.place);
            never_met.ask(&subject);
            Ok(sorter.add_encoded(&subject, bytes.get()?)?)
        },
        |sorter, _| Ok(sorter.finish()?),
    )?;
    never_met.report("game");
    Ok(outcome)
}

/// Sorts games into the order of archives.
fn sort_archive(args: &SortArgs, games: GamePipe<'_>) -> anyhow::Result<Outcome> {
    games.collect(
        Sorter::new(temporary_directory(), args.memory.memory_bytes),
        |sorter, read, bytes| Ok(sorter.push(&pgn::collation_key(read.game), bytes.get()?)?),
        |sorter, _| Ok(sorter.finish()?.into()),
    )
}

/// The error for records without a key.
const NO_KEY: &str = "say by which fields records are sorted: --by id, --by=-ce,id, --by position or any other field \
                      of `epdb help where`; without --by, games are sorted (.pgn or .pgc)";

/// Puts records or games in random order.
fn shuffle(args: &SortArgs) -> anyhow::Result<Outcome> {
    let shuffle = Shuffle::new(args.seed, temporary_directory(), args.memory.memory_bytes);
    let add_game = |all: &mut Shuffle, game: GameBytes<'_>| all.add_encoded(game.get()?);
    let games = args.pipe.games(&args.games)?.map(GamePipe::counting);
    collect(&args.pipe, games, shuffle, Shuffle::add, add_game, Shuffle::finish)
}

/// Passes all records, or all games in encoded form, to a collector. Then writes the result of the collector.
fn collect<T>(
    pipe: &Pipe,
    games: Option<GamePipe<'_>>,
    collector: T,
    add: impl Fn(&mut T, &EpdRecord) -> error::Result<()>,
    add_game: impl Fn(&mut T, GameBytes<'_>) -> error::Result<()>,
    finish: impl FnOnce(T) -> error::Result<Ordered>,
) -> anyhow::Result<Outcome> {
    if let Some(games) = games {
        return games.collect(
            collector,
            |collector, _, bytes| Ok(add_game(collector, bytes)?),
            |collector, _| Ok(finish(collector)?),
        );
    }
    pipe.collect(
        collector,
        |collector, record, _| Ok(add(collector, record)?),
        |collector, _| Ok(finish(collector)?),
    )
}

/// Write a random sample of the records or games, or the first of them
///
/// They stay in the order of the input. The same seed gives the same sample on every machine and with any
/// number of threads. `head` is `sample --first`.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Examples:
  epdb sample -n 1000 book.epd
  epdb sample --fraction 0.1 --seed 7 book.epd
  epdb sample -n 100 games.pgn -o some.pgn
  epdb sample --first -n 3 games.pgn")]
pub(crate) struct SampleArgs {
    #[command(flatten)]
    size: Size,
    /// Random seed; the same seed gives the same result
    #[arg(long, default_value_t = 0, value_name = "NUMBER")]
    seed: u64,
    #[command(flatten)]
    pipe: Pipe,
    #[command(flatten)]
    games: GamesArgs,
    #[command(flatten)]
    memory: MemoryArgs,
}

#[derive(clap::Args, Clone, Debug)]
#[group(required = true, multiple = true)]
struct Size {
    /// Write exactly N records or games, or all if there are fewer [default with --first: 10]
    #[arg(short = 'n', long, alias = "number", value_name = "N")]
    limit: Option<u64>,
    /// Write the first records or games
    #[arg(long, conflicts_with = "seed")]
    first: bool,
    /// Write each record or game with this probability, from 0 to 1
    #[arg(long, value_parser = parse_fraction, value_name = "FRACTION",
          conflicts_with_all = ["limit", "first"])]
    fraction: Option<f64>,
}

fn parse_fraction(text: &str) -> Result<f64, String> {
    let fraction = text.parse().ok().filter(|fraction| (0.0..=1.0).contains(fraction));
    fraction.ok_or_else(|| "expected a number from 0 to 1, such as 0.1".into())
}

pub(crate) fn sample(args: &SampleArgs) -> anyhow::Result<Outcome> {
    let games = args.pipe.games(&args.games)?.map(|games| games.counting().of_few());
    if args.size.first {
        return first(args, games);
    }
    let Some(limit) = args.size.limit else { return fraction(args, games) };
    let sample = Sample::new(limit, args.seed, temporary_directory(), args.memory.memory_bytes);
    let add_game = |all: &mut Sample, game: GameBytes<'_>| {
        all.add_with(|out| {
            out.extend_from_slice(game.get()?);
            Ok(())
        })
    };
    collect(&args.pipe, games, sample, Sample::add, add_game, Sample::finish)
}

fn fraction(args: &SampleArgs, games: Option<GamePipe<'_>>) -> anyhow::Result<Outcome> {
    let fraction = args.size.fraction.unwrap_or_default();
    let mut numbers = (0..).map(|place| random_number(args.seed, place));
    let mut is_chosen = || numbers.next().is_some_and(|number| is_within(number, fraction));
    if let Some(games) = games {
        return games.run(|read, output| {
            if is_chosen() { output.write_unchanged(read) } else { Ok(Visited::Taken) }
        });
    }
    args.pipe.run(|record, _, output| {
        if is_chosen() {
            output.write(&record)?;
        }
        Ok(ControlFlow::Continue(()))
    })
}

/// Writes the first records or games of all sources together.
fn first(args: &SampleArgs, games: Option<GamePipe<'_>>) -> anyhow::Result<Outcome> {
    let mut left = args.size.limit.unwrap_or(10);
    if let Some(games) = games {
        anyhow::ensure!(left > 0, "-n 0 selects no games");
        return games.run(|read, output| match output.write_unchanged(read)? {
            Visited::Taken if left == 1 => Ok(Visited::TakenLast),
            visited => {
                left -= u64::from(matches!(visited, Visited::Taken));
                Ok(visited)
            }
        });
    }
    args.pipe.run(|record, _, output| {
        if left > 0 {
            left -= 1;
            output.write(&record)?;
        }
        Ok(match left {
            0 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        })
    })
}
