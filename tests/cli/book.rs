//! Opening books of Polyglot: `book list`, `book merge`, `book info`.

use epdb_chess::codec::key::polyglot_key;
use epdb_chess::codec::polyglot::{Book, BookMove, Entry};
use epdb_chess::model::Position;
use epdb_chess::model::rules::{Move, Playable};
use epdb_chess::text::{Profile, san};

use crate::scratch::Scratch;
use crate::shared_data::shared_files;

const START_FEN: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";

/// The position after these moves.
fn after(moves: &str) -> Playable {
    let start = Playable::new(&Position::START).unwrap();
    moves.split_whitespace().fold(start, |playable, text| {
        let mv = san::parse(&playable, text.as_bytes(), Profile::Lenient).unwrap().mv;
        playable.after(mv)
    })
}

/// An entry: the moves to its position, its move in coordinates, weight.
fn entry(moves: &str, mv: &str, weight: u16) -> Entry {
    let mv = BookMove::from(mv.parse::<Move>().unwrap());
    Entry { key: polyglot_key(after(moves).position()), mv, weight, learn: 0 }
}

fn book(entries: &[Entry]) -> Vec<u8> {
    let book: Book = entries.iter().copied().collect();
    book.entries().iter().flat_map(Entry::to_bytes).collect()
}

/// A book that answers 1. e4 and 1. d4, and knows a position that it does not lead to.
fn small() -> Vec<u8> {
    book(&[
        entry("", "e2e4", 300),
        entry("", "d2d4", 100),
        Entry { learn: 7, ..entry("e4 d5 e5", "f7f5", 1) },
        entry("e4", "d7d5", 2),
        entry("e4 d5 e5 f5", "e5f6", 5),
        entry("Nf3 Nf6 g3 g6 Bg2 Bg7", "e1h1", 9),
    ])
}

#[test]
fn entries_are_listed_with_their_positions() {
    let scratch = Scratch::with("a.bin", small());
    let done = scratch.run(&["book", "list", "a.bin"]);
    let expected = format!(
        "{START_FEN}\n  e4          300    75.00 %\n  d4          100    25.00 %\n\
         rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1\n  d5            2   100.00 %\n\
         rnbqkbnr/ppp1pppp/8/3pP3/8/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1\n  \
         f5            1   100.00 %  learn 7\n\
         rnbqkbnr/ppp1p1pp/8/3pPp2/8/8/PPPP1PPP/RNBQKBNR w KQkq f6 0 1\n  \
         exf6          5   100.00 %\n"
    );
    assert_eq!((&done.out, done.status), (&expected, 0));
    let note = "epdb: a.bin: 1 entry without a known position, not listed; --all lists them\n";
    assert_eq!(done.err, note);
    let denied = scratch.run(&["book", "list", "--deny-warnings", "a.bin"]);
    assert_eq!((denied.out, denied.status), (expected, 1));

    let all = scratch.run(&["book", "list", "--all", "a.bin"]);
    let key = polyglot_key(after("Nf3 Nf6 g3 g6 Bg2 Bg7").position());
    let end = format!("key {key:016x}\n  e1h1          9   100.00 %\n");
    assert!(all.out.ends_with(&end) && all.status == 0, "{}", all.out);

    let white = scratch.run(&["book", "list", "--side", "black", "a.bin", "-q"]);
    assert_eq!(
        (white.out.matches(" b KQkq").count(), white.out.matches(" w KQkq").count()),
        (2, 0)
    );
    assert_eq!(white.err, "");
}

