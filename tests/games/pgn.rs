//! Games in PGN: read as they are found, written in export format.

use epdb_chess::text::Profile;
use epdb_chess::text::pgn::{self, Charset, GameReader, PgnFormatOptions, PgnReadOptions};

use super::unescape;

/// The result of reading a text: for each game its export, or the code and place of its error.
fn normalise(text: &[u8], read: &PgnReadOptions, write: &PgnFormatOptions) -> Vec<String> {
    let mut reader = GameReader::new(text, read.clone());
    let mut games = Vec::new();
    while let Some(read) = reader.next_game().unwrap() {
        games.push(match read.game {
            Ok(game) => {
                let mut out = Vec::new();
                pgn::format(game, write, &mut out).unwrap();
                pgn::from_latin1(&out).into_owned()
            }
            Err(error) => {
                format!("{} {}:{}", error.diagnostic.code, error.line, error.diagnostic.column)
            }
        });
    }
    games
}

fn export(text: &[u8]) -> Vec<String> {
    let latin1 = PgnFormatOptions { charset: Charset::Latin1, ..Default::default() };
    normalise(text, &PgnReadOptions::default(), &latin1)
}

/// The warning codes of a lenient reading, all games together.
fn warnings(text: &[u8]) -> Vec<&'static str> {
    let mut reader = GameReader::new(text, PgnReadOptions::default());
    let mut codes = Vec::new();
    while let Some(read) = reader.next_game().unwrap() {
        codes.extend(read.warnings.iter().map(|warning| warning.diagnostic.code));
    }
    codes
}

/// The movetext of a game that is written in one line.
fn movetext(text: &[u8]) -> String {
    let games = export(text);
    assert_eq!(games.len(), 1, "{games:?}");
    let (_, movetext) = games[0].split_once("\n\n").unwrap_or(("", &games[0]));
    movetext.trim_end().to_owned()
}

/// The movetext of a text, whose lines are joined, and the codes of what was repaired.
fn repaired(text: &str) -> (String, Vec<&'static str>) {
    (movetext(text.as_bytes()).replace('\n', " "), warnings(text.as_bytes()))
}

#[test]
fn export_vectors() {
    let rows = include_str!("../vectors/pgn_export.tsv").lines().skip(1);
    let mut count = 0;
    for row in rows {
        let fields: Vec<&str> = row.split('\t').collect();
        let exported = export(&unescape(fields[1]));
        assert_eq!(exported, [pgn::from_latin1(&unescape(fields[2]))], "{}", fields[0]);
        count += 1;
    }
    assert_eq!(count, 6);
}

/// What is in export format comes out as it went in, and the strict profile takes
/// it. The sample game of the standard is the row `PGC-v02`.
#[test]
fn export_format_is_a_fixed_point() {
    let rows = include_str!("../vectors/pgc_games.tsv").lines().skip(1);
    let strict = PgnReadOptions {
        profile: Profile::Strict,
        charset: Some(Charset::Latin1),
        ..Default::default()
    };
    let mut count = 0;
    for row in rows {
        let fields: Vec<&str> = row.split('\t').collect();
        let text = unescape(fields[4]);
        assert_eq!(export(&text), [pgn::from_latin1(&text)], "{}", fields[0]);
        let mut reader = GameReader::new(&text[..], strict.clone());
        let read = reader.next_game().unwrap().unwrap();
        assert!(read.game.is_ok(), "{}: {:?}", fields[0], read.game);
        count += 1;
    }
    assert_eq!(count, 10);
}

