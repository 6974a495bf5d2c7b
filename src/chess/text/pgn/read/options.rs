//! Settings of the reader of games.

use crate::text::Profile;
use crate::text::charset::Charset;
use crate::text::pgn::language::Language;

/// Settings of [`GameReader`](super::GameReader).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PgnReadOptions {
    /// The faults that are accepted and repaired.
    pub profile: Profile,
    /// The language of the piece letters.
    pub language: Language,
    /// The character set; `None` if each text tells it.
    pub charset: Option<Charset>,
    pub(super) checks_tags: bool,
    /// The maximum number of bytes of a game.
    pub limit: usize,
    /// Whether games are cut short at a move that cannot be played; `None` if the profile decides.
    truncate: Option<bool>,
}

impl PgnReadOptions {
    /// The default settings.
    pub const fn new() -> PgnReadOptions {
        PgnReadOptions {
            profile: Profile::Lenient,
            language: Language::ENGLISH,
            charset: None,
            checks_tags: false,
            limit: 16 << 20,
            truncate: None,
        }
    }

    /// Sets the profile. `Strict` accepts only the export format, and `Standard` the import format
    /// of the standard. `Lenient` accepts files as they are found in practice, with a warning for
    /// each repair.
    #[must_use]
    pub const fn profile(mut self, profile: Profile) -> PgnReadOptions {
        self.profile = profile;
        self
    }

    /// Sets the language of the piece letters.
    #[must_use]
    pub const fn language(mut self, language: Language) -> PgnReadOptions {
        self.language = language;
        self
    }

    /// Sets the character set. If it is not Latin-1, each text is read as UTF-8, or as Windows-1252
    /// if it is not valid UTF-8.
    #[must_use]
    pub const fn charset(mut self, charset: Option<Charset>) -> PgnReadOptions {
        self.charset = charset;
        self
    }

    /// Whether the values of all standard tags are checked, with a warning for each fault. By
    /// default only dates and ratings are checked.
    #[must_use]
    pub const fn check_tags(mut self, check: bool) -> PgnReadOptions {
        self.checks_tags = check;
        self
    }

    /// Sets the maximum number of bytes of a game; longer games are not kept in memory. A game
    /// seldom needs more memory than ten times its bytes.
    #[must_use]
    pub const fn limit(mut self, limit: usize) -> PgnReadOptions {
        self.limit = limit;
        self
    }

    /// Whether a game is cut short at a move of its main line that cannot be played. Then the moves
    /// before it are kept and the rest becomes a comment. Otherwise the game is refused.
    ///
    /// By default the lenient profile cuts such games short, unless the move is the first of the
    /// game. The other profiles refuse them.
    #[must_use]
    pub const fn truncate(mut self, truncate: bool) -> PgnReadOptions {
        self.truncate = Some(truncate);
        self
    }

    /// Whether a game is cut short at a move that cannot be played. `has_moves` says whether moves
    /// precede it.
    pub(super) fn cuts_short(&self, has_moves: bool) -> bool {
        self.truncate.unwrap_or(has_moves && self.profile == Profile::Lenient)
    }
}

impl Default for PgnReadOptions {
    fn default() -> PgnReadOptions {
        PgnReadOptions::new()
    }
}
