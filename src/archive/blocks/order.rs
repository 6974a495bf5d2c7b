//! The original order of a segment whose rows are sorted. The *place* of a record is its index in
//! the sorted order. The section has, for each place, the number of the record there.
// A permutation of n records takes at least log2(n!)/n bits a record: about 2 bytes for 240,000
// records. But in the sorted order of real files, many runs of neighbours stay together. So
// differences, coded in pieces, usually take less, and a piece gives access to any place.

use std::ops::Range;

use super::bits::{BitReader, BitWriter};
use crate::error::{ArchiveError, Refusal};
use crate::file::check;
use epdb_chess::codec::item::{fold_sign, unfold_sign};

/// Number of record numbers in a piece, a part of the section with its own checksum.
const PIECE: usize = 512;
/// Size in bytes of the checksum of a piece.
const CHECK: usize = 4;
/// Size in bytes of the end of a piece.
const END: usize = 8;
const PART: &str = "order of records";

/// Number of bits of the Rice parameter of a piece, which is a number of low bits.
const LOW_BITS_FIELD: u32 = 5;
/// Value in place of a Rice parameter. It means that all numbers of the
/// piece are written in full.
const IN_FULL: u32 = (1 << LOW_BITS_FIELD) - 1;
/// Number of ones at the start of a code that mean: the difference is large, and the number follows in full.
const FAR_ONES: u32 = 8;

/// Number of bits into which each number below `records` fits.
const fn bits_of(records: u32) -> u32 {
    u32::BITS - (records - 1).leading_zeros()
}

/// True if the order of `records` records can take `len` bytes. There is at least one record.
pub(super) fn fits(len: u64, records: u32) -> bool {
    let pieces = u64::from(records).div_ceil(PIECE as u64);
    len >= u64::from(records) / 8 + pieces * (CHECK + END) as u64
}

/// Zigzag code of the difference of two numbers.
const fn difference(number: u32, before: u32) -> u64 {
    fold_sign(number as i64 - before as i64)
}

/// Returns the number that has this difference from the previous one.
fn after(before: u32, difference: u64) -> Option<u32> {
    u32::try_from(i64::from(before) + unfold_sign(difference)).ok()
}

/// Number of bits that a difference takes with this Rice parameter. `width` is the number of bits
/// of a number in full.
const fn bits_of_difference(difference: u64, low_bits: u32, width: u32) -> u64 {
    let high = difference >> low_bits;
    if high < FAR_ONES as u64 { high + 1 + low_bits as u64 } else { (FAR_ONES + width) as u64 }
}

/// The best Rice parameter for the differences in one part of the numbers.
fn best_low_bits(numbers: &[u32], width: u32) -> u32 {
    let pairs = numbers.windows(2).map(|pair| difference(pair[1], pair[0]));
    let differences: Vec<u64> = pairs.collect();
    let bits = |low_bits| {
        differences.iter().map(|&it| bits_of_difference(it, low_bits, width)).sum::<u64>()
    };
    let in_full = (differences.len() as u64 * u64::from(width), IN_FULL);
    let best = (0..width.min(IN_FULL)).map(|low_bits| (bits(low_bits), low_bits)).min();
    best.map_or(IN_FULL, |best| best.min(in_full).1)
}

fn write_piece(numbers: &[u32], width: u32) -> Vec<u8> {
    let mut bits = BitWriter::default();
    let low_bits = best_low_bits(numbers, width);
    bits.put(low_bits.into(), LOW_BITS_FIELD);
    let mut before = None;
    for &number in numbers {
        let difference = match before {
            Some(before) if low_bits != IN_FULL => Some(difference(number, before)),
            _ => None,
        };
        match difference {
            Some(near) if near >> low_bits < FAR_ONES.into() => bits.put_rice(near, low_bits),
            Some(_) => {
                bits.put((1 << FAR_ONES) - 1, FAR_ONES);
                bits.put(number.into(), width);
            }
            None => bits.put(number.into(), width),
        }
        before = Some(number);
    }
    bits.finish()
}

