//! Tournaments as a user runs them: interrupted anywhere, and with an observer.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command};

use epdb_referee::log::{Entry, LogReader, Recovered};

use crate::engines_at_hand::example;
use crate::referee_client;
use crate::scratch::Scratch;

/// The program that plays for a client.
pub(crate) fn client() -> PathBuf {
    example("referee_client")
}

/// A folder with a tournament of four clients that are started, whose games have few moves.
fn tournament(rounds: u32) -> Scratch {
    tournament_of(rounds, &["A", "B", "C", "D"])
}

/// The same, of which only these are started.
fn tournament_of(rounds: u32, started: &[&str]) -> Scratch {
    let mut text = "concurrency = 2\ntime = '60'\nrestarts = 1000\nevent = 'Kill'\n\
        silences = { conclude = '0s', reset = '0s' }\n"
        .to_string();
    text += &format!("rounds = {rounds}\n");
    for name in ["A", "B", "C", "D"] {
        let client = client().display().to_string();
        text += &format!("[[player]]\nname = '{name}'\n");
        if started.contains(&name) {
            text += &format!("command = ['{client}', '{{host}}', '{{port}}', '{{name}}', '12']\n");
        }
    }
    Scratch::with("t.toml", text)
}

/// Waits until the log has this many bytes, or its referee has ended.
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
fn check(scratch: &Scratch, count: u32) {
    let mut reader = LogReader::open(&scratch.path("t.log")).unwrap();
    let name = scratch.path("t.toml").display().to_string();
    let recovered = Recovered::read(&mut reader).unwrap().expect(&name);
    assert!(recovered.arbiter.has_ended());
    let mut games: Vec<u32> =
        recovered.arbiter.finished().iter().map(|game| game.pairing.game).collect();
    games.sort_unstable();
    assert_eq!(games, (1..=count).collect::<Vec<u32>>());
    let text = scratch.text("t.pgn");
    assert_eq!(text.matches("[Termination \"normal\"]").count(), count as usize, "{text}");
    // Another call writes the games of the log.
    let done = scratch.run(&["referee", "t.toml"]);
    assert_eq!((done.status, scratch.text("t.pgn")), (0, text));
}

/// The referee is killed at 20 moments.
#[test]
fn a_tournament_resumes_after_its_referee_is_killed() {
    // Long enough not to be over before the last kill where kills come late.
    let scratch = tournament(12);
    let mut written = 0;
    for kill in 1..=20 {
        let mut referee = scratch.spawn(&["-q", "referee", "t.toml"]);
        // Some moments are before all clients have come.
        wait_for_log(&scratch, written + 300 + kill * 1237 % 5000, &mut referee);
        assert!(referee.try_wait().unwrap().is_none(), "over before kill {kill}");
        referee.kill().unwrap();
        referee.wait().unwrap();
        // It may have gone on up to its end, and the next one has to add to that.
        written = fs::metadata(scratch.path("t.log")).unwrap().len();
    }
    let done = scratch.run(&["referee", "t.toml"]);
    assert_eq!(done.status, 0, "{}", done.err);
    assert_eq!(scratch.text("t.log").matches(" session ").count(), 21);
    check(&scratch, 144);
}

