//! Engines that do all they should not: each becomes an error that says what was last said, and the next
//! record is searched by a new process.

use std::sync::Arc;
use std::time::Duration;

use epdb::engine::{Engine, EngineErrorKind, EngineSpec, Limits, Task};

use crate::support::{PATIENCE, Script, TestClock, nodes, text};

const GOOD: &str = "4k3/8/8/8/8/8/4P3/4K3 w - -";
const BAD: &str = "4k3/8/8/8/8/8/3P4/4K3 w - -";

/// What becomes of a record whose search does what `actions` say; the records around it are as ever.
fn error_of(actions: &str, limits: Limits) -> String {
    let script = Script::new(&format!("go@3P4: {actions}\nstop: \n"));
    let finished = script.run(Task::Analyze, limits, &[GOOD, BAD, GOOD]);
    let good = "4k3/8/8/8/8/8/4P3/4K3 w - - acd 3; acn 30281; ce 81; pm Kd1; pv Kd1;";
    let texts: Vec<String> = finished.iter().map(|it| text(it.record.clone())).collect();
    assert_eq!((texts[0].as_str(), texts[2].as_str()), (good, good), "{actions}");
    let error = finished[1].error.clone().expect(actions);
    assert_eq!(texts[1], format!("{BAD} run_error \"{error}\";"), "{actions}");
    error
}

#[test]
fn engines_that_end() {
    let ended = "the engine ended; it last said `info string oops`";
    assert_eq!(error_of("info string oops | !exit", nodes(1)), ended);
    let complained = "the engine ended; it last said `assertion failed`";
    assert_eq!(error_of("!complain assertion failed | !exit", nodes(1)), complained);
    let half = "the engine ended; it last said `bestm`";
    assert_eq!(error_of("!half bestm | !exit", nodes(1)), half);
}

#[test]
fn engines_that_say_what_cannot_be() {
    for (actions, error) in [
        ("bestmove e7e5", "the engine's move `e7e5` is not legal; it last said `bestmove e7e5`"),
        ("bestmove Kd1", "the engine's move `Kd1` is not legal; it last said `bestmove Kd1`"),
        (
            "bestmove (none)",
            "the engine's move `(none)` is not legal; it last said `bestmove (none)`",
        ),
        ("bestmove", "the engine's move `nothing` is not legal; it last said `bestmove`"),
        (
            "info depth 1 score cp 40000 pv e1d1 | bestmove e1d1",
            "`score cp 40000`: a score that does not fit into 16 bits; it last said \
             `info depth 1 score cp 40000 pv e1d1`",
        ),
        (
            "info depth x",
            "`depth x` of the engine is no number that it can be; it last said `info depth x`",
        ),
    ] {
        assert_eq!(error_of(actions, nodes(1)), error);
    }
    let told = error_of("bestmove e1d1", nodes(1));
    assert_eq!(told, "the engine told no score");
}

#[test]
fn engines_that_say_too_much() {
    let endless = error_of("!endless info string and on", nodes(1));
    assert_eq!(
        endless,
        "the engine says more than 33554432 bytes about one position; it last said \
         `info string and on`"
    );
    let long = error_of("info string before | !long", nodes(1));
    assert_eq!(
        long,
        "the engine says a line longer than 65536 bytes; it last said `info string before`"
    );
}

#[test]
fn engines_that_hang() {
    // The first minute of silence, and the answer to `isready` does not come in the second one.
    let script =
        Script::new("go@3P4: info string clock 60000\nisready@3P4: info string clock 60000\n");
    let finished = script.run(Task::Analyze, nodes(1), &[BAD, GOOD]);
    let silent = "the engine said nothing for 120 s; it last said `readyok`";
    assert_eq!(finished[0].error.as_deref(), Some(silent));
    assert_eq!(finished[1].error, None);
}

#[test]
fn an_engine_that_thinks_in_silence_is_asked_and_left_alone() {
    let thinks = "go@3P4: info string clock 60000\n\
                  isready@3P4: readyok | info depth 9 score cp 5 nodes 7 pv e1d1 | bestmove e1d1\n";
    let finished = Script::new(thinks).run(Task::Analyze, nodes(1), &[BAD]);
    assert_eq!(finished[0].error, None);
    assert_eq!(
        text(finished[0].record.clone()),
        format!("{BAD} acd 9; acn 7; ce 5; pm Kd1; pv Kd1;")
    );
}

