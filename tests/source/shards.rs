//! Sharded archives: every answer is that of one archive, and no fault gives a wrong answer.

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use epdb_archive::{Archive, ArchiveWriter, Level, PackOptions};
use epdb_chess::codec::key::locality_key;
use epdb_chess::codec::query::{Query, SkipTo};
use epdb_chess::error::Result;
use epdb_chess::model::{EpdRecord, Position};
use epdb_library::shards::{MANIFEST, ShardBuilder, ShardOptions, remove_unlisted};
use epdb_source::{
    Collection, CollectionFile, Content, Lookup, Manifest, ShardList, ShardedArchive, open,
    repeat_if_replaced,
};
use epdb_store::{ImportOptions, Store, StoreOptions};

use crate::samples::{Case, samples};

const LEVELS: [Level; 2] = [Level::Fast, Level::Default];

/// Records of several positions; every third position has two records.
fn records() -> Vec<EpdRecord> {
    let line = |number: u64| {
        let (file, rank) = (number % 8, number / 8 % 5);
        let row = |king: &str| format!("{}{king}{}", blanks(file), blanks(7 - file));
        let ranks: Vec<String> =
            (0..5).map(|own| if own == rank { row("K") } else { "8".to_string() }).collect();
        let turn = if number.is_multiple_of(2) { "w" } else { "b" };
        format!("k7/8/{}/8 {turn} - - id \"{number}\";", ranks.join("/"))
    };
    let parse = |line: String| epdb_chess::parse_epd(line.as_bytes()).unwrap();
    let more = (0..80).step_by(3).map(|number| line(number).replace("id \"", "id \"again "));
    (0..80).map(line).chain(more).map(parse).collect()
}

fn blanks(count: u64) -> String {
    if count == 0 { String::new() } else { count.to_string() }
}

/// Writes records as a sharded archive, and returns the path of its manifest.
fn build(folder: &Path, shards: u32, level: Level, records: &[EpdRecord]) -> PathBuf {
    let options = ShardOptions { level, ..ShardOptions::new(shards) };
    let mut builder = ShardBuilder::new(options, folder);
    records.iter().for_each(|record| builder.push(record).unwrap());
    builder.finish(folder, None).unwrap();
    folder.join(MANIFEST)
}

/// Moves the shards of a manifest into lists of `size` shards. Returns the names of the lists.
fn move_to_lists(manifest: &Path, size: usize) -> Vec<String> {
    let before = Manifest::from_bytes(&fs::read(manifest).unwrap()).unwrap();
    let mut lists = Vec::new();
    for shards in before.shards().chunks(size) {
        let text = ShardList::text(shards);
        let list = ShardList::new(shards, &text);
        fs::write(manifest.with_file_name(&list.file), text).unwrap();
        lists.push(list);
    }
    let names = lists.iter().map(|list| list.file.clone()).collect();
    let after = Manifest::of_lists(before.library().cloned(), lists).unwrap();
    fs::write(manifest, after.to_bytes()).unwrap();
    names
}

/// One archive of the records in the order of a sharded one.
fn one_archive(manifest: &Path, level: Level) -> Archive {
    let mut writer =
        ArchiveWriter::new(Vec::new(), PackOptions { level, ..Default::default() }).unwrap();
    for record in open(manifest).unwrap().records() {
        writer.push(&record.unwrap()).unwrap();
    }
    Archive::from_bytes(writer.finish().unwrap()).unwrap()
}

