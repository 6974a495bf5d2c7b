//! Entries in memory, grouped by key.

use std::hint::black_box;
use std::ops::{Deref, DerefMut};

use memmap2::MmapMut;
use zerocopy::{FromBytes, Immutable, IntoBytes};

use epdb_chess::simd::prefetch;

/// Number of entries in a group.
const GROUP: usize = 1 << 13;

/// Capacity of the first region, in bytes.
const FIRST_REGION: usize = 1 << 16;

/// Index of an entry, in order of insertion.
pub(super) type Number = u32;

/// The index of no entry.
const NONE: Number = Number::MAX;

/// Entries in order of insertion. The entries with the same key form a *ring*: each has the index
/// of the next one, and the last has the index of the first. A hash table finds the ring of a key.
///
/// The table does not know the keys: the caller compares a key with an entry.
///
/// The hash table is open-addressed. No general table can prefetch a batch of keys together (`prefetch`,
/// `touch`), and prefetching hides most cache misses. With hashbrown in its place, `dedupe` took 20 % more
/// processor time, and `union` 15 % more. The bytes lie in regions, which are freed while the entries are
/// written out.
#[derive(Debug)]
pub(super) struct ByKey {
    /// The bytes of the entries. A group lies in one region.
    regions: Vec<Region>,
    /// Groups of [`GROUP`] entries; only the last group may have fewer.
    groups: Vec<Group>,
    /// The [`Slot`] of each ring (a circular list of the entries with the same key), at the index
    /// of its hash or at the next free index. Slots are stored as numbers, because pages of zeros
    /// cost nothing until they are used.
    slots: Large<u64>,
    rings: usize,
    memory_bytes: usize,
    /// Bytes used by all regions but the last.
    full_regions: usize,
}

/// The hash and the last entry of a ring (a circular list of the entries with the same key).
/// Because the slot has the hash, entries of other keys are seldom read.
#[derive(Copy, Clone, Debug)]
struct Slot {
    hash: u32,
    last: Number,
}

/// A slot without an entry.
const FREE: u64 = 0;

impl Slot {
    /// The number in which a slot is stored. The `last` of the slot must be less than [`NONE`].
    const fn to_number(self) -> u64 {
        (self.hash as u64) << 32 | (self.last + 1) as u64
    }

    /// The slot that is stored in a number; its `last` is [`NONE`] if the slot is free.
    const fn from_number(number: u64) -> Slot {
        Slot { hash: (number >> 32) as u32, last: (number as u32).wrapping_sub(1) }
    }
}

/// A buffer for bytes, and the number of bytes in it.
#[derive(Debug)]
struct Region {
    bytes: Large<u8>,
    len: usize,
}

impl Region {
    fn with_room(len: usize) -> Region {
        Region { bytes: Large::zeros(len), len: 0 }
    }

    const fn memory_used(&self) -> usize {
        match self.bytes {
            Large::Owned(_) => self.len,
            Large::Mapped(_) => self.len.next_multiple_of(HUGE_PAGE),
        }
    }

    fn push(&mut self, bytes: &[u8]) {
        let end = self.len + bytes.len();
        self.bytes[self.len..end].copy_from_slice(bytes);
        self.len = end;
    }
}

/// Entries whose bytes follow each other.
#[derive(Debug, Default)]
struct Group {
    /// The region that has the bytes of the group; in the region, they begin at `start`.
    region: usize,
    start: usize,
    entries: Vec<Entry>,
}

#[derive(Copy, Clone, Debug)]
struct Entry {
    /// End of the entry, from the start of its group.
    end: u32,
    /// The next entry of the ring of entries with the same key; the first entry follows the last.
    /// An entry that is alone follows itself. `NONE` for an entry that was removed.
    next: Number,
}

impl Group {
    /// Start of an entry, from the start of the group.
    fn start_of(&self, place: usize) -> usize {
        place.checked_sub(1).map_or(0, |before| self.entries[before].end as usize)
    }

