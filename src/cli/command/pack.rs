//! `epdb pack`: records into an archive.

use std::ffi::{OsStr, OsString};
use std::ops::ControlFlow;
use std::path::{Component, Path, PathBuf};

use anyhow::Context;

use crate::cli::args::{AboutArgs, ForceArgs, KeepGoingArgs, MemoryArgs, ReadArgs};
use crate::cli::command::shard::output::{ShardArgs, write as write_shards};
use crate::cli::comments::CommentOrder;
use crate::cli::diagnostics::Diagnostics;
use crate::cli::job::{self, CommandSink};
use crate::cli::outcome::Outcome;
use crate::cli::output::{open_output_of, open_target};
use crate::cli::progress::Writing;
use crate::cli::slice::SliceArgs;
use crate::cli::source::{self, OpenSource, Reading};
use crate::cli::terminal::note;
use crate::cli::values::word_of;
use crate::cli::{ledgers, places, values};
use epdb_archive::{About, ArchiveWriter, Level, PackOptions, SortedSizes};
use epdb_library::jobs::{RecordsJob, ShardsJob};
use epdb_source::{
    FileFormat, Inputs, Item, MAX_SHARDS, Output, Source, Target, TargetOptions, name_of,
    refuse_fewer,
};

/// Pack files into a compressed archive with direct access to every record
///
/// An archive takes 2 to 30 % of the size of the text. `export` gives back the text that
/// `normalize` writes for the same files in the same order, but no comments. Of games, the positions
/// that --positions selects are packed. With --verbatim, the original files (EPD, FEN or PGN) come back
/// byte for byte, but not compressed. An archive cannot be changed: pack again to add
/// records (to libraries: `union`).
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Examples:
  epdb pack book.epd -o book.epa
  epdb pack suites/*.epd -o suites.epa --verbatim
  epdb pack book.epd -o book.epa --level fast --sorted
  epdb pack book.epd --shards 8 -o book")]
pub(crate) struct Args {
    /// Files to pack, in this order; none, or `-`, is standard input
    #[arg(conflicts_with = "plan")]
    files: Vec<PathBuf>,
    /// Archive to write, or with --shards a folder or s3://BUCKET/PREFIX
    #[arg(short, long, value_name = "FILE.epa")]
    output: PathBuf,
    /// Write a sharded archive of N archives, which divide the records by pawns and kings
    #[arg(long, value_name = "N", conflicts_with_all = ["no_index", "sorted", "verbatim", "plan"],
          value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_SHARDS)))]
    shards: Option<u32>,
    /// Choose between fast access and a small archive
    #[arg(long, value_parser = word_of::<Level>(), default_value = "default", value_name = "LEVEL",
          conflicts_with = "plan")]
    level: Level,
    /// Pack this many records into a block. Larger blocks make the archive smaller, but access slower
    /// [default: 128; 80 for records with operations, fewer if these are long]
    #[arg(long, value_name = "RECORDS", conflicts_with = "plan",
          value_parser = clap::value_parser!(u32).range(1..=65_535))]
    block: Option<u32>,
    /// Omit the position index: 1 to 2 bytes less a record, but lookups read the whole archive
    #[arg(long)]
    no_index: bool,
    /// Sort the records by position: faster lookups at level fast, and at level default smaller archives of
    /// books, but larger ones of games and of most suites
    #[arg(long, conflicts_with = "verbatim")]
    sorted: bool,
    /// Also store everything else of the files: spelling, comments, whole games, and rejects, which are
    /// reported with exit status 0 (1 if files of a folder are left out)
    #[arg(long, conflicts_with = "plan")]
    verbatim: bool,
    #[command(flatten)]
    about: AboutArgs,
    #[command(flatten)]
    refused: KeepGoingArgs,
    #[command(flatten)]
    _force: ForceArgs,
    #[command(flatten)]
    slice: SliceArgs,
    #[command(flatten)]
    read: ReadArgs,
    #[command(flatten)]
    memory: MemoryArgs,
}

/// More records than this take seconds to be sorted and packed.
const MANY_RECORDS: u64 = 300_000;

impl Args {
    /// True if the archive has all bytes of the files.
    pub(crate) const fn keeps_all(&self) -> bool {
        self.verbatim
    }

    /// The facts about an output with the data of these files.
    fn about(&self, format: FileFormat, files: &[PathBuf]) -> anyhow::Result<About> {
        self.about.of(format, &source::or_stdin(files), &self.read.streams)
    }
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    if let Some(shards) = args.shards {
        return into_shards(args, shards);
    }
    let mut diagnostics = Diagnostics::new(&args.read.form)?;
    let slice = args.slice.open(&args.read.form)?;
    let options = PackOptions {
        level: args.level,
        index: !args.no_index,
        sorted: args.sorted,
        verbatim: args.verbatim,
        block_records: args.block,
        memory_bytes: args.memory.memory_bytes,
        ..Default::default()
    };
    let sources = args.read.source_options(false);
    let check = |file: &Path| {
        if args.verbatim { check_kept(&Source::open(file, &sources)?, file) } else { Ok(()) }
    };
    let files = source::readable(&args.files, &sources, args.refused.keep_going, &check)?;
    let has_refused = files.len() < args.files.len();
    let about = args.about(FileFormat::Epa, &files)?;
    let sizes = if args.verbatim {
        let output = open_output_of(Some(&args.output), FileFormat::Epa)?;
        let mut writer = ArchiveWriter::new(output, options)?;
        writer.set_about(about);
        pack_verbatim(&files, args, writer, &mut diagnostics)?;
        None
    } else {
        let options = TargetOptions { archive: options, ..Default::default() };
        let mut target = open_target(Some(&args.output), FileFormat::Epa, &options)?;
        target.set_about(about);
        pack_records(job::inputs(&files, slice), args, target, &mut diagnostics)?
    };
    let outcome = diagnostics.finish()?;
    if let Some(SortedSizes { sorted, given }) = sizes.filter(|sizes| sizes.sorted > sizes.given) {
        let file = args.output.display();
        note!("{file}: larger than unsorted: about {sorted} bytes instead of {given}");
    }
    // With --verbatim, lines that are not records are packed unchanged, so nothing is lost.
    let outcome = if args.verbatim { Outcome::Done } else { outcome };
    Ok(outcome.and(Outcome::different_if(has_refused)))
}

fn pack_records(
    inputs: Inputs,
    args: &Args,
    target: Target,
    diagnostics: &mut Diagnostics,
) -> anyhow::Result<Option<SortedSizes>> {
    diagnostics.comments().follow(CommentOrder::Drop);
    let ledger = ledgers::of_inputs(&inputs, &args.read)?;
    let job = RecordsJob { inputs, streams: args.read.streams.clone(), ledger };
    let sink = &mut CommandSink::new(&args.read, diagnostics, "packing", MANY_RECORDS);
    Ok(job.run(target, sink)?.losses.sorted_sizes)
}

/// Packs the records into a sharded archive.
fn into_shards(args: &Args, shards: u32) -> anyhow::Result<Outcome> {
    let output = ShardArgs::new(args.output.clone(), shards, args.level, args.block);
    let mut options = output.options(&args.memory, &args.read.form)?;
    let sources = args.read.source_options(false);
    let keep_going = args.refused.keep_going;
    let files = source::readable(&args.files, &sources, keep_going, &|_| Ok(()))?;
    options.about = args.about(FileFormat::Shards, &files)?;
    let job = ShardsJob {
        ledger: ledgers::of_records(&files, &args.read, true)?,
        files: source::or_stdin(&files).into_iter().map(Path::to_path_buf).collect(),
        folder: args.output.clone(),
        options,
        streams: args.read.streams.clone(),
    };
    let outcome = write_shards(job, &args.read)?;
    Ok(outcome.and(Outcome::different_if(files.len() < args.files.len())))
}

/// Refuses a file whose bytes --verbatim cannot keep.
fn check_kept(source: &Source, file: &Path) -> anyhow::Result<()> {
    let is_text = matches!(source.format(), FileFormat::Epd | FileFormat::Fen | FileFormat::Pgn);
    anyhow::ensure!(is_text, "{} is not text, which --verbatim keeps", name_of(file));
    if let Some(encoding) = source.encoding() {
        let file = name_of(file);
        let keep = "whose bytes --verbatim cannot keep: convert it to UTF-8 first";
        anyhow::bail!("{file} is text in {encoding}, {keep}");
    }
    Ok(())
}

/// Packs files with everything that is not a record.
fn pack_verbatim(
    files: &[PathBuf],
    args: &Args,
    mut writer: ArchiveWriter<Output>,
    diagnostics: &mut Diagnostics,
) -> anyhow::Result<()> {
    diagnostics.keep_everything_in_output();
    let files = source::or_stdin(files);
    for (file, name) in files.iter().zip(names(&files)?) {
        writer.begin_file(&name)?;
        pack_file_verbatim(file, args, diagnostics, &mut writer)?;
    }
    let writing = Writing::new("packing", diagnostics.tally.records > MANY_RECORDS);
    refuse_fewer(writer.len(), places::records_before(&args.output))?;
    let packed = writer.finish_packed()?;
    packed.out.finish_with_first(&packed.header)?;
    drop(writing);
    Ok(())
}

fn pack_file_verbatim(
    file: &Path,
    args: &Args,
    diagnostics: &mut Diagnostics,
    writer: &mut ArchiveWriter<Output>,
) -> anyhow::Result<()> {
    let opened = OpenSource::open(file, args.read.source_options(false))?;
    check_kept(&opened.source, file)?;
    Reading::of_open(opened, &args.read, diagnostics).items(|item| {
        match item {
            Item::Record { record, raw, .. } => writer.push_line(&record, raw)?,
            Item::LeftOut { raw, .. }
            | Item::LeftOutMany { raw, .. }
            | Item::Rejected { raw, .. }
            | Item::Skipped { raw, .. } => {
                writer.push_aside(raw)?;
            }
            _ => {}
        }
        Ok(ControlFlow::Continue(()))
    })
}

/// The names of files in a verbatim archive: their paths without the folders that all of them
/// share.
///
/// # Errors
/// An archive cannot hold a name.
fn names(files: &[&Path]) -> anyhow::Result<Vec<String>> {
    let paths = files.iter().map(|file| parts(file)).collect::<anyhow::Result<Vec<_>>>()?;
    let mut folders = paths.iter().flatten().map(|(folders, _)| folders.as_slice());
    let first = folders.next().unwrap_or_default();
    let shared = folders.fold(first.len(), |shared, folders| {
        let same = first.iter().zip(folders).take_while(|(one, other)| one == other).count();
        shared.min(same)
    });
    let name = |(file, path): (&&Path, &Option<(Vec<OsString>, OsString)>)| match path {
        Some((folders, name)) => {
            let parts = folders[shared..].iter().chain([name]);
            let parts = parts.map(|part| plain(part).with_context(|| unnamed(file)));
            Ok(parts.collect::<anyhow::Result<Vec<&str>>>()?.join("/"))
        }
        None => Ok("-".to_string()),
    };
    files.iter().zip(&paths).map(name).collect()
}

/// A part of a path, if `export --verbatim` accepts it on every system.
fn plain(part: &OsStr) -> Option<&str> {
    part.to_str().filter(|part| !part.contains(|sign: char| sign == '\\' || sign.is_control()))
}

fn unnamed(file: &Path) -> String {
    format!(
        "{file:?} cannot be named in an archive: names there are UTF-8 without `\\` and control characters; \
         rename the file, or pack it without --verbatim"
    )
}

/// Folders of a file from the root, and its name; `None` without a name.
fn parts(file: &Path) -> anyhow::Result<Option<(Vec<OsString>, OsString)>> {
    if file == Path::new("-") || values::is_position(file.as_os_str()) {
        return Ok(None);
    }
    let mut parts = Vec::new();
    for part in std::path::absolute(file)?.components() {
        match part {
            Component::Normal(part) => parts.push(part.to_os_string()),
            Component::ParentDir => drop(parts.pop()),
            Component::Prefix(_) | Component::RootDir | Component::CurDir => {}
        }
    }
    Ok(parts.pop().map(|name| (parts, name)))
}
