//! Games in PGC.

use std::io::{self, Read};

use epdb_chess::codec::pgc::{self, Explainer, PgcEncodeOptions, PgcError, PgcReader, Records};
use epdb_chess::model::{Element, Game, GameBuilder, Square, rules::Move};
use epdb_chess::text::pgn::Charset;

use super::{export, read_game, unescape};
use crate::samples::samples;

const LIMIT: usize = 1 << 24;
const EXT: PgcEncodeOptions = PgcEncodeOptions::EXTENDED;
const EXT_AND_ESCAPES: PgcEncodeOptions = PgcEncodeOptions { escapes: true, ..EXT };

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

fn encode(game: &Game, options: &PgcEncodeOptions) -> Vec<u8> {
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

/// Text and bytes, both ways.
#[test]
fn game_vectors() {
    let rows = include_str!("../vectors/pgc_games.tsv").lines().skip(1);
    let mut count = 0;
    for row in rows {
        let fields: Vec<&str> = row.split('\t').collect();
        let (bytes, text) = (unhex(fields[3]), unescape(fields[4]));
        assert_eq!(bytes.len().to_string(), fields[2], "{}", fields[0]);
        assert_eq!(encode(&read_game(&text), &PgcEncodeOptions::default()), bytes, "{}", fields[0]);
        let games = decode(&bytes);
        assert_eq!(games.len(), 1);
        let game = games[0].as_ref().unwrap();
        assert_eq!(export(game, Charset::Latin1), text, "{}", fields[0]);
        count += 1;
    }
    assert_eq!(count, 10);
}

/// Each error is reported with its place.
#[test]
fn malformed_vectors() {
    let places = [
        ("PGE-v01", "E-PGC-TRUNC@0"),
        ("PGE-v02", "E-PGC-TRUNC@0"),
        ("PGE-v03", "E-PGC-MARKER@0"),
        ("PGE-v04", "E-PGC-ORDINAL@31"),
        ("PGE-v05", "E-PGC-NEST@1 OK E-PGC-OUTSIDE@33"),
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

#[test]
fn a_move_over_ordinal_255_has_no_record() {
    for row in include_str!("../vectors/pgc_over255.tsv").lines().skip(1) {
        let fields: Vec<&str> = row.split('\t').collect();
        let text = format!("[FEN \"{}\"]\n\n1. {} *", fields[1], fields[2]);
        let game = read_game(text.as_bytes());
        let mut bytes = Vec::new();
        let result = pgc::encode(&game, &PgcEncodeOptions::default(), &mut bytes);
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

/// A game that is refused does not take the next one with it.
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

/// Every split of the moves is read, one is written.
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

/// Begin and end of records of moves.
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
        let bytes = encode(&game, &PgcEncodeOptions::default());
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
        assert_eq!(encode(builder.game(), &PgcEncodeOptions::default())[0], 5);
    }
    let mut builder = long_game(256);
    builder.add_nag(1).unwrap();
    let bytes = encode(builder.game(), &PgcEncodeOptions::default());
    assert!(bytes.windows(3).any(|window| window == [4, 0, 1]));
}

#[test]
fn comments_are_refused_dropped_or_carried() {
    let text =
        "{start} 1. e4 $1 {a\u{e9}} {b} (1. d4 {x} d5) (; brace } inside\n1. c4) 1... e5 {end} *";
    let game = read_game(text.as_bytes());
    let mut bytes = Vec::new();
    let refused = pgc::encode(&game, &PgcEncodeOptions::default(), &mut bytes).unwrap_err();
    assert_eq!((refused.code(), bytes.len()), ("E-PGC-COMMENT", 0));

    let lossy = PgcEncodeOptions { drop_comments: true, ..Default::default() };
    let losses = pgc::encode(&game, &lossy, &mut bytes).unwrap();
    assert_eq!(losses.comments, 6);
    let bare = read_game(b"1. e4 $1 (1. d4 d5) (1. c4) 1... e5 *");
    assert_eq!(bytes, encode(&bare, &PgcEncodeOptions::default()));

    let carried = encode(&game, &EXT);
    assert_eq!(decode(&carried), [Ok(game.clone())]);
    assert_eq!(encode(decode(&carried)[0].as_ref().unwrap(), &EXT), carried);
    let holds = |text: &[u8]| carried.windows(text.len()).any(|window| window == text);
    assert!(holds(b"\x0a\x0c\x00pgcx:s:start\x03") && holds(b"\x0a\x09\x00pgcx:c:a\xe9\x0a"));
    assert!(holds(b"\x08\x0a\x15\x00pgcx:s:brace } inside"));
}

/// A comment longer than a record.
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

/// 0x00 means nothing, between the parts of a comment too; a part without a comment
/// before it is an escape.
#[test]
fn parts_of_comments_are_put_together() {
    let bytes = b"\x05\x03\x01\x0d\x0a\x08\x00pgcx:c:a\x00\x0a\x08\x00pgcx:+:b\x06";
    assert_eq!(decode(bytes), [Ok(read_game(b"1. e4 {ab} *"))]);
    let bytes = b"\x05\x0a\x08\x00pgcx:c:a\x03\x01\x0d\x0a\x08\x00pgcx:+:b\x06";
    assert_eq!(decode(bytes), [Ok(read_game(b"{a} 1. e4\n%pgcx:+:b\n*"))]);
}

/// Escapes are dropped, or kept even when they look like carried comments.
#[test]
fn escapes_are_kept_on_request() {
    let text = b"%first\n%pgcx:c:no comment\n1. e4\n%pgcx:x\n e5 *";
    let game = read_game(text);
    let archived = encode(&game, &PgcEncodeOptions::default());
    assert_eq!(archived, encode(&read_game(b"1. e4 e5 *"), &PgcEncodeOptions::default()));
    let kept = encode(&game, &EXT_AND_ESCAPES);
    assert_eq!(decode(&kept), [Ok(game.clone())]);
    let escapes: Vec<_> =
        game.elements().filter(|element| matches!(element, Element::Escape(_))).collect();
    assert_eq!(escapes.len(), 3);
    // In their order with comments, also before the first move.
    let game = read_game(b"{a}\n%x\n{b} 1. e4 *");
    assert_eq!(decode(&encode(&game, &EXT_AND_ESCAPES)), [Ok(game)]);
}

#[test]
fn strings_that_do_not_fit_are_refused() {
    let write = |tag: &str, options: &PgcEncodeOptions| {
        let mut builder = GameBuilder::new();
        builder.set_tag("Event", tag).unwrap();
        let mut bytes = Vec::new();
        pgc::encode(builder.game(), options, &mut bytes).map_err(|error| error.code())
    };
    let plain = PgcEncodeOptions::default();
    assert!(write(&"\u{e9}".repeat(255), &plain).is_ok());
    assert_eq!(write(&"x".repeat(256), &plain), Err("E-PGC-STRLEN"));
    assert_eq!(write("\u{142}", &plain), Err("E-PGC-CHARSET"));
    assert!(write("\u{142}", &PgcEncodeOptions { translit: true, ..plain }).is_ok());
}

/// At every length the truncated stream is refused, or is what came before the cut.
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
fn golden_games_are_read() {
    for case in samples("pgc").valid {
        let game = read_game(case.lines().as_bytes());
        let is_extended = case.bytes().starts_with(b"\n\x0f\0pgcx:k:");
        let options = if is_extended { EXT_AND_ESCAPES } else { PgcEncodeOptions::default() };
        assert_eq!(encode(&game, &options), case.bytes(), "{}", case.name);
        assert_eq!(decode(&case.bytes()), [Ok(game)], "{}", case.name);
    }
}

/// The samples of `formats/pgc.md`: what is refused, and where.
#[test]
fn invalid_golden_games_are_refused() {
    for case in samples("pgc").invalid {
        let first = errors(&case.bytes()).into_iter().find(|result| result != "OK");
        let [code] = &case.refused[..] else { panic!("{}", case.name) };
        assert_eq!(first, Some(format!("{code}@{}", case.at.unwrap())), "{}", case.name);
    }
}

/// Gives its bytes one by one.
struct OneByOne<'a>(&'a [u8]);

impl Read for OneByOne<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let len = out.len().min(1);
        self.0.read(&mut out[..len])
    }
}

