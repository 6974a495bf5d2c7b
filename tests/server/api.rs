//! The server's own paths.

use serde_json::{Value, json};

use crate::libraries::{games_library, suite};
use crate::openapi::Document;
use crate::scratch::Scratch;
use crate::server::Running;

const START: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";

#[test]
fn sources_describe_themselves() {
    let scratch = games_library();
    scratch.write("suite.epd", suite());
    let running = Running::start(&scratch, &["masters=games.epa", "suite.epd", "mine=games.pgn"]);
    let sources = running.get("/api/sources").json();
    let said = |place: usize| {
        let source = &sources[place];
        [
            &source["name"],
            &source["records"],
            &source["games"],
            &source["splits"],
            &source["keepsGames"],
        ]
        .map(Value::clone)
    };
    let all = json!(["year", "month"]);
    assert_eq!(said(0), [json!("masters"), json!(10), json!(4), all, json!(true)]);
    assert_eq!(said(1), [json!("suite"), json!(3), json!(null), json!([]), json!(false)]);
    let all = json!(["year", "month", "speed", "rating"]);
    assert_eq!(said(2), [json!("mine"), json!(10), json!(4), all, json!(true)]);
    let games = running.get("/api/games?source=suite").json();
    assert!(games["hint"].as_str().unwrap().contains("keeps no games"), "{games}");
}

#[test]
fn a_position_has_its_line_its_moves_and_what_is_known() {
    let scratch = games_library();
    let running = Running::start(&scratch, &["games.epa"]);
    let position = running.get("/api/position?play=e2e4,c7c5&parents=1").json();
    assert_eq!(position["start"], START);
    assert_eq!(position["fen"], "rnbqkbnr/pp1ppppp/8/2p5/4P3/8/PPPP1PPP/RNBQKBNR w KQkq - 0 2");
    let line: Vec<[&Value; 4]> = position["line"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| [&step["ply"], &step["number"], &step["uci"], &step["san"]])
        .collect();
    assert_eq!(line[0], [&json!(1), &json!("1."), &json!("e2e4"), &json!("e4")]);
    assert_eq!(line[1], [&json!(2), &json!("1..."), &json!("c7c5"), &json!("c5")]);
    assert_eq!(position["legal"].as_array().unwrap().len(), 30);
    assert_eq!(position["found"], true);
    assert_eq!(
        [&position["white"], &position["draws"], &position["black"]],
        [1, 1, 0].map(|n| json!(n)).each_ref()
    );
    assert_eq!(position["moves"][0]["san"], "Nf3");
    assert_eq!(position["parents"][0]["san"], "c5");
    let games = running.get("/api/games?play=e2e4,c7c5").json();
    let top = &games["top"];
    assert_eq!(top[0]["white"], json!({"name": "Anders", "rating": 2500}));
    let id = top[0]["id"].as_str().unwrap();
    let pgn = running.get(&format!("/api/game?id={id}")).json()["pgn"].clone();
    assert!(pgn.as_str().unwrap().contains("[White \"Anders\"]"), "{pgn}");
    assert!(games.get("hint").is_none());
    assert_eq!(running.get("/api/game?id=0123456789abcdef").status, 404);
    assert_eq!(running.get("/api/game?id=x").status, 400);
}

/// The values of the page equal those of the command line.
#[test]
fn a_position_has_the_values_of_explore() {
    let scratch = games_library();
    let running = Running::start(&scratch, &["games.epa"]);
    for (play, words) in
        [("", vec![]), ("e2e4", vec!["e4"]), ("e2e4,e7e5,g1f3", vec!["e4", "e5", "Nf3"])]
    {
        let served = running.get(&format!("/api/position?play={play}")).json();
        let args = [vec!["explore", "games.epa", "--json", "--children"], words].concat();
        let printed: Value = serde_json::from_str(&scratch.run(&args).out).unwrap();
        for (name, value) in printed.as_object().unwrap() {
            assert_eq!(&served[name], value, "{name} after {play:?}");
        }
    }
}

