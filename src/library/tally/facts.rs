//! Contribution of a game to the tallies of its positions.

use crate::date::Date;
use crate::game_tag::{self, Tags};
use epdb_chess::codec::record;
use epdb_chess::model::{Cell, Color, Game, GameCounts, GameResult, MAX_RATING, Ratings, Speed};
use epdb_chess::simd::prefetch;

/// The properties that a tally is split by.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct Split {
    /// Whether tallies are split by the year.
    pub year: bool,
    /// Whether tallies are split by the month with its year.
    pub month: bool,
    /// Whether tallies are split by the class of the time control.
    pub speed: bool,
    /// Whether tallies are split by the mean rating of the players, in the groups of
    /// [`RATING_GROUPS`].
    pub rating: bool,
}

/// Number of bits that the rating of Black takes in [`GameFacts::copy_rank`].
const BLACK_BITS: u32 = 14;
/// Number of bits that a class of time controls takes in [`GameFacts::copy_rank`].
const SPEED_BITS: u32 = 3;
const _: () = assert!(MAX_RATING < 1 << BLACK_BITS && Speed::ALL.len() < 1 << SPEED_BITS);

/// The lower bounds of the rating groups, as on lichess.org.
pub const RATING_GROUPS: [u16; 9] = [0, 1000, 1200, 1400, 1600, 1800, 2000, 2200, 2500];

/// Facts of a game besides its moves.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct GameFacts {
    /// The result of the game.
    pub result: GameResult,
    /// The ratings of White and Black; a value that is not a number from 1 to 9999 is missing.
    pub ratings: [Option<u16>; 2],
    /// The year of the tag `Date`, or else of `UTCDate`.
    pub year: Option<u16>,
    /// The cell of a tally in which the game counts.
    pub cell: Cell,
}

impl GameFacts {
    /// The facts of a game.
    pub fn new(game: &Game, split: Split) -> GameFacts {
        let tags = Tags::OfGame(game);
        let date = date(&tags);
        let year = date.as_ref().and_then(Date::year).and_then(|year| u16::try_from(year).ok());
        let year = year.filter(|year| (1..=MAX_RATING).contains(year));
        let ratings = ["WhiteElo", "BlackElo"].map(|name| rating(tags.get(name)?));
        let mut cell = Cell::default();
        if split.year || split.month {
            cell.year = year;
        }
        if split.month && year.is_some() {
            cell.month = date.and_then(|date| month(&date));
        }
        if split.speed {
            cell.speed = tags.get("TimeControl").and_then(game_tag::speed);
        }
        if split.rating {
            cell.rating = group(ratings);
        }
        GameFacts { result: game.result(), ratings, year, cell }
    }

    /// A number that combines the facts in which copies of the game may differ: the ratings, and if the tally
    /// is split by time controls, the class of the time control.
    pub(super) fn copy_rank(&self) -> u32 {
        let [white, black] = self.ratings.map(|rating| u32::from(rating.unwrap_or(0)));
        let speed = self.cell.speed.map_or(0, |speed| speed as u32 + 1);
        white << (BLACK_BITS + SPEED_BITS) | black << SPEED_BITS | speed
    }

    pub(super) fn with_copy_rank(self, copy_rank: u32, split: Split) -> GameFacts {
        let rating = |shift: u32| {
            let rating = (copy_rank >> shift) as u16 & ((1 << BLACK_BITS) - 1);
            Some(rating).filter(|rating| *rating > 0)
        };
        let ratings = [rating(BLACK_BITS + SPEED_BITS), rating(SPEED_BITS)];
        let speed = (copy_rank & ((1 << SPEED_BITS) - 1)) as usize;
        let cell = Cell {
            speed: speed.checked_sub(1).and_then(|speed| Speed::ALL.get(speed).copied()),
            rating: if split.rating { group(ratings) } else { None },
            ..self.cell
        };
        GameFacts { ratings, cell, ..self }
    }

    pub(super) fn to_bytes(self) -> [u8; GameFacts::LEN] {
        let Cell { year, month, speed, rating } = self.cell;
        let [[a, b], [c, d], [e, f], [g, h], [i, j]] =
            [self.ratings[0], self.ratings[1], self.year, year, rating]
                .map(|number| number.map_or(0, |number| number + 1).to_le_bytes());
        let speed = speed.map_or(0, |speed| speed as u8 + 1);
        [self.result as u8, a, b, c, d, e, f, g, h, i, j, month.unwrap_or(0), speed]
    }

    /// The facts with these [`GameFacts::to_bytes`]; `None` if there are none.
    pub(super) fn from_bytes(bytes: [u8; GameFacts::LEN]) -> Option<GameFacts> {
        let [result, numbers @ .., month, speed] = bytes;
        let (numbers, []) = numbers.as_chunks::<2>() else { return None };
        let number = |at: usize| u16::from_le_bytes(numbers[at]).checked_sub(1);
        let speed = usize::from(speed).checked_sub(1);
        Some(GameFacts {
            result: GameResult::ALL.into_iter().find(|known| *known as u8 == result)?,
            ratings: [number(0), number(1)],
            year: number(2),
            cell: Cell {
                year: number(3),
                month: Some(month).filter(|month| *month > 0),
                speed: speed.and_then(|speed| Speed::ALL.get(speed).copied()),
                rating: number(4),
            },
        })
    }

    const LEN: usize = 13;

    /// The contribution of the game to a position with this side to move.
    pub(super) fn counts(&self, turn: Color) -> GameCounts {
        let ratings = |color: Color| match self.ratings[color as usize] {
            Some(rating) => Ratings { games: 1, sum: rating.into() },
            None => Ratings::default(),
        };
        let one = |result| u64::from(self.result == result);
        GameCounts {
            white: one(GameResult::WhiteWins),
            draws: one(GameResult::Draw),
            black: one(GameResult::BlackWins),
            unknown: one(GameResult::Unknown),
            elo: ratings(turn),
            opponents: ratings(!turn),
            years: self.year.map(|year| (year, year)),
        }
    }
}

