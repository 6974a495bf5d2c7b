//! Lines of a byte stream in bounded memory, and serial lines as streams.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;

use super::operations::WireError;
use epdb_chess::model::EpdRecord;
use epdb_chess::text::epd::{self, Line};
use epdb_chess::text::lines::{LineReader, Next, SPEC_LINE_LIMIT, too_long};
use epdb_chess::text::{Diagnostic, FormatOptions, ParseOptions, Profile, codes};

/// Maximum length of a line in bytes, not counting its end.
pub const MAX_LINE: usize = SPEC_LINE_LIMIT;

/// Input from the other side.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Incoming {
    /// A whole line, without its end.
    Line(Vec<u8>),
    /// A line of more than [`MAX_LINE`] bytes, which is not kept.
    TooLong,
}

/// The lines of a byte stream. LF and CR LF end a line; text after the last line end is not a line.
///
/// ```
/// use epdb_referee::wire::{Incoming, Lines};
/// let mut lines = Lines::new(&b"one\r\ntwo\nhal"[..]);
/// assert_eq!(lines.next_line()?, Some(Incoming::Line(b"one".to_vec())));
/// assert_eq!(lines.next_line()?, Some(Incoming::Line(b"two".to_vec())));
/// assert_eq!(lines.next_line()?, None);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Lines<R>(LineReader<R>);

impl<R: Read> Lines<R> {
    /// The lines of a stream.
    pub fn new(stream: R) -> Lines<R> {
        Lines(LineReader::new(stream, MAX_LINE))
    }

    /// Waits for the next complete line that is not empty; `None` at the end of the stream.
    ///
    /// # Errors
    /// An error of the stream.
    pub fn next_line(&mut self) -> io::Result<Option<Incoming>> {
        loop {
            match self.0.next_line()? {
                None => return Ok(None),
                Some(Next::TooLong { .. }) => return Ok(Some(Incoming::TooLong)),
                // Half a line, at the end of the stream.
                Some(Next::Line(line)) if line.raw.len() == line.text.len() => return Ok(None),
                Some(Next::Line(line)) if line.text.is_empty() => {}
                Some(Next::Line(line)) => return Ok(Some(Incoming::Line(line.text.to_vec()))),
            }
        }
    }
}

/// Writes a line and its end in one call.
///
/// # Errors
/// An error of the stream.
pub fn write_line(stream: &mut impl Write, line: &[u8]) -> io::Result<()> {
    stream.write_all(&[line, b"\n"].concat())?;
    stream.flush()
}

/// Reads a line as a record. Accepts everything that the EPD standard of 1995 allows a reader to accept, but
/// refuses a record whose opcodes contradict each other.
pub(super) fn read_record(line: &[u8]) -> Result<EpdRecord, WireError> {
    if line.len() > MAX_LINE {
        return Err(too_long(MAX_LINE).into());
    }
    let mut warnings = Vec::new();
    match epd::parse_line(line, &ParseOptions::new(Profile::Standard), &mut warnings)? {
        Line::Record(record) => match warnings.into_iter().find(breaks_a_rule) {
            Some(warning) => Err(warning.into()),
            None => Ok(record),
        },
        Line::Blank | Line::Comment => {
            Err(WireError::new(codes::E_EPD_FIELDS, "an empty line; a message is a record"))
        }
    }
}

fn breaks_a_rule(warning: &Diagnostic) -> bool {
    warning.code.starts_with("W-CONS-")
}

/// A record in canonical form, without line end.
pub(super) fn record_line(record: &EpdRecord) -> Vec<u8> {
    let mut line = Vec::new();
    epd::format(record, &FormatOptions::default(), &mut line);
    line
}

/// Opens a serial line or one side of a pseudo terminal for reading and writing. A terminal is set to pass
/// all bytes unchanged; its speed stays as it was set (`stty`). Any other file that can be read and written,
/// such as a socket or a named pipe, is used without changes.
///
/// # Errors
/// The serial line cannot be opened or configured.
pub fn open_line(path: &Path) -> io::Result<(File, File)> {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    // The line must not become the terminal by which this process is controlled.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(
        &mut options,
        rustix::fs::OFlags::NOCTTY.bits() as i32,
    );
    let line = options.open(path)?;
    #[cfg(unix)]
    make_raw(&line)?;
    Ok((line.try_clone()?, line))
}

#[cfg(unix)]
fn make_raw(line: &File) -> io::Result<()> {
    use rustix::termios::{OptionalActions, isatty, tcgetattr, tcsetattr};

    if !isatty(line) {
        return Ok(());
    }
    let mut settings = tcgetattr(line)?;
    settings.make_raw();
    tcsetattr(line, OptionalActions::Now, &settings)?;
    Ok(())
}
