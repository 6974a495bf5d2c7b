//! A run: engines over the records of files.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};

use anyhow::Context;
use serde_json::Value;

use super::annotating::Annotating;
use super::args::EngineArgs;
use super::desk::Desk;
use super::search::{Search, Searched};
use super::sink::{Sink, existing_store};
use super::suite::{shown_files, survey};
use crate::cli::args::{MemoryArgs, OutputArgs};
use crate::cli::message::note;
use crate::cli::outcome::{Outcome, Usage};
use crate::cli::pipe::Pipe;
use crate::cli::source;
use crate::cli::threads;
use epdb::engine::{Identity, Journal, Limits, Plan, Recovered, RunIdentity, Task};
use epdb::library::run_file::{RunFile, RunLimit, RunSuite};
use epdb::new_file::NewFile;

/// What a command asks of engines.
pub(crate) struct Verb {
    /// The name of the command.
    pub(crate) name: &'static str,
    /// What is asked about each record.
    pub(crate) task: Task,
    /// The number of moves in which a mate is looked for, as it was given.
    pub(crate) mate: Option<u32>,
    /// How games are annotated, where games are wanted.
    pub(crate) games: Option<Annotating>,
}

/// Runs each engine over all records.
pub(crate) fn run(
    verb: &Verb,
    args: &EngineArgs,
    pipe: &Pipe,
    memory: &MemoryArgs,
) -> anyhow::Result<Outcome> {
    let limits = args.limits()?;
    threads::start(pipe.read.form.threads)?;
    let is_stdin = source::or_stdin(&pipe.files).contains(&Path::new("-"));
    if is_stdin && args.engines.len() > 1 {
        let text = "standard input can be read only once: give several engines a file";
        return Err(Usage(text.into()).into());
    }
    let mut runs: Vec<EngineRun> = Vec::new();
    for plan in args.plans(&limits, &verb.task)? {
        let path = args.output_of(&plan.engine, pipe.output.output.as_deref())?;
        if path.is_some() && runs.iter().any(|run| run.path == path) {
            let text = "two engines would write one output: give them names that differ";
            return Err(Usage(text.into()).into());
        }
        let identity = plan.check().with_context(|| format!("engine {}", plan.engine.label))?;
        runs.push(EngineRun { verb, args, pipe, memory: memory.memory, plan, path, identity });
    }
    runs.into_iter().try_fold(Outcome::Done, |outcome, run| Ok(outcome.and(run.run()?)))
}

/// The run of one engine.
struct EngineRun<'r> {
    verb: &'r Verb,
    args: &'r EngineArgs,
    pipe: &'r Pipe,
    memory: usize,
    plan: Plan,
    /// The output, unless it is standard output.
    path: Option<PathBuf>,
    /// What the engine says of itself.
    identity: Identity,
}

