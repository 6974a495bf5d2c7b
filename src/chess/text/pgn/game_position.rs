//! Clocks and evaluations in the comments of a game, by position.

use super::evaluation::{CommentEvaluation, EngineComment, PositionScore};
use super::time::{command_ms, increment_ms, leading_time_ms, time_of_each_move_ms, timestamp_ms};
use crate::model::rules::Move;
use crate::model::score::child_to_parent;
use crate::model::{Color, Game, GameNode};

/// A position of a game, with the comments about the position and about its next move.
///
/// The mover is the side to move, and its move is the next move of the line. The comments are
/// parsed only when a value is requested.
///
/// ```
/// use epdb_chess::model::Color;
/// use epdb_chess::text::pgn::{self, GameReader, PgnReadOptions, PositionOptions};
/// let text = "1. e4 {[%eval 0.3] [%clk 0:02:59.5]} e5 {[%eval 0.25] [%clk 0:02:58]} *";
/// let mut reader = GameReader::new(text.as_bytes(), PgnReadOptions::default());
/// let read = reader.next_game()?.expect("a game");
/// let game = read.game.expect("a good one");
/// let (_, position) = pgn::game_positions(game, &PositionOptions::default()).nth(1).expect("1. e4");
/// assert_eq!(position.clock_ms(), Some(178_000));
/// assert_eq!(position.evaluation(Color::Black), Some(-30));
/// assert_eq!(position.evaluation_after(Color::Black), Some(-25));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Copy, Clone, Debug)]
pub struct GamePosition<'g> {
    game: &'g Game,
    nodes: Option<Nodes<'g>>,
}

/// The place of a position in a game, without the game: [`GamePosition::place`].
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct GamePlace {
    last: usize,
    previous: Option<usize>,
}

impl GamePlace {
    /// The position at this place of a game. The place must come from this game, or from a copy of
    /// it.
    pub fn in_game(self, game: &Game) -> GamePosition<'_> {
        let nodes = game.node(self.last).map(|last| Nodes {
            last,
            previous: self.previous.and_then(|number| game.node(number)),
        });
        GamePosition { game, nodes }
    }
}

/// The moves before a position; the head of the line if there is no such move.
#[derive(Copy, Clone, Debug)]
pub(super) struct Nodes<'g> {
    /// The move that led to the position.
    pub(super) last: GameNode<'g>,
    /// The move before `last`, which the mover made.
    pub(super) previous: Option<GameNode<'g>>,
}

impl<'g> From<&'g Game> for GamePosition<'g> {
    /// A position without comments.
    fn from(game: &'g Game) -> GamePosition<'g> {
        GamePosition { game, nodes: None }
    }
}

