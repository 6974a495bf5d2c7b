//! Ledgers of libraries. A ledger has the settings with which a library was built, and the games that it
//! counts. This module also checks whether two libraries can be added.

use std::path::{Path, PathBuf};

use crate::ordered::changed;
use epdb_base::new_file::temp_dir;
use epdb_base::spill::{Sorted, Sorter};
use epdb_chess::codec::tally_origin::{
    GameDigest, GameDigests, GameSet, TallyLedger, TallyOrigin, hash_of, higher_ranked,
};
use epdb_chess::codec::tally_settings::TallySettings;
use epdb_chess::error::Error;
use epdb_source::{CollectionFile, Streams, name_of};

/// Differences that adding libraries may ignore.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug)]
pub struct Allowed {
    /// Allows libraries that were built differently, are pruned, or have no ledger.
    pub mixed: bool,
    /// Allows libraries that count the same games. Also allows a library without digests of its games, which
    /// may count the same games.
    pub overlap: bool,
    /// Allows a delta, whose games are added to its base.
    pub delta: bool,
}

impl Allowed {
    /// Allows the addition of a delta to its base. If both have a game, the delta has a more complete
    /// copy, which counts instead of the copy of the base.
    pub const FOLD: Allowed = Allowed { mixed: false, overlap: true, delta: true };

    /// Any settings and any shared games are allowed, but no delta.
    pub(crate) const ANY_GAMES: Allowed = Allowed::new(true, true);

    /// Allows these differences.
    pub const fn new(mixed: bool, overlap: bool) -> Allowed {
        Allowed { mixed, overlap, delta: false }
    }
}

/// The reason why libraries must not be added.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Unlike {
    /// The libraries were built with different settings, so that their games are selected or
    /// counted differently.
    #[error("built with `{theirs}`, the library before with `{ours}`")]
    Settings {
        /// The settings of the first library.
        ours: Box<TallySettings>,
        /// The settings of the added library.
        theirs: Box<TallySettings>,
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
    /// One of the libraries is a delta, which may take away games of its base.
    #[error("is the delta of a library of {}, and can only be added to that library", games(*_0))]
    Delta(u64),
    /// Slices of a plan are missing, so that the sum would lack games.
    #[error(
        "the libraries are slices of a plan of {slices}, and {} missing",
        missing_slices(missing)
    )]
    MissingSlices {
        /// Number of slices of the plan.
        slices: u32,
        /// The numbers of the missing slices, counted from 1.
        missing: Vec<u32>,
    },
}

/// Maximum number of missing slices that a message names.
const MAX_NAMED: usize = 10;

fn missing_slices(missing: &[u32]) -> String {
    let named: Vec<String> = missing.iter().take(MAX_NAMED).map(u32::to_string).collect();
    let named = named.join(", ");
    match missing.len() {
        1 => format!("slice {named} is"),
        2..=MAX_NAMED => format!("slices {named} are"),
        count => format!("slices {named} and {} others are", count - MAX_NAMED),
    }
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

/// The reason why the ledgers of files cannot be added.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LedgerError {
    /// A file must not be added.
    #[error("{name}: {unlike}")]
    Unlike {
        /// The name of the file.
        name: String,
        /// The difference.
        unlike: Unlike,
    },
    /// A file does not say how its tallies were made.
    #[error("{name}: does not record how its tallies were made, if it has any")]
    NoOrigin {
        /// The name of the file.
        name: String,
    },
    /// A file without tallies would be written together with a library.
    #[error(
        "{name} does not count games, and the library {library} does: they are not written together"
    )]
    Mixture {
        /// The name of the file.
        name: String,
        /// The name of the library.
        library: String,
        /// The settings of the library.
        settings: Box<TallySettings>,
    },
    /// Any other error.
    #[error(transparent)]
    Other(#[from] Error),
}

impl From<LedgerError> for Error {
    fn from(error: LedgerError) -> Error {
        match error {
            LedgerError::Unlike { name, unlike } => Error::new(unlike.to_string()).in_source(name),
            LedgerError::Other(error) => error,
            other => Error::new(other.to_string()),
        }
    }
}

/// Checks whether games counted with these settings may be added to a library.
///
/// # Errors
/// The reason why they must not.
pub(crate) fn check_settings(origin: &TallyOrigin, settings: &TallySettings) -> Result<(), Unlike> {
    if let Some(pruned) = &origin.pruned {
        return Err(Unlike::Pruned(pruned.clone()));
    }
    if origin.is_mixed {
        return Err(Unlike::Mixed);
    }
    if origin.settings != *settings {
        let ours = Box::new(origin.settings.clone());
        return Err(Unlike::Settings { ours, theirs: Box::new(settings.clone()) });
    }
    Ok(())
}

