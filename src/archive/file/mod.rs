//! The frame of a file: its fixed structures and sections, and how their bytes are had, checked and
//! written.

pub(super) mod bytes;
pub(super) mod check;
mod crc_words;
pub(super) mod layout;
mod map;
pub(super) mod sections;
pub(super) mod sink;
pub(super) mod sized;
pub(super) mod span;
