//! Makes the data of the archive's format again, into `formats/`:
//!
//! - `cargo run --release --example archive_data -- model` makes `data/shipped.bin`, the position model
//!   that small archives use, out of games that a small player plays against itself from the lines
//!   of `data/openings.txt`. It takes some minutes.
//! - `cargo run --release --example archive_data -- golden` makes the samples of `golden/archive/`, and
//!   the store of `golden/store/`. Between two runs `python3 tests/independent/forge.py` makes the
//!   invalid archives that are coded anew.
//!
//! Nothing else goes in: no file of games, no clock, no random seed but the one in the program.

mod golden;
mod library;
mod player;

use std::error::Error;
use std::path::{Path, PathBuf};

fn main() -> Result<(), Box<dyn Error>> {
    let formats = Path::new(env!("CARGO_MANIFEST_DIR")).join("formats");
    match std::env::args().nth(1).as_deref() {
        Some("model") => make_model(&formats.join("data")),
        Some("golden") => golden::make(&formats.join("golden/archive")),
        _ => Err("say what to make: model or golden".into()),
    }
}

fn make_model(folder: &Path) -> Result<(), Box<dyn Error>> {
    let openings = std::fs::read_to_string(folder.join("openings.txt"))?;
    let records = player::records(&openings)?;
    let model = epdb_archive::position_model(&records);
    let place: PathBuf = folder.join("shipped.bin");
    std::fs::write(&place, &model)?;
    let check = crc32c::crc32c(&model);
    println!("{}: {} records, {} bytes, {check:08X}", place.display(), records.len(), model.len());
    Ok(())
}
