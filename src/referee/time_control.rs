//! Time controls and remaining times.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use super::wire::MAX_TIME;

/// A time control.
///
/// A time control is written as in other tournament managers:
///
/// - `40/60+0.5`: 40 moves in 60 seconds, with half a second more after each move.
/// - `1:30+1`: a minute and a half for the game, with a second more after each move.
/// - `0/60`: 60 seconds for the game.
/// - `5/move`: five seconds for each move.
/// - `*180`: an hourglass of three minutes.
/// - `inf`: no limit.
///
/// Stages are separated by commas. The last stage repeats if it has a number of moves.
///
/// ```
/// use epdb_referee::TimeControl;
/// let time: TimeControl = "40/90:00+30,30:00+30".parse()?;
/// assert_eq!(time.to_string(), "40/5400+30,1800+30");
/// assert_eq!(time.tag(), "40/5400+30:1800+30");
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum TimeControl {
    /// There is no limit of time.
    Unlimited,
    /// The time for each move. Time that is not used is lost.
    PerMove(Duration),
    /// An hourglass: the time that one side uses is added to the clock of the other side.
    Hourglass(Duration),
    /// One stage after the other, at least one. Only the last stage may lack a number of moves.
    Stages(Vec<Stage>),
}

/// A part of a time control.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct Stage {
    /// Number of moves, not 0; `None` for the rest of the game.
    pub moves: Option<u32>,
    /// Time added when the stage begins.
    pub time: Duration,
    /// Time added after each move.
    pub increment: Duration,
}

/// The longest time that clocks of records can show.
const LONGEST: Duration = Duration::from_secs(MAX_TIME);

/// The state of one player's clock before a move.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct Remaining {
    /// The remaining time; `None` if it is unlimited.
    pub time: Option<Duration>,
    /// Number of moves until the next stage, including the move to be made; `None` if no stage
    /// follows.
    pub moves: Option<u32>,
    /// The stage, from 0.
    pub stage: usize,
}

impl Remaining {
    /// True if a move that took `used` exceeds the time by more than `margin`.
    pub fn is_exceeded_by(&self, used: Duration, margin: Duration) -> bool {
        self.time.is_some_and(|time| used > time.saturating_add(margin))
    }
}

impl TimeControl {
    /// The clock before the first move.
    pub fn start(&self) -> Remaining {
        match self {
            TimeControl::Unlimited => Remaining { time: None, moves: None, stage: 0 },
            TimeControl::PerMove(time) => Remaining { time: Some(*time), moves: Some(1), stage: 0 },
            TimeControl::Hourglass(time) => Remaining { time: Some(*time), moves: None, stage: 0 },
            TimeControl::Stages(stages) => {
                let first = stages.first();
                let time = first.map(|stage| stage.time);
                Remaining { time, moves: first.and_then(|stage| stage.moves), stage: 0 }
            }
        }
    }

    /// The clock before the next move, after a move that took `used`. An overstepped clock continues from
    /// zero. In an hourglass, the opponent's clock gets the used time.
    ///
    /// ```
    /// use std::time::Duration;
    /// use epdb_referee::TimeControl;
    /// let time: TimeControl = "1+0.05".parse()?;
    /// let left = time.after_move(&time.start(), Duration::from_millis(250)).time;
    /// assert_eq!(left, Some(Duration::from_millis(800)));
    /// # Ok::<(), String>(())
    /// ```
    pub fn after_move(&self, before: &Remaining, used: Duration) -> Remaining {
        let stages = match self {
            TimeControl::Stages(stages) => stages,
            TimeControl::Hourglass(_) => {
                let time = before.time.map(|time| time.saturating_sub(used));
                return Remaining { time, ..*before };
            }
            TimeControl::Unlimited | TimeControl::PerMove(_) => return self.start(),
        };
        let increment = self.increment(before);
        let time = before.time.unwrap_or_default().saturating_sub(used).saturating_add(increment);
        let moves = before.moves.map(|moves| moves.saturating_sub(1));
        let after = Remaining { time: Some(time), moves, stage: before.stage };
        if moves != Some(0) {
            return after;
        }
        let stage = (before.stage + 1).min(stages.len() - 1);
        let Stage { moves, time: more, .. } = stages[stage];
        Remaining { time: Some(time.saturating_add(more)), moves, stage }
    }

