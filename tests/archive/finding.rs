//! Lookups find all records of a position, and no others.

use std::collections::BTreeSet;
use std::io;
use std::ops::{ControlFlow, Range};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use epdb_archive::ReadRanges;
use epdb_chess::codec::query::SkipTo;
use epdb_chess::codec::{identity, key};

use super::*;
use crate::random_positions::positions;

fn query(fen: &str) -> Query {
    Query::from(records(fen)[0].position())
}

fn found(archive: &Archive, fen: &str) -> Vec<u64> {
    numbers(archive, &query(fen))
}

fn numbers(archive: &Archive, query: &Query) -> Vec<u64> {
    archive.matches(query).map(|found| found.unwrap().number()).collect()
}

#[test]
fn all_records_of_a_position_are_found_in_order() {
    let records: Vec<EpdRecord> = std::iter::repeat_n(records(LINES), 30).flatten().collect();
    for level in [Level::Default, Level::Fast] {
        for index in [true, false] {
            if level == Level::Fast && !index {
                continue;
            }
            let options = PackOptions { level, index, ..Default::default() };
            let archive = Archive::from_bytes(pack(&records, &options)).unwrap();
            assert_eq!(archive.has_index(), index);
            for wanted in &records[..14] {
                let identity = wanted.position().identity();
                let expected: Vec<(u64, EpdRecord)> = (0..)
                    .zip(records.iter().cloned())
                    .filter(|(_, record)| record.position().identity() == identity)
                    .collect();
                assert_eq!(matches(&archive, wanted.position()).unwrap(), expected);
            }
            assert!(found(&archive, "8/8/8/4k3/8/1K6/8/8 b - -").is_empty());
        }
    }
}

/// Without an index the rows of level fast are looked through too.
#[test]
fn level_fast_without_an_index_is_searched() {
    let records = records(LINES);
    let options = PackOptions { level: Level::Fast, index: false, ..Default::default() };
    let archive = Archive::from_bytes(pack(&records, &options)).unwrap();
    assert_eq!(found(&archive, "4k3/8/8/8/8/8/4P3/4K3 w - -"), [5, 6, 7, 12, 13]);
    archive.verify().unwrap();
}

/// Counters, dialect and superfluous en passant squares do not matter.
#[test]
fn records_of_one_identity_meet() {
    let records = records(LINES);
    for options in both_levels() {
        let archive = Archive::from_bytes(pack(&records, &options)).unwrap();
        let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w";
        for fen in [format!("{start} KQkq - 5 9"), format!("{start} AHah -")] {
            assert_eq!(found(&archive, &fen), [0, 1, 2]);
        }
        let played = "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq";
        assert_eq!(found(&archive, &format!("{played} -")), [3]);
        let capture = "rnbqkbnr/pppp1ppp/8/8/3Pp3/8/PPP1PPPP/RNBQKBNR b KQkq";
        assert_eq!(found(&archive, &format!("{capture} d3")), [4]);
        assert!(found(&archive, &format!("{capture} -")).is_empty());
    }
}

/// Inner and outer rooks share a key: equal keys are not equal positions.
#[test]
fn positions_with_the_same_key_are_distinguished() {
    let records = records(LINES);
    let [inner, outer] =
        ["Gkq", "Kkq"].map(|rights| format!("r3k2r/8/8/8/8/8/8/4K1RR w {rights} -"));
    let keys = [&inner, &outer].map(|fen| key::position_key(super::records(fen)[0].position()));
    assert_eq!(keys[0], keys[1]);
    for options in both_levels() {
        let archive = Archive::from_bytes(pack(&records, &options)).unwrap();
        assert_eq!(found(&archive, &inner), [8]);
        assert_eq!(found(&archive, &outer), [9]);
    }
}

