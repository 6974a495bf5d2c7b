//! Games: tags, moves, variations, annotations.
//!
//! A [`Game`] is a few flat lists without pointers, so that variations of any depth are built,
//! walked, compared and dropped without recursion. [`GameBuilder`] puts games together,
//! [`Replay`] knows the position in the line that is being built or walked.

use std::fmt;

use super::position::Position;
use super::record::Counters;
use super::rules::{self, Move, Playable};
use super::square::Color;

/// The names of the seven tag roster, in the order of the export format.
pub const SEVEN_TAG_ROSTER: [&str; 7] =
    ["Event", "Site", "Date", "Round", "White", "Black", "Result"];

/// What the roster tags say when nothing is known.
pub const UNKNOWN_TAG_VALUES: [&str; 7] = ["?", "?", "????.??.??", "?", "?", "?", "*"];

const RESULT: usize = 6;

fn place_in_roster(name: &str) -> Option<usize> {
    Some(match name {
        "Event" => 0,
        "Site" => 1,
        "Date" => 2,
        "Round" => 3,
        "White" => 4,
        "Black" => 5,
        "Result" => RESULT,
        _ => return None,
    })
}

/// How a game ended: its termination marker and the value of its `Result` tag.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug, Default)]
pub enum GameResult {
    /// `1-0`
    WhiteWins,
    /// `0-1`
    BlackWins,
    /// `1/2-1/2`
    Draw,
    /// `*`: unfinished, abandoned, unknown.
    #[default]
    Unknown,
}

impl GameResult {
    /// All four.
    pub const ALL: [GameResult; 4] =
        [GameResult::WhiteWins, GameResult::BlackWins, GameResult::Draw, GameResult::Unknown];

    /// Reads exactly one of the four texts.
    pub fn from_text(text: &[u8]) -> Option<GameResult> {
        GameResult::ALL.into_iter().find(|result| result.as_str().as_bytes() == text)
    }

    /// The text.
    pub const fn as_str(self) -> &'static str {
        match self {
            GameResult::WhiteWins => "1-0",
            GameResult::BlackWins => "0-1",
            GameResult::Draw => "1/2-1/2",
            GameResult::Unknown => "*",
        }
    }
}

impl fmt::Display for GameResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Where the first move of a game is made.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct Start {
    /// The position.
    pub position: Position,
    /// Its counters.
    pub counters: Counters,
}

impl Start {
    /// The start array.
    pub const ARRAY: Start = Start {
        position: Position::START,
        counters: Counters { halfmove_clock: 0, fullmove_number: 1 },
    };
}

/// One piece of a game's movetext, in the order of the export format: after a move its
/// NAGs, comments and escapes, then its variations, then the next move of the line.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Element<'a> {
    /// A move of the current line.
    Move(Move),
    /// A Numeric Annotation Glyph on the last move.
    Nag(u8),
    /// A comment on the last move, or before the first move of the line. White space in it is
    /// single blanks, with none at the ends; it is not empty.
    Comment(&'a str),
    /// What followed a `%` in column 1 of a line.
    Escape(&'a str),
    /// A variation begins: a line that replaces the last move.
    VariationBegin,
    /// The variation ends; the line it was given for goes on.
    VariationEnd,
}

/// One game.
///
/// Text is Unicode. The seven roster tags are always there; those that nobody gave say
/// [`UNKNOWN_TAG_VALUES`].
///
/// ```
/// use epdb::model::{Element, GameBuilder, GameResult, Square, rules::Move};
/// let mut builder = GameBuilder::new();
/// builder.set_tag("White", "Morphy, Paul")?;
/// builder.set_result(GameResult::WhiteWins)?;
/// let e4 = Move { from: Square::at(4, 1), to: Square::at(4, 3), promotion: None };
/// builder.play(e4)?;
/// builder.add_nag(1)?;
/// let game = builder.finish()?;
/// assert_eq!(game.tag("Date"), Some("????.??.??"));
/// assert_eq!(game.elements().collect::<Vec<_>>(), [Element::Move(e4), Element::Nag(1)]);
/// # Ok::<(), epdb::model::BuildError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Game {
    roster: [Option<Span>; 7],
    /// In byte order of the names.
    other_tags: Vec<(Span, Span)>,
    start: Start,
    /// The first is the head of the main line.
    nodes: Vec<Node>,
    notes: Vec<Note>,
    /// All names, values, comments and escapes.
    text: String,
}

