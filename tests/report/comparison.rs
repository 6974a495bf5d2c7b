//! Runs side by side.

use epdb_chess::model::Opcode;
use epdb_engine::report::{Report, Row, Run};

use crate::{place, record, run};

fn ids<'r>(report: &Report<'r>, is_wanted: fn(&Row<'r>) -> bool) -> Vec<String> {
    let rows = report.joined.rows.iter().filter(|row| is_wanted(row));
    rows.map(|row| row.problem().unwrap().id.clone().unwrap_or_default()).collect()
}

#[test]
fn runs_are_joined_by_id_and_set_apart() {
    let old = run(
        "old",
        &[
            "bm e4; pm e4; id \"A.1\";",
            "bm e4; pm d4; id \"A.2\";",
            "bm e4; pm c4; id \"A.3\";",
            "bm e4; pm c4; id \"A.4\";",
            "bm e4; pm e4; id \"A.5\";",
            "pm e4; id \"A.6\";",
        ],
    );
    let new = run(
        "new",
        &[
            "bm e4; pm e4; id \"A.3\";",
            "bm e4; pm e4; id \"A.1\";",
            "bm e4; pm d4; id \"A.2\";",
            "bm e4; pm e4; id \"A.4\";",
            "bm e4; pm d4; id \"A.7\";",
            "bm e4; pm d4; id \"A.6\";",
        ],
    );
    let runs = [old, new];
    let report = Report::new(&runs);
    let pair = &report.pairs[0];
    assert_eq!((pair.both, pair.only_first, pair.only_second, pair.neither), (1, 0, 2, 1));
    assert_eq!((pair.p, pair.holm, pair.points), (Some(0.5), Some(0.5), None));
    assert_eq!(ids(&report, Row::is_cook), ["A.2"]);
    assert_eq!(report.joined.rows.len(), 7);
    assert_eq!(report.joined.incomplete, 2);
    assert_eq!(
        report.verdict,
        "new solves 2 more of 4 problems than old (3 against 1), which chance may explain (exact \
         McNemar p = 0.5000)."
    );
    assert_eq!(report.notes[0], "problems that are not in all runs: 2");
}

#[test]
fn without_ids_positions_join_in_their_order() {
    let one = run("one", &["bm e4; pm e4;", "bm d4; pm e4;"]);
    let other = run("other", &["bm e4; pm d4;", "bm d4; pm d4;", "bm c4; pm d4;"]);
    let runs = [one, other];
    let report = Report::new(&runs);
    let pair = &report.pairs[0];
    assert_eq!((pair.only_first, pair.only_second, pair.common()), (1, 1, 2));
    assert_eq!(report.verdict, "one and other both solve 1 of 2 problems, 1 of them each alone.");
}

/// A run over whole records.
fn run_of(label: &str, lines: &[&str]) -> Run {
    let mut run = Run::new(label.into(), Vec::new(), Opcode::ID);
    for (line, number) in lines.iter().zip(1..) {
        let record = epdb_chess::parse_epd(line.as_bytes()).unwrap();
        run.add(&record, 0, &place(number), &mut (1 << 20)).unwrap();
    }
    run
}

#[test]
fn problems_of_one_id_are_distinguished_by_position() {
    let [near, far] = ["4k3/8/8/8/8/8/4P3/4K3 w - -", "4k3/8/8/8/8/8/P7/4K3 w - -"];
    let one = [format!("{near} bm e4; id x; pm e4;"), format!("{far} bm a4; id x; pm a4;")];
    let other = [format!("{far} bm a4; id x; pm a3;"), format!("{near} bm e4; id x; pm e4;")];
    let lines = |lines: &'_ [String; 2]| run_of("r", &[&lines[0], &lines[1]]);
    let runs = [lines(&one), lines(&other)];
    let report = Report::new(&runs);
    let pair = &report.pairs[0];
    assert_eq!((pair.both, pair.only_first, pair.common()), (1, 1, 2));
    assert_eq!((report.joined.of_different_positions, report.joined.incomplete), (0, 0));
}

#[test]
fn problems_join_by_a_unique_position_if_ids_are_ambiguous() {
    let [near, far] = ["4k3/8/8/8/8/8/4P3/4K3 w - -", "4k3/8/8/8/8/8/P7/4K3 w - -"];
    let named = [format!("{near} bm e4; id x; pm e4;"), format!("{far} bm a4; id y; pm a4;")];
    let bare = [format!("{far} bm a4; pm a3;"), format!("{near} bm e4; id z; pm e4;")];
    let lines = |lines: &'_ [String; 2]| run_of("r", &[&lines[0], &lines[1]]);
    let runs = [lines(&named), lines(&bare), lines(&named)];
    let report = Report::new(&runs);
    assert_eq!((report.joined.rows.len(), report.joined.incomplete), (2, 0));
    assert_eq!((report.pairs[0].both, report.pairs[0].only_first), (1, 1));
    // The start array is there several times, so it joins nothing by itself.
    let runs = [run("a", &["bm e4; id x;", "bm d4; id y;"]), run("b", &["bm e4; id z;"])];
    assert_eq!(Report::new(&runs).joined.rows.len(), 3);
}

#[test]
fn different_positions_of_one_id_are_noted_and_not_compared() {
    let one = run("one", &["bm e4; id x; pm d4; c0 \"e4=9, d4=3\";"]);
    let other =
        run_of("other", &["4k3/8/8/8/8/8/3PP3/4K3 w - - bm e4; id x; pm d4; c0 \"e4=9, d4=3\";"]);
    let runs = [one, other];
    let report = Report::new(&runs);
    let pair = &report.pairs[0];
    assert_eq!((pair.common(), pair.points, pair.p, pair.holm), (0, None, None, None));
    assert_eq!(report.verdict, "one and other have no scored problem in common.");
    assert_eq!(report.notes, ["ids that name different positions: 1"]);
    assert!(ids(&report, Row::is_cook).is_empty());
}

