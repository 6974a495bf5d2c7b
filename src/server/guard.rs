//! What is asked of every request before anything is looked up for it.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tower_http::timeout::TimeoutBody;

use super::answer::Refusal;
use super::host::Hosts;
use super::limits::Limits;
use super::settings::ServerSettings;

/// What is asked of every request.
#[derive(Debug)]
pub(super) struct Guard {
    hosts: Hosts,
    limits: Limits,
}

impl Guard {
    pub(super) fn new(settings: &ServerSettings, listen: SocketAddr) -> Guard {
        let hosts = Hosts::new(listen, &settings.allow_host);
        Guard { hosts, limits: settings.limits.clone() }
    }

    fn check(&self, request: &Request) -> Result<(), Refusal> {
        let (uri, headers) = (request.uri(), request.headers());
        self.hosts.check(uri, headers)?;
        let size = uri.path_and_query().map_or(0, |it| it.as_str().len());
        if size > self.limits.uri_size {
            let most = self.limits.uri_size;
            let text = format!("the address has {size} bytes; at most {most} are taken");
            return Err(Refusal { status: StatusCode::URI_TOO_LONG, text });
        }
        if request.method() != Method::POST && has_body(headers) {
            return Err(Refusal::bad_request("a body behind a question that has none"));
        }
        Ok(())
    }
}

fn has_body(headers: &HeaderMap) -> bool {
    let length = headers.get(header::CONTENT_LENGTH);
    headers.contains_key(header::TRANSFER_ENCODING) || length.is_some_and(|length| length != "0")
}

/// Lets requests through that are fit to be answered, with so much time as there is for them.
pub(super) async fn guard(
    State(guard): State<Arc<Guard>>,
    request: Request,
    next: Next,
) -> Response {
    if let Err(refusal) = guard.check(&request) {
        return refusal.into_response();
    }
    let Limits { body_time, answer_time, .. } = guard.limits;
    let request = request.map(|body| Body::new(TimeoutBody::new(body_time, body)));
    let answer = tokio::time::timeout(answer_time, next.run(request)).await;
    answer.unwrap_or_else(|_| {
        let text = "no answer within the time that there is for one".to_string();
        Refusal { status: StatusCode::SERVICE_UNAVAILABLE, text }.into_response()
    })
}

/// The answer to a path that there is not.
pub(super) async fn no_path(request: Request) -> Refusal {
    match *request.method() {
        Method::GET | Method::HEAD | Method::POST => Refusal::not_found("there is no such path"),
        _ => no_method().await,
    }
}

/// The answer to a method that a path has not.
pub(super) async fn no_method() -> Refusal {
    Refusal {
        status: StatusCode::METHOD_NOT_ALLOWED,
        text: "no such method here: questions are asked by GET or HEAD, and many at once by POST"
            .into(),
    }
}
