//! Criteria for duplicate games, and ids of games.

use super::date::Date;
use epdb_chess::codec::packed;
use epdb_chess::model::rules::Move;
use epdb_chess::model::{Game, Role, Square};
use epdb_chess::text::pgn::{self, PgnFormatOptions};

pub use epdb_chess::codec::tally_settings::SameGame;

/// Number of plies below which different games often have the same moves.
const SHORT_GAME_PLIES: usize = 20;

/// First bytes of the keys of [`SameGame::Auto`].
const UNIQUE_ID: u8 = 1;
const OTHER_ID: u8 = 2;
const SHORT_GAME: u8 = 3;
const LONG_GAME: u8 = 4;

/// First bytes of a hash of the key of [`SameGame::Auto`].
pub(super) fn digest_of(game: &Game) -> [u8; 16] {
    let id = SiteId::from_game(game);
    let hash = blake3::hash(&game_key(SameGame::Auto, game, id.as_ref()));
    let mut digest = [0; 16];
    digest.copy_from_slice(&hash.as_bytes()[..16]);
    digest
}

/// Bytes for comparison: two games have the same bytes exactly if they are equal by a criterion.
pub(super) fn game_key(same: SameGame, game: &Game, id: Option<&SiteId>) -> Vec<u8> {
    // The main line of a long game fits into this capacity.
    let mut key = Vec::with_capacity(512);
    match (same, id) {
        (SameGame::Exact, _) => return export_format(game),
        (SameGame::Players, _) => put_tags(game, &["White", "Black"], &mut key),
        (SameGame::Moves, _) => {}
        (SameGame::Auto, Some(SiteId::Unique(id))) => {
            key.push(UNIQUE_ID);
            key.extend_from_slice(id.as_bytes());
            return key;
        }
        (SameGame::Auto, Some(SiteId::Other(id))) => {
            key.push(OTHER_ID);
            put_text(id, &mut key);
        }
        (SameGame::Auto, None) if game.plies().nth(SHORT_GAME_PLIES - 1).is_none() => {
            key.push(SHORT_GAME);
            put_tags(game, &["White", "Black", "Round", "UTCTime"], &mut key);
        }
        (SameGame::Auto, None) => key.push(LONG_GAME),
    }
    put_text(date(game).unwrap_or_default(), &mut key);
    put_tags(game, &["Result"], &mut key);
    put_main_line(game, &mut key);
    key
}

/// Whether all games with this id count as equal, even if their moves differ.
pub(super) fn goes_by_id(same: SameGame, id: Option<&SiteId>) -> bool {
    same == SameGame::Auto && matches!(id, Some(SiteId::Unique(_)))
}

/// The game as PGN, `%` lines included.
pub(super) fn export_format(game: &Game) -> Vec<u8> {
    let mut text = Vec::with_capacity(1024);
    // This cannot fail, because UTF-8 can express every game.
    pgn::format(game, &PgnFormatOptions { escapes: true, ..Default::default() }, &mut text).ok();
    text
}

fn put_tags(game: &Game, names: &[&str], out: &mut Vec<u8>) {
    names.iter().for_each(|name| put_text(game.tag(name).unwrap_or_default(), out));
}

fn put_text(text: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(text.as_bytes());
    // No tag has a control character.
    out.push(0);
}

/// The start position of a game and its moves, as bytes.
pub(super) fn main_line(game: &Game) -> Vec<u8> {
    // The main line of a long game fits into this capacity.
    let mut bytes = Vec::with_capacity(512);
    put_main_line(game, &mut bytes);
    bytes
}

fn put_main_line(game: &Game, out: &mut Vec<u8>) {
    out.extend_from_slice(packed::encode(&game.start().position.identity()).as_bytes());
    game.plies().for_each(|ply| out.extend_from_slice(&ply_bytes(ply)));
}

/// The tag `Date`. If it has no year and the game has the tag `UTCDate`, the tag `UTCDate`.
fn date(game: &Game) -> Option<&str> {
    let date = game.tag("Date");
    let has_year = date.and_then(|date| Date::parse(date.as_bytes())?.year()).is_some();
    if has_year { date } else { game.tag("UTCDate").or(date) }
}

