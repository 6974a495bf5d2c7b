//! Records of one position become one: `union`, `dedupe`, `import` and `join` keep what nothing contradicts.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::scratch::Scratch;

/// Operations of an analysis, each with one of two values.
type Analysis = BTreeMap<&'static str, usize>;

const NAMES: [&str; 3] = ["acd", "ce", "pv"];

/// Each part of an analysis with each choice of values.
fn parts() -> Vec<Analysis> {
    (0..3_usize.pow(3))
        .map(|number| {
            let values = (0..3).map(|place| (NAMES[place], number / 3_usize.pow(place as u32) % 3));
            values.filter(|(_, value)| *value > 0).collect()
        })
        .collect()
}

/// One of many positions.
fn position(number: usize) -> String {
    let rank = |bits: usize| -> String {
        let pawn = |file: usize| if bits >> file & 1 == 1 { 'P' } else { '1' };
        let mut rank: String = (0..8).map(pawn).collect();
        (2..=8).rev().for_each(|len| rank = rank.replace(&"1".repeat(len), &len.to_string()));
        rank
    };
    format!("4k3/8/8/8/8/{}/{}/4K3 w - -", rank(number / 256), rank(number % 256))
}

fn line(number: usize, analysis: &Analysis) -> String {
    let mut line = position(number);
    for (name, value) in analysis {
        match *name {
            "pv" => write!(line, " pv {};", ["Kd1", "Kf1"][value - 1]).unwrap(),
            name => write!(line, " {name} {value};").unwrap(),
        }
    }
    line + "\n"
}

fn agree(old: &Analysis, new: &Analysis) -> bool {
    old.iter().all(|(name, value)| new.get(name).is_none_or(|it| it == value))
}

fn both(old: &Analysis, new: &Analysis) -> Analysis {
    old.iter().chain(new).map(|(name, value)| (*name, *value)).collect()
}

/// Two analyses that agree become one; of two that disagree one stays.
fn merged(old: &Analysis, new: &Analysis, prefer: &str) -> Analysis {
    let depth = |it: &Analysis| it.get("acd").copied();
    match prefer {
        _ if agree(old, new) => both(old, new),
        "first" => old.clone(),
        "deepest" if depth(old) > depth(new) => old.clone(),
        _ => new.clone(),
    }
}

/// The lines of two files and of the expected result, a pair of parts a position.
fn all_pairs(result: impl Fn(&Analysis, &Analysis) -> Analysis) -> [String; 3] {
    let parts = parts();
    let pairs = parts.iter().flat_map(|old| parts.iter().map(move |new| (old, new)));
    let mut texts = [const { String::new() }; 3];
    for (number, (old, new)) in pairs.enumerate() {
        let result = result(old, new);
        for (text, analysis) in texts.iter_mut().zip([old, new, &result]) {
            text.push_str(&line(number, analysis));
        }
    }
    texts
}

/// `union`, `dedupe` and `import` do the same with every part of an analysis and every other part.
#[test]
fn parts_of_an_analysis_are_put_together() {
    for prefer in ["later", "first", "deepest"] {
        let [old, new, expected] = all_pairs(|old, new| merged(old, new, prefer));
        let scratch = Scratch::with("old.epd", &old);
        scratch.write("new.epd", &new);
        scratch.write("all.epd", old + &new);
        let two = parts()
            .iter()
            .map(|old| parts().iter().filter(|new| !agree(old, new)).count())
            .sum::<usize>();
        let count = format!(", {two} with two analyses (--prefer {prefer} kept one)");
        for args in [&["union", "old.epd", "new.epd"][..], &["dedupe", "all.epd", "--memory", "1M"]]
        {
            let done = scratch.run(&[args, &["--prefer", prefer]].concat());
            assert!(done.out == expected, "{prefer} {args:?}");
            assert!(done.status == 0 && done.err.contains(&count), "{}", done.err);
        }
        let import = ["import", "s.epdb", "old.epd", "new.epd", "--on-duplicate", "merge"];
        let done = scratch.run(&[&import[..], &["--prefer", prefer]].concat());
        assert!(done.status == 0 && done.err.contains(&count), "{}", done.err);
        assert!(scratch.run(&["export", "s.epdb"]).out == expected, "{prefer}");
    }
}