    /// The clock after a move of the opponent that took `used`.
    ///
    /// ```
    /// use std::time::Duration;
    /// use epdb_referee::TimeControl;
    /// let time: TimeControl = "*180".parse()?;
    /// let left = time.after_opponents_move(&time.start(), Duration::from_secs(20)).time;
    /// assert_eq!(left, Some(Duration::from_secs(200)));
    /// # Ok::<(), String>(())
    /// ```
    pub fn after_opponents_move(&self, before: &Remaining, used: Duration) -> Remaining {
        match self {
            TimeControl::Hourglass(_) => {
                let time = before.time.map(|time| time.saturating_add(used).min(LONGEST));
                Remaining { time, ..*before }
            }
            _ => *before,
        }
    }

    /// Time that the clock gets after the next move.
    pub fn increment(&self, remaining: &Remaining) -> Duration {
        match self {
            TimeControl::Stages(stages) => {
                stages.get(remaining.stage).map_or(Duration::ZERO, |stage| stage.increment)
            }
            TimeControl::Unlimited | TimeControl::PerMove(_) | TimeControl::Hourglass(_) => {
                Duration::ZERO
            }
        }
    }

    /// The value of the tag `TimeControl` (PGN standard, 9.6.1). A fixed time per move is written
    /// as a period of one move, such as `1/5`.
    pub fn tag(&self) -> String {
        match self {
            TimeControl::Unlimited => "-".into(),
            TimeControl::PerMove(time) => format!("1/{}", Seconds(*time)),
            TimeControl::Hourglass(time) => format!("*{}", Seconds(*time)),
            TimeControl::Stages(stages) => joined(stages, ":"),
        }
    }

    /// Reads the value of a tag `TimeControl`; `None` for `?`.
    ///
    /// # Errors
    /// The value is not a time control.
    ///
    /// ```
    /// use epdb_referee::TimeControl;
    /// let time = TimeControl::from_tag("40/7200:3600")?.expect("a time control");
    /// assert_eq!(time.to_string(), "40/7200,3600");
    /// assert_eq!(TimeControl::from_tag("?")?, None);
    /// # Ok::<(), String>(())
    /// ```
    pub fn from_tag(value: &str) -> Result<Option<TimeControl>, String> {
        match value {
            "?" => Ok(None),
            "-" => Ok(Some(TimeControl::Unlimited)),
            _ if value.starts_with('*') => hourglass(value).map(Some),
            _ => of_stages(value.split(':'), seconds).map(Some),
        }
    }
}

impl FromStr for TimeControl {
    type Err = String;

    fn from_str(text: &str) -> Result<TimeControl, String> {
        match text.strip_suffix("/move") {
            _ if text == "inf" => Ok(TimeControl::Unlimited),
            _ if text.starts_with('*') => hourglass(text),
            Some(time) => Ok(TimeControl::PerMove(positive(clock(time)?, text)?)),
            None => of_stages(text.split(','), clock),
        }
    }
}

impl fmt::Display for TimeControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TimeControl::Unlimited => f.write_str("inf"),
            TimeControl::PerMove(time) => write!(f, "{}/move", Seconds(*time)),
            TimeControl::Hourglass(time) => write!(f, "*{}", Seconds(*time)),
            TimeControl::Stages(stages) => f.write_str(&joined(stages, ",")),
        }
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(moves) = self.moves {
            write!(f, "{moves}/")?;
        }
        write!(f, "{}", Seconds(self.time))?;
        match self.increment {
            Duration::ZERO => Ok(()),
            increment => write!(f, "+{}", Seconds(increment)),
        }
    }
}

/// Seconds, with a decimal point if they are not whole.
struct Seconds(Duration);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{}.{:03}", self.0.as_secs(), self.0.subsec_millis());
        f.write_str(text.trim_end_matches('0').trim_end_matches('.'))
    }
}

