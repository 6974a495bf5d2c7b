//! The client's side: its answers, and its state of a game.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use epdb_chess::text::{Profile, san};
use epdb_engine::{ClockReading, MoveTime};
use epdb_referee::client::{Client, Conduct, End, Note, Thinker, Thought, Threshold, Turn};
use epdb_referee::wire::SearchReport;

pub(crate) const START: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -";
const USUAL: Duration = Duration::from_secs(1);
const PLAIN: Conduct = Conduct { resign: None, draw: None, claims: true };

/// Plays the given moves, with a score of 0 or the one after `=`, and records the commands. At the move
/// `late` it fails, but only after the game has ended.
#[derive(Default)]
pub(crate) struct Scripted {
    moves: VecDeque<String>,
    turns: Vec<(usize, MoveTime)>,
}

impl Thinker for &mut Scripted {
    fn forget(&mut self) {}

    fn think(
        &mut self,
        turn: &Turn,
        interrupt: &mut epdb_referee::client::Interrupt<'_>,
    ) -> Result<Thought, String> {
        self.turns.push((turn.board.moves().len(), turn.time));
        let word = self.moves.pop_front().ok_or("no move any more")?;
        if word == "late" {
            while !interrupt() {
                std::thread::yield_now();
            }
            return Err("the engine ignored `stop`".into());
        }
        let (san, score) = word.split_once('=').unwrap_or((&word, "0"));
        let mv = san::parse(&turn.board.playable(), san.as_bytes(), Profile::Strict).unwrap().mv;
        let search = SearchReport { ce: Some(score.parse().unwrap()), ..SearchReport::default() };
        Ok(Thought { mv, search })
    }
}

/// Lines of a referee, which waits for the answer to each `respond`.
struct Referee {
    /// Remaining lines, the next one last.
    lines: Vec<Vec<u8>>,
    now: Vec<u8>,
    written: Receiver<()>,
    waits: bool,
}

impl Read for Referee {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.now.is_empty() {
            if self.waits {
                self.written.recv().ok();
            }
            self.now = self.lines.pop().unwrap_or_default();
            self.waits = self.now.ends_with(b"respond;\n");
        }
        let len = self.now.len().min(out.len());
        out[..len].copy_from_slice(&self.now[..len]);
        self.now.drain(..len);
        Ok(len)
    }
}

/// Messages of a client, passed to the referee from the second line on.
struct Answers<'a> {
    out: &'a mut Vec<u8>,
    wrote: Option<Sender<()>>,
    next: Option<Sender<()>>,
}

impl Write for Answers<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.extend(bytes);
        if let Some(wrote) = &self.wrote {
            wrote.send(()).ok();
        }
        self.wrote = self.wrote.take().or_else(|| self.next.take());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The result of a conversation.
struct EngineOutput {
    lines: Vec<String>,
    end: Result<End, String>,
    notes: Vec<Note>,
    turns: Vec<(usize, MoveTime)>,
}

fn converse(conduct: Conduct, moves: &str, games: Option<u64>, said: &[String]) -> EngineOutput {
    let moves = moves.split_ascii_whitespace().map(String::from).collect();
    let mut thinker = Scripted { moves, turns: Vec::new() };
    let lines = said.iter().rev().map(|line| format!("{line}\n").into_bytes()).collect();
    let (wrote, written) = channel();
    let reader = Referee { lines, now: Vec::new(), written, waits: false };
    let (mut out, mut notes) = (Vec::new(), Vec::new());
    let mut client = Client::new(&mut thinker, conduct, USUAL);
    // The sign_on is no answer.
    let writer = Answers { out: &mut out, wrote: None, next: Some(wrote) };
    let end =
        client.converse((reader, writer), ("a@host", "ProgA"), games, &mut |note| notes.push(note));
    let end = end.map_err(|error| error.to_string());
    let lines = String::from_utf8(out).unwrap().lines().map(String::from).collect();
    EngineOutput { lines, end, notes, turns: thinker.turns }
}

/// The replies, without sign_on and scores.
fn replies(conduct: Conduct, moves: &str, said: &[String]) -> Vec<String> {
    let heard = converse(conduct, moves, None, said);
    assert!(heard.end.is_ok(), "{:?}", heard.end);
    heard.lines[1..].iter().map(|line| line.replace("ce 0; ", "")).collect()
}

