//! Commands from a pipe, a file or the command line.

use std::io::Read;

use super::execute::{Executed, Shell};
use crate::cli::outcome::{Outcome, is_broken_pipe, message};
use crate::cli::terminal::{note, print_line};
use epdb_chess::text::lines::{self, LineReader, Next};
use epdb_library::kit::KitError;

/// Maximum length of a line of commands in bytes.
const MAX_LINE: usize = 1 << 16;

/// Executes the lines one by one. The first error ends the script, unless `keeps_going` is true. Errors are
/// printed with the name of the script and the number of the line.
pub(crate) fn run(
    shell: &mut Shell,
    name: &str,
    script: impl Read,
    keeps_going: bool,
) -> anyhow::Result<Outcome> {
    let mut reader = LineReader::new(script, MAX_LINE);
    let mut outcome = Outcome::Done;
    while let Some(next) = reader.next_line()? {
        let (number, obeyed) = match next {
            Next::Line(line) => (line.number, execute(shell, line.text)),
            Next::TooLong { number, .. } => (number, Err(lines::too_long(MAX_LINE).into())),
        };
        match obeyed {
            Ok(Executed::Done { outcome: of_line, warnings }) => {
                warnings.iter().for_each(|warning| note!("{name}:{number}:{warning}"));
                if of_line == Outcome::Failed {
                    note!("{name}:{number}: this command failed");
                }
                outcome = outcome.and(of_line);
            }
            Ok(Executed::Quit) => break,
            Err(error) if is_broken_pipe(&error) => return Err(error),
            Err(error) => {
                print_line(&format!("{name}:{number}:{}", located(&error)));
                outcome = Outcome::Failed;
            }
        }
        if outcome == Outcome::Failed && !keeps_going {
            break;
        }
    }
    Ok(outcome)
}

fn execute(shell: &mut Shell, line: &[u8]) -> anyhow::Result<Executed> {
    let text = str::from_utf8(line)
        .map_err(|error| anyhow::anyhow!("byte {} is not UTF-8", error.valid_up_to() + 1))?;
    shell.execute(text)
}

/// The text of an error after the name of the script and the line: the column, if it is known, and
/// the message.
fn located(error: &anyhow::Error) -> String {
    let column = error.downcast_ref().and_then(KitError::column);
    let column = column.map(|column| format!("{column}:")).unwrap_or_default();
    format!("{column} {}", message(error))
}
