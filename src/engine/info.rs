//! What an engine says while it searches: lines that begin with `info`.

use std::str::SplitAsciiWhitespace;
use std::time::Duration;

use crate::model::score::{Evaluation, MAX_MATE};

/// The words of an `info` line that tell of a search.
///
/// ```
/// use epdb::engine::{Bound, Info};
/// use epdb::model::score::Evaluation;
/// let line = "info depth 9 seldepth 12 score cp -31 nodes 4711 time 6 pv e2e4 e7e5";
/// let info = Info::parse(line)?.expect("an info line");
/// assert_eq!((info.depth, info.nodes, info.multipv), (Some(9), Some(4711), 1));
/// assert_eq!(info.score, Some((Evaluation::Centipawns(-31), Bound::Exact)));
/// assert_eq!(info.pv, ["e2e4", "e7e5"]);
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, PartialEq, Debug)]
pub struct Info {
    /// The depth in plies.
    pub depth: Option<u32>,
    /// The selective depth in plies.
    pub seldepth: Option<u32>,
    /// Nodes that were searched.
    pub nodes: Option<u64>,
    /// The time of the search.
    pub time: Option<Duration>,
    /// The score, seen by the side to move, and what it is of the true one.
    pub score: Option<(Evaluation, Bound)>,
    /// Which of several lines this is, from 1.
    pub multipv: usize,
    /// The moves of the line in coordinates.
    pub pv: Vec<String>,
}

/// What a score is of the true one.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Bound {
    /// The score itself.
    Exact,
    /// The true score is at least this.
    Lower,
    /// The true score is at most this.
    Upper,
}

/// The largest score that is one: what 16 bits say.
const LARGEST_SCORE: i64 = i16::MAX as i64;
/// The largest ordinary score of a record.
const LARGEST_CE: i64 = 32_000;
/// More lines than this nobody asks for.
const MOST_LINES: u64 = 500;

impl Info {
    /// Reads a line; `None` when it is no `info` line. Words that do not matter here are passed over.
    ///
    /// # Errors
    /// A number that is none, or out of its range.
    pub fn parse(line: &str) -> Result<Option<Info>, String> {
        let mut words = line.split_ascii_whitespace();
        if words.next() != Some("info") {
            return Ok(None);
        }
        let mut info = Info {
            depth: None,
            seldepth: None,
            nodes: None,
            time: None,
            score: None,
            multipv: 1,
            pv: Vec::new(),
        };
        let mut words = words.peekable();
        while let Some(word) = words.next() {
            match word {
                "depth" => info.depth = Some(number(word, words.next())?),
                "seldepth" => info.seldepth = Some(number(word, words.next())?),
                "nodes" => info.nodes = Some(number(word, words.next())?),
                "time" => info.time = Some(Duration::from_millis(number(word, words.next())?)),
                "multipv" => info.multipv = line_number(words.next())?,
                "score" => info.score = Some((score(words.next(), words.next())?, Bound::Exact)),
                "lowerbound" => info.set_bound(Bound::Lower),
                "upperbound" => info.set_bound(Bound::Upper),
                "pv" => {
                    info.pv = std::iter::from_fn(|| words.next_if(|word| is_move(word)))
                        .map(String::from)
                        .collect();
                }
                "string" => break,
                _ => {}
            }
        }
        Ok(Some(info))
    }

    /// The score as the operand of `ce`, or a bound of it.
    pub fn ce(&self) -> Option<i32> {
        // Its range was checked when it was read.
        self.score.and_then(|(score, _)| score.ce(false).ok())
    }

    fn set_bound(&mut self, bound: Bound) {
        if let Some((_, is)) = &mut self.score {
            *is = bound;
        }
    }
}

/// Whether a word looks like a move in coordinates.
fn is_move(word: &str) -> bool {
    matches!(word.as_bytes(), [b'a'..=b'h', b'1'..=b'8', b'a'..=b'h', b'1'..=b'8', rest @ ..]
        if matches!(rest.to_ascii_lowercase()[..], [] | [b'q' | b'r' | b'b' | b'n']))
}

fn number<T: TryFrom<u64>>(name: &str, word: Option<&str>) -> Result<T, String> {
    let word = word.unwrap_or_default();
    word.parse()
        .ok()
        .and_then(|value: u64| value.try_into().ok())
        .ok_or_else(|| format!("`{name} {}` of the engine is no number that it can be", cut(word)))
}

