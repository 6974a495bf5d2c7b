//! Datasets of Hugging Face, which have addresses such as `hf://datasets/OWNER/NAME/games.parquet`.

use reqwest::Url;
use reqwest::header::HeaderValue;

use super::settings::storage_options;
use epdb_chess::error::{Error, Result};

/// The server of all datasets, unless `HF_ENDPOINT` names another one.
const ENDPOINT: &str = "https://huggingface.co";
const SYNTAX: &str = "not a valid address: hf://datasets/OWNER/NAME/FILE is expected, or \
                      hf://datasets/OWNER/NAME@REVISION/FILE";

/// A file or a folder of a dataset.
pub(super) struct HubPath<'a> {
    owner: &'a str,
    name: &'a str,
    /// The address up to the slash before `path`.
    dataset: &'a str,
    revision: String,
    pub(super) path: &'a str,
}

impl<'a> HubPath<'a> {
    pub(super) fn parse(address: &'a str) -> Result<HubPath<'a>> {
        let invalid = || Error::new(SYNTAX);
        let rest = address.strip_prefix("hf://datasets/").ok_or_else(invalid)?;
        let (owner, rest) = rest.split_once('/').ok_or_else(invalid)?;
        let (name, rest) = rest.split_at(rest.find(['@', '/']).ok_or_else(invalid)?);
        let (revision, path) = match rest.strip_prefix('@') {
            Some(rest) => split_revision(rest).ok_or_else(invalid)?,
            None => ("main", &rest[1..]),
        };
        if owner.is_empty() || owner.contains('@') || name.is_empty() || revision.is_empty() {
            return Err(invalid());
        }
        let dataset = address[..address.len() - path.len()].trim_end_matches('/');
        Ok(HubPath { owner, name, dataset, revision: full_revision(revision), path })
    }

    /// The address of the dataset, in all its revisions.
    pub(super) fn place(&self) -> String {
        format!("hf://datasets/{}/{}", self.owner, self.name)
    }

    /// The address of a file of the same revision.
    pub(super) fn file(&self, path: &str) -> String {
        format!("{}/{path}", self.dataset)
    }

    /// The place of the content of the file on the server.
    pub(super) fn content(&self) -> Result<Url> {
        self.url(&["datasets", self.owner, self.name, "resolve"])
    }

    /// The place of the list of all files below the folder on the server.
    pub(super) fn listing(&self) -> Result<Url> {
        let mut url = self.url(&["api", "datasets", self.owner, self.name, "tree"])?;
        url.set_query(Some("recursive=true"));
        Ok(url)
    }

    fn url(&self, parts: &[&str]) -> Result<Url> {
        let endpoint = self.option("endpoint", "HF_ENDPOINT");
        let mut url = Url::parse(endpoint.as_deref().unwrap_or(ENDPOINT))
            .map_err(|error| Error::new("HF_ENDPOINT is no address").because(error))?;
        let mut segments = url
            .path_segments_mut()
            .map_err(|()| Error::new("HF_ENDPOINT is no address of a web server"))?;
        let path = self.path.split('/').filter(|part| !part.is_empty());
        segments.pop_if_empty().extend(parts).push(&self.revision).extend(path);
        drop(segments);
        Ok(url)
    }

    /// The header by which the server knows the user, if there is a token.
    pub(super) fn authorization(&self) -> Result<Option<HeaderValue>> {
        let Some(token) = self.option("token", "HF_TOKEN") else { return Ok(None) };
        let value = HeaderValue::from_str(&format!("Bearer {token}"));
        let mut value = value.map_err(|_| Error::new("HF_TOKEN is not a token"))?;
        value.set_sensitive(true);
        Ok(Some(value))
    }

    /// A storage option of the dataset, or else a variable of the environment.
    fn option(&self, key: &str, variable: &str) -> Option<String> {
        let given = storage_options(&self.place()).remove(key);
        let given = given.or_else(|| std::env::var(variable).ok());
        given.filter(|value| !value.is_empty())
    }
}

/// Separates the revision at the start of `rest` from the path. References have slashes.
fn split_revision(rest: &str) -> Option<(&str, &str)> {
    let slashes = if rest.starts_with("refs/") { 2 } else { 0 };
    let (end, _) = rest.match_indices('/').nth(slashes)?;
    Some((&rest[..end], &rest[end + 1..]))
}

/// A revision as the server names it. `~parquet` is the usual short name of the files that the server has
/// converted to Parquet.
fn full_revision(revision: &str) -> String {
    match revision.strip_prefix('~') {
        Some(name) => format!("refs/convert/{name}"),
        None => revision.replace("%2F", "/").replace("%2f", "/"),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn addresses_name_a_dataset_a_revision_and_a_path() {
        let cases = [
            ("hf://datasets/o/n/a.pgn", "datasets/o/n/resolve/main/a.pgn", "hf://datasets/o/n/x"),
            (
                "hf://datasets/o/n@v1.0/d/year=2024/a b.epa",
                "datasets/o/n/resolve/v1.0/d/year=2024/a%20b.epa",
                "hf://datasets/o/n@v1.0/x",
            ),
            (
                "hf://datasets/o/n@refs/convert/parquet/train/0.parquet",
                "datasets/o/n/resolve/refs%2Fconvert%2Fparquet/train/0.parquet",
                "hf://datasets/o/n@refs/convert/parquet/x",
            ),
            (
                "hf://datasets/o/n@refs%2Fpr%2F1/a?b",
                "datasets/o/n/resolve/refs%2Fpr%2F1/a%3Fb",
                "hf://datasets/o/n@refs%2Fpr%2F1/x",
            ),
            (
                "hf://datasets/o/n@~parquet/train/0.parquet",
                "datasets/o/n/resolve/refs%2Fconvert%2Fparquet/train/0.parquet",
                "hf://datasets/o/n@~parquet/x",
            ),
        ];
        for (address, url, sibling) in cases {
            let path = HubPath::parse(address).unwrap();
            assert_eq!(path.content().unwrap().as_str(), format!("{ENDPOINT}/{url}"));
            assert_eq!(path.file("x"), sibling);
        }
        let folder = HubPath::parse("hf://datasets/o/n/").unwrap();
        let listing = format!("{ENDPOINT}/api/datasets/o/n/tree/main?recursive=true");
        assert_eq!(folder.listing().unwrap().as_str(), listing);
    }

    #[test]
    fn other_addresses_are_refused() {
        for address in [
            "hf://",
            "hf://datasets",
            "hf://datasets/o",
            "hf://datasets/o/n",
            "hf://datasets//n/a",
            "hf://datasets/o//a",
            "hf://datasets/o/n@/a",
            "hf://datasets/o/n@main",
            "hf://datasets/o/n@refs/convert",
            "hf://datasets/u@o/n/a",
            "hf://spaces/o/n/a",
            "hf://o/n/a",
        ] {
            assert!(HubPath::parse(address).is_err(), "{address}");
        }
    }
}
