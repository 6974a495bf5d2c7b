//! Tags of games as typed values: names, ratings, dates, and values derived from them.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

use super::date::Date;
use super::near_games::{folded_name, folded_surname};
use super::value::EvalContext;
use super::value::{Number, Type, Value};
use epdb_chess::model::{Color, EpdRecord, Game, Speed, is_tag_name, is_well_known_tag};

/// The name of a tag, which decides the type of its value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TagName(Arc<str>);

impl TagName {
    /// Checks a name; `None` if no tag can have it.
    pub fn new(name: &str) -> Option<TagName> {
        is_tag_name(name).then(|| TagName(name.into()))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The type of the values. They are dates if the name ends in `Date`, and numbers if it ends in
    /// `Elo`, `Rating`, `RatingDiff`, `USCF` or `PlyCount`. Other well-known tags have texts; all
    /// other tags have values of any type.
    pub fn kind(&self) -> Type {
        let name = self.as_str();
        let ends = |suffixes: &[&str]| suffixes.iter().any(|suffix| name.ends_with(suffix));
        match name {
            _ if ends(&["Date"]) => Type::Date,
            _ if ends(&["Elo", "Rating", "RatingDiff", "USCF", "PlyCount"]) => Type::Number,
            _ if is_well_known_tag(name) => Type::Text,
            _ => Type::Any,
        }
    }

    /// Whether the tag names players.
    pub(super) fn is_of_players(&self) -> bool {
        matches!(self.as_str(), "White" | "Black")
    }

    pub(super) fn value<'a>(&self, tags: &Tags<'a>) -> Value<'a> {
        let value = tags.get(self.as_str()).map(|text| Value::Word(Cow::Borrowed(text)));
        self.typed(value.unwrap_or(Value::Missing))
    }

    /// Converts a value to the type of the tag; missing if it cannot be parsed.
    pub(super) fn typed<'a>(&self, value: Value<'a>) -> Value<'a> {
        match (self.kind(), value) {
            (Type::Number, Value::Word(text) | Value::Text(text)) => {
                Number::parse(&text).map_or(Value::Missing, Value::Number)
            }
            (Type::Date, Value::Word(Cow::Borrowed(text)) | Value::Text(Cow::Borrowed(text))) => {
                Date::from_tag(text).map_or(Value::Missing, |date| Value::Date(text, date))
            }
            (Type::Date, _) => Value::Missing,
            (Type::Text, Value::Word(text)) => Value::Text(text),
            (_, value) => value,
        }
    }
}

/// Whether a value of `White` or `Black` names this player. The value may name several players, separated by
/// colons.
///
/// ```
/// use epdb_library::game_tag::names_player;
/// let pair = b"Smith, John Q.:Jones, Bob";
/// assert!(names_player(pair, b"Jones, Bob") && names_player(pair, pair));
/// assert!(!names_player(pair, b"Jones"));
/// ```
pub fn names_player(value: &[u8], name: &[u8]) -> bool {
    value == name
        || value.contains(&b':')
            && value.split(|byte| *byte == b':').any(|one| one.trim_ascii() == name)
}

/// Search for a player in the tags White and Black of games. It knows the other names that may be those of the
/// player; if no game has the player, these are the nearest names.
///
/// ```
/// use epdb_library::game_tag::PlayerSearch;
/// use epdb_chess::text::pgn::{GameReader, PgnReadOptions};
/// let mut search = PlayerSearch::new(&["Alekhine".into()], None).expect("a name");
/// let pgn = b"[White \"Alekhine, Alexander\"] [Black \"Reti, Richard\"] 1. e4 1-0";
/// let mut reader = GameReader::new(&pgn[..], PgnReadOptions::default());
/// search.add(reader.next_game()?.expect("a game").game.expect("a good game"));
/// assert_eq!(
///     search.missing().as_deref(),
///     Some(
///         "no game of `Alekhine`; the nearest: `Alekhine, Alexander` (1 game). \
///          Give the name as the games spell it: --player 'Alekhine, Alexander'"
///     )
/// );
/// let mut search = PlayerSearch::new(&["Reti, Richard".into()], None).expect("a name");
/// for name in ["Reti, Richard", "Réti,R"] {
///     let pgn = format!("[White \"{name}\"] 1. Nf3 1-0");
///     let mut reader = GameReader::new(pgn.as_bytes(), PgnReadOptions::default());
///     search.add(reader.next_game()?.expect("a game").game.expect("a good game"));
/// }
/// assert_eq!(search.others().as_deref(), Some("also in these games: `Réti,R` (1)"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct PlayerSearch {
    /// The name of the player in several spellings.
    names: Vec<String>,
    /// The names by [`folded_name`].
    folded: Vec<String>,
    side: Option<Color>,
    is_found: bool,
    /// Names near to that of the player, with the number of their games.
    near: HashMap<String, (Nearness, u64)>,
}

