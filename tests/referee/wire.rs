//! Messages: reading and writing.

use std::io::Read;

use epdb_chess::model::Position;
use epdb_referee::wire::{
    Command, Directive, DrawWord, Incoming, Lines, MAX_LINE, Reply, Request, TimeLeft, UsedTime,
};

use crate::hall::START;

fn request(operations: &str) -> Result<Request, &'static str> {
    Request::parse(format!("{START} {operations}").as_bytes()).map_err(|error| error.code)
}

fn directive(operations: &str) -> Result<Directive, &'static str> {
    Directive::parse(format!("{START} {operations}").as_bytes()).map_err(|error| error.code)
}

/// Each record says what it is; opcodes that nobody knows are passed over.
#[test]
fn each_message_has_its_word() {
    assert_eq!(request("sm e4;"), Err("E-REF-NOREFREQ"));
    assert_eq!(request("refcom respond;"), Err("E-REF-NOREFREQ"));
    assert_eq!(directive("sm e4;"), Err("E-REF-NOREFCOM"));
    assert_eq!(directive("refreq reply; sm e4;"), Err("E-REF-NOREFCOM"));
    assert_eq!(request("refreq answer;"), Err("E-EPD-TYPE"));
    assert_eq!(directive("refcom move;"), Err("E-EPD-TYPE"));
    assert_eq!(request("refreq \"sign_off\";"), Err("E-EPD-TYPE"));
    assert_eq!(request("refreq sign_off; hello 1 2 \"x\";"), Ok(Request::SignOff));
    assert!(directive("mood \"good\"; refcom reset;").is_ok());
    assert_eq!(request("refreq sign_on;"), Err("E-EPD-ARITY"));
}

/// Messages without a move are refused if they have one.
#[test]
fn last_messages_have_no_move() {
    for word in ["conclude", "disconnect"] {
        assert_eq!(directive(&format!("refcom {word}; sm e4;")), Err("E-REF-EXTRA-SM"));
        assert!(directive(&format!("refcom {word};")).is_ok());
    }
}

/// Rules between opcodes count, and a record that breaks them is refused.
#[test]
fn contradictions_are_refused() {
    assert_eq!(request("draw_offer; refreq reply;"), Err("W-CONS-OFFERSM"));
    assert_eq!(request("draw_accept; refreq reply; resign;"), Err("W-CONS-RESIGN"));
    assert_eq!(request("draw_claim; draw_offer; refreq reply; sm e4;"), Err("W-CONS-CLAIMOFFER"));
    assert_eq!(request("refreq reply; sm Ke2;"), Err("E-MOVE-ILLEGAL"));
    assert_eq!(request("refreq reply; sm hello;"), Err("E-MOVE-SYNTAX"));
}

/// All that messages can say comes back as it was, in canonical form.
#[test]
fn messages_come_back_as_they_were() {
    let lines = [
        "refreq sign_off;",
        "c0 \"no more memory\"; refreq fault;",
        "refreq sign_on; tcsi \"a@host\" \"Prog A\";",
        "acd 12; acn 1000; acs 2; ce -31; draw_offer; pv e4 e5; refreq reply; sm e4;",
        "draw_accept; refreq reply;",
        "draw_reject; refreq reply; sm Nf3;",
        "refreq reply; resign;",
    ];
    for line in lines.map(|line| format!("{START} {line}")) {
        let read = Request::parse(line.as_bytes()).unwrap();
        assert_eq!(String::from_utf8(read.line()).unwrap(), line);
    }
    let lines = [
        "refcom reset;",
        "cc 000:00:01:40 012:03:04:05; draw_offer; fmvn 1; hmvc 0; refcom respond; sm e4;",
        "binc 50; btime 1000; cc 000:00:00:00 000:00:00:00; movestogo 40; refcom respond; winc 50; wtime 900;",
        "draw_reject; movetime 5000; refcom respond; sm e4;",
        "fmvn 1; hmvc 0; refcom execute; sm e4; sv e4 e5 Nf3;",
        "ptp Event \"T\" Site \"?\"; refcom inform;",
        "c0 \"E-REF-STATE: not now\"; refcom fault;",
    ];
    for line in lines.map(|line| format!("{START} {line}")) {
        let read = Directive::parse(line.as_bytes()).unwrap();
        assert_eq!(String::from_utf8(read.line()).unwrap(), line);
    }
}

