//! Games that tablebases decide.

use std::env;
use std::path::{Path, PathBuf};

use epdb_chess::model::{GameResult, Position};
use epdb_referee::server::{Opened, Referee, Tablebases};
use epdb_referee::wire::Command;
use epdb_referee::{Event, Termination};

use crate::hall::{Hall, TWO, seconds};
use crate::server::{run, settings};
use crate::skipped::skipped;

const ROOK_TAKES: &str = "q3k3/8/8/8/8/8/8/R3K3 w - -";

/// They are asked behind each move that leaves as few pieces as the tournament says, and nobody is asked for a move
/// before they have answered.
#[test]
fn tablebases_are_probed_after_moves() {
    let mut hall = Hall::from_position("syzygy = { path = 'x', pieces = 3 }\n", ROOK_TAKES);
    assert!(hall.probed.is_empty());
    hall.play(1, "a1a8");
    assert_eq!(hall.probed, [1]);
    assert_eq!(hall.commands(2), ["reset", "inform"]);
    hall.pass(seconds(100));
    // Another referee asks again.
    hall.happen(Event::Session { unix: 1_800_000_000 });
    hall.sign_on(11, "A");
    hall.sign_on(12, "B");
    assert_eq!(hall.probed, [1, 1]);
    hall.happen(Event::Tablebase { game: 1, result: GameResult::Unknown });
    let asked = hall.last(12, Command::Respond);
    let board = "R3k3/8/8/8/8/8/8/4K3 b - -";
    assert_eq!(crate::hall::after(&asked).to_string(), board);
    hall.say(12, &format!("{board} refreq reply; sm Kd7;"));
    assert_eq!(hall.probed, [1, 1, 1]);
    // Not of another game, and not twice.
    hall.happen(Event::Tablebase { game: 2, result: GameResult::Draw });
    hall.happen(Event::Tablebase { game: 1, result: GameResult::WhiteWins });
    hall.happen(Event::Tablebase { game: 1, result: GameResult::Draw });
    assert_eq!(hall.outcome(), (GameResult::WhiteWins, Termination::Adjudication));
    assert_eq!(hall.finished()[0].reason, "the tablebases decide");

    let mut hall = Hall::from_position("syzygy = { path = 'x', pieces = 3 }\n", ROOK_TAKES);
    hall.play(1, "a1b1");
    assert!(hall.probed.is_empty(), "too many pieces");
    let mut hall = Hall::from_position("", ROOK_TAKES);
    hall.play(1, "a1a8");
    assert!(hall.probed.is_empty(), "not wanted");
}

/// A tablebase in which Black always wins.
#[derive(Debug)]
struct BlackWins;

impl Tablebases for BlackWins {
    fn result(&self, position: &Position, halfmove_clock: u32) -> GameResult {
        assert_eq!((position.turn(), halfmove_clock), (epdb_chess::model::Color::Black, 1));
        GameResult::BlackWins
    }
}

/// A tournament of two games from a position, with its folder.
fn tournament_from(
    fen: &str,
    syzygy: &Path,
) -> (tempfile::TempDir, epdb_referee::log::SettingsText) {
    let folder = tempfile::tempdir().unwrap();
    let book = folder.path().join("book.epd");
    std::fs::write(&book, format!("{fen}\n")).unwrap();
    let text = format!(
        "openings = {{ file = '{}' }}\nsyzygy = {{ path = '{}' }}\n{TWO}",
        book.display(),
        syzygy.display()
    );
    // The settings of these tests say the silences themselves.
    let text = text.replace("silences = { conclude = '0s', reset = '0s' }\n", "");
    let settings = settings(folder.path(), &text);
    (folder, settings)
}

/// Plays a tournament to its end, and hands out its log and its games.
fn played(folder: &Path, opened: Opened) -> [String; 2] {
    let Opened::Referee(referee) = opened else { panic!("there is another referee") };
    let running = run(referee);
    let players = ["A", "B"].map(|name| running.player(name));
    assert!(running.thread.join().unwrap());
    players.into_iter().for_each(|player| player.join().unwrap());
    ["t.log", "t.pgn"].map(|name| std::fs::read_to_string(folder.join(name)).unwrap())
}

/// Their answers are in the log, so the tournament can be restored without them.
#[test]
fn answers_of_tablebases_are_in_the_log() {
    let (folder, settings) = tournament_from("4k3/8/8/8/8/8/8/R3K3 w - -", Path::new("/none"));
    let opened = Referee::open_with(&settings, &|_| Ok(Box::new(BlackWins))).unwrap();
    let [log, games] = played(folder.path(), opened);
    assert!(log.contains(" probe 1\n") && log.contains(" tablebase 1 0-1\n"), "{log}");
    assert!(games.contains("[Termination \"adjudication\"]"), "{games}");
    assert!(games.replace('\n', " ").contains("the tablebases decide"), "{games}");
    // It is over, and needs no tablebases any more.
    std::fs::remove_file(folder.path().join("t.pgn")).unwrap();
    let Opened::Referee(referee) = Referee::open(&settings).unwrap() else { panic!() };
    assert!(run(referee).thread.join().unwrap());
    assert_eq!(std::fs::read_to_string(folder.path().join("t.pgn")).unwrap(), games);
}

/// A tournament without the tablebases that it wants does not begin.
#[test]
fn missing_tablebases_are_reported() {
    let error = |path: &Path| {
        let (_folder, settings) = tournament_from(ROOK_TAKES, path);
        Referee::open(&settings).unwrap_err().to_string()
    };
    let empty = tempfile::tempdir().unwrap();
    if cfg!(feature = "syzygy") {
        assert!(error(Path::new("/none")).contains("/none: cannot read the tablebases"));
        assert!(error(empty.path()).contains("found none"));
    } else {
        assert!(error(empty.path()).contains("build it with `--features syzygy`"))
    }
}

/// The folder of real ones; a test that goes without them is named as skipped.
fn real_tablebases() -> Option<PathBuf> {
    let folder =
        env::var_os("EPDB_SYZYGY").map_or_else(|| "/usr/share/syzygy".into(), PathBuf::from);
    let found = cfg!(feature = "syzygy") && folder.join("KQvK.rtbw").is_file();
    if !found {
        skipped("no tablebases; the variable EPDB_SYZYGY names the folder of KQvK.rtbw");
    }
    found.then_some(folder)
}

/// Whatever Black plays, White has won.
#[test]
fn real_tablebases_decide_games() {
    let Some(tables) = real_tablebases() else { return };
    let (folder, settings) = tournament_from("8/8/8/8/4k3/8/8/K3Q3 b - -", &tables);
    let [_, games] = played(folder.path(), Referee::open(&settings).unwrap());
    assert!(games.contains("[Result \"1-0\"]"), "{games}");
    assert!(games.replace('\n', " ").contains("the tablebases decide"), "{games}");
}
