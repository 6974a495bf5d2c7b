//! Openings of games.

use std::fs;

use epdb_referee::{Opening, OpeningOrder, OpeningsSource, openings};

use tempfile::TempDir;

/// A file with this text as a source of openings.
fn source(folder: &TempDir, name: &str, text: &str) -> OpeningsSource {
    let file = folder.path().join(name);
    fs::write(&file, text).unwrap();
    OpeningsSource { file, order: OpeningOrder::Sequential, plies: None, first: 1 }
}

fn labels(openings: &[Opening]) -> Vec<&str> {
    openings.iter().map(|opening| opening.label.as_deref().unwrap_or("-")).collect()
}

const POSITIONS: &str = "\
rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - id \"a\";
rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - fmvn 7; hmvc 3; id \"b\";
rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR w KQkq - id \"c\";
4k3/8/8/8/8/8/4P3/4K3 w - - 0 1
";

const GAMES: &str = "\
[Event \"x\"]\n[Opening \"Spanish\"]\n\n1. e4 e5 2. Nf3 Nc6 3. Bb5 *\n\n[Event \"x\"]\n\n1. d4 (1. c4) d5 *\n";

#[test]
fn records_give_their_position_and_counters() {
    let folder = TempDir::new().unwrap();
    let all = source(&folder, "book.epd", POSITIONS);
    let read = openings::read(&all, 0, 100).unwrap();
    assert_eq!(labels(&read), ["a", "b", "c", "-"]);
    assert_eq!(read[0], Opening { label: Some("a".into()), ..Opening::ARRAY });
    let counters = read[1].start.counters;
    assert_eq!((counters.halfmove_clock, counters.fullmove_number), (3, 7));
    assert_eq!(labels(&openings::read(&all, 0, 2).unwrap()), ["a", "b"]);
    let third = OpeningsSource { first: 3, ..all.clone() };
    assert_eq!(labels(&openings::read(&third, 0, 100).unwrap()), ["c", "-"]);
    let behind = OpeningsSource { first: 5, ..all };
    let error = openings::read(&behind, 0, 100).unwrap_err().to_string();
    assert!(error.ends_with("book.epd: expected an opening number 5, there are 4"), "{error}");
}

#[test]
fn games_give_their_first_moves() {
    let folder = TempDir::new().unwrap();
    let all = source(&folder, "book.pgn", GAMES);
    let moves = |plies| {
        let source = OpeningsSource { plies, ..all.clone() };
        let read = openings::read(&source, 0, 100).unwrap();
        read.iter().map(|opening| opening.moves.len()).collect::<Vec<_>>()
    };
    assert_eq!((moves(None), moves(Some(3)), moves(Some(0))), (vec![5, 2], vec![3, 2], vec![0, 0]));
    assert_eq!(labels(&openings::read(&all, 0, 9).unwrap()), ["Spanish", "-"]);
}

#[test]
fn a_random_order_is_that_of_the_seed_whatever_is_wanted() {
    let folder = TempDir::new().unwrap();
    let line = |number| format!("4k3/8/8/8/8/8/4P3/4K3 w - - id \"{number}\";\n");
    let text: String = (0..20_000).map(line).collect();
    let random =
        OpeningsSource { order: OpeningOrder::Random, ..source(&folder, "book.epd", &text) };
    let all = openings::read(&random, 7, 20_000).unwrap();
    let mut sorted: Vec<u32> = labels(&all).iter().map(|label| label.parse().unwrap()).collect();
    assert_ne!(sorted[..3], [0, 1, 2]);
    assert_eq!(openings::read(&random, 7, 10).unwrap(), all[..10]);
    let from_third = OpeningsSource { first: 3, ..random.clone() };
    assert_eq!(openings::read(&from_third, 7, 3000).unwrap(), all[2..3002]);
    assert_ne!(openings::read(&random, 8, 10).unwrap(), all[..10]);
    sorted.sort_unstable();
    assert_eq!(sorted, (0..20_000).collect::<Vec<_>>());
}

#[test]
fn invalid_openings_are_reported_with_the_line() {
    let folder = TempDir::new().unwrap();
    for line in ["8/8/8/8/8/8/8/8 w - -", "7k/5QQ1/8/8/8/8/8/4K3 b - -"] {
        let bad = source(&folder, "book.epd", &format!("{line}\n{POSITIONS}"));
        let mut left_out = Vec::new();
        let read = openings::read_with(&bad, 0, 100, &mut |why| left_out.push(why.to_string()));
        assert_eq!(labels(&read.unwrap()), ["a", "b", "c", "-"], "{line}");
        let [why] = &left_out[..] else { panic!("{left_out:?}") };
        assert!(why.contains("book.epd:1: nobody can move where this opening ends"), "{why}");
    }
    let bad = source(&folder, "book.epd", &format!("{POSITIONS}nonsense\n"));
    let error = openings::read(&bad, 0, 100).unwrap_err().to_string();
    assert!(error.contains("book.epd:5:"), "{error}");
    // The openings of the example that the help shows.
    let file = format!("{}/tests/samples/openings.epd", env!("CARGO_MANIFEST_DIR"));
    for seed in [1, 7, 1995] {
        let order = OpeningOrder::Random;
        let samples =
            OpeningsSource { file: file.clone().into(), order, plies: Some(16), first: 1 };
        assert!(openings::read(&samples, seed, 24).unwrap().len() > 1);
    }
    let nothing = source(&folder, "empty.epd", "");
    let error = openings::read(&nothing, 0, 1).unwrap_err().to_string();
    assert!(
        error.contains("no opening: the file is empty, or none of its positions can be reached"),
        "{error}"
    );
}
