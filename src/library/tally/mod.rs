//! Libraries of positions: results of the games that reached each position.
//!
//! [`TallyBuilder`] takes games in any order and returns a record for each position, with the
//! operation `tally`, by ascending keys.

mod aggregate;
mod copies;
mod facts;
mod keep;
pub mod ledger;
mod log;
mod merged;
mod visits;

pub use copies::{CopyCounts, GameList, SliceCopies, SliceOfGames, decide_copies};
pub use facts::{GameFacts, RATING_GROUPS, Split};
pub(super) use keep::kept_game_from;
pub use merged::MergedGames;

use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use aggregate::{Games, Kept, Place, Sum, Tallied, each_position};
use copies::CopyDecision;
use facts::CountedGame;
use keep::Keeper;
use log::{CountedLog, LoggedGame};
use merged::{Comparison, Labels};
use rayon::prelude::*;
use visits::{Line, PART_BITS, Part, Role, Visits, Which};

use crate::delta::DeltaBase;
use crate::game_tag::names_player;
use crate::ordered::changed;
use crate::same_game::SameGame;
use crate::same_game::SiteId;
use epdb_archive::{Level, PackOptions};
use epdb_base::spill::{Sorted, Sorter};
use epdb_base::threads::make_in_order;
use epdb_chess::codec::record;
use epdb_chess::codec::tally_origin::{
    GameDigest, GameDigests, GameSet, KnownGame, TallyLedger, TallyOrigin, TallySource,
    copy_rank_of, with_copy_rank,
};
use epdb_chess::codec::tally_settings::TallySettings;
use epdb_chess::error::Result;
use epdb_chess::model::rules::Move;
use epdb_chess::model::{Color, Game, GameId, KeptGame, Start};
use epdb_source::{Collection, EncodedBatch, Item};

/// Options of counting.
#[derive(Clone, Debug)]
pub struct TallyOptions {
    /// The properties that tallies are split by.
    pub split: Split,
    /// Maximum number of plies before a position.
    pub max_ply: u32,
    /// Whether repetitions count: a position that a game reaches again, and a move that the game
    /// plays again in this position.
    pub count_repeats: bool,
    /// Names of players. Only games count that have one of the names, in any spelling, in the tag
    /// `White` or `Black`. If the list is empty, all games count.
    pub players: Vec<String>,
    /// The colour that a player of `players` must have in the games that count; `None` for either
    /// colour.
    pub color: Option<Color>,
    /// Whether only games from the start array count.
    pub standard_only: bool,
    /// Whether boards keep an en passant square, as in Polyglot's keys, if an enemy pawn stands
    /// next to the pawn that moved but may not capture it. The records are then only for opening
    /// books.
    pub polyglot_en_passant: bool,
    /// The criterion for duplicates; `None` counts every game.
    pub same_game: Option<SameGame>,
    /// Number of games of each kind (best rated, latest) that are kept for each position, 1 to
    /// [`MAX_KEPT_GAMES`](epdb_chess::model::MAX_KEPT_GAMES); `None` to keep no games.
    pub keep_games: Option<u8>,
    /// True if the user declared that no game occurs twice, so that copies in other slices were not looked
    /// for. This changes no count, but the settings of the library state it.
    pub unique_games: bool,
}

impl Default for TallyOptions {
    fn default() -> TallyOptions {
        TallyOptions {
            split: Split::default(),
            max_ply: u32::MAX,
            count_repeats: false,
            players: Vec::new(),
            color: None,
            standard_only: false,
            polyglot_en_passant: false,
            same_game: Some(SameGame::default()),
            keep_games: None,
            unique_games: false,
        }
    }
}

impl TallyOptions {
    /// The options for an explorer of games: all splits, by which it filters, and games of each position.
    pub fn for_explorers() -> TallyOptions {
        let split = Split { year: true, month: true, speed: true, rating: true };
        TallyOptions { split, keep_games: Some(15), ..TallyOptions::default() }
    }

    /// The settings that a library stores: these options, and the options of reading that decide which
    /// games count. The code names every option, so that a new option cannot be forgotten.
    ///
    /// ```
    /// use epdb_library::tally::TallyOptions;
    /// let options = TallyOptions { max_ply: 20, ..TallyOptions::default() };
    /// let settings = options.settings(true, false, Some("rating > 2000"));
    /// let expected = "--max-ply 20 --same-game auto --truncate-games --where rating > 2000";
    /// assert_eq!(settings.to_string(), expected);
    /// ```
    pub fn settings(
        &self,
        truncate_games: bool,
        deny_warnings: bool,
        filter: Option<&str>,
    ) -> TallySettings {
        let TallyOptions {
            split: Split { year, month, speed, rating },
            max_ply,
            count_repeats,
            ref players,
            color,
            standard_only,
            // Only for books, which store no settings.
            polyglot_en_passant: _,
            same_game,
            keep_games,
            unique_games,
        } = *self;
        let mut players: Vec<String> = players.iter().map(|name| name.trim().to_string()).collect();
        players.retain(|name| !name.is_empty());
        players.sort_unstable();
        players.dedup();
        TallySettings {
            // A split by month is also a split by year.
            year: year || month,
            month,
            speed,
            rating,
            max_ply: Some(max_ply).filter(|plies| *plies < u32::MAX),
            color: if players.is_empty() { None } else { color },
            players,
            standard_only,
            same_game,
            count_repeats,
            keep_games,
            unique_games,
            truncate_games,
            deny_warnings,
            filter: filter.map(ToString::to_string),
        }
    }
}

