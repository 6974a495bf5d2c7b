//! Everyday shaping as a user types it: filter, table, join, diff, sets, sort, sample, split, edit,
//! play, flip, perft.

use crate::scratch::Scratch;
use crate::shared_data::shared_data;

const START: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -";
const AFTER_E4: &str = "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq e3";
const AFTER_E4_NO_EP: &str = "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq -";
const KINGS: &str = "7k/8/8/8/8/8/8/K7 w - -";
const PAWN: &str = "4k3/8/8/8/8/8/4P3/4K3 w - -";

fn suite() -> Scratch {
    let lines = [
        format!("{START} bm e4 d4; ce 20; id \"S.10\";"),
        format!("{PAWN} am Nf3; ce -300; id \"S.2\";"),
        format!("{KINGS} 3 40"),
    ];
    Scratch::with("suite.epd", lines.join("\n") + "\n")
}

fn out(scratch: &Scratch, args: &[&str]) -> String {
    let done = scratch.run(args);
    assert_eq!(done.status, 0, "{args:?}: {}", done.err);
    done.out
}

/// Lines that are canonical are written as they came, others are made so, in one order.
#[test]
fn canonical_lines_and_others_keep_their_order() {
    let row = |n: usize| if n == 0 { String::new() } else { n.to_string() };
    let king = |n: usize| format!("{}k{}", row(n), row(7 - n));
    let position = |n: usize| {
        format!(
            "{}/8/{}/8/8/8/8/K6Q b - -",
            king(n % 8),
            "p".repeat(8 - n / 8 % 2) + &row(n / 8 % 2)
        )
    };
    let canonical = |n: usize| match n % 3 {
        0 => position(n),
        1 => format!("{} {} {}", position(n), n / 16, n / 20 + 1),
        _ => format!("{} id \"{n}\";", position(n)),
    };
    let lines: Vec<String> = (0..6000).map(canonical).collect();
    // Stretches of lines that are canonical, and of such with another end or a comment between.
    let given = |(n, line): (usize, &String)| match n / 700 % 4 {
        0 => format!("{line}\n"),
        1 => format!("{line}\r\n"),
        2 if n % 7 == 0 => format!("# {n}\n{line} \n"),
        _ if n % 30 == 0 => format!("{line}\r\n"),
        _ => format!("{line}\n"),
    };
    let given: String = lines.iter().enumerate().map(given).collect();
    let scratch = Scratch::with("lf.epd", lines.join("\n"));
    scratch.write("given.epd", given);
    scratch.write("crlf.epd", lines.join("\r\n"));
    scratch.write("blanks.epd", lines.join(" \n"));
    for by in ["record", "position"] {
        for memory in ["64M", "1M"] {
            let of = |file| {
                let out = out(&scratch, &["dedupe", file, "--by", by, "--memory", memory, "-q"]);
                let records = out.split_inclusive('\n').filter(|line| !line.starts_with('#'));
                records.collect::<String>()
            };
            let expected = of("blanks.epd");
            assert!(of("lf.epd") == expected, "{by} {memory}");
            assert!(of("crlf.epd") == expected, "{by} {memory}");
            assert!(of("given.epd") == expected, "{by} {memory}");
        }
    }
    assert_eq!(out(&scratch, &["dedupe", "lf.epd", "--by", "record", "-q"]).lines().count(), 4016);
}

#[test]
fn filter_writes_or_counts_what_the_expression_takes() {
    let scratch = suite();
    let expected = format!("{START} bm d4 e4; ce 20; id \"S.10\";\n");
    assert_eq!(out(&scratch, &["filter", "suite.epd", "--where", "'e2e4' in bm"]), expected);
    let inverted = out(&scratch, &["filter", "suite.epd", "--where", "pieces > 3", "--invert"]);
    assert_eq!(inverted.lines().count(), 2);
    assert_eq!(out(&scratch, &["filter", "suite.epd", "--where", "illegal(am)", "--count"]), "1\n");
    assert_eq!(out(&scratch, &["filter", "suite.epd", "--where", "hmvc == 3", "--count"]), "1\n");
    let by_place = "file == 'suite.epd' && line in [2, 3]";
    assert_eq!(out(&scratch, &["filter", "suite.epd", "--where", by_place, "--count"]), "2\n");
}

#[test]
fn every_command_that_reads_has_where() {
    let scratch = suite();
    let filter = ["--where", "has(bm)"];
    let with = |args: &[&str]| out(&scratch, &[args, &["suite.epd"], &filter].concat());
    let line = format!("{START} bm d4 e4; ce 20; id \"S.10\";\n");
    for command in [
        &["normalize"][..],
        &["cat"],
        &["head"],
        &["shuffle"],
        &["dedupe"],
        &["union"],
        &["sort", "--by", "id"],
    ] {
        assert_eq!(with(command), line, "{command:?}");
    }
    assert_eq!(with(&["count"]), "1\n");
    assert_eq!(with(&["table", "--columns", "id", "--no-header"]), "S.10\n");
    assert_eq!(with(&["purge", "bm,ce"]), format!("{START} id \"S.10\";\n"));
    assert!(with(&["stats"]).starts_with("records                                        1\n"));
    out(&scratch, &["import", "s.epdb", "suite.epd", "--where", "has(ce)"]);
    assert_eq!(out(&scratch, &["count", "s.epdb"]), "2\n");
    assert_eq!(out(&scratch, &["export", "s.epdb", "--where", "has(bm)"]), line);
    assert_eq!(out(&scratch, &["get", "s.epdb", START, "--where", "has(bm)"]), line);
    assert_eq!(scratch.run(&["get", "s.epdb", PAWN, "--where", "has(bm)"]).status, 1);
    assert_eq!(scratch.run(&["get", "suite.epd", PAWN, "--where", "has(bm)"]).status, 1);
    out(&scratch, &["convert", "suite.epd", "suite.epb", "--where", "has(id)"]);
    assert_eq!(out(&scratch, &["count", "suite.epb", "--where", "ce < 0"]), "1\n");
}

#[test]
fn a_page_explains_the_language() {
    let scratch = Scratch::new();
    let page = out(&scratch, &["help", "where"]);
    for word in ["legal_moves", "stalemate", "illegal(bm)", "material('RPP v R')"] {
        assert!(page.contains(word), "{word}");
    }
}

#[test]
fn table_writes_columns_in_three_forms() {
    let scratch = suite();
    let columns = "id,pieces,uci(bm),ce:white,stm,check,D1";
    let table = |form: &[&str]| {
        out(&scratch, &[&["table", "suite.epd", "--columns", columns], form].concat())
    };
    assert_eq!(
        table(&[]),
        "id\tpieces\tuci(bm)\tce:white\tstm\tcheck\tD1\n\
         S.10\t32\td2d4 e2e4\t20\tw\tfalse\t\n\
         S.2\t3\t\t-300\tw\tfalse\t\n\
         \t2\t\t\tw\tfalse\t\n"
    );
    assert!(table(&["--csv"]).contains("\nS.10,32,d2d4 e2e4,20,w,false,\n"));
    assert_eq!(
        table(&["--json"]).lines().next(),
        Some(
            "{\"id\":\"S.10\",\"pieces\":32,\"uci(bm)\":[\"d2d4\",\"e2e4\"],\"ce:white\":20,\
             \"stm\":\"w\",\"check\":false,\"D1\":null}"
        )
    );
    let scratch = Scratch::with("a.epd", format!("{PAWN} c0 \"a, \\b\tc\"; bm e3 e4;\n"));
    let csv = out(&scratch, &["table", "a.epd", "--columns", "c0,bm", "--csv", "--no-header"]);
    assert_eq!(csv, "\"a, \\b c\",e3 e4\n");
    let json = out(&scratch, &["table", "a.epd", "--columns", "bm,c0", "--json"]);
    assert_eq!(json, "{\"bm\":[\"e3\",\"e4\"],\"c0\":\"a, \\\\b c\"}\n");
}

