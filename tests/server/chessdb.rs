//! The dialect of chessdb.

use serde_json::json;

use crate::scratch::Scratch;
use crate::server::Running;

const START: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR_w_KQkq_-_0_1";
/// After 1. e4, 1. d4 and 1. a3, after 1. e4 e5 and 1. e4 c5, and a mate in two.
const RECORDS: &str = "\
rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - ce -33;
rnbqkbnr/pppppppp/8/8/3P4/8/PPP1PPPP/RNBQKBNR b KQkq - ce -31;
rnbqkbnr/pppppppp/8/8/8/P7/1PPPPPPP/RNBQKBNR b KQkq - ce 12;
rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR w KQkq - ce 33; pv Nf3 Nc6;
rnbqkbnr/pp1ppppp/8/2p5/4P3/8/PPPP1PPP/RNBQKBNR w KQkq - ce 50;
7k/8/6K1/8/8/8/8/R7 w - - ce 32766; pm Ra8#;
8/8/8/8/8/4k3/8/4K2Q w - - bm Qd5;
";

fn serve(scratch: &Scratch) -> Running {
    let done = scratch.run(&["pack", "r.epd", "-o", "r.epa"]);
    assert_eq!(done.status, 0, "{}", done.err);
    Running::start(scratch, &["r.epa"])
}

fn running() -> (Scratch, Running) {
    let scratch = Scratch::with("r.epd", RECORDS);
    let running = serve(&scratch);
    (scratch, running)
}

/// The answer as text and as JSON.
fn ask(running: &Running, action: &str, board: &str) -> (String, serde_json::Value) {
    let path = format!("/cdb.php?action={action}&board={board}");
    let plain = running.get(&path);
    assert_eq!(plain.status, 200, "{}", plain.text());
    assert_eq!(plain.header("content-type"), Some("text/plain; charset=utf-8"));
    let json = running.get(&format!("{path}&json=1"));
    assert_eq!(json.header("content-type"), Some("application/json"));
    (plain.text().to_string(), json.json())
}

#[test]
fn moves_come_with_score_rank_note_and_winrate() {
    let (_scratch, running) = running();
    let (text, object) = ask(&running, "queryall", START);
    assert_eq!(
        text,
        "move:e2e4,score:33,rank:2,note:! (02-01),winrate:52.50|\
         move:d2d4,score:31,rank:2,note:! (00-00),winrate:52.35|\
         move:a2a3,score:-12,rank:0,note:? (00-00),winrate:49.09\0"
    );
    let wanted = json!({"status": "ok", "moves": [
        {"uci": "e2e4", "san": "e4", "score": 33, "rank": 2, "note": "! (02-01)", "winrate": "52.50"},
        {"uci": "d2d4", "san": "d4", "score": 31, "rank": 2, "note": "! (00-00)", "winrate": "52.35"},
        {"uci": "a2a3", "san": "a3", "score": -12, "rank": 0, "note": "? (00-00)", "winrate": "49.09"},
    ]});
    assert_eq!(object, wanted);
    let (text, object) = ask(&running, "queryall", &format!("{START}&showall=1&learn=0&endgame=1"));
    assert_eq!(object["moves"].as_array().unwrap().len(), 20);
    assert_eq!(object["moves"][3]["score"], "??");
    assert!(text.contains("|move:g1f3,score:??,rank:0,note:? (??-??)"), "{text}");
}

#[test]
fn the_best_move_the_good_ones_and_the_score() {
    let (_scratch, running) = running();
    let one = |uci: &str| (format!("move:{uci}\0"), json!({"status": "ok", "move": uci}));
    for action in ["querybest", "query", "querylearn"] {
        assert_eq!(ask(&running, action, START), one("e2e4"));
    }
    let good = json!({"status": "ok", "search_moves": [
        {"uci": "e2e4", "san": "e4"}, {"uci": "d2d4", "san": "d4"},
    ]});
    assert_eq!(ask(&running, "querysearch", START), ("search:e2e4|search:d2d4\0".into(), good));
    let score = json!({"status": "ok", "eval": 33});
    assert_eq!(ask(&running, "queryscore", START), ("eval:33\0".into(), score));
    // A move that loses is the best where all others lose more.
    let lost = "6k1/8/6K1/8/8/8/8/R7_b_-_-";
    let only =
        json!({"status": "ok", "move": "g8h8", "search_moves": [{"uci": "g8h8", "san": "Kh8"}]});
    assert_eq!(ask(&running, "querysearch", lost), ("move:g8h8\0".into(), only));
    // Without scores, the move of the record counts.
    assert_eq!(ask(&running, "querybest", "8/8/8/8/8/4k3/8/4K2Q_w_-_-"), one("h1d5"));
}

