//! The dialect of the opening explorer.

use serde_json::{Map, Value};

use crate::scratch::Scratch;
use crate::server::{Got, Running};

/// Games with everything that an answer can tell; the second came a year later.
const GAMES: &str = r#"[Event "Rated Blitz game"]
[White "Ann"]
[Black "Bob"]
[Date "2019.05.04"]
[Result "1-0"]
[WhiteElo "2400"]
[BlackElo "2300"]
[TimeControl "180+2"]

1. e4 c5 2. Nf3 d6 1-0

[Event "Casual Rapid game"]
[White "Cid"]
[Black "Ann"]
[Date "2020.07.??"]
[Result "0-1"]
[WhiteElo "1700"]
[BlackElo "1750"]
[TimeControl "900+10"]

1. e4 c5 2. Nc3 0-1

[Event "Club"]
[White "Ann"]
[Black "Dan"]
[Date "2020.??.??"]
[Result "1/2-1/2"]

1. e4 e5 2. Nf3 Nc6 3. Bc4 Bc5 4. O-O Nf6 1/2-1/2
"#;
const NAMES: &str =
    "eco\tname\tpgn\nB20\tSicilian Defense\t1. e4 c5\nC40\tKing's Knight\t1. e4 e5 2. Nf3\n";

/// A library that keeps games, tallied with arguments, and the names of openings.
fn library(tally: &[&str]) -> Scratch {
    let scratch = Scratch::with("games.pgn", GAMES);
    scratch.write("names.tsv", NAMES);
    let done =
        scratch.run(&[&["tally", "games.pgn", "-o", "l.epa", "--keep-games", "5"], tally].concat());
    assert_eq!(done.status, 0, "{}", done.err);
    scratch
}

fn serve(scratch: &Scratch) -> Running {
    Running::start(scratch, &["masters=l.epa", "lichess=l.epa", "--openings", "names.tsv"])
}

/// The output of `explore --json`.
fn explored(scratch: &Scratch, args: &[&str]) -> Value {
    let rest = ["--openings", "names.tsv", "--json"];
    let out = scratch.run(&[&["explore", "l.epa"], args, &rest[..]].concat()).out;
    serde_json::from_str(&out).unwrap()
}

/// An answer without what only a server adds.
fn counts_of(got: &Got) -> Value {
    let mut answer = got.json();
    for name in ["topGames", "recentGames", "queuePosition", "history"] {
        answer.as_object_mut().unwrap().remove(name);
    }
    for mv in answer["moves"].as_array_mut().unwrap() {
        mv["game"] = Value::Null;
    }
    answer
}

#[track_caller]
fn refused(got: &Got, status: u16, word: &str) {
    assert_eq!(got.status, status, "{}", got.text());
    assert_eq!(got.header("content-type"), Some("text/plain; charset=utf-8"));
    assert!(got.text().contains(word), "{}", got.text());
}

#[test]
fn answers_are_what_explore_prints_along_a_line() {
    let scratch = library(&[]);
    let running = serve(&scratch);
    let line = ["e2e4", "e7e5", "g1f3", "b8c6", "f1c4", "f8c5", "e1h1", "g8f6"];
    for plies in 0..=line.len() {
        let play = line[..plies].join(",");
        let printed = explored(&scratch, &[&["startpos", "moves"], &line[..plies]].concat());
        for path in ["/masters", "/master", "/lichess"] {
            assert_eq!(counts_of(&running.get(&format!("{path}?play={play}"))), printed, "{play}");
        }
    }
    // Castling is read in both forms, and written in one.
    let castling = running.get(&format!("/masters?play={}", line[..6].join(",")));
    assert_eq!(castling.json()["moves"][0]["uci"], "e1h1");
    let both = ["e1g1", "e1h1"].map(|mv| {
        running.get(&format!("/masters?play={},{mv}", line[..6].join(","))).text().to_string()
    });
    assert_eq!(both[0], both[1]);
}

/// Types of a field.
#[derive(Copy, Clone, Debug)]
enum Is {
    Count,
    Integer,
    Text,
    OneOf(&'static [&'static str]),
    Null,
    Object(Schema),
    List(Schema),
    Pair,
    Operations,
}

