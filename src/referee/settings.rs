//! What a tournament is to be.

use std::path::PathBuf;
use std::time::Duration;

use super::adjudication::AdjudicationRules;
use super::pairing::PairingRule;
use super::time_control::TimeControl;
use crate::engine::EngineSpec;

/// A tournament as it was asked for.
#[derive(Clone, PartialEq, Debug)]
pub struct Tournament {
    /// What it is called: the tag `Event`.
    pub event: String,
    /// Where it is: the tag `Site`.
    pub site: String,
    /// Who meets whom.
    pub pairing: PairingRule,
    /// How many games two players have whenever they meet; 2, for each colour one, unless told otherwise.
    pub games_per_encounter: u32,
    /// Who plays, at least two, seeds first; no name is there twice.
    pub players: Vec<Player>,
    /// How long players may think that have no time of their own.
    pub time: TimeControl,
    /// How long clients get no record.
    pub silences: Silences,
    /// From where games begin; `None` is the start array.
    pub openings: Option<OpeningsSource>,
    /// When games are decided before their end.
    pub adjudication: AdjudicationRules,
    /// Where clients are awaited.
    pub listen: Listen,
    /// How many games are played at once, at least 1.
    pub concurrency: usize,
    /// Where the random numbers begin.
    pub seed: u64,
    /// How often a client is started again in one game.
    pub restarts: u32,
    /// How long one that went away is awaited.
    pub return_within: Duration,
    /// How far a clock may be overstepped without loss.
    pub time_margin: Duration,
    /// The file of all that happens.
    pub log: PathBuf,
    /// The file of finished games.
    pub pgn: PathBuf,
    /// The test that ends the tournament.
    pub sprt: Option<Sprt>,
}

/// One who plays.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Player {
    /// The name by which it signs on: the tags `White` and `Black`.
    pub name: String,
    /// How it is started; `None` for one that comes by itself.
    pub launch: Option<Launch>,
    /// How long it may think, where that is not as with the others.
    pub time: Option<TimeControl>,
}

/// How a player is started.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Launch {
    /// A client by its program and arguments. It is told the address by the words `{host}`, `{port}`
    /// and `{name}` in them.
    Client(Vec<String>),
    /// An engine behind a client of ours.
    Engine(EngineSpec),
}

/// How long clients get no record.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Silences {
    /// After `conclude`.
    pub conclude: Duration,
    /// After `reset`.
    pub reset: Duration,
}

/// A source of openings.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OpeningsSource {
    /// The file, of any format with positions or games.
    pub file: PathBuf,
    /// In which order they are taken.
    pub order: OpeningOrder,
    /// How many plies of a game are made, all of them if `None`.
    pub plies: Option<u32>,
    /// Which one is the first, from 1.
    pub first: u64,
}

/// In which order openings are taken.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum OpeningOrder {
    /// As they come.
    #[default]
    Sequential,
    /// As the seed says.
    Random,
}

/// Where clients are awaited.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Listen {
    /// On an address of TCP, `HOST:PORT`; port 0 is one that is free.
    Tcp(String),
    /// On two serial lines, one for each of two players.
    Serial([PathBuf; 2]),
}

/// A sequential probability ratio test between the first two players.
#[derive(Copy, Clone, PartialEq, Debug)]
pub struct Sprt {
    /// The difference of the first hypothesis, by which the first player is stronger.
    pub elo0: f64,
    /// The difference of the second.
    pub elo1: f64,
    /// How probable it may be to take the second where the first is true.
    pub alpha: f64,
    /// How probable it may be to take the first where the second is true.
    pub beta: f64,
    /// What the differences are measured in.
    pub model: EloModel,
}

/// What differences of strength are measured in.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum EloModel {
    /// Elo, by the logistic curve.
    #[default]
    Logistic,
    /// Normalized Elo: the mean in units of the standard deviation of a game.
    Normalized,
}
