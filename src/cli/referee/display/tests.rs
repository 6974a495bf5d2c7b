#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::time::Duration;

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::Color as Paint;

use super::KeyRequest;
use super::keys::Key;
use super::screen::Screen;
use super::theme::Theme;
use crate::cli::terminal::Letters;
use epdb::model::score::Score;
use epdb::model::{Color, Position};
use epdb::referee::{Absences, RunningGame, SideView, Snapshot, Tournament, next_games};

const LETTERS: Theme = Theme { figures: false, colors: false, letters: Letters::All };

fn tournament() -> Tournament {
    let text = "event = 'Cup'\n[[player]]\nname = 'Fish'\n[[player]]\nname = 'Toga'\n";
    Tournament::from_toml(text, "cup.toml").unwrap()
}

/// A tournament with this number of running games.
fn snapshot(tournament: &Tournament, games: usize) -> Snapshot<'_> {
    let pairing = next_games(&tournament.pairing, 2, 2, &[])[0];
    let side = |player: usize, score, left| SideView {
        player,
        state: "waiting",
        left: Some(Duration::from_millis(left)),
        score,
        depth: Some(12),
    };
    let game = RunningGame {
        pairing,
        opening: Some("Spanish".into()),
        position: "r1bqkbnr/pppp1ppp/2n5/1B2p3/4P3/5N2/PPPP1PPP/RNBQK2R b KQkq -".parse().unwrap(),
        fullmove_number: 3,
        last_move: Some("Bb5".parse().unwrap()),
        running: Some(Color::Black),
        sides: [
            side(0, Some(Score::Centipawns(35)), 3_661_000),
            side(1, Some(Score::Mated(4)), 59_940),
        ],
        is_held: false,
    };
    const NOBODY: &Absences = &Absences { rounds: BTreeMap::new(), games: BTreeMap::new() };
    Snapshot {
        absences: NOBODY,
        tournament,
        now: Duration::ZERO,
        running: vec![game; games],
        finished: &[],
        to_come: Vec::new(),
        seats: Vec::new(),
        is_paused: true,
        has_ended: false,
    }
}

fn drawn(
    screen: &Screen,
    snapshot: &Snapshot<'_>,
    width: u16,
    height: u16,
) -> Terminal<TestBackend> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| screen.draw(frame, snapshot)).unwrap();
    terminal
}

/// Text of the screen, without spaces at the ends of lines.
fn text(terminal: &Terminal<TestBackend>) -> String {
    let buffer = terminal.backend().buffer();
    let cells = buffer.content().chunks(usize::from(buffer.area.width));
    let lines = cells.map(|line| line.iter().map(|cell| cell.symbol()).collect::<String>());
    lines.map(|line| format!("{}\n", line.trim_end())).collect()
}