/// The records of many queries, by query.
fn batch(source: &dyn Lookup, queries: &[Query]) -> Result<Vec<Vec<(u64, EpdRecord)>>> {
    let mut all = vec![Vec::new(); queries.len()];
    source.get_batch(queries, &mut |place, found| {
        all[place].push((found.number(), found.record()?));
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(all)
}

fn queries(records: &[EpdRecord]) -> Vec<Query> {
    let absent = [Position::START];
    records.iter().map(EpdRecord::position).chain(&absent).map(Query::from).collect()
}

#[test]
fn every_answer_is_that_of_one_archive() {
    let records = records();
    let queries = queries(&records);
    for level in LEVELS {
        for (shards, list) in [(1, 0), (1, 1), (3, 0), (8, 0), (8, 3), (200, 0), (200, 7)] {
            let folder = tempfile::tempdir().unwrap();
            let manifest = build(folder.path(), shards, level, &records);
            if list > 0 {
                move_to_lists(&manifest, list);
            }
            let one = one_archive(&manifest, level);
            let sharded = Collection::open(&manifest, 64 << 20).unwrap();
            assert_eq!((sharded.len(), one.len()), (107, 107));
            let expected = batch(&one, &queries).unwrap();
            assert_eq!(batch(&sharded, &queries).unwrap(), expected);
            for (query, expected) in queries.iter().zip(&expected) {
                let found: Vec<_> = sharded.matches(query).collect::<Result<_>>().unwrap();
                assert_eq!(&found, expected);
            }
            for number in 0..=one.len() {
                assert_eq!(sharded.record(number).unwrap(), Lookup::record(&one, number).unwrap());
            }
        }
    }
}

/// At levels default and max, the records of a shard are in the order of the input, and the shards have about
/// equally many.
#[test]
fn the_order_in_a_shard_is_that_of_the_input() {
    let records = records();
    for shards in [1, 3, 8] {
        let folder = tempfile::tempdir().unwrap();
        let manifest = build(folder.path(), shards, Level::Default, &records);
        let read = open(&manifest).unwrap().records().collect::<Result<Vec<_>>>().unwrap();
        let manifest = sharded(&manifest).manifest().clone();
        let mut expected = records.clone();
        let shard_of = |key| manifest.shards().partition_point(|shard| shard.last_key < key);
        expected.sort_by_key(|record| shard_of(locality_key(record.position())));
        assert_eq!(read, expected);
        assert_eq!(manifest.shards().len(), shards as usize);
        let mean = records.len() as u64 / u64::from(shards);
        let sizes: Vec<u64> = manifest.shards().iter().map(|shard| shard.records).collect();
        assert!(sizes.iter().all(|size| size.abs_diff(mean) <= 5), "{sizes:?}");
    }
}

#[test]
fn a_visitor_can_end_the_lookup() {
    let (folder, records) = (tempfile::tempdir().unwrap(), records());
    let manifest = build(folder.path(), 8, Level::Default, &records);
    let sharded = Collection::open(manifest, 64 << 20).unwrap();
    let count = |skip| {
        let mut visits = 0;
        let mut visit = |_, _: epdb_source::Match<'_>| {
            visits += 1;
            Ok(ControlFlow::Break(skip))
        };
        sharded.get_batch(&queries(&records), &mut visit).unwrap();
        visits
    };
    assert_eq!((count(SkipTo::End), count(SkipTo::NextQuery)), (1, 107));
}

/// Files of a folder that this process has mapped into memory.
#[cfg(target_os = "linux")]
fn mapped(folder: &Path) -> usize {
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let names = maps.lines().filter_map(|line| line.find('/').map(|start| &line[start..]));
    let names = names.filter(|name| name.starts_with(folder.to_str().unwrap()));
    names.collect::<std::collections::BTreeSet<_>>().len()
}

#[cfg(target_os = "linux")]
#[test]
fn a_bounded_number_of_shards_stays_open() {
    let (folder, records) = (tempfile::tempdir().unwrap(), records());
    let manifest = build(folder.path(), 200, Level::Default, &records);
    let sharded = Collection::open(&manifest, 64 << 20).unwrap();
    for query in &queries(&records) {
        sharded.matches(query).next().transpose().unwrap();
    }
    batch(&sharded, &queries(&records)).unwrap();
    assert!((10..=64).contains(&mapped(folder.path())), "{}", mapped(folder.path()));
}

/// Many records of one position are those of one archive, also if they are read one by one.
#[test]
fn many_records_of_a_position_come_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let line = |number| format!("k7/8/8/8/8/8/8/7K w - - id \"{number}\";");
    let parse = |number| epdb_chess::parse_epd(line(number).as_bytes()).unwrap();
    let records: Vec<_> = (0..1000).map(parse).collect();
    for level in LEVELS {
        let manifest = build(folder.path(), 3, level, &records);
        let sharded = Collection::open(&manifest, 64 << 20).unwrap();
        let found = sharded.matches(&Query::from(records[0].position()));
        let found: Vec<_> = found.map(|found| found.unwrap().1).collect();
        assert!(found == records, "{level:?}");
    }
}

