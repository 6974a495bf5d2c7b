//! Origin of a library of tallies: the settings it was built with, and the games it counted.
//!
//! The format is `formats/tally_origin.md`.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::error::{DecodeError, DecodeErrorKind};
use super::item::Cursor;
use crate::model::Color;

/// Settings with which the tallies of a file were built.
///
/// ```
/// use epdb::codec::tally_origin::{TallyOrigin, TallySource};
/// let source = TallySource { name: "a.pgn".into(), games: 2, duplicates: 1, left_out: 0 };
/// let origin = TallyOrigin { settings: "--max-ply 40".into(), sources: vec![source], ..Default::default() };
/// assert_eq!(TallyOrigin::from_bytes(&origin.to_bytes())?, origin);
/// # Ok::<(), epdb::codec::error::DecodeError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TallyOrigin {
    /// Which games count, and how, as arguments are spelled on the command line. What was added up
    /// of libraries that differ in it has it of the first.
    pub settings: String,
    /// Libraries that differ in their settings were added up.
    pub is_mixed: bool,
    /// The command that reduced the library, so that no games may be added; `None` for a complete library.
    pub pruned: Option<String>,
    /// The part of the settings that programs act on; `None` where an earlier writer did not keep it.
    /// It means nothing of what [`is_mixed`](TallyOrigin::is_mixed).
    pub scope: Option<TallyScope>,
    /// The files that were counted, in this order.
    pub sources: Vec<TallySource>,
}

/// By what a library tells games apart, and whose games it counts.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TallyScope {
    /// Games of different years are counted apart.
    pub year: bool,
    /// So are those of different months; never without the years.
    pub month: bool,
    /// So are those of different classes of the time control.
    pub speed: bool,
    /// So are those of different groups of the rating.
    pub rating: bool,
    /// The names of the one player whose games count, ascending; empty for all players.
    pub players: Vec<String>,
    /// The colour which that player had in them; `None` for both.
    pub color: Option<Color>,
}

impl TallyScope {
    const SPLITS: [&str; 4] = ["year", "month", "speed", "rating"];

    const fn splits(&self) -> [bool; 4] {
        [self.year, self.month, self.speed, self.rating]
    }

    /// Property by which games are split, as `tally --by` names it.
    ///
    /// ```
    /// use epdb::codec::tally_origin::TallyScope;
    /// let scope = TallyScope { year: true, rating: true, ..TallyScope::default() };
    /// assert!(scope.names().eq(["year", "rating"]));
    /// ```
    pub fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        let splits = self.splits().into_iter().zip(TallyScope::SPLITS);
        splits.filter_map(|(is_split, name)| is_split.then_some(name))
    }

    fn put_bytes(&self, out: &mut Vec<u8>) {
        let bit = |(place, is_split)| u8::from(is_split) << place;
        out.push((0..).zip(self.splits()).map(bit).sum());
        out.push(match self.color {
            None => 0,
            Some(Color::White) => 1,
            Some(Color::Black) => 2,
        });
        put_int_4(self.players.len(), out);
        self.players.iter().for_each(|name| put_text(name, out));
    }

    fn read(cursor: &mut Cursor<'_>) -> Result<TallyScope, DecodeError> {
        let start = cursor.offset();
        let corrupt = DecodeError::new(start, DecodeErrorKind::Corrupt("scope of tallies"));
        let (splits, color) = (cursor.int_1()?, cursor.int_1()?);
        let is = |place: u32| splits >> place & 1 == 1;
        let mut scope = TallyScope {
            year: is(0),
            month: is(1),
            speed: is(2),
            rating: is(3),
            players: Vec::new(),
            color: match color {
                0 => None,
                1 => Some(Color::White),
                2 => Some(Color::Black),
                _ => return Err(corrupt),
            },
        };
        for _ in 0..cursor.int_4()? {
            scope.players.push(text(cursor)?);
        }
        let players = &scope.players;
        let is_right = splits >> TallyScope::SPLITS.len() == 0
            && (scope.year || !scope.month)
            && (scope.color.is_none() || !players.is_empty())
            && players.iter().all(|name| !name.is_empty())
            && players.is_sorted_by(|one, next| one < next);
        if is_right { Ok(scope) } else { Err(corrupt) }
    }
}

