//! Level fast with rows in the order of their keys.

use std::collections::HashMap;
use std::ops::ControlFlow;

use epdb_chess::codec::packed;
use epdb_chess::codec::query::SkipTo;
use proptest::prelude::*;

use super::forged::{Forged, KIND};
use super::games::{Squares, positions};
use super::*;

fn sorted() -> PackOptions {
    PackOptions { level: Level::Fast, sorted: true, ..Default::default() }
}

/// The records in the order of their rows.
pub(super) fn in_order(records: &[EpdRecord], options: &PackOptions) -> Vec<EpdRecord> {
    let archive = Archive::from_bytes(pack(records, options)).unwrap();
    let ordered: Vec<EpdRecord> = archive.iter(0..archive.len()).map(Result::unwrap).collect();
    let lines = |records: &[EpdRecord]| {
        let mut lines: Vec<Vec<u8>> = records.iter().map(epdb_chess::format_epd).collect();
        lines.sort();
        lines
    };
    assert_eq!(lines(&ordered), lines(records));
    ordered
}

/// Records of very different positions, with one that comes often where asked for.
fn many(count: usize, repeats: usize) -> Vec<EpdRecord> {
    let mut random = damage::Random(9);
    let line = |_| {
        let mut ranks = [[b'1'; 8]; 8];
        for piece in *b"KkQqRrBbNn" {
            ranks[random.below(8)][random.below(8)] = piece;
        }
        let ranks = ranks.map(|rank| String::from_utf8_lossy(&rank).into_owned());
        format!("{} w - - 0 {}\n", ranks.join("/"), random.below(90) + 1)
    };
    let mut records = records(&(0..count).map(line).collect::<String>());
    let often = records[count / 2].clone();
    records.extend(std::iter::repeat_n(often, repeats));
    records
}

/// The expected result of lookups: the record numbers of each position.
fn numbers_by_board(records: &[EpdRecord]) -> HashMap<Vec<u8>, Vec<u64>> {
    let mut numbers = HashMap::<_, Vec<u64>>::new();
    for (number, record) in (0..).zip(records) {
        let board = packed::encode(&record.position().identity()).as_bytes().to_vec();
        numbers.entry(board).or_default().push(number);
    }
    numbers
}

/// One by one, at once and the first alone, each position is found as often as it is there.
fn assert_finds(archive: &Archive, records: &[EpdRecord]) {
    let wanted = numbers_by_board(records);
    let queries: Vec<Query> = records.iter().map(|record| Query::from(record.position())).collect();
    let mut found = vec![Vec::new(); queries.len()];
    let visit = |place: usize, record: epdb_archive::Match<'_>| {
        found[place].push(record.number());
        let is_first = place > 0 && queries[place - 1] != queries[place];
        Ok::<_, ArchiveError>(if is_first {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(SkipTo::NextQuery)
        })
    };
    archive.get_batch(&queries, visit).unwrap();
    for (place, query) in queries.iter().enumerate() {
        let wanted = &wanted[query.board().as_bytes()];
        let first = archive.matches(query).next().unwrap().unwrap();
        assert_eq!(first.number(), wanted[0]);
        if place > 0 && queries[place - 1] != *query {
            assert_eq!(found[place], *wanted);
            let one_by_one = matches(archive, query).unwrap();
            assert!(one_by_one.iter().map(|(number, _)| number).eq(wanted));
        } else {
            assert_eq!(found[place], wanted[..1]);
        }
    }
}

#[test]
fn sorted_rows_are_found() {
    let mut records = many(5000, 40);
    records.extend(super::records(LINES));
    records.extend(positions(3, Squares::AfterDoubleSteps, true));
    records.extend(super::records(LINES));
    let expected = in_order(&records, &sorted());
    for options in [
        sorted(),
        PackOptions { segment_records: 700, ..sorted() },
        PackOptions { memory_bytes: 0, ..sorted() },
    ] {
        let archive = Archive::from_bytes(pack(&records, &options)).unwrap();
        assert!(archive.is_sorted() && archive.has_index());
        assert_holds(&archive, &expected);
        assert_finds(&archive, &expected);
        for absent in many(9000, 0)[5000..].iter() {
            assert_eq!(matches(&archive, absent.position()).unwrap(), []);
        }
    }
}

