//! `epdb referee`: tournaments between programs.

use std::fs;
use std::io::Write;

use anyhow::Context;

use crate::cli::message::note;
use crate::cli::outcome::{Outcome, Usage};
use crate::cli::output::open_output;
use crate::cli::referee::Display;
use crate::referee::log::SettingsText;
use crate::referee::server::{Opened, Referee, Watch, observe};

/// Play a tournament between programs that speak EPD over TCP
///
/// The tournament is a file (`epdb help tournament`), or the words that cutechess and fastchess take on one
/// line. Clients connect and sign on by themselves, or are started: a UCI engine by `epdb client`. All that
/// happens is written to a log before it is done, so a tournament that was interrupted in any way goes on
/// when the same command is called again. Finished games go to a PGN file; the table is printed at the end.
///
/// Unless --attended is given a client that breaks the rules loses its game. With it the game waits for the
/// supervisor, who types commands at standard input: `help` shows them.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  epdb referee cup.toml
  epdb referee cup.toml --attended
  epdb referee --observe cup.toml
  epdb referee -engine cmd=stockfish name=A -engine cmd=./new -each tc=10+0.1 -pgnout games.pgn")]
pub(crate) struct Args {
    /// Look on, and take over when the referee is gone
    #[arg(long)]
    observe: bool,
    /// Take commands from standard input, and let them decide where a client breaks the rules
    #[arg(long)]
    attended: bool,
    /// Say what happens in lines, also where there is a terminal to draw boards on
    #[arg(long)]
    plain: bool,
    /// TOURNAMENT.toml, or -engine and the other words of cutechess
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "TOURNAMENT"
    )]
    words: Vec<String>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let Args { observe: observes, attended, plain, words } = args.with_options_behind_the_file();
    let settings = settings(&words)?;
    let mut display = Display::new(plain);
    let mut has_ended = true;
    if let Some(referee) = referee(&settings, observes, &mut display)? {
        match referee.address().as_str() {
            "" => {}
            address => display.message(&format!("clients are awaited at {address}")),
        }
        display.connect(&referee, attended);
        has_ended = referee.run(&mut display)?;
    }
    let table = display.close().unwrap_or_default();
    if !has_ended {
        note!("stopped; the same command goes on");
    }
    let mut output = open_output(None)?;
    output.write_all(table.as_bytes())?;
    output.finish()?;
    Ok(Outcome::Done)
}

impl Args {
    /// A file has no words behind it: what stands there are options of ours.
    fn with_options_behind_the_file(&self) -> Args {
        let Args { observe, attended, plain, words } = self;
        let (mut observe, mut attended, mut plain) = (*observe, *attended, *plain);
        let is_file = words.first().is_some_and(|word| !word.starts_with('-'));
        let mut kept = words.clone();
        kept.retain(|word| match word.as_str() {
            "--observe" if is_file => {
                observe = true;
                false
            }
            "--attended" if is_file => {
                attended = true;
                false
            }
            "--plain" if is_file => {
                plain = true;
                false
            }
            _ => true,
        });
        Args { observe, attended, plain, words: kept }
    }
}

fn settings(words: &[String]) -> anyhow::Result<SettingsText> {
    match words {
        [name] if !name.starts_with('-') => {
            let text = fs::read_to_string(name).with_context(|| format!("cannot read {name}"))?;
            Ok(SettingsText::Toml { name: name.clone(), text })
        }
        [name, other, ..] if !name.starts_with('-') => {
            Err(Usage(format!("`{other}` behind the file of the tournament")).into())
        }
        _ => Ok(SettingsText::Words(words.to_vec())),
    }
}

/// The referee of a tournament, which may be another one for a while. `None` when it is over.
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
            Err(Usage(format!("{name} has a referee already; --observe looks on and takes over"))
                .into())
        }
    }
}