fn respond(position: &str, rest: &str) -> String {
    format!("{position} {rest} refcom respond;")
}

// The worked example, as both clients see it.
#[test]
fn the_worked_example() {
    let after_f3 = "rnbqkbnr/pppppppp/8/8/8/5P2/PPPPP1PP/RNBQKBNR b KQkq -";
    let after_e5 = "rnbqkbnr/pppp1ppp/8/4p3/8/5P2/PPPPP1PP/RNBQKBNR w KQkq e6";
    let after_g4 = "rnbqkbnr/pppp1ppp/8/4p3/6P1/5P2/PPPPP2P/RNBQKBNR b KQkq g3";
    let mated = "rnb1kbnr/pppp1ppp/8/4p3/6Pq/5P2/PPPPP2P/RNBQKBNR w KQkq -";
    let begin = [
        format!("{START} refcom reset;"),
        format!(
            "{START} ptp Event \"T\" Site \"?\" Date \"2024.01.01\" Round \"1\" White \"ProgA\" \
             Black \"ProgB\" Result \"*\"; refcom inform;"
        ),
    ];
    let end = [
        format!("{mated} ptp Result \"0-1\"; refcom inform;"),
        format!("{mated} refcom conclude;"),
        format!("{START} refcom disconnect;"),
    ];
    let white = [
        respond(START, "cc 000:00:00:00 000:00:00:00; fmvn 1; hmvc 0;"),
        respond(after_f3, "cc 000:00:00:02 000:00:00:01; fmvn 1; hmvc 0; sm e5;"),
    ];
    let heard = converse(PLAIN, "f3 g4", None, &[&begin[..], &white, &end].concat());
    assert_eq!(
        heard.lines,
        [
            format!("{START} refreq sign_on; tcsi \"a@host\" \"ProgA\";"),
            format!("{START} ce 0; refreq reply; sm f3;"),
            format!("{after_e5} ce 0; refreq reply; sm g4;"),
        ]
    );
    assert_eq!(heard.end, Ok(End::Disconnected));
    let players = Note::Begins { white: "ProgA".into(), black: "ProgB".into() };
    assert_eq!(heard.notes, [players, Note::Ends(Some("0-1".into()))]);

    let black = [
        respond(START, "cc 000:00:00:02 000:00:00:00; fmvn 1; hmvc 0; sm f3;"),
        respond(after_e5, "cc 000:00:00:04 000:00:00:01; fmvn 2; hmvc 0; sm g4;"),
    ];
    assert_eq!(
        replies(PLAIN, "e5 Qh4#", &[&begin[..], &black, &end].concat()),
        [format!("{after_f3} refreq reply; sm e5;"), format!("{after_g4} refreq reply; sm Qh4#;"),]
    );
}

#[test]
fn a_client_without_moves_replies_without_one() {
    let mate = "rnbqkbnr/pppp1ppp/8/4p3/6P1/5P2/PPPPP2P/RNBQKBNR b KQkq g3";
    let mated = "rnb1kbnr/pppp1ppp/8/4p3/6Pq/5P2/PPPPP2P/RNBQKBNR w KQkq -";
    assert_eq!(
        replies(PLAIN, "", &[respond(mate, "sm Qh4#;")]),
        [format!("{mated} refreq reply;")]
    );
    let stalemate = "7k/8/5KQ1/8/8/8/8/8 w - -";
    let stalemated = "7k/5Q2/5K2/8/8/8/8/8 b - -";
    assert_eq!(
        replies(PLAIN, "", &[respond(stalemate, "sm Qf7;")]),
        [format!("{stalemated} refreq reply;")]
    );
}

#[test]
fn resignation_and_a_claim_for_bare_material_have_no_move() {
    let bare = "7k/8/8/8/8/8/8/K6N w - -";
    assert_eq!(
        replies(PLAIN, "", &[respond(bare, "")]),
        [format!("{bare} draw_claim; refreq reply;")]
    );
    let silent = Conduct { claims: false, ..PLAIN };
    assert_eq!(
        replies(silent, "Ka2", &[respond(bare, "")]),
        [format!("{bare} refreq reply; sm Ka2;")]
    );

    let resign = Conduct { resign: Some(Threshold { moves: 2, centipawns: 600 }), ..PLAIN };
    let lost = "k6q/8/8/8/8/8/P7/K7 w - -";
    let again = "k7/8/8/8/8/8/P7/1K5q w - -";
    let heard = converse(
        resign,
        "Kb1=-600 Kb2=-900",
        None,
        &[
            respond(lost, "fmvn 9; hmvc 3;"),
            respond("k6q/8/8/8/8/8/P7/1K6 b - -", "fmvn 9; hmvc 4; sm Qh1+;"),
        ],
    );
    assert_eq!(
        heard.lines[1..],
        [
            format!("{lost} ce -600; refreq reply; sm Kb1;"),
            format!("{again} ce -900; refreq reply; resign;"),
        ]
    );
}

