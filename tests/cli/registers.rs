//! `epdb registers`: the registers after each record.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::scratch::Scratch;

const START: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -";
const AFTER_E4: &str = "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq -";

/// The registers of an object as the vectors list them.
fn listed(object: &Value) -> String {
    let list = |letter: &str| {
        let all = object[letter].as_array().unwrap().iter().enumerate();
        let set = all.filter(|(_, register)| !register.is_null());
        set.map(|(number, register)| format!("{letter}{number}={register}"))
            .collect::<Vec<_>>()
            .join(" ")
    };
    let one = |name: &str| Some(&object[name]).filter(|it| !it.is_null()).map(Value::to_string);
    let one = |name: &str| one(name).unwrap_or("~".into());
    format!("{} | {} | eco={} nic={}", list("c"), list("v"), one("eco"), one("nic"))
}

/// Each sequence of the vectors is a file.
#[test]
fn the_vectors_run_through_files() {
    let scratch = Scratch::new();
    let rows = include_str!("../vectors/registers.tsv").lines().filter(|row| !row.starts_with('#'));
    let mut files: BTreeMap<String, String> = BTreeMap::new();
    let mut expected = Vec::new();
    for row in rows {
        let fields: Vec<&str> = row.split('\t').collect();
        let [_, sequence, _, operations, after] = fields[..] else { panic!("{row}") };
        let file = files.entry(format!("{sequence}.epd")).or_default();
        *file += &format!("{START} {operations}\n");
        expected.push(after);
    }
    files.iter().for_each(|(name, text)| scratch.write(name, text));
    let names = files.keys().map(String::as_str);
    let args: Vec<&str> = ["registers", "--json"].into_iter().chain(names).collect();
    let done = scratch.run(&args);
    let found = done.out.lines().map(|line| listed(&serde_json::from_str(line).unwrap()));
    assert_eq!(found.collect::<Vec<_>>(), expected, "{}", done.err);
    assert_eq!(expected.len(), 12);
}

#[test]
fn registers_are_shown_after_each_record_of_a_file() {
    let scratch = Scratch::with(
        "a.epd",
        format!("{START} c0 \"a\"; c4 \"\"; eco \"C20\";\n{AFTER_E4} bm e5;\n{START} c2; eco;\n"),
    );
    let done = scratch.run(&["registers", "a.epd"]);
    let expected = format!(
        "{START} c0 \"a\"; c4 \"\"; eco \"C20\";\n{AFTER_E4} c0 \"a\"; c4 \"\"; eco \"C20\";\n\
         {START} c0 \"a\";\n"
    );
    assert_eq!((done.out, done.status), (expected, 0), "{}", done.err);
    let twice = scratch.run(&["registers", "a.epd", "a.epd"]).out;
    assert_eq!(twice.lines().position(str::is_empty), Some(3), "{twice}");
    assert_eq!(twice.lines().nth(4), twice.lines().next());
    // The output is EPD.
    scratch.write("shown.epd", &twice);
    assert_eq!(scratch.run(&["count", "shown.epd"]).out, "6\n");
}

#[test]
fn continuity_breaks_where_no_move_leads() {
    let scratch =
        Scratch::with("a.epd", format!("{START} c0 \"a\";\n{AFTER_E4}\n{START}\n{AFTER_E4}\n"));
    let whole = scratch.run(&["registers", "a.epd"]).out;
    assert_eq!(whole.matches("c0 \"a\";").count(), 4, "{whole}");
    let broken = scratch.run(&["registers", "a.epd", "--by-continuity"]).out;
    let expected = format!("{START} c0 \"a\";\n{AFTER_E4} c0 \"a\";\n\n{START}\n{AFTER_E4}\n");
    assert_eq!(broken, expected);
}

#[test]
fn objects_distinguish_null_and_an_empty_string() {
    let scratch = Scratch::with("a.epd", format!("{START} c1 \"\"; v3 \"x\";\n"));
    let done = scratch.run(&["registers", "a.epd", "--json"]);
    let object: Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!(object["file"], "a.epd");
    assert_eq!((object["line"].as_u64(), object["fragment"].as_u64()), (Some(1), Some(1)));
    assert_eq!(object["epd"], START);
    let of = |name: &str| object[name].as_array().unwrap().clone();
    assert_eq!((of("c").len(), of("v").len()), (10, 10));
    assert_eq!((&of("c")[0], &of("c")[1]), (&Value::Null, &"".into()));
    assert_eq!((&of("v")[3], &object["eco"]), (&"x".into(), &Value::Null));
}

#[test]
fn each_game_is_a_fragment_with_the_names_of_its_opening() {
    let scratch = Scratch::with(
        "a.pgn",
        "[ECO \"C20\"]\n[Opening \"King's Pawn\"]\n\n1. e4 *\n\n[White \"x\"]\n\n1. e4 e5 *\n",
    );
    let done = scratch.run(&["registers", "a.pgn", "--json"]);
    let objects: Vec<Value> =
        done.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let fragments: Vec<u64> = objects.iter().map(|it| it["fragment"].as_u64().unwrap()).collect();
    assert_eq!(fragments, [1, 1, 2, 2, 2]);
    assert_eq!((&objects[1]["eco"], &objects[1]["v"][0]), (&"C20".into(), &"King's Pawn".into()));
    assert!(objects[2..].iter().all(|it| it["eco"].is_null()), "{}", done.out);
}

#[test]
fn invalid_records_are_reported() {
    let scratch = Scratch::with("a.epd", format!("{START} c0 \"a\";\nnonsense\n{START}\n"));
    let done = scratch.run(&["registers", "a.epd"]);
    assert_eq!(done.out, format!("{START} c0 \"a\";\n{START} c0 \"a\";\n"));
    assert_eq!(done.status, 1);
    assert!(done.err.starts_with("a.epd:2:"), "{}", done.err);
}