/// Clocks and tags are read from any record.
#[test]
fn clocks_and_tags_stand_on_any_record() {
    for word in ["inform", "execute", "conclude", "respond", "reset"] {
        let text = format!("cc 000:00:01:00 000:00:00:02; ptp Round \"3\"; refcom {word};");
        let read = directive(&text).unwrap();
        assert_eq!(read.used, Some(UsedTime { white: 60, black: 2 }));
        assert_eq!(read.tags, [("Round".to_string(), "3".to_string())]);
        assert_eq!(read.left, TimeLeft::default());
    }
}

#[test]
fn the_content_of_a_reply_is_read() {
    let reply = |text: &str| match request(text) {
        Ok(Request::Reply(reply)) => reply,
        other => panic!("{other:?}"),
    };
    let words = [
        ("draw_claim; refreq reply; sm e4;", Some(DrawWord::Claim)),
        ("draw_reject; draw_offer; refreq reply; sm e4;", Some(DrawWord::Offer)),
        ("refreq reply; sm e4;", None),
    ];
    for (text, word) in words {
        assert_eq!(reply(text).draw, word);
    }
    let read = reply("refreq reply; sm e4;");
    assert_eq!(read, Reply::with_move(Position::START, "e2e4".parse().unwrap()));
    assert!(reply("refreq reply; resign;").resigns);
}

#[test]
fn names_with_quotes_are_written_with_apostrophes() {
    let fault = Directive {
        reason: Some("a \"b\"\n".into()),
        ..Directive::new(Command::Fault, Position::START)
    };
    assert_eq!(fault.line(), format!("{START} c0 \"a 'b' \"; refcom fault;").into_bytes());
}

fn lines(stream: impl Read) -> Vec<Incoming> {
    let mut lines = Lines::new(stream);
    std::iter::from_fn(|| lines.next_line().unwrap()).collect()
}

/// LF and CR LF end lines, several come in one packet, one comes in several, a line over 4095
/// bytes is drained, and half a line at the end is none.
#[test]
fn lines_are_found_in_any_packets() {
    let whole = |text: &str| Incoming::Line(text.as_bytes().to_vec());
    let packets = b"one\r\n\ntwo\nth".chain(&b"r"[..]).chain(&b"ee\nhalf"[..]);
    assert_eq!(lines(packets), [whole("one"), whole("two"), whole("three")]);
    let longest = "x".repeat(MAX_LINE);
    let text = format!("{longest}\n{longest}y\nnext\n");
    let found = lines(text.as_bytes());
    assert_eq!(found, [whole(&longest), Incoming::TooLong, whole("next")]);
    let flood = std::io::repeat(b'x').take(1 << 20).chain(&b"\nnext\n"[..]);
    assert_eq!(lines(flood), [Incoming::TooLong, whole("next")]);
    assert_eq!(lines(std::io::repeat(b'x').take(1 << 20)), [Incoming::TooLong]);
}

/// The example of the page is canonical, and each side reads its lines.
#[test]
fn the_example_of_the_page_is_read() {
    let page = include_str!("../../formats/notes/referee_wire.md");
    let example = page.split("```").nth(1).unwrap();
    for line in example.trim().lines() {
        let (who, text) = line.split_once(' ').unwrap();
        let text = text.replace("S ", &format!("{START} "));
        let written = if who.starts_with('R') {
            Directive::parse(text.as_bytes()).unwrap().line()
        } else {
            Request::parse(text.as_bytes()).unwrap().line()
        };
        assert_eq!(String::from_utf8(written).unwrap(), text);
    }
    // The page has all messages.
    for word in ["sign_on", "reply", "sign_off", "fault"] {
        assert!(page.contains(&format!("| `{word}` |")), "{word}");
    }
    for command in [
        Command::Conclude,
        Command::Disconnect,
        Command::Execute,
        Command::Fault,
        Command::Inform,
        Command::Reset,
        Command::Respond,
    ] {
        assert!(page.contains(&format!("| `{}` |", command.word())), "{command:?}");
    }
}
