//! Outputs appear complete or not at all, however a run ends.
//!
//! No output is written over a file that must not be replaced.

use std::fs::{self, File, Permissions};
use std::io::{Read, Write};
use std::ops::RangeInclusive;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Output, Stdio};

use crate::scratch::Scratch;
use crate::skipped::skipped;

const START: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -";

/// Kings, and a pawn on each of three ranks: another position for each number below 512.
pub(crate) fn pawns(number: usize) -> String {
    let rank = |number: usize| match number % 8 {
        0 => "P7".to_string(),
        7 => "7P".to_string(),
        file => format!("{file}P{}", 7 - file),
    };
    let (a, b, c) = (rank(number), rank(number / 8), rank(number / 64));
    format!("4k3/8/{a}/{b}/{c}/8/8/4K3 w - -")
}

/// Lines of different positions.
fn book(lines: usize) -> String {
    let line = |number| format!("{} id \"{number}\";\n", pawns(number));
    (0..lines).map(line).collect()
}

fn epdb(scratch: &Scratch, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_epdb"));
    command.args(args).current_dir(scratch.path(""));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn shell(scratch: &Scratch, script: &str) -> Output {
    let mut command = Command::new("sh");
    command.args(["-c", script]).env("epdb", env!("CARGO_BIN_EXE_epdb"));
    command.current_dir(scratch.path("")).output().unwrap()
}

fn make_fifo(scratch: &Scratch, name: &str) {
    assert!(Command::new("mkfifo").arg(scratch.path(name)).status().unwrap().success());
}

/// Starts a command that reads a FIFO, and comes back when it has opened it: then its outputs are
/// under construction.
fn start(mut command: Command, scratch: &Scratch, fifo: &str) -> (Child, File) {
    let child = command.spawn().unwrap();
    let mut input = File::options().write(true).open(scratch.path(fifo)).unwrap();
    input.write_all(book(100).as_bytes()).unwrap();
    (child, input)
}

fn send(child: &Child, signal: &str) {
    let pid = child.id().to_string();
    assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
}

/// Whether this process was started with a signal ignored, as by `nohup`; what it starts goes on
/// ignoring it then.
fn is_ignored(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .is_some_and(|mask| mask & (1 << (signal - 1)) != 0)
}

/// The commands that make files, reading the FIFO `in`, and the number of files that they have begun.
const MAKERS: [(&[&str], RangeInclusive<usize>); 8] = [
    (&["import", "out.epdb", "in"], 1..=1),
    (&["normalize", "in", "-o", "out.epd", "--rejects", "bad", "--repairs", "repairs"], 3..=3),
    (&["sort", "--by", "id", "in", "-o", "out.epd.gz", "--memory", "1K"], 1..=1),
    // Their sources are opened before their outputs, so that a kill may come between them.
    (&["pack", "in", "-o", "out.epa"], 0..=1),
    (&["dedupe", "in", "-o", "out.epb", "--memory", "1K"], 0..=1),
    (&["split", "--ratio", "1:1:1", "in", "-o", "part-%d.epd"], 3..=3),
    (&["convert", "in", "out.epdb"], 0..=1),
    (&["convert", "in", "out.epd.zst"], 1..=1),
];

// README: Files appear complete or not at all
#[test]
fn signals_remove_unfinished_files_and_end_the_process() {
    for (args, files) in MAKERS {
        for (name, signal) in [("-INT", 2), ("-TERM", 15), ("-HUP", 1)] {
            if is_ignored(signal) {
                skipped(&format!("the tests were started with signal {signal} ignored"));
                continue;
            }
            let scratch = Scratch::new();
            make_fifo(&scratch, "in");
            let (mut child, input) = start(epdb(&scratch, args), &scratch, "in");
            let begun = scratch.names().len() - 1;
            assert!(files.contains(&begun), "{args:?}: {:?}", scratch.names());
            send(&child, name);
            assert_eq!(child.wait().unwrap().signal(), Some(signal), "{args:?}");
            drop(input);
            assert_eq!(scratch.names(), ["in"], "{args:?} {name}");
        }
    }
}

#[test]
fn a_shell_sees_143_after_a_termination() {
    let scratch = Scratch::new();
    make_fifo(&scratch, "in");
    let mut command = Command::new("sh");
    let script = "\"$epdb\" normalize in -o out.epd & echo $!; wait $!; echo $?";
    command.args(["-c", script]).env("epdb", env!("CARGO_BIN_EXE_epdb"));
    command.current_dir(scratch.path("")).stdout(Stdio::piped());
    let (child, input) = start(command, &scratch, "in");
    // Shells start background commands with SIGINT ignored, and so it stays.
    let mut out = child.stdout.unwrap();
    let mut pid = Vec::new();
    while !pid.ends_with(b"\n") {
        let mut byte = [0];
        out.read_exact(&mut byte).unwrap();
        pid.extend(byte);
    }
    let pid = String::from_utf8(pid).unwrap();
    for signal in ["-INT", "-TERM"] {
        assert!(Command::new("kill").args([signal, pid.trim()]).status().unwrap().success());
    }
    let mut status = String::new();
    out.read_to_string(&mut status).unwrap();
    assert_eq!(status, "143\n");
    drop(input);
    assert_eq!(scratch.names(), ["in"]);
}

#[test]
fn a_hang_up_that_is_ignored_stays_ignored() {
    let scratch = Scratch::new();
    make_fifo(&scratch, "in");
    let mut command = Command::new("sh");
    let script = "trap '' HUP; exec \"$epdb\" normalize in -o out.epd";
    command.args(["-c", script]).env("epdb", env!("CARGO_BIN_EXE_epdb"));
    command.current_dir(scratch.path(""));
    let (mut child, input) = start(command, &scratch, "in");
    send(&child, "-HUP");
    drop(input);
    assert!(child.wait().unwrap().success());
    assert_eq!(scratch.text("out.epd").lines().count(), 100);
}

/// What a killed process could not remove is removed by the next one, and what belongs to one that
/// lives is not.
#[test]
fn files_left_by_a_kill_are_removed_by_the_next_run() {
    for (args, files) in MAKERS {
        let scratch = Scratch::new();
        make_fifo(&scratch, "in");
        make_fifo(&scratch, "in2");
        let (mut child, input) = start(epdb(&scratch, args), &scratch, "in");
        let normalize = epdb(&scratch, &["normalize", "in2", "-o", "a.epd"]);
        let (mut living, mut other) = start(normalize, &scratch, "in2");
        child.kill().unwrap();
        child.wait().unwrap();
        drop(input);
        let begun = scratch.names().len() - 3;
        assert!(files.contains(&begun), "{args:?}: {:?}", scratch.names());
        scratch.write("b", book(3));
        assert_eq!(scratch.run(&["normalize", "b", "-o", "c.epd"]).status, 0);
        let names = scratch.names();
        assert_eq!(names.len(), 5, "{args:?}: {names:?}");
        assert!(names[0].starts_with(".epdb-a.epd-"), "{names:?}");
        other.write_all(START.as_bytes()).unwrap();
        drop(other);
        assert!(living.wait().unwrap().success());
        assert_eq!(scratch.names(), ["a.epd", "b", "c.epd", "in", "in2"], "{args:?}");
    }
}

#[test]
fn a_store_of_convert_appears_when_it_is_complete() {
    let scratch = Scratch::with("good.epd", book(3000));
    let mut cut = Vec::new();
    let gz = Command::new("gzip").args(["-c", "good.epd"]).current_dir(scratch.path("")).output();
    cut.extend_from_slice(&gz.unwrap().stdout);
    cut.truncate(cut.len() / 2);
    scratch.write("cut.epd.gz", cut);
    let before = scratch.names();
    for input in ["nosuch.epd", "cut.epd.gz", "."] {
        let done = scratch.run(&["convert", input, "q.epdb"]);
        assert_eq!(done.status, 2, "{}", done.err);
        assert_eq!(scratch.names(), before, "{input}");
    }
    assert_eq!(scratch.run(&["convert", "good.epd", "q.epdb"]).status, 0);
    assert_eq!(scratch.run(&["count", "q.epdb"]).out, "3000\n");
    assert_eq!(scratch.run(&["verify", "q.epdb"]).status, 0);
    let again = scratch.run(&["convert", "good.epd", "q.epdb"]);
    assert_eq!(again.status, 2);
    assert!(again.err.contains("q.epdb"), "{}", again.err);
    symlink("there.epdb", scratch.path("link.epdb")).unwrap();
    assert_eq!(scratch.run(&["convert", "good.epd", "link.epdb"]).status, 0);
    assert_eq!(scratch.run(&["count", "there.epdb"]).out, "3000\n");
    let no_stdout = scratch.run(&["convert", "good.epd", "-", "--to", "epdb"]);
    assert_eq!((no_stdout.status, scratch.path("-").exists()), (2, false));
}

#[test]
fn a_store_in_which_nothing_was_committed_does_not_stay() {
    let scratch = Scratch::with("cut.epd.gz", b"\x1f\x8b\x08");
    for input in ["nosuch.epd", ".", "cut.epd.gz"] {
        let done = scratch.run(&["import", "new.epdb", input]);
        assert_eq!(done.status, 2, "{}", done.err);
        assert_eq!(scratch.names(), ["cut.epd.gz"], "{input}");
    }
    scratch.write("a.epd", book(4000));
    scratch.write("b.epd", "");
    assert_eq!(scratch.run(&["import", "a.epdb", "a.epd", "b.epd", "--memory", "1M"]).status, 0);
    assert_eq!(scratch.run(&["count", "a.epdb"]).out, "4000\n");
    assert_eq!(scratch.run(&["import", "b.epdb", "b.epd"]).status, 0);
    assert_eq!(scratch.run(&["verify", "a.epdb", "b.epdb"]).status, 0);
    assert_eq!(scratch.run(&["import", "c.epdb", "a.epd", "nosuch.epd"]).status, 2);
    assert!(!scratch.path("c.epdb").exists(), "all files are looked at first");
}

#[test]
fn mode_bits_and_links_of_a_replaced_file_stay() {
    let scratch = Scratch::with("p.epd", book(10));
    symlink("p.epd", scratch.path("link.epd")).unwrap();
    for mode in [0o600, 0o664, 0o640] {
        fs::set_permissions(scratch.path("p.epd"), Permissions::from_mode(mode)).unwrap();
        for output in ["p.epd", "link.epd"] {
            let inode = fs::metadata(scratch.path("p.epd")).unwrap().ino();
            assert_eq!(scratch.run(&["normalize", "p.epd", "-o", output]).status, 0);
            let found = fs::metadata(scratch.path("p.epd")).unwrap();
            assert_eq!(found.mode() & 0o7777, mode);
            assert_ne!(found.ino(), inode, "it was replaced");
        }
    }
    assert!(fs::symlink_metadata(scratch.path("link.epd")).unwrap().is_symlink());
    assert_eq!(scratch.text("p.epd").lines().count(), 10);
}

#[test]
fn an_output_is_no_other_output_and_no_input_of_rejects() {
    let scratch = Scratch::with("in.epd", book(5) + "no record\n");
    symlink("in.epd", scratch.path("link")).unwrap();
    symlink("new", scratch.path("dangling")).unwrap();
    fs::hard_link(scratch.path("in.epd"), scratch.path("hard")).unwrap();
    fs::create_dir(scratch.path("deep")).unwrap();
    scratch.run(&["import", "s.epdb", "in.epd"]);
    let (before, content) = (scratch.names(), scratch.read("in.epd"));
    for args in [
        &["normalize", "in.epd", "-o", "z", "--rejects", "z"][..],
        &["normalize", "in.epd", "-o", "z", "--rejects", "deep/../z"],
        &["normalize", "in.epd", "-o", "new", "--rejects", "dangling"],
        &["normalize", "in.epd", "--repairs", "z", "--rejects", "./z"],
        &["normalize", "in.epd", "-o", "z", "--repairs", "z"],
        &["normalize", "in.epd", "--rejects", "in.epd"],
        &["normalize", "in.epd", "--rejects", "link"],
        &["normalize", "in.epd", "--rejects", "hard"],
        &["normalize", "in.epd", "in.epd", "--repairs", "link"],
        &["filter", "in.epd", "--where", "pieces > 1", "--rejects", "link"],
        &["convert", "in.epd", "z.epd", "--rejects", "z.epd"],
        &["convert", "in.epd", "z.epd", "--rejects", "in.epd"],
        &["import", "s.epdb", "in.epd", "--rejects", "s.epdb"],
        &["import", "s.epdb", "in.epd", "--rejects", "in.epd"],
        &["import", "s.epdb", "in.epd", "s.epdb"],
        &["pack", "in.epd", "-o", "z.epa", "--rejects", "z.epa"],
        &["split", "--lines", "2", "in.epd", "-o", "z%d", "--rejects", "z2"],
        &["union", "in.epd", "-o", "z", "--conflicts", "z"],
        &["dedupe", "in.epd", "-o", "z", "--conflicts", "link"],
        &["get", "s.epdb", "-f", "in.epd", "--rejects", "in.epd"],
    ] {
        let done = scratch.run(args);
        assert_eq!(done.status, 2, "{args:?}: {}", done.err);
        assert_eq!(done.out, "", "{args:?}");
        assert!(done.err.contains("epdb: error: "), "{args:?}: {}", done.err);
        if args[0] != "split" {
            assert_eq!(scratch.names(), before, "{args:?}");
        }
        assert_eq!(scratch.read("in.epd"), content, "{args:?}");
    }
    assert_eq!(scratch.run(&["count", "s.epdb"]).out, "5\n");
    let null = ["normalize", "in.epd", "-o", "/dev/null", "--rejects", "/dev/null"];
    assert_eq!(scratch.run(&null).status, 1);
    // `lenient` is also the default value of --profile. That value is no input.
    let in_place = ["normalize", "in.epd", "link", "-o", "in.epd", "--rejects", "lenient"];
    assert_eq!(scratch.run(&in_place).status, 1);
    assert_eq!(scratch.text("in.epd").lines().count(), 10);
}

#[test]
fn a_suffix_that_contradicts_the_format_is_refused() {
    let scratch = Scratch::with("a.epd", book(5));
    scratch.write("notes.txt", "notes\n");
    let before = scratch.names();
    for (args, told) in [
        (&["pack", "a.epd", "-o", "a.epd"][..], "give it the suffix .epa"),
        (&["pack", "a.epd", "-o", "z.epa.gz"], "give it the suffix .epa"),
        (&["convert", "a.epd", "x.fen", "--to", "epb"], "give it the suffix .epb"),
        (&["convert", "a.epd", "x.epdb.zst"], "give it the suffix .epdb"),
        (&["convert", "a.epd", "x.epa", "--to", "epdb"], "give it the suffix .epdb"),
        (&["normalize", "a.epd", "-o", "x.epb", "--to", "epd"], "give it the suffix .epd"),
        (&["purge", "bm", "a.epd", "-o", "x.epb"], "give it the suffix .epd"),
        (&["split", "--lines", "2", "a.epd", "-o", "%d.epd", "--to", "epb"], "suffix .epb"),
        (&["normalize", "a.epd", "-o", "x.bin"], "x.bin has the suffix .bin, and what is to be"),
        (&["normalize", "a.epd", "-o", "x.jsonl.gz"], "give it the suffix .epd"),
        (&["edit", "--drop", "id", "a.epd", "-o", "X.CSV"], "give it the suffix .epd"),
        (&["sort", "--by", "id", "a.epd", "-o", "x.json"], "give it the suffix .epd"),
        (&["dedupe", "a.epd", "-o", "x.tsv"], "give it the suffix .epd"),
        (&["purge", "id", "a.epd", "-o", "x.epd.bz2"], "give it the suffix .epd"),
        (&["normalize", "a.epd", "-o", "x.epd.xz", "--to", "epb"], "give it the suffix .epb"),
        (&["convert", "a.epd", "x.zip", "--to", "fen"], "give it the suffix .fen"),
        (&["pack", "a.epd", "-o", "x.pdf"], "give it the suffix .epa"),
        (&["split", "--lines", "2", "a.epd", "-o", "%d.html"], "give it the suffix .epd"),
        (&["report", "a.epd", "--html", "x.json"], "use another suffix"),
        (&["normalize", "a.epd", "--repairs", "x.csv"], "use another suffix"),
        (&["table", "a.epd", "--columns", "fen", "-o", "a.epd"], "use another suffix"),
        (&["normalize", "a.epd", "--repairs", "x.epd"], "use another suffix"),
        (&["normalize", "a.epd", "-o", "x.edp"], "unknown suffix .edp: did you mean .epd?"),
        (&["purge", "id", "a.epd", "-o", "x.ep.gz"], "did you mean .epd?"),
        (&["convert", "a.epd", "x.png", "--to", "pgn"], "did you mean .pgn?"),
        (&["import", "new.txt", "a.epd"], "the suffix .epdb"),
        (&["import", "notes.txt", "a.epd"], "notes.txt"),
    ] {
        let done = scratch.run(args);
        assert_eq!(done.status, 2, "{args:?}: {}", done.err);
        assert!(done.err.contains(told), "{args:?}: {}", done.err);
        assert_eq!(scratch.names(), before, "{args:?}");
    }
    assert_eq!(scratch.text("a.epd"), book(5));
    assert_eq!(scratch.text("notes.txt"), "notes\n");
    for args in [
        &["convert", "a.epd", "x.fen", "--to", "epd"][..],
        &["convert", "a.epd", "x.epb.gz"],
        &["convert", "a.epd", "x", "--to", "epdb"],
        &["import", "store", "a.epd"],
        &["pack", "a.epd", "-o", "x.bin2"],
        &["normalize", "a.epd", "-o", "x.txt"],
        &["normalize", "a.epd", "-o", "x.tmp"],
        &["normalize", "a.epd", "-o", "x.epd~"],
        &["normalize", "a.epd", "-o", "/dev/null"],
    ] {
        let done = scratch.run(args);
        assert_eq!(done.status, 0, "{args:?}: {}", done.err);
    }
    assert_eq!(scratch.run(&["count", "x.epb.gz"]).out, "5\n");
}

#[test]
fn devices_and_pipes_are_written_straight_through() {
    let scratch = Scratch::with("a.epd", book(50));
    for args in [
        &["normalize", "a.epd", "-o", "/dev/null"][..],
        &["pack", "a.epd", "-o", "/dev/null"],
        &["convert", "a.epd", "/dev/null", "--to", "epb"],
    ] {
        assert_eq!(scratch.run(args).status, 0, "{args:?}");
    }
    assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
    let store = scratch.run(&["convert", "a.epd", "/dev/null", "--to", "epdb"]);
    assert_eq!(store.status, 2, "a store is no stream: {}", store.err);
    make_fifo(&scratch, "out");
    let child = epdb(&scratch, &["normalize", "a.epd", "-o", "out"]).spawn().unwrap();
    let mut written = String::new();
    File::open(scratch.path("out")).unwrap().read_to_string(&mut written).unwrap();
    assert!(child.wait_with_output().unwrap().status.success());
    assert_eq!(written, book(50));
    assert_eq!(scratch.names(), ["a.epd", "out"]);
}

#[test]
fn threads_and_memory_are_bounded() {
    let scratch = Scratch::with("a.epd", book(360));
    let many = scratch.run(&["normalize", "a.epd", "--threads", "10000"]);
    assert_eq!((many.status, many.out.as_str()), (0, book(360).as_str()));
    assert!(many.err.contains("10000 threads are too many"), "{}", many.err);
    let little = "ulimit -v 3000000; exec \"$epdb\" normalize a.epd --threads 10000";
    let done = shell(&scratch, little);
    assert!(done.status.success() && done.stdout == book(360).as_bytes());
    for (args, told) in [
        (["--threads", "0"], "at least 1"),
        (["--threads", "many"], "expected a number"),
        (["--memory", "0"], "at least 1K"),
        (["--memory", "1"], "at least 1K"),
    ] {
        let command = ["sort", "--by", "id", "a.epd"];
        let done = scratch.run(&[&command[..], &args].concat());
        assert_eq!((done.status, done.out.as_str()), (2, ""), "{args:?}");
        assert!(done.err.contains(told), "{args:?}: {}", done.err);
    }
}

#[test]
fn names_with_control_characters_are_shown_and_not_obeyed() {
    let scratch = Scratch::new();
    let names = ["red\x1b[31m\n.epd", "c1\u{9b}31m\x7f.epd"];
    for (name, shown) in names.into_iter().zip([r"red\x1b[31m\n.epd", r"c1\u{9b}31m\x7f.epd"]) {
        let control = |text: &str| text.lines().any(|line| line.contains(char::is_control));
        let told = |args: &[&str]| {
            let done = scratch.run(args);
            assert!(!control(&done.err), "{args:?}: {:?}", done.err);
            assert!(done.err.contains(shown), "{args:?}: {}", done.err);
            done
        };
        assert_eq!(told(&["normalize", name]).status, 2);
        let usage = scratch.run(&["sort", "--threads", name]);
        assert!(usage.status == 2 && !control(&usage.err), "{:?}", usage.err);
        scratch.write(name, format!("no record {}\n", name.len()));
        assert_eq!(told(&["normalize", name]).status, 1);
        assert_eq!(told(&["import", "s.epdb", name]).status, 1);
        told(&["split", "--lines", "5", name, "-o", &format!("%d{name}")]);
    }
}

/// The byte 9B of Latin-1 is a letter of the data, and C1 control to some terminals.
// README: No file controls your terminal
#[test]
fn data_are_written_as_they_are_unless_a_terminal_sees_them() {
    let scratch = Scratch::new();
    let written = format!("{START} c0 \"a\u{9b}1mb\";\n");
    scratch.write("a.epd", &written);
    assert_eq!(scratch.run(&["normalize", "a.epd"]).out, written);
    let on_terminal = Command::new("script")
        .args([
            "-qec",
            "\"$epdb\" normalize a.epd; \"$epdb\" convert a.epd - --to epb",
            "typescript",
        ])
        .env("epdb", env!("CARGO_BIN_EXE_epdb"))
        .current_dir(scratch.path(""))
        .stdin(Stdio::null())
        .output();
    let Ok(shown) = on_terminal else {
        skipped("there is no `script` to make a terminal with");
        return;
    };
    let shown = String::from_utf8_lossy(&shown.stdout);
    assert!(shown.contains(&format!("{START} c0 \"a\\u{{9b}}1mb\";")), "{shown:?}");
    assert!(shown.contains("standard output is a terminal"), "{shown:?}");
    assert!(!shown.contains('\u{9b}'), "{shown:?}");
}

#[test]
fn a_closed_pipe_is_success_and_a_full_disk_names_the_output() {
    let scratch = Scratch::with("a.epd", book(20_000));
    for args in [
        &["normalize", "a.epd"][..],
        &["completions", "bash"],
        &["convert", "a.epd", "-", "--to", "epb"],
        &["table", "a.epd", "--columns", "fen"],
    ] {
        let mut child = epdb(&scratch, args).stdin(Stdio::null()).spawn().unwrap();
        // Nobody reads: the pipe is closed before it can have taken everything.
        drop(child.stdout.take());
        let done = child.wait_with_output().unwrap();
        assert_eq!(done.status.code(), Some(0), "{args:?}");
        assert_eq!(String::from_utf8_lossy(&done.stderr), "", "{args:?}");
    }
    if !fs::exists("/dev/full").unwrap() {
        skipped("there is no /dev/full");
        return;
    }
    for args in [
        &["normalize", "a.epd"][..],
        &["completions", "bash"],
        &["count", "a.epd"],
        &["filter", "a.epd", "--where", "pieces > 1", "--count"],
        &["normalize", "a.epd", "-o", "/dev/full"],
    ] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let done = epdb(&scratch, args).stdout(full).output().unwrap();
        let err = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(2), "{args:?}: {err}");
        let named = if args.contains(&"-o") { "/dev/full" } else { "standard output" };
        assert!(err.contains(&format!("cannot write {named}: ")), "{args:?}: {err}");
        assert!(err.contains("make room there"), "{args:?}: {err}");
        assert_eq!(err.lines().count(), 1, "{args:?}: {err}");
    }
}

