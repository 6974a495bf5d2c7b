//! Objects on web servers and in object storage.
// One small runtime runs all requests. Callers wait for it, so no other module is asynchronous.

mod client;
mod folder;
mod hub;
mod list;
mod ranges;
mod settings;
mod shared;
mod storage;

pub(super) use folder::RemoteFolder;
pub(super) use list::objects_below;
pub(super) use ranges::RangeFile;
pub(super) use storage::set_storage_options;

use std::fmt;
use std::io::{self, Read};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use std::time::Instant;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use object_store::path::Path as Key;
use object_store::{GetOptions, GetRange, GetResult, ObjectStore};

use self::client::{LastModified, Opened};
use self::hub::HubPath;
use self::settings::RemoteSettings;
use self::shared::wait_for;
use super::delta::name_of;
use epdb_base::new_file::without_secrets;
use epdb_chess::error::{Error, ErrorKind, Result};

/// Maximum number of consecutive times that a stream connects again without having received a byte.
const RESTARTS: usize = 3;
/// Number of bytes that are received first. They show the format.
const HEAD: u64 = 64 << 10;
/// Number of bytes that a stream must receive within [`RemoteSettings::patience`]; otherwise it does
/// not connect again.
const MIN_PROGRESS: u64 = 64 << 10;

/// An object, which is not read yet.
#[derive(Clone)]
pub(super) struct RemoteObject {
    /// The address in messages.
    name: Arc<str>,
    /// Query and fragment of the address, which no message has.
    query: Arc<str>,
    store: Arc<dyn ObjectStore>,
    key: Key,
}

impl fmt::Debug for RemoteObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteObject").field("name", &self.name).finish_non_exhaustive()
    }
}

impl RemoteObject {
    /// The object at an address.
    pub(super) fn new(address: &Path) -> Result<RemoteObject> {
        let text = address.to_string_lossy();
        let opened = match text.strip_prefix("s3://") {
            Some(object) => client::in_s3(object),
            None if text.starts_with("hf://") => in_dataset(&text),
            None => client::on_web(&text, None),
        };
        let opened = opened.map_err(|error| error.in_source(name_of(address)))?;
        Ok(RemoteObject::of(address, opened))
    }

    /// The object that was found at an address.
    fn of(address: &Path, (store, key): Opened) -> RemoteObject {
        let text = address.to_string_lossy();
        let query = text.split_once(['?', '#']).map_or("", |(_, query)| query).into();
        RemoteObject { name: name_of(address).into(), query, store, key }
    }

    /// Starts to read the object from its first byte. The first request is for the first bytes only,
    /// because they may show that the rest is not read in order.
    pub(super) fn stream(self) -> Result<RemoteStream> {
        let progress = Progress { at: 0, time: Instant::now() };
        if let Some((version, chunk)) = self.head()? {
            return Ok(RemoteStream {
                object: self,
                size: Some(version.size),
                version: Some(version),
                at: chunk.len() as u64,
                end: chunk.len() as u64,
                body: stream::empty().boxed(),
                chunk,
                restarts: 0,
                progress,
            });
        }
        let answer = self.get(GetOptions::default())?;
        let size = Some(answer.meta.size).filter(|size| *size != client::UNKNOWN_SIZE);
        Ok(RemoteStream {
            object: self,
            size,
            version: Version::of(&answer),
            at: 0,
            end: answer.range.end,
            body: answer.into_stream(),
            chunk: Bytes::new(),
            restarts: 0,
            progress,
        })
    }

    /// The first bytes, and the version that has them. `None` if the server does not send ranges, or
    /// does not name the version that it sends: then a second request could not go on at the end of
    /// the first bytes.
    fn head(&self) -> Result<Option<(Version, Bytes)>> {
        let range = Some(GetRange::Bounded(0..HEAD));
        let options = GetOptions { range, ..GetOptions::default() };
        let answer = match wait_for(self.store.get_opts(&self.key, options))? {
            Err(error) if client::has_no_range(&error) => return Ok(None),
            answer => answer.map_err(|error| self.failed(error))?,
        };
        let Some(version) = Version::of(&answer) else { return Ok(None) };
        // Read to its end, so that the connection is kept.
        let bytes = wait_for(answer.bytes())?.map_err(|error| self.failed(error))?;
        Ok(Some((version, bytes)))
    }

