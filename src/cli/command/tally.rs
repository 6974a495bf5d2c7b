//! `epdb tally`: games into a library of positions.

use std::fmt::Display;
use std::path::PathBuf;

use clap::ValueEnum;

use crate::cli::args::{AboutArgs, ForceArgs, KeepGoingArgs, MemoryArgs, ReadArgs};
use crate::cli::diagnostics::Diagnostics;
use crate::cli::job::{CommandSink, inputs};
use crate::cli::json;
use crate::cli::ledgers;
use crate::cli::outcome::{Outcome, usage};
use crate::cli::output::{check_name, open_output, open_target};
use crate::cli::places;
use crate::cli::slice::{SliceArgs, SliceGamesArgs};
use crate::cli::source;
use crate::cli::terminal::{many, note};
use crate::cli::values::word_of;
use epdb_chess::codec::tally_settings::{SameGame, TallySettings};
use epdb_chess::model::{Color, MAX_KEPT_GAMES};
use epdb_library::jobs::TallyJob;
use epdb_library::tally::{MergedGames, Split, TallyCounts, TallyOptions};
use epdb_source::{FileFormat, Slice, Target};

/// Make a library from games: the moves played in each position, and their results
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Examples:
  epdb tally games.pgn -o library.epdb
  epdb tally 2024.pgn.zst -o white.epa --player 'Carlsen, M;Carlsen, Magnus' --side white")]
pub(crate) struct Args {
    /// Files of games; none, or `-`, is standard input
    #[arg(conflicts_with = "plan")]
    files: Vec<PathBuf>,
    /// Write the library (.epdb, .epa, .epb, .epd); its records have the operation `tally`
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    #[command(flatten)]
    _force: ForceArgs,
    #[command(flatten)]
    tally: TallyArgs,
    /// Store no digests of games. Then a game that is added again later may be counted twice
    #[arg(long)]
    no_digests: bool,
    #[command(flatten)]
    about: AboutArgs,
    #[command(flatten)]
    refused: KeepGoingArgs,
    /// Print the counts as a JSON object on standard output
    #[arg(long, help_heading = None::<&str>)]
    json: bool,
    #[command(flatten)]
    slice: SliceArgs,
    #[command(flatten)]
    slice_games: SliceGamesArgs,
    #[command(flatten)]
    read: ReadArgs,
    #[command(flatten)]
    memory: MemoryArgs,
}

/// The heading of the options of counting.
pub(crate) const COUNTING: &str = "Counting";

/// Selection of games, and the way they are counted.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = COUNTING)]
pub(crate) struct TallyArgs {
    /// Split the counts by year, month, speed (time control class) or rating (rating group)
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        value_name = "WHAT",
        hide_possible_values = true
    )]
    by: Vec<ByArg>,
    /// Count only positions up to this many plies [default: all]
    #[arg(long, value_name = "PLIES", default_value_t = u32::MAX, hide_default_value = true)]
    max_ply: u32,
    /// Count only games of this player; separate spellings of the name with semicolons
    #[arg(long, value_name = "NAME[;ALIAS...]", value_delimiter = ';')]
    pub(crate) player: Vec<String>,
    /// Count only games in which --player has this colour, white or black
    #[arg(
        long,
        value_parser = word_of::<Color>(),
        value_name = "COLOR",
        hide_possible_values = true
    )]
    pub(crate) side: Option<Color>,
    /// Leave out games that do not begin from the standard start position
    #[arg(long)]
    standard_only: bool,
    /// Count games as one if these are equal: the id, else as `moves` (auto, default); moves, date and
    /// result (moves); also White and Black (players); everything (exact)
    #[arg(
        long,
        value_parser = word_of::<SameGame>(),
        value_name = "WHAT",
        hide_possible_values = true
    )]
    same_game: Option<SameGame>,
    /// Count every copy of a repeated game
    #[arg(long, conflicts_with = "same_game")]
    keep_duplicates: bool,
    /// Count every occurrence of a position or move within a game
    #[arg(long)]
    count_repeats: bool,
    /// Keep the N best rated and the N latest games of each position, for `epdb search`
    #[arg(long, value_name = "N",
          value_parser = clap::value_parser!(u8).range(1..=i64::from(MAX_KEPT_GAMES)))]
    keep_games: Option<u8>,
    /// True if the files are declared to have each game once.
    #[arg(skip)]
    unique_games: bool,
}

#[derive(ValueEnum, Copy, Clone, PartialEq, Debug)]
enum ByArg {
    Year,
    Month,
    Speed,
    Rating,
}

