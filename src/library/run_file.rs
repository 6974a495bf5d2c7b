//! The run file beside the output of an engine run: the engine with its options and limits, and the
//! suite.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use epdb_chess::error::{Error, Result};

/// Suffix that the name of the output gets for the name of the run file.
const SUFFIX: &str = ".run.json";
/// Maximum size of a run file.
const LARGEST: u64 = 1 << 20;

/// Facts of a run. All members are optional, and unknown members are ignored.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RunFile {
    /// The version of epdb.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epdb: Option<String>,
    /// The command: solve, analyze or mate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verb: Option<String>,
    /// The engine that searched.
    pub engine: RunEngine,
    /// The limit for each record.
    pub limit: RunLimit,
    /// Number of lines that the engine reports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub multipv: Option<u64>,
    /// Number of records searched at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<u64>,
    /// The suite that was searched.
    pub suite: RunSuite,
    /// The path of the output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// The command line.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// Start of the run in UTC, as in RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started: Option<String>,
    /// Duration of the run in seconds, without interruptions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// Number of searches that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<u64>,
}

/// The engine of a run.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RunEngine {
    /// The name that the user gave.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The name that the engine reports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The author that the engine reports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    /// The path of the program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The arguments of the program.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<String>,
    /// The folder in which the program ran, if it is not that of epdb.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// The options that were set.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, String>,
}

/// The limit for each record.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RunLimit {
    /// Maximum number of nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes: Option<u64>,
    /// Maximum depth in plies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depth: Option<u64>,
    /// Maximum time in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub movetime: Option<u64>,
    /// Milliseconds of a clock, as a soft limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock: Option<u64>,
    /// Increment after each move, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub increment: Option<u64>,
    /// Number of moves for which the clock has to suffice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moves_to_go: Option<u64>,
    /// Maximum number of moves to a mate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mate: Option<u64>,
}

/// Records whose search exceeded the limit of nodes by more than a tenth. Engines look at their
/// limit from time to time, so a smaller excess is usual.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct NodeExcess {
    limit: Option<u64>,
    records: u64,
    exceeding: u64,
    largest: u64,
}

impl NodeExcess {
    /// Starts without records. `limit` is the limit of nodes, if there is one.
    pub const fn new(limit: Option<u64>) -> NodeExcess {
        NodeExcess { limit, records: 0, exceeding: 0, largest: 0 }
    }

    /// Counts a record whose search took this number of nodes.
    pub fn add(&mut self, nodes: u64) {
        self.records += 1;
        let is_exceeding = self.limit.is_some_and(|limit| nodes > limit.saturating_add(limit / 10));
        if is_exceeding {
            self.exceeding += 1;
            self.largest = self.largest.max(nodes);
        }
    }

    /// Message about the engine with this label; `None` if no search exceeded the limit.
    ///
    /// ```
    /// use epdb_library::run_file::NodeExcess;
    /// let mut excess = NodeExcess::new(Some(1000));
    /// [1010, 5000].into_iter().for_each(|nodes| excess.add(nodes));
    /// assert_eq!(
    ///     excess.message("toga2").as_deref(),
    ///     Some("toga2 searched more than its limit of 1000 nodes in 1 of 2 records, up to 5000 nodes")
    /// );
    /// ```
    pub fn message(&self, label: &str) -> Option<String> {
        let NodeExcess { limit, records, exceeding, largest } = *self;
        let limit = limit?;
        if exceeding == 0 {
            return None;
        }
        let node = if limit == 1 { "node" } else { "nodes" };
        let record = if records == 1 { "record" } else { "records" };
        Some(format!(
            "{label} searched more than its limit of {limit} {node} in {exceeding} of {records} {record}, up \
             to {largest} nodes"
        ))
    }
}

/// The suite of a run.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RunSuite {
    /// The path of the suite.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The BLAKE3 hash of the suite's records in canonical text, hexadecimal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blake3: Option<String>,
    /// Number of records.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub records: Option<u64>,
}

impl RunFile {
    /// The path of the run file of an output: `X.epd.run.json` beside `X.epd`.
    ///
    /// ```
    /// use std::path::Path;
    /// use epdb_library::run_file::RunFile;
    /// assert_eq!(RunFile::path_beside("wac.epd"), Path::new("wac.epd.run.json"));
    /// ```
    pub fn path_beside(output: impl AsRef<Path>) -> PathBuf {
        let mut name = OsString::from(output.as_ref());
        name.push(SUFFIX);
        name.into()
    }

    /// The name of the run: the label that the user gave the engine, or without a label the
    /// engine's own name.
    pub fn label(&self) -> Option<&str> {
        self.engine.label.as_deref().or(self.engine.name.as_deref())
    }

    /// Reads the run file of an output; `None` if it has none.
    ///
    /// # Errors
    /// The file cannot be read, or is not a run file.
    pub fn beside(output: impl AsRef<Path>) -> Result<Option<RunFile>> {
        let path = RunFile::path_beside(output);
        let named = |error: Error| error.in_source(path.display().to_string());
        let mut bytes = Vec::new();
        match File::open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(named(error.into())),
            Ok(file) => {
                file.take(LARGEST + 1).read_to_end(&mut bytes).map_err(|it| named(it.into()))?
            }
        };
        if bytes.len() as u64 > LARGEST {
            return Err(named(Error::new("not a run file: larger than 1 MiB")));
        }
        let parsed = serde_json::from_slice(&bytes);
        let what = "not a run file as `epdb solve` writes it: repair or remove it";
        parsed.map(Some).map_err(|error| named(Error::new(what).because(error)))
    }
}
