//! The library of a player.

use std::sync::Arc;

use super::asked::Asked;
use crate::codec::tally_origin::TallyOrigin;
use crate::model::Color;
use crate::server::answer::Refusal;
use crate::server::app::App;
use crate::server::sources::Served;

/// The source that was tallied for a player with a color; the one that is named, where one is.
pub(super) fn library(app: &App, asked: &Asked) -> Result<Arc<Served>, Refusal> {
    let (player, color) = asked.player()?;
    let sources = match asked.source(app) {
        Some(named) => vec![app.source(Some(named))?],
        None => app.sources.all(),
    };
    let is_of = |served: &Arc<Served>| {
        served
            .origin()
            .is_some_and(|origin| Player::of(origin).is_some_and(|it| it.is(player, color)))
    };
    let color = color_name(color);
    sources.into_iter().find(is_of).ok_or_else(|| {
        Refusal::not_found(format!(
            "no library of {player} with {color}: `epdb tally GAMES --player {} --color {color} -o LIBRARY` makes one to \
             serve",
            in_quotes(player)
        ))
    })
}

/// A word as a shell takes it.
fn in_quotes(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// Whose games a library counts: what `tally --player --color` said.
#[derive(PartialEq, Eq, Debug)]
struct Player<'a> {
    /// The names, with semicolons between.
    names: &'a str,
    color: &'a str,
}

impl Player<'_> {
    /// `None` where it counts those of all players, or of both colors.
    fn of(origin: &TallyOrigin) -> Option<Player<'_>> {
        // The last argument may hold anything.
        let settings = origin.settings.split("--where ").next()?;
        let value = |name: &str| {
            let value = settings.split_once(name)?.1;
            value.split(" --").next().map(str::trim)
        };
        let player = Player { names: value("--player ")?, color: value("--color ")? };
        (!origin.is_mixed).then_some(player)
    }

    fn is(&self, name: &str, color: Color) -> bool {
        let is_name = |own: &str| own.trim().to_lowercase() == name.to_lowercase();
        self.color == color_name(color) && self.names.split(';').any(is_name)
    }
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
    fn whose_games_are_counted_is_read_of_the_settings() {
        let of = |settings: &str, is_mixed| {
            let settings = settings.to_string();
            let origin = TallyOrigin { settings, is_mixed, ..TallyOrigin::default() };
            Player::of(&origin).map(|it| (it.names.to_string(), it.color.to_string()))
        };
        let both = |names: &str, color: &str| Some((names.to_string(), color.to_string()));
        let settings =
            "--by year --player Carlsen, Magnus;DrNykterstein --color white --same-game moves";
        assert_eq!(of(settings, false), both("Carlsen, Magnus;DrNykterstein", "white"));
        assert_eq!(of(settings, true), None);
        assert_eq!(of("--player Euwe --same-game moves", false), None);
        assert_eq!(of("--same-game moves --where Site = '--player X --color white'", false), None);
        let player = Player { names: "Euwe, Max;drmax", color: "black" };
        assert!(player.is("DrMax", Color::Black) && player.is("euwe, max", Color::Black));
        assert!(!player.is("Max", Color::Black) && !player.is("drmax", Color::White));
    }
}
