//! The module `source`: all ways of reading give the same items, and every format that is written can be read.

#![allow(clippy::unwrap_used, clippy::expect_used)]

#[cfg(feature = "remote")]
#[path = "../support/random_positions.rs"]
mod random_positions;
#[cfg(feature = "remote")]
mod remote;
#[path = "../support/samples.rs"]
mod samples;
#[cfg(feature = "parquet")]
#[path = "../support/seeds.rs"]
mod seed_files;
#[cfg(feature = "parquet")]
mod seeds;
mod shards;
#[cfg(feature = "remote")]
#[path = "../support/web_server.rs"]
mod web_server;

use std::fs;
use std::io::Read;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use epdb_chess::codec::pgc::{self, PgcEncodeOptions};
use epdb_chess::error::{self, At, ErrorKind, Result};
use epdb_chess::model::{EpdRecord, Game};
use epdb_chess::text::pgn::{GamePosition, GameReader, PgnReadOptions, PositionOptions};
use epdb_source::{
    self, FileFormat, Item, OwnedItem, Source, SourceOptions, Sources, Target, TargetOptions,
};

const TEXT: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - id \"one\";\n\
                    \n\
                    no position\n\
                    4k3/8/8/8/8/8/4P3/4K3 w - - bm e4; id \"two\";\n";
const GAMES: &str = "[White \"A\"]\n[Result \"1-0\"]\n\n1. e4 e5 2. Nf3 1-0\n\n1. e5 e4 *\n";

fn records(path: impl AsRef<Path>) -> Vec<EpdRecord> {
    epdb_source::open(path).unwrap().records().collect::<Result<_>>().unwrap()
}

fn sample() -> Vec<EpdRecord> {
    let options = SourceOptions::default();
    Source::from_bytes("a.epd", TEXT, &options).unwrap().records().filter_map(Result::ok).collect()
}

fn write(path: &Path, records: &[EpdRecord]) {
    let mut target = Target::create(path).unwrap();
    records.iter().for_each(|record| target.write(record).unwrap());
    target.finish().unwrap();
}

/// Every format of records, plain and compressed, from a file, a reader and bytes.
#[test]
fn every_written_format_is_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let sample = sample();
    assert_eq!(sample.len(), 2);
    for name in ["a.epd", "a.epd.gz", "a.epd.zst", "a.epb", "a.epdb", "a.epa"] {
        let path = folder.path().join(name);
        write(&path, &sample);
        assert_eq!(records(&path), sample, "{name}");
        let bytes = fs::read(&path).unwrap();
        let read = |source: Result<Source>| source.unwrap().records().collect::<Result<Vec<_>>>();
        let options = SourceOptions::default();
        let from_bytes = Source::from_bytes("data", bytes.clone(), &options);
        assert_eq!(read(from_bytes).unwrap(), sample, "{name}");
        let from_reader = Source::from_reader("data", std::io::Cursor::new(bytes), &options);
        assert_eq!(read(from_reader).unwrap(), sample, "{name}");
    }
}

#[test]
fn several_sources_come_in_order_with_their_places() {
    let folder = tempfile::tempdir().unwrap();
    let (lines, stream) = (folder.path().join("a.epd"), folder.path().join("b.epb"));
    fs::write(&lines, TEXT).unwrap();
    write(&stream, &sample());
    let items: Vec<OwnedItem> = Sources::new([&lines, &stream], &SourceOptions::default())
        .items()
        .map(Result::unwrap)
        .collect();
    let kind = |item: &OwnedItem| match item {
        OwnedItem::Record { .. } => "record",
        OwnedItem::Rejected { .. } => "rejected",
        _ => "other",
    };
    let seen: Vec<(&str, At)> = items.iter().map(|item| (kind(item), item.place().at)).collect();
    let expected = [
        ("record", At::Line(1)),
        ("rejected", At::Line(3)),
        ("record", At::Line(4)),
        ("record", At::Record(1)),
        ("record", At::Record(2)),
    ];
    assert_eq!(seen, expected);
    let OwnedItem::Rejected { raw, diagnostic: Some(diagnostic), .. } = &items[1] else { panic!() };
    assert_eq!((&raw[..], diagnostic.code), (&b"no position\n"[..], "E-EPD-FIELDS"));
}