/// The fields of an object: must it be there, and what may it be.
type Schema = &'static [(&'static str, bool, &'static [Is])];

const OPENING: Schema = &[("eco", true, &[Is::Text]), ("name", true, &[Is::Text])];
const PLAYER: Schema = &[("name", true, &[Is::Text]), ("rating", true, &[Is::Count])];
const GAME: Schema = &[
    ("id", true, &[Is::Text]),
    ("uci", false, &[Is::Text]),
    ("winner", true, &[Is::OneOf(&["white", "black"]), Is::Null]),
    ("speed", false, &[Is::OneOf(&["blitz", "rapid"])]),
    ("mode", false, &[Is::OneOf(&["rated", "casual"])]),
    ("white", true, &[Is::Object(PLAYER)]),
    ("black", true, &[Is::Object(PLAYER)]),
    ("year", true, &[Is::Count]),
    ("month", true, &[Is::Text, Is::Null]),
    ("san", false, &[Is::Text]),
    ("result", true, &[Is::Text]),
    ("date", false, &[Is::Text]),
    ("event", false, &[Is::Text]),
];
const MOVE: Schema = &[
    ("uci", true, &[Is::Text]),
    ("san", true, &[Is::Text]),
    ("averageRating", false, &[Is::Count]),
    ("averageOpponentRating", false, &[Is::Count]),
    ("performance", false, &[Is::Integer]),
    ("white", true, &[Is::Count]),
    ("draws", true, &[Is::Count]),
    ("black", true, &[Is::Count]),
    ("unknown", false, &[Is::Count]),
    ("game", true, &[Is::Object(GAME), Is::Null]),
    ("opening", true, &[Is::Object(OPENING), Is::Null]),
    ("years", false, &[Is::Pair]),
    ("reached", false, &[Is::Count]),
    ("ce", false, &[Is::Integer]),
];
const MONTH: Schema = &[
    ("month", true, &[Is::Text]),
    ("white", true, &[Is::Count]),
    ("draws", true, &[Is::Count]),
    ("black", true, &[Is::Count]),
];
const ANSWER: Schema = &[
    ("white", true, &[Is::Count]),
    ("draws", true, &[Is::Count]),
    ("black", true, &[Is::Count]),
    ("unknown", false, &[Is::Count]),
    ("moves", true, &[Is::List(MOVE)]),
    ("topGames", false, &[Is::List(GAME)]),
    ("recentGames", false, &[Is::List(GAME)]),
    ("opening", true, &[Is::Object(OPENING), Is::Null]),
    ("queuePosition", false, &[Is::Count]),
    ("history", false, &[Is::List(MONTH)]),
    ("reached", false, &[Is::Count]),
    ("operations", false, &[Is::Operations]),
];

impl Is {
    fn holds(self, value: &Value) -> bool {
        match self {
            Is::Count => value.is_u64(),
            Is::Integer => value.is_i64(),
            Is::Text => value.is_string(),
            Is::OneOf(words) => words.iter().any(|word| value == word),
            Is::Null => value.is_null(),
            Is::Object(schema) => value.as_object().is_some_and(|object| has_shape(object, schema)),
            Is::List(schema) => value
                .as_array()
                .is_some_and(|list| list.iter().all(|one| Is::Object(schema).holds(one))),
            Is::Pair => value.as_array().is_some_and(|pair| pair.len() == 2),
            Is::Operations => value.is_object(),
        }
    }
}

fn has_shape(object: &Map<String, Value>, schema: Schema) -> bool {
    let is_right = |(name, must, kinds): &(&str, bool, &[Is])| match object.get(*name) {
        None => !must,
        Some(value) => kinds.iter().any(|kind| kind.holds(value)),
    };
    let wrong: Vec<&str> =
        schema.iter().filter(|field| !is_right(field)).map(|field| field.0).collect();
    let unknown: Vec<&String> =
        object.keys().filter(|name| schema.iter().all(|field| field.0 != *name)).collect();
    if !wrong.is_empty() || !unknown.is_empty() {
        eprintln!("wrong: {wrong:?}, unknown: {unknown:?}");
    }
    wrong.is_empty() && unknown.is_empty()
}