/// Moves of a knight forth and back, for White.
fn knights(fmvn: u32, first: &str) -> Vec<String> {
    let home = START.replace(" w ", " b ");
    let out = "rnbqkbnr/pppppppp/8/8/8/5N2/PPPPPPPP/RNBQKB1R b KQkq -";
    let number = |n: u32| format!("fmvn {}; hmvc {};", fmvn + n, 2 * n + 1);
    let mut said = vec![respond(START, &format!("fmvn {fmvn}; hmvc 0;"))];
    said.push(respond(out, &format!("{} sm Nf6;", number(0))));
    let both_out = home.replace("rnbqkbnr/", "rnbqkb1r/").replacen("8/8", "5n2/8", 1);
    said.push(respond(&both_out, &format!("{} sm Ng8;", number(1))));
    said.push(respond(out, &format!("{first} sm Nf6;")));
    said.push(respond(&both_out, &format!("{} sm Ng8;", number(3))));
    said
}

#[test]
fn a_history_that_continues_shows_repetitions_and_another_one_does_not() {
    let moves = "Nf3 Ng1 Nf3 Ng1 Nf3";
    let kept = replies(PLAIN, moves, &knights(1, "fmvn 3; hmvc 5;"));
    assert!(kept[4].ends_with("draw_claim; refreq reply; sm Nf3;"), "{kept:#?}");
    assert!(kept[..4].iter().all(|line| !line.contains("claim")), "{kept:#?}");
    // The counters of the fourth message are not those that the client has counted.
    let cleared = replies(PLAIN, moves, &knights(1, "fmvn 3; hmvc 1;"));
    assert!(cleared.iter().all(|line| !line.contains("claim")), "{cleared:#?}");
}

#[test]
fn clocks_are_those_that_the_referee_sends() {
    let time = |rest: &str, tags: &str| {
        let said = [format!("{START} ptp {tags}; refcom inform;"), respond(START, rest)];
        converse(PLAIN, "e4", None, &said).turns[0].1
    };
    let clocks = |left: [u64; 2], increment: [u64; 2], moves_to_go| {
        let ms = Duration::from_millis;
        MoveTime::Clocks(ClockReading {
            left: left.map(ms),
            increment: increment.map(ms),
            moves_to_go,
        })
    };
    let tags = "TimeControl \"40/7200:3600\"";
    // The words of engines, which are exact, come before the whole seconds of the standard.
    let words =
        "binc 50; btime 900; cc 000:00:00:01 000:00:00:00; movestogo 12; winc 50; wtime 850;";
    assert_eq!(time(words, tags), clocks([850, 900], [50, 50], Some(12)));
    assert_eq!(time("movetime 250;", tags), MoveTime::Fixed(Duration::from_millis(250)));
    let used = "cc 000:00:10:00 000:01:00:01;";
    assert_eq!(time(used, tags), clocks([6_599_000, 3_598_000], [0, 0], Some(40)));
    let later = format!("{used} fmvn 11; hmvc 0;");
    assert_eq!(time(&later, tags), clocks([6_599_000, 3_598_000], [0, 0], Some(30)));
    let increments = format!("{used} fmvn 3; hmvc 0;");
    assert_eq!(
        time(&increments, "TimeControl \"7200+30\""),
        clocks([6_659_000, 3_658_000], [30_000, 30_000], None)
    );
    // The clock of the other side is not sent.
    assert_eq!(time("wtime 900; winc 50;", tags), clocks([900, 900], [50, 0], None));
    // Neither clocks nor a time control.
    assert_eq!(time("", "White \"A\""), MoveTime::Fixed(USUAL));
    assert_eq!(time(used, "White \"A\""), MoveTime::Fixed(USUAL));
}

