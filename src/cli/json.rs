//! The objects that `--json` prints, one per line. Fields are part of the interface: new fields may be added,
//! but none is renamed or removed.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::Serialize;

use epdb_archive::About;
use epdb_chess::codec::tally_origin::{TallyOrigin, TallySource};
use epdb_library::census::CensusTally;
use epdb_library::diff;
use epdb_library::duplicates::DuplicateItem;
use epdb_library::field::json_operands;
use epdb_library::sets;
use epdb_library::tally::{MergedGames, TallyCounts};
use epdb_source::LibrarySummary;
use epdb_store::ImportCounts;

use super::pipe::Places;

/// Writes one object and a line end.
pub(crate) fn line(out: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, value)?;
    out.write_all(b"\n")
}

/// Writes an object of one of several kinds, with the name of its kind as `part`, and a line end.
pub(crate) fn part(out: &mut impl Write, part: &str, value: &impl Serialize) -> io::Result<()> {
    #[derive(Serialize)]
    struct Part<'p, T> {
        part: &'p str,
        #[serde(flatten)]
        value: &'p T,
    }
    line(out, &Part { part, value })
}

/// Two records that contradict each other (`dedupe --conflicts FILE --json`).
#[derive(Serialize)]
pub(crate) struct Conflict {
    /// The place of the first: file, colon, line.
    pub(crate) first: String,
    pub(crate) second: String,
    pub(crate) operations: Vec<ConflictingOperation>,
}

/// An operation that differs between the records.
#[derive(Serialize)]
pub(crate) struct ConflictingOperation {
    pub(crate) opcode: String,
    pub(crate) first: serde_json::Value,
    pub(crate) second: serde_json::Value,
}

impl Conflict {
    pub(crate) fn new(conflict: &sets::RecordConflict, places: &Places) -> Conflict {
        let operation = |it: &sets::ConflictingOperation| ConflictingOperation {
            opcode: it.opcode.to_string(),
            first: json_operands(it.opcode, it.first.as_deref()),
            second: json_operands(it.opcode, it.second.as_deref()),
        };
        Conflict {
            first: places.shown(conflict.first),
            second: places.shown(conflict.second),
            operations: conflict.operations.iter().map(operation).collect(),
        }
    }
}

/// An operation that differs between two versions of a record (`diff --json`).
#[derive(Serialize)]
pub(crate) struct ChangedOperation {
    pub(crate) opcode: String,
    /// Operation of the old version; null if missing.
    pub(crate) old: serde_json::Value,
    pub(crate) new: serde_json::Value,
}

impl ChangedOperation {
    pub(crate) fn new(change: &diff::ChangedOperation) -> ChangedOperation {
        ChangedOperation {
            opcode: change.opcode.to_string(),
            old: json_operands(change.opcode, change.old.as_deref()),
            new: json_operands(change.opcode, change.new.as_deref()),
        }
    }
}

/// A legal move (`moves --json`).
#[derive(Serialize)]
pub(crate) struct Move {
    /// The move ordinal, from 0.
    pub(crate) ordinal: usize,
    /// Canonical SAN.
    pub(crate) san: String,
    /// Coordinates.
    pub(crate) uci: String,
}

/// Statistics of records (`stats --json`).
#[derive(Serialize)]
pub(crate) struct Stats {
    #[serde(flatten)]
    pub(crate) census: CensusTally,
    /// Bytes of the files divided by the number of records; absent for standard input.
    pub(crate) file_bytes_per_record: Option<f64>,
    /// Bytes of the binary records divided by the number of records.
    pub(crate) encoded_bytes_per_record: Option<f64>,
    /// Origin of the tallies of each library among the files.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) libraries: Vec<Library>,
    /// Facts about the data of each archive among the files.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) about: Vec<AboutFile>,
}

/// Facts about the data of an archive.
#[derive(Serialize)]
pub(crate) struct AboutFile {
    pub(crate) file: String,
    /// The values of each key.
    pub(crate) facts: BTreeMap<String, Vec<String>>,
}

impl AboutFile {
    pub(crate) fn new(file: String, about: &About) -> AboutFile {
        let mut facts: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (key, value) in about.facts() {
            facts.entry(key.to_string()).or_default().push(value.to_string());
        }
        AboutFile { file, facts }
    }
}

/// Origin of the tallies of a library.
#[derive(Serialize)]
pub(crate) struct Library {
    pub(crate) file: String,
    /// Selection and counting of games: arguments of `epdb tally`.
    pub(crate) settings: String,
    /// True if libraries that were built differently were added up.
    pub(crate) is_mixed: bool,
    /// Reason for removed records.
    pub(crate) pruned: Option<String>,
    /// Number of games with a stored digest; null without digests.
    pub(crate) digests: Option<u64>,
    /// Number of games that count more than once, because libraries with the same games were added.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) repeated_games: Option<u64>,
    /// The files of games that were counted.
    pub(crate) sources: Vec<LibrarySource>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) kept_games: Option<u64>,
}

/// A file of games that was counted.
#[derive(Serialize)]
pub(crate) struct LibrarySource {
    /// The name under which the file was read.
    pub(crate) name: String,
    /// Games of the file that count.
    pub(crate) games: u64,
    /// Games of the file that were counted before.
    pub(crate) duplicates: u64,
    /// Games of the file that the settings leave out.
    pub(crate) left_out: u64,
}

