//! Mates in a given number of moves.

use std::sync::Arc;

use epdb_engine::{EngineSpec, MateOptions, Plan, SystemClock, Task};

use crate::engines::stockfish;
use crate::support::{PATIENCE, Script, nodes, record, text};

/// The specification's own rules.
fn given(length: u32) -> Task {
    Task::Mate(MateOptions { length: Some(length), of_record: false, writes_found: false })
}

fn of_record(length: Option<u32>) -> Task {
    Task::Mate(MateOptions { length, of_record: true, writes_found: true })
}

/// Two rooks, mate in two.
const ROOKS: &str = "7k/8/8/8/8/8/R7/1R2K3 w - -";
const MATES: &str =
    "go: info depth 5 score mate 2 nodes 9 pv a2a7 h8g8 b1b8\nstop: bestmove a2a7\n";

#[test]
fn a_mate_that_the_line_leads_to_is_written() {
    let script = Script::new(MATES);
    let found = "acd 5; acn 9; ce 32764;";
    let line = "pm Ra7; pv Ra7 Kg8 Rb8#;";
    assert_eq!(script.one(given(2), ROOKS), format!("{ROOKS} {found} dm 2; {line}"));
    // The score of another mate than `dm` says would contradict it.
    assert_eq!(script.one(given(3), ROOKS), format!("{ROOKS} acd 5; acn 9; dm 3; {line}"));
    assert_eq!(script.one(of_record(Some(3)), ROOKS), format!("{ROOKS} {found} dm 2; {line}"));
    let target = format!("{ROOKS} bm #2;");
    assert_eq!(
        script.one(of_record(None), &target),
        format!("{ROOKS} acd 5; acn 9; bm #2; ce 32764; dm 2; {line}")
    );
    let old = format!("{ROOKS} ce 5; dm 4; pv Kd1; sm Kd1;");
    assert_eq!(script.one(of_record(None), &old), format!("{ROOKS} {found} dm 2; {line} sm Kd1;"));
}

#[test]
fn records_that_are_done_are_not_searched() {
    let script = Script::new("uci: !exit\n");
    for (task, line) in [
        (given(3), format!("{ROOKS} dm 3;")),
        (given(3), format!("{ROOKS} dm 2; id \"x\";")),
        (of_record(None), ROOKS.to_string()),
        (of_record(None), format!("{ROOKS} dm 384;")),
        (of_record(None), format!("{ROOKS} bm #-3;")),
        (given(3), "7k/6Q1/6K1/8/8/8/8/8 b - -".to_string()),
        (given(3), "7k/5Q2/6K1/8/8/8/8/8 b - -".to_string()),
        (given(3), "8/8/8/8/8/8/8/4K3 w - -".to_string()),
    ] {
        assert_eq!(script.one(task, &line), line);
    }
    assert_ne!(
        Script::new(MATES).one(given(2), &format!("{ROOKS} dm 3;")),
        format!("{ROOKS} dm 3;")
    );
}

#[test]
fn without_a_mate_the_record_is_unchanged() {
    let kept = format!("{ROOKS} acms 7; acs 0; ce 5; id \"x\"; pv Kd1;");
    for actions in [
        // Too long, not a mate at its end, no mate for the mover, only a bound, not legal.
        "info depth 5 score mate 4 nodes 9 pv a2a7 h8g8 b1b8 | bestmove a2a7",
        "info depth 5 score mate 2 nodes 9 pv a2a7 h8g8 b1b7 | bestmove a2a7",
        "info depth 5 score mate -2 nodes 9 pv a2a7 h8g8 b1b8 | bestmove a2a7",
        "info depth 5 score cp 900 nodes 9 pv a2a7 h8g8 b1b8 | bestmove a2a7",
        "info depth 5 score mate 2 nodes 9 pv a2a7 h8h7 | bestmove a2a7",
    ] {
        let script = Script::new(&format!("go: {actions}\n"));
        let finished = script.run(given(3), nodes(1), &[&kept]).remove(0);
        assert_eq!(finished.record, record(&kept), "{actions}");
    }
}

#[test]
fn a_line_that_stops_short_is_followed_to_the_mate() {
    let script = Script::new(
        "go@6k1/R7: info depth 2 score mate 1 nodes 3 pv b1b8\n\
         go: info depth 5 score mate 2 nodes 9 pv a2a7 | bestmove a2a7\nstop: bestmove b1b8\n",
    );
    let text = script.one(of_record(Some(2)), ROOKS);
    assert_eq!(text, format!("{ROOKS} acd 5; acn 12; ce 32764; dm 2; pm Ra7; pv Ra7 Kg8 Rb8#;"));
}

#[test]
fn a_real_engine_finds_the_mates_of_the_vectors() {
    let Some(path) = stockfish() else { return };
    let rows = format!("{}/tests/vectors/mate_search.tsv", env!("CARGO_MANIFEST_DIR"));
    let rows = std::fs::read_to_string(rows).unwrap();
    let search = |task: Task, line: &str| {
        let plan = Plan {
            engine: EngineSpec::new(&path),
            task: task.clone(),
            limits: nodes(100_000),
            timeout: PATIENCE,
            concurrency: 1,
            clock: Arc::new(SystemClock::new()),
            stamps: false,
        };
        let start = |plan: &Plan| {
            epdb_engine::Engine::start(&plan.engine, plan.timeout, Arc::clone(&plan.clock))
        };
        let mut engine = start(&plan).unwrap();
        task.run(&record(line), &plan.limits, || Ok(&mut engine)).unwrap().record
    };
    for row in rows.lines().skip(1) {
        let [id, position, shortest, moves, ce] = row.split('\t').collect::<Vec<_>>()[..] else {
            panic!("{row}")
        };
        let Ok(length) = shortest.parse::<u32>() else {
            assert_eq!(text(search(given(2), position)), position, "{id}: there is no mate in two");
            continue;
        };
        let found = search(given(length), position);
        assert_eq!(found.integer(epdb_chess::model::Opcode::DM), Some(length.into()), "{id}");
        assert_eq!(found.integer(epdb_chess::model::Opcode::CE), ce.parse().ok(), "{id}");
        let pm = found.text_of(epdb_chess::model::Opcode::PM).unwrap();
        let pm = String::from_utf8(pm).unwrap();
        assert!(moves.split(' ').any(|mv| mv == pm), "{id}: {pm} is not among {moves}");
        if length > 1 {
            assert_eq!(
                text(search(given(length - 1), position)),
                position,
                "{id}: none is shorter"
            );
        }
    }
}