/// Games of real files are read, and each repair is reported.
#[test]
fn sloppy_movetext_is_read() {
    let cases: &[(&str, &str, &[&str])] = &[
        // Layout and numbers.
        ("1.e4 e5 2.Nf3 *", "1. e4 e5 2. Nf3 *", &[]),
        ("1e4 e5 2Nf3 *", "1. e4 e5 2. Nf3 *", &[]),
        ("1 . e4 .. e5 2 ... Nf3*", "1. e4 e5 2. Nf3 *", &[]),
        ("e4 e5 Nf3 *", "1. e4 e5 2. Nf3 *", &[]),
        ("1. e4 2. e5 7. Nf3 *", "1. e4 e5 2. Nf3 *", &["W-PGN-MOVENUM", "W-PGN-MOVENUM"]),
        ("1. e4 99999999999999999999. e5 *", "1. e4 e5 *", &["W-PGN-MOVENUM"]),
        ("1. e4\te5\u{b}2. Nf3\r\n*", "1. e4 e5 2. Nf3 *", &[]),
        ("1. e4 e5\0 *", "1. e4 e5 *", &["W-LEN-CTRL"]),
        ("\u{feff}1. e4 *", "1. e4 *", &[]),
        // Moves.
        ("1. e2-e4 e7e5 2. ng1f3 Nb8-c6 *", "1. e4 e5 2. Nf3 Nc6 *", &[]),
        ("1. Pe4 d5 2. exd5 c5 3. dxc6e.p. *", "1. e4 d5 2. exd5 c5 3. dxc6 *", &[]),
        (
            "1. e4 d5 2. exd5 c5 3. dxc6 e.p. *",
            "1. e4 d5 2. exd5 c5 3. dxc6 *",
            &["W-LEN-DETACHED"],
        ),
        ("1. e4 d5 2. exd5 c5 3. dxc6ep *", "1. e4 d5 2. exd5 c5 3. dxc6 *", &[]),
        ("1. f3 e5 2. g4 Qh4 *", "1. f3 e5 2. g4 Qh4# *", &[]),
        ("1. f3 e5 2. g4 Qh4 + + *", "1. f3 e5 2. g4 Qh4# *", &["W-LEN-DETACHED"; 2]),
        (
            "1. Nf3 Nf6 2. g3 g6 3. Bg2 Bg7 4. 0-0 o-o *",
            "1. Nf3 Nf6 2. g3 g6 3. Bg2 Bg7 4. O-O O-O *",
            &[],
        ),
        ("1. \u{2658}f3 *", "1. Nf3 *", &[]),
        ("1. Nxf3 *", "1. Nf3 *", &["W-SAN-CAPTURE"]),
        // NAGs and marks.
        (
            "1. e4! e5 ? 2. Nf3 !! Nc6?? 3. Bb5!? a6?! *",
            "1. e4 $1 1... e5 $2 2. Nf3 $3 2... Nc6 $4 3. Bb5 $5 3... a6 $6 *",
            &[],
        ),
        ("1. e4!!! *", "1. e4 $3 *", &["W-PGN-NAG"]),
        ("1. e4 $146$1$146 $0 *", "1. e4 $0 $1 $146 *", &["W-PGN-NAG"]),
        ("1. e4 $256 *", "1. e4 {$256} *", &["W-PGN-NAG"]),
        ("$3 1. e4 *", "{$3} 1. e4 *", &["W-PGN-NAG"]),
        ("1. e4 +- e5 += N *", "1. e4 $18 1... e5 $14 $146 *", &["W-PGN-NAG"; 3]),
        ("1. e4 \u{b1} e5 \u{221e} D *", "1. e4 $16 1... e5 $13 $220 *", &["W-PGN-NAG"; 3]),
        // Comments.
        ("{a\n\n  b} 1. e4 {} {c}{d} e5 ; e\n; f\n *", "{a b} 1. e4 {c} {d} 1... e5 {e f} *", &[]),
        ("1. e4 {a ; b} e5 ; {c}\n *", "1. e4 {a ; b} 1... e5 ;{c} *", &[]),
        ("1. e4 {[%clk 0:01:02]} *", "1. e4 {[%clk 0:01:02]} *", &[]),
        ("1. e4 { (1. d4 } e5 *", "1. e4 {(1. d4} 1... e5 *", &[]),
        ("1. e4 e5 } *", "1. e4 e5 *", &["W-PGN-TOKEN"]),
        // Variations.
        ("1. e4 ( 1. d4 ( 1. c4 ) d5 ) e5 *", "1. e4 (1. d4 (1. c4) 1... d5) 1... e5 *", &[]),
        ("1. e4 (1. d4)) e5 *", "1. e4 (1. d4) 1... e5 *", &["W-PGN-RAV"]),
        ("1. e4 (1. d4 *", "1. e4 (1. d4) *", &["W-PGN-TRUNCATED"]),
        ("1. e4 ( {x} ) e5 *", "1. e4 {x} 1... e5 *", &["W-PGN-RAV"]),
        ("(1. e4 *", "1. e4 *", &["W-PGN-RAV"]),
        ("1. e4 (1. d4 1/2-1/2) e5 1-0", "1. e4 (1. d4) 1... e5 1-0", &["W-PGN-RAV"]),
        ("1. e4 (1. d4 $2) $1 {x} (1. c4) e5 *", "1. e4 $1 {x} (1. d4 $2) (1. c4) 1... e5 *", &[]),
        // Ends.
        ("1. e4", "1. e4 *", &["W-PGN-RESULT"]),
        ("1. e4 1/2", "1. e4 1/2-1/2", &["W-PGN-RESULT"]),
        ("1. e4 1/2 - 1/2", "1. e4 1/2-1/2", &["W-PGN-RESULT"]),
        ("1. e4 1 - 0", "1. e4 1-0", &["W-PGN-RESULT"]),
        (
            "1. e4 d5 2. exd5 c5 3. dxc6(e.p.) *",
            "1. e4 d5 2. exd5 c5 3. dxc6 *",
            &["W-LEN-DETACHED"],
        ),
        ("1. e4 \u{bd}-\u{bd}", "1. e4 1/2-1/2", &["W-PGN-RESULT"]),
        ("1. e4 1\u{2013}0", "1. e4 1-0", &["W-PGN-RESULT"]),
    ];
    for (text, wanted, codes) in cases {
        let (movetext, warnings) = repaired(text);
        assert_eq!((movetext.as_str(), &warnings[..]), (*wanted, *codes), "{text}");
    }
}

