//! The overhead of running engines: records searched by a program that answers at once.
//!
//! The program is this benchmark itself, called with `play`.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use epdb_chess::model::rules::Playable;
use epdb_chess::model::{EpdRecord, Position};
use epdb_engine::{EngineSpec, Limits, Plan, Pool, SystemClock, Task};

#[path = "../tests/support/scripted.rs"]
mod scripted;

const RECORDS: usize = 2000;

fn main() {
    if std::env::args().nth(1).as_deref() == Some("play") {
        scripted::play("");
        return;
    }
    let records = positions();
    for concurrency in [1, 2] {
        let time = run(&records, concurrency);
        let each = time.as_secs_f64() * 1e6 / RECORDS as f64;
        println!("{concurrency} at once: {RECORDS} records in {time:.2?}, {each:.0} us each");
    }
}

/// Positions of one random game after the other.
fn positions() -> Vec<EpdRecord> {
    let start = Playable::new(&Position::START).expect("playable");
    let (mut now, mut seed) = (start, 7u64);
    let mut next = || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        let record = EpdRecord::new(*now.position());
        let moves = now.legal_moves();
        now = now.after(moves[(seed >> 16) as usize % moves.len()]);
        if !now.has_move() {
            now = start;
        }
        record
    };
    (0..RECORDS).map(|_| next()).collect()
}

/// The time for all records, the start of the engines apart.
fn run(records: &[EpdRecord], concurrency: usize) -> Duration {
    let mut engine = EngineSpec::new(std::env::current_exe().expect("this program"));
    engine.arguments = vec!["play".into()];
    let limits = Limits { nodes: Some(1), ..Limits::default() };
    let (timeout, clock) = (Duration::from_secs(60), Arc::new(SystemClock::new()));
    let plan =
        Plan { engine, task: Task::Analyze, limits, timeout, concurrency, clock, stamps: false };
    let mut pool = Pool::new(plan);
    let mut emit = |_, finished: epdb_engine::Finished| -> epdb_chess::error::Result<()> {
        assert_eq!(finished.error, None);
        Ok(())
    };
    for record in &records[..concurrency] {
        pool.push(record.clone(), &mut emit).expect("an engine");
    }
    pool.wait(&mut emit).expect("an engine");
    let begin = Instant::now();
    for record in records {
        pool.push(record.clone(), &mut emit).expect("an engine");
    }
    pool.wait(&mut emit).expect("an engine");
    let time = begin.elapsed();
    pool.finish(&mut emit).expect("an engine");
    time
}
