//! Games in PGC (SPEC section 13).

use epdb::codec::pgc::{self, Comments, PgcReader, PgcWriteOptions};
use epdb::model::{Element, Game, GameBuilder, Square, rules::Move};
use epdb::text::pgn::Charset;

use super::{export, read_game, unescape};
use crate::samples::samples;

const LIMIT: usize = 1 << 24;
const EXT: PgcWriteOptions =
    PgcWriteOptions { comments: Comments::Carry, escapes: false, translit: false };
const EXT_AND_ESCAPES: PgcWriteOptions = PgcWriteOptions { escapes: true, ..EXT };

/// The games of PGC bytes; of those that are refused, `CODE@OFFSET`.
fn decode(bytes: &[u8]) -> Vec<Result<Game, String>> {
    let mut reader = PgcReader::new(bytes, LIMIT);
    let mut games = Vec::new();
    while let Some(read) = reader.next_game().unwrap() {
        games.push(match read.game {
            Ok(game) => Ok(game.clone()),
            Err(error) => Err(format!("{}@{}", error.kind.code(), error.offset)),
        });
    }
    games
}

fn errors(bytes: &[u8]) -> Vec<String> {
    decode(bytes).into_iter().map(|game| game.map_or_else(|error| error, |_| "OK".into())).collect()
}

fn encode(game: &Game, options: &PgcWriteOptions) -> Vec<u8> {
    let mut bytes = Vec::new();
    pgc::encode(game, options, &mut bytes).unwrap();
    bytes
}

fn unhex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    digits
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

/// PGC-20, PGC-25, PGC-27: text and bytes, both ways.
#[test]
fn game_vectors() {
    let rows = include_str!("../vectors/pgc_games.tsv").lines().skip(1);
    let mut count = 0;
    for row in rows {
        let fields: Vec<&str> = row.split('\t').collect();
        let (bytes, text) = (unhex(fields[3]), unescape(fields[4]));
        assert_eq!(bytes.len().to_string(), fields[2], "{}", fields[0]);
        assert_eq!(encode(&read_game(&text), &PgcWriteOptions::default()), bytes, "{}", fields[0]);
        let games = decode(&bytes);
        assert_eq!(games.len(), 1);
        let game = games[0].as_ref().unwrap();
        assert_eq!(export(game, Charset::Latin1), text, "{}", fields[0]);
        count += 1;
    }
    assert_eq!(count, 10);
}

/// PGC-11 to PGC-19, with the place of each error.
#[test]
fn malformed_vectors() {
    let places = [
        ("PGE-v01", "E-PGC-TRUNC@0"),
        ("PGE-v02", "E-PGC-TRUNC@0"),
        ("PGE-v03", "E-PGC-MARKER@0"),
        ("PGE-v04", "E-PGC-ORDINAL@31"),
        ("PGE-v05", "E-PGC-NEST@1"),
        ("PGE-v06", "E-PGC-OUTSIDE@0"),
        ("PGE-v07", "E-PGC-RAVEND@4"),
        ("PGE-v08", "E-PGC-RAVPLACE@1"),
        ("PGE-v09", "E-PGC-RAVEMPTY@5"),
        ("PGE-v10", "E-PGC-TAGORDER@4"),
        ("PGE-v11", "E-PGC-SETUP@10"),
        ("PGE-v12", ""),
        ("PGE-v13", "OK"),
        ("PGE-v14", "OK OK"),
    ];
    let rows = include_str!("../vectors/pgc_malformed.tsv").lines().skip(1);
    let mut count = 0;
    for (row, (id, wanted)) in rows.zip(places) {
        let fields: Vec<&str> = row.split('\t').collect();
        let results = errors(&unhex(fields[2]));
        assert_eq!((fields[0], results.join(" ").as_str()), (id, wanted));
        match fields[3].split_once(':').unwrap() {
            ("OK", number) => assert_eq!(results.len().to_string(), number, "{id}"),
            (_, code) => assert!(results[0].starts_with(&format!("{code}@")), "{id}"),
        }
        count += 1;
    }
    assert_eq!(count, 14);
}

/// PGC-10.
#[test]
fn a_move_over_ordinal_255_has_no_record() {
    for row in include_str!("../vectors/pgc_over255.tsv").lines().skip(1) {
        let fields: Vec<&str> = row.split('\t').collect();
        let text = format!("[FEN \"{}\"]\n\n1. {} *", fields[1], fields[2]);
        let game = read_game(text.as_bytes());
        let mut bytes = Vec::new();
        let result = pgc::encode(&game, &PgcWriteOptions::default(), &mut bytes);
        match fields[4] {
            "OK" => {
                result.unwrap();
                let index: u8 = fields[3].parse().unwrap();
                assert!(bytes.ends_with(&[3, 1, index, 6]));
                assert_eq!(decode(&bytes), [Ok(game)]);
            }
            error => {
                assert_eq!(format!("ERR:{}", result.unwrap_err().code()), error);
                assert!(bytes.is_empty());
            }
        }
    }
}

