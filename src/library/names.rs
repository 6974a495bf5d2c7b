//! Names of openings: a code of the Encyclopaedia of Chess Openings and a name, by position.
//!
//! [`Names`] is the table that is built in, or a table that is read from files like those of
//! lichess-org/chess-openings. A position without a name gets the name of the last named position before it. [`Names::last_on_line`] finds this name
//! for a line of moves, and [`LineNames`] for the positions of games. [`Naming`] writes names into
//! records and games.
//!
//! ```
//! use epdb_library::names::{Names, Naming};
//! let mut names = Names::new();
//! names.add_bytes("a.tsv", "eco\tname\tpgn\nB20\tSicilian Defense\t1. e4 c5\n")?;
//! let sicilian = b"rnbqkbnr/pp1ppppp/8/2p5/4P3/8/PPPP1PPP/RNBQKBNR w KQkq -";
//! let mut record = epdb_chess::parse_epd(sicilian)?;
//! let name = names.get(record.position()).expect("it is in the table").clone();
//! assert!(Naming::default().name_record(&mut record, &name));
//! assert_eq!(
//!     epdb_chess::format_epd(&record),
//!     [&sicilian[..], b" eco \"B20\"; v0 \"Sicilian Defense\";"].concat()
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::cmp::Reverse;
use std::collections::HashSet;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use foldhash::{HashMap, HashMapExt};

use crate::explore::{Ask, CellFilter, parents_of};
use epdb_chess::error::{At, Error, Place, Result};
use epdb_chess::model::rules::Move;
use epdb_chess::model::{
    BuildError, Element, EpdRecord, Game, Opcode, Operand, Operation, Position, Replay, Start,
};
use epdb_chess::text::lines::Next;
use epdb_chess::text::{Diagnostic, PositionLine, Profile, codes};
use epdb_source::{FileFormat, Lines, Source, SourceOptions};

/// The tables a to e of <https://github.com/lichess-org/chess-openings> at commit 51b886249b9e, in the
/// public domain (CC0-1.0): `cat [a-e].tsv | zstd --ultra -22`.
pub const BUILT_IN: &[u8] = include_bytes!("chess_openings.tsv.zst");

/// An ECO code and a name.
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

    /// The full name, such as `Sicilian Defense: Najdorf Variation, English Attack`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The parts of the name: opening, variation and subvariation. The opening ends at the first
    /// colon that a blank follows, or if there is none, at the first comma that a blank follows.
    /// The variation ends at the next such comma. Signs in parentheses end nothing.
    pub fn parts(&self) -> [Option<&str>; 3] {
        let Some((opening, rest)) = split_name(&self.name) else {
            return [Some(&self.name), None, None];
        };
        match split_outside(rest, ", ") {
            Some((variation, rest)) => [Some(opening), Some(variation), Some(rest)],
            None => [Some(opening), Some(rest), None],
        }
    }
}

/// Splits a name into the opening and the rest; `None` if the name has only an opening.
pub(super) fn split_name(name: &str) -> Option<(&str, &str)> {
    split_outside(name, ": ").or_else(|| split_outside(name, ", "))
}

/// Splits a text at the first `separator` that is not in parentheses.
fn split_outside<'n>(text: &'n str, separator: &str) -> Option<(&'n str, &'n str)> {
    let is_outside = |at: usize| {
        let before = &text[..at];
        before.matches('(').count() <= before.matches(')').count()
    };
    let (at, _) = text.match_indices(separator).find(|(at, _)| is_outside(*at))?;
    Some((&text[..at], &text[at + separator.len()..]))
}

/// Names by position.
///
/// A position is found by its identity ([`Position::identity`]), whatever moves led to it.
#[derive(Clone, Debug)]
pub struct Names {
    by_identity: HashMap<Position, OpeningName>,
    /// Minimum number of pieces of a named position.
    fewest_pieces: u32,
    /// Warnings about the files.
    warnings: Vec<(Place, Diagnostic)>,
}

impl Default for Names {
    fn default() -> Names {
        Names::new()
    }
}

impl Names {
    /// An empty table.
    pub fn new() -> Names {
        Names { by_identity: HashMap::new(), fewest_pieces: u32::MAX, warnings: Vec::new() }
    }

