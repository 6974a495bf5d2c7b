//! Clients that break the rules, in every state: the right fault or forfeit, without effect on others.

use epdb_chess::model::GameResult;
use epdb_referee::wire::{Command, Directive, Reply, Request};
use epdb_referee::{Event, Order, Termination};

use crate::hall::{Hall, START, TWO, after, seconds};

const LOST: (GameResult, Termination) = (GameResult::BlackWins, Termination::RulesInfraction);

/// The codes of the faults on a channel.
fn faults(hall: &mut Hall, channel: u64) -> Vec<String> {
    let heard = hall.heard(channel);
    let heard = heard.iter().map(|line| Directive::parse(line.as_bytes()).unwrap());
    let faults = heard.filter(|it| it.command == Command::Fault).filter_map(|it| it.reason);
    faults.map(|reason| reason.split(':').next().unwrap().to_string()).collect()
}

/// Before `sign_on` anything else is a fault, and the channel is closed.
#[test]
fn strangers_are_turned_away() {
    let cases = [
        (format!("{START} refreq reply; sm e4;"), "E-REF-STATE"),
        (format!("{START} refreq sign_off;"), "E-REF-STATE"),
        (format!("{START} sm e4;"), "E-REF-NOREFREQ"),
        (format!("{START} refreq sign_on; tcsi \"x\" \"Nobody\";"), "E-REF-STATE"),
        (format!("{START} refreq sign_on;"), "E-EPD-ARITY"),
        ("GET / HTTP/1.1".into(), "E-EPD-FIELDS"),
        ("\u{1}\u{2}".into(), "E-EPD-CTRL"),
    ];
    for (line, code) in cases {
        let mut hall = Hall::new(TWO);
        hall.open(5);
        hall.say(5, &line);
        assert_eq!(faults(&mut hall, 5), [code], "{line}");
        assert_eq!(hall.closed, [5]);
        // Later lines are ignored.
        hall.sign_on(6, "A");
        hall.say(5, &line);
        assert_eq!(hall.closed, [5]);
    }
    let mut hall = Hall::new(TWO);
    hall.open(5);
    hall.happen(Event::TooLong(5));
    assert_eq!(
        (faults(&mut hall, 5), hall.closed.clone()),
        (vec!["E-EPD-LINELEN".into()], vec![5])
    );
    // A client that sends nothing.
    hall.open(6);
    hall.pass(seconds(60));
    assert_eq!((faults(&mut hall, 6), hall.closed), (vec!["E-REF-STATE".into()], vec![5, 6]));
}

/// A name that is taken: the newcomer goes.
#[test]
fn nobody_signs_on_twice() {
    let mut hall = Hall::with_game();
    hall.sign_on(3, "A");
    assert_eq!((faults(&mut hall, 3), hall.closed.clone()), (vec!["E-REF-STATE".into()], vec![3]));
    hall.say(2, &format!("{START} refreq sign_on; tcsi \"x\" \"B\";"));
    assert_eq!(faults(&mut hall, 2), ["E-REF-STATE"]);
    // Not in place of a move either.
    hall.say(1, &format!("{START} refreq sign_on; tcsi \"x\" \"A\";"));
    assert_eq!(faults(&mut hall, 1), ["E-REF-STATE"]);
    assert!(hall.finished().is_empty());
}

/// A client that is started takes its seat, and nobody else does.
#[test]
fn a_stranger_takes_no_seat_of_a_client_that_is_started() {
    let launch = "name = 'A'\ncommand = ['a']\ntoken = true";
    let mut hall = Hall::new(&TWO.replace("name = 'A'", launch));
    hall.sign_on(2, "B");
    hall.sign_on(5, "A");
    assert_eq!((faults(&mut hall, 5), hall.closed.clone()), (vec!["E-REF-STATE".into()], vec![5]));
    hall.pass(seconds(60));
    assert_eq!(hall.started, [0, 0], "it did not come, and was started again");
    for (channel, address) in [(6, "token 1"), (7, "token 2")] {
        hall.open(channel);
        hall.say(channel, &format!("{START} refreq sign_on; tcsi \"{address}\" \"A\";"));
    }
    assert_eq!(hall.closed, [5, 6]);
    assert_eq!(hall.commands(7), ["reset", "inform", "respond"]);
}

/// Nobody sees that a serial line was closed; who signs on again has come back.
#[test]
fn a_second_sign_on_over_a_serial_line_is_a_return() {
    let serial = "serial = ['/dev/a', '/dev/b']\nrestarts = 1\n".to_string() + TWO;
    let mut hall = Hall::with_game_of(&serial);
    hall.play_all(1, "e2e4 e7e5");
    hall.heard(1);
    let again = format!("{START} refreq sign_on; tcsi \"x\" \"A\";");
    hall.say(1, &again);
    assert_eq!(hall.commands(1), ["reset", "inform", "execute", "respond"]);
    // Under no other name, and not again and again.
    hall.say(1, &format!("{START} refreq sign_on; tcsi \"x\" \"B\";"));
    assert_eq!(faults(&mut hall, 1), ["E-REF-STATE"]);
    assert!(hall.finished().is_empty());
    hall.say(1, &again);
    assert_eq!(hall.outcome(), (GameResult::BlackWins, Termination::Abandoned));
}

