//! `epdb referee`: tournaments between programs.

use std::fs;
use std::io::Write;

use anyhow::Context;

use crate::cli::message::note;
use crate::cli::outcome::{Outcome, Usage};
use crate::cli::output::open_output;
use crate::cli::referee::Display;
use crate::referee::Standings;
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
#[derive(clap::Args, Clone, Debug)]
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
    /// Print the table as an object for each player
    #[arg(long, conflicts_with = "tsv")]
    json: bool,
    /// Print the table as fields with tabs between them
    #[arg(long)]
    tsv: bool,
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
    let Args { observe: observes, attended, plain, json, tsv, words } =
        args.with_options_behind_the_file();
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
    let standings = display.close();
    if !has_ended {
        note!("stopped; the same command goes on");
    }
    let mut output = open_output(None)?;
    if let Some(standings) = standings {
        write_table(&standings, json, tsv, &mut output)?;
    }
    output.finish()?;
    Ok(Outcome::Done)
}

fn write_table(
    standings: &Standings,
    json: bool,
    tsv: bool,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    match (json, tsv) {
        (true, _) => {
            for object in standings.objects() {
                writeln!(out, "{}", serde_json::to_string(&object)?)?;
            }
        }
        (_, true) => out.write_all(standings.tsv().as_bytes())?,
        _ => write!(out, "{standings}")?,
    }
    Ok(())
}

impl Args {
    /// A file has no words behind it: what stands there are options of ours.
    fn with_options_behind_the_file(&self) -> Args {
        let mut args = self.clone();
        if args.words.first().is_some_and(|word| !word.starts_with('-')) {
            let mut words = std::mem::take(&mut args.words);
            words.retain(|word| !args.takes(word));
            args.words = words;
        }
        args
    }

    /// Takes an option; false where a word is none.
    fn takes(&mut self, word: &str) -> bool {
        let flags = [
            ("--observe", &mut self.observe),
            ("--attended", &mut self.attended),
            ("--plain", &mut self.plain),
            ("--json", &mut self.json),
            ("--tsv", &mut self.tsv),
        ];
        let flag = flags.into_iter().find(|(name, _)| *name == word);
        flag.map(|(_, flag)| *flag = true).is_some()
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
