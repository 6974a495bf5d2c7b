//! The symbols that are possible in a node. The contexts of the node tell some pieces on other
//! ranks. A rank is not possible if, together with these pieces, there would be more pieces of a
//! kind than in the initial array, or two pawns of a colour on a file. Such ranks are rarely in the
//! list of the node.
// The possible symbols of a node are numbered first, which makes the gaps between the symbols of
// its list short, so that the list takes fewer bits. This saved 3 to 7 % of opening books, together
// with dictionaries by facing ranks, orders of records as differences, and blocks of 128 records.

use super::context::Context::{
    self, BackRank, BothPawns, BothPieces, Column, Material, Pawns, Pieces,
};
use super::context::{Gain, PIECE_BITS};
use std::array::from_fn;

/// Number of kinds of pieces.
const KINDS: usize = 5;
/// Number of knights, bishops, rooks, queens and kings of a side in the initial array.
const INITIAL: [u32; KINDS] = [2, 2, 2, 1, 1];

/// The pieces on the board that are known from the contexts of a node.
#[derive(Copy, Clone, Default, PartialEq, Eq)]
pub(super) struct Known {
    /// Pieces of each side, if a context has the pieces of all ranks coded so far.
    pieces: [Option<u32>; 2],
    /// Pieces of each side on the ranks that are contexts themselves.
    of_ranks: [u32; 2],
    pawns: u16,
}

impl Known {
    /// Adds a context and its value. `gain` has the pieces of the rank, if the context is a rank
    /// with a symbol.
    pub(super) fn add(&mut self, context: Context, value: u32, gain: Option<Gain>) {
        let low = (1 << PIECE_BITS) - 1;
        match context {
            Column(_) => {
                let gain = gain.unwrap_or_default();
                self.pawns |= gain.pawns;
                for (all, more) in self.of_ranks.iter_mut().zip(gain.counts) {
                    *all += u32::from(more);
                }
            }
            Pieces(side) => self.pieces[side as usize] = Some(value),
            Pawns(side) => self.pawns |= (value as u16 & 0xff) << (8 * side as u16),
            Material(side) => {
                self.pieces[side as usize] = Some(value >> 8);
                self.pawns |= (value as u16 & 0xff) << (8 * side as u16);
            }
            BothPawns => self.pawns |= value as u16,
            BothPieces => self.pieces = [Some(value >> PIECE_BITS), Some(value & low)],
            BackRank(_) => {}
        }
    }

    fn pieces(&self, side: usize) -> u32 {
        self.pieces[side].unwrap_or(self.of_ranks[side])
    }
}

/// Number of pieces of a kind in packed counts, which have three bits for each kind.
const fn digit(pieces: u32, kind: usize) -> u32 {
    pieces >> (3 * kind) & 7
}

/// Set of symbols, a bit each.
type Set = Vec<u64>;

/// Number of needs that a symbol can have. For each side and kind: more than zero, more than one,
/// more than two pieces. For each side and file: no other pawn on the file.
const NEEDS: usize = PAWNS + 16;
/// The first need of pawns.
const PAWNS: usize = 2 * KINDS * 3;

/// Number of the need "more than `count` pieces".
const fn more(side: usize, kind: usize, count: usize) -> usize {
    (side * KINDS + kind) * 3 + count
}

/// The symbols of a rank column, by their needs.
pub(super) struct Needs {
    symbols: usize,
    /// For each word of 64 symbols and each need: the symbols that have the need.
    words: Vec<[u64; NEEDS]>,
}

impl Needs {
    /// Makes the needs of the symbols of a column; `gains` are the pieces of each symbol.
    pub(super) fn new(gains: impl ExactSizeIterator<Item = Gain>) -> Needs {
        let symbols = gains.len();
        let mut words = vec![[0; NEEDS]; symbols.div_ceil(64)];
        for (symbol, gain) in gains.enumerate() {
            let (word, bit) = (&mut words[symbol / 64], 1 << (symbol % 64));
            for (side, count) in gain.counts.into_iter().enumerate() {
                for kind in 0..KINDS {
                    let above = digit(count.into(), kind).min(3) as usize;
                    (0..above).for_each(|count| word[more(side, kind, count)] |= bit);
                }
            }
            let pawns = word[PAWNS..].iter_mut().enumerate();
            pawns.for_each(|(file, set)| *set |= bit * u64::from(gain.pawns >> file & 1));
        }
        Needs { symbols, words }
    }

    /// Returns the order of symbols in a node: the possible ones, then the others.
    pub(super) fn order(&self, known: &Known) -> SymbolOrder {
        let room =
            |side, kind: usize| INITIAL[kind].saturating_sub(digit(known.pieces(side), kind));
        let unmet: [[usize; KINDS]; 2] =
            from_fn(|side| from_fn(|kind| more(side, kind, room(side, kind) as usize)));
        let any = |word: &[u64; NEEDS]| {
            let pieces = unmet.iter().flatten().fold(0, |any, &need| any | word[need]);
            let pawns = word[PAWNS..].iter().enumerate();
            let pawns = pawns.filter(|(file, _)| known.pawns >> file & 1 != 0);
            pawns.fold(pieces, |any, (_, set)| any | set)
        };
        let others = self.words.iter().map(any).collect();
        SymbolOrder::new(self.symbols, others)
    }
}

