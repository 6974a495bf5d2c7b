//! One game on the screen.

use std::time::Duration;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Paragraph};

use super::theme::Theme;
use epdb::model::score::Score;
use epdb::model::{Color, Position, Square};
use epdb::referee::{RunningGame, SideView, Tournament};

/// Columns and rows of a game with its board.
pub(super) const PANEL: [u16; 2] = [44, 11];
/// Width of a board in columns of the terminal, with the numbers of the ranks.
const BOARD: u16 = 18;

/// Draws a game with its board.
pub(super) fn draw_panel(
    frame: &mut Frame<'_>,
    area: Rect,
    tournament: &Tournament,
    game: &RunningGame,
    look: Theme,
) {
    let held = if game.is_held { ", held" } else { "" };
    let title = format!(" game {}, round {}{held} ", game.pairing.game, game.pairing.round);
    let block = Block::bordered().title(Span::styled(title, look.strong()));
    let inner = block.inner(area);
    frame.render_widget(block, area);
    let [board, sides] =
        Layout::horizontal([Constraint::Length(BOARD), Constraint::Min(0)]).spacing(1).areas(inner);
    frame.render_widget(Paragraph::new(board_lines(&game.position, look)), board);
    frame.render_widget(Paragraph::new(side_lines(tournament, game, look)), sides);
}

/// A game in one line.
pub(super) fn line(tournament: &Tournament, game: &RunningGame) -> String {
    let [white, black] = &game.sides;
    format!(
        "{}  {}  {}  {} - {}  {}",
        game.pairing.game,
        last_move(game),
        clock_and_score(white),
        name(tournament, white),
        name(tournament, black),
        clock_and_score(black),
    )
}

/// The lines of a board, with White at the bottom.
fn board_lines(position: &Position, look: Theme) -> Vec<Line<'static>> {
    let rank = |rank: u8| {
        let square = |file: u8| {
            let piece = position.board().piece_at(Square::at(file, rank));
            let style = look.square((file + rank) % 2 == 1, piece);
            Span::styled(format!("{} ", look.piece(piece)), style)
        };
        let number = std::iter::once(Span::raw(format!("{} ", rank + 1)));
        number.chain((0..8).map(square)).collect::<Line<'_>>()
    };
    let files = Line::raw("  a b c d e f g h");
    (0..8).rev().map(rank).chain([files]).collect()
}

/// Lines about the players: Black at the top, White at the bottom, the last move between them.
fn side_lines(tournament: &Tournament, game: &RunningGame, look: Theme) -> Vec<Line<'static>> {
    let side = |color: Color| {
        let view = &game.sides[color as usize];
        let is_running = game.running == Some(color);
        let style = if is_running { look.strong() } else { Default::default() };
        let mark = if is_running { "> " } else { "  " };
        [
            Line::raw(name(tournament, view).to_string()),
            Line::styled(format!("{mark}{}", clock_and_score(view)), style),
            Line::raw(format!("  {}", view.state)),
        ]
    };
    let opening = game.opening.clone().unwrap_or_default();
    let middle = [Line::raw(last_move(game)), Line::raw(opening), Line::default()];
    side(Color::Black).into_iter().chain(middle).chain(side(Color::White)).collect()
}

fn name<'t>(tournament: &'t Tournament, side: &SideView) -> &'t str {
    tournament.players.get(side.player).map_or("?", |player| &player.name)
}

/// The last move, such as `12. Nf3` or `12... Nf6`.
fn last_move(game: &RunningGame) -> String {
    let Some(san) = &game.last_move else { return "-".into() };
    let san = String::from_utf8_lossy(san.as_bytes()).into_owned();
    match game.position.turn() {
        Color::Black => format!("{}. {san}", game.fullmove_number),
        Color::White => format!("{}... {san}", game.fullmove_number.saturating_sub(1)),
    }
}

fn clock_and_score(side: &SideView) -> String {
    let clock = side.left.map_or_else(|| "-".into(), clock);
    let score = side.score.map(score).unwrap_or_default();
    let depth = side.depth.map(|depth| format!("/{depth}")).unwrap_or_default();
    format!("{clock} {score}{depth}").trim_end().to_string()
}

/// Minutes and seconds, with hours if there are any, and with tenths of a second in the last
/// minute.
fn clock(left: Duration) -> String {
    let seconds = left.as_secs();
    let (hours, minutes, rest) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match (hours, minutes) {
        (0, 0) => format!("0:{rest:02}.{}", left.subsec_millis() / 100),
        (0, _) => format!("{minutes}:{rest:02}"),
        _ => format!("{hours}:{minutes:02}:{rest:02}"),
    }
}

/// A score from the view of its player: in pawns, or as moves to a mate.
fn score(score: Score) -> String {
    let moves = score.full_moves().unwrap_or_default();
    match score {
        Score::Centipawns(value) => {
            let sign = if value < 0 { '-' } else { '+' };
            format!("{sign}{}.{:02}", value.abs() / 100, value.abs() % 100)
        }
        Score::Mates(_) => format!("#{moves}"),
        Score::Mated(_) | Score::Checkmated => format!("#-{moves}"),
        Score::Illegal => String::new(),
    }
}
