//! Classes of time controls.

/// The class of a time control, as lichess.org has them, from the fastest.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Speed {
    /// Less than half a minute for forty moves.
    UltraBullet,
    /// Less than 3 minutes.
    Bullet,
    /// Less than 8 minutes.
    Blitz,
    /// Less than 25 minutes.
    Rapid,
    /// Less than 6 hours.
    Classical,
    /// More, or days for a move.
    Correspondence,
}

impl Speed {
    /// All six.
    pub const ALL: [Speed; 6] = [
        Speed::UltraBullet,
        Speed::Bullet,
        Speed::Blitz,
        Speed::Rapid,
        Speed::Classical,
        Speed::Correspondence,
    ];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Speed::UltraBullet => "ultraBullet",
            Speed::Bullet => "bullet",
            Speed::Blitz => "blitz",
            Speed::Rapid => "rapid",
            Speed::Classical => "classical",
            Speed::Correspondence => "correspondence",
        }
    }

    /// The class of a name.
    pub fn from_name(name: &str) -> Option<Speed> {
        Speed::ALL.into_iter().find(|speed| speed.name() == name)
    }

    /// The class of a time control that gives so many seconds for forty moves.
    pub fn of_seconds(seconds: f64) -> Speed {
        const LIMITS: [f64; 5] = [30.0, 180.0, 480.0, 1500.0, 21_600.0];
        let passed = LIMITS.iter().filter(|&&limit| seconds >= limit).count();
        Speed::ALL[passed]
    }
}