/// A place in [`Game::text`].
#[derive(Copy, Clone, Debug)]
struct Span {
    start: u32,
    end: u32,
}

/// An index into the nodes or notes, or none.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
struct Link(u32);

impl Link {
    const NONE: Link = Link(u32::MAX);

    const fn get(self) -> Option<usize> {
        if self.0 == u32::MAX { None } else { Some(self.0 as usize) }
    }
}

/// A move, or the head of a line, which stands before its first move.
#[derive(Copy, Clone, Debug)]
struct Node {
    mv: Option<Move>,
    next: Link,
    notes: Link,
}

/// Something about a node: a list in the order of [`Element`].
#[derive(Copy, Clone, Debug)]
struct Note {
    kind: NoteKind,
    next: Link,
}

#[derive(Copy, Clone, Debug)]
enum NoteKind {
    Nag(u8),
    Comment(Span),
    Escape(Span),
    /// The head of a line that replaces the node's move.
    Variation(Link),
}

const HEAD: Node = Node { mv: None, next: Link::NONE, notes: Link::NONE };

impl Default for Game {
    fn default() -> Game {
        Game::new()
    }
}

impl Game {
    /// A game from the start array without moves, of which nothing is known.
    pub fn new() -> Game {
        Game {
            roster: [None; 7],
            other_tags: Vec::new(),
            start: Start::ARRAY,
            nodes: vec![HEAD],
            notes: Vec::new(),
            text: String::new(),
        }
    }

    /// Makes it a new game, and keeps the memory.
    fn clear(&mut self) {
        self.roster = [None; 7];
        self.other_tags.clear();
        self.start = Start::ARRAY;
        self.nodes.clear();
        self.nodes.push(HEAD);
        self.notes.clear();
        self.text.clear();
    }

    /// Where the first move is made. It agrees with the `FEN` tag.
    pub const fn start(&self) -> &Start {
        &self.start
    }

    /// The result.
    pub fn result(&self) -> GameResult {
        self.roster[RESULT]
            .and_then(|span| GameResult::from_text(self.at(span).as_bytes()))
            .unwrap_or_default()
    }

    /// The value of a tag. Roster tags always have one.
    pub fn tag(&self, name: &str) -> Option<&str> {
        if let Some(place) = place_in_roster(name) {
            return Some(
                self.roster[place].map_or(UNKNOWN_TAG_VALUES[place], |span| self.at(span)),
            );
        }
        let place = self.find_tag(name).ok()?;
        Some(self.at(self.other_tags[place].1))
    }

    /// Whether somebody gave this tag a value.
    pub fn has_tag(&self, name: &str) -> bool {
        match place_in_roster(name) {
            Some(place) => self.roster[place].is_some(),
            None => self.find_tag(name).is_ok(),
        }
    }

    /// All tags with their values in the order of the export format: the roster, then the others
    /// in byte order of their names.
    pub fn tags(&self) -> impl Iterator<Item = (&str, &str)> {
        let roster = SEVEN_TAG_ROSTER.iter().enumerate().map(|(place, name)| {
            (*name, self.roster[place].map_or(UNKNOWN_TAG_VALUES[place], |span| self.at(span)))
        });
        let others = self.other_tags.iter().map(|(name, value)| (self.at(*name), self.at(*value)));
        roster.chain(others)
    }

    /// Whether the game has no tags but the roster, no variations, NAGs and comments, and begins
    /// from the start array: the reduced export format says all of it. Escapes do not
    /// count.
    pub fn is_reduced(&self) -> bool {
        let plain = |note: &Note| matches!(note.kind, NoteKind::Escape(_));
        self.other_tags.is_empty() && self.start == Start::ARRAY && self.notes.iter().all(plain)
    }

    /// Whether the game has variations.
    pub fn has_variations(&self) -> bool {
        self.notes.iter().any(|note| matches!(note.kind, NoteKind::Variation(_)))
    }

    /// The moves of the main line.
    pub fn main_line(&self) -> impl Iterator<Item = Move> {
        let mut node = self.nodes.first();
        std::iter::from_fn(move || {
            node = self.nodes.get(node?.next.get()?);
            node?.mv
        })
    }