/// The removed text and its replacement.
#[test]
fn repairs_have_before_and_after() {
    let text = "[Result \"?\"]\n[ECO \"a \"b\" c\"]\n[ECO \"d\"]\n[Site \"e]\n\n\
(1. e4!!! $256 e.p. 5. e5 (1... c5 1-0) 2. Nxf3 +- ) } (2. a3";
    let mut reader = GameReader::new(text.as_bytes(), PgnReadOptions::default());
    let read = reader.next_game().unwrap().unwrap();
    let repairs: Vec<String> = read
        .warnings
        .iter()
        .map(|it| {
            let repair = it.diagnostic.repair.as_ref().unwrap();
            let [before, after] =
                [&repair.before, &repair.after].map(|bytes| String::from_utf8_lossy(bytes));
            format!("{before} > {after}")
        })
        .collect();
    let wanted = [
        "\"a \"b\" c\" > \"a \\\"b\\\" c\"",
        "[ECO \"d\"] > ",
        "\"e > \"e\"",
        "( > ",
        "!!! > !!",
        "$256 > {$256}",
        "e.p. > ",
        "5 > 1",
        "1-0 > ",
        "Nxf3 > Nf3",
        "+- > $18",
        ") > ",
        "} > ",
        " > )",
        "? > *",
        " > *",
    ];
    assert_eq!(repairs, wanted);
}

#[test]
fn sloppy_tags_are_read() {
    let cases: &[(&str, &str, &[&str])] = &[
        ("[Event\n \"a\"\n]\n[\tSite \"b\" ] *", "[Event \"a\"]\n[Site \"b\"]", &[]),
        ("[Event \"a\"][Site\"b\"]*", "[Event \"a\"]\n[Site \"b\"]", &[]),
        ("  [Event \"a\"] *", "[Event \"a\"]\n[Site \"?\"]", &[]),
        ("[ECO \"a\"] [ECO \"b\"] *", "[Event \"?\"]", &["W-PGN-TAGDUP"]),
        ("[Event \"a \\\"b\\\" \\\\ \\n\"] *", "[Event \"a \\\"b\\\" \\\\ \\\\n\"]", &[]),
        ("[Event \"\"a\"\"] *", "[Event \"\\\"a\\\"\"]", &["W-PGN-STRING"]),
        (
            "[Event \"a\n[Site \"b\"] *",
            "[Event \"a\"]\n[Site \"b\"]",
            &["W-PGN-STRING", "W-PGN-TAG"],
        ),
        ("[Event \"a]\n[Site \"b\"] *", "[Event \"a\"]\n[Site \"b\"]", &["W-PGN-STRING"]),
        ("[Event \"a\"\n[Site \"b\"] *", "[Event \"a\"]\n[Site \"b\"]", &["W-PGN-TAG"]),
        ("[Event \"a\tb\"] *", "[Event \"a b\"]", &["W-PGN-STRING"]),
        ("[Event: \"a\"] *", "[Event \"a\"]", &["W-PGN-TAG"]),
        ("[Motto: \"a\"] *", "[Event \"?\"]", &["W-PGN-TAG"]),
        ("{c} [Event \"a\"] ;d\n[Site \"b\"] *", "[Event \"a\"]\n[Site \"b\"]", &[]),
        ("[Result \"1-0\"] *", "[Event \"?\"]", &["W-PGN-RESULT"]),
        ("[Result \"*\"] 1-0", "[Event \"?\"]", &["W-PGN-RESULT"]),
        ("[Result \"1/2\"] 1/2-1/2", "[Event \"?\"]", &["W-PGN-RESULT"]),
        ("[Result \"?\"] 0-1", "[Event \"?\"]", &["W-PGN-RESULT"]),
    ];
    for (text, wanted, codes) in cases {
        let games = export(text.as_bytes());
        assert_eq!(games.len(), 1, "{text}: {games:?}");
        assert!(games[0].starts_with(wanted), "{text}: {}", games[0]);
        assert_eq!(&warnings(text.as_bytes())[..], *codes, "{text}");
    }
    let long = format!("[Event \"{}\"] *", "x".repeat(256));
    assert_eq!(warnings(long.as_bytes()), ["W-PGN-STRING"]);
}

