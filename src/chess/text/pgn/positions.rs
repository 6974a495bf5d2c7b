//! The positions of a game, as records.

use std::ops::RangeInclusive;
use std::str::FromStr;

use super::evaluation::{CommentEvaluation, PositionScore};
use super::game_position::{GamePosition, Nodes};
use super::tags::OPCODES;
use crate::model::rules::Move;
use crate::model::{
    Element, Elements, EpdRecord, Game, GameNode, Opcode, Operand, Operation, Replay,
};
use crate::text::san;

/// The positions that are taken from each line of a game, by number. Position n is the position
/// after n plies, so position 0 is the start of the game.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Positions {
    /// All positions, including the first and the last.
    #[default]
    All,
    /// The last position.
    Final,
    /// The positions with these numbers.
    Plies(RangeInclusive<u32>),
}

/// The error for a text that is not a selection of positions.
#[derive(Copy, Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("expected `all`, `final`, or plies such as `10`, `10..20`, `10..` or `..20`")]
pub struct PositionsError;

impl std::fmt::Display for Positions {
    /// Writes the text that [`Positions::from_str`] reads.
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

    /// Parses `all`, `final`, `N`, `A..B`, `A..` or `..B`. Both ends are included.
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

/// Settings of [`positions`]. The default is all positions of the main line, without tags, names and
/// evaluations.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PositionOptions {
    /// The positions of each game that become records.
    pub positions: Positions,
    /// True if positions of variations are taken too: the position after each move of a variation.
    pub variations: bool,
    /// True if tags are written as `ptp`. A tag is left out if its name is not an identifier or has
    /// more than 15 characters.
    pub tags: bool,
    /// True if the tags `ECO`, `NIC`, `Opening`, `Variation`, `SubVariation` are written as `eco`,
    /// `nic`, `v0`, `v1`, `v2`.
    pub names: bool,
    /// True if evaluations in comments are written as `ce`, from the view of the side to move, and
    /// their depth as `acd`.
    ///
    /// Two kinds of evaluations are read. `[%eval 0.34]` after a move is White's view of the
    /// position after that move. `+0.35/20 1.2s` after a move, as cutechess and fastchess write it,
    /// is the player's view of the position before that move. If a position has both kinds, the
    /// first kind counts.
    pub evaluations: bool,
}

/// Returns the positions of a game as records with `hmvc` and `fmvn`. Each record also has the next
/// move of its line as `sm`, except at the end of the line. Quotes in strings become apostrophes.
///
/// A line ends before its first null move, because the positions after it were never on a board.
/// The position before a null move has no `sm`.
///
/// A position is returned when its line continues or ends. So the positions of a variation come
/// before the position after the move that the variation replaces.
///
/// ```
/// use epdb_chess::text::pgn::{self, GameReader, PgnReadOptions, PositionOptions};
/// let mut reader = GameReader::new(&b"1. e4 c5 *"[..], PgnReadOptions::default());
/// let read = reader.next_game()?.expect("a game");
/// let game = read.game.expect("a good one");
/// let records: Vec<_> = pgn::positions(game, &PositionOptions::default()).collect();
/// assert_eq!(records.len(), 3);
/// assert_eq!(
///     epdb_chess::format_epd(&records[1]),
///     b"rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq e3 fmvn 1; hmvc 0; sm c5;"
/// );
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn positions<'g>(
    game: &'g Game,
    options: &PositionOptions,
) -> impl Iterator<Item = EpdRecord> + use<'g> {
    game_positions(game, options).map(|(record, _)| record)
}

/// Like [`positions`], but each record comes with its place in the game.
pub fn game_positions<'g>(
    game: &'g Game,
    options: &PositionOptions,
) -> impl Iterator<Item = (EpdRecord, GamePosition<'g>)> + use<'g> {
    let elements = game.elements();
    let head = elements.node();
    Walk {
        game,
        elements,
        replay: Replay::new(game.start()),
        wanted: options.positions.clone(),
        variations: options.variations,
        common: common_operations(game, options),
        takes_evaluations: options.evaluations,
        lines: vec![Line { is_at_branch: false, evaluation: None, last: head, previous: None }],
        is_over: false,
    }
}

/// Returns the last position of the main line, with its counters. If the line has a null move, this
/// is the position before the first null move.
pub fn final_position(game: &Game) -> EpdRecord {
    last_position(game).0
}

/// Like [`final_position`], with the place in the game.
pub fn last_position(game: &Game) -> (EpdRecord, GamePosition<'_>) {
    let options = PositionOptions { positions: Positions::Final, ..Default::default() };
    let last = game_positions(game, &options).next();
    last.unwrap_or_else(|| (EpdRecord::new(game.start().position), game.into()))
}

/// Counts of positions that [`positions`] leaves out.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct PositionsLeftOut {
    /// Number of positions of variations.
    pub of_variations: u64,
    /// Number of positions after null moves, in lines that are taken.
    pub behind_null_moves: u64,
}