/// Of a sample with a changed byte, games are read the same from pieces of any length, and each
/// record is described.
#[test]
fn changed_golden_games_are_read_or_refused() {
    let all = samples("pgc");
    for case in all.valid.iter().chain(&all.invalid) {
        let bytes = case.bytes();
        let places = (0..bytes.len()).step_by(bytes.len() / 200 + 1);
        for (place, change) in places.flat_map(|place| [(place, 1 << (place % 8)), (place, 0xff)]) {
            let mut changed = bytes.clone();
            changed[place] ^= change;
            let mut reader = PgcReader::new(OneByOne(&changed), LIMIT);
            let mut games = Vec::new();
            while let Some(read) = reader.next_game().unwrap() {
                let error = |error: PgcError| format!("{}@{}", error.kind.code(), error.offset);
                games.push(read.game.cloned().map_err(error));
            }
            assert!(games == decode(&changed), "{}, byte {place}", case.name);
            let (mut records, mut explainer) = (Records::new(&changed[..]), Explainer::new());
            while let Ok(Some(located)) = records.next_record() {
                assert!(!explainer.meaning(&located.record).is_empty());
            }
        }
    }
}

/// Gives the first bytes, then fails.
struct Failing<'a>(&'a [u8]);

impl Read for Failing<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.0.is_empty() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.0.read(out)
    }
}

