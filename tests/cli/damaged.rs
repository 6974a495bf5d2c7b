//! Every command that reads, on damaged stores and archives.
//!
//! A command prints the same as for the undamaged file, or ends with exit status 2. If an archive has
//! damaged blocks, `export`, `convert`, `stats` and `count` read the others and end with exit status 1;
//! so does `get` for the positions that need no damaged part.
//! A command reports "not found" and
//! "different" only if they are true. `verify` reports damage in every file that any command refuses.
//!
//! - `EPDB_COMMAND_DAMAGES=1000 cargo test --test cli damaged -- --nocapture` sets the number of damages.
//! - `EPDB_COMMAND_DAMAGES_FROM` sets the first number.
//! - `EPDB_COMMAND_DAMAGE=N` repeats a single one.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use epdb_archive::Archive;

/// Number of damages of each kind of file in a usual run.
const USUAL: u64 = 10;

/// A pseudo-random walk that is the same in every run.
struct Walk(u64);

impl Walk {
    fn of_damage(number: u64) -> Walk {
        Walk(number.wrapping_add(3).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    fn next(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        ((self.0 >> 33) % below.max(1) as u64) as usize
    }
}

/// Result of a command: exit status, standard output, and the file it wrote, if any.
#[derive(PartialEq, Eq)]
struct Given {
    status: i32,
    out: Vec<u8>,
    file: Option<Vec<u8>>,
}

/// A command on the file `S`, whose name stands for it in the arguments.
struct Reading {
    args: Vec<String>,
    input: String,
    /// The file that it writes.
    writes: Option<&'static str>,
}

fn reading(line: &str) -> Reading {
    let args: Vec<String> = line.split(' ').map(|arg| arg.replace('_', " ")).collect();
    let writes = ["out.epb", "out.epa", "out-2.epd", "out.epd"];
    let writes = writes.into_iter().find(|name| line.contains(&name.replace("-2", "-%d")));
    Reading { args, input: String::new(), writes }
}

/// Commands that continue after damaged blocks of an archive.
const PAST_DAMAGE: [&str; 6] = ["cat", "export", "unpack", "convert", "stats", "count"];

/// True if a command that ended with exit status 1 reports that it left out damaged parts. `get` also
/// ends so if a position has no record.
fn is_past_damage(command: &str, err: &str) -> bool {
    PAST_DAMAGE.contains(&command) || command == "get" && err.contains("it is not known whether")
}

/// The folder of a test, with a file of questions and records beside the one that is damaged.
struct Bench {
    folder: tempfile::TempDir,
    name: &'static str,
}

/// Different positions: kings, and pawns and knights on files chosen by the number.
fn board(nth: usize) -> String {
    let piece = |piece: char, file: usize| {
        let (before, behind) = (file % 8, 7 - file % 8);
        let blank = |count: usize| if count == 0 { String::new() } else { count.to_string() };
        format!("{}{piece}{}", blank(before), blank(behind))
    };
    let (a, b, c) = (nth, nth / 8, nth / 64);
    format!("4k3/8/{}/{}/{}/8/8/4K3 w - -", piece('n', c), piece('p', b), piece('P', a))
}

fn line(nth: usize, ce: usize) -> String {
    let words = "x".repeat(100 + nth * 7 % 200);
    format!("{} ce {ce}; id \"{nth} {words}\";\n", board(nth))
}

fn crowded(nth: usize) -> String {
    format!("4k3/8/8/8/8/8/8/4K2R w K - id \"{nth} {}\";\n", "y".repeat(250))
}

impl Bench {
    fn new(name: &'static str) -> Bench {
        let bench = Bench { folder: tempfile::tempdir().unwrap(), name };
        let first: String =
            (0..200).map(|nth| line(nth, nth)).chain((0..60).map(crowded)).collect();
        let second: String =
            (150..260).map(|nth| line(nth, 9)).chain((55..70).map(crowded)).collect();
        bench.write("first.epd", first.as_bytes());
        bench.write("second.epd", second.as_bytes());
        bench.write("other.epd", (190..300).map(|nth| line(nth, 9)).collect::<String>().as_bytes());
        bench
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        fs::write(self.path(name), bytes).unwrap();
    }

    fn epdb(&self, args: &[&str], input: &str) -> (i32, Vec<u8>, String) {
        let mut child = Command::new(env!("CARGO_BIN_EXE_epdb"))
            .args(args)
            .current_dir(self.folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A command that refuses its file does not read on.
        child.stdin.take().unwrap().write_all(input.as_bytes()).ok();
        let done = child.wait_with_output().unwrap();
        let err = String::from_utf8_lossy(&done.stderr).into_owned();
        (done.status.code().unwrap_or(-1), done.stdout, err)
    }

    fn make(&self, args: &[&str]) -> Vec<u8> {
        let (status, _, err) = self.epdb(args, "");
        assert_eq!(status, 0, "{args:?}: {err}");
        fs::read(self.path(self.name)).unwrap()
    }

    fn run(&self, reading: &Reading) -> (Given, String) {
        let args: Vec<&str> = reading
            .args
            .iter()
            .map(|arg| if arg == "S" { self.name } else { arg.as_str() })
            .collect();
        let (status, out, err) = self.epdb(&args, &reading.input);
        let file = reading.writes.and_then(|name| {
            let bytes = fs::read(self.path(name)).ok();
            for name in fs::read_dir(self.folder.path()).unwrap() {
                let path = name.unwrap().path();
                let is_output = path.file_name().unwrap().to_string_lossy().starts_with("out");
                if is_output {
                    fs::remove_file(path).unwrap();
                }
            }
            bytes
        });
        (Given { status, out, file }, err)
    }
}

/// Commands that read stores and archives alike. A blank within an argument is written `_`.
fn common() -> Vec<Reading> {
    let mut readings: Vec<Reading> = [
        "verify S",
        "count S",
        "cat S",
        "stats S",
        "stats --json S",
        "filter --where ce_<_100 S",
        "count --where ce_<_100 S",
        "dedupe S",
        "union S other.epd",
        "intersect S other.epd",
        "intersect other.epd S",
        "subtract S other.epd",
        "subtract other.epd S",
        "diff S other.epd",
        "diff other.epd S",
        "join other.epd S --take ce",
        "join S other.epd --take ce",
        "sort --by id S",
        "shuffle --seed 7 S",
        "sample -n 20 --seed 7 S",
        "head -n 250 S",
        "split --lines 200 S -o out-%d.epd",
        "edit --drop id S",
        "table --columns fen,ce S",
        "flip S",
        "normalize S",
        "convert S out.epb",
        "convert S out.epd",
        "pack S -o out.epa",
        "get S 4k3/8/8/8/8/8/8/4K2R_w_K_-",
        "get S 8/8/8/8/8/8/8/k1K5_w_-_-",
    ]
    .into_iter()
    .map(reading)
    .collect();
    let questions: String = (0..300).step_by(3).map(|nth| board(nth) + "\n").collect();
    for line in ["get S", "get --first S", "get --missing S", "get --tag S"] {
        readings.push(Reading { input: questions.clone(), ..reading(line) });
    }
    readings
}

/// The file in its present version and earlier ones, and what each command makes of it.
struct Oracle {
    versions: Vec<Vec<u8>>,
    readings: Vec<(Reading, Given, HashSet<Vec<u8>>)>,
}

impl Oracle {
    fn new(bench: &Bench, versions: Vec<Vec<u8>>, readings: Vec<Reading>) -> Oracle {
        bench.write(bench.name, versions.last().unwrap());
        let readings = readings
            .into_iter()
            .map(|reading| {
                let (given, err) = bench.run(&reading);
                let may_be_one = ["get", "diff"].contains(&reading.args[0].as_str());
                let well = given.status == 0 || (given.status == 1 && may_be_one);
                assert!(well, "{:?}: {} {err}", reading.args, given.status);
                let lines = given.out.split_inclusive(|&byte| byte == b'\n');
                let lines = lines.map(<[u8]>::to_vec).collect();
                (reading, given, lines)
            })
            .collect();
        Oracle { versions, readings }
    }

    /// Damages the file and says how.
    fn damage(&self, walk: &mut Walk, path: &Path) -> String {
        let (sound, earlier) = self.versions.split_last().unwrap();
        let mut bytes = sound.clone();
        let sizes: &[usize] = if bytes.len() > 1 << 16 { &[512, 4096] } else { &[32, 64, 512] };
        let size = sizes[walk.next(sizes.len())];
        let used: Vec<usize> = (0..bytes.len())
            .step_by(size)
            .filter(|&at| bytes[at..].iter().take(size).any(|&byte| byte != 0))
            .collect();
        let (one, other) = (used[walk.next(used.len())], used[walk.next(used.len())]);
        let len = size.min(bytes.len() - one).min(bytes.len() - other);
        let at = one + walk.next(len);
        let what = match walk.next(9) {
            0..=2 => {
                bytes[at] ^= 1 << walk.next(8);
                format!("a bit of byte {at}")
            }
            3 => {
                bytes[at] = walk.next(256) as u8;
                format!("byte {at}")
            }
            4 => {
                let kept = bytes[one..one + len].to_vec();
                bytes.copy_within(other..other + len, one);
                bytes[other..other + len].copy_from_slice(&kept);
                format!("{len} bytes at {one} and {other} swapped")
            }
            5 => {
                bytes.copy_within(one..one + len, other);
                format!("{len} bytes at {one} doubled at {other}")
            }
            6 => {
                bytes[one..one + len].fill(0);
                format!("{len} bytes at {one} zeroed")
            }
            7 => {
                bytes.truncate(at);
                format!("cut to {at} bytes")
            }
            _ => {
                let version = walk.next(earlier.len());
                let stale = &earlier[version];
                let differing: Vec<usize> = (0..stale.len().min(bytes.len()))
                    .step_by(size)
                    .filter(|&at| {
                        let end = (at + size).min(stale.len()).min(bytes.len());
                        stale[at..end] != bytes[at..end]
                    })
                    .collect();
                let at = differing[walk.next(differing.len())];
                let end = (at + size).min(stale.len()).min(bytes.len());
                bytes[at..end].copy_from_slice(&stale[at..end]);
                format!("{size} bytes at {at} stale, of version {version}")
            }
        };
        fs::write(path, bytes).unwrap();
        what
    }

    /// Runs the first commands and some of the others on a damaged file.
    fn hold(&self, bench: &Bench, number: u64, tally: &mut BTreeMap<&'static str, u64>) {
        let mut walk = Walk::of_damage(number);
        let what = self.damage(&mut walk, &bench.path(bench.name));
        let always = 0..3;
        let others = (0..6).map(|_| always.end + walk.next(self.readings.len() - always.end));
        let chosen: Vec<usize> = always.clone().chain(others).collect();
        let mut is_good = false;
        for (nth, (reading, expected, lines)) in
            chosen.into_iter().map(|nth| (nth, &self.readings[nth]))
        {
            let (given, err) = bench.run(reading);
            let tell = || {
                let out = String::from_utf8_lossy(&given.out[..given.out.len().min(500)]);
                let status = given.status;
                format!("damage {number} ({what}): {:?}: {status} {err} {out}", reading.args)
            };
            assert!(!err.contains("panicked") && (0..3).contains(&given.status), "{}", tell());
            if nth == 0 {
                is_good = given.status == 0;
                *tally.entry(if is_good { "no damage found" } else { "damaged" }).or_default() += 1;
            } else if given.status == 2 {
                assert!(!is_good, "verify finds nothing: {}", tell());
                assert!(given.file.is_none(), "a file that is not complete: {}", tell());
                let mut whole = given.out.split_inclusive(|&byte| byte == b'\n');
                let strange = whole.find(|line| line.ends_with(b"\n") && !lines.contains(*line));
                assert!(strange.is_none(), "what is not in the file: {strange:?} {}", tell());
                *tally.entry("refused").or_default() += 1;
            } else if given.status == 1 && is_past_damage(&reading.args[0], &err) {
                let is_named = ["damaged", "truncated"].iter().any(|what| err.contains(what));
                assert!(!is_good && is_named, "{}", tell());
                let are_lines =
                    ["cat", "export", "unpack", "get"].contains(&reading.args[0].as_str());
                let mut out = given.out.split_inclusive(|&byte| byte == b'\n');
                let strange = out.find(|line| are_lines && !lines.contains(*line));
                assert!(strange.is_none(), "what is not in the file: {strange:?} {}", tell());
                *tally.entry("in part").or_default() += 1;
            } else {
                assert!(given == *expected, "other than all: {}", tell());
                *tally.entry("complete").or_default() += 1;
            }
        }
    }
}

fn asked_for() -> std::ops::Range<u64> {
    let number = |name| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    match number("EPDB_COMMAND_DAMAGE") {
        Some(one) => one..one + 1,
        None => {
            let from = number("EPDB_COMMAND_DAMAGES_FROM").unwrap_or(0);
            from..from + number("EPDB_COMMAND_DAMAGES").unwrap_or(USUAL)
        }
    }
}

fn told(what: &str, tally: &BTreeMap<&str, u64>) {
    println!("{what}: {tally:?}");
    assert!(tally.contains_key("refused") || std::env::var("EPDB_COMMAND_DAMAGE").is_ok());
}

#[test]
fn commands_give_all_of_a_damaged_store_or_an_error() {
    let bench = Bench::new("s.epdb");
    let merging = ["import", "s.epdb", "second.epd", "--on-duplicate", "merge"];
    let versions = vec![
        bench.make(&["import", "s.epdb", "first.epd"]),
        bench.make(&merging),
        bench.make(&["import", "s.epdb", "other.epd", "--on-duplicate", "skip"]),
    ];
    let mut readings = common();
    readings.extend(["export S", "export --sort key S", "dump S"].map(reading));
    let oracle = Oracle::new(&bench, versions, readings);
    let mut tally = BTreeMap::new();
    asked_for().for_each(|number| oracle.hold(&bench, number, &mut tally));
    told("stores", &tally);
}

#[test]
fn commands_give_all_of_a_damaged_archive_or_an_error() {
    let bench = Bench::new("a.epa");
    let kinds: [&[&str]; 5] = [
        &["--level", "fast"],
        &["--level", "default"],
        &["--sorted", "--block", "16"],
        &["--no-index"],
        &["--verbatim"],
    ];
    let oracles = kinds.map(|kind| {
        let pack = |files: &[&str]| {
            bench.make(&[&["pack", "--force", "-o", "a.epa"], kind, files].concat())
        };
        let mut readings = common();
        readings.extend(["unpack S", "unpack --range 50..100 S"].map(reading));
        let mut last = vec!["second.epd", "first.epd"];
        if kind.contains(&"--verbatim") {
            last.pop();
            readings.push(reading("unpack --verbatim S"));
        }
        let versions = vec![pack(&["first.epd"]), pack(&last)];
        Oracle::new(&bench, versions, readings)
    });
    let mut tally = BTreeMap::new();
    for number in asked_for() {
        oracles[number as usize % oracles.len()].hold(&bench, number, &mut tally);
    }
    told("archives", &tally);
}

/// The number of records that the summary says are lost.
fn lost_records(text: &str) -> u64 {
    let found = text.lines().find(|line| line.contains(" lost in 1 damaged part"));
    let number = found.and_then(|line| line.split(' ').nth(1));
    number.and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("{text}"))
}

/// Flips a byte of a part of the archive, at a share of its length.
fn flip(path: &Path, part: &str, numerator: u64, denominator: u64) {
    let archive = Archive::open(path).unwrap();
    let part = archive.parts().into_iter().find(|it| it.name == part).unwrap();
    drop(archive);
    let mut bytes = fs::read(path).unwrap();
    bytes[(part.offset + part.len * numerator / denominator) as usize] ^= 0x10;
    fs::write(path, bytes).unwrap();
}

/// Only the records of damaged blocks are lost. The message names the block, its bytes and the
/// records.
#[test]
fn records_outside_of_damaged_blocks_are_exported() {
    let bench = Bench::new("a.epa");
    let kings = include_bytes!("../../formats/golden/archive/kings.epd");
    bench.write("kings.epd", kings);
    let kinds: [(&[&str], &str, &str); 4] = [
        (&["--level", "fast", "first.epd"], "rows", "record"),
        (&["--block", "16", "first.epd"], "blocks", "block"),
        (&["--sorted", "--block", "16", "first.epd"], "blocks", "block"),
        (&["--block", "32", "kings.epd"], "blocks", "block"),
    ];
    for (kind, part, word) in kinds {
        let sound = bench.make(&[&["pack", "--force", "-o", "a.epa"], kind].concat());
        let (_, all, _) = bench.epdb(&["export", "a.epa"], "");
        let all: Vec<&[u8]> = all.split_inclusive(|&byte| byte == b'\n').collect();
        for share in [0, 7] {
            bench.write("a.epa", &sound);
            flip(&bench.path("a.epa"), part, share, 10);
            let (status, out, err) = bench.epdb(&["export", "a.epa"], "");
            assert_eq!(status, 1, "{kind:?} {share}: {err}");
            assert!(err.contains(&format!("a.epa: damaged: {word} ")), "{err}");
            let lost = lost_records(&err);
            let left: Vec<&[u8]> = out.split_inclusive(|&byte| byte == b'\n').collect();
            assert_eq!(left.len() as u64 + lost, all.len() as u64, "{err}");
            // What is left is in order.
            let mut rest = all.iter();
            assert!(left.iter().all(|line| rest.any(|other| other == line)), "{kind:?}: {err}");

            let (status, _, err) = bench.epdb(&["convert", "a.epa", "out.epb"], "");
            assert_eq!(status, 1, "{err}");
            assert_eq!(bench.epdb(&["export", "out.epb"], "").1, out);
            fs::remove_file(bench.path("out.epb")).unwrap();
            let (status, converted, _) = bench.epdb(&["export", "a.epa", "--to", "fen"], "");
            let lines = converted.split(|&byte| byte == b'\n').count() - 1;
            assert_eq!((status, lines), (1, left.len()));
            let (status, counted, _) = bench.epdb(&["count", "--where", "pieces > 0", "a.epa"], "");
            assert_eq!((status, counted), (1, format!("{}\n", left.len()).into_bytes()));
            let (status, stats, _) = bench.epdb(&["stats", "a.epa"], "");
            let stats = String::from_utf8(stats).unwrap();
            assert!(
                stats.lines().next().unwrap().ends_with(&format!(" {}", left.len())),
                "{stats}"
            );
            assert_eq!(status, 1);
            let (status, verified, _) = bench.epdb(&["verify", "a.epa"], "");
            let verified = String::from_utf8(verified).unwrap();
            assert!(verified.contains(&format!("a.epa: damaged: {word} ")), "{verified}");
            assert!(verified.contains("lost, number"), "{verified}");
            assert_eq!(status, 1);
        }
    }
    // Other commands would give wrong answers without some of the records.
    for command in [&["subtract", "first.epd", "a.epa"] as &[&str], &["dedupe", "a.epa"]] {
        assert_eq!(bench.epdb(command, "").0, 2);
    }
}

/// Every file without a damaged part is restored. The others are named and not left half-written.
/// `get` answers for each position whose blocks are sound, says for how many it cannot, and does not
/// call these missing.
#[test]
fn positions_outside_of_damaged_blocks_are_found() {
    let bench = Bench::new("a.epa");
    let kinds: [(&[&str], &str); 4] = [
        (&["--level", "fast"], "rows"),
        (&["--block", "16"], "blocks"),
        (&["--block", "16", "--no-index"], "blocks"),
        (&["--sorted", "--block", "16"], "blocks"),
    ];
    for (kind, part) in kinds {
        let sound =
            bench.make(&[&["pack", "--force", "-o", "a.epa"], kind, &["first.epd"]].concat());
        let (_, all, _) = bench.epdb(&["export", "a.epa"], "");
        bench.write("asked.fen", &all);
        let (_, complete, _) = bench.epdb(&["get", "a.epa", "-f", "asked.fen", "--tag"], "");
        let complete: HashSet<&[u8]> = complete.split(|&byte| byte == b'\n').collect();
        for share in [0, 7] {
            bench.write("a.epa", &sound);
            flip(&bench.path("a.epa"), part, share, 10);
            let (status, out, err) = bench.epdb(&["get", "a.epa", "-f", "asked.fen", "--tag"], "");
            assert_eq!(status, 1, "{kind:?} {share}: {err}");
            assert!(err.contains("a.epa: damaged: ") && err.contains("epdb export"), "{err}");
            assert!(!err.contains("no record of"), "{err}");
            let found: HashSet<&[u8]> = out.split(|&byte| byte == b'\n').collect();
            assert!(found.is_subset(&complete), "{kind:?} {share}");
            let lost = complete.len() - found.len();
            assert!((1..=complete.len() / 2).contains(&lost), "{kind:?} {share}: {lost}");
            let (status, out, _) =
                bench.epdb(&["get", "a.epa", "-f", "asked.fen", "--missing"], "");
            assert_eq!((status, out), (1, Vec::new()), "{kind:?} {share}");
        }
    }
}

/// `count` and `get` answer from what `export` still writes, and say that more may be missing.
#[test]
fn records_before_a_missing_end_are_counted_and_found() {
    let bench = Bench::new("a.epa");
    let kinds: [&[&str]; 4] =
        [&["--level", "fast"], &["--block", "16"], &["--sorted", "--block", "16"], &["--verbatim"]];
    for kind in kinds {
        let sound =
            bench.make(&[&["pack", "--force", "-o", "a.epa"], kind, &["first.epd"]].concat());
        let archive = Archive::open(bench.path("a.epa")).unwrap();
        let blocks = archive.parts().into_iter().find(|part| part.name == "blocks");
        // At level fast, the heap with all records comes after the rows.
        let cut =
            blocks.map_or(sound.len() - 90, |part| (part.offset + part.len * 7 / 10) as usize);
        drop(archive);
        for bytes in [&sound[..cut], &sound[..sound.len() - 60]] {
            bench.write("a.epa", bytes);
            let (_, left, _) = bench.epdb(&["export", "a.epa"], "");
            let lines = left.split_inclusive(|&byte| byte == b'\n').count();
            let counted = bench.epdb(&["count", "a.epa"], "");
            assert_eq!((counted.0, counted.1), (1, format!("{lines}\n").into_bytes()), "{kind:?}");

            bench.write("asked.fen", &left);
            let (status, found, err) = bench.epdb(&["get", "a.epa", "-f", "asked.fen"], "");
            assert!(status == 1 && err.contains("epdb export"), "{kind:?}: {status} {err}");
            let found: HashSet<&[u8]> = found.split(|&byte| byte == b'\n').collect();
            assert!(left.split(|&byte| byte == b'\n').all(|line| found.contains(line)), "{kind:?}");
            let absent = ["get", "a.epa", "8/8/8/4k3/8/1K6/8/8 b - -", "--missing"];
            let (status, absent, _) = bench.epdb(&absent, "");
            assert_eq!((status, absent), (1, Vec::new()), "{kind:?}");
        }
    }
}

/// A store with a damaged bucket: what is sound is exported in both orders, counted and searched, and each command
/// says how many records are lost, or names the one that writes the others.
#[test]
fn records_outside_of_damaged_buckets_are_exported() {
    let bench = Bench::new("s.epdb");
    let lines: String = (0..200).map(|nth| line(nth, nth)).collect();
    bench.write("in.epd", lines.as_bytes());
    let mut bytes = bench.make(&["import", "s.epdb", "in.epd"]);
    let words = b"77 xxxxxxxxxx";
    let place = bytes.windows(words.len()).rposition(|it| it == words).unwrap();
    bytes[place + 5] ^= 0x10;
    bench.write("s.epdb", &bytes);
    for args in [
        &["export", "s.epdb"][..],
        &["export", "s.epdb", "--sort", "key"],
        &["export", "s.epdb", "--where", "pieces > 0"],
    ] {
        let (status, out, err) = bench.epdb(args, "");
        assert_eq!(status, 1, "{args:?}: {err}");
        let out = String::from_utf8(out).unwrap();
        let lost = lost_records(&err);
        assert!((1..100).contains(&lost), "{args:?}: {err}");
        assert_eq!(out.lines().count() as u64, 200 - lost, "{args:?}");
        assert!(out.lines().all(|line| lines.contains(line)), "{args:?}");
    }
    let (status, out, err) = bench.epdb(&["count", "s.epdb", "--where", "pieces > 0"], "");
    assert_eq!(status, 1, "{err}");
    assert_eq!(out, format!("{}\n", 200 - lost_records(&err)).into_bytes());
    let (status, _, err) = bench.epdb(&["pack", "s.epdb", "-o", "p.epa"], "");
    assert_eq!(status, 2, "{err}");
    assert!(err.contains("`epdb export FILE` writes the records that are not damaged"), "{err}");
    assert!(!bench.path("p.epa").exists());
}

#[test]
fn files_outside_of_damaged_blocks_are_restored() {
    let bench = Bench::new("a.epa");
    let files: Vec<String> = (0..6).map(|nth| format!("part-{nth}.epd")).collect();
    for (nth, name) in files.iter().enumerate() {
        let line = |it: usize| format!("{} ce {};  id \"{nth}\";\n", board(it % 512), it % 7);
        let lines: String = (0..900).map(line).collect();
        bench.write(name, lines.as_bytes());
    }
    let mut pack = vec!["pack", "--verbatim", "--level", "fast", "-o", "a.epa"];
    pack.extend(files.iter().map(String::as_str));
    let sound = bench.make(&pack);
    for (part, share) in [("rows", 1), ("rows", 4), ("rows", 9), ("side data", 5)] {
        bench.write("a.epa", &sound);
        flip(&bench.path("a.epa"), part, share, 10);
        let (status, _, err) = bench.epdb(&["export", "--verbatim", "a.epa", "-o", "restored"], "");
        assert_eq!(status, 1, "{err}");
        let mut lost = 0;
        for name in &files {
            let restored = fs::read(bench.path("restored").join(name));
            if err.contains(&format!("a.epa: `{name}` is damaged and not restored")) {
                assert!(restored.is_err(), "{name}: {err}")
            } else {
                assert!(restored.unwrap() == fs::read(bench.path(name)).unwrap(), "{name}")
            }
            lost += u64::from(err.contains(&format!("`{name}`")));
        }
        // A block of rows may have records of two files. Behind a damaged head of side data, no file is found.
        let most = if part == "rows" { 2 } else { 5 };
        assert!((1..=most).contains(&lost), "{part}: {err}");
        fs::remove_dir_all(bench.path("restored")).unwrap();
    }
}

/// Files are not written one after the other to standard output.
#[test]
fn several_files_need_a_folder() {
    let bench = Bench::new("a.epa");
    bench.make(&["pack", "--verbatim", "-o", "a.epa", "first.epd", "second.epd"]);
    for args in [
        &["export", "--verbatim", "a.epa"] as &[&str],
        &["unpack", "--verbatim", "a.epa", "-o", "-"],
    ] {
        let (status, out, err) = bench.epdb(args, "");
        assert_eq!((status, out.is_empty()), (2, true), "{err}");
        assert!(err.contains("the archive has 2 files: name the folder"), "{err}");
    }
}

/// Only the records of damaged frames of a stream are lost.
#[test]
fn records_outside_of_damaged_frames_are_exported() {
    let bench = Bench::new("a.epb");
    let lines: String = (0..1500).map(|nth| line(nth % 512, nth)).collect();
    bench.write("long.epd", lines.as_bytes());
    let sound = bench.make(&["convert", "long.epd", "a.epb"]);
    let (_, all, _) = bench.epdb(&["export", "a.epb"], "");
    let all: Vec<&[u8]> = all.split_inclusive(|&byte| byte == b'\n').collect();
    let frames: Vec<usize> =
        (0..sound.len() - 4).filter(|&at| sound[at..at + 4] == sound[..4]).collect();
    assert!(frames.len() > 3, "{frames:?}");
    let first = regex::Regex::new("numbers? ([0-9]+)").unwrap();
    // A byte of the payload, the length, the kind, the magic bytes, and a whole frame.
    for (at, len) in [(40, 1), (6, 1), (5, 1), (0, 4), (0, frames[1])] {
        for frame in [0, 1, frames.len() - 2] {
            let mut bytes = sound.clone();
            let start = frames[frame] + at;
            let end = (start + len).min(frames[frame + 1]);
            bytes[start..end].iter_mut().for_each(|byte| *byte ^= 0x55);
            bench.write("a.epb", &bytes);
            let (status, out, err) = bench.epdb(&["export", "a.epb"], "");
            assert_eq!(status, 1, "{at} {frame}: {err}");
            assert!(
                err.contains(&format!(
                    "a.epb: damaged: frame {}, bytes {} to",
                    frame + 1,
                    frames[frame]
                )),
                "{err}"
            );
            if let Some(first) = first.captures(&err) {
                let (_, verified, _) = bench.epdb(&["verify", "a.epb"], "");
                let named = format!("frame {}, record {}: ", frame + 1, &first[1]);
                assert!(String::from_utf8_lossy(&verified).contains(&named), "{named}");
            }
            let left: Vec<&[u8]> = out.split_inclusive(|&byte| byte == b'\n').collect();
            assert_eq!(
                left.len() as u64 + lost_records(&err),
                all.len() as u64,
                "{at} {frame}: {err}"
            );
            let mut rest = all.iter();
            assert!(left.iter().all(|line| rest.any(|other| other == line)), "{err}");
            let (status, counted, _) = bench.epdb(&["count", "a.epb"], "");
            assert_eq!((status, counted), (1, format!("{}\n", left.len()).into_bytes()));
            assert_eq!(bench.epdb(&["dedupe", "a.epb"], "").0, 2);
        }
    }
    // The end is missing.
    bench.write("a.epb", &sound[..frames[2] + 30]);
    let (status, out, err) = bench.epdb(&["export", "a.epb"], "");
    assert!(status == 1 && err.contains("it is not known how many records are lost"), "{err}");
    assert!(all.concat().starts_with(&out) && !out.is_empty());
}

/// Archives that are cut off while a command reads them: an error that names the file, and no signal.
#[cfg(unix)]
#[test]
fn a_file_that_is_cut_off_while_it_is_read_is_an_error() {
    use std::io::{BufRead, BufReader, Read};
    use std::os::unix::process::ExitStatusExt;

    let scratch = crate::scratch::Scratch::new();
    let positions = crate::random_positions::positions(60_000);
    let line = |position| {
        let record = epdb_chess::model::EpdRecord::new(position);
        String::from_utf8(epdb_chess::format_epd(&record)).unwrap() + " id \"a longer text\";\n"
    };
    let lines: Vec<String> = positions.into_iter().map(line).collect();
    scratch.write("a.epd", lines.concat());
    for level in [&["--level", "fast"][..], &["--level", "fast", "--sorted"], &[], &["--verbatim"]]
    {
        assert_eq!(
            scratch.run(&[&["pack", "--force", "a.epd", "-o", "a.epa"], level].concat()).status,
            0
        );
        let bytes = scratch.read("a.epa");
        for (command, asks) in [
            (&["get", "a.epa", "-f", "-"][..], true),
            (&["export", "a.epa"], false),
            (&["normalize", "a.epa"], false),
            (&["table", "a.epa", "--columns", "fen,id"], false),
        ] {
            scratch.write("a.epa", &bytes);
            let mut command_line = Command::new(assert_cmd::cargo::cargo_bin("epdb"));
            command_line.args(command).current_dir(scratch.path(""));
            command_line.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
            let mut child = command_line.spawn().unwrap();
            let mut input = child.stdin.take().unwrap();
            let mut output = BufReader::with_capacity(1, child.stdout.take().unwrap());
            if asks {
                input.write_all(lines[1].as_bytes()).unwrap();
            }
            // The command has begun to read. More output than a pipe takes would make it wait.
            output.read_line(&mut String::new()).unwrap();
            let file = fs::OpenOptions::new().write(true).open(scratch.path("a.epa")).unwrap();
            file.set_len(4096).unwrap();
            if asks {
                lines.iter().step_by(500).for_each(|line| {
                    input.write_all(line.as_bytes()).ok();
                });
            }
            drop(input);
            output.read_to_end(&mut Vec::new()).unwrap();
            let mut message = String::new();
            child.stderr.take().unwrap().read_to_string(&mut message).unwrap();
            let status = child.wait().unwrap();
            assert_eq!(status.signal(), None, "{level:?} {command:?}");
            assert!([1, 2].contains(&status.code().unwrap()), "{command:?}: {message}");
            let said = "a.epa: the file was cut off at byte 4096 while it was open";
            assert!(message.contains(said), "{level:?} {command:?}: {message}");
        }
    }
}
