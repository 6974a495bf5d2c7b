//! `epdb dump`: the bytes of binary files, explained.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::{BufReader, Read, Write};
use std::path::Path;
use std::sync::Arc;

use anyhow::Context;

use crate::cli::args::{MemoryArgs, PositionArgs};
use crate::cli::outcome::Outcome;
use crate::cli::output::open_output;
use crate::cli::terminal::many;
use crate::cli::values::word_of;
use crate::cli::{source, values};
use epdb_archive::Level;
use epdb_chess::codec::pgc::{Explainer, Records};
use epdb_chess::codec::record::{self, Part};
use epdb_chess::codec::{key, packed, stream};
use epdb_chess::model::EpdRecord;
use epdb_chess::text::{FormatOptions, epd};
use epdb_library::question;
use epdb_source::{CollectionFile, Content, FileFormat, Local, Output};

/// Explain the bytes of a stream, a store, an archive, a PGC file or a position
///
/// Each record is printed as text, then part by part: the offset in the record, the bytes, and
/// their meaning. If the file is PGC, each record is printed with its offset in the file. If the
/// file is an archive, the parts of the file and the size of each column of positions are printed
/// too. If the argument is a position (an argument with a space), the position key and the packed
/// board are printed.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Examples:
  epdb dump suite.epb
  epdb dump games.pgc --limit 10
  epdb dump '8/P6k/8/8/8/8/7p/K7 w - -'")]
pub(crate) struct Args {
    /// A stream (.epb), a store (.epdb), an archive (.epa), games (.pgc), or a position in quotes
    #[arg(value_name = "FILE|FEN")]
    what: OsString,
    /// Explain at most N records
    #[arg(short = 'n', long, default_value_t = 100, value_name = "N")]
    limit: u64,
    #[command(flatten)]
    read: PositionArgs,
    /// Format of a file, if its content and name do not show it
    #[arg(long, value_parser = word_of::<FileFormat>(), value_name = "FORMAT")]
    from: Option<FileFormat>,
    #[command(flatten)]
    memory: MemoryArgs,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let mut out = open_output(None)?;
    if values::is_position(&args.what) {
        position(&mut out, args)?;
    } else {
        let path = Path::new(&args.what);
        let source = source::open_any(path, args.from)?;
        let name = &*Arc::clone(source.name());
        match source.into_content() {
            Content::Stream(input) => stream(&mut out, name, input, args.limit)?,
            Content::Collection(CollectionFile::Store(local)) => store(&mut out, &local, args)?,
            Content::Pgc(input) => games(&mut out, name, input, args.limit)?,
            Content::Collection(CollectionFile::Archive(local)) => archive(&mut out, &local)?,
            Content::Book(_) => anyhow::bail!(
                "{name} is an opening book: `epdb book list` shows its entries, `epdb book info` \
                 what is inside"
            ),
            Content::Collection(CollectionFile::Shards(_)) => anyhow::bail!(
                "{name} is a sharded archive: `epdb shard list` lists its shards, which `epdb dump` \
                 explains"
            ),
            Content::Collection(CollectionFile::Layers(_)) => {
                anyhow::bail!("{name} is two files: name one of them")
            }
            _ => anyhow::bail!("{name} is a text file: there is nothing to explain"),
        }
    }
    out.finish()?;
    Ok(Outcome::Done)
}

fn position(out: &mut Output, args: &Args) -> anyhow::Result<()> {
    let position = question::parse(args.what.to_string_lossy().as_bytes(), &args.read.options())
        .map_err(|error| anyhow::anyhow!("FEN:1:{error}"))?
        .context("expected a position, found nothing")?;
    let identity = position.identity();
    writeln!(out, "position key   {:016x}", key::position_key(&position))?;
    writeln!(out, "polyglot key   {:016x}", key::polyglot_key(&position))?;
    writeln!(out, "packed board   {}", hex(packed::encode(&identity).as_bytes()))?;
    if identity != position {
        writeln!(out, "as given       {}", hex(packed::encode(&position).as_bytes()))?;
        writeln!(out, "no en passant capture is legal, so the square is not part of the identity")?;
    }
    Ok(())
}

fn archive(out: &mut Output, local: &Local) -> anyhow::Result<()> {
    let archive = local.archive()?;
    let records = archive.len().max(1) as f64;
    let level = match archive.level() {
        Level::Fast => "fast",
        Level::Default => "default",
    };
    let flags = [
        (archive.has_index(), ", position index"),
        (archive.is_sorted(), ", sorted"),
        (archive.is_verbatim(), ", verbatim"),
    ];
    let flags: String = flags.iter().filter(|(is, _)| *is).map(|(_, name)| *name).collect();
    writeln!(out, "{}, level {level}{flags}", many(archive.len(), "record"))?;
    writeln!(out, "{:>14} {:>14} {:>10}  part", "offset", "bytes", "a record")?;
    for part in archive.parts() {
        let segment = part.segment.map_or(String::new(), |number| format!(" of segment {number}"));
        let each = part.len as f64 / records;
        writeln!(out, "{:>14} {:>14} {each:>10.3}  {}{segment}", part.offset, part.len, part.name)?;
    }
    if archive.is_verbatim() {
        let names = archive.file_names().with_context(|| local.name().to_string())?;
        writeln!(out, "{}:", many(names.len() as u64, "file"))?;
        names.iter().try_for_each(|name| writeln!(out, "  {name}"))?;
    }
    let columns = archive.column_bytes().with_context(|| local.name().to_string())?;
    if !columns.is_empty() {
        writeln!(out, "blocks by column:")?;
        for (name, bytes) in columns {
            writeln!(out, "{:>14} {bytes:>14.0} {:>10.3}  {name}", "", bytes / records)?;
        }
    }
    Ok(())
}