/// Whoever reads the messages may be gone, and the disk of the messages may be full. The exit status
/// stays.
#[test]
fn lost_messages_change_no_exit_status() {
    let scratch = Scratch::with("bad.epd", "8/8/8/4k3/8/1K6/8/8 b - -\nno position\n");
    scratch.write("a.epd", book(10));
    for (args, status) in [
        (&["normalize", "bad.epd", "-o", "out.epd"][..], 1),
        (&["normalize", "bad.epd", "--messages", "json", "-o", "out.epd"], 1),
        (&["verify", "bad.epd"], 1),
        (&["count", "missing.epd"], 2),
        (&["count", "--no-such-option"], 2),
        (&["count", "a.epd"], 0),
    ] {
        let mut child = epdb(&scratch, args).stdin(Stdio::null()).spawn().unwrap();
        drop(child.stderr.take());
        let done = child.wait_with_output().unwrap();
        assert_eq!(done.status.code(), Some(status), "{args:?}");
        if let Ok(full) = File::options().write(true).open("/dev/full") {
            let done = epdb(&scratch, args).stderr(full).output().unwrap();
            assert_eq!(done.status.code(), Some(status), "{args:?}");
        }
    }
}

/// A file beside the output that cannot be written is an error, like the output itself.
#[test]
fn every_output_on_a_full_disk_is_an_error() {
    if !fs::exists("/dev/full").unwrap() {
        skipped("there is no /dev/full");
        return;
    }
    let scratch = Scratch::with("bad.epd", "8/8/8/4k3/8/1K6/8/8  b - -\nno position\n");
    scratch.write("a.epd", "4k3/8/8/8/8/8/4P3/4K3 w - - bm e4; id \"a\"; pm e4;\n");
    scratch.write("b.epd", "4k3/8/8/8/8/8/4P3/4K3 w - - bm Kd2; id \"a\"; pm e4;\n");
    let games = "[Event \"?\"]\n[Result \"1-0\"]\n\n1. e4 e5 2. Nf3 1-0\n";
    scratch.write("a.pgn", games);
    assert_eq!(scratch.run(&["tally", "a.pgn", "-o", "l.epa"]).status, 0);
    for line in [
        "normalize bad.epd --rejects /dev/full",
        "normalize bad.epd --repairs /dev/full",
        "union a.epd b.epd --conflicts /dev/full",
        "stats a.epd --html /dev/full",
        "report a.epd --html /dev/full",
        "convert a.epd /dev/full --to epb",
        "convert a.epd /dev/full --to epa",
        "convert a.pgn /dev/full --to pgn",
        "convert a.pgn /dev/full --to pgc",
        "table --columns fen a.epd -o /dev/full",
        "diff a.epd b.epd -o /dev/full",
        "openings a.pgn -o /dev/full",
        "repertoire a.pgn --side white --against l.epa --cards /dev/full",
        "sort --by id a.epd -o /dev/full",
        "tfgg a.pgn -o /dev/full",
    ] {
        let args: Vec<&str> = line.split(' ').collect();
        let done = epdb(&scratch, &args).stdin(Stdio::null()).output().unwrap();
        let err = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(2), "{line}: {err}");
        assert!(err.contains("cannot write /dev/full: "), "{line}: {err}");
    }
    for line in ["help", "help sort", "sort --help", "--version", "stats a.epd", "verify a.epd"] {
        let args: Vec<&str> = line.split(' ').collect();
        let full = File::options().write(true).open("/dev/full").unwrap();
        let done = epdb(&scratch, &args).stdin(Stdio::null()).stdout(full).output().unwrap();
        let err = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(2), "{line}: {err}");
        assert!(err.contains("cannot write standard output: "), "{line}: {err}");
    }
}

