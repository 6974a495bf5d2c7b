//! Games that reached a position and were kept: the operand of `kept_games`.

use std::cmp::Reverse;
use std::fmt::{self, Write};
use std::str::FromStr;

use super::record::Operand;
use super::tally::MAX_RATING;

/// Maximum number of games that are kept of each kind (best rated, latest).
pub const MAX_KEPT_GAMES: u8 = 100;

/// ID of a kept game: the first bytes of a hash of the kept data. As text, sixteen hexadecimal
/// digits.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct GameId(pub [u8; GameId::LEN]);

impl GameId {
    /// The length of an ID in bytes.
    pub const LEN: usize = 8;
}

impl fmt::Display for GameId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", u64::from_be_bytes(self.0))
    }
}

/// Error of a text that is not a [`GameId`].
#[derive(Copy, Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("sixteen hexadecimal digits, lower case, stand for a game")]
pub struct GameIdError;

impl FromStr for GameId {
    type Err = GameIdError;

    fn from_str(text: &str) -> Result<GameId, GameIdError> {
        let is_digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if text.len() != 2 * GameId::LEN || !text.as_bytes().iter().all(is_digit) {
            return Err(GameIdError);
        }
        let id = u64::from_str_radix(text, 16).map_err(|_| GameIdError)?;
        Ok(GameId(id.to_be_bytes()))
    }
}

/// A date. The day, the month and day, or everything may be unknown. Later dates are larger, and an
/// unknown part is smaller than any known one.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct GameDate {
    year: u16,
    month: u8,
    day: u8,
}

impl GameDate {
    /// Makes a date of year, month and day, each 0 if unknown. `None` if they are not a date.
    pub fn new(year: u16, month: u8, day: u8) -> Option<GameDate> {
        let has_gap = (year == 0 && month > 0) || (month == 0 && day > 0);
        let is_date = year <= MAX_RATING && month <= 12 && day <= 31 && !has_gap;
        is_date.then_some(GameDate { year, month, day })
    }

    /// Year, month and day, each 0 if unknown.
    pub const fn parts(self) -> (u16, u8, u8) {
        (self.year, self.month, self.day)
    }

    fn from_text(text: &str) -> Option<GameDate> {
        let mut parts = text.split('.');
        let mut part = |digits: usize| -> Option<u16> {
            let text = parts.next().filter(|text| text.len() == digits)?;
            if text.bytes().all(|byte| byte == b'?') {
                return Some(0);
            }
            if !text.bytes().all(|byte| byte.is_ascii_digit()) {
                return None;
            }
            text.parse().ok().filter(|&number| number > 0)
        };
        let year = part(4)?;
        let month = part(2)?;
        let day = part(2)?;
        if parts.next().is_some() {
            return None;
        }
        GameDate::new(year, month.try_into().ok()?, day.try_into().ok()?)
    }
}

impl fmt::Display for GameDate {
    /// Writes the date as in the tag `Date` of a game.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            GameDate { year: 0, .. } => f.write_str("????")?,
            GameDate { year, .. } => write!(f, "{year:04}")?,
        }
        [self.month, self.day].iter().try_for_each(|part| match part {
            0 => f.write_str(".??"),
            part => write!(f, ".{part:02}"),
        })
    }
}

/// A game that was kept, and the properties by which it is chosen.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct KeptGame {
    /// The mean of both ratings, rounded down, 1 to 9999; `None` if a player has no rating.
    pub rating: Option<u16>,
    /// The date of the game.
    pub date: GameDate,
    /// ID of the game.
    pub id: GameId,
}

impl KeptGame {
    fn by_rating(&self) -> impl Ord + use<> {
        (Reverse(self.rating), Reverse(self.date), self.id)
    }

    fn by_date(&self) -> impl Ord + use<> {
        (Reverse(self.date), Reverse(self.rating), self.id)
    }

    fn from_text(text: &str) -> Option<KeptGame> {
        let mut words = text.split(' ');
        let rating = match words.next()? {
            "-" => None,
            word => Some(number(word).filter(|rating| (1..=MAX_RATING).contains(rating))?),
        };
        let date = GameDate::from_text(words.next()?)?;
        let id = words.next()?.parse().ok()?;
        words.next().is_none().then_some(KeptGame { rating, date, id })
    }
}

impl fmt::Display for KeptGame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.rating {
            Some(rating) => write!(f, "{rating}")?,
            None => f.write_str("-")?,
        }
        write!(f, " {} {}", self.date, self.id)
    }
}

