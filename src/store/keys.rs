//! Under which keys the store files positions.

use crate::codec::{key, packed};

/// What is made of position keys: nothing, but in tests of keys that collide.
pub(super) type KeyFunction = fn(u64) -> u64;

/// The key of a packed identity board; `None` when it is none.
pub(super) fn key_of_board(map: KeyFunction, board: &[u8]) -> Option<u64> {
    let is_whole = packed::len_of(board).is_ok_and(|len| len == board.len());
    key::board_key(board).ok().filter(|_| is_whole).map(map)
}
