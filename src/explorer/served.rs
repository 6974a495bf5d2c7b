//! A source as it was when it was opened.

use quick_cache::sync::Cache;

use epdb_archive::About;
use epdb_chess::codec::query::Query;
use epdb_chess::codec::tally_origin::TallyOrigin;
use epdb_chess::codec::tally_settings::TallySettings;
use epdb_chess::error::Result;
use epdb_chess::model::{EpdRecord, Game, GameId, KeptGame, Opcode, Position};
use epdb_source::{Collection, FileFormat, Lookup, Matches};

/// A source as it was when it was opened.
#[derive(Debug)]
pub struct Served {
    name: String,
    format: FileFormat,
    lookup: Collection,
    /// The origin of its tallies, if stated.
    origin: Option<TallyOrigin>,
    kept_games: u64,
    about: About,
    opened: u64,
    /// Cache of games, because neighbouring positions mostly list the same games.
    games: Cache<GameId, Game>,
}

/// Number of cached games.
const GAMES_AT_HAND: usize = 4096;

impl Served {
    /// A source that was opened `opened` seconds after 1970.
    ///
    /// # Errors
    /// The source is damaged or cannot be read.
    pub fn new(name: &str, format: FileFormat, lookup: Collection, opened: u64) -> Result<Served> {
        Ok(Served {
            name: name.to_string(),
            format,
            origin: lookup.tally_origin()?,
            kept_games: lookup.kept_game_count()?,
            about: lookup.about()?,
            lookup,
            opened,
            games: Cache::new(GAMES_AT_HAND),
        })
    }

    /// The name of the source.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The format of the file.
    pub const fn format(&self) -> FileFormat {
        self.format
    }

    /// The time at which the source was opened, in seconds since 1970.
    pub(crate) const fn opened(&self) -> u64 {
        self.opened
    }

    /// The store or archive with its records.
    pub const fn lookup(&self) -> &Collection {
        &self.lookup
    }

    /// The origin of the source's tallies, if stated.
    pub const fn origin(&self) -> Option<&TallyOrigin> {
        self.origin.as_ref()
    }

    /// Number of games that the source keeps.
    pub const fn kept_games(&self) -> u64 {
        self.kept_games
    }

    /// Facts about the data.
    pub(crate) const fn about(&self) -> &About {
        &self.about
    }

    /// The settings with which the source's games were counted, if they hold for the whole library.
    pub(crate) fn settings(&self) -> Option<&TallySettings> {
        self.origin().filter(|origin| !origin.is_mixed).map(|origin| &origin.settings)
    }

    /// The properties by which the source's tallies are split, if known.
    pub fn splits(&self) -> Option<Vec<&'static str>> {
        self.settings().map(|settings| settings.names().collect())
    }

    /// Receives together what reading these games needs.
    pub(crate) fn prefetch_games(&self, kept: &[&KeptGame]) {
        let ids = kept.iter().map(|kept| kept.id);
        let missing: Vec<GameId> = ids.filter(|id| self.games.get(id).is_none()).collect();
        self.lookup.prefetch_games(&missing, 0);
    }

    /// A game that positions of the source list.
    pub(crate) fn kept_game(&self, id: GameId) -> Result<Option<Game>> {
        if let Some(game) = self.games.get(&id) {
            return Ok(Some(game));
        }
        let game = self.lookup.kept_game(id)?;
        if let Some(game) = &game {
            self.games.insert(id, game.clone());
        }
        Ok(game)
    }

    /// The records of positions, at most [`MAX_RECORDS`] each.
    pub(crate) fn records(&self, queries: &[Query]) -> Result<Vec<Vec<EpdRecord>>> {
        self.records_until(queries, |_| false)
    }

    /// For each position, its records up to the first record with a score.
    ///
    /// # Errors
    /// The source is damaged or cannot be read.
    pub fn scored_records(&self, queries: &[Query]) -> Result<Vec<Vec<EpdRecord>>> {
        self.records_until(queries, |record| record.operands(Opcode::CE).is_some())
    }

    fn records_until(
        &self,
        queries: &[Query],
        is_last: impl Fn(&EpdRecord) -> bool,
    ) -> Result<Vec<Vec<EpdRecord>>> {
        let is_enough = |records: &[EpdRecord]| {
            records.len() == MAX_RECORDS || records.last().is_some_and(&is_last)
        };
        self.lookup.records(queries, &is_enough)
    }

    pub(crate) fn numbered_records(
        &self,
        position: &Position,
    ) -> Result<(Vec<(u64, EpdRecord)>, bool)> {
        let query = Query::from(position);
        let mut matches = self.lookup.matches(&query);
        let records: Result<_> = matches.by_ref().take(MAX_RECORDS).collect();
        let records = records.map_err(|error| self.lookup.named(error))?;
        Ok((records, self.has_next(&mut matches)?))
    }

    pub(crate) fn has(&self, position: &Position) -> Result<bool> {
        self.has_next(&mut self.lookup.matches(&Query::from(position)))
    }

    fn has_next(&self, matches: &mut Matches<'_>) -> Result<bool> {
        let next = matches.next_match().transpose();
        next.map(|found| found.is_some()).map_err(|error| self.lookup.named(error))
    }
}

/// Maximum number of records that are read for a position. A position that occurs in all games may
/// have a record for each game.
pub(crate) const MAX_RECORDS: usize = 1000;