/// A file of games that was counted.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TallySource {
    /// The name under which it was read.
    pub name: String,
    /// Its games that count.
    pub games: u64,
    /// Its games that were counted before.
    pub duplicates: u64,
    /// Its games that the settings leave out.
    pub left_out: u64,
}

const IS_MIXED: u8 = 1;
const IS_PRUNED: u8 = 2;
const HAS_SCOPE: u8 = 4;

impl TallyOrigin {
    /// The bytes that stand for it.
    pub fn to_bytes(&self) -> Vec<u8> {
        let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
        let flags = flag(self.is_mixed, IS_MIXED)
            | flag(self.pruned.is_some(), IS_PRUNED)
            | flag(self.scope.is_some(), HAS_SCOPE);
        let mut bytes = vec![flags];
        put_text(&self.settings, &mut bytes);
        if let Some(pruned) = &self.pruned {
            put_text(pruned, &mut bytes);
        }
        if let Some(scope) = &self.scope {
            scope.put_bytes(&mut bytes);
        }
        put_int_4(self.sources.len(), &mut bytes);
        for TallySource { name, games, duplicates, left_out } in &self.sources {
            put_text(name, &mut bytes);
            for count in [games, duplicates, left_out] {
                bytes.extend_from_slice(&count.to_le_bytes());
            }
        }
        bytes
    }

    /// Reads the bytes that [`TallyOrigin::to_bytes`] writes.
    ///
    /// # Errors
    /// [`DecodeError`] for all others.
    pub fn from_bytes(bytes: &[u8]) -> Result<TallyOrigin, DecodeError> {
        let mut cursor = Cursor::new(bytes);
        let corrupt = |cursor: &Cursor<'_>| {
            DecodeError::new(cursor.offset(), DecodeErrorKind::Corrupt("origin of tallies"))
        };
        let flags = cursor.int_1()?;
        if flags & !(IS_MIXED | IS_PRUNED | HAS_SCOPE) != 0 {
            return Err(corrupt(&cursor));
        }
        let mut origin = TallyOrigin {
            settings: text(&mut cursor)?,
            is_mixed: flags & IS_MIXED != 0,
            ..TallyOrigin::default()
        };
        if flags & IS_PRUNED != 0 {
            origin.pruned = Some(text(&mut cursor)?);
        }
        if flags & HAS_SCOPE != 0 {
            origin.scope = Some(TallyScope::read(&mut cursor)?);
        }
        for _ in 0..cursor.int_4()? {
            let name = text(&mut cursor)?;
            let [games, duplicates, left_out] = [cursor.int_8()?, cursor.int_8()?, cursor.int_8()?];
            origin.sources.push(TallySource { name, games, duplicates, left_out });
        }
        if cursor.rest().is_empty() { Ok(origin) } else { Err(corrupt(&cursor)) }
    }

    /// Adds what was counted of a file; more of the last one adds to it.
    #[cfg(feature = "library")]
    pub(crate) fn add_source(&mut self, source: TallySource) {
        match self.sources.last_mut().filter(|last| last.name == source.name) {
            Some(last) => {
                last.games = last.games.saturating_add(source.games);
                last.duplicates = last.duplicates.saturating_add(source.duplicates);
                last.left_out = last.left_out.saturating_add(source.left_out);
            }
            None => self.sources.push(source),
        }
    }

    /// The games that count, of all sources.
    pub fn games(&self) -> u64 {
        self.sources.iter().fold(0, |sum, source| sum.saturating_add(source.games))
    }
}

fn put_text(text: &str, out: &mut Vec<u8>) {
    put_int_4(text.len(), out);
    out.extend_from_slice(text.as_bytes());
}

/// Texts and lists of this length fill no memory.
fn put_int_4(number: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(&(number as u32).to_le_bytes());
}

fn text(cursor: &mut Cursor<'_>) -> Result<String, DecodeError> {
    let start = cursor.offset();
    let text = std::str::from_utf8(cursor.string_4()?);
    let error = DecodeError::new(start, DecodeErrorKind::Corrupt("text in UTF-8"));
    Ok(text.map_err(|_| error)?.to_string())
}

/// Digest of a game: the first bytes of a BLAKE3 hash. An integer follows for the data in which copies
/// of the game may differ: the greatest counts.
pub type GameDigest = [u8; 16];

/// Number of the bytes that are of the hash.
const HASH: usize = 12;