#[test]
fn entries_are_listed_as_tsv_and_json() {
    let scratch = Scratch::with("a.bin", small());
    let tsv = scratch.run(&["book", "list", "--tsv", "--all", "a.bin", "a.bin", "-o", "a.tsv"]);
    assert_eq!((tsv.status, tsv.out.as_str()), (0, ""));
    let tsv = scratch.text("a.tsv");
    let lines: Vec<&str> = tsv.lines().collect();
    assert_eq!(lines.len(), 1 + 2 * 6);
    assert_eq!(lines[0], "book\tkey\tfen\tuci\tsan\tweight\tshare\tlearn");
    let first = format!("a.bin\t463b96181691fc9c\t{START_FEN}\te2e4\te4\t300\t0.7500\t0");
    assert_eq!((lines[1], lines[7]), (first.as_str(), first.as_str()));
    assert!(lines[6].ends_with("\t\te1h1\t\t9\t1.0000\t0"), "{}", lines[6]);

    let json = scratch.run(&["book", "list", "--json", "--all", "a.bin"]).out;
    let rows: Vec<serde_json::Value> =
        json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(
        rows[1],
        serde_json::json!({
            "book": "a.bin", "key": "463b96181691fc9c", "fen": START_FEN, "uci": "d2d4",
            "san": "d4", "weight": 100, "share": 0.25, "learn": 0
        })
    );
    assert_eq!(
        (&rows[5]["fen"], &rows[5]["san"]),
        (&serde_json::Value::Null, &serde_json::Value::Null)
    );
    assert_eq!(scratch.run(&["book", "list", "a.bin", "--tsv", "--json"]).status, 2);
    let wrong = scratch.run(&["book", "list", "a.bin", "-o", "a.epd"]);
    assert!(wrong.err.contains("use another suffix") && wrong.status == 2, "{}", wrong.err);
}

/// A source of any kind says whose the keys are.
#[test]
fn positions_are_found_in_sources() {
    let scratch = Scratch::with("a.bin", small());
    let game = "[Event \"x\"]\n[Result \"*\"]\n\n1. Nf3 Nf6 2. g3 g6 3. Bg2 Bg7 4. d3 *\n";
    scratch.write("a.pgn", game);
    scratch.write("b.epd", "rnbqk2r/ppppppbp/5np1/8/8/5NP1/PPPPPPBP/RNBQK2R w KQkq -\nnonsense\n");
    scratch.run(&["pack", "b.epd", "--allow-rejects", "-o", "b.epa"]);
    for (source, note) in [("a.pgn", "epdb: 8 positions of 1 game\n"), ("b.epa", "")] {
        let done = scratch.run(&["book", "list", "a.bin", "--source", source]);
        assert!(
            done.out.ends_with(" w KQkq - 0 1\n  O-O           9   100.00 %\n"),
            "{}",
            done.out
        );
        assert_eq!((done.status, done.err.as_str()), (0, note), "{source}");
    }
    let done = scratch.run(&["book", "list", "a.bin", "--source", "b.epd"]);
    assert!(done.err.contains("b.epd:2:") && done.status == 1, "{}", done.err);
    let done = scratch.run(&["book", "list", "a.bin", "--source", "a.pgn", "--positions=0..3"]);
    let note = "1 entry without a known position";
    assert!(done.err.contains(note), "the position was not among those that were taken");
}

#[test]
fn odd_entries_are_listed_and_reported() {
    let start = polyglot_key(&Position::START);
    let odd = [
        entry("", "e2e4", 0),
        entry("", "e1g1", 0),
        Entry { key: start, mv: BookMove::NONE, weight: 0, learn: 1 },
        Entry { key: start - 1, ..entry("", "a2a4", 3) },
    ];
    let scratch =
        Scratch::with("odd.bin", odd.iter().flat_map(Entry::to_bytes).collect::<Vec<_>>());
    let done = scratch.run(&["book", "list", "--all", "odd.bin"]);
    let expected = format!(
        "{START_FEN}\n  e4            0     0.00 %\n  e1g1 (illegal)      0     0.00 %\n  \
         0000          0     0.00 %  learn 1\nkey 463b96181691fc9b\n  a2a4          3   100.00 %\n"
    );
    assert_eq!((done.out, done.status), (expected, 0));
    assert_eq!(
        done.err,
        "epdb: odd.bin: 1 entry out of order, the first at byte 48; read by key\n\
         epdb: odd.bin: 1 entry with an illegal move\n\
         epdb: odd.bin: 1 entry without a known position, listed by key\n"
    );
    let info = scratch.run(&["book", "info", "odd.bin", "--json"]);
    let info: serde_json::Value = serde_json::from_str(&info.out).unwrap();
    for (name, count) in [
        ("entries", 4),
        ("positions", 2),
        ("reached_by_book_moves", 1),
        ("unknown_entries", 1),
        ("weight_zero", 3),
        ("largest_weight", 3),
        ("without_move", 1),
        ("illegal", 1),
        ("with_learn", 1),
        ("out_of_order", 1),
    ] {
        assert_eq!(info[name], count, "{name}");
    }
}

