//! Combines the visits of games to positions into one tally per position.

use std::collections::HashSet;

use super::facts::CountedGame;
use super::visits::{PART_BITS, Part, Visit, Visits, long_board};
use crate::ordered::changed;
use epdb_chess::codec::item::Cursor;
use epdb_chess::codec::record::{self, OrdinalTally};
use epdb_chess::error::Result;
use epdb_chess::model::{Cell, GameId, KeptGame, KeptGames, Opcode, Operation, TallyOverflow};

/// The tally of a position while games are added. It is reused for all positions: most have few
/// visits, so that an allocation for each would be slow.
#[derive(Default, Debug)]
pub(super) struct Sum {
    counted: Cells,
    /// Counts of copies of games that other copies replaced.
    less: Cells,
    first: Option<Place>,
    /// Maximum number of games to keep of each kind (best rated, latest); `None` if no games are
    /// kept.
    limit: Option<u8>,
    kept: Option<KeptGames>,
}

#[derive(Default, Debug)]
struct Cells {
    /// The parts, in no order. `order` has the indices of the parts in use, sorted by their cells.
    /// Unused parts keep their memory for later use.
    parts: Vec<OrdinalTally>,
    order: Vec<usize>,
}

impl Cells {
    fn part(&mut self, cell: Cell) -> &mut OrdinalTally {
        let place = match self.order.binary_search_by_key(&cell, |&at| self.parts[at].cell) {
            Ok(place) => return &mut self.parts[self.order[place]],
            Err(place) => place,
        };
        let at = self.order.len();
        self.order.insert(place, at);
        if at == self.parts.len() {
            self.parts.push(OrdinalTally::default());
        }
        let part = &mut self.parts[at];
        part.cell = cell;
        part.reached = 0;
        part.moves.clear();
        part
    }

    fn add(&mut self, parts: &[OrdinalTally]) -> Result<(), TallyOverflow> {
        parts.iter().try_for_each(|part| self.part(part.cell).add(part))
    }

    fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// The parts in use, by ascending cells, each with its moves in order.
    fn sorted(&mut self) -> impl Iterator<Item = &OrdinalTally> {
        self.parts[..self.order.len()].iter_mut().for_each(OrdinalTally::sort);
        self.order.iter().map(|&at| &self.parts[at])
    }

    /// Appends the tally in its short form, and clears it.
    fn put(&mut self, out: &mut Vec<u8>) {
        record::put_tally(self.sorted(), out);
        self.order.clear();
    }

    /// The parts minus those of the tally `less`; `None` if `less` counts more games than `self` in
    /// any part.
    fn minus(&self, less: &Cells) -> Option<Vec<OrdinalTally>> {
        let mut left: Vec<OrdinalTally> =
            self.order.iter().map(|&at| self.parts[at].clone()).collect();
        for less in less.order.iter().map(|&at| &less.parts[at]) {
            let place = left.binary_search_by_key(&less.cell, |part| part.cell).ok()?;
            left[place] = left[place].minus(less)?;
        }
        left.retain(|part| part.reached > 0 || !part.moves.is_empty());
        Some(left)
    }
}

/// The games that positions can list, and the maximum number of games of each kind (best rated,
/// latest).
#[derive(Copy, Clone, Debug)]
pub(super) struct Kept<'a> {
    pub(super) limit: u8,
    /// The games by their indices; `None` for a game that cannot be kept.
    pub(super) games: &'a [Option<KeptGame>],
}

/// A place in the games: the index of the game and the ply.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Place {
    pub(super) game: u64,
    pub(super) ply: u16,
}

impl Place {
    pub(super) const START: Place = Place { game: 0, ply: 0 };

    /// Bytes that sort in the order of the places. They are eight, because a sorter compares the first
    /// eight bytes of keys faster than the rest. So the number of games is limited to 2^48.
    pub(super) fn to_bytes(self) -> [u8; Place::LEN] {
        (self.game << 16 | u64::from(self.ply)).to_be_bytes()
    }

