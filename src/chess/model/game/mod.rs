//! Games: tags, moves, variations, annotations.
//!
//! A [`Game`] is a few flat lists without pointers, so that variations of any depth are built,
//! walked, compared and dropped without recursion. [`GameBuilder`] puts games together,
//! [`Replay`] knows the position in the line that is being built or walked.

mod builder;
mod elements;
mod lists;
mod replay;
mod result;
mod tags;

pub use builder::GameBuilder;
pub use elements::{Element, Elements, GameNode};
pub use lists::{BuildError, MAX_VARIATION_DEPTH};
use lists::{Lists, NoteKind, Span, Step};
pub use replay::Replay;
pub use result::{DOUBLE_FORFEIT, GameResult, GameResultError};
pub use tags::UNKNOWN_TAG_VALUES;
pub use tags::WELL_KNOWN_TAGS;
pub use tags::is_well_known_tag;
pub use tags::{MAX_TAGS, SEVEN_TAG_ROSTER, is_tag_name};
use tags::{RESULT, place_in_roster};
pub(crate) use tags::{is_tag_name_byte, without_signs};

use super::position::Position;
use super::record::Counters;
use super::rules::Move;

/// Start position of a game.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct Start {
    /// The position.
    pub position: Position,
    /// The counters of the position.
    pub counters: Counters,
}

impl Start {
    /// The start array: the usual start position of chess, with its counters.
    pub const ARRAY: Start = Start {
        position: Position::START,
        counters: Counters { halfmove_clock: 0, fullmove_number: 1 },
    };
}

/// One game.
///
/// Text is Unicode. The tags of the seven tag roster always have a value. Until they are set, the
/// value is `?`; for the date it is `????.??.??`, for the result `*`.
///
/// ```
/// use epdb_chess::model::{Element, GameBuilder, GameResult, Square, rules::Move};
/// let mut builder = GameBuilder::new();
/// builder.set_tag("White", "Morphy, Paul")?;
/// builder.set_result(GameResult::WhiteWins)?;
/// let e4 = Move { from: Square::at(4, 1), to: Square::at(4, 3), promotion: None };
/// builder.play(e4)?;
/// builder.add_nag(1)?;
/// let game = builder.finish()?;
/// assert_eq!(game.tag("Date"), Some("????.??.??"));
/// assert_eq!(game.elements().collect::<Vec<_>>(), [Element::Move(e4), Element::Nag(1)]);
/// # Ok::<(), epdb_chess::model::BuildError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Game {
    roster: [Option<Span>; 7],
    /// Names and values, in byte order of the names.
    other_tags: Vec<(Span, Span)>,
    start: Start,
    lists: Lists,
}

impl Default for Game {
    fn default() -> Game {
        Game::new()
    }
}

impl Game {
    /// A game from the start array, without moves and tags.
    pub fn new() -> Game {
        Game { roster: [None; 7], other_tags: Vec::new(), start: Start::ARRAY, lists: Lists::new() }
    }

    /// Empties the game and keeps its memory.
    fn clear(&mut self) {
        self.roster = [None; 7];
        self.other_tags.clear();
        self.start = Start::ARRAY;
        self.lists.clear();
    }

    /// Position of the first move. Readers take it from the `FEN` tag.
    pub const fn start(&self) -> &Start {
        &self.start
    }

    /// The result of the game.
    pub fn result(&self) -> GameResult {
        self.roster[RESULT]
            .and_then(|span| GameResult::from_text(self.lists.at(span).as_bytes()))
            .unwrap_or_default()
    }

