//! `epdb report`: results of finished suites.

mod text;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::cli::args::{MemoryArgs, ReadArgs};
use crate::cli::diagnostics::Diagnostics;
use crate::cli::outcome::{Outcome, usage};
use crate::cli::output::{open_other_output, open_output};
use crate::cli::source::{Reading, are_games, file_name};
use crate::cli::terminal::{note, print_line};
use crate::cli::{columns, json, places};
use epdb_chess::model::Opcode;
use epdb_engine::report::{NamedMove, Problem, Report, Row, Run, RunOutput, html, verdict_word};
use epdb_library::field::parse_opcode;
use epdb_library::run_file::RunFile;
use epdb_source::Output;

/// Report results of engines on test suites, and whether differences are significant
///
/// A run is a file with the problems of a suite and an engine's answers, as `solve`, `analyze` and `mate`
/// write it. A problem has bm, am or dm, or points in c0 or in c7 and c8. The answer is pm, or else pv, or
/// else sm. A problem is solved if the answer is one of bm and none of am, or if it is a mate no longer than
/// dm. Problems of several runs are matched by id and position, or only by id, or only by position. Runs are
/// compared by McNemar's exact test, adjusted by Holm's method, and by a bootstrap. A cook is a problem for
/// which all runs agree on a move that is not a solution. If there is a file FILE.run.json, it describes the
/// run of FILE.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Examples:
  epdb report wac.sf16.epd wac.sf17.epd
  epdb report --names old=a.epd,new=b.epd --html report.html
  epdb report wac.epd --min-solved 95%")]
pub(crate) struct Args {
    /// Files with answers, each file a run; none, or `-`, is standard input
    files: Vec<PathBuf>,
    /// Give the run of each file a name. Files with the same NAME form one run; for example, a run may have
    /// one file per suite [default: the label of the run, else the file]
    #[arg(long, value_name = "NAME=FILE[,...]", value_delimiter = ',', value_parser = parse_named)]
    names: Vec<(String, PathBuf)>,
    /// Take the theme of a problem from this operation. If it is id, the theme is the part before
    /// the number
    #[arg(long, value_name = "OPCODE", default_value = "id", value_parser = parse_opcode)]
    theme: Opcode,
    /// End with exit status 1 if a run solves fewer problems than this number, or than this
    /// percentage of the scored problems
    #[arg(long, value_name = "N|N%")]
    min_solved: Option<MinSolved>,
    /// Print at most N lines in each list [default: 20]
    #[arg(short = 'n', long, alias = "lines", value_name = "N", conflicts_with_all = ["json", "tsv"])]
    limit: Option<usize>,
    /// Write a complete HTML page with plots, boards and filters, and print only the first line of
    /// the report, the verdict
    #[arg(long, value_name = "FILE", conflicts_with_all = ["json", "tsv", "limit"])]
    html: Option<PathBuf>,
    /// Print a table separated by tabs: one line per problem and run
    #[arg(long, conflicts_with = "json")]
    tsv: bool,
    /// Print JSON objects: the report, runs, themes, pairs and problems
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    read: ReadArgs,
    #[command(flatten)]
    memory: MemoryArgs,
}

fn parse_named(text: &str) -> Result<(String, PathBuf), String> {
    match text.split_once('=') {
        Some((name, file)) if !name.is_empty() && !file.is_empty() => {
            Ok((name.to_string(), file.into()))
        }
        _ => Err("expected a name and a file, such as SF16=wac.sf16.epd".to_string()),
    }
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let named = args.runs()?;
    if args.names.is_empty() && are_games(&args.files, &args.read)? {
        let text = "the files have games, and a report is about a suite: `epdb openings FILE` gives the Elo of a match";
        return Err(usage(text));
    }
    let mut diagnostics = Diagnostics::new(&args.read.form)?;
    let mut memory_bytes = args.memory.memory_bytes;
    let mut runs = Vec::new();
    for (mut run, files) in named {
        for (output, file) in files.iter().enumerate() {
            Reading::of(&[file.to_path_buf()], &args.read, &mut diagnostics).records(
                |record, place, _| Ok(run.add(&record, output, place, &mut memory_bytes)?),
            )?;
        }
        runs.push(run);
    }
    let report = Report::new(&runs);
    for run in runs.iter().filter(|run| run.has_no_answer()) {
        let file = run.outputs.first().map_or(run.label.as_str(), |output| &output.file);
        note!(
            "epdb: {} has no answers (pm): `epdb solve {file} --engine PROGRAM -o OUT` lets an engine answer",
            run.label
        );
    }
    args.print(&report)?;
    let short: Vec<String> = match args.min_solved {
        Some(least) => runs.iter().filter_map(|run| least.shortfall(run)).collect(),
        None => Vec::new(),
    };
    let outcome = diagnostics.finish()?;
    short.iter().for_each(|text| print_line(&format!("epdb: {text}")));
    Ok(outcome.and(Outcome::different_if(!short.is_empty())))
}

