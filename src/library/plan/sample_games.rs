//! Games for measuring. They share their openings, as games of people do.

use std::fmt::Write;

use crate::codec::key::position_key;
use crate::codec::ordinal;
use crate::model::Position;
use crate::model::rules::Playable;
use crate::text::san;

/// Plies after which all legal moves are equally likely.
const OPENING_PLIES: usize = 40;
/// The most frequent move of an opening position is played in this number of 16 games. The next move
/// is played in the same share of the other games, and so on.
const LIKELY: u64 = 13;

/// A generator of PGN games: the same games on every machine. Each position of an opening has an order
/// of its moves, from often to rarely played.
///
/// ```
/// use epdb::library::plan::SampleGames;
/// let text: String = SampleGames::new(70).take(2).collect();
/// assert_eq!(text.matches("[Event ").count(), 2);
/// ```
#[derive(Clone, Debug)]
pub struct SampleGames {
    plies: usize,
    games: u64,
    state: u64,
}

impl SampleGames {
    /// Games of this many plies on average.
    pub const fn new(plies: usize) -> SampleGames {
        SampleGames { plies, games: 0, state: 1 }
    }

    /// The next number below `limit`.
    fn below(&mut self, limit: u64) -> u64 {
        self.state = self
            .state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.state >> 33) % limit.max(1)
    }

    /// The place of a move in the order of all moves of a position. The first moves are played
    /// often.
    fn rank(&mut self, moves: usize, ply: usize) -> usize {
        if ply >= OPENING_PLIES {
            return self.below(moves as u64) as usize;
        }
        (0..moves).find(|_| self.below(16) < LIKELY).unwrap_or(0)
    }
}

impl Iterator for SampleGames {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        self.games += 1;
        let (number, elo) = (self.games, 2000 + self.below(800));
        let result = ["1-0", "0-1", "1/2-1/2"][self.below(3) as usize];
        let mut text = format!(
            "[Event \"Sample\"]\n[Site \"?\"]\n[Date \"2000.01.01\"]\n[Round \"{number}\"]\n\
             [White \"W{number}\"]\n[Black \"B{number}\"]\n[Result \"{result}\"]\n\
             [WhiteElo \"{elo}\"]\n\n"
        );
        let plies = self.plies / 2 + self.below(self.plies as u64 + 1) as usize;
        let mut position = Position::START;
        for ply in 0..plies {
            let Ok(playable) = Playable::new(&position) else { break };
            let mut moves = ordinal::list(&playable);
            if moves.is_empty() {
                break;
            }
            if ply < OPENING_PLIES {
                let turn = position_key(&position) as usize % moves.len();
                moves.rotate_left(turn);
            }
            let mv = moves[self.rank(moves.len(), ply)];
            if ply % 2 == 0 {
                // A text never fails to grow.
                let _ = write!(text, "{}. ", ply / 2 + 1);
            }
            text += &format!("{} ", san::format(&playable, mv));
            position = *playable.after(mv).position();
        }
        text += result;
        text += "\n\n";
        Some(text)
    }
}
