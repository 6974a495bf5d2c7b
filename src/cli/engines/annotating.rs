//! Annotation of games: their positions are searched, and the games are written with the results.

use std::collections::VecDeque;
use std::path::Path;

use anyhow::Context;

use super::progress::{ProgressReporter, shown_files};
use crate::cli::diagnostics::Diagnostics;
use crate::cli::games::GameOutput;
use crate::cli::outcome::Outcome;
use crate::cli::pipe::Pipe;
use crate::cli::source::{Reading, SourceGame, Visited};
use epdb_chess::error::Place;
use epdb_chess::model::{EpdRecord, Game};
use epdb_engine::{Finished, RunningSuite, SearchedSuite, annotated, positions_of};
use epdb_source::GameFormat;

pub(crate) struct Annotating {
    pub(crate) format: GameFormat,
    /// Loss in centipawns from which the engine's line becomes a variation.
    pub(crate) variation_loss: u32,
}

/// A game with positions that are still being searched.
struct WaitingGame {
    game: Game,
    place: Place,
    positions: usize,
    analysed: Vec<EpdRecord>,
}

impl Annotating {
    /// Reads games, lets the engine search the positions of their main lines, and writes the games.
    pub(super) fn search(
        &self,
        pipe: &Pipe,
        output: Option<&Path>,
        mut run: RunningSuite,
        progress: &mut ProgressReporter<'_>,
    ) -> anyhow::Result<(SearchedSuite, Outcome)> {
        let Pipe { files, read, .. } = pipe;
        let mut diagnostics = Diagnostics::new(&read.form)?;
        let mut output = GameOutput::open(output, self.format.clone())?;
        let mut waiting: VecDeque<WaitingGame> = VecDeque::new();
        let mut emit = |waiting: &mut VecDeque<WaitingGame>, finished: Finished| {
            let game = waiting.front_mut().context("a position is of no game")?;
            progress.tell(&game.place, &finished);
            game.analysed.push(finished.record);
            match waiting.pop_front_if(|game| game.analysed.len() == game.positions) {
                Some(game) => self.write(&game, &mut output),
                None => Ok(()),
            }
        };
        Reading::of(files, read, &mut diagnostics).games(
            |SourceGame { game, place, .. }| {
                let records = positions_of(game);
                let game = game.clone();
                let place = place.clone();
                let positions = records.len();
                waiting.push_back(WaitingGame { game, place, positions, analysed: Vec::new() });
                for record in records {
                    run.push(record, &mut |_, it| emit(&mut waiting, it))?;
                }
                Ok(Visited::Taken)
            },
        )?;
        let searched = run.finish(shown_files(files), &mut |_, it| emit(&mut waiting, it))?;
        output.finish()?;
        Ok((searched, diagnostics.finish()?))
    }

    fn write(&self, game: &WaitingGame, output: &mut GameOutput) -> anyhow::Result<()> {
        let WaitingGame { game, place, analysed, .. } = game;
        let game = annotated(game, analysed, self.variation_loss);
        match output.write(&game.with_context(|| place.to_string())?)? {
            Visited::Refused(refusal) => anyhow::bail!("{place}: {}", refusal.message),
            _ => Ok(()),
        }
    }
}
