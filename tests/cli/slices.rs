//! Slices of files: read separately and merged, they give what one reading of the files gives.

use std::collections::BTreeMap;
use std::io::Write;

use epdb_chess::codec::tally_origin::TallyLedger;
use epdb_library::tally::decide_copies;

use crate::scratch::Scratch;

const START: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -";

const LINES: [&str; 6] = [
    "1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 4. Ba4 Nf6 5. O-O Be7 6. Re1 b5 7. Bb3 d6 8. c3 O-O 9. h3 Nb8 10. d4 Nbd7",
    "1. d4 d5 2. c4 e6 3. Nc3 Nf6 4. Bg5 Be7 5. e3 O-O 6. Nf3 h6 7. Bh4 b6 8. cxd5 Nxd5 9. Bxe7 Qxe7 10. Nxd5 exd5",
    "1. e4 c5 2. Nf3 d6 3. d4 cxd4 4. Nxd4 Nf6 5. Nc3 a6 6. Be2 e5 7. Nb3 Be7 8. O-O O-O 9. Be3 Be6 10. f4 exf4",
    "1. e4 c6 2. d4 d5",
    "1. c4 e5 2. g3 {a comment with\n\n [Event \"inside\"]\n\n} Nf6 (2... d5 3. cxd5) 3. Bg2",
    "1. Nf3 d5 2. g3",
];

/// Games, many of which have copies far away, with other ratings. Some copies go by an id.
fn games(from: usize, to: usize) -> String {
    let game = |nth: usize| {
        // The numbers of copies differ by multiples of 100.
        let same = nth % 700 % 100;
        let elo = match nth % 3 {
            0 => String::new(),
            1 => format!("[WhiteElo \"{}\"]\n", 1500 + nth % 1000),
            _ => format!("[WhiteElo \"{}\"]\n[BlackElo \"2000\"]\n", 1200 + nth % 1300),
        };
        let id = match same % 10 {
            3 => format!("[GameId \"abcdef{:02}\"]\n", same),
            4 => format!("[GameId \"game {same}\"]\n"),
            _ => String::new(),
        };
        let line = LINES[(same + usize::from(same % 10 == 3) * nth) % LINES.len()];
        let own = if nth.is_multiple_of(5) { nth } else { same };
        let result = ["1-0", "0-1", "1/2-1/2", "*"][same % 4];
        format!(
            "[Event \"{nth}\"]\n[White \"W{same}\"]\n[Black \"B{}\"]\n[Date \"{}.01.{:02}\"]\n\
             [Result \"{result}\"]\n[TimeControl \"{}+0\"]\n{elo}{id}\n{line} {result}\n\n",
            own / 100,
            1990 + own / 30,
            1 + same % 28,
            60 + nth % 4 * 200,
        )
    };
    (from..to).map(game).collect()
}

/// Frames as pzstd writes them.
fn by_pzstd(text: &[u8], size: usize) -> Vec<u8> {
    let frame = |text: &[u8]| {
        let data = zstd::encode_all(text, 1).unwrap();
        let len = u32::try_from(data.len()).unwrap().to_le_bytes();
        [b"\x50\x2a\x4d\x18\x04\0\0\0", &len[..], &data].concat()
    };
    text.chunks(size).flat_map(frame).collect()
}

fn by_gzip(text: &[u8]) -> Vec<u8> {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(text).unwrap();
    gzip.finish().unwrap()
}

const FILES: [&str; 3] = ["a.pgn", "b.pgn.zst", "c.pgn.gz"];

fn collection() -> Scratch {
    let scratch = Scratch::with("a.pgn", games(0, 900));
    scratch.write("b.pgn.zst", by_pzstd(games(900, 2500).as_bytes(), 7000));
    scratch.write("c.pgn.gz", by_gzip(games(2500, 2800).as_bytes()));
    scratch
}

#[track_caller]
fn done(scratch: &Scratch, line: &str) -> String {
    let args: Vec<&str> = line.split(' ').collect();
    let done = scratch.run(&args);
    assert_eq!(done.status, 0, "{line}: {}", done.err);
    done.out
}