#[test]
fn info_counts_what_is_in_books() {
    let scratch = Scratch::with("a.bin", small());
    scratch.write("none.bin", "");
    let done = scratch.run(&["book", "info", "a.bin", "none.bin"]);
    assert_eq!((done.status, done.err.as_str()), (0, ""));
    let (first, second) = done.out.split_once("none.bin:\n").unwrap();
    let row = |page: &str, name: &str| -> u64 {
        let line = page.lines().find(|line| line.trim_start().starts_with(name)).unwrap();
        line.split_whitespace().last().unwrap().parse().unwrap()
    };
    assert!(first.starts_with("a.bin:\nentries "), "{first}");
    for (name, count) in [
        ("entries  ", 6),
        ("positions", 5),
        ("reached by moves of the book", 2),
        ("reached by other moves too", 2),
        ("not reached", 1),
        ("reached, with White to move", 2),
        ("reached, with Black to move", 2),
        ("with learning", 1),
    ] {
        assert_eq!((row(first, name), row(second, name)), (count, 0), "{name}");
    }
}

#[test]
fn of_two_books_weights_are_added_or_the_first_wins() {
    let scratch = Scratch::with("a.bin", small());
    let other = [
        entry("", "d2d4", 300),
        entry("", "c2c4", 50),
        entry("e4", "d7d5", 65_535),
        entry("d4", "d7d5", 4),
    ];
    scratch.write("b.bin", book(&other));
    let done = scratch.run(&["book", "merge", "--first", "a.bin", "b.bin", "-o", "c.bin"]);
    let note = "epdb: 7 entries; 2 positions of several books taken from the first\n";
    assert_eq!((done.status, done.out.as_str(), done.err.as_str()), (0, "", note));
    let mut entries: Vec<Entry> = Book::read(&small()[..]).unwrap().entries().to_vec();
    entries.push(other[3]);
    assert_eq!(scratch.read("c.bin"), book(&entries));
    let notes = "epdb: 8 entries; 2 positions of several books added up\n\
                 epdb: the weights of 1 position were brought down to 65535\n";
    for call in
        [&["--add", "a.bin", "b.bin", "-o", "c.bin"][..], &["a.bin", "b.bin", "-o", "c.bin"]]
    {
        let done = scratch.run(&[&["book", "merge"], call].concat());
        assert_eq!((done.err.as_str(), done.status), (notes, 0));
    }
    let sum = Book::read(&scratch.read("c.bin")[..]).unwrap();
    let weights = |moves: &str| -> Vec<(String, u16)> {
        let entries = sum.entries_of(polyglot_key(after(moves).position()));
        entries.iter().map(|entry| (entry.mv.to_string(), entry.weight)).collect()
    };
    let named = |rows: &[(&str, u16)]| -> Vec<(String, u16)> {
        rows.iter().map(|(name, weight)| (name.to_string(), *weight)).collect()
    };
    assert_eq!(weights(""), named(&[("d2d4", 400), ("e2e4", 300), ("c2c4", 50)]));
    assert_eq!(weights("e4"), named(&[("d7d5", 65_535)]));
    // Three books, onto one of them, through a pipe and compressed.
    let done =
        scratch.run(&["book", "merge", "--first", "b.bin", "a.bin", "c.bin", "-o", "b.bin", "-q"]);
    assert_eq!((done.status, done.err.as_str()), (0, ""));
    assert_eq!(scratch.read("b.bin").len(), 8 * 16 - 16, "e4 of the start array is b's");
    scratch.run(&["book", "merge", "b.bin", "b.bin", "-o", "b.bin.gz"]);
    let piped = scratch.run_with(&["book", "merge", "-", "b.bin.gz", "-o", "d.bin"], small());
    assert_eq!(piped.status, 0, "{}", piped.err);
    assert!(scratch.read("b.bin.gz").starts_with(&[0x1f, 0x8b]));
    for wrong in [
        &["a.bin", "-o", "c.bin"][..],
        &["a.bin", "b.bin"],
        &["a.bin", "b.bin", "--first", "--add", "-o", "c.bin"],
        &["a.bin", "b.bin", "-o", "c.epd"],
    ] {
        let done = scratch.run(&[&["book", "merge"], wrong].concat());
        assert_eq!(done.status, 2, "{wrong:?}");
    }
    assert!(!scratch.names().contains(&"c.epd".to_string()));
}