/// The symbols of a column in the order that they have in a node.
pub(super) struct SymbolOrder {
    symbols: usize,
    /// Number of possible symbols.
    possible: usize,
    /// The symbols that are not possible.
    others: Set,
}

impl SymbolOrder {
    fn new(symbols: usize, others: Set) -> SymbolOrder {
        let count: u32 = others.iter().map(|word| word.count_ones()).sum();
        SymbolOrder { symbols, possible: symbols - count as usize, others }
    }

    /// The order in which all symbols are possible.
    pub(super) fn all(symbols: usize) -> SymbolOrder {
        SymbolOrder::new(symbols, vec![0; symbols.div_ceil(64)])
    }

    pub(super) const fn possible(&self) -> usize {
        self.possible
    }

    pub(super) fn is_possible(&self, symbol: u16) -> bool {
        let symbol = usize::from(symbol);
        self.others.get(symbol / 64).is_some_and(|word| word >> (symbol % 64) & 1 == 0)
    }

    /// Returns the places of some symbols in this order, ascending.
    pub(super) fn places(&self, symbols: impl Iterator<Item = u16>) -> Vec<usize> {
        let place = |symbol: u16| {
            let (word, bit) = (usize::from(symbol) / 64, usize::from(symbol) % 64);
            let before = |count: u32, word: &u64| count + word.count_ones();
            let others = self.others[..word].iter().fold(0, before)
                + (self.others[word] & ((1 << bit) - 1)).count_ones();
            match self.is_possible(symbol) {
                true => usize::from(symbol) - others as usize,
                false => self.possible + others as usize,
            }
        };
        let mut places: Vec<usize> = symbols.map(place).collect();
        places.sort_unstable();
        places
    }

    /// Begins a walk that finds the symbols at ascending places.
    pub(super) fn walk(&self) -> SymbolWalk<'_> {
        SymbolWalk::new(self, true)
    }
}

/// Forward walk through a [`SymbolOrder`].
pub(super) struct SymbolWalk<'a> {
    order: &'a SymbolOrder,
    /// True while the walk goes through the possible symbols.
    is_possible: bool,
    word: usize,
    /// Symbols of the current word that were not passed yet.
    left: u64,
    /// Number of symbols before `left` in the order.
    before: usize,
}

impl<'a> SymbolWalk<'a> {
    /// Begins a walk at the first of the possible symbols, or at the first of the others.
    fn new(order: &'a SymbolOrder, is_possible: bool) -> SymbolWalk<'a> {
        let before = if is_possible { 0 } else { order.possible };
        let mut walk = SymbolWalk { order, is_possible, word: 0, left: 0, before };
        walk.left = walk.symbols().unwrap_or(0);
        walk
    }

    /// The symbol at a place. Places must not descend from call to call.
    pub(super) fn at(&mut self, place: usize) -> Option<u16> {
        if place >= self.order.symbols {
            return None;
        }
        if self.is_possible && place >= self.order.possible {
            *self = SymbolWalk::new(self.order, false);
        }
        loop {
            let count = self.left.count_ones() as usize;
            if place - self.before < count {
                (self.before..place).for_each(|_| self.left &= self.left - 1);
                self.before = place;
                return Some((self.word * 64) as u16 + self.left.trailing_zeros() as u16);
            }
            self.before += count;
            self.word += 1;
            self.left = self.symbols()?;
        }
    }

    /// Symbols of the current word that belong to this part of the walk.
    fn symbols(&self) -> Option<u64> {
        let others = *self.order.others.get(self.word)?;
        let all = match self.order.symbols - 64 * self.word {
            left @ 0..64 => (1 << left) - 1,
            _ => u64::MAX,
        };
        Some(if self.is_possible { !others & all } else { others })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::tree::context::Side::{Black, White};

    #[test]
    fn symbols_that_need_more_than_there_is_come_last() {
        let values = [0, 0x2, 0x22, 0x1, 0x10, 0x5, 0x7, 0x8];
        let needs = Needs::new(values.iter().map(|&value| Gain::from_rank(value)));
        let order = |known: &Known| {
            let order = needs.order(known);
            let mut walk = order.walk();
            let symbols: Vec<u16> = (0..values.len()).filter_map(|place| walk.at(place)).collect();
            assert_eq!(order.walk().at(values.len()), None);
            assert_eq!(
                order.places(0..symbols.len() as u16),
                (0..symbols.len()).collect::<Vec<_>>()
            );
            for (place, &symbol) in symbols.iter().enumerate() {
                assert_eq!(order.walk().at(place), Some(symbol));
                assert_eq!(order.is_possible(symbol), place < order.possible());
            }
            symbols
        };
        let mut known = Known::default();
        assert_eq!(order(&known), [0, 1, 2, 3, 4, 5, 6, 7]);
        known.add(Column(2), 7, Some(Gain::from_rank(0x52)));
        assert_eq!(order(&known), [0, 1, 3, 4, 6, 7, 2, 5]);
        known.add(Pawns(White), 1, None);
        assert_eq!(order(&known), [0, 1, 4, 6, 7, 2, 3, 5]);
        known.add(Material(Black), 2 << 8 | 1, None);
        assert_eq!(order(&known), [0, 1, 4, 2, 3, 5, 6, 7]);
        known.add(BothPieces, 2 << PIECE_BITS, None);
        assert_eq!(order(&known), [0, 4, 5, 7, 1, 2, 3, 6]);
    }
}