    /// The movetext, variations included.
    pub fn elements(&self) -> Elements<'_> {
        let notes = self.nodes.first().map_or(Link::NONE, |head| head.notes);
        Elements { game: self, node: 0, notes, outer: Vec::new() }
    }

    fn at(&self, span: Span) -> &str {
        self.text.get(span.start as usize..span.end as usize).unwrap_or_default()
    }

    fn find_tag(&self, name: &str) -> Result<usize, usize> {
        self.other_tags.binary_search_by(|(other, _)| self.at(*other).cmp(name))
    }
}

impl PartialEq for Game {
    fn eq(&self, other: &Game) -> bool {
        self.start == other.start
            && self.tags().eq(other.tags())
            && self.elements().eq(other.elements())
    }
}

impl Eq for Game {}

/// The movetext of a game piece by piece: [`Game::elements`].
#[derive(Clone, Debug)]
pub struct Elements<'a> {
    game: &'a Game,
    node: usize,
    /// The notes of the node that are still to come.
    notes: Link,
    /// Where to go on after each open variation.
    outer: Vec<(usize, Link)>,
}

impl<'a> Iterator for Elements<'a> {
    type Item = Element<'a>;

    fn next(&mut self) -> Option<Element<'a>> {
        if let Some(note) = self.notes.get().and_then(|place| self.game.notes.get(place)) {
            self.notes = note.next;
            return Some(match note.kind {
                NoteKind::Nag(nag) => Element::Nag(nag),
                NoteKind::Comment(span) => Element::Comment(self.game.at(span)),
                NoteKind::Escape(span) => Element::Escape(self.game.at(span)),
                NoteKind::Variation(head) => {
                    self.outer.push((self.node, self.notes));
                    self.go_to(head);
                    Element::VariationBegin
                }
            });
        }
        let next = self.game.nodes.get(self.node)?.next;
        if next != Link::NONE {
            return self.go_to(next).map(Element::Move);
        }
        (self.node, self.notes) = self.outer.pop()?;
        Some(Element::VariationEnd)
    }
}

impl Elements<'_> {
    fn go_to(&mut self, node: Link) -> Option<Move> {
        self.node = node.get()?;
        let node = self.game.nodes.get(self.node)?;
        self.notes = node.notes;
        node.mv
    }
}

/// Whether a tag may have this name: 1 to 255 printing ASCII characters without blanks, quotes,
/// brackets and the signs that mean something between tags. The standard has letters, digits and
/// underscores only.
pub fn is_tag_name(name: &str) -> bool {
    (1..=255).contains(&name.len()) && name.bytes().all(is_tag_name_byte)
}

/// Whether a tag name may have this byte.
pub(crate) const fn is_tag_name_byte(byte: u8) -> bool {
    byte.is_ascii_graphic()
        && !matches!(
            byte,
            b'"' | b'[' | b']' | b'(' | b')' | b'{' | b'}' | b';' | b'<' | b'>' | b'%'
        )
}

/// The most tags that a game may have beside the roster.
pub const MAX_TAGS: usize = 4096;

/// The most variations that may be open at once. Each needs some 200 bytes while a game is read
/// or written.
pub const MAX_VARIATION_DEPTH: usize = 65_535;

/// Why a piece of movetext cannot stand where it was put.
#[derive(Copy, Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// Moves from a position in which none can be generated.
    #[error("no move can be made from the position that the game starts from")]
    NotPlayable,
    /// A move that is not legal in the position that was reached.
    #[error("the move is not legal here")]
    Illegal,
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
    /// A tag name that is none, see [`is_tag_name`].
    #[error("no name of a tag")]
    TagName,
    /// More than [`MAX_TAGS`] tags beside the roster.
    #[error("more than {MAX_TAGS} tags")]
    TooManyTags,
    /// A control character in the value of a tag, or a line end in an escape.
    #[error("a control character in a text")]
    ControlCharacter,
    /// More than 2^32 - 1 moves, annotations or bytes of text.
    #[error("the game is too large")]
    TooLarge,
}

/// Puts a game together, piece by piece in reading order. Pieces that come out of their order are
/// put in it: NAGs ascending and each once, then comments and escapes, then
/// variations.
#[derive(Clone, Debug)]
pub struct GameBuilder {
    game: Game,
    replay: Option<Replay>,
    end: End,
    /// The ends of the lines for which the open variations are given.
    outer: Vec<End>,
}

/// Where a line grows.
#[derive(Copy, Clone, Debug)]
struct End {
    node: Link,
    /// Of the node: its last comment or escape, and its last variation.
    last_text: Link,
    last_variation: Link,
}