/// Returns the bytes of the numbers at all places.
pub(super) fn write(numbers: &[u32], identity: u32) -> Vec<u8> {
    let width = bits_of(numbers.len() as u32);
    let mut out = Vec::new();
    let mut ends = Vec::new();
    for (place, piece) in (0..).zip(numbers.chunks(PIECE)) {
        let mut bytes = write_piece(piece, width);
        check::append_placed(identity, place, &mut bytes);
        out.append(&mut bytes);
        ends.extend_from_slice(&(out.len() as u64).to_le_bytes());
    }
    out.append(&mut ends);
    out
}

/// Reader of the numbers of the records at the places of a segment.
pub(super) struct Order<'a> {
    pieces: &'a [u8],
    /// End of each piece.
    ends: &'a [u8],
    records: u32,
    identity: u32,
}

impl<'a> Order<'a> {
    /// Makes a reader of bytes that [`fits`] accepts.
    pub(super) fn new(bytes: &'a [u8], records: u32, identity: u32) -> Order<'a> {
        let ends = (records as usize).div_ceil(PIECE) * END;
        let (pieces, ends) = bytes.split_at(bytes.len().saturating_sub(ends));
        Order { pieces, ends, records, identity }
    }

    /// Returns the bits of a piece, after checking its checksum.
    fn piece(&self, piece: usize) -> Option<BitReader<'a>> {
        let end = |piece: usize| {
            let bytes = self.ends.get(piece * END..)?.first_chunk()?;
            usize::try_from(u64::from_le_bytes(*bytes)).ok()
        };
        let start = piece.checked_sub(1).map_or(Some(0), end)?;
        let bytes = self.pieces.get(start..end(piece)?)?;
        check::strip_placed(self.identity, piece as u64, bytes).map(BitReader::new)
    }

    /// Numbers of the records at a range of places. Both count from the start of the segment.
    pub(super) fn numbers(&self, places: Range<usize>) -> Result<Vec<u32>, ArchiveError> {
        let mut numbers = Vec::with_capacity(places.len());
        let mut next = places.start;
        while next < places.end {
            let piece = next / PIECE;
            let end = places.end.min((piece + 1) * PIECE);
            let read = self.read(piece, next % PIECE..end - piece * PIECE, &mut numbers);
            read.ok_or(ArchiveError::corrupt_at(PART, piece as u64))?;
            next = end;
        }
        Ok(numbers)
    }

    fn read(&self, piece: usize, places: Range<usize>, numbers: &mut Vec<u32>) -> Option<()> {
        let width = bits_of(self.records);
        let mut bits = self.piece(piece)?;
        let low_bits = bits.take(LOW_BITS_FIELD)? as u32;
        let mut before = None;
        let mut first = 0;
        if low_bits == IN_FULL {
            bits.skip(places.start * width as usize);
            first = places.start;
        }
        for place in first..places.end {
            let number = match before {
                Some(before) if low_bits != IN_FULL => match bits.take_some_ones(FAR_ONES)? {
                    FAR_ONES => bits.take(width)? as u32,
                    high => after(before, u64::from(high) << low_bits | bits.take(low_bits)?)?,
                },
                _ => bits.take(width)? as u32,
            };
            if number >= self.records {
                return None;
            }
            before = Some(number);
            if place >= places.start {
                numbers.push(number);
            }
        }
        let is_whole = places.end == PIECE || piece * PIECE + places.end == self.records as usize;
        (!is_whole || bits.is_at_end()).then_some(())
    }
}

/// The place of each record of a segment, by its number.
pub(super) struct Places(Vec<u32>);

