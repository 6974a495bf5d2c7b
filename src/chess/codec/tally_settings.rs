//! Settings of a library of tallies: which games count, and how they are counted.
//!
//! The format is section 1.1 of `formats/libraries.md`.

use std::fmt;

use super::error::{DecodeError, DecodeErrorKind};
use super::item::Cursor;
use crate::model::{Color, MAX_KEPT_GAMES};

/// The criterion by which a library counts two games as one.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum SameGame {
    /// The games have the same id of lichess.org or chess.com. Games without such an id are equal if they
    /// have the same moves, date and result. If one of them has another id, both must have this id. If they
    /// have no id and fewer than 20 plies, they must also have the same tags White, Black, Round and UTCTime.
    #[default]
    Auto,
    /// The games have the same main line from the same position, the same date (UTCDate if Date has
    /// no year), and the same tag Result.
    Moves,
    /// The games are equal by [`SameGame::Moves`], and have the same tags White and Black, letter
    /// by letter.
    Players,
    /// The games are equal in everything: tags, variations, comments and the rest.
    Exact,
}

impl SameGame {
    /// All criteria, in the order of their numbers in the format, which begin with 1.
    pub const ALL: [SameGame; 4] =
        [SameGame::Auto, SameGame::Moves, SameGame::Players, SameGame::Exact];

    /// The name of the criterion: `auto`, `moves`, `players` or `exact`.
    pub const fn name(self) -> &'static str {
        match self {
            SameGame::Auto => "auto",
            SameGame::Moves => "moves",
            SameGame::Players => "players",
            SameGame::Exact => "exact",
        }
    }
}

/// The settings with which the games of a library were counted. Libraries with different settings
/// cannot be added up. The text of the settings is that of the options of `epdb tally`.
///
/// ```
/// use epdb_chess::codec::tally_settings::{SameGame, TallySettings};
/// let settings = TallySettings {
///     year: true,
///     max_ply: Some(40),
///     same_game: Some(SameGame::Auto),
///     ..TallySettings::default()
/// };
/// assert_eq!(settings.to_string(), "--by year --max-ply 40 --same-game auto");
/// assert_eq!(TallySettings::from_bytes(&settings.to_bytes())?, settings);
/// # Ok::<(), epdb_chess::codec::error::DecodeError>(())
/// ```
// The manifest of a sharded archive has these fields by their names.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct TallySettings {
    /// True if games of different years are counted separately.
    pub year: bool,
    /// True if games of different months are counted separately. Never true without `year`.
    pub month: bool,
    /// True if games of different classes of the time control are counted separately.
    pub speed: bool,
    /// True if games of different rating groups are counted separately.
    pub rating: bool,
    /// Only positions up to this many plies count; `None` if all count.
    pub max_ply: Option<u32>,
    /// If only the games of one player count: the spellings of the player's name, ascending. Empty
    /// if the games of all players count.
    pub players: Vec<String>,
    /// The colour of that player in the games that count; `None` for both.
    pub color: Option<Color>,
    /// True if only games from the start array count.
    pub standard_only: bool,
    /// The criterion by which two games count as one; `None` if every copy of a game counts.
    pub same_game: Option<SameGame>,
    /// True if every occurrence of a position or move within a game counts.
    pub count_repeats: bool,
    /// Number of games of each kind (best rated, latest) that are kept for each position; `None` if no
    /// games are kept.
    pub keep_games: Option<u8>,
    /// True if the files were declared to have each game once, so that copies in other slices were not
    /// looked for.
    pub unique_games: bool,
    /// True if games that are cut short before an impossible move count up to there.
    pub truncate_games: bool,
    /// True if games with warnings do not count.
    pub deny_warnings: bool,
    /// The expression that games must satisfy, in the language of `epdb filter --where`; `None` if there is
    /// no condition.
    pub filter: Option<String>,
}

const STANDARD_ONLY: u8 = 1;
const COUNT_REPEATS: u8 = 2;
const UNIQUE_GAMES: u8 = 4;
const TRUNCATE_GAMES: u8 = 8;
const DENY_WARNINGS: u8 = 16;
const FLAGS: u8 = STANDARD_ONLY | COUNT_REPEATS | UNIQUE_GAMES | TRUNCATE_GAMES | DENY_WARNINGS;