    /// The names of these files, in their order ([`Names::add_file`]). Without a file, the names that are
    /// built in.
    ///
    /// # Errors
    /// The errors of [`Names::add_file`].
    pub fn from_files(files: &[PathBuf]) -> Result<Names> {
        let mut names = Names::new();
        if files.is_empty() {
            names.add_bytes("built-in openings", BUILT_IN)?;
        }
        files.iter().try_for_each(|file| names.add_file(file))?;
        Ok(names)
    }

    /// Adds the names in a file, which may be compressed. If `path` is a folder, adds the names in
    /// all its files that end in `.tsv`, `.tsv.gz` or `.tsv.zst`, in the order of their file names.
    /// A position that has a name already gets the new name.
    ///
    /// The file has one name per line, with tabs between the columns. The first line names the
    /// columns: `eco`, `name` and `pgn` (the moves to the position) are required, in any order.
    /// [`Names::warnings`] reports unknown columns.
    ///
    /// # Errors
    /// The file or a line cannot be read; names before that line were added.
    pub fn add_file(&mut self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        if path.is_dir() {
            return tables(path)?.iter().try_for_each(|file| self.add_file(file));
        }
        self.add_source(Source::open(path, &source_options())?)
    }

    /// Like [`Names::add_file`], for the bytes of a file.
    ///
    /// # Errors
    /// The errors of [`Names::add_file`].
    pub fn add_bytes(&mut self, file: &str, bytes: impl Into<Vec<u8>>) -> Result<()> {
        self.add_source(Source::from_bytes(file, bytes, &source_options())?)
    }

    /// Like [`Names::add_file`], for the text of a file, without warnings about its columns.
    ///
    /// # Errors
    /// A line cannot be read; names before that line were added.
    pub fn add_text(&mut self, text: &[u8]) -> Result<()> {
        let mut columns = None;
        for (number, line) in (1..).zip(text.split(|byte| *byte == b'\n')) {
            let read = self.add_line(line, &mut columns);
            read.map_err(|what| Error::new(format!("line {number}: {what}")))?;
        }
        Ok(())
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
        let of_file = lines.take_warnings().into_iter();
        self.warnings
            .extend(of_file.map(|(place, found)| (Place::new(file.clone(), place), found)));
        Ok(())
    }

    /// Warnings about the files: one for each unknown column.
    pub fn warnings(&self) -> &[(Place, Diagnostic)] {
        &self.warnings
    }

    /// Adds a line of a table; the first line names the columns.
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

    /// Number of positions with a name.
    pub fn len(&self) -> usize {
        self.by_identity.len()
    }

    /// Whether the table is empty.
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

    /// The name of the last named position on a line of legal moves.
    pub(super) fn on_line(
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

    /// The name of the last named position on the main line of a game.
    pub fn of_game(&self, game: &Game) -> Option<&OpeningName> {
        self.on_line(game.start(), game.main_line())
    }
}

/// Whether a file is a table of names, by its first line. False for a file that cannot be read.
pub fn is_table(path: impl AsRef<Path>) -> bool {
    let path = path.as_ref();
    path.is_file() && Source::open(path, &source_options()).is_ok_and(|it| it.is_opening_table())
}

fn tables(folder: &Path) -> Result<Vec<PathBuf>> {
    let failed = |error| Error::new(format!("cannot read {}", folder.display())).because(error);
    let files = std::fs::read_dir(folder).map_err(failed)?.map(|entry| Ok(entry?.path()));
    let mut tables = files.collect::<io::Result<Vec<_>>>().map_err(failed)?;
    tables.retain(|file| {
        let name = file.to_string_lossy().to_ascii_lowercase();
        [".tsv", ".tsv.gz", ".tsv.zst"].iter().any(|suffix| name.ends_with(suffix))
    });
    tables.sort_unstable();
    if tables.is_empty() {
        let what = format!("no table of openings (.tsv) in the folder {}", folder.display());
        return Err(Error::new(what));
    }
    Ok(tables)
}

/// Files of an unknown format are read as lines.
fn source_options() -> SourceOptions {
    SourceOptions { format: Some(FileFormat::Epd), ..Default::default() }
}

const fn pieces(position: &Position) -> u32 {
    position.board().occupied().count()
}

/// The columns of published tables. Other columns cause a warning.
const KNOWN: [&str; 7] = ["eco", "name", "pgn", "uci", "epd", "eco-volume", "img"];

struct Columns {
    /// The header line. It may occur again, if files were concatenated.
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
        let eco = place("eco")?;
        let name = place("name")?;
        let pgn = place("pgn")?;
        Ok(Columns { line: line.to_string(), eco, name, pgn })
    }