impl End {
    const fn at(node: Link) -> End {
        End { node, last_text: Link::NONE, last_variation: Link::NONE }
    }
}

impl Default for GameBuilder {
    fn default() -> GameBuilder {
        GameBuilder::new()
    }
}

impl GameBuilder {
    /// Begins a game from the start array.
    pub fn new() -> GameBuilder {
        GameBuilder {
            game: Game::new(),
            replay: Replay::new(&Start::ARRAY),
            end: End::at(Link(0)),
            outer: Vec::new(),
        }
    }

    /// Begins another game and keeps the memory of the one before.
    pub fn reset(&mut self) {
        self.game.clear();
        self.end = End::at(Link(0));
        self.outer.clear();
        self.replay = Replay::new(&self.game.start);
    }

    /// The game as it is so far.
    pub const fn game(&self) -> &Game {
        &self.game
    }

    /// The game, when no variation is open.
    ///
    /// # Errors
    /// [`BuildError::VariationOpen`].
    pub fn finish(self) -> Result<Game, BuildError> {
        if self.outer.is_empty() { Ok(self.game) } else { Err(BuildError::VariationOpen) }
    }

    /// The number of variations that are open.
    pub fn depth(&self) -> usize {
        self.outer.len()
    }

    /// Says where the first move will be made. The tags are the business of the caller
    /// ([`Start`]).
    pub fn set_start(&mut self, start: Start) {
        self.game.start = start;
        self.replay = Replay::new(&start);
    }

    /// Gives a tag a value, in place of any it had. A `Result` that is none of the four counts as
    /// `*`.
    ///
    /// # Errors
    /// [`BuildError::TagName`], [`BuildError::ControlCharacter`], [`BuildError::TooManyTags`],
    /// [`BuildError::TooLarge`].
    pub fn set_tag(&mut self, name: &str, value: &str) -> Result<(), BuildError> {
        self.put_tag(name, value, true).map(drop)
    }

    /// Gives a tag a value if it has none, and says whether it had none.
    ///
    /// # Errors
    /// As [`GameBuilder::set_tag`].
    pub fn add_tag(&mut self, name: &str, value: &str) -> Result<bool, BuildError> {
        self.put_tag(name, value, false)
    }

    /// Says whether the tag has the value now.
    fn put_tag(&mut self, name: &str, value: &str, replace: bool) -> Result<bool, BuildError> {
        if !is_tag_name(name) {
            return Err(BuildError::TagName);
        }
        if value.contains(|c: char| c.is_ascii_control()) {
            return Err(BuildError::ControlCharacter);
        }
        if let Some(place) = place_in_roster(name) {
            if self.game.roster[place].is_some() && !replace {
                return Ok(false);
            }
            self.game.roster[place] = Some(self.game.keep(value)?);
            return Ok(true);
        }
        match self.game.find_tag(name) {
            Ok(_) if !replace => return Ok(false),
            Ok(place) => self.game.other_tags[place].1 = self.game.keep(value)?,
            Err(_) if self.game.other_tags.len() >= MAX_TAGS => Err(BuildError::TooManyTags)?,
            Err(place) => {
                let tag = (self.game.keep(name)?, self.game.keep(value)?);
                self.game.other_tags.insert(place, tag);
            }
        }
        Ok(true)
    }

    /// Sets the `Result` tag.
    ///
    /// # Errors
    /// [`BuildError::TooLarge`].
    pub fn set_result(&mut self, result: GameResult) -> Result<(), BuildError> {
        self.set_tag(SEVEN_TAG_ROSTER[RESULT], result.as_str())
    }

    /// Where the line has come to; `None` when no moves can be made from the start.
    pub const fn replay(&self) -> Option<&Replay> {
        self.replay.as_ref()
    }

    /// Whether the line has a move, so that NAGs and variations may follow.
    pub fn has_move(&self) -> bool {
        self.game.is_move(self.end.node)
    }

    /// Makes a move in the line.
    ///
    /// # Errors
    /// [`BuildError::Illegal`], [`BuildError::NotPlayable`], [`BuildError::TooLarge`].
    pub fn play(&mut self, mv: Move) -> Result<(), BuildError> {
        let replay = self.replay.as_ref().ok_or(BuildError::NotPlayable)?;
        if !replay.playable().is_legal(mv) {
            return Err(BuildError::Illegal);
        }
        self.play_legal(mv)
    }

