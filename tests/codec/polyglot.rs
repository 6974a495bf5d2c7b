//! Opening books of Polyglot: arbitrary bytes, and books of other programs.

use epdb_chess::codec::key::polyglot_key;
use epdb_chess::codec::polyglot::{Book, BookError, BookMove, Disorder, ENTRY_LEN, Entry, Writer};
use epdb_chess::model::rules::Playable;
use epdb_chess::text::san;
use proptest::prelude::*;

use crate::positions::{fen, playouts, rows};
use crate::shared_data::{shared_data, shared_files};

fn entry(key: u64, mv: &str, weight: u16) -> Entry {
    Entry {
        key,
        mv: BookMove::from(mv.parse::<epdb_chess::model::rules::Move>().unwrap()),
        weight,
        learn: 0,
    }
}

fn bytes(entries: &[Entry]) -> Vec<u8> {
    entries.iter().flat_map(Entry::to_bytes).collect()
}

#[test]
fn unordered_entries_are_sorted_and_reported() {
    let file = [
        entry(5, "e2e4", 1),
        entry(3, "d2d4", 1),
        entry(9, "c2c4", 1),
        entry(3, "g1f3", 2),
        entry(9, "b2b3", 2),
    ];
    let book = Book::read(&bytes(&file)[..]).unwrap();
    assert_eq!(book.entries(), [file[1], file[3], file[0], file[2], file[4]]);
    assert_eq!(book.disorder(), Some(Disorder { count: 2, first: 16 }));
    assert_eq!(book.entries_of(3), [file[1], file[3]]);
    assert_eq!(book.entries_of(4), []);
    assert_eq!(book.positions().map(<[Entry]>::len).collect::<Vec<_>>(), [2, 1, 2]);
    let sorted = Book::read(&bytes(book.entries())[..]).unwrap();
    assert_eq!((sorted.entries(), sorted.disorder()), (book.entries(), None));
}

#[test]
fn a_writer_takes_ascending_keys_only() {
    let mut writer = Writer::new(Vec::new());
    writer.write(&entry(7, "e2e4", 1)).unwrap();
    writer.write(&entry(7, "d2d4", 9)).unwrap();
    let error = writer.write(&entry(6, "e2e4", 1)).unwrap_err();
    assert!(error.to_string().contains("0000000000000006"), "{error}");
    assert_eq!((writer.entries(), writer.finish().unwrap().len()), (2, 2 * ENTRY_LEN));
}

/// A reader of no length, and one that breaks off.
#[test]
fn errors_of_the_input_are_no_verdict_about_the_book() {
    struct Broken;
    impl std::io::Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("the disk is gone"))
        }
    }
    let error = Book::read(Broken).unwrap_err();
    assert!(matches!(error, BookError::Io(_)) && error.to_string().contains("the disk is gone"));
    // An endless file is refused at its first invalid entry.
    let error = Book::read(std::io::repeat(0xff)).unwrap_err();
    assert!(matches!(error, BookError::NoBook { offset: 8, .. }), "{error}");
}

proptest! {
    #[test]
    fn any_bytes_are_a_book_or_refused(
        mut bytes in prop::collection::vec(any::<u8>(), 0..400),
        moves in prop::collection::vec(0usize..5, 25),
    ) {
        // Moves that a piece can make, mostly: else nothing gets beyond the first entry.
        let plausible = [[0x03, 0x1c], [0x02, 0xdb], [0, 0], [0x01, 0x07], [0xff, 0xff]];
        for (entry, mv) in bytes.chunks_mut(ENTRY_LEN).zip(moves) {
            if let Some(place) = entry.get_mut(8..10) {
                place.copy_from_slice(&plausible[mv]);
            }
        }
        match Book::read(&bytes[..]) {
            Ok(book) => {
                prop_assert_eq!(book.entries().len() * ENTRY_LEN, bytes.len());
                prop_assert!(book.entries().is_sorted_by_key(|entry| entry.key));
                let mut writer = Writer::new(Vec::new());
                book.entries().iter().try_for_each(|entry| writer.write(entry)).unwrap();
                prop_assert_eq!(book.disorder().is_none(), writer.finish().unwrap() == bytes);
            }
            Err(BookError::NoBook { offset, .. }) => prop_assert!(offset < bytes.len() as u64),
            Err(error) => prop_assert!(false, "{}", error),
        }
    }

    #[test]
    fn every_legal_move_has_bits_that_mean_it(positions in playouts()) {
        for position in positions {
            let playable = Playable::new(&position).unwrap();
            for mv in playable.legal_moves() {
                prop_assert_eq!(BookMove::from(mv).legal_in(&playable), Some(mv));
            }
        }
    }
}

/// Expected values of the tests of python-chess for its two books.
#[test]
fn the_books_of_a_peer_say_what_the_peer_reads() {
    let mut checked = 0;
    for row in rows("peer_cases.tsv") {
        let Some(name) = row[0].strip_prefix("polyglot_book(") else { continue };
        let place =
            format!("bin/niklasf+python-chess/data/polyglot/{}", name.trim_end_matches(')'));
        let Some(path) = shared_data(&place) else { return };
        let book = Book::read(&std::fs::read(path).unwrap()[..]).unwrap();
        let position = fen(&row[1]);
        let playable = Playable::new(&position).unwrap();
        let entries = book.entries_of(polyglot_key(&position));
        let moves: Vec<_> =
            entries.iter().map(|entry| entry.mv.legal_in(&playable).unwrap()).collect();
        let sans: Vec<String> =
            moves.iter().map(|&mv| san::format(&playable, mv).to_string()).collect();
        match row[2].as_str() {
            "3 entries: O-O O-O-O h3" => assert_eq!(sans, ["O-O", "O-O-O", "h3"]),
            "1 entry: O-O-O" => assert_eq!(sans, ["O-O-O"]),
            "e1a1 (not castling)" => assert_eq!(moves[0].to_string(), "e1a1"),
            "fxg1=N+" => assert_eq!(sans, ["fxg1=N+"]),
            "first entry e2e4; last c2c4; next-best d2d4" => {
                assert_eq!((sans[0].as_str(), sans[1].as_str()), ("e4", "d4"));
                assert!(sans.contains(&"c4".to_string()), "{sans:?}");
            }
            other => panic!("{other}"),
        }
        checked += 1;
    }
    assert!(checked >= 5);
}

#[test]
fn the_books_of_other_people_come_back_byte_for_byte() {
    for path in shared_files("bin") {
        let bytes = std::fs::read(&path).unwrap();
        let read = Book::read(&bytes[..]);
        if path.to_string_lossy().contains("gnuchess") {
            let error = read.unwrap_err().to_string();
            assert!(error.starts_with("byte 38672: this is no Polyglot book: "), "{error}");
            continue;
        }
        let book = read.unwrap();
        let mut writer = Writer::new(Vec::new());
        book.entries().iter().try_for_each(|entry| writer.write(entry)).unwrap();
        assert_eq!(writer.finish().unwrap(), bytes, "{}", path.display());
        let weights =
            |pair: &[Entry]| pair[0].key < pair[1].key || pair[0].weight >= pair[1].weight;
        assert!(book.entries().windows(2).all(weights), "{}", path.display());
    }
}
