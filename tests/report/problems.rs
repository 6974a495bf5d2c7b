//! Judging and counting of problems.

use epdb_chess::model::answer::Verdict::{self, Defective, Missed, Solved, Unscored};
use epdb_chess::model::{EpdRecord, Opcode};
use epdb_engine::report::{Axis, Effort, Points, Problem, Reading, Report, Theme};
use epdb_library::run_file::{RunFile, RunLimit};

use crate::{place, record, run, run_with};

fn problem(operations: &str) -> Problem {
    Problem::new(&record(operations), &place(1), &Reading::default())
}

/// A mate in one, or in more, for White.
fn mate(operations: &str) -> EpdRecord {
    let position = "7k/8/6K1/8/8/8/8/R7 w - -";
    epdb_chess::parse_epd(format!("{position} {operations}").as_bytes()).unwrap()
}

#[test]
fn moves_solve_or_miss() {
    for (operations, expected) in [
        ("bm Nf3 e4; pm e4;", Solved),
        ("bm Nf3; pm e4;", Missed),
        ("am e4; pm e4;", Missed),
        ("am e4; pm d4;", Solved),
        ("am a3; bm d4; pm d4;", Solved),
        ("am d4; bm d4; pm d4;", Missed),
        ("bm; pm e4;", Unscored),
        ("pm e4;", Unscored),
        ("bm e4; pv e4 e5;", Solved),
        ("bm e4; sm d4;", Missed),
        ("bm e4;", Missed),
        ("bm Qxh7; pm e4;", Defective),
    ] {
        assert_eq!(problem(operations).verdict, expected, "{operations}");
    }
}

#[test]
fn mates_are_targets() {
    for (operations, expected) in [
        ("bm #1; pm Ra8#; ce 32766;", Solved),
        ("bm #2; pm Ra2; ce 32762;", Missed),
        ("dm 1; pm Ra8#; ce 32766;", Solved),
        ("dm 1; pm Ra2; ce 32764;", Missed),
        ("dm 2; pm Ra2; ce 500;", Missed),
        // Without a score the moves tell, and a `dm` is what is asked for.
        ("dm 1; pm Ra8#;", Solved),
        ("dm 1; pm Ra8#; pv;", Solved),
        ("dm 2; pv Ra7 Kg8 Ra8#;", Solved),
        ("bm #2; pv Ra7 Kg8 Ra8#;", Solved),
        ("bm #1; pv Ra7 Kg8 Ra8#;", Missed),
        ("dm 2; pv Ra7 Kg8;", Missed),
        ("dm 2; pv Ra7;", Missed),
        ("bm #1; dm 1; id x;", Missed),
        ("dm 1;", Missed),
        // Results next to a failure are older.
        ("bm #1; pm Ra8#; ce 32766; run_error silent;", Missed),
        ("bm Ra8#; pv Ra8#; run_error silent;", Missed),
        ("dm 1; pv Ra8#; ce 32766; run_error silent;", Missed),
    ] {
        let problem = Problem::new(&mate(operations), &place(1), &Reading::default());
        assert_eq!(problem.verdict, expected, "{operations}");
    }
    let illegal =
        epdb_chess::parse_epd(b"7k/7R/8/8/8/8/8/K6R w - - bm #9; ce -32768; pv;").unwrap();
    let illegal = Problem::new(&illegal, &place(1), &Reading::default());
    assert_eq!(
        (illegal.verdict, illegal.defect.as_deref()),
        (Defective, Some("the position is illegal"))
    );
    let stated = Reading { is_mate_search: true, ..Reading::default() };
    assert_eq!(Problem::new(&mate("id x;"), &place(1), &stated).verdict, Unscored);
    let searched = Reading { has_mate_length: true, ..stated };
    assert_eq!(Problem::new(&mate("id x;"), &place(1), &searched).verdict, Missed);
    assert_eq!(problem("dm 3;").targets(), "dm 3");
    assert_eq!(problem("bm e4; dm 3;").targets(), "bm e4");
}

