//! The counts of `epdb stats` as tables, which are printed or become part of a page.

use crate::cli::json;
use epdb_chess::model::GameResult;
use epdb_engine::report::html::CountTable;
use epdb_library::census::GameCensus;

#[derive(Default)]
struct Rows(Vec<[String; 2]>);

impl Rows {
    fn count(&mut self, name: &str, count: u64) {
        self.0.push([name.to_string(), count.to_string()]);
    }

    fn mean(&mut self, name: &str, mean: Option<f64>) {
        self.0.extend(mean.map(|mean| [name.to_string(), format!("{mean:.2}")]));
    }

    fn text(&mut self, text: String) {
        self.0.push([text, String::new()]);
    }

    fn table(self, title: impl Into<String>) -> CountTable {
        CountTable { title: title.into(), rows: self.0 }
    }
}

/// Counts of records.
pub(super) fn records(stats: &json::Stats) -> CountTable {
    let tally = &stats.census;
    let mut rows = Rows::default();
    rows.count("records", tally.records);
    rows.count("  White to move", tally.white_to_move);
    rows.count("  Black to move", tally.black_to_move);
    rows.count("  with counters", tally.with_counters);
    rows.count("  superfluous en passant square", tally.superfluous_en_passant);
    rows.count("  Chess960 castling", tally.chess960);
    rows.count("  illegal positions", tally.illegal);
    if tally.repeated_ids > 0 {
        rows.count("  with the id of an earlier one", tally.repeated_ids);
    }
    rows.count("unique, with counters", tally.unique.with_counters);
    rows.count("unique, without counters", tally.unique.without_counters);
    rows.count("unique positions", tally.unique.positions);
    rows.count("  hidden by en passant squares", tally.unique.hidden_by_en_passant());
    rows.count("unique, without en passant", tally.unique.without_en_passant);
    rows.count("unique, board and side only", tally.unique.boards_and_sides);
    rows.count("unique boards", tally.unique.boards);
    rows.mean("bytes a record, in the file", stats.file_bytes_per_record);
    rows.mean("bytes a record, encoded", stats.encoded_bytes_per_record);
    for (opcode, count) in &tally.opcodes {
        rows.count(&format!("opcode {opcode}"), *count);
    }
    if tally.other_operations > 0 {
        rows.count("other operations", tally.other_operations);
    }
    rows.table("Records")
}

pub(super) fn libraries(stats: &json::LibraryStats) -> CountTable {
    let mut rows = Rows::default();
    rows.count("positions", stats.records);
    rows.mean("bytes a position", stats.file_bytes_per_record);
    rows.table("Libraries")
}

/// Origin of the tallies of a library.
pub(super) fn library(library: &json::Library) -> CountTable {
    let mut rows = Rows::default();
    let mixed = if library.is_mixed { ", and others that were built differently" } else { "" };
    rows.text(format!("  built with {}{mixed}", library.settings));
    if let Some(pruned) = &library.pruned {
        rows.text(format!("  pruned: {pruned}"));
    }
    match library.digests {
        Some(games) => rows.count("  digests of games", games),
        None => rows.text("  it has no digests of its games".to_string()),
    }
    if let Some(games) = library.repeated_games {
        rows.count("  games counted more than once", games);
    }
    if let Some(games) = library.kept_games {
        rows.count("  kept games", games);
    }
    for source in &library.sources {
        rows.text(format!("  source {}", source.name));
        rows.count("    games", source.games);
        rows.count("    duplicates", source.duplicates);
        rows.count("    games left out", source.left_out);
    }
    rows.table(format!("library {}", library.file))
}

/// Facts about the data of an archive.
pub(super) fn about(about: &json::AboutFile) -> CountTable {
    let mut rows = Rows::default();
    for (key, values) in &about.facts {
        values.iter().for_each(|value| rows.text(format!("  {key}: {value}")));
    }
    rows.table(format!("about {}", about.file))
}

/// Counts of games.
pub(super) fn games(games: &GameCensus) -> CountTable {
    let mut rows = Rows::default();
    rows.count("games", games.games);
    for (result, count) in GameResult::ALL.into_iter().zip(games.results) {
        rows.count(&format!("  {result}"), count);
    }
    rows.count("  from a set-up position", games.set_up);
    rows.count("  Chess960 castling", games.chess960);
    rows.count("plies", games.plies);
    rows.count("  of the longest game", games.longest);
    rows.count("variations", games.variations);
    rows.count("  plies in them", games.variation_plies);
    rows.count("null moves", games.null_moves);
    rows.count("NAGs", games.nags);
    rows.count("comments", games.comments);
    rows.count("  bytes in them", games.comment_bytes);
    rows.count("% lines", games.escapes);
    for (name, count) in &games.tags {
        rows.count(&format!("tag {name}"), *count);
    }
    if games.other_tags > 0 {
        rows.count("other tags", games.other_tags);
    }
    rows.count("games that PGC cannot store", games.not_in_pgc);
    let moves = games.plies + games.variation_plies;
    for (name, bytes, moves) in [
        ("in the file", games.file_bytes, moves),
        ("in export format", Some(games.pgn_bytes), moves),
        ("in PGC", Some(games.pgc_bytes), games.pgc_moves),
    ] {
        let bytes = bytes.filter(|_| moves > 0).map(|bytes| bytes as f64 / moves as f64);
        rows.mean(&format!("bytes a move, {name}"), bytes);
    }
    rows.table("Games")
}