    /// Warnings about unknown columns.
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

    fn read<'l>(&self, line: &'l str) -> Result<(OpeningName, &'l str), String> {
        let column = |place: usize, title: &str| {
            let text = line.split('\t').nth(place).map(str::trim).filter(|text| !text.is_empty());
            text.ok_or_else(|| format!("the column `{title}` is missing or empty"))
        };
        let eco = column(self.eco, "eco")?;
        let name = column(self.name, "name")?;
        if !is_eco(eco) {
            return Err(format!("`{eco}` is not an opening code, such as B90"));
        }
        if name.contains(char::is_control) {
            return Err("a control character in a name".to_string());
        }
        let name = OpeningName { eco: eco.to_string(), name: name.to_string() };
        Ok((name, column(self.pgn, "pgn")?))
    }
}

/// Whether a text is an opening code: a letter from A to E and two digits. Letters and digits of a
/// finer division may follow, as in `B90a`.
fn is_eco(text: &str) -> bool {
    matches!(text.as_bytes(), [b'A'..=b'E', b'0'..=b'9', b'0'..=b'9', rest @ ..]
        if rest.len() <= 5 && rest.iter().all(u8::is_ascii_alphanumeric))
}

/// The position after moves from the start array, with or without numbers; `*` may end them.
fn position_after(moves: &str) -> Result<Position, String> {
    let moves = moves.trim_end_matches('*').as_bytes();
    let line =
        PositionLine::parse_moves(moves, Profile::Standard).map_err(|error| error.message)?;
    Ok(*line.end())
}

/// Finds names for the positions of games: a position gets the name of the last named position on
/// the line that leads to it.
///
/// The positions of a game are consecutive, so the names of its lines are kept until the next game.
#[derive(Clone, Debug)]
pub struct LineNames<'n> {
    names: &'n Names,
    /// The game of the last position.
    game: Game,
    /// The names of the game's positions. The number of the next move is part of the key, because a game may
    /// reach the same position twice by different lines.
    by_place: HashMap<(u32, Position), &'n OpeningName>,
}

impl<'n> LineNames<'n> {
    /// A finder of names in this table.
    pub fn new(names: &'n Names) -> LineNames<'n> {
        LineNames { names, game: Game::new(), by_place: HashMap::new() }
    }

    /// The name of a position. If several lines of the game lead to the position, the main line counts if it
    /// is one of them, otherwise the first line.
    pub fn get(&mut self, record: &EpdRecord, game: Option<&Game>) -> Option<&'n OpeningName> {
        let own = self.names.get(record.position());
        let Some(game) = game else { return own };
        if own.is_some() {
            return own;
        }
        if self.game != *game {
            self.game = game.clone();
            self.by_place.clear();
            self.follow_lines();
        }
        let next_move = record.counters().1?;
        self.by_place.get(&(next_move, record.position().identity())).copied()
    }

    fn follow_lines(&mut self) {
        let Some(mut replay) = Replay::new(self.game.start()) else { return };
        let mut last = self.names.get(replay.position());
        // The name before the last move, to which a variation returns.
        let mut before = None;
        let mut outer = Vec::new();
        for element in self.game.elements() {
            match element {
                Element::Move(mv) => {
                    replay.play(mv);
                    before = last;
                    if replay.is_behind_null_move() {
                        continue;
                    }
                    last = self.names.get(replay.position()).or(last);
                    let Some(name) = last else { continue };
                    let place = (replay.fullmove_number(), replay.position().identity());
                    if outer.is_empty() {
                        self.by_place.insert(place, name);
                    } else {
                        self.by_place.entry(place).or_insert(name);
                    }
                }
                Element::NullMove => {
                    replay.play_null_move();
                    before = last;
                }
                Element::VariationBegin => {
                    outer.push((last, before));
                    last = before;
                    replay.begin_variation();
                }
                Element::VariationEnd => {
                    (last, before) = outer.pop().unwrap_or_default();
                    replay.end_variation();
                }
                Element::Nag(_) | Element::Comment(_) | Element::Escape(_) => {}
            }
        }
    }
}

const NAME_TAGS: [&str; 3] = ["Opening", "Variation", "SubVariation"];
const NAME_OPCODES: [Opcode; 3] = [Opcode::V0, Opcode::V1, Opcode::V2];

