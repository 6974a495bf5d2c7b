//! The library of a player.

use super::query::ExplorerQuery;
use crate::{Explorer, Refusal, Served};
use epdb_chess::codec::tally_settings::TallySettings;
use epdb_chess::model::Color;

/// The source with the games of the player with the colour. If the query names a source, only this
/// source is considered.
pub(super) fn library<'e>(
    explorer: &'e Explorer,
    query: &ExplorerQuery,
) -> Result<&'e Served, Refusal> {
    let (player, color) = query.player()?;
    let sources = match query.source(explorer) {
        Some(named) => std::slice::from_ref(explorer.source(Some(named))?),
        None => &explorer.sources,
    };
    let is_of = |served: &&Served| served.settings().is_some_and(|it| is_of(it, player, color));
    let color = color_name(color);
    sources.iter().map(|served| &**served).find(is_of).ok_or_else(|| {
        Refusal::not_found(format!(
            "no library of {player} with {color}: `epdb tally GAMES --player {} --side {color} -o LIBRARY` makes one to \
             serve",
            in_quotes(player)
        ))
    })
}

/// A word quoted for a shell.
fn in_quotes(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// Whether a library counts exactly the games that a player played with a colour.
fn is_of(settings: &TallySettings, player: &str, color: Color) -> bool {
    let is_name = |own: &String| own.to_lowercase() == player.to_lowercase();
    settings.color == Some(color) && settings.players.iter().any(is_name)
}

const fn color_name(color: Color) -> &'static str {
    match color {
        Color::White => "white",
        Color::Black => "black",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_is_of_its_player_with_a_color() {
        let players = ["Euwe, Max", "drmax"].map(String::from).to_vec();
        let black =
            TallySettings { players, color: Some(Color::Black), ..TallySettings::default() };
        assert!(is_of(&black, "DrMax", Color::Black) && is_of(&black, "euwe, max", Color::Black));
        assert!(!is_of(&black, "Max", Color::Black) && !is_of(&black, "drmax", Color::White));
        let both = TallySettings { color: None, ..black };
        assert!(!is_of(&both, "drmax", Color::Black) && !is_of(&both, "drmax", Color::White));
    }
}
