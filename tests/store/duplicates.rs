//! Rules for duplicates, compared with a model that is a list of records.

use proptest::prelude::*;
use std::num::NonZeroU64;

use crate::common::*;
use epdb_chess::codec::key::position_key;
use epdb_chess::model::EpdRecord;
use epdb_chess::model::merge::{BestMoves, MergeRules, Merged, merge};
use epdb_store::{ImportCounts, ImportOptions, OnDuplicate, Same, Store, StoreOptions, verify};

/// Positions that differ little: counters, a superfluous en passant square (the second and third
/// lines), inner and outer rooks (the last two, of one Polyglot key).
const POSITIONS: [&str; 7] = [
    "4k3/8/8/8/8/8/4P3/4K3 w - -",
    "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq -",
    "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq e3",
    "8/8/8/8/8/1k6/8/K7 b - -",
    "8/8/8/8/8/1k6/8/K7 w - -",
    "r3k2r/8/8/8/8/8/8/4K1RR w Kkq -",
    "r3k2r/8/8/8/8/8/8/4K1RR w Gkq -",
];

pub(crate) fn record() -> impl Strategy<Value = EpdRecord> {
    let tail = prop_oneof![
        Just(String::new()),
        (0..3u32, 1..3u32).prop_map(|(half, full)| format!(" {half} {full}")),
        (0..3u32).prop_map(|id| format!(" id \"{id}\";")),
        (0..3u32, 0..20i32).prop_map(|(depth, ce)| format!(" acd {depth}; ce {ce};")),
        (0..3usize).prop_map(|big| format!(" c0 \"{}\";", "x".repeat(big * 3000))),
    ];
    (0..POSITIONS.len(), tail).prop_map(|(place, tail)| epd(&(POSITIONS[place].to_owned() + &tail)))
}

pub(crate) fn rule() -> impl Strategy<Value = (OnDuplicate, Same)> {
    let union = MergeRules { best_moves: BestMoves::Union, ..Default::default() };
    let what = prop_oneof![
        Just(OnDuplicate::Keep),
        Just(OnDuplicate::Skip),
        Just(OnDuplicate::Replace),
        Just(OnDuplicate::Merge(MergeRules::default())),
        Just(OnDuplicate::Merge(union)),
    ];
    (what, prop_oneof![Just(Same::Position), Just(Same::Record)])
}

/// The store as a list, and what each rule does to it, one record after the other.
#[derive(Default)]
pub(crate) struct Model {
    pub(crate) records: Vec<(u64, EpdRecord)>,
    next: u64,
}

impl Model {
    pub(crate) fn import(
        &mut self,
        record: &EpdRecord,
        on_duplicate: &OnDuplicate,
        same: Same,
        counts: &mut ImportCounts,
    ) {
        let number = self.next;
        self.next += 1;
        counts.read += 1;
        let is_same = |other: &EpdRecord| match same {
            Same::Position => other.position().identity() == record.position().identity(),
            Same::Record => other == record,
        };
        let is_duplicate = self.records.iter().any(|(_, other)| is_same(other));
        match on_duplicate {
            OnDuplicate::Skip if is_duplicate => return counts.dropped += 1,
            OnDuplicate::Merge(_) if is_duplicate && same == Same::Record => {
                return counts.merged += 1;
            }
            OnDuplicate::Merge(rules) if is_duplicate => {
                for (_, other) in self.records.iter_mut().filter(|(_, other)| is_same(other)) {
                    if let Merged::One(merged) = merge(other, record, rules) {
                        *other = merged;
                        return counts.merged += 1;
                    }
                }
                counts.conflicts += 1;
            }
            OnDuplicate::Replace => {
                let before = self.records.len();
                self.records.retain(|(_, other)| !is_same(other));
                counts.replaced += (before - self.records.len()) as u64;
            }
            _ => {}
        }
        counts.stored += 1;
        self.records.push((number, record.clone()));
    }
}

/// Records, a rule, and the maximum number of records between two commits; 0 for no maximum.
type Import = (Vec<EpdRecord>, (OnDuplicate, Same), u64);

