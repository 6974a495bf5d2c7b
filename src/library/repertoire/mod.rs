//! Repertoires: the positions of annotated lines, each once, with the moves that are played there.
//!
//! A [`Repertoire`] is put together from games with variations and from records, and given back as
//! records or as one game with variations ([`Repertoire::tree`]). [`report`](Repertoire::report) and
//! its companions tell what is missing in it.
//!
//! In records the candidates of the own side are `bm`, with the first of several as `pm`; its moves
//! that are marked as bad are `am`, the moves of the other side [`REPLIES`].
//!
//! ```
//! use epdb::library::repertoire::{Repertoire, TreeOptions};
//! use epdb::model::{Color, Position};
//! use epdb::text::pgn::{GameReader, PgnReadOptions};
//!
//! let pgn = &b"1. e4 e5 (1... c5 2. Nf3) 2. Nf3 (2. Bc4 {slower}) *"[..];
//! let mut repertoire = Repertoire::new(1 << 20);
//! let mut reader = GameReader::new(pgn, PgnReadOptions::default());
//! while let Some(read) = reader.next_game()? {
//!     repertoire.add_game(read.game.expect("a good game"), Some(Color::White))?;
//! }
//! let lines: Vec<_> = repertoire.records(Color::White).map(|it| epdb::format_epd(&it)).collect();
//! assert_eq!(lines.len(), 7);
//! assert!(lines[2].ends_with(b" w KQkq - bm Bc4 Nf3; pm Nf3;"));
//! let tree = repertoire.tree(&Position::START, &TreeOptions::default())?;
//! assert_eq!((tree.moves, tree.references), (6, 0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod against;
mod departures;
mod eval;
mod games;
mod graph;
mod paths;
mod records;
mod report;
mod tree;

pub use against::Coverage;
pub use departures::{Departures, GameEnds};
pub use eval::Evaluation;
pub use graph::{Branch, Node, Place, Repertoire};
pub use paths::{Paths, numbered};
pub use records::{NAGS, REPLIES, TRANSPOSES};
pub use report::{Finding, Part};
pub use tree::{Tree, TreeOptions};
