//! Writes every position of the games on standard input as an EPD line:
//! `cargo run --example positions_of_games < games.pgn`.

use std::io::{self, BufWriter, Write};

use epdb::text::FormatOptions;
use epdb::text::epd;
use epdb::text::pgn::{GameReader, PgnReadOptions, PositionOptions, positions};

fn main() -> io::Result<()> {
    let mut reader = GameReader::new(io::stdin().lock(), PgnReadOptions::default());
    let mut out = BufWriter::new(io::stdout().lock());
    let options = PositionOptions { names: true, ..Default::default() };
    let mut line = Vec::new();
    while let Some(read) = reader.next_game()? {
        let game = match read.game {
            Ok(game) => game,
            Err(error) => {
                eprintln!("game {}: {error}", read.number);
                continue;
            }
        };
        for record in positions(game, &options) {
            line.clear();
            epd::format(&record, &FormatOptions::default(), &mut line);
            line.push(b'\n');
            out.write_all(&line)?;
        }
    }
    out.flush()
}
