//! What can be said of a game's form only when it has been read to its end.

use std::io::Read;

use super::GameReader;
use super::stop::Stop;
use super::tokens::SPEC_LENGTH;
use crate::text::charset::Charset;
use crate::text::diagnostic::shown;
use crate::text::pgn::write::{self, PgnFormatOptions};
use crate::text::{Profile, codes};

impl<R: Read> GameReader<R> {
    /// Refuses a game that does not stand in export format.
    pub(super) fn compare_with_export(&mut self) -> Result<(), Stop> {
        let is_utf8 = std::str::from_utf8(self.source.slice(0..self.source.at)).is_ok();
        let latin1 = self.options.charset == Some(Charset::Latin1) || !is_utf8;
        let charset = if latin1 { Charset::Latin1 } else { Charset::Utf8 };
        let options = PgnFormatOptions::new().escapes(true).charset(charset);
        let mut export = Vec::new();
        if let Err(error) = write::format(self.builder.game(), &options, &mut export) {
            return Err(self.refused(codes::E_PGN_NONCANON, 0, error.to_string()));
        }
        let raw = self.source.slice(0..self.source.at);
        if raw == export {
            return Ok(());
        }
        let same = raw.iter().zip(&export).take_while(|(a, b)| a == b).count();
        let message = format!(
            "not in export format: expected {} here",
            shown(&export[same..export.len().min(same + 20)])
        );
        Err(self.refused(codes::E_PGN_NONCANON, same, message))
    }

    /// Tells of the first line that is longer than the standard allows. The lenient profile takes
    /// lines of any length, as most programs write them.
    pub(super) fn check_lines(&mut self) -> Result<(), Stop> {
        if self.options.profile == Profile::Lenient {
            return Ok(());
        }
        match self.source.long_line(SPEC_LENGTH) {
            None => Ok(()),
            Some(line) => {
                let message = "the line is longer than 255 characters; read";
                self.warn(codes::W_PGN_LINELEN, line, message)
            }
        }
    }
}
