//! `epdb split`: one collection in several files.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;

use crate::cli::args::{
    ForceArgs, MemoryArgs, OutputArgs, ReadArgs, SchemaArgs, WriteArgs, written_formats,
};
use crate::cli::comments::{self, Comments};
use crate::cli::diagnostics::Diagnostics;
use crate::cli::games::{self, GameEncode, GameOutput, GamesArgs};
use crate::cli::outcome::Outcome;
use crate::cli::pipe::{UnusedFields, temporary_directory};
use crate::cli::places;
use crate::cli::record_output::RecordOutput;
use crate::cli::source::{Reading, SourceGame, Visited};
use crate::cli::terminal::{many, note};
use epdb_base::spill::Sorter;
use epdb_chess::codec::{packed, record};
use epdb_chess::error::Place;
use epdb_chess::model::EpdRecord;
use epdb_chess::text::pgn::GamePosition;
use epdb_library::edit::Numbering;
use epdb_library::field::Field;
use epdb_library::sample::part_of;
use epdb_library::sample::{random_from_bytes, random_number};
use epdb_library::sets::By;
use epdb_library::value::{EvalContext, record_of_game};
use epdb_source::{FileFormat, GameFormat};

/// Split a collection into several files
///
/// With --ratio, each record goes to a random part, so the sizes are approximate. The same seed
/// gives the same parts on every machine. With --by-position, all records of one position go to the
/// same part. With --lines, each part has the next N records.
///
/// With --by, there is one file for each value of a field (see `epdb help where`). In PATTERN, %s
/// stands for the value, or for _ if a record lacks the field or has an empty text. With several fields, there
/// is one %s per field, and one file for each combination of values. In file names, dates are YYYY with --by year, YYYYMM
/// with --by month, and YYYYMMDD with --by day. Each ? of a date, and of a game without one, becomes 0. Records keep their order. Missing
/// folders are created.
///
/// Games are split as whole games, unless PATTERN ends in .epd or another suffix of records, or with
/// --positions.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Examples:
  epdb split --ratio 90:10 --by-position data.epd -o 'part-%d.epd'
  epdb split --lines 1000000 book.epd -o 'book-%03d.epb'
  epdb split --by Event games.pgn -o 'events/%s.pgn'
  epdb split --by year --by month games.pgn -o '%s/%s.pgn'")]
pub(crate) struct Args {
    #[command(flatten)]
    way: SplitBy,
    /// Put all records of one position into the same part
    #[arg(long)]
    by_position: bool,
    /// Random seed; the same seed gives the same result
    #[arg(long, default_value_t = 0, value_name = "NUMBER")]
    seed: u64,
    /// Files to read; none, or `-`, is standard input
    files: Vec<PathBuf>,
    /// Write files with names of this pattern: %d (or %03d) is the number of the part, from 1; with
    /// --by, there is one %s for each field
    #[arg(short, long, value_parser = Names::parse, value_name = "PATTERN")]
    output: Names,
    /// Write this format, if PATTERN does not show one
    #[arg(long, value_parser = written_formats(), value_name = "FORMAT", help_heading = "Writing")]
    to: Option<FileFormat>,
    #[command(flatten)]
    schema: SchemaArgs,
    #[command(flatten)]
    read: ReadArgs,
    #[command(flatten)]
    write: WriteArgs,
    #[command(flatten)]
    games: GamesArgs,
    #[command(flatten)]
    memory: MemoryArgs,
}

#[derive(clap::Args, Clone, Debug)]
#[group(required = true, multiple = false)]
struct SplitBy {
    /// Make parts of these relative sizes, such as 90:10 or 8:1:1
    #[arg(long, value_parser = parse_ratio, value_name = "N:N[:...]")]
    ratio: Option<Ratio>,
    /// Write N records or games per file; the last file has the rest
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    lines: Option<u64>,
    /// Write one file for each value of this field, such as Event, year, month or eco; may be
    /// repeated
    #[arg(long, value_name = "FIELD", value_parser = Field::parse)]
    by: Vec<Field>,
}

#[derive(Clone, Debug)]
struct Ratio(Vec<u64>);

/// Largest number of files that are open at a time.
const MAX_PARTS: usize = 100;

/// Largest number of values of a field.
const MAX_VALUES: usize = 10_000;

