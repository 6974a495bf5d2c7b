//! `epdb explore`: moves and results of a position in a library.

mod table;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::cli::args::{CellArgs, MemoryArgs, ReadArgs};
use crate::cli::command::classify::read_names;
use crate::cli::diagnostics::Diagnostics;
use crate::cli::outcome::{Outcome, usage};
use crate::cli::output::open_output;
use crate::cli::search_target::SearchTarget;
use crate::cli::terminal::{many, print_line};
use crate::cli::values::word_of;
use crate::cli::{json, query_reader};
use epdb_chess::codec::packed::PackedBoard;
use epdb_chess::codec::query::Query;
use epdb_chess::model::{EpdRecord, Position, San};
use epdb_chess::text::{ParseOptions, PositionLine, Profile};
use epdb_library::explore::object::{PositionObject, Shown};
use epdb_library::explore::{self, CellFilter, ExploreOptions, Explored, SortBy};
use epdb_library::question;
use epdb_source::name_of;

/// Show the moves of a position in a library, with their results
///
/// A row has the games of a move and their share; White's wins, draws and losses; the mover's score
/// s; the mean ratings of both sides; the mover's performance (the opponents' rating + 400 log10(s
/// / (1 - s)), at most 800 from that rating); years; the mover's ce; `reached` (games that reach
/// the next position by any moves). Rows of books show weights. Exit status 1 if the position is
/// not found.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Examples:
  epdb explore library.epdb e4 c5 Nf3 --sort score --min-games 20
  epdb explore library.epdb 'rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq -' --parents")]
pub(crate) struct Args {
    /// Library: a store, an archive, other records, or up to 100,000 games to count
    #[arg(value_name = "SOURCE")]
    source: PathBuf,
    /// A FEN, `startpos moves e2e4 ...`, or moves such as e4 c5 Nf3 [default: the start]
    #[arg(value_name = "POSITION")]
    position: Vec<String>,
    /// Sort the moves by this, largest value first: games (default), score (the mover's), white,
    /// draws, black, elo, performance, reached, ce; or by name
    #[arg(long, value_parser = word_of::<SortBy>(), default_value = "games", value_name = "BY",
          hide_default_value = true, hide_possible_values = true)]
    sort: SortBy,
    /// Show at most N moves per position
    #[arg(short = 'n', long, alias = "moves", value_name = "N")]
    limit: Option<usize>,
    /// Show only moves played in at least N games
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    min_games: u64,
    /// Also show unplayed moves that lead to records, and the operations of the records reached
    #[arg(long)]
    children: bool,
    /// Instead of moves, show the positions from which a legal move leads to this position
    #[arg(long, conflicts_with_all = ["children", "depth", "sort"])]
    parents: bool,
    /// Show a tree of moves, this many plies deep
    #[arg(long, value_name = "PLIES", default_value_t = 1, hide_default_value = true,
          value_parser = clap::value_parser!(u32).range(1..))]
    depth: u32,
    /// Compare the numbers of each move with those of another library
    #[arg(long, value_name = "SOURCE", conflicts_with_all = ["parents", "depth"])]
    vs: Option<PathBuf>,
    /// Take names of openings from this table or folder (see `epdb help classify`)
    #[arg(long, value_name = "FILE")]
    openings: Vec<PathBuf>,
    #[command(flatten)]
    cells: CellArgs,
    /// Print a table separated by tabs
    #[arg(long, conflicts_with = "json", help_heading = None::<&str>)]
    tsv: bool,
    /// Print JSON in the format of the lichess.org opening explorer
    #[arg(long, help_heading = None::<&str>)]
    json: bool,
    #[command(flatten)]
    read: ReadArgs,
    #[command(flatten)]
    memory: MemoryArgs,
}

