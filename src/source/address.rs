//! Addresses of sources (`https://`, `http://`, `s3://` and `hf://`), and the objects at these addresses. A
//! program without the feature `remote` refuses them.

use std::path::Path;

pub use self::objects::object_folder;
#[cfg(feature = "parquet")]
pub(super) use self::objects::ranges_at;
pub(super) use self::objects::{ArchiveEnd, archive_end, ranges, stream};
pub use self::objects::{check_interval, stamp_at};
pub use self::objects::{objects_below, set_storage_options};

/// The beginnings of addresses.
const SCHEMES: [&str; 4] = ["https://", "http://", "s3://", "hf://"];

/// True if the name of a source is an address on a web server, in object storage or in a dataset of Hugging
/// Face, not a path.
///
/// ```
/// use epdb_source::is_address;
/// use std::path::Path;
/// assert!(is_address(Path::new("https://example.org/games.pgn.zst")));
/// assert!(!is_address(Path::new("games.pgn.zst")));
/// ```
pub fn is_address(name: &Path) -> bool {
    let name = name.to_str().unwrap_or_default();
    SCHEMES.iter().any(|scheme| name.starts_with(scheme))
}

/// True if the bytes of a source come only once: standard input (`-`), and files such as pipes.
///
/// ```
/// assert!(epdb_source::is_stream("-".as_ref()));
/// assert!(!epdb_source::is_stream("library.epa".as_ref()));
/// ```
pub fn is_stream(path: &Path) -> bool {
    path == Path::new("-")
        || !is_address(path)
            && path.metadata().is_ok_and(|found| !found.is_file() && !found.is_dir())
}

/// The name of a source without the query at the end of an address, such as `?download=true`.
pub(super) fn without_query(name: &Path) -> &Path {
    match name.to_str().and_then(|text| text.split(['?', '#']).next()) {
        Some(text) if is_address(name) => Path::new(text),
        _ => name,
    }
}

#[cfg(feature = "remote")]
mod objects {
    use std::collections::BTreeMap;
    use std::io::Read;
    use std::path::{Path, PathBuf};
    use std::sync::Arc;
    use std::time::Duration;

    use crate::manifest::ObjectFolder;
    use crate::remote;
    use crate::remote::RemoteFolder;
    use crate::remote::{RangeFile, RemoteObject};
    use epdb_archive::{Archive, ArchiveError, ReadRanges};
    use epdb_chess::error::Result;

    /// The bytes at an address.
    pub(crate) fn stream(address: &Path) -> Result<impl Read + Send + use<>> {
        RemoteObject::new(address)?.stream()
    }

    /// An archive at an address, of which the end was received.
    pub(crate) struct ArchiveEnd(RangeFile);

    /// Receives the end of the archive at an address. `size` is its size if that is known. `None` if the
    /// server does not send ranges.
    pub(crate) fn archive_end(address: &Path, size: Option<u64>) -> Result<Option<ArchiveEnd>> {
        Ok(RangeFile::open(RemoteObject::new(address)?, size)?.map(ArchiveEnd))
    }

    /// Reads ranges of an archive, whose first bytes are `head`. `None` if it is of level fast.
    pub(crate) fn ranges(
        ArchiveEnd(file): ArchiveEnd,
        head: Vec<u8>,
    ) -> Result<Option<Arc<dyn ReadRanges>>> {
        let file: Arc<dyn ReadRanges> = Arc::new(file.with_head(head));
        match Archive::from_ranges(Arc::clone(&file)) {
            Err(ArchiveError::NeedsFile) => Ok(None),
            // Another error is found again, and reported, when the archive is opened.
            _ => Ok(Some(file)),
        }
    }

    /// An object at an address, to be read by ranges. `None` if the server does not send ranges.
    #[cfg(feature = "parquet")]
    pub(crate) fn ranges_at(address: &Path) -> Result<Option<Arc<dyn ReadRanges>>> {
        let end = archive_end(address, None)?;
        Ok(end.map(|ArchiveEnd(file)| Arc::new(file) as Arc<dyn ReadRanges>))
    }

