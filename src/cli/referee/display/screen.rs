//! The screen of a tournament.

use std::collections::VecDeque;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::theme::Theme;
use crate::cli::referee::display::game::{self, PANEL};
use crate::cli::terminal::{Letters, escaped};
use epdb::referee::{RunningGame, Snapshot, Tournament};

/// Maximum number of stored messages.
const KEPT_MESSAGES: usize = 100;
/// Maximum number of shown messages.
const SHOWN_MESSAGES: u16 = 3;

/// State of the screen besides the tournament itself.
#[derive(Debug)]
pub(super) struct Screen {
    pub(super) look: Theme,
    messages: VecDeque<String>,
    /// Command that is being typed.
    pub(super) typed: Option<String>,
}

impl Screen {
    pub(super) const fn new(look: Theme) -> Screen {
        Screen { look, messages: VecDeque::new(), typed: None }
    }

    /// Adds lines of text; control characters are escaped.
    pub(super) fn say(&mut self, text: &str) {
        self.messages.extend(text.lines().map(|line| escaped(line, self.look.letters).to_string()));
        while self.messages.len() > KEPT_MESSAGES {
            self.messages.pop_front();
        }
    }

    /// Draws the whole screen, as far as there is room.
    pub(super) fn draw(&self, frame: &mut Frame<'_>, snapshot: &Snapshot<'_>) {
        let table = snapshot.standings().to_string();
        let rows = table.lines().count() as u16;
        let area = frame.area();
        let [head, games, standings, messages, keys] = Layout::vertical([
            Constraint::Length(1),
            Constraint::Fill(1),
            Constraint::Length(rows.min(area.height / 3)),
            Constraint::Length(SHOWN_MESSAGES.min(area.height / 6)),
            Constraint::Length(1),
        ])
        .areas(area);
        frame.render_widget(Paragraph::new(self.head(snapshot)), head);
        self.draw_games(frame, games, snapshot);
        frame.render_widget(Paragraph::new(table), standings);
        let shown = self.messages.len().saturating_sub(messages.height as usize);
        let lines: Vec<Line<'_>> =
            self.messages.iter().skip(shown).map(|text| Line::raw(text.as_str())).collect();
        frame.render_widget(Paragraph::new(lines), messages);
        frame.render_widget(Paragraph::new(self.bottom()), keys);
        // If pieces are chess symbols, the terminal is known to show more than ASCII.
        if self.look.letters == Letters::Ascii && !self.look.figures {
            let cells = frame.buffer_mut().content.iter_mut();
            for cell in cells.filter(|cell| !cell.symbol().is_ascii()) {
                cell.set_char('?');
            }
        }
    }

    fn head<'s>(&self, snapshot: &'s Snapshot<'_>) -> Line<'s> {
        let (running, over) = (snapshot.running.len(), snapshot.finished.len());
        let to_come = snapshot.to_come.len();
        let Tournament { event, pgn, .. } = snapshot.tournament;
        let name = pgn.file_stem().unwrap_or_default().to_string_lossy();
        let title = format!("{}  ", if event == "?" { &*name } else { event });
        let counts = format!("{over} finished, {running} running, {to_come} to go  ");
        let state = match (snapshot.has_ended, snapshot.is_paused) {
            (true, _) => "ended",
            (false, true) => "paused",
            (false, false) => "",
        };
        let state = Span::styled(state, self.look.warning());
        Line::from(vec![Span::styled(title, self.look.strong()), Span::raw(counts), state])
    }

    fn bottom(&self) -> Line<'_> {
        match &self.typed {
            Some(typed) => Line::raw(format!(":{typed}_")),
            None => Line::raw("q lines  p pause  : command  f figures  ^C stop"),
        }
    }

    /// Draws boards as far as there is room, else a line for each game.
    fn draw_games(&self, frame: &mut Frame<'_>, area: Rect, snapshot: &Snapshot<'_>) {
        let [width, height] = PANEL;
        let (columns, rows) = (area.width / width, area.height / height);
        let games = &snapshot.running;
        if columns == 0 || rows == 0 {
            return self.draw_lines(frame, area, snapshot, games);
        }
        let with_board = games.len().min(usize::from(columns * rows));
        for (place, game) in games[..with_board].iter().enumerate() {
            let (column, row) = (place as u16 % columns, place as u16 / columns);
            let panel = Rect::new(area.x + column * width, area.y + row * height, width, height);
            game::draw_panel(frame, panel, snapshot.tournament, game, self.look);
        }
        let below = (with_board as u16).div_ceil(columns) * height;
        let rest = Rect { y: area.y + below, height: area.height - below, ..area };
        self.draw_lines(frame, rest, snapshot, &games[with_board..]);
    }

    fn draw_lines(
        &self,
        frame: &mut Frame<'_>,
        area: Rect,
        snapshot: &Snapshot<'_>,
        games: &[RunningGame],
    ) {
        let lines: Vec<Line<'_>> =
            games.iter().map(|game| Line::raw(game::line(snapshot.tournament, game))).collect();
        frame.render_widget(Paragraph::new(lines), area);
    }
}
