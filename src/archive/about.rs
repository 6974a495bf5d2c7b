//! Facts about an archive and its data: who wrote it, and what the data is.

use std::collections::BTreeSet;
use std::str::FromStr;

/// The key of the program that wrote an archive, with its version.
const WRITER: &str = "writer";
const MAX_KEY: usize = 32;
const MAX_VALUE: usize = 4096;
/// Maximum size in bytes of the section of an archive.
pub(super) const MAX_BYTES: usize = 64 << 10;

/// Facts about the data of an archive, each with a key: `name`, `source` and `licence` have a meaning
/// for everybody. A key may have several values. Each writer adds its own name and version as `writer`.
///
/// ```
/// use epdb_archive::{About, Archive, ArchiveWriter, PackOptions};
/// let mut about: About = "name=Lines of a club".parse()?;
/// about.join("licence=CC0-1.0".parse()?);
/// let mut writer = ArchiveWriter::new(Vec::new(), PackOptions::default())?;
/// writer.set_about(about);
/// let about = Archive::from_bytes(writer.finish()?)?.about()?;
/// let keys: Vec<&str> = about.facts().map(|(key, _)| key).collect();
/// assert_eq!(keys, ["licence", "name", "writer"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct About(BTreeSet<(String, String)>);

impl About {
    /// The facts: keys and values, in ascending order.
    pub fn facts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// Adds the facts about other data. Equal facts are kept once.
    pub fn join(&mut self, other: About) {
        self.0.extend(other.0);
    }

    /// Replaces the values of all keys that other facts have.
    pub fn replace(&mut self, by: About) {
        self.0.retain(|(key, _)| by.facts().all(|(other, _)| other != key));
        self.join(by);
    }

    /// Adds values of a key. Values without the form of a fact are left out.
    pub fn join_texts<'a>(&mut self, key: &str, values: impl Iterator<Item = &'a str>) {
        self.0.extend(values.filter_map(|value| fact(key, value)));
    }

    /// The facts, with this program as the writer.
    #[must_use]
    pub fn written(mut self) -> About {
        self.0.retain(|(key, _)| key != WRITER);
        let writer = concat!("epdb ", env!("CARGO_PKG_VERSION"));
        self.0.insert((WRITER.to_string(), writer.to_string()));
        self
    }

    /// The bytes of the section: a line for each fact.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        self.facts().flat_map(|(key, value)| format!("{key} {value}\n").into_bytes()).collect()
    }

    /// Reads the section; `None` for bytes that no writer writes.
    pub(super) fn from_bytes(bytes: &[u8]) -> Option<About> {
        let text = std::str::from_utf8(bytes).ok()?.strip_suffix('\n')?;
        let mut about = About::default();
        for line in text.split('\n') {
            let (key, value) = line.split_once(' ')?;
            let fact = fact(key, value)?;
            if about.0.last().is_some_and(|last| *last >= fact) {
                return None;
            }
            about.0.insert(fact);
        }
        (bytes.len() <= MAX_BYTES).then_some(about)
    }
}

/// A fact whose key and value have their form.
fn fact(key: &str, value: &str) -> Option<(String, String)> {
    let is_of_key = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let is_right = (1..=MAX_KEY).contains(&key.len())
        && key.bytes().all(is_of_key)
        && (1..=MAX_VALUE).contains(&value.len())
        && !value.contains(char::is_control);
    is_right.then(|| (key.to_string(), value.to_string()))
}

impl FromStr for About {
    type Err = String;

    /// Parses `KEY=VALUE`.
    fn from_str(text: &str) -> Result<About, String> {
        let (key, value) =
            text.split_once('=').ok_or("write KEY=VALUE, such as licence=CC0-1.0")?;
        if key == WRITER {
            return Err("`writer` is the program that writes the archive".to_string());
        }
        let fact = fact(key, value).ok_or_else(|| {
            format!(
                "a key is up to {MAX_KEY} of a-z, 0-9 and `-`, and a value is one line of up to \
                 {MAX_VALUE} bytes"
            )
        })?;
        Ok(About(BTreeSet::from([fact])))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn facts_have_one_form() {
        let mut about: About = "name=a=b c".parse().unwrap();
        about.join("name=z".parse().unwrap());
        about.join("x-1=1".parse().unwrap());
        let bytes = b"name a=b c\nname z\nx-1 1\n";
        assert_eq!(about.to_bytes(), bytes);
        assert_eq!(About::from_bytes(bytes), Some(about.clone()));
        about.replace("name=other".parse().unwrap());
        assert_eq!(about.to_bytes(), b"name other\nx-1 1\n");
        for bytes in [
            "",
            "\n",
            "name a",
            "name\n",
            "name \n",
            "Name a\n",
            " a\n",
            "a \t\n",
            "b 1\na 1\n",
            "a 1\na 1\n",
            "a 1\n\n",
        ] {
            assert_eq!(About::from_bytes(bytes.as_bytes()), None, "{bytes:?}");
        }
        let long = |len: usize| format!("a {}\n", "x".repeat(len)).into_bytes();
        assert!(About::from_bytes(&long(MAX_VALUE)).is_some());
        assert!(About::from_bytes(&long(MAX_VALUE + 1)).is_none());
        for text in ["name", "writer=me", "Name=a", "name=", "name=a\nb"] {
            assert!(text.parse::<About>().is_err(), "{text:?}");
        }
    }
}
