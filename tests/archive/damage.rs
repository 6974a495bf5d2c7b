//! Damaged archives never give a wrong record, a missing one, or one too many.
//!
//! Each way of reading either returns everything that was written, or ends with an error that names the place.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::io;
use std::ops::{ControlFlow, Range};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use epdb_archive::{DamagedPart, ReadRanges, Restored, Salvaged};
use epdb_chess::codec::kept_game;
use epdb_chess::codec::tally_origin::{GameDigests, TallyLedger, TallyOrigin, TallySource};
use epdb_chess::codec::tally_settings::{SameGame, TallySettings};

use super::games::{Squares, annotated, positions};
use super::sorted_rows::in_order;
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

/// An archive with what it must give.
pub(super) struct Sample {
    name: String,
    bytes: Vec<u8>,
    /// Another archive, of nearly the same records: what may stand on a disk where a sector was
    /// never written.
    stale: Vec<u8>,
    records: Vec<EpdRecord>,
    text: Vec<u8>,
    /// The numbers of the records of each position that is looked up, and of two that are not there.
    wanted: Vec<(Query, Vec<u64>)>,
    restored: Vec<u8>,
    ledger: Option<TallyLedger>,
    /// The games that the archive keeps.
    games: Vec<Vec<u8>>,
}

/// An origin of tallies for records without tallies.
fn ledger() -> TallyLedger {
    let source = TallySource { name: "a.pgn".into(), games: 40, ..TallySource::default() };
    let settings = TallySettings { same_game: Some(SameGame::Moves), ..TallySettings::default() };
    let origin = TallyOrigin { settings, sources: vec![source], ..TallyOrigin::default() };
    let mut games = GameDigests::default();
    for nth in 0..40 {
        games.insert([nth; 16]);
    }
    TallyLedger { origin, games: Some(games) }
}

/// Games that the records do not list, by ascending ids.
fn kept_games() -> Vec<Vec<u8>> {
    let mut games: Vec<Vec<u8>> = (0..3).map(super::kept_games::game).collect();
    games.sort_by_key(|game| kept_game::id_of(game));
    games
}

impl Sample {
    fn new(name: &str, records: Vec<EpdRecord>, options: &PackOptions) -> Sample {
        let mut changed = records.clone();
        for record in changed.iter_mut().step_by(9) {
            *record = EpdRecord::new(*record.position());
        }
        let stale = written(&changed, options);
        let sample = Sample::from_bytes(name, written(&records, options), records, stale);
        let mut expected = ledger();
        // The writer adds the set of the games.
        expected.origin.games = sample.ledger.as_ref().unwrap().origin.games;
        assert_eq!(expected.origin.games.map(|set| set.games), Some(40));
        assert_eq!((&sample.ledger, &sample.games), (&Some(expected), &kept_games()));
        sample
    }

    /// An archive of these records.
    pub(super) fn from_bytes(
        name: &str,
        bytes: Vec<u8>,
        records: Vec<EpdRecord>,
        stale: Vec<u8>,
    ) -> Sample {
        let query = |record: &EpdRecord| Query::from(record.position());
        let mut groups: BTreeMap<String, (Query, Vec<u64>)> = BTreeMap::new();
        for (number, record) in (0..).zip(&records) {
            let board = format!("{:?}", query(record).board());
            groups.entry(board).or_insert((query(record), Vec::new())).1.push(number);
        }
        let mut wanted: Vec<(Query, Vec<u64>)> = groups.into_values().collect();
        wanted.sort_by_key(|(_, numbers)| (std::cmp::Reverse(numbers.len()), numbers[0]));
        wanted.truncate(6);
        let absent = super::records("8/8/8/4k3/8/1K6/8/8 b - -\n8/8/8/4k3/8/1K6/8/7R w - -");
        wanted.extend(absent.iter().map(|record| (query(record), Vec::new())));
        let archive = Archive::from_bytes(bytes.clone()).unwrap();
        assert!(archive.iter(0..archive.len()).map(Result::unwrap).eq(records.iter().cloned()));
        let restored = restored(&archive).unwrap_or_default();
        let (ledger, games) = (archive.tally_ledger().unwrap(), games_of(&archive).unwrap());
        let (name, text) = (name.to_string(), text_of(&records));
        Sample { name, bytes, stale, records, text, wanted, restored, ledger, games }
    }

