//! The rules by which a client resigns, and offers, accepts and claims draws.

use std::str::FromStr;

/// A score over a number of moves: `MOVES@CENTIPAWNS`.
///
/// ```
/// use epdb_referee::client::Threshold;
/// assert_eq!("3@600".parse(), Ok(Threshold { moves: 3, centipawns: 600 }));
/// assert!("600".parse::<Threshold>().is_err());
/// ```
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Threshold {
    /// Number of consecutive own moves with the score, at least 1.
    pub moves: u32,
    /// The score in centipawns, not below 0.
    pub centipawns: u32,
}

impl FromStr for Threshold {
    type Err = String;

    fn from_str(text: &str) -> Result<Threshold, String> {
        let numbers = text.split_once('@').and_then(|(moves, centipawns)| {
            let threshold =
                Threshold { moves: moves.parse().ok()?, centipawns: centipawns.parse().ok()? };
            (threshold.moves > 0 && threshold.centipawns <= 32_000).then_some(threshold)
        });
        numbers.ok_or_else(|| "expected MOVES@CENTIPAWNS, such as 3@600".into())
    }
}

/// Behaviour of a client besides its moves.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Conduct {
    /// The client resigns after `moves` consecutive scores of at most `-centipawns`. With `None`, it never
    /// resigns.
    pub resign: Option<Threshold>,
    /// The client offers a draw after `moves` consecutive scores within `centipawns` of 0. It accepts a draw
    /// if its last score is within `centipawns` of 0. With `None`, the client neither offers nor accepts
    /// draws.
    pub draw: Option<Threshold>,
    /// True if the client claims draws by threefold repetition, by fifty moves, and by bare
    /// material.
    pub claims: bool,
}

/// Number of consecutive moves of the client, up to the last one, with losing scores, and the same number for
/// level scores.
#[derive(Copy, Clone, Default, Debug)]
pub(super) struct Scores {
    behind: u32,
    level: u32,
}

impl Scores {
    /// Takes the score of a move. A move without a score sets both counts of consecutive scores
    /// (for resigning and for draws) to 0.
    pub(super) fn add(&mut self, conduct: &Conduct, ce: Option<i32>) {
        let ce = ce.map(i64::from);
        let is_behind = |(ce, limit): (i64, Threshold)| ce <= -i64::from(limit.centipawns);
        let is_level = |(ce, limit): (i64, Threshold)| ce.abs() <= i64::from(limit.centipawns);
        let count = |before: u32, holds: bool| if holds { before.saturating_add(1) } else { 0 };
        self.behind = count(self.behind, ce.zip(conduct.resign).is_some_and(is_behind));
        self.level = count(self.level, ce.zip(conduct.draw).is_some_and(is_level));
    }

    pub(super) fn resigns(&self, conduct: &Conduct) -> bool {
        conduct.resign.is_some_and(|threshold| self.behind >= threshold.moves)
    }

    pub(super) fn offers_draw(&self, conduct: &Conduct) -> bool {
        conduct.draw.is_some_and(|threshold| self.level >= threshold.moves)
    }

    pub(super) const fn takes_draw(&self) -> bool {
        self.level > 0
    }
}
