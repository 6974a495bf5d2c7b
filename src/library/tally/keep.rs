//! The games that the positions of a library list.

use std::collections::HashSet;
use std::path::Path;

use super::facts::{self, GameFacts};
use crate::game_tag::Tags;
use epdb_base::spill::Sorter;
use epdb_chess::codec::{kept_game, record};
use epdb_chess::error::{Error, Result};
use epdb_chess::model::{Game, GameDate, GameId, KeptGame, MAX_RATING};

/// Takes the games that count, and returns those that positions list.
#[derive(Debug)]
pub(super) struct Keeper {
    /// Games whose positions are not counted yet; `None` for a game that cannot be kept.
    waiting: Vec<Option<KeptGame>>,
    games: Sorter,
    listed: HashSet<GameId>,
    encoded: Vec<u8>,
}

impl Keeper {
    pub(super) fn new(directory: &Path, memory_bytes: usize) -> Keeper {
        Keeper {
            waiting: Vec::new(),
            games: Sorter::new(directory, memory_bytes),
            listed: HashSet::new(),
            encoded: Vec::new(),
        }
    }

    /// Adds the next game. Returns its id; `None` if it cannot be kept.
    pub(super) fn add(&mut self, game: &Game, facts: &GameFacts) -> Result<Option<GameId>> {
        self.encoded.clear();
        if kept_game::encode(game, &mut self.encoded).is_err() {
            self.waiting.push(None);
            return Ok(None);
        }
        let kept = kept_game_from(game, facts, &self.encoded);
        self.games.push(&kept.id.0, &self.encoded)?;
        self.waiting.push(Some(kept));
        Ok(Some(kept.id))
    }

    /// Skips the next game.
    pub(super) fn pass(&mut self) {
        self.waiting.push(None);
    }

    /// Moves the waiting games to `games`, the list of games whose positions are counted.
    pub(super) fn looked_at(&mut self, games: &mut Vec<Option<KeptGame>>) {
        games.append(&mut self.waiting);
    }

    /// Remembers the games that a record lists.
    pub(super) fn note(&mut self, record: &[u8]) -> Result<()> {
        if let Some(kept) = record::kept_games_of(record)? {
            self.listed.extend(kept.games().iter().map(|game| game.id));
        }
        Ok(())
    }

    /// Passes to `visit` the games that records listed since the last call, by ascending ids, and
    /// forgets all games. `empty` is a sorter for the next games.
    pub(super) fn give_back(
        &mut self,
        empty: Sorter,
        visit: &mut dyn FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let mut sorted = std::mem::replace(&mut self.games, empty).finish()?;
        let mut last: Option<(GameId, Vec<u8>)> = None;
        while let Some((id, game)) = sorted.next_entry()? {
            let Some(id) = id.first_chunk().map(|&id| GameId(id)) else { continue };
            if let Some((last_id, before)) = &last
                && *last_id == id
            {
                kept_game::check_same(id, [before, game]).map_err(Error::from_cause)?;
            }
            // A game may have been added twice, but its id is in the set only once.
            if self.listed.remove(&id) {
                visit(game)?;
                last = Some((id, game.to_vec()));
            }
        }
        self.listed.clear();
        Ok(())
    }
}

/// The entry of a game in the list of a position. `encoded` is the kept data of the game.
pub(crate) fn kept_game_from(game: &Game, facts: &GameFacts, encoded: &[u8]) -> KeptGame {
    KeptGame {
        rating: facts::mean(facts.ratings),
        date: date_of(game).unwrap_or_default(),
        id: kept_game::id_of(encoded),
    }
}

/// The known part of the date of a game.
fn date_of(game: &Game) -> Option<GameDate> {
    let date = facts::date(&Tags::OfGame(game))?;
    let year = u16::try_from(date.year()?).ok().filter(|year| (1..=MAX_RATING).contains(year))?;
    let [first, last] = [date.first(), date.last()];
    let month = if first / 100 == last / 100 { first / 100 % 100 } else { 0 };
    let day = if date.is_one_day() { first % 100 } else { 0 };
    GameDate::new(year, month as u8, day as u8)
}
