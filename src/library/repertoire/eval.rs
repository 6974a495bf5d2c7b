//! Evaluations in the comments of games.

use std::fmt;

use crate::model::Color;
use crate::model::score::{Score, mated_in, mates_in};

/// What a position is worth.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Evaluation {
    /// As `ce`, so the side to move sees it.
    pub ce: i32,
    /// The depth of the analysis in plies, if it is known.
    pub depth: Option<u32>,
}

const COMMAND: &str = "[%eval ";

impl Evaluation {
    /// Takes the first `[%eval 0.35]`, `[%eval -1.2,18]` or `[%eval #-3]` out of a comment, where a side
    /// is to move; White sees it there. The rest of the comment comes too.
    pub(super) fn take(comment: &str, turn: Color) -> Option<(Evaluation, String)> {
        let (before, behind) = comment.split_once(COMMAND)?;
        let (value, behind) = behind.split_once(']')?;
        let (score, depth) = match value.split_once(',') {
            Some((score, depth)) => (score, Some(depth.trim().parse().ok()?)),
            None => (value, None),
        };
        let ce = of_white(score.trim())?;
        let ce = if turn == Color::White { ce } else { turned(ce)? };
        let rest = [before.trim(), behind.trim()].join(" ").trim().to_string();
        Some((Evaluation { ce, depth }, rest))
    }

    /// The command in a comment where this side is to move.
    pub(super) fn command(&self, turn: Color) -> String {
        let turned = if turn == Color::White { None } else { turned(self.ce) };
        let ce = turned.unwrap_or(self.ce);
        let depth = self.depth.map(|depth| format!(",{depth}")).unwrap_or_default();
        format!("{COMMAND}{}{depth}]", Pawns(ce))
    }
}

/// The score of a `ce` that White sees, in pawns or as a mate.
struct Pawns(i32);

impl fmt::Display for Pawns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match Score::from_ce(self.0.into()) {
            Ok(score @ Score::Mates(_)) => write!(f, "#{}", score.full_moves().unwrap_or(0)),
            Ok(score @ (Score::Mated(_) | Score::Checkmated)) => {
                write!(f, "#-{}", score.full_moves().unwrap_or(0))
            }
            _ => write!(f, "{:.2}", f64::from(self.0) / 100.0),
        }
    }
}

fn of_white(text: &str) -> Option<i32> {
    if let Some(mate) = text.strip_prefix('#') {
        return match mate.strip_prefix('-') {
            Some(moves) => mated_in(moves.parse().ok()?).ok(),
            None => mates_in(mate.parse().ok()?).ok(),
        };
    }
    let pawns: f64 = text.parse().ok()?;
    let centipawns = (100.0 * pawns).round();
    (centipawns.abs() <= 32_000.0).then_some(centipawns as i32)
}

/// The same value seen by the other side, a mate in as many moves; none for mate on the board.
const fn turned(ce: i32) -> Option<i32> {
    match ce {
        32_001.. | -32_766..=-32_001 => Some(1 - ce),
        -32_000..=32_000 => Some(-ce),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn commands_are_read_and_written() {
        for (text, turn, ce, depth) in [
            ("[%eval 0.35]", Color::White, 35, None),
            ("[%eval -1.20,18]", Color::Black, 120, Some(18)),
            ("[%eval #3]", Color::White, 32_762, None),
            ("[%eval #3]", Color::Black, -32_761, None),
            ("[%eval #-3]", Color::White, -32_761, None),
            ("[%eval #-3]", Color::Black, 32_762, None),
        ] {
            let (read, rest) = Evaluation::take(&format!("a {text} b"), turn).unwrap();
            assert_eq!((read, rest.as_str()), (Evaluation { ce, depth }, "a b"), "{text}");
            assert_eq!(read.command(turn), text);
        }
        for text in ["", "0.35", "[%eval x]", "[%eval 1e9]", "[%eval 1,x]", "[%eval 1"] {
            assert_eq!(Evaluation::take(text, Color::White), None, "{text}");
        }
    }
}
