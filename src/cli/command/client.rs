//! `epdb client`: an engine as a client of a referee.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{env, thread};

use anyhow::{Context, bail};

use crate::cli::engines::{parse_option, parse_time};
use crate::cli::outcome::{Outcome, usage};
use crate::cli::terminal::{note, print_line};
use epdb_engine::{EngineSpec, SystemClock};
use epdb_referee::client::{Client, Conduct, End, EngineThinker, Note, TOKEN_VARIABLE, Threshold};
use epdb_referee::wire::fits_in_string;
use epdb_referee::wire::open_line;

/// Connect a UCI engine to `epdb referee`, or to another referee of the 1995 standard
///
/// The client signs on, answers each request for a move (`respond`) with a move of the engine, and ends when
/// the referee disconnects. The client keeps the history of a game while each new position follows from the
/// one before by legal moves. The client claims draws by the rules, and reports its searches. If the
/// connection is lost, the client tries to reconnect. If the environment variable EPDB_TOKEN is set, the
/// client signs on with this token.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Examples:
  epdb client --connect 127.0.0.1:5959 --engine stockfish --option Hash=64
  epdb client --connect host:5959 --engine 'cmd=./sf name=SF18 option.Hash=64' --resign 3@600
  epdb client --serial /dev/ttyS0 --engine stockfish --movetime 5s")]
pub(crate) struct Args {
    /// Connect to the referee at this host and port
    #[arg(long, value_name = "HOST:PORT", required_unless_present = "serial")]
    connect: Option<String>,
    /// Connect over this serial line or pseudo terminal
    #[arg(long, value_name = "PATH", conflicts_with = "connect")]
    serial: Option<PathBuf>,
    /// Engine: a program, NAME=PROGRAM, or 'cmd=PROGRAM arg=ARGUMENT name=NAME option.Hash=64'
    #[arg(long, value_name = "ENGINE")]
    engine: EngineSpec,
    /// Set an engine option, such as Hash=64; the default of Threads is 1
    #[arg(long = "option", value_name = "NAME=VALUE", value_parser = parse_option)]
    options: Vec<(String, String)>,
    /// If the engine lacks the option NAME, that --option does not fail: print a warning instead
    #[arg(long = "optional", value_name = "NAME")]
    optional: Vec<String>,
    /// Sign on under this name [default: the name of the engine]
    #[arg(long)]
    name: Option<String>,
    /// Search this long per move if the referee sends no clocks
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "1s")]
    movetime: Duration,
    /// Resign after MOVES own moves with a score of -CENTIPAWNS or less, such as 3@600
    #[arg(long, value_name = "MOVES@CENTIPAWNS")]
    resign: Option<Threshold>,
    /// Offer and accept a draw after MOVES own moves with a score within CENTIPAWNS of 0
    #[arg(long, value_name = "MOVES@CENTIPAWNS")]
    draw: Option<Threshold>,
    /// Claim no draws
    #[arg(long)]
    no_claims: bool,
    /// Sign off after N games
    #[arg(long, value_name = "N")]
    games: Option<NonZeroU64>,
    /// Keep trying to reach the referee for this time
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "60s")]
    retry: Duration,
    /// Send `isready` to an engine that is silent for this time; give up if it does not answer
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "60s")]
    patience: Duration,
}

/// First pause before another attempt to reach a referee.
const PAUSE: Duration = Duration::from_millis(100);
/// Longest pause, after repeated refusals.
const MAX_PAUSE: Duration = Duration::from_secs(5);

