//! Words of other programs, and old ones of epdb, that clap cannot say as they are.

use std::ffi::OsString;

/// The commands whose `--color` was the player's.
const WITH_PLAYER: [&str; 3] = ["tally", "import", "book"];

/// The command line in the spelling of epdb, and what is to be said about it: `head -5` is
/// `head -n 5`, and `tally --color white` is `tally --side white`.
pub(crate) fn translated(args: Vec<OsString>) -> (Vec<OsString>, Option<String>) {
    match command(&args).and_then(|place| args[place].to_str()) {
        Some("head") => (with_count(args), None),
        Some(command) if WITH_PLAYER.contains(&command) => with_side(args),
        _ => (args, None),
    }
}

/// The place of the command: the first word that is no option, nor the value of one.
pub(crate) fn command(args: &[OsString]) -> Option<usize> {
    let mut places = 1..args.len();
    while let Some(place) = places.next() {
        if args[place] == "--color" {
            places.next();
        } else if !args[place].as_encoded_bytes().starts_with(b"-") {
            return Some(place);
        }
    }
    None
}

/// `--color white` as `--side white`.
fn with_side(mut args: Vec<OsString>) -> (Vec<OsString>, Option<String>) {
    let mut note = None;
    for place in 0..args.iter().position(|arg| arg == "--").unwrap_or(args.len()) {
        let (option, rest) = args[place..].split_at_mut(1);
        let Some(option_text) = option[0].to_str() else { continue };
        let next = rest.first().and_then(|next| next.to_str());
        let (value, side) = match option_text.strip_prefix("--color") {
            Some("") => (next, "--side".to_string()),
            Some(value) if value.starts_with('=') => (Some(&value[1..]), format!("--side{value}")),
            _ => continue,
        };
        let Some(value) = value.filter(|value| ["white", "black", "w", "b"].contains(value)) else {
            continue;
        };
        note =
            Some(format!("--color {value} is --side {value} now; --color is about the terminal"));
        option[0] = side.into();
    }
    (args, note)
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
            ("epdb --color never head -1", "epdb --color never head -n1"),
            ("epdb head -- -5", "epdb head -- -5"),
            ("epdb head -", "epdb head -"),
            ("epdb sort -5", "epdb sort -5"),
            ("epdb tally --color white", "epdb tally --side white"),
            ("epdb book list --color=b a.bin", "epdb book list --side=b a.bin"),
            ("epdb tally --color never", "epdb tally --color never"),
            ("epdb tally -- --color white", "epdb tally -- --color white"),
            ("epdb sort --color white", "epdb sort --color white"),
        ] {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let (words, note) = translated(words);
            assert_eq!(note.is_some(), expected.contains("--side"), "{line}");
            let words = words.join(&OsString::from(" "));
            assert_eq!(words.to_str(), Some(expected), "{line}");
        }
    }
}
