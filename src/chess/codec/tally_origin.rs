//! Origin of a library of tallies: the settings with which it was built, and the games that it
//! counted. A tally counts the games of a position and of its moves.
//!
//! The format is `formats/libraries.md`.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use twox_hash::xxhash3_128::Hasher;

use super::error::{DecodeError, DecodeErrorKind};
use super::item::Cursor;
use super::tally_settings::{TallySettings, put_int_4, put_text, text};

/// The settings with which the tallies of a file were built, and the files that were counted.
///
/// ```
/// use epdb_chess::codec::tally_origin::{TallyOrigin, TallySource};
/// use epdb_chess::codec::tally_settings::TallySettings;
/// let source = TallySource { name: "a.pgn".into(), games: 2, duplicates: 1, left_out: 0 };
/// let settings = TallySettings { max_ply: Some(40), ..TallySettings::default() };
/// let origin = TallyOrigin { settings, sources: vec![source], ..Default::default() };
/// assert_eq!(TallyOrigin::from_bytes(&origin.to_bytes())?, origin);
/// # Ok::<(), epdb_chess::codec::error::DecodeError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TallyOrigin {
    /// The settings that decide which games count and how they are counted. They have no meaning if
    /// [`is_mixed`](TallyOrigin::is_mixed) is true: they are then those of the first library.
    pub settings: TallySettings,
    /// True if libraries with different settings were added up.
    pub is_mixed: bool,
    /// The command that reduced the library; no games may be added to a reduced library. `None` for
    /// a complete library.
    pub pruned: Option<String>,
    /// The files that were counted, in the order of counting.
    pub sources: Vec<TallySource>,
    /// The games whose digests the library has; `None` without digests. A store does not keep this set: whoever
    /// reads its origin adds up its digests.
    pub games: Option<GameSet>,
    /// The base, if the library is a delta.
    pub delta: Option<DeltaOrigin>,
    /// Slices of plans that the library has, for each plan of which slices are missing.
    pub slices: Vec<PlanSlices>,
}

/// A set of games: their number, and the sum of the hashes of their digests. The sum does not depend
/// on the order of the games. Two sets are taken for equal if both numbers are equal.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct GameSet {
    /// Number of games.
    pub games: u64,
    /// Sum of the hashes, modulo 2^128.
    pub sum: u128,
}

/// Seed of the hashes that a [`GameSet`] adds up.
const SET_SEED: u64 = 6;

// Numbers wrap around, because a set may stand for a change that removes more games than it adds.
impl GameSet {
    /// Adds a game.
    pub fn add(&mut self, digest: &GameDigest) {
        self.games = self.games.wrapping_add(1);
        self.sum = self.sum.wrapping_add(Hasher::oneshot_with_seed(SET_SEED, digest));
    }

    /// Removes a game.
    pub fn remove(&mut self, digest: &GameDigest) {
        self.games = self.games.wrapping_sub(1);
        self.sum = self.sum.wrapping_sub(Hasher::oneshot_with_seed(SET_SEED, digest));
    }

    /// Adds the games of another set, or a change that [`GameSet::add`] and [`GameSet::remove`] made
    /// to an empty set.
    pub const fn and(self, other: GameSet) -> GameSet {
        GameSet {
            games: self.games.wrapping_add(other.games),
            sum: self.sum.wrapping_add(other.sum),
        }
    }

    fn put_bytes(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.games.to_le_bytes());
        out.extend_from_slice(&self.sum.to_le_bytes());
    }

    fn read(cursor: &mut Cursor<'_>) -> Result<GameSet, DecodeError> {
        let games = cursor.int_8()?;
        let [low, high] = [cursor.int_8()?, cursor.int_8()?];
        Ok(GameSet { games, sum: u128::from(high) << 64 | u128::from(low) })
    }
}

/// The games of the base against which a delta was counted, and those of the base and the delta
/// together.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug)]
pub struct DeltaOrigin {
    /// The games of the base.
    pub base: GameSet,
    /// The games that base and delta count together, each with its highest copy rank.
    pub both: GameSet,
}

/// Slices of a plan, of which others are missing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlanSlices {
    /// The id of the plan.
    pub plan: [u8; 32],
    /// Number of slices of the plan.
    pub slices: u32,
    /// The slices, ascending, counted from 0. There is at least one, and one is missing.
    pub present: Vec<u32>,
}

/// Maximum number of slices of a plan.
pub const MAX_SLICES: u32 = 1_000_000;