/// Counts the positions of a game that [`positions`] leaves out with these options.
pub fn positions_left_out(game: &Game, options: &PositionOptions) -> PositionsLeftOut {
    let mut left_out = PositionsLeftOut::default();
    if (options.variations || !game.has_variations()) && !game.has_null_move() {
        return left_out;
    }
    let Some(mut replay) = Replay::new(game.start()) else { return left_out };
    let mut depth = 0_u32;
    let mut note = |replay: &Replay, depth: u32| {
        if depth > 0 && !options.variations {
            left_out.of_variations += 1;
        } else {
            left_out.behind_null_moves += u64::from(replay.is_behind_null_move());
        }
    };
    for element in game.elements() {
        match element {
            Element::VariationBegin => {
                depth += 1;
                replay.begin_variation();
                continue;
            }
            Element::VariationEnd => {
                if options.positions == Positions::Final {
                    note(&replay, depth);
                }
                depth -= 1;
                replay.end_variation();
                continue;
            }
            Element::Move(mv) => replay.play(mv),
            Element::NullMove => replay.play_null_move(),
            Element::Nag(_) | Element::Comment(_) | Element::Escape(_) => continue,
        }
        if options.positions.has_ply(replay.ply()) {
            note(&replay, depth);
        }
    }
    if options.positions == Positions::Final {
        note(&replay, depth);
    }
    left_out
}

/// Counts the evaluations in comments that [`positions`] finds but cannot read, with these options.
pub fn evaluations_unread(game: &Game, options: &PositionOptions) -> u64 {
    if !options.evaluations {
        return 0;
    }
    let mut depth = 0_u32;
    let mut count = 0;
    for element in game.elements() {
        match element {
            Element::VariationBegin => depth += 1,
            Element::VariationEnd => depth = depth.saturating_sub(1),
            Element::Comment(text) if depth == 0 || options.variations => {
                count += u64::from(CommentEvaluation::last_in(text) == Some(None));
                count += u64::from(PositionScore::from_engine_comment(text) == Some(None));
            }
            _ => {}
        }
    }
    count
}

impl Positions {
    /// Whether the position after this number of plies is taken, even if it ends no line.
    fn has_ply(&self, ply: u32) -> bool {
        match self {
            Positions::All => true,
            Positions::Final => false,
            Positions::Plies(range) => range.contains(&ply),
        }
    }

    /// Whether a position beyond this ply can still be selected.
    fn goes_on_after(&self, ply: u32) -> bool {
        !matches!(self, Positions::Plies(range) if *range.end() < ply)
    }
}

/// Walks through the lines of a game and returns the positions that are taken.
struct Walk<'g> {
    game: &'g Game,
    elements: Elements<'g>,
    replay: Option<Replay>,
    wanted: Positions,
    variations: bool,
    common: Vec<Operation>,
    takes_evaluations: bool,
    /// The main line and the open variations. The innermost variation is the last.
    lines: Vec<Line<'g>>,
    is_over: bool,
}

#[derive(Copy, Clone)]
struct Line<'g> {
    /// True if this line has no move yet, so that the current position belongs to its parent line.
    is_at_branch: bool,
    /// The evaluation of the current position, in a comment after the last move.
    evaluation: Option<CommentEvaluation>,
    /// The move that led to the current position, or the head of the line.
    last: GameNode<'g>,
    /// The move before `last`, if there is one.
    previous: Option<GameNode<'g>>,
}

impl<'g> Iterator for Walk<'g> {
    type Item = (EpdRecord, GamePosition<'g>);

    fn next(&mut self) -> Option<Self::Item> {
        while !self.is_over {
            let found = match self.elements.next() {
                Some(Element::Move(mv)) => self.play(mv),
                Some(Element::NullMove) => self.play_null_move(),
                Some(Element::VariationBegin) if self.variations => {
                    self.begin_variation();
                    self.replay.iter_mut().for_each(Replay::begin_variation);
                    None
                }
                Some(Element::VariationBegin) => {
                    self.pass_variation();
                    None
                }
                Some(Element::VariationEnd) => {
                    let last = self.leave(None);
                    self.lines.pop();
                    self.replay.iter_mut().for_each(Replay::end_variation);
                    last
                }
                Some(Element::Comment(text)) => {
                    self.take_evaluation(text);
                    None
                }
                Some(Element::Nag(_) | Element::Escape(_)) => None,
                None => {
                    self.is_over = true;
                    self.leave(None)
                }
            };
            if found.is_some() {
                return found;
            }
        }
        None
    }
}

impl<'g> Walk<'g> {
    /// Plays a move and returns the position before it.
    fn play(&mut self, mv: Move) -> Option<(EpdRecord, GamePosition<'g>)> {
        let before = self.leave(Some(mv));
        if let Some(line) = self.lines.last_mut() {
            let previous = Some(line.last);
            let last = self.elements.node();
            *line = Line { is_at_branch: false, evaluation: None, last, previous };
        }
        if let Some(replay) = &mut self.replay {
            replay.play(mv);
            self.is_over = self.lines.len() == 1 && !self.wanted.goes_on_after(replay.ply());
        }
        before
    }

