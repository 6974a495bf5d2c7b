//! Builds archives with invalid contents and valid checksums.

use super::forged::{FLAGS, FOOTER_FLAGS, Forged, KIND, SEGMENT_FLAGS};
use super::*;

fn default() -> Forged {
    Forged::new(&pack(&records(LINES), &PackOptions::default()))
}

fn error(bytes: Vec<u8>) -> String {
    let archive = Archive::from_bytes(bytes);
    archive.and_then(|archive| archive.verify()).unwrap_err().to_string()
}

#[test]
fn resealing_changes_nothing() {
    let file = default();
    assert_eq!(file.changed(|_| {}), pack(&records(LINES), &PackOptions::default()));
}

/// Mutant 14: the footer's count of records is compared with that of the segments.
#[test]
fn another_count_of_records_in_the_footer_is_damage() {
    let file = default();
    for place in [8, 9, 15] {
        let bytes = file.with(file.footer().start + place, |byte| byte ^ 1);
        assert!(Archive::from_bytes(bytes).is_err());
    }
    let bytes = file.with(file.footer().start + 8, |byte| byte + 1);
    assert_eq!(error(bytes), "damaged: footer");
}

/// A segment says no more records than its parts can hold.
#[test]
fn more_records_than_the_file_can_hold_are_damage() {
    for options in both_levels() {
        let file = Forged::new(&pack(&records(LINES), &options));
        let (segments, footer) = (file.segments().start, file.footer().start);
        let bytes = file.changed(|bytes| {
            bytes[segments + 19] = 1;
            bytes[footer + 11] = 1;
        });
        assert_eq!(error(bytes), "damaged: segment 0");
    }
}

/// Rows are flipped where all of a record is in columns, in their own order.
#[test]
fn rows_that_cannot_be_flipped_are_damage() {
    let options = PackOptions::default();
    let repeated = include_str!("../../formats/golden/archive/repeated.epd");
    for (lines, options) in [
        (LINES, options.clone()),
        (LINES, PackOptions { level: Level::Fast, ..options.clone() }),
        (KINGS, options.clone()),
        (repeated, options),
    ] {
        let file = Forged::new(&pack(&records(lines), &options));
        let flags = file.segments().start + SEGMENT_FLAGS;
        assert_eq!(error(file.with(flags, |flags| flags | 2)), "damaged: segment 0");
    }
}

/// Unknown parts are refused unless they may be ignored.
#[test]
fn unknown_flags_and_sections_are_refused_by_name() {
    let file = default();
    let flags = error(file.with(file.footer().start + FOOTER_FLAGS, |byte| byte | 0x10));
    assert!(flags.starts_with("the footer has unknown flags 0x10"), "{flags}");
    let flags = error(file.with(file.segments().start + SEGMENT_FLAGS, |byte| byte | 4));
    assert!(flags.starts_with("the segment table has unknown flags 0x4"), "{flags}");
    let coder = error(file.with(file.segments().start + 28, |_| 9));
    assert!(coder.starts_with("records in coding 9"), "{coder}");
    // The position index: an older reader can do without it.
    let index = file.entry(7).start;
    let flags = error(file.with(index + FLAGS, |byte| byte | 2));
    assert!(flags.starts_with("the section table has unknown flags 0x2"), "{flags}");
    let ignored = file.with(index + KIND, |_| 200);
    let archive = Archive::from_bytes(ignored).unwrap();
    assert!(!archive.has_index());
    assert!(archive.parts().iter().any(|part| part.name == "part that is not known"));
    assert_holds(&archive, &records(LINES));
    for record in &records(LINES) {
        assert!(!matches(&archive, record.position()).unwrap().is_empty());
    }
    let needed = error(file.changed(|bytes| {
        bytes[index + KIND] = 200;
        bytes[index + FLAGS] = 0;
    }));
    assert!(needed.starts_with("the archive needs a part of kind 200"), "{needed}");
    assert_eq!(error(file.with(index + FLAGS, |_| 0)), "damaged: section table");
    assert_eq!(error(file.with(file.entry(4).start + KIND, |_| 3)), "damaged: section table");
}

/// A part that is not known keeps its check: verifying looks at it.
#[test]
fn a_damaged_part_that_is_not_known_is_not_sound() {
    let file = default();
    let mut bytes = file.with(file.entry(7).start + KIND, |_| 200);
    bytes[file.section(7).start] ^= 1;
    assert_eq!(error(bytes), "damaged: part that is not known");
}

/// Rows of level fast under a check that holds, each read in all ways.
#[test]
fn rows_with_bits_outside_of_the_table_are_refused() {
    let lines = "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 3 7\n4k3/8/8/8/8/8/4P3/4K3 w - - 3 7";
    let options = PackOptions { level: Level::Fast, ..Default::default() };
    let records = records(lines);
    let file = Forged::new(&pack(&records, &options));
    type Change = fn(&mut [u8]);
    let changes: [(usize, Change); 5] = [
        // Numbers without the bit that says that they are there; the number 0.
        (0, |row| row[27] &= !1),
        (0, |row| (row[25], row[26]) = (row[25] & 3, 0)),
        // Shredder's letters without a right.
        (1, |row| row[27] |= 2),
        // A file that there is not.
        (1, |row| row[27] |= 9 << 2),
        // A double step that nobody can answer by a capture.
        (0, |row| row[15] = row[15] & 0x0f | 12 << 4),
    ];
    for (nth, (number, change)) in changes.into_iter().enumerate() {
        let archive = Archive::from_bytes(file.with_row(number, change)).unwrap();
        assert!(archive.record(number as u64).is_err(), "{nth}");
        assert!(archive.write_text(0..2, &mut Vec::new()).is_err(), "{nth}");
        assert!(archive.verify().is_err(), "{nth}");
    }
    assert_holds(&Archive::from_bytes(file.with_row(0, |_| {})).unwrap(), &records);
}
