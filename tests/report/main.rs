//! Reports of finished suites: judging, counting, comparison, statistics.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod comparison;
mod page;
mod problems;
mod statistics;
mod statistics_page;

use epdb_chess::error::{At, Place};
use epdb_chess::model::{EpdRecord, Opcode};
use epdb_engine::report::{Run, RunOutput};
use epdb_library::run_file::RunFile;

const START: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -";

/// A record of the start array.
fn record(operations: &str) -> EpdRecord {
    epdb_chess::parse_epd(format!("{START} {operations}").as_bytes()).unwrap()
}

fn place(line: u64) -> Place {
    Place::new("a.epd", At::Line(line))
}

/// A run over records of the start array.
fn run(label: &str, problems: &[&str]) -> Run {
    run_with(label, problems, None)
}

fn run_with(label: &str, problems: &[&str], facts: Option<RunFile>) -> Run {
    let outputs = vec![RunOutput { file: format!("{label}.epd"), facts }];
    let mut run = Run::new(label.into(), outputs, Opcode::ID);
    for (operations, line) in problems.iter().zip(1..) {
        run.add(&record(operations), 0, &place(line), &mut (1 << 20)).unwrap();
    }
    run
}
