//! Words of other programs that clap cannot say as they are.

use std::ffi::OsString;

/// The command line in the spelling of epdb: `head -5` is `head -n 5`.
pub(crate) fn translated(args: Vec<OsString>) -> Vec<OsString> {
    let is_word = |arg: &OsString| !arg.as_encoded_bytes().starts_with(b"-");
    let command = args.iter().skip(1).find(|arg| is_word(arg));
    if command.is_some_and(|command| command == "head") { with_count(args) } else { args }
}

/// `-5` as `-n 5`, before `--`.
fn with_count(args: Vec<OsString>) -> Vec<OsString> {
    let mut is_file = false;
    let spelled = args.into_iter().map(|arg| {
        is_file |= arg == "--";
        match arg.to_str().and_then(|arg| arg.strip_prefix('-')) {
            Some(count) if !is_file && is_number(count) => format!("-n{count}").into(),
            _ => arg,
        }
    });
    spelled.collect()
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_other_programs_are_translated() {
        for (line, expected) in [
            ("epdb head -5 a.epd", "epdb head -n5 a.epd"),
            ("epdb -q head a.epd -12", "epdb -q head a.epd -n12"),
            ("epdb head -- -5", "epdb head -- -5"),
            ("epdb head -", "epdb head -"),
            ("epdb sort -5", "epdb sort -5"),
        ] {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let words = translated(words).join(&OsString::from(" "));
            assert_eq!(words.to_str(), Some(expected), "{line}");
        }
    }
}
