//! The HTTP clients of web servers and of object storage.

use std::error::Error as StdError;
use std::future::Future;
use std::iter;
use std::pin::Pin;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService,
};
use object_store::http::HttpBuilder;
use object_store::path::Path as Key;
use object_store::{BackoffConfig, ClientConfigKey, ClientOptions, ObjectStore, RetryConfig};
use reqwest::header::{CONTENT_LENGTH, ETAG, HeaderValue, LAST_MODIFIED, TRANSFER_ENCODING};
use reqwest::redirect::Policy;
use reqwest::{Method, StatusCode, Url};

use super::settings::RemoteSettings;
use super::shared::shared;
use epdb_chess::error::{Error, Result};

/// Maximum number of times that a failed request is repeated. The pauses between the requests grow
/// from 0.1 to 3.2 seconds.
const RETRIES: usize = 6;
/// Maximum number of redirects of a web server that are followed.
const REDIRECTS: usize = 10;
/// Size of an object whose server does not give its size.
pub(super) const UNKNOWN_SIZE: u64 = i64::MAX as u64;

pub(super) const NO_CREDENTIALS: &str = "set AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION in the environment, or \
    AWS_SKIP_SIGNATURE=true for a public object, or EPDB_REMOTE_INSTANCE_CREDENTIALS=true to request \
    credentials from the machine or the container";
const NO_USER: &str = "an address with a user name or a password is not accepted";

/// The bucket of an address without `s3://`, and the key in it. The environment variables of AWS
/// have the credentials, the region and the endpoint.
pub(super) fn in_s3(name: &str) -> Result<(Arc<dyn ObjectStore>, Key)> {
    let (bucket, key) = name
        .split_once('/')
        .filter(|(bucket, key)| !bucket.is_empty() && !key.is_empty())
        .ok_or_else(|| Error::new("not a valid address: s3://BUCKET/KEY is expected"))?;
    if bucket.contains('@') {
        return Err(Error::new(NO_USER));
    }
    let settings = RemoteSettings::get()?;
    let key = Key::parse(key).map_err(Error::from_cause)?;
    let store = AmazonS3Builder::from_env().with_bucket_name(bucket);
    // The crate would request credentials at addresses of the network of the machine.
    if !settings.has_instance_credentials && !has_own_credentials(&store) {
        return Err(Error::new(NO_CREDENTIALS));
    }
    let store = store
        .with_http_connector(Connector { redirects: 0, settings })
        .with_retry(retries(settings));
    Ok((Arc::new(store.build().map_err(Error::from_cause)?), key))
}

/// True if the environment has credentials, or says that none are needed.
// These are the conditions of the crate for the credentials that it takes first.
fn has_own_credentials(store: &AmazonS3Builder) -> bool {
    use AmazonS3ConfigKey::{
        AccessKeyId, RoleArn, SecretAccessKey, SkipSignature, WebIdentityTokenFile,
    };
    let value = |key| store.get_config_value(&key);
    let skips = value(SkipSignature).unwrap_or_default().to_ascii_lowercase();
    ["1", "true", "on", "yes", "y"].contains(&skips.as_str())
        || value(AccessKeyId).is_some()
        || value(SecretAccessKey).is_some()
        || value(WebIdentityTokenFile).is_some() && value(RoleArn).is_some()
}

/// A web server. The key is empty, because the whole address names the object.
pub(super) fn on_web(address: &str) -> Result<(Arc<dyn ObjectStore>, Key)> {
    let url =
        Url::parse(address).map_err(|error| Error::new("not a valid address").because(error))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(Error::new(NO_USER));
    }
    let settings = RemoteSettings::get()?;
    let options = ClientOptions::new().with_allow_http(url.scheme() == "http");
    let store = HttpBuilder::new()
        .with_url(url)
        .with_client_options(options)
        .with_http_connector(Connector { redirects: REDIRECTS, settings })
        .with_retry(retries(settings))
        .build();
    Ok((Arc::new(store.map_err(Error::from_cause)?), Key::default()))
}

fn retries(settings: &RemoteSettings) -> RetryConfig {
    let backoff = BackoffConfig {
        init_backoff: Duration::from_millis(100),
        max_backoff: Duration::from_secs(5),
        base: 2.,
    };
    RetryConfig { backoff, max_retries: RETRIES, retry_timeout: settings.patience() }
}