#[test]
fn games_come_as_games_or_as_their_positions() {
    let options = SourceOptions::default();
    let items = Source::from_bytes("a.pgn", GAMES, &options).unwrap().items();
    let games: Vec<OwnedItem> = items.map(Result::unwrap).collect();
    let is_whole = |item: &OwnedItem| matches!(item, OwnedItem::Game { is_cut_short: false, .. });
    assert!(is_whole(&games[0]) && matches!(games[1..], [OwnedItem::Rejected { .. }]));
    let cut = Source::from_bytes("a.pgn", "1. e4 e5 2. Ke3 *", &options).unwrap().items();
    let cut: Vec<OwnedItem> = cut.map(Result::unwrap).collect();
    let [OwnedItem::Warning { .. }, OwnedItem::Game { game, is_cut_short: true, .. }] = &cut[..]
    else {
        panic!()
    };
    assert_eq!(game.main_line().count(), 2);
    let options = SourceOptions { positions: Some(PositionOptions::default()), ..options };
    let source = Source::from_bytes("a.pgn", GAMES, &options).unwrap();
    assert_eq!(source.records().filter_map(Result::ok).count(), 4);

    let folder = tempfile::tempdir().unwrap();
    for name in ["a.pgn", "a.pgn.gz", "a.pgc"] {
        let path = folder.path().join(name);
        let mut target = Target::create(&path).unwrap();
        let OwnedItem::Game { game, .. } = &games[0] else { panic!() };
        target.write_game(game).unwrap();
        assert!(target.write(&sample()[0]).is_err());
        target.finish().unwrap();
        let mut read = epdb_source::open(&path).unwrap().items();
        let Some(Ok(OwnedItem::Game { game: again, .. })) = read.next() else { panic!("{name}") };
        assert_eq!(again.main_line().count(), game.main_line().count());
    }
}

/// A file is complete or not there; a store that is there is not touched.
#[test]
fn a_target_that_is_dropped_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a.epd", "a.epb", "a.epdb", "a.epa"] {
        let mut target = Target::create(folder.path().join(name)).unwrap();
        target.write(&sample()[0]).unwrap();
        drop(target);
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    let store = folder.path().join("a.epdb");
    write(&store, &sample());
    assert!(Target::create(&store).unwrap_err().to_string().contains("exists already"));
    assert_eq!(records(&store), sample());
    let wrong = TargetOptions { format: Some(FileFormat::Epb), ..Default::default() };
    assert!(Target::create_with(folder.path().join("b.epd"), &wrong).is_err());
}

/// Batches of lines are read on several threads and come in their order.
#[test]
fn lines_come_in_their_order() {
    let line = |n: usize| match n % 10 {
        0 => format!("# {n}\n"),
        1 => "no position\r\n".to_string(),
        _ => format!("4k3/8/8/8/8/8/4P3/4K3 w - - {} {}\n", n % 100, n % 5000 + 1),
    };
    let text: String = (1..=60_000).map(line).collect();
    let source = Source::from_bytes("a.epd", text.as_str(), &SourceOptions::default()).unwrap();
    let (mut raw_lines, mut last) = (String::new(), 0);
    let read = source.read(&mut |item| {
        raw_lines += std::str::from_utf8(item.raw()).unwrap();
        if let Item::Record { place, .. } | Item::Rejected { place, .. } = &item {
            assert!(place.number() > last, "{}", place.number());
            last = place.number();
            assert_eq!(item.raw(), line(last as usize).as_bytes());
        }
        Ok::<_, epdb_chess::Error>(ControlFlow::Continue(()))
    });
    read.unwrap();
    assert!(raw_lines == text);
}

/// Panics at one line, as what a user supplies may.
struct Panics;

const PANIC_LINE: u64 = 30_000;

impl epdb_source::Encode for Panics {
    fn encode(&self, _: &EpdRecord, place: &error::Place, _: &mut Vec<u8>) -> Result<()> {
        assert!(place.number() != PANIC_LINE, "as a test wants it");
        Ok(())
    }

    fn encode_game(&self, game: &Game, _: &mut Vec<u8>) -> bool {
        assert!(game.tag("Event") != Some("4001"), "as a test wants it");
        true
    }
}