    /// Everything that a reader does gives all that is right or an error; says whether one did.
    pub(super) fn is_refused(&self, bytes: Vec<u8>) -> bool {
        let archive = match Archive::from_bytes(bytes) {
            Ok(archive) => archive,
            Err(error) => return names_a_place(&error),
        };
        let refused = Cell::new(false);
        let note = |error: ArchiveError| refused.set(names_a_place(&error));

        let mut records = archive.iter(0..archive.len());
        let read: Vec<EpdRecord> =
            records.by_ref().map_while(|record| record.map_err(note).ok()).collect();
        assert!(records.next().is_none(), "{}: reading goes on after an error", self.name);
        assert!(self.records.starts_with(&read), "{}: other records", self.name);
        if read.len() < self.records.len() {
            assert!(refused.get(), "{}: only {} records", self.name, read.len());
        }
        let mut text = Vec::new();
        match archive.write_text(0..u64::MAX, &mut text) {
            Ok(()) => assert!(text == self.text, "{}: another text", self.name),
            Err(error) => note(error),
        }
        for number in (0..self.records.len()).step_by(37) {
            match archive.record(number as u64) {
                Ok(record) => assert_eq!(record, self.records[number], "{}", self.name),
                Err(error) => note(error),
            }
        }
        for (query, numbers) in &self.wanted {
            match matches(&archive, query) {
                Ok(found) => {
                    assert!(found.iter().map(|(number, _)| number).eq(numbers), "{}", self.name);
                    assert!(found.iter().all(|(at, one)| self.records[*at as usize] == *one));
                }
                Err(error) => note(error),
            }
        }
        self.look_up_together(&archive, &note);
        self.salvage(&archive);
        match restored(&archive) {
            Ok(bytes) => assert!(bytes == self.restored, "{}: other files", self.name),
            Err(ArchiveError::NotVerbatim) if self.restored.is_empty() => {}
            Err(error) => note(error),
        }
        match archive.tally_ledger() {
            Ok(read) => assert_eq!(read, self.ledger, "{}: another ledger", self.name),
            Err(error) => note(error),
        }
        match games_of(&archive) {
            Ok(games) => assert!(games == self.games, "{}: other games", self.name),
            Err(error) => note(error),
        }
        for game in &self.games {
            match archive.kept_game(kept_game::id_of(game)) {
                Ok(found) => assert_eq!(found.as_ref(), Some(game), "{}: another game", self.name),
                Err(error) => note(error),
            }
        }
        match archive.verify() {
            Ok(()) => {}
            Err(error) => note(error),
        }
        refused.get()
    }

    /// Each record is salvaged as it was, or reported as lost.
    fn salvage(&self, archive: &Archive) {
        let mut salvaged = Vec::new();
        let all = archive.salvage(0..u64::MAX, &mut |next| {
            salvaged.push(next);
            Ok::<_, ArchiveError>(ControlFlow::Continue(()))
        });
        all.unwrap();
        let (mut found, mut lost, mut is_order_lost) = (0, 0, false);
        for next in &salvaged {
            match next {
                Salvaged::Record { number, record } => {
                    let is_right = self.records[*number as usize] == *record;
                    assert!(is_right || is_order_lost, "{}: another record", self.name);
                    found += 1;
                }
                Salvaged::Damage(damage) => {
                    assert!(damage.bytes.end <= self.bytes.len() as u64, "{damage}");
                    lost += damage.records;
                    is_order_lost |= damage.part == DamagedPart::Order;
                }
            }
        }
        assert_eq!(found + lost, self.records.len() as u64, "{}: {salvaged:?}", self.name);
        // Nothing is read after the caller has enough.
        for enough in [1, 2, salvaged.len() / 2] {
            let mut first = Vec::new();
            let stopped = archive.salvage(0..u64::MAX, &mut |next| {
                first.push(next);
                let is_over = first.len() >= enough;
                Ok::<_, ArchiveError>(if is_over {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                })
            });
            stopped.unwrap();
            assert_eq!(first, salvaged[..enough.clamp(1, salvaged.len())], "{}", self.name);
        }
    }

