//! Games that positions of an archive list.

use super::*;
use crate::samples::samples;
use epdb_chess::codec::kept_game;
use epdb_chess::model::{GameBuilder, GameId};

pub(super) fn game(nth: usize) -> Vec<u8> {
    let mut builder = GameBuilder::new();
    builder.set_tag("Round", &nth.to_string()).unwrap();
    builder.set_tag("Event", &"so it is, ".repeat(nth % 50)).unwrap();
    let mut bytes = Vec::new();
    kept_game::encode(builder.game(), &mut bytes).unwrap();
    bytes
}

fn archive_of<'a>(games: impl IntoIterator<Item = &'a Vec<u8>>) -> Vec<u8> {
    let mut writer = ArchiveWriter::new(Vec::new(), PackOptions::default()).unwrap();
    records(LINES).iter().for_each(|record| writer.push(record).unwrap());
    games.into_iter().for_each(|game| writer.keep_game(game).unwrap());
    writer.finish().unwrap()
}

#[test]
fn games_are_found_by_their_ids_in_any_number_of_blocks() {
    for count in [1, 2, 300, 3000] {
        let mut games: Vec<Vec<u8>> = (0..count).map(game).collect();
        let bytes = archive_of(games.iter().chain(games.iter().rev().take(20)));
        assert_eq!(bytes, archive_of(games.iter().rev()), "their order makes no difference");
        let archive = Archive::from_bytes(bytes).unwrap();
        archive.verify().unwrap();
        assert_eq!(archive.kept_game_count().unwrap(), count as u64);
        for game in &games {
            let id = kept_game::id_of(game);
            assert_eq!(archive.kept_game(id).unwrap().as_ref(), Some(game));
            for wrong in [id.0[0].wrapping_add(1), id.0[0].wrapping_sub(1)] {
                let id = GameId([wrong, 0, 0, 0, 0, 0, 0, 0]);
                assert_eq!(archive.kept_game(id).unwrap(), None);
            }
        }
        let mut all = Vec::new();
        let visit = &mut |id, game: &[u8]| {
            assert_eq!(kept_game::id_of(game), id);
            all.push(game.to_vec());
            Ok::<(), ArchiveError>(())
        };
        archive.each_kept_game(visit).unwrap();
        games.sort_by_key(|game| kept_game::id_of(game));
        assert!(all == games, "{count}");
    }
}

#[test]
fn an_archive_without_games_has_no_section_of_them() {
    let archive = Archive::from_bytes(archive_of([])).unwrap();
    assert!(archive.parts().iter().all(|part| part.name != "kept games"));
    assert_eq!(archive.kept_game_count().unwrap(), 0);
    assert_eq!(archive.kept_game(GameId::default()).unwrap(), None);
}

#[test]
fn an_invalid_game_is_damage() {
    let archive = Archive::from_bytes(archive_of([&b"none".to_vec()])).unwrap();
    assert!(matches!(archive.verify(), Err(ArchiveError::Corrupt { part: "kept games", .. })));
}

/// A block that takes more than is allowed is refused, not unpacked.
#[test]
fn a_game_larger_than_memory_is_refused() {
    let mut builder = GameBuilder::new();
    builder.set_tag("Event", &"x".repeat(17 << 20)).unwrap();
    let mut bytes = Vec::new();
    kept_game::encode(builder.game(), &mut bytes).unwrap();
    let archive = Archive::from_bytes(archive_of([&bytes])).unwrap();
    let id = kept_game::id_of(&bytes);
    assert!(archive.kept_game(id).unwrap().is_some());
    let archive = archive.memory_bytes(16 << 20);
    assert!(matches!(archive.kept_game(id), Err(ArchiveError::MemoryExceeded { .. })));
}

/// The golden archive has the golden games.
#[test]
fn golden_games_are_read() {
    let case = samples("archive").valid.into_iter().find(|case| case.name.contains("kept games"));
    let archive = Archive::from_bytes(case.unwrap().bytes()).unwrap();
    let games = samples("kept_games").valid;
    assert_eq!(archive.kept_game_count().unwrap(), games.len() as u64);
    for game in games {
        let kept = archive.kept_game(game.key.parse().unwrap()).unwrap();
        assert_eq!(kept, Some(game.bytes()), "{}", game.name);
    }
}
