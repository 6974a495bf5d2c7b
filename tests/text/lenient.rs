//! The lenient profile, deviation by deviation: the resulting line and its warnings.

use epdb_chess::text::epd::{self, Line, parse_line};
use epdb_chess::text::pgn::Charset;
use epdb_chess::text::{
    Diagnostic, Format, FormatOptions, MateTargets, ParseOptions, Profile, ScoreView, Setting,
    codes,
};

use crate::{normalise, normalise_with, read, read_with};

/// The start array; operations begin in column 58.
const S: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -";
/// A king each; counters or operations begin in column 27.
const K: &str = "4k3/8/8/8/8/8/4P3/4K3 w - -";

/// Checks text and warnings, and that the text is stable: read again it changes no more, and only
/// doubts are left.
#[track_caller]
fn check(line: &str, wanted: &str, warnings: &[(&str, usize)]) {
    check_bytes(line.as_bytes(), wanted, warnings, &ParseOptions::default());
}

#[track_caller]
fn check_bytes(line: &[u8], wanted: &str, warnings: &[(&str, usize)], options: &ParseOptions) {
    let (result, found) = read_with(line, options);
    let Ok(Line::Record(record)) = result else { panic!("{result:?}") };
    assert_eq!(String::from_utf8_lossy(&epdb_chess::format_epd(&record)), wanted);
    let found: Vec<(&str, usize)> = found.iter().map(|w| (w.code, w.column)).collect();
    assert_eq!(found, warnings);
    let (again, doubts) = normalise(wanted, Profile::Lenient);
    assert_eq!(again.as_deref(), Ok(wanted), "not stable");
    assert!(doubts.iter().all(|code| !code.starts_with("W-LEN") || STABLE.contains(code)));
}

/// Warnings about text that is kept, and so repeated each time.
const STABLE: [&str; 4] =
    [codes::W_LEN_MOVE, codes::W_LEN_DM, codes::W_LEN_STRLEN, codes::W_LEN_LINELEN];

#[track_caller]
fn operations(line: &str, wanted: &str, warnings: &[(&str, usize)]) {
    let wanted = if wanted.is_empty() { S.into() } else { format!("{S} {wanted}") };
    check(&format!("{S} {line}"), &wanted, warnings);
}

#[track_caller]
fn rejected(line: &str, code: &str, column: usize, part: &str) {
    let (result, warnings) = read(line.as_bytes(), Profile::Lenient);
    let Err(error) = result else { panic!("{result:?}") };
    assert_eq!((error.code, error.column), (code, column), "{error}");
    assert!(error.message.contains(part), "{error}");
    assert!(warnings.is_empty());
}

/// Typographic characters outside of strings are read as ASCII; in strings they stay.
#[test]
fn typography_is_read_as_ascii() {
    let fields = S.replace(' ', "\u{a0}");
    let told = |column| [("W-LEN-UNICODE", column)];
    check(&format!("{fields}\u{a0}0\u{a0}1"), &format!("{S} 0 1"), &told(44));
    check(&S.replace(" -", " \u{2013}"), S, &told(52));
    check(&format!("\u{200b}{S}\u{2060} bm\u{3000}e4;"), &format!("{S} bm e4;"), &told(1));
    for (line, wanted) in [
        ("id \u{201c}WAC\u{2013}001\u{201d};", "id \"WAC\u{2013}001\";"),
        ("id \u{201e}a b\u{201c}; c0 \u{ab}c\u{a0}d\u{bb};", "c0 \"c\u{a0}d\"; id \"a b\";"),
        ("id \u{201c}a\"; ce \u{2212}30;", "ce -30; id \"a\";"),
        ("pv e4 e5 Nf3 Nf6 Bc4 Bc5 O\u{2011}O;", "pv e4 e5 Nf3 Nf6 Bc4 Bc5 O-O;"),
    ] {
        let column = 54 + line.find(|c: char| !c.is_ascii()).unwrap();
        operations(line, wanted, &told(column));
    }
    // Places of other findings are those of the line.
    let text = format!("{} bm\u{a0}e4 zz;", S.replace(' ', "\u{2003}"));
    let (_, found) = read(text.as_bytes(), Profile::Lenient);
    let zz = text.find("zz").unwrap() + 1;
    assert!(found.iter().any(|finding| finding.column == zz), "{found:?}");
    rejected("8/8/8/8/8/8/8/8\u{a0}x - -", "E-FEN-COLOR", 18, "");
    operations("id \"\u{a0}\u{201c}\u{2026}\";", "id \"\u{a0}\u{201c}\u{2026}\";", &[]);
    assert!(read(format!("{S}\u{a0}").as_bytes(), Profile::Standard).0.is_err());
}

/// `c1` and `c8` where a pawn can become a piece.
#[test]
fn promotions_on_files_of_registers() {
    let white = "5nr1/2Pp2pk/3Pp1p1/4P1P1/6P1/5K2/8/7n w - -";
    let joined = [("W-LEN-DETACHED", 51), ("W-LEN-DETACHED", 53)];
    check(&format!("{white} bm c8 = N;"), &format!("{white} bm c8=N;"), &joined);
    check(&format!("{white} bm c8 =N;"), &format!("{white} bm c8=N;"), &joined[..1]);
    check(&format!("{white} bm c8;"), &format!("{white} bm c8;"), &[("W-LEN-MOVE", 48)]);
    check(
        &format!("{white} bm Ke2 c8 \"note\";"),
        &format!("{white} bm Ke2; c8 \"note\";"),
        &[("W-LEN-SEMICOLON", 52)],
    );
    check(
        &format!("{white} bm Ke2; c8 = N;"),
        &format!("{white} bm Ke2 c8=N;"),
        &[("W-LEN-JOINED", 53), joined_at(56), joined_at(58)],
    );
    let black = "8/8/8/8/8/4k3/2p5/4K3 b - -";
    check(
        &format!("{black} bm Kd3 c1 = Q+;"),
        &format!("{black} bm Kd3 c1=Q#;"),
        &[joined_at(39), joined_at(41)],
    );
    check(&format!("{black} bm Kd3 c1;"), &format!("{black} bm Kd3 c1;"), &[("W-LEN-MOVE", 36)]);
    check(
        &format!("{black} bm Kd3; c1;"),
        &format!("{black} bm Kd3 c1;"),
        &[("W-LEN-JOINED", 37), ("W-LEN-MOVE", 37)],
    );
    // If no pawn can go there, it is the register.
    operations("bm e4 c1;", "bm e4; c1;", &[("W-LEN-SEMICOLON", 60)]);
    operations("bm e4; c1;", "bm e4; c1;", &[]);
}

fn joined_at(column: usize) -> (&'static str, usize) {
    ("W-LEN-DETACHED", column)
}

/// `bm #2; O-O;` says that castling is a part of the mate, not that it is the move.
#[test]
fn a_label_after_a_mate_is_no_move() {
    let castles = "6k1/8/8/8/8/8/8/R3K2R w KQ -";
    check(
        &format!("{castles} bm #2; O-O-O;"),
        &format!("{castles} bm #2; noop \"O-O-O\";"),
        &[("W-LEN-OPCODE", 37)],
    );
}

/// Moves with semicolons between them.
#[test]
fn moves_after_moves_are_joined() {
    let joined = |column| ("W-LEN-JOINED", column);
    let line = "8/2b2k1K/1pPp1p2/1P1P1P2/5B2/8/8/8 w - -";
    check(
        &format!("{line}; bm Be3; Bd2; Bc1; Bh6"),
        &format!("{line} bm Bc1 Bd2 Be3 Bh6;"),
        &[joined(51), joined(56), joined(61)],
    );
    operations("bm e4; c3; c4; id \"x\";", "bm c3 c4 e4; id \"x\";", &[joined(61), joined(65)]);
    operations(
        "pv e4; e5; Nf3; Nc6 !;",
        "pv e4 e5 Nf3 Nc6;",
        &[joined(61), joined(65), joined(70), ("W-LEN-MARKS", 70), joined_at(74)],
    );
    operations("am e4; d2d4; ce 5;", "am d4 e4; ce 5;", &[joined(61)]);
    // An illegal move, or one elsewhere, is an operation of its own.
    operations("bm e4; e5;", "bm e4; e5;", &[]);
    let named = |column| [("W-EPD-MOVEOPCODE", column)];
    operations("pm e4; d4;", "d4; pm e4;", &named(61));
    operations("bm e4; id \"x\"; Nf3;", "Nf3; bm e4; id \"x\";", &named(69));
    operations("bm e4; d4 x;", "bm e4; d4 x;", &named(61));
    // Canonical text has it after bm, and would be read so.
    operations("c4; bm e4;", "bm c4 e4;", &[joined(54)]);
    let (text, warnings) = normalise(&format!("{S} bm e4; c4;"), Profile::Standard);
    assert_eq!((text, warnings), (Ok(format!("{S} bm e4; c4;")), vec![]));
}

