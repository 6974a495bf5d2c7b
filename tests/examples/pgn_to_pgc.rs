//! Converts games from PGN to PGC and back, and prints the sizes:
//! `cargo run --example pgn_to_pgc < games.pgn`.

use std::io;

use epdb::codec::pgc::{PgcEncodeOptions, PgcReader, encode};
use epdb::text::pgn::{GameReader, PgnFormatOptions, PgnReadOptions, format};

fn main() -> io::Result<()> {
    let mut reader = GameReader::new(io::stdin().lock(), PgnReadOptions::default());
    let options = PgcEncodeOptions::EXTENDED;
    let (mut pgc, mut pgn) = (Vec::new(), Vec::new());
    while let Some(read) = reader.next_game()? {
        let game = match read.game {
            Ok(game) => game,
            Err(error) => {
                eprintln!("game {}: {error}", read.number);
                continue;
            }
        };
        if let Err(error) = encode(game, &options, &mut pgc) {
            eprintln!("game {}: {error}", read.number);
        } else if let Err(error) = format(game, &PgnFormatOptions::default(), &mut pgn) {
            eprintln!("game {}: {error}", read.number);
        }
    }
    let mut decoder = PgcReader::new(&pgc[..], usize::MAX);
    let mut again = Vec::new();
    while let Some(read) = decoder.next_game()? {
        if let Ok(game) = read.game {
            let _ = format(game, &PgnFormatOptions::default(), &mut again);
        }
    }
    println!("{} bytes of PGN are {} bytes of PGC", pgn.len(), pgc.len());
    println!("and come back {}", if again == pgn { "byte for byte" } else { "changed" });
    Ok(())
}
