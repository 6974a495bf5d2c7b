//! The requests of the host.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::files::{Need, files};
use crate::open::open;
#[cfg(feature = "tally")]
use crate::tally::{Counting, packed, tally};
use epdb_archive::{lacks_shipped_model, set_shipped_model};
use epdb_chess::error::{Error, Result};
use epdb_explorer::{Explorer, Question, Refusal, Served};
use epdb_library::names::Names;

/// The status of an answer that lists what the host has to give first. Other statuses are those of HTTP.
pub(crate) const NEEDS: u32 = 0;

/// Maximum size of the table of names of openings in bytes.
const MOST_OPENINGS: usize = 4 << 20;

/// A request. The bytes after its text are those of the file.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Request {
    /// Opens a file of `size` bytes, of which the first ones are given, as a source.
    Open { name: String, size: u64, time: u64 },
    /// Takes bytes of a file, from the first byte of a page.
    Give { file: String, start: u64 },
    /// Takes the built-in model of archives.
    Model {},
    /// Takes a table of names of openings.
    Openings {},
    /// Answers a question at a path of the server.
    Answer { path: String, query: String },
    /// Counts the games of a file into a library, which is a source then.
    #[cfg(feature = "tally")]
    Tally(Counting),
    /// Returns the bytes of a small archive of a source.
    #[cfg(feature = "tally")]
    Bytes { name: String },
    /// Forgets a source.
    Close { name: String },
}

/// The bytes that the host has to give before it repeats its request.
#[derive(Serialize)]
struct Needs {
    needs: Vec<Need>,
    /// True if the built-in model is needed.
    model: bool,
}

/// An answer. Its body is JSON if the status is 200 or [`NEEDS`], the bytes of a library, or a text.
pub(crate) struct Reply {
    pub(crate) status: u32,
    pub(crate) body: Vec<u8>,
}

/// The sources.
#[derive(Default)]
pub(crate) struct State {
    sources: Vec<Arc<Served>>,
    /// Number of changes of the sources.
    changes: u64,
    names: Arc<Names>,
}

impl State {
    /// Answers a request, whose text is JSON.
    pub(crate) fn answer(&mut self, text: &[u8], bytes: Vec<u8>) -> Reply {
        let request = serde_json::from_slice(text);
        // What the host gives belongs to the answer that needed it, which is tried again.
        let is_given = matches!(request, Ok(Request::Give { .. } | Request::Model {}));
        let answered = match request {
            Ok(request) => self.run(request, bytes),
            Err(error) => Err(Refusal::BadRequest(error.to_string())),
        };
        let (needs, model) = (files().take_needs(), lacks_shipped_model());
        if !needs.is_empty() || model {
            let body = serde_json::to_vec(&Needs { needs, model }).unwrap_or_default();
            return Reply { status: NEEDS, body };
        }
        if !is_given {
            files().end_answer();
        }
        match answered {
            Ok(body) => Reply { status: 200, body },
            Err(refusal) => {
                Reply { status: refusal.status().into(), body: refusal.to_string().into_bytes() }
            }
        }
    }

    fn run(&mut self, request: Request, bytes: Vec<u8>) -> Result<Vec<u8>, Refusal> {
        match request {
            Request::Open { name, size, time } => {
                let (format, collection) = open(&name, size, &bytes)?;
                self.add(Served::new(&name, format, collection, time)?);
            }
            Request::Give { file, start } => files().give(&file, start, &bytes),
            Request::Model {} if set_shipped_model(&bytes) => {}
            Request::Model {} => return Err(Error::new("not the model of epdb").into()),
            Request::Openings {} => {
                let table = zstd::bulk::decompress(&bytes, MOST_OPENINGS).map_err(Error::from)?;
                let mut names = Names::new();
                names.add_text(&table)?;
                self.names = Arc::new(names);
            }
            Request::Answer { path, query } => {
                let no_path = || Refusal::NotFound(format!("there is no path {path}"));
                let question = Question::named(&path).ok_or_else(no_path)?;
                return Ok(question.answer(&self.explorer(), &query)?.json.into_bytes());
            }
            #[cfg(feature = "tally")]
            Request::Tally(counting) => {
                let (served, counts) = tally(&counting, bytes)?;
                self.add(served);
                return serde_json::to_vec(&counts)
                    .map_err(|error| Error::from_cause(error).into());
            }
            #[cfg(feature = "tally")]
            Request::Bytes { name } => {
                return Ok(packed(self.explorer().source(Some(&name))?.lookup())?);
            }
            Request::Close { name } => self.close(&name),
        }
        Ok(Vec::new())
    }

    fn explorer(&self) -> Explorer {
        Explorer {
            sources: self.sources.clone(),
            changes: self.changes,
            names: Arc::clone(&self.names),
            strict: false,
        }
    }

    /// Adds a source, or puts it in the place of the one with its name.
    fn add(&mut self, served: Served) {
        self.changes += 1;
        let served = Arc::new(served);
        match self.sources.iter_mut().find(|before| before.name() == served.name()) {
            Some(before) => *before = served,
            None => self.sources.push(served),
        }
    }

    fn close(&mut self, name: &str) {
        self.changes += 1;
        self.sources.retain(|served| served.name() != name);
        files().forget_source(name);
    }
}
