//! Endings of games, and their many spellings.

use crate::model::{DOUBLE_FORFEIT, GameResult};
use crate::text::typography::Typographic;

/// The ending of a game, as its termination marker and its `Result` tag give it.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Ending {
    /// One of the four results.
    Result(GameResult),
    /// Both players lost by forfeit. The standard has no result for it.
    DoubleForfeit,
}

impl Ending {
    pub(super) const UNKNOWN: Ending = Ending::Result(GameResult::Unknown);

    /// The text of the termination marker.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Ending::Result(result) => result.as_str(),
            Ending::DoubleForfeit => DOUBLE_FORFEIT,
        }
    }
}

/// An ending, and the length of its spelling in a text.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Spelled {
    pub(super) ending: Ending,
    /// Length of the spelling in bytes.
    pub(super) len: usize,
}

impl Spelled {
    /// Reads the ending at the start of a text, in any spelling: `1:0`, `+--`, `½-½`, `1-0 ff`.
    /// `None` if letters, digits or signs follow directly.
    pub(super) fn at_start(text: &[u8]) -> Option<Spelled> {
        if text.first() == Some(&b'*') {
            return Some(Spelled { ending: Ending::UNKNOWN, len: 1 });
        }
        let (white, white_len) = Share::at_start(text)?;
        let (ending, score_len) = match score(text, white, white_len) {
            Some(scored) => scored,
            None if is_half(&text[..white_len]) => (DRAW, white_len),
            None => return None,
        };
        let len = score_len + note_length(&text[score_len..]);
        if goes_on(&text[len..]) { None } else { Some(Spelled { ending, len }) }
    }

    /// Reads a text that is an ending and nothing else.
    pub(super) fn parse(text: &[u8]) -> Option<Spelled> {
        let words = text.trim_ascii();
        if let Some(spelled) = Spelled::at_start(words)
            && spelled.len == words.len()
        {
            return Some(spelled);
        }
        let is_text = |word: &str| words.eq_ignore_ascii_case(word.as_bytes());
        let is_draw = ["draw", "drawn", "remis"].into_iter().any(is_text);
        is_draw.then_some(Spelled { ending: DRAW, len: words.len() })
    }

    /// Whether the spelling is that of the standard.
    pub(super) fn is_canonical(&self, text: &[u8]) -> bool {
        matches!(self.ending, Ending::Result(result) if result.as_str().as_bytes() == text)
    }

    /// Whether the text may also be castling: `0-0`.
    pub(super) fn may_be_castling(&self, text: &[u8]) -> bool {
        self.ending == Ending::DoubleForfeit && text.starts_with(b"0") && !text.contains(&b':')
    }
}

const DRAW: Ending = Ending::Result(GameResult::Draw);

/// The share of the point that one side gets.
#[derive(Copy, Clone, PartialEq, Eq)]
struct Share {
    half_points: u8,
    /// True if the share is written as a sign, as in `+--` for games that were not played.
    is_sign: bool,
    /// True if the share is the letter O in place of zero.
    is_letter: bool,
}

impl Share {
    const HALF: Share = Share { half_points: 1, is_sign: false, is_letter: false };

    /// Reads the share of the point that one side got, such as `1` or `1/2`, at the start of a
    /// text. Returns it and its length in bytes.
    fn at_start(text: &[u8]) -> Option<(Share, usize)> {
        const DECIMALS: [&[u8]; 4] = [b"0.5", b"0,5", b".5", b"="];
        const WHOLES: [(&[u8], u8); 4] = [(b"1.0", 2), (b"0.0", 0), (b"1", 2), (b"0", 0)];
        if let Some(half) = HALVES.into_iter().chain(DECIMALS).find(|half| text.starts_with(half)) {
            return Some((Share::HALF, half.len()));
        }
        if let Some((whole, half_points)) = WHOLES.into_iter().find(|it| text.starts_with(it.0)) {
            return Some((Share { half_points, ..Share::LOSS }, whole.len()));
        }
        let share = match text.first()? {
            b'O' | b'o' => Share { is_letter: true, ..Share::LOSS },
            b'+' => Share { half_points: 2, is_sign: true, is_letter: false },
            b'-' => Share { is_sign: true, ..Share::LOSS },
            _ => return None,
        };
        Some((share, 1))
    }

    const LOSS: Share = Share { half_points: 0, is_sign: false, is_letter: false };
}

/// Spellings of half a point. Each of them alone also means a draw.
const HALVES: [&[u8]; 5] =
    [b"1/2", "1\u{2044}2".as_bytes(), "1\u{2215}2".as_bytes(), "\u{bd}".as_bytes(), b"\xbd"];

fn is_half(text: &[u8]) -> bool {
    HALVES.contains(&text)
}

/// Reads the rest of a score, after White's share. Returns the ending and the length of the score.
fn score(text: &[u8], white: Share, white_len: usize) -> Option<(Ending, usize)> {
    let behind = &text[white_len..];
    let blanks = if white.is_sign { 0 } else { blank_length(behind) };
    let separator = blanks + separator_length(&behind[blanks..])?;
    let behind = &behind[separator..];
    let blanks = if white.is_sign { 0 } else { blank_length(behind) };
    let (black, black_len) = Share::at_start(&behind[blanks..])?;
    if black.is_sign != white.is_sign {
        return None;
    }
    let ending = match (white.half_points, black.half_points) {
        (2, 0) => Ending::Result(GameResult::WhiteWins),
        (0, 2) => Ending::Result(GameResult::BlackWins),
        (1, 1) => DRAW,
        // `O-O` is castling, and `---` has no meaning.
        (0, 0) if white.is_letter || black.is_letter => return None,
        (0, 0) if white.is_sign && !text.starts_with(b"-:") => return None,
        (0, 0) => Ending::DoubleForfeit,
        _ => return None,
    };
    Some((ending, white_len + separator + blanks + black_len))
}

