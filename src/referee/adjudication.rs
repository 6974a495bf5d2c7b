//! Rules that decide games before their end.

use epdb_chess::model::score::Score;
use epdb_chess::model::{Color, GameResult};

/// The rules that decide games before their end. By default there are no such rules.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug)]
pub struct AdjudicationRules {
    /// The rule by which a player in a lost position loses.
    pub resign: Option<ResignRule>,
    /// The rule by which a level game is drawn: a game whose scores stay near 0.
    pub draw: Option<DrawRule>,
    /// A game is drawn after this number of moves of each side, including the moves of its opening. If the
    /// opening is a position, the move number of this position does not count.
    pub max_moves: Option<u32>,
}

/// A player in a lost position loses: its scores are at most `-score` for `moves` moves.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct ResignRule {
    /// Number of consecutive moves of the player with scores of at most `-score`.
    pub moves: u32,
    /// The losing score in centipawns, without its minus sign: the player loses at scores of `-score` or
    /// less.
    pub score: u32,
    /// True if the opponent's scores must also be at least `score` for `moves` moves.
    pub two_sided: bool,
}

/// A level game is drawn: a game whose scores stay near 0.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct DrawRule {
    /// Minimum number of moves of each side, counted as for [`AdjudicationRules::max_moves`].
    pub from_move: u32,
    /// Number of consecutive moves of each side with scores near 0.
    pub moves: u32,
    /// Maximum distance from 0, in centipawns, of a score that counts as near 0.
    pub score: u32,
}

impl Default for ResignRule {
    /// The default rule: a player loses if, for three moves, the scores of both players say that this player
    /// is at least 10 pawns behind.
    fn default() -> ResignRule {
        ResignRule { moves: 3, score: 1000, two_sided: true }
    }
}

impl Default for DrawRule {
    /// The default rule: from move 40 on, a game is drawn after eight moves with scores within a
    /// tenth of a pawn of 0.
    fn default() -> DrawRule {
        DrawRule { from_move: 40, moves: 8, score: 10 }
    }
}

/// Follows one game move by move.
///
/// ```
/// use epdb_chess::model::score::Score::Centipawns;
/// use epdb_chess::model::{Color, GameResult};
/// use epdb_referee::{AdjudicationRules, Adjudicator, ResignRule};
/// let resign = Some(ResignRule { moves: 2, score: 500, two_sided: false });
/// let mut adjudicator = Adjudicator::new(AdjudicationRules { resign, ..Default::default() });
/// assert_eq!(adjudicator.judge(1, Color::White, Some(Centipawns(-510))), None);
/// assert_eq!(adjudicator.judge(2, Color::Black, Some(Centipawns(480))), None);
/// let result = adjudicator.judge(3, Color::White, Some(Centipawns(-700)));
/// assert_eq!(result, Some(GameResult::BlackWins));
/// ```
#[derive(Clone, Debug)]
pub struct Adjudicator {
    rules: AdjudicationRules,
    /// Numbers of consecutive moves of White and of Black with losing scores, up to the last move.
    losing: [u32; 2],
    /// Numbers of consecutive moves of White and of Black with winning scores.
    winning: [u32; 2],
    /// Numbers of consecutive moves of White and of Black with level scores.
    level: [u32; 2],
}

impl Adjudicator {
    /// Begins to follow a game.
    pub const fn new(rules: AdjudicationRules) -> Adjudicator {
        Adjudicator { rules, losing: [0; 2], winning: [0; 2], level: [0; 2] }
    }

    /// Takes a move and returns the result if the move decides the game. `ply` counts from 1 and
    /// includes the opening. `score` is the mover's evaluation of the position before the move.
    ///
    /// A move without a score, such as a book move, sets the counts of its player to 0.
    pub fn judge(&mut self, ply: u32, mover: Color, score: Option<Score>) -> Option<GameResult> {
        let score = score.and_then(centipawns);
        let count = |row: &mut u32, goes_on: bool| *row = if goes_on { *row + 1 } else { 0 };
        let own = mover as usize;
        let other = (!mover) as usize;
        if let Some(rule) = self.rules.resign {
            let edge = i64::from(rule.score);
            count(&mut self.losing[own], score.is_some_and(|score| score <= -edge));
            count(&mut self.winning[own], score.is_some_and(|score| score >= edge));
            let has_lost = |loser: usize, winner: usize| {
                self.losing[loser] >= rule.moves
                    && (!rule.two_sided || self.winning[winner] >= rule.moves)
            };
            if has_lost(own, other) {
                return Some(GameResult::win_of(!mover));
            }
            if has_lost(other, own) {
                return Some(GameResult::win_of(mover));
            }
        }
        if let Some(rule) = self.rules.draw {
            let edge = u64::from(rule.score);
            count(&mut self.level[own], score.is_some_and(|score| score.unsigned_abs() <= edge));
            if ply / 2 >= rule.from_move && self.level.iter().all(|row| *row >= rule.moves) {
                return Some(GameResult::Draw);
            }
        }
        let is_too_long = self.rules.max_moves.is_some_and(|max_moves| ply / 2 >= max_moves);
        is_too_long.then_some(GameResult::Draw)
    }
}

/// Returns a score as a number. Mates are the largest and the smallest numbers; `None` is an
/// illegal position.
const fn centipawns(score: Score) -> Option<i64> {
    match score {
        Score::Centipawns(value) => Some(value as i64),
        Score::Mates(_) => Some(i64::MAX),
        Score::Mated(_) | Score::Checkmated => Some(i64::MIN),
        Score::Illegal => None,
    }
}