/// The number in the format that stands for no limit of plies.
const NO_MAX_PLY: u32 = u32::MAX;

impl TallySettings {
    const SPLITS: [&str; 4] = ["year", "month", "speed", "rating"];

    const fn splits(&self) -> [bool; 4] {
        [self.year, self.month, self.speed, self.rating]
    }

    /// The properties by which games are split, by their names in the option `tally --by`.
    ///
    /// ```
    /// use epdb_chess::codec::tally_settings::TallySettings;
    /// let settings = TallySettings { year: true, rating: true, ..TallySettings::default() };
    /// assert!(settings.names().eq(["year", "rating"]));
    /// ```
    pub fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        let splits = self.splits().into_iter().zip(TallySettings::SPLITS);
        splits.filter_map(|(is_split, name)| is_split.then_some(name))
    }

    /// The options of `epdb tally` that differ from its defaults, and `--same-game`, each with its value.
    /// The value of a flag is empty.
    pub fn options(&self) -> Vec<(&'static str, String)> {
        let mut options = Vec::new();
        let mut put = |is_there: bool, name, value: String| {
            if is_there {
                options.push((name, value));
            }
        };
        let names: Vec<&str> = self.names().collect();
        put(!names.is_empty(), "--by", names.join(","));
        put(self.max_ply.is_some(), "--max-ply", shown(self.max_ply));
        put(!self.players.is_empty(), "--player", self.players.join(";"));
        put(self.color.is_some(), "--side", shown(self.color.map(name_of)));
        put(self.standard_only, "--standard-only", String::new());
        put(self.same_game.is_some(), "--same-game", shown(self.same_game.map(SameGame::name)));
        put(self.same_game.is_none(), "--keep-duplicates", String::new());
        put(self.count_repeats, "--count-repeats", String::new());
        put(self.keep_games.is_some(), "--keep-games", shown(self.keep_games));
        put(self.unique_games, "--unique-games", String::new());
        put(self.truncate_games, "--truncate-games", String::new());
        put(self.deny_warnings, "--deny-warnings", String::new());
        put(self.filter.is_some(), "--where", shown(self.filter.as_ref()));
        options
    }

    /// Writes the settings as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.put_bytes(&mut bytes);
        bytes
    }

    /// Reads the bytes that [`TallySettings::to_bytes`] writes.
    ///
    /// # Errors
    /// [`DecodeError`] for all other bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<TallySettings, DecodeError> {
        let mut cursor = Cursor::new(bytes);
        let settings = TallySettings::read(&mut cursor)?;
        if cursor.rest().is_empty() { Ok(settings) } else { Err(corrupt(cursor.offset())) }
    }

    pub(super) fn put_bytes(&self, out: &mut Vec<u8>) {
        let [year, month, speed, rating] = self.splits().map(u8::from);
        out.push(year | month << 1 | speed << 2 | rating << 3);
        let bit_if = |is_set: bool, bit: u8| if is_set { bit } else { 0 };
        out.push(
            bit_if(self.standard_only, STANDARD_ONLY)
                | bit_if(self.count_repeats, COUNT_REPEATS)
                | bit_if(self.unique_games, UNIQUE_GAMES)
                | bit_if(self.truncate_games, TRUNCATE_GAMES)
                | bit_if(self.deny_warnings, DENY_WARNINGS),
        );
        out.push(match self.color {
            None => 0,
            Some(Color::White) => 1,
            Some(Color::Black) => 2,
        });
        out.push(self.same_game.map_or(0, |same| same as u8 + 1));
        out.push(self.keep_games.unwrap_or(0));
        out.extend_from_slice(&self.max_ply.unwrap_or(NO_MAX_PLY).to_le_bytes());
        put_int_4(self.players.len(), out);
        self.players.iter().for_each(|name| put_text(name, out));
        put_text(self.filter.as_deref().unwrap_or_default(), out);
    }

    pub(super) fn read(cursor: &mut Cursor<'_>) -> Result<TallySettings, DecodeError> {
        let start = cursor.offset();
        let splits = cursor.int_1()?;
        let flags = cursor.int_1()?;
        let color = cursor.int_1()?;
        let same_game = cursor.int_1()?;
        let keep_games = cursor.int_1()?;
        let max_ply = cursor.int_4()?;
        let mut players = Vec::new();
        for _ in 0..cursor.int_4()? {
            players.push(text(cursor)?);
        }
        let filter = text(cursor)?;
        if splits >> TallySettings::SPLITS.len() != 0 || flags & !FLAGS != 0 {
            return Err(corrupt(start));
        }
        let color = match color {
            0 => None,
            1 => Some(Color::White),
            2 => Some(Color::Black),
            _ => return Err(corrupt(start)),
        };
        let same_game = match same_game {
            0 => None,
            number => {
                Some(*SameGame::ALL.get(usize::from(number) - 1).ok_or_else(|| corrupt(start))?)
            }
        };
        let is_split = |place: u32| splits >> place & 1 == 1;
        let settings = TallySettings {
            year: is_split(0),
            month: is_split(1),
            speed: is_split(2),
            rating: is_split(3),
            max_ply: Some(max_ply).filter(|plies| *plies < NO_MAX_PLY),
            players,
            color,
            standard_only: flags & STANDARD_ONLY != 0,
            same_game,
            count_repeats: flags & COUNT_REPEATS != 0,
            keep_games: Some(keep_games).filter(|games| *games > 0),
            unique_games: flags & UNIQUE_GAMES != 0,
            truncate_games: flags & TRUNCATE_GAMES != 0,
            deny_warnings: flags & DENY_WARNINGS != 0,
            filter: Some(filter).filter(|filter| !filter.is_empty()),
        };
        if settings.is_sound() { Ok(settings) } else { Err(corrupt(start)) }
    }

    /// True if the settings fit together, and their numbers are in their ranges: all that
    /// [`TallySettings::from_bytes`] can return, and nothing else.
    pub fn is_sound(&self) -> bool {
        let players = &self.players;
        let months_are_of_years = self.year || !self.month;
        let color_is_of_a_player = self.color.is_none() || !players.is_empty();
        let are_ascending_names = players.iter().all(|name| !name.is_empty())
            && players.is_sorted_by(|one, next| one < next);
        months_are_of_years
            && color_is_of_a_player
            && are_ascending_names
            && self.keep_games.is_none_or(|games| (1..=MAX_KEPT_GAMES).contains(&games))
            && self.max_ply != Some(NO_MAX_PLY)
            && self.filter.as_ref().is_none_or(|filter| !filter.is_empty())
    }
}

