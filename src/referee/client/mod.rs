//! An engine as a client of a referee.
//!
//! [`KnownGame`] is the game as a client knows it, [`Conduct`] when it resigns, offers and takes draws,
//! and [`Client`] what answers the messages of a referee, with an engine that plays ([`Thinker`]).

mod conduct;
mod conversation;
mod known_game;
mod thinker;

/// The environment variable that has the token of a client that a referee starts: the client signs on with
/// it as its address, by which the referee knows it.
pub const TOKEN_VARIABLE: &str = "EPDB_TOKEN";

pub use conduct::{Conduct, Threshold};
pub use conversation::{Client, ClientError, End, NoAnswer, Note};
pub use known_game::KnownGame;
pub use thinker::{EngineThinker, Interrupt, Thinker, Thought, Turn};