impl TallyArgs {
    /// The settings that a library stores: which games count, and how.
    pub(crate) fn settings(&self, read: &ReadArgs) -> TallySettings {
        let filter = read.wanted.filter_text();
        let truncates = read.form.games.truncate_games;
        let denies = read.form.deny_warnings;
        self.options().settings(truncates, denies, filter)
    }

    pub(crate) fn is_given(&self) -> bool {
        let TallyArgs { by, max_ply, player, standard_only, same_game, keep_duplicates, .. } = self;
        !by.is_empty()
            || *max_ply < u32::MAX
            || !player.is_empty()
            || *standard_only
            || same_game.is_some()
            || *keep_duplicates
            || self.count_repeats
            || self.keep_games.is_some()
    }

    /// Adds the settings that a library was built with, except for options that were given.
    pub(crate) fn adopt(&mut self, read: &mut ReadArgs, settings: TallySettings) {
        if self.by.is_empty() {
            let splits = [
                (settings.year, ByArg::Year),
                (settings.month, ByArg::Month),
                (settings.speed, ByArg::Speed),
                (settings.rating, ByArg::Rating),
            ];
            self.by =
                splits.into_iter().filter(|(is_split, _)| *is_split).map(|(_, by)| by).collect();
        }
        if self.max_ply == u32::MAX {
            self.max_ply = settings.max_ply.unwrap_or(u32::MAX);
        }
        if self.player.is_empty() {
            self.player = settings.players;
        }
        self.side = self.side.or(settings.color);
        self.standard_only |= settings.standard_only;
        if self.same_game.is_none() && !self.keep_duplicates {
            self.same_game = settings.same_game;
            self.keep_duplicates = settings.same_game.is_none();
        }
        self.count_repeats |= settings.count_repeats;
        self.keep_games = self.keep_games.or(settings.keep_games);
        self.unique_games |= settings.unique_games;
        read.form.games.truncate_games |= settings.truncate_games;
        read.form.deny_warnings |= settings.deny_warnings;
        if read.wanted.filter.is_none() {
            // An expression that this program cannot read stays out: the settings then differ.
            read.wanted.filter = settings.filter.and_then(|filter| filter.parse().ok());
        }
    }

    pub(crate) fn options(&self) -> TallyOptions {
        let by = |wanted| self.by.contains(&wanted);
        let split = Split {
            year: by(ByArg::Year),
            month: by(ByArg::Month),
            speed: by(ByArg::Speed),
            rating: by(ByArg::Rating),
        };
        TallyOptions {
            split,
            max_ply: self.max_ply,
            count_repeats: self.count_repeats,
            players: self.player.iter().map(|name| name.trim().to_string()).collect(),
            color: self.side,
            standard_only: self.standard_only,
            same_game: (!self.keep_duplicates).then_some(self.same_game.unwrap_or_default()),
            keep_games: self.keep_games,
            unique_games: self.unique_games,
            ..TallyOptions::default()
        }
    }
}

impl Args {
    /// The options of counting, with those of slices.
    fn counting(&self) -> TallyArgs {
        TallyArgs { unique_games: self.slice_games.unique_games, ..self.tally.clone() }
    }

    /// Refuses a slice if copies of its games may be in other slices.
    fn check_slice(&self, slice: &Slice) -> anyhow::Result<()> {
        let SliceGamesArgs { copies, unique_games } = &self.slice_games;
        let is_decided = copies.is_some() || *unique_games;
        if is_decided && self.tally.keep_duplicates {
            let what = "--keep-duplicates counts every copy";
            return Err(usage(format!("{what}: leave out --copies and --unique-games")));
        }
        if is_decided || self.tally.keep_duplicates || slice.plan().len() == 1 {
            return Ok(());
        }
        Err(usage(
            "copies of a game may be in different slices: list the games of each slice by \
             `epdb shard games`, decide by `epdb shard copies`, and give --copies; or give \
             --unique-games if the files have each game once, or --keep-duplicates to count \
             every copy",
        ))
    }
}