#[test]
fn the_suffix_of_a_table_says_its_form() {
    let scratch = Scratch::with("a.epd", format!("{KINGS} id \"b,c\";\n"));
    let table = ["table", "a.epd", "--columns", "id,stm", "-o"];
    for (name, content) in [
        ("t.csv", "id,stm\n\"b,c\",w\n"),
        ("t.tsv", "id\tstm\nb,c\tw\n"),
        ("t.txt", "id\tstm\nb,c\tw\n"),
        ("t.json", "{\"id\":\"b,c\",\"stm\":\"w\"}\n"),
        ("T.JSONL", "{\"id\":\"b,c\",\"stm\":\"w\"}\n"),
        ("t.ndjson", "{\"id\":\"b,c\",\"stm\":\"w\"}\n"),
        // It is no sharded archive, so it is replaced.
        ("t.json", "{\"id\":\"b,c\",\"stm\":\"w\"}\n"),
        ("t", "id\tstm\nb,c\tw\n"),
    ] {
        let done = scratch.run(&[&table[..], &[name]].concat());
        assert_eq!((done.status, scratch.text(name).as_str()), (0, content), "{}", done.err);
    }
    scratch.run(&[&table[..], &["t.csv.gz"]].concat());
    let done = scratch.run(&["table", "a.epd", "--group-by", "stm", "-o", "g.csv"]);
    assert_eq!((done.status, scratch.text("g.csv").as_str()), (0, "stm,count\nw,1\n"));
    let list = ["dedupe", "--list", "a.epd", "a.epd", "-o", "l.json"];
    assert_eq!(scratch.run(&list).status, 0);
    assert!(scratch.text("l.json").starts_with('{'), "{}", scratch.text("l.json"));
    let names = scratch.names();
    let diff = ["diff", "a.epd", "/dev/null", "-o"];
    for args in [
        &[&table[..], &["x.csv", "--tsv"]].concat(),
        &[&table[..], &["x.csv", "--json"]].concat(),
        &[&table[..], &["x.tsv.gz", "--csv"]].concat(),
        &[&table[..], &["x.jsonl", "--tsv"]].concat(),
        &[&table[..], &["x.html"]].concat(),
        &[&table[..], &["x.csv.xz"]].concat(),
        &[&diff[..], &["x.csv"]].concat(),
        &[&diff[..], &["x.tsv", "--json"]].concat(),
        &[&table[..], &["x.arrow"]].concat(),
        &[&table[..], &["x.sqlite.gz"]].concat(),
        &["dedupe", "--list", "a.epd", "-o", "x.xlsx"].to_vec(),
    ] {
        let done = scratch.run(args);
        assert_eq!(done.status, 2, "{args:?}: {}", done.err);
        let advice = ["use another suffix", "is not written with the suffix"];
        assert!(advice.iter().any(|text| done.err.contains(text)), "{args:?}: {}", done.err);
        assert_eq!(scratch.names(), names, "{args:?}");
    }
    let template = ["table", "a.epd", "--template", "<p>{id}</p>", "-o", "x.html"];
    assert_eq!(scratch.run(&template).status, 0);
}

#[test]
fn the_score_of_a_table_is_read_again() {
    let lines = format!(
        "{PAWN} ce -15; fmvn 1; hmvc 0;\n{AFTER_E4} ce 32766; fmvn 1; hmvc 0;\n{KINGS} 0 1\n"
    );
    let scratch = Scratch::with("a.epd", &lines);
    for name in ["t.csv", "t.tsv", "t.json", "t.jsonl", "t.ndjson"] {
        out(&scratch, &["table", "a.epd", "--columns", "ce,fen", "-o", name]);
        assert_eq!(out(&scratch, &["normalize", name]), lines, "{name}");
    }
}

#[test]
fn positions_of_games_have_the_number_of_the_game_and_the_move() {
    let scratch = Scratch::with("g.pgn", "1. e4 e5 *\n\n1. d4 *\n");
    let table = ["table", "g.pgn", "--positions", "--columns", "game,ply,move", "--no-header"];
    assert_eq!(out(&scratch, &table), "0\t0\te4\n0\t1\te5\n0\t2\t\n1\t0\td4\n1\t1\t\n");
    let last = [&table[..], &["--where", "ply == 1"]].concat();
    assert_eq!(out(&scratch, &last), "0\t1\te5\n1\t1\t\n");
}

#[test]
fn templates_are_filled() {
    let scratch = Scratch::with("a.epd", format!("{AFTER_E4} c9 \"1/2-1/2\"; ce 15;\n"));
    let filled = |template: &str| out(&scratch, &["table", "a.epd", "--template", template]);
    assert_eq!(filled("{fen} | {ce:white} | {result}"), format!("{AFTER_E4} 0 1 | -15 | 0.5\n"));
    assert_eq!(filled("{{{stm}}}\\t{c9}\\\\{dm}"), "{b}\t1/2-1/2\\\n");
}

/// Lines that lack a field are counted, and the option is named that keeps the field of a game.
#[test]
fn lines_of_a_template_with_empty_fields_are_counted() {
    let scratch = Scratch::with("g.pgn", "[Result \"1-0\"]\n\n1. e4 {[%eval 0.2]} e5 1-0\n");
    let template = ["--template", "{fen} | {ce:white} | {result}"];
    let lack = |options: &[&str]| {
        let convert = [&["convert", "g.pgn", "r.epd", "--force", "--positions"], options].concat();
        assert_eq!(scratch.run(&convert).status, 0);
        let done = scratch.run(&[&["table", "r.epd"], &template[..]].concat());
        assert_eq!((done.status, done.out.lines().count()), (0, 3), "{}", done.err);
        done.err.lines().filter(|line| line.contains(" without `")).map(String::from).collect()
    };
    let of = |option: &str| format!("{option} keeps it when games become records");
    let evaluation =
        |count: u8| format!("epdb: {count} of 3 lines without `ce:white`: {}", of("--game-evals"));
    let result = format!("epdb: 3 of 3 lines without `result`: {}", of("--game-tags"));
    let lines: Vec<String> = lack(&[]);
    assert_eq!(lines, [evaluation(3), result]);
    let lines: Vec<String> = lack(&["--game-tags", "--game-evals"]);
    assert_eq!(lines, [evaluation(2)]);
    // Of a game itself, quiet positions with an evaluation, as in the guide.
    let quiet = ["table", "g.pgn", "--positions", "--where", "quiet && eval >= -2000"];
    let bullet = ["--template", "{fen} | {eval:white} | {result}"];
    let done = scratch.run(&[&quiet[..], &bullet].concat());
    assert_eq!(
        (done.out, done.err.contains("without")),
        (format!("{AFTER_E4} 0 1 | 20 | 1.0\n"), false)
    );
}

/// An opcode has one type, in every command that prints JSON.
#[test]
fn operands_have_one_json_type() {
    let line = |acd: u32, ce: i32, last: &str| {
        format!(
            "{START} acd {acd}; acn 9; bm e4; ce {ce}; id \"7\"; resign; Depth 1.5; Eval {last};\n"
        )
    };
    let scratch = Scratch::with("a.epd", line(12, -3, "good") + PAWN + "\n");
    let columns = "acd,acn,bm,uci(bm),ce,id,resign,Depth,Eval,pm";
    let table = out(&scratch, &["table", "a.epd", "--json", "--columns", columns]);
    assert_eq!(
        table.lines().next(),
        Some(
            "{\"acd\":12,\"acn\":9,\"bm\":[\"e4\"],\"uci(bm)\":[\"e2e4\"],\"ce\":-3,\"id\":\"7\",\
             \"resign\":true,\"Depth\":1.5,\"Eval\":\"good\",\"pm\":null}"
        )
    );
    scratch.write("b.epd", line(14, 3, "bad").replace("e4", "d4") + PAWN + "\n");
    let diff = scratch.run(&["diff", "a.epd", "b.epd", "--json"]).out;
    let operations = "\"operations\":[{\"opcode\":\"Eval\",\"old\":\"good\",\"new\":\"bad\"},\
                      {\"opcode\":\"acd\",\"old\":12,\"new\":14},\
                      {\"opcode\":\"bm\",\"old\":[\"e4\"],\"new\":[\"d4\"]},\
                      {\"opcode\":\"ce\",\"old\":-3,\"new\":3}]";
    assert!(diff.contains(operations), "{diff}");
    let page = out(&scratch, &["help", "json"]);
    assert!(page.contains("integer opcodes") && page.contains("arrays of strings"), "{page}");
}

