//! Archives that are read by ranges from a server: every answer is that of the local file, and no
//! fault of the server gives a wrong answer.

use std::ops::ControlFlow;

use epdb_archive::{ArchiveWriter, Level, PackOptions};
use epdb_chess::codec::query::Query;
use epdb_chess::error::Result;
use epdb_chess::model::{EpdRecord, Position};
use epdb_library::explore::{ExploreOptions, explore, neighbourhood};
use epdb_library::shards::{MANIFEST, ShardBuilder, ShardOptions};
use epdb_source::{Collection, Lookup, Manifest, Shard, ShardList, open, repeat_if_replaced};

use crate::random_positions::positions;
use crate::web_server::{Fault, Request, WebServer};

const MEMORY: usize = 64 << 20;

fn archive(positions: &[Position], options: PackOptions) -> Vec<u8> {
    let mut writer = ArchiveWriter::new(Vec::new(), options).unwrap();
    for (number, position) in positions.iter().enumerate() {
        let mut line = epdb_chess::format_epd(&EpdRecord::new(*position));
        if number % 7 == 0 {
            line.extend(format!(" id \"{number}\";").bytes());
        }
        writer.push(&epdb_chess::parse_epd(&line).unwrap()).unwrap();
    }
    writer.finish().unwrap()
}

