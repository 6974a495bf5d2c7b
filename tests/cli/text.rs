//! Text at the command line: encodings and foreign formats, codes, perft dialects, counters.

use crate::scratch::Scratch;

const START: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -";
const PAWN: &str = "4k3/8/8/8/8/8/4P3/4K3 w - -";

fn utf16(text: &str, little: bool) -> Vec<u8> {
    let bytes = |unit: u16| if little { unit.to_le_bytes() } else { unit.to_be_bytes() };
    text.encode_utf16().flat_map(bytes).collect()
}

/// UTF-16 of both byte orders, with and without its mark, from a file and from a pipe.
#[test]
fn utf16_is_read_with_a_warning() {
    let text = format!("{START} bm e4; c0 \"é\";\r\nnonsense\r\n");
    let wanted = format!("{START} bm e4; c0 \"é\";\n");
    for (little, mark) in [(true, "\u{feff}"), (false, "\u{feff}"), (true, ""), (false, "")] {
        let bytes = utf16(&format!("{mark}{text}"), little);
        let scratch = Scratch::with("a.epd", &bytes);
        let done = scratch.run(&["normalize", "a.epd", "--rejects", "bad"]);
        assert_eq!((done.out.as_str(), done.status), (wanted.as_str(), 1), "{}", done.err);
        assert!(done.err.contains("a.epd:1:1: warning[W-LEN-UTF16]"), "{}", done.err);
        assert_eq!(scratch.text("bad"), "nonsense\r\n");
        assert_eq!(scratch.run_with(&["normalize", "-"], bytes.clone()).out, wanted);
        let strict = scratch.run(&["normalize", "a.epd", "--profile", "standard"]);
        assert_eq!((strict.status, strict.out.as_str()), (2, ""));
        assert!(strict.err.contains("a.epd is text in UTF-16"), "{}", strict.err);
        assert_eq!(scratch.run(&["normalize", "a.epd", "--deny-warnings"]).status, 2);
        assert_eq!(scratch.run(&["pack", "a.epd", "--verbatim", "-o", "a.epa"]).status, 2);
        assert!(scratch.run(&["purge", "bm", "a.epd"]).out.starts_with(&format!("{START} c0")));
    }
    let game = utf16("\u{feff}\r\n[Event \"a\"]\r\n\r\n1. e4 *\r\n", true);
    let scratch = Scratch::with("a.txt", game);
    assert_eq!(scratch.run(&["count", "a.txt"]).out, "1\n");
}

/// One error that names file and format, exit status 2.
#[test]
fn foreign_formats_are_named_once() {
    let book: Vec<u8> = (0..40u8)
        .flat_map(|entry| [0, entry, 0x9c, 0xff, 1, 2, 3, 4, 3, 0x1c, 0, 9, 0, 0, 0, 0])
        .collect();
    for (name, bytes, format) in [
        ("a.zip", &b"PK\x05\x06\0\0\n\n"[..], "a zip archive"),
        ("a.si4", b"Scid.si\0\x01\x90\n\n", "a database of Scid"),
        ("a.binpack", b"BINP\x10\0\0\0\x01\n\n", "a binpack of training positions"),
        ("a.7z", b"7z\xbc\xaf\x27\x1c\0\n\n", "a 7z archive"),
        ("book.epd", &book, "a Polyglot opening book"),
    ] {
        let scratch = Scratch::with(name, bytes);
        for command in ["normalize", "count", "dump"] {
            let done = scratch.run(&[command, name]);
            assert_eq!((done.status, done.out.as_str()), (2, ""), "{command} {name}: {}", done.err);
            let wanted = format!("epdb: error: {name} is {format}, which is not read: ");
            assert!(done.err.starts_with(&wanted), "{}", done.err);
            assert_eq!(done.err.lines().count(), 1, "{}", done.err);
        }
        if format != "a Polyglot opening book" {
            assert_eq!(scratch.run_with(&["count"], bytes).status, 2);
        }
    }
    let scratch = Scratch::with("text.bin", format!("{START}\n"));
    assert_eq!(scratch.run(&["count", "text.bin"]).out, "1\n");
}

