//! Tables of other programs.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::HashSet;
use std::sync::Arc;

use arrow_array::builder::{ListBuilder, MapBuilder, StringBuilder, StructBuilder};
use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, Decimal128Array, DictionaryArray, Float64Array, Int32Array, Int64Array, NullArray,
    RecordBatch, StringArray, StructArray, TimestampMicrosecondArray, UInt16Array, UInt64Array,
};
use arrow_schema::{DataType, Field};
use parquet::arrow::ArrowWriter;
use parquet::basic::{BrotliLevel, Compression, GzipLevel, ZstdLevel};
use parquet::file::properties::{WriterProperties, WriterVersion};
use parquet::file::reader::{FileReader, SerializedFileReader};

use arrow_cast::display::array_value_to_string;

use super::arrow::{
    self, BatchColumns, GameRows, GameTable, Kind, MoveRows, RecordRows, RecordTable, Row,
    TableOptions, pairs_at,
};
use super::{ColumnFile, Source, SourceOptions, Target, TargetOptions as TargetOf};
use epdb_chess::parse_epd;
use epdb_chess::text::pgn::{GameReader, PgnFormatOptions, PgnReadOptions, format};
use epdb_chess::text::{ParseOptions, Profile, ScoreView};

const WHITE: &str = "4k3/8/8/8/8/8/4P3/4K3 w - -";
const BLACK: &str = "4k3/8/8/8/8/8/4P3/4K3 b - -";

