//! Display and input of `epdb referee`.

mod console;
mod display;

pub(crate) use console::Console;
pub(crate) use display::Display;
