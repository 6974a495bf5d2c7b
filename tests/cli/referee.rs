//! Tournaments as a user plays them: interrupted anywhere, and looked on.

use std::env;
use std::fs;
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command};

use epdb::referee::log::{LogReader, Recovered};

use crate::referee_client;
use crate::scratch::Scratch;

/// The program that plays for a client. It is an example, which `cargo test` builds.
pub(crate) fn client() -> PathBuf {
    let mut folder = env::current_exe().unwrap();
    folder.pop();
    folder.pop();
    let program =
        folder.join("examples").join(format!("referee_client{}", env::consts::EXE_SUFFIX));
    assert!(program.exists(), "first: cargo build --example referee_client");
    program
}

/// A folder with a tournament of four clients that are started, whose games have few moves.
fn tournament() -> Scratch {
    tournament_of(&["A", "B", "C", "D"])
}

/// The same, of which only these are started.
fn tournament_of(started: &[&str]) -> Scratch {
    let mut text = "concurrency = 2\ntime = '60'\nrestarts = 1000\nevent = 'Kill'\n\
        silences = { conclude = '0s', reset = '0s' }\n"
        .to_string();
    for name in ["A", "B", "C", "D"] {
        let client = client().display().to_string();
        text += &format!("[[player]]\nname = '{name}'\n");
        if started.contains(&name) {
            text += &format!("command = ['{client}', '{{host}}', '{{port}}', '{{name}}', '12']\n");
        }
    }
    Scratch::with("t.toml", text)
}

/// Waits until the log has so many bytes, or its referee has ended.
fn wait_for_log(scratch: &Scratch, bytes: u64, referee: &mut Child) {
    let len = || fs::metadata(scratch.path("t.log")).map_or(0, |found| found.len());
    while len() < bytes && referee.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
}

/// Connects as soon as somebody is there.
fn connect(address: &str, referee: &mut Child) -> TcpStream {
    loop {
        match TcpStream::connect(address) {
            Ok(stream) => return stream,
            Err(_) => assert!(referee.try_wait().unwrap().is_none(), "nobody is there"),
        }
    }
}

/// Every game was played once, and the file of games is that of the log.
fn check(scratch: &Scratch) {
    let mut reader = LogReader::open(&scratch.path("t.log")).unwrap();
    let name = scratch.path("t.toml").display().to_string();
    let recovered = Recovered::read(&mut reader).unwrap().expect(&name);
    assert!(recovered.arbiter.has_ended());
    let mut games: Vec<u32> =
        recovered.arbiter.finished().iter().map(|game| game.pairing.game).collect();
    games.sort_unstable();
    assert_eq!(games, (1..=12).collect::<Vec<u32>>());
    let text = scratch.text("t.pgn");
    assert_eq!(text.matches("[Termination \"normal\"]").count(), 12, "{text}");
    // Another call writes the games of the log.
    let done = scratch.run(&["referee", "t.toml"]);
    assert_eq!((done.status, scratch.text("t.pgn")), (0, text));
}

/// ARG-09, ARG-16: the referee is killed at 20 moments.
#[test]
fn a_tournament_outlives_its_referee() {
    let scratch = tournament();
    let mut written = 0;
    for kill in 1..=20 {
        let mut referee = scratch.spawn(&["-q", "referee", "t.toml"]);
        // Some moments are before all clients have come.
        wait_for_log(&scratch, written + 300 + kill * 1237 % 5000, &mut referee);
        written = fs::metadata(scratch.path("t.log")).unwrap().len();
        assert!(referee.try_wait().unwrap().is_none(), "over before kill {kill}");
        referee.kill().unwrap();
        referee.wait().unwrap();
    }
    let done = scratch.run(&["referee", "t.toml"]);
    assert_eq!(done.status, 0, "{}", done.err);
    assert_eq!(scratch.text("t.log").matches(" session ").count(), 21);
    check(&scratch);
}

