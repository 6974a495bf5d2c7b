//! The table of codes: each example gives its code, and the page has the table.

use epdb_chess::codec::pgc::{self, PgcEncodeOptions, PgcReader};
use epdb_chess::text::epd::parse_line;
use epdb_chess::text::pgn::{GameReader, PgnReadOptions};
use epdb_chess::text::{ParseOptions, Profile, codes, fen};

use crate::unescape;

const PROFILES: [Profile; 3] = [Profile::Lenient, Profile::Standard, Profile::Strict];

/// The codes that a line of FEN or EPD has in any profile.
fn codes_of_line(line: &[u8]) -> Vec<&'static str> {
    let mut found = Vec::new();
    for options in
        PROFILES.map(|profile| ParseOptions { repair_moves: true, ..ParseOptions::new(profile) })
    {
        let mut warnings = Vec::new();
        for result in [
            parse_line(line, &options, &mut warnings),
            fen::parse_line(line, &options, &mut warnings),
        ] {
            found.extend(result.err().map(|error| error.code));
        }
        found.extend(warnings.iter().map(|warning| warning.code));
    }
    found
}

/// The codes that a game in PGN has in any profile, read and written.
fn codes_of_game(text: &[u8]) -> Vec<&'static str> {
    let mut found = Vec::new();
    for profile in PROFILES {
        let options = PgnReadOptions { profile, ..Default::default() };
        let mut reader = GameReader::new(text, options);
        while let Some(read) = reader.next_game().unwrap() {
            found.extend(read.warnings.iter().map(|warning| warning.diagnostic.code));
            match read.game {
                Err(error) => found.push(error.diagnostic.code),
                Ok(game) => {
                    let written = pgc::encode(game, &PgcEncodeOptions::default(), &mut Vec::new());
                    found.extend(written.err().map(|error| error.code()));
                }
            }
        }
    }
    found
}

/// The codes that bytes of PGC have.
fn codes_of_bytes(digits: &str) -> Vec<&'static str> {
    let digits: Vec<u32> = digits.chars().filter_map(|digit| digit.to_digit(16)).collect();
    let bytes: Vec<u8> = digits
        .chunks(2)
        .map(|pair| pair.iter().fold(0, |byte, digit| byte * 16 + *digit as u8))
        .collect();
    let mut reader = PgcReader::new(&bytes[..], 1 << 20);
    let mut found = Vec::new();
    while let Some(read) = reader.next_game().unwrap() {
        found.extend(read.game.err().map(|error| error.kind.code()));
    }
    found
}

#[test]
fn each_example_has_its_code() {
    // In strict, the error for these is that the game is not in export format.
    let without = [codes::E_PGN_TAGDUP, codes::E_PGN_MOVENUM];
    let is_short = |entry: &&codes::Code| !entry.example.contains('…');
    let mut wrong = Vec::new();
    for entry in codes::ALL.iter().filter(|it| is_short(it) && !without.contains(&it.code)) {
        let example = unescape(entry.example);
        let found = match &entry.code[1..5] {
            "-PGN" => codes_of_game(&example),
            "-PGC" => [codes_of_game(&example), codes_of_bytes(entry.example)].concat(),
            _ => codes_of_line(&example),
        };
        if !found.contains(&entry.code) {
            wrong.push((entry.code, entry.example, found));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The part of the page between its marks is the table, as `epdb help codes` prints it.
#[test]
fn the_page_has_the_table() {
    let page = include_str!("../../formats/notes/codes.md");
    let (_, part) = page.split_once("<!-- codes -->\n").expect("a mark before the codes");
    assert_eq!(part.trim(), codes::page().trim());
}

/// No text that names options of the command line, which a library does not know.
#[test]
fn the_table_names_no_option() {
    for entry in codes::ALL {
        let texts = [entry.meaning, entry.done, entry.advice];
        assert!(texts.iter().all(|text| !text.contains(" --") && !text.contains("`--")));
        assert!(texts.iter().all(|text| !text.is_empty()));
    }
}
