//! Invariants of reading arbitrary bytes as games, for the fuzz targets and for tests with `seeds`.

use epdb_chess::codec::pgc::{
    Explainer, PgcEncodeError, PgcEncodeOptions, PgcReader, Records, encode,
};
use epdb_chess::model::Game;
use epdb_chess::text::pgn::{GameReader, PgnFormatOptions, PgnReadOptions, format};

const WITHOUT_ESCAPES: PgcEncodeOptions = PgcEncodeOptions::EXTENDED;
const EXT: PgcEncodeOptions = PgcEncodeOptions { escapes: true, ..WITHOUT_ESCAPES };
const PLAIN: PgcEncodeOptions =
    PgcEncodeOptions { extended: false, drop_comments: true, ..WITHOUT_ESCAPES };
/// More than this a game of PGC may not have, so that the bytes at hand can reach the limit.
const LIMIT: usize = 1 << 20;

/// Any bytes as PGN: no panic, nothing lost, and what was read is written, read and packed again
/// unchanged.
pub(super) fn pgn(bytes: &[u8]) {
    let mut reader = GameReader::new(bytes, PgnReadOptions::default());
    let mut raw = Vec::new();
    while let Some(read) = reader.next_game().expect("memory does not fail") {
        raw.extend_from_slice(read.raw);
        let Ok(game) = read.game else { continue };
        let exported = export(game, true);
        let again = read_pgn(&exported);
        assert_eq!(&again, game);
        assert_eq!(export(&again, true), exported);

        // The extended form says every game, unless one byte cannot number its moves.
        let mut pgc = Vec::new();
        match encode(game, &EXT, &mut pgc) {
            Err(error) => assert!(matches!(error, PgcEncodeError::Ordinal255 { .. })),
            Ok(_) => {
                let again = read_pgc(&pgc);
                assert_eq!(&again, game);
                assert_eq!(packed(&again, &EXT), pgc);
            }
        }
    }
    assert!(bytes.starts_with(&raw));
}

/// Any bytes as PGC: no panic, and every game that is read has one canonical form, which says the
/// same game in bytes and in text. The standard's form, where it can say the game but for its comments,
/// is read again as it is.
pub(super) fn pgc(bytes: &[u8]) {
    let mut records = Records::new(bytes);
    let mut explainer = Explainer::new();
    while let Ok(Some(located)) = records.next_record() {
        explainer.meaning(&located.record);
    }
    let mut reader = PgcReader::new(bytes, LIMIT);
    while let Some(read) = reader.next_game().expect("memory does not fail") {
        let Ok(game) = read.game else { continue };
        let (pgc, text) = (packed(game, &WITHOUT_ESCAPES), export(game, false));
        assert_eq!(export(&read_pgc(&pgc), false), text);
        assert_eq!(packed(&read_pgn(&text), &WITHOUT_ESCAPES), pgc);

        let mut plain = Vec::new();
        match encode(game, &PLAIN, &mut plain) {
            Ok(_) => assert_eq!(packed(&read_pgc(&plain), &PLAIN), plain),
            Err(PgcEncodeError::NullMove { .. }) => assert!(game.has_null_move()),
            Err(error) => assert!(!matches!(error, PgcEncodeError::Ordinal255 { .. })),
        }
    }
}

fn export(game: &Game, escapes: bool) -> Vec<u8> {
    let mut out = Vec::new();
    let options = PgnFormatOptions { escapes, ..Default::default() };
    format(game, &options, &mut out).expect("UTF-8 says every game");
    out
}

fn packed(game: &Game, options: &PgcEncodeOptions) -> Vec<u8> {
    let mut out = Vec::new();
    encode(game, options, &mut out).expect("PGC said it");
    out
}

fn read_pgn(text: &[u8]) -> Game {
    let mut reader = GameReader::new(text, PgnReadOptions::default());
    let read = reader.next_game().expect("memory does not fail").expect("a game");
    read.game.expect("what was written is read").clone()
}

fn read_pgc(bytes: &[u8]) -> Game {
    let mut reader = PgcReader::new(bytes, usize::MAX);
    let read = reader.next_game().expect("memory does not fail").expect("a game");
    read.game.expect("what was written is read").clone()
}
