//! Reports of finished suites.

use std::path::Path;
use std::process::Command;

use crate::browser::{browser, tools};
use crate::scratch::Scratch;
use crate::skipped::skipped;

const START: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -";

/// Two runs over five problems.
fn scratch() -> Scratch {
    let scratch = Scratch::new();
    let line = |operations: &str| format!("{START} {operations}\n");
    let old = [
        "acd 5; acms 20; acn 2000; bm e4; ce 30; id \"A.1\"; pm e4; solve_first 10 1 1; solve_held 90 2 3;",
        "acms 30; acn 3000; bm e4; c0 \"e4=10, d4=6\"; ce 30; id \"A.2\"; pm d4;",
        "am d4; id \"B.1\"; pm d4;",
        "bm e4; id \"B.2\"; run_error \"no answer within 5 s\";",
        "bm Qxh7; id \"B.3\"; pm e4;",
    ];
    let new = [
        "bm e4; id \"A.1\"; pm e4; solve_first 10 1 1; solve_held 40 1 2;",
        "bm e4; c0 \"e4=10, d4=6\"; ce 20; id \"A.2\"; pm e4;",
        "am d4; id \"B.1\"; pm d4;",
        "bm e4; id \"B.2\"; pm e4;",
        "bm Qxh7; id \"B.3\"; pm e4;",
    ];
    scratch.write("old.epd", old.map(line).concat());
    scratch.write("new.epd", new.map(line).concat());
    let facts = |label: &str| {
        format!("{{\"engine\":{{\"label\":\"{label}\"}},\"limit\":{{\"nodes\":3000}}}}")
    };
    scratch.write("old.epd.run.json", facts("V1"));
    scratch.write("new.epd.run.json", facts("V2"));
    scratch
}

const TEXT: &str = "\
V2 solves 2 more of 4 problems than V1 (3 against 1), which chance may explain (exact McNemar p = 0.5000); \
in points V2 is 4 of 10 ahead (95 % interval +4 to +4).
note: V1: searches that failed: 1
note: V1: records that cannot be scored: 1
note: V2: records that cannot be scored: 1

Runs
run  solved  of     %          95 %  points  of  missed  no answer  failed  defective
V1        1   4  25.0   4.6 to 69.9       6  10       3          1       1          1
V2        3   4  75.0  30.1 to 95.4      10  10       1                             1

Side by side
first  second  both  only first  only second  neither  second - first     95 %  McNemar p  in points      95 %
V1     V2         1           0            2        1              +2  0 to +4     0.5000         +4  +4 to +4

Themes
theme  run  solved  of      %           95 %  points  of
A      V1        1   2   50.0    9.5 to 90.5       6  10
A      V2        2   2  100.0  34.2 to 100.0      10  10
B      V1        0   2    0.0    0.0 to 65.8
B      V2        1   2   50.0    9.5 to 90.5

Time to solution: when it was chosen for good, by how many of the scored
run  held by  a quarter  half  three quarters  solved  first chosen
V1   ms               2     -               -       1             1
V2   ms               1     -               -       1             1
V1   nodes           90     -               -       1             1
V2   nodes           40     -               -       1             1

Effort and scores
run  of each record  count    sum    min  quarter  median  three quarters    max     mean
V1   nodes               2  5,000  2,000    2,000   2,000           2,000  3,000   2500.0
V1   ms                  2     50     20       20      20              20     30     25.0
V1   depth               1             5        5       5               5      5      5.0
V1   ce                  2            30       30      30              30     30     30.0
V1   nodes a second                                                               100,000
V2   ce                  1            20       20      20              20     20     20.0

Failed and defective (3)
run  place      id   why
V1   old.epd:4  B.2  no answer within 5 s
V1   old.epd:5  B.3  Qxh7 is not legal here
V2   new.epd:5  B.3  Qxh7 is not legal here

Cooks: all runs agree on another move (1)
id   V1  V2  asked for  position
B.1  d4  d4  am d4      rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -

Missed (3)
id   V1  V2           asked for  position
A.2  d4  e4 (solved)  bm e4      rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -
B.1  d4  d4           am d4      rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -
B.2  -   e4 (solved)  bm e4      rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -
";

#[test]
fn two_runs_are_compared() {
    let done = scratch().run(&["report", "old.epd", "new.epd"]);
    assert_eq!((done.status, done.out.as_str()), (0, TEXT), "{}", done.err);
}

