//! Text for people: notes and errors on standard error, colours, and the characters that the
//! terminal can show.

use std::borrow::Cow;
use std::env;
use std::ffi::OsString;
use std::fmt::{self, Write as _};
use std::io::{self, IsTerminal, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use clap::{ColorChoice, ValueEnum};
use serde::Serialize;

static COLOR: Mutex<ColorChoice> = Mutex::new(ColorChoice::Auto);

/// Value of `--color` on a command line; invalid values are refused with all other options.
fn color_choice(args: &[OsString]) -> Option<ColorChoice> {
    let mut words = args.iter().map_while(|arg| (arg != "--").then(|| arg.to_str().unwrap_or("")));
    while let Some(word) = words.next() {
        let value = if word == "--color" { words.next() } else { word.strip_prefix("--color=") };
        if let Some(choice) = value.and_then(|value| ColorChoice::from_str(value, false).ok()) {
            return Some(choice);
        }
    }
    None
}

/// Takes the choice of colours from a command line. If the command line has no choice, the earlier
/// choice stays; the first choice is automatic.
pub(crate) fn choose_color(args: &[OsString]) -> ColorChoice {
    let mut color = COLOR.lock().unwrap_or_else(PoisonError::into_inner);
    *color = color_choice(args).unwrap_or(*color);
    *color
}

/// Whether to write colours; by default only to a terminal, unless `NO_COLOR` is set
/// (https://no-color.org).
pub(crate) fn wants_color(is_terminal: bool) -> bool {
    match *COLOR.lock().unwrap_or_else(PoisonError::into_inner) {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto => {
            is_terminal && env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        }
    }
}

/// Characters that are shown unchanged.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Letters {
    All,
    /// ASCII characters; others become `?`.
    Ascii,
}

impl Letters {
    /// All letters, or only ASCII letters if the stream is a terminal with the locale `C` or `POSIX`. Text
    /// for files and pipes is unchanged.
    pub(crate) fn of(stream: &impl IsTerminal) -> Letters {
        if stream.is_terminal() { Letters::of_terminal() } else { Letters::All }
    }

    /// Characters of a terminal: all, unless the locale is `C` or `POSIX`.
    pub(crate) fn of_terminal() -> Letters {
        match locale().as_str() {
            "c" | "posix" => Letters::Ascii,
            _ => Letters::All,
        }
    }
}

/// The name of the locale that decides the charset (`LC_CTYPE`), in lower case; empty if no variable
/// names a locale.
fn locale() -> String {
    let mut values =
        ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().filter_map(|name| env::var(name).ok());
    values.find(|value| !value.is_empty()).unwrap_or_default().to_lowercase()
}

/// The text with its control characters as escapes: `\n`, `\x1b`, `\u{9b}`.
pub(crate) fn escaped(text: &str, letters: Letters) -> Cow<'_, str> {
    let is_all_shown = letters == Letters::All || text.is_ascii();
    if is_all_shown && !text.contains(char::is_control) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    text.chars().for_each(|letter| push(&mut out, letter, letters));
    Cow::Owned(out)
}

fn push(out: &mut String, letter: char, letters: Letters) {
    let pushed = match letter {
        '\u{80}'.. if letters == Letters::Ascii => out.write_char('?'),
        '\n' => out.write_str("\\n"),
        '\r' => out.write_str("\\r"),
        '\t' => out.write_str("\\t"),
        '\0'..='\x7f' if letter.is_control() => write!(out, "\\x{:02x}", u32::from(letter)),
        _ if letter.is_control() => write!(out, "\\u{{{:x}}}", u32::from(letter)),
        _ => out.write_char(letter),
    };
    // Writing to a string never fails.
    pushed.unwrap_or_default();
}

/// Escapes lines of bytes for a terminal. Line ends and tabs stay; other control characters and
/// bytes that are not UTF-8 become escapes, or `?` if only ASCII is shown.
pub(crate) struct Lines {
    letters: Letters,
    /// The first bytes of a character whose other bytes have not come yet.
    rest: Vec<u8>,
}

impl Lines {
    /// Begins at the start of the first line.
    pub(crate) const fn new(letters: Letters) -> Lines {
        Lines { letters, rest: Vec::new() }
    }

