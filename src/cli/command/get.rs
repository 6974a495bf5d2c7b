//! `epdb get`: finds all records of given positions.

use std::ffi::{OsStr, OsString};
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use crate::cli::args::{MemoryArgs, OutputArgs, ReadArgs, WriteArgs};
use crate::cli::diagnostics::Diagnostics;
use crate::cli::outcome::{Outcome, Usage, usage};
use crate::cli::query_reader::{BatchLimit, QueryReader};
use crate::cli::record_output::RecordOutput;
use crate::cli::search_target::SearchTarget;
use crate::cli::terminal::{note, print_error};
use crate::cli::values;
use epdb_library::lookup::{Answer, AnswerForm, BatchLookup, LookupOptions, QuestionBatch};
use epdb_library::question;
use epdb_source::{FileFormat, Filter, name_of};

/// Find all records of the given positions (in arguments, -f files or standard input)
///
/// An argument that names an existing file is a source to search. An argument that is a FEN, or
/// moves such as '1. e4 c5', is a position to find. Operations, counters, the form of castling
/// letters, and superfluous en passant squares make no difference. Records are printed in the order
/// of the positions; records of the same position are in the order of the sources. Exit status 1 if
/// some position has no record, or needs a damaged part of a source.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Examples:
  epdb get book.epdb 'rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -'
  epdb get book.epdb '1. e4 c5'
  epdb get book.epdb -f positions.fen --missing
  epdb get book.epdb --tag < positions.fen")]
pub(crate) struct Args {
    /// Sources to search, and positions to find (each in quotes)
    #[arg(value_name = "SOURCE|FEN", required = true)]
    sources_and_positions: Vec<OsString>,
    /// Find the positions in this file, one per line; may be repeated; `-` is standard input
    #[arg(short = 'f', long = "find", value_name = "FILE")]
    queries: Vec<PathBuf>,
    /// Begin each line with the number of the position and a tab. Positions are numbered from 1 in
    /// the order of the arguments, or of the lines of all files
    #[arg(long)]
    tag: bool,
    /// Print only the first record of each position
    #[arg(long)]
    first: bool,
    /// Print only the positions that have no record, instead of the records
    #[arg(long, conflicts_with_all = ["tag", "first"])]
    missing: bool,
    #[command(flatten)]
    read: ReadArgs,
    #[command(flatten)]
    write: WriteArgs,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    memory: MemoryArgs,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let (positions, sources): (Vec<&OsStr>, Vec<&OsStr>) = args
        .sources_and_positions
        .iter()
        .map(OsString::as_os_str)
        .partition(|argument| values::is_position(argument));
    let options = args.read.form.options();
    let is_no_position = |argument: &&&OsStr| {
        question::parse(argument.to_string_lossy().as_bytes(), &options).is_err()
    };
    if sources.is_empty() {
        let missing = positions.iter().find(is_no_position);
        let missing =
            missing.map(|name| format!("there is no file {}; ", name_of(Path::new(name))));
        let text = missing.unwrap_or_default() + "name a source to search";
        return Err(usage(text));
    }
    if positions.len() > 1 && positions.iter().any(|position| is_no_position(&position)) {
        let line = positions.join(OsStr::new(" "));
        if question::parse(line.to_string_lossy().as_bytes(), &options).is_ok_and(|it| it.is_some())
        {
            let line = line.display();
            note!(
                "epdb: each argument is a position of its own; the moves of one line are one argument: '{line}'"
            );
        }
    }
    let asks_stdin = positions.is_empty() && args.queries.is_empty();
    if asks_stdin && sources.contains(&OsStr::new("-")) {
        let text = "standard input is the source, so give the positions as arguments or with -f";
        return Err(usage(text));
    }
    let mut diagnostics = Diagnostics::new(&args.read.form)?;
    let mut output = RecordOutput::open(&args.output, &args.write)?;
    let past_damage = args.read.past_damage();
    let sources = sources
        .into_iter()
        .map(|name| SearchTarget::open(Path::new(name), &past_damage, args.memory.memory_bytes))
        .collect::<anyhow::Result<Vec<SearchTarget>>>()?;
    let mistaken = mistaken_for_source(&sources).filter(|_| asks_stdin);
    if let Some(usage) = mistaken.as_ref().filter(|_| io::stdin().is_terminal()) {
        return Err(usage.clone().into());
    }
    let mut questions = QueryReader::new(positions, &args.queries);
    let is_scanned = sources.iter().any(|source| matches!(source, SearchTarget::Scan(_)));
    let limit = if is_scanned {
        BatchLimit { memory_bytes: usize::MAX, waits: true }
    } else {
        BatchLimit { memory_bytes: args.memory.memory_bytes / 2, waits: false }
    };
    let mut asked = QuestionBatch::new();
    let mut all = 0;
    let mut unanswered = Unanswered::default();
    while questions.next_batch(&limit, &mut asked, &args.read, &mut diagnostics)? {
        all += asked.queries().len();
        answer(&asked, &sources, args, &mut diagnostics, &mut output, &mut unanswered)?;
        if !questions.is_waiting()? {
            output.hand_on()?;
        }
    }
    if let Some(usage) = mistaken.filter(|_| questions.lines_read == 0) {
        return Err(usage.into());
    }
    let written = output.finish()?;
    let outcome = diagnostics.finish()?.and(written);
    unanswered.report(all, args.missing);
    let is_complete = unanswered.absent == 0 && unanswered.damage.is_none();
    Ok(outcome.and(Outcome::different_if(!is_complete)))
}

