//! Engines over files: the records written, their order, and files that remain after an interruption.

use crate::engines_at_hand::{scripted, stockfish};
use crate::scratch::{Done, Scratch};

const START: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -";

/// A scratch folder with a script for the engine and some records.
fn with(script: &str, lines: &[String]) -> Scratch {
    let scratch = Scratch::with("script", script);
    scratch.write("a.epd", lines.concat());
    scratch
}

/// Positions that differ, numbered.
fn records(count: usize) -> Vec<String> {
    let square = |number: usize| (number % 8, number / 8 % 4);
    let line = |number: usize| {
        let (file, rank) = square(number);
        let run = |files: usize| if files == 0 { String::new() } else { files.to_string() };
        let rank_text = |at: usize| {
            if at == rank { format!("{}N{}", run(file), run(7 - file)) } else { "8".into() }
        };
        let ranks: Vec<String> = (0..4).map(rank_text).collect();
        let king = number / 32;
        let kings = format!("{}K{}", run(king), run(7 - king));
        format!("k7/8/{}/8/{kings} w - - id \"{number}\";\n", ranks.join("/"))
    };
    (0..count).map(line).collect()
}

fn engine() -> String {
    format!("cmd={} name=S arg=script", scripted().display())
}

fn run(scratch: &Scratch, args: &[&str]) -> Done {
    let engine = engine();
    let (verb, rest) = args.split_first().unwrap();
    scratch.run(&[&[*verb, "--engine", &engine], rest].concat())
}

/// Text without the times.
fn timeless(text: &str) -> String {
    let is_time = |word: &str| word.starts_with("acms ") || word.starts_with("acs ");
    let line = |line: &str| {
        line.split("; ").filter(|it| !is_time(it)).collect::<Vec<_>>().join("; ") + "\n"
    };
    text.lines().map(line).collect()
}

/// Comments of a suite stay before their records, however many engines search.
#[test]
fn comments_stay_before_their_records() {
    let lines = records(3);
    let text = format!("# suite\n\n# 0\n{}{}\n# 2\n{}# end\n", lines[0], lines[1], lines[2]);
    let scratch = with("", &[text]);
    for concurrency in ["1", "3"] {
        let done =
            run(&scratch, &["analyze", "a.epd", "--nodes", "5", "--concurrency", concurrency]);
        assert_eq!(done.status, 0, "{}", done.err);
        let kind = |line: &str| match line.split_once(" id ") {
            Some((_, id)) => id.split(';').next().unwrap_or_default().to_string(),
            None => line.to_string(),
        };
        let kinds: Vec<String> = done.out.lines().map(kind).collect();
        let wanted = ["# suite", "", "# 0", "\"0\"", "\"1\"", "", "# 2", "\"2\"", "# end"];
        assert_eq!(kinds, wanted);
    }
}

#[test]
fn records_come_back_in_their_order_in_any_format() {
    let scratch = with("", &records(40));
    let one = run(&scratch, &["analyze", "a.epd", "--nodes", "5", "--concurrency", "1"]);
    assert_eq!(one.status, 0, "{}", one.err);
    assert_eq!(one.out.lines().count(), 40);
    assert!(
        one.err.contains("epdb: S: 40 done\nepdb: S searched more than its limit of 5 nodes"),
        "{}",
        one.err
    );
    let three = run(&scratch, &["pfga", "a.epd", "--nodes", "5", "--concurrency", "3"]);
    assert_eq!(timeless(&one.out), timeless(&three.out));
    for name in ["o.epd", "o.epd.gz", "o.epb", "o.epa", "o.epdb"] {
        let done = run(&scratch, &["analyze", "a.epd", "--nodes", "5", "-o", name]);
        assert_eq!((done.status, done.out.as_str()), (0, ""), "{name}: {}", done.err);
        let text = scratch.run(&["-q", "normalize", name]).out;
        assert_eq!(timeless(&text), timeless(&one.out), "{name}");
        assert!(!scratch.names().contains(&format!("{name}.journal")));
    }
    let piped = scratch
        .run_with(&["analyze", "--engine", &engine(), "--nodes", "5"], scratch.text("a.epd"));
    assert_eq!(timeless(&piped.out), timeless(&one.out));
}

