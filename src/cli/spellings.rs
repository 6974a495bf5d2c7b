//! Command lines in the spelling of other programs and of earlier specifications.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use epdb_chess::text::pgn::Positions;

/// The commands in which `--color` once meant the colour of the player.
const WITH_PLAYER: [&str; 3] = ["tally", "import", "book"];

/// The command line in the spelling of epdb, and a note if an option has another name now. For example,
/// `head -5` is `head --first -n 5`, where `head` is another name of `sample`, and `tally --color white` is
/// `tally --side white`.
pub(crate) fn translated(args: Vec<OsString>) -> (Vec<OsString>, Option<String>) {
    let (args, note) = joined_positions(args);
    match command(&args).and_then(|place| args[place].to_str()) {
        Some("head") => (with_option(with_count(args), "--first"), note),
        Some("shuffle") => (with_option(args, "--random"), note),
        Some("elo" | "sprt") => (with_option(args, "--total"), note),
        Some("book") if args.iter().any(|word| word == "help") => (with_help_first(args), note),
        Some(command) if WITH_PLAYER.contains(&command) => with_side(args, note),
        _ => (args, note),
    }
}

/// The place of the command: the first word that is neither an option nor the value of an option.
pub(crate) fn command(args: &[OsString]) -> Option<usize> {
    let mut places = 1..args.len();
    while let Some(place) = places.next() {
        if args[place] == "--color" || args[place] == "--messages" {
            places.next();
        } else if !args[place].as_encoded_bytes().starts_with(b"-") {
            return Some(place);
        }
    }
    None
}

/// Rewrites `book help make` as `help book make`.
fn with_help_first(mut args: Vec<OsString>) -> Vec<OsString> {
    if let Some(place) = command(&args)
        && args.get(place + 1).is_some_and(|word| word == "help")
    {
        args.swap(place, place + 1);
    }
    args
}

/// Rewrites `--color white` as `--side white`.
fn with_side(mut args: Vec<OsString>, mut note: Option<String>) -> (Vec<OsString>, Option<String>) {
    for place in 0..args.iter().position(|arg| arg == "--").unwrap_or(args.len()) {
        let (option, rest) = args[place..].split_at_mut(1);
        let Some(option_text) = option[0].to_str() else { continue };
        let next = rest.first().and_then(|next| next.to_str());
        let (value, side) = match option_text.strip_prefix("--color") {
            Some("") => (next, "--side".to_string()),
            Some(value) if value.starts_with('=') => (Some(&value[1..]), format!("--side{value}")),
            _ => continue,
        };
        let Some(value) = value.filter(|value| ["white", "black", "w", "b"].contains(value)) else {
            continue;
        };
        note =
            Some(format!("--color {value} is --side {value} now; --color is about the terminal"));
        option[0] = side.into();
    }
    (args, note)
}

/// Adds an option behind the command.
fn with_option(mut args: Vec<OsString>, option: &str) -> Vec<OsString> {
    if let Some(place) = command(&args) {
        args.insert(place + 1, option.into());
    }
    args
}

/// Rewrites `-5` as `-n 5`, before `--`.
fn with_count(args: Vec<OsString>) -> Vec<OsString> {
    let mut is_file = false;
    let spelled = args.into_iter().map(|arg| {
        is_file |= arg == "--";
        match arg.to_str().and_then(|arg| arg.strip_prefix('-')) {
            Some(count) if !is_file && is_number(count) => format!("-n{count}").into(),
            _ => arg,
        }
    });
    spelled.collect()
}

/// Rewrites `--positions final` as `--positions=final`, unless there is a file with this name.
fn joined_positions(mut args: Vec<OsString>) -> (Vec<OsString>, Option<String>) {
    let is_value = |word: &OsString| {
        let text = word.to_str();
        text.is_some_and(|text| text.parse::<Positions>().is_ok()) && !Path::new(word).exists()
    };
    let place = args.windows(2).position(|pair| pair[0] == "--positions" && is_value(&pair[1]));
    let Some(place) = place else { return (args, None) };
    let value = args.remove(place + 1).to_string_lossy().into_owned();
    args[place] = format!("--positions={value}").into();
    (args, Some(format!("--positions {value} is --positions={value} now")))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit())
}

/// A command of Polyglot, and the command of `epdb book` that does the same.
struct Spelling {
    name: &'static str,
    command: &'static str,
    /// Options for the fixed behaviour of Polyglot.
    always: &'static [&'static str],
    options: &'static [(&'static str, Meaning)],
}

