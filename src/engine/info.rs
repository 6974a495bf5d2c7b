//! Parses the `info` lines that an engine sends during a search.

use std::iter::Peekable;
use std::num::IntErrorKind;
use std::str::{FromStr, SplitAsciiWhitespace};
use std::time::Duration;

use epdb_chess::model::score::{Evaluation, MAX_MATE};

/// The fields of an `info` line that describe a search.
///
/// ```
/// use epdb_engine::{Bound, Info};
/// use epdb_chess::model::score::Evaluation;
/// let line = "info depth 9 seldepth 12 score cp -31 nodes 4711 time 6 pv e2e4 e7e5";
/// let info = Info::parse(line).expect("an info line");
/// assert_eq!((info.depth, info.nodes, info.multipv), (Some(9), Some(4711), 1));
/// assert_eq!(info.score, Some((Evaluation::Centipawns(-31), Bound::Exact)));
/// assert_eq!(info.pv, ["e2e4", "e7e5"]);
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
    /// The score from the point of view of the side to move, and whether it is exact or a bound.
    pub score: Option<(Evaluation, Bound)>,
    /// The rank of the line, from 1; 0 if the rank is invalid.
    pub multipv: usize,
    /// The moves of the line in coordinates.
    pub pv: Vec<String>,
    /// The first field that could not be read, and is treated as missing, or the first score that was
    /// clamped.
    pub unreadable: Option<String>,
}

/// Relation of a reported score to the true score.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Bound {
    /// The exact score.
    Exact,
    /// The true score is at least the reported score.
    Lower,
    /// The true score is at most the reported score.
    Upper,
}

/// The largest `ce` that is not a mate score.
const MAX_CE: i64 = 32_000;
/// The largest MultiPV rank.
const MAX_LINES: u64 = 500;

impl Info {
    /// Parses a line; `None` if it is not an `info` line. Unknown words are skipped. An unreadable field is
    /// treated as missing. A score beyond 16 bits becomes ±32000. Other fields are not affected.
    ///
    /// ```
    /// use epdb_engine::Info;
    /// let info = Info::parse("info depth 9 score mate 0 nodes -12 pv e2e4").expect("an info line");
    /// assert_eq!((info.depth, info.score, info.nodes), (Some(9), None, None));
    /// assert_eq!(info.pv, ["e2e4"]);
    /// assert!(info.unreadable.expect("the first such field").starts_with("`score mate 0`"));
    /// ```
    pub fn parse(line: &str) -> Option<Info> {
        let mut words = line.split_ascii_whitespace().peekable();
        words.next_if_eq(&"info")?;
        let mut fields = Fields { words, fault: None };
        let mut info = Info {
            depth: None,
            seldepth: None,
            nodes: None,
            time: None,
            score: None,
            multipv: 1,
            pv: Vec::new(),
            unreadable: None,
        };
        while let Some(word) = fields.words.next() {
            match word {
                "depth" => info.depth = fields.number(word).or(info.depth),
                "seldepth" => info.seldepth = fields.number(word).or(info.seldepth),
                "nodes" => info.nodes = fields.number(word).or(info.nodes),
                "time" => {
                    info.time = fields.number(word).map(Duration::from_millis).or(info.time);
                }
                "multipv" => info.multipv = fields.rank(),
                "score" => {
                    info.score = fields.score().map(|score| (score, Bound::Exact)).or(info.score);
                }
                "lowerbound" => info.set_bound(Bound::Lower),
                "upperbound" => info.set_bound(Bound::Upper),
                "pv" => info.pv = fields.moves(),
                "string" => break,
                _ => {}
            }
        }
        info.unreadable = fields.fault;
        Some(info)
    }

    /// The exact score as the operand of `ce`; `None` for a bound.
    pub fn ce(&self) -> Option<i32> {
        match self.score {
            // Its range was checked when it was read.
            Some((score, Bound::Exact)) => score.ce(false).ok(),
            _ => None,
        }
    }

