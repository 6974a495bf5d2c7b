//! Sites: the page with libraries as files, for any host of static files, or as one page.
//!
//! The page finds what it shows in an element of its own (`id="site"`), and reads the libraries in the browser.

mod bundle;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::page::{self, Asset};
use epdb_base::new_file::NewFile;
use epdb_chess::error::{Error, Result};
use epdb_library::publish::PublishedLibrary;

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
    folder.join(FILES).is_file() && folder.join(page::INDEX).is_file()
}

/// Writes the page of a site whose libraries are in its folder, and removes files of the earlier site that it lacks.
///
/// # Errors
/// A file cannot be written or removed.
pub fn write_folder(folder: &Path, sources: &[SiteSource]) -> Result<SiteSize> {
    let assets = format!("assets-{}", page::hash_of_assets());
    let mut files = BTreeSet::new();
    for SiteSource { name, library, .. } in sources {
        files.extend(library.files.iter().map(|file| format!("{DATA}/{name}/{file}")));
    }
    fs::create_dir_all(folder.join(&assets))?;
    for Asset { name, content, .. } in page::assets().filter(|asset| asset.name != page::INDEX) {
        let file = format!("{assets}/{name}");
        write(&folder.join(&file), content)?;
        files.insert(file);
    }
    write(&folder.join(UNTOUCHED), b"")?;
    // From here on, the new files are shown.
    write(&folder.join(page::INDEX), index(&assets, sources).as_bytes())?;
    files.extend([UNTOUCHED, page::INDEX, FILES].map(String::from));
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
        if Path::new(file).components().any(|part| !matches!(part, std::path::Component::Normal(_)))
        {
            continue;
        }
        let place = folder.join(file);
        removed += u64::from(fs::remove_file(&place).is_ok());
        // A folder that is not empty stays.
        place.parent().map(fs::remove_dir);
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
fn index(assets: &str, sources: &[SiteSource]) -> String {
    let index = page::text(page::INDEX).replace("\"assets/", &format!("\"{assets}/"));
    let url = |source: &SiteSource| format!("{DATA}/{}/{}", source.name, source.library.file);
    let objects = sources
        .iter()
        .map(|source| SourceObject { url: Some(url(source)), ..SourceObject::new(source) });
    let head = [policy(POLICY), data("site", "application/json", &json(objects.collect()))];
    index.replacen("<title>", &format!("{}\n<title>", head.join("\n")), 1)
}

/// One page with everything in it, whose libraries have these archives.
pub fn single_page(sources: &[(SiteSource, Vec<u8>)]) -> String {
    let script = bundle::script("explorer.js");
    let style = page::text("style.css");
    let hash = |text: &str| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)));
    let allowed = format!(
        "default-src 'none'; script-src {} 'wasm-unsafe-eval'; style-src {}; img-src data:; \
         worker-src blob:; base-uri 'none'; form-action 'none'",
        hash(&script),
        hash(style)
    );
    let objects = sources.iter().enumerate().map(|(place, (source, _))| SourceObject {
        bytes: Some(format!("library-{place}")),
        ..SourceObject::new(source)
    });
    let octets = "application/octet-stream";
    let mut parts = vec![
        data("site", "application/json", &json(objects.collect())),
        data("worker", "text/plain", &bundle::script("reader_worker.js")),
        data("wasm", octets, &STANDARD.encode(page::content("epdb.wasm"))),
    ];
    for (place, (_, bytes)) in sources.iter().enumerate() {
        parts.push(data(&format!("library-{place}"), octets, &STANDARD.encode(bytes)));
    }
    parts.push(format!("<script>{script}</script>"));
    page::text(page::INDEX)
        .replacen(STYLE, &format!("{}\n<style>{style}</style>", policy(&allowed)), 1)
        .replacen(SCRIPT, "", 1)
        .replacen("</body>", &format!("{}\n</body>", parts.join("\n")), 1)
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

/// What the page is told about a site, as text that can stand in a page.
fn json(sources: Vec<SourceObject<'_>>) -> String {
    let text = serde_json::to_string(&SiteObject { sources }).unwrap_or_default();
    text.replace('<', "\\u003c")
}

#[derive(Serialize)]
struct SiteObject<'a> {
    sources: Vec<SourceObject<'a>>,
}

/// A source as `/api/sources` describes it, and where it is.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SourceObject<'a> {
    name: &'a str,
    format: &'static str,
    records: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    games: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    settings: Option<String>,
    splits: Vec<&'static str>,
    keeps_games: bool,
    about: BTreeMap<&'a str, Vec<&'a str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    /// The element that has the archive.
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<String>,
    whole: bool,
}

impl SourceObject<'_> {
    fn new(source: &SiteSource) -> SourceObject<'_> {
        let SiteSource { name, library, is_by_ranges } = source;
        let origin = library.origin.as_ref();
        let mut about: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        library.about.facts().for_each(|(key, value)| about.entry(key).or_default().push(value));
        let one_kind = origin.filter(|origin| !origin.is_mixed);
        SourceObject {
            name,
            format: if library.files.len() > 1 { "shards" } else { "archive" },
            records: library.records,
            games: origin.map(|origin| origin.games()),
            settings: origin.map(|origin| origin.settings.to_string()),
            splits: one_kind.map(|origin| origin.settings.names().collect()).unwrap_or_default(),
            keeps_games: library.kept_games > 0,
            about,
            url: None,
            bytes: None,
            whole: !is_by_ranges,
        }
    }
}