/// ERR-02: a game that is refused does not take the next one with it.
#[test]
fn the_next_game_is_read() {
    let good = "05 03010d 06";
    let cases = [
        ("05 03 01 c8 03010d 06", "E-PGC-ORDINAL@3"),
        ("05 03 01 0d 08 06", "E-PGC-RAVOPEN@5"),
        ("05 07 01 03010d 06", "E-PGC-NAGPLACE@1"),
        ("05 0201 41 00 0201 41 00 06", "E-PGC-TAGDUP@5"),
        ("05 0200 00 06", "E-PGN-TAG@1"),
        ("05 0201 41 01 0a 06", "E-PGC-CHARSET@1"),
        ("05 0206 526573756c74 01 3f 06", "E-PGN-RESULT@1"),
        ("0a 0100 00 05 06", "E-PGC-CHARSET@0"),
        ("03 00 06 09", "E-PGC-OUTSIDE@0"),
        ("05 03 01 0d", "E-PGC-NEST@4"),
        ("05 0203 46454e 01 78 06", "E-PGC-SETUP@8"),
    ];
    for (bytes, error) in cases {
        let both = unhex(&format!("{bytes} {good}"));
        let seen = errors(&both);
        let wanted =
            if error.contains("CHARSET@0") { vec![error, "OK", "OK"] } else { vec![error, "OK"] };
        assert_eq!(seen, wanted, "{bytes}");
    }
    assert_eq!(errors(&unhex("05 03010d")), ["E-PGC-NOEND@4"]);
    assert_eq!(errors(&unhex("05 0301ff 0b 05 06")), ["E-PGC-ORDINAL@3", "E-PGC-MARKER@4"]);
}

/// PGC-20: every split of the moves is read, one is written.
#[test]
fn every_split_is_read() {
    let canonical = "05 03 04 0d0c0907 06";
    for split in [
        "05 0301 0d 0303 0c0907 06",
        "05 040400 0d0c0907 06",
        "00 05 00 0300 03020d0c 00 040200 0907 0300 06 00",
    ] {
        assert_eq!(decode(&unhex(split)), decode(&unhex(canonical)));
    }
}

/// A game of knight moves to and fro.
fn long_game(plies: usize) -> GameBuilder {
    let square = |name: &[u8]| Square::from_ascii(name).unwrap();
    let path: [(&[u8], &[u8]); 4] =
        [(b"g1", b"f3"), (b"g8", b"f6"), (b"f3", b"g1"), (b"f6", b"g8")];
    let mut builder = GameBuilder::new();
    for (from, to) in path.into_iter().cycle().take(plies) {
        builder.play(Move { from: square(from), to: square(to), promotion: None }).unwrap();
    }
    builder
}

/// PGC-20: where records of moves begin and end.
#[test]
fn long_games_are_cut_at_the_limits_of_their_counts() {
    for (plies, general, heads) in [
        (255, false, vec![]),
        (65_535, false, vec![]),
        (65_536, true, vec![(4u8, 65_535usize), (3, 1)]),
        (66_000, true, vec![(4, 65_535), (4, 465)]),
        (131_070, true, vec![(4, 65_535), (4, 65_535)]),
    ] {
        let mut builder = long_game(plies);
        let game = builder.game().clone();
        let bytes = encode(&game, &PgcWriteOptions::default());
        assert_eq!(bytes[0], if general { 5 } else { 1 }, "{plies}");
        assert_eq!(decode(&bytes), [Ok(game)]);
        let mut records = pgc::Records::new(&bytes[..]);
        let mut seen = Vec::new();
        while let Some(located) = records.next_record().unwrap() {
            if let pgc::Record::Moves(moves) = located.record {
                seen.push((located.bytes[0], moves.len()));
            }
        }
        assert_eq!(seen, heads, "{plies}");
        builder.add_nag(1).unwrap();
        assert_eq!(encode(builder.game(), &PgcWriteOptions::default())[0], 5);
    }
    let mut builder = long_game(256);
    builder.add_nag(1).unwrap();
    let bytes = encode(builder.game(), &PgcWriteOptions::default());
    assert!(bytes.windows(3).any(|window| window == [4, 0, 1]));
}

/// PGC-24.
#[test]
fn comments_are_refused_dropped_or_carried() {
    let text =
        "{start} 1. e4 $1 {a\u{e9}} {b} (1. d4 {x} d5) (; brace } inside\n1. c4) 1... e5 {end} *";
    let game = read_game(text.as_bytes());
    let mut bytes = Vec::new();
    let refused = pgc::encode(&game, &PgcWriteOptions::default(), &mut bytes).unwrap_err();
    assert_eq!((refused.code(), bytes.len()), ("E-PGC-COMMENT", 0));

    let lossy = PgcWriteOptions { comments: Comments::Drop, ..PgcWriteOptions::default() };
    let losses = pgc::encode(&game, &lossy, &mut bytes).unwrap();
    assert_eq!(losses.comments, 6);
    let bare = read_game(b"1. e4 $1 (1. d4 d5) (1. c4) 1... e5 *");
    assert_eq!(bytes, encode(&bare, &PgcWriteOptions::default()));

    let carried = encode(&game, &EXT);
    assert_eq!(decode(&carried), [Ok(game.clone())]);
    assert_eq!(encode(decode(&carried)[0].as_ref().unwrap(), &EXT), carried);
    let holds = |text: &[u8]| carried.windows(text.len()).any(|window| window == text);
    assert!(holds(b"\x0a\x0c\x00pgcx:s:start\x03") && holds(b"\x0a\x09\x00pgcx:c:a\xe9\x0a"));
    assert!(holds(b"\x08\x0a\x15\x00pgcx:s:brace } inside"));
}

