//! `epdb table`: fields of records as columns, or filled into a template.

use std::collections::BTreeMap;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::PathBuf;

use clap::ValueEnum;

use crate::cli::args::{MemoryArgs, ReadArgs, WriteArgs};
use crate::cli::columns;
use crate::cli::diagnostics::Diagnostics;
use crate::cli::games::note_games;
use crate::cli::outcome::Outcome;
use crate::cli::output::{TableForm, open_other_output};
use crate::cli::pipe::{UnusedFields, temporary_directory};
use crate::cli::source::{Reading, SourceGame, Visited, are_games};
use crate::cli::terminal::{many, note};
use epdb_chess::model::Opcode;
use epdb_chess::text::FormatOptions;
use epdb_library::field::Field;
use epdb_library::field::json_value;
use epdb_library::group::{Aggregate, Groups};
use epdb_library::tally_field::tally_of;
use epdb_library::value::Value;
use epdb_library::value::{EvalContext, record_of_game};
use epdb_source::{FileFormat, GameCounter, Item, Output};

/// Write fields of records or games as a table, one line for each
///
/// A column is a field of `epdb help where`: an opcode, or fen, epd, key, pieces, material, stm,
/// uci(bm), ce:white, result and others. Games and their positions also have all tags (White,
/// WhiteElo, Date ...), year, speed and others. In the line of a game, fields of positions refer to its
/// last position; --positions writes a line for each position. A missing value is empty (null in JSON). Lines of a
/// template with empty fields are counted at the end.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Examples:
  epdb table --columns id,fen,'uci(bm)',ce suite.epd > suite.tsv
  epdb table --columns fen,move,games,score --rows moves library.epdb
  epdb table --group-by ECO --agg games,white,draws,black,score games.pgn | sort -k2,2nr
  epdb table --template '{fen} | {ce:white} | {result}' data.epd > data.txt")]
pub(crate) struct Args {
    #[command(flatten)]
    what: What,
    /// Values for each group: count (default), games, white, draws, black, score, min(F), max(F), mean(F), sum(F).
    /// Means and sums of scores leave out mates; min and max have them as ±32766
    #[arg(long, value_name = "WHAT[,...]", value_delimiter = ',', value_parser = parse_aggregate,
          default_value = "count", hide_default_value = true,
          conflicts_with_all = ["columns", "template"])]
    agg: Vec<(String, Aggregate)>,
    #[command(flatten)]
    form: Form,
    /// Omit the line with the column names
    #[arg(long, conflicts_with_all = ["template", "json"])]
    no_header: bool,
    /// Write one line per game
    #[arg(long, hide = true)]
    games: bool,
    /// Write one line per record or game (default), or one per move of a record's tally
    #[arg(long, value_enum, default_value_t = Rows::Records, value_name = "records|moves",
          hide_default_value = true, hide_possible_values = true)]
    rows: Rows,
    /// Files to read; none, or `-`, is standard input
    files: Vec<PathBuf>,
    /// Write to this file when complete; .csv, .tsv, .json, .jsonl or .ndjson selects the form
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    read: ReadArgs,
    #[command(flatten)]
    write: WriteArgs,
    #[command(flatten)]
    memory: MemoryArgs,
}

#[derive(clap::Args, Clone, Debug)]
#[group(required = true, multiple = false)]
struct What {
    /// Write these columns
    #[arg(long, value_name = "FIELD[,...]", value_parser = parse_columns)]
    columns: Option<Columns>,
    /// Write this text: {FIELD} is a value, \t a tab, \n a new line, {{ and }} are braces
    #[arg(long, value_name = "TEXT", value_parser = parse_template)]
    template: Option<Template>,
    /// Write one line for each group of records or games with the same values of these fields
    #[arg(long, value_name = "FIELD[,...]", value_parser = parse_columns)]
    group_by: Option<Columns>,
}