impl epdb_source::Filter for Panics {
    fn takes(&self, _: &EpdRecord, _: Option<GamePosition<'_>>, place: &error::Place) -> bool {
        assert!(place.number() != PANIC_LINE, "as a test wants it");
        true
    }

    fn takes_game(&self, _: &Game, _: &error::Place) -> bool {
        panic!("as a test wants it")
    }
}

/// Gives lines, then panics.
struct PanickingInput(std::io::Cursor<Vec<u8>>);

impl Read for PanickingInput {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let len = self.0.read(out)?;
        assert!(len > 0, "as a test wants it");
        Ok(len)
    }
}

/// A panic of whatever a user supplies is an error: neither the end of the data nor a wait for ever.
#[test]
fn a_panic_is_an_error() {
    let text = "4k3/8/8/8/8/8/4P3/4K3 w - -\n".repeat(60_000);
    let options = [
        SourceOptions { encode: Some(Arc::new(Panics)), ..Default::default() },
        SourceOptions { filter: Some(Arc::new(Panics)), ..Default::default() },
    ];
    let is_panic = |error: &epdb_chess::Error| error.to_string().ends_with("as a test wants it");
    for options in &options {
        let source = || Source::from_bytes("a.epd", text.as_str(), options).unwrap();
        let error = source()
            .read(&mut |_| Ok::<_, epdb_chess::Error>(ControlFlow::Continue(())))
            .unwrap_err();
        assert!(is_panic(&error) && error.to_string().starts_with("a.epd:"), "{error}");
    }
    let source = || Source::from_bytes("a.epd", text.as_str(), &options[1]).unwrap();
    let records: Vec<_> = source().records().collect();
    assert!((1..PANIC_LINE as usize + 1).contains(&records.len()));
    let (last, before) = records.split_last().unwrap();
    assert!(before.iter().all(Result::is_ok) && last.as_ref().is_err_and(is_panic));

    let input = PanickingInput(std::io::Cursor::new(text.clone().into_bytes()));
    let source = Source::from_reader("a.epd", input, &SourceOptions::default());
    assert!(source.unwrap().items().last().unwrap().is_err_and(|error| is_panic(&error)));
    let games = SourceOptions { filter: Some(Arc::new(Panics)), ..Default::default() };
    let source = Source::from_bytes("a.pgn", "1. e4 *\n", &games).unwrap();
    assert!(source.items().last().unwrap().is_err_and(|error| is_panic(&error)));
}

#[test]
fn a_reading_can_be_broken_off() {
    let text = TEXT.repeat(50_000);
    let source = Source::from_bytes("a.epd", text.clone(), &SourceOptions::default()).unwrap();
    assert_eq!(source.items().take(3).count(), 3);
    let source = Source::from_bytes("a.epd", text, &SourceOptions::default()).unwrap();
    let mut count = 0;
    let summary = source.read(&mut |item| {
        count += u64::from(matches!(item, Item::Record { .. }));
        Ok::<_, epdb_chess::Error>(match count {
            10 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        })
    });
    assert!(summary.unwrap().was_stopped);
    assert_eq!(count, 10);
}

/// An input that fails.
struct Broken;

impl Read for Broken {
    fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
        Err(std::io::Error::other("the disk is gone"))
    }
}

#[test]
fn errors_name_the_place() {
    let input = TEXT.as_bytes().chain(Broken);
    let source = Source::from_reader("a.epd", input, &SourceOptions::default()).unwrap();
    let error = source.items().last().unwrap().unwrap_err();
    assert_eq!(error.to_string(), "a.epd:5: cannot read on: the disk is gone");
    assert_eq!(error.place().map(|place| place.at), Some(At::Line(5)));
    assert_eq!(error.kind(), ErrorKind::Io(std::io::ErrorKind::Other));

    let mut stream = Vec::new();
    let folder = tempfile::tempdir().unwrap();
    write(&folder.path().join("a.epb"), &sample());
    fs::File::open(folder.path().join("a.epb")).unwrap().read_to_end(&mut stream).unwrap();
    *stream.last_mut().unwrap() ^= 1;
    let source = Source::from_bytes("a.epb", stream, &SourceOptions::default()).unwrap();
    let error = source.records().find_map(Result::err).unwrap();
    assert!(error.to_string().starts_with("a.epb: frame 2"), "{error}");
    let missing = epdb_source::open("no such file.epd").unwrap_err();
    assert!(missing.to_string().starts_with("cannot read no such file.epd: "), "{missing}");
    assert_eq!(missing.kind(), ErrorKind::NotFound);
}