impl Args {
    fn options(&self) -> ExploreOptions {
        ExploreOptions {
            cells: self.cells.filter(),
            sort: self.sort,
            limit: self.limit,
            min_games: self.min_games,
            children: self.children,
        }
    }
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    refuse_tables(args)?;
    let line = query_reader::parse_position(&args.position, &args.read.form.options())?;
    let names = read_names(&args.openings)?;
    let mut diagnostics = Diagnostics::new(&args.read.form)?;
    let mut searcher = Searcher::open(&args.source, args, &mut diagnostics)?;
    searcher.prepare(&line)?;
    let options = args.options();
    let can_ask_on = searcher.can_ask_on();
    let is_indexed = searcher.is_indexed();
    let ask = &mut |queries: &[Query]| searcher.ask(queries);
    // Together with the parents, the moves of a position are only in JSON.
    let depth = if args.parents && !args.json { 0 } else { args.depth };
    let explored = explore::explore(line.end(), depth, &options, ask)?;
    let parents =
        if args.parents { Some(explore::parents(line.end(), &options, ask)?) } else { None };
    let is_there = explored.entry.is_some();
    let opening = if is_there && is_indexed {
        names.nearest(&line, &options.cells, ask)?
    } else {
        names.last_on_line(&line)
    };
    let missing = if is_there { None } else { Some(missing(args, &line, can_ask_on, ask)?) };
    let other = args.vs.as_ref().map(|other| {
        let mut searcher = Searcher::open(other, args, &mut diagnostics)?;
        searcher.prepare(&line)?;
        let options =
            ExploreOptions { cells: args.cells.filter(), sort: args.sort, ..Default::default() };
        explore::explore(line.end(), 1, &options, &mut |queries| searcher.ask(queries))
    });
    let other = other.transpose()?;
    check_compared(args, &explored, other.as_ref())?;
    let shown = Shown {
        explored: &explored,
        parents: parents.as_deref(),
        names: &names,
        opening,
        other: other.as_ref(),
    };
    print(args, &shown)?;
    if let Some(missing) = missing {
        print_line(&missing);
    }
    note_no_games(args, &explored);
    Ok(diagnostics.finish()?.and(Outcome::different_if(!is_there)))
}

/// Reports that the filters exclude all games of the position.
fn note_no_games(args: &Args, explored: &Explored) {
    let cells = args.cells.filter();
    let all = explored.entry.as_ref().and_then(|entry| entry.games(&CellFilter::default()));
    let Some(all) = all.filter(|_| !cells.is_empty()) else { return };
    if all.reached > 0 && explored.games.as_ref().is_some_and(|games| games.reached == 0) {
        let filters = cells.asks_by().collect::<Vec<_>>().join(" and ");
        let all = many(all.reached, "game");
        print_line(&format!(
            "{}: none of {all} of this position passes the filter by {filters}",
            name_of(&args.source)
        ));
    }
}

/// Refuses to compare records that have neither a tally nor the weights of a book.
fn check_compared(
    args: &Args,
    explored: &Explored,
    other: Option<&Explored>,
) -> anyhow::Result<()> {
    let (Some(path), Some(other)) = (&args.vs, other) else { return Ok(()) };
    for (path, side) in [(&args.source, explored), (path, other)] {
        anyhow::ensure!(
            side.entry.is_none() || side.games.is_some() || side.weight.is_some(),
            "{}: the position has no tally: --vs compares games, or the weights of opening books",
            name_of(path)
        );
    }
    Ok(())
}

/// Refuses a table of openings among the words of the position.
fn refuse_tables(args: &Args) -> anyhow::Result<()> {
    let is_table = |word: &&String| word.ends_with(".tsv") && Path::new(word).is_file();
    match args.position.iter().find(is_table) {
        Some(table) => Err(usage(format!(
            "{table} is a table, not a move: write --openings before each table, or name their folder"
        ))),
        None => Ok(()),
    }
}

fn print(args: &Args, shown: &Shown<'_>) -> anyhow::Result<()> {
    let Shown { explored, parents, .. } = *shown;
    let table = || parents.map_or_else(|| table::moves(shown), table::parents);
    if args.json || args.tsv {
        let mut out = open_output(None)?;
        if args.json {
            json::line(&mut out, &PositionObject::new(shown))?
        } else {
            table().write_tsv(&mut out)?
        }
        return Ok(out.finish()?);
    }
    let is_empty = explored.entry.is_none() && explored.rows.is_empty();
    if is_empty && parents.is_none() && shown.other.is_none() {
        return Ok(());
    }
    let mut text = String::new();
    table::add_head(shown, &mut text);
    // Without a tally and rows, there is nothing to sum.
    let has_rows = explored.games.is_some() || !explored.rows.is_empty();
    if has_rows || parents.is_some() || shown.other.is_some() {
        table().add_text(&mut text);
    }
    if explored.left_out > 0 && parents.is_none() {
        text += &format!("{} more moves\n", explored.left_out);
    }
    table::add_operations(explored, &mut text);
    table::print(explored, &text)
}

/// The message that a position was not found. The message also names the last position before it that
/// was found.
fn missing(
    args: &Args,
    line: &PositionLine,
    can_ask_on: bool,
    ask: &mut explore::Ask<'_, anyhow::Error>,
) -> anyhow::Result<String> {
    let before: Vec<&Position> =
        (0..line.moves().len()).filter_map(|moves| line.position(moves)).collect();
    let queries: Vec<Query> = before.iter().map(|&position| Query::from(position)).collect();
    let nearest = ask(&queries)?.iter().rposition(|records| !records.is_empty());
    let nearest = match nearest {
        Some(0) => format!("; the nearest earlier position in it is {}", before[0]),
        Some(moves) => {
            let names: Vec<String> = line.moves()[..moves].iter().map(San::to_string).collect();
            let names = names.join(" ");
            format!(
                "; the nearest earlier position in it is the one after {names}: {}",
                before[moves]
            )
        }
        None if before.is_empty() && can_ask_on => other_rights(line.end(), ask)?,
        None if before.is_empty() => String::new(),
        None => "; nor is any earlier position".to_string(),
    };
    Ok(format!("{}: position not found: {}{nearest}", name_of(&args.source), line.end()))
}

