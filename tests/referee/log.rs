//! Lines of logs, and logs that are cut off anywhere.

use std::fs;

use epdb_chess::model::rules::Move;
use epdb_chess::model::{Counters, GameResult, Start};
use epdb_referee::log::{Entry, Log, LogReader, Note, Recovered, SettingsText};
use epdb_referee::{Action, Event, Opening, Order, QuietTimeouts};

use crate::hall::{START, TWO, seconds};

fn golden() -> Vec<Entry> {
    let text = include_str!("../../formats/golden/referee.log");
    let lines = text.lines().skip(1);
    lines.map(|line| Entry::parse(line.splitn(3, ' ').nth(2).unwrap()).expect(line)).collect()
}

/// The golden sample says all that lines can say, and each is written as it was read.
#[test]
fn the_golden_sample_comes_back() {
    let text = include_str!("../../formats/golden/referee.log");
    let (header, lines) = text.split_once('\n').unwrap();
    assert_eq!(header, "epdb referee log 3");
    for line in lines.lines() {
        let rest = line.splitn(3, ' ').nth(2).unwrap();
        assert_eq!(Entry::parse(rest).expect(line).text(), rest);
    }
    let words: std::collections::BTreeSet<&str> =
        lines.lines().filter_map(|line| line.split(' ').nth(2)).collect();
    let page = include_str!("../../formats/notes/referee_log.md");
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
    let silences = QuietTimeouts { conclude: seconds(3), reset: seconds(4) };
    let events = [
        Event::Session { unix: 1_700_000_000 },
        Event::Opened(1),
        Event::Line(1, b"\x00\xff \\x41 \"\n".to_vec()),
        Event::TooLong(2),
        Event::Written(1),
        Event::Closed(1),
        Event::Exited(3),
        Event::Token(3, "0123456789abcdef".into()),
        Event::Opening(7, opening),
        Event::Opening(8, Opening::ARRAY),
        Event::Tablebase { game: 3, result: GameResult::Unknown },
        Event::Order(Order::Attend),
        Event::Order(Order::Adjudicate { game: 4, result: GameResult::Draw }),
        Event::Order(Order::Restart(1)),
        Event::Order(Order::QuietTimeouts(silences)),
        Event::Tick,
    ];
    let actions = [
        Action::Send { channel: 1, line: START.into(), is_respond: true },
        Action::Send { channel: 1, line: b"x y".to_vec(), is_respond: false },
        Action::Close(1),
        Action::Start(0),
        Action::GiveUp(2),
        Action::FetchOpening(7),
        Action::Probe(3),
        Action::GameOver { game: 4, result: GameResult::BlackWins },
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
    let others = [
        Note::Listen("[::1]:4000".into()),
        Note::Refused { others: 7, line: b"GET /\r\xff".to_vec() },
        Note::Stopped,
    ];
    for entry in all.chain(others.map(Entry::Note)) {
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
        "over 1",
        "over 1 2-0",
        "token 1",
        "refused x",
        "tablebase 1",
        "tablebase 1 x",
        "opening 1 x",
    ] {
        assert_eq!(Entry::parse(other), None, "{other}");
    }
    assert!(golden().len() > 20);
}

/// A log that ends anywhere is a log; what is half a line does not count.
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
        ("epdb referee log 1\n".to_string(), "t.log:1:"),
        ("epdb referee log 3\n0 tick\n".to_string(), "t.log:2:"),
        (format!("{good}x tick\n"), "t.log:3:"),
        (format!("{good}00000000 5 tick\n"), "t.log:3:"),
        (format!("{good}5 \u{e9}\n"), "t.log:3:"),
        (format!("{good}\n"), "t.log:3:"),
        (format!("{good}\0\0\0"), "cut the file off at that byte"),
    ] {
        fs::write(&path, &text).unwrap();
        let error = Log::lock(&path).unwrap().unwrap().recover(&settings).unwrap_err();
        assert!(error.to_string().contains(place), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), text, "a damaged log stays as it is");
    }
}