impl Args {
    fn print(&self, report: &Report<'_>) -> anyhow::Result<()> {
        if let Some(path) = &self.html {
            let mut page = open_other_output(Some(path), "a page", &["html", "htm"])?;
            page.write_all(html::page(report)?.as_bytes())?;
            page.finish()?;
            if path == Path::new("-") {
                note!("{}", report.verdict);
                return Ok(());
            }
        }
        let mut out = open_output(None)?;
        match (self.tsv, self.json) {
            _ if self.html.is_some() => writeln!(out, "{}", report.verdict)?,
            (true, _) => print_tsv(report, &mut out)?,
            (_, true) => print_json(report, &mut out)?,
            _ => text::print(report, self.limit.unwrap_or(text::LINES), &mut out)?,
        }
        Ok(out.finish()?)
    }

    /// The runs, without their problems, and the files to read them from.
    fn runs(&self) -> anyhow::Result<Vec<(Run, Vec<&Path>)>> {
        let mut runs: Vec<(Option<&str>, Vec<&Path>)> =
            self.files.iter().map(|file| (None, vec![file.as_path()])).collect();
        for (name, file) in &self.names {
            let is_same = |known: &Option<&str>, files: &[&Path]| match known {
                Some(known) => known == name,
                None => files == [file.as_path()],
            };
            match runs.iter_mut().find(|(known, files)| is_same(known, files)) {
                Some((known @ None, _)) => *known = Some(name),
                Some((Some(_), files)) => files.push(file),
                None => runs.push((Some(name), vec![file])),
            }
        }
        if runs.is_empty() {
            runs.push((None, vec![Path::new("-")]));
        }
        check(&runs)?;
        let runs = runs.into_iter().map(|(name, files)| Ok((self.run(name, &files)?, files)));
        let mut runs = runs.collect::<anyhow::Result<Vec<_>>>()?;
        tell_apart(&mut runs);
        Ok(runs)
    }

    fn run(&self, name: Option<&str>, files: &[&Path]) -> anyhow::Result<Run> {
        let output = |file: &&Path| {
            let is_input = *file == Path::new("-");
            let facts = if is_input { None } else { RunFile::beside(file)? };
            anyhow::Ok(RunOutput { file: file.display().to_string(), facts })
        };
        let outputs = files.iter().map(output).collect::<anyhow::Result<Vec<_>>>()?;
        let known = outputs.iter().find_map(|output| output.facts.as_ref()?.label());
        let first_name = || files.first().map_or_else(String::new, |file| file_name(file));
        let label = name.or(known).map_or_else(first_name, ToString::to_string);
        Ok(Run::new(label, outputs, self.theme))
    }
}

/// Refuses more runs than can be compared, and files that are read twice.
fn check(runs: &[(Option<&str>, Vec<&Path>)]) -> anyhow::Result<()> {
    if runs.len() > Report::MAX_RUNS {
        let count = runs.len();
        let most = Report::MAX_RUNS;
        let text = format!("cannot compare {count} runs: name at most {most}");
        return Err(usage(text));
    }
    Ok(places::refuse_repeated(runs.iter().flat_map(|(_, files)| files))?)
}

/// Adds file names to runs with the same name.
fn tell_apart(runs: &mut [(Run, Vec<&Path>)]) {
    let labels: Vec<String> = runs.iter().map(|(run, _)| run.label.clone()).collect();
    for (run, files) in runs {
        if labels.iter().filter(|label| **label == run.label).count() > 1 {
            let files: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
            run.label = format!("{} ({})", run.label, files.join(", "));
        }
    }
}

fn print_json(report: &Report<'_>, out: &mut Output) -> anyhow::Result<()> {
    json::part(out, "report", &report.object())?;
    report.run_objects().try_for_each(|run| json::part(out, "run", &run))?;
    report.theme_objects().iter().try_for_each(|theme| json::part(out, "theme", theme))?;
    report.pair_objects().try_for_each(|pair| json::part(out, "pair", &pair))?;
    report.problem_objects().try_for_each(|problem| json::part(out, "problem", &problem))?;
    Ok(())
}

