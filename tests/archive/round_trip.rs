//! Records are read as they were written, in their order.

use proptest::prelude::*;

use super::forged::Forged;
use super::games::{Squares, positions};
use super::*;

#[test]
fn every_kind_of_record_comes_back() {
    let records = records(LINES);
    for options in both_levels() {
        let bytes = pack(&records, &options);
        assert_holds(&Archive::from_bytes(bytes).unwrap(), &records);
    }
}

#[test]
fn an_empty_archive_is_an_archive() {
    for options in both_levels() {
        let archive = Archive::from_bytes(pack(&[], &options)).unwrap();
        assert!(archive.is_empty());
        assert_holds(&archive, &[]);
        assert!(archive.record(0).is_err());
    }
}

#[test]
fn each_record_is_read_by_its_number() {
    let records: Vec<EpdRecord> = std::iter::repeat_n(records(LINES), 20).flatten().collect();
    for options in both_levels() {
        for block_records in [1, 7, 64, 1000].map(Some) {
            let options = PackOptions { block_records, ..options.clone() };
            let archive = Archive::from_bytes(pack(&records, &options)).unwrap();
            for (number, record) in (0..).zip(&records) {
                assert_eq!(archive.record(number).unwrap(), *record);
            }
            let mut text = Vec::new();
            archive.write_text(100..203, &mut text).unwrap();
            assert_eq!(text, text_of(&records[100..203]));
            let read: Vec<EpdRecord> = archive.iter(99..101).map(Result::unwrap).collect();
            assert_eq!(read, records[99..101]);
        }
    }
}

const TALLIES: &str = r#"rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - tally "reached 3, e4 +1=0-1 elo 2450.5/2 1987-2024, d4 +0=1-0";
rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - fmvn 7; tally "[2024] reached 2, c5 +1=0-1"; tally_less "[2024] reached 1, c5 +1=0-0";
rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - kept_games "keep 1, 2701 2019.05.01 0123456789abcdef"; tally "reached 1";
"#;

/// Records in their binary form make the same archive as records do.
#[test]
fn encoded_records_make_the_same_archive() {
    let records = records(&[REPEATED, LINES, TALLIES].concat());
    let all =
        [Level::Default, Level::Fast].map(|level| PackOptions { level, ..Default::default() });
    let sorted = PackOptions { level: Level::Fast, sorted: true, ..Default::default() };
    for options in all.into_iter().chain([sorted]) {
        let mut writer = ArchiveWriter::new(Vec::new(), options.clone()).unwrap();
        let mut bytes = Vec::new();
        for record in &records {
            bytes.clear();
            epdb_chess::codec::record::encode(record, &mut bytes).unwrap();
            writer.push_encoded(&bytes).unwrap();
        }
        assert!(writer.push_encoded(&bytes[..bytes.len() - 1]).is_err());
        assert_eq!(writer.finish().unwrap(), pack(&records, &options));
    }
}

#[test]
fn an_encoded_record_without_a_valid_board_is_refused() {
    let mut bytes = Vec::new();
    let [record] = &records("4k3/8/8/8/8/8/4P3/4K3 w - - id \"E.01\";\n")[..] else { panic!() };
    epdb_chess::codec::record::encode(record, &mut bytes).unwrap();
    // The codes of the pieces follow the marker and the occupied squares.
    bytes[9] = 0xff;
    for options in both_levels() {
        let mut writer = ArchiveWriter::new(Vec::new(), options).unwrap();
        let written = writer.push_encoded(&bytes).and_then(|()| writer.finish());
        assert!(matches!(written, Err(ArchiveError::Decode(_))), "{written:?}");
    }
}