type Columns = Vec<(&'static str, ArrayRef)>;

fn texts(values: &[Option<&str>]) -> ArrayRef {
    Arc::new(StringArray::from(values.to_vec()))
}

fn text(value: &str) -> ArrayRef {
    texts(&[Some(value)])
}

fn floats(values: &[Option<f64>]) -> ArrayRef {
    Arc::new(Float64Array::from(values.to_vec()))
}

fn integers(values: &[Option<i64>]) -> ArrayRef {
    Arc::new(Int64Array::from(values.to_vec()))
}

/// A dictionary of no values, which pandas writes for a categorical column without a value.
fn null_dictionary(rows: usize) -> ArrayRef {
    let keys = Int32Array::from(vec![None; rows]);
    let values: ArrayRef = Arc::new(NullArray::new(0));
    Arc::new(DictionaryArray::<Int32Type>::new(keys, values))
}

fn structs(rows: usize) -> ArrayRef {
    let field = Arc::new(Field::new("a", DataType::Int64, true));
    let values = integers(&vec![Some(1); rows]);
    Arc::new(StructArray::from(vec![(field, values)]))
}

fn map(entries: &[(&str, &str)]) -> ArrayRef {
    let mut map = MapBuilder::new(None, StringBuilder::new(), StringBuilder::new());
    for (key, value) in entries {
        map.keys().append_value(key);
        map.values().append_value(value);
    }
    map.append(true).unwrap();
    Arc::new(map.finish())
}

/// A map as polars writes it: a list of structs.
fn list_of_structs(entries: &[(&str, &str)]) -> ArrayRef {
    let fields = ["key", "value"].map(|name| Field::new(name, DataType::Utf8, true));
    let mut list = ListBuilder::new(StructBuilder::from_fields(fields.to_vec(), 0));
    for (key, value) in entries {
        let pair = list.values();
        pair.field_builder::<StringBuilder>(0).unwrap().append_value(key);
        pair.field_builder::<StringBuilder>(1).unwrap().append_value(value);
        pair.append(true);
    }
    list.append(true);
    Arc::new(list.finish())
}

/// A map as pandas writes it: a list of lists of two texts.
fn list_of_lists(entries: &[(&str, &str)]) -> ArrayRef {
    let mut list = ListBuilder::new(ListBuilder::new(StringBuilder::new()));
    for (key, value) in entries {
        list.values().values().append_value(key);
        list.values().values().append_value(value);
        list.values().append(true);
    }
    list.append(true);
    Arc::new(list.finish())
}

fn moves(plies: &[u16]) -> ArrayRef {
    let values = UInt16Array::from(plies.to_vec());
    let mut list = ListBuilder::new(arrow_array::builder::UInt16Builder::new());
    list.values().append_slice(values.values());
    list.append(true);
    Arc::new(list.finish())
}

fn evaluations(plies: &[i32]) -> ArrayRef {
    let mut list = ListBuilder::new(arrow_array::builder::Int32Builder::new());
    list.values().append_slice(plies);
    list.append(true);
    Arc::new(list.finish())
}

fn written(columns: Columns, properties: WriterProperties) -> Vec<u8> {
    let columns = columns.into_iter().map(|(name, array)| (name, array, true));
    let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    bytes
}

fn table(columns: Columns) -> Vec<u8> {
    written(columns, WriterProperties::default())
}

/// The records of a table as lines, or the first error.
fn records(bytes: Vec<u8>, view: Option<ScoreView>) -> Result<Vec<String>, String> {
    let text = ParseOptions { score_view: view, ..ParseOptions::new(Profile::Lenient) };
    let options = SourceOptions { text, memory_bytes: 16 << 20, ..Default::default() };
    let source = Source::from_bytes("t.parquet", bytes, &options).map_err(|it| chain(&it))?;
    let line = |record: epdb_chess::model::EpdRecord| {
        String::from_utf8_lossy(&epdb_chess::format_epd(&record)).into_owned()
    };
    source.records().map(|record| record.map(line).map_err(|it| chain(&it))).collect()
}

/// The games of a table as PGN without its tags of unknown facts, or the first error.
fn games(columns: Columns, view: Option<ScoreView>) -> Result<Vec<String>, String> {
    games_of(table(columns), view)
}

fn games_of(bytes: Vec<u8>, view: Option<ScoreView>) -> Result<Vec<String>, String> {
    let text = ParseOptions { score_view: view, ..ParseOptions::new(Profile::Lenient) };
    let options = SourceOptions { text, ..Default::default() };
    let source = Source::from_bytes("t.parquet", bytes, &options);
    let mut games = Vec::new();
    let read = source.map_err(|it| chain(&it))?.read(&mut |item| {
        if let super::Item::Game { game, .. } = item {
            let mut text = Vec::new();
            format(game, &PgnFormatOptions::default(), &mut text).unwrap();
            let text = String::from_utf8(text).unwrap();
            let known = text.lines().filter(|line| !line.contains("\"?") && !line.is_empty());
            games.push(known.collect::<Vec<_>>().join(" "));
        }
        Ok::<_, epdb_chess::Error>(std::ops::ControlFlow::Continue(()))
    });
    read.map(|_| games).map_err(|it| chain(&it))
}

fn chain(error: &epdb_chess::Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(next) = cause {
        text.push_str(&format!(": {next}"));
        cause = next.source();
    }
    text
}

/// A table with these columns becomes this record.
#[test]
fn values_of_other_types_are_read_if_they_fit() {
    let wide = Decimal128Array::from(vec![Some(30_00)]).with_precision_and_scale(20, 2).unwrap();
    let cases: Vec<(Columns, &str)> = vec![
        (vec![("acs", floats(&[Some(12.0)]))], "acs 12;"),
        (vec![("acs", floats(&[Some(f64::NAN)]))], ""),
        (vec![("acs", text("12.0"))], "acs 12;"),
        (vec![("acs", text(""))], ""),
        (vec![("ce", Arc::new(wide))], "ce 30;"),
        (vec![("ce", Arc::new(UInt64Array::from(vec![7])))], "ce 7;"),
        (vec![("id", integers(&[Some(5)]))], "id \"5\";"),
        (vec![("id", floats(&[Some(5.0)]))], "id \"5\";"),
        (vec![("id", text("a; b, \u{201c}c\u{201d} \\"))], "id \"a; b, \u{201c}c\u{201d} \\\";"),
        (vec![("bm", text("e4 e3"))], "bm e3 e4;"),
        (vec![("sm", null_dictionary(1)), ("ce", null_dictionary(1))], ""),
        (vec![("other", structs(1)), ("Other", null_dictionary(1))], ""),
        (vec![("game", text("https://example.org/1")), ("ply", text("first"))], ""),
        (vec![("operations", map(&[("Foo", "1 \"a;b\"")]))], "Foo 1 \"a;b\";"),
        (vec![("operations", list_of_structs(&[("Foo", "1")]))], "Foo 1;"),
        (vec![("operations", list_of_lists(&[("Foo", "1")]))], "Foo 1;"),
        (vec![("depth", integers(&[None])), ("knodes", integers(&[None]))], ""),
        (
            vec![("depth", integers(&[Some(9)])), ("knodes", integers(&[Some(2)]))],
            "acd 9; acn 2000;",
        ),
    ];
    for (mut columns, operations) in cases {
        let name = columns[0].0;
        columns.push(("fen", text(WHITE)));
        let wanted = [WHITE, operations].join(" ").trim_end().to_string();
        assert_eq!(records(table(columns), None), Ok(vec![wanted]), "{name}");
    }
}

#[test]
fn values_that_do_not_fit_are_errors_with_row_and_column() {
    let cases: Vec<(&'static str, ArrayRef, &str)> = vec![
        ("acs", floats(&[Some(1.0), Some(1.5)]), "`1.5` does not fit"),
        ("cp", floats(&[Some(30.0), Some(0.3)]), "`0.3` does not fit"),
        ("ce", floats(&[Some(1.0), Some(1e300)]), "does not fit"),
        ("acs", texts(&[Some("1"), Some("soon")]), "`soon` does not fit"),
        ("acs", Arc::new(UInt64Array::from(vec![1, u64::MAX])), "does not fit"),
        ("cp", integers(&[Some(1), Some(40_000)]), "not a score"),
        ("id", texts(&[Some("a"), Some("x\"; bm e5; c0 \"y")]), "has a quote"),
        ("id", texts(&[Some("a"), Some("x\n8/8/8/4k3/8/1K6/8/8 b - -")]), "control character"),
        ("c0", texts(&[Some("a"), Some("x\u{1f}1-0,,,,")]), "control character"),
        ("sm", texts(&[Some("e4"), Some("e4; bm e3")]), "not moves"),
        ("move", texts(&[Some("e2e4"), Some("e2e4; bm e3")]), "not moves"),
        ("bm", texts(&[Some("e4"), Some("e4;id \"x\"")]), "not moves"),
        ("noop", texts(&[Some("e4"), Some("e4; bm e3")]), "semicolon"),
        ("noop", texts(&[Some("e4"), Some("\"e4")]), "second quote"),
        ("result", texts(&[Some("1-0"), Some("\"; bm e3; c0 \"")]), "has a quote"),
        (
            "fen",
            texts(&[Some(WHITE), Some("4k3/8/8/8/8/8/4P3/4K3 w - - bm e4; id \"x\";")]),
            "not a FEN",
        ),
        ("fen", texts(&[Some(WHITE), Some("4k3/8/8/8/8/8/4P3/4K3 w - - bm e4")]), "not a FEN"),
        ("fen", texts(&[Some(WHITE), Some("4k3/8/8/8/8/8/4P3/4K3 w bm e4")]), "not a FEN"),
        ("fen", texts(&[Some(WHITE), Some("# 8/8/8/4k3/8/1K6/8/8 b - -")]), "not a FEN"),
        ("fen", texts(&[Some(WHITE), Some("")]), "not a FEN"),
        ("fen", texts(&[Some(WHITE), None]), "no position"),
    ];
    for (name, array, reason) in cases {
        let mut columns = vec![(name, array)];
        if name != "fen" {
            columns.push(("fen", texts(&[Some(WHITE), Some(WHITE)])));
        }
        let error = records(table(columns), Some(ScoreView::Mover)).unwrap_err();
        let place = format!("row 2, column `{name}`");
        assert!(error.contains(&place) && error.contains(reason), "{name}: {error}");
    }
    let entries: [&[(&str, &str)]; 3] =
        [&[("Foo", "1; bm e5")], &[("bm e5; Foo", "1")], &[("Foo", "1\n")]];
    for entry in entries {
        let error = records(table(vec![("operations", map(entry)), ("fen", text(WHITE))]), None);
        assert!(error.unwrap_err().contains("row 1, column `operations`"), "{entry:?}");
    }
    let error = records(table(vec![("fen", text(WHITE)), ("acs", structs(1))]), None);
    assert!(error.unwrap_err().contains("column `acs` is of type Struct"));
}

#[test]
fn a_row_that_is_no_record_is_rejected_alone() {
    let fens = texts(&[Some(WHITE), Some("no\nposition"), None, Some(BLACK)]);
    let bytes =
        table(vec![("fen", fens), ("ply", integers(&[Some(1), Some(2), Some(3), Some(4)]))]);
    let source = Source::from_bytes("t.parquet", bytes, &SourceOptions::default()).unwrap();
    let mut seen = Vec::new();
    source
        .read(&mut |item| {
            match item {
                super::Item::Record { place, .. } => seen.push(format!("record {place}")),
                super::Item::Rejected { place, raw, .. } => {
                    seen.push(format!("{place}: {}", String::from_utf8_lossy(raw)));
                }
                _ => {}
            }
            Ok::<_, epdb_chess::Error>(std::ops::ControlFlow::Continue(()))
        })
        .unwrap();
    let fault = "is not a FEN: it has a control character, a semicolon or a quote";
    let wanted = [
        "record t.parquet:1".to_string(),
        format!("t.parquet:2: row 2, column `fen`: `no position` {fault}\n"),
        "t.parquet:3: row 3, column `fen`: the row has no position\n".to_string(),
        "record t.parquet:4".to_string(),
    ];
    assert_eq!(seen, wanted);
}

#[test]
fn a_score_needs_a_view() {
    let score = |name: &'static str| (name, integers(&[Some(3)]));
    let table_of = |more: Columns| {
        let mut columns = vec![("fen", text(BLACK))];
        columns.extend(more);
        table(columns)
    };
    let view = |name: &str| ("score_view", text(name));
    let (white, mover) = (Some(ScoreView::White), Some(ScoreView::Mover));
    let cases = [
        (table_of(vec![score("cp")]), white, "ce -3;"),
        (table_of(vec![score("cp")]), mover, "ce 3;"),
        (table_of(vec![score("mate")]), white, "ce -32761;"),
        (table_of(vec![score("mate")]), mover, "ce 32762;"),
        (table_of(vec![score("cp"), view("white")]), None, "ce -3;"),
        (table_of(vec![score("cp"), view("mover")]), None, "ce 3;"),
        (table_of(vec![score("cp"), view("white")]), mover, "ce 3;"),
        // `ce` is from the view of the mover.
        (table_of(vec![score("ce"), score("cp")]), white, "ce 3;"),
    ];
    for (bytes, view, wanted) in cases {
        assert_eq!(records(bytes, view), Ok(vec![format!("{BLACK} {wanted}")]), "{wanted}");
    }
    for name in ["cp", "mate"] {
        let error = records(table_of(vec![score(name)]), None).unwrap_err();
        assert!(error.contains("row 1") && error.contains("--score-view white"), "{error}");
    }
    // Without a score there is nothing to ask.
    let bytes = table_of(vec![("cp", integers(&[None])), ("mate", floats(&[None]))]);
    assert_eq!(records(bytes, None), Ok(vec![BLACK.to_string()]));
}

#[test]
fn missing_depth_and_nodes_of_evaluations_stay_missing() {
    let row = |depth, knodes| {
        table(vec![
            ("fen", text(WHITE)),
            ("line", text("e2e4")),
            ("cp", integers(&[Some(5)])),
            ("depth", integers(&[depth])),
            ("knodes", floats(&[knodes])),
        ])
    };
    let wanted = |line: &str| Ok(vec![format!("{WHITE} {line}")]);
    assert_eq!(records(row(None, None), None), wanted("ce 5; pv e4;"));
    assert_eq!(records(row(Some(0), Some(3.0)), None), wanted("acd 0; acn 3000; ce 5; pv e4;"));
    assert!(records(row(Some(0), Some(3.5)), None).unwrap_err().contains("row 1, column `knodes`"));
}

const E4: u16 = 12 << 6 | 28;
const E5: u16 = 52 << 6 | 36;
const D4: u16 = 11 << 6 | 27;

#[test]
fn games_of_other_programs_are_games() {
    let day = 1_369_958_400_000_000;
    let stamp = |micros| -> ArrayRef { Arc::new(TimestampMicrosecondArray::from(vec![micros])) };
    let zoned: ArrayRef = Arc::new(TimestampMicrosecondArray::from(vec![day]).with_timezone("UTC"));
    let days: ArrayRef = Arc::new(arrow_array::Date32Array::from(vec![15_856]));
    let time: ArrayRef = Arc::new(arrow_array::Time64MicrosecondArray::from(vec![3_723_000_000]));
    let cases: Vec<(Columns, &str)> = vec![
        (vec![("WhiteElo", floats(&[Some(1756.0)]))], "[WhiteElo \"1756\"] 1. e4 e5 *"),
        (vec![("WhiteElo", floats(&[None]))], "1. e4 e5 *"),
        (vec![("UTCDate", stamp(day))], "[UTCDate \"2013.05.31\"] 1. e4 e5 *"),
        (vec![("UTCDate", zoned)], "[UTCDate \"2013.05.31\"] 1. e4 e5 *"),
        (vec![("Date", days)], "[Date \"2013.05.31\"] 1. e4 e5 *"),
        (vec![("UTCTime", time)], "[UTCTime \"01:02:03\"] 1. e4 e5 *"),
        (vec![("UTCTime", stamp(day + 3_723_000_000))], "[UTCTime \"01:02:03\"] 1. e4 e5 *"),
        (vec![("Extra", structs(1)), ("Odd name", text("x"))], "1. e4 e5 *"),
        (vec![("Event", null_dictionary(1)), ("tags", map(&[("A", "b")]))], "[A \"b\"] 1. e4 e5 *"),
        (vec![("tags", list_of_structs(&[("A", "b")]))], "[A \"b\"] 1. e4 e5 *"),
        (vec![("tags", list_of_lists(&[("A", "b\"\\")]))], "[A \"b\\\"\\\\\"] 1. e4 e5 *"),
        (vec![("Result", text("1-0"))], "[Result \"1-0\"] 1. e4 e5 1-0"),
    ];
    for (mut columns, wanted) in cases {
        let name = columns[0].0;
        columns.push(("moves", moves(&[E4, E5])));
        let wanted = if wanted.contains("Result") {
            wanted.to_string()
        } else {
            let tags = wanted.find("1. e4").unwrap();
            let (tags, moves) = wanted.split_at(tags);
            let (before, after) =
                if tags.contains("[Date") || tags.is_empty() { (tags, "") } else { ("", tags) };
            format!("{before}[Result \"*\"] {after}{moves}")
        };
        assert_eq!(games(columns, None), Ok(vec![wanted]), "{name}");
    }
}

#[test]
fn null_moves_and_scores_of_games_are_read() {
    let played = vec![("moves", moves(&[E4, 0, D4]))];
    let wanted = vec!["[Result \"*\"] 1. e4 -- 2. d4 *".to_string()];
    assert_eq!(games(played, None), Ok(wanted));
    let scored = || vec![("moves", moves(&[E4, E5])), ("evals_cp", evaluations(&[30, 32_764]))];
    let error = games(scored(), None).unwrap_err();
    assert!(
        error.contains("row 1, column `evals_cp`") && error.contains("--score-view"),
        "{error}"
    );
    let wanted = |text: &str| Ok(vec![format!("[Result \"*\"] {text} *")]);
    let white = "1. e4 { [%eval 0.30] } 1... e5 { [%eval #2] }";
    let mover = "1. e4 { [%eval -0.30] } 1... e5 { [%eval #2] }";
    let plain = |text: &str| text.replace("{ ", "{").replace(" }", "}");
    assert_eq!(games(scored(), Some(ScoreView::White)), wanted(&plain(white)));
    assert_eq!(games(scored(), Some(ScoreView::Mover)), wanted(&plain(mover)));
    let mut columns = scored();
    columns.push(("score_view", text("mover")));
    assert_eq!(games(columns, None), wanted(&plain(mover)));
    let illegal = games(vec![("moves", moves(&[E4, E4]))], None).unwrap_err();
    assert!(
        illegal.contains("row 1, column `moves`: move 2 of the game is not legal"),
        "{illegal}"
    );
    let line = games(vec![("moves", moves(&[E4])), ("Event", text("a\"]\n\n1. d4 *"))], None);
    assert!(line.unwrap_err().contains("row 1, column `Event`"));
    let name = games(vec![("moves", moves(&[E4])), ("tags", map(&[("A \"x\"]", "b")]))], None);
    assert!(name.unwrap_err().contains("row 1, column `tags`"));
}

#[test]
fn a_movetext_is_one_game() {
    let result = |moves: &str, result: Option<&str>| {
        games(vec![("movetext", text(moves)), ("Result", texts(&[result]))], None)
    };
    for moves in [
        "1. e4 e5 1-0",
        "1. e4 { [%eval 0.3] [%clk 0:01:00] } 1... e5 1-0",
        "1. e4 $1 (1. d4 d5) 1... e5 1-0",
        "1. e4 e5 1. d4 d5",
        "1. e4\ne5 ; a comment\n1-0",
        "",
    ] {
        let read = games(vec![("movetext", text(moves))], None).unwrap();
        assert_eq!(read.len(), 1, "{moves}: {read:?}");
        assert_eq!(result(moves, Some("1-0")).unwrap().len(), 1, "{moves}");
        assert_eq!(result(moves, None).unwrap().len(), 1, "{moves}");
    }
    for moves in [
        "1. e4 1-0 1. d4",
        "1. e4 *\n\n[Event \"x\"]\n\n1. d4 *",
        "1. e4 { open",
        "1. e4 ; rest\n\n[White \"x\"]\n\n1. d4",
    ] {
        let error = result(moves, Some("1-0")).unwrap_err();
        assert!(error.contains("row 1, column `movetext`"), "{moves}: {error}");
    }
}

#[test]
fn all_compressions_are_read() {
    for compression in [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::GZIP(GzipLevel::default()),
        Compression::BROTLI(BrotliLevel::default()),
        Compression::LZ4_RAW,
        Compression::ZSTD(ZstdLevel::default()),
    ] {
        let properties = WriterProperties::builder().set_compression(compression).build();
        let bytes = written(vec![("fen", text(WHITE)), ("id", text("a"))], properties);
        assert_eq!(records(bytes, None), Ok(vec![format!("{WHITE} id \"a\";")]), "{compression}");
    }
}

/// At the end of a page of a list, the reader looks at the header of the next page before it reads that page.
#[test]
fn lists_of_several_pages_are_read() {
    for compression in [Compression::UNCOMPRESSED, Compression::SNAPPY] {
        for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
            let properties = WriterProperties::builder()
                .set_compression(compression)
                .set_writer_version(version)
                .set_dictionary_enabled(false)
                .set_write_batch_size(4)
                .set_data_page_row_count_limit(8)
                .set_offset_index_disabled(true)
                .build();
            let mut lists = ListBuilder::new(arrow_array::builder::UInt16Builder::new());
            for _ in 0..100 {
                lists.append_value([Some(E4)]);
            }
            let bytes = written(vec![("moves", Arc::new(lists.finish()))], properties);
            assert_eq!(games_of(bytes, None).unwrap().len(), 100, "{compression} {version:?}");
        }
    }
}

