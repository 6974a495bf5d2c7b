//! A run: engines over the records of files.

use std::path::{Path, PathBuf};

use anyhow::Context;

use super::annotating::Annotating;
use super::args::EngineArgs;
use super::desk::Desk;
use super::search::search_records;
use super::sink::{Sink, existing_store};
use super::suite::{shown_files, survey};
use crate::cli::args::{MemoryArgs, OutputArgs};
use crate::cli::message::note;
use crate::cli::outcome::{Outcome, Usage};
use crate::cli::pipe::Pipe;
use crate::cli::source;
use crate::cli::threads;
use epdb::engine::{RunningSuite, SearchedSuite, SuiteRun, Task};

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
        let label = plan.engine.label.clone();
        let run = SuiteRun::new(plan, verb.name).with_context(|| format!("engine {label}"))?;
        let run = run
            .mate(verb.mate)
            .lines(args.lines())
            .command(std::env::args_os().map(|it| it.to_string_lossy().into_owned()).collect());
        runs.push(EngineRun { verb, args, pipe, memory: memory.memory, run, path });
    }
    runs.into_iter().try_fold(Outcome::Done, |outcome, run| Ok(outcome.and(run.run()?)))
}

/// The run of one engine.
struct EngineRun<'r> {
    verb: &'r Verb,
    args: &'r EngineArgs,
    pipe: &'r Pipe,
    memory: usize,
    run: SuiteRun,
    /// The output, unless it is standard output.
    path: Option<PathBuf>,
}

impl EngineRun<'_> {
    fn run(self) -> anyhow::Result<Outcome> {
        let EngineRun { verb, args, pipe, memory, mut run, path } = self;
        // A device gets no files beside it.
        let is_file = |path: &&Path| path.metadata().map_or(true, |found| found.is_file());
        let file = path.as_deref().filter(|path| *path != Path::new("-")).filter(is_file);
        let mut records = None;
        if let Some(file) = file {
            let suite = survey(&pipe.files, &pipe.read, verb.games.is_some())?;
            records = suite.as_ref().and_then(|suite| suite.records);
            if args.resume && suite.is_none() {
                let text = "--resume needs files: what came through a pipe cannot be read again";
                return Err(Usage(text.into()).into());
            }
            run = run.output(file.to_path_buf(), suite);
        }
        let plan = run.plan().clone();
        if args.resume && run.is_complete()? {
            let output = file.unwrap_or(Path::new("-")).display();
            note!("epdb: {}: {output} is complete", plan.engine.label);
            return Ok(Outcome::Done);
        }
        let running = run.start(args.resume)?;
        match running.recovered() {
            0 => {}
            1 => note!("epdb: 1 record was done before"),
            count => note!("epdb: {count} records were done before"),
        }
        let mut desk = Desk::new(&plan, records);
        let (searched, outcome) = match &verb.games {
            Some(games) => games.search(pipe, path.as_deref(), running, &mut desk),
            None => search_into(file, path.as_deref(), pipe, memory, running, &mut desk),
        }?;
        let (failed, reached) = desk.finish();
        searched.complete()?;
        note!("epdb: {reached}");
        Ok(outcome.and(Outcome::different_if(failed > 0)))
    }
}

/// Searches records into an output, or into a store that exists.
fn search_into(
    file: Option<&Path>,
    path: Option<&Path>,
    pipe: &Pipe,
    memory: usize,
    running: RunningSuite,
    desk: &mut Desk<'_>,
) -> anyhow::Result<(SearchedSuite, Outcome)> {
    let store = existing_store(file, &pipe.files, memory)?;
    let output = OutputArgs { output: path.map(Path::to_path_buf), ..pipe.output.clone() };
    let sink = Sink::open(store.as_ref(), &shown_files(&pipe.files), &output, &pipe.write, memory)?;
    let searched = search_records(running, pipe, sink, desk)?;
    store.map_or(Ok(()), epdb::store::Store::close)?;
    Ok(searched)
}