/// Text by text, UTF-8 is kept and everything else is Windows-1252.
#[test]
fn characters_of_both_sets_are_read() {
    let text = b"[White \"M\xfcller\"]\n[Black \"\xc5\x81oz\"]\n\n{\xe9} *";
    let game = super::read_game(text);
    assert_eq!((game.tag("White"), game.tag("Black")), (Some("M\u{fc}ller"), Some("\u{141}oz")));
    let written = |charset, translit| {
        let mut out = Vec::new();
        let options = PgnFormatOptions { charset, translit, ..Default::default() };
        pgn::format(&game, &options, &mut out).map(|_| out).map_err(|error| error.code())
    };
    let utf8 = written(Charset::Utf8, false).unwrap();
    assert!(String::from_utf8(utf8).unwrap().contains("\"M\u{fc}ller\"]\n[Black \"\u{141}oz\""));
    assert_eq!(written(Charset::Latin1, false), Err("E-PGC-CHARSET"));
    let latin1 = written(Charset::Latin1, true).unwrap();
    assert!(latin1.windows(9).any(|window| window == b"M\xfcller\"]\n"));
    assert!(latin1.windows(5).any(|window| window == b"\"?oz\""));
    let declared = PgnReadOptions { charset: Some(Charset::Latin1), ..Default::default() };
    let mut reader = GameReader::new(&text[..], declared);
    let read = reader.next_game().unwrap().unwrap();
    assert_eq!(read.game.unwrap().tag("Black"), Some("\u{c5}\u{81}oz"));
}

/// Bytes that are not UTF-8 are Windows-1252; the bytes that it does not have are control characters.
#[test]
fn text_that_is_not_utf8_is_windows_1252() {
    let text = b"[White \"\x8aimi\x9a\"]\n\n{\x93caf\xe9\x94 \x96 \x80\x81\x8d\x8f\x90\x9d} *";
    let white = |options: PgnReadOptions, text: &[u8]| {
        let mut reader = GameReader::new(text, options);
        let game = reader.next_game().unwrap().unwrap().game.unwrap().clone();
        let mut out = Vec::new();
        pgn::format(&game, &PgnFormatOptions::default(), &mut out).unwrap();
        (game, String::from_utf8(out).unwrap())
    };
    let (game, written) = white(PgnReadOptions::default(), text);
    assert_eq!(game.tag("White"), Some("\u{160}imi\u{161}"));
    let comment = "{\u{201c}caf\u{e9}\u{201d} \u{2013} \u{20ac}\u{81}\u{8d}\u{8f}\u{90}\u{9d}}";
    assert!(written.contains(comment), "{written:?}");
    let declared = PgnReadOptions { charset: Some(Charset::Latin1), ..Default::default() };
    let (game, written) = white(declared.clone(), text);
    assert_eq!(game.tag("White"), Some("\u{8a}imi\u{9a}"));
    assert!(written.contains("{\u{93}caf\u{e9}\u{94} \u{96} \u{80}\u{81}"), "{written:?}");

    // Text in Latin-1 cannot have control characters that would be read as other characters.
    let latin1 = PgnFormatOptions { charset: Charset::Latin1, ..Default::default() };
    let mut out = Vec::new();
    let refused = pgn::format(&game, &latin1, &mut out).unwrap_err();
    assert_eq!((refused.code(), out.len()), ("E-PGC-CHARSET", 0));
    let losses =
        pgn::format(&game, &PgnFormatOptions { translit: true, ..latin1 }, &mut out).unwrap();
    assert_eq!(losses.characters, 6);
    let (_, read) = white(PgnReadOptions::default(), &out);
    assert!(read.contains("{?caf\u{e9}? ? ?\u{81}\u{8d}\u{8f}\u{90}\u{9d}}"), "{read:?}");
    let (back, _) = white(declared, &out);
    assert_eq!(back.tag("White"), Some("?imi?"));
}

