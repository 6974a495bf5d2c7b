//! Commands on archives: refused input, files that stay untouched, parts that are not decoded.

use crate::scratch::Scratch;
#[cfg(target_os = "linux")]
use crate::{skipped::skipped, usage::on_a_terminal};
use epdb_archive::{Archive, ArchiveWriter, PackOptions};

const LINE: &str = "4k3/8/8/8/8/8/4P3/4K3 w - - bm e4;";

/// A verbatim archive of empty files with these names.
fn named<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<u8> {
    let options = PackOptions { verbatim: true, ..Default::default() };
    let mut writer = ArchiveWriter::new(Vec::new(), options).unwrap();
    names.into_iter().for_each(|name| writer.begin_file(name).unwrap());
    writer.finish().unwrap()
}

/// Nothing is lost, so nothing is wrong; invalid lines are still reported.
#[test]
fn packing_odd_lines_verbatim_is_success() {
    let scratch = Scratch::with("a.epd", format!("{LINE}\nnot a position\n"));
    let packed = scratch.run(&["pack", "a.epd", "-o", "a.epa", "--verbatim"]);
    assert_eq!(packed.status, 0, "{}", packed.err);
    assert!(
        packed.err.contains("not a position") || packed.err.contains("a.epd"),
        "{}",
        packed.err
    );
    assert_eq!(scratch.run(&["pack", "a.epd", "-o", "b.epa"]).status, 1);
    assert_eq!(scratch.run(&["unpack", "a.epa", "--verbatim"]).out, scratch.text("a.epd"));
}

/// A verbatim archive has all files of a folder, so files that are left out are an error. Hidden ones are counted.
#[test]
fn files_of_a_folder_that_are_not_packed_are_reported() {
    let scratch = Scratch::new();
    std::fs::create_dir_all(scratch.path("d/.hidden")).unwrap();
    scratch.write("d/a.epd", format!("{LINE}\n"));
    scratch.write("d/.b.epd", format!("{LINE}\n"));
    let pack =
        |more: &[&str]| scratch.run(&[&["pack", "d", "-o", "a.epa", "--force"], more].concat());
    let hidden = "epdb: 2 hidden files or folders are not read\n";
    let done = pack(&["--verbatim"]);
    assert!(done.status == 0 && done.err.ends_with(hidden), "{}", done.err);
    scratch.write("d/games.PGN.bak", "1. e4 *\n");
    let others = "1 file of other formats is not read: d/games.PGN.bak; ";
    for (more, status, message) in [
        (&["--verbatim", "-q"][..], 1, format!("epdb: error: {others}")),
        (&["--verbatim"], 1, format!("{hidden}epdb: error: {others}")),
        (&[], 0, format!("{hidden}epdb: {others}")),
        (&["-q"], 0, String::new()),
    ] {
        let done = pack(more);
        assert!(done.status == status && done.err.contains(&message), "{more:?}: {}", done.err);
    }
    // So is a file whose bytes cannot be kept.
    scratch.write("d/c.epd", [0xff, 0xfe, b'8', 0, b'/', 0, b'\n', 0]);
    assert_eq!(pack(&["--verbatim"]).status, 2);
    let done = pack(&["--verbatim", "--keep-going"]);
    assert!(done.status == 1 && done.err.contains("convert it to UTF-8"), "{}", done.err);
    assert_eq!(scratch.run(&["count", "a.epa"]).out, "1\n");
}