const EVALUATION: &str = "{\"fen\":\"4k3/8/8/8/8/8/4P3/4K3 w - -\",\"evals\":[{\"pvs\":\
                          [{\"cp\":31,\"line\":\"e2e4 e8d7\"}],\"knodes\":2,\"depth\":7}]}\n";
const PUZZLE: &str = "PuzzleId,FEN,Moves,Rating,RatingDeviation,Popularity,NbPlays,Themes,GameUrl\n\
                      a,4k3/8/8/8/8/8/4P3/4K3 w - - 0 9,e2e4 e8d7,1,2,3,4,endgame,u\n";

/// Files of other projects: format, records, and the place of each line.
#[test]
fn lines_of_others_are_records() {
    let options = SourceOptions::default();
    for (name, text, format, lines) in [
        ("a.jsonl", EVALUATION, FileFormat::LichessEvaluations, vec![1]),
        ("a", EVALUATION, FileFormat::LichessEvaluations, vec![1]),
        ("a.csv", PUZZLE, FileFormat::LichessPuzzles, vec![2]),
    ] {
        let open = || Source::from_bytes(name, text, &options).unwrap();
        assert_eq!(open().format(), format);
        assert!(!format.is_written());
        assert!(
            open()
                .into_lines(&mut |_| Ok::<_, epdb_chess::Error>(ControlFlow::Continue(())))
                .is_err()
        );
        let items: Vec<OwnedItem> = open().items().map(Result::unwrap).collect();
        let places: Vec<At> = items.iter().map(|item| item.place().at).collect();
        assert_eq!(places, lines.into_iter().map(At::Line).collect::<Vec<_>>());
        assert!(matches!(items[0], OwnedItem::Record { .. }));
    }
    let text = "PuzzleId,Rating,Moves\n";
    let source = Source::from_bytes("a.csv", text, &options).unwrap();
    let error = source.records().next().unwrap().unwrap_err().to_string();
    assert!(
        error.starts_with("a.csv:1:1: error[E-LINE-CSV]: the header has no column FEN"),
        "{error}"
    );
}

/// A book whose first bytes look like something else is still what its name says, and one that does
/// not stand in a file is told by its bytes.
#[test]
fn books_are_recognised_by_name_or_bytes() {
    let entry = |key: [u8; 8]| [&key[..], &[3, 0x1c, 0, 1, 0, 0, 0, 0]].concat();
    let format = |name: &str, bytes: Vec<u8>| {
        Source::from_bytes(name, bytes, &SourceOptions::default()).map(|source| source.format())
    };
    let start = 0x463b_9618_1691_fc9c_u64.to_be_bytes();
    for name in ["a.bin", "a.BIN", "a", "-"] {
        assert_eq!(format(name, entry(start)).unwrap(), FileFormat::Polyglot);
    }
    for magic in [&b"\x1f\x8b\x08"[..], b"BZh", b"\x28\xb5\x2f\xfd", b"\xff\xfe\0\0"] {
        let mut key = [0; 8];
        key[..magic.len()].copy_from_slice(magic);
        assert_eq!(format("a.bin", entry(key)).unwrap(), FileFormat::Polyglot);
    }
    assert_eq!(format("a.bin", b"4k3/8/8/8/8/8/8/4K3 w - -".to_vec()).unwrap(), FileFormat::Epd);
    let refused = format("a.epd", entry(start)).unwrap_err().to_string();
    assert!(refused.contains("give it the suffix .bin"), "{refused}");
    let source = Source::from_bytes("a.bin", entry(start), &SourceOptions::default()).unwrap();
    let records: Vec<EpdRecord> = source.records().map(Result::unwrap).collect();
    assert_eq!(records.len(), 1);
    assert!(epdb_chess::format_epd(&records[0]).ends_with(b" bm e4; c0 \"e4 1\";"));
}