#[test]
fn conflicts_are_reported_in_order_with_both_values() {
    let boards = ["K1k5/8/8/8/8/8/8/8", "8/8/8/8/8/8/8/K1k5", "8/8/8/K1k5/8/8/8/8"];
    let lines = |rest: &str| boards.map(|board| format!("{board} w - - {rest};\n")).concat();
    let scratch = Scratch::with("a.epd", lines("id \"x\\ty\"; ce 1"));
    scratch.write("b.epd", lines("id \"y\"; dm 3"));
    let done = scratch.run(&["union", "a.epd", "b.epd", "--conflicts", "c.tsv"]);
    let told = |n: u32| {
        format!(
            "epdb: a.epd:{n} and b.epd:{n} have the same position, but differ in id: id \"x\\ty\" \
             against id \"y\"\n"
        )
    };
    assert!(done.err.starts_with(&[1, 2, 3].map(told).concat()), "{}", done.err);
    assert_eq!((done.status, done.out.lines().count()), (0, 6));
    let row = |n: u32| format!("a.epd:{n}\tb.epd:{n}\tid\tx\\\\ty\ty\n");
    let rows = [1, 2, 3].map(row).concat();
    assert_eq!(
        scratch.text("c.tsv"),
        format!("#first\tsecond\topcode\tfirst value\tsecond value\n{rows}")
    );
    let json = ["--conflicts", "c.json", "--json", "--deny-conflicts", "-o", "u.epd"];
    let done = scratch.run(&[&["union", "a.epd", "b.epd"], &json[..]].concat());
    assert_eq!((done.status, scratch.text("u.epd").lines().count()), (1, 6));
    assert_eq!(
        scratch.text("c.json").lines().nth(1),
        Some(
            "{\"first\":\"a.epd:2\",\"second\":\"b.epd:2\",\"operations\":\
             [{\"opcode\":\"id\",\"first\":\"x\\\\ty\",\"second\":\"y\"}]}"
        )
    );
    // Before anything is read.
    let nowhere = ["--to", "epd", "--conflicts", "nowhere/c.tsv"];
    let nowhere = scratch.run(&[&["union", "a.epd", "missing.epd"], &nowhere[..]].concat());
    assert!(nowhere.status == 2 && nowhere.err.contains("nowhere"), "{}", nowhere.err);
    let same = scratch.run(&["dedupe", "a.epd", "--deny-conflicts"]);
    assert_eq!(same.status, 0);
    assert_eq!(scratch.run(&["dedupe", "a.epd", "--json"]).status, 2);
}

#[test]
fn python_chess_gets_what_it_reads() {
    let frc = "1k6/8/8/8/8/8/8/1K3R2 w F -";
    let cases = [
        (format!("{PAWN} bm #7;"), format!("{PAWN} dm 7;")),
        (
            format!("{PAWN} am #7; bm e4 #3; dm 3;"),
            format!("{PAWN} am \"#7\"; bm \"#3 e4\"; dm 3;"),
        ),
        (format!("{PAWN} bm Nf3;"), format!("{PAWN} bm \"Nf3\";")),
        (
            format!("{PAWN} bm e3 e4; pm e4; pv e4 Kd7;"),
            format!("{PAWN} bm e3 e4; pm e4; pv e4 Kd7;"),
        ),
        (format!("{PAWN} noop \"a\" \"b\";"), format!("{PAWN} noop \"'a' 'b'\";")),
        (format!("{PAWN} c0 \"a\\b\"; c1; pv;"), format!("{PAWN} c0 \"a\\\\b\"; c1; pv;")),
        (format!("{PAWN} D1 6; Depth 1.5e3; Eval good; X 1 2;"), {
            format!("{PAWN} D1 6; Depth 1.5e3; Eval \"good\"; X \"1 2\";")
        }),
        (format!("{PAWN} 3 40"), format!("{PAWN} fmvn 40; hmvc 3;")),
        (format!("{PAWN} ptp White \"a\";"), format!("{PAWN} ptp \"White 'a'\";")),
        (
            format!("{frc} bm O-O; pm Kc2;"),
            format!("{} bm \"O-O\"; pm Kc2;", frc.replace("F -", "K -")),
        ),
    ];
    let scratch =
        Scratch::with("a.epd", cases.each_ref().map(|(line, _)| format!("{line}\n")).concat());
    let done = scratch.run(&["normalize", "a.epd", "--compat", "python-chess"]);
    assert_eq!(done.out, cases.each_ref().map(|(_, line)| format!("{line}\n")).concat());
    assert!(
        done.err.contains("epdb: 10 operations written in another form for --compat\n"),
        "{}",
        done.err
    );
    scratch.run(&["pack", "a.epd", "-o", "a.epa"]);
    scratch.run(&["import", "a.epdb", "a.epd"]);
    for stored in [["unpack", "a.epa"], ["export", "a.epdb"]] {
        let args = [&stored[..], &["--compat", "python-chess", "--counters", "ops"]].concat();
        assert_eq!(out(&scratch, &args), done.out, "{stored:?}");
        let args = [&stored[..], &["--compat", "python-chess"]].concat();
        assert!(out(&scratch, &args).contains("noop \"'a' 'b'\";"), "{stored:?}");
    }
    for refused in [["--counters", "fen"], ["--format", "fen+ops"]] {
        let args = [&["normalize", "a.epd", "--compat", "python-chess"], &refused[..]].concat();
        let done = scratch.run(&args);
        assert!(
            done.status == 2 && done.err.contains("takes counters only as hmvc"),
            "{}",
            done.err
        );
    }
    assert!(out(&scratch, &["help", "compat"]).contains("chess.Board.from_epd"));
}

#[test]
fn split_makes_a_file_for_each_value() {
    let scratch = suite();
    let done = scratch.run(&["split", "--by", "stm", "suite.epd", "-o", "%s.epd"]);
    assert!(done.status == 0 && done.err.contains("epdb: 3 records to w.epd\n"), "{}", done.err);
    assert_eq!(scratch.text("w.epd"), out(&scratch, &["pfdn", "suite.epd"]));
    scratch.write(
        "e.epd",
        format!(
            "{PAWN} eco \"../a\";\n{KINGS}\n{START} eco \".b c\";\n{PAWN} eco \"../a\"; ce 1;\n"
        ),
    );
    out(&scratch, &["split", "--by", "eco", "e.epd", "-o", "eco-%s.epd"]);
    assert_eq!(
        scratch.text("eco-%2E.%2Fa.epd"),
        format!("{PAWN} eco \"../a\";\n{PAWN} ce 1; eco \"../a\";\n")
    );
    assert_eq!(scratch.text("eco-%2Eb c.epd"), format!("{START} eco \".b c\";\n"));
    assert_eq!(scratch.text("eco-_.epd"), format!("{KINGS}\n"));
    out(&scratch, &["split", "--by", "eco", "e.epd", "-o", "n%d.epb"]);
    assert_eq!(out(&scratch, &["count", "n1.epb", "n2.epb", "n3.epb"]), "4\n");
    // No file is hidden, and each comment stays with its record.
    scratch.write(
        "c.epd",
        format!("# first\n\n{START} id \"\";\n# b\n{KINGS} id \"b\";\n# a\n{PAWN} id \"a\";\n"),
    );
    let parts = scratch.run(&["split", "--by", "id", "c.epd", "-o", "%s.epd"]);
    assert!(!parts.err.contains("W-LEN-COMMENT"), "{}", parts.err);
    assert_eq!(scratch.text("a.epd"), format!("# first\n\n# a\n{PAWN} id \"a\";\n"));
    assert_eq!(scratch.text("b.epd"), format!("# b\n{KINGS} id \"b\";\n"));
    assert_eq!(scratch.text("_.epd"), format!("{START} id \"\";\n"));
    for args in [
        ["split", "--lines", "2", "e.epd", "-o", "x%s.epd"],
        ["split", "--by", "oce", "e.epd", "-o", "x%s.epd"],
        ["split", "--by", "eco", "e.epd", "-o", "x%s%d.epd"],
    ] {
        assert_eq!(scratch.run(&args).status, 2, "{args:?}");
    }
}

/// All three styles of training files come back byte for byte, and say the same.
#[test]
fn training_files_go_to_records_and_back() {
    let scratch = Scratch::new();
    let fen = "r1b1r1k1/1pq2pbp/p2p1np1/2nP4/P1p1PP2/2N2QNP/1PB3P1/R1B2RK1 b - - 3 15";
    let epd = fen.strip_suffix(" 3 15").unwrap();
    let styles = [
        (format!("{fen} [1.0]\n"), "{fen} [{result}]"),
        (format!("{fen} | 25 | 1.0\n"), "{fen} | {ce:white} | {result}"),
        (format!("{epd} c9 \"1-0\";\n"), "{epd} c9 \"{c9}\";"),
    ];
    let labels = ["--labels", "--score-view", "white", "--from", "epd"];
    for (text, template) in &styles {
        scratch.write("style.txt", text);
        let back =
            out(&scratch, &[&["table", "style.txt", "--template", template], &labels[..]].concat());
        assert_eq!(back, *text);
        let drop = ["edit", "style.txt", "--drop", "ce,hmvc,fmvn"];
        let record = out(&scratch, &[&drop[..], &labels].concat());
        assert_eq!(record, format!("{epd} c9 \"1-0\";\n"));
    }
}

