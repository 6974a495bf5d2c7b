//! Settings of the server.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use super::base_path::BasePath;
use super::cors::Origin;
use super::host::HostName;
use super::limits::Limits;
use super::log::LogLevel;
use super::site;
use epdb_chess::error::{At, Error, Place, Result};
use epdb_source::{DeltaPath, FileFormat, name_of};

/// Settings of the server, from the command line or a file: sources, permitted clients and limits.
///
/// ```
/// use epdb_server::ServerSettings;
/// let text = "sources = ['masters=a.epa', 'mine.pgn']\nlisten = '127.0.0.1:9003'\n";
/// let settings = ServerSettings::from_toml("serve.toml", text)?;
/// assert_eq!(settings.sources[1].name, "mine");
/// let error = ServerSettings::from_toml("serve.toml", "\ncors = ['lichess.org']").unwrap_err();
/// assert!(error.to_string().starts_with("serve.toml:2:8: `lichess.org` is not an origin"), "{error}");
/// # Ok::<(), epdb_chess::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[non_exhaustive]
pub struct ServerSettings {
    /// The sources; the first is the default.
    pub sources: Vec<SourceSpec>,
    /// The address to listen on.
    #[serde(deserialize_with = "listen_of_toml")]
    pub listen: SocketAddr,
    /// Names of the server besides `localhost` and addresses.
    pub allow_host: Vec<HostName>,
    /// Origins of foreign pages that may send requests.
    pub cors: Vec<Origin>,
    /// The prefix of all paths.
    pub base_path: BasePath,
    /// True if a filter by which a library is not split is an error.
    pub strict: bool,
    /// Files with names of openings. Later files override earlier ones. Without a file, the names are those
    /// that are built in.
    pub openings: Vec<PathBuf>,
    /// Approximate memory for sources and cached answers, in bytes.
    #[serde(rename = "memory")]
    pub memory_bytes: usize,
    /// Verbosity of the log.
    pub log_level: LogLevel,
    /// Whether the log is written as JSON, one object per line.
    pub log_json: bool,
    /// Limits on clients.
    pub limits: Limits,
}

impl Default for ServerSettings {
    fn default() -> ServerSettings {
        ServerSettings {
            sources: Vec::new(),
            listen: SocketAddr::from(([127, 0, 0, 1], 9002)),
            allow_host: Vec::new(),
            cors: Vec::new(),
            base_path: BasePath::default(),
            strict: false,
            openings: Vec::new(),
            memory_bytes: 256 << 20,
            log_level: LogLevel::default(),
            log_json: false,
            limits: Limits::default(),
        }
    }
}

impl ServerSettings {
    /// The folder of the site that is served instead of libraries.
    pub(super) fn site(&self) -> Option<&Path> {
        let mut folders = self.sources.iter().map(|spec| spec.path.as_path());
        folders.find(|folder| site::is_site(folder))
    }

    /// Reads settings from a file's text.
    ///
    /// # Errors
    /// A syntax error or an invalid value, with its place.
    pub fn from_toml(file: &str, text: &str) -> Result<ServerSettings> {
        toml::from_str(text).map_err(|error| {
            let at = error.span().map_or(At::Whole, |span| At::byte_of(text, span.start));
            Error::new(error.message()).at(Place::new(file, at))
        })
    }
}

/// Parses an address to listen on: an address and a port, or `localhost` and a port.
///
/// # Errors
/// The text is neither.
pub fn parse_listen(text: &str) -> Result<SocketAddr> {
    let port_here = text.strip_prefix("localhost:").and_then(|port| port.parse().ok());
    let here = port_here.map(|port: u16| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    here.or_else(|| text.parse().ok()).ok_or_else(|| {
        Error::new(format!(
            "`{text}` is no address and port: say 127.0.0.1:9002, [::1]:9002, localhost:9002, or 0.0.0.0:9002 for all"
        ))
    })
}

fn listen_of_toml<'de, D: Deserializer<'de>>(toml: D) -> std::result::Result<SocketAddr, D::Error> {
    parse_listen(&String::deserialize(toml)?).map_err(D::Error::custom)
}

macro_rules! from_text {
    ($($type:ty),+) => {$(
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(toml: D) -> std::result::Result<$type, D::Error> {
                String::deserialize(toml)?.parse().map_err(D::Error::custom)
            }
        }
    )+};
}

from_text!(BasePath, HostName, LogLevel, Origin, SourceSpec);

/// A source and its name: `NAME=FILE`, or a file whose name without suffixes is used. A base and
/// its delta (`BASE+DELTA.epdb`) have the name of the base. The folder of a site is served as it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SourceSpec {
    /// The name of the source.
    pub name: String,
    /// The path of the source's file.
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
        if site::is_site(&path) {
            return Ok(SourceSpec { name: "site".to_string(), path });
        }
        let base = DeltaPath::parse(&path).map_or_else(|| path.clone(), |pair| pair.base);
        let base = PathBuf::from(&*name_of(&base));
        let file = base.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let name = file.split('.').next().unwrap_or_default().to_string();
        let is_book = base.extension().is_some_and(|suffix| suffix.eq_ignore_ascii_case("bin"));
        let why = match text {
            "-" => "standard input has no name to be asked by",
            _ if !is_name(&name) => {
                "its name has more than letters, digits and - _ . to be asked by"
            }
            _ if FileFormat::from_name(&base).is_none() && !is_book => "its name tells no format",
            _ => return Ok(SourceSpec { name, path }),
        };
        Err(Error::new(format!("{}: {why}: say NAME=FILE", name_of(&path))))
    }
}
