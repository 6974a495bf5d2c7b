//! What `epdb referee` shows and reads.

mod console;
mod display;
mod plain;

pub(crate) use display::{Display, leave_terminal};
