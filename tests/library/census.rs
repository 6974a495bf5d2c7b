//! The census of a real book; skipped without the file.

use crate::shared_data::shared_data;
use epdb_library::census::{Census, Unique};

/// Superfluous en passant squares hide 531 duplicates in this book (fishtest
/// #2286), and nothing else does.
#[test]
fn uho_4060_v2_hides_531_duplicates() {
    let Some(book) = shared_data("books/UHO_4060_v2.epd") else { return };
    let book = std::fs::read(book).unwrap();
    let mut tallies = [64 << 20, 1 << 20].map(|memory| {
        let mut census = Census::new(std::env::temp_dir(), memory);
        for line in book.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
            census.add(&epdb_chess::parse_epd(line).unwrap()).unwrap();
        }
        census.finish().unwrap()
    });
    let [in_memory, through_a_file] = &mut tallies;
    assert_eq!(in_memory, through_a_file);
    assert_eq!(in_memory.records, 242_201);
    assert_eq!(in_memory.unique.hidden_by_en_passant(), 531);
    assert_eq!(
        in_memory.unique,
        Unique {
            with_counters: 242_201,
            without_counters: 242_201,
            positions: 241_670,
            without_en_passant: 241_623,
            boards_and_sides: 241_623,
            boards: 241_623,
        }
    );
}