    fn set_bound(&mut self, bound: Bound) {
        if let Some((_, is)) = &mut self.score {
            *is = bound;
        }
    }
}

/// The remaining words of a line. A word that is not a valid value is not consumed, because it may
/// be the name of the next field.
struct Fields<'l> {
    words: Peekable<SplitAsciiWhitespace<'l>>,
    fault: Option<String>,
}

impl Fields<'_> {
    /// The value of a field; `None` if it is not a number in the range of the type.
    fn number<T: FromStr>(&mut self, name: &str) -> Option<T> {
        let word = self.words.peek().copied();
        let value = word.and_then(|word| word.parse().ok());
        if value.is_some() {
            self.words.next();
        } else {
            self.report(name, word, "is not a number in its range, and is ignored");
        }
        value
    }

    /// The rank of the line, or 0.
    fn rank(&mut self) -> usize {
        let Some(rank) = self.number::<u64>("multipv") else { return 0 };
        if (1..=MAX_LINES).contains(&rank) {
            return rank as usize;
        }
        let rank = rank.to_string();
        self.report("multipv", Some(&rank), "is not the number of a line, and is ignored");
        0
    }

    /// A score, clamped to the largest ordinary score. Clamping is reported if the score exceeds 16
    /// bits.
    fn score(&mut self) -> Option<Evaluation> {
        let Some(kind) = self.words.next_if(|word| matches!(*word, "cp" | "mate")) else {
            let word = self.words.peek().copied();
            self.report("score", word, "is neither cp nor mate, and is ignored");
            return None;
        };
        let name = format!("score {kind}");
        let word = self.words.peek().copied();
        let Some(value) = word.and_then(saturated).filter(|value| kind == "cp" || *value != 0)
        else {
            self.report(&name, word, "is not a score, and is ignored");
            return None;
        };
        self.words.next();
        if kind == "mate" && value.unsigned_abs() <= MAX_MATE.into() {
            return Some(Evaluation::Mate(value));
        }
        let ordinary = if kind == "mate" { value.signum() * MAX_CE } else { value };
        let clamped = ordinary.clamp(-MAX_CE, MAX_CE);
        if kind == "mate" || i16::try_from(value).is_err() {
            self.report(&name, word, &format!("is out of range, and counts as {clamped}"));
        }
        Some(Evaluation::Centipawns(clamped))
    }

    fn moves(&mut self) -> Vec<String> {
        let words = std::iter::from_fn(|| self.words.next_if(|word| is_move(word)));
        words.map(String::from).collect()
    }

    /// Remembers the first invalid field.
    fn report(&mut self, name: &str, word: Option<&str>, what: &str) {
        let word: String = word.unwrap_or_default().chars().take(32).collect();
        self.fault
            .get_or_insert_with(|| format!("`{}` {what}", format!("{name} {word}").trim_end()));
    }
}

/// A number, saturated to 64 bits.
fn saturated(word: &str) -> Option<i64> {
    match word.parse::<i64>() {
        Ok(value) => Some(value),
        Err(error) => match error.kind() {
            IntErrorKind::PosOverflow => Some(i64::MAX),
            IntErrorKind::NegOverflow => Some(i64::MIN),
            _ => None,
        },
    }
}

/// True if a word looks like a move in coordinates.
fn is_move(word: &str) -> bool {
    matches!(word.as_bytes(), [b'a'..=b'h', b'1'..=b'8', b'a'..=b'h', b'1'..=b'8', rest @ ..]
        if matches!(rest.to_ascii_lowercase()[..], [] | [b'q' | b'r' | b'b' | b'n']))
}

