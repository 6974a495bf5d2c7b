//! Positions whose perft counts stand on lines of their own, as in perft-random.epd:
//!
//! ```text
//! id gentest-1
//! epd rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -
//! perft 1 20
//! perft 2 400
//! ```

use crate::model::{EpdRecord, Opcode, Operand, Operation};

/// A record whose counts are being gathered.
pub(super) struct Block {
    pub(super) record: EpdRecord,
    /// The number of the line of the position.
    pub(super) line: u64,
    /// All lines of the block.
    pub(super) raw: Vec<u8>,
}

/// A line that belongs to a block.
#[derive(PartialEq, Eq, Debug)]
pub(super) enum BlockLine<'a> {
    /// `id NAME`.
    Id(&'a [u8]),
    /// `epd FIELDS`.
    Position,
    /// `perft DEPTH NODES`.
    Count(Opcode, &'a [u8]),
}

impl BlockLine<'_> {
    pub(super) fn of(line: &[u8]) -> Option<BlockLine<'_>> {
        let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        match (words.next()?, words.next()?, words.next(), words.next()) {
            (b"id", name, None, None) => Some(BlockLine::Id(name)),
            (b"epd", _, Some(_), Some(_)) => Some(BlockLine::Position),
            (b"perft", depth, Some(nodes), None)
                if [depth, nodes].iter().all(|word| word.iter().all(u8::is_ascii_digit)) =>
            {
                Some(BlockLine::Count(Opcode::new(&[b"D", depth].concat()).ok()?, nodes))
            }
            _ => None,
        }
    }
}

impl Block {
    /// Begins with a position and the line `id NAME` before it, if there was one.
    pub(super) fn new(
        mut record: EpdRecord,
        line: u64,
        id: Option<(u64, Vec<u8>)>,
        raw: &[u8],
    ) -> Block {
        let mut lines = id.map(|(_, id)| id).unwrap_or_default();
        let own = lines.split_inclusive(|byte| matches!(byte, b'\r' | b'\n')).next();
        if let Some(BlockLine::Id(name)) = own.and_then(BlockLine::of)
            && record.operands(Opcode::ID).is_none()
        {
            record.set(Operation { opcode: Opcode::ID, operands: vec![Operand::string(name)] });
        }
        lines.extend_from_slice(raw);
        Block { record, line, raw: lines }
    }

    /// Adds a count; false when the record has another for the depth.
    pub(super) fn add(&mut self, opcode: Opcode, nodes: &[u8]) -> bool {
        let is_new = self.record.operands(opcode).is_none();
        if is_new {
            self.record.set(Operation { opcode, operands: vec![Operand::token(nodes)] });
        }
        is_new
    }
}
