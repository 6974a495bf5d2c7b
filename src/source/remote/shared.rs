//! The runtime, the connections and the pages that all objects of a process share.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::{process, thread};

use quick_cache::sync::Cache;
use tokio::runtime::{Builder, Handle, Runtime};

use super::settings::RemoteSettings;
use epdb_archive::pages::PAGE;
use epdb_chess::error::{Error, Result, panic_text};

pub(super) type Page = Arc<[u8]>;

/// Number of pages that a process keeps.
pub(super) fn capacity() -> u64 {
    // An object is opened only if the settings are valid.
    RemoteSettings::get().map_or(0, |settings| settings.cache / PAGE).max(16)
}

/// The state that the objects of a process share.
pub(super) struct Shared {
    process: u32,
    /// Runs all requests.
    pub(super) runtime: Runtime,
    /// The clients, by what they allow: HTTP without TLS, and a number of redirects. Objects that share a
    /// client share its open connections.
    pub(super) clients: Mutex<BTreeMap<(bool, usize), reqwest::Client>>,
    /// The pages that were read last, by the number of the archive and of the page.
    pub(super) pages: Cache<(u64, u64), Page>,
}

/// The state that the objects of this process share.
pub(super) fn shared() -> Result<&'static Shared> {
    // A forked process has none of the threads of its parent, and a thread of the parent may have held a lock
    // of what it shares. So it makes its own. This lock is held only while a reference is copied.
    static SHARED: Mutex<Option<&'static Shared>> = Mutex::new(None);
    let lock = || SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    let process = process::id();
    let of_process = |shared: &&Shared| shared.process == process;
    if let Some(shared) = lock().filter(of_process) {
        return Ok(shared);
    }
    let made = Shared {
        process,
        runtime: Builder::new_multi_thread().worker_threads(1).enable_all().build()?,
        clients: Mutex::default(),
        pages: Cache::new(capacity() as usize),
    };
    let mut current = lock();
    if let Some(shared) = current.filter(of_process) {
        return Ok(shared);
    }
    let made: &'static Shared = Box::leak(Box::new(made));
    *current = Some(made);
    Ok(made)
}

/// Waits for an answer. Any thread may call this function.
pub(super) fn wait_for<F>(answer: F) -> Result<F::Output>
where
    F: Future<Output: Send> + Send,
{
    let runtime = &shared()?.runtime;
    if Handle::try_current().is_err() {
        return Ok(runtime.block_on(answer));
    }
    // This thread belongs to another runtime, such as that of a server. If it runs a task of that
    // runtime, waiting here would panic, so another thread waits.
    thread::scope(|scope| {
        let waiting = thread::Builder::new().spawn_scoped(scope, || runtime.block_on(answer))?;
        waiting.join().map_err(|panic| Error::new(panic_text(&*panic)))
    })
}