#[test]
fn misspelt_moves() {
    let both = "r3k2r/8/8/8/8/8/8/R3K2R w KQkq -";
    check(
        &format!("{both} bm OO OOO;"),
        &format!("{both} bm O-O O-O-O;"),
        &[("W-LEN-SPELLING", 37), ("W-LEN-SPELLING", 40)],
    );
    let bishop = "4k3/8/8/8/8/2p5/1B6/4K3 w - -";
    check(&format!("{bishop} bm Bcx3+;"), &format!("{bishop} bm Bxc3;"), &[("W-LEN-SPELLING", 34)]);
    check(&format!("{bishop} bm Bax3;"), &format!("{bishop} bm Bax3;"), &[("W-LEN-MOVE", 34)]);
    operations("bm e4 M15;", "bm #15 e4;", &[("W-LEN-TARGET", 60)]);
    operations("bm +M3;", "bm #3;", &[("W-LEN-TARGET", 57)]);
    operations("bm -M3;", "bm #-3;", &[("W-LEN-TARGET", 57)]);
    operations("pv OO;", "pv OO;", &[("W-LEN-MOVE", 57)]);
}

/// Marks that would be glued to another move when the text is read again.
#[test]
fn loose_marks_do_not_wander() {
    let position = "2k5/2p5/1q1p4/pPpPp1p1/N1P1Pp1p/P4PbP/KQ4P1/8 w - -";
    check(
        &format!("{position} ; am Nxb6 +,? ;"),
        &format!("{position} am Nxb6+;"),
        &[("W-LEN-COMMA", 55), ("W-LEN-MARKS", 58), joined_at(63), joined_at(65)],
    );
    let salvaged = [("W-LEN-MOVE", 57), ("W-LEN-SALVAGED", 54)];
    operations_in_any_order("bm ep e4;", "noop \"bm e4 ep\";", &salvaged);
    operations("bm + e4;", "bm + e4;", &salvaged[..1]);
}

/// Nothing is lost if a list precedes a string.
#[test]
fn a_list_before_a_string_is_kept() {
    operations("bm e4,c4 \"note\";", "noop \"bm e4,c4 'note'\";", &[("W-LEN-SALVAGED", 54)]);
}

#[track_caller]
fn operations_in_any_order(line: &str, wanted: &str, codes: &[(&str, usize)]) {
    let (text, warnings) = normalise(&format!("{S} {line}"), Profile::Lenient);
    assert_eq!(text, Ok(format!("{S} {wanted}")));
    let mut wanted: Vec<&str> = codes.iter().map(|(code, _)| *code).collect();
    wanted.sort_unstable();
    let mut warnings = warnings;
    warnings.sort_unstable();
    assert_eq!(warnings, wanted);
}

/// A list with a name of an operation in it is not taken apart, since that name would then begin
/// the operation, on this reading or on the next.
#[test]
fn lists_of_moves_keep_names_of_operations() {
    operations("bm e4,d4;", "bm d4 e4;", &[(codes::W_LEN_COMMA, 54)]);
    operations("bm R,c8;", "bm R,c8;", &[(codes::W_LEN_MOVE, 57)]);
    operations("bm Rd8 R,c2;", "bm R,c2 Rd8;", &[(codes::W_LEN_MOVE, 57), (codes::W_LEN_MOVE, 61)]);
}

#[test]
fn white_space_and_byte_order_mark_are_accepted() {
    check(&format!("\u{feff}{S}"), S, &[]);
    check(&format!(" \t{}  \x0b \r", S.replace(' ', " \t ")), S, &[]);
    for blank in ["", "   ", "\t\r", "\u{feff}"] {
        assert_eq!(read(blank.as_bytes(), Profile::Lenient).0, Ok(Line::Blank));
    }
}

#[test]
fn comment_lines_are_distinguished_from_records() {
    let (result, warnings) = read(b"  # 4 piece endgames", Profile::Lenient);
    assert_eq!((result, warnings), (Ok(Line::Comment), Vec::new()));
}

#[test]
fn control_bytes_are_stripped_at_the_end_and_blanks_inside() {
    check(&format!("{S} \0\0"), S, &[("W-LEN-CTRLEND", 54)]);
    check(
        &format!("{S} bm\x01e4;\x7f"),
        &format!("{S} bm e4;"),
        &[("W-LEN-CTRL", 56), ("W-LEN-CTRLEND", 60)],
    );
    operations("c0 \"a\x1bb\tc\";", "c0 \"a b c\";", &[("W-LEN-CTRL", 59)]);
    assert_eq!(read(b"\0\0", Profile::Lenient).0, Ok(Line::Blank));
}

#[test]
fn strings_are_utf8_or_read_as_windows_1252() {
    let line = |name: &[u8]| [S.as_bytes(), b" c0 \"", name, b"\"; id \"M\xc3\xbcller\";"].concat();
    let wanted = format!("{S} c0 \"Strangmüller\"; id \"Müller\";");
    let options = ParseOptions::default();
    check_bytes(&line(b"Strangm\xfcller"), &wanted, &[("W-LEN-LATIN1", 58)], &options);
    check_bytes(&line("Strangmüller".as_bytes()), &wanted, &[], &options);
    // Windows-1252, five bytes of which are control characters of Latin-1.
    let wanted = format!("{S} c0 \"“€” Š\u{81}\u{9d}\"; id \"Müller\";");
    let text = line(b"\x93\x80\x94 \x8a\x81\x9d");
    check_bytes(&text, &wanted, &[("W-LEN-LATIN1", 58)], &options);
    let latin1 = ParseOptions { charset: Some(Charset::Latin1), ..Default::default() };
    let wanted = format!("{S} c0 \"\u{93}\u{80}\u{94} \u{8a}\u{81}\u{9d}\"; id \"MÃ¼ller\";");
    check_bytes(&text, &wanted, &[], &latin1);
    let standard =
        ParseOptions { charset: Some(Charset::Latin1), ..ParseOptions::new(Profile::Standard) };
    check_bytes(&text, &wanted, &[], &standard);
    // Outside strings such bytes make an operation that cannot be kept as it is.
    operations("Zz é;", "noop \"Zz é\";", &[("W-LEN-SALVAGED", 54)]);
    operations("é x;", "noop \"é x\";", &[("W-LEN-OPCODE", 54)]);
    operations("id é;", "id \"é\";", &[("W-LEN-UNQUOTED", 57)]);
    operations("bm ♘f3;", "bm Nf3;", &[]);
}

#[test]
fn long_lines_are_kept() {
    let text = "x".repeat(250);
    let many: String = (10..30).map(|n| format!(" Z{n} \"{text}\";")).collect();
    let line = format!("{S}{many}");
    check(&line, &line, &[("W-LEN-LINELEN", 4096)]);
    let long = format!("c0 \"{}\";", "x".repeat(256));
    operations(&long, &long, &[("W-LEN-STRLEN", 58)]);
}

