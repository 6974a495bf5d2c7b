//! What finished suites say: how problems are judged, counted and compared, and the statistics.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod comparison;
mod page;
mod problems;
mod run_file;
mod statistics;

use epdb::model::{EpdRecord, Opcode};
use epdb::report::{Run, RunFile};

const START: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -";

/// A record of the start array.
fn record(operations: &str) -> EpdRecord {
    epdb::parse_epd(format!("{START} {operations}").as_bytes()).unwrap()
}

/// A run over records of the start array.
fn run(label: &str, problems: &[&str]) -> Run {
    run_with(label, problems, None)
}

fn run_with(label: &str, problems: &[&str], facts: Option<RunFile>) -> Run {
    let mut run = Run::new(label.into(), format!("{label}.epd"), facts, Opcode::ID);
    for (operations, line) in problems.iter().zip(1..) {
        run.add(&record(operations), line, &mut (1 << 20)).unwrap();
    }
    run
}
