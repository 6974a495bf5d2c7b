//! The table for people, and for spreadsheets.

use std::fmt::{self, Display, Write as _};

use super::{Row, Standings};
use crate::sprt::{SprtState, Verdict};

/// Maximum number of games of two players that are shown one by one. More games are shown as a sum.
const MAX_RESULTS: usize = 8;

impl Display for Standings {
    /// Writes the cross table: `1`, `=` and `0` are games won, drawn and lost; `*` is a game
    /// without a result. A line follows for each player that crashed, overstepped its time or made an illegal move.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines = vec![self.head()];
        lines.extend(self.rows.iter().map(|row| self.line(row)));
        f.write_str(&aligned(&lines))?;
        for row in self.rows.iter().filter(|row| !row.forfeits.is_empty()) {
            writeln!(f, "{} lost {}", self.names[row.player], row.forfeits)?;
        }
        match &self.sprt {
            Some(state) => writeln!(f, "{state}"),
            None => Ok(()),
        }
    }
}

impl Standings {
    fn head(&self) -> Vec<String> {
        let words = ["#", "player", "points", "games", "+", "=", "-", "SB", "Elo", "±", "LOS %"];
        let columns = (1..=self.rows.len()).map(|column| column.to_string());
        words.into_iter().map(String::from).chain(columns).collect()
    }

    fn line(&self, row: &Row) -> Vec<String> {
        let object = self.object(row);
        let shown =
            |number: Option<f64>| number.map_or_else(|| "-".into(), |it| format!("{it:.1}"));
        let mut line = vec![
            row.rank.to_string(),
            object.player.to_string(),
            format!("{:.1}", object.points),
            object.games.to_string(),
            object.wins.to_string(),
            object.draws.to_string(),
            object.losses.to_string(),
            format!("{:.2}", object.sonneborn_berger),
            shown(object.elo),
            shown(object.elo_error),
            shown(object.los.map(|los| los * 100.0)),
        ];
        line.extend(self.rows.iter().map(|column| {
            if column.player == row.player {
                "x".to_string()
            } else {
                cell(&row.against[column.player])
            }
        }));
        line
    }

    /// The table as text with tabs between fields. The first line has the names of the fields; a
    /// line for each player follows. The last fields are the points against each player.
    ///
    /// Fields without a value are empty.
    pub fn tsv(&self) -> String {
        let words = [
            "rank",
            "player",
            "points",
            "games",
            "wins",
            "draws",
            "losses",
            "unknown",
            "white",
            "black",
            "byes",
            "sonneborn_berger",
            "elo",
            "elo_error",
            "nelo",
            "nelo_error",
            "los",
            "draw_ratio",
            "pairs",
        ];
        let against = self.names.iter().map(|name| format!("against {name}"));
        let mut out = joined(words.into_iter().map(String::from).chain(against));
        for row in &self.rows {
            out += &joined(self.fields(row).into_iter());
        }
        out
    }

    fn fields(&self, row: &Row) -> Vec<String> {
        let it = self.object(row);
        let number = |value: Option<f64>| value.map_or_else(String::new, |it| format!("{it:.4}"));
        let mut fields = vec![it.rank.to_string(), it.player.to_string(), it.points.to_string()];
        let counts = [it.games, it.wins, it.draws, it.losses, it.unknown, it.white, it.black];
        fields.extend(counts.map(|count| count.to_string()));
        fields.extend([it.byes.to_string(), it.sonneborn_berger.to_string()]);
        let numbers = [it.elo, it.elo_error, it.nelo, it.nelo_error, it.los, it.draw_ratio];
        fields.extend(numbers.map(number));
        fields.push(it.pairs.map(|count| count.to_string()).join(" "));
        fields.extend(row.against.iter().map(|games| {
            if games.is_empty() {
                String::new()
            } else {
                (f64::from(games.iter().flatten().sum::<u32>()) / 2.0).to_string()
            }
        }));
        fields
    }
}

impl Display for SprtState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SprtState { llr, lower, upper } = self;
        write!(f, "LLR {llr:.2} ({lower:.2} to {upper:.2})")?;
        f.write_str(match self.verdict() {
            Some(Verdict::First) => ", H0 is accepted",
            Some(Verdict::Second) => ", H1 is accepted",
            None => ", undecided",
        })
    }
}

/// The games against one player.
fn cell(games: &[Option<u32>]) -> String {
    if games.len() > MAX_RESULTS {
        let half_points: u32 = games.iter().flatten().sum();
        return format!("{:.1}/{}", f64::from(half_points) / 2.0, games.len());
    }
    games
        .iter()
        .map(|game| game.map_or('*', |half_points| ['0', '=', '1'][half_points as usize]))
        .collect()
}

/// Joins fields by tabs, which names of players do not have.
fn joined(fields: impl Iterator<Item = String>) -> String {
    fields.collect::<Vec<_>>().join("\t") + "\n"
}

/// Formats lines with aligned columns: names and results to the left, numbers to the right.
fn aligned(lines: &[Vec<String>]) -> String {
    const NUMBERS: std::ops::Range<usize> = 2..11;
    let width = |column: usize| {
        lines.iter().map(|line| line[column].chars().count()).max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..lines.first().map_or(0, Vec::len)).map(width).collect();
    let mut out = String::new();
    for line in lines {
        let start = out.len();
        for (column, (text, width)) in line.iter().zip(&widths).enumerate() {
            let gap = if column == 0 { "" } else { "  " };
            // Writing to a string never fails.
            let _ = if column == 0 || NUMBERS.contains(&column) {
                write!(out, "{gap}{text:>width$}")
            } else {
                write!(out, "{gap}{text:<width$}")
            };
        }
        out.truncate(start + out[start..].trim_end().len());
        out.push('\n');
    }
    out
}