/// A referee that is interrupted says how to go on.
#[test]
fn an_interrupted_referee_says_how_to_go_on() {
    // Long enough not to be over before the signal comes.
    let scratch = tournament(1000);
    let mut referee = std::process::Command::new(assert_cmd::cargo::cargo_bin("epdb"))
        .args(["referee", "--plain", "t.toml"])
        .current_dir(scratch.path(""))
        .stdin(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    wait_for_log(&scratch, 3000, &mut referee);
    let id = referee.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    let seen = referee.wait_with_output().unwrap();
    let err = String::from_utf8_lossy(&seen.stderr);
    assert!(!seen.status.success());
    assert!(err.ends_with("stopped; run the same command to continue\n"), "{err}");
}

/// Clients are killed at 20 moments.
#[test]
fn a_tournament_continues_after_its_clients_are_killed() {
    let scratch = tournament(4);
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
    check(&scratch, 48);
}

/// If the referee is killed, the observer takes over and continues.
#[test]
fn an_observer_takes_over_from_a_killed_referee() {
    // D comes at the end, so that the tournament is not over before.
    let scratch = tournament_of(1, &["A", "B", "C"]);
    let mut referee = scratch.spawn(&["-q", "referee", "t.toml"]);
    wait_for_log(&scratch, 5000, &mut referee);
    let second = scratch.run(&["referee", "t.toml"]);
    assert_eq!(second.status, 2);
    assert!(second.err.contains("t.log already has a referee"), "{}", second.err);
    let mut observer = scratch.spawn(&["referee", "--observe", "t.toml"]);
    wait_for_log(&scratch, 10_000, &mut referee);
    referee.kill().unwrap();
    referee.wait().unwrap();
    // The observer listens at the address of the first referee.
    let log = scratch.text("t.log");
    let (_, behind) = log.split_once(" listen ").unwrap();
    let address = behind.lines().next().unwrap().to_string();
    let stream = connect(&address, &mut observer);
    referee_client::play(&stream, "D", 12).unwrap();
    let seen = observer.wait_with_output().unwrap();
    assert!(seen.status.success());
    assert!(!seen.stdout.is_empty(), "the table");
    assert_eq!(scratch.text("t.log").matches(" session ").count(), 2);
    check(&scratch, 12);
}

/// A supervisor types commands at standard input.
#[test]
fn a_supervisor_types() {
    let scratch = Scratch::with("t.toml", "[[player]]\nname = 'A'\n[[player]]\nname = 'B'\n");
    let typed = "help\nnonsense\npause\nresume\nsilence reset 2s\nrestart C\nadjudicate 1 1-0\nstandings\nquit\n";
    let done = scratch.run_with(&["referee", "t.toml", "--attended"], typed);
    assert_eq!(done.status, 0, "{}", done.err);
    for text in [
        "listening for clients at 127.0.0.1:",
        "adjudicate GAME RESULT",
        "`nonsense` is not a command; help lists them",
        "no client is called `C`",
        "no game 1 is played",
        "waiting for players to sign on: A, B",
        "resumed",
        "stopped; run the same command to continue",
    ] {
        assert!(done.err.contains(text), "{text}: {}", done.err);
    }
    assert!(scratch.text("t.log").contains("order silences 5000000 2000000\n"));
}

/// Invalid tournaments are reported.
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
    assert!(
        said(&["referee", "t.toml", "u.toml"])
            .contains("unexpected `u.toml` after the tournament file")
    );
    assert!(said(&["referee", "-engine", "cmd=a", "-nonsense", "1"]).contains("nonsense"));
    assert!(said(&["referee", "--engine", "cmd=a", "--plain", "-nonsense"]).contains("nonsense"));
    assert!(
        said(&["referee", "-engine", "cmd=a", "--serial", "a,b"])
            .contains("--serial needs a tournament file")
    );
    assert!(
        said(&["referee", "t.toml", "--serial", "a,b"]).contains("t.toml:1:1: there is no key")
    );
    assert!(said(&["referee", "--observe", "t.toml"]).contains("evnt"));
    scratch
        .write("t.toml", "[[player]]\nname = 'A'\ncommand = ['false']\n[[player]]\nname = 'B'\n");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = listener.local_addr().unwrap();
    scratch.write("u.toml", format!("listen = '{taken}'\n{}", scratch.text("t.toml")));
    assert!(said(&["referee", "u.toml"]).contains(&format!("cannot await clients at {taken}")));
}

/// One side of a pseudo terminal, and the path of the other one, which is kept open.
fn terminal() -> (fs::File, String, fs::File) {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let path = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
    // Nothing is echoed from the first byte on.
    let (other, _) = epdb_referee::wire::open_line(path.as_ref()).unwrap();
    (master.into(), path, other)
}

