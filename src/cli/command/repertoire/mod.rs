//! `epdb repertoire`: content and gaps of a repertoire.

mod export;
mod print;

use std::path::PathBuf;

use foldhash::{HashMap, HashMapExt};

use crate::cli::args::{MemoryArgs, OutputArgs, ReadArgs, WriteArgs};
use crate::cli::diagnostics::Diagnostics;
use crate::cli::outcome::{Outcome, Usage, usage};
use crate::cli::query_reader::parse_root;
use crate::cli::record_output::RecordOutput;
use crate::cli::repertoire::{self, Sides};
use crate::cli::search_target::SearchTarget;
use crate::cli::source::{Reading, SourceGame, Visited};
use crate::cli::terminal::{many, note};
use crate::cli::values::word_of;
use epdb_chess::codec::query::Query;
use epdb_chess::model::{Color, Position, TallyPart};
use epdb_library::explore::{CellFilter, Entry};
use epdb_library::game_tag::names_player;
use epdb_library::repertoire::{Departures, Finding, GameEnds, Node, Paths, Repertoire};
use export::{Study, TrainerArgs};
use print::{Form, Report};

/// Report the content of a repertoire and its gaps
///
/// A repertoire consists of games with variations, or of records with moves in pm, bm, replies, sm and tally.
/// Moves of your side that are marked $2, $4 or $6, or listed in am, are not candidates. The report lists
/// positions with several candidates of your side, lines that end without an evaluation ([%eval], ce, a NAG
/// from $10 on), and positions that no line from the repertoire's start reaches.
///
/// With -o FILE, the repertoire is written as records; with --chapters, each game has its own
/// records. From the records, `epdb convert` makes one game (--tree) or one per chapter
/// (--chapters).
#[derive(clap::Args, Clone, Debug)]
#[command(
    mut_arg("output", |output| output.help_heading("Writing")),
    after_help = "Examples:
  epdb repertoire white.pgn --side white --against library.epa --games mine.pgn
  epdb repertoire study.pgn --against library.epa --training lines.pgn --cards anki.tsv"
)]
pub(crate) struct Args {
    /// Games with variations, or records with moves; none, or `-`, is standard input
    files: Vec<PathBuf>,
    /// Side of the repertoire, white or black [default: that of the Orientation tags]
    #[arg(long, value_parser = word_of::<Color>(), value_name = "COLOR", hide_possible_values = true)]
    side: Option<Color>,
    /// Begin at this position [default: the start position and set-up positions of games]
    #[arg(long, value_name = "POSITION", conflicts_with_all = ["output", "to"])]
    root: Option<String>,
    /// Report moves of the other side in this library that have no answer in the repertoire, and the share
    /// of games that it covers, if you play all your candidates equally often
    #[arg(long, value_name = "LIB", conflicts_with_all = ["output", "to"])]
    against: Option<PathBuf>,
    /// From tallies, use only moves that were played in at least N games
    #[arg(long, value_name = "N", default_value_t = 1, hide_default_value = true)]
    min_games: u64,
    /// Report where these games leave the repertoire, and by whose move
    #[arg(long, value_name = "FILE", conflicts_with_all = ["output", "to"])]
    games: Vec<PathBuf>,
    /// From --games, use games in which this player has your side; `;` separates spellings
    #[arg(long, value_name = "NAME[;ALIAS...]", value_delimiter = ';')]
    player: Vec<String>,
    #[command(flatten)]
    trainers: TrainerArgs,
    /// With -o, keep each game separate, as a chapter
    #[arg(long)]
    chapters: bool,
    #[command(flatten)]
    form: Form,
    #[command(flatten)]
    read: ReadArgs,
    #[command(flatten)]
    write: WriteArgs,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    memory: MemoryArgs,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let Args { files, read, memory, min_games, .. } = args;
    let mut diagnostics = Diagnostics::new(&read.form)?;
    let mut sides = Sides::named_or_tagged(args.side);
    if args.output.output.is_some() || args.output.to.is_some() {
        let output = RecordOutput::open_library(&args.output, &args.write, memory.memory_bytes)?;
        return write_records(args, output, sides, diagnostics);
    }
    if args.chapters {
        return Err(usage("--chapters is for records: name a file for them, as in -o r.epd"));
    }
    let line = parse_root(args.root.as_deref(), &read.form)?;
    let memory = memory.memory_bytes / 2;
    let lines = repertoire::read(files, read, &mut diagnostics, &mut sides, *min_games, memory)?;
    let study = Study { lines: &lines, roots: args.roots(&lines, *line.end()), side: sides.one()? };
    if !study.roots.iter().any(|root| lines.find(root).is_some()) {
        let root = line.end();
        note!("epdb: the repertoire does not have the position {root}; --root names another");
    }
    if args.trainers.is_given() {
        let tallies = args.tallies(&study, &mut diagnostics)?;
        export::write(&args.trainers, &study, line.moves(), &tallies, memory)?;
        return diagnostics.finish();
    }
    let mut report = args.report(&study, &mut diagnostics)?;
    report.begin_with(line.moves());
    print::print(&args.form, &report)?;
    diagnostics.finish()
}

