//! Every system call that makes, writes, syncs, renames or reads a file fails once, or the process is killed there.
//!
//! The run reports the error and names a file. It leaves no unfinished file, and the same command run again
//! ends like an undisturbed run.
//!
//! Each call that a command reaches is a trial. `cargo test` runs some of them, spread evenly;
//! `EPDB_FAULT_TRIALS=2000` sets the number of each kind.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use epdb_chess::codec::ordinal;
use epdb_chess::model::Position;
use epdb_chess::model::rules::Playable;
use epdb_chess::text::san;
use tempfile::TempDir;

use crate::skipped::skipped;
use crate::targets::pawns;

/// A command, what is there before, and what it makes.
struct Scenario {
    args: &'static [&'static str],
    /// Files that are there before, beside those that are only read.
    given: &'static [&'static str],
    /// Files that it makes or replaces.
    made: &'static [&'static str],
}

const SCENARIOS: [Scenario; 17] = [
    Scenario {
        args: &["import", "out.epdb", "in.epd", "--memory", "1M"],
        given: &[],
        made: &["out.epdb"],
    },
    // Two batches and more.
    Scenario {
        args: &["import", "s.epdb", "long.epd", "--memory", "1M"],
        given: &["s.epdb"],
        made: &["s.epdb"],
    },
    Scenario {
        args: &["convert", "in.epd", "out.epdb", "--memory", "1M"],
        given: &[],
        made: &["out.epdb"],
    },
    Scenario { args: &["convert", "in.epd", "out.epb"], given: &[], made: &["out.epb"] },
    Scenario { args: &["convert", "few.epd", "out.epa"], given: &["out.epa"], made: &["out.epa"] },
    Scenario {
        args: &["pack", "in.epd", "-o", "out.epa", "--level", "fast", "--memory", "64K"],
        given: &[],
        made: &["out.epa"],
    },
    Scenario {
        args: &["sort", "--by", "id", "in.epd", "-o", "out.epd", "--memory", "64K"],
        given: &["out.epd"],
        made: &["out.epd"],
    },
    Scenario {
        args: &["split", "--ratio", "2:1", "in.epd", "-o", "part-%d.epd"],
        given: &["part-1.epd"],
        made: &["part-1.epd", "part-2.epd"],
    },
    Scenario {
        args: &["export", "s.epdb", "-o", "out.epd"],
        given: &["s.epdb"],
        made: &["out.epd"],
    },
    Scenario {
        args: &["dedupe", "in.epd", "-o", "out.epd.gz", "--memory", "64K"],
        given: &[],
        made: &["out.epd.gz"],
    },
    Scenario {
        args: &["import", "s.epdb", "few.epd", "--on-duplicate", "merge", "--memory", "1M"],
        given: &["s.epdb"],
        made: &["s.epdb"],
    },
    Scenario {
        args: &[
            "normalize",
            "mess.epd",
            "-o",
            "out.epd.zst",
            "--rejects",
            "bad.epd",
            "--repairs",
            "repairs.tsv",
            "--allow-rejects",
        ],
        given: &["bad.epd"],
        made: &["out.epd.zst", "bad.epd", "repairs.tsv"],
    },
    Scenario {
        args: &[
            "union",
            "few.epd",
            "in.epd",
            "-o",
            "out.epb",
            "--conflicts",
            "conflicts.tsv",
            "--memory",
            "64K",
        ],
        given: &[],
        made: &["out.epb", "conflicts.tsv"],
    },
    Scenario {
        args: &["tally", "games.pgn", "-o", "out.epa", "--keep-games", "2", "--memory", "64K"],
        given: &[],
        made: &["out.epa"],
    },
    Scenario {
        args: &["tally", "games.pgn", "-o", "out.epdb", "--keep-games", "2", "--memory", "1M"],
        given: &[],
        made: &["out.epdb"],
    },
    Scenario {
        args: &["import", "l.epdb", "games.pgn", "--tally", "--keep-games", "2", "--memory", "1M"],
        given: &["l.epdb"],
        made: &["l.epdb"],
    },
    Scenario {
        args: &["import", "l.epdb", "lib.epa", "--on-duplicate", "merge", "--memory", "1M"],
        given: &["l.epdb"],
        made: &["l.epdb"],
    },
];

