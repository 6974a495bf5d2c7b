//! What letters and colours a terminal gets.

use ratatui::style::{Color as Paint, Modifier, Style};

use crate::cli::color;
use crate::cli::locale::{self, Letters};
use epdb::model::{Color, Piece, Role};

/// What letters and colours a terminal gets.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Look {
    /// Whether pieces are figures, else letters.
    pub(super) figures: bool,
    /// Whether there are colours.
    pub(super) colors: bool,
    /// Which characters are shown as they are.
    pub(super) letters: Letters,
}

impl Look {
    /// As the environment says: figures where texts are UTF-8, colours unless `NO_COLOR` is set or --color says otherwise.
    pub(super) fn of_environment() -> Look {
        let colors = color::is_wanted(true);
        Look { figures: locale::is_utf8(), colors, letters: Letters::of_terminal() }
    }

    /// A piece as a letter, White's in upper case, or as a figure. On colours all figures are full
    /// ones.
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

    /// How a square is shown.
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

    /// How titles and clocks that run are shown.
    pub(super) fn strong(self) -> Style {
        let style = Style::new().add_modifier(Modifier::BOLD);
        if self.colors { style.fg(Paint::Cyan) } else { style }
    }

    /// How warnings are shown.
    pub(super) fn warning(self) -> Style {
        let style = Style::new().add_modifier(Modifier::REVERSED);
        if self.colors { style.fg(Paint::Yellow) } else { style }
    }
}
