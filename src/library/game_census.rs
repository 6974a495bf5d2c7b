//! What a collection of games holds, counted.

use std::collections::BTreeMap;

use crate::codec::pgc::{self, PgcEncodeOptions};
use crate::model::{Element, Game, GameResult};
use crate::text::pgn::{self, PgnFormatOptions};

/// How many names of tags are told apart, so that strange files cannot fill the memory.
const MOST_NAMES: usize = 10_000;

/// What is inside games.
#[derive(Clone, Default, Debug)]
pub struct GameCensus {
    /// All games.
    pub games: u64,
    /// Moves of main lines, null moves included.
    pub plies: u64,
    /// Null moves, those of variations included.
    pub null_moves: u64,
    /// Moves of the longest main line.
    pub longest: u64,
    /// Games with a FEN tag.
    pub set_up: u64,
    /// Games whose start only Chess960 knows.
    pub chess960: u64,
    /// Games by result, in the order of [`GameResult::ALL`].
    pub results: [u64; 4],
    /// Variations, those inside others included.
    pub variations: u64,
    /// Moves in variations.
    pub variation_plies: u64,
    /// Comments.
    pub comments: u64,
    /// Their bytes in UTF-8.
    pub comment_bytes: u64,
    /// NAGs.
    pub nags: u64,
    /// `%` lines.
    pub escapes: u64,
    /// How many games give each tag, of the first 10,000 names that are met.
    pub tags: BTreeMap<String, u64>,
    /// Tags of other names.
    pub other_tags: u64,
    /// Bytes in export format.
    pub pgn_bytes: u64,
    /// Bytes in PGC, with what escape records carry, of the games that it can say.
    pub pgc_bytes: u64,
    /// Moves of the games that PGC can say, variations included.
    pub pgc_moves: u64,
    /// Games that PGC cannot say.
    pub not_in_pgc: u64,
    buffer: Vec<u8>,
}

impl GameCensus {
    /// Counts a game.
    pub fn add(&mut self, game: &Game) {
        self.games += 1;
        self.set_up += u64::from(game.tag("FEN").is_some());
        self.chess960 += u64::from(game.start().position.is_chess960());
        if let Some(place) = GameResult::ALL.iter().position(|result| *result == game.result()) {
            self.results[place] += 1;
        }
        for (name, _) in game.tags().filter(|(name, _)| game.has_tag(name)) {
            let is_full = self.tags.len() >= MOST_NAMES;
            match self.tags.get_mut(name) {
                Some(count) => *count += 1,
                None if is_full => self.other_tags += 1,
                None => {
                    self.tags.insert(name.to_owned(), 1);
                }
            }
        }
        let (mut depth, mut plies, mut variation_plies) = (0, 0, 0);
        for element in game.elements() {
            self.null_moves += u64::from(element == Element::NullMove);
            match element {
                Element::Move(_) | Element::NullMove if depth == 0 => plies += 1,
                Element::Move(_) | Element::NullMove => variation_plies += 1,
                Element::Nag(_) => self.nags += 1,
                Element::Comment(text) => {
                    self.comments += 1;
                    self.comment_bytes += text.len() as u64;
                }
                Element::Escape(_) => self.escapes += 1,
                Element::VariationBegin => {
                    self.variations += 1;
                    depth += 1;
                }
                Element::VariationEnd => depth -= 1,
            }
        }
        self.plies += plies;
        self.variation_plies += variation_plies;
        self.longest = self.longest.max(plies);
        self.measure(game, plies + variation_plies);
    }

    fn measure(&mut self, game: &Game, moves: u64) {
        self.buffer.clear();
        // UTF-8 can say every game.
        pgn::format(game, &PgnFormatOptions::default(), &mut self.buffer).ok();
        self.pgn_bytes += self.buffer.len() as u64;
        self.buffer.clear();
        match pgc::encode(game, &PgcEncodeOptions::EXTENDED, &mut self.buffer) {
            Ok(_) => {
                self.pgc_bytes += self.buffer.len() as u64;
                self.pgc_moves += moves;
            }
            Err(_) => self.not_in_pgc += 1,
        }
    }
}
