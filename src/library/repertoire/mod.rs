//! Repertoires: the positions of annotated lines, each stored once, with their moves. The *own
//! side* is the side that plays the repertoire; its *candidates* in a position are the moves that
//! are not marked as bad.
//!
//! A [`Repertoire`] is built from games with variations and from records. It is written as records,
//! or as one game with variations ([`Repertoire::tree`]). [`report`](Repertoire::report),
//! [`coverage`](Repertoire::coverage) and [`Departures`] find gaps.
//!
//! In records, `bm` has the candidates of the own side, and `pm` has the first of them if there are
//! several. `am` has the moves that are marked as bad, and `replies` has the moves of the other
//! side.
//!
//! ```
//! use epdb_library::repertoire::{Repertoire, TreeOptions};
//! use epdb_chess::model::{Color, Position};
//! use epdb_chess::text::pgn::{GameReader, PgnReadOptions};
//!
//! let pgn = &b"1. e4 e5 (1... c5 2. Nf3) 2. Nf3 (2. Bc4 {slower}) *"[..];
//! let mut repertoire = Repertoire::new(1 << 20);
//! let mut reader = GameReader::new(pgn, PgnReadOptions::default());
//! while let Some(read) = reader.next_game()? {
//!     repertoire.add_game(read.game.expect("a good game"), Some(Color::White))?;
//! }
//! let lines: Vec<_> = repertoire.records(Color::White).map(|it| epdb_chess::format_epd(&it)).collect();
//! assert_eq!(lines.len(), 7);
//! assert!(lines[2].ends_with(b" w KQkq - bm Bc4 Nf3; pm Nf3;"));
//! let tree = repertoire.tree(&Position::START, &TreeOptions::default())?;
//! assert_eq!((tree.moves, tree.references), (6, 0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod chapters;
mod games;
mod graph;
mod paths;
mod records;
mod suite;
mod training;
mod tree;

pub use chapters::{Chapter, Chapters, orientation};
pub use graph::{Branch, Evaluation, Node, Place, Repertoire};
pub use paths::{Paths, numbered};
pub use records::record_tag;
pub use suite::{SuiteGame, suite_game, suite_record};
pub use training::{Card, TrainingLine};
pub use tree::{Tree, TreeOptions};

use std::cmp::Reverse;
use std::collections::BTreeMap;

use foldhash::HashMap;

use epdb_chess::model::rules::{Move, Playable, after};
use epdb_chess::model::{Color, Game, MoveTally, Position, Replay, San, TallyPart};
use epdb_chess::text::san;

/// The kind of a finding.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Part {
    /// A position in which the own side has several candidates: `moves`.
    Choice,
    /// A move `mv` of the other side that was played in the games of a library, but is not in the repertoire.
    /// `moves` are the moves of the repertoire.
    Unanswered,
    /// A position without a candidate and without an evaluation.
    Leaf,
    /// A position that no line reaches.
    Unreached,
    /// Games in which the own side played `mv` instead of the candidates `moves`.
    OwnMove,
    /// Games in which the other side played `mv`, which is not in the repertoire. `moves` are the moves of
    /// the repertoire.
    OtherMove,
    /// Games that continued with `mv` where a line ends.
    LineEnd,
}

/// A finding about a position.
#[derive(Clone, PartialEq, Debug)]
pub struct Finding {
    /// The kind of the finding.
    pub part: Part,
    /// The position.
    pub position: Position,
    /// A line to the position; `None` if no line leads to it.
    pub line: Option<Vec<San>>,
    /// The set-up position from which the line begins; `None` for the first root.
    pub set_up: Option<Position>,
    /// The move that was played in the games.
    pub mv: Option<San>,
    /// The moves that the repertoire has in the position.
    pub moves: Vec<San>,
    /// Number of games.
    pub games: Option<u64>,
    /// Share of all games, 0 to 1, if the own side plays all its candidates equally often, and the
    /// other side plays as in the library.
    pub share: Option<f64>,
    /// Place of the first game.
    pub first: Option<String>,
}

impl Repertoire {
    /// Returns the choices, leaves and unreached positions, each in the order of the positions.
    /// Positions that only bad moves reach are left out, because these moves should not be played.
    pub fn report(&self, side: Color, roots: &[Position]) -> Vec<Finding> {
        let paths = Paths::from_play(self, roots, side);
        let branches = Paths::from_branches(self, roots);
        let is_choice =
            |node: &Node| self.is_turn_of(side, *node) && self.candidates(*node).count() > 1;
        let choices = paths.reached().iter().copied().filter(is_choice);
        let leaves = paths.reached().iter().copied().filter(|&node| self.is_leaf(side, node));
        let unreached =
            self.nodes().filter(|&node| !paths.reaches(node) && !branches.reaches(node));
        let choices = choices.map(|node| (Part::Choice, node));
        let all = choices.chain(leaves.map(|node| (Part::Leaf, node)));
        let all = all.chain(unreached.map(|node| (Part::Unreached, node)));
        all.map(|(part, node)| self.finding(part, node, &paths)).collect()
    }

