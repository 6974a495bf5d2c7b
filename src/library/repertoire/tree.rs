//! Repertoires as one game with variations.

use super::games::{BAD, REFERENCE, REFERENCE_TO_START};
use super::graph::{Branch, Node, Place, Repertoire};
use super::paths::{Paths, numbered};
use epdb_chess::error::{Error, Result};
use epdb_chess::model::{BuildError, Counters, Game, GameBuilder, GameResult, Position, Start};

/// Options of a tree.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct TreeOptions {
    /// Maximum number of plies of a line.
    pub depth: usize,
    /// Whether the moves after a position are written only once, even if several lines lead there. Otherwise
    /// they are repeated in each line, except in lines that end there in the source.
    pub once: bool,
    /// Maximum number of moves; a larger tree is refused.
    pub max_moves: u64,
}

impl Default for TreeOptions {
    fn default() -> TreeOptions {
        TreeOptions { depth: usize::MAX, once: false, max_moves: 1 << 20 }
    }
}

/// A repertoire as a game.
#[derive(Clone, Debug)]
pub struct Tree {
    /// The game.
    pub game: Game,
    /// Number of moves, those of variations included.
    pub moves: u64,
    /// Number of lines that end with a comment `as after ...`, because the position continues in
    /// another line.
    pub references: u64,
}

impl Repertoire {
    /// Writes all lines from the position `root` as one game. The main move of a position comes
    /// first, and the other moves are variations. A move marked as bad gets `$2`, unless it has `$2`, `$4` or
    /// `$6`. A line ends where one of its positions occurs again.
    ///
    /// # Errors
    /// The repertoire does not have the position, or the tree is too large.
    pub fn tree(&self, root: &Position, options: &TreeOptions) -> Result<Tree> {
        let counters = Counters { halfmove_clock: 0, fullmove_number: 1 };
        self.tree_with_tags(&Start { position: root.identity(), counters }, &[], options)
    }

    /// Like [`Repertoire::tree`], for a game with this start and these tags.
    pub(super) fn tree_with_tags(
        &self,
        start: &Start,
        tags: &[(String, String)],
        options: &TreeOptions,
    ) -> Result<Tree> {
        let root = &start.position;
        let node = self
            .find(root)
            .ok_or_else(|| Error::new(format!("the position is not in the repertoire: {root}")))?;
        let mut game = GameBuilder::new();
        begin(&mut game, start, tags).map_err(Error::from_cause)?;
        let mut writer = Writer {
            repertoire: self,
            paths: Paths::from_lines(self, node),
            options: *options,
            begins: node,
            game,
            line: Vec::new(),
            on_line: vec![0; self.len()],
            has_comments: vec![false; self.len()],
            outer: Vec::new(),
            moves: 0,
            references: 0,
        };
        writer.write(node)?;
        let Writer { game, moves, references, .. } = writer;
        Ok(Tree { game: game.finish().map_err(Error::from_cause)?, moves, references })
    }
}

pub(super) fn begin(
    game: &mut GameBuilder,
    start: &Start,
    tags: &[(String, String)],
) -> Result<(), BuildError> {
    if *start != Start::ARRAY {
        let Start { position, counters } = start;
        let Counters { halfmove_clock, fullmove_number } = counters;
        game.set_start(*start);
        game.set_tag("SetUp", "1")?;
        game.set_tag("FEN", &format!("{position} {halfmove_clock} {fullmove_number}"))?;
        if position.is_chess960() {
            game.set_tag("Variant", "Chess960")?;
        }
    }
    for (name, value) in tags {
        match name.as_str() {
            "SetUp" | "FEN" => {}
            "Result" => {
                let result = GameResult::from_text(value.as_bytes()).unwrap_or_default();
                game.set_result(result)?;
            }
            _ => game.set_tag(name, value)?,
        }
    }
    Ok(())
}

/// Writes the judgements of the last move.
pub(super) fn judge(game: &mut GameBuilder, branch: &Branch) -> Result<(), BuildError> {
    for &nag in &branch.nags {
        game.add_nag(nag)?;
    }
    if branch.is_avoided && !branch.nags.iter().any(|nag| BAD.contains(nag)) {
        game.add_nag(BAD[0])?;
    }
    Ok(())
}

pub(super) fn put_comments(game: &mut GameBuilder, place: &Place) -> Result<(), BuildError> {
    place.comments.iter().try_for_each(|comment| game.add_comment(comment))
}

/// Writes the properties of a position, except for its comments.
pub(super) fn remark(game: &mut GameBuilder, place: &Place) -> Result<(), BuildError> {
    if game.has_move() {
        place.nags.iter().try_for_each(|nag| game.add_nag(*nag))?;
    }
    if let Some(evaluation) = &place.evaluation {
        game.add_comment(&evaluation.command(place.position.turn()))?;
    }
    Ok(())
}

