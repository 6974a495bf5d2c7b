//! Costs that are predicted from given runs.

use epdb::library::plan::{
    CostModel, LookupCosts, MeasuredCosts, PlannedGames, Route, RunCosts, SampleGames,
};

const MIB: u64 = 1 << 20;

fn run(input: u64, records: u64, bytes: u64, cpu_seconds: f64, peak_mib: u64) -> RunCosts {
    RunCosts { input, records, bytes, cpu_seconds, peak_bytes: peak_mib * MIB }
}

fn model() -> CostModel {
    let runs = [
        run(100_000, 80_000, 160_000, 0.3, 40),
        run(800_000, 512_000, 1_536_000, 1.7, 110),
        run(6_400_000, 3_276_800, 4 * 3_276_800, 12.7592, 260),
    ];
    CostModel { runs, sample_memory: 256 * MIB, memory: 256 * MIB }
}

#[track_caller]
fn assert_near(found: f64, expected: f64) {
    assert!((found / expected - 1.0).abs() < 1e-6, "{found} instead of {expected}");
}

#[test]
fn each_cost_follows_its_law() {
    let model = model();
    // Eight times the plies have 6.4 times the positions, and again.
    assert_near(model.records(51.2e6), 20_971_520.0);
    // 6.4 times the records take a byte more each.
    assert_near(model.bytes(20_971_520.0, 1.0), 20_971_520.0 * 5.0);
    assert_near(model.bytes(20_971_520.0, 6.4), 20_971_520.0 * 4.0);
    // Up to the limit of memory, time follows the first two runs; beyond it, the third one.
    assert_near(model.cpu_seconds(800_000.0), 1.7);
    let in_memory = |input| 1.7 + 1.4 / 432_000.0 * (model.records(input) - 512_000.0);
    assert_near(model.cpu_seconds(1.6e6), in_memory(1.6e6));
    assert_near(model.cpu_seconds(51.2e6), 6.4 * 12.7592);
    assert_near(model.peak_bytes(400_000.0), 70.0 * MIB as f64);
    // In the third run the memory no longer grew by 10 MiB for 100,000 plies.
    assert_near(model.peak_bytes(1e9), 260.0 * MIB as f64);
    let with_more = CostModel { memory: 768 * MIB, ..model };
    assert_near(with_more.peak_bytes(3.6e6), 390.0 * MIB as f64);
    assert_near(with_more.cpu_seconds(3.6e6), in_memory(3.6e6));
    assert_near(with_more.peak_bytes(1e9), 772.0 * MIB as f64);
}

/// A small sample that never reached the limit of memory does not predict memory without bound.
#[test]
fn memory_has_a_bound_without_a_run_that_reached_it() {
    let [small, middle, _] = model().runs;
    let large = run(1_600_000, 900_000, 2_700_000, 3.4, 190);
    let model = CostModel { runs: [small, middle, large], ..model() };
    assert_near(model.peak_bytes(2_400_000.0), 270.0 * MIB as f64);
    assert_near(model.peak_bytes(1e12), (190.0 + 256.0) * MIB as f64);
}

/// Equal runs, as of copies of one game, predict costs in proportion.
#[test]
fn samples_without_growth_have_a_model() {
    let same = run(100, 50, 500, 0.1, 30);
    let model = CostModel { runs: [same; 3], sample_memory: MIB, memory: MIB };
    assert_near(model.records(1000.0), 500.0);
    assert_near(model.bytes(500.0, 1.0), 5000.0);
    assert_near(model.cpu_seconds(1000.0), 1.0);
    assert_near(model.peak_bytes(1000.0), 31.0 * MIB as f64);
}

#[test]
fn routes_differ_in_slices_and_shards() {
    let measured = MeasuredCosts {
        store: model(),
        archive: model(),
        slice: model(),
        merge: model(),
        pack: model(),
        archive_lookups: LookupCosts { opening: 3.0, requests: 2.0, bytes: 1e5 },
        merged_lookups: LookupCosts { opening: 3.0, requests: 5.0, bytes: 1e5 },
    };
    let planned = PlannedGames { games: 1e9, plies: 80.0 };
    let routes = measured.plan(&planned);
    let [store, archive, sliced, pack] = &routes[..] else { panic!("{routes:?}") };
    assert_near(store.records, model().records(80e9));
    assert_near(store.cpu_seconds, model().cpu_seconds(80e9));
    assert_eq!((archive.slices, archive.shards), (1.0, 1.0));
    // A digest of each game stays in memory; `pack` has none.
    assert_near(archive.peak_bytes - pack.peak_bytes, 29e9);
    // An hour for each slice, and at most 4 GiB for each shard.
    assert_near(sliced.slices, (store.cpu_seconds / 3600.0).ceil());
    assert!(sliced.bytes / sliced.shards < (4_u64 << 30) as f64);
    assert!(sliced.cpu_seconds > store.cpu_seconds);
    // Lookups in a large library share hardly any request.
    assert_eq!((store.requests, pack.requests), (None, None));
    let share = |route: &Route, requests: f64| route.requests.unwrap() / requests;
    assert!((0.99..=1.0).contains(&share(archive, 1.0 + 3.0 + 2000.0)), "{archive:?}");
    let of_shards = 1.0 + 3.0 * sliced.shards + 5.0 * 1000.0;
    assert!((0.99..=1.0).contains(&share(sliced, of_shards)), "{sliced:?}");
}

/// Positions of games that are made up repeat about as often as in games of masters, of which 2,000
/// games have 0.865 different positions a ply.
#[test]
fn sample_games_share_their_openings() {
    let text: String = SampleGames::new(80).take(200).collect();
    let again: String = SampleGames::new(80).take(200).collect();
    assert_eq!(text, again);
    let mut reader = epdb::text::pgn::GameReader::new(text.as_bytes(), Default::default());
    let (mut plies, mut keys) = (0, std::collections::HashSet::new());
    while let Some(read) = reader.next_game().unwrap() {
        let records = epdb::text::pgn::positions(read.game.unwrap(), &Default::default());
        for record in records {
            plies += 1;
            keys.insert(epdb::codec::key::position_key(record.position()));
        }
    }
    let share = keys.len() as f64 / plies as f64;
    assert!((0.85..0.95).contains(&share), "{share}");
}
