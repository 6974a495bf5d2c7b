//! The log on standard error, one line per event.

use std::io::{self, Write};
use std::str::FromStr;

use tracing_subscriber::Layer;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use super::answer::one_line;
use epdb_chess::error::{Error, Result};

/// Verbosity of the log: `error`; `warn`; `info`, with changes of sources; `debug`, with a line per
/// request.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct LogLevel(LevelFilter);

impl LogLevel {
    /// Errors only.
    pub const ERROR: LogLevel = LogLevel(LevelFilter::ERROR);
}

impl Default for LogLevel {
    fn default() -> LogLevel {
        LogLevel(LevelFilter::INFO)
    }
}

impl FromStr for LogLevel {
    type Err = Error;

    fn from_str(text: &str) -> Result<LogLevel> {
        match text {
            "error" => Ok(LogLevel(LevelFilter::ERROR)),
            "warn" => Ok(LogLevel(LevelFilter::WARN)),
            "info" => Ok(LogLevel(LevelFilter::INFO)),
            "debug" => Ok(LogLevel(LevelFilter::DEBUG)),
            _ => Err(Error::new(format!("`{text}` is not one of error, warn, info and debug"))),
        }
    }
}

/// Starts the log of this process on standard error, unless it runs already.
pub fn log_to_stderr(level: LogLevel, as_json: bool) {
    // A closed standard error must not end the server.
    let lines = tracing_subscriber::fmt::layer().log_internal_errors(false);
    let ours = Targets::new().with_target("epdb", level.0);
    let lines = if as_json {
        lines.json().flatten_event(true).with_writer(io::stderr).boxed()
    } else {
        lines.with_ansi(false).with_target(false).with_writer(|| Plain(io::stderr())).boxed()
    };
    tracing_subscriber::registry().with(lines).with(ours).try_init().ok();
}

/// Writes lines with control characters escaped. Each call writes one line.
struct Plain<W>(W);

impl<W: Write> Write for Plain<W> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(line);
        self.0.write_all(one_line(text.trim_end_matches('\n')).as_bytes())?;
        self.0.write_all(b"\n")?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_log_is_one_line() {
        let mut written = Vec::new();
        let done = Plain(&mut written).write_all("a\nb\u{1b}[2Jc\u{9b}é\n".as_bytes());
        assert!(done.is_ok());
        assert_eq!(written, "a\\nb\\u{1b}[2Jc\\u{9b}é\n".as_bytes());
    }
}
