//! Names of openings: a code of the Encyclopaedia of Chess Openings and a name, by position.
//!
//! [`Names`] is the table, read from files as lichess-org/chess-openings publishes them. A position
//! that is not in it has the name of the last position on the way to it that is: [`Names::on_line`] for
//! a line of moves, [`LineNames`] for the positions of games. [`Naming`] writes names into records and
//! games.
//!
//! ```
//! use epdb::library::names::{Names, Naming};
//! let mut names = Names::new();
//! names.add_bytes("a.tsv", "eco\tname\tpgn\nB20\tSicilian Defense\t1. e4 c5\n")?;
//! let sicilian = b"rnbqkbnr/pp1ppppp/8/2p5/4P3/8/PPPP1PPP/RNBQKBNR w KQkq -";
//! let mut record = epdb::parse_epd(sicilian)?;
//! let name = names.get(record.position()).expect("it is in the table").clone();
//! assert!(Naming::default().name_record(&mut record, &name));
//! assert_eq!(
//!     epdb::format_epd(&record),
//!     [&sicilian[..], b" eco \"B20\"; v0 \"Sicilian Defense\";"].concat()
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod line;
mod naming;
mod nearest;
mod table;

pub use line::LineNames;
pub use naming::Naming;
pub use table::{Names, OpeningName};
