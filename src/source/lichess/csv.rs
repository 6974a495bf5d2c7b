//! Tables of positions: lines of fields, whose columns a header names. The fields are separated by
//! commas, semicolons, tabs or vertical bars.

use std::borrow::Cow;

use super::{Part, opcode_of_column, shown};
use epdb_chess::model::Opcode;
use epdb_chess::text::{Diagnostic, codes};

pub(super) struct Field<'l> {
    pub(super) at: usize,
    pub(super) text: Cow<'l, [u8]>,
}

impl Field<'_> {
    /// True if this is the name of a column, in any case. Programs also write the name `PuzzleId` as
    /// `puzzle_id`, so `_`, `-` and blanks are not compared.
    pub(super) fn is_named(&self, name: &str) -> bool {
        let letters = |byte: &&u8| !matches!(byte, b'_' | b'-' | b' ' | b'\t');
        let found = self.text.iter().filter(letters).map(u8::to_ascii_lowercase);
        found.eq(name.bytes().map(|byte| byte.to_ascii_lowercase()))
    }

    pub(super) fn part(&self) -> Part<'_> {
        Part { at: self.at, text: &self.text }
    }

    /// True if the value is missing. Besides empty fields, these are the words that data frames
    /// write for a missing value.
    pub(super) fn is_missing(&self) -> bool {
        const WORDS: [&[u8]; 6] = [b"", b"nan", b"none", b"null", b"<na>", b"na"];
        let text = self.text.trim_ascii();
        WORDS.iter().any(|word| text.eq_ignore_ascii_case(word))
    }

    /// The text of a number. Data frames write integers of a column with missing values as `7.0`; the
    /// fraction is left out.
    pub(super) fn number(&self) -> &[u8] {
        let text = self.text.trim_ascii();
        let Some(point) = text.iter().position(|byte| *byte == b'.') else { return text };
        let whole = &text[..point];
        let has_digits = whole.last().is_some_and(u8::is_ascii_digit);
        let is_whole = has_digits && text[point + 1..].iter().all(|byte| *byte == b'0');
        if is_whole { whole } else { text }
    }
}

/// The bytes that separate fields. The header shows which of them a table has.
const SEPARATORS: [u8; 4] = *b",;\t|";