    fn look_up_together(&self, archive: &Archive, note: &impl Fn(ArchiveError)) {
        let queries: Vec<Query> = self.wanted.iter().map(|(query, _)| *query).collect();
        let mut found = vec![Vec::new(); queries.len()];
        let done = archive.get_batch(&queries, |query, record| {
            let number = record.number();
            assert_eq!(record.record()?, self.records[number as usize], "{}", self.name);
            let mut line = Vec::new();
            record.write_text(&FormatOptions::default(), &mut line)?;
            let expected = text_of(&self.records[number as usize..][..1]);
            assert_eq!(line, &expected[..expected.len() - 1], "{}", self.name);
            found[query].push(number);
            Ok(ControlFlow::Continue(()))
        });
        self.assert_found(done, &found, note);
        let found: Vec<_> = queries.iter().map(|_| Mutex::new(Vec::new())).collect();
        let done = archive.visit_batch(&queries, |query, record| {
            found[query].lock().unwrap().push(record.number());
            Ok(())
        });
        let mut found: Vec<_> = found.into_iter().map(|it| it.into_inner().unwrap()).collect();
        found.iter_mut().for_each(|numbers| numbers.sort_unstable());
        self.assert_found(done, &found, note);
    }

    fn assert_found(
        &self,
        done: Result<(), ArchiveError>,
        found: &[Vec<u64>],
        note: &impl Fn(ArchiveError),
    ) {
        for (found, (_, numbers)) in found.iter().zip(&self.wanted) {
            let all = found == numbers;
            let some = found.iter().all(|number| numbers.contains(number));
            assert!(all || done.is_err() && some, "{}: {found:?}, not {numbers:?}", self.name);
        }
        done.unwrap_or_else(note);
    }
}

fn names_a_place(error: &ArchiveError) -> bool {
    let known = matches!(
        error,
        ArchiveError::Corrupt { .. }
            | ArchiveError::Truncated(_)
            | ArchiveError::NotAnArchive
            | ArchiveError::UnsupportedVersion { .. }
            | ArchiveError::NoRecord { .. }
    );
    assert!(known, "{error}");
    true
}

/// The games that an archive keeps.
fn games_of(archive: &Archive) -> Result<Vec<Vec<u8>>, ArchiveError> {
    let mut games = Vec::new();
    archive.each_kept_game(&mut |_, game| {
        games.push(game.to_vec());
        Ok::<(), ArchiveError>(())
    })?;
    Ok(games)
}

/// The files of a verbatim archive, each with its name in front.
fn restored(archive: &Archive) -> Result<Vec<u8>, ArchiveError> {
    let mut out = Vec::new();
    archive.restore(|piece| {
        match piece {
            Restored::File(name) => out.extend_from_slice(name.as_bytes()),
            Restored::Bytes(bytes) => out.extend_from_slice(bytes),
        }
        Ok::<(), ArchiveError>(())
    })?;
    Ok(out)
}

fn written(records: &[EpdRecord], options: &PackOptions) -> Vec<u8> {
    let mut writer = ArchiveWriter::new(Vec::new(), options.clone()).unwrap();
    writer.set_tally_ledger(ledger());
    kept_games().iter().for_each(|game| writer.keep_game(game).unwrap());
    for (number, record) in records.iter().enumerate() {
        if number % 50 == 0 {
            writer.begin_file(&format!("{number}.epd")).unwrap();
        }
        let raw = [text_of(std::slice::from_ref(record)), b"# aside\n".to_vec()].concat();
        writer.push_line(record, &raw).unwrap();
        writer.push_aside(b"\n").unwrap();
    }
    let mut packed = writer.finish_packed().unwrap();
    packed.out[..packed.header.len()].copy_from_slice(&packed.header);
    packed.out
}