#[test]
fn castling_promotion_and_ends_are_marked() {
    let scratch = Scratch::with("suite.epd", suite());
    let running = Running::start(&scratch, &["suite.epd"]);
    let of =
        |fen: &str| running.get(&format!("/api/position?fen={}", fen.replace(' ', "_"))).json();
    let castling = of("4k3/P7/8/8/8/8/8/R3K2R w KQ - 3 40");
    let legal = castling["legal"].as_array().unwrap();
    let find = |uci: &str| legal.iter().find(|mv| mv["uci"] == uci).unwrap().clone();
    assert_eq!(
        find("e1h1"),
        json!({"uci": "e1h1", "san": "O-O", "from": "e1", "to": "g1", "takesRook": "h1"})
    );
    assert_eq!(find("a7a8n")["promotion"], "n");
    assert_eq!(castling["fen"], "4k3/P7/8/8/8/8/8/R3K2R w KQ - 3 40");
    assert_eq!(castling["chess960"], false);
    assert_eq!(of("k7/8/8/8/8/8/8/1R2K1R1 w G - 0 1")["chess960"], true);
    let over = |fen: &str| of(fen)["over"].clone();
    assert_eq!(over("7k/6Q1/6K1/8/8/8/8/8 b - - 0 1"), "checkmate");
    assert_eq!(over("7k/5Q2/6K1/8/8/8/8/8 b - - 0 1"), "stalemate");
    assert_eq!(over("7k/8/6K1/8/8/8/8/8 b - - 0 1"), "insufficient");
    assert_eq!(over(START), Value::Null);
}

#[test]
fn records_come_with_their_operations_and_where_a_score_is_from() {
    let scratch = Scratch::with("suite.epd", suite());
    let running = Running::start(&scratch, &["suite.epd"]);
    let path = "/api/position?fen=8/8/8/4k3/8/1K6/8/8_b_-_-";
    let position = running.get(path).json();
    assert_eq!(position["records"][0]["number"], 1);
    assert_eq!(position["records"][0]["operations"]["bm"], json!(["Ke6"]));
    assert_eq!(
        position["backsolved"],
        json!({"ce": 34, "own": 20, "leaf": "8/8/4k3/8/8/1K6/8/8 w - -", "plies": 1, "repeats": false, "pm": ["Ke6"]})
    );
    assert_eq!(position["recordCount"], 2);
}

#[test]
fn a_position_that_is_not_there_has_the_nearest_before_it() {
    let scratch = games_library();
    let running = Running::start(&scratch, &["games.epa"]);
    let position = running.get("/api/position?play=e2e4,c7c5,h2h4,h7h5").json();
    assert_eq!(position["found"], false);
    let fen = "rnbqkbnr/pp1ppppp/8/2p5/4P3/8/PPPP1PPP/RNBQKBNR w KQkq - 0 2";
    assert_eq!(position["nearest"], json!({"ply": 2, "fen": fen, "play": "e2e4,c7c5"}));
    let alone = running.get("/api/position?fen=8/8/8/4k3/8/1K6/8/8_b_-_-").json();
    assert_eq!(alone["nearest"], Value::Null);
    assert!(alone.as_object().unwrap().contains_key("nearest"));
}

#[test]
fn typed_moves_are_read_from_the_position_on() {
    let scratch = Scratch::with("suite.epd", suite());
    let running = Running::start(&scratch, &["suite.epd"]);
    let read = |text: &str, play: &str| {
        let text: String = text.bytes().map(|byte| format!("%{byte:02x}")).collect();
        running.get(&format!("/api/line?text={text}&play={play}"))
    };
    let play = |text: &str, play: &str| read(text, play).json()["play"].clone();
    assert_eq!(play("Nf3", "e2e4,c7c5"), json!(["e2e4", "c7c5", "g1f3"]));
    assert_eq!(play("g1f3 d7d6", "e2e4,c7c5"), json!(["e2e4", "c7c5", "g1f3", "d7d6"]));
    assert_eq!(play("1. d4 d5", "e2e4"), json!(["d2d4", "d7d5"]));
    assert_eq!(play("startpos moves d2d4", "e2e4"), json!(["d2d4"]));
    let pgn = "[White \"A\"]\n\n1. e4 {best} e5 (1... c5) 2. Nf3! 1-0";
    assert_eq!(play(pgn, "d2d4"), json!(["e2e4", "e7e5", "g1f3"]));
    let fen = "4k3/8/8/8/8/8/4P3/4K3 w - - 5 30";
    assert_eq!(read(fen, "e2e4").json(), json!({"start": fen, "play": []}));
    let from = format!("[SetUp \"1\"]\n[FEN \"{fen}\"]\n\n30. e4 Kd7 *");
    assert_eq!(read(&from, "").json(), json!({"start": fen, "play": ["e2e4", "e8d7"]}));
    for wrong in ["", "e5", "Qh9", "hello", "8/8 w"] {
        let got = read(wrong, "");
        assert_eq!(got.status, 400, "{wrong}");
        assert_eq!(got.header("content-type"), Some("text/plain; charset=utf-8"));
        assert_eq!(got.text().lines().count(), 1, "{}", got.text());
    }
}

