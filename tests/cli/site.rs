//! Sites: what is written, what becomes public, what stays and what is refused.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::scratch::{Done, Scratch};

const GAMES: &str = "[Event \"Cup\"]\n[Site \"Secret Street 5\"]\n[Date \"1992.11.04\"]\n[White \"Ann, A\"]\n[Black \"Eve\"]\n\
[WhiteElo \"2400\"]\n[Result \"1-0\"]\n\n1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 4. Ba4 Nf6 5. O-O 1-0\n\n\
[Event \"Cup\"]\n[Site \"Secret Street 7\"]\n[Date \"1992.11.05\"]\n[White \"Bob\"]\n[Black \"Dan\"]\n[Result \"0-1\"]\n\n\
1. Nf3 e5 2. e4 Nc6 3. Bc4 Bc5 4. c3 Nf6 0-1\n\n";
const MORE: &str = "[Event \"Later\"]\n[White \"Cy\"]\n[Date \"2020.05.??\"]\n[Result \"1/2-1/2\"]\n\n\
1. e4 c5 2. Nf3 d6 3. d4 cxd4 4. Nxd4 1/2-1/2\n\n";
const SUITE: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - bm e4; ce 20;\n";

/// What every site has to say.
const ABOUT: [&str; 4] = ["--about", "source=our club", "--about", "licence=CC0-1.0"];

/// Sources of all kinds.
fn sources() -> Scratch {
    let scratch = Scratch::with("games.pgn", GAMES);
    scratch.write("more.pgn", MORE);
    scratch.write("suite.epd", SUITE);
    let tally = ["tally", "games.pgn", "--keep-games", "3", "-o"];
    for args in [
        &[&tally[..], &["library.epa"]].concat()[..],
        &[&tally[..], &["library.epdb"]].concat(),
        &["shard", "merge", "library.epa", "--shards", "3", "-o", "shards"],
        &["import", "day.epdb", "more.pgn", "--tally", "--base", "library.epa"],
    ] {
        done(&scratch, args);
    }
    scratch
}

fn done(scratch: &Scratch, args: &[&str]) -> Done {
    let done = scratch.run(args);
    assert_eq!(done.status, 0, "{args:?}: {}", done.err);
    done
}

fn site(scratch: &Scratch, args: &[&str]) -> Done {
    done(scratch, &[&["site"], args, &ABOUT].concat())
}

/// All files below a folder, by their paths in it.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let place = entry.unwrap().path();
        let name = place.file_name().unwrap().to_str().unwrap().to_string();
        if place.is_dir() {
            all.extend(
                files(&place).into_iter().map(|(file, text)| (format!("{name}/{file}"), text)),
            );
        } else {
            all.insert(name, fs::read(&place).unwrap());
        }
    }
    all
}

/// The only library of a site: a manifest or an archive.
fn library(scratch: &Scratch, folder: &str) -> String {
    let all = files(&scratch.path(folder));
    let manifest = all.keys().find(|file| file.ends_with("manifest.json"));
    let archives: Vec<&String> = all.keys().filter(|file| file.ends_with(".epa")).collect();
    let file = manifest.unwrap_or_else(|| {
        assert_eq!(archives.len(), 1);
        archives[0]
    });
    format!("{folder}/{file}")
}