    /// [`GameBuilder::play`] for a move that is known to be legal.
    pub(crate) fn play_legal(&mut self, mv: Move) -> Result<(), BuildError> {
        let replay = self.replay.as_mut().ok_or(BuildError::NotPlayable)?;
        if let (false, Some(outer)) = (self.game.is_move(self.end.node), self.outer.last_mut()) {
            self.game.add_variation(outer, self.end.node)?;
        }
        let node = self.game.push_node(Some(mv))?;
        replay.play(mv);
        self.game.nodes[self.end.node.0 as usize].next = node;
        self.end = End::at(node);
        Ok(())
    }

    /// Adds a NAG to the last move; one that it has already counts once.
    ///
    /// # Errors
    /// [`BuildError::NagPlace`], [`BuildError::TooLarge`].
    pub fn add_nag(&mut self, nag: u8) -> Result<(), BuildError> {
        if !self.has_move() {
            return Err(BuildError::NagPlace);
        }
        let before = self.game.last_nag(self.end.node, nag);
        let same = |note: &Note| matches!(note.kind, NoteKind::Nag(other) if other == nag);
        if !before.get().and_then(|place| self.game.notes.get(place)).is_some_and(same) {
            self.game.insert_note(self.end.node, before, NoteKind::Nag(nag))?;
        }
        Ok(())
    }

    /// Adds a comment to the last move, or before the first of the line. White space is squeezed,
    /// control characters count as white space; nothing is added when nothing is left.
    ///
    /// # Errors
    /// [`BuildError::TooLarge`].
    pub fn add_comment(&mut self, comment: &str) -> Result<(), BuildError> {
        let text = &mut self.game.text;
        let start = text.len();
        let blanks = comment.bytes().take_while(|byte| *byte == b' ').count();
        let comment = &comment[blanks..];
        let blanks = comment.bytes().rev().take_while(|byte| *byte == b' ').count();
        let comment = &comment[..comment.len() - blanks];
        if is_squeezed(comment.as_bytes()) {
            text.push_str(comment);
        } else {
            let is_space = |c: char| c.is_ascii_control() || c == ' ';
            for word in comment.split(is_space).filter(|word| !word.is_empty()) {
                if text.len() > start {
                    text.push(' ');
                }
                text.push_str(word);
            }
        }
        if text.len() == start {
            return Ok(());
        }
        let span = self.game.span_from(start)?;
        self.game.add_text(&mut self.end, NoteKind::Comment(span))
    }

    /// Adds what followed a `%` in column 1, without the end of the line.
    ///
    /// # Errors
    /// [`BuildError::ControlCharacter`] for a line end or NUL in it, [`BuildError::TooLarge`].
    pub fn add_escape(&mut self, escape: &str) -> Result<(), BuildError> {
        if escape.contains(['\n', '\r', '\0']) {
            return Err(BuildError::ControlCharacter);
        }
        let span = self.game.keep(escape)?;
        self.game.add_text(&mut self.end, NoteKind::Escape(span))
    }

    /// Begins a variation: a line in place of the last move. It is part of the game from its first
    /// move on.
    ///
    /// # Errors
    /// [`BuildError::VariationPlace`], [`BuildError::TooDeep`], [`BuildError::TooLarge`].
    pub fn begin_variation(&mut self) -> Result<(), BuildError> {
        let replay = self.replay.as_mut().filter(|_| self.game.is_move(self.end.node));
        let replay = replay.ok_or(BuildError::VariationPlace)?;
        if self.outer.len() >= MAX_VARIATION_DEPTH {
            return Err(BuildError::TooDeep);
        }
        let head = self.game.push_node(None)?;
        replay.begin_variation();
        self.outer.push(std::mem::replace(&mut self.end, End::at(head)));
        Ok(())
    }

    /// Ends a variation. One without a move stays open: it can still get one, or be dissolved.
    ///
    /// # Errors
    /// [`BuildError::VariationEnd`], [`BuildError::VariationEmpty`].
    pub fn end_variation(&mut self) -> Result<(), BuildError> {
        if self.outer.is_empty() {
            return Err(BuildError::VariationEnd);
        }
        if !self.has_move() {
            return Err(BuildError::VariationEmpty);
        }
        self.close();
        Ok(())
    }