/// The outcome of adding a game.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum GameOutcome {
    /// The game counts.
    Counted,
    /// The game was counted before.
    Duplicate,
    /// An earlier import counted an unfinished or shorter copy of this finished game. That copy
    /// still counts, because its moves are not kept.
    NotReplaced,
    /// The options exclude the game.
    LeftOut,
}

impl GameOutcome {
    fn count_of<'c>(
        self,
        games: &'c mut u64,
        duplicates: &'c mut u64,
        left_out: &'c mut u64,
    ) -> &'c mut u64 {
        match self {
            GameOutcome::Counted => games,
            GameOutcome::Duplicate | GameOutcome::NotReplaced => duplicates,
            GameOutcome::LeftOut => left_out,
        }
    }
}

/// Counts of a [`TallyBuilder`].
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug)]
pub struct TallyCounts {
    /// Games that count.
    pub games: u64,
    /// Games that were counted before.
    pub duplicates: u64,
    /// Duplicates that are finished, and of which an earlier import counted an unfinished or shorter
    /// copy, which still counts.
    pub not_replaced: u64,
    /// Games that the options or the caller exclude.
    pub left_out: u64,
    /// Excluded games with an illegal move.
    pub cut_short: u64,
    /// Games that count only up to a null move.
    pub at_null_move: u64,
    /// Moves made in the games that count.
    pub plies: u64,
    /// Moves that are not counted, because their ordinals exceed 255 (in positions with more than
    /// 256 moves).
    pub wide_moves: u64,
    /// Counted games that cannot be kept, because the ordinal of a move does not fit into a byte.
    pub not_kept: u64,
    /// Number of positions.
    pub positions: u64,
}

/// Takes games and returns the positions that they reached.
///
/// ```
/// use epdb_library::tally::{TallyBuilder, TallyOptions, TallyOrder};
/// use epdb_chess::text::pgn::{GameReader, PgnReadOptions};
/// let pgn = &b"1. e4 e5 1-0 1. e4 c5 0-1"[..];
/// let mut builder = TallyBuilder::new(TallyOptions::default(), std::env::temp_dir(), 1 << 20);
/// let mut reader = GameReader::new(pgn, PgnReadOptions::default());
/// while let Some(read) = reader.next_game()? {
///     builder.add(read.game.expect("a good game"))?;
/// }
/// let mut lines = Vec::new();
/// let counts = builder.finish(TallyOrder::Key, &mut |batch| {
///     batch.each(&mut |record| {
///         let mut line = Vec::new();
///         epdb_chess::codec::record::write_text(record, &mut line)?;
///         lines.push(String::from_utf8_lossy(&line).into_owned());
///         Ok(())
///     })
/// })?;
/// assert_eq!((counts.games, counts.positions), (2, 4));
/// let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -";
/// assert!(lines.contains(&format!("{start} tally \"reached 2, e4 +1=0-1\";")));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct TallyBuilder {
    options: TallyOptions,
    directory: PathBuf,
    memory_bytes: usize,
    /// Games that were counted before this builder began. `new_games` has the games that were
    /// counted since.
    known_games: GameDigests,
    new_games: GameDigests,
    /// The base of a delta, whose games were counted before too.
    base: Option<Arc<DeltaBase>>,
    /// The change of all counted games, those of the base included, since the last call of
    /// [`TallyBuilder::take_change`].
    change: GameSet,
    sources: Vec<TallySource>,
    /// Games whose positions are not counted yet.
    lines: Vec<Line>,
    moves: Vec<Move>,
    counted: CountedGames,
    /// Tallies of visits that did not fit into memory.
    spilled: Option<Sorter>,
    keeper: Option<Keeper>,
    comparison: Comparison,
    /// The decisions on copies in other slices.
    copies: Option<SliceCopies>,
    /// The games with ids of sites among `new_games`.
    log: CountedLog,
    /// Games of the log that other copies replace, each with the index of the source of that copy.
    replaced: HashMap<GameDigest, usize>,
    /// Kept games that were subtracted.
    not_kept: HashSet<GameId>,
    counts: TallyCounts,
}

/// A game, compared with the games that were counted before it.
struct Seen {
    /// The copy that was counted before; `None` if the options exclude the game.
    known: Option<KnownGame>,
    /// True if the game is finished, and an earlier import counted a copy that is not, or that is
    /// shorter.
    is_lost: bool,
    /// The digest; `None` if copies are not looked for.
    digest: Option<GameDigest>,
    /// The facts that count. They may come from a more complete copy in another slice.
    facts: GameFacts,
}

/// Visits, and the games that made them.
#[derive(Default, Debug)]
struct CountedGames {
    visits: Vec<Visits>,
    games: Vec<CountedGame>,
    /// The kept form of the games, if games are kept.
    kept: Vec<Option<KeptGame>>,
    /// Indices of games whose visits do not count, because another copy of the game counts.
    removed: HashSet<u32>,
    /// Number of earlier games, whose visits were moved to the temporary file.
    before: u64,
}