fn stream(out: &mut Output, name: &str, input: impl Read, limit: u64) -> anyhow::Result<()> {
    let mut reader = stream::Reader::new(BufReader::new(input));
    let mut number = 0;
    while let Some(bytes) = reader.next_encoded().with_context(|| name.to_string())? {
        number += 1;
        if number > limit {
            writeln!(out, "... (--limit shows more)")?;
            break;
        }
        write!(out, "record {number}: ")?;
        explain(out, bytes).with_context(|| format!("{name}: record {number}"))?;
    }
    Ok(())
}

fn store(out: &mut Output, local: &Local, args: &Args) -> anyhow::Result<()> {
    let store = local.store(args.memory.memory_bytes)?;
    let reader = store.reader()?;
    let stats = reader.stats()?;
    writeln!(out, "store of {} bytes, {} of them records", stats.file_bytes, stats.record_bytes)?;
    let positions = many(stats.positions, "position");
    writeln!(out, "{} of {positions}", many(stats.records, "record"))?;
    let overflow = many(stats.overflow_positions, "overflow position");
    writeln!(out, "{}, {overflow}", many(stats.blocks, "block"))?;
    for (number, import) in store.imports()?.iter().enumerate() {
        writeln!(out, "import {number}: {import}")?;
    }
    let mut records = reader.by_key();
    let mut shown = 0;
    while let Some(record) = records.next_encoded() {
        let record = record.map_err(|error| local.failed(error))?;
        shown += 1;
        if shown > args.limit {
            writeln!(out, "... (--limit shows more)")?;
            break;
        }
        write!(out, "import number {}: ", record.number())?;
        explain(out, record.bytes())?;
    }
    Ok(())
}

/// Prints the records of games.
fn games(out: &mut Output, name: &str, input: impl Read, limit: u64) -> anyhow::Result<()> {
    let mut records = Records::new(input);
    let mut explainer = Explainer::new();
    let mut shown = 0;
    while let Some(located) = records.next_record().with_context(|| name.to_string())? {
        shown += 1;
        if shown > limit {
            writeln!(out, "... (--limit shows more)")?;
            break;
        }
        let meaning = explainer.meaning(&located.record);
        let mut lines = located.bytes.chunks(16);
        let first = hex(lines.next().unwrap_or_default());
        writeln!(out, "{:08x}  {first:<48}  {meaning}", located.offset)?;
        for (offset, bytes) in (located.offset..).step_by(16).skip(1).zip(lines) {
            writeln!(out, "{offset:08x}  {}", hex(bytes))?;
        }
    }
    Ok(())
}

/// Prints a record as text, then its parts.
fn explain(out: &mut Output, bytes: &[u8]) -> anyhow::Result<()> {
    let (record, _) = record::decode(bytes)?;
    let mut line = Vec::new();
    epd::format(&record, &FormatOptions::default(), &mut line);
    line.push(b'\n');
    out.write_all(&line)?;
    let mut parts = Vec::new();
    record::walk(bytes, |part, end| parts.push((part, end)))?;
    let mut start = 0;
    for (part, end) in parts {
        let shown = hex(&bytes[start..end]);
        writeln!(out, "  {start:>5}  {shown:<48}  {}", meaning(part, &record, bytes))?;
        start = end;
    }
    Ok(())
}

fn meaning(part: Part, record: &EpdRecord, bytes: &[u8]) -> String {
    match part {
        Part::Marker => "marker".into(),
        Part::Board => {
            let position = record.position();
            let pieces = position.board().occupied().count();
            format!("{pieces} pieces, key {:016x}", key::position_key(position))
        }
        Part::EnPassant => {
            let square = record.position().en_passant().map(|square| square.to_string());
            format!("en passant {}, no legal capture", square.unwrap_or_default())
        }
        Part::Counters => record.fen_counters().map_or(String::new(), |counters| {
            format!(
                "halfmove clock {}, fullmove number {}",
                counters.halfmove_clock, counters.fullmove_number
            )
        }),
        Part::Operation(opcode) => {
            let mut text = opcode.to_string().into_bytes();
            for operand in record.operands(opcode).unwrap_or_default() {
                text.push(b' ');
                operand.write_to(&mut text);
            }
            String::from_utf8_lossy(&text).into_owned()
        }
        Part::End => format!("end of the record of {} bytes", bytes.len()),
    }
}

fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 3);
    for (place, byte) in bytes.iter().enumerate() {
        let gap = if place == 0 { "" } else { " " };
        // Writing to a string cannot fail.
        write!(text, "{gap}{byte:02x}").ok();
    }
    text
}
