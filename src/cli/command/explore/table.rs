//! The tables that `explore` prints: aligned for reading, or separated by tabs.

use std::io::{self, IsTerminal, Write};

use crate::cli::board::{self, BoardStyle};
use crate::cli::columns;
use crate::cli::output::open_page;
use crate::cli::terminal::{Letters, Lines, many, wants_color};
use epdb_chess::model::{Color, GameCounts, Operation, San};
use epdb_library::explore::object::Shown;
use epdb_library::explore::{Explored, MoveRow, ParentRow, performance, score_of};
use epdb_library::names::OpeningName;
use epdb_source::Output;

/// Width of the bar of results, in characters.
const BAR: usize = 20;
/// Width of the bar if there is little room.
const SHORT_BAR: usize = 10;

/// Characters of the bar of results, for games that White won, drawn games, and games that Black
/// won, with their colours.
const BAR_PARTS: [(char, u8); 3] = [('█', 231), ('▒', 246), ('░', 240)];

/// Columns that are left out, in this order, if the terminal is too narrow.
const DROPPED: [&[&str]; 15] = [
    &["operations"],
    &["vs_white", "vs_draws", "vs_black"],
    &["vs_reached"],
    &["vs_share"],
    &["unknown"],
    &["years"],
    &["opp"],
    &["elo"],
    &[""],
    &["perf"],
    &["name"],
    &["ce"],
    &["reached"],
    &["white", "draws", "black"],
    &["vs_mover_score", "share"],
];

/// Rows under the names of columns. A column without a name is shown only in the table for people.
pub(super) struct Table {
    names: Vec<&'static str>,
    rows: Vec<Vec<Cell>>,
    /// The sum of all rows, which only the table for people has.
    sum: Option<Vec<Cell>>,
}

enum Cell {
    Nothing,
    Text(String),
    Count(u64),
    /// A share, from 0 to 1.
    Share(f64),
    Rating(f64),
    Ce(i32),
    /// The moves from the position on. The table for people shows only the last move, indented.
    Line(Vec<San>),
    /// The results of games as a bar.
    Bar(GameCounts),
}

/// The table of the moves, with the sum of all moves.
///
/// If operations are wanted, it has the operations of the positions after the moves.
///
/// If another library is given, further columns have the data of that library about the same moves.
/// Moves that only that library has come last.
pub(super) fn moves(shown: &Shown<'_>) -> Table {
    const NAMES: [&str; 18] = [
        "move",
        "games",
        "weight",
        "share",
        "white",
        "draws",
        "black",
        "unknown",
        "",
        "mover_score",
        "elo",
        "opp",
        "perf",
        "years",
        "ce",
        "reached",
        "name",
        "operations",
    ];
    const OTHER: [&str; 7] =
        ["vs", "vs_share", "vs_white", "vs_draws", "vs_black", "vs_mover_score", "vs_reached"];
    const OF_BOOK: [&str; 2] = ["vs_weight", "vs_share"];
    let Shown { explored, other, .. } = *shown;
    let mut rows = Vec::new();
    add_moves(shown, explored, &mut Vec::new(), &mut rows);
    if let Some(other) = other {
        for row in explored.rows_only_in(other) {
            let mut cells = vec![Cell::Line(vec![row.san])];
            cells.resize_with(NAMES.len(), || Cell::Nothing);
            cells.extend(other_cells(other, &row.counts, row.weight, row.reached));
            rows.push(cells);
        }
    }
    let all = explored.counts();
    let mover = explored.position.turn();
    let mut sum = vec![Cell::Text("Σ".into())];
    sum.extend(cells_of(&all, &all, [explored.weight; 2], mover));
    let reached = explored.games.as_ref().map(|games| games.reached);
    sum.extend([Cell::Nothing, Cell::of(reached, Cell::Count), Cell::Nothing, Cell::Nothing]);
    let mut names = NAMES.to_vec();
    if let Some(other) = other {
        let reached = other.games.as_ref().map(|games| games.reached);
        sum.extend(other_cells(other, &other.counts(), other.weight, reached));
        names.extend(if other.weight.is_some() { &OF_BOOK[..] } else { &OTHER });
    }
    if explored.weight.is_none() {
        const WEIGHT: usize = 2;
        names.remove(WEIGHT);
        for row in rows.iter_mut().chain([&mut sum]) {
            row.remove(WEIGHT);
        }
    }
    Table { names, rows, sum: Some(sum) }
}