    /// A text that changes whenever the content of the object changes.
    pub(super) fn stamp(&self) -> Result<String> {
        let answer = self.get(GetOptions { head: true, ..GetOptions::default() })?;
        let modified = answer.extensions.get::<LastModified>().map(|it| it.0.clone());
        let meta = answer.meta;
        Ok(meta.e_tag.unwrap_or_else(|| format!("{} {modified:?}", meta.size)))
    }

    fn meta(&self) -> Result<object_store::ObjectMeta> {
        Ok(self.get(GetOptions { head: true, ..GetOptions::default() })?.meta)
    }

    fn get(&self, options: GetOptions) -> Result<GetResult> {
        let answer = wait_for(self.store.get_opts(&self.key, options))?;
        answer.map_err(|error| self.failed(error))
    }

    /// Receives a range of the object, if the object still has this version.
    async fn receive(&self, range: Range<u64>, version: &Version) -> Result<Bytes> {
        let failed = |error| self.failed(error);
        let len = range.end - range.start;
        let options = version.condition(GetRange::Bounded(range));
        let answer = self.store.get_opts(&self.key, options).await.map_err(failed)?;
        if Version::of(&answer).as_ref() != Some(version) {
            return Err(replaced().in_source(Arc::clone(&self.name)));
        }
        let bytes = answer.bytes().await.map_err(failed)?;
        if bytes.len() as u64 == len {
            Ok(bytes)
        } else {
            let what = format!("the server sent {} bytes, not {len}", bytes.len());
            Err(Error::new(what).in_source(Arc::clone(&self.name)))
        }
    }

    /// Names the object in an error, and says what to do about it.
    fn failed(&self, error: object_store::Error) -> Error {
        use object_store::Error as Cause;
        let is_denied =
            matches!(error, Cause::PermissionDenied { .. } | Cause::Unauthenticated { .. });
        let error = match error {
            Cause::NotFound { .. } => {
                Error::new("the server has no such object").with_kind(ErrorKind::NotFound)
            }
            Cause::Precondition { .. } => replaced(),
            _ if is_denied && self.name.starts_with("s3://") => {
                Error::new(format!("access is denied: {}", client::NO_CREDENTIALS))
            }
            _ if is_denied && self.name.starts_with("hf://") => Error::new(client::NO_TOKEN),
            error => {
                let text = without_addresses(&error.to_string(), &self.query);
                Error::new(text).with_kind(Error::from_cause(error).kind())
            }
        };
        error.in_source(Arc::clone(&self.name))
    }
}

/// A file of a dataset, which a web server has.
fn in_dataset(address: &str) -> Result<Opened> {
    let file = HubPath::parse(address)?;
    client::on_web(file.content()?.as_str(), file.authorization()?)
}

/// A version of an object: its size, and the tag (ETag) by which the server distinguishes versions.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Version {
    size: u64,
    tag: String,
}

impl Version {
    /// The version of an answer; `None` if the server gives no tags.
    fn of(answer: &GetResult) -> Option<Version> {
        Some(Version { size: answer.meta.size, tag: answer.meta.e_tag.clone()? })
    }

    /// Options of a request for a range of this version.
    fn condition(&self, range: GetRange) -> GetOptions {
        // A server compares only strong tags with `If-Match`.
        let if_match = Some(self.tag.clone()).filter(|tag| !tag.starts_with("W/"));
        GetOptions { range: Some(range), if_match, ..GetOptions::default() }
    }
}

/// The text of an error of the HTTP crate: its first line, without the secrets of addresses. `query`
/// is the query of the address that was read, which a server may repeat in its answer.
fn without_addresses(text: &str, query: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let is_end = |character: char| character.is_whitespace() || "()<>\"'`,".contains(character);
    let words = line.split_inclusive(is_end).map(|word| {
        let address = word.trim_end_matches(is_end);
        without_secrets(address) + &word[address.len()..]
    });
    let text: String = words.collect();
    if query.is_empty() { text } else { text.replace(query, "…") }
}

