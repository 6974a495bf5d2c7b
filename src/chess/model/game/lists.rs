//! A game in memory: flat lists of moves and annotations, and one text.

use super::tags::MAX_TAGS;
use crate::model::rules::Move;

/// The movetext of a game, and the text of its tags and annotations.
#[derive(Clone, Debug)]
pub(super) struct Lists {
    /// The first node is the head of the main line.
    pub(super) nodes: Vec<Node>,
    pub(super) notes: Vec<Note>,
    /// All names, values, comments and escapes.
    pub(super) text: String,
}

/// A range of bytes in the text.
#[derive(Copy, Clone, Debug)]
pub(super) struct Span {
    pub(super) start: u32,
    pub(super) end: u32,
}

/// An index into the nodes or notes, or none.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Link(pub(super) u32);

impl Link {
    pub(super) const NONE: Link = Link(u32::MAX);

    /// The index to which the link leads; `None` for [`Link::NONE`].
    pub(super) const fn get(self) -> Option<usize> {
        if self.0 == u32::MAX { None } else { Some(self.0 as usize) }
    }
}

/// A ply, or the head of a line, which comes before the first ply.
#[derive(Copy, Clone, Debug)]
pub(super) struct Node {
    pub(super) step: Step,
    pub(super) next: Link,
    pub(super) notes: Link,
}

/// An annotation or variation of a node. The notes of a node are a list in the order of
/// [`Element`].
#[derive(Copy, Clone, Debug)]
pub(super) struct Note {
    pub(super) kind: NoteKind,
    pub(super) next: Link,
}

#[derive(Copy, Clone, Debug)]
pub(super) enum NoteKind {
    Nag(u8),
    Comment(Span),
    Escape(Span),
    /// The head of a line that replaces the node's move.
    Variation(Link),
}

/// Kind of a node.
#[derive(Copy, Clone, Debug)]
pub(super) enum Step {
    Head,
    Move(Move),
    NullMove,
}

pub(super) const HEAD: Node = Node { step: Step::Head, next: Link::NONE, notes: Link::NONE };

impl Lists {
    /// A main line without moves.
    pub(super) fn new() -> Lists {
        Lists { nodes: vec![HEAD], notes: Vec::new(), text: String::new() }
    }

    /// Empties the lists and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.nodes.clear();
        self.nodes.push(HEAD);
        self.notes.clear();
        self.text.clear();
    }

    #[inline]
    pub(super) fn at(&self, span: Span) -> &str {
        self.text.get(span.start as usize..span.end as usize).unwrap_or_default()
    }
}

/// The end of a line to which moves are added.
#[derive(Copy, Clone, Debug)]
pub(super) struct End {
    pub(super) node: Link,
    /// The last comment or escape of the node.
    pub(super) last_text: Link,
    pub(super) last_variation: Link,
}

impl End {
    pub(super) const fn at(node: Link) -> End {
        End { node, last_text: Link::NONE, last_variation: Link::NONE }
    }
}

/// Operations that extend the lists.
impl Lists {
    #[inline]
    pub(super) fn is_move(&self, node: Link) -> bool {
        let node = node.get().and_then(|place| self.nodes.get(place));
        node.is_some_and(|node| !matches!(node.step, Step::Head))
    }

    #[inline]
    pub(super) fn push_node(&mut self, step: Step) -> Result<Link, BuildError> {
        let link = link(self.nodes.len())?;
        self.nodes.push(Node { step, ..HEAD });
        Ok(link)
    }

    /// Appends a text and returns its span.
    pub(super) fn keep(&mut self, text: &str) -> Result<Span, BuildError> {
        let start = self.text.len();
        self.text.push_str(text);
        self.span_from(start)
    }

    /// Returns the span from `start` to the end of the text. If the text is too long, cuts it at
    /// `start`.
    pub(super) fn span_from(&mut self, start: usize) -> Result<Span, BuildError> {
        match (u32::try_from(start), u32::try_from(self.text.len())) {
            (Ok(start), Ok(end)) => Ok(Span { start, end }),
            _ => {
                self.text.truncate(start);
                Err(BuildError::TooLarge)
            }
        }
    }

