//! Files as other programs and people make them: NUL bytes, tables of data frames, padding, archives
//! of files, folders, names that are not UTF-8.

use std::fs;
use std::io::Write;

use crate::scratch::{Done, Scratch};

/// A position, the same after 1. e4, and records of both.
const P: &str = "4k3/8/8/8/8/8/4P3/4K3 w - -";
const Q: &str = "4k3/8/8/8/4P3/8/8/4K3 b - -";

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(bytes).unwrap();
    gzip.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 1).unwrap()
}

fn bzip2(bytes: &[u8]) -> Vec<u8> {
    let mut bzip2 = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    bzip2.write_all(bytes).unwrap();
    bzip2.finish().unwrap()
}

/// `xz -9` of the line `{P} id "x";`.
const XZ: &[u8] =
    b"\xfd\x37\x7a\x58\x5a\x00\x00\x04\xe6\xd6\xb4\x46\x02\x00\x21\x01\x1c\x00\x00\x00\x10\xcf\x58\
    \xcc\xe0\x00\x23\x00\x1f\x5d\x00\x1a\x1a\xc2\x62\xf1\x33\xe9\xed\xcd\x8f\x8b\xfc\x5b\x46\x59\
    \xe7\x0b\xb3\x8e\xbb\x9c\xca\x22\x34\x9b\x3b\x6a\x90\xd8\x00\x00\x00\x00\xbb\x2b\x47\xe9\xe8\
    \x8a\x35\x76\x00\x01\x3b\x24\xc2\xbe\x37\x20\x1f\xb6\xf3\x7d\x01\x00\x00\x00\x00\x04\x59\x5a";