/// Nearness of a name to the name of a player.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Nearness {
    /// Similar letters: their likeness in thousandths.
    Letters(u16),
    /// The same surname, or all words of the name.
    Surname,
    /// The same surname and initial.
    Initial,
    /// The same letters and digits.
    Form,
}

impl PlayerSearch {
    /// Maximum number of names in a message.
    const NEAREST: usize = 5;
    /// Maximum number of names that are counted.
    const COUNTED: usize = 10_000;

    /// A search for a player by one or more spellings of the name, who has this side if it is given. `None`
    /// without a name.
    pub fn new(names: &[String], side: Option<Color>) -> Option<PlayerSearch> {
        let names = names.iter().map(|name| name.trim()).filter(|name| !name.is_empty());
        let names: Vec<String> = names.map(String::from).collect();
        if names.is_empty() {
            return None;
        }
        let folded = names.iter().map(|name| folded_name(name)).collect();
        Some(PlayerSearch { names, folded, side, is_found: false, near: HashMap::new() })
    }

    /// Adds a game.
    pub fn add(&mut self, game: &Game) {
        for (side, tag) in [(Color::White, "White"), (Color::Black, "Black")] {
            let value = game.tag(tag).unwrap_or_default();
            let has_side = self.side.is_none_or(|wanted| wanted == side);
            let is_player = |name: &String| names_player(value.as_bytes(), name.as_bytes());
            self.is_found |= has_side && self.names.iter().any(is_player);
            self.count_if_near(value);
        }
    }

    fn count_if_near(&mut self, value: &str) {
        if let Some((_, games)) = self.near.get_mut(value) {
            *games += 1;
            return;
        }
        if self.near.len() == PlayerSearch::COUNTED || self.names.iter().any(|name| name == value) {
            return;
        }
        let nearest = if self.is_found {
            // Only names with the same surname and initial are still of use.
            let folded = folded_name(value);
            let is_same = !folded.is_empty() && self.folded.contains(&folded);
            is_same.then_some(Nearness::Initial)
        } else {
            self.names.iter().filter_map(|name| nearness(name, value)).max()
        };
        if let Some(nearest) = nearest {
            self.near.insert(value.to_string(), (nearest, 1));
        }
    }

    /// A message about other names that differ from that of the player only by given names, case, accents or
    /// punctuation; `None` without such names, or if no game has the player.
    pub fn others(&self) -> Option<String> {
        let near = self.near.iter().filter(|(_, (nearness, _))| *nearness >= Nearness::Initial);
        let mut near: Vec<_> = near.map(|(name, (_, games))| (Reverse(*games), name)).collect();
        if !self.is_found || near.is_empty() {
            return None;
        }
        near.sort_unstable();
        near.truncate(PlayerSearch::NEAREST);
        let shown = near.iter().map(|(Reverse(games), name)| format!("`{name}` ({games})"));
        Some(format!("also in these games: {}", shown.collect::<Vec<_>>().join(", ")))
    }

