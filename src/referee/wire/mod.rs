//! Messages between a referee and its clients: EPD records, one a line (`formats/referee_wire.md`).
//!
//! A client sends a [`Request`], the referee a [`Directive`]. Both are read from a line or a record
//! and written as one; what is written is canonical. Opcodes that no message knows are passed over.

mod clocks;
mod directive;
mod framing;
mod operations;
mod request;

pub(super) use clocks::MAX_TIME;
pub use clocks::{TimeLeft, UsedTime};
pub use directive::{Command, Directive};
pub use framing::{Incoming, Lines, MAX_LINE, open_line, write_line};
pub use operations::fits_in_string;
pub use operations::{NOT_SIGNED_ON, WireError};
pub use request::{DrawWord, Reply, Request, SearchReport};
