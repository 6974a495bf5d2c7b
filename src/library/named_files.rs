//! Files that are named together: by their folder, or by a pattern.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};

use super::order::natural_order;
use epdb_chess::error::{Error, Result};
use epdb_source::{FileFormat, format_of_file, source_suffix};

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
/// files of formats that epdb reads. A folder with a manifest is its sharded archive.
///
/// # Errors
/// A folder cannot be read, or the name is that of no file.
pub fn find_named(name: &Path) -> Result<NamedFiles> {
    let mut found = NamedFiles::default();
    if name.is_dir() {
        walk(name, &mut found, None).map_err(|error| cannot_read(name, error))?;
        if found.files.is_empty() {
            return Err(Error::new(format!(
                "{} is a folder without a file that epdb reads: name files, or a pattern such as '{}'",
                name.display(),
                name.join("**/*.txt").display()
            )));
        }
        return Ok(found);
    }
    let pattern = name.to_str();
    let pattern = pattern
        .ok_or_else(|| Error::new(format!("{}: a pattern must be UTF-8", name.display())))?;
    let glob = GlobBuilder::new(pattern).literal_separator(true).build();
    let matcher = glob.map_err(Error::from_cause)?.compile_matcher();
    let root = root_of(name);
    walk(&root, &mut found, Some(&matcher)).map_err(|error| cannot_read(&root, error))?;
    if found.files.is_empty() {
        return Err(Error::new(format!("no file matches {}", name.display())));
    }
    Ok(found)
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
    path.is_file() && format_of_file(path, None).is_ok_and(|found| found == format)
}
