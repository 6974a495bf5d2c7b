//! An import is killed: the store opens and has the committed records.
//!
//! The same command run again ends in the store of an undisturbed run. The import reads from a pipe and is
//! killed after a random number of bytes, so it may be reading, merging or committing then.

use std::fs;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};

use epdb_chess::model::rules::Playable;
use epdb_chess::model::{EpdRecord, Position};

const KILLS: usize = 60;
const RECORDS: usize = 60_000;

/// A small generator of its own, so that the run is the same each time (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % bound
    }
}

/// Positions of random games, one a line.
fn games(random: &mut Random) -> Vec<u8> {
    let start = Playable::new(&Position::START).unwrap();
    let (mut lines, mut now) = (Vec::new(), start);
    for number in 0..RECORDS {
        let moves = now.legal_moves();
        now = match moves.len() {
            0 => start,
            _ if number % 80 == 0 => start,
            count => now.after(moves[random.below(count)]),
        };
        lines.extend(epdb_chess::format_epd(&EpdRecord::new(*now.position())));
        lines.extend(format!(" id \"{number}\";\n").bytes());
    }
    lines
}

fn epdb(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_epdb"));
    command.args(args).current_dir(folder).stdin(Stdio::piped());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

const IMPORT: [&str; 5] = ["import", "s.epdb", "-", "--memory", "1M"];

fn run(folder: &Path, args: &[&str], input: &[u8]) -> Vec<u8> {
    let mut child = epdb(folder, args).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let output = std::thread::scope(|scope| {
        scope.spawn(move || stdin.write_all(input).unwrap());
        child.wait_with_output().unwrap()
    });
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// Kills an import when it has been given the input, or as soon as the store is there too, which
/// comes with the first commit.
fn run_and_kill(folder: &Path, input: &[u8], awaits_commit: bool) {
    let mut child = epdb(folder, &IMPORT).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let has_committed = || awaits_commit && folder.join("s.epdb").exists();
    for piece in input.chunks(1 << 16).take_while(|_| !has_committed()) {
        stdin.write_all(piece).unwrap();
    }
    while awaits_commit && !has_committed() {
        assert!(child.try_wait().unwrap().is_none(), "it ended before it was killed");
        std::thread::yield_now();
    }
    child.kill().unwrap();
    drop(stdin);
    assert_eq!(child.wait().unwrap().signal(), Some(9), "it had not ended by itself");
}

// README: Committed records stay
#[test]
fn a_killed_import_loses_nothing_that_was_committed_and_continues() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let input = games(&mut random);
    let normal = run(folder, &["normalize"], &input);

    let mut most = 0;
    for number in 0..KILLS {
        // However slow the machine is, the first kill comes after a commit.
        match number {
            0 => run_and_kill(folder, &input, true),
            _ => run_and_kill(folder, &input[..random.below(input.len())], false),
        }
        if !folder.join("s.epdb").exists() {
            continue;
        }
        // Readers of a pipe find the last commit, as those of the file do once it was repaired.
        let piped = run(folder, &["export", "-"], &fs::read(folder.join("s.epdb")).unwrap());
        // Opening for writing repairs the state after the kill; an empty import does nothing else.
        run(folder, &["import", "s.epdb", "/dev/null"], b"");
        let exported = run(folder, &["export", "s.epdb"], b"");
        assert_eq!(piped, exported);
        assert!(normal.starts_with(&exported), "what is there is the beginning of the source");
        assert!(exported.len() >= most, "what was committed stays");
        most = exported.len();
    }
    assert!(most > 0, "no kill came after a commit");

    run(folder, &IMPORT, &input);
    assert_eq!(run(folder, &["export", "s.epdb"], b""), normal);
    run(folder, &["verify", "s.epdb"], b"");
    let by_key = run(folder, &["export", "s.epdb", "--sort", "key"], b"");

    fs::remove_file(folder.join("s.epdb")).unwrap();
    run(folder, &IMPORT, &input);
    assert_eq!(run(folder, &["export", "s.epdb", "--sort", "key"], b""), by_key);
}
