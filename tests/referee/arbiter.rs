//! Games between players who keep to the rules.

use epdb_chess::model::{GameResult, Position};
use epdb_referee::wire::{Command, Directive, DrawWord, Reply};
use epdb_referee::{Event, Order, QuietTimeouts, Termination};

use crate::hall::{Hall, START, TWO, after, seconds};

/// A whole game between two clients, line by line and both sides.
#[test]
fn the_worked_example() {
    let mut hall = Hall::new(
        "event = 'T'\ngames = 1\ntime = 'inf'\n[[player]]\nname = 'ProgA'\n[[player]]\nname = 'ProgB'\n",
    );
    let (white, black) = ("ProgA", "ProgB");
    let (a, b) = (1, 2);
    hall.open(a);
    hall.say(a, &format!("{START} refreq sign_on; tcsi \"a@host\" \"{white}\";"));
    assert_eq!(hall.heard(a), [format!("{START} refcom reset;")]);
    hall.open(b);
    hall.say(b, &format!("{START} refreq sign_on; tcsi \"b@host\" \"{black}\";"));
    assert_eq!(hall.heard(b), [format!("{START} refcom reset;")]);
    hall.pass(seconds(5) - std::time::Duration::from_micros(1));
    assert_eq!((hall.heard(a).len(), hall.heard(b).len()), (0, 0), "silence");
    hall.pass(std::time::Duration::from_micros(1));
    let tags = format!(
        "{START} ptp Event \"T\" Site \"?\" Date \"2024.01.01\" Round \"1\" White \"{white}\" Black \
         \"{black}\" Result \"*\"; refcom inform;"
    );
    let zero = "000:00:00:00";
    let respond = format!("{START} cc {zero} {zero}; fmvn 1; hmvc 0; refcom respond;");
    assert_eq!(hall.heard(a), [tags.clone(), respond]);
    assert_eq!(hall.heard(b), [tags]);
    hall.pass(seconds(2));
    hall.say(a, &format!("{START} refreq reply; sm f3;"));
    let two = "000:00:00:02";
    let respond = format!("{START} cc {two} {zero}; fmvn 1; hmvc 0; refcom respond; sm f3;");
    assert_eq!(hall.heard(b), [respond]);
    let after_f3 = "rnbqkbnr/pppppppp/8/8/8/5P2/PPPPP1PP/RNBQKBNR b KQkq -";
    hall.say(b, &format!("{after_f3} refreq reply; sm e5;"));
    let respond = format!("{after_f3} cc {two} {zero}; fmvn 1; hmvc 0; refcom respond; sm e5;");
    assert_eq!(hall.heard(a), [respond]);
    let after_e5 = "rnbqkbnr/pppp1ppp/8/4p3/8/5P2/PPPPP1PP/RNBQKBNR w KQkq e6";
    hall.say(a, &format!("{after_e5} refreq reply; sm g4;"));
    let respond = format!("{after_e5} cc {two} {zero}; fmvn 2; hmvc 0; refcom respond; sm g4;");
    assert_eq!(hall.heard(b), [respond]);
    let after_g4 = "rnbqkbnr/pppp1ppp/8/4p3/6P1/5P2/PPPPP2P/RNBQKBNR b KQkq g3";
    hall.say(b, &format!("{after_g4} refreq reply; sm Qh4#;"));
    let last = "rnb1kbnr/pppp1ppp/8/4p3/6Pq/5P2/PPPPP2P/RNBQKBNR w KQkq -";
    let result = format!("{last} ptp Result \"0-1\"; refcom inform;");
    let conclude = format!("{last} refcom conclude;");
    for channel in [a, b] {
        assert_eq!(hall.heard(channel), [result.clone(), conclude.clone()]);
    }
    assert_eq!(hall.outcome(), (GameResult::BlackWins, Termination::Normal));
    // Silence, then the end.
    hall.pass(seconds(5));
    for channel in [a, b] {
        assert_eq!(hall.heard(channel), [format!("{START} refcom disconnect;")]);
    }
    assert!(hall.has_ended);
    assert_eq!(hall.closed, [1, 2]);
}

/// TimeControl is sent where there is one; the words of UCI go with it.
#[test]
fn the_time_control_is_sent() {
    let mut hall = Hall::new(&TWO.replace("'10'", "'40/60+0.5'"));
    hall.sign_on(1, "A");
    hall.sign_on(2, "B");
    let heard = hall.heard(1);
    let inform = Directive::parse(heard[1].as_bytes()).unwrap();
    assert!(inform.tags.contains(&("TimeControl".into(), "40/60+0.5".into())), "{inform:?}");
    assert!(heard[2].contains("binc 500; btime 60000; cc "), "{}", heard[2]);
    assert!(heard[2].contains("movestogo 40; refcom respond; winc 500; wtime 60000;"));
}

/// An offer goes with the move, and is accepted without one.
#[test]
fn draw_offers_are_accepted_or_rejected() {
    let mut hall = Hall::with_game();
    hall.play_with(1, "e2e4", |reply| reply.draw = Some(DrawWord::Offer));
    let asked = hall.last(2, Command::Respond);
    assert!(asked.draw_offer && asked.mv.is_some());
    let position = after(&asked);
    let mut reply = Reply::with_move(position, "e7e5".parse().unwrap());
    reply.draw = Some(DrawWord::Reject);
    hall.happen(Event::Line(2, epdb_referee::wire::Request::Reply(reply).line()));
    let asked = hall.last(1, Command::Respond);
    assert!(!asked.draw_offer);
    let reply = Reply::with_move(after(&asked), "g1f3".parse().unwrap());
    let reply = Reply { draw: Some(DrawWord::Offer), ..reply };
    hall.happen(Event::Line(1, epdb_referee::wire::Request::Reply(reply).line()));
    hall.play_with(2, "b8c6", |reply| {
        (reply.mv, reply.draw) = (None, Some(DrawWord::Accept));
    });
    assert_eq!(hall.outcome(), (GameResult::Draw, Termination::Normal));
    assert_eq!(hall.finished()[0].moves.len(), 3);
}

