//! Games that are nearly equal: the same players, whose names may be spelled differently, and moves that are
//! equal for long enough.

use super::same_game;
use epdb_chess::model::Game;

/// Letters with accents, and letters that replace them.
const ACCENTS: [(&str, &str); 23] = [
    ("àáâãäåāăą", "a"),
    ("æ", "ae"),
    ("çćĉċč", "c"),
    ("ďđð", "d"),
    ("èéêëēĕėęě", "e"),
    ("ĝğġģ", "g"),
    ("ĥħ", "h"),
    ("ìíîïĩīĭįı", "i"),
    ("ĵ", "j"),
    ("ķ", "k"),
    ("ĺļľŀł", "l"),
    ("ñńņňŉ", "n"),
    ("òóôõöøōŏő", "o"),
    ("œ", "oe"),
    ("ŕŗř", "r"),
    ("śŝşšșş", "s"),
    ("ß", "ss"),
    ("ţťŧț", "t"),
    ("þ", "th"),
    ("ùúûüũūŭůűų", "u"),
    ("ŵ", "w"),
    ("ýÿŷ", "y"),
    ("źżž", "z"),
];

/// The surname and the first initial of a player, in small letters without accents and signs. `ae`, `oe` and
/// `ue` become one letter, as they may stand for an umlaut.
///
/// ```
/// use epdb_library::near_games::folded_name;
/// assert_eq!(folded_name("Hübner, Robert"), "hubner r");
/// assert_eq!(folded_name("Robert HUEBNER"), folded_name("Huebner, R."));
/// ```
pub fn folded_name(name: &str) -> String {
    let (surname, initial) = folded_parts(name);
    surname.into_iter().chain(initial.map(String::from)).collect::<Vec<_>>().join(" ")
}

/// The surname of [`folded_name`] without the initial.
pub(super) fn folded_surname(name: &str) -> String {
    folded_parts(name).0.join(" ")
}

/// The words of the surname, and the first initial.
fn folded_parts(name: &str) -> (Vec<String>, Option<char>) {
    let mut plain = String::new();
    for letter in name.chars().flat_map(char::to_lowercase) {
        if letter.is_ascii() {
            plain.push(letter);
            continue;
        }
        match ACCENTS.iter().find(|(accented, _)| accented.contains(letter)) {
            Some((_, letters)) => plain += letters,
            None if ('\u{300}'..='\u{36f}').contains(&letter) => {}
            None => plain.push(letter),
        }
    }
    let plain = plain.replace("ae", "a").replace("oe", "o").replace("ue", "u");
    let words = |text: &str| -> Vec<String> {
        let words = text.split(|letter: char| !letter.is_alphanumeric() && letter != '\'');
        words.filter(|word| !word.is_empty()).map(String::from).collect()
    };
    let (surname, given) = match plain.split_once(',') {
        Some((surname, given)) => (words(surname), words(given)),
        None => {
            let mut all = words(&plain);
            let ends_with_initial = all.last().is_some_and(|last| last.chars().count() == 1);
            // Without a comma the surname is last, except before an initial.
            let given = if ends_with_initial { all.pop() } else { None };
            match (given, all.len()) {
                (Some(given), _) => (all, vec![given]),
                (None, 0 | 1) => (all, Vec::new()),
                (None, count) => (all.split_off(count - 1), all),
            }
        }
    };
    (surname, given.first().and_then(|word| word.chars().next()))
}

/// Bytes of a game for [`are_near`]. Games of the same players have keys that follow each other in order.
pub(super) fn key(game: &Game) -> Vec<u8> {
    let names = ["White", "Black"].map(|tag| folded_name(game.tag(tag).unwrap_or_default()));
    let names = names.join("\0");
    let plies = game.plies().count();
    let line = same_game::main_line(game);
    let (start, moves) = line.split_at(line.len() - 2 * plies);
    let players = [names.as_bytes(), start].concat();
    [&(players.len() as u64).to_be_bytes(), &players[..], moves].concat()
}

/// Whether the games of two keys have the same players and start, and then the same first `plies`. If one of
/// the games is shorter, the other one has all of its moves. A game without moves is near to none.
pub(super) fn are_near(one: &[u8], other: &[u8], plies: usize) -> bool {
    let (Some((players, moves)), Some((other_players, other_moves))) = (split(one), split(other))
    else {
        return false;
    };
    // A move has two bytes.
    let needed = moves.len().min(other_moves.len()).min(plies.saturating_mul(2));
    players == other_players && needed > 0 && moves[..needed] == other_moves[..needed]
}

/// The players and the start in a key, and the moves.
fn split(key: &[u8]) -> Option<(&[u8], &[u8])> {
    let (len, rest) = key.split_first_chunk()?;
    rest.split_at_checked(usize::try_from(u64::from_be_bytes(*len)).ok()?)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use epdb_chess::text::pgn::{GameReader, PgnReadOptions};

    #[test]
    fn spellings_of_a_name_are_folded() {
        for (name, folded) in [
            ("Carlsen, Magnus", "carlsen m"),
            ("CARLSEN, M.", "carlsen m"),
            ("Magnus Carlsen", "carlsen m"),
            ("Carlsen M", "carlsen m"),
            ("Carlsen", "carlsen"),
            ("Böök, Eero", "book e"),
            ("Nepomniachtchi,I", "nepomniachtchi i"),
            ("O'Kelly de Galway, Albéric", "o'kelly de galway a"),
            ("Petros\u{301}ian, Tigran V", "petrosian t"),
            ("", ""),
            ("?", ""),
        ] {
            assert_eq!(folded_name(name), folded, "{name}");
        }
    }

    #[test]
    fn games_are_near_if_their_moves_are() {
        let key = |names: &str, moves: &str| {
            let text = format!("[White \"{names}\"] [Black \"B\"] {moves} *");
            let mut reader = GameReader::new(text.as_bytes(), PgnReadOptions::default());
            super::key(reader.next_game().unwrap().unwrap().game.unwrap())
        };
        let long = key("Ann", "1. e4 e5 2. Nf3 Nc6 3. Bb5");
        for (names, moves, is_near) in [
            ("ANN", "1. e4 e5 2. Nf3 Nc6 3. Bb5", true),
            ("ann", "1. e4", true),
            ("Ann", "1. e4 e5 2. Nf3 Nc6 3. Bc4", true),
            ("Ann", "1. e4 e5 2. Nf3 d6 3. Bb5", false),
            ("Ann", "1. e4 c5", false),
            ("Ann", "", false),
            ("Eve", "1. e4", false),
        ] {
            let other = key(names, moves);
            assert_eq!(are_near(&long, &other, 4), is_near, "{names}: {moves}");
            assert_eq!(are_near(&other, &long, 4), is_near, "{names}: {moves}");
        }
        assert!(
            !are_near(&long, b"", 4) && !are_near(b"\xff\xff\xff\xff\xff\xff\xff\xff", &long, 4)
        );
    }
}
