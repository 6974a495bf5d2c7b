//! Names in records and in the tags of games.

use super::table::OpeningName;
use crate::model::{BuildError, EpdRecord, Game, Opcode, Operand, Operation};

/// The tags that hold the parts of a name.
const NAME_TAGS: [&str; 3] = ["Opening", "Variation", "SubVariation"];
/// The opcodes that hold them.
const NAME_OPCODES: [Opcode; 3] = [Opcode::V0, Opcode::V1, Opcode::V2];

/// How names are written: what is there stays, unless it is to be replaced. Nothing is put beside another
/// code, or a code beside another name.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct Naming {
    /// Codes and names that are there go.
    pub replace: bool,
}

impl Naming {
    /// Writes the code as `eco` and the whole name as `v0`; says whether the record is another now.
    /// Quotation marks become apostrophes. With a name that is replaced its variations go (`v1`, `v2`).
    pub fn name_record(self, record: &mut EpdRecord, name: &OpeningName) -> bool {
        let named = [string(Opcode::ECO, name.eco()), string(Opcode::V0, name.name())];
        let is_other = |opcode: &Opcode| {
            let wanted = named.iter().find(|operation| operation.opcode == *opcode);
            record
                .operands(*opcode)
                .is_some_and(|there| wanted.is_none_or(|wanted| there[..] != wanted.operands[..]))
        };
        if !self.replace && [Opcode::ECO].iter().chain(&NAME_OPCODES).any(is_other) {
            return false;
        }
        let before = record.clone();
        NAME_OPCODES.iter().for_each(|opcode| drop(record.remove(*opcode)));
        named.into_iter().for_each(|operation| drop(record.set(operation)));
        *record != before
    }

    /// The game with the code as `ECO` and the parts of the name as `Opening`, `Variation` and
    /// `SubVariation`; `None` when it is as it was. Tags that say nothing, such as `?`, count as missing.
    ///
    /// # Errors
    /// As [`Game::set_tag`].
    pub fn name_game(self, game: &Game, name: &OpeningName) -> Result<Option<Game>, BuildError> {
        let parts = NAME_TAGS.into_iter().zip(name.parts());
        let tags: Vec<_> = [("ECO", Some(name.eco()))].into_iter().chain(parts).collect();
        let is_other = |(tag, value): &(&str, Option<&str>)| match game.tag(tag) {
            None | Some("" | "?" | "-") => false,
            there => there != *value,
        };
        let is_named = tags.iter().all(|(tag, value)| game.tag(tag) == *value);
        if is_named || !self.replace && tags.iter().any(is_other) {
            return Ok(None);
        }
        let mut named = game.clone();
        for (tag, value) in tags {
            match value {
                Some(value) => named.set_tag(tag, value)?,
                None => named.remove_tag(tag),
            }
        }
        Ok(Some(named))
    }
}

fn string(opcode: Opcode, text: &str) -> Operation {
    Operation { opcode, operands: vec![Operand::string(text.replace('"', "'"))] }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::super::table::Names;
    use super::*;
    use crate::model::{GameBuilder, Position};

    fn name(text: &str) -> OpeningName {
        let mut names = Names::new();
        names.add_bytes("a.tsv", format!("eco\tname\tpgn\nB90\t{text}\t1. e4\n")).unwrap();
        let after = Position::START.identity();
        assert!(names.get(&after).is_none());
        let e4 = "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq -";
        names.get(&e4.parse().unwrap()).unwrap().clone()
    }

    #[test]
    fn values_that_are_there_stay_unless_they_are_replaced() {
        let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -";
        let najdorf = name("Sicilian: \"Najdorf\", English");
        for (replace, before, wanted) in [
            (false, "", " eco \"B90\"; v0 \"Sicilian: 'Najdorf', English\";"),
            (false, " eco \"B90\";", " eco \"B90\"; v0 \"Sicilian: 'Najdorf', English\";"),
            (false, " eco \"A00\";", " eco \"A00\";"),
            (false, " eco \"A00\"; v1 \"x\";", " eco \"A00\"; v1 \"x\";"),
            (true, " eco \"A00\"; v1 \"x\";", " eco \"B90\"; v0 \"Sicilian: 'Najdorf', English\";"),
        ] {
            let mut record = crate::parse_epd(format!("{start}{before}").as_bytes()).unwrap();
            let changed = Naming { replace }.name_record(&mut record, &najdorf);
            let after = String::from_utf8(crate::format_epd(&record)).unwrap();
            assert_eq!(after, format!("{start}{wanted}"));
            assert_eq!(changed, before != wanted);
        }
    }

    #[test]
    fn tags_of_games_have_the_parts_of_names() {
        let najdorf = name("Sicilian: Najdorf");
        let tags = |game: &Game| {
            let tags = game.tags().skip(7).map(|(name, value)| format!("{name} {value}"));
            tags.collect::<Vec<_>>().join(", ")
        };
        for (replace, before, wanted) in [
            (false, vec![], Some("ECO B90, Opening Sicilian, Variation Najdorf")),
            (
                false,
                vec![("ECO", "?"), ("SubVariation", "")],
                Some("ECO B90, Opening Sicilian, Variation Najdorf"),
            ),
            (false, vec![("Opening", "French")], None),
            (
                false,
                vec![("ECO", "B90"), ("Variation", "?")],
                Some("ECO B90, Opening Sicilian, Variation Najdorf"),
            ),
            (false, vec![("ECO", "A00"), ("Variation", "x")], None),
            (
                true,
                vec![("ECO", "A00"), ("SubVariation", "x"), ("Variation", "y")],
                Some("ECO B90, Opening Sicilian, Variation Najdorf"),
            ),
            (true, vec![("ECO", "B90"), ("Opening", "Sicilian"), ("Variation", "Najdorf")], None),
        ] {
            let mut builder = GameBuilder::new();
            for (tag, value) in &before {
                builder.set_tag(tag, value).unwrap();
            }
            let game = builder.finish().unwrap();
            let named = Naming { replace }.name_game(&game, &najdorf).unwrap();
            assert_eq!(named.as_ref().map(tags).as_deref(), wanted, "{before:?}");
        }
    }
}
