//! One run of an engine over a suite. It keeps a journal next to its output, resumes after an
//! interruption, and writes a run file when it is complete.

use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};

use super::annotate::positions_of;
use super::choices::Finished;
use super::journal::{Journal, Recovered, RunIdentity};
use super::pool::{Emit, Plan, Pool, SharedJournal};
use super::session::{Identity, Limits};
use epdb_base::new_file::NewFile;
use epdb_chess::error::{Error, Result};
use epdb_chess::model::EpdRecord;
use epdb_chess::text::{FormatOptions, epd};
use epdb_library::run_file::{RunFile, RunLimit, RunSuite};
use epdb_source::{Item, Source, SourceOptions};

/// A run of one engine over the records of a suite.
///
/// [`SuiteRun::start`] begins or resumes the run. [`RunningSuite`] takes the records and searches
/// each, unless the journal of an interrupted run has it.
#[derive(Debug)]
pub struct SuiteRun {
    plan: Plan,
    identity: Identity,
    verb: &'static str,
    mate: Option<u32>,
    lines: usize,
    output: Option<PathBuf>,
    suite: Option<RunSuite>,
    command: Vec<String>,
}

impl SuiteRun {
    /// Starts the engine once to check its options and to get its name. `verb` is the name of the
    /// command: solve, analyze or mate.
    ///
    /// # Errors
    /// The engine cannot be started.
    pub fn new(plan: Plan, verb: &'static str) -> Result<SuiteRun> {
        let identity = plan.check()?;
        let mate = None;
        let output = None;
        let suite = None;
        let command = Vec::new();
        Ok(SuiteRun { plan, identity, verb, mate, lines: 1, output, suite, command })
    }

    /// Sets the number of moves within which to find a mate.
    #[must_use]
    pub fn mate(self, moves: Option<u32>) -> SuiteRun {
        SuiteRun { mate: moves, ..self }
    }

    /// Sets the number of lines that the engine reports.
    #[must_use]
    pub fn lines(self, lines: usize) -> SuiteRun {
        SuiteRun { lines, ..self }
    }

    /// Sets the command line for the run file.
    #[must_use]
    pub fn command(self, command: Vec<String>) -> SuiteRun {
        SuiteRun { command, ..self }
    }

    /// Sets the output file. Also sets the suite, if it could be read before the run ([`survey`]). Journal
    /// and run file are next to the output.
    #[must_use]
    pub fn output(self, output: PathBuf, suite: Option<RunSuite>) -> SuiteRun {
        SuiteRun { output: Some(output), suite, ..self }
    }

    /// The engine and its task.
    pub const fn plan(&self) -> &Plan {
        &self.plan
    }

    /// If the output exists and is the complete result of this run, the number of its failed searches.
    ///
    /// # Errors
    /// The run file of the output cannot be read, or it is that of another run.
    pub fn completed(&self) -> Result<Option<u64>> {
        let (Some(output), Some(suite)) = (&self.output, &self.suite) else { return Ok(None) };
        if journal_path(output).exists() || !output.exists() {
            return Ok(None);
        }
        let Some(run) = RunFile::beside(output)? else { return Ok(None) };
        let difference = if run.verb.as_deref() != Some(self.verb) {
            "another command"
        } else if run.engine != self.identity.in_run(&self.plan.engine) {
            "another engine, or other options or arguments of it"
        } else if run.limit != self.limit() || run.multipv != Some(self.lines as u64) {
            "other limits"
        } else if run.suite != *suite {
            "another suite"
        } else {
            return Ok(Some(run.failed.unwrap_or_default()));
        };
        Err(Error::new(format!(
            "{} is the complete result of {difference}: name another output, or replace it by a run without --resume",
            output.display()
        )))
    }