#[derive(clap::Args, Clone, Debug)]
#[group(multiple = false, conflicts_with = "template")]
struct Form {
    /// Separate fields by tabs; escape tabs, line ends and backslashes in them (default)
    #[arg(long)]
    tsv: bool,
    /// Separate fields by commas; quote fields that need it
    #[arg(long)]
    csv: bool,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

#[derive(ValueEnum, Copy, Clone, PartialEq, Debug)]
enum Rows {
    Records,
    Moves,
}

/// Fields, each with the name by which it was requested.
#[derive(Clone, Debug)]
struct Columns(Vec<(String, Field)>);

#[derive(Clone, Debug)]
struct Template(Vec<Part>);

#[derive(Clone, Debug)]
enum Part {
    Text(Vec<u8>),
    Field(Field),
}

/// Suffixes of text that a template can make.
const OF_TEMPLATES: &[&str] = &["tsv", "csv", "json", "jsonl", "ndjson", "html", "htm"];

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

fn parse_aggregate(text: &str) -> Result<(String, Aggregate), String> {
    Ok((text.trim().to_owned(), Aggregate::parse(text)?))
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

/// The error if a table of moves is to be made of games.
const NO_MOVES: &str = "--rows moves is for records that have a tally, such as those of a library: count the games with `epdb tally` first";

/// The lines of a template in which a field is empty.
#[derive(Default)]
struct Lacking {
    lines: u64,
    /// Number of these lines for each field.
    fields: BTreeMap<String, u64>,
    /// Fields that records of games have if an option stores them.
    advice: BTreeMap<String, &'static str>,
}

impl Lacking {
    fn add(&mut self, field: &Field, subject: &EvalContext<'_>) {
        let name = field.to_string();
        let advice = match field {
            _ if subject.game.is_some() => None,
            Field::Operation(Opcode::CE | Opcode::ACD) | Field::WhiteScore => Some("--game-evals"),
            field if !field.is_of_record() => Some("--game-tags"),
            _ => None,
        };
        if let Some(advice) = advice {
            self.advice.insert(name.clone(), advice);
        }
        *self.fields.entry(name).or_default() += 1;
    }

    fn report(&self) {
        for (name, count) in &self.fields {
            let option = self.advice.get(name);
            let advice = option.map_or(String::new(), |option| {
                format!(": {option} keeps it when games become records")
            });
            note!("epdb: {count} of {} without `{name}`{advice}", many(self.lines, "line"));
        }
    }
}

/// Parts of a table, and the fields that no record had.
struct Table<'a> {
    args: &'a Args,
    form: TableForm,
    forms: FormatOptions,
    never_met: UnusedFields,
    lacking: Lacking,
    groups: Option<Groups>,
    out: Output,
    line: Vec<u8>,
}

impl Table<'_> {
    /// Writes a line for a record or game, or a line for each move of its tally.
    fn write_rows(&mut self, subject: &EvalContext<'_>) -> anyhow::Result<()> {
        if self.args.rows == Rows::Records {
            return self.write(subject);
        }
        let moves = tally_of(subject.record).map_or_else(Vec::new, |part| part.moves);
        moves
            .iter()
            .try_for_each(|one| self.write(&EvalContext { move_tally: Some(one), ..*subject }))
    }

    fn write(&mut self, subject: &EvalContext<'_>) -> anyhow::Result<()> {
        let subject = &EvalContext { forms: self.forms, ..*subject };
        self.never_met.ask(subject);
        if let Some(groups) = &mut self.groups {
            return Ok(groups.add(subject)?);
        }
        self.line.clear();
        match (&self.args.what.columns, &self.args.what.template) {
            (Some(columns), _) => {
                let cells = columns.0.iter();
                let cells = cells.map(|(name, field)| (&**name, field.shown_value(subject)));
                write_table_row(self.form, cells, &mut self.line)?;
            }
            (None, Some(template)) => {
                self.lacking.lines += 1;
                template.fill(subject, &mut self.line, &mut self.lacking);
            }
            (None, None) => {}
        }
        self.line.push(b'\n');
        Ok(self.out.write_all(&self.line)?)
    }

    fn write_groups(&mut self) -> anyhow::Result<()> {
        let Some(groups) = self.groups.take() else { return Ok(()) };
        if groups.mates() > 0 {
            note!("epdb: {} not counted in sums and means", many(groups.mates(), "mate"));
        }
        let form = self.form;
        let line = &mut self.line;
        let out = &mut self.out;
        let names = self.args.column_names();
        groups.finish(|values| {
            line.clear();
            let cells = names.iter().copied().zip(values.iter().cloned());
            write_table_row(form, cells, line)?;
            line.push(b'\n');
            Ok(out.write_all(line)?)
        })
    }
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let has_games = args.games || are_games(&args.files, &args.read)?;
    anyhow::ensure!(!has_games || args.rows == Rows::Records, NO_MOVES);
    let mut diagnostics = Diagnostics::new(&args.read.form)?;
    let fields = args.fields();
    let form = args.table_form()?;
    let mut table = Table {
        args,
        form,
        forms: args.write.options(FileFormat::Epd, None),
        never_met: UnusedFields::new(fields.iter().copied()),
        lacking: Lacking::default(),
        groups: args.groups(),
        out: args.open(form)?,
        line: Vec::new(),
    };
    if args.what.template.is_none() && !args.no_header {
        write_header(form, &args.column_names(), &mut table.out)?;
    }
    let reading = Reading::of(&args.files, &args.read, &mut diagnostics);
    if has_games {
        let is_of_record = fields.iter().any(|field| field.is_of_record());
        let mut games = 0;
        reading.games(|SourceGame { game, place, .. }| {
            games += 1;
            let (record, position) = record_of_game(game, is_of_record);
            table.write(&EvalContext::new(&record, Some(position), place))?;
            Ok(Visited::Taken)
        })?;
        note_games(games, diagnostics.games_read());
    } else {
        let mut games = GameCounter::default();
        reading.items(|item| {
            match item {
                Item::Record { record, place, game, .. } => {
                    let game_number = game.map(|_| games.count(&record, place));
                    let subject = EvalContext::new(&record, game, place);
                    table.write_rows(&EvalContext { game_number, ..subject })?;
                }
                // It counts, so that a game has the same number with and without --where.
                Item::LeftOut { record: Some(record), place, .. } => {
                    games.count(&record, place);
                }
                Item::Waiting => table.out.hand_on()?,
                _ => {}
            }
            Ok(ControlFlow::Continue(()))
        })?;
    }
    table.write_groups()?;
    table.out.finish()?;
    table.never_met.report(if has_games { "game" } else { "record" });
    table.lacking.report();
    diagnostics.finish()
}

