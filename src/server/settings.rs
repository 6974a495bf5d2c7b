//! What is served, to whom, and within which limits.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

use serde::Deserialize;

use crate::error::{Error, Result};
use crate::source::FileFormat;

/// What is served, to whom, and within which limits: the words of the command line, or a file.
///
/// ```
/// use epdb::server::ServerSettings;
/// let text = "sources = ['masters=a.epa', 'mine.pgn']\nlisten = '127.0.0.1:9003'\n";
/// let settings = ServerSettings::from_toml("serve.toml", text)?;
/// assert_eq!(settings.sources[1].name, "mine");
/// assert!(ServerSettings::from_toml("serve.toml", "lisen = 1").is_err());
/// # Ok::<(), epdb::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[non_exhaustive]
pub struct ServerSettings {
    /// What is served; the first is the one that is meant where none is named.
    pub sources: Vec<SourceSpec>,
    /// Where connections are awaited.
    pub listen: SocketAddr,
    /// By which names the server may be called beside those of this machine.
    pub allow_host: Vec<String>,
    /// Which pages of other servers may ask: an origin such as `https://lichess.org`, or `*`.
    pub cors: Vec<String>,
    /// What all paths begin with, such as `/explorer`; empty for nothing.
    pub base_path: String,
    /// A filter that a library cannot split by is an error.
    pub strict: bool,
    /// Files of names of openings, of which later ones override.
    pub openings: Vec<PathBuf>,
    /// About how many bytes of memory are used.
    pub memory: usize,
    /// The log is written as JSON, one object a line.
    pub log_json: bool,
}

impl Default for ServerSettings {
    fn default() -> ServerSettings {
        ServerSettings {
            sources: Vec::new(),
            listen: SocketAddr::from(([127, 0, 0, 1], 9002)),
            allow_host: Vec::new(),
            cors: Vec::new(),
            base_path: String::new(),
            strict: false,
            openings: Vec::new(),
            memory: 1 << 30,
            log_json: false,
        }
    }
}

impl ServerSettings {
    /// Reads settings from a file's text.
    ///
    /// # Errors
    /// Where the text is wrong, and how.
    pub fn from_toml(file: &str, text: &str) -> Result<ServerSettings> {
        toml::from_str(text).map_err(|error| Error::from_cause(error).in_source(file))
    }
}

/// A source and the name that it is asked by: `NAME=FILE`, or a file, whose name without suffixes is taken.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(try_from = "String")]
pub struct SourceSpec {
    /// The name.
    pub name: String,
    /// The file.
    pub path: PathBuf,
}

impl FromStr for SourceSpec {
    type Err = Error;

    fn from_str(text: &str) -> Result<SourceSpec> {
        let is_name = |name: &str| {
            let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
            !name.is_empty() && name.bytes().all(is_part)
        };
        if let Some((name, path)) = text.split_once('=')
            && is_name(name)
            && !path.is_empty()
        {
            return Ok(SourceSpec { name: name.to_string(), path: PathBuf::from(path) });
        }
        let path = PathBuf::from(text);
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let name: String = file.split('.').next().unwrap_or_default().chars().collect();
        if FileFormat::of_name(&path).is_none() || !is_name(&name) {
            return Err(Error::new(format!(
                "{text}: the name tells no format, or no name to ask it by: say NAME=FILE"
            )));
        }
        Ok(SourceSpec { name, path })
    }
}

impl TryFrom<String> for SourceSpec {
    type Error = Error;

    fn try_from(text: String) -> Result<SourceSpec> {
        text.parse()
    }
}
