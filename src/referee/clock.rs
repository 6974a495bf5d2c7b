//! The clocks of a game.

use std::time::Duration;

use super::time_control::{Remaining, TimeControl};
use super::wire::{TimeLeft, UsedTime};
use epdb_chess::model::Color;
use epdb_engine::SearchLimits;

/// The clocks of both players. They do not read the time: callers pass it as `now`, on any scale
/// that never goes back.
#[derive(Clone, Debug)]
pub struct Clocks {
    sides: [SideClock; 2],
    /// The side whose clock runs, and when its clock was started.
    running: Option<(Color, Duration)>,
}

#[derive(Clone, Debug)]
struct SideClock {
    control: TimeControl,
    remaining: Remaining,
    /// Total time of all moves.
    used: Duration,
    /// Time that was charged for the current move before the last interruption.
    on_this_move: Duration,
}

impl SideClock {
    fn new(control: &TimeControl) -> SideClock {
        SideClock {
            control: control.clone(),
            remaining: control.start(),
            used: Duration::ZERO,
            on_this_move: Duration::ZERO,
        }
    }

    /// Remaining time when the clock was last started; `None` if there is no clock.
    fn left(&self) -> Option<Duration> {
        Some(self.remaining.time?.saturating_sub(self.on_this_move))
    }
}

impl Clocks {
    /// Sets the clocks for the start of a game.
    pub fn new(white: &TimeControl, black: &TimeControl) -> Clocks {
        Clocks { sides: [white, black].map(SideClock::new), running: None }
    }

    /// Starts the clock of a side.
    pub fn start(&mut self, color: Color, now: Duration) {
        self.running = Some((color, now));
    }

    pub(crate) const fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// Time since the running clock was last started; zero if no clock runs.
    pub(crate) fn running_for(&self, now: Duration) -> Duration {
        self.running.map_or(Duration::ZERO, |(_, since)| now.saturating_sub(since))
    }

    /// Time used for the current move so far; zero if no clock runs.
    pub fn thinking(&self, now: Duration) -> Duration {
        self.running.map_or(Duration::ZERO, |(color, _)| {
            self.side(color).on_this_move + self.running_for(now)
        })
    }

    /// Stops the clock during a move, and charges the time since its start.
    pub fn interrupt(&mut self, now: Duration) {
        let thinking = self.thinking(now);
        if let Some((color, _)) = self.running.take() {
            self.side_mut(color).on_this_move = thinking;
        }
    }

    /// Stops the clock during a move without charging the time since its start.
    pub fn stop_uncharged(&mut self) {
        self.running = None;
    }

    /// Stops the clock after a move and returns the time used for the move.
    pub(crate) fn finish_move(&mut self, now: Duration) -> Duration {
        let used = self.thinking(now);
        if let Some((color, _)) = self.running.take() {
            let side = self.side_mut(color);
            side.remaining = side.control.after_move(&side.remaining, used);
            side.used += used;
            side.on_this_move = Duration::ZERO;
            let other = self.side_mut(!color);
            other.remaining = other.control.after_opponents_move(&other.remaining, used);
        }
        used
    }

    /// Time at which the running clock will be overstepped by more than `margin`; `None` if no
    /// clock runs, or if its side has unlimited time.
    pub(crate) fn flag_falls(&self, margin: Duration) -> Option<Duration> {
        let (color, since) = self.running?;
        Some(since.saturating_add(self.side(color).left()?).saturating_add(margin))
    }

    /// True if the running clock is overstepped by more than `margin`.
    pub(crate) fn is_overstepped(&self, now: Duration, margin: Duration) -> bool {
        self.flag_falls(margin).is_some_and(|falls| now > falls)
    }

    /// The remaining time of a side for its next or current move; `None` if the game has no clock.
    pub fn left(&self, color: Color) -> Option<Duration> {
        self.side(color).left()
    }

    /// The used time of both sides, including the current move.
    pub fn used(&self) -> UsedTime {
        let seconds = |color| (self.side(color).used + self.side(color).on_this_move).as_secs();
        UsedTime { white: seconds(Color::White), black: seconds(Color::Black) }
    }