impl PlanSlices {
    fn put_bytes(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.plan);
        out.extend_from_slice(&self.slices.to_le_bytes());
        put_int_4(self.present.len(), out);
        self.present.iter().for_each(|slice| out.extend_from_slice(&slice.to_le_bytes()));
    }

    fn read(cursor: &mut Cursor<'_>) -> Result<PlanSlices, DecodeError> {
        let corrupt = DecodeError::new(cursor.offset(), DecodeErrorKind::Corrupt("list of slices"));
        let mut plan = [0; 32];
        plan.copy_from_slice(cursor.take(32, "the id of a plan")?);
        let slices = cursor.int_4()?;
        let mut present = Vec::new();
        for _ in 0..cursor.int_4()? {
            present.push(cursor.int_4()?);
        }
        let read = PlanSlices { plan, slices, present };
        if read.is_sound() { Ok(read) } else { Err(corrupt) }
    }

    /// True if slices are there and others are missing.
    pub fn is_sound(&self) -> bool {
        let PlanSlices { slices, present, .. } = self;
        *slices <= MAX_SLICES
            && present.is_sorted_by(|one, next| one < next)
            && present.last().is_some_and(|last| last < slices)
            && present.len() < *slices as usize
    }

    /// The numbers of the missing slices, counted from 1.
    pub fn missing(&self) -> impl Iterator<Item = u32> {
        (0..self.slices).filter(|slice| self.present.binary_search(slice).is_err()).map(|it| it + 1)
    }
}

/// A file of games that was counted.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TallySource {
    /// The name of the file when it was read.
    pub name: String,
    /// Number of games of the file that count.
    pub games: u64,
    /// Number of games of the file that had been counted before.
    pub duplicates: u64,
    /// Number of games of the file that the settings leave out.
    pub left_out: u64,
}

const IS_MIXED: u8 = 1;
const IS_PRUNED: u8 = 2;
const HAS_GAMES: u8 = 4;
const IS_DELTA: u8 = 8;
const HAS_SLICES: u8 = 16;
const FLAGS: u8 = IS_MIXED | IS_PRUNED | HAS_GAMES | IS_DELTA | HAS_SLICES;

impl TallyOrigin {
    /// Writes the origin as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let bit_if = |is_set: bool, bit: u8| if is_set { bit } else { 0 };
        let flags = bit_if(self.is_mixed, IS_MIXED)
            | bit_if(self.pruned.is_some(), IS_PRUNED)
            | bit_if(self.games.is_some(), HAS_GAMES)
            | bit_if(self.delta.is_some(), IS_DELTA)
            | bit_if(!self.slices.is_empty(), HAS_SLICES);
        let mut bytes = vec![flags];
        self.settings.put_bytes(&mut bytes);
        if let Some(pruned) = &self.pruned {
            put_text(pruned, &mut bytes);
        }
        if let Some(games) = &self.games {
            games.put_bytes(&mut bytes);
        }
        if let Some(DeltaOrigin { base, both }) = &self.delta {
            base.put_bytes(&mut bytes);
            both.put_bytes(&mut bytes);
        }
        if !self.slices.is_empty() {
            put_int_4(self.slices.len(), &mut bytes);
            self.slices.iter().for_each(|slices| slices.put_bytes(&mut bytes));
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
    /// [`DecodeError`] for all other bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<TallyOrigin, DecodeError> {
        let mut cursor = Cursor::new(bytes);
        let corrupt = |cursor: &Cursor<'_>| {
            DecodeError::new(cursor.offset(), DecodeErrorKind::Corrupt("origin of tallies"))
        };
        let flags = cursor.int_1()?;
        if flags & !FLAGS != 0 {
            return Err(corrupt(&cursor));
        }
        let mut origin = TallyOrigin {
            settings: TallySettings::read(&mut cursor)?,
            is_mixed: flags & IS_MIXED != 0,
            ..TallyOrigin::default()
        };
        if flags & IS_PRUNED != 0 {
            origin.pruned = Some(text(&mut cursor)?);
        }
        if flags & HAS_GAMES != 0 {
            origin.games = Some(GameSet::read(&mut cursor)?);
        }
        if flags & IS_DELTA != 0 {
            let base = GameSet::read(&mut cursor)?;
            origin.delta = Some(DeltaOrigin { base, both: GameSet::read(&mut cursor)? });
        }
        if flags & HAS_SLICES != 0 {
            for _ in 0..cursor.int_4()? {
                origin.slices.push(PlanSlices::read(&mut cursor)?);
            }
            if !slices_are_in_order(&origin.slices) {
                return Err(corrupt(&cursor));
            }
        }
        for _ in 0..cursor.int_4()? {
            let name = text(&mut cursor)?;
            let [games, duplicates, left_out] = [cursor.int_8()?, cursor.int_8()?, cursor.int_8()?];
            origin.sources.push(TallySource { name, games, duplicates, left_out });
        }
        if cursor.rest().is_empty() { Ok(origin) } else { Err(corrupt(&cursor)) }
    }

    /// Adds the counts of a file. If the last file in the list has the same name, the counts are
    /// added to its counts.
    pub fn add_source(&mut self, source: TallySource) {
        match self.sources.last_mut().filter(|last| last.name == source.name) {
            Some(last) => {
                last.games = last.games.saturating_add(source.games);
                last.duplicates = last.duplicates.saturating_add(source.duplicates);
                last.left_out = last.left_out.saturating_add(source.left_out);
            }
            None => self.sources.push(source),
        }
    }

    /// Adds slices of plans. A plan whose slices are all there is removed.
    pub fn add_slices(&mut self, others: Vec<PlanSlices>) {
        for other in others {
            match self.slices.binary_search_by(|own| own.plan.cmp(&other.plan)) {
                Ok(place) => {
                    let present = &mut self.slices[place].present;
                    present.extend(other.present);
                    present.sort_unstable();
                    present.dedup();
                }
                Err(place) => self.slices.insert(place, other),
            }
        }
        self.slices.retain(PlanSlices::is_sound);
    }

    /// Sorts the files by name, and adds the counts of files of the same name. So the origin of a sum
    /// does not depend on the order in which libraries were added.
    pub fn sort_sources(&mut self) {
        let mut sources = std::mem::take(&mut self.sources);
        sources.sort_by(|one, next| one.name.cmp(&next.name));
        sources.into_iter().for_each(|source| self.add_source(source));
    }

    /// Number of games that count, in all sources.
    pub fn games(&self) -> u64 {
        self.sources.iter().fold(0, |sum, source| sum.saturating_add(source.games))
    }
}

