//! Finished games as they are written to the file of games.

use std::time::Duration;

use epdb_chess::model::score::Score;
use epdb_chess::model::{GameResult, Start};
use epdb_chess::text::pgn::{PgnFormatOptions, format};
use epdb_referee::{
    Opening, Outcome, Pairing, PlayedMove, Player, Termination, Tournament, to_game,
};

fn tournament() -> Tournament {
    let player =
        |name: &str| Player { name: name.into(), launch: None, token_file: None, time: None };
    Tournament {
        event: "Cup \"8\"".into(),
        site: "Here".into(),
        players: vec![player("A"), player("B"), player("C")],
        time: "40/60+0.5".parse().unwrap(),
        ..Tournament::new("cup")
    }
}

fn played(mv: &str, used: u64, left: u64, score: Option<Score>) -> PlayedMove {
    PlayedMove {
        mv: mv.parse().unwrap(),
        used: Duration::from_millis(used),
        left: Some(Duration::from_millis(left)),
        score,
        depth: Some(12),
    }
}

fn pgn(tournament: &Tournament, opening: &Opening, moves: &[PlayedMove]) -> String {
    let pairing = Pairing { game: 17, round: 2, encounter: 5, white: 2, black: 0, opening: 3 };
    let outcome = Outcome { result: GameResult::BlackWins, termination: Termination::TimeForfeit };
    let why = "C is late";
    let game = to_game(tournament, &pairing, opening, moves, &outcome, "2024.02.29", why).unwrap();
    let mut text = Vec::new();
    format(&game, &PgnFormatOptions::default(), &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

#[test]
fn a_game_has_its_tags_clocks_and_evaluations() {
    let opening = Opening { moves: vec!["f2f3".parse().unwrap()], ..Opening::ARRAY };
    let moves = [
        played("e7e5", 1500, 59_000, Some(Score::Centipawns(35))),
        played("g2g4", 61_000, 3_725_050, Some(Score::Mated(2))),
        played("d8h4", 0, 60_000, Some(Score::Mates(1))),
    ];
    assert_eq!(
        pgn(&tournament(), &opening, &moves),
        r#"[Event "Cup \"8\""]
[Site "Here"]
[Date "2024.02.29"]
[Round "2.17"]
[White "C"]
[Black "A"]
[Result "0-1"]
[PlyCount "4"]
[Termination "time forfeit"]
[TimeControl "40/60+0.5"]

1. f3 e5 {[%eval -0.35,12] [%clk 0:00:59] [%emt 0:00:01.5]} 2. g4
{[%eval #-1,12] [%clk 1:02:05.05] [%emt 0:01:01]} 2... Qh4# {[%clk 0:01:00]
[%emt 0:00:00]} {C is late} 0-1

"#
    );
}

#[test]
fn a_game_from_elsewhere_is_set_up() {
    let mut tournament = tournament();
    tournament.players[0].time = Some("5/move".parse().unwrap());
    let record =
        epdb_chess::parse_epd(b"bqnbrkrn/pppppppp/8/8/8/8/PPPPPPPP/BQNBRKRN w KQkq - 3 9").unwrap();
    let counters = record.fen_counters().unwrap();
    let start = Start { position: *record.position(), counters };
    let opening = Opening { start, moves: Vec::new(), label: None };
    let unclocked = PlayedMove { left: None, depth: None, ..played("e2e4", 40, 0, None) };
    let text = pgn(&tournament, &opening, &[unclocked]);
    for expected in [
        "[FEN \"bqnbrkrn/pppppppp/8/8/8/8/PPPPPPPP/BQNBRKRN w KQkq - 3 9\"]",
        "[SetUp \"1\"]",
        "[Variant \"Chess960\"]",
        "[WhiteTimeControl \"40/60+0.5\"]",
        "[BlackTimeControl \"1/5\"]",
        "9. e4 {[%emt 0:00:00.04]} {C is late}",
    ] {
        assert!(text.contains(expected), "{text}");
    }
    assert!(!text.contains("[TimeControl"), "{text}");
}

#[test]
fn an_illegal_move_is_no_game() {
    let pairing = Pairing { game: 1, round: 1, encounter: 1, white: 0, black: 1, opening: 0 };
    let outcome = Outcome { result: GameResult::Draw, termination: Termination::Normal };
    let moves = [played("e2e5", 1, 1, None)];
    let game =
        to_game(&tournament(), &pairing, &Opening::ARRAY, &moves, &outcome, "2024.01.01", "");
    assert_eq!(game, Err(epdb_chess::model::BuildError::Illegal));
}
