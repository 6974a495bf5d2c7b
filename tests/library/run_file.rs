//! The run file next to an output.

use std::fs;

use epdb_library::run_file::RunFile;

const WHOLE: &str = r#"{"epdb":"0.1.0","verb":"solve","engine":{"label":"SF16","name":"Stockfish 16",
    "author":"many","path":"/usr/games/stockfish","options":{"Threads":"1","Hash":"64"}},
    "limit":{"nodes":100000},"multipv":1,"concurrency":2,"suite":{"path":"wac.epd","blake3":"00ff",
    "records":300},"output":"wac.sf.epd","command":["epdb","solve"],"started":"2026-11-23T01:30:00Z",
    "seconds":12.345,"failed":0,"later":{"what":[1]}}"#;

#[test]
fn everything_may_be_missing_and_more_may_be_there() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("wac.sf.epd");
    assert_eq!(RunFile::beside(&output).unwrap(), None);
    let write = |text: &str| fs::write(RunFile::path_beside(&output), text).unwrap();
    write(WHOLE);
    let run = RunFile::beside(&output).unwrap().unwrap();
    assert_eq!((run.label(), run.limit.nodes), (Some("SF16"), Some(100_000)));
    assert_eq!(run.engine.options["Hash"], "64");
    assert_eq!(run.suite.blake3.as_deref(), Some("00ff"));
    write("{}");
    assert_eq!(RunFile::beside(&output).unwrap(), Some(RunFile::default()));
    for wrong in ["", "[1]", "{\"limit\":{\"nodes\":-1}}", "{\"command\":", &"[".repeat(9999)] {
        write(wrong);
        let error = RunFile::beside(&output).unwrap_err().to_string();
        assert!(
            error.contains("wac.sf.epd.run.json") && error.contains("not a run file"),
            "{error}"
        );
    }
    write(&" ".repeat((1 << 20) + 1));
    let error = RunFile::beside(&output).unwrap_err().to_string();
    assert!(error.contains("larger than 1 MiB"), "{error}");
}
