//! Tournaments between programs: what is to be played, by whom, how long, and what came of it.
//!
//! A [`Tournament`] is read from a file or from the words that other managers take on one line.
//! [`next_games`] says who meets whom, given the games that are over; [`openings::read`] from where they
//! begin; a [`TimeControl`] how long the players may think; an [`Adjudicator`] when a game is decided
//! before its end; [`to_game`] makes a game of the archive of it, and [`Standings`] the table. All of this is
//! pure: the same settings and outcomes give the same tournament.
//!
//! [`wire`] has the messages of referee and clients. An [`Arbiter`] takes what happens and says what is to be
//! done; a [`log`] keeps all of it, so that a tournament goes on after any interruption; [`server`] has the
//! channels and processes around it, and [`client`] the other side.

mod adjudication;
mod arbiter;
mod board;
pub mod client;
mod clock;
mod game_record;
pub mod log;
pub mod openings;
mod outcome;
mod pairing;
mod seat;
pub mod server;
mod settings;
mod snapshot;
pub mod sprt;
mod standings;
pub mod strength;
mod supervisor;
mod time_control;
pub mod wire;

pub use adjudication::{AdjudicationRules, Adjudicator, DrawRule, ResignRule};
pub use arbiter::{Action, Arbiter, Event, FinishedGame, Order};
pub use board::{Ending, GameBoard, Place};
pub use clock::Clocks;
pub use game_record::{PlayedMove, to_game};
pub use openings::{Opening, OpeningOrder, OpeningsSource};
pub use outcome::{Outcome, Termination};
pub use pairing::{Absences, Pairing, PairingRule, PairingState, next_games, pairing_state};
pub use seat::{ChannelId, SeatState};
pub use settings::{EloModel, Launch, Listen, Player, QuietTimeouts, Sprt, SyzygyRule, Tournament};
pub use snapshot::{RunningGame, SeatView, SideView, Snapshot};
pub use standings::{AgainstObject, Row, Standings, StandingsObject};
pub use supervisor::{COMMANDS, SupervisorCommand, parse_command};
pub use time_control::{Remaining, Stage, TimeControl};
