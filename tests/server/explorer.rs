//! The dialect of the opening explorer.

use crate::scratch::Scratch;
use crate::server::Running;

const GAMES: &str = "[White \"A\"]\n[Black \"B\"]\n[Result \"1-0\"]\n[WhiteElo \"2400\"]\n\n1. e4 c5 2. Nf3 1-0\n\n\
                     [White \"C\"]\n[Black \"D\"]\n[Result \"0-1\"]\n\n1. e4 e5 0-1\n";

#[test]
fn moves_of_a_position_come_as_explore_prints_them() {
    let scratch = Scratch::with("games.pgn", GAMES);
    scratch.run(&["tally", "games.pgn", "-o", "games.epa"]);
    let running = Running::start(&scratch, &["masters=games.epa"]);
    let served = running.get("/masters?play=e2e4").json();
    let printed = scratch.run(&["explore", "games.epa", "e4", "--json"]).out;
    assert_eq!(served, serde_json::from_str::<serde_json::Value>(&printed).unwrap());
}