/// The move after `bestmove`; `None` if it is another line.
pub(super) fn best_move(line: &str) -> Option<&str> {
    let mut words: SplitAsciiWhitespace<'_> = line.split_ascii_whitespace();
    (words.next() == Some("bestmove")).then(|| words.next().unwrap_or("nothing"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn parsed(line: &str) -> Info {
        Info::parse(line).unwrap()
    }

    #[test]
    fn unknown_words_are_skipped() {
        let info =
            parsed("info depth 3 currmove e2e4 hashfull 12 wdl 1 2 3 pv e2e4 tbhits 0 nodes 9");
        assert_eq!((info.depth, info.nodes, info.unreadable), (Some(3), Some(9), None));
        assert_eq!(info.pv, ["e2e4"]);
        assert_eq!(parsed("info string depth nonsense"), parsed("info"));
        for other in ["readyok", "", "infos depth 3", "bestmove info"] {
            assert_eq!(Info::parse(other), None, "{other}");
        }
    }

    #[test]
    fn scores_are_clamped_and_those_beyond_16_bits_reported() {
        let score = |text: &str| {
            let info = parsed(&format!("info score {text} nodes 5 pv e2e4"));
            assert_eq!((info.nodes, info.pv.len()), (Some(5), 1), "{text}");
            (info.score.map(|(score, _)| score), info.unreadable)
        };
        let most = Evaluation::Centipawns(32_000);
        let least = Evaluation::Centipawns(-32_000);
        assert_eq!(score("cp 32001"), (Some(most), None));
        assert_eq!(score("cp -32767"), (Some(least), None));
        assert_eq!(score("mate -383"), (Some(Evaluation::Mate(-383)), None));
        let bound = parsed("info score cp 5 lowerbound").score;
        assert_eq!(bound, Some((Evaluation::Centipawns(5), Bound::Lower)));
        for (text, clamped) in [
            ("cp 32769", most),
            ("cp -40000", least),
            ("cp 99999999999999999999", most),
            ("cp -2147483648", least),
            ("mate 384", most),
            ("mate -400", least),
            ("mate -9223372036854775809", least),
        ] {
            let (value, report) = score(text);
            assert_eq!(value, Some(clamped), "{text}");
            let report = report.unwrap();
            assert!(report.starts_with(&format!("`score {text}` is out of range")), "{report}");
        }
        for wrong in ["cp x", "cp 20.4", "cp", "", "mate 0", "mate -0", "54", "elo 3000"] {
            let (value, report) = score(wrong);
            assert_eq!(value, None, "{wrong}");
            assert!(report.unwrap().ends_with("and is ignored"), "{wrong}");
        }
    }

    #[test]
    fn fields_that_cannot_be_read_count_as_missing() {
        for wrong in [
            "depth -1",
            "depth x",
            "depth 4294967296",
            "seldepth 5.5",
            "nodes -1294967296",
            "nodes 18446744073709551616",
            "time x",
            "depth",
        ] {
            let info = parsed(&format!("info {wrong} score cp 7 pv e2e4"));
            let left = (info.depth, info.seldepth, info.nodes, info.time);
            assert_eq!(left, (None, None, None, None), "{wrong}");
            assert_eq!((info.ce(), info.pv.len(), info.multipv), (Some(7), 1, 1), "{wrong}");
            assert!(info.unreadable.unwrap().starts_with("`"), "{wrong}");
        }
        for wrong in ["multipv 0", "multipv 501", "multipv -1", "multipv x", "multipv"] {
            let info = parsed(&format!("info {wrong} score cp 7 pv e2e4"));
            assert_eq!((info.multipv, info.ce(), info.pv.len()), (0, Some(7), 1), "{wrong}");
            assert!(info.unreadable.is_some(), "{wrong}");
        }
        assert_eq!(parsed("info nodes 18446744073709551615").nodes, Some(u64::MAX));
        let first = parsed("info depth -1 nodes -2").unreadable.unwrap();
        assert_eq!(first, "`depth -1` is not a number in its range, and is ignored");
    }

    #[test]
    fn best_moves_are_found() {
        assert_eq!(best_move("bestmove e2e4 ponder e7e5"), Some("e2e4"));
        assert_eq!(best_move("bestmove"), Some("nothing"));
        assert_eq!(best_move("info bestmove e2e4"), None);
    }
}
