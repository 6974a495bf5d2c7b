//! Display and input of `epdb referee`.

mod console;
mod display;

pub(crate) use display::{Display, leave_terminal};