/// E local 6: games that begin with blank lines.
#[test]
fn games_after_blank_lines_are_games() {
    for blanks in ["\n", "\r\n\r\n  \n", &"\n".repeat(100)] {
        let text = format!("{blanks}[Event \"a\"]\n\n1. e4 *\n");
        let scratch = Scratch::with("games.txt", &text);
        assert_eq!(scratch.run(&["count", "games.txt"]).out, "1\n");
        assert_eq!(scratch.run_with(&["count"], text).out, "1\n");
    }
    assert_eq!(Scratch::new().run_with(&["count"], "\n\n\n").out, "0\n");
    assert_eq!(Scratch::new().run_with(&["count"], format!("\n\n{START}")).out, "1\n");
}

#[test]
fn a_summary_of_rejected_games_speaks_of_games() {
    let scratch = Scratch::with("bad.pgn", "[Event \"a\"]\n\n1. e5 *\n");
    let done = scratch.run(&["convert", "bad.pgn", "good.pgn"]);
    assert!(done.err.ends_with("0 games, 1 rejected\n"), "{}", done.err);
}

/// Counters that FEN output cannot show, and the grammar of FEN in the standard profile.
#[test]
fn invalid_counters() {
    let scratch = Scratch::with("a.fen", format!("{PAWN} x 39\n"));
    let done = scratch.run(&["normalize", "a.fen", "--format", "fen"]);
    assert_eq!((done.out, done.status), (format!("{PAWN} 0 39\n"), 1));
    assert!(done.err.contains("1 records written with other counters"), "{}", done.err);
    assert_eq!(scratch.run(&["convert", "a.fen", "b.fen"]).status, 1);
    assert_eq!(scratch.run(&["filter", "a.fen", "--where", "pieces > 0", "-o", "c.fen"]).status, 1);
    assert_eq!(scratch.run(&["split", "a.fen", "--lines", "1", "-o", "d-%d.fen"]).status, 1);
    let done = scratch.run(&["normalize", "a.fen"]);
    assert_eq!((done.out, done.status), (format!("{PAWN} fmvn 39; noop \"FEN counters x\";\n"), 0));

    let standard = |line: &str| {
        let args = ["normalize", "--from", "fen", "--profile", "standard", "--format", "fen"];
        scratch.run_with(&args, format!("{PAWN} {line}\n"))
    };
    assert!(standard("x 39").err.contains("error[E-FEN-HMVC]"));
    assert!(standard("5 39 x").err.contains("error[E-FEN-FIELDS]"));
    assert_eq!(standard("5 39").out, format!("{PAWN} 5 39\n"));
}