/// Makes the clients of stores.
// The crate's own client follows redirects with all headers that it does not know as credentials,
// such as the session tokens of AWS. It also sends the address that redirects as the referrer.
#[derive(Debug)]
struct Connector {
    /// Maximum number of redirects that are followed.
    redirects: usize,
    settings: &'static RemoteSettings,
}

impl HttpConnector for Connector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let allows_http = options.get_config_value(&ClientConfigKey::AllowHttp);
        let allows_http = allows_http.as_deref() == Some("true");
        let failed = |source| object_store::Error::Generic { store: "HTTP", source };
        let shared = shared().map_err(|error| failed(Box::new(error)))?;
        let mut clients = shared.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = clients.get(&(allows_http, self.redirects)) {
            return Ok(HttpClient::new(Client(client.clone())));
        }
        let client = self.new_client(allows_http).map_err(|error| failed(Box::new(error)))?;
        clients.insert((allows_http, self.redirects), client.clone());
        Ok(HttpClient::new(Client(client)))
    }
}

impl Connector {
    fn new_client(&self, allows_http: bool) -> reqwest::Result<reqwest::Client> {
        let redirects = match self.redirects {
            0 => Policy::none(),
            maximum => Policy::limited(maximum),
        };
        // This fails only if the program has chosen another implementation of TLS already.
        rustls::crypto::ring::default_provider().install_default().ok();
        reqwest::Client::builder()
            .user_agent(concat!("epdb/", env!("CARGO_PKG_VERSION")))
            .https_only(!allows_http)
            .redirect(redirects)
            .referer(false)
            .connect_timeout(self.settings.timeout)
            .read_timeout(self.settings.timeout)
            .build()
    }
}

/// A client that also accepts answers without a length.
#[derive(Debug)]
struct Client(reqwest::Client);

type Answering<'f> = Pin<Box<dyn Future<Output = Result<HttpResponse, HttpError>> + Send + 'f>>;

impl HttpService for Client {
    fn call<'c, 'f>(&'c self, request: HttpRequest) -> Answering<'f>
    where
        'c: 'f,
        Self: 'f,
    {
        let method = request.method().clone();
        Box::pin(async move { accepted(&method, self.0.call(request).await?) })
    }
}

/// The header `Last-Modified` of an answer, unchanged.
#[derive(Clone, Debug)]
pub(super) struct LastModified(pub(super) String);

/// Checks an answer with the content of an object, or the answer to a HEAD request. Adds the length
/// that the crate requires.
fn accepted(method: &Method, mut answer: HttpResponse) -> Result<HttpResponse, HttpError> {
    let status = answer.status();
    if status == StatusCode::RANGE_NOT_SATISFIABLE {
        return Err(HttpError::new(HttpErrorKind::Decode, NoRange));
    }
    if ![Method::GET, Method::HEAD].contains(method) || !status.is_success() {
        return Ok(answer);
    }
    if ![StatusCode::OK, StatusCode::NON_AUTHORITATIVE_INFORMATION, StatusCode::PARTIAL_CONTENT]
        .contains(&status)
    {
        return refused(format!("the server answered {status}, without the content"));
    }
    // The crate refuses a date that it cannot parse.
    if let Some(date) = answer.headers_mut().remove(LAST_MODIFIED) {
        let date = String::from_utf8_lossy(date.as_bytes()).into_owned();
        answer.extensions_mut().insert(LastModified(date));
    }
    let headers = answer.headers_mut();
    if headers.contains_key(CONTENT_LENGTH) {
        return Ok(answer);
    }
    if *method == Method::GET {
        if !headers.contains_key(TRANSFER_ENCODING) {
            let what = "the server does not say where the content ends, so that a part of it could be \
                        missing: download the file";
            return refused(what.to_string());
        }
        // A request for the rest of the content needs its length.
        headers.remove(ETAG);
    }
    headers.insert(CONTENT_LENGTH, HeaderValue::from(UNKNOWN_SIZE));
    Ok(answer)
}

/// The error of a range that the object does not have. An empty object has no range.
#[derive(Debug, thiserror::Error)]
#[error("the object does not have the range that was requested")]
struct NoRange;

/// True if the server does not send ranges, or the object does not have the range.
pub(super) fn has_no_range(error: &object_store::Error) -> bool {
    let first: &dyn StdError = error;
    let mut causes = iter::successors(Some(first), |error| (*error).source());
    matches!(error, object_store::Error::NotSupported { .. }) || causes.any(|it| it.is::<NoRange>())
}

fn refused(what: String) -> Result<HttpResponse, HttpError> {
    Err(HttpError::new(HttpErrorKind::Decode, Error::new(what)))
}
