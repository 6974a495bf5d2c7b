//! Archives of this version stay readable: `formats/golden/archive/`.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;

use epdb_archive::{DamagedPart, Salvaged, SalvagedFile};
use epdb_chess::codec::query::SkipTo;
use epdb_chess::model::{GameId, Position};
use epdb_chess::text::CastlingForm;

use super::damage::Sample;
use super::forged::Forged;
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
        // Without an id, lookups read some records first.
        let bytes = Forged::new(&case.bytes()).without_id();
        let Ok(archive) = Archive::from_bytes(bytes) else { continue };
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
        // The start position is in neither of these rows, so a lookup does not read them.
        let is_elsewhere = case.name == "Two rows exchanged";
        let lookups =
            if is_of_operations || is_elsewhere { Vec::new() } else { vec![together, alone] };
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
                epdb_archive::Restored::File(name) => files.push((name.to_string(), Vec::new())),
                epdb_archive::Restored::Bytes(bytes) => {
                    files.last_mut().unwrap().1.extend_from_slice(bytes);
                }
            }
            Ok::<(), epdb_archive::ArchiveError>(())
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
    let examples = include_str!("../../formats/notes/examples.md");
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
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("formats/golden");
        let archive = Archive::open(path.join(case.file.as_ref().unwrap())).unwrap();
        let archive = archive.memory_bytes(16 << 20);
        let parts: Vec<&str> = archive.parts().iter().map(|part| part.name).collect();
        let indexes = ["position index", "row directory", "separators"];
        let has_index = indexes.iter().any(|name| parts.contains(name));
        assert_eq!(archive.has_index(), has_index, "{}", case.name);
        assert!(archive.is_sorted() || !parts.contains(&"row directory"), "{}", case.name);
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
        for number in (0..all).step_by(101) {
            let one = &records[number as usize..][..1];
            assert_eq!(archive.iter(number..number + 1).next().unwrap().unwrap(), one[0]);
            let mut line = Vec::new();
            archive.write_text(number..number + 1, &mut line).unwrap();
            assert_eq!(line, text_of(one), "{}", case.name);
        }

        let mut found = vec![0; records.len()];
        let positions = records.iter().map(EpdRecord::position);
        archive
            .get_batch(positions, |query, record| {
                let mut line = Vec::new();
                record.write_text(&FormatOptions::default(), &mut line)?;
                let expected = &records[record.number() as usize];
                assert_eq!(line, epdb_chess::format_epd(expected));
                let (mut line, mut kept) = (Vec::new(), Vec::new());
                let options = FormatOptions { castling: CastlingForm::Keep, ..Default::default() };
                record.write_text(&options, &mut line)?;
                epd::format(expected, &options, &mut kept);
                assert_eq!(line, kept);
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
        assert_eq!(archive.kept_game(GameId::default()).unwrap(), None);
        let origin = archive.tally_origin().unwrap();
        assert_eq!(origin.is_some(), archive.is_library());
    }
}

/// The results of a batch of lookups, in order, until `answer` ends it.
fn looked_up(
    archive: &Archive,
    queries: &[Query],
    answer: impl Fn(usize) -> ControlFlow<SkipTo>,
) -> Vec<(usize, u64)> {
    let mut found = Vec::new();
    let visit = |query, record: Match<'_>| {
        found.push((query, record.number()));
        Ok::<_, ArchiveError>(answer(found.len()))
    };
    archive.get_batch(queries, visit).unwrap();
    found
}

/// A reader that has enough gets the first part of what there is.
#[test]
fn reading_ends_early() {
    for case in samples("archive").valid {
        let archive = Archive::from_bytes(case.bytes()).unwrap();
        let records = records(&case.lines());
        let queries: Vec<Query> = records.iter().map(|one| one.position().into()).collect();
        let all = looked_up(&archive, &queries, |_| ControlFlow::Continue(()));
        for enough in [1, 2, all.len() / 2, all.len()] {
            let some = looked_up(&archive, &queries, |found| {
                if found < enough {
                    ControlFlow::Continue(())
                } else {
                    ControlFlow::Break(SkipTo::End)
                }
            });
            assert_eq!(some, all[..enough], "{}", case.name);
        }
        let mut is_found = vec![false; queries.len()];
        let is_first = |(query, _): &(usize, u64)| !std::mem::replace(&mut is_found[*query], true);
        let firsts: Vec<(usize, u64)> = all.into_iter().filter(is_first).collect();
        let found = looked_up(&archive, &queries, |_| ControlFlow::Break(SkipTo::NextQuery));
        assert_eq!(found, firsts, "{}", case.name);
        let one = looked_up(&archive, &queries[..1], |_| ControlFlow::Break(SkipTo::NextQuery));
        assert_eq!(one.len(), 1, "{}", case.name);
        let middle = records.len() / 2;
        let mut some = Vec::new();
        let salvage = archive.salvage(middle as u64..middle as u64 + 2, &mut |next| {
            let Salvaged::Record { number, record } = next else { panic!("{next:?}") };
            some.push((number as usize, record));
            Ok::<_, ArchiveError>(ControlFlow::Continue(()))
        });
        salvage.unwrap();
        assert!(some.into_iter().eq((middle..).zip(records[middle..].iter().cloned()).take(2)));
        for (query, number) in firsts.into_iter().step_by(29) {
            let mut found = archive.matches(queries[query]);
            assert_eq!(found.next().unwrap().unwrap().number(), number, "{}", case.name);
        }
    }
}

