//! Level max: rows coded as decisions under a mixing model of the segment.

use super::forged::Forged;
use super::*;

const SCATTERED: &str = include_str!("../../formats/golden/archive/scattered.epd");

fn max() -> PackOptions {
    PackOptions::new().level(Level::Max)
}

#[test]
fn records_of_level_max_come_back_in_every_way() {
    let records = records(SCATTERED);
    let default = pack(&records, &PackOptions::new());
    for (options, may_be_larger) in [
        (max(), false),
        (max().block_records(1), true),
        (max().block_records(300).index(false), false),
        (max().hidden_units(1), true),
        (max().hidden_units(17), true),
        (max().hidden_units(255).block_records(2000), true),
    ] {
        let bytes = pack(&records, &options);
        assert!(may_be_larger || bytes.len() < default.len());
        let archive = Archive::from_bytes(bytes).unwrap();
        assert_eq!(archive.level(), Level::Max);
        assert_holds(&archive, &records);
        for number in [0, 50, 76, 77, 78, 299, 300, 599] {
            let record = &records[number as usize];
            assert_eq!(archive.record(number).unwrap(), *record);
            let found = matches(&archive, record.position()).unwrap();
            assert!(found.contains(&(number, record.clone())));
        }
        let columns = archive.column_bytes().unwrap();
        assert!(columns.iter().any(|&(name, bytes)| name == "rank 2" && bytes > 100.0));
    }
}

/// A segment of level max uses another coder if that is shorter, and has blocks of the same size, so
/// that the position index is no larger either.
#[test]
fn level_max_is_never_larger_than_level_default() {
    let games = |games| super::games::positions(games, super::games::Squares::Legal, true);
    let mut scattered = records(SCATTERED);
    let repeated = records(&"4k3/8/8/8/8/8/4P3/4K3 w - -\n".repeat(700));
    let sorted = {
        scattered.sort_by_cached_key(epdb::format_epd);
        scattered
    };
    let kinds =
        [records(LINES), games(8), games(60), repeated, records(SCATTERED), sorted, Vec::new()];
    for records in kinds {
        for index in [false, true] {
            for sorted in [false, true] {
                let options = PackOptions::new().index(index).sorted(sorted);
                let default = pack(&records, &options);
                let packed = pack(&records, &options.clone().level(Level::Max));
                assert!(packed.len() <= default.len(), "{} records", records.len());
                if !sorted {
                    assert_holds(&Archive::from_bytes(packed).unwrap(), &records);
                }
            }
        }
    }
}

/// Positions of games take more bytes sorted, and scattered ones fewer.
#[test]
fn a_writer_knows_whether_sorting_made_the_archive_larger() {
    let games = super::games::positions(60, super::games::Squares::Legal, true);
    for (records, grows) in [(games, true), (records(SCATTERED), false)] {
        for index in [false, true] {
            let options = PackOptions::new().index(index);
            let given = pack(&records, &options);
            let mut writer = ArchiveWriter::new(Vec::new(), options.sorted(true)).unwrap();
            records.iter().for_each(|record| writer.push(record).unwrap());
            let (sorted, sizes) = writer.finish_measured().unwrap();
            let sizes = sizes.unwrap();
            assert_eq!(sizes.sorted > sizes.given, grows);
            assert_eq!(sorted.len() > given.len(), grows);
            let sections = 1_000;
            assert!(!grows || given.len().abs_diff(sizes.given as usize) < sections);
            assert!(sorted.len().abs_diff(sizes.sorted as usize) < sections);
        }
    }
}

/// Of a large segment, parts of it tell which coders are made: the blocks of games follow from each
/// other, positions of openings do not.
#[test]
fn a_large_segment_has_the_coder_that_its_parts_suggest() {
    let games = super::games::positions(570, super::games::Squares::Legal, true);
    let mut openings = super::games::positions(8_000, super::games::Squares::Legal, true);
    let number = |record: &EpdRecord| record.fen_counters().unwrap().fullmove_number;
    openings.retain(|record| (3..10).contains(&number(record)));
    openings.sort_by_cached_key(|record| crc32c::crc32c(&epdb::format_epd(record)));
    for (records, coder) in [(games, 1), (openings, 4)] {
        assert!(records.len() > 1 << 16);
        let packed = pack(&records, &max().index(false));
        let file = Forged::new(&packed);
        assert_eq!(packed[file.segments().start + 28], coder);
        assert_holds(&Archive::from_bytes(packed).unwrap(), &records);
    }
}

#[test]
fn the_number_of_threads_changes_nothing_at_level_max() {
    let records = records(SCATTERED);
    let packed = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| pack(&records, &max()))
    };
    assert_eq!(packed(1), packed(3));
}

/// A model that says something else under a check that holds gives an error and no other record.
#[test]
fn another_model_is_damage() {
    let whole = records(SCATTERED);
    for options in [max(), max().hidden_units(8)] {
        assert_that_another_model_is_damage(&whole, &Forged::new(&pack(&whole, &options)));
    }
}

fn assert_that_another_model_is_damage(whole: &[EpdRecord], file: &Forged) {
    let model = file.section(2);
    for place in model.clone().step_by(model.len() / 40) {
        let archive = Archive::from_bytes(file.with(place, |byte| byte ^ 0x40)).unwrap();
        let read = archive.iter(0..archive.len()).map_while(Result::ok);
        assert!(read.zip(whole).all(|(read, whole)| read == *whole));
        match archive.verify().unwrap_err() {
            ArchiveError::Corrupt { part: "model" | "block of record", .. } => {}
            error => panic!("{error}"),
        }
    }
}

/// Another coder for the same blocks, under checks that hold.
#[test]
fn blocks_of_another_coder_are_damage() {
    let file = Forged::new(&pack(&records(SCATTERED), &max()));
    let bytes = file.with(file.segments().start + 28, |_| 1);
    let error = Archive::from_bytes(bytes).and_then(|archive| archive.verify()).unwrap_err();
    assert!(matches!(error, ArchiveError::Corrupt { .. }), "{error}");
}
