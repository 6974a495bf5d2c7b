//! `epdb tally`: games into a library of positions.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::{Parser, ValueEnum};

use crate::cli::args::{ForceArgs, KeepGoingArgs, MemoryArgs, ReadArgs};
use crate::cli::diagnostics::Diagnostics;
use crate::cli::games;
use crate::cli::json;
use crate::cli::outcome::{Outcome, Usage};
use crate::cli::output::{check_name, open_output, open_target};
use crate::cli::places;
use crate::cli::progress::Writing;
use crate::cli::settings;
use crate::cli::slice::{SliceArgs, SliceGamesArgs};
use crate::cli::source::{self, Inputs};
use crate::cli::terminal::{many, note};
use crate::cli::values::word_of;
use epdb::archive::PackOptions;
use epdb::codec::tally_origin::{TallyLedger, TallyOrigin};
use epdb::library::expression::Expression;
use epdb::library::same_game::SameGame;
use epdb::library::tally::{
    MergedGames, SliceCopies, SliceOfGames, Split, TallyBuilder, TallyCounts, TallyOptions,
    TallyOrder,
};
use epdb::model::{Color, MAX_KEPT_GAMES};
use epdb::source::{FileFormat, Slice, Target, TargetOptions};

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
    #[arg(long, value_enum, value_name = "WHAT", hide_possible_values = true)]
    same_game: Option<SameArg>,
    /// Count every copy of a repeated game
    #[arg(long, conflicts_with = "same_game")]
    keep_duplicates: bool,
    /// Count every occurrence of a position or move within a game
    #[arg(long)]
    count_repeats: bool,
    /// Keep the N best rated and the N latest games of each position, for `epdb games`
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

#[derive(ValueEnum, Copy, Clone, PartialEq, Debug, Default)]
enum SameArg {
    #[default]
    Auto,
    Moves,
    Players,
    Exact,
}

impl TallyArgs {
    /// Arguments that decide which games count, and how, in the form that a library stores.
    pub(crate) fn settings(&self, read: &ReadArgs) -> String {
        let filter = read.wanted.filter.as_ref().map(Expression::text);
        let (truncates, denies) = (read.form.games.truncate_games, read.form.deny_warnings);
        self.options().settings(truncates, denies, filter)
    }

    /// True if digests of the games can be kept.
    pub(crate) const fn tells_games(&self) -> bool {
        !self.keep_duplicates
    }

    /// Whether an argument was given.
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

    /// Adds the options that a library was built with, except for those that were given. Does
    /// nothing if epdb did not write the text.
    pub(crate) fn take_over(&mut self, read: &mut ReadArgs, settings: &str) {
        let options = settings::options(settings);
        let options = options.iter().map(|(name, value)| match (*name, *value) {
            ("color", value) => format!("--side={value}"),
            (name, "") => format!("--{name}"),
            (name, value) => format!("--{name}={value}"),
        });
        let Ok(stored) = StoredArgs::try_parse_from(options) else { return };
        let TallyArgs { by, max_ply, player, side, .. } = stored.counting;
        if self.by.is_empty() {
            self.by = by;
        }
        if self.max_ply == u32::MAX {
            self.max_ply = max_ply;
        }
        if self.player.is_empty() {
            self.player = player;
        }
        self.side = self.side.or(side);
        self.standard_only |= stored.counting.standard_only;
        if self.same_game.is_none() && !self.keep_duplicates {
            self.same_game = stored.counting.same_game;
            self.keep_duplicates = stored.counting.keep_duplicates;
        }
        self.count_repeats |= stored.counting.count_repeats;
        self.keep_games = self.keep_games.or(stored.counting.keep_games);
        self.unique_games |= stored.unique_games;
        read.form.games.truncate_games |= stored.truncate_games;
        read.form.deny_warnings |= stored.deny_warnings;
        read.wanted.filter = read.wanted.filter.take().or(stored.filter);
    }

    pub(crate) fn options(&self) -> TallyOptions {
        let by = |wanted| self.by.contains(&wanted);
        let split = Split {
            year: by(ByArg::Year),
            month: by(ByArg::Month),
            speed: by(ByArg::Speed),
            rating: by(ByArg::Rating),
        };
        let same_game = match self.same_game.unwrap_or_default() {
            SameArg::Auto => SameGame::Auto,
            SameArg::Moves => SameGame::Moves,
            SameArg::Players => SameGame::Players,
            SameArg::Exact => SameGame::Exact,
        };
        TallyOptions {
            split,
            max_ply: self.max_ply,
            count_repeats: self.count_repeats,
            players: self.player.iter().map(|name| name.trim().to_string()).collect(),
            color: self.side,
            standard_only: self.standard_only,
            same_game: (!self.keep_duplicates).then_some(same_game),
            keep_games: self.keep_games,
            unique_games: self.unique_games,
            ..TallyOptions::default()
        }
    }
}

/// The options that [`TallyArgs::settings`] writes.
#[derive(clap::Parser, Debug)]
#[command(no_binary_name = true)]
struct StoredArgs {
    #[command(flatten)]
    counting: TallyArgs,
    #[arg(long)]
    unique_games: bool,
    #[arg(long)]
    truncate_games: bool,
    #[arg(long)]
    deny_warnings: bool,
    #[arg(long = "where")]
    filter: Option<Expression>,
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
            return Err(Usage(format!("{what}: leave out --copies and --unique-games")).into());
        }
        if is_decided || self.tally.keep_duplicates || slice.plan().len() == 1 {
            return Ok(());
        }
        Err(Usage(
            "copies of a game may be in different slices: list the games of each slice by \
             `epdb shard games`, decide by `epdb shard copies`, and give --copies; or give \
             --unique-games if the files have each game once, or --keep-duplicates to count \
             every copy"
                .into(),
        )
        .into())
    }
}

