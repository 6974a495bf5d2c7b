//! Other people's games, if the files are available.

use std::fs;
use std::path::PathBuf;

use crate::shared_data::{shared_data, shared_files};
use epdb_chess::codec::pgc::{self, PgcEncodeOptions, PgcReader};
use epdb_chess::text::pgn::{self as text, Charset, GameReader, PgnFormatOptions, PgnReadOptions};

fn export(game: &epdb_chess::model::Game) -> Vec<u8> {
    let mut out = Vec::new();
    text::format(game, &PgnFormatOptions::default(), &mut out).unwrap();
    out
}

/// Every game is converted or reported; PGN to PGC with comments and back is PGN to PGN;
/// canonical PGC to PGN and back is what it was; an export is its own export.
#[test]
fn games_go_round() {
    if shared_data("pgn").is_none() {
        return;
    }
    let is_pgn = |file: &PathBuf| file.extension().is_some_and(|suffix| suffix == "pgn");
    let files = shared_files("pgn").into_iter().filter(is_pgn);
    let options = PgcEncodeOptions::EXTENDED;
    let (mut games, mut refused, mut unsaid) = (0, 0, 0);
    let mut codes = std::collections::BTreeMap::new();
    for path in files {
        let bytes = fs::read(&path).unwrap();
        let mut reader = GameReader::new(&bytes[..], PgnReadOptions::default());
        let mut raw = Vec::new();
        while let Some(read) = reader.next_game().unwrap() {
            raw.extend_from_slice(read.raw);
            for warning in read.warnings {
                *codes.entry(warning.diagnostic.code).or_insert(0) += 1;
            }
            games += 1;
            let game = match read.game {
                Ok(game) => game,
                Err(error) => {
                    assert!(error.line > 0 && error.diagnostic.column > 0);
                    *codes.entry(error.diagnostic.code).or_insert(0) += 1;
                    println!("{}:{error}", path.display());
                    refused += 1;
                    continue;
                }
            };
            let exported = export(game);
            let again = super::read_game(&super::export(game, Charset::Utf8));
            assert!(&again == game, "{}:{}", path.display(), read.line);
            assert_eq!(export(&again), exported);

            let mut pgc = Vec::new();
            if let Err(error) = pgc::encode(game, &options, &mut pgc) {
                println!("{}:{}: {error}", path.display(), read.line);
                *codes.entry(error.code()).or_insert(0) += 1;
                unsaid += 1;
                continue;
            }
            let mut decoder = PgcReader::new(&pgc[..], usize::MAX);
            let read = decoder.next_game().unwrap().unwrap();
            let decoded = read.game.unwrap();
            assert_eq!(export(decoded), exported);
            let mut back = Vec::new();
            pgc::encode(&super::read_game(&export(decoded)), &options, &mut back).unwrap();
            assert!(back == pgc, "{}", path.display());
            assert!(decoder.next_game().unwrap().is_none());
        }
        assert!(bytes.starts_with(&raw), "{}", path.display());
        let rest = &bytes[raw.len()..];
        assert!(rest.iter().all(u8::is_ascii_whitespace) || rest.starts_with(b"%"));
    }
    println!("{games} games, {refused} refused, {unsaid} not in PGC; {codes:?}");
    assert!(games > 10_000 && refused < games / 100);
}

/// Rows of `peer_cases.tsv` that speak of files.
#[test]
fn files_of_peers() {
    let Some(directory) = shared_data("pgn/niklasf+python-chess/data/pgn") else { return };
    for (name, wanted) in [("utf8-bom.pgn", 2), ("uci-moves.pgn", 1)] {
        let bytes = fs::read(directory.join(name)).unwrap();
        let mut reader = GameReader::new(&bytes[..], PgnReadOptions::default());
        let mut games = 0;
        while let Some(read) = reader.next_game().unwrap() {
            assert!(read.game.is_ok());
            assert!(read.warnings.is_empty());
            games += 1;
        }
        assert_eq!(games, wanted, "{name}");
    }
}
