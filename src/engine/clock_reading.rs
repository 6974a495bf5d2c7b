//! What the clocks of a game show, as engines are told it.

use std::time::Duration;

/// What the clocks of a game show.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug)]
pub struct ClockReading {
    /// The time that White and Black have left.
    pub left: [Duration; 2],
    /// What each gains by a move.
    pub increment: [Duration; 2],
    /// Moves until the player to move gains more time; `None` when what is left is for the whole game.
    pub moves_to_go: Option<u32>,
}

impl ClockReading {
    /// The clocks at which both players have the same.
    pub const fn of_both(left: Duration, increment: Duration, moves_to_go: Option<u32>) -> Self {
        ClockReading { left: [left; 2], increment: [increment; 2], moves_to_go }
    }

    /// The clocks after both players have thought for so long.
    pub(super) fn after(self, used: Duration) -> ClockReading {
        ClockReading { left: self.left.map(|left| left.saturating_sub(used)), ..self }
    }

    /// The increments that an engine is told, in milliseconds.
    pub(super) fn told_increments(&self) -> [Option<u64>; 2] {
        self.increment.map(|time| Some(milliseconds(time)).filter(|time| *time > 0))
    }

    /// The limits of the command `go`.
    pub(super) fn limits(&self) -> [(&'static str, Option<u64>); 5] {
        let [white, black] = self.left.map(milliseconds).map(Some);
        let [winc, binc] = self.told_increments();
        let moves_to_go = self.moves_to_go.map(u64::from);
        [
            ("wtime", white),
            ("btime", black),
            ("winc", winc),
            ("binc", binc),
            ("movestogo", moves_to_go),
        ]
    }
}

/// A time as engines are told it.
pub(super) fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