/// Errors are reported with their place, and the next game is read.
#[test]
fn one_bad_game_does_not_take_the_next() {
    let cases = [
        ("1. e4 e5 2. Ke3 *", "E-MOVE-ILLEGAL 1:13"),
        ("1. e4 e5 2. Nf3 Nc6\n3. Bb6 (3. Zz 1-0) a6 *", "E-MOVE-ILLEGAL 2:4"),
        ("1. Nf3 Nf6 2. Nc3 Nc6 3. Nb5 e6 4. Nd4 *", "E-MOVE-AMBIG 1:36"),
        ("1. e4 f6 2. Qh5+ -- 3. d4 *", "E-MOVE-ILLEGAL 1:18"),
        ("1. e4 --- 2. d4 *", "E-MOVE-SYNTAX 1:7"),
        ("1. e4 @@@ 2. d4 *", "E-PGN-TOKEN 1:7"),
        ("1. e4 [x] *", "E-MOVE-SYNTAX 1:8"),
        ("[SetUp \"0\"]\n[FEN \"8/8/8/8/8/8/8/K1k5 w - - 0 1\"]\n\n1. Kb1 *", "E-PGN-SETUP 4:1"),
        ("[FEN \"x\"]\n\n1. e4 *", "E-PGN-SETUP 3:1"),
        ("[FEN \"8/8/8/8/8/8/8/8 w - - 0 1\"]\n\n1. e4 *", "E-PGN-SETUP 3:4"),
        ("[Variant \"Atomic\"]\n\n1. e4 0-1", "E-PGN-VARIANT 3:1"),
    ];
    let whole_only = PgnReadOptions { truncate: Some(false), ..Default::default() };
    for (bad, error) in cases {
        let text = format!("{bad}\n\n[Event \"next\"]\n\n1. d4 *\n1. c4 *");
        let games = normalise(text.as_bytes(), &whole_only, &PgnFormatOptions::default());
        assert_eq!(games.len(), 3, "{bad}: {games:?}");
        assert_eq!(games[0], error, "{bad}");
        assert!(games[1].contains("next") && games[1].contains("1. d4 *"), "{bad}");
        assert!(games[2].contains("1. c4 *"), "{bad}");

        let mut reader = GameReader::new(text.as_bytes(), whole_only.clone());
        let mut raw = Vec::new();
        while let Some(read) = reader.next_game().unwrap() {
            raw.extend_from_slice(read.raw);
        }
        assert_eq!(raw, text.as_bytes(), "{bad}");
    }
    let mut reader = GameReader::new(&b"1. e4 e5 2. Ke3 *"[..], whole_only);
    let error = reader.next_game().unwrap().unwrap().game.unwrap_err();
    assert_eq!(error.ply, Some(3));
}

/// What is wrong with a whole game is told behind its end, and the next game needs no tags to be
/// read.
#[test]
fn a_game_refused_at_its_end_does_not_take_the_next() {
    let next = "1. d4 *";
    let standard = PgnReadOptions { profile: Profile::Standard, ..Default::default() };
    let text = format!("[Result \"1-0\"]\n\n1. e4 0-1\n{next}");
    let games = normalise(text.as_bytes(), &standard, &PgnFormatOptions::default());
    assert_eq!((games.len(), games[0].as_str()), (2, "E-PGN-RESULT 3:10"));
    let strict = PgnReadOptions { profile: Profile::Strict, ..Default::default() };
    let games = normalise(b"1.e4 *\n1. d4 *", &strict, &PgnFormatOptions::default());
    assert_eq!(games, ["E-PGN-NONCANON 1:1", "E-PGN-NONCANON 2:1"]);
}

/// Games without markers are separated by their tags.
#[test]
fn games_without_markers_are_distinguished() {
    let text = b"[Event \"a\"]\n\n1. e4\n\n[Event \"b\"]\n\n[Event \"c\"]\n[Site \"x\"]\n\n1. d4 (1. c4\n\n\n[White \"w\"]\n\n1. c4";
    let games = export(text);
    let ends: Vec<&str> =
        games.iter().map(|game| game.trim_end().rsplit('\n').next().unwrap()).collect();
    assert_eq!(ends, ["1. e4 *", "*", "1. d4 (1. c4) *", "1. c4 *"]);
}

/// The standard's import format takes less, its export format nothing else.
#[test]
fn profiles_accept_their_text() {
    let code = |text: &str, profile| {
        let options = PgnReadOptions { profile, ..Default::default() };
        let mut reader = GameReader::new(text.as_bytes(), options);
        let read = reader.next_game().unwrap().unwrap();
        read.game.map_or_else(|error| error.diagnostic.code, |_| "OK")
    };
    let canonical = export(b"1. e4 e5 {a comment} *").remove(0);
    for profile in [Profile::Strict, Profile::Standard, Profile::Lenient] {
        assert_eq!(code(&canonical, profile), "OK");
    }
    let cases = [
        ("1.e4 *", "OK"),
        ("1. e4", "E-PGN-RESULT"),
        ("1. e4 (1. d4)) *", "E-PGN-RAV"),
        ("1. e4 () *", "E-PGN-RAV"),
        ("1. e4 $256 *", "E-PGN-NAG"),
        ("1. e4 2. e5 *", "OK"),
        ("[Event \"\"a\"\"] *", "E-PGN-STRING"),
        ("[Event: \"a\"] *", "E-PGN-TAG"),
        ("[Event \"a\"\n*", "E-PGN-TAG"),
        ("[Result \"?\"] *", "E-PGN-RESULT"),
    ];
    assert_eq!(code("[ECO \"a\"] [ECO \"b\"] *", Profile::Strict), "E-PGN-TAGDUP");
    assert_eq!(code("1. e4 2. e5 *", Profile::Strict), "E-PGN-MOVENUM");
    for (text, wanted) in cases {
        assert_eq!(code(text, Profile::Standard), wanted, "{text}");
        assert_eq!(code(text, Profile::Lenient), "OK", "{text}");
        assert_ne!(code(text, Profile::Strict), "OK", "{text}");
    }
}

