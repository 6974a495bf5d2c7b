//! Searches, and the operations that they write.

use epdb_engine::{ClockReading, Engine, EngineSpec, Limits, MateOptions, SystemClock, Task};
use std::fs;
use std::sync::Arc;
use std::time::Duration;

use crate::engines::stockfish;
use crate::support::{PATIENCE, Script, nodes, record, text};

const PAWN: &str = "4k3/8/8/8/8/8/4P3/4K3 w - -";

/// Commands to an engine, in order.
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
        format!("{PAWN} acd 7; acn 42; bm Kf2; ce 31; id \"x\"; pm e4; pv e4 Ke7; sm Kd1;")
    );
}

#[test]
fn other_operations_stay() {
    let kept = "am Kf1; c0 \"a\"; dm 4; draw_offer; eco \"A00\"; hmvc 3; sm Kd1; sv Kd1 Kd7; \
                ts 1995.11.26 00:00:00; zz a;";
    let script = Script::new("go: info depth 7 score cp 31 pv e1d1 | bestmove e1d1\n");
    for (task, goal) in [
        (Task::Analyze, ""),
        (Task::Solve { stop_held: None }, "bm e4; "),
        (Task::Mate(MateOptions { length: Some(2), of_record: false, writes_found: false }), ""),
    ] {
        let before = record(&format!("{PAWN} {kept} {goal}"));
        let finished = script.run(task.clone(), nodes(1), &[&format!("{PAWN} {kept} {goal}")]);
        for operation in before.operations() {
            let after = finished[0].record.operands(operation.opcode);
            assert_eq!(after, Some(&*operation.operands), "{task:?}: {}", operation.opcode);
        }
    }
}

#[test]
fn the_score_and_the_line_are_those_of_the_move() {
    let line = |actions: &str| Script::new(&format!("go: {actions}\n")).one(Task::Analyze, PAWN);
    let two = "info depth 5 multipv 1 score cp 40 nodes 9 pv e2e3 e8e7 | \
               info depth 5 multipv 2 score cp 30 nodes 9 pv e2e4 e8d7";
    assert_eq!(
        line(&format!("{two} | bestmove e2e4")),
        format!("{PAWN} acd 5; acn 9; ce 30; ce2 40; pm e4; pv e4 Kd7; pv2 e3 Ke7;")
    );
    assert_eq!(
        line(&format!("{two} | bestmove e2e3")),
        format!("{PAWN} acd 5; acn 9; ce 40; ce2 30; pm e3; pv e3 Ke7; pv2 e4 Kd7;")
    );
    assert_eq!(
        line(&format!("{two} | bestmove e1d1")),
        format!("{PAWN} acd 5; acn 9; ce2 40; ce3 30; pm Kd1; pv Kd1; pv2 e3 Ke7; pv3 e4 Kd7;")
    );
    let bounds = "info depth 4 score cp 7 nodes 3 pv e2e4 e8e7 | info depth 5 score cp 20 nodes 5 pv e2e3 | \
                  info depth 6 score mate 3 lowerbound nodes 9 pv e2e4 | bestmove e2e4";
    assert_eq!(line(bounds), format!("{PAWN} acd 4; acn 9; ce 7; pm e4; pv e4 Ke7;"));
    let second = "info depth 4 multipv 1 score cp 7 nodes 3 pv e2e4 | \
                  info depth 4 multipv 2 score cp 5 upperbound nodes 3 pv e2e3 | bestmove e2e4";
    assert_eq!(line(second), format!("{PAWN} acd 4; acn 3; ce 7; pm e4; pv e4; pv2 e3;"));
}