    /// The termination marker: the result, or [`DOUBLE_FORFEIT`].
    pub fn termination_marker(&self) -> &'static str {
        match self.tag(SEVEN_TAG_ROSTER[RESULT]) {
            Some(DOUBLE_FORFEIT) => DOUBLE_FORFEIT,
            _ => self.result().as_str(),
        }
    }

    /// The value of a tag. Roster tags always have one.
    pub fn tag(&self, name: &str) -> Option<&str> {
        if let Some(place) = place_in_roster(name) {
            return Some(self.roster_tag(place));
        }
        let place = self.find_tag(name).ok()?;
        Some(self.lists.at(self.other_tags[place].1))
    }

    /// The value of a tag of the roster.
    #[inline]
    pub fn roster_tag(&self, place: usize) -> &str {
        self.roster[place].map_or(UNKNOWN_TAG_VALUES[place], |span| self.lists.at(span))
    }

    /// Whether this tag was set.
    pub fn has_tag(&self, name: &str) -> bool {
        match place_in_roster(name) {
            Some(place) => self.roster[place].is_some(),
            None => self.find_tag(name).is_ok(),
        }
    }

    pub(crate) fn has_tags(&self) -> bool {
        self.roster.iter().any(Option::is_some) || !self.other_tags.is_empty()
    }

    /// All tags with their values in the order of the export format: the roster, then the others
    /// in byte order of their names.
    pub fn tags(&self) -> impl Iterator<Item = (&str, &str)> {
        let roster = SEVEN_TAG_ROSTER.iter().enumerate();
        let roster = roster.map(|(place, name)| (*name, self.roster_tag(place)));
        let others = self
            .other_tags
            .iter()
            .map(|(name, value)| (self.lists.at(*name), self.lists.at(*value)));
        roster.chain(others)
    }

    /// Whether the game has variations.
    pub fn has_variations(&self) -> bool {
        self.lists.notes.iter().any(|note| matches!(note.kind, NoteKind::Variation(_)))
    }

    /// The plies of the main line: a move each, or `None` for a null move.
    pub fn plies(&self) -> impl Iterator<Item = Option<Move>> {
        let mut node = self.lists.nodes.first();
        std::iter::from_fn(move || {
            node = self.lists.nodes.get(node?.next.get()?);
            match node?.step {
                Step::Move(mv) => Some(Some(mv)),
                Step::NullMove => Some(None),
                Step::Head => None,
            }
        })
    }

    /// The moves of the main line up to the first null move, because no game reached the positions
    /// after a null move. [`Game::plies`] has all plies.
    pub fn main_line(&self) -> impl Iterator<Item = Move> {
        self.plies().map_while(|ply| ply)
    }

    /// Whether a line of the game has a null move.
    pub fn has_null_move(&self) -> bool {
        self.lists.nodes.iter().any(|node| matches!(node.step, Step::NullMove))
    }

    /// The movetext, variations included.
    pub fn elements(&self) -> Elements<'_> {
        Elements::new(&self.lists)
    }

    /// The node with a [number](GameNode::number).
    pub fn node(&self, number: usize) -> Option<GameNode<'_>> {
        self.lists.nodes.get(number).map(|_| GameNode::new(&self.lists, number))
    }

    /// Sets the value of a tag and replaces an old value. The start of the game does not change,
    /// even if the tag is `FEN`.
    ///
    /// # Errors
    /// The errors of [`GameBuilder::set_tag`].
    pub fn set_tag(&mut self, name: &str, value: &str) -> Result<(), BuildError> {
        let replaces = true;
        self.put_tag(name, value, replaces).map(drop)
    }

    /// Removes a tag. A tag of the seven tag roster is not removed but set to its value for unknown facts,
    /// such as `?`.
    pub fn remove_tag(&mut self, name: &str) {
        if let Some(place) = place_in_roster(name) {
            self.roster[place] = None;
        } else if let Ok(place) = self.find_tag(name) {
            self.other_tags.remove(place);
        }
    }

    /// Sets a tag, unless it has a value and `replaces` is false. Returns whether it was set.
    fn put_tag(&mut self, name: &str, value: &str, replaces: bool) -> Result<bool, BuildError> {
        if !is_tag_name(name) {
            return Err(BuildError::TagName);
        }
        if value.bytes().any(|byte| byte.is_ascii_control()) {
            return Err(BuildError::ControlCharacter);
        }
        self.put_checked_tag(name, value, replaces)
    }

    fn put_checked_tag(
        &mut self,
        name: &str,
        value: &str,
        replaces: bool,
    ) -> Result<bool, BuildError> {
        if let Some(place) = place_in_roster(name) {
            if self.roster[place].is_some() && !replaces {
                return Ok(false);
            }
            self.roster[place] = Some(self.lists.keep(value)?);
            return Ok(true);
        }
        match self.find_tag(name) {
            Ok(_) if !replaces => return Ok(false),
            Ok(place) => self.other_tags[place].1 = self.lists.keep(value)?,
            Err(_) if self.other_tags.len() >= MAX_TAGS => {
                return Err(BuildError::TooManyTags);
            }
            Err(place) => {
                let tag = (self.lists.keep(name)?, self.lists.keep(value)?);
                self.other_tags.insert(place, tag);
            }
        }
        Ok(true)
    }

    fn find_tag(&self, name: &str) -> Result<usize, usize> {
        self.other_tags.binary_search_by(|(other, _)| self.lists.at(*other).cmp(name))
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
