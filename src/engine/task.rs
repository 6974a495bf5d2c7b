//! Tasks for engines. A task turns a record into a request, and the answer of the engine into a finished
//! record.

use super::analysis::{analysis, without_moves};
use super::choices::{Choices, Finished};
use super::error::EngineError;
use super::mate::{MateOptions, search_mate};
use super::opcodes::put_error;
use super::session::{Engine, Limits};
use epdb_chess::model::{EpdRecord, Opcode};

/// A task for each record.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Task {
    /// Finds the score and the best line of each record.
    Analyze,
    /// Finds the solution of each problem of a test suite.
    Solve {
        /// Ends the search if the solution was chosen at this number of depths in a row.
        stop_held: Option<u32>,
    },
    /// Searches for a mate in a number of moves.
    Mate(MateOptions),
}

enum FirstStep {
    Done(Box<Finished>),
    Search(Limits),
}

impl Task {
    /// Processes a record. `engine` is called only if an engine is needed.
    ///
    /// # Errors
    /// The engine failed.
    pub fn run<'e>(
        &self,
        record: &EpdRecord,
        limits: &Limits,
        engine: impl FnOnce() -> Result<&'e mut Engine, EngineError>,
    ) -> Result<Finished, EngineError> {
        match self.begin(record, limits) {
            FirstStep::Done(finished) => Ok(*finished),
            FirstStep::Search(limits) => self.search(engine()?, record, &limits),
        }
    }

    fn begin(&self, record: &EpdRecord, limits: &Limits) -> FirstStep {
        let done = |finished| FirstStep::Done(Box::new(finished));
        let has = |opcode| record.operands(opcode).is_some_and(|moves| !moves.is_empty());
        match self {
            Task::Solve { .. } if !has(Opcode::BM) && !has(Opcode::AM) => {
                done(Finished::noted(record.clone(), "no bm and no am: the record stays as it is"))
            }
            Task::Analyze | Task::Solve { .. } => match without_moves(record) {
                Some(record) => done(Finished::new(record)),
                None => FirstStep::Search(limits.clone()),
            },
            Task::Mate(options) => match options.length_for(record) {
                Some(length) => FirstStep::Search(Limits { mate: Some(length), ..limits.clone() }),
                None => done(Finished::new(record.clone())),
            },
        }
    }

    fn search(
        &self,
        engine: &mut Engine,
        record: &EpdRecord,
        limits: &Limits,
    ) -> Result<Finished, EngineError> {
        match self {
            Task::Analyze => {
                let answer = engine.search(record, limits, &mut |_, _| false)?;
                let mut finished = analysis(record, &answer)?;
                if answer.ce().is_none() {
                    let best = String::from_utf8_lossy(&answer.best.text()).into_owned();
                    let note =
                        format!("the engine reported no exact score of {best}: there is no ce");
                    finished.notes.push(note);
                }
                Ok(finished)
            }
            Task::Solve { stop_held } => {
                let mut choices = Choices::new(record, *stop_held);
                let answer =
                    engine.search(record, limits, &mut |info, at| choices.see(info, at))?;
                let mut finished = analysis(record, &answer)?;
                choices.finish(&mut finished.record, answer.end);
                Ok(finished)
            }
            Task::Mate(options) => search_mate(engine, record, limits, *options),
        }
    }

    /// The unchanged record of a failed search, with the reason.
    pub(super) fn failed(record: &EpdRecord, error: &EngineError) -> Finished {
        let mut record = record.clone();
        let error = error.to_string();
        put_error(&mut record, &error);
        Finished { error: Some(error), ..Finished::new(record) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Journals contain these texts, and a run resumes only if they are equal.
    #[test]
    fn journals_have_these_names_of_tasks() {
        let mate = MateOptions { length: Some(5), of_record: true, writes_found: false };
        for (task, json) in [
            (Task::Analyze, r#""analyze""#),
            (Task::Solve { stop_held: Some(3) }, r#"{"solve":{"stop_held":3}}"#),
            (Task::Mate(mate), r#"{"mate":{"length":5,"of_record":true,"writes_found":false}}"#),
        ] {
            assert_eq!(serde_json::to_string(&task).ok().as_deref(), Some(json));
        }
    }
}