fn parse_ratio(text: &str) -> Result<Ratio, String> {
    let wrong = || "expected numbers with colons between them, such as 90:10".to_string();
    let weight = |part: &str| part.parse::<u32>().map(u64::from).map_err(|_| wrong());
    let weights: Vec<_> = text.split(':').map(weight).collect::<Result<_, _>>()?;
    match weights.len() {
        0 | 1 => Err(wrong()),
        2..=MAX_PARTS if weights.iter().all(|&weight| weight > 0) => Ok(Ratio(weights)),
        2..=MAX_PARTS => Err("no part of a ratio can be 0".into()),
        _ => Err(format!("at most {MAX_PARTS} parts")),
    }
}

/// Names of the files: by number, or by the values of fields.
#[derive(Clone, Debug)]
enum Names {
    Numbers(Numbering),
    /// Text before, between and after the values.
    Values(Vec<String>),
}

impl Names {
    fn parse(pattern: &str) -> Result<Names, String> {
        let pieces: Vec<String> = pattern.split("%s").map(str::to_owned).collect();
        match pieces.len() {
            1 => Numbering::parse(pattern)
                .map(Names::Numbers)
                .map_err(|wrong| format!("{wrong}; with --by, one %s for each field")),
            _ if pieces.iter().any(|piece| piece.contains('%')) => {
                Err(format!("`{pattern}` has a % that is not %s"))
            }
            _ => Ok(Names::Values(pieces)),
        }
    }

    /// Number of values in a name.
    fn values(&self) -> usize {
        match self {
            Names::Numbers(_) => 0,
            Names::Values(pieces) => pieces.len() - 1,
        }
    }

    /// The name of a part. `number` is its number from 1; `values` are the values of the fields, if
    /// parts are made by fields.
    fn write(&self, number: u64, values: &[String]) -> String {
        match self {
            Names::Numbers(numbering) => numbering.write(number),
            Names::Values(pieces) => {
                let mut values = values.iter();
                let mut name = String::new();
                for (place, piece) in pieces.iter().enumerate() {
                    if place > 0 {
                        name += values.next().map_or(UNKNOWN, String::as_str);
                    }
                    name += piece;
                }
                name
            }
        }
    }
}

/// Placeholder for a missing value.
const UNKNOWN: &str = "_";

/// A value as part of a file name: letters, digits, spaces and `-,+._` stay; other bytes become `%`
/// and two hexadecimal digits. A long value is shortened and gets a hash.
fn file_name(bytes: &[u8]) -> String {
    const LONGEST: usize = 120;
    let mut name = String::new();
    for (place, c) in String::from_utf8_lossy(bytes).chars().enumerate() {
        let is_plain = c.is_alphanumeric() || "-,+".contains(c) || place > 0 && " ._".contains(c);
        if is_plain {
            name.push(c);
        } else {
            let mut utf8 = [0; 4];
            for byte in c.encode_utf8(&mut utf8).bytes() {
                name.push_str(&format!("%{byte:02X}"));
            }
        }
    }
    if name.len() > LONGEST {
        let end = (0..=LONGEST).rev().find(|&end| name.is_char_boundary(end)).unwrap_or_default();
        name.truncate(end);
        name.push_str(&format!("~{:016x}", random_from_bytes(0, bytes)));
    }
    name
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let values = args.output.values();
    anyhow::ensure!(
        values == 0 || args.way.by.len() == values,
        "each %s stands for the value of a field: give one --by FIELD for each, or use %d"
    );
    let format = args.game_format()?;
    let format = format.as_ref();
    anyhow::ensure!(
        !args.by_position || format.is_none(),
        "--by-position is for records: games have no position of their own"
    );
    let mut diagnostics = Diagnostics::new(&args.read.form)?;
    let written = match &args.way {
        SplitBy { ratio: Some(ratio), .. } => by_ratio(args, format, ratio, &mut diagnostics)?,
        SplitBy { lines: Some(lines), .. } => by_lines(args, format, *lines, &mut diagnostics)?,
        SplitBy { by, .. } => by_fields(args, format, by, &mut diagnostics)?,
    };
    Ok(diagnostics.finish()?.and(written))
}

impl SplitBy {
    /// Order of records on their way to the parts.
    const fn of_comments(&self) -> comments::CommentOrder {
        if self.by.is_empty() {
            comments::CommentOrder::Stream
        } else {
            comments::CommentOrder::Collect(By::Record)
        }
    }
}

impl Args {
    /// Format of games; `None` if records are written.
    fn game_format(&self) -> anyhow::Result<Option<GameFormat>> {
        let name = self.output.write(1, &[]);
        let said = self.to.or_else(|| FileFormat::from_name(Path::new(&name)));
        self.games.format(&self.files, &self.read, self.schema.format(said)?)
    }
}