/// What the data is stays with it from file to file, and an option replaces the values of its key.
#[test]
fn archives_say_what_their_data_is() {
    let scratch = Scratch::with("a.epd", format!("{LINE}\n"));
    scratch.write("g.pgn", "1. e4 e5 1-0\n\n");
    let writer = format!("  writer: epdb {}\n", env!("CARGO_PKG_VERSION"));
    for (call, shown) in [
        (
            "pack a.epd -o a.epa --about name=A=1 --about license=CC0-1.0",
            "  licence: CC0-1.0\n  name: A=1\n",
        ),
        ("pack a.epd -o b.epa --verbatim --about name=B", "  name: B\n"),
        ("tally g.pgn -o t.epa --about source=web", "  source: web\n"),
        ("convert a.epa c.epa", "  licence: CC0-1.0\n  name: A=1\n"),
        ("convert a.epa d.epa --about name=D", "  licence: CC0-1.0\n  name: D\n"),
        ("pack a.epa b.epa -o e.epa", "  licence: CC0-1.0\n  name: A=1\n  name: B\n"),
        (
            "union a.epa t.epa -o u.epa --allow-mixed",
            "  licence: CC0-1.0\n  name: A=1\n  source: web\n",
        ),
        (
            "shard merge a.epa b.epa --shards 1 -o s --about x=y",
            "  licence: CC0-1.0\n  name: A=1\n  name: B\n",
        ),
        ("convert s/manifest.json f.epa", "  licence: CC0-1.0\n  name: A=1\n  name: B\n"),
    ] {
        let args: Vec<&str> = call.split(' ').collect();
        let done = scratch.run(&args);
        assert!(done.status <= 1, "{call}: {}", done.err);
        let file = match args.iter().position(|arg| *arg == "-o") {
            Some(at) if args[0] == "shard" => format!("{}/manifest.json", args[at + 1]),
            Some(at) => args[at + 1].to_string(),
            None => args[2].to_string(),
        };
        let stats = scratch.run(&["stats", &file]).out;
        let x = if call.contains("x=y") || file == "f.epa" { "  x: y\n" } else { "" };
        let expected = format!("about {file}\n{shown}{writer}{x}");
        assert!(stats.ends_with(&expected), "{call}: {stats}");
    }
    let json = scratch.run(&["stats", "e.epa", "--json"]).out;
    assert!(
        json.contains(
            r#""about":[{"file":"e.epa","facts":{"licence":["CC0-1.0"],"name":["A=1","B"]"#
        ),
        "{json}"
    );
    for (call, refused) in [
        ("convert a.epd x.epb --about name=A", "--about needs an archive (.epa)"),
        ("pack a.epd -o x.epa --about name", "write KEY=VALUE"),
        ("pack a.epd -o x.epa --about writer=me", "the program that writes the archive"),
        ("tally g.pgn -o x.epdb --about name=A", "--about needs an archive (.epa)"),
    ] {
        let done = scratch.run(&call.split(' ').collect::<Vec<_>>());
        assert!(done.status == 2 && done.err.contains(refused), "{call}: {}", done.err);
    }
}

/// What is left of a file that was cut off is written, and the missing end is an error of all commands.
#[test]
fn a_file_that_was_cut_off_is_read_up_to_its_end() {
    let line = |number| format!("4k3/8/8/8/8/8/4P3/4K3 w - - id \"{number}\";\n");
    let all: String = (0..1000).map(line).collect();
    let scratch = Scratch::with("a.epd", &all);
    assert_eq!(scratch.run(&["pack", "a.epd", "-o", "a.epa"]).status, 0);
    let bytes = scratch.read("a.epa");
    scratch.write("cut.epa", &bytes[..bytes.len() - 200]);
    for args in [&["export", "cut.epa"][..], &["cat", "cut.epa"]] {
        let done = scratch.run(args);
        assert!(done.out == all && done.status == 1, "{args:?}: {}", done.err);
        assert!(done.err.contains("1000 records come before it"), "{args:?}: {}", done.err);
    }
    let done = scratch.run(&["verify", "cut.epa"]);
    assert_eq!(done.status, 1, "{}", done.err);
    assert!(done.out.contains("damaged: end of the file, "), "{}", done.out);
    let done = scratch.run(&["get", "cut.epa", "4k3/8/8/8/8/8/4P3/4K3 w - -"]);
    assert!(done.out == all && done.status == 1, "{}", done.err);
    assert!(done.err.contains("truncated"), "{}", done.err);
    let done = scratch.run(&["count", "cut.epa"]);
    assert_eq!((done.out.trim(), done.status), ("1000", 1), "{}", done.err);
    let done = scratch.run(&["pack", "cut.epa", "-o", "b.epa"]);
    assert!(done.status > 0 && done.err.contains("truncated"), "{} {}", done.out, done.err);
}