/// The word of rejection goes to who offered, once.
#[test]
fn a_rejection_is_passed_on() {
    let mut hall = Hall::with_game();
    hall.play_with(1, "e2e4", |reply| reply.draw = Some(DrawWord::Offer));
    hall.play_with(2, "e7e5", |reply| reply.draw = Some(DrawWord::Reject));
    hall.play_with(1, "g1f3", |_| {});
    hall.play_with(2, "b8c6", |reply| reply.draw = Some(DrawWord::Reject));
    assert!(!hall.last(1, Command::Respond).draw_reject, "nothing was offered");

    let mut hall = Hall::with_game();
    hall.play_with(1, "e2e4", |reply| reply.draw = Some(DrawWord::Offer));
    hall.play_with(2, "e7e5", |reply| reply.draw = Some(DrawWord::Reject));
    assert!(hall.last(1, Command::Respond).draw_reject);
}

/// A client that asks to be waited for is ready before its clock runs.
#[test]
fn the_clock_does_not_run_while_a_client_gets_ready() {
    let mut hall = Hall::new(TWO);
    hall.open(1);
    hall.say(1, &format!("{START} ready; refreq sign_on; tcsi \"x@host\" \"A\";"));
    hall.sign_on(2, "B");
    let heard = hall.heard(1);
    assert!(heard.last().unwrap().contains("ready; refcom inform;"), "{heard:?}");
    assert!(hall.heard(2).iter().all(|line| !line.contains("ready;")));
    hall.pass(seconds(30));
    assert!(hall.heard(1).is_empty() && hall.finished().is_empty());
    hall.say(1, &format!("{START} ready; refreq reply;"));
    assert_eq!(hall.commands(1), ["respond"]);
    hall.pass(seconds(9));
    assert!(hall.finished().is_empty());
    hall.pass(seconds(2));
    assert_eq!(hall.outcome(), (GameResult::BlackWins, Termination::TimeForfeit));
}

#[test]
fn a_client_that_never_gets_ready_pays_in_the_end() {
    let mut hall = Hall::new(&format!("return = '60s'\n{TWO}"));
    hall.open(1);
    hall.say(1, &format!("{START} ready; refreq sign_on; tcsi \"x@host\" \"A\";"));
    hall.sign_on(2, "B");
    hall.pass(seconds(59));
    assert!(hall.heard(1).iter().all(|line| !line.contains("refcom respond")));
    hall.pass(seconds(12));
    assert_eq!(hall.outcome(), (GameResult::BlackWins, Termination::TimeForfeit));
}

/// FIDE 6.9 and 7.5.5: nobody wins who cannot mate by any series of legal moves.
#[test]
fn a_player_that_cannot_mate_does_not_win_on_time() {
    for (fen, result) in [
        ("q3k3/8/8/8/8/8/8/4K3 w - -", GameResult::BlackWins),
        ("4k3/8/8/8/8/8/8/Q3K3 w - -", GameResult::Draw),
        ("2b1k3/8/8/8/8/8/8/Q3K3 w - -", GameResult::Draw),
        ("1n2k3/8/8/8/8/8/8/Q3K3 w - -", GameResult::Draw),
        ("1n2k3/8/8/8/8/8/8/R3K3 w - -", GameResult::BlackWins),
        ("1n2k1n1/8/8/8/8/8/8/Q3K3 w - -", GameResult::BlackWins),
        ("4k3/p7/8/8/8/8/8/Q3K3 w - -", GameResult::BlackWins),
    ] {
        let mut hall = Hall::from_position("", fen);
        hall.pass(seconds(11));
        assert_eq!(hall.outcome(), (result, Termination::TimeForfeit), "{fen}");
        let mut hall = Hall::from_position("", fen);
        hall.say(1, &format!("{fen} refreq reply; c0 \"no move\";"));
        assert_eq!(hall.outcome(), (result, Termination::RulesInfraction), "{fen}");
    }
}

/// A move without a word rejects the offer.
#[test]
fn a_move_rejects_an_offer() {
    let mut hall = Hall::with_game();
    hall.play_with(1, "e2e4", |reply| reply.draw = Some(DrawWord::Offer));
    hall.play(2, "e7e5");
    hall.play_with(1, "g1f3", |reply| {
        (reply.mv, reply.draw) = (None, Some(DrawWord::Accept));
    });
    // There was nothing to accept.
    assert_eq!(hall.outcome(), (GameResult::BlackWins, Termination::RulesInfraction));
}

/// A claim is judged after the move; a wrong one is rejected, and the move stands.
#[test]
fn claims_are_looked_at() {
    let mut hall = Hall::with_game();
    hall.play_with(1, "e2e4", |reply| reply.draw = Some(DrawWord::Claim));
    assert!(hall.messages.iter().any(|it| it.contains("the claim of A is wrong")));
    assert!(!hall.last(2, Command::Respond).draw_offer);
    hall.happen(Event::Line(2, reply_line(&hall, "e7e5")));
    let asked = hall.last(1, Command::Respond);
    assert!(asked.draw_reject);
    // A client that returns gets the messages again.
    hall.happen(Event::Closed(1));
    hall.sign_on(3, "A");
    assert!(hall.last(3, Command::Respond).draw_reject);

    let mut hall = Hall::with_game();
    let there_and_back = "g1f3 g8f6 f3g1 f6g8 ";
    hall.play_all(1, &there_and_back.repeat(2)[..there_and_back.len() * 2 - 5]);
    hall.play_with(2, "f6g8", |reply| reply.draw = Some(DrawWord::Claim));
    assert_eq!(hall.outcome(), (GameResult::Draw, Termination::Normal));
}

/// The reply with a move in the position that is on the board of the one game.
fn reply_line(hall: &Hall, mv: &str) -> Vec<u8> {
    let snapshot = hall.arbiter.snapshot(hall.now);
    let reply = Reply::with_move(snapshot.running[0].position, mv.parse().unwrap());
    epdb_referee::wire::Request::Reply(reply).line()
}