impl<'g> GamePosition<'g> {
    pub(super) const fn new(game: &'g Game, nodes: Nodes<'g>) -> GamePosition<'g> {
        GamePosition { game, nodes: Some(nodes) }
    }

    /// The game.
    pub const fn game(&self) -> &'g Game {
        self.game
    }

    /// The place in the game; `None` if the position is without comments.
    pub fn place(&self) -> Option<GamePlace> {
        let Nodes { last, previous } = self.nodes?;
        Some(GamePlace { last: last.number(), previous: previous.map(GameNode::number) })
    }

    fn next_move(&self) -> Option<GameNode<'g>> {
        self.nodes?.last.next_move()
    }

    /// The move that led to the position; `None` at the start.
    pub fn last_move(&self) -> Option<Move> {
        self.nodes?.last.played()
    }

    /// The moves that the line plays from here.
    pub fn next_moves(&self) -> impl Iterator<Item = Move> + use<'g> {
        let first = self.next_move();
        let nodes = std::iter::successors(first, |node| node.next_move());
        nodes.filter_map(GameNode::played)
    }

    /// The time that the mover has left after the next move: see [`clock_ms`].
    pub fn clock_ms(&self) -> Option<u64> {
        last_value(self.next_move()?, clock_ms)
    }

    /// The time that the mover used for the next move: see [`elapsed_ms`]. If the comments give
    /// only clocks, the time is the difference of the mover's last two clocks, plus the increment
    /// of `TimeControl`. The tag must have one period, such as `180+2`. If each move has the same
    /// time, as in `1/86400`, it is the difference between this time and the clock. Otherwise it is
    /// the time in `[%timestamp 25]` of chess.com, in tenths of a second.
    pub fn elapsed_ms(&self) -> Option<u64> {
        let next = self.next_move()?;
        last_value(next, elapsed_ms)
            .or_else(|| self.elapsed_by_clock())
            .or_else(|| last_value(next, timestamp_ms))
    }

    fn elapsed_by_clock(&self) -> Option<u64> {
        let time_control = self.game.tag("TimeControl")?;
        let after = self.clock_ms()?;
        if let Some(time) = time_of_each_move_ms(time_control) {
            return time.checked_sub(after);
        }
        let before = last_value(self.nodes?.previous?, clock_ms)?;
        before.checked_add(increment_ms(time_control)?)?.checked_sub(after)
    }

    /// The evaluation of the position as a value of `ce`. `turn` is the mover; the evaluation is
    /// from the mover's view.
    ///
    /// The evaluation is `[%eval 0.34]` in a comment on the previous move. If there is none, it is
    /// the engine's score in a comment on the next move.
    pub fn evaluation(&self, turn: Color) -> Option<i32> {
        let stated = last_value(self.nodes?.last, |comment| evaluation(comment, turn));
        stated.or_else(|| last_value(self.next_move()?, engine_score))
    }

    /// The evaluation of the position after the next move, as a value of `ce`. A positive value is good for
    /// `turn`, the side that makes the next move.
    pub fn evaluation_after(&self, turn: Color) -> Option<i32> {
        let next = self.next_move()?;
        last_value(next, |comment| evaluation(comment, turn)).or_else(|| {
            let reply = last_value(next.next_move()?, engine_score)?;
            child_to_parent(reply).ok().flatten()
        })
    }
}

fn last_value<T>(node: GameNode<'_>, value: impl Fn(&str) -> Option<T>) -> Option<T> {
    node.comments().filter_map(value).last()
}

/// The time that a player has left after a move, by the comment on the move: `[%clk 0:03:00]`, or
/// `tl=9.1s` as fastchess writes it.
pub fn clock_ms(comment: &str) -> Option<u64> {
    command_ms(comment, b"[%clk").or_else(|| {
        let mut parts = EngineComment::parse(comment)?.rest.split([',', ' ']);
        parts.find_map(|part| leading_time_ms(part.strip_prefix("tl=")?))
    })
}

/// The time that a player used for a move, by the comment on the move. The comment is `[%emt
/// 0:00:02.5]`, or an engine's comment as cutechess and fastchess write it: `+0.35/20 1.2s` or
/// `1.2s`.
pub fn elapsed_ms(comment: &str) -> Option<u64> {
    if let Some(time) = command_ms(comment, b"[%emt") {
        return Some(time);
    }
    if let Some(parts) = EngineComment::parse(comment) {
        return leading_time_ms(parts.rest);
    }
    let (time, _) = comment.split_once(',').unwrap_or((comment, ""));
    if time.contains(char::is_whitespace) { None } else { leading_time_ms(time) }
}

/// The value of `[%eval 0.34]` in a comment, as `ce` from the view of `turn`.
pub fn evaluation(comment: &str, turn: Color) -> Option<i32> {
    Some(CommentEvaluation::last_in(comment)??.seen_by(turn)?.ce())
}

/// The score of an engine in the comment on its move, `+0.35/20 1.2s`, as `ce` from its own view.
pub fn engine_score(comment: &str) -> Option<i32> {
    Some(PositionScore::from_engine_comment(comment)??.ce())
}