/// If the games have more plies than this in total, the library takes seconds to be written.
const MANY_PLIES: u64 = 1_000_000;

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let mut diagnostics = Diagnostics::new(&args.read.form)?;
    let slice = args.slice.open(&args.read.form)?;
    if let Some(slice) = &slice {
        args.check_slice(slice)?;
    }
    let sources = args.read.source_options(true);
    let files = source::readable(&args.files, &sources, args.refused.keep_going, &|_| Ok(()))?;
    let has_refused = files.len() < args.files.len();
    for file in &files {
        ledgers::refuse_library(file, &files, &args.read)?;
    }
    let counting = args.counting();
    // A slice need not have the player.
    if slice.is_none() {
        diagnostics.watch_player(&counting.player, counting.side);
    }
    let job = TallyJob {
        inputs: inputs(&files, slice),
        counting: counting.options(),
        settings: counting.settings(&args.read),
        copies: args.slice_games.copies.clone(),
        digests: !args.no_digests,
        memory_bytes: args.memory.memory_bytes,
    };
    let target = open_library(args, &job)?;
    if !target.keeps_tally_ledger() {
        note_lost_ledger(args);
    }
    let sink = &mut CommandSink::new(&args.read, &mut diagnostics, "sorting positions", MANY_PLIES);
    let (counts, merged) = job.run(&args.output, target, sink)?;
    report(args.output.display(), &counts, &merged);
    if counts.games == 0 {
        note!("{}: no game was counted, so the library is empty", args.output.display());
    }
    if args.json {
        let tallied = json::Tallied {
            file: args.output.display().to_string(),
            games: json::CountedGames::new(&counts),
            games_not_kept: counts.not_kept,
            merged_games: merged,
            plies: counts.plies,
            positions: counts.positions,
        };
        let mut out = open_output(None)?;
        json::line(&mut out, &tallied)?;
        out.finish()?;
    }
    Ok(diagnostics.finish()?.and(Outcome::different_if(has_refused)))
}

/// Says what a format cannot store about a library.
fn note_lost_ledger(args: &Args) {
    let output = args.output.display();
    note!(
        "{output}: this format cannot store how a library was built and which games it counts: games that are added later may count twice"
    );
    if args.tally.keep_games.is_some() {
        note!("{output}: nor can it store the games: positions list them by rating, date and id");
    }
}

fn open_library(args: &Args, job: &TallyJob) -> anyhow::Result<Target> {
    let path = &args.output;
    let format = job.format(path)?;
    check_name(format, path)?;
    if let Err(refusal) = places::refuse_kept(path) {
        let shown = path.display();
        anyhow::ensure!(
            format != FileFormat::Epdb,
            "{shown} is an existing store: `epdb import {shown} GAMES --tally` adds games to \
             it, --force replaces it"
        );
        return Err(refusal);
    }
    let about = args.about.of(format, &[] as &[PathBuf], &args.read.streams)?;
    let mut target = open_target(Some(path), format, &job.target_options())?;
    target.set_about(about);
    Ok(target)
}

/// Prints the summary of a file.
pub(crate) fn report(target: impl Display, counts: &TallyCounts, merged: &MergedGames) {
    let TallyCounts {
        games,
        duplicates,
        // Each is reported as a rejected game.
        not_replaced: _,
        left_out,
        cut_short,
        at_null_move,
        plies,
        wide_moves,
        not_kept,
        positions,
    } = *counts;
    let duplicates = duplicates_text(duplicates, merged);
    let left_out = match (left_out, cut_short) {
        (0, _) => String::new(),
        (count, 0) => format!(", {count} left out"),
        (count, cut) => {
            format!(", {count} left out ({cut} cut short: --truncate-games counts them)")
        }
    };
    let positions = match positions {
        0 => String::new(),
        positions => format!(", {}", many(positions, "position")),
    };
    let games = many(games, "game");
    let plies = many(plies, "ply");
    note!("{target}: {games} counted{duplicates}{left_out}; {plies}{positions}");
    if at_null_move > 0 {
        note!("{target}: {} counted up to the first null move", many(at_null_move, "game"));
    }
    if wide_moves > 0 {
        let moves = many(wide_moves, "move");
        note!("{target}: {moves} not counted, of positions with more than 256 moves");
    }
    if not_kept > 0 {
        note!("{target}: {} not kept, with moves of such positions", many(not_kept, "game"));
    }
}

/// The part of the summary about duplicates. Some of them may be different games.
fn duplicates_text(duplicates: u64, merged: &MergedGames) -> String {
    if duplicates == 0 {
        return String::new();
    }
    let MergedGames { other_names, other_ids, other_moves, not_compared } = *merged;
    let differences = [
        (other_names, "with other names or rounds"),
        (other_ids, "with other ids"),
        (other_moves, "with other moves, dates or results"),
        (not_compared, "by an earlier import, not compared"),
    ];
    let differences: Vec<String> = differences
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    match &differences[..] {
        [] => format!(", {}", many(duplicates, "duplicate")),
        differences => format!(", {} ({})", many(duplicates, "duplicate"), differences.join(", ")),
    }
}