/// Cells of another library about a move; for a book, its weight and its share of all weights.
fn other_cells(
    other: &Explored,
    counts: &GameCounts,
    weight: Option<u64>,
    reached: Option<u64>,
) -> Vec<Cell> {
    if let Some(all) = other.weight {
        let weight = weight.unwrap_or_default();
        let share = (all > 0).then(|| weight as f64 / all as f64);
        return vec![Cell::Count(weight), Cell::of(share, Cell::Share)];
    }
    let all = other.counts().games();
    let share = (all > 0).then(|| counts.games() as f64 / all as f64);
    vec![
        Cell::Count(counts.games()),
        Cell::of(share, Cell::Share),
        Cell::Count(counts.white),
        Cell::Count(counts.draws),
        Cell::Count(counts.black),
        Cell::of(score_of(counts, other.position.turn()), Cell::Share),
        Cell::of(reached, Cell::Count),
    ]
}

/// Adds the rows of the moves of a position. Each row is followed by the rows of the position after
/// the move.
fn add_moves(
    shown: &Shown<'_>,
    explored: &Explored,
    line: &mut Vec<San>,
    rows: &mut Vec<Vec<Cell>>,
) {
    let all = explored.counts();
    for row in &explored.rows {
        let MoveRow { san, counts, weight, operations, reached, ce, next, .. } = row;
        line.push(*san);
        let mut cells = vec![Cell::Line(line.clone())];
        let weights = [*weight, explored.weight];
        cells.extend(cells_of(counts, &all, weights, explored.position.turn()));
        let name = shown.names.get(row.leads_to()).map(shown_name);
        cells.push(Cell::of(*ce, Cell::Ce));
        cells.push(Cell::of(*reached, Cell::Count));
        cells.push(Cell::of(name, Cell::Text));
        cells.push(match &operations[..] {
            [] => Cell::Nothing,
            some => Cell::Text(text_of(some)),
        });
        if let Some(other) = shown.other {
            let same = other.row(row.mv);
            let counts = same.map(|same| same.counts).unwrap_or_default();
            let (weight, reached) = same.map_or((None, None), |same| (same.weight, same.reached));
            cells.extend(other_cells(other, &counts, weight, reached));
        }
        rows.push(cells);
        if let Some(next) = next {
            add_moves(shown, next, line, rows);
        }
        line.pop();
    }
}

/// Code and name of an opening.
fn shown_name(name: &OpeningName) -> String {
    format!("{} {}", name.eco(), name.name())
}

/// The table of the positions from which a move leads to a position.
pub(super) fn parents(parents: &[ParentRow]) -> Table {
    const NAMES: [&str; 8] =
        ["position", "move", "games", "white", "draws", "black", "mover_score", "reached"];
    let row = |row: &ParentRow| {
        let counts = &row.counts;
        vec![
            Cell::Text(row.position.to_string()),
            Cell::Text(row.san.to_string()),
            Cell::Count(counts.games()),
            Cell::Count(counts.white),
            Cell::Count(counts.draws),
            Cell::Count(counts.black),
            Cell::of(score_of(counts, row.position.turn()), Cell::Share),
            Cell::of(row.reached, Cell::Count),
        ]
    };
    Table { names: NAMES.to_vec(), rows: parents.iter().map(row).collect(), sum: None }
}