/// A player that resigns has lost.
#[test]
fn a_player_that_resigns_has_lost() {
    let mut hall = Hall::with_game();
    hall.play(1, "e2e4");
    hall.play_with(2, "e7e5", |reply| (reply.mv, reply.resigns) = (None, true));
    assert_eq!(hall.outcome(), (GameResult::WhiteWins, Termination::Normal));
    assert_eq!(hall.commands(1), ["inform", "conclude", "disconnect"]);
}

/// The time runs from the respond that was written to the line that is complete.
#[test]
fn a_player_that_exceeds_its_time_has_lost() {
    let mut hall = Hall::with_game();
    hall.pass(seconds(10));
    hall.play(1, "e2e4");
    hall.pass(seconds(10));
    assert!(hall.finished().is_empty());
    hall.pass(seconds(1));
    assert_eq!(hall.outcome(), (GameResult::WhiteWins, Termination::TimeForfeit));
    assert_eq!(hall.finished()[0].moves[0].used, seconds(10));

    // A line that was complete too late, and is known before the clock is looked at.
    let mut hall = Hall::with_game();
    hall.now += seconds(10) + std::time::Duration::from_millis(1);
    hall.play(1, "e2e4");
    assert_eq!(hall.outcome(), (GameResult::BlackWins, Termination::TimeForfeit));
}

/// Other events do not drop a flag while a line may still be unread that was complete in time.
#[test]
fn a_reply_in_time_counts_whatever_is_known_before_it() {
    let mut hall = Hall::with_game();
    hall.now = seconds(11);
    hall.open(9);
    hall.now = seconds(9);
    hall.play(1, "e2e4");
    assert!(hall.finished().is_empty());
    hall.pass(seconds(12));
    assert_eq!(hall.outcome(), (GameResult::WhiteWins, Termination::TimeForfeit));
}

/// A respond of a game that is over may be written when the next one was sent already.
#[test]
fn the_clock_waits_for_its_own_respond() {
    let mut hall = Hall::new(&TWO.replace("games = 1", "games = 3"));
    hall.sign_on(1, "A");
    hall.open(2);
    let line = format!("{START} refreq sign_on; tcsi \"x\" \"B\";").into_bytes();
    hall.arbiter.take(seconds(1), Event::Line(2, line));
    for game in [1, 2] {
        let order = Order::Adjudicate { game, result: GameResult::Draw };
        hall.arbiter.take(seconds(1), Event::Order(order));
    }
    let runs = |hall: &Hall| hall.arbiter.snapshot(seconds(9)).running[0].running.is_some();
    hall.arbiter.take(seconds(2), Event::Written(1));
    assert!(!runs(&hall));
    hall.arbiter.take(seconds(3), Event::Written(1));
    assert!(runs(&hall));
    let left = hall.arbiter.snapshot(seconds(4)).running[0].sides[0].left;
    assert_eq!(left, Some(seconds(9)));
}

/// The clock runs from the time of writing, whatever arrives first.
#[test]
fn a_reply_is_counted_from_the_respond_that_was_written() {
    let mut hall = Hall::new(TWO);
    hall.sign_on(1, "A");
    hall.open(2);
    // The respond is on its way when the reply is here already.
    let line = format!("{START} refreq sign_on; tcsi \"x\" \"B\";").into_bytes();
    hall.arbiter.take(seconds(1), Event::Line(2, line));
    let reply = format!("{START} refreq reply; sm e4;").into_bytes();
    hall.arbiter.take(seconds(4), Event::Line(1, reply));
    assert_eq!(hall.arbiter.snapshot(seconds(4)).running[0].fullmove_number, 1);
    hall.arbiter.take(seconds(3), Event::Written(1));
    let snapshot = hall.arbiter.snapshot(seconds(4));
    assert_eq!(snapshot.running[0].sides[0].left, Some(seconds(9)));
    assert_eq!(snapshot.running[0].last_move.map(|san| san.to_string()), Some("e4".into()));
}

/// The rules of chess end games without a further respond.
#[test]
fn the_rules_of_chess_end_games() {
    let mut hall = Hall::with_game();
    hall.play_all(1, "f2f3 e7e5 g2g4 d8h4");
    assert_eq!(hall.outcome(), (GameResult::BlackWins, Termination::Normal));
    assert_eq!(hall.finished()[0].reason, "Black mates");
    assert!(hall.messages.contains(&"game 1: A - B 0-1 (Black mates)".to_string()));
    assert_eq!(hall.commands(1), ["inform", "conclude", "disconnect"]);

    let mut hall = Hall::with_game();
    hall.play_all(1, &"b1c3 b8c6 c3b1 c6b8 ".repeat(2));
    assert_eq!(hall.outcome(), (GameResult::Draw, Termination::Normal));
    assert_eq!(hall.finished()[0].reason, "threefold repetition");

    let mut hall = Hall::with_game_of(
        &("max-moves = 1
"
        .to_string()
            + TWO),
    );
    hall.play_all(1, "e2e4 e7e5");
    assert_eq!(hall.outcome(), (GameResult::Draw, Termination::Adjudication));
    assert_eq!(hall.finished()[0].reason, "the last move that is allowed");
}

/// The next game comes after conclude, silence, reset and silence.
#[test]
fn games_follow_each_other() {
    let mut hall = Hall::new(
        "games = 2\nsilences = { conclude = '2s', reset = '3s' }\n[[player]]\nname = 'A'\n[[player]]\nname = 'B'\n",
    );
    hall.sign_on(1, "A");
    hall.sign_on(2, "B");
    hall.pass(seconds(3));
    hall.play_with(1, "e2e4", |reply| (reply.mv, reply.resigns) = (None, true));
    assert_eq!(hall.commands(1), ["inform", "conclude"]);
    assert_eq!(hall.commands(2), ["reset", "inform", "inform", "conclude"]);
    hall.pass(seconds(2));
    assert_eq!((hall.commands(1), hall.commands(2)), (vec!["reset"], vec!["reset"]));
    hall.pass(seconds(3));
    // Colours are the other way round.
    assert_eq!((hall.commands(1), hall.commands(2)), (vec!["inform"], vec!["inform", "respond"]));
}

