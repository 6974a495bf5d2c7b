//! `epdb convert`: any format to any other.

use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::cli::args::{
    AboutArgs, ForceArgs, GameWriteArgs, MemoryArgs, OutputArgs, ReadArgs, SchemaArgs, WriteArgs,
    written_formats,
};
use crate::cli::command::import;
use crate::cli::comments::CommentOrder;
use crate::cli::diagnostics::Diagnostics;
use crate::cli::games::{GameOutput, GamePipe, game_format};
use crate::cli::outcome::{Outcome, usage};
use crate::cli::output::check_name;
use crate::cli::query_reader::parse_root;
use crate::cli::record_output::RecordOutput;
use crate::cli::repertoire::{self, Sides};
use crate::cli::source::{Reading, SourceGame, Visited, are_games};
use crate::cli::terminal::{many, note};
use epdb_chess::model::{EpdRecord, Opcode, Operand, Position};
use epdb_library::repertoire::{
    Paths, Repertoire, SuiteGame, TreeOptions, suite_game, suite_record,
};
use epdb_source::{FileFormat, GameFormat, name_of};

/// Convert a file to another format, chosen by the suffixes of both names
///
/// Positions are converted between .epd, .fen, .epb, .epdb, .epa and .parquet, and games between .pgn, .pgc
/// and (with --schema games) .parquet. Text may end in .gz or .zst. Games, opening books and files of lichess
/// become positions (`epdb help sources`). With --tree, positions become one game. Without it, each becomes a
/// game, and --suite turns it back. To add to a store, use `import`.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Examples:
  epdb convert book.epd.zst book.epb
  epdb convert games.pgn openings.epd --positions=0..20 --game-openings
  epdb convert lichess_db_eval.jsonl.zst evaluations.epa
  epdb convert library.epa tree.pgn --tree --root 'e4 c5' --depth 12 --min-games 50
  epdb convert wac.pgn back.epd --suite")]
pub(crate) struct Args {
    /// File to read; `-` is standard input
    #[arg(value_name = "IN")]
    input: PathBuf,
    /// File to write; `-` is standard output
    #[arg(value_name = "OUT")]
    output: PathBuf,
    /// Format of OUT, if its name does not show it: epd, fen, epb, epdb, epa, parquet, pgn or pgc
    #[arg(long, value_parser = written_formats(), value_name = "FORMAT", hide_possible_values = true)]
    to: Option<FileFormat>,
    /// Read each game as a problem: first moves with `!` (or else all) are bm, with `?` am, a longer line is pv,
    /// Event is id, and comments before the first move are ce, dm and c0 to c9
    #[arg(long, conflicts_with_all = ["tree", "chapters"])]
    suite: bool,
    #[command(flatten)]
    tree: TreeArgs,
    #[command(flatten)]
    schema: SchemaArgs,
    #[command(flatten)]
    force: ForceArgs,
    #[command(flatten)]
    about: AboutArgs,
    #[command(flatten)]
    read: ReadArgs,
    #[command(flatten)]
    write: WriteArgs,
    #[command(flatten)]
    games: GameWriteArgs,
    #[command(flatten)]
    memory: MemoryArgs,
}

