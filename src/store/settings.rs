//! Settings of imports: the value of each by its name. The journal has them as a text in JSON.

use std::collections::BTreeMap;

/// The text of settings in the journal. Equal settings have equal texts.
pub(super) fn text(settings: &BTreeMap<String, String>) -> String {
    if settings.is_empty() {
        return String::new();
    }
    // Texts always have a form in JSON.
    serde_json::to_string(settings).unwrap_or_default()
}

/// The settings of a text in the journal. The text of a program with another spelling counts as one setting
/// without a value.
pub fn settings_of(text: &str) -> BTreeMap<String, String> {
    match serde_json::from_str(text) {
        Ok(settings) => settings,
        Err(_) if text.is_empty() => BTreeMap::new(),
        Err(_) => BTreeMap::from([(text.to_string(), String::new())]),
    }
}

/// The settings of an earlier import that differ from those of a later one, as a phrase: the settings that
/// changed, then those that only the later import has.
pub fn difference(earlier: &str, later: &BTreeMap<String, String>) -> String {
    let earlier = settings_of(earlier);
    let changed = earlier.iter().filter(|(name, value)| later.get(*name) != Some(value));
    let new = later.iter().filter(|(name, _)| !earlier.contains_key(*name));
    let mut phrases = Vec::new();
    for (word, options) in [("with", words(changed)), ("without", words(new))] {
        if !options.is_empty() {
            phrases.push(format!("{word} {options}"));
        }
    }
    phrases.join(", ")
}

/// Settings as on a command line. A setting without a value is a flag.
pub(super) fn words<'s>(settings: impl Iterator<Item = (&'s String, &'s String)>) -> String {
    let words = settings.flat_map(|(name, value)| [name.as_str(), value.as_str()]);
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(settings: &[(&str, &str)]) -> BTreeMap<String, String> {
        settings.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect()
    }

    #[test]
    fn differences_name_each_setting() {
        let lenient = of(&[("--profile", "lenient"), ("--where", "id == 'a --perft'")]);
        let strict = of(&[("--profile", "strict"), ("--tally", "")]);
        let cases = [
            (text(&lenient), &lenient, ""),
            (text(&lenient), &of(&[]), "with --profile lenient --where id == 'a --perft'"),
            (text(&of(&[])), &strict, "without --profile strict --tally"),
            (text(&strict), &of(&[("--profile", "strict")]), "with --tally"),
            ("--profile x".into(), &strict, "with --profile x, without --profile strict --tally"),
        ];
        for (earlier, later, expected) in cases {
            assert_eq!(difference(&earlier, later), expected, "{earlier}");
        }
        assert_eq!(settings_of(&text(&lenient)), lenient);
        assert_eq!(text(&of(&[])), "");
    }
}