#[track_caller]
fn refused(scratch: &Scratch, line: &str, message: &str) {
    let args: Vec<&str> = line.split(' ').collect();
    let done = scratch.run(&args);
    assert_eq!((done.status, done.out.as_str()), (2, ""), "{line}: {}", done.err);
    assert!(done.err.contains(message), "{line}: {}", done.err);
}

/// The games and the counts of each file.
fn ledger(scratch: &Scratch, name: &str) -> TallyLedger {
    let mut ledger = epdb_source::tally_ledger(scratch.path(name)).unwrap().unwrap();
    let mut sums: BTreeMap<String, [u64; 3]> = BTreeMap::new();
    for source in &ledger.origin.sources {
        let sum = sums.entry(source.name.clone()).or_default();
        for (sum, count) in sum.iter_mut().zip([source.games, source.duplicates, source.left_out]) {
            *sum += count;
        }
    }
    ledger.origin.sources.truncate(sums.len());
    for (source, (name, [games, duplicates, left_out])) in
        ledger.origin.sources.iter_mut().zip(sums)
    {
        (source.games, source.duplicates, source.left_out) = (games, duplicates, left_out);
        source.name = name;
    }
    ledger
}

/// Tallies each slice, in an order that is not theirs and some of them twice, and adds them.
fn tally_slices(scratch: &Scratch, slices: usize, options: &str, sum: &str) {
    done(
        scratch,
        &format!("shard plan {} --slices {slices} -o plan.json --force", FILES.join(" ")),
    );
    let each = |visit: &dyn Fn(&str)| {
        (0..slices).for_each(|nth| visit(&format!("{}/{slices}", slices - nth)));
        visit(&format!("1/{slices}"));
    };
    let file = |slice: &str, end: &str| slice.replace('/', "of") + end;
    each(&|slice| {
        let list = file(slice, ".games");
        let line = format!("shard games --plan plan.json --slice {slice} -o {list} --force");
        done(scratch, &format!("{line}{options}"));
    });
    let names = |end: &str| {
        let names = (0..slices).map(|nth| file(&format!("{}/{slices}", slices - nth), end));
        names.collect::<Vec<_>>().join(" ")
    };
    done(scratch, &format!("shard copies {} -o copies --force", names(".games")));
    each(&|slice| {
        let run = file(slice, ".epa");
        let line =
            format!("tally --plan plan.json --slice {slice} --copies copies -o {run} --force");
        done(scratch, &format!("{line}{options}"));
    });
    done(scratch, &format!("union {} -o {sum} --force", names(".epa")));
}

/// The records of a library, sorted.
fn records(scratch: &Scratch, name: &str) -> Vec<String> {
    let mut lines: Vec<String> =
        done(scratch, &format!("export {name}")).lines().map(String::from).collect();
    lines.sort();
    lines
}

/// The games that a library keeps.
fn kept_games(scratch: &Scratch, name: &str) -> Vec<Vec<u8>> {
    let mut games = Vec::new();
    let keep = &mut |_, game: &[u8]| {
        games.push(game.to_vec());
        Ok(())
    };
    epdb_source::each_kept_game(scratch.path(name), keep).unwrap();
    games
}

#[test]
fn slices_of_games_add_up_to_one_tally() {
    let scratch = collection();
    for options in
        ["", " --by year,speed,rating --keep-games 3 --max-ply 12", " --same-game players"]
    {
        done(&scratch, &format!("tally {} -o whole.epa --force{options}", FILES.join(" ")));
        let whole = records(&scratch, "whole.epa");
        let own = ledger(&scratch, "whole.epa");
        let counts = own.origin.sources.iter().fold((0, 0), |(games, copies), source| {
            (games + source.games, copies + source.duplicates)
        });
        assert!(counts.0 > 400 && counts.1 > 400, "{counts:?}");
        for slices in [1, 3, 16] {
            tally_slices(&scratch, slices, options, "sum.epa");
            assert!(records(&scratch, "sum.epa") == whole, "{slices}{options}");
            assert_eq!(ledger(&scratch, "sum.epa"), own, "{slices}{options}");
            if slices == 3 {
                let runs = "3of3.epa 1of3.epa 2of3.epa";
                done(&scratch, &format!("shard merge {runs} --shards 5 -o shards --force"));
                assert!(records(&scratch, "shards/manifest.json") == whole, "{options}");
                assert_eq!(ledger(&scratch, "shards/manifest.json"), own, "{options}");
            }
        }
        if options.contains("keep") {
            let games = kept_games(&scratch, "whole.epa");
            assert!(games.len() > 30, "{}", games.len());
            assert!(kept_games(&scratch, "sum.epa") == games);
        }
    }
}

