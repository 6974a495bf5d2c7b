//! Tournaments in files of TOML.

use std::path::PathBuf;

use super::table::{Document, Table};
use super::{
    Launch, Listen, MAX_AT_ONCE, MAX_PLIES, MOST, Player, QuietTimeouts, Sprt, SyzygyRule,
    Tournament,
};
use crate::adjudication::{AdjudicationRules, DrawRule, ResignRule};
use crate::openings::OpeningsSource;
use crate::pairing::PairingRule;
use crate::time_control::TimeControl;
use epdb_chess::error::{Error, Result};
use epdb_engine::{EngineSpec, SearchLimits};

const KEYS: &[&str] = &[
    "event",
    "site",
    "pairing",
    "rounds",
    "challengers",
    "tie-breaks",
    "games",
    "time",
    "nodes",
    "depth",
    "margin",
    "concurrency",
    "openings",
    "eco",
    "syzygy",
    "resign",
    "draw",
    "max-moves",
    "sprt",
    "listen",
    "serial",
    "silences",
    "restarts",
    "return",
    "log",
    "pgn",
    "player",
];
const PLAYER_KEYS: &[&str] =
    &["name", "engine", "options", "command", "token", "token-file", "time", "nodes", "depth"];
const OPENINGS_KEYS: &[&str] = &["file", "order", "plies", "start", "seed", "by-round"];
const SYZYGY_KEYS: &[&str] = &["path", "pieces", "ignore-50"];
const RESIGN_KEYS: &[&str] = &["moves", "score", "two-sided"];
const DRAW_KEYS: &[&str] = &["from-move", "moves", "score"];
const SPRT_KEYS: &[&str] = &["elo0", "elo1", "alpha", "beta", "model"];
const SILENCES_KEYS: &[&str] = &["conclude", "reset"];

impl Tournament {
    /// Reads a tournament from the text of a file. `name` is the name of the file. Without its
    /// ending `.toml` it also names the log and the file of games, unless the text names them.
    ///
    /// # Errors
    /// The text is not TOML, or has an invalid setting. The error has the line and the column.
    ///
    /// ```
    /// use epdb_referee::Tournament;
    /// let text = "time = '1+0.05'\n[[player]]\nname = 'A'\n[[player]]\nengine = './sf'\n";
    /// let tournament = Tournament::from_toml(text, "cup.toml")?;
    /// assert_eq!(tournament.players[1].name, "sf");
    /// assert_eq!(tournament.pgn.to_str(), Some("cup.pgn"));
    /// let error = Tournament::from_toml("evnt = 'x'", "cup.toml").unwrap_err();
    /// assert_eq!(error.to_string(), "cup.toml:1:1: there is no key `evnt`; is it `event`?");
    /// # Ok::<(), epdb_chess::Error>(())
    /// ```
    pub fn from_toml(text: &str, name: &str) -> Result<Tournament> {
        let document = Document::new(text, name);
        let mut root = document.root(KEYS)?;
        let mut tournament = Tournament::new(name.strip_suffix(".toml").unwrap_or(name));
        put(&mut tournament.event, root.text("event")?);
        put(&mut tournament.site, root.text("site")?);
        put(&mut tournament.games_per_encounter, root.number("games", 1..=MOST)?);
        let of_all = search_limits(&mut root)?;
        if of_all != SearchLimits::default() {
            tournament.time = TimeControl::Unlimited;
        }
        let time: Option<TimeControl> = root.parsed("time")?;
        let has_clocks = time.is_some();
        put(&mut tournament.time, time);
        put(&mut tournament.time_margin, root.duration("margin")?);
        put(&mut tournament.concurrency, root.number("concurrency", 1..=MAX_AT_ONCE.into())?);
        put(&mut tournament.restarts, root.number("restarts", 0..=MOST)?);
        put(&mut tournament.return_within, root.duration("return")?);
        put(&mut tournament.log, root.parsed("log")?);
        put(&mut tournament.pgn, root.parsed("pgn")?);
        let (pairing, beside) = pairing(&mut root)?;
        tournament.pairing = pairing;
        openings(&mut root, &mut tournament)?;
        let eco = root.text_or_texts("eco")?.unwrap_or_default();
        tournament.eco = eco.into_iter().map(Into::into).collect();
        tournament.adjudication = adjudication(&mut root)?;
        tournament.syzygy = syzygy(&mut root)?;
        tournament.sprt = sprt(&mut root)?;
        put(&mut tournament.listen, listen(&mut root)?);
        let players = root.tables("player", PLAYER_KEYS)?;
        for mut table in players {
            let SearchLimits { nodes, depth } = search_limits(&mut table)?;
            let nodes = nodes.or(of_all.nodes);
            let depth = depth.or(of_all.depth);
            tournament.search.push(SearchLimits { nodes, depth });
            tournament.players.push(player(table)?);
        }
        if !has_clocks {
            tournament.stop_clocks_of_limited();
        }
        tournament.silences = silences(&mut root, QuietTimeouts::for_players(&tournament.players))?;
        root.finish(&beside)?;
        tournament.checked().map_err(|error| Error::new(error).in_source(name))
    }
}

