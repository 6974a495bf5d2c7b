//! `epdb openings`: results of games by opening, and of a match.

use std::collections::BTreeMap;
use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::Serialize;

use crate::cli::args::{FormArgs, MemoryArgs, OutputArgs, ReadArgs, WriteArgs};
use crate::cli::diagnostics::Diagnostics;
use crate::cli::outcome::{Outcome, Usage};
use crate::cli::output::{open_output, print_line};
use crate::cli::record_output::RecordOutput;
use crate::cli::source::{Reading, Visited};
use crate::cli::terminal::{many, note};
use crate::cli::{columns, json, places};
use epdb_chess::model::EpdRecord;
use epdb_chess::text::pgn;
use epdb_library::expression::{Expression, ExpressionError};
use epdb_library::forfeits::Forfeits;
use epdb_library::game_tag::PlayerSearch;
use epdb_library::openings::{MatchResults, Opening, OpeningResults, Openings};
use epdb_library::value::EvalContext;
use epdb_referee::Sprt;
use epdb_referee::sprt::SprtState;
use epdb_referee::strength::strength;

/// Show the results of games by opening, and the Elo of a match
///
/// The opening of a game is the position of its FEN tag. Without it, it is the last position of the
/// main line that is also in the book (--book), else the start position. -o writes the openings.
///
/// Each row has the number of games and of pairs; White's wins, draws and losses; White's score; the share of
/// draws; and the pentanomial: the numbers of pairs with 0, 0.5, 1, 1.5 and 2 points for the first player. A
/// pair is two games of one opening between the same players with the colours swapped.
///
/// In a match of two players, the first one is White of the game with the lowest number in its tag Round,
/// otherwise of the first game. The total follows: Elo and normalized Elo with 95 % intervals, likelihood of
/// superiority (LOS) and, with --sprt, LLR, by pairs or else games. `-`: the interval reaches 100 %, or all
/// pairs are equal.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Examples:
  epdb openings match.pgn --sprt elo0=0 elo1=5
  epdb openings match.pgn --book UHO.epd --where 'pairs >= 5 && draw_rate <= 0.9' -o good.epd")]
pub(crate) struct Args {
    /// Files of games; none, or `-`, is standard input
    files: Vec<PathBuf>,
    /// Take the openings from this book: the positions of a file, or the last ones of its games
    #[arg(long, value_name = "FILE")]
    book: Option<PathBuf>,
    /// Show only openings for which this expression is true: of games, pairs, wins, draws, losses, unknown,
    /// score, draw_rate, p0 to p4 (the pentanomial), and the fields of its record in the book
    #[arg(long = "where", value_name = "EXPR", value_parser = filter)]
    filter: Option<Expression>,
    /// Count only games of this player, and count the player's points
    #[arg(long, value_name = "NAME")]
    player: Option<String>,
    /// Print only the total of a match of two players, with --json as one object
    #[arg(long, conflicts_with_all = ["filter", "tsv", "output", "to"])]
    total: bool,
    /// Print only the total, with the LLR of this test: elo0=0 elo1=5, and also alpha=0.05, beta=0.05 or
    /// model=normalized
    #[arg(long, value_name = "PART=VALUE", num_args = 1.., conflicts_with_all = ["filter", "tsv", "output", "to"])]
    sprt: Vec<String>,
    /// Print a table separated by tabs
    #[arg(long, conflicts_with_all = ["json", "output", "to"])]
    tsv: bool,
    /// Print one JSON object per opening
    #[arg(long, conflicts_with_all = ["output", "to"])]
    json: bool,
    #[command(flatten)]
    form: FormArgs,
    #[command(flatten)]
    write: WriteArgs,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    memory: MemoryArgs,
}

fn filter(text: &str) -> Result<Expression, ExpressionError> {
    Expression::parse_with_columns(text, &Opening::COLUMNS)
}