#[test]
fn memory_is_bounded_in_bytes() {
    // Rows that share a long text in a dictionary.
    let long = "x".repeat(400_000);
    let rows = 60;
    let columns = || {
        let ids = StringArray::from(vec![long.as_str(); rows]);
        let fens = StringArray::from(vec![WHITE; rows]);
        vec![("fen", Arc::new(fens) as ArrayRef), ("id", Arc::new(ids) as ArrayRef)]
    };
    let read = records(table(columns()), None).unwrap();
    assert_eq!(read.len(), rows);
    // A page of one text that is larger than the memory.
    let zeros = "0".repeat(40 << 20);
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_dictionary_enabled(false)
        .build();
    let bytes = written(vec![("fen", text(WHITE)), ("id", text(&zeros))], properties);
    let error = records(bytes, None).unwrap_err();
    assert!(error.contains("give more --memory"), "{error}");
}

/// A reader of Parquet panics at some of these files. None may end the program.
#[test]
fn damaged_files_are_errors() {
    let bytes = table(vec![
        ("fen", texts(&[Some(WHITE), Some(BLACK)])),
        ("id", texts(&[Some("a"), None])),
        ("operations", {
            let mut both = MapBuilder::new(None, StringBuilder::new(), StringBuilder::new());
            both.append(true).unwrap();
            both.append(false).unwrap();
            Arc::new(both.finish())
        }),
    ]);
    let wanted = records(bytes.clone(), None).unwrap();
    assert_eq!(wanted.len(), 2);
    for place in (0..bytes.len()).step_by(7) {
        let mut changed = bytes.clone();
        changed[place] ^= [0x01, 0x80, 0xff][place % 3];
        // The result may be right, wrong or an error, but it comes.
        let _ = records(changed, None);
    }
}

