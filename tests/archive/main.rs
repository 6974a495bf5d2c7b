//! The archive: records are read as they were written, found by number and by position, and damage is detected.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod cut_off;
mod damage;
mod finding;
mod forge;
mod forged;
mod game_digests;
mod games;
mod golden;
mod kept_games;
#[path = "../support/positions.rs"]
#[allow(dead_code, reason = "the tests of the codec use the rest")]
mod positions;
#[path = "../support/random_positions.rs"]
mod random_positions;
#[path = "../support/records.rs"]
mod records;
mod round_trip;
#[path = "../support/samples.rs"]
mod samples;
mod seeds;
#[path = "../support/shared_data.rs"]
mod shared_data;
#[path = "../support/skipped.rs"]
mod skipped;
mod sorted_rows;
mod verbatim;

use std::path::PathBuf;

use epdb_archive::{Archive, ArchiveError, ArchiveWriter, Level, Match, PackOptions};
use epdb_chess::codec::query::Query;
use epdb_chess::model::EpdRecord;
use epdb_chess::text::epd::{Line, parse_line};
use epdb_chess::text::{FormatOptions, ParseOptions, epd};

/// Lines whose rows are sorted when they are packed.
const KINGS: &str = include_str!("../../formats/golden/archive/kings.epd");

/// Lines with everything: counters in all forms, both dialects, en passant squares that count and
/// that do not, illegal boards, lists that follow from others, texts, unknown opcodes.
const LINES: &str = r#"rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -
rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1
rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w HAha - 0 1
rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq e3 0 1
rnbqkbnr/pppp1ppp/8/8/3Pp3/8/PPP1PPPP/RNBQKBNR b KQkq d3 0 3
4k3/8/8/8/8/8/4P3/4K3 w - - 70000 4000000000
4k3/8/8/8/8/8/4P3/4K3 w - - hmvc 5; id "E.01";
4k3/8/8/8/8/8/4P3/4K3 w - - fmvn 39; hmvc 5; id "E.02"; zz 1 "two" three;
r3k2r/8/8/8/8/8/8/4K1RR w Gkq - bm O-O Rg2; c0 "Rg2=50, O-O=20"; c7 "Rg2 O-O"; c8 "50 20"; c9 "g1g2 e1g1"; id "STS.009";
r3k2r/8/8/8/8/8/8/4K1RR w Kkq - bm Rg2; c0 "Rg2=50, Kd2=20"; c7 "Rg2 Kd2"; c8 "50 20"; c9 "g1g2 e1d2"; id "STS.010";
8/8/8/8/8/8/8/8 w - -
KKKKKKKK/QQQQQQQQ/8/8/8/8/qqqqqqqq/kkkkkkkk b - - bm Qa1; noop "x=1";
4k3/8/8/8/8/8/4P3/4K3 w - - acd 30; acn 18446744073709551615; ce -32768; pv e4 Kd7 e5 Ke6;
4k3/8/8/8/8/8/4P3/4K3 w - - acd 31; acn 5; ce 12; pm Kd2; c1 "a longer text, with words in it";
"#;

fn records(text: &str) -> Vec<EpdRecord> {
    text.lines()
        .map(|line| match parse_line(line.as_bytes(), &ParseOptions::default(), &mut Vec::new()) {
            Ok(Line::Record(record)) => record,
            other => panic!("{line}: {other:?}"),
        })
        .collect()
}

fn text_of(records: &[EpdRecord]) -> Vec<u8> {
    let mut text = Vec::new();
    for record in records {
        epd::format(record, &FormatOptions::default(), &mut text);
        text.push(b'\n');
    }
    text
}

fn pack(records: &[EpdRecord], options: &PackOptions) -> Vec<u8> {
    let mut writer = ArchiveWriter::new(Vec::new(), options.clone()).unwrap();
    records.iter().for_each(|record| writer.push(record).unwrap());
    writer.finish().unwrap()
}

fn both_levels() -> [PackOptions; 2] {
    [Level::Default, Level::Fast].map(|level| PackOptions { level, ..Default::default() })
}

/// All records of a position with their numbers.
fn matches(
    archive: &Archive,
    query: impl Into<Query>,
) -> Result<Vec<(u64, EpdRecord)>, ArchiveError> {
    archive
        .matches(query)
        .map(|found| found.and_then(|found| Ok((found.number(), found.record()?))))
        .collect()
}

/// All ways of reading give the records.
fn assert_holds(archive: &Archive, records: &[EpdRecord]) {
    assert_eq!(archive.len(), records.len() as u64);
    let read: Vec<EpdRecord> = archive.iter(0..archive.len()).map(Result::unwrap).collect();
    assert_eq!(read, records);
    let mut text = Vec::new();
    archive.write_text(0..u64::MAX, &mut text).unwrap();
    assert_eq!(text, text_of(records));
    archive.verify().unwrap();
}

/// All files of the folders of other people's files.
fn found_files() -> Vec<PathBuf> {
    ["epd", "books"].into_iter().flat_map(shared_data::shared_files).collect()
}
