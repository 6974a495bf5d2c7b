//! What a reader of games takes.

use crate::text::Profile;
use crate::text::charset::Charset;
use crate::text::pgn::language::Language;

/// What a reader of games takes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PgnReadOptions {
    pub(crate) profile: Profile,
    pub(crate) language: Language,
    pub(crate) charset: Option<Charset>,
    pub(super) checks_tags: bool,
    pub(crate) limit: usize,
    /// `None`: as the profile has it.
    truncate: Option<bool>,
}

impl PgnReadOptions {
    /// The default.
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

    /// `Strict`: exactly the export format; `Standard`: what the standard's import format allows;
    /// `Lenient`: files as they are found, each repair a warning.
    #[must_use]
    pub const fn profile(mut self, profile: Profile) -> PgnReadOptions {
        self.profile = profile;
        self
    }

    /// Whose letters stand for the pieces.
    #[must_use]
    pub const fn language(mut self, language: Language) -> PgnReadOptions {
        self.language = language;
        self
    }

    /// The character set. When Latin-1 is not declared, each text is read as UTF-8 if it is that, and as
    /// Windows-1252 if not.
    #[must_use]
    pub const fn charset(mut self, charset: Option<Charset>) -> PgnReadOptions {
        self.charset = charset;
        self
    }

    /// Whether the values of all tags that the standard knows are checked, each with a warning. Otherwise
    /// only dates and ratings are.
    #[must_use]
    pub const fn check_tags(mut self, check: bool) -> PgnReadOptions {
        self.checks_tags = check;
        self
    }

    /// The most bytes that one game may have; more are not kept in memory. What a game needs in
    /// memory is seldom more than ten times its bytes.
    #[must_use]
    pub const fn limit(mut self, limit: usize) -> PgnReadOptions {
        self.limit = limit;
        self
    }

    /// Whether a game whose main line has a move that cannot be made is cut short: the moves before it
    /// are taken, and the rest becomes a comment. Else such a game is refused.
    ///
    /// When nothing is said the lenient profile cuts games short, unless it is their first move that
    /// cannot be made, and the others refuse them.
    #[must_use]
    pub const fn truncate(mut self, truncate: bool) -> PgnReadOptions {
        self.truncate = Some(truncate);
        self
    }

    /// Whether a game is cut short that has moves before the one that cannot be made, or none.
    pub(super) fn cuts_short(&self, has_moves: bool) -> bool {
        self.truncate.unwrap_or(has_moves && self.profile == Profile::Lenient)
    }
}

impl Default for PgnReadOptions {
    fn default() -> PgnReadOptions {
        PgnReadOptions::new()
    }
}