#[test]
fn join_takes_operations_over() {
    let scratch = Scratch::new();
    scratch.write("book.epd", format!("{AFTER_E4}\n{PAWN}\n{START}\n"));
    scratch.write("new.epd", format!("{START} 0 1\n{AFTER_E4_NO_EP} 0 1\n"));
    let args = ["join", "book.epd", "new.epd", "--take", "hmvc,fmvn", "--counters", "fen"];
    let done = scratch.run(&args);
    assert_eq!(done.out, format!("{AFTER_E4} 0 1\n{PAWN}\n{START} 0 1\n"));
    assert!(done.err.contains("2 records matched, 1 unmatched"), "{}", done.err);
    assert_eq!(
        out(&scratch, &["join", "book.epd", "new.epd", "--where-missing"]),
        format!("{PAWN}\n")
    );

    scratch.write("a.epd", format!("{START} c0 \"a\"; id \"1\";\n{PAWN} id \"2\";\n"));
    scratch.write("b.epd", format!("{START} c0 \"b\"; id \"1\";\n{PAWN} c0 \"c\"; id \"2\";\n"));
    let done = scratch.run(&["join", "a.epd", "b.epd", "--by", "id", "--take", "c0"]);
    assert_eq!(done.out, format!("{START} c0 \"a\"; id \"1\";\n{PAWN} c0 \"c\"; id \"2\";\n"));
    assert!(
        done.err.contains("a.epd:1 and b.epd:1 have the same position, but differ in c0"),
        "{}",
        done.err
    );

    scratch.write("c.epd", format!("{START} ce 1;\n{START} ce 2;\n"));
    let done = scratch.run(&["join", "a.epd", "c.epd", "--take", "ce", "--prefer", "first"]);
    assert!(done.out.contains("ce 1;"), "{}", done.out);
    let several = "1 with several analyses in the other source (--prefer first kept one)";
    assert!(done.err.contains(several), "{}", done.err);
}

#[test]
fn diff_shows_what_changed_and_nothing_else() {
    let scratch = Scratch::new();
    scratch.write(
        "old.epd",
        format!("{START} bm e2e4; id \"1\";\n{PAWN} bm e4; id \"2\";\n{KINGS} id \"3\";\n"),
    );
    scratch.write(
        "new.epd",
        format!("{PAWN} bm e3; ce 5; id \"2\";\n{START} id \"1\"; bm e4;\n{KINGS} id \"4\";\n"),
    );
    let done = scratch.run(&["diff", "old.epd", "new.epd"]);
    assert_eq!(
        done.out,
        format!(
            "! old.epd:2 new.epd:1 \"2\": bm e4 -> bm e3; added ce 5\n\
             - old.epd:3: {KINGS} id \"3\";\n\
             + new.epd:3: {KINGS} id \"4\";\n"
        )
    );
    assert_eq!(done.status, 1);
    assert!(done.err.contains("1 equal, 1 removed, 1 added, 1 changed"), "{}", done.err);
    let by_position = scratch.run(&["diff", "old.epd", "new.epd", "--by", "position", "--json"]);
    assert!(
        by_position.out.contains("\"changes\":[\"id \\\"3\\\" -> id \\\"4\\\"\"]"),
        "{}",
        by_position.out
    );
    let ignoring = scratch.run(&["diff", "old.epd", "new.epd", "--ignore", "bm,acms"]);
    assert!(
        ignoring.out.starts_with("! old.epd:2 new.epd:1 \"2\": added ce 5\n"),
        "{}",
        ignoring.out
    );
    assert!(ignoring.err.contains("no record has `acms`"), "{}", ignoring.err);
    let only = scratch.run(&["diff", "old.epd", "new.epd", "--only", "c0"]);
    assert!(only.err.contains("2 equal, 1 removed, 1 added, 0 changed"), "{}", only.err);
    let same = scratch.run(&["diff", "old.epd", "old.epd", "--by", "record"]);
    assert_eq!((same.out.as_str(), same.status), ("", 0));
}

#[test]
fn sets_keep_the_order_of_the_input() {
    let scratch = Scratch::new();
    scratch.write("a.epd", format!("{AFTER_E4}\n{PAWN} bm e4;\n{START}\n{AFTER_E4_NO_EP}\n"));
    scratch.write("b.epd", format!("{PAWN} bm e3;\n{AFTER_E4_NO_EP}\n"));
    let done = scratch.run(&["union", "a.epd", "b.epd"]);
    assert_eq!(done.out, format!("{AFTER_E4}\n{PAWN} bm e4;\n{START}\n{PAWN} bm e3;\n"));
    assert!(
        done.err.contains("a.epd:2 and b.epd:1 have the same position, but differ in bm"),
        "{}",
        done.err
    );
    let merged = out(&scratch, &["union", "a.epd", "b.epd", "--bm", "union"]);
    assert_eq!(merged, format!("{AFTER_E4}\n{PAWN} bm e3 e4;\n{START}\n"));
    assert_eq!(out(&scratch, &["subtract", "a.epd", "b.epd"]), format!("{START}\n"));
    let common = out(&scratch, &["intersect", "a.epd", "b.epd"]);
    assert_eq!(common, format!("{AFTER_E4}\n{PAWN} bm e4;\n{AFTER_E4_NO_EP}\n"));
    assert_eq!(
        out(&scratch, &["intersect", "a.epd", "b.epd", "--by", "record"]),
        format!("{AFTER_E4_NO_EP}\n")
    );
    assert_eq!(out(&scratch, &["dedupe", "a.epd"]).lines().count(), 3);
    assert_eq!(out(&scratch, &["dedupe", "a.epd", "--by", "record"]).lines().count(), 4);
}

#[test]
fn sort_shuffle_sample_and_head_depend_only_on_the_seed() {
    let scratch = suite();
    let ids = |args: &[&str]| {
        let text = out(&scratch, args);
        let id = |line: &str| line.split("id ").nth(1).unwrap_or("-").to_owned();
        text.lines().map(id).collect::<Vec<_>>()
    };
    assert_eq!(ids(&["sort", "--by", "id", "suite.epd"]), ["\"S.2\";", "\"S.10\";", "-"]);
    assert_eq!(ids(&["sort", "--by", "-ce,id", "suite.epd"]), ["\"S.10\";", "\"S.2\";", "-"]);
    assert_eq!(ids(&["sort", "--by=pieces", "suite.epd"]), ["-", "\"S.2\";", "\"S.10\";"]);
    assert_eq!(ids(&["head", "-n", "1", "suite.epd"]), ["\"S.10\";"]);
    let numbered: String = (0..500).map(|n| format!("{KINGS} id \"{n}\";\n")).collect();
    scratch.write("many.epd", &numbered);
    let shuffled = out(&scratch, &["shuffle", "many.epd", "--seed", "3"]);
    for threads in ["1", "5"] {
        let again = ["shuffle", "many.epd", "--seed", "3", "--memory", "20K", "--threads", threads];
        assert_eq!(out(&scratch, &again), shuffled);
    }
    assert_ne!(out(&scratch, &["shuffle", "many.epd", "--seed", "4"]), shuffled);
    let sample = out(&scratch, &["sample", "-n", "7", "many.epd", "--seed", "3"]);
    let mut first: Vec<_> = shuffled.lines().take(7).collect();
    first.sort_by_key(|line| line.split('"').nth(1).unwrap().parse::<u32>().unwrap());
    assert_eq!(sample.lines().collect::<Vec<_>>(), first);
    let tenth = out(&scratch, &["sample", "--fraction", "0.1", "many.epd"]).lines().count();
    assert!((30..70).contains(&tenth), "{tenth} of 500");
}

type Compare = fn(&u64, &u64) -> bool;

/// Position keys are numbers. In natural order, their digits would be compared piece by piece.
#[test]
fn keys_are_sorted_and_compared_as_numbers() {
    let squares = |n: usize| format!("{}q{}/8/8/8/8/8/8/K6k w - -", n % 7, 7 - n % 7);
    let rows = |n: usize| {
        format!("{}k{}/8/{}Q{}/8/8/8/8/K7 b - -", n % 7 + 1, 6 - n % 7, n / 7, 7 - n / 7)
    };
    let lines: Vec<String> = (1..49).map(rows).chain((1..7).map(squares)).collect();
    let scratch = Scratch::with("a.epd", lines.join("\n").replace('0', ""));
    let keys = |args: &[&str]| -> Vec<u64> {
        let text = out(&scratch, &[&["table", "--columns", "key", "--no-header"], args].concat());
        text.lines().map(|key| u64::from_str_radix(key, 16).unwrap()).collect()
    };
    let all = keys(&["a.epd"]);
    let sorted = |by: &str| {
        out(&scratch, &["sort", "a.epd", "--by", by, "-o", "sorted.epd"]);
        keys(&["sorted.epd"])
    };
    let ascending = sorted("key");
    assert_eq!((all.len(), ascending.is_sorted()), (54, true));
    assert!(!all.is_sorted());
    assert_eq!(sorted("-key"), ascending.iter().rev().copied().collect::<Vec<_>>());
    let groups = out(&scratch, &["table", "--group-by", "key", "--no-header", "a.epd"]);
    let groups = groups.lines().map(|row| u64::from_str_radix(&row[..16], 16).unwrap());
    assert_eq!(groups.collect::<Vec<_>>(), ascending);
    for bound in [0, 1 << 40, 1 << 60, ascending[20], ascending[53], u64::MAX] {
        for form in [format!("{bound:016x}"), format!("{bound:x}"), format!("{bound:X}")] {
            let holds: [(&str, Compare); 6] = [
                ("<", |a, b| a < b),
                ("<=", |a, b| a <= b),
                (">", |a, b| a > b),
                (">=", |a, b| a >= b),
                ("==", |a, b| a == b),
                ("!=", |a, b| a != b),
            ];
            for (sign, holds) in holds {
                let wanted = all.iter().filter(|key| holds(key, &bound)).count();
                let filter = format!("key {sign} '{form}'");
                let count = scratch.run(&["count", "a.epd", "--where", &filter]).out;
                assert_eq!(count.trim_end(), wanted.to_string(), "{filter}");
            }
        }
    }
}