/// The order of the positions.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum TallyOrder {
    /// Positions are in ascending order of keys. Positions with the same key are in the order of
    /// their boards.
    #[default]
    Key,
    /// Positions are in the order of the first game that reached each of them. Most positions then
    /// follow from the position before by one move, so that archives are small.
    Games,
}

/// Games are counted in batches on all threads. A batch is full when the number of its plies and games
/// reaches this number. If the memory is small, a batch is full earlier: when it has a ply or game for each
/// [`BATCH_OF_MEMORY`] bytes.
const BATCH_PLIES: usize = 1 << 16;
const BATCH_OF_MEMORY: usize = 64;
/// The games to keep use at most the memory divided by this number.
const KEPT_OF_MEMORY: usize = 8;
/// The comparison of the copies of games uses at most the memory divided by this number.
const COMPARED_OF_MEMORY: usize = 16;
/// The records that are sorted by their places use at most the memory divided by this number: the visits are still in
/// memory when the first of them come.
const BY_PLACE_OF_MEMORY: usize = 8;
/// The moves of games with ids use at most the memory divided by this number.
const LOGGED_OF_MEMORY: usize = 32;
/// Minimum number of games per thread.
const MIN_GAMES: usize = 64;

impl CountedGames {
    /// The memory that the games and their visits take, in bytes.
    fn bytes(&self) -> usize {
        let games = size_of_val(&self.games[..]) + size_of_val(&self.kept[..]);
        games + self.visits.iter().map(Visits::bytes).sum::<usize>()
    }

    /// Removes the game with this number. Returns false if its visits are not here any more.
    fn remove(&mut self, number: u64) -> bool {
        let Some(place) = number.checked_sub(self.before) else { return false };
        self.removed.insert(place as u32);
        if let Some(kept) = self.kept.get_mut(place as usize) {
            *kept = None;
        }
        true
    }

    /// Adds the visits of games, on all threads.
    fn add(&mut self, lines: &[Line], moves: &[Move], which: Which) {
        let many = lines.len().div_ceil(rayon::current_num_threads()).max(MIN_GAMES);
        for number in self.visits.len()..lines.len().div_ceil(many) {
            self.visits.push(Visits::new(number));
        }
        let first = self.games.len();
        lines
            .par_chunks(many)
            .zip(&mut self.visits)
            .enumerate()
            .for_each(|(nth, (lines, visits))| visits.add(lines, moves, first + nth * many, which));
    }

    /// Takes the visits: those of each part are freed with it, while the sums of other parts grow.
    fn take_parts(&mut self) -> Vec<Vec<Part>> {
        let part_of = |part: usize| {
            self.visits.iter_mut().map(|visits| std::mem::take(&mut visits.parts[part])).collect()
        };
        (0..1 << PART_BITS).map(part_of).collect()
    }

    /// Calls `visit` with each position of a part, of which there are the visits of each thread, and keeps at most
    /// `limit` games of each kind for it.
    fn each_position(
        &self,
        part: &[Part],
        limit: Option<u8>,
        mut visit: impl FnMut(u64, &[u8], Tallied<'_>) -> Result<()>,
    ) -> Result<()> {
        let kept = limit.map(|limit| Kept { limit, games: &self.kept });
        let Self { visits, games, before, removed, .. } = self;
        each_position(part, Games { before: *before, games, kept, visits, removed }, &mut visit)
    }
}

impl TallyBuilder {
    /// Returns a builder that uses about `memory_bytes` of memory, and temporary files in
    /// `directory` for the rest. Additional memory holds the digests of the games, some 25 bytes
    /// each, and the ids of kept games, some 10 bytes each.
    pub fn new(
        options: TallyOptions,
        directory: impl Into<PathBuf>,
        memory_bytes: usize,
    ) -> TallyBuilder {
        let directory = directory.into();
        let keeper = options.keep_games;
        let keeper = keeper.map(|_| Keeper::new(&directory, memory_bytes / KEPT_OF_MEMORY));
        let comparison = Comparison::new(&directory, memory_bytes / COMPARED_OF_MEMORY);
        let log = CountedLog::new(&directory, memory_bytes / LOGGED_OF_MEMORY);
        TallyBuilder {
            options,
            directory,
            memory_bytes,
            known_games: GameDigests::default(),
            new_games: GameDigests::default(),
            base: None,
            change: GameSet::default(),
            sources: Vec::new(),
            lines: Vec::new(),
            moves: Vec::new(),
            counted: CountedGames::default(),
            spilled: None,
            keeper,
            comparison,
            copies: None,
            log,
            replaced: HashMap::new(),
            not_kept: HashSet::new(),
            counts: TallyCounts::default(),
        }
    }

    /// Sets the games that were counted before, in tallies that this builder does not have.
    #[must_use]
    pub fn with_games(self, known_games: GameDigests) -> TallyBuilder {
        TallyBuilder { known_games, ..self }
    }

    /// Sets the base to which the games of this builder are a delta.
    #[must_use]
    pub(super) fn with_base(self, base: Option<Arc<DeltaBase>>) -> TallyBuilder {
        TallyBuilder { base, ..self }
    }

    /// Takes the change of all counted games, those of the base included.
    pub(super) const fn take_change(&mut self) -> GameSet {
        std::mem::replace(&mut self.change, GameSet { games: 0, sum: 0 })
    }

