//! What can follow the beginning of a line.

use super::session::Session;
use super::verb::Verb;
use crate::codec::ordinal;
use crate::model::rules::Playable;
use crate::model::{Position, StandardOpcode};
use crate::text::{Profile, parse_moves, san};

/// What can complete a line.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Completion {
    /// Words in the place of the one that begins at a byte of the line.
    Words {
        /// Where the word begins.
        start: usize,
        /// The whole words, in order.
        words: Vec<String>,
    },
    /// Names of files.
    Files,
}

/// What can complete the beginning of a line: commands and legal moves, operations, commands to ask
/// about, or files.
///
/// ```
/// use epdb::library::kit::{Completion, Session, complete};
/// let session = Session::new();
/// let words = |line: &str| match complete(&session, line) {
///     Completion::Words { words, .. } => words.join(" "),
///     _ => "files".into(),
/// };
/// assert_eq!(words("N"), "Na3 Nc3 Nf3 Nh3");
/// assert_eq!(words("e4 d"), "d5 d6 d7d5 d7d6");
/// assert_eq!(words("pre"), "previous");
/// assert_eq!(words("open su"), "files");
/// ```
pub fn complete(session: &Session, line: &str) -> Completion {
    let start = line.rfind([' ', '\t']).map_or(0, |blank| blank + 1);
    let (before, begun) = line.split_at(start);
    let (first, behind) = before.trim_start().split_once([' ', '\t']).unwrap_or_default();
    let mut words = match Verb::named(first) {
        None if first.is_empty() => [names(), moves(session.position(), "")].concat(),
        None => moves(session.position(), before),
        Some(Verb::Move) => moves(session.position(), behind),
        Some(Verb::Set) if behind.trim().is_empty() => opcodes(),
        Some(Verb::Remove) => set_opcodes(session),
        Some(Verb::Help) => names(),
        Some(verb) if takes_files(verb) => return Completion::Files,
        Some(_) => Vec::new(),
    };
    words.retain(|word| word.starts_with(begun));
    Completion::Words { start, words }
}

/// Whether a command has names of files behind it.
const fn takes_files(verb: Verb) -> bool {
    matches!(
        verb,
        Verb::Write
            | Verb::Save
            | Verb::Open
            | Verb::Get
            | Verb::Explore
            | Verb::Parents
            | Verb::Games
            | Verb::Tfgg
    )
}

fn names() -> Vec<String> {
    Verb::all().map(|verb| verb.name().to_string()).collect()
}

/// The legal moves after others: their SAN, then their coordinates.
fn moves(start: &Position, played: &str) -> Vec<String> {
    let Ok(played) = parse_moves(start, played.as_bytes(), Profile::Lenient) else {
        return Vec::new();
    };
    let Ok(mut playable) = Playable::new(start) else { return Vec::new() };
    for mv in played {
        playable = playable.after(mv);
    }
    let legal = ordinal::list(&playable);
    let sans = legal.iter().map(|mv| san::format(&playable, *mv).to_string());
    sans.chain(legal.iter().map(|mv| san::uci(&playable, *mv).to_string())).collect()
}

fn opcodes() -> Vec<String> {
    StandardOpcode::ALL.iter().map(|entry| entry.opcode.to_string()).collect()
}

fn set_opcodes(session: &Session) -> Vec<String> {
    let record = session.record().with_counter_operations();
    record.operations().iter().map(|operation| operation.opcode.to_string()).collect()
}
