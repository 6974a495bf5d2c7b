//! The operations of a block as bytes.

use super::cost;
use super::record::OperationModel;
use crate::archive::adaptive::{BitDecoder, BitEncoder};
use crate::archive::error::Refusal;
use crate::model::{Operation, Position};

/// The operations of some records, in the order of the records.
pub(in crate::archive) fn encode<'a>(
    records: impl Iterator<Item = (Position, &'a [Operation])>,
) -> Vec<u8> {
    let mut encoder = BitEncoder::new();
    let mut model = OperationModel::up_to(usize::MAX);
    for (position, operations) in records {
        model.record(&mut encoder, &position, operations);
    }
    padded(encoder.finish(), model.cost())
}

/// Puts as many zeros behind coded operations as make them pay for what they cost a decoder. Zeros
/// are what that finds behind the end anyway.
fn padded(mut bytes: Vec<u8>, cost: usize) -> Vec<u8> {
    bytes.resize(cost::bytes_for(cost).max(bytes.len()), 0);
    bytes
}

/// The operations of records at these positions, in about `memory` bytes.
pub(in crate::archive) fn decode(
    bytes: &[u8],
    positions: impl Iterator<Item = Position>,
    memory: usize,
) -> Result<Vec<Vec<Operation>>, Refusal> {
    let mut decoder = BitDecoder::new(bytes);
    let paid = cost::paid_by(bytes.len());
    let mut model = OperationModel::up_to(paid.min(memory));
    let read: Option<_> =
        positions.map(|position| model.record(&mut decoder, &position, &[])).collect();
    let is_allowed = model.cost() <= memory || memory >= paid;
    read.ok_or(if is_allowed { Refusal::Damaged } else { Refusal::Memory })
}

/// The most bytes of EPD records with operations before a writer ends a segment.
pub(in crate::archive) const MAX_BLOCK: usize = 16 << 20;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Opcode, Operand};

    /// D-W1. Forced moves and repeated texts cost a writer next to nothing, and a reader memory.
    #[test]
    fn what_operations_cost_a_reader_is_paid_for_in_bytes() {
        let position = Position::START;
        for (operand, times) in
            [(Operand::string(vec![b'a'; 20_000]), 100), (Operand::Integer(1), 10_000)]
        {
            let operations = [Operation { opcode: Opcode::ACN, operands: vec![operand; times] }];
            let mut encoder = BitEncoder::new();
            let mut model = OperationModel::up_to(usize::MAX);
            model.record(&mut encoder, &position, &operations);
            let bare = encoder.finish();
            assert!(model.cost() > cost::FREE);
            let bytes = encode([(position, &operations[..])].into_iter());
            assert!(bytes.starts_with(&bare));
            let read = |bytes: &[u8]| decode(bytes, [position].into_iter(), usize::MAX);
            assert_eq!(read(&bytes), Ok(vec![operations.to_vec()]));
            let within = |memory| decode(&bytes, [position].into_iter(), memory);
            assert_eq!(within(model.cost()), read(&bytes));
            assert_eq!(within(model.cost() - 1), Err(Refusal::Memory));
            let paid = model.cost() <= cost::FREE + cost::OF_BYTE * bare.len();
            assert_eq!(read(&bare).is_ok(), paid);
            if bytes.len() > bare.len() {
                assert_eq!(read(&bytes[..bytes.len() - 1]), Err(Refusal::Damaged));
            }
        }
    }
}
