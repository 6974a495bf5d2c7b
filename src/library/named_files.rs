//! Files and objects that are named together: by their folder, or by a pattern.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};

use super::order::natural_order;
use epdb_chess::error::{Error, Result};
use epdb_source::{FileFormat, format_of_file, is_address, objects_below, source_suffix};

/// The characters that make a pattern of a name.
pub const WILD: &[u8] = b"*?[";

/// Files that are named together.
#[derive(Clone, Debug, Default)]
pub struct NamedFiles {
    /// The files.
    pub files: Vec<PathBuf>,
    /// Number of the other files of a folder, which are not of a format that epdb reads.
    pub others: u64,
    /// The first of the other files.
    pub first_others: Vec<PathBuf>,
    /// Number of hidden files and folders of a folder.
    pub hidden: u64,
}

impl NamedFiles {
    /// Maximum number of the other files that are kept.
    pub const MAX_OTHERS: usize = 3;

    fn leave_out(&mut self, path: PathBuf) {
        self.others += 1;
        if self.first_others.len() < NamedFiles::MAX_OTHERS {
            self.first_others.push(path);
        }
    }
}

/// The files of [`find_named`] alone.
///
/// # Errors
/// The errors of [`find_named`].
pub fn named_files(name: &Path) -> Result<Vec<PathBuf>> {
    Ok(find_named(name)?.files)
}

/// The files that a folder or a pattern such as `games/**/*.pgn` names, in natural order. Of a folder, these are the
/// files of formats that epdb reads. A folder with a manifest is its sharded archive. For names of
/// [`names_objects`], the files are objects.
///
/// # Errors
/// A folder cannot be read, or the name is that of no file.
pub fn find_named(name: &Path) -> Result<NamedFiles> {
    let found = if names_objects(name) { find_objects(name)? } else { find_files(name)? };
    if !found.files.is_empty() {
        return Ok(found);
    }
    if name.is_dir() || is_folder_of_objects(name) {
        return Err(Error::new(format!(
            "{} is a folder without a file that epdb reads: name files, or a pattern such as '{}'",
            name.display(),
            name.join("**/*.txt").display()
        )));
    }
    Err(Error::new(format!("no file matches {}", name.display())))
}

/// True for a folder or a pattern in object storage or in a dataset of Hugging Face: an address such as
/// `s3://BUCKET/games/` or `hf://datasets/OWNER/NAME/games/*.parquet`. The `?` of an address is no pattern.
///
/// ```
/// use epdb_library::named_files::names_objects;
/// use std::path::Path;
/// assert!(names_objects(Path::new("s3://bucket/games/2024-*.pgn.zst")));
/// assert!(!names_objects(Path::new("https://example.org/games/*.pgn")));
/// ```
pub fn names_objects(name: &Path) -> bool {
    is_folder_of_objects(name) || is_pattern_of_objects(name)
}

fn is_folder_of_objects(name: &Path) -> bool {
    let ends_with_slash = name.as_os_str().as_encoded_bytes().ends_with(b"/");
    is_in_store(name) && ends_with_slash && !is_pattern_of_objects(name)
}

fn is_pattern_of_objects(name: &Path) -> bool {
    is_in_store(name) && name.as_os_str().as_encoded_bytes().contains(&b'*')
}

fn is_in_store(name: &Path) -> bool {
    is_address(name) && !name.as_os_str().as_encoded_bytes().starts_with(b"http")
}

fn find_files(name: &Path) -> Result<NamedFiles> {
    let mut found = NamedFiles::default();
    if name.is_dir() {
        walk(name, &mut found, None).map_err(|error| cannot_read(name, error))?;
        return Ok(found);
    }
    let matcher = matcher_of(name)?;
    let root = root_of(name);
    walk(&root, &mut found, Some(&matcher)).map_err(|error| cannot_read(&root, error))?;
    Ok(found)
}

fn matcher_of(pattern: &Path) -> Result<GlobMatcher> {
    let text = pattern.to_str();
    let text =
        text.ok_or_else(|| Error::new(format!("{}: a pattern must be UTF-8", pattern.display())))?;
    let glob = GlobBuilder::new(text).literal_separator(true).build();
    Ok(glob.map_err(Error::from_cause)?.compile_matcher())
}

