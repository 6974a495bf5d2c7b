//! Arguments that decide which records a source gives, as the journal of a store has them.

use std::collections::BTreeMap;

use clap::ValueEnum;

use super::args::{FormArgs, GameReadArgs, ReadArgs};
use crate::cli::values::word;

/// The values of the arguments that decide which records a source gives, by name. The journal of a store keeps
/// them. The code names every argument of reading, so that a new argument cannot be forgotten.
pub(crate) fn of_reading(read: &ReadArgs) -> BTreeMap<String, String> {
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
        ("--where", wanted.filter_text().map(String::from)),
    ];
    arguments.into_iter().filter_map(|(name, value)| Some((name.to_string(), value?))).collect()
}

/// The value of a flag: empty if it is set.
fn flag(is_set: bool) -> Option<String> {
    is_set.then(String::new)
}

/// The word of a value on the command line.
pub(crate) fn value(value: &impl ValueEnum) -> Option<String> {
    Some(value.to_possible_value()?.get_name().to_string())
}
