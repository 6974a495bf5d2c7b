//! Names of the positions of games.

use foldhash::{HashMap, HashMapExt};

use super::table::{Names, OpeningName};
use crate::model::{Element, EpdRecord, Game, Position, Replay};

/// Names positions of games: by the last position on the line that leads to them that has a name.
///
/// The positions of a game come one behind the other, so the way through it is kept until another
/// game comes.
#[derive(Clone, Debug)]
pub struct LineNames<'n> {
    names: &'n Names,
    /// The game of the last position.
    game: Game,
    /// The names of its positions, by the number of the next move too: a position that comes again may
    /// have another way behind it.
    by_place: HashMap<(u32, Position), &'n OpeningName>,
}

impl<'n> LineNames<'n> {
    /// Names by this table.
    pub fn new(names: &'n Names) -> LineNames<'n> {
        LineNames { names, game: Game::new(), by_place: HashMap::new() }
    }

    /// The name of a position, which may be one of a game. Where lines of a game meet, the main line counts,
    /// else the first.
    pub fn get(&mut self, record: &EpdRecord, game: Option<&Game>) -> Option<&'n OpeningName> {
        let own = self.names.get(record.position());
        let Some(game) = game.filter(|_| own.is_none()) else { return own };
        if self.game != *game {
            self.game = game.clone();
            self.by_place.clear();
            self.follow_lines();
        }
        let next_move = record.counters().1?;
        self.by_place.get(&(next_move, record.position().identity())).copied()
    }

    /// Walks through all lines of the game.
    fn follow_lines(&mut self) {
        let Some(mut replay) = Replay::new(self.game.start()) else { return };
        let mut last = self.names.get(replay.position());
        // The name where the last move was made, to which a variation goes back.
        let mut before = None;
        let mut outer = Vec::new();
        for element in self.game.elements() {
            match element {
                Element::Move(mv) => {
                    replay.play(mv);
                    before = last;
                    if replay.is_behind_null_move() {
                        continue;
                    }
                    last = self.names.get(replay.position()).or(last);
                    let Some(name) = last else { continue };
                    let place = (replay.fullmove_number(), replay.position().identity());
                    if outer.is_empty() {
                        self.by_place.insert(place, name);
                    } else {
                        self.by_place.entry(place).or_insert(name);
                    }
                }
                Element::NullMove => {
                    replay.play_null_move();
                    before = last;
                }
                Element::VariationBegin => {
                    outer.push((last, before));
                    last = before;
                    replay.begin_variation();
                }
                Element::VariationEnd => {
                    (last, before) = outer.pop().unwrap_or_default();
                    replay.end_variation();
                }
                Element::Nag(_) | Element::Comment(_) | Element::Escape(_) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]

    use super::*;
    use crate::text::pgn::{self, GameReader, PgnReadOptions, PositionOptions};

    const TABLE: &str = "eco\tname\tpgn\n\
        A40\tQueen's Pawn\t1. d4\n\
        A46\tIndian\t1. d4 Nf6 2. Nf3\n\
        B00\tKing's Pawn\t1. e4\n\
        C20\tOpen\t1. e4 e5\n";

    /// The move played in each position, and its code.
    fn codes(pgn: &str) -> Vec<String> {
        let mut names = Names::new();
        names.add_bytes("a.tsv", TABLE).unwrap();
        let mut lines = LineNames::new(&names);
        let mut reader = GameReader::new(pgn.as_bytes(), PgnReadOptions::default());
        let options = PositionOptions::new().variations(true);
        let mut codes = Vec::new();
        while let Some(read) = reader.next_game().unwrap() {
            let game = read.game.expect("a good game");
            for record in pgn::positions(game, &options) {
                let played = record.text_of(crate::model::Opcode::SM).unwrap_or_default();
                let code = lines.get(&record, Some(game)).map_or("-", OpeningName::eco);
                codes.push(format!("{} {code}", String::from_utf8_lossy(&played)));
            }
        }
        codes
    }

    #[test]
    fn variations_go_on_from_where_they_begin() {
        let game = "1. e4 e5 (1... c5 2. Nf3 (2. c3 d5)) 2. Nf3 *";
        let wanted = ["e4 -", "e5 B00", "Nf3 B00", "d5 B00", " B00", " B00", "Nf3 C20", " C20"];
        let mut codes = codes(game);
        let mut wanted = wanted.map(String::from).to_vec();
        codes.sort();
        wanted.sort();
        assert_eq!(codes, wanted);
    }

    #[test]
    fn names_end_before_null_moves() {
        assert_eq!(codes("1. d4 Nf6 2. -- e6 *"), ["d4 -", "Nf6 A40", " A40"]);
        let game = "1. d4 -- (1... Nf6 2. Nf3) 2. Nf3 Nf6 *";
        assert_eq!(codes(game), ["d4 -", " A40", "Nf3 A40", " A46"]);
    }

    #[test]
    fn games_on_one_line_are_told_apart() {
        let codes = codes("1. d4 Nf6 2. Nf3 e6 * 1. Nf3 Nf6 2. d4 e6 * 1. Nf3 e6 2. d4 Nf6 *");
        let wanted = ["d4 -", "Nf6 A40", "Nf3 A40", "e6 A46", " A46"];
        assert_eq!(codes[..5], wanted);
        assert_eq!(codes[5..10], ["Nf3 -", "Nf6 -", "d4 -", "e6 A46", " A46"]);
        assert_eq!(codes[10..], ["Nf3 -", "e6 -", "d4 -", "Nf6 -", " -"]);
    }
}