fn samples() -> Vec<Sample> {
    let default = PackOptions::default();
    let fast = PackOptions { level: Level::Fast, ..default.clone() };
    let games = || positions(3, Squares::AfterDoubleSteps, true);
    let lines = |times| -> Vec<EpdRecord> {
        std::iter::repeat_n(records(LINES), times).flatten().collect()
    };
    let repeated = include_str!("../../formats/golden/archive/repeated.epd").repeat(3);
    let segments = |options: &PackOptions| PackOptions {
        segment_records: 100,
        block_records: Some(16),
        ..options.clone()
    };
    let (sorted, few_sorted) = (
        PackOptions { sorted: true, ..fast.clone() },
        PackOptions { sorted: true, ..segments(&fast) },
    );
    let verbatim = PackOptions { verbatim: true, ..default.clone() };
    let no_index = PackOptions { index: false, ..default.clone() };
    vec![
        Sample::new("games", games(), &default),
        Sample::new("operations", lines(3), &default),
        Sample::new("games with operations", annotated(2), &default),
        Sample::new("text", records(&repeated), &default),
        Sample::new("fast", lines(20), &fast),
        Sample::new("fast games", games(), &fast),
        Sample::new("verbatim", lines(4), &verbatim),
        Sample::new("segments", games(), &segments(&default)),
        Sample::new("fast segments", lines(20), &segments(&fast)),
        Sample::new("no index", games(), &no_index),
        Sample::new("sorted", records(KINGS), &default),
        Sample::new("fast sorted", in_order(&lines(20), &sorted), &sorted),
        Sample::new("fast sorted games", in_order(&games(), &few_sorted), &few_sorted),
    ]
}

/// Places of the blocks of a segment in the file, by its directory.
fn blocks(bytes: &[u8]) -> Vec<std::ops::Range<usize>> {
    let parts = Archive::from_bytes(bytes.to_vec()).unwrap().parts();
    let mut found = Vec::new();
    for pair in parts.windows(2) {
        let [directory, blocks] = pair else { continue };
        if (directory.name, blocks.name) != ("block directory", "blocks") {
            continue;
        }
        let directory = &bytes[directory.offset as usize..][..directory.len as usize];
        let (width, mut start) = (usize::from(directory[0]), blocks.offset as usize);
        for group in directory[1..].chunks(8 + 32 * width) {
            for len in group[8..].chunks(width) {
                let len = len.iter().rev().fold(0, |len, &byte| len << 8 | usize::from(byte));
                found.push(start..start + len);
                start += len;
            }
        }
    }
    found
}

/// Damages a file in one of the ways that disks and programs have.
fn damage(sample: &Sample, blocks: &[std::ops::Range<usize>], random: &mut Random) -> Vec<u8> {
    let mut bytes = sample.bytes.clone();
    let len = bytes.len();
    match random.below(10) {
        0 => bytes[random.below(len)] ^= 1 << random.below(8),
        1 => bytes[random.below(len)] = random.below(256) as u8,
        2 => bytes.truncate(random.below(len)),
        3 => {
            // Rows, lines of the index, or whatever is as long.
            let unit = [32, 64][random.below(2)];
            let places = [random.below(len / unit), random.below(len / unit)];
            exchange(&mut bytes, places.map(|place| place * unit..(place + 1) * unit));
        }
        4 if blocks.len() > 1 => {
            let pair = [random.below(blocks.len()), random.below(blocks.len())];
            exchange(&mut bytes, pair.map(|nth| blocks[nth].clone()));
        }
        _ => {
            let sector = [512, 4096][usize::from(len > 8192 && random.below(2) == 1)];
            let at = |nth: usize| nth * sector..((nth + 1) * sector).min(len);
            let (one, other) = (random.below(len / sector + 1), random.below(len / sector + 1));
            match random.below(4) {
                0 => exchange(&mut bytes, [at(one), at(other)]),
                1 if at(one).len() == sector && at(other).len() == sector => {
                    bytes.copy_within(at(one), at(other).start);
                }
                2 => bytes[at(one)].fill(0),
                _ => {
                    let stale = sample.stale.get(at(one).start..).unwrap_or_default();
                    let stale = &stale[..stale.len().min(at(one).len())];
                    bytes[at(one).start..][..stale.len()].copy_from_slice(stale);
                }
            }
        }
    }
    bytes
}

