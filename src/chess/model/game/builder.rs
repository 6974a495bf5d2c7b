//! Building games piece by piece.

use super::lists::{BuildError, End, Link, MAX_VARIATION_DEPTH, NoteKind, Step};
use super::replay::Replay;
use super::result::GameResult;
use super::tags::{RESULT, SEVEN_TAG_ROSTER};
use super::{Game, Start};
use crate::model::rules::Move;
use crate::model::square::Role;

/// Builds a game piece by piece, in reading order. The annotations of a move are put into order:
/// NAGs first, ascending and each once, then comments and escapes, then variations.
#[derive(Clone, Debug)]
pub struct GameBuilder {
    game: Game,
    replay: Option<Replay>,
    end: End,
    /// The ends of the lines that have an open variation, the main line first.
    outer: Vec<End>,
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

    /// Begins another game and reuses the memory of the previous one.
    pub fn reset(&mut self) {
        self.game.clear();
        self.end = End::at(Link(0));
        self.outer.clear();
        self.replay = Replay::new(&self.game.start);
    }

    /// The game as built so far.
    pub const fn game(&self) -> &Game {
        &self.game
    }

    /// Exchanges the game for another one, whose memory is reused for the next game. Call
    /// [`GameBuilder::reset`] before you build the next game.
    pub const fn swap_game(&mut self, game: &mut Game) {
        std::mem::swap(&mut self.game, game);
    }

    /// Returns the game. No variation may be open.
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

    /// Sets the position of the first move. The tags do not change. The caller must set a `FEN` tag
    /// with this position.
    pub fn set_start(&mut self, start: Start) {
        self.game.start = start;
        self.replay = Replay::new(&start);
    }

    /// Sets the value of a tag and replaces an old value. A `Result` other than the four of the
    /// standard counts as `*`.
    ///
    /// # Errors
    /// [`BuildError::TagName`], [`BuildError::ControlCharacter`], [`BuildError::TooManyTags`],
    /// [`BuildError::TooLarge`].
    pub fn set_tag(&mut self, name: &str, value: &str) -> Result<(), BuildError> {
        self.game.set_tag(name, value)
    }

    /// Removes a tag. A tag of the seven tag roster is not removed but set to its value for unknown facts,
    /// such as `?`. The start of the game does not change.
    pub fn remove_tag(&mut self, name: &str) {
        self.game.remove_tag(name);
    }

    /// Sets the value of a tag that has no value yet. Returns false if the tag already has a value.
    ///
    /// # Errors
    /// The errors of [`GameBuilder::set_tag`].
    pub fn add_tag(&mut self, name: &str, value: &str) -> Result<bool, BuildError> {
        let replaces = false;
        self.game.put_tag(name, value, replaces)
    }

    /// Does the same as [`GameBuilder::add_tag`], for a name and a value that are known to be
    /// valid.
    pub(crate) fn add_checked_tag(&mut self, name: &str, value: &str) -> Result<bool, BuildError> {
        let replaces = false;
        self.game.put_checked_tag(name, value, replaces)
    }

    /// Sets the `Result` tag.
    ///
    /// # Errors
    /// [`BuildError::TooLarge`].
    pub fn set_result(&mut self, result: GameResult) -> Result<(), BuildError> {
        self.set_tag(SEVEN_TAG_ROSTER[RESULT], result.as_str())
    }

    /// Position at the end of the line; `None` if no moves can be made from the start.
    pub const fn replay(&self) -> Option<&Replay> {
        self.replay.as_ref()
    }

