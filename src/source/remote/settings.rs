//! Settings from the environment, and from the program that uses this library.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use epdb_archive::pages::GAP;
use epdb_chess::error::{Error, Result};

/// Settings of all requests. Each field has a variable of the environment.
#[derive(Clone, Debug)]
pub(super) struct RemoteSettings {
    /// `EPDB_REMOTE_TIMEOUT`: time without an answer after which a request has failed.
    pub(super) timeout: Duration,
    /// `EPDB_REMOTE_GAP`: maximum number of bytes between two ranges that one request receives.
    pub(super) gap: u64,
    /// `EPDB_REMOTE_CACHE`: bytes that the cache of all archives keeps.
    pub(super) cache: u64,
    /// `EPDB_REMOTE_PART`: maximum size in bytes of a file that is sent by one request. A longer file
    /// is sent in parts of this size.
    pub(super) part: u64,
    /// `EPDB_REMOTE_CHECK`: time between two checks of an object that a server serves.
    pub(super) check: Duration,
    /// `EPDB_REMOTE_INSTANCE_CREDENTIALS`: true if credentials may be requested from the machine or
    /// the container.
    pub(super) has_instance_credentials: bool,
}

impl RemoteSettings {
    /// The settings of this process.
    pub(super) fn get() -> Result<&'static RemoteSettings> {
        static SETTINGS: OnceLock<RemoteSettings> = OnceLock::new();
        if let Some(settings) = SETTINGS.get() {
            return Ok(settings);
        }
        let settings = RemoteSettings::read()?;
        Ok(SETTINGS.get_or_init(|| settings))
    }

    /// Time after which a request that was repeated is not repeated again.
    pub(super) fn patience(&self) -> Duration {
        3 * self.timeout
    }

    fn read() -> Result<RemoteSettings> {
        const DAY: u64 = 24 * 60 * 60;
        const LARGEST: u64 = 1 << 40;
        Ok(RemoteSettings {
            timeout: Duration::from_secs(number("EPDB_REMOTE_TIMEOUT", 1..=DAY, 30)?),
            gap: number("EPDB_REMOTE_GAP", 0..=LARGEST, GAP)?,
            cache: number("EPDB_REMOTE_CACHE", 0..=LARGEST, 64 << 20)?,
            part: number("EPDB_REMOTE_PART", 1..=LARGEST, 16 << 20)?,
            check: Duration::from_secs(number("EPDB_REMOTE_CHECK", 0..=DAY, 30)?),
            has_instance_credentials: is_true("EPDB_REMOTE_INSTANCE_CREDENTIALS")?,
        })
    }
}

/// The number in a variable of the environment, or `default` if there is no variable.
fn number(name: &str, range: RangeInclusive<u64>, default: u64) -> Result<u64> {
    let Some(value) = std::env::var_os(name) else { return Ok(default) };
    let number = value.to_str().and_then(|value| value.parse().ok());
    number.filter(|number| range.contains(number)).ok_or_else(|| {
        let value = value.display();
        let first = range.start();
        let last = range.end();
        Error::new(format!("{name} is `{value}`: a number from {first} to {last} is expected"))
    })
}

fn is_true(name: &str) -> Result<bool> {
    let Some(value) = std::env::var_os(name) else { return Ok(false) };
    match value.to_str() {
        Some("true") => Ok(true),
        Some("false" | "") => Ok(false),
        _ => Err(Error::new(format!("{name} is `{}`: true or false is expected", value.display()))),
    }
}

pub(super) type StorageOptions = BTreeMap<String, String>;

/// The options of buckets and datasets, by their addresses.
static STORAGE: Mutex<BTreeMap<String, StorageOptions>> = Mutex::new(BTreeMap::new());

/// Sets the storage options of a bucket or a dataset, for this process.
pub(super) fn keep_storage_options(place: String, options: StorageOptions) {
    STORAGE.lock().unwrap_or_else(PoisonError::into_inner).insert(place, options);
}

/// The storage options of a bucket or a dataset.
pub(super) fn storage_options(place: &str) -> StorageOptions {
    let all = STORAGE.lock().unwrap_or_else(PoisonError::into_inner);
    all.get(place).cloned().unwrap_or_default()
}
