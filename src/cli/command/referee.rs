//! `epdb referee`: tournaments between programs.

use std::ffi::OsString;
use std::fs;
use std::io::Write;

use anyhow::Context;

use crate::cli::outcome::{Outcome, usage};
use crate::cli::output::open_output;
use crate::cli::referee::{Console, Display};
use crate::cli::signals;
use crate::cli::terminal::note;
use epdb_referee::Standings;
use epdb_referee::log::SettingsText;
use epdb_referee::server::{Opened, Referee, Watch, observe};

/// Run a tournament between programs that speak EPD over TCP
///
/// A file describes the tournament (see `epdb help tournament`). Instead, you can give the options
/// of cutechess and fastchess. Clients connect and sign on by themselves, or the referee starts
/// them. A UCI engine takes part through `epdb client`. Every event is logged before it takes
/// effect, so an interrupted tournament continues when you run the same command again. Finished
/// games are written to a PGN file. The table is printed at the end.
///
/// A client that breaks the rules loses its game. With --attended, the game waits instead for a supervisor,
/// who types commands on standard input. The command `help` lists all commands.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  epdb referee cup.toml
  epdb referee cup.toml --attended
  epdb referee --observe cup.toml
  epdb referee -engine cmd=stockfish name=A -engine cmd=./new -each tc=10+0.1 -pgnout games.pgn")]
pub(crate) struct Args {
    /// Watch the tournament of another referee, and take over if that referee fails
    #[arg(long)]
    observe: bool,
    /// Read commands of a supervisor from standard input, and let the supervisor decide what happens
    /// when a client breaks the rules
    #[arg(long)]
    attended: bool,
    /// Print events as lines of text, even on a terminal
    #[arg(long)]
    plain: bool,
    /// Print the table as one JSON object per player
    #[arg(long, conflicts_with = "tsv")]
    json: bool,
    /// Print the table separated by tabs
    #[arg(long)]
    tsv: bool,
    /// Play over two serial lines or pseudo terminals instead of TCP, with one player at each
    #[arg(long, value_name = "A,B", value_delimiter = ',', num_args = 1)]
    serial: Vec<String>,
    /// Tournament file, or -engine and other options of cutechess
    #[arg(required = true, allow_hyphen_values = true, value_name = "TOURNAMENT")]
    words: Vec<String>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let settings = settings(args)?;
    // Redrawn lines would hide what is typed.
    let mut display = Display::new(args.plain || args.attended);
    let mut has_ended = true;
    if let Some(referee) = referee(&settings, args.observe, &mut display)? {
        match referee.address().as_str() {
            "" => {}
            address => display.message(&format!("listening for clients at {address}")),
        }
        if args.attended {
            Console::open(&referee);
        }
        signals::set_last_words(STOPPED);
        has_ended = referee.run(&mut display)?;
    }
    if !has_ended {
        note!("{STOPPED}");
    }
    let mut output = open_output(None)?;
    if let Some(standings) = display.last {
        write_table(&standings, args, &mut output)?;
    }
    output.finish()?;
    Ok(Outcome::Done)
}

const STOPPED: &str = "stopped; run the same command to continue";

fn write_table(standings: &Standings, args: &Args, out: &mut impl Write) -> anyhow::Result<()> {
    match args {
        Args { json: true, .. } => {
            for object in standings.objects() {
                writeln!(out, "{}", serde_json::to_string(&object)?)?;
            }
        }
        Args { tsv: true, .. } => out.write_all(standings.tsv().as_bytes())?,
        _ => write!(out, "{standings}")?,
    }
    Ok(())
}

/// The options that may stand anywhere, each with its number of values.
const OPTIONS: [(&str, usize); 11] = [
    ("--observe", 0),
    ("--attended", 0),
    ("--plain", 0),
    ("--json", 0),
    ("--tsv", 0),
    ("--serial", 1),
    ("--color", 1),
    ("--quiet", 0),
    ("-q", 0),
    ("--help", 0),
    ("-h", 0),
];

/// Moves the options of epdb to the front. Any words may follow as cutechess options.
pub(crate) fn with_options_first(args: Vec<OsString>) -> Vec<OsString> {
    if args.get(1).is_none_or(|command| command != "referee") {
        return args;
    }
    let mut args = args.into_iter();
    let mut first: Vec<OsString> = args.by_ref().take(2).collect();
    let mut words = Vec::new();
    while let Some(arg) = args.next() {
        match OPTIONS.iter().find(|(option, _)| arg == *option) {
            Some((_, values)) => first.extend([arg].into_iter().chain(args.by_ref().take(*values))),
            None if arg.as_encoded_bytes().starts_with(b"--color=") => first.push(arg),
            None => words.push(arg),
        }
    }
    first.extend(words);
    first
}

fn settings(args: &Args) -> anyhow::Result<SettingsText> {
    let Args { words, serial, .. } = args;
    match words.as_slice() {
        [name] if !name.starts_with('-') => {
            let text = fs::read_to_string(name).with_context(|| format!("cannot read {name}"))?;
            let settings = SettingsText::Toml { name: name.clone(), text };
            if serial.is_empty() { Ok(settings) } else { on_lines(settings, serial) }
        }
        [name, other, ..] if !name.starts_with('-') => {
            Err(usage(format!("unexpected `{other}` after the tournament file")))
        }
        _ if serial.is_empty() => Ok(SettingsText::Words(words.clone())),
        _ => Err(usage("--serial needs a tournament file")),
    }
}

/// The same tournament over serial lines. The names of the lines are added to the text of the
/// settings, because the log stores this text.
fn on_lines(settings: SettingsText, serial: &[String]) -> anyhow::Result<SettingsText> {
    // The text is checked before it is changed, so that errors have the line numbers of the file.
    settings.tournament()?;
    match (settings, serial) {
        (SettingsText::Toml { name, text }, [one, other])
            if !serial.iter().any(|path| path.contains('\'')) =>
        {
            let text = format!("serial = ['{one}', '{other}']\n{text}");
            Ok(SettingsText::Toml { name, text })
        }
        _ => Err(usage("expected two lines, as in --serial /dev/ttyS0,/dev/ttyS1")),
    }
}

/// Returns the referee of a tournament; `None` if the tournament is over. If `observes` is true, the function
/// first observes another referee until that referee has gone.
fn referee(
    settings: &SettingsText,
    observes: bool,
    display: &mut Display,
) -> anyhow::Result<Option<Box<Referee>>> {
    let log = settings.tournament()?.log;
    if observes {
        return Ok(observe(&log, display)?);
    }
    match Referee::open(settings)? {
        Opened::Referee(referee) => Ok(Some(referee)),
        Opened::Taken => {
            let name = log.display();
            Err(usage(format!("{name} already has a referee; --observe watches and takes over")))
        }
    }
}