/// The entries that `polyglot merge-book` of Polyglot 2.0.4 writes for these books, in our order.
#[test]
fn books_are_merged_as_polyglot_merges_them() {
    let learnt = |entry: Entry, learn| Entry { learn, ..entry };
    let first = [learnt(entry("", "e2e4", 30), 1), learnt(entry("", "d2d4", 10), 2)];
    let second = [learnt(entry("", "e2e4", 7), 3), learnt(entry("", "c2c4", 5), 4)];
    let scratch = Scratch::with("a.bin", book(&first));
    scratch.write("b.bin", book(&second));
    let merged = [
        learnt(entry("", "e2e4", 37), 1),
        learnt(entry("", "d2d4", 10), 2),
        learnt(entry("", "c2c4", 5), 4),
    ];
    let done = scratch.run(&["merge-book", "-in1", "a.bin", "-in2", "b.bin", "-out", "c.bin"]);
    assert_eq!((done.status, scratch.read("c.bin")), (0, book(&merged)), "{}", done.err);
}

#[test]
fn a_book_says_which_games_it_counts() {
    let scratch = Scratch::with("g.pgn", "1. e4 e5 *\n\n1. e4 e5 *\n\n1. d4 -- 2. c4 *\n\n");
    let done = scratch.run(&["book", "make", "g.pgn", "-o", "a.bin"]);
    assert!(done.err.contains("epdb: 2 games counted, 1 duplicate; 3 plies"), "{}", done.err);
    assert!(done.err.contains("epdb: 1 game counted up to the first null move"), "{}", done.err);
}

#[test]
fn scores_are_shares_and_percentages() {
    let games = "1. e4 e5 1-0\n\n1. e4 c5 0-1\n\n1. d4 d5 0-1\n\n1. d4 d5 1/2-1/2\n\n";
    let scratch = Scratch::with("g.pgn", games);
    let make = |score: &str| {
        let call = ["book", "make", "g.pgn", "-o", "a.bin", "--min-games", "1", "--max-ply", "1"];
        let done = scratch.run(&[&call[..], &["--min-score", score]].concat());
        let is_empty = done.err.contains("(--min-score)");
        assert_eq!(done.status, i32::from(is_empty), "{score}: {}", done.err);
        if is_empty {
            return 0;
        }
        Book::read(&scratch.read("a.bin")[..]).unwrap().entries().len()
    };
    for (score, moves) in [
        ("0", 2),
        ("0.25", 2),
        ("25%", 2),
        ("0.3", 1),
        ("50%", 1),
        ("0.51", 0),
        ("51%", 0),
        ("1", 0),
    ] {
        assert_eq!(make(score), moves, "{score}");
    }
    let theirs = |score: &str| {
        let call =
            ["make-book", "-pgn", "g.pgn", "-bin", "a.bin", "-max-ply", "1", "-min-game", "1"];
        let done = scratch.run(&[&call[..], &["-min-score", score]].concat());
        (done.status, Book::read(&scratch.read("a.bin")[..]).unwrap().entries().len())
    };
    // A book that would be empty is not written: the one before it stays.
    for (score, expected) in
        [("0", (0, 2)), ("0.5", (0, 2)), ("50", (0, 1)), ("50.1", (1, 1)), ("100", (1, 1))]
    {
        assert_eq!(theirs(score), expected, "{score}");
    }
    for wrong in ["50", "1.01", "-0.1", "100.5%", "-1%", "x", "%", "nan", ""] {
        let call = format!("--min-score={wrong}");
        let done = scratch.run(&["book", "make", "g.pgn", "-o", "w.bin", &call]);
        assert_eq!(done.status, 2, "{wrong}");
        assert!(done.err.contains("a share from 0 to 1"), "{wrong}: {}", done.err);
    }
    assert_eq!(theirs("101").0, 2);
    assert!(!scratch.names().contains(&"w.bin".to_string()));
}

