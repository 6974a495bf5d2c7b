//! The web page: an explorer. Its files are built into the program, and it requests only paths of
//! this server.

use std::sync::{Arc, LazyLock};

use axum::Router;
use axum::body::Bytes;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use super::answer::{Answer, Refusal};
use super::app::App;
use super::extract::Path;

/// The routes of the page. Its files have their own folder, so that relative addresses work below
/// any base path.
pub(super) fn routes() -> Router<Arc<App>> {
    let index = get(async |headers: HeaderMap| file("index.html", &headers));
    Router::new().route("/", index).route("/assets/{file}", get(asset))
}

/// The content security policy: only scripts and requests of the server itself. `wasm-unsafe-eval` only permits
/// WebAssembly, which counts games that are dropped on the page.
const POLICY: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' data:; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The name of the page itself.
pub(super) const INDEX: &str = "index.html";

/// A file of the page.
pub(super) struct Asset {
    pub(super) name: &'static str,
    pub(super) content: Bytes,
    media_type: &'static str,
    /// The weak entity tag of the content, which is the same for all compressions.
    tag: String,
}

impl Asset {
    fn new(name: &'static str, content: Bytes) -> Asset {
        let media_type = match name.rsplit('.').next() {
            Some("html") => "text/html; charset=utf-8",
            Some("css") => "text/css; charset=utf-8",
            Some("wasm") => "application/wasm",
            Some("bin") => "application/octet-stream",
            _ => "text/javascript; charset=utf-8",
        };
        let hash = blake3::hash(&content).to_hex();
        Asset { name, content, media_type, tag: format!("W/\"{}\"", &hash[..16]) }
    }
}

macro_rules! assets {
    ($($name:literal),* $(,)?) => {
        [$(Asset::new($name, Bytes::from_static(include_bytes!($name)))),*]
    };
}

/// The reader of libraries in the browser, and the built-in model of archives that it may need.
fn reader() -> [Asset; 3] {
    let script = include_bytes!("../../wasm/reader.js");
    let program = &include_bytes!("../../wasm/explorer.wasm.zst")[..];
    let model = include_bytes!("../../../formats/data/shipped.bin");
    // The program was made from a sound file, so its reader is there.
    let program = zstd::decode_all(program).unwrap_or_default();
    [
        Asset::new("reader.js", Bytes::from_static(script)),
        Asset::new("explorer.wasm", program.into()),
        Asset::new("shipped.bin", Bytes::from_static(model)),
    ]
}

static ASSETS: LazyLock<Vec<Asset>> = LazyLock::new(|| {
    let page = assets![
        "index.html",
        "style.css",
        "address.js",
        "arrows.js",
        "board.js",
        "branches.js",
        "browse.js",
        "columns.js",
        "copy.js",
        "dom.js",
        "explorer.js",
        "filters.js",
        "focus.js",
        "game.js",
        "games.js",
        "line.js",
        "moves.js",
        "numbers.js",
        "opcodes.js",
        "own.js",
        "parents.js",
        "pattern.js",
        "pieces.js",
        "reader_worker.js",
        "records.js",
        "server.js",
        "sources.js",
        "theme.js",
        "worker.js",
    ];
    page.into_iter().chain(reader()).collect()
});

/// All files of the page.
pub(super) fn assets() -> impl Iterator<Item = &'static Asset> {
    ASSETS.iter()
}

/// The content of a file; empty if the page has no such file.
pub(super) fn content(name: &str) -> &'static [u8] {
    assets().find(|asset| asset.name == name).map_or(&[], |asset| &asset.content)
}

/// A file that is text.
pub(super) fn text(name: &str) -> &'static str {
    std::str::from_utf8(content(name)).unwrap_or_default()
}

/// A hash of all files, in hexadecimal digits.
pub(super) fn hash_of_assets() -> String {
    let mut hash = blake3::Hasher::new();
    for Asset { name, tag, .. } in assets() {
        hash.update(format!("{name} {tag}\n").as_bytes());
    }
    hash.finalize().to_hex()[..16].to_string()
}

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
    let answer: Response = match is_known {
        true => (StatusCode::NOT_MODIFIED, facts).into_response(),
        false => (facts, asset.content.clone()).into_response(),
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