impl Places {
    /// Makes the inverse of an order; refuses one whose inverse takes more than `memory_bytes`.
    pub(super) fn from_order(order: &Order, memory_bytes: usize) -> Result<Places, Refusal> {
        const NONE: u32 = u32::MAX;
        let records = order.records as usize;
        let needed = records.saturating_mul(size_of::<u32>());
        if needed > memory_bytes {
            return Err(Refusal::Memory);
        }
        let mut places = vec![NONE; records];
        for start in (0..records).step_by(PIECE) {
            let numbers = order.numbers(start..records.min(start + PIECE));
            for (place, number) in (start as u32..).zip(numbers.map_err(|_| Refusal::Damaged)?) {
                let slot = &mut places[number as usize];
                if *slot != NONE {
                    return Err(Refusal::Damaged);
                }
                *slot = place;
            }
        }
        Ok(Places(places))
    }

    /// Place of a record. Place and number count from the start of the segment.
    pub(super) fn get(&self, number: u32) -> Option<u32> {
        self.0.get(number as usize).copied()
    }

    pub(super) fn cost(&self) -> usize {
        size_of_val(&self.0[..])
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn numbers_and_places_lead_to_each_other() {
        for records in [1u32, 2, 3, 1023, 1024, 1025, 5000] {
            let numbers: Vec<u32> = (0..records).map(|place| (place * 7 + 3) % records).collect();
            let is_order = records % 7 != 0;
            let bytes = write(&numbers, 9);
            assert!(fits(bytes.len() as u64, records));
            let order = Order::new(&bytes, records, 9);
            assert_eq!(order.numbers(0..numbers.len()).unwrap(), numbers);
            let some = numbers.len() / 3..numbers.len() / 2 + 1;
            assert_eq!(order.numbers(some.clone()).unwrap(), numbers[some]);
            let places = Places::from_order(&order, 1 << 20);
            assert_eq!(places.is_ok(), is_order);
            for (place, number) in (0..).zip(numbers).filter(|_| is_order) {
                assert_eq!(places.as_ref().ok().and_then(|places| places.get(number)), Some(place));
            }
            assert!(records < 1000 || Places::from_order(&order, 1000).is_err());
        }
    }

    #[test]
    fn near_and_far_numbers_round_trip() {
        let stride = |step: usize| (0..step).flat_map(move |first| (first..9999).step_by(step));
        for step in [1, 2, 5, 100, 3000] {
            let numbers: Vec<u32> = stride(step).map(|number| number as u32).collect();
            let bytes = write(&numbers, 9);
            assert!(fits(bytes.len() as u64, 9999));
            assert!(
                bytes.len() < 14 * 9999 / 8 + 9999_usize.div_ceil(PIECE) * (5 + CHECK + END),
                "{step}"
            );
            assert!(step > 5 || bytes.len() < 6 * 9999 / 8, "{step}");
            assert_eq!(Order::new(&bytes, 9999, 9).numbers(0..9999).unwrap(), numbers);
        }
        for number in [0, 1, 77, u32::MAX - 1, u32::MAX] {
            for before in [0, 5, 77, u32::MAX] {
                assert_eq!(after(before, difference(number, before)), Some(number));
            }
        }
        assert_eq!((after(3, 7), after(u32::MAX, 2)), (None, None));
    }

    #[test]
    fn each_changed_byte_is_seen() {
        let numbers: Vec<u32> = (0..2000).rev().collect();
        let bytes = write(&numbers, 9);
        let (pieces, ends) = bytes.split_at(bytes.len() - 2000_usize.div_ceil(PIECE) * END);
        let end =
            |piece: usize| ends[piece * END..].first_chunk().map(|end| u64::from_le_bytes(*end));
        let first = end(0).unwrap();
        let second = end(1).unwrap();
        for place in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[place] ^= 0x10;
            assert!(Order::new(&changed, 2000, 9).numbers(0..2000).is_err(), "{place}");
        }
        assert!(Order::new(&bytes, 2000, 8).numbers(0..1).is_err());
        let (one, rest) = pieces.split_at(first as usize);
        let (two, rest) = rest.split_at((second - first) as usize);
        let exchanged = [two, one, rest, &(second - first).to_le_bytes(), &ends[END..]].concat();
        assert!(Order::new(&exchanged, 2000, 9).numbers(0..1).is_err());
    }
}