#[test]
fn ranges_beyond_the_end_are_errors() {
    let scratch = Scratch::with("a.epd", format!("{LINE}\n").repeat(3));
    scratch.run(&["pack", "a.epd", "-o", "a.epa"]);
    for (range, lines) in [("0..3", 3), ("1..2", 1), ("..", 3), ("2..", 1), ("3..", 0)] {
        let done = scratch.run(&["unpack", "a.epa", "--range", range]);
        assert_eq!((done.status, done.out.lines().count()), (0, lines), "{range}: {}", done.err);
    }
    for range in ["3..4", "0..4", "4..", "2..1", "x..", "1"] {
        let done = scratch.run(&["unpack", "a.epa", "--range", range]);
        assert_eq!((done.status, done.out.as_str()), (2, ""), "{range}");
    }
    assert!(scratch.run(&["unpack", "a.epa", "--range", "7..9"]).err.contains("3 records"));
}

/// The file has the number of records; only its first block is checked for it.
#[test]
fn counting_an_archive_decodes_little() {
    let scratch = Scratch::with("a.epd", format!("{LINE}\n").repeat(3));
    scratch.run(&["pack", "a.epd", "-o", "a.epa", "--block", "2"]);
    let bytes = scratch.read("a.epa");
    let parts = Archive::from_bytes(bytes.clone()).unwrap().parts();
    let blocks = parts.iter().find(|part| part.name == "blocks").unwrap();
    let changed = |place: u64| {
        let mut changed = bytes.clone();
        changed[(blocks.offset + place) as usize] ^= 1;
        changed
    };
    scratch.write("b.epa", changed(blocks.len - 3));
    scratch.write("c.epa", changed(3));
    for name in ["a.epa", "b.epa"] {
        assert_eq!(scratch.run(&["count", name]).out, "3\n", "{name}");
    }
    assert_eq!(scratch.run(&["count", "a.epa", "a.epd", "a.epa"]).out, "9\n");
    let counted = scratch.run(&["count", "b.epa", "--where", "pieces > 0"]);
    assert_eq!((counted.status, counted.out.as_str()), (1, "2\n"), "{}", counted.err);
    let counted = scratch.run(&["count", "c.epa"]);
    assert_eq!((counted.status, counted.out.as_str()), (1, "1\n"), "{}", counted.err);
    assert_eq!(scratch.run(&["verify", "b.epa"]).status, 1);
}

/// What `verify` refuses no command hands out: rows and blocks under checks that hold, that no writer
/// means.
/// Packing has a bar of its own once all is read.
#[cfg(target_os = "linux")]
#[test]
fn packing_much_shows_its_progress() {
    let line = |number: u32| format!("4k3/8/8/8/8/8/4P3/4K3 w - - id \"{number}\";\n");
    let scratch = Scratch::with("a.epd", (0..300_001).map(line).collect::<String>());
    let call = "epdb pack a.epd -o a.epa --level fast";
    let Some((shown, status)) = on_a_terminal(&scratch, call, "") else {
        skipped("there is no `script`");
        return;
    };
    assert!(shown.contains(" packing, ") && status == 0);
}