/// A record of the book, or the position of an opening, with the index of the opening.
type Line = (EpdRecord, usize);

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let test = args.test()?;
    places::refuse_repeated(&args.files)?;
    let mut diagnostics = Diagnostics::new(&args.form)?;
    let is_written = args.output.output.is_some() || args.output.to.is_some();
    let output =
        if is_written { Some(RecordOutput::open(&args.output, &args.write)?) } else { None };
    let mut openings = Openings::new(args.memory.memory_bytes, args.player.clone());
    let mut search = args.player.clone().and_then(|name| PlayerSearch::new(&[name], None));
    let read = ReadArgs::all(&args.form);
    let mut book = match &args.book {
        Some(path) => read_book(path, &read, &mut diagnostics, &mut openings)?,
        None => Vec::new(),
    };
    Reading::of(&args.files, &read, &mut diagnostics).games(|read| {
        openings.add_game(read.game)?;
        if let Some(search) = &mut search {
            search.add(read.game);
        }
        Ok(Visited::Taken)
    })?;
    if let Some(missing) = search.and_then(|search| search.missing()) {
        note!("epdb: {missing}");
        return Ok(diagnostics.finish()?.and(Outcome::Different));
    }
    let OpeningResults { openings: all, of_book, results, forfeits, copies } = openings.finish();
    report(args, &all, of_book, results.as_ref());
    if copies > 0 {
        note!(
            "epdb: {} with the tags and moves of another, counted too (`epdb dedupe --by exact` removes copies)",
            many(copies, "game")
        );
    }
    report_forfeits(&forfeits);
    if args.total || test.is_some() {
        print_total(args, results.as_ref(), test.as_ref())?;
        return diagnostics.finish();
    }
    let line = |index: usize| (EpdRecord::new(all[index].position), index);
    match output {
        Some(output) => {
            if args.book.is_none() {
                book.extend((0..all.len()).map(line));
            }
            let written = write(args, output, book, &all)?;
            return Ok(diagnostics.finish()?.and(written));
        }
        None => {
            // A position that the book has twice is one opening.
            book.sort_by_key(|(_, index)| *index);
            book.dedup_by_key(|(_, index)| *index);
            book.extend((of_book..all.len()).map(line));
            book.retain(|(_, index)| all[*index].games() > 0);
            let players = results.as_ref().map(|results| &results.players);
            print(args, &book, &all, players)?;
            let total = results.as_ref().and_then(|results| Total::new(results, None));
            if let Some(total) = total.filter(|_| !args.json && !args.tsv && args.filter.is_none())
            {
                print_line(format!("\n{total}").trim_end())?;
            }
        }
    }
    diagnostics.finish()
}

impl Args {
    fn test(&self) -> anyhow::Result<Option<Sprt>> {
        if self.sprt.is_empty() {
            return Ok(None);
        }
        let test = self.sprt.join(" ").parse();
        Ok(Some(
            test.map_err(|error: String| Usage(format!("-{error}; files come before --sprt")))?,
        ))
    }
}

fn print_total(
    args: &Args,
    results: Option<&MatchResults>,
    test: Option<&Sprt>,
) -> anyhow::Result<()> {
    let results = results.ok_or_else(|| {
        Usage(
            "Elo needs games of two players: `epdb filter` selects the games of two players".into(),
        )
    })?;
    let total = Total::new(results, test).context("no game has a result")?;
    if args.json {
        let mut out = open_output(None)?;
        json::line(&mut out, &total)?;
        return Ok(out.finish()?);
    }
    if test.is_none() {
        note!("epdb: --sprt elo0=0 elo1=5 adds the LLR of a test");
    }
    print_line(total.to_string().trim_end())
}

fn read_book(
    path: &Path,
    read: &ReadArgs,
    diagnostics: &mut Diagnostics,
    openings: &mut Openings,
) -> anyhow::Result<Vec<Line>> {
    let mut read = read.clone();
    read.form.from = None;
    let mut records = Vec::new();
    let mut last_positions = Vec::new();
    Reading::of(std::slice::from_ref(&path.to_path_buf()), &read, diagnostics)
        .visit_games(|read| {
            last_positions.push(pgn::final_position(read.game));
            Ok(Visited::Taken)
        })
        .records(|record, _, _| {
            records.push(record);
            Ok(())
        })?;
    let mut lines = Vec::new();
    for record in records.into_iter().chain(last_positions) {
        let index = openings.add_book(record.position())?;
        lines.push((record, index));
    }
    Ok(lines)
}

