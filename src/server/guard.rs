//! Checks of every request before any lookup.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::answer::Refusal;
use super::body;
use super::body::{BodyPlace, BodyPlaces};
use super::cors::{self, Origin};
use super::host::{Hosts, called};
use super::limits::Limits;
use super::settings::ServerSettings;

/// Checks of every request.
#[derive(Debug)]
pub(super) struct Guard {
    hosts: Hosts,
    origins: Vec<Origin>,
    limits: Limits,
    bodies: Arc<BodyPlaces>,
}

#[derive(Copy, Clone, Debug)]
pub(super) struct Client(pub(super) IpAddr);

impl Guard {
    pub(super) fn new(settings: &ServerSettings, listen: SocketAddr) -> Guard {
        let hosts = Hosts::new(listen, &settings.allow_host);
        let limits = settings.limits.clone();
        let bodies = Arc::new(BodyPlaces::new(&limits));
        Guard { hosts, origins: settings.cors.clone(), limits, bodies }
    }

    fn check(&self, request: &Request) -> Result<(), Refusal> {
        let uri = request.uri();
        let headers = request.headers();
        self.hosts.check(uri, headers)?;
        let size = uri.path_and_query().map_or(0, |it| it.as_str().len());
        if size > self.limits.uri_size {
            let maximum = self.limits.uri_size;
            let text = format!("the address has {size} bytes; at most {maximum} are taken");
            return Err(Refusal { status: StatusCode::URI_TOO_LONG, text });
        }
        if request.method() != Method::POST && has_body(headers) {
            return Err(Refusal::bad_request("a body behind a question that has none"));
        }
        if request.method() == Method::POST {
            self.check_origin(uri, headers)?;
        }
        match content_length(headers) {
            Some(length) if length > self.limits.body_size as u64 => {
                Err(too_large(self.limits.body_size))
            }
            _ => Ok(()),
        }
    }

    /// A place for the body of a request; `None` if the request has no body.
    fn place_for_body(&self, request: &Request) -> Result<Option<BodyPlace>, Refusal> {
        match request.extensions().get::<Client>() {
            Some(Client(address)) if has_body(request.headers()) => {
                self.bodies.enter(*address).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Refuses requests of foreign pages that browsers send without a preflight.
    fn check_origin(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Refusal> {
        let host = headers.get(header::HOST).map(HeaderValue::as_bytes).unwrap_or_default();
        let own = called(uri, host);
        let is_own = |origin: &HeaderValue| {
            let origin = origin.as_bytes();
            let host = origin.strip_prefix(b"http://").or(origin.strip_prefix(b"https://"));
            host.is_some_and(|host| host.eq_ignore_ascii_case(own))
        };
        let is_allowed = |it: &&HeaderValue| is_own(it) || cors::allows(&self.origins, it);
        match headers.get_all(header::ORIGIN).iter().find(|it| !is_allowed(it)) {
            None => Ok(()),
            Some(origin) => {
                let origin = String::from_utf8_lossy(origin.as_bytes());
                let text =
                    format!("pages of {origin} may not ask this; --cors {origin} allows them to");
                Err(Refusal { status: StatusCode::FORBIDDEN, text })
            }
        }
    }
}

pub(super) fn too_large(maximum: usize) -> Refusal {
    let text =
        format!("the body has more than {maximum} bytes; ask in parts, or set limits.body-size");
    Refusal { status: StatusCode::PAYLOAD_TOO_LARGE, text }
}

fn content_length(headers: &HeaderMap) -> Option<u64> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

fn has_body(headers: &HeaderMap) -> bool {
    let length = headers.get(header::CONTENT_LENGTH);
    headers.contains_key(header::TRANSFER_ENCODING) || length.is_some_and(|length| length != "0")
}

/// Passes valid requests on, with a time limit.
pub(super) async fn pass_valid(
    State(guard): State<Arc<Guard>>,
    request: Request,
    next: Next,
) -> Response {
    let place = match guard.check(&request).and_then(|()| guard.place_for_body(&request)) {
        Ok(place) => place,
        Err(refusal) => return refusal.into_response(),
    };
    let request = request.map(|body| body::limited(body, &guard.limits, place));
    let answer = tokio::time::timeout(guard.limits.answer_time, next.run(request)).await;
    match answer {
        Ok(response) => response,
        Err(_) => {
            let text = "no answer within the time that there is for one".to_string();
            Refusal { status: StatusCode::SERVICE_UNAVAILABLE, text }.into_response()
        }
    }
}

/// The answer for an unknown path.
pub(super) async fn no_path(request: Request) -> Refusal {
    match *request.method() {
        Method::GET | Method::HEAD | Method::POST => Refusal::not_found("there is no such path"),
        _ => no_method().await,
    }
}

/// The answer for a method that a path does not support.
pub(super) async fn no_method() -> Refusal {
    Refusal {
        status: StatusCode::METHOD_NOT_ALLOWED,
        text: "no such method here: questions are asked by GET or HEAD, and many at once by POST"
            .into(),
    }
}
