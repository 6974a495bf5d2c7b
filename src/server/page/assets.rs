//! The files of the page.

use std::sync::LazyLock;

use axum::body::Bytes;

use epdb_explorer::reader;

/// The media type of files that are compressed already.
pub(crate) const GZIP: &str = "application/gzip";
/// The name of the page itself.
pub(crate) const INDEX: &str = "index.html";

pub(crate) struct Asset {
    pub(crate) name: &'static str,
    pub(crate) content: Bytes,
    pub(crate) media_type: &'static str,
    /// The weak entity tag of the content, which is the same for all compressions.
    pub(crate) tag: String,
}

impl Asset {
    fn new(name: &'static str, content: Bytes) -> Asset {
        let media_type = match name.rsplit('.').next() {
            Some("html") => "text/html; charset=utf-8",
            Some("css") => "text/css; charset=utf-8",
            Some("gz") => GZIP,
            Some("model" | "table") => "application/octet-stream",
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

/// The reader of libraries in the browser: its script, its programs, the built-in model of archives, and the names of openings.
fn of_reader() -> [Asset; 5] {
    [
        Asset::new("reader.js", Bytes::from_static(reader::SCRIPT.as_bytes())),
        Asset::new("shipped.model", Bytes::from_static(reader::SHIPPED_MODEL)),
        Asset::new("openings.table", Bytes::from_static(reader::OPENINGS)),
        Asset::new("explorer.wasm.gz", Bytes::from_static(reader::WASM)),
        Asset::new("tally.wasm.gz", Bytes::from_static(reader::TALLY_WASM)),
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
    page.into_iter().chain(of_reader()).collect()
});

pub(crate) fn assets() -> impl Iterator<Item = &'static Asset> {
    ASSETS.iter()
}

/// The content of a file; empty if the page has no such file.
pub(crate) fn content(name: &str) -> &'static [u8] {
    assets().find(|asset| asset.name == name).map_or(&[], |asset| &asset.content)
}

pub(crate) fn text(name: &str) -> &'static str {
    std::str::from_utf8(content(name)).unwrap_or_default()
}

/// A hash of all files, in hexadecimal digits.
pub(crate) fn hash_of_assets() -> String {
    let mut hash = blake3::Hasher::new();
    for Asset { name, tag, .. } in assets() {
        hash.update(format!("{name} {tag}\n").as_bytes());
    }
    hash.finalize().to_hex()[..16].to_string()
}
