//! `epdb referee`: tournaments between programs.

use std::fs;
use std::io::Write;

use anyhow::Context;

use crate::cli::message::note;
use crate::cli::outcome::{Outcome, Usage};
use crate::cli::output::open_output;
use crate::cli::referee::{Console, Plain};
use crate::referee::log::SettingsText;
use crate::referee::server::{Opened, Referee, observe};

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
    let Args { observe: observes, attended, words } = args.with_options_behind_the_file();
    let settings = settings(&words)?;
    let mut plain = Plain::default();
    if let Some(referee) = referee(&settings, observes, &mut plain)? {
        match referee.address().as_str() {
            "" => {}
            address => note!("clients are awaited at {address}"),
        }
        if attended {
            let arbiter = referee.arbiter();
            let tournament = arbiter.tournament().clone();
            Console::open(referee.remote(), tournament, arbiter.silences());
        }
        if !referee.run(&mut plain)? {
            note!("stopped; the same command goes on");
        }
    }
    let mut output = open_output(None)?;
    output.write_all(plain.last.unwrap_or_default().as_bytes())?;
    output.finish()?;
    Ok(Outcome::Done)
}

impl Args {
    /// A file has no words behind it: what stands there are options of ours.
    fn with_options_behind_the_file(&self) -> Args {
        let Args { observe, attended, words } = self;
        let (mut observe, mut attended) = (*observe, *attended);
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
            _ => true,
        });
        Args { observe, attended, words: kept }
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
    plain: &mut Plain,
) -> anyhow::Result<Option<Box<Referee>>> {
    let log = settings.tournament()?.log;
    if observes {
        return Ok(observe(&log, plain)?);
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