/// A game that is longer than the limit is refused, and a failure of the input is not the end.
#[test]
fn golden_games_are_read_up_to_the_limit() {
    for case in samples("pgc").valid {
        let bytes = case.bytes();
        let mut reader = PgcReader::new(&bytes[..], 8);
        let error = reader.next_game().unwrap().and_then(|read| read.game.err());
        let is_refused = error.is_some_and(|error| error.kind.code() == "E-PGC-SIZE");
        assert_eq!(is_refused, bytes.len() > 8, "{}", case.name);
        for len in 0..bytes.len().min(200) {
            let mut reader = PgcReader::new(Failing(&bytes[..len]), LIMIT);
            assert!(reader.next_game().is_err(), "{}, {len} bytes", case.name);
        }
    }
}

/// The checksum of some bytes as its records have it.
fn checksum_records(bytes: &[u8]) -> Vec<u8> {
    let record = format!("\n\x0f\0pgcx:k:{:08X}", crc32c::crc32c(bytes));
    record.repeat(2).into_bytes()
}

/// PGC with `--ext` carries whatever a game can say (issue: 197 games in 11 files were refused).
/// Other readers see what the tag record can say.
#[test]
fn text_beyond_latin1_and_long_text_are_carried() {
    let long = "\u{e9}".repeat(256);
    let text = format!(
        "[White \"\u{141}\u{f3}d\u{17a}\"]\n[Black \"{long}\"]\n[ECO \"{}\"]\n[Annotator \"{}\"]\n\n\
%\u{17c}\n{{\u{141}}} 1. e4 {{\u{e9}}} (1. d4 {{\u{2654}}}) e5\n%{}\n*",
        "x".repeat(255),
        "\u{17a}".repeat(70_000),
        "y".repeat(70_000),
    );
    let game = read_game(text.as_bytes());
    let bytes = encode(&game, &EXT_AND_ESCAPES);
    assert_eq!(decode(&bytes), [Ok(game.clone())]);
    let holds = |text: &[u8]| bytes.windows(text.len()).any(|window| window == text);
    assert!(holds(b"\x02\x05White\x04?\xf3d?\n\x0e\0pgcx:t:\xc5\x81\xc3\xb3d\xc5\xba\x02"));
    assert!(holds(
        &[b"\x02\x05Black\xff", &[0xe9; 255][..], b"\n\x07\x02pgcx:t:\xc3\xa9"].concat()
    ));
    assert!(holds(&[b"\x02\x03ECO\xff", &[b'x'; 255][..], b"\x02\x05"].concat()[..260]));
    assert!(holds(b"\n\x09\0pgcx:e:\xc5\xbc") && holds(b"\n\x09\0pgcx:u:\xc5\x81"));
    assert!(holds(b"\n\x08\0pgcx:c:\xe9") && holds(b"\n\x0a\0pgcx:u:\xe2\x99\x94"));
    assert_eq!(bytes.windows(7).filter(|window| window == b"pgcx:+:").count(), 3);
    // Without it nothing changes: the standard's records, or a refusal.
    let mut plain = Vec::new();
    let refused = pgc::encode(&game, &PgcEncodeOptions::default(), &mut plain).unwrap_err();
    assert_eq!((refused.code(), plain.len()), ("E-PGC-CHARSET", 0));
}

/// Each game has a checksum, and the reader reports that; without `--ext` there is none.
#[test]
fn checksums_are_written_and_read() {
    let game = read_game(b"1. f3 e5 2. g4 Qh4# 0-1");
    let plain = encode(&game, &PgcEncodeOptions::default());
    let checked = encode(&game, &EXT);
    assert_eq!(checked, [checksum_records(&plain), plain.clone()].concat());
    for (bytes, wanted) in [(&plain, false), (&checked, true)] {
        let mut reader = PgcReader::new(&bytes[..], LIMIT);
        let read = reader.next_game().unwrap().unwrap();
        assert_eq!((read.has_checksum, read.game.unwrap()), (wanted, &game));
        assert_eq!(read.raw, &bytes[..]);
    }
    // 0x00 does not count, wherever it is.
    let noops = [&[0][..], &checked[..18], &[0, 0], &checked[18..36], &[0], &plain, &[0]].concat();
    assert_eq!(decode(&noops), [Ok(game.clone())]);
    // Streams go together, and what stood behind the last game of one is not checked. Behind a game with
    // a checksum one without is a piece of another.
    let joined = [&plain[..], b"\n\x01\0x", &checked, &checked, &plain].concat();
    let with_escape = read_game(b"%x\n1. f3 e5 2. g4 Qh4# 0-1");
    let last = format!("E-PGC-CHECKSUM@{}", joined.len() - plain.len());
    assert_eq!(decode(&joined), [Ok(game.clone()), Ok(with_escape), Ok(game), Err(last)]);
}