fn zip(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, bytes) in files {
        let options = zip::write::SimpleFileOptions::default()
            .compression_method(zip::CompressionMethod::Deflated);
        zip.start_file(*name, options).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

fn tar(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    for (name, bytes) in files {
        // The builder refuses names with `..`, which a hostile archive has.
        let mut header = tar::Header::new_gnu();
        header.as_gnu_mut().unwrap().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        header.set_cksum();
        tar.append(&header, *bytes).unwrap();
    }
    tar.into_inner().unwrap()
}

#[track_caller]
fn assert_done(done: &Done, status: i32, out: &str) {
    assert_eq!((done.status, done.out.as_str()), (status, out), "{}", done.err);
}

/// NUL bytes that end lines, fill a file, or stand in the first line, in each way that text is read.
#[test]
fn nul_bytes_of_text_are_text() {
    let line = format!("{P} id \"a\";\n");
    let game = "[Event \"a\"]\n[Result \"*\"]\n\n1. e4 *\n";
    let padded = format!("{P} id \"a\";{}", "\0".repeat(3000));
    let long = format!("{P} id \"{}\";{}\n", "a".repeat(2000), "\0".repeat(9));
    for (name, text, count) in [
        ("ends.epd", line.replace(";\n", ";\0\n").repeat(3), 3),
        ("ends.fen", format!("{P} 0 1\0\r\n{P} 0 2\0\r\n"), 2),
        ("startpos.epd", format!("startpos\0\n{P}\0\n"), 2),
        ("padded.epd", padded, 1),
        ("long.epd", long, 1),
        ("one.epd", format!("{P}\0id \"a\";\n"), 1),
        ("first.epd", format!("\0{P} id \"a\";\n"), 1),
        ("tag.pgn", game.replace("[Event \"a\"]", "[Event \"a\0b\"]"), 1),
        ("tags.pgn", game.replace("]\n", "]\0\n"), 1),
    ] {
        let texts = [
            (String::new(), text.clone().into_bytes()),
            (".gz".into(), gzip(text.as_bytes())),
            (".zst".into(), zstd(text.as_bytes())),
        ];
        for (suffix, bytes) in texts {
            let name = format!("{name}{suffix}");
            let scratch = Scratch::with(&name, &bytes);
            let counted = format!("{count}\n");
            assert_done(&scratch.run(&["count", &name]), 0, &counted);
            assert_done(&scratch.run_with(&["count", "-"], bytes.clone()), 0, &counted);
            for args in [
                &["pack", &name, "-o", "x.epa"][..],
                &["import", "x.epdb", &name],
                &["convert", &name, "x.epb"],
                &["verify", &name],
                &["stats", &name],
            ] {
                let done = scratch.run(args);
                assert_eq!(done.status, 0, "{name} {args:?}: {}", done.err);
            }
        }
    }
}

/// Files that are not text stay refused, whatever their name says.
#[test]
fn other_nul_bytes_are_binary_data() {
    for (name, bytes) in [
        ("zeros.epd", vec![0; 4096]),
        ("name.epd", [b"openings/white.epd".as_slice(), &[0; 300], b"4k3\n"].concat()),
        ("half.epd", b"4\0k\x003\0/\x008\0/\0\x01\x02".to_vec()),
        ("control.pgn", b"MZ\x90\0\x03\0\0\0\x04\0\0\0\xff\xff\0\0".to_vec()),
        ("a.cbh", [&[0, 0, 0x2c, 0, 0x2e, 1][..], &[0; 90]].concat()),
    ] {
        let scratch = Scratch::with(name, bytes);
        let done = scratch.run(&["count", name]);
        assert_eq!((done.status, done.out.as_str()), (2, ""), "{name}: {}", done.err);
        let wanted = match name {
            "a.cbh" => "is a database of ChessBase, which is not read",
            _ => "is binary data, not text",
        };
        assert!(done.err.contains(wanted), "{name}: {}", done.err);
    }
}

/// The position of the puzzles, and the record of a puzzle without other columns.
const FOOL: &str = "rnbqkbnr/pppp1ppp/8/4p3/8/5P2/PPPPP1PP/RNBQKBNR w KQkq - 0 2";
const AFTER: &str = "rnbqkbnr/pppp1ppp/8/4p3/6P1/5P2/PPPPP2P/RNBQKBNR b KQkq g3";

/// Tables of puzzles as data frames write them.
#[test]
fn puzzles_of_data_frames_are_read() {
    let all =
        "PuzzleId,FEN,Moves,Rating,RatingDeviation,Popularity,NbPlays,Themes,GameUrl,OpeningTags";
    for (header, row, rest, warns) in [
        (
            all,
            "p,F,g2g4 d8h4,1760.0,82.0,-3.0,575,short,u,",
            "c0 \"short\"; c1 \"u\"; id \"p\"; \
          plays 575; popularity -3; rating 1760; rating_dev 82;",
            false,
        ),
        (",FEN,Moves", "0,F,g2g4 d8h4", "", true),
        ("\tPuzzleId\tFEN\tMoves", "0\tp\tF\tg2g4 d8h4", "id \"p\";", true),
        ("Unnamed: 0,PuzzleId,FEN,Moves", "0,p,F,g2g4 d8h4", "id \"p\";", true),
        ("index;FEN;Moves", "0;F;g2g4 d8h4", "", true),
        (
            "PuzzleId,FEN,Moves,Rating,Themes",
            "p,\"F\",\"g2g4 d8h4\",1760,\"a, b\"",
            "c0 \"a, b\"; id \"p\"; rating 1760;",
            false,
        ),
        ("puzzle_id,fen,moves,rating", "p,F,g2g4 d8h4,1760", "id \"p\"; rating 1760;", false),
        ("moves|fen|rating|puzzle id", "g2g4 d8h4|F|1760|p", "id \"p\"; rating 1760;", false),
        ("FEN;Moves;Rating", "F;g2g4 d8h4;", "", false),
        ("FEN;Moves;Rating", "F;g2g4 d8h4;NaN", "", false),
        ("FEN\tMoves\tNbPlays", "F\tg2g4 d8h4\t7.00", "plays 7;", false),
        ("FEN,Moves", "F,g2g4 d8h4", "", false),
        (
            "PuzzleId,GameId,FEN,Moves",
            "p,787zsVup,F,g2g4 d8h4",
            "c1 \"https://lichess.org/787zsVup\"; id \"p\";",
            false,
        ),
    ] {
        let text = format!("{header}\n{}\n", row.replace('F', FOOL));
        let scratch = Scratch::with("p.csv", &text);
        let done = scratch.run(&["normalize", "p.csv"]);
        let mut operations: Vec<&str> = vec!["bm Qh4#", "fmvn 2", "hmvc 0", "pv Qh4#"];
        operations.extend(
            rest.split("; ").map(|one| one.trim_end_matches(';')).filter(|it| !it.is_empty()),
        );
        operations.sort();
        assert_done(&done, 0, &format!("{AFTER} {};\n", operations.join("; ")));
        assert_eq!(done.err.contains("W-LINE-COLUMN"), warns, "{header}: {}", done.err);
        assert_eq!(scratch.run_with(&["normalize", "-"], text).out, done.out, "{header}");
    }
    // The score of a table is never the move of a puzzle.
    let text = format!("fen,moves,eval\n{P} 0 1,e2e4,31\n");
    let done = Scratch::new().run_with(&["normalize", "--score-view", "white"], text);
    assert_done(&done, 0, &format!("{P} ce 31; fmvn 1; hmvc 0;\n"));
}

/// Tables of evaluations with other names, separators and columns.
#[test]
fn evaluations_of_data_frames_are_read() {
    let ce = "ce 31;";
    let both = "acd 46; acn 206765000; ce 31; pv e4 Kd7;";
    for (header, row, white, needs_view) in [
        ("FEN,eval", "F,31", ce, true),
        ("fen,score", "F,31.0", ce, true),
        ("FEN;cp", "F;31", ce, true),
        ("fen\tevaluation", "F\t+31", ce, true),
        ("|fen|cp", "0|F|31", ce, true),
        (",fen,cp", "0,F,31", ce, true),
        ("cp,index,fen", "31,x,F", ce, true),
        ("cp,id,fen", "31,x,F", "ce 31; id \"x\";", true),
        ("fen,cp,mate", "F,31,", ce, true),
        ("fen,cp,mate", "F,,-12", "ce -32743;", true),
        ("fen,mate", "F,3.0", "ce 32762;", true),
        ("fen,line,depth,knodes,cp,mate", "F,e2e4 e8d7,46,206765,31,", both, false),
        ("fen\tline\tdepth\tknodes\tcp\tmate", "F\te2e4 e8d7\t46\t206765\t31.0\t", both, false),
        ("fen,line,depth,knodes,cp,mate", "F,e2e4,46.0,,,-12", "acd 46; ce -32743; pv e4;", false),
        ("fen,other", "F,x", "", false),
        ("fen", "F", "", false),
    ] {
        let text = format!("{header}\n{}\n", row.replace('F', P));
        let scratch = Scratch::with("e.tsv", &text);
        let done = scratch.run(&["normalize", "e.tsv"]);
        let wanted = format!("{P} {white}\n").replace(" \n", "\n");
        if needs_view {
            assert_eq!((done.status, done.out.as_str()), (2, ""), "{header}: {}", done.err);
            assert!(done.err.contains("give --score-view white"), "{}", done.err);
            let done = scratch.run(&["normalize", "e.tsv", "--score-view", "mover"]);
            assert_done(&done, 0, &wanted);
        } else {
            assert_done(&done, 0, &wanted);
        }
        assert!(!done.out.contains("noop"), "{header}: {}", done.out);
    }
    // The columns of operations, as `epdb table` writes them.
    let suite = [
        format!("{P} am Kd1; bm Kd2 e4; c0 \"a, \u{e9}; b\"; id \"A.1\"; pm e4; v0 \"none\";\n"),
        format!("{P} acd 9; bm Nh8; ce -5; dm 3; id \"A.2\";\n"),
        format!("{Q}\n"),
    ];
    let scratch = Scratch::with("suite.epd", suite.concat());
    for (name, columns) in [
        ("a.csv", "id,fen,bm,am,c0,ce,dm,pm,v0,acd"),
        ("a.tsv", "epd,v0,pm,dm,ce,c0,am,bm,id,acd"),
        ("a.jsonl", "fen,id,bm,am,c0,ce,dm,pm,v0,acd"),
    ] {
        scratch.run(&["table", "suite.epd", "--columns", columns, "-o", name]);
        let back = scratch.run(&["edit", "--drop", "hmvc,fmvn", name]);
        assert_done(&back, 0, &suite.concat());
        assert!(!back.err.contains("W-LINE-COLUMN"), "{}", back.err);
    }
    for (row, wanted) in [("F,e4", "2 columns"), ("F,e4; id x,,", "is not the value of one bm")] {
        let text = format!("fen,bm,dm,resign\n{}\n", row.replace('F', P));
        let done = Scratch::new().run_with(&["normalize"], text);
        assert!(done.status == 1 && done.err.contains(wanted), "{row}: {}", done.err);
        assert!(done.err.contains("column `resign` is unknown"), "{}", done.err);
    }
    // The scores of tables with lines are from White's view.
    let text = format!("fen,line,depth,knodes,cp,mate\n{Q},e8d7,46,1,31,\n");
    let done = Scratch::new().run_with(&["normalize"], text);
    assert_done(&done, 0, &format!("{Q} acd 46; acn 1000; ce -31; pv Kd7;\n"));
    for (row, wanted) in [
        ("F,,", "no score: expected centipawns"),
        ("F,31,2", "expected one of a score and a mate, found both"),
        ("F,0.31,", "Evaluation `0.31`: expected centipawns"),
        ("F,,x", "mate `x`: expected an integer"),
    ] {
        let text = format!("fen,cp,mate\n{}\n", row.replace('F', P));
        let done = Scratch::new().run_with(&["normalize", "--score-view", "white"], text);
        assert_done(&done, 1, "");
        assert!(done.err.contains(wanted), "{row}: {}", done.err);
    }
}

/// Padding and other bytes after a gzip file, with one member and with several.
#[test]
fn bytes_after_gzip_data() {
    let line = format!("{P} id \"a\";\n");
    let member = gzip(line.as_bytes());
    let twice = [&member[..], &member].concat();
    let with = |bytes: &[u8]| [&twice[..], bytes].concat();
    for (name, bytes, status, lines, message) in [
        ("plain", twice.clone(), 0, 2, ""),
        ("zeros", with(&[0; 512]), 0, 2, ""),
        ("one zero", with(&[0]), 0, 2, ""),
        ("padded members", [with(&[0; 512]), member.clone(), vec![0; 700]].concat(), 0, 3, ""),
        (
            "text",
            with(b"<html>gone</html>\n"),
            0,
            2,
            "W-SOURCE-TRAILING]: 18 bytes after the gzip data",
        ),
        ("short", with(b"x"), 0, 2, "W-SOURCE-TRAILING]: 1 byte after the gzip data"),
        (
            "damaged magic",
            with(&[&[0x1f, 0x8a][..], &member[2..]].concat()),
            2,
            2,
            "damaged or cut off",
        ),
        ("hidden member", with(&[b"junk", &member[..]].concat()), 2, 2, "damaged or cut off"),
        ("zeros and junk", with(b"\0\0\0junk"), 2, 2, "damaged or cut off"),
        (
            "cut member",
            with(&member[..member.len() - 5]),
            2,
            3,
            "`gzip -dc FILE` writes what is left",
        ),
    ] {
        let scratch = Scratch::with("a.epd.gz", &bytes);
        for done in [
            scratch.run(&["normalize", "a.epd.gz"]),
            scratch.run_with(&["normalize", "-"], bytes.clone()),
        ] {
            assert_eq!(done.status, status, "{name}: {}", done.err);
            if status == 0 {
                assert_eq!(done.out, line.repeat(lines), "{name}: {}", done.err);
            }
            assert!(
                done.err.contains(message) && (status == 0 || !done.err.is_empty()),
                "{name}: {}",
                done.err
            );
            assert_eq!(done.err.is_empty(), message.is_empty(), "{name}: {}", done.err);
        }
        let denied = scratch.run(&["count", "--deny-warnings", "a.epd.gz"]);
        let is_warned = message.starts_with("W-");
        assert_eq!(denied.status, if is_warned { 2 } else { status }, "{name}: {}", denied.err);
    }
}

/// A frame of Zstandard with this header after the magic number, and with one block of a line.
fn frame(header: &[u8]) -> Vec<u8> {
    let line = format!("{P}\n");
    let block = (line.len() as u32) << 3 | 1;
    [b"\x28\xb5\x2f\xfd", header, &block.to_le_bytes()[..3], line.as_bytes()].concat()
}

/// Data that another program can decompress: the message names it.
#[test]
fn messages_about_zstd_name_the_way_out() {
    let whole = zstd(format!("{P}\n").as_bytes());
    for (name, bytes, wanted) in [
        ("whole.epd.zst", frame(&[0, 0x50]), ""),
        ("long.epd.zst", frame(&[0, 0xa0]), "`zstd -dc --long=31 FILE | epdb ... -`"),
        ("with.epd.zst", frame(&[1, 0x50, 7]), "`zstd -dc -D DICTIONARY FILE | epdb ... -`"),
        ("cut.epd.zst", whole[..whole.len() - 4].to_vec(), "`zstd -dc FILE` writes what is left"),
    ] {
        let scratch = Scratch::with(name, bytes);
        let done = scratch.run(&["count", name]);
        let expected = if wanted.is_empty() { (0, "1\n") } else { (2, "") };
        assert_eq!((done.status, done.out.as_str()), expected, "{name}: {}", done.err);
        assert!(done.err.contains(wanted), "{name}: {}", done.err);
    }
}

/// The sound files, and two that cannot be read.
fn some_files() -> Scratch {
    let scratch = Scratch::with("a.epd", format!("{P} id \"a\";\n"));
    scratch.write("b.epd", format!("{Q} id \"b\";\n"));
    scratch.write("g.pgn", "[Event \"g\"]\n[Result \"*\"]\n\n1. e4 *\n");
    scratch.write("h.pgn", "[Event \"h\"]\n[Result \"*\"]\n\n1. d4 *\n");
    scratch.write("bad.epd", vec![0; 100]);
    scratch
}

/// All files that cannot be read are named before anything is read, or left out.
#[test]
fn all_files_that_cannot_be_read_are_named() {
    for (command, files, count) in [
        (&["pack", "-o", "x.epa"][..], ["a.epd", "b.epd"], "2\n"),
        (&["import", "x.epdb"], ["a.epd", "b.epd"], "2\n"),
        (&["tally", "-o", "x.epdb"], ["g.pgn", "h.pgn"], "3\n"),
    ] {
        let scratch = some_files();
        let output = command[command.len() - 1];
        let [first, last] = files;
        let args = [command, &[first, "bad.epd", "none.epd", last]].concat();
        let done = scratch.run(&args);
        assert_eq!(done.status, 2, "{args:?}: {}", done.err);
        assert!(!scratch.path(output).exists(), "{args:?}");
        for name in ["bad.epd is binary data", "cannot read none.epd"] {
            assert_eq!(done.err.matches(name).count(), 1, "{args:?}: {}", done.err);
        }
        let done = scratch.run(&[&args[..], &["--keep-going"]].concat());
        assert_eq!(done.status, 1, "{args:?}: {}", done.err);
        for text in ["bad.epd is binary data", "cannot read none.epd", "2 files left out, 2 read"] {
            assert_eq!(done.err.matches(text).count(), 1, "{args:?}: {}", done.err);
        }
        assert_eq!(scratch.run(&["count", output]).out, count, "{args:?}");
        let none = scratch.run(&[command, &["bad.epd", "--keep-going"]].concat());
        assert!(
            none.status == 2 && none.err.contains("none of the files can be read"),
            "{}",
            none.err
        );
    }
    let scratch = some_files();
    scratch.run(&["convert", "a.epd", "a.epb"]);
    let done = scratch.run(&["pack", "--verbatim", "a.epd", "a.epb", "bad.epd", "-o", "x.epa"]);
    assert!(done.err.contains("a.epb is not text, which --verbatim keeps"), "{}", done.err);
    assert!(done.status == 2 && done.err.contains("bad.epd is binary data"), "{}", done.err);
}

/// Folders and patterns, in natural order, with all compressions.
#[test]
fn folders_and_patterns_stand_for_their_files() {
    let scratch = Scratch::new();
    fs::create_dir_all(scratch.path("d/deep")).unwrap();
    fs::create_dir(scratch.path("empty")).unwrap();
    let line = |id: &str| format!("{P} id \"{id}\";\n");
    scratch.write("d/a2.epd", line("2"));
    scratch.write("d/a10.epd.gz", gzip(line("10").as_bytes()));
    scratch.write("d/a1.epd.zst", zstd(line("1").as_bytes()));
    scratch.write("d/deep/b.epd.bz2", bzip2(line("b").as_bytes()));
    scratch.write("d/deep/c.zip", zip(&[("c.epd", line("c").as_bytes())]));
    scratch.write("d/deep/x.csv", "a,b\n1,2\n");
    scratch.write("d/readme.txt", "text\n");
    scratch.write("d/.hidden.epd", line("hidden"));
    scratch.write("d/[odd].epd", line("odd"));
    let all = ["odd", "1", "2", "10", "b", "c"];
    for (args, ids) in [
        (&["d"][..], &all[..]),
        (&["d/"], &all),
        (&["d/**/*.epd*"], &["odd", "1", "2", "10", "b"]),
        (&["d/a*.epd"], &["2"]),
        (&["d/a?.*"], &["1", "2"]),
        (&["d/a[12].epd*"], &["1", "2"]),
        (&["d/[odd].epd"], &["odd"]),
        (&["d/deep", "d/a2.epd", "d/deep"], &["b", "c", "2", "b", "c"]),
        (&["-q", "--all-warnings", "--", "d/deep"], &["b", "c"]),
    ] {
        let done = scratch.run(&[&["normalize"], args].concat());
        let wanted: String = ids.iter().map(|id| line(id)).collect();
        assert_done(&done, 0, &wanted);
    }
    assert_done(&scratch.run(&["count", "d"]), 0, "6\n");
    // Other files of a folder are named after all else, those of a pattern are not.
    for (args, note) in [
        (&["d"][..], "epdb: 2 files of other formats are not read: d/deep/x.csv, d/readme.txt; "),
        (&["d/deep"], "epdb: 1 file of other formats is not read: d/deep/x.csv; "),
        (&["d/a*"], ""),
    ] {
        let done = scratch.run(&[&["count"], args].concat());
        let last = done.err.lines().last().unwrap_or_default();
        assert!(last.starts_with(note) && last.is_empty() == note.is_empty(), "{}", done.err);
    }
    scratch.write("d/more.doc", "1");
    scratch.write("d/notes.doc", "2");
    let shown = "4 files of other formats are not read: d/deep/x.csv, d/more.doc, d/notes.doc ...;";
    let packed = scratch.run(&["pack", "--verbatim", "d", "-o", "v.epa"]);
    assert!(packed.err.contains(shown), "{}", packed.err);
    assert_eq!(scratch.run(&["pack", "d/**/*.epd*", "-o", "x.epa"]).status, 0);
    assert_done(&scratch.run(&["count", "x.epa"]), 0, "5\n");
    for (args, wanted) in [
        (["count", "empty"], "empty is a folder without a file that epdb reads"),
        (["count", "d/*.pgn"], "no file matches d/*.pgn"),
    ] {
        let done = scratch.run(&args);
        assert!(done.status == 2 && done.err.contains(wanted), "{args:?}: {}", done.err);
    }
    // An option whose value needs `=` takes no folder for its value.
    fs::create_dir(scratch.path("of_games")).unwrap();
    scratch.write("of_games/g.pgn", "[Event \"g\"]\n[Result \"*\"]\n\n1. e4 e5 2. Nf3 *\n");
    assert_done(&scratch.run(&["count", "--positions", "of_games"]), 0, "4\n");
    // A library in parts is counted once.
    scratch.write("g.pgn", "[Event \"g\"]\n[Result \"*\"]\n\n1. e4 e5 2. Nf3 *\n");
    scratch.run(&["tally", "g.pgn", "-o", "g.epa"]);
    let done = scratch.run(&["pack", "g.epa", "--shards", "2", "-o", "parts"]);
    assert_eq!(done.status, 0, "{}", done.err);
    let whole = scratch.run(&["count", "parts/manifest.json"]).out;
    assert_done(&scratch.run(&["count", "parts"]), 0, &whole);
    let one = scratch.run(&["convert", "parts", "one.epa"]);
    assert!(one.err.contains("parts is a folder: name parts/manifest.json"), "{}", one.err);
}

/// Archives of files, whose members are told by their names.
type MakeArchive = fn(&[(&str, &[u8])]) -> Vec<u8>;
type Compress = fn(&[u8]) -> Vec<u8>;

#[test]
fn zip_and_tar_are_read_as_their_files() {
    let a = format!("{P} id \"a\";\n");
    let b = format!("{Q} id \"b\";");
    let game = "[Event \"g\"]\n[Result \"*\"]\n\n1. e4 *\n";
    let [a, b, game] = [a.as_bytes(), b.as_bytes(), game.as_bytes()];
    let makers: [(&str, MakeArchive, Compress); 5] = [
        ("x.zip", zip, <[u8]>::to_vec),
        ("x.tar", tar, <[u8]>::to_vec),
        ("x.tar.gz", tar, gzip),
        ("x.tar.zst", tar, zstd),
        ("x.tbz2", tar, bzip2),
    ];
    for (name, make, compress) in makers {
        for (files, count, message) in [
            (&[("a.epd", a)][..], "1\n", ""),
            (&[("text.txt", a)], "1\n", ""),
            (&[("d/a.epd", a), ("d/b.epd", b), ("d/c.fen", a)], "3\n", ""),
            (
                &[("readme.txt", b"text".as_slice()), ("a.epd", a), ("../../b.epd", b)],
                "2\n",
                "1 of 3 files in it is not read: readme.txt",
            ),
            (
                &[
                    ("g.pgn", game),
                    ("__MACOSX/._g.pgn", b"\0\0".as_slice()),
                    (".DS_Store", b"\0".as_slice()),
                ],
                "1\n",
                "",
            ),
            (&[("g.pgn", game), ("h.pgn", game)], "2\n", ""),
            (&[("a.txt", a), ("b.txt", b)], "", "of 2 files (a.txt, b.txt), and no file in it has"),
            (&[("a.epd", a), ("g.pgn", game)], "", "its files have different formats"),
            (&[("a.epb", a), ("b.epb", b)], "", "it has several files that are not text"),
        ] {
            let bytes = compress(&make(files));
            let scratch = Scratch::with(name, &bytes);
            for done in
                [scratch.run(&["count", name]), scratch.run_with(&["count", "-"], bytes.clone())]
            {
                assert_eq!(done.out, count, "{name} {message}: {}", done.err);
                assert!(done.err.contains(message), "{name}: {}", done.err);
                assert!(!message.is_empty() || !done.err.contains("read:"), "{}", done.err);
                assert_eq!(done.status, if count.is_empty() { 2 } else { 0 }, "{}", done.err);
            }
            assert_eq!(scratch.names(), [name], "nothing is written");
        }
        // Another command reads them too, and a damaged archive is an error.
        let bytes = make(&[("a.epd", a)]);
        let scratch = Scratch::with(name, compress(&bytes));
        for args in
            [&["pack", name, "-o", "x.epa"][..], &["import", "x.epdb", name], &["stats", name]]
        {
            let done = scratch.run(args);
            assert_eq!(done.status, 0, "{args:?}: {}", done.err);
        }
        assert_done(&scratch.run(&["count", "x.epa"]), 0, "1\n");
        let done = scratch.run(&["import", "x.epdb", name]);
        assert!(done.err.contains("already imported"), "{}", done.err);
        let mut cut = bytes;
        cut.truncate(if name == "x.zip" { cut.len() - 30 } else { 530 });
        scratch.write(name, compress(&cut));
        let done = scratch.run(&["count", name]);
        assert_eq!((done.status, done.out.as_str()), (2, ""), "{name}: {}", done.err);
    }
}

#[test]
fn bzip2_and_xz_are_read() {
    let line = format!("{P} id \"x\";\n");
    for (name, bytes) in [
        ("a.epd.bz2", bzip2(line.as_bytes())),
        ("b", bzip2(line.as_bytes())),
        ("a.epd.xz", XZ.to_vec()),
        ("c", XZ.to_vec()),
    ] {
        let scratch = Scratch::with(name, &bytes);
        assert_done(&scratch.run(&["normalize", name]), 0, &line);
        assert_done(&scratch.run_with(&["normalize", "-"], bytes.clone()), 0, &line);
        scratch.write(name, &bytes[..bytes.len() - 14]);
        let done = scratch.run(&["normalize", name]);
        assert!(
            done.status == 2 && done.err.contains("damaged or cut off"),
            "{name}: {}",
            done.err
        );
    }
    let twice = [bzip2(line.as_bytes()), bzip2(line.as_bytes())].concat();
    assert_done(&Scratch::new().run_with(&["count", "-"], twice), 0, "2\n");
}

/// Names that are not UTF-8 show a format like others, for inputs and outputs.
#[cfg(unix)]
#[test]
fn names_that_are_not_utf8_have_suffixes() {
    use std::ffi::{OsStr, OsString};
    use std::os::unix::ffi::OsStrExt;

    let named =
        |suffix: &str| OsString::from(OsStr::from_bytes(&[b"b\xff.", suffix.as_bytes()].concat()));
    let run = |scratch: &Scratch, args: &[&OsStr]| {
        let output = std::process::Command::new(assert_cmd::cargo::cargo_bin("epdb"))
            .args(args)
            .current_dir(scratch.path(""))
            .output()
            .unwrap();
        let err = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code().unwrap(), err)
    };
    fn word(text: &str) -> &OsStr {
        OsStr::new(text)
    }
    for (args, suffix) in [
        (&["convert", "g.pgn"][..], "epd"),
        (&["convert", "g.pgn"], "fen.gz"),
        (&["tally", "g.pgn", "-o"], "epa"),
        (&["import"], "epdb"),
        (&["pack", "a.epd", "-o"], "epa"),
    ] {
        let scratch = some_files();
        let name = named(suffix);
        let mut words: Vec<&OsStr> = args.iter().map(|arg| word(arg)).collect();
        words.push(&name);
        if args == ["import"] {
            words.push(word("a.epd"));
        }
        let (status, err) = run(&scratch, &words);
        assert_eq!(status, 0, "{words:?}: {err}");
        let (status, err) = run(&scratch, &[word("count"), &name]);
        assert_eq!(status, 0, "{words:?}: {err}");
    }
    for args in [&["pack", "a.epd", "-o"][..], &["book", "make", "g.pgn", "-o"]] {
        let scratch = some_files();
        let name = named("epd");
        let path = scratch.path("").join(&name);
        fs::write(&path, "mine").unwrap();
        let mut words: Vec<&OsStr> = args.iter().map(|arg| word(arg)).collect();
        words.push(&name);
        let (status, err) = run(&scratch, &words);
        assert_eq!(status, 2, "{words:?}: {err}");
        assert_eq!(fs::read(&path).unwrap(), b"mine", "{words:?}");
    }
    let scratch = Scratch::new();
    let folder = scratch.path("").join(named("d"));
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join(named("epd")), format!("{P}\n")).unwrap();
    assert_eq!(run(&scratch, &[word("count"), &named("d")]).0, 0);
}

