//! Set operations: `epdb union`, `epdb dedupe`, `epdb intersect` and `epdb subtract`.

use std::io::Write;
use std::iter;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::slice;
use std::sync::Arc;

use clap::ValueEnum;

use crate::cli::args::{MemoryArgs, MergeArgs, OutputArgs, ReadArgs, WriteArgs};
use crate::cli::comments::CommentOrder;
use crate::cli::diagnostics::{Diagnostics, write_field};
use crate::cli::games::{GamePipe, GamesArgs};
use crate::cli::ledgers::{self, LibraryArgs};
use crate::cli::outcome::Outcome;
use crate::cli::output::{TableForm, create_file, form_of_list};
use crate::cli::pipe::{Findings, Pipe, Places, shown_conflict, temporary_directory, write_all};
use crate::cli::record_output::RecordOutput;
use crate::cli::source::{self, Reading, SourceGame, Visited};
use crate::cli::terminal::{listed_counts, many, note};
use crate::cli::values::word_of;
use crate::cli::{json, settings};
use epdb_chess::model::Operand;
use epdb_library::duplicates::{DuplicateFinder, DuplicateItem};
use epdb_library::game_sets::{GameDedupe, GameSelection, GamesBy};
use epdb_library::sets::{By, Conflicts, Keep, OnConflict, RecordConflict, Selection, Union};
use epdb_library::tally::ledger::LedgerSum;
use epdb_source::{Encode, GameFormat, Output};

pub(crate) const UNION_EXAMPLES: &str = "\
Examples:
  epdb union wac1.epd wac2.epd -o wac.epd
  epdb union 2023.pgn 2024.pgn --by moves -o games.pgn";

pub(crate) const DEDUPE_EXAMPLES: &str = "\
Examples:
  epdb dedupe book.epd -o unique.epd
  epdb dedupe --list wac1.epd wac2.epd
  epdb dedupe --near games.pgn 2024.pgn
  epdb dedupe games.pgn --by moves -o unique.pgn";

pub(crate) const INTERSECT_EXAMPLES: &str = "\
Examples:
  epdb intersect book.epd played.epd -o met.epd
  epdb intersect wac1.epd wac2.epd --by record
  epdb intersect 2023.pgn 2024.pgn --by moves";

pub(crate) const SUBTRACT_EXAMPLES: &str = "\
Examples:
  epdb subtract book.epd played.epd -o fresh.epd
  epdb subtract wac.epd wac1.epd wac2.epd --by record
  epdb subtract 2024.pgn 2023.pgn -o new.pgn";

/// Merge the records of each position, whether they are in one file or in several
///
/// Equal records become one, and their tallies are added. Records of one position become one with all of
/// their operations, in the place of the first. If they contradict each other (in bm, am, id, ...), all
/// stay and are reported; of two analyses, --prefer chooses one. Counters and superfluous en passant squares
/// are ignored. Of equal games, the first is kept (`epdb help units`).
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct DedupeArgs {
    /// Merge records with the same position (position, default), pieces (board) or content (record). For games,
    /// keep the first of those with the same moves (moves); the same moves, players, date and result
    /// (players, default); or the same content (exact)
    #[arg(long, value_enum, value_name = "WHAT", hide_possible_values = true)]
    by: Option<SameArg>,
    /// If records contradict each other, report and keep all (report, default), or use the first or last
    /// value (first, last)
    #[arg(long, value_parser = word_of::<OnConflict>(), default_value = "report", value_name = "WHAT",
          hide_default_value = true, hide_possible_values = true)]
    on_conflict: OnConflict,
    /// Write a list of duplicates instead: locations, with ids of records, or players, dates and results of games
    #[arg(long, conflicts_with_all = ["on_conflict", "conflicts", "deny_conflicts", "prefer", "bm", "add"])]
    list: bool,
    /// List games that are nearly equal instead: the first PLIES (40) are equal, or one has all moves of the
    /// other, and names are equal but for case, accents and initials
    #[arg(long, value_name = "PLIES", num_args = 0..=1, require_equals = true, default_missing_value = "40",
          conflicts_with_all = ["list", "by", "on_conflict", "conflicts", "deny_conflicts", "prefer", "bm", "add"])]
    near: Option<NonZeroUsize>,
    /// Write the contradictions to this file: both locations, the opcode, both values
    #[arg(long, value_name = "FILE.tsv")]
    conflicts: Option<PathBuf>,
    /// Write --conflicts or --list as JSON, one object per row
    #[arg(long)]
    json: bool,
    /// End with exit status 1 if records contradict each other
    #[arg(long)]
    deny_conflicts: bool,
    #[command(flatten)]
    merge: MergeArgs,
    #[command(flatten)]
    pipe: Pipe,
    #[command(flatten)]
    games: GamesArgs,
    #[command(flatten)]
    libraries: LibraryArgs,
    #[command(flatten)]
    memory: MemoryArgs,
}

