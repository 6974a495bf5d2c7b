//! Tables of a TOML file. Values are taken by their keys, and errors have a place in the file.

use std::fmt::Display;
use std::ops::{Range, RangeInclusive};
use std::str::FromStr;
use std::time::Duration;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::unknown;
use super::written::WrittenSetting;
use epdb_chess::error::{At, Error, Place, Result};

/// Maximum length of a value that is repeated in messages.
const MAX_SHOWN: usize = 40;

/// The text of a file and its name.
#[derive(Copy, Clone)]
pub(super) struct Document<'t> {
    text: &'t str,
    name: &'t str,
}

impl<'t> Document<'t> {
    pub(super) const fn new(text: &'t str, name: &'t str) -> Document<'t> {
        Document { text, name }
    }

    /// The table of the whole file.
    pub(super) fn root(self, known: &'static [&'static str]) -> Result<Table<'t>> {
        let root = DeTable::parse(self.text)
            .map_err(|error| self.error(&error.span().unwrap_or_default(), error.message()))?;
        Table::new(self, root.span(), root.into_inner(), known)
    }

    /// A value as it is written, or its kind if it is long.
    fn shown<'s>(self, span: &Range<usize>, kind: &'s str) -> &'s str
    where
        't: 's,
    {
        let text = self.text.get(span.clone()).unwrap_or(kind);
        if text.len() > MAX_SHOWN || text.contains(['\r', '\n']) { kind } else { text }
    }

    pub(super) fn error(self, span: &Range<usize>, what: impl Display) -> Error {
        let at = At::byte_of(self.text, span.start);
        Error::new(what.to_string()).at(Place::new(self.name, at))
    }
}

/// A table with the values that have not been taken yet.
pub(super) struct Table<'t> {
    document: Document<'t>,
    span: Range<usize>,
    values: DeTable<'t>,
}

type Value<'t> = Spanned<DeValue<'t>>;

impl<'t> Table<'t> {
    fn new(
        document: Document<'t>,
        span: Range<usize>,
        values: DeTable<'t>,
        known: &[&str],
    ) -> Result<Table<'t>> {
        let table = Table { document, span, values };
        let is_unknown = |key: &str| !known.contains(&key);
        match table.first(is_unknown) {
            Some((key, span)) => Err(document.error(&span, unknown("key", key, known))),
            None => Ok(table),
        }
    }

    /// The first key in the file for which `is_wanted` is true.
    fn first(&self, is_wanted: impl Fn(&str) -> bool) -> Option<(&str, Range<usize>)> {
        let keys = self.values.keys().map(|key| (key.get_ref().as_ref(), key.span()));
        keys.filter(|(key, _)| is_wanted(key)).min_by_key(|(_, span)| span.start)
    }

    /// An error at the place of the table.
    pub(super) fn error(&self, what: impl Display) -> Error {
        self.document.error(&self.span, what)
    }

    /// Checks that all values were taken. If a value is left, the error says that it has no meaning together
    /// with the setting `beside`.
    pub(super) fn finish(self, beside: &str) -> Result<()> {
        match self.first(|_| true) {
            Some((key, span)) => {
                Err(self.document.error(&span, format!("`{key}` means nothing with {beside}")))
            }
            None => Ok(()),
        }
    }

    fn take(&mut self, key: &str) -> Option<Value<'t>> {
        self.values.remove(key)
    }

    /// Takes a value of one kind.
    fn take_as<T>(
        &mut self,
        key: &str,
        expected: &str,
        read: impl FnOnce(&DeValue<'t>) -> Option<T>,
    ) -> Result<Option<T>> {
        let Some(value) = self.take(key) else { return Ok(None) };
        let found = read(value.get_ref());
        found.map(Some).ok_or_else(|| {
            let found = self.document.shown(&value.span(), value.get_ref().type_str());
            self.document
                .error(&value.span(), format!("`{key}`: expected {expected}, found {found}"))
        })
    }

    pub(super) fn text(&mut self, key: &str) -> Result<Option<String>> {
        self.take_as(key, "a string", |value| value.as_str().map(str::to_string))
    }

    /// Takes a string, and parses it as a value of another type.
    pub(super) fn parsed<T: FromStr<Err: Display>>(&mut self, key: &str) -> Result<Option<T>> {
        self.text_as(key, |text| text.parse().map_err(|error: T::Err| error.to_string()))
    }

    /// Takes a length of time, such as `5s`.
    pub(super) fn duration(&mut self, key: &str) -> Result<Option<Duration>> {
        self.text_as(key, |text| {
            let read = humantime::parse_duration(text);
            read.map_err(|_| format!("`{text}` is not a length of time such as 500ms, 5s or 2m"))
        })
    }

    fn text_as<T>(
        &mut self,
        key: &str,
        read: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<Option<T>> {
        let span = self.values.get(key).map(Spanned::span).unwrap_or_default();
        let Some(text) = self.text(key)? else { return Ok(None) };
        match read(&text) {
            Ok(value) => Ok(Some(value)),
            Err(error) => Err(self.document.error(&span, format!("`{key}`: {error}"))),
        }
    }

    /// Takes a whole number within a range.
    pub(super) fn number<T: TryFrom<u64>>(
        &mut self,
        key: &str,
        range: RangeInclusive<u64>,
    ) -> Result<Option<T>> {
        let expected = format!("a whole number from {} to {}", range.start(), range.end());
        self.take_as(key, &expected, |value| {
            let integer = value.as_integer()?;
            let number = u64::from_str_radix(integer.as_str(), integer.radix()).ok()?;
            if range.contains(&number) { T::try_from(number).ok() } else { None }
        })
    }

    pub(super) fn float(&mut self, key: &str) -> Result<Option<f64>> {
        self.take_as(key, "a number", |value| {
            let text = match value {
                DeValue::Float(number) => number.as_str(),
                DeValue::Integer(number) => number.as_str(),
                _ => return None,
            };
            text.parse().ok().filter(|number: &f64| number.is_finite())
        })
    }

    /// Takes true or false.
    pub(super) fn flag(&mut self, key: &str) -> Result<Option<bool>> {
        self.take_as(key, "true or false", DeValue::as_bool)
    }

    /// Takes a list of strings.
    pub(super) fn texts(&mut self, key: &str) -> Result<Option<Vec<String>>> {
        self.take_as(key, "a list of strings", |value| {
            let text = |value: &Value<'t>| value.get_ref().as_str().map(str::to_string);
            value.as_array()?.iter().map(text).collect()
        })
    }

    /// Takes a string or a list of strings.
    pub(super) fn text_or_texts(&mut self, key: &str) -> Result<Option<Vec<String>>> {
        let is_text = |value: &Value<'t>| value.get_ref().as_str().is_some();
        if self.values.get(key).is_some_and(is_text) {
            Ok(self.text(key)?.map(|text| vec![text]))
        } else {
            self.texts(key)
        }
    }

    pub(super) fn table(
        &mut self,
        key: &str,
        known: &'static [&'static str],
    ) -> Result<Option<Table<'t>>> {
        let Some(value) = self.take(key) else { return Ok(None) };
        self.as_table(key, value, known).map(Some)
    }

    pub(super) fn tables(
        &mut self,
        key: &str,
        known: &'static [&'static str],
    ) -> Result<Vec<Table<'t>>> {
        let Some(value) = self.take(key) else { return Ok(Vec::new()) };
        let span = value.span();
        let DeValue::Array(values) = value.into_inner() else {
            let what = format!("expected `[[{key}]]`, a table for each");
            return Err(self.document.error(&span, what));
        };
        values.into_iter().map(|value| self.as_table(key, value, known)).collect()
    }

    fn as_table(
        &self,
        key: &str,
        value: Value<'t>,
        known: &'static [&'static str],
    ) -> Result<Table<'t>> {
        let span = value.span();
        match value.into_inner() {
            DeValue::Table(values) => Table::new(self.document, span, values, known),
            other => {
                let what = format!("`{key}`: expected a table, found {}", other.type_str());
                Err(self.document.error(&span, what))
            }
        }
    }

    /// Takes a table of names and plain values.
    pub(super) fn pairs(&mut self, key: &str) -> Result<Vec<(String, String)>> {
        let read = self.take_as(key, "a table of strings, numbers, true and false", |value| {
            let mut pairs: Vec<_> = value.as_table()?.iter().collect();
            pairs.sort_by_key(|(name, _)| name.span().start);
            let pair = |(name, value): (&Spanned<_>, &Value<'t>)| {
                Some((String::from(AsRef::<str>::as_ref(name.get_ref())), plain(value.get_ref())?))
            };
            pairs.into_iter().map(pair).collect()
        });
        Ok(read?.unwrap_or_default())
    }
}