#[test]
fn tags_are_taken_from_whatever_message_has_them() {
    let respond = respond(START, "cc 000:00:01:00 000:00:00:00; ptp TimeControl \"1/5\";");
    let heard = converse(PLAIN, "e4", None, &[respond]);
    assert_eq!(heard.turns[0].1, MoveTime::Fixed(Duration::from_secs(5)));
}

#[test]
fn a_game_that_is_replayed_continues_with_its_history() {
    let line = "sm Nf3; sv Nf3 Nf6 Ng1 Ng8 Nf3 Nf6 Ng1 Ng8;";
    let said = [
        respond(START, ""),
        format!("{START} refcom reset;"),
        format!("{START} fmvn 1; hmvc 0; refcom execute; {line}"),
        respond(START, "fmvn 5; hmvc 8;"),
    ];
    let heard = converse(PLAIN, "e4 Nf3", None, &said);
    assert_eq!(heard.turns.iter().map(|turn| turn.0).collect::<Vec<_>>(), [0, 8]);
    // The third time that this knight is out alone.
    assert!(heard.lines[2].ends_with("draw_claim; refreq reply; sm Nf3;"), "{:?}", heard.lines);
    // With a single move that is executed, as the standard has it.
    let said = [
        format!("{START} refcom execute; sm e4;"),
        respond("rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq e3", "sm e5;"),
    ];
    assert_eq!(converse(PLAIN, "Nf3", None, &said).turns[0].0, 2);
}

/// The next game is not lost because an engine failed after the end of a game.
#[test]
fn a_failure_after_the_game_is_no_fault() {
    let said = [
        format!("{}\n{START} refcom conclude;", respond(START, "")),
        format!("{START} refcom reset;"),
        respond(START, ""),
    ];
    let heard = converse(PLAIN, "late e4", None, &said);
    assert!(
        heard.lines[1..] == [format!("{START} ce 0; refreq reply; sm e4;")],
        "{:?}",
        heard.lines
    );
    assert!(heard.notes.contains(&Note::NoMove("the engine ignored `stop`".into())));
}

#[test]
fn a_client_signs_off_after_its_last_game_and_ends_when_it_is_disconnected() {
    let conclude = format!("{START} refcom conclude;");
    let heard = converse(PLAIN, "", Some(2), &[conclude.clone(), conclude.clone(), conclude]);
    assert_eq!(heard.end, Ok(End::SignedOff));
    assert_eq!(heard.lines[1..], [format!("{START} refreq sign_off;")]);
    let disconnect = format!("{START} refcom disconnect;");
    let heard = converse(PLAIN, "e4", None, &[disconnect, respond(START, "")]);
    assert_eq!((heard.end, heard.lines.len()), (Ok(End::Disconnected), 1));
}

#[test]
fn faults_are_reported_and_sent() {
    let heard = converse(PLAIN, "", None, &[format!("{START} c0 \"name in use\"; refcom fault;")]);
    assert_eq!(heard.notes, [Note::Fault(Some("name in use".into()))]);
    assert_eq!((heard.end, heard.lines.len()), (Ok(End::Refused), 1));
    for (said, why) in [
        (format!("{START} id \"x\";"), "E-REF-NOREFCOM"),
        (format!("{START} refcom dance;"), "E-EPD-TYPE"),
        (respond(START, "sm Nf6;"), "Nf6"),
        (respond("8/8/8/8/8/8/8/8 w - -", ""), "no moves can be made"),
        ("x".repeat(5000), "4095"),
        ("nonsense".into(), "E-"),
    ] {
        let heard = converse(PLAIN, "e4", None, std::slice::from_ref(&said));
        let error = heard.end.unwrap_err();
        assert!(error.contains(why), "{said}: {error}");
        assert!(heard.lines[1].contains("c0 \"") && heard.lines[1].ends_with("refreq fault;"));
    }
    // Unknown opcodes are ignored.
    let unknown = respond(START, "SHOULD be; nobody \"knows\" it;");
    assert_eq!(replies(PLAIN, "e4", &[unknown]).len(), 1);
    // No move was found.
    let heard = converse(PLAIN, "", None, &[respond(START, "")]);
    assert!(heard.lines[1].contains("c0 \"no move any more\"; refreq fault;"), "{:?}", heard.lines);
}