#[test]
fn any_source_is_published_and_the_same_bytes_each_time() {
    let scratch = sources();
    for (source, records, games) in [
        ("games.pgn", 16, 2),
        ("library.epa", 16, 2),
        ("library.epdb", 16, 2),
        ("shards/manifest.json", 16, 2),
        ("library.epa+day.epdb", 22, 3),
        ("suite.epd", 1, 0),
    ] {
        let named = format!("x={source}");
        let said = site(&scratch, &[&named, "-o", "one"]).err;
        let all = files(&scratch.path("one"));
        let listed: Vec<&str> = std::str::from_utf8(&all["files.txt"]).unwrap().lines().collect();
        assert_eq!(listed, all.keys().collect::<Vec<_>>(), "{source}");
        assert!(said.contains(&format!("one: {} files, ", all.len())), "{said}");
        assert!(all.contains_key(".nojekyll"));
        let library = library(&scratch, "one");
        let start = if source.contains('+') { "one/data/x/manifest.json" } else { "one/data/x/x-" };
        assert!(library.starts_with(start), "{library}");
        assert_eq!(
            done(&scratch, &["count", &library]).out.trim(),
            records.to_string(),
            "{source}"
        );
        let stats = done(&scratch, &["stats", &library]).out;
        assert!(games == 0 || said.contains(&format!("results of {games} games")), "{said}");
        assert!(stats.contains("CC0-1.0"), "{stats}");
    }
    // Again into the same folder, and into another one.
    let publish = |folder| site(&scratch, &["x=library.epa+day.epdb", "y=suite.epd", "-o", folder]);
    publish("one");
    let all = files(&scratch.path("one"));
    publish("one");
    publish("other");
    assert!(all == files(&scratch.path("one")) && all == files(&scratch.path("other")));
}

/// A base and one or two deltas become a manifest with young layers, which answers like one library of all games.
#[test]
fn a_site_grows_by_its_young_layers() {
    let scratch = sources();
    let game = "[Event \"Last\"]\n[White \"Di\"]\n[Result \"0-1\"]\n\n1. e4 e5 2. Nf3 Nf6 0-1\n\n";
    scratch.write("last.pgn", game);
    let whole = ["library.epa", "library.epa+day.epdb", "library.epa+day.epdb+today.epdb"];
    // All facts of the games stay, so their ids do.
    let tags = "Event,Site,Date,White,Black,WhiteElo,Result";
    let publish = |source: &str| {
        site(&scratch, &[&format!("x={source}"), "-o", "public", "--digests", "--tags", tags])
    };
    let mut before = BTreeMap::new();
    for (layers, source) in whole.into_iter().enumerate() {
        if layers == 2 {
            let base = "library.epa+day.epdb";
            done(&scratch, &["import", "today.epdb", "last.pgn", "--tally", "--base", base]);
        }
        publish(source);
        let all = files(&scratch.path("public"));
        let changed: Vec<&str> = all
            .iter()
            .filter(|(file, bytes)| before.get(*file) != Some(*bytes))
            .map(|(file, _)| file.as_str())
            .filter(|file| file.ends_with(".epa"))
            .collect();
        match layers {
            // The base is cut into shards when there is a delta.
            0 | 1 => assert!(!changed.is_empty()),
            _ => {
                assert_eq!(changed.len(), 1, "{changed:?}");
                a_base_is_written_again_only_if_it_must_be(&scratch, &publish, source);
            }
        }
        let listed = library(&scratch, "public");
        for args in [
            &["count"][..],
            &["explore", "--json", "--depth", "3"],
            &["export"],
            &["search", "--where", "ply > 0", "--json"],
            &["table", "--columns", "fen"],
        ] {
            let said = |source: &str| {
                let mut args = args.to_vec();
                args.insert(1, source);
                done(&scratch, &args).out.replace(source, "SOURCE")
            };
            let mut lines = [said(&listed), said(source)]
                .map(|text| text.lines().map(ToString::to_string).collect::<Vec<_>>());
            lines.iter_mut().for_each(|lines| lines.sort());
            assert_eq!(lines[0], lines[1], "{source}: {args:?}");
        }
        if layers > 0 {
            let list = done(&scratch, &["shard", "list", &listed]).out;
            assert_eq!(list.matches("young layer").count(), layers, "{list}");
            done(&scratch, &["shard", "verify", &listed]);
            // A flipped bit in a layer is found, and a layer that is missing is named.
            let file = all.keys().rfind(|file| file.contains("/young-")).unwrap();
            let place = scratch.path("public").join(file);
            let mut bytes = fs::read(&place).unwrap();
            bytes[40] ^= 1;
            fs::write(&place, &bytes).unwrap();
            assert_eq!(scratch.run(&["shard", "verify", &listed]).status, 1);
            fs::remove_file(&place).unwrap();
            let missing = scratch.run(&["explore", &listed]);
            assert!(missing.status != 0 && missing.err.contains("young-"), "{}", missing.err);
            publish(source);
            assert!(files(&scratch.path("public")) == all);
        }
        before = all;
    }
}