/// Of a sample that is damaged in one of its parts, each record is as it was or refused.
#[test]
fn damaged_samples_give_no_wrong_record() {
    for case in samples("archive").valid {
        let bytes = case.bytes();
        let parts = Archive::from_bytes(bytes.clone()).unwrap().parts();
        let sample =
            Sample::from_bytes(&case.name, bytes.clone(), records(&case.lines()), Vec::new());
        // In the middle of each part, and at both ends of all parts of a kind.
        let mut at_ends = BTreeMap::new();
        for part in parts.into_iter().filter(|part| part.len > 0) {
            let mut changed = bytes.clone();
            changed[(part.offset + part.len / 2) as usize] ^= 0x10;
            assert!(sample.is_refused(changed), "{}: {}", case.name, part.name);
            let of_kind = at_ends.entry(part.name).or_insert_with(|| bytes.clone());
            of_kind[part.offset as usize] ^= 0x10;
            of_kind[(part.offset + part.len - 1) as usize] ^= 0x20;
        }
        for (name, changed) in at_ends {
            assert!(sample.is_refused(changed), "{}: all of {name}", case.name);
        }
    }
}

/// All ways of reading an invalid archive give the same records.
#[test]
fn every_way_of_reading_invalid_archives_agrees() {
    for case in samples("archive").invalid {
        let Ok(archive) = Archive::from_bytes(case.bytes()) else { continue };
        let one_by_one: Vec<_> = (0..archive.len()).map(|nth| archive.record(nth).ok()).collect();
        for (nth, record) in archive.iter(0..u64::MAX).map_while(Result::ok).enumerate() {
            assert_eq!(Some(record), one_by_one[nth], "{}", case.name);
        }
        let (mut lost, mut is_order_lost) = (0, false);
        let salvage = archive.salvage(0..u64::MAX, &mut |salvaged| {
            match salvaged {
                Salvaged::Damage(damage) => {
                    lost += damage.records;
                    is_order_lost |= damage.part == DamagedPart::Order;
                }
                Salvaged::Record { number, record } if !is_order_lost => {
                    assert_eq!(Some(record), one_by_one[number as usize], "{}", case.name);
                }
                Salvaged::Record { .. } => {}
            }
            Ok::<_, ArchiveError>(ControlFlow::Continue(()))
        });
        if salvage.is_ok() && !is_order_lost {
            let missing = one_by_one.iter().filter(|record| record.is_none()).count();
            assert!(lost >= missing as u64, "{}", case.name);
        }
        let positions = one_by_one.iter().flatten().map(EpdRecord::position);
        let _damage = archive.get_batch(positions, |_, record| {
            let (number, read) = (record.number() as usize, record.record()?);
            assert_eq!(Some(read), one_by_one[number], "{}", case.name);
            Ok::<_, ArchiveError>(ControlFlow::Continue(()))
        });
    }
}

/// Of a damaged verbatim archive, each file is restored as it was or reported as lost.
#[test]
fn files_of_damaged_samples_are_salvaged() {
    let bytes = golden("verbatim.epa");
    let salvaged = |bytes: &[u8]| {
        let (mut text, mut lost) = (Vec::new(), 0);
        let salvage = Archive::from_bytes(bytes.to_vec())?.salvage_files(|piece| {
            match piece {
                SalvagedFile::File(nth) => assert_eq!(nth, 0),
                SalvagedFile::Bytes(bytes) => text.extend_from_slice(bytes),
                SalvagedFile::Lost(nth) => lost += 1 - nth,
            }
            Ok::<(), ArchiveError>(())
        });
        salvage.map(|()| (text, lost))
    };
    let (whole, lost) = salvaged(&bytes).unwrap();
    assert!(!whole.is_empty() && lost == 0);
    for place in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[place] ^= 0x10;
        if let Ok((text, lost)) = salvaged(&changed) {
            assert!(if lost == 0 { text == whole } else { whole.starts_with(&text) }, "{place}");
        }
    }
}