impl EngineRun<'_> {
    fn run(self) -> anyhow::Result<Outcome> {
        let (started, clock) = (SystemTime::now(), Instant::now());
        // Nothing is left beside a device.
        let is_file = |path: &&Path| path.metadata().map_or(true, |found| found.is_file());
        let file = self.path.as_deref().filter(|path| *path != Path::new("-")).filter(is_file);
        let are_games = self.verb.games.is_some();
        let suite =
            file.map_or(Ok(None), |_| survey(&self.pipe.files, &self.pipe.read, are_games))?;
        if let (Some(file), Some(suite)) = (file, &suite)
            && self.is_complete(file, suite)?
        {
            note!("epdb: {}: {} is complete", self.plan.engine.label, file.display());
            return Ok(Outcome::Done);
        }
        let (journal, recovered) = match file {
            Some(file) => {
                let (journal, recovered) = self.open_journal(file, suite.as_ref())?;
                (Some(journal), recovered)
            }
            None => (None, Recovered::default()),
        };
        let mut desk = Desk::new(&self.plan, suite.as_ref().and_then(|suite| suite.records));
        let search = Search::new(self.plan.clone(), journal, recovered);
        let journal = search.journal();
        let searched = match &self.verb.games {
            Some(games) => games.search(self.pipe, self.path.as_deref(), search, &mut desk),
            None => self.search_into(file, search, &mut desk),
        };
        // Threads may still hold it when a run is refused.
        let searched = searched.inspect_err(|_| drop(journal.take()))?;
        let (failed, reached) = desk.finish();
        if let Some(file) = file {
            let seconds = clock.elapsed().as_secs_f64();
            self.write_run_file(file, searched.suite, (started, seconds, failed))?;
        }
        searched.journal.map_or(Ok(()), Journal::remove)?;
        note!("epdb: {reached}");
        Ok(searched.outcome.and(Outcome::different_if(failed > 0)))
    }

    /// Whether a run that should go on has nothing left to do.
    fn is_complete(&self, output: &Path, suite: &RunSuite) -> anyhow::Result<bool> {
        let has_journal = journal_of(output).exists();
        if !self.args.resume || has_journal || !output.exists() {
            return Ok(false);
        }
        Ok(RunFile::beside(output)?.is_some_and(|run| {
            run.verb.as_deref() == Some(self.verb.name)
                && run.engine == self.identity.in_run(&self.plan.engine)
                && (run.limit, run.multipv) == (self.limit(), Some(self.args.lines() as u64))
                && run.suite == *suite
        }))
    }

    fn open_journal(
        &self,
        output: &Path,
        suite: Option<&RunSuite>,
    ) -> anyhow::Result<(Journal, Recovered)> {
        let path = journal_of(output);
        let run = self.identity(output, suite)?;
        match (self.args.resume, suite) {
            (true, None) => Err(Usage(
                "--resume needs files: what came through a pipe does not come again".into(),
            )
            .into()),
            (true, Some(_)) => {
                let (journal, recovered) = Journal::resume(&path, &run)?;
                if !recovered.is_empty() {
                    note!("epdb: {} records were done before", recovered.len());
                }
                Ok((journal, recovered))
            }
            (false, _) => Ok((Journal::create(&path, &run)?, Recovered::default())),
        }
    }

    /// What decides on the records that come out.
    fn identity(&self, output: &Path, suite: Option<&RunSuite>) -> anyhow::Result<RunIdentity> {
        let mut run = RunIdentity::new();
        let mut put = |key: &str, value: Value| run.insert(key.into(), value);
        put("epdb", env!("CARGO_PKG_VERSION").into());
        put("verb", self.verb.name.into());
        put("task", serde_json::to_value(&self.verb.task)?);
        put("engine", serde_json::to_value(self.identity.in_run(&self.plan.engine))?);
        put("program", program(&self.plan.engine.program()).into());
        put("limit", serde_json::to_value(self.limit())?);
        put("multipv", self.args.lines().into());
        put("suite", suite.map(serde_json::to_value).transpose()?.into());
        put("output", output.display().to_string().into());
        Ok(run)
    }

    fn limit(&self) -> RunLimit {
        Limits { mate: self.verb.mate, ..self.plan.limits.clone() }.in_run()
    }

    /// Searches records into an output, or a store that is there already.
    fn search_into(
        &self,
        file: Option<&Path>,
        search: Search,
        desk: &mut Desk<'_>,
    ) -> anyhow::Result<Searched> {
        let store = existing_store(file, &self.pipe.files, self.memory)?;
        let output = OutputArgs { output: self.path.clone(), ..self.pipe.output.clone() };
        let (source, write) = (shown_files(&self.pipe.files), &self.pipe.write);
        let sink = Sink::open(store.as_ref(), &source, &output, write, self.memory)?;
        let searched = search.records(self.pipe, sink, desk)?;
        store.map_or(Ok(()), epdb::store::Store::close)?;
        Ok(searched)
    }

    fn write_run_file(
        &self,
        output: &Path,
        suite: RunSuite,
        (started, seconds, failed): (SystemTime, f64, u64),
    ) -> anyhow::Result<()> {
        let run = RunFile {
            epdb: Some(env!("CARGO_PKG_VERSION").into()),
            verb: Some(self.verb.name.into()),
            engine: self.identity.in_run(&self.plan.engine),
            limit: self.limit(),
            multipv: Some(self.args.lines() as u64),
            concurrency: Some(self.plan.concurrency as u64),
            suite,
            output: Some(output.display().to_string()),
            command: std::env::args_os().map(|it| it.to_string_lossy().into_owned()).collect(),
            started: Some(humantime::format_rfc3339_seconds(started).to_string()),
            seconds: Some((seconds * 1000.0).round() / 1000.0),
            failed: Some(failed),
        };
        let mut file = NewFile::create(RunFile::path_beside(output))?;
        serde_json::to_writer(&mut file, &run)?;
        file.write_all(b"\n")?;
        Ok(file.finish()?)
    }
}

/// Where the journal of an output stands.
fn journal_of(output: &Path) -> PathBuf {
    let mut path = output.as_os_str().to_owned();
    path.push(".journal");
    path.into()
}

/// What tells a program from what it was before it was built anew.
fn program(path: &Path) -> String {
    let changed = path.metadata().and_then(|found| Ok((found.len(), found.modified()?)));
    changed.map_or_else(
        |_| "unknown".into(),
        |(len, modified)| format!("{len} bytes of {}", humantime::format_rfc3339_millis(modified)),
    )
}