/// Options for writing one game that contains all lines.
#[derive(clap::Args, Clone, Debug)]
struct TreeArgs {
    /// Write one game with variations: all lines of games, or the moves in pm, bm, replies, sm, tally and am of
    /// records (most-played first), and legal moves to positions that these miss
    #[arg(long)]
    tree: bool,
    /// Like --tree, but write one game for each chapter, with its tags. A chapter is a game of the input, or all
    /// records with the same operation `chapter`
    #[arg(long, conflicts_with = "root")]
    chapters: bool,
    /// Begin the tree at this position [default: the start position]
    #[arg(long, value_name = "POSITION")]
    root: Option<String>,
    /// Cut the lines of the tree at this many plies [default: no limit]
    #[arg(long, value_name = "PLIES")]
    depth: Option<usize>,
    /// Write the continuation of a position once; elsewhere, a comment points to it
    #[arg(long)]
    once: bool,
    /// From tallies, use only moves that were played in at least N games
    #[arg(long, value_name = "N", default_value_t = 1, hide_default_value = true)]
    min_games: u64,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let to = args.schema.format(args.to.or_else(|| FileFormat::from_name(&args.output)))?;
    let is_book = args.output.extension().is_some_and(|suffix| suffix == "bin");
    anyhow::ensure!(
        to.is_some() || !is_book,
        "{} is not the name of a record file: to make a book, use `epdb book make`",
        args.output.display()
    );
    let to = to.with_context(|| match args.output.to_str() {
        Some(name) if name.ends_with(".csv") || name.ends_with(".tsv") => {
            format!("{name} is a table: `epdb table {} -o {name}` writes it", name_of(&args.input))
        }
        Some(name) if name.ends_with(".html") => {
            format!("{name} is a page: `epdb site {} -o {name}` shows positions on a board", name_of(&args.input))
        }
        Some("-") => "say what to write to standard output, such as --to epd".to_string(),
        _ => format!(
            "cannot tell the format from the name {}: give it the suffix .epd, .fen, .epb, .epdb, .epa, .pgn, .pgc or .parquet, or use --to",
            args.output.display()
        ),
    })?;
    if args.output != Path::new("-") {
        check_name(to, &args.output)?;
    }
    if args.suite && (to.is_of_games() || to == FileFormat::Epdb) {
        let text = format!("--suite writes records, such as .epd, not {}", to.description());
        return Err(usage(text));
    }
    let about = args.about.of(to, std::slice::from_ref(&args.input), &args.read.streams)?;
    if args.tree.tree || args.tree.chapters {
        return write_tree(args, to);
    }
    if to == FileFormat::Epdb {
        return import::into_new_store(&args.output, &args.input, &args.read, &args.memory);
    }
    if let Some(format) = game_format(to, &args.games) {
        let files = std::slice::from_ref(&args.input);
        if args.read.form.games.positions.is_none() && !are_games(files, &args.read)? {
            return write_suite(args, format);
        }
        let output = Some(args.output.as_path());
        let pipe = GamePipe::new(files, &args.read, format, output);
        return pipe.run(|read, output| output.write_unchanged(read));
    }
    let mut diagnostics = Diagnostics::new(&args.read.form)?;
    let output = Some(args.output.clone());
    let to = Some(to);
    let output = OutputArgs { output, to, schema: args.schema, force: args.force };
    let mut output = RecordOutput::open_library(&output, &args.write, args.memory.memory_bytes)?;
    output.carry_comments(diagnostics.comments(), CommentOrder::Stream);
    let files = std::slice::from_ref(&args.input);
    output.keep_ledger_of_records(files, &args.read, true)?;
    output.set_about(about);
    // The counts of a library would be wrong without some of its records.
    let mut read = if output.is_library() { args.read.clone() } else { args.read.past_damage() };
    // Tables have columns for evaluations.
    read.form.games.game_evals |=
        matches!(to, Some(FileFormat::Parquet | FileFormat::ParquetAllRecords));
    let reading = Reading::of(files, &read, &mut diagnostics);
    if args.suite {
        let mut unread = 0;
        reading.games(|SourceGame { game, .. }| {
            let record = suite_record(game);
            unread += u64::from(has_unread_command(&record));
            output.write(&record)?;
            Ok(Visited::Taken)
        })?;
        if unread > 0 {
            let games = many(unread, "game");
            note!("epdb: {games} with a comment [%epd ...] that is not EPD: it is written as text");
        }
    } else {
        reading.records(|record, place, game| output.write_position(&record, game, place))?;
    }
    output.finish_with(diagnostics)
}

/// True if a comment that should have operations has become text.
fn has_unread_command(record: &EpdRecord) -> bool {
    let comments =
        record.operations().iter().filter(|it| (Opcode::C0..=Opcode::C9).contains(&it.opcode));
    let mut texts = comments.flat_map(|comment| &comment.operands).map(Operand::text);
    texts.any(|text| memchr::memmem::find(&text, b"[%epd").is_some())
}