/// Each dialect, and what has nothing to check.
#[test]
fn perft_reads_all_dialects() {
    let blocks = format!(
        "# comment\n\nid start\nepd {START}\nperft 1 20\nperft 2 400\n\nid pawn\nepd {PAWN}\nperft 1 7\n"
    );
    for (file, checked, wrong) in [
        (format!("{START} ;D1 20 ;D2 400\n"), 2, ""),
        (format!("{START} perft1 20; perft2 401;\n"), 2, "a.epd:1: D2 is 400, not 401\n"),
        (format!("{START} 0 1;20;400\n"), 2, ""),
        (format!("{START},20,400,8902\n"), 2, ""),
        (blocks.clone(), 3, "a.epd:9: D1 is 6, not 7\n"),
    ] {
        let scratch = Scratch::with("a.epd", &file);
        let done = scratch.run(&["perft", "a.epd", "--depth", "2"]);
        assert_eq!(done.out, wrong, "{file}");
        assert_eq!(done.status, i32::from(!wrong.is_empty()), "{file} {}", done.err);
        assert!(done.err.contains(&format!("{checked} counts checked")), "{file} {}", done.err);
    }
    let scratch = Scratch::with("blocks.epd", &blocks);
    let done = scratch.run(&["normalize", "blocks.epd", "--perft"]);
    let wanted =
        format!("# comment\n\n{START} D1 20; D2 400; id \"start\";\n\n{PAWN} D1 7; id \"pawn\";\n");
    assert_eq!((done.out, done.status), (wanted, 0));

    scratch.write("plain.epd", format!("{START}\n"));
    scratch.write("deep.epd", format!("{START} ;D3 8902\n"));
    for file in ["plain.epd", "deep.epd"] {
        let done = scratch.run(&["perft", "blocks.epd", file, "--depth", "1"]);
        assert_eq!(done.status, 1);
        assert!(done.err.contains(&format!("{file}: nothing to check")), "{}", done.err);
        assert!(!done.err.contains("blocks.epd: nothing"), "{}", done.err);
    }
    // Lines of a block without the block are no records, and not lost.
    scratch.write(
        "odd.epd",
        format!("perft 1 20\nid x\nid y\nepd {START}\nperft 1 20\nperft 1 21\nid z\n"),
    );
    let done = scratch.run(&["normalize", "odd.epd", "--perft", "--rejects", "bad"]);
    assert_eq!(done.out, format!("{START} D1 20; id \"y\";\n"));
    assert_eq!(scratch.text("bad"), "perft 1 20\nid x\nperft 1 21\nid z\n");
}

/// The command line, not the library, names the option that would accept a line.
#[test]
fn errors_name_the_option() {
    let scratch = Scratch::new();
    let normalize = |line: String, options: &[&str]| {
        scratch.run_with(&[&["normalize"], options].concat(), line).err
    };
    assert!(normalize(format!("{PAWN} 0 1 [0.5]"), &[]).contains("training set; use --labels"));
    assert!(normalize(format!("{PAWN} | 1 | 0.5"), &["--labels"]).contains("--score-view"));
    assert!(normalize(format!("{START},20,400"), &[]).contains("perft counts; use --perft"));
    let kept = scratch.run_with(&["normalize", "--keep-moves"], "startpos moves e2e4");
    assert_eq!(kept.out, format!("{START} fmvn 1; hmvc 0; pv e4;\n"));
}

#[test]
fn help_of_a_code() {
    let scratch = Scratch::new();
    let help = scratch.run(&["help", "E-FEN-RANKS"]);
    assert_eq!(help.status, 0);
    assert!(help.out.starts_with(
        "E-FEN-RANKS: the placement does not have eight ranks; the line is rejected.\n"
    ));
    assert!(help.out.contains("Example: ") && help.out.contains("To do: "));
    assert!(scratch.run(&["help", "e-epd-label"]).out.contains("Options: --labels"));
    assert!(scratch.run(&["help", "codes"]).out.contains("\nW-LEN-UTF16        "));
    assert_eq!(scratch.run(&["help", "E-NO-SUCH"]).status, 2);
}

#[test]
fn moves_in_other_notations_are_repaired() {
    let scratch = Scratch::new();
    scratch
        .write("old.epd", format!("{START} bm P-K4; id \"a\";\n{START} bm N-B3; pv 5254 P-K4;\n"));
    let done = scratch.run(&["normalize", "--repair-moves", "old.epd", "--repairs", "repairs.tsv"]);
    let wanted = format!("{START} bm e4; id \"a\";\n{START} bm N-B3; pv e4 e5;\n");
    assert_eq!((done.out, done.status), (wanted, 0));
    assert!(
        done.err.contains("old.epd:1:57: warning[W-LEN-NOTATION]: `P-K4` read as e4"),
        "{}",
        done.err
    );
    assert!(done.err.contains("`N-B3`: 2 legal moves fit; kept as text"), "{}", done.err);
    let repairs = scratch.text("repairs.tsv");
    assert!(repairs.contains("W-LEN-NOTATION\tP-K4\te4"), "{repairs}");
    assert!(repairs.contains("W-LEN-NOTATION\t5254\te4"), "{repairs}");

    let plain = scratch.run(&["normalize", "old.epd"]);
    assert!(plain.out.contains("bm P-K4;") && plain.err.contains("W-LEN-MOVE"), "{}", plain.err);
    let strict = scratch.run(&["normalize", "--repair-moves", "old.epd", "--profile", "strict"]);
    assert_eq!((strict.status, strict.out.as_str()), (2, ""));
    assert!(strict.err.contains("--repair-moves needs --profile lenient"), "{}", strict.err);
    let help = scratch.run(&["help", "W-LEN-MOVE"]).out;
    assert!(help.contains("Options: normalize --repair-moves"), "{help}");
}