#[derive(ValueEnum, Copy, Clone, PartialEq, Debug)]
enum SameArg {
    Position,
    Board,
    Record,
    Moves,
    Players,
    Exact,
}

pub(crate) fn dedupe(args: &DedupeArgs) -> anyhow::Result<Outcome> {
    anyhow::ensure!(
        !args.json || args.list || args.near.is_some() || args.conflicts.is_some(),
        "--json is the form of --list, of --near or of --conflicts FILE"
    );
    if args.list || args.near.is_some() {
        return list_duplicates(args);
    }
    match args.pipe.games(&args.games)? {
        Some(games) => dedupe_games(args, games),
        None => dedupe_records(args),
    }
}

/// Keeps the first of equal games.
fn dedupe_games(args: &DedupeArgs, games: GamePipe<'_>) -> anyhow::Result<Outcome> {
    let by = game_key(args.by)?;
    let merges = args.merge.is_asked() || args.on_conflict != OnConflict::Report;
    anyhow::ensure!(
        args.conflicts.is_none() && !args.deny_conflicts && !merges,
        "games have no conflicts and are not merged: the first of equal games is kept"
    );
    let dedupe = GameDedupe::new(by, temporary_directory(), args.memory.memory_bytes);
    games.collect(
        dedupe,
        |dedupe, read, bytes| Ok(dedupe.add(read.game, bytes.get()?)?),
        |dedupe, _| {
            let (games, tally) = dedupe.finish()?;
            let duplicates = many(tally.duplicates, "duplicate");
            note!("epdb: {} read, {duplicates} left out", many(tally.read, "game"));
            Ok(games)
        },
    )
}

/// The criterion for equal games.
fn game_key(by: Option<SameArg>) -> anyhow::Result<GamesBy> {
    Ok(match by.unwrap_or(SameArg::Players) {
        SameArg::Moves => GamesBy::Moves,
        SameArg::Players => GamesBy::Players,
        SameArg::Exact => GamesBy::Exact,
        SameArg::Position | SameArg::Board | SameArg::Record => {
            anyhow::bail!(
                "games are compared --by moves, players or exact; --positions compares their positions"
            )
        }
    })
}

/// Lists the records that share a position, or the games that are equal.
fn list_duplicates(args: &DedupeArgs) -> anyhow::Result<Outcome> {
    let Pipe { files, read, output, .. } = &args.pipe;
    let mut diagnostics = Diagnostics::new(&read.form)?;
    let path = output.output.as_deref();
    let form = form_of_list(args.json.then_some(TableForm::Json), path)?;
    let mut out = form.open(path, "a list of duplicates")?;
    let directory = temporary_directory();
    let memory_bytes = args.memory.memory_bytes;
    let is_of_games = args.near.is_some() || args.pipe.games(&args.games)?.is_some();
    let by = if is_of_games { By::default() } else { record_key(args.by)? };
    let mut finder = DuplicateFinder::new(by, directory, memory_bytes);
    if let Some(plies) = args.near {
        finder = finder.near(plies.get());
    }
    let mut places = Places::default();
    let reading = Reading::of(files, read, &mut diagnostics);
    if is_of_games {
        let by = game_key(args.by)?;
        reading.games(|SourceGame { game, place, .. }| {
            finder.add_game(by, game, places.number(place))?;
            Ok(Visited::Taken)
        })?;
    } else {
        reading.records(|record, place, _| Ok(finder.add(&record, places.number(place))?))?;
    }
    if form != TableForm::Json {
        let what = if is_of_games { "game" } else { "id" };
        writeln!(out, "#first\tfirst {what}\tother\tother {what}")?;
    }
    let mut positions = 0_u64;
    let mut others = 0_u64;
    for group in finder.finish()? {
        let group = group?;
        let Some((first, rest)) = group.split_first() else { continue };
        positions += 1;
        for other in rest {
            others += 1;
            match (form, is_of_games) {
                (TableForm::Json, true) => {
                    json::line(&mut out, &json::DuplicateGame::new(first, other, &places))?;
                }
                (TableForm::Json, false) => {
                    json::line(&mut out, &json::Duplicate::new(first, other, &places))?;
                }
                _ => write_duplicate(&mut out, first, other, &places)?,
            }
        }
    }
    out.finish()?;
    if is_of_games {
        let games = many(positions, "game");
        let copies = many(others, "further copy");
        match args.near {
            Some(_) => note!("epdb: {games} with others that are nearly equal, {copies}"),
            None => note!("epdb: {games} found several times, {copies}"),
        }
    } else {
        let positions = many(positions, "position");
        let others = many(others, "record");
        note!("epdb: {positions} with several records, {others} after the first");
    }
    diagnostics.finish()
}