/// Parses a number without sign and leading zeros.
fn number(text: &str) -> Option<u16> {
    if text.starts_with('0') || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    text.parse().ok()
}

/// The best rated and the latest of the games that reached a position. One limit applies to both
/// kinds.
///
/// The best rated games have the highest mean ratings; games without a rating come last. If ratings
/// are equal, the later game comes first; if the dates are equal too, the game with the smaller
/// [`GameId`]. The latest games have the latest dates; games with unknown dates come last. If dates
/// are equal, the better rated game comes first; if the ratings are equal too, the game with the
/// smaller ID. A game of both kinds is listed once. All games are listed from the best rated on.
///
/// ```
/// use epdb_chess::model::KeptGames;
/// let one = KeptGames::from_text(b"keep 1, 2701 2019.05.01 00000000000000aa").expect("a list");
/// let other = b"keep 1, 2650 2020.??.?? 00000000000000bb, - 2021.01.31 00000000000000cc";
/// let other = KeptGames::from_text(other).expect("a list");
/// let text = "keep 1, 2701 2019.05.01 00000000000000aa, - 2021.01.31 00000000000000cc";
/// assert_eq!(one.merged(&other).to_text(), text);
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct KeptGames {
    limit: u8,
    games: Vec<KeptGame>,
}

impl KeptGames {
    /// The best `limit` games of each kind; `None` if there are no games, or `limit` is not from 1
    /// to [`MAX_KEPT_GAMES`].
    pub fn new(limit: u8, mut games: Vec<KeptGame>) -> Option<KeptGames> {
        if games.is_empty() || !(1..=MAX_KEPT_GAMES).contains(&limit) {
            return None;
        }
        choose(limit, &mut games);
        Some(KeptGames { limit, games })
    }

    /// The list without games for which `is_wanted` returns false; `None` if no game is left.
    pub fn retain(mut self, is_wanted: impl Fn(GameId) -> bool) -> Option<KeptGames> {
        self.games.retain(|game| is_wanted(game.id));
        (!self.games.is_empty()).then_some(self)
    }

    /// Limit of the number of games of each kind.
    pub const fn limit(&self) -> u8 {
        self.limit
    }

    /// All games, the best rated first.
    pub fn games(&self) -> &[KeptGame] {
        &self.games
    }

    /// The best rated games, the best first.
    pub fn best(&self) -> impl Iterator<Item = &KeptGame> {
        self.games.iter().take(self.limit.into())
    }

    /// The latest games, the latest first.
    pub fn latest(&self) -> impl Iterator<Item = &KeptGame> {
        let mut games: Vec<&KeptGame> = self.games.iter().collect();
        games.sort_by_key(|game| game.by_date());
        games.into_iter().take(self.limit.into())
    }

    /// The games chosen from both lists. If the limits of the lists differ, the smaller limit
    /// counts.
    #[must_use]
    pub fn merged(&self, other: &KeptGames) -> KeptGames {
        let limit = self.limit.min(other.limit);
        let mut games = [&self.games[..], &other.games].concat();
        choose(limit, &mut games);
        KeptGames { limit, games }
    }

    /// Canonical text of the operand, without quotes.
    pub fn to_text(&self) -> String {
        let mut text = format!("keep {}", self.limit);
        for game in &self.games {
            write!(text, ", {game}").ok();
        }
        text
    }

    /// Reads the text between the quotes of the operand. The games may be in any order.
    pub fn from_text(text: &[u8]) -> Option<KeptGames> {
        let mut parts = std::str::from_utf8(text).ok()?.split(", ");
        let limit = number(parts.next()?.strip_prefix("keep ")?)?;
        let games = parts.map(KeptGame::from_text).collect::<Option<Vec<_>>>()?;
        KeptGames::new(limit.try_into().ok()?, games)
    }

    /// Reads the operands of an operation `kept_games`.
    pub fn from_operands(operands: &[Operand]) -> Option<KeptGames> {
        match operands {
            [Operand::Str(text)] => KeptGames::from_text(text),
            _ => None,
        }
    }
}