/// Two byte streams in place of TCP.
#[test]
fn two_serial_lines_play_a_tournament() {
    let (lines, paths): (Vec<_>, Vec<_>) = [(); 2]
        .map(|()| terminal())
        .into_iter()
        .map(|(line, path, kept)| ((line, kept), path))
        .unzip();
    let settings = "games = 4\ntime = '60'\nsilences = { conclude = '0s', reset = '0s' }\n";
    let players = "[[player]]\nname = 'A'\n[[player]]\nname = 'B'\n";
    let scratch = Scratch::with("t.toml", format!("{settings}{players}"));
    let clients = lines.into_iter().zip(["A", "B"]).map(|((line, kept), name)| {
        std::thread::spawn(move || {
            let out = line.try_clone().unwrap();
            referee_client::converse(line, out, name, 9).unwrap();
            drop(kept);
        })
    });
    let clients: Vec<_> = clients.collect();
    let done = scratch.run(&["referee", "t.toml", "--serial", &paths.join(",")]);
    assert_eq!(done.status, 0, "{}", done.err);
    clients.into_iter().for_each(|client| client.join().unwrap());
    assert_eq!(scratch.text("t.pgn").matches("[Termination \"normal\"]").count(), 4);
}

/// A client is over when its program has, whatever becomes of its standard error.
#[test]
fn a_client_may_close_its_standard_error() {
    let client = client().display().to_string();
    let mut text =
        "games = 2\ntime = '60'\nsilences = { conclude = '0s', reset = '0s' }\n".to_string();
    for name in ["A", "B"] {
        let call = format!("exec {client} \"$@\" 2>/dev/null");
        text += &format!("[[player]]\nname = '{name}'\n");
        text += &format!(
            "command = ['sh', '-c', '{call}', 'sh', '{{host}}', '{{port}}', '{{name}}', '12']\n"
        );
    }
    let scratch = Scratch::with("t.toml", text);
    let done = scratch.run(&["referee", "t.toml"]);
    assert_eq!(done.status, 0, "{}", done.err);
    assert_eq!(scratch.text("t.log").matches(" start ").count(), 2);
    assert!(done.err.contains(", 2 of 2 games"), "{}", done.err);
    let again = scratch.run(&["referee", "t.toml"]);
    assert!(again.err.contains("is over: A "), "{}", again.err);
    assert!(again.err.contains("t.log away to start over"), "{}", again.err);
}

/// `-concurrency 2` of two engines: two games are played at once, also after a kill, and each once.
#[test]
fn two_engines_play_on_two_boards() {
    let engine = crate::engines_at_hand::scripted().display().to_string();
    let scratch = Scratch::with("script", "");
    let words = format!(
        "referee -engine cmd={engine} arg=script name=A -engine cmd={engine} arg=script name=B -each tc=60+1 \
         -rounds 4 -games 2 -concurrency 2 -maxmoves 6 -pgnout t.pgn -log t.log"
    );
    let words: Vec<&str> = words.split(' ').collect();
    let mut referee = scratch.spawn(&words);
    wait_for_log(&scratch, 9000, &mut referee);
    referee.kill().unwrap();
    referee.wait().unwrap();
    let done = scratch.run(&words);
    assert_eq!(done.status, 0, "{}", done.err);
    assert!(!done.err.contains("at once"), "{}", done.err);
    let mut reader = LogReader::open(&scratch.path("t.log")).unwrap();
    let (_, Entry::Settings(settings)) = reader.next_entry().unwrap().unwrap() else { panic!() };
    let mut recovered = Recovered::begin(settings).unwrap();
    let mut most = 0;
    while let Some((at, entry)) = reader.next_entry().unwrap() {
        recovered.take(at, entry).unwrap();
        most = most.max(recovered.arbiter.snapshot(at).running.len());
    }
    assert_eq!(most, 2);
    let mut games: Vec<u32> =
        recovered.arbiter.finished().iter().map(|game| game.pairing.game).collect();
    games.sort_unstable();
    assert_eq!(games, (1..=8).collect::<Vec<u32>>());
    assert_eq!(scratch.text("t.pgn").matches("[Termination \"adjudication\"]").count(), 8);
    assert_eq!(scratch.text("t.pgn").matches("[White \"A\"]").count(), 4);
    assert!(scratch.text("t.log").contains("A (2) has signed on"));
}

