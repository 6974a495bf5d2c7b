//! Lines of play of a repertoire, for training.

use foldhash::{HashMap, HashMapExt};

use super::graph::{Branch, Node, Repertoire};
use super::tree::{begin, judge, put_comments, remark};
use super::{End, MAX_PLIES};
use epdb_chess::error::{Error, Result};
use epdb_chess::model::rules::Move;
use epdb_chess::model::{
    BuildError, Color, Counters, Game, GameBuilder, Position, Replay, San, Start, TallyPart,
};
use epdb_chess::text::san;

/// A line from a root to the end of the repertoire.
#[derive(Clone, PartialEq, Debug)]
pub struct TrainingLine {
    /// The first position of the line.
    pub root: Node,
    /// The positions with the moves made there.
    pub moves: Vec<(Node, Move)>,
    /// Share of the games from the first root in which the line is played, 0 to 1. The own side is assumed to
    /// play all its candidates equally often, and the other side to play as in the library. In positions
    /// without games in the library, the other side plays all its moves equally often. For lines from other
    /// roots the share is 0.
    pub share: f64,
}

/// A position in which the own side has to move.
#[derive(Clone, PartialEq, Debug)]
pub struct Card {
    /// The position.
    pub position: Position,
    /// The counters of the position in the most frequent line to it.
    pub counters: Counters,
    /// The most frequent line to the position, from the root of the line.
    pub line: Vec<San>,
    /// The set-up position from which the line begins; `None` for the first root.
    pub set_up: Option<Position>,
    /// The candidates, the main one first.
    pub answers: Vec<San>,
    /// The comments of the position, and those of the position after the main candidate.
    pub comments: Vec<String>,
}

impl Repertoire {
    /// The lines of play of a side, the most frequent first. A line ends when it repeats a
    /// position.
    ///
    /// # Errors
    /// There are more than `max_lines` lines.
    pub fn training_lines(
        &self,
        roots: &[Position],
        side: Color,
        tallies: &HashMap<Node, TallyPart>,
        max_lines: usize,
    ) -> Result<Vec<TrainingLine>> {
        let mut lines = Vec::new();
        let mut share = 1.0;
        for root in roots.iter().filter_map(|root| self.find(root)) {
            let mut moves: Vec<(Node, Move)> = Vec::new();
            let mut open = vec![(0, None, root, share)];
            while let Some((len, last, node, share)) = open.pop() {
                moves.truncate(len);
                moves.extend(last);
                let is_repeated = moves.iter().any(|(before, _)| *before == node);
                let next = if is_repeated || moves.len() >= MAX_PLIES {
                    Vec::new()
                } else {
                    self.next_moves(node, side, tallies)
                };
                if next.is_empty() && !moves.is_empty() {
                    if lines.len() == max_lines {
                        return Err(Error::new(format!(
                            "the repertoire has more than {max_lines} lines of play"
                        )));
                    }
                    lines.push(TrainingLine { root, moves: moves.clone(), share });
                }
                let len = moves.len();
                let steps = next.iter().rev();
                open.extend(
                    steps.map(|(mv, to, part)| (len, Some((node, *mv)), *to, share * part)),
                );
            }
            share = 0.0;
        }
        lines.sort_by(|one, other| other.share.total_cmp(&one.share));
        Ok(lines)
    }

    /// The moves of a position, with the positions after them and the shares of the games that play
    /// them.
    fn next_moves(
        &self,
        node: Node,
        side: Color,
        tallies: &HashMap<Node, TallyPart>,
    ) -> Vec<(Move, Node, f64)> {
        let own: Vec<&Branch> = self.candidates(node).collect();
        let each = 1.0 / own.len() as f64;
        let played = match tallies.get(&node) {
            Some(tally) if !self.is_turn_of(side, node) && !own.is_empty() => {
                self.played(node, tally)
            }
            _ => Vec::new(),
        };
        let all: u64 = played.iter().map(|one| one.games).sum();
        if all == 0 {
            return own.iter().map(|branch| (branch.mv, branch.to, each)).collect();
        }
        let part = |games: u64| games as f64 / all as f64;
        let games_of = |mv: Move| played.iter().find(|one| one.mv == mv).map_or(0, |one| one.games);
        let mut next: Vec<(Move, Node, f64)> =
            own.iter().map(|branch| (branch.mv, branch.to, part(games_of(branch.mv)))).collect();
        // Transpositions into the repertoire.
        for one in &played {
            if let End::Answered(to) = one.end
                && self.goes_on(to)
                && !own.iter().any(|branch| branch.mv == one.mv)
            {
                next.push((one.mv, to, part(one.games)));
            }
        }
        next
    }

