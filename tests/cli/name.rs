//! Names of openings, written into positions and games.

use std::fs;

use crate::scratch::Scratch;
use crate::shared_data::shared_data;

const TABLE: &str = "eco\tname\tpgn\n\
    A40\tQueen's Pawn Game\t1. d4\n\
    B20\tSicilian Defense\t1. e4 c5\n\
    B27\tSicilian Defense: Hyperaccelerated, Fianchetto\t1. e4 c5 2. Nf3 g6\n";
const GERMAN: &str = "eco\tname\tpgn\nB20\tSizilianische Verteidigung\t1. e4 c5\n";

const SICILIAN: &str = "rnbqkbnr/pp1ppppp/8/2p5/4P3/8/PPPP1PPP/RNBQKBNR w KQkq -";
const QUEENS_PAWN: &str = "rnbqkbnr/pppppppp/8/8/3P4/8/PPP1PPPP/RNBQKBNR b KQkq d3";
const KINGS: &str = "7k/8/8/8/8/8/8/K7 w - -";

fn scratch() -> Scratch {
    let scratch = Scratch::with("names.tsv", TABLE);
    scratch.write("german.tsv", GERMAN);
    scratch
}

#[test]
fn positions_in_the_table_get_its_names() {
    let scratch = scratch();
    scratch.write("a.epd", format!("{SICILIAN} ce 7;\n{QUEENS_PAWN} eco \"D00\";\n{KINGS}\n"));
    let done = scratch.run(&["name", "--openings", "names.tsv", "a.epd"]);
    let wanted = format!(
        "{SICILIAN} ce 7; eco \"B20\"; v0 \"Sicilian Defense\";\n\
         {QUEENS_PAWN} eco \"D00\";\n{KINGS}\n"
    );
    assert_eq!((done.status, done.out.as_str()), (0, wanted.as_str()), "{}", done.err);
    assert_eq!(
        done.err,
        "epdb: 1 position named, 1 left unchanged (--replace renames them), 1 without a name\n"
    );
    scratch.write("named.epd", &done.out);
    let call = ["name", "--openings", "names.tsv", "--openings", "german.tsv", "named.epd"];
    let again = scratch.run(&call);
    assert_eq!(again.out, wanted);
    assert_eq!(
        again.err,
        "epdb: 0 positions named, 2 left unchanged (--replace renames them), 1 without a name\n"
    );
    let replaced = scratch.run(&[&call[..], &["--replace", "-o", "a.epa"]].concat());
    assert_eq!(replaced.status, 0, "{}", replaced.err);
    let wanted = format!(
        "{SICILIAN} ce 7; eco \"B20\"; v0 \"Sizilianische Verteidigung\";\n\
         {QUEENS_PAWN} eco \"A40\"; v0 \"Queen's Pawn Game\";\n{KINGS}\n"
    );
    assert_eq!(scratch.run(&["cat", "a.epa"]).out, wanted);
}

/// Without a table, the names are those that are built in.
#[test]
fn openings_have_names_without_a_table() {
    let scratch = Scratch::with("a.epd", format!("{SICILIAN}\n"));
    scratch.write("g.pgn", "1. d4 Nf6 2. c4 g6 3. Nc3 Bg7 1-0\n");
    let named = scratch.run(&["classify", "a.epd"]).out;
    assert_eq!(named, format!("{SICILIAN} eco \"B20\"; v0 \"Sicilian Defense\";\n"));
    let named = scratch.run(&["classify", "g.pgn"]).out;
    assert!(named.contains("[Opening \"King's Indian Defense\"]"), "{named}");
    let explored = scratch.run(&["explore", "g.pgn", "d4"]).out;
    assert!(explored.contains("\nA40 Queen's Pawn Game\n"), "{explored}");
}

#[test]
fn positions_of_games_have_the_last_name_on_the_way() {
    let scratch = scratch();
    scratch.write("g.pgn", "1. Nf3 g6 2. e4 c5 3. b3 *\n\n1. e4 e5 (1... c5 2. Nf3) 2. Nf3 *\n");
    let call = ["name", "--openings", "names.tsv", "g.pgn", "--positions=final"];
    let names = |more: &[&str]| {
        let named = scratch.run(&[&call[..], &["-o", "n.epd"], more].concat());
        assert_eq!(named.status, 0, "{}", named.err);
        scratch.run(&["table", "--columns", "eco,v0", "--no-header", "n.epd"]).out
    };
    let first = "B27\tSicilian Defense: Hyperaccelerated, Fianchetto\n";
    assert_eq!(names(&[]), format!("{first}\t\n"));
    assert_eq!(names(&["--variations"]), format!("{first}B20\tSicilian Defense\n\t\n"));
    assert_eq!(names(&["--where", "fmvn == 3"]), first);
}

#[test]
fn games_get_tags() {
    let scratch = scratch();
    scratch.write(
        "g.pgn",
        "1. Nf3 g6 2. e4 c5 3. b3 *\n\n[ECO \"A00\"]\n[Variation \"old\"]\n\n1. d4 d5 *\n\n1. a3 *\n",
    );
    let tags = "ECO,Opening,Variation,SubVariation";
    let table = |file: &str| {
        let columns = ["table", "--games", "--columns", tags, "--no-header", file];
        scratch.run(&columns).out
    };
    let call = ["name", "--openings", "names.tsv", "g.pgn"];
    let done = scratch.run(&[&call[..], &["-o", "n.pgn"]].concat());
    assert_eq!(
        done.err,
        "epdb: 1 game named, 1 left unchanged (--replace renames them), 1 without a name\n"
    );
    let named = "B27\tSicilian Defense\tHyperaccelerated\tFianchetto\n";
    assert_eq!(table("n.pgn"), format!("{named}A00\t\told\t\n\t\t\t\n"));
    let done = scratch.run(&[&call[..], &["-o", "n.pgc", "--replace"]].concat());
    assert_eq!(done.status, 0, "{}", done.err);
    assert_eq!(table("n.pgc"), format!("{named}A40\tQueen's Pawn Game\t\t\n\t\t\t\n"));
    let done = scratch.run(&[&call[..], &["--games"]].concat());
    assert_eq!(done.out, scratch.text("n.pgn"));
}

