//! How long players may think, and what is left of it.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// How long a player may think.
///
/// It is written as tools for tournaments have it: `40/60+0.5` is 40 moves in 60 seconds with half a
/// second more after each, `1:30+1` a minute and a half for the game, `5/move` five seconds for each
/// move, `inf` as long as one likes. Stages are separated by commas, and the last one repeats if it
/// counts moves.
///
/// ```
/// use epdb::referee::TimeControl;
/// let time: TimeControl = "40/90:00+30,30:00+30".parse()?;
/// assert_eq!(time.to_string(), "40/5400+30,1800+30");
/// assert_eq!(time.tag(), "40/5400+30:1800+30");
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum TimeControl {
    /// No clock decides.
    Unlimited,
    /// So long for each move; what is left over is lost.
    PerMove(Duration),
    /// One stage after the other, at least one; only the last may be without a number of moves.
    Stages(Vec<Stage>),
}

/// A part of a time control.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct Stage {
    /// How many moves it has, not 0; `None` for all that come.
    pub moves: Option<u32>,
    /// What the clock gets when the stage begins.
    pub time: Duration,
    /// What it gets after each move.
    pub increment: Duration,
}

/// What one player has left before a move.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct Remaining {
    /// The time; `None` where no clock decides.
    pub time: Option<Duration>,
    /// Moves until the next stage, this one included; `None` where none comes.
    pub moves: Option<u32>,
    /// The stage, from 0.
    pub stage: usize,
}