#[test]
fn polyglots_spellings_do_the_same() {
    let scratch = Scratch::with("a.bin", small());
    scratch.write("book.bin", book(&[entry("", "g1f3", 1), entry("c4", "e7e5", 1)]));
    let done = scratch.run(&["merge-book", "-in2", "a.bin", "-in1", "book.bin", "-out", "c.bin"]);
    assert_eq!(done.status, 0, "{}", done.err);
    scratch.run(&["book", "merge", "book.bin", "a.bin", "-o", "d.bin"]);
    assert_eq!(scratch.read("c.bin"), scratch.read("d.bin"));
    assert_eq!(scratch.run(&["-q", "merge-book", "-in1", "a.bin", "-in2", "a.bin"]).err, "");
    scratch.run(&["book", "merge", "a.bin", "a.bin", "-o", "twice.bin"]);
    assert_eq!(scratch.read("out.bin"), scratch.read("twice.bin"));
    let done = scratch.run(&["dump-book", "-bin", "a.bin", "-color", "white", "-out", "a.txt"]);
    assert_eq!((done.status, done.out.as_str()), (0, ""));
    let listed = scratch.run(&["book", "list", "a.bin", "--side", "white"]).out;
    assert_eq!(scratch.text("a.txt"), listed);
    let own = scratch.run(&["dump-book"]).out;
    assert!(own.starts_with(&format!("{START_FEN}\n  Nf3")), "{own}");
    let wrong = scratch.run(&["merge-book", "-in1", "a.bin"]);
    assert_eq!(wrong.status, 2);
    assert!(wrong.err.contains("<BOOK>"), "{}", wrong.err);
}

#[test]
fn invalid_books_are_refused_with_the_place() {
    let whole = small();
    let scratch = Scratch::with("a.bin", &whole);
    let mut hostile = whole.clone();
    hostile[3 * 16 + 8..3 * 16 + 10].copy_from_slice(&[0x70, 0x00]);
    let text = format!("{START_FEN}\n").repeat(16);
    for (name, bytes, place) in [
        ("cut.bin", &whole[..90], "cut.bin: byte 80: this is no Polyglot book: behind 5 entries"),
        ("end.bin", &[&whole[..], b"\n"].concat(), "end.bin: byte 96: this is no Polyglot book: "),
        ("hostile.bin", &hostile, "hostile.bin: byte 56: this is no Polyglot book: entry 4 has"),
        ("text.bin", text.as_bytes(), "text.bin: byte 8: this is no Polyglot book: entry 1 has"),
        ("cut.bin.gz", &whole, "cut.bin.gz is not gzip data, as its name says"),
    ] {
        scratch.write(name, bytes);
        for call in [
            &["book", "list", "a.bin", name][..],
            &["book", "info", name],
            &["book", "merge", name, "a.bin", "-o", "out.bin"],
        ] {
            let done = scratch.run(call);
            let lines = done.err.lines().collect::<Vec<_>>();
            assert!(lines.len() == 1 && done.status == 2, "{call:?}: {}", done.err);
            assert!(lines[0].starts_with(&format!("epdb: error: {place}")), "{}", done.err);
        }
    }
    assert!(!scratch.names().contains(&"out.bin".to_string()));
    let done = scratch.run(&["book", "info", "missing.bin"]);
    assert!(done.err.contains("cannot read missing.bin") && done.status == 2, "{}", done.err);
    // For a book as a source, known positions are shown, and the note says how to find more.
    let done = scratch.run(&["count", "a.bin"]);
    assert!(done.err.contains("`epdb book list`") && done.status == 0, "{}", done.err);
}

