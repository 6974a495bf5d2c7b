//! Reading of the records of a damaged archive of level default.

use std::ops::{ControlFlow, Range};

use super::block::Block;
use super::reader::BlockReader;
use crate::columns::Row;
use crate::damage::{Damage, DamagedPart, Salvaged};
use crate::error::ArchiveError;
use epdb_chess::model::EpdRecord;

type Visit<'v, E> = dyn FnMut(Salvaged) -> Result<ControlFlow<()>, E> + 'v;

impl BlockReader {
    /// Passes the records of a range to `visit`, and the damaged parts that have some of them.
    pub(crate) fn salvage<E: From<ArchiveError>>(
        &self,
        range: &Range<u64>,
        visit: &mut Visit<'_, E>,
    ) -> Result<(), E> {
        for (place, segment) in self.segments().iter().enumerate() {
            let own = range.start.max(segment.span.first)..range.end.min(segment.span.end());
            if own.is_empty() {
                continue;
            }
            let flow = match self.damage_of_all(place, &own)? {
                Some(damage) => {
                    let are_lost = damage.records > 0;
                    let flow = visit(Salvaged::Damage(damage))?;
                    if are_lost || flow.is_break() {
                        flow
                    } else {
                        self.salvage_blocks(place, own, visit)?
                    }
                }
                None if segment.is_ordered() => self.salvage_ordered(place, own, visit)?,
                None => self.salvage_blocks(place, own, visit)?,
            };
            if flow.is_break() {
                break;
            }
        }
        Ok(())
    }

    /// Returns the damage of a part that all blocks of a segment need. If only the order of the
    /// records is damaged, no record is lost when the whole segment is read. But a part of the
    /// segment cannot be read by record numbers.
    fn damage_of_all(
        &self,
        place: usize,
        own: &Range<u64>,
    ) -> Result<Option<Damage>, ArchiveError> {
        let segment = &self.segments()[place];
        let all = own.end - own.start;
        let (part, section, records) = if Damage::or_none(self.coder(place))?.is_none() {
            (DamagedPart::Model, segment.model, all)
        } else if segment.is_ordered()
            && Damage::or_none(self.place_of(place, own.start))?.is_none()
        {
            let is_whole = all == u64::from(segment.span.records);
            (DamagedPart::Order, segment.order, if is_whole { 0 } else { all })
        } else {
            return Ok(None);
        };
        let bytes = section.offset..section.offset + section.len;
        let number = place as u64;
        Ok(Some(Damage { part, number, bytes, first: own.start, records, in_sequence: true }))
    }

    /// Passes records to `visit`, in the order of the blocks.
    fn salvage_blocks<E: From<ArchiveError>>(
        &self,
        place: usize,
        own: Range<u64>,
        visit: &mut Visit<'_, E>,
    ) -> Result<ControlFlow<()>, E> {
        let segment = &self.segments()[place];
        for number in segment.block_of(own.start)..=segment.block_of(own.end - 1) {
            let first = segment.first_of(number);
            let numbers = own.start.max(first)..own.end.min(first + segment.block_len(first));
            let places = (numbers.start - first) as usize..(numbers.end - first) as usize;
            let len = places.len();
            let read = self.block(place, number).and_then(|block| block.records_in(places));
            let records = Damage::or_none(read)?.filter(|records| records.len() == len);
            let Some(records) = records else {
                let damage = self.damage(place, number, numbers.start, len as u64);
                if visit(Salvaged::Damage(damage))?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
                continue;
            };
            if pass(numbers.zip(records), visit)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// The damage of a block that has some records of a range, without gaps from `first` on.
    fn damage(&self, place: usize, block: u32, first: u64, records: u64) -> Damage {
        let before = self.segments()[..place].iter().map(|segment| u64::from(segment.blocks()));
        let segment = &self.segments()[place];
        let range = segment.ranges(self.bytes(), std::iter::once(block)).ok();
        let bytes = match range.as_deref() {
            Some([range]) => range.clone(),
            // The directory is damaged, so the place of the block is not known.
            _ => segment.blocks.offset..segment.blocks.offset + segment.blocks.len,
        };
        let number = before.sum::<u64>() + u64::from(block);
        Damage { part: DamagedPart::Block, number, bytes, first, records, in_sequence: true }
    }

    /// Passes the records of a segment with sorted rows to `visit`, in the order of their numbers.
    fn salvage_ordered<E: From<ArchiveError>>(
        &self,
        place: usize,
        own: Range<u64>,
        visit: &mut Visit<'_, E>,
    ) -> Result<ControlFlow<()>, E> {
        let max = self.rows_in_memory();
        let mut next = own.start;
        while next < own.end {
            let window = next..own.end.min(next + max);
            let mut rows = vec![None; (window.end - window.start) as usize];
            for block in 0..self.segments()[place].blocks() {
                let lost = self.read_into(place, block, &window, &mut rows)?;
                if let Some(damage) = lost
                    && visit(Salvaged::Damage(damage))?.is_break()
                {
                    return Ok(ControlFlow::Break(()));
                }
            }
            next = window.end;
            let records =
                window.zip(rows).filter_map(|(number, row)| Some((number, row?.record()?)));
            if pass(records, visit)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Reads the rows of a block that are in a window of numbers. If the block is damaged, so that
    /// some of these rows are lost, returns the damage.
    fn read_into(
        &self,
        place: usize,
        block: u32,
        window: &Range<u64>,
        rows: &mut [Option<Row>],
    ) -> Result<Option<Damage>, ArchiveError> {
        let segment = &self.segments()[place];
        let first = segment.first_of(block);
        let len = segment.block_len(first);
        let numbers = self.numbers(segment, first..first + len)?;
        let rows_of = |block: Block| Ok(block.rows_in(0..len as usize)?.into_owned());
        let read = self.block(place, block).and_then(rows_of);
        // A block with a row that cannot be used is damaged too.
        let usable = |row: &Row| !row.has_operations() && row.record().is_some();
        let Some(intact) = Damage::or_none(read)?.filter(|rows| rows.iter().all(usable)) else {
            let lost = numbers.iter().filter(|number| window.contains(number));
            let Some(&first_lost) = lost.clone().min() else { return Ok(None) };
            let damage = self.damage(place, block, first_lost, lost.count() as u64);
            return Ok(Some(Damage { in_sequence: false, ..damage }));
        };
        for (row, number) in intact.into_iter().zip(numbers) {
            if window.contains(&number) {
                rows[(number - window.start) as usize] = Some(row);
            }
        }
        Ok(None)
    }
}

/// Passes records with their numbers to `visit`.
fn pass<E>(
    records: impl Iterator<Item = (u64, EpdRecord)>,
    visit: &mut Visit<'_, E>,
) -> Result<ControlFlow<()>, E> {
    for (number, record) in records {
        if visit(Salvaged::Record { number, record })?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(()))
}