#[test]
fn a_game_shows_its_board_clocks_and_scores() {
    let tournament = tournament();
    let mut screen = Screen::new(LETTERS);
    screen.say("Toga came back\u{1b}[2J");
    let seen = text(&drawn(&screen, &snapshot(&tournament, 1), 80, 24));
    let expected = "\
Cup  0 finished, 1 running, 0 to go  paused
┌ game 1, round 1 ─────────────────────────┐
│8 r . b q k b n r  Toga                   │
│7 p p p p . p p p  > 0:59.9 #-2/12        │
│6 . . n . . . . .    waiting              │
│5 . B . . p . . .  3. Bb5                 │
│4 . . . . P . . .  Spanish                │
│3 . . . . . N . .                         │
│2 P P P P . P P P  Fish                   │
│1 R N B Q K . . R    1:01:01 +0.35/12     │
│  a b c d e f g h    waiting              │
└──────────────────────────────────────────┘





#  player  points  games  +  =  -    SB  Elo  ±  LOS %  1  2
1  Fish       0.0      0  0  0  0  0.00    -  -      -  x
1  Toga       0.0      0  0  0  0  0.00    -  -      -     x
Toga came back\\x1b[2J


q lines  p pause  : command  f figures  ^C stop
";
    assert_eq!(seen, expected);
}

#[test]
fn colours_and_figures_are_used_where_they_are_wanted() {
    let tournament = tournament();
    let all = Screen::new(Theme { figures: true, colors: true, letters: Letters::All });
    let terminal = drawn(&all, &snapshot(&tournament, 1), 80, 24);
    assert!(text(&terminal).contains("8 ♜   ♝ ♛ ♚ ♝ ♞ ♜"), "{}", text(&terminal));
    let is_colored = |terminal: &Terminal<TestBackend>| {
        let cells = terminal.backend().buffer().content();
        cells.iter().any(|cell| cell.fg != Paint::Reset || cell.bg != Paint::Reset)
    };
    assert!(is_colored(&terminal));
    let figures = Screen::new(Theme { figures: true, colors: false, letters: Letters::All });
    let terminal = drawn(&figures, &snapshot(&tournament, 1), 80, 24);
    assert!(text(&terminal).contains("1 ♖ ♘ ♗ ♕ ♔ . . ♖"), "{}", text(&terminal));
    assert!(!is_colored(&terminal));
}

#[test]
fn what_has_no_room_for_a_board_is_a_line() {
    let tournament = tournament();
    let screen = Screen::new(LETTERS);
    let seen = text(&drawn(&screen, &snapshot(&tournament, 2), 43, 24));
    let line = "1  3. Bb5  1:01:01 +0.35/12  Fish - Toga";
    assert_eq!(seen.matches(line).count(), 2, "{seen}");
    // Two boards side by side, the third game below them.
    let seen = text(&drawn(&screen, &snapshot(&tournament, 3), 100, 24));
    assert_eq!((seen.matches("a b c d e f g h").count(), seen.matches(line).count()), (2, 1));
}

#[test]
fn a_tournament_without_an_event_has_the_name_of_its_file() {
    let settings = "[[player]]\nname = 'A'\n[[player]]\nname = 'B'\n";
    let tournament = Tournament::from_toml(settings, "winter.toml").unwrap();
    let shown = text(&drawn(&Screen::new(LETTERS), &snapshot(&tournament, 1), 80, 24));
    assert!(shown.starts_with("winter  0 finished"), "{shown}");
}

#[test]
fn no_terminal_is_too_small() {
    let tournament = tournament();
    let mut screen = Screen::new(LETTERS);
    screen.say("a\nb\nc\nd");
    for width in [1, 2, 17, 44, 90] {
        for height in [1, 2, 5, 11, 13, 30] {
            drawn(&screen, &snapshot(&tournament, 5), width, height);
        }
    }
}

#[test]
fn a_terminal_that_changes_its_size_is_drawn_anew() {
    let tournament = tournament();
    let screen = Screen::new(LETTERS);
    let mut terminal = drawn(&screen, &snapshot(&tournament, 1), 80, 24);
    terminal.backend_mut().resize(43, 12);
    terminal.draw(|frame| screen.draw(frame, &snapshot(&tournament, 1))).unwrap();
    let small = text(&drawn(&screen, &snapshot(&tournament, 1), 43, 12));
    assert_eq!(text(&terminal), small);
}

#[test]
fn keys_ask_for_things_and_lines_are_typed() {
    let mut screen = Screen::new(LETTERS);
    assert_eq!(screen.press(Key::Char('p')), Some(KeyRequest::Pause));
    assert_eq!(screen.press(Key::Char('q')), Some(KeyRequest::Leave));
    assert_eq!(screen.press(Key::Interrupt), Some(KeyRequest::Stop));
    assert_eq!(screen.press(Key::Char('f')), None);
    assert!(screen.look.figures);
    for letter in ":paus".chars() {
        assert_eq!(screen.press(Key::Char(letter)), None);
    }
    screen.press(Key::Char('x'));
    screen.press(Key::Backspace);
    screen.press(Key::Char('e'));
    let tournament = tournament();
    let seen = text(&drawn(&screen, &snapshot(&tournament, 0), 40, 10));
    assert!(seen.ends_with(":pause_\n"), "{seen}");
    let asked = screen.press(Key::Enter);
    assert_eq!(asked, Some(KeyRequest::Command("pause".into())));
    screen.press(Key::Char(':'));
    screen.press(Key::Escape);
    assert_eq!(screen.typed, None);
}

#[test]
fn boards_show_black_to_move_or_not() {
    let tournament = tournament();
    let mut snapshot = snapshot(&tournament, 1);
    snapshot.running[0].position = Position::START;
    snapshot.running[0].last_move = None;
    snapshot.running[0].is_held = true;
    let seen = text(&drawn(&Screen::new(LETTERS), &snapshot, 80, 24));
    assert!(seen.contains(" game 1, round 1, held "), "{seen}");
    assert!(seen.contains("2 P P P P P P P P"), "{seen}");
}
