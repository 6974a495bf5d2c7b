//! The specification of a model, before it is written or used.

use std::cmp::Reverse;

use super::context::{Context, ESCAPE};
use super::prediction::MODES;
use super::spelling::Counts;
use crate::adaptive::{decode_count, encode_count};
use crate::columns::is_rank;
use crate::rans::{Interval, normalise};

/// Maximum number of values of a dictionary.
pub(super) const MAX_DICTIONARY: usize = 8192;
/// Maximum number of symbols in the lists of all nodes of a column.
pub(super) const MAX_LISTED: usize = 1 << 20;

#[derive(Debug, Default)]
pub(crate) struct ModelSpec {
    pub(super) mirrors: bool,
    pub(super) columns: Vec<TreeSpec>,
    /// Counts for spelling the ranks that are in no dictionary.
    pub(super) spelled: Counts,
    /// Number of rows in each prediction mode; `None` if rows are not predicted.
    pub(super) modes: Option<[u32; MODES]>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct TreeSpec {
    pub(super) contexts: Vec<Context>,
    pub(super) dictionary: Vec<u32>,
    /// Number of values in each class of frequency.
    pub(super) class_lens: Vec<u32>,
    /// The nodes, each before its children.
    pub(super) nodes: Vec<NodeSpec>,
}

/// A node. Node 0 has the whole dictionary; node 1, the root, has the symbols that are frequent in
/// any context.
#[derive(Clone, Debug, Default)]
pub(super) struct NodeSpec {
    pub(super) parent: u32,
    /// Value of the context by which the node is chosen below its parent.
    pub(super) context: u32,
    /// Symbols, each with the number of times that it was coded in this node.
    pub(super) list: Vec<(u16, u32)>,
    /// Number of times that a symbol was not in the list, so that the parent coded it.
    pub(super) escapes: u32,
}

impl ModelSpec {
    /// Rounds the counts outside of the trees to counts that the file can store.
    pub(super) fn round_counts(&mut self) {
        self.spelled.round();
        self.modes.iter_mut().flatten().for_each(round_count);
    }
}

fn round_count(count: &mut u32) {
    *count = decode_count(encode_count(*count));
}

impl NodeSpec {
    /// Counts of the symbols, then of the escape.
    pub(super) fn usage(&self) -> Vec<u32> {
        self.list.iter().map(|&(_, count)| count).chain([self.escapes]).collect()
    }

    /// The symbols with their intervals, the most frequent first and the escape last.
    pub(super) fn intervals(&self) -> impl ExactSizeIterator<Item = (u16, Interval)> {
        let mut list = Vec::with_capacity(self.list.len() + 1);
        list.extend_from_slice(&self.list);
        list.sort_by_key(|&(_, count)| Reverse(count));
        if self.escapes > 0 || list.is_empty() {
            list.push((ESCAPE, self.escapes.max(1)));
        }
        let counts: Vec<u32> = list.iter().map(|&(_, count)| count).collect();
        let mut start = 0;
        list.into_iter().zip(normalise(&counts)).map(move |((symbol, _), freq)| {
            let interval = Interval { start, freq };
            start += freq;
            (symbol, interval)
        })
    }
}

impl TreeSpec {
    /// Drops symbols and nodes that code nothing, and rounds counts to counts that the file can
    /// store. Returns the new index of each node. For a dropped node, this is the index of the
    /// ancestor that replaces it.
    pub(super) fn prune_and_round(&mut self) -> Vec<u32> {
        let mut is_used = vec![false; self.nodes.len()];
        for place in (0..self.nodes.len()).rev() {
            let node = &mut self.nodes[place];
            node.list.retain(|&(_, count)| count > 0);
            node.list.sort_unstable();
            node.list.iter_mut().for_each(|(_, count)| *count = rounded(*count));
            round_count(&mut node.escapes);
            if is_used[place] || place == 0 || !node.list.is_empty() {
                is_used[place] = true;
                is_used[node.parent as usize] = true;
            }
        }
        let mut new_place = vec![0; self.nodes.len()];
        let mut nodes: Vec<NodeSpec> = Vec::with_capacity(self.nodes.len());
        for (place, mut node) in std::mem::take(&mut self.nodes).into_iter().enumerate() {
            node.parent = new_place[node.parent as usize];
            new_place[place] = node.parent;
            if is_used[place] {
                new_place[place] = nodes.len() as u32;
                nodes.push(node);
            }
        }
        self.nodes = nodes;
        new_place
    }
}

/// Rounds a count to a count that the file can store. 5 and 7 become 4 and 6, to save bits.
fn rounded(count: u32) -> u32 {
    match count {
        5 | 7 => count - 1,
        _ => decode_count(encode_count(count)),
    }
}

/// Sort key of a value. In the key of a rank, the a-file is the highest digit.
pub(super) fn ordered(column: usize, value: u32) -> u32 {
    if !is_rank(column) {
        return value;
    }
    let turned = value.swap_bytes();
    (turned >> 4 & 0x0f0f_0f0f) | (turned & 0x0f0f_0f0f) << 4
}
