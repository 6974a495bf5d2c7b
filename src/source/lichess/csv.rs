//! Tables of positions: lines of comma-separated fields, whose columns a header names.

use std::borrow::Cow;

use super::{Part, shown};
use crate::text::{Diagnostic, codes};

/// A field of a line.
pub(super) struct Field<'l> {
    pub(super) at: usize,
    pub(super) text: Cow<'l, [u8]>,
}

impl Field<'_> {
    pub(super) fn is_named(&self, name: &str) -> bool {
        self.text.trim_ascii().eq_ignore_ascii_case(name.as_bytes())
    }

    pub(super) fn part(&self) -> Part<'_> {
        Part { at: self.at, text: &self.text }
    }
}

/// A kind of table.
pub(in crate::source) struct TableKind {
    /// The names of the columns. Tables without a header have them in this order.
    pub(super) names: &'static [&'static str],
    /// Number of the first names that a table must have.
    pub(super) required: usize,
    /// Content of the table, in the plural.
    pub(super) content: &'static str,
    /// True if these fields are a header. The header may have mistakes.
    pub(super) is_header: fn(&[Field<'_>]) -> bool,
}

impl TableKind {
    /// The columns of a file, found in its first bytes. If there is a header, it is in these bytes.
    pub(in crate::source) fn columns(&'static self, start: &[u8]) -> Columns {
        let header = first_line(start).and_then(|line| split(&line).ok());
        match header.filter(|fields| (self.is_header)(fields)) {
            Some(fields) => Columns::from_header(self, &fields),
            None => Columns {
                kind: self,
                places: (0..self.names.len()).map(Some).collect(),
                count: self.names.len(),
                has_header: false,
            },
        }
    }

    /// True if the first line of a text is a header. The header may have mistakes.
    pub(in crate::source) fn begins_with_header(&self, start: &[u8]) -> bool {
        first_line(start)
            .is_some_and(|line| split(&line).is_ok_and(|fields| (self.is_header)(&fields)))
    }

    fn required(&self) -> String {
        self.names[..self.required].join(", ")
    }
}

/// The columns of a file.
#[derive(Clone)]
pub(in crate::source) struct Columns {
    kind: &'static TableKind,
    /// The index of each column in a line, if the file has it.
    places: Vec<Option<usize>>,
    /// The number of columns of a line, unknown ones included.
    count: usize,
    has_header: bool,
}

impl Columns {
    fn from_header(kind: &'static TableKind, fields: &[Field<'_>]) -> Columns {
        let place = |name: &&str| fields.iter().position(|field| field.is_named(name));
        let places = kind.names.iter().map(place).collect();
        Columns { kind, places, count: fields.len(), has_header: true }
    }

    /// A required column that the header lacks.
    fn missing(&self) -> Option<&'static str> {
        let required = self.places.iter().zip(self.kind.names).take(self.kind.required);
        required.filter(|(place, _)| place.is_none()).map(|(_, name)| *name).next()
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
        let fields = split(line)?;
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
        let Columns { places, count, .. } = Columns::from_header(self.kind, fields);
        if !self.has_header || places != self.places || count != self.count {
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
            if self.places.contains(&Some(place)) {
                continue;
            }
            let message = format!("column {} is unknown: it is left out", shown(&field.text));
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
        let last_required = self.places[..self.kind.required].iter().flatten().max();
        let fewest = last_required.map_or(0, |last| last + 1);
        if (fewest..=self.count).contains(&fields.len()) {
            return Ok(());
        }
        let (found, wanted) = (fields.len(), self.count);
        let noun = if found == 1 { "column" } else { "columns" };
        let message = match self.has_header {
            true => format!("{found} {noun}; expected the {wanted} that the header names"),
            false => {
                let TableKind { names, content, .. } = self.kind;
                format!("{found} {noun}; expected the {wanted} of {content}: {}", names.join(","))
            }
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
    ///
    /// # Errors
    /// The line does not have it.
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
    let text = Part::from_line(start)?.text.trim_ascii_start();
    let end = memchr::memchr2(b'\r', b'\n', text).unwrap_or(text.len());
    Some(Part { at: 0, text: &text[..end] })
}

/// Splits a line into fields at commas. In a quoted field, commas are text, and two quotes mean one
/// quote. A quoted field has no line end, because each puzzle is one line. Each field has its
/// offset in the line, for diagnostics.
fn split<'l>(line: &Part<'l>) -> Result<Vec<Field<'l>>, Diagnostic> {
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
                let len = memchr::memchr(b',', rest).unwrap_or(rest.len());
                (Cow::Borrowed(&rest[..len]), len)
            }
        };
        fields.push(Field { at: line.at + at, text });
        match rest.get(len) {
            None => return Ok(fields),
            Some(b',') => at += len + 1,
            Some(_) => {
                let place = Part { at: line.at + at + len, text: rest };
                return Err(
                    place.error(codes::E_LINE_CSV, "expected a comma after the quoted field")
                );
            }
        }
    }
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
