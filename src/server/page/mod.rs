//! The web page: an explorer. Its files are built into the program, and it requests only paths of
//! this server.

pub(super) mod assets;

use std::sync::Arc;

use axum::Router;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use super::answer::{Answer, Refusal};
use super::app::App;
use super::extract::Path;
use assets::{Asset, INDEX, assets};

/// The routes of the page. Its files have their own folder, so that relative addresses work below
/// any base path.
pub(super) fn routes() -> Router<Arc<App>> {
    let index = get(async |headers: HeaderMap| file(INDEX, &headers));
    Router::new().route("/", index).route("/assets/{file}", get(asset))
}

/// The content security policy: only scripts and requests of the server itself. `wasm-unsafe-eval` only permits
/// WebAssembly, which counts games that are dropped on the page.
const POLICY: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' data:; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

async fn asset(Path(name): Path<String>, headers: HeaderMap) -> Answer {
    file(&name, &headers)
}

/// A file, or the answer that the browser's copy is current.
fn file(name: &str, headers: &HeaderMap) -> Answer {
    let found = assets().find(|asset| asset.name == name);
    let asset = found.ok_or_else(|| Refusal::not_found("the page has no such file"))?;
    let facts = [
        (header::CONTENT_TYPE, asset.media_type),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::CACHE_CONTROL, "no-cache"),
        (header::ETAG, asset.tag.as_str()),
    ];
    let is_known = headers.get_all(header::IF_NONE_MATCH).iter().any(|known| names(known, asset));
    let answer: Response = if is_known {
        (StatusCode::NOT_MODIFIED, facts).into_response()
    } else {
        (facts, asset.content.clone()).into_response()
    };
    Ok(answer)
}

/// True if a list of ETags has the ETag of a file.
fn names(known: &header::HeaderValue, asset: &Asset) -> bool {
    let mut tags = known.to_str().unwrap_or_default().split(',').map(str::trim);
    tags.any(|tag| tag == "*" || opaque(tag) == opaque(&asset.tag))
}

/// A tag, whether it is weak or not.
fn opaque(tag: &str) -> &str {
    tag.strip_prefix("W/").unwrap_or(tag)
}
