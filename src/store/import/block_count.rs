//! Over how many blocks the keys are spread: so many that blocks fill the pages in which redb keeps
//! values, whose sizes are powers of two.

use super::batch::Batch;
use crate::store::block::width_of;
use crate::store::journal::ImportCounts;
use crate::store::schema::{BLOCK_PAGE_BYTES, BLOCK_PAGE_OVERHEAD, Meta};

/// How many blocks the store should have with the batch in it, if as much of it is stored as of
/// what the import brought so far.
pub(super) fn choose_blocks(meta: &Meta, batch: &Batch, so_far: &ImportCounts) -> u64 {
    let width = usize::from(width_of(meta.next_import_number + batch.len() as u64));
    let fresh = (batch.record_bytes() + batch.len() * (width + 3)) as f64;
    let stored = if so_far.read == 0 { 1.0 } else { so_far.stored as f64 / so_far.read as f64 };
    let bytes = meta.block_bytes + (fresh * stored) as u64;
    let records = meta.records + (batch.len() as f64 * stored) as u64;
    let wanted = blocks_for(bytes, records);
    let all_change = batch.len() as u64 >= meta.blocks / 2;
    let (slack, reserve) = if all_change {
        (meta.blocks.abs_diff(wanted), 0)
    } else {
        (wanted.saturating_sub(meta.blocks), wanted / 16)
    };
    let bearable = meta.blocks / if all_change { 100 } else { 50 };
    if slack <= bearable { meta.blocks } else { wanted + reserve }
}

/// So many blocks that few of them outgrow a page. The records of a block are a random sample, so
/// its length varies with the root of their number.
pub(super) fn blocks_for(bytes: u64, records: u64) -> u64 {
    let page = (BLOCK_PAGE_BYTES - BLOCK_PAGE_OVERHEAD) as f64;
    let entry = bytes as f64 / records.max(1) as f64;
    if bytes as f64 <= page {
        return 1;
    }
    let spread = 2.3 * (page / entry).sqrt() * entry;
    (bytes as f64 / (page - spread).max(page / 2.0)).ceil() as u64
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::model::{EpdRecord, Position};

    /// A block that outgrows its page takes two.
    #[test]
    fn blocks_fill_their_pages_while_a_store_grows_by_little() {
        let mut batch = Batch::new(1 << 20);
        batch.push(0, &EpdRecord::new(Position::START)).unwrap();
        let (mut meta, entry) = (Meta { blocks: 100, ..Meta::EMPTY }, 29);
        meta.records = 100 * 2100;
        while meta.records < 200 * 2100 {
            meta.records += meta.records / 200;
            meta.block_bytes = meta.records * entry;
            meta.blocks = choose_blocks(&meta, &batch, &ImportCounts::default());
            let mean = meta.block_bytes as f64 / meta.blocks as f64;
            let least_spread = (mean / entry as f64).sqrt() * entry as f64;
            let page = (BLOCK_PAGE_BYTES - BLOCK_PAGE_OVERHEAD) as f64;
            assert!(mean + 1.3 * least_spread < page && mean > 0.85 * page, "{mean}");
        }
        assert!(meta.blocks > 200);
    }
}
