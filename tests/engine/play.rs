//! Engines that play a game by the clock.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use epdb_chess::model::rules::{Move, Playable};
use epdb_chess::text::{Profile, san};
use epdb_engine::{ClockReading, Engine, EngineSpec, MoveTime, SystemClock};

use crate::engines::stockfish;
use crate::support::{PATIENCE, Script, TestClock, record};

const START: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";

fn clocks() -> MoveTime {
    let (left, increment) = ([60_000, 59_500], [1_000, 0]);
    MoveTime::Clocks(ClockReading {
        left: left.map(Duration::from_millis),
        increment: increment.map(Duration::from_millis),
        moves_to_go: Some(40),
    })
}

/// The moves of a line that is written in SAN.
fn moves(start: &str, line: &str) -> Vec<Move> {
    let mut now = Playable::new(record(start).position()).unwrap();
    let mut read = |word: &str| {
        let read = san::parse(&now, word.as_bytes(), Profile::Strict).unwrap();
        now = read.after;
        read.mv
    };
    line.split_ascii_whitespace().map(&mut read).collect()
}

/// Commands to an engine for a move of a game.
fn said(start: &str, line: &str, time: &MoveTime) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let note = |word: &str, then: &str| format!("{word}: !log {}{then}\n", log.display());
    let rules = ["ucinewgame", "setoption", "position"].map(|word| note(word, "")).concat();
    let script = Script::new(&format!("{rules}{}", note("go", " | !first")));
    let mut engine = Engine::start(&script.spec, PATIENCE, Arc::new(SystemClock::new())).unwrap();
    let start_record = record(start);
    engine.begin_game(start_record.position().is_chess960()).unwrap();
    engine.play(&start_record, &moves(start, line), time, &mut |_, _| false).unwrap();
    let said = fs::read_to_string(log).unwrap();
    said.lines().filter(|line| !line.contains("Threads")).map(String::from).collect()
}

#[test]
fn engines_get_the_moves_of_the_game_and_its_clocks() {
    assert_eq!(
        said(START, "e4 e5 Nf3", &clocks()),
        [
            "ucinewgame",
            &format!("position fen {START} moves e2e4 e7e5 g1f3"),
            "go wtime 60000 btime 59500 winc 1000 movestogo 40",
        ]
    );
    assert_eq!(
        said(START, "", &MoveTime::Fixed(Duration::from_millis(250)))[1..],
        [format!("position fen {START}"), "go movetime 250".into()]
    );
}

#[test]
fn a_game_of_chess960_stays_one() {
    // The rook on h1 and the king on e1 look as they do at the start of any game.
    let start = "1r2k2r/8/8/8/8/8/8/1R2K2R w HBhb - 0 1";
    let said = said(start, "Rb2 Rb7 O-O", &clocks());
    assert_eq!(said[0], "setoption name UCI_Chess960 value true");
    assert_eq!(said[2], format!("position fen {start} moves b1b2 b8b7 e1h1"));
}

#[test]
fn an_engine_is_stopped_when_its_clock_has_run_out() {
    let time = MoveTime::Fixed(Duration::from_millis(20));
    // The engine reports how late it is, and nothing else, until it is stopped.
    let late = Script::new("go: info string clock 20\nstop: bestmove e2e4\n");
    let clock = Arc::new(TestClock::default());
    let mut engine = Engine::start(&late.spec, PATIENCE, clock).unwrap();
    let answer = engine.play(&record(START), &[], &time, &mut |_, _| false).unwrap();
    assert_eq!((answer.best_word.as_str(), answer.end.time), ("e2e4", Duration::from_millis(20)));
}

#[test]
fn a_real_engine_plays_a_game_with_itself() {
    let Some(path) = stockfish() else { return };
    let spec = EngineSpec::new(path);
    let mut engine = Engine::start(&spec, PATIENCE, Arc::new(SystemClock::new())).unwrap();
    engine.begin_game(false).unwrap();
    let start = record(START);
    let mut played = Vec::new();
    for _ in 0..6 {
        let time = MoveTime::Fixed(Duration::from_millis(10));
        let answer = engine.play(&start, &played, &time, &mut |_, _| false).unwrap();
        let epdb_chess::model::Operand::Move { mv, .. } = answer.best else { panic!("{answer:?}") };
        played.push(mv);
    }
    assert_eq!(played.len(), 6);
}