fn find_objects(name: &Path) -> Result<NamedFiles> {
    let text = name.to_string_lossy();
    let literal = text.split('*').next().unwrap_or_default();
    let root = &literal[..literal.rfind('/').map_or(0, |slash| slash + 1)];
    let mut objects = objects_below(Path::new(root))?;
    objects.sort_by(|one, other| {
        natural_order(one.as_os_str().as_encoded_bytes(), other.as_os_str().as_encoded_bytes())
    });
    if is_pattern_of_objects(name) {
        let matcher = matcher_of(name)?;
        objects.retain(|path| matcher.is_match(path) && !is_hidden(path, root));
        return Ok(NamedFiles { files: objects, ..NamedFiles::default() });
    }
    let mut found = NamedFiles::default();
    for path in without_shards(objects) {
        if is_hidden(&path, root) {
            found.hidden += 1;
        } else if is_read(&path) {
            found.files.push(path);
        } else {
            found.leave_out(path);
        }
    }
    Ok(found)
}

/// True if an object, or a folder of it below `root`, has a name that begins with a dot.
fn is_hidden(path: &Path, root: &str) -> bool {
    let below = path.as_os_str().as_encoded_bytes().get(root.len()..).unwrap_or_default();
    below.split(|byte| *byte == b'/').any(|name| name.starts_with(b"."))
}

/// Objects without the shards of libraries, which are read through their manifests.
fn without_shards(mut objects: Vec<PathBuf>) -> Vec<PathBuf> {
    let is_manifest =
        |path: &&PathBuf| path.ends_with("manifest.json") && is_of(path, FileFormat::Shards);
    let manifests: Vec<PathBuf> = objects.iter().filter(is_manifest).cloned().collect();
    let is_shard_of = |path: &Path, manifest: &Path| {
        path != manifest && manifest.parent().is_some_and(|folder| path.starts_with(folder))
    };
    objects.retain(|path| !manifests.iter().any(|manifest| is_shard_of(path, manifest)));
    objects
}

fn cannot_read(folder: &Path, error: io::Error) -> Error {
    Error::new(format!("cannot read {}", folder.display())).because(error)
}

/// The folder in which all files are that match a pattern. It is empty for the current folder.
fn root_of(pattern: &Path) -> PathBuf {
    let is_wild = |part: &Component<'_>| {
        part.as_os_str().as_encoded_bytes().iter().any(|byte| WILD.contains(byte))
    };
    pattern.components().take_while(|part| !is_wild(part)).collect()
}

/// Appends the files in a folder and in its folders: those that match a pattern, or those with the
/// suffix of a format that is read. Names that begin with a dot are left out. Links to folders are
/// not followed, so that the search ends.
fn walk(folder: &Path, found: &mut NamedFiles, pattern: Option<&GlobMatcher>) -> io::Result<()> {
    let here = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let entries = fs::read_dir(here)?.collect::<io::Result<Vec<_>>>()?;
    let mut names: Vec<OsString> = entries.iter().map(fs::DirEntry::file_name).collect();
    let all = names.len();
    names.retain(|name| !name.as_encoded_bytes().starts_with(b"."));
    if pattern.is_none() {
        found.hidden += (all - names.len()) as u64;
    }
    names.sort_by(|one, other| natural_order(one.as_encoded_bytes(), other.as_encoded_bytes()));
    // The shards of a library are read through its manifest; by themselves they would count twice.
    let manifest = folder.join("manifest.json");
    if pattern.is_none() && is_of(&manifest, FileFormat::Shards) {
        found.files.push(manifest);
        return Ok(());
    }
    for name in names {
        let path = folder.join(name);
        let is_link = fs::symlink_metadata(&path).is_ok_and(|found| found.is_symlink());
        if path.is_dir() {
            if !is_link {
                walk(&path, found, pattern)?;
            }
        } else if path.is_file() {
            match pattern {
                None if is_read(&path) => found.files.push(path),
                None => found.leave_out(path),
                Some(pattern) if pattern.is_match(&path) => found.files.push(path),
                Some(_) => {}
            }
        }
    }
    Ok(())
}

/// True if the suffix of a file is that of a format that is read. Tables and objects of any kind have
/// the suffixes .csv and .json, so their first bytes decide.
fn is_read(path: &Path) -> bool {
    let Some(suffix) = source_suffix(path) else { return false };
    match suffix {
        "csv" => {
            is_of(path, FileFormat::LichessPuzzles) || is_of(path, FileFormat::EvaluationTable)
        }
        "json" => is_of(path, FileFormat::Shards),
        _ => true,
    }
}

fn is_of(path: &Path, format: FileFormat) -> bool {
    (path.is_file() || is_address(path))
        && format_of_file(path, None).is_ok_and(|found| found == format)
}