/// Each record is restored from a table, and `operations` has nothing that other columns have exactly.
#[test]
fn tables_have_everything_of_a_record_once() {
    let cases: [(&str, &[&str]); 17] = [
        ("4k3/8/8/8/8/8/4P3/4K3 w - -", &[]),
        ("4k3/8/8/8/8/8/4P3/4K3 w - - 3 9", &[]),
        ("4k3/8/8/8/8/8/4P3/4K3 w - - fmvn 9; hmvc 3;", &["fmvn", "hmvc"]),
        ("4k3/8/8/8/8/8/4P3/4K3 w - - acd 20; acn 5000; ce 31; sm e4;", &[]),
        ("4k3/8/8/8/8/8/4P3/4K3 b - - ce -31;", &[]),
        ("4k3/8/8/8/8/8/4P3/4K3 w - - acn 5001;", &["acn"]),
        ("4k3/8/8/8/8/8/4P3/4K3 w - - acd 020;", &["acd"]),
        ("4k3/8/8/8/8/8/4P3/4K3 w - - ce 32764;", &[]),
        ("4k3/8/8/8/8/8/4P3/4K3 w - - ce 32765;", &["ce"]),
        ("4k3/8/8/8/8/8/4P3/4K3 w - - ce -32767;", &[]),
        ("4k3/8/8/8/8/8/4P3/4K3 w - - ce -32768;", &["ce"]),
        ("4k3/8/8/8/8/8/4P3/4K3 w - - pv e4 Kd7; sm e4;", &["sm"]),
        ("4k3/8/8/8/8/8/4P3/4K3 w - - bm e3; pv e4;", &[]),
        ("4k3/8/8/8/8/8/4P3/4K3 w - - c0 \"a\"; c9 \"1-0\"; sm e5;", &["c9", "sm"]),
        ("4k3/8/8/8/8/8/4P3/4K3 w - - c9 \"1-0\";", &[]),
        ("4k3/8/8/8/8/8/4P3/4K3 w - - c9 \"*\";", &["c9"]),
        ("4k3/8/8/8/8/8/4P3/4K3 w - - ptp Result \"0-1\";", &["ptp"]),
    ];
    let all = TableOptions { columns: Some(RecordRows::all_columns()), ..Default::default() };
    for (line, others) in cases {
        let record = parse_epd(line.as_bytes()).unwrap();
        for options in [&TableOptions::default(), &all] {
            let mut table = RecordTable::new(options).unwrap();
            table.push(&Row::new(&record)).unwrap();
            let batch = table.finish().unwrap();
            assert_eq!(arrow::records(&batch, None).unwrap()[0], record, "{line}");
        }
        let mut table = RecordTable::new(&TableOptions::default()).unwrap();
        table.push(&Row::new(&record)).unwrap();
        let batch = table.finish().unwrap();
        let columns = BatchColumns::new(&batch, 0);
        let pairs = columns.required("operations", Kind::Pairs).unwrap();
        let names: Vec<&str> = pairs_at(Some(&pairs), 0).iter().map(|(name, _)| *name).collect();
        assert_eq!(names, others, "{line}");
    }
}