#[test]
fn a_batch_answers_line_by_line() {
    let scratch = games_library();
    scratch.write("suite.epd", suite());
    let running = Running::start(&scratch, &["suite.epd", "games.epa"]);
    let asked =
        "8/8/8/4k3/8/1K6/8/8 b - -\n\n# a comment\nno position\r\n4k3/8/8/8/8/8/8/4K3 w - - 0 1";
    let got = running.post("/api/batch", asked.as_bytes());
    assert_eq!(got.header("content-type"), Some("application/x-ndjson"));
    let lines: Vec<Value> =
        got.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 3);
    assert_eq!((&lines[0]["line"], lines[0]["records"].as_array().unwrap().len()), (&json!(1), 2));
    let first = lines[0]["records"][0].as_str().unwrap();
    assert_eq!(
        epdb_chess::parse_epd(first.as_bytes()).unwrap().text_of(epdb_chess::model::Opcode::ID),
        Some(b"S.2".to_vec())
    );
    assert_eq!((&lines[1]["line"], &lines[1]["fen"]), (&json!(4), &json!("no position")));
    assert!(lines[1]["error"].is_string() && lines[1].get("records").is_none());
    assert_eq!((&lines[2]["line"], &lines[2]["records"]), (&json!(5), &json!([])));
    let got = running.post("/api/batch?form=json&most=1", b"8/8/8/4k3/8/1K6/8/8 b - -");
    let line: Value = serde_json::from_str(got.text()).unwrap();
    assert_eq!((&line["records"][0]["id"], &line["cut"]), (&json!("S.2"), &json!(true)));
    let start = format!("{START}\n").repeat(20_000);
    let got = running.post("/api/batch?source=games", start.as_bytes());
    assert_eq!(got.text().lines().count(), 20_000);
    assert!(got.text().lines().all(|line| line.contains("tally")));
    assert_eq!(running.post("/api/batch?source=none", b"").status, 404);
    assert_eq!(running.post("/api/batch?most=0", b"").status, 400);
    let long = [&[b'x'; 300_000][..], b"\nno position\n"].concat();
    let long = running.post("/api/batch", &long);
    let lines: Vec<&str> = long.text().lines().collect();
    assert_eq!(lines[0], r#"{"line":1,"fen":"","error":"the line is too long"}"#);
    assert!(
        lines.len() == 2 && lines[1].starts_with(r#"{"line":2,"fen":"no position","#),
        "{}",
        lines[1]
    );
}

#[test]
fn games_are_filtered_by_the_split_of_the_library() {
    let scratch = games_library();
    let running = Running::start(&scratch, &["games.epa", "mine=games.pgn"]);
    let of = |query: &str| running.get(&format!("/api/position?{query}")).json();
    let games = |query: &str| {
        let position = of(query);
        let count = |name: &str| position[name].as_u64().unwrap_or_default();
        (count("white") + count("draws") + count("black"), position["notSplit"].clone())
    };
    assert_eq!(games(""), (4, json!([])));
    assert_eq!(games("since=2020&until=2021"), (2, json!([])));
    assert_eq!(games("since=2020&speeds=blitz&ratings=2500"), (3, json!(["speeds", "ratings"])));
    assert_eq!(games("source=mine&ratings=2200"), (3, json!([])));
    assert_eq!(running.get("/api/position?since=May").status, 400);
    scratch.write("serve.toml", "sources = ['games.epa']\nstrict = true\n");
    let strict = Running::start(&scratch, &["--config", "serve.toml"]);
    let refused = strict.get("/api/position?speeds=blitz");
    assert_eq!(refused.status, 400);
    assert!(refused.text().contains("speeds"), "{}", refused.text());
    assert_eq!(strict.get("/api/position?since=2020").status, 200);
}

/// Games of which something is not known are not among those that are asked for by it, in any position.
#[test]
fn games_of_which_nothing_is_known_are_in_no_choice() {
    let pgn = "[Date \"????.??.??\"]\n\n1. e4 a5 1-0\n\n\
               [Date \"2020.05.01\"]\n[WhiteElo \"2600\"]\n[BlackElo \"2600\"]\n[TimeControl \"180\"]\n\n1. e4 e5 1-0\n";
    let scratch = Scratch::with("und.pgn", pgn);
    let args = ["tally", "und.pgn", "-o", "und.epa", "--by", "month,speed,rating"];
    assert_eq!(scratch.run(&args).status, 0);
    let running = Running::start(&scratch, &["und.epa"]);
    for filter in ["since=2015", "until=2000", "speeds=blitz", "ratings=2500"] {
        for path in ["/api/position", "/lichess"] {
            let got = running.get(&format!("{path}?play=e2e4,a7a5&{filter}"));
            assert_eq!(got.json()["white"], 0, "{path} {filter}");
            assert_eq!(got.header("x-epdb-not-split"), None);
        }
    }
    assert_eq!(running.get("/lichess?play=e2e4&speeds=blitz").json()["white"], 1);
    // The bounds that programs send where nothing is chosen are bounds like others.
    assert_eq!(running.get("/lichess?since=1952-01&until=3000-12").json()["white"], 1);
}

#[test]
fn listed_games_satisfy_the_filter() {
    let scratch = games_library();
    let running = Running::start(&scratch, &["games.epa"]);
    let listed = running.get("/api/games?play=e2e4&since=2020&until=2021").json();
    let years = |list: &str| -> Vec<u64> {
        let games = listed[list].as_array().unwrap();
        games.iter().map(|game| game["year"].as_u64().unwrap()).collect()
    };
    assert_eq!(years("top"), [2020, 2021]);
    assert_eq!(years("recent"), [2021, 2020]);
}

#[test]
fn a_cut_list_of_records_is_marked() {
    let line = "8/8/8/4k3/8/1K6/8/8 b - - tally \"reached 1, Ke6 +1=0-0\";\n";
    let scratch = Scratch::with("crowd.epd", line.repeat(1001));
    let running = Running::start(&scratch, &["crowd.epd"]);
    let path = "fen=8/8/8/4k3/8/1K6/8/8_b_-_-";
    let position = running.get(&format!("/api/position?{path}")).json();
    assert_eq!((&position["recordCount"], &position["recordsCut"]), (&json!(1000), &json!(true)));
    assert_eq!(position["records"].as_array().unwrap().len(), 100);
    Document::of(&running).check("/api/position", &position);
    let explored = running.get(&format!("/masters?{path}"));
    assert_eq!(explored.header("x-epdb-records-cut"), Some("1000"));
}

#[test]
fn records_are_found_by_their_numbers() {
    let scratch = Scratch::with("suite.epd", suite());
    let running = Running::start(&scratch, &["suite.epd"]);
    let record = running.get("/api/record?number=1").json();
    assert_eq!(record, json!({"number": 1, "count": 3, "fen": "8/8/8/4k3/8/1K6/8/8 b - -"}));
    Document::of(&running).check("/api/record", &record);
    assert_eq!(running.get("/api/record?number=3").status, 404);
    assert_eq!(running.get("/api/record?number=x").status, 400);
}

#[test]
fn errors_of_a_fen_are_specific() {
    let scratch = Scratch::with("suite.epd", suite());
    let running = Running::start(&scratch, &["suite.epd"]);
    for (text, said) in [
        ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR x KQkq -", "side to move"),
        ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBN w KQkq -", "rank"),
    ] {
        let got = running.get(&format!("/api/line?text={}", text.replace(' ', "%20")));
        assert!(got.status == 400 && got.text().contains(said), "{}", got.text());
    }
    // Missing fields have the usual values.
    let short = running.get("/api/line?text=rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR").json();
    assert_eq!(short["start"], "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w - - 0 1");
    let quoted = format!("%22{START}%22").replace(' ', "%20");
    assert_eq!(running.get(&format!("/api/line?text={quoted}")).json()["start"], START);
    assert_eq!(running.get("/api/position?fen=8/8/8/8/8/8/8/8_w_-_-").status, 400);
}