/// A player that signs off is not paired until it signs on again.
#[test]
fn a_player_that_signs_off_is_closed_and_may_return() {
    let mut hall = Hall::new(TWO);
    hall.sign_on(1, "A");
    hall.say(1, &format!("{START} refreq sign_off;"));
    assert_eq!(hall.closed, [1]);
    hall.sign_on(2, "B");
    assert_eq!(hall.commands(2), ["reset"]);
    hall.sign_on(3, "A");
    assert_eq!(hall.commands(3), ["reset", "inform", "respond"]);
    // Games of one that stays away are left out when nothing else is left to play.
    let mut hall = Hall::new(&TWO.replace("games = 1", "games = 2"));
    hall.sign_on(1, "A");
    hall.sign_on(2, "B");
    hall.order(Order::Pause);
    hall.play_with(1, "e2e4", |reply| (reply.mv, reply.resigns) = (None, true));
    hall.say(1, &format!("{START} refreq sign_off;"));
    hall.order(Order::Resume);
    hall.pass(seconds(59));
    assert_eq!(hall.finished().len(), 1);
    hall.pass(seconds(1));
    let terminations: Vec<_> = hall.finished().iter().map(|it| it.outcome.termination).collect();
    assert_eq!((terminations.as_slice(), hall.has_ended), (&[Termination::Normal][..], true));
    assert_eq!(hall.messages.last().unwrap(), "1 game of A not played: it has signed off");
}

const SIGN_OFF: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - refreq sign_off;";

