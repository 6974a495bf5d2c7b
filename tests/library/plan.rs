//! Costs that are predicted from given runs.

use epdb::library::plan::{CostModel, MeasuredCosts, PlannedGames, RunCosts, SampleGames};

const MIB: u64 = 1 << 20;

fn run(input: u64, records: u64, bytes: u64, cpu_seconds: f64, peak_mib: u64) -> RunCosts {
    RunCosts { input, records, bytes, cpu_seconds, peak_bytes: peak_mib * MIB }
}

fn model() -> CostModel {
    CostModel {
        small: run(100_000, 80_000, 160_000, 0.3, 40),
        large: run(800_000, 512_000, 1_536_000, 1.7, 110),
        limited: run(800_000, 512_000, 1_536_000, 2.0, 66),
        limited_memory: 32 * MIB,
    }
}

#[track_caller]
fn assert_near(found: f64, expected: f64) {
    assert!((found / expected - 1.0).abs() < 1e-6, "{found} instead of {expected}");
}

#[test]
fn each_cost_follows_its_law() {
    let model = model();
    // Eight times the plies have 6.4 times the positions, and again.
    assert_near(model.records(6.4e6), 512_000.0 * 6.4);
    // 6.4 times the records take a byte more each.
    assert_near(model.bytes(512_000.0 * 6.4, 1.0), 512_000.0 * 6.4 * 4.0);
    assert_near(model.bytes(512_000.0 * 6.4, 6.4), 512_000.0 * 6.4 * 3.0);
    assert_near(model.cpu_seconds(10e6, 1e12), 0.1 + 20.0);
    // With less memory than that takes, a run of 800,000 plies took 2 seconds.
    assert_near(model.cpu_seconds(10e6, 256.0 * MIB as f64), 25.0);
    assert_near(model.peak_bytes(400_000.0, 1e9), 70.0 * MIB as f64);
    // 32 MiB of memory take 36 beyond the start of 30.
    assert_near(model.peak_bytes(1e9, 256.0 * MIB as f64), (30.0 + 288.0) * MIB as f64);
}

/// Equal runs, as of copies of one game, predict costs in proportion.
#[test]
fn samples_without_growth_have_a_model() {
    let same = run(100, 50, 500, 0.1, 30);
    let model = CostModel { small: same, large: same, limited: same, limited_memory: MIB };
    assert_near(model.records(1000.0), 500.0);
    assert_near(model.bytes(500.0, 1.0), 5000.0);
    assert!(model.cpu_seconds(1000.0, 1e9).is_finite());
    assert!(model.peak_bytes(1000.0, 1e9).is_finite());
}

#[test]
fn routes_differ_in_slices_and_shards() {
    let measured = MeasuredCosts {
        store: model(),
        archive: model(),
        slice: model(),
        merge: model(),
        pack: model(),
    };
    let planned = PlannedGames { games: 1e9, plies: 80.0, memory: 256.0 * MIB as f64 };
    let routes = measured.plan(&planned);
    let [store, archive, sliced, pack] = &routes[..] else { panic!("{routes:?}") };
    assert_near(store.records, model().records(80e9));
    assert_near(store.cpu_seconds, 200_000.0);
    assert_eq!((archive.slices, archive.shards), (1.0, 1.0));
    // A digest of each game stays in memory; `pack` has none.
    assert_near(archive.peak_bytes - pack.peak_bytes, 55e9);
    // An hour for each slice, and at most 4 GiB for each shard.
    assert_eq!(sliced.slices, 56.0);
    assert!(sliced.bytes / sliced.shards < (4_u64 << 30) as f64);
    assert!(sliced.cpu_seconds > store.cpu_seconds);
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
