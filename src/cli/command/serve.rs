//! `epdb serve`: libraries over HTTP.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use crate::cli::args::parse_memory;
use crate::cli::outcome::{Outcome, usage};
use crate::cli::signals;
use crate::cli::terminal::{is_quiet, note};
use epdb_base::new_file::abandon_all;
use epdb_chess::error::{Error, Result};
use epdb_server::site;
use epdb_server::{
    BasePath, HostName, LogLevel, Origin, Server, ServerSettings, SourceSpec, log_to_stderr,
    parse_listen,
};
use epdb_source::{FileFormat, name_of};

/// Serve libraries over HTTP: an opening explorer for programs, with a web page
///
/// A source is a library, a book, a suite, a file of games, LIBRARY+DELTA.epdb (`epdb help delta`), or the folder
/// of `epdb site`. NAME=FILE gives the source a name; otherwise its name is the file name without the suffix. Programs
/// that use the explorer of lichess.org or chessdb.cn find their usual
/// paths. Sources are never written to. A file that is replaced or imported into is reloaded within a second,
/// an object at an address within 30. Replace files by renaming (mv), not by overwriting (cp).
///
/// By default the server answers only this machine (see --listen), and only requests to `localhost`
/// or to an IP address (see --allow-host). On SIGHUP, it reads the sources of --config again. On
/// SIGINT and SIGTERM, it finishes the requests in progress, then stops.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Examples:
  epdb serve masters=library.epa lichess=mine.epdb
  epdb serve games.pgn --listen 127.0.0.1:8080
  epdb serve --config serve.toml")]
pub(crate) struct Args {
    /// Serve these sources. Requests select one by ?source=NAME. If a request names no source,
    /// /masters uses the source named masters, and /lichess the one named lichess, if there is one.
    /// All other requests use the first source
    #[arg(value_name = "[NAME=]FILE")]
    sources: Vec<SourceSpec>,
    /// Listen on this address and port [default: 127.0.0.1:9002]
    #[arg(long, value_parser = parse_listen, value_name = "ADDRESS:PORT")]
    listen: Option<SocketAddr>,
    /// Read limits and further settings from this file. Options of the command line override them;
    /// sources of the file come before those of the command line
    #[arg(long, value_name = "FILE.toml")]
    config: Option<PathBuf>,
    /// Also answer requests to this host name, given with or without a port
    #[arg(long, value_name = "HOST")]
    allow_host: Vec<HostName>,
    /// Allow web pages of this origin, such as https://lichess.org; * allows any origin
    #[arg(long, value_name = "ORIGIN")]
    cors: Vec<Origin>,
    /// Begin all paths with this prefix, such as /explorer
    #[arg(long, value_name = "PATH")]
    base_path: Option<BasePath>,
    /// Refuse a request that filters by a property, such as speed or rating, for which the library
    /// keeps no separate counts (see `tally --by`)
    #[arg(long)]
    strict: bool,
    /// Take names of openings from this table or folder (see `epdb help classify`)
    #[arg(long, value_name = "FILE")]
    openings: Vec<PathBuf>,
    /// Log messages of this level and above: error, warn, info or debug; debug writes one line per
    /// request [default: info]
    #[arg(long, value_name = "LEVEL")]
    log_level: Option<LogLevel>,
    /// Write the log as JSON, one object per line
    #[arg(long)]
    log_json: bool,
    /// Use this memory for sources and cached answers. SIZE is in bytes, or has K, M or G [default:
    /// 256M]
    #[arg(long, value_parser = parse_memory, value_name = "SIZE")]
    memory: Option<usize>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let settings = settings(args)?;
    if settings.sources.is_empty() {
        return Err(usage("name a source to serve"));
    }
    let level = if is_quiet() { LogLevel::ERROR } else { settings.log_level };
    log_to_stderr(level, settings.log_json);
    let server = Server::open(settings.clone(), |spec| announce(&settings, spec))?;
    signals::leave_to_command();
    introduce(&settings, server.address());
    let args = args.clone();
    server.run(move || self::settings(&args))?;
    // Temporary copies are removed. Lookups that still use them end with the process.
    abandon_all().until_the_end();
    Ok(Outcome::Done)
}

/// Settings of the file. The arguments override them.
fn settings(args: &Args) -> Result<ServerSettings> {
    let mut settings = match &args.config {
        None => ServerSettings::default(),
        Some(file) => {
            let name = file.display().to_string();
            let text = fs::read_to_string(file)
                .map_err(|error| Error::new(format!("cannot read {name}")).because(error))?;
            ServerSettings::from_toml(&name, &text)?
        }
    };
    settings.sources.extend(args.sources.iter().cloned());
    settings.openings.extend(args.openings.iter().cloned());
    settings.allow_host.extend(args.allow_host.iter().cloned());
    settings.cors.extend(args.cors.iter().cloned());
    settings.listen = args.listen.unwrap_or(settings.listen);
    settings.base_path = args.base_path.clone().unwrap_or(settings.base_path);
    settings.log_level = args.log_level.unwrap_or(settings.log_level);
    settings.memory_bytes = args.memory.unwrap_or(settings.memory_bytes);
    settings.strict |= args.strict;
    settings.log_json |= args.log_json;
    Ok(settings)
}

/// Reports the source that is being opened, and slow steps.
fn announce(settings: &ServerSettings, SourceSpec { name, path }: &SourceSpec) {
    let is_of_games = FileFormat::from_name(path).is_some_and(FileFormat::is_of_games);
    let work = if is_of_games { "counting the games of " } else { "" };
    if settings.log_json {
        tracing::info!("{name}: {work}{}", name_of(path))
    } else {
        note!("{name}: {work}{}", name_of(path))
    }
}

/// Prints the address of the server and settings of clients; not in JSON logs.
fn introduce(settings: &ServerSettings, address: SocketAddr) {
    let url = format!("http://{}{}", reachable(address), settings.base_path);
    if settings.log_json {
        return tracing::info!("listening at {url}/");
    }
    note!("listening at {url}/ (the page)");
    if site::is_site(&settings.sources[0].path) {
        return;
    }
    if settings.base_path.is_root() {
        note!("berserk: berserk.Client(explorer_url=\"{url}\").opening_explorer")
    } else {
        note!("berserk needs a server without --base-path")
    }
    let cors = if settings.cors.is_empty() {
        ", and give epdb the origin of lila with --cors"
    } else {
        ""
    };
    note!("lila: set explorer.endpoint = \"{url}\" in conf/application.conf{cors}");
    if !address.ip().is_loopback() {
        note!("anybody who can reach {address} can use the server");
    }
}

/// An address under which this machine reaches itself.
fn reachable(address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        SocketAddr::from((Ipv4Addr::LOCALHOST, address.port()))
    } else {
        address
    }
}