    /// Size in bytes of all entries.
    fn len(&self) -> usize {
        self.start_of(self.entries.len())
    }
}

/// The place of a key in the table, for [`ByKey::insert`].
#[derive(Copy, Clone, Debug)]
pub(super) struct Place {
    hash: u32,
    slot: usize,
    /// The last entry of the key, if there is one.
    pub(super) last: Option<Number>,
}

impl ByKey {
    /// Maximum number of keys in a batch.
    pub(super) const TOGETHER: usize = 64;

    /// An empty table that uses at most about `memory_bytes`.
    pub(super) fn new(memory_bytes: usize) -> ByKey {
        let regions = vec![Region::with_room(0)];
        let groups = vec![Group::default()];
        ByKey { regions, groups, slots: Large::zeros(64), rings: 0, memory_bytes, full_regions: 0 }
    }

    /// Reserves capacity for about this many keys and bytes, if that leaves most of the memory
    /// free. The table must be empty.
    pub(super) fn expect(&mut self, keys: usize, bytes: usize) {
        let max_slots = self.memory_bytes / (8 * size_of::<Slot>());
        // The table grows when three quarters of the slots are taken.
        let slots = (keys.min(max_slots) / 3 * 4).next_power_of_two();
        if slots > self.slots.len() && slots <= max_slots {
            self.slots = Large::zeros_at_hand(slots);
        }
        // One huge page is faster than many small ones.
        let bytes = if bytes < HUGE_PAGE / 4 { bytes } else { bytes.max(HUGE_PAGE) };
        self.regions = vec![Region::with_room(bytes.min(self.longest_region()))];
    }

    pub(super) fn len(&self) -> usize {
        GROUP * (self.groups.len() - 1) + self.last_group().entries.len()
    }

    fn last_group(&self) -> &Group {
        &self.groups[self.groups.len() - 1]
    }

    /// Number of bytes used by the table.
    #[cfg(test)]
    fn memory_used(&self) -> usize {
        let bytes = self.full_regions + self.last_region().memory_used();
        let entries = self.groups.len() * GROUP * size_of::<Entry>();
        bytes + entries + self.slots.len() * size_of::<Slot>()
    }

    fn last_region(&self) -> &Region {
        &self.regions[self.regions.len() - 1]
    }

    /// Maximum size of a region. Only a region of one group may be larger.
    const fn longest_region(&self) -> usize {
        self.memory_bytes / 8
    }

    /// Whether this many more entries and bytes fit in the memory.
    pub(super) fn has_room(&self, entries: usize, bytes: usize) -> bool {
        // A group that moves to another region exists twice while it moves.
        let last_group = self.last_group().len() + bytes;
        let page = if self.longest_region() < HUGE_PAGE { 0 } else { HUGE_PAGE };
        let bytes = self.full_regions + self.last_region().memory_used() + last_group + page;
        // While a full table of slots grows, it exists together with one of twice its size.
        let grows = 4 * (self.rings + entries) > 3 * self.slots.len();
        let slots = if grows { 3 } else { 1 } * size_of::<Slot>() * self.slots.len();
        let entries_end = self.len() + entries;
        let entries = size_of::<Entry>() * (entries + GROUP * self.groups.len());
        bytes + entries + slots < self.memory_bytes
            && last_group < u32::MAX as usize
            && entries_end < NONE as usize
    }

    pub(super) fn prefetch(&self, hashes: impl Iterator<Item = u32>) {
        let slots: &[u64] = &self.slots;
        let mask = slots.len() - 1;
        hashes.for_each(|hash| prefetch(&slots[hash as usize & mask]));
    }