#[test]
fn stores_and_single_threads_give_the_same_report() {
    let scratch = scratch();
    assert_eq!(scratch.run(&["import", "old.epdb", "old.epd"]).status, 0);
    assert_eq!(scratch.run(&["pack", "new.epd", "-o", "new.epa"]).status, 0);
    let call = ["report", "--names", "V1=old.epdb,V2=new.epa", "--threads", "1"];
    let done = scratch.run(&call);
    let before_places = |text: &str| text.split("Failed").next().unwrap().to_string();
    assert_eq!(before_places(&done.out), before_places(TEXT), "{}", done.err);
    assert!(done.out.contains("old.epdb: record 4  B.2"), "{}", done.out);
    let again = scratch.run(&["report", "old.epd", "new.epd", "--json"]);
    assert_eq!(scratch.run(&["report", "old.epd", "new.epd", "--json"]).out, again.out);
}

#[test]
fn programs_get_objects_and_a_table() {
    let scratch = scratch();
    let json = scratch.run(&["report", "old.epd", "new.epd", "--json"]).out;
    let objects: Vec<serde_json::Value> =
        json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let parts: Vec<&str> = objects.iter().map(|it| it["part"].as_str().unwrap()).collect();
    let expected = ["report", "run", "run", "theme", "theme", "theme", "theme", "pair"];
    assert_eq!((&parts[..8], parts.len()), (&expected[..], 13));
    assert_eq!((&objects[0]["problems"], &objects[0]["cooks"]), (&5.into(), &1.into()));
    assert_eq!(objects[1]["facts"][0]["limit"]["nodes"], 3000);
    assert_eq!((&objects[7]["only_second"], &objects[7]["mcnemar_p"]), (&2.into(), &0.5.into()));
    let problem = &objects[8];
    assert_eq!(problem["bm"][0]["uci"], "e2e4");
    assert_eq!(problem["results"][0]["held"]["nodes"], 90);
    let table = scratch.run(&["report", "old.epd", "new.epd", "--tsv"]).out;
    let lines: Vec<Vec<&str>> = table.lines().map(|line| line.split('\t').collect()).collect();
    assert!(lines.len() == 11 && lines.iter().all(|line| line.len() == 24), "{table}");
    assert_eq!(lines[1][..3], ["V1", "A.1", "A"]);
    assert_eq!(lines[1][4..8], ["bm e4", "e4", "solved", "0"]);
    assert_eq!((&lines[3][21..], &lines[4][21..]), (&["", "", ""][..], &["-10", "", ""][..]));
    assert_eq!(lines[1][10..20], ["30", "5", "2000", "20", "10", "1", "1", "90", "2", "3"]);
}

#[test]
fn too_few_solved_are_a_difference() {
    let scratch = scratch();
    for (least, status) in [("3", 0), ("4", 1), ("75%", 0), ("75.1%", 1), ("x", 2), ("101%", 2)] {
        let done = scratch.run(&["report", "new.epd", "--min-solved", least]);
        assert_eq!(done.status, status, "{least}: {}", done.err);
        let told = match least {
            "4" | "75.1%" => "epdb: V2: 3 of 4 solved, 4 needed\n",
            _ => "",
        };
        assert!(status == 2 || done.err.ends_with(told), "{least}: {}", done.err);
        assert!(status != 0 || !done.err.contains("needed"), "{least}: {}", done.err);
    }
    scratch.write("none.epd", "8/8/8/8/8/8/8/K1k5 w - - id \"x\";\n");
    let none = scratch.run(&["report", "none.epd", "--min-solved", "1%"]);
    assert_eq!(none.status, 1, "{}", none.err);
    assert!(none.err.contains("none.epd: there are no problems, so no percentage"), "{}", none.err);
    // Every run has to.
    assert_eq!(scratch.run(&["report", "old.epd", "new.epd", "--min-solved", "3"]).status, 1);
}