/// Whatever byte of a line is another one, and wherever it ends, there is an answer.
#[test]
fn damaged_lines_of_others_are_answered() {
    let options = SourceOptions::default();
    let entry = |mv: u8| [0x46, 0x3b, 0x96, 0x18, 0x16, 0x91, 0xfc, 0x9c, 3, mv, 0, 1, 0, 0, 0, 0];
    let book = [entry(0x1c), entry(0x1b)].concat();
    for (name, bytes) in
        [("a.jsonl", EVALUATION.as_bytes()), ("a.csv", PUZZLE.as_bytes()), ("a.bin", &book)]
    {
        let answer = |bytes: Vec<u8>| {
            if let Ok(source) = Source::from_bytes(name, bytes, &options) {
                source.read(&mut |_| Ok::<_, epdb_chess::Error>(ControlFlow::Continue(()))).ok();
            }
        };
        for place in 0..bytes.len() {
            answer(bytes[..place].to_vec());
            for other in *b"\0 \",:{}[]-9aKx\n\x7f\x80\xff" {
                let mut changed = bytes.to_vec();
                changed[place] = other;
                answer(changed);
            }
        }
    }
}

/// The bytes that count as read are in proportion to the records read, also of files that are not read in order.
#[test]
fn counted_bytes_are_the_share_that_was_read() {
    const RECORDS: u64 = 8192;
    let folder = tempfile::tempdir().unwrap();
    let line = |number: u64| format!("4k3/8/8/8/8/8/4P3/4K3 w - - id \"{number}\";\n");
    let text: String = (0..RECORDS).map(line).collect();
    let options = SourceOptions::default();
    let all: Vec<EpdRecord> = Source::from_bytes("a.epd", text, &options)
        .unwrap()
        .records()
        .collect::<Result<_>>()
        .unwrap();
    let builder = epdb_library::shards::ShardOptions::new(3);
    let mut builder = epdb_library::shards::ShardBuilder::new(builder, folder.path());
    all.iter().for_each(|record| builder.push(record).unwrap());
    builder.finish(folder.path(), None).unwrap();
    for name in ["a.epd", "a.epb", "a.epdb", "a.epa", "manifest.json"] {
        let path = folder.path().join(name);
        if name != "manifest.json" {
            write(&path, &all);
        }
        let bytes_read = Arc::<AtomicU64>::default();
        let share =
            || bytes_read.load(Ordering::Relaxed) * 100 / fs::metadata(&path).unwrap().len();
        let options =
            SourceOptions { bytes_read: Some(Arc::clone(&bytes_read)), ..Default::default() };
        let (mut count, mut halfway) = (0, 0);
        let source = Source::open(&path, &options).unwrap();
        let summary = source.read(&mut |_| {
            count += 1;
            if count == RECORDS / 2 {
                halfway = share();
            }
            Ok::<_, epdb_chess::Error>(ControlFlow::Continue(()))
        });
        summary.unwrap();
        assert_eq!((count, share()), (RECORDS, 100), "{name}");
        if ["a.epdb", "a.epa", "manifest.json"].contains(&name) {
            assert!((49..=50).contains(&halfway), "{name}: {halfway}");
        }
    }
}

/// All items of a text of games, as text, read on this number of threads.
fn items_on(threads: usize, games: &str, options: &SourceOptions) -> Vec<String> {
    items_of("a.pgn", threads, games.as_bytes(), options)
}

/// All items of a file of games, and the summary, as text.
fn items_of(name: &str, threads: usize, games: &[u8], options: &SourceOptions) -> Vec<String> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let mut items = Vec::new();
    let source = Source::from_bytes(name, games, options).unwrap();
    let read = || {
        source.read(&mut |item| {
            items.push(format!("{item:?}"));
            Ok::<_, error::Error>(ControlFlow::Continue(()))
        })
    };
    let summary = pool.install(read).unwrap();
    items.push(format!("{summary:?}"));
    items
}

/// Several hundred thousand bytes of games.
fn many_games() -> Vec<String> {
    let tags = |nth| format!("[Event \"{nth}\"]\n[White \"A\"]\n[Result \"1-0\"]\n\n");
    let game = |nth| match nth % 7 {
        0 => format!("{}1. e4 e5 2. Nf3 {{a comment\n\n}} 1-0\n\n", tags(nth)),
        1 => format!("{}1. e4 e5 2. Ke3 1-0\n\n\n", tags(nth)),
        2 => format!("{}1. d4 d5\n\n", tags(nth)),
        3 => format!("{}1. e5 *\n\n", tags(nth)),
        4 => format!("{}1. e4 (1. d4 d5) e5 1-0 {{after it}}\n\n", tags(nth)),
        5 => format!("{}1. e4 e5 1-0\r\n\r\n", tags(nth).replace('\n', "\r\n")),
        _ => format!("{}\n1. e4 e5 (1... c5 *\n\n", tags(nth)),
    };
    (0..12_000).map(game).collect()
}

