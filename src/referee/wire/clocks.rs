//! Clocks in messages: those of the standard, and those for UCI engines.

use std::time::Duration;

use super::operations;
use epdb_chess::model::{EpdRecord, Opcode, Operand};
use epdb_engine::SearchLimits;

/// The time that White and Black have used, in whole seconds: the operation `cc`.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug)]
pub struct UsedTime {
    /// White's seconds.
    pub white: u64,
    /// Black's seconds.
    pub black: u64,
}

impl UsedTime {
    pub(super) fn write(self, record: &mut EpdRecord) {
        let operands = [self.white, self.black].map(|seconds| Operand::token(clock(seconds)));
        operations::put(record, Opcode::CC, operands.to_vec());
    }

    pub(super) fn read(record: &EpdRecord) -> Option<UsedTime> {
        let [white, black] = record.operands(Opcode::CC)? else { return None };
        Some(UsedTime { white: seconds(&white.text())?, black: seconds(&black.text())? })
    }
}

/// The longest time of a clock in seconds: a second less than a thousand days.
pub(crate) const MAX_TIME: u64 = 1000 * 24 * 60 * 60 - 1;

/// Formats a clock as `DDD:HH:MM:SS`.
fn clock(seconds: u64) -> String {
    let seconds = seconds.min(MAX_TIME);
    let minutes = seconds / 60;
    let hours = seconds / 3600;
    format!("{:03}:{:02}:{:02}:{:02}", hours / 24, hours % 24, minutes % 60, seconds % 60)
}

fn seconds(clock: &[u8]) -> Option<u64> {
    let parts = std::str::from_utf8(clock).ok()?.split(':').map(str::parse::<u64>);
    let parts: Vec<u64> = parts.collect::<Result<_, _>>().ok()?;
    match *parts {
        [days, hours, minutes, seconds] => {
            Some(((days * 24 + hours) * 60 + minutes) * 60 + seconds)
        }
        _ => None,
    }
}

/// The time that both sides have left. Messages have it in milliseconds, under the names of UCI.
/// Values that the time control does not have are `None`.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug)]
pub struct TimeLeft {
    /// `wtime`: what White has left.
    pub white: Option<Duration>,
    /// `btime`: what Black has left.
    pub black: Option<Duration>,
    /// `winc`: what White gets for each move.
    pub white_increment: Option<Duration>,
    /// `binc`: what Black gets for each move.
    pub black_increment: Option<Duration>,
    /// `movestogo`: moves to the next time control.
    pub moves_to_go: Option<u32>,
    /// `movetime`: the time for this move alone.
    pub move_time: Option<Duration>,
    /// `nodes` and `depth`: how much may be searched for this move.
    pub search: SearchLimits,
}

impl TimeLeft {
    pub(super) fn write(&self, record: &mut EpdRecord) {
        for (name, time) in [
            ("wtime", self.white),
            ("btime", self.black),
            ("winc", self.white_increment),
            ("binc", self.black_increment),
            ("movetime", self.move_time),
        ] {
            let milliseconds = time.map(|time| time.as_millis().min(u64::MAX.into()) as u64);
            put(record, name, milliseconds);
        }
        put(record, "movestogo", self.moves_to_go);
        put(record, "nodes", self.search.nodes);
        put(record, "depth", self.search.depth);
    }

    pub(super) fn read(record: &EpdRecord) -> TimeLeft {
        let time = |name| number(record, name).map(Duration::from_millis);
        TimeLeft {
            white: time("wtime"),
            black: time("btime"),
            white_increment: time("winc"),
            black_increment: time("binc"),
            moves_to_go: number(record, "movestogo"),
            move_time: time("movetime"),
            search: SearchLimits { nodes: number(record, "nodes"), depth: number(record, "depth") },
        }
    }
}

fn put(record: &mut EpdRecord, name: &str, value: Option<impl Into<i128>>) {
    if let Ok(opcode) = Opcode::new(name.as_bytes()) {
        operations::put_integer(record, opcode, value);
    }
}

fn number<N: std::str::FromStr>(record: &EpdRecord, name: &str) -> Option<N> {
    operations::number(record, Opcode::new(name.as_bytes()).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_count_days() {
        let time = ((12 * 24 + 3) * 60 + 4) * 60 + 5;
        assert_eq!(clock(time), "012:03:04:05");
        assert_eq!(seconds(b"012:03:04:05"), Some(time));
        assert_eq!(clock(u64::MAX), "999:23:59:59");
        assert_eq!(seconds(b"1:2:3"), None);
    }
}
