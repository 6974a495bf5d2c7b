//! The names of positions, and of the rows in which their chunks stand.

/// A position as the tables name it.
#[derive(Copy, Clone)]
pub(in crate::store) struct PositionId<'a> {
    pub(in crate::store) key: u64,
    /// The packed identity board.
    pub(in crate::store) board: &'a [u8],
}

impl PositionId<'_> {
    /// The key of the chunk that begins with this import number.
    pub(super) fn chunk_key(&self, import_number: u64) -> Vec<u8> {
        [&self.key.to_be_bytes(), self.board, &import_number.to_be_bytes()].concat()
    }

    /// The keys between which those of all its chunks lie.
    pub(super) fn chunk_keys(&self) -> (Vec<u8>, Vec<u8>) {
        (self.chunk_key(0), self.chunk_key(u64::MAX))
    }
}

/// The parts of the key of a chunk: the position, and its first import number.
pub(in crate::store) fn split_chunk_key(bytes: &[u8]) -> Option<(PositionId<'_>, u64)> {
    let (key, rest) = bytes.split_first_chunk()?;
    let (board, number) = rest.split_last_chunk()?;
    let key = u64::from_be_bytes(*key);
    Some((PositionId { key, board }, u64::from_be_bytes(*number)))
}