/// Score, depth and moves of a line may come on lines of their own, in any order.
#[test]
fn the_fields_of_a_line_may_come_one_by_one() {
    for (lines, expected) in [
        ("info depth 5 score cp 33 nodes 100 | info pv e2e4 e8e7", "acd 5; acn 100; ce 33;"),
        (
            "info depth 5 | info score cp 33 | info nodes 100 | info depth 5 pv e2e4 e8e7",
            "acd 5; acn 100; ce 33;",
        ),
        ("info depth 5 | info score cp 33 | info pv e2e4 e8e7", "acd 5; ce 33;"),
        ("info depth 5 pv e2e4 e8e7 | info depth 5 score cp 33", "acd 5; ce 33;"),
        ("info pv e2e4 e8e7 | info score mate 3", "ce 32762;"),
        (
            "info depth 5 score cp 33 | info depth 5 pv e2e4 | info depth 6 score cp 40 | \
             info depth 6 pv e2e4 e8e7",
            "acd 6; ce 40;",
        ),
        (
            "info depth 5 pv e2e4 | info depth 5 score cp 33 | info depth 6 pv e2e4 e8e7 | \
             info depth 6 score cp 40",
            "acd 6; ce 40;",
        ),
        // A score of another depth, or a bound, is not the score of the line.
        ("info depth 5 score cp 33 | info depth 6 pv e2e4 e8e7", "acd 6;"),
        ("info depth 6 score cp 50 lowerbound | info depth 6 pv e2e4 e8e7", "acd 6;"),
        (
            "info depth 6 score cp 33 | info depth 6 score cp 50 lowerbound | info depth 6 pv e2e4 e8e7",
            "acd 6; ce 33;",
        ),
        // A line with its own score keeps it.
        (
            "info depth 5 score cp 33 pv e2e4 e8e7 | info depth 6 score cp 50 nodes 9",
            "acd 5; acn 9; ce 33;",
        ),
        ("info score cp 50 | info depth 5 score cp 33 pv e2e4 e8e7", "acd 5; ce 33;"),
    ] {
        let script = Script::new(&format!("go: {lines} | bestmove e2e4\n"));
        let task = Task::Analyze;
        assert_eq!(
            script.one(task, PAWN),
            format!("{PAWN} {expected} pm e4; pv e4 Ke7;"),
            "{lines}"
        );
    }
    for lines in [
        "info multipv 1 score cp 33 | info multipv 2 score cp 20 | info multipv 1 pv e2e4 | info multipv 2 pv e2e3",
        "info multipv 1 pv e2e4 | info multipv 1 score cp 33 | info multipv 2 pv e2e3 | info multipv 2 score cp 20",
        "info multipv 2 pv e2e3 | info multipv 1 score cp 33 | info multipv 1 pv e2e4 | info multipv 2 score cp 20",
    ] {
        let script = Script::new(&format!("go: {lines} | bestmove e2e4\n"));
        let expected = format!("{PAWN} ce 33; ce2 20; pm e4; pv e4; pv2 e3;");
        assert_eq!(script.one(Task::Analyze, PAWN), expected, "{lines}");
    }
}

/// An engine that ends after a search has not seen the next record.
#[test]
fn an_engine_that_ends_between_searches_costs_no_record() {
    let script = Script::new("go: info depth 5 score cp 33 pv e2e4 | bestmove e2e4 | !exit\n");
    for finished in script.run(Task::Analyze, nodes(1), &[PAWN; 3]) {
        assert_eq!(finished.error, None);
        assert_eq!(text(finished.record), format!("{PAWN} acd 5; ce 33; pm e4; pv e4;"));
    }
    let failing = Script::new("go@4P3: !exit\n");
    let finished =
        failing.run(Task::Analyze, nodes(1), &[PAWN, "4k3/8/8/8/8/8/8/R3K3 w - -", PAWN]);
    let errors: Vec<bool> = finished.iter().map(|it| it.error.is_some()).collect();
    assert_eq!(errors, [true, false, true]);
}

#[test]
fn words_may_follow_an_answer() {
    let script = Script::new(
        "uci: id name S | uciok now\nisready: readyok and willing\n\
         go: info depth 5 score cp 33 pv e2e4 | bestmove e2e4\n",
    );
    let expected = format!("{PAWN} acd 5; ce 33; pm e4; pv e4;");
    assert_eq!(script.one(Task::Analyze, PAWN), expected);
}

#[test]
fn a_clock_is_a_soft_limit() {
    let clock = ClockReading::both(Duration::from_secs(60), Duration::from_millis(500), Some(40));
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let script = Script::new(&format!("go: !log {} | !first\n", log.display()));
    script.search(PAWN, &Limits { clock: Some(clock), ..Limits::default() }).unwrap();
    let said = fs::read_to_string(log).unwrap();
    assert_eq!(said, "go wtime 60000 btime 60000 winc 500 binc 500 movestogo 40\n");
    // An engine that lets its clock run out is stopped.
    let late = Script::new("go: info string clock 60000\nstop: bestmove e2e4\n");
    let answer = late.search(PAWN, &Limits { clock: Some(clock), ..Limits::default() }).unwrap();
    assert_eq!(answer.end.time, Duration::from_secs(60));
}

#[test]
fn positions_without_moves_need_no_engine() {
    let script = Script::new("uci: !exit\n");
    for (line, expected) in [
        ("7k/6Q1/6K1/8/8/8/8/8 b - - pm Kg8;", "7k/6Q1/6K1/8/8/8/8/8 b - - ce -32767; pv;"),
        (
            "7k/5Q2/6K1/8/8/8/8/8 b - - id \"s\"; sm Kg8;",
            "7k/5Q2/6K1/8/8/8/8/8 b - - ce 0; id \"s\"; pv; sm Kg8;",
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
    // The move of the last bound, and one without a line.
    let bound = "info depth 5 score cp 10 nodes 1 pv e2e3 | info depth 6 score cp 50 lowerbound nodes 2 pv e2e4 \
                 | bestmove e2e4";
    assert_eq!(line(bound), format!("{PAWN} acd 6; acn 2; pm e4; pv e4;"));
    let stays = bound.replace("bestmove e2e4", "bestmove e2e3");
    assert_eq!(line(&stays), format!("{PAWN} acd 5; acn 2; ce 10; pm e3; pv e3;"));
    let untold = bound.replace("bestmove e2e4", "bestmove e1d1");
    assert_eq!(line(&untold), format!("{PAWN} acd 6; acn 2; pm Kd1; pv Kd1;"));
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
