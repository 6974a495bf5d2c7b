//! Evaluations in comments of games: `[%eval 0.34]`, `[%eval #-3]`, with a depth `[%eval -1.20,18]`.
//! They are of the position that the comment stands behind, and seen by White, whoever is to move.

use crate::model::score::Evaluation;
#[cfg(feature = "engine")]
use crate::model::score::Score;
use crate::model::{Color, Opcode};

/// An evaluation as a comment has it.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct CommentEvaluation {
    /// In White's view.
    evaluation: Evaluation,
    depth: Option<u32>,
}

impl CommentEvaluation {
    /// The last one in a comment: `None` where it has none, and a second `None` inside where that
    /// cannot be read.
    pub(super) fn last_in(comment: &str) -> Option<Option<CommentEvaluation>> {
        let (_, behind) = comment.rsplit_once("[%eval")?;
        let behind = behind.strip_prefix([' ', '\t', '\n', '\r'])?;
        Some(behind.split_once(']').and_then(|(text, _)| CommentEvaluation::parse(text)))
    }

    fn parse(text: &str) -> Option<CommentEvaluation> {
        let (score, depth) = match text.split_once(',') {
            Some((score, depth)) => (score, Some(depth.trim().parse().ok()?)),
            None => (text, None),
        };
        let evaluation = match score.trim().strip_prefix('#') {
            Some(moves) => Evaluation::Mate(moves.parse().ok()?),
            None => Evaluation::Centipawns(centipawns(score.trim())?),
        };
        let is_sayable = evaluation.ce(false).is_ok();
        is_sayable.then_some(CommentEvaluation { evaluation, depth })
    }

    /// What the position says of it that has this side to move.
    pub(super) fn operations(&self, turn: Color) -> impl Iterator<Item = (Opcode, i128)> + use<> {
        let ce = self.evaluation.ce(turn == Color::Black).ok().map(|ce| (Opcode::CE, ce.into()));
        let depth = self.depth.map(|depth| (Opcode::ACD, depth.into()));
        ce.into_iter().chain(depth)
    }
}

/// Pawns with a point, such as `-1.2`, in the nearest centipawns.
fn centipawns(pawns: &str) -> Option<i64> {
    const LONGEST: usize = 12;
    let is_number = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'-' | b'+');
    if pawns.len() > LONGEST || !pawns.bytes().all(is_number) {
        return None;
    }
    let pawns: f64 = pawns.parse().ok()?;
    Some((pawns * 100.0).round() as i64)
}

/// What a comment says of a position that has this side to move, as that sees it, with the depth if it
/// is not empty: `[%eval 0.34,18]`. `None` where there is no number for it, as where mate stands on
/// the board.
#[cfg(feature = "engine")]
pub(crate) fn evaluation_comment(score: Score, turn: Color, depth: &str) -> Option<String> {
    let is_white = turn == Color::White;
    let moves = score.full_moves();
    let value = match score {
        Score::Centipawns(value) => {
            let value = if is_white { value } else { -value };
            let sign = if value < 0 { "-" } else { "" };
            format!("{sign}{}.{:02}", value.abs() / 100, value.abs() % 100)
        }
        Score::Mates(_) if is_white => format!("#{}", moves?),
        Score::Mates(_) => format!("#-{}", moves?),
        Score::Mated(_) if is_white => format!("#-{}", moves?),
        Score::Mated(_) => format!("#{}", moves?),
        Score::Checkmated | Score::Illegal => return None,
    };
    let comma = if depth.is_empty() { "" } else { "," };
    Some(format!("[%eval {value}{comma}{depth}]"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(comment: &str, turn: Color) -> Option<Option<Vec<i128>>> {
        let last = CommentEvaluation::last_in(comment)?;
        Some(last.map(|it| it.operations(turn).map(|(_, value)| value).collect()))
    }

    #[test]
    fn evaluations_of_comments_are_whites() {
        for (comment, white, black) in [
            ("[%eval 0.34]", &[34][..], &[-34][..]),
            ("x [%clk 0:01:00] [%eval -1.2,18] y", &[-120, 18], &[120, 18]),
            ("[%eval 0.1] [%eval 0.2]", &[20], &[-20]),
            ("[%eval #3]", &[32762], &[-32761]),
            ("[%eval #-3]", &[-32761], &[32762]),
            ("[%eval #0]", &[-32767], &[-32767]),
            ("[%eval 0]", &[0], &[0]),
            ("[%eval +12.345]", &[1235], &[-1235]),
        ] {
            assert_eq!(read(comment, Color::White), Some(Some(white.to_vec())), "{comment}");
            assert_eq!(read(comment, Color::Black), Some(Some(black.to_vec())), "{comment}");
        }
    }

    #[test]
    fn what_is_no_evaluation_is_told_from_none() {
        for none in ["", "eval 1", "[%evaluation 1]", "[%clk 0:01:00]", "[%eval]"] {
            assert_eq!(read(none, Color::White), None, "{none}");
        }
        for bad in [
            "[%eval x]",
            "[%eval 0.1",
            "[%eval #]",
            "[%eval #384]",
            "[%eval 400.0]",
            "[%eval 1,x]",
            "[%eval inf]",
            "[%eval ]",
            "[%eval 1.2.3]",
            "[%eval #9999999999999999999999]",
        ] {
            assert_eq!(read(bad, Color::White), Some(None), "{bad}");
        }
    }
}