fn write_duplicate(
    out: &mut Output,
    first: &DuplicateItem,
    other: &DuplicateItem,
    places: &Places,
) -> anyhow::Result<()> {
    for (record, end) in [(first, b"\t"), (other, b"\n")] {
        write_field(out, places.shown(record.place).as_bytes())?;
        out.write_all(b"\t")?;
        write_field(out, record.label.as_deref().unwrap_or_default())?;
        out.write_all(end)?;
    }
    Ok(())
}

/// The property that records of one group share.
fn record_key(by: Option<SameArg>) -> anyhow::Result<By> {
    Ok(match by.unwrap_or(SameArg::Position) {
        SameArg::Position => By::Position,
        SameArg::Board => By::Board,
        SameArg::Record => By::Record,
        SameArg::Moves | SameArg::Players | SameArg::Exact => anyhow::bail!(
            "records are compared --by position, board or record; --by moves, players and exact are for games"
        ),
    })
}

fn dedupe_records(args: &DedupeArgs) -> anyhow::Result<Outcome> {
    let by = record_key(args.by)?;
    let directory = temporary_directory();
    let memory_bytes = args.memory.memory_bytes;
    let (records, bytes) = source::expected(&args.pipe.files);
    // Half of the memory is for records. With the data about them, lines take one and a half times
    // their size.
    let keeps_lines = bytes < memory_bytes / 4;
    let union = Union::new(by, args.merge.rules(), args.on_conflict, directory, memory_bytes)
        .expecting(records, bytes)
        .of_games(args.pipe.read.form.games.positions.is_some());
    let file = args.conflicts.as_deref().map(create_file).transpose()?;
    let mut has_conflicts = false;
    let outcome = args.pipe.collect_encoded(
        || ledger(args, by),
        union,
        by,
        keeps_lines,
        |union, records, first| Ok(union.add_encoded(records, first)?),
        |union, places| {
            let (records, conflicts, tally) = union.finish()?;
            report_conflicts(args, conflicts, file, places)?;
            has_conflicts = tally.conflicts > 0;
            let analyses = args.merge.shown_analyses("two analyses");
            let conflicts = match args.on_conflict {
                OnConflict::Report => "in conflict with another one",
                OnConflict::First => {
                    "in conflict with another one, resolved: the first value counts"
                }
                OnConflict::Last => "in conflict with another one, resolved: the last value counts",
            };
            let counts = [
                (tally.duplicates, "duplicates left out"),
                (tally.merged, "merged into earlier ones"),
                (tally.analyses, analyses.as_str()),
                (tally.same_board, "of the same board left out"),
                (tally.conflicts, conflicts),
                (
                    tally.other_moves,
                    "of them with another next move (sm) than the one that is kept",
                ),
            ];
            let counts = listed_counts(&counts);
            note!("epdb: {} read{counts}", many(tally.read, "record"));
            Ok(records)
        },
    )?;
    Ok(if has_conflicts && args.deny_conflicts { Outcome::Different } else { outcome })
}

/// Origin of the tallies that are written. Records of one position are merged; with another
/// comparison, some records are left out, and the origin says so.
fn ledger(args: &DedupeArgs, by: By) -> anyhow::Result<Option<LedgerSum>> {
    let Pipe { files, read, .. } = &args.pipe;
    let ledger = ledgers::sum(files, read, args.libraries.allowed())?;
    Ok(ledger.map(|mut ledger| {
        if by != By::Position {
            let by = args.by.as_ref().and_then(settings::value).unwrap_or_default();
            ledger.origin.pruned.get_or_insert_with(|| format!("--by {by}"));
        }
        ledger
    }))
}

/// Prints the first conflicts, and writes all of them if requested.
fn report_conflicts(
    args: &DedupeArgs,
    mut conflicts: Conflicts,
    mut file: Option<Output>,
    places: &Places,
) -> anyhow::Result<()> {
    let mut findings = Findings::new(args.pipe.read.form.all_warnings);
    if let (Some(file), false) = (&mut file, args.json) {
        file.write_all(b"#first\tsecond\topcode\tfirst value\tsecond value\n")?;
    }
    for conflict in conflicts.by_ref() {
        let conflict = conflict?;
        findings.report(|| shown_conflict(&conflict, places));
        match &mut file {
            Some(file) if args.json => json::line(file, &json::Conflict::new(&conflict, places))?,
            Some(file) => write_rows(file, &conflict, places)?,
            None => {}
        }
    }
    findings.finish();
    Ok(file.map_or(Ok(()), Output::finish)?)
}

