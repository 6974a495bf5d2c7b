//! Sites: the page with libraries as files, for any host of static files, or as one page.
//!
//! The page finds what it shows in an element of its own (`id="site"`), and reads the libraries in the browser.

mod bundle;

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::page::assets::{self, Asset, INDEX};
use epdb_base::new_file::NewFile;
use epdb_chess::error::{Error, Result};
use epdb_explorer::{Explorer, Refusal, Served};
use epdb_library::names::Names;
use epdb_library::publish::PublishedLibrary;
use epdb_source::{Collection, FileFormat};

/// The folder of a site that has a folder for each library.
pub const DATA: &str = "data";
/// The list of the files of a site, one path a line. The next site in the folder removes those that it lacks.
const FILES: &str = "files.txt";
/// Without this file, GitHub Pages leaves files out and changes others.
const UNTOUCHED: &str = ".nojekyll";

/// A library of a site.
#[derive(Clone, Debug)]
pub struct SiteSource {
    /// The name by which the page calls it.
    pub name: String,
    /// The library, whose files are in [`DATA`]`/NAME`.
    pub library: PublishedLibrary,
    /// True if the library is read by ranges of its only file.
    pub is_by_ranges: bool,
}

/// The size of a site that was written.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct SiteSize {
    /// Number of files.
    pub files: u64,
    /// Size of all files in bytes.
    pub bytes: u64,
    /// Number of files of the earlier site that were removed.
    pub removed: u64,
}

/// Checks that a folder is a site, or empty or missing, so that nobody's files are mixed with those of a site.
///
/// # Errors
/// The folder has other files.
pub fn check_folder(folder: &Path) -> Result<()> {
    let is_used = fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some());
    if !is_used || folder.join(FILES).is_file() {
        return Ok(());
    }
    let folder = folder.display();
    Err(Error::new(format!(
        "{folder} has files, but not those of a site: name a new folder, or that of an earlier site"
    )))
}

/// True if a folder has a site.
pub fn is_site(folder: &Path) -> bool {
    folder.join(FILES).is_file() && folder.join(INDEX).is_file()
}

/// Writes the page of a site whose libraries are in its folder, and removes files of the earlier site that it lacks.
///
/// # Errors
/// A file cannot be written or removed.
pub fn write_folder(folder: &Path, sources: &[SiteSource]) -> Result<SiteSize> {
    let folder_of_assets = format!("assets-{}", assets::hash_of_assets());
    let mut files = BTreeSet::new();
    for SiteSource { name, library, .. } in sources {
        files.extend(library.files.iter().map(|file| format!("{DATA}/{name}/{file}")));
    }
    fs::create_dir_all(folder.join(&folder_of_assets))?;
    let mut write_asset = |name, content: &[u8]| {
        let file = format!("{folder_of_assets}/{name}");
        write(&folder.join(&file), content)?;
        files.insert(file);
        Ok::<(), Error>(())
    };
    // One script is received sooner than many that import each other.
    for name in ["explorer.js", "reader_worker.js"] {
        write_asset(name, bundle::script(name).as_bytes())?;
    }
    let is_other = |asset: &&Asset| asset.name != INDEX && !asset.name.ends_with(".js");
    for Asset { name, content, .. } in assets::assets().filter(is_other) {
        write_asset(name, content)?;
    }
    write(&folder.join(UNTOUCHED), b"")?;
    // From here on, the new files are shown.
    write(&folder.join(INDEX), index(folder, &folder_of_assets, sources)?.as_bytes())?;
    files.extend([UNTOUCHED, INDEX, FILES].map(String::from));
    let removed = remove_others(folder, &files)?;
    let list: String = files.iter().map(|file| format!("{file}\n")).collect();
    write(&folder.join(FILES), list.as_bytes())?;
    let mut size = SiteSize { files: files.len() as u64, bytes: 0, removed };
    for file in &files {
        size.bytes += fs::metadata(folder.join(file))?.len();
    }
    Ok(size)
}

/// Removes the files of the earlier site that the new one lacks.
fn remove_others(folder: &Path, files: &BTreeSet<String>) -> Result<u64> {
    let earlier = fs::read_to_string(folder.join(FILES)).unwrap_or_default();
    let mut removed = 0;
    for file in earlier.lines().filter(|file| !files.contains(*file)) {
        // The list may have been edited: it must not lead out of the folder.
        if Path::new(file).components().any(|part| !matches!(part, Component::Normal(_))) {
            continue;
        }
        let place = folder.join(file);
        removed += u64::from(fs::remove_file(&place).is_ok());
        if let Some(parent) = place.parent() {
            // A folder that is not empty stays.
            fs::remove_dir(parent).ok();
        }
    }
    Ok(removed)
}

/// Writes a file, unless it has this content already.
fn write(place: &Path, content: &[u8]) -> Result<()> {
    if fs::read(place).is_ok_and(|known| known == content) {
        return Ok(());
    }
    let mut file = NewFile::create(place)?;
    file.write_all(content)?;
    Ok(file.finish()?)
}

/// The content policy of a folder. `wasm-unsafe-eval` only permits WebAssembly.
const POLICY: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; \
                      img-src 'self' data:; connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'";

