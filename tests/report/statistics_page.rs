//! The page of statistics: its charts, which data they need, and escaping of text from files.

use std::collections::BTreeMap;

use epdb_engine::report::html::{CountTable, StatisticsPage, statistics_page};
use epdb_library::breakdown::{Breakdown, OpeningResults, Results};

const EVIL: &str = "</script><img src=x onerror=alert(1)>&\"'{{data}}";

fn results(white: u64, draws: u64, black: u64) -> Results {
    Results { white, draws, black, unknown: 0 }
}

/// Games of many years, ratings and openings.
fn breakdown() -> Breakdown {
    let mut breakdown = Breakdown { all: results(50, 30, 20), ..Breakdown::default() };
    for year in 1900..2000 {
        breakdown.results_by_year.insert(year, results(2, 1, 1));
    }
    breakdown.results_by_rating.insert(2400, results(3, 1, 0));
    for nth in 1..=9 {
        let by_year = BTreeMap::from([(1990, nth)]);
        let counts = results(nth, 0, 0);
        let name = format!("Opening {nth} {EVIL}");
        breakdown.openings.insert(name, OpeningResults { counts, by_year });
    }
    for ply in 0..4 {
        breakdown.scores_by_ply.insert(ply, BTreeMap::from([(-50, 1), (0, 2), (20, 1)]));
    }
    breakdown.scores.insert(20, 4);
    breakdown
}

fn page(breakdown: &Breakdown) -> String {
    let counts = CountTable { title: EVIL.into(), rows: vec![["  games".into(), "100".into()]] };
    statistics_page(&StatisticsPage {
        subject: EVIL,
        heading: EVIL,
        notes: &[EVIL.to_string()],
        counts: &[counts],
        opcodes: vec![("id".into(), 3), ("bm".into(), 7)],
        pieces: vec![(2, 0), (32, 7)],
        breakdown,
        data: &EVIL,
    })
    .unwrap()
}

/// The captions of the charts.
fn charts(page: &str) -> Vec<&str> {
    let parts = page.split("<figcaption>").skip(1);
    parts.map(|part| part.split('<').next().unwrap()).collect()
}

#[test]
fn each_kind_of_data_has_a_chart_with_a_table() {
    let page = page(&breakdown());
    let expected = [
        "Results by year",
        "Results by rating",
        "Openings by year",
        "Pieces on the board",
        "White\u{2019}s score in centipawns",
        "White\u{2019}s score by ply, in pawns",
    ];
    assert_eq!(charts(&page), expected);
    let twins = page.matches("<summary>As a table</summary>\n<div class=\"scroll\"><table").count();
    assert_eq!(twins, expected.len());
    assert_eq!(page.matches("role=\"img\" aria-label=").count(), expected.len());
    for id in ["counts", "results", "openings", "positions", "scores", "opcodes"] {
        assert!(page.contains(&format!("<a href=\"#{id}\">")), "{id}");
    }
    // A hundred years are shown in groups of five: 5 × (2, 1, 1) games.
    assert!(page.contains(
        "<th scope=\"row\" class=\"wrap\">1995</th><td>10</td><td>5</td><td>5</td><td>20</td>"
    ));
    // Nine openings: the seven most frequent ones and the others, with 1 + 2 games.
    assert!(page.contains("1990, Others: 3, 6.7 %"));
    assert!(
        page.contains("<td>\u{2212}0.50</td>")
            || page.contains("<td>-0.50</td><td>+0.00</td><td>+0.00</td>")
    );
}

#[test]
fn codes_of_openings_are_taken_together_by_volume() {
    let mut breakdown = Breakdown::default();
    for code in ["B20", "B90", "E60", "X99"] {
        let by_year = BTreeMap::from([(1990, 1)]);
        let opening = OpeningResults { counts: results(1, 0, 0), by_year };
        breakdown.openings.insert(code.into(), opening);
    }
    let page = page(&breakdown);
    for bar in ["B: semi-open games: 2, 50.0 %", "E: Indian defences: 1, 25.0 %", "X99: 1, 25.0 %"]
    {
        assert!(page.contains(&format!("1990, {bar}")), "{bar}");
    }
    assert!(page.contains(">B90</th>"));
}

#[test]
fn what_is_unknown_has_no_chart() {
    let page = page(&Breakdown::default());
    assert_eq!(charts(&page), ["Pieces on the board"]);
    assert!(!page.contains("id=\"results\"") && !page.contains("id=\"scores\""));
}

#[test]
fn the_page_of_statistics_loads_nothing_and_files_cannot_write_into_it() {
    let page = page(&breakdown());
    assert!(page.contains("content=\"default-src 'none';"));
    assert_eq!((page.matches("<script").count(), page.matches("</script").count()), (2, 2));
    assert!(!page.contains("<img") && page.matches("id=\"data\"").count() == 1);
    let page = page.replace("\"http://www.w3.org/2000/svg\"", "");
    for word in [" src=\"", "url(", "@import", "http:", "https:", "fetch(", "XMLHttp"] {
        assert!(!page.contains(word), "{word}");
    }
}