    /// Whether a position has neither a candidate nor a judgement, although there are legal moves.
    /// A position of the other side is not a leaf if a legal move leads to a position of the
    /// repertoire.
    fn is_leaf(&self, side: Color, node: Node) -> bool {
        let place = self.place(node);
        let is_judged = place.evaluation.is_some() || !place.nags.is_empty();
        if is_judged || self.candidates(node).next().is_some() {
            return false;
        }
        let Ok(playable) = Playable::new(&place.position) else { return false };
        let mut has_move = false;
        let mut goes_on = false;
        let is_own = place.position.turn() == side;
        playable.each_move(|mv| {
            has_move = true;
            goes_on = !is_own && self.find(&after(&place.position, mv)).is_some();
            !is_own && !goes_on
        });
        has_move && !goes_on
    }

    /// A finding without games, with a line to the position.
    pub(super) fn finding(&self, part: Part, node: Node, paths: &Paths) -> Finding {
        let position = self.place(node).position;
        let line = paths.reaches(node).then(|| paths.line(self, node));
        let root = line.is_some().then(|| paths.root(node));
        let set_up = root.filter(|root| paths.reached().first() != Some(root));
        let set_up = set_up.map(|root| self.place(root).position);
        Finding {
            part,
            position,
            line,
            set_up,
            mv: None,
            moves: self.names(node, self.candidates(node)),
            games: None,
            share: None,
            first: None,
        }
    }

    /// The SAN of moves of a position.
    fn names<'r>(&self, node: Node, branches: impl Iterator<Item = &'r Branch>) -> Vec<San> {
        let playable = Playable::new(&self.place(node).position);
        let name = |branch: &Branch| Some(san::format(playable.as_ref().ok()?, branch.mv));
        branches.filter_map(name).collect()
    }
}

/// The coverage of a repertoire.
#[derive(Clone, PartialEq, Debug)]
pub struct Coverage {
    /// Moves without an answer, the most frequent first.
    pub unanswered: Vec<Finding>,
    /// The share of the games in which the repertoire answers every move that was played, if `side` plays each
    /// candidate of a position equally often; `None` if the library has none of the positions.
    pub share: Option<f64>,
}

/// Maximum length of a line in plies, because lines may go in circles.
const MAX_PLIES: usize = 1_000;

/// A move that was played in the library, and the position to which it leads.
struct Played {
    mv: Move,
    san: San,
    games: u64,
    end: End,
}

#[derive(Copy, Clone, PartialEq)]
enum End {
    /// A position in which the repertoire has a move, or in which the game is over.
    Answered(Node),
    /// A position that is not in the repertoire, or in which the repertoire has no move.
    Unanswered,
}

impl Repertoire {
    /// The positions with the other side to move that `side` can reach from `roots`.
    pub fn of_other_side(&self, roots: &[Position], side: Color) -> Vec<Node> {
        let reached = Paths::from_play(self, roots, side);
        let is_other = |node: &Node| !self.is_turn_of(side, *node);
        reached.reached().iter().copied().filter(is_other).collect()
    }

    /// In the games of a library, finds the moves that the repertoire does not answer. `tallies` has the
    /// games in the positions of [`of_other_side`](Self::of_other_side). Moves after the end of a line are
    /// not gaps. A share is relative to the games from the first root that is in the repertoire. Moves
    /// with fewer than `min_games` games are left out.
    pub fn coverage(
        &self,
        roots: &[Position],
        side: Color,
        tallies: &HashMap<Node, TallyPart>,
        min_games: u64,
    ) -> Coverage {
        let paths = Paths::from_play(self, roots, side);
        let played: HashMap<Node, Vec<Played>> =
            tallies.iter().map(|(&node, tally)| (node, self.played(node, tally))).collect();
        let has_games = played.values().any(|moves| !moves.is_empty());
        let root = paths.reached().first();
        let lost = root.map(|&root| self.lost(root, side, &played)).unwrap_or_default();
        let share = 1.0 - lost.values().sum::<f64>();
        // A sum of rounded shares may be a little less or more than 1.
        let share = if share < 1e-9 { 0.0 } else { share };
        let mut unanswered = Vec::new();
        for &node in paths.reached().iter().filter(|&&node| self.goes_on(node)) {
            let gaps = played.get(&node).into_iter().flatten();
            for one in gaps.filter(|one| one.end == End::Unanswered && one.games >= min_games) {
                unanswered.push(Finding {
                    mv: Some(one.san),
                    games: Some(one.games),
                    share: Some(lost.get(&(node, one.mv)).copied().unwrap_or(0.0)),
                    ..self.finding(Part::Unanswered, node, &paths)
                });
            }
        }
        unanswered.sort_by_key(|finding| Reverse(finding.games));
        Coverage { unanswered, share: has_games.then_some(share) }
    }

    fn goes_on(&self, node: Node) -> bool {
        self.candidates(node).next().is_some()
    }

    fn played(&self, node: Node, tally: &TallyPart) -> Vec<Played> {
        let position = &self.place(node).position;
        let played = |one: &MoveTally| {
            let end = self.end_of(&after(position, one.mv));
            Played { mv: one.mv, san: one.san, games: one.counts.games(), end }
        };
        tally.moves.iter().map(played).collect()
    }

