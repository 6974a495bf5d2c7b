//! Filter, table and dedupe compared with python-chess and `sort -u`: `cargo bench --bench shape [FILE]`.
//!
//! All contestants run as processes over one file, as a user runs them. The file is made of random games unless
//! one is given, and the best of a few rounds counts. A contestant that is not installed is left out
//! (python-chess: `pip install chess`).

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use epdb_chess::model::{EpdRecord, Position, rules::Playable};
use epdb_library::sample::random_number;

const ROUNDS: u32 = 5;
/// python-chess is given this many lines, and its time is scaled up.
const PYTHON_LINES: usize = 20_000;

const FILTER: &str = "
import chess, sys
print(sum(chess.popcount(chess.Board(' '.join(line.split()[:6])).occupied) == 32
          for line in open(sys.argv[1])))";
const TABLE: &str = "
import chess, sys
for line in open(sys.argv[1]):
    board = chess.Board(' '.join(line.split()[:6]))
    print(board.fen(), chess.popcount(board.occupied), 'wb'[not board.turn], sep='\\t')";
const DEDUPE: &str = "
import chess, sys
seen = set()
for line in open(sys.argv[1]):
    epd = chess.Board(' '.join(line.split()[:6])).epd()
    if epd not in seen:
        seen.add(epd)
        print(line, end='')";

fn main() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let given = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let file = given.map_or_else(|| random_games(folder.path()), PathBuf::from);
    let text = std::fs::read_to_string(&file).expect("a file of EPD or FEN lines");
    let lines = text.lines().count();
    let head = folder.path().join("head.epd");
    let start: Vec<_> = text.lines().take(PYTHON_LINES).map(|line| format!("{line}\n")).collect();
    std::fs::write(&head, start.concat()).expect("room for a file");

    println!("{}: {lines} lines, best of {ROUNDS} rounds", file.display());
    println!("{:<38} {:>14} {:>9}", "", "lines/s", "ratio");
    let path = file.to_str().expect("a path in UTF-8");
    let contests: [(&str, &[&str], &str); 3] = [
        ("filter pieces == 32", &["filter", path, "--where", "pieces == 32", "--count"], FILTER),
        ("table fen,pieces,stm", &["table", path, "--columns", "fen,pieces,stm"], TABLE),
        ("dedupe --by position", &["dedupe", path], DEDUPE),
    ];
    for (name, args, script) in contests {
        let ours = lines as f64 / best(|| epdb(args)).expect("epdb runs").as_secs_f64();
        println!("{name:<38} {ours:>14.0}");
        let python = || {
            let mut python = Command::new("python3");
            python.args(["-c", script]).arg(&head);
            python
        };
        if let Some(time) = best(python) {
            let theirs = start.len() as f64 / time.as_secs_f64();
            println!("{:<38} {theirs:>14.0} {:>8.1}x", "  python-chess", ours / theirs);
        }
        if name.starts_with("dedupe") {
            let sort = || {
                let mut sort = Command::new("sort");
                sort.args(["-u", path]).env("LC_ALL", "C");
                sort
            };
            if let Some(time) = best(sort) {
                let theirs = lines as f64 / time.as_secs_f64();
                println!("{:<38} {theirs:>14.0} {:>8.1}x", "  sort -u of the text", ours / theirs);
            }
        }
    }
}

fn epdb(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_epdb"));
    command.args(args);
    command
}

/// The shortest time that a command takes; `None` if it fails or is not there.
fn best(command: impl Fn() -> Command) -> Option<Duration> {
    let round = |_| {
        let started = Instant::now();
        let status = command().stdout(Stdio::null()).stderr(Stdio::null()).status().ok()?;
        status.success().then(|| started.elapsed())
    };
    (0..ROUNDS).map(round).collect::<Option<Vec<_>>>()?.into_iter().min()
}

/// Openings of eight to twenty plies, 200,000 of them, from a fixed seed.
fn random_games(folder: &Path) -> PathBuf {
    let mut numbers = (0..).map(|place| random_number(1, place));
    let mut below = |limit: usize| (numbers.next().unwrap_or(0) % limit as u64) as usize;
    let mut text = Vec::new();
    for _ in 0..200_000 {
        let mut record = EpdRecord::new(Position::START);
        record.set_fen_counters(Some(epdb_chess::model::Counters::default()));
        for _ in 0..8 + below(13) {
            let Ok(playable) = Playable::new(record.position()) else { break };
            let moves = playable.legal_moves();
            let Some(next) = moves.get(below(moves.len().max(1))).and_then(|mv| record.play(*mv))
            else {
                break;
            };
            record = next;
        }
        text.extend_from_slice(&epdb_chess::format_epd(&record));
        text.push(b'\n');
    }
    let file = folder.join("games.fen");
    std::fs::write(&file, text).expect("room for a file");
    file
}