/// A command that cannot be started is reported at once.
#[test]
fn a_command_that_is_wrong_is_reported_at_once() {
    let player = |name: &str| format!("[[player]]\nname = '{name}'\ncommand = ['./none']\n");
    let scratch = Scratch::with("t.toml", player("A") + &player("B"));
    let done = scratch.run(&["referee", "t.toml"]);
    assert_ne!(done.status, 0, "{}", done.err);
    assert!(done.err.contains("A cannot be started: "), "{}", done.err);
    assert!(done.err.contains("Call again when its command is right"), "{}", done.err);
}

/// After a start that failed, the corrected settings begin the tournament, although the log is there.
#[test]
fn a_start_that_failed_does_not_bind_the_settings() {
    let scratch = Scratch::with("script", "");
    let engine = crate::engines_at_hand::scripted().display().to_string();
    let settings = |command: &str| {
        let player = |name: &str| {
            format!("[[player]]\nname = '{name}'\nengine = 'cmd={command} arg=script'\n")
        };
        format!("games = 1\ntime = '60+1'\nmax-moves = 4\n{}{}", player("A"), player("B"))
    };
    scratch.write("t.toml", settings("./none"));
    let failed = scratch.run(&["referee", "t.toml"]);
    assert!(failed.err.contains("did not sign on"), "{}", failed.err);
    scratch.write("t.toml", settings(&engine));
    let done = scratch.run(&["referee", "t.toml"]);
    assert_eq!(done.status, 0, "{}", done.err);
    assert_eq!(scratch.text("t.pgn").matches("[Result ").count(), 1);
    assert!(!scratch.text("t.log").contains("./none"));
}

/// A match of scripted engines, as the words of a command line.
fn match_of_two(more: &str) -> Vec<String> {
    let engine = crate::engines_at_hand::scripted().display().to_string();
    let words = format!(
        "referee -engine cmd={engine} arg=script name=A -engine cmd={engine} arg=other name=B \
         -maxmoves 4 -pgnout t.pgn -log t.log {more}"
    );
    words.split(' ').map(String::from).collect()
}

