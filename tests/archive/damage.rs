//! No damaged byte gives a wrong record (STO-07, ERR-07).

use epdb::archive::{ArchiveError, Restored};

use super::games::{Squares, positions};
use super::*;

/// A small generator of numbers.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn below(&mut self, end: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }
}

fn samples() -> Vec<(Vec<EpdRecord>, Vec<u8>)> {
    let records: Vec<EpdRecord> = std::iter::repeat_n(records(LINES), 12).flatten().collect();
    let mut samples: Vec<(Vec<EpdRecord>, Vec<u8>)> =
        both_levels().map(|options| (records.clone(), pack(&records, &options))).to_vec();
    let options = PackOptions { verbatim: true, ..PackOptions::default() };
    let mut writer = Writer::new(Vec::new(), options).unwrap();
    writer.begin_file("a.epd").unwrap();
    for record in &records {
        let raw = [text_of(std::slice::from_ref(record)), b"# aside\n".to_vec()].concat();
        writer.push_line(record, &raw).unwrap();
        writer.push_aside(b"\n").unwrap();
    }
    samples.push((records, writer.finish().unwrap()));
    let games = positions(5, Squares::AfterDoubleSteps, true);
    let bytes = pack(&games, &PackOptions::default());
    samples.push((games, bytes));
    samples
}

/// Everything that a reader does gives right records or an error.
fn assert_right_or_error(bytes: Vec<u8>, records: &[EpdRecord]) -> bool {
    let Ok(archive) = Archive::from_bytes(bytes) else { return true };
    let mut failed = false;
    for number in 0..archive.len() {
        match archive.record(number) {
            Ok(record) => assert_eq!(record, records[number as usize]),
            Err(_) => failed = true,
        }
    }
    let mut text = Vec::new();
    match archive.write_text(0..u64::MAX, &mut text) {
        Ok(()) => assert_eq!(text, text_of(records)),
        Err(_) => failed = true,
    }
    for record in &records[..14] {
        match archive.find(record.position()) {
            Ok(found) => {
                let identity = record.position().identity();
                let expected =
                    records.iter().filter(|other| other.position().identity() == identity).count();
                assert_eq!(found.len(), expected);
                assert!(found.iter().all(|(number, one)| records[*number as usize] == *one));
            }
            Err(_) => failed = true,
        }
    }
    if archive.is_verbatim() {
        let mut out = Vec::new();
        let done = archive.restore(|piece| {
            if let Restored::Bytes(bytes) = piece {
                out.extend_from_slice(bytes);
            }
            Ok::<(), ArchiveError>(())
        });
        failed |= done.is_err();
    }
    failed | archive.verify().is_err()
}

// README: Damage is noticed
#[test]
fn changed_bytes_give_right_records_or_errors() {
    let mut random = Random(7);
    for (records, bytes) in samples() {
        for _ in 0..400 {
            let mut changed = bytes.clone();
            let place = random.below(changed.len());
            changed[place] ^= random.below(255) as u8 + 1;
            let noticed = assert_right_or_error(changed, &records);
            assert!(noticed, "byte {place} of {}", bytes.len());
        }
    }
}

/// Ten thousand single bytes: as many as the archive lets one try in reasonable time.
#[test]
#[ignore = "takes minutes"]
fn ten_thousand_changed_bytes_give_right_records_or_errors() {
    let mut random = Random(77);
    for (records, bytes) in samples() {
        for _ in 0..3400 {
            let mut changed = bytes.clone();
            let place = random.below(changed.len());
            changed[place] ^= random.below(255) as u8 + 1;
            assert!(assert_right_or_error(changed, &records), "byte {place}");
        }
    }
}

#[test]
fn truncation_is_recognised_at_every_length() {
    for (_, bytes) in samples() {
        let borders = Archive::from_bytes(bytes.clone()).unwrap().parts();
        let near = borders.iter().flat_map(|part| {
            let end = (part.offset + part.len) as usize;
            [part.offset as usize, end.saturating_sub(1), end]
        });
        for len in near.chain((0..bytes.len()).step_by(13)).filter(|&len| len < bytes.len()) {
            let error = Archive::from_bytes(bytes[..len].to_vec()).err();
            match len {
                0 => assert!(matches!(error, Some(ArchiveError::NotAnArchive))),
                _ => assert!(matches!(error, Some(ArchiveError::Truncated(_))), "{len}: {error:?}"),
            }
        }
    }
}