pub(super) fn ply_bytes(ply: Option<Move>) -> [u8; 2] {
    // Zeros cannot be a move, because a move never stays on its square.
    let Some(mv) = ply else { return [0; 2] };
    let promotion = mv.promotion.map_or(0, |role: Role| role as u8 + 1);
    let squares = (mv.from.index() as u16) << 6 | mv.to.index() as u16;
    (u16::from(promotion) << 12 | squares).to_be_bytes()
}

/// The move with these [`ply_bytes`]; `None` if there is no such move.
pub(super) fn move_from_bytes(bytes: [u8; 2]) -> Option<Move> {
    let bits = u16::from_be_bytes(bytes);
    let square = |shift: u16| Square::new((bits >> shift & 63) as u8);
    let promotion = match bits >> 12 {
        0 => None,
        number => Some(*Role::ALL.get(usize::from(number) - 1)?),
    };
    Some(Move { from: square(6)?, to: square(0)?, promotion })
}

/// The id of a game, from the tags `GameId`, `GameURL`, `Link` and `Site`.
///
/// ```
/// use epdb_library::same_game::SiteId;
/// use epdb_chess::model::GameBuilder;
/// let id = |tag, value| {
///     let mut builder = GameBuilder::new();
///     builder.set_tag(tag, value)?;
///     Ok::<_, Box<dyn std::error::Error>>(SiteId::from_game(&builder.finish()?))
/// };
/// let lichess = Some(SiteId::Unique("lichess.org/q7ZvsdUF".into()));
/// assert_eq!(id("Site", "https://lichess.org/q7ZvsdUF/black#12")?, lichess);
/// assert_eq!(id("GameId", "q7ZvsdUF")?, lichess);
/// assert_eq!(id("GameId", "4711")?, Some(SiteId::Other("4711".into())));
/// assert_eq!(id("Site", "https://lichess.org")?, None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum SiteId {
    /// Id of a game of lichess.org or chess.com. These sites never reuse an id.
    Unique(String),
    /// Any other value of `GameId`, `GameURL` or `Link`. Different collections may use the same
    /// ids.
    Other(String),
}

impl SiteId {
    /// Returns the id of a game in its normal form, so that all spellings of an id are equal:
    ///
    /// - `lichess.org/abcdefgh` for the URL of a game on lichess.org, whatever its scheme,
    ///   subdomain, colour, move and parameters; also for a `GameId` of 8 letters and digits with
    ///   at least one letter. An id of 12 characters has 4 more for the player, so only its first 8
    ///   count.
    /// - `lichess.org/broadcast/abcdefgh` for the URL of a game of a broadcast.
    /// - `chess.com/live/123` for the URL of a game on chess.com, with the words of its path in any
    ///   order; also for `daily`, `computer` and `view`, which have numbers of their own.
    /// - Any other URL in `GameURL` or `Link`, if it has a path: without scheme, without `www.` and
    ///   without a slash at its end, and with its host in lower case. Any other `GameId` as it is.
    ///
    /// `Site` has an id only if it is the URL of a game of lichess.org or chess.com. If several tags have
    /// ids, the first id of lichess.org or chess.com counts. If there is no such id, the first id counts.
    pub fn from_game(game: &Game) -> Option<SiteId> {
        let values = ["GameId", "GameURL", "Link"].map(|name| game.tag(name).unwrap_or_default());
        let [id, ..] = values;
        let mut urls = values.into_iter().chain(game.tag("Site"));
        if let Some(unique) = player_game(id).or_else(|| urls.find_map(unique_of_url)) {
            return Some(SiteId::Unique(unique));
        }
        values.into_iter().find_map(other).map(SiteId::Other)
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        let (SiteId::Unique(id) | SiteId::Other(id)) = self;
        id
    }
}

/// A URL without scheme and `www.`.
struct Url<'a> {
    /// The host, in lower case.
    host: String,
    path: &'a str,
    /// Parameters and fragment, with the sign that begins them.
    rest: &'a str,
}