#[test]
fn invalid_positions_are_rejected_with_a_suggestion() {
    let fen = |turn: &str| S.replace(" w KQkq -", turn);
    rejected("hehe;ad", "E-EPD-FIELDS", 1, "1 of the four");
    let glued = "8/8/8/4k3/8/1K6/8/8 b - - id \"a\"; 8/8/8/4k3/8/1K6/8/8 w - - id \"b\";";
    rejected(glued, "E-EPD-OPCODE", 35, "a line end is missing before it");
    rejected("r3k3/pQ3prp/8/8/8/8/8/8 ; ", "E-EPD-FIELDS", 1, "2 of the four");
    rejected(&fen(" w KQkq bm"), "E-FEN-EP", 52, "field missing");
    rejected("a8/Q e1/Q 4 Qd5+ Kb4", "E-FEN-RANKS", 1, "2 ranks");
    rejected(&fen(" x KQkq -"), "E-FEN-COLOR", 45, "`w` or `b`");
    rejected(&fen(" w Kqkqk -"), "E-FEN-CASTLE", 50, "is repeated");
    rejected(&fen(" w KQxq -"), "E-FEN-CASTLE", 49, "`x`");
    rejected(&fen(" w - bm e4;"), "E-FEN-EP", 49, "field missing");
    rejected(&fen(" w KQkq E6"), "E-FEN-EP", 52, "`e6`?");
    rejected(&S.replace("pppppppp", "ppppppp"), "E-FEN-RANKSUM", 10, "rank 7");
    rejected(&S.replace("/8/8/8/8/", "/8/9/8/8/"), "E-FEN-CHAR", 21, "`9`");
}

#[test]
fn counters_keep_their_form_without_operations() {
    check(&format!("{K} 005 039"), &format!("{K} 5 39"), &[]);
    check(&format!("{K} 5 39;"), &format!("{K} 5 39"), &[]);
    check(&format!("{K} 5 39 id \"x\";"), &format!("{K} fmvn 39; hmvc 5; id \"x\";"), &[]);
    check(&format!("{K} 5 39 ; draw"), &format!("{K} draw; fmvn 39; hmvc 5;"), &[]);
    check(&format!("{K} 5 39 hmvc 5;"), &format!("{K} fmvn 39; hmvc 5;"), &[("W-EPD-DUP", 34)]);
    check(
        &format!("{K} 5 39 hmvc 6;"),
        &format!("{K} fmvn 39; hmvc 5; noop \"hmvc 6\";"),
        &[("W-LEN-DUP", 34)],
    );
}

#[test]
fn counters_out_of_range_are_salvaged() {
    // Valid counters stay, a fullmove number of 0 is 1.
    check(&format!("{K} 1 0"), &format!("{K} 1 1"), &[("W-LEN-COUNTERS", 31)]);
    check(&format!("{K} 0 0"), &format!("{K} 0 1"), &[("W-LEN-COUNTERS", 31)]);
    let salvaged = |counters: &str, wanted: &str, column| {
        check(&format!("{K} {counters}"), &format!("{K} {wanted}"), &[("W-LEN-COUNTERS", column)]);
    };
    salvaged("-1 39", "fmvn 39; noop \"FEN counters -1\";", 29);
    salvaged("4294967296 1", "fmvn 1; noop \"FEN counters 4294967296\";", 29);
    let long = "99999999999999999999999";
    salvaged(&format!("0 {long}"), &format!("hmvc 0; noop \"FEN counters {long}\";"), 31);
    salvaged("-1 -2 bm e4;", "bm e4; noop \"FEN counters -1 -2\";", 29);
    salvaged("-3", "noop \"FEN counters -3\";", 29);
    // One character that is no counter, where the line has nothing else.
    salvaged("x 39", "fmvn 39; noop \"FEN counters x\";", 29);
    salvaged("5 ?", "hmvc 5; noop \"FEN counters ?\";", 31);
    let short = ("W-EPD-SHORTOPCODE", 29);
    check(&format!("{K} x 39;"), &format!("{K} x 39;"), &[short]);
    check(&format!("{K} x 39; y"), &format!("{K} x 39; y;"), &[short, ("W-EPD-SHORTOPCODE", 35)]);
    check(&format!("{K} id 39"), &format!("{K} id \"39\";"), &[("W-LEN-UNQUOTED", 32)]);
}

/// FEN output shows other counters than those that could not be read, and says so.
#[test]
fn salvaged_counters_are_counted_as_not_written() {
    let losses = |line: &str| {
        let options = FormatOptions { format: Format::Fen, ..Default::default() };
        let record = epdb_chess::parse_epd(line.as_bytes()).unwrap();
        epd::format(&record, &options, &mut Vec::new())
    };
    let lost = losses(&format!("{K} x 39"));
    assert_eq!((lost.salvaged_counters, lost.operations, lost.counters), (1, 0, 0));
    let lost = losses(&format!("{K} -1 39 bm e4; v=3;"));
    assert_eq!((lost.salvaged_counters, lost.operations), (1, 2));
    assert_eq!(losses(&format!("{K} noop \"x\";")).salvaged_counters, 0);
}

/// Counters glued to field 4 or to each other.
#[test]
fn glued_counters_are_taken_apart() {
    let b = K.replace("w - -", "b - -");
    check(
        &format!("{b}1 12 ; bm Kd8"),
        &format!("{b} bm Kd8; fmvn 12; hmvc 1;"),
        &[("W-LEN-GLUED", 27)],
    );
    check(
        &format!("{K}0 1 bm e3;"),
        &format!("{K} bm e3; fmvn 1; hmvc 0;"),
        &[("W-LEN-GLUED", 27)],
    );
    check(&format!("{K}5"), &format!("{K} hmvc 5;"), &[("W-LEN-GLUED", 27), ("W-LEN-HMVC", 28)]);
    let after_e4 = "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq e3";
    check(&format!("{after_e4}0 1"), &format!("{after_e4} 0 1"), &[("W-LEN-GLUED", 54)]);
    check(&format!("{K} 012"), &format!("{K} 0 12"), &[("W-LEN-GLUED", 29)]);
    check(&format!("{K} 005"), &format!("{K} hmvc 5;"), &[("W-LEN-HMVC", 29)]);
}

/// Words of UCI and of test files around a position.
#[test]
fn words_before_a_position() {
    let start = format!("{S} 0 1");
    for line in ["startpos", "position startpos", " Position  startpos ", "startpos;"] {
        check(line, &start, &[]);
    }
    check(&format!("epd {S}"), S, &[]);
    check(&format!("fen {start}"), &start, &[]);
    check(&format!("position fen {start}"), &start, &[]);
    check(&format!("EPD {S} bm e4;"), &format!("{S} bm e4;"), &[]);
    rejected("epd", "E-EPD-FIELDS", 4, "0 of the four");
    rejected("position of the day", "E-EPD-FIELDS", 10, "3 of the four");
    for profile in [Profile::Strict, Profile::Standard] {
        assert_eq!(normalise(&format!("epd {S}"), profile).0, Err("E-FEN-RANKS"));
    }
}

#[test]
fn moves_after_a_position() {
    let after = "rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR w KQkq e6";
    check("position startpos moves e2e4 e7e5", &format!("{after} 0 2"), &[("W-LEN-MOVES", 19)]);
    check(&format!("{S} moves e4 e5"), after, &[("W-LEN-MOVES", 54)]);
    check(
        &format!("{K} 4 17 moves e1d1 Kd7"),
        "8/3k4/8/8/8/8/4P3/3K4 w - - 6 18",
        &[("W-LEN-MOVES", 34)],
    );
    check(
        &format!("{K} 4 moves e1d1"),
        "4k3/8/8/8/8/8/4P3/3K4 b - - hmvc 5;",
        &[("W-LEN-HMVC", 29), ("W-LEN-MOVES", 31)],
    );
    check(
        "startpos moves e2e4; bm e5;",
        "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq e3 bm e5; fmvn 1; hmvc 0;",
        &[("W-LEN-MOVES", 10)],
    );
    rejected("startpos moves e2e4 e2e4", "E-MOVE-ILLEGAL", 21, "e2e4");
    rejected("8/8/8/8/8/8/8/8 w - - moves e2e4", "E-MOVE-ILLEGAL", 29, "no moves can be made");
    // An operation of that name is one.
    operations("moves e2e4;", "moves e2e4;", &[]);
    operations("moves", "moves;", &[]);

    let keep = ParseOptions { keep_moves: true, ..Default::default() };
    let kept = |line: &str| normalise_with(line, &keep);
    let (text, warnings) = kept("position startpos moves e2e4 e7e5");
    assert_eq!(text, Ok(format!("{S} fmvn 1; hmvc 0; pv e4 e5;")));
    assert_eq!(warnings, ["W-LEN-MOVES"]);
    assert_eq!(kept(&format!("{S} moves e4 Qh5 e5")).0, Ok(format!("{S} pv e4 Qh5 e5;")));
    assert_eq!(kept(&format!("{S} moves e4 dm 5")).0, Err("E-MOVE-SYNTAX"));
}

