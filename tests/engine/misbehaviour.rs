//! Misbehaving engines: each fault is an error with the engine's last line.
//!
//! The next record is searched by a new process.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use epdb_engine::{
    Clock, Engine, EngineErrorKind, EngineOutput, EngineSpec, Limits, Plan, Pool, Task,
};

use crate::support::{PATIENCE, Script, TestClock, nodes, record, text};

const GOOD: &str = "4k3/8/8/8/8/8/4P3/4K3 w - -";
const BAD: &str = "4k3/8/8/8/8/8/3P4/4K3 w - -";

/// The result of a record whose search performs `actions`; the records around it are ordinary.
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
    let ended = "the engine ended; its last line was `info string oops`";
    assert_eq!(error_of("info string oops | !exit", nodes(1)), ended);
    let complained = "the engine ended; its last line was `assertion failed`";
    assert_eq!(error_of("!complain assertion failed | !exit", nodes(1)), complained);
    let failed = "the engine ended (exit status: 3); its last line was `bye`";
    assert_eq!(error_of("bye | !exit 3", nodes(1)), failed);
    let half = "the engine ended; its last line was `bestm`";
    assert_eq!(error_of("!half bestm | !exit", nodes(1)), half);
}

#[test]
fn engines_with_impossible_output() {
    for (actions, error) in [
        (
            "bestmove e7e5",
            "the engine's move `e7e5` is not legal; its last line was `bestmove e7e5`",
        ),
        ("bestmove Kd1", "the engine's move `Kd1` is not legal; its last line was `bestmove Kd1`"),
        (
            "bestmove (none)",
            "the engine's move `(none)` is not legal; its last line was `bestmove (none)`",
        ),
        ("bestmove", "the engine's move `nothing` is not legal; its last line was `bestmove`"),
    ] {
        assert_eq!(error_of(actions, nodes(1)), error);
    }
}

/// The resulting record, and the first unreadable field.
fn analysed(script: &str) -> (String, Option<String>) {
    let finished = Script::new(script).run(Task::Analyze, nodes(1), &[BAD]).remove(0);
    assert_eq!(finished.error, None, "{script}");
    (text(finished.record), finished.unreadable)
}

#[test]
fn a_field_that_cannot_be_read_costs_only_itself() {
    for (field, rest) in [
        ("score 54", ""),
        ("score mate 0", ""),
        ("score cp 20.4", ""),
        ("score cp", ""),
        ("nodes -1294967296 score cp 7", " ce 7;"),
        ("nodes 18446744073709551616 score cp 7", " ce 7;"),
        ("seldepth x score cp 7", " ce 7;"),
        ("time -5 score cp 7", " ce 7;"),
        ("multipv 0 score cp 7", " ce 7;"),
        ("score cp 40000", " ce 32000;"),
        ("score cp -2147483648", " ce -32000;"),
        ("score cp 1000000", " ce 32000;"),
        ("score mate 400", " ce 32000;"),
        ("score mate -400", " ce -32000;"),
    ] {
        let (text, unreadable) =
            analysed(&format!("go: info depth 9 {field} pv e1d1 | bestmove e1d1\n"));
        assert_eq!(text, format!("{BAD} acd 9;{rest} pm Kd1; pv Kd1;"), "{field}");
        assert!(unreadable.is_some(), "{field}");
    }
    let (text, unreadable) =
        analysed("go: info depth -1 nodes 4 score cp 7 pv e1d1 | bestmove e1d1\n");
    assert_eq!(text, format!("{BAD} acn 4; ce 7; pm Kd1; pv Kd1;"));
    assert_eq!(
        unreadable.as_deref(),
        Some("`depth -1` is not a number in its range, and is ignored")
    );
}

#[test]
fn a_field_of_another_line_costs_nothing_either() {
    let good = "info depth 9 nodes 4 score cp 7 pv e1d1";
    for odd in [
        "info depth 8 score mate 0 pv e1d1",
        "info depth 8 multipv 2 score mate 0 pv d2d4",
        "info depth 8 multipv 501 score cp 4 pv d2d4",
        "info depth x",
        "info nodes",
    ] {
        let (text, unreadable) = analysed(&format!("go: {odd} | {good} | bestmove e1d1\n"));
        assert!(text.starts_with(&format!("{BAD} acd 9; acn 4; ce 7; pm Kd1; pv Kd1;")), "{text}");
        assert!(unreadable.is_some(), "{odd}");
    }
}

#[test]
fn a_move_without_a_score_has_no_ce() {
    let script = Script::new("go: bestmove e1d1\n");
    let finished = script.run(Task::Analyze, nodes(1), &[BAD]).remove(0);
    assert_eq!(finished.notes, ["the engine reported no exact score of Kd1: there is no ce"]);
    assert_eq!((text(finished.record), finished.error), (format!("{BAD} pm Kd1; pv Kd1;"), None));
}

