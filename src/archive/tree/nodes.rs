//! The nodes of a model, found by their contexts.

use std::hint::select_unpredictable;

/// The parent of a column's outermost node.
pub(super) const NO_NODE: u32 = u32::MAX;
/// The context of a node that is not under one. Contexts have fewer bits.
pub(super) const NO_CONTEXT: u32 = u32::MAX;

/// The symbols that are frequent in a context; the escape to the parent is one of them.
#[derive(Copy, Clone, Debug)]
#[repr(align(32))]
pub(super) struct Node {
    /// The value of the last context.
    context: u32,
    pub(super) parent: u32,
    /// The first chunk of the symbols.
    pub(super) first: u32,
    /// Where the jumps of the node begin, and how far a slot is shifted for its place there.
    pub(super) jump: u32,
    pub(super) jump_shift: u8,
    /// How far the hash of a context is shifted for its place among the children.
    child_shift: u8,
    /// Whether a child found this place and its neighbour taken.
    was_passed: bool,
    /// Where the children begin.
    children: u32,
}

impl Node {
    pub(super) const fn new(context: u32, parent: u32, first: u32, jump: u32, shift: u8) -> Node {
        Node {
            context,
            parent,
            first,
            jump,
            jump_shift: shift,
            child_shift: 31,
            was_passed: false,
            children: 0,
        }
    }

    /// The first of the two places where the hash of a context leads.
    const fn home(&self, context: u32) -> usize {
        let hash = context.wrapping_mul(0x9e37_79b9) >> 1;
        (self.children + (hash >> self.child_shift) * 2) as usize
    }
}

/// The first chunk of a place without a node.
const NO_CHUNK: u32 = u32::MAX;
const NONE: Node = Node::new(NO_CONTEXT, NO_NODE, NO_CHUNK, 0, 0);

/// The path from the root of a column to the node of the longest path of contexts there is.
#[derive(Copy, Clone, Debug)]
pub(super) struct Path {
    pub(super) longest: u32,
    next: u32,
}

impl Path {
    pub(super) const fn at(root: u32) -> Path {
        Path { longest: root, next: root }
    }

    /// Goes on to the node for the next context. All contexts are looked at in any case, so that
    /// nothing has to be guessed.
    pub(super) fn step(&mut self, nodes: &Nodes, context: u32) {
        self.next = nodes.child(nodes.get(self.next), context);
        self.longest = select_unpredictable(self.next == 0, self.longest, self.next);
    }
}

/// Nodes at the places where the hash of their context puts them among the children of their
/// parent. Two places make a pair, side by side in memory. The first pair is empty: place 0 says
/// that there is no such node.
#[derive(Debug)]
pub(super) struct Nodes(Vec<Node>);

impl Nodes {
    /// Arranges nodes, each behind its parent, and says the place of each.
    pub(super) fn arrange(nodes: &[Node]) -> (Nodes, Vec<u32>) {
        let mut children = vec![0_usize; nodes.len()];
        for node in nodes.iter().filter(|node| node.context != NO_CONTEXT) {
            children[node.parent as usize] += 1;
        }
        let mut arranged = Nodes(vec![NONE; 2]);
        let mut places: Vec<u32> = Vec::with_capacity(nodes.len());
        for (node, children) in nodes.iter().zip(children) {
            let parent = places.get(node.parent as usize).copied().unwrap_or(NO_NODE);
            let place = match node.context {
                NO_CONTEXT => arranged.push_pairs(1),
                context => arranged.free(parent, context),
            };
            let mut node = Node { parent, ..*node };
            if children > 0 {
                // At most half of the places are taken.
                let pairs = children.next_power_of_two();
                node.children = arranged.push_pairs(pairs);
                node.child_shift -= pairs.trailing_zeros() as u8;
            }
            arranged.0[place as usize] = node;
            places.push(place);
        }
        (arranged, places)
    }

    /// Appends empty pairs and says where they begin.
    fn push_pairs(&mut self, count: usize) -> u32 {
        let first = self.0.len();
        self.0.resize(first + 2 * count, NONE);
        first as u32
    }

    pub(super) fn get(&self, place: u32) -> &Node {
        &self.0[place as usize]
    }

    /// All nodes with their places.
    pub(super) fn each(&self) -> impl Iterator<Item = (u32, &Node)> {
        (0..).zip(&self.0).filter(|(_, node)| node.first != NO_CHUNK)
    }

    /// The place of the child of a node for a context, or 0.
    fn child(&self, node: &Node, context: u32) -> u32 {
        let home = node.home(context);
        let place = self.in_pair(home, context);
        if (place == 0) & self.0[home].was_passed {
            return self.child_elsewhere(node, home, context);
        }
        place
    }

    /// The place of a node with this context in a pair, or 0.
    fn in_pair(&self, pair: usize, context: u32) -> u32 {
        let is_at = |place: usize, other| {
            select_unpredictable(self.0[place].context == context, place as u32, other)
        };
        is_at(pair + 1, is_at(pair, 0))
    }

    #[cold]
    fn child_elsewhere(&self, node: &Node, home: usize, context: u32) -> u32 {
        let mut pair = home;
        loop {
            pair = next_pair(node, pair);
            let place = self.in_pair(pair, context);
            if place != 0 || !self.0[pair].was_passed || pair == home {
                return place;
            }
        }
    }

    /// The place where a child for this context is put. There is one: more than half of the
    /// places are free.
    fn free(&mut self, parent: u32, context: u32) -> u32 {
        let node = *self.get(parent);
        let mut pair = node.home(context);
        loop {
            for place in [pair, pair + 1] {
                if self.0[place].first == NO_CHUNK {
                    return place as u32;
                }
            }
            self.0[pair].was_passed = true;
            pair = next_pair(&node, pair);
        }
    }
}

/// The pair that is tried after another.
fn next_pair(node: &Node, pair: usize) -> usize {
    let len = 2_usize << (31 - node.child_shift);
    let first = node.children as usize;
    first + (pair + 2 - first) % len
}