fn report(args: &Args, all: &[Opening], of_book: usize, results: Option<&MatchResults>) {
    let (book, others) = all.split_at(of_book);
    let games = |openings: &[Opening]| openings.iter().map(Opening::games).sum::<u64>();
    let played = all.iter().filter(|opening| opening.games() > 0).count();
    let pairs: u64 = all.iter().map(Opening::pair_count).sum();
    note!(
        "epdb: {}, {} of {}",
        many(games(all), "game"),
        many(pairs, "pair"),
        many(played as u64, "opening")
    );
    if let Some(MatchResults { players: [player, opponent], .. }) = results {
        let advice = match args.player {
            Some(_) => String::new(),
            None => format!("; --player '{opponent}' counts those of {opponent}"),
        };
        note!("epdb: the points are those of {player} against {opponent}{advice}");
    }
    if book.is_empty() {
        return;
    }
    let unplayed = book.iter().filter(|opening| opening.games() == 0).count();
    if unplayed > 0 {
        note!("epdb: {} of the book without games", many(unplayed as u64, "opening"));
    }
    if games(others) > 0 {
        note!("epdb: {} with openings outside of the book", many(games(others), "game"));
    }
}

/// Names the players who lost games by a crash, on time or by an illegal move. Among the many players of a
/// database, nobody searches for them.
fn report_forfeits(forfeits: &BTreeMap<String, Forfeits>) {
    const MAX_PLAYERS: usize = 20;
    if forfeits.len() <= MAX_PLAYERS {
        for (player, forfeits) in forfeits {
            note!("epdb: {player} lost {forfeits}");
        }
    }
}

fn is_wanted(args: &Args, record: &EpdRecord, opening: &Opening) -> bool {
    let holds = |filter: &Expression| {
        filter.holds(&EvalContext { row: &opening.row(), ..EvalContext::from_record(record) })
    };
    args.filter.as_ref().is_none_or(holds)
}

fn write(
    args: &Args,
    mut output: RecordOutput,
    lines: Vec<Line>,
    openings: &[Opening],
) -> anyhow::Result<Outcome> {
    let mut written = 0;
    let all = lines.len();
    for (record, index) in lines {
        if is_wanted(args, &record, &openings[index]) {
            output.write(&record)?;
            written += 1;
        }
    }
    let outcome = output.finish()?;
    note!("epdb: {written} of {} written", many(all as u64, "opening"));
    Ok(outcome)
}

/// Number of columns before those of the players.
const NUMBERS: usize = 10;

const NAMES: [&str; NUMBERS + 2] = [
    "fen",
    "games",
    "pairs",
    "wins",
    "draws",
    "losses",
    "unknown",
    "score",
    "draw_rate",
    "pentanomial",
    "player",
    "opponent",
];

fn print(
    args: &Args,
    lines: &[Line],
    openings: &[Opening],
    players: Option<&[String; 2]>,
) -> anyhow::Result<()> {
    let mut out = open_output(None)?;
    let wanted = lines
        .iter()
        .filter(|(record, index)| is_wanted(args, record, &openings[*index]))
        .map(|(_, index)| &openings[*index]);
    if args.json {
        for opening in wanted {
            json::line(&mut out, &Row::new(opening, players))?;
        }
        return Ok(out.finish()?);
    }
    let names = players.cloned().unwrap_or_default();
    let rows: Vec<Vec<String>> =
        wanted.map(|opening| [&cells(opening)[..], &names].concat()).collect();
    if args.tsv {
        writeln!(out, "{}", NAMES.join("\t"))?;
        rows.iter().try_for_each(|row| columns::write_row(row, &mut out))?;
    } else {
        let is_text = |column| column == 0 || column >= NUMBERS;
        columns::write_columns(&NAMES, &rows, is_text, &mut out)?;
    }
    Ok(out.finish()?)
}