    /// Starts the run, or resumes it from the journal of the output.
    ///
    /// # Errors
    /// The journal belongs to another run, holds records although the run is not resumed, or cannot
    /// be read or written.
    pub fn start(self, resume: bool) -> Result<RunningSuite> {
        let (journal, recovered) = match &self.output {
            None => (None, Recovered::default()),
            Some(output) if resume => {
                let (journal, recovered) =
                    Journal::resume(&journal_path(output), &self.identity(output))?;
                (Some(journal), recovered)
            }
            Some(output) => {
                let journal = Journal::create(&journal_path(output), &self.identity(output))?;
                (Some(journal), Recovered::default())
            }
        };
        let started = SystemTime::now();
        let clock = Instant::now();
        let (pool, journal) = Pool::with_journal(self.plan.clone(), journal);
        Ok(RunningSuite {
            run: self,
            pool,
            journal: JournalGuard(journal),
            recovered,
            suite: SuiteHash::new(),
            started,
            clock,
            failed: 0,
        })
    }

    fn identity(&self, output: &Path) -> RunIdentity {
        RunIdentity {
            epdb: env!("CARGO_PKG_VERSION"),
            verb: self.verb,
            task: self.plan.task.clone(),
            engine: self.identity.in_run(&self.plan.engine),
            program: file_stamp(&self.plan.engine.program()),
            limit: self.limit(),
            multipv: self.lines,
            suite: self.suite.clone(),
            output: output.display().to_string(),
        }
    }

    fn limit(&self) -> RunLimit {
        Limits { mate: self.mate, ..self.plan.limits.clone() }.in_run()
    }
}

/// A run in progress.
#[derive(Debug)]
pub struct RunningSuite {
    run: SuiteRun,
    pool: Pool,
    journal: JournalGuard,
    recovered: Recovered,
    suite: SuiteHash,
    started: SystemTime,
    clock: Instant,
    failed: u64,
}

/// Closes the journal of a run that fails, although threads of the pool may still refer to it.
#[derive(Debug)]
struct JournalGuard(SharedJournal);

impl Drop for JournalGuard {
    fn drop(&mut self) {
        drop(self.0.take());
    }
}

impl RunningSuite {
    /// The number of records that an interrupted run has finished, and that were not pushed to this run yet.
    pub fn recovered(&self) -> usize {
        self.recovered.len()
    }

    /// Searches the next record, unless an interrupted run finished it. `progress` gets the records
    /// that were finished during this call, in order.
    ///
    /// # Errors
    /// The engine cannot be started, the journal cannot be written or belongs to other records, or
    /// `progress` fails.
    pub fn push<E: From<Error>>(
        &mut self,
        record: EpdRecord,
        progress: &mut Emit<'_, E>,
    ) -> Result<(), E> {
        let RunningSuite { pool, recovered, suite, failed, .. } = self;
        suite.add(&record);
        let mut emit = counting(failed, progress);
        let Some(done) = recovered.take(pool.next_number())? else {
            return pool.push(record, &mut emit);
        };
        if record.position() != done.position() {
            let what = "the journal belongs to other records: remove it to start over";
            return Err(Error::new(what).into());
        }
        pool.push_finished(Finished::from_earlier_run(done, &record), &mut emit)
    }

    /// Waits until all records are finished.
    ///
    /// # Errors
    /// The errors of [`RunningSuite::push`].
    pub fn wait<E: From<Error>>(&mut self, progress: &mut Emit<'_, E>) -> Result<(), E> {
        let RunningSuite { pool, failed, .. } = self;
        pool.wait(&mut counting(failed, progress))
    }

    /// Waits for all records and ends the engines. `path` is the name of the suite in the run file.
    ///
    /// # Errors
    /// The errors of [`RunningSuite::push`].
    pub fn finish<E: From<Error>>(
        self,
        path: String,
        progress: &mut Emit<'_, E>,
    ) -> Result<SearchedSuite, E> {
        let RunningSuite { run, pool, journal, suite, started, clock, mut failed, .. } = self;
        pool.finish(&mut counting(&mut failed, progress))?;
        let journal = journal.0.take();
        let suite = suite.finish(path);
        Ok(SearchedSuite { run, journal, suite, started, clock, failed })
    }
}

