//! Objects on web servers and in object storage.
// One small runtime runs all requests. Callers wait for it, so no other module is asynchronous.

#[cfg(feature = "library")]
mod folder;
mod ranges;

#[cfg(feature = "library")]
pub(super) use folder::RemoteFolder;
pub(super) use ranges::RangeFile;

use std::io::{self, Read};
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use object_store::aws::AmazonS3Builder;
use object_store::client::{HttpClient, HttpConnector};
use object_store::http::HttpBuilder;
use object_store::path::Path as Key;
use object_store::{
    BackoffConfig, ClientConfigKey, ClientOptions, GetOptions, GetRange, GetResult, ObjectStore,
    RetryConfig,
};
use reqwest::Url;
use reqwest::redirect::Policy;
use tokio::runtime::{Builder, Runtime};

use crate::error::{Error, ErrorKind, Result};

/// Seconds without an answer after which a request has failed, unless [`TIMEOUT_VARIABLE`] has
/// another number.
const TIMEOUT: u64 = 30;
/// Environment variable with the number of seconds.
const TIMEOUT_VARIABLE: &str = "EPDB_REMOTE_TIMEOUT";
/// Maximum number of times that a failed request is repeated. The pauses between the requests grow
/// from 0.1 to 3.2 seconds.
const RETRIES: usize = 6;
/// Maximum number of redirects of a web server that are followed.
const REDIRECTS: usize = 10;
/// Maximum number of consecutive times that a stream connects again without having received a byte.
const RESTARTS: usize = 3;

/// Environment variables that name credentials.
const CREDENTIALS: [&str; 5] = [
    "AWS_ACCESS_KEY_ID",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_SKIP_SIGNATURE",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
];
const NO_CREDENTIALS: &str = "set AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION in the \
    environment, or AWS_SKIP_SIGNATURE=true for a public object";

/// An object, which is not read yet.
#[derive(Clone, Debug)]
pub(super) struct RemoteObject {
    address: Arc<str>,
    store: Arc<dyn ObjectStore>,
    key: Key,
}

impl RemoteObject {
    /// The object at an address.
    ///
    /// # Errors
    /// The address is not valid.
    pub(super) fn new(address: &Path) -> Result<RemoteObject> {
        let address: Arc<str> = address.to_string_lossy().into();
        let named = |error: Error| error.in_source(Arc::clone(&address));
        let (store, key) = match address.strip_prefix("s3://") {
            Some(name) => in_s3(name),
            None => on_web(&address),
        }
        .map_err(named)?;
        Ok(RemoteObject { address, store, key })
    }

    /// Starts to read the object from its first byte.
    ///
    /// # Errors
    /// The object cannot be read.
    pub(super) fn stream(self) -> Result<RemoteStream> {
        let answer = self.get(GetOptions::default())?;
        let (size, version) = (answer.meta.size, Version::of(&answer));
        let (object, body) = (self, answer.into_stream());
        Ok(RemoteStream { object, size, version, at: 0, body, chunk: Bytes::new(), restarts: 0 })
    }

    /// A text that changes whenever the content of the object changes.
    ///
    /// # Errors
    /// The object cannot be read.
    #[cfg(feature = "server")]
    pub(super) fn stamp(&self) -> Result<String> {
        let meta = self.meta()?;
        Ok(meta.e_tag.unwrap_or_else(|| format!("{} {}", meta.size, meta.last_modified)))
    }

    /// The properties of the object.
    #[cfg(feature = "library")]
    fn meta(&self) -> Result<object_store::ObjectMeta> {
        Ok(self.get(GetOptions { head: true, ..GetOptions::default() })?.meta)
    }

    fn get(&self, options: GetOptions) -> Result<GetResult> {
        let answer = runtime()?.block_on(self.store.get_opts(&self.key, options));
        answer.map_err(|error| self.failed(error))
    }

    /// Receives a range of the object, if the object still has this version.
    async fn receive(&self, range: Range<u64>, version: &Version) -> Result<Bytes> {
        let failed = |error| self.failed(error);
        let len = range.end - range.start;
        let options = version.condition(GetRange::Bounded(range));
        let answer = self.store.get_opts(&self.key, options).await.map_err(failed)?;
        if Version::of(&answer).as_ref() != Some(version) {
            return Err(replaced().in_source(Arc::clone(&self.address)));
        }
        let bytes = answer.bytes().await.map_err(failed)?;
        match bytes.len() as u64 == len {
            true => Ok(bytes),
            false => {
                let what = format!("the server sent {} bytes, not {len}", bytes.len());
                Err(Error::new(what).in_source(Arc::clone(&self.address)))
            }
        }
    }