    /// A message that no game has the player, with the nearest names; `None` if a game has the player.
    pub fn missing(&self) -> Option<String> {
        if self.is_found {
            return None;
        }
        let names = self.names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>();
        let side = match self.side {
            None => "",
            Some(Color::White) => " with White",
            Some(Color::Black) => " with Black",
        };
        let mut message = format!("no game of {}{side}", names.join(", "));
        let mut near: Vec<_> = self.near.iter().collect();
        near.sort_by_key(|(name, (nearness, games))| (Reverse((*nearness, *games)), *name));
        near.truncate(PlayerSearch::NEAREST);
        if let [(first, _), ..] = &near[..] {
            let shown = |(name, (_, games)): &(&String, &(Nearness, u64))| {
                format!("`{name}` ({games} {})", if *games == 1 { "game" } else { "games" })
            };
            let near = near.iter().map(shown).collect::<Vec<_>>().join(", ");
            let quote = if first.contains('\'') { '"' } else { '\'' };
            message += &format!(
                "; the nearest: {near}. Give the name as the games spell it: --player {quote}{first}{quote}"
            );
        }
        Some(message)
    }
}

/// The letters and digits of a name, in small letters.
fn letters(name: &str) -> impl Iterator<Item = char> {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase)
}

fn nearness(wanted: &str, name: &str) -> Option<Nearness> {
    /// Minimum likeness of letters, in thousandths.
    const LIKE: u16 = 800;
    if letters(wanted).eq(letters(name)) {
        return Some(Nearness::Form);
    }
    let surname = folded_surname(wanted);
    if !surname.is_empty() && surname == folded_surname(name) {
        let has_initial = folded_name(wanted) == folded_name(name);
        return Some(if has_initial { Nearness::Initial } else { Nearness::Surname });
    }
    let [wanted, name] = [wanted, name].map(str::to_lowercase);
    let words = |text: &str| -> Vec<String> {
        let words = text.split(|letter: char| !letter.is_alphanumeric());
        words.filter(|word| !word.is_empty()).map(String::from).collect()
    };
    let wanted_words = words(&wanted);
    let name_words = words(&name);
    if !wanted_words.is_empty() && wanted_words.iter().all(|word| name_words.contains(word)) {
        return Some(Nearness::Surname);
    }
    let likeness = (1000.0 * strsim::jaro_winkler(&wanted, &name)) as u16;
    (likeness >= LIKE).then_some(Nearness::Letters(likeness))
}

/// The tags of a record: those of its game or, without a game, those in its operation `ptp`.
#[derive(Copy, Clone, Debug)]
pub(super) enum Tags<'a> {
    OfGame(&'a Game),
    OfRecord(&'a EpdRecord),
}

impl<'a> Tags<'a> {
    pub(super) const fn new(subject: &EvalContext<'a>) -> Tags<'a> {
        match subject.game {
            Some(position) => Tags::OfGame(position.game()),
            None => Tags::OfRecord(subject.record),
        }
    }

    /// The value of a tag; `None` if it stands for an unknown value.
    pub(super) fn get(&self, name: &str) -> Option<&'a [u8]> {
        self.text(name).filter(|value| !matches!(*value, b"" | b"?" | b"????.??.??"))
    }

    /// The unchanged value of a tag.
    pub(super) fn text(&self, name: &str) -> Option<&'a [u8]> {
        match self {
            Tags::OfGame(game) => game.tag(name).map(str::as_bytes),
            Tags::OfRecord(record) => record.tag(name),
        }
    }

    /// The value of the tag `Date`, or of `UTCDate` if only `UTCDate` has a year.
    pub(super) fn date(&self) -> Option<&'a [u8]> {
        let dates = ["Date", "UTCDate"].map(|name| self.text(name));
        let has_year =
            |text: &&[u8]| Date::from_tag(text).is_some_and(|date| date.year().is_some());
        dates.into_iter().flatten().find(has_year).or(dates[0])
    }

    fn number(&self, name: &str) -> Option<Number> {
        Number::parse(self.get(name)?)
    }

    pub(super) fn part_of_date(&self, part: fn(&Date) -> Option<u32>) -> Value<'a> {
        let part = self.date().and_then(Date::from_tag).and_then(|date| part(&date));
        part.map_or(Value::Missing, |part| Value::whole(part.into()))
    }

    pub(super) fn speed(&self) -> Value<'a> {
        let speed = self.get("TimeControl").and_then(speed);
        speed.map_or(Value::Missing, |speed| Value::Text(Cow::Borrowed(speed.name().as_bytes())))
    }

    fn ratings(&self) -> Option<[Number; 2]> {
        Some([self.number("WhiteElo")?, self.number("BlackElo")?])
    }

    pub(super) fn lower_rating(&self) -> Value<'a> {
        let lower = |[white, black]: [Number; 2]| {
            Value::Number(if white.compare(black).is_le() { white } else { black })
        };
        self.ratings().map_or(Value::Missing, lower)
    }

    pub(super) fn mean_rating(&self) -> Value<'a> {
        match self.ratings() {
            None => Value::Missing,
            Some([Number::Whole(white), Number::Whole(black)]) if (white ^ black) & 1 == 0 => {
                // The mean of two numbers, without their sum, which may be too large.
                Value::whole((white & black) + ((white ^ black) >> 1))
            }
            Some([white, black]) => {
                let mean = f64::midpoint(white.as_f64(), black.as_f64());
                Value::Number(Number::Fraction(mean))
            }
        }
    }
}