#[test]
fn draws_are_offered_taken_and_refused() {
    let draws = Conduct { draw: Some(Threshold { moves: 1, centipawns: 10 }), ..PLAIN };
    let reply = |conduct, mv: &str, rest: &str| {
        converse(conduct, mv, None, &[respond(START, rest)]).lines[1].split_off(START.len() + 1)
    };
    assert_eq!(reply(draws, "e4=10", ""), "ce 10; draw_offer; refreq reply; sm e4;");
    assert_eq!(reply(draws, "e4=11", ""), "ce 11; refreq reply; sm e4;");
    let after = "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq e3 ".len();
    let offered = |conduct, mv: &str| {
        let heard = converse(conduct, mv, None, &[respond(START, "draw_offer; sm e4;")]);
        heard.lines[1][after..].to_string()
    };
    assert_eq!(offered(draws, "e5=-10"), "ce -10; draw_accept; refreq reply;");
    assert_eq!(offered(draws, "e5=-11"), "ce -11; draw_reject; refreq reply; sm e5;");
    assert_eq!(offered(PLAIN, "e5=0"), "ce 0; draw_reject; refreq reply; sm e5;");
}

/// A stream of what others send.
struct Sent(Receiver<Vec<u8>>);

impl Read for Sent {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let line = self.0.recv().unwrap_or_default();
        out[..line.len()].copy_from_slice(&line);
        Ok(line.len())
    }
}

/// Thinks until it is interrupted.
struct Endless(Sender<Vec<u8>>);

impl Thinker for Endless {
    fn forget(&mut self) {}

    fn think(
        &mut self,
        turn: &Turn,
        interrupt: &mut epdb_referee::client::Interrupt<'_>,
    ) -> Result<Thought, String> {
        self.0.send(format!("{START} refcom conclude;\n").into_bytes()).unwrap();
        while !interrupt() {
            std::thread::yield_now();
        }
        let mv = turn.board.playable().legal_moves()[0];
        Ok(Thought { mv, search: SearchReport::default() })
    }
}

#[test]
fn a_game_that_ends_while_a_client_thinks_is_over_for_it() {
    let (sender, receiver) = channel();
    sender.send(format!("{}\n", respond(START, "")).into_bytes()).unwrap();
    let mut out = Vec::new();
    let mut client = Client::new(Endless(sender), PLAIN, USUAL);
    let end = client.converse((Sent(receiver), &mut out), ("a", "A"), Some(1), &mut |_| {});
    assert_eq!(end, Ok(End::SignedOff));
    let lines = String::from_utf8(out).unwrap();
    assert_eq!(lines.lines().filter(|line| line.contains("reply")).count(), 0, "{lines}");
}

/// A thinker that needs its time before a game.
#[derive(Default)]
struct Slow {
    prepared: Vec<String>,
}

impl Thinker for &mut Slow {
    fn forget(&mut self) {}

    fn takes_time(&self) -> bool {
        true
    }

    fn prepare(&mut self, start: &epdb_chess::model::Position) {
        self.prepared.push(start.to_string());
    }

    fn think(
        &mut self,
        _turn: &Turn,
        _interrupt: &mut epdb_referee::client::Interrupt<'_>,
    ) -> Result<Thought, String> {
        Err("no move is wanted".into())
    }
}

#[test]
fn a_client_that_takes_time_says_when_it_is_ready() {
    let said = [
        format!("{START} refcom reset;"),
        format!("{START} ptp White \"ProgA\" Black \"ProgB\"; ready; refcom inform;"),
        format!("{START} ptp Result \"*\"; refcom inform;"),
        format!("{START} refcom disconnect;"),
    ]
    .join("\n")
        + "\n";
    let mut slow = Slow::default();
    let mut out = Vec::new();
    let mut client = Client::new(&mut slow, PLAIN, USUAL);
    let reader = std::io::Cursor::new(said.into_bytes());
    let end = client.converse((reader, &mut out), ("a@host", "ProgA"), None, &mut |_| {});
    assert_eq!(end, Ok(End::Disconnected));
    let lines = String::from_utf8(out).unwrap();
    let expected = format!(
        "{START} ready; refreq sign_on; tcsi \"a@host\" \"ProgA\";\n{START} ready; refreq reply;\n"
    );
    assert_eq!(lines, expected);
    assert_eq!(slow.prepared, [START]);
}