    /// Escapes the next bytes.
    pub(crate) fn escaped(&mut self, bytes: &[u8]) -> String {
        self.rest.extend_from_slice(bytes);
        let mut out = String::with_capacity(self.rest.len());
        let mut start = 0;
        loop {
            let rest = &self.rest[start..];
            let (text, wrong) = match str::from_utf8(rest) {
                Ok(text) => (text, None),
                Err(error) => {
                    let valid = str::from_utf8(&rest[..error.valid_up_to()]).unwrap_or_default();
                    (valid, error.error_len())
                }
            };
            for letter in text.chars() {
                match letter {
                    '\n' | '\t' => out.push(letter),
                    _ => push(&mut out, letter, self.letters),
                }
            }
            start += text.len();
            let Some(wrong) = wrong else { break };
            push_bytes(&mut out, &self.rest[start..start + wrong], self.letters);
            start += wrong;
        }
        self.rest.drain(..start);
        out
    }

    /// The escaped bytes of an incomplete character at the end.
    pub(crate) fn rest(&mut self) -> String {
        let mut out = String::new();
        push_bytes(&mut out, &std::mem::take(&mut self.rest), self.letters);
        out
    }
}

fn push_bytes(out: &mut String, bytes: &[u8], letters: Letters) {
    for byte in bytes {
        match letters {
            Letters::All => write!(out, "\\x{byte:02x}").unwrap_or_default(),
            Letters::Ascii => out.push('?'),
        }
    }
}

static QUIET: AtomicBool = AtomicBool::new(false);

/// The settings for printing text. They are restored after each command of a shell.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct PrintSettings {
    color: ColorChoice,
    is_quiet: bool,
    prints_json: bool,
}

impl PrintSettings {
    /// The settings in force.
    pub(crate) fn current() -> PrintSettings {
        let color = *COLOR.lock().unwrap_or_else(PoisonError::into_inner);
        PrintSettings { color, is_quiet: is_quiet(), prints_json: prints_json() }
    }

    /// Puts the settings in force again.
    pub(crate) fn restore(self) {
        *COLOR.lock().unwrap_or_else(PoisonError::into_inner) = self.color;
        QUIET.store(self.is_quiet, Ordering::Relaxed);
        JSON.store(self.prints_json, Ordering::Relaxed);
    }
}

/// Turns off all notes; errors are still printed.
pub(crate) fn be_quiet() {
    QUIET.store(true, Ordering::Relaxed);
}

/// Whether notes are left out.
pub(crate) fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

static JSON: AtomicBool = AtomicBool::new(false);

/// Form of what is printed on standard error.
#[derive(ValueEnum, Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum MessageForm {
    /// Lines for people.
    Text,
    /// One JSON object per line.
    Json,
}

pub(crate) fn print_messages_as_json() {
    JSON.store(true, Ordering::Relaxed);
}

/// Whether messages are JSON objects.
pub(crate) fn prints_json() -> bool {
    JSON.load(Ordering::Relaxed)
}

static STDOUT_CLOSED: AtomicBool = AtomicBool::new(false);

/// Remembers that the reader of standard output closed it.
pub(crate) fn note_closed_stdout() {
    STDOUT_CLOSED.store(true, Ordering::Relaxed);
}

/// Whether the reader of standard output closed it.
pub(crate) fn is_stdout_closed() -> bool {
    STDOUT_CLOSED.load(Ordering::Relaxed)
}

/// Whether standard output was already closed when the process began.
static STDOUT_MISSING: AtomicBool = AtomicBool::new(false);

/// Whether standard output was already closed when the process began. Rust then opens `/dev/null` in
/// its place, and no write fails.
pub(crate) fn is_stdout_missing() -> bool {
    STDOUT_MISSING.load(Ordering::Relaxed)
}

/// Remembers that standard output is closed. Only code that runs before the runtime of Rust can see
/// this; afterwards a program that was started with `/dev/null` looks the same.
#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
extern "C" fn examine_stdout() {
    // SAFETY: `F_GETFD` reads the flags of a descriptor and changes nothing. It is an error if the
    // descriptor is closed.
    if unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) } == -1 {
        STDOUT_MISSING.store(true, Ordering::Relaxed);
    }
}

// SAFETY: the section has pointers to functions with the C calling convention, which the loader calls
// once before `main`. The function needs nothing that `main` or the runtime prepares.
#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
#[used]
#[unsafe(link_section = ".init_array")]
static EXAMINE_STDOUT: extern "C" fn() = examine_stdout;

/// A message about the whole run (`--messages json`).
#[derive(Serialize)]
struct Message<'t> {
    severity: &'static str,
    message: &'t str,
}