/// Text in any character set, in lines and in games; bytes that look like ASCII need not be ASCII.
#[test]
fn character_sets_are_named() {
    let scratch = Scratch::new();
    let tal = b"\xd2\xe0\xeb\xfc";
    let line = [START.as_bytes(), b" id \"", tal, b"\";\n"].concat();
    scratch.write("tal.epd", &line);
    let done = scratch.run(&["cat", "tal.epd", "--charset", "Windows-1251"]);
    let wanted = (format!("{START} id \"\u{422}\u{430}\u{43b}\u{44c}\";\n"), 0, String::new());
    assert_eq!((done.out, done.status, done.err), wanted);
    let strict = ["cat", "tal.epd", "--charset", "windows-1251", "--profile", "strict"];
    assert_eq!(scratch.run(&strict).status, 0);
    let wanted = format!("{START} id \"\u{d2}\u{e0}\u{eb}\u{fc}\";\n");
    let latin1 = scratch.run(&["cat", "tal.epd", "--charset", "latin-1"]);
    assert_eq!((latin1.out.as_str(), latin1.err.as_str()), (wanted.as_str(), ""));
    let guessed = scratch.run(&["cat", "tal.epd"]);
    assert_eq!(guessed.out, wanted);
    assert!(guessed.err.contains("W-LEN-LATIN1"), "{}", guessed.err);

    let game = b"[White \"\x95\x5c\"]\n\n1. e4 {\x83\x7d \x83\x5c} e5 *\n";
    scratch.write("g.pgn", game);
    for (output, charset) in [("a.pgn", "shift_jis"), ("b.pgn", "SJIS")] {
        let done = scratch.run(&["convert", "g.pgn", output, "--charset", charset]);
        assert_eq!((done.status, done.err.as_str()), (0, ""));
        let text = scratch.text(output);
        assert!(text.contains("[White \"\u{8868}\"]"), "{text}");
        assert!(text.contains("1. e4 {\u{30de} \u{30bd}} 1... e5 *"), "{text}");
    }
    let damaged = scratch.run(&["convert", "g.pgn", "-", "--to", "pgn", "--charset", "gb18030"]);
    assert_eq!(damaged.status, 0, "{}", damaged.err);
    scratch.write("half.pgn", b"1. e4 {\x83");
    let half = scratch.run(&["convert", "half.pgn", "-", "--to", "pgn", "--charset", "shift_jis"]);
    assert_eq!(half.status, 1);
    assert!(half.err.contains("byte 8: not a character of Shift_JIS"), "{}", half.err);

    let unknown = scratch.run(&["cat", "tal.epd", "--charset", "klingon"]);
    assert_eq!(unknown.status, 2);
    assert!(unknown.err.contains("no such character set"), "{}", unknown.err);
    assert!(unknown.err.contains("encoding.spec.whatwg.org"), "{}", unknown.err);
    let verbatim = ["pack", "--verbatim", "tal.epd", "-o", "x.epa", "--charset", "windows-1251"];
    let verbatim = scratch.run(&verbatim);
    assert_eq!(verbatim.status, 2);
    assert!(verbatim.err.contains("text in windows-1251, whose bytes"), "{}", verbatim.err);
}

