//! `epdb table`: fields of records as columns, or filled into a template.

use std::io::Write;
use std::path::PathBuf;

use clap::ValueEnum;

use crate::cli::args::{ReadArgs, WriteArgs};
use crate::cli::diagnostics::Diagnostics;
use crate::cli::games;
use crate::cli::json;
use crate::cli::outcome::Outcome;
use crate::cli::output::open_other_output;
use crate::cli::pipe::NeverMet;
use crate::cli::source::{self, Visited};
use crate::cli::tsv;
use crate::library::field::Field;
use crate::library::subject::{Subject, record_of_game};
use crate::library::tally_field::tally_of;
use crate::source::{FileFormat, Item, Output};
use crate::text::FormatOptions;

/// Write fields of records as a table, one line a record
///
/// Columns are the fields of `epdb help where`: opcodes, and fen, epd, key, pieces, material, stm,
/// uci(bm), ce:white, result and more; of games and their positions also White, WhiteElo, Date
/// and any other tag, year, speed and more. What a record lacks is an empty field (null in JSON). In a
/// template, fields stand in braces; \t is a tab, \n a new line, {{ and }} are braces.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Examples:
  epdb table --columns id,fen,'uci(bm)',ce suite.epd > suite.tsv
  epdb table --columns White,Black,result,fen --games games.pgn
  epdb table --columns fen,move,games,score --rows moves library.epdb
  epdb table --template '{fen} | {ce:white} | {result}' data.epd > data.txt")]
pub(crate) struct Args {
    #[command(flatten)]
    what: What,
    #[command(flatten)]
    form: Form,
    /// No line with the names of the columns
    #[arg(long, conflicts_with_all = ["template", "json"])]
    no_header: bool,
    /// One line a game, and not one a position: what is asked of a position is asked of the last
    #[arg(long)]
    games: bool,
    /// What has a line: a record, or each move of its tally
    #[arg(long, value_enum, default_value_t = Rows::Records, value_name = "WHAT",
          conflicts_with = "games")]
    rows: Rows,
    /// Files to read; none, or `-`, is standard input
    files: Vec<PathBuf>,
    /// Write to this file instead of standard output; it appears only when it is complete
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    read: ReadArgs,
    #[command(flatten)]
    write: WriteArgs,
}

#[derive(clap::Args, Clone, Debug)]
#[group(required = true, multiple = false)]
struct What {
    /// The columns, separated by commas
    #[arg(long, value_name = "FIELD[,...]", value_parser = parse_columns)]
    columns: Option<Columns>,
    /// A line with fields in braces
    #[arg(long, value_name = "TEXT", value_parser = parse_template)]
    template: Option<Template>,
}

#[derive(clap::Args, Clone, Debug)]
#[group(multiple = false, conflicts_with = "template")]
struct Form {
    /// Tabs between the fields; tabs, line ends and backslashes in them escaped (default)
    #[arg(long)]
    tsv: bool,
    /// Commas between the fields, quotes around those that need them
    #[arg(long)]
    csv: bool,
    /// One JSON object a line
    #[arg(long)]
    json: bool,
}

#[derive(ValueEnum, Copy, Clone, PartialEq, Debug)]
enum Rows {
    Records,
    Moves,
}

/// Fields with the names under which they were asked for.
#[derive(Clone, Debug)]
struct Columns(Vec<(String, Field)>);

#[derive(Clone, Debug)]
struct Template(Vec<Part>);

#[derive(Clone, Debug)]
enum Part {
    Text(Vec<u8>),
    Field(Field),
}

fn parse_columns(list: &str) -> Result<Columns, String> {
    let column = |name: &str| {
        let name = name.trim();
        if name.is_empty() {
            return Err("a name of a column is missing".into());
        }
        Ok((name.to_owned(), Field::parse(name)?))
    };
    list.split(',').map(column).collect::<Result<_, String>>().map(Columns)
}

fn parse_template(text: &str) -> Result<Template, String> {
    let mut parts = Vec::new();
    let mut plain = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let column = text[..text.len() - rest.len()].chars().count() + 1;
        let (taken, byte): (usize, &[u8]) = match rest.as_bytes() {
            [b'{', b'{', ..] => (2, b"{"),
            [b'}', b'}', ..] => (2, b"}"),
            [b'\\', b't', ..] => (2, b"\t"),
            [b'\\', b'n', ..] => (2, b"\n"),
            [b'\\', b'\\', ..] => (2, b"\\"),
            [b'}', ..] => {
                return Err(format!("column {column}: this }} closes nothing; write }}}}"));
            }
            [b'\\', ..] => return Err(format!("column {column}: a backslash is written \\\\")),
            [b'{', ..] => {
                let inner = rest[1..].split_once('}').map(|(inner, _)| inner);
                let inner =
                    inner.ok_or_else(|| format!("column {column}: this {{ is not closed"))?;
                let field = Field::parse(inner.trim());
                parts.push(Part::Text(std::mem::take(&mut plain)));
                parts
                    .push(Part::Field(field.map_err(|it| format!("column {}: {it}", column + 1))?));
                (inner.len() + 2, b"")
            }
            _ => (first.len_utf8(), &rest.as_bytes()[..first.len_utf8()]),
        };
        plain.extend_from_slice(byte);
        rest = &rest[taken..];
    }
    parts.push(Part::Text(plain));
    Ok(Template(parts))
}

