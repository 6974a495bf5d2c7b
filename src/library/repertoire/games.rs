//! Repertoires from games with variations.

use super::graph::Evaluation;
use super::graph::{Node, Repertoire};
use epdb_chess::error::Result;
use epdb_chess::model::rules::{Move, Playable, after};
use epdb_chess::model::{Color, Element, Game, Position};
use epdb_chess::text::{Profile, san};

/// Prefix of a comment that refers to the line where a position continues.
pub(super) const REFERENCE: &str = "as after ";
/// Comment that refers to the first position of a tree.
pub(super) const REFERENCE_TO_START: &str = "as at the start";

/// The NAGs of a poor move, a blunder and a dubious move.
pub(super) const BAD: [u8; 3] = [2, 4, 6];
/// The first NAG that judges a position; smaller NAGs judge a move.
const FIRST_OF_POSITION: u8 = 10;

/// A position of a line, and the branch that led to it.
#[derive(Copy, Clone)]
struct Step {
    node: Node,
    by: Option<(Node, usize)>,
}

/// The current position (`now`), and the position before the last move (`before`), from which a
/// variation begins. After a null move there is no current position.
#[derive(Copy, Clone)]
struct Line {
    before: Option<Step>,
    now: Option<Step>,
    /// Whether the line is a variation that has no moves so far.
    is_new: bool,
}

impl Repertoire {
    /// Adds all lines of a game, each up to its first null move. Moves of `side` that are marked
    /// `$2`, `$4` or `$6` are no longer candidates; if `side` is `None`, all moves are candidates.
    /// A comment belongs to the position after the move that it follows. A comment at the start of
    /// a variation belongs to the position after the variation's first move.
    ///
    /// # Errors
    /// The repertoire does not fit into memory.
    pub fn add_game(&mut self, game: &Game, side: Option<Color>) -> Result<()> {
        let start = &game.start().position;
        let node = self.add(start)?;
        if *start != Position::START {
            self.add_set_up(node);
        }
        let root = Some(Step { node, by: None });
        if Playable::new(start).is_err() {
            return Ok(());
        }
        let mut line = Line { before: root, now: root, is_new: false };
        let mut outer = Vec::new();
        let mut introduction = Vec::new();
        for element in game.elements() {
            match element {
                Element::Move(mv) => {
                    line = self.go_on(line, mv)?;
                    for comment in introduction.drain(..) {
                        self.take_comment(line.now, comment, start)?;
                    }
                }
                Element::NullMove => {
                    introduction.clear();
                    line = Line { before: line.now, now: None, is_new: false };
                }
                Element::Nag(nag) => self.take_nag(line.now, nag, side),
                Element::Comment(text) if line.is_new => introduction.push(text),
                Element::Comment(text) => self.take_comment(line.now, text, start)?,
                Element::Escape(_) => {}
                Element::VariationBegin => {
                    outer.push(line);
                    line = Line { before: line.before, now: line.before, is_new: true };
                }
                Element::VariationEnd => line = outer.pop().unwrap_or(line),
            }
        }
        Ok(())
    }

    fn go_on(&mut self, line: Line, mv: Move) -> Result<Line> {
        let Some(Step { node: from, by }) = line.now else {
            self.moves_left_out += 1;
            return Ok(Line { before: None, now: None, is_new: false });
        };
        if let Some((node, place)) = by {
            self.places[node as usize].branches[place].goes_on = true;
        }
        let place = self.add_move(from, mv)?;
        let node = self.place(from).branches[place].to;
        let now = Some(Step { node, by: Some((from, place)) });
        Ok(Line { before: line.now, now, is_new: false })
    }

    fn take_nag(&mut self, step: Option<Step>, nag: u8, side: Option<Color>) {
        let Some(Step { node: to, by: Some((from, place)) }) = step else { return };
        if nag >= FIRST_OF_POSITION {
            return self.add_nag(to, nag);
        }
        let is_own = side.is_some_and(|side| self.is_turn_of(side, from));
        let branch = &mut self.places[from as usize].branches[place];
        branch.is_avoided |= is_own && BAD.contains(&nag);
        insert(&mut branch.nags, nag);
    }

    pub(super) fn add_move_nag(&mut self, node: Node, place: usize, nag: u8) {
        insert(&mut self.places[node as usize].branches[place].nags, nag);
    }

    pub(super) fn add_nag(&mut self, node: Node, nag: u8) {
        insert(&mut self.places[node as usize].nags, nag);
    }

    /// Number of moves that were left out because they follow a null move.
    pub const fn moves_left_out(&self) -> u64 {
        self.moves_left_out
    }

    /// Adds a comment to a position. An evaluation in the comment becomes the evaluation of the
    /// position, and the rest is added. A reference to the line where the position continues is
    /// ignored.
    fn take_comment(&mut self, step: Option<Step>, comment: &str, start: &Position) -> Result<()> {
        let Some(Step { node, .. }) = step else { return Ok(()) };
        let position = self.place(node).position;
        let is_reference = match comment.strip_prefix(REFERENCE) {
            Some(line) => leads_to(start, line, &position),
            None => comment == REFERENCE_TO_START && position == start.identity(),
        };
        if is_reference {
            return Ok(());
        }
        match Evaluation::take(comment, position.turn()) {
            Some((evaluation, rest)) if self.take_evaluation(node, evaluation) => {
                self.add_comment(node, &rest)
            }
            _ => self.add_comment(node, comment),
        }
    }

    /// Sets the evaluation of a position; returns false if the position has a different one
    /// already.
    pub(super) fn take_evaluation(&mut self, node: Node, evaluation: Evaluation) -> bool {
        *self.places[node as usize].evaluation.get_or_insert(evaluation) == evaluation
    }
}

fn insert(nags: &mut Vec<u8>, nag: u8) {
    if let Err(place) = nags.binary_search(&nag) {
        nags.insert(place, nag);
    }
}

/// Whether `line` has numbered moves that lead from `start` to `end`.
fn leads_to(start: &Position, line: &str, end: &Position) -> bool {
    let mut position = *start;
    for word in line.split(' ').filter(|word| !word.ends_with('.')) {
        let Ok(playable) = Playable::new(&position) else { return false };
        let Ok(read) = san::parse(&playable, word.as_bytes(), Profile::Standard) else {
            return false;
        };
        position = after(&position, read.mv);
    }
    position.identity() == end.identity()
}