#[test]
fn games_are_the_same_on_any_number_of_threads() {
    let games = many_games();
    let inside =
        "1. e4 {a game:\n[Event \"inner\"]\n\n1. d4 1-0\n\n[Event \"other\"]\n\n} e5 1-0\n\n";
    let late_event = "[Site \"x\"]\n[Event \"late\"]\n\n1. e4 *\n\n";
    let comment = "{before the tags}\n\n[Event \"x\"]\n\n1. e4 *\n\n";
    let open = format!("1. e4 {{ {}\n", games[..9000].concat());
    let (third, rest) = games.split_at(4000);
    let (third, rest) = (third.concat(), rest.concat());
    let options = SourceOptions::default();
    for texts in [
        &[third.as_str(), &rest][..],
        &[&third, inside, &rest],
        &[&third, inside.repeat(3000).as_str(), &rest],
        &[late_event.repeat(9000).as_str(), &rest],
        &[comment.repeat(9000).as_str(), &rest],
        &[&third, &open],
        &[&third, "%escape\n", &rest, "\n%escape\n"],
        &["1. e4 e5 *\n\n".repeat(50_000).as_str(), &rest],
    ] {
        let text = texts.concat();
        let alone = items_on(1, &text, &options);
        assert!(alone.len() > 8000);
        assert!(items_on(3, &text, &options) == alone, "{}", &text[text.len() - 100..]);
    }
    let options = SourceOptions {
        positions: Some(PositionOptions::default()),
        deny_warnings: true,
        ..options
    };
    let text = rest.clone();
    assert!(items_on(3, &text, &options) == items_on(1, &text, &options));
}

/// PGC is cut after games. What damage takes away depends neither on the cuts nor on the threads.
#[test]
fn games_in_pgc_are_the_same_on_any_number_of_threads() {
    let encoded = |options: &PgcEncodeOptions| {
        let text = many_games().concat();
        let mut reader = GameReader::new(text.as_bytes(), PgnReadOptions::default());
        let mut all = Vec::new();
        while let Some(read) = reader.next_game().unwrap() {
            if let Ok(game) = read.game {
                pgc::encode(game, options, &mut all).unwrap();
            }
        }
        all
    };
    let checked = encoded(&PgcEncodeOptions::EXTENDED);
    let unchecked = encoded(&PgcEncodeOptions { no_checksum: true, ..PgcEncodeOptions::EXTENDED });
    let mut changed = checked.clone();
    (1..40).for_each(|nth| changed[nth * 20_000] ^= 0x10);
    let illegal = b"\x05\x03\x02\x0d\xff\x06";
    let options = SourceOptions::default();
    for files in [
        &[&unchecked[..]][..],
        &[&checked],
        &[&unchecked, &checked, &unchecked],
        &[&unchecked, illegal, &unchecked],
        &[&unchecked, &illegal.repeat(100_000), &unchecked],
        &[&unchecked, b"\0\0", &unchecked],
        &[&unchecked, b"\x06", &unchecked],
        &[&unchecked, b"\x06".repeat(400_000).as_slice(), &unchecked],
        &[&unchecked, b"\x05", &unchecked],
        &[&unchecked, b"\x0a\x01\0%", &unchecked],
        &[&unchecked, b"\x0b", &unchecked],
        &[&changed],
        &[&unchecked, &checked[..checked.len() - 3]],
    ] {
        let file = files.concat();
        let alone = items_of("a.pgc", 1, &file, &options);
        assert!(items_of("a.pgc", 3, &file, &options) == alone, "{} bytes", file.len());
    }
    let options = SourceOptions { positions: Some(PositionOptions::default()), ..options };
    let alone = items_of("a.pgc", 1, &checked, &options);
    assert!(items_of("a.pgc", 3, &checked, &options) == alone);
    let options = SourceOptions { encode: Some(Arc::new(Events)), ..Default::default() };
    let encoded = items_of("a.pgc", 3, &checked, &options);
    assert!(encoded.iter().any(|item| item.contains("encoded: Some")));
}

