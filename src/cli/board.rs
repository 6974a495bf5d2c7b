//! A board in the terminal.

use std::io::{self, IsTerminal};

use super::terminal::{self, Letters};
use epdb_chess::model::{Color, Piece, Position, Role, Square};

#[derive(Copy, Clone, Debug)]
pub(crate) struct BoardStyle {
    /// True if pieces are shown as chess symbols, false if as the letters of FEN.
    pub(crate) symbols: bool,
    pub(crate) colours: bool,
}

impl BoardStyle {
    pub(crate) fn of_stdout() -> BoardStyle {
        let shows = io::stdout().is_terminal();
        let symbols = shows && Letters::of_terminal() == Letters::All;
        BoardStyle { symbols, colours: terminal::wants_color(shows) }
    }
}

/// The board as lines, seen from one side, without the end of the last line.
pub(crate) fn text(position: &Position, bottom: Color, look: BoardStyle) -> String {
    let upwards: Vec<u8> = (0..8).collect();
    let downwards: Vec<u8> = (0..8).rev().collect();
    let (ranks, files) = match bottom {
        Color::White => (&downwards, &upwards),
        Color::Black => (&upwards, &downwards),
    };
    let mut text = String::new();
    for &rank in ranks {
        let squares = files.iter().map(|&file| square(position, Square::at(file, rank), look));
        let line = squares.collect::<Vec<_>>().join(if look.colours { "" } else { " " });
        text += &format!("  {}  {line}\n", rank + 1);
    }
    let letters = files.iter().map(|&file| char::from(b'a' + file).to_string());
    let (margin, gap) = if look.colours { ("      ", "  ") } else { ("     ", " ") };
    text + "\n" + margin + &letters.collect::<Vec<_>>().join(gap)
}

/// A square as one character. With colours, a space is added on both sides.
fn square(position: &Position, square: Square, look: BoardStyle) -> String {
    let piece = position.board().piece_at(square);
    let is_light = (square.file() + square.rank()) % 2 == 1;
    if !look.colours {
        let letter = |piece| if look.symbols { symbol(piece) } else { char::from(piece.letter()) };
        return piece.map_or('.', |piece: Piece| letter(piece)).to_string();
    }
    // Black's symbols are the filled ones. With colours, both sides have filled symbols.
    let letter = piece.map_or(' ', |Piece { role, .. }: Piece| {
        if look.symbols {
            symbol(Piece { color: Color::Black, role })
        } else {
            char::from(Piece { color: Color::White, role }.letter())
        }
    });
    let background = if is_light { 180 } else { 95 };
    let foreground = match piece.map(|piece| piece.color) {
        Some(Color::White) => 231,
        _ => 16,
    };
    format!("\x1b[48;5;{background}m\x1b[38;5;{foreground}m {letter} \x1b[0m")
}

const fn symbol(piece: Piece) -> char {
    match (piece.color, piece.role) {
        (Color::White, Role::King) => '♔',
        (Color::White, Role::Queen) => '♕',
        (Color::White, Role::Rook) => '♖',
        (Color::White, Role::Bishop) => '♗',
        (Color::White, Role::Knight) => '♘',
        (Color::White, Role::Pawn) => '♙',
        (Color::Black, Role::King) => '♚',
        (Color::Black, Role::Queen) => '♛',
        (Color::Black, Role::Rook) => '♜',
        (Color::Black, Role::Bishop) => '♝',
        (Color::Black, Role::Knight) => '♞',
        (Color::Black, Role::Pawn) => '♟',
    }
}
