//! The command processor of the SAN Kit: one command a line, which sets a position, plays moves and
//! takes them back, and changes the record that is being made.
//!
//! It does no input or output of its own: what a command shows comes back as a [`Reply`], and a command
//! that needs files or other programs is given back to who runs the processor.
//!
//! ```
//! use epdb::library::kit::{Reply, Session};
//! let mut session = Session::new();
//! for line in ["1. e4 c5 2. Nf3", "back", "set c0 to be continued", "# a comment"] {
//!     session.run(line)?;
//! }
//! assert!(session.run("Ke5").is_err(), "an error changes nothing");
//! let record = b"rnbqkbnr/pp1ppppp/8/2p5/4P3/8/PPPP1PPP/RNBQKBNR w KQkq c6 \
//!     c0 \"to be continued\"; fmvn 2; hmvc 0;";
//! assert_eq!(session.run("epd")?, Reply::Text(record.to_vec()));
//! # Ok::<(), epdb::library::kit::KitError>(())
//! ```

mod completion;
mod error;
mod line;
mod session;
mod verb;

pub use completion::{Completion, complete};
pub use error::KitError;
pub use line::Line;
pub use session::{Reply, Session, Step};
pub use verb::Verb;