type Channel = (Box<dyn Read + Send>, Box<dyn Write>);

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let mut engine = args.engine.clone();
    engine.set_before(&args.options);
    engine.optional.clone_from(&args.optional);
    let name = args.name.clone().unwrap_or_else(|| engine.label.clone());
    if name.is_empty() || !fits_in_string(&name) {
        return Err(usage(format!("`{name}` is not a valid name to sign on with")));
    }
    let mut thinker = EngineThinker::new(engine, args.patience, Arc::new(SystemClock::new()));
    for option in &thinker.start()?.identity().left_out {
        print_line(&format!("epdb: the engine has no option `{option}`: ignored"));
    }
    let conduct = Conduct { resign: args.resign, draw: args.draw, claims: !args.no_claims };
    let mut client = Client::new(thinker, conduct, args.movetime);
    let token = env::var(TOKEN_VARIABLE).ok();
    let mut until = Instant::now() + args.retry;
    let mut pause = PAUSE;
    let mut refusal = None;
    loop {
        let (channel, address) = args.channel(until)?;
        let address = token.clone().unwrap_or(address);
        note!("epdb: {name} signs on at {}", args.referee());
        let games = args.games.map(NonZeroU64::get);
        let end = client
            .converse(channel, (&address, &name), games, &mut |what| match what {
                // The same fault is not reported again.
                Note::Fault(reason) if reason == refusal => {}
                Note::Fault(reason) => {
                    tell(Note::Fault(reason.clone()));
                    refusal = reason;
                }
                what => tell(what),
            })
            .with_context(|| format!("{name} cannot continue"))?;
        match end {
            End::Disconnected | End::SignedOff => break,
            End::Closed => (until, pause) = (Instant::now() + args.retry, PAUSE),
            End::Refused if Instant::now() >= until => match refusal {
                Some(reason) => bail!("{} refuses {name}: {reason}", args.referee()),
                None => bail!("{} does not answer", args.referee()),
            },
            End::Refused => {
                thread::sleep(pause);
                pause = (2 * pause).min(MAX_PAUSE);
            }
        }
    }
    let (count, games) =
        (client.concluded(), if client.concluded() == 1 { "game" } else { "games" });
    note!("epdb: {name} took part in {count} {games}");
    Ok(Outcome::Done)
}

impl Args {
    fn referee(&self) -> String {
        match (&self.serial, &self.connect) {
            (Some(path), _) => path.display().to_string(),
            (None, address) => address.clone().unwrap_or_default(),
        }
    }

    /// A channel to the referee, and the client's address.
    fn channel(&self, until: Instant) -> anyhow::Result<(Channel, String)> {
        if let Some(path) = &self.serial {
            let (reader, writer) =
                open_line(path).with_context(|| format!("cannot open {}", path.display()))?;
            return Ok(((Box::new(reader), Box::new(writer)), self.referee()));
        }
        loop {
            match connect(&self.referee()) {
                Ok(stream) => return of_stream(stream).context("the connection broke"),
                Err(error) if Instant::now() >= until => {
                    return Err(error).context(format!("no referee at {}", self.referee()));
                }
                Err(_) => thread::sleep(PAUSE),
            }
        }
    }
}

fn connect(address: &str) -> std::io::Result<TcpStream> {
    let stream = TcpStream::connect(address)?;
    // A connection to a free port of this host may be connected to itself. It would keep the
    // referee from using the port again.
    if stream.local_addr()? == stream.peer_addr()? {
        Err(std::io::ErrorKind::ConnectionRefused.into())
    } else {
        Ok(stream)
    }
}

fn of_stream(stream: TcpStream) -> std::io::Result<(Channel, String)> {
    // A move is one small packet, which must not wait for others.
    stream.set_nodelay(true)?;
    let address = stream.local_addr()?.to_string();
    Ok(((Box::new(stream.try_clone()?), Box::new(stream)), address))
}

fn tell(what: Note) {
    match what {
        Note::Begins { white, black } => note!("epdb: game of {white} and {black}"),
        Note::Ends(result) => note!("epdb: it ended {}", result.as_deref().unwrap_or("unfinished")),
        // If a referee started this client, it passes the remark on to the supervisor.
        Note::Remark(text) => print_line(&format!("epdb: the engine wrote {text} (reported once)")),
        Note::NoMove(reason) => note!("epdb: no move, and the game is lost: {reason}"),
        Note::Fault(reason) => {
            note!(
                "epdb: the referee reports a fault: {}",
                reason.as_deref().unwrap_or("no reason")
            );
        }
    }
}