/// The numbers and records of many queries, by query.
fn batch(source: &dyn Lookup, queries: &[Query]) -> Result<Vec<Vec<(u64, EpdRecord)>>> {
    let mut all = vec![Vec::new(); queries.len()];
    source.get_batch(queries, &mut |place, found| {
        all[place].push((found.number(), found.record()?));
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(all)
}

/// A local file and the same file on a server.
struct Both {
    _folder: tempfile::TempDir,
    local: Collection,
    server: WebServer,
}

impl Both {
    fn new(bytes: Vec<u8>) -> Both {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.epa");
        std::fs::write(&path, &bytes).unwrap();
        let local = Collection::open(&path, MEMORY).unwrap();
        let server = WebServer::start();
        server.put("/a.epa", bytes);
        Both { _folder: folder, local, server }
    }

    fn remote(&self) -> Result<Collection> {
        Collection::open(self.server.at("/a.epa"), MEMORY)
    }
}

fn sent(requests: &[Request]) -> usize {
    requests.iter().map(|request| request.sent).sum()
}

#[test]
fn a_hundred_thousand_lookups_are_those_of_the_local_file() {
    let positions = positions(100_000);
    let sorted = PackOptions { sorted: true, ..Default::default() };
    for (name, options) in [("in order", PackOptions::default()), ("sorted", sorted)] {
        let both = Both::new(archive(&positions[..60_000], options));
        let remote = both.remote().unwrap();
        // The first bytes, the last bytes, and the segment table with the end of the index.
        assert!(both.server.requests().len() <= 4);
        for positions in positions.chunks(10_000) {
            let queries: Vec<Query> = positions.iter().map(Query::from).collect();
            assert!(batch(&remote, &queries).unwrap() == batch(&both.local, &queries).unwrap());
        }
        let requests = both.server.requests();
        println!(
            "{name}: {} bytes in {} requests for 100,000 lookups in an archive of {} bytes",
            sent(&requests),
            requests.len(),
            both.server.get("/a.epa").unwrap().len(),
        );
        assert!(requests.iter().all(|request| request.headers.contains_key("if-match")));
        assert!(sent(&requests) <= both.server.get("/a.epa").unwrap().len() * 5 / 4);
    }
}

#[test]
fn a_lookup_receives_a_part_of_the_archive() {
    let positions = positions(300_000);
    let both = Both::new(archive(
        &positions,
        PackOptions { block_records: Some(64), ..Default::default() },
    ));
    let size = both.server.get("/a.epa").unwrap().len();
    let remote = both.remote().unwrap();
    both.server.requests();
    let query = [Query::from(&positions[250_001])];
    assert_eq!(batch(&remote, &query).unwrap(), batch(&both.local, &query).unwrap());
    let requests = both.server.requests();
    println!("one lookup: {} of {size} bytes in {} requests", sent(&requests), requests.len());
    assert!(sent(&requests) < size * 3 / 4, "{} of {size} bytes", sent(&requests));
    assert!(requests.len() <= 4, "{requests:?}");
}

#[test]
fn a_batch_takes_few_requests() {
    let positions = positions(200_000);
    let both = Both::new(archive(
        &positions,
        PackOptions { block_records: Some(64), ..Default::default() },
    ));
    let remote = both.remote().unwrap();
    let opening = both.server.requests();
    assert!(opening.len() <= 4, "{opening:#?}");
    assert!(opening.iter().all(|request| request.headers.contains_key("range")), "{opening:#?}");
    let queries: Vec<Query> = positions.iter().step_by(6000).map(Query::from).collect();
    assert!(batch(&remote, &queries).unwrap() == batch(&both.local, &queries).unwrap());
    let requests = both.server.requests();
    assert!(requests.len() <= 8, "{} requests", requests.len());
}

#[test]
fn a_first_exploration_takes_few_requests() {
    let positions = positions(200_000);
    let both = Both::new(archive(
        &positions,
        PackOptions { block_records: Some(64), ..Default::default() },
    ));
    let remote = both.remote().unwrap();
    let position = &positions[100_001];
    remote.prefetch(&neighbourhood(position));
    let ask = &mut |queries: &[Query]| remote.records(queries, &|_| false);
    let options = ExploreOptions { children: true, ..Default::default() };
    let explored = explore::<epdb_chess::Error>(position, 1, &options, ask).unwrap();
    assert!(explored.entry.is_some());
    let requests = both.server.requests();
    assert!(requests.len() <= 12, "{} requests", requests.len());
}

#[test]
fn lookups_that_were_announced_send_no_requests() {
    let positions = positions(40_000);
    let records: Vec<EpdRecord> = positions.iter().map(|it| EpdRecord::new(*it)).collect();
    let server = WebServer::start();
    server.put("/a.epa", archive(&positions, PackOptions::default()));
    put_shards(&server, 20, Level::Default, &records);
    let queries: Vec<Query> = positions.iter().step_by(400).map(Query::from).collect();
    for name in ["/a.epa", "/library/manifest.json"] {
        let remote = Collection::open(server.at(name), MEMORY).unwrap();
        remote.prefetch(&queries);
        assert!(!server.requests().is_empty());
        let found = batch(&remote, &queries).unwrap();
        assert!(found.iter().all(|records| !records.is_empty()));
        assert!(queries.iter().all(|query| remote.matches(query).count() > 0));
        assert_eq!(server.requests().len(), 0, "{name}");
    }
}

#[test]
fn all_records_are_read_in_large_ranges() {
    let positions = positions(60_000);
    for sorted in [false, true] {
        let both = Both::new(archive(&positions, PackOptions { sorted, ..Default::default() }));
        let read = |name: &str| open(name).unwrap().records().collect::<Result<Vec<_>>>();
        let remote = read(&both.server.at("/a.epa")).unwrap();
        let requests = both.server.requests();
        assert_eq!(remote.len(), positions.len());
        assert!(remote == read(both._folder.path().join("a.epa").to_str().unwrap()).unwrap());
        assert!(requests.len() < 20, "{} requests", requests.len());
    }
}

#[test]
fn archives_that_cannot_be_read_by_ranges_are_copied() {
    let positions = positions(3000);
    let queries: Vec<Query> = positions.iter().map(Query::from).collect();
    let fast = PackOptions { level: Level::Fast, ..Default::default() };
    let default = PackOptions::default();
    for (options, has_ranges, has_tags) in [
        (fast.clone(), true, true),
        (PackOptions { sorted: true, ..fast }, true, true),
        (default.clone(), false, true),
        (default, true, false),
    ] {
        let both = Both::new(archive(&positions, options));
        if !has_ranges {
            both.server.without_ranges();
        }
        if !has_tags {
            both.server.without_tags();
        }
        let remote = both.remote().unwrap();
        assert!(batch(&remote, &queries).unwrap() == batch(&both.local, &queries).unwrap());
    }
}

#[test]
fn a_failing_server_gives_right_answers_or_errors() {
    let positions = positions(20_000);
    // Sorted records are long, so that the archive is longer than the part that opening receives.
    let sorted = PackOptions { sorted: true, ..Default::default() };
    let both = Both::new(archive(&positions, sorted.clone()));
    let queries: Vec<Query> = positions.iter().map(Query::from).collect();
    let expected = batch(&both.local, &queries).unwrap();
    for fault in [Fault::Status(503), Fault::Cut(0), Fault::Cut(5000)] {
        let remote = both.remote().unwrap();
        both.server.fail("/a.epa", fault);
        both.server.requests();
        assert!(batch(&remote, &queries).unwrap() == expected);
        assert!(both.server.requests().len() > 1);
    }
    // The whole object is read on, or nothing: never parts of two objects.
    let other = archive(&crate::random_positions::positions(25_000)[5000..], sorted);
    let remote = both.remote().unwrap();
    both.server.fail("/a.epa", Fault::Replace(other));
    let error = batch(&remote, &queries).map(drop).unwrap_err().to_string();
    assert!(error.contains("the object was replaced while it was read"), "{error}");
    assert!(both.remote().unwrap().matches(&queries[19_000]).count() > 0);
}

#[test]
fn changed_bytes_are_never_a_wrong_record() {
    let positions = positions(5000);
    let bytes = archive(&positions, PackOptions::default());
    let queries: Vec<Query> = positions.iter().map(Query::from).collect();
    let both = Both::new(bytes.clone());
    let expected = batch(&both.local, &queries).unwrap();
    for place in (0..bytes.len()).step_by(bytes.len() / 40) {
        let mut changed = bytes.clone();
        changed[place] ^= 0x20;
        both.server.put("/a.epa", changed);
        let found = both.remote().and_then(|remote| batch(&remote, &queries));
        assert!(found.map_or(true, |found| found == expected), "byte {place}");
    }
}

#[test]
fn a_sharded_archive_is_read_at_the_address_of_its_manifest() {
    let positions = positions(4000);
    for level in [Level::Fast, Level::Default] {
        let folder = tempfile::tempdir().unwrap();
        let mut builder =
            ShardBuilder::new(ShardOptions { level, ..ShardOptions::new(3) }, folder.path());
        for position in &positions {
            builder.push(&EpdRecord::new(*position)).unwrap();
        }
        let manifest = builder.finish(folder.path(), None).unwrap();
        let shards = manifest.shards();
        let server = WebServer::start();
        for name in shards.iter().map(|shard| shard.file.as_str()).chain([MANIFEST]) {
            let path = folder.path().join(name);
            server.put(&format!("/library/{name}"), std::fs::read(path).unwrap());
        }
        let local = Collection::open(folder.path().join(MANIFEST), MEMORY).unwrap();
        let remote = Collection::open(server.at("/library/manifest.json"), MEMORY).unwrap();
        let queries: Vec<Query> = positions.iter().map(Query::from).collect();
        assert!(batch(&remote, &queries).unwrap() == batch(&local, &queries).unwrap());
        // Another archive in the place of a shard is refused.
        let (first, second) = (&shards[0].file, &shards[1].file);
        let other = server.get(&format!("/library/{second}")).unwrap();
        server.put(&format!("/library/{first}"), other);
        let remote = Collection::open(server.at("/library/manifest.json"), MEMORY).unwrap();
        let error = batch(&remote, &queries).map(drop).unwrap_err().to_string();
        assert!(error.contains("it was replaced or damaged"), "{error}");
    }
}

/// Writes records as a sharded archive and puts its files on a server. Returns the paths of the
/// shards.
fn put_shards(server: &WebServer, count: u32, level: Level, records: &[EpdRecord]) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let mut builder =
        ShardBuilder::new(ShardOptions { level, ..ShardOptions::new(count) }, folder.path());
    records.iter().for_each(|record| builder.push(record).unwrap());
    let manifest = builder.finish(folder.path(), None).unwrap();
    let names: Vec<_> = manifest.shards().iter().map(|shard| shard.file.as_str()).collect();
    for name in names.iter().chain([&MANIFEST]) {
        server.put(&format!("/library/{name}"), std::fs::read(folder.path().join(name)).unwrap());
    }
    names.iter().map(|name| format!("/library/{name}")).collect()
}

/// 70,000 shards are as many as 10^9 positions take in parts of 64 kB. All but one are made up.
#[test]
fn a_lookup_in_many_shards_receives_one_list() {
    const SHARDS: u64 = 70_000;
    let folder = tempfile::tempdir().unwrap();
    let mut builder = ShardBuilder::new(ShardOptions::new(1), folder.path());
    builder.push(&EpdRecord::new(Position::START)).unwrap();
    let one = builder.finish(folder.path(), None).unwrap().shards()[0].clone();
    let server = WebServer::start();
    let put = |name: &str, bytes: Vec<u8>| server.put(&format!("/library/{name}"), bytes);
    put(&one.file, std::fs::read(folder.path().join(&one.file)).unwrap());

    let query = Query::from(&Position::START);
    let width = u64::MAX / SHARDS;
    let shard = |number: u64| {
        let first_key = number * width;
        let last_key = if number + 1 == SHARDS { u64::MAX } else { first_key + width - 1 };
        if (first_key..=last_key).contains(&query.locality_key()) {
            return Shard { first_key, last_key, ..one.clone() };
        }
        let file = format!("{number}-of-{SHARDS}-0123456789abcdef.epa");
        Shard { first_key, last_key, file, records: 14_000, bytes: 1 << 16, ..one.clone() }
    };
    let shards: Vec<Shard> = (0..SHARDS).map(shard).collect();
    let mut lists = Vec::new();
    for shards in shards.chunks(200) {
        let text = ShardList::text(shards);
        lists.push(ShardList::new(shards, &text));
        put(&lists.last().unwrap().file, text);
    }
    let manifest = Manifest::of_lists(None, lists).unwrap().to_bytes();
    let sizes = (manifest.len(), ShardList::text(&shards).len());
    put(MANIFEST, manifest);

    let remote = Collection::open(server.at("/library/manifest.json"), MEMORY).unwrap();
    let found = batch(&remote, &[query]).unwrap();
    assert_eq!(found[0].len(), 1);
    let requests = server.requests();
    println!(
        "{SHARDS} shards: a manifest of {} bytes, {} without lists; the first lookup receives {} bytes in {} requests",
        sizes.0,
        sizes.1,
        sent(&requests),
        requests.len()
    );
    assert!(requests.len() <= 4, "{requests:#?}");
    assert!(sent(&requests) < 200_000, "{} bytes", sent(&requests));
}

#[test]
fn a_batch_in_a_replaced_sharded_archive_is_repeated_whole() {
    let positions = positions(4000);
    let records = |id: &str| {
        let line = |position: &Position| {
            let line =
                String::from_utf8(epdb_chess::format_epd(&EpdRecord::new(*position))).unwrap();
            epdb_chess::parse_epd(format!("{line} id \"{id}\";").as_bytes()).unwrap()
        };
        positions.iter().map(line).collect::<Vec<_>>()
    };
    let queries: Vec<Query> = positions.iter().map(Query::from).collect();
    for level in [Level::Fast, Level::Default] {
        let server = WebServer::start();
        let manifest = server.at("/library/manifest.json");
        let before = put_shards(&server, 3, level, &records("before"));
        let remote = Collection::open(&manifest, MEMORY).unwrap();
        batch(&remote, &queries[..1]).unwrap();
        let after = put_shards(&server, 2, level, &records("after"));
        let expected = batch(&Collection::open(&manifest, MEMORY).unwrap(), &queries).unwrap();
        // All shards of the old manifest are replaced or missing: one of them is open already.
        server.remove(&before[0]);
        server.remove(&before[1]);
        server.put(&before[2], server.get(&after[0]).unwrap());
        let error = batch(&remote, &queries).map(drop).unwrap_err().to_string();
        assert!(error.contains("run this one again") || error.contains("replaced"), "{error}");
        server.requests();
        let found = repeat_if_replaced(&remote, || batch(&remote, &queries)).unwrap();
        assert!(found == expected);
        let manifests = server.requests().iter().filter(|it| it.path.ends_with(MANIFEST)).count();
        assert_eq!(manifests, 1);
    }
}

/// Columns of a Parquet file: only their bytes are received, and a fault of the server or of the bytes is never a
/// wrong count.
#[test]
#[cfg(feature = "parquet")]
fn columns_of_a_parquet_file_are_received_alone() {
    use epdb_library::column_scan::count_by_columns;
    use epdb_library::expression::Expression;
    use epdb_source::{SourceOptions, Target};

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    let mut target = Target::create(&path).unwrap();
    for (number, position) in positions(20_000).into_iter().enumerate() {
        let mut line = epdb_chess::format_epd(&EpdRecord::new(position));
        let id = blake3::hash(&number.to_le_bytes()).to_hex();
        line.extend(format!(" acd {}; id \"{id}\";", number % 40).bytes());
        target.write(&epdb_chess::parse_epd(&line).unwrap()).unwrap();
    }
    target.finish().unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let filter = Expression::parse("acd == 7").unwrap();
    let count = |address: &str| {
        count_by_columns(address.as_ref(), Some(&filter), &SourceOptions::default())
    };
    let server = WebServer::start();
    let address = server.at("/a.parquet");
    server.put("/a.parquet", bytes.clone());
    assert_eq!(count(&address).unwrap(), Some(500));
    let requests = server.requests();
    println!("{} of {} bytes in {} requests", sent(&requests), bytes.len(), requests.len());
    assert!(requests.len() <= 4 && sent(&requests) * 3 < bytes.len(), "{requests:#?}");
    for number in 0..requests.len() {
        for fault in [Fault::Status(404), Fault::Cut(1000), Fault::Replace(bytes[1..].to_vec())] {
            let server = WebServer::start();
            server.put("/a.parquet", bytes.clone());
            (0..number).for_each(|_| server.fail("/a.parquet", Fault::None));
            server.fail("/a.parquet", fault);
            let counted = count(&server.at("/a.parquet"));
            assert!(!matches!(counted, Ok(Some(other)) if other != 500), "{counted:?}");
        }
    }
    for place in (0..bytes.len()).step_by(bytes.len() / 20) {
        let mut changed = bytes.clone();
        changed[place] ^= 0x10;
        server.put("/a.parquet", changed);
        let counted = count(&address);
        assert!(!matches!(counted, Ok(Some(other)) if other != 500), "byte {place}: {counted:?}");
    }
    // A server without ranges, and another name, are left to the reader of all rows.
    server.put("/a.parquet", bytes.clone());
    server.put("/a", bytes);
    assert_eq!(count(&server.at("/a")).unwrap(), None);
    server.without_ranges();
    assert_eq!(count(&address).unwrap(), None);
}