    /// Reads the slots and entries of these hashes. The reads are independent, so the cache misses
    /// overlap.
    pub(super) fn touch(&self, hashes: impl Iterator<Item = u32>) {
        let slots: &[u64] = &self.slots;
        let mask = slots.len() - 1;
        let mut lasts = [NONE; ByKey::TOGETHER];
        for (last, hash) in lasts.iter_mut().zip(hashes) {
            let slot = Slot::from_number(slots[hash as usize & mask]);
            *last = if slot.hash == hash { slot.last } else { NONE };
        }
        let known = lasts.iter().filter(|last| **last != NONE);
        black_box(
            known.filter_map(|last| self.entry(*last).first()).fold(0, |sum, byte| sum ^ byte),
        );
    }

    /// Finds the place of a key by its hash; `has_key` compares the key with an entry.
    pub(super) fn find(&self, hash: u32, has_key: impl Fn(&[u8]) -> bool) -> Place {
        let slots: &[u64] = &self.slots;
        let mask = slots.len() - 1;
        let mut slot = hash as usize & mask;
        loop {
            let Slot { hash: other, last } = Slot::from_number(slots[slot]);
            if last == NONE {
                return Place { hash, slot, last: None };
            }
            if other == hash && has_key(self.entry(last)) {
                return Place { hash, slot, last: Some(last) };
            }
            slot = (slot + 1) & mask;
        }
    }

    /// Inserts an entry, which is given in parts, at a place that [`ByKey::find`] has just
    /// returned.
    #[inline]
    pub(super) fn insert(&mut self, place: Place, parts: &[&[u8]]) {
        let number = self.len() as Number;
        let next = match place.last {
            Some(last) => std::mem::replace(&mut self.entry_mut(last).next, number),
            None => number,
        };
        self.make_room(parts.iter().map(|part| part.len()).sum());
        let last_region = self.regions.len() - 1;
        let last_group = self.groups.len() - 1;
        let region = &mut self.regions[last_region];
        parts.iter().for_each(|part| region.push(part));
        let group = &mut self.groups[last_group];
        // `has_room` made sure that the end fits into 32 bits.
        group.entries.push(Entry { end: (region.len - group.start) as u32, next });
        self.slots[place.slot] = Slot { hash: place.hash, last: number }.to_number();
        self.rings += usize::from(place.last.is_none());
        if 4 * self.rings > 3 * self.slots.len() {
            self.grow();
        }
    }

    /// Replaces the bytes of an entry by the same number of bytes.
    pub(super) fn replace(&mut self, number: Number, bytes: &[u8]) {
        let group = &self.groups[number as usize / GROUP];
        let place = number as usize % GROUP;
        let entry = group.start_of(place)..group.entries[place].end as usize;
        self.regions[group.region].bytes[group.start..][entry].copy_from_slice(bytes);
    }

    /// Reserves capacity for an entry in the last group and region.
    #[inline]
    fn make_room(&mut self, bytes: usize) {
        let region = self.regions.len() - 1;
        let last = self.groups.len() - 1;
        if self.groups[last].entries.len() == GROUP {
            let start = self.regions[region].len;
            self.groups.push(Group { region, start, entries: Vec::with_capacity(GROUP) });
        }
        if self.regions[region].len + bytes > self.regions[region].bytes.len() {
            self.add_region(bytes);
        }
    }

    /// Begins a new region, and moves the last group there.
    #[cold]
    fn add_region(&mut self, bytes: usize) {
        let region = self.regions.len() - 1;
        let last = self.groups.len() - 1;
        let longest = self.longest_region().max(FIRST_REGION);
        let before = &mut self.regions[region];
        let group = &mut self.groups[last];
        let start = std::mem::take(&mut group.start);
        group.region = region + 1;
        let needed = before.len - start + bytes;
        let usual = (2 * before.bytes.len()).clamp(FIRST_REGION, longest);
        let mut next = Region::with_room(usual.max(needed + needed / 2));
        next.push(&before.bytes[start..before.len]);
        if start == 0 {
            *before = Region::with_room(0);
        } else {
            self.full_regions += before.memory_used();
        }
        self.regions.push(next);
    }