#[test]
fn pages_of_its_commands_are_found() {
    let scratch = Scratch::new();
    for command in ["list", "merge", "info"] {
        for call in
            [["help", "book", command], ["book", command, "--help"], ["book", command, "-h"]]
        {
            let page = scratch.run(&call);
            assert_eq!(page.status, 0, "{call:?}");
            let usage = format!("epdb book {command} ");
            assert!(page.out.contains(&usage) && page.out.contains("Example"), "{}", page.out);
            assert!(page.out.lines().count() <= 60, "{}", page.out);
        }
    }
    let list = scratch.run(&["help", "book", "list"]).out;
    assert!(list.contains("--profile") && !list.contains("Reject every line"), "{list}");
    assert_eq!(scratch.run(&["help", "book", "lost"]).status, 2);
    scratch.write("a.bin", small());
    let wrong = scratch.run(&["book", "merge", "a.bin", "a.bin", "-o", "a.epd"]);
    assert!(wrong.err.contains("`epdb help book merge`"), "{}", wrong.err);
    scratch.write("b.epd", "nonsense\n");
    let over = ["book", "list", "a.bin", "--source", "b.epd", "--rejects", "a.bin"];
    let refused = scratch.run(&over);
    assert!(refused.err.contains("would overwrite the input a.bin"), "{}", refused.err);
    assert_eq!(scratch.read("a.bin"), small());
}

/// Every book of other people lists, and merged with itself is itself; other files are refused.
#[test]
fn books_of_other_people() {
    let scratch = Scratch::new();
    let mut books = 0;
    for path in shared_files("bin") {
        let name = path.to_str().unwrap();
        let listed = scratch.run(&["book", "list", "--all", "--tsv", name]);
        if name.contains("gnuchess") {
            assert_eq!((listed.status, listed.out.as_str()), (2, ""));
            assert!(listed.err.contains("byte 38672: this is no Polyglot book"), "{}", listed.err);
            continue;
        }
        let bytes = std::fs::read(&path).unwrap();
        assert_eq!(listed.status, 0, "{name}");
        assert_eq!(listed.out.lines().count(), 1 + bytes.len() / 16, "{name}");
        let merged = scratch.run(&["book", "merge", "--first", name, name, "-o", "merged.bin"]);
        assert_eq!(merged.status, 0, "{name}");
        assert!(scratch.read("merged.bin") == bytes, "{name}");
        assert_eq!(scratch.run(&["book", "info", name]).status, 0, "{name}");
        books += 1;
    }
    assert!(books == 0 || books >= 7, "{books}");
}

/// A repertoire without --repertoire has each move once.
#[test]
fn an_empty_book_replaces_no_good_one() {
    let scratch = Scratch::with("g.pgn", "1. e4 e5 (1... c5) *\n");
    let make = ["book", "make", "g.pgn", "-o", "b.bin"];
    let good = scratch.run(&[&make[..], &["--min-games", "1"]].concat());
    assert!(good.status == 0 && !good.err.contains("left out"), "{}", good.err);
    let before = scratch.read("b.bin");
    let done = scratch.run(&make);
    assert_eq!(done.status, 1, "{}", done.err);
    assert!(done.err.contains("2 moves in fewer than 3 games (--min-games)"), "{}", done.err);
    assert!(done.err.contains("--repertoire takes"), "{}", done.err);
    assert_eq!(scratch.read("b.bin"), before);
    scratch.write("none.bin", "");
    // Neither records nor games without moves are a book.
    scratch.write("p.epd", "4k3/8/8/8/8/8/4P3/4K3 w - - id \"a\";\n");
    scratch.write("p.pgn", "[FEN \"4k3/8/8/8/8/8/4P3/4K3 w - - 0 1\"]\n\n*\n");
    for file in ["p.epd", "p.pgn"] {
        let none = scratch.run(&["book", "make", file, "-o", "b.bin"]);
        let told = "a book consists of moves, and none was played here";
        assert!(none.status == 1 && none.err.contains(told), "{}", none.err);
    }
    let merged = scratch.run(&["book", "merge", "none.bin", "none.bin", "-o", "b.bin"]);
    assert!(merged.status == 1 && merged.err.contains("no book has an entry"), "{}", merged.err);
    let some = scratch.run(&[
        "book",
        "make",
        "g.pgn",
        "g.pgn",
        "g.pgn",
        "-o",
        "b.bin",
        "--keep-duplicates",
    ]);
    assert_eq!((some.status, some.err.contains("left out")), (0, false), "{}", some.err);
}

