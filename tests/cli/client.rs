//! `epdb client`: an engine that takes part in a tournament.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Child;

use crate::engines_at_hand::scripted;
use crate::scratch::Scratch;

const START: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -";

/// One end of a channel at which a test plays referee.
struct Referee {
    lines: BufReader<TcpStream>,
}

impl Referee {
    fn accept(listener: &TcpListener) -> Referee {
        Referee { lines: BufReader::new(listener.accept().unwrap().0) }
    }

    fn say(&mut self, line: &str) {
        writeln!(self.lines.get_mut(), "{line}").unwrap();
    }

    fn hear(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        line.trim_end().to_string()
    }

    fn ask(&mut self, line: &str) -> String {
        self.say(line);
        self.hear()
    }
}

fn client(scratch: &Scratch, address: &str, more: &[&str]) -> Child {
    client_with(scratch, address, more, &[])
}

fn client_with(
    scratch: &Scratch,
    address: &str,
    more: &[&str],
    environment: &[(&str, &str)],
) -> Child {
    let engine = format!("cmd={} arg=script name=Scripted", scripted().display());
    let call = ["-q", "client", "--connect", address, "--engine", &engine];
    scratch.spawn_with(&[&call[..], more].concat(), environment)
}

fn listener() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    (listener, address)
}

#[test]
fn an_engine_plays_for_a_referee_that_comes_back() {
    let scratch = Scratch::with("script", "position: !log said\ngo: !log said | !first\n");
    let (listener, address) = listener();
    let mut child = client(&scratch, &address, &["--option", "Hash=2", "--name", "ProgA"]);
    let mut referee = Referee::accept(&listener);
    let signs_on = referee.hear();
    assert!(
        signs_on.starts_with(&format!("{START} ready; refreq sign_on; tcsi \"127.0.0.1:")),
        "{signs_on}"
    );
    assert!(signs_on.ends_with("\"ProgA\";"), "{signs_on}");
    referee.say(&format!("{START} refcom reset;"));
    let reply = referee.ask(&format!("{START} btime 900; refcom respond; winc 50; wtime 1000;"));
    assert!(reply.starts_with(&format!("{START} acd 3; acn ")), "{reply}");
    assert!(reply.contains("; pv a3; refreq reply; sm a3;"), "{reply}");
    // The referee is killed, and another one takes over.
    drop(referee);
    let mut referee = Referee::accept(&listener);
    assert!(referee.hear().contains("refreq sign_on; tcsi"));
    referee.say(&format!("{START} refcom reset;"));
    referee.say(&format!("{START} fmvn 1; hmvc 0; refcom execute; sm a3; sv a3 a6;"));
    let after = "rnbqkbnr/1ppppppp/p7/8/8/P7/1PPPPPPP/RNBQKBNR w KQkq -";
    let reply = referee.ask(&format!("{after} fmvn 2; hmvc 0; movetime 20; refcom respond;"));
    assert!(reply.starts_with(after) && reply.contains("sm Ra2;"), "{reply}");
    referee.say(&format!("{START} refcom disconnect;"));
    assert!(child.wait().unwrap().success());
    let fen = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
    assert_eq!(
        scratch.text("said"),
        format!(
            "position fen {fen}\ngo wtime 1000 btime 900 winc 50\n\
             position fen {fen} moves a2a3 a7a6\ngo movetime 20\n"
        )
    );
}

#[test]
fn an_engine_that_fails_loses_the_game_and_is_started_again_for_the_next() {
    let script = "go: !write script go: !first | bestmove e2e5\n";
    let scratch = Scratch::with("script", script);
    let (listener, address) = listener();
    let mut child = client_with(&scratch, &address, &[], &[("EPDB_TOKEN", "abc")]);
    let mut referee = Referee::accept(&listener);
    assert!(referee.hear().ends_with("tcsi \"abc\" \"Scripted\";"));
    let fault = referee.ask(&format!("{START} refcom respond;"));
    assert!(fault.contains("move `e2e5` is not legal"), "{fault}");
    assert!(fault.ends_with("refreq fault;"), "{fault}");
    referee.say(&format!("{START} refcom conclude;"));
    referee.say(&format!("{START} refcom reset;"));
    let reply = referee.ask(&format!("{START} refcom respond;"));
    assert!(reply.ends_with("refreq reply; sm a3;"), "{reply}");
    // A referee that knows nobody on the line.
    let again = referee.ask(&format!("{START} c0 \"nobody has signed on\"; refcom fault;"));
    assert!(again.ends_with("\"Scripted\";"), "{again}");
    referee.say(&format!("{START} refcom disconnect;"));
    assert!(child.wait().unwrap().success());
}

// Chess960
#[test]
fn games_of_chess960_are_played() {
    let scratch = Scratch::with("script", "setoption: !log said\nposition: !log said\n");
    let (listener, address) = listener();
    let mut child = client(&scratch, &address, &["--games", "1"]);
    let mut referee = Referee::accept(&listener);
    referee.hear();
    let start = "bbqnnrkr/pppppppp/8/8/8/8/PPPPPPPP/BBQNNRKR w HFhf -";
    let reply = referee.ask(&format!("{start} movetime 5; refcom respond;"));
    assert!(reply.contains("refreq reply; sm"), "{reply}");
    assert!(referee.ask(&format!("{START} refcom conclude;")).ends_with("refreq sign_off;"));
    assert!(child.wait().unwrap().success());
    let said = scratch.text("said");
    assert!(
        said.contains("setoption name UCI_Chess960 value true\nposition fen bbqnnrkr/"),
        "{said}"
    );
}

#[test]
fn unreachable_servers_and_missing_programs_are_reported() {
    let scratch = Scratch::with("script", "");
    let (listener, address) = listener();
    drop(listener);
    let engine = scripted().display().to_string();
    let call = ["client", "--connect", &address, "--engine", &engine, "--retry", "1ms"];
    let done = scratch.run(&call);
    assert_eq!(done.status, 2);
    assert!(done.err.contains(&format!("no referee at {address}")), "{}", done.err);
    let done = scratch.run(&["client", "--connect", &address, "--engine", "./nobody"]);
    assert!(done.status == 2 && done.err.contains("cannot start ./nobody"), "{}", done.err);
    let done = scratch.run(&["client", "--serial", "nowhere", "--engine", &engine]);
    assert!(done.status == 2 && done.err.contains("cannot open nowhere"), "{}", done.err);
    for wrong in [&["--resign", "600"][..], &["--name", "a\"b"], &["--serial", "/dev/null"]] {
        let done = scratch.run(&[&call[..], wrong].concat());
        assert_eq!(done.status, 2, "{wrong:?}");
    }
    assert_eq!(scratch.run(&["client", "--engine", &engine]).status, 2);
}