/// Writes each record as a game.
fn write_suite(args: &Args, format: GameFormat) -> anyhow::Result<Outcome> {
    let mut diagnostics = Diagnostics::new(&args.read.form)?;
    let files = std::slice::from_ref(&args.input);
    let mut output = GameOutput::open(Some(&args.output), format)?;
    let mut lost = 0;
    let mut first_lost = None;
    Reading::of(files, &args.read, &mut diagnostics).records(|record, place, _| {
        let place = format!("{}:{}", place.source, place.number());
        anyhow::ensure!(
            record.operands(Opcode::TALLY).is_none(),
            "{place}: the record has counts of games: --tree writes one game of all moves, and `epdb \
             search {} --where 'plies > 0' -o FILE.pgn` the games that a library keeps",
            name_of(&args.input)
        );
        let SuiteGame { game, left_out } = suite_game(&record).with_context(|| place.clone())?;
        lost += left_out.len() as u64;
        if let Some(opcode) = left_out.first() {
            first_lost.get_or_insert_with(|| format!("{opcode} of {place}"));
        }
        if let Visited::Refused(refusal) = output.write(&game)? {
            anyhow::bail!("{place}: {}", refusal.message);
        }
        Ok(())
    })?;
    output.finish()?;
    if let Some(first) = first_lost {
        let operations = many(lost, "operation");
        note!("epdb: games cannot hold {operations} exactly; the first is {first}");
    }
    diagnostics.finish()
}

/// Reports lines that the tree from `root` does not have. If the user chose the root, this is on purpose.
fn note_unreached(lines: &Repertoire, root: &Position, is_chosen: bool) {
    let set_up = lines.set_up().filter(|position| **position != root.identity()).count();
    if set_up > 0 {
        note!(
            "epdb: the tree leaves out lines from {}: --chapters keeps them",
            many(set_up as u64, "set-up position")
        );
    } else if !is_chosen {
        let unreached = Paths::from_branches(lines, &[*root]).unreached(lines);
        if unreached > 0 {
            let positions = many(unreached as u64, "position");
            note!(
                "epdb: {positions} that moves do not reach from the start left out: --root names another root"
            );
        }
    }
}

/// Assumed bytes of memory for each move of a tree.
const TREE_MOVE_BYTES: u64 = 64;

fn write_tree(args: &Args, to: FileFormat) -> anyhow::Result<Outcome> {
    let Some(format) = game_format(to, &args.games) else {
        let option = if args.tree.chapters { "--chapters" } else { "--tree" };
        let text = format!("{option} writes games: the output must be .pgn or .pgc");
        return Err(usage(text));
    };
    let TreeArgs { root, depth, once, min_games, chapters, .. } = &args.tree;
    let root = *parse_root(root.as_deref(), &args.read.form)?.end();
    let memory_bytes = args.memory.memory_bytes / 2;
    let mut diagnostics = Diagnostics::new(&args.read.form)?;
    let files = std::slice::from_ref(&args.input);
    let sides = &mut Sides::none();
    let options = TreeOptions {
        depth: depth.unwrap_or(usize::MAX),
        once: *once,
        max_moves: memory_bytes as u64 / TREE_MOVE_BYTES,
    };
    let trees = if *chapters {
        let read = repertoire::read_chapters;
        let chapters = read(files, &args.read, &mut diagnostics, sides, *min_games, memory_bytes)?;
        let others = chapters.all().map(|(_, chapter)| chapter.lines.other_operations()).sum();
        repertoire::note_other_operations(others);
        chapters.all().map(|(_, chapter)| chapter.tree(&options)).collect::<Result<_, _>>()?
    } else {
        let read = repertoire::read;
        let mut lines = read(files, &args.read, &mut diagnostics, sides, *min_games, memory_bytes)?;
        if *min_games <= 1 {
            lines.add_replies(&root)?;
        }
        note_unreached(&lines, &root, args.tree.root.is_some());
        repertoire::note_other_operations(lines.other_operations());
        vec![lines.tree(&root, &options)?]
    };
    let mut output = GameOutput::open(Some(&args.output), format)?;
    for tree in &trees {
        if let Visited::Refused(refusal) = output.write(&tree.game)? {
            anyhow::bail!("{}: {}", args.output.display(), refusal.message);
        }
    }
    output.finish()?;
    let moves = many(trees.iter().map(|tree| tree.moves).sum::<u64>(), "move");
    let references = many(trees.iter().map(|tree| tree.references).sum::<u64>(), "reference");
    let whole = if *chapters { many(trees.len() as u64, "chapter") } else { "a tree".into() };
    note!("epdb: {whole} of {moves}; {references} to positions elsewhere in it");
    diagnostics.finish()
}