/// The tree of a book for White goes on after each reply that the book answers, by any order of moves.
#[test]
fn the_tree_of_a_book_for_one_side_has_all_its_moves() {
    let entries = [
        entry("", "e2e4", 1),
        entry("e4 e5", "g1f3", 1),
        entry("e4 c5", "g1f3", 1),
        entry("e4 e5 Nf3 Nc6", "f1b5", 1),
        entry("e4 Nc6", "g1f3", 1),
        entry("a4 a5 h4 h5", "b1c3", 1),
    ];
    let scratch = Scratch::with("w.bin", book(&entries));
    let done = scratch.run(&["convert", "w.bin", "t.pgn", "--tree"]);
    assert_eq!(done.status, 0, "{}", done.err);
    assert!(done.err.contains("1 book entry without a known position"), "{}", done.err);
    let text = scratch.text("t.pgn");
    let tree = "1. e4 c5 {Nf3 1} (1... e5 {Nf3 1} 2. Nf3 Nc6 {Bb5 1} 3. Bb5) (1... Nc6 {Nf3 1} 2. Nf3 e5 \
                {as after 1. e4 e5 2. Nf3 Nc6}) 2. Nf3 *";
    assert!(text.replace('\n', " ").contains(tree), "{text}");
    scratch.run(&["convert", "w.bin", "w.epd"]);
    let lines = scratch.text("w.epd");
    let others = "4k3/8/8/8/8/8/4P3/4K3 w - - bm e4;\n8/8/8/4k3/8/1K6/8/8 b - - pv Kd5;\n";
    scratch.write("w.epd", lines + others);
    let done = scratch.run(&["convert", "w.epd", "t.pgn", "--tree"]);
    for note in [
        "2 positions that moves do not reach from the start left out",
        "1 other operation left out",
    ] {
        assert!(done.err.contains(note), "{}", done.err);
    }
}

/// The heaviest move of a book stays the first one, also by way of text.
#[test]
fn the_heaviest_move_of_a_book_stays_the_main_one() {
    let entries = [entry("", "g1f3", 7), entry("", "a2a4", 2), entry("", "e2e4", 5)];
    let scratch = Scratch::with("w.bin", book(&entries));
    scratch.run(&["convert", "w.bin", "w.epd"]);
    let line = "bm Nf3 a4 e4; c0 \"Nf3 7, a4 2, e4 5\"; pm Nf3;\n";
    assert!(scratch.text("w.epd").ends_with(line), "{}", scratch.text("w.epd"));
    let one = scratch.run(&["convert", "w.bin", "t.pgn", "--tree"]);
    assert_eq!(one.status, 0, "{}", one.err);
    assert!(scratch.text("t.pgn").contains("1. Nf3 (1. a4) (1. e4)"), "{}", scratch.text("t.pgn"));
    let again = ["book", "make", "--repertoire", "w.epd", "--side", "white", "-o", "b.bin"];
    assert_eq!(scratch.run(&again).status, 0);
    let list = scratch.run(&["convert", "b.bin", "-", "--to", "epd"]).out;
    assert!(list.contains("c0 \"Nf3 "), "{list}");
}

#[test]
fn moves_after_a_book_are_for_explore() {
    let scratch = Scratch::with("b.bin", small());
    let refused = scratch.run(&["book", "list", "b.bin", "e4", "d5"]);
    assert_eq!(refused.status, 2);
    assert!(refused.err.contains("use `epdb explore b.bin e4 d5`"), "{}", refused.err);
    let missing = scratch.run(&["book", "list", "b.bin", "other.bin"]);
    assert!(!missing.err.contains("explore"), "{}", missing.err);
}
