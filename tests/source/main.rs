//! The room `source`: whatever is opened gives the same items, in each form of reading, and what is
//! written in any format is read again.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::io::Read;
use std::path::Path;

use epdb::error::{At, Result};
use epdb::model::EpdRecord;
use epdb::source::{
    self, FileFormat, Item, OwnedItem, Source, SourceOptions, Sources, Target, TargetOptions,
};
use epdb::text::pgn::PositionOptions;

const TEXT: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - id \"one\";\n\
                    \n\
                    no position\n\
                    4k3/8/8/8/8/8/4P3/4K3 w - - bm e4; id \"two\";\n";
const GAMES: &str = "[White \"A\"]\n[Result \"1-0\"]\n\n1. e4 e5 2. Nf3 1-0\n\n1. e4 e4 *\n";

fn records(path: impl AsRef<Path>) -> Vec<EpdRecord> {
    source::open(path).unwrap().records().collect::<Result<_>>().unwrap()
}

fn sample() -> Vec<EpdRecord> {
    let options = SourceOptions::new();
    Source::from_bytes("a.epd", TEXT, &options).unwrap().records().filter_map(Result::ok).collect()
}

fn write(path: &Path, records: &[EpdRecord]) {
    let mut target = Target::create(path).unwrap();
    records.iter().for_each(|record| target.write(record).unwrap());
    target.finish().unwrap();
}

/// Every format of records, plain and compressed, from a file, a reader and bytes.
#[test]
fn what_is_written_in_any_format_is_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let sample = sample();
    assert_eq!(sample.len(), 2);
    for name in ["a.epd", "a.epd.gz", "a.epd.zst", "a.epb", "a.epdb", "a.epa"] {
        let path = folder.path().join(name);
        write(&path, &sample);
        assert_eq!(records(&path), sample, "{name}");
        let bytes = fs::read(&path).unwrap();
        let read = |source: Result<Source>| source.unwrap().records().collect::<Result<Vec<_>>>();
        let options = SourceOptions::new();
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
    let items: Vec<OwnedItem> = Sources::new([&lines, &stream], &SourceOptions::new())
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
    let options = SourceOptions::new();
    let items = Source::from_bytes("a.pgn", GAMES, &options).unwrap().items();
    let games: Vec<OwnedItem> = items.map(Result::unwrap).collect();
    assert!(matches!(&games[..], [OwnedItem::Game { .. }, OwnedItem::Rejected { .. }]));
    let options = options.positions(PositionOptions::default());
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
        let mut read = source::open(&path).unwrap().items();
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
    let wrong = TargetOptions::new().format(FileFormat::Epb);
    assert!(Target::create_with(folder.path().join("b.epd"), &wrong).is_err());
}

#[test]
fn a_reading_can_be_broken_off() {
    let text = TEXT.repeat(50_000);
    let source = Source::from_bytes("a.epd", text.clone(), &SourceOptions::new()).unwrap();
    assert_eq!(source.items().take(3).count(), 3);
    let source = Source::from_bytes("a.epd", text, &SourceOptions::new()).unwrap();
    let mut count = 0;
    let summary = source.read(&mut |item| {
        count += u64::from(matches!(item, Item::Record { .. }));
        Ok::<_, epdb::Error>(count < 10)
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
    let source = Source::from_reader("a.epd", input, &SourceOptions::new()).unwrap();
    let error = source.items().last().unwrap().unwrap_err();
    assert_eq!(error.to_string(), "a.epd:5: cannot read on: the disk is gone");
    assert_eq!(error.place().map(|place| place.at), Some(At::Line(5)));
    assert_eq!(error.io_kind(), Some(std::io::ErrorKind::Other));

    let mut stream = Vec::new();
    let folder = tempfile::tempdir().unwrap();
    write(&folder.path().join("a.epb"), &sample());
    fs::File::open(folder.path().join("a.epb")).unwrap().read_to_end(&mut stream).unwrap();
    *stream.last_mut().unwrap() ^= 1;
    let source = Source::from_bytes("a.epb", stream, &SourceOptions::new()).unwrap();
    let error = source.records().find_map(Result::err).unwrap();
    assert!(error.to_string().starts_with("a.epb: frame 2"), "{error}");
    let missing = source::open("no such file.epd").unwrap_err();
    assert!(missing.to_string().starts_with("cannot read no such file.epd: "), "{missing}");
    assert_eq!(missing.io_kind(), Some(std::io::ErrorKind::NotFound));
}
