//! Finds out by the bytes of a source if the source was imported before, under any name.

use std::collections::BTreeMap;
use std::io::Read;

use super::error::StoreError;
use super::journal::{ImportInfo, ImportState, SourceDigest, digests};
use super::open::Store;
use super::settings;

/// Result of [`Store::recognise`].
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Recognised {
    /// The source is new.
    New,
    /// The source was imported with the same settings.
    Imported(ImportInfo),
    /// The source was imported with other settings.
    OtherSettings(ImportInfo),
    /// The source begins with all bytes of an imported source, and has more.
    Grown(ImportInfo),
    /// The import of the source was interrupted; [`Store::importer`] continues it.
    Interrupted(ImportInfo),
}

impl Store {
    /// Reads a source to its end and finds out if it was imported before, under any name. Pass the
    /// digest to [`ImportOptions::digest`](super::ImportOptions::digest), so that its import can be
    /// recognised later. `settings` are the settings that the import options have.
    ///
    /// # Errors
    /// [`StoreError::Io`] with the name of the source if it cannot be read; [`StoreError::Damaged`].
    ///
    /// ```
    /// use epdb_store::{ImportOptions, Recognised, Store, StoreOptions};
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("book.epdb");
    /// # let store = Store::create(&path, &StoreOptions::default())?;
    /// let text = b"4k3/8/8/8/8/8/8/4K3 w - -\n";
    /// let (known, digest) = store.recognise("a.epd", &text[..], &Default::default())?;
    /// assert_eq!(known, Recognised::New);
    /// let options = ImportOptions { digest: Some(digest), ..Default::default() };
    /// let mut import = store.importer("a.epd", &options)?;
    /// import.push(&epdb_chess::parse_epd(text.trim_ascii_end())?)?;
    /// import.finish()?;
    /// let (known, _) = store.recognise("copy.epd", &text[..], &options.settings)?;
    /// assert!(matches!(known, Recognised::Imported(import) if import.source == "a.epd"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn recognise(
        &self,
        name: &str,
        source: impl Read,
        settings: &BTreeMap<String, String>,
    ) -> Result<(Recognised, SourceDigest), StoreError> {
        let imports = self.imports()?;
        let settings = settings::text(settings);
        let is_complete = |import: &&ImportInfo| {
            matches!(import.state, ImportState::Finished | ImportState::Delivered)
        };
        let mut lengths: Vec<u64> =
            imports.iter().filter_map(|import| Some(import.digest?.length())).collect();
        lengths.sort_unstable();
        lengths.dedup();
        let (whole, beginnings) = digests(source, &lengths)
            .map_err(|error| StoreError::Io { path: name.into(), error })?;
        // The imports of this source, the latest first.
        let same = || imports.iter().rev().filter(|import| import.digest == Some(whole));
        let known =
            if let Some(import) = same().find(|import| import.state == ImportState::Unfinished) {
                Recognised::Interrupted(import.clone())
            } else if let Some(import) =
                same().find(|import| is_complete(import) && import.settings == settings)
            {
                Recognised::Imported(import.clone())
            } else if let Some(import) = same().find(is_complete) {
                Recognised::OtherSettings(import.clone())
            } else {
                // The longest beginning of this source that was imported.
                let length_of_beginning = |import: &&ImportInfo| {
                    let digest = import.digest.filter(|digest| beginnings.contains(digest));
                    digest.map_or(0, |digest| digest.length())
                };
                match imports.iter().filter(is_complete).max_by_key(length_of_beginning) {
                    Some(import) if length_of_beginning(&import) > 0 => {
                        Recognised::Grown(import.clone())
                    }
                    _ => Recognised::New,
                }
            };
        Ok((known, whole))
    }
}