/// Appends the name of the event, and refuses the events that end in 5.
struct Events;

impl epdb_source::Encode for Events {
    fn encode(&self, _: &EpdRecord, _: &error::Place, _: &mut Vec<u8>) -> Result<()> {
        unreachable!("games are read")
    }

    fn encode_game(&self, game: &Game, out: &mut Vec<u8>) -> bool {
        let event = game.tag("Event").unwrap_or_default();
        out.extend_from_slice(event.as_bytes());
        !event.ends_with('5')
    }
}

/// The bytes of the encoder for each game, and the event of the game.
fn encoded_on(
    threads: usize,
    games: &str,
    options: &SourceOptions,
) -> Result<Vec<(String, Option<Vec<u8>>)>> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let mut all = Vec::new();
    let source = Source::from_bytes("a.pgn", games, options).unwrap();
    pool.install(|| {
        source.read(&mut |item| {
            if let Item::Game { game, encoded, .. } = item {
                let event = game.tag("Event").unwrap_or_default().to_string();
                all.push((event, encoded.map(<[u8]>::to_vec)));
            }
            Ok::<_, error::Error>(ControlFlow::Continue(()))
        })
    })?;
    Ok(all)
}

#[test]
fn the_threads_that_read_games_encode_them() {
    let games = many_games();
    let options = SourceOptions { encode: Some(Arc::new(Events)), ..Default::default() };
    let all = encoded_on(3, &games.concat(), &options).unwrap();
    let encoded = all.iter().filter(|(_, encoded)| encoded.is_some()).count();
    assert!(encoded > 4000, "{encoded} of {}", all.len());
    for (event, encoded) in &all {
        let is_own = |bytes: &Vec<u8>| bytes == event.as_bytes() && !event.ends_with('5');
        assert!(encoded.as_ref().is_none_or(is_own), "{event}: {encoded:?}");
    }
    let have_none = |threads, text: &str, options: &SourceOptions| {
        let all = encoded_on(threads, text, options).unwrap();
        all.len() > 6000 && all.iter().all(|(_, encoded)| encoded.is_none())
    };
    assert!(have_none(1, &games.concat(), &options));
    let short = SourceOptions {
        games: PgnReadOptions { limit: 1 << 20, ..Default::default() },
        ..Default::default()
    };
    assert!(have_none(
        3,
        &games.concat(),
        &SourceOptions { encode: Some(Arc::new(Events)), ..short }
    ));
    assert!(have_none(
        3,
        &games.concat(),
        &SourceOptions { filter: Some(Arc::new(AllGames)), ..options.clone() }
    ));
    // A game without a cut in more bytes than a part has: the rest is read in sequence.
    let long = format!("[Event \"long\"]\n\n1. e4 {{{}}} *\n\n", "a b c ".repeat(400_000));
    assert!(have_none(3, &format!("{long}{}", games.concat()), &options));
}

/// Takes everything.
struct AllGames;

impl epdb_source::Filter for AllGames {
    fn takes(&self, _: &EpdRecord, _: Option<GamePosition<'_>>, _: &error::Place) -> bool {
        true
    }

    fn takes_game(&self, _: &Game, _: &error::Place) -> bool {
        true
    }
}

#[test]
fn a_panic_of_an_encoder_of_games_is_an_error() {
    let options = SourceOptions { encode: Some(Arc::new(Panics)), ..Default::default() };
    let error = encoded_on(3, &many_games().concat(), &options).unwrap_err();
    assert!(error.to_string().ends_with("as a test wants it"), "{error}");
}

#[test]
fn reading_of_many_games_can_be_broken_off() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    let source =
        Source::from_bytes("a.pgn", many_games().concat(), &SourceOptions::default()).unwrap();
    let mut count = 0;
    let read = pool.install(|| {
        source.read(&mut |_| {
            count += 1;
            Ok::<_, error::Error>(match count {
                5000 => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            })
        })
    });
    assert!(read.unwrap().was_stopped);
    assert_eq!(count, 5000);
}