fn cells(opening: &Opening) -> [String; NUMBERS] {
    let share = |share: Option<f64>| share.map(|share| format!("{share:.4}")).unwrap_or_default();
    [
        opening.position.to_string(),
        opening.games().to_string(),
        opening.pair_count().to_string(),
        opening.wins.to_string(),
        opening.draws.to_string(),
        opening.losses.to_string(),
        opening.unknown.to_string(),
        share(opening.score()),
        share(opening.draw_rate()),
        opening.pairs.map(|count| count.to_string()).join(" "),
    ]
}

/// An opening (`openings --json`).
#[derive(Serialize)]
struct Row<'a> {
    fen: String,
    games: u64,
    pairs: u64,
    wins: u64,
    draws: u64,
    losses: u64,
    unknown: u64,
    score: Option<f64>,
    draw_rate: Option<f64>,
    pentanomial: [u64; 5],
    /// The player whose points the pentanomial counts, and the opponent.
    players: Option<&'a [String; 2]>,
}

impl<'a> Row<'a> {
    fn new(opening: &Opening, players: Option<&'a [String; 2]>) -> Row<'a> {
        Row {
            fen: opening.position.to_string(),
            games: opening.games(),
            pairs: opening.pair_count(),
            wins: opening.wins,
            draws: opening.draws,
            losses: opening.losses,
            unknown: opening.unknown,
            score: opening.score(),
            draw_rate: opening.draw_rate(),
            pentanomial: opening.pairs,
            players,
        }
    }
}

/// The total of a match; an object of `openings --total --json`.
#[derive(Serialize)]
struct Total<'a> {
    player: &'a str,
    opponent: &'a str,
    games: u64,
    wins: u64,
    draws: u64,
    losses: u64,
    pentanomial: [u64; 5],
    score: f64,
    elo: Option<f64>,
    elo_error: Option<f64>,
    nelo: Option<f64>,
    nelo_error: Option<f64>,
    los: f64,
    llr: Option<f64>,
    llr_lower: Option<f64>,
    llr_upper: Option<f64>,
    #[serde(skip)]
    test: Option<SprtState>,
}

impl<'a> Total<'a> {
    /// The total, with the state of a test; `None` if no game has a result.
    fn new(results: &'a MatchResults, test: Option<&Sprt>) -> Option<Total<'a>> {
        let [player, opponent] = &results.players;
        let [losses, draws, wins] = results.games;
        let strength = strength(results.counts())?;
        let test = test.map(|test| SprtState::new(test, results.counts()));
        Some(Total {
            player,
            opponent,
            games: wins + draws + losses,
            wins,
            draws,
            losses,
            pentanomial: results.pairs,
            score: strength.score,
            elo: strength.elo.value,
            elo_error: strength.elo.error,
            nelo: strength.normalized.value,
            nelo_error: strength.normalized.error,
            los: strength.superiority,
            llr: test.map(|test| test.llr),
            llr_lower: test.map(|test| test.lower),
            llr_upper: test.map(|test| test.upper),
            test,
        })
    }
}

impl fmt::Display for Total<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Total { player, opponent, games, wins, draws, losses, score, los, .. } = self;
        let pairs: u64 = self.pentanomial.iter().sum();
        let basis = if pairs > 0 { many(pairs, "pair") } else { many(*games, "game") };
        writeln!(
            f,
            "{player} against {opponent}: {}, +{wins} ={draws} -{losses}",
            many(*games, "game")
        )?;
        writeln!(
            f,
            "Elo {}, nElo {}, LOS {:.1} %, score {:.1} % of {basis}",
            shown(self.elo, self.elo_error),
            shown(self.nelo, self.nelo_error),
            los * 100.0,
            score * 100.0
        )?;
        match &self.test {
            Some(test) => writeln!(f, "{test}"),
            None => Ok(()),
        }
    }
}

fn shown(value: Option<f64>, error: Option<f64>) -> String {
    let number = |number: Option<f64>| number.map_or_else(|| "-".into(), |it| format!("{it:.1}"));
    format!("{} ± {}", number(value), number(error))
}
