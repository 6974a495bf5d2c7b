//! An engine as a client of a referee.
//!
//! [`KnownGame`] is the game as a client knows it. [`Conduct`] says when the client resigns, and when it
//! offers, accepts or claims a draw. [`Client`] answers the messages of a referee. A [`Thinker`], such as an
//! engine, finds the moves.

mod conduct;
mod conversation;
mod known_game;
mod thinker;

/// Environment variable with the token of a client that the referee starts. The client signs on
/// with the token as its address, so that the referee recognises it.
pub const TOKEN_VARIABLE: &str = "EPDB_TOKEN";

pub use conduct::{Conduct, Threshold};
pub use conversation::{Client, ClientError, End, NoAnswer, Note};
pub use known_game::KnownGame;
pub use thinker::{EngineThinker, Interrupt, Thinker, Thought, Turn};