/// Prints a summary, a warning or a hint. Failure to print it is ignored.
pub(crate) fn print_note(text: fmt::Arguments<'_>) {
    if !is_quiet() {
        print_line(&text.to_string());
    }
}

/// Prints a line on standard error, even with `--quiet`. Control characters, which file names and
/// data may contain, are escaped.
pub(crate) fn print_line(text: &str) {
    if prints_json() {
        return print_object(&Message { severity: "note", message: text });
    }
    let err = io::stderr();
    let letters = Letters::of(&err);
    writeln!(err.lock(), "{}", escaped(text, letters)).ok();
}

/// Prints the error that ends a command.
pub(crate) fn print_error(text: &str) {
    if prints_json() {
        print_object(&Message { severity: "error", message: text })
    } else {
        print_line(&format!("epdb: error: {text}"))
    }
}

/// Prints a JSON object on standard error. Failure to print it is ignored.
pub(crate) fn print_object(object: &impl Serialize) {
    if let Ok(line) = serde_json::to_string(object) {
        writeln!(io::stderr().lock(), "{line}").ok();
    }
}

/// A number with its noun, `1 record` or `2 records`.
pub(crate) fn many<N: fmt::Display + PartialEq + From<u8>>(count: N, noun: &str) -> String {
    let is_one = count == N::from(1);
    format!("{count} {}", of_number(is_one, noun))
}

/// The names of files; of many, the first two and the number of the others.
pub(crate) fn shortened(names: &[impl AsRef<str>]) -> String {
    let shown = if names.len() > 3 { &names[..2] } else { names };
    let mut text = shown.iter().map(AsRef::as_ref).collect::<Vec<_>>().join(", ");
    if shown.len() < names.len() {
        text += &format!(" and {} more", names.len() - shown.len());
    }
    text
}

/// A noun in the singular or the plural.
pub(crate) fn of_number(is_one: bool, noun: &str) -> String {
    match noun.strip_suffix('y') {
        _ if is_one => noun.to_string(),
        Some(stem) => format!("{stem}ies"),
        None => format!("{noun}s"),
    }
}

/// Counts for the end of a summary line, each after a comma; counts of 0 are left out.
pub(crate) fn listed_counts(counts: &[(u64, &str)]) -> String {
    let counts = counts.iter().filter(|(count, _)| *count > 0);
    counts.map(|(count, what)| format!(", {count} {what}")).collect()
}

/// Calls [`print_note`] with a format string and its arguments.
macro_rules! note {
    ($($text:tt)*) => { $crate::cli::terminal::print_note(format_args!($($text)*)) };
}
pub(crate) use note;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_shown_and_letters_stay() {
        let shown = |text| escaped(text, Letters::All).into_owned();
        assert_eq!(shown("Zürich.epd"), "Zürich.epd");
        assert_eq!(shown("a\x1b[31m\u{9b}0m\x07\x7f\n\t"), r"a\x1b[31m\u{9b}0m\x07\x7f\n\t");
        assert_eq!(escaped("Zü\u{9b}rich\t♔", Letters::Ascii), "Z??rich\\t?");
    }

    #[test]
    fn nouns_agree_with_their_numbers() {
        let entries = [(0_u64, "0 entries"), (1, "1 entry"), (2, "2 entries")];
        for (count, expected) in entries {
            assert_eq!(many(count, "entry"), expected);
        }
        assert_eq!((many(1_u64, "ply"), many(3_u64, "ply")), ("1 ply".into(), "3 plies".into()));
        assert_eq!((many(1_u32, "game"), many(0_u32, "game")), ("1 game".into(), "0 games".into()));
    }

    #[test]
    fn lines_are_escaped_wherever_they_are_cut() {
        let bytes = b"a\tb\nZ\xc3\xbcrich \xc2\x9b1m \x9b \x1b]0;\x07\r\n\xe2\x82";
        let expected = "a\tb\nZürich \\u{9b}1m \\x9b \\x1b]0;\\x07\\r\n\\xe2\\x82";
        let ascii = "a\tb\nZ?rich ?1m ? \\x1b]0;\\x07\\r\n??";
        for (letters, expected) in [(Letters::All, expected), (Letters::Ascii, ascii)] {
            for cut in 0..=bytes.len() {
                let mut lines = Lines::new(letters);
                let (first, second) = bytes.split_at(cut);
                let shown = lines.escaped(first) + &lines.escaped(second) + &lines.rest();
                assert_eq!(shown, expected, "{cut}");
            }
        }
    }
}