#[test]
fn five_fields_and_dashes() {
    check(&format!("{K} 4"), &format!("{K} hmvc 4;"), &[("W-LEN-HMVC", 29)]);
    check(&format!("{K} 4; id \"x\";"), &format!("{K} hmvc 4; id \"x\";"), &[("W-LEN-HMVC", 29)]);
    check(&format!("{K} - -"), K, &[("W-LEN-DASHES", 29)]);
    check(&format!("{K} - bm Kd2;"), &format!("{K} bm Kd2;"), &[("W-LEN-DASHES", 29)]);
    check(&format!("{K} - 3 17"), &format!("{K} 3 17"), &[("W-LEN-DASHES", 29)]);
}

#[test]
fn castling_in_any_letters_and_rights_without_rooks() {
    check(&S.replace("KQkq", "qkHA"), S, &[]);
    let both = "2bnk1rr/8/8/8/8/8/8/2BNK1RR w Gkg -";
    rejected(both, "E-FEN-CASTLE", 33, "second right");
    let line = "rn1qr1k1/8/8/8/8/8/8/2KR3R w kqK - bm Kb1;";
    let wanted = "rn1qr1k1/8/8/8/8/8/8/2KR3R w Kq - bm Kb1;";
    check(line, wanted, &[("W-LEN-CASTLE", 30), ("W-LEN-CHESS960", 31)]);
    check(
        "4k3/8/8/8/8/8/8/4K3 w KQkq -",
        "4k3/8/8/8/8/8/8/4K3 w - -",
        &[("W-LEN-CASTLE", 23), ("W-LEN-CASTLE", 24), ("W-LEN-CASTLE", 25), ("W-LEN-CASTLE", 26)],
    );
    // A right of Chess960 gives no warning, unless the rest of the field shows that it is not one.
    let castled = "r4rk1/8/8/8/8/8/8/R4RK1 w KQkq -";
    check(
        castled,
        &castled.replace("KQkq", "-"),
        &[
            ("W-LEN-CASTLE", 27),
            ("W-LEN-CHESS960", 28),
            ("W-LEN-CASTLE", 29),
            ("W-LEN-CHESS960", 30),
        ],
    );
    check(&castled.replace("KQkq", "Qq"), &castled.replace("KQkq", "Qq"), &[]);
    let classic = "r3k3/8/8/8/8/8/8/4K2R w KQq -";
    check(classic, &classic.replace("KQq", "Kq"), &[("W-LEN-CASTLE", 26)]);
    // They stay where those of the other side are sound.
    let one = "r4rk1/8/8/8/8/8/8/1RK3R1 b KQkq -";
    check(one, &one.replace("KQkq", "KQq"), &[("W-LEN-CASTLE", 30), ("W-LEN-CHESS960", 31)]);
    let inner = "4k3/8/8/8/8/8/8/1R2K1R1 w KQ -";
    check(inner, inner, &[]);
    let half = "4k3/8/8/8/8/8/8/4K1R1 w KQ -";
    check(half, &half.replace("KQ", "-"), &[("W-LEN-CHESS960", 25), ("W-LEN-CASTLE", 26)]);
    let castled = "rn4k1/pppb1ppp/8/3P4/2BP2n1/2N1r3/PP1BNqP1/R2QR2K b KQkq -";
    let (result, _) = read(castled.as_bytes(), Profile::Lenient);
    let Ok(Line::Record(record)) = result else { panic!("{result:?}") };
    assert_eq!(record.to_string(), castled.replace("KQkq", "-"));
}

#[test]
fn kings_at_the_edge_have_no_rights() {
    for (line, column) in [
        ("4k3/8/8/8/8/8/8/R6K w Q -", 23),
        ("4k3/8/8/8/8/8/8/R6K w A -", 23),
        ("4k3/8/8/8/8/8/8/K6R w K -", 23),
        ("4k3/8/8/8/8/8/8/KR5R w B -", 24),
        ("r6k/8/8/8/8/8/8/4K3 b q -", 23),
        ("r1n3nk/8/8/8/8/8/8/4K3 b q -", 26),
        ("k6r/8/8/8/8/8/8/4K3 b h -", 23),
    ] {
        let (before, right) = line.split_at(column - 1);
        let wanted = format!("{before}-{}", &right[1..]);
        check(line, &wanted, &[("W-LEN-CASTLE", column)]);
        let (result, _) = read(line.as_bytes(), Profile::Standard);
        assert_eq!(result.unwrap_err().code, "E-POS-CASTLE", "{line}");
    }
    let line = "4k3/8/8/8/8/8/8/R6K w KQ -";
    check(line, &line.replace("KQ", "-"), &[("W-LEN-CASTLE", 23), ("W-LEN-CASTLE", 24)]);
    // Of the other king they stay.
    let line = "r2q2nk/8/8/8/8/8/8/R3K2R b KQq -";
    check(line, &line.replace("KQq", "KQ"), &[("W-LEN-CASTLE", 30)]);
}

#[test]
fn all_rights_in_any_case_are_known() {
    for field in ["Kqkq", "KQKQ", "kqkq", "kQkq", "KQkQ"] {
        check(&S.replace("KQkq", field), S, &[("W-LEN-CASTLECASE", 47)]);
    }
    rejected(&S.replace("KQkq", "KKkq"), "E-FEN-CASTLE", 48, "is repeated");
    let half = "rnbqkbn1/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w Kqkq -";
    rejected(half, "E-FEN-CASTLE", 50, "is repeated");
}

#[test]
fn en_passant_squares_are_kept_unless_no_double_step_can_have_left_them() {
    let after_e4 = "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq e3";
    check(after_e4, after_e4, &[]);
    check("8/8/8/KPp4r/8/8/8/4k3 w - c6", "8/8/8/KPp4r/8/8/8/4k3 w - c6", &[]);
    check(&after_e4.replace("e3", "d3"), &after_e4.replace("e3", "-"), &[("W-LEN-EP", 54)]);
    check(&after_e4.replace("e3", "e6"), &after_e4.replace("e3", "-"), &[("W-LEN-EP", 54)]);
    check(&after_e4.replace("e3", "e4"), &after_e4.replace("e3", "-"), &[("W-LEN-EP", 54)]);
}

#[test]
fn illegal_positions_are_kept_with_their_moves_as_text() {
    check("8/8/8/8/8/8/8/8 w - -", "8/8/8/8/8/8/8/8 w - -", &[("W-POS-ILLEGAL", 1)]);
    check(
        "8/4k3/8/8/8/3B4/8/1r3k2 w - - bm Bxb1 Bxb1 Ba6!?; pv e4 , e5;",
        "8/4k3/8/8/8/3B4/8/1r3k2 w - - bm Ba6!? Bxb1; pv e4 e5;",
        &[("W-POS-ILLEGAL", 1), ("W-LEN-MOVE", 34), ("W-LEN-COMMA", 51), ("W-LEN-MOVE", 54)],
    );
}

#[test]
fn semicolons_and_order() {
    operations("; bm e4;;id \"x\" ; ;acn 5", "acn 5; bm e4; id \"x\";", &[]);
    check(&format!("{S}; bm e4"), &format!("{S} bm e4;"), &[]);
    operations("0 1 ;D1 20 ;D2 400", "D1 20; D2 400; fmvn 1; hmvc 0;", &[]);
    operations(
        "Zz 1; ID \"x\"; bm e4 d4;",
        "ID \"x\"; Zz 1; bm d4 e4;",
        &[("W-EPD-OPCODECASE", 60)],
    );
}

#[test]
fn an_opcode_twice() {
    operations("id \"a\"; id \"a\";", "id \"a\";", &[("W-EPD-DUP", 62)]);
    operations("id \"a\"; id \"b\";", "id \"a\"; noop \"id 'b'\";", &[("W-LEN-DUP", 62)]);
    operations("bm bm e4;", "bm e4;", &[("W-LEN-DUP", 54)]);
    operations(
        "noop x; Zz 1; noop y; Zz 2;",
        "Zz 1; noop x \"noop y\" \"Zz 2\";",
        &[("W-LEN-DUP", 68), ("W-LEN-DUP", 76)],
    );
}

