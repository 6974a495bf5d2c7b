//! One line of a log.

use std::fmt::Write;
use std::str::FromStr;
use std::time::Duration;

use crate::arbiter::{Action, Event, Order};
use crate::openings::Opening;
use crate::settings::{
    QuietTimeouts, Tournament, WrittenSetting, differences, written_in_file, written_on_line,
};
use epdb_chess::error::Result;
use epdb_chess::model::{
    Counters, EpdRecord, GameResult, Opcode, Operand, Operation, Start, rules::Playable,
};
use epdb_chess::text::epd::{self, Line};
use epdb_chess::text::{FormatOptions, ParseOptions, Profile, san};

/// The settings of a tournament, in the text in which they were given.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SettingsText {
    /// The text of a file.
    Toml {
        /// The name of the file.
        name: String,
        /// The text.
        text: String,
    },
    /// The words of a command line in the style of other tournament managers.
    Words(Vec<String>),
}

impl SettingsText {
    /// Parses the settings.
    ///
    /// # Errors
    /// The settings are invalid.
    pub fn tournament(&self) -> Result<Tournament> {
        match self {
            SettingsText::Toml { name, text } => Tournament::from_toml(text, name),
            SettingsText::Words(words) => Tournament::from_words(words, "tournament"),
        }
    }

    /// The differences between the settings of this log and the settings `here`, as a message.
    pub fn difference(&self, here: &SettingsText) -> String {
        let differences = match (self, here) {
            (SettingsText::Toml { .. }, SettingsText::Toml { .. })
            | (SettingsText::Words(_), SettingsText::Words(_)) => {
                differences(&self.written(), &here.written(), &here.place())
            }
            _ => Vec::new(),
        };
        match differences.as_slice() {
            [] => format!("they were {}, and are {} now", self.place(), here.place()),
            differences => differences.join("; "),
        }
    }

    fn written(&self) -> Vec<WrittenSetting> {
        match self {
            SettingsText::Toml { text, .. } => written_in_file(text),
            SettingsText::Words(words) => written_on_line(words),
        }
    }

    /// The place of the settings, as messages name it.
    fn place(&self) -> String {
        match self {
            SettingsText::Toml { name, .. } => format!("in {name}"),
            SettingsText::Words(_) => "on the command line".into(),
        }
    }
}

/// The content of a line of a log, after its time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Entry {
    /// The settings of the tournament. They are the first entry of a log, and occur nowhere else in
    /// it.
    Settings(SettingsText),
    /// Something that happened.
    Event(Event),
    /// A consequence of an event.
    Note(Note),
}

/// A consequence of an event. The state of the arbiter does not depend on notes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Note {
    /// The address for clients.
    Listen(String),
    /// The referee ends on command, or because it cannot go on. No observer takes over.
    Stopped,
    /// A connection was refused before a client had signed on.
    Refused {
        /// Number of refusals that were not logged since the last logged refusal.
        others: u64,
        /// The first bytes that were received over the connection.
        line: Vec<u8>,
    },
    /// Something that is done next.
    Action(Action),
}

impl Entry {
    /// The text of the line without its time and its end: a word for the kind of entry, and the
    /// data.
    pub fn text(&self) -> String {
        match self {
            Entry::Settings(SettingsText::Toml { name, text }) => {
                format!("settings toml {}\t{}", escaped(name.as_bytes()), escaped(text.as_bytes()))
            }
            Entry::Settings(SettingsText::Words(words)) => {
                let words: Vec<String> =
                    words.iter().map(|word| escaped(word.as_bytes())).collect();
                format!("settings words {}", words.join("\t"))
            }
            Entry::Event(event) => event_text(event),
            Entry::Note(Note::Listen(address)) => format!("listen {}", escaped(address.as_bytes())),
            Entry::Note(Note::Stopped) => "stopped".into(),
            Entry::Note(Note::Refused { others, line }) => {
                format!("refused {others} {}", escaped(line))
            }
            Entry::Note(Note::Action(action)) => action_text(action),
        }
    }