/// Counts the records whose search failed.
fn counting<'a, E>(
    failed: &'a mut u64,
    progress: &'a mut Emit<'_, E>,
) -> impl FnMut(u64, Finished) -> Result<(), E> {
    move |number, finished| {
        *failed += u64::from(finished.error.is_some());
        progress(number, finished)
    }
}

/// A run whose records are all searched. Its journal is kept until the output is in place.
#[derive(Debug)]
pub struct SearchedSuite {
    run: SuiteRun,
    journal: Option<Journal>,
    suite: RunSuite,
    started: SystemTime,
    clock: Instant,
    failed: u64,
}

impl SearchedSuite {
    /// Writes the run file next to the output, which must be in place, and removes the journal.
    ///
    /// # Errors
    /// A file cannot be written or removed.
    pub fn complete(self) -> Result<()> {
        let SearchedSuite { run, journal, suite, started, clock, failed } = self;
        let elapsed = journal.as_ref().map_or_else(|| clock.elapsed(), Journal::elapsed);
        if let Some(output) = &run.output {
            let file = RunFile {
                epdb: Some(env!("CARGO_PKG_VERSION").into()),
                verb: Some(run.verb.into()),
                engine: run.identity.in_run(&run.plan.engine),
                limit: run.limit(),
                multipv: Some(run.lines as u64),
                concurrency: Some(run.plan.concurrency as u64),
                suite,
                output: Some(output.display().to_string()),
                command: run.command,
                started: Some(humantime::format_rfc3339_seconds(started).to_string()),
                seconds: Some((elapsed.as_secs_f64() * 1000.0).round() / 1000.0),
                failed: Some(failed),
            };
            let mut new = NewFile::create(RunFile::path_beside(output))?;
            serde_json::to_writer(&mut new, &file).map_err(Error::from_cause)?;
            new.write_all(b"\n")?;
            new.finish()?;
        }
        match journal {
            Some(journal) => journal.remove(),
            None => Ok(()),
        }
    }
}

/// Counts and hashes the records of a suite in their order.
#[derive(Debug)]
struct SuiteHash {
    hash: blake3::Hasher,
    records: u64,
    line: Vec<u8>,
}

impl SuiteHash {
    fn new() -> SuiteHash {
        SuiteHash { hash: blake3::Hasher::new(), records: 0, line: Vec::new() }
    }

    fn add(&mut self, record: &EpdRecord) {
        self.line.clear();
        epd::format(record, &FormatOptions::default(), &mut self.line);
        self.line.push(b'\n');
        self.hash.update(&self.line);
        self.records += 1;
    }

    fn finish(&self, path: String) -> RunSuite {
        RunSuite {
            path: Some(path),
            blake3: Some(self.hash.finalize().to_hex().to_string()),
            records: Some(self.records),
        }
    }
}

/// Reads the files of a suite before the run. Returns the number of records, or of positions of
/// games, and their hash. Rejected lines and games are skipped. `path` is the name of the suite.
///
/// # Errors
/// A file cannot be opened or is damaged.
pub fn survey<P: AsRef<Path>>(
    path: String,
    files: impl IntoIterator<Item = P>,
    options: &SourceOptions,
) -> Result<RunSuite> {
    let mut hash = SuiteHash::new();
    for file in files {
        Source::open(file, options)?.read(&mut |item| {
            match item {
                Item::Record { record, .. } => hash.add(&record),
                Item::Game { game, .. } => positions_of(game).iter().for_each(|it| hash.add(it)),
                _ => {}
            }
            Ok::<_, Error>(ControlFlow::Continue(()))
        })?;
    }
    Ok(hash.finish(path))
}

fn journal_path(output: &Path) -> PathBuf {
    let mut path = output.as_os_str().to_owned();
    path.push(".journal");
    path.into()
}

/// The length and modification time of a file, which change when a program is rebuilt.
fn file_stamp(path: &Path) -> String {
    match path.metadata().and_then(|found| Ok((found.len(), found.modified()?))) {
        Ok((len, modified)) => {
            format!("{len} bytes of {}", humantime::format_rfc3339_millis(modified))
        }
        Err(_) => "unknown".into(),
    }
}