    /// Whether the line has a move, so that NAGs and variations may follow.
    pub fn has_move(&self) -> bool {
        self.game.lists.is_move(self.end.node)
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

    /// Does the same as [`GameBuilder::play`], for a move that is known to be legal.
    pub(crate) fn play_legal(&mut self, mv: Move) -> Result<(), BuildError> {
        self.put_move(mv, None)
    }

    /// Does the same as [`GameBuilder::play_legal`], given the role of the piece. `role` is `None`
    /// if the role is not known, or if the move is castling.
    #[inline(always)]
    pub(crate) fn put_move(&mut self, mv: Move, role: Option<Role>) -> Result<(), BuildError> {
        self.put_step(Step::Move(mv))?.make(mv, role);
        Ok(())
    }

    /// Makes a null move in the line: the side to move passes.
    ///
    /// # Errors
    /// [`BuildError::NullMoveInCheck`], [`BuildError::NotPlayable`], [`BuildError::TooLarge`].
    pub fn play_null_move(&mut self) -> Result<(), BuildError> {
        let replay = self.replay.as_ref().ok_or(BuildError::NotPlayable)?;
        if replay.playable().is_check() {
            return Err(BuildError::NullMoveInCheck);
        }
        self.put_step(Step::NullMove)?.play_null_move();
        Ok(())
    }

    /// Adds a step to the line. The caller makes it in the position that is returned.
    #[inline(always)]
    fn put_step(&mut self, step: Step) -> Result<&mut Replay, BuildError> {
        let replay = self.replay.as_mut().ok_or(BuildError::NotPlayable)?;
        // The first move of a variation makes it part of the game.
        if let Some(outer) = self.outer.last_mut()
            && !self.game.lists.is_move(self.end.node)
        {
            self.game.lists.add_variation(outer, self.end.node)?;
        }
        let node = self.game.lists.push_node(step)?;
        self.game.lists.nodes[self.end.node.0 as usize].next = node;
        self.end = End::at(node);
        Ok(replay)
    }

    /// Adds a NAG to the last move, unless the move has it already.
    ///
    /// # Errors
    /// [`BuildError::NagPlace`], [`BuildError::TooLarge`].
    pub fn add_nag(&mut self, nag: u8) -> Result<(), BuildError> {
        if !self.has_move() {
            return Err(BuildError::NagPlace);
        }
        let lists = &mut self.game.lists;
        let before = lists.last_nag(self.end.node, nag);
        let last = before.get().and_then(|place| lists.notes.get(place));
        let has_it = last.is_some_and(|last| matches!(last.kind, NoteKind::Nag(n) if n == nag));
        if !has_it {
            lists.insert_note(self.end.node, before, NoteKind::Nag(nag))?;
        }
        Ok(())
    }

    /// Adds a comment to the last move, or before the first move of the line. Control characters
    /// count as white space. White space at both ends is removed; elsewhere, adjacent white space
    /// becomes one blank. A comment that is then empty is not added.
    ///
    /// # Errors
    /// [`BuildError::TooLarge`].
    pub fn add_comment(&mut self, comment: &str) -> Result<(), BuildError> {
        if self.add_plain_comment(comment)? {
            return Ok(());
        }
        let text = &mut self.game.lists.text;
        let start = text.len();
        let is_space = |c: char| c.is_ascii_control() || c == ' ';
        for word in comment.split(is_space).filter(|word| !word.is_empty()) {
            if text.len() > start {
                text.push(' ');
            }
            text.push_str(word);
        }
        if text.len() == start {
            return Ok(());
        }
        let span = self.game.lists.span_from(start)?;
        self.game.lists.add_text(&mut self.end, NoteKind::Comment(span))
    }

    /// Adds a comment as [`GameBuilder::add_comment`] does. Returns false, and adds nothing, if the comment is blank
    /// or has white space other than single blanks between its words.
    #[inline]
    pub(crate) fn add_plain_comment(&mut self, comment: &str) -> Result<bool, BuildError> {
        let leading = comment.bytes().take_while(|byte| *byte == b' ').count();
        let comment = &comment[leading..];
        let trailing = comment.bytes().rev().take_while(|byte| *byte == b' ').count();
        let comment = &comment[..comment.len() - trailing];
        if !is_squeezed(comment.as_bytes()) {
            return Ok(false);
        }
        let span = self.game.lists.keep(comment)?;
        self.game.lists.add_text(&mut self.end, NoteKind::Comment(span))?;
        Ok(true)
    }

    /// Adds an escape: the text after a `%` in column 1, without the line end.
    ///
    /// # Errors
    /// [`BuildError::ControlCharacter`] for a line end or NUL in it, [`BuildError::TooLarge`].
    pub fn add_escape(&mut self, escape: &str) -> Result<(), BuildError> {
        if escape.contains(['\n', '\r', '\0']) {
            return Err(BuildError::ControlCharacter);
        }
        let span = self.game.lists.keep(escape)?;
        self.game.lists.add_text(&mut self.end, NoteKind::Escape(span))
    }

    /// Begins a variation: a line that replaces the last move. The variation becomes part of the
    /// game with its first move.
    ///
    /// # Errors
    /// [`BuildError::VariationPlace`], [`BuildError::TooDeep`], [`BuildError::TooLarge`].
    pub fn begin_variation(&mut self) -> Result<(), BuildError> {
        if !self.has_move() {
            return Err(BuildError::VariationPlace);
        }
        let replay = self.replay.as_mut().ok_or(BuildError::VariationPlace)?;
        if self.outer.len() >= MAX_VARIATION_DEPTH {
            return Err(BuildError::TooDeep);
        }
        let head = self.game.lists.push_node(Step::Head)?;
        replay.begin_variation();
        self.outer.push(self.end);
        self.end = End::at(head);
        Ok(())
    }

    /// Ends a variation. A variation without a move stays open, so that a move can still be added.
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

    /// Ends a variation without a move, and adds the variation's comments to the last move of the
    /// outer line. Does nothing if the variation has a move.
    ///
    /// # Errors
    /// [`BuildError::VariationEnd`], [`BuildError::TooLarge`].
    pub(crate) fn dissolve_variation(&mut self) -> Result<(), BuildError> {
        if self.outer.is_empty() {
            return Err(BuildError::VariationEnd);
        }
        if self.has_move() {
            return Ok(());
        }
        let mut next = self.game.lists.nodes[self.end.node.0 as usize].notes;
        self.close();
        while let Some(note) = next.get().map(|place| self.game.lists.notes[place]) {
            self.game.lists.add_text(&mut self.end, note.kind)?;
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

/// Whether a text without blanks at its ends has no white space except single blanks between words; false if it
/// is empty. The loops have no early exit, so the compiler can use vectors.
fn is_squeezed(text: &[u8]) -> bool {
    let Some((_, after_first)) = text.split_first() else { return false };
    let has_control = text.iter().fold(false, |any, byte| any | (*byte < b' ') | (*byte == 0x7f));
    let mut has_blanks = false;
    for (byte, next) in text.iter().zip(after_first) {
        has_blanks |= (*byte == b' ') & (*next == b' ');
    }
    !has_control && !has_blanks
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::model::Element;

    fn spell(game: &Game) -> String {
        let mut words = Vec::new();
        for element in game.elements() {
            words.push(match element {
                Element::Move(mv) => format!("{}{}", mv.from, mv.to),
                Element::NullMove => "--".into(),
                Element::Nag(nag) => format!("${nag}"),
                Element::Comment(text) => format!("{{{text}}}"),
                Element::Escape(text) => format!("%{text}"),
                Element::VariationBegin => "(".into(),
                Element::VariationEnd => ")".into(),
            });
        }
        words.join(" ")
    }

    #[test]
    fn annotations_are_put_in_order() {
        let mut builder = GameBuilder::new();
        builder.add_comment(" before\n\tall\0 ").unwrap();
        builder.play("e2e4".parse().unwrap()).unwrap();
        builder.add_comment("a").unwrap();
        builder.begin_variation().unwrap();
        builder.add_comment("first").unwrap();
        builder.play("d2d4".parse().unwrap()).unwrap();
        builder.begin_variation().unwrap();
        builder.play("c2c4".parse().unwrap()).unwrap();
        builder.end_variation().unwrap();
        builder.play("d7d5".parse().unwrap()).unwrap();
        builder.end_variation().unwrap();
        for nag in [9, 3, 200, 9, 0] {
            builder.add_nag(nag).unwrap();
        }
        builder.add_comment("").unwrap();
        builder.add_escape(" x").unwrap();
        builder.begin_variation().unwrap();
        builder.play("b2b3".parse().unwrap()).unwrap();
        builder.end_variation().unwrap();
        builder.add_comment("b").unwrap();
        builder.add_nag(5).unwrap();
        builder.play("e7e5".parse().unwrap()).unwrap();
        let game = builder.finish().unwrap();
        assert_eq!(
            spell(&game),
            "{before all} e2e4 $0 $3 $5 $9 $200 {a} % x {b} ( {first} d2d4 ( c2c4 ) d7d5 ) \
             ( b2b3 ) e7e5"
        );
        assert_eq!(
            game.main_line().collect::<Vec<_>>(),
            ["e2e4".parse().unwrap(), "e7e5".parse().unwrap()]
        );
    }

    #[test]
    fn what_cannot_stand_is_refused() {
        let mut builder = GameBuilder::new();
        assert_eq!(builder.add_nag(1), Err(BuildError::NagPlace));
        assert_eq!(builder.begin_variation(), Err(BuildError::VariationPlace));
        assert_eq!(builder.end_variation(), Err(BuildError::VariationEnd));
        assert_eq!(builder.play("e2e5".parse().unwrap()), Err(BuildError::Illegal));
        builder.play("e2e4".parse().unwrap()).unwrap();
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

    /// Nested variations of any depth do not use the stack, and the limit bounds the heap.
    #[test]
    fn deep_variations_are_walked_compared_and_dropped() {
        let mut builder = GameBuilder::new();
        builder.play("e2e4".parse().unwrap()).unwrap();
        for _ in 0..MAX_VARIATION_DEPTH {
            builder.begin_variation().unwrap();
            builder.play("d2d4".parse().unwrap()).unwrap();
        }
        assert_eq!(builder.begin_variation(), Err(BuildError::TooDeep));
        while builder.depth() > 0 {
            builder.end_variation().unwrap();
        }
        let game = builder.finish().unwrap();
        assert_eq!(game.elements().count(), 1 + 3 * MAX_VARIATION_DEPTH);
        assert_eq!(game, game.clone());
    }
}