    /// The last one of those NAGs of a node that have numbers up to `max_nag`.
    pub(super) fn last_nag(&self, node: Link, max_nag: u8) -> Link {
        let mut last = Link::NONE;
        let mut next = self.nodes[node.0 as usize].notes;
        while let Some(note) = next.get().map(|place| self.notes[place]) {
            match note.kind {
                NoteKind::Nag(nag) if nag <= max_nag => last = next,
                _ => break,
            }
            next = note.next;
        }
        last
    }

    /// Adds a comment or escape after those that the node has.
    pub(super) fn add_text(&mut self, line: &mut End, kind: NoteKind) -> Result<(), BuildError> {
        let before = match line.last_text {
            Link::NONE => self.last_nag(line.node, u8::MAX),
            last => last,
        };
        line.last_text = self.insert_note(line.node, before, kind)?;
        Ok(())
    }

    /// Adds a variation after all other notes of its move.
    pub(super) fn add_variation(&mut self, line: &mut End, head: Link) -> Result<(), BuildError> {
        let before = match (line.last_variation, line.last_text) {
            (Link::NONE, Link::NONE) => self.last_nag(line.node, u8::MAX),
            (Link::NONE, text) => text,
            (variation, _) => variation,
        };
        line.last_variation = self.insert_note(line.node, before, NoteKind::Variation(head))?;
        Ok(())
    }

    /// Inserts a note after the note `before` of the same node; as the first note if `before` is
    /// [`Link::NONE`].
    pub(super) fn insert_note(
        &mut self,
        node: Link,
        before: Link,
        kind: NoteKind,
    ) -> Result<Link, BuildError> {
        let link = link(self.notes.len())?;
        let link_before = match before.get() {
            Some(place) => &mut self.notes[place].next,
            None => &mut self.nodes[node.0 as usize].notes,
        };
        let next = std::mem::replace(link_before, link);
        self.notes.push(Note { kind, next });
        Ok(link)
    }
}

fn link(place: usize) -> Result<Link, BuildError> {
    match u32::try_from(place) {
        Ok(place) if Link(place) != Link::NONE => Ok(Link(place)),
        _ => Err(BuildError::TooLarge),
    }
}

/// Maximum depth of nested variations. Each open variation needs about 200 bytes while a game is
/// read or written.
pub const MAX_VARIATION_DEPTH: usize = 65_535;

/// Reason why a tag or a piece of movetext cannot be added to a game.
#[derive(Copy, Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// A move in a game whose start position does not allow moves to be generated.
    #[error("no move can be made from the position that the game starts from")]
    NotPlayable,
    /// A move that is not legal in the position that was reached.
    #[error("the move is not legal here")]
    Illegal,
    /// A null move of a side that is in check.
    #[error("no null move can be made in check")]
    NullMoveInCheck,
    /// A NAG before the first move of a line.
    #[error("a NAG before any move of its line")]
    NagPlace,
    /// A variation before the first move of a line.
    #[error("a variation before any move of its line")]
    VariationPlace,
    /// The end of a variation that never began.
    #[error("the end of a variation that never began")]
    VariationEnd,
    /// A variation without a move.
    #[error("a variation without a move")]
    VariationEmpty,
    /// The game ends inside a variation.
    #[error("the game ends inside a variation")]
    VariationOpen,
    /// More than [`MAX_VARIATION_DEPTH`] variations inside each other.
    #[error("more than {MAX_VARIATION_DEPTH} variations inside each other")]
    TooDeep,
    /// An invalid tag name, see [`is_tag_name`](super::is_tag_name).
    #[error("no name of a tag")]
    TagName,
    /// More than [`MAX_TAGS`] tags, not counting the seven tag roster.
    #[error("more than {MAX_TAGS} tags")]
    TooManyTags,
    /// A control character in the value of a tag, or a line end in an escape.
    #[error("a control character in a text")]
    ControlCharacter,
    /// More than 2^32 - 1 moves, annotations or bytes of text.
    #[error("the game is too large")]
    TooLarge,
}