#[test]
fn runs_have_names_of_their_own() {
    let scratch = scratch();
    scratch.write("new.epd.run.json", "{\"engine\":{\"label\":\"V1\"}}");
    let first = |call: &[&str]| {
        let done = scratch.run(call);
        assert!(done.status < 2, "{}", done.err);
        done.out.lines().next().unwrap().to_string()
    };
    let verdict = first(&["report", "old.epd", "new.epd"]);
    assert!(
        verdict.starts_with("V1 (new.epd) solves 2 more of 4 problems than V1 (old.epd)"),
        "{verdict}"
    );
    let verdict = first(&["report", "new.epd", "--names", "before=old.epd,after=new.epd"]);
    assert!(verdict.starts_with("after solves 2 more of 4 problems than before"), "{verdict}");
    scratch.write("bare.epd", format!("{START} bm e4; pm e4;\n"));
    assert!(first(&["report", "bare.epd"]).starts_with("bare.epd solves 1 of 1 problems"));
    let piped = scratch.run_with(&["report"], scratch.text("bare.epd"));
    assert!(piped.out.starts_with("stdin solves 1 of 1 problems"), "{}", piped.err);
    for (call, why) in [
        (&["report", "old.epd", "old.epd"][..], "named twice"),
        (&["report", "--names", "a=old.epd,a=old.epd"], "named twice"),
        (&["report", "--names", "old.epd"], "a name and a file"),
        (&["report", "missing.epd"], "missing.epd"),
        (&["report", "old.epd", "--memory", "1K"], "raise --memory,"),
    ] {
        let done = scratch.run(call);
        assert!(done.status == 2 && done.err.contains(why), "{call:?}: {}", done.err);
    }
    let many: Vec<String> = (0..17).map(|number| format!("{number}.epd")).collect();
    let call: Vec<&str> = ["report"].into_iter().chain(many.iter().map(String::as_str)).collect();
    assert!(scratch.run(&call).err.contains("at most 16"));
    scratch.write("bare.epd.run.json", "nonsense");
    let done = scratch.run(&["report", "bare.epd"]);
    assert!(done.status == 2 && done.err.contains("bare.epd.run.json"), "{}", done.err);
}

#[test]
fn lists_are_cut_and_lines_that_cannot_be_read_are_counted() {
    let scratch = scratch();
    let done = scratch.run(&["report", "old.epd", "new.epd", "-n", "1", "--theme", "c0"]);
    assert!(
        done.out.contains("Missed (3)\n") && done.out.ends_with("and 2 more (-n shows them)\n")
    );
    assert!(done.out.contains("e4=10, d4=6"), "{}", done.out);
    let none = scratch.run(&["report", "old.epd", "new.epd", "-n", "0"]).out;
    assert!(
        !none.contains("Missed (") && !none.contains("Cooks") && !none.contains("-n shows"),
        "{none}"
    );
    scratch.write("mixed.epd", format!("{START} bm e4; pm e4;\nnonsense\n"));
    let done = scratch.run(&["report", "mixed.epd"]);
    assert_eq!((done.status, done.out.starts_with("mixed.epd solves 1 of 1")), (1, true));
}

#[test]
fn a_page_is_complete_in_one_file() {
    let scratch = scratch();
    let call = ["report", "old.epd", "new.epd", "--html", "report.html"];
    let done = scratch.run(&call);
    assert_eq!(done.status, 0, "{}", done.err);
    assert!(done.out.starts_with("V2 solves 2 more of 4 problems than V1"), "{}", done.out);
    assert_eq!(done.out.lines().count(), 1);
    let page = scratch.text("report.html");
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("id=\"data\">{\"report\""));
    assert_eq!(scratch.run(&["report", "old.epd", "new.epd", "--html", "-", "-q"]).out, page);
    let least = scratch.run(&[&call[..], &["--min-solved", "2"]].concat());
    assert_eq!(least.status, 1);
    scratch.write("old.txt", scratch.text("old.epd"));
    for (html, why) in
        [("report.epd", "another suffix"), ("old.txt", "would overwrite the input old.txt")]
    {
        let done = scratch.run(&["report", "old.txt", "--html", html]);
        assert!(done.status == 2 && done.err.contains(why), "{}", done.err);
    }
    assert_eq!(scratch.run(&["report", "old.epd", "--html", "x.html", "--json"]).status, 2);
    assert!(!scratch.path("x.html").exists());
}