#[test]
fn invalid_opcodes() {
    operations(
        "Pv1: e4; id: \"x\";",
        "Pv1 e4; id \"x\";",
        &[("W-LEN-COLON", 54), ("W-LEN-COLON", 63)],
    );
    operations("v=-407;", "noop \"v=-407\";", &[("W-LEN-OPCODE", 54)]);
    operations(
        "bm #5; 00:21; \"hi; ho\" x; O-O; 00:21;",
        "bm #5; noop \"00:21\" \"'hi; ho' x\" \"O-O\" \"00:21\";",
        &[("W-LEN-OPCODE", 61), ("W-LEN-OPCODE", 68), ("W-LEN-OPCODE", 80), ("W-LEN-OPCODE", 85)],
    );
    operations("a 1;", "a 1;", &[("W-EPD-SHORTOPCODE", 54)]);
}

/// Names of opcodes that were meant otherwise are kept, with a warning.
#[test]
fn moves_and_capitals_are_no_opcodes() {
    let of_move = [("W-EPD-MOVEOPCODE", 54)];
    let of_case = [("W-EPD-OPCODECASE", 54)];
    for (text, wanted, warnings) in [
        ("e2e4", "e2e4;", &of_move[..]),
        ("e2e4 400", "e2e4 400;", &of_move),
        ("Nf3 2;", "Nf3 2;", &of_move),
        ("BM e4;", "BM e4;", &of_case),
        ("Id \"x\";", "Id \"x\";", &of_case),
        ("e7e5;", "e7e5;", &[]),
        ("D1 20;", "D1 20;", &[]),
        ("Ae \"x\";", "Ae \"x\";", &[]),
        ("eval 3;", "eval 3;", &[]),
    ] {
        operations(text, wanted, warnings);
    }
    let (_, warnings) = read(format!("{S} e2e4\t").as_bytes(), Profile::Standard);
    assert_eq!(warnings.len(), 1);
    assert!(warnings[0].message.contains("is it `bm e2e4` or `sm e2e4`?"), "{}", warnings[0]);
}

/// Lines that are no records, as test suites have them.
#[test]
fn comments_begin_with_several_signs() {
    for line in
        ["# x", "% x", "; x", "  ;", "// x", "{x}", "{ a } ", "%", "; 4k3/8/8/8/8/8/4P3/4K3 w - -"]
    {
        let (result, warnings) = read(line.as_bytes(), Profile::Lenient);
        assert!(matches!(result, Ok(Line::Comment)), "{line}");
        assert!(warnings.is_empty(), "{line}");
        assert!(read(line.as_bytes(), Profile::Standard).0.is_err(), "{line}");
    }
    for line in ["/ x", "{x", "{\"fen\":1}", "x # y", "-"] {
        assert!(read(line.as_bytes(), Profile::Lenient).0.is_err(), "{line}");
    }
}

/// Moves in quotes, with slashes between them, and with their numbers.
#[test]
fn moves_in_other_spellings() {
    let spelt = |column| [("W-LEN-SPELLING", column)];
    let split = [("W-LEN-COMMA", 54)];
    operations("bm \"e4\";", "bm e4;", &spelt(54));
    operations("bm \"e4 d4\"; id \"x\";", "bm d4 e4; id \"x\";", &spelt(54));
    operations("pv \"e4 e5 Nf3\";", "pv e4 e5 Nf3;", &spelt(54));
    operations("sm \"e4\";", "sm e4;", &spelt(54));
    operations("bm 1.e4;", "bm e4;", &spelt(57));
    operations("bm 1...e4;", "bm e4;", &spelt(57));
    operations("bm e4/d4;", "bm d4 e4;", &split);
    operations("bm \"Qh5\";", "noop \"bm 'Qh5'\";", &[("W-LEN-SALVAGED", 54)]);
    operations("bm \"\";", "noop \"bm ''\";", &[("W-LEN-SALVAGED", 54)]);
    operations("bm 1.e5;", "bm 1.e5;", &[("W-LEN-MOVE", 57)]);
    operations("bm e4/12;", "bm e4/12;", &[("W-LEN-MOVE", 57)]);
}

#[test]
fn strings_without_quotes() {
    operations("id BK.01;", "id \"BK.01\";", &[("W-LEN-UNQUOTED", 57)]);
    operations(
        "c1 score:  57.1% ; c0 5",
        "c0 \"5\"; c1 \"score:  57.1%\";",
        &[("W-LEN-UNQUOTED", 57), ("W-LEN-UNQUOTED", 76)],
    );
    operations("c0 so \"be\" it bm e4;", "c0 \"so 'be' it bm e4\";", &[("W-LEN-UNQUOTED", 57)]);
    operations(
        "tcri a@b Bob;",
        "tcri \"a@b\" \"Bob\";",
        &[("W-LEN-UNQUOTED", 59), ("W-LEN-UNQUOTED", 63)],
    );
    operations("ptp White Bob;", "ptp White \"Bob\";", &[("W-LEN-UNQUOTED", 64)]);
}

