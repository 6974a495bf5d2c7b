//! Messages of an arbiter to the players of a game.

use super::game::GameInPlay;
use crate::board::{GameBoard, Place};
use crate::outcome::Outcome;
use crate::settings::Tournament;
use crate::time_control::TimeControl;
use crate::wire::{Command, Directive};
use epdb_chess::model::Color;

fn at(command: Command, place: &Place) -> Directive {
    Directive {
        halfmove_clock: Some(place.halfmove_clock),
        fullmove_number: Some(place.fullmove_number),
        ..Directive::new(command, place.position)
    }
}

pub(super) fn tags(tournament: &Tournament, game: &GameInPlay, player: usize) -> Directive {
    let name = |player: usize| tournament.players.get(player).map_or("?", |player| &player.name);
    let mut tags = vec![
        ("Event", tournament.event.clone()),
        ("Site", tournament.site.clone()),
        ("Date", game.date.clone()),
        ("Round", tournament.round_tag(&game.pairing)),
        ("White", name(game.pairing.white).to_string()),
        ("Black", name(game.pairing.black).to_string()),
        ("Result", "*".to_string()),
    ];
    let time = tournament.time_of(player);
    if *time != TimeControl::Unlimited {
        tags.push(("TimeControl", time.tag()));
    }
    let tags = tags.into_iter().map(|(name, value)| (name.to_string(), value)).collect();
    Directive { tags, ..Directive::new(Command::Inform, game.board.start().position) }
}

/// The moves that a player must know before it or its opponent is asked for a move; each move is
/// one message.
pub(super) fn history(game: &GameInPlay, color: Color) -> Vec<Directive> {
    let moves = game.board.moves();
    let known =
        if game.board.turn() == color { moves.len().saturating_sub(1) } else { moves.len() };
    let mut board = GameBoard::new(&game.opening.start);
    let mut said = Vec::with_capacity(known);
    for mv in &moves[..known] {
        let Some(board) = &mut board else { break };
        said.push(Directive { mv: Some(*mv), ..at(Command::Execute, &board.place()) });
        board.play(*mv);
    }
    said
}

/// The request to the player on move.
pub(super) fn respond(tournament: &Tournament, game: &GameInPlay) -> Directive {
    let color = game.board.turn();
    let place = game.board.place();
    let before = game.board.before().unwrap_or(&place);
    let mut directive = at(Command::Respond, before);
    directive.mv = game.board.moves().last().copied();
    directive.draw_offer = game.offer == Some(!color);
    directive.draw_reject = game.refused == Some(color);
    directive.used = Some(game.clocks.used());
    directive.left = game.clocks.told(color);
    directive.left.search = tournament.search_of(game.mover());
    directive
}

/// The messages with the result and the end of a game.
pub(super) fn last_words(game: &GameInPlay, outcome: &Outcome) -> [Directive; 2] {
    let position = game.board.place().position;
    let result = ("Result".to_string(), outcome.result.to_string());
    let inform = Directive { tags: vec![result], ..Directive::new(Command::Inform, position) };
    [inform, Directive::new(Command::Conclude, position)]
}