#[test]
fn old_answers_do_not_count_in_a_search_for_mates() {
    let searched = Reading { is_mate_search: true, has_mate_length: true, ..Reading::default() };
    let read = |operations: &str| Problem::new(&mate(operations), &place(1), &searched);
    for (operations, expected) in [
        ("acms 3; ce 32766; dm 1; pm Ra8#; pv Ra8#;", Solved),
        ("ce 32766; dm 1; pm Ra8#; pv Ra8#;", Missed),
        ("bm #1; ce 32766; pv Ra8#;", Missed),
        ("bm Ra8#; pv Ra8#;", Missed),
        ("ce 32766; pv Ra8#;", Missed),
    ] {
        assert_eq!(read(operations).verdict, expected, "{operations}");
    }
    let old = read("c0 \"Ra8#=5\"; ce 32766; dm 1; pv Ra8#;");
    assert_eq!((old.answer, old.ce, old.line_of_play.as_str()), (None, None, ""));
    assert_eq!(old.points.map(|points| points.got), Some(0));
    let failed = problem("bm e4; ce 30; pm e4; pv e4; run_error silent;");
    assert_eq!((failed.answer, failed.ce, failed.verdict), (None, None, Missed));
}

#[test]
fn points_stand_in_c0_or_in_c7_and_c8() {
    let points = |operations: &str| problem(operations).points.map(|Points { got, of }| (got, of));
    assert_eq!(points("bm e4; c0 \"e4=10, Nf3=7, d4=3\"; pm Nf3;"), Some((7, 10)));
    assert_eq!(points("bm e4; c0 \"e4=10, Nf3=7\"; pm a3;"), Some((0, 10)));
    assert_eq!(points("bm e4; c0 \"e4=10, Nf3=7\";"), Some((0, 10)));
    assert_eq!(points("bm e4; c7 \"e4 Nf3\"; c8 \"100 46\"; pm Nf3;"), Some((46, 100)));
    assert_eq!(points("bm e4; c0 \"from a game\"; pm e4;"), None);
    assert_eq!(points("bm e4; c0 \"elo=2000\"; pm e4;"), None);
    assert_eq!(points("bm e4; c7 \"e4 Nf3\"; c8 \"100\"; pm e4;"), None);
    let short = problem("bm e4; c7 \"e4 Nf3\"; c8 \"100\"; pm e4;").wrong_points;
    assert_eq!(short.as_deref(), Some("c7 has 2 moves, and c8 has points for 1"));
    let wrong = problem("bm e4; c0 \"e4=10, Qh5=3\"; pm e4;");
    assert_eq!((wrong.points, wrong.verdict), (None, Solved));
    assert!(wrong.wrong_points.unwrap().contains("`Qh5`"));
    let promotion = "8/P6k/8/8/8/8/7K/8 w - - c0 \"a8=Q=10, a8=R=4\"; pm a8=R;";
    let promotion = epdb_chess::parse_epd(promotion.as_bytes()).unwrap();
    let points = Problem::new(&promotion, &place(1), &Reading::default()).points;
    assert_eq!(points, Some(Points { got: 4, of: 10 }));
}

#[test]
fn themes_come_from_ids_or_from_another_operation() {
    for (id, theme) in [
        ("WAC.001", "WAC"),
        ("STS(v10.0) Simplification.017", "STS(v10.0) Simplification"),
        ("pos-12", "pos"),
        ("12", ""),
        ("no number", ""),
    ] {
        assert_eq!(problem(&format!("id \"{id}\";")).theme, theme, "{id}");
    }
    let by_comment = Reading { theme: Opcode::C0, ..Reading::default() };
    let problem = Problem::new(&record("c0 \"forks 2\"; id \"WAC.1\";"), &place(1), &by_comment);
    assert_eq!(problem.theme, "forks 2");
}

