//! Standard Algebraic Notation: moves read and written.

mod notations;
mod quick;
mod read;
mod write;

pub(crate) use notations::{fitting, is_note};
pub(crate) use quick::{Situation, Token, quick};
pub(crate) use read::find;
pub use read::{MoveError, SanRead, parse};
pub use write::{format, uci, without_marks};