/// If the games have more plies than this in total, the library takes seconds to be written.
const MANY_PLIES: u64 = 1_000_000;

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let mut diagnostics = Diagnostics::new(&args.read.form)?;
    let memory_bytes = args.memory.memory_bytes;
    let slice = args.slice.open(&args.read.form)?;
    if let Some(slice) = &slice {
        args.check_slice(slice)?;
    }
    let sources = args.read.source_options(true);
    let files = source::readable(&args.files, &sources, args.refused.keep_going, &|_| None)?;
    let has_refused = files.len() < args.files.len();
    let mut target = open_library(&args.output, memory_bytes, slice.is_some())?;
    let directory = directory_beside(&args.output);
    let counting = args.counting();
    let mut builder = TallyBuilder::new(counting.options(), directory, memory_bytes);
    if let (Some(slice), Some(copies)) = (&slice, &args.slice_games.copies) {
        let settings = counting.settings(&args.read);
        builder =
            builder.with_copies(SliceCopies::read(copies, &SliceOfGames::new(slice, settings))?);
    }
    // A slice need not have the player.
    if slice.is_none() {
        diagnostics.watch_player(&counting.player, counting.side);
    }
    let inputs = slice.as_ref().map_or(Inputs::Files(&files), Inputs::Slice);
    games::count_all(inputs, &args.read, &mut diagnostics, &mut builder)?;
    builder.check_copies()?;
    keep_ledger(args, slice.as_ref(), &mut builder, &mut target)?;
    let order = match FileFormat::from_name(&args.output) {
        Some(FileFormat::Epa) => TallyOrder::Games,
        _ => TallyOrder::Key,
    };
    let writing = Writing::new("sorting positions", builder.counts().plies > MANY_PLIES);
    builder.drain(order, &mut |batch, all| {
        writing.records(batch.len() as u64, all);
        target.write_batch(batch)
    })?;
    builder.drain_games(&mut |game| target.keep_game(game))?;
    // Whatever can fail comes before the library appears.
    let merged = builder.take_merged_games()?;
    target.finish()?;
    drop(writing);
    report(args.output.display(), &builder.counts(), &merged);
    if args.json {
        let file = args.output.display().to_string();
        let mut out = open_output(None)?;
        json::line(&mut out, &json::Tallied::new(file, &builder.counts(), &merged))?;
        out.finish()?;
    }
    Ok(diagnostics.finish()?.and(Outcome::different_if(has_refused)))
}

/// Stores the origin in the library.
fn keep_ledger(
    args: &Args,
    slice: Option<&Slice>,
    builder: &mut TallyBuilder,
    target: &mut Target,
) -> anyhow::Result<()> {
    if !target.keeps_tally_ledger() {
        note!(
            "{}: this format cannot store how a library was built and which games it counts: games that are added later may count twice",
            args.output.display()
        );
        if args.tally.keep_games.is_some() {
            note!(
                "{}: nor can it store the games: positions list them by rating, date and id",
                args.output.display()
            );
        }
        return Ok(());
    }
    let (sources, games) = builder.take_games()?;
    let settings = args.counting().settings(&args.read);
    let scope = Some(args.tally.options().scope());
    let slices = slice.map(Slice::origin).unwrap_or_default();
    let origin = TallyOrigin { settings, sources, scope, slices, ..TallyOrigin::default() };
    let games = (args.tally.tells_games() && !args.no_digests).then_some(games);
    Ok(target.set_tally_ledger(TallyLedger { origin, games })?)
}

/// The folder of a file, for temporary files.
pub(crate) fn directory_beside(file: &Path) -> PathBuf {
    let parent = file.parent().filter(|parent| *parent != Path::new(""));
    let parent = parent.unwrap_or(Path::new("."));
    // Errors name the folder, so its path is made absolute.
    parent.canonicalize().unwrap_or_else(|_| parent.to_path_buf())
}

/// Opens a library for writing. The library of a slice is an archive, which records of which slice it is.
fn open_library(path: &Path, memory_bytes: usize, is_slice: bool) -> anyhow::Result<Target> {
    let format = FileFormat::from_name(path).filter(|format| !format.is_of_games());
    let format = format.with_context(|| {
        format!("{} is not the name of a library: use .epdb, .epa, .epb or .epd", path.display())
    })?;
    check_name(format, path)?;
    anyhow::ensure!(
        !is_slice || format == FileFormat::Epa,
        "a slice is written as an archive, which is merged with those of the other slices: give {} the suffix .epa",
        path.display()
    );
    if let Err(refusal) = places::refuse_kept(path) {
        let shown = path.display();
        anyhow::ensure!(
            format != FileFormat::Epdb,
            "{shown} is an existing store: `epdb import {shown} GAMES --tally` adds games to \
             it, --force replaces it"
        );
        return Err(refusal);
    }
    let options = TargetOptions::new()
        .store_memory_bytes(memory_bytes / 2)
        .archive(PackOptions::new().memory_bytes(memory_bytes / 2));
    open_target(Some(path), format, &options)
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
    let (games, plies) = (many(games, "game"), many(plies, "ply"));
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