    /// Counts the games of a slice by these decisions about copies in all slices.
    #[must_use]
    pub(crate) fn with_copies(self, copies: SliceCopies) -> TallyBuilder {
        TallyBuilder { copies: Some(copies), ..self }
    }

    /// Checks that the games were those of the decisions about copies that this builder was made with.
    ///
    /// # Errors
    /// There were more or fewer games.
    pub fn check_copies(&self) -> Result<()> {
        match &self.copies {
            Some(copies) => copies.check(),
            None => Ok(()),
        }
    }

    /// Begins a source: the games that follow are counted as games of this file.
    pub fn begin_source(&mut self, name: &str) {
        if self.sources.last().is_none_or(|source| source.name != name) {
            self.sources.push(TallySource { name: name.to_string(), ..TallySource::default() });
        }
    }

    /// Adds a game, unless the options exclude it or it was counted before.
    ///
    /// # Errors
    /// The temporary file cannot be created or written.
    pub fn add(&mut self, game: &Game) -> Result<GameOutcome> {
        let facts = GameFacts::new(game, self.options.split);
        let Seen { known, is_lost, digest, facts: counted } = self.look_at(game, facts)?;
        let taken = match known {
            None => GameOutcome::LeftOut,
            Some(KnownGame::New) => GameOutcome::Counted,
            Some(_) if is_lost => GameOutcome::NotReplaced,
            Some(_) => GameOutcome::Duplicate,
        };
        self.note(taken);
        match known {
            Some(KnownGame::New) => self.count(game, facts, counted, digest)?,
            Some(KnownGame::CountedWith(copy_rank)) if copies::is_by_id(copy_rank) => {
                if let Some(digest) = digest {
                    let source = self.sources.len().saturating_sub(1);
                    self.replaced.insert(with_copy_rank(digest, copy_rank), source);
                }
                self.count(game, facts, counted, digest)?;
            }
            Some(KnownGame::CountedWith(copy_rank)) => self.replace(game, facts, copy_rank)?,
            _ => {}
        }
        Ok(taken)
    }

    /// Adds the game of an item of a source, or notes that the filter excludes it. A game that ends
    /// before an illegal move is left out unless `counts_cut_short` is true. `None` for an item
    /// without a game.
    ///
    /// # Errors
    /// The errors of [`TallyBuilder::add`].
    pub fn take_item(
        &mut self,
        item: &Item<'_>,
        counts_cut_short: bool,
    ) -> Result<Option<GameOutcome>> {
        match item {
            Item::Game { is_cut_short: true, .. } if !counts_cut_short => {
                self.leave_out();
                self.counts.cut_short += 1;
            }
            Item::Game { game, .. } => return self.add(game).map(Some),
            Item::LeftOut { record: None, .. } => self.leave_out(),
            _ => return Ok(None),
        }
        Ok(Some(GameOutcome::LeftOut))
    }

    /// Counts a game that the caller excludes.
    pub fn leave_out(&mut self) {
        self.note(GameOutcome::LeftOut);
    }

    fn note(&mut self, taken: GameOutcome) {
        let TallyCounts { games, duplicates, left_out, .. } = &mut self.counts;
        *taken.count_of(games, duplicates, left_out) += 1;
        self.counts.not_replaced += u64::from(taken == GameOutcome::NotReplaced);
        if let Some(TallySource { games, duplicates, left_out, .. }) = self.sources.last_mut() {
            *taken.count_of(games, duplicates, left_out) += 1;
        }
    }

    /// Notes a game, and looks for a copy of it that was counted before.
    fn look_at(&mut self, game: &Game, mut facts: GameFacts) -> Result<Seen> {
        let without_digest = |known| Seen { known, is_lost: false, digest: None, facts };
        if !self.options.takes(game) {
            return Ok(without_digest(None));
        }
        let Some(same) = self.options.same_game else {
            return Ok(without_digest(Some(KnownGame::New)));
        };
        let id = SiteId::from_game(game);
        let mut digest = copies::digest(game, &facts, same, id.as_ref());
        let decision = self.copies.as_mut().map(SliceCopies::next_game);
        if let Some(CopyDecision::Counts(Some(rank))) = decision {
            facts = facts.with_copy_rank(rank, self.options.split);
            digest = with_copy_rank(digest, rank);
        }
        let rank = copy_rank_of(&digest);
        let goes_by_id = copies::is_by_id(rank);
        let earlier = self.earlier_copy(&digest)?;
        let is_lost =
            matches!(earlier, KnownGame::CountedWith(counted) if copies::is_lost(rank, counted));
        let known = match earlier {
            _ if decision == Some(CopyDecision::DoesNotCount) => KnownGame::Counted,
            KnownGame::Counted => KnownGame::Counted,
            // The moves of that copy are not kept, so it cannot be subtracted.
            KnownGame::CountedWith(_) if goes_by_id => KnownGame::Counted,
            earlier => self.count_digest(digest, earlier),
        };
        // Copies in other slices cannot be compared.
        if self.copies.is_none() {
            let labels = Labels::new(game, same, id.as_ref());
            // Of copies with the same id, the one with the highest rank counts, in any order.
            let (order, counts) = if goes_by_id {
                (!rank, earlier == KnownGame::New)
            } else {
                (0, known == KnownGame::New)
            };
            self.comparison.add(&digest, order, labels, counts)?;
        }
        let digest = Some(digest);
        Ok(Seen { known: Some(known), is_lost, digest, facts })
    }

