//! A run: engines search the records of files, and the records are written to an output or a store.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use anyhow::Context;

use super::annotating::Annotating;
use super::args::EngineArgs;
use super::progress::{ProgressReporter, shown_files};
use crate::cli::args::{MemoryArgs, OutputArgs, ReadArgs, WriteArgs};
use crate::cli::comments::{CommentOrder, Comments};
use crate::cli::diagnostics::{Diagnostics, shown_findings};
use crate::cli::outcome::{Outcome, usage};
use crate::cli::pipe::Pipe;
use crate::cli::record_output::RecordOutput;
use crate::cli::source::{self, Reading};
use crate::cli::terminal::{listed_counts, many, note};
use crate::cli::{places, signals, values};
use epdb_chess::error::Place;
use epdb_chess::model::merge::{MergeRules, Prefer};
use epdb_chess::model::{EpdRecord, Opcode};
use epdb_engine::{Finished, RunningSuite, SearchedSuite, SuiteRun, Task};
use epdb_library::run_file::RunSuite;
use epdb_source::{FileFormat, Item, name_of};
use epdb_store::{
    AnalysisCounts, ImportOptions, ImportReport, Importer, OnDuplicate, Store, StoreOptions,
};

/// Request of a command to the engines.
pub(crate) struct Verb {
    pub(crate) name: &'static str,
    pub(crate) task: Task,
    /// Number of moves to mate in the arguments.
    pub(crate) mate: Option<u32>,
    /// Annotation of games, if games are written.
    pub(crate) games: Option<Annotating>,
}

pub(crate) fn run(
    verb: &Verb,
    args: &EngineArgs,
    pipe: &Pipe,
    memory: &MemoryArgs,
) -> anyhow::Result<Outcome> {
    let limits = args.limits()?;
    values::start_threads(pipe.read.form.threads)?;
    let is_stdin = source::or_stdin(&pipe.files).contains(&Path::new("-"));
    if is_stdin && args.engines.len() > 1 {
        let text = "standard input can be read only once: use a file with several engines";
        return Err(usage(text));
    }
    let mut runs: Vec<EngineRun> = Vec::new();
    for plan in args.plans(&limits, &verb.task)? {
        let path = args.output_of(&plan.engine, pipe.output.output.as_deref())?;
        if path.is_some() && runs.iter().any(|run| run.path == path) {
            let text = "two engines would write the same output: give them different names";
            return Err(usage(text));
        }
        let label = plan.engine.label.clone();
        let run = SuiteRun::new(plan, verb.name).with_context(|| format!("engine {label}"))?;
        let run = run
            .mate(verb.mate)
            .lines(args.lines())
            .command(std::env::args_os().map(|it| name_of(Path::new(&it)).into_owned()).collect());
        runs.push(EngineRun { verb, args, pipe, memory_bytes: memory.memory_bytes, run, path });
    }
    runs.into_iter().try_fold(Outcome::Done, |outcome, run| Ok(outcome.and(run.run()?)))
}

struct EngineRun<'r> {
    verb: &'r Verb,
    args: &'r EngineArgs,
    pipe: &'r Pipe,
    memory_bytes: usize,
    run: SuiteRun,
    /// The output, unless it is standard output.
    path: Option<PathBuf>,
}

impl EngineRun<'_> {
    fn run(self) -> anyhow::Result<Outcome> {
        let EngineRun { verb, args, pipe, memory_bytes, mut run, path } = self;
        // No further files are written next to a device.
        let is_file = |path: &Path| path.metadata().map_or(true, |found| found.is_file());
        let file = path.as_deref().filter(|path| *path != Path::new("-") && is_file(path));
        let mut records = None;
        let mut can_resume = false;
        if let Some(file) = file {
            let suite = survey(&pipe.files, &pipe.read, verb.games.is_some())?;
            records = suite.as_ref().and_then(|suite| suite.records);
            can_resume = suite.is_some();
            if args.resume && !can_resume {
                let text = "--resume needs files: a pipe cannot be read again";
                return Err(usage(text));
            }
            run = run.output(file.to_path_buf(), suite);
        }
        let store = existing_store(file, &pipe.files, memory_bytes)?;
        if args.prefer.is_some() && store.is_none() {
            let text = "--prefer needs an output that is an existing store, as in -o analyses.epdb";
            return Err(usage(text));
        }
        let plan = run.plan().clone();
        if args.resume
            && let Some(failed) = run.completed()?
        {
            return Ok(report_complete(&plan.engine.label, file, failed));
        }
        let running = run.start(args.resume)?;
        signals::set_last_words(last_words(file.filter(|_| can_resume)));
        match running.recovered() {
            0 => {}
            1 => note!("epdb: 1 record was done before"),
            count => note!("epdb: {} done before", many(count, "record")),
        }
        let mut progress = ProgressReporter::new(&plan, records, shown_findings(&pipe.read.form));
        let (searched, outcome) = match &verb.games {
            Some(games) => games.search(pipe, path.as_deref(), running, &mut progress),
            None => {
                let output = OutputArgs { output: path.clone(), ..pipe.output.clone() };
                let prefer = args.prefer.unwrap_or_default();
                let sink = match &store {
                    Some(store) => Sink::open_store(store, &shown_files(&pipe.files), prefer),
                    None => Sink::open_output(&output, &pipe.write, memory_bytes),
                }?;
                search_records(running, pipe, sink, &mut progress)
            }
        }?;
        if let Some(store) = store {
            store.close()?;
        }
        searched.complete()?;
        Ok(outcome.and(progress.finish()))
    }
}

