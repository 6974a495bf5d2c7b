//! Archives of this version stay readable: `formats/golden/archive/`.

use std::ops::ControlFlow;

use epdb::model::Position;

use super::*;
use crate::samples::samples;

fn golden(name: &str) -> Vec<u8> {
    let path = format!("{}/formats/golden/archive/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read(path).unwrap()
}

#[test]
fn archives_of_version_1_are_read() {
    for case in samples("archive").valid {
        let records = records(&case.lines());
        let archive = Archive::from_bytes(case.bytes()).unwrap();
        assert_holds(&archive, &records);
        for (number, record) in (0..).zip(&records) {
            let found = matches(&archive, record.position()).unwrap();
            assert!(found.contains(&(number, record.clone())), "{}", case.name);
        }
    }
}

/// Libraries have their origin, the digests of their games, and the games that they keep.
#[test]
fn libraries_of_version_1_are_read() {
    for (name, games) in [("library.epa", 40), ("library_segments.epa", 80)] {
        let archive = Archive::from_bytes(golden(name)).unwrap();
        archive.verify().unwrap();
        let ledger = archive.tally_ledger().unwrap().unwrap();
        assert_eq!(ledger.origin.sources[0].games, games);
        assert_eq!(ledger.games.unwrap().len() as u64, games);
        assert!(archive.kept_game_count().unwrap() > games / 2);
    }
}

/// Each is refused where it is opened or verified, for what the sample says.
#[test]
fn invalid_archives_are_refused() {
    let invalid = samples("archive").invalid;
    assert!(invalid.len() >= 100);
    for case in invalid {
        let archive = Archive::from_bytes(case.bytes());
        let error = archive.and_then(|archive| archive.verify()).unwrap_err();
        assert_eq!([error.to_string()], case.refused[..], "{}", case.name);
    }
}

/// No way of reading hands out what verifying refuses.
#[test]
fn invalid_records_are_refused_by_every_way_of_reading() {
    let mut refused = 0;
    for case in samples("archive").invalid {
        let Ok(archive) = Archive::from_bytes(case.bytes()) else { continue };
        if !case.refused[0].contains("record ") {
            continue;
        }
        let all = archive.len();
        let text = archive.write_text(0..all, &mut Vec::new()).err();
        let read = archive.iter(0..all).find_map(Result::err);
        let one = (0..all).find_map(|number| archive.record(number).err());
        let together =
            archive.get_batch([&Position::START], |_, _| Ok(ControlFlow::Continue(()))).err();
        let alone = matches(&archive, &Position::START).err();
        // A lookup reads operations only of records that it gives.
        let is_of_operations = case.file.unwrap_or_default().contains("/operations_");
        let lookups = if is_of_operations { Vec::new() } else { vec![together, alone] };
        for error in [text, read, one].into_iter().chain(lookups) {
            let error = error.map(|error: ArchiveError| error.to_string());
            assert_eq!(error.as_ref(), case.refused.first(), "{}", case.name);
        }
        refused += 1;
    }
    assert!(refused >= 10, "{refused}");
}

#[test]
fn archives_of_version_1_give_their_files_back() {
    let archive = Archive::from_bytes(golden("verbatim.epa")).unwrap();
    let mut files = Vec::new();
    archive
        .restore(|piece| {
            match piece {
                epdb::archive::Restored::File(name) => files.push((name.to_string(), Vec::new())),
                epdb::archive::Restored::Bytes(bytes) => {
                    files.last_mut().unwrap().1.extend_from_slice(bytes);
                }
            }
            Ok::<(), epdb::archive::ArchiveError>(())
        })
        .unwrap();
    let canonical = String::from_utf8(text_of(&records(LINES))).unwrap();
    let text = format!("# lines\r\n{}", canonical.replace('\n', "\r\n"));
    assert_eq!(files, [("lines.epd".to_string(), text.into_bytes())]);
}

/// The bytes of the dump of a part of the page, each with its place.
fn dumped(part: &str) -> Vec<(usize, u8)> {
    let (_, dump) = part.split_once("```dump\n").unwrap();
    let (dump, _) = dump.split_once("```").unwrap();
    let line = |line: &str| {
        let start = usize::from_str_radix(&line[..8], 16).unwrap();
        let bytes = line[10..line.len().min(58)].split_whitespace();
        let bytes = bytes.map(|byte| u8::from_str_radix(byte, 16).unwrap());
        (start..).zip(bytes).collect::<Vec<_>>()
    };
    dump.lines().flat_map(line).collect()
}

/// The page explains every byte of one sample and parts of others.
#[test]
fn dumps_of_the_format_page_are_of_the_samples() {
    let examples = include_str!("../../formats/archive_examples.md");
    let (default, fast) = examples.split_once("## 2. Level fast").unwrap();
    let (fast, sorted) = fast.split_once("## 3. Level fast, sorted").unwrap();
    let whole: Vec<(usize, u8)> = golden("default.epa").into_iter().enumerate().collect();
    assert_eq!(dumped(default), whole);
    for (part, file, least) in [(fast, "fast.epa", 100), (sorted, "fast_sorted.epa", 50)] {
        let (dump, file) = (dumped(part), golden(file));
        assert!(dump.len() > least && dump.is_sorted());
        for (place, byte) in dump {
            assert_eq!(file[place], byte, "{place:08x}");
        }
    }
}

/// The model and the words that are part of the format are those that the pages name.
#[test]
fn the_data_of_the_format_pages_is_in_the_repository() {
    for (page, name, bytes) in [
        (
            include_str!("../../formats/archive_model.md"),
            "shipped.bin",
            &include_bytes!("../../formats/data/shipped.bin")[..],
        ),
        (
            include_str!("../../formats/archive_operations.md"),
            "words.txt",
            &include_bytes!("../../formats/data/words.txt")[..],
        ),
    ] {
        let (_, rest) = page.split_once(&format!("`data/{name}` (")).unwrap();
        let (named, _) = rest.split_once(')').unwrap();
        let named: String = named.chars().filter(|&sign| sign != ',').collect();
        assert_eq!(named, format!("{} bytes CRC32C {:08X}", bytes.len(), crc32c::crc32c(bytes)));
    }
}

/// Every valid sample, read in all ways that the library has.
#[test]
fn archives_of_version_1_are_read_in_all_ways() {
    for case in samples("archive").valid {
        let archive = Archive::from_bytes(case.bytes()).unwrap().memory_bytes(16 << 20);
        let records = records(&case.lines());
        let (all, expected) = (archive.len(), text_of(&records));
        let columns = archive.column_bytes().unwrap();
        assert_eq!(
            columns.is_empty(),
            archive.level() == Level::Fast || case.name.contains("zstd")
        );
        assert!(!archive.is_empty() && !format!("{archive:?}").is_empty());
        let mut text = Vec::new();
        archive.write_text(0..all, &mut text).unwrap();
        assert!(text == expected, "{}", case.name);
        let middle = all / 2;
        let read: Vec<EpdRecord> = archive.iter(middle..all).map(Result::unwrap).collect();
        assert!(read == records[middle as usize..], "{}", case.name);

        let mut found = vec![0; records.len()];
        let positions = records.iter().map(EpdRecord::position);
        archive
            .get_batch(positions, |query, record| {
                let mut line = Vec::new();
                record.write_text(&FormatOptions::default(), &mut line)?;
                let expected = text_of(&records[record.number() as usize..][..1]);
                assert_eq!(line, &expected[..expected.len() - 1]);
                found[query] += 1;
                Ok::<_, ArchiveError>(ControlFlow::Continue(()))
            })
            .unwrap();
        assert!(found.iter().all(|&found| found > 0), "{}", case.name);
        for record in records.iter().step_by(37) {
            let found = archive.matches(record.position()).next().unwrap().unwrap();
            let mut line = Vec::new();
            found.write_text(&FormatOptions::default(), &mut line).unwrap();
            assert!(expected.windows(line.len()).any(|part| part == line), "{}", case.name);
        }

        let mut games = 0;
        let visit = &mut |id, game: &[u8]| {
            assert_eq!(archive.kept_game(id)?.as_deref(), Some(game));
            games += 1;
            Ok::<(), ArchiveError>(())
        };
        archive.each_kept_game(visit).unwrap();
        assert_eq!(games, archive.kept_game_count().unwrap());
        let origin = archive.tally_origin().unwrap();
        assert_eq!(origin.is_some(), archive.is_library());
    }
}
