//! Entries in memory that are found by their keys.

use std::hint::black_box;

/// So many entries stand together, so that growing copies few of them and they can be let go of bit by
/// bit.
const GROUP: usize = 1 << 13;

/// The number of an entry, in the order in which entries came.
pub(super) type Number = u32;

/// The number of no entry.
const NONE: Number = Number::MAX;

/// Entries in the order in which they came. Those of one key form a ring in that order, which is
/// found by the key.
///
/// What the key of an entry is, whoever keeps entries knows.
#[derive(Debug)]
pub(super) struct ByKey {
    /// All but the last one are full.
    groups: Vec<Group>,
    /// The last entry of each ring, where the hash of its key or the next free place behind it says.
    slots: Vec<Slot>,
    rings: usize,
    memory: usize,
    /// What the full groups take of it.
    full_groups: usize,
}

/// The hash stands beside the number, so that memory is touched once for most keys.
#[derive(Copy, Clone, Debug)]
struct Slot {
    hash: u32,
    last: Number,
}

const FREE: Slot = Slot { hash: 0, last: NONE };

/// Entries one behind the other.
#[derive(Debug, Default)]
struct Group {
    bytes: Vec<u8>,
    entries: Vec<Entry>,
}

#[derive(Copy, Clone, Debug)]
struct Entry {
    /// Where it ends among the bytes of its group.
    end: u32,
    /// The next entry of the ring: behind the last one the first, alone the entry itself; none for an
    /// entry that was struck out.
    next: Number,
}

impl Group {
    /// An empty one that is about as long as this one.
    fn like(&self) -> Group {
        Group { bytes: Vec::with_capacity(self.bytes.len()), entries: Vec::with_capacity(GROUP) }
    }

    const fn memory_used(&self) -> usize {
        self.bytes.capacity() + self.entries.capacity() * size_of::<Entry>()
    }
}

/// Where an entry of a key would stand.
#[derive(Copy, Clone, Debug)]
pub(super) struct Place {
    hash: u32,
    slot: usize,
    /// The last entry of the key, if there is one.
    pub(super) last: Option<Number>,
}

impl ByKey {
    /// So many keys are looked for together.
    pub(super) const TOGETHER: usize = 64;

    /// No entries, which will take no more than about `memory` bytes.
    pub(super) fn new(memory: usize) -> ByKey {
        let groups = vec![Group::default()];
        ByKey { groups, slots: vec![FREE; 64], rings: 0, memory, full_groups: 0 }
    }

    /// The number of entries.
    pub(super) fn len(&self) -> usize {
        GROUP * (self.groups.len() - 1) + self.last_group().entries.len()
    }

    fn last_group(&self) -> &Group {
        &self.groups[self.groups.len() - 1]
    }

    /// The bytes of memory that all of it takes.
    pub(super) fn memory_used(&self) -> usize {
        let groups = self.full_groups + self.last_group().memory_used();
        groups + self.slots.len() * size_of::<Slot>()
    }

    /// Whether so many entries more, of so many bytes together, fit the memory.
    pub(super) fn has_room(&self, entries: usize, bytes: usize) -> bool {
        // A list that is full grows to twice its length, and is there twice for a while.
        let last = 3 * (self.last_group().bytes.len() + bytes);
        let grows = 4 * (self.rings + entries) > 3 * self.slots.len();
        let slots = if grows { 3 } else { 1 } * size_of::<Slot>() * self.slots.len();
        let entries_end = self.len() + entries;
        let entries = size_of::<Entry>() * (entries + GROUP);
        self.full_groups + last + entries + slots < self.memory
            && last < u32::MAX as usize
            && entries_end < NONE as usize
    }

    /// Reads what looking for these hashes will read. None of it waits for another, so that memory is
    /// waited for once, and not for one key after the other.
    pub(super) fn touch(&self, hashes: impl Iterator<Item = u32>) {
        let mask = self.slots.len() - 1;
        let mut lasts = [NONE; ByKey::TOGETHER];
        for (last, hash) in lasts.iter_mut().zip(hashes) {
            let slot = self.slots[hash as usize & mask];
            *last = if slot.hash == hash { slot.last } else { NONE };
        }
        let known = lasts.iter().filter(|last| **last != NONE);
        black_box(
            known.filter_map(|last| self.entry(*last).first()).fold(0, |sum, byte| sum ^ byte),
        );
    }