#[test]
fn slices_of_lines_are_all_lines() {
    let evaluation = |nth: usize| {
        format!(
            "{{\"fen\":\"{START}\",\"evals\":[{{\"pvs\":[{{\"cp\":{nth},\"line\":\"e2e4\"}}],\"knodes\":1,\"depth\":{nth}}}]}}\n"
        )
    };
    let puzzle = |nth: usize| {
        let line = "q3k1nr/1pp1nQpp/3p4/1P2p3/4P3/B1PP1b2/B5PP/5K2 b k - 0 17,e8d7 a2e6 d7d8 f7f8";
        format!(
            "{nth:05},{line},1760,80,83,72,mate mateIn2,https://lichess.org/yyznGmXs/black#34,\n"
        )
    };
    let header =
        "PuzzleId,FEN,Moves,Rating,RatingDeviation,Popularity,NbPlays,Themes,GameUrl,OpeningTags\n";
    let lines = |line: &dyn Fn(usize) -> String| (0..3000).map(line).collect::<String>();
    let puzzles = format!("{header}{}", lines(&puzzle));
    let files: [(&str, Vec<u8>); 5] = [
        ("a.epd", lines(&|nth| format!("{START} id \"{nth}\";\r\n")).into()),
        ("b.epd.zst", by_pzstd(lines(&|nth| format!("{START} c0 \"{nth}\";\n")).as_bytes(), 5000)),
        ("c.jsonl", lines(&evaluation).into()),
        ("d.csv.zst", by_pzstd(puzzles.as_bytes(), 20_000)),
        ("e.epd.gz", by_gzip(lines(&|nth| format!("{START} c1 \"{nth}\";\n")).as_bytes())),
    ];
    let scratch = Scratch::new();
    files.iter().for_each(|(name, content)| scratch.write(name, content));
    let names = files.map(|(name, _)| name).join(" ");
    done(&scratch, &format!("pack {names} -o whole.epa"));
    let whole = records(&scratch, "whole.epa");
    assert_eq!(whole.len(), 15_000);
    done(&scratch, &format!("shard plan {names} --slices 16 -o plan.json"));
    let mut all = Vec::new();
    for slice in 1..=16 {
        done(&scratch, &format!("pack --plan plan.json --slice {slice}/16 -o s.epa --force"));
        let slice = records(&scratch, "s.epa");
        // A file of gzip is in one slice as a whole.
        assert!(slice.len() < 9000, "{}", slice.len());
        all.extend(slice);
    }
    all.sort();
    assert!(all == whole);
}

#[test]
fn messages_of_slices_name_the_lines_of_the_file() {
    let mut text = games(0, 1300).into_bytes();
    let place = text.len();
    text.extend_from_slice(b"[Event \"bad\"]\n\n1. e5 *\n\n");
    text.extend_from_slice(games(1300, 1430).as_bytes());
    let line = 3 + text[..place].iter().filter(|byte| **byte == b'\n').count();
    for (name, content) in [("a.pgn", text.clone()), ("a.pgn.zst", by_pzstd(&text, 3000))] {
        let scratch = Scratch::with(name, content);
        done(&scratch, &format!("shard plan {name} --slices 5 -o plan.json"));
        let mut errors = String::new();
        for slice in 1..=5 {
            let args = format!(
                "tally --plan plan.json --slice {slice}/5 --keep-duplicates -o {slice}.epa"
            );
            errors += &scratch.run(&args.split(' ').collect::<Vec<_>>()).err;
        }
        let found: Vec<&str> = errors.lines().filter(|line| line.contains(": error[")).collect();
        assert_eq!(found.len(), 1, "{errors}");
        assert!(
            found[0].starts_with(&format!("{name}:{line}:4: error[E-MOVE-ILLEGAL]")),
            "{found:?}"
        );
        assert!(!scratch.text("plan.json").contains("    []"), "{}", scratch.text("plan.json"));
    }
}