/// Only standard output may be closed by its reader.
#[cfg(unix)]
#[test]
fn a_closed_pipe_of_rejects_is_an_error() {
    let scratch = Scratch::with("bad.epd", "no position\n".repeat(100_000));
    make_fifo(&scratch, "rejects");
    let args = ["normalize", "bad.epd", "--rejects", "rejects"];
    let child = epdb(&scratch, &args).stdin(Stdio::null()).spawn().unwrap();
    drop(File::open(scratch.path("rejects")).unwrap());
    let done = child.wait_with_output().unwrap();
    let err = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(2), "{err}");
    assert!(err.contains("cannot write rejects: "), "{err}");
}

#[test]
fn errors_of_writing_name_the_output_or_the_scratch_folder() {
    let scratch = Scratch::with("a.epd", book(5000));
    let before = scratch.names();
    for command in [
        "normalize a.epd -o big.epd",
        "pack a.epd -o big.epa --level fast",
        "convert a.epd big.epdb",
        "convert a.epd big.epd.gz",
        "split --ratio 1:1 a.epd -o 'big-%d.epd'",
    ] {
        let done = shell(&scratch, &format!("ulimit -f 8; exec \"$epdb\" {command}"));
        let err = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(2), "{command}: {:?} {err}", done.status);
        assert!(err.contains("big") && !err.contains(".part"), "{command}: {err}");
        assert_eq!(scratch.names(), before, "{command}");
    }
    let sort = "TMPDIR=no-such exec \"$epdb\" sort --by id a.epd --memory 1K -o big.epd";
    let done = shell(&scratch, sort);
    let err = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(2), "{err}");
    assert!(err.contains("temporary file in no-such: ") && err.contains("TMPDIR"), "{err}");
    let done = scratch.run(&["normalize", "a.epd", "-o", "no-such/a.epd"]);
    assert!(done.err.contains("cannot write no-such/a.epd: "), "{}", done.err);
    assert!(done.err.contains("its folder must be there"), "{}", done.err);
    assert_eq!(scratch.names(), before);
}

