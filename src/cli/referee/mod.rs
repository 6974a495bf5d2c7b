//! What `epdb referee` shows and reads.

mod console;
mod plain;

pub(crate) use console::Console;
pub(crate) use plain::Plain;
