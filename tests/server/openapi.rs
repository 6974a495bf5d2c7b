//! Answers match the OpenAPI document.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::libraries::{games_library, suite};
use crate::schema;
use crate::server::Running;

/// The document, as the server gives it.
pub(crate) struct Document(Value);

impl Document {
    pub(crate) fn of(running: &Running) -> Document {
        Document(running.get("/api/openapi.json").json())
    }

    /// Holds a value against what the document says comes back from a path.
    pub(crate) fn check(&self, path: &str, value: &Value) {
        let path =
            self.0["paths"][path].as_object().unwrap_or_else(|| panic!("{path} is not in it"));
        let method = path.values().next().unwrap();
        let content = method["responses"]["200"]["content"].as_object().unwrap();
        let of_json = content.iter().find(|(kind, _)| kind.contains("json")).unwrap().1;
        let faults = schema::faults(&self.0, &of_json["schema"], value, "");
        assert!(faults.is_empty(), "{faults:#?}\nin {value:#}");
    }
}

#[test]
fn answers_match_the_document() {
    let scratch = games_library();
    scratch.write("suite.epd", suite());
    let running = Running::start(&scratch, &["games.epa", "suite.epd", "mine=games.pgn"]);
    let document = Document::of(&running);
    let mut paths = vec!["/api/sources".to_string(), "/api/line?text=e4".into()];
    for source in ["games", "suite", "mine"] {
        paths.push(format!("/api/search?source={source}&where=on('P','e4')"));
        for play in ["", "e2e4", "e2e4,c7c5,g1f3,d7d6", "h2h4"] {
            paths.push(format!("/api/position?source={source}&play={play}&parents=1"));
            paths.push(format!("/api/games?source={source}&play={play}"));
            paths.push(format!("/masters?source={source}&play={play}"));
            paths.push(format!("/lichess?source={source}&play={play}&history=true"));
        }
        for fen in [
            "8/8/8/4k3/8/1K6/8/8_b_-_-",
            "4k3/P7/8/8/8/8/8/R3K2R_w_KQ_-",
            "7k/6Q1/6K1/8/8/8/8/8_b_-_-",
        ] {
            paths.push(format!("/api/position?source={source}&fen={fen}&parents=1"));
            for action in ["queryall", "querybest", "querysearch", "queryscore", "querypv"] {
                paths.push(format!("/cdb.php?source={source}&action={action}&board={fen}&json=1"));
            }
        }
    }
    for path in paths {
        document.check(path.split('?').next().unwrap(), &running.get(&path).json());
    }
    let game = running.get("/api/games").json()["top"][0]["id"].clone();
    let game = running.get(&format!("/api/game?id={}", game.as_str().unwrap())).json();
    document.check("/api/game", &game);
    for form in ["epd", "json"] {
        let path = format!("/api/batch?source=suite&most=1&form={form}");
        let got = running.post(&path, b"8/8/8/4k3/8/1K6/8/8 b - -\nx\n4k3/8/8/8/8/8/8/4K3 w - -\n");
        for line in got.text().lines() {
            document.check("/api/batch", &serde_json::from_str(line).unwrap());
        }
    }
}

/// The check fails where it should.
#[test]
#[should_panic(expected = "surprise is not in it")]
fn what_the_document_does_not_know_is_found() {
    let scratch = games_library();
    let running = Running::start(&scratch, &["games.epa"]);
    let mut sources = running.get("/api/sources").json();
    sources[0]["surprise"] = json!(1);
    Document::of(&running).check("/api/sources", &sources);
}

/// Each path of the document is one of the server's.
#[test]
fn all_paths_of_the_document_are_there() {
    let scratch = games_library();
    let running = Running::start(&scratch, &["games.epa"]);
    let document = Document::of(&running);
    let missing: BTreeSet<&String> = document.0["paths"]
        .as_object()
        .unwrap()
        .iter()
        .filter(|(path, methods)| {
            let path = path.replace("{id}", "0123456789abcdef");
            let got = match methods.get("post") {
                Some(_) => running.post(&path, b""),
                None => running.get(&path),
            };
            got.status == 405 || got.status == 404 && got.text().contains("path")
        })
        .map(|(path, _)| path)
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}