impl<'a> Url<'a> {
    fn parse(text: &'a str) -> Option<Url<'a>> {
        let url = text.trim();
        let address = without_prefix(url, "https://").or_else(|| without_prefix(url, "http://"));
        let address = address.unwrap_or(url);
        let address = without_prefix(address, "www.").unwrap_or(address);
        let (host, behind) =
            address.split_at(address.find(['/', '?', '#']).unwrap_or(address.len()));
        let (path, rest) = behind.split_at(behind.find(['?', '#']).unwrap_or(behind.len()));
        let is_host = host.contains('.') && !host.contains(char::is_whitespace);
        is_host.then(|| Url { host: host.to_ascii_lowercase(), path, rest })
    }
}

fn without_prefix<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let (start, rest) = text.split_at_checked(prefix.len())?;
    start.eq_ignore_ascii_case(prefix).then_some(rest)
}

fn unique_of_url(text: &str) -> Option<String> {
    let url = Url::parse(text)?;
    let steps: Vec<&str> = url.path.split('/').filter(|step| !step.is_empty()).collect();
    match url.host.as_str() {
        "chess.com" => chess_com_game(&steps),
        host if host == "lichess.org" || host.ends_with(".lichess.org") => lichess_game(&steps),
        _ => None,
    }
}

fn lichess_game(steps: &[&str]) -> Option<String> {
    match steps {
        ["broadcast", _, _, _, id] => Some(format!("lichess.org/broadcast/{}", lichess_id(id)?)),
        ["game", "export", id] => lichess_id(id.strip_suffix(".pgn").unwrap_or(id)).map(lichess),
        [id] | [id, "white" | "black"] | ["embed", id] | ["embed", "game", id] => {
            lichess_id(id).map(lichess)
        }
        _ => None,
    }
}

fn lichess(id: &str) -> String {
    format!("lichess.org/{id}")
}

/// The id of a game of lichess.org, if the text is only an id. A text of digits only is the number
/// of a game in some other collection.
fn player_game(id: &str) -> Option<String> {
    let id = lichess_id(id.trim()).filter(|id| id.bytes().any(|byte| byte.is_ascii_alphabetic()));
    id.map(lichess)
}

/// Pages of lichess.org whose paths look like ids of games.
const LICHESS_PAGES: [&str; 6] =
    ["analysis", "features", "practice", "streamer", "timeline", "training"];
/// Length of the id of a game on lichess.org. A player of the game sees a longer id, of 12
/// characters.
const LICHESS_ID: usize = 8;
const LICHESS_PLAYER_ID: usize = 12;

fn lichess_id(text: &str) -> Option<&str> {
    let is_id = [LICHESS_ID, LICHESS_PLAYER_ID].contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && !LICHESS_PAGES.contains(&text);
    if is_id { text.get(..LICHESS_ID) } else { None }
}

fn chess_com_game(steps: &[&str]) -> Option<String> {
    let (kind, number) = match steps {
        ["game", kind, number] | [kind, "game", number] | ["analysis", "game", kind, number] => {
            (*kind, number)
        }
        ["games", "view", number] => ("view", number),
        _ => return None,
    };
    let kind = match kind {
        "livechess" => "live",
        "echess" => "daily",
        kind => kind,
    };
    let is_known = ["live", "daily", "computer", "view"].contains(&kind);
    let is_number = number.bytes().all(|byte| byte.is_ascii_digit());
    (is_known && is_number).then(|| format!("chess.com/{kind}/{number}"))
}