/// The text of report.html in a browser, and the messages of the browser.
fn opened(browser: &Path, scratch: &Scratch) -> (String, String) {
    let opened = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"])
        .args(["--disable-component-update", "--disable-sync", "--enable-logging=stderr"])
        .args(["--timeout=60000", "--dump-dom"])
        .arg(format!("--user-data-dir={}", scratch.path("profile").display()))
        .arg(format!("file://{}", scratch.path("report.html").display()))
        .output()
        .unwrap();
    [opened.stdout, opened.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).into()
}

#[test]
fn a_cell_of_the_heat_map_shows_its_board_among_many_of_one_id() {
    let Some(browser) = browser() else { return skipped("no chromium is installed") };
    let scratch = Scratch::new();
    scratch.write("same.epd", format!("{START} bm e4; id \"x\"; pm d4;\n").repeat(40));
    assert_eq!(scratch.run(&["report", "same.epd", "--html", "report.html"]).status, 0);
    let click = "<script>document.querySelectorAll(\"#heat button\")[35].click()</script></body>";
    scratch.write("report.html", scratch.text("report.html").replace("</body>", click));
    let (page, log) = opened(&browser, &scratch);
    if page.is_empty() {
        return skipped("the browser shows no page here");
    }
    assert!(!log.contains("CONSOLE"), "{log}");
    assert_eq!(page.matches("class=\"problem\"").count(), 24);
    assert!(page.contains("id=\"problem-35\""), "the board of the cell is there");
}

#[test]
fn the_script_of_the_page_runs() {
    let Some(browser) = browser() else { return skipped("no chromium is installed") };
    let scratch = scratch();
    scratch.write("evil.epd", format!("{START} bm e4; id \"</script><b id='evil'>.1\"; pm d4;\n"));
    let call = ["report", "old.epd", "new.epd", "evil.epd", "--html", "report.html"];
    assert_eq!(scratch.run(&call).status, 0);
    let (page, log) = opened(&browser, &scratch);
    if page.is_empty() {
        return skipped("the browser shows no page here");
    }
    assert!(page.contains("data-ready=\"true\""), "{log}");
    assert!(!log.contains("CONSOLE"), "{log}");
    assert_eq!(page.matches("class=\"problem\"").count(), 4, "each missed position has a board");
    assert_eq!(page.matches("role=\"option\"").count(), 6, "each position has a cell");
    assert!(!page.contains("<b id=\"evil\""), "what comes from files is text");
}

#[test]
fn reports_and_statistics_are_readable_in_light_and_dark_wide_and_narrow() {
    let [browser, node, scripts] = match tools() {
        Ok(tools) => tools,
        Err(why) => return skipped(&format!("reports are not opened: {why}")),
    };
    let scratch = scratch();
    let games = "[White \"A\"]\n[Black \"B\"]\n[Result \"1-0\"]\n\n1. e4 e5 2. Qh5 1-0\n";
    scratch.write("games.pgn", games);
    for call in [
        &["report", "old.epd", "new.epd", "--html", "report.html"][..],
        &["stats", "old.epd", "--html", "records.html"],
        &["stats", "games.pgn", "--html", "games.html"],
    ] {
        let done = scratch.run(call);
        assert_eq!(done.status, 0, "{}", done.err);
    }
    let pages = ["report.html", "records.html", "games.html"].map(|name| scratch.path(name));
    let read = Command::new(node).arg(scripts.join("pages.mjs")).arg(browser).args(pages).output();
    let read = read.unwrap();
    assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stderr));
}

#[test]
fn files_of_one_name_are_one_run() {
    let scratch = scratch();
    for (name, answer) in [("more-old.epd", "d4"), ("more-new.epd", "e4")] {
        scratch.write(name, format!("{START} bm e4; id \"C.1\"; pm {answer};\n"));
    }
    scratch.write("more-old.epd.run.json", "{\"limit\":{\"nodes\":9}}");
    let names = "V1=old.epd,V2=new.epd,V1=more-old.epd,V2=more-new.epd";
    let done = scratch.run(&["report", "--names", names]);
    assert!(
        done.out.starts_with("V2 solves 3 more of 5 problems than V1 (4 against 1)"),
        "{}",
        done.err
    );
    assert!(
        done.out.contains("note: V1: its files are of different engines or limits\n"),
        "{}",
        done.out
    );
    let page = scratch.run(&["report", "-q", "--names", names, "--html", "-"]).out;
    assert!(page.contains("old.epd, more-old.epd: suite report</title>"));
    assert!(page.contains("<code>more-new.epd</code>"));
}