    /// Reads what [`Entry::text`] writes; `None` for anything else.
    pub fn parse(text: &str) -> Option<Entry> {
        let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
        match word {
            "settings" => settings(rest).map(Entry::Settings),
            "listen" => Some(Entry::Note(Note::Listen(text_of(rest)?))),
            "stopped" if rest.is_empty() => Some(Entry::Note(Note::Stopped)),
            "refused" => {
                let (others, line) = rest.split_once(' ')?;
                let others = number(others)?;
                let line = unescaped(line)?;
                Some(Entry::Note(Note::Refused { others, line }))
            }
            _ => match action(word, rest) {
                Some(action) => Some(Entry::Note(Note::Action(action))),
                None => event(word, rest).map(Entry::Event),
            },
        }
    }
}

fn settings(text: &str) -> Option<SettingsText> {
    match text.split_once(' ')? {
        ("toml", rest) => {
            let (name, text) = rest.split_once('\t')?;
            Some(SettingsText::Toml { name: text_of(name)?, text: text_of(text)? })
        }
        ("words", rest) => {
            rest.split('\t').map(text_of).collect::<Option<_>>().map(SettingsText::Words)
        }
        _ => None,
    }
}

fn event_text(event: &Event) -> String {
    match event {
        Event::Session { unix } => format!("session {unix}"),
        Event::Opened(channel) => format!("opened {channel}"),
        Event::Line(channel, line) => format!("from {channel} {}", escaped(line)),
        Event::TooLong(channel) => format!("too_long {channel}"),
        Event::Written(channel) => format!("written {channel}"),
        Event::Closed(channel) => format!("closed {channel}"),
        Event::Exited(player) => format!("exited {player}"),
        Event::Token(player, token) => format!("token {player} {}", escaped(token.as_bytes())),
        Event::Opening(number, opening) => format!("opening {number} {}", opening_text(opening)),
        Event::Tablebase { game, result } => format!("tablebase {game} {result}"),
        Event::Order(order) => format!("order {}", order_text(order)),
        Event::Tick => "tick".into(),
    }
}

fn event(word: &str, rest: &str) -> Option<Event> {
    Some(match word {
        "session" => Event::Session { unix: number(rest)? },
        "opened" => Event::Opened(number(rest)?),
        "from" => {
            let (channel, line) = rest.split_once(' ')?;
            Event::Line(number(channel)?, unescaped(line)?)
        }
        "too_long" => Event::TooLong(number(rest)?),
        "written" => Event::Written(number(rest)?),
        "closed" => Event::Closed(number(rest)?),
        "exited" => Event::Exited(number(rest)?),
        "token" => {
            let (player, token) = rest.split_once(' ')?;
            Event::Token(number(player)?, text_of(token)?)
        }
        "opening" => {
            let (place, record) = rest.split_once(' ')?;
            Event::Opening(number(place)?, opening(record)?)
        }
        "tablebase" => {
            let (game, result) = rest.split_once(' ')?;
            let result = GameResult::from_text(result.as_bytes())?;
            Event::Tablebase { game: number(game)?, result }
        }
        "order" => Event::Order(order(rest)?),
        "tick" if rest.is_empty() => Event::Tick,
        _ => return None,
    })
}

fn order_text(order: &Order) -> String {
    match order {
        Order::Attend => "attend".into(),
        Order::Leave => "leave".into(),
        Order::Pause => "pause".into(),
        Order::Resume => "resume".into(),
        Order::Adjudicate { game, result } => format!("adjudicate {game} {result}"),
        Order::Restart(player) => format!("restart {player}"),
        Order::QuietTimeouts(QuietTimeouts { conclude, reset }) => {
            format!("silences {} {}", conclude.as_micros(), reset.as_micros())
        }
    }
}

fn order(text: &str) -> Option<Order> {
    let words: Vec<&str> = text.split(' ').collect();
    Some(match *words {
        ["attend"] => Order::Attend,
        ["leave"] => Order::Leave,
        ["pause"] => Order::Pause,
        ["resume"] => Order::Resume,
        ["adjudicate", game, result] => Order::Adjudicate {
            game: number(game)?,
            result: GameResult::from_text(result.as_bytes())?,
        },
        ["restart", player] => Order::Restart(number(player)?),
        ["silences", conclude, reset] => Order::QuietTimeouts(QuietTimeouts {
            conclude: Duration::from_micros(number(conclude)?),
            reset: Duration::from_micros(number(reset)?),
        }),
        _ => return None,
    })
}

