//! Games counted into a library, which is written when all of them were read.

use std::path::Path;

use super::copies::{SliceCopies, SliceOfGames};
use super::merged::MergedGames;
use super::{TallyBuilder, TallyCounts, TallyOptions, TallyOrder};
use crate::codec::tally_origin::{TallyLedger, TallyOrigin};
use crate::codec::tally_settings::TallySettings;
use crate::error::{Error, Result};
use crate::new_file::folder_of;
use crate::source::{FileFormat, Slice, Target};

/// Games that are counted into a library, and how.
#[derive(Clone, Debug)]
pub struct LibraryJob<'j> {
    /// The options of counting.
    pub counting: TallyOptions,
    /// The settings that the library stores ([`TallyOptions::settings`]).
    pub settings: TallySettings,
    /// The slice whose games are counted, if the games are a slice of a plan.
    pub slice: Option<&'j Slice>,
    /// The list that decides which copies of games in all slices of the plan count; `None` if no game has
    /// copies in other slices, or every copy counts.
    pub copies: Option<&'j Path>,
    /// Whether the library keeps digests of its games, so that a copy that is added later is recognised.
    pub digests: bool,
    /// Approximate limit of the memory for counting, in bytes.
    pub memory_bytes: usize,
}

impl LibraryJob<'_> {
    /// Counts the games that `read` adds, and writes the library. `output` is the file that `target` writes;
    /// temporary files are in its folder. `progress` is called while positions are written, with a number of
    /// positions and the number of all positions, if that is known; an error of it ends the job. The library
    /// appears only if everything succeeds.
    ///
    /// # Errors
    /// Errors of `read`, of `progress` and of files; a list of copies that does not belong to the games.
    pub fn run<E: From<Error>>(
        self,
        output: &Path,
        mut target: Target,
        read: impl FnOnce(&mut TallyBuilder) -> Result<(), E>,
        mut progress: impl FnMut(u64, Option<u64>) -> Result<()>,
    ) -> Result<(TallyCounts, MergedGames), E> {
        let LibraryJob { counting, settings, slice, copies, digests, memory_bytes } = self;
        let keeps_digests = digests && counting.same_game.is_some();
        let mut builder = TallyBuilder::new(counting, folder_of(output), memory_bytes);
        if let (Some(slice), Some(copies)) = (slice, copies) {
            let slice = SliceOfGames::new(slice, settings.clone());
            builder = builder.with_copies(SliceCopies::read(copies, &slice)?);
        }
        read(&mut builder)?;
        builder.check_copies()?;
        if target.keeps_tally_ledger() {
            let (sources, games) = builder.take_games()?;
            let slices = slice.map(Slice::origin).unwrap_or_default();
            let origin = TallyOrigin { settings, sources, slices, ..TallyOrigin::default() };
            let games = keeps_digests.then_some(games);
            target.set_tally_ledger(TallyLedger { origin, games })?;
        }
        let order = match FileFormat::from_name(output) {
            Some(FileFormat::Epa) => TallyOrder::Games,
            _ => TallyOrder::Key,
        };
        builder.drain(order, &mut |batch, all| {
            progress(batch.len() as u64, all)?;
            target.write_batch(batch)
        })?;
        builder.drain_games(&mut |game| target.keep_game(game))?;
        // Whatever can fail comes before the library appears.
        let merged = builder.take_merged_games()?;
        progress(0, None)?;
        target.finish()?;
        Ok((builder.counts(), merged))
    }
}
