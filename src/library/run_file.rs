//! The file that a run of an engine leaves beside its output: which engine, with which options and limits,
//! and on what.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// What is put behind the name of the output.
const SUFFIX: &str = ".run.json";
/// No run has this much to say.
const LARGEST: u64 = 1 << 20;

/// What is known of a run. Everything may be missing; what is not known here is passed over.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RunFile {
    /// The version of epdb that ran it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub epdb: Option<String>,
    /// What was asked for: solve, analyze or mate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verb: Option<String>,
    /// The engine.
    pub engine: RunEngine,
    /// How much each record got.
    pub limit: RunLimit,
    /// How many lines the engine told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub multipv: Option<u64>,
    /// How many records were searched at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<u64>,
    /// What was searched.
    pub suite: RunSuite,
    /// What was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// The command line.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// When it began, in UTC, as RFC 3339 has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started: Option<String>,
    /// How long it took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// How many searches failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<u64>,
}

/// The engine of a run.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RunEngine {
    /// What the person calls it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// What it calls itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Who made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    /// Where it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Its options that were set.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, String>,
}

/// How much each record got.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RunLimit {
    /// Nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes: Option<u64>,
    /// Plies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depth: Option<u64>,
    /// Milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub movetime: Option<u64>,
    /// Milliseconds of a clock, as a soft limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock: Option<u64>,
    /// Milliseconds that the clock gets after each move.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub increment: Option<u64>,
    /// Moves for which the clock is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moves_to_go: Option<u64>,
    /// Moves to a mate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mate: Option<u64>,
}

/// What was searched.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RunSuite {
    /// Its file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The BLAKE3 hash of its records in canonical text, hexadecimal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blake3: Option<String>,
    /// How many records it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub records: Option<u64>,
}

impl RunFile {
    /// Where the run file of an output is: `X.epd.run.json` beside `X.epd`.
    ///
    /// ```
    /// use std::path::Path;
    /// use epdb::library::run_file::RunFile;
    /// assert_eq!(RunFile::path_beside("wac.epd"), Path::new("wac.epd.run.json"));
    /// ```
    pub fn path_beside(output: impl AsRef<Path>) -> PathBuf {
        let mut name = OsString::from(output.as_ref());
        name.push(SUFFIX);
        name.into()
    }

    /// What the run is called: the label of its engine, else the name of that.
    pub fn label(&self) -> Option<&str> {
        self.engine.label.as_deref().or(self.engine.name.as_deref())
    }

    /// Reads the run file of an output; `None` if it has none.
    ///
    /// # Errors
    /// It cannot be read, or is no run file.
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
            return Err(named(Error::new("this is no run file: it is larger than 1 MiB")));
        }
        let parsed = serde_json::from_slice(&bytes);
        let what = "this is no file of a run as `epdb solve` writes it; mend it or take it away";
        parsed.map(Some).map_err(|error| named(Error::new(what).because(error)))
    }
}
