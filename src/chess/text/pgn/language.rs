//! Piece letters of seventeen languages, and figurines.

use std::fmt;
use std::str::FromStr;

/// A language whose piece letters can be read and written in moves. Moves that are stored or
/// exchanged have English letters.
///
/// ```
/// use epdb_chess::text::pgn::Language;
/// let german: Language = "German".parse()?;
/// assert_eq!(german.localise(b"Nbxd7+"), b"Sbxd7+");
/// assert_eq!(german.to_english(b"b8=D"), b"b8=Q");
/// # Ok::<(), epdb_chess::text::pgn::UnknownLanguage>(())
/// ```
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct Language {
    name: &'static str,
    /// The letters of pawn, knight, bishop, rook, queen, king.
    letters: [char; 6],
}

const ENGLISH_LETTERS: [u8; 6] = *b"PNBRQK";

const fn language(name: &'static str, letters: [u8; 6]) -> Language {
    let [pawn, knight, bishop, rook, queen, king] = letters;
    let letters =
        [pawn as char, knight as char, bishop as char, rook as char, queen as char, king as char];
    Language { name, letters }
}

impl Language {
    /// The English language.
    pub const ENGLISH: Language = language("English", ENGLISH_LETTERS);

    /// Figurines instead of letters; the white figurines are used for both sides. Readers accept
    /// figurines in every language, and this language also accepts English letters.
    pub const FIGURINE: Language =
        Language { name: "Figurine", letters: ['♙', '♘', '♗', '♖', '♕', '♔'] };

    /// The languages of the standard, in the order of their names.
    pub const ALL: [Language; 17] = [
        language("Czech", *b"PJSVDK"),
        language("Danish", *b"BSLTDK"),
        language("Dutch", *b"OPLTDK"),
        Language::ENGLISH,
        language("Estonian", *b"PROVLK"),
        language("Finnish", *b"PRLTDK"),
        language("French", *b"PCFTDR"),
        language("German", *b"BSLTDK"),
        language("Hungarian", *b"GHFBVK"),
        language("Icelandic", *b"PRBHDK"),
        language("Italian", *b"PCATDR"),
        language("Norwegian", *b"BSLTDK"),
        language("Polish", *b"PSGWHK"),
        language("Portuguese", *b"PCBTDR"),
        language("Romanian", *b"PCNTDR"),
        language("Spanish", *b"PCATDR"),
        language("Swedish", *b"BSLTDK"),
    ];

    /// The English name of the language.
    pub const fn name(self) -> &'static str {
        self.name
    }

    /// Writes a move with the letters of this language in place of the English letters. Castling is
    /// the same in all languages.
    pub fn localise(self, san: &[u8]) -> Vec<u8> {
        if san.starts_with(b"O-O") {
            return san.to_vec();
        }
        let mut local = Vec::with_capacity(san.len());
        for &byte in san {
            let place = ENGLISH_LETTERS.iter().position(|letter| *letter == byte);
            let letter = place.map_or(char::from(byte), |place| self.letters[place]);
            local.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
        }
        local
    }

    /// Reads a move with the letters of this language, and returns it with English letters. Letter
    /// case must be right. An English piece letter that this language does not use becomes `?`. A
    /// piece letter in lower case becomes `?` too, but `b` at the start is read as the b-file.
    pub fn to_english(self, text: &[u8]) -> Vec<u8> {
        if [Language::ENGLISH, Language::FIGURINE].contains(&self) || text.starts_with(b"O-O") {
            return text.to_vec();
        }
        let place_of = |byte: &u8| self.letters.iter().position(|it| *it == char::from(*byte));
        let english = text.iter().map(|letter| match place_of(letter) {
            Some(place) => ENGLISH_LETTERS[place],
            None if ENGLISH_LETTERS.contains(letter) || b"nrqk".contains(letter) => b'?',
            None => *letter,
        });
        let mut english: Vec<u8> = english.collect();
        // `bxc4` becomes `Pbxc4`, which nobody reads as the move of a bishop.
        if matches!(text, [b'b', second, ..] if !second.is_ascii_digit()) {
            english.insert(0, b'P');
        }
        english
    }
}

/// The error for a name that is neither in [`Language::ALL`] nor `figurine`.
#[derive(Copy, Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub struct UnknownLanguage;

impl fmt::Display for UnknownLanguage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = Language::ALL.iter().map(|language| language.name()).collect();
        write!(f, "no such language; there are {}, and Figurine", names.join(", "))
    }
}

impl FromStr for Language {
    type Err = UnknownLanguage;

    /// Parses the English name of a language, or `figurine`, in any letter case.
    fn from_str(name: &str) -> Result<Language, UnknownLanguage> {
        Language::ALL
            .into_iter()
            .chain([Language::FIGURINE])
            .find(|language| language.name.eq_ignore_ascii_case(name))
            .ok_or(UnknownLanguage)
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::expect_used)]

    use super::*;
    use crate::text::{Profile, fen, san};

    #[test]
    fn vectors() {
        let rows = include_str!("../../../../tests/vectors/san_language.tsv").lines().skip(1);
        let mut count = 0;
        for row in rows {
            let fields: Vec<&str> = row.split('\t').collect();
            let [_, name, position, local, canonical] = fields[..] else { panic!("{row}") };
            let language: Language = name.parse().expect("one of seventeen");
            let record = fen::parse(position.as_bytes(), Profile::Standard).expect("a position");
            let playable = crate::model::rules::Playable::new(record.position()).expect("playable");
            let english = language.to_english(local.as_bytes());
            let read = san::parse(&playable, &english, Profile::Standard).expect("a move");
            assert_eq!(read.san.to_string(), canonical, "{row}");
            assert_eq!(language.localise(canonical.as_bytes()), local.as_bytes(), "{row}");
            count += 1;
        }
        assert_eq!(count, 136);
    }

    #[test]
    fn figurines_go_both_ways() {
        let figurine: Language = "figurine".parse().expect("known");
        assert_eq!(figurine, Language::FIGURINE);
        for (san, fan) in [
            ("Nbxd7+", "♘bxd7+"),
            ("bxc8=Q#", "bxc8=♕#"),
            ("Kb1", "♔b1"),
            ("O-O-O", "O-O-O"),
            ("e4", "e4"),
        ] {
            assert_eq!(figurine.localise(san.as_bytes()), fan.as_bytes());
            assert_eq!(figurine.to_english(fan.as_bytes()), fan.as_bytes());
        }
    }

    #[test]
    fn letters_of_other_languages_and_cases_are_refused() {
        let german: Language = "german".parse().expect("known");
        for (text, english) in [("Nf3", "?f3"), ("sf3", "sf3"), ("nf3", "?f3"), ("e8=q", "e8=?")] {
            assert_eq!(german.to_english(text.as_bytes()), english.as_bytes());
        }
        assert_eq!(german.to_english(b"bxc4"), b"Pbxc4");
        assert_eq!(german.to_english(b"b4"), b"b4");
        let dutch: Language = "Dutch".parse().expect("known");
        assert_eq!(dutch.to_english(b"O-O-O"), b"O-O-O");
        assert_eq!(dutch.to_english(b"Oe4"), b"Pe4");
        assert_eq!("Klingon".parse::<Language>(), Err(UnknownLanguage));
    }
}
