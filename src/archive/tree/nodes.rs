//! The nodes of a model, in a hash table. The hash comes from the values of contexts.
// The children of a node share a region of the table. A hash of 31 bits, shifted according to the
// size of the region, is the number of the pair in which a child should be. So a step from parent
// to child reads one pair of places, usually one cache line. A sorted list of children would need a
// binary search with branches that the processor cannot predict.

use super::symbol_tables::NodeSymbols;
use std::hint::select_unpredictable;

/// Parent of the outermost node of a column.
pub(super) const NO_NODE: u32 = u32::MAX;
/// Value for a node without a context. It differs from those of contexts, which have fewer bits.
pub(super) const NO_CONTEXT: u32 = u32::MAX;

/// The symbols that are frequent in a context. The escape to the parent may be one of them.
#[derive(Copy, Clone, Debug)]
pub(super) struct Node {
    pub(super) parent: u32,
    pub(super) symbols: NodeSymbols,
}

/// The region of the hash table with the children of a node. The highest bits are the number of the
/// region's first pair. Below them is the flag [`Children::PASSED`]. The lowest five bits are a
/// shift. A hash of 31 bits is shifted to the right by this number; the result is the number of a
/// pair in the region.
#[derive(Copy, Clone, Debug)]
struct Children(u32);

impl Children {
    /// An empty region. It is the first pair of the table, which never has nodes.
    const NONE: Children = Children::new(0, 1);
    /// Set in a pair if a child found both places of the pair taken and is in a later pair.
    const PASSED: u32 = 1 << 5;

    const fn new(first: usize, pairs: usize) -> Children {
        Children((first as u32) << 6 | (31 - pairs.trailing_zeros()))
    }

    const fn first(self) -> usize {
        (self.0 >> 6) as usize
    }

    const fn shift(self) -> u32 {
        self.0 & 31
    }

    /// The pair in which the child with this context should be.
    const fn home(self, context: u32) -> usize {
        let hash = context.wrapping_mul(0x9e37_79b9) >> 1;
        self.first() + (hash >> self.shift()) as usize
    }

    /// The pair that is tried after a pair.
    const fn after(self, pair: usize) -> usize {
        self.first() + (pair + 1 - self.first()) % (1 << (31 - self.shift()))
    }
}

/// The part of a node that is read in a search for one of its children. It is small, so that more
/// nodes fit into the cache.
#[derive(Copy, Clone, Debug)]
struct Place {
    /// Value of the last context.
    context: u32,
    /// The children of the node. If this place is the first of a pair, the flag
    /// [`Children::PASSED`] in it applies to the whole pair.
    children: Children,
}

const EMPTY: Place = Place { context: NO_CONTEXT, children: Children::NONE };

/// Two places, side by side in memory.
#[derive(Copy, Clone, Debug)]
#[repr(align(16))]
struct Pair([Place; 2]);

impl Pair {
    const fn was_passed(&self) -> bool {
        self.0[0].children.0 & Children::PASSED != 0
    }
}

/// The path from the root of a column to the last node that matches the contexts so far.
#[derive(Copy, Clone, Debug)]
pub(super) struct Path {
    /// Place of the last node that matches the contexts so far.
    pub(super) longest: u32,
    /// Children of the last node that matches; none if the last step found no node.
    children: Children,
}

impl Path {
    /// Steps to the node for the next context. If there is no such node, `longest` stays, and later
    /// steps find nothing. Later contexts are examined even then, so that there is no unpredictable
    /// branch.
    #[inline]
    pub(super) fn step(&mut self, nodes: &Nodes, context: u32) {
        let home = self.children.home(context);
        let pair = &nodes.pairs[home];
        let (mut place, mut children) = in_pair(home, pair, context);
        if (place == 0) & pair.was_passed() {
            (place, children) = nodes.elsewhere(self.children, home, context);
        }
        self.longest = select_unpredictable(place == 0, self.longest, place);
        self.children = children;
    }
}