/// Adds the origin `other` to the origin `all`. The caller adds the tallies of the two libraries.
/// `shared` is the number of games that both libraries count; `None` if one of them has no digests.
///
/// ```
/// use epdb_chess::codec::tally_origin::TallyOrigin;
/// use epdb_library::tally::ledger::{Allowed, Unlike, add};
/// let mut all = TallyOrigin::default();
/// let shared = add(&mut all, TallyOrigin::default(), Some(1), Allowed::default());
/// assert_eq!(shared, Err(Unlike::Shared(1)));
/// ```
///
/// # Errors
/// The reason why the libraries must not be added; `all` is then unchanged.
pub fn add(
    all: &mut TallyOrigin,
    other: TallyOrigin,
    shared: Option<u64>,
    allowed: Allowed,
) -> Result<(), Unlike> {
    if !allowed.delta
        && let Some(delta) = all.delta.or(other.delta)
    {
        return Err(Unlike::Delta(delta.base.games));
    }
    let pruned = all.pruned.clone().or(other.pruned.clone());
    let checked = if let Some(pruned) = &other.pruned {
        Err(Unlike::Pruned(pruned.clone()))
    } else if other.is_mixed {
        Err(Unlike::Mixed)
    } else {
        check_settings(all, &other.settings)
    };
    let is_mixed = checked.is_err();
    if !allowed.mixed {
        checked?;
    }
    match shared {
        Some(0) => {}
        _ if allowed.overlap => {}
        Some(games) => return Err(Unlike::Shared(games)),
        None => return Err(Unlike::NoDigests),
    }
    all.is_mixed |= is_mixed;
    all.pruned = pruned;
    all.delta = None;
    all.add_slices(other.slices);
    other.sources.into_iter().for_each(|source| all.add_source(source));
    Ok(())
}

/// The ledger of a library that is the sum of other libraries. The digests of the games need not fit into
/// memory.
#[derive(Debug)]
pub struct LedgerSum {
    /// The settings of the tallies.
    pub origin: TallyOrigin,
    /// The games that are counted; `None` if they are not known.
    pub games: Option<SortedGames>,
    /// The files with games that earlier files count too, and the numbers of these games.
    pub repeated: Vec<(String, u64)>,
}

impl LedgerSum {
    /// Reads the digests of the games into memory.
    ///
    /// # Errors
    /// The temporary file cannot be read.
    pub fn into_memory(self) -> Result<TallyLedger, Error> {
        let games = self.games.map(|mut sorted| {
            let mut games = GameDigests::default();
            sorted.each(&mut |digest| {
                games.insert(*digest);
                Ok(())
            })?;
            Ok::<_, Error>(games)
        });
        Ok(TallyLedger { origin: self.origin, games: games.transpose()? })
    }
}

/// Digests of games in ascending order, which are read once.
#[derive(Debug)]
pub struct SortedGames {
    sorted: Sorted,
    set: GameSet,
}

impl SortedGames {
    fn new(games: Sorter, set: GameSet) -> Result<SortedGames, Error> {
        let mut sorted = games.finish()?;
        sorted.next_entry()?;
        Ok(SortedGames { sorted, set })
    }

    /// Passes the digests to `visit`, in ascending order.
    pub(crate) fn each(
        &mut self,
        visit: &mut dyn FnMut(&GameDigest) -> Result<(), Error>,
    ) -> Result<(), Error> {
        while let Some((digest, _)) = self.sorted.current() {
            visit(digest.first_chunk().ok_or_else(changed)?)?;
            self.sorted.next_entry()?;
        }
        Ok(())
    }
}

/// Makes the ledger of the sum of several files; `None` if no file has a ledger. A file without a ledger
/// makes the sum mixed.
///
/// # Errors
/// A file must not be added, a store or an archive cannot be opened or is damaged, or a temporary file cannot
/// be written.
pub fn sum(
    files: &[impl AsRef<Path>],
    streams: &Streams,
    allowed: Allowed,
) -> Result<Option<LedgerSum>, LedgerError> {
    let mut counted = CountedGames::new();
    let mut libraries = Vec::new();
    let mut silent = None;
    for file in files.iter().map(AsRef::as_ref) {
        let library = match streams.library(file)? {
            Some(library) => counted.add(&library)?,
            None => None,
        };
        match library {
            Some(library) => libraries.push((file, library)),
            None => silent = silent.or(Some(file)),
        }
    }
    let (games, shared) = counted.finish()?;
    let mut libraries = libraries.into_iter().zip(shared);
    let Some((first, _)) = libraries.next() else { return Ok(None) };
    let (_, (mut origin, mut has_games)) = first;
    if let Some(silent) = silent {
        if !allowed.mixed {
            return Err(LedgerError::NoOrigin { name: name_of(silent).into_owned() });
        }
        origin.is_mixed = true;
    }
    let refused = |file: &Path, unlike| {
        let name = name_of(file).into_owned();
        LedgerError::Unlike { name, unlike }
    };
    let mut repeated = Vec::new();
    for ((file, (other, has_others)), shared) in libraries {
        has_games &= has_others;
        let shared = has_games.then_some(shared);
        add(&mut origin, other, shared, allowed).map_err(|unlike| refused(file, unlike))?;
        if let Some(games @ 1..) = shared {
            repeated.push((name_of(file).into_owned(), games));
        }
    }
    if !allowed.mixed
        && let Some(plan) = origin.slices.first()
        && let [file, ..] = files
    {
        let slices = plan.slices;
        let missing = plan.missing().collect();
        return Err(refused(file.as_ref(), Unlike::MissingSlices { slices, missing }));
    }
    let games = has_games.then_some(games);
    origin.games = games.as_ref().map(|games| games.set);
    Ok(Some(LedgerSum { origin, games, repeated }))
}

