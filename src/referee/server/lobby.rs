//! Connections over which nobody has signed on yet.
//!
//! They are kept apart from the arbiter and from the log. So strangers cannot take the place of a
//! player, fill the disk, or keep the referee from its games.

use std::collections::BTreeMap;
use std::time::Duration;

use super::channel::Channel;
use crate::seat::ChannelId;

/// Maximum number of waiting connections.
const MAX_WAITING: usize = 64;
/// Maximum time of a new connection without a line.
const SIGN_ON_WITHIN: Duration = Duration::from_secs(60);
/// Maximum number of refusals that are noted without a pause.
const MAX_NOTED: u32 = 10;
/// Time after which one more refusal may be noted.
const NOTE_EVERY: Duration = Duration::from_secs(1);
/// Maximum number of bytes of a refused line that are noted.
const NOTED_BYTES: usize = 100;

/// The waiting connections, and the number of refusals that may still be noted.
#[derive(Debug)]
pub(super) struct Lobby {
    /// The channels, each with the time by which its client must sign on. Numbers rise, so the
    /// first channel has waited longest.
    waiting: BTreeMap<ChannelId, (Channel, Duration)>,
    may_note: u32,
    counted_at: Duration,
    left_out: u64,
}

/// The log entry of a refusal.
#[derive(Debug)]
pub(super) struct Refusal {
    /// Number of refusals since the last noted refusal.
    pub(super) others: u64,
    /// The first bytes of the refused line.
    pub(super) line: Vec<u8>,
}

impl Lobby {
    pub(super) const fn new() -> Lobby {
        Lobby {
            waiting: BTreeMap::new(),
            may_note: MAX_NOTED,
            counted_at: Duration::ZERO,
            left_out: 0,
        }
    }

    /// Lets a connection wait. If too many connections wait, the connection that has waited longest is
    /// closed.
    pub(super) fn admit(&mut self, id: ChannelId, channel: Channel, now: Duration) {
        if self.waiting.len() >= MAX_WAITING
            && let Some((_, (oldest, _))) = self.waiting.pop_first()
        {
            oldest.cut();
        }
        self.waiting.insert(id, (channel, now + SIGN_ON_WITHIN));
    }

    pub(super) fn has(&self, id: ChannelId) -> bool {
        self.waiting.contains_key(&id)
    }

    /// Takes a connection out, because its client signs on, or because it is refused or closed.
    pub(super) fn remove(&mut self, id: ChannelId) -> Option<Channel> {
        self.waiting.remove(&id).map(|(channel, _)| channel)
    }

    /// Time at which the next connection has waited too long.
    pub(super) fn next_deadline(&self) -> Option<Duration> {
        self.waiting.first_key_value().map(|(_, (_, until))| *until)
    }

    /// Cuts connections that have waited too long.
    pub(super) fn cut_late(&mut self, now: Duration) {
        while let Some(first) = self.waiting.first_entry().filter(|first| first.get().1 <= now) {
            first.remove().0.cut();
        }
    }

    /// The log entry of a refused line; `None` if the rate limit is reached and the refusal is only
    /// counted.
    pub(super) fn note(&mut self, line: &[u8], now: Duration) -> Option<Refusal> {
        let steps = now.saturating_sub(self.counted_at).as_secs() / NOTE_EVERY.as_secs();
        if steps > 0 {
            let more = u32::try_from(steps).unwrap_or(u32::MAX);
            self.may_note = self.may_note.saturating_add(more).min(MAX_NOTED);
            self.counted_at = now;
        }
        if self.may_note == 0 {
            self.left_out += 1;
            return None;
        }
        self.may_note -= 1;
        let line = line.get(..NOTED_BYTES).unwrap_or(line).to_vec();
        Some(Refusal { others: std::mem::take(&mut self.left_out), line })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_flood_of_refusals_is_noted_in_part_and_counted() {
        let mut lobby = Lobby::new();
        let at = Duration::from_secs;
        let noted = (0..1000).filter_map(|_| lobby.note(&[b'x'; 4000], at(5))).count();
        assert_eq!(noted, MAX_NOTED as usize);
        let next = lobby.note(b"y", at(6)).unwrap();
        assert_eq!((next.others, next.line), (1000 - u64::from(MAX_NOTED), b"y".to_vec()));
        assert!(lobby.note(b"y", at(6)).is_none());
        assert_eq!(Lobby::new().note(&[b'x'; 4000], at(0)).unwrap().line.len(), NOTED_BYTES);
    }
}