/// The cells from the number of games to the years. For a book, the weights of the move and of all moves
/// replace the numbers of games.
fn cells_of(
    counts: &GameCounts,
    all: &GameCounts,
    [weight, all_weights]: [Option<u64>; 2],
    mover: Color,
) -> Vec<Cell> {
    let count = |games| Cell::of(all_weights.is_none().then_some(games), Cell::Count);
    let (part, whole) = match all_weights {
        Some(all) => (weight, all),
        None => (Some(counts.games()), all.games()),
    };
    let share = part.filter(|_| whole > 0).map(|part| part as f64 / whole as f64);
    let unknown = (counts.unknown > 0).then_some(counts.unknown);
    let years =
        counts.years.map(
            |(first, last)| {
                if first == last { first.to_string() } else { format!("{first}-{last}") }
            },
        );
    vec![
        count(counts.games()),
        Cell::of(weight, Cell::Count),
        Cell::of(share, Cell::Share),
        count(counts.white),
        count(counts.draws),
        count(counts.black),
        Cell::of(unknown, Cell::Count),
        Cell::Bar(*counts),
        Cell::of(score_of(counts, mover), Cell::Share),
        Cell::of(counts.elo.mean(), Cell::Rating),
        Cell::of(counts.opponents.mean(), Cell::Rating),
        Cell::of(performance(counts, mover), Cell::Rating),
        Cell::of(years, Cell::Text),
    ]
}

impl Cell {
    fn of<T>(value: Option<T>, cell: impl FnOnce(T) -> Cell) -> Cell {
        value.map_or(Cell::Nothing, cell)
    }

    /// Text for people, with bars of this width.
    fn text(&self, width: usize) -> String {
        match self {
            Cell::Share(share) => format!("{:.1}%", 100.0 * share),
            Cell::Line(line) => {
                let last = line.last().map(San::to_string).unwrap_or_default();
                format!("{:indent$}{last}", "", indent = 2 * line.len().saturating_sub(1))
            }
            Cell::Bar(counts) => bar(counts, width),
            other => other.plain(),
        }
    }

    /// Text of the TSV output.
    fn plain(&self) -> String {
        match self {
            Cell::Nothing => String::new(),
            Cell::Text(text) => text.clone(),
            Cell::Count(count) => count.to_string(),
            Cell::Share(share) => format!("{share:.4}"),
            // As in JSON: halves are rounded away from zero.
            Cell::Rating(rating) => format!("{:.0}", rating.round()),
            Cell::Ce(ce) => ce.to_string(),
            Cell::Line(line) => line.iter().map(San::to_string).collect::<Vec<_>>().join(" "),
            Cell::Bar(_) => String::new(),
        }
    }

    const fn is_left(&self) -> bool {
        matches!(self, Cell::Text(_) | Cell::Line(_))
    }
}

/// White's share of the games in full blocks, drawn games in half-tones, Black's in light ones.
fn bar(counts: &GameCounts, width: usize) -> String {
    let known = counts.white + counts.draws + counts.black;
    if known == 0 {
        return String::new();
    }
    let rounded = |games: u64| (games as f64 * width as f64 / known as f64).round() as usize;
    let (white, lighter) = (rounded(counts.white), rounded(counts.white + counts.draws));
    let lengths = [white, lighter - white, width - lighter];
    BAR_PARTS
        .iter()
        .zip(lengths)
        .map(|((part, _), length)| part.to_string().repeat(length))
        .collect()
}

/// A text with its bars in colours.
fn with_colors(text: &str) -> String {
    let mut colored = String::with_capacity(2 * text.len());
    let mut current = None;
    for character in text.chars() {
        let color = BAR_PARTS.iter().find(|(part, _)| *part == character).map(|(_, color)| *color);
        if color != current {
            match color {
                Some(color) => colored += &format!("\x1b[38;5;{color}m"),
                None => colored += "\x1b[0m",
            }
            current = color;
        }
        colored.push(character);
    }
    colored
}

impl Table {
    /// Writes a line with the names, and a line for each row.
    pub(super) fn write_tsv(&self, out: &mut Output) -> io::Result<()> {
        let is_named = |place: &usize| !self.names[*place].is_empty();
        let columns: Vec<usize> = (0..self.names.len()).filter(is_named).collect();
        let names: Vec<&str> = columns.iter().map(|&column| self.names[column]).collect();
        writeln!(out, "{}", names.join("\t"))?;
        for row in &self.rows {
            let cells: Vec<String> = columns.iter().map(|&column| row[column].plain()).collect();
            writeln!(out, "{}", cells.join("\t"))?;
        }
        Ok(())
    }

