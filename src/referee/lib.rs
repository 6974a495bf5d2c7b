//! Tournaments between chess programs: settings, pairings, games and standings.
//!
//! This crate may change with every version: programs rely on the crate `epdb`, or on `epdb-chess`.
//!
//! A [`Tournament`] is read from a file, or from command-line words in the style of other
//! tournament managers. [`next_games`] pairs players, given the games that are over.
//! [`openings::read`] reads the openings. A [`TimeControl`] says how long the players may think. An
//! [`Adjudicator`] decides games before their end. [`to_game`] converts a finished game to one that an
//! archive can store. [`Standings`] are the table. All of these depend only on their arguments: the
//! same settings and outcomes give the same tournament.
//!
//! [`wire`] has the messages between referee and clients. An [`Arbiter`] takes events and returns
//! the actions that follow from them. A [`log`] keeps events and actions, so that a tournament can
//! be resumed after any interruption. [`server`] runs the channels and processes of a referee, and
//! [`client`] is the other side of a channel.

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