    /// Ends a variation without a move, and gives its comments to the move before it. Does nothing
    /// when the line has a move.
    ///
    /// # Errors
    /// [`BuildError::VariationEnd`], [`BuildError::TooLarge`].
    pub fn dissolve_variation(&mut self) -> Result<(), BuildError> {
        if self.outer.is_empty() {
            return Err(BuildError::VariationEnd);
        }
        if self.has_move() {
            return Ok(());
        }
        let mut next = self.game.nodes[self.end.node.0 as usize].notes;
        self.close();
        while let Some(note) = next.get().map(|place| self.game.notes[place]) {
            self.game.add_text(&mut self.end, note.kind)?;
            next = note.next;
        }
        Ok(())
    }

    fn close(&mut self) {
        if let (Some(outer), Some(replay)) = (self.outer.pop(), &mut self.replay) {
            replay.end_variation();
            self.end = outer;
        }
    }
}

/// Whether white space in a text is single blanks, with none at the ends.
fn is_squeezed(text: &[u8]) -> bool {
    let mut after_blank = true;
    for &byte in text {
        if byte < b' ' || byte == 0x7f || (byte == b' ' && after_blank) {
            return false;
        }
        after_blank = byte == b' ';
    }
    !after_blank
}

/// How the lists grow.
impl Game {
    fn is_move(&self, node: Link) -> bool {
        node.get().and_then(|place| self.nodes.get(place)).is_some_and(|node| node.mv.is_some())
    }

    fn push_node(&mut self, mv: Option<Move>) -> Result<Link, BuildError> {
        let link = link(self.nodes.len())?;
        self.nodes.push(Node { mv, ..HEAD });
        Ok(link)
    }

    /// Puts text away.
    fn keep(&mut self, text: &str) -> Result<Span, BuildError> {
        let start = self.text.len();
        self.text.push_str(text);
        self.span_from(start)
    }

    /// All text from a place on.
    fn span_from(&mut self, start: usize) -> Result<Span, BuildError> {
        match (u32::try_from(start), u32::try_from(self.text.len())) {
            (Ok(start), Ok(end)) => Ok(Span { start, end }),
            _ => {
                self.text.truncate(start);
                Err(BuildError::TooLarge)
            }
        }
    }

    /// The last NAG of a node that is not above this one.
    fn last_nag(&self, node: Link, most: u8) -> Link {
        let mut last = Link::NONE;
        let mut next = self.nodes[node.0 as usize].notes;
        while let Some(note) = next.get().map(|place| self.notes[place]) {
            match note.kind {
                NoteKind::Nag(nag) if nag <= most => last = next,
                _ => break,
            }
            next = note.next;
        }
        last
    }

    /// Adds a comment or escape behind the last of its kind.
    fn add_text(&mut self, line: &mut End, kind: NoteKind) -> Result<(), BuildError> {
        let before = match line.last_text {
            Link::NONE => self.last_nag(line.node, u8::MAX),
            last => last,
        };
        line.last_text = self.insert_note(line.node, before, kind)?;
        Ok(())
    }

    /// Adds a variation behind everything that its move has.
    fn add_variation(&mut self, line: &mut End, head: Link) -> Result<(), BuildError> {
        let before = match (line.last_variation, line.last_text) {
            (Link::NONE, Link::NONE) => self.last_nag(line.node, u8::MAX),
            (Link::NONE, text) => text,
            (variation, _) => variation,
        };
        line.last_variation = self.insert_note(line.node, before, NoteKind::Variation(head))?;
        Ok(())
    }

    /// Puts a note behind another one of the same node, or first.
    fn insert_note(
        &mut self,
        node: Link,
        before: Link,
        kind: NoteKind,
    ) -> Result<Link, BuildError> {
        let link = link(self.notes.len())?;
        let next = match before.get() {
            Some(place) => &mut self.notes[place].next,
            None => &mut self.nodes[node.0 as usize].notes,
        };
        let next = std::mem::replace(next, link);
        self.notes.push(Note { kind, next });
        Ok(link)
    }
}

fn link(place: usize) -> Result<Link, BuildError> {
    u32::try_from(place)
        .ok()
        .map(Link)
        .filter(|link| *link != Link::NONE)
        .ok_or(BuildError::TooLarge)
}