impl Library {
    /// Statements of a file about itself.
    pub(crate) fn new(file: String, summary: LibrarySummary) -> Library {
        let LibrarySummary { origin, digests, counts } = summary;
        let repeated_games = digests.map(|digests| origin.games().saturating_sub(digests));
        let repeated_games = repeated_games.filter(|&games| games > 0);
        let TallyOrigin { settings, is_mixed, pruned, sources, .. } = origin;
        let source = |TallySource { name, games, duplicates, left_out }| LibrarySource {
            name,
            games,
            duplicates,
            left_out,
        };
        let sources = sources.into_iter().map(source).collect();
        let kept_games = Some(counts.kept_games).filter(|&games| games > 0);
        let settings = settings.to_string();
        Library { file, settings, is_mixed, pruned, digests, repeated_games, sources, kept_games }
    }
}

/// Counts that are stored in libraries (`stats --json` of libraries).
#[derive(Serialize)]
pub(crate) struct LibraryStats {
    /// All records, one for each position.
    pub(crate) records: u64,
    /// Bytes of the files divided by the number of records.
    pub(crate) file_bytes_per_record: Option<f64>,
    pub(crate) libraries: Vec<Library>,
    /// Facts about the data of each archive.
    pub(crate) about: Vec<AboutFile>,
}

impl LibraryStats {
    /// Builds the object.
    pub(crate) fn new(
        records: u64,
        file_bytes: Option<u64>,
        libraries: Vec<Library>,
        about: Vec<AboutFile>,
    ) -> LibraryStats {
        let file_bytes_per_record = bytes_per_record(file_bytes, records);
        LibraryStats { records, file_bytes_per_record, libraries, about }
    }
}

/// Two records of one position (`dedupe --list --json`).
#[derive(Serialize)]
pub(crate) struct Duplicate {
    /// The place of the first: file, colon, line.
    first: String,
    first_id: Option<String>,
    other: String,
    other_id: Option<String>,
}

/// Two equal games (`dedupe --list --json` of games).
#[derive(Serialize)]
pub(crate) struct DuplicateGame {
    /// The place of the first record or game: file, colon, number.
    first: String,
    /// Players, date and result.
    first_game: String,
    other: String,
    other_game: String,
}

impl DuplicateGame {
    pub(crate) fn new(
        first: &DuplicateItem,
        other: &DuplicateItem,
        places: &Places,
    ) -> DuplicateGame {
        DuplicateGame {
            first: places.shown(first.place),
            first_game: label(first).unwrap_or_default(),
            other: places.shown(other.place),
            other_game: label(other).unwrap_or_default(),
        }
    }
}

fn label(item: &DuplicateItem) -> Option<String> {
    item.label.as_deref().map(|label| String::from_utf8_lossy(label).into_owned())
}

impl Duplicate {
    pub(crate) fn new(first: &DuplicateItem, other: &DuplicateItem, places: &Places) -> Duplicate {
        Duplicate {
            first: places.shown(first.place),
            first_id: label(first),
            other: places.shown(other.place),
            other_id: label(other),
        }
    }
}

/// A bare number (`count --json`).
#[derive(Serialize)]
pub(crate) struct Count {
    /// Records and games.
    pub(crate) count: u64,
}

/// Games that were read to be counted.
#[derive(Serialize)]
pub(crate) struct CountedGames {
    games: u64,
    /// Games that were counted before.
    duplicate_games: u64,
    /// Games that the options leave out.
    games_left_out: u64,
    /// Games left out because they have an illegal move.
    games_cut_short: u64,
}

impl CountedGames {
    pub(crate) const fn new(counts: &TallyCounts) -> CountedGames {
        CountedGames {
            games: counts.games,
            duplicate_games: counts.duplicates,
            games_left_out: counts.left_out,
            games_cut_short: counts.cut_short,
        }
    }
}

/// Counts of a library that was made (`tally --json`).
#[derive(Serialize)]
pub(crate) struct Tallied {
    pub(crate) file: String,
    #[serde(flatten)]
    pub(crate) games: CountedGames,
    /// Games that are not kept, because they have a move that does not fit into one byte.
    pub(crate) games_not_kept: u64,
    /// Differences between repeated games and their first copies.
    pub(crate) merged_games: MergedGames,
    pub(crate) plies: u64,
    pub(crate) positions: u64,
}

/// A book that was made (`book make --json`).
#[derive(Serialize)]
pub(crate) struct BookMade {
    pub(crate) file: String,
    pub(crate) entries: u64,
    pub(crate) positions: u64,
}

/// Verdict on a file (`verify --json`).
#[derive(Serialize)]
pub(crate) struct Verified<'v> {
    pub(crate) file: &'v str,
    pub(crate) verdict: &'v str,
    /// Damage, one text for each place.
    pub(crate) findings: &'v [String],
    /// Number of warnings, for example about positions that are not legal.
    pub(crate) warnings: u64,
    pub(crate) games_without_checksum: u64,
}

/// Bytes divided by the number of records; `None` without bytes or without records.
pub(crate) fn bytes_per_record(bytes: Option<u64>, records: u64) -> Option<f64> {
    let bytes = bytes.filter(|&bytes| bytes > 0 && records > 0)?;
    Some(bytes as f64 / records as f64)
}

/// Results of an import (`import --json`).
#[derive(Default, Serialize)]
pub(crate) struct Import {
    pub(crate) file: String,
    #[serde(flatten)]
    pub(crate) records: ImportCounts,
    /// With --tally.
    #[serde(flatten)]
    pub(crate) games: Option<CountedGames>,
    /// Differences between repeated games and their first copies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) merged_games: Option<MergedGames>,
    /// The name under which the file was imported before, if nothing was left to import.
    pub(crate) already_imported_as: Option<String>,
}