/// The moves with these ordinals, as PGN.
fn by_ordinals(ordinals: &[u8]) -> String {
    let record = [&[5, 3, ordinals.len() as u8], ordinals, &[6]].concat();
    let [Ok(game)] = &decode(&record)[..] else { panic!("no such moves") };
    String::from_utf8(export(game, Charset::Utf8)).unwrap()
}

/// Whatever byte is damaged, an error is given, and no game comes that was not there.
#[test]
fn damage_of_any_byte_of_checked_games_is_detected() {
    let texts = [
        "1. f3 e5 2. g4 Qh4# 0-1",
        // Its ordinals are all 5 or 6, which begin and end games.
        &by_ordinals(&[5, 6].repeat(10)),
        "%kept\n[White \"\u{141}\"]\n[FEN \"4k3/8/8/8/8/8/4P3/4K3 b - - 5 39\"]\n\n\
         {x} 39... Kd7 $1 {\u{2654}} (39... Ke7 {y}) 40. e4 1/2-1/2",
        "1. d4 *",
    ];
    let mut bytes = Vec::new();
    let mut games = Vec::new();
    for text in texts {
        let game = read_game(text.as_bytes());
        pgc::encode(&game, &EXT_AND_ESCAPES, &mut bytes).unwrap();
        games.push(game);
    }
    assert_eq!(decode(&bytes).len(), texts.len());
    for place in 0..bytes.len() {
        for change in (0..8).map(|bit| 1 << bit).chain([0xff, 0x20 ^ bytes[place]]) {
            let mut damaged = bytes.clone();
            damaged[place] ^= change;
            let results = decode(&damaged);
            let is_noticed = change == 0 || results.iter().any(Result::is_err);
            assert!(is_noticed, "byte {place} ^ {change:#04x}: {results:?}");
            let mut read = results.iter().flatten();
            assert!(read.all(|game| games.contains(game)), "byte {place} ^ {change:#04x}");
        }
    }
    for length in 1..bytes.len() {
        let whole = decode(&bytes[..length]);
        let is_complete = whole.iter().all(Result::is_ok);
        assert!(
            !is_complete || games.starts_with(&whole.into_iter().flatten().collect::<Vec<_>>())
        );
    }
}

/// Requirements of the extension's records, and of the text after them.
#[test]
fn damaged_extensions_are_refused() {
    let game = "05 03010d 06";
    let good = checksum_records(&unhex(game));
    let once = &good[..18];
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let escape = |text: &[u8]| hex(&[&[10, text.len() as u8, 0], text].concat());
    let lower = hex(&good.to_ascii_lowercase());
    assert_ne!(lower, hex(&good), "a checksum with a letter");
    let other = hex(&checksum_records(b"other"));
    let cases = [
        (format!("{} {game}", hex(once)), "E-PGC-CHECKSUM@18"),
        (format!("{} {} {game}", hex(&good), hex(once)), "E-PGC-CHECKSUM@54"),
        (format!("{} {} {game}", hex(once), escape(b"pgcx:k:00000000")), "E-PGC-CHECKSUM@36"),
        (format!("{} {} {} {game}", hex(once), escape(b"x"), hex(once)), "E-PGC-CHECKSUM@40"),
        (format!("{other} {game}"), "E-PGC-CHECKSUM@36"),
        (format!("{lower} {game}"), "E-PGC-CHECKSUM@36"),
        (format!("{0}{0} {game}", escape(b"pgcx:k:")), "E-PGC-CHECKSUM@20"),
        (format!("05 {} 06", escape(b"pgcx:u:\xff")), "E-PGC-EXT@12"),
        (format!("05 {} 06", escape(b"pgcx:e:\xff")), "E-PGC-EXT@12"),
        (format!("05 {} 06", escape(b"pgcx:e:\n")), "E-PGC-CHARSET@12"),
        (format!("05 02014101 62 {} 06", escape(b"pgcx:t:cd")), "E-PGC-EXT@18"),
        (format!("05 02014101 62 {} 06", escape(b"pgcx:t:\xff")), "E-PGC-EXT@17"),
        (format!("05 02014101 62 {} 06", escape(b"pgcx:t:b\x07")), "E-PGC-EXT@18"),
    ];
    for (bytes, error) in cases {
        let seen = errors(&unhex(&format!("{bytes} {} {game}", hex(&good))));
        assert_eq!(seen, [error, "OK"], "{bytes}");
    }
    assert_eq!(errors(&good), ["E-PGC-NOEND@36"]);
    // The checksum of the next game ends a game that has lost its end; that next game is read.
    let lost = format!("05 03010d {} {game}", hex(&good));
    assert_eq!(errors(&unhex(&lost)), ["E-PGC-NEST@4", "OK"]);
    // The value of a tag is carried directly after it, else it is an escape like any other.
    let apart = format!("05 0201410162 {} {} 06", escape(b"x"), escape(b"pgcx:t:b"));
    let game = read_game(b"[A \"b\"]\n\n%x\n%pgcx:t:b\n*");
    assert_eq!(decode(&unhex(&apart)), [Ok(game)]);
}