fn action_text(action: &Action) -> String {
    match action {
        Action::Send { channel, line, is_respond } => {
            let word = if *is_respond { "ask" } else { "to" };
            format!("{word} {channel} {}", escaped(line))
        }
        Action::Close(channel) => format!("close {channel}"),
        Action::Start(player) => format!("start {player}"),
        Action::GiveUp(player) => format!("give_up {player}"),
        Action::FetchOpening(number) => format!("fetch {number}"),
        Action::Probe(game) => format!("probe {game}"),
        Action::GameOver { game, result } => format!("over {game} {result}"),
        Action::Message(message) => format!("say {}", escaped(message.as_bytes())),
        Action::Ended => "ended".into(),
    }
}

fn action(word: &str, rest: &str) -> Option<Action> {
    Some(match word {
        "ask" | "to" => {
            let (channel, line) = rest.split_once(' ')?;
            let is_respond = word == "ask";
            Action::Send { channel: number(channel)?, line: unescaped(line)?, is_respond }
        }
        "close" => Action::Close(number(rest)?),
        "start" => Action::Start(number(rest)?),
        "give_up" => Action::GiveUp(number(rest)?),
        "fetch" => Action::FetchOpening(number(rest)?),
        "probe" => Action::Probe(number(rest)?),
        "over" => {
            let (game, result) = rest.split_once(' ')?;
            let result = GameResult::from_text(result.as_bytes())?;
            Action::GameOver { game: number(game)?, result }
        }
        "say" => Action::Message(text_of(rest)?),
        "ended" if rest.is_empty() => Action::Ended,
        _ => return None,
    })
}

/// Writes an opening as a record with the moves in the operation `sv`. The name of the opening
/// follows after a tab.
fn opening_text(opening: &Opening) -> String {
    let Opening { start, moves, label } = opening;
    let mut record = EpdRecord::new(start.position);
    let Counters { halfmove_clock, fullmove_number } = start.counters;
    let mut put = |opcode, operands| drop(record.set(Operation { opcode, operands }));
    put(Opcode::HMVC, vec![Operand::Integer(halfmove_clock.into())]);
    put(Opcode::FMVN, vec![Operand::Integer(fullmove_number.into())]);
    if let Ok(mut at) = Playable::new(&start.position) {
        let line = moves.iter().map(|&mv| {
            let san = san::format(&at, mv);
            at = at.after(mv);
            Operand::Move { mv, san }
        });
        put(Opcode::SV, line.collect());
    }
    let mut text = Vec::new();
    epd::format(&record, &FormatOptions::default(), &mut text);
    let record = String::from_utf8_lossy(&text).into_owned();
    match label {
        Some(label) => format!("{record}\t{}", escaped(label.as_bytes())),
        None => record,
    }
}

fn opening(text: &str) -> Option<Opening> {
    let (text, label) = match text.split_once('\t') {
        Some((record, label)) => (record, Some(text_of(label)?)),
        None => (text, None),
    };
    let options = ParseOptions::new(Profile::Standard);
    let Ok(Line::Record(record)) = epd::parse_line(text.as_bytes(), &options, &mut Vec::new())
    else {
        return None;
    };
    let (halfmove_clock, fullmove_number) = record.counters();
    let counters = Counters { halfmove_clock: halfmove_clock?, fullmove_number: fullmove_number? };
    let mv = |operand: &Operand| match operand {
        Operand::Move { mv, .. } => Some(*mv),
        _ => None,
    };
    let line = record.operands(Opcode::SV).unwrap_or_default();
    Some(Opening {
        start: Start { position: *record.position(), counters },
        moves: line.iter().map(mv).collect::<Option<_>>()?,
        label,
    })
}

fn number<N: FromStr>(text: &str) -> Option<N> {
    text.parse().ok()
}

/// Bytes as printing ASCII: a backslash is doubled, and other bytes are `\xNN`.
fn escaped(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for &byte in bytes {
        match byte {
            b'\\' => text.push_str("\\\\"),
            b' '..=b'~' => text.push(char::from(byte)),
            byte => write!(text, "\\x{byte:02x}").unwrap_or(()),
        }
    }
    text
}