/// A string, a number, true or false as a text.
fn plain(value: &DeValue<'_>) -> Option<String> {
    Some(match value {
        DeValue::String(text) => text.to_string(),
        DeValue::Integer(number) => {
            i64::from_str_radix(number.as_str(), number.radix()).ok()?.to_string()
        }
        DeValue::Float(number) => number.as_str().to_string(),
        DeValue::Boolean(flag) => flag.to_string(),
        _ => return None,
    })
}

/// The settings of a file in the order of the text; those of a player come after `player N`. Empty if the text
/// is not TOML.
pub(crate) fn written_in_file(text: &str) -> Vec<WrittenSetting> {
    let mut settings = Vec::new();
    if let Ok(root) = DeTable::parse(text) {
        write_table(root.get_ref(), "", text, &mut settings);
    }
    settings
}

/// Adds the settings of a table, whose keys begin with `prefix`.
fn write_table(table: &DeTable<'_>, prefix: &str, text: &str, settings: &mut Vec<WrittenSetting>) {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    for (key, value) in entries {
        let key = format!("{prefix}{}", key.get_ref());
        match value.get_ref() {
            DeValue::Table(inner) => write_table(inner, &format!("{key}."), text, settings),
            DeValue::Array(values) if values.iter().any(|it| it.get_ref().is_table()) => {
                for (place, value) in values.iter().enumerate() {
                    if let Some(inner) = value.get_ref().as_table() {
                        write_table(inner, &format!("{key} {}: ", place + 1), text, settings);
                    }
                }
            }
            found => {
                let written = text.get(value.span()).unwrap_or_default();
                let text = format!("{key} = {written}");
                settings.push(WrittenSetting { key, value: spelled(found), text });
            }
        }
    }
}

/// A value in a normal form: equal values have the same spelling.
fn spelled(value: &DeValue<'_>) -> String {
    match value {
        DeValue::Array(values) => {
            values.iter().map(|value| format!("{}\n", spelled(value.get_ref()))).collect()
        }
        value => plain(value).unwrap_or_default(),
    }
}