#[test]
fn any_amount_of_standard_error_is_harmless() {
    let good = "info depth 9 score cp 7 pv e1d1 | bestmove e1d1";
    for complaints in ["!complain-long", "!complain-much"] {
        let (text, unreadable) = analysed(&format!("go: {complaints} | {good}\n"));
        assert_eq!(text, format!("{BAD} acd 9; ce 7; pm Kd1; pv Kd1;"), "{complaints}");
        assert_eq!(unreadable, None);
    }
    let (text, _) = analysed(&format!("uci: !complain-long | id name S | uciok\ngo: {good}\n"));
    assert!(text.contains("ce 7"), "{text}");
}

#[test]
fn a_search_that_fails_leaves_the_record_as_it_was() {
    let before = format!("{BAD} ce 3; id \"x\"; pm Kf1; pv Kf1; sm Kd1;");
    let tasks = [Task::Analyze, Task::Solve { stop_held: None }];
    for (task, goal) in tasks.into_iter().zip(["", " bm Kd1;"]) {
        let script = Script::new("go: bestmove e7e5\n");
        let line = format!("{before}{goal}");
        let mut finished = script.run(task, nodes(1), &[&line]).remove(0);
        assert!(finished.record.remove(epdb_chess::model::Opcode::RUN_ERROR).is_some());
        assert_eq!(finished.record, record(&line));
    }
}

#[test]
fn engines_that_say_too_much() {
    let endless = error_of("!endless info string and on", nodes(1));
    assert_eq!(
        endless,
        "the engine sent more than 33554432 bytes about one position; its last line was \
         `info string and on`"
    );
    let long = error_of("info string before | !long", nodes(1));
    assert_eq!(
        long,
        "the engine sent a line longer than 65536 bytes; its last line was `info string before`"
    );
}

#[test]
fn engines_that_hang() {
    // The first minute of silence, and the answer to `isready` does not come in the second one.
    let script =
        Script::new("go@3P4: info string clock 60000\nisready@3P4: info string clock 60000\n");
    let finished = script.run(Task::Analyze, nodes(1), &[BAD, GOOD]);
    let silent = "the engine sent nothing for 120 s; its last line was `readyok`";
    assert_eq!(finished[0].error.as_deref(), Some(silent));
    assert_eq!(finished[1].error, None);
}

#[test]
fn a_silent_engine_is_pinged_and_left_alone() {
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
fn a_responsive_engine_without_output_is_stopped() {
    let script = Script::new(
        "go@3P4: info depth 1 score cp 1 pv e1d1 | info string clock 60000\n\
         isready@3P4: readyok | info string clock 60000\n\
         stop@3P4: info string clock 5000\n",
    );
    let finished = script.run(Task::Analyze, nodes(1), &[BAD, GOOD]);
    let ignored = "the engine ignored `stop` for 5 s; its last line was `readyok`";
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
        "the engine ignored `stop` for 5 s; its last line was `info depth 1 score cp 1 pv e1d1`"
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
        "no answer to `uci` within 60 s (is it a UCI engine?); its last line was `id name Slow`"
    );
    assert!(fails("uci: !exit\n").to_string().starts_with("the engine ended"));
    assert!(matches!(fails("uci: !endless x\n").kind, EngineErrorKind::TooMuch(_)));
    assert!(matches!(
        fails("isready: info string clock 60000\n").kind,
        EngineErrorKind::Handshake { .. }
    ));
    let silent = Arc::new(TestClock::of_silence());
    let error = Engine::start(&Script::new("uci: \n").spec, PATIENCE, silent).unwrap_err();
    assert!(error.to_string().ends_with("(is it a UCI engine?); it had sent nothing"), "{error}");
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

/// A clock that panics when an engine says `info string now`.
#[derive(Debug)]
struct PanickingClock(TestClock);

impl Clock for PanickingClock {
    fn now(&self) -> Duration {
        self.0.now()
    }

    fn receive(
        &self,
        heard: &Receiver<EngineOutput>,
        until: Duration,
    ) -> Result<EngineOutput, RecvTimeoutError> {
        let next = self.0.receive(heard, until);
        let is_time = matches!(&next, Ok(EngineOutput::Line(line)) if line == "info string now");
        assert!(!is_time, "as a test wants it");
        next
    }
}

/// A thread that panics takes its record along: the run ends with an error, and does not wait for it.
#[test]
fn a_panic_of_a_thread_ends_the_run() {
    let script = Script::new("go@3P4: info string now\nstop: \n");
    let plan = Plan {
        engine: script.spec.clone(),
        task: Task::Analyze,
        limits: nodes(1000),
        timeout: PATIENCE,
        concurrency: 2,
        clock: Arc::new(PanickingClock(TestClock::default())),
        stamps: false,
    };
    let mut pool = Pool::new(plan);
    let mut emit = |_, _| Ok::<(), epdb_chess::Error>(());
    let pushed = [GOOD, BAD, GOOD].map(|line| pool.push(record(line), &mut emit));
    let error = pushed.into_iter().collect::<Result<(), _>>().and_then(|()| pool.finish(&mut emit));
    let error = error.unwrap_err().to_string();
    assert_eq!(error, "internal error: a thread panicked: as a test wants it");
}
