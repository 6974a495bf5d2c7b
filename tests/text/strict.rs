//! The strict profile accepts only canonical text, and names each deviation.

use epdb_chess::text::epd::Line;
use epdb_chess::text::{Profile, fen};

use crate::{normalise, read};

const S: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -";

#[track_caller]
fn refused(line: &str, code: &str, column: usize, part: &str) {
    let (result, _) = read(line.as_bytes(), Profile::Strict);
    let Err(error) = result else { panic!("{result:?}") };
    assert_eq!((error.code, error.column), (code, column), "{error}");
    assert!(error.message.contains(part), "{error}");
}

#[test]
fn canonical_records_are_taken() {
    for line in [
        S.to_string(),
        format!("{S} acn 5; bm Nf3 e4; c0 \"a; b\"; c1; hmvc 0; id \"x\"; noop b a \"z\" 007;"),
        "8/8/8/8/8/8/8/8 w - - Zz;".into(),
        "4k3/8/8/8/8/8/8/RR2K2R w KB -".into(),
    ] {
        assert_eq!(normalise(&line, Profile::Strict).0, Ok(line));
    }
    assert_eq!(read(b"", Profile::Strict).0, Ok(Line::Blank));
}

#[test]
fn anything_else_is_refused_with_its_place() {
    refused(" ", "E-EPD-NONCANON", 1, "end of the line");
    refused(&format!("{S} "), "E-EPD-NONCANON", 53, "end of the line");
    refused(&S.replace("8/8/8", "44/8/8"), "E-EPD-NONCANON", 19, "`8/8/8");
    refused(&S.replace("KQkq", "QKkq"), "E-EPD-NONCANON", 47, "`KQkq -`");
    refused(&S.replace("KQkq", "HAha"), "E-EPD-NONCANON", 47, "`KQkq -`");
    refused(&S.replace("KQkq -", "KQkq nil"), "E-EPD-NONCANON", 52, "`-`");
    refused(&format!("{S} 0 1"), "E-EPD-NONCANON", 54, "`fmvn 1; hmvc 0;`");
    refused(&format!("{S} bm e4"), "E-EPD-NONCANON", 59, "`;`");
    refused(&format!("{S} bm e4 d4;"), "E-EPD-NONCANON", 57, "`d4 e4;`");
    refused(&format!("{S} bm e4; acn 5;"), "E-EPD-NONCANON", 54, "`acn 5; bm e4;`");
    refused(&format!("{S} acn 05;"), "E-EPD-NONCANON", 58, "`5;`");
    refused(&format!("{S} id x;"), "E-EPD-NONCANON", 57, "`\"x\";`");
    refused(&format!("{S} bm Ng1f3;"), "E-MOVE-NONCANON", 57, "canonical");
    refused(&format!("{S} bm g1f3;"), "E-MOVE-SYNTAX", 57, "Nbd7");
    refused(&format!("{S} bm Nf3+;"), "E-MOVE-NONCANON", 57, "canonical");
    refused(&format!("{S} # x"), "E-EPD-OPCODE", 54, "letter");
    refused(&format!("\u{feff}{S}"), "E-EPD-CTRL", 1, "byte order mark");
    refused(&format!("{S} id \"{}\";", "x".repeat(4096)), "E-EPD-LINELEN", 4096, "4095");
}

/// Text that lenient accepts and standard refuses.
#[test]
fn standard_refuses_what_the_documents_do_not_allow() {
    for (line, code) in [
        (format!("\u{feff}{S}"), "E-EPD-CTRL"),
        (format!("{S}\0"), "E-EPD-CTRL"),
        (format!("{S} c0 \"a\tb\";"), "E-EPD-CTRL"),
        (format!("{S} Zz é;"), "E-EPD-CTRL"),
        (format!("{S} id é;"), "E-EPD-CTRL"),
        (format!("{S} bm e4 dm 5;"), "E-MOVE-SYNTAX"),
        (format!("{S} id Position 1;"), "E-EPD-ARITY"),
        (format!("{S} ce +M5;"), "E-EPD-TYPE"),
        (format!("{S} bm #5;"), "E-MOVE-SYNTAX"),
        (format!("{S} 0 0"), "E-FEN-FMVN"),
        (format!("{S} [0.5]"), "E-EPD-OPCODE"),
        (format!("{S},20,400"), "E-FEN-EP"),
        // Field 4 ends at a blank
        (format!("{S};bm e4;"), "E-FEN-EP"),
    ] {
        assert_eq!(normalise(&line, Profile::Standard).0, Err(code), "{line}");
    }
    let taken = format!("{S} c0 \"Müller\";");
    assert_eq!(normalise(&taken, Profile::Standard), (Ok(taken), vec![]));
}

#[test]
fn strict_fens_are_canonical() {
    for text in [
        "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
        "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq e3 0 1",
        "rnbqkbnr/pp1ppppp/8/2p5/4P3/8/PPPP1PPP/RNBQKBNR w KQkq c6 0 2",
        "rnbqkbnr/pp1ppppp/8/2p5/4P3/5N2/PPPP1PPP/RNBQKB1R b KQkq - 1 2",
        "4k3/8/8/8/8/8/4P3/4K3 w - - 5 39",
    ] {
        for profile in [Profile::Strict, Profile::Standard, Profile::Lenient] {
            let record = fen::parse(text.as_bytes(), profile).expect(text);
            assert_eq!(epdb_chess::format_epd(&record), text.as_bytes());
        }
    }
    let refused = |text: &str| {
        let error = fen::parse(text.as_bytes(), Profile::Strict).expect_err(text);
        (error.code, error.column)
    };
    assert_eq!(refused("4k3/8/8/8/8/8/4P3/4K3 w - - 05 39"), ("E-FEN-NONCANON", 29));
    assert_eq!(refused("4k3/8/8/8/8/8/4P3/4K3  w - - 5 39"), ("E-FEN-NONCANON", 23));
    assert_eq!(refused("4k3/8/8/8/8/8/4P3/4K3 w - -"), ("E-FEN-FIELDS", 1));
}
