//! `epdb filter`: the records, or games, for which an expression holds.

use std::ops::ControlFlow;

use crate::cli::args::RecordFilter;
use crate::cli::comments::CommentOrder;
use crate::cli::diagnostics::Diagnostics;
use crate::cli::games::{GameOutput, GamesArgs, note_games};
use crate::cli::outcome::{Outcome, usage};
use crate::cli::output::print_line;
use crate::cli::pipe::Pipe;
use crate::cli::record_output::RecordOutput;
use crate::cli::source::{Reading, SourceGame, Visited};
use epdb_source::{GameFormat, Item};

/// Write the records or games for which --where is true, in input order
///
/// `epdb help units` says when games are read as games.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Examples:
  epdb filter book.epd --where 'pieces == 32' --count
  epdb filter suite.epd --where 'illegal(bm) || !has(bm)'
  epdb filter book.epa --where \"material('RPP v R') and passed\" -o endings.epd
  epdb filter games.pgn --positions --where iqp --first-match -o iqp.epd
  epdb filter games.pgn --where \"White ~ 'Carlsen' && elo_min >= 2600\" -o top.pgn
See `epdb help where` for expressions.")]
pub(crate) struct Args {
    /// Write the records for which the expression is false
    #[arg(long)]
    invert: bool,
    /// Print only the number of records or games
    #[arg(long, conflicts_with = "output")]
    count: bool,
    /// Of each game, write only the first of these positions (for games whose positions are read)
    #[arg(long)]
    first_match: bool,
    /// Say which terms of --where the position decides before a record is decoded, and the number of
    /// records at each stage
    #[arg(long, conflicts_with = "invert")]
    explain: bool,
    #[command(flatten)]
    pipe: Pipe,
    #[command(flatten)]
    games: GamesArgs,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let mut pipe = args.pipe.clone();
    if pipe.read.wanted.filter.is_none() {
        let text =
            "say which records with --where, such as --where 'pieces <= 7' (see `epdb help where`)";
        return Err(usage(text));
    }
    let inverted = args.invert.then(|| std::mem::take(&mut pipe.read.wanted));
    let mut diagnostics = Diagnostics::new(&pipe.read.form)?;
    let format = args.games.format(&pipe.files, &pipe.read, pipe.output.format()?)?;
    if args.first_match && format.is_some() {
        let text = "--first-match is for positions, and each game is written once: leave it out, or read \
                    positions with --positions";
        return Err(usage(text));
    }
    if let Some(inverted) = &inverted {
        inverted.check(format.is_some())?;
    }
    let written = match format {
        Some(format) => {
            filter_games(&pipe, inverted.as_ref(), args.count, format, &mut diagnostics)?
        }
        None => filter_records(args, &pipe, inverted.as_ref(), &mut diagnostics)?,
    };
    let filter = args.pipe.read.wanted.filter.as_ref();
    if let Some(filter) = filter.filter(|_| args.explain) {
        diagnostics.explain(filter);
    }
    diagnostics.watch(filter);
    Ok(diagnostics.finish()?.and(written))
}

fn filter_records(
    args: &Args,
    pipe: &Pipe,
    inverted: Option<&RecordFilter>,
    diagnostics: &mut Diagnostics,
) -> anyhow::Result<Outcome> {
    let output = || RecordOutput::open(&pipe.output, &pipe.write);
    let mut output = (!args.count).then(output).transpose()?;
    if let Some(output) = &mut output {
        output.carry_comments(diagnostics.comments(), CommentOrder::Stream);
        output.keep_ledger_of_records(&pipe.files, &pipe.read, inverted.is_none())?;
    }
    let mut count = 0_u64;
    let mut last_game = None;
    Reading::of(&pipe.files, &pipe.read, diagnostics).items(|item| {
        match item {
            Item::Record { record, place, game, .. }
                if inverted.is_none_or(|wanted| !wanted.takes_of_game(&record, place, game)) =>
            {
                if args.first_match {
                    if last_game.as_ref() == Some(place) {
                        return Ok(ControlFlow::Continue(()));
                    }
                    last_game = Some(place.clone());
                }
                count += 1;
                if let Some(output) = &mut output {
                    output.write_position(&record, game, place)?;
                }
            }
            Item::Waiting => output.as_mut().map_or(Ok(()), RecordOutput::hand_on)?,
            _ => {}
        }
        Ok(ControlFlow::Continue(()))
    })?;
    match output {
        Some(output) => output.finish(),
        None => print_line(count).map(|()| Outcome::Done),
    }
}

fn filter_games(
    pipe: &Pipe,
    inverted: Option<&RecordFilter>,
    only_count: bool,
    format: GameFormat,
    diagnostics: &mut Diagnostics,
) -> anyhow::Result<Outcome> {
    let output = || GameOutput::open(pipe.output.output.as_deref(), format);
    let mut output = (!only_count).then(output).transpose()?;
    let mut count = 0_u64;
    Reading::of(&pipe.files, &pipe.read, diagnostics).games(
        |SourceGame { game, place, .. }| {
            if inverted.is_some_and(|wanted| wanted.takes_game(game, place)) {
                return Ok(Visited::Taken);
            }
            count += 1;
            output.as_mut().map_or(Ok(Visited::Taken), |output| output.write(game))
        },
    )?;
    match output {
        Some(output) => output.finish()?,
        None => print_line(count)?,
    }
    note_games(count, diagnostics.games_read());
    Ok(Outcome::Done)
}