#[test]
fn what_cannot_be_sliced_is_refused() {
    let scratch = collection();
    done(&scratch, "shard plan a.pgn b.pgn.zst --slices 4 -o plan.json");
    refused(&scratch, "tally --plan plan.json --slice 1/4 -o x.epa", "--unique-games");
    let all = "tally --plan plan.json --slice 1/4 --unique-games --keep-duplicates -o x.epa";
    refused(&scratch, all, "--keep-duplicates counts every copy");
    refused(&scratch, "tally a.pgn --unique-games -o x.epa", "--plan");
    refused(
        &scratch,
        "tally --plan plan.json --slice 1/3 -o x.epa",
        "plan.json has 4 slices, not 3",
    );
    refused(&scratch, "tally --plan plan.json --slice 5/4 -o x.epa", "numbered from 1 to 4");
    refused(&scratch, "tally --plan plan.json --slice 1/4 --unique-games -o x.epdb", "suffix .epa");
    refused(&scratch, "tally a.pgn --plan plan.json --slice 1/4 -o x.epa", "cannot be used with");
    refused(
        &scratch,
        "pack --plan plan.json --slice 1/4 --labels -o x.epa",
        "--labels joins lines",
    );
    refused(
        &scratch,
        "pack --plan plan.json --slice 1/4 --verbatim -o x.epa",
        "cannot be used with",
    );
    refused(&scratch, "shard plan - --slices 4 -o other.json", "standard input cannot be cut");
    let cut_off = scratch.read("b.pgn.zst");
    scratch.write("cut.pgn.zst", &cut_off[..cut_off.len() - 100]);
    let message = "cannot read cut.pgn.zst: the zstd data are damaged or cut off";
    refused(&scratch, "shard plan cut.pgn.zst --slices 4000 -o other.json", message);
    scratch.write("w.pgn", "[White \"A\"]\n\n1. e4 e5 *\n\n".repeat(100));
    refused(
        &scratch,
        "shard plan w.pgn --slices 4 -o other.json",
        "no line that begins with `[Event `",
    );
    done(&scratch, "shard plan w.pgn --slices 1 -o other.json");
    done(&scratch, "tally --plan plan.json --slice 2/4 --unique-games -o x.epa");
    let origin = ledger(&scratch, "x.epa").origin;
    assert_eq!(origin.settings.to_string(), "--same-game auto --unique-games");
    refused(&scratch, "shard plan x.epa --slices 2 -o other2.json", "epdb shard merge");

    done(&scratch, "shard games --plan plan.json --slice 1/4 -o 1.games");
    refused(&scratch, "shard copies 1.games -o copies", "slices 2, 3, 4 of 4");
    refused(&scratch, "shard copies 1.games 1.games -o copies", "slice 1 is there already");
    refused(&scratch, "shard copies plan.json -o copies", "not a list of games");
    done(&scratch, "shard games --plan other.json --slice 1/1 -o w.games");
    done(&scratch, "shard copies w.games -o w.copies");
    let tally = "tally --plan plan.json --slice 1/4 -o y.epa --copies w.copies";
    refused(&scratch, tally, "another plan of slices");
    let tally = "tally --plan other.json --slice 1/1 -o y.epa --copies w.copies";
    refused(&scratch, &format!("{tally} --max-ply 3"), "give the same options");
    done(&scratch, tally);
    let list = scratch.read("w.games");
    let cut = scratch.path("cut.games");
    for len in 0..list.len() {
        std::fs::write(&cut, &list[..len]).unwrap();
        let decided =
            decide_copies(std::slice::from_ref(&cut), &std::env::temp_dir(), 1 << 20, Vec::new());
        assert!(decided.is_err(), "{len}");
    }
    refused(&scratch, "shard copies cut.games -o z", "damaged");
    for slices in [0, 1_000_001, u32::MAX] {
        let mut many = list.clone();
        many[44..48].copy_from_slice(&slices.to_le_bytes());
        scratch.write("many.games", many);
        let message = &format!("{slices} slices: 1 to 1000000 are possible");
        refused(&scratch, "shard copies many.games -o z", message);
    }
    let mut damaged = scratch.read("w.copies");
    let middle = damaged.len() - 9;
    damaged[middle] ^= 1;
    scratch.write("w.copies", damaged);
    refused(&scratch, &format!("{tally} --force"), "damaged");

    let mut text = scratch.text("a.pgn");
    text.replace_range(20..21, "x");
    scratch.write("a.pgn", text);
    let tally = "tally --plan plan.json --slice 1/4 --unique-games -o z.epa";
    refused(&scratch, tally, "a.pgn has changed since the plan was made: its content differs");
    refused(&scratch, tally, "slice 1/4, from byte 0 of a.pgn");
    scratch.write("plan.json", "{}");
    refused(&scratch, tally, "not a plan of slices");
}