    /// Adds the columns that are not empty, below their names. On a terminal, columns that do not
    /// fit into the width are left out.
    pub(super) fn add_text(&self, out: &mut String) {
        let size = terminal_size::terminal_size_of(io::stdout());
        *out += &self.text(size.map_or(usize::MAX, |(width, _)| width.0.into()));
    }

    /// The table in lines of at most `width` characters, if possible.
    fn text(&self, width: usize) -> String {
        let lines = |bar, dropped: &[&[&str]]| {
            let kept = |place: &usize| !dropped.iter().any(|it| it.contains(&self.names[*place]));
            let columns: Vec<usize> = (0..self.names.len()).filter(kept).collect();
            let names = columns.iter().map(|&column| match self.names[column] {
                "mover_score" => "mover%",
                "vs_mover_score" => "vs_mover%",
                name => name,
            });
            let names: Vec<&str> = names.collect();
            let rows: Vec<&Vec<Cell>> = self.rows.iter().chain(&self.sum).collect();
            let texts = rows
                .iter()
                .map(|row| columns.iter().map(|&column| row[column].text(bar)).collect());
            let texts: Vec<Vec<String>> = texts.collect();
            let is_left = |place: usize| rows.iter().any(|row| row[columns[place]].is_left());
            let mut text = Vec::new();
            // Writing into memory does not fail.
            columns::write_columns(&names, &texts, is_left, &mut text).unwrap_or(());
            String::from_utf8_lossy(&text).into_owned()
        };
        let fits = |text: &String| text.lines().all(|line| line.chars().count() <= width);
        let choices = std::iter::once(lines(BAR, &[]))
            .chain((0..=DROPPED.len()).map(|count| lines(SHORT_BAR, &DROPPED[..count])));
        let mut narrowest = String::new();
        for text in choices {
            narrowest = text;
            if fits(&narrowest) {
                break;
            }
        }
        narrowest
    }
}

/// Adds the position and its games.
pub(super) fn add_head(shown: &Shown<'_>, out: &mut String) {
    let explored = shown.explored;
    *out += &format!("{}\n", explored.position);
    if let Some(name) = shown.opening {
        *out += &format!("{}\n", shown_name(name));
    }
    *out += &match (&explored.games, explored.weight) {
        // A game that repeats the position may play several moves here.
        (Some(games), _) => format!(
            "reached by {}, {} played\n\n",
            many(games.reached, "game"),
            many(games.games(), "move")
        ),
        (None, Some(weight)) => format!("of an opening book, all weights {weight}\n\n"),
        (None, None) => "no tally\n\n".to_string(),
    };
}

/// Adds the operations of the position, one on each line.
pub(super) fn add_operations(explored: &Explored, out: &mut String) {
    for (place, operation) in explored.entry.iter().flat_map(|entry| &entry.operations).enumerate()
    {
        *out += if place == 0 { "\n" } else { "" };
        *out += &text_of(std::slice::from_ref(operation));
        out.push('\n');
    }
}

/// Prints a text, on a terminal below the board, with bars in colours.
pub(super) fn print(explored: &Explored, text: &str) -> anyhow::Result<()> {
    let stdout = io::stdout();
    let mut out = open_page();
    let is_terminal = stdout.is_terminal();
    let mut text = text.to_string();
    if is_terminal {
        let board = board::text(&explored.position, Color::White, BoardStyle::of_stdout());
        writeln!(out, "{board}\n")?;
        text = Lines::new(Letters::of(&stdout)).escaped(text.as_bytes());
    }
    let text = if wants_color(is_terminal) { with_colors(&text) } else { text };
    out.write_all(text.as_bytes())?;
    Ok(out.finish()?)
}

fn text_of(operations: &[Operation]) -> String {
    let mut text = Vec::new();
    for operation in operations {
        if !text.is_empty() {
            text.push(b' ');
        }
        operation.write_to(&mut text);
    }
    String::from_utf8_lossy(&text).into_owned()
}
