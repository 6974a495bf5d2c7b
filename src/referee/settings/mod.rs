//! Settings of a tournament, from a file or from the words of a command line.

mod file;
mod table;
mod words;
mod written;

pub(super) use table::written_in_file;
pub(super) use words::written_on_line;
pub(super) use written::{WrittenSetting, differences};

use std::collections::HashSet;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use super::adjudication::AdjudicationRules;
use super::openings::{self, Opening, OpeningsSource};
use super::pairing::{Pairing, PairingRule};
use super::time_control::{Stage, TimeControl};
use epdb_chess::error::{self, Error};
use epdb_engine::{EngineSpec, SearchLimits};

/// The settings of a tournament.
#[derive(Clone, PartialEq, Debug)]
pub struct Tournament {
    /// The name of the tournament: the tag `Event`.
    pub event: String,
    /// The place: the tag `Site`.
    pub site: String,
    /// The pairing system.
    pub pairing: PairingRule,
    /// Number of games per encounter; 2 by default, one for each colour.
    pub games_per_encounter: u32,
    /// The players: at least two, the best seed first, with different names.
    pub players: Vec<Player>,
    /// The default time control of players.
    pub time: TimeControl,
    /// The search limits per move, by player; players beyond the end have none.
    pub search: Vec<SearchLimits>,
    /// Names of engine options that an engine may lack. If an engine lacks such an option, the
    /// option is left out with a warning.
    pub optional_options: Vec<String>,
    /// Warnings about settings that have no effect.
    pub remarks: Vec<String>,
    /// Pauses of clients between games; by default none if all players are engines.
    pub silences: QuietTimeouts,
    /// The openings of games; `None` is the start array.
    pub openings: Option<OpeningsSource>,
    /// Whether all games of a round begin from the same opening.
    pub opening_by_round: bool,
    /// Files with names of openings, for tags such as `ECO` and `Opening`. Later files override
    /// earlier ones.
    pub eco: Vec<PathBuf>,
    /// Rules that decide games before their end.
    pub adjudication: AdjudicationRules,
    /// The tablebases that decide games.
    pub syzygy: Option<SyzygyRule>,
    /// The address for clients.
    pub listen: Listen,
    /// Number of concurrent games, at least 1.
    pub concurrency: usize,
    /// Seed of the random numbers.
    pub seed: u64,
    /// Maximum number of restarts of a client in one game.
    pub restarts: u32,
    /// Time to wait for a client that has disconnected.
    pub return_within: Duration,
    /// Time by which a clock may be overstepped without loss; 100 ms by default.
    pub time_margin: Duration,
    /// The log, which has all events of the tournament.
    pub log: PathBuf,
    /// The file of finished games.
    pub pgn: PathBuf,
    /// The sequential test that ends the tournament, if there is one.
    pub sprt: Option<Sprt>,
}

impl Tournament {
    /// The default settings without players; the files are `NAME.log` and `NAME.pgn`.
    pub fn new(name: &str) -> Tournament {
        Tournament {
            event: "?".into(),
            site: "?".into(),
            pairing: PairingRule::RoundRobin { cycles: 1 },
            games_per_encounter: 2,
            players: Vec::new(),
            time: TimeControl::Stages(vec![Stage {
                moves: None,
                time: Duration::from_secs(10),
                increment: Duration::from_millis(100),
            }]),
            search: Vec::new(),
            optional_options: Vec::new(),
            remarks: Vec::new(),
            silences: QuietTimeouts::STANDARD,
            openings: None,
            opening_by_round: false,
            eco: Vec::new(),
            adjudication: AdjudicationRules::default(),
            syzygy: None,
            listen: Listen::Tcp("127.0.0.1:0".into()),
            concurrency: 1,
            seed: 0,
            restarts: 3,
            return_within: Duration::from_secs(60),
            time_margin: Duration::from_millis(100),
            log: format!("{name}.log").into(),
            pgn: format!("{name}.pgn").into(),
            sprt: None,
        }
    }

    /// The value of the tag `Round`: the number of the game in a match of two players, otherwise
    /// the numbers of the round and of the game.
    pub(crate) fn round_tag(&self, pairing: &Pairing) -> String {
        match self.players.len() {
            2 => pairing.game.to_string(),
            _ => pairing.round_tag(),
        }
    }

    pub(crate) fn opening_of(&self, pairing: &Pairing) -> usize {
        if self.opening_by_round {
            pairing.round.saturating_sub(1) as usize
        } else {
            pairing.opening
        }
    }