/// Rules for writing names into records and games. A record or game with a different code or name is changed
/// only if `replace` is set.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct Naming {
    /// Whether existing codes and names are replaced.
    pub replace: bool,
}

impl Naming {
    /// Writes the code as `eco` and the full name as `v0`; returns whether the record changed.
    /// Quotation marks become apostrophes. A replaced name loses its variations (`v1`, `v2`).
    pub fn name_record(self, record: &mut EpdRecord, name: &OpeningName) -> bool {
        let named = [string(Opcode::ECO, name.eco()), string(Opcode::V0, name.name())];
        let is_other = |opcode: &Opcode| {
            let wanted = named.iter().find(|operation| operation.opcode == *opcode);
            record
                .operands(*opcode)
                .is_some_and(|there| wanted.is_none_or(|wanted| there[..] != wanted.operands[..]))
        };
        if !self.replace && [Opcode::ECO].iter().chain(&NAME_OPCODES).any(is_other) {
            return false;
        }
        let before = record.clone();
        for opcode in NAME_OPCODES {
            record.remove(opcode);
        }
        for operation in named {
            record.set(operation);
        }
        *record != before
    }

    /// The game with the code as `ECO` and the parts of the name as `Opening`, `Variation` and
    /// `SubVariation`; `None` if it did not change. Tags without a value, such as `?`, count as
    /// missing.
    ///
    /// # Errors
    /// The errors of [`Game::set_tag`].
    pub fn name_game(self, game: &Game, name: &OpeningName) -> Result<Option<Game>, BuildError> {
        let parts = NAME_TAGS.into_iter().zip(name.parts());
        let tags: Vec<_> = [("ECO", Some(name.eco()))].into_iter().chain(parts).collect();
        let is_other = |(tag, value): &(&str, Option<&str>)| match game.tag(tag) {
            None | Some("" | "?" | "-") => false,
            there => there != *value,
        };
        let is_named = tags.iter().all(|(tag, value)| game.tag(tag) == *value);
        if is_named || !self.replace && tags.iter().any(is_other) {
            return Ok(None);
        }
        let mut named = game.clone();
        for (tag, value) in tags {
            match value {
                Some(value) => named.set_tag(tag, value)?,
                None => named.remove_tag(tag),
            }
        }
        Ok(Some(named))
    }
}

fn string(opcode: Opcode, text: &str) -> Operation {
    Operation { opcode, operands: vec![Operand::string(text.replace('"', "'"))] }
}

/// Maximum number of moves that the search for a name goes back.
const MAX_MOVES: usize = 16;
/// Maximum number of positions that this search follows at each move back.
const MAX_POSITIONS: usize = 16;

impl Names {
    /// The name of the last named position on a line.
    pub fn last_on_line(&self, line: &PositionLine) -> Option<&OpeningName> {
        let positions = (0..=line.moves().len()).rev().filter_map(|moves| line.position(moves));
        positions.filter_map(|position| self.get(position)).next()
    }

    /// The name of the position at the end of a line, or of the last named position on the line. If the line
    /// has no named position and does not begin at the usual start, the name of the nearest named position
    /// from which moves of a library lead to the end of the line; of equally near ones that with the most games, and
    /// of these that with the first code.
    ///
    /// # Errors
    /// Errors of `ask`.
    pub fn nearest<E: From<Error>>(
        &self,
        line: &PositionLine,
        cells: &CellFilter,
        ask: &mut Ask<'_, E>,
    ) -> Result<Option<&OpeningName>, E> {
        match self.last_on_line(line) {
            Some(name) => Ok(Some(name)),
            None if line.position(0) == Some(&Position::START) => Ok(None),
            None => self.nearest_parent(line.end(), cells, ask),
        }
    }

