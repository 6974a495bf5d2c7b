//! `epdb repertoire`: content and gaps of a repertoire.

mod print;

use std::path::PathBuf;

use anyhow::Context;
use foldhash::{HashMap, HashMapExt};

use crate::cli::args::{MemoryArgs, OutputArgs, ReadArgs, WriteArgs};
use crate::cli::diagnostics::Diagnostics;
use crate::cli::games::read_repertoire;
use crate::cli::outcome::Outcome;
use crate::cli::query_reader::parse_root;
use crate::cli::record_output::RecordOutput;
use crate::cli::search_target::SearchTarget;
use crate::cli::source::{Reading, Visited};
use crate::cli::terminal::note;
use crate::cli::values::word_of;
use epdb::codec::query::Query;
use epdb::library::explore::{CellFilter, Entry};
use epdb::library::game_tag::names_player;
use epdb::library::repertoire::{Departures, Finding, GameEnds, Node, Paths, Repertoire};
use epdb::model::{Color, Position, TallyPart};
use print::{Form, Report};

/// Report the content of a repertoire and its gaps
///
/// Lines are games with variations, or the moves in pm, bm, replies, sm and tally of records;
/// transpositions are merged. Your own moves marked $2, $4 or $6, or am, are not candidates.
/// Reported are positions with several candidates of your side, lines that end without an
/// evaluation ([%eval], ce, a NAG from $10 on), and positions that are not reached by candidates
/// and the other side's moves.
///
/// With -o the repertoire is written instead, one record per position: candidates as bm (the first
/// of several also as pm), marked moves as am, the other side's moves as replies, comments as c0.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Examples:
  epdb repertoire white.pgn --side white --against library.epa --games mine.pgn
  epdb repertoire white.pgn --side white -o white.epd")]
pub(crate) struct Args {
    /// Games with variations, or records with moves; none, or `-`, is standard input
    files: Vec<PathBuf>,
    /// Side that the repertoire is for, white or black
    #[arg(long, value_parser = word_of::<Color>(), value_name = "COLOR", hide_possible_values = true)]
    side: Color,
    /// Root position of the repertoire [default: the start position]
    #[arg(long, value_name = "POSITION", conflicts_with_all = ["output", "to"])]
    root: Option<String>,
    /// Report moves of the other side in this library that have no answer, and the share of games
    /// that are answered throughout, if all candidates are played equally often
    #[arg(long, value_name = "LIB", conflicts_with_all = ["output", "to"])]
    against: Option<PathBuf>,
    /// Only tally moves played in at least N games
    #[arg(long, value_name = "N", default_value_t = 1, hide_default_value = true)]
    min_games: u64,
    /// Report where these games leave the repertoire, and by whose move
    #[arg(long, value_name = "FILE", conflicts_with_all = ["output", "to"])]
    games: Vec<PathBuf>,
    /// Only games in which this player has the side; separate spellings with semicolons
    #[arg(long, value_name = "NAME[;ALIAS...]", value_delimiter = ';', requires = "games")]
    player: Vec<String>,
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
    let Args { files, read, side, memory, .. } = args;
    let line = parse_root(args.root.as_deref(), &read.form)?;
    let root = *line.end();
    let mut diagnostics = Diagnostics::new(&read.form)?;
    let is_written = args.output.output.is_some() || args.output.to.is_some();
    let mut output = match is_written {
        true => Some(RecordOutput::open_library(&args.output, &args.write, memory.memory_bytes)?),
        false => None,
    };
    let lines = read_repertoire(
        files,
        read,
        &mut diagnostics,
        Some(*side),
        args.min_games,
        memory.memory_bytes / 2,
    )?;
    if let Some(mut output) = output.take() {
        for record in lines.records(*side) {
            output.write(&record)?;
        }
        let written = output.finish()?;
        note!("epdb: {} positions, {} moves marked as bad", lines.len(), marked(&lines));
        if lines.judged_moves() > 0 {
            note!("epdb: {} NAGs of moves left out", lines.judged_moves());
        }
        if lines.other_operations() > 0 {
            note!("epdb: {} other operations left out", lines.other_operations());
        }
        return Ok(diagnostics.finish()?.and(written));
    }
    let mut report = args.report(&lines, &root, &mut diagnostics)?;
    report.begin_with(line.moves());
    if lines.find(&root).is_none() {
        note!("epdb: the repertoire does not have the position {root}; --root names another");
    }
    print::print(&args.form, &report)?;
    diagnostics.finish()
}

fn marked(lines: &Repertoire) -> usize {
    let branches = lines.nodes().flat_map(|node| &lines.place(node).branches);
    branches.filter(|branch| branch.is_avoided).count()
}

impl Args {
    fn report(
        &self,
        lines: &Repertoire,
        root: &Position,
        diagnostics: &mut Diagnostics,
    ) -> anyhow::Result<Report> {
        let played = Paths::from_play(lines, root, self.side);
        let branches = Paths::from_branches(lines, root);
        let is_behind = |node: &Node| !played.reaches(*node) && branches.reaches(*node);
        let coverage = match &self.against {
            Some(_) => {
                let tallies = self.tallies(lines, root, diagnostics)?;
                Some(lines.coverage(root, self.side, &tallies, self.min_games))
            }
            None => None,
        };
        let games = match self.games.is_empty() {
            true => None,
            false => Some(self.departures(lines, root, diagnostics)?),
        };
        Ok(Report {
            side: self.side,
            positions: lines.len(),
            reached: played.reached().len(),
            behind_marked: lines.nodes().filter(is_behind).count(),
            marked: marked(lines),
            findings: lines.report(self.side, root),
            coverage,
            games,
        })
    }

    /// Arguments of reading for what is no part of the repertoire.
    fn read_all(&self) -> ReadArgs {
        let mut read = self.read.clone();
        read.wanted.filter = None;
        read
    }

    /// Library data of the positions in which the other side is to move.
    fn tallies(
        &self,
        lines: &Repertoire,
        root: &Position,
        diagnostics: &mut Diagnostics,
    ) -> anyhow::Result<HashMap<Node, TallyPart>> {
        let path = self.against.as_deref().context("a library")?;
        let (read, memory_bytes) = (self.read_all(), self.memory.memory_bytes / 2);
        let library = SearchTarget::open(path, &read, memory_bytes)?;
        let nodes = lines.of_other_side(root, self.side);
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
        lines: &Repertoire,
        root: &Position,
        diagnostics: &mut Diagnostics,
    ) -> anyhow::Result<(GameEnds, Vec<Finding>)> {
        let mut departures = Departures::new(lines, root, self.side);
        let name = if self.side == Color::White { "White" } else { "Black" };
        Reading::of(&self.games, &self.read_all(), diagnostics).games(|game, place| {
            let player = game.tag(name).unwrap_or_default().as_bytes();
            let is_wanted = |name: &String| names_player(player, name.trim().as_bytes());
            if self.player.is_empty() || self.player.iter().any(is_wanted) {
                departures.add(game, &place.to_string());
            }
            Ok(Visited::Taken)
        })?;
        Ok((departures.ends(), departures.findings()))
    }
}