#[test]
fn many_queries_are_answered_at_once() {
    let records: Vec<EpdRecord> = std::iter::repeat_n(records(LINES), 30).flatten().collect();
    let missing = query("8/8/8/4k3/8/1K6/8/8 b - -");
    for options in both_levels() {
        let archive = Archive::from_bytes(pack(&records, &options)).unwrap();
        let mut queries: Vec<Query> =
            records.iter().take(200).map(|record| Query::from(record.position())).collect();
        queries.insert(77, missing);
        let mut answers = vec![Vec::new(); queries.len()];
        archive
            .get_batch(&queries, |query, found| {
                let record = &records[found.number() as usize];
                assert_eq!(found.record()?, *record);
                let mut line = Vec::new();
                found.write_text(&FormatOptions::default(), &mut line)?;
                assert_eq!(line, epdb_chess::format_epd(record));
                answers[query].push(found.number());
                Ok::<ControlFlow<SkipTo>, ArchiveError>(ControlFlow::Continue(()))
            })
            .unwrap();
        for (query, answer) in queries.iter().zip(&answers) {
            assert_eq!(*answer, numbers(&archive, query));
        }
        assert!(answers[77].is_empty());
    }
}

/// Whoever visits may end the records of a query, or all.
#[test]
fn a_visit_of_many_queries_may_end() {
    let records: Vec<EpdRecord> = std::iter::repeat_n(records(LINES), 30).flatten().collect();
    let queries: Vec<Query> =
        records[..14].iter().map(|record| Query::from(record.position())).collect();
    for options in both_levels() {
        for index in [true, false] {
            let options = PackOptions { index, ..options.clone() };
            let archive = Archive::from_bytes(pack(&records, &options)).unwrap();
            let visits = |answer| {
                let mut visited = vec![Vec::new(); queries.len()];
                archive
                    .get_batch(&queries, |query, found| {
                        visited[query].push(found.number());
                        Ok::<ControlFlow<SkipTo>, ArchiveError>(answer)
                    })
                    .unwrap();
                visited
            };
            assert_eq!(visits(ControlFlow::Break(SkipTo::End)).concat().len(), 1);
            let firsts: Vec<Vec<u64>> = queries
                .iter()
                .map(|query| numbers(&archive, query).into_iter().take(1).collect())
                .collect();
            assert_eq!(visits(ControlFlow::Break(SkipTo::NextQuery)), firsts);
        }
    }
}

/// Errors of whoever visits end the work and come back.
#[test]
fn a_visit_of_many_queries_may_fail() {
    let records = records(LINES);
    for options in both_levels() {
        let archive = Archive::from_bytes(pack(&records, &options)).unwrap();
        let mut visits = 0;
        let done = archive.get_batch([query("8/8/8/8/8/8/8/8 w - -")], |_, _| {
            visits += 1;
            Err::<ControlFlow<SkipTo>, ArchiveError>(ArchiveError::NotVerbatim)
        });
        assert!(matches!(done, Err(ArchiveError::NotVerbatim)));
        assert_eq!(visits, 1);
    }
}

#[test]
fn queries_come_from_text_directly() {
    let line = b"4k3/8/8/8/8/8/4P3/4K3 w - - id \"x\";";
    let identity = identity::read_fields(line).unwrap();
    assert_eq!(Query::from(identity), query("4k3/8/8/8/8/8/4P3/4K3 w - -"));
}

/// Thousands of positions, some of them often, in archives with many blocks.
#[test]
fn every_position_of_a_larger_archive_is_found() {
    let squares: Vec<String> = (0..64)
        .flat_map(|king: usize| (0..64).map(move |other: usize| (king, other)))
        .filter(|&(king, other)| {
            let apart = |a: usize, b: usize| (a % 8).abs_diff(b % 8).max((a / 8).abs_diff(b / 8));
            apart(king, other) > 1
        })
        .map(|(king, other)| {
            let mut letters = ['1'; 64];
            (letters[king], letters[other]) = ('K', 'k');
            let rank = |rank: usize| letters[rank * 8..rank * 8 + 8].iter().collect::<String>();
            let ranks: Vec<String> = (0..8).rev().map(rank).collect();
            format!("{} w - -", ranks.join("/"))
        })
        .collect();
    let mut lines = squares.clone();
    lines.extend(std::iter::repeat_n(squares[7].clone(), 3000));
    let options = ParseOptions::default();
    let records: Vec<EpdRecord> = lines
        .iter()
        .map(|line| {
            let mut text = line.clone();
            for run in (2..=8).rev() {
                text = text.replace(&"1".repeat(run), &run.to_string());
            }
            match parse_line(text.as_bytes(), &options, &mut Vec::new()) {
                Ok(Line::Record(record)) => record,
                other => panic!("{text}: {other:?}"),
            }
        })
        .collect();
    for options in both_levels() {
        let archive = Archive::from_bytes(pack(&records, &options)).unwrap();
        archive.verify().unwrap();
        for (number, record) in (0..squares.len() as u64).zip(&records) {
            let found = matches(&archive, record.position()).unwrap();
            assert_eq!(found.len(), if number == 7 { 3001 } else { 1 });
            assert_eq!(found[0], (number, record.clone()));
        }
    }
}

