//! Registers over a sequence of records.

use std::sync::Arc;

use epdb_chess::error::{At, Place};
use epdb_chess::model::registers::Registers;
use epdb_library::registers::RunningRegisters;

const START: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -";
const AFTER_E4: &str = "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq -";

/// Records of a source, and which of them begin a fragment.
fn fragments(by_continuity: bool, lines: &[&str]) -> String {
    let mut running = RunningRegisters::new(by_continuity);
    let name: Arc<str> = "a.epd".into();
    let mark = |(number, line): (usize, &&str)| {
        let record = epdb_chess::parse_epd(line.as_bytes()).unwrap();
        let place = Place::new(name.clone(), At::Line(number as u64 + 1));
        if running.take(&record, &place, false) { '*' } else { '.' }
    };
    lines.iter().enumerate().map(mark).collect()
}

/// The registers that are set, as EPD.
fn shown(registers: &Registers) -> String {
    let mut text = Vec::new();
    registers.operations().iter().for_each(|operation| operation.write_to(&mut text));
    String::from_utf8(text).unwrap()
}

#[test]
fn registers_are_shown_as_the_operations_that_set_them() {
    let line = format!("{START} c0 \"a\"; c7 \"\"; eco \"C65\"; nic \"RL 1\"; v9 \"z\";");
    let mut registers = Registers::default();
    registers.apply(&epdb_chess::parse_epd(line.as_bytes()).unwrap());
    assert_eq!(shown(&registers), "c0 \"a\";c7 \"\";eco \"C65\";nic \"RL 1\";v9 \"z\";");
    assert_eq!(shown(&Registers::default()), "");
}

#[test]
fn operations_out_of_order_act_in_order() {
    let mut registers = Registers::default();
    let line = format!("{START} c5 \"f\"; c0 \"a\";");
    registers.apply(&epdb_chess::parse_epd(line.as_bytes()).unwrap());
    assert_eq!(shown(&registers), "c0 \"a\";c5 \"f\";");
}

#[test]
fn a_fragment_is_a_source_and_ends_at_a_command_of_a_referee() {
    let reset = format!("{START} refcom reset;");
    assert_eq!(fragments(false, &[START, "8/8/8/8/8/4k3/8/4K3 w - -", START]), "*..");
    assert_eq!(fragments(false, &[START, &reset, START]), "**.");
    let mut running = RunningRegisters::new(false);
    let record = epdb_chess::parse_epd(START.as_bytes()).unwrap();
    let mut take = |name: &Arc<str>, at: At, is_of_game: bool| {
        running.take(&record, &Place::new(name.clone(), at), is_of_game)
    };
    let (one, other): (Arc<str>, Arc<str>) = ("a.epd".into(), "a.epd".into());
    assert!(take(&one, At::Line(1), false) && !take(&one, At::Line(2), false));
    assert!(take(&other, At::Line(1), true), "the same file once more");
    assert!(!take(&other, At::Line(1), true), "a position of the same game");
    assert!(take(&other, At::Line(9), true), "another game");
}

#[test]
fn continuity_is_one_move_and_a_number_that_continues() {
    let counted = |line: &str, number: u32| format!("{line} fmvn {number};");
    let (start, after_e4) = (counted(START, 1), counted(AFTER_E4, 1));
    assert_eq!(fragments(true, &[START, AFTER_E4, START]), "*.*");
    assert_eq!(fragments(true, &[&start, &after_e4]), "*.");
    assert_eq!(fragments(true, &[START, START]), "**");
    let with_square = "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq e3";
    assert_eq!(fragments(true, &[START, with_square]), "*.", "a square without a capture");
    let bare = ["8/8/8/4k3/8/8/8/4K3 w - -", "8/8/8/4k3/8/8/4K3/8 b - -"];
    let [one, next] = bare.map(|line| counted(line, 7));
    assert_eq!(fragments(true, &[&one, &next]), "*.");
    assert_eq!(fragments(true, &[&one, &counted(bare[1], 1)]), "**", "fmvn 1 again");
    assert_eq!(fragments(true, &["8/8/8/8/8/8/8/8 w - -", START]), "**", "no moves at all");
}