#[test]
fn fields_are_those_of_the_explorer() {
    let scratch = library(&["--by", "month,speed,rating"]);
    scratch.run(&["tally", "games.pgn", "-o", "ann.epa", "--player", "Ann", "--side", "white"]);
    let running =
        Running::start(&scratch, &["lichess=l.epa", "ann.epa", "--openings", "names.tsv"]);
    for play in
        ["", "e2e4", "e2e4,c7c5", "e2e4,e7e5,g1f3,b8c6,f1c4,f8c5", "a2a3", "f2f3,e7e5,g2g4,d8h4"]
    {
        for path in ["/masters?", "/lichess?history=true&", "/player?player=ann&color=white&"] {
            let got = running.get(&format!("{path}play={play}"));
            let is_of_player = path.starts_with("/player");
            let kind = if is_of_player { "application/x-ndjson" } else { "application/json" };
            assert_eq!(got.header("content-type"), Some(kind));
            let answer = got.json();
            assert!(Is::Object(ANSWER).holds(&answer), "{path}{play}: {answer:#}");
            assert_eq!(answer.get("queuePosition").is_some(), is_of_player);
            assert_eq!(answer.get("topGames").is_none(), is_of_player);
            assert_eq!(answer.get("recentGames").is_none(), path.starts_with("/masters"));
        }
    }
}

#[test]
fn names_are_those_of_the_line() {
    let scratch = library(&[]);
    let running = serve(&scratch);
    let opening = |query: &str| running.get(&format!("/masters?{query}")).json()["opening"].clone();
    let sicilian = serde_json::json!({"eco": "B20", "name": "Sicilian Defense"});
    assert_eq!(opening("play=e2e4,c7c5,g1f3,d7d6"), sicilian);
    assert_eq!(opening("play=e2e4"), Value::Null);
    let move_names = running.get("/masters?play=e2e4").json();
    assert_eq!(move_names["moves"][0]["opening"], sicilian);
    let fen = "rnbqkbnr/pp1ppppp/8/2p5/4P3/8/PPPP1PPP/RNBQKBNR_w_KQkq_-_0_2";
    assert_eq!(opening(&format!("fen={fen}&play=g1f3")), sicilian);
}

#[test]
fn limits_leave_out_moves_and_games() {
    let scratch = library(&[]);
    let running = serve(&scratch);
    let count = |query: &str, name: &str| {
        let answer = running.get(query).json();
        answer[name].as_array().map(Vec::len)
    };
    assert_eq!(count("/masters?play=e2e4", "moves"), Some(2));
    assert_eq!(count("/masters?play=e2e4&moves=1", "moves"), Some(1));
    let none = running.get("/masters?play=e2e4&moves=0").json();
    assert_eq!((&none["white"], &none["moves"]), (&1.into(), &Value::Array(Vec::new())));
    assert_eq!(count("/masters?moves=9999", "moves"), Some(1));
    assert_eq!(count("/masters", "topGames"), Some(3));
    assert_eq!(count("/masters?topGames=1", "topGames"), Some(1));
    assert_eq!(count("/masters?recentGames=1", "recentGames"), None);
    // The latest are those that are not among the best already.
    assert_eq!(count("/lichess?topGames=1", "recentGames"), Some(2));
    assert_eq!(count("/lichess?topGames=0", "topGames"), Some(0));
    assert_eq!(count("/lichess?topGames=1&recentGames=1", "recentGames"), Some(1));
}