/// Changes a setting if a value was given.
fn put<T>(place: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *place = value;
    }
}

/// The pairing system, and its setting as text for messages.
fn pairing(root: &mut Table<'_>) -> Result<(PairingRule, String)> {
    let name = root.text("pairing")?.unwrap_or_else(|| "round-robin".into());
    let rule = match name.as_str() {
        "round-robin" => {
            PairingRule::RoundRobin { cycles: root.number("rounds", 1..=MOST)?.unwrap_or(1) }
        }
        "gauntlet" => PairingRule::Gauntlet {
            challengers: root.number("challengers", 1..=MOST)?.unwrap_or(1),
            cycles: root.number("rounds", 1..=MOST)?.unwrap_or(1),
        },
        "swiss" => match root.number("rounds", 1..=MOST)? {
            Some(rounds) => PairingRule::Swiss { rounds },
            None => return Err(root.error("a Swiss tournament needs a number of `rounds`")),
        },
        "knockout" => {
            let tie_breaks = root.number("tie-breaks", 0..=100)?;
            PairingRule::Knockout { tie_breaks: tie_breaks.unwrap_or(PairingRule::TIE_BREAKS) }
        }
        other => {
            let known = "`round-robin`, `gauntlet`, `swiss` or `knockout`";
            return Err(root.error(format!("`pairing`: expected {known}, found `{other}`")));
        }
    };
    Ok((rule, format!("pairing = \"{name}\"")))
}

fn silences(root: &mut Table<'_>, mut silences: QuietTimeouts) -> Result<QuietTimeouts> {
    if let Some(mut table) = root.table("silences", SILENCES_KEYS)? {
        put(&mut silences.conclude, table.duration("conclude")?);
        put(&mut silences.reset, table.duration("reset")?);
    }
    Ok(silences)
}

fn openings(root: &mut Table<'_>, tournament: &mut Tournament) -> Result<()> {
    let Some(mut table) = root.table("openings", OPENINGS_KEYS)? else { return Ok(()) };
    let Some(file) = table.parsed("file")? else {
        return Err(table.error("`openings` needs a `file`"));
    };
    tournament.openings = Some(OpeningsSource {
        file,
        order: table.parsed("order")?.unwrap_or_default(),
        plies: table.number("plies", 0..=MOST)?,
        first: table.number("start", 1..=u64::MAX)?.unwrap_or(1),
    });
    put(&mut tournament.seed, table.number("seed", 0..=u64::MAX)?);
    put(&mut tournament.opening_by_round, table.flag("by-round")?);
    Ok(())
}

fn adjudication(root: &mut Table<'_>) -> Result<AdjudicationRules> {
    let mut rules =
        AdjudicationRules { max_moves: root.number("max-moves", 1..=MOST)?, ..Default::default() };
    if let Some(mut table) = root.table("resign", RESIGN_KEYS)? {
        let standard = ResignRule::default();
        rules.resign = Some(ResignRule {
            moves: table.number("moves", 1..=MOST)?.unwrap_or(standard.moves),
            score: table.number("score", 0..=32_000)?.unwrap_or(standard.score),
            two_sided: table.flag("two-sided")?.unwrap_or(standard.two_sided),
        });
    }
    if let Some(mut table) = root.table("draw", DRAW_KEYS)? {
        let standard = DrawRule::default();
        rules.draw = Some(DrawRule {
            from_move: table.number("from-move", 0..=MOST)?.unwrap_or(standard.from_move),
            moves: table.number("moves", 1..=MOST)?.unwrap_or(standard.moves),
            score: table.number("score", 0..=32_000)?.unwrap_or(standard.score),
        });
    }
    Ok(rules)
}

