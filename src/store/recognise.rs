//! Recognising sources: what was imported before is known by its bytes, whatever its name.

use std::io::{self, Read};

use super::journal::{ImportInfo, ImportState};
use super::{Result, Store, StoreError};

/// What all bytes of a source are: their number and their BLAKE3 hash.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct SourceDigest {
    length: u64,
    hash: [u8; 32],
}

impl SourceDigest {
    pub(super) const fn new(length: u64, hash: [u8; 32]) -> SourceDigest {
        SourceDigest { length, hash }
    }

    /// Reads a source to its end.
    ///
    /// # Errors
    /// Those of `source`.
    ///
    /// ```
    /// use epdb::store::SourceDigest;
    /// let digest = SourceDigest::of(&b"4k3/8/8/8/8/8/8/4K3 w - -\n"[..])?;
    /// assert_eq!(digest.length(), 26);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn of(source: impl Read) -> io::Result<SourceDigest> {
        digests(source, &[]).map(|(whole, _)| whole)
    }

    /// How many bytes they are.
    pub const fn length(&self) -> u64 {
        self.length
    }

    /// Their BLAKE3 hash.
    pub const fn hash(&self) -> &[u8; 32] {
        &self.hash
    }

    /// The hash in hexadecimal.
    pub fn hex(&self) -> String {
        blake3::Hash::from_bytes(self.hash).to_hex().to_string()
    }
}

/// What a store knows of a source; see [`Store::recognise`].
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Recognised {
    /// It is new.
    New,
    /// It was imported with the same settings.
    Imported(ImportInfo),
    /// It was imported with other settings.
    OtherSettings(ImportInfo),
    /// It begins with all bytes of a source that was imported, and goes on.
    Grown(ImportInfo),
    /// Its import was interrupted: it goes on with [`Store::importer`].
    Interrupted(ImportInfo),
}

impl Store {
    /// Reads a source to its end and says whether it was imported before, under whatever name.
    /// The digest belongs into [`ImportOptions::digest`](super::ImportOptions::digest), so that
    /// its import can be recognised in turn; `settings` are those of the options.
    ///
    /// # Errors
    /// Those of `source`, as [`StoreError::Io`] with its name; [`StoreError::Damaged`].
    ///
    /// ```
    /// use epdb::store::{ImportOptions, Recognised, Store, StoreOptions};
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("book.epdb");
    /// # let store = Store::create(&path, &StoreOptions::default())?;
    /// let text = b"4k3/8/8/8/8/8/8/4K3 w - -\n";
    /// let (known, digest) = store.recognise("a.epd", &text[..], "")?;
    /// assert_eq!(known, Recognised::New);
    /// let options = ImportOptions { digest: Some(digest), ..ImportOptions::default() };
    /// let mut import = store.importer("a.epd", &options)?;
    /// import.push(&epdb::parse_epd(text.trim_ascii_end())?)?;
    /// import.finish()?;
    /// let (known, _) = store.recognise("copy.epd", &text[..], "")?;
    /// assert!(matches!(known, Recognised::Imported(import) if import.source == "a.epd"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn recognise(
        &self,
        name: &str,
        source: impl Read,
        settings: &str,
    ) -> Result<(Recognised, SourceDigest)> {
        let imports = self.imports()?;
        let complete = |import: &&ImportInfo| {
            matches!(import.state, ImportState::Finished | ImportState::Delivered)
        };
        let mut lengths: Vec<u64> =
            imports.iter().filter_map(|import| Some(import.digest?.length)).collect();
        lengths.sort_unstable();
        lengths.dedup();
        let (whole, beginnings) = digests(source, &lengths)
            .map_err(|error| StoreError::Io { path: name.into(), error })?;
        let same = |import: &&ImportInfo| import.digest == Some(whole);
        let latest = |test: &dyn Fn(&&ImportInfo) -> bool| imports.iter().rev().find(test).cloned();
        let interrupted =
            |import: &&ImportInfo| same(import) && import.state == ImportState::Unfinished;
        let imported =
            |import: &&ImportInfo| complete(import) && same(import) && import.settings == settings;
        let beginning = |import: &ImportInfo| {
            import.digest.filter(|digest| beginnings.contains(digest)).map(|digest| digest.length)
        };
        let known = if let Some(import) = latest(&interrupted) {
            Recognised::Interrupted(import)
        } else if let Some(import) = latest(&imported) {
            Recognised::Imported(import)
        } else if let Some(import) = latest(&|import| complete(import) && same(import)) {
            Recognised::OtherSettings(import)
        } else {
            let grown = imports.iter().filter(complete).max_by_key(|import| beginning(import));
            match grown.filter(|import| beginning(import).is_some_and(|length| length > 0)) {
                Some(import) => Recognised::Grown(import.clone()),
                None => Recognised::New,
            }
        };
        Ok((known, whole))
    }
}

/// The digest of a source, and those of its beginnings of these lengths, which ascend.
fn digests(
    mut source: impl Read,
    lengths: &[u64],
) -> io::Result<(SourceDigest, Vec<SourceDigest>)> {
    let mut hasher = blake3::Hasher::new();
    let mut beginnings = Vec::new();
    let mut lengths = lengths.iter().copied().peekable();
    let mut buffer = vec![0; 64 << 10];
    let digest = |hasher: &blake3::Hasher| SourceDigest {
        length: hasher.count(),
        hash: *hasher.finalize().as_bytes(),
    };
    loop {
        while lengths.next_if(|&length| length <= hasher.count()).is_some() {
            beginnings.push(digest(&hasher));
        }
        let to_next = lengths.peek().map_or(u64::MAX, |&length| length - hasher.count());
        let room = usize::try_from(to_next).map_or(buffer.len(), |most| most.min(buffer.len()));
        match source.read(&mut buffer[..room]) {
            Ok(0) => return Ok((digest(&hasher), beginnings)),
            Ok(read) => drop(hasher.update(&buffer[..read])),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