fn joined(stages: &[Stage], separator: &str) -> String {
    stages.iter().map(ToString::to_string).collect::<Vec<_>>().join(separator)
}

/// Reads `*TIME`.
fn hourglass(text: &str) -> Result<TimeControl, String> {
    let time = clock(text.trim_start_matches('*'))?;
    Ok(TimeControl::Hourglass(positive(time, text)?))
}

type ReadTime = fn(&str) -> Result<Duration, String>;

fn of_stages<'t>(
    parts: impl Iterator<Item = &'t str>,
    read_time: ReadTime,
) -> Result<TimeControl, String> {
    let stages: Vec<Stage> = parts.map(|part| stage(part, read_time)).collect::<Result<_, _>>()?;
    if let [Stage { moves: Some(1), time, increment: Duration::ZERO }] = stages[..] {
        return Ok(TimeControl::PerMove(time));
    }
    let before_last = &stages[..stages.len() - 1];
    match before_last.iter().find(|stage| stage.moves.is_none()) {
        Some(stage) => Err(format!("nothing can follow `{stage}`, which has no number of moves")),
        None => Ok(TimeControl::Stages(stages)),
    }
}

/// Reads `MOVES/TIME+INCREMENT`; only the time is required.
fn stage(text: &str, read_time: ReadTime) -> Result<Stage, String> {
    let (moves, rest) = match text.split_once('/') {
        // Other managers write `0` moves for the whole game.
        Some(("0", rest)) => (None, rest),
        Some((moves, rest)) => (Some(number_of_moves(moves)?), rest),
        None => (None, text),
    };
    let (base, increment) = match rest.split_once('+') {
        Some((base, increment)) => (base, seconds(increment)?),
        None => (rest, Duration::ZERO),
    };
    Ok(Stage { moves, time: positive(read_time(base)?, text)?, increment })
}

fn number_of_moves(text: &str) -> Result<u32, String> {
    let moves = text.parse().ok().filter(|moves| (1..=9999).contains(moves));
    moves.ok_or_else(|| format!("`{text}` is not a number of moves from 1 to 9999"))
}

fn positive(time: Duration, text: &str) -> Result<Duration, String> {
    if time.is_zero() { Err(format!("`{text}` leaves no time to think")) } else { Ok(time) }
}

/// Reads seconds, `MINUTES:SECONDS` or `HOURS:MINUTES:SECONDS`.
fn clock(text: &str) -> Result<Duration, String> {
    let parts: Vec<&str> = text.split(':').collect();
    let Some((last, whole)) = parts.split_last().filter(|(_, whole)| whole.len() <= 2) else {
        return Err(no_time(text));
    };
    let mut minutes = 0u64;
    for part in whole {
        let number: u64 =
            digits(part).and_then(|part| part.parse().ok()).ok_or_else(|| no_time(text))?;
        minutes = minutes * 60 + number.min(LONGEST.as_secs());
    }
    within(Duration::from_secs(minutes.saturating_mul(60)).saturating_add(seconds(last)?), text)
}

/// Reads seconds, with at most three digits after the point.
fn seconds(text: &str) -> Result<Duration, String> {
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    let read = || {
        let milliseconds = format!("{:0<3}", digits(part).filter(|part| part.len() <= 3)?);
        let whole: u64 = digits(whole)?.parse().ok()?;
        Some(Duration::from_secs(whole) + Duration::from_millis(milliseconds.parse().ok()?))
    };
    within(read().ok_or_else(|| no_time(text))?, text)
}

fn digits(text: &str) -> Option<&str> {
    Some(text)
        .filter(|text| (1..=9).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit()))
}

fn within(time: Duration, text: &str) -> Result<Duration, String> {
    if time <= LONGEST { Ok(time) } else { Err(format!("`{text}` is longer than 999 days")) }
}

fn no_time(text: &str) -> String {
    format!("`{text}` is not a time such as 60, 0.5 or 1:30")
}
