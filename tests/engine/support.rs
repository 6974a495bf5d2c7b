//! A scripted engine, and a clock that its script sets.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use epdb_chess::model::EpdRecord;
use epdb_engine::{
    Answer, Clock, Engine, EngineError, EngineOutput, EngineSpec, Finished, Limits, Plan, Pool,
    Task,
};
use tempfile::TempDir;

use crate::engines::scripted;

pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A clock that goes on when an engine says `info string clock MILLISECONDS`, and by what somebody waits
/// for when the engine is known to say nothing.
#[derive(Debug, Default)]
pub(crate) struct TestClock {
    now: AtomicU64,
    /// True if there will be no output.
    silent: bool,
}

impl TestClock {
    pub(crate) fn of_silence() -> TestClock {
        TestClock { silent: true, ..TestClock::default() }
    }
}

/// No test waits so long; it fails then.
const HOPELESS: Duration = Duration::from_secs(100);

impl Clock for TestClock {
    fn now(&self) -> Duration {
        Duration::from_millis(self.now.load(Ordering::SeqCst))
    }

    fn receive(
        &self,
        heard: &Receiver<EngineOutput>,
        until: Duration,
    ) -> Result<EngineOutput, RecvTimeoutError> {
        loop {
            if self.silent {
                self.now.fetch_max(until.as_millis() as u64, Ordering::SeqCst);
                return Err(RecvTimeoutError::Timeout);
            }
            let next = heard.recv_timeout(HOPELESS);
            assert_ne!(
                next,
                Err(RecvTimeoutError::Timeout),
                "nothing was said, and no time went by"
            );
            let Some(step) = next.as_ref().ok().and_then(clock_step) else { return next };
            self.now.fetch_add(step, Ordering::SeqCst);
            if self.now() >= until {
                return Err(RecvTimeoutError::Timeout);
            }
        }
    }
}

fn clock_step(heard: &EngineOutput) -> Option<u64> {
    match heard {
        EngineOutput::Line(line) => line.strip_prefix("info string clock ")?.parse().ok(),
        _ => None,
    }
}

/// A scripted engine that can be started.
pub(crate) struct Script {
    _folder: TempDir,
    pub(crate) spec: EngineSpec,
}

impl Script {
    pub(crate) fn new(script: &str) -> Script {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("script");
        fs::write(&path, script).unwrap();
        let mut spec = EngineSpec::new(scripted());
        spec.label = "S".into();
        spec.arguments = vec![path.display().to_string()];
        Script { _folder: folder, spec }
    }

    pub(crate) fn start(&self) -> Result<Engine, EngineError> {
        Engine::start(&self.spec, PATIENCE, Arc::new(TestClock::default()))
    }

    pub(crate) fn search(&self, fen: &str, limits: &Limits) -> Result<Answer, EngineError> {
        self.start()?.search(&record(fen), limits, &mut |_, _| false)
    }

    /// The resulting records.
    pub(crate) fn run(&self, task: Task, limits: Limits, lines: &[&str]) -> Vec<Finished> {
        let plan = Plan {
            engine: self.spec.clone(),
            task,
            limits,
            timeout: PATIENCE,
            concurrency: 1,
            clock: Arc::new(TestClock::default()),
            stamps: false,
        };
        let mut finished = Vec::new();
        let mut pool = Pool::new(plan);
        let mut emit = |_, it| -> epdb_chess::error::Result<()> {
            finished.push(it);
            Ok(())
        };
        for line in lines {
            pool.push(record(line), &mut emit).unwrap();
        }
        pool.finish(&mut emit).unwrap();
        finished
    }

    /// The one record that a record becomes, without times.
    pub(crate) fn one(&self, task: Task, line: &str) -> String {
        let finished = self.run(task, nodes(1000), &[line]).remove(0);
        assert_eq!(finished.error, None);
        text(finished.record)
    }
}

pub(crate) fn record(line: &str) -> EpdRecord {
    epdb_chess::parse_epd(line.as_bytes()).expect(line)
}

/// A record as text, without the times that the machine decides on.
pub(crate) fn text(mut record: EpdRecord) -> String {
    record.remove(epdb_chess::model::Opcode::ACMS);
    record.remove(epdb_chess::model::Opcode::ACS);
    String::from_utf8(epdb_chess::format_epd(&record)).unwrap()
}

pub(crate) fn nodes(nodes: u64) -> Limits {
    Limits { nodes: Some(nodes), ..Limits::default() }
}