    fn grow(&mut self) {
        let mask = 2 * self.slots.len() - 1;
        let mut grown = Large::zeros_at_hand(mask + 1);
        let slots: &mut [u64] = &mut grown;
        for taken in self.slots.iter().filter(|slot| **slot != FREE) {
            let mut slot = Slot::from_number(*taken).hash as usize & mask;
            while slots[slot] != FREE {
                slot = (slot + 1) & mask;
            }
            slots[slot] = *taken;
        }
        self.slots = grown;
    }

    pub(super) fn entry(&self, number: Number) -> &[u8] {
        let group = &self.groups[number as usize / GROUP];
        let place = number as usize % GROUP;
        &self.bytes_of(group)[group.start_of(place)..group.entries[place].end as usize]
    }

    /// The bytes of a region from the start of a group.
    fn bytes_of(&self, group: &Group) -> &[u8] {
        &self.regions[group.region].bytes[group.start..]
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

    /// The entries of each key in order; the keys are in the order of their last entries.
    pub(super) fn rings(&self) -> impl Iterator<Item = impl Iterator<Item = Number> + Clone> {
        // Only the last entry of a ring has a next entry whose index is not larger.
        self.rings_of(|number, next| next <= number)
    }

    /// Like [`ByKey::rings`], but only for rings of several entries.
    pub(super) fn shared_rings(
        &self,
    ) -> impl Iterator<Item = impl Iterator<Item = Number> + Clone> {
        self.rings_of(|number, next| next < number)
    }

    /// The rings for which `takes` returns true. `takes` is called with the index of each entry and the index
    /// of the next entry of its ring. For all entries but the last of a ring, it must return false.
    fn rings_of(
        &self,
        takes: impl Fn(Number, Number) -> bool,
    ) -> impl Iterator<Item = impl Iterator<Item = Number> + Clone> {
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

    /// Drops the hash table, and all entries that share their key with another entry.
    pub(super) fn into_list(mut self) -> List {
        self.slots = Large::zeros(0);
        List { entries: self, next: 0 }
    }

    /// Like [`ByKey::into_list`], but keeps all entries.
    pub(super) fn into_list_of_all(self) -> List {
        self.into_list_of(|_| true)
    }

    /// Like [`ByKey::into_list`], but keeps exactly the entries that `stays` selects.
    pub(super) fn into_list_of(mut self, stays: impl Fn(Number) -> bool) -> List {
        for (number, entry) in (0..).zip(self.groups.iter_mut().flat_map(|it| &mut it.entries)) {
            entry.next = if stays(number) { number } else { NONE };
        }
        self.into_list()
    }
}

/// Entries in order of insertion.
#[derive(Debug)]
pub(super) struct List {
    entries: ByKey,
    next: Number,
}

impl List {
    /// The index of the next entry.
    pub(super) fn peek(&mut self) -> Option<Number> {
        while (self.next as usize) < self.entries.len() {
            if self.entries.is_alone(self.next) {
                return Some(self.next);
            }
            self.next += 1;
        }
        None
    }

    pub(super) fn peek_entry(&mut self) -> Option<&[u8]> {
        let number = self.peek()?;
        Some(self.entries.entry(number))
    }

    /// Takes the next entry, and frees the memory before it.
    pub(super) fn next(&mut self) -> Option<&[u8]> {
        let number = self.peek()?;
        self.next += 1;
        self.free_before(number);
        Some(self.entries.entry(number))
    }

    /// Takes the next entries while `takes` accepts them and their bytes follow each other. Frees
    /// the memory before them.
    pub(super) fn next_together(&mut self, takes: impl Fn(Number, &[u8]) -> bool) -> &[u8] {
        let Some(first) = self.peek() else { return &[] };
        self.free_before(first);
        let group = &self.entries.groups[first as usize / GROUP];
        let bytes = self.entries.bytes_of(group);
        let place = first as usize % GROUP;
        let start = group.start_of(place);
        let mut end = start;
        for (number, entry) in (first..).zip(&group.entries[place..]) {
            if entry.next != number || !takes(number, &bytes[end..entry.end as usize]) {
                break;
            }
            end = entry.end as usize;
            self.next = number + 1;
        }
        &bytes[start..end]
    }

    fn free_before(&mut self, number: Number) {
        let ByKey { regions, groups, .. } = &mut self.entries;
        let group = number as usize / GROUP;
        if group > 0 {
            groups[group - 1].entries = Vec::new();
        }
        let region = groups[group].region;
        if region > 0 {
            regions[region - 1] = Region::with_room(0);
        }
    }
}

/// The usual size of a huge page, in bytes. A smaller buffer needs no huge page.
pub(super) const HUGE_PAGE: usize = 2 << 20;

/// Minimum size of a page.
const PAGE: usize = 4 << 10;

/// A list of numbers that are zero at first. A long list is in huge pages, because a page fault
/// takes longer than filling a page.
#[derive(Debug)]
pub(super) enum Large<T> {
    Owned(Vec<T>),
    Mapped(MmapMut),
}

impl<T: Copy + FromBytes> Large<T> {
    pub(super) fn zeros(len: usize) -> Large<T> {
        let bytes = len * size_of::<T>();
        let pages = bytes.next_multiple_of(HUGE_PAGE);
        let mapped = if bytes < HUGE_PAGE { None } else { MmapMut::map_anon(pages).ok() };
        match mapped {
            None => Large::Owned(vec![T::new_zeroed(); len]),
            Some(map) => {
                // An error does not matter, because huge pages are only faster.
                #[cfg(target_os = "linux")]
                map.advise(memmap2::Advice::HugePage).ok();
                Large::Mapped(map)
            }
        }
    }
}

impl<T: Copy + FromBytes + IntoBytes + Immutable> Large<T> {
    /// Like [`Large::zeros`], but with all pages in memory. Without this, a page that is read before it is
    /// written causes two page faults, and the second one interrupts all processors.
    pub(super) fn zeros_at_hand(len: usize) -> Large<T> {
        let mut numbers = Large::zeros(len);
        for first in numbers.iter_mut().step_by(PAGE / size_of::<T>()) {
            *black_box(first) = T::new_zeroed();
        }
        numbers
    }
}

impl<T: FromBytes + Immutable> Deref for Large<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match self {
            Large::Owned(numbers) => numbers,
            // This cannot fail: a map is aligned to pages and has a whole number of elements.
            Large::Mapped(map) => <[T]>::ref_from_bytes(map).unwrap_or_default(),
        }
    }
}