    /// Names the object in an error, and says what to do about it.
    fn failed(&self, error: object_store::Error) -> Error {
        use object_store::Error as Cause;
        let is_s3 = self.address.starts_with("s3://");
        let error = match error {
            Cause::NotFound { .. } => {
                Error::new("the server has no such object").with_kind(ErrorKind::NotFound)
            }
            Cause::Precondition { .. } => replaced(),
            Cause::PermissionDenied { .. } | Cause::Unauthenticated { .. } if is_s3 => {
                Error::new(format!("access is denied: {NO_CREDENTIALS}"))
            }
            error => Error::from_cause(error),
        };
        error.in_source(Arc::clone(&self.address))
    }
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

/// The error of an object that was replaced while it was read.
fn replaced() -> Error {
    Error::new("the object was replaced while it was read: run the command again")
        .with_kind(ErrorKind::InvalidData)
}

/// The bytes of an object in order. If the connection breaks, the next request begins at the first
/// missing byte. Reading continues only if the object is still the same.
pub(super) struct RemoteStream {
    object: RemoteObject,
    size: u64,
    version: Option<Version>,
    /// Number of bytes that were received.
    at: u64,
    body: BoxStream<'static, object_store::Result<Bytes>>,
    /// Bytes that were received and not read yet.
    chunk: Bytes,
    /// Number of connections in sequence that broke before a byte was received.
    restarts: usize,
}

impl RemoteStream {
    /// Receives the next bytes; none at the end.
    fn receive(&mut self) -> Result<Bytes> {
        loop {
            let cause = match runtime()?.block_on(self.body.next()) {
                Some(Ok(bytes)) if bytes.is_empty() => continue,
                Some(Ok(bytes)) => {
                    self.at += bytes.len() as u64;
                    self.restarts = 0;
                    return Ok(bytes);
                }
                None if self.at == self.size => return Ok(Bytes::new()),
                None => None,
                Some(Err(cause)) => Some(cause),
            };
            self.restart(cause)?;
        }
    }

    /// Sends a request for the rest of the object.
    fn restart(&mut self, cause: Option<object_store::Error>) -> Result<()> {
        let broken = |why: &str| {
            let what = format!("the connection broke at byte {} of {}{why}", self.at, self.size);
            Error::new(what).in_source(Arc::clone(&self.object.address))
        };
        self.restarts += 1;
        if self.restarts > RESTARTS {
            return Err(match cause {
                Some(cause) => broken("").because(cause),
                None => broken(""),
            });
        }
        let Some(version) = &self.version else {
            let why =
                ", and the server gives no ETag, so that reading cannot go on: download the file";
            return Err(broken(why));
        };
        let answer = self.object.get(version.condition(GetRange::Offset(self.at)))?;
        if Version::of(&answer).as_ref() != Some(version) {
            return Err(replaced().in_source(Arc::clone(&self.object.address)));
        }
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

/// The bucket of an address without `s3://`, and the key in it. The environment variables of AWS
/// have the credentials, the region and the endpoint.
fn in_s3(name: &str) -> Result<(Arc<dyn ObjectStore>, Key)> {
    let (bucket, key) = name
        .split_once('/')
        .filter(|(bucket, key)| !bucket.is_empty() && !key.is_empty())
        .ok_or_else(|| Error::new("not a valid address: s3://BUCKET/KEY is expected"))?;
    let key = Key::parse(key).map_err(Error::from_cause)?;
    // Without this, credentials would be asked for at an address of the network.
    if !CREDENTIALS.iter().any(|name| std::env::var_os(name).is_some()) {
        return Err(Error::new(NO_CREDENTIALS));
    }
    let store = AmazonS3Builder::from_env()
        .with_bucket_name(bucket)
        .with_http_connector(Client { redirects: 0 })
        .with_retry(retries())
        .build();
    Ok((Arc::new(store.map_err(Error::from_cause)?), key))
}

/// A web server. The key is empty, because the whole address names the object.
fn on_web(address: &str) -> Result<(Arc<dyn ObjectStore>, Key)> {
    let url =
        Url::parse(address).map_err(|error| Error::new("not a valid address").because(error))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(Error::new("an address with a user name or a password is not accepted"));
    }
    let options = ClientOptions::new().with_allow_http(url.scheme() == "http");
    let store = HttpBuilder::new()
        .with_url(url)
        .with_client_options(options)
        .with_http_connector(Client { redirects: REDIRECTS })
        .with_retry(retries())
        .build();
    Ok((Arc::new(store.map_err(Error::from_cause)?), Key::default()))
}

fn retries() -> RetryConfig {
    let backoff = BackoffConfig {
        init_backoff: Duration::from_millis(100),
        max_backoff: Duration::from_secs(5),
        base: 2.,
    };
    RetryConfig { backoff, max_retries: RETRIES, ..RetryConfig::default() }
}

/// Makes the clients of stores.
// The crate's own client follows redirects with all headers that it does not know as credentials,
// such as the session tokens of AWS.
#[derive(Debug)]
struct Client {
    /// Maximum number of redirects that are followed.
    redirects: usize,
}

impl HttpConnector for Client {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let allows_http = options.get_config_value(&ClientConfigKey::AllowHttp);
        let redirects = match self.redirects {
            0 => Policy::none(),
            most => Policy::limited(most),
        };
        // This fails only if the program has chosen another implementation of TLS already.
        rustls::crypto::ring::default_provider().install_default().ok();
        let client = reqwest::Client::builder()
            .user_agent(concat!("epdb/", env!("CARGO_PKG_VERSION")))
            .https_only(allows_http.as_deref() != Some("true"))
            .redirect(redirects)
            .connect_timeout(timeout())
            .read_timeout(timeout())
            .build();
        let failed =
            |error| object_store::Error::Generic { store: "HTTP", source: Box::new(error) };
        Ok(HttpClient::new(client.map_err(failed)?))
    }
}

/// Time without an answer after which a request has failed.
fn timeout() -> Duration {
    Duration::from_secs(variable(TIMEOUT_VARIABLE).filter(|it| *it > 0).unwrap_or(TIMEOUT))
}

/// The number in a variable of the environment; `None` if there is none.
fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// The asynchronous runtime that runs all requests.
fn runtime() -> Result<&'static Runtime> {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    if let Some(runtime) = RUNTIME.get() {
        return Ok(runtime);
    }
    let made = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    Ok(RUNTIME.get_or_init(|| made))
}
