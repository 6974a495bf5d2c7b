//! Tokens of clients that are started.

use std::fmt::Write;

use crate::error::{Error, Result};

/// 128 random bits as 32 hexadecimal digits.
pub(super) fn random() -> Result<String> {
    let mut bits = [0; 16];
    getrandom::fill(&mut bits)
        .map_err(|error| Error::new("the system gives no random numbers").because(error))?;
    Ok(bits.iter().fold(String::with_capacity(32), |mut digits, byte| {
        write!(digits, "{byte:02x}").unwrap_or(());
        digits
    }))
}