/// Exchanges two ranges that do not overlap, as far as the shorter of them goes.
fn exchange(bytes: &mut [u8], ranges: [std::ops::Range<usize>; 2]) {
    let len = ranges[0].len().min(ranges[1].len());
    let [a, b] = ranges.map(|range| range.start);
    if a.abs_diff(b) < len {
        return;
    }
    for nth in 0..len {
        bytes.swap(a + nth, b + nth);
    }
}

// README: Damage is detected
/// `EPDB_DAMAGES` says how many are tried.
#[test]
fn directed_damage_is_refused_or_changes_nothing() {
    let wanted = std::env::var("EPDB_DAMAGES").map_or(1800, |number| number.parse().unwrap());
    let samples = samples();
    let blocks: Vec<_> = samples.iter().map(|sample| blocks(&sample.bytes)).collect();
    let (next, refused) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= wanted {
                return;
            }
            let nth = number % samples.len();
            let mut random = Random(number as u64);
            (0..10).for_each(|_| _ = random.below(2));
            let changed = damage(&samples[nth], &blocks[nth], &mut random);
            let is_other = changed != samples[nth].bytes;
            let is_refused = samples[nth].is_refused(changed);
            assert_eq!(is_refused, is_other, "{}, damage {number}", samples[nth].name);
            refused.fetch_add(usize::from(is_refused), Ordering::Relaxed);
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        (0..threads).for_each(|_| drop(scope.spawn(work)));
    });
    let refused = refused.into_inner();
    println!("{refused} of {wanted} damages changed the file; all of them were noticed");
    assert!(refused > wanted / 2);
}

/// Bytes that are read by ranges.
#[derive(Debug)]
struct Ranges(Vec<u8>);

impl ReadRanges for Ranges {
    fn size(&self) -> u64 {
        self.0.len() as u64
    }

    fn read_ranges(&self, ranges: &[Range<u64>]) -> io::Result<Vec<Vec<u8>>> {
        let read = |range: &Range<u64>| self.0[range.start as usize..range.end as usize].to_vec();
        Ok(ranges.iter().map(read).collect())
    }

    fn prefetch(&self, _: &[Range<u64>]) -> io::Result<()> {
        Ok(())
    }
}