    /// Reads the openings, as many as the tournament can use. If the settings name none, the only
    /// opening is the start array. `left_out` gets a message for each opening that ends without a
    /// legal move.
    ///
    /// # Errors
    /// The errors of [`openings::read`].
    pub fn openings(&self, left_out: &mut dyn FnMut(Error)) -> error::Result<Vec<Opening>> {
        let wanted = self.pairing.most_openings(self.players.len(), self.games_per_encounter);
        match &self.openings {
            Some(source) => openings::read_with(source, self.seed, wanted, left_out),
            None => Ok(vec![Opening::ARRAY]),
        }
    }

    /// Search limits of a player per move.
    pub fn search_of(&self, player: usize) -> SearchLimits {
        self.search.get(player).copied().unwrap_or_default()
    }

    /// Number of clients that a player may have at once, each on its own seat: the number of
    /// concurrent games. It is 1 on a serial line or for a command without a token, because such
    /// clients cannot be distinguished.
    pub(crate) fn max_clients(&self, player: usize) -> usize {
        let is_alone = |player: &Player| player.launch.is_some() && !player.has_token_each();
        let is_alone = self.players.get(player).is_some_and(is_alone);
        match self.listen {
            Listen::Tcp(_) if !is_alone => self.concurrency,
            _ => 1,
        }
    }

    /// The name of the client on a seat: `A` for the first client of player A, `A (2)` for its
    /// second client.
    pub(crate) fn client_name(&self, seat: usize) -> String {
        let players = self.players.len().max(1);
        let name = self.players.get(seat % players).map_or("?", |player| &player.name);
        match seat / players {
            0 => name.to_string(),
            row => format!("{name} ({})", row + 1),
        }
    }

    /// The seat of a client by its name.
    pub fn seat_named(&self, name: &str) -> Option<usize> {
        let player = |name| self.players.iter().position(|player| player.name == name);
        player(name).or_else(|| {
            let (name, number) = name.strip_suffix(')')?.rsplit_once(" (")?;
            let row = number.parse::<usize>().ok()?.checked_sub(1)?;
            let player = player(name)?;
            (row < self.max_clients(player)).then(|| player + row * self.players.len())
        })
    }

    pub(crate) fn time_of(&self, player: usize) -> &TimeControl {
        self.players.get(player).and_then(|player| player.time.as_ref()).unwrap_or(&self.time)
    }

    /// True if a referee with these settings can resume a tournament with the settings `other`,
    /// because both lead to the same games.
    pub(super) fn has_same_games(&self, other: &Tournament) -> bool {
        let are_over_tcp =
            matches!((&self.listen, &other.listen), (Listen::Tcp(_), Listen::Tcp(_)));
        let listen = if are_over_tcp { &self.listen } else { &other.listen };
        *self
            == Tournament {
                concurrency: self.concurrency,
                restarts: self.restarts,
                listen: listen.clone(),
                remarks: self.remarks.clone(),
                ..other.clone()
            }
    }