#[test]
fn commands_leave_out_what_verify_refuses() {
    let scratch = Scratch::new();
    for name in ["row_behind", "row_kings", "operations_missing"] {
        let golden = "formats/golden/archive/invalid";
        let file = format!("{}/{golden}/{name}.epa", env!("CARGO_MANIFEST_DIR"));
        std::fs::copy(file, scratch.path("a.epa")).unwrap();
        assert_eq!(scratch.run(&["verify", "a.epa"]).status, 1, "{name}");
        let position = "4k3/8/8/8/8/8/4P3/4K3 w - -";
        for call in [
            &["unpack", "a.epa"][..],
            &["cat", "a.epa"],
            &["get", "a.epa", position],
            &["count", "a.epa"],
            &["stats", "a.epa"],
            &["convert", "a.epa", "a.epb"],
        ] {
            let is_get = call[0] == "get";
            // A lookup finds rows by their boards, and this one has another.
            if is_get && name.starts_with("row") {
                continue;
            }
            let done = scratch.run(call);
            assert_eq!(done.status, 1, "{name} {call:?}");
            assert!(
                done.err.contains(if is_get { "record 0" } else { "damaged: " }),
                "{}",
                done.err
            );
        }
        // All records but the damaged one.
        let others = if name.starts_with("row") { "199\n" } else { "0\n" };
        assert_eq!(scratch.run(&["count", "a.epb"]).out, others);
    }
}

/// Files come back in the folders that not all of them share, and nothing that is there is replaced
/// without being asked.
#[test]
fn verbatim_files_come_back_in_their_folders() {
    let scratch = Scratch::new();
    for (name, id) in [("x/a.epd", 1), ("y/a.epd", 2), ("y/z/b.epd", 3)] {
        std::fs::create_dir_all(scratch.path(name).parent().unwrap()).unwrap();
        scratch.write(name, format!("{LINE} # {id}\n"));
    }
    let out = |name: &str| scratch.text(&format!("out/{name}"));
    let unpack = |more: &[&str]| {
        let call = [&["unpack", "a.epa", "--verbatim", "-o", "out"], more].concat();
        scratch.run(&call)
    };
    let absolute = scratch.path("y/../x/a.epd").display().to_string();
    for files in [["x/a.epd", "y/a.epd", "y/z/b.epd"], [&absolute, "./y//a.epd", "x/../y/z/b.epd"]]
    {
        scratch.run(&[&["pack", "--verbatim", "-o", "a.epa"], &files[..]].concat());
        let done = unpack(&[]);
        assert_eq!(done.status, 0, "{}", done.err);
        for name in ["x/a.epd", "y/a.epd", "y/z/b.epd"] {
            assert_eq!(out(name), scratch.text(name));
        }
        std::fs::remove_dir_all(scratch.path("out/x")).unwrap();
        scratch.write("out/y/z/b.epd", "another");
        let done = unpack(&[]);
        assert_eq!(done.status, 2);
        assert!(done.err.contains("a.epd already exists: --force"), "{}", done.err);
        assert!(!scratch.path("out/x").exists(), "nothing is written");
        assert_eq!((unpack(&["--force"]).status, out("y/z/b.epd")), (0, scratch.text("y/z/b.epd")));
        std::fs::remove_dir_all(scratch.path("out")).unwrap();
    }
    // Shared folders are left out, and a single file has only its name.
    scratch.run(&["pack", "--force", "--verbatim", "-o", "a.epa", "y/a.epd", "y/z/b.epd"]);
    assert_eq!(unpack(&[]).status, 0);
    assert_eq!(
        (out("a.epd"), out("z/b.epd")),
        (scratch.text("y/a.epd"), scratch.text("y/z/b.epd"))
    );
    scratch.run(&["pack", "--force", "--verbatim", "-o", "a.epa", "y/z/b.epd"]);
    scratch.write("there.epd", "another");
    let one = ["unpack", "a.epa", "--verbatim", "-o", "there.epd"];
    assert_eq!((scratch.run(&one).status, scratch.text("there.epd").as_str()), (2, "another"));
    assert_eq!(scratch.run(&[&one[..], &["--force"]].concat()).status, 0);
    assert_eq!(scratch.text("there.epd"), scratch.text("y/z/b.epd"));
}