/// A byte that is not a character is one warning with its line, and the text after it is read.
#[test]
fn bytes_outside_a_character_set_are_warnings() {
    let text = |bad: &[u8]| {
        let line = |id: &[u8]| [P.as_bytes(), b" id \"", id, b"\";\n"].concat();
        [line(b"a"), line(&[b"b", bad].concat()), line(b"c")].concat()
    };
    let wide: Vec<u8> =
        String::from_utf8(text(b"b")).unwrap().encode_utf16().flat_map(u16::to_le_bytes).collect();
    let mut bad_wide = wide;
    let place = bad_wide.windows(2).position(|pair| pair == b"b\0").unwrap();
    bad_wide[place..place + 2].copy_from_slice(b"\0\xd8");
    for (charset, bytes) in [
        ("gbk", text(b"\xff")),
        ("shift_jis", text(b"\xff")),
        ("euc-kr", text(b"\xff")),
        ("utf-16le", bad_wide),
    ] {
        let scratch = Scratch::with("a.epd", &bytes);
        let done = scratch.run(&["normalize", "a.epd", "--charset", charset]);
        assert_eq!((done.status, done.out.lines().count()), (0, 3), "{charset}: {}", done.err);
        assert!(done.out.contains('\u{fffd}'), "{charset}: {}", done.out);
        let wanted = "a.epd:2:1: warning[W-SOURCE-CHARSET]: byte ";
        assert_eq!(done.err.matches(wanted).count(), 1, "{charset}: {}", done.err);
        assert_eq!(done.err.matches("W-SOURCE-CHARSET").count(), 2, "{charset}: {}", done.err);
        let denied = scratch.run(&["count", "a.epd", "--charset", charset, "--deny-warnings"]);
        assert_eq!(denied.status, 2, "{charset}: {}", denied.err);
    }
}