/// The files of a base stay untouched as long as they are whole, and the base and the settings are the same.
fn a_base_is_written_again_only_if_it_must_be(
    scratch: &Scratch,
    publish: &dyn Fn(&str) -> Done,
    source: &str,
) {
    let all = files(&scratch.path("public"));
    let shard = all.keys().find(|file| file.contains("-of-")).unwrap();
    let place = scratch.path("public").join(shard);
    let written = || fs::metadata(&place).unwrap().modified().unwrap();
    let (before, said) = (written(), publish(source).err);
    assert_eq!(written(), before);
    let mut bytes = fs::read(&place).unwrap();
    bytes[40] ^= 1;
    fs::write(&place, &bytes).unwrap();
    assert_eq!(publish(source).err, said);
    assert!(files(&scratch.path("public")) == all);
    let initials = ["x=library.epa+day.epdb+today.epdb", "-o", "public", "--names", "initials"];
    let said = site(scratch, &initials).err;
    assert!(said.contains("names of players"), "{said}");
    publish(source);
    assert!(files(&scratch.path("public")) == all);
}

#[test]
fn games_keep_the_facts_that_are_chosen() {
    let scratch = sources();
    for (options, players, kept, tags) in [
        (&[][..], "4 names", "\"Ann, A\"", 5),
        (&["--names", "initials"], "4 names", "\"A. A.\"", 5),
        (&["--names", "none"], "no names", "\"?\"", 3),
        (&["--tags", "Event,Site"], "no names", "\"Secret Street 5\"", 2),
    ] {
        let args = [&["library.epa", "-o", "public"], options].concat();
        let said = site(&scratch, &args).err;
        assert!(said.contains(players), "{said}");
        let all = files(&scratch.path("public"));
        let library = library(&scratch, "public");
        let pgn =
            done(&scratch, &["search", &library, "e4", "e5", "Nf3", "Nc6", "Bb5", "-o", "x.pgn"]);
        let game = scratch.text("x.pgn");
        assert!(game.contains(kept), "{options:?}: {game}{}", pgn.err);
        let known =
            game.lines().filter(|line| line.starts_with('[') && !line.contains("\"?")).count();
        // The result is that of the moves, and a date that is not known has its own sign.
        assert!(known >= tags && known <= tags + 2, "{options:?}: {game}");
        let secret =
            all.values().any(|bytes| String::from_utf8_lossy(bytes).contains("Secret Street"));
        assert!(!secret || options.contains(&"Event,Site"));
        // Nothing says which games were counted.
        let stats = done(&scratch, &["stats", &library]).out;
        assert!(stats.contains("it has no digests of its games"), "{options:?}: {stats}");
    }
}

#[test]
fn a_new_site_in_the_folder_replaces_what_changed() {
    let scratch = sources();
    site(&scratch, &["library.epa", "suite.epd", "-o", "public"]);
    let before = files(&scratch.path("public"));
    scratch.write("public/notes.md", "mine");
    let said = site(&scratch, &["library.epa", "suite=games.pgn", "-o", "public"]).err;
    assert!(said.contains("1 file of the earlier site removed"), "{said}");
    let after = files(&scratch.path("public"));
    let is_new = |file: &&String| !before.contains_key(*file);
    let new: Vec<&String> = after.keys().filter(is_new).collect();
    assert!(new.len() == 2 && new[0].starts_with("data/suite/suite-"), "{new:?}");
    assert_eq!(new[1], "notes.md");
    let changed = |file: &&String| after[*file] != before[*file];
    let kept = after.keys().filter(|file| before.contains_key(*file));
    assert_eq!(kept.filter(changed).collect::<Vec<_>>(), ["files.txt", "index.html"]);
}

