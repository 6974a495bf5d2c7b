//! Ledgers of libraries. A ledger has the settings with which a library was built, and the games that it
//! counts. This module also checks whether two libraries can be added.

use std::path::{Path, PathBuf};

use crate::codec::tally_origin::TallyLedger;
use crate::error::Error;
use crate::source;

/// Differences that adding libraries may ignore.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug)]
pub struct Allowed {
    /// Allows libraries that were built differently, are pruned, or have no ledger.
    pub mixed: bool,
    /// Allows libraries that count the same games. Also allows a library without digests of its games, which
    /// may count the same games.
    pub overlap: bool,
}

/// The reason why libraries must not be added.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Unlike {
    /// The libraries were built with different settings, so that their games are selected or
    /// counted differently.
    #[error("built with `{theirs}`, the library before with `{ours}`")]
    Settings {
        /// The settings of the first library.
        ours: String,
        /// The settings of the added library.
        theirs: String,
    },
    /// One of the libraries is a sum of libraries that were built differently.
    #[error("is a sum of libraries that were built differently")]
    Mixed,
    /// Positions may be missing, because one of the libraries was pruned with these options.
    #[error("pruned ({0})")]
    Pruned(String),
    /// Number of games in both libraries.
    #[error("shares {} with the library before; shared games would count twice", games(*_0))]
    Shared(u64),
    /// The games that both libraries count are unknown, because one of them has no digests of its
    /// games.
    #[error(
        "without the digests of its games (or the library before has none): games that are in both would count twice"
    )]
    NoDigests,
}

fn games(count: u64) -> String {
    if count == 1 { "1 game".to_string() } else { format!("{count} games") }
}

impl Unlike {
    /// True if [`Allowed::overlap`] allows the addition despite this reason, false if [`Allowed::mixed`]
    /// does.
    pub const fn is_overlap(&self) -> bool {
        matches!(self, Unlike::Shared(_) | Unlike::NoDigests)
    }
}

/// Checks whether games counted with these settings may be added to a library.
///
/// # Errors
/// The reason why they must not.
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

/// Adds the ledger `other` to the ledger `all`. The caller adds the tallies of the two libraries. Returns the
/// number of games that both libraries count, as far as digests are known.
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
/// The reason why the libraries must not be added; `all` is then unchanged.
pub fn add(all: &mut TallyLedger, other: TallyLedger, allowed: Allowed) -> Result<u64, Unlike> {
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
    let mut shared = 0;
    match (&mut all.games, other.games) {
        (Some(games), Some(others)) => {
            shared = others.iter().filter(|digest| games.contains(digest)).count() as u64;
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
    Ok(shared)
}

/// The ledger of the sum of files; `None` if no file has one. A file without a ledger makes the sum
/// mixed.
///
/// `refused` makes the error for a file that must not be added; the reason is `None` for a file without a
/// ledger. `repeated` is called with the number of games of a file that earlier files count too.
///
/// # Errors
/// A store or an archive cannot be opened or is damaged, and those of `refused`.
pub fn sum<E: From<Error>>(
    files: &[PathBuf],
    allowed: Allowed,
    refused: &dyn Fn(&Path, Option<Unlike>) -> E,
    repeated: &mut dyn FnMut(&Path, u64),
) -> Result<Option<TallyLedger>, E> {
    let ledger =
        |file: &PathBuf| if file.is_file() { source::tally_ledger(file) } else { Ok(None) };
    let ledgers = files.iter().map(|file| Ok((file, ledger(file)?)));
    let ledgers = ledgers.collect::<Result<Vec<_>, Error>>()?;
    let silent = ledgers.iter().find(|(_, ledger)| ledger.is_none()).map(|(file, _)| *file);
    let mut libraries = ledgers.into_iter().filter_map(|(file, ledger)| Some((file, ledger?)));
    let Some((_, mut all)) = libraries.next() else { return Ok(None) };
    if let Some(silent) = silent {
        if !allowed.mixed {
            return Err(refused(silent, None));
        }
        all.origin.is_mixed = true;
    }
    for (file, ledger) in libraries {
        let games = add(&mut all, ledger, allowed).map_err(|unlike| refused(file, Some(unlike)))?;
        if games > 0 {
            repeated(file, games);
        }
    }
    Ok(Some(all))
}

/// Sorts files by the settings of their libraries; files without a ledger come last. Files with the same
/// settings keep their order. So the sum of libraries that were built differently has the same settings in
/// any order of the files.
///
/// # Errors
/// A store or an archive cannot be opened or is damaged.
pub fn sort_by_origin(files: &mut Vec<PathBuf>) -> Result<(), Error> {
    let settings = |file: PathBuf| {
        let library = if file.is_file() { source::library_summary(&file)? } else { None };
        let settings = library.map(|library| library.origin.settings);
        Ok::<_, Error>(((settings.is_none(), settings), file))
    };
    let mut keyed = files.drain(..).map(settings).collect::<Result<Vec<_>, _>>()?;
    keyed.sort_by(|(one, _), (next, _)| one.cmp(next));
    files.extend(keyed.into_iter().map(|(_, file)| file));
    Ok(())
}

/// The ledger of libraries that are merged into one and may be filtered by `--where`; `None` if no file is a
/// library. Sorts the libraries, so that the result does not depend on their order. Other files keep their
/// order.
///
/// # Errors
/// The errors of [`sum`].
pub fn of_merged<E: From<Error>>(
    files: &mut Vec<PathBuf>,
    filter: Option<&str>,
    allowed: Allowed,
    refused: &dyn Fn(&Path, Option<Unlike>) -> E,
    repeated: &mut dyn FnMut(&Path, u64),
) -> Result<Option<TallyLedger>, E> {
    let given = files.clone();
    sort_by_origin(files)?;
    let mut ledger = sum(files, allowed, refused, repeated)?;
    match &mut ledger {
        Some(all) => {
            mark_pruned(all, filter, false);
            all.origin.sort_sources();
        }
        None => *files = given,
    }
    Ok(ledger)
}

/// Marks a ledger as pruned by an expression of `--where`, or because records were left out, changed
/// or combined.
pub fn mark_pruned(ledger: &mut TallyLedger, filter: Option<&str>, are_changed: bool) {
    let by_filter = filter.map(|filter| format!("--where {filter}"));
    let reason = by_filter
        .or_else(|| are_changed.then(|| "records were left out, changed or combined".to_string()));
    ledger.origin.pruned = ledger.origin.pruned.take().or(reason);
}
