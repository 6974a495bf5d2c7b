//! The table of names, and how it is read.

use std::ops::ControlFlow;
use std::path::Path;

use foldhash::{HashMap, HashMapExt};

use crate::error::{At, Error, Place, Result};
use crate::model::rules::Move;
use crate::model::{Game, Position, Replay, Start};
use crate::source::{FileFormat, Lines, Source, SourceOptions};
use crate::text::lines::Next;
use crate::text::{Diagnostic, PositionLine, Profile, codes};

/// A code and a name.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct OpeningName {
    eco: String,
    name: String,
}

impl OpeningName {
    /// The code of the Encyclopaedia of Chess Openings.
    pub fn eco(&self) -> &str {
        &self.eco
    }

    /// The whole name, such as `Sicilian Defense: Najdorf Variation, English Attack`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The name in parts: the opening, its variation and the variation of that. The first ends at the
    /// first `: `, or where there is none at the first `, `; the second at the next `, `.
    pub fn parts(&self) -> [Option<&str>; 3] {
        let split = self.name.split_once(": ").or_else(|| self.name.split_once(", "));
        let Some((opening, rest)) = split else { return [Some(&self.name), None, None] };
        match rest.split_once(", ") {
            Some((variation, rest)) => [Some(opening), Some(variation), Some(rest)],
            None => [Some(opening), Some(rest), None],
        }
    }
}

/// Names by position.
///
/// A position is known by its identity ([`Position::identity`]), whatever the moves that led to it.
#[derive(Clone, Debug)]
pub struct Names {
    by_identity: HashMap<Position, OpeningName>,
    /// No named position has fewer pieces.
    fewest_pieces: u32,
    /// What is to be said of the files.
    warnings: Vec<(Place, Diagnostic)>,
}

impl Default for Names {
    fn default() -> Names {
        Names::new()
    }
}

impl Names {
    /// A table without names.
    pub fn new() -> Names {
        Names { by_identity: HashMap::new(), fewest_pieces: u32::MAX, warnings: Vec::new() }
    }

    /// Adds the names of a file, which may be compressed; a position that has a name already gets the new
    /// one.
    ///
    /// The file has a line for each name, with tabs between the columns. The first line names these:
    /// `eco`, `name` and `pgn`, the moves that lead to the position, must be among them, in any order. Of
    /// columns that are not known there are [`Names::warnings`].
    ///
    /// # Errors
    /// The file cannot be read, or a line of it: names before that line were added.
    pub fn add_file(&mut self, path: impl AsRef<Path>) -> Result<()> {
        self.add_source(Source::open(path, &source_options())?)
    }

    /// [`Names::add_file`] for the bytes of a file.
    ///
    /// # Errors
    /// As there.
    pub fn add_bytes(&mut self, file: &str, bytes: impl Into<Vec<u8>>) -> Result<()> {
        self.add_source(Source::from_bytes(file, bytes, &source_options())?)
    }

    fn add_source(&mut self, source: Source) -> Result<()> {
        let file = source.name().clone();
        let mut lines: Lines =
            source.into_lines(&mut |_| Ok::<_, Error>(ControlFlow::Continue(())))?;
        let mut columns = None;
        let at = |line| Place::new(file.clone(), At::Line(line));
        let cannot_read_on =
            |error| Error::new("cannot read on").because(error).in_source(file.clone());
        while let Some(next) = lines.reader().next_line().map_err(cannot_read_on)? {
            let (number, read) = match next {
                Next::Line(line) => (line.number, self.add_line(line.text, &mut columns)),
                Next::TooLong { number, .. } => (number, Err("the line is too long".to_string())),
            };
            read.map_err(|what| Error::new(what).at(at(number)))?;
        }
        let Some(columns) = columns else {
            return Err(Error::new("no names: the file is empty").in_source(file.clone()));
        };
        self.warnings.extend(columns.unknown().map(|found| (at(1), found)));
        Ok(())
    }

    /// What is to be said of the files that were read: a warning for each column that is not known.
    pub fn warnings(&self) -> &[(Place, Diagnostic)] {
        &self.warnings
    }

    /// Takes a line; the first says what the columns are.
    fn add_line(&mut self, line: &[u8], columns: &mut Option<Columns>) -> Result<(), String> {
        let line = std::str::from_utf8(line).map_err(|_| "the line is not in UTF-8")?;
        let line = line.trim_start_matches('\u{feff}');
        let Some(columns) = columns else {
            *columns = Some(Columns::parse(line)?);
            return Ok(());
        };
        if line.trim().is_empty() || line == columns.line {
            return Ok(());
        }
        let (name, moves) = columns.read(line)?;
        let position = position_after(moves)?;
        self.fewest_pieces = self.fewest_pieces.min(pieces(&position));
        self.by_identity.insert(position.identity(), name);
        Ok(())
    }

