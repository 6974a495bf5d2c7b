//! What `epdb referee` shows and reads.

mod console;
mod display;

pub(crate) use display::{Display, leave_terminal};