#[test]
fn a_cook_is_one_of_the_runs_that_have_it() {
    let elsewhere = run_of("elsewhere", &["4k3/8/8/8/8/8/4P3/4K3 w - - bm e4; id y; pm e4;"]);
    let cook = |label| run(label, &["bm e4; id x; pm d4;"]);
    let runs = [elsewhere.clone(), cook("one"), cook("other")];
    assert_eq!(ids(&Report::new(&runs), Row::is_cook), ["x"]);
    let runs = [elsewhere, cook("one")];
    assert!(ids(&Report::new(&runs), Row::is_cook).is_empty());
}

#[test]
fn the_verdict_of_several_mentions_ties_and_missing_overlap() {
    let [good, equal] = ["good", "equal"].map(|label| run(label, &["bm e4; pm e4; id x;"]));
    let bad = run("bad", &["bm e4; pm d4; id x;"]);
    let runs = [bad.clone(), good.clone(), equal];
    assert_eq!(
        Report::new(&runs).verdict,
        "Of 3 runs these solve the same share, which is the largest: good (1 of 1), equal (1 of 1)."
    );
    let apart = run_of("apart", &["4k3/8/8/8/8/8/4P3/4K3 w - - bm e4; id y; pm d4;"]);
    let nothing = run("nothing", &["id x;"]);
    let runs = [apart, nothing.clone(), good];
    let report = Report::new(&runs);
    assert_eq!(
        report.verdict,
        "Of 3 runs good solves the largest share, 1 of 1 problems; apart is next with 0 of 1, without \
         a scored problem in common."
    );
    assert!(report.pairs.iter().all(|pair| pair.p.is_none() && pair.holm.is_none()));
    let runs = [nothing.clone(), nothing.clone(), nothing];
    assert_eq!(Report::new(&runs).verdict, "None of 3 runs has a problem that can be scored.");
    let runs = [bad.clone(), bad, run("new", &["bm e4; pm e4; id x;"])];
    assert!(Report::new(&runs).verdict.contains("by Holm over 3 pairs"));
}

#[test]
fn points_are_compared_by_bootstrap() {
    let solver = |label, answer: &str| {
        let problems: Vec<String> = (0..30)
            .map(|number| format!("bm e4; c0 \"e4=10, d4=4\"; pm {answer}; id \"A.{number}\";"))
            .collect();
        run(label, &problems.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let runs = [solver("good", "e4"), solver("fair", "d4"), solver("bad", "a4")];
    let report = Report::new(&runs);
    let points = report.pairs[0].points.unwrap();
    assert_eq!((points.first.got, points.second.got, points.first.of), (300, 120, 300));
    assert_eq!((points.interval.low, points.interval.high), (-180.0, -180.0));
    assert_eq!(report.pairs.len(), 3);
    assert_eq!(report.pairs[0].p, Some(2f64.powi(-29)));
    assert_eq!(report.pairs[0].holm, Some(3.0 * 2f64.powi(-29)));
    assert_eq!(report.pairs[2].p, Some(1.0));
    assert_eq!(
        report.verdict,
        "Of 3 runs good solves the largest share, 30 of 30 problems; fair is next with 0 of 30, more than chance \
         explains (exact McNemar p < 0.0001, p < 0.0001 by Holm over 3 pairs)."
    );
    let two = Report::new(&runs[..2]);
    assert!(
        two.verdict.ends_with("; in points good is 180 of 300 ahead (95 % interval +180 to +180).")
    );
}

#[test]
fn doubts_about_a_comparison_are_reported() {
    let mut one = run("one", &["bm e4; pm e4; id x;", "bm Qh9; id y;"]);
    let other = run("other", &["bm d4; pm e4; id x;", "bm d4; run_error \"silent\"; id z;"]);
    let elsewhere = "4k3/8/8/8/8/8/4P3/4K3 w - - bm e4; id z;";
    one.add(&epdb_chess::parse_epd(elsewhere.as_bytes()).unwrap(), 0, &place(3), &mut (1 << 20))
        .unwrap();
    one.add(&record("c0 \"e4=3, Qh5=1\"; id w;"), 0, &place(4), &mut (1 << 20)).unwrap();
    let runs = [one, other];
    let notes = Report::new(&runs).notes.join("\n");
    for note in [
        "problems that are not in all runs: 2",
        "ids that name different positions: 1",
        "problems that ask for different moves: 2",
        "one: records that cannot be scored: 1",
        "one: records without points, for these name a move that is not legal: 1",
        "other: searches that failed: 1",
    ] {
        assert!(notes.contains(note), "{note} is not in\n{notes}");
    }
}

#[test]
fn runs_without_anything_to_compare_say_so() {
    let runs = [run("a", &["id x;"]), run("b", &["bm e4; pm e4; id x;"])];
    assert_eq!(Report::new(&runs).verdict, "a and b have no scored problem in common.");
    assert_eq!(Report::new(&runs[..1]).verdict, "a has no problem that can be scored.");
    assert_eq!(
        Report::new(&runs[1..]).verdict,
        "b solves 1 of 1 problems (100.0 %, 95 % interval 20.7 to 100.0 %)."
    );
    assert!(Report::new(&[]).pairs.is_empty());
}
