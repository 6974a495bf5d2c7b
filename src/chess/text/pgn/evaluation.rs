//! Evaluations in comments of games.
//!
//! There are two kinds. The first kind is `[%eval 0.34]`, `[%eval #-3]` and (with a depth) `[%eval
//! -1.20,18]` or `[%eval -120,18]`. It comes after a move and evaluates the position after that move, always from
//! White's view. The second kind is `+0.35/20 1.2s`, which cutechess and fastchess write after an
//! engine's move. It is the score of the position before that move, from the view of the engine.

use super::time::{after_command, is_number, leading_time_ms, small_number, split_once};
use crate::model::score::Score;
use crate::model::score::{Evaluation, MAX_MATE};
use crate::model::{Color, Opcode};

/// An evaluation in a comment: `[%eval 0.34]`.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct CommentEvaluation {
    /// The evaluation from White's view.
    evaluation: Evaluation,
    depth: Option<u32>,
}

impl CommentEvaluation {
    /// Reads the last evaluation in a comment. `None` if the comment has no evaluation,
    /// `Some(None)` if the evaluation cannot be read.
    pub(super) fn last_in(comment: &str) -> Option<Option<CommentEvaluation>> {
        let behind = after_command(comment, b"[%eval")?;
        Some(split_once(behind, b']').and_then(|(text, _)| CommentEvaluation::parse(text)))
    }

    fn parse(text: &str) -> Option<CommentEvaluation> {
        let (evaluation, depth) = parse_evaluation(text)?;
        Some(CommentEvaluation { evaluation, depth })
    }

    /// Returns the evaluation from the view of the side to move.
    pub(super) fn seen_by(&self, turn: Color) -> Option<PositionScore> {
        let ce = self.evaluation.ce(turn == Color::Black).ok()?;
        Some(PositionScore { ce, depth: self.depth })
    }
}

/// Reads the text after `[%eval`: the score from White's view, and the depth. A score in pawns has
/// a point or no depth. ChessBase and ChessGUI write centipawns without a point, with the depth. A
/// score that `ce` cannot express counts as the largest one.
pub fn parse_evaluation(text: &str) -> Option<(Evaluation, Option<u32>)> {
    let (score, depth) = match split_once(text, b',') {
        Some((score, depth)) => (score.trim(), Some(depth.trim().parse().ok()?)),
        None => (text.trim(), None),
    };
    let evaluation = match score.as_bytes() {
        [b'#', ..] => Evaluation::Mate(score[1..].parse().ok()?),
        [b'-', b'#', ..] => Evaluation::Mate(-i64::from(score[2..].parse::<u32>().ok()?)),
        _ if depth.is_some() && !score.contains('.') => Evaluation::Centipawns(score.parse().ok()?),
        _ => Evaluation::Centipawns(centipawns(score)?),
    };
    Some((evaluation.clamped(), depth))
}

/// An evaluation of a position from the view of the side to move.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct PositionScore {
    ce: i32,
    depth: Option<u32>,
}

impl PositionScore {
    /// Reads the comment after an engine's move: score and depth, then the time and more, such as
    /// `+0.35/20 1.2s, n=12345` or `-M8/30`. `None` for a comment of another form, such as `book`,
    /// and for depth 0. `Some(None)` for a mate in 0 plies, or in more plies than `ce` can express.
    pub(super) fn from_engine_comment(comment: &str) -> Option<Option<PositionScore>> {
        let EngineComment { score, mate_plies, depth, .. } = EngineComment::parse(comment)?;
        // Programs write depth 0 if the engine sent none.
        if depth == 0 {
            return None;
        }
        let ce = match mate_plies {
            Some(plies) => mate_in_plies(plies, score.starts_with('-')),
            None => centipawns(score)
                .and_then(|value| Evaluation::Centipawns(value).clamped().ce(false).ok()),
        };
        Some(ce.map(|ce| PositionScore { ce, depth: Some(depth) }))
    }

    /// The score as a value of `ce`.
    pub(super) const fn ce(&self) -> i32 {
        self.ce
    }

    /// The operations for this score: `ce`, and `acd` if the depth is known.
    pub(super) fn operations(&self) -> impl Iterator<Item = (Opcode, i128)> + use<> {
        let depth = self.depth.map(|depth| (Opcode::ACD, depth.into()));
        std::iter::once((Opcode::CE, self.ce.into())).chain(depth)
    }
}

/// The parts of the comment after an engine's move: `+0.35/20 1.2s, n=12345`.
#[derive(Copy, Clone)]
pub(super) struct EngineComment<'c> {
    score: &'c str,
    /// The digits after `M`.
    mate_plies: Option<&'c str>,
    depth: u32,
    /// The time and more, such as `1.2s, n=12345`. It may be empty.
    pub(super) rest: &'c str,
}