#[test]
fn split_loses_nothing_and_keeps_positions_together() {
    let scratch = Scratch::new();
    let line = |n: usize| format!("7k/8/8/8/8/8/{}K{}/8 w - - id \"{n}\";\n", n % 7, 7 - n % 7);
    let text: String =
        (0..70).map(line).collect::<String>().replace("/0K", "/K").replace("K0/", "K/");
    scratch.write("all.epd", &text);
    out(&scratch, &["split", "--lines", "30", "all.epd", "-o", "part-%02d.epd"]);
    assert_eq!(scratch.names(), ["all.epd", "part-01.epd", "part-02.epd", "part-03.epd"]);
    assert_eq!(out(&scratch, &["cat", "part-01.epd", "part-02.epd", "part-03.epd"]), text);
    out(&scratch, &["split", "--ratio", "50:30:20", "--by-position", "all.epd", "-o", "p%d.epb"]);
    assert_eq!(out(&scratch, &["count", "p1.epb", "p2.epb", "p3.epb"]), "70\n");
    for (a, b) in [("p1.epb", "p2.epb"), ("p1.epb", "p3.epb"), ("p2.epb", "p3.epb")] {
        assert_eq!(out(&scratch, &["intersect", a, b]), "", "{a} {b}");
    }
}

#[test]
fn edit_changes_operations() {
    let scratch = suite();
    let args = [
        "edit",
        "suite.epd",
        "--keep",
        "bm,am,id",
        "--rename",
        "id:c9",
        "--set",
        "ce=7",
        "--number",
        "id",
        "T.%03d",
    ];
    assert_eq!(
        out(&scratch, &args),
        format!(
            "{START} bm d4 e4; c9 \"S.10\"; ce 7; id \"T.001\";\n\
             {PAWN} am Nf3; c9 \"S.2\"; ce 7; id \"T.002\";\n{KINGS} ce 7; id \"T.003\";\n"
        )
    );
    let done = scratch.run(&["edit", "suite.epd", "--set", "bm=e4"]);
    assert_eq!(done.status, 1);
    assert!(done.err.contains("suite.epd:3: not changed: bm: `e4`"), "{}", done.err);
    assert_eq!(done.out.lines().count(), 3);
}

/// Records for which `--if` is false pass unchanged, also when the file is replaced.
#[test]
fn edit_changes_some_records_in_place() {
    let scratch = suite();
    let before = scratch.text("suite.epd");
    let edit = ["edit", "suite.epd", "--set", "bm=d4", "-o", "suite.epd"];
    let refused = scratch.run(&[&edit[..], &["--where", "id == 'S.10'"]].concat());
    let advice = "would lose 2 records that --where excludes: use --if instead";
    assert!(refused.status == 2 && refused.err.contains(advice), "{}", refused.err);
    assert_eq!(scratch.text("suite.epd"), before);
    let done = scratch.run(&[&edit[..], &["--if", "id == 'S.10'"]].concat());
    assert!(
        done.status == 0 && done.err.ends_with("epdb: 1 of 3 records changed; 1 had bm already\n"),
        "{}",
        done.err
    );
    let after = scratch.text("suite.epd");
    assert_eq!(after.lines().next(), Some(&*format!("{START} bm d4; ce 20; id \"S.10\";")));
    assert_eq!(after.lines().nth(1), before.lines().nth(1));
    let unmet = scratch.run(&["edit", "suite.epd", "--set", "bm=d4", "--if", "op(bmm) == 1"]);
    assert!(unmet.err.contains("no record has `bmm`: did you mean `bm`?"), "{}", unmet.err);
}

/// Of a file of text, `edit --if` changes the lines of the changed records and no other byte.
#[test]
fn edit_keeps_the_other_lines_byte_for_byte() {
    let other = format!("\u{feff}# suite \r\n \t\n{START}  id \"a\"; bm e4 d2d4;\r\n#  end\n");
    let last = format!("{KINGS} 3 40");
    let scratch = Scratch::with("a.epd", format!("{other}{PAWN} ce 5;\n{last}"));
    scratch.write("b.epd", format!("{last}\n"));
    let edit = ["edit", "--set", "ce=7", "--if", "ce > 0"];
    let of = |args: &[&str]| out(&scratch, &[&edit[..], args].concat());
    let changed = format!("{other}{PAWN} ce 7;\n{last}");
    assert_eq!(of(&["a.epd"]), changed);
    assert_eq!(of(&["a.epd", "b.epd"]), format!("{changed}\n{last}\n"));
    of(&["a.epd", "-o", "a.epd"]);
    assert_eq!(scratch.text("a.epd"), changed);
    // Nothing to change: a record that is selected keeps its line too.
    assert_eq!(of(&["a.epd"]), changed);
    // In another form, or without some of the records, all lines are made anew.
    for args in [&["--format", "fen"][..], &["--counters", "ops"], &["--where", "pieces > 2"]] {
        let made = of(&[&["a.epd"], args].concat());
        assert!(!made.contains("  id"), "{args:?}: {made}");
    }
}

/// A file gets no second character set, and its first line keeps the byte order mark.
#[test]
fn edit_writes_one_character_set() {
    let line = |c0: &str, ce: &str| format!("{KINGS} c0 \"{c0}\";{ce}\n");
    let text =
        format!("\u{feff}{}# f\u{fc}r\n{}", line("gr\u{fc}n", " ce 5;"), line("gr\u{fc}n", ""));
    // Each of these characters is the byte of its number in Windows-1252.
    let bytes: Vec<u8> = text.chars().skip(1).map(|c| c as u8).collect();
    for content in [&bytes, text.as_bytes()] {
        let scratch = Scratch::with("a.epd", content);
        let changed = out(&scratch, &["edit", "a.epd", "--set", "ce=7", "--if", "has(ce)"]);
        let is_utf8 = content.len() > bytes.len();
        let wanted = text.replace("ce 5", "ce 7");
        assert_eq!(changed, if is_utf8 { &wanted } else { &wanted["\u{feff}".len()..] });
    }
}

/// A line that cannot be read stays too, and a changed line keeps its line end.
#[test]
fn edit_keeps_unreadable_lines_and_line_ends() {
    let bad = format!("{START}  bm e4\r\n8/8/x bm e4;\r\n");
    let scratch = Scratch::with("a.epd", format!("{PAWN} ce 5;\r\n{bad}{KINGS} ce 6;"));
    let edit = ["edit", "a.epd", "--set", "ce=7", "--if", "ce > 0", "-o"];
    let changed = format!("{PAWN} ce 7;\r\n{bad}{KINGS} ce 7;");
    for output in ["b.epd", "a.epd"] {
        let done = scratch.run(&[&edit[..], &[output]].concat());
        assert!(done.status == 1 && done.err.contains("a.epd:3:"), "{}", done.err);
        assert_eq!(scratch.text(output), changed);
    }
    let refused = scratch.run(&["edit", "a.epd", "--set", "bm="]);
    assert!(refused.status == 2 && refused.err.contains("--drop bm"), "{}", refused.err);
}

#[test]
fn a_number_without_a_pattern_is_explained() {
    let done = suite().run(&["edit", "--number", "id", "suite.epd"]);
    let told = "--number takes an opcode and a pattern, such as --number id 'WAC.%03d': `suite.epd` needs exactly one %d";
    assert!(done.status == 2 && done.err.contains(told), "{}", done.err);
}