/// True if there are plans, in ascending order of their ids.
pub fn slices_are_in_order(slices: &[PlanSlices]) -> bool {
    !slices.is_empty() && slices.is_sorted_by(|one, next| one.plan < next.plan)
}

/// Digest of a game: the first 12 bytes of a BLAKE3 hash, and then the copy rank in 4 bytes. The
/// copy rank is a number made from the data in which copies of a game may differ. The copy with the
/// highest rank counts.
pub type GameDigest = [u8; 16];

/// Number of bytes of the digest that come from the hash.
const HASH: usize = 12;

/// Result of looking up a game before it is counted.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum KnownGame {
    /// The game is new.
    New,
    /// The game counts already, with the same or a higher copy rank.
    Counted,
    /// The game counts already, with this lower copy rank.
    CountedWith(u32),
}

/// The digests of games that were counted.
///
/// ```
/// use epdb_chess::codec::tally_origin::{GameDigests, KnownGame};
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
    /// Adds a game. The result says if the game was already known.
    pub fn insert(&mut self, digest: GameDigest) -> KnownGame {
        let (hash, copy_rank) = split(&digest);
        match self.0.entry(hash) {
            Entry::Vacant(place) => {
                place.insert(copy_rank);
                KnownGame::New
            }
            Entry::Occupied(mut counted) if *counted.get() < copy_rank => {
                KnownGame::CountedWith(counted.insert(copy_rank))
            }
            Entry::Occupied(_) => KnownGame::Counted,
        }
    }

    /// The copy rank with which a game is known.
    pub fn copy_rank(&self, digest: &GameDigest) -> Option<u32> {
        self.0.get(&split(digest).0).copied()
    }

    /// Adds the digests of another library.
    pub fn extend(&mut self, others: &GameDigests) {
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
    pub fn iter(&self) -> impl Iterator<Item = GameDigest> {
        self.0.iter().map(|(hash, copy_rank)| joined(hash, *copy_rank))
    }

    /// Returns the bytes of all digests in ascending order, one directly after the other.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut sorted: Vec<GameDigest> = self.iter().collect();
        sorted.sort_unstable();
        sorted.concat()
    }

    /// Adds the digests in `bytes`, which are one directly after the other. Returns false if they
    /// do not ascend, or if one of them was known with the same or a higher copy rank.
    pub fn add_bytes(&mut self, bytes: &[u8]) -> bool {
        let Some(digests) = ascending(bytes) else { return false };
        digests.iter().all(|digest| self.insert(*digest) != KnownGame::Counted)
    }

    /// Reads the bytes that [`GameDigests::to_bytes`] writes; `None` for other bytes.
    pub fn from_bytes(bytes: &[u8]) -> Option<GameDigests> {
        let mut digests = GameDigests::default();
        digests.add_bytes(bytes).then_some(digests)
    }
}

