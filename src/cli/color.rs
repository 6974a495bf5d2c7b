//! Whether what is printed has colours.

use std::env;
use std::ffi::OsString;
use std::sync::OnceLock;

use clap::{ColorChoice, ValueEnum};

static CHOICE: OnceLock<ColorChoice> = OnceLock::new();

/// What `--color` of a command line asks for; what it must not be is refused where all options are.
pub(crate) fn asked(args: &[OsString]) -> ColorChoice {
    let mut words = args.iter().map_while(|arg| (arg != "--").then(|| arg.to_str().unwrap_or("")));
    while let Some(word) = words.next() {
        let value = if word == "--color" { words.next() } else { word.strip_prefix("--color=") };
        if let Some(choice) = value.and_then(|value| ColorChoice::from_str(value, false).ok()) {
            return choice;
        }
    }
    ColorChoice::Auto
}

/// From now on this decides.
pub(crate) fn choose(choice: ColorChoice) {
    CHOICE.get_or_init(|| choice);
}

/// Whether colours go where `is_terminal` says that a terminal is: where nothing is said, unless
/// `NO_COLOR` is set, as https://no-color.org has it.
pub(crate) fn is_wanted(is_terminal: bool) -> bool {
    match CHOICE.get() {
        Some(ColorChoice::Always) => true,
        Some(ColorChoice::Never) => false,
        _ => is_terminal && env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()),
    }
}