/// A line that is no record, and two that are.
const PARTLY: &str = "junk that nobody has elsewhere\n4k3/8/8/8/8/8/8/4K3 w - - id \"b\";\n4k3/8/8/8/8/8/8/4K3 b - - id \"a\";\n";

#[test]
fn an_input_is_not_replaced_where_something_of_it_would_be_lost() {
    let scratch = Scratch::with("s.epd", PARTLY);
    scratch.write("names.tsv", "eco\tname\tpgn\nA00\tAny\t1. a3\n");
    scratch.write("g.pgn", "[Event \"a\"]\n\n1. e4 e5 *\n\n[Event \"b\"]\n\n1. e5 *\n");
    scratch.write("part-1.epd", PARTLY);
    symlink("s.epd", scratch.path("link.epd")).unwrap();
    fs::hard_link(scratch.path("s.epd"), scratch.path("hard.epd")).unwrap();
    let before = scratch.names();
    let of_records: [&[&str]; 12] = [
        &["normalize", "s.epd"],
        &["pfdn", "s.epd"],
        &["dedupe", "s.epd"],
        &["union", "s.epd", "s.epd"],
        &["sort", "--by", "id", "s.epd"],
        &["shuffle", "s.epd"],
        &["edit", "--drop", "id", "s.epd"],
        &["filter", "--where", "pieces < 9", "s.epd", "--force"],
        &["cat", "s.epd", "--allow-rejects"],
        &["flip", "s.epd"],
        &["name", "--openings", "names.tsv", "s.epd"],
        &["purge", "id", "s.epd", "--max-line", "30"],
    ];
    for args in of_records {
        for output in ["s.epd", "./s.epd", "link.epd", "hard.epd"] {
            for quiet in [&[][..], &["-q"]] {
                let args = [args, &["-o", output], quiet].concat();
                let done = scratch.run(&args);
                assert_eq!(done.status, 2, "{args:?}: {}", done.err);
                assert!(done.err.contains("--rejects FILE, or name another"), "{}", done.err);
                assert_eq!(scratch.text("s.epd"), PARTLY, "{args:?}");
                assert_eq!(scratch.names(), before, "{args:?}");
            }
        }
    }
    for args in [
        &["convert", "s.epd", "s.epd"][..],
        &["convert", "g.pgn", "g.pgn"],
        &["sort", "g.pgn", "-o", "g.pgn"],
        &["split", "--ratio", "1:1", "part-1.epd", "-o", "part-%d.epd"],
        &["split", "--by", "id", "part-1.epd", "-o", "part-%d.epd"],
    ] {
        let contents = || ["s.epd", "g.pgn", "part-1.epd"].map(|name| scratch.read(name));
        let (old, done) = (contents(), scratch.run(args));
        assert_eq!(done.status, 2, "{args:?}: {}", done.err);
        assert!(contents() == old, "{args:?}");
        assert_eq!(scratch.names(), before, "{args:?}");
    }
    // Standard input may be the file, too.
    let done = shell(&scratch, "exec \"$epdb\" normalize -o s.epd < s.epd");
    assert_eq!((done.status.code(), scratch.text("s.epd").as_str()), (Some(2), PARTLY));
}

