//! The served sources by name, each in its current state.

mod open;
mod watched;

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;
use std::{env, thread};

use super::settings::SourceSpec;
use super::site;
use epdb_base::new_file::sweep_once;
use epdb_chess::error::{Error, Result};
use epdb_explorer::Served;
use epdb_source::{DeltaPath, name_of};

use watched::Watched;

/// Interval between checks of a file. A change takes effect if two checks agree. Objects at addresses
/// are checked less often.
const LOOK: Duration = Duration::from_millis(200);

/// The served sources and the version of the data.
#[derive(Default, Debug)]
struct Published {
    changes: u64,
    /// The served files, in the order of the settings.
    all: Vec<Arc<Watched>>,
}

/// The served sources.
///
/// A handler takes one [`Served`] for its whole answer, which is therefore from one state of the
/// source. If a file is replaced, or records are imported into a store, a thread for this file
/// opens it again in the background.
#[derive(Debug)]
pub(super) struct Sources {
    memory_bytes: usize,
    published: RwLock<Published>,
    /// Locked during a reload; requests do not wait for it.
    reloading: Mutex<()>,
}

impl Sources {
    /// Opens all sources with about `memory_bytes` bytes in total. `begins` is called before each
    /// source.
    pub(super) fn open(
        specs: &[SourceSpec],
        memory_bytes: usize,
        begins: &dyn Fn(&SourceSpec),
    ) -> Result<Arc<Sources>> {
        let published = RwLock::default();
        let reloading = Mutex::default();
        let sources = Arc::new(Sources { memory_bytes, published, reloading });
        sources.reload(specs, begins)?;
        Ok(sources)
    }

    /// Changes the served sources. Unchanged sources are kept open. If a source cannot be opened,
    /// nothing changes.
    pub(super) fn reload(
        self: &Arc<Self>,
        specs: &[SourceSpec],
        begins: &dyn Fn(&SourceSpec),
    ) -> Result<()> {
        check(specs)?;
        sweep_folders(specs);
        let _one_at_a_time = self.reloading.lock().unwrap_or_else(PoisonError::into_inner);
        let before = self.published().all.clone();
        let memory_bytes = self.memory_bytes / specs.len();
        let libraries = specs.iter().filter(|spec| !site::is_site(&spec.path));
        let next = libraries.map(|spec| match before.iter().find(|one| one.is_as(spec)) {
            Some(same) => Ok(Arc::clone(same)),
            None => {
                begins(spec);
                let watched = Arc::new(Watched::open(spec, memory_bytes)?);
                note_unkept(&watched.served());
                note_not_split(&watched.served());
                self.watch(&watched)?;
                Ok(watched)
            }
        });
        let all = next.collect::<Result<_>>()?;
        let mut published = self.publish();
        published.changes += 1;
        published.all = all;
        Ok(())
    }

    /// Opens a file again whenever it changes, on a thread that ends when the file is no longer
    /// served.
    fn watch(self: &Arc<Self>, watched: &Arc<Watched>) -> Result<()> {
        let sources = Arc::downgrade(self);
        let watched = Arc::downgrade(watched);
        let look = move || {
            loop {
                thread::sleep(LOOK);
                let (Some(sources), Some(watched)) = (sources.upgrade(), watched.upgrade()) else {
                    return;
                };
                let among = sources.published().all.len().max(1);
                if let Some(opened) = watched.look(sources.memory_bytes / among) {
                    sources.publish().changes += 1;
                    // Log last: a reader of this line must get the new data, not an answer from
                    // before.
                    let source = opened.name();
                    let records = opened.lookup().len();
                    tracing::info!(source, records, "opened again");
                }
            }
        };
        let started = thread::Builder::new().name("source".into()).spawn(look);
        started.map(drop).map_err(|error| Error::new("cannot start a thread").because(error))
    }

    fn publish(&self) -> RwLockWriteGuard<'_, Published> {
        self.published.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn published(&self) -> RwLockReadGuard<'_, Published> {
        self.published.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The version of the data, and all sources in the order of the settings.
    pub(super) fn current(&self) -> (u64, Vec<Arc<Served>>) {
        let published = self.published();
        (published.changes, published.all.iter().map(|one| one.served()).collect())
    }

    /// All sources, and for each true if the last check found the files that are served.
    pub(super) fn states(&self) -> Vec<(Arc<Served>, bool)> {
        self.published().all.iter().map(|one| (one.served(), one.is_current())).collect()
    }

    /// The version of the data, which increases with each change.
    pub(super) fn changes(&self) -> u64 {
        self.published().changes
    }
}

/// Reports that a source keeps some of its games only.
fn note_unkept(served: &Served) {
    let source = served.name();
    let kept = served.kept_games();
    let counted = served.origin().map_or(0, |origin| origin.games());
    if 0 < kept && kept < counted {
        tracing::info!(source, kept, counted, "only the games that it keeps are searched");
    }
}

/// Reports the filters of a request that change nothing, because the library is not split by them.
fn note_not_split(served: &Served) {
    let Some(splits) = served.splits() else { return };
    let filters = [("year", "since, until"), ("speed", "speeds"), ("rating", "ratings")];
    let lacking = filters.into_iter().filter(|(split, _)| !splits.contains(split));
    let (by, ignored): (Vec<_>, Vec<_>) = lacking.unzip();
    if !by.is_empty() {
        let source = served.name();
        let ignored = ignored.join(", ");
        let by = by.join(",");
        tracing::info!(
            source,
            "not split, so {ignored} change no count: `epdb tally --by {by}` splits, --strict refuses"
        );
    }
}

/// Refuses duplicate names, standard input, and an empty list.
fn check(specs: &[SourceSpec]) -> Result<()> {
    if specs.is_empty() {
        return Err(Error::new("no source is named"));
    }
    if specs.len() > 1
        && let Some(spec) = specs.iter().find(|spec| site::is_site(&spec.path))
    {
        let folder = name_of(&spec.path);
        return Err(Error::new(format!("{folder} is the folder of a site, which is served alone")));
    }
    for (place, spec) in specs.iter().enumerate() {
        let before = &specs[..place];
        if let Some(other) = before.iter().find(|other| other.name == spec.name) {
            let name = &spec.name;
            let one = name_of(&other.path);
            let two = name_of(&spec.path);
            return Err(Error::new(format!(
                "two sources are named {name}, {one} and {two}: say OTHER={two}"
            )));
        }
        let is_input = |spec: &SourceSpec| spec.path == Path::new("-");
        if is_input(spec) && before.iter().any(is_input) {
            return Err(Error::new("standard input can be read only once: give one source a file"));
        }
    }
    Ok(())
}

/// Removes the copies left by servers that were killed.
fn sweep_folders(specs: &[SourceSpec]) {
    sweep_once(&env::temp_dir());
    let files = specs.iter().flat_map(|spec| DeltaPath::files_of(&spec.path));
    for folder in files.filter_map(|file| file.parent().map(Path::to_path_buf)) {
        sweep_once(if folder == Path::new("") { Path::new(".") } else { &folder });
    }
}
