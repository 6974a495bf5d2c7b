//! Equality of games: the digests of the page, and the games that a builder counts.

use epdb_chess::text::pgn::{GameReader, PgnReadOptions};
use epdb_library::same_game::SameGame;
use epdb_library::tally::{MergedGames, TallyBuilder, TallyOptions};

/// The digests of games that are counted by a rule, ascending.
fn digests(pgn: &str, same: SameGame) -> Vec<u8> {
    let mut builder = builder(same);
    count(&mut builder, pgn);
    builder.take_games().unwrap().1.to_bytes()
}

fn builder(same: SameGame) -> TallyBuilder {
    let options = TallyOptions { same_game: Some(same), ..TallyOptions::default() };
    TallyBuilder::new(options, std::env::temp_dir(), 1 << 20)
}

fn count(builder: &mut TallyBuilder, pgn: &str) {
    let mut reader = GameReader::new(pgn.as_bytes(), PgnReadOptions::default());
    while let Some(read) = reader.next_game().unwrap() {
        builder.add(read.game.unwrap()).unwrap();
    }
}

/// The start array as a packed identity board.
fn board() -> Vec<u8> {
    let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -";
    let record = epdb_chess::parse_epd(start.as_bytes()).unwrap();
    epdb_chess::codec::packed::encode(&record.position().identity()).as_bytes().to_vec()
}

const TAGS: &str = "[White \"A\"]\n[Black \"B\"]\n[Round \"3\"]\n[Date \"????.??.??\"]\n\
    [UTCDate \"2024.05.06\"]\n[UTCTime \"12:34:56\"]\n[Result \"1-0\"]\n[WhiteElo \"2400\"]\n";

#[test]
fn digests_are_those_of_the_page() {
    // 1. e4 e5: from e2 to e4, from e7 to e5.
    let moves = [[12_u16, 28], [52, 36]].map(|[from, to]| (64 * from + to).to_be_bytes()).concat();
    let of_moves = [b"2024.05.06\x001-0\x00", &board()[..], &moves].concat();
    let players = b"A\0B\0";
    let said = (2400_u32 << 17).to_le_bytes();
    let other = [b"\x024711\0", &of_moves[..]].concat();
    let short = [b"\x03A\0B\x003\x0012:34:56\0", &of_moves[..]].concat();
    let id = b"\x01lichess.org/q7ZvsdUF".to_vec();
    let site = "[Site \"https://lichess.org/q7ZvsdUF/white\"]\n";
    // Finished, two plies, one rating.
    let tied = blake3::hash(&[&of_moves[..], b"2400\0\0\0"].concat());
    let tie = u32::from(u16::from_be_bytes(*tied.as_bytes().first_chunk().unwrap())) & 0x3fff;
    let of_site = (1 << 31 | 1 << 30 | 2 << 16 | 1 << 14 | tie).to_le_bytes();
    for (tags, same, hashed, said) in [
        (site, SameGame::Auto, id, of_site),
        ("[GameId \"4711\"]\n", SameGame::Auto, other, said),
        ("", SameGame::Auto, short, said),
        (site, SameGame::Moves, of_moves.clone(), said),
        (site, SameGame::Players, [players, &of_moves[..]].concat(), said),
    ] {
        let pgn = format!("{tags}{TAGS}\n1. e4 e5 1-0\n\n");
        let wanted = [&blake3::hash(&hashed).as_bytes()[..12], &said].concat();
        assert_eq!(digests(&pgn, same), wanted, "{same:?} {tags}");
    }
    let line = "1. Nf3 Nf6 2. Ng1 Ng8 ".repeat(5);
    let pgn = format!("{TAGS}\n{line} 1-0\n\n");
    let knights = [[6_u16, 21], [62, 45], [21, 6], [45, 62]];
    let knights = knights.map(|[from, to]| (64 * from + to).to_be_bytes()).concat().repeat(5);
    let long = [b"\x042024.05.06\x001-0\x00", &board()[..], &knights].concat();
    let wanted = [&blake3::hash(&long).as_bytes()[..12], &said].concat();
    assert_eq!(digests(&pgn, SameGame::Auto), wanted);
}

#[test]
fn copies_are_compared_in_little_memory_too() {
    let game =
        |white: &str| format!("[White \"{white}\"]\n[Date \"2024.01.01\"]\n\n1. e4 e5 *\n\n");
    let pgn = [game("A"), game("B"), game("A")].concat().repeat(50);
    for memory in [0, 1 << 20] {
        let options = TallyOptions { same_game: Some(SameGame::Moves), ..TallyOptions::default() };
        let mut builder = TallyBuilder::new(options, std::env::temp_dir(), memory);
        count(&mut builder, &pgn);
        let merged = builder.take_merged_games().unwrap();
        assert_eq!(merged, MergedGames { other_names: 50, ..MergedGames::default() });
        assert_eq!((builder.counts().games, builder.counts().duplicates), (1, 149));
        assert_eq!(builder.take_merged_games().unwrap(), MergedGames::default());
    }
}