fn check(imports: &[Import], key: fn(u64) -> u64) {
    check_with(imports, StoreOptions { key, ..small() });
}

fn check_with(imports: &[Import], options: StoreOptions) {
    let scratch = Scratch::new();
    let path = scratch.path("model.epdb");
    let store = Store::create(&path, &options).unwrap();
    let mut model = Model::default();
    for (nth, (records, (on_duplicate, same), commit_every)) in imports.iter().enumerate() {
        let import_options = ImportOptions {
            on_duplicate: on_duplicate.clone(),
            same: *same,
            commit_every: NonZeroU64::new(*commit_every),
            ..Default::default()
        };
        let mut expected = ImportCounts::default();
        for record in records {
            model.import(record, on_duplicate, *same, &mut expected);
        }
        let report = import(&store, &nth.to_string(), records, &import_options);
        assert_eq!(report.counts, expected, "import {nth}");
        assert_eq!(report.conflicts.len() as u64, expected.conflicts);
    }
    let reader = store.reader().unwrap();
    assert_eq!(exported(&reader), model.records);
    let mut positions = 0;
    let mut seen = Vec::new();
    for line in POSITIONS {
        let position = position(line).identity();
        let records: Vec<_> = model
            .records
            .iter()
            .filter(|(_, record)| record.position().identity() == position)
            .cloned()
            .collect();
        assert_eq!(found(&reader, &position), records);
        if !records.is_empty() && !seen.contains(&position) {
            positions += 1;
            seen.push(position);
        }
    }
    let stats = reader.stats().unwrap();
    assert_eq!((stats.records, stats.positions), (model.records.len() as u64, positions));
    drop(reader);
    store.close().unwrap();
    assert_eq!(verify(&path, &options).unwrap(), []);
}

fn imports() -> impl Strategy<Value = Vec<Import>> {
    let import = (prop::collection::vec(record(), 0..40), rule(), 0..50u64);
    prop::collection::vec(import, 1..5)
}

/// Sizes of a batch for which an import of few records needs several runs.
pub(crate) fn batch_bytes() -> impl Strategy<Value = usize> {
    prop_oneof![Just(1 << 20), 300..6000usize]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    /// Records and their order, and the rules by which two of one position are merged.
    #[test]
    fn the_store_is_the_list(imports in imports(), batch_bytes in batch_bytes()) {
        check_with(&imports, StoreOptions { batch_bytes: Some(batch_bytes), ..small() });
    }

    /// The same when all positions share one key.
    #[test]
    fn the_store_is_the_list_when_all_keys_are_equal(
        imports in imports(),
        batch_bytes in batch_bytes(),
    ) {
        let options = StoreOptions { key: |_| 0xffff_ffff_ffff_fff7, ..small() };
        check_with(&imports, StoreOptions { batch_bytes: Some(batch_bytes), ..options });
    }
}

/// Inner and outer rook have one Polyglot key and are two positions.
#[test]
fn positions_of_one_key_keep_their_own_records() {
    let [outer, inner] = ["Kkq", "Gkq"]
        .map(|rights| epd(&format!("r3k2r/8/8/8/8/8/8/4K1RR w {rights} - id \"{rights}\";")));
    assert_eq!(position_key(outer.position()), position_key(inner.position()));
    let scratch = Scratch::new();
    let path = scratch.path("collision.epdb");
    let store = store_of(&path, &[inner.clone(), outer.clone()]);
    let reader = store.reader().unwrap();
    assert_eq!(found(&reader, outer.position()), [(1, outer.clone())]);
    assert_eq!(found(&reader, inner.position()), [(0, inner)]);
    let neither = position("r3k2r/8/8/8/8/8/8/4K1RR w kq -");
    assert_eq!(found(&reader, &neither), []);
    assert_eq!(reader.stats().unwrap().positions, 2);
    drop(reader);
    store.close().unwrap();
    assert_eq!(verify(&path, &small()).unwrap(), []);
}

