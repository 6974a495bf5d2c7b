//! Visits become one tally a position.

use byteorder::{BigEndian, ByteOrder};

use super::facts::GameFacts;
use super::visits::Visit;
use crate::codec::item::Cursor;
use crate::codec::record::{self, OrdinalTally};
use crate::error::Result;
use crate::library::ordered::changed;
use crate::model::{Cell, KeptGame, KeptGames, TallyOverflow};

/// The tally of a position while games are added. It is used for one position after the other, since
/// most have one visit only, which must not cost memory of its own.
#[derive(Default, Debug)]
pub(super) struct Sum {
    /// The parts in use are those that `order` names, by ascending cells; the others lend their memory.
    parts: Vec<OrdinalTally>,
    order: Vec<usize>,
    first: Option<Place>,
    /// How many games are kept of each kind, where they are, and those so far.
    limit: Option<u8>,
    kept: Option<KeptGames>,
}

/// Games of which positions keep the best rated and the latest, so many of each.
#[derive(Copy, Clone, Debug)]
pub(super) struct Kept<'a> {
    pub(super) limit: u8,
    /// By their numbers; `None` for one that cannot be kept.
    pub(super) games: &'a [Option<KeptGame>],
}

/// A place in the games: the number of the game and the ply.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Place {
    pub(super) game: u64,
    pub(super) ply: u16,
}

impl Place {
    pub(super) const START: Place = Place { game: 0, ply: 0 };

    /// Bytes whose order is that of the places.
    pub(super) fn to_bytes(self) -> [u8; Place::LEN] {
        let mut bytes = [0; Place::LEN];
        bytes[..8].copy_from_slice(&self.game.to_be_bytes());
        bytes[8..].copy_from_slice(&self.ply.to_be_bytes());
        bytes
    }

    fn of_bytes(bytes: [u8; Place::LEN]) -> Place {
        Place { game: BigEndian::read_u64(&bytes), ply: BigEndian::read_u16(&bytes[8..]) }
    }

    const LEN: usize = 10;
}

impl Sum {
    /// One that keeps so many games of each kind, if any.
    pub(super) fn keeping(limit: Option<u8>) -> Sum {
        Sum { limit, ..Sum::default() }
    }

    /// Keeps games of these visits, which all are of one position.
    fn keep(&mut self, visits: &[Visit], kept: Option<Kept<'_>>) {
        let Some(Kept { limit, games }) = kept else { return };
        let game = |visit: &Visit| *games.get(visit.game as usize)?;
        self.add_kept(KeptGames::new(limit, visits.iter().filter_map(game).collect()));
    }

    fn add_kept(&mut self, more: Option<KeptGames>) {
        self.kept = match (self.kept.take(), more) {
            (Some(kept), Some(more)) => Some(kept.merged(&more)),
            (kept, more) => kept.or(more),
        };
    }

    /// The games that were kept, which are forgotten.
    pub(super) const fn take_kept(&mut self) -> Option<KeptGames> {
        self.kept.take()
    }

    /// Appends the games that were kept, where games are kept, and forgets them.
    fn put_kept(&mut self, out: &mut Vec<u8>) {
        if self.limit.is_some() {
            let kept = self.take_kept();
            out.push(u8::from(kept.is_some()));
            kept.iter().for_each(|kept| record::put_kept_games(kept, out));
        }
    }

    fn add_encoded_kept(&mut self, cursor: &mut Cursor) -> Result<()> {
        if self.limit.is_some() && cursor.int_1()? != 0 {
            let kept = record::take_kept_games(cursor)?;
            self.add_kept(Some(kept));
        }
        Ok(())
    }

    fn visit(
        &mut self,
        visit: &Visit,
        before: u64,
        facts: &GameFacts,
    ) -> Result<(), TallyOverflow> {
        self.came(Place { game: before + u64::from(visit.game), ply: visit.ply });
        let part = self.part(facts.cell);
        part.reached += u64::from(visit.is_first);
        match visit.ordinal {
            Some(ordinal) => part.add_move(ordinal, &facts.counts(visit.turn)),
            None => Ok(()),
        }
    }

    fn part(&mut self, cell: Cell) -> &mut OrdinalTally {
        let place = self.order.binary_search_by_key(&cell, |&at| self.parts[at].cell);
        let at = place.map(|place| self.order[place]).unwrap_or_else(|place| {
            let at = self.order.len();
            self.order.insert(place, at);
            if at == self.parts.len() {
                self.parts.push(OrdinalTally::default());
            }
            let OrdinalTally { cell: own, reached, moves } = &mut self.parts[at];
            (*own, *reached) = (cell, 0);
            moves.clear();
            at
        });
        &mut self.parts[at]
    }

    fn came(&mut self, place: Place) {
        self.first = Some(self.first.map_or(place, |first| first.min(place)));
    }

    /// Where the position came first.
    pub(super) fn first(&self) -> Place {
        self.first.unwrap_or(Place::START)
    }

    /// Adds what [`Sum::put_with_place`] put.
    pub(super) fn add_encoded(&mut self, bytes: &[u8]) -> Result<()> {
        let (place, bytes) = bytes.split_first_chunk().ok_or_else(changed)?;
        self.came(Place::of_bytes(*place));
        let mut cursor = Cursor::new(bytes);
        self.add_encoded_kept(&mut cursor)?;
        for part in record::take_tally(&mut cursor)? {
            self.part(part.cell).add(&part).map_err(too_many)?;
        }
        Ok(())
    }

    /// Appends the tally in its short form, and forgets it.
    pub(super) fn put(&mut self, out: &mut Vec<u8>) {
        self.first = None;
        self.parts[..self.order.len()].iter_mut().for_each(OrdinalTally::sort);
        record::put_tally(self.order.iter().map(|&at| &self.parts[at]), out);
        self.order.clear();
    }

    /// [`Sum::put`], and the place before it.
    pub(super) fn put_with_place(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.first().to_bytes());
        self.put_kept(out);
        self.put(out);
    }
}

pub(super) fn too_many(error: TallyOverflow) -> crate::Error {
    crate::Error::new(error.to_string())
}

/// Hands on each position of these visits with its tally, by ascending keys; those of one key by
/// their boards. So many games were `before` these.
pub(super) fn each_position(
    visits: &[u8],
    (before, games): (u64, &[GameFacts]),
    kept: Option<Kept<'_>>,
    visit_position: &mut impl FnMut(u64, &[u8], &mut Sum) -> Result<()>,
) -> Result<()> {
    let mut order: Vec<(u64, usize)> = Vec::new();
    let mut at = 0;
    while let Some((visit, len)) = visits.get(at..).and_then(Visit::read) {
        order.push((visit.key, at));
        at += len;
    }
    order.sort_unstable();
    let visit_at = |&(_, at): &(u64, usize)| Visit::read(&visits[at..]).map(|(it, _)| it);
    let mut sum = Sum::keeping(kept.map(|kept| kept.limit));
    let mut same_key = Vec::new();
    for places in order.chunk_by(|a, b| a.0 == b.0) {
        same_key.clear();
        same_key.extend(places.iter().filter_map(visit_at));
        if same_key.iter().any(|visit| visit.board != same_key[0].board) {
            same_key.sort_by_key(|visit| visit.board);
        }
        for same in same_key.chunk_by(|a, b| a.board == b.board) {
            for visit in same {
                sum.visit(visit, before, &games[visit.game as usize]).map_err(too_many)?;
            }
            sum.keep(same, kept);
            visit_position(same[0].key, same[0].board, &mut sum)?;
        }
    }
    Ok(())
}
