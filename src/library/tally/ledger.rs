//! Ledgers of libraries, and the check whether libraries can be added.

use crate::codec::tally_origin::TallyLedger;

/// Differences that adding libraries may ignore.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug)]
pub struct Allowed {
    /// Libraries that were built differently, are pruned, or have no ledger.
    pub mixed: bool,
    /// Libraries that count the same games, or may: one of them has no digests.
    pub overlap: bool,
}

/// The reason why libraries must not be added.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Unlike {
    /// Different games count, or they count in another way.
    #[error("built with `{theirs}`, the library before with `{ours}`")]
    Settings {
        /// The settings of the first.
        ours: String,
        /// The settings of the added library.
        theirs: String,
    },
    /// The library is a sum of libraries that were built differently.
    #[error("added up of libraries that were built differently")]
    Mixed,
    /// Positions may be missing.
    #[error("pruned ({0})")]
    Pruned(String),
    /// Number of games in both libraries.
    #[error("shares {} with the library before, which would count twice", games(*_0))]
    Shared(u64),
    /// The common games are unknown.
    #[error(
        "without the digests of its games, or the library before is: games that are in both would count twice"
    )]
    NoDigests,
}

fn games(count: u64) -> String {
    if count == 1 { "1 game".to_string() } else { format!("{count} games") }
}

impl Unlike {
    /// Whether [`Allowed::overlap`] permits it; otherwise [`Allowed::mixed`] does.
    pub const fn is_overlap(&self) -> bool {
        matches!(self, Unlike::Shared(_) | Unlike::NoDigests)
    }
}

/// Checks whether games counted with these settings may be added to a library.
///
/// # Errors
/// The difference.
pub(in crate::library) fn check_settings(
    ledger: &TallyLedger,
    settings: &str,
) -> Result<(), Unlike> {
    let origin = &ledger.origin;
    if let Some(pruned) = &origin.pruned {
        return Err(Unlike::Pruned(pruned.clone()));
    }
    if origin.is_mixed {
        return Err(Unlike::Mixed);
    }
    if origin.settings != settings {
        let (ours, theirs) = (origin.settings.clone(), settings.to_string());
        return Err(Unlike::Settings { ours, theirs });
    }
    Ok(())
}

/// Adds the ledger of a library to another one, as their tallies are added.
///
/// ```
/// use epdb::codec::tally_origin::{GameDigests, TallyLedger};
/// use epdb::library::tally::ledger::{Allowed, Unlike, add};
/// let mut games = GameDigests::default();
/// games.insert([7; 16]);
/// let mut all = TallyLedger { games: Some(games), ..TallyLedger::default() };
/// let same = all.clone();
/// assert_eq!(add(&mut all, same, Allowed::default()), Err(Unlike::Shared(1)));
/// ```
///
/// # Errors
/// The difference; `all` has not changed then.
pub fn add(all: &mut TallyLedger, other: TallyLedger, allowed: Allowed) -> Result<(), Unlike> {
    let pruned = all.origin.pruned.clone().or(other.origin.pruned.clone());
    let is_alike = match (&other.origin.pruned, other.origin.is_mixed) {
        (Some(pruned), _) => Err(Unlike::Pruned(pruned.clone())),
        (None, true) => Err(Unlike::Mixed),
        (None, false) => check_settings(all, &other.origin.settings),
    };
    let is_mixed = is_alike.is_err();
    if !allowed.mixed {
        is_alike?;
    }
    match (&mut all.games, other.games) {
        (Some(games), Some(others)) => {
            let shared = others.iter().filter(|digest| games.contains(digest)).count() as u64;
            if shared > 0 && !allowed.overlap {
                return Err(Unlike::Shared(shared));
            }
            games.extend(&others);
        }
        _ if !allowed.overlap => return Err(Unlike::NoDigests),
        _ => all.games = None,
    }
    all.origin.is_mixed |= is_mixed;
    all.origin.scope = all.origin.scope.take().or(other.origin.scope);
    all.origin.pruned = pruned;
    other.origin.sources.into_iter().for_each(|source| all.origin.add_source(source));
    Ok(())
}
