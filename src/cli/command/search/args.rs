//! The arguments of `epdb search`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::cli::args::{GameWriteArgs, MemoryArgs, ReadArgs};
use crate::cli::games::{GameOutput, game_format};
use crate::cli::outcome::Usage;
use crate::cli::terminal::note;
use crate::cli::values::{is_position, word_of};
use epdb_chess::model::Color;
use epdb_library::expression::Expression;
use epdb_library::kept_games::ListOrder;
use epdb_library::scoutfish;
use epdb_library::search::Player;
use epdb_source::FileFormat;

/// Find games by their positions, and show what became of them
///
/// With --where (see `epdb help where`), prints the games for which the expression is true, each with its first
/// matching position (its FEN with --tsv and --json), then totals: results, next moves, openings, years and
/// ratings (groups of 100 points by the mean of both). Of a library, only the games that it keeps are searched
/// (tally --keep-games), and the totals say how many these are. Without kept games, only visits are counted: one
/// at each matching position.
///
/// Without --where, prints the games that reached the position after SOURCE, and their totals: a FEN, `startpos
/// moves e2e4 ...`, or moves such as e4 c5 [default: the start]; of copies of a game, one counts. With --where or
/// --player, copies count each, and the summary says how many there are.
///
/// Exit status 1 if no games are found, or if games were rejected or cut short.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Examples:
  epdb search games.pgn --where \"on('p', 'c5') and moved('N')\"
  epdb search games.pgn --where \"line('d4 cxd4')\" -o open_sicilian.pgn
  epdb search games.pgn e4 c5 --player 'Carlsen, M' --side white
  epdb search library.epa e4 c5 Nf3 --sort date -n 5")]
pub(crate) struct Args {
    /// Games or libraries; or one of them and then a position
    #[arg(value_name = "SOURCE", required = true)]
    pub(super) files: Vec<PathBuf>,
    /// Search by a query of scoutfish, which is in this file
    #[arg(long, value_name = "FILE", conflicts_with = "filter")]
    pub(super) scoutfish: Option<PathBuf>,
    /// Search only games of this player, and count the player's points
    #[arg(long, value_name = "NAME[;ALIAS...]", value_delimiter = ';')]
    pub(super) player: Vec<String>,
    /// Search only games in which --player has this colour, white or black
    #[arg(long, value_parser = word_of::<Color>(), value_name = "COLOR", hide_possible_values = true)]
    pub(super) side: Option<Color>,
    /// Show first the best rated games (rating, default without --where) or the latest games (date)
    #[arg(long, alias = "top", value_parser = word_of::<ListOrder>(), value_name = "BY", hide_possible_values = true)]
    pub(super) sort: Option<ListOrder>,
    /// Show at most N games [default: 10; all games with -o]
    #[arg(short = 'n', long, alias = "most", value_name = "N")]
    pub(super) limit: Option<usize>,
    /// Write the games to a file (.pgn, .pgc) instead; `-` is PGN on standard output
    #[arg(short, long, value_name = "FILE", conflicts_with_all = ["tsv", "json"])]
    pub(super) output: Option<PathBuf>,
    /// Print the table of games separated by tabs, without totals
    #[arg(long, conflicts_with = "json")]
    pub(super) tsv: bool,
    /// Print one JSON object per game, then one with the totals
    #[arg(long)]
    pub(super) json: bool,
    #[command(flatten)]
    pub(super) read: ReadArgs,
    #[command(flatten)]
    pub(super) games: GameWriteArgs,
    #[command(flatten)]
    pub(super) memory: MemoryArgs,
}

impl Args {
    /// Maximum number of games that are shown or written.
    pub(super) fn limit(&self) -> usize {
        const SHOWN: usize = 10;
        self.limit.unwrap_or(if self.output.is_some() { usize::MAX } else { SHOWN })
    }

    /// The expression of --where or --scoutfish.
    pub(super) fn expression(&self) -> anyhow::Result<Option<Expression>> {
        let Some(path) = &self.scoutfish else { return Ok(self.read.wanted.filter.clone()) };
        let query =
            fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        let parsed = scoutfish::parse(&query);
        let parsed = parsed.map_err(|error| Usage(format!("{}: {error}", path.display())))?;
        note!("epdb: --where \"{}\"", parsed.text());
        Ok(Some(parsed))
    }

    pub(super) fn sources_and_position(&self) -> (&[PathBuf], Vec<String>) {
        let is_word = |path: &PathBuf| is_position(path.as_os_str());
        let sources = self.files.iter().position(is_word).unwrap_or(self.files.len());
        let (sources, words) = self.files.split_at(sources);
        (sources, words.iter().map(|word| word.to_string_lossy().into_owned()).collect())
    }

    /// The order of the games; `None` for that of the sources.
    pub(super) fn order(&self) -> Option<ListOrder> {
        let has_expression = self.scoutfish.is_some() || self.read.wanted.filter.is_some();
        self.sort.or((!has_expression).then_some(ListOrder::Rating))
    }

    pub(super) fn player(&self) -> Option<Player> {
        let names: Vec<String> = self.player.iter().map(|name| name.trim().to_string()).collect();
        (!names.is_empty()).then_some(Player { names, side: self.side })
    }

    pub(super) fn open_games(&self, path: &Path) -> anyhow::Result<GameOutput> {
        let format = if path == Path::new("-") {
            Some(FileFormat::Pgn)
        } else {
            FileFormat::from_name(path)
        };
        let no_games =
            || Usage(format!("{}: games can be written as .pgn or .pgc only", path.display()));
        let format =
            format.and_then(|format| game_format(format, &self.games)).ok_or_else(no_games)?;
        GameOutput::open(Some(path), format)
    }
}