#[test]
fn games_are_listed_and_given() {
    let scratch = library(&[]);
    let running = serve(&scratch);
    let answer = running.get("/lichess?play=e2e4,c7c5&topGames=1").json();
    let (top, recent) = (&answer["topGames"][0], &answer["recentGames"][0]);
    let id = top["id"].as_str().unwrap();
    let wanted = serde_json::json!({
        "id": id, "uci": "g1f3", "san": "Nf3", "winner": "white", "result": "1-0",
        "speed": "blitz", "mode": "rated", "event": "Rated Blitz game",
        "white": {"name": "Ann", "rating": 2400}, "black": {"name": "Bob", "rating": 2300},
        "year": 2019, "month": "2019-05", "date": "2019.05.04",
    });
    assert_eq!(*top, wanted);
    assert_eq!((&recent["uci"], &recent["mode"]), (&"b1c3".into(), &"casual".into()));
    // A move that was played once comes with its game, which is the one that is listed.
    let single =
        &answer["moves"].as_array().unwrap().iter().find(|mv| mv["uci"] == "g1f3").unwrap()["game"];
    assert_eq!((&single["id"], single.get("uci")), (&id.into(), None));
    assert_eq!(running.get("/masters").json()["moves"][0]["game"], Value::Null);

    let printed = scratch.run(&["games", "l.epa", "e4", "c5", "-n", "1", "-o", "-"]).out;
    for path in ["/masters/pgn/", "/master/pgn/"] {
        let got = running.get(&format!("{path}{id}"));
        assert_eq!((got.status, got.text()), (200, &*printed));
        assert_eq!(got.header("content-type"), Some("application/x-chess-pgn"));
    }
    for wrong in ["0123456789abcdef", "AbCdEfGh"] {
        refused(&running.get(&format!("/masters/pgn/{wrong}")), 404, "no game");
    }
}

/// Typed clients fail on an answer in which one game lacks one of these.
#[test]
fn games_without_ratings_and_dates_have_the_fields() {
    let scratch = Scratch::with("g.pgn", "[White \"A\"]\n\n1. e4 e5 *\n");
    scratch.write("names.tsv", NAMES);
    scratch.run(&["tally", "g.pgn", "-o", "l.epa", "--keep-games", "2"]);
    let answer = serve(&scratch).get("/lichess").json();
    let game = &answer["topGames"][0];
    assert_eq!(game["white"], serde_json::json!({"name": "A", "rating": 0}));
    assert_eq!(game["black"]["rating"], 0);
    assert_eq!((&game["year"], &game["month"]), (&0.into(), &Value::Null));
    assert!(Is::Object(GAME).holds(game), "{game:#}");
}

#[test]
fn lists_in_brackets_are_read() {
    let scratch = library(&["--by", "month,speed,rating"]);
    let running = serve(&scratch);
    let joined = running.get("/lichess?speeds=blitz,rapid&ratings=2200,2500").json();
    for query in [
        "speeds[]=blitz&speeds[]=rapid&ratings[]=2200&ratings[]=2500",
        "speeds%5B%5D=blitz&ratings=2200,2500&speeds%5b%5d=rapid",
    ] {
        assert_eq!(running.get(&format!("/lichess?{query}")).json(), joined);
    }
    let blitz = running.get("/lichess?speeds[]=blitz").json();
    assert_eq!(blitz, running.get("/lichess?speeds=blitz").json());
    refused(&running.get("/lichess?speeds[0]=blitz"), 400, "speeds[0]");
}

/// By what a library is split is not read of the text of its settings, in which a filter may say anything.
#[test]
fn a_filter_that_names_options_splits_no_library() {
    let filter = r#"id ~ "a --by year,month --player Ann --color black b" || plies > 0"#;
    let scratch = library(&["--where", filter]);
    scratch.run(&[
        "tally",
        "games.pgn",
        "-o",
        "ann.epa",
        "--player",
        "Ann;Anna",
        "--side",
        "black",
        "--by",
        "month",
        "--where",
        r#"plies > 0 || id ~ "--color white --by speed""#,
    ]);
    let running = Running::start(&scratch, &["lichess=l.epa", "ann=ann.epa"]);
    let sources = running.get("/api/sources").json();
    let splits = |at: usize| sources[at]["splits"].clone();
    assert_eq!(
        (splits(0), splits(1)),
        (serde_json::json!([]), serde_json::json!(["year", "month"]))
    );
    let got = running.get("/lichess?since=2021&source=lichess");
    assert_eq!(got.header("x-epdb-not-split"), Some("since"));
    assert_eq!(got.json()["white"], running.get("/lichess?source=lichess").json()["white"]);
    let ann = running.get("/player?player=anna&color=black");
    assert_eq!((ann.status, &ann.json()["black"]), (200, &1.into()));
    refused(&running.get("/player?player=Ann&color=white"), 404, "no library");
}