/// One row per opcode; a missing operation is an empty field.
fn write_rows(file: &mut Output, conflict: &RecordConflict, places: &Places) -> anyhow::Result<()> {
    for operation in &conflict.operations {
        let value = |operands: &Option<Vec<Operand>>| {
            let texts = operands.iter().flatten().map(Operand::text).collect::<Vec<_>>();
            texts.join(&b' ')
        };
        let fields = [
            places.shown(conflict.first).into_bytes(),
            places.shown(conflict.second).into_bytes(),
            operation.opcode.to_string().into_bytes(),
            value(&operation.first),
            value(&operation.second),
        ];
        for (place, field) in fields.iter().enumerate() {
            file.write_all(if place == 0 { b"" } else { b"\t" })?;
            write_field(file, field)?;
        }
        file.write_all(b"\n")?;
    }
    Ok(())
}

/// Write the records or games of the first source that are in none of the other sources (subtract), or in all
/// of them (intersect). They stay unchanged and in their order
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct SelectionArgs {
    /// Source whose records or games are written
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Sources with which FILE is compared
    #[arg(required = true, value_name = "OTHER")]
    others: Vec<PathBuf>,
    /// Take records as equal if they have the same position (position, default), the same pieces on the
    /// same squares (board), or the same content (record). Take games as equal if they have the same moves
    /// (moves); the same moves, players, date and result (players, default); or the same content (exact)
    #[arg(long, value_enum, value_name = "WHAT", hide_possible_values = true)]
    by: Option<SameArg>,
    #[command(flatten)]
    read: ReadArgs,
    #[command(flatten)]
    write: WriteArgs,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    games: GamesArgs,
    #[command(flatten)]
    memory: MemoryArgs,
}

pub(crate) fn select(args: &SelectionArgs, keep: Keep) -> anyhow::Result<Outcome> {
    let files: Vec<PathBuf> = iter::once(&args.file).chain(&args.others).cloned().collect();
    match args.games.format(&files, &args.read, args.output.format()?)? {
        Some(format) => select_games(args, keep, format),
        None => select_records(args, keep),
    }
}

fn select_games(args: &SelectionArgs, keep: Keep, format: GameFormat) -> anyhow::Result<Outcome> {
    let by = game_key(args.by)?;
    let selection = GameSelection::new(keep, by, temporary_directory(), args.memory.memory_bytes);
    let own = slice::from_ref(&args.file);
    let output = args.output.output.as_deref();
    GamePipe::new(own, &args.read, format, output).counting().collect(
        selection,
        |selection, read, bytes| Ok(selection.add(read.game, bytes.get()?)?),
        |mut selection, diagnostics| {
            for (number, other) in args.others.iter().enumerate() {
                if number > 0 {
                    selection.next_other();
                }
                Reading::of(slice::from_ref(other), &args.read, diagnostics).games(|read| {
                    selection.add_other(read.game)?;
                    Ok(Visited::Taken)
                })?;
            }
            Ok(selection.finish()?)
        },
    )
}

fn select_records(args: &SelectionArgs, keep: Keep) -> anyhow::Result<Outcome> {
    let by = record_key(args.by)?;
    let mut diagnostics = Diagnostics::new(&args.read.form)?;
    let mut output = RecordOutput::open(&args.output, &args.write)?;
    output.carry_comments(diagnostics.comments(), CommentOrder::Collect(by));
    let directory = temporary_directory();
    let memory_bytes = args.memory.memory_bytes;
    let encode: Arc<dyn Encode> = Arc::new(by);
    let mut selection = Selection::new(keep, by, directory, memory_bytes);
    let own = slice::from_ref(&args.file);
    Reading::of(own, &args.read, &mut diagnostics)
        .encoded_records(&encode, |records, _| Ok(selection.add_encoded(records)?))?;
    diagnostics.comments().pause();
    for (number, other) in args.others.iter().enumerate() {
        if number > 0 {
            selection.next_other();
        }
        let other = slice::from_ref(other);
        Reading::of(other, &args.read, &mut diagnostics)
            .encoded_records(&encode, |records, _| Ok(selection.add_other_encoded(records)?))?;
    }
    write_all(selection.finish()?, &mut output)?;
    let written = output.finish()?;
    Ok(diagnostics.finish()?.and(written))
}
