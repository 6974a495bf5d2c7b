//! Any bytes as PGN: no panic, nothing lost, and what was read is written, read and packed again
//! unchanged.
#![no_main]

use epdb::codec::pgc::{Comments, PgcReader, PgcWriteOptions, encode};
use epdb::model::Game;
use epdb::text::pgn::{GameReader, PgnReadOptions, PgnWriteOptions, write};
use libfuzzer_sys::fuzz_target;

const EXT: PgcWriteOptions =
    PgcWriteOptions { comments: Comments::Carry, escapes: true, translit: false };

fn export(game: &Game) -> Vec<u8> {
    let mut out = Vec::new();
    let options = PgnWriteOptions { escapes: true, ..PgnWriteOptions::default() };
    write(game, &options, &mut out).expect("UTF-8 says every game");
    out
}

fn read_again(text: &[u8]) -> Game {
    let mut reader = GameReader::new(text, PgnReadOptions::default());
    let read = reader.next_game().expect("memory does not fail").expect("a game");
    read.game.expect("what was written is read").clone()
}

fuzz_target!(|bytes: &[u8]| {
    let mut reader = GameReader::new(bytes, PgnReadOptions::default());
    let mut raw = Vec::new();
    while let Some(read) = reader.next_game().expect("memory does not fail") {
        raw.extend_from_slice(read.raw);
        let Ok(game) = read.game else { continue };
        let exported = export(game);
        let again = read_again(&exported);
        assert_eq!(&again, game);
        assert_eq!(export(&again), exported);

        let mut pgc = Vec::new();
        if encode(game, &EXT, &mut pgc).is_ok() {
            let mut decoder = PgcReader::new(&pgc[..], usize::MAX);
            let read = decoder.next_game().expect("memory does not fail").expect("a game");
            let mut back = Vec::new();
            encode(read.game.expect("what was written is read"), &EXT, &mut back).expect("again");
            assert_eq!(back, pgc);
        }
    }
    assert!(bytes.starts_with(&raw));
});