/// The positions without a record, and those that need a damaged part of a source.
#[derive(Default)]
struct Unanswered {
    absent: usize,
    unknown: usize,
    /// The first damage.
    damage: Option<String>,
}

impl Unanswered {
    fn report(&self, all: usize, are_listed: bool) {
        let Unanswered { absent, unknown, damage } = self;
        if *absent > 0 && !are_listed {
            match all {
                1 => note!("epdb: no record of the position"),
                _ => note!("epdb: no record of {absent} of {all} positions"),
            }
        }
        if let Some(damage) = damage {
            print_error(damage);
            note!(
                "epdb: it is not known whether {unknown} of {all} positions have more records; `epdb verify` lists what is lost, `epdb export` writes the sound records"
            );
        }
    }
}

/// The error if no position is given, but a later source is text. This text was probably meant as positions.
fn mistaken_for_source(sources: &[SearchTarget]) -> Option<Usage> {
    let text = sources.iter().skip(1).find_map(|source| match source {
        SearchTarget::Scan(source) if source.format == FileFormat::Epd => {
            Some(name_of(&source.path))
        }
        _ => None,
    })?;
    Some(Usage(format!(
        "{text} is read as a source to search, but no positions are given; to find its positions in the other sources use -f {text}"
    )))
}

/// Prints the answers in order, and counts the positions without a record.
fn answer(
    asked: &QuestionBatch,
    sources: &[SearchTarget],
    args: &Args,
    diagnostics: &mut Diagnostics,
    output: &mut RecordOutput,
    unanswered: &mut Unanswered,
) -> anyhow::Result<()> {
    let form = match (args.missing, output.is_canonical_text()) {
        (true, _) => AnswerForm::Presence,
        (_, true) => AnswerForm::Text,
        _ => AnswerForm::Record,
    };
    let options =
        LookupOptions { form, only_first: args.first, memory_bytes: args.memory.memory_bytes / 4 };
    let filter = args.read.wanted.filter.as_ref().map(|filter| filter as &dyn Filter);
    let mut batch = BatchLookup::new(asked.queries(), options);
    for source in sources {
        match source {
            SearchTarget::Lookup(source) | SearchTarget::Counted(source) => {
                batch.search(&**source, source.name(), filter)?;
            }
            SearchTarget::Scan(source) => {
                batch.scan(|take| source.read(&args.read, diagnostics, take))?
            }
        }
    }
    batch.answer(|place, answer| {
        let tag = args.tag.then(|| asked.number(place));
        match answer {
            Answer::Missing => {
                unanswered.absent += 1;
                if args.missing {
                    output.write_verbatim(asked.text(place))?;
                    output.write_verbatim(b"\n")?;
                }
            }
            Answer::Unknown(damage) => {
                unanswered.unknown += 1;
                unanswered.damage.get_or_insert_with(|| damage.to_string());
            }
            Answer::Text(text) => output.write_line(tag, text)?,
            Answer::Record(record) => output.write_tagged(tag, record)?,
        }
        anyhow::Ok(())
    })?;
    Ok(())
}
