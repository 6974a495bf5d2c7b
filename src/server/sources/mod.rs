//! The sources that are served, by name: each as it was when it last changed.

mod open;
mod served;
mod stamp;
mod watched;

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;
use std::{env, thread};

use super::settings::SourceSpec;
use crate::error::{Error, Result};
use crate::new_file::sweep_once;

pub(super) use served::{MOST_RECORDS, Served};
use watched::Watched;

/// How long a change of a file waits to be seen, at most: two looks must see the same.
const LOOK: Duration = Duration::from_millis(200);

/// What is served, and how many times that has changed.
#[derive(Default, Debug)]
struct Published {
    changes: u64,
    /// In the order in which they were named.
    all: Vec<Arc<Watched>>,
}

/// The sources that are served.
///
/// Whoever answers a question takes a [`Served`] and keeps it for the whole answer, which so is of one state
/// of the source. A file that is replaced, or a store that is imported into, is opened anew beside it, by a
/// thread that looks at this file only.
#[derive(Debug)]
pub(super) struct Sources {
    memory: usize,
    published: RwLock<Published>,
    /// Held by who reloads; nobody else waits for it.
    reloading: Mutex<()>,
}

impl Sources {
    /// Opens all in about so many bytes of memory together, having told `begins` of each.
    pub(super) fn open(
        specs: &[SourceSpec],
        memory: usize,
        begins: &dyn Fn(&SourceSpec),
    ) -> Result<Arc<Sources>> {
        let (published, reloading) = <(RwLock<Published>, Mutex<()>)>::default();
        let sources = Arc::new(Sources { memory, published, reloading });
        sources.reload(specs, begins)?;
        Ok(sources)
    }

    /// Serves these sources from now on. What is served already and did not change stays as it is; where
    /// one cannot be opened, all stay.
    pub(super) fn reload(
        self: &Arc<Self>,
        specs: &[SourceSpec],
        begins: &dyn Fn(&SourceSpec),
    ) -> Result<()> {
        check(specs)?;
        sweep_folders(specs);
        let _one_at_a_time = self.reloading.lock().unwrap_or_else(PoisonError::into_inner);
        let before = self.published().all.clone();
        let memory = self.memory / specs.len();
        let next = specs.iter().map(|spec| match before.iter().find(|one| one.is_as(spec)) {
            Some(same) => Ok(Arc::clone(same)),
            None => {
                begins(spec);
                let watched = Arc::new(Watched::open(spec, memory)?);
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

    /// Opens a file anew whenever it changes, on a thread that ends when the file or all is served no more.
    fn watch(self: &Arc<Self>, watched: &Arc<Watched>) -> Result<()> {
        let (sources, watched) = (Arc::downgrade(self), Arc::downgrade(watched));
        let look = move || {
            loop {
                thread::sleep(LOOK);
                let (Some(sources), Some(watched)) = (sources.upgrade(), watched.upgrade()) else {
                    return;
                };
                let among = sources.published().all.len().max(1);
                if let Some(opened) = watched.look(sources.memory / among) {
                    sources.publish().changes += 1;
                    // Last: whoever reads this line is served what it speaks of, not an answer from before.
                    let (source, records) = (opened.name(), opened.lookup().len());
                    tracing::info!(source, records, "opened anew");
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

    /// All, in the order in which they were named.
    pub(super) fn all(&self) -> Vec<Arc<Served>> {
        self.published().all.iter().map(|one| one.served()).collect()
    }

    /// The one of a name.
    pub(super) fn get(&self, name: &str) -> Option<Arc<Served>> {
        self.all().into_iter().find(|served| served.name() == name)
    }

    /// The one that is meant where none is named.
    pub(super) fn first(&self) -> Option<Arc<Served>> {
        self.all().into_iter().next()
    }

    /// How many times that what is served has changed.
    pub(super) fn changes(&self) -> u64 {
        self.published().changes
    }
}

/// Refuses two sources of one name or of standard input, and none at all.
fn check(specs: &[SourceSpec]) -> Result<()> {
    if specs.is_empty() {
        return Err(Error::new("no source is named"));
    }
    for (place, spec) in specs.iter().enumerate() {
        let before = &specs[..place];
        if let Some(other) = before.iter().find(|other| other.name == spec.name) {
            let (name, one, two) = (&spec.name, other.path.display(), spec.path.display());
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

/// Removes the copies that servers left which were killed.
fn sweep_folders(specs: &[SourceSpec]) {
    sweep_once(&env::temp_dir());
    specs.iter().filter_map(|spec| spec.path.parent()).for_each(|folder| {
        sweep_once(if folder == Path::new("") { Path::new(".") } else { folder });
    });
}