enum Step {
    /// A move of a position, by its index among the branches.
    Move(Node, usize),
    /// The moves that follow this move, if any.
    Behind(Node, usize),
    BeginVariation,
    EndVariation,
}

struct Writer<'r> {
    repertoire: &'r Repertoire,
    paths: Paths,
    options: TreeOptions,
    begins: Node,
    game: GameBuilder,
    /// The positions of the current line. `on_line` counts how often each position of the
    /// repertoire is on it.
    line: Vec<Node>,
    on_line: Vec<u32>,
    /// Whether the comments of each position have already been written. They are written once,
    /// although several lines may reach the position.
    has_comments: Vec<bool>,
    /// For each open variation: the length of the line before the variation, and the position after
    /// the move that the variation replaces.
    outer: Vec<(usize, Node)>,
    moves: u64,
    references: u64,
}

impl Writer<'_> {
    fn write(&mut self, root: Node) -> Result<()> {
        self.push(root);
        self.remark(root).map_err(Error::from_cause)?;
        let mut steps = self.steps_from(root);
        while let Some(step) = steps.pop() {
            match step {
                Step::Move(node, place) => {
                    self.count_move()?;
                    self.play(node, place).map_err(Error::from_cause)?;
                }
                Step::Behind(node, place) => {
                    let branch = &self.repertoire.place(node).branches[place];
                    if self.is_followed(node, branch) {
                        steps.append(&mut self.steps_from(branch.to));
                    }
                }
                Step::BeginVariation => {
                    self.game.begin_variation().map_err(Error::from_cause)?;
                    if let Some(replaced) = self.pop() {
                        self.outer.push((self.line.len(), replaced));
                    }
                }
                Step::EndVariation => {
                    self.game.end_variation().map_err(Error::from_cause)?;
                    self.end_variation();
                }
            }
        }
        Ok(())
    }

    fn count_move(&mut self) -> Result<()> {
        self.moves += 1;
        let max_moves = self.options.max_moves;
        if self.moves <= max_moves {
            return Ok(());
        }
        Err(Error::new(format!(
            "the tree has more than {max_moves} moves: fewer plies, each position once, or more memory \
             make it fit"
        )))
    }

    /// The steps from a position, in reverse order.
    fn steps_from(&self, node: Node) -> Vec<Step> {
        if self.line.len() > self.options.depth {
            return Vec::new();
        }
        let places = 0..self.repertoire.place(node).branches.len();
        let mut steps = Vec::new();
        for place in places {
            if place == 0 {
                steps.push(Step::Move(node, place));
                continue;
            }
            steps.push(Step::BeginVariation);
            steps.push(Step::Move(node, place));
            steps.push(Step::Behind(node, place));
            steps.push(Step::EndVariation);
        }
        if !steps.is_empty() {
            steps.push(Step::Behind(node, 0));
        }
        steps.reverse();
        steps
    }

    /// Writes a move with its judgements.
    fn play(&mut self, node: Node, place: usize) -> Result<(), BuildError> {
        let branch = &self.repertoire.place(node).branches[place];
        self.game.play(branch.mv)?;
        self.push(branch.to);
        judge(&mut self.game, branch)?;
        self.remark(branch.to)?;
        let has_more = !self.repertoire.place(branch.to).branches.is_empty();
        if has_more && !self.is_followed(node, branch) {
            let begins = self.repertoire.place(self.begins).position.turn();
            let line = self.paths.line(self.repertoire, branch.to);
            let reference = if line.is_empty() {
                REFERENCE_TO_START.to_string()
            } else {
                format!("{REFERENCE}{}", numbered(begins, &line))
            };
            self.game.add_comment(&reference)?;
            self.references += 1;
        }
        Ok(())
    }

    /// Writes the properties of a position.
    fn remark(&mut self, node: Node) -> Result<(), BuildError> {
        let place = self.repertoire.place(node);
        remark(&mut self.game, place)?;
        // Each comment is written once, where the position comes first.
        let has_comments = &mut self.has_comments[node as usize];
        if *has_comments {
            return Ok(());
        }
        *has_comments = true;
        put_comments(&mut self.game, place)
    }

    /// True if the moves after `branch` are written in the current line too. `branch` is the move
    /// that was written last.
    fn is_followed(&self, node: Node, branch: &Branch) -> bool {
        let is_way = self.paths.ends_with(branch.to, node, branch.mv);
        let is_repeated = self.on_line[branch.to as usize] > 1;
        !is_repeated && (is_way || !self.options.once && branch.goes_on)
    }

    fn push(&mut self, node: Node) {
        self.line.push(node);
        self.on_line[node as usize] += 1;
    }

    fn pop(&mut self) -> Option<Node> {
        let node = self.line.pop()?;
        self.on_line[node as usize] -= 1;
        Some(node)
    }

    fn end_variation(&mut self) {
        let Some((len, replaced)) = self.outer.pop() else { return };
        while self.line.len() > len {
            self.pop();
        }
        self.push(replaced);
    }
}