    /// Messages about settings that stay as in this log, although they are different in the new
    /// settings.
    pub(super) fn kept_settings(&self, new: &Tournament) -> Vec<String> {
        let kept = |what, here: usize, new: usize| {
            let text = format!("{what} stays {here}, as in the log, and does not become {new}");
            (here != new).then_some(text)
        };
        [
            kept("the number of concurrent games", self.concurrency, new.concurrency),
            kept("the number of restarts", self.restarts as usize, new.restarts as usize),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// Removes the clocks of players that have a limit of nodes or depth and no time of their own.
    fn stop_clocks_of_limited(&mut self) {
        for (player, search) in self.players.iter_mut().zip(&self.search) {
            if *search != SearchLimits::default() {
                player.time.get_or_insert(TimeControl::Unlimited);
            }
        }
    }

    /// Checks settings that depend on each other.
    fn checked(mut self) -> Result<Tournament, String> {
        if self.search.iter().all(|search| *search == SearchLimits::default()) {
            self.search.clear();
        }
        // An engine without a limit never ends its search. A client of another kind may.
        let is_unlimited = |(place, player): &(usize, &Player)| {
            matches!(player.launch, Some(Launch::Engine(_)))
                && *self.time_of(*place) == TimeControl::Unlimited
                && self.search_of(*place) == SearchLimits::default()
        };
        if let Some((_, player)) = self.players.iter().enumerate().find(is_unlimited) {
            return Err(format!("player {} has no time, nodes or depth", player.name));
        }
        let players = self.players.len();
        if !(2..=MAX_PLAYERS).contains(&players) {
            return Err(format!("expected 2 to {MAX_PLAYERS} players, found {players}"));
        }
        let mut names = HashSet::new();
        for Player { name, .. } in &self.players {
            check_name(name)?;
            if !names.insert(name) {
                return Err(format!(
                    "two players are called `{name}`; give each a name of its own"
                ));
            }
        }
        if let PairingRule::Gauntlet { challengers, .. } = self.pairing
            && challengers as usize >= players
        {
            return Err(format!(
                "a gauntlet of {players} players has at most {} challengers",
                players - 1
            ));
        }
        if self.pairing.game_count(players, self.games_per_encounter) > MAX_GAMES {
            return Err(format!("a tournament has at most {MAX_GAMES} games"));
        }
        if matches!(self.listen, Listen::Serial(_)) && players > 2 {
            return Err(format!("two serial lines serve two players, there are {players}"));
        }
        if self.sprt.is_some() && players > 2 {
            return Err(format!("a sequential test is of two players, there are {players}"));
        }
        let is_hourglass =
            |player: usize| matches!(self.time_of(player), TimeControl::Hourglass(_));
        if (1..players).any(|player| is_hourglass(player) != is_hourglass(0)) {
            return Err("an hourglass (`*180`) is for all players or for none: what one uses the other gets".into());
        }
        if self.log == self.pgn {
            let name = self.log.display();
            return Err(format!("{name} cannot be both the log and the file of games"));
        }
        Ok(self)
    }
}

/// Words and their values.
type Named<T> = &'static [(&'static str, T)];

fn of_name<T: Copy>(names: Named<T>, word: &str) -> Result<T, String> {
    let found = names.iter().find(|(name, _)| *name == word);
    found.map(|(_, value)| *value).ok_or_else(|| {
        let names: Vec<String> = names.iter().map(|(name, _)| format!("`{name}`")).collect();
        format!("expected {}, found `{word}`", names.join(" or "))
    })
}

/// The message about an unknown name, with the nearest known name.
fn unknown(what: &str, name: &str, known: &[&str]) -> String {
    // A tuned number: names that are less alike are seldom meant.
    const MIN_LIKENESS: f64 = 0.7;
    let nearest = known
        .iter()
        .map(|known| (strsim::jaro(known, name), known))
        .max_by(|(one, _), (other, _)| one.total_cmp(other));
    match nearest {
        Some((likeness, nearest)) if likeness > MIN_LIKENESS => {
            format!("there is no {what} `{name}`; is it `{nearest}`?")
        }
        _ => format!("there is no {what} `{name}`, but {}", known.join(", ")),
    }
}

impl FromStr for EloModel {
    type Err = String;

    fn from_str(word: &str) -> Result<EloModel, String> {
        const NAMES: Named<EloModel> =
            &[("logistic", EloModel::Logistic), ("normalized", EloModel::Normalized)];
        of_name(NAMES, word)
    }
}

impl Default for Sprt {
    /// 0 against 5 Elo, 5 % of errors of each kind.
    fn default() -> Sprt {
        Sprt { elo0: 0.0, elo1: 5.0, alpha: 0.05, beta: 0.05, model: EloModel::default() }
    }
}

impl Sprt {
    /// Checks that the test can end.
    fn checked(self) -> Result<Sprt, String> {
        let Sprt { elo0, elo1, alpha, beta, .. } = self;
        if !(elo0 < elo1 && elo0.abs() <= MAX_ELO && elo1.abs() <= MAX_ELO) {
            return Err(format!("expected elo0 below elo1 and both within {MAX_ELO} of 0"));
        }
        let is_share = |share: f64| share > 0.0 && share < 0.5;
        if is_share(alpha) && is_share(beta) {
            Ok(self)
        } else {
            Err("expected alpha and beta between 0 and 0.5".into())
        }
    }
}

fn check_name(name: &str) -> Result<(), String> {
    let is_good = |c: char| !c.is_control() && c != '"';
    let is_name = (1..=MAX_NAME).contains(&name.len()) && name.chars().all(is_good);
    if is_name && name.trim() == name {
        Ok(())
    } else {
        Err(format!("`{name}` is not a valid name for a player"))
    }
}

/// Maximum number of players. The next constants limit games and concurrent games.
const MAX_PLAYERS: usize = 256;
const MAX_GAMES: u32 = 1_000_000;
const MAX_AT_ONCE: u32 = 1024;
/// Maximum number of rounds, of games in an encounter, and of moves.
const MOST: u64 = 1_000_000;
/// Maximum depth of a search.
const MAX_PLIES: u64 = 1_000;
const MAX_ELO: f64 = 1000.0;
/// Maximum length of a name in bytes, so that the name fits into a record.
const MAX_NAME: usize = 100;