/// An invalid text in place of a move loses the game.
#[test]
fn a_reply_without_a_valid_move_loses_the_game() {
    let other = "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq e3";
    let cases = [
        (format!("{START} refreq reply; sm e5;"), "E-MOVE-ILLEGAL"),
        (format!("{START} refreq reply; sm xyzzy;"), "E-MOVE-SYNTAX"),
        (format!("{START} refreq reply;"), "E-REF-NOMOVE"),
        (format!("{START} draw_accept; refreq reply;"), "E-REF-NOMOVE"),
        (format!("{START} draw_claim; refreq reply;"), "W-CONS-CLAIMSM"),
        (format!("{other} refreq reply; sm e5;"), "E-REF-POSITION"),
        (format!("{START} sm e4;"), "E-REF-NOREFREQ"),
        (format!("{START} refreq answer; sm e4;"), "E-EPD-TYPE"),
        ("hello".into(), "E-EPD-FIELDS"),
    ];
    for (line, code) in cases {
        let mut hall = Hall::with_game();
        hall.say(1, &line);
        assert_eq!(hall.outcome(), LOST, "{line}");
        assert_eq!(faults(&mut hall, 1), [code], "{line}");
        assert_eq!(hall.commands(2), ["inform", "conclude", "disconnect"]);
    }
    let mut hall = Hall::with_game();
    hall.happen(Event::TooLong(1));
    assert_eq!((hall.outcome(), faults(&mut hall, 1)), (LOST, vec!["E-EPD-LINELEN".into()]));
}

/// With a supervisor the game waits for it.
#[test]
fn a_supervisor_decides_about_infractions() {
    let mut hall = Hall::with_game();
    hall.order(Order::Attend);
    hall.pass(seconds(2));
    hall.say(1, &format!("{START} refreq reply; sm e5;"));
    assert!(hall.finished().is_empty());
    hall.pass(seconds(100));
    assert!(hall.finished().is_empty(), "no clock runs");
    hall.order(Order::Restart(0));
    assert_eq!(hall.closed, [1]);
    hall.sign_on(3, "A");
    let asked = hall.last(3, Command::Respond);
    assert_eq!(asked.left.white, Some(seconds(8)));
    hall.say(3, &format!("{START} refreq reply; sm e5;"));
    hall.order(Order::Adjudicate { game: 1, result: GameResult::Draw });
    assert_eq!(hall.outcome(), (GameResult::Draw, Termination::Adjudication));
}

/// A reply that nobody asked for is a fault in each state, and costs no game; too many close the channel.
#[test]
fn replies_out_of_turn_are_faults() {
    let reply = format!("{START} refreq reply; sm e4;");
    // Nothing is sent into a silence.
    let mut hall = Hall::new(&TWO.replace("reset = '0s'", "reset = '5s'"));
    hall.sign_on(1, "A");
    hall.say(1, &reply);
    assert_eq!(hall.commands(1), ["reset"]);
    assert!(hall.messages.iter().any(|it| it.starts_with("fault of A: E-REF-STATE")));
    hall.pass(seconds(5));
    hall.say(1, &reply);
    assert_eq!(faults(&mut hall, 1), ["E-REF-STATE"]);
    // Waiting.
    let mut hall = Hall::with_game();
    for _ in 0..7 {
        hall.say(2, &reply);
    }
    assert_eq!(faults(&mut hall, 2).len(), 7);
    assert!(hall.closed.is_empty());
    hall.say(2, "noise");
    assert_eq!(hall.closed, [2]);
    hall.play(1, "e2e4");
    assert!(hall.finished().is_empty());
    // Concluding.
    let mut hall = Hall::with_game_of(&TWO.replace("conclude = '0s'", "conclude = '5s'"));
    hall.play_with(1, "e2e4", |reply| (reply.mv, reply.resigns) = (None, true));
    hall.heard(1);
    for _ in 0..8 {
        hall.say(1, &reply);
    }
    assert_eq!((hall.heard(1).len(), hall.closed), (0, vec![1]));
}