/// `%` lines are kept on request, dropped in archives; in comments they are text.
#[test]
fn escapes_are_kept_or_dropped() {
    let text = b"%a\n[Event \"e\"]\n%b\n1. e4 {x\n%c\ny} % e5\n";
    let game = super::read_game(b"%a\n[Event \"e\"]\n%b\n1. e4 {x\n%c\ny} e5\n%\n%c\n*");
    let kept = super::export(&game, Charset::Utf8);
    assert!(
        kept.ends_with(b"]\n\n%a\n%b\n1. e4 {x %c y} 1... e5\n%\n%c\n*\n\n"),
        "{}",
        pgn::from_latin1(&kept)
    );
    assert_eq!(super::read_game(&kept), game);
    assert_eq!(movetext(b"1. e4 {x\n%c\ny} e5\n%z *\n*"), "1. e4 {x %c y} 1... e5 *");
    assert!(warnings(text).contains(&"W-PGN-TOKEN"));
    assert!(export(b"%only\n%escapes\n").is_empty());
}

/// No line over 79 characters, none that begins with `%`.
#[test]
fn lines_are_filled_and_never_begin_with_a_percent_sign() {
    let words: Vec<String> =
        (0..200).map(|n| format!("{}w{}", ["", "%"][n % 2], "y".repeat(n % 13))).collect();
    let text = format!("1. e4 {{{}}} e5 *", words.join(" "));
    let game = super::read_game(text.as_bytes());
    let out = String::from_utf8(super::export(&game, Charset::Utf8)).unwrap();
    assert!(
        out.lines().all(|line| line.len() <= 79 && !line.starts_with('%') && line.trim() == line)
    );
    assert_eq!(super::read_game(out.as_bytes()), game);
    // Nor one that looks like the beginning of the next game.
    for width in 60..80 {
        let text = format!("1. e4 {{{} [Event \"x\"]}} e5 *", "x".repeat(width));
        let game = super::read_game(text.as_bytes());
        assert_eq!(super::read_game(&super::export(&game, Charset::Utf8)), game);
    }
    // A command is not broken, wherever the line ends, unless it is too long itself.
    let commands = "[%eval 1.56,10][%clk 0:01:00] [%emt 0:00:01]";
    let too_long = format!("[%a {}] [% b] [%open", "z ".repeat(40));
    for width in 1..78 {
        for brace in ["", "} "] {
            let mut builder = epdb_chess::model::GameBuilder::new();
            let comment = format!("{brace}{} {commands} {too_long}", "x".repeat(width));
            builder.add_comment(&comment).unwrap();
            let game = builder.finish().unwrap();
            let out = String::from_utf8(super::export(&game, Charset::Utf8)).unwrap();
            for command in commands.split_inclusive("] ").chain(["[% b]"]) {
                assert!(out.contains(command.trim()), "{out}");
            }
            assert!(out.lines().all(|line| line.len() <= 79), "{out}");
            assert_eq!(super::read_game(out.as_bytes()), game);
        }
    }
    // A word that fits into no line gets a line of its own; characters are counted, not bytes.
    let text = format!("1. e4 {{a {} b {}}} e5 *", "x".repeat(100), "\u{e9}".repeat(74));
    let out = export(text.as_bytes()).remove(0);
    assert!(out.contains(&format!("{{a\n{}\nb ", "x".repeat(100))), "{out}");
}

/// A brace in a comment.
#[test]
fn comments_with_braces_go_to_the_end_of_lines() {
    let mut builder = epdb_chess::model::GameBuilder::new();
    builder.add_comment("a } b").unwrap();
    builder.add_comment("} c").unwrap();
    builder.add_comment("d").unwrap();
    builder.add_comment(&"long } ".repeat(40)).unwrap();
    let game = builder.finish().unwrap();
    let out = String::from_utf8(super::export(&game, Charset::Utf8)).unwrap();
    assert!(out.contains("\n\n;a } b\n{}\n;} c\n{d}\n;long } long"), "{out}");
    assert!(out.lines().all(|line| line.len() <= 79));
    assert_eq!(super::read_game(out.as_bytes()), game);
}

#[test]
fn reduced_export_drops_and_counts() {
    let game =
        super::read_game(b"[ECO \"C20\"]\n{a} 1. e4 $1 {b} (1. d4 {c} (1. c4)) (1. b4) e5 *");
    let options = PgnFormatOptions { reduced: true, ..Default::default() };
    let mut out = Vec::new();
    let losses = pgn::format(&game, &options, &mut out).unwrap();
    assert!(out.ends_with(b"[Result \"*\"]\n\n1. e4 e5 *\n\n"));
    assert_eq!((losses.tags, losses.comments, losses.nags, losses.variations), (1, 3, 1, 3));
    let set_up = super::read_game(b"[FEN \"4k3/8/8/8/8/8/4P3/4K3 w - - 5 39\"]\n\n1. e4 *");
    assert_eq!(pgn::format(&set_up, &options, &mut out).unwrap_err().code(), "E-PGN-SETUP");
}

