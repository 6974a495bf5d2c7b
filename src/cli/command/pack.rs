//! `epdb pack`: records into an archive.

use std::ops::ControlFlow;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use crate::cli::args::{ForceArgs, MemoryArgs, ReadArgs};
use crate::cli::comments::Way;
use crate::cli::diagnostics::Diagnostics;
use crate::cli::kept_games::KeptGamesOf;
use crate::cli::outcome::Outcome;
use crate::cli::output::open_output_of;
use crate::cli::values::word_of;
use crate::cli::{ledgers, query_reader, source};
use epdb::archive::{ArchiveWriter, Level, PackOptions};
use epdb::codec::record;
use epdb::source::{BinaryRecords, EncodedRecords, FileFormat, Item};

/// Pack files into an archive: 2 to 30 % of the text, every record still one step away
///
/// `export` gives back what `normalize` makes of the same files in the same order; with
/// --verbatim it can also give back the files themselves, EPD, FEN or PGN, byte for byte
/// (compressed ones as what they hold), in the folders that not all of them share. Of games it has
/// the positions that --positions names. An archive is not changed afterwards: pack again.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Examples:
  epdb pack book.epd -o book.epa
  epdb pack suites/*.epd -o suites.epa --verbatim
  epdb pack book.epd -o book.epa --level fast --sorted
  epdb pack book.epd -o book.epa --level max --block 4096")]
pub(crate) struct Args {
    /// Files to pack, in this order; none, or `-`, is standard input
    files: Vec<PathBuf>,
    /// The archive; it appears only when it is complete
    #[arg(short, long, value_name = "FILE.epa")]
    output: PathBuf,
    /// Found fastest, small, or smallest
    #[arg(long, value_parser = word_of::<Level>(), default_value = "default", value_name = "LEVEL")]
    level: Level,
    /// Records in a block: more make the archive smaller and access slower [default: 128; at level
    /// max and where records have operations 64, fewer where these are long]
    #[arg(long, value_name = "RECORDS",
          value_parser = clap::value_parser!(u32).range(1..=65_535))]
    block: Option<u32>,
    /// Leave the position index out: one to two bytes a record less, but finding a position then
    /// reads the whole archive
    #[arg(long)]
    no_index: bool,
    /// Change the order of the records: where that makes the archive smaller; at level fast, so that
    /// positions are found faster still
    #[arg(long, conflicts_with = "verbatim")]
    sorted: bool,
    /// Keep the files themselves: spelling, blanks, line ends, comments, whole games, what is
    /// rejected
    #[arg(long)]
    verbatim: bool,
    #[command(flatten)]
    _force: ForceArgs,
    #[command(flatten)]
    read: ReadArgs,
    #[command(flatten)]
    memory: MemoryArgs,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let mut diagnostics = Diagnostics::new(&args.read.form)?;
    let mut options = PackOptions::new()
        .level(args.level)
        .index(!args.no_index)
        .sorted(args.sorted)
        .verbatim(args.verbatim)
        .memory(args.memory.memory);
    options.block_records = args.block;
    let mut writer =
        ArchiveWriter::new(open_output_of(Some(&args.output), FileFormat::Epa)?, options)?;
    if args.verbatim {
        diagnostics.keep_everything_in_output();
        let files = source::or_stdin(&args.files);
        for (file, name) in files.iter().zip(names(&files)?) {
            writer.begin_file(&name)?;
            pack_verbatim(file, args, &mut diagnostics, &mut writer)?;
        }
    } else {
        diagnostics.comments().follow(Way::Drop);
        if let Some(ledger) = ledgers::of_records(&args.files, &args.read.wanted, true)? {
            writer.set_tally_ledger(ledger);
        }
        let mut games = KeptGamesOf::new(&args.files)?;
        let encode = Arc::new(BinaryRecords { only_plain: true });
        source::read_encoded(&args.files, &args.read, &mut diagnostics, encode, |item| {
            match item {
                // Those without operations, which list no games.
                Item::Encoded { records, .. } => push_all(&mut writer, records)?,
                Item::Record { record, .. } => {
                    games.note(&record);
                    writer.push(&record)?;
                }
                _ => {}
            }
            Ok(())
        })?;
        games.each(&mut |game| Ok(writer.keep_game(game)?))?;
    }
    writer.finish()?.finish()?;
    let outcome = diagnostics.finish()?;
    // Lines that are no records are kept as they are: nothing is lost.
    Ok(if args.verbatim { Outcome::Done } else { outcome })
}

fn push_all<W: std::io::Write>(
    writer: &mut ArchiveWriter<W>,
    records: EncodedRecords<'_>,
) -> anyhow::Result<()> {
    records.iter().try_for_each(|record| Ok(writer.push(&record::decode(record)?.0)?))
}

fn pack_verbatim<W: std::io::Write>(
    file: &Path,
    args: &Args,
    diagnostics: &mut Diagnostics,
    writer: &mut ArchiveWriter<W>,
) -> anyhow::Result<()> {
    diagnostics.watch(args.read.wanted.filter.as_ref());
    let source = source::open(file, &args.read.source_options(false))?;
    let is_text = matches!(source.format(), FileFormat::Epd | FileFormat::Fen | FileFormat::Pgn);
    anyhow::ensure!(is_text, "{} is not text, which --verbatim keeps", file.display());
    if let Some(encoding) = source.encoding() {
        let file = file.display();
        let keep = "whose bytes --verbatim cannot keep: convert it to UTF-8 first";
        anyhow::bail!("{file} is text in {encoding}, {keep}");
    }
    source::read_open(
        source,
        diagnostics,
        &mut |item| {
            match item {
                Item::Record { record, raw, .. } => writer.push_line(&record, raw)?,
                Item::LeftOut { raw, .. }
                | Item::Rejected { raw, .. }
                | Item::Skipped { raw, .. } => {
                    writer.push_aside(raw)?;
                }
                _ => {}
            }
            Ok(ControlFlow::Continue(()))
        },
        None,
    )
}

/// The names of files in a verbatim archive: their paths without the folders that all of them share.
fn names(files: &[&Path]) -> anyhow::Result<Vec<String>> {
    let paths = files.iter().map(|file| parts(file)).collect::<anyhow::Result<Vec<_>>>()?;
    let mut folders = paths.iter().flatten().map(|(folders, _)| folders.as_slice());
    let first = folders.next().unwrap_or_default();
    let shared = folders.fold(first.len(), |shared, folders| {
        let same = first.iter().zip(folders).take_while(|(one, other)| one == other).count();
        shared.min(same)
    });
    let name = |path: Option<(Vec<String>, String)>| match path {
        Some((folders, file)) => [&folders[shared..], &[file]].concat().join("/"),
        None => "-".to_string(),
    };
    Ok(paths.into_iter().map(name).collect())
}

/// The folders of a file from the root on, and its own name, all of them such that `export --verbatim` takes them;
/// `None` for what has no name.
fn parts(file: &Path) -> anyhow::Result<Option<(Vec<String>, String)>> {
    if file == Path::new("-") || query_reader::is_position(file.as_os_str()) {
        return Ok(None);
    }
    let mut parts = Vec::new();
    for part in std::path::absolute(file)?.components() {
        match part {
            Component::Normal(part) => {
                let is_plain = |sign: char| sign != '\\' && !sign.is_control();
                let plain = |sign| if is_plain(sign) { sign } else { '_' };
                parts.push(part.to_string_lossy().chars().map(plain).collect());
            }
            Component::ParentDir => drop(parts.pop()),
            Component::Prefix(_) | Component::RootDir | Component::CurDir => {}
        }
    }
    Ok(parts.pop().map(|name| (parts, name)))
}
