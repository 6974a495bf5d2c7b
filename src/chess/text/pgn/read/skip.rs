//! Skipping to the end of a game that was refused.

use std::io::Read;

use super::GameReader;
use super::tokens::{glued_marker, marker_length, symbol};
use super::{Extras, Stop};
use crate::text::pgn::source::Broken;

impl<R: Read> GameReader<R> {
    /// Skips to the end of a game that was refused.
    pub(super) fn skip_game(&mut self) -> Result<(), Broken> {
        let skipped = self
            .skip_tokens()
            .and_then(|()| self.trailing_comments(Extras::Skip))
            .and_then(|()| self.skip_blank_lines());
        match skipped {
            Err(Stop::Broken(broken)) => Err(broken),
            Ok(()) | Err(Stop::Refused(_)) => Ok(()),
        }
    }

    pub(super) fn skip_tokens(&mut self) -> Result<(), Stop> {
        if !self.in_movetext {
            // The refused tag ends with its line.
            self.source.at = self.source.end_of_line(self.source.at)?;
            self.end_tag();
        }
        let mut is_in_moves = false;
        while let Some(byte) = self.next_byte(Extras::Skip)? {
            match byte {
                b'{' | b';' => self.skip_comment(byte)?,
                _ if self.is_tag(byte) => {
                    if self.begins_next_game()? {
                        return Ok(());
                    }
                    self.skip_tag()?;
                }
                b'1' if is_in_moves && self.counts_from_one_again() => return Ok(()),
                _ => {
                    self.in_movetext = true;
                    is_in_moves = true;
                    let rest = self.source.rest();
                    let text = symbol(rest);
                    let marker = marker_length(rest);
                    let is_marker = marker.is_some() || glued_marker(text).is_some();
                    self.source.at += marker.unwrap_or(text.len()).max(1);
                    if is_marker && self.next_byte(Extras::Skip)? != Some(b')') {
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }
}