fn syzygy(root: &mut Table<'_>) -> Result<Option<SyzygyRule>> {
    let Some(mut table) = root.table("syzygy", SYZYGY_KEYS)? else { return Ok(None) };
    let mut rule = SyzygyRule::new(&table.text("path")?.unwrap_or_default());
    if rule.folders.is_empty() {
        return Err(table.error("`syzygy` needs a `path`: the folders of tablebases"));
    }
    put(&mut rule.pieces, table.number("pieces", 3..=SyzygyRule::MAX_PIECES.into())?);
    put(&mut rule.ignores_fifty_moves, table.flag("ignore-50")?);
    Ok(Some(rule))
}

fn sprt(root: &mut Table<'_>) -> Result<Option<Sprt>> {
    let Some(mut table) = root.table("sprt", SPRT_KEYS)? else { return Ok(None) };
    let mut sprt = Sprt::default();
    put(&mut sprt.elo0, table.float("elo0")?);
    put(&mut sprt.elo1, table.float("elo1")?);
    put(&mut sprt.alpha, table.float("alpha")?);
    put(&mut sprt.beta, table.float("beta")?);
    put(&mut sprt.model, table.parsed("model")?);
    sprt.checked().map(Some).map_err(|error| table.error(error))
}

fn listen(root: &mut Table<'_>) -> Result<Option<Listen>> {
    let address = root.text("listen")?;
    let serial = root.texts("serial")?;
    match (address, serial) {
        (None, None) => Ok(None),
        (Some(address), None) => Ok(Some(Listen::Tcp(address))),
        (None, Some(lines)) => match <[String; 2]>::try_from(lines) {
            Ok(lines) => Ok(Some(Listen::Serial(lines.map(Into::into)))),
            Err(_) => Err(root.error("`serial`: expected the paths of two lines")),
        },
        (Some(_), Some(_)) => Err(root.error("expected `listen` or `serial`, found both")),
    }
}

fn search_limits(table: &mut Table<'_>) -> Result<SearchLimits> {
    let nodes = table.number("nodes", 1..=i64::MAX as u64)?;
    Ok(SearchLimits { nodes, depth: table.number("depth", 1..=MAX_PLIES)? })
}

fn player(mut table: Table<'_>) -> Result<Player> {
    let command = table.texts("command")?;
    let token = table.flag("token")?;
    let mut engine: Option<EngineSpec> = table.parsed("engine")?;
    if let Some(engine) = &mut engine {
        engine.options.extend(table.pairs("options")?);
    }
    let mut name = table.text("name")?;
    if let Some(engine) = &mut engine {
        match &name {
            Some(name) => engine.label.clone_from(name),
            None => name = Some(engine.label.clone()),
        }
    }
    let Some(name) = name else {
        return Err(table.error("a player without an engine needs a `name`"));
    };
    let launch = match (engine, command) {
        (None, None) => None,
        (Some(engine), None) => Some(Launch::Engine(engine)),
        (None, Some(command)) if command.is_empty() => {
            return Err(table.error("`command`: expected a program and its arguments"));
        }
        (None, Some(command)) if command.iter().any(|word| word.contains("{token}")) => {
            return Err(table.error(
                "`{token}` in a command can be read by everybody on this machine: write `token = true`, \
                 and let the client read the environment variable EPDB_TOKEN",
            ));
        }
        (None, Some(words)) => Some(Launch::Client { words, token: token.unwrap_or(false) }),
        (Some(_), Some(_)) => return Err(table.error("expected `engine` or `command`, found both")),
    };
    if token.is_some() && !matches!(launch, Some(Launch::Client { .. })) {
        return Err(table.error("`token` goes with `command`"));
    }
    let token_file = table.text("token-file")?.map(PathBuf::from);
    if token_file.is_some() && launch.is_some() {
        return Err(table.error("`token-file` goes with a player that comes by itself"));
    }
    let player = Player { name, launch, token_file, time: table.parsed("time")? };
    table.finish("a player that is no `engine`")?;
    Ok(player)
}