pub(crate) struct TableKind {
    pub(super) names: &'static [&'static str],
    /// Other names of columns, each with the index of its column.
    pub(super) aliases: &'static [(&'static str, usize)],
    /// The columns that a table must have.
    pub(super) required: &'static [usize],
    /// Number of the first columns that each line must have if the header has them.
    pub(super) in_each_line: usize,
    /// Number of columns of a table without a header. They are the first columns, in their order.
    pub(super) without_header: usize,
    /// True if other columns with the name of an opcode have operations.
    pub(super) takes_opcodes: bool,
    /// Content of the table, in the plural.
    pub(super) content: &'static str,
    /// True if these fields are a header. The header may have mistakes.
    pub(super) is_header: fn(&[Field<'_>]) -> bool,
}

impl TableKind {
    /// The columns of a file, found in its first bytes. If there is a header, it is in these bytes.
    pub(crate) fn columns(&'static self, start: &[u8]) -> Columns {
        if let Some(columns) = self.header(start) {
            return columns;
        }
        let separator = first_line(start).map_or(b',', |line| self.likely_separator(&line));
        let count = self.without_header;
        let places = (0..self.names.len()).map(|it| (it < count).then_some(it)).collect();
        Columns { kind: self, separator, places, opcodes: Vec::new(), count, has_header: false }
    }

    /// The columns that the first line of a text names; `None` if that line is not a header. The header
    /// may have mistakes.
    pub(crate) fn header(&'static self, start: &[u8]) -> Option<Columns> {
        let line = first_line(start)?;
        SEPARATORS.into_iter().find_map(|separator| {
            let fields = split(&line, separator).ok().filter(|fields| (self.is_header)(fields))?;
            Some(Columns::from_header(self, &fields, separator))
        })
    }

    /// The separator that gives a line without a header the most fields. Positions and moves have none
    /// of the separators.
    fn likely_separator(&self, line: &Part<'_>) -> u8 {
        let fields = |separator: &u8| split(line, *separator).map_or(0, |fields| fields.len());
        SEPARATORS.into_iter().rev().max_by_key(fields).unwrap_or(b',')
    }

    fn required(&self) -> String {
        let names: Vec<&str> = self.required.iter().map(|column| self.names[*column]).collect();
        names.join(" and ")
    }
}

#[derive(Clone)]
pub(crate) struct Columns {
    kind: &'static TableKind,
    separator: u8,
    /// The index of each column in a line, if the file has it.
    places: Vec<Option<usize>>,
    /// The opcodes of other columns, with their indexes in a line.
    opcodes: Vec<(usize, Opcode)>,
    /// The number of columns of a line, unknown ones included.
    count: usize,
    has_header: bool,
}

impl Columns {
    fn from_header(kind: &'static TableKind, fields: &[Field<'_>], separator: u8) -> Columns {
        let named = |name: &str| fields.iter().position(|field| field.is_named(name));
        let place = |(column, name): (usize, &&str)| {
            let mut aliases = kind.aliases.iter().filter(|(_, of)| *of == column);
            named(name).or_else(|| aliases.find_map(|(alias, _)| named(alias)))
        };
        let places: Vec<_> = kind.names.iter().enumerate().map(place).collect();
        let others = fields
            .iter()
            .enumerate()
            .filter(|(place, _)| kind.takes_opcodes && !places.contains(&Some(*place)));
        let opcodes = others
            .filter_map(|(place, field)| Some((place, opcode_of_column(&field.text)?)))
            .collect();
        Columns { kind, separator, places, opcodes, count: fields.len(), has_header: true }
    }

    /// The fields of a line that have operands of an opcode.
    pub(super) fn operands<'f, 'l>(
        &self,
        fields: &'f [Field<'l>],
    ) -> impl Iterator<Item = (Opcode, &'f Field<'l>)> {
        self.opcodes.iter().filter_map(|(place, opcode)| Some((*opcode, fields.get(*place)?)))
    }

    pub(crate) fn has(&self, column: usize) -> bool {
        self.places[column].is_some()
    }

    /// A required column that the header lacks.
    fn missing(&self) -> Option<&'static str> {
        let column = self.kind.required.iter().find(|column| !self.has(**column))?;
        Some(self.kind.names[*column])
    }

    /// Splits a line into its fields; `None` for a header.
    ///
    /// # Errors
    /// The line is not a line of the table, or is another header.
    pub(super) fn split<'l>(
        &self,
        line: &Part<'l>,
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<Option<Vec<Field<'l>>>, Diagnostic> {
        let fields = split(line, self.separator)?;
        if (self.kind.is_header)(&fields) {
            self.check_header(&fields, warnings)?;
            return Ok(None);
        }
        self.check_line(line, &fields)?;
        Ok(Some(fields))
    }

    /// Refuses a header that lacks a required column, or that differs from the first header of the
    /// file. Warns of unknown columns.
    fn check_header(
        &self,
        fields: &[Field<'_>],
        warnings: &mut Vec<Diagnostic>,
    ) -> Result<(), Diagnostic> {
        let first = &fields[0].part();
        let Columns { places, opcodes, count, .. } =
            Columns::from_header(self.kind, fields, self.separator);
        let is_other = places != self.places || opcodes != self.opcodes || count != self.count;
        if !self.has_header || is_other {
            let message = "a header that is not the first line, with other columns than before: \
                           another file follows it";
            return Err(first.error(codes::E_LINE_CSV, message));
        }
        if let Some(name) = self.missing() {
            let message = format!(
                "the header has no column {name}: {} need {}",
                self.kind.content,
                self.kind.required()
            );
            return Err(first.error(codes::E_LINE_CSV, message));
        }
        for (place, field) in fields.iter().enumerate() {
            let is_opcode = self.opcodes.iter().any(|(known, _)| *known == place);
            if is_opcode || self.places.contains(&Some(place)) {
                continue;
            }
            let message = match field.text.trim_ascii() {
                b"" => "a column without a name is left out".to_string(),
                name => format!("column {} is unknown: it is left out", shown(name)),
            };
            warnings.push(field.part().warning(codes::W_LINE_COLUMN, message));
        }
        Ok(())
    }

    /// Refuses a line whose number of columns differs from the header. Optional columns at the end
    /// may be missing.
    fn check_line(&self, whole: &Part<'_>, fields: &[Field<'_>]) -> Result<(), Diagnostic> {
        if let Some(name) = self.missing() {
            let message = format!("the header of the file has no column {name}");
            return Err(whole.error(codes::E_LINE_CSV, message));
        }
        let required = self.places[..self.kind.in_each_line].iter().flatten();
        let opcodes = self.opcodes.iter().map(|(place, _)| place);
        let fewest = required.chain(opcodes).max().map_or(0, |last| last + 1);
        if (fewest..=self.count).contains(&fields.len()) {
            return Ok(());
        }
        let found = fields.len();
        let wanted = self.count;
        let noun = if found == 1 { "column" } else { "columns" };
        let message = if self.has_header {
            format!("{found} {noun}; expected the {wanted} that the header names")
        } else {
            let TableKind { names, content, without_header, .. } = self.kind;
            let names = names[..*without_header].join(",");
            format!("{found} {noun}; expected the {wanted} of {content}: {names}")
        };
        Err(whole.error(codes::E_LINE_CSV, message))
    }

    /// A column of a line, if the line has it.
    pub(super) fn get<'f, 'l>(
        &self,
        fields: &'f [Field<'l>],
        column: usize,
    ) -> Option<&'f Field<'l>> {
        fields.get(self.places[column]?)
    }

    /// A required column of a line.
    pub(super) fn required<'f, 'l>(
        &self,
        whole: &Part<'_>,
        fields: &'f [Field<'l>],
        column: usize,
    ) -> Result<&'f Field<'l>, Diagnostic> {
        let none = || whole.error(codes::E_LINE_CSV, format!("no {}", self.kind.names[column]));
        self.get(fields, column).ok_or_else(none)
    }
}