#[test]
fn opcodes_that_no_record_has_are_named() {
    let scratch = Scratch::with("a.epd", format!("{START} bm e4;\n{KINGS} ce 3; id \"b\";\n"));
    scratch.write("a.fen", format!("{START} 3 9\n"));
    let meant = "epdb: no record has `bmm`: did you mean `bm`?\n";
    for (args, told) in [
        (&["edit", "--keep", "bmm", "a.epd"][..], &[meant, "epdb: 2 of 2 records changed\n"][..]),
        (&["edit", "--drop", "bmm,id", "a.epd"], &[meant, "epdb: 1 of 2 records changed\n"]),
        (&["edit", "--rename", "bmm:c0", "a.epd"], &[meant, "epdb: 0 of 2 records changed\n"]),
        (&["edit", "--set", "bmm=1", "a.epd"], &["epdb: 2 of 2 records changed\n"]),
        (&["edit", "--drop", "hmvc", "a.fen"], &["epdb: 1 of 1 record changed\n"]),
        (&["purge", "bmm,bm", "a.epd"], &[meant]),
        (
            &["purge", "xyz,acd", "a.epd"],
            &["epdb: no record has `xyz`\n", "epdb: no record has `acd`\n"],
        ),
        (
            &["join", "a.epd", "a.epd", "--take", "bmm,ce"],
            &[meant, "epdb: 2 records matched, 0 unmatched\n"],
        ),
    ] {
        let done = scratch.run(args);
        assert_eq!((done.status, done.err), (0, told.concat()), "{args:?}");
    }
    for quiet in [&["edit", "-q", "--keep", "bmm", "a.epd"][..], &["purge", "xyz", "/dev/null"]] {
        assert_eq!(scratch.run(quiet).err, "", "{quiet:?}");
    }
}

/// Only what is changed gets the time of the change, unless nothing else is asked for.
#[test]
fn edited_records_are_stamped_on_request() {
    let old = "ts 1995.11.26 00:00:00";
    let lines = format!("{START} c0 \"a\"; {old};\n{KINGS} c0 \"b\"; {old};\n");
    let scratch = Scratch::with("a.epd", &lines);
    assert!(out(&scratch, &["edit", "a.epd", "--set", "c0=b"]).matches(old).count() == 2);
    let edited = out(&scratch, &["edit", "a.epd", "--set", "c0=b", "--ts"]);
    let (first, second) = edited.split_once('\n').unwrap();
    assert!(first.contains("c0 \"b\"; ts 2") && second.contains(old), "{edited}");
    let all = out(&scratch, &["edit", "a.epd", "--ts"]);
    assert!(!all.contains(old) && all.matches("; ts 2").count() == 2, "{all}");
}

#[test]
fn play_continues_with_counters() {
    let scratch = Scratch::with("a.epd", format!("{START} 0 1\n"));
    assert_eq!(out(&scratch, &["play", "a.epd", "--moves", "e4"]), format!("{AFTER_E4} 0 1\n"));
    scratch.write("b.epd", format!("{PAWN} bm e4 Kd2; id \"x\"; pv Kd2 Kd7 Kd3;\n"));
    assert_eq!(out(&scratch, &["play", "b.epd", "--op", "bm", "--keep", "id"]).lines().count(), 2);
    assert_eq!(out(&scratch, &["play", "b.epd", "--op", "pv"]), "8/3k4/8/8/8/3K4/4P3/8 b - -\n");
    assert_eq!(out(&scratch, &["play", "b.epd", "--op", "pv[all]"]).lines().count(), 3);
    let done = scratch.run(&["play", "b.epd", "--moves", "e4 e5"]);
    assert_eq!((done.out.as_str(), done.status), ("", 1));
    assert!(done.err.contains("b.epd:1: e5 is not a legal move"), "{}", done.err);
}

#[test]
fn flip_twice_is_the_input() {
    let scratch = suite();
    out(&scratch, &["flip", "suite.epd", "-o", "flipped.epd"]);
    assert!(
        String::from_utf8(scratch.read("flipped.epd"))
            .unwrap()
            .starts_with("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR b KQkq - bm d5 e5; ce 20;")
    );
    let normal = out(&scratch, &["pfdn", "suite.epd"]);
    assert_eq!(out(&scratch, &["flip", "flipped.epd"]), normal);
    let done = scratch.run(&["flip", "--mirror", "files", "suite.epd"]);
    assert!(done.err.contains("4 castling rights dropped"), "{}", done.err);
}

#[test]
fn perft_counts_and_checks() {
    let scratch = Scratch::with("perft.epd", format!("{START} ;D1 20 ;D2 400 ;D3 8903\n{KINGS}\n"));
    let divided = out(&scratch, &["perft", PAWN, "--depth", "1"]);
    assert!(
        divided.starts_with("Kd1\te1d1\t1\n") && divided.ends_with("total\t1\t6\n"),
        "{divided}"
    );
    let done = scratch.run(&["perft", "perft.epd", "--depth", "3"]);
    assert_eq!(done.out, "perft.epd:1: D3 is 8902, not 8903\nperft.epd:2\t3\t54\n");
    assert_eq!(done.status, 1);
    assert_eq!(scratch.run(&["perft", "perft.epd", "--depth", "2"]).status, 0);
    let json = scratch.run(&["perft", "perft.epd", "--depth", "3", "--json"]).out;
    assert!(
        json.contains("\"depth\":3,\"nodes\":8902,\"expected\":8903,\"agrees\":false"),
        "{json}"
    );
    // Without a count in the record there is nothing to agree with.
    assert!(json.contains("\"nodes\":54,\"expected\":null,\"agrees\":null}"), "{json}");
    let page = scratch.run(&["help", "json"]).out;
    let (_, of_perft) = page.split_once("  perft ").unwrap();
    let (of_perft, _) = of_perft.split_once("\n  book list").unwrap();
    let moves = scratch.run(&["perft", PAWN, "--depth", "1", "--json"]).out;
    for object in json.lines().chain(moves.lines()) {
        let object: serde_json::Map<String, serde_json::Value> =
            serde_json::from_str(object).unwrap();
        for field in object.keys() {
            assert!(of_perft.contains(field), "{field}\n{of_perft}");
        }
    }
}

/// Forty calls that cannot be what was meant: a message that says what to write, exit status 2 and
/// nothing on standard output.
#[test]
fn wrong_calls_are_explained() {
    let scratch = suite();
    let filter = |expression| vec!["filter", "suite.epd", "--where", expression];
    let table = |columns| vec!["table", "suite.epd", "--columns", columns];
    let cases: [(Vec<&str>, &str); 43] = [
        (vec!["filter", "suite.epd"], "say which records with --where"),
        (filter(""), "column 1: expected a value"),
        (filter("pieces = 4"), "column 8: `=` compares nothing: write `==`"),
        (filter("piecs == 4"), "did you mean `pieces`?"),
        (filter("pieces == four"), "a text stands in quotes: 'four'"),
        (filter("pieces == '4'"), "write 4 without quotes"),
        (filter("ce > '100'"), "write 100 without quotes"),
        (filter("id == 4"), "`id` is a text, but `4` is a number"),
        (filter("stm == 'white'"), "`stm` is 'w' or 'b'"),
        (filter("stm == w"), "a text stands in quotes: 'w'"),
        (filter("bm == e4"), "a text stands in quotes: 'e4'"),
        (filter("bm > 'e4'"), "moves are not in order"),
        (filter("bm"), "or use `has(bm)`"),
        (filter("check == 1"), "`check` is a test by itself"),
        (filter("check mate"), "column 7: expected `&&`, `||` or the end"),
        (filter("(check"), "expected `)`"),
        (filter("id ~ '('"), "the pattern is wrong"),
        (filter("id in ('a')"), "a list stands in brackets"),
        (filter("'e4' in c0"), "look into it with `~`"),
        (filter("illegal(ce)"), "illegal() asks about moves"),
        (filter("material == 'KXk'"), "there is no X"),
        (filter("id == 'x"), "is not closed"),
        (filter("result == 'draw'"), "'1-0', '1/2-1/2' or '0-1'"),
        (table("id,piecse"), "did you mean `pieces`?"),
        (table("id,,bm"), "a name of a column is missing"),
        (table("uci(id)"), "`id` has no moves"),
        (table("ce:black"), "the other view of ce is `ce:white`"),
        (vec!["table", "suite.epd"], "--columns"),
        (vec!["table", "suite.epd", "--template", "{fen"], "this { is not closed"),
        (vec!["table", "suite.epd", "--template", "x {fne}"], "column 4"),
        (vec!["table", "suite.epd", "--columns", "id", "--csv", "--json"], "cannot be used with"),
        (vec!["sort", "suite.epd", "--by", "piecse"], "did you mean `pieces`?"),
        (vec!["sample", "suite.epd"], "--limit"),
        (vec!["sample", "suite.epd", "--fraction", "10"], "from 0 to 1"),
        (vec!["split", "suite.epd", "--ratio", "90", "-o", "p%d.epd"], "such as 90:10"),
        (vec!["split", "suite.epd", "--lines", "5", "-o", "part.epd"], "exactly one %d"),
        (vec!["edit", "suite.epd"], "--set"),
        (vec!["edit", "suite.epd", "--set", "ce=good"], "ce: `ce` takes an integer, not `good`"),
        (vec!["edit", "suite.epd", "--rename", "c1"], "such as c1:c9"),
        (vec!["edit", "suite.epd", "--drop", "9x"], "`9x` is not an opcode"),
        (vec!["play", "suite.epd", "--op", "bm[all]"], "use [all] with pv and sv"),
        (vec!["play", "suite.epd", "--op", "ce"], "`ce` has no moves"),
        (vec!["perft", "8/8/8/8/8/8/8/8 w - -", "--depth", "2"], "one king of each side"),
    ];
    for (args, expected) in cases {
        let done = scratch.run(&args);
        assert_eq!((done.status, done.out.as_str()), (2, ""), "{args:?}: {}", done.err);
        assert!(done.err.contains(expected), "{args:?}: {}", done.err);
    }
    assert_eq!(scratch.names(), ["suite.epd"], "nothing was written");
}