#[test]
fn tables_that_cannot_be_read_are_reported_with_their_place() {
    let scratch = scratch();
    scratch.write("a.epd", format!("{KINGS}\n"));
    scratch.write("wrong.tsv", "eco\tname\tpgn\nA00\tNone\t1. Nh9\n");
    for (file, wanted) in [("wrong.tsv", "wrong.tsv:2: `Nh9`"), ("missing.tsv", "missing.tsv")] {
        let done = scratch.run(&["name", "--openings", "names.tsv", "--openings", file, "a.epd"]);
        assert_eq!((done.status, done.out.as_str()), (2, ""));
        assert!(done.err.contains(wanted), "{}", done.err);
    }
}

/// The names of the published tables are built in: the game of the moves of each line gets its name.
#[test]
fn published_tables_name_their_own_lines() {
    let Some(folder) = shared_data("openings") else { return };
    let scratch = Scratch::new();
    let (mut games, mut wanted) = (String::new(), String::new());
    for file in ["a.tsv", "b.tsv", "c.tsv", "d.tsv", "e.tsv"] {
        for line in fs::read_to_string(folder.join(file)).unwrap().lines().skip(1) {
            let columns: Vec<&str> = line.split('\t').collect();
            games += &format!("{} *\n\n", columns[2]);
            wanted += &format!("{}\t{}\n", columns[0], columns[1]);
        }
    }
    assert!(wanted.lines().count() > 3_000);
    scratch.write("g.pgn", games);
    let done = scratch.run(&["name", "g.pgn", "--positions=final", "-o", "n.epd"]);
    assert_eq!(done.status, 0, "{}", done.err);
    let table = scratch.run(&["table", "--columns", "eco,v0", "--no-header", "n.epd"]);
    assert_eq!(table.out, wanted);
}

/// A table goes by the names of its columns, and those that nobody knows are named once.
#[test]
fn unknown_columns_of_tables_are_named() {
    let scratch = scratch();
    scratch.write("a.epd", format!("{SICILIAN}\n"));
    let table = |header: &str| {
        let row = header.split('\t').map(|name| match name.trim() {
            "eco" => "B20",
            "name" => "Sicilian",
            "pgn" => "1. e4 c5",
            _ => "x",
        });
        format!("{header}\n{}\n", row.collect::<Vec<_>>().join("\t"))
    };
    for (header, unknown) in [
        ("pgn\tname\teco", &[][..]),
        ("eco\tname\tpgn\tuci\tepd", &[]),
        ("more\tpgn\tname\trating \teco", &[("more", 1), ("rating", 15)]),
    ] {
        scratch.write("b.tsv", table(header));
        for args in [&["a.epd"][..], &["g.pgn", "--games"]] {
            scratch.write("g.pgn", "1. e4 c5 *\n");
            let done = scratch.run(&[&["name", "--openings", "b.tsv"], args].concat());
            assert!(done.out.contains("\"Sicilian\""), "{} {}", done.out, done.err);
            for (name, column) in unknown {
                let wanted =
                    format!("b.tsv:1:{column}: warning[W-LINE-COLUMN]: column `{name}` is");
                assert_eq!(done.err.matches(&wanted).count(), 1, "{}", done.err);
            }
            assert_eq!(done.err.matches("W-LINE-COLUMN").count(), unknown.len(), "{}", done.err);
        }
    }
}

#[test]
fn tables_are_a_folder_or_several_files() {
    let scratch = scratch();
    scratch.write("g.pgn", "1. d4 *\n\n1. e4 c5 *\n");
    std::fs::create_dir(scratch.path("tables")).unwrap();
    fs::copy(scratch.path("names.tsv"), scratch.path("tables/a.tsv")).unwrap();
    fs::copy(scratch.path("german.tsv"), scratch.path("tables/b.tsv")).unwrap();
    fs::write(scratch.path("tables/README"), "no table").unwrap();
    let calls: [&[&str]; 3] = [
        &["name", "--openings", "names.tsv", "german.tsv", "g.pgn", "--positions=final"],
        &["name", "g.pgn", "--openings", "names.tsv", "german.tsv", "--positions=final"],
        &["name", "--openings", "tables", "g.pgn", "--positions=final"],
    ];
    for call in calls {
        let done = scratch.run(call);
        assert_eq!(done.status, 0, "{}", done.err);
        assert!(done.out.contains("Sizilianische") && done.out.contains("Queen's"), "{}", done.out);
        assert_eq!(done.out.lines().count(), 2);
    }
    std::fs::create_dir(scratch.path("empty")).unwrap();
    let empty = scratch.run(&["name", "--openings", "empty", "g.pgn"]);
    assert_eq!(empty.status, 2);
    assert!(empty.err.contains("no table of openings (.tsv) in the folder"), "{}", empty.err);
}

#[test]
fn a_table_that_is_read_as_positions_says_what_it_is() {
    let scratch = scratch();
    for call in [["normalize", "names.tsv"], ["count", "names.tsv"], ["stats", "names.tsv"]] {
        let done = scratch.run(&call);
        assert_eq!(done.status, 2, "{}", done.err);
        assert!(done.err.contains("names.tsv is a table of openings"), "{}", done.err);
    }
}
