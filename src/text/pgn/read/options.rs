//! What a reader of games takes.

use crate::text::Profile;
use crate::text::pgn::charset::Charset;
use crate::text::pgn::language::Language;

/// What a reader of games takes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PgnReadOptions {
    /// `Strict`: exactly the export format; `Standard`: what the standard's import format allows;
    /// `Lenient`: files as they are found, each repair a warning.
    pub profile: Profile,
    /// Whose letters stand for the pieces.
    pub language: Language,
    /// The character set. When none is declared each text is read as UTF-8 if it is that, and as
    /// Latin-1 if not.
    pub charset: Option<Charset>,
    /// The most bytes that one game may have; more are not kept in memory. What a game needs in
    /// memory is seldom more than ten times its bytes.
    pub limit: usize,
    /// Of a game whose main line has a move that cannot be made, the moves before it are taken and
    /// the rest becomes a comment. Else such a game is refused.
    pub truncate: bool,
}

impl Default for PgnReadOptions {
    fn default() -> PgnReadOptions {
        PgnReadOptions {
            profile: Profile::Lenient,
            language: Language::ENGLISH,
            charset: None,
            limit: 16 << 20,
            truncate: false,
        }
    }
}