#[test]
fn filters_choose_games_of_a_split_library() {
    let scratch = library(&["--by", "month,speed,rating"]);
    let running = serve(&scratch);
    let games = |query: &str| {
        let got = running.get(query);
        assert_eq!(got.header("x-epdb-not-split"), None, "{query}");
        let answer = got.json();
        let results = ["white", "draws", "black"].map(|name| answer[name].as_u64().unwrap());
        (results, answer["topGames"].as_array().unwrap().len())
    };
    assert_eq!(games("/masters"), ([1, 1, 1], 3));
    assert_eq!(games("/masters?since=2020"), ([0, 1, 1], 2));
    assert_eq!(games("/masters?until=2019"), ([1, 0, 0], 1));
    assert_eq!(games("/masters?since=1952&until=3000"), ([1, 1, 1], 3));
    // These are no words of this path.
    assert_eq!(games("/masters?speeds=x&ratings=x&history=x&color=x"), ([1, 1, 1], 3));
    assert_eq!(games("/lichess?since=2019-05&until=2019-05"), ([1, 0, 0], 1));
    assert_eq!(games("/lichess?since=2019-06"), ([0, 1, 1], 2));
    assert_eq!(games("/lichess?speeds=blitz,bullet"), ([1, 0, 0], 1));
    assert_eq!(games("/lichess?ratings=1600"), ([0, 0, 1], 1));
    assert_eq!(games("/lichess?ratings=1799"), ([0, 0, 1], 1));
    let all = "speeds=ultraBullet,bullet,blitz,rapid,classical,correspondence\
               &ratings=0,1000,1200,1400,1600,1800,2000,2200,2500&since=1952-01&until=3000-12";
    assert_eq!(games(&format!("/lichess?{all}")), ([1, 1, 1], 3));
}

#[test]
fn listed_games_obey_dates_also_if_the_library_is_not_split() {
    let scratch = library(&[]);
    let running = serve(&scratch);
    let games = |query: &str| {
        let answer = running.get(query).json();
        let lists =
            ["topGames", "recentGames"].map(|name| answer[name].as_array().map_or(0, Vec::len));
        lists[0] + lists[1]
    };
    for (query, count) in
        [("since=2020", 2), ("until=2019", 1), ("since=1952&until=3000", 3), ("since=2021", 0)]
    {
        assert_eq!(games(&format!("/lichess?{query}")), count, "{query}");
    }
    let told = "not split, so since, until, speeds, ratings change no count: `epdb tally --by year,speed,rating`";
    assert!(running.log().contains(told), "{}", running.log());
}

#[test]
fn filters_that_cannot_be_done_are_named_or_refused() {
    let scratch = library(&["--by", "year"]);
    let running = serve(&scratch);
    let named = |query: &str| {
        let got = running.get(query);
        assert_eq!(got.status, 200, "{}", got.text());
        got.header("x-epdb-not-split").map(str::to_string)
    };
    assert_eq!(
        named("/lichess?since=2020-01&speeds=blitz&ratings=2200").unwrap(),
        "since, speeds, ratings"
    );
    let told = running.get("/lichess?speeds=blitz&ratings=2200").json();
    assert_eq!(told["notSplit"], serde_json::json!(["speeds", "ratings"]));
    assert_eq!(named("/masters?since=2020"), None);
    assert!(running.get("/masters?since=2020").json().get("notSplit").is_none());
    let told = running.get("/lichess?since=2020-12&speeds=blitz").json();
    assert_eq!((&told["white"], &told["draws"]), (&0.into(), &1.into()));

    let strict = scratch.path("strict.toml");
    std::fs::write(&strict, "strict = true\nsources = ['l.epa']\n").unwrap();
    let running = Running::start(&scratch, &["--config", "strict.toml"]);
    refused(&running.get("/lichess?speeds=blitz"), 400, "speeds");
    assert_eq!(running.get("/lichess?since=2020").status, 200);
}

