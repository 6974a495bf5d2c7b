//! What a run was: the file beside its output that says by which engine, with which options and
//! limits, and on what.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::Serialize;
use serde_json::{Map, Value};

use super::session::{Identity, Limits};
use super::spec::EngineSpec;

/// What a run was, as one JSON object.
#[derive(Clone, Serialize, Debug)]
pub struct RunFile {
    /// The version of this program.
    pub epdb: &'static str,
    /// The command: `analyze`, `solve`, `mate`.
    pub verb: &'static str,
    /// The engine.
    pub engine: RunEngine,
    /// What was given of `nodes`, `depth`, `movetime` (milliseconds) and `mate` (moves).
    pub limit: Map<String, Value>,
    /// How many lines were asked for.
    pub multipv: usize,
    /// How many processes of the engine worked at once.
    pub concurrency: usize,
    /// What was read.
    pub suite: Suite,
    /// What was written.
    pub output: String,
    /// The command line.
    pub command: Vec<String>,
    /// When it began, in UTC.
    pub started: String,
    /// How long it took.
    pub seconds: f64,
    /// Records whose search failed.
    pub failed: u64,
}

/// The engine of a run.
#[derive(Clone, Serialize, Debug)]
pub struct RunEngine {
    /// What the user calls it.
    pub label: String,
    /// What it calls itself.
    pub name: String,
    /// Who made it.
    pub author: String,
    /// The program.
    pub path: String,
    /// The options that were set.
    pub options: Map<String, Value>,
}

impl RunEngine {
    /// An engine that was started.
    pub fn new(spec: &EngineSpec, identity: &Identity) -> RunEngine {
        let options = identity.options.iter();
        RunEngine {
            label: spec.label.clone(),
            name: identity.name.clone(),
            author: identity.author.clone(),
            path: spec.program().display().to_string(),
            options: options.map(|(name, value)| (name.clone(), value.as_str().into())).collect(),
        }
    }
}

/// The records that were read.
#[derive(Clone, PartialEq, Eq, Default, Serialize, Debug)]
pub struct Suite {
    /// Where they were, as it was given.
    pub path: String,
    /// The BLAKE3 hash of the lines of their canonical text, in hexadecimal digits.
    pub blake3: String,
    /// How many there are.
    pub records: u64,
}

impl RunFile {
    /// Where the file of an output stands.
    pub fn path_of(output: &Path) -> PathBuf {
        let mut name = output.as_os_str().to_owned();
        name.push(".run.json");
        name.into()
    }

    /// A moment as the file says it.
    pub fn moment(time: SystemTime) -> String {
        humantime::format_rfc3339_seconds(time).to_string()
    }

    /// Limits as the file says them.
    pub fn limit(limits: &Limits) -> Map<String, Value> {
        let Limits { nodes, depth, movetime, mate } = limits;
        let given = [
            ("nodes", *nodes),
            ("depth", depth.map(u64::from)),
            ("movetime", movetime.map(|time| time.as_millis() as u64)),
            ("mate", mate.map(u64::from)),
        ];
        given.into_iter().filter_map(|(name, value)| Some((name.into(), value?.into()))).collect()
    }
}
