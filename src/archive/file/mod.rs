//! The container: fixed structures and sections of a file, and reading, checking and writing their
//! bytes.

pub(super) mod bytes;
pub(super) mod check;
mod crc_words;
pub(super) mod layout;
mod map;
pub(super) mod sections;
pub(super) mod sink;
pub(super) mod sized;
pub(super) mod span;
