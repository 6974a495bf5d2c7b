//! Folders in object storage, to which sharded archives are written.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use object_store::{
    ObjectStoreExt, PutMode, PutOptions, PutPayload, UpdateVersion, WriteMultipart,
};

use super::settings::RemoteSettings;
use super::{RemoteObject, wait_for};
use crate::delta::name_of;
use crate::manifest::ObjectFolder;
use epdb_chess::error::{Error, ErrorKind, Result};

/// Maximum number of parts that are sent at the same time.
const IN_FLIGHT: usize = 4;

/// A folder in object storage: a prefix of object keys, and the version of the manifest that will
/// be replaced.
#[derive(Debug)]
pub(crate) struct RemoteFolder {
    address: PathBuf,
    manifest: RemoteObject,
    /// `None` if there was no manifest.
    replaced: Option<UpdateVersion>,
}

impl RemoteFolder {
    /// Opens the folder at an address. It may have a manifest of this name.
    pub(crate) fn open(address: &Path, manifest: &str) -> Result<RemoteFolder> {
        if !address.starts_with("s3://") {
            let what = "a web server is only read: write to s3://BUCKET/PREFIX or to a folder";
            return Err(Error::new(what).in_source(name_of(address)));
        }
        let manifest = RemoteObject::new(&address.join(manifest))?;
        let replaced = match manifest.meta() {
            Ok(meta) => Some(UpdateVersion { e_tag: meta.e_tag, version: meta.version }),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        manifest.check_writable()?;
        Ok(RemoteFolder { address: address.to_path_buf(), manifest, replaced })
    }
}

impl ObjectFolder for RemoteFolder {
    fn has_manifest(&self) -> bool {
        self.replaced.is_some()
    }

    fn store(&self, name: &str, file: &Path) -> Result<()> {
        let object = RemoteObject::new(&self.address.join(name))?;
        let mut file = File::open(file)?;
        let len = file.metadata()?.len();
        let part = RemoteSettings::get()?.part;
        if len > part {
            return object.upload(file, len, part);
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        object.create(bytes.into())
    }

    fn publish(&self, manifest: &[u8]) -> Result<()> {
        let mode = match &self.replaced {
            Some(version) => PutMode::Update(version.clone()),
            None => PutMode::Create,
        };
        let options = PutOptions { mode, ..PutOptions::default() };
        let object = &self.manifest;
        let put = object.store.put_opts(&object.key, manifest.to_vec().into(), options);
        match wait_for(put)? {
            Ok(_) => Ok(()),
            Err(
                object_store::Error::Precondition { .. }
                | object_store::Error::AlreadyExists { .. },
            ) => {
                let what =
                    "another command has written the manifest since this one began: run it again";
                Err(Error::new(what).in_source(Arc::clone(&object.name)))
            }
            Err(error) => Err(object.failed(error)),
        }
    }
}

impl RemoteObject {
    /// Fails if the bucket does not exist or must not be written, which would otherwise be noticed when all
    /// shards are made. Begins an upload, and ends it without an object.
    fn check_writable(&self) -> Result<()> {
        wait_for(async {
            match self.store.put_multipart(&self.key).await {
                Ok(mut upload) => {
                    // Whoever may write need not be allowed to end an upload. It holds no bytes.
                    upload.abort().await.ok();
                    Ok(())
                }
                Err(object_store::Error::NotFound { .. }) => {
                    let what = "the bucket does not exist: make it first, or name another one";
                    let error = Error::new(what).with_kind(ErrorKind::NotFound);
                    Err(error.in_source(Arc::clone(&self.name)))
                }
                Err(error) => Err(self.failed(error)),
            }
        })?
    }

    /// Stores bytes, unless there is an object already.
    fn create(&self, bytes: PutPayload) -> Result<()> {
        let options = PutOptions { mode: PutMode::Create, ..PutOptions::default() };
        match wait_for(self.store.put_opts(&self.key, bytes, options))? {
            Ok(_) | Err(object_store::Error::AlreadyExists { .. }) => Ok(()),
            Err(error) => Err(self.failed(error)),
        }
    }

    /// Stores a file in parts of this number of bytes, unless there is an object of its size already.
    // The crate cannot make the last request conditional. That is no fault: the name has the hash of
    // the content, so a command that stores the same name at the same time stores the same bytes. The
    // object appears with the last request, so an interrupted upload leaves no object.
    fn upload(&self, file: File, len: u64, part: u64) -> Result<()> {
        if self.meta().is_ok_and(|meta| meta.size == len) {
            return Ok(());
        }
        wait_for(async {
            let upload = self.store.put_multipart(&self.key).await;
            let upload = upload.map_err(|error| self.failed(error))?;
            let mut upload = WriteMultipart::new_with_chunk_size(upload, part as usize);
            if let Err(error) = self.send_parts(&mut upload, file, part).await {
                // The parts are removed. The first error is the one that says why.
                upload.abort().await.ok();
                return Err(error);
            }
            upload.finish().await.map(drop).map_err(|error| self.failed(error))
        })?
    }

    async fn send_parts(
        &self,
        upload: &mut WriteMultipart,
        mut file: File,
        part: u64,
    ) -> Result<()> {
        loop {
            let mut bytes = Vec::new();
            file.by_ref().take(part).read_to_end(&mut bytes)?;
            if bytes.is_empty() {
                return Ok(());
            }
            upload.wait_for_capacity(IN_FLIGHT).await.map_err(|error| self.failed(error))?;
            upload.put(Bytes::from(bytes));
        }
    }
}