#[test]
fn months_are_counted_if_the_library_is_split_by_them() {
    let scratch = library(&["--by", "month"]);
    scratch.run(&["tally", "games.pgn", "-o", "years.epa", "--by", "year"]);
    let running = Running::start(&scratch, &["lichess=l.epa", "years.epa"]);
    let month = |month: &str, white: u8, black: u8| serde_json::json!({"month": month, "white": white, "draws": 0, "black": black});
    let history = running.get("/lichess?history=1").json()["history"].clone();
    let history = history.as_array().unwrap();
    assert_eq!(history.len(), 15);
    assert_eq!((&history[0], &history[1]), (&month("2019-05", 1, 0), &month("2019-06", 0, 0)));
    assert_eq!(history[14], month("2020-07", 0, 1));
    let old = running.get("/lichess/history?since=2020-06").json();
    assert_eq!(old["history"], serde_json::json!([month("2020-07", 0, 1)]));
    let lists =
        ["moves", "topGames", "recentGames"].map(|name| old[name].as_array().unwrap().len());
    assert_eq!(lists, [0, 0, 0]);
    assert_eq!(running.get("/lichess?history=false").json().get("history"), None);
    assert_eq!(running.get("/lichess?history=true&source=years").json().get("history"), None);
}

#[test]
fn a_player_is_answered_from_the_library_of_the_player() {
    let scratch = library(&[]);
    let names = "Ann;Annie, the First";
    scratch.run(&["tally", "games.pgn", "-o", "w.epa", "--player", names, "--side", "white"]);
    scratch.run(&["tally", "games.pgn", "-o", "b.epa", "--player", "Ann", "--side", "black"]);
    let running = Running::start(&scratch, &["l.epa", "w.epa", "b.epa"]);
    for path in ["/player", "/personal"] {
        for player in ["Ann", "ANN", "annie,%20the%20first"] {
            let got = running.get(&format!("{path}?player={player}&color=white&variant=standard"));
            assert!(got.text().ends_with("}\n") && got.text().lines().count() == 1);
            let answer = got.json();
            assert_eq!((&answer["white"], &answer["draws"]), (&1.into(), &1.into()));
            assert_eq!((&answer["black"], &answer["queuePosition"]), (&0.into(), &0.into()));
        }
    }
    assert_eq!(running.get("/player?player=Ann&color=black").json()["black"], 1);
    let modes = running.get("/player?player=Ann&color=black&modes=rated");
    assert_eq!(modes.header("x-epdb-not-split"), Some("modes"));
    let modes = running.get("/player?player=Ann&color=black&modes=rated,casual");
    assert_eq!(modes.header("x-epdb-not-split"), None);
    refused(&running.get("/player?player=Bob&color=black"), 404, "no library of Bob with black");
    refused(&running.get("/player?player=Ann&color=white&source=l"), 404, "no library of Ann");
    refused(&running.get("/player?color=black"), 400, "player is missing");
    refused(&running.get("/player?player=Ann"), 400, "color is missing");
    refused(&running.get("/player?player=Ann&color=red"), 400, "color: red");
    refused(&running.get("/player?player=Ann&color=black&modes=fun"), 400, "modes: fun");
}

#[test]
fn a_source_is_chosen_by_path_and_name() {
    let scratch = Scratch::with("one.pgn", "1. d4 d5 1-0\n");
    scratch.write("two.pgn", "1. e4 e5 1-0\n\n1. c4 e5 0-1\n");
    scratch.write("three.pgn", "1. f4 d5 1-0\n\n1. f4 e5 1-0\n\n1. f4 c5 0-1\n");
    for name in ["one", "two", "three"] {
        scratch.run(&["tally", &format!("{name}.pgn"), "-o", &format!("{name}.epa")]);
    }
    let running = Running::start(&scratch, &["one.epa", "lichess=two.epa", "mobile=three.epa"]);
    let reached = |query: &str| running.get(query).json()["reached"].as_u64().unwrap();
    assert_eq!(reached("/masters"), 1);
    assert_eq!(reached("/lichess"), 2);
    assert_eq!(reached("/masters?source=lichess"), 2);
    // Programs of lichess.org say who asks.
    assert_eq!(reached("/lichess?source=analysis"), 2);
    assert_eq!(reached("/lichess?source=mobile"), 3);
    refused(&running.get("/masters?source=four"), 404, "no source is named four");
}