/// PGN is text: its bytes are kept, and its records are the positions.
#[test]
fn games_are_packed_verbatim() {
    let games = "\u{feff}% an escape\r\n[Event \"?\"]\r\n\r\n1. e4 {one\r\ntwo} e5 (1... c5) *\r\n\r\n\
                 ; between\n[White \"A\"]\n\n1. Qh5 *\n\n[Black \"B\"]\n\n*\n\n1. d4 1/2-1/2\n behind";
    for (name, more) in
        [("a.pgn", &[][..]), ("a.pgn", &["--positions=final"]), ("-", &["--from", "pgn"])]
    {
        let scratch = Scratch::with("a.pgn", games);
        let pack = [&["pack", "--verbatim", "-o", "a.epa", name], more].concat();
        assert_eq!(scratch.run_with(&pack, games).status, 0);
        let back = scratch.run(&["unpack", "a.epa", "--verbatim"]);
        assert_eq!(back.out, games, "{more:?}");
        let positions = [&["convert", "a.pgn", "b.epd"], more].concat();
        scratch.run(&positions);
        assert_eq!(scratch.run(&["unpack", "a.epa"]).out, scratch.text("b.epd"));
        assert_eq!(scratch.run(&["verify", "a.epa"]).status, 0);
    }
    for games in ["1. e4 *\n\0\0\n", "1. e4 *\n\u{1a}", "1. e4 *\n\n% behind\n", "\n \n", "% alone"]
    {
        let scratch = Scratch::with("a.pgn", games);
        assert_eq!(scratch.run(&["pack", "--verbatim", "-o", "a.epa", "a.pgn"]).status, 0);
        let back = scratch.run(&["unpack", "a.epa", "--verbatim"]);
        assert_eq!(back.out, games);
    }
    let scratch = Scratch::with("a.epd", LINE);
    scratch.run(&["convert", "a.epd", "a.epb"]);
    let binary =
        scratch.run_with(&["pack", "--verbatim", "-o", "a.epa", "-"], scratch.read("a.epb"));
    assert!(binary.status == 2 && binary.err.contains("is not text"), "{}", binary.err);
}

/// A name must not get at the terminal, nor out of the folder.
#[test]
fn names_that_are_not_plain_are_refused() {
    for name in [
        "a\nb",
        "a\u{1b}[31m",
        "\u{7}",
        "a\u{9b}1m",
        "..",
        ".",
        "",
        "/b",
        "a//b",
        "a/../b",
        "a/.",
        "a\\b",
    ] {
        let scratch = Scratch::with("a.epa", named([name, "b.epd"]));
        let done = scratch.run(&["unpack", "a.epa", "--verbatim", "-o", "folder"]);
        assert_eq!(done.status, 2, "{name:?}");
        assert!(done.err.contains("not a safe relative path"), "{}", done.err);
        assert!(!done.err.trim_end().contains(|sign: char| sign.is_control()), "{:?}", done.err);
        assert!(!scratch.path("folder/b.epd").exists());
    }
}

/// Many files of one name are written at once, each under a name of its own.
#[test]
fn many_files_of_one_name_are_unpacked() {
    let scratch = Scratch::with("a.epa", named(std::iter::repeat_n("a.epd", 2000)));
    let done = scratch.run(&["unpack", "a.epa", "--verbatim", "-o", "folder"]);
    assert_eq!(done.status, 0, "{}", done.err);
    assert_eq!(std::fs::read_dir(scratch.path("folder")).unwrap().count(), 2000);
    assert!(scratch.path("folder/a.epd").exists() && scratch.path("folder/2000-a.epd").exists());
}