#[test]
fn escapes_and_open_strings() {
    operations(
        r#"a1 "foo\"bar";; ; b1 "foo\\\\";"#,
        r#"a1 "foo'bar"; b1 "foo\\\\";"#,
        &[("W-LEN-ESCAPE", 58)],
    );
    operations(
        r#"c0 "\"hi\" there, \"you\"";"#,
        r#"c0 "'hi' there, 'you'";"#,
        &[("W-LEN-ESCAPE", 58)],
    );
    operations(r#"c0 "a \" b; c";"#, r#"c0 "a ' b; c";"#, &[("W-LEN-ESCAPE", 58)]);
    operations(r#"c0 "a \" b "; c1 "d";"#, r#"c0 "a ' b "; c1 "d";"#, &[("W-LEN-ESCAPE", 58)]);
    operations(r#"Zz "a\" "b\";"#, r#"Zz "a\" "b\";"#, &[]);
    operations(r#"Zz "\" B "x";"#, r#"Zz "\" B "x";"#, &[]);
    operations(r#"Zz "\" B; c0 "x";"#, r#"Zz "\" B; c0 "x";"#, &[]);
    operations(r#"ptp A \ B "x";"#, r#"ptp A "\" B "x";"#, &[("W-LEN-UNQUOTED", 60)]);
    operations("id \"open; bm e4;", "id \"open; bm e4;\";", &[("W-LEN-QUOTE", 58)]);
    operations("id \"", "id \"\";", &[("W-LEN-QUOTE", 58)]);
    operations("00'40\" (G); id \"x\";", "noop \"00'40' (G); id 'x';\";", &[("W-LEN-OPCODE", 54)]);
}

#[test]
fn moves_in_other_notations() {
    operations("bm e2-e4 g1f3 Nb1c3 D2d4+;", "bm Nc3 Nf3 d4 e4;", &[]);
    operations(
        "pv e4! e5 Ng1-f3?? b8c6;",
        "pv e4 e5 Nf3 Nc6;",
        &[("W-LEN-MARKS", 57), ("W-LEN-MARKS", 64)],
    );
    operations("pm Nxf3;", "pm Nf3;", &[("W-SAN-CAPTURE", 57)]);
    let promotion = "8/5P2/k7/8/8/8/8/4K2R w K - bm";
    check(&format!("{promotion} f8Q f7f8n 0-0"), &format!("{promotion} O-O f8=N f8=Q;"), &[]);
    check(&format!("{promotion} e1g1;"), &format!("{promotion} O-O;"), &[]);
    check(&format!("{promotion} e1h1;"), &format!("{promotion} O-O;"), &[]);
    let capture = "4k3/8/8/3Pp3/8/8/8/4K3 w - e6 pv";
    check(&format!("{capture} d5xe6/ep;"), &format!("{capture} dxe6;"), &[]);
    check(&format!("{capture} dxe6 e.p.;"), &format!("{capture} dxe6;"), &[("W-LEN-DETACHED", 39)]);
}

#[test]
fn detached_marks_and_comma_lists() {
    let promotion = "8/5P1k/8/8/8/8/8/4K3 w - - bm";
    check(
        &format!("{promotion} f8 = Q ;"),
        &format!("{promotion} f8=Q;"),
        &[("W-LEN-DETACHED", 34), ("W-LEN-DETACHED", 36)],
    );
    check(
        &format!("{promotion} f8=N + !;"),
        &format!("{promotion} f8=N+;"),
        &[("W-LEN-MARKS", 31), ("W-LEN-DETACHED", 36), ("W-LEN-DETACHED", 38)],
    );
    operations("bm Nf3, d4,e4;", "bm Nf3 d4 e4;", &[("W-LEN-COMMA", 54)]);
}

#[test]
fn missing_semicolons() {
    operations(
        "bm Nf3 dm 26 id \"x\" c0 \"y\"",
        "bm Nf3; c0 \"y\"; dm 26; id \"x\";",
        &[("W-LEN-SEMICOLON", 61), ("W-LEN-SEMICOLON", 67), ("W-LEN-SEMICOLON", 74)],
    );
    operations("bm e4 c4;", "bm c4 e4;", &[]);
    operations("bm e4 c4 \"note\";", "bm e4; c4 \"note\";", &[("W-LEN-SEMICOLON", 60)]);
    operations(
        "bm e4 c7 note;",
        "bm e4; c7 \"note\";",
        &[("W-LEN-SEMICOLON", 60), ("W-LEN-UNQUOTED", 63)],
    );
    operations(
        "pv e4 e5 ce 12 acs 3;",
        "acs 3; ce 12; pv e4 e5;",
        &[("W-LEN-SEMICOLON", 63), ("W-LEN-SEMICOLON", 69)],
    );
    operations("draw_offer sm e4;", "draw_offer; sm e4;", &[("W-LEN-SEMICOLON", 65)]);
    operations("id bm e4;", "id \"bm e4\";", &[("W-LEN-UNQUOTED", 57)]);
    operations("Zz bm e4;", "Zz bm e4;", &[]);
}

#[test]
fn moves_that_do_not_fit_are_kept_as_text() {
    operations("bm e5 Nf3;", "bm Nf3 e5;", &[("W-LEN-MOVE", 57)]);
    operations("pv e4 e5 Ke3 Nf6! Qh5;", "pv e4 e5 Ke3 Nf6! Qh5;", &[("W-LEN-MOVE", 63)]);
    check(
        "4k3/8/8/8/8/2N5/8/4K1N1 w - - bm Ne2;",
        "4k3/8/8/8/8/2N5/8/4K1N1 w - - bm Ne2;",
        &[("W-LEN-MOVE", 34)],
    );
}

#[test]
fn mate_distances() {
    operations("bm #5;", "bm #5;", &[]);
    operations("bm #-5;", "bm #-5;", &[]);
    let mates = |mates| ParseOptions { mates, ..Default::default() };
    let target = format!("{S} bm #5; id \"x\";");
    let converted = |line: &str, kind, wanted: &str| {
        let (text, _) = normalise_with(line, &mates(kind));
        assert_eq!(text.as_deref(), Ok(format!("{S} {wanted}").as_str()));
    };
    converted(&target, MateTargets::Dm, "dm 5; id \"x\";");
    converted(&target, MateTargets::Ce, "ce 32758; id \"x\";");
    converted(&target.replace("#5", "#-5 e4"), MateTargets::Ce, "bm e4; ce -32757; id \"x\";");
    converted(&target.replace("id \"x\"", "ce 7"), MateTargets::Ce, "bm #5; ce 7;");
    converted(&target.replace("#5", "#400"), MateTargets::Ce, "bm #400; id \"x\";");

    operations("ce +M8;", "ce 32752;", &[("W-LEN-MATE", 57)]);
    operations("ce -M3;", "ce -32761;", &[("W-LEN-MATE", 57)]);
    operations("ce +M400;", "noop \"ce +M400\";", &[("W-LEN-INTEGER", 54)]);
    operations("dm 0;", "dm 0;", &[("W-LEN-DM", 57)]);
    operations("dm -12;", "dm -12;", &[("W-LEN-DM", 57)]);
}

#[test]
fn operands_that_break_the_rules_are_salvaged() {
    operations("acn 2188155,215;", "noop \"acn 2188155,215\";", &[("W-LEN-INTEGER", 54)]);
    operations("acn 28 acd; acn 28;", "acn 28; noop \"acn 28 acd\";", &[("W-LEN-INTEGER", 54)]);
    operations("ce 40000;", "noop \"ce 40000\";", &[("W-LEN-SALVAGED", 54)]);
    operations(
        "acs -1 bm e4;",
        "bm e4; noop \"acs -1\";",
        &[("W-LEN-SALVAGED", 54), ("W-LEN-SEMICOLON", 61)],
    );
    operations("cc 1:00;", "noop \"cc 1:00\";", &[("W-LEN-SALVAGED", 54)]);
    operations("refcom hello;", "noop \"refcom hello\";", &[("W-LEN-SALVAGED", 54)]);
    operations("c0 \"a\" \"b\";", "noop \"c0 'a' 'b'\";", &[("W-LEN-SALVAGED", 54)]);
    operations("pm;", "noop \"pm\";", &[("W-LEN-SALVAGED", 54)]);
    operations("pm e4 e5 Nf3;", "noop \"pm e4 e5 Nf3\";", &[("W-LEN-PM", 54)]);
    operations(
        "pm Nf3 {39} d4 {11}; pv d4 d5;",
        "noop \"pm Nf3 {39} d4 {11}\"; pm d4; pv d4 d5;",
        &[("W-LEN-PM", 54)],
    );
    operations("pv c4; pm e4 d4;", "noop \"pm e4 d4\"; pv c4;", &[("W-LEN-PM", 61)]);
    operations("sm e4 d4; sv d4;", "noop \"sm e4 d4\"; sm d4; sv d4;", &[("W-LEN-PM", 54)]);
    operations(
        "ptp White \"a\" White \"b\";",
        "ptp White \"a\" White \"b\";",
        &[("W-EPD-PTPDUP", 68)],
    );
}

#[test]
fn labels_are_read_on_request() {
    let fen = "4k3/8/8/8/8/8/4P3/4K3 b - - 5 39";
    rejected(&format!("{fen} [0.5]"), "E-EPD-LABEL", 34, "label of a training set");
    rejected(&format!("{fen} | 23 | 1.0"), "E-EPD-LABEL", 34, "label of a training set");
    let setting = |line: String, options: &ParseOptions| {
        read_with(line.as_bytes(), options).0.unwrap_err().setting
    };
    assert_eq!(setting(format!("{fen} [0.5]"), &ParseOptions::default()), Some(Setting::Labels));
    let labels = ParseOptions { labels: true, ..Default::default() };
    let read =
        |label: &str, options: &ParseOptions| normalise_with(&format!("{fen} {label}"), options);
    let record =
        |operations: &str| Ok(format!("4k3/8/8/8/8/8/4P3/4K3 b - - {operations} fmvn 39; hmvc 5;"));
    assert_eq!(read("[0.5]", &labels).0, record("c9 \"1/2-1/2\";"));
    assert_eq!(read("[1.0]", &labels).0, record("c9 \"1-0\";"));
    assert_eq!(read("| 0.0", &labels).0, record("c9 \"0-1\";"));
    assert_eq!(read("| 23 | 0.0", &labels).0, Err("E-EPD-LABEL"));
    assert_eq!(read("[0.7]", &labels).0, Err("E-EPD-LABEL"));
    let score = format!("{fen} | 23 | 0.0");
    assert_eq!(setting(score, &labels), Some(Setting::ScoreView));
    let view = |view| ParseOptions { score_view: Some(view), ..labels.clone() };
    let white = view(ScoreView::White);
    assert_eq!(read("| 23 | 0.0", &white).0, record("c9 \"0-1\"; ce -23;"));
    assert_eq!(read("[0.0] 23", &white).0, record("c9 \"0-1\"; ce -23;"));
    assert_eq!(read("| 23 | 0.0", &view(ScoreView::Mover)).0, record("c9 \"0-1\"; ce 23;"));
    assert_eq!(read("| 32500 | 0.0", &white).0, Err("E-EPD-LABEL"));
}

/// Scores of chessdb after a line are from the view of the side to move, whatever is set for others.
#[test]
fn scores_after_a_line_are_labels() {
    let fen = "4k3/8/8/8/8/8/4P3/4K3 b - -";
    let labels =
        ParseOptions { labels: true, score_view: Some(ScoreView::White), ..Default::default() };
    let read = |tail: &str| normalise_with(&format!("{fen}{tail}"), &labels).0;
    let record = |operations: &str| Ok(format!("{fen} {operations}"));
    for tail in [" ; 23;", "; 23;", ";23;", " ; cdb eval: 23;", " ; 23; "] {
        assert_eq!(read(tail), record("ce 23;"), "{tail}");
    }
    assert_eq!(read(" bm Kd7; -23;"), record("bm Kd7; ce -23;"));
    assert_eq!(read(" ; cdb eval: -M10, ply: 4;"), record("cdb_ply 4; ce -32757;"));
    for (score, ce) in [
        ("29999", "32766"),
        ("-29990", "-32757"),
        ("29234", "32001"),
        ("-29234", "-32001"),
        ("-30000", "-32767"),
        ("29000", "29000"),
        ("-29000", "-29000"),
        ("24990", "24990"),
        ("19990", "19990"),
    ] {
        assert_eq!(read(&format!(" ; {score};")), record(&format!("ce {ce};")), "{score}");
    }
    rejected(&format!("{fen} ; 23;"), "E-EPD-PERFT", 29, "perft counts");
    let perft = ParseOptions { perft: true, ..labels.clone() };
    let counts = format!("{S};20;400;");
    assert_eq!(normalise_with(&counts, &perft).0, Ok(format!("{S} D1 20; D2 400;")));
}

#[test]
fn perft_counts_are_read_on_request() {
    rejected(&format!("{S},20,400"), "E-EPD-PERFT", 53, "perft counts");
    rejected(&format!("{S} 0 1;20;400"), "E-EPD-PERFT", 57, "perft counts");
    operations("perft1 20; perft2 400;", "perft1 20; perft2 400;", &[]);
    let perft = ParseOptions { perft: true, ..Default::default() };
    let read = |tail: &str| normalise_with(&format!("{S}{tail}"), &perft).0;
    let wanted = Ok(format!("{S} D1 20; D2 400;"));
    assert_eq!(read(",20,400"), wanted);
    assert_eq!(read(" ;20 ;400"), wanted);
    assert_eq!(read(" perft1 20; perft2 400;"), wanted);
    assert_eq!(read(" 0 1;20;400"), Ok(format!("{S} D1 20; D2 400; fmvn 1; hmvc 0;")));
    // One count alone is taken only where it must be that of depth 1.
    assert_eq!(read(",20"), Ok(format!("{S} D1 20;")));
    assert_eq!(read(",400"), Err("E-EPD-PERFT"));
}

#[test]
fn the_revision_of_1994() {
    let old = ParseOptions { revision_1994: true, ..Default::default() };
    let read = |operations: &str| normalise_with(&format!("{S} {operations}"), &old).0;
    let record = |operations: &str| Ok(format!("{S} {operations}"));
    assert_eq!(read("ce -32767;"), record("ce -32768;"));
    assert_eq!(read("ce -32768;"), record("noop \"ce -32768\";"));
    assert_eq!(read("sv e4 b; cc x; refcom hello;"), record("cc x; refcom hello; sv e4 b;"));
    operations("ce -32767;", "ce -32767;", &[("W-CONS-MATED", 54)]);
}

/// Section 6: the rules between opcodes.
#[test]
fn consistency() {
    let check = |line: &str, code: &str| {
        let (_, warnings) = normalise(&format!("{S} {line}"), Profile::Standard);
        assert_eq!(warnings, [code], "{line}");
        let (strict, _) = normalise(&format!("{S} {line}"), Profile::Strict);
        assert_eq!(strict, Err(code), "{line}");
    };
    check("am e4; bm e4;", "W-CONS-AMBM");
    check("pm d4; pv e4;", "W-CONS-PMPV");
    check("sm d4; sv e4;", "W-CONS-SMSV");
    check("draw_offer;", "W-CONS-OFFERSM");
    check("draw_claim;", "W-CONS-CLAIMSM");
    check("draw_accept; draw_reject;", "W-CONS-ACCREJ");
    check("draw_claim; draw_offer; sm e4;", "W-CONS-CLAIMOFFER");
    check("draw_accept; resign;", "W-CONS-RESIGN");
    check("ce 32758; dm 4;", "W-CONS-DMCE");
    // A ce above 32000 says a mate, one of 32000 does not.
    check("ce 32500; dm 4;", "W-CONS-DMCE");
    check("ce 32001; dm 383;", "W-CONS-DMCE");
    for fits in ["ce 32000; dm 4;", "ce 32002; dm 383;", "ce 32758; dm 5;"] {
        assert_eq!(normalise(&format!("{S} {fits}"), Profile::Standard).1, [""; 0]);
    }
    let mated = "R5k1/5ppp/8/8/8/8/8/6K1 b - - ce -32767;";
    assert_eq!(normalise(mated, Profile::Strict), (Ok(mated.into()), vec![]));
    check("ce -32767;", "W-CONS-MATED");
    let bare = "4k3/8/8/8/8/8/4N3/4K3 w - - draw_claim;";
    assert_eq!(normalise(bare, Profile::Strict), (Ok(bare.into()), vec![]));
}

/// A repair says what stood in the line at its column.
#[test]
fn repairs_show_before_and_after() {
    let line = format!("{S} id BK.01; v=3; bm Nf3 +;");
    let (_, warnings) = read(line.as_bytes(), Profile::Lenient);
    let shown = |warning: &Diagnostic| {
        let repair = warning.repair.clone().expect("a repair");
        assert!(line.as_bytes()[warning.column - 1..].starts_with(&repair.before));
        (repair.before, repair.after)
    };
    assert_eq!(shown(&warnings[0]), (b"BK.01".to_vec(), b"\"BK.01\"".to_vec()));
    assert_eq!(shown(&warnings[1]), (b"v=3".to_vec(), b"noop \"v=3\"".to_vec()));
    assert_eq!(warnings[2].to_string(), "76: warning[W-LEN-DETACHED]: `+` joined to its move");
}

/// Each code that a reader gives is in the list, once.
#[test]
fn codes_are_listed_once() {
    let mut names: Vec<&str> = codes::ALL.iter().map(|code| code.code).collect();
    names.sort_unstable();
    assert!(names.is_sorted_by(|a, b| a < b));
    assert!(names.iter().all(|name| name.starts_with("E-") || name.starts_with("W-")));
}

/// A line can have any number of faults; at most a thousand are reported.
#[test]
fn warnings_of_one_line_are_capped_and_counted() {
    let ids: String = (0..3000).map(|number| format!(" id \"{number}\";")).collect();
    let line = format!("4k3/8/8/8/8/8/4P3/4K3 w - -{ids}");
    let mut warnings = vec![Diagnostic::warning("W-POS-ILLEGAL", 1, "of another line")];
    parse_line(line.as_bytes(), &ParseOptions::default(), &mut warnings).unwrap();
    assert_eq!(warnings.len(), 1001);
    let more = &warnings[1000];
    assert_eq!(more.code, "W-LEN-MORE");
    // One id stays, and the line is longer than 4095 bytes.
    let findings: u32 = warnings[1..].iter().map(|warning| warning.findings).sum();
    assert_eq!(findings, 2999 + 1);
    assert_eq!(more.message, format!("{} more warnings about the line", more.findings));
}

/// The notations of books and of correspondence, where they are asked for: sets, single moves, and
/// lines move after move.
#[test]
fn descriptive_and_numeric_notation() {
    let asked = ParseOptions { repair_moves: true, ..Default::default() };
    let repaired = |line: &str, wanted: &str, warnings: &[(&str, usize)]| {
        let line = format!("{S} {line}");
        check_bytes(line.as_bytes(), &format!("{S} {wanted}"), warnings, &asked);
    };
    let read = |column| (codes::W_LEN_NOTATION, column);
    repaired("bm P-K4 N-KB3;", "bm Nf3 e4;", &[read(57), read(62)]);
    repaired("am 5254; pm Kt-QB3;", "am e4; pm Nc3;", &[read(57), read(66)]);
    repaired(
        "pv P-K4 5755 N-KB3 N-QB3 B-N5 P-QR3 BxN QPxB O-O;",
        "pv e4 e5 Nf3 Nc6 Bb5 a6 Bxc6 dxc6 O-O;",
        &[57, 62, 67, 73, 79, 84, 90, 94].map(read),
    );
    // Moves in SAN stay unchanged.
    repaired("bm e2e4 Nb1-c3;", "bm Nc3 e4;", &[]);
    // Two moves, and none.
    repaired("bm N-B3 5255;", "bm 5255 N-B3;", &[57, 62].map(|at| (codes::W_LEN_MOVE, at)));
    repaired("pv P-K4 N-B3 P-Q4;", "pv e4 N-B3 P-Q4;", &[read(57), (codes::W_LEN_MOVE, 62)]);
    let (_, warnings) = read_with(format!("{S} bm N-B3 5255;").as_bytes(), &asked);
    let [two, none] = warnings.as_slice() else { panic!("{warnings:?}") };
    assert!(two.message.contains("2 legal moves fit; kept as text"), "{two}");
    assert!(none.message.contains("0 legal moves fit; kept as text"), "{none}");

    let notes = "4k3/8/8/3pP3/8/8/8/3QK3 w - d6";
    check_bytes(
        format!("{notes} bm PxP e.p. Q-R5 dis. ch.;").as_bytes(),
        &format!("{notes} bm Qh5+ exd6;"),
        &[
            read(35),
            ("W-LEN-DETACHED", 39),
            read(44),
            ("W-LEN-DETACHED", 49),
            ("W-LEN-DETACHED", 54),
        ],
        &asked,
    );

    // Nothing of it unless it is asked for.
    operations("bm P-K4;", "bm P-K4;", &[(codes::W_LEN_MOVE, 57)]);
    operations("bm 5254;", "bm 5254;", &[(codes::W_LEN_MOVE, 57)]);
}

#[test]
fn text_glued_to_a_counter_leaves_the_number() {
    for (tail, wanted, column) in [
        ("0 33:e2e4:128", "fmvn 33; hmvc 0; noop \":e2e4:128\";", 31),
        ("0 33:", "fmvn 33; hmvc 0; noop \":\";", 31),
        ("12 1:x bm Kd2;", "fmvn 1; hmvc 12; noop \":x bm Kd2\";", 32),
    ] {
        let found = [
            ("W-LEN-GLUED", column),
            ("W-LEN-OPCODE", column + tail.find(':').unwrap() - tail.find(' ').unwrap() - 1),
        ];
        check(&format!("{K} {tail}"), &format!("{K} {wanted}"), &found);
    }
    let labels = ParseOptions { labels: true, ..Default::default() };
    let (text, _) = normalise_with(&format!("{K} 0 33[0.5]"), &labels);
    assert_eq!(text, Ok(format!("{K} c9 \"1/2-1/2\"; fmvn 33; hmvc 0;")));
}

#[test]
fn opcodes_in_capitals_before_a_colon_are_those_of_the_standard() {
    check(
        &format!("{K} bm Kd2; PV: e1d2 e8d7 d2d3;"),
        &format!("{K} bm Kd2; pv Kd2 Kd7 Kd3;"),
        &[("W-LEN-COLON", 37)],
    );
    check(&format!("{K} ID: \"x\";"), &format!("{K} id \"x\";"), &[("W-LEN-COLON", 29)]);
    check(&format!("{K} Elo: 7;"), &format!("{K} Elo 7;"), &[("W-LEN-COLON", 29)]);
    check(&format!("{K} PV e4;"), &format!("{K} PV e4;"), &[("W-EPD-OPCODECASE", 29)]);
}

#[test]
fn fewer_than_four_fields_are_filled() {
    let board = "4k3/8/8/8/8/8/4P3/4K3";
    check(board, &format!("{board} w - -"), &[("W-LEN-FIELDS", 1)]);
    check(&format!("{board} b"), &format!("{board} b - -"), &[("W-LEN-FIELDS", 1)]);
    check(&format!("{board} b - "), &format!("{board} b - -"), &[("W-LEN-FIELDS", 1)]);
    let rooks = "r3k2r/8/8/8/8/8/8/R3K2R";
    check(&format!("{rooks} b KQ"), &format!("{rooks} b KQ -"), &[("W-LEN-FIELDS", 1)]);
    for bad in
        ["e4", "4k3/8 w - -", "4k3/8/8/8/8/8/4P3/4K3 x", "4k3/8/8/8/8/8/4P3/4K3 w bm", "hello"]
    {
        assert!(read(bad.as_bytes(), Profile::Lenient).0.is_err(), "{bad}");
    }
    for profile in [Profile::Standard, Profile::Strict] {
        assert_eq!(read(board.as_bytes(), profile).0.unwrap_err().code, "E-EPD-FIELDS");
    }
}

#[test]
fn underscores_between_fields_are_blanks() {
    let found = [("W-LEN-UNDERSCORE", 1)];
    check(&S.replace(' ', "_"), S, &found);
    check(&format!("{}_3_9", S.replace(' ', "_")), &format!("{S} 3 9"), &found);
    check(&format!("{} bm e4;", S.replace(' ', "_")), &format!("{S} bm e4;"), &found);
    check(
        &format!("{}_0_1 id \"a_b\";", S.replace(' ', "_")),
        &format!("{S} fmvn 1; hmvc 0; id \"a_b\";"),
        &found,
    );
    check(
        "4k3/8/8/8/8/8/4P3/4K3_b",
        "4k3/8/8/8/8/8/4P3/4K3 b - -",
        &[("W-LEN-UNDERSCORE", 1), ("W-LEN-FIELDS", 1)],
    );
    check(&S.replace([' ', '/'], "_"), S, &found);
    let other = S.replace('/', "_");
    check(&other, S, &found);
    let kept = "4k3/8/8/8/8/8/4P3/4K3 w - - zz_y 1;";
    check(kept, kept, &[]);
}

#[test]
fn a_solidus_after_the_last_rank_is_dropped() {
    let line = S.replacen(" w", "/ w", 1);
    check(&line, S, &[("W-LEN-SOLIDUS", 44)]);
    rejected("4k3/8/8/8/8/8/4P3/4K3// w - -", "E-FEN-RANKS", 1, "ranks");
}

#[test]
fn results_after_the_fields_are_labels() {
    let labels =
        ParseOptions { labels: true, score_view: Some(ScoreView::White), ..Default::default() };
    let read = |line: &str| normalise_with(line, &labels).0;
    let black = "4k3/8/8/8/8/8/4P3/4K3 b - -";
    for (tail, wanted) in [
        (" 1-0", "c9 \"1-0\";"),
        (" 1/2-1/2", "c9 \"1/2-1/2\";"),
        ("; 0.5", "c9 \"1/2-1/2\";"),
        (";0-1", "c9 \"0-1\";"),
        (" 0.5", "c9 \"1/2-1/2\";"),
        (",0.5", "c9 \"1/2-1/2\";"),
        (",23,0.5", "c9 \"1/2-1/2\"; ce -23;"),
        ("; 23; 1.0", "c9 \"1-0\"; ce -23;"),
        (" 0 1,23,0.5", "c9 \"1/2-1/2\"; ce -23; fmvn 1; hmvc 0;"),
        (" 0 1 1-0", "c9 \"1-0\"; fmvn 1; hmvc 0;"),
        (" 0 1;0.0", "c9 \"0-1\"; fmvn 1; hmvc 0;"),
    ] {
        assert_eq!(read(&format!("{black}{tail}")), Ok(format!("{black} {wanted}")), "{tail}");
    }
    let unsaid = ParseOptions { labels: true, ..Default::default() };
    assert_eq!(normalise_with(&format!("{black},23,0.5"), &unsaid).0, Err("E-EPD-LABEL"));
    // Scores of chessdb stay such.
    assert_eq!(read(&format!("{black}; 23;")), Ok(format!("{black} ce 23;")));
}