fn run_match(scratch: &Scratch, more: &str) -> crate::scratch::Done {
    let words = match_of_two(more);
    scratch.run(&words.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Settings that change no game may differ when a match is resumed; all others that differ are named.
#[test]
fn a_match_is_resumed_with_other_settings_that_change_no_game() {
    let scratch = Scratch::with("script", "");
    scratch.write("other", "");
    let first = run_match(&scratch, "-each tc=60+1 -rounds 1 -event a -site b");
    assert_eq!(first.status, 0, "{}", first.err);
    let same = run_match(
        &scratch,
        "-each tc=60+1 -rounds 1 -event a -site b -concurrency 2 -recover -ratinginterval 10 -listen 127.0.0.1:0",
    );
    assert_eq!(same.status, 0, "{}", same.err);
    let other = run_match(&scratch, "-each tc=60+2 -rounds 2 -event c -site d -concurrency 2");
    assert_eq!(other.status, 2, "{}", other.err);
    let settings = ["-each tc=60+", "-rounds ", "-event ", "-site "];
    let values = [["1", "2"], ["1", "2"], ["a", "c"], ["b", "d"]];
    for (setting, [there, here]) in settings.iter().zip(values) {
        let told = format!("`{setting}{there}` in the log, `{setting}{here}` on the command line");
        assert!(other.err.contains(&told), "{told}\n{}", other.err);
    }
    assert!(!other.err.contains("-concurrency"), "{}", other.err);
    assert!(other.err.contains("to start over, move t.log and t.pgn away"), "{}", other.err);
    // A copy of a log is the log of other files.
    std::fs::copy(scratch.path("t.log"), scratch.path("u.log")).unwrap();
    let words = match_of_two("-each tc=60+1 -rounds 1 -event a -site b").join(" ");
    let copied = words.replace("t.pgn", "u.pgn").replace("t.log", "u.log");
    let copied = scratch.run(&copied.split(' ').collect::<Vec<_>>());
    assert!(copied.err.contains("to start over, move u.log and u.pgn away"), "{}", copied.err);
}

/// The number of concurrent games stays as in the log when a match is resumed, and this is reported.
#[test]
fn a_resumed_match_reports_settings_that_stay() {
    let scratch = Scratch::with("script", "");
    scratch.write("other", "");
    let words = match_of_two("-each tc=60+1 -rounds 40 -concurrency 1");
    let mut referee = scratch.spawn(&words.iter().map(String::as_str).collect::<Vec<_>>());
    wait_for_log(&scratch, 9000, &mut referee);
    referee.kill().unwrap();
    referee.wait().unwrap();
    let done = run_match(&scratch, "-each tc=60+1 -rounds 40 -concurrency 2");
    assert_eq!(done.status, 0, "{}", done.err);
    let told = "the number of concurrent games stays 1, as in the log, and does not become 2";
    assert!(done.err.contains(told), "{}", done.err);
}

/// An engine without a limit would never move.
#[test]
fn a_match_without_a_limit_is_refused() {
    let scratch = Scratch::with("script", "");
    let done = run_match(&scratch, "-each tc=inf");
    assert_eq!(done.status, 2, "{}", done.err);
    assert!(done.err.contains("player A has no time, nodes or depth"), "{}", done.err);
    assert!(!scratch.path("t.log").exists());
}

/// A misspelled option of an engine is an error before the first game; an option for all engines may
/// be missing in some.
#[test]
fn misspelled_engine_options_are_refused() {
    let scratch = Scratch::with("script", "");
    scratch.write(
        "other",
        "uci: id name Other | option name Skill type spin default 1 min 0 max 9 | uciok\n",
    );
    for (more, told) in [
        ("-each tc=60+1 option.Hsh=7", "no engine has the option `Hsh` of -each"),
        ("-engine cmd=./none name=C option.X=1 -each tc=60+1 option.Skill=77", "0 to 9"),
    ] {
        let done = run_match(&scratch, more);
        assert_eq!(done.status, 2, "{}", done.err);
        assert!(done.err.contains(told), "{}", done.err);
        assert!(!done.err.contains("game 1"), "{}", done.err);
    }
    let engine = crate::engines_at_hand::scripted().display().to_string();
    let player = |name: &str, option: &str| {
        format!(
            "[[player]]\nname = '{name}'\nengine = 'cmd={engine} arg=script'\noptions = {{ {option} = 7 }}\n"
        )
    };
    scratch.write("o.toml", player("A", "Hash") + &player("B", "Hash") + &player("C", "Hsh"));
    let done = scratch.run(&["referee", "o.toml"]);
    assert_eq!(done.status, 2, "{}", done.err);
    assert!(done.err.contains("C: the engine has no option `Hsh`; is it `Hash`?"), "{}", done.err);
    assert!(!done.err.contains("game 1"), "{}", done.err);
    let done = run_match(&scratch, "-each tc=60+1 option.Skill=7");
    assert_eq!(done.status, 0, "{}", done.err);
    assert!(
        done.err.contains("A: epdb: the engine has no option `Skill`: ignored"),
        "{}",
        done.err
    );
}

/// Over a serial line a client goes away and another one comes in one packet.
#[test]
fn a_serial_line_is_never_deaf() {
    let (mut line, path, _kept) = terminal();
    let (_other, other, _other_kept) = terminal();
    let players = "silences = { conclude = '0s', reset = '0s' }\n\
        [[player]]\nname = 'A'\n[[player]]\nname = 'B'\n";
    let scratch = Scratch::with("t.toml", players);
    let lines = format!("{path},{other}");
    let mut referee = scratch.spawn(&["referee", "-q", "t.toml", "--serial", &lines]);
    let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -";
    let come = format!("{start} refreq sign_on; tcsi \"x\" \"A\";\n");
    let go = format!("{start} refreq sign_off;\n");
    let mut replies = BufReader::new(line.try_clone().unwrap());
    line.write_all(come.as_bytes()).unwrap();
    // More often than lines may wait.
    for _ in 0..70 {
        line.write_all(format!("{go}{come}").as_bytes()).unwrap();
        let mut heard = String::new();
        replies.read_line(&mut heard).unwrap();
        assert!(heard.contains("refcom reset"), "{heard}");
    }
    referee.kill().unwrap();
    referee.wait().unwrap();
}

/// The example of the help is played to its end, with engines and clients that are at hand in place of its own, in
/// short games without silences.
#[test]
fn the_example_is_played_to_its_end() {
    let engine = format!("cmd={} arg=script", crate::engines_at_hand::scripted().display());
    let openings = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/samples/openings.epd");
    let client = format!("'{}', '{{host}}', '{{port}}', '{{name}}', '12'", client().display());
    let mut text = include_str!("../examples/tournament.toml").to_string();
    let replaced = [
        ("engine = \"stockfish\"", format!("engine = '{engine}'")),
        ("options = { Hash = 64, Threads = 1 }", String::new()),
        ("token = true", String::new()),
        ("token-file = \"guest.token\"", String::new()),
        ("engine = \"cmd=toga2\"", format!("name = 'Toga'\nengine = '{engine}'")),
        ("\"./my-client\", \"--connect\", \"{host}:{port}\", \"--name\", \"{name}\"", client),
        ("tests/samples/openings.epd", openings.to_string()),
        ("listen = \"127.0.0.1:4000\"", "listen = '127.0.0.1:0'".to_string()),
        ("conclude = \"1s\", reset = \"2s\"", "conclude = '0s', reset = '0s'".to_string()),
        ("max-moves = 300", "max-moves = 20".to_string()),
    ];
    for (there, here) in replaced {
        assert!(text.contains(there), "{there}");
        text = text.replace(there, &here);
    }
    let scratch = Scratch::with("cup.toml", text);
    scratch.write("script", "");
    let mut referee = scratch.spawn(&["referee", "--plain", "cup.toml"]);
    let address = loop {
        let log = fs::read_to_string(scratch.path("cup.log")).unwrap_or_default();
        match log.split_once(" listen ").and_then(|(_, rest)| rest.split_once('\n')) {
            Some((address, _)) => break address.to_string(),
            None => assert!(referee.try_wait().unwrap().is_none(), "it has ended"),
        }
    };
    // The guest comes twice, as two games are played at once.
    let guests = [(); 2].map(|()| {
        let stream = TcpStream::connect(&address).unwrap();
        std::thread::spawn(move || referee_client::play(&stream, "Guest", 12).unwrap_or(()))
    });
    let seen = referee.wait_with_output().unwrap();
    assert!(seen.status.success(), "{}", scratch.text("cup.log"));
    guests.into_iter().for_each(|guest| guest.join().unwrap());
    let games = scratch.text("cup.pgn");
    assert_eq!(games.matches("[Event \"Winter cup\"]").count(), 24);
    assert_eq!(games.matches("[Termination \"abandoned\"]").count(), 0, "{games}");
    let table = String::from_utf8_lossy(&seen.stdout);
    assert!(["Fish", "Toga", "Mine", "Guest"].iter().all(|name| table.contains(name)), "{table}");
}

/// Engines run behind epdb's own clients.
#[test]
fn engines_play_a_tournament() {
    let settings =
        "games = 2\ntime = '60+1'\nmax-moves = 6\nsilences = { conclude = '0s', reset = '0s' }\n";
    let player = |name: &str| {
        let engine = crate::engines_at_hand::scripted().display().to_string();
        format!("[[player]]\nname = '{name}'\nengine = 'cmd={engine} arg=script'\n")
    };
    let scratch = Scratch::with("script", "");
    scratch.write("t.toml", format!("{settings}{}{}", player("A"), player("B")));
    let done = scratch.run(&["referee", "t.toml"]);
    assert_eq!(done.status, 0, "{}", done.err);
    let games = scratch.text("t.pgn");
    assert_eq!(games.matches("[Result \"1/2-1/2\"]").count(), 2, "{games}");
    assert_eq!(games.matches("[Termination \"adjudication\"]").count(), 2);
    assert!(games.contains("[%clk 0:01:0"), "{games}");
}
