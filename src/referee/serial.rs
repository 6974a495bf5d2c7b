//! Serial lines and pseudo terminals as channels.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

/// Opens a serial line or one side of a pseudo terminal for reading and writing. A terminal is made to
/// pass all bytes as they are; its speed stays as it was set (`stty`). Any other file that can be read
/// and written, such as a socket's or a named pipe's, is taken as it is.
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