/// Records that are found without an index, since their rows are sorted: they keep their numbers,
/// and those of one position come in the order of these.
#[test]
fn sorted_rows_are_found_by_position_and_number() {
    let once = records(KINGS);
    let mut records = once.clone();
    records.extend(once.iter().rev().step_by(9).cloned());
    (0..100).for_each(|nth| records.insert(5 * nth, once[7].clone()));
    for (sorted, has_order) in [(false, true), (true, false)] {
        let options = PackOptions { sorted, ..Default::default() };
        let archive = Archive::from_bytes(pack(&records, &options)).unwrap();
        let has = |name| archive.parts().iter().any(|part| part.name == name);
        assert_eq!((has("order of records"), has("separators")), (has_order, true));
        assert!(archive.has_index() && !has("position index"));
        archive.verify().unwrap();
        let records: Vec<EpdRecord> =
            archive.iter(0..archive.len()).collect::<Result<_, _>>().unwrap();
        assert_holds(&archive, &records);
        for wanted in once.iter().step_by(7) {
            let expected: Vec<(u64, EpdRecord)> = (0..)
                .zip(records.iter().cloned())
                .filter(|(_, record)| record.position() == wanted.position())
                .collect();
            assert!(!expected.is_empty());
            assert_eq!(matches(&archive, wanted.position()).unwrap(), expected);
        }
        assert!(found(&archive, "8/8/8/4k3/8/1K6/8/8 b - -").is_empty());
        assert!(found(&archive, "k7/8/8/8/8/8/8/K7 w - -").is_empty());
    }
    let archive = Archive::from_bytes(pack(&records, &PackOptions::default())).unwrap();
    assert_holds(&archive, &records);
}

/// Segments of both kinds stand in one archive.
#[test]
fn sorted_segments_stand_beside_others() {
    let mut records = records(KINGS);
    let games = games::positions(3, games::Squares::AfterDoubleSteps, true);
    records.extend(games.iter().cycle().take(480).cloned());
    records.extend(super::records(KINGS));
    let options = PackOptions { segment_records: 480, ..Default::default() };
    let archive = Archive::from_bytes(pack(&records, &options)).unwrap();
    let count = |name| archive.parts().iter().filter(|part| part.name == name).count();
    assert_eq!((count("separators"), count("position index")), (2, 1));
    assert_holds(&archive, &records);
    archive.verify().unwrap();
    for (number, record) in (0..).zip(&records).step_by(13) {
        let found = matches(&archive, record.position()).unwrap();
        assert!(found.contains(&(number, record.clone())), "{number}");
    }
}

/// An archive elsewhere. A call that needs bytes which did not come yet is a round of requests.
#[derive(Debug)]
struct Rounds {
    bytes: Vec<u8>,
    received: Mutex<BTreeSet<u64>>,
    rounds: AtomicUsize,
}

/// A sixteenth of the pages that the program receives, because the archives are small.
const PAGE: u64 = 1 << 10;

impl Rounds {
    /// The first round has both ends of the file.
    fn new(bytes: Vec<u8>) -> Rounds {
        let rounds = Rounds { bytes, received: Mutex::default(), rounds: AtomicUsize::new(1) };
        *rounds.received.lock().unwrap() = rounds.ends();
        rounds
    }

    /// The first page and the last eight.
    fn ends(&self) -> BTreeSet<u64> {
        let pages = self.bytes.len() as u64 / PAGE;
        [0].into_iter().chain(pages.saturating_sub(8)..=pages).collect()
    }