#[test]
fn an_input_is_replaced_where_all_of_it_is_written_or_kept() {
    let whole: String = PARTLY.split_inclusive('\n').skip(1).collect();
    for (args, status, left) in [
        (&["--rejects", "bad.txt"][..], 1, whole.as_str()),
        (&["--rejects", "bad.txt", "--allow-rejects"], 0, &whole),
        (&["--keep-bad"], 1, PARTLY),
    ] {
        let scratch = Scratch::with("s.epd", PARTLY);
        let done = scratch.run(&[&["normalize", "s.epd", "-o", "s.epd"], args].concat());
        assert_eq!((done.status, scratch.text("s.epd").as_str()), (status, left), "{}", done.err);
        if args[0] == "--rejects" {
            assert_eq!(scratch.text("bad.txt"), "junk that nobody has elsewhere\n");
        }
        let again = scratch.run(&["sort", "--by", "id", "s.epd", "-o", "s.epd", "--rejects", "r"]);
        assert_eq!(again.status, i32::from(args[0] == "--keep-bad"), "{}", again.err);
    }
    let scratch = Scratch::with("part-1.epd", &whole);
    let split =
        |by: &[&str]| scratch.run(&[&["split", "part-1.epd", "-o", "part-%d.epd"], by].concat());
    // Parts of a number of lines appear before all input is read.
    let done = split(&["--lines", "1"]);
    assert!(
        done.err.contains("part-1.epd would be replaced before it is read completely"),
        "{}",
        done.err
    );
    assert_eq!((done.status, scratch.names().len()), (2, 1));
    assert_eq!((split(&["--by", "id"]).status, scratch.names().len()), (0, 2));
}