/// Many positions filed under few keys, in several batches.
#[test]
fn forced_collisions_are_distinguished() {
    let scratch = Scratch::new();
    let path = scratch.path("forced.epdb");
    let options = StoreOptions { key: |key| key & 0xc000_0000_0000_0000, ..small() };
    let store = Store::create(&path, &options).unwrap();
    let records: Vec<_> = (0..2000).map(generated).collect();
    let batches = ImportOptions { commit_every: NonZeroU64::new(600), ..Default::default() };
    import(&store, "forced", &records, &batches);
    let reader = store.reader().unwrap();
    for (nth, record) in (0..).zip(&records) {
        assert_eq!(found(&reader, record.position()), [(nth, record.clone())]);
    }
    assert_eq!(found(&reader, generated(2001).position()), []);
    drop(reader);
    store.close().unwrap();
    assert_eq!(verify(&path, &options).unwrap(), []);
}

/// Counters, dialect and a superfluous en passant square do not part records of one position,
/// and come back with each record.
#[test]
fn data_outside_of_the_identity_is_kept_but_not_compared() {
    let lines = [
        "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq -",
        "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq e3",
        "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq e3 0 1",
        "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b HAha - 7 9",
        "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - foo bar \"baz\";",
    ];
    let scratch = Scratch::new();
    let records: Vec<_> = lines.iter().map(|line| epd(line)).collect();
    let store = store_of(&scratch.path("identity.epdb"), &records);
    let reader = store.reader().unwrap();
    let back: Vec<_> =
        found(&reader, records[3].position()).iter().map(|(_, record)| text(record)).collect();
    assert_eq!(back, lines.map(|line| text(&epd(line))));
    assert_eq!(reader.stats().unwrap().positions, 1);
}

/// A crowd of one position under every rule.
#[test]
fn rules_hold_for_overflow_positions() {
    let crowd = |from: u64, to: u64| -> Vec<EpdRecord> {
        (from..to).map(|nth| epd(&format!("{} c0 \"{nth}\";", POSITIONS[0]))).collect()
    };
    let rules = [
        (OnDuplicate::Skip, Same::Position),
        (OnDuplicate::Skip, Same::Record),
        (OnDuplicate::Replace, Same::Record),
        (OnDuplicate::Merge(MergeRules::default()), Same::Record),
        (OnDuplicate::Replace, Same::Position),
    ];
    for rule in rules {
        let keep = (OnDuplicate::Keep, Same::Position);
        let first = (crowd(0, 5000), keep.clone(), 1777);
        check(&[first, (crowd(4990, 5020), rule, 9), (crowd(0, 3), keep, 9)], |key| key);
    }
}

/// Merging is tried with the 256 earliest records of a position.
#[test]
fn merging_continues_in_overflow_positions() {
    let line = |tail: String| epd(&format!("{} {tail}", POSITIONS[0]));
    let scratch = Scratch::new();
    let path = scratch.path("merging.epdb");
    let store = Store::create(&path, &small()).unwrap();
    let records: Vec<_> = (0..3000).map(|nth| line(format!("id \"{nth}\";"))).collect();
    import(&store, "crowd", &records, &ImportOptions::default());
    let merging = ImportOptions {
        on_duplicate: OnDuplicate::Merge(MergeRules::default()),
        ..Default::default()
    };
    // The last with which merging is tried, and the first with which it is not.
    let new = [line("id \"255\"; c1 \"met\";".into()), line("id \"256\"; c1 \"far\";".into())];
    let report = import(&store, "new", &new, &merging);
    assert_eq!((report.counts.merged, report.counts.conflicts, report.counts.stored), (1, 1, 1));
    let reader = store.reader().unwrap();
    let back = found(&reader, new[0].position());
    assert_eq!(back.len(), 3001);
    assert_eq!(text(&back[255].1), text(&new[0]));
    assert_eq!(back[256].1, records[256]);
    assert_eq!((back[3000].0, &back[3000].1), (3001, &new[1]));
    drop(reader);
    store.close().unwrap();
    assert_eq!(verify(&path, &small()).unwrap(), []);
}