#[test]
fn an_engine_that_listens_and_tells_nothing_is_told_to_stop() {
    let script = Script::new(
        "go@3P4: info depth 1 score cp 1 pv e1d1 | info string clock 60000\n\
         isready@3P4: readyok | info string clock 60000\n\
         stop@3P4: info string clock 5000\n",
    );
    let finished = script.run(Task::Analyze, nodes(1), &[BAD, GOOD]);
    let ignored = "the engine ignored `stop` for 5 s; it last said `readyok`";
    assert_eq!(finished[0].error.as_deref(), Some(ignored));
    assert_eq!(finished[1].error, None);
}

#[test]
fn limits_of_nodes_and_depth_are_enforced() {
    for (beyond, limits) in [
        ("info depth 1 score cp 1 nodes 1001 pv e1d1", nodes(1000)),
        ("info depth 3 score cp 1 pv e1d1", Limits { depth: Some(2), ..Limits::default() }),
    ] {
        let script = Script::new(&format!("go: {beyond}\nstop: bestmove e1d2\n"));
        let answer = script.search("4k3/8/8/8/8/8/8/4K3 w - -", &limits).unwrap();
        assert_eq!(answer.best_word, "e1d2", "{beyond}");
    }
}

#[test]
fn a_time_limit_is_enforced() {
    let limits = Limits { movetime: Some(Duration::from_secs(5)), ..Limits::default() };
    let ignores = "info string clock 4999 | info depth 1 score cp 1 pv e1d1 | info string clock 1 | \
                   info string clock 5000";
    let ignored = error_of(ignores, limits.clone());
    assert_eq!(
        ignored,
        "the engine ignored `stop` for 5 s; it last said `info depth 1 score cp 1 pv e1d1`"
    );
    // Output without end is no way around it.
    let endless = "info string clock 5000 | info string clock 5000 | !endless x";
    assert!(error_of(endless, limits.clone()).starts_with("the engine ignored `stop` for 5 s"));
    let obeys = "go: info depth 1 score cp 1 pv e1d1 | info string clock 5000\n\
                 stop: info depth 2 score cp 2 nodes 9 pv e1d2 | bestmove e1d2\n";
    let answer = Script::new(obeys).search("4k3/8/8/8/8/8/8/4K3 w - -", &limits).unwrap();
    assert_eq!((answer.best_word.as_str(), answer.end.time), ("e1d2", Duration::from_secs(5)));
}

#[test]
fn engines_that_do_not_begin() {
    let fails = |script: &str| Script::new(script).start().expect_err(script);
    let slow = fails("uci: id name Slow | info string clock 60000\n");
    assert_eq!(
        slow.to_string(),
        "no answer to `uci` within 60 s (is it a UCI engine?); it last said `id name Slow`"
    );
    assert!(fails("uci: !exit\n").to_string().starts_with("the engine ended"));
    assert!(matches!(fails("uci: !endless x\n").kind, EngineErrorKind::TooMuch(_)));
    assert!(matches!(
        fails("isready: info string clock 60000\n").kind,
        EngineErrorKind::Handshake { .. }
    ));
    let silent = Arc::new(TestClock::of_silence());
    let error = Engine::start(&Script::new("uci: \n").spec, PATIENCE, silent).unwrap_err();
    assert!(
        error.to_string().ends_with("(is it a UCI engine?); it said nothing before"),
        "{error}"
    );
    let nowhere = EngineSpec::new("./no/such/program");
    let error = Engine::start(&nowhere, PATIENCE, Arc::new(TestClock::default())).unwrap_err();
    assert!(error.to_string().starts_with("cannot start ./no/such/program: "), "{error}");
}

#[test]
fn options_are_held_against_those_of_the_engine() {
    let mut script = Script::new("");
    let mut fails = |name: &str, value: &str| {
        script.spec.options = vec![(name.into(), value.into())];
        script.start().err().map(|error| error.to_string())
    };
    let unknown = fails("Hsh", "3").unwrap();
    assert_eq!(unknown, "the engine has no option `Hsh`; is it `Hash`?");
    let value = fails("Hash", "0").unwrap();
    assert_eq!(value, "the option Hash takes a number from 1 to 1024, not `0`");
    assert_eq!(fails("hash", "64"), None);
}