/// Meaning of an option of Polyglot.
enum Meaning {
    /// The name of a book that is read, and the default of Polyglot.
    Book(Option<&'static str>),
    /// An option without a value.
    Flag(&'static str),
    /// An option of another name, and the default value of Polyglot.
    Option(&'static str, Option<&'static str>),
    /// An option of another name. Its value is a percentage without the sign.
    Percentage(&'static str),
}

const SPELLINGS: [Spelling; 3] = [
    Spelling {
        name: "make-book",
        command: "make",
        always: &["--keep-duplicates", "--count-repeats"],
        options: &[
            ("-pgn", Meaning::Book(Some("book.pgn"))),
            ("-bin", Meaning::Option("--output", Some("book.bin"))),
            ("-max-ply", Meaning::Option("--max-ply", None)),
            ("-min-game", Meaning::Option("--min-games", None)),
            ("-min-score", Meaning::Percentage("--min-score")),
            ("-uniform", Meaning::Flag("--uniform")),
            ("-only-white", Meaning::Flag("--only-white")),
            ("-only-black", Meaning::Flag("--only-black")),
        ],
    },
    Spelling {
        name: "merge-book",
        command: "merge",
        always: &[],
        options: &[
            ("-in1", Meaning::Book(None)),
            ("-in2", Meaning::Book(None)),
            ("-out", Meaning::Option("--output", Some("out.bin"))),
        ],
    },
    Spelling {
        name: "dump-book",
        command: "list",
        always: &[],
        options: &[
            ("-bin", Meaning::Book(Some("book.bin"))),
            ("-color", Meaning::Option("--side", None)),
            ("-out", Meaning::Option("--output", None)),
        ],
    },
];

/// The command line in the spelling of epdb; any other command line stays as it is.
pub(crate) fn from_polyglot(args: Vec<OsString>) -> Vec<OsString> {
    let place = command(&args);
    let spelling = place.and_then(|place| SPELLINGS.iter().find(|it| args[place] == it.name));
    match (place, spelling) {
        (Some(place), Some(spelling)) => spelling.to_epdb(&args[..place], &args[place + 1..]),
        _ => args,
    }
}

impl Spelling {
    /// The command line of epdb. `before` and `behind` are the words around the name of the
    /// command.
    fn to_epdb(&self, before: &[OsString], behind: &[OsString]) -> Vec<OsString> {
        let mut given: Vec<Option<OsString>> = vec![None; self.options.len()];
        let mut others = Vec::new();
        let mut args = behind.iter();
        while let Some(arg) = args.next() {
            match self.options.iter().position(|(name, _)| arg == name) {
                Some(place) => match self.options[place].1 {
                    Meaning::Flag(name) => others.push(name.into()),
                    _ => given[place] = args.next().cloned(),
                },
                None => others.push(arg.clone()),
            }
        }
        let mut line = before.to_vec();
        line.extend(["book", self.command].map(OsString::from));
        line.extend(self.always.iter().map(OsString::from));
        line.append(&mut others);
        let mut books = vec![OsString::from("--")];
        for ((_, meaning), value) in self.options.iter().zip(given) {
            let default = match meaning {
                Meaning::Book(default) | Meaning::Option(_, default) => *default,
                Meaning::Flag(_) | Meaning::Percentage(_) => None,
            };
            let Some(mut value) = value.or_else(|| default.map(OsString::from)) else { continue };
            match meaning {
                Meaning::Book(_) => books.push(value),
                Meaning::Flag(_) => {}
                Meaning::Option(name, _) => line.push(option(name, &value)),
                Meaning::Percentage(name) => {
                    value.push("%");
                    line.push(option(name, &value));
                }
            }
        }
        line.append(&mut books);
        line
    }
}

fn option(name: &str, value: &OsStr) -> OsString {
    [OsStr::new(name), OsStr::new("="), value].into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_other_programs_are_translated() {
        for (line, expected) in [
            ("epdb head -5 a.epd", "epdb head --first -n5 a.epd"),
            ("epdb -q head a.epd -12", "epdb -q head --first a.epd -n12"),
            ("epdb --color never head -1", "epdb --color never head --first -n1"),
            ("epdb head -- -5", "epdb head --first -- -5"),
            ("epdb head -", "epdb head --first -"),
            ("epdb shuffle a.epd", "epdb shuffle --random a.epd"),
            ("epdb sort -5", "epdb sort -5"),
            ("epdb tally --color white", "epdb tally --side white"),
            ("epdb book list --color=b a.bin", "epdb book list --side=b a.bin"),
            ("epdb tally --color never", "epdb tally --color never"),
            ("epdb tally -- --color white", "epdb tally -- --color white"),
            ("epdb sort --color white", "epdb sort --color white"),
            ("epdb count --positions 4 a.pgn", "epdb count --positions=4 a.pgn"),
            ("epdb count --positions a.pgn", "epdb count --positions a.pgn"),
        ] {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let (words, note) = translated(words);
            assert_eq!(
                note.is_some(),
                expected.contains("--side") || expected.contains("positions="),
                "{line}"
            );
            let words = words.join(&OsString::from(" "));
            assert_eq!(words.to_str(), Some(expected), "{line}");
        }
    }

    fn line(text: &str) -> String {
        let args = text.split(' ').map(OsString::from).collect();
        let words: Vec<String> =
            from_polyglot(args).into_iter().map(|arg| arg.to_string_lossy().into_owned()).collect();
        words.join(" ")
    }

    #[test]
    fn polyglots_commands_are_those_of_book() {
        for (theirs, ours) in [
            ("epdb merge-book -in2 b -in1 a -out c", "epdb book merge --output=c -- a b"),
            (
                "epdb -q merge-book -in1 a -in2 b --add",
                "epdb -q book merge --add --output=out.bin -- a b",
            ),
            (
                "epdb make-book -pgn a -bin b -min-score 45",
                "epdb book make --keep-duplicates --count-repeats --output=b --min-score=45% -- a",
            ),
            (
                "epdb make-book -pgn a -bin b -uniform -min-game 1",
                "epdb book make --keep-duplicates --count-repeats --uniform --output=b \
                 --min-games=1 -- a",
            ),
            ("epdb merge-book -in1 a -in2", "epdb book merge --output=out.bin -- a"),
            ("epdb dump-book -color white", "epdb book list --side=white -- book.bin"),
            ("epdb dump-book -bin -x -out d", "epdb book list --output=d -- -x"),
            ("epdb book merge -in1 a", "epdb book merge -in1 a"),
            ("epdb count merge-book", "epdb count merge-book"),
            ("epdb", "epdb"),
        ] {
            assert_eq!(line(theirs), ours);
        }
    }
}
