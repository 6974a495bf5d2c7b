//! A static hash table from pairs of numbers to a number.

use epdb_chess::simd::prefetch;

/// The hash table. It uses open addressing with linear probing, and is at most half full.
#[derive(Debug)]
pub(super) struct Table {
    slots: Vec<Slot>,
    shift: u32,
    used: usize,
}

#[derive(Copy, Clone, Debug)]
struct Slot {
    key: u64,
    value: u32,
}

/// Key of an empty slot. No other key has this value, because the first of its numbers is never the
/// largest u32.
const EMPTY: Slot = Slot { key: u64::MAX, value: 0 };

impl Table {
    pub(super) fn with_capacity(count: usize) -> Table {
        let len = (count * 2 + 2).next_power_of_two();
        Table { slots: vec![EMPTY; len], shift: 64 - len.trailing_zeros(), used: 0 }
    }

    fn home(&self, key: u64) -> usize {
        (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize
    }

    /// Prefetches the slot where a search for a key begins.
    pub(super) fn prefetch(&self, first: u32, second: u32) {
        prefetch(&self.slots[self.home(u64::from(first) << 32 | u64::from(second))]);
    }

    pub(super) fn get(&self, first: u32, second: u32) -> Option<u32> {
        let key = u64::from(first) << 32 | u64::from(second);
        let mut place = self.home(key);
        loop {
            let slot = self.slots[place];
            if slot.key == key {
                return Some(slot.value);
            }
            if slot.key == EMPTY.key {
                return None;
            }
            place = (place + 1) & (self.slots.len() - 1);
        }
    }

    /// Inserts a value; does nothing if the key exists or the capacity is used up.
    pub(super) fn insert(&mut self, first: u32, second: u32, value: u32) {
        let key = u64::from(first) << 32 | u64::from(second);
        if key == EMPTY.key
            || self.used * 2 >= self.slots.len()
            || self.get(first, second).is_some()
        {
            return;
        }
        let mut place = self.home(key);
        while self.slots[place].key != EMPTY.key {
            place = (place + 1) & (self.slots.len() - 1);
        }
        self.slots[place] = Slot { key, value };
        self.used += 1;
    }
}