/// Two records with the ids a and b, and their comments.
const PAIR: &str =
    "# of a\n4k3/8/8/8/8/8/8/4K3 w - - id \"a\";\n# of b\n4k3/8/8/8/8/8/8/4K3 b - - id \"b\";\n";

#[test]
fn an_input_is_not_replaced_where_a_selection_leaves_out_records() {
    let scratch = Scratch::with("s.epd", PAIR);
    scratch.write("o.epd", "4k3/8/8/8/8/8/8/3K4 w - - id \"c\";\n");
    scratch.write("g.pgn", "[White \"a\"]\n\n1. e4 *\n\n[White \"b\"]\n\n1. d4 *\n");
    scratch.run(&["convert", "s.epd", "s.epb"]);
    scratch.run(&["pack", "s.epd", "-o", "s.epa"]);
    symlink("s.epd", scratch.path("link.epd")).unwrap();
    let names = ["s.epd", "s.epb", "s.epa", "g.pgn"];
    let contents = || names.map(|name| scratch.read(name));
    let (before, files) = (contents(), scratch.names());
    let of_records: [&[&str]; 14] = [
        &["normalize", "s.epd", "-o", "s.epd"],
        &["pfdn", "s.epd", "-o", "./s.epd"],
        &["edit", "--drop", "id", "s.epd", "-o", "link.epd"],
        &["sort", "--by", "id", "s.epd", "-o", "s.epd"],
        &["sort", "--by", "ce", "s.epd", "-o", "s.epd"],
        &["shuffle", "s.epd", "-o", "s.epd"],
        &["dedupe", "s.epd", "-o", "s.epd"],
        &["union", "o.epd", "s.epd", "-o", "s.epd"],
        &["join", "s.epd", "o.epd", "--take", "id", "-o", "s.epd"],
        &["purge", "bm", "s.epd", "-o", "s.epd", "--allow-rejects"],
        &["flip", "s.epd", "-q", "-o", "s.epd"],
        &["cat", "s.epd", "-o", "s.epd", "--rejects", "bad"],
        &["convert", "s.epb", "s.epb"],
        &["convert", "s.epa", "s.epa"],
    ];
    let selection = ["--where", "id != 'b'"];
    for args in of_records {
        let done = scratch.run(&[args, &selection].concat());
        assert_eq!(done.status, 2, "{args:?}: {}", done.err);
        let told = "would lose 1 record that --where excludes";
        assert!(done.err.contains(told), "{args:?}: {}", done.err);
        assert!(contents() == before, "{args:?}");
        assert_eq!(scratch.names(), files, "{args:?}");
    }
    let of_games = ["sort", "g.pgn", "-o", "g.pgn", "--where", "White != 'b'"];
    let done = scratch.run(&of_games);
    assert!(done.status == 2 && done.err.contains("would lose 1 game that"), "{}", done.err);
    let done = shell(&scratch, "exec \"$epdb\" normalize -o s.epd --where \"id != 'b'\" < s.epd");
    assert_eq!(done.status.code(), Some(2));
    assert!(contents() == before);
    // What another input loses is still in that input.
    for (args, left) in [
        (&["union", "s.epd", "o.epd", "-o", "s.epd", "--where", "id != 'c'"][..], 2),
        (&["normalize", "s.epd", "-o", "s.epd", "--where", "id != 'c'"], 2),
        (&["filter", "s.epd", "-o", "s.epd", "--where", "id == 'b'", "--invert", "--force"], 1),
        (&["filter", "s.epd", "-o", "s.epd", "--where", "id == 'b'", "--force"], 0),
    ] {
        let done = scratch.run(args);
        assert_eq!(done.status, 0, "{args:?}: {}", done.err);
        assert_eq!(scratch.run(&["count", "s.epd"]).out, format!("{left}\n"), "{args:?}");
    }
}

#[test]
fn rejects_of_an_earlier_run_are_not_replaced_with_their_file() {
    let scratch = Scratch::with("s.epd", PARTLY);
    let in_place = |name| scratch.run(&["normalize", "s.epd", "-o", "s.epd", "--rejects", name]);
    assert_eq!(in_place("bad").status, 1);
    let (records, bad) = (scratch.text("s.epd"), scratch.text("bad"));
    for args in [
        &["normalize", "s.epd", "-o", "s.epd", "--rejects", "bad"][..],
        &["sort", "--by", "id", "s.epd", "-o", "./s.epd", "--rejects", "./bad"],
        &["purge", "id", "s.epd", "-o", "s.epd", "--rejects", "bad"],
        &["convert", "s.epd", "s.epd", "--rejects", "bad"],
    ] {
        let done = scratch.run(args);
        assert_eq!(done.status, 2, "{args:?}: {}", done.err);
        assert!(done.err.contains("bad has lines of an earlier run"), "{args:?}: {}", done.err);
        assert_eq!((scratch.text("s.epd"), scratch.text("bad")), (records.clone(), bad.clone()));
    }
    assert_eq!(in_place("new").status, 0);
    assert_eq!(in_place("new").status, 0, "an empty file holds no lines");
    // The input of another output stays, and with it the lines.
    let done = scratch.run(&["normalize", "s.epd", "-o", "other.epd", "--rejects", "bad"]);
    assert_eq!((done.status, scratch.text("bad").as_str()), (0, ""), "{}", done.err);
}