/// ARG-09: clients are killed at 20 moments.
#[test]
fn a_tournament_outlives_its_clients() {
    let scratch = tournament();
    let mut referee = scratch.spawn(&["-q", "referee", "t.toml"]);
    for kill in 1..=20 {
        wait_for_log(&scratch, kill * 2500, &mut referee);
        let name = ["A", "B", "C", "D"][kill as usize % 4];
        if let Ok(pid) = fs::read_to_string(scratch.path(&format!("{name}.pid"))) {
            Command::new("kill").args(["-9", &pid]).output().unwrap();
        }
    }
    assert!(referee.wait().unwrap().success());
    // Four are started at first. A kill may hit one that is just being started.
    assert!(scratch.text("t.log").matches(" start ").count() > 4 + 8);
    check(&scratch);
}

/// ARG-10: who looks on takes over when the referee is killed, and plays on.
#[test]
fn an_observer_takes_over_from_a_killed_referee() {
    // D comes at the end, so that the tournament is not over before.
    let scratch = tournament_of(&["A", "B", "C"]);
    let mut referee = scratch.spawn(&["-q", "referee", "t.toml"]);
    wait_for_log(&scratch, 5000, &mut referee);
    let second = scratch.run(&["referee", "t.toml"]);
    assert_eq!(second.status, 2);
    assert!(second.err.contains("t.log has a referee already"), "{}", second.err);
    let mut observer = scratch.spawn(&["referee", "--observe", "t.toml"]);
    wait_for_log(&scratch, 10_000, &mut referee);
    referee.kill().unwrap();
    referee.wait().unwrap();
    // Where the one was awaited, the other one is.
    let log = scratch.text("t.log");
    let (_, behind) = log.split_once(" listen ").unwrap();
    let address = behind.lines().next().unwrap().to_string();
    let stream = connect(&address, &mut observer);
    referee_client::play(&stream, "D", 12).unwrap();
    let seen = observer.wait_with_output().unwrap();
    assert!(seen.status.success());
    assert!(!seen.stdout.is_empty(), "the table");
    assert_eq!(scratch.text("t.log").matches(" session ").count(), 2);
    check(&scratch);
}

/// ARG-12: a supervisor types commands at standard input.
#[test]
fn a_supervisor_types() {
    let scratch = Scratch::with("t.toml", "[[player]]\nname = 'A'\n[[player]]\nname = 'B'\n");
    let typed = "help\nnonsense\nsilence reset 2s\nrestart C\nadjudicate 1 1-0\nstandings\nstop\n";
    let done = scratch.run_with(&["referee", "--attended", "t.toml"], typed);
    assert_eq!(done.status, 0, "{}", done.err);
    for text in [
        "clients are awaited at 127.0.0.1:",
        "adjudicate GAME RESULT",
        "`nonsense` is no command; help shows them",
        "no player is called `C`",
        "no game 1 is played",
        "stopped; the same command goes on",
    ] {
        assert!(done.err.contains(text), "{text}: {}", done.err);
    }
    assert!(scratch.text("t.log").contains("order silences 5000000 2000000\n"));
}

/// What is no tournament is said.
#[test]
fn errors_say_what_is_wrong() {
    let scratch = Scratch::with("t.toml", "evnt = 'x'\n");
    let said = |args: &[&str]| {
        let done = scratch.run(args);
        assert_eq!(done.status, 2, "{args:?}");
        done.err
    };
    assert!(said(&["referee", "t.toml"]).contains("t.toml:1:1: there is no key `evnt`"));
    assert!(said(&["referee", "none.toml"]).contains("cannot read none.toml"));
    assert!(said(&["referee", "t.toml", "u.toml"]).contains("`u.toml` behind the file"));
    assert!(said(&["referee", "-engine", "cmd=a", "-nonsense", "1"]).contains("nonsense"));
    assert!(said(&["referee", "--observe", "t.toml"]).contains("evnt"));
}
