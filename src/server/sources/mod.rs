//! The sources that are served, by name: each as it was when it last changed.

mod open;
mod served;
mod stamp;
mod watched;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};
use std::time::Duration;
use std::{io, thread};

use super::settings::SourceSpec;
use crate::error::{Error, Result};

pub(super) use served::{MOST_RECORDS, Served};
use watched::Watched;

/// How long a change of a file waits to be seen, at most: two looks must see the same.
const LOOK: Duration = Duration::from_millis(200);

/// What is served, and how many times that has changed.
#[derive(Default, Debug)]
struct Published {
    changes: u64,
    all: Vec<Arc<Served>>,
}

/// The sources that are served.
///
/// Whoever answers a question takes a [`Served`] and keeps it for the whole answer, which so is of one state
/// of the source. A file that is replaced, or a store that is imported into, is opened anew beside it.
#[derive(Debug)]
pub(super) struct Sources {
    memory: usize,
    /// In the order in which they were named.
    served: RwLock<Published>,
    /// The files behind them. Whoever opens sources holds this; who serves them does not wait for it.
    watched: Mutex<Vec<Watched>>,
    is_closed: AtomicBool,
}

impl Sources {
    /// Opens all in about so many bytes of memory together.
    pub(super) fn open(specs: &[SourceSpec], memory: usize) -> Result<Sources> {
        let sources = Sources {
            memory,
            served: RwLock::default(),
            watched: Mutex::default(),
            is_closed: AtomicBool::new(false),
        };
        sources.reload(specs)?;
        Ok(sources)
    }

    /// Serves these sources from now on. What is served already and did not change stays as it is; where
    /// one cannot be opened, all stay.
    pub(super) fn reload(&self, specs: &[SourceSpec]) -> Result<()> {
        check_names(specs)?;
        let mut watched = self.watched();
        let memory = self.memory / specs.len().max(1);
        let opened = specs.iter().map(|spec| match watched.iter().find(|one| one.is_as(spec)) {
            Some(same) => Ok(same.clone()),
            None => Watched::open(spec, memory),
        });
        *watched = opened.collect::<Result<_>>()?;
        self.publish(&watched);
        Ok(())
    }

    /// Looks for files that changed until [`Sources::close`] is called.
    pub(super) fn watch(self: &Arc<Self>) -> io::Result<()> {
        let sources = Arc::clone(self);
        let look = move || {
            while !sources.is_closed.load(Ordering::Relaxed) {
                thread::sleep(LOOK);
                sources.look();
            }
        };
        thread::Builder::new().name("sources".into()).spawn(look).map(drop)
    }

    /// Opens anew what changed.
    fn look(&self) {
        let mut watched = self.watched();
        let memory = self.memory / watched.len().max(1);
        let mut has_changed = false;
        for one in watched.iter_mut() {
            has_changed |= one.look(memory);
        }
        if has_changed {
            self.publish(&watched);
        }
    }

    /// Ends [`Sources::watch`].
    pub(super) fn close(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
    }

    fn watched(&self) -> MutexGuard<'_, Vec<Watched>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn publish(&self, watched: &[Watched]) {
        let mut served = self.served.write().unwrap_or_else(PoisonError::into_inner);
        served.changes += 1;
        served.all = watched.iter().map(|one| Arc::clone(one.served())).collect();
    }

    fn published(&self) -> RwLockReadGuard<'_, Published> {
        self.served.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// All, in the order in which they were named.
    pub(super) fn all(&self) -> Vec<Arc<Served>> {
        self.published().all.clone()
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

/// Refuses two sources of one name.
fn check_names(specs: &[SourceSpec]) -> Result<()> {
    for (place, spec) in specs.iter().enumerate() {
        if specs[..place].iter().any(|other| other.name == spec.name) {
            let name = &spec.name;
            return Err(Error::new(format!("two sources are named {name}: say NAME=FILE")));
        }
    }
    Ok(())
}