impl<'c> EngineComment<'c> {
    /// Splits a comment into its parts. `None` if the comment has another form.
    pub(super) fn parse(comment: &'c str) -> Option<EngineComment<'c>> {
        let (score, behind) = split_once(comment, b'/')?;
        let score = score.trim_start();
        let behind = behind.trim_end();
        let end = behind.find(|sign: char| !sign.is_ascii_digit()).unwrap_or(behind.len());
        let (depth, after_depth) = behind.split_at(end);
        let depth: u32 = depth.parse().ok()?;
        let size = score.strip_prefix(['+', '-']).unwrap_or(score);
        let mate_plies = size.strip_prefix('M').filter(|plies| is_number(plies));
        let is_score = mate_plies.is_some()
            || size.split_once('.').is_some_and(|parts| is_number(parts.0) && is_number(parts.1));
        let is_marked = mate_plies.is_some() || size.len() < score.len();
        let after_comma = after_depth.strip_prefix(',').unwrap_or(after_depth);
        let rest = after_comma.trim_start();
        let is_whole = if rest.is_empty() {
            after_depth.is_empty() && is_marked
        } else {
            after_comma.starts_with(char::is_whitespace) && leading_time_ms(rest).is_some()
        };
        (is_score && is_whole).then_some(EngineComment { score, mate_plies, depth, rest })
    }
}

/// Returns the `ce` for a side that mates in this number of plies, or is mated.
fn mate_in_plies(plies: &str, is_mated: bool) -> Option<i32> {
    const MAX_PLIES: i32 = 2 * MAX_MATE as i32;
    let plies = plies.parse().ok().filter(|plies| (1..=MAX_PLIES).contains(plies))?;
    Some(if is_mated { plies - 32767 } else { 32767 - plies })
}

/// Reads a number of pawns with a decimal point, such as `-1.2`. Returns it rounded to centipawns.
fn centipawns(pawns: &str) -> Option<i64> {
    const MAX_LEN: usize = 12;
    let is_number = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'-' | b'+');
    if pawns.len() > MAX_LEN || !pawns.bytes().all(is_number) {
        return None;
    }
    // Most scores have two decimals. Reading a float takes longer.
    let (sign, size) = match pawns.as_bytes() {
        [b'-', size @ ..] => (-1, size),
        size => (1, size),
    };
    if let [whole @ .., b'.', tenths, hundredths] = size
        && let Some(whole) = small_number(whole)
        && let Some(decimals) = small_number(&[*tenths, *hundredths])
    {
        return Some(sign * (100 * whole + decimals) as i64);
    }
    let pawns: f64 = pawns.parse().ok()?;
    Some((pawns * 100.0).round() as i64)
}

/// Writes the comment for a score from the view of the side to move `turn`: `[%eval 0.34,18]`. The
/// depth may be empty. `None` for a score that has no number, such as checkmate on the board.
pub fn evaluation_comment(score: Score, turn: Color, depth: &str) -> Option<String> {
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
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn read(comment: &str, turn: Color) -> Option<Option<Vec<i128>>> {
        let last = CommentEvaluation::last_in(comment)?;
        let score = last.map(|it| it.seen_by(turn).unwrap());
        Some(score.map(|it| it.operations().map(|(_, value)| value).collect()))
    }

    #[test]
    fn comments_of_engines_are_the_movers() {
        for (comment, ce, depth) in [
            ("+0.35/20 1.2s", 35, 20),
            ("-0.30/18 0.050s", -30, 18),
            (" 0.00/31 60s ", 0, 31),
            ("+M11/24 0.070s", 32756, 24),
            ("-M10/12 0.026s", -32757, 12),
            ("-M3/30", -32764, 30),
            ("+M1/127 0.003s, Black mates", 32766, 127),
            ("+0.00/1 0.000s, White mates", 0, 1),
            ("-8.11/24 5.0s, White wins by adjudication", -811, 24),
            ("+0.35/20 1.2s n=12345 sd=30", 35, 20),
            ("+1.00/15 1.321s, tl=9.1s, n=12345, sd=20, nps=9345, hashfull=12, tbhits=0", 100, 15),
            ("-0.59/19, 0.394s, X made an illegal move", -59, 19),
            ("+0.30/21", 30, 21),
            ("+0.35/20\n1.2s", 35, 20),
            ("-1.5/9 20ms", -150, 9),
            ("-320.01/20 1s", -32_000, 20),
        ] {
            let score = PositionScore { ce, depth: Some(depth) };
            assert_eq!(PositionScore::from_engine_comment(comment), Some(Some(score)), "{comment}");
        }
    }

    #[test]
    fn comments_that_are_not_of_engines() {
        for comment in [
            "",
            "book",
            "1.2s",
            "1/2",
            "1/2 1.2s",
            "3/4 of the time",
            "0.5/10 of the time",
            "0.5/10",
            "+0.35",
            "+0.35/",
            "+0.35/20s",
            "+0.35/20 good",
            "+0.35/20 12",
            "+.35/20 1.2s",
            "+M/20 1.2s",
            "-M8/0 0.0s",
            "+0.00/0 0.000s",
            "x +0.35/20 1.2s",
            "+0.35/99999999999 1.2s",
            "(+0.35/20 1.2s)",
            "[%eval 0.34]",
            "+0.35/20 1.2.3s",
        ] {
            assert_eq!(PositionScore::from_engine_comment(comment), None, "{comment}");
        }
        for comment in ["+M767/30 1s", "+M0/30 1s", "+9999999999999.00/20 1s"] {
            assert_eq!(PositionScore::from_engine_comment(comment), Some(None), "{comment}");
        }
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
            ("[%eval 35,20]", &[35, 20], &[-35, 20]),
            ("[%eval -12, 19]", &[-12, 19], &[12, 19]),
            ("[%eval +1234,0]", &[1234, 0], &[-1234, 0]),
            ("[%eval 0.35,20]", &[35, 20], &[-35, 20]),
            ("[%eval 35.,20]", &[3500, 20], &[-3500, 20]),
            ("[%eval 35]", &[3500], &[-3500]),
            ("[%eval -#26,30]", &[-32715, 30], &[32716, 30]),
            ("[%eval #26,30]", &[32716, 30], &[-32715, 30]),
            ("[%eval 999.99]", &[32000], &[-32000]),
            ("[%eval -32767,12]", &[-32000, 12], &[32000, 12]),
            ("[%eval #-384]", &[-32000], &[32000]),
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
            "[%eval -#]",
            "[%eval --#3]",
            "[%eval -#-3]",
            "[%eval 1e3,5]",
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