#[test]
fn games_are_read_and_written_in_other_languages() {
    let german = "German".parse::<pgn::Language>().unwrap();
    let read = PgnReadOptions { language: german, ..Default::default() };
    let text = b"1. e4 e5 2. Sf3 Sc6 3. Lb5 a6 4. Lxc6 dxc6 5. O-O Dd4 *";
    let english = normalise(text, &read, &PgnFormatOptions::default());
    assert!(english[0].ends_with("1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 4. Bxc6 dxc6 5. O-O Qd4 *\n\n"));
    let write = PgnFormatOptions { language: german, ..Default::default() };
    assert!(normalise(text, &read, &write)[0].ends_with("4. Lxc6 dxc6 5. O-O Dd4 *\n\n"));
    assert_eq!(normalise(b"1. Nf3 *", &read, &write), ["E-MOVE-SYNTAX 1:4"]);
}

#[test]
fn set_up_games_get_their_tags() {
    let tags = |text: &[u8]| -> Vec<String> {
        let game = super::read_game(text);
        game.tags().skip(7).map(|(name, value)| format!("{name}={value}")).collect()
    };
    let fen = "4k3/8/8/8/8/8/4P3/4K3 w - - 5 39";
    let text = format!("[FEN \"{fen}\"]\n\n39. e4 *");
    assert_eq!(tags(text.as_bytes()), [format!("FEN={fen}"), "SetUp=1".into()]);
    assert!(warnings(text.as_bytes()).is_empty());
    let fen = "rbkqnrbn/pppppppp/8/8/8/8/PPPPPPPP/RBKQNRBN w KQkq - 0 1";
    let text = format!("[FEN \"{fen}\"]\n\n1. g4 *");
    assert_eq!(tags(text.as_bytes()), [&format!("FEN={fen}"), "SetUp=1", "Variant=Chess960"]);
    assert_eq!(tags(b"[Variant \"Chess960\"]\n\n1. e4 *"), ["Variant=Chess960"]);
}

/// A FEN whose move number is 0 keeps its halfmove clock.
#[test]
fn counters_of_sloppy_fens_are_kept() {
    for (counters, wanted) in [("7 0", (7, 1)), ("7 9", (7, 9)), ("x 9", (0, 9)), ("", (0, 1))] {
        let text = format!("[FEN \"4k3/8/8/8/8/8/4P3/4K3 w - - {counters}\"]\n\ne4 *");
        let counters = super::read_game(text.as_bytes()).start().counters;
        assert_eq!((counters.halfmove_clock, counters.fullmove_number), wanted, "{text}");
    }
}

/// A FEN tag in a spelling that PGC does not have becomes canonical; all others stay.
#[test]
fn fens_become_canonical() {
    let home = "r3k2r/8/8/8/8/8/8/R3K2R";
    for (fen, wanted) in [
        (format!("{home} w KQkq - 3 40"), format!("{home} w KQkq - 3 40")),
        (format!("{home} w HAha - 3 40"), format!("{home} w HAha - 3 40")),
        (format!("{home} w KQkq -"), format!("{home} w KQkq -")),
        (format!("{home} w - e6"), format!("{home} w - e6")),
        (format!("{home} w HAkq - 3 40"), format!("{home} w KQkq - 3 40")),
        (format!("{home}  w qkQK - 03 40"), format!("{home} w KQkq - 3 40")),
        (format!("{home} w KQkq - 3"), format!("{home} w KQkq - 3 1")),
        (format!("{home} w KQkq - 3 0"), format!("{home} w KQkq - 3 1")),
        ("4k3/8/8/8/8/8/8/R3K3 w KQkq - 0 1".into(), "4k3/8/8/8/8/8/8/R3K3 w Q - 0 1".into()),
    ] {
        let text = format!("[FEN \"{fen}\"]\n\n40. Ke2 *");
        let game = super::read_game(text.as_bytes());
        assert_eq!(game.tag("FEN"), Some(&wanted[..]), "{fen}");
    }
}

