//! The page: its files, and its use in a browser.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::browser::tools;
use crate::scratch::Scratch;
use crate::server::Running;
use crate::skipped::skipped;

/// The content policy of the page.
const POLICY: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' data:; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

fn game(tags: &str, moves: &str) -> String {
    let result = moves.rsplit(' ').next().unwrap();
    format!("{tags}\n[Result \"{result}\"]\n\n{moves}\n\n")
}

/// Eight games, of which one reaches the position after 1. d4 Nf6 2. c4 by another order of moves.
fn games() -> String {
    let players = |white: &str, black: &str, date: &str, elos: [u16; 2]| {
        let [white_elo, black_elo] = elos;
        format!(
            "[White \"{white}\"]\n[Black \"{black}\"]\n[Date \"{date}\"]\n[WhiteElo \"{white_elo}\"]\n\
             [BlackElo \"{black_elo}\"]"
        )
    };
    let one =
        |white, black, date, elos, moves: &str| game(&players(white, black, date, elos), moves);
    [
        one(
            "Anders",
            "Berta",
            "2019.05.11",
            [2700, 2650],
            "1. e4 c5 2. Nf3 d6 3. d4 cxd4 4. Nxd4 Nf6 5. Nc3 a6 1-0",
        ),
        one("Carla", "Dirk", "2020.02.01", [2300, 2350], "1. e4 c5 2. Nf3 Nc6 1/2-1/2"),
        one(
            "Emil",
            "Frida",
            "2021.07.01",
            [2100, 2150],
            "1. e4 e5 2. Nf3 Nc6 3. Bc4 Bc5 4. O-O 1-0",
        ),
        one("Emil", "Gerd", "2021.07.02", [2100, 2250], "1. d4 Nf6 2. c4 e6 1-0"),
        one("Hanna", "Gerd", "2021.07.03", [2400, 2250], "1. d4 Nf6 2. c4 g6 1/2-1/2"),
        one("Hanna", "Ivan", "2021.07.04", [2400, 2290], "1. d4 Nf6 2. c4 c5 0-1"),
        one("Jutta", "Ivan", "2022.01.04", [2400, 2290], "1. c4 Nf6 2. d4 e6 1/2-1/2"),
        one("Kurt", "Lena", "2022.01.05", [1500, 1600], "1. f3 e5 2. g4 Qh4# 0-1"),
    ]
    .concat()
}

/// A game each of two speeds.
fn own_games() -> String {
    let tags = |control: &str| {
        format!(
            "[White \"I\"]\n[Black \"You\"]\n[Date \"2025.01.01\"]\n[WhiteElo \"1700\"]\n[BlackElo \"1750\"]\n\
             [TimeControl \"{control}\"]"
        )
    };
    game(&tags("180+2"), "1. e4 c5 1-0") + &game(&tags("900+10"), "1. e4 e5 0-1")
}

const SUITE: &str = "\
r1bqkbnr/pppp1ppp/2n5/1B2p3/4P3/5N2/PPPP1PPP/RNBQK2R b KQkq - am f6; bm a6; c0 \"the Spanish\"; ce 34; \
ce_leaf \"r1bqkbnr/1ppp1ppp/p1n5/4p3/B3P3/5N2/PPPP1PPP/RNBQK2R b KQkq -\"; ce_own 20; ce_plies 2; id \"S.1\"; \
pm a6; pv a6 Ba4 Nf6;
7k/P7/8/8/8/8/8/7K w - - dm 4; id \"S.2\";
";

const FISCHER: &str = "\
1r3kr1/pppppppp/8/8/8/8/PPPPPPPP/1R3KR1 w GBgb - bm O-O; id \"F.1\";
1r3kr1/pppppppp/8/8/8/8/PPPPPPPP/1R3RK1 b gb - ce 0; id \"F.2\";
";

const NAMES: &str = "eco\tname\tpgn
B00\tKing's Pawn Game\t1. e4
B20\tSicilian Defense\t1. e4 c5
B90\tSicilian Defense: Najdorf Variation\t1. e4 c5 2. Nf3 d6 3. d4 cxd4 4. Nxd4 Nf6 5. Nc3 a6
";

