//! The movetext of a game in reading order.

use super::lists::{Link, Lists, NoteKind, Step};
use crate::model::rules::Move;

/// One piece of a game's movetext, in the order of the export format. A move is followed by its
/// NAGs, comments and escapes, then its variations, then the next move of the line.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Element<'a> {
    /// A move of the current line.
    Move(Move),
    /// A null move of the current line: the side to move passes.
    NullMove,
    /// A Numeric Annotation Glyph on the last move.
    Nag(u8),
    /// A comment on the last move, or before the first move of the line. It is not empty, and has
    /// no white space except single blanks between words.
    Comment(&'a str),
    /// Text after a `%` in column 1 of a line.
    Escape(&'a str),
    /// A variation begins: a line that replaces the last move.
    VariationBegin,
    /// The variation ends. The line of the move that it replaces continues.
    VariationEnd,
}

/// Iterator over the movetext of a game: [`Game::elements`](super::Game::elements).
#[derive(Clone, Debug)]
pub struct Elements<'a> {
    lists: &'a Lists,
    node: usize,
    /// The rest of the notes of the node.
    notes: Link,
    /// For each open variation: the place at which reading continues after the variation.
    outer: Vec<(usize, Link)>,
}

impl<'a> Iterator for Elements<'a> {
    type Item = Element<'a>;

    fn next(&mut self) -> Option<Element<'a>> {
        if let Some(note) = self.notes.get().and_then(|place| self.lists.notes.get(place)) {
            self.notes = note.next;
            return Some(match note.kind {
                NoteKind::Nag(nag) => Element::Nag(nag),
                NoteKind::Comment(span) => Element::Comment(self.lists.at(span)),
                NoteKind::Escape(span) => Element::Escape(self.lists.at(span)),
                NoteKind::Variation(head) => {
                    self.outer.push((self.node, self.notes));
                    self.go_to(head);
                    Element::VariationBegin
                }
            });
        }
        let next = self.lists.nodes.get(self.node)?.next;
        if next != Link::NONE {
            return match self.go_to(next)? {
                Step::Move(mv) => Some(Element::Move(mv)),
                Step::NullMove => Some(Element::NullMove),
                Step::Head => None,
            };
        }
        (self.node, self.notes) = self.outer.pop()?;
        Some(Element::VariationEnd)
    }
}

/// A node of a game: a move with its comments, or the head of a line with the comments before its
/// first move. [`Elements::node`] returns it.
#[derive(Copy, Clone, Debug)]
pub struct GameNode<'a> {
    lists: &'a Lists,
    place: usize,
}

impl<'a> GameNode<'a> {
    pub(super) const fn new(lists: &'a Lists, place: usize) -> GameNode<'a> {
        GameNode { lists, place }
    }

    /// The number of the node, by which [`Game::node`](super::Game::node) finds it.
    pub const fn number(self) -> usize {
        self.place
    }

    /// The move; `None` for the head of a line and for a null move.
    pub fn played(self) -> Option<Move> {
        match self.lists.nodes.get(self.place)?.step {
            Step::Move(mv) => Some(mv),
            Step::NullMove | Step::Head => None,
        }
    }

    /// The comments.
    pub fn comments(self) -> impl Iterator<Item = &'a str> + use<'a> {
        let GameNode { lists, place } = self;
        let first = lists.nodes.get(place).map_or(Link::NONE, |node| node.notes);
        let note = |link: Link| link.get().and_then(|place| lists.notes.get(place));
        let notes = std::iter::successors(note(first), move |one| note(one.next));
        notes.filter_map(|one| match one.kind {
            NoteKind::Comment(span) => Some(lists.at(span)),
            NoteKind::Nag(_) | NoteKind::Escape(_) | NoteKind::Variation(_) => None,
        })
    }

    /// The next move of the line; `None` at its end, and before a null move.
    pub fn next_move(self) -> Option<GameNode<'a>> {
        let place = self.lists.nodes.get(self.place)?.next.get()?;
        match self.lists.nodes.get(place)?.step {
            Step::Move(_) => Some(GameNode { place, ..self }),
            Step::NullMove | Step::Head => None,
        }
    }
}

impl<'a> Elements<'a> {
    /// The node of the last move that was read. Before the first move of a line, it is the head of
    /// the line.
    pub const fn node(&self) -> GameNode<'a> {
        GameNode { lists: self.lists, place: self.node }
    }

    /// Starts at the head of the main line.
    pub(super) fn new(lists: &'a Lists) -> Elements<'a> {
        let notes = lists.nodes.first().map_or(Link::NONE, |head| head.notes);
        Elements { lists, node: 0, notes, outer: Vec::new() }
    }

    fn go_to(&mut self, node: Link) -> Option<Step> {
        self.node = node.get()?;
        let node = self.lists.nodes.get(self.node)?;
        self.notes = node.notes;
        Some(node.step)
    }
}