/// PGC-24: a comment longer than a record.
#[test]
fn a_long_comment_goes_through_several_records() {
    for length in [65_527, 65_528, 65_529, 200_000] {
        let mut builder = GameBuilder::new();
        builder.add_comment(&"x".repeat(length)).unwrap();
        let game = builder.finish().unwrap();
        let bytes = encode(&game, &EXT);
        let more = bytes.windows(7).filter(|window| window == b"pgcx:+:").count();
        assert_eq!(more, (length - 1) / 65_528);
        assert_eq!(decode(&bytes), [Ok(game)]);
    }
}

/// PGC-13, PGC-24: 0x00 means nothing, between the parts of a comment too; a part without a comment
/// before it is an escape.
#[test]
fn parts_of_comments_are_put_together() {
    let bytes = b"\x05\x03\x01\x0d\x0a\x08\x00pgcx:c:a\x00\x0a\x08\x00pgcx:+:b\x06";
    assert_eq!(decode(bytes), [Ok(read_game(b"1. e4 {ab} *"))]);
    let bytes = b"\x05\x0a\x08\x00pgcx:c:a\x03\x01\x0d\x0a\x08\x00pgcx:+:b\x06";
    assert_eq!(decode(bytes), [Ok(read_game(b"{a} 1. e4\n%pgcx:+:b\n*"))]);
}

/// PGC-22, PGC-24: escapes are dropped, or kept even when they look like carried comments.
#[test]
fn escapes_are_kept_on_request() {
    let text = b"%first\n%pgcx:c:no comment\n1. e4\n%pgcx:x\n e5 *";
    let game = read_game(text);
    let archived = encode(&game, &PgcWriteOptions::default());
    assert_eq!(archived, encode(&read_game(b"1. e4 e5 *"), &PgcWriteOptions::default()));
    let kept = encode(&game, &EXT_AND_ESCAPES);
    assert_eq!(decode(&kept), [Ok(game.clone())]);
    let escapes: Vec<_> =
        game.elements().filter(|element| matches!(element, Element::Escape(_))).collect();
    assert_eq!(escapes.len(), 3);
}

/// PGC-21.
#[test]
fn strings_that_do_not_fit_are_refused() {
    let write = |tag: &str, options: &PgcWriteOptions| {
        let mut builder = GameBuilder::new();
        builder.set_tag("Event", tag).unwrap();
        let mut bytes = Vec::new();
        pgc::encode(builder.game(), options, &mut bytes).map_err(|error| error.code())
    };
    let plain = PgcWriteOptions::default();
    assert!(write(&"\u{e9}".repeat(255), &plain).is_ok());
    assert_eq!(write(&"x".repeat(256), &plain), Err("E-PGC-STRLEN"));
    assert_eq!(write("\u{142}", &plain), Err("E-PGC-CHARSET"));
    assert!(write("\u{142}", &PgcWriteOptions { translit: true, ..plain }).is_ok());
}

/// PGC-19: at every length the truncated stream is refused, or is what came before the cut.
#[test]
fn truncation_shows_at_every_length() {
    let game = read_game(b"[ECO \"C20\"]\n\n1. e4 $1 {x} (1. d4 d5) 1... e5 2. Nf3 *");
    let bytes = encode(&game, &EXT);
    for length in 1..bytes.len() {
        let results = errors(&bytes[..length]);
        assert_eq!(results.len(), 1, "{length}");
        let cut = results[0].starts_with("E-PGC-TRUNC") || results[0].starts_with("E-PGC-NOEND");
        assert!(cut, "{length}: {}", results[0]);
    }
}

/// The samples of `formats/pgc.md`: games and their canonical bytes.
#[test]
fn valid_samples() {
    for case in samples("pgc").valid {
        let game = read_game(case.lines().as_bytes());
        assert_eq!(encode(&game, &EXT_AND_ESCAPES), case.bytes(), "{}", case.name);
        assert_eq!(decode(&case.bytes()), [Ok(game)], "{}", case.name);
    }
}

/// The samples of `formats/pgc.md`: what is refused, and where.
#[test]
fn invalid_samples() {
    for case in samples("pgc").invalid {
        let first = errors(&case.bytes()).into_iter().find(|result| result != "OK");
        let [code] = &case.refused[..] else { panic!("{}", case.name) };
        assert_eq!(first, Some(format!("{code}@{}", case.at.unwrap())), "{}", case.name);
    }
}