const COLUMNS: &str = "run\tid\ttheme\tfen\ttargets\tanswer\tverdict\tcook\tpoints\tpoints_of\tce\tdepth\t\
                       nodes\tms\tfirst_nodes\tfirst_ms\tfirst_depth\theld_nodes\theld_ms\theld_depth\terror\tce_more\tnodes_more\tms_more";

fn print_tsv(report: &Report<'_>, out: &mut Output) -> anyhow::Result<()> {
    writeln!(out, "{COLUMNS}")?;
    for row in &report.joined.rows {
        for (run, place) in report.runs.iter().zip(0..) {
            if let Some(fields) = fields(run, row, place) {
                columns::write_row(&fields, out)?;
            }
        }
    }
    Ok(())
}

fn fields(run: &Run, row: &Row<'_>, place: usize) -> Option<Vec<String>> {
    let problem = row.problems()[place]?;
    let number = |value: Option<u64>| value.map(|it| it.to_string()).unwrap_or_default();
    let effort = |effort: Option<epdb_engine::report::Effort>| {
        let parts =
            effort.map(|effort| [effort.nodes, effort.ms, effort.depth].map(|it| it.to_string()));
        parts.unwrap_or_default()
    };
    let points = problem.points.map(|points| [points.got, points.of].map(|it| it.to_string()));
    let own = [
        run.label.clone(),
        problem.id.clone().unwrap_or_default(),
        problem.theme.clone(),
        problem.position.to_string(),
        problem.targets(),
        problem.answer.as_ref().map(NamedMove::to_string).unwrap_or_default(),
        verdict_word(problem.verdict).to_string(),
        u8::from(row.is_cook()).to_string(),
    ];
    let measures = [
        problem.ce.map(|ce| ce.to_string()).unwrap_or_default(),
        number(problem.depth),
        number(problem.nodes),
        number(problem.milliseconds),
    ];
    let efforts = [effort(problem.first), effort(problem.held)].concat();
    let error = [problem.error.clone().unwrap_or_default()];
    let more = more_than_first(row, place);
    let parts = [&own[..], &points.unwrap_or_default(), &measures, &efforts, &error, &more];
    Some(parts.concat())
}

/// Differences in score, nodes and milliseconds between a later run and the first run.
fn more_than_first(row: &Row<'_>, place: usize) -> [String; 3] {
    let (Some(first), Some(own)) = (row.problems()[0], row.problems()[place]) else {
        return Default::default();
    };
    let values = |problem: &Problem| {
        [problem.ce, problem.nodes.map(i128::from), problem.milliseconds.map(i128::from)]
    };
    let first = values(first);
    let own = values(own);
    std::array::from_fn(|kind| match (first[kind], own[kind]) {
        (Some(first), Some(own)) if place > 0 => (own - first).to_string(),
        _ => String::new(),
    })
}

/// Minimum number of solved problems.
#[derive(Copy, Clone, PartialEq, Debug)]
pub(super) enum MinSolved {
    /// Number of problems.
    Count(u64),
    /// Percentage of the scored problems.
    Percent(f64),
}

impl FromStr for MinSolved {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<MinSolved, &'static str> {
        const EXPECTED: &str = "expected a number such as 290, or a percentage such as 95.5%";
        let Some(percent) = text.strip_suffix('%') else {
            return text.parse().map(MinSolved::Count).map_err(|_| EXPECTED);
        };
        match percent.trim_end().parse() {
            Ok(percent) if (0.0..=100.0).contains(&percent) => Ok(MinSolved::Percent(percent)),
            _ => Err(EXPECTED),
        }
    }
}

impl MinSolved {
    /// The message about a run that solves fewer problems; `None` if it solves enough. A run without
    /// scored problems never reaches a percentage.
    fn shortfall(self, run: &Run) -> Option<String> {
        let counts = run.counts();
        let solved = counts.solved;
        let scored = counts.scored();
        let is_enough = |solved: u64| match self {
            MinSolved::Count(least) => solved >= least,
            MinSolved::Percent(least) => {
                scored > 0 && 100.0 * (solved as f64 / scored as f64) >= least
            }
        };
        if is_enough(solved) {
            return None;
        }
        let needed = match self {
            MinSolved::Count(least) => Some(least),
            MinSolved::Percent(_) => (solved..=scored).find(|solved| is_enough(*solved)),
        };
        Some(match needed {
            Some(needed) => format!("{}: {solved} of {scored} solved, {needed} needed", run.label),
            None => format!("{}: there are no problems, so no percentage is solved", run.label),
        })
    }
}