/// Lines whose texts are those of the lines before, where these follow from moves and lists.
const REPEATED: &str = r#"r3k2r/8/8/8/8/8/8/4K1RR w Gkq - bm O-O Rg2; c0 "Rg2=50, O-O=20"; c7 "Rg2 O-O"; c8 "50 20"; c9 "g1g2 e1g1"; pv Rg2 O-O Kf2;
8/8/8/8/8/8/8/8 w - - bm O-O Rg2; c0 "Rg2=50, O-O=20"; c7 "Rg2 O-O"; c8 "50 20"; c9 "g1g2 e1g1"; pv Rg2 O-O Kf2;
8/8/8/8/8/8/8/8 w - - bm O-O Rg3; c0 "Rg2=50, O-O=21"; c7 "Rg3 O-O"; c8 "50 21"; c9 "g1g2 e1g2"; pv Rg2 O-O Kf3;
4k3/8/8/8/8/8/4P3/4K3 w - - ce 12; pm Kd2; sv e4 Kd7 e5; c1 "e4 Kd2"; c2 "e2e4 e1d2"; c3 "-7";
8/8/8/8/8/8/8/8 w - - id "x"; c3 "7";
8/8/8/8/8/8/8/8 w - - c1 "e4 Kd2"; c2 "e2e4 e1d2"; pm Kd2; sv e4 Kd7 e5;
4k3/8/8/8/8/8/4P3/4K3 w - - bm e4; pm e4; pv e4 Kd7; c1 "e4 Kd2"; c7 "e3 e4"; c9 "e2e3 e2e4"; c3 "8";
4k3/8/8/8/8/8/4P3/4K3 b - - bm Kd8; pm e5; pv e4 Kd8; c1 "e4 Kd3"; c7 "e3 e5"; c9 "e2e3 e2e5"; c3 "9";
"#;

#[test]
fn skipped_records_are_known_to_later_ones() {
    let lines = [REPEATED, LINES, REPEATED, REPEATED].concat();
    let records = records(&lines);
    for block_records in [1, 2, 3, 64].map(Some) {
        let options = PackOptions { block_records, ..Default::default() };
        let archive = Archive::from_bytes(pack(&records, &options)).unwrap();
        for (number, record) in (0..).zip(&records) {
            assert_eq!(&archive.record(number).unwrap(), record);
        }
        let in_order: Vec<EpdRecord> = archive.iter(0..archive.len()).map(Result::unwrap).collect();
        assert_eq!(in_order, records);
    }
}

#[test]
fn long_records_have_smaller_blocks() {
    let options = PackOptions::default();
    let of = |line: &dyn Fn(u32) -> String| records(&(0..150).map(line).collect::<String>());
    let short = of(&|n| format!("4k3/8/8/8/8/8/4P3/4K3 w - - id \"E.{n}\";\n"));
    assert_eq!(
        pack(&short, &options),
        pack(&short, &PackOptions { block_records: Some(80), ..options.clone() })
    );
    let comment = |n: u32| format!("{:x}", n.wrapping_mul(0x9e37_79b1) | 1).repeat(3);
    let long = of(&|n| format!("4k3/8/8/8/8/8/4P3/4K3 w - - c0 \"{}\";\n", comment(n)));
    let packed = pack(&long, &options);
    let of_size =
        |records| pack(&long, &PackOptions { block_records: Some(records), ..options.clone() });
    assert!((4..=40).any(|records| of_size(records) == packed));
}

#[test]
fn sorted_archives_hold_the_same_records() {
    let mut records: Vec<EpdRecord> = std::iter::repeat_n(records(LINES), 9).flatten().collect();
    let options = PackOptions { sorted: true, ..Default::default() };
    let archive = Archive::from_bytes(pack(&records, &options)).unwrap();
    assert!(archive.is_sorted());
    archive.verify().unwrap();
    let mut read: Vec<EpdRecord> = archive.iter(0..archive.len()).map(Result::unwrap).collect();
    let bytes = |record: &EpdRecord| {
        let mut bytes = Vec::new();
        epdb_chess::codec::record::encode(record, &mut bytes).unwrap();
        bytes
    };
    read.sort_by_cached_key(bytes);
    records.sort_by_cached_key(bytes);
    assert_eq!(read, records);
}