    /// Looks for a key with its hash; `key_of` tells the key of an entry.
    pub(super) fn find(&self, hash: u32, key: &[u8], key_of: impl Fn(&[u8]) -> &[u8]) -> Place {
        let mask = self.slots.len() - 1;
        let mut slot = hash as usize & mask;
        loop {
            let Slot { hash: other, last } = self.slots[slot];
            if last == NONE {
                return Place { hash, slot, last: None };
            }
            if other == hash && key_of(self.entry(last)) == key {
                return Place { hash, slot, last: Some(last) };
            }
            slot = (slot + 1) & mask;
        }
    }

    /// Puts an entry, whose parts come to stand together, at a place that was just found.
    pub(super) fn insert(&mut self, place: Place, parts: &[&[u8]]) {
        let number = self.len() as Number;
        let next = match place.last {
            Some(last) => std::mem::replace(&mut self.entry_mut(last).next, number),
            None => number,
        };
        let group = self.group_with_room();
        parts.iter().for_each(|part| group.bytes.extend_from_slice(part));
        // As ByKey::has_room said.
        group.entries.push(Entry { end: group.bytes.len() as u32, next });
        self.slots[place.slot] = Slot { hash: place.hash, last: number };
        self.rings += usize::from(place.last.is_none());
        if 4 * self.rings > 3 * self.slots.len() {
            self.grow();
        }
    }

    fn group_with_room(&mut self) -> &mut Group {
        if self.last_group().entries.len() == GROUP {
            self.full_groups += self.last_group().memory_used();
            self.groups.push(self.last_group().like());
        }
        let last = self.groups.len() - 1;
        &mut self.groups[last]
    }

    fn grow(&mut self) {
        let mask = 2 * self.slots.len() - 1;
        let mut slots = vec![FREE; mask + 1];
        for taken in self.slots.iter().filter(|slot| slot.last != NONE) {
            let mut slot = taken.hash as usize & mask;
            while slots[slot].last != NONE {
                slot = (slot + 1) & mask;
            }
            slots[slot] = *taken;
        }
        self.slots = slots;
    }

    /// The bytes of an entry.
    pub(super) fn entry(&self, number: Number) -> &[u8] {
        let (group, place) = (&self.groups[number as usize / GROUP], number as usize % GROUP);
        let start = place.checked_sub(1).map_or(0, |before| group.entries[before].end);
        &group.bytes[start as usize..group.entries[place].end as usize]
    }

    fn entry_mut(&mut self, number: Number) -> &mut Entry {
        &mut self.groups[number as usize / GROUP].entries[number as usize % GROUP]
    }

    fn next(&self, number: Number) -> Number {
        self.groups[number as usize / GROUP].entries[number as usize % GROUP].next
    }

    /// Whether an entry is the only one of its key.
    pub(super) fn is_alone(&self, number: Number) -> bool {
        self.next(number) == number
    }

    /// The entries of each key in their order, the keys in that of their last entries.
    pub(super) fn rings(&self) -> impl Iterator<Item = impl Iterator<Item = Number>> {
        // Behind the last entry of a ring its first one follows.
        self.rings_of(|number, next| next <= number)
    }

    /// [`ByKey::rings`] of more than one entry.
    pub(super) fn shared_rings(&self) -> impl Iterator<Item = impl Iterator<Item = Number>> {
        self.rings_of(|number, next| next < number)
    }

    /// The rings whose last entries are taken, by their numbers and the next ones.
    fn rings_of(
        &self,
        takes: impl Fn(Number, Number) -> bool,
    ) -> impl Iterator<Item = impl Iterator<Item = Number>> {
        let entries = self.groups.iter().flat_map(|group| &group.entries);
        let lasts = (0..).zip(entries).filter(move |(last, entry)| takes(*last, entry.next));
        lasts.map(move |(last, entry)| {
            let mut following = Some(entry.next);
            std::iter::from_fn(move || {
                let number = following?;
                following = (number != last).then(|| self.next(number));
                Some(number)
            })
        })
    }

