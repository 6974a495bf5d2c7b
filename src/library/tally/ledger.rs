//! Libraries that are added up: whether their tallies may be.

use crate::codec::tally_origin::TallyLedger;

/// What adding up libraries may pass over.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug)]
pub struct Allowed {
    /// That they were built differently, are pruned, or say nothing of it.
    pub mixed: bool,
    /// That they count the same games, or may: one of them does not keep which.
    pub overlap: bool,
}

/// Why libraries must not be added up.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Unlike {
    /// Others games count, or otherwise.
    #[error("built with `{theirs}`, the library before with `{ours}`")]
    Settings {
        /// The settings of the first.
        ours: String,
        /// Those of the one that is added.
        theirs: String,
    },
    /// Libraries that were built differently were added up in it.
    #[error("added up of libraries that were built differently")]
    Mixed,
    /// Positions may be missing.
    #[error("pruned ({0})")]
    Pruned(String),
    /// So many games are in both.
    #[error("shares {0} games with the library before: they would count twice")]
    Shared(u64),
    /// Nobody knows which games they share.
    #[error(
        "without the digests of its games, or the library before is: games that are in both would count twice"
    )]
    NoDigests,
}

impl Unlike {
    /// Whether [`Allowed::overlap`] allows it; else [`Allowed::mixed`] does.
    pub const fn is_overlap(&self) -> bool {
        matches!(self, Unlike::Shared(_) | Unlike::NoDigests)
    }
}

/// Whether games counted with these settings may be added to a library.
///
/// # Errors
/// Why not.
pub fn check_settings(ledger: &TallyLedger, settings: &str) -> Result<(), Unlike> {
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

/// Adds the ledger of a library to that of another, as their tallies are added.
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
/// Why they must not be added; the first one is as it was then.
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