    /// The number of positions that have a name.
    pub fn len(&self) -> usize {
        self.by_identity.len()
    }

    /// Whether no position has a name.
    pub fn is_empty(&self) -> bool {
        self.by_identity.is_empty()
    }

    /// The name of the position itself.
    pub fn get(&self, position: &Position) -> Option<&OpeningName> {
        if pieces(position) < self.fewest_pieces {
            return None;
        }
        self.by_identity.get(&position.identity())
    }

    /// The name at the end of a line of legal moves: that of the last position on it that has one.
    pub fn on_line(
        &self,
        start: &Start,
        moves: impl IntoIterator<Item = Move>,
    ) -> Option<&OpeningName> {
        let mut last = self.get(&start.position);
        let Some(mut replay) = Replay::new(start) else { return last };
        for mv in moves {
            replay.play(mv);
            last = self.get(replay.position()).or(last);
        }
        last
    }

    /// The name of a game: that of the last position of its main line that has one.
    pub fn of_game(&self, game: &Game) -> Option<&OpeningName> {
        self.on_line(game.start(), game.main_line())
    }
}

/// Files whose format nothing shows are taken for lines.
fn source_options() -> SourceOptions {
    SourceOptions::new().format(FileFormat::Epd)
}

const fn pieces(position: &Position) -> u32 {
    position.board().occupied().count_ones()
}

/// The columns that are read, and those of published tables that say the same in other words.
const KNOWN: [&str; 7] = ["eco", "name", "pgn", "uci", "epd", "eco-volume", "img"];

/// Where the columns are.
struct Columns {
    /// The line that says it, which comes again where files were put behind each other.
    line: String,
    eco: usize,
    name: usize,
    pgn: usize,
}

impl Columns {
    fn parse(line: &str) -> Result<Columns, String> {
        let place = |wanted: &str| {
            let place = line.split('\t').position(|column| column.trim() == wanted);
            place.ok_or_else(|| {
                format!(
                    "there is no column `{wanted}`: the first line of a table of names has the \
                     columns eco, name and pgn, with tabs between them"
                )
            })
        };
        let (eco, name, pgn) = (place("eco")?, place("name")?, place("pgn")?);
        Ok(Columns { line: line.to_string(), eco, name, pgn })
    }

    /// Warnings about the columns that are not known.
    fn unknown(&self) -> impl Iterator<Item = Diagnostic> + use<'_> {
        let title = |at: usize| self.line[..at].rsplit('\t').next().unwrap_or_default();
        let ends = self.line.match_indices('\t').map(|(at, _)| at).chain([self.line.len()]);
        ends.map(move |end| (end - title(end).len() + 1, title(end).trim()))
            .filter(|(_, title)| !KNOWN.contains(title))
            .map(|(at, title)| {
                let message = format!("column `{title}` is unknown: it is left out");
                Diagnostic::warning(codes::W_LINE_COLUMN, at, message)
            })
    }

    /// The name and the moves on a line.
    fn read<'l>(&self, line: &'l str) -> Result<(OpeningName, &'l str), String> {
        let column = |place: usize, title: &str| {
            let text = line.split('\t').nth(place).map(str::trim).filter(|text| !text.is_empty());
            text.ok_or_else(|| format!("the column `{title}` is missing or empty"))
        };
        let (eco, name) = (column(self.eco, "eco")?, column(self.name, "name")?);
        if !is_eco(eco) {
            return Err(format!("`{eco}` is no code of an opening, such as B90"));
        }
        if name.contains(char::is_control) {
            return Err("a control character in a name".to_string());
        }
        let name = OpeningName { eco: eco.to_string(), name: name.to_string() };
        Ok((name, column(self.pgn, "pgn")?))
    }
}

/// A letter from A to E and two digits; finer divisions may follow, as in `B90a`.
fn is_eco(text: &str) -> bool {
    matches!(text.as_bytes(), [b'A'..=b'E', b'0'..=b'9', b'0'..=b'9', rest @ ..]
        if rest.len() <= 5 && rest.iter().all(u8::is_ascii_alphanumeric))
}