    fn from_bytes(bytes: [u8; Place::LEN]) -> Place {
        let bits = u64::from_be_bytes(bytes);
        Place { game: bits >> 16, ply: bits as u16 }
    }

    const LEN: usize = 8;
}

/// Flag in the first byte of a place before a tally: only replaced copies are counted. So the number of
/// games is limited to 2^47.
const ONLY_LESS: u8 = 1 << 7;

impl Sum {
    /// An empty sum that keeps at most `limit` games of each kind; `None` keeps no games.
    pub(super) fn keeping(limit: Option<u8>) -> Sum {
        Sum { limit, ..Sum::default() }
    }

    /// Chooses the games to keep for a position from the games that visited it.
    fn keep(&mut self, visits: &[&Visit], kept: Option<Kept<'_>>) {
        let Some(Kept { limit, games }) = kept else { return };
        let game = |visit: &&Visit| *games.get(visit.game as usize)?;
        self.add_kept(KeptGames::new(limit, visits.iter().filter_map(game).collect()));
    }

    fn add_kept(&mut self, more: Option<KeptGames>) {
        self.kept = match (self.kept.take(), more) {
            (Some(kept), Some(more)) => Some(kept.merged(&more)),
            (kept, more) => kept.or(more),
        };
    }

    /// Appends the games that were kept, and clears them. Appends nothing if the options keep no
    /// games.
    fn put_kept(&mut self, out: &mut Vec<u8>) {
        if self.limit.is_some() {
            let kept = self.kept.take();
            out.push(u8::from(kept.is_some()));
            kept.iter().for_each(|kept| record::put_kept_games(kept, out));
        }
    }

    /// Adds the kept games of a tally, without those that are not kept any more.
    fn add_encoded_kept(&mut self, cursor: &mut Cursor, replaced: &HashSet<GameId>) -> Result<()> {
        if self.limit.is_some() && cursor.int_1()? != 0 {
            let kept = record::take_kept_games(cursor)?;
            self.add_kept(kept.retain(|game| !replaced.contains(&game)));
        }
        Ok(())
    }

    fn visit(
        &mut self,
        visit: &Visit,
        place: Place,
        game: &CountedGame,
    ) -> Result<(), TallyOverflow> {
        self.came(place);
        let facts = &game.facts;
        let cells = if game.is_less { &mut self.less } else { &mut self.counted };
        let part = cells.part(facts.cell);
        part.reached += u64::from(visit.is_first());
        match visit.ordinal() {
            Some(ordinal) => part.add_move(ordinal, &facts.counts(visit.turn())),
            None => Ok(()),
        }
    }

    fn came(&mut self, place: Place) {
        self.first = Some(self.first.map_or(place, |first| first.min(place)));
    }

    pub(super) fn first(&self) -> Place {
        self.first.unwrap_or(Place::START)
    }

    /// Adds the output of [`Tallied::put_with_place`]. Games of `replaced` are not kept.
    pub(super) fn add_encoded(&mut self, bytes: &[u8], replaced: &HashSet<GameId>) -> Result<()> {
        let (place, bytes) = bytes.split_first_chunk().ok_or_else(changed)?;
        let mut place: [u8; Place::LEN] = *place;
        let has_only_less = place[0] & ONLY_LESS != 0;
        place[0] &= !ONLY_LESS;
        self.came(Place::from_bytes(place));
        let mut cursor = Cursor::new(bytes);
        self.add_encoded_kept(&mut cursor, replaced)?;
        if !has_only_less {
            self.counted.add(&record::take_tally(&mut cursor)?).map_err(too_many)?;
        }
        if !cursor.rest().is_empty() {
            self.less.add(&record::take_tally(&mut cursor)?).map_err(too_many)?;
        }
        Ok(())
    }

    /// Subtracts the replaced copies if this sum counts all of them. Otherwise some of the replaced copies
    /// were counted by an earlier import. In this case `less` is kept. It is subtracted when this record is
    /// merged with the record of the earlier import.
    fn subtract_replaced(&mut self) -> Result<()> {
        if self.less.is_empty() {
            return Ok(());
        }
        if let Some(left) = self.counted.minus(&self.less) {
            self.counted.order.clear();
            self.less.order.clear();
            self.counted.add(&left).map_err(too_many)?;
        }
        Ok(())
    }