    /// Begins a variation, which replaces the last move of the current line.
    fn begin_variation(&mut self) {
        let node = self.elements.node();
        let last = self.lines.last().and_then(|line| line.previous).unwrap_or(node);
        self.lines.push(Line { is_at_branch: true, evaluation: None, last, previous: None });
    }

    /// Plays a null move, and returns the position before it as the last position of its line.
    fn play_null_move(&mut self) -> Option<(EpdRecord, GamePosition<'g>)> {
        let end = self.leave(None);
        if let Some(line) = self.lines.last_mut() {
            let previous = Some(line.last);
            *line = Line { is_at_branch: false, last: self.elements.node(), previous, ..*line };
        }
        self.replay.iter_mut().for_each(Replay::play_null_move);
        end
    }

    /// Returns the record of the current position; `None` if the options do not select this
    /// position. `mv` is the move that is played next in this line; `None` at the end of the line.
    fn leave(&self, mv: Option<Move>) -> Option<(EpdRecord, GamePosition<'g>)> {
        let line = self.lines.last()?;
        if line.is_at_branch || self.replay.as_ref().is_some_and(Replay::is_behind_null_move) {
            return None;
        }
        let ply = self.replay.as_ref().map_or(0, Replay::ply);
        let is_last = self.wanted == Positions::Final && mv.is_none();
        if !is_last && !self.wanted.has_ply(ply) {
            return None;
        }
        let position = self.replay.as_ref().map_or(&self.game.start().position, Replay::position);
        let mut score = line.evaluation.and_then(|it| it.seen_by(position.turn()));
        if score.is_none() && mv.is_some() {
            score = self.score_of_mover();
        }
        let mut operations = Vec::with_capacity(self.common.len() + MAX_OPERATIONS);
        operations.extend_from_slice(&self.common);
        for (opcode, value) in score.iter().flat_map(PositionScore::operations) {
            operations.push(integer(opcode, value));
        }
        let record = match &self.replay {
            Some(replay) => record(replay, mv, operations),
            None => EpdRecord::new(*position).with_operations(operations),
        };
        let nodes = Nodes { last: line.last, previous: line.previous };
        Some((record, GamePosition::new(self.game, nodes)))
    }

    /// Stores the evaluation of the current position if a comment has one; the last one counts.
    fn take_evaluation(&mut self, comment: &str) {
        if self.takes_evaluations
            && let Some(line) = self.lines.last_mut()
            && let Some(Some(evaluation)) = CommentEvaluation::last_in(comment)
        {
            line.evaluation = Some(evaluation);
        }
    }

    /// Returns the evaluation of the current position in the comments after the next move, which
    /// has just been read. The last evaluation counts.
    fn score_of_mover(&self) -> Option<PositionScore> {
        if !self.takes_evaluations {
            return None;
        }
        let is_note = |element: &Element<'_>| {
            matches!(element, Element::Nag(_) | Element::Comment(_) | Element::Escape(_))
        };
        let score = |element| match element {
            Element::Comment(text) => PositionScore::from_engine_comment(text).flatten(),
            _ => None,
        };
        self.elements.clone().take_while(is_note).filter_map(score).last()
    }

    /// Skips a variation and the variations in it.
    fn pass_variation(&mut self) {
        let mut depth = 1_usize;
        while depth > 0 {
            match self.elements.next() {
                Some(Element::VariationBegin) => depth += 1,
                Some(Element::VariationEnd) => depth -= 1,
                Some(_) => {}
                None => return,
            }
        }
    }
}

/// Maximum number of operations of a record that depend on the position: counters, move, score and depth.
const MAX_OPERATIONS: usize = 5;

/// The record of a position with these operations, its counters and the move that is played there.
pub(super) fn record(
    replay: &Replay,
    mv: Option<Move>,
    mut operations: Vec<Operation>,
) -> EpdRecord {
    let playable = replay.playable();
    operations.push(integer(Opcode::FMVN, replay.fullmove_number().into()));
    operations.push(integer(Opcode::HMVC, replay.halfmove_clock().into()));
    if let Some(mv) = mv {
        let operands = vec![Operand::Move { mv, san: san::format(&playable, mv) }];
        operations.push(Operation { opcode: Opcode::SM, operands });
    }
    EpdRecord::new(*playable.position()).with_operations(operations)
}

fn integer(opcode: Opcode, value: i128) -> Operation {
    Operation { opcode, operands: vec![Operand::Integer(value)] }
}

fn common_operations(game: &Game, options: &PositionOptions) -> Vec<Operation> {
    let mut operations = Vec::new();
    if options.names {
        operations.extend(OPCODES.into_iter().filter_map(|(tag, opcode)| {
            Some(Operation { opcode, operands: vec![string(game.tag(tag)?)] })
        }));
    }
    if options.tags {
        let operands: Vec<Operand> = game
            .tags()
            .filter(|(name, _)| game.has_tag(name) && Opcode::new(name.as_bytes()).is_ok())
            .flat_map(|(name, value)| [Operand::token(name), string(value)])
            .collect();
        if !operands.is_empty() {
            operations.push(Operation { opcode: Opcode::PTP, operands });
        }
    }
    operations
}

fn string(text: &str) -> Operand {
    Operand::string(text.replace('"', "'"))
}