/// Finds the set of different games among digests, as [`GameDigests`] does, but without a hash table.
#[derive(Debug, Default)]
pub struct GameCounter(Vec<GameDigest>);

impl GameCounter {
    /// Adds consecutive digests; false if they do not ascend.
    pub fn add_bytes(&mut self, bytes: &[u8]) -> bool {
        let digests = ascending(bytes);
        self.0.extend_from_slice(digests.unwrap_or_default());
        digests.is_some()
    }

    /// The games. `None` if a game occurs twice and the later copy does not have the higher rank.
    pub fn finish(self) -> Option<GameSet> {
        let GameCounter(mut digests) = self;
        // Stable, so that the digests of a game stay in order. Digests that ascend take one pass.
        digests.sort_by_key(hash_number);
        let mut games = GameSet::default();
        for copies in digests.chunk_by(|one, next| hash_number(one) == hash_number(next)) {
            if !copies.is_sorted_by(|one, next| split(one).1 < split(next).1) {
                return None;
            }
            if let Some(highest) = copies.last() {
                games.add(highest);
            }
        }
        Some(games)
    }
}

/// Consecutive digests whose hashes ascend; `None` if they do not.
pub fn ascending(bytes: &[u8]) -> Option<&[GameDigest]> {
    let (digests, []) = bytes.as_chunks::<16>() else { return None };
    digests.is_sorted_by(|a, b| hash_number(a) < hash_number(b)).then_some(digests)
}

/// The hash in a digest, as a number. Numbers sort as the hashes do.
fn hash_number(digest: &GameDigest) -> u128 {
    u128::from_be_bytes(*digest) >> (8 * (size_of::<GameDigest>() - HASH))
}

/// Makes the digest of a game from the copy rank, and from the hash of the data that identifies the
/// game.
pub fn digest_of(hash: &[u8; 32], copy_rank: u32) -> GameDigest {
    joined(&hash[..HASH], copy_rank)
}

/// Returns the digest of a copy of the game with another copy rank.
pub fn with_copy_rank(digest: GameDigest, copy_rank: u32) -> GameDigest {
    joined(hash_of(&digest), copy_rank)
}

/// Returns the copy rank in a digest.
pub fn copy_rank_of(digest: &GameDigest) -> u32 {
    split(digest).1
}

/// Returns the digest of two copies of a game that has the higher copy rank.
pub fn higher_ranked(one: GameDigest, other: GameDigest) -> GameDigest {
    if split(&one).1 < split(&other).1 { other } else { one }
}

/// Returns the hash in a digest.
pub fn hash_of(digest: &GameDigest) -> &[u8] {
    &digest[..HASH]
}

fn joined(hash: &[u8], copy_rank: u32) -> GameDigest {
    let mut digest = GameDigest::default();
    digest[..HASH].copy_from_slice(hash);
    digest[HASH..].copy_from_slice(&copy_rank.to_le_bytes());
    digest
}

fn split(digest: &GameDigest) -> ([u8; HASH], u32) {
    let [hash @ .., a, b, c, d] = *digest;
    (hash, u32::from_le_bytes([a, b, c, d]))
}

/// The settings of the tallies of a file, and the games that they count.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TallyLedger {
    /// The settings of the tallies.
    pub origin: TallyOrigin,
    /// The games that are counted; `None` if they were not kept.
    pub games: Option<GameDigests>,
}

impl TallyLedger {
    /// Collects a ledger. `each_game` calls its argument with each digest. It returns the origin,
    /// and true if the digests are kept; or `None` without a ledger.
    pub fn collect<E>(
        each_game: impl FnOnce(
            &mut dyn FnMut(&GameDigest) -> Result<(), E>,
        ) -> Result<Option<(TallyOrigin, bool)>, E>,
    ) -> Result<Option<TallyLedger>, E> {
        let mut games = GameDigests::default();
        let read = each_game(&mut |game| {
            games.insert(*game);
            Ok(())
        })?;
        let Some((origin, has_games)) = read else { return Ok(None) };
        Ok(Some(TallyLedger { origin, games: has_games.then_some(games) }))
    }
}