    /// Appends the tally in its short form, then the tally of the replaced copies if there are any,
    /// and clears both.
    fn put(&mut self, out: &mut Vec<u8>) {
        self.first = None;
        self.counted.put(out);
        if !self.less.is_empty() {
            self.less.put(out);
        }
    }

    /// Appends the record of the position with this board, and clears the sum. Returns false and appends
    /// nothing if no games are left. This happens if replaced copies count the same here as the copies that
    /// replace them, or if only a replaced copy reached the position.
    pub(super) fn put_record(&mut self, board: &[u8], out: &mut Vec<u8>) -> Result<bool> {
        self.subtract_replaced()?;
        self.first = None;
        let start = out.len();
        let kept = self.kept.take();
        if self.counted.is_empty() {
            return Ok(false);
        }
        match kept {
            Some(kept) => {
                record::put_tallied_games(board, &kept, out, |out| self.counted.put(out));
            }
            None => record::put_tallied(board, out, |out| self.counted.put(out)),
        }
        if self.less.is_empty() {
            return Ok(true);
        }
        let mut less = Vec::new();
        record::put_tallied(board, &mut less, |out| self.less.put(out));
        let (mut all, _) = record::decode(&out[start..])?;
        let (less, _) = record::decode(&less)?;
        let operands = less.operands(Opcode::TALLY).unwrap_or_default().to_vec();
        all.set(Operation { opcode: Opcode::TALLY_LESS, operands });
        out.truncate(start);
        record::encode(&all, out)?;
        Ok(true)
    }
}

pub(super) fn too_many(error: TallyOverflow) -> epdb_chess::Error {
    epdb_chess::Error::new(error.to_string())
}

/// The tally of a position whose visits are in memory.
pub(super) enum Tallied<'t> {
    /// One visit and no games to keep, which is the usual case.
    One { visit: &'t Visit, game: &'t CountedGame, place: Place },
    /// Several visits.
    Many(&'t mut Sum),
}

impl Tallied<'_> {
    /// The place of the first visit.
    pub(super) fn place(&self) -> Place {
        match self {
            Tallied::One { place, .. } => *place,
            Tallied::Many(sum) => sum.first(),
        }
    }

    /// Does the same as [`Sum::put_record`].
    pub(super) fn put_record(self, board: &[u8], out: &mut Vec<u8>) -> Result<bool> {
        match self {
            Tallied::One { visit, game, .. } => {
                if visit.is_first()
                    && let Some(board) = visit.plain_board()
                    && let Some(ordinal) = visit.ordinal()
                {
                    let tally = game.lone_tally(visit.turn(), ordinal);
                    record::put_tallied_short(board, &tally, out);
                } else {
                    record::put_tallied(board, out, |out| put_one(visit, game, out));
                }
                Ok(true)
            }
            Tallied::Many(sum) => sum.put_record(board, out),
        }
    }

    /// Appends the bytes that [`Sum::add_encoded`] reads, and clears the tally.
    pub(super) fn put_with_place(self, out: &mut Vec<u8>) {
        match self {
            Tallied::One { visit, game, place } => {
                out.extend_from_slice(&place.to_bytes());
                put_one(visit, game, out);
            }
            Tallied::Many(sum) => {
                let mut place = sum.first().to_bytes();
                if sum.counted.is_empty() {
                    place[0] |= ONLY_LESS;
                }
                out.extend_from_slice(&place);
                sum.put_kept(out);
                sum.put(out);
            }
        }
    }
}

/// Appends the tally of one visit in its short form.
fn put_one(visit: &Visit, game: &CountedGame, out: &mut Vec<u8>) {
    let played = visit.ordinal().map(|ordinal| (ordinal, game.counts(visit.turn())));
    record::put_one_game(&game.facts.cell, visit.is_first().into(), played, out);
}