/// A tournament of players who are there, the first one on channel 1 and so on.
fn players_of(settings: &str, names: &[&'static str]) -> Hall {
    let player = |name: &&str| format!("[[player]]\nname = '{name}'\n");
    let silences = "silences = { conclude = '0s', reset = '0s' }\n";
    let players: String = names.iter().map(player).collect();
    let mut hall = Hall::new(&format!("time = 'inf'\ngames = 1\n{silences}{settings}{players}"));
    // All are there before the first game is called.
    hall.order(Order::Pause);
    for (channel, name) in (1..).zip(names) {
        hall.sign_on(channel, name);
    }
    hall.order(Order::Resume);
    hall
}

/// The player on move in the first game that is played resigns; the channels of players are their places from 1.
fn resign(hall: &mut Hall) {
    let (_, mover) = running(hall)[0];
    hall.say(mover as u64 + 1, &format!("{START} refreq reply; resign;"));
}

/// Players and results of the games that are over.
fn results(hall: &Hall) -> Vec<(usize, usize, Termination)> {
    let result = |it: &epdb_referee::FinishedGame| {
        (it.pairing.white, it.pairing.black, it.outcome.termination)
    };
    hall.finished().iter().map(result).collect()
}

/// Whoever has signed off is not paired; its games are not lost, but left out.
#[test]
fn games_of_a_player_that_signed_off_are_left_out() {
    for pairing in ["", "pairing = 'gauntlet'\nchallengers = 2\n"] {
        let mut hall = players_of(pairing, &["A", "B", "C"]);
        let (_, first) = running(&hall)[0];
        let left = (0..3).find(|player| {
            let both = hall.arbiter.snapshot(hall.now).running[0].sides.map(|side| side.player);
            !both.contains(player)
        });
        let left = left.unwrap();
        hall.say(left as u64 + 1, SIGN_OFF);
        hall.say(first as u64 + 1, &format!("{START} refreq reply; resign;"));
        hall.pass(seconds(59));
        assert!(!hall.has_ended, "it may sign on again");
        hall.pass(seconds(1));
        assert!(hall.has_ended);
        let all = results(&hall);
        assert!(all.iter().all(|(white, black, how)| {
            ![white, black].contains(&&left) && *how == Termination::Normal
        }));
        assert!(hall.messages.last().unwrap().ends_with("not played: it has signed off"));
        let table = hall.arbiter.snapshot(hall.now).standings();
        let row = table.rows.iter().find(|row| row.player == left).unwrap();
        assert_eq!((row.games(), row.half_points), (0, 0));
    }
    // A player that signs on again plays all of its games.
    let mut hall = players_of("", &["A", "B", "C"]);
    assert_eq!(running(&hall), [(1, 1)]);
    hall.say(1, SIGN_OFF);
    resign(&mut hall);
    hall.pass(seconds(59));
    hall.sign_on(1, "A");
    while !hall.has_ended {
        resign(&mut hall);
    }
    assert_eq!(results(&hall).len(), 3);
    assert!(results(&hall).iter().all(|(.., how)| *how == Termination::Normal));
}

/// A game that was begun is lost by the player who signs off and does not come back.
#[test]
fn a_game_that_was_begun_is_lost_by_signing_off() {
    let token = "command = ['x']\ntoken = true\n";
    let text = TWO
        .replace("games = 1", "games = 3")
        .replace("name = 'A'\n", &format!("name = 'A'\n{token}"));
    let mut hall = Hall::new(&text);
    hall.sign_on(2, "B");
    hall.open(1);
    hall.say(1, &format!("{START} refreq sign_on; tcsi \"token 1\" \"A\";"));
    hall.say(1, SIGN_OFF);
    assert_eq!(hall.started, [0], "it is not started again");
    hall.pass(seconds(60));
    assert_eq!(results(&hall), [(0, 1, Termination::Abandoned)]);
    assert!(hall.has_ended);
    assert!(hall.messages.contains(&"2 games of A not played: it has signed off".to_string()));
}

/// Players of a Swiss tournament who have signed off are not paired in the next round; a round that has begun stays.
#[test]
fn a_swiss_tournament_continues_without_a_player_that_signed_off() {
    let swiss = "pairing = 'swiss'\nrounds = 3\n";
    let mut hall = players_of(swiss, &["A", "B", "C", "D"]);
    // Between two rounds.
    resign(&mut hall);
    let (_, mover) = running(&hall)[0];
    let white = mover;
    resign(&mut hall);
    // The second round has begun. Who has played signs off, and is left out of the third one.
    resign(&mut hall);
    let played = hall.finished()[2].pairing;
    hall.say(played.white as u64 + 1, SIGN_OFF);
    resign(&mut hall);
    assert_eq!(hall.finished().len(), 4, "{white}");
    while !hall.has_ended {
        resign(&mut hall);
    }
    let all = results(&hall);
    assert_eq!(all.len(), 5, "of three players two meet: {all:?}");
    assert!(![all[4].0, all[4].1].contains(&played.white));
    let table = hall.arbiter.snapshot(hall.now).standings();
    let byes: Vec<(usize, u32)> = table
        .rows
        .iter()
        .map(|row| (row.player, row.bye_half_points))
        .filter(|it| it.1 > 0)
        .collect();
    assert_eq!(byes.len(), 1);
    assert!(byes[0].0 != played.white && byes[0].1 == 2);

    // Before its game of a round that has begun: its opponent gets the points.
    let mut hall = players_of(swiss, &["A", "B", "C", "D"]);
    let next = hall.arbiter.snapshot(hall.now).to_come[0];
    hall.say(next.black as u64 + 1, SIGN_OFF);
    resign(&mut hall);
    assert!(running(&hall).is_empty(), "the round waits for it");
    hall.pass(seconds(60));
    let table = hall.arbiter.snapshot(hall.now).standings();
    let points = |player| table.rows.iter().find(|row| row.player == player).unwrap().half_points;
    assert_eq!((points(next.white), points(next.black)), (2, 0));
    // It signs on again, and is paired in the third round.
    hall.sign_on(next.black as u64 + 1, "ABCD".get(next.black..=next.black).unwrap());
    resign(&mut hall);
    while !hall.has_ended {
        resign(&mut hall);
    }
    let all = results(&hall);
    assert!(all.iter().all(|(.., how)| *how == Termination::Normal));
    assert!(
        all[2..].iter().any(|(white, black, _)| [white, black].contains(&&next.black)),
        "{all:?}"
    );
}

/// A supervisor pauses, decides, and sets the silences.
#[test]
fn a_supervisor_is_obeyed() {
    let mut hall = Hall::with_game();
    hall.order(Order::Pause);
    hall.happen(Event::Line(1, reply_line(&hall, "e2e4")));
    assert!(hall.heard(2).iter().all(|line| !line.contains("respond")));
    assert!(hall.arbiter.snapshot(hall.now).is_paused);
    hall.order(Order::Resume);
    assert_eq!(hall.commands(2), ["respond"]);
    hall.order(Order::QuietTimeouts(QuietTimeouts { conclude: seconds(7), reset: seconds(8) }));
    hall.order(Order::Adjudicate { game: 9, result: GameResult::Draw });
    assert_eq!(hall.messages.pop().as_deref(), Some("no game 9 is played"));
    hall.order(Order::Adjudicate { game: 1, result: GameResult::Draw });
    assert_eq!(hall.outcome(), (GameResult::Draw, Termination::Adjudication));
    hall.pass(seconds(6));
    assert!(!hall.has_ended);
    hall.pass(seconds(1));
    assert!(hall.has_ended);
}

/// A client that disconnected is started again, and gets the moves
/// from the start on; its clock stands.
#[test]
fn a_client_that_returns_continues() {
    let text = "games = 1\ntime = '10'\nsilences = { conclude = '0s', reset = '5s' }\n\
        [[player]]\nname = 'A'\ncommand = ['a']\n[[player]]\nname = 'B'\ncommand = ['b']\n";
    let mut hall = Hall::new(text);
    assert_eq!(hall.started, [0, 1]);
    hall.sign_on(1, "A");
    hall.sign_on(2, "B");
    hall.pass(seconds(5));
    hall.play_all(1, "e2e4 e7e5 g1f3 b8c6");
    hall.heard(1);
    hall.pass(seconds(3));
    hall.happen(Event::Closed(1));
    assert_eq!(hall.started, [0, 1, 0]);
    hall.pass(seconds(30));
    hall.sign_on(3, "A");
    assert_eq!(hall.commands(3), ["reset"]);
    hall.pass(seconds(5));
    let heard = hall.heard(3);
    let moves = |heard: &[String]| -> Vec<String> {
        let is_execute = |line: &&String| line.contains("refcom execute; sm ");
        let mv = |line: &String| line.split_once("sm ").unwrap().1.to_string();
        heard.iter().filter(is_execute).map(mv).collect()
    };
    assert_eq!(heard[1], format!("{START} fmvn 1; hmvc 0; refcom execute; sm e4;"));
    assert_eq!(moves(&heard), ["e4;", "e5;", "Nf3;"]);
    assert!(heard[0].contains("refcom inform"));
    let asked = Directive::parse(heard[4].as_bytes()).unwrap();
    assert_eq!(asked.left.white, Some(seconds(7)));
    assert_eq!(asked.used.map(|used| used.white), Some(3));
    assert_eq!((asked.halfmove_clock, asked.fullmove_number), (Some(1), Some(2)));
    // The one that waits comes back too, and knows all moves.
    hall.happen(Event::Closed(2));
    hall.sign_on(4, "B");
    hall.pass(seconds(5));
    assert_eq!(moves(&hall.heard(4)), ["e4;", "e5;", "Nf3;", "Nc6;"]);
    hall.happen(Event::Line(3, reply_line(&hall, "f1b5")));
    assert_eq!(hall.commands(4), ["respond"]);
}

/// After the allowed restarts a game is lost.
#[test]
fn a_client_that_does_not_come_back_has_lost() {
    let text = "games = 1\nrestarts = 1\nreturn = '20s'\nsilences = { conclude = '0s', reset = '0s' }\n\
        [[player]]\nname = 'A'\ncommand = ['a']\n[[player]]\nname = 'B'\n";
    let mut hall = Hall::new(text);
    hall.sign_on(2, "B");
    hall.sign_on(1, "A");
    hall.happen(Event::Closed(1));
    let starts = hall.started.len();
    hall.pass(seconds(19));
    assert!(hall.finished().is_empty());
    hall.pass(seconds(1));
    assert_eq!(hall.started.len(), starts);
    assert_eq!(hall.outcome(), (GameResult::BlackWins, Termination::Abandoned));

    // One that is not started is awaited, once.
    let mut hall = Hall::with_game_of(&TWO.replace("games = 1", "games = 4"));
    hall.happen(Event::Closed(2));
    hall.pass(seconds(9));
    hall.happen(Event::Line(1, reply_line(&hall, "e2e4")));
    hall.pass(seconds(51));
    let abandoned = |result| (result, Termination::Abandoned);
    let outcomes: Vec<_> =
        hall.finished().iter().map(|it| (it.outcome.result, it.outcome.termination)).collect();
    let wins = [GameResult::WhiteWins, GameResult::BlackWins].map(abandoned);
    assert_eq!(outcomes, [wins, wins].concat());
}

/// A command that never brings a client costs no game.
#[test]
fn a_client_that_never_came_costs_no_game() {
    let text = "games = 1\nrestarts = 1\n[[player]]\nname = 'A'\ncommand = ['a']\n[[player]]\nname = 'B'\n";
    let mut hall = Hall::new(text);
    hall.sign_on(2, "B");
    hall.happen(Event::Exited(0));
    assert!(hall.gave_up.is_empty());
    hall.happen(Event::Exited(0));
    assert_eq!((hall.gave_up.as_slice(), hall.finished().len()), (&[0][..], 0));
    assert_eq!(hall.started, [0, 0]);
}

/// Another session goes on where the last one ended; the time between and the time since
/// the respond are charged to nobody.
#[test]
fn another_session_continues() {
    let mut hall = Hall::with_game();
    hall.play_all(1, "e2e4 e7e5");
    hall.pass(seconds(6));
    hall.happen(Event::Session { unix: 1_800_000_000 });
    hall.pass(seconds(6));
    hall.sign_on(11, "A");
    hall.sign_on(12, "B");
    let asked = hall.last(11, Command::Respond);
    assert_eq!(asked.left.white, Some(seconds(10)));
    hall.happen(Event::Line(11, reply_line(&hall, "g1f3")));
    assert_eq!(hall.last(12, Command::Respond).position, Position::clone(&after(&asked)));
}

/// A client that does not sign on with the next referee counts as disconnected.
#[test]
fn another_session_waits_for_earlier_clients() {
    let text = TWO.replace("'10'", "'inf'") + "[[player]]\nname = 'C'\n";
    let mut hall = Hall::new(&text);
    let names = (1..).zip(["A", "B", "C"]);
    names.clone().for_each(|(channel, name)| hall.sign_on(channel, name));
    let running = &hall.arbiter.snapshot(hall.now).running[0];
    let (game, players) = (running.pairing.game, running.sides.map(|side| side.player as u64));
    hall.happen(Event::Session { unix: 1_800_000_000 });
    for (channel, name) in names.filter(|(channel, _)| players.contains(&(channel - 1))) {
        hall.sign_on(10 + channel, name);
    }
    hall.pass(seconds(60));
    hall.order(Order::Adjudicate { game, result: GameResult::Draw });
    assert_eq!((hall.finished().len(), hall.has_ended), (3, true));
}

/// Nobody attends another session until it says so, and no game waits.
#[test]
fn another_session_has_no_supervisor() {
    let illegal = format!("{START} refreq reply; sm e5;");
    let mut hall = Hall::with_game();
    hall.order(Order::Attend);
    hall.say(1, &illegal);
    hall.order(Order::Pause);
    hall.happen(Event::Session { unix: 1_800_000_000 });
    hall.sign_on(11, "A");
    hall.sign_on(12, "B");
    assert_eq!(hall.commands(11), ["reset", "inform", "respond"]);
    hall.say(11, &illegal);
    assert_eq!(hall.outcome(), (GameResult::BlackWins, Termination::RulesInfraction));
}

/// When the supervisor goes, what it was to decide is asked again.
#[test]
fn a_supervisor_may_go() {
    let illegal = format!("{START} refreq reply; sm e5;");
    let mut hall = Hall::with_game();
    hall.order(Order::Attend);
    hall.say(1, &illegal);
    hall.heard(1);
    hall.order(Order::Leave);
    assert_eq!(hall.commands(1), ["respond"]);
    hall.say(1, &illegal);
    assert_eq!(hall.outcome(), (GameResult::BlackWins, Termination::RulesInfraction));
}

/// One that never came is waited for while nobody plays, and no longer than others when all else is played.
#[test]
fn a_player_that_never_connected_ends_no_tournament() {
    let text = TWO.to_string() + "[[player]]\nname = 'C'\n";
    let mut hall = Hall::new(&text);
    hall.sign_on(1, "A");
    hall.pass(seconds(1000));
    assert!(hall.finished().is_empty());
    hall.sign_on(2, "B");
    let running = hall.arbiter.snapshot(hall.now).running[0].pairing.game;
    hall.order(Order::Adjudicate { game: running, result: GameResult::Draw });
    assert!(hall.messages.contains(&"C is awaited".to_string()), "{:?}", hall.messages);
    hall.pass(seconds(59));
    assert_eq!(hall.finished().len(), 1);
    hall.pass(seconds(1));
    assert!(hall.has_ended);
    let all: Vec<_> = hall.finished().iter().map(|it| it.outcome.termination).collect();
    let abandoned = Termination::Abandoned;
    assert_eq!(all, [Termination::Adjudication, abandoned, abandoned]);
}

/// A client that nobody starts may come back as often as one that is started.
#[test]
fn a_player_that_disconnects_repeatedly_has_lost() {
    let mut hall = Hall::with_game_of(&TWO.replace("games = 1", "games = 1\nrestarts = 2"));
    for back in [11, 12] {
        hall.happen(Event::Closed(if back == 11 { 1 } else { 11 }));
        hall.sign_on(back, "A");
    }
    assert!(hall.finished().is_empty());
    hall.happen(Event::Closed(12));
    assert_eq!(hall.outcome(), (GameResult::BlackWins, Termination::Abandoned));
}

/// With several at once, nobody plays two games, and each game is played once.
#[test]
fn each_game_of_a_round_robin_is_played_once() {
    let mut text =
        "concurrency = 2\ntime = 'inf'\nsilences = { conclude = '0s', reset = '0s' }\n".to_string();
    for name in ["A", "B", "C", "D", "E"] {
        text += &format!("[[player]]\nname = '{name}'\n");
    }
    let mut hall = Hall::new(&text);
    for (channel, name) in (1..).zip(["A", "B", "C", "D", "E"]) {
        hall.sign_on(channel, name);
    }
    let mut most = 0;
    while !hall.has_ended {
        let snapshot = hall.arbiter.snapshot(hall.now);
        most = most.max(snapshot.running.len());
        let running = &snapshot.running[snapshot.running.len() - 1];
        let mover = running.sides[running.position.turn() as usize].player;
        let line = format!("{} refreq reply; resign;", running.position);
        hall.say(mover as u64 + 1, &line);
    }
    assert_eq!(most, 2);
    let mut games: Vec<_> =
        hall.finished().iter().map(|it| (it.pairing.white, it.pairing.black)).collect();
    games.sort_unstable();
    games.dedup();
    assert_eq!((games.len(), hall.finished().len()), (20, 20));
}

/// The games that are played now, and the players who are to move in them.
fn running(hall: &Hall) -> Vec<(u32, usize)> {
    let snapshot = hall.arbiter.snapshot(hall.now);
    let mover = |game: &epdb_referee::RunningGame| game.sides[game.position.turn() as usize].player;
    snapshot.running.iter().map(|game| (game.pairing.game, mover(game))).collect()
}

const AT_ONCE: &str = "games = 6\nconcurrency = 2\ntime = '10'\nrestarts = 1\n\
    silences = { conclude = '0s', reset = '0s' }\n";

/// Two players play as many games at once as are asked for: each has a client for each of them.
#[test]
fn a_match_is_played_on_several_boards() {
    let token = "command = ['x']\ntoken = true\n";
    let text = format!("{AT_ONCE}[[player]]\nname = 'A'\n{token}[[player]]\nname = 'B'\n{token}");
    let mut hall = Hall::new(&text);
    assert_eq!(hall.started, [0, 1, 2, 3]);
    // The second clients come first, each by its own token.
    for (channel, token, name) in [(1, 3, "A"), (2, 4, "B"), (3, 1, "A"), (4, 2, "B")] {
        hall.open(channel);
        hall.say(channel, &format!("{START} refreq sign_on; tcsi \"token {token}\" \"{name}\";"));
    }
    assert!(hall.closed.is_empty());
    let said = ["A (2) has signed on", "B (2) has signed on", "A has signed on", "B has signed on"];
    assert!(said.iter().all(|said| hall.messages.contains(&said.to_string())));
    assert_eq!(running(&hall), [(1, 0), (2, 1)]);
    // On the wire a player has one name.
    let tags = hall.heard(2).into_iter().find(|line| line.contains("refcom inform")).unwrap();
    assert!(tags.contains("White \"B\" Black \"A\""), "{tags}");
    // A move and an ending of one game do not touch the other.
    hall.say(3, &format!("{START} refreq reply; sm e4;"));
    assert_eq!(running(&hall), [(1, 1), (2, 1)]);
    hall.say(2, &format!("{START} refreq reply; resign;"));
    assert_eq!(running(&hall), [(1, 1), (3, 0)]);
    assert!(hall.messages.contains(&"game 2: B - A 0-1 (White resigns)".to_string()));
    // A client that goes away is started again, with a token of its own.
    hall.happen(Event::Closed(4));
    assert_eq!(hall.started, [0, 1, 2, 3, 1]);
    hall.open(5);
    hall.say(5, &format!("{START} refreq sign_on; tcsi \"token 2\" \"B\";"));
    assert_eq!(hall.closed, [5], "the token of before");
    hall.open(6);
    hall.say(6, &format!("{START} refreq sign_on; tcsi \"token 5\" \"B\";"));
    assert_eq!(hall.commands(6), ["reset", "inform", "respond"]);
    // One that does not come back loses its game only.
    hall.happen(Event::Closed(6));
    hall.happen(Event::Exited(1));
    assert_eq!(running(&hall), [(3, 0), (4, 1)]);
    let abandoned =
        hall.finished().iter().filter(|it| it.outcome.termination == Termination::Abandoned);
    assert_eq!(abandoned.map(|it| it.pairing.game).collect::<Vec<u32>>(), [1]);
}

/// Clients that connect by themselves are distinguished only by their channels.
#[test]
fn clients_that_come_by_themselves_play_on_several_boards() {
    let text = format!("{AT_ONCE}[[player]]\nname = 'A'\n[[player]]\nname = 'B'\n");
    let mut hall = Hall::new(&text);
    hall.sign_on(1, "A");
    hall.sign_on(2, "B");
    hall.sign_on(3, "B");
    assert_eq!(running(&hall), [(1, 0)], "A has one client");
    hall.open(4);
    hall.say(4, &format!("{START} refreq sign_on; tcsi \"other\" \"A\";"));
    assert_eq!(running(&hall), [(1, 0), (2, 1)]);
    hall.sign_on(5, "A");
    assert_eq!(hall.closed, [5], "as many clients as games at once");
    assert!(hall.heard(5)[0].contains("2 clients have signed on as A already"));
    // Both go away; each comes back to its own game by its address, in any order.
    hall.happen(Event::Closed(1));
    hall.happen(Event::Closed(4));
    hall.open(6);
    hall.say(6, &format!("{START} refreq sign_on; tcsi \"other\" \"A\";"));
    assert!(hall.heard(6)[1].contains("Round \"2\""));
    // Another one takes the seat of the game that waits.
    hall.open(7);
    hall.say(7, &format!("{START} refreq sign_on; tcsi \"third\" \"A\";"));
    assert!(hall.heard(7)[1].contains("Round \"1\""));
    // With another referee too.
    hall.happen(Event::Session { unix: 1_800_000_000 });
    for (channel, address, name) in [(11, "third", "A"), (12, "x@host", "B"), (13, "x@host", "B")] {
        hall.open(channel);
        hall.say(channel, &format!("{START} refreq sign_on; tcsi \"{address}\" \"{name}\";"));
    }
    assert_eq!(hall.commands(11), ["reset", "inform", "respond"]);
    // A client that does not return loses only the game of its seat.
    hall.pass(seconds(5));
    hall.say(11, &format!("{START} refreq reply; resign;"));
    hall.pass(seconds(4));
    hall.say(11, &format!("{START} refreq reply; resign;"));
    assert_eq!(running(&hall)[0].0, 2);
    hall.pass(seconds(60));
    let games: Vec<_> =
        hall.finished().iter().map(|it| (it.pairing.game, it.outcome.termination)).collect();
    assert!(games.contains(&(2, Termination::Abandoned)), "{games:?}");
}

/// Players that play nothing play first; only where there are too few of them one plays several games.
#[test]
fn a_round_robin_reaches_its_concurrency() {
    let player = |name| format!("[[player]]\nname = '{name}'\ncommand = ['x']\ntoken = true\n");
    let of = |concurrency: usize| {
        let text =
            format!("concurrency = {concurrency}\n") + &["A", "B", "C", "D"].map(player).concat();
        let hall = Hall::new(&text);
        assert_eq!(running(&hall).len(), concurrency.min(12));
        let mut started = hall.started;
        started.sort_unstable();
        started
    };
    assert_eq!(of(1), [0, 3]);
    assert_eq!(of(2), [0, 1, 2, 3]);
    assert_eq!(of(3), [0, 1, 2, 3, 4, 7]);
    assert_eq!(of(20), (0..24).collect::<Vec<usize>>());
}

/// Clients of a command without a token cannot be distinguished: their player plays one game at a time.
#[test]
fn a_command_without_a_token_plays_one_game_at_a_time() {
    let text =
        format!("{AT_ONCE}[[player]]\nname = 'A'\n[[player]]\nname = 'B'\ncommand = ['x']\n");
    let mut hall = Hall::new(&text);
    hall.sign_on(1, "A");
    hall.sign_on(2, "A");
    assert_eq!((hall.started.as_slice(), running(&hall).len()), (&[1][..], 1));
    hall.sign_on(3, "B");
    hall.sign_on(4, "B");
    assert_eq!(hall.closed, [4]);
}

/// A supervisor holds one game and starts one client again; the others go on.
#[test]
fn a_supervisor_decides_on_one_of_several_boards() {
    let text = format!("{AT_ONCE}[[player]]\nname = 'A'\n[[player]]\nname = 'B'\n");
    let mut hall = Hall::new(&text);
    hall.order(Order::Attend);
    for (channel, name) in [(1, "A"), (2, "B"), (3, "A"), (4, "B")] {
        hall.sign_on(channel, name);
    }
    hall.say(4, &format!("{START} refreq reply; sm e5;"));
    hall.say(1, &format!("{START} refreq reply; sm e4;"));
    assert!(hall.messages.contains(&"game 2 waits for the supervisor".to_string()));
    assert_eq!(running(&hall), [(1, 1), (2, 1)]);
    let snapshot = hall.arbiter.snapshot(hall.now);
    assert_eq!(snapshot.running.iter().map(|game| game.is_held).collect::<Vec<_>>(), [false, true]);
    let Some(seat) = hall.arbiter.tournament().seat_named("B (2)") else { panic!() };
    hall.order(Order::Restart(seat));
    assert_eq!(hall.closed, [4]);
    hall.sign_on(5, "B");
    assert_eq!(hall.commands(5), ["reset", "inform", "respond"]);
    hall.order(Order::Restart(99));
    assert!(hall.finished().is_empty());
}

/// A sequential test lets no game begin when it has its answer.
#[test]
fn a_sequential_test_ends_the_tournament() {
    let test = "sprt = { elo0 = 0, elo1 = 400, alpha = 0.4, beta = 0.4 }\n";
    let text = TWO
        .replace("games = 1", "games = 2\nrounds = 50")
        .replace("[[player]]", &format!("{test}[[player]]"));
    let text = text.replacen(&format!("{test}[[player]]\nname = 'B'"), "[[player]]\nname = 'B'", 1);
    let mut hall = Hall::new(&text);
    hall.sign_on(1, "A");
    hall.sign_on(2, "B");
    let all = hall.arbiter.to_come().count();
    while !hall.has_ended {
        let running = &hall.arbiter.snapshot(hall.now).running[0];
        let mover = running.position.turn() as usize;
        let line = match running.sides[mover].player {
            0 if running.fullmove_number == 1 => {
                format!("{} refreq reply; sm {};", running.position, ["e4", "e5"][mover])
            }
            0 => format!("{} refreq reply; sm Nf3;", running.position),
            _ => format!("{} refreq reply; resign;", running.position),
        };
        hall.say(running.sides[mover].player as u64 + 1, &line);
    }
    assert!(hall.finished().len() < all, "{all}");
    assert!(hall.messages.iter().any(|message| message.starts_with("the test is over: ")));
}

/// The same events lead to the same actions.
#[test]
fn the_same_events_lead_to_the_same_actions() {
    let events = |arbiter: &mut epdb_referee::Arbiter| {
        let line = |text: &str| format!("{START} {text}").into_bytes();
        let sign_on = |name: &str| line(&format!("refreq sign_on; tcsi \"x\" \"{name}\";"));
        let events = [
            Event::Session { unix: 7 },
            Event::Opened(1),
            Event::Line(1, sign_on("A")),
            Event::Opened(2),
            Event::Line(2, sign_on("B")),
            Event::Written(1),
            Event::Line(1, line("refreq reply; sm e4;")),
            Event::Line(1, line("refreq reply; sm d4;")),
            Event::Closed(2),
            Event::Tick,
        ];
        (0..).zip(events).map(|(at, event)| arbiter.take(seconds(at), event)).collect::<Vec<_>>()
    };
    let [one, other] = [(); 2].map(|()| events(&mut Hall::new(TWO).arbiter));
    assert_eq!(one, other);
    assert!(one.iter().flatten().count() > 10);
}

/// A machine, or a log, may say any time of day; games have a date all the same.
#[test]
fn games_have_a_date_whatever_the_time_is() {
    let mut hall = Hall::new(TWO);
    hall.happen(Event::Session { unix: u64::MAX });
    hall.sign_on(1, "A");
    hall.sign_on(2, "B");
    hall.order(Order::Adjudicate { game: 1, result: GameResult::Draw });
    assert_eq!(hall.finished()[0].date, "9999.12.31");
}