#[test]
fn variants_and_positions_are_read_as_there() {
    let start = "[SetUp \"1\"]\n[FEN \"nrbqkbrn/pppppppp/8/8/8/8/PPPPPPPP/NRBQKBRN w GBgb - 0 1\"]";
    let games = format!("{start}\n\n1. f4 f5 1-0\n\n{start}\n\n1. e4 0-1\n");
    let scratch = Scratch::with("games.pgn", games);
    scratch.run(&["tally", "games.pgn", "-o", "l.epa"]);
    let running = Running::start(&scratch, &["l.epa"]);
    let fen = "nrbqkbrn/pppppppp/8/8/8/8/PPPPPPPP/NRBQKBRN%20w%20KQkq%20-%200%201";
    for variant in ["chess960", "fromPosition", "standard", "chess"] {
        let answer = running.get(&format!("/lichess?variant={variant}&fen={fen}&play=f2f4")).json();
        assert_eq!(answer["moves"][0]["uci"], "f7f5", "{variant}");
    }
    assert_eq!(
        running.get(&format!("/lichess?fen={}", fen.replace("%20", "+"))).json()["white"],
        1
    );
    for variant in ["antichess", "atomic", "crazyhouse", "kingOfTheHill", "threeCheck", "x"] {
        refused(&running.get(&format!("/lichess?variant={variant}")), 400, "bad request: variant");
    }
}

#[test]
fn errors_are_plain_text() {
    let scratch = library(&[]);
    let running = serve(&scratch);
    for (query, word) in [
        ("fen=nonsense", "fen"),
        ("fen=8/8/8/8/8/8/8/8_w_-_-_0_1", "king"),
        ("play=e2e5", "e2e5"),
        ("play=e4", "play: e4"),
        ("play=12", "play: 12"),
        ("play=e2e4,,c7c5", "play"),
        ("play=e2e4,0000", "play: 0000"),
        ("moves=few", "moves"),
        ("moves=-1", "moves"),
        ("topGames=x", "topGames"),
        ("since=yesterday", "since"),
        ("until=2020-13", "until"),
        ("play=e2e4&play=c7c5", "duplicate"),
    ] {
        refused(&running.get(&format!("/masters?{query}")), 400, word);
    }
    for (query, word) in [
        ("recentGames=x", "recentGames"),
        ("speeds=fast", "speeds: fast"),
        ("ratings=good", "ratings: good"),
        ("history=maybe", "history"),
    ] {
        refused(&running.get(&format!("/lichess?{query}")), 400, word);
    }
    // Empty parameters, unknown ones and tokens are ignored.
    let plain = running.get("/masters");
    let more = "/masters?fen=&play=&moves=&since=&speeds=&ratings=&nonsense=1";
    let token = [("Authorization", "Bearer lip_nothing")];
    assert_eq!(running.get_with(more, &token).text(), plain.text());
}

#[test]
fn unknown_values_of_a_library_are_left_out() {
    let scratch = Scratch::with("games.pgn", "1. e4 1-0\n");
    scratch.run(&["tally", "games.pgn", "-o", "l.epa"]);
    let running = Running::start(&scratch, &["l.epa"]);
    let answer = running.get("/lichess?history=true").json();
    let wanted = serde_json::json!({
        "white": 1, "draws": 0, "black": 0, "reached": 1, "opening": null,
        "moves": [{"uci": "e2e4", "san": "e4", "white": 1, "draws": 0, "black": 0,
                   "reached": 1, "game": null,
                   "opening": {"eco": "B00", "name": "King's Pawn Game"}}],
        "topGames": [], "recentGames": [],
    });
    assert_eq!(answer, wanted);
}