/// `join` never touches an operation that it does not copy.
#[test]
fn a_join_changes_what_it_copies_and_nothing_else() {
    for take in ["ce", "ce,pv", "acd,ce,pv"] {
        let is_taken = |name: &str| take.split(',').any(|it| it == name);
        let joined = |old: &Analysis, new: &Analysis| {
            let taken: Analysis = new
                .iter()
                .filter(|it| is_taken(it.0))
                .map(|(name, value)| (*name, *value))
                .collect();
            if agree(old, &taken) {
                both(old, &taken)
            } else if old.keys().all(|name| is_taken(name)) {
                taken
            } else {
                old.clone()
            }
        };
        let [old, new, expected] = all_pairs(joined);
        let scratch = Scratch::with("old.epd", old);
        scratch.write("new.epd", new);
        let done = scratch.run(&["join", "old.epd", "new.epd", "--take", take]);
        assert!(done.out == expected, "{take}");
        assert_eq!(done.status, 0, "{}", done.err);
        let is_refused = take != "acd,ce,pv";
        assert_eq!(
            done.err.contains("left unchanged because they contradict"),
            is_refused,
            "{}",
            done.err
        );
    }
    let start = position(0);
    for (old, new, take, expected) in [
        (
            "bm Kd1; dm 4;",
            "acd 20; ce 32760; pv Kd1;",
            "acd,ce,pv",
            "acd 20; bm Kd1; ce 32760; dm 4; pv Kd1;",
        ),
        ("fmvn 2; hmvc 9;", "fmvn 3; hmvc 0;", "fmvn", "fmvn 2; hmvc 9;"),
        ("fmvn 2; hmvc 9;", "fmvn 3; hmvc 0;", "hmvc,fmvn", "fmvn 3; hmvc 0;"),
        ("run_error \"x\";", "ce 5; pv Kd1;", "ce", "run_error \"x\";"),
    ] {
        let scratch = Scratch::with("old.epd", format!("{start} {old}\n"));
        scratch.write("new.epd", format!("{start} {new}\n"));
        let done = scratch.run(&["join", "old.epd", "new.epd", "--take", take]);
        assert_eq!(done.out, format!("{start} {expected}\n"), "{}", done.err);
    }
}

const CASTLES: &str = "r3k3/8/8/8/8/8/8/4K2R w Kq -";
const STAYS: &str = "r3k3/8/8/8/8/8/8/4K2R w - -";
const BLACK: &str = "r3k3/8/8/8/8/8/8/4K2R b - -";

/// Records of one board become one if nothing is lost; others stay and are reported.
#[test]
fn records_of_one_board_lose_nothing() {
    let conflict = |opcodes: &str| format!("have the same board, but differ in {opcodes}: ");
    let left_out = "of the same board left out".to_string();
    let merged = "merged into earlier ones".to_string();
    for (first, second, expected, said) in [
        ("bm O-O; id \"a\";", "bm Rh7; c0 \"x\"; id \"b\";", None, conflict("bm, id")),
        ("id \"a\";", "bm Rh7;", None, conflict("bm")),
        ("", "ce 20;", None, conflict("ce")),
        ("acd 9; ce 20;", "acd 9; ce 20; pm Rh7;", None, conflict("pm")),
        ("id \"a\";", "c0 \"x\"; id \"a\";", Some("c0 \"x\"; id \"a\";"), merged.clone()),
        ("", "id \"a\";", Some("id \"a\";"), merged),
        ("bm Rh7; c0 \"x\";", "bm Rh7;", Some("bm Rh7; c0 \"x\";"), left_out.clone()),
        ("ce 20;", "", Some("ce 20;"), left_out.clone()),
        ("", "fmvn 9; hmvc 4;", Some(""), left_out),
    ] {
        for other in [STAYS, BLACK] {
            let written = |position: &str, operations: &str| {
                format!("{position} {operations}").trim_end().to_string() + "\n"
            };
            if other == BLACK && first.contains("Rh7") {
                continue;
            }
            // Black has another rook.
            let second = second.replace("Rh7", if other == BLACK { "Ra7" } else { "Rh7" });
            let lines = written(CASTLES, first) + &written(other, &second);
            let scratch = Scratch::with("a.epd", &lines);
            let args = ["dedupe", "a.epd", "--by", "board", "--conflicts", "c.tsv"];
            let done = scratch.run(&args);
            let expected = expected.map_or(lines, |operations| written(CASTLES, operations));
            assert_eq!(done.out, expected, "{}", done.err);
            assert!(done.status == 0 && done.err.contains(&said), "{first} {second}: {}", done.err);
            let rows = scratch.text("c.tsv").lines().count() - 1;
            assert_eq!(rows > 0, said.contains("differ in"), "{}", scratch.text("c.tsv"));
        }
    }
    // A later record of the same position is merged with that one.
    let lines =
        format!("{CASTLES} bm O-O;\n{STAYS} bm Rh7;\n{STAYS} bm Rh7; id \"b\";\n{CASTLES} ce 1;\n");
    let done = Scratch::with("a.epd", lines).run(&["dedupe", "a.epd", "--by", "board"]);
    assert_eq!(
        done.out,
        format!("{CASTLES} bm O-O; ce 1;\n{STAYS} bm Rh7; id \"b\";\n"),
        "{}",
        done.err
    );
    let lines = format!("{CASTLES} bm O-O; id \"a\";\n{STAYS} bm Rh7; c0 \"x\"; id \"b\";\n");
    for (policy, expected) in [
        ("first", format!("{CASTLES} bm O-O; c0 \"x\"; id \"a\";\n")),
        ("last", format!("{STAYS} bm Rh7; c0 \"x\"; id \"b\";\n")),
    ] {
        let scratch = Scratch::with("a.epd", &lines);
        let done = scratch.run(&["dedupe", "a.epd", "--by", "board", "--on-conflict", policy]);
        assert_eq!(done.out, expected, "{}", done.err);
    }
}
