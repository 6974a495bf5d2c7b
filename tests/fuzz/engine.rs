//! Invariants of arbitrary engine output, for the fuzz target and for tests with `seeds`.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use epdb_chess::model::Operand;
use epdb_chess::model::rules::Playable;
use epdb_chess::text::ParseOptions;
use epdb_chess::text::epd::{self, Line};
use epdb_engine::{Engine, EngineSpec, Info, Limits, SystemClock};

/// Mates and promotions are near, so that what an engine says may fit.
const POSITION: &str = "r3k2r/1P6/8/8/8/8/6p1/R3K2R w KQkq - id \"fuzz\";";
const PATIENCE: Duration = Duration::from_secs(2);

/// Any bytes as all that an engine ever writes: no panic and no wait, and of a search that ends the move and
/// the line are legal and the score is one that a record can have.
pub(super) fn engine_output(bytes: &[u8]) {
    for line in String::from_utf8_lossy(bytes).lines() {
        Info::parse(line);
    }
    let path = std::env::temp_dir().join(format!("epdb-engine-{}", std::process::id()));
    fs::write(&path, bytes).expect("a temporary file can be written");
    search(&path.to_string_lossy());
    fs::remove_file(&path).expect("the file is ours");
}

/// Runs a search with an engine that prints the content of a file, whatever it receives.
fn search(path: &str) {
    let mut spec = EngineSpec::new("cat");
    spec.arguments = vec![path.into()];
    let Ok(mut engine) = Engine::start(&spec, PATIENCE, Arc::new(SystemClock::new())) else {
        return;
    };
    let line = epd::parse_line(POSITION.as_bytes(), &ParseOptions::default(), &mut Vec::new());
    let Ok(Line::Record(record)) = line else { unreachable!("the position is a record") };
    let limits = Limits { depth: Some(3), ..Limits::default() };
    let Ok(answer) = engine.search(&record, &limits, &mut |_, _| false) else { return };
    let playable = Playable::new(record.position()).expect("the position has legal moves");
    let Operand::Move { mv, .. } = answer.best else { panic!("{:?} is no move", answer.best) };
    assert!(playable.legal_moves().contains(&mv));
    assert!(answer.ce().is_none_or(|ce| (-32_767..=32_767).contains(&ce)));
    if let Some(first) = answer.moves(&playable, usize::MAX).first() {
        assert_eq!(*first, mv);
    }
    engine.quit();
}
