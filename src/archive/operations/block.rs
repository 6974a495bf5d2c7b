//! Encoding and decoding of the operations of a block of records.

use super::cost;
use super::initial_model::InitialModel;
use super::lazy_text::PositionOf;
use super::record::{OperationModel, Subject};
use crate::adaptive::{BitDecoder, BitEncoder};
use crate::error::Refusal;
use crate::move_links::MoveLinks;
use epdb_chess::model::Operation;

/// Encodes the operations of some records of a block, in order.
pub(crate) fn encode(start: &InitialModel, links: &mut MoveLinks, subjects: &[Subject]) -> Vec<u8> {
    let mut encoder = BitEncoder::new();
    let mut model = OperationModel::new(start.state(), usize::MAX);
    for subject in subjects {
        model.record(&mut encoder, links, subject);
    }
    padded(encoder.finish(), model.cost())
}

/// Pads coded operations with zeros until they are as long as their cost requires. The zeros change
/// nothing, because a decoder also reads zeros past the end of the bytes.
fn padded(mut bytes: Vec<u8>, cost: usize) -> Vec<u8> {
    bytes.resize(cost::bytes_for(cost).max(bytes.len()), 0);
    bytes
}

/// Decodes the operations of records. The caller gives the place of each record in the block, and
/// its chess position. Decoding stops with an error if it takes more than about `memory_bytes` of
/// memory. Calls `visit` with the place and the operations of each wanted record. Other records are
/// decoded only as far as later records need them.
pub(crate) fn decode(
    bytes: &[u8],
    start: &InitialModel,
    links: &mut MoveLinks,
    records: impl Iterator<Item = (usize, PositionOf)>,
    is_wanted: impl Fn(usize) -> bool,
    memory_bytes: usize,
    mut visit: impl FnMut(usize, Vec<Operation>),
) -> Result<(), Refusal> {
    let mut decoder = BitDecoder::new(bytes);
    let paid = cost::paid_by(bytes.len());
    let mut model = OperationModel::new(start.state(), paid.min(memory_bytes));
    for (place, position) in records {
        let read = if is_wanted(place) {
            let subject = Subject { place, position, operations: &[] };
            let operations = model.record(&mut decoder, links, &subject);
            operations.map(|operations| visit(place, operations))
        } else {
            model.pass(&mut decoder, links, place, position)
        };
        match read {
            Some(()) => {}
            None if let Some(unknown) = model.unknown => return Err(unknown),
            None if model.cost() <= memory_bytes || memory_bytes >= paid => {
                return Err(Refusal::Damaged);
            }
            None => return Err(Refusal::Memory),
        }
    }
    Ok(())
}

/// Number of bytes of records with operations after which a writer ends a segment.
pub(crate) const MAX_BLOCK: usize = 16 << 20;

#[cfg(test)]
mod tests {
    use super::*;
    use epdb_chess::model::{Opcode, Operand, Position};

    /// Forced moves and repeated texts take next to no bytes, but they take memory of a reader.
    #[test]
    fn what_operations_cost_a_reader_is_paid_for_in_bytes() {
        let position = PositionOf::Position(Position::START);
        for (operand, times) in
            [(Operand::string(vec![b'a'; 20_000]), 100), (Operand::Integer(1), 10_000)]
        {
            let operations = [Operation { opcode: Opcode::ACN, operands: vec![operand; times] }];
            let subject = Subject { place: 0, position, operations: &operations };
            let start = InitialModel::default();
            let mut encoder = BitEncoder::new();
            let mut model = OperationModel::new(start.state(), usize::MAX);
            model.record(&mut encoder, &mut MoveLinks::new(&[]), &subject);
            let bare = encoder.finish();
            assert!(model.cost() > cost::FREE);
            let bytes = encode(&start, &mut MoveLinks::new(&[]), &[subject]);
            assert!(bytes.starts_with(&bare));
            let within = |bytes: &[u8], memory_bytes| {
                let records = [(0, position)].into_iter();
                let mut read = Vec::new();
                let links = &mut MoveLinks::new(&[]);
                let visit = |_, operations| read.push(operations);
                decode(bytes, &start, links, records, |_| true, memory_bytes, visit).map(|()| read)
            };
            let read = |bytes: &[u8]| within(bytes, usize::MAX);
            assert_eq!(read(&bytes), Ok(vec![operations.to_vec()]));
            assert_eq!(within(&bytes, model.cost()), read(&bytes));
            assert_eq!(within(&bytes, model.cost() - 1), Err(Refusal::Memory));
            let paid = model.cost() <= cost::FREE + cost::OF_BYTE * bare.len();
            assert_eq!(read(&bare).is_ok(), paid);
            if bytes.len() > bare.len() {
                assert_eq!(read(&bytes[..bytes.len() - 1]), Err(Refusal::Damaged));
            }
        }
    }
}