#[test]
fn games_have_typed_columns() {
    let text = "[Date \"2024.02.29\"]\n[WhiteElo \"2400\"]\n[BlackElo \"?\"]\n[TimeControl \"180+2\"]\n\n\
        1. e4 {[%eval #-3]} e5 {[%eval 0.31]} 1/2-1/2\n\n\
        [Date \"2023.02.29\"]\n[UTCDate \"2023.??.01\"]\n[TimeControl \"40/7200\"]\n\n*\n";
    let mut reader = GameReader::new(text.as_bytes(), PgnReadOptions::default());
    let mut table =
        GameTable::new(&TableOptions { white_view: true, ..Default::default() }).unwrap();
    while let Some(read) = reader.next_game().unwrap() {
        table.push(read.game.unwrap()).unwrap();
    }
    let batch = table.finish().unwrap();
    let shown = |name: &str, row: usize| {
        array_value_to_string(batch.column_by_name(name).unwrap(), row).unwrap()
    };
    let wanted = [
        ("white_elo", "2400", ""),
        ("black_elo", "", ""),
        ("game_date", "2024-02-29", ""),
        ("base_s", "180", ""),
        ("increment_s", "2", ""),
        ("plies", "2", "0"),
        ("score", "0.5", ""),
        ("evals_cp", "[, 31]", ""),
        ("evals_mate", "[-3, ]", ""),
    ];
    for (name, first, second) in wanted {
        assert_eq!([shown(name, 0), shown(name, 1)], [first, second], "{name}");
    }
}