/// A reply that was under way when the game ended is no fault.
#[test]
fn a_reply_may_cross_the_end_of_the_game() {
    let mut hall = Hall::with_game_of(&TWO.replace("conclude = '0s'", "conclude = '5s'"));
    hall.order(Order::Adjudicate { game: 1, result: GameResult::Draw });
    let reply = format!("{START} refreq reply; sm e4;");
    let faults = |hall: &Hall| hall.messages.iter().filter(|it| it.starts_with("fault")).count();
    hall.say(1, &reply);
    assert_eq!(faults(&hall), 0);
    hall.say(1, &reply);
    assert_eq!(faults(&hall), 1);
    // Something else than a reply is heard.
    let mut hall = Hall::with_game_of(&TWO.replace("conclude = '0s'", "conclude = '5s'"));
    hall.order(Order::Adjudicate { game: 1, result: GameResult::Draw });
    hall.say(1, &format!("{START} refreq sign_off;"));
    assert_eq!(hall.closed, [1]);
    // It may come when the next game has asked already.
    let mut hall = Hall::with_game_of(&TWO.replace("games = 1", "games = 3"));
    hall.play_all(1, "e2e4 e7e5");
    let late = hall.last(1, Command::Respond);
    for game in [1, 2] {
        hall.order(Order::Adjudicate { game, result: GameResult::Draw });
    }
    let late = Reply::with_move(after(&late), "g1f3".parse().unwrap());
    hall.happen(Event::Line(1, Request::Reply(late.clone()).line()));
    assert_eq!(hall.finished().len(), 2);
    hall.play(1, "e2e4");
    assert_eq!(
        hall.arbiter.snapshot(hall.now).running[0].last_move.map(|it| it.to_string()),
        Some("e4".into())
    );
    hall.play(2, "e7e5");
    hall.happen(Event::Line(
        1,
        Request::Reply(Reply { position: epdb_chess::model::Position::START, ..late }).line(),
    ));
    assert_eq!(hall.finished().len(), 3, "a second one is wrong");
}

/// A client that cannot go on has lost its game, and stays for the next one.
#[test]
fn a_fault_of_a_client_loses_its_game() {
    let fault = format!("{START} c0 \"no memory\"; refreq fault;");
    let mut hall = Hall::with_game();
    hall.say(1, &fault.replace("no memory", "E-MOVE-ILLEGAL: e5"));
    assert_eq!(hall.outcome(), LOST);
    let mut hall = Hall::with_game_of(&TWO.replace("games = 1", "games = 2"));
    hall.heard(1);
    hall.say(1, &fault);
    assert_eq!(hall.outcome(), (GameResult::BlackWins, Termination::Abandoned));
    assert_eq!(hall.finished()[0].reason, "A cannot go on: no memory");
    assert_eq!(hall.commands(1), ["inform", "conclude", "reset", "inform"]);
    assert_eq!(hall.commands(2).last(), Some(&"respond"));
    // A supervisor may say otherwise.
    hall.order(Order::Attend);
    hall.say(1, &fault);
    assert_eq!(hall.finished().len(), 1);
    hall.order(Order::Adjudicate { game: 2, result: GameResult::Draw });
    assert!(hall.has_ended);
    // Without a game nothing is lost but the channel.
    let mut hall = Hall::new(TWO);
    hall.sign_on(1, "A");
    hall.say(1, &fault);
    assert_eq!((hall.closed, hall.arbiter.finished().len()), (vec![1], 0));
}

/// A reason fits into a string, whatever the message was.
#[test]
fn the_reason_of_a_fault_is_cut() {
    let mut hall = Hall::new(TWO);
    hall.open(5);
    hall.say(5, &format!("{START} refreq sign_on; tcsi \"x\" \"{}\";", "\u{e9}".repeat(127)));
    let reason = Directive::parse(hall.heard(5)[0].as_bytes()).unwrap().reason.unwrap();
    assert!((250..=255).contains(&reason.len()), "{}", reason.len());
}

/// A flood: the clock does not suffer, and the channel is closed.
#[test]
fn a_flood_is_cut() {
    let mut hall = Hall::with_game();
    for _ in 0..1000 {
        hall.say(2, "flood");
    }
    assert_eq!(hall.closed, [2]);
    assert_eq!(faults(&mut hall, 2).len(), 8);
    // Two replies to one respond, the second before it is known when the respond was written.
    let mut hall = Hall::with_game();
    hall.play(1, "e2e4");
    hall.say(1, &format!("{START} refreq reply; sm d4;"));
    assert_eq!(faults(&mut hall, 1), ["E-REF-STATE"]);
    assert!(hall.finished().is_empty());
}

/// A client goes away in each state: the other games go on, and so does its own when it is back.
#[test]
fn disconnecting_in_any_state_stops_nothing() {
    let three = TWO.replace("games = 1", "games = 1\nconcurrency = 2").replace("'10'", "'1000'")
        + "[[player]]\nname = 'C'\n[[player]]\nname = 'D'\n";
    let mut hall = Hall::new(&three);
    for (channel, name) in (1..).zip(["A", "B", "C", "D"]) {
        hall.sign_on(channel, name);
    }
    for channel in 1..5 {
        hall.happen(Event::Closed(channel));
    }
    for (channel, name) in (11..).zip(["A", "B", "C", "D"]) {
        hall.sign_on(channel, name);
    }
    let snapshot = hall.arbiter.snapshot(hall.now);
    assert_eq!(snapshot.running.len(), 2);
    assert!(snapshot.running.iter().all(|game| game.running.is_some()));
    let white = snapshot.running[0].sides[0].player as u64 + 11;
    let other = snapshot.running[1].sides[0].player as u64 + 11;
    hall.happen(Event::Closed(white));
    hall.play(other, "e2e4");
    let snapshot = hall.arbiter.snapshot(hall.now);
    assert_eq!(snapshot.running[1].fullmove_number, 1);
    assert_eq!(snapshot.running[1].last_move.map(|san| san.to_string()), Some("e4".into()));
}