fn write_records(
    args: &Args,
    mut output: RecordOutput,
    mut sides: Sides,
    mut diagnostics: Diagnostics,
) -> anyhow::Result<Outcome> {
    let Args { files, read, memory, min_games, .. } = args;
    let memory = memory.memory_bytes / 2;
    let mut totals = Totals::default();
    if args.chapters {
        let chapters = repertoire::read_chapters(
            files,
            read,
            &mut diagnostics,
            &mut sides,
            *min_games,
            memory,
        )?;
        for (number, chapter) in chapters.all() {
            let side = args.side.or(chapter.orientation()).ok_or_else(|| {
                let name = chapter.name();
                Usage(format!(
                    "chapter {number} ({name}) has no Orientation tag: name the side, as in --side white"
                ))
            })?;
            chapter.records(number, side).try_for_each(|record| output.write(&record))?;
            totals.add(&chapter.lines);
        }
    } else {
        let lines =
            repertoire::read(files, read, &mut diagnostics, &mut sides, *min_games, memory)?;
        let side =
            if lines.is_empty() { args.side.unwrap_or(Color::White) } else { sides.one()? };
        lines.records(side).try_for_each(|record| output.write(&record))?;
        totals.add(&lines);
    }
    let written = output.finish()?;
    totals.report();
    Ok(diagnostics.finish()?.and(written))
}

/// Counts of written repertoires.
#[derive(Default)]
struct Totals {
    positions: u64,
    marked: u64,
    other_operations: u64,
}

impl Totals {
    fn add(&mut self, lines: &Repertoire) {
        self.positions += lines.len() as u64;
        self.marked += marked(lines) as u64;
        self.other_operations += lines.other_operations();
    }

    fn report(&self) {
        let positions = many(self.positions, "position");
        let marked = many(self.marked, "move");
        note!("epdb: {positions}, {marked} marked as bad");
        repertoire::note_other_operations(self.other_operations);
    }
}

fn marked(lines: &Repertoire) -> usize {
    let branches = lines.nodes().flat_map(|node| &lines.place(node).branches);
    branches.filter(|branch| branch.is_avoided).count()
}

impl Args {
    /// The root that was named, or else the start position and the set-up positions of games.
    fn roots(&self, lines: &Repertoire, root: Position) -> Vec<Position> {
        let set_up = lines.set_up().filter(|_| self.root.is_none());
        std::iter::once(root).chain(set_up.copied()).collect()
    }

    fn report(&self, study: &Study<'_>, diagnostics: &mut Diagnostics) -> anyhow::Result<Report> {
        let Study { lines, roots, side } = study;
        let lines = *lines;
        let side = *side;
        let played = Paths::from_play(lines, roots, side);
        let branches = Paths::from_branches(lines, roots);
        let is_behind = |node: &Node| !played.reaches(*node) && branches.reaches(*node);
        let coverage = match &self.against {
            Some(_) => {
                let tallies = self.tallies(study, diagnostics)?;
                Some(lines.coverage(roots, side, &tallies, self.min_games))
            }
            None => None,
        };
        let games =
            if self.games.is_empty() { None } else { Some(self.departures(study, diagnostics)?) };
        let first = played.reached().first();
        let is_set_up = |node: &&Node| first != Some(&played.root(**node));
        Ok(Report {
            side,
            positions: lines.len(),
            reached: played.reached().len(),
            set_up: roots.len() - 1,
            from_set_up: played.reached().iter().filter(is_set_up).count(),
            behind_marked: lines.nodes().filter(is_behind).count(),
            marked: marked(lines),
            findings: lines.report(side, roots),
            coverage,
            games,
        })
    }

    /// Arguments for reading sources that are not part of the repertoire: without the filter.
    fn read_all(&self) -> ReadArgs {
        let mut read = self.read.clone();
        read.wanted.filter = None;
        read
    }

    /// The tallies of a library for positions with the other side to move; empty without a library.
    fn tallies(
        &self,
        study: &Study<'_>,
        diagnostics: &mut Diagnostics,
    ) -> anyhow::Result<HashMap<Node, TallyPart>> {
        let Study { lines, roots, side } = study;
        let Some(path) = &self.against else { return Ok(HashMap::new()) };
        let read = self.read_all();
        let memory_bytes = self.memory.memory_bytes / 2;
        let library = SearchTarget::open(path, &read, memory_bytes)?;
        let nodes = lines.of_other_side(roots, *side);
        let queries: Vec<Query> =
            nodes.iter().map(|&node| Query::from(&lines.place(node).position)).collect();
        let records = library.records(&queries, &read, memory_bytes, diagnostics)?;
        let mut tallies = HashMap::new();
        for (node, records) in nodes.into_iter().zip(&records) {
            let entry = Entry::from_records(records)?;
            let games = entry.and_then(|entry| entry.games(&CellFilter::default()));
            tallies.extend(games.map(|games| (node, games)));
        }
        Ok(tallies)
    }

    fn departures(
        &self,
        study: &Study<'_>,
        diagnostics: &mut Diagnostics,
    ) -> anyhow::Result<(GameEnds, Vec<Finding>)> {
        let mut departures = Departures::new(study.lines, &study.roots, study.side);
        let name = if study.side == Color::White { "White" } else { "Black" };
        diagnostics.watch_player(&self.player, Some(study.side));
        Reading::of(&self.games, &self.read_all(), diagnostics).games(
            |SourceGame { game, place, .. }| {
                let player = game.tag(name).unwrap_or_default().as_bytes();
                let is_wanted = |name: &String| names_player(player, name.trim().as_bytes());
                if self.player.is_empty() || self.player.iter().any(is_wanted) {
                    departures.add(game, &place.to_string());
                }
                Ok(Visited::Taken)
            },
        )?;
        Ok((departures.ends(), departures.findings()))
    }
}