/// Output that nobody can receive is an error.
#[cfg(target_os = "linux")]
#[test]
fn a_closed_standard_output_is_an_error() {
    let scratch = some_files();
    let run = |command: &str| {
        let program = assert_cmd::cargo::cargo_bin("epdb");
        let line = format!("{} {command}", program.display());
        let output = std::process::Command::new("sh")
            .args(["-c", &line])
            .current_dir(scratch.path(""))
            .output()
            .unwrap();
        (output.status.code().unwrap(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    for command in ["normalize a.epd >&-", "count a.epd >&-", "table a.epd --columns id >&-"] {
        let (status, err) = run(command);
        assert!(status == 2 && err.contains("standard output"), "{command}: {status} {err}");
    }
    for command in
        ["pack a.epd -o x.epa >&-", "normalize a.epd >/dev/null", "normalize a.epd <>/dev/null >&0"]
    {
        let (status, err) = run(command);
        assert_eq!(status, 0, "{command}: {err}");
    }
}

/// Text that a profile refuses is not damaged.
#[test]
fn verify_tells_damage_from_other_text() {
    let scratch = Scratch::with("a.epd", format!("# a suite\n{P} id x;\n"));
    for (profile, verdict, status) in [
        ("strict", "not canonical, 2 not read", 1),
        ("standard", "not standard text, 1 not read, 1 warning", 1),
        ("lenient", "no damage found, 1 warning", 0),
    ] {
        let done = scratch.run(&["verify", "--profile", profile, "a.epd"]);
        assert_done(&done, status, &format!("a.epd: {verdict}\n"));
    }
    scratch.write("b.epd", "nonsense\n");
    assert_done(&scratch.run(&["verify", "b.epd"]), 1, "b.epd: damaged, 1 not read\n");
}

/// Variables of the environment that are not numbers in their range.
#[cfg(feature = "remote")]
#[test]
fn variables_of_addresses_are_checked() {
    for (name, value) in [
        ("EPDB_REMOTE_TIMEOUT", "18446744073709551615"),
        ("EPDB_REMOTE_TIMEOUT", "0"),
        ("EPDB_REMOTE_CACHE", "64M"),
        ("EPDB_REMOTE_GAP", "abc"),
        ("EPDB_REMOTE_PART", "-1"),
    ] {
        let done = Scratch::new().run_in(&["count", "http://127.0.0.1:9/a.epd"], &[(name, value)]);
        let wanted = format!("{name} is `{value}`: a number from ");
        assert!(done.status == 2 && done.err.contains(&wanted), "{name}: {}", done.err);
    }
}
