//! The objects below a folder in object storage or in a dataset.

use std::path::{Path, PathBuf};

use futures_util::{StreamExt, TryStreamExt};
use object_store::path::Path as Key;
use object_store::{GetOptions, GetResult};
use reqwest::Url;
use serde::Deserialize;

use super::RemoteObject;
use super::client::{self, NextPage};
use super::hub::HubPath;
use super::shared::wait_for;
use crate::delta::name_of;
use epdb_chess::error::{Error, Result};

/// Maximum number of objects in a list.
const MAX_OBJECTS: usize = 1_000_000;
/// Maximum size in bytes of one page of a list.
const MAX_PAGE: usize = 32 << 20;

/// An entry of a list of a dataset.
#[derive(Deserialize)]
struct Entry {
    #[serde(rename = "type")]
    kind: String,
    path: String,
}

/// The addresses of all objects below a folder at an address.
pub(crate) fn objects_below(folder: &Path) -> Result<Vec<PathBuf>> {
    let address = folder.to_string_lossy();
    let objects = match address.strip_prefix("s3://") {
        Some(place) => in_bucket(place, folder),
        None if address.starts_with("hf://") => in_dataset(&address, folder),
        None => Err(Error::new("a web server does not list its files: name each of them")),
    };
    let objects = objects.map_err(|error| error.in_source(name_of(folder)))?;
    Ok(objects.into_iter().map(PathBuf::from).collect())
}

fn in_bucket(place: &str, folder: &Path) -> Result<Vec<String>> {
    let (bucket, prefix) = place.split_once('/').unwrap_or((place, ""));
    let prefix = Key::parse(prefix).map_err(Error::from_cause)?;
    let all = RemoteObject::of(folder, (client::bucket(bucket)?, prefix));
    let objects = all.store.list(Some(&all.key)).take(MAX_OBJECTS + 1).try_collect::<Vec<_>>();
    let objects = wait_for(objects)?.map_err(|error| all.failed(error))?;
    check_number(objects.len())?;
    Ok(objects.iter().map(|object| format!("s3://{bucket}/{}", object.location)).collect())
}

fn in_dataset(address: &str, folder: &Path) -> Result<Vec<String>> {
    let hub = HubPath::parse(address)?;
    let first = hub.listing()?;
    let mut files = Vec::new();
    let mut next = Some(first.clone());
    let mut entries = 0;
    while let Some(url) = next {
        let (page, following) = receive_page(&hub, &url, folder)?;
        // A page without entries cannot lead on and on.
        entries += page.len().max(1);
        check_number(entries)?;
        files.extend(page.iter().filter(|it| it.kind == "file").map(|it| hub.file(&it.path)));
        next = following;
        if next.as_ref().is_some_and(|next| next.origin() != first.origin()) {
            return Err(Error::new("the list of files continues on another server"));
        }
    }
    Ok(files)
}

/// Receives a page of a list, and where the next one is.
fn receive_page(hub: &HubPath<'_>, url: &Url, folder: &Path) -> Result<(Vec<Entry>, Option<Url>)> {
    let list = RemoteObject::of(folder, client::on_web(url.as_str(), hub.authorization()?)?);
    let answer = list.get(GetOptions::default())?;
    let next = answer.extensions.get::<NextPage>().map(|next| Url::parse(&next.0)).transpose();
    let next = next.map_err(|error| Error::new("the next page has no address").because(error))?;
    let text = wait_for(bytes_of(answer))?
        .map_err(|error| list.failed(error))?
        .ok_or_else(|| Error::new(format!("a page of the list has over {MAX_PAGE} bytes")))?;
    let entries = serde_json::from_slice(&text);
    let entries = entries.map_err(|error| Error::new("not a list of files").because(error))?;
    Ok((entries, next))
}

/// The bytes of a page; `None` if they are too many.
async fn bytes_of(answer: GetResult) -> object_store::Result<Option<Vec<u8>>> {
    let mut body = answer.into_stream();
    let mut bytes = Vec::new();
    while let Some(chunk) = body.try_next().await? {
        bytes.extend_from_slice(&chunk);
        if bytes.len() > MAX_PAGE {
            return Ok(None);
        }
    }
    Ok(Some(bytes))
}

fn check_number(objects: usize) -> Result<()> {
    if objects <= MAX_OBJECTS {
        return Ok(());
    }
    Err(Error::new(format!("has over {MAX_OBJECTS} objects: name a folder in it")))
}
