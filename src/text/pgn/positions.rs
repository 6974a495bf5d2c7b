//! Positions out of games.

use std::ops::RangeInclusive;
use std::str::FromStr;

use crate::model::rules::Move;
use crate::model::{EpdRecord, Game, Opcode, Operand, Operation, Replay};
use crate::text::san;

/// Which positions of a game's main line are taken. Position n is the one after n plies, so the
/// start is position 0.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Positions {
    /// All, the start and the end included.
    #[default]
    All,
    /// The one in which the game ends.
    Final,
    /// Those with these numbers.
    Plies(RangeInclusive<u32>),
}

/// Why a text names no positions.
#[derive(Copy, Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("expected `all`, `final`, or plies such as `10`, `10..20`, `10..` or `..20`")]
pub struct PositionsError;

impl std::fmt::Display for Positions {
    /// What [`Positions::from_str`] reads.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Positions::All => f.write_str("all"),
            Positions::Final => f.write_str("final"),
            Positions::Plies(plies) => write!(f, "{}..{}", plies.start(), plies.end()),
        }
    }
}

impl FromStr for Positions {
    type Err = PositionsError;

    /// Reads `all`, `final`, `N`, `A..B`, `A..` or `..B`; both ends count.
    fn from_str(text: &str) -> Result<Positions, PositionsError> {
        let number = |text: &str| text.trim().parse().map_err(|_| PositionsError);
        match text {
            "all" => return Ok(Positions::All),
            "final" => return Ok(Positions::Final),
            _ => {}
        }
        let text = text.strip_prefix("ply").unwrap_or(text).trim();
        let (first, last) = match text.split_once("..") {
            None => (number(text)?, number(text)?),
            Some(("", "")) => return Err(PositionsError),
            Some(("", last)) => (0, number(last)?),
            Some((first, "")) => (number(first)?, u32::MAX),
            Some((first, last)) => (number(first)?, number(last)?),
        };
        if first > last { Err(PositionsError) } else { Ok(Positions::Plies(first..=last)) }
    }
}

/// What is taken out of games.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PositionOptions {
    /// Which positions.
    pub positions: Positions,
    /// Tags as `ptp`. Names that are no identifiers of at most 15 characters stay behind.
    pub tags: bool,
    /// The tags `ECO`, `NIC`, `Opening`, `Variation`, `SubVariation` as `eco`, `nic`, `v0`, `v1`,
    /// `v2` (PGN-29).
    pub names: bool,
}

/// The positions of a game's main line as records with `hmvc`, `fmvn` and, unless it is the last,
/// `sm`, the move that was played. Quotes in strings become apostrophes (EPD-07).
///
/// ```
/// use epdb::text::pgn::{self, GameReader, PgnReadOptions, PositionOptions};
/// let mut reader = GameReader::new(&b"1. e4 c5 *"[..], PgnReadOptions::default());
/// let read = reader.next_game()?.expect("a game");
/// let game = read.game.expect("a good one");
/// let records: Vec<_> = pgn::positions(game, &PositionOptions::default()).collect();
/// assert_eq!(records.len(), 3);
/// assert_eq!(
///     epdb::format_epd(&records[1]),
///     b"rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq e3 fmvn 1; hmvc 0; sm c5;"
/// );
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn positions<'g>(
    game: &'g Game,
    options: &PositionOptions,
) -> impl Iterator<Item = EpdRecord> + use<'g> {
    let last = game.main_line().count() as u32;
    let wanted = match &options.positions {
        Positions::All => 0..=last,
        Positions::Final => last..=last,
        Positions::Plies(range) => range.clone(),
    };
    let common = common_operations(game, options);
    let start = EpdRecord::new(game.start().position);
    let mut replay = Replay::new(game.start());
    let mut moves = game.main_line();
    (0..=last.min(*wanted.end())).filter_map(move |ply| {
        let mv = moves.next();
        let record = wanted.contains(&ply).then(|| match &replay {
            Some(replay) => record(replay, mv, &common),
            None => with_operations(start.clone(), &common),
        });
        if let (Some(replay), Some(mv)) = (&mut replay, mv) {
            replay.play(mv);
        }
        record
    })
}

fn record(replay: &Replay, mv: Option<Move>, common: &[Operation]) -> EpdRecord {
    let playable = replay.playable();
    let mut record = EpdRecord::new(*playable.position());
    let number = |name, value: u32| operation(name, vec![Operand::Integer(value.into())]);
    let played = mv.map(|mv| Operand::Move { mv, san: san::write(&playable, mv) });
    let own = [
        number("fmvn", replay.fullmove_number()),
        number("hmvc", replay.halfmove_clock()),
        played.and_then(|operand| operation("sm", vec![operand])),
    ];
    for operation in own.into_iter().flatten() {
        record.set(operation);
    }
    with_operations(record, common)
}

fn with_operations(mut record: EpdRecord, operations: &[Operation]) -> EpdRecord {
    for operation in operations {
        record.set(operation.clone());
    }
    record
}

fn operation(name: &str, operands: Vec<Operand>) -> Option<Operation> {
    Some(Operation { opcode: Opcode::new(name.as_bytes())?, operands })
}

fn common_operations(game: &Game, options: &PositionOptions) -> Vec<Operation> {
    const NAMES: [(&str, &str); 5] = [
        ("eco", "ECO"),
        ("nic", "NIC"),
        ("v0", "Opening"),
        ("v1", "Variation"),
        ("v2", "SubVariation"),
    ];
    let mut operations = Vec::new();
    if options.names {
        operations.extend(
            NAMES
                .into_iter()
                .filter_map(|(opcode, tag)| operation(opcode, vec![string(game.tag(tag)?)])),
        );
    }
    if options.tags {
        let operands: Vec<Operand> = game
            .tags()
            .filter(|(name, _)| game.has_tag(name) && Opcode::new(name.as_bytes()).is_some())
            .flat_map(|(name, value)| [Operand::token(name), string(value)])
            .collect();
        operations.extend(operation("ptp", operands).filter(|ptp| !ptp.operands.is_empty()));
    }
    operations
}

fn string(text: &str) -> Operand {
    Operand::string(text.replace('"', "'"))
}
