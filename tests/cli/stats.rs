//! The page of `epdb stats`.

use crate::scratch::Scratch;

const GAMES: &str = "[White \"A\"]\n[Black \"B\"]\n[Date \"1995.11.26\"]\n[WhiteElo \"2500\"]\n[BlackElo \"2410\"]\n\
     [Opening \"Sicilian Defense: Najdorf\"]\n[Result \"1-0\"]\n\n1. e4 {[%eval 0.3]} c5 {[%eval 0.5]} 1-0\n\n\
     [White \"C\"]\n[Black \"D\"]\n[Date \"1996.??.??\"]\n[ECO \"D06\"]\n[Result \"1/2-1/2\"]\n\n1. d4 d5 2. c4 1/2-1/2\n\n";

/// The page of some files, and what is printed.
fn page(scratch: &Scratch, files: &[&str]) -> (String, String) {
    let done = scratch.run(&[&["stats"], files, &["--html", "page.html"]].concat());
    assert_eq!((done.status, done.out.as_str()), (0, ""), "{}", done.err);
    (scratch.text("page.html"), done.err)
}

fn has(page: &str, charts: &[&str]) {
    for chart in charts {
        assert!(page.contains(&format!("<figcaption>{chart}</figcaption>")), "{chart}");
    }
}

// README: `stats`, `count`
#[test]
fn a_page_of_games_has_charts_of_their_tags_and_evaluations() {
    let scratch = Scratch::with("g.pgn", GAMES);
    let (page, told) = page(&scratch, &["g.pgn"]);
    assert!(told.contains("2 games, 5 plies\n"), "{told}");
    has(&page, &["Results by year", "Results by rating", "Openings by year", "Plies of a game"]);
    assert!(page.contains("Sicilian Defense<") && page.contains(">D06<"));
    assert!(page.contains("id=\"data\">{\"games\":{\"games\":2,"));
    let positions = scratch.run(&["stats", "g.pgn", "--positions=all", "--html", "-"]);
    has(&positions.out, &["Pieces on the board", "Ply", "Results by year"]);
}

#[test]
fn a_page_of_a_library_has_charts_of_its_own_counts() {
    let scratch = Scratch::with("g.pgn", GAMES);
    for library in ["l.epdb", "l.epa"] {
        scratch.run(&["tally", "g.pgn", "-o", library, "--by", "year,rating"]);
        let (own, told) = page(&scratch, &[library]);
        assert!(told.contains("6 positions, 2 counted games\n"), "{told}");
        let charts = [
            "Results by year",
            "Results by rating",
            "Results on the most-played line",
            "First moves by year",
        ];
        has(&own, &charts);
        assert!(
            own.contains("1995, 1. e4: 1, 100.0 %")
                && own.contains(
                    "<th scope=\"row\" class=\"wrap\">White won</th><td>1</td><td>50.0 %</td>"
                )
        );
        assert!(!own.contains("Pieces on the board"));
        let (all, _) = page(&scratch, &[library, "--census"]);
        has(&all, &charts);
        has(&all, &["Pieces on the board"]);
    }
}

#[test]
fn a_page_of_a_suite_has_charts_of_its_operations() {
    let lines =
        "4k3/8/8/8/4P3/8/8/4K3 b - - ce -30; acd 20; fmvn 9; c9 \"1-0\"; eco \"B20\";\n".repeat(4);
    let scratch = Scratch::with("s.epd", lines);
    let (page, told) = page(&scratch, &["s.epd"]);
    assert!(told.contains("4 records, 1 different position\n"), "{told}");
    has(&page, &["Pieces on the board", "Ply", "White\u{2019}s score in centipawns", "Depth"]);
    assert!(
        page.contains("All results")
            && page.contains("Records by opcode")
            && page.contains(">B20<")
    );
    let refused = scratch.run(&["stats", "s.epd", "--html", "x.html", "--json"]);
    assert_eq!(refused.status, 2);
    let refused = scratch.run(&["stats", "s.epd", "--html", "x.epd"]);
    assert!(refused.err.contains("another suffix"), "{}", refused.err);
}