#[test]
fn efforts_are_read_as_runs_write_them() {
    let solved =
        problem("bm e4; pm e4; acms 61; acs 0; acd 9; solve_first 10 2 3; solve_held 40 5 6;");
    assert_eq!((solved.milliseconds, solved.depth), (Some(61), Some(9)));
    assert_eq!(solved.first, Some(Effort { nodes: 10, ms: 2, depth: 3 }));
    assert_eq!(solved.held, Some(Effort { nodes: 40, ms: 5, depth: 6 }));
    let missed = problem("bm e4; pm d4; acs 3; acms x; solve_first 10 2; solve_held 40 5 6;");
    assert_eq!((missed.milliseconds, missed.first, missed.held), (Some(3000), None, None));
}

#[test]
fn a_run_is_counted() {
    let run = run(
        "a",
        &[
            "bm e4; pm e4; id \"A.1\"; acn 100; acms 10; ce 32; solve_held 50 5 3;",
            "bm e4; pm e4; id \"A.2\"; acn 300; acms 10; ce 32766; solve_held 90 9 4;",
            "bm e4; pm d4; id \"B.1\"; acn 200; ce -32765; c0 \"e4=10, d4=4\";",
            "bm e4; run_error \"the engine ended\"; id \"B.2\";",
            "bm Qh8; id \"B.3\";",
            "id \"B.4\"; acn 18446744073709551615;",
        ],
    );
    let counts = run.counts();
    assert_eq!((counts.records, counts.solved, counts.missed, counts.unscored), (6, 2, 2, 1));
    assert_eq!((counts.defective, counts.unanswered, counts.failed), (1, 1, 1));
    assert_eq!(counts.points.map(|sum| (sum.problems, sum.got, sum.of)), Some((1, 4, 10)));
    assert_eq!(counts.share(), Some(0.5));
    let measures = run.measures();
    assert_eq!(measures.nodes_per_second, Some(20_000));
    assert_eq!(measures.nodes.unwrap().sum, i128::from(u64::MAX) + 600);
    assert_eq!(measures.score.unwrap().count, 1);
    assert_eq!(measures.mates.unwrap().max, 1);
    assert_eq!(measures.mated.unwrap().max, 1);
    assert_eq!(run.efforts(Axis::Nodes, false), [50, 90]);
    assert_eq!([1, 2, 3].map(|it| run.quarters_within(it, Axis::Time)), [Some(5), Some(9), None]);
    let runs = [run];
    let report = Report::new(&runs);
    let solved = |theme: &Theme<'_>| theme.runs[0].map_or(0, |counts| counts.solved);
    let mates =
        crate::run("mates", &["dm 3;", "dm 3; pm e4;", "bm e4; dm 2;"]).measures().dm.unwrap();
    assert_eq!((mates.count, mates.max, mates.bins[0].count), (2, 3, 2));
    let themes: Vec<(&str, u64)> =
        report.themes().iter().map(|theme| (theme.name, solved(theme))).collect();
    assert_eq!(themes, [("A", 2), ("B", 0)]);
}

#[test]
fn nothing_scored_is_no_share() {
    let nothing = run("a", &["id x;"]).counts();
    assert_eq!((nothing.share(), nothing.interval()), (None, None));
    // A record that states no mate is a problem only if the search had a length for it.
    for (mate, missed) in [(None, 0), (Some(3), 1)] {
        let limit = RunLimit { mate, ..RunLimit::default() };
        let facts = RunFile { verb: Some("mate".into()), limit, ..RunFile::default() };
        let searched = run_with("a", &["id x;"], Some(facts)).counts();
        assert_eq!((searched.scored(), searched.missed), (missed, missed));
    }
}

#[test]
fn problems_stay_within_the_memory() {
    let mut run = run("a", &[]);
    let mut memory = 2000;
    let results: Vec<bool> =
        (0..9).map(|_| run.add(&record("bm e4;"), 0, &place(1), &mut memory).is_ok()).collect();
    assert!(results[0] && !results[8], "{results:?}");
    let error = run.add(&record("bm e4;"), 0, &place(1), &mut 0).unwrap_err().to_string();
    assert!(error.contains("a.epd") && error.contains("raise --memory,"), "{error}");
    assert_eq!(problem("bm e4;").verdict, Verdict::Missed);
}