/// Records of one position keep the order of the input.
#[test]
fn records_of_one_position_keep_their_order() {
    let lines: String =
        (1..90).map(|clock| format!("4k3/8/8/8/8/8/4P3/4K3 w - - {clock} 9\n")).collect();
    let records = super::records(&lines);
    let mixed = [many(300, 0), records.clone()].concat();
    let archive = Archive::from_bytes(pack(&mixed, &sorted())).unwrap();
    let found = matches(&archive, records[0].position()).unwrap();
    assert!(found.iter().map(|(_, record)| record).eq(&records));
    assert_eq!(found[1].0, 301, "further ones stand behind all first ones");
}

/// Without an index there is nothing to sort for.
#[test]
fn without_an_index_the_order_stays() {
    let records = many(500, 3);
    let bytes = pack(&records, &PackOptions { index: false, ..sorted() });
    assert_eq!(bytes, pack(&records, &PackOptions { sorted: false, index: false, ..sorted() }));
    assert_holds(&Archive::from_bytes(bytes).unwrap(), &records);
}

#[test]
fn an_empty_archive_finds_nothing() {
    let archive = Archive::from_bytes(pack(&[], &sorted())).unwrap();
    assert_eq!((archive.len(), archive.level()), (0, Level::Fast));
    assert!(archive.is_sorted() && archive.has_index());
    assert_holds(&archive, &[]);
    assert_eq!(matches(&archive, &epdb_chess::model::Position::START).unwrap(), []);
    archive.verify().unwrap();
}

/// One position occurs much more often than the others, which are found as fast as before.
#[test]
fn a_position_that_stands_very_often_is_found_at_once() {
    let records = many(3000, 200_000);
    let archive = Archive::from_bytes(pack(&records, &sorted())).unwrap();
    let parts = archive.parts();
    let len = |name| parts.iter().find(|part| part.name == name).unwrap().len;
    assert!(len("row directory") <= 64 * (203_000 / 40 + 1));
    archive.verify().unwrap();
    let often = Query::from(many(3000, 1)[3000].position());
    assert_eq!(archive.matches(often).count(), 200_001);
    for record in &records[..3000] {
        let query = Query::from(record.position());
        let found = archive.matches(query).next().unwrap().unwrap();
        assert!(found.number() < 3000);
        assert_eq!(found.record().unwrap().position(), record.position());
    }
}

/// Whoever chooses keys can put all of them into one line.
#[test]
fn positions_of_one_line_are_found() {
    let mut records = many(40_000, 0);
    let key = |record: &EpdRecord| Query::from(record.position()).key();
    records.retain(|record| key(record) < u64::MAX / 40);
    assert!(records.len() > 800);
    records.extend(many(3, 60));
    let records = in_order(&records, &sorted());
    let archive = Archive::from_bytes(pack(&records, &sorted())).unwrap();
    assert_holds(&archive, &records);
    assert_finds(&archive, &records);
}

/// Every byte of a sorted archive: a lookup gives all that is there or an error.
#[test]
fn no_changed_byte_hides_a_record() {
    let options = PackOptions { segment_records: 10, ..sorted() };
    let records = in_order(&super::records(&LINES.repeat(2)), &options);
    let bytes = pack(&records, &options);
    let wanted = numbers_by_board(&records);
    let absent = Query::from(super::records("8/8/8/4k3/8/1K6/8/8 b - -")[0].position());
    let mut refused = 0;
    for place in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[place] ^= 1 << (place % 8);
        let Ok(archive) = Archive::from_bytes(changed) else { continue };
        assert!(archive.verify().is_err(), "{place}");
        for record in &records {
            let query = Query::from(record.position());
            match matches(&archive, query) {
                Ok(found) => {
                    let numbers = found.iter().map(|(number, _)| number);
                    assert!(numbers.eq(&wanted[query.board().as_bytes()]), "{place}");
                }
                Err(_) => refused += 1,
            }
        }
        assert!(matches(&archive, absent).unwrap_or_default().is_empty());
    }
    assert!(refused > 1000, "{refused}");
}