/// A player of a tournament.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Player {
    /// The name under which the player signs on, also in the tags `White` and `Black`.
    pub name: String,
    /// The way to start the player's client; `None` for a client that connects by itself.
    pub launch: Option<Launch>,
    /// The file with the token by which the player's clients sign on, if they connect by
    /// themselves. The token keeps others from signing on under the player's name.
    pub token_file: Option<PathBuf>,
    /// The time control of the player, if it differs from that of the other players.
    pub time: Option<TimeControl>,
}

impl Player {
    /// True if the referee gives each client of the player its own token.
    pub(super) fn has_token_each(&self) -> bool {
        matches!(self.launch, Some(Launch::Engine(_) | Launch::Client { token: true, .. }))
    }
}

/// The start of a client.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Launch {
    /// A client of any kind.
    Client {
        /// The program and its arguments. `{host}`, `{port}` and `{name}` in them stand for the
        /// address of the referee and the name of the player.
        words: Vec<String>,
        /// True if the client signs on with the token in the environment variable `EPDB_TOKEN` as
        /// its address. Then nobody else can sign on as the player.
        token: bool,
    },
    /// An engine, run by this program's own client.
    Engine(EngineSpec),
}

/// Minimum lengths of the pauses in which clients are sent no record.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct QuietTimeouts {
    /// Pause after the command `conclude`, which says that a game is over.
    pub conclude: Duration,
    /// Pause after the command `reset`.
    pub reset: Duration,
}

impl QuietTimeouts {
    /// Pauses for unknown clients.
    const STANDARD: QuietTimeouts =
        QuietTimeouts { conclude: Duration::from_secs(5), reset: Duration::from_secs(5) };

    /// Returns the pauses for clients of these players; the program's own clients need none.
    fn for_players(players: &[Player]) -> QuietTimeouts {
        let is_ours = |player: &Player| matches!(player.launch, Some(Launch::Engine(_)));
        if players.iter().all(is_ours) {
            QuietTimeouts { conclude: Duration::ZERO, reset: Duration::ZERO }
        } else {
            QuietTimeouts::STANDARD
        }
    }
}

/// The address for clients.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Listen {
    /// Clients connect to an address of TCP, `HOST:PORT`; port 0 means any free port.
    Tcp(String),
    /// Clients are connected by two serial lines, one for each of two players.
    Serial([PathBuf; 2]),
}

/// Syzygy tablebases that decide games after each move.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SyzygyRule {
    /// The folders that have the files of the tablebases.
    pub folders: Vec<PathBuf>,
    /// Maximum number of pieces of an adjudicated position, including kings and pawns.
    pub pieces: u32,
    /// True if a side that can force mate wins even where the fifty-move rule makes the game a
    /// draw.
    pub ignores_fifty_moves: bool,
}

impl SyzygyRule {
    /// Maximum number of pieces for which there are tablebases.
    pub const MAX_PIECES: u32 = 7;

    /// Makes a rule that adjudicates games by tablebases for up to [`SyzygyRule::MAX_PIECES`]
    /// pieces, with the fifty-move rule. Folders in `path` are separated by colons, on Windows by
    /// semicolons.
    pub fn new(path: &str) -> SyzygyRule {
        let folders = std::env::split_paths(path).filter(|folder| !folder.as_os_str().is_empty());
        SyzygyRule {
            folders: folders.collect(),
            pieces: SyzygyRule::MAX_PIECES,
            ignores_fifty_moves: false,
        }
    }
}

/// A sequential probability ratio test between the first two players.
#[derive(Copy, Clone, PartialEq, Debug)]
pub struct Sprt {
    /// The difference in Elo under the first hypothesis: the first player is stronger by this
    /// value.
    pub elo0: f64,
    /// The difference under the second hypothesis.
    pub elo1: f64,
    /// Probability of accepting the second hypothesis if the first one is true.
    pub alpha: f64,
    /// Probability of accepting the first hypothesis if the second one is true.
    pub beta: f64,
    /// Unit of the differences.
    pub model: EloModel,
}

/// Unit of differences of strength.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum EloModel {
    /// Elo, by the logistic curve.
    #[default]
    Logistic,
    /// Normalized Elo: the mean in units of the standard deviation of a game.
    Normalized,
}
