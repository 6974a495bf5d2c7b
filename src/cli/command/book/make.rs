//! `epdb book make` and `epdb book merge`: books from games, and one book from several.

use std::ops::ControlFlow;
use std::path::PathBuf;

use crate::cli::args::{MemoryArgs, ReadArgs};
use crate::cli::command::book::info::open;
use crate::cli::command::tally::{TallyArgs, report};
use crate::cli::diagnostics::Diagnostics;
use crate::cli::json;
use crate::cli::outcome::Outcome;
use crate::cli::output::{open_binary_output, print_line};
use crate::cli::repertoire::{self, Sides};
use crate::cli::source::Reading;
use crate::cli::terminal::{many, note, print_error};
use epdb_base::new_file::folder_of;
use epdb_chess::codec::polyglot::{Book, Writer};
use epdb_chess::codec::record;
use epdb_chess::model::Color;
use epdb_library::book::{BookMaker, MakeOptions, Merge, merge as merged, repertoire_entries};
use epdb_library::tally::{TallyBuilder, TallyOptions, TallyOrder};
use epdb_source::{Item, Output};

/// Make an opening book from games, or from the tallies of a library
///
/// A move gets two points of weight for each game that its side won, and one point for each draw
/// and each game without a result, as in Polyglot. Polyglot also counts repeated games and positions; --keep-duplicates and --count-repeats do the
/// same. The command line of Polyglot, `epdb make-book -pgn A -bin B`, sets both options, and takes
/// -min-score in percent (`-min-score 45`). The options of `epdb tally` for counting work with this command
/// too.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Examples:
  epdb book make games.pgn -o book.bin --max-ply 40
  epdb book make library.epa -o white.bin --only-white --min-games 10 --min-score 0.45
  epdb book make --repertoire lines.pgn --side white -o white.bin")]
pub(crate) struct MakeArgs {
    /// Games, or records with tallies; none, or `-`, is standard input
    files: Vec<PathBuf>,
    /// The book that is written; it appears only when it is complete
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Use only moves played in at least N games
    #[arg(long, value_name = "N", default_value_t = 3)]
    min_games: u64,
    /// Use only moves that scored at least this share of the points, such as 0.45 or 45%
    #[arg(long, value_name = "SHARE", value_parser = parse_share, default_value = "0")]
    min_score: f64,
    /// Give all moves weight 1
    #[arg(long)]
    uniform: bool,
    /// Print the numbers of entries and positions as a JSON object on standard output
    #[arg(long)]
    json: bool,
    /// Use only positions with White to move
    #[arg(long)]
    only_white: bool,
    /// Use only positions with Black to move
    #[arg(long, conflicts_with = "only_white")]
    only_black: bool,
    /// Read the files as a repertoire (`epdb help repertoire`), and use all candidate moves of one side. The
    /// side is given by --side or by Orientation tags. The first move has weight 2, the others have weight 1
    #[arg(long,
          conflicts_with_all = ["min_games", "min_score", "only_white", "only_black", "by", "max_ply",
                                "player", "standard_only", "same_game", "keep_duplicates",
                                "count_repeats", "keep_games"])]
    repertoire: bool,
    #[command(flatten)]
    tally: TallyArgs,
    #[command(flatten)]
    read: ReadArgs,
    #[command(flatten)]
    memory: MemoryArgs,
}

/// Reads a share of 0 to 1, or a percentage with its sign.
fn parse_share(text: &str) -> Result<f64, String> {
    let (number, whole) = match text.strip_suffix('%') {
        Some(percentage) => (percentage, 100.0),
        None => (text, 1.0),
    };
    let share = number.parse::<f64>().ok().filter(|number| (0.0..=whole).contains(number));
    let expected = "expected a share from 0 to 1, such as 0.45, or a percentage from 0% to 100%";
    share.map(|number| number / whole).ok_or_else(|| expected.to_string())
}

impl MakeArgs {
    fn options(&self) -> MakeOptions {
        let only = match (self.only_white, self.only_black) {
            (true, _) => Some(Color::White),
            (_, true) => Some(Color::Black),
            _ => None,
        };
        let min_games = self.min_games;
        let min_score = self.min_score;
        MakeOptions { min_games, min_score, uniform: self.uniform, only }
    }
}

