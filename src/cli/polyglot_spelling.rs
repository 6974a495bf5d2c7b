//! Commands in Polyglot's own spelling, which clap cannot say: options of one dash and many letters.

use std::ffi::{OsStr, OsString};

use super::spellings;

/// A command of Polyglot's, and the one of `epdb book` that does it.
struct Spelling {
    name: &'static str,
    command: &'static str,
    /// What Polyglot always does.
    always: &'static [&'static str],
    options: &'static [(&'static str, Meaning)],
}

/// What an option of Polyglot's is here.
enum Meaning {
    /// The name of a book that is read, and the one that Polyglot takes where nothing is said.
    Book(Option<&'static str>),
    /// An option without a value.
    Flag(&'static str),
    /// An option of another name, and the value that Polyglot takes where nothing is said.
    Option(&'static str, Option<&'static str>),
    /// An option of another name, whose value is a number of percent without the sign.
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

/// The command line in the spelling of epdb; any other stays as it is.
pub(crate) fn translated(args: Vec<OsString>) -> Vec<OsString> {
    let place = spellings::command(&args);
    let spelling = place.and_then(|place| SPELLINGS.iter().find(|it| args[place] == it.name));
    match (place, spelling) {
        (Some(place), Some(spelling)) => spelling.translated(&args[..place], &args[place + 1..]),
        _ => args,
    }
}

impl Spelling {
    /// `before` and `behind` are what stands around the name of the command.
    fn translated(&self, before: &[OsString], behind: &[OsString]) -> Vec<OsString> {
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

    fn line(text: &str) -> String {
        let args = text.split(' ').map(OsString::from).collect();
        let words: Vec<String> =
            translated(args).into_iter().map(|arg| arg.to_string_lossy().into_owned()).collect();
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