pub(super) fn served() -> (Scratch, Running) {
    let scratch = Scratch::with("games.pgn", games());
    scratch.write("own.pgn", own_games());
    scratch.write("suite.epd", SUITE);
    scratch.write("fischer.epd", FISCHER);
    scratch.write("names.tsv", NAMES);
    let args = ["tally", "games.pgn", "-o", "games.epa", "--by", "month", "--keep-games", "3"];
    let done = scratch.run(&args);
    assert_eq!(done.status, 0, "{}", done.err);
    let done = scratch.run(&["book", "make", "games.pgn", "-o", "book.bin", "--min-games", "1"]);
    assert_eq!(done.status, 0, "{}", done.err);
    let sources = ["masters=games.epa", "mine=own.pgn", "suite.epd", "fischer.epd", "book.bin"];
    let args = [&sources[..], &["--openings", "names.tsv"]].concat();
    let running = Running::start(&scratch, &args);
    (scratch, running)
}

fn assets() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/server/page");
    let entries = folder.read_dir().unwrap().map(|entry| entry.unwrap().path());
    let is_asset = |path: &PathBuf| path.extension().is_some_and(|suffix| suffix != "rs");
    let read = |path: PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap().to_string();
        (name, std::fs::read_to_string(path).unwrap())
    };
    entries.filter(is_asset).map(read).collect()
}

#[test]
fn the_page_is_small_and_names_no_other_server() {
    let assets = assets();
    let bytes: usize = assets.iter().map(|(_, text)| text.len()).sum();
    assert!(bytes < 160_000, "{bytes} bytes");
    for (name, text) in &assets {
        let text = text.replace("http://www.w3.org/2000/svg", "");
        for word in
            ["http:", "https:", "//cdn", "@import", "url(", "eval(", "innerHTML", "style=\""]
        {
            assert!(!text.contains(word), "{name} has {word}");
        }
    }
}

#[test]
fn every_file_of_the_page_is_served_with_its_type_and_policy() {
    let (_scratch, running) = served();
    for (name, text) in assets() {
        let path = if name == "index.html" { "/".to_string() } else { format!("/assets/{name}") };
        let got = running.get(&path);
        assert_eq!((got.status, got.text()), (200, text.as_str()), "{path}");
        let media_type = match name.rsplit('.').next().unwrap() {
            "html" => "text/html; charset=utf-8",
            "css" => "text/css; charset=utf-8",
            _ => "text/javascript; charset=utf-8",
        };
        assert_eq!(got.header("content-type"), Some(media_type));
        assert_eq!(got.header("content-security-policy"), Some(POLICY));
        assert_eq!(got.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(got.header("referrer-policy"), Some("no-referrer"));
    }
    let missing = running.get("/assets/mod.rs");
    assert_eq!((missing.status, missing.text()), (404, "the page has no such file\n"));
}

#[test]
fn a_file_that_the_browser_has_is_not_sent_again() {
    let (_scratch, running) = served();
    let first = running.get("/assets/board.js");
    let tag = first.header("etag").unwrap();
    let strong = tag.strip_prefix("W/").unwrap();
    for known in [tag, "*", &format!("\"other\", {tag}"), strong] {
        let again = running.get_with("/assets/board.js", &[("if-none-match", known)]);
        assert_eq!((again.status, again.body.len()), (304, 0), "{known}");
        assert_eq!(again.header("etag"), Some(tag));
    }
    let other = running.get("/assets/style.css").header("etag").unwrap().to_string();
    assert_eq!(running.get_with("/assets/board.js", &[("if-none-match", &other)]).status, 200);
}

#[test]
fn the_page_lies_below_the_base_path() {
    let scratch = Scratch::with("suite.epd", SUITE);
    let running = Running::start(&scratch, &["suite.epd", "--base-path", "/chess/explorer"]);
    let host = format!("http://{}", running.address());
    let get = |path: &str| {
        let agent: ureq::Agent = ureq::Agent::config_builder()
            .max_redirects(0)
            .http_status_as_error(false)
            .build()
            .into();
        agent.get(format!("{host}{path}")).call().unwrap()
    };
    let bare = get("/chess/explorer");
    assert_eq!(bare.status(), 308);
    assert_eq!(bare.headers()["location"], "/chess/explorer/");
    assert_eq!(get("/chess/explorer/").status(), 200);
    assert_eq!(get("/chess/explorer/assets/explorer.js").status(), 200);
    assert_eq!(get("/").status(), 404);
}

#[test]
fn people_do_their_tasks_in_a_browser() {
    let [browser, node, scripts] = match tools() {
        Ok(tools) => tools,
        Err(why) => return skipped(&format!("the page of the server is not opened: {why}")),
    };
    let (_scratch, running) = served();
    let mut tasks = Command::new(node);
    tasks.arg(scripts.join("tasks.mjs")).arg(&running.base).arg(browser);
    let done = tasks.output().unwrap();
    let said = [done.stdout, done.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert!(done.status.success(), "{}\n{}", said.concat(), running.log());
}
