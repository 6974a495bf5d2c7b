//! Lines of logs, and logs that end anywhere.

use std::fs;

use epdb::model::rules::Move;
use epdb::model::{Counters, GameResult, Start};
use epdb::referee::log::{Entry, Log, LogReader, Note, Recovered, SettingsText};
use epdb::referee::{Action, Event, Opening, Order, Silences};

use crate::hall::{START, TWO, seconds};

fn golden() -> Vec<Entry> {
    let text = include_str!("../../formats/golden/referee.log");
    let lines = text.lines().skip(1);
    lines.map(|line| Entry::parse(line.split_once(' ').unwrap().1).expect(line)).collect()
}

/// The golden sample says all that lines can say, and each is written as it was read.
#[test]
fn the_golden_sample_comes_back() {
    let text = include_str!("../../formats/golden/referee.log");
    let (header, lines) = text.split_once('\n').unwrap();
    assert_eq!(header, "epdb referee log 1");
    for line in lines.lines() {
        let (_, rest) = line.split_once(' ').unwrap();
        assert_eq!(Entry::parse(rest).expect(line).text(), rest);
    }
    let words: std::collections::BTreeSet<&str> =
        lines.lines().filter_map(|line| line.split(' ').nth(1)).collect();
    let page = include_str!("../../formats/referee_log.md");
    let on_page =
        page.lines().filter_map(|line| line.strip_prefix("| `")?.split([' ', '`']).next());
    assert_eq!(words, on_page.collect());
}

#[test]
fn each_entry_comes_back() {
    let moves = ["e2e4", "e7e5"].map(|text| text.parse::<Move>().unwrap()).to_vec();
    let start =
        Start { counters: Counters { halfmove_clock: 3, fullmove_number: 9 }, ..Start::ARRAY };
    let opening = Opening { start, moves, label: Some("C20: \"King's\" Pawn\t\u{e9}".into()) };
    let silences = Silences { conclude: seconds(3), reset: seconds(4) };
    let events = [
        Event::Session { unix: 1_700_000_000 },
        Event::Opened(1),
        Event::Line(1, b"\x00\xff \\x41 \"\n".to_vec()),
        Event::TooLong(2),
        Event::Written(1),
        Event::Closed(1),
        Event::Exited(3),
        Event::Opening(7, opening),
        Event::Opening(8, Opening::ARRAY),
        Event::Order(Order::Attend),
        Event::Order(Order::Adjudicate { game: 4, result: GameResult::Draw }),
        Event::Order(Order::Restart(1)),
        Event::Order(Order::Silences(silences)),
        Event::Tick,
    ];
    let actions = [
        Action::Send { channel: 1, line: START.into(), is_respond: true },
        Action::Send { channel: 1, line: b"x y".to_vec(), is_respond: false },
        Action::Close(1),
        Action::Start(0),
        Action::GiveUp(2),
        Action::FetchOpening(7),
        Action::GameOver(4),
        Action::Message("it's \u{1b}[2J".into()),
        Action::Ended,
    ];
    let settings = [
        SettingsText::Toml { name: "a b.toml".into(), text: "x = 1\n\ty = '\\'\n".into() },
        SettingsText::Words(vec!["-engine".into(), "cmd=a b".into(), String::new()]),
    ];
    let notes = actions.map(|action| Entry::Note(Note::Action(action)));
    let all =
        settings.map(Entry::Settings).into_iter().chain(events.map(Entry::Event)).chain(notes);
    for entry in
        all.chain([Entry::Note(Note::Listen("[::1]:4000".into())), Entry::Note(Note::Stopped)])
    {
        let text = entry.text();
        assert!(text.bytes().all(|byte| (b' '..=b'~').contains(&byte) || byte == b'\t'), "{text}");
        assert_eq!(Entry::parse(&text), Some(entry), "{text}");
    }
    for other in [
        "",
        "tock",
        "from 1",
        "from x y",
        "opened -1",
        "to 1 \\",
        "to 1 \\xg0",
        "tick 1",
        "opening 1 x",
    ] {
        assert_eq!(Entry::parse(other), None, "{other}");
    }
    assert!(golden().len() > 20);
}

/// ARG-16: a log that ends anywhere is a log; what is half a line does not count.
#[test]
fn a_log_may_end_anywhere() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.log");
    let settings = SettingsText::Toml { name: "t".into(), text: TWO.into() };
    let mut log = Log::lock(&path).unwrap().unwrap();
    assert!(Log::lock(&path).unwrap().is_none());
    log.recover(&settings).unwrap();
    let sign_on = format!("{START} refreq sign_on; tcsi \"x\" \"A\";").into_bytes();
    let events = [Event::Session { unix: 5 }, Event::Opened(3), Event::Line(3, sign_on)];
    for (at, event) in (1..).zip(events) {
        log.add(seconds(at), &Entry::Event(event)).unwrap();
    }
    drop(log);
    let whole = fs::read(&path).unwrap();
    let ends: Vec<usize> = whole
        .iter()
        .enumerate()
        .filter(|(_, byte)| **byte == b'\n')
        .map(|(at, _)| at + 1)
        .collect();
    for end in 0..=whole.len() {
        fs::write(&path, &whole[..end]).unwrap();
        let lines = ends.iter().filter(|it| **it <= end).count();
        let recovered = Log::lock(&path).unwrap().unwrap().recover(&settings).unwrap();
        assert_eq!(recovered.at, seconds(lines.saturating_sub(2) as u64), "{end}");
        assert_eq!(recovered.last_channel, if lines > 3 { 3 } else { 0 });
        let left = fs::metadata(&path).unwrap().len() as usize;
        assert_eq!(left, if lines < 2 { ends[1] } else { ends[lines - 1] }, "{end}");
    }
    let mut reader = LogReader::open(&path).unwrap();
    assert!(Recovered::read(&mut reader).unwrap().is_some());
}

/// Bytes that are no log give an error with a place, whatever they are.
#[test]
fn damaged_logs_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.log");
    let settings = SettingsText::Toml { name: "t".into(), text: TWO.into() };
    drop(Log::lock(&path).unwrap().unwrap().recover(&settings).unwrap());
    let good = fs::read_to_string(&path).unwrap();
    for (text, place) in [
        ("epdb referee log 2\n".to_string(), "t.log:1:"),
        ("epdb referee log 1\n0 tick\n".to_string(), "t.log: "),
        (format!("{good}x tick\n"), "t.log:3:"),
        (format!("{good}5 \u{e9}\n"), "t.log:3:"),
        (format!("{good}\n"), "t.log:3:"),
    ] {
        fs::write(&path, &text).unwrap();
        let error = Log::lock(&path).unwrap().unwrap().recover(&settings).unwrap_err();
        assert!(error.to_string().contains(place), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), text, "a damaged log stays as it is");
    }
}

/// Half a line that was read is forgotten when another referee takes it away and writes on.
#[test]
fn a_torn_line_is_read_anew() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.log");
    let whole = "epdb referee log 1\n0 opened 1\n";
    fs::write(&path, format!("{whole}5 from 1 half a line")).unwrap();
    let mut reader = LogReader::open(&path).unwrap();
    assert_eq!(reader.next_entry().unwrap().unwrap().1, Entry::Event(Event::Opened(1)));
    assert!(reader.next_entry().unwrap().is_none());
    fs::write(&path, format!("{whole}6 session 0\n")).unwrap();
    let (_, entry) = reader.next_entry().unwrap().unwrap();
    assert_eq!(entry, Entry::Event(Event::Session { unix: 0 }));
}