/// A damaged line may lead to a record of the position that is not its first: the others are not
/// lost by that.
#[test]
fn a_damaged_line_leads_to_no_further_record() {
    let records = many(100, 400);
    let bytes = pack(&records, &sorted());
    let often = Query::from(records[100].position());
    let lines = Forged::new(&bytes).section(18);
    let mut refused = 0;
    for bit in 8 * lines.start..8 * lines.end {
        let mut changed = bytes.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        let archive = Archive::from_bytes(changed).unwrap();
        match matches(&archive, often) {
            Ok(found) => assert_eq!(found.len(), 401, "{bit}"),
            Err(_) => refused += 1,
        }
    }
    assert!(refused > 30, "{refused}");
}

/// Fields of the directory, of the guide and of rows under checks that hold: no panic, and verifying
/// says so.
#[test]
fn forged_directories_and_rows_are_not_believed() {
    let records = in_order(&many(2000, 30), &sorted());
    let file = Forged::new(&pack(&records, &sorted()));
    let mut forged: Vec<Vec<u8>> = Vec::new();
    for place in (0..64).filter(|place| !(4..8).contains(place)) {
        forged.extend([1, 0x80].map(|bit| file.with_line(3, |line| line[place] ^= bit)));
    }
    for ends in [[255; 8], [0; 8], [1; 8], [254; 8], [9, 8, 7, 6, 5, 4, 3, 2]] {
        forged.push(file.with_line(3, |line| line[8..16].copy_from_slice(&ends)));
    }
    for place in file.section(19) {
        forged.push(file.with(place, |byte| byte ^ 1));
    }
    for number in [0, 5, 1999, records.len() - 1] {
        forged.push(file.with_row(number, |row| row[28] ^= 0x40));
        forged.push(file.with_row(number, |row| row[28] ^= 0x80));
    }
    for bytes in forged {
        let archive = Archive::from_bytes(bytes).unwrap();
        for record in records.iter().step_by(3) {
            matches(&archive, record.position()).ok();
        }
        archive.verify().unwrap_err();
    }
}

/// A guide only says what to bring near: without one, and with any other, the same is found.
#[test]
fn the_guide_is_only_a_hint() {
    let records = in_order(&many(2000, 30), &PackOptions { segment_records: 300, ..sorted() });
    let file = Forged::new(&pack(&records, &PackOptions { segment_records: 300, ..sorted() }));
    for value in [0, 0x7f, 0x80, 0xff] {
        let other = file.changed(|bytes| bytes[file.section(19)].fill(value));
        assert_finds(&Archive::from_bytes(other).unwrap(), &records);
    }
    let unknown = file.changed(|bytes| bytes[file.entry(19).start + KIND + 3] = 0x80);
    let archive = Archive::from_bytes(unknown).unwrap();
    assert_holds(&archive, &records);
    assert_finds(&archive, &records);
}

/// A guide belongs to a directory: none without one, and none with another number of lines.
#[test]
fn a_guide_belongs_to_its_directory() {
    let file = Forged::new(&pack(&many(2000, 30), &sorted()));
    let directory = file.entry(18).start + KIND + 3;
    let alone = file.changed(|bytes| bytes[directory] = 0x80);
    let short = file.with(file.entry(19).start + 24, |len| len - 2);
    for bytes in [alone, short] {
        let error = Archive::from_bytes(bytes).unwrap_err().to_string();
        assert!(error.contains("damaged"), "{error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// A lookup gives what looking through all records gives.
    #[test]
    fn lookups_find_what_a_scan_finds(
        places in prop::collection::vec(0..400usize, 0..900),
        segment_records in 1..300u32,
    ) {
        let pool: Vec<EpdRecord> =
            [many(300, 0), super::records(LINES), super::records(KINGS)].concat();
        let records: Vec<EpdRecord> = places.iter().map(|&place| pool[place].clone()).collect();
        let options = PackOptions { segment_records, ..sorted() };
        let archive = Archive::from_bytes(pack(&records, &options)).unwrap();
        let scanned = Archive::from_bytes(pack(&records, &PackOptions { index: false, ..options })).unwrap();
        archive.verify().unwrap();
        let records_of = |archive, query| {
            let found = matches(archive, query).unwrap();
            found.into_iter().map(|(_, record)| record).collect::<Vec<_>>()
        };
        for record in pool.iter().step_by(5) {
            let query = Query::from(record.position());
            prop_assert_eq!(records_of(&archive, query), records_of(&scanned, query));
        }
    }
}
