//! The samples under `formats/golden`; their notation is described in `formats/README.md`.

#![allow(dead_code, reason = "each test binary uses its part")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use serde::Deserialize;

/// The samples of a format.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Samples {
    format: String,
    version: u32,
    page: String,
    #[serde(default, rename = "note")]
    _note: String,
    /// Samples that a reader must read.
    pub(crate) valid: Vec<Case>,
    /// Samples that a reader must refuse.
    pub(crate) invalid: Vec<Case>,
}

/// One sample.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) note: String,
    pub(crate) text: Vec<String>,
    pub(crate) text_file: Option<String>,
    /// Complete bytes that are no file.
    #[serde(rename = "bytes")]
    pieces: Vec<Piece>,
    pub(crate) file: Option<String>,
    /// What a reader of the archive needs.
    #[serde(rename = "needs")]
    _needs: Vec<String>,
    pub(crate) rows: Vec<Row>,
    /// The lists of a manifest, by the names of their files.
    pub(crate) lists: BTreeMap<String, Vec<String>>,
    /// The file of runs beside a store.
    runs: Vec<Piece>,
    /// A line of text that is no file.
    pub(crate) line: String,
    /// The profiles of a line of text; all if there are none.
    pub(crate) profiles: Vec<String>,
    /// Columns and codes.
    pub(crate) warnings: Vec<String>,
    /// Whether a writer writes these bytes.
    #[serde(default = "yes")]
    pub(crate) written: bool,
    /// Whether a reader of text takes the line.
    #[serde(default = "yes")]
    pub(crate) from_text: bool,
    pub(crate) moves: Vec<String>,
    pub(crate) key: String,
    pub(crate) polyglot_key: String,
    pub(crate) locality_key: String,
    pub(crate) refused: Vec<String>,
    pub(crate) at: Option<u64>,
    pub(crate) by: String,
}

/// A row of a table.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Row {
    pub(crate) table: String,
    pub(crate) key: String,
    #[serde(rename = "bytes")]
    pieces: Vec<Piece>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Piece {
    hex: String,
    #[serde(default = "once")]
    times: usize,
    #[serde(default, rename = "note")]
    _note: String,
}

const fn once() -> usize {
    1
}

const fn yes() -> bool {
    true
}

impl Case {
    /// The bytes of the sample, from its pieces or its file.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        match &self.file {
            Some(name) => fs::read(path(name)).unwrap(),
            None => join(&self.pieces),
        }
    }

    /// The bytes of the file of runs of a store, if it has one.
    pub(crate) fn runs(&self) -> Option<Vec<u8>> {
        if self.runs.is_empty() { None } else { Some(join(&self.runs)) }
    }

    /// The concatenated lines of text, each with its end.
    pub(crate) fn lines(&self) -> String {
        match &self.text_file {
            Some(name) => fs::read_to_string(path(name)).unwrap(),
            None => self.text.iter().map(|line| format!("{line}\n")).collect(),
        }
    }
}

impl Row {
    /// The value of the row.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        join(&self.pieces)
    }
}

fn join(pieces: &[Piece]) -> Vec<u8> {
    pieces.iter().flat_map(|piece| unhex(&piece.hex).repeat(piece.times)).collect()
}

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("formats/golden").join(name)
}

/// Reads the samples of a format: `formats/golden/FORMAT.json`.
pub(crate) fn samples(format: &str) -> Samples {
    let text = fs::read_to_string(path(&format!("{format}.json"))).unwrap();
    let samples: Samples = serde_json::from_str(&text).unwrap();
    assert_eq!((samples.format.as_str(), samples.version), (format, 1));
    assert!(path("..").join(&samples.page).is_file(), "{}", samples.page);
    assert!(samples.valid.len() > 2 && samples.valid.iter().all(|case| case.refused.is_empty()));
    assert!(samples.invalid.iter().all(|case| !case.refused.is_empty()));
    let cases = || samples.valid.iter().chain(&samples.invalid);
    let names: BTreeSet<&str> = cases().map(|case| case.name.as_str()).collect();
    assert_eq!(names.len(), cases().count(), "each sample of {format} has a name of its own");
    samples
}

/// Hexadecimal digits with or without blanks between them as bytes.
pub(crate) fn unhex(digits: &str) -> Vec<u8> {
    let digits: Vec<char> = digits.chars().filter(|digit| !digit.is_whitespace()).collect();
    let byte = |pair: &[char]| {
        let pair: String = pair.iter().collect();
        assert_eq!(pair.len(), 2);
        u8::from_str_radix(&pair, 16).unwrap()
    };
    digits.chunks(2).map(byte).collect()
}

/// Bytes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
