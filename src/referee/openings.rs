//! Openings of games.

use std::path::PathBuf;
use std::str::FromStr;

use epdb_chess::error::{Error, Result};
use epdb_chess::model::rules::{Move, Playable};
use epdb_chess::model::{Counters, EpdRecord, Game, Opcode, Replay, Start};
use epdb_chess::text::pgn::PgnReadOptions;
use epdb_library::sample::random_number;
use epdb_source::{OwnedItem, Source, SourceOptions};

/// The start of a game: a position and the first moves.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Opening {
    /// The position before the first move.
    pub start: Start,
    /// The moves that are made for the players.
    pub moves: Vec<Move>,
    /// The name of the opening, if it has one.
    pub label: Option<String>,
}

/// A source of openings.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OpeningsSource {
    /// The file, of any format with positions or games.
    pub file: PathBuf,
    /// The order in which openings are taken.
    pub order: OpeningOrder,
    /// Number of plies taken from each game; `None` for all.
    pub plies: Option<u32>,
    /// Number of the first opening that is taken, from 1.
    pub first: u64,
}

/// The order in which openings are taken.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum OpeningOrder {
    /// The order of the file.
    #[default]
    Sequential,
    /// A random order, which the seed determines.
    Random,
}

impl FromStr for OpeningOrder {
    type Err = String;

    fn from_str(word: &str) -> Result<OpeningOrder, String> {
        match word {
            "sequential" => Ok(OpeningOrder::Sequential),
            "random" => Ok(OpeningOrder::Random),
            _ => Err(format!("expected `sequential` or `random`, found `{word}`")),
        }
    }
}

/// Reads the first `wanted` openings of the source in its order, or all openings if there are fewer. `seed`
/// determines a random order. The opening from a game has the moves of the game; the opening from a record is
/// only a position. An opening that ends without a legal move is left out.
///
/// # Errors
/// The source cannot be read, has a line that is neither a position nor a game, or has fewer
/// openings than the number [`OpeningsSource::first`].
pub fn read(source: &OpeningsSource, seed: u64, wanted: usize) -> Result<Vec<Opening>> {
    read_with(source, seed, wanted, &mut |_| {})
}

/// Like [`read`]; `left_out` gets a message for each opening that is left out.
///
/// # Errors
/// The errors of [`read`].
pub fn read_with(
    source: &OpeningsSource,
    seed: u64,
    wanted: usize,
    left_out: &mut dyn FnMut(Error),
) -> Result<Vec<Opening>> {
    let before_first = usize::try_from(source.first.saturating_sub(1)).unwrap_or(usize::MAX);
    let mut chosen = Chosen::new(source.order, seed, before_first.saturating_add(wanted));
    // A game with an illegal move is an error, and not a shorter opening.
    let options = SourceOptions {
        games: PgnReadOptions { truncate: Some(false), ..Default::default() },
        ..Default::default()
    };
    for item in Source::open(&source.file, &options)?.items() {
        let item = item?;
        let place = item.place().clone();
        let Some(opening) = of_item(item, source.plies).map_err(|error| error.at(place.clone()))?
        else {
            continue;
        };
        match opening.reached() {
            Some(position) if position.has_move() => {
                if !chosen.add(opening) {
                    break;
                }
            }
            _ => left_out(
                Error::new("nobody can move where this opening ends: it is left out").at(place),
            ),
        }
    }
    let mut openings = chosen.in_order();
    let known = openings.len();
    openings.drain(..before_first.min(known));
    if openings.is_empty() {
        let what = match known {
            0 => "no opening: the file is empty, or none of its positions can be reached from the start".into(),
            _ => format!("expected an opening number {}, there are {known}", source.first),
        };
        return Err(Error::new(what).in_source(source.file.to_string_lossy()));
    }
    Ok(openings)
}

/// The opening from a game or a record; `None` for other items.
fn of_item(item: OwnedItem, plies: Option<u32>) -> Result<Option<Opening>> {
    Ok(match item {
        OwnedItem::Game { game, .. } => Some(of_game(&game, plies)),
        other => other.into_record().transpose()?.map(|record| of_record(&record)),
    })
}

/// The opening from a game. The opening ends before a null move, because engines do not accept null
/// moves.
fn of_game(game: &Game, plies: Option<u32>) -> Opening {
    let max_moves = plies.map_or(usize::MAX, |plies| plies as usize);
    let label = ["Opening", "ECO"].into_iter().find_map(|tag| game.tag(tag));
    Opening {
        start: *game.start(),
        moves: game.main_line().take(max_moves).collect(),
        label: label.map(str::to_string),
    }
}

fn of_record(record: &EpdRecord) -> Opening {
    let (halfmove_clock, fullmove_number) = record.counters();
    let counters = Counters {
        halfmove_clock: halfmove_clock.unwrap_or(0),
        fullmove_number: fullmove_number.unwrap_or(1),
    };
    let label = record.text_of(Opcode::ID).map(|id| String::from_utf8_lossy(&id).into_owned());
    Opening { start: Start { position: *record.position(), counters }, moves: Vec::new(), label }
}

impl Opening {
    /// The start array.
    pub const ARRAY: Opening = Opening { start: Start::ARRAY, moves: Vec::new(), label: None };

    /// The position after the opening; `None` if no game can be played from its start.
    pub fn reached(&self) -> Option<Playable> {
        let mut replay = Replay::new(&self.start)?;
        self.moves.iter().for_each(|mv| replay.play(*mv));
        Some(replay.playable())
    }
}

/// The first `wanted` openings of an order. The maximum number of openings in memory is twice
/// `wanted` or, if this is larger, [`MANY`].
struct Chosen {
    order: OpeningOrder,
    seed: u64,
    wanted: usize,
    met: u64,
    /// Openings with their sort keys.
    openings: Vec<((u64, u64), Opening)>,
}

impl Chosen {
    const fn new(order: OpeningOrder, seed: u64, wanted: usize) -> Chosen {
        Chosen { order, seed, wanted, met: 0, openings: Vec::new() }
    }

    /// Takes the next opening of the source. Returns false if no later opening can be chosen.
    fn add(&mut self, opening: Opening) -> bool {
        let first_by = match self.order {
            OpeningOrder::Sequential => 0,
            OpeningOrder::Random => random_number(self.seed, self.met),
        };
        self.openings.push(((first_by, self.met), opening));
        self.met += 1;
        if self.openings.len() >= self.wanted.saturating_mul(2).max(MANY) {
            self.drop_others();
        }
        self.order == OpeningOrder::Random || self.openings.len() < self.wanted
    }

    fn drop_others(&mut self) {
        if self.wanted < self.openings.len() {
            self.openings.select_nth_unstable_by_key(self.wanted, |(place, _)| *place);
            self.openings.truncate(self.wanted);
        }
    }

    fn in_order(mut self) -> Vec<Opening> {
        self.drop_others();
        self.openings.sort_unstable_by_key(|(place, _)| *place);
        self.openings.into_iter().map(|(_, opening)| opening).collect()
    }
}

/// Number of openings below which dropping unwanted openings is not worth the work.
const MANY: usize = 4096;