/// The position in a line of moves, with a way back out of variations. It checks nothing: the
/// moves that it is given are legal, and a variation begins after a move.
///
/// ```
/// use epdb::model::{Replay, Square, Start, rules::Move};
/// let mut replay = Replay::new(&Start::ARRAY).expect("the start array is playable");
/// replay.play(Move { from: Square::at(6, 0), to: Square::at(5, 2), promotion: None });
/// assert_eq!((replay.ply(), replay.fullmove_number(), replay.halfmove_clock()), (1, 1, 1));
/// ```
#[derive(Clone, Debug)]
pub struct Replay {
    line: Line,
    outer: Vec<Line>,
    start: Start,
}

/// Two places, used in turn: where the line has come to, and, behind a move, where that move was
/// made. A variation begins there.
#[derive(Copy, Clone, Debug)]
struct Line {
    places: [Reached; 2],
    now: usize,
}

#[derive(Copy, Clone, Debug)]
struct Reached {
    position: Position,
    halfmove_clock: u32,
    ply: u32,
}

impl Replay {
    /// At the start of a game; `None` when no moves can be made there.
    pub fn new(start: &Start) -> Option<Replay> {
        let position = match start.position {
            Position::START => Position::START,
            other => *Playable::new(&other)?.position(),
        };
        let now = Reached { position, halfmove_clock: start.counters.halfmove_clock, ply: 0 };
        let line = Line { places: [now; 2], now: 0 };
        Some(Replay { line, outer: Vec::new(), start: *start })
    }

    /// The position that was reached, without an en passant square that no double step can have
    /// left.
    pub const fn position(&self) -> &Position {
        &self.now().position
    }

    /// The position that was reached, with all that its legal moves need.
    pub fn playable(&self) -> Playable {
        Playable::of_playable(&self.now().position)
    }

    /// The number of moves made in the line, from the start of the game.
    pub const fn ply(&self) -> u32 {
        self.now().ply
    }

    /// The number of the next move.
    pub fn fullmove_number(&self) -> u32 {
        let black_began = u32::from(self.start.position.turn() == Color::Black);
        let moves = (self.ply() / 2).saturating_add((self.ply() % 2 + black_began) / 2);
        self.start.counters.fullmove_number.saturating_add(moves)
    }

    /// Plies since the last pawn move or capture.
    pub const fn halfmove_clock(&self) -> u32 {
        self.now().halfmove_clock
    }

    /// Makes a legal move.
    pub fn play(&mut self, mv: Move) {
        let now = self.now();
        let resets = rules::is_zeroing(&now.position, mv);
        let next = Reached {
            position: rules::after(&now.position, mv),
            halfmove_clock: if resets { 0 } else { now.halfmove_clock.saturating_add(1) },
            ply: now.ply.saturating_add(1),
        };
        self.line.now ^= 1;
        self.line.places[self.line.now & 1] = next;
    }

    const fn now(&self) -> &Reached {
        &self.line.places[self.line.now & 1]
    }

    /// Goes back before the last move and remembers the way.
    pub fn begin_variation(&mut self) {
        self.outer.push(self.line);
        self.line.now ^= 1;
    }