    fn nearest_parent<E: From<Error>>(
        &self,
        position: &Position,
        cells: &CellFilter,
        ask: &mut Ask<'_, E>,
    ) -> Result<Option<&OpeningName>, E> {
        let mut positions = vec![*position];
        let mut seen: HashSet<Position> = positions.iter().map(Position::identity).collect();
        for _ in 0..MAX_MOVES {
            let mut rows = parents_of(&positions, cells, ask)?;
            rows.retain(|row| row.counts.games() > 0);
            let named = rows.iter().filter_map(|row| Some((row, self.get(&row.position)?)));
            let nearest = named
                .min_by_key(|(row, name)| (Reverse(row.counts.games()), name.eco(), name.name()));
            if let Some((_, name)) = nearest {
                return Ok(Some(name));
            }
            rows.retain(|row| seen.insert(row.position.identity()));
            rows.sort_by_key(|row| Reverse(row.counts.games()));
            positions = rows.iter().take(MAX_POSITIONS).map(|row| row.position).collect();
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests_of_line {
    #![allow(clippy::unwrap_used, clippy::expect_used)]

    use super::*;
    use epdb_chess::text::pgn::{self, GameReader, PgnReadOptions, PositionOptions};

    const TABLE: &str = "eco\tname\tpgn\n\
        A40\tQueen's Pawn\t1. d4\n\
        A46\tIndian\t1. d4 Nf6 2. Nf3\n\
        B00\tKing's Pawn\t1. e4\n\
        C20\tOpen\t1. e4 e5\n";

    /// The move played in each position, and its code.
    fn codes(pgn: &str) -> Vec<String> {
        let mut names = Names::new();
        names.add_bytes("a.tsv", TABLE).unwrap();
        let mut lines = LineNames::new(&names);
        let mut reader = GameReader::new(pgn.as_bytes(), PgnReadOptions::default());
        let options = PositionOptions { variations: true, ..Default::default() };
        let mut codes = Vec::new();
        while let Some(read) = reader.next_game().unwrap() {
            let game = read.game.expect("a good game");
            for record in pgn::positions(game, &options) {
                let played = record.text_of(epdb_chess::model::Opcode::SM).unwrap_or_default();
                let code = lines.get(&record, Some(game)).map_or("-", OpeningName::eco);
                codes.push(format!("{} {code}", String::from_utf8_lossy(&played)));
            }
        }
        codes
    }

    #[test]
    fn variations_go_on_from_where_they_begin() {
        let game = "1. e4 e5 (1... c5 2. Nf3 (2. c3 d5)) 2. Nf3 *";
        let wanted = ["e4 -", "e5 B00", "Nf3 B00", "d5 B00", " B00", " B00", "Nf3 C20", " C20"];
        let mut codes = codes(game);
        let mut wanted = wanted.map(String::from).to_vec();
        codes.sort();
        wanted.sort();
        assert_eq!(codes, wanted);
    }

    #[test]
    fn names_end_before_null_moves() {
        assert_eq!(codes("1. d4 Nf6 2. -- e6 *"), ["d4 -", "Nf6 A40", " A40"]);
        let game = "1. d4 -- (1... Nf6 2. Nf3) 2. Nf3 Nf6 *";
        assert_eq!(codes(game), ["d4 -", " A40", "Nf3 A40", " A46"]);
    }

    #[test]
    fn games_on_one_line_are_told_apart() {
        let codes = codes("1. d4 Nf6 2. Nf3 e6 * 1. Nf3 Nf6 2. d4 e6 * 1. Nf3 e6 2. d4 Nf6 *");
        let wanted = ["d4 -", "Nf6 A40", "Nf3 A40", "e6 A46", " A46"];
        assert_eq!(codes[..5], wanted);
        assert_eq!(codes[5..10], ["Nf3 -", "Nf6 -", "d4 -", "e6 A46", " A46"]);
        assert_eq!(codes[10..], ["Nf3 -", "e6 -", "d4 -", "Nf6 -", " -"]);
    }
}

#[cfg(test)]
mod tests_of_naming {
    #![allow(clippy::unwrap_used)]

    use super::Names;
    use super::*;
    use epdb_chess::model::{GameBuilder, Position};

    fn name(text: &str) -> OpeningName {
        let mut names = Names::new();
        names.add_bytes("a.tsv", format!("eco\tname\tpgn\nB90\t{text}\t1. e4\n")).unwrap();
        let after = Position::START.identity();
        assert!(names.get(&after).is_none());
        let e4 = "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq -";
        names.get(&e4.parse().unwrap()).unwrap().clone()
    }

    #[test]
    fn values_that_are_there_stay_unless_they_are_replaced() {
        let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -";
        let najdorf = name("Sicilian: \"Najdorf\", English");
        for (replace, before, wanted) in [
            (false, "", " eco \"B90\"; v0 \"Sicilian: 'Najdorf', English\";"),
            (false, " eco \"B90\";", " eco \"B90\"; v0 \"Sicilian: 'Najdorf', English\";"),
            (false, " eco \"A00\";", " eco \"A00\";"),
            (false, " eco \"A00\"; v1 \"x\";", " eco \"A00\"; v1 \"x\";"),
            (true, " eco \"A00\"; v1 \"x\";", " eco \"B90\"; v0 \"Sicilian: 'Najdorf', English\";"),
        ] {
            let mut record = epdb_chess::parse_epd(format!("{start}{before}").as_bytes()).unwrap();
            let changed = Naming { replace }.name_record(&mut record, &najdorf);
            let after = String::from_utf8(epdb_chess::format_epd(&record)).unwrap();
            assert_eq!(after, format!("{start}{wanted}"));
            assert_eq!(changed, before != wanted);
        }
    }

    #[test]
    fn tags_of_games_have_the_parts_of_names() {
        let najdorf = name("Sicilian: Najdorf");
        let tags = |game: &Game| {
            let tags = game.tags().skip(7).map(|(name, value)| format!("{name} {value}"));
            tags.collect::<Vec<_>>().join(", ")
        };
        for (replace, before, wanted) in [
            (false, vec![], Some("ECO B90, Opening Sicilian, Variation Najdorf")),
            (
                false,
                vec![("ECO", "?"), ("SubVariation", "")],
                Some("ECO B90, Opening Sicilian, Variation Najdorf"),
            ),
            (false, vec![("Opening", "French")], None),
            (
                false,
                vec![("ECO", "B90"), ("Variation", "?")],
                Some("ECO B90, Opening Sicilian, Variation Najdorf"),
            ),
            (false, vec![("ECO", "A00"), ("Variation", "x")], None),
            (
                true,
                vec![("ECO", "A00"), ("SubVariation", "x"), ("Variation", "y")],
                Some("ECO B90, Opening Sicilian, Variation Najdorf"),
            ),
            (true, vec![("ECO", "B90"), ("Opening", "Sicilian"), ("Variation", "Najdorf")], None),
        ] {
            let mut builder = GameBuilder::new();
            for (tag, value) in &before {
                builder.set_tag(tag, value).unwrap();
            }
            let game = builder.finish().unwrap();
            let named = Naming { replace }.name_game(&game, &najdorf).unwrap();
            assert_eq!(named.as_ref().map(tags).as_deref(), wanted, "{before:?}");
        }
    }
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
        // In the table, the position has an en passant square without a capture; it is the same
        // position without that square.
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
    fn parts_of_names_end_outside_of_parentheses() {
        for (name, parts) in [
            ("Trompovsky attack (Ruth, Opovcensky opening)", [None, None]),
            (
                "Two Knights (Modern, Steinitz: Main), Fritz (a, b), c",
                [Some("Fritz (a, b)"), Some("c")],
            ),
            ("Sicilian: Najdorf, English", [Some("Najdorf"), Some("English")]),
            ("Odd (name, Variation", [None, None]),
        ] {
            let name = OpeningName { eco: "A00".into(), name: name.into() };
            assert_eq!(name.parts()[1..], parts, "{name:?}");
        }
    }

    #[test]
    fn files_may_stand_behind_each_other() {
        let twice = format!("\u{feff}{TABLE}{TABLE}");
        assert_eq!(names(&[&twice]).unwrap().len(), 3);
        let mut of_text = Names::new();
        of_text.add_text(twice.as_bytes()).unwrap();
        assert_eq!(of_text.by_identity, names(&[TABLE]).unwrap().by_identity);
        let error =
            of_text.add_text(b"eco\tname\tpgn\nA00\tAmar\t1. Nh9\n").unwrap_err().to_string();
        assert!(error.starts_with("line 2: `Nh9`"), "{error}");
    }

    #[test]
    fn lines_that_are_no_names_are_told_with_their_place() {
        for (text, wanted) in [
            ("", "0.tsv: no names"),
            ("A00\tAmar Opening\t1. Nh3\n", "0.tsv:1: there is no column `eco`"),
            ("eco\tname\tpgn\nA00\tAmar\t1. Nh9\n", "0.tsv:2: `Nh9`: "),
            ("eco\tname\tpgn\nA00\tAmar\t1. Nh3\nA00\tAmar\n", "0.tsv:3: the column `pgn`"),
            ("eco\tname\tpgn\nZ00\tAmar\t1. Nh3\n", "0.tsv:2: `Z00` is not an opening code"),
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
