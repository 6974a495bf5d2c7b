//! Descriptions of records for people.

use std::fmt::Write as _;

use super::extension;
use super::record::Record;
use crate::codec::ordinal;
use crate::model::{Color, GameBuilder, SEVEN_TAG_ROSTER};
use crate::text::pgn::{from_latin1, tags};
use crate::text::san;

/// Describes each record of a stream in one line. While a game is valid, it is replayed, so that
/// move ordinals are shown as moves.
///
/// ```
/// use epdb_chess::codec::pgc::{Explainer, Records};
/// let mut records = Records::new(&b"\x05\x03\x02\x0d\x0c\x06"[..]);
/// let mut explainer = Explainer::new();
/// let mut lines = Vec::new();
/// while let Some(located) = records.next_record()? {
///     lines.push(explainer.meaning(&located.record));
/// }
/// assert_eq!(lines, ["game 1 begins", "2 moves: 1. e4 e5", "game ends"]);
/// # Ok::<(), epdb_chess::codec::pgc::RecordError>(())
/// ```
#[derive(Debug, Default)]
pub struct Explainer {
    builder: GameBuilder,
    games: u64,
    in_movetext: bool,
    announces_null_move: bool,
}

impl Explainer {
    /// Begins at the start of a stream.
    pub fn new() -> Explainer {
        Explainer::default()
    }

    /// Describes the next record.
    pub fn meaning(&mut self, record: &Record) -> String {
        let has_null_move = std::mem::take(&mut self.announces_null_move);
        match record {
            Record::Noop => {
                self.announces_null_move = has_null_move;
                "no meaning".into()
            }
            Record::ReducedGame { roster, moves } => {
                self.begin();
                let mut text = format!("game {}:", self.games);
                for (name, value) in SEVEN_TAG_ROSTER.into_iter().zip(roster) {
                    write!(text, " {name} {:?},", from_latin1(value)).ok();
                }
                format!("{text} {}", self.moves(moves, false))
            }
            Record::Tag { name, value } => {
                let name = from_latin1(name);
                let value = from_latin1(value);
                // A tag that the game cannot have is shown all the same.
                self.builder.set_tag(&name, &value).ok();
                format!("tag {name} {value:?}")
            }
            Record::Moves(moves) => self.moves(moves, has_null_move),
            Record::GameBegin => {
                self.begin();
                format!("game {} begins", self.games)
            }
            Record::GameEnd => "game ends".into(),
            Record::Nag(nag) => format!("NAG ${nag}"),
            Record::VariationBegin => {
                self.builder.begin_variation().ok();
                "variation begins".into()
            }
            Record::VariationEnd => {
                self.builder.end_variation().ok();
                "variation ends".into()
            }
            Record::Escape(text) => {
                self.announces_null_move = *text == extension::NULL_MOVE;
                if is_utf8(text) {
                    format!("escape {:?}", String::from_utf8_lossy(text))
                } else {
                    format!("escape {:?}", from_latin1(text))
                }
            }
        }
    }

    fn begin(&mut self) {
        self.games += 1;
        self.builder.reset();
        self.in_movetext = false;
    }

    /// Describes moves by their ordinals. The first may be a null move.
    fn moves(&mut self, ordinals: &[u8], has_null_move: bool) -> String {
        if !std::mem::replace(&mut self.in_movetext, true) {
            // Invalid tags are ignored here, because the reader reports them. The moves then may
            // not fit.
            tags::apply_rules(&mut self.builder).ok();
        }
        let mut text = match ordinals.len() {
            1 => "1 move:".to_owned(),
            count => format!("{count} moves:"),
        };
        for (place, ordinal) in ordinals.iter().enumerate() {
            let Some(replay) = self.builder.replay() else { break };
            let playable = replay.playable();
            let is_null_move = has_null_move && place == 0;
            let mv = ordinal::move_at(&playable, (*ordinal).into()).filter(|_| !is_null_move);
            if mv.is_none() && !is_null_move {
                write!(text, " {ordinal} (no move)").ok();
                break;
            }
            let number = replay.fullmove_number();
            match playable.position().turn() {
                Color::White => write!(text, " {number}.").ok(),
                Color::Black if place == 0 => write!(text, " {number}...").ok(),
                Color::Black => None,
            };
            let word = mv.map_or("--".to_owned(), |mv| san::format(&playable, mv).to_string());
            write!(text, " {word}").ok();
            let played = match mv {
                Some(mv) => self.builder.play(mv),
                None => self.builder.play_null_move(),
            };
            if played.is_err() {
                break;
            }
        }
        text
    }
}

/// Whether an escape record carries text in UTF-8.
fn is_utf8(escape: &[u8]) -> bool {
    [extension::COMMENT_UTF8, extension::TAG, extension::ESCAPE]
        .into_iter()
        .any(|prefix| escape.starts_with(prefix))
}