impl Args {
    /// The form in the arguments, or else the form that the suffix of the output shows.
    fn table_form(&self) -> anyhow::Result<TableForm> {
        match self.form {
            Form { json: true, .. } => Ok(TableForm::Json),
            Form { csv: true, .. } => Ok(TableForm::Csv),
            Form { tsv: true, .. } => Ok(TableForm::Tsv),
            _ if self.what.template.is_some() => Ok(TableForm::Tsv),
            _ => TableForm::of_output(self.output.as_deref()),
        }
    }

    /// Opens the output. A template can make text of any kind.
    fn open(&self, form: TableForm) -> anyhow::Result<Output> {
        let path = self.output.as_deref();
        match self.what.template {
            None => form.open(path, "a table"),
            Some(_) => open_other_output(path, "lines of a template", OF_TEMPLATES),
        }
    }

    fn groups(&self) -> Option<Groups> {
        let by = self.what.group_by.as_ref()?.0.iter().map(|(_, field)| field.clone()).collect();
        let what = self.agg.iter().map(|(_, what)| what.clone()).collect();
        Some(Groups::new(by, what, temporary_directory(), self.memory.memory_bytes))
    }

    /// The names of the columns, including the columns of groups.
    fn column_names(&self) -> Vec<&str> {
        let is_grouped = self.what.group_by.is_some();
        let asked = self.agg.iter().filter(|_| is_grouped).map(|(name, _)| name.as_str());
        self.what.columns().map(|(name, _)| name.as_str()).chain(asked).collect()
    }

    fn fields(&self) -> Vec<&Field> {
        let asked = self.agg.iter().filter_map(|(_, what)| what.field());
        self.what.fields().into_iter().chain(asked).collect()
    }
}

impl What {
    /// The columns, or the fields by which records are grouped.
    fn columns(&self) -> impl Iterator<Item = &(String, Field)> {
        self.columns.iter().chain(&self.group_by).flat_map(|columns| &columns.0)
    }

    /// The fields of the columns or of the template.
    fn fields(&self) -> Vec<&Field> {
        let columns = self.columns().map(|(_, field)| field);
        let parts = self.template.iter().flat_map(|template| &template.0);
        let in_parts = parts.filter_map(|part| match part {
            Part::Field(field) => Some(field),
            Part::Text(_) => None,
        });
        columns.chain(in_parts).collect()
    }
}

impl Template {
    fn fill(&self, subject: &EvalContext<'_>, line: &mut Vec<u8>, lacking: &mut Lacking) {
        for part in &self.0 {
            match part {
                Part::Text(text) => line.extend_from_slice(text),
                Part::Field(field) => {
                    let text = field.shown_value(subject).text();
                    if text.is_empty() && !field.is_in(subject) {
                        lacking.add(field, subject);
                    }
                    line.extend_from_slice(&text);
                }
            }
        }
    }
}

fn write_header(form: TableForm, names: &[&str], out: &mut Output) -> anyhow::Result<()> {
    if form == TableForm::Json {
        return Ok(());
    }
    let mut line = Vec::new();
    for (place, name) in names.iter().enumerate() {
        write_cell(form, place, name.as_bytes(), &mut line);
    }
    line.push(b'\n');
    Ok(out.write_all(&line)?)
}

fn write_table_row<'r>(
    form: TableForm,
    cells: impl Iterator<Item = (&'r str, Value<'r>)>,
    line: &mut Vec<u8>,
) -> anyhow::Result<()> {
    for (place, (name, value)) in cells.enumerate() {
        match form {
            TableForm::Tsv | TableForm::Csv => write_cell(form, place, &value.text(), line),
            TableForm::Json => {
                line.push(if place == 0 { b'{' } else { b',' });
                serde_json::to_writer(&mut *line, name)?;
                line.push(b':');
                serde_json::to_writer(&mut *line, &json_value(&value))?;
            }
        }
    }
    if form == TableForm::Json {
        line.push(b'}');
    }
    Ok(())
}

fn write_cell(form: TableForm, place: usize, text: &[u8], line: &mut Vec<u8>) {
    let is_csv = form == TableForm::Csv;
    if place > 0 {
        line.push(if is_csv { b',' } else { b'\t' });
    }
    if is_csv {
        write_csv(text, line);
    } else {
        columns::write_field(text, line);
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