/// Positions of games take more bytes sorted, and scattered ones fewer.
#[test]
fn a_writer_knows_whether_sorting_made_the_archive_larger() {
    let games = positions(60, Squares::Legal, true);
    for (records, grows) in [(games, true), (records(KINGS), false)] {
        for index in [false, true] {
            let options = PackOptions { index, ..Default::default() };
            let given = pack(&records, &options);
            let mut writer =
                ArchiveWriter::new(Vec::new(), PackOptions { sorted: true, ..options }).unwrap();
            records.iter().for_each(|record| writer.push(record).unwrap());
            let packed = writer.finish_packed().unwrap();
            let (sorted, sizes) = (packed.out, packed.sorted_sizes.unwrap());
            assert_eq!(sizes.sorted > sizes.given, grows);
            assert_eq!(sorted.len() > given.len(), grows);
            let sections = 1_000;
            assert!(!grows || given.len().abs_diff(sizes.given as usize) < sections);
            assert!(sorted.len().abs_diff(sizes.sorted as usize) < sections);
        }
    }
}

/// Lines in their order, as `sort` leaves them, begin like the lines before them, and so do flipped
/// rows: the archive is smaller and holds the same.
#[test]
fn records_in_the_order_of_their_lines_come_back() {
    let lines = include_str!("../../formats/golden/archive/openings.epd");
    let in_order = records(lines);
    let mut lines: Vec<&str> = lines.lines().collect();
    lines.sort_by_key(|line| crc32c::crc32c(line.as_bytes()));
    let shuffled = records(&lines.join("\n"));
    let options = PackOptions { index: false, ..Default::default() };
    let [flipped, given] = [&in_order, &shuffled].map(|records| pack(records, &options));
    let flags = [&flipped, &given].map(|bytes| Forged::new(bytes).segment_flags());
    assert_eq!(flags, [2, 0]);
    assert!(flipped.len() < given.len());
    for (bytes, records) in [(flipped, &in_order), (given, &shuffled)] {
        let archive = Archive::from_bytes(bytes).unwrap();
        assert_holds(&archive, records);
        for (number, record) in (0..).zip(records) {
            assert_eq!(archive.record(number).unwrap(), *record);
        }
        let (number, record) = (77, &records[77]);
        assert_eq!(matches(&archive, record.position()).unwrap(), [(number, record.clone())]);
        assert!(
            archive.column_bytes().unwrap().iter().map(|(_, bytes)| bytes).sum::<f64>() > 100.0
        );
    }
}

/// Positions of five pieces. The first 32,768 differ, and then they repeat.
fn lines_of_pieces(count: u32) -> String {
    let line = |nth: u32| {
        let place = |shift: u32| nth / 8_u32.pow(shift) % 8;
        let rank = |file: u32, piece: char| match (file, 7 - file) {
            (0, after) => format!("{piece}{after}"),
            (before, 0) => format!("{before}{piece}"),
            (before, after) => format!("{before}{piece}{after}"),
        };
        let ranks = [rank(place(0), 'k'), rank(place(1), 'Q'), rank(place(2), 'K')];
        let (pawns, rook) = (rank(place(3), 'p'), rank(place(4), 'R'));
        format!("{}/8/{pawns}/8/{rook}/8/{}/{} w - -\n", ranks[0], ranks[1], ranks[2])
    };
    (0..count).map(line).collect()
}

#[test]
fn archives_of_many_segments_hold_all_records() {
    let records = records(&lines_of_pieces(45_000));
    for level in [Level::Default, Level::Fast] {
        let options = PackOptions { level, memory_bytes: 0, ..Default::default() };
        let archive = Archive::from_bytes(pack(&records, &options)).unwrap();
        assert!(archive.parts().iter().any(|part| part.segment == Some(0)));
        assert_eq!(
            archive.parts().iter().any(|part| part.segment == Some(1)),
            level == Level::Default
        );
        assert_holds(&archive, &records);
        assert_eq!(matches(&archive, records[0].position()).unwrap().len(), 2);
    }
}