/// Reports a run that an earlier command finished.
fn report_complete(engine: &str, output: Option<&Path>, failed: u64) -> Outcome {
    let output = output.unwrap_or(Path::new("-")).display();
    match failed {
        0 => note!("epdb: {engine}: {output} is complete"),
        _ => note!(
            "epdb: {engine}: {output} is complete, with {}: --where 'has(run_error)' searches these again, a run without --resume all",
            many(failed, "failure")
        ),
    }
    Outcome::different_if(failed > 0)
}

/// The line for the user if the run is interrupted; `output` is the output of a run that can be resumed.
fn last_words(output: Option<&Path>) -> String {
    match output {
        Some(output) => format!(
            "stopped; {}.journal has the finished records: run the same command with --resume to continue",
            output.display()
        ),
        None => "stopped; --resume can continue only a run from files to a file (-o)".into(),
    }
}

fn search_records(
    mut run: RunningSuite,
    pipe: &Pipe,
    mut sink: Sink<'_>,
    progress: &mut ProgressReporter<'_>,
) -> anyhow::Result<(SearchedSuite, Outcome)> {
    let Pipe { files, read, .. } = pipe;
    let mut diagnostics = Diagnostics::new(&read.form)?;
    sink.carry_comments(diagnostics.comments());
    let mut places: VecDeque<Place> = VecDeque::new();
    let mut emit = |places: &mut VecDeque<Place>, finished: Finished| {
        progress.tell(&places.pop_front().context("a record is from nowhere")?, &finished);
        sink.write(&finished.record)
    };
    Reading::of(files, read, &mut diagnostics).without_progress().items(|item| {
        match item {
            Item::Record { record, place, .. } => {
                places.push_back(place.clone());
                run.push(record, &mut |_, it| emit(&mut places, it))?;
            }
            Item::Waiting => run.wait(&mut |_, it| emit(&mut places, it))?,
            _ => {}
        }
        Ok(ControlFlow::Continue(()))
    })?;
    let searched = run.finish(shown_files(files), &mut |_, it| emit(&mut places, it))?;
    let outcome = sink.finish()?.and(diagnostics.finish()?);
    Ok((searched, outcome))
}

fn existing_store(
    path: Option<&Path>,
    inputs: &[PathBuf],
    memory_bytes: usize,
) -> anyhow::Result<Option<Store>> {
    let Some(path) = path else { return Ok(None) };
    if FileFormat::from_name(path) != Some(FileFormat::Epdb) || !path.exists() {
        return Ok(None);
    }
    let store = path.display();
    let advice =
        format!("use `epdb filter {store} | epdb analyze - -o {store}` (--where goes to filter)");
    places::refuse_as_input(path, inputs, &advice)?;
    Ok(Some(Store::open(path, &StoreOptions { memory_bytes, ..Default::default() })?))
}

/// Destination of finished records, in order.
enum Sink<'s> {
    Output(Box<RecordOutput>),
    Store(Box<Importer<&'s Store>>),
}

impl<'s> Sink<'s> {
    fn open_output(
        output: &OutputArgs,
        write: &WriteArgs,
        memory_bytes: usize,
    ) -> anyhow::Result<Sink<'s>> {
        let output = RecordOutput::open_library(output, write, memory_bytes)?;
        Ok(Sink::Output(Box::new(output)))
    }

    /// Opens a store. One of two analyses stays as a whole.
    fn open_store(store: &'s Store, source: &str, prefer: Prefer) -> anyhow::Result<Sink<'s>> {
        let merge = OnDuplicate::Merge(MergeRules { prefer, ..Default::default() });
        let options = ImportOptions { on_duplicate: merge, restart: true, ..Default::default() };
        Ok(Sink::Store(Box::new(store.importer(source, &options)?)))
    }

    /// Writes the comments of the records too, if the output can store them.
    fn carry_comments(&mut self, comments: &Comments) {
        match self {
            Sink::Output(output) => output.carry_comments(comments, CommentOrder::Queue),
            Sink::Store(_) => comments.follow(CommentOrder::Drop),
        }
    }

    /// Writes a record. If a reader may be waiting for the record, it is passed on at once.
    fn write(&mut self, record: &EpdRecord) -> anyhow::Result<()> {
        match self {
            Sink::Output(output) => {
                output.write(record)?;
                Ok(output.hand_on()?)
            }
            // After a failed search, the store keeps its earlier analysis.
            Sink::Store(_) if record.operands(Opcode::RUN_ERROR).is_some() => Ok(()),
            Sink::Store(importer) => Ok(importer.push(record)?),
        }
    }

    fn finish(self) -> anyhow::Result<Outcome> {
        match self {
            Sink::Output(output) => output.finish(),
            Sink::Store(importer) => {
                let ImportReport { counts, analyses, .. } = importer.finish()?;
                let AnalysisCounts { differing, deeper_replaced } = analyses;
                if differing + counts.conflicts > 0 {
                    let others = [
                        (deeper_replaced, "that replaced a deeper one (--prefer deepest keeps it)"),
                        (counts.conflicts, "in conflict with an earlier record, which stays too"),
                    ];
                    let others = listed_counts(&others);
                    note!("epdb: {differing} with an earlier analysis{others}");
                }
                Ok(Outcome::Done)
            }
        }
    }
}

/// Reads the sources before the run; `None` if a source can be read only once. Diagnostics are reported
/// later, by the run itself.
fn survey(files: &[PathBuf], read: &ReadArgs, are_games: bool) -> anyhow::Result<Option<RunSuite>> {
    let is_file = |path: &&Path| path.metadata().is_ok_and(|found| found.is_file());
    let paths = source::or_stdin(files);
    if !paths.iter().all(is_file) {
        return Ok(None);
    }
    let options = read.source_options(are_games);
    Ok(Some(epdb_engine::survey(shown_files(files), paths, &options)?))
}
