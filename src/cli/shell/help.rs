//! What the shell says about its commands.

use super::programs;
use epdb::library::kit::Verb;

/// The commands, a line each.
pub(super) fn list() -> String {
    let width = Verb::all().map(|verb| verb.usage().len()).max().unwrap_or_default();
    let mut text = String::new();
    for verb in Verb::all() {
        text += &format!("{:<width$}  {}\n", verb.usage(), verb.about());
    }
    text + "Any other line is moves. `#` begins a comment. Names with blanks stand in quotes."
}

/// One command.
pub(super) fn of(name: &str) -> anyhow::Result<String> {
    let Some(verb) = Verb::named(name) else {
        let near = Verb::nearest(name);
        let near = near.map(|verb| format!("; is it `{}`?", verb.name()));
        let advice = near.unwrap_or_else(|| ": `help` lists what there is".into());
        anyhow::bail!("there is no command `{name}`{advice}");
    };
    let mut text = format!("{}: {}", verb.usage(), verb.about());
    if let Some(alias) = verb.alias() {
        text += &format!("; also `{alias}`");
    }
    if let Some(command) = programs::command(verb) {
        text += &format!("\nOPTION is one of `epdb {command}`; `epdb help {command}` tells them.");
    }
    Ok(text)
}
