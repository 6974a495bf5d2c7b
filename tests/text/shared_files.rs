//! Other people's files, if they are available.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::PathBuf;

use crate::shared_data::{shared_data, shared_files};
use epdb_chess::text::epd::{self, Line};
use epdb_chess::text::lines::{LineReader, Next, default_limit};
use epdb_chess::text::{ParseOptions, Profile};

/// The codes with which the lenient profile rejects a line.
const REJECTED: [&str; 10] = [
    "E-EPD-FIELDS",
    "E-FEN-RANKS",
    "E-FEN-RANKSUM",
    "E-FEN-CHAR",
    "E-FEN-COLOR",
    "E-FEN-CASTLE",
    "E-FEN-EP",
    "E-EPD-LINELEN",
    "E-EPD-LABEL",
    "E-EPD-PERFT",
];

/// Every line is a record, blank, a comment, or rejected for one of these reasons; normalising
/// the output again changes nothing; no byte of a file is lost between the lines.
#[test]
fn every_line_of_every_file_is_accounted_for() {
    if shared_data("epd").is_none() {
        return;
    }
    let files: Vec<PathBuf> = ["epd", "books", "derived"]
        .into_iter()
        .flat_map(shared_files)
        .filter(|file| file.extension().is_none_or(|suffix| suffix != "pgn"))
        .collect();
    assert!(!files.is_empty());
    let options = ParseOptions::new(Profile::Lenient);
    let mut rejected: BTreeMap<&str, u64> = BTreeMap::new();
    let mut records = 0u64;
    for file in &files {
        let input = File::open(file).expect("a file");
        let size = input.metadata().expect("a size").len();
        let mut reader = LineReader::new(input, default_limit(Profile::Lenient));
        let mut warnings = Vec::new();
        while let Some(next) = reader.next_line().expect("a readable file") {
            let Next::Line(line) = next else { panic!("a line over the limit") };
            warnings.clear();
            match epd::parse_line(line.text, &options, &mut warnings) {
                Ok(Line::Record(record)) => {
                    records += 1;
                    let once = epdb_chess::format_epd(&record);
                    let again = epdb_chess::parse_epd(&once).expect("canonical text");
                    assert_eq!(epdb_chess::format_epd(&again), once, "{}", file.display());
                }
                Ok(Line::Blank | Line::Comment) => {}
                Err(error) => *rejected.entry(error.code).or_default() += 1,
            }
        }
        assert_eq!(reader.offset(), size, "{}", file.display());
    }
    assert!(records > 0);
    assert!(rejected.keys().all(|code| REJECTED.contains(code)), "{rejected:?}");
}
