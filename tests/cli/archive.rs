//! The commands on archives: what they refuse, what they leave alone, what they do not decode.

use crate::scratch::Scratch;
use epdb::archive::{Archive, ArchiveWriter, PackOptions};

const LINE: &str = "4k3/8/8/8/8/8/4P3/4K3 w - - bm e4;";

/// A verbatim archive of empty files with these names.
fn named<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<u8> {
    let options = PackOptions::new().verbatim(true);
    let mut writer = ArchiveWriter::new(Vec::new(), options).unwrap();
    names.into_iter().for_each(|name| writer.begin_file(name).unwrap());
    writer.finish().unwrap()
}

/// C-D7: nothing is lost, so nothing is wrong; what is no record is still said.
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

/// D-W1: the number of records stands in the file; no block is looked at for it.
#[test]
fn counting_an_archive_decodes_nothing() {
    let scratch = Scratch::with("a.epd", format!("{LINE}\n").repeat(3));
    scratch.run(&["pack", "a.epd", "-o", "a.epa"]);
    let mut bytes = scratch.read("a.epa");
    let parts = Archive::from_bytes(bytes.clone()).unwrap().parts();
    let blocks = parts.iter().find(|part| part.name == "blocks").unwrap();
    bytes[blocks.offset as usize + 3] ^= 1;
    scratch.write("b.epa", bytes);
    for name in ["a.epa", "b.epa"] {
        assert_eq!(scratch.run(&["count", name]).out, "3\n", "{name}");
    }
    assert_eq!(scratch.run(&["count", "a.epa", "a.epd", "a.epa"]).out, "9\n");
    assert_eq!(scratch.run(&["count", "b.epa", "--where", "pieces > 0"]).status, 2);
    assert_eq!(scratch.run(&["verify", "b.epa"]).status, 1);
}

/// A-D8: a name must not get at the terminal, nor out of the folder.
#[test]
fn names_that_are_not_plain_are_refused() {
    for name in ["a\nb", "a\u{1b}[31m", "\u{7}", "a\u{9b}1m", "..", "."] {
        let scratch = Scratch::with("a.epa", named([name, "b.epd"]));
        let done = scratch.run(&["unpack", "a.epa", "--verbatim", "-o", "folder"]);
        assert_eq!(done.status, 2, "{name:?}");
        assert!(done.err.contains("no plain name"), "{}", done.err);
        assert!(!done.err.trim_end().contains(|sign: char| sign.is_control()), "{:?}", done.err);
        assert!(!scratch.path("folder/b.epd").exists());
    }
}

/// A-D8: many files of one name are written at once, each under a name of its own.
#[test]
fn many_files_of_one_name_are_unpacked() {
    let scratch = Scratch::with("a.epa", named(std::iter::repeat_n("a.epd", 2000)));
    let done = scratch.run(&["unpack", "a.epa", "--verbatim", "-o", "folder"]);
    assert_eq!(done.status, 0, "{}", done.err);
    assert_eq!(std::fs::read_dir(scratch.path("folder")).unwrap().count(), 2000);
    assert!(scratch.path("folder/a.epd").exists() && scratch.path("folder/2000-a.epd").exists());
}

/// A-D8: a pipe that stands where a file belongs would be waited for, a link be written through.
#[cfg(unix)]
#[test]
fn what_is_no_file_stays_as_it_is() {
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
    refused("no file");
    std::fs::remove_file(&place).unwrap();
    std::os::unix::fs::symlink(scratch.path("target"), &place).unwrap();
    refused("no file");
    assert_eq!(scratch.text("target"), "before");
}

/// D-W1: an archive of 2 KB whose model has 320,000 nodes. One that takes more memory than there may
/// be is not damaged, and not read.
#[test]
fn archives_that_take_more_memory_than_is_allowed_are_refused() {
    let scratch = Scratch::with("a.epa", include_bytes!("../archive/many_nodes.epa"));
    for command in ["verify", "unpack"] {
        let refused = scratch.run(&[command, "a.epa", "--memory", "64M"]);
        assert_eq!(refused.status, 2, "{command}");
        let text = "a.epa: model 0 takes more memory than is allowed: allow more";
        assert!(refused.err.contains(text), "{}", refused.err);
    }
    let damaged = scratch.run(&["verify", "a.epa", "--memory", "512M"]);
    assert_eq!(damaged.status, 1, "{}", damaged.err);
    assert_eq!(scratch.run(&["count", "a.epa"]).out, "714\n");
}
