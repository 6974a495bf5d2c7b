//! Files for training programs: lines of play as games, and positions as cards.

use std::io::Write;
use std::path::{Path, PathBuf};

use foldhash::HashMap;

use crate::cli::games::GameOutput;
use crate::cli::outcome::usage;
use crate::cli::output::TableForm;
use crate::cli::source::Visited;
use crate::cli::terminal::{many, note};
use epdb_chess::codec::key;
use epdb_chess::model::{Color, Position, San, TallyPart};
use epdb_library::repertoire::{Card, Node, Repertoire, TrainingLine, numbered};
use epdb_source::{FileFormat, GameFormat};

use epdb_chess::text::pgn::{Charset, PgnFormatOptions};

/// Assumed bytes of memory for a line of play.
const LINE_BYTES: usize = 512;

/// Files for training programs.
#[derive(clap::Args, Clone, Debug)]
pub(super) struct TrainerArgs {
    /// Write lines as games, most played first, with shares of --against (needed); not with -o
    #[arg(long, value_name = "FILE", conflicts_with_all = ["output", "to"])]
    training: Option<PathBuf>,
    /// Write a table for Anki: positions of your side with answer, line, comment; not with -o
    #[arg(long, value_name = "FILE", conflicts_with_all = ["output", "to"])]
    cards: Option<PathBuf>,
}

impl TrainerArgs {
    /// Whether a file was asked for.
    pub(super) const fn is_given(&self) -> bool {
        self.training.is_some() || self.cards.is_some()
    }
}

/// A repertoire with its roots and its side.
pub(super) struct Study<'r> {
    pub(super) lines: &'r Repertoire,
    pub(super) roots: Vec<Position>,
    pub(super) side: Color,
}

/// Writes the files; `moves` lead to the first root.
pub(super) fn write(
    args: &TrainerArgs,
    study: &Study<'_>,
    moves: &[San],
    tallies: &HashMap<Node, TallyPart>,
    memory: usize,
) -> anyhow::Result<()> {
    let Study { lines, roots, side } = study;
    let played = lines.training_lines(roots, *side, tallies, memory / LINE_BYTES)?;
    if let Some(path) = &args.training {
        write_games(path, study, &played)?;
    }
    if let Some(path) = &args.cards {
        write_cards(path, study, moves, &lines.cards(&played, *side))?;
    }
    Ok(())
}

fn write_games(path: &Path, study: &Study<'_>, lines: &[TrainingLine]) -> anyhow::Result<()> {
    let is_pgn = path == Path::new("-") || FileFormat::from_name(path) == Some(FileFormat::Pgn);
    if !is_pgn {
        let message = format!("{}: lines of play are games: use the suffix .pgn", path.display());
        return Err(usage(message));
    }
    let format = PgnFormatOptions { charset: Charset::Utf8, ..Default::default() };
    let mut output = GameOutput::open(Some(path), GameFormat::Pgn(format))?;
    let mut covered = 0.0;
    for (place, line) in lines.iter().enumerate() {
        covered += line.share;
        let tags = [
            ("Event", format!("Line {} of {}", place + 1, lines.len())),
            ("Round", (place + 1).to_string()),
            ("Orientation", side_name(study.side).to_string()),
        ];
        let tags = tags.map(|(name, value)| (name.to_string(), value));
        let game = study.lines.line_game(line, &tags, &comment(line.share, covered))?;
        if let Visited::Refused(refusal) = output.write(&game)? {
            anyhow::bail!("{}: line {}: {}", path.display(), place + 1, refusal.message);
        }
    }
    output.finish()?;
    let lines = many(lines.len() as u64, "line");
    note!("{}: {lines} of play, {:.1} % of the games", path.display(), 100.0 * covered);
    Ok(())
}

const fn side_name(side: Color) -> &'static str {
    match side {
        Color::White => "white",
        Color::Black => "black",
    }
}

/// The comment of a line: its share of all games, and the share that this line and the lines before it cover
/// together.
fn comment(share: f64, covered: f64) -> String {
    if share == 0.0 {
        return "in no game of the library".into();
    }
    let every = 1.0 / share;
    let every = if every < 9.95 { format!("{every:.1}") } else { format!("{every:.0}") };
    let every = every.strip_suffix(".0").map_or(every.clone(), str::to_string);
    let games = if every == "1" { "game" } else { "games" };
    format!("1 in {every} {games}; {:.1} % are covered so far", 100.0 * covered)
}

const COLUMNS: [&str; 6] = ["FEN", "Answer", "Line", "Comment", "ID", "Tags"];

/// Writes cards with the header lines of Anki's manual, "Importing: text files". Each card has the
/// id of a note, so that importing the cards again replaces them. The column of tags is for note
/// types without fields of these names: Anki would take the answers for tags.
fn write_cards(
    path: &Path,
    study: &Study<'_>,
    moves: &[San],
    cards: &[Card],
) -> anyhow::Result<()> {
    let mut out = TableForm::Tsv.open(Some(path), "a table of cards")?;
    let columns = COLUMNS.join("\t");
    let [guid, tags] = [COLUMNS.len() - 1, COLUMNS.len()];
    write!(
        out,
        "#separator:tab\n#html:false\n#columns:{columns}\n#guid column:{guid}\n#tags column:{tags}\n"
    )?;
    for card in cards {
        let root = card.set_up.as_ref().unwrap_or(&study.roots[0]);
        let line = match card.set_up {
            Some(_) => card.line.clone(),
            None => moves.iter().chain(&card.line).copied().collect(),
        };
        let begins =
            if card.set_up.is_none() && moves.len() % 2 == 1 { !root.turn() } else { root.turn() };
        let answers: Vec<String> = card.answers.iter().map(San::to_string).collect();
        let fullmoves = card.counters.fullmove_number as usize + moves.len() / 2;
        let fields = [
            format!("{} {} {fullmoves}", card.position, card.counters.halfmove_clock),
            answers.join(" or "),
            numbered(begins, &line),
            without_commands(&card.comments.join(" ")),
            format!("epdb-{:016x}", key::position_key(&card.position)),
            side_name(study.side).to_string(),
        ];
        writeln!(out, "{}", fields.map(|field| quoted(&field)).join("\t"))?;
    }
    out.finish()?;
    note!("{}: {}", path.display(), many(cards.len() as u64, "card"));
    Ok(())
}

/// A comment without commands such as `[%csl Gd4]`.
fn without_commands(comment: &str) -> String {
    let mut text = String::new();
    let mut rest = comment;
    while let Some((before, command)) = rest.split_once("[%") {
        text += before;
        rest = command.split_once(']').map_or("", |(_, behind)| behind);
    }
    text += rest;
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A field as Anki reads it: in quotes if it has quotes.
fn quoted(field: &str) -> String {
    if field.contains('"') {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_string()
    }
}