/// A sharded archive that is replaced while it is searched: the answers of a batch are all from the
/// shards before or all from the shards after it.
#[test]
fn a_batch_in_a_replaced_archive_is_repeated_whole() {
    let (folder, records) = (tempfile::tempdir().unwrap(), records());
    let manifest = build(folder.path(), 3, Level::Default, &records);
    let queries = queries(&records);
    let before = sharded(&manifest);
    let lookup = Collection::open(&manifest, 64 << 20).unwrap();
    let [first, _, last] = before.manifest().shards() else { panic!("three shards") };
    let is_in_first = |record: &&EpdRecord| locality_key(record.position()) <= first.last_key;
    let in_first = records.iter().filter(is_in_first);
    let in_first: Vec<_> = in_first.map(|record| Query::from(record.position())).collect();
    batch(&lookup, &in_first).unwrap();

    // The first shard stays open, and the last one is missing.
    fs::remove_file(before.path(&last.file)).unwrap();
    let repeated = || repeat_if_replaced(&lookup, || batch(&lookup, &queries));
    let error = repeated().unwrap_err().to_string();
    assert!(error.contains("it is missing") && error.contains("run this one again"), "{error}");

    let changed = |record: &EpdRecord| {
        let line = String::from_utf8(epdb_chess::format_epd(record)).unwrap();
        epdb_chess::parse_epd(line.replace("id \"", "id \"new ").as_bytes()).unwrap()
    };
    build(folder.path(), 5, Level::Default, &records.iter().map(changed).collect::<Vec<_>>());
    let expected = batch(&Collection::open(&manifest, 64 << 20).unwrap(), &queries).unwrap();
    let error = batch(&lookup, &queries).unwrap_err().to_string();
    assert!(error.contains("it is missing"), "{error}");
    assert!(repeated().unwrap() == expected);
    assert!(batch(&lookup, &queries).unwrap() == expected);

    // A manifest that cannot be read leaves the error of the batch.
    let after = sharded(&manifest);
    let lookup = Collection::open(&manifest, 64 << 20).unwrap();
    fs::remove_file(after.path(&after.manifest().shards()[4].file)).unwrap();
    fs::write(&manifest, "{").unwrap();
    let error = repeat_if_replaced(&lookup, || batch(&lookup, &queries)).unwrap_err();
    assert!(error.to_string().contains("it is missing"), "{error}");
}

fn sharded(manifest: &Path) -> ShardedArchive {
    match open(manifest).unwrap().into_content() {
        Content::Collection(CollectionFile::Shards(shards)) => shards,
        content => panic!("{content:?}"),
    }
}

#[test]
fn valid_manifests() {
    for case in samples("shards").valid {
        let manifest = Manifest::from_bytes(case.lines().as_bytes()).expect(&case.name);
        assert_eq!(String::from_utf8(manifest.to_bytes()).unwrap(), case.lines(), "{}", case.name);
        for list in manifest.lists() {
            let text = text_of_list(&case, list);
            let shards = list.read(text.as_bytes()).expect(&case.name);
            assert_eq!(String::from_utf8(ShardList::text(&shards)).unwrap(), text, "{}", case.name);
            assert_eq!(&ShardList::new(&shards, text.as_bytes()), list, "{}", case.name);
        }
    }
}

fn text_of_list(case: &Case, list: &ShardList) -> String {
    case.lists[&list.file].iter().map(|line| format!("{line}\n")).collect()
}

/// Reads a manifest and its lists.
fn read_with_lists(case: &Case) -> Result<()> {
    let manifest = Manifest::from_bytes(case.lines().as_bytes())?;
    let mut lists = manifest.lists().iter();
    lists.try_for_each(|list| list.read(text_of_list(case, list).as_bytes()).map(drop))
}

#[test]
fn invalid_manifests() {
    for case in samples("shards").invalid {
        let error = read_with_lists(&case).expect_err(&case.name);
        assert_eq!([error.to_string()], case.refused[..], "{}", case.name);
    }
}

#[test]
fn each_changed_byte_of_a_manifest_is_an_error() {
    let (folder, records) = (tempfile::tempdir().unwrap(), records());
    let manifest = build(folder.path(), 3, Level::Default, &records);
    let bytes = fs::read(&manifest).unwrap();
    for place in 0..bytes.len() {
        for changed in [bytes[place] ^ 1, bytes[place] ^ 0x20, b' '] {
            if changed == bytes[place] {
                continue;
            }
            let mut bytes = bytes.clone();
            bytes[place] = changed;
            fs::write(&manifest, bytes).unwrap();
            assert!(Collection::open(&manifest, 1 << 20).is_err(), "byte {place}");
            assert!(open(&manifest).is_err(), "byte {place}");
        }
        fs::write(&manifest, &bytes[..place]).unwrap();
        assert!(Collection::open(&manifest, 1 << 20).is_err(), "{place} bytes");
    }
    fs::write(&manifest, &bytes).unwrap();
    assert_eq!(Collection::open(&manifest, 1 << 20).unwrap().len(), 107);
}