/// A generated list is shorter under a general compressor.
#[test]
fn repetitive_records_are_packed_by_zstd() {
    let lines: Vec<String> = (0..960)
        .map(|nth| {
            format!("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - c0 \"{nth:030}\";")
        })
        .collect();
    let records = records(&lines.join("\n"));
    let archive = Archive::from_bytes(pack(&records, &PackOptions::default())).unwrap();
    assert_holds(&archive, &records);
    for (number, record) in (0..).zip(&records) {
        assert_eq!(archive.record(number).unwrap(), *record);
    }
}

/// Blocks of text hold whole blocks of the index, whatever their size.
#[test]
fn records_of_text_blocks_are_found_by_position() {
    let records = records(&lines_of_pieces(33_000));
    for block_records in [64, 100, 20_000].map(Some) {
        let options = PackOptions { block_records, ..Default::default() };
        let archive = Archive::from_bytes(pack(&records, &options)).unwrap();
        assert_holds(&archive, &records);
        for number in (16_300..16_500).chain(19_990..20_010).chain(32_700..33_000) {
            let found = matches(&archive, records[number].position()).unwrap();
            assert!(found.iter().any(|(found, _)| *found == number as u64), "{number}");
        }
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let rank = |left: usize, piece: char| match (left, 7 - left) {
        (0, right) => format!("{piece}{right}"),
        (left, 0) => format!("{left}{piece}"),
        (left, right) => format!("{left}{piece}{right}"),
    };
    let text: Vec<String> = (0..20_000)
        .map(|n| {
            let (pawn, knight) = (rank(n % 8, 'p'), rank(n / 8 % 8, 'n'));
            format!("4k3/{pawn}/8/{knight}/8/8/4P3/4K3 w - - {} {}", n % 50, n + 1)
        })
        .collect();
    let records = records(&text.join("\n"));
    let packed = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| pack(&records, &PackOptions::default()))
    };
    let one = packed(1);
    assert_eq!(one, packed(2));
    assert_eq!(one, packed(3));
    assert_holds(&Archive::from_bytes(one).unwrap(), &records);
}

/// The first records of every file that is at hand, in one archive a file.
#[test]
fn records_of_found_files_come_back() {
    for file in found_files() {
        let text = std::fs::read(&file).unwrap();
        let records: Vec<EpdRecord> = text
            .split(|&byte| byte == b'\n' || byte == b'\r')
            .filter_map(|line| match parse_line(line, &ParseOptions::default(), &mut Vec::new()) {
                Ok(Line::Record(record)) => Some(record),
                _ => None,
            })
            .take(2_000)
            .collect();
        for options in both_levels() {
            let archive = Archive::from_bytes(pack(&records, &options)).unwrap();
            let read: Vec<EpdRecord> = archive.iter(0..archive.len()).map(Result::unwrap).collect();
            assert!(read == records, "{}", file.display());
            let mut text = Vec::new();
            archive.write_text(0..u64::MAX, &mut text).unwrap();
            assert!(text == text_of(&records), "{}", file.display());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_records_come_back(records in prop::collection::vec(records::records(), 1..30)) {
        for options in both_levels() {
            for block_records in [3, 64].map(Some) {
                let options = PackOptions { block_records, ..options.clone() };
                let archive = Archive::from_bytes(pack(&records, &options)).unwrap();
                let read: Vec<EpdRecord> =
                    archive.iter(0..archive.len()).map(Result::unwrap).collect();
                prop_assert_eq!(&read, &records);
                let mut text = Vec::new();
                archive.write_text(0..u64::MAX, &mut text).unwrap();
                prop_assert_eq!(text, text_of(&records));
                prop_assert!(archive.verify().is_ok());
                for (number, record) in (0..).zip(&records) {
                    let found = matches(&archive, record.position()).unwrap();
                    prop_assert!(found.contains(&(number, record.clone())));
                }
            }
        }
    }
}