fn separator_length(text: &[u8]) -> Option<usize> {
    match text.first()? {
        b'-' | b':' => Some(1),
        _ => Typographic::at_start(text).filter(|it| it.ascii == "-").map(|dash| dash.len),
    }
}

fn blank_length(text: &[u8]) -> usize {
    text.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count()
}

/// Length of a note at the start of a text: a note that the game was not played, such as ` ff`, or
/// a period. 0 if there is no note.
fn note_length(text: &[u8]) -> usize {
    const NOTES: [&str; 7] = ["(forfeit)", "forfeit", "(ff)", "ff", "w/o", "wo", "f"];
    let blanks = blank_length(text);
    let behind = &text[blanks..];
    let begins = |note: &&str| {
        let word = behind.get(..note.len());
        word.is_some_and(|word| word.eq_ignore_ascii_case(note.as_bytes()))
            && !goes_on(&behind[note.len()..])
    };
    match NOTES.into_iter().find(begins) {
        Some(note) => blanks + note.len(),
        None if text.first() == Some(&b'.') && !goes_on(&text[1..]) => 1,
        None => 0,
    }
}

/// Whether a text begins with a character that continues a symbol.
fn goes_on(text: &[u8]) -> bool {
    match text.first() {
        None => false,
        Some(0x80..) => !Typographic::at_start(text).is_some_and(|it| it.is_blank()),
        Some(byte) => {
            byte.is_ascii_alphanumeric()
                || matches!(byte, b'_' | b'+' | b'#' | b'=' | b':' | b'-' | b'/' | b'~' | b'.')
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spelled(text: &str) -> Option<(&'static str, usize)> {
        Spelled::at_start(text.as_bytes()).map(|it| (it.ending.as_str(), it.len))
    }

    #[test]
    fn results_are_spelled_in_many_ways() {
        for (ending, texts) in [
            (
                "1-0",
                &["1-0", "1:0", "1 - 0", "1 : 0", "1\u{2013}0", "1\u{2212}0", "1-O", "1-o", "+--"]
                    [..],
            ),
            ("1-0", &["+:-", "1.0-0.0", "1-0ff", "1-0 ff", "1-0 FF", "1-0 (forfeit)", "1-0."]),
            ("0-1", &["0-1", "0:1", "0 - 1", "O-1", "o-1", "--+", "-:+", "0\u{2014}1", "0-1 wo"]),
            ("1/2-1/2", &["1/2-1/2", "1/2", "\u{bd}", "\u{bd}-\u{bd}", "\u{bd}:\u{bd}"]),
            ("1/2-1/2", &["0.5-0.5", "0,5:0,5", ".5-.5", "=-=", "\u{bd} - \u{bd}", "1/2:1/2"]),
            ("1/2-1/2", &["1/2 \u{2013} 1/2", "1\u{2044}2-1\u{2044}2", "1/2-\u{bd}"]),
            ("0-0", &["0-0", "0:0", "0\u{2013}0", "-:-", "0 - 0", "0.0-0.0"]),
            ("*", &["*"]),
        ] {
            for text in texts {
                for behind in ["", " x", "\n", "{x}", ")", "\u{a0}"] {
                    let text = format!("{text}{behind}");
                    let len = text.len() - behind.len();
                    assert_eq!(spelled(&text), Some((ending, len)), "{text:?}");
                }
            }
        }
        for text in [
            "", "1", "1.", "0", "1-1", "O-O", "o-o", "O-0", "0-0-0", "0-0+", "1-0-1", "+-", "-+",
            "+/-", "-/+", "--", "---", "+-0", "1-", "10-0", "1-0x", "1 2", "\u{bd}-0", "1/2-0",
            "=", "=+", "1-e4", "e4", "0.5", "=",
        ] {
            assert_eq!(spelled(text), None, "{text:?}");
        }
        let words = |text: &str| Spelled::parse(text.as_bytes()).map(|it| it.ending.as_str());
        assert_eq!(
            (words(" Draw "), words("1-0 ff"), words("1-0 x")),
            (Some("1/2-1/2"), Some("1-0"), None)
        );
    }

    #[test]
    fn castling_and_what_the_standard_has_are_known() {
        let of = |text: &str| {
            Spelled::parse(text.as_bytes())
                .map(|it| (it.is_canonical(text.as_bytes()), it.may_be_castling(text.as_bytes())))
        };
        for (text, wanted) in [
            ("1-0", (true, false)),
            ("*", (true, false)),
            ("1:0", (false, false)),
            ("0-0", (false, true)),
            ("0 \u{2013} 0", (false, true)),
            ("0:0", (false, false)),
            ("-:-", (false, false)),
        ] {
            assert_eq!(of(text), Some(wanted), "{text}");
        }
    }
}
