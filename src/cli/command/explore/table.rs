//! The tables that `explore` prints, for a person or with tabs.

use std::io::{self, IsTerminal, Write};

use crate::cli::board::{self, BoardStyle};
use crate::cli::columns;
use epdb::library::explore::object::Shown;
use epdb::library::explore::{Explored, MoveRow, ParentRow, performance};
use epdb::library::names::OpeningName;
use epdb::model::{Color, GameCounts, Operation, San};
use epdb::source::Output;

/// Width of the bar of results, in characters.
const BAR: u64 = 20;

/// Rows under the names of columns. A column without a name is only shown to a person.
pub(super) struct Table {
    names: Vec<&'static str>,
    rows: Vec<Vec<Cell>>,
}

/// Content of a cell.
enum Cell {
    Nothing,
    Text(String),
    Count(u64),
    /// Of 1.
    Share(f64),
    Rating(f64),
    Ce(i32),
    /// The moves from the position on: a person sees the last one, indented.
    Line(Vec<San>),
    /// The results of games as a bar.
    Bar(GameCounts),
}

/// The table of the moves, and of all of them together.
///
/// With the operations of the positions that they lead to where these are wanted.
///
/// Beside them, where another library is asked, what it knows of the same moves; moves that only it
/// knows come last.
pub(super) fn moves(shown: &Shown<'_>) -> Table {
    const NAMES: [&str; 17] = [
        "move",
        "games",
        "share",
        "white",
        "draws",
        "black",
        "unknown",
        "",
        "score",
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
        ["vs", "vs_share", "vs_white", "vs_draws", "vs_black", "vs_score", "vs_reached"];
    let Shown { explored, other, .. } = *shown;
    let mut rows = Vec::new();
    add_moves(shown, explored, &mut Vec::new(), &mut rows);
    if let Some(other) = other {
        for row in explored.rows_only_in(other) {
            let mut cells = vec![Cell::Line(vec![row.san])];
            cells.resize_with(NAMES.len(), || Cell::Nothing);
            cells.extend(other_cells(other, &row.counts, row.reached));
            rows.push(cells);
        }
    }
    let (all, mover) = (explored.counts(), explored.position.turn());
    let mut sum = vec![Cell::Text("Σ".into())];
    sum.extend(cells_of(&all, &all, mover));
    let reached = explored.games.as_ref().map(|games| games.reached);
    sum.extend([Cell::Nothing, Cell::of(reached, Cell::Count), Cell::Nothing, Cell::Nothing]);
    let mut names = NAMES.to_vec();
    if let Some(other) = other {
        let reached = other.games.as_ref().map(|games| games.reached);
        sum.extend(other_cells(other, &other.counts(), reached));
        names.extend(OTHER);
    }
    rows.push(sum);
    Table { names, rows }
}

/// Cells of another library about a move.
fn other_cells(other: &Explored, counts: &GameCounts, reached: Option<u64>) -> [Cell; 7] {
    let all = other.counts().games();
    let share = (all > 0).then(|| counts.games() as f64 / all as f64);
    [
        Cell::Count(counts.games()),
        Cell::of(share, Cell::Share),
        Cell::Count(counts.white),
        Cell::Count(counts.draws),
        Cell::Count(counts.black),
        Cell::of(counts.score_of_white(), Cell::Share),
        Cell::of(reached, Cell::Count),
    ]
}

/// The rows of the moves of a position, each followed by those of the one that it leads to.
fn add_moves(
    shown: &Shown<'_>,
    explored: &Explored,
    line: &mut Vec<San>,
    rows: &mut Vec<Vec<Cell>>,
) {
    let all = explored.counts();
    for row in &explored.rows {
        let MoveRow { san, counts, operations, reached, ce, next, .. } = row;
        line.push(*san);
        let mut cells = vec![Cell::Line(line.clone())];
        cells.extend(cells_of(counts, &all, explored.position.turn()));
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
            cells.extend(other_cells(other, &counts, same.and_then(|same| same.reached)));
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
        ["position", "move", "games", "white", "draws", "black", "score", "reached"];
    let row = |row: &ParentRow| {
        let counts = &row.counts;
        vec![
            Cell::Text(row.position.to_string()),
            Cell::Text(row.san.to_string()),
            Cell::Count(counts.games()),
            Cell::Count(counts.white),
            Cell::Count(counts.draws),
            Cell::Count(counts.black),
            Cell::of(counts.score_of_white(), Cell::Share),
            Cell::of(row.reached, Cell::Count),
        ]
    };
    Table { names: NAMES.to_vec(), rows: parents.iter().map(row).collect() }
}

/// Cells from the number of games to the years.
fn cells_of(counts: &GameCounts, all: &GameCounts, mover: Color) -> Vec<Cell> {
    let share = |games: u64| games as f64 / all.games() as f64;
    let unknown = (counts.unknown > 0).then_some(counts.unknown);
    let years = counts.years.map(|(first, last)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    });
    vec![
        Cell::Count(counts.games()),
        Cell::of((all.games() > 0).then(|| share(counts.games())), Cell::Share),
        Cell::Count(counts.white),
        Cell::Count(counts.draws),
        Cell::Count(counts.black),
        Cell::of(unknown, Cell::Count),
        Cell::Bar(*counts),
        Cell::of(counts.score_of_white(), Cell::Share),
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

    /// Text for people.
    fn text(&self) -> String {
        match self {
            Cell::Share(share) => format!("{:.1}%", 100.0 * share),
            Cell::Line(line) => {
                let last = line.last().map(San::to_string).unwrap_or_default();
                format!("{:indent$}{last}", "", indent = 2 * line.len().saturating_sub(1))
            }
            Cell::Bar(counts) => bar(counts),
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
            Cell::Rating(rating) => format!("{rating:.0}"),
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
fn bar(counts: &GameCounts) -> String {
    let known = counts.white + counts.draws + counts.black;
    if known == 0 {
        return String::new();
    }
    let rounded = |games: u64| (games as f64 * BAR as f64 / known as f64).round() as usize;
    let (white, lighter) = (rounded(counts.white), rounded(counts.white + counts.draws));
    let black = BAR as usize - lighter;
    "█".repeat(white) + &"▒".repeat(lighter - white) + &"░".repeat(black)
}

impl Table {
    /// A line with the names, and one for each row.
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

    /// The columns that have something in them, below their names.
    pub(super) fn write_text(&self, out: &mut Output) -> io::Result<()> {
        let texts: Vec<Vec<String>> =
            self.rows.iter().map(|row| row.iter().map(Cell::text).collect()).collect();
        let is_left = |column: usize| self.rows.iter().any(|row| row[column].is_left());
        columns::write_columns(&self.names, &texts, is_left, out)
    }
}

/// The position, on a terminal as a board, and its games.
pub(super) fn write_head(shown: &Shown<'_>, out: &mut Output) -> io::Result<()> {
    let explored = shown.explored;
    if io::stdout().is_terminal() {
        writeln!(out, "{}\n", board::text(&explored.position, Color::White, BoardStyle::PLAIN))?;
    }
    writeln!(out, "{}", explored.position)?;
    if let Some(name) = shown.opening {
        writeln!(out, "{}", shown_name(name))?;
    }
    match &explored.games {
        Some(games) => {
            writeln!(out, "{} games, reached by {}\n", games.games(), games.reached)
        }
        None => writeln!(out, "no tally\n"),
    }
}

/// The operations of the position, a line each.
pub(super) fn write_operations(explored: &Explored, out: &mut Output) -> io::Result<()> {
    let operations = explored.entry.as_ref().map(|entry| &entry.operations);
    let Some(operations) = operations.filter(|operations| !operations.is_empty()) else {
        return Ok(());
    };
    writeln!(out)?;
    for operation in operations {
        out.write_all(text_of(std::slice::from_ref(operation)).as_bytes())?;
        writeln!(out)?;
    }
    Ok(())
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
