//! Problems of test suites: solved or not, and at which time, nodes and depth.

use epdb_chess::model::answer::Verdict;
use epdb_engine::Task;

use crate::support::{Script, nodes, text};

const START: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -";
const SOLVE: Task = Task::Solve { stop_held: None };

#[test]
fn solved_problems_match_the_vectors() {
    let path = format!("{}/tests/vectors/solved.tsv", env!("CARGO_MANIFEST_DIR"));
    let rows = std::fs::read_to_string(path).unwrap();
    let mut count = 0;
    for row in rows.lines().skip(1) {
        let [id, operations, answer, solved] = row.split('\t').collect::<Vec<_>>()[..] else {
            panic!("{row}")
        };
        let word = match answer {
            "e4" => "e2e4",
            _ => "d2d4",
        };
        let script = Script::new(&format!(
            "go: info depth 1 score cp 1 nodes 1 pv {word} | bestmove {word}\n"
        ));
        let line = format!("{START} {operations}");
        let finished = script.run(SOLVE, nodes(1), &[&line]).remove(0);
        let expected = match solved {
            "1" => Verdict::Solved,
            "0" => Verdict::Missed,
            _ => Verdict::Unscored,
        };
        assert_eq!(finished.verdict(), expected, "{id}");
        let pm = finished.record.text_of(epdb_chess::model::Opcode::PM);
        assert_eq!(pm.as_deref(), (solved != "unscored").then_some(answer.as_bytes()), "{id}");
        count += 1;
    }
    assert_eq!(count, 7);
}

#[test]
fn records_that_are_no_problems_stay_as_they_are() {
    let script = Script::new("uci: !exit\n");
    let line = format!("{START} id \"x\"; pm e4; pv e4;");
    let finished = script.run(SOLVE, nodes(1), &[&line]).remove(0);
    assert_eq!((text(finished.record), finished.notes.len()), (line, 1));
    let mated = "7k/6Q1/6K1/8/8/8/8/8 b - - am Kg8;";
    assert_eq!(script.one(SOLVE, mated), "7k/6Q1/6K1/8/8/8/8/8 b - - am Kg8; ce -32767; pv;");
}

#[test]
fn a_move_alone_is_an_answer() {
    let line = format!("{START} bm e4;");
    for told in ["", "info depth 3 score cp 7 | "] {
        let script = Script::new(&format!("go: {told}bestmove e2e4\n"));
        let finished = script.run(SOLVE, nodes(1), &[&line]).remove(0);
        assert_eq!((finished.verdict(), finished.error.as_deref()), (Verdict::Solved, None));
        let ce = finished.record.integer(epdb_chess::model::Opcode::CE);
        assert_eq!(ce, (!told.is_empty()).then_some(7), "{told}");
    }
}

/// Neither a bound nor the score of another move is that of the move that was made.
#[test]
fn the_score_is_the_one_of_the_move() {
    let script = Script::new(
        "go: info depth 5 score cp 20 pv e2e4 e7e5 | \
         info depth 6 score cp -450 upperbound pv e2e4 | bestmove d2d4\n",
    );
    let finished = script.run(SOLVE, nodes(1), &[&format!("{START} bm e4;")]).remove(0);
    assert_eq!(finished.record.integer(epdb_chess::model::Opcode::CE), None);
}

#[test]
fn first_and_held_are_recorded() {
    let at = |depth: u32, word: &str, bound: &str| {
        format!("info depth {depth} score cp 5{bound} nodes {depth}0 time {depth}00 pv {word} | ")
    };
    let line = |lines: &[String], best: &str| {
        let script = Script::new(&format!("go: {}bestmove {best}\n", lines.concat()));
        let text = script.one(SOLVE, &format!("{START} bm e4;"));
        text.split_once("pv ")
            .unwrap()
            .1
            .split_once("; ")
            .map_or(String::new(), |it| it.1.to_string())
    };
    let wavers = [at(1, "e2e4", ""), at(2, "d2d4", ""), at(3, "e2e4", ""), at(4, "e2e4", "")];
    assert_eq!(line(&wavers, "e2e4"), "solve_first 10 100 1; solve_held 30 300 3;");
    assert_eq!(line(&wavers[..2], "d2d4"), "solve_first 10 100 1;");
    assert_eq!(line(&[at(1, "d2d4", "")], "d2d4"), "");
    // A lower bound is a new choice, an upper bound is not.
    let bounds = [at(1, "d2d4", ""), at(2, "e2e4", " lowerbound"), at(2, "d2d4", " upperbound")];
    assert_eq!(line(&bounds, "e2e4"), "solve_first 20 200 2; solve_held 20 200 2;");
}

#[test]
fn a_solution_without_a_line_is_chosen_at_the_end() {
    let script =
        Script::new("go: info depth 3 score cp 5 nodes 30 time 9 pv d2d4 | bestmove e2e4\n");
    let text = script.one(SOLVE, &format!("{START} bm e4;"));
    assert!(text.ends_with("solve_first 30 0 3; solve_held 30 0 3;"), "{text}");
}

#[test]
fn a_search_ends_on_request_when_the_solution_is_held() {
    let script = "go: info depth 1 score cp 5 nodes 1 pv e2e4 | info depth 2 score cp 5 nodes 2 pv d2d4 | \
                  info depth 3 score cp 5 nodes 3 pv e2e4 | info depth 4 score cp 5 nodes 4 pv e2e4\n\
                  stop: info string stopped | bestmove e2e4\n";
    let held = Task::Solve { stop_held: Some(2) };
    let text = Script::new(script).one(held, &format!("{START} bm e4;"));
    assert!(text.contains("acd 4; acn 4;") && text.contains("solve_held 3 "), "{text}");
}

#[test]
fn mate_targets_are_met_by_scores_and_lines() {
    let script =
        Script::new("go: info depth 3 score mate 1 nodes 30 time 9 pv h5f7 | bestmove h5f7\n");
    let scholar = "r1bqkb1r/pppp1ppp/2n2n2/4p2Q/2B1P3/8/PPPP1PPP/RNB1K1NR w KQkq -";
    let finished = script.run(SOLVE, nodes(1), &[&format!("{scholar} bm #1;")]).remove(0);
    assert_eq!(finished.verdict(), Verdict::Solved);
    let farther =
        Script::new("go: info depth 3 score cp 900 nodes 30 time 9 pv h5h3 | bestmove h5h3\n");
    let claimed = format!("{scholar} bm #1; dm 1;");
    let finished = farther.run(SOLVE, nodes(1), &[&claimed]).remove(0);
    assert_eq!(finished.verdict(), Verdict::Missed, "the dm of the problem is no answer");
    let shown =
        Script::new("go: info depth 3 score cp 900 nodes 30 time 9 pv h5f7 | bestmove h5f7\n");
    let finished = shown.run(SOLVE, nodes(1), &[&format!("{scholar} bm #1;")]).remove(0);
    assert_eq!(finished.verdict(), Verdict::Solved, "the line mates");
}