/// A whole game inside a game that has no end is read.
#[test]
fn a_whole_game_inside_a_game_is_read() {
    let whole = "01 013f 013f 0a3f3f3f3f2e3f3f2e3f3f 013f 013f 013f 012a 0000";
    let seen = errors(&unhex(&format!("05 {whole} 05 06")));
    assert_eq!(seen, ["E-PGC-NEST@1", "OK", "OK"]);
    // Also after another error.
    let seen = errors(&unhex(&format!("05 0701 {whole}")));
    assert_eq!(seen, ["E-PGC-NAGPLACE@1", "OK"]);
}

/// Control characters in carried comments are white space; in other escapes they are refused.
#[test]
fn control_characters_in_carried_comments_are_blanks() {
    let game = read_game(b"{a b} 1. e4 *");
    let bytes = b"\x05\x0a\x0c\x00pgcx:s:\x00a\n\rb\x03\x01\x0d\x06";
    assert_eq!(decode(bytes), [Ok(game)]);
    assert_eq!(errors(b"\x05\x0a\x03\x00a\nb\x06"), ["E-PGC-CHARSET@1"]);
}

mod any_text {
    use proptest::prelude::*;

    use super::*;

    /// Text without control characters, of every length of characters.
    fn text() -> impl Strategy<Value = String> {
        let any = prop_oneof![
            proptest::char::range(' ', '~'),
            proptest::char::range('\u{a0}', '\u{ff}'),
            proptest::char::range('\u{100}', '\u{ffff}'),
            proptest::char::range('\u{1f600}', '\u{1f64f}'),
        ];
        let long = ("[a-z\u{e9}\u{141}]", 200..70_000usize).prop_map(|(c, n)| c.repeat(n));
        prop_oneof![
            8 => prop::collection::vec(any, 0..30).prop_map(String::from_iter),
            1 => prop::sample::select(vec!["pgcx:", "pgcx:c:x", "pgcx:k:00000000", "pgcx:pgcx:", ""])
                .prop_map(str::to_owned),
            1 => long,
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

        /// Whatever a game says, its extended form says the same, and has one spelling.
        #[test]
        fn goes_through_the_extended_form(
            tags in prop::collection::vec(("(White|Site|[A-Z][a-z]{0,5})", text()), 0..4),
            texts in prop::collection::vec((any::<bool>(), text()), 0..6),
        ) {
            let mut builder = GameBuilder::new();
            for (name, value) in &tags {
                builder.set_tag(name, value).unwrap();
            }
            for (place, (is_comment, text)) in texts.iter().enumerate() {
                if place == 1 {
                    let square = |name: &[u8]| Square::from_ascii(name).unwrap();
                    let mv = Move { from: square(b"e2"), to: square(b"e4"), promotion: None };
                    builder.play(mv).unwrap();
                }
                if *is_comment {
                    builder.add_comment(text).unwrap();
                } else {
                    builder.add_escape(text).unwrap();
                }
            }
            let game = builder.finish().unwrap();
            prop_assume!(!game.has_tag("FEN") && !game.has_tag("Variant") && !game.has_tag("Result"));
            let bytes = encode(&game, &EXT_AND_ESCAPES);
            let read = decode(&bytes);
            prop_assert!(read == [Ok(game)]);
            prop_assert!(encode(read[0].as_ref().unwrap(), &EXT_AND_ESCAPES) == bytes);
        }
    }
}