    fn receive(&self, ranges: &[Range<u64>]) {
        let mut received = self.received.lock().unwrap();
        let before = received.len();
        for range in ranges.iter().filter(|range| !range.is_empty()) {
            received.extend(range.start / PAGE..range.end.div_ceil(PAGE));
        }
        self.rounds.fetch_add(usize::from(received.len() > before), Ordering::Relaxed);
    }
}

impl ReadRanges for Rounds {
    fn size(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn read_ranges(&self, ranges: &[Range<u64>]) -> io::Result<Vec<Vec<u8>>> {
        self.receive(ranges);
        let read =
            |range: &Range<u64>| self.bytes[range.start as usize..range.end as usize].to_vec();
        Ok(ranges.iter().map(read).collect())
    }

    fn prefetch(&self, ranges: &[Range<u64>]) -> io::Result<()> {
        self.receive(ranges);
        Ok(())
    }
}

/// The rounds of requests that `formats/README.md` promises, in archives larger than their ends.
#[test]
fn a_lookup_elsewhere_takes_few_rounds() {
    let positions = positions(20_000);
    for (name, sorted, cold, warm) in [("position index", false, 3, 2), ("separators", true, 3, 1)]
    {
        let options = PackOptions { sorted, segment_records: 8_000, ..Default::default() };
        let mut writer = ArchiveWriter::new(Vec::new(), options).unwrap();
        for position in &positions {
            writer.push(&EpdRecord::new(*position)).unwrap();
        }
        let bytes = writer.finish().unwrap();
        assert!(bytes.len() > 25_000, "{name}: {}", bytes.len());
        let (mut slow, asked) = (0, (0..positions.len()).step_by(3_989));
        for (nth, position) in asked.clone().map(|nth| (nth, &positions[nth])) {
            let elsewhere = Arc::new(Rounds::new(bytes.clone()));
            let archive =
                Archive::from_ranges(Arc::clone(&elsewhere) as Arc<dyn ReadRanges>).unwrap();
            let rounds = |position| {
                let found = &mut 0;
                let visit = |_, _: Match<'_>| {
                    *found += 1;
                    Ok::<_, ArchiveError>(ControlFlow::Continue(()))
                };
                archive.get_batch([position], visit).unwrap();
                assert!(*found > 0, "{name}");
                elsewhere.rounds.swap(0, Ordering::Relaxed)
            };
            let first = rounds(position);
            // The models and directories of all segments are known now, but no block and no bucket.
            (0..20_000).step_by(8_000).for_each(|start| _ = rounds(&positions[start]));
            *elsewhere.received.lock().unwrap() = elsewhere.ends();
            let next = rounds(&positions[(nth + 900) % positions.len()]);
            slow += usize::from(first > cold || next > warm);
        }
        // One block of twenty may be elsewhere.
        assert!(slow <= 1, "{name}: {slow} of {}", asked.count());
    }
}

/// All games that are searched come in two rounds: the table of their blocks, then the blocks.
#[test]
fn first_games_elsewhere_are_received_together() {
    let mut writer = ArchiveWriter::new(Vec::new(), PackOptions::default()).unwrap();
    let games: Vec<Vec<u8>> = (0..4000).map(kept_games::game).collect();
    games.iter().for_each(|game| writer.keep_game(game).unwrap());
    let bytes = writer.finish().unwrap();
    for (most, range) in [(0, 5..100), (u64::MAX, 1..3), (2000, 3..60)] {
        let elsewhere = Arc::new(Rounds::new(bytes.clone()));
        let archive = Archive::from_ranges(Arc::clone(&elsewhere) as Arc<dyn ReadRanges>).unwrap();
        archive.prefetch_first_games(most).unwrap();
        let mut read = 0;
        let visit = &mut |_, _: &[u8]| {
            read += 1;
            Ok::<(), ArchiveError>(())
        };
        archive.each_kept_game(visit).unwrap();
        assert_eq!(read, games.len());
        let rounds = elsewhere.rounds.load(Ordering::Relaxed);
        assert!(range.contains(&rounds), "{most}: {rounds}");
    }
}