/// Databases do not distinguish capital letters in the names of columns.
#[test]
fn names_of_columns_differ_without_regard_to_case() {
    let tables = [RecordRows::all_columns(), GameRows::all_columns(), MoveRows::all_columns()];
    for names in tables {
        let lower: HashSet<String> = names.iter().map(|name| name.to_lowercase()).collect();
        assert_eq!(lower.len(), names.len(), "{names:?}");
    }
}

#[test]
fn a_sorted_table_says_so() {
    let folder = tempfile::tempdir().unwrap();
    for sorted in [false, true] {
        let path = folder.path().join("a.parquet");
        let options = TargetOf { sorted_by_key: sorted, ..Default::default() };
        let mut target = Target::create_with(&path, &options).unwrap();
        target.write(&parse_epd(WHITE.as_bytes()).unwrap()).unwrap();
        target.finish().unwrap();
        let reader = SerializedFileReader::new(std::fs::File::open(&path).unwrap()).unwrap();
        let group = reader.metadata().row_group(0);
        let columns = group.sorting_columns().map(|columns| columns[0].column_idx as usize);
        let names = columns.map(|index| group.column(index).column_path().string());
        assert_eq!(names, sorted.then(|| "key".to_string()));
    }
}

/// A key is never missed: a bloom filter that is damaged is not used.
#[test]
fn a_damaged_filter_hides_no_key() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    let mut target = Target::create(&path).unwrap();
    let lines = [WHITE, BLACK].map(|line| parse_epd(line.as_bytes()).unwrap());
    // The key that is looked for is between the others, so statistics do not tell.
    let mut keys = vec![];
    for record in &lines {
        target.write(record).unwrap();
        keys.push(i128::from(epdb_chess::codec::key::position_key(record.position())));
    }
    target.finish().unwrap();
    let all = TableOptions { columns: Some(RecordRows::all_columns()), ..Default::default() };
    let all = RecordTable::new(&all).unwrap().schema();
    let open = || ColumnFile::open(&path, &all, &SourceOptions::default());
    let found = |file: &ColumnFile, key: i128| file.may_have(0, "key", &(key..=key));
    let between = (keys[0] + keys[1]) / 2;
    assert!(!found(&open().unwrap().unwrap(), between), "the filter is not used");
    let bytes = std::fs::read(&path).unwrap();
    let reader = SerializedFileReader::new(std::fs::File::open(&path).unwrap()).unwrap();
    let columns = reader.metadata().row_group(0).columns();
    let start = columns.iter().find_map(|column| column.bloom_filter_offset()).unwrap() as usize;
    for place in start..start + 64 {
        let mut changed = bytes.clone();
        changed[place] ^= 0xff;
        std::fs::write(&path, changed).unwrap();
        let file = open().unwrap().unwrap();
        assert!(keys.iter().all(|key| found(&file, *key)), "{place}");
    }
}