    /// The copy of a game that was counted before this builder began, into the same library or into
    /// the base of a delta.
    fn earlier_copy(&self, digest: &GameDigest) -> Result<KnownGame> {
        let of_base = self.base.as_ref().map(|base| base.copy_rank(digest)).transpose()?.flatten();
        Ok(match self.known_games.copy_rank(digest).max(of_base) {
            None => KnownGame::New,
            Some(counted) if counted < copy_rank_of(digest) => KnownGame::CountedWith(counted),
            Some(_) => KnownGame::Counted,
        })
    }

    /// Notes the digest of a game that is more complete than the copy of an earlier import, if there
    /// is one. A copy of this import may be more complete still.
    fn count_digest(&mut self, digest: GameDigest, earlier: KnownGame) -> KnownGame {
        let known = match self.new_games.insert(digest) {
            KnownGame::New => earlier,
            newer => newer,
        };
        if known != KnownGame::Counted {
            self.change.add(&digest);
        }
        if let KnownGame::CountedWith(counted) = known {
            self.change.remove(&with_copy_rank(digest, counted));
        }
        known
    }

    fn count(
        &mut self,
        game: &Game,
        facts: GameFacts,
        counted: GameFacts,
        digest: Option<GameDigest>,
    ) -> Result<()> {
        let ends_early = game.has_null_move() && game.plies().any(|ply| ply.is_none());
        self.counts.at_null_move += u64::from(ends_early);
        let mut kept = None;
        if let Some(keeper) = &mut self.keeper {
            kept = keeper.add(game, &facts)?;
            self.counts.not_kept += u64::from(kept.is_none());
        }
        // With decisions for a slice, no copy replaces another one.
        if let Some(digest) = digest
            && copies::is_by_id(copy_rank_of(&digest))
            && self.copies.is_none()
        {
            let source = self.sources.len().saturating_sub(1);
            let in_memory = self.counted.games.len() + self.lines.len();
            let number = self.counted.before + in_memory as u64;
            self.log.push(&digest, number, source, kept, &counted, game)?;
        }
        self.push(*game.start(), game.main_line(), counted, Role::Counts);
        self.make_room()
    }

    /// Subtracts the games of the log that other copies replace.
    fn subtract_replaced(&mut self) -> Result<()> {
        if self.replaced.is_empty() {
            return Ok(());
        }
        // The plies of all games in the log are counted, so that they can be subtracted.
        self.visit_lines();
        let replaced = std::mem::take(&mut self.replaced);
        let empty = CountedLog::new(&self.directory, 0);
        let mut log = std::mem::replace(&mut self.log, empty);
        log.each(
            |digest| replaced.contains_key(digest),
            &mut |digest, LoggedGame { number, source, kept, facts, start, moves }| {
                let by = replaced.get(digest).copied().unwrap_or(source);
                self.exchange_outcomes(source, by);
                let plies = moves.len().min(self.options.max_ply as usize);
                self.counts.plies = self.counts.plies.saturating_sub(plies as u64);
                if self.counted.remove(number) {
                    return Ok(());
                }
                // Its visits are in the temporary file.
                self.not_kept.extend(kept);
                self.keeper.iter_mut().for_each(Keeper::pass);
                self.push(start, moves.into_iter(), facts, Role::Retracted);
                self.make_room()
            },
        )?;
        self.log = log;
        Ok(())
    }

    /// Moves a counted game from one source to another, which had it as a duplicate.
    fn exchange_outcomes(&mut self, from: usize, to: usize) {
        for (source, outcome, other) in [
            (from, GameOutcome::Duplicate, GameOutcome::Counted),
            (to, GameOutcome::Counted, GameOutcome::Duplicate),
        ] {
            if let Some(TallySource { games, duplicates, left_out, .. }) =
                self.sources.get_mut(source)
            {
                *outcome.count_of(games, duplicates, left_out) += 1;
                *other.count_of(games, duplicates, left_out) -= 1;
            }
        }
    }

    /// Counts a copy of a game instead of an earlier copy with this [`GameFacts::copy_rank`].
    /// Positions still list the earlier copy.
    fn replace(&mut self, game: &Game, facts: GameFacts, copy_rank: u32) -> Result<()> {
        let before = facts.with_copy_rank(copy_rank, self.options.split);
        for (facts, role) in [(facts, Role::CountsInstead), (before, Role::Retracted)] {
            self.keeper.iter_mut().for_each(Keeper::pass);
            self.push(*game.start(), game.main_line(), facts, role);
        }
        self.make_room()
    }

    fn push(
        &mut self,
        start: Start,
        main_line: impl Iterator<Item = Move>,
        facts: GameFacts,
        role: Role,
    ) {
        let first = self.moves.len();
        self.moves.extend(main_line);
        let moves = first..self.moves.len();
        self.lines.push(Line { start, moves, facts, role });
    }

    /// Counts the waiting games if they fill a batch. If the memory is full, first moves the
    /// tallies of earlier games to the temporary file.
    fn make_room(&mut self) -> Result<()> {
        if self.moves.len() + self.lines.len()
            < BATCH_PLIES.min(self.memory_bytes / BATCH_OF_MEMORY)
        {
            return Ok(());
        }
        if self.is_full() {
            self.spill()?;
        }
        self.visit_lines();
        Ok(())
    }