/// The fields of a position with three pieces on squares chosen by a number, in no order.
fn three_pieces(number: usize) -> String {
    let place = number * 7919 % (48 * 8 * 8);
    let (pawn, kings) = (8 + place % 48, place / 48);
    let mut squares = [b'1'; 64];
    squares[kings % 8] = b'K';
    squares[56 + kings / 8] = b'k';
    squares[pawn] = b'P';
    let ranks: Vec<_> = squares.chunks(8).map(String::from_utf8_lossy).collect();
    let mut text = String::new();
    for byte in ranks.join("/").bytes() {
        match (byte, text.as_bytes().last().copied()) {
            (b'1', Some(digit @ b'1'..=b'7')) => {
                text.pop();
                text.push(char::from(digit + 1));
            }
            _ => text.push(char::from(byte)),
        }
    }
    // The king of the side to move is the one that may be in check.
    text + " b - -"
}

/// More lines than are read at a time, with what is rejected between them, ends of lines of every
/// kind, none at the end of the file, positions that come again in another batch and another file
/// and say something else: the outcome is the same in memory, through temporary files, and with any
/// number of threads.
#[test]
fn sets_of_many_lines_are_the_same_in_any_memory_and_on_any_threads() {
    let (mut first, mut second) = (String::new(), String::new());
    for number in 0..20_000_usize {
        let said = ["", " 0 1", " id \"a\";", " id \"b\";", " ce 3;"][number / 3000 % 5];
        let end = ["\n", "\r\n", "\r"][number % 3];
        let fields = three_pieces(number);
        first.push_str(&match number % 1000 {
            999 => format!("no position{end}{end}"),
            _ => format!("{fields}{said}{end}"),
        });
        if number % 7 == 0 {
            second.push_str(&format!("{fields} ce {};{end}", number % 2));
        }
    }
    second.push_str(&three_pieces(5));
    let scratch = Scratch::with("first.epd", first);
    scratch.write("second.epd", second);
    let files = ["first.epd", "second.epd"];
    for (command, has_by) in
        [("dedupe", true), ("subtract", true), ("intersect", true), ("stats", false)]
    {
        for by in ["position", "board", "record"].iter().take(if has_by { 3 } else { 1 }) {
            let run = |memory, threads| {
                let mut args = vec![command];
                args.extend(files);
                args.extend(["--memory", memory, "--threads", threads, "--allow-rejects"]);
                if has_by {
                    args.extend(["--by", by]);
                }
                let done = scratch.run(&args);
                assert_eq!(done.status, 0, "{}", done.err);
                (done.out, done.err)
            };
            let usual = run("256M", "2");
            assert!(!usual.0.is_empty(), "{command} {}", usual.1);
            for (memory, threads) in [("256M", "1"), ("1M", "2"), ("20K", "1")] {
                assert_eq!(run(memory, threads), usual, "{command} --by {by} in {memory}");
            }
        }
    }
    let plain = Scratch::with(
        "plain.fen",
        (0..20_000).map(|n| three_pieces(n) + " 0 1\r\n").collect::<String>(),
    );
    let unique: Vec<_> = (0..48 * 64).map(|n| three_pieces(n) + " 0 1\n").collect();
    assert_eq!(out(&plain, &["dedupe", "plain.fen"]), unique.concat());
    assert_eq!(out(&plain, &["count", "plain.fen"]), "20000\n");
}

/// One book has one position in several spellings of the en passant field; the other was made of
/// it and has each once, with counters.
#[test]
fn books_of_other_people_agree() {
    let (Some(v2), Some(v4)) =
        (shared_data("books/UHO_4060_v2.epd"), shared_data("books/UHO_4060_v4.epd"))
    else {
        return;
    };
    let scratch = Scratch::new();
    let (v2, v4) = (v2.to_str().unwrap(), v4.to_str().unwrap());
    assert_eq!(out(&scratch, &["filter", v4, "--where", "pieces == 32", "--count"]), "94608\n");
    assert_eq!(out(&scratch, &["dedupe", v2]).lines().count(), 241_670);
    assert_eq!(out(&scratch, &["subtract", v2, v4]), "");
    let done = scratch.run(&["join", v2, v4, "--take", "hmvc,fmvn", "--counters", "fen"]);
    assert!(done.err.contains("242201 records matched, 0 unmatched"), "{}", done.err);
}

#[test]
fn perft_suites_of_other_people_agree() {
    let scratch = Scratch::new();
    let suites = [
        "epd/TerjeKir+EngineTests/testfiles/frc_perftsuite.epd",
        "epd/TerjeKir+EngineTests/testfiles/perftsuite.epd",
    ];
    for suite in suites.iter().filter_map(|suite| shared_data(suite)) {
        let done = scratch.run(&["perft", suite.to_str().unwrap(), "--depth", "2"]);
        assert_eq!((done.out.as_str(), done.status), ("", 0), "{}", done.err);
    }
}

#[test]
fn groups_have_totals() {
    let scratch = Scratch::new();
    let game = |eco: &str, year: u32, result: &str, moves: &str| {
        format!(
            "[Date \"{year}.01.??\"]\n[ECO \"{eco}\"]\n[Result \"{result}\"]\n\n{moves} {result}\n\n"
        )
    };
    let games = [
        game("B20", 2001, "1-0", "1. e4 c5"),
        game("A40", 2002, "*", "1. d4"),
        game("B20", 2001, "1/2-1/2", "1. e4 c5 2. Nf3"),
        game("B20", 1999, "0-1", "1. e4 c5"),
    ];
    scratch.write("g.pgn", games.concat());
    let by_eco =
        ["table", "--games", "g.pgn", "--group-by", "ECO,year", "--agg", "games,score,mean(plies)"];
    let wanted = "ECO\tyear\tgames\tscore\tmean(plies)\nA40\t2002\t1\t\t1.0\n\
                  B20\t1999\t1\t0.0\t2.0\nB20\t2001\t2\t0.75\t2.5\n";
    assert_eq!(out(&scratch, &by_eco), wanted);
    assert_eq!(out(&scratch, &[&by_eco[..], &["--memory", "1K"]].concat()), wanted);
    let json = out(&scratch, &[&by_eco[..], &["--json", "--where", "year == 2002"]].concat());
    let object = r#"{"ECO":"A40","year":2002,"games":1,"score":null,"mean(plies)":1.0}"#;
    assert_eq!(json, format!("{object}\n"));
    // A library has the games in its tallies.
    out(&scratch, &["tally", "g.pgn", "-o", "g.epb"]);
    let what = "count,games,white,draws,black,score";
    let by_side = ["table", "--group-by", "stm", "--agg", what, "--no-header", "g.epb"];
    assert_eq!(out(&scratch, &by_side), "b\t3\t3\t1\t1\t1\t0.5\nw\t2\t5\t1\t2\t1\t0.5\n");
    let by_eco = ["table", "g.pgn", "--group-by", "ECO", "--agg", "white,draws,black"];
    assert_eq!(out(&scratch, &by_eco), "ECO\twhite\tdraws\tblack\nA40\t0\t0\t0\nB20\t1\t1\t1\n");
    assert_eq!(out(&scratch, &["table", "--group-by", "stm", "g.epb"]), "stm\tcount\nb\t3\nw\t2\n");
    assert_eq!(scratch.run(&["table", "--columns", "stm", "--agg", "count", "g.epb"]).status, 2);
    // A mate is no number of centipawns.
    scratch.write("m.epd", format!("{PAWN} ce 20;\n{PAWN} ce 32000;\n{PAWN} ce 32766;\n"));
    let scores = ["table", "--group-by", "stm", "--agg", "mean(ce),max(eval)", "m.epd"];
    let done = scratch.run(&scores);
    assert_eq!(done.out, "stm\tmean(ce)\tmax(eval)\nw\t16010.0\t32766\n");
    assert!(done.err.contains("1 mate not counted in sums and means"), "{}", done.err);
}