/// Each part of the file, damaged, is named by the error.
#[test]
fn damage_names_the_part() {
    let expected = |name: &str| match name {
        "rows" => vec!["record", "rows"],
        "heap" => vec!["heap", "record"],
        "blocks" => vec!["block of record", "blocks"],
        "segment table" => vec!["segment entry", "segment table"],
        name => vec![match name {
            "model" => "model",
            "block directory" => "block directory",
            "position index" => "position index",
            "lists of equal keys" => "lists of equal keys",
            "side data" => "side data",
            "header" => "header",
            _ => "footer",
        }],
    };
    let mut seen = std::collections::BTreeSet::new();
    for (_, bytes) in samples() {
        for part in Archive::from_bytes(bytes.clone()).unwrap().parts() {
            let mut changed = bytes.clone();
            let place = match part.name {
                "header" => 20,
                "footer" => 30,
                _ => part.len / 2,
            };
            changed[(part.offset + place) as usize] ^= 0x10;
            let error = match Archive::from_bytes(changed) {
                Ok(archive) => archive.verify().unwrap_err(),
                Err(error) => error,
            };
            let ArchiveError::Corrupt { part: named, .. } = error else { panic!("{error}") };
            assert!(expected(part.name).contains(&named), "{}: {named}", part.name);
            seen.insert(part.name);
        }
    }
    for name in [
        "header",
        "footer",
        "model",
        "block directory",
        "blocks",
        "segment table",
        "position index",
        "side data",
        "rows",
        "heap",
        "lists of equal keys",
    ] {
        assert!(seen.contains(name) || name == "model", "{name}");
    }
}

/// The fields of the header, one by one, with checks that hold.
#[test]
fn headers_are_held_to_their_fields() {
    let bytes = pack(&records(LINES), &PackOptions::default());
    let with = |place: usize, value: u8| {
        let mut changed = bytes.clone();
        changed[place] = value;
        let check = crc32c::crc32c(&changed[..28]);
        changed[28..32].copy_from_slice(&check.to_le_bytes());
        Archive::from_bytes(changed).err()
    };
    assert!(matches!(with(0, b'x'), Some(ArchiveError::NotAnArchive)));
    let newer = with(8, 2);
    let versions = "format version 2, this reader knows up to 1";
    assert_eq!(newer.map(|error| error.to_string()).as_deref(), Some(versions));
    assert!(matches!(with(8, 0), Some(ArchiveError::Corrupt { part: "header", .. })));
    assert!(matches!(with(12, 1), Some(ArchiveError::Corrupt { part: "header", .. })));
}

/// The fields of footer and segment entry, each changed under a check that holds. Whoever forges
/// checks can say what he likes, but never make a reader panic or run off.
#[test]
fn fields_under_a_right_check_are_not_believed() {
    for (records, bytes) in samples() {
        let parts = Archive::from_bytes(bytes.clone()).unwrap().parts();
        let parts = parts.iter().filter(|part| ["footer", "segment table"].contains(&part.name));
        for part in parts {
            let (start, end) = (part.offset as usize, (part.offset + part.len) as usize);
            for place in start..end - 4 {
                for change in [1, 0x80, 0xff] {
                    let mut changed = bytes.clone();
                    changed[place] ^= change;
                    let check = crc32c::crc32c(&changed[start..end - 4]);
                    changed[end - 4..end].copy_from_slice(&check.to_le_bytes());
                    let Ok(archive) = Archive::from_bytes(changed) else { continue };
                    for number in 0..archive.len().min(records.len() as u64) {
                        archive.record(number).ok();
                    }
                    for record in &records[..3] {
                        archive.find(record.position()).ok();
                    }
                    archive.verify().ok();
                }
            }
        }
    }
}