/// The error of an object that was replaced while it was read.
fn replaced() -> Error {
    Error::new("the object was replaced while it was read: run the command again")
        .with_kind(ErrorKind::InvalidData)
}

/// The bytes of an object in order. If the connection breaks, the next request begins at the first
/// missing byte. Reading continues only if the object is still the same.
pub(super) struct RemoteStream {
    object: RemoteObject,
    /// Size of the object in bytes; `None` if the server sends it in chunks and does not say.
    size: Option<u64>,
    version: Option<Version>,
    /// Number of bytes that were received.
    at: u64,
    /// Number of bytes of the object that the requests so far are for.
    end: u64,
    body: BoxStream<'static, object_store::Result<Bytes>>,
    /// Bytes that were received and not read yet.
    chunk: Bytes,
    /// Number of connections in sequence that broke before a byte was received.
    restarts: usize,
    progress: Progress,
}

/// The moment at which the last [`MIN_PROGRESS`] bytes were complete.
struct Progress {
    /// Number of bytes that were received.
    at: u64,
    time: Instant,
}

impl RemoteStream {
    /// Receives the next bytes; none at the end.
    fn receive(&mut self) -> Result<Bytes> {
        loop {
            let cause = match wait_for(self.body.next())? {
                Some(Ok(bytes)) if bytes.is_empty() => continue,
                Some(Ok(bytes)) => {
                    self.at += bytes.len() as u64;
                    self.restarts = 0;
                    if self.at - self.progress.at >= MIN_PROGRESS {
                        self.progress = Progress { at: self.at, time: Instant::now() };
                    }
                    return Ok(bytes);
                }
                // The last chunk of an object shows its end.
                None if self.size.is_none_or(|size| self.at == size) => return Ok(Bytes::new()),
                None if self.at == self.end => {
                    self.request_rest()?;
                    continue;
                }
                None => None,
                Some(Err(cause)) => Some(cause),
            };
            self.restart(cause)?;
        }
    }

    /// Goes on after a broken connection.
    fn restart(&mut self, cause: Option<object_store::Error>) -> Result<()> {
        self.restarts += 1;
        let is_slow = self.progress.time.elapsed() > RemoteSettings::get()?.patience();
        if self.restarts > RESTARTS || is_slow {
            let why = cause.map_or_else(String::new, |cause| {
                format!(": {}", without_addresses(&cause.to_string(), &self.object.query))
            });
            return Err(self.broken(&why));
        }
        self.request_rest()
    }

    fn broken(&self, why: &str) -> Error {
        let of = self.size.map_or_else(String::new, |size| format!(" of {size}"));
        let what = format!("the connection broke at byte {}{of}{why}", self.at);
        Error::new(what).in_source(Arc::clone(&self.object.name))
    }

    /// Sends a request for the rest of the object, which must still have the same version.
    fn request_rest(&mut self) -> Result<()> {
        let Some(version) = &self.version else {
            let why = if self.size.is_some() { "no ETag" } else { "no length" };
            return Err(self.broken(&format!(
                ", and the server gives {why}, so that reading cannot go on: download the file"
            )));
        };
        let answer = self.object.get(version.condition(GetRange::Offset(self.at)))?;
        if Version::of(&answer).as_ref() != Some(version) {
            return Err(replaced().in_source(Arc::clone(&self.object.name)));
        }
        self.end = answer.range.end;
        self.body = answer.into_stream();
        Ok(())
    }
}

impl Read for RemoteStream {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.chunk.is_empty() {
            self.chunk = self.receive()?;
        }
        let len = out.len().min(self.chunk.len());
        out[..len].copy_from_slice(&self.chunk.split_to(len));
        Ok(len)
    }
}

/// Time between two checks of an object that a server serves.
pub(super) fn check_interval() -> Result<Duration> {
    Ok(RemoteSettings::get()?.check)
}