    /// Lets go of the keys: of all entries those stay alone that `stays` says.
    pub(super) fn into_list(mut self, stays: impl Fn(&ByKey, Number) -> bool) -> List {
        let stay: Vec<bool> = (0..self.len() as Number).map(|it| stays(&self, it)).collect();
        self.slots = Vec::new();
        for (number, stays) in (0..).zip(stay) {
            self.entry_mut(number).next = if stays { number } else { NONE };
        }
        List { entries: self, next: 0 }
    }
}

/// Entries in the order in which they came.
#[derive(Debug)]
pub(super) struct List {
    entries: ByKey,
    next: Number,
}

impl List {
    /// The number of the entry that is next, if there is one.
    pub(super) fn peek(&mut self) -> Option<Number> {
        while (self.next as usize) < self.entries.len() {
            if self.entries.is_alone(self.next) {
                return Some(self.next);
            }
            self.next += 1;
        }
        None
    }

    /// Goes on to the next entry and gives it. What lies before it is let go of.
    pub(super) fn next(&mut self) -> Option<&[u8]> {
        let number = self.peek()?;
        self.next += 1;
        let group = number as usize / GROUP;
        if let Some(before) = group.checked_sub(1).and_then(|it| self.entries.groups.get_mut(it)) {
            *before = Group::default();
        }
        Some(self.entries.entry(number))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn hash_of(key: &[u8]) -> u32 {
        key.iter().fold(0, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x9e37_79b1))
    }

    /// The key is the first byte of an entry.
    fn key_of(entry: &[u8]) -> &[u8] {
        &entry[..1]
    }

    /// Keys of one hash are told apart, and rings keep their order, whatever the bits of hashes.
    #[test]
    fn keys_that_share_a_hash_are_told_apart() {
        for hash_mask in [0, 1, 7, u32::MAX] {
            let mut entries = ByKey::new(1 << 20);
            for number in 0..1000_u32 {
                let key = [(number * 7 % 250) as u8];
                let hash = hash_of(&key) & hash_mask;
                entries.touch([hash].into_iter());
                let place = entries.find(hash, &key, key_of);
                assert_eq!(place.last.is_none(), number < 250);
                entries.insert(place, &[&key, &number.to_le_bytes()]);
            }
            assert_eq!(entries.shared_rings().count(), 250);
            let mut keys = 0;
            for ring in entries.rings() {
                let ring: Vec<_> = ring.collect();
                let first = ring[0];
                assert!(first < 250);
                assert_eq!(ring, [first, first + 250, first + 500, first + 750]);
                for number in ring {
                    assert_eq!(entries.entry(number)[1..], number.to_le_bytes());
                    assert!(!entries.is_alone(number));
                }
                keys += 1;
            }
            assert_eq!(keys, 250);
            let mut list = entries.into_list(|_, number| number % 3 == 0);
            for number in (0..1000).step_by(3) {
                assert_eq!(list.peek(), Some(number));
                assert_eq!(list.next().unwrap()[1..], number.to_le_bytes());
            }
            assert_eq!(list.next(), None);
        }
    }

    #[test]
    fn entries_of_any_size_pass_and_the_memory_is_kept_to() {
        let memory = 4 << 20;
        let mut entries = ByKey::new(memory);
        let large = vec![7; (1 << 20) + 1];
        let place = entries.find(hash_of(&[7]), &[7], key_of);
        entries.insert(place, &[&large]);
        let mut count = 1;
        while entries.has_room(1, 20) {
            let bytes = [(count % 251) as u8; 20];
            let key = &bytes[..1];
            let place = entries.find(hash_of(key), key, key_of);
            entries.insert(place, &[&bytes]);
            count += 1;
        }
        assert!(count > 2 * GROUP, "{count}");
        assert!(entries.memory_used() <= memory, "{}", entries.memory_used());
        assert_eq!((entries.len(), entries.entry(0)), (count, &large[..]));
        assert!(!ByKey::new(0).has_room(1, 1));
    }
}