    /// Whether memory is full: the next games go to a temporary file unless [`TallyBuilder::drain`]
    /// is called.
    pub fn is_full(&self) -> bool {
        self.counted.bytes() > self.memory_bytes / 2
    }

    #[must_use]
    pub(super) fn max_memory_bytes(self, memory_bytes: usize) -> TallyBuilder {
        TallyBuilder { memory_bytes: self.memory_bytes.min(memory_bytes), ..self }
    }

    /// Returns the files and the games that were counted since the last call, and clears both. A
    /// later copy of these games is not recognised, unless [`TallyBuilder::know`] adds them again.
    ///
    /// # Errors
    /// A temporary file cannot be read or written.
    pub fn take_games(&mut self) -> Result<(Vec<TallySource>, GameDigests)> {
        self.subtract_replaced()?;
        self.log.clear();
        let sources = self.sources.iter_mut().map(|source| {
            let name = source.name.clone();
            std::mem::replace(source, TallySource { name, ..TallySource::default() })
        });
        let sources = sources.collect();
        Ok((sources, std::mem::take(&mut self.new_games)))
    }

    /// Adds games that were counted before.
    pub fn know(&mut self, games: &GameDigests) {
        self.known_games.extend(games);
    }

    /// Counts the positions of the waiting games.
    fn visit_lines(&mut self) {
        self.counted.add(&self.lines, &self.moves, self.options.positions());
        for visits in &mut self.counted.visits {
            self.counts.plies += std::mem::take(&mut visits.plies);
            self.counts.wide_moves += std::mem::take(&mut visits.wide_moves);
        }
        let game = |line: Line| CountedGame::new(line.facts, line.role == Role::Retracted);
        self.counted.games.extend(self.lines.drain(..).map(game));
        self.keeper.iter_mut().for_each(|keeper| keeper.looked_at(&mut self.counted.kept));
        self.moves.clear();
    }

    /// Moves the tallies of all visits to the temporary file, and frees their memory.
    fn spill(&mut self) -> Result<()> {
        let before = self.counted.before + self.counted.games.len() as u64;
        let others = CountedGames { before, ..CountedGames::default() };
        let mut counted = std::mem::replace(&mut self.counted, others);
        let parts = counted.take_parts();
        let sorter =
            self.spilled.get_or_insert_with(|| Sorter::new(&self.directory, self.memory_bytes / 2));
        let limit = self.options.keep_games;
        let tallies_of = |part: Vec<Part>| {
            let mut tallies = Tallies::default();
            counted.each_position(&part, limit, |key, board, tallied| {
                tallies.push(key, board, tallied);
                Ok(())
            })?;
            Ok(tallies)
        };
        each_made(parts.into_iter(), tallies_of, |tallies: &Tallies| {
            tallies.iter().try_for_each(|(key, tally)| Ok(sorter.push(key, tally)?))
        })
    }

    /// Passes the records of all positions, in their binary form, to `visit`.
    ///
    /// # Errors
    /// The errors of [`TallyBuilder::drain`].
    pub fn finish(
        mut self,
        order: TallyOrder,
        visit: &mut dyn FnMut(&EncodedBatch) -> Result<()>,
    ) -> Result<TallyCounts> {
        self.drain(order, &mut |batch, _| visit(batch))?;
        Ok(self.counts)
    }

    /// Passes the records of all positions so far, in their binary form, to `visit`, and clears
    /// them. Games that are added later make new records, even for the same positions. `visit` also
    /// gets the number of all records, if it is known before the last of them.
    ///
    /// # Errors
    /// The temporary file cannot be created, written or read; too many games reached a position; or
    /// `visit` fails.
    pub fn drain(
        &mut self,
        order: TallyOrder,
        visit: &mut dyn FnMut(&EncodedBatch, Option<u64>) -> Result<()>,
    ) -> Result<()> {
        self.subtract_replaced()?;
        self.visit_lines();
        self.log.clear();
        let not_kept = std::mem::take(&mut self.not_kept);
        if self.spilled.is_some() {
            self.spill()?;
        }
        let counted = std::mem::take(&mut self.counted);
        let positions = &mut self.counts.positions;
        let keeper = &mut self.keeper;
        let all = Cell::new(None);
        let mut pass_on = |batch: &EncodedBatch| {
            *positions += batch.len() as u64;
            if let Some(keeper) = keeper {
                batch.each(&mut |record| keeper.note(record))?;
            }
            visit(batch, all.get())
        };
        let limit = self.options.keep_games;
        let spilled = self.spilled.take();
        let each_sum = |visit: &mut dyn FnMut(&Sums) -> Result<()>| match spilled {
            None => visit_parts(counted, limit, visit),
            Some(sorter) => visit_sums(sorter.finish()?, limit, &not_kept, visit),
        };
        if order == TallyOrder::Key {
            return each_sum(&mut |sums| pass_on(&sums.records));
        }
        let mut by_place = Sorter::new(&self.directory, self.memory_bytes / BY_PLACE_OF_MEMORY);
        each_sum(&mut |sums| {
            let mut places = sums.places.iter();
            sums.records.each(&mut |record| {
                let place = places.next().copied().unwrap_or(Place::START);
                Ok(by_place.push(&place.to_bytes(), record)?)
            })
        })?;
        all.set(Some(by_place.len()));
        let mut sorted = by_place.finish()?;
        let mut batch = EncodedBatch::default();
        while let Some((_, record)) = sorted.next_entry()? {
            batch.push(record);
            if batch.is_full() {
                pass_on(&batch)?;
                batch.clear();
            }
        }
        pass_on(&batch)
    }

