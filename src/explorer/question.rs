//! The questions that the explorer answers.

#[cfg(feature = "search")]
use crate::search;
use crate::{Answer, Explorer, Refusal, games, lichess, parse_query, position, record, sources};

/// A question: a path of the server.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Question {
    /// `/api/sources`: the sources.
    Sources,
    /// `/api/position`: everything that a source knows of a position, and the legal moves.
    Position,
    /// `/api/games`: the games that a source lists for a position.
    Games,
    /// `/api/line`: typed moves as a line.
    Line,
    /// `/api/record`: a record by number.
    Record,
    /// `/api/game`: a stored game by id.
    Game,
    /// `/api/search`: games by an expression.
    #[cfg(feature = "search")]
    Search,
    /// `/masters`: the moves of a position, as lichess.org sends them.
    Masters,
    /// `/lichess`: the same with more filters.
    Lichess,
    /// `/lichess/history`: the games of a position by month.
    History,
    /// `/player`: the moves of a position in the library of a player.
    Player,
}

impl Question {
    /// The question at the path `/api/NAME` or `/NAME` of the server.
    pub fn named(name: &str) -> Option<Question> {
        Some(match name {
            "sources" => Question::Sources,
            "position" => Question::Position,
            "games" => Question::Games,
            "line" => Question::Line,
            "record" => Question::Record,
            "game" => Question::Game,
            #[cfg(feature = "search")]
            "search" => Question::Search,
            "masters" => Question::Masters,
            "lichess" => Question::Lichess,
            "lichess/history" => Question::History,
            "player" => Question::Player,
            _ => return None,
        })
    }

    /// True if the answer takes next to no time: the source that it is of has an index and is on this machine.
    pub fn is_quick(self, explorer: &Explorer, query: &str) -> bool {
        let served = match self {
            Question::Sources | Question::Line => return true,
            Question::Masters => lichess::source(explorer, query, "masters"),
            Question::Lichess | Question::History => lichess::source(explorer, query, "lichess"),
            Question::Player => lichess::library_of_player(explorer, query),
            _ => return false,
        };
        served.is_ok_and(|served| served.lookup().has_index() && !served.lookup().is_remote())
    }

    /// Answers the query of an address.
    ///
    /// # Errors
    /// The query is not valid, asks for something that does not exist, or a source cannot be read.
    pub fn answer(self, explorer: &Explorer, query: &str) -> Result<Answer, Refusal> {
        match self {
            Question::Sources => Answer::new(&sources::sources(explorer)),
            Question::Position => Answer::new(&position::position(explorer, parse_query(query)?)?),
            Question::Games => Answer::new(&games::games(explorer, &parse_query(query)?)?),
            Question::Line => Answer::new(&record::line(&parse_query(query)?)?),
            Question::Record => Answer::new(&record::record(explorer, &parse_query(query)?)?),
            Question::Game => Answer::new(&record::game(explorer, &parse_query(query)?)?),
            #[cfg(feature = "search")]
            Question::Search => Answer::new(&search::search(explorer, &parse_query(query)?)?),
            Question::Masters => lichess::masters(explorer, query),
            Question::Lichess => lichess::lichess(explorer, query),
            Question::History => lichess::history(explorer, query),
            Question::Player => lichess::player(explorer, query),
        }
    }
}

impl Explorer {
    /// The game with this id in PGN: of the named source, else of the source for `/masters`, else of any.
    ///
    /// # Errors
    /// There is no such game, or a source cannot be read.
    pub fn pgn_of_game(&self, id: &str, query: &str) -> Result<Vec<u8>, Refusal> {
        lichess::game(self, id, query)
    }
}