#[test]
fn one_page_has_all_that_it_needs() {
    let scratch = sources();
    site(&scratch, &["library.epa", "suite.epd", "-o", "club.html"]);
    let page = scratch.text("club.html");
    for needed in ["id=\"library-0\"", "id=\"library-1\"", "id=\"wasm\"", "sha256-", "CC0-1.0"] {
        assert!(page.contains(needed), "{needed}");
    }
    for missing in ["<script type=\"module", "href=\"assets", "import {"] {
        assert!(!page.contains(missing), "{missing}");
    }
    site(&scratch, &["library.epa", "suite.epd", "-o", "again.html"]);
    assert!(page == scratch.text("again.html"));
}

/// `verify` reads the libraries of a site, and takes no other file of it for a damaged one.
#[test]
fn a_site_is_verified() {
    let scratch = sources();
    site(&scratch, &["games.pgn", "suite.epd", "-o", "public"]);
    let verified = scratch.run(&["verify", "public"]);
    assert_eq!(verified.status, 0, "{}{}", verified.out, verified.err);
    assert_eq!(verified.out.matches(": no damage found").count(), 2, "{}", verified.out);
}

#[test]
fn what_cannot_be_published_is_refused() {
    let scratch = sources();
    fs::create_dir(scratch.path("mine")).unwrap();
    scratch.write("mine/thesis.txt", "years");
    scratch.write("comments.epd", "# no records\n");
    for (args, why) in [
        (
            &["games.pgn", "-o", "x"][..],
            "the page has to show the source and the licence of the data: give --about source=",
        ),
        (
            &["games.pgn", "-o", "x", "--about", "source=a"],
            "show the licence of the data: give --about licence=",
        ),
        (
            &[&["games.pgn", "-o", "mine"], &ABOUT[..]].concat(),
            "mine has files, but not those of a site",
        ),
        (
            &[&["a=games.pgn", "a=suite.epd", "-o", "x"], &ABOUT[..]].concat(),
            "two sources are named a",
        ),
        (&[&["none.epa", "-o", "x"], &ABOUT[..]].concat(), "none.epa"),
        (
            &[&["comments.epd", "-o", "x"], &ABOUT[..]].concat(),
            "comments.epd: it has no records: there is nothing to publish",
        ),
        (&["-o", "x"], "required arguments were not provided"),
    ] {
        let done = scratch.run(&[&["site"], args].concat());
        assert_eq!(done.status, 2, "{args:?}: {}", done.err);
        assert!(done.err.contains(why), "{args:?}: {}", done.err);
        assert!(!scratch.path("x/index.html").exists(), "{args:?}");
    }
    assert_eq!(scratch.text("mine/thesis.txt"), "years");
}

#[test]
fn the_demo_is_a_library_that_can_be_published() {
    let scratch = Scratch::new();
    let shown = done(&scratch, &["demo"]).out;
    assert!(shown.contains("e4") && shown.contains("epdb serve demo.epa"), "{shown}");
    assert_eq!(done(&scratch, &["demo"]).out, shown);
    assert!(scratch.read("demo.epa").len() <= 2 << 20);
    done(&scratch, &["verify", "demo.epa"]);
    // It says itself where its games come from.
    done(&scratch, &["site", "demo.epa", "-o", "public"]);
    scratch.write("demo.epa", scratch.read("public/files.txt"));
    done(&scratch, &["demo"]);
    done(&scratch, &["tally", "-o", "demo.epa", "--force"]);
    assert_eq!(scratch.run(&["demo"]).status, 2);
}
