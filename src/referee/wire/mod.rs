//! Messages between a referee and its clients: EPD records, one per line
//! (`formats/notes/referee_wire.md`).
//!
//! A client sends a [`Request`], and the referee sends a [`Directive`]. Both can be read from a
//! line or a record, and written as a line or a record in canonical form. Opcodes that no message
//! has are ignored.

mod clocks;
mod directive;
mod framing;
mod operations;
mod request;

pub(super) use clocks::MAX_TIME;
pub use clocks::{TimeLeft, UsedTime};
pub use directive::{Command, Directive};
pub use framing::{Incoming, Lines, MAX_LINE, open_line, write_line};
pub(crate) use operations::NOT_SIGNED_ON;
pub use operations::WireError;
pub use operations::fits_in_string;
pub use request::{DrawWord, Reply, Request, SearchReport};