/// The length of the input, unless `EPDB_FAULT_LINES` says another.
const LINES: usize = 2000;
const FEW: usize = 100;
/// Files that are only read.
const READ: [&str; 6] = ["in.epd", "few.epd", "mess.epd", "long.epd", "games.pgn", "lib.epa"];
/// Stores that are there before.
const STORES: [&str; 2] = ["s.epdb", "l.epdb"];
/// Runs at a time; most of their time they wait for the disk.
const WORKERS: usize = 4;
/// The existing file at the place of an output.
const OLD: &[u8] = b"what was there before\n";

fn number_of(variable: &str, default: usize) -> usize {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn book() -> String {
    let line = |number: usize| {
        let id = number.wrapping_mul(2_654_435_761) % 100_003;
        format!("{} id \"a text with the number {id}\";\n", pawns(number))
    };
    (0..number_of("EPDB_FAULT_LINES", LINES)).map(line).collect()
}

/// Games with moves chosen by their numbers; this many take several commits.
fn games() -> String {
    let mut walk = 1_u64;
    let mut game = |number: usize| {
        let mut position = Position::START;
        let mut text = format!("[Date \"2024.01.{:02}\"]\n\n", number % 28 + 1);
        for _ in 0..60 {
            let playable = Playable::new(&position).unwrap();
            let moves = ordinal::list(&playable);
            walk = walk.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(number as u64 | 1);
            let Some(&mv) = moves.get((walk >> 33) as usize % moves.len().max(1)) else { break };
            text += &format!("{} ", san::format(&playable, mv));
            position = *playable.after(mv).position();
        }
        text + "1-0\n\n"
    };
    (0..number_of("EPDB_FAULT_LINES", LINES) / 5).map(&mut game).collect()
}

/// One way in which a run is disturbed.
#[derive(Clone, Debug)]
struct Fault {
    kind: String,
    at: u64,
    action: &'static str,
}

/// The shim, the files that scenarios begin with, and where runs are made.
struct Bench {
    folder: TempDir,
    book: String,
    games: String,
    /// A library of the games.
    library: Vec<u8>,
}

impl Bench {
    /// `None` where there is no way to disturb a run.
    fn new() -> Option<Bench> {
        let folder = tempfile::tempdir().unwrap();
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cli/shim.c");
        let mut compiler = Command::new("cc");
        compiler.args(["-O1", "-shared", "-fPIC", "-o"]).arg(folder.path().join("shim.so"));
        let is_made = cfg!(target_os = "linux")
            && compiler.arg(source).arg("-ldl").status().is_ok_and(|status| status.success());
        if !is_made {
            skipped("system calls are disturbed only on Linux, and with `cc`");
            return None;
        }
        let mut bench = Bench { folder, book: book(), games: games(), library: Vec::new() };
        let made = bench.run_folder();
        fs::write(made.join("one.pgn"), "1. e4 e5 2. Nf3 1-0\n\n").unwrap();
        bench.run(&made, &["import", "s.epdb", "in.epd"], None);
        bench.run(&made, &["tally", "one.pgn", "-o", "l.epdb", "--keep-games", "2"], None);
        bench.run(&made, &["tally", "games.pgn", "-o", "library.epa", "--keep-games", "2"], None);
        bench.library = fs::read(made.join("library.epa")).unwrap();
        for store in STORES {
            fs::rename(made.join(store), bench.folder.path().join(store)).unwrap();
        }
        fs::remove_dir_all(made).unwrap();
        Some(bench)
    }

    /// A new folder with the input in it.
    fn run_folder(&self) -> PathBuf {
        let folder = tempfile::tempdir_in(self.folder.path()).unwrap().keep();
        fs::create_dir(folder.join("tmp")).unwrap();
        let few: String = self.book.split_inclusive('\n').take(FEW).collect();
        let long = self.book.repeat(7);
        let mess = few.replace(" id \"", " bm e1d1 Kd2; id \"") + "no record\n";
        for (name, content) in READ.iter().zip([
            self.book.as_bytes(),
            few.as_bytes(),
            mess.as_bytes(),
            long.as_bytes(),
            self.games.as_bytes(),
            &self.library,
        ]) {
            fs::write(folder.join(name), content).unwrap();
        }
        folder
    }

    fn scenario_folder(&self, scenario: &Scenario) -> PathBuf {
        let folder = self.run_folder();
        for given in scenario.given {
            if STORES.contains(given) {
                fs::copy(self.folder.path().join(given), folder.join(given)).unwrap();
            } else {
                fs::write(folder.join(given), OLD).unwrap();
            }
        }
        folder
    }

    fn run(&self, folder: &Path, args: &[&str], fault: Option<&Fault>) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_epdb"));
        command.args(args).current_dir(folder).env("TMPDIR", "tmp").stdin(Stdio::null());
        if let Some(Fault { kind, at, action }) = fault {
            command.env("LD_PRELOAD", self.folder.path().join("shim.so"));
            command.env("EPDB_FAULT", format!("{kind}:{at}:{action}"));
            command.env("EPDB_FAULT_LOG", log_of(folder));
        }
        command.output().unwrap()
    }

    /// Calls of each kind in an undisturbed run, and the files it makes.
    fn undisturbed(&self, scenario: &Scenario) -> (BTreeMap<String, u64>, Vec<Vec<u8>>) {
        let folder = self.scenario_folder(scenario);
        let never = Fault { kind: "none".into(), at: 0, action: "eio" };
        let done = self.run(&folder, scenario.args, Some(&never));
        assert_eq!(done.status.code(), Some(0), "{:?}: {}", scenario.args, text(&done.stderr));
        let log = fs::read_to_string(log_of(&folder)).unwrap();
        let count = |line: &str| {
            let (kind, count) = line.split_once(' ')?;
            Some((kind.to_string(), count.parse().ok()?))
        };
        let counts = log.lines().filter_map(count).collect();
        let made = scenario.made.iter().map(|name| self.content(&folder, name).unwrap()).collect();
        self.assert_tidy(scenario, &folder, false, "undisturbed");
        fs::remove_dir_all(folder).unwrap();
        (counts, made)
    }

    /// The content of a file, for a store its records; `None` if it is missing.
    fn content(&self, folder: &Path, name: &str) -> Option<Vec<u8>> {
        if !folder.join(name).exists() {
            return None;
        }
        if !name.ends_with(".epdb") {
            return Some(fs::read(folder.join(name)).unwrap());
        }
        let done = self.run(folder, &["export", name, "--sort", "key"], None);
        assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
        Some(done.stdout)
    }

    /// Nothing is there but what was given and what is made.
    fn assert_tidy(&self, scenario: &Scenario, folder: &Path, may_wait: bool, why: &str) {
        for entry in fs::read_dir(folder).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let is_known = name == "tmp"
                || READ.contains(&name.as_str())
                || scenario.given.contains(&name.as_str())
                || scenario.made.contains(&name.as_str());
            // An import that failed continues with the records that wait.
            let waits = scenario.args[0] == "import" && may_wait;
            let is_known = is_known || (waits && name == format!("{}.runs", scenario.made[0]));
            assert!(is_known, "{name} was left behind: {:?}, {why}", scenario.args);
        }
        let scratch = fs::read_dir(folder.join("tmp")).unwrap().count();
        assert_eq!(scratch, 0, "scratch files were left behind: {:?}, {why}", scenario.args);
    }

    /// One disturbed run, and the same command again. Whether the fault came.
    fn try_one(&self, scenario: &Scenario, expected: &[Vec<u8>], fault: &Fault) -> bool {
        let folder = self.scenario_folder(scenario);
        let done = self.run(&folder, scenario.args, Some(fault));
        let log = fs::read_to_string(log_of(&folder)).unwrap_or_default();
        let has_fired = log.contains("fired");
        let err = text(&done.stderr);
        let why = format!("{fault:?}: {:?} {err}", done.status);
        let args = scenario.args;
        if done.status.signal() == Some(9) {
            assert!(["kill", "torn"].contains(&fault.action), "{args:?}, {why}");
        } else if done.status.code() == Some(0) {
            let made: Vec<_> =
                scenario.made.iter().map(|name| self.content(&folder, name)).collect();
            let complete: Vec<_> = expected.iter().cloned().map(Some).collect();
            assert!(made == complete, "exit 0 means complete: {args:?}, {why}");
        } else {
            assert_eq!(done.status.code(), Some(2), "{args:?}, {why}");
            let names =
                [scenario.made, scenario.given, &READ, &["part-", "tmp", "temporary file in /"]]
                    .concat();
            assert!(
                names.iter().any(|name| err.contains(name)),
                "no file is named: {args:?}, {why}"
            );
            assert!(!err.contains(".part"), "{args:?}, {why}");
            self.assert_tidy(scenario, &folder, true, &why);
        }
        // A call may fail without harm, such as one that asks how many processors there are.
        if done.status.code() != Some(0) {
            self.assert_ends_again(scenario, &folder, expected, &why);
        }
        self.assert_tidy(scenario, &folder, false, &why);
        fs::remove_dir_all(&folder).unwrap();
        fs::remove_file(log_of(folder)).ok();
        has_fired
    }

    /// After a run that failed, what there is is complete, and the same command makes the rest.
    fn assert_ends_again(
        &self,
        scenario: &Scenario,
        folder: &Path,
        expected: &[Vec<u8>],
        why: &str,
    ) {
        let args = scenario.args;
        let is_kept = args[0] == "import";
        let mut stands = false;
        for (name, expected) in scenario.made.iter().zip(expected) {
            let Some(found) = (!is_kept).then(|| self.content(folder, name)).flatten() else {
                continue;
            };
            let is_old = scenario.given.contains(name) && found == OLD;
            assert!(is_old || found == *expected, "{name} is not complete: {args:?}, {why}");
            let is_library = args[0] == "tally" && found == *expected;
            stands |= name.ends_with(".epdb") || is_library;
        }
        let again = self.run(folder, args, None);
        let err = text(&again.stderr);
        // Existing files are complete, and an existing store or library is not made again.
        let code = if stands { 2 } else { 0 };
        assert_eq!(again.status.code(), Some(code), "again, {args:?}, {why}\nagain: {err}");
        for (name, expected) in scenario.made.iter().zip(expected) {
            let found = self.content(folder, name);
            assert!(
                found.as_ref() == Some(expected),
                "again, {name}: {args:?}, {why}\nagain: {err}"
            );
        }
    }

    /// As many trials as are wanted of all that there are, spread evenly; how often the fault came.
    fn try_all(&self, actions: &[&'static str], kinds: &[&str]) -> (usize, usize) {
        let mut trials = Vec::new();
        let undisturbed: Vec<_> =
            SCENARIOS.iter().map(|scenario| self.undisturbed(scenario)).collect();
        for (number, (counts, _)) in undisturbed.iter().enumerate() {
            for (kind, &count) in counts.iter().filter(|(kind, _)| kinds.contains(&kind.as_str())) {
                let fault = |at, action| Fault { kind: kind.clone(), at, action };
                trials.extend(
                    (1..=count).flat_map(|at| {
                        actions.iter().map(move |action| (number, fault(at, action)))
                    }),
                );
            }
        }
        let step = trials.len().div_ceil(number_of("EPDB_FAULT_TRIALS", 30)).max(1);
        let chosen: Vec<_> = trials.iter().step_by(step).collect();
        let (next, fired) = (AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            let work = || {
                while let Some((number, fault)) = chosen.get(next.fetch_add(1, Relaxed)) {
                    let expected = &undisturbed[*number].1;
                    let came = self.try_one(&SCENARIOS[*number], expected, fault);
                    fired.fetch_add(usize::from(came), Relaxed);
                }
            };
            (0..WORKERS).for_each(|_| drop(scope.spawn(work)));
        });
        let fired = fired.into_inner();
        println!("{} of {} places tried, {fired} faults came", chosen.len(), trials.len());
        (chosen.len(), fired)
    }
}

fn log_of(folder: impl AsRef<Path>) -> PathBuf {
    folder.as_ref().with_extension("log")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

const FAILING: [&str; 10] =
    ["write", "pwrite", "fsync", "truncate", "rename", "link", "chmod", "open", "read", "pread"];

#[test]
fn a_failed_call_is_reported_and_leaves_nothing() {
    let Some(bench) = Bench::new() else { return };
    let (tried, fired) = bench.try_all(&["eio", "eio+", "enospc", "enospc+"], &FAILING);
    assert!(fired * 10 > tried * 9, "{fired} of {tried}");
}

#[test]
fn after_a_kill_the_same_command_ends_as_undisturbed() {
    let Some(bench) = Bench::new() else { return };
    let kinds = ["write", "pwrite", "fsync", "truncate", "rename", "link", "unlink", "open"];
    let (tried, fired) = bench.try_all(&["kill", "torn"], &kinds);
    assert!(fired * 10 > tried * 9, "{fired} of {tried}");
}
