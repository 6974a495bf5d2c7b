//! Columns of rows. The distinct values of a column are numbered.

/// A column of all rows. Its distinct values are numbered in order of their first occurrence.
pub(super) struct NumberedColumn {
    pub(super) values: Vec<u32>,
    pub(super) counts: Vec<u32>,
    /// For each row the number of its value.
    pub(super) numbers: Vec<u32>,
}

impl NumberedColumn {
    pub(super) fn new(values: impl Iterator<Item = u32>) -> NumberedColumn {
        let mut of_values = ValueNumbers::new();
        let numbers: Vec<u32> = values.map(|value| of_values.number(value)).collect();
        let counts = count(&numbers, of_values.values.len());
        NumberedColumn { values: of_values.values, counts, numbers }
    }
}

/// Counts the occurrences of each number.
// Neighbours are often equal, and an increment would wait for the one before. So four counters for
// each number are used in turn.
fn count(numbers: &[u32], len: usize) -> Vec<u32> {
    let mut counts = vec![[0_u32; 4]; len];
    for four in numbers.chunks(4) {
        for (nth, &number) in four.iter().enumerate() {
            counts[number as usize][nth] += 1;
        }
    }
    counts.iter().map(|counts| counts.iter().sum()).collect()
}

/// Numbers of values, in order of their first occurrence.
struct ValueNumbers {
    values: Vec<u32>,
    /// Hash table with linear probing, at most half full. A slot has a value, and its number plus
    /// 1; an empty slot has 0.
    slots: Vec<(u32, u32)>,
}

impl ValueNumbers {
    fn new() -> ValueNumbers {
        ValueNumbers { values: Vec::new(), slots: vec![(0, 0); 1 << 8] }
    }

    fn number(&mut self, value: u32) -> u32 {
        let mask = self.slots.len() - 1;
        let hash = u64::from(value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut place = (hash >> u32::BITS) as usize & mask;
        loop {
            match self.slots[place] {
                (_, 0) => return self.add(value, place),
                (other, number) if other == value => return number - 1,
                _ => place = (place + 1) & mask,
            }
        }
    }

    #[cold]
    fn add(&mut self, value: u32, place: usize) -> u32 {
        self.values.push(value);
        let number = self.values.len() as u32 - 1;
        self.slots[place] = (value, number + 1);
        if self.values.len() * 2 > self.slots.len() {
            let values = std::mem::take(&mut self.values);
            self.slots = vec![(0, 0); self.slots.len() * 2];
            for value in values {
                self.number(value);
            }
        }
        number
    }
}