fn line_number(word: Option<&str>) -> Result<usize, String> {
    match number::<u64>("multipv", word)? {
        number @ 1..=MOST_LINES => Ok(number as usize),
        number => Err(format!("`multipv {number}` of the engine is no number of a line")),
    }
}

/// A score: ordinary ones beyond what a record can say become the largest that it can, but those that
/// 16 bits cannot hold are none.
fn score(kind: Option<&str>, value: Option<&str>) -> Result<Evaluation, String> {
    let (kind, word) = (kind.unwrap_or_default(), value.unwrap_or_default());
    let refused = |why: String| Err(format!("`score {} {}`: {why}", cut(kind), cut(word)));
    let Ok(value) = word.parse::<i64>() else { return refused("no number".into()) };
    match kind {
        "cp" if (-LARGEST_SCORE..=LARGEST_SCORE).contains(&value) => {
            Ok(Evaluation::Centipawns(value.clamp(-LARGEST_CE, LARGEST_CE)))
        }
        "cp" => refused("a score that does not fit into 16 bits".into()),
        "mate" if value != 0 && value.unsigned_abs() <= MAX_MATE.into() => {
            Ok(Evaluation::Mate(value))
        }
        "mate" => refused(format!("a mate is in 1 to {MAX_MATE} moves")),
        _ => refused("expected cp or mate".into()),
    }
}

/// The beginning of a word for a message.
fn cut(word: &str) -> String {
    word.chars().take(32).collect()
}

/// The move behind `bestmove`; `None` when the line is another one.
pub(super) fn best_move(line: &str) -> Option<&str> {
    let mut words: SplitAsciiWhitespace<'_> = line.split_ascii_whitespace();
    (words.next() == Some("bestmove")).then(|| words.next().unwrap_or("nothing"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn parsed(line: &str) -> Info {
        Info::parse(line).unwrap().unwrap()
    }

    #[test]
    fn words_that_do_not_matter_are_passed_over() {
        let info =
            parsed("info depth 3 currmove e2e4 hashfull 12 wdl 1 2 3 pv e2e4 tbhits 0 nodes 9");
        assert_eq!((info.depth, info.nodes), (Some(3), Some(9)));
        assert_eq!(info.pv, ["e2e4"]);
        assert_eq!(parsed("info string depth nonsense"), parsed("info"));
        assert_eq!(Info::parse("readyok"), Ok(None));
        assert_eq!(Info::parse(""), Ok(None));
    }

    // CE-07
    #[test]
    fn scores_are_clamped_within_16_bits_and_refused_beyond() {
        let score =
            |text: &str| Info::parse(&format!("info score {text}")).map(|it| it.unwrap().score);
        let exact = |evaluation| Ok(Some((evaluation, Bound::Exact)));
        assert_eq!(score("cp 32001"), exact(Evaluation::Centipawns(32_000)));
        assert_eq!(score("cp -32767"), exact(Evaluation::Centipawns(-32_000)));
        assert_eq!(score("mate -383"), exact(Evaluation::Mate(-383)));
        let bound = score("cp 5 lowerbound");
        assert_eq!(bound, Ok(Some((Evaluation::Centipawns(5), Bound::Lower))));
        for wrong in [
            "cp 32768",
            "cp -40000",
            "cp 99999999999999999999",
            "cp x",
            "cp",
            "",
            "mate 0",
            "mate 384",
            "mate -9223372036854775808",
            "elo 3000",
        ] {
            assert!(score(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn numbers_are_refused_when_they_are_none() {
        for wrong in [
            "depth -1",
            "nodes 18446744073709551616",
            "multipv 0",
            "multipv 501",
            "time x",
            "depth",
        ] {
            assert!(Info::parse(&format!("info {wrong}")).is_err(), "{wrong}");
        }
        assert_eq!(parsed("info nodes 18446744073709551615").nodes, Some(u64::MAX));
    }

    #[test]
    fn best_moves_are_found() {
        assert_eq!(best_move("bestmove e2e4 ponder e7e5"), Some("e2e4"));
        assert_eq!(best_move("bestmove"), Some("nothing"));
        assert_eq!(best_move("info bestmove e2e4"), None);
    }
}