/// Result of looking up a game before it is counted.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum KnownGame {
    /// Nothing: it is new.
    New,
    /// It counts, with as much or more.
    Counted,
    /// It counts with less, namely this.
    CountedWith(u32),
}

/// The digests of games that were counted.
///
/// ```
/// use epdb::codec::tally_origin::{GameDigests, KnownGame};
/// let mut digests = GameDigests::default();
/// assert_eq!(digests.insert([1; 16]), KnownGame::New);
/// assert_eq!(digests.insert([1; 16]), KnownGame::Counted);
/// digests.insert([0; 16]);
/// let bytes = digests.to_bytes();
/// assert_eq!(bytes, [[0; 16], [1; 16]].concat());
/// assert_eq!(GameDigests::from_bytes(&bytes), Some(digests));
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct GameDigests(HashMap<[u8; HASH], u32>);

impl GameDigests {
    /// Takes a game, and says what was known of it before.
    pub fn insert(&mut self, digest: GameDigest) -> KnownGame {
        let (hash, said) = split(&digest);
        match self.0.entry(hash) {
            Entry::Vacant(place) => {
                place.insert(said);
                KnownGame::New
            }
            Entry::Occupied(mut counted) if *counted.get() < said => {
                KnownGame::CountedWith(counted.insert(said))
            }
            Entry::Occupied(_) => KnownGame::Counted,
        }
    }

    /// Looks up a game.
    #[cfg(feature = "library")]
    pub(crate) fn find(&self, digest: &GameDigest) -> KnownGame {
        let (hash, said) = split(digest);
        match self.0.get(&hash) {
            None => KnownGame::New,
            Some(counted) if *counted < said => KnownGame::CountedWith(*counted),
            Some(_) => KnownGame::Counted,
        }
    }

    /// Adds those of another library.
    #[cfg(feature = "library")]
    pub(crate) fn extend(&mut self, others: &GameDigests) {
        for digest in others.iter() {
            self.insert(digest);
        }
    }

    /// Whether a game is known.
    pub fn contains(&self, digest: &GameDigest) -> bool {
        self.0.contains_key(&split(digest).0)
    }

    /// Number of known games.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True if no game is known.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The digests, in no order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = GameDigest> {
        self.0.iter().map(|(hash, said)| joined(hash, *said))
    }

    /// All of them, one behind the other, ascending.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut sorted: Vec<GameDigest> = self.iter().collect();
        sorted.sort_unstable();
        sorted.concat()
    }

    /// Adds digests that stand one behind the other and ascend; false where they do not, or where one
    /// was known with as much or more.
    pub(crate) fn add_bytes(&mut self, bytes: &[u8]) -> bool {
        let (digests, []) = bytes.as_chunks::<16>() else { return false };
        digests.is_sorted_by(|a, b| a[..HASH] < b[..HASH])
            && digests.iter().all(|digest| self.insert(*digest) != KnownGame::Counted)
    }

    /// Reads what [`GameDigests::to_bytes`] writes.
    pub fn from_bytes(bytes: &[u8]) -> Option<GameDigests> {
        let mut digests = GameDigests::default();
        digests.add_bytes(bytes).then_some(digests)
    }
}

/// The digest of a game by the hash of what tells it from others.
#[cfg(feature = "library")]
pub(crate) fn digest_of(hash: &[u8; 32], said: u32) -> GameDigest {
    joined(&hash[..HASH], said)
}

/// The hash in a digest.
#[cfg(feature = "library")]
pub(crate) fn hash_of(digest: &GameDigest) -> &[u8] {
    &digest[..HASH]
}

fn joined(hash: &[u8], said: u32) -> GameDigest {
    let mut digest = GameDigest::default();
    digest[..HASH].copy_from_slice(hash);
    digest[HASH..].copy_from_slice(&said.to_le_bytes());
    digest
}

fn split(digest: &GameDigest) -> ([u8; HASH], u32) {
    let (hash, said) = digest.split_at(HASH);
    let (mut own, mut number) = ([0; HASH], [0; 4]);
    own.copy_from_slice(hash);
    number.copy_from_slice(said);
    (own, u32::from_le_bytes(number))
}

/// Settings of the tallies of a file, and the games that they count.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TallyLedger {
    /// Settings of the tallies.
    pub origin: TallyOrigin,
    /// The games; `None` where that was not kept.
    pub games: Option<GameDigests>,
}
