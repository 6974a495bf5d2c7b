//! Events of an arbiter, and the actions that follow.

use crate::model::GameResult;
use crate::referee::openings::Opening;
use crate::referee::seat::ChannelId;
use crate::referee::settings::QuietTimeouts;

/// Something that happened. All that an arbiter knows, it knows from these.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// A referee begins, or goes on where another one ended: all channels of before are gone.
    Session {
        /// The time of day in seconds since 1970.
        unix: u64,
    },
    /// A client has connected.
    Opened(ChannelId),
    /// A line came, complete.
    Line(ChannelId, Vec<u8>),
    /// A line came that is too long.
    TooLong(ChannelId),
    /// The last `respond` of the channel was written.
    Written(ChannelId),
    /// The channel was closed by the other side.
    Closed(ChannelId),
    /// The program on a seat has ended.
    Exited(usize),
    /// The client that is started next for a seat signs on with this as its address; of a player that comes by
    /// itself and has a token file, each client, and the seat is its first one.
    Token(usize, String),
    /// An opening that was asked for.
    Opening(usize, Opening),
    /// The result of the tablebases for the position of a game; unknown if they do not have it.
    Tablebase {
        /// The number of the game.
        game: u32,
        /// The result with best play.
        result: GameResult,
    },
    /// The supervisor wants something.
    Order(Order),
    /// Time has passed, and all that came before was taken.
    Tick,
}

/// A command of the supervisor.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Order {
    /// Wait for the supervisor where a client has broken the rules.
    Attend,
    /// The supervisor goes: decide without it.
    Leave,
    /// Begin no game, and ask for no move.
    Pause,
    /// Go on.
    Resume,
    /// End a game.
    Adjudicate {
        /// Its number.
        game: u32,
        /// The result of the game.
        result: GameResult,
    },
    /// Close the channel of a client, by its seat, and let it begin again.
    Restart(usize),
    /// Change the silences.
    QuietTimeouts(QuietTimeouts),
}

/// Something that is to be done, in the order in which it is asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Action {
    /// Send a line.
    Send {
        /// The channel.
        channel: ChannelId,
        /// The line, without its end.
        line: Vec<u8>,
        /// Whether [`Event::Written`] is to say when it was written.
        is_respond: bool,
    },
    /// Close a channel when all is sent.
    Close(ChannelId),
    /// Start the client of a seat. [`Event::Token`] says with which token.
    Start(usize),
    /// End without an end of the tournament: the client of this seat cannot be started.
    GiveUp(usize),
    /// Say an opening by its place, as [`Event::Opening`].
    FetchOpening(usize),
    /// Ask the tablebases for the position of a game, as [`Event::Tablebase`].
    Probe(u32),
    /// A game is over, the last one of [`Arbiter::finished`](super::Arbiter::finished).
    GameOver {
        /// Its number.
        game: u32,
        /// The result of the game.
        result: GameResult,
    },
    /// Tell the supervisor.
    Message(String),
    /// The tournament is over.
    Ended,
}