/// PGN rows of the facts that other projects' tests check.
#[test]
fn peer_cases() {
    let rows: Vec<Vec<&str>> = include_str!("../vectors/peer_cases.tsv")
        .lines()
        .map(|line| line.split('\t').collect())
        .filter(|fields: &Vec<&str>| fields[0] == "pgn")
        .collect();
    assert_eq!(rows.len(), 13);
    let wanted = [
        (0, "1. b4 $6 1... g6 2. Bb2 Nc6 $2 3. Bxh8 $3 *"),
        // The mark after the variation belongs to 1. e4, the move that the variation replaces.
        (1, "1. e4 $5 (1. d4) *"),
        (2, "1. c4 *"),
        (3, "{Empty game, but has a comment} *"),
        (4, "1. e4 *"),
    ];
    for (row, wanted) in wanted {
        assert_eq!(movetext(&unescape(rows[row][1])), wanted);
    }
    // Rows 5 and 6 are tags; the colon after a known name is dropped.
    let game = super::read_game(rows[5][1].as_bytes());
    assert_eq!(game.tag("BlackType"), Some("program"));
    let game = super::read_game(&unescape(rows[6][1]));
    assert_eq!(game.tag("Event"), Some("TCEC"));
    // Rows 7 and 8 are descriptions, and so are 12, and 9 and 10 of files: games of their kind.
    assert_eq!(export(b"\xef\xbb\xbf[Event \"a\"]\n\n*\n\n[Event \"b\"]\n\n*\n").len(), 2);
    assert_eq!(movetext(b"1. e2e4 e7e5 2. g1f3 b8c6 *"), "1. e4 e5 2. Nf3 Nc6 *");
    let text = "[FEN \"8/8/8/8/8/k7/1p2R3/4K3 w - - 0 58\"]\n\n58. Re8 b1Q 0-1";
    assert_eq!(movetext(text.as_bytes()), "58. Re8 b1=Q+ 0-1");
    let game = super::read_game(b"[FEN \"8/8/8/8/8/k7/1p2R3/4K3 w - - 0 58\"]\n\n58. Kd2 *");
    assert_eq!(game.start().counters.fullmove_number, 58);
    assert_eq!(movetext(b"1. e4 ; comment\n e5 *"), "1. e4 {comment} 1... e5 *");
    assert_eq!(movetext(b"1. e4 (1. Z0) *"), "1. e4 (1. --) *");
}

/// What stands as export format has it is read by a way of its own. With other white space it is the
/// same game, and what is wrong with it is found at the same place.
#[test]
fn games_are_the_same_however_they_are_spaced() {
    let tags =
        "[Event \"a\"]\n[Site \"b\"]\n[White \"M\u{fc}ller\"]\n[Black \"\"]\n[ECO \"C60\"]\n";
    let moves = [
        "1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 4. Ba4 Nf6 5. O-O Be7 6. Re1 b5 7. Bb3 O-O *",
        "1. e4 e5 2. Nf3 Nc6 {a comment} 3. Bb5 a6 (3... Nf6 4. O-O) 4. Ba4 $1 b5 1-0",
        "1. d4 f5 2. e4 fxe4 3. f3 exf3 4. Nxf3 h6 5. Bd3 Nf6 6. Bg6# 1-0",
        "1. e4 d5 2. e5 f5 3. exf6 gxf6 4. Qh5+ Kd7 5. Qxd5+ Ke8 6. Ke2 Nc6 7. Kd1 1/2-1/2",
        "1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 5. Ba4 Nf6 *",
        "1. e4 e5 2. Nf3 Nc6 3. O-O *",
        "1. e4 e5 2. Qh5 Ke7 3. Qxe5+ e6 *",
        "1. e4 e5 2. Ke3 *",
    ];
    let whole_only = PgnReadOptions { truncate: Some(false), ..Default::default() };
    let read = |text: &str| normalise(text.as_bytes(), &whole_only, &PgnFormatOptions::default());
    let mut wanted = Vec::new();
    for spaces in [" ", "  ", "\t", "\n", "\r\n", " \n", "\u{b}"] {
        for line_end in ["\n", "\r\n", "\r", " \n"] {
            let text: String = moves
                .iter()
                .map(|moves| {
                    let moves = moves.replace(' ', spaces).replace("a comment", "a\tcomment");
                    format!("{}{line_end}{moves}{line_end}{line_end}", tags.replace('\n', line_end))
                })
                .collect();
            let games: Vec<String> = read(&text)
                .into_iter()
                .map(|game| if game.starts_with("E-") { game[..8].into() } else { game })
                .collect();
            if wanted.is_empty() {
                assert_eq!(games.len(), moves.len());
                assert_eq!(games.iter().filter(|game| game.starts_with("E-")).count(), 3);
                wanted = games;
                continue;
            }
            assert_eq!(games, wanted, "{spaces:?} {line_end:?}");
        }
    }
    // Other ends of lines leave lines and columns what they are.
    let text = format!("{tags}\n{}\n\n{tags}\n1. e4 e5\n2. Ke2 Ke7 3. Ke4 *", moves[0]);
    let places = read(&text);
    assert_eq!(places[1], "E-MOVE-ILLEGAL 16:15");
    assert_eq!(places, read(&text.replace('\n', "\r\n")));
}