/// Returns the place of the node with this context in a pair, and the children of the node. The
/// place is 0 if the pair has no such node.
fn in_pair(number: usize, pair: &Pair, context: u32) -> (u32, Children) {
    let [first, second] = &pair.0;
    let is_first = first.context == context;
    let is_second = second.context == context;
    let in_first = select_unpredictable(is_first, first.children.0, Children::NONE.0);
    let place = 2 * number as u32 + u32::from(is_second);
    (
        select_unpredictable(is_first | is_second, place, 0),
        Children(select_unpredictable(is_second, second.children.0, in_first)),
    )
}

/// Hash table of nodes. A node is in the region of the children of its parent, by the hash of its
/// context. The first pair is empty, so place 0 means a missing node.
#[derive(Debug)]
pub(super) struct Nodes {
    pairs: Vec<Pair>,
    symbols: Vec<NodeSymbols>,
    parents: Vec<u32>,
}

impl Nodes {
    /// Builds the table from nodes, each with the value of its last context. Parents come before
    /// their children. Returns the place of each node.
    pub(super) fn arrange(nodes: &[(u32, Node)]) -> (Nodes, Vec<u32>) {
        let mut children = vec![0_usize; nodes.len()];
        for (_, node) in nodes.iter().filter(|&&(context, _)| context != NO_CONTEXT) {
            children[node.parent as usize] += 1;
        }
        let mut arranged = Nodes { pairs: Vec::new(), symbols: Vec::new(), parents: Vec::new() };
        arranged.push_pairs(1);
        let mut places: Vec<u32> = Vec::with_capacity(nodes.len());
        for (&(context, node), children) in nodes.iter().zip(children) {
            let parent = places.get(node.parent as usize).copied().unwrap_or(NO_NODE);
            let place = match context {
                NO_CONTEXT => 2 * arranged.push_pairs(1) as u32,
                _ => arranged.free(parent, context),
            };
            arranged.parents[place as usize] = parent;
            arranged.symbols[place as usize] = node.symbols;
            arranged.place_mut(place).context = context;
            if children > 0 {
                // At most half of the places are taken.
                let pairs = children.next_power_of_two();
                let first = arranged.push_pairs(pairs);
                arranged.place_mut(place).children = Children::new(first, pairs);
            }
            places.push(place);
        }
        (arranged, places)
    }

    /// Appends empty pairs, and returns the number of the first one.
    fn push_pairs(&mut self, count: usize) -> usize {
        let first = self.pairs.len();
        self.pairs.resize(first + count, Pair([EMPTY; 2]));
        self.symbols.resize(2 * self.pairs.len(), NodeSymbols::NONE);
        self.parents.resize(2 * self.pairs.len(), NO_NODE);
        first
    }

    fn place_mut(&mut self, place: u32) -> &mut Place {
        &mut self.pairs[place as usize / 2].0[place as usize % 2]
    }

    #[inline]
    pub(super) fn symbols(&self, place: u32) -> NodeSymbols {
        self.symbols[place as usize]
    }

    pub(super) fn parent(&self, place: u32) -> u32 {
        self.parents[place as usize]
    }

    /// The path that begins with the node at a place.
    pub(super) fn path(&self, place: u32) -> Path {
        let Place { children, .. } = self.pairs[place as usize / 2].0[place as usize % 2];
        Path { longest: place, children }
    }

    pub(super) fn each(&self) -> impl Iterator<Item = (u32, NodeSymbols)> {
        (0..).zip(self.symbols.iter().copied()).filter(|(_, symbols)| !symbols.is_none())
    }

    /// Searches for a child outside of its home pair. Returns its place (0 if none) and children.
    #[cold]
    fn elsewhere(&self, children: Children, home: usize, context: u32) -> (u32, Children) {
        let mut number = home;
        loop {
            number = children.after(number);
            let pair = &self.pairs[number];
            let found = in_pair(number, pair, context);
            if found.0 != 0 || !pair.was_passed() || number == home {
                return found;
            }
        }
    }

    /// Finds a free place for a child with this context. A free place exists, because at least half
    /// of the places of the region are free.
    fn free(&mut self, parent: u32, context: u32) -> u32 {
        let Path { children, .. } = self.path(parent);
        let mut number = children.home(context);
        loop {
            for place in [2 * number as u32, 2 * number as u32 + 1] {
                if self.symbols(place).is_none() {
                    return place;
                }
            }
            self.pairs[number].0[0].children.0 |= Children::PASSED;
            number = children.after(number);
        }
    }
}