#[test]
fn duplicates_are_listed_with_places_and_ids() {
    let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR";
    let scratch = Scratch::with(
        "a.epd",
        format!("{start} w KQkq - bm e4; id \"A.1\";\n8/8/8/4k3/8/1K6/8/8 b - - id \"A.2\";\n"),
    );
    scratch.write(
        "b.epd",
        format!("{start} b KQkq - id \"B.1\";\n{start} w KQkq - bm d4; id \"B.2\";\n{start} w KQkq - 0 1\n"),
    );
    let wanted = "#first\tfirst id\tother\tother id\n\
                  a.epd:1\tA.1\tb.epd:2\tB.2\na.epd:1\tA.1\tb.epd:3\t\n";
    for memory in ["1K", "1M"] {
        let done = scratch.run(&["dedupe", "--list", "a.epd", "b.epd", "--memory", memory]);
        assert_eq!((done.out.as_str(), done.status), (wanted, 0), "{}", done.err);
        assert!(
            done.err.contains("1 position with several records, 2 records after"),
            "{}",
            done.err
        );
    }
    let boards = scratch.run(&["union", "--list", "a.epd", "b.epd", "--by", "board"]);
    assert_eq!(boards.out.lines().count(), 4, "{}", boards.out);
    let json = scratch.run(&["dedupe", "--list", "a.epd", "b.epd", "--json"]).out;
    let row: serde_json::Value = serde_json::from_str(json.lines().next().unwrap()).unwrap();
    assert_eq!((&row["first_id"], &row["other"]), (&"A.1".into(), &"b.epd:2".into()));
    assert_eq!(scratch.run(&["dedupe", "a.epd", "--json"]).status, 2);
}

#[test]
fn games_that_are_nearly_equal_are_listed() {
    let scratch = Scratch::new();
    let game =
        |white: &str, moves: &str| format!("[White \"{white}\"]\n[Black \"Eve\"]\n\n{moves} *\n\n");
    let games = game("Hübner, Robert", "1. e4 e5 2. Nf3") + &game("Ann", "1. e4 e5");
    scratch.write("a.pgn", games + &game("HUEBNER, R.", "1. e4 e5 2. Bc4") + &game("Ann", "1. d4"));
    scratch.write("b.pgn", game("R Hübner", "1. e4"));
    let listed = |options: &[&str]| {
        scratch.run(&[&["dedupe", "a.pgn", "b.pgn", "--json"], options].concat())
    };
    let shorter = listed(&["--near"]);
    assert_eq!(shorter.status, 0, "{}", shorter.err);
    let places: Vec<&str> = shorter.out.split('"').filter(|part| part.contains(".pgn:")).collect();
    // The game of b.pgn begins both of the others, which differ.
    assert_eq!(places, ["b.pgn:1", "a.pgn:11", "b.pgn:1", "a.pgn:1"]);
    assert_eq!(listed(&["--near=2"]).out.lines().count(), 2);
    assert_eq!(listed(&["--near", "--games", "--where", "White == 'Ann'"]).out, "");
    assert!(listed(&["--near", "--list"]).err.contains("cannot be used with"));
}

#[test]
fn copies_of_games_are_listed() {
    let game = |white: &str, text: &str| {
        format!("[White \"{white}\"]\n[Black \"Cy\"]\n[Date \"2001.02.03\"]\n\n{text}\n\n")
    };
    let scratch = Scratch::with("a.pgn", game("Ann", "1. e4 1-0") + &game("Bob", "1. d4 *"));
    let same = game("Ann", "1. e4 {again} 1-0");
    scratch.write("b.pgn", same + &game("Dan", "1. e4 1-0") + &game("Ann", "1. e4 1-0"));
    let ann = "Ann - Cy, 2001.02.03, 1-0";
    let row = |other: &str, label: &str| format!("a.pgn:1\t{ann}\t{other}\t{label}\n");
    let head = "#first\tfirst game\tother\tother game\n";
    let players = [head, &row("b.pgn:1", ann), &row("b.pgn:13", ann)].concat();
    let dan = row("b.pgn:7", "Dan - Cy, 2001.02.03, 1-0");
    let moves = [head, &row("b.pgn:1", ann), &dan, &row("b.pgn:13", ann)].concat();
    let exact = [head, &row("b.pgn:13", ann)].concat();
    for (options, expected) in [
        (&[][..], &players),
        (&["--by", "players"], &players),
        (&["--by", "moves", "--memory", "1K"], &moves),
        (&["--by", "exact"], &exact),
    ] {
        let done = scratch.run(&[&["dedupe", "--list", "a.pgn", "b.pgn"], options].concat());
        assert_eq!((&done.out, done.status), (expected, 0), "{options:?}: {}", done.err);
    }
    let done = scratch.run(&["dedupe", "--list", "a.pgn", "b.pgn"]);
    assert!(done.err.contains("1 game found several times, 2 further copies"), "{}", done.err);
    let json = scratch.run(&["dedupe", "--list", "a.pgn", "b.pgn", "--json"]).out;
    let row: serde_json::Value = serde_json::from_str(json.lines().next().unwrap()).unwrap();
    assert_eq!((&row["first_game"], &row["other"]), (&ann.into(), &"b.pgn:1".into()));
    let mixed = scratch.run(&["dedupe", "--list", "a.pgn", "--by", "board"]);
    assert_eq!(mixed.status, 2);
    assert!(mixed.err.contains("games are compared --by moves"), "{}", mixed.err);
    let records = scratch.run(&["dedupe", "--list", "a.pgn", "--positions"]);
    assert!(records.out.starts_with("#first\tfirst id"), "{}", records.out);
}

/// `--on-conflict first` and `last` drop only the operations that contradict each other.
#[test]
fn a_conflict_costs_only_the_contradicting_operations() {
    let position = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -";
    let scratch = Scratch::with("a.epd", format!("{position} bm e4; c0 \"a\"; id \"x\";\n"));
    scratch.write("b.epd", format!("{position} bm d4; c1 \"b\"; id \"x\";\n"));
    scratch.write("c.epd", format!("{position} bm c4; c1 \"c\"; c2 \"d\";\n"));
    for (policy, expected) in [
        ("first", "bm e4; c0 \"a\"; c1 \"b\"; c2 \"d\"; id \"x\";"),
        ("last", "bm c4; c0 \"a\"; c1 \"c\"; c2 \"d\"; id \"x\";"),
    ] {
        let done = scratch.run(&["union", "a.epd", "b.epd", "c.epd", "--on-conflict", policy]);
        assert_eq!(done.out, format!("{position} {expected}\n"), "{policy}: {}", done.err);
        let counted =
            format!("2 in conflict with another one, resolved: the {policy} value counts");
        assert!(done.err.contains(&counted), "{}", done.err);
        assert_eq!(
            done.err.matches("have the same position, but differ").count(),
            2,
            "{}",
            done.err
        );
    }
}

/// The opcodes that engines write are fields, like those of the standard.
#[test]
fn opcodes_of_engines_are_fields() {
    let line = "4k3/8/8/8/8/8/4P3/4K3 w - - acms 40; ce2 7; pv2 Kd2; run_error \"gone\"; solve_first 10 20 3; \
                solve_held 30 40 5;\n";
    let scratch = Scratch::with("a.epd", line);
    for field in ["acms", "ce2", "pv2", "run_error", "solve_first", "solve_held"] {
        let table = scratch.run(&["table", "--columns", field, "a.epd"]);
        assert_eq!(table.status, 0, "{field}: {}", table.err);
        let found = scratch.run(&["count", "--where", &format!("has({field})"), "a.epd"]);
        assert_eq!((found.status, found.out.as_str()), (0, "1\n"), "{field}: {}", found.err);
        assert_eq!(scratch.run(&["sort", "--by", field, "a.epd"]).status, 0, "{field}");
    }
    let late = scratch.run(&["count", "--where", "acms >= 40 && ce2 < 8", "a.epd"]);
    assert_eq!((late.status, late.out.as_str()), (0, "1\n"), "{}", late.err);
}

/// Games play different moves in one position. Without other differences, it is one record.
#[test]
fn positions_of_games_are_written_once() {
    let games = "1. e4 e5 2. Nf3 *\n\n1. e4 c5 *\n\n1. d4 *\n\n1. e4 e5 2. Nf3 *\n";
    let scratch = Scratch::with("g.pgn", games);
    let done = scratch.run(&["dedupe", "g.pgn", "--positions", "--deny-conflicts"]);
    assert_eq!((done.status, done.out.lines().count()), (0, 6), "{}{}", done.out, done.err);
    assert!(done.out.starts_with(
        "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - fmvn 1; hmvc 0; sm e4;"
    ));
    let moves = ", 2 of them with another next move (sm) than the one that is kept\n";
    assert!(done.err.contains(moves), "{}", done.err);
    // Records that are not from games may contradict each other.
    scratch.run(&["convert", "g.pgn", "r.epd"]);
    let done = scratch.run(&["dedupe", "r.epd", "--deny-conflicts"]);
    assert_eq!(done.status, 1, "{}", done.err);
}