    /// Makes a game of a line. The game has these tags, `comment` before the first move, and the
    /// comments and NAGs of the repertoire.
    ///
    /// # Errors
    /// The tags or comments cannot be part of a game.
    pub fn line_game(
        &self,
        line: &TrainingLine,
        tags: &[(String, String)],
        comment: &str,
    ) -> Result<Game> {
        self.build(line, tags, comment).map_err(Error::from_cause)
    }

    fn build(
        &self,
        line: &TrainingLine,
        tags: &[(String, String)],
        comment: &str,
    ) -> Result<Game, BuildError> {
        let mut game = GameBuilder::new();
        begin(&mut game, &self.start(line.root), tags)?;
        game.add_comment(comment)?;
        remark(&mut game, self.place(line.root))?;
        put_comments(&mut game, self.place(line.root))?;
        let ends = line.moves.iter().skip(1).map(|(node, _)| Some(*node)).chain([None]);
        for (&(node, mv), end) in line.moves.iter().zip(ends) {
            game.play(mv)?;
            let branch = self.place(node).branches.iter().find(|branch| branch.mv == mv);
            if let Some(branch) = branch {
                judge(&mut game, branch)?;
            }
            if let Some(end) = end.or(branch.map(|branch| branch.to)) {
                remark(&mut game, self.place(end))?;
                put_comments(&mut game, self.place(end))?;
            }
        }
        game.finish()
    }

    fn start(&self, root: Node) -> Start {
        let counters = Counters { halfmove_clock: 0, fullmove_number: 1 };
        Start { position: self.place(root).position, counters }
    }

    /// The positions in the lines in which `side` has to move. Those that most games reach come
    /// first.
    pub fn cards(&self, lines: &[TrainingLine], side: Color) -> Vec<Card> {
        // The share of a position, and the line and the ply of its first place.
        let mut shares: HashMap<Node, (f64, usize, usize)> = HashMap::new();
        for (number, line) in lines.iter().enumerate() {
            for (ply, (node, _)) in line.moves.iter().enumerate() {
                if self.is_turn_of(side, *node) {
                    shares.entry(*node).or_insert((0.0, number, ply)).0 += line.share;
                }
            }
        }
        let mut nodes: Vec<_> = shares.into_iter().collect();
        nodes.sort_by(|(_, (share, number, ply)), (_, (other_share, other_number, other_ply))| {
            let order = other_share.total_cmp(share);
            order.then(ply.cmp(other_ply)).then(number.cmp(other_number))
        });
        let first = lines.first().map(|line| line.root);
        let card = |(node, (_, number, ply)): (Node, (f64, usize, usize))| {
            let line = &lines[number];
            let mut replay = Replay::new(&self.start(line.root))?;
            let mut moves = Vec::new();
            for (_, mv) in &line.moves[..ply] {
                moves.push(san::format(&replay.playable(), *mv));
                replay.play(*mv);
            }
            let place = self.place(node);
            let after = self.candidates(node).next().map(|branch| self.place(branch.to));
            let comments = place.comments.iter().chain(after.iter().flat_map(|it| &it.comments));
            Some(Card {
                position: place.position,
                counters: Counters {
                    halfmove_clock: replay.halfmove_clock(),
                    fullmove_number: replay.fullmove_number(),
                },
                line: moves,
                set_up: (Some(line.root) != first).then(|| self.place(line.root).position),
                answers: self.names(node, self.candidates(node)),
                comments: comments.cloned().collect(),
            })
        };
        nodes.into_iter().filter_map(card).collect()
    }
}