    /// The clocks in the form in which they are sent to the side to move.
    pub fn told(&self, color: Color) -> TimeLeft {
        let side = self.side(color);
        let is_per_move = matches!(side.control, TimeControl::PerMove(_));
        let [white, black] = Color::ALL.map(|color| self.side(color));
        let left = |side: &SideClock| match side.control {
            TimeControl::Stages(_) | TimeControl::Hourglass(_) => side.left(),
            TimeControl::PerMove(_) | TimeControl::Unlimited => None,
        };
        let increment = |side: &SideClock| {
            // Without a clock, there is no increment either.
            left(side)?;
            Some(side.control.increment(&side.remaining)).filter(|time| !time.is_zero())
        };
        TimeLeft {
            white: left(white),
            black: left(black),
            white_increment: increment(white),
            black_increment: increment(black),
            moves_to_go: left(side).and(side.remaining.moves),
            move_time: if is_per_move { side.left() } else { None },
            search: SearchLimits::default(),
        }
    }

    const fn side(&self, color: Color) -> &SideClock {
        &self.sides[color as usize]
    }

    const fn side_mut(&mut self, color: Color) -> &mut SideClock {
        &mut self.sides[color as usize]
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn ms(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    #[test]
    fn an_interrupted_move_is_charged_or_not() {
        let control: TimeControl = "10+1".parse().unwrap();
        let mut clocks = Clocks::new(&control, &control);
        clocks.start(Color::White, ms(1000));
        clocks.interrupt(ms(4000));
        assert_eq!(clocks.left(Color::White), Some(ms(7000)));
        clocks.start(Color::White, ms(100_000));
        clocks.stop_uncharged();
        assert_eq!((clocks.left(Color::White), clocks.used().white), (Some(ms(7000)), 3));
        clocks.start(Color::White, ms(200_000));
        assert_eq!(clocks.flag_falls(ms(10)), Some(ms(207_010)));
        assert!(!clocks.is_overstepped(ms(207_010), ms(10)));
        assert_eq!(clocks.finish_move(ms(201_000)), ms(4000));
        assert_eq!((clocks.left(Color::White), clocks.used().white), (Some(ms(7000)), 4));
    }

    #[test]
    fn an_hourglass_gives_to_one_what_the_other_uses() {
        let control: TimeControl = "*60".parse().unwrap();
        let mut clocks = Clocks::new(&control, &control);
        clocks.start(Color::White, ms(0));
        clocks.finish_move(ms(10_000));
        assert_eq!(clocks.left(Color::White), Some(ms(50_000)));
        assert_eq!(clocks.left(Color::Black), Some(ms(70_000)));
        let told = clocks.told(Color::Black);
        assert_eq!((told.white, told.black), (Some(ms(50_000)), Some(ms(70_000))));
        clocks.start(Color::Black, ms(20_000));
        assert_eq!(clocks.flag_falls(ms(0)), Some(ms(90_000)));
        clocks.finish_move(ms(25_000));
        assert_eq!(clocks.left(Color::White), Some(ms(55_000)));
        assert_eq!(clocks.left(Color::Black), Some(ms(65_000)));
    }

    #[test]
    fn a_side_is_told_what_its_time_control_has() {
        let [stages, per_move, none] =
            ["40/60+0.5", "5/move", "inf"].map(|text| text.parse::<TimeControl>().unwrap());
        let told = Clocks::new(&stages, &per_move).told(Color::White);
        assert_eq!((told.white, told.white_increment), (Some(ms(60_000)), Some(ms(500))));
        assert_eq!((told.black, told.moves_to_go, told.move_time), (None, Some(40), None));
        let told = Clocks::new(&stages, &per_move).told(Color::Black);
        assert_eq!((told.move_time, told.moves_to_go), (Some(ms(5000)), None));
        assert_eq!(Clocks::new(&none, &none).told(Color::White), TimeLeft::default());
    }
}