/// Memory for the digests of games, in bytes; more of them are sorted on disk.
const MEMORY: usize = 32 << 20;

/// The games of several libraries. The key of a game is the hash of its digest and the number of the
/// library, so that the libraries of each game are in order.
struct CountedGames {
    games: Sorter,
    libraries: u32,
}

impl CountedGames {
    fn new() -> CountedGames {
        CountedGames { games: Sorter::new(temp_dir(), MEMORY), libraries: 0 }
    }

    /// Adds the games of a file. Returns the origin of its tallies, and true if it has digests; `None` if it is
    /// not a library.
    fn add(&mut self, file: &CollectionFile) -> Result<Option<(TallyOrigin, bool)>, Error> {
        let library = file.opened()?.each_game(&mut |digest| {
            let (hash, rank) = digest.split_at(hash_of(digest).len());
            let number = self.libraries.to_be_bytes();
            Ok(self.games.push(&[hash, &number].concat(), rank)?)
        })?;
        self.libraries += u32::from(library.is_some());
        Ok(library)
    }

    /// Returns the different games, each with its highest copy rank. Also returns for each library the number
    /// of its games that earlier libraries count too.
    fn finish(self) -> Result<(SortedGames, Vec<u64>), Error> {
        let mut shared = vec![0; self.libraries as usize];
        let mut games = Sorter::new(temp_dir(), MEMORY);
        let mut set = GameSet::default();
        let mut put = |game: GameDigest| {
            set.add(&game);
            games.push(&game, &[])
        };
        let mut sorted = self.games.finish()?;
        let mut last: Option<GameDigest> = None;
        while let Some((key, rank)) = sorted.next_entry()? {
            let (hash, library) = key.split_last_chunk().ok_or_else(changed)?;
            let digest = *[hash, rank].concat().first_chunk().ok_or_else(changed)?;
            if let Some(game) = &mut last
                && hash_of(game) == hash
            {
                shared[u32::from_be_bytes(*library) as usize] += 1;
                *game = higher_ranked(*game, digest);
                continue;
            }
            if let Some(game) = last.replace(digest) {
                put(game)?;
            }
        }
        if let Some(game) = last {
            put(game)?;
        }
        Ok((SortedGames::new(games, set)?, shared))
    }
}

/// Sorts files by their libraries: by settings, then slices by plan and number, then by the rest of their origins.
/// Files without a ledger come last, in the order in which they are given. So the sum of libraries does not depend
/// on the order of the files, and that of slices has its records in the order of one library of all games.
pub(crate) fn sort_by_origin(files: &mut Vec<PathBuf>, streams: &Streams) -> Result<(), Error> {
    let with_key = |file: PathBuf| {
        let origin = match streams.library(&file)? {
            Some(library) => library.opened()?.tally_origin()?,
            None => None,
        };
        let key = origin.map(|origin| {
            let slices = origin.slices.iter().map(|of| (of.plan, of.present.clone()));
            (origin.settings.to_bytes(), slices.collect::<Vec<_>>(), origin.to_bytes())
        });
        Ok::<_, Error>(((key.is_none(), key), file))
    };
    let mut keyed = files.drain(..).map(with_key).collect::<Result<Vec<_>, _>>()?;
    keyed.sort_by(|(one, _), (next, _)| one.cmp(next));
    files.extend(keyed.into_iter().map(|(_, file)| file));
    Ok(())
}

/// The ledger of libraries that are merged into one and may be filtered by `--where`; `None` if no file is a
/// library. Sorts the libraries, so that the result does not depend on their order. Other files keep their
/// order.
pub(crate) fn of_merged(
    files: &mut Vec<PathBuf>,
    streams: &Streams,
    filter: Option<&str>,
    allowed: Allowed,
) -> Result<Option<LedgerSum>, LedgerError> {
    let given = files.clone();
    sort_by_origin(files, streams)?;
    let mut ledger = sum(files, streams, allowed)?;
    match &mut ledger {
        Some(all) => {
            let are_changed = false;
            mark_pruned(&mut all.origin, filter, are_changed);
            all.origin.sort_sources();
        }
        None => *files = given,
    }
    Ok(ledger)
}