/// The position after moves from the start array, numbered as in PGN or not; a `*` may end them.
fn position_after(moves: &str) -> Result<Position, String> {
    let moves = moves.trim_end_matches('*').as_bytes();
    let line =
        PositionLine::parse_moves(moves, Profile::Standard).map_err(|error| error.message)?;
    Ok(*line.end())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const TABLE: &str = "eco\tname\tpgn\n\
        B20\tSicilian Defense\t1. e4 c5\n\
        C20\tKing's Pawn Game\t1. e4 e5\n\
        C44\tKing's Knight Opening: Normal Variation\t1. e4 e5 2. Nf3 Nc6\n";

    fn names(files: &[&str]) -> Result<Names> {
        let mut names = Names::new();
        for (place, file) in files.iter().enumerate() {
            names.add_bytes(&format!("{place}.tsv"), *file)?;
        }
        Ok(names)
    }

    fn name_after(names: &Names, moves: &str) -> Option<String> {
        names.get(&position_after(moves).unwrap()).map(|name| name.name().to_string())
    }

    #[test]
    fn positions_have_the_name_whatever_led_to_them() {
        let names = names(&[TABLE]).unwrap();
        let normal = Some("King's Knight Opening: Normal Variation".to_string());
        assert_eq!(name_after(&names, "1.e4 e5 2.Nf3 Nc6"), normal);
        assert_eq!(name_after(&names, "Nf3 Nc6 e4 e5"), normal);
        assert_eq!(name_after(&names, "1. e4"), None);
        // The table has an en passant square with no capture; the position is the same without.
        let text = "rnbqkbnr/pp1ppppp/8/2p5/4P3/8/PPPP1PPP/RNBQKBNR w KQkq - 0 2";
        assert_eq!(names.get(&text.parse().unwrap()).unwrap().eco(), "B20");
    }

    #[test]
    fn later_files_give_other_names_and_columns_come_in_any_order() {
        let german = "uci\tpgn\tepd\tname\teco\r\n-\t1. e4 c5 *\t-\tSizilianisch\tB20\r\n\r\n";
        let names = names(&[TABLE, german]).unwrap();
        assert_eq!(names.len(), 3);
        assert_eq!(name_after(&names, "e4 c5").as_deref(), Some("Sizilianisch"));
        assert_eq!(name_after(&names, "e4 e5").as_deref(), Some("King's Pawn Game"));
    }

    #[test]
    fn files_may_stand_behind_each_other() {
        let twice = format!("\u{feff}{TABLE}{TABLE}");
        assert_eq!(names(&[&twice]).unwrap().len(), 3);
    }

    #[test]
    fn lines_that_are_no_names_are_told_with_their_place() {
        for (text, wanted) in [
            ("", "0.tsv: no names"),
            ("A00\tAmar Opening\t1. Nh3\n", "0.tsv:1: there is no column `eco`"),
            ("eco\tname\tpgn\nA00\tAmar\t1. Nh9\n", "0.tsv:2: `Nh9`: "),
            ("eco\tname\tpgn\nA00\tAmar\t1. Nh3\nA00\tAmar\n", "0.tsv:3: the column `pgn`"),
            ("eco\tname\tpgn\nZ00\tAmar\t1. Nh3\n", "0.tsv:2: `Z00` is no code"),
            ("eco\tname\tpgn\nA00\t \t1. Nh3\n", "0.tsv:2: the column `name`"),
            ("eco\tname\tpgn\nA00\tA\u{1}\t1. Nh3\n", "0.tsv:2: a control character"),
        ] {
            let error = names(&[text]).unwrap_err().to_string();
            assert!(error.starts_with(wanted), "{error}");
        }
        assert!(Names::new().add_bytes("a.tsv", b"eco\tname\tpgn\n\xff".to_vec()).is_err());
    }

    #[test]
    fn lines_have_the_last_name_on_them() {
        let names = names(&[TABLE]).unwrap();
        let name = |moves: &str| {
            let moves = moves.split(' ').map(|mv| mv.parse().unwrap());
            names.on_line(&Start::ARRAY, moves).map(OpeningName::eco)
        };
        assert_eq!(name("d2d4 d7d5"), None);
        assert_eq!(name("e2e4 e7e5 f1c4 a7a6"), Some("C20"));
        assert_eq!(name("e2e4 e7e5 g1f3 b8c6 f1b5 a7a6"), Some("C44"));
    }

    #[test]
    fn names_have_parts() {
        let parts = |name: &str| {
            let name = OpeningName { eco: "A00".into(), name: name.into() };
            name.parts().map(|part| part.map(str::to_string))
        };
        let wanted =
            |parts: [&str; 3]| parts.map(|part| (!part.is_empty()).then(|| part.to_string()));
        for (name, parts_of_it) in [
            ("Amar Opening", ["Amar Opening", "", ""]),
            ("Amar Opening: Paris Gambit", ["Amar Opening", "Paris Gambit", ""]),
            ("Polish Opening, with d5", ["Polish Opening", "with d5", ""]),
            ("Sicilian: Najdorf, English, a, b", ["Sicilian", "Najdorf", "English, a, b"]),
        ] {
            assert_eq!(parts(name), wanted(parts_of_it), "{name}");
        }
    }
}