/// The first line that is not blank.
fn first_line(start: &[u8]) -> Option<Part<'_>> {
    // A tab at the start separates a column without a name.
    let text = Part::from_line(start)?.text;
    let blanks = text.iter().take_while(|byte| matches!(byte, b' ' | b'\r' | b'\n')).count();
    let text = &text[blanks..];
    let end = memchr::memchr2(b'\r', b'\n', text).unwrap_or(text.len());
    Some(Part { at: 0, text: &text[..end] })
}

/// Splits a line into fields at a separator. In a quoted field, separators are text, and two quotes
/// mean one quote. A quoted field has no line end, because each puzzle is one line. Each field has its
/// offset in the line, for diagnostics.
fn split<'l>(line: &Part<'l>, separator: u8) -> Result<Vec<Field<'l>>, Diagnostic> {
    let mut fields = Vec::new();
    let mut at = 0;
    loop {
        let rest = &line.text[at..];
        let (text, len) = match rest.strip_prefix(b"\"") {
            Some(quoted) => {
                let place = Part { at: line.at + at, text: rest };
                let (text, len) = unquoted(quoted).ok_or_else(|| {
                    place.error(codes::E_LINE_CSV, "the quoted field is not closed")
                })?;
                (text, len + 1)
            }
            None => {
                let len = memchr::memchr(separator, rest).unwrap_or(rest.len());
                let text = &rest[..len];
                (if separator == b'\t' { unescaped(text) } else { Cow::Borrowed(text) }, len)
            }
        };
        fields.push(Field { at: line.at + at, text });
        match rest.get(len) {
            None => return Ok(fields),
            Some(&byte) if byte == separator => at += len + 1,
            Some(_) => {
                let place = Part { at: line.at + at + len, text: rest };
                let name = match separator {
                    b',' => "a comma",
                    b';' => "a semicolon",
                    b'\t' => "a tab",
                    _ => "a vertical bar",
                };
                let message = format!("expected {name} after the quoted field");
                return Err(place.error(codes::E_LINE_CSV, message));
            }
        }
    }
}

/// The text of a field between tabs, as `epdb table` writes it: `\t`, `\n`, `\r` and `\\` are escapes, and another
/// backslash is itself.
fn unescaped(field: &[u8]) -> Cow<'_, [u8]> {
    if memchr::memchr(b'\\', field).is_none() {
        return Cow::Borrowed(field);
    }
    let mut text = Vec::with_capacity(field.len());
    let mut bytes = field.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        let meant = match (byte, bytes.peek()) {
            (b'\\', Some(b't')) => Some(b'\t'),
            (b'\\', Some(b'n')) => Some(b'\n'),
            (b'\\', Some(b'r')) => Some(b'\r'),
            (b'\\', Some(b'\\')) => Some(b'\\'),
            _ => None,
        };
        if meant.is_some() {
            bytes.next();
        }
        text.push(meant.unwrap_or(byte));
    }
    Cow::Owned(text)
}

/// The text of a quoted field, and the length of its bytes with the closing quote; `None` if that
/// quote is missing.
fn unquoted(quoted: &[u8]) -> Option<(Cow<'_, [u8]>, usize)> {
    let mut text = Vec::new();
    let mut from = 0;
    loop {
        let quote = from + memchr::memchr(b'"', &quoted[from..])?;
        text.extend_from_slice(&quoted[from..quote]);
        if quoted.get(quote + 1) != Some(&b'"') {
            return Some((Cow::Owned(text), quote + 1));
        }
        text.push(b'"');
        from = quote + 2;
    }
}
