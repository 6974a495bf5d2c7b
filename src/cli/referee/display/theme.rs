//! Characters and colours of a terminal.

use ratatui::style::{Color as Paint, Modifier, Style};

use crate::cli::terminal::{self, Letters};
use epdb::model::{Color, Piece, Role};

/// Characters and colours of a terminal.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Theme {
    /// True if pieces are shown as chess symbols (♞), false if as letters.
    pub(super) figures: bool,
    /// Whether there are colours.
    pub(super) colors: bool,
    /// Characters that are shown unchanged.
    pub(super) letters: Letters,
}

impl Theme {
    /// Theme of the environment: chess symbols if text is UTF-8, colours unless `NO_COLOR` is set
    /// or --color decides otherwise.
    pub(super) fn of_environment() -> Theme {
        let colors = terminal::wants_color(true);
        Theme { figures: terminal::is_utf8(), colors, letters: Letters::of_terminal() }
    }

    /// A piece as a letter, White's in upper case, or as a chess symbol. With colours, all symbols
    /// are filled ones.
    pub(super) fn piece(self, piece: Option<Piece>) -> char {
        let Some(piece) = piece else { return if self.colors { ' ' } else { '.' } };
        if !self.figures {
            return char::from(piece.letter());
        }
        let (white, black) = match piece.role {
            Role::King => ('♔', '♚'),
            Role::Queen => ('♕', '♛'),
            Role::Rook => ('♖', '♜'),
            Role::Bishop => ('♗', '♝'),
            Role::Knight => ('♘', '♞'),
            Role::Pawn => ('♙', '♟'),
        };
        if piece.color == Color::White && !self.colors { white } else { black }
    }

    /// Style of a square.
    pub(super) fn square(self, is_light: bool, piece: Option<Piece>) -> Style {
        if !self.colors {
            return Style::new();
        }
        let ground = if is_light { Paint::Rgb(133, 151, 170) } else { Paint::Rgb(86, 104, 125) };
        let style = Style::new().bg(ground);
        match piece.map(|piece| piece.color) {
            Some(Color::White) => style.fg(Paint::Rgb(255, 255, 255)),
            Some(Color::Black) => style.fg(Paint::Rgb(0, 0, 0)),
            None => style,
        }
    }

    /// Style of titles and of running clocks.
    pub(super) fn strong(self) -> Style {
        let style = Style::new().add_modifier(Modifier::BOLD);
        if self.colors { style.fg(Paint::Cyan) } else { style }
    }

    /// Style of warnings.
    pub(super) fn warning(self) -> Style {
        let style = Style::new().add_modifier(Modifier::REVERSED);
        if self.colors { style.fg(Paint::Yellow) } else { style }
    }
}
