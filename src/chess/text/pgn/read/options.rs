//! Settings of the reader of games.

use crate::text::Profile;
use crate::text::charset::Charset;
use crate::text::pgn::language::Language;

/// Settings of [`GameReader`](super::GameReader).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PgnReadOptions {
    /// The faults that are accepted and repaired. `Strict` accepts only the export format, and
    /// `Standard` the import format of the standard. `Lenient` accepts files as they are found in
    /// practice, with a warning for each repair; it is the default.
    pub profile: Profile,
    /// The language of the piece letters.
    pub language: Language,
    /// The character set; `None` if each text tells it. If it is not Latin-1, each text is read as
    /// UTF-8, or as Windows-1252 if it is not valid UTF-8.
    pub charset: Option<Charset>,
    /// True if the values of all standard tags are checked, with a warning for each fault. By
    /// default only dates and ratings are checked.
    pub check_tags: bool,
    /// The maximum number of bytes of a game; longer games are not kept in memory. A game seldom
    /// needs more memory than ten times its bytes. The default is 16 MiB.
    pub limit: usize,
    /// True if a game is cut short at a move of its main line that cannot be played. Then the moves
    /// before it are kept and the rest becomes a comment. If false, the game is refused.
    ///
    /// If `None`, the lenient profile cuts such games short, unless the move is the first of the
    /// game. The other profiles refuse them.
    pub truncate: Option<bool>,
}

impl PgnReadOptions {
    /// Whether a game is cut short at a move that cannot be played, behind moves or not.
    pub(super) fn cuts_short(&self, has_moves: bool) -> bool {
        self.truncate.unwrap_or(has_moves && self.profile == Profile::Lenient)
    }
}

impl Default for PgnReadOptions {
    fn default() -> PgnReadOptions {
        PgnReadOptions {
            profile: Profile::Lenient,
            language: Language::ENGLISH,
            charset: None,
            check_tags: false,
            limit: 16 << 20,
            truncate: None,
        }
    }
}
