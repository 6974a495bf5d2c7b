//! `epdb serve`: libraries over HTTP.

use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::Context;

use crate::cli::args::MemoryArgs;
use crate::cli::message::note;
use crate::cli::outcome::{Outcome, Usage};
use crate::server::{Server, ServerSettings, SourceSpec};

/// Serve libraries to programs and people: an opening explorer over HTTP, with a page
///
/// Sources are libraries, books, suites or games, each asked by its name: NAME=FILE, or the file's name without
/// its suffix. Programs that ask the opening explorer of lichess.org or chessdb.cn find their own paths; the
/// page is at the address that is printed. Nothing is ever written to a source; a file that is replaced or
/// imported into is served anew within a second.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  epdb serve masters=library.epa lichess=mine.epdb
  epdb serve games.pgn --listen 127.0.0.1:8080
  epdb serve --config serve.toml")]
pub(crate) struct Args {
    /// What is served; without a path that names one, the first
    #[arg(value_name = "[NAME=]FILE")]
    sources: Vec<SourceSpec>,
    /// Where connections are awaited [default: 127.0.0.1:9002]
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<SocketAddr>,
    /// Settings, and sources that come first; options override. Read again on SIGHUP
    #[arg(long, value_name = "FILE.toml")]
    config: Option<PathBuf>,
    /// A file of opening names, as `epdb name` takes it; of several, later ones override
    #[arg(long, value_name = "FILE")]
    openings: Vec<PathBuf>,
    #[command(flatten)]
    memory: MemoryArgs,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let settings = settings(args)?;
    if settings.sources.is_empty() {
        return Err(Usage("name a source to serve".into()).into());
    }
    let server = Server::open(settings)?;
    note!("listening at http://{}", server.address());
    server.run()?;
    Ok(Outcome::Done)
}

/// What the file says, and the arguments over it.
fn settings(args: &Args) -> anyhow::Result<ServerSettings> {
    let mut settings = match &args.config {
        None => ServerSettings::default(),
        Some(file) => {
            let name = file.display().to_string();
            let text = fs::read_to_string(file).with_context(|| format!("cannot read {name}"))?;
            ServerSettings::from_toml(&name, &text)?
        }
    };
    settings.sources.extend(args.sources.iter().cloned());
    settings.openings.extend(args.openings.iter().cloned());
    if let Some(listen) = args.listen {
        settings.listen = listen;
    }
    settings.memory = args.memory.memory;
    Ok(settings)
}
