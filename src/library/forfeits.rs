//! Games that a player lost for another reason than the rules of chess, by the tag `Termination`.

use std::fmt;

/// Numbers of games that a player lost for another reason than the rules of chess.
///
/// ```
/// use epdb_library::forfeits::Forfeits;
/// let mut forfeits = Forfeits::default();
/// for word in ["abandoned", "Time forfeit", "abandoned", "adjudication"] {
///     forfeits.add(word);
/// }
/// assert_eq!(forfeits.to_string(), "2 crashed, 1 on time");
/// ```
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug, serde::Serialize)]
pub struct Forfeits {
    /// The player went away and did not come back (`abandoned`).
    pub crashed: u32,
    /// The player did not answer (`stalled connection`, a word of cutechess and fastchess).
    pub stalled: u32,
    /// The player used more time than it had (`time forfeit`).
    pub on_time: u32,
    /// The player made an illegal move (`rules infraction`, or `illegal move` in cutechess and fastchess).
    pub illegal: u32,
}

impl Forfeits {
    /// Counts a lost game by its word in the tag `Termination`, which some sites begin with a capital letter. All
    /// other words are not counted.
    pub fn add(&mut self, termination: &str) {
        match termination.to_ascii_lowercase().as_str() {
            "abandoned" => self.crashed += 1,
            "stalled connection" => self.stalled += 1,
            "time forfeit" => self.on_time += 1,
            "rules infraction" | "illegal move" => self.illegal += 1,
            _ => {}
        }
    }

    /// True if there was no such game.
    pub fn is_empty(&self) -> bool {
        *self == Forfeits::default()
    }
}

impl fmt::Display for Forfeits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Forfeits { crashed, stalled, on_time, illegal } = *self;
        let counts = [
            (crashed, "crashed"),
            (stalled, "stalled"),
            (on_time, "on time"),
            (illegal, "by an illegal move"),
        ];
        let shown = counts.iter().filter(|(count, _)| *count > 0);
        let shown: Vec<String> = shown.map(|(count, what)| format!("{count} {what}")).collect();
        f.write_str(&shown.join(", "))
    }
}