/// Keeps the best rated and the latest of the games, each once.
fn choose(limit: u8, games: &mut Vec<KeptGame>) {
    games.sort_by_key(KeptGame::by_rating);
    games.dedup_by_key(|game| game.id);
    let limit = usize::from(limit);
    if games.len() <= limit {
        return;
    }
    let mut latest = games.clone();
    latest.sort_by_key(KeptGame::by_date);
    latest.truncate(limit);
    let mut rest = games.split_off(limit);
    rest.retain(|game| latest.contains(game));
    games.append(&mut rest);
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::*;

    fn any_game() -> impl Strategy<Value = KeptGame> {
        let date = (0..3u16, 0..3u8, 0..3u8).prop_map(|(year, month, day)| {
            let year = if year == 0 { 0 } else { 2018 + year };
            GameDate::new(year, month, day).unwrap_or_default()
        });
        (prop::option::of(1..4u16), date, 0..40u8).prop_map(|(rating, date, id)| KeptGame {
            rating,
            date,
            id: GameId([id; 8]),
        })
    }

    /// Games with different ids.
    fn any_games() -> impl Strategy<Value = Vec<KeptGame>> {
        prop::collection::vec(any_game(), 1..40).prop_map(|mut games| {
            games.sort_by_key(|game| game.id);
            games.dedup_by_key(|game| game.id);
            games
        })
    }

    #[test]
    fn what_is_no_list_is_none() {
        let id = "0123456789abcdef";
        for text in [
            "".to_string(),
            "keep 1".to_string(),
            format!("keep 0, 1 2020.01.01 {id}"),
            format!("keep 101, 1 2020.01.01 {id}"),
            format!("keep 01, 1 2020.01.01 {id}"),
            format!("keep 1, 0 2020.01.01 {id}"),
            format!("keep 1, 10000 2020.01.01 {id}"),
            format!("keep 1, 1 2020.13.01 {id}"),
            format!("keep 1, 1 2020.??.01 {id}"),
            format!("keep 1, 1 ????.01.?? {id}"),
            format!("keep 1, 1 2020.1.1 {id}"),
            format!("keep 1, 1 2020.01.01 {}", id.to_uppercase()),
            format!("keep 1, 1 2020.01.01 {id} "),
            format!("keep 1, 1 2020.01.01 {id},"),
            "keep 1, 1 2020.01.01 0123".to_string(),
        ] {
            assert_eq!(KeptGames::from_text(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn what_is_missing_comes_last() {
        let text = "keep 2, 2700 ????.??.?? 0000000000000001, 2600 2020.??.?? 0000000000000002, \
                    2600 2019.12.31 0000000000000003, - 2020.01.?? 0000000000000004";
        let games = KeptGames::from_text(text.as_bytes()).unwrap();
        let ids = |games: Vec<&KeptGame>| games.iter().map(|it| it.id.0[7]).collect::<Vec<_>>();
        assert_eq!(ids(games.best().collect()), [1, 2]);
        assert_eq!(ids(games.latest().collect()), [4, 2]);
        assert_eq!(ids(games.games().iter().collect()), [1, 2, 4], "{text}");
    }

    proptest! {
        #[test]
        fn text_comes_back(limit in 1..5u8, games in any_games()) {
            let games = KeptGames::new(limit, games).unwrap();
            prop_assert_eq!(KeptGames::from_text(games.to_text().as_bytes()), Some(games));
        }

        #[test]
        fn batches_and_their_order_make_no_difference(
            limit in 1..5u8, games in any_games(), at in any::<prop::sample::Index>(),
        ) {
            let all = KeptGames::new(limit, games.clone()).unwrap();
            let at = at.index(games.len());
            let parts = [&games[..at], &games[at..]];
            let mut parts = parts.iter().filter_map(|part| KeptGames::new(limit, part.to_vec()));
            let one = parts.next().unwrap();
            if let Some(other) = parts.next() {
                prop_assert_eq!(&one.merged(&other), &all);
                prop_assert_eq!(&other.merged(&one), &all);
            } else {
                prop_assert_eq!(&one.merged(&one), &all);
            }
            // The smaller limit counts, so the list with limit 1 stays as it is.
            let few = KeptGames::new(1, games).unwrap();
            prop_assert_eq!(all.merged(&few), few);
        }

        #[test]
        fn the_first_by_each_order_are_there(limit in 1..5u8, games in any_games()) {
            let kept = KeptGames::new(limit, games.clone()).unwrap();
            let mut best = games.clone();
            best.sort_by_key(KeptGame::by_rating);
            best.truncate(limit.into());
            let mut latest = games;
            latest.sort_by_key(KeptGame::by_date);
            latest.truncate(limit.into());
            prop_assert_eq!(kept.best().copied().collect::<Vec<_>>(), best);
            prop_assert_eq!(kept.latest().copied().collect::<Vec<_>>(), latest);
        }
    }
}