    fn end_of(&self, position: &Position) -> End {
        let is_over = Playable::new(position).is_ok_and(|playable| !playable.has_move());
        match self.find(position) {
            Some(node) if is_over || self.goes_on(node) => End::Answered(node),
            _ => End::Unanswered,
        }
    }

    /// For each move without an answer: the share of all games that leave the repertoire by this move.
    fn lost(
        &self,
        root: Node,
        side: Color,
        played: &HashMap<Node, Vec<Played>>,
    ) -> BTreeMap<(Node, Move), f64> {
        let mut lost: BTreeMap<(Node, Move), f64> = BTreeMap::new();
        let mut now = BTreeMap::from([(root, 1.0)]);
        for _ in 0..MAX_PLIES {
            let mut next: BTreeMap<Node, f64> = BTreeMap::new();
            for (&node, &share) in &now {
                if self.is_turn_of(side, node) {
                    let candidates = self.candidates(node).count() as f64;
                    for branch in self.candidates(node) {
                        *next.entry(branch.to).or_default() += share / candidates;
                    }
                    continue;
                }
                let moves = played.get(&node).map(Vec::as_slice).unwrap_or_default();
                let all = moves.iter().map(|one| one.games).sum::<u64>() as f64;
                for one in moves {
                    let share = share * one.games as f64 / all;
                    match one.end {
                        End::Answered(node) => *next.entry(node).or_default() += share,
                        End::Unanswered if self.goes_on(node) => {
                            *lost.entry((node, one.mv)).or_default() += share;
                        }
                        End::Unanswered => {}
                    }
                }
            }
            if next.is_empty() {
                break;
            }
            now = next;
        }
        lost
    }
}

/// Numbers of games: all games, those that end in a repertoire, and those that never reach it.
#[derive(Copy, Clone, PartialEq, Eq, Default, Debug)]
pub struct GameEnds {
    /// All games.
    pub games: u64,
    /// Games whose last position is in the repertoire.
    pub within: u64,
    /// Games that reach no position of the repertoire.
    pub never: u64,
}

/// Departures of games from a repertoire. A game departs by the move after its last position that the own
/// side can reach. If a game leaves the repertoire and later returns to it, this is not a departure.
#[derive(Debug)]
pub struct Departures<'r> {
    repertoire: &'r Repertoire,
    side: Color,
    paths: Paths,
    /// For each position and each move by which games left the repertoire: the number of these
    /// games, and the place of the first of them.
    by_move: BTreeMap<(Node, Move), (u64, String)>,
    ends: GameEnds,
}

impl<'r> Departures<'r> {
    /// Starts without games. `side` plays the repertoire from the positions `roots`.
    pub fn new(repertoire: &'r Repertoire, roots: &[Position], side: Color) -> Departures<'r> {
        let paths = Paths::from_play(repertoire, roots, side);
        let by_move = BTreeMap::new();
        let ends = GameEnds::default();
        Departures { repertoire, side, paths, by_move, ends }
    }

    /// Adds the main line of a game up to its first null move; `place` is the place of the game.
    pub fn add(&mut self, game: &Game, place: &str) {
        self.ends.games += 1;
        let Some(mut replay) = Replay::new(game.start()) else {
            self.ends.never += 1;
            return;
        };
        let mut last = None;
        for mv in game.main_line() {
            last = self.known(&replay).map(|node| (node, mv)).or(last);
            replay.play(mv);
        }
        match (self.known(&replay), last) {
            (Some(_), _) => self.ends.within += 1,
            (None, None) => self.ends.never += 1,
            (None, Some(departure)) => {
                let first = || (0, place.to_string());
                self.by_move.entry(departure).or_insert_with(first).0 += 1;
            }
        }
    }

    fn known(&self, replay: &Replay) -> Option<Node> {
        self.repertoire.find(replay.position()).filter(|&node| self.paths.reaches(node))
    }

    /// The ends of the games.
    pub const fn ends(&self) -> GameEnds {
        self.ends
    }

    /// The moves by which games departed, the moves of most games first.
    pub fn findings(&self) -> Vec<Finding> {
        let mut findings: Vec<Finding> = self.by_move.iter().map(|it| self.finding(it)).collect();
        findings.sort_by_key(|finding| {
            let ply = finding.line.as_ref().map_or(0, Vec::len);
            (Reverse(finding.games), ply)
        });
        findings
    }

    fn finding(&self, (&(node, mv), (games, first)): (&(Node, Move), &(u64, String))) -> Finding {
        let goes_on = self.repertoire.candidates(node).next().is_some();
        let part = if !goes_on {
            Part::LineEnd
        } else if self.repertoire.is_turn_of(self.side, node) {
            Part::OwnMove
        } else {
            Part::OtherMove
        };
        let playable = Playable::new(&self.repertoire.place(node).position);
        Finding {
            mv: playable.ok().map(|playable| san::format(&playable, mv)),
            games: Some(*games),
            first: Some(first.clone()),
            ..self.repertoire.finding(part, node, &self.paths)
        }
    }
}