/// A game that counts. `lone` has, for each side to move, the tally of a position that only this
/// game reached.
#[derive(Copy, Clone, Debug)]
pub(super) struct CountedGame {
    lone: [LoneTally; 2],
    pub(super) facts: GameFacts,
    /// True if the game is subtracted, because another copy of the game counts instead.
    pub(super) is_less: bool,
}

/// A tally of one visit in its short form, without the ordinal of the move.
#[derive(Copy, Clone, Debug)]
#[repr(align(32))]
struct LoneTally {
    bytes: [u8; LONE_ROOM],
    ordinal_at: u8,
    len: u8,
}

/// Capacity for the tally of one visit.
const LONE_ROOM: usize = 30;

impl CountedGame {
    pub(super) fn new(facts: GameFacts, is_less: bool) -> CountedGame {
        let mut counts = Vec::with_capacity(LONE_ROOM);
        let mut tally = Vec::with_capacity(LONE_ROOM);
        let lone = Color::ALL.map(|turn| {
            counts.clear();
            record::put_counts(&facts.counts(turn), &mut counts);
            tally.clear();
            record::put_one_game(&facts.cell, 1, Some((0, &counts)), &mut tally);
            let mut bytes = [0; LONE_ROOM];
            bytes[..tally.len()].copy_from_slice(&tally);
            let ordinal_at = (tally.len() - counts.len() - 1) as u8;
            LoneTally { bytes, ordinal_at, len: tally.len() as u8 }
        });
        CountedGame { lone, facts, is_less }
    }

    /// Prefetches [`CountedGame::lone_tally`].
    #[inline]
    pub(super) fn ask_for(&self, turn: Color) {
        prefetch(&self.lone[turn as usize]);
    }

    /// The encoded [`GameFacts::counts`].
    pub(super) fn counts(&self, turn: Color) -> &[u8] {
        let LoneTally { bytes, ordinal_at, len } = &self.lone[turn as usize];
        &bytes[usize::from(*ordinal_at) + 1..usize::from(*len)]
    }

    /// Returns the tally of a position that only this game reached, and only once. The tally has
    /// this move. It is in its short form and padded with zeros; the second part of the result is
    /// its length.
    #[inline]
    pub(super) fn lone_tally(&self, turn: Color, ordinal: u8) -> ([u8; LONE_ROOM], usize) {
        let LoneTally { mut bytes, ordinal_at, len } = self.lone[turn as usize];
        bytes[usize::from(ordinal_at)] = ordinal;
        (bytes, len.into())
    }
}

/// The date in the tag `Date`. If its year is unknown, the date in the tag `UTCDate`; `None` if the
/// years of both are unknown.
pub(super) fn date(tags: &Tags) -> Option<Date> {
    let mut dates = ["Date", "UTCDate"].into_iter().filter_map(|name| Date::parse(tags.get(name)?));
    dates.find(|date| date.year().is_some())
}

fn rating(text: &[u8]) -> Option<u16> {
    if !(1..=4).contains(&text.len()) || !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let rating = std::str::from_utf8(text).ok()?.parse().ok()?;
    (rating > 0).then_some(rating)
}

/// The group in [`RATING_GROUPS`] to which the mean of both ratings belongs.
fn group(ratings: [Option<u16>; 2]) -> Option<u16> {
    let mean = mean(ratings)?;
    RATING_GROUPS.into_iter().rev().find(|&least| least <= mean)
}

/// The mean of both ratings, rounded down.
pub(super) fn mean(ratings: [Option<u16>; 2]) -> Option<u16> {
    Some((ratings[0]? + ratings[1]?) / 2)
}

fn month(date: &Date) -> Option<u8> {
    let [first, last] = [date.first(), date.last()].map(|day| day / 100);
    (first == last).then_some((first % 100) as u8).filter(|month| (1..=12).contains(month))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use epdb_chess::model::GameBuilder;

    fn facts(tags: &[(&str, &str)], split: Split) -> GameFacts {
        let mut builder = GameBuilder::new();
        for (name, value) in tags {
            builder.set_tag(name, value).unwrap();
        }
        GameFacts::new(&builder.finish().unwrap(), split)
    }

    #[test]
    fn ratings_that_are_empty_or_unknown_are_missing() {
        for (text, rating) in [
            ("2451", Some(2451)),
            ("", None),
            ("?", None),
            ("-", None),
            ("0", None),
            ("10000", None),
            ("2400?", None),
        ] {
            let facts = facts(&[("WhiteElo", text), ("BlackElo", "1500")], Split::default());
            assert_eq!(facts.ratings, [rating, Some(1500)], "{text}");
        }
    }

    #[test]
    fn games_are_told_apart_as_far_as_is_known() {
        let all = Split { year: true, month: true, speed: true, rating: true };
        let tags = [
            ("Date", "2024.03.??"),
            ("WhiteElo", "1701"),
            ("BlackElo", "1500"),
            ("TimeControl", "180+0"),
        ];
        let cell = facts(&tags, all).cell;
        let blitz = Some(Speed::Blitz);
        let wanted = Cell { year: Some(2024), month: Some(3), speed: blitz, rating: Some(1600) };
        assert_eq!(cell, wanted);
        let cell = facts(&[("Date", "????.??.??"), ("UTCDate", "2023.??.??")], all).cell;
        assert_eq!(cell, Cell { year: Some(2023), ..Cell::default() });
        assert_eq!(facts(&tags, Split::default()).cell, Cell::default());
    }
}
