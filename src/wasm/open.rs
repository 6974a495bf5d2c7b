//! Opens files of the host as sources.

use std::sync::Arc;

use crate::files::{HostFile, files};
use epdb_archive::{Archive, ArchiveError};
use epdb_chess::error::{Error, ErrorKind, Result};
use epdb_source::{ArchiveFolder, Collection, Compression, FileFormat};

/// Memory for the lookups in a source, in bytes.
pub(crate) const MEMORY: usize = 32 << 20;
/// Maximum size of a part that is received whole.
const WHOLE: u64 = 1 << 20;

/// Opens an archive or a manifest. `head` is all of it, or its first bytes.
///
/// # Errors
/// The file is something else or damaged, or bytes of it are missing.
pub(crate) fn open(name: &str, size: u64, head: &[u8]) -> Result<(FileFormat, Collection)> {
    let file = HostFile::new(name, size);
    files().give(name, 0, head);
    let Some(format @ (FileFormat::Shards | FileFormat::Epa)) = FileFormat::from_bytes(head) else {
        let error = Error::new(neither(head)).with_kind(ErrorKind::InvalidData);
        return Err(error.in_source(name));
    };
    let is_whole = head.len() as u64 == size;
    let collection = if format == FileFormat::Shards {
        let folder = Arc::new(Parts(name.to_string()));
        Collection::from_manifest(name, &file.whole()?, folder, MEMORY)?
    } else {
        let archive = if is_whole { Archive::from_bytes(file.whole()?) } else { of_ranges(file) };
        let archive = archive.map_err(|error| Error::from(error).in_source(name))?;
        Collection::from_archive(name, archive, MEMORY)
    };
    // The collection has the bytes of a file that it has read whole.
    if is_whole || format == FileFormat::Shards {
        files().forget(name);
    }
    Ok((format, collection))
}

/// Says what a file is that is neither an archive nor a manifest.
fn neither(head: &[u8]) -> String {
    let found = match Compression::from_bytes(head) {
        Compression::None if head.is_empty() => "an empty file",
        Compression::None if head.trim_ascii_start().starts_with(b"<") => "a web page",
        Compression::None => "another kind of file",
        _ => "compressed: the host has to send the file as it is",
    };
    format!("neither an archive (.epa) nor a manifest, but {found}")
}

/// Reads ranges of an archive. An archive of level fast is received whole.
fn of_ranges(file: HostFile) -> std::result::Result<Archive, ArchiveError> {
    match Archive::from_ranges(Arc::new(file.clone())) {
        Err(ArchiveError::NeedsFile) => Archive::from_bytes(file.whole()?),
        opened => opened,
    }
}

/// The parts of a manifest. Their names begin with that of its source and a slash.
#[derive(Debug)]
struct Parts(String);

impl ArchiveFolder for Parts {
    fn open(&self, file: &str, bytes: u64) -> Result<Archive> {
        let file = HostFile::new(&format!("{}/{file}", self.0), bytes);
        Ok(match bytes {
            ..=WHOLE => Archive::from_bytes(file.whole()?)?,
            _ => of_ranges(file)?,
        })
    }

    fn read(&self, file: &str, bytes: u64) -> Result<Vec<u8>> {
        Ok(HostFile::new(&format!("{}/{file}", self.0), bytes).whole()?)
    }
}