impl<T: FromBytes + IntoBytes + Immutable> DerefMut for Large<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        match self {
            Large::Owned(numbers) => numbers,
            Large::Mapped(map) => <[T]>::mut_from_bytes(map).unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests_of_large {
    use super::*;

    const IN_HUGE_PAGE: usize = HUGE_PAGE / size_of::<u64>();

    #[test]
    fn all_are_there_and_can_be_changed() {
        for (len, there) in [
            (0, 0),
            (1, 1),
            (1000, 1000),
            (IN_HUGE_PAGE, IN_HUGE_PAGE),
            (IN_HUGE_PAGE + 1, 2 * IN_HUGE_PAGE),
        ] {
            let mut numbers = Large::<u64>::zeros_at_hand(len);
            assert!(numbers.len() == there && numbers.iter().all(|number| *number == 0));
            if let Some(last) = numbers.last_mut() {
                *last = u64::MAX;
            }
            assert_eq!(
                numbers.iter().map(|number| number.count_ones()).sum::<u32>(),
                if len > 0 { 64 } else { 0 }
            );
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn hash_of(key: &[u8]) -> u32 {
        key.iter().fold(0, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x9e37_79b1))
    }

    /// Keys with the same hash are kept apart, and rings keep their order, for all bits of hashes.
    #[test]
    fn keys_that_share_a_hash_are_told_apart() {
        for hash_mask in [0, 1, 7, u32::MAX] {
            let mut entries = ByKey::new(1 << 20);
            for number in 0..1000_u32 {
                let key = [(number * 7 % 250) as u8];
                let hash = hash_of(&key) & hash_mask;
                entries.touch([hash].into_iter());
                let place = entries.find(hash, |entry| entry[..1] == key);
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
            let mut list = entries.into_list_of(|number| number % 3 == 0);
            for number in (0..1000).step_by(3) {
                assert_eq!(list.peek(), Some(number));
                assert_eq!(list.peek_entry().unwrap()[1..], number.to_le_bytes());
                assert_eq!(list.next().unwrap()[1..], number.to_le_bytes());
            }
            assert_eq!(list.next(), None);
        }
    }

    /// Taking entries together gives the same entries as taking them one by one, for any entries that stay
    /// and any ends of groups.
    #[test]
    fn entries_are_taken_together() {
        let count = 2 * GROUP as Number + 100;
        let stays = |number: Number| number % 1000 > 2 && number != GROUP as Number;
        let mut entries = ByKey::new(1 << 24);
        for number in 0..count {
            let key = number.to_le_bytes();
            let place = entries.find(hash_of(&key), |entry| entry == key);
            entries.insert(place, &[&key]);
        }
        let mut list = entries.into_list_of(stays);
        let mut taken = Vec::new();
        let mut parts = 0;
        while list.peek().is_some() {
            // Every number that ends in 7 is taken alone.
            let part = list.next_together(|number, entry| {
                assert_eq!(entry, number.to_le_bytes());
                number % 10 != 7
            });
            let part = part.to_vec();
            parts += usize::from(!part.is_empty());
            taken.extend(if part.is_empty() { list.next().unwrap().to_vec() } else { part });
        }
        let expected: Vec<u8> =
            (0..count).filter(|it| stays(*it)).flat_map(u32::to_le_bytes).collect();
        assert!(taken == expected);
        assert!(parts < count as usize / 9, "{parts}");
        assert!(list.next_together(|_, _| true).is_empty());
    }

    #[test]
    fn what_is_expected_fits_the_memory() {
        let expecting = |memory_bytes: usize, keys| {
            let mut entries = ByKey::new(memory_bytes);
            entries.expect(keys, keys);
            entries
        };
        assert_eq!(expecting(1 << 20, 3000).slots.len(), 4096);
        for memory_bytes in [0, 1 << 10, 1 << 20, 1 << 24] {
            for keys in [0, 1, 1000, usize::MAX] {
                let expecting = expecting(memory_bytes, keys);
                assert!(expecting.slots.len() * size_of::<Slot>() <= memory_bytes / 8 + 512);
                assert!(expecting.last_region().bytes.len() <= memory_bytes / 8);
            }
        }
        let mut entries = expecting(1 << 20, 10);
        let place = entries.find(7, |_| true);
        entries.insert(place, &[b"a"]);
        assert_eq!(entries.find(7, |entry| entry == b"a").last, Some(0));
    }

    #[test]
    fn entries_of_any_size_pass_and_the_memory_is_kept_to() {
        let memory_bytes = 4 << 20;
        let mut entries = ByKey::new(memory_bytes);
        let large = vec![7; (1 << 20) + 1];
        let place = entries.find(hash_of(&[7]), |entry| entry[..1] == [7]);
        entries.insert(place, &[&large]);
        let mut count = 1;
        while entries.has_room(1, 20) {
            let bytes = [(count % 251) as u8; 20];
            let key = &bytes[..1];
            let place = entries.find(hash_of(key), |entry| &entry[..1] == key);
            entries.insert(place, &[&bytes]);
            count += 1;
        }
        assert!(count > 2 * GROUP, "{count}");
        assert!(entries.memory_used() <= memory_bytes, "{}", entries.memory_used());
        assert_eq!((entries.len(), entries.entry(0)), (count, &large[..]));
        assert!(!ByKey::new(0).has_room(1, 1));
    }
}