/// A plan is checked: a cut within a game is an error, not a lost game.
#[test]
fn a_cut_within_a_game_is_an_error() {
    let scratch = Scratch::with("a.pgn", games(0, 100));
    done(&scratch, "shard plan a.pgn --slices 2 -o plan.json");
    let plan = scratch.text("plan.json");
    let length = plan.split("\"length\": ").nth(1).unwrap().split('\n').next().unwrap();
    let length: usize = length.parse().unwrap();
    let text = scratch.text("a.pgn");
    assert!(text[length..].starts_with("[Event "));
    let place = |length: usize| format!("\"length\": {length}\n");
    let begin = |byte: usize| {
        plan.replace(&place(length), &place(byte))
            .replace(&format!(": {length},"), &format!(": {byte},"))
    };
    scratch.write("plan.json", begin(length + 20));
    let tally = "tally --plan plan.json --slice 1/2 --unique-games -o x.epa";
    refused(&scratch, tally, "a slice ends there");
}

/// A sum of slices without one of them lacks its games.
#[test]
fn a_sum_of_slices_needs_all_of_them() {
    let scratch = collection();
    tally_slices(&scratch, 4, "", "sum.epa");
    for slice in 1..5 {
        let [from, to] = [format!("{slice}of4.epa"), format!("{slice}.epa")];
        std::fs::rename(scratch.path(&from), scratch.path(&to)).unwrap();
    }
    let merge =
        |files: &str, more: &str| format!("shard merge {files} --shards 2 -o lib --force{more}");
    for (files, missing) in [
        ("1.epa 2.epa 4.epa", "slice 3 is missing"),
        ("3.epa", "slices 1, 2, 4 are missing"),
        ("4.epa 1.epa", "slices 2, 3 are missing"),
    ] {
        refused(&scratch, &merge(files, ""), missing);
        refused(&scratch, &format!("union {files} -o union.epa"), missing);
        done(&scratch, &merge(files, " --allow-mixed"));
        // The sum says which slices it lacks, in each format.
        refused(&scratch, "union lib/manifest.json -o union.epa", missing);
        done(&scratch, "convert lib/manifest.json some.epdb --force");
        refused(&scratch, "union some.epdb -o union.epa", missing);
    }
    // The missing slices complete it, one by one or together.
    done(&scratch, "import lib.epdb 3.epa 1.epa 4.epa");
    refused(&scratch, "union lib.epdb -o union.epa", "slice 2 is missing");
    done(&scratch, "union lib.epdb 2.epa -o all.epa");
    done(&scratch, "import lib.epdb 2.epa");
    done(&scratch, &merge("4.epa 3.epa 2.epa 1.epa", ""));
    for sum in ["sum.epa", "all.epa", "lib.epdb", "lib/manifest.json"] {
        assert_eq!(ledger(&scratch, sum).origin.slices, [], "{sum}");
        done(&scratch, &format!("union {sum} -o union.epa --force"));
        // A store keeps the records of each import apart.
        if sum != "lib.epdb" {
            assert_eq!(records(&scratch, sum), records(&scratch, "union.epa"), "{sum}");
        }
    }
}
