//! The tokens by which clients sign on.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write as _};
use std::path::Path;

use crate::log::private;
use epdb_chess::error::{Error, Result};

/// Allowed lengths of a token in a file, in characters.
const LENGTHS: std::ops::RangeInclusive<usize> = 16..=100;

/// 128 random bits as 32 hexadecimal digits.
pub(super) fn random() -> Result<String> {
    let mut bits = [0; 16];
    getrandom::fill(&mut bits)
        .map_err(|error| Error::new("the system gives no random numbers").because(error))?;
    Ok(bits.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Returns the token in a file. If the file does not exist, it is created with a random token, and
/// only its owner can read it.
pub(super) fn read_or_make(path: &Path) -> Result<String> {
    let in_file = |error: Error| error.in_source(path.display().to_string());
    match first_bytes(path) {
        Ok(bytes) => checked(&bytes).ok_or_else(|| {
            let what = "expected a token: one line of 16 to 100 letters, digits and any of -_.~+/=";
            in_file(Error::new(what))
        }),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let token = random()?;
            let made = private()
                .create_new(true)
                .open(path)
                .and_then(|mut file| writeln!(file, "{token}"));
            made.map_err(|error| in_file(Error::new("cannot write the token").because(error)))?;
            Ok(token)
        }
        Err(error) => Err(in_file(Error::new("cannot read the token").because(error))),
    }
}

/// Reads enough bytes to see whether the file has one token and nothing else.
fn first_bytes(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(1000).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn checked(bytes: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(bytes).ok()?;
    let token =
        text.strip_suffix('\n').map_or(text, |line| line.strip_suffix('\r').unwrap_or(line));
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~+/=".contains(&byte);
    (LENGTHS.contains(&token.len()) && token.bytes().all(is_plain)).then(|| token.to_string())
}