    /// Writes a library of the games to a temporary file, and opens it for lookups that use about
    /// `memory_bytes`. `name` is the name of the library in errors.
    pub(crate) fn into_lookup(mut self, name: &str, memory_bytes: usize) -> Result<Collection> {
        let truncate_games = false;
        let deny_warnings = false;
        let settings = self.options.settings(truncate_games, deny_warnings, None);
        let (sources, _) = self.take_games()?;
        let origin = TallyOrigin { settings, sources, ..TallyOrigin::default() };
        let options = PackOptions {
            level: Level::Fast,
            memory_bytes: memory_bytes / 2,
            ..Default::default()
        };
        Collection::built(name, options, memory_bytes, |writer| {
            writer.set_tally_ledger(TallyLedger { origin, games: None });
            self.drain(TallyOrder::Key, &mut |batch, _| {
                batch.each(&mut |bytes| Ok(writer.push(&record::decode(bytes)?.0)?))
            })?;
            self.drain_games(&mut |game| Ok(writer.keep_game(game)?))
        })
    }

    /// Passes each game that is listed at some position, encoded by
    /// [`kept_game`](epdb_chess::codec::kept_game), to `visit`. Games of an earlier call are not repeated.
    ///
    /// # Errors
    /// The temporary file cannot be created, written or read; or `visit` fails.
    pub fn drain_games(&mut self, visit: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let empty = Sorter::new(&self.directory, self.memory_bytes / KEPT_OF_MEMORY);
        match &mut self.keeper {
            Some(keeper) => keeper.give_back(empty, visit),
            None => Ok(()),
        }
    }

    /// Compares duplicates with their first copies, and clears both.
    ///
    /// # Errors
    /// The temporary file cannot be created, written or read.
    pub fn take_merged_games(&mut self) -> Result<MergedGames> {
        let empty = Comparison::new(&self.directory, self.memory_bytes / COMPARED_OF_MEMORY);
        std::mem::replace(&mut self.comparison, empty).finish()
    }

    /// The counts so far.
    pub const fn counts(&self) -> TallyCounts {
        self.counts
    }
}

impl TallyOptions {
    fn positions(&self) -> Which {
        Which {
            max_ply: self.max_ply,
            repeats: self.count_repeats,
            polyglot_en_passant: self.polyglot_en_passant,
        }
    }

    /// The digest of the game of an item; `None` if the options exclude the game, or count every copy.
    pub fn digest_of_item(&self, item: &Item<'_>, counts_cut_short: bool) -> Option<GameDigest> {
        let Item::Game { game, is_cut_short, .. } = item else { return None };
        let same = self.same_game?;
        if *is_cut_short && !counts_cut_short || !self.takes(game) {
            return None;
        }
        let facts = GameFacts::new(game, self.split);
        Some(copies::digest(game, &facts, same, SiteId::from_game(game).as_ref()))
    }

    fn takes(&self, game: &Game) -> bool {
        if self.standard_only && *game.start() != Start::ARRAY {
            return false;
        }
        let is_player = |color: Color| {
            let name = game.tag(if color == Color::White { "White" } else { "Black" });
            let is_wanted = |wanted: &String| {
                name.is_some_and(|name| names_player(name.as_bytes(), wanted.as_bytes()))
            };
            self.color.is_none_or(|wanted| wanted == color) && self.players.iter().any(is_wanted)
        };
        self.players.is_empty() || Color::ALL.into_iter().any(is_player)
    }
}

/// Size in bytes of the tallies that one thread adds up at a time.
const TALLY_BYTES: usize = 1 << 17;

/// Calls `make` with each of some jobs on all threads, and `take` with the results in order.
fn each_made<J: Send, T: Send>(
    jobs: impl Iterator<Item = J>,
    make: impl Fn(J) -> Result<T> + Sync,
    mut take: impl FnMut(&T) -> Result<()>,
) -> Result<()> {
    let take = |made: Result<T>| {
        take(&made?)?;
        Ok(ControlFlow::Continue(()))
    };
    make_in_order(jobs, make, take).map(drop)
}

/// Passes to `visit` the sums of visits that are all in memory.
fn visit_parts(
    mut counted: CountedGames,
    limit: Option<u8>,
    visit: &mut dyn FnMut(&Sums) -> Result<()>,
) -> Result<()> {
    let parts = counted.take_parts();
    let sums_of = |part: Vec<Part>| {
        let mut sums = Sums::default();
        counted.each_position(&part, limit, |_, board, tallied| {
            sums.push(tallied.place(), |out| tallied.put_record(board, out))
        })?;
        Ok(sums)
    };
    each_made(parts.into_iter(), sums_of, visit)
}

/// Tallies of positions for a [`Sorter`]. The key of each is the key of the position and its board.
#[derive(Default)]
struct Tallies {
    bytes: Vec<u8>,
    /// End of the key, and of the tally, of each position.
    ends: Vec<[usize; 2]>,
}

impl Tallies {
    fn push(&mut self, key: u64, board: &[u8], tallied: Tallied<'_>) {
        self.bytes.extend_from_slice(&key.to_be_bytes());
        self.bytes.extend_from_slice(board);
        let end_of_key = self.bytes.len();
        tallied.put_with_place(&mut self.bytes);
        self.ends.push([end_of_key, self.bytes.len()]);
    }