/// The page of a folder, with its assets in the folder `assets`.
fn index(folder: &Path, assets: &str, sources: &[SiteSource]) -> Result<String> {
    let index = assets::text(INDEX).replace("\"assets/", &format!("\"{assets}/"));
    let description = description(folder, sources, |_, source| {
        ("url", format!("{DATA}/{}/{}", source.name, source.library.file))
    })?;
    let head = [policy(POLICY), data("site", "application/json", &description)];
    Ok(index.replacen("<title>", &format!("{}\n<title>", head.join("\n")), 1))
}

/// One page with everything in it. The libraries are archives below a folder.
///
/// # Errors
/// A library cannot be read.
pub fn single_page(folder: &Path, sources: &[SiteSource]) -> Result<String> {
    let script = bundle::script("explorer.js");
    let style = assets::text("style.css");
    let hash = |text: &str| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)));
    let allowed = format!(
        "default-src 'none'; script-src {} 'wasm-unsafe-eval'; style-src {}; img-src data:; \
         worker-src blob:; base-uri 'none'; form-action 'none'",
        hash(&script),
        hash(style)
    );
    let element = |number: usize| format!("library-{number}");
    let description = description(folder, sources, |number, _| ("bytes", element(number)))?;
    let octets = "application/octet-stream";
    let mut parts = vec![
        data("site", "application/json", &description),
        data("worker", "text/plain", &bundle::script("reader_worker.js")),
        data("wasm", octets, &STANDARD.encode(assets::content("explorer.wasm.gz"))),
        data("tally", octets, &STANDARD.encode(assets::content("tally.wasm.gz"))),
        data("model", octets, &STANDARD.encode(assets::content("shipped.model"))),
        data("openings", octets, &STANDARD.encode(assets::content("openings.table"))),
    ];
    for (number, source) in sources.iter().enumerate() {
        let archive = fs::read(source.file(folder))?;
        parts.push(data(&element(number), octets, &STANDARD.encode(archive)));
    }
    parts.push(format!("<script>{script}</script>"));
    Ok(assets::text(INDEX)
        .replacen(STYLE, &format!("{}\n<style>{style}</style>", policy(&allowed)), 1)
        .replacen(SCRIPT, "", 1)
        .replacen("</body>", &format!("{}\n</body>", parts.join("\n")), 1))
}

/// The elements of the page that name its files.
const STYLE: &str = "<link rel=\"stylesheet\" href=\"assets/style.css\">";
const SCRIPT: &str = "<script type=\"module\" src=\"assets/explorer.js\"></script>\n";

fn policy(allowed: &str) -> String {
    format!("<meta http-equiv=\"Content-Security-Policy\" content=\"{allowed}\">")
}

/// An element that has data and does not run.
fn data(id: &str, media_type: &str, text: &str) -> String {
    format!("<script type=\"{media_type}\" id=\"{id}\">{text}</script>")
}

/// Describes the libraries below a folder for the page, in JSON that can stand in a page. `place` returns the place
/// of the library with a number.
fn description(
    folder: &Path,
    sources: &[SiteSource],
    place: impl Fn(usize, &SiteSource) -> (&'static str, String),
) -> Result<String> {
    let names = Arc::new(Names::from_files(&[])?);
    let mut explorer = Explorer { sources: Vec::new(), changes: 0, names, strict: false };
    for source in sources {
        let format =
            if source.library.files.len() > 1 { FileFormat::Shards } else { FileFormat::Epa };
        let library = Collection::open(source.file(folder), 1 << 20)?;
        explorer.sources.push(Arc::new(Served::new(&source.name, format, library, 0)?));
    }
    let mut objects = serde_json::json!(epdb_explorer::sources(&explorer));
    let described = objects.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut);
    for (number, (object, source)) in described.zip(sources).enumerate() {
        // The same libraries make the same site at any time.
        object.remove("opened");
        let (key, value) = place(number, source);
        object.insert(key.to_string(), value.into());
        object.insert("whole".to_string(), (!source.is_by_ranges).into());
        object.insert("start".to_string(), start_position(&explorer, &source.name)?);
    }
    let text = serde_json::json!({ "sources": objects }).to_string();
    Ok(text.replace('<', "\\u003c"))
}

/// The answer of the explorer for the start position, which the page then shows before it has received anything else.
fn start_position(explorer: &Explorer, source: &str) -> Result<Value> {
    let refused = |why: Refusal| Error::new(why.to_string()).in_source(source);
    let answer = explorer.start_position(source).map_err(refused)?;
    let mut answer: Value = serde_json::from_str(&answer.json).map_err(Error::from_cause)?;
    // What a record counts is in the moves of the answer; as text it is often a hundred times as long.
    if let Some(records) = answer["records"].as_array_mut() {
        records.retain(|record| record["operations"].get("tally").is_none());
    }
    Ok(answer)
}

impl SiteSource {
    /// The archive or the manifest of the library below a folder.
    fn file(&self, folder: &Path) -> PathBuf {
        folder.join(DATA).join(&self.name).join(&self.library.file)
    }
}
