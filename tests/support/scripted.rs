//! A UCI engine that plays from a script, and misbehaves as the script says.
//!
//! Each line of a script is a rule, `WORD: ACTION | ACTION ...`, for a command to the engine. `WORD` is the first
//! word of the command, and may end in `@TEXT` for positions whose FEN contains this text. The first matching rule
//! counts; default rules follow those of the script. An action is a line of output, or:
//!
//! - `!first`: a whole search, with the first legal move in the order of coordinates;
//! - `!endless TEXT`: this line until nobody reads any more;
//! - `!half TEXT`: this text without the end of its line;
//! - `!long`: a line of a million letters;
//! - `!complain TEXT`: a line on standard error; `!complain-long`: one of a million letters;
//!   `!complain-much`: 40 megabytes of lines;
//! - `!log FILE`: appends the command to a file; `!pid FILE`: writes the process ID there;
//! - `!write FILE TEXT`: writes a file, such as the script for the next start;
//! - `!hang`: does nothing more, does not even read; `!exit` and `!exit 3`: exits.

use std::fs::{self, OpenOptions};
use std::io::{self, BufRead, Write};
use std::process;

use epdb_chess::model::rules::Playable;
use epdb_chess::text::{Profile, san};

const USUAL: &str = "\
uci: id name Scripted | id author Nobody | option name Threads type spin default 1 min 1 max 4 | option name Hash type spin default 16 min 1 max 1024 | option name MultiPV type spin default 1 min 1 max 500 | option name UCI_Chess960 type check default false | uciok
isready: readyok
go: !first
quit: !exit
";

/// Plays the script until its end is ordered.
pub(crate) fn play(script: &str) {
    let rules: Vec<(&str, &str)> =
        script.lines().chain(USUAL.lines()).filter_map(|line| line.split_once(": ")).collect();
    let mut fen = String::new();
    for line in io::stdin().lock().lines().map_while(Result::ok) {
        if let Some(said) = line.strip_prefix("position fen ") {
            fen = said.to_string();
        }
        let word = line.split(' ').next().unwrap_or_default();
        let fits = |(rule, _): &&(&str, &str)| match rule.split_once('@') {
            Some((rule, text)) => rule == word && fen.contains(text),
            None => *rule == word,
        };
        let actions = rules.iter().find(fits).map_or("", |(_, actions)| actions);
        actions.split(" | ").filter(|it| !it.is_empty()).for_each(|it| act(it, &line, &fen));
    }
}

fn act(action: &str, said: &str, fen: &str) {
    let mut out = io::stdout().lock();
    let (word, rest) = action.split_once(' ').unwrap_or((action, ""));
    let done = match word {
        "!first" => out.write_all(first(fen).as_bytes()),
        "!half" => write!(out, "{rest}"),
        "!long" => writeln!(out, "{}", "x".repeat(1_000_000)),
        "!complain" => writeln!(io::stderr(), "{rest}"),
        "!complain-long" => writeln!(io::stderr(), "{}", "x".repeat(1_000_000)),
        "!complain-much" => {
            let lines = format!("{}\n", "x".repeat(99)).repeat(10_000);
            (0..40).try_for_each(|_| io::stderr().write_all(lines.as_bytes()))
        }
        "!exit" => process::exit(rest.parse().unwrap_or(0)),
        "!log" => log(rest, said),
        "!pid" => fs::write(rest, process::id().to_string()),
        "!write" => match rest.split_once(' ') {
            Some((file, text)) => fs::write(file, format!("{text}\n")),
            None => Ok(()),
        },
        "!hang" => loop {
            std::thread::park();
        },
        "!endless" => loop {
            if writeln!(out, "{rest}").is_err() {
                process::exit(0);
            }
        },
        _ => writeln!(out, "{action}"),
    };
    if done.and_then(|()| out.flush()).is_err() {
        process::exit(0);
    }
}

fn log(file: &str, said: &str) -> io::Result<()> {
    writeln!(OpenOptions::new().create(true).append(true).open(file)?, "{said}")
}

/// The position after `position fen`, which may end in `moves` and moves.
fn position(said: &str) -> Playable {
    let (fen, moves) = said.split_once(" moves ").unwrap_or((said, ""));
    let record = epdb_chess::parse_epd(fen.as_bytes()).expect("a position");
    let start = Playable::new(record.position()).expect("a playable position");
    moves.split_ascii_whitespace().fold(start, |position, word| {
        let read = san::parse(&position, word.as_bytes(), Profile::Lenient);
        read.expect("a legal move").after
    })
}

/// A search whose numbers come from the position.
fn first(fen: &str) -> String {
    let playable = position(fen);
    let moves = playable.legal_moves();
    let words = moves.iter().map(|&mv| san::uci(&playable, mv));
    let best = words.min().expect("a legal move");
    let nodes =
        fen.bytes().fold(7u32, |sum, byte| sum.wrapping_mul(31) + u32::from(byte)) % 100_000;
    let score = i64::from(nodes % 400) - 200;
    format!(
        "info depth 3 seldepth 5 score cp {score} nodes {nodes} time 12 pv {best}\nbestmove {best}\n"
    )
}
