//! Any bytes as PGC: no panic, and every game that is read has one canonical form, which says the
//! same game in bytes and in text.
#![no_main]

use epdb::codec::pgc::{Comments, Explainer, PgcReader, PgcWriteOptions, Records, encode};
use epdb::text::pgn::{GameReader, PgnReadOptions, PgnWriteOptions, write};
use libfuzzer_sys::fuzz_target;

const EXT: PgcWriteOptions =
    PgcWriteOptions { comments: Comments::Carry, escapes: false, translit: false };

fuzz_target!(|bytes: &[u8]| {
    let mut records = Records::new(bytes);
    let mut explainer = Explainer::new();
    while let Ok(Some(located)) = records.next_record() {
        explainer.meaning(&located.record);
    }
    let mut reader = PgcReader::new(bytes, 1 << 20);
    while let Some(read) = reader.next_game().expect("memory does not fail") {
        let Ok(game) = read.game else { continue };
        let mut pgc = Vec::new();
        encode(game, &EXT, &mut pgc).expect("PGC said it");
        let mut text = Vec::new();
        write(game, &PgnWriteOptions::default(), &mut text).expect("UTF-8 says every game");

        let mut decoder = PgcReader::new(&pgc[..], usize::MAX);
        let read = decoder.next_game().expect("memory does not fail").expect("a game");
        let mut again = Vec::new();
        let options = PgnWriteOptions::default();
        write(read.game.expect("what was written is read"), &options, &mut again).expect("UTF-8");
        assert_eq!(again, text);

        let mut parser = GameReader::new(&text[..], PgnReadOptions::default());
        let read = parser.next_game().expect("memory does not fail").expect("a game");
        let mut back = Vec::new();
        encode(read.game.expect("what was written is read"), &EXT, &mut back).expect("again");
        assert_eq!(back, pgc);
    }
});
