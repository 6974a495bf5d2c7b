//! Books made of repertoires.

use std::collections::{BTreeMap, BTreeSet};

use crate::codec::key::polyglot_key;
use crate::codec::polyglot::{BookMove, Entry};
use crate::library::repertoire::{Node, Repertoire};
use crate::model::Color;
use crate::model::rules::after;

/// The entries of all positions in which a side is to move, in the order of a book: its candidates, of
/// which the first weighs 2 and any other 1; where they are `uniform`, all weigh 1.
///
/// Polyglot tells positions apart by en passant squares on which no capture is legal, so one position
/// may have several keys here.
pub fn repertoire_entries(repertoire: &Repertoire, side: Color, uniform: bool) -> Vec<Entry> {
    let mut entries = Vec::new();
    let own = repertoire.nodes().filter(|node| repertoire.is_turn_of(side, *node));
    let arrivals = keys_of_arrivals(repertoire);
    for node in own {
        let by_itself = BTreeSet::from([polyglot_key(&repertoire.place(node).position)]);
        for &key in arrivals.get(&node).unwrap_or(&by_itself) {
            for (place, branch) in repertoire.candidates(node).enumerate() {
                let weight = if place == 0 && !uniform { 2 } else { 1 };
                entries.push(Entry { key, mv: BookMove::from(branch.mv), weight, learn: 0 });
            }
        }
    }
    entries.sort_by(Entry::book_order);
    entries
}

/// The keys of each position as moves lead to it.
fn keys_of_arrivals(repertoire: &Repertoire) -> BTreeMap<Node, BTreeSet<u64>> {
    let mut keys: BTreeMap<Node, BTreeSet<u64>> = BTreeMap::new();
    for node in repertoire.nodes() {
        let place = repertoire.place(node);
        for branch in &place.branches {
            let key = polyglot_key(&after(&place.position, branch.mv));
            keys.entry(branch.to).or_default().insert(key);
        }
    }
    keys
}