pub(crate) fn make(args: &MakeArgs) -> anyhow::Result<Outcome> {
    let mut diagnostics = Diagnostics::new(&args.read.form)?;
    let output = open_binary_output(&args.output, "an opening book")?;
    if args.repertoire {
        return of_repertoire(args, diagnostics, output);
    }
    let directory = folder_of(&args.output);
    let memory_bytes = args.memory.memory_bytes / 2;
    let mut maker = BookMaker::new(args.options(), &directory, memory_bytes);
    let options = TallyOptions { polyglot_en_passant: true, ..args.tally.options() };
    let mut builder = TallyBuilder::new(options, directory, memory_bytes);
    let mut bytes = Vec::new();
    diagnostics.watch_player(&args.tally.player, args.tally.side);
    Reading::of(&args.files, &args.read, &mut diagnostics).games_as_items().items(|item| {
        if let Item::Record { record, .. } = &item {
            bytes.clear();
            record::encode(record, &mut bytes)?;
            maker.add(&bytes)?;
        }
        builder.take_item(&item, args.read.form.games.truncate_games)?;
        Ok(ControlFlow::Continue(()))
    })?;
    let merged = builder.take_merged_games()?;
    let counts = builder
        .finish(TallyOrder::Key, &mut |batch| batch.each(&mut |record| maker.add(record)))?;
    if counts.games + counts.left_out > 0 {
        report("epdb", &counts, &merged);
    }
    if maker.without_tally() > 0 {
        note!("epdb: {} without a tally left out", many(maker.without_tally(), "record"));
    }
    let mut writer = Writer::new(output);
    let mut positions = 0_u64;
    let rare = maker.finish(&mut |entries| {
        positions += u64::from(!entries.is_empty());
        Ok(writer.write_position(entries)?)
    })?;
    let limit = many(args.min_games, "game");
    let left_out = format!("{} in fewer than {limit} (--min-games)", many(rare, "move"));
    let score = match args.min_score {
        0.0 => "without points".to_string(),
        share => format!("with less than {}% of the points (--min-score)", 100.0 * share),
    };
    let reason = if rare > 0 {
        format!(
            "{left_out} and all moves {score} are left out; --repertoire takes the moves of a repertoire"
        )
    } else {
        format!(
            "a book consists of moves, and none was played here, or only moves {score}; give games with \
             moves or a library, or --repertoire for records with moves"
        )
    };
    let entries = writer.entries();
    let written = finish_book(writer, &reason)?;
    if entries > 0 {
        report_made(args, entries, positions)?;
        if rare > 0 {
            note!("epdb: {left_out} left out");
        }
    }
    Ok(diagnostics.finish()?.and(written))
}

/// Completes a book. A book without an entry is not written, because it would replace a good one.
fn finish_book(writer: Writer<Output>, reason: &str) -> anyhow::Result<Outcome> {
    if writer.entries() == 0 {
        print_error(&format!("the book would be empty, so nothing is written: {reason}"));
        return Ok(Outcome::Different);
    }
    writer.finish()?.finish()?;
    Ok(Outcome::Done)
}

fn report_made(args: &MakeArgs, entries: u64, positions: u64) -> anyhow::Result<()> {
    note!("epdb: {} of {}", many(entries, "entry"), many(positions, "position"));
    if !args.json {
        return Ok(());
    }
    let file = args.output.display().to_string();
    print_line(serde_json::to_string(&json::BookMade { file, entries, positions })?)
}

fn of_repertoire(
    args: &MakeArgs,
    mut diagnostics: Diagnostics,
    output: Output,
) -> anyhow::Result<Outcome> {
    let MakeArgs { files, read, memory, uniform, .. } = args;
    let mut sides = Sides::named_or_tagged(args.tally.side);
    let lines =
        repertoire::read(files, read, &mut diagnostics, &mut sides, 1, memory.memory_bytes)?;
    let side = sides.one()?;
    let mut writer = Writer::new(output);
    for entry in &repertoire_entries(&lines, side, *uniform) {
        writer.write(entry)?;
    }
    let entries = writer.entries();
    let written = finish_book(writer, "the repertoire has no move of this side")?;
    if entries > 0 {
        report_made(args, entries, lines.len() as u64)?;
    }
    Ok(diagnostics.finish()?.and(written))
}

/// Merge several books into one
///
/// A position found in only one book keeps its entries. A position found in several books gets the
/// moves of all these books, with their weights added, as in Polyglot 2.0.4. With --first, the
/// position gets only the entries of the first of these books, as in Polyglot 1.4. The command line
/// of Polyglot works too: `epdb merge-book -in1 A -in2 B -out C`.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Examples:
  epdb book merge 2023.bin 2024.bin 2025.bin -o years.bin
  epdb book merge --first mine.bin theirs.bin -o mine-first.bin")]
pub(crate) struct MergeArgs {
    /// Books to merge; `-` is standard input
    #[arg(value_name = "BOOK", required = true, num_args = 2..)]
    books: Vec<PathBuf>,
    /// Combine the moves of all books and add their weights (default); if a sum exceeds 65535, all
    /// weights of the position are scaled down
    #[arg(long)]
    add: bool,
    /// Keep only the entries of the first book that has the position
    #[arg(long, conflicts_with = "add")]
    first: bool,
    /// The book that is written; it appears only when it is complete
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

pub(crate) fn merge(args: &MergeArgs) -> anyhow::Result<Outcome> {
    let how = if args.first { Merge::First } else { Merge::Add };
    let mut whole = Book::default();
    let mut shared = 0;
    let mut scaled = 0;
    for path in &args.books {
        let merged = merged(&whole, &open(path)?, how);
        whole = merged.book;
        shared += merged.shared;
        scaled += merged.scaled;
    }
    let mut writer = Writer::new(open_binary_output(&args.output, "an opening book")?);
    whole.entries().iter().try_for_each(|entry| writer.write(entry))?;
    let entries = writer.entries();
    let written = finish_book(writer, "no book has an entry")?;
    let what = if args.first { "taken from the first" } else { "added up" };
    let entries = many(entries, "entry");
    let shared = many(shared, "position");
    note!("epdb: {entries}; {shared} of several books {what}");
    if scaled > 0 {
        note!("epdb: the weights of {} were brought down to 65535", many(scaled, "position"));
    }
    Ok(written)
}