#[test]
fn games_are_not_replaced_by_their_positions() {
    const GAMES: &str = "[White \"a\"]\n[Black \"b\"]\n[Result \"*\"]\n\n1. e4 e5 *\n";
    let scratch = Scratch::with("g.epd", GAMES);
    scratch.write("g.txt", GAMES);
    scratch.write("g.pgn", GAMES);
    scratch.write("puzzles", "PuzzleId,FEN,Moves,Rating,RatingDeviation,Popularity,NbPlays,Themes,GameUrl,OpeningTags\n00008,r6k/pp2r2p/4Rp1Q/3p4/8/1N1P2R1/PqP2bPP/7K b - - 0 24,f2g3 e6e7 b2b1 b3c1 b1c1 h6c1,1798,77,95,8179,short,https://lichess.org/787zsVup/black#47,\n");
    let zipped = shell(&scratch, "gzip -c g.epd > g.epd.gz && gzip -c g.epd > z.fen.gz");
    assert!(zipped.status.success());
    let names = ["g.epd", "g.txt", "puzzles", "g.epd.gz", "z.fen.gz"];
    let contents = || names.map(|name| scratch.read(name));
    let (before, files) = (contents(), scratch.names());
    for (args, told) in [
        (&["normalize", "g.epd", "-o", "g.epd"][..], "g.epd holds games, not records"),
        (&["edit", "--set", "c0=x", "g.epd", "-o", "./g.epd"], "holds games, not records"),
        (&["sort", "--by", "ce", "g.epd", "-o", "g.epd"], "g.epd holds games, not records"),
        (&["dedupe", "g.epd", "-o", "g.epd", "-q"], "g.epd holds games, not records"),
        (&["convert", "g.epd", "g.epd"], "g.epd holds games, not records"),
        (
            &["filter", "--where", "pieces > 1", "g.epd", "-o", "g.epd", "--force"],
            "holds games, not records",
        ),
        (&["tally", "g.epd", "-o", "g.epd"], "g.epd holds games, not records"),
        (&["normalize", "g.epd.gz", "-o", "g.epd.gz"], "g.epd.gz holds games, not records"),
        (&["normalize", "z.fen.gz", "-o", "z.fen.gz"], "z.fen.gz holds games, not records"),
        (&["normalize", "g.txt", "-o", "g.txt", "--to", "epd"], "g.txt holds games, not records"),
        (&["normalize", "puzzles", "-o", "puzzles"], "holds puzzles of lichess, not records"),
    ] {
        let done = scratch.run(args);
        assert_eq!(done.status, 2, "{args:?}: {}", done.err);
        assert!(done.err.contains(told), "{args:?}: {}", done.err);
        assert!(contents() == before, "{args:?}");
        assert_eq!(scratch.names(), files, "{args:?}");
    }
    let note = "epdb: g.epd holds games: their positions are read\n";
    let done = scratch.run(&["normalize", "g.epd", "g.epd", "-o", "z.epd"]);
    assert_eq!((done.status, done.err.matches(note).count()), (0, 1), "{}", done.err);
    for args in [
        &["normalize", "g.pgn"][..],
        &["normalize", "g.txt"],
        &["normalize", "g.epd", "-q"],
        &["convert", "g.epd", "z.pgn"],
        &["sort", "g.txt", "-o", "g.txt"],
    ] {
        let done = scratch.run(args);
        assert!(done.status == 0 && !done.err.contains(note), "{args:?}: {}", done.err);
    }
}

/// An archive is made again from more records, but not from fewer: the command may have been meant to add some.
#[test]
fn an_archive_is_replaced_by_a_smaller_one_only_by_force() {
    let line = "4k3/8/8/8/8/8/4P3/4K3 w - - id \"x\";\n";
    let scratch = Scratch::with("one.epd", line);
    scratch.write("two.epd", line.repeat(2));
    for command in [&["pack", "-o"][..], &["pack", "--verbatim", "-o"], &["convert", "--to", "epa"]]
    {
        let make = |file: &str, more: &[&str]| {
            let files = match command {
                ["convert", ..] => [file, "a.epa"],
                _ => ["a.epa", file],
            };
            scratch.run(&[command, &files[..], more].concat())
        };
        assert_eq!(make("one.epd", &["--force"]).status, 0);
        assert_eq!(make("two.epd", &[]).status, 0);
        let refused = make("one.epd", &[]);
        let told = "the archive there has 2 records, and the new one 1: give --force";
        assert!(refused.status == 2 && refused.err.contains(told), "{command:?}: {}", refused.err);
        assert_eq!(scratch.run(&["count", "a.epa"]).out, "2\n");
        assert_eq!(make("one.epd", &["--force"]).status, 0);
        assert_eq!(scratch.run(&["count", "a.epa"]).out, "1\n");
    }
}

/// A command that takes some records does not replace its input by them.
#[test]
fn an_input_is_not_replaced_by_some_of_its_records() {
    let lines = ["e3", "e4"].map(|mv| format!("4k3/8/8/8/8/8/4P3/4K3 w - - bm {mv};\n")).concat();
    let scratch = Scratch::with("a.epd", &lines);
    scratch.write("b.epd", "");
    scratch.write("g.pgn", "1. e4 e5 1-0\n\n1. d4 d5 0-1\n");
    scratch.write("b.pgn", "1. e4 e5 1-0\n");
    let games = scratch.text("g.pgn");
    for args in [
        &["sample", "-n", "1", "a.epd", "-o", "a.epd"][..],
        &["get", "a.epd", "4k3/8/8/8/8/8/4P3/4K3 w - -", "-o", "a.epd"],
        &["sample", "-n", "1", "g.pgn", "-o", "g.pgn"],
        &["search", "g.pgn", "--where", "plies > 1", "-n", "1", "-o", "g.pgn"],
        &["filter", "g.pgn", "--where", "plies > 1", "-o", "g.pgn"],
        &["filter", "a.epd", "--where", "check", "--invert", "-o", "a.epd"],
        &["subtract", "a.epd", "b.epd", "-o", "a.epd"],
        &["intersect", "g.pgn", "b.pgn", "-o", "g.pgn"],
    ] {
        let done = scratch.run(args);
        let told = "would lose the records that are not taken: name another output";
        assert!(done.status == 2 && done.err.contains(told), "{args:?}: {}", done.err);
        assert!(scratch.text("a.epd") == lines && scratch.text("g.pgn") == games, "{args:?}");
    }
    let done = scratch.run(&["filter", "g.pgn", "--where", "plies > 9", "-o", "g.pgn", "--force"]);
    assert!(done.status == 0 && scratch.text("g.pgn").is_empty(), "{}", done.err);
}