/// Lists the positions of the source that differ from a position only in castling rights.
fn other_rights(
    position: &Position,
    ask: &mut explore::Ask<'_, anyhow::Error>,
) -> anyhow::Result<String> {
    let fen = position.to_string();
    let mut fields = fen.split(' ');
    let (Some(board), Some(turn)) = (fields.next(), fields.next()) else {
        return Ok(String::new());
    };
    let letters = |bits: u32| {
        let rights = "KQkq".char_indices().filter(|(place, _)| bits >> place & 1 == 1);
        rights.map(|(_, letter)| letter).collect::<String>()
    };
    let mut others: Vec<Position> = Vec::new();
    for bits in (0..16).rev() {
        let rights = if bits == 0 { "-".into() } else { letters(bits) };
        let line = format!("{board} {turn} {rights} -");
        let parsed = question::parse(line.as_bytes(), &ParseOptions::new(Profile::Standard));
        others.extend(parsed.ok().flatten().filter(|other| {
            let is_same = |one: &Position| one.identity() == other.identity();
            !is_same(position) && !others.iter().any(is_same)
        }));
    }
    let queries: Vec<Query> = others.iter().map(Query::from).collect();
    let found = ask(&queries)?;
    let found = others.iter().zip(found).filter(|(_, records)| !records.is_empty());
    let found: Vec<String> = found.map(|(other, _)| other.to_string()).collect();
    Ok(match found.as_slice() {
        [] => String::new(),
        found => format!("; with other castling rights it has {}", found.join(" and ")),
    })
}

/// Finds records in the source.
struct Searcher<'a> {
    source: SearchTarget,
    args: &'a Args,
    diagnostics: &'a mut Diagnostics,
    /// Records that were found in advance.
    known: HashMap<PackedBoard, Vec<EpdRecord>>,
}

impl<'a> Searcher<'a> {
    fn open(
        source: &Path,
        args: &'a Args,
        diagnostics: &'a mut Diagnostics,
    ) -> anyhow::Result<Searcher<'a>> {
        let memory = args.memory.memory_bytes;
        let source = SearchTarget::open_or_count(source, &args.read, memory, diagnostics)?;
        Ok(Searcher { source, args, diagnostics, known: HashMap::new() })
    }

    /// Whether a search does not read the whole source.
    const fn is_indexed(&self) -> bool {
        !matches!(self.source, SearchTarget::Scan(_))
    }

    /// Whether the source can be searched again.
    fn can_ask_on(&self) -> bool {
        match &self.source {
            SearchTarget::Lookup(_) | SearchTarget::Counted(_) => true,
            SearchTarget::Scan(source) => source.can_be_read_again(),
        }
    }

    /// Finds all records of the line in advance if the source can be read only once. A source at an address
    /// receives what the lookups of the last position and its moves read.
    fn prepare(&mut self, line: &PositionLine) -> anyhow::Result<()> {
        if let SearchTarget::Lookup(source) | SearchTarget::Counted(source) = &self.source {
            explore::prefetch(source, line.end());
            return Ok(());
        }
        let mut queries = explore::neighbourhood(line.end());
        let on_the_way = (0..line.moves().len()).filter_map(|moves| line.position(moves));
        queries.extend(on_the_way.map(Query::from));
        if self.args.parents {
            let predecessors = explore::predecessors(line.end());
            queries.extend(predecessors.iter().map(|it| Query::from(&it.position)));
        }
        let records = self.search(&queries)?;
        self.known = queries.iter().map(|query| *query.board()).zip(records).collect();
        Ok(())
    }

    fn ask(&mut self, queries: &[Query]) -> anyhow::Result<Vec<Vec<EpdRecord>>> {
        let known = queries.iter().map(|query| self.known.get(query.board()).cloned());
        match known.collect() {
            Some(records) => Ok(records),
            None => self.search(queries),
        }
    }

    fn search(&mut self, queries: &[Query]) -> anyhow::Result<Vec<Vec<EpdRecord>>> {
        if let SearchTarget::Scan(source) = &self.source
            && !self.known.is_empty()
            && !source.can_be_read_again()
        {
            anyhow::bail!("{} can be read only once: name a file", name_of(&source.path));
        }
        let Args { read, memory, .. } = self.args;
        self.source.records(queries, read, memory.memory_bytes, self.diagnostics)
    }
}
