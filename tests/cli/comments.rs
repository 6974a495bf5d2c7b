//! Comments and blank lines are copied from text to text with their records.

use crate::scratch::{Done, Scratch};

const START: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -";
const PAWN: &str = "4k3/8/8/8/8/8/4P3/4K3 w - -";
const KINGS: &str = "4k3/8/8/8/8/8/8/4K3 w - -";

/// A suite with a header, a comment before two of its records, and one after the last.
fn suite() -> String {
    format!(
        "# A suite\n# by somebody\n\n# the pawn\n{PAWN} id \"c\";\n{KINGS} id \"b\";\n\n# the array\n#\n{START} id \"a\";\n\n# end\n"
    )
}

fn run(args: &[&str]) -> Done {
    Scratch::with("a.epd", suite()).run(args)
}

#[track_caller]
fn is_silent(done: &Done) {
    assert_eq!((done.status, done.err.contains("W-LEN-COMMENT")), (0, false), "{}", done.err);
}

#[test]
fn text_keeps_them_where_they_are() {
    for command in [
        &["normalize", "a.epd"][..],
        &["pfdn", "a.epd"],
        &["convert", "a.epd", "-", "--to", "epd"],
        &["filter", "a.epd", "--where", "pieces > 0"],
        &["edit", "a.epd", "--drop", "zz"],
        &["purge", "zz", "a.epd", "--where", "pieces > 0"],
        &["cat", "a.epd"],
        &["head", "-n", "9", "a.epd"],
        &["dedupe", "a.epd"],
        &["sort", "a.epd", "--by", "-id"],
        &["sample", "-n", "9", "a.epd"],
        &["union", "a.epd"],
        &["subtract", "a.epd", "none.epd"],
        &["join", "a.epd", "none.epd", "--take", "ce"],
    ] {
        let scratch = Scratch::with("a.epd", suite());
        scratch.write("none.epd", "# other\n8/8/8/8/8/8/8/K1k5 w - -\n# more\n");
        let done = scratch.run(command);
        is_silent(&done);
        assert_eq!(done.out, suite(), "{command:?}");
        let threads = scratch.run(&[command, &["--threads", "4"]].concat());
        assert_eq!(threads.out, suite(), "{command:?}");
    }
    let crlf = format!("\u{feff}{}", suite().replace('\n', "\r\n"));
    let scratch = Scratch::with("a.epd", crlf.trim_end());
    assert_eq!(scratch.run(&["normalize", "a.epd"]).out, suite());
    let fen = run(&["convert", "a.epd", "a.fen"]);
    assert_eq!(fen.status, 0);
}

#[test]
fn files_that_only_text_commands_touch_come_back_whole() {
    let scratch = Scratch::with("a.epd", suite());
    for args in [
        &["normalize", "a.epd", "-o", "a.epd"][..],
        &["dedupe", "a.epd", "-o", "a.epd"],
        &["convert", "a.epd", "b.epd.zst"],
        &["normalize", "b.epd.zst", "-o", "a.epd"],
        &["split", "a.epd", "--lines", "9", "-o", "part%d.epd"],
        &["normalize", "part1.epd", "-o", "a.epd"],
    ] {
        is_silent(&scratch.run(args));
        assert_eq!(scratch.text("a.epd"), suite(), "{args:?}");
    }
}

#[test]
fn a_block_goes_with_its_record() {
    let sorted = run(&["sort", "a.epd", "--by", "id"]);
    let wanted = format!(
        "# A suite\n# by somebody\n\n\n# the array\n#\n{START} id \"a\";\n{KINGS} id \"b\";\n# the pawn\n{PAWN} id \"c\";\n\n# end\n"
    );
    is_silent(&sorted);
    assert_eq!(sorted.out, wanted);
    let done = run(&["shuffle", "a.epd", "--seed", "3"]);
    is_silent(&done);
    assert!(done.out.contains(&format!("# the pawn\n{PAWN}")), "{}", done.out);
    assert!(
        done.out.starts_with("# A suite\n# by somebody\n\n") && done.out.ends_with("\n# end\n")
    );
}

