//! Games: PGN and PGC, their vectors, hostile input, and other people's files.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod blocks;
mod comments;
mod found;
mod hostile;
mod null_moves;
mod odd_moves;
mod pgc;
mod pgn;
#[path = "../support/samples.rs"]
mod samples;
mod seeds;
#[path = "../support/shared_data.rs"]
mod shared_data;
mod shared_files;
mod signs;
#[path = "../support/skipped.rs"]
mod skipped;
mod spelling;
mod tag_values;

use epdb_chess::model::Game;
use epdb_chess::text::pgn::{self as text, Charset, GameReader, PgnFormatOptions, PgnReadOptions};

/// Undoes the escapes of the vector files: `\\`, `\t`, `\n`, `\r`, `\xNN` (one byte).
fn unescape(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        out.push(match bytes.next().unwrap() {
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'x' => {
                let hex = [bytes.next().unwrap(), bytes.next().unwrap()];
                u8::from_str_radix(std::str::from_utf8(&hex).unwrap(), 16).unwrap()
            }
            other => other,
        });
    }
    out
}

/// The first game of a text, which must be a good one.
fn read_game(text: &[u8]) -> Game {
    let mut reader = GameReader::new(text, PgnReadOptions::default());
    reader.next_game().unwrap().unwrap().game.unwrap().clone()
}

/// The export format of a game, `%` lines kept.
fn export(game: &Game, charset: Charset) -> Vec<u8> {
    let mut out = Vec::new();
    let options = PgnFormatOptions { charset, escapes: true, ..Default::default() };
    text::format(game, &options, &mut out).unwrap();
    out
}