/// The id of a game in another site or collection.
fn other(text: &str) -> Option<String> {
    let text = text.trim();
    if ["", "?", "-"].contains(&text) {
        return None;
    }
    let Some(Url { host, path, rest }) = Url::parse(text) else { return Some(text.to_string()) };
    let path = path.trim_end_matches('/');
    (!path.is_empty() || !rest.is_empty()).then(|| format!("{host}{path}{rest}"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use epdb_chess::model::GameBuilder;

    fn id(tags: &[(&str, &str)]) -> Option<SiteId> {
        let mut builder = GameBuilder::new();
        for (name, value) in tags {
            builder.set_tag(name, value).unwrap();
        }
        SiteId::from_game(&builder.finish().unwrap())
    }

    #[test]
    fn all_spellings_of_an_id_are_equal() {
        for (unique, spellings) in [
            (
                "lichess.org/abcdefgh",
                &[
                    ("GameId", "abcdefgh"),
                    ("GameId", "abcdefghWXYZ"),
                    ("GameURL", "lichess.org/abcdefgh"),
                    ("Link", "HTTPS://Lichess.ORG/abcdefgh/"),
                    ("Site", "https://lichess.org/abcdefgh"),
                    ("Site", "http://www.lichess.org/abcdefghWXYZ"),
                    ("Site", "https://de.lichess.org/abcdefgh"),
                    ("Site", "https://lichess.org/abcdefgh/white#12"),
                    ("Site", "https://lichess.org/abcdefgh#12"),
                    ("Site", "https://lichess.org/embed/game/abcdefgh?theme=auto"),
                    ("Site", "https://lichess.org/game/export/abcdefgh.pgn"),
                ][..],
            ),
            ("lichess.org/12345678", &[("Site", "https://lichess.org/12345678")]),
            (
                "lichess.org/broadcast/abcdefgh",
                &[
                    ("GameURL", "https://lichess.org/broadcast/-/-/RoundIds/abcdefgh"),
                    ("Site", "https://lichess.org/broadcast/cup/round-1/RoundIds/abcdefgh"),
                ],
            ),
            (
                "chess.com/live/123",
                &[
                    ("Link", "https://www.chess.com/game/live/123"),
                    ("Link", "https://www.chess.com/live/game/123"),
                    ("Link", "http://chess.com/livechess/game/123"),
                    ("GameURL", "https://www.chess.com/analysis/game/live/123?tab=review"),
                    ("Site", "https://www.chess.com/game/live/123?move=4"),
                ],
            ),
            ("chess.com/daily/123", &[("Link", "https://www.chess.com/game/daily/123")]),
        ] {
            for tag in spellings {
                assert_eq!(id(&[*tag]), Some(SiteId::Unique(unique.into())), "{tag:?}");
            }
        }
    }

    #[test]
    fn values_that_are_no_ids() {
        for tag in [
            ("GameId", ""),
            ("GameId", "?"),
            ("GameId", "-"),
            ("GameURL", "https://lichess.org"),
            ("Link", "https://www.chess.com/"),
            ("Site", "?"),
            ("Site", "Chess.com"),
            ("Site", "abcdefgh"),
            ("Site", "lichess.org"),
            ("Site", "https://lichess.org/"),
            ("Site", "https://lichess.org/analysis"),
            ("Site", "https://lichess.org/training/abcde"),
            ("Site", "https://lichess.org/study/abcdefgh"),
            ("Site", "https://lichess.org/study/abcdefgh/ijklmnop"),
            ("Site", "https://lichess.org/tournament/abcdefgh"),
            ("Site", "https://www.chess.com/tournament/live/cup-123"),
            ("Site", "https://www.chess.com/game/live/cup"),
            ("Site", "https://example.com/games/1"),
            ("Site", "Düsseldorf"),
        ] {
            assert_eq!(id(&[tag]), None, "{tag:?}");
        }
    }

    #[test]
    fn ids_of_others_stand_as_they_are() {
        for (tag, other) in [
            (("GameId", " 4711 "), "4711"),
            (("GameId", "12345678"), "12345678"),
            (("GameURL", "https://www.Example.com/Games/1/"), "example.com/Games/1"),
            (("Link", "http://example.com?id=1"), "example.com?id=1"),
            (
                ("Link", "https://lichess.org/study/abcdefgh/ijklmnop"),
                "lichess.org/study/abcdefgh/ijklmnop",
            ),
        ] {
            assert_eq!(id(&[tag]), Some(SiteId::Other(other.into())), "{tag:?}");
        }
    }

    #[test]
    fn an_id_of_a_site_goes_before_that_of_a_collection() {
        let site = ("Site", "https://lichess.org/abcdefgh");
        let unique = Some(SiteId::Unique("lichess.org/abcdefgh".into()));
        for tag in
            [("GameId", "2043515532234752"), ("Link", "https://example.com/1"), ("GameId", "?")]
        {
            assert_eq!(id(&[tag, site]), unique, "{tag:?}");
        }
        let link = ("Link", "https://example.com/1");
        assert_eq!(id(&[("GameId", "7"), link]), Some(SiteId::Other("7".into())));
    }
}
