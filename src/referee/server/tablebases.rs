//! Tablebases that say how games end.

use std::fmt::Debug;

use crate::settings::SyzygyRule;
use epdb_chess::error::Result;
use epdb_chess::model::{GameResult, Position};

/// Tablebases.
pub trait Tablebases: Debug + Send {
    /// Returns the result with best play; unknown if the tablebases do not have it.
    /// `halfmove_clock` counts plies since the last capture or move of a pawn.
    fn result(&self, position: &Position, halfmove_clock: u32) -> GameResult;
}

/// Opens the tablebases of a tournament.
///
/// # Errors
/// A folder cannot be read, or there is no tablebase; or this program is built without tablebases.
#[cfg(feature = "syzygy")]
pub(super) fn open(rule: &SyzygyRule) -> Result<Box<dyn Tablebases>> {
    Ok(Box::new(syzygy::Syzygy::open(rule)?))
}

/// Returns an error that says how to build the program with tablebases.
///
/// # Errors
/// Always.
#[cfg(not(feature = "syzygy"))]
pub(super) fn open(_: &SyzygyRule) -> Result<Box<dyn Tablebases>> {
    Err(epdb_chess::error::Error::new(
        "this program is built without tablebases; build it with `--features syzygy`",
    ))
}

#[cfg(feature = "syzygy")]
mod syzygy {
    use shakmaty::{CastlingMode, Chess, FromSetup, Setup};
    use shakmaty_syzygy::{Tablebase, Wdl};

    use super::Tablebases;
    use crate::settings::SyzygyRule;
    use epdb_chess::error::{Error, Result};
    use epdb_chess::model::{GameResult, Position};

    #[derive(Debug)]
    pub(super) struct Syzygy {
        tables: Tablebase<Chess>,
        ignores_fifty_moves: bool,
    }

    impl Syzygy {
        pub(super) fn open(rule: &SyzygyRule) -> Result<Syzygy> {
            let mut tables = Tablebase::new();
            let mut count = 0;
            for folder in &rule.folders {
                let name = folder.display().to_string();
                count += tables.add_directory(folder).map_err(|error| {
                    Error::new("cannot read the tablebases").because(error).in_source(name)
                })?;
            }
            if count == 0 {
                let names: Vec<String> =
                    rule.folders.iter().map(|folder| folder.display().to_string()).collect();
                let what = "expected files of Syzygy such as KQvK.rtbw and KQvK.rtbz, found none";
                return Err(Error::new(what).in_source(names.join(", ")));
            }
            Ok(Syzygy { tables, ignores_fifty_moves: rule.ignores_fifty_moves })
        }

        /// The value for the side to move: 1 for a win, 0 for a draw, -1 for a loss; `None` if it
        /// is not known.
        fn value(&self, position: &Position, halfmove_clock: u32) -> Option<i32> {
            let mut setup = Setup::from(position);
            setup.halfmoves = halfmove_clock;
            let chess = Chess::from_setup(setup, CastlingMode::Chess960).ok()?;
            if self.ignores_fifty_moves {
                return Some(self.tables.probe_wdl_after_zeroing(&chess).ok()?.signum());
            }
            Some(match self.tables.probe_wdl(&chess).ok()?.unambiguous()? {
                Wdl::Win => 1,
                Wdl::Loss => -1,
                Wdl::CursedWin | Wdl::Draw | Wdl::BlessedLoss => 0,
            })
        }
    }

    impl Tablebases for Syzygy {
        fn result(&self, position: &Position, halfmove_clock: u32) -> GameResult {
            let turn = position.turn();
            match self.value(position, halfmove_clock) {
                None => GameResult::Unknown,
                Some(0) => GameResult::Draw,
                Some(value) => GameResult::win_of(if value > 0 { turn } else { !turn }),
            }
        }
    }
}