/// Index and tables of an older archive of the same length, after newer records.
/// A lookup needs only the parts that it reads: after damage of one block, row or model, all records
/// outside of it are found, and every position that lost a record has an error.
#[test]
fn positions_are_found_beside_damage() {
    let default = PackOptions { block_records: Some(16), ..Default::default() };
    let fast = PackOptions { level: Level::Fast, ..Default::default() };
    let games = positions(3, Squares::AfterDoubleSteps, true);
    let segments = PackOptions { segment_records: 100, ..default.clone() };
    // The options, the damaged part, and the most records that depend on it.
    let kinds = [
        (default.clone(), "blocks", 16),
        (PackOptions { index: false, ..default }, "blocks", 16),
        (segments.clone(), "model", 100),
        (segments.clone(), "block directory", 100),
        (segments, "start of operations", 100),
        (fast.clone(), "rows", 1),
        (PackOptions { sorted: true, ..fast }, "rows", 1),
    ];
    for (options, part, most) in kinds {
        let records = if options.sorted { in_order(&games, &options) } else { games.clone() };
        let sound = written(&records, &options);
        let place = Archive::from_bytes(sound.clone()).unwrap().parts();
        let Some(place) = place.into_iter().find(|it| it.name == part && it.len > 0) else {
            continue;
        };
        for share in [0, 3, 9] {
            let mut bytes = sound.clone();
            bytes[(place.offset + place.len * share / 10) as usize] ^= 4;
            let archive = Archive::from_bytes(bytes).unwrap();
            let queries: Vec<Query> =
                records.iter().map(|record| Query::from(record.position())).collect();
            let mut found = std::collections::BTreeSet::new();
            let done = archive.get_batch(&queries, |_, record| {
                let number = record.number();
                assert_eq!(record.record()?, records[number as usize]);
                found.insert(number);
                Ok::<_, ArchiveError>(ControlFlow::Continue(()))
            });
            assert!(matches!(done, Err(ArchiveError::Corrupt { .. })), "{part} {share}: {done:?}");
            let on_threads = Mutex::new(std::collections::BTreeSet::new());
            let same = archive.visit_batch(&queries, |_, record| {
                on_threads.lock().unwrap().insert(record.number());
                Ok::<_, ArchiveError>(())
            });
            assert_eq!(format!("{same:?}"), format!("{done:?}"), "{part} {share}");
            assert_eq!(on_threads.into_inner().unwrap(), found, "{part} {share}");
            let lost = records.len() - found.len();
            assert!((1..=most).contains(&lost), "{part} {share}: {lost} of {}", records.len());
            for (number, query) in (0..).zip(&queries) {
                let alone = matches(&archive, query);
                assert!(found.contains(&number) || alone.is_err(), "{part} {share} {number}");
            }
        }
    }
}

#[test]
fn an_older_end_is_detected() {
    let default = PackOptions::default();
    let fast = PackOptions { level: Level::Fast, ..default.clone() };
    let lines: Vec<EpdRecord> = records(KINGS);
    for (name, options) in [
        ("fast", fast.clone()),
        ("fast sorted", PackOptions { sorted: true, ..fast }),
        ("default", default.clone()),
        ("sorted", PackOptions { sorted: true, ..default }),
    ] {
        let version = |seed| {
            let mut random = Random(seed);
            let any: Vec<EpdRecord> =
                (0..60).map(|_| lines[random.below(lines.len())].clone()).collect();
            in_order(&any, &options)
        };
        let sample = Sample::new(name, version(0), &options);
        let parts = |bytes: &[u8]| Archive::from_bytes(bytes.to_vec()).unwrap().parts();
        let own = parts(&sample.bytes);
        let mut older = (1..4000).map(|seed| written(&version(seed), &options));
        let older = older.find(|older| parts(older) == own).unwrap();
        let ends = own.iter().filter(|part| part.segment.is_none() && part.name != "header");
        for end in ends.map(|part| part.offset as usize) {
            let bytes = [&sample.bytes[..end], &older[end..]].concat();
            let error = Archive::from_bytes(bytes.clone()).unwrap_err().to_string();
            assert_eq!(error, "damaged: header or footer, which are of two files", "{name}: {end}");
            // Without an id, the records show it.
            let bytes = forged::Forged::new(&bytes).without_id();
            assert!(sample.is_refused(bytes.clone()), "{name}: behind {end}");
            // No archive of level fast is read by ranges.
            let elsewhere = Archive::from_ranges(Arc::new(Ranges(bytes)));
            assert!(elsewhere.and_then(|it| it.verify()).is_err(), "{name}: behind {end}");
        }
    }
}

