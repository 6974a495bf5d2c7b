//! The row guide. For each line of the row directory, it has the approximate number of the first
//! row. It takes only two bytes for each line, so it stays in the cache. With it, a lookup can
//! prefetch the line and the row at the same time.

use zerocopy::FromBytes;
use zerocopy::little_endian::I16;

use epdb_chess::codec::key::fast_range;

/// Reader of the row guide. The guide only decides which rows are prefetched; no result depends on
/// it.
#[derive(Copy, Clone)]
pub(super) struct HintTable<'a> {
    /// For each line the number of its first record, minus the number that this record would have
    /// if keys were spread evenly.
    shifts: &'a [I16],
}

impl<'a> HintTable<'a> {
    /// Makes a reader of the bytes of the section; `None` if their length is not that of `lines`
    /// lines.
    #[inline]
    pub(super) fn new(bytes: &'a [u8], lines: u64) -> Option<HintTable<'a>> {
        let shifts = <[I16]>::ref_from_bytes(bytes).ok()?;
        (shifts.len() as u64 == lines).then_some(HintTable { shifts })
    }

    /// Approximate number of the first record of a key, among the first records of all keys.
    /// `firsts` is the number of these records.
    #[inline(always)]
    pub(super) fn guess(&self, key: u64, firsts: u64) -> u64 {
        let (line, in_line) = fast_range(key, self.shifts.len() as u64);
        let shift = |line: usize| self.shifts.get(line).map_or(0, |shift| i64::from(shift.get()));
        let from = shift(line as usize);
        let to = shift(line as usize + 1);
        let (even, _) = fast_range(key, firsts);
        even.saturating_add_signed(from + (((to - from) * (in_line >> 56) as i64) >> 8))
    }

    /// True if the row guide fits lines of a row directory whose first records have these numbers.
    pub(super) fn is_of(&self, firsts: u64, mut first_numbers: impl Iterator<Item = u64>) -> bool {
        let lines = self.shifts.len() as u64;
        let expected = |line: u64| Some(shift(first_numbers.next()?, line, lines, firsts));
        (0..lines).map_while(expected).eq(self.shifts.iter().copied())
    }
}

/// Returns the value that the guide stores for a line. `line` is the number of the line, and
/// `first` the number of its first record. All `lines` lines together have `firsts` records.
pub(super) fn shift(first: u64, line: u64, lines: u64, firsts: u64) -> I16 {
    let even = u128::from(line) * u128::from(firsts) / u128::from(lines.max(1));
    let shift = i128::from(first) - even as i128;
    I16::new(shift.clamp(i16::MIN.into(), i16::MAX.into()) as i16)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use zerocopy::IntoBytes;

    use super::*;

    const LINES: u64 = 1500;
    const KEYS: u64 = 40 * LINES;

    /// Numbers that are twice as dense in their first half, with some disorder.
    fn keys() -> Vec<u64> {
        let part = u64::MAX / KEYS / 2;
        let at = |nth: u64| nth * part + nth.saturating_sub(KEYS / 2) * 2 * part;
        let mut keys: Vec<u64> =
            (0..KEYS).map(|nth| at(nth.saturating_sub(nth * nth % 5))).collect();
        keys.sort_unstable();
        keys
    }

    fn first_numbers(keys: &[u64]) -> Vec<u64> {
        let of_line = |line: u64| keys.partition_point(|&key| fast_range(key, LINES).0 < line);
        (0..LINES).map(|line| of_line(line) as u64).collect()
    }

    fn shifts(first_numbers: &[u64]) -> Vec<I16> {
        (0..).zip(first_numbers).map(|(line, &first)| shift(first, line, LINES, KEYS)).collect()
    }

    #[test]
    fn a_guide_leads_near_each_key() {
        let keys = keys();
        let shifts = shifts(&first_numbers(&keys));
        let guide = HintTable::new(shifts.as_bytes(), LINES).unwrap();
        let even = HintTable { shifts: &[] };
        let distances = |guide: HintTable<'_>| {
            let distance = |(number, &key)| guide.guess(key, KEYS).abs_diff(number);
            (0..).zip(&keys).filter(|&pair| distance(pair) > 5).count()
        };
        assert!(distances(guide) < keys.len() / 20, "{}", distances(guide));
        assert!(distances(even) > keys.len() / 2, "{}", distances(even));
    }

    #[test]
    fn a_guide_is_that_of_its_lines_alone() {
        let mut first_numbers = first_numbers(&keys());
        let shifts = shifts(&first_numbers);
        let guide = HintTable::new(shifts.as_bytes(), LINES).unwrap();
        assert!(guide.is_of(KEYS, first_numbers.iter().copied()));
        first_numbers[700] += 1;
        assert!(!guide.is_of(KEYS, first_numbers.iter().copied()));
        assert!(HintTable::new(shifts.as_bytes(), LINES - 1).is_none());
        assert!(HintTable::new(&shifts.as_bytes()[1..], LINES).is_none());
    }

    /// A hint that does not fit into two bytes is clamped.
    #[test]
    fn keys_that_are_spread_very_unevenly_have_a_guide() {
        assert_eq!(shift(100_000, 1, 10, 200_000), I16::new(i16::MAX));
        assert_eq!(shift(0, 9, 10, 200_000), I16::new(i16::MIN));
        let shifts = [I16::new(i16::MIN), I16::new(i16::MAX)];
        let guide = HintTable::new(shifts.as_bytes(), 2).unwrap();
        for key in [0, 1, u64::MAX / 2, u64::MAX] {
            guide.guess(key, u64::MAX);
            guide.guess(key, 0);
        }
    }
}