/// A comment in a block of perft counts stays with it, and what only such blocks have says so.
#[test]
fn comments_break_no_block_of_perft_counts() {
    let text = format!(
        "id x-11\n#note\nepd {PAWN}\n# more\nperft 1 6\n#\nperft 2 30\n\nid y\n# of y\nepd {START}\nperft 1 20\n"
    );
    let scratch = Scratch::with("a.epd", text);
    let done = scratch.run(&["normalize", "a.epd", "--perft"]);
    let wanted = format!(
        "#note\n# more\n#\n{PAWN} D1 6; D2 30; id \"x-11\";\n\n# of y\n{START} D1 20; id \"y\";\n"
    );
    assert_eq!((done.out, done.status), (wanted, 0), "{}", done.err);
    let done = scratch.run(&["normalize", "a.epd"]);
    assert_eq!((done.status, done.err.matches("use --perft").count()), (1, 5), "{}", done.err);
    // Lines after a name that stands alone are not part of a block.
    scratch.write("b.epd", format!("id z\n# note\n{PAWN}\n"));
    let done = scratch.run(&["normalize", "b.epd", "--perft", "--rejects", "bad"]);
    assert_eq!((done.out, done.status), (format!("{PAWN}\n"), 1), "{}", done.err);
    assert_eq!(scratch.text("bad"), "id z\n# note\n");
}

/// Lines of training positions that are no positions say which lines are.
#[test]
fn plain_files_of_training_positions_explain_what_to_do() {
    let text = format!("fen {START} 0 1\nmove e2e4\nscore 54\nply 0\nresult 1\ne\n");
    let done = Scratch::with("a.plain", text).run(&["normalize", "a.plain"]);
    assert_eq!((done.out, done.status), (format!("{START} 0 1\n"), 1));
    assert_eq!(done.err.matches("`grep ^fen` gives the positions").count(), 5, "{}", done.err);
}

/// The message about an unreadable expression does not repeat all of it.
#[test]
fn long_mistakes_are_reported_briefly() {
    let scratch = Scratch::with("a.epd", format!("{START}\n"));
    let long = "x".repeat(50_000);
    for expression in [
        format!("{long} == 1"),
        format!("id == '{long}"),
        format!("'{long}' == 1"),
        format!("(\n{long}"),
    ] {
        let done = scratch.run(&["filter", "a.epd", "--where", &expression]);
        assert_eq!(done.status, 2);
        assert!(done.err.len() < 2000 && done.err.lines().count() < 8, "{}", done.err);
        assert!(done.err.contains("column"), "{}", done.err);
    }
}

/// Games among records take no record with them, wherever they are, and say what they are.
#[test]
fn games_among_records_are_rejected_line_by_line() {
    let records =
        ["8/8/8/4k3/8/1K6/8/8 b - - id \"one\";\n", "4k3/8/8/8/8/8/4P3/4K3 w - - id \"two\";\n"];
    let header = "[Event \"x\"]\n[White \"A\"]\n\n";
    let moves = "1. e4 e5 2. Nf3 *\n\n";
    for text in [
        format!("{header}{}{}", records[0], records[1]),
        format!("{header}{moves}{}{}", records[0], records[1]),
        format!("{}{header}{moves}{}", records[0], records[1]),
        format!("\n{header}{}{moves}{}", records[0], records[1]),
    ] {
        for name in ["a.epd", "a.fen"] {
            let scratch = Scratch::with(name, &text);
            let done = scratch.run(&["normalize", name, "--format", "epd"]);
            assert_eq!(done.status, 1, "{}", done.err);
            let found: Vec<&str> = done.out.lines().filter(|line| !line.is_empty()).collect();
            assert_eq!(
                found,
                [records[0].trim_end(), records[1].trim_end()],
                "{text}: {}",
                done.err
            );
            let advice = "a tag pair of PGN among records: put games into a .pgn file of their own";
            assert!(done.err.contains(advice), "{}", done.err);
        }
    }
    // A file of games may have any name.
    let scratch = Scratch::with("a.epd", format!("{header}{moves}"));
    let done = scratch.run(&["count", "a.epd", "--positions=all"]);
    assert_eq!((done.status, done.out.as_str()), (0, "4\n"), "{}", done.err);
}