    /// The next tallies of `sorted`, from the current one on. They end with the last tally of a position.
    fn next_of(sorted: &mut Sorted) -> Result<Tallies> {
        let mut tallies = Tallies::default();
        let Tallies { bytes, ends } = &mut tallies;
        let mut last_key = 0..0;
        while let Some((key, tally)) = sorted.current() {
            if bytes.len() >= TALLY_BYTES && bytes[last_key.clone()] != *key {
                break;
            }
            last_key = bytes.len()..bytes.len() + key.len();
            bytes.extend_from_slice(key);
            bytes.extend_from_slice(tally);
            ends.push([last_key.end, bytes.len()]);
            sorted.next_entry()?;
        }
        Ok(tallies)
    }

    fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let mut start = 0;
        self.ends.iter().map(move |&[end_of_key, end]| {
            let key = &self.bytes[start..end_of_key];
            start = end;
            (key, &self.bytes[end_of_key..end])
        })
    }
}

/// Adds up sorted tallies on all threads, and passes the sums to `visit` in order.
fn visit_sums(
    mut sorted: Sorted,
    limit: Option<u8>,
    not_kept: &HashSet<GameId>,
    visit: &mut dyn FnMut(&Sums) -> Result<()>,
) -> Result<()> {
    sorted.next_entry()?;
    let batches =
        std::iter::from_fn(|| sorted.current().is_some().then(|| Tallies::next_of(&mut sorted)));
    each_made(batches, |tallies| Sums::of(&tallies?, limit, not_kept), visit)
}

/// The sums of sorted tallies for each position.
#[derive(Default)]
struct Sums {
    records: EncodedBatch,
    /// The place of the first visit to the position of each record.
    places: Vec<Place>,
}

impl Sums {
    /// Adds up tallies, which have all tallies of their positions.
    fn of(tallies: &Tallies, limit: Option<u8>, not_kept: &HashSet<GameId>) -> Result<Sums> {
        let mut sums = Sums::default();
        let mut sum = Sum::keeping(limit);
        let mut tallies = tallies.iter().peekable();
        while let Some((key, tally)) = tallies.next() {
            sum.add_encoded(tally, not_kept)?;
            while let Some((_, tally)) = tallies.next_if(|(next, _)| *next == key) {
                sum.add_encoded(tally, not_kept)?;
            }
            let board = key.get(8..).ok_or_else(changed)?;
            sums.push(sum.first(), |out| sum.put_record(board, out))?;
        }
        Ok(sums)
    }

    /// Adds the record that `put` appends, if it does, with the place of the first visit to its position.
    fn push(&mut self, place: Place, put: impl FnOnce(&mut Vec<u8>) -> Result<bool>) -> Result<()> {
        self.records.push_with(put)?;
        self.places.push(place);
        self.places.truncate(self.records.len());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use epdb_chess::codec::record;
    use epdb_chess::text::pgn::{GameReader, PgnReadOptions};

    fn lines(pgn: &str, memory_bytes: usize) -> Vec<String> {
        let options = TallyOptions { same_game: None, ..TallyOptions::default() };
        let mut builder = TallyBuilder::new(options, std::env::temp_dir(), memory_bytes);
        let mut reader = GameReader::new(pgn.as_bytes(), PgnReadOptions::default());
        while let Some(read) = reader.next_game().unwrap() {
            builder.add(read.game.unwrap()).unwrap();
        }
        let mut lines = Vec::new();
        let mut visit = |batch: &EncodedBatch| {
            batch.each(&mut |record| {
                let mut line = Vec::new();
                record::write_text(record, &mut line)?;
                lines.push(String::from_utf8(line).unwrap());
                Ok(())
            })
        };
        builder.finish(TallyOrder::Key, &mut visit).unwrap();
        lines.sort();
        lines
    }

    /// Boards with more pieces than the start array are longer than other boards, and are stored separately.
    #[test]
    fn positions_of_many_pieces_are_counted() {
        let tags = "[SetUp \"1\"]\n\
            [FEN \"nnnnknnn/pppppppp/nnnnnnnn/8/8/NNNNNNNN/PPPPPPPP/NNNNKNNN w - - 0 1\"]\n\n";
        let many = format!("{tags}1. Nb4 Na4 1-0\n\n{tags}1. Nb4 Nh4 0-1\n\n");
        let pgn = format!("1. e4 *\n\n{many}");
        // More games than one thread takes at a time.
        for memory_bytes in [0, 1 << 24] {
            let all = lines(&pgn.repeat(100), memory_bytes);
            assert_eq!(all.len(), 6);
            for tally in ["200, Nb4 +100=0-100", "200, Na4 +100=0-0, Nh4 +0=0-100"] {
                let tally = format!(" tally \"reached {tally}\";");
                assert_eq!(all.iter().filter(|line| line.ends_with(&tally)).count(), 1, "{all:#?}");
            }
        }
    }
}