/// What a table is made of, and what no record had.
struct Table<'a> {
    args: &'a Args,
    shape: Shape,
    forms: FormatOptions,
    never_met: NeverMet,
    out: Output,
    line: Vec<u8>,
}

impl Table<'_> {
    /// A line, or one for each move of the tally.
    fn write_rows(&mut self, subject: &Subject<'_>) -> anyhow::Result<()> {
        if self.args.rows == Rows::Records {
            return self.write(subject);
        }
        let moves = tally_of(subject.record).map_or_else(Vec::new, |part| part.moves);
        moves.iter().try_for_each(|one| self.write(&Subject { move_tally: Some(one), ..*subject }))
    }

    fn write(&mut self, subject: &Subject<'_>) -> anyhow::Result<()> {
        let subject = &Subject { forms: self.forms, ..*subject };
        self.never_met.ask(subject);
        self.line.clear();
        match (&self.args.what.columns, &self.args.what.template) {
            (Some(columns), _) => self.shape.write_row(columns, subject, &mut self.line)?,
            (None, Some(template)) => template.fill(subject, &mut self.line),
            (None, None) => {}
        }
        self.line.push(b'\n');
        Ok(self.out.write_all(&self.line)?)
    }
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let mut diagnostics = Diagnostics::new(&args.read.form)?;
    let fields = args.what.fields();
    let mut table = Table {
        args,
        shape: Shape::of(args),
        forms: args.write.options(FileFormat::Epd),
        never_met: NeverMet::new(fields.iter().copied()),
        out: open_other_output(args.output.as_deref(), "a table")?,
        line: Vec::new(),
    };
    if let (Some(columns), false) = (&args.what.columns, args.no_header) {
        table.shape.write_header(columns, &mut table.out)?;
    }
    if args.games {
        let is_of_record = fields.iter().any(|field| field.is_of_record());
        games::each(&args.files, &args.read, &mut diagnostics, &mut |game, place| {
            let record = record_of_game(game, is_of_record);
            table.write(&Subject::new(&record, Some(game), place))?;
            Ok(Visited::Taken)
        })?;
    } else {
        source::read(&args.files, &args.read, &mut diagnostics, &mut |item| {
            match item {
                Item::Record { record, place, game, .. } => {
                    table.write_rows(&Subject::new(&record, game, place))?;
                }
                Item::Waiting => table.out.hand_on()?,
                _ => {}
            }
            Ok(true)
        })?;
    }
    table.out.finish()?;
    table.never_met.report();
    diagnostics.finish()
}

impl What {
    /// The fields of the columns or of the template.
    fn fields(&self) -> Vec<&Field> {
        let columns = self.columns.iter().flat_map(|columns| &columns.0).map(|(_, field)| field);
        let parts = self.template.iter().flat_map(|template| &template.0);
        let in_parts = parts.filter_map(|part| match part {
            Part::Field(field) => Some(field),
            Part::Text(_) => None,
        });
        columns.chain(in_parts).collect()
    }
}

impl Template {
    fn fill(&self, subject: &Subject<'_>, line: &mut Vec<u8>) {
        for part in &self.0 {
            match part {
                Part::Text(text) => line.extend_from_slice(text),
                Part::Field(field) => line.extend_from_slice(&field.value(subject).text()),
            }
        }
    }
}

/// The form of a table.
#[derive(Copy, Clone)]
enum Shape {
    Tsv,
    Csv,
    Json,
}

impl Shape {
    const fn of(args: &Args) -> Shape {
        match args.form {
            Form { json: true, .. } => Shape::Json,
            Form { csv: true, .. } => Shape::Csv,
            Form { .. } => Shape::Tsv,
        }
    }

    fn write_header(self, columns: &Columns, out: &mut Output) -> anyhow::Result<()> {
        let mut line = Vec::new();
        for (place, (name, _)) in columns.0.iter().enumerate() {
            self.write_cell(place, name.as_bytes(), &mut line);
        }
        if !matches!(self, Shape::Json) {
            line.push(b'\n');
            out.write_all(&line)?;
        }
        Ok(())
    }

    fn write_row(
        self,
        columns: &Columns,
        subject: &Subject<'_>,
        line: &mut Vec<u8>,
    ) -> anyhow::Result<()> {
        for (place, (name, field)) in columns.0.iter().enumerate() {
            let value = field.value(subject);
            match self {
                Shape::Tsv | Shape::Csv => self.write_cell(place, &value.text(), line),
                Shape::Json => {
                    line.push(if place == 0 { b'{' } else { b',' });
                    serde_json::to_writer(&mut *line, name)?;
                    line.push(b':');
                    serde_json::to_writer(&mut *line, &json::value(&value))?;
                }
            }
        }
        if matches!(self, Shape::Json) {
            line.push(b'}');
        }
        Ok(())
    }

    fn write_cell(self, place: usize, text: &[u8], line: &mut Vec<u8>) {
        let is_csv = matches!(self, Shape::Csv);
        if place > 0 {
            line.push(if is_csv { b',' } else { b'\t' });
        }
        if is_csv {
            write_csv(text, line);
        } else {
            tsv::write_field(text, line);
        }
    }
}

fn write_csv(text: &[u8], line: &mut Vec<u8>) {
    if !text.iter().any(|byte| matches!(byte, b',' | b'"' | b'\n' | b'\r')) {
        return line.extend_from_slice(text);
    }
    line.push(b'"');
    for &byte in text {
        if byte == b'"' {
            line.push(b'"');
        }
        line.push(byte);
    }
    line.push(b'"');
}
