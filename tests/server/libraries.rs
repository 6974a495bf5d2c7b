//! Small libraries whose contents are known completely.

use crate::scratch::Scratch;

/// Four games with ratings and months.
pub(crate) const GAMES: &str = r#"[White "Anders"]
[Black "Berta"]
[Date "2019.05.11"]
[Result "1-0"]
[WhiteElo "2500"]
[BlackElo "2400"]

1. e4 c5 2. Nf3 d6 1-0

[White "Carla"]
[Black "Dirk"]
[Date "2020.02.01"]
[Result "1/2-1/2"]
[WhiteElo "2300"]
[BlackElo "2350"]

1. e4 c5 2. Nf3 Nc6 1/2-1/2

[White "Emil"]
[Black "Frida"]
[Date "2021.??.??"]
[Result "0-1"]

1. e4 e5 2. Nf3 0-1

[White "Anders"]
[Black "Emil"]
[Date "2022.03.03"]
[Result "1-0"]
[WhiteElo "2510"]
[BlackElo "2390"]

1. Nf3 e5 2. e4 1-0
"#;

/// A folder with these games, and the library `games.epa` of them, by month, with games kept.
pub(crate) fn games_library() -> Scratch {
    let scratch = Scratch::with("games.pgn", GAMES);
    let done = scratch.run(&[
        "tally",
        "games.pgn",
        "-o",
        "games.epa",
        "--by",
        "month",
        "--keep-games",
        "3",
    ]);
    assert_eq!(done.status, 0, "{}", done.err);
    scratch
}

/// Records of three positions, one of which has two, one of them with a score that was carried back.
pub(crate) fn suite() -> String {
    let position = "8/8/8/4k3/8/1K6/8/8 b - -";
    format!(
        "4k3/8/8/8/8/8/4P3/4K3 w - - bm e4; id \"S.1\";\n\
         {position} bm Ke6; ce 34; ce_leaf \"8/8/4k3/8/8/1K6/8/8 w - -\"; ce_own 20; ce_plies 1; id \"S.2\"; pm Ke6;\n\
         {position} c0 \"once more\"; id \"S.3\";\n"
    )
}
