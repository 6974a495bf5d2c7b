//! The text layer: vectors, profiles, other people's files, and arbitrary bytes.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod any_bytes;
mod codes;
mod golden;
mod lenient;
mod peers;
mod purge;
#[path = "../support/samples.rs"]
mod samples;
#[path = "../support/shared_data.rs"]
mod shared_data;
mod shared_files;
#[path = "../support/skipped.rs"]
mod skipped;
mod strict;
mod vectors;

use epdb_chess::model::EpdRecord;
use epdb_chess::text::epd::{self, Line};
use epdb_chess::text::{Diagnostic, FormatOptions, ParseOptions, Profile};

/// The rows of a vector file without the heading, split at tabs.
fn rows(text: &str) -> impl Iterator<Item = Vec<&str>> {
    text.lines().skip(1).map(|line| line.split('\t').collect())
}

/// Undoes the escapes of the vector files: `\\`, `\t`, `\n`, `\r`, `\xNN` (one byte).
fn unescape(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        match bytes.next() {
            Some(b't') => out.push(b'\t'),
            Some(b'n') => out.push(b'\n'),
            Some(b'r') => out.push(b'\r'),
            Some(b'x') => {
                let digits = [bytes.next().unwrap(), bytes.next().unwrap()];
                out.push(u8::from_str_radix(std::str::from_utf8(&digits).unwrap(), 16).unwrap());
            }
            Some(other) => out.push(other),
            None => panic!("escape without letter"),
        }
    }
    out
}

fn profile(level: &str) -> Profile {
    match level {
        "strict" => Profile::Strict,
        "import" => Profile::Standard,
        "liberal" => Profile::Lenient,
        other => panic!("unknown level {other}"),
    }
}

fn read(line: &[u8], profile: Profile) -> (Result<Line, Diagnostic>, Vec<Diagnostic>) {
    read_with(line, &ParseOptions::new(profile))
}

fn read_with(line: &[u8], options: &ParseOptions) -> (Result<Line, Diagnostic>, Vec<Diagnostic>) {
    let mut warnings = Vec::new();
    let result = epd::parse_line(line, options, &mut warnings);
    (result, warnings)
}

fn write_with(record: &EpdRecord, options: &FormatOptions) -> String {
    let mut out = Vec::new();
    epd::format(record, options, &mut out);
    String::from_utf8(out).expect("UTF-8 in, UTF-8 out")
}

/// The canonical text of a line, or the code of its error, and the codes of the warnings.
fn normalise(line: &str, profile: Profile) -> (Result<String, &'static str>, Vec<&'static str>) {
    normalise_with(line, &ParseOptions::new(profile))
}

fn normalise_with(
    line: &str,
    options: &ParseOptions,
) -> (Result<String, &'static str>, Vec<&'static str>) {
    let (result, warnings) = read_with(line.as_bytes(), options);
    let text = match result {
        Ok(Line::Record(record)) => Ok(write_with(&record, &FormatOptions::default())),
        Ok(other) => panic!("no record but {other:?}: {line}"),
        Err(error) => Err(error.code),
    };
    (text, warnings.into_iter().map(|warning| warning.code).collect())
}