    /// Opens a folder in object storage, whose manifest has the name `manifest`.
    ///
    /// # Errors
    /// The address cannot be written or read. The error names it.
    pub fn object_folder(address: &Path, manifest: &str) -> Result<Box<dyn ObjectFolder>> {
        Ok(Box::new(RemoteFolder::open(address, manifest)?))
    }

    /// A text that changes whenever the content of the object at an address changes.
    ///
    /// # Errors
    /// The object cannot be read. The error names it.
    pub fn stamp_at(address: &Path) -> Result<String> {
        RemoteObject::new(address)?.stamp()
    }

    /// The addresses of all objects below a folder in object storage or in a dataset: `s3://BUCKET/PREFIX/` or
    /// `hf://datasets/OWNER/NAME/FOLDER/`.
    ///
    /// # Errors
    /// The folder cannot be listed, such as that of a web server, or has over a million objects. The error names
    /// it.
    pub fn objects_below(folder: &Path) -> Result<Vec<PathBuf>> {
        remote::objects_below(folder)
    }

    /// Sets options of the bucket or of the dataset of an address, from now on and in this process. They
    /// precede the variables of the environment. Those of `s3://` have the names of [`object_store`], such as
    /// `aws_region` or `region`; those of `hf://` are `token` and `endpoint`.
    ///
    /// [`object_store`]: https://docs.rs/object_store/latest/object_store/aws/enum.AmazonS3ConfigKey.html
    ///
    /// # Errors
    /// An option is unknown, or the address is that of a web server, which has no options. The error names it.
    pub fn set_storage_options(address: &Path, options: &BTreeMap<String, String>) -> Result<()> {
        remote::set_storage_options(address, options)
    }

    /// Time between two checks of an object that a server serves.
    ///
    /// # Errors
    /// A variable of the environment is not valid.
    pub fn check_interval() -> Result<Duration> {
        remote::check_interval()
    }
}

#[cfg(not(feature = "remote"))]
mod objects {
    use std::collections::BTreeMap;
    use std::io;
    use std::path::{Path, PathBuf};
    use std::sync::Arc;
    use std::time::Duration;

    use crate::delta::name_of;
    use crate::manifest::ObjectFolder;
    use epdb_archive::ReadRanges;
    use epdb_chess::error::{Error, ErrorKind, Result};

    fn refused<T>(address: &Path) -> Result<T> {
        let error = Error::new(
            "this epdb was built without object storage and HTTP: `cargo install epdb --features remote` \
             builds one with them",
        );
        Err(error.with_kind(ErrorKind::Unsupported).in_source(name_of(address)))
    }

    pub(crate) fn stream(address: &Path) -> Result<io::Empty> {
        refused(address)
    }

    /// The end of an archive, which this program cannot receive.
    pub(crate) enum ArchiveEnd {}

    pub(crate) fn archive_end(address: &Path, _: Option<u64>) -> Result<Option<ArchiveEnd>> {
        refused(address)
    }

    pub(crate) fn ranges(end: ArchiveEnd, _: Vec<u8>) -> Result<Option<Arc<dyn ReadRanges>>> {
        match end {}
    }

    #[cfg(feature = "parquet")]
    pub(crate) fn ranges_at(address: &Path) -> Result<Option<Arc<dyn ReadRanges>>> {
        refused(address)
    }

    /// A program without the feature `remote` has no folder at an address.
    pub fn object_folder(address: &Path, _: &str) -> Result<Box<dyn ObjectFolder>> {
        refused(address)
    }

    /// A program without the feature `remote` does not ask addresses.
    pub fn stamp_at(address: &Path) -> Result<String> {
        refused(address)
    }

    /// A program without the feature `remote` lists no folder at an address.
    pub fn objects_below(folder: &Path) -> Result<Vec<PathBuf>> {
        refused(folder)
    }

    /// A program without the feature `remote` has no use for options.
    pub fn set_storage_options(address: &Path, _: &BTreeMap<String, String>) -> Result<()> {
        refused(address)
    }

    /// No object is ever checked.
    pub fn check_interval() -> Result<Duration> {
        Ok(Duration::MAX)
    }
}