    /// Goes to where the last variation began; does nothing when none is open.
    pub fn end_variation(&mut self) {
        if let Some(outer) = self.outer.pop() {
            self.line = outer;
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::model::Square;

    fn mv(text: &[u8; 4]) -> Move {
        let square = |name| Square::from_ascii(name).unwrap();
        Move { from: square(&text[..2]), to: square(&text[2..]), promotion: None }
    }

    fn spell(game: &Game) -> String {
        let mut words = Vec::new();
        for element in game.elements() {
            words.push(match element {
                Element::Move(mv) => format!("{}{}", mv.from, mv.to),
                Element::Nag(nag) => format!("${nag}"),
                Element::Comment(text) => format!("{{{text}}}"),
                Element::Escape(text) => format!("%{text}"),
                Element::VariationBegin => "(".into(),
                Element::VariationEnd => ")".into(),
            });
        }
        words.join(" ")
    }

    /// PGN-44, NAG-05.
    #[test]
    fn annotations_are_put_in_order() {
        let mut builder = GameBuilder::new();
        builder.add_comment(" before\n\tall\0 ").unwrap();
        builder.play(mv(b"e2e4")).unwrap();
        builder.add_comment("a").unwrap();
        builder.begin_variation().unwrap();
        builder.add_comment("first").unwrap();
        builder.play(mv(b"d2d4")).unwrap();
        builder.begin_variation().unwrap();
        builder.play(mv(b"c2c4")).unwrap();
        builder.end_variation().unwrap();
        builder.play(mv(b"d7d5")).unwrap();
        builder.end_variation().unwrap();
        for nag in [9, 3, 200, 9, 0] {
            builder.add_nag(nag).unwrap();
        }
        builder.add_comment("").unwrap();
        builder.add_escape(" x").unwrap();
        builder.begin_variation().unwrap();
        builder.play(mv(b"b2b3")).unwrap();
        builder.end_variation().unwrap();
        builder.add_comment("b").unwrap();
        builder.add_nag(5).unwrap();
        builder.play(mv(b"e7e5")).unwrap();
        let game = builder.finish().unwrap();
        assert_eq!(
            spell(&game),
            "{before all} e2e4 $0 $3 $5 $9 $200 {a} % x {b} ( {first} d2d4 ( c2c4 ) d7d5 ) \
             ( b2b3 ) e7e5"
        );
        assert_eq!(game.main_line().collect::<Vec<_>>(), [mv(b"e2e4"), mv(b"e7e5")]);
    }

    #[test]
    fn what_cannot_stand_is_refused() {
        let mut builder = GameBuilder::new();
        assert_eq!(builder.add_nag(1), Err(BuildError::NagPlace));
        assert_eq!(builder.begin_variation(), Err(BuildError::VariationPlace));
        assert_eq!(builder.end_variation(), Err(BuildError::VariationEnd));
        assert_eq!(builder.play(mv(b"e2e5")), Err(BuildError::Illegal));
        builder.play(mv(b"e2e4")).unwrap();
        builder.begin_variation().unwrap();
        assert_eq!(builder.begin_variation(), Err(BuildError::VariationPlace));
        assert_eq!(builder.end_variation(), Err(BuildError::VariationEmpty));
        builder.add_comment("kept").unwrap();
        assert_eq!(builder.clone().finish(), Err(BuildError::VariationOpen));
        builder.dissolve_variation().unwrap();
        assert_eq!(spell(&builder.finish().unwrap()), "e2e4 {kept}");
    }

    #[test]
    fn tags_are_in_order_and_the_last_value_counts() {
        let mut builder = GameBuilder::new();
        for (name, value) in [("ZZ", "1"), ("White", "w"), ("AA", "2"), ("ZZ", "3")] {
            builder.set_tag(name, value).unwrap();
        }
        let game = builder.finish().unwrap();
        let tags: Vec<_> = game.tags().skip(4).collect();
        let wanted = [("White", "w"), ("Black", "?"), ("Result", "*"), ("AA", "2"), ("ZZ", "3")];
        assert_eq!(tags, wanted);
        assert!(game.has_tag("White") && !game.has_tag("Black") && !game.has_tag("BB"));
    }

    /// No depth of variations needs the stack; and there is a limit for the heap.
    #[test]
    fn deep_variations_are_walked_compared_and_dropped() {
        let mut builder = GameBuilder::new();
        builder.play(mv(b"e2e4")).unwrap();
        for _ in 0..MAX_VARIATION_DEPTH {
            builder.begin_variation().unwrap();
            builder.play(mv(b"d2d4")).unwrap();
        }
        assert_eq!(builder.begin_variation(), Err(BuildError::TooDeep));
        while builder.depth() > 0 {
            builder.end_variation().unwrap();
        }
        let game = builder.finish().unwrap();
        assert_eq!(game.elements().count(), 1 + 3 * MAX_VARIATION_DEPTH);
        assert_eq!(game, game.clone());
    }

    #[test]
    fn counters_follow_the_moves() {
        let counters = Counters { halfmove_clock: 5, fullmove_number: 39 };
        let black = Playable::new(&Position::START).unwrap().after(mv(b"e2e4"));
        let start = Start { position: *black.position(), counters };
        let mut replay = Replay::new(&start).unwrap();
        let mut seen = Vec::new();
        for text in [b"g8f6", b"g1f3", b"e7e5", b"f3e5"] {
            replay.play(mv(text));
            seen.push((replay.ply(), replay.fullmove_number(), replay.halfmove_clock()));
        }
        assert_eq!(seen, [(1, 40, 6), (2, 40, 7), (3, 41, 0), (4, 41, 0)]);
        replay.begin_variation();
        assert_eq!((replay.ply(), replay.fullmove_number()), (3, 41));
        replay.end_variation();
        assert_eq!(replay.ply(), 4);
    }
}