/// An option or a repair that drops data of an input needs --force, or another place for the data.
#[test]
fn an_input_is_not_replaced_by_less() {
    const TAGS: &str = "[White \"a\"]\n[White \"b\"]\n[Foo bar]\n\n1. e4 *\n";
    const NOTES: &str = "[Event \"x\"]\n[ECO \"C20\"]\n\n1. e4 {good} (1. d4) e5 $1\n%x\n1-0\n";
    const LINES: &str = "# a comment\n4k3/8/8/8/8/8/4P3/4K3 w - - id \"a\"; hmvc 3; fmvn 9;\n";
    for (name, text, args, told) in [
        ("a.pgn", NOTES, &["convert", "a.pgn", "a.pgn", "--reduced"][..], "1 comment left out"),
        ("a.pgn", NOTES, &["sort", "a.pgn", "-o", "a.pgn"], "(1 % line left out)"),
        ("a.pgn", "1. e4 *\n%x\n", &["convert", "a.pgn", "a.pgn"], "% lines after the last game"),
        (
            "a.pgn",
            TAGS,
            &["convert", "a.pgn", "a.pgn", "--rejects", "r"],
            "W-PGN-TAGDUP, which --repairs",
        ),
        ("a.epd", LINES, &["normalize", "a.epd", "-o", "a.epd", "--format", "fen"], "1 operation"),
        (
            "a.epd",
            LINES,
            &["convert", "a.epd", "a.epd", "--compat", "python-chess"],
            "comments not written",
        ),
        (
            "a.epd",
            LINES,
            &["normalize", "a.epd", "-o", "a.epd", "--counters", "drop"],
            "without their counters",
        ),
    ] {
        let scratch = Scratch::with(name, text);
        let done = scratch.run(args);
        assert!(done.status == 2 && done.err.contains(told), "{args:?}: {}", done.err);
        assert!(done.err.contains("would be replaced by less"), "{args:?}: {}", done.err);
        assert_eq!((scratch.text(name).as_str(), scratch.names().len()), (text, 1), "{args:?}");
        let done = scratch.run(&[args, &["--force"]].concat());
        assert_eq!(done.status, 0, "{args:?}: {}", done.err);
    }
    let scratch = Scratch::with("a.pgn", TAGS);
    let done = scratch.run(&["convert", "a.pgn", "a.pgn", "--repairs", "r.tsv"]);
    assert!(done.status == 0 && scratch.text("r.tsv").contains("[Foo bar]"), "{}", done.err);
}

/// What is left of an archive that is cut is not replaced without a word.
#[test]
fn a_damaged_archive_is_replaced_only_by_force() {
    let scratch = Scratch::with("a.epd", "4k3/8/8/8/8/8/4P3/4K3 w - -\n".repeat(50));
    assert_eq!(scratch.run(&["pack", "a.epd", "-o", "a.epa"]).status, 0);
    let bytes = scratch.read("a.epa");
    scratch.write("a.epa", &bytes[..bytes.len() - 100]);
    let done = scratch.run(&["pack", "a.epd", "-o", "a.epa"]);
    assert!(done.status == 2 && done.err.contains("is a damaged archive: --force"), "{}", done.err);
    assert_eq!(scratch.run(&["pack", "a.epd", "-o", "a.epa", "--force"]).status, 0);
}

/// Stores and libraries are replaced only on request, whatever is written; other files always are.
#[test]
fn stores_and_libraries_are_replaced_only_by_force() {
    let scratch = Scratch::with("s.epd", "4k3/8/8/8/8/8/4P3/4K3 w - - id \"x\";\n");
    scratch.write("g.pgn", "1. e4 e5 1-0\n");
    for args in [
        &["tally", "g.pgn", "-o", "lib.epa"][..],
        &["tally", "g.pgn", "-o", "lib.epdb"],
        &["import", "store.epdb", "s.epd"],
        &["pack", "s.epd", "-o", "plain.epa"],
    ] {
        assert_eq!(scratch.run(args).status, 0, "{args:?}");
    }
    let kept = ["lib.epa", "lib.epdb", "store.epdb"];
    let contents = || kept.map(|name| scratch.read(name));
    let before = contents();
    for args in [
        &["tally", "g.pgn", "-o", "lib.epa"][..],
        &["tally", "g.pgn", "-o", "lib.epdb"],
        &["convert", "s.epd", "lib.epa"],
        &["convert", "s.epd", "store.epdb"],
        &["pack", "s.epd", "-o", "lib.epa"],
        &["dedupe", "s.epd", "-o", "lib.epa"],
        &["filter", "--where", "pieces < 9", "lib.epa", "-o", "lib.epa"],
        &["union", "s.epd", "-o", "lib.epa"],
    ] {
        let done = scratch.run(args);
        assert_eq!(done.status, 2, "{args:?}: {}", done.err);
        assert!(done.err.contains("exist"), "{args:?}: {}", done.err);
        assert!(done.err.contains("--force replaces it"), "{args:?}: {}", done.err);
        assert!(contents() == before, "{args:?}");
    }
    // A command without the option has no business with such a file.
    let done = scratch.run(&["table", "s.epd", "--columns", "fen", "-o", "lib.epa"]);
    assert_eq!(done.status, 2, "{}", done.err);
    assert!(contents() == before);
    for args in [
        &["pack", "s.epd", "-o", "plain.epa"][..],
        &["tally", "g.pgn", "-o", "lib.epa", "--force"],
        &["tally", "g.pgn", "-o", "lib.epdb", "--force", "--max-ply", "1"],
        &["convert", "s.epd", "store.epdb", "--force"],
        &["dedupe", "s.epd", "-o", "lib.epa", "--force"],
    ] {
        let done = scratch.run(args);
        assert_eq!(done.status, 0, "{args:?}: {}", done.err);
    }
    let count = |name: &str| scratch.run(&["count", name]).out;
    assert_eq!(["lib.epa", "lib.epdb", "store.epdb"].map(count), ["1\n", "2\n", "1\n"]);
}

/// The shell has emptied a file that is input and standard output, so nothing may look like a result.
#[test]
fn standard_output_is_no_input() {
    let scratch = Scratch::with("a.epd", book(3));
    scratch.write("b.epd", book(2));
    for (args, stdin) in [
        (&["dedupe", "a.epd"][..], None),
        (&["filter", "b.epd", "./a.epd", "--where", "pieces > 2"], None),
        (&["normalize"], Some("a.epd")),
        (&["join", "b.epd", "a.epd", "--take", "id"], None),
        (&["table", "a.epd", "--columns", "id", "-o", "c.csv"], None),
    ] {
        let append = || File::options().append(true).open(scratch.path("a.epd")).unwrap();
        let mut command = epdb(&scratch, args);
        if let Some(name) = stdin {
            command.stdin(File::open(scratch.path(name)).unwrap());
        }
        let done = command.stdout(append()).output().unwrap();
        let err = String::from_utf8_lossy(&done.stderr);
        assert!(err.contains("and standard output are the same file"), "{args:?}: {err}");
        assert_eq!(done.status.code(), Some(2), "{args:?}");
        assert_eq!(scratch.text("a.epd"), book(3));
    }
}
