//! Arguments that decide which records a source gives or counts, in the form that files store.

use clap::ValueEnum;

use super::args::{FormArgs, GameReadArgs, ReadArgs};
use crate::cli::values::word;

/// Arguments that decide which records a source gives, as written on the command line. The journal
/// of a store keeps them. The code names every argument of reading, so that a new argument cannot
/// be forgotten.
pub(crate) fn of_reading(read: &ReadArgs) -> String {
    let ReadArgs { wanted, form, .. } = read;
    let FormArgs {
        profile,
        revision,
        labels,
        score_view,
        perft,
        keep_moves,
        repair_moves: _,
        mates,
        max_line,
        from,
        charset,
        rejects: _,
        repairs: _,
        deny_warnings,
        allow_rejects: _,
        all_warnings: _,
        threads: _,
        games,
    } = form;
    let GameReadArgs {
        positions,
        variations,
        game_tags,
        game_openings,
        game_evals,
        language,
        max_game,
        truncate_games,
    } = games;
    let arguments = [
        ("--profile", word(profile)),
        ("--revision", value(revision)),
        ("--labels", flag(*labels)),
        ("--score-view", score_view.as_ref().and_then(word)),
        ("--perft", flag(*perft)),
        ("--keep-moves", flag(*keep_moves)),
        ("--mates", word(mates)),
        ("--max-line", max_line.map(|bytes| bytes.to_string())),
        ("--from", from.as_ref().and_then(word)),
        ("--deny-warnings", flag(*deny_warnings)),
        ("--positions", positions.as_ref().map(ToString::to_string)),
        ("--variations", flag(*variations)),
        ("--game-tags", flag(*game_tags)),
        ("--game-openings", flag(*game_openings)),
        ("--game-evals", flag(*game_evals)),
        ("--language", Some(language.name().to_string())),
        ("--charset", charset.map(|charset| charset.name().to_string())),
        ("--max-game", Some(max_game.to_string())),
        ("--truncate-games", flag(*truncate_games)),
        // This argument is the last one, because it may hold any text.
        ("--where", wanted.filter_text().map(String::from)),
    ];
    spelled(&arguments)
}

/// Options with their values, as one text. A value may be empty.
fn spelled(options: &[(&str, Option<String>)]) -> String {
    let option = |(name, value): &(&str, Option<String>)| match value.as_deref()? {
        "" => Some(name.to_string()),
        value => Some(format!("{name} {value}")),
    };
    options.iter().filter_map(option).collect::<Vec<String>>().join(" ")
}

/// The names and values of arguments that [`spelled`] wrote. The value of `--where`, the last one, may
/// hold any text.
pub(crate) fn options(spelled: &str) -> Vec<(&str, &str)> {
    let (others, filter) = match spelled.find("--where ") {
        Some(place) => (&spelled[..place], Some(("where", &spelled[place + "--where ".len()..]))),
        None => (spelled, None),
    };
    let option = |text| {
        let (name, value) = str::split_once(text, ' ').unwrap_or((text, ""));
        (name, value.trim_end())
    };
    let others = others.split("--").map(str::trim).filter(|text| !text.is_empty()).map(option);
    others.chain(filter).collect()
}

/// Difference between the arguments of two imports, as a phrase: the arguments of the earlier import
/// that differ, then those that only the later import has.
pub(crate) fn difference(earlier: &str, later: &str) -> String {
    let earlier = options(earlier);
    let later = options(later);
    let counts_games = |options: &[(&str, &str)]| options.first() == Some(&("tally", ""));
    match (counts_games(&earlier), counts_games(&later)) {
        (false, true) => return "as positions, without --tally".to_string(),
        (true, false) => return "with --tally".to_string(),
        _ => {}
    }
    let shown = |(name, value): &(&str, &str)| format!("--{name} {value}").trim_end().to_string();
    let changed = earlier.iter().filter(|option| !later.contains(option)).map(shown);
    let is_new = |(name, _): &&(&str, &str)| earlier.iter().all(|(other, _)| other != name);
    let new = later.iter().filter(is_new).map(shown);
    let phrases = [("with", changed.collect::<Vec<_>>()), ("without", new.collect())];
    let phrases = phrases.iter().filter(|(_, options)| !options.is_empty());
    let phrases = phrases.map(|(word, options)| format!("{word} {}", options.join(" ")));
    phrases.collect::<Vec<_>>().join(", ")
}

/// The value of a flag: empty if it is set.
fn flag(is_set: bool) -> Option<String> {
    is_set.then(String::new)
}

/// The word of a value on the command line.
pub(crate) fn value(value: &impl ValueEnum) -> Option<String> {
    Some(value.to_possible_value()?.get_name().to_string())
}