/// Comments of dropped records are dropped and counted; header and end stay beside other records.
#[test]
fn a_block_is_dropped_with_its_record() {
    let header = "# A suite\n# by somebody\n\n";
    for (args, wanted, count, first) in [
        (
            &["filter", "a.epd", "--where", "id == 'b'"][..],
            format!("{header}{KINGS} id \"b\";\n\n# end\n"),
            3,
            4,
        ),
        (
            &["normalize", "a.epd", "--where", "id == 'c'"],
            format!("{header}# the pawn\n{PAWN} id \"c\";\n\n# end\n"),
            2,
            8,
        ),
        (&["filter", "a.epd", "--where", "id == 'x'"], String::new(), 6, 1),
        (&["sort", "--by", "id", "a.epd", "--where", "id == 'x'"], String::new(), 6, 1),
        (&["subtract", "a.epd", "a.epd"], String::new(), 6, 1),
        (
            &["purge", "zz", "a.epd", "--where", "id == 'b'"],
            format!("{header}{KINGS} id \"b\";\n\n# end\n"),
            3,
            4,
        ),
        (&["intersect", "a.epd", "b.epd"], format!("{header}{KINGS} id \"b\";\n\n# end\n"), 3, 4),
    ] {
        let scratch = Scratch::with("a.epd", suite());
        scratch.write("b.epd", format!("{KINGS}\n"));
        let done = scratch.run(args);
        assert_eq!(done.out, wanted, "{args:?}");
        let line = format!("{count} comments are not written: their records are left out");
        assert!(done.err.contains(&line), "{args:?}: {}", done.err);
        assert!(
            done.err.contains(&format!("W-LEN-COMMENT      warning  {count:>10}  a.epd:{first}")),
            "{args:?}: {}",
            done.err
        );
    }
    let scratch =
        Scratch::with("a.epd", format!("{KINGS}\n# again\n{KINGS}\n# once more\n{KINGS}\n"));
    let done = scratch.run(&["dedupe", "a.epd"]);
    assert!(done.out.ends_with(&format!("{KINGS}\n")), "{}", done.out);
    assert!(done.err.contains("not written"), "{}", done.err);
}

#[test]
fn lines_that_are_rejected_take_none_along() {
    let scratch = Scratch::with("a.epd", format!("# one\nnonsense here\n# two\n{KINGS}\n"));
    let done = scratch.run(&["normalize", "a.epd", "--rejects", "bad"]);
    assert_eq!(done.out, format!("# one\n# two\n{KINGS}\n"));
    assert_eq!(scratch.text("bad"), "nonsense here\n");
    let kept = scratch.run(&["normalize", "a.epd", "--keep-bad"]);
    assert_eq!(kept.out, scratch.text("a.epd"));
}

/// Outputs without a place for them say so once.
#[test]
fn other_outputs_count_them() {
    for args in [
        &["convert", "a.epd", "b.epb"][..],
        &["convert", "a.epd", "b.epa"],
        &["convert", "a.epd", "b.epdb"],
        &["normalize", "a.epd", "-o", "b.epb"],
        &["dedupe", "a.epd", "-o", "b.epa"],
        &["pack", "a.epd", "-o", "b.epa"],
        &["import", "b.epdb", "a.epd"],
        &["normalize", "a.epd", "--compat", "python-chess"],
    ] {
        let done = run(args);
        assert_eq!(done.status, 0, "{args:?}: {}", done.err);
        let line = "6 comments are not written: the output cannot store them";
        assert_eq!(done.err.matches(line).count(), 1, "{args:?}: {}", done.err);
        assert!(done.err.contains("W-LEN-COMMENT      warning           6  a.epd:1"), "{args:?}");
    }
    for args in [
        &["count", "a.epd"][..],
        &["stats", "a.epd"],
        &["verify", "a.epd"],
        &["pack", "a.epd", "--verbatim", "-o", "b.epa"],
    ] {
        is_silent(&run(args));
    }
}

#[test]
fn each_file_has_its_header() {
    let scratch = Scratch::with("a.epd", format!("# A\n\n{KINGS}\n# end of A\n"));
    scratch.write("b.epd", format!("# B\n\n# b\n{PAWN}\n"));
    let done = scratch.run(&["cat", "a.epd", "b.epd"]);
    assert_eq!(done.out, format!("# A\n\n{KINGS}\n# end of A\n# B\n\n# b\n{PAWN}\n"));
    let done = scratch.run(&["sort", "b.epd", "a.epd", "--by", "pieces"]);
    assert_eq!(done.out, format!("# B\n\n# A\n\n{KINGS}\n# b\n{PAWN}\n# end of A\n"));
    let done = scratch.run(&["filter", "a.epd", "b.epd", "--where", "pieces > 2"]);
    assert_eq!(done.out, format!("# A\n\n# end of A\n# B\n\n# b\n{PAWN}\n"));
}

/// Blank lines at the end go, and the last comment stays as it is.
#[test]
fn the_last_comment_keeps_its_line() {
    for (rest, wanted) in
        [("# a  \n   \n\n", "# a  \n"), ("\n# a\n", "\n# a\n"), ("\n \n", ""), ("", "")]
    {
        let record = "8/8/8/4k3/8/1K6/8/8 b - - id \"x\";\n";
        let done = Scratch::new().run_with(&["normalize"], format!("{record}{rest}"));
        assert_eq!((done.status, done.out), (0, format!("{record}{wanted}")), "{rest:?}");
    }
}
