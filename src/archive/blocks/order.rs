//! Which record of a segment whose rows are sorted stands where: their numbers in the segment, in
//! the order of their places.

use std::ops::Range;

use super::bits::{BitReader, BitWriter};
use crate::archive::error::{ArchiveError, Refusal};
use crate::archive::file::check;

/// Numbers in a piece.
const PIECE: usize = 1024;
/// Bytes of a piece's check.
const CHECK: usize = 4;
const PART: &str = "order of records";

/// Bits of a number among so many.
const fn bits_of(records: u32) -> u32 {
    u32::BITS - (records - 1).leading_zeros()
}

/// Bytes of a piece of so many numbers.
const fn piece_len(numbers: usize, records: u32) -> usize {
    (numbers * bits_of(records) as usize).div_ceil(8) + CHECK
}

/// Bytes of the numbers of so many records, at least one.
pub(super) const fn len(records: u32) -> u64 {
    let (whole, rest) = (records as usize / PIECE, records as usize % PIECE);
    let last = if rest > 0 { piece_len(rest, records) } else { 0 };
    (whole * piece_len(PIECE, records) + last) as u64
}

/// The bytes of numbers.
pub(super) fn write(numbers: &[u32], identity: u32) -> Vec<u8> {
    let width = bits_of(numbers.len() as u32);
    let mut out = Vec::new();
    for (place, piece) in (0..).zip(numbers.chunks(PIECE)) {
        let mut bits = BitWriter::default();
        piece.iter().for_each(|&number| bits.put(number.into(), width));
        let mut bytes = bits.finish();
        check::append_placed(identity, place, &mut bytes);
        out.append(&mut bytes);
    }
    out
}

/// The numbers of the records of a segment, by their places.
pub(super) struct Order<'a> {
    bytes: &'a [u8],
    records: u32,
    identity: u32,
}

impl<'a> Order<'a> {
    /// Takes bytes as many as [`len`] says.
    pub(super) const fn new(bytes: &'a [u8], records: u32, identity: u32) -> Order<'a> {
        Order { bytes, records, identity }
    }

    /// A piece, its check verified.
    fn piece(&self, piece: usize) -> Option<&'a [u8]> {
        let start = piece * piece_len(PIECE, self.records);
        let numbers = (self.records as usize).checked_sub(piece * PIECE)?.min(PIECE);
        let bytes = self.bytes.get(start..start + piece_len(numbers, self.records))?;
        check::strip_placed(self.identity, piece as u64, bytes)
    }

    /// The numbers at some places, in the segment.
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
        let mut bits = BitReader::new(self.piece(piece)?);
        bits.skip(places.start * width as usize);
        for _ in places {
            let number = bits.take(width).map(|number| number as u32);
            numbers.push(number.filter(|&number| number < self.records)?);
        }
        Some(())
    }
}

/// The places of the records of a segment, by their numbers.
pub(super) struct Places(Vec<u32>);

impl Places {
    /// Those of an order, in about `memory` bytes.
    pub(super) fn of(order: &Order, memory: usize) -> Result<Places, Refusal> {
        const NONE: u32 = u32::MAX;
        let records = order.records as usize;
        let needed = records.saturating_mul(size_of::<u32>());
        if needed > memory {
            return Err(Refusal::Memory);
        }
        let mut places = vec![NONE; records];
        for start in (0..records).step_by(PIECE) {
            let numbers = order.numbers(start..records.min(start + PIECE));
            for (place, number) in (start as u32..).zip(numbers.map_err(|_| Refusal::Damaged)?) {
                if std::mem::replace(&mut places[number as usize], place) != NONE {
                    return Err(Refusal::Damaged);
                }
            }
        }
        Ok(Places(places))
    }

    /// The place of a record, both counted in the segment.
    pub(super) fn of_number(&self, number: u32) -> Option<u32> {
        self.0.get(number as usize).copied()
    }

    /// What it takes, in bytes.
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
            assert_eq!(bytes.len() as u64, len(records));
            let order = Order::new(&bytes, records, 9);
            assert_eq!(order.numbers(0..numbers.len()).unwrap(), numbers);
            let some = numbers.len() / 3..numbers.len() / 2 + 1;
            assert_eq!(order.numbers(some.clone()).unwrap(), numbers[some]);
            let places = Places::of(&order, 1 << 20);
            assert_eq!(places.is_ok(), is_order);
            for (place, number) in (0..).zip(numbers).filter(|_| is_order) {
                assert_eq!(
                    places.as_ref().ok().and_then(|places| places.of_number(number)),
                    Some(place)
                );
            }
            assert!(records < 1000 || Places::of(&order, 1000).is_err());
        }
    }

    #[test]
    fn each_changed_byte_is_seen() {
        let numbers: Vec<u32> = (0..2000).rev().collect();
        let bytes = write(&numbers, 9);
        for place in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[place] ^= 0x10;
            assert!(Order::new(&changed, 2000, 9).numbers(0..2000).is_err(), "{place}");
        }
        assert!(Order::new(&bytes, 2000, 8).numbers(0..1).is_err());
        let exchanged =
            [&bytes[piece_len(PIECE, 2000)..], &bytes[..piece_len(PIECE, 2000)]].concat();
        assert!(Order::new(&exchanged, 2000, 9).numbers(0..1).is_err());
    }
}