#[derive(Copy, Clone)]
enum Unit<'a> {
    Record(&'a EpdRecord, Option<GamePosition<'a>>),
    Game(SourceGame<'a>),
}

/// Passes all records, or all games, to `visit`.
fn each_unit(
    args: &Args,
    format: Option<&GameFormat>,
    diagnostics: &mut Diagnostics,
    visit: &mut dyn FnMut(Unit<'_>, &Place) -> anyhow::Result<Visited>,
) -> anyhow::Result<()> {
    let reading = Reading::of(&args.files, &args.read, diagnostics);
    if let Some(format) = format {
        let reading = reading.encode(Arc::new(GameEncode(format.clone())));
        return reading.games(|read| visit(Unit::Game(read), read.place));
    }
    reading.records(|record, place, game| visit(Unit::Record(&record, game), place).map(drop))
}

fn by_ratio(
    args: &Args,
    format: Option<&GameFormat>,
    ratio: &Ratio,
    diagnostics: &mut Diagnostics,
) -> anyhow::Result<Outcome> {
    let numbers = 1..=ratio.0.len() as u64;
    let comments = diagnostics.comments();
    let mut parts = numbers
        .map(|number| Part::open(args, format, number, &[], comments))
        .collect::<Result<Vec<_>, _>>()?;
    let mut count = 0;
    each_unit(args, format, diagnostics, &mut |unit, _| {
        let number = match unit {
            Unit::Record(record, _) if args.by_position => {
                let identity = packed::encode(&record.position().identity());
                random_from_bytes(args.seed, identity.as_bytes())
            }
            _ => random_number(args.seed, count),
        };
        count += 1;
        parts.get_mut(part_of(number, &ratio.0)).context("a part of the ratio")?.write(unit)
    })?;
    note_older(args, ratio.0.len() as u64);
    parts.into_iter().try_fold(Outcome::Done, |outcome, part| Ok(outcome.and(part.finish()?)))
}

fn by_lines(
    args: &Args,
    format: Option<&GameFormat>,
    lines: u64,
    diagnostics: &mut Diagnostics,
) -> anyhow::Result<Outcome> {
    let mut outcome = Outcome::Done;
    // Parts are written before all input is read, so they must not replace inputs.
    let comments = diagnostics.comments().clone();
    let open = |number| {
        places::refuse_input(Path::new(&args.output.write(number, &[])))?;
        Part::open(args, format, number, &[], &comments)
    };
    let mut part = open(1)?;
    each_unit(args, format, diagnostics, &mut |unit, _| {
        if part.count == lines {
            let next = open(part.number + 1)?;
            outcome = outcome.and(std::mem::replace(&mut part, next).finish()?);
        }
        part.write(unit)
    })?;
    note_older(args, part.number);
    Ok(outcome.and(part.finish()?))
}

/// Reports files of an earlier split into more parts.
fn note_older(args: &Args, parts: u64) {
    let name = |number| args.output.write(number, &[]);
    let older = (parts + 1..).take_while(|number| Path::new(&name(*number)).exists()).count();
    if older > 0 {
        let first = name(parts + 1);
        note!("epdb: left of an earlier split: {}, from {first} on", many(older as u64, "file"));
    }
}

/// Sorts by the values of the fields, so that one file is written at a time.
fn by_fields(
    args: &Args,
    format: Option<&GameFormat>,
    fields: &[Field],
    diagnostics: &mut Diagnostics,
) -> anyhow::Result<Outcome> {
    diagnostics.comments().follow(comments::CommentOrder::Collect(By::Record));
    let mut sorter = Sorter::new(temporary_directory(), args.memory.memory_bytes);
    let never_met = UnusedFields::new(fields.iter());
    let mut values = HashSet::new();
    let mut bytes = Vec::new();
    each_unit(args, format, diagnostics, &mut |unit, place| {
        bytes.clear();
        let of_game;
        let (record, game) = match (unit, format) {
            (Unit::Game(read), Some(format)) => {
                if let Err(refusal) = games::append(read, format, &mut bytes) {
                    return Ok(Visited::Refused(refusal));
                }
                let position;
                (of_game, position) =
                    record_of_game(read.game, fields.iter().any(Field::is_of_record));
                (&of_game, Some(position))
            }
            (Unit::Game(_), None) => anyhow::bail!("cannot write positions as games"),
            (Unit::Record(record, game), _) => {
                record::encode(record, &mut bytes)?;
                (record, game)
            }
        };
        let subject = EvalContext::new(record, game, place);
        never_met.ask(&subject);
        let key: Vec<u8> = fields.iter().flat_map(|field| key(field, &subject)).collect();
        values.insert(random_from_bytes(0, &key));
        anyhow::ensure!(
            values.len() <= MAX_VALUES,
            "more than {MAX_VALUES} values of {}: that would be too many files",
            fields.iter().map(|field| format!("`{field}`")).collect::<Vec<_>>().join(" and ")
        );
        sorter.push(&key, &bytes)?;
        Ok(Visited::Taken)
    })?;
    never_met.report(if format.is_some() { "game" } else { "record" });
    let comments = diagnostics.comments();
    let mut sorted = sorter.finish()?;
    let mut outcome = Outcome::Done;
    let mut part: Option<(Vec<u8>, Part)> = None;
    while let Some((key, bytes)) = sorted.next_entry()? {
        if part.as_ref().is_none_or(|(of, _)| of != key) {
            let number = part.as_ref().map_or(1, |(_, part)| part.number + 1);
            if let Some((_, done)) = part.take() {
                outcome = outcome.and(done.finish()?);
            }
            part = Some((key.to_vec(), Part::open(args, format, number, &names(key), comments)?));
        }
        if let Some((_, part)) = &mut part {
            part.write_encoded(bytes)?;
        }
    }
    match part {
        Some((_, part)) => Ok(outcome.and(part.finish()?)),
        None => Ok(outcome),
    }
}

/// Sort key of a subject: the value of a field as part of a file name, without `/`. Subjects
/// without the field come last.
fn key(field: &Field, subject: &EvalContext<'_>) -> Vec<u8> {
    let archive_name = field.archive_name(subject).map(String::into_bytes);
    let value = archive_name.or_else(|| field.is_in(subject).then(|| field.value(subject).text()));
    // A file without a name would be hidden.
    match value.filter(|value| !value.is_empty()) {
        Some(value) => format!("0{}/", file_name(&value)),
        None => format!("1{UNKNOWN}/"),
    }
    .into_bytes()
}

/// The values of a key, as parts of a file name.
fn names(keys: &[u8]) -> Vec<String> {
    let keys = keys.split(|byte| *byte == b'/').filter(|key| !key.is_empty());
    keys.map(|key| String::from_utf8_lossy(&key[1..]).into_owned()).collect()
}

struct Part {
    number: u64,
    name: String,
    count: u64,
    output: PartOutput,
}

enum PartOutput {
    Records(RecordOutput),
    Games(GameOutput),
}

impl Part {
    fn open(
        args: &Args,
        format: Option<&GameFormat>,
        number: u64,
        values: &[String],
        comments: &Comments,
    ) -> anyhow::Result<Part> {
        let name = args.output.write(number, values);
        let path = PathBuf::from(&name);
        if let Some(folder) = path.parent() {
            let made = std::fs::create_dir_all(folder);
            made.with_context(|| format!("cannot make the folder {}", folder.display()))?;
        }
        let output = match format {
            Some(format) => PartOutput::Games(GameOutput::open(Some(&path), format.clone())?),
            None => {
                let force = ForceArgs::default();
                let output =
                    OutputArgs { output: Some(path), to: args.to, schema: args.schema, force };
                let mut output = RecordOutput::open(&output, &args.write)?;
                output.carry_comments(comments, args.way.of_comments());
                PartOutput::Records(output)
            }
        };
        Ok(Part { number, name, count: 0, output })
    }

    fn write(&mut self, unit: Unit<'_>) -> anyhow::Result<Visited> {
        let visited = match (&mut self.output, unit) {
            (PartOutput::Records(output), Unit::Record(record, _)) => {
                output.write(record)?;
                Visited::Taken
            }
            (PartOutput::Games(output), Unit::Game(read)) => output.write_unchanged(read)?,
            _ => anyhow::bail!("cannot write positions as games"),
        };
        self.count += u64::from(!matches!(visited, Visited::Refused(_)));
        Ok(visited)
    }

    fn write_encoded(&mut self, bytes: &[u8]) -> anyhow::Result<()> {
        self.count += 1;
        match &mut self.output {
            PartOutput::Records(output) => output.write_encoded(bytes),
            PartOutput::Games(output) => output.write_encoded(bytes),
        }
    }

    fn finish(self) -> anyhow::Result<Outcome> {
        let (what, outcome) = match self.output {
            PartOutput::Records(output) => ("record", output.finish()?),
            PartOutput::Games(output) => ("game", output.finish().map(|()| Outcome::Done)?),
        };
        note!("epdb: {} to {}", many(self.count, what), self.name);
        Ok(outcome)
    }
}
