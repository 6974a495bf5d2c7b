//! Events of an arbiter, and the actions that follow.

use crate::openings::Opening;
use crate::seat::ChannelId;
use crate::settings::QuietTimeouts;
use epdb_chess::model::GameResult;

/// Something that happened. Besides the settings, an arbiter knows only its events.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// A referee begins, or resumes where another referee ended. All earlier channels are gone.
    Session {
        /// The time of day in seconds since 1970.
        unix: u64,
    },
    /// A client has connected.
    Opened(ChannelId),
    /// A complete line arrived.
    Line(ChannelId, Vec<u8>),
    /// A line that is too long arrived.
    TooLong(ChannelId),
    /// A `respond` was written to the channel.
    Written(ChannelId),
    /// The channel was closed by the other side.
    Closed(ChannelId),
    /// The program on a seat has ended.
    Exited(usize),
    /// The token that the next client to be started for this seat sends as its address. If the player's
    /// clients connect by themselves, it is the token in the player's token file, which all these clients
    /// send. The seat is then the first seat of the player.
    Token(usize, String),
    /// The opening with this number, which an action requested.
    Opening(usize, Opening),
    /// The result of the tablebases for the position of a game; unknown if the tablebases do not
    /// have the position.
    Tablebase {
        /// The number of the game.
        game: u32,
        /// The result with best play.
        result: GameResult,
    },
    /// The supervisor gave a command.
    Order(Order),
    /// Time has passed, and all earlier events have been taken.
    Tick,
}

/// A command of the supervisor.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Order {
    /// From now on, wait for the supervisor if a client breaks the rules.
    Attend,
    /// From now on, decide without the supervisor.
    Leave,
    /// Pause: begin no game, and ask for no move.
    Pause,
    /// End the pause.
    Resume,
    /// End a game.
    Adjudicate {
        /// The number of the game.
        game: u32,
        /// The result of the game.
        result: GameResult,
    },
    /// Close the channel of the client on this seat, so that it can sign on again.
    Restart(usize),
    /// Change the periods in which clients are sent nothing.
    QuietTimeouts(QuietTimeouts),
}

/// Something that the referee must do. Actions are carried out in the order in which they are returned.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Action {
    /// Send a line.
    Send {
        /// The channel.
        channel: ChannelId,
        /// The line, without its end.
        line: Vec<u8>,
        /// True if the line is a `respond`; [`Event::Written`] must then report when it was
        /// written.
        is_respond: bool,
    },
    /// Close a channel after all its lines have been sent.
    Close(ChannelId),
    /// Start the client of a seat. [`Event::Token`] reports its token.
    Start(usize),
    /// End the referee but not the tournament, because the client of this seat cannot be started.
    GiveUp(usize),
    /// Look up the opening with this number; [`Event::Opening`] reports it.
    FetchOpening(usize),
    /// Ask the tablebases for the position of this game; [`Event::Tablebase`] reports the result.
    Probe(u32),
    /// A game is over. It is the last game of [`Arbiter::finished`](super::Arbiter::finished).
    GameOver {
        /// The number of the game.
        game: u32,
        /// The result of the game.
        result: GameResult,
    },
    /// Send this message to the supervisor.
    Message(String),
    /// The tournament is over.
    Ended,
}