/// A fault gives an error that names manifest and shard, or the right answer.
#[test]
fn no_fault_of_a_shard_gives_a_wrong_answer() {
    let (folder, records) = (tempfile::tempdir().unwrap(), records());
    let manifest = build(folder.path(), 3, Level::Default, &records);
    let shards = sharded(&manifest);
    let [first, second, _] = shards.manifest().shards() else { panic!("three shards") };
    let [path, other] = [shards.path(&first.file), shards.path(&second.file)];
    let queries = queries(&records);
    let expected = batch(&Collection::open(&manifest, 64 << 20).unwrap(), &queries).unwrap();
    let answer = || batch(&Collection::open(&manifest, 64 << 20).unwrap(), &queries);
    let assert_named = |error: epdb_chess::Error| {
        let begin = format!("{}: shard {}: ", manifest.display(), first.file);
        assert!(error.to_string().starts_with(&begin), "{error}");
    };
    let bytes = fs::read(&path).unwrap();

    fs::remove_file(&path).unwrap();
    assert_named(answer().unwrap_err());
    assert_named(shards.verify(first, 64 << 20).unwrap_err());
    fs::copy(&other, &path).unwrap();
    assert_named(answer().unwrap_err());
    fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
    assert_named(answer().unwrap_err());

    for place in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[place] ^= 1 << (place % 8);
        fs::write(&path, changed).unwrap();
        match answer() {
            Ok(answer) => assert!(answer == expected, "byte {place}"),
            Err(error) => assert_named(error),
        }
        assert_named(shards.verify(first, 64 << 20).unwrap_err());
    }
    fs::write(&path, &bytes).unwrap();
    for shard in shards.manifest().shards() {
        shards.verify(shard, 64 << 20).unwrap();
    }
    shards.verify_games(64 << 20).unwrap();
}

/// A fault of a list gives an error that names manifest and list. Other lists are read.
#[test]
fn no_fault_of_a_list_gives_a_wrong_answer() {
    let (folder, records) = (tempfile::tempdir().unwrap(), records());
    let manifest = build(folder.path(), 8, Level::Default, &records);
    let lists = move_to_lists(&manifest, 3);
    let path = manifest.with_file_name(&lists[1]);
    let text = fs::read(&path).unwrap();
    let queries = queries(&records);
    let first = Collection::open(&manifest, 64 << 20).unwrap().record(0).unwrap();
    let assert_refused = |what: &str| {
        let opened = Collection::open(&manifest, 64 << 20).unwrap();
        let begin = format!("{}: shard {}: ", manifest.display(), lists[1]);
        for error in [
            batch(&opened, &queries).unwrap_err(),
            opened.record(50).unwrap_err(),
            open(&manifest).unwrap().records().find_map(Result::err).unwrap(),
            remove_unlisted(folder.path(), Duration::ZERO).unwrap_err(),
        ] {
            let error = error.to_string();
            assert!(error.contains(&begin) && error.contains(what), "{error}");
        }
        assert_eq!(opened.record(0).unwrap(), first);
        let is_sound: Vec<bool> = sharded(&manifest).lists().map(|list| list.is_ok()).collect();
        assert_eq!(is_sound, [true, false, true]);
    };

    let other = "it was replaced or damaged";
    fs::copy(manifest.with_file_name(&lists[0]), &path).unwrap();
    assert_refused(other);
    fs::write(&path, [&text[..], b" "].concat()).unwrap();
    assert_refused(other);
    for place in (0..text.len()).step_by(97) {
        let mut changed = text.clone();
        changed[place] ^= 1 << (place % 8);
        fs::write(&path, changed).unwrap();
        assert_refused(other);
    }
    fs::remove_file(&path).unwrap();
    assert_refused("it is missing");
    fs::write(&path, &text).unwrap();
    assert_eq!(sharded(&manifest).shards().unwrap().len(), 8);
}

/// A fold renames the delta and then makes an empty one of its name. Both can be opened at any time.
#[test]
fn a_base_and_its_delta_are_opened_while_folds_begin() {
    let folder = tempfile::tempdir().unwrap();
    let records = records();
    let at = |name: &str| folder.path().join(name);
    let manifest = build(folder.path(), 3, Level::Default, &records);
    let delta = Store::create(at("today.epdb"), &StoreOptions::default()).unwrap();
    let mut importer = delta.importer("records", &ImportOptions::default()).unwrap();
    records[..20].iter().for_each(|record| importer.push(record).unwrap());
    importer.finish().unwrap();
    delta.close().unwrap();
    let layers = format!("{}+{}", manifest.display(), at("today.epdb").display());
    let begin = &|nth: u64| {
        fs::rename(at("today.epdb"), at("today.epdb.folding")).unwrap();
        // The files of the next attempt are others, so that no state comes back.
        Store::create(at("today.epdb"), &StoreOptions::default()).unwrap().close().unwrap();
        fs::copy(at("today.epdb.folding"), at(&format!("{nth}.epdb"))).unwrap();
    };
    for nth in 0..100 {
        thread::scope(|threads| {
            let begun = threads.spawn(move || begin(nth));
            while !begun.is_finished() {
                let opened = Collection::open(&layers, 1 << 20).unwrap();
                assert_eq!(opened.len(), records.len() as u64 + 20);
            }
        });
        fs::remove_file(at("today.epdb.folding")).unwrap();
        fs::rename(at(&format!("{nth}.epdb")), at("today.epdb")).unwrap();
    }
}
