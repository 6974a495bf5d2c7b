//! Searches, and what records say of them.

use epdb::engine::{Engine, EngineSpec, Limits, SystemClock, Task};
use std::fs;
use std::sync::Arc;

use crate::engines::stockfish;
use crate::support::{PATIENCE, Script, nodes, record, text};

const PAWN: &str = "4k3/8/8/8/8/8/4P3/4K3 w - -";

/// What an engine is told, in its order.
fn said(script: &str, lines: &[&str]) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let note = |word: &str, then: &str| format!("{word}: !log {}{then}\n", log.display());
    let rules = ["ucinewgame", "setoption", "position"].map(|word| note(word, "")).concat();
    let script = Script::new(&format!("{script}{rules}{}", note("go", " | !first")));
    script.run(Task::Analyze, nodes(7), lines);
    fs::read_to_string(log).unwrap().lines().map(String::from).collect()
}

#[test]
fn each_record_is_a_new_game_and_chess960_is_switched_by_those_that_need_it() {
    let chess960 = "1k6/8/8/8/8/8/8/1KR5 w C -";
    assert_eq!(
        said("", &[PAWN, chess960, "4k3/8/8/8/8/8/8/R3K3 w Q - hmvc 3; fmvn 9;"]),
        [
            "setoption name Threads value 1",
            "ucinewgame",
            "position fen 4k3/8/8/8/8/8/4P3/4K3 w - - 0 1",
            "go nodes 7",
            "setoption name UCI_Chess960 value true",
            "ucinewgame",
            "position fen 1k6/8/8/8/8/8/8/1KR5 w C - 0 1",
            "go nodes 7",
            "setoption name UCI_Chess960 value false",
            "ucinewgame",
            "position fen 4k3/8/8/8/8/8/8/R3K3 w Q - 3 9",
            "go nodes 7",
        ]
    );
}

#[test]
fn chess960_is_an_error_for_an_engine_without_it() {
    let script = Script::new("uci: uciok\n");
    let finished = script.run(Task::Analyze, nodes(1), &["1k6/8/8/8/8/8/8/1KR5 w C -", PAWN]);
    assert!(finished[0].error.as_ref().unwrap().contains("needs Chess960"));
    assert_eq!(finished[1].error, None);
}

// VERB-pfga-03, VERB-pfga-04, VERB-pfga-05, VERB-pfga-06
#[test]
fn analysis_takes_the_place_of_the_one_before() {
    let script = Script::new(
        "go: info depth 7 seldepth 9 score cp 31 nodes 42 time 5 pv e2e4 e8e7 | bestmove e2e4 ponder e8e7\n",
    );
    let old = format!(
        "{PAWN} acd 1; acn 2; acs 3; bm Kf2; ce 4; id \"x\"; pm Kd1; pv Kd1; sm Kd1; pv2 Kf1; ce2 3; \
         solve_held 1 2 3; run_error \"no\";"
    );
    assert_eq!(
        script.one(Task::Analyze, &old),
        format!("{PAWN} acd 7; acn 42; bm Kf2; ce 31; id \"x\"; pm e4; pv e4 Ke7;")
    );
}

// VERB-pfga-04, CE-05, CE-06
#[test]
fn positions_without_moves_need_no_engine() {
    let script = Script::new("uci: !exit\n");
    for (line, expected) in [
        ("7k/6Q1/6K1/8/8/8/8/8 b - - pm Kg8;", "7k/6Q1/6K1/8/8/8/8/8 b - - ce -32767; pv;"),
        (
            "7k/5Q2/6K1/8/8/8/8/8 b - - id \"s\"; sm Kg8;",
            "7k/5Q2/6K1/8/8/8/8/8 b - - ce 0; id \"s\"; pv;",
        ),
        ("8/8/8/8/8/8/8/4K3 w - -", "8/8/8/8/8/8/8/4K3 w - - ce -32768; pv;"),
    ] {
        assert_eq!(script.one(Task::Analyze, line), expected);
    }
}

#[test]
fn lines_are_cut_before_illegal_moves_and_begin_with_the_best_move() {
    let cut = "go: info depth 2 score mate -3 nodes 9 pv e2e4 e8e7 e4e7 | bestmove e2e4\n";
    let finished = Script::new(cut).run(Task::Analyze, nodes(1), &[PAWN]).remove(0);
    assert_eq!(
        finished.notes,
        ["the line of the engine ends before its move `e4e7`, which is not legal"]
    );
    assert_eq!(text(finished.record), format!("{PAWN} acd 2; acn 9; ce -32761; pm e4; pv e4 Ke7;"));
    let line = |actions: &str| Script::new(&format!("go: {actions}\n")).one(Task::Analyze, PAWN);
    // The move of a bound that came last, and one of which no line told.
    let bound = "info depth 5 score cp 10 nodes 1 pv e2e3 | info depth 6 score cp 50 lowerbound nodes 2 pv e2e4 \
                 | bestmove e2e4";
    assert_eq!(line(bound), format!("{PAWN} acd 6; acn 2; ce 50; pm e4; pv e4;"));
    let stays = bound.replace("bestmove e2e4", "bestmove e2e3");
    assert_eq!(line(&stays), format!("{PAWN} acd 5; acn 2; ce 10; pm e3; pv e3;"));
    let untold = bound.replace("bestmove e2e4", "bestmove e1d1");
    assert_eq!(line(&untold), format!("{PAWN} acd 5; acn 2; ce 10; pm Kd1; pv Kd1;"));
    let clamped = "info depth 1 score cp -32767 nodes 1 pv e2e3 | bestmove e2e3";
    assert_eq!(line(clamped), format!("{PAWN} acd 1; acn 1; ce -32000; pm e3; pv e3;"));
}

#[test]
fn further_lines_have_opcodes_of_their_own() {
    let script = Script::new(
        "go: info depth 4 multipv 1 score cp 9 nodes 5 pv e2e4 e8e7 | info depth 4 multipv 2 score mate 3 nodes 5 pv e2e3 \
         | info depth 4 multipv 3 score cp 1 nodes 5 pv e1e8 | bestmove e2e4\n",
    );
    let finished = script.run(Task::Analyze, nodes(1), &[PAWN]).remove(0);
    assert_eq!(finished.notes.len(), 1);
    assert_eq!(
        text(finished.record),
        format!("{PAWN} acd 4; acn 5; ce 9; ce2 32762; pm e4; pv e4 Ke7; pv2 e3;")
    );
}

#[test]
fn a_real_engine_castles_in_chess960_and_counts_nodes_alike() {
    let Some(path) = stockfish() else { return };
    let spec = EngineSpec::new(path);
    let mut engine = Engine::start(&spec, PATIENCE, Arc::new(SystemClock::new())).unwrap();
    assert!(engine.identity().name.starts_with("Stockfish"));
    let chess960 = record("1k6/ppp5/8/8/8/8/5PPP/4rKR1 w G -");
    let ordinary = record("r1bqkb1r/pppp1ppp/2n2n2/4p2Q/2B1P3/8/PPPP1PPP/RNB1K1NR w KQkq -");
    let mut best = |record, limits: &Limits| {
        engine
            .search(record, limits, &mut |_, _| false)
            .map(|answer| (answer.best_word, answer.end.nodes))
    };
    let first = best(&ordinary, &nodes(5000)).unwrap();
    assert_eq!(first.0, "h5f7");
    let mated_next = best(&chess960, &nodes(5000)).unwrap();
    assert!(mated_next.1 > 0);
    assert_eq!(best(&ordinary, &nodes(5000)).unwrap(), first);
}