/// The class of a time control in the tag `TimeControl`. As on lichess.org, the time for forty moves decides
/// the class. `-` and days per move are correspondence.
pub(super) fn speed(control: &[u8]) -> Option<Speed> {
    if control == b"-" {
        return Some(Speed::Correspondence);
    }
    let control = std::str::from_utf8(control).ok()?;
    let first = control.split(':').next()?.trim_start_matches('*');
    let (moves, time) = match first.split_once('/') {
        Some((moves, time)) => (decimal(moves).filter(|moves| *moves >= UNIT)?, time),
        None => (40 * UNIT, first),
    };
    let (base, increment) = match time.split_once('+') {
        Some((base, increment)) => (decimal(base)?, decimal(increment)?),
        None => (decimal(time)?, 0),
    };
    // The first `moves` moves have the time `base`. Both sides are multiplied by `moves`.
    let moves = moves.min(40 * UNIT);
    let seconds = 40 * (base * UNIT + increment * moves);
    Some(Speed::from_time(|limit| seconds < u128::from(limit) * moves * UNIT))
}

/// The numbers of a time control are multiples of 1 / `UNIT`, because they have at most nine digits.
const UNIT: u128 = 100_000_000;

/// Reads a decimal number that is not negative, as a multiple of 1 / [`UNIT`].
fn decimal(text: &str) -> Option<u128> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (whole, part) = digits.split_once('.').unwrap_or((digits, "0"));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
    let count = digits.bytes().filter(u8::is_ascii_digit).count();
    if !is_number(whole) || !is_number(part) || count > 9 {
        return None;
    }
    let value = format!("{whole}{part:0<8}").parse().ok()?;
    (value == 0 || !text.starts_with('-')).then_some(value)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    /// The classes of lichess.org, whose limits are in its documentation.
    #[test]
    fn speeds_follow_the_time_for_forty_moves() {
        for (control, class) in [
            ("15+0", Some("ultraBullet")),
            ("0+1", Some("bullet")),
            ("60", Some("bullet")),
            ("179+0", Some("bullet")),
            ("180+0", Some("blitz")),
            ("300+3", Some("blitz")),
            ("600", Some("rapid")),
            ("600+5", Some("rapid")),
            ("1500+0", Some("classical")),
            ("40/7200:3600", Some("classical")),
            ("*180", Some("blitz")),
            ("1/259200", Some("correspondence")),
            ("-", Some("correspondence")),
            ("?", None),
            ("", None),
            ("fast", None),
            ("0/5", None),
            // Exactly the limit: 468 seconds for 39 moves are 480 for forty.
            ("39/468", Some("rapid")),
            ("39/467.9999", Some("blitz")),
            ("1.5/18+0", Some("rapid")),
            ("999999999/999999999+999999999", Some("correspondence")),
            ("1/0.0000001", Some("ultraBullet")),
            ("-0", Some("ultraBullet")),
            ("-1", None),
            ("1234567890", None),
            ("60.", None),
            (".5", None),
        ] {
            assert_eq!(speed(control.as_bytes()).map(Speed::name), class, "{control}");
        }
    }
}