/// Every bit is checked, and so is the order of the lines.
#[test]
fn a_log_that_was_changed_anywhere_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.log");
    let settings = SettingsText::Toml { name: "t".into(), text: TWO.into() };
    let mut log = Log::lock(&path).unwrap().unwrap();
    log.recover(&settings).unwrap();
    for at in 1..6 {
        log.add(seconds(at), &Entry::Event(Event::Session { unix: at })).unwrap();
    }
    drop(log);
    let good = fs::read(&path).unwrap();
    let lines: Vec<&[u8]> = good.split_inclusive(|byte| *byte == b'\n').collect();
    let refused = |changed: &[u8], what: &str| {
        fs::write(&path, changed).unwrap();
        let recovered = Log::lock(&path).unwrap().unwrap().recover(&settings);
        assert!(recovered.is_err(), "{what}: {}", String::from_utf8_lossy(changed));
    };
    for at in 0..good.len() - 1 {
        for bit in 0..8 {
            let mut changed = good.clone();
            changed[at] ^= 1 << bit;
            refused(&changed, "a bit");
        }
    }
    for line in 1..lines.len() - 1 {
        let mut changed = lines.clone();
        changed.remove(line);
        refused(&changed.concat(), "a line is lost");
        let mut changed = lines.clone();
        changed.insert(line, lines[line]);
        refused(&changed.concat(), "a line stands twice");
        let mut changed = lines.clone();
        changed.swap(line, line + 1);
        refused(&changed.concat(), "lines have changed places");
    }
}

/// Notes that do not follow from the events: somebody has edited the log.
#[test]
fn a_log_that_contradicts_itself_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.log");
    let settings = SettingsText::Toml { name: "t".into(), text: TWO.into() };
    let sign_on = format!("{START} refreq sign_on; tcsi \"x\" \"A\";").into_bytes();
    let reset = format!("{START} refcom reset;").into_bytes();
    let note = |action| Entry::Note(Note::Action(action));
    let say = |text: &str| note(Action::Message(text.into()));
    let send =
        |line: &[u8]| note(Action::Send { channel: 3, line: line.to_vec(), is_respond: false });
    let begin =
        [Event::Session { unix: 5 }, Event::Opened(3), Event::Line(3, sign_on)].map(Entry::Event);
    let game_over = note(Action::GameOver { game: 1, result: GameResult::WhiteWins });
    let tick = Entry::Event(Event::Tick);
    for (noted, is_sound) in [
        (vec![], true),
        (vec![say("A has signed on"), send(&reset), tick.clone()], true),
        // Words may change from version to version.
        (vec![say("A is here"), send(&reset), tick.clone()], true),
        // A referee that was killed had no time for the rest.
        (vec![say("A has signed on"), Entry::Event(Event::Session { unix: 6 })], true),
        (vec![say("A has signed on"), tick], false),
        (vec![send(&reset), say("A has signed on")], false),
        (vec![say("A has signed on"), send(b"other")], false),
        (vec![say("A has signed on"), send(&reset), game_over], false),
    ] {
        fs::remove_file(&path).unwrap_or(());
        let mut log = Log::lock(&path).unwrap().unwrap();
        log.recover(&settings).unwrap();
        for (at, entry) in (1..).zip(begin.iter().chain(&noted)) {
            log.add(seconds(at), entry).unwrap();
        }
        drop(log);
        let recovered = Log::lock(&path).unwrap().unwrap().recover(&settings);
        assert_eq!(recovered.is_ok(), is_sound, "{noted:?}: {recovered:?}");
        if let Err(error) = recovered {
            assert!(error.to_string().contains("contradicts itself"), "{error}");
        }
    }
}

/// A log has the tokens of clients: nobody else on the machine can read it.
#[cfg(unix)]
#[test]
fn a_log_is_readable_by_its_owner_only() {
    use std::os::unix::fs::PermissionsExt;

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.log");
    let mode = || fs::metadata(&path).unwrap().permissions().mode() & 0o777;
    drop(Log::lock(&path).unwrap().unwrap());
    assert_eq!(mode(), 0o600);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    drop(Log::lock(&path).unwrap().unwrap());
    assert_eq!(mode(), 0o600);
}

/// Half a line that was read is forgotten when another referee takes it away and writes on.
#[test]
fn a_torn_line_is_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.log");
    let settings = SettingsText::Toml { name: "t".into(), text: TWO.into() };
    let mut log = Log::lock(&path).unwrap().unwrap();
    log.recover(&settings).unwrap();
    log.add(seconds(1), &Entry::Event(Event::Opened(1))).unwrap();
    let whole = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("{whole}01234567 5 from 1 half a line")).unwrap();
    let mut reader = LogReader::open(&path).unwrap();
    assert_eq!(reader.next_entry().unwrap().unwrap().1, Entry::Settings(settings));
    assert_eq!(reader.next_entry().unwrap().unwrap().1, Entry::Event(Event::Opened(1)));
    assert!(reader.next_entry().unwrap().is_none());
    fs::write(&path, &whole).unwrap();
    log.add(seconds(6), &Entry::Event(Event::Session { unix: 0 })).unwrap();
    let (_, entry) = reader.next_entry().unwrap().unwrap();
    assert_eq!(entry, Entry::Event(Event::Session { unix: 0 }));
}
