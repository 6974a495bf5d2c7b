//! Errors, warnings and repairs, each with its place. The profile decides whether a fault is an
//! error or a warning.

use std::io::Read;
use std::ops::Range;

use super::GameReader;
use super::{Finding, Stop};
use crate::model::BuildError;
use crate::text::{Diagnostic, Profile, codes};

/// Maximum number of warnings about one game.
const MAX_WARNINGS: usize = 1 << 16;

/// The error code of the stricter profiles, and the warning code of the lenient one.
pub(super) type Codes = (&'static str, &'static str);
pub(super) const COMMA: Codes = (codes::E_PGN_TOKEN, codes::W_LEN_COMMA);
pub(super) const DETACHED: Codes = (codes::E_PGN_TOKEN, codes::W_LEN_DETACHED);
pub(super) const UNICODE: Codes = (codes::E_PGN_TOKEN, codes::W_PGN_UNICODE);
pub(super) const TOKEN: Codes = (codes::E_PGN_TOKEN, codes::W_PGN_TOKEN);
pub(super) const STRING: Codes = (codes::E_PGN_STRING, codes::W_PGN_STRING);
pub(super) const TAG: Codes = (codes::E_PGN_TAG, codes::W_PGN_TAG);
pub(super) const RAV: Codes = (codes::E_PGN_RAV, codes::W_PGN_RAV);
pub(super) const NAG: Codes = (codes::E_PGN_NAG, codes::W_PGN_NAG);
pub(super) const RESULT: Codes = (codes::E_PGN_RESULT, codes::W_PGN_RESULT);

impl<R: Read> GameReader<R> {
    pub(super) fn finding(&mut self, diagnostic: Diagnostic, at: usize) -> Finding {
        let (line, column) = self.source.place(at);
        Finding { line, ply: None, diagnostic: Diagnostic { column, ..diagnostic } }
    }

    pub(super) fn refused(
        &mut self,
        code: &'static str,
        at: usize,
        message: impl Into<String>,
    ) -> Stop {
        Stop::Refused(self.finding(Diagnostic::error(code, 0, message), at))
    }

    /// Refuses the game because of a move, and names its ply.
    pub(super) fn refused_move(
        &mut self,
        code: &'static str,
        at: usize,
        message: impl Into<String>,
    ) -> Stop {
        let mut finding = self.finding(Diagnostic::error(code, 0, message), at);
        finding.ply = self.builder.replay().map(|replay| replay.ply() + 1);
        Stop::Refused(finding)
    }

    /// Adds a warning. A game with too many is refused, so that they cannot fill the memory.
    pub(super) fn note(&mut self, warning: Diagnostic, at: usize) -> Result<(), Stop> {
        if self.warnings.len() == MAX_WARNINGS {
            let message = format!("more than {MAX_WARNINGS} repairs and doubts in one game");
            return Err(self.refused(codes::E_PGN_SIZE, at, message));
        }
        let finding = self.finding(warning, at);
        self.warnings.push(finding);
        Ok(())
    }

    /// Adds a warning about something that is not changed.
    pub(super) fn warn(
        &mut self,
        code: &'static str,
        at: usize,
        message: impl Into<String>,
    ) -> Result<(), Stop> {
        self.note(Diagnostic::warning(code, 0, message), at)
    }

    /// Reports that the bytes of a range were repaired, as a warning in every profile.
    pub(super) fn change(
        &mut self,
        code: &'static str,
        place: Range<usize>,
        after: impl Into<Vec<u8>>,
        message: impl Into<String>,
    ) -> Result<(), Stop> {
        let at = place.start;
        let before = self.source.slice(place);
        self.note(Diagnostic::warning(code, 0, message).with_repair(before, after), at)
    }

    /// Reports a repair of the bytes of a range: as a warning in the lenient profile, as an error
    /// in the others.
    pub(super) fn repair(
        &mut self,
        codes: Codes,
        place: Range<usize>,
        after: impl Into<Vec<u8>>,
        message: impl Into<String>,
    ) -> Result<(), Stop> {
        self.repair_at(codes, place.start, place, after, message)
    }

    /// Does the same as [`Self::repair`]; the message has the place `at`.
    pub(super) fn repair_at(
        &mut self,
        codes: Codes,
        at: usize,
        place: Range<usize>,
        after: impl Into<Vec<u8>>,
        message: impl Into<String>,
    ) -> Result<(), Stop> {
        let message = message.into();
        self.lenient_only(codes.0, at, &message)?;
        let before = self.source.slice(place);
        self.note(Diagnostic::warning(codes.1, 0, message).with_repair(before, after), at)
    }

    /// Reports something that is not changed: as a warning in the lenient profile, as an error in
    /// the others.
    pub(super) fn keep(&mut self, codes: Codes, at: usize, message: &str) -> Result<(), Stop> {
        self.lenient_only(codes.0, at, message)?;
        self.warn(codes.1, at, message)
    }

    /// Refuses the game in all profiles but the lenient one.
    pub(super) fn lenient_only(
        &mut self,
        code: &'static str,
        at: usize,
        message: &str,
    ) -> Result<(), Stop> {
        match self.options.profile {
            Profile::Lenient => Ok(()),
            _ => Err(self.refused(code, at, message)),
        }
    }

    pub(super) fn built(&mut self, at: usize, result: Result<(), BuildError>) -> Result<(), Stop> {
        let Err(error) = result else { return Ok(()) };
        let code = match error {
            BuildError::TooLarge => codes::E_PGN_SIZE,
            BuildError::NotPlayable => codes::E_PGN_SETUP,
            BuildError::TagName | BuildError::TooManyTags => codes::E_PGN_TAG,
            _ => codes::E_PGN_RAV,
        };
        Err(self.refused(code, at, error.to_string()))
    }
}