#[test]
fn truncation_is_recognised_at_every_length() {
    for Sample { bytes, .. } in samples() {
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

/// Without its end, a file gives back every record of each whole block or row, and says that the end is
/// missing: after all records, after each lookup and when it is verified.
#[test]
fn a_file_without_its_end_gives_back_what_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.epa");
    for sample in samples() {
        let Sample { bytes, records, wanted, name, .. } = &sample;
        let parts = Archive::from_bytes(bytes.clone()).unwrap().parts();
        let segments: Vec<_> =
            parts.iter().filter(|it| ["rows", "blocks"].contains(&it.name)).collect();
        let end = |part: &epdb_archive::ArchivePart| (part.offset + part.len) as usize;
        let all = segments.iter().map(|part| end(part)).max().unwrap();
        let whole = parts.iter().find(|part| end(part) > all && part.segment.is_none()).unwrap();
        let mut most = 0;
        for len in (0..10)
            .map(|nth| bytes.len() - 1 - nth * bytes.len() / 10)
            .chain([whole.offset as usize])
        {
            std::fs::write(&path, &bytes[..len]).unwrap();
            assert!(Archive::open(&path).is_err());
            let Ok(archive) = Archive::open_cut(&path) else { continue };
            let (mut found, mut ends) = (Vec::new(), 0);
            archive
                .salvage(0..archive.len(), &mut |next| {
                    match next {
                        Salvaged::Record { record, .. } => {
                            found.push(epdb_chess::format_epd(&record))
                        }
                        Salvaged::Damage(damage) => {
                            let is_end = [DamagedPart::End, DamagedPart::Footer];
                            ends += usize::from(is_end.contains(&damage.part))
                        }
                    }
                    Ok::<_, ArchiveError>(ControlFlow::Continue(()))
                })
                .unwrap();
            assert_eq!(ends, 1, "{name}: {len}");
            let mut left: Vec<_> = records.iter().map(epdb_chess::format_epd).collect();
            for record in &found {
                let place = left.iter().position(|other| other == record).unwrap();
                left.swap_remove(place);
            }
            most = most.max(found.len());
            // The heap of rows is behind the rows.
            assert!(
                len < whole.offset as usize || left.is_empty(),
                "{name}: {len} of {}",
                bytes.len()
            );
            let visit = |_: EpdRecord| Ok::<_, ArchiveError>(ControlFlow::Continue(()));
            assert!(archive.each_record(0..archive.len(), visit).is_err());
            assert!(archive.verify().is_err());
            for (query, numbers) in wanted {
                let found: Vec<_> = archive.matches(*query).collect();
                assert!(found.last().is_some_and(Result::is_err), "{name}: {len}");
                assert!(found.len() <= numbers.len() + 1);
                assert!(
                    archive
                        .get_batch([*query], |_, _| Ok::<_, ArchiveError>(
                            ControlFlow::Continue(())
                        ))
                        .is_err()
                );
            }
        }
        assert!(most == records.len(), "{name}: {most}");
    }
}

/// A damaged header or footer, and bytes in the place of the footer, cost no record and no file.
#[test]
fn no_record_depends_on_header_and_footer() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.epa");
    for Sample { bytes, name, restored: files, .. } in samples() {
        let whole = Archive::from_bytes(bytes.clone()).unwrap();
        let flipped = |place: usize| {
            let mut changed = bytes.clone();
            changed[place] ^= 1;
            changed
        };
        let footer = bytes.len() - forged::FOOTER;
        for (nth, (damaged, part)) in [
            (flipped(3), DamagedPart::Header),
            (flipped(8), DamagedPart::Header),
            (flipped(31), DamagedPart::Header),
            (flipped(footer), DamagedPart::Footer),
            (flipped(footer + 38), DamagedPart::Footer),
            (bytes[..bytes.len() - 1].to_vec(), DamagedPart::Footer),
            (bytes[..footer].to_vec(), DamagedPart::Footer),
            ([&bytes[..], b"\n"].concat(), DamagedPart::Footer),
        ]
        .into_iter()
        .enumerate()
        {
            std::fs::write(&path, damaged).unwrap();
            assert!(Archive::open(&path).is_err());
            let archive = Archive::open_cut(&path).unwrap();
            let mut found = Vec::new();
            let mut parts = Vec::new();
            archive
                .salvage(0..u64::MAX, &mut |next| {
                    match next {
                        Salvaged::Record { record, .. } => found.push(record),
                        Salvaged::Damage(damage) => parts.push(damage.part),
                    }
                    Ok::<_, ArchiveError>(ControlFlow::Continue(()))
                })
                .unwrap();
            assert_eq!(parts, [part], "{name}: {nth}");
            assert!(whole.iter(0..u64::MAX).map(Result::unwrap).eq(found), "{name}: {nth}");
            assert!(archive.verify().is_err());
            assert!(!whole.is_verbatim() || restored(&archive).unwrap() == files, "{name}: {nth}");
        }
    }
}