#[test]
fn a_line_follows_the_best_moves() {
    let (_scratch, running) = running();
    let (text, object) = ask(&running, "querypv", START);
    assert_eq!(text, "score:33,depth:4,pv:e2e4|e7e5|g1f3|b8c6\0");
    let wanted = json!({"status": "ok", "score": 33, "depth": 4,
        "pv": ["e2e4", "e7e5", "g1f3", "b8c6"], "pvSAN": ["e4", "e5", "Nf3", "Nc6"]});
    assert_eq!(object, wanted);
}

#[test]
fn a_line_ends_where_it_was_before() {
    // Both sides do best to go back.
    let scratch = Scratch::with(
        "r.epd",
        "6k1/8/8/8/8/8/8/K7 b - - ce 0;\n8/5k2/8/8/8/8/8/K7 w - - ce 0;\n\
         8/5k2/8/8/8/8/8/1K6 b - - ce 0;\n6k1/8/8/8/8/8/8/1K6 w - - ce 0;\n",
    );
    let running = serve(&scratch);
    let (text, _) = ask(&running, "querypv", "6k1/8/8/8/8/8/8/K7_b_-_-");
    assert_eq!(text, "score:0,depth:4,pv:g8f7|a1b1|f7g8|b1a1\0");
}

#[test]
fn mates_are_thirty_thousand_less_their_plies() {
    let (_scratch, running) = running();
    let mate = "7k/8/6K1/8/8/8/8/R7_w_-_-";
    let (text, object) = ask(&running, "queryall", mate);
    assert_eq!(text, "move:a1a8,score:29999,rank:2,note:! (00-00)\0");
    assert_eq!(object["moves"][0].get("winrate"), None);
    assert_eq!(ask(&running, "queryscore", mate).0, "eval:29999\0");
    assert_eq!(ask(&running, "querypv", mate).0, "score:29999,depth:1,pv:a1a8\0");
    // The side that is to be mated has no other move.
    let before = "6k1/8/6K1/8/8/8/8/R7_b_-_-";
    assert_eq!(ask(&running, "querypv", before).0, "score:-29998,depth:2,pv:g8h8|a1a8\0");
}

#[test]
fn unknown_positions_and_finished_games_are_reported() {
    let (_scratch, running) = running();
    let unknown = "4k3/8/8/8/8/8/4P3/4K3_w_-_-";
    let mated = "R6k/8/6K1/8/8/8/8/8_b_-_-";
    let stalemated = "7k/5Q2/6K1/8/8/8/8/8_b_-_-";
    let word = |word: &str| (format!("{word}\0"), json!({"status": word}));
    for action in ["queryall", "queryscore", "querypv"] {
        assert_eq!(ask(&running, action, unknown), word("unknown"), "{action}");
        assert_eq!(ask(&running, action, mated), word("checkmate"), "{action}");
        assert_eq!(ask(&running, action, stalemated), word("stalemate"), "{action}");
        assert_eq!(ask(&running, action, "nonsense"), word("invalid board"), "{action}");
    }
    for action in ["querybest", "query", "querysearch"] {
        for board in [unknown, mated, stalemated] {
            assert_eq!(ask(&running, action, board), word("nobestmove"), "{action}");
        }
    }
    let all = ask(&running, "queryall", &format!("{unknown}&showall=true")).1;
    assert_eq!(all["moves"].as_array().unwrap().len(), 6);
}

#[test]
fn nothing_is_stored() {
    let (scratch, running) = running();
    let before = scratch.read("r.epa");
    let word = |word: &str| (format!("{word}\0"), json!({"status": word}));
    let store = format!("{START}&move=e2e4&score=10");
    assert_eq!(ask(&running, "store", &store), word("tokenerror"));
    // A client that waits for an answer asks again after any word but this.
    assert_eq!(ask(&running, "queue", START), ("\0".into(), json!({})));
    assert_eq!(ask(&running, "queue", "R6k/8/6K1/8/8/8/8/8_b_-_-"), ("\0".into(), json!({})));
    assert_eq!(ask(&running, "dance", START), ("\0".into(), json!({})));
    assert_eq!(scratch.read("r.epa"), before);
    let got = running.get("/cdb.php?action=queryall");
    assert_eq!(got.text(), "invalid parameters");
    let got = running.get("/cdb.php?action=getqueue&json=true");
    assert_eq!(got.json(), json!({"status": "invalid parameters"}));
    assert_eq!(running.get("/cdb.php").text(), "");
    assert_eq!(running.get(&format!("/cdb.php?action=query&board={START}&source=x")).status, 404);
}

#[test]
fn castling_is_written_as_chessdb_does() {
    let scratch = Scratch::with("r.epd", "4k3/8/8/8/8/8/8/5RK1 b - - ce 0;\n");
    let running = serve(&scratch);
    let best = |board: &str| ask(&running, "querybest", board).0;
    assert_eq!(best("4k3/8/8/8/8/8/8/4K2R_w_K_-"), "move:e1g1\0");
    assert_eq!(best("4k3/8/8/8/8/8/8/5K1R_w_H_-"), "move:f1h1\0");
}