#[derive(Copy, Clone, Debug)]
pub(super) struct Games<'g> {
    /// Number of games that were counted before these games.
    pub(super) before: u64,
    pub(super) games: &'g [CountedGame],
    pub(super) kept: Option<Kept<'g>>,
    pub(super) visits: &'g [Visits],
    /// Indices of games whose visits do not count.
    pub(super) removed: &'g HashSet<u32>,
}

impl Games<'_> {
    fn place(&self, visit: &Visit) -> Place {
        Place { game: self.before + u64::from(visit.game), ply: visit.ply }
    }

    fn get(&self, visit: &Visit) -> &CountedGame {
        &self.games[visit.game as usize]
    }
}

/// Number of visits to prefetch.
const AHEAD: usize = 8;

/// Calls `visit_position` with the key, the board and the tally of each position in a part of the
/// visits. The keys ascend; positions with the same key are sorted by their boards.
pub(super) fn each_position(
    part: &[Part],
    games: Games<'_>,
    visit_position: &mut impl FnMut(u64, &[u8], Tallied<'_>) -> Result<()>,
) -> Result<()> {
    let mut sum = Sum::keeping(games.kept.map(|kept| kept.limit));
    let mut order = by_key(part);
    if !games.removed.is_empty() {
        order.retain(|(_, visit)| !games.removed.contains(&visit.game));
    }
    let mut same_key = Vec::new();
    let [mut far, mut near] = [2 * AHEAD, AHEAD].map(|ahead| order.iter().skip(ahead));
    for places in order.chunk_by(|a, b| a.0 == b.0) {
        far.by_ref().take(places.len()).for_each(|(_, visit)| visit.ask_for());
        near.by_ref()
            .take(places.len())
            .for_each(|(_, visit)| games.get(visit).ask_for(visit.turn()));
        // A game that is subtracted may be the only one of its batch at a position.
        if let &[(key, visit)] = places
            && games.kept.is_none()
            && !games.get(visit).is_less
        {
            let game = games.get(visit);
            let place = games.place(visit);
            visit_position(key, visit.board(games.visits), Tallied::One { visit, game, place })?;
            continue;
        }
        same_key.clear();
        same_key.extend(places.iter().map(|&(_, visit)| visit));
        let long = |place| long_board(games.visits, place);
        let is_same = |a: &&Visit, b: &&Visit| a.is_of_board(b, long);
        if !same_key.iter().all(|visit| is_same(visit, &same_key[0])) {
            same_key.sort_by_key(|visit| visit.board(games.visits));
        }
        for same in same_key.chunk_by(is_same) {
            for visit in same {
                sum.visit(visit, games.place(visit), games.get(visit)).map_err(too_many)?;
            }
            sum.keep(same, games.kept);
            visit_position(same[0].key, same[0].board(games.visits), Tallied::Many(&mut sum))?;
        }
    }
    Ok(())
}

/// The visits of a part with their keys, by ascending keys.
fn by_key(part: &[Part]) -> Vec<(u64, &Visit)> {
    let len = part.iter().map(Part::len).sum();
    let all = || part.iter().flat_map(Part::iter);
    // About one bucket per visit, so that most buckets have one or two visits.
    let bits = (usize::BITS - usize::leading_zeros(len)).clamp(1, u64::BITS - 1 - PART_BITS);
    let bucket = |visit: &Visit| (visit.key << PART_BITS >> (u64::BITS - bits)) as usize;
    let mut ends = vec![0_u32; 1 << bits];
    all().for_each(|visit| ends[bucket(visit)] += 1);
    let mut before = 0;
    for end in &mut ends {
        let count = *end;
        *end = before;
        before += count;
    }
    let Some(any) = all().next() else { return Vec::new() };
    let mut order = vec![(0, any); len];
    for visit in all() {
        let place = &mut ends[bucket(visit)];
        order[*place as usize] = (visit.key, visit);
        *place += 1;
    }
    let mut start = 0;
    for end in ends {
        if end - start > 1 {
            order[start as usize..end as usize].sort_unstable_by_key(|(key, _)| *key);
        }
        start = end;
    }
    order
}