/// A pipe in place of a file would block, and a link would be written through.
#[cfg(unix)]
#[test]
fn special_files_are_not_replaced() {
    let scratch = Scratch::with("a.epa", named(["a.epd", "b.epd"]));
    scratch.write("target", "before");
    std::fs::create_dir(scratch.path("folder")).unwrap();
    let place = scratch.path("folder/b.epd");
    let made = std::process::Command::new("mkfifo").arg(&place).status().unwrap();
    assert!(made.success());
    let refused = |text: &str| {
        let done = scratch.run(&["unpack", "a.epa", "--verbatim", "-o", "folder"]);
        assert_eq!(done.status, 2);
        assert!(done.err.contains(text) && done.err.contains("b.epd"), "{}", done.err);
    };
    refused("not a file");
    std::fs::remove_file(&place).unwrap();
    std::os::unix::fs::symlink(scratch.path("target"), &place).unwrap();
    refused("not a file");
    assert_eq!(scratch.text("target"), "before");
    std::fs::remove_file(&place).unwrap();
    scratch.write("a.epa", named(["a.epd", "b.epd/c.epd"]));
    std::os::unix::fs::symlink(scratch.path("."), &place).unwrap();
    refused("not a folder");
    assert!(!scratch.path("c.epd").exists());
}

/// An archive of 2 KB whose model has 320,000 nodes. One that takes more memory than there may
/// be is not damaged, and not read.
#[test]
fn archives_that_take_more_memory_than_is_allowed_are_refused() {
    let scratch = Scratch::with("a.epa", include_bytes!("../archive/many_nodes.epa"));
    for command in ["verify", "unpack"] {
        let refused = scratch.run(&[command, "a.epa", "--memory", "64M"]);
        assert_eq!(refused.status, 2, "{command}");
        let text = "a.epa: model 0 needs more memory than allowed; raise the memory limit";
        assert!(refused.err.contains(text), "{}", refused.err);
    }
    let damaged = scratch.run(&["verify", "a.epa", "--memory", "512M"]);
    assert_eq!(damaged.status, 1, "{}", damaged.err);
    let counted = scratch.run(&["count", "a.epa"]);
    assert!(counted.status == 1 && counted.err.contains("damaged"), "{}", counted.err);
}

/// A name that an archive cannot hold is refused, not changed.
#[cfg(unix)]
#[test]
fn names_that_an_archive_cannot_hold_are_refused() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let line = "4k3/8/8/8/8/8/4P3/4K3 w - -\n";
    for name in [&b"a\xff.epd"[..], b"a\\b.epd", b"a\nb.epd"] {
        let scratch = Scratch::with("b.epd", line);
        let name = OsStr::from_bytes(name);
        std::fs::write(scratch.path("").join(name), line).unwrap();
        let run = |args: &[&OsStr]| {
            let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_epdb"));
            command.args(args).current_dir(scratch.path("")).output().unwrap()
        };
        let words = ["pack", "--verbatim", "b.epd", "-o", "a.epa"].map(OsStr::new);
        let done = run(&[&words[..], &[name]].concat());
        let err = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(2), "{err}");
        assert!(err.contains("cannot be named in an archive"), "{err}");
        assert!(!scratch.path("a.epa").exists());
        // Without --verbatim, an archive has no names.
        let words = ["pack", "b.epd", "-o", "a.epa"].map(OsStr::new);
        assert!(run(&[&words[..], &[name]].concat()).status.success());
        // The folders that all files share are not in the archive.
        let folder = scratch.path("").join(name).with_extension("d");
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("c.epd"), line).unwrap();
        let file = folder.join("c.epd");
        let words = ["pack", "--verbatim", "-o", "c.epa"].map(OsStr::new);
        assert!(run(&[&words[..], &[file.as_os_str()]].concat()).status.success());
    }
}

#[test]
fn pack_says_when_sorted_positions_take_more_bytes() {
    let scratch = Scratch::new();
    scratch.write("g.epd", include_str!("../../formats/golden/archive/games.epd"));
    let sorted = scratch.run(&["pack", "g.epd", "-o", "g.epa", "--sorted"]);
    assert!(sorted.err.contains("g.epa: larger than unsorted: about "), "{}", sorted.err);
    let given = scratch.run(&["pack", "g.epd", "-o", "h.epa"]);
    assert!(!given.err.contains("larger"), "{}", given.err);
    assert!(scratch.read("g.epa").len() > scratch.read("h.epa").len());
}
