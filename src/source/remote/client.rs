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
use reqwest::header::{
    AUTHORIZATION, CONTENT_LENGTH, ETAG, HeaderValue, LAST_MODIFIED, LINK, TRANSFER_ENCODING,
};
use reqwest::redirect::Policy;
use reqwest::{Method, StatusCode, Url};

use super::settings::{RemoteSettings, storage_options};
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
const NO_KEY: &str = "not a valid address: s3://BUCKET/KEY is expected";
/// The advice for a dataset that may not be read. The server hides those that do not exist.
pub(super) const NO_TOKEN: &str = "there is no such dataset, or it is not public: set HF_TOKEN in the environment \
    to a token that may read it";
const NO_USER: &str = "an address with a user name or a password is not accepted";

/// A server, and the name of an object on it.
pub(super) type Opened = (Arc<dyn ObjectStore>, Key);

/// The bucket of an address without `s3://`, and the key in it.
pub(super) fn in_s3(name: &str) -> Result<Opened> {
    let (name, key) = name
        .split_once('/')
        .filter(|(_, key)| !key.is_empty())
        .ok_or_else(|| Error::new(NO_KEY))?;
    let key = Key::parse(key).map_err(Error::from_cause)?;
    Ok((bucket(name)?, key))
}

/// A bucket. The storage options and the environment variables of AWS have the credentials, the region and
/// the endpoint.
pub(super) fn bucket(name: &str) -> Result<Arc<dyn ObjectStore>> {
    if name.is_empty() {
        return Err(Error::new(NO_KEY));
    }
    if name.contains('@') {
        return Err(Error::new(NO_USER));
    }
    let settings = RemoteSettings::get()?;
    let mut store = AmazonS3Builder::from_env().with_bucket_name(name);
    for (key, value) in storage_options(&format!("s3://{name}")) {
        store = store.with_config(s3_option(&key)?, value);
    }
    // The crate would request credentials at addresses of the network of the machine.
    if !settings.has_instance_credentials && !has_own_credentials(&store) {
        return Err(Error::new(NO_CREDENTIALS));
    }
    let store = store
        .with_http_connector(Connector { redirects: 0, settings, authorization: None })
        .with_retry(retries(settings));
    Ok(Arc::new(store.build().map_err(Error::from_cause)?))
}

/// The storage option with a name, such as `aws_region` or `region`.
pub(super) fn s3_option(name: &str) -> Result<AmazonS3ConfigKey> {
    use AmazonS3ConfigKey::{Bucket, Client};
    match name.parse() {
        // The address has the bucket, and the settings of epdb those of connections.
        Ok(Client(key)) if key != ClientConfigKey::AllowHttp => {}
        Ok(Bucket) | Err(_) => {}
        Ok(key) => return Ok(key),
    }
    Err(Error::new(format!(
        "{name:?} is not an option of s3://: aws_access_key_id, aws_secret_access_key, \
         aws_session_token, aws_region, aws_endpoint_url, aws_allow_http and aws_skip_signature are the usual ones"
    )))
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

/// A web server. The key is empty, because the whole address names the object. The header `Authorization` is sent
/// to this server alone: a redirect to another one leaves it out.
pub(super) fn on_web(address: &str, authorization: Option<HeaderValue>) -> Result<Opened> {
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
        .with_http_connector(Connector { redirects: REDIRECTS, settings, authorization })
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
    authorization: Option<HeaderValue>,
}

impl HttpConnector for Connector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let allows_http = options.get_config_value(&ClientConfigKey::AllowHttp);
        let allows_http = allows_http.as_deref() == Some("true");
        let failed = |source| object_store::Error::Generic { store: "HTTP", source };
        let shared = shared().map_err(|error| failed(Box::new(error)))?;
        let mut clients = shared.clients.lock().unwrap_or_else(PoisonError::into_inner);
        let client = match clients.get(&(allows_http, self.redirects)) {
            Some(client) => client.clone(),
            None => {
                let client =
                    self.new_client(allows_http).map_err(|error| failed(Box::new(error)))?;
                clients.insert((allows_http, self.redirects), client.clone());
                client
            }
        };
        let authorization = self.authorization.clone();
        Ok(HttpClient::new(Client { client, authorization }))
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
struct Client {
    client: reqwest::Client,
    authorization: Option<HeaderValue>,
}

type Answering<'f> = Pin<Box<dyn Future<Output = Result<HttpResponse, HttpError>> + Send + 'f>>;

impl HttpService for Client {
    fn call<'c, 'f>(&'c self, mut request: HttpRequest) -> Answering<'f>
    where
        'c: 'f,
        Self: 'f,
    {
        let method = request.method().clone();
        if let Some(authorization) = &self.authorization {
            request.headers_mut().insert(AUTHORIZATION, authorization.clone());
        }
        Box::pin(async move { accepted(&method, self.client.call(request).await?) })
    }
}

/// The header `Last-Modified` of an answer, unchanged.
#[derive(Clone, Debug)]
pub(super) struct LastModified(pub(super) String);

/// The address of the next page of a list, from the header `Link` of an answer.
#[derive(Clone, Debug)]
pub(super) struct NextPage(pub(super) String);

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
    if let Some(next) = answer.headers().get(LINK).and_then(next_page) {
        answer.extensions_mut().insert(next);
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

/// The next page in a header such as `<https://example.org/list?cursor=2>; rel="next"`.
fn next_page(link: &HeaderValue) -> Option<NextPage> {
    let links = link.to_str().ok()?.split(',');
    let mut links = links.filter_map(|link| link.split_once(';'));
    let (address, _) = links.find(|(_, kind)| kind.trim() == "rel=\"next\"")?;
    Some(NextPage(address.trim().strip_prefix('<')?.strip_suffix('>')?.to_string()))
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
