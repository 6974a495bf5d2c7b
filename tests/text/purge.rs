//! Purging other people's files line by line; skipped without the files.
//!
//! The rest of each line reads as the record without the operation.

use crate::shared_data::shared_files;
use epdb_chess::model::{EpdRecord, Opcode};
use epdb_chess::text::purge::purge;
use epdb_chess::text::{CounterForm, FormatOptions, ParseOptions, codes, epd};

fn read(line: &[u8]) -> Option<(EpdRecord, Vec<&'static str>)> {
    let mut warnings = Vec::new();
    match epd::parse_line(line, &ParseOptions::default(), &mut warnings) {
        Ok(epd::Line::Record(record)) => {
            Some((record, warnings.iter().map(|warning| warning.code).collect()))
        }
        _ => None,
    }
}

/// The record as text that does not depend on the form of its counters.
fn text(record: &EpdRecord) -> String {
    let options = FormatOptions { counters: CounterForm::Ops, ..Default::default() };
    let mut text = Vec::new();
    epd::format(record, &options, &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// Whether the line writes this operation as such: not as the counters of a FEN, not as text that
/// was salvaged, not twice with different operands.
fn is_written_plainly(opcode: Opcode, warnings: &[&str]) -> bool {
    let salvages = |code: &&str| {
        [
            codes::W_LEN_SALVAGED,
            codes::W_LEN_OPCODE,
            codes::W_LEN_INTEGER,
            codes::W_LEN_PM,
            codes::W_LEN_COUNTERS,
            codes::W_LEN_DUP,
            codes::W_LEN_JOINED,
        ]
        .contains(code)
    };
    let counters = opcode == Opcode::HMVC || opcode == Opcode::FMVN;
    !counters && !warnings.iter().any(salvages)
}

#[test]
fn the_rest_of_real_lines_reads_as_the_record_without_the_operation() {
    let files = shared_files("epd");
    let mut purged_operations = 0;
    for file in &files {
        for line in std::fs::read(file).unwrap().split(|&byte| byte == b'\n') {
            let Some((record, warnings)) = read(line) else { continue };
            let opcodes: Vec<_> = record.operations().iter().map(|it| it.opcode).collect();
            for opcode in opcodes.into_iter().filter(|it| is_written_plainly(*it, &warnings)) {
                let purged = purge(line, &[opcode]);
                let mut expected = record.clone();
                expected.remove(opcode);
                let shown = String::from_utf8_lossy(line);
                let left = read(&purged.line).map(|(record, _)| text(&record));
                assert_eq!(left, Some(text(&expected)), "{opcode} of {shown} in {file:?}");
                purged_operations += purged.dropped;
            }
        }
    }
    assert!(files.is_empty() || purged_operations > 10_000, "{purged_operations} operations");
}