impl fmt::Display for TallySettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (name, value)) in self.options().iter().enumerate() {
            let before = if place == 0 { "" } else { " " };
            write!(f, "{before}{}", format!("{name} {value}").trim_end())?;
        }
        Ok(())
    }
}

fn shown(value: Option<impl fmt::Display>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

const fn name_of(color: Color) -> &'static str {
    match color {
        Color::White => "white",
        Color::Black => "black",
    }
}

const fn corrupt(offset: usize) -> DecodeError {
    DecodeError::new(offset, DecodeErrorKind::Corrupt("settings of tallies"))
}

pub(super) fn put_text(text: &str, out: &mut Vec<u8>) {
    put_int_4(text.len(), out);
    out.extend_from_slice(text.as_bytes());
}

/// Appends a length as an int-4. The length always fits, because longer texts and lists would not
/// fit into memory.
pub(super) fn put_int_4(number: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(&(number as u32).to_le_bytes());
}

pub(super) fn text(cursor: &mut Cursor<'_>) -> Result<String, DecodeError> {
    let start = cursor.offset();
    let text = std::str::from_utf8(cursor.string_4()?);
    let error = DecodeError::new(start, DecodeErrorKind::Corrupt("text in UTF-8"));
    Ok(text.map_err(|_| error)?.to_string())
}