/// The ledger of records made from files, which may be filtered by `--where`; `None` if no file is a library. It is
/// marked as pruned unless these are all records of one library, unchanged (`are_whole`).
///
/// # Errors
/// The errors of [`sum`] and of [`refuse_mixture`].
pub fn of_records(
    files: &[impl AsRef<Path>],
    streams: &Streams,
    filter: Option<&str>,
    are_whole: bool,
) -> Result<Option<LedgerSum>, LedgerError> {
    refuse_mixture(files, streams)?;
    let mut ledger = sum(files, streams, Allowed::ANY_GAMES)?;
    if let Some(all) = &mut ledger {
        let are_changed = !are_whole || files.len() > 1;
        mark_pruned(&mut all.origin, filter, are_changed);
    }
    Ok(ledger)
}

/// Refuses files of which some are libraries, and others are not: the games of the others would seem to be counted.
///
/// # Errors
/// [`LedgerError::Mixture`], or a file cannot be opened or is damaged.
pub fn refuse_mixture(files: &[impl AsRef<Path>], streams: &Streams) -> Result<(), LedgerError> {
    if files.len() < 2 {
        return Ok(());
    }
    let mut library = None;
    let mut silent = None;
    for file in files.iter().map(AsRef::as_ref) {
        let origin = match streams.library(file)? {
            Some(library) => library.opened()?.tally_origin()?,
            None => None,
        };
        match origin {
            Some(origin) => library = Some((file, origin)),
            None => silent = Some(file),
        }
    }
    match (library, silent) {
        (Some((library, origin)), Some(silent)) => Err(LedgerError::Mixture {
            name: name_of(silent).into_owned(),
            library: name_of(library).into_owned(),
            settings: Box::new(origin.settings),
        }),
        _ => Ok(()),
    }
}

/// Marks an origin as pruned by an expression of `--where`, or because records were left out, changed
/// or combined.
pub fn mark_pruned(origin: &mut TallyOrigin, filter: Option<&str>, are_changed: bool) {
    if origin.pruned.is_some() {
        return;
    }
    if let Some(filter) = filter {
        origin.pruned = Some(format!("--where {filter}"));
    } else if are_changed {
        origin.pruned = Some("records were left out, changed or combined".to_string());
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use epdb_archive::{ArchiveWriter, PackOptions};
    use epdb_chess::codec::tally_origin::with_copy_rank;

    /// Writes a library that counts games with these first bytes and copy ranks.
    fn library(folder: &Path, name: &str, games: &[(u8, u32)]) -> PathBuf {
        let mut digests = GameDigests::default();
        for (first, rank) in games {
            digests.insert(with_copy_rank([*first; 16], *rank));
        }
        let ledger = TallyLedger { games: Some(digests), ..TallyLedger::default() };
        let mut writer = ArchiveWriter::new(Vec::new(), PackOptions::default()).unwrap();
        writer.set_tally_ledger(ledger);
        let place = folder.join(name);
        std::fs::write(&place, writer.finish().unwrap()).unwrap();
        place
    }

    fn summed(files: &[PathBuf], overlap: bool) -> Result<LedgerSum, LedgerError> {
        let allowed = Allowed { overlap, ..Allowed::default() };
        sum(files, &Streams::default(), allowed).map(Option::unwrap)
    }

    #[test]
    fn shared_games_are_counted_for_each_file_and_keep_the_highest_rank() {
        let folder = tempfile::tempdir().unwrap();
        let files = [
            library(folder.path(), "a", &[(1, 5), (2, 0)]),
            library(folder.path(), "b", &[(3, 0)]),
            library(folder.path(), "c", &[(1, 7), (3, 0), (4, 0)]),
            library(folder.path(), "d", &[(1, 6), (9, 0)]),
        ];
        let refused = summed(&files, false).unwrap_err().to_string();
        assert!(refused.contains("c: shares 2 games with the library before"), "{refused}");
        let sum = summed(&files, true).unwrap();
        let repeated: Vec<u64> = sum.repeated.iter().map(|(_, games)| *games).collect();
        assert_eq!(repeated, [2, 1]);
        let games = sum.into_memory().unwrap().games.unwrap();
        let expected = [(1, 7), (2, 0), (3, 0), (4, 0), (9, 0)];
        let expected = expected.map(|(first, rank)| with_copy_rank([first; 16], rank));
        assert_eq!(games.to_bytes(), expected.concat());
    }
}