fn unescaped(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, behind)) = rest.split_first() {
        rest = behind;
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        match *rest {
            [b'\\', ref behind @ ..] => {
                bytes.push(b'\\');
                rest = behind;
            }
            [b'x', high, low, ref behind @ ..] => {
                let digit = |byte: u8| char::from(byte).to_digit(16);
                bytes.push((digit(high)? * 16 + digit(low)?) as u8);
                rest = behind;
            }
            _ => return None,
        }
    }
    Some(bytes)
}

fn text_of(text: &str) -> Option<String> {
    String::from_utf8(unescaped(text)?).ok()
}

#[cfg(test)]
mod tests {
    use super::SettingsText;

    const FILE: &str = "\
rounds = 4   # of two games
time = '60'
[draw]
score = 10
[[player]]
engine = './sf'
options = { Hash = 64 }
[[player]]
name = 'B'
eco = ['a', 'b']
";

    fn file(text: &str) -> SettingsText {
        SettingsText::Toml { name: "cup.toml".into(), text: text.into() }
    }

    fn of_change(there: &str, here: &str) -> String {
        assert!(FILE.contains(there));
        file(FILE).difference(&file(&FILE.replace(there, here)))
    }

    #[test]
    fn differences_of_files_name_the_keys() {
        for (there, here, expected) in [
            ("rounds = 4", "rounds=5", "`rounds = 4` in the log, `rounds = 5` in cup.toml"),
            ("time = '60'\n", "", "`time = '60'` in the log, no `time` in cup.toml"),
            ("rounds", "games = 2\nrounds", "no `games` in the log, `games = 2` in cup.toml"),
            (
                "score = 10",
                "score = 20",
                "`draw.score = 10` in the log, `draw.score = 20` in cup.toml",
            ),
            (
                "Hash = 64",
                "Hash = 128",
                "`player 1: options.Hash = 64` in the log, `player 1: options.Hash = 128` in cup.toml",
            ),
            (
                "'B'",
                "\"C\"",
                "`player 2: name = 'B'` in the log, `player 2: name = \"C\"` in cup.toml",
            ),
            (
                "['a', 'b']",
                "['a']",
                "`player 2: eco = ['a', 'b']` in the log, `player 2: eco = ['a']` in cup.toml",
            ),
        ] {
            assert_eq!(of_change(there, here), expected, "{here}");
        }
    }

    #[test]
    fn comments_order_and_spelling_are_no_differences() {
        let other = "time = \"60\" # as before\n\nrounds = 4\ngames = 2\n";
        let rest = FILE.split_once("time = '60'\n").unwrap_or_default().1;
        let expected = "no `games` in the log, `games = 2` in cup.toml";
        assert_eq!(file(FILE).difference(&file(&format!("{other}{rest}"))), expected);
    }

    #[test]
    fn all_differences_are_listed() {
        let one = file("rounds = 1\ngames = 1\nnodes = 1\ndepth = 1\n");
        let other = file("rounds = 2\ngames = 2\nnodes = 2\ndepth = 2\n");
        let list = one.difference(&other);
        assert_eq!(list.matches("; ").count(), 3, "{list}");
        assert!(list.contains("`nodes = 2`") && list.contains("`depth = 2`"), "{list}");
    }

    #[test]
    fn differences_of_command_lines_name_the_options() {
        let line = |text: &str| SettingsText::Words(text.split(' ').map(String::from).collect());
        let before = line("-engine cmd=a -engine cmd=b tc=1 -rounds 4 -repeat");
        let now = line("--rounds 5 -engine cmd=a -engine cmd=b tc=2");
        assert_eq!(
            before.difference(&now),
            "`-engine cmd=b tc=1` in the log, `-engine cmd=b tc=2` on the command line; \
             `-rounds 4` in the log, `-rounds 5` on the command line; \
             `-repeat` in the log, no `-repeat` on the command line"
        );
        let name = file("");
        assert_eq!(
            name.difference(&before),
            "they were in cup.toml, and are on the command line now"
        );
    }
}