/// Each part of the file, damaged, is named by the error.
#[test]
fn damage_names_the_part() {
    let expected = |name: &'static str| match name {
        "rows" => vec!["record", "rows"],
        "heap" => vec!["heap", "record"],
        "blocks" => vec!["block of record", "blocks"],
        name => vec![name],
    };
    let mut seen = std::collections::BTreeSet::new();
    for Sample { bytes, .. } in samples() {
        for part in Archive::from_bytes(bytes.clone()).unwrap().parts() {
            let mut changed = bytes.clone();
            let place = if part.name == "header" { 20 } else { part.len / 2 };
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
        "section table",
        "block directory",
        "blocks",
        "segment table",
        "position index",
        "file names",
        "side data",
        "rows",
        "heap",
        "lists of equal keys",
        "order of records",
        "separators",
        "row directory",
        "row guide",
    ] {
        assert!(seen.contains(name), "{name}");
    }
}

/// The fields of header and footer, one by one, with checks that hold.
#[test]
fn headers_and_footers_are_held_to_their_fields() {
    let bytes = written(&records(LINES), &PackOptions::default());
    let file = forged::Forged::new(&bytes);
    let footer = file.footer().start;
    let newer = "format version 2, this reader knows up to 1";
    let unknown = |part: &str| format!("the {part} has unknown flags 0x80; use a newer epdb");
    let two_files = "damaged: header or footer, which are of two files";
    let sections = u32::from_le_bytes(*bytes[footer + 28..].first_chunk().unwrap()) + (1 << 21);
    let many = format!("{sections} sections, the limit is 1048576");
    for (place, value, refused) in [
        (0, b'x', "not an epdb archive"),
        (8, 2, newer),
        (8, 0, "damaged: header"),
        (10, 0x80, &unknown("header")),
        (12, bytes[12] ^ 1, two_files),
        (20, 1, ""),
        (27, 0xff, ""),
        (footer + 16, bytes[12] ^ 1, two_files),
        (footer + 24, 0xff, ""),
        (footer + 30, 0x20, &many),
        (footer + forged::FOOTER_FLAGS, 0x80, &unknown("footer")),
        (footer + 38, 2, newer),
        (footer + 38, 0, "damaged: footer"),
        (footer + 40, 0, "truncated: there is no footer"),
    ] {
        let changed = file.with_ends(|bytes| bytes[place] = value);
        let read = Archive::from_bytes(changed).and_then(|archive| archive.verify());
        let error = read.err().map_or(String::new(), |error| error.to_string());
        assert_eq!(error, refused, "byte {place}");
    }
    let both = file.with_ends(|bytes| {
        (bytes[12], bytes[footer + 16]) = (bytes[12] ^ 1, bytes[12] ^ 1);
    });
    let error = Archive::from_bytes(both).unwrap_err().to_string();
    assert_eq!(error, "damaged: section table");
}

/// The fields of footer, section table and segment table, each changed under checks that hold.
/// Whoever forges checks can say what he likes, but never make a reader panic or run off.
#[test]
fn fields_under_a_valid_checksum_are_checked() {
    for Sample { bytes, records, .. } in samples() {
        let file = forged::Forged::new(&bytes);
        let places = file.table().chain(file.segments()).chain(file.footer());
        for place in places.step_by(3) {
            for change in [1, 0x80, 0xff] {
                let Ok(archive) = Archive::from_bytes(file.with(place, |byte| byte ^ change))
                else {
                    continue;
                };
                for number in 0..archive.len().min(records.len() as u64).min(20) {
                    archive.record(number).ok();
                }
                for record in &records[..3] {
                    matches(&archive, record.position()).ok();
                }
                archive.verify().ok();
            }
        }
    }
}