#[test]
fn records_from_a_slow_pipe_are_answered_at_once() {
    use std::io::{BufRead, BufReader, Write};

    let scratch = with("", &[]);
    let engine = engine();
    let mut child = scratch.spawn(&["analyze", "--engine", &engine, "--nodes", "5"]);
    let mut asking = child.stdin.take().unwrap();
    let mut answers = BufReader::new(child.stdout.take().unwrap());
    // The first three in which the king does not stand in check of the side to move.
    for line in records(5).drain(2..) {
        asking.write_all(line.as_bytes()).unwrap();
        let mut answer = String::new();
        answers.read_line(&mut answer).unwrap();
        assert!(answer.contains(" pm "), "{answer}");
    }
    drop(asking);
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_limit_must_be_given() {
    let scratch = with("", &records(1));
    let done = run(&scratch, &["solve", "a.epd"]);
    assert_eq!((done.status, done.out.as_str()), (2, ""));
    for example in ["--nodes 100000", "--depth 12", "--movetime 5s"] {
        assert!(done.err.contains(example), "{}", done.err);
    }
    for time in ["500ms", "5s", "250", "1m 30s"] {
        let done = run(&scratch, &["analyze", "a.epd", "--movetime", time]);
        assert_eq!(done.status, 0, "{time}: {}", done.err);
    }
    for wrong in ["0", "soon", "-5s", "31days"] {
        assert_eq!(run(&scratch, &["analyze", "a.epd", "--movetime", wrong]).status, 2, "{wrong}");
    }
}

#[test]
fn a_run_describes_itself() {
    let lines = ["e4", "d4", "Nf3"].map(|mv| format!("{START} bm {mv};\n"));
    let scratch = with("", &lines);
    let call =
        ["solve", "a.epd", "--nodes", "5", "--depth", "3", "--option", "Hash=8", "-o", "o.epd"];
    let done = run(&scratch, &call);
    assert_eq!(done.status, 0, "{}", done.err);
    assert!(done.err.contains("epdb: S: 0 of 3 solved\n"), "{}", done.err);
    assert!(done.err.contains("limit of 5 nodes in 3 of 3 records"), "{}", done.err);
    let run: serde_json::Value = serde_json::from_str(&scratch.text("o.epd.run.json")).unwrap();
    assert_eq!((&run["verb"], &run["failed"]), (&"solve".into(), &0.into()));
    assert_eq!(run["engine"]["name"], "Scripted");
    assert_eq!(run["engine"]["options"], serde_json::json!({"Threads": "1", "Hash": "8"}));
    assert_eq!(run["limit"], serde_json::json!({"nodes": 5, "depth": 3}));
    let hash = blake3(&scratch.run(&["normalize", "a.epd"]).out);
    assert_eq!(run["suite"], serde_json::json!({"path": "a.epd", "blake3": hash, "records": 3}));
    assert!(run["started"].as_str().unwrap().ends_with('Z'), "{run}");
    assert_eq!(run["command"][1], "solve");
    let keys = scratch.text("o.epd.run.json");
    let places: Vec<_> = ["epdb", "verb", "engine", "limit", "multipv", "concurrency", "suite"]
        .map(|key| keys.find(&format!("\"{key}\":")).unwrap())
        .to_vec();
    assert!(places.is_sorted(), "{keys}");
}

fn blake3(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex().to_string()
}

#[test]
fn several_engines_have_several_outputs() {
    let scratch = with("", &records(2));
    let (a, b) = (engine().replace("name=S", "name=A"), engine().replace("name=S", "name=B 2"));
    let call = ["analyze", "a.epd", "--nodes", "1", "--engine", &a, "--engine", &b];
    let done = scratch.run(&[&call[..], &["-o", "o.{engine}.epd"]].concat());
    assert_eq!(done.status, 0, "{}", done.err);
    assert_eq!(timeless(&scratch.text("o.A.epd")), timeless(&scratch.text("o.B_2.epd")));
    let one = scratch.run(&[&call[..], &["-o", "o.epd"]].concat());
    assert!(one.status == 2 && one.err.contains("'wac.{engine}.epd'"), "{}", one.err);
    let same =
        ["analyze", "a.epd", "--nodes", "1", "--engine", &a, "--engine", &a, "-o", "{engine}.epd"];
    assert!(scratch.run(&same).err.contains("two engines are called A"));
    // As tools for tournaments have it, in several words.
    let program = format!("cmd={}", scripted().display());
    let words = ["--engine", &program, "name=W", "arg=script", "option.Hash=32"];
    let done =
        scratch.run(&[&["analyze", "a.epd", "--nodes", "1", "-o", "w.epd"], &words[..]].concat());
    assert_eq!(done.status, 0, "{}", done.err);
    assert!(scratch.text("w.epd.run.json").contains("\"Hash\":\"32\""));
}

#[test]
fn a_failed_search_is_reported_and_the_others_are_done() {
    let lines = [format!("{START} id \"x\"; pm e4;\n"), "4k3/8/8/8/8/8/4P3/4K3 w - -\n".into()];
    let scratch = with("go@rnbq: info string oops | !exit\n", &lines);
    let done = run(&scratch, &["analyze", "a.epd", "--nodes", "5", "-o", "o.epd"]);
    assert_eq!(done.status, 1);
    let error = "the engine ended; its last line was `info string oops`";
    assert!(done.err.starts_with(&format!("a.epd:1: S: {error}\n")), "{}", done.err);
    assert!(done.err.contains("epdb: S: 2 done, 1 failed\n"), "{}", done.err);
    let text = scratch.text("o.epd");
    let failed = format!("{START} id \"x\"; pm e4; run_error \"{error}\";\n4k3/");
    assert!(text.starts_with(&failed), "{text}");
    assert!(text.contains("pm Kd1;"), "{text}");
    // A better engine takes the error away.
    scratch.write("script", "");
    scratch.write("a.epd", text);
    let again = run(&scratch, &["analyze", "a.epd", "--nodes", "5"]);
    assert!(again.status == 0 && !again.out.contains("run_error"), "{}", again.out);
}

#[test]
fn an_engine_that_cannot_start_ends_the_run_and_leaves_nothing() {
    let scratch = with("uci: id name x | !exit\n", &records(2));
    let done = run(&scratch, &["analyze", "a.epd", "--nodes", "5", "-o", "o.epd"]);
    assert_eq!((done.status, done.out.as_str()), (2, ""));
    assert_eq!(
        done.err,
        "epdb: error: engine S: the engine ended; its last line was `id name x`\n"
    );
    assert_eq!(scratch.names(), ["a.epd", "script"]);
    let option = run(&scratch, &["analyze", "a.epd", "--nodes", "5", "--option", "Hash"]);
    assert!(option.err.contains("expected NAME=VALUE"), "{}", option.err);
    // It crashes, and does not start any more.
    let scratch = with("go: !write script uci: !exit | !exit\n", &records(9)[2..]);
    let done =
        run(&scratch, &["analyze", "a.epd", "--nodes", "5", "-o", "o.epd", "--concurrency", "1"]);
    assert_eq!(done.status, 2);
    assert!(
        done.err.ends_with("epdb: error: S: the engine ended; it had sent nothing\n"),
        "{}",
        done.err
    );
    assert_eq!(scratch.names(), ["a.epd", "o.epd.journal", "script"]);
}

#[test]
fn records_that_an_engine_changed_are_stamped_on_request() {
    let scratch = with("", &records(1));
    let stamped =
        |args: &[&str]| run(&scratch, &[&["analyze", "a.epd", "--nodes", "5"], args].concat());
    assert!(!stamped(&[]).out.contains("; ts "));
    let done = stamped(&["--ts"]);
    let (_, stamp) = done.out.split_once("; ts ").expect(&done.out);
    assert_eq!(stamp.len(), "2026.11.25 12:00:00;\n".len(), "{stamp}");
    // A record without bm and am is not changed.
    let done = run(&scratch, &["solve", "a.epd", "--nodes", "5", "--ts"]);
    assert!(!done.out.is_empty() && !done.out.contains("ts "), "{}", done.out);
}

/// Of many records without a problem, the first are named, and the others are counted.
#[test]
fn records_without_a_problem_are_counted() {
    let scratch = with("", &records(64));
    for (args, lines, count) in [
        (&[][..], 20, "epdb: S: 44 more like these (--all-warnings)\n"),
        (&["--all-warnings"], 64, "epdb: S: 0 of 0 solved\n"),
    ] {
        let done = run(&scratch, &[&["solve", "a.epd", "--nodes", "5"], args].concat());
        assert_eq!((done.status, done.out.lines().count()), (1, 64), "{}", done.err);
        assert_eq!(done.err.matches("no bm and no am").count(), lines, "{}", done.err);
        assert!(done.err.contains(count), "{}", done.err);
        assert!(
            done.err.contains("epdb: nothing to solve: no record has bm or am"),
            "{}",
            done.err
        );
    }
}

#[test]
fn analysis_is_merged_into_a_store_as_a_whole() {
    let lines = [format!("{START} acd 99; ce 5; dm 7; id \"x\"; pv e4;\n"), records(1).concat()];
    let scratch = with("", &lines);
    scratch.run(&["import", "s.epdb", "a.epd"]);
    scratch.write("b.epd", format!("{START}\n"));
    let replaced =
        "1 with an earlier analysis, 1 that replaced a deeper one (--prefer deepest keeps it)\n";
    for (prefer, told, kept) in [
        ("deepest", "1 with an earlier analysis\n", "acd 99"),
        ("later", replaced, "acd 3"),
        // Equal analyses count only if their times differ.
        ("later", "epdb: S: 1 done\n", "acd 3"),
    ] {
        let call = ["analyze", "b.epd", "--nodes", "5", "-o", "s.epdb", "--prefer", prefer];
        let done = run(&scratch, &call);
        assert!(done.status == 0 && done.err.contains(told), "{}", done.err);
        assert!(scratch.run(&["export", "s.epdb"]).out.contains(kept), "{prefer}");
    }
    let refused = run(&scratch, &["analyze", "b.epd", "--nodes", "5", "--prefer", "deepest"]);
    assert!(refused.status == 2 && refused.err.contains("an existing store"), "{}", refused.err);
    let text = timeless(&scratch.run(&["export", "s.epdb"]).out);
    let first = text.lines().next().unwrap();
    assert!(
        first.contains("acd 3;") && first.contains("id \"x\";") && !first.contains("dm"),
        "{text}"
    );
    assert_eq!(text.lines().count(), 2);
    // A search that fails takes nothing away.
    scratch.write("script", "go: bestmove a1a1\n");
    let failed = run(&scratch, &["analyze", "b.epd", "--nodes", "5", "-o", "s.epdb"]);
    assert!(failed.status == 1 && failed.err.contains("is not legal"), "{}", failed.err);
    assert_eq!(timeless(&scratch.run(&["export", "s.epdb"]).out), text);
    let itself = run(&scratch, &["analyze", "s.epdb", "--nodes", "5", "-o", "s.epdb"]);
    let advice = "use `epdb filter s.epdb | epdb analyze - -o s.epdb`";
    assert!(itself.status == 2 && itself.err.contains(advice), "{}", itself.err);
}

#[test]
fn mate_and_its_name_in_the_specification() {
    let line = "7k/8/8/8/8/8/R7/1R2K3 w - - bm #2;\n".to_string();
    let scratch = with(
        "go: info depth 5 score mate 2 nodes 9 pv a2a7 h8g8 b1b8\nstop: bestmove a2a7\n",
        &[line],
    );
    let dm = |args: &[&str]| {
        let done = run(&scratch, &[args, &["a.epd", "--nodes", "9"]].concat());
        let found = done.out.split("; ").find(|it| it.starts_with("dm ")).map(String::from);
        found.unwrap_or(done.err)
    };
    assert_eq!(dm(&["mate"]), "dm 2");
    assert_eq!(dm(&["pfms", "--length", "4"]), "dm 4");
    assert_eq!(dm(&["pfms", "--length", "4", "--exact-dm"]), "dm 2");
    assert!(dm(&["pfms"]).contains("--length 3"));
}

#[test]
fn mate_says_what_the_record_states_otherwise() {
    let script = "go: info depth 5 score mate 2 nodes 9 pv a2a7 h8g8 b1b8 | bestmove a2a7\n";
    let line = |operation: &str| format!("7k/8/8/8/8/8/R7/1R2K3 w - - {operation}\n");
    for (operation, extra, status, text) in [
        ("dm 2;", "", 0, "1 mate found in 1 record\n"),
        ("dm 4;", "", 0, "a mate in 2 was found; the record states 4\n"),
        ("bm #1;", "", 0, "no mate in 1 was found\n"),
        ("ce 32764;", "", 1, "nothing to search: no record has dm or bm #N; --length gives"),
        ("ce 32764;", "--length=2", 0, "1 mate found in 1 record\n"),
    ] {
        let scratch = with(script, &[line(operation)]);
        let call = ["mate", "a.epd", "--nodes", "9", "-o", "m.epd", extra];
        let call: Vec<&str> = call.into_iter().filter(|word| !word.is_empty()).collect();
        let done = run(&scratch, &call);
        assert!(done.status == status && done.err.contains(text), "{operation} {}", done.err);
    }
    let scratch = with(script, &[line("dm 2;"), line("id \"x\";")]);
    let done = run(&scratch, &["mate", "a.epd", "--nodes", "9", "-o", "m.epd"]);
    assert!(done.status == 0, "{}", done.err);
    assert!(done.err.contains("2 records, 1 without a number of moves (--length"), "{}", done.err);
}

#[test]
fn pfms_does_not_contradict_itself() {
    let script = "go: info depth 5 score mate 2 nodes 9 pv a2a7 h8g8 b1b8\nstop: bestmove a2a7\n";
    let scratch = with(script, &["7k/8/8/8/8/8/R7/1R2K3 w - - sm Kd1;\n".to_string()]);
    for (length, ce) in [("2", true), ("3", false)] {
        let call = ["pfms", "a.epd", "--length", length, "--nodes", "9", "-o", "m.epd"];
        assert_eq!(run(&scratch, &call).status, 0);
        let found = scratch.text("m.epd");
        assert!(found.contains(&format!("dm {length};")), "{found}");
        assert_eq!(found.contains("ce 32764;"), ce, "{found}");
        assert!(found.contains("sm Kd1;"), "{found}");
        let read = scratch.run(&["verify", "--deny-warnings", "m.epd"]);
        assert_eq!(read.status, 0, "{}", read.err);
    }
}

#[test]
fn an_engine_that_writes_what_cannot_be_read_is_reported_once() {
    let script = "go: info depth 3 score mate 0 nodes 9 pv e2e4 | info depth 4 score cp 7 pv e2e4 | \
                  bestmove e2e4\n";
    let lines = ["c1", "c2", "c3"].map(|name| format!("{START} bm e4; {name} \"x\";\n"));
    let scratch = with(script, &lines);
    for verb in ["analyze", "solve"] {
        let done = run(&scratch, &[verb, "a.epd", "--nodes", "5", "--concurrency", "2"]);
        assert_eq!((done.status, done.out.matches("ce 7;").count()), (0, 3), "{}", done.err);
        assert_eq!(done.err.matches("`score mate 0` is not a score").count(), 1, "{}", done.err);
    }
    let mate = run(&scratch, &["pfms", "a.epd", "--length", "2", "--nodes", "5"]);
    assert_eq!(mate.err.matches("`score mate 0` is not a score").count(), 1, "{}", mate.err);
}

#[test]
fn supplied_moves_stay_and_those_that_differ_are_counted() {
    let script = "go: info depth 4 score cp 7 pv e2e4 | bestmove e2e4\n";
    let lines = ["sm e4; sv e4 e5;", "draw_offer; sm d4;", "id \"x\";", "sm c4;"];
    let scratch = with(script, &lines.map(|it| format!("{START} {it}\n")));
    let done = run(&scratch, &["pfga", "a.epd", "--nodes", "5"]);
    for kept in ["sm e4; sv e4 e5;", "draw_offer;", "sm d4;", "sm c4;"] {
        assert!(done.out.contains(kept), "{}", done.out);
    }
    let counted = "epdb: S: 4 done, 2 with an sm that is not the first move of pv\n";
    assert!(done.err.ends_with(counted), "{}", done.err);
}

#[test]
fn a_clock_is_a_limit() {
    let scratch = with("go: !log said | !first\n", &records(1));
    let call = ["pfga", "a.epd", "--clock", "40/1:00+0.5", "-o", "o.epd"];
    assert_eq!(run(&scratch, &call).status, 0);
    let said = "go wtime 60000 btime 60000 winc 500 binc 500 movestogo 40\n";
    assert_eq!(scratch.text("said"), said);
    let run_file: serde_json::Value =
        serde_json::from_str(&scratch.text("o.epd.run.json")).unwrap();
    let limit = serde_json::json!({"clock": 60_000, "increment": 500, "moves_to_go": 40});
    assert_eq!(run_file["limit"], limit);
    for wrong in [&["--clock", "inf"][..], &["--clock", "5/move"], &["--clock", "x"]] {
        assert_eq!(run(&scratch, &[&["pfga", "a.epd"], wrong].concat()).status, 2, "{wrong:?}");
    }
    let both = run(&scratch, &["pfga", "a.epd", "--clock", "60", "--movetime", "5s"]);
    assert_eq!(both.status, 2, "{}", both.err);
}

#[test]
fn an_evaluation_stays_where_there_is_no_new_one() {
    let script = "go@RNBQKBNR b: info depth 9 score cp 20 lowerbound pv e7e5 | bestmove e7e5\n\
                  go: info depth 7 score cp 30 pv g1f3 | bestmove g1f3\n";
    let scratch = Scratch::with("script", script);
    scratch.write("a.pgn", "1. e4 {[%eval 3.1] bold} c5 {[%eval 2.2] old} *\n");
    let done = run(&scratch, &["analyze", "a.pgn", "--nodes", "5", "--games"]);
    assert_eq!(done.status, 0, "{}", done.err);
    assert!(done.out.contains("{[%eval 3.1] bold}"), "{}", done.out);
    assert!(done.out.contains("0.30,7") && !done.out.contains("2.2"), "{}", done.out);
}

#[test]
fn games_get_evaluations_and_better_lines() {
    let scratch = Scratch::with(
        "script",
        "go@PPPPPPPP/RNBQKBNR w: info depth 8 score cp 30 nodes 5 pv d2d4 d7d5 | bestmove d2d4\n\
         go@4P3/8/PPPP1PPP/RNBQKBNR b: info depth 9 score cp 200 nodes 5 pv e7e5 g1f3 | bestmove e7e5\n\
         go: info depth 7 score mate -2 nodes 5 pv g1f3 | bestmove g1f3\n",
    );
    let game = "[Event \"?\"]\n[Site \"?\"]\n[Date \"????.??.??\"]\n[Round \"?\"]\n[White \"A\"]\n\
                [Black \"?\"]\n[Result \"*\"]\n\n";
    scratch.write(
        "a.pgn",
        format!("{game}1. e4 {{[%eval 3.1] bold}} $2 (1. c4 e5) c5 *\n\n{game}*\n"),
    );
    let analyze = |file: &str, more: &[&str]| {
        let done = run(&scratch, &[&["analyze", file, "--nodes", "5"], more].concat());
        assert_eq!(done.status, 0, "{}", done.err);
        done.out
    };
    analyze("a.pgn", &["-o", "b.pgn"]);
    let annotated = format!(
        "{game}1. e4 $2 {{[%eval -2.00,9]}} {{bold}} (1. c4 e5) (1. d4 d5) 1... c5 {{[%eval #-2,7]}} *\n\n\
         {game}*\n\n"
    );
    assert_eq!(
        scratch.text("b.pgn").split_whitespace().collect::<Vec<_>>(),
        annotated.split_whitespace().collect::<Vec<_>>()
    );
    assert_eq!(analyze("b.pgn", &[]), scratch.text("b.pgn"), "once more changes nothing");
    let tolerant = analyze("a.pgn", &["--variation-loss", "300"]);
    assert!(!tolerant.contains("d4") && tolerant.contains("[%eval -2.00,9]"), "{tolerant}");
    assert!(scratch.text("b.pgn.run.json").contains("\"records\":4"));
    assert_eq!(
        run(&scratch, &["analyze", "a.pgn", "--positions", "--nodes", "5"]).out.lines().count(),
        4,
        "positions"
    );
}

/// Nothing is left beside a device, nor by a run that is refused.
#[test]
fn files_next_to_the_output_have_their_places() {
    let scratch = with("", &records(1));
    let refused = run(&scratch, &["solve", "a.epd", "--nodes", "5", "-o", "o.pgn"]);
    assert!(refused.status == 2 && !scratch.path("o.pgn.journal").exists(), "{}", refused.err);
    if cfg!(unix) {
        let nothing = run(&scratch, &["analyze", "a.epd", "--nodes", "5", "-o", "/dev/null"]);
        assert_eq!(nothing.status, 0, "{}", nothing.err);
        assert!(!std::path::Path::new("/dev/null.run.json").exists());
    }
}

#[test]
fn a_journal_continues_only_its_own_run() {
    let scratch = with("", &records(3));
    let journal = "{\"verb\":\"analyze\"}\n0\tAAAA\n";
    scratch.write("o.epd.journal", journal);
    let call = ["analyze", "a.epd", "--nodes", "5", "-o", "o.epd"];
    let fresh = run(&scratch, &call);
    assert!(
        fresh.status == 2 && fresh.err.contains("--resume continues that run"),
        "{}",
        fresh.err
    );
    let other = run(&scratch, &[&call[..], &["--resume"]].concat());
    assert!(other.status == 2 && other.err.contains("the journal of another run"), "{}", other.err);
    assert_eq!(scratch.text("o.epd.journal"), journal, "it is left as it was");
    let piped = run(&scratch, &["analyze", "--nodes", "5", "-o", "p.epd", "--resume"]);
    assert!(piped.status == 2 && piped.err.contains("needs files"), "{}", piped.err);
    // One that holds nothing is nobody's.
    scratch.write("o.epd.journal", "{\"verb\":\"analyze\"}\n");
    assert_eq!(run(&scratch, &call).status, 0);
    let again = run(&scratch, &[&call[..], &["--resume"]].concat());
    assert!(again.status == 0 && again.err.contains("o.epd is complete"), "{}", again.err);
    let finished = scratch.text("o.epd");
    for (change, what) in
        [(["--nodes", "6", "a.epd"], "other limits"), (["--nodes", "5", "o.epd"], "another suite")]
    {
        let call = [&["analyze", "-o", "o.epd", "--resume"], &change[..]].concat();
        let other = run(&scratch, &call);
        let text = format!("o.epd is the complete result of {what}");
        assert!(other.status == 2 && other.err.contains(&text), "{}", other.err);
        assert_eq!(scratch.text("o.epd"), finished);
    }
    // The arguments of the program are a part of the engine.
    let engine = format!("{} arg=more", engine());
    let other =
        scratch.run(&[&["analyze", "--engine", &engine], &call[1..], &["--resume"]].concat());
    assert!(other.status == 2 && other.err.contains("or arguments of it"), "{}", other.err);
    scratch.write("script", "go: bestmove a1a1\n");
    assert_eq!(run(&scratch, &[&call[..5], &["f.epd"]].concat()).status, 1);
    let failed = run(&scratch, &[&call[..5], &["f.epd", "--resume"]].concat());
    assert!(failed.status == 1 && failed.err.contains("with 2 failures"), "{}", failed.err);
}

#[cfg(target_os = "linux")]
mod killed {
    use std::fs;
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    const RECORDS: usize = 200;

    fn call<'a>(engine: &'a str, more: &[&'a str]) -> Vec<&'a str> {
        let call =
            ["analyze", "a.epd", "--engine", engine, "--nodes", "5", "--concurrency", "2", "-o"];
        [&call[..], more].concat()
    }

    #[test]
    fn a_killed_run_continues_and_ends_as_an_undisturbed_one() {
        let scratch = with("go: !log searched | !first\n", &records(RECORDS));
        let engine = engine();
        assert_eq!(scratch.run(&call(&engine, &["whole.epd"])).status, 0);
        fs::remove_file(scratch.path("searched")).unwrap();
        let mut done = 0;
        for after in [20, 77, 140] {
            let mut child = scratch.spawn(&call(&engine, &["o.epd", "--resume"]));
            let lines = || {
                let journal = fs::read(scratch.path("o.epd.journal")).unwrap_or_default();
                journal.iter().filter(|byte| **byte == b'\n').count()
            };
            while lines() < after {
                assert!(child.try_wait().unwrap().is_none(), "it ended before it was killed");
                std::thread::yield_now();
            }
            child.kill().unwrap();
            assert_eq!(child.wait().unwrap().signal(), Some(9));
            done += 1;
        }
        assert!(!scratch.names().contains(&"o.epd".to_string()));
        // The last whole line has the time of all parts of the run, here 5,000 seconds. The line after
        // it was being written.
        let journal = scratch.text("o.epd.journal");
        let whole = journal.rsplit_once('\n').unwrap().0;
        let record = whole.rsplit_once('\t').unwrap().0;
        scratch.write("o.epd.journal", format!("{record}\t5000000\n199\tAA"));
        let last = scratch.run(&call(&engine, &["o.epd", "--resume"]));
        assert_eq!(last.status, 0, "{}", last.err);
        assert!(last.err.contains(" done before"), "{}", last.err);
        assert_eq!(timeless(&scratch.text("o.epd")), timeless(&scratch.text("whole.epd")));
        let run: serde_json::Value = serde_json::from_str(&scratch.text("o.epd.run.json")).unwrap();
        assert!((5000.0..5060.0).contains(&run["seconds"].as_f64().unwrap()), "{run}");
        let searched = scratch.text("searched").lines().count();
        assert!(searched <= RECORDS + 2 * done, "{searched} searches for {RECORDS} records");
        assert!(!scratch.names().iter().any(|name| name.ends_with("journal")));
    }

    /// Whether a process is there; one that is dead and was not buried is not.
    fn is_alive(process: &str) -> bool {
        let status = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        !matches!(
            status.rsplit(')').next().unwrap_or_default().trim_start().chars().next(),
            None | Some('Z' | 'X')
        )
    }

    /// Whether interrupts are ignored here, as they are in the background of scripts; epdb ignores them
    /// then as well.
    fn interrupts_are_ignored() -> bool {
        const SIGINT: u32 = 2;
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        let ignored = ignored.map(|set| u64::from_str_radix(set.trim(), 16).unwrap());
        ignored.is_some_and(|set| set >> (SIGINT - 1) & 1 == 1)
    }

    #[test]
    fn engines_end_with_epdb_however_it_ends() {
        for signal in ["-KILL", "-TERM", "-INT"] {
            if signal == "-INT" && interrupts_are_ignored() {
                crate::skipped::skipped("interrupts, which are ignored here");
                continue;
            }
            let scratch = with("go: !pid engine | !hang\n", &records(1));
            let engine = engine();
            let mut child = std::process::Command::new(assert_cmd::cargo::cargo_bin("epdb"))
                .args(call(&engine, &["o.epd"]))
                .current_dir(scratch.path(""))
                .stderr(std::process::Stdio::piped())
                .spawn()
                .unwrap();
            while fs::read_to_string(scratch.path("engine")).unwrap_or_default().is_empty() {
                assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
                std::thread::yield_now();
            }
            let process = scratch.text("engine");
            assert!(is_alive(&process));
            let number = child.id().to_string();
            let kill = std::process::Command::new("kill").args([signal, &number]).status();
            assert!(kill.unwrap().success());
            let err = String::from_utf8(child.wait_with_output().unwrap().stderr).unwrap();
            let advice = "stopped; o.epd.journal has the finished records: run the same command with --resume to continue\n";
            assert_eq!(err.ends_with(advice), signal != "-KILL", "{signal} {err}");
            while is_alive(&process) {
                std::thread::yield_now();
            }
        }
    }
}

#[test]
fn a_real_engine_solves_what_it_should() {
    let Some(path) = stockfish() else { return };
    let scratch = Scratch::with(
        "a.epd",
        "2rr3k/pp3pp1/1nnqbN1p/3pN3/2pP4/2P3Q1/PPB4P/R4RK1 w - - bm Qg6; id \"WAC.001\";\n\
         r1bqkb1r/pppp1ppp/2n2n2/4p2Q/2B1P3/8/PPPP1PPP/RNB1K1NR w KQkq - am Qxf7#; id \"mate\";\n",
    );
    let path = path.display().to_string();
    let done = scratch.run(&["pfts", "a.epd", "--engine", &path, "--nodes", "20000"]);
    assert_eq!(done.status, 0, "{}", done.err);
    assert!(done.err.ends_with("epdb: stockfish: 1 of 2 solved\n"), "{}", done.err);
    assert!(done.out.contains("solve_held ") && done.out.contains("pm Qxf7#;"), "{}", done.out);
}
