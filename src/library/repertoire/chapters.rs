//! Chapters of a study: each game with its own lines and tags.

use std::collections::BTreeMap;

use super::graph::Repertoire;
use super::records::{CHAPTER, number, quoted, unquoted};
use super::tree::{Tree, TreeOptions};
use epdb_chess::error::{Error, Result};
use epdb_chess::model::{
    Color, Counters, EpdRecord, Game, Opcode, Operand, Operation, Start, UNKNOWN_TAG_VALUES,
};

/// The side that the value of an `Orientation` tag names.
pub fn orientation(value: &str) -> Option<Color> {
    match value.to_ascii_lowercase().as_str() {
        "white" => Some(Color::White),
        "black" => Some(Color::Black),
        _ => None,
    }
}

/// A chapter: the lines of a game.
#[derive(Clone, Debug)]
pub struct Chapter {
    /// The lines of the chapter.
    pub lines: Repertoire,
    start: Option<Start>,
    tags: Vec<(String, String)>,
}

impl Chapter {
    fn new(memory_bytes: usize) -> Chapter {
        Chapter { lines: Repertoire::new(memory_bytes), start: None, tags: Vec::new() }
    }

    /// The value of a tag.
    pub fn tag(&self, name: &str) -> Option<&str> {
        let found = self.tags.iter().find(|(tag, _)| tag == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The side that the chapter's tag `Orientation` names.
    pub fn orientation(&self) -> Option<Color> {
        self.tag("Orientation").and_then(orientation)
    }

    /// The chapter's name: the tag `ChapterName`, or without it the tag `Event`.
    pub fn name(&self) -> &str {
        self.tag("ChapterName").or(self.tag("Event")).unwrap_or(UNKNOWN_TAG_VALUES[0])
    }

    /// The chapter as a game with its tags.
    ///
    /// # Errors
    /// The errors of [`Repertoire::tree`].
    pub fn tree(&self, options: &TreeOptions) -> Result<Tree> {
        self.lines.tree_with_tags(&self.start.unwrap_or(Start::ARRAY), &self.tags, options)
    }

    /// The records of the chapter's positions, with the number of the chapter. The record of the
    /// first position comes first, and has the tags.
    pub fn records(&self, chapter: u64, side: Color) -> impl Iterator<Item = EpdRecord> {
        let operand = Operand::token(chapter.to_string());
        self.lines.records(side).enumerate().map(move |(place, mut record)| {
            record.set(Operation { opcode: CHAPTER, operands: vec![operand.clone()] });
            record.remove(Opcode::PTP);
            if place == 0 && !self.tags.is_empty() {
                let pair = |(name, value): &(String, String)| {
                    [Operand::token(name.as_str()), quoted(value)]
                };
                let operands = self.tags.iter().flat_map(pair).collect();
                record.set(Operation { opcode: Opcode::PTP, operands });
            }
            record
        })
    }

    fn set_tags(&mut self, record: &EpdRecord) {
        let (pairs, _) = record.operands(Opcode::PTP).unwrap_or_default().as_chunks();
        let text = |operand: &Operand| unquoted(&operand.text());
        self.tags = pairs.iter().map(|[name, value]| (text(name), text(value))).collect();
        let counter = |place: usize| {
            let fields = self.tag("FEN")?.split_ascii_whitespace();
            fields.skip(4).nth(place).and_then(|field| number(field.as_bytes()))
        };
        let counters = Counters {
            halfmove_clock: counter(0).unwrap_or(0),
            fullmove_number: counter(1).unwrap_or(1),
        };
        self.start = Some(Start { position: *record.position(), counters });
    }
}

/// Chapters by their numbers, made from games or from records.
#[derive(Clone, Debug)]
pub struct Chapters {
    all: BTreeMap<u64, Chapter>,
    memory_bytes: usize,
}

impl Chapters {
    /// A list without chapters, which uses at most about `memory_bytes`.
    pub fn new(memory_bytes: usize) -> Chapters {
        Chapters { all: BTreeMap::new(), memory_bytes }
    }

    /// Adds a game as the next chapter. Marks of bad moves count for `side`, as in
    /// [`Repertoire::add_game`].
    ///
    /// # Errors
    /// The chapters do not fit into memory.
    pub fn add_game(&mut self, game: &Game, side: Option<Color>) -> Result<()> {
        let mut chapter = Chapter::new(self.memory_bytes);
        chapter.lines.add_game(game, side)?;
        let given = game.tags().filter(|(name, _)| game.has_tag(name));
        chapter.tags = given.map(|(name, value)| (name.to_string(), value.to_string())).collect();
        chapter.start = Some(*game.start());
        self.memory_bytes = self.memory_bytes.saturating_sub(chapter.lines.memory_used());
        let last = self.all.last_key_value().map_or(0, |(number, _)| *number);
        self.all.insert(last + 1, chapter);
        Ok(())
    }

    /// Adds a record to the chapter whose number it has. The first position of a chapter is that of the
    /// record with `ptp`. If no record has `ptp`, it is that of the first record.
    ///
    /// # Errors
    /// The record names no chapter; the chapters do not fit into memory.
    pub fn add_record(&mut self, record: &EpdRecord, min_games: u64) -> Result<()> {
        let chapter = record.text_of(CHAPTER).and_then(|text| number(&text));
        let chapter = chapter.ok_or_else(|| {
            Error::new(format!("the record has no chapter: {}", record.position()))
        })?;
        let memory_bytes = self.memory_bytes;
        let chapter = self.all.entry(chapter).or_insert_with(|| Chapter::new(memory_bytes));
        let before = chapter.lines.memory_used();
        chapter.lines.add_record(record, min_games)?;
        self.memory_bytes = self.memory_bytes.saturating_sub(chapter.lines.memory_used() - before);
        if chapter.start.is_none() || record.operands(Opcode::PTP).is_some() {
            chapter.set_tags(record);
        }
        Ok(())
    }

    /// The chapters with their numbers, in order.
    pub fn all(&self) -> impl Iterator<Item = (u64, &Chapter)> {
        self.all.iter().map(|(number, chapter)| (*number, chapter))
    }
}
