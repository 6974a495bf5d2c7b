//! Tags of games: names, the roster, the limit of their number. `text::pgn::tags` has the rules for
//! values and for tags that must agree.

/// The names of the seven tag roster, in the order of the export format.
pub const SEVEN_TAG_ROSTER: [&str; 7] =
    ["Event", "Site", "Date", "Round", "White", "Black", "Result"];

/// Values of the roster tags for unknown facts.
pub const UNKNOWN_TAG_VALUES: [&str; 7] = ["?", "?", "????.??.??", "?", "?", "?", "*"];

pub(super) const RESULT: usize = 6;

/// The index of a tag in the seven tag roster; `None` if it is not in the roster.
pub(super) fn place_in_roster(name: &str) -> Option<usize> {
    Some(match name {
        "Event" => 0,
        "Site" => 1,
        "Date" => 2,
        "Round" => 3,
        "White" => 4,
        "Black" => 5,
        "Result" => RESULT,
        _ => return None,
    })
}

/// Whether a tag may have this name: 1 to 255 printing ASCII characters, except quotes, brackets
/// and signs that have a meaning between tags. The standard allows only letters, digits and
/// underscores. A name that is a well-known one with additional signs, such as `White-Elo`, is not
/// valid: readers repair this misspelling.
pub fn is_tag_name(name: &str) -> bool {
    (1..=255).contains(&name.len())
        && name.bytes().all(is_tag_name_byte)
        && without_signs(name.as_bytes()).is_none_or(|name| !is_well_known_tag(&name))
}

/// A name without its signs: only its letters, digits and underscores. `None` if it has no signs.
pub(crate) fn without_signs(name: &[u8]) -> Option<String> {
    let is_letter = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    if name.iter().all(is_letter) {
        return None;
    }
    Some(name.iter().copied().filter(is_letter).map(char::from).collect())
}

pub(crate) const fn is_tag_name_byte(byte: u8) -> bool {
    byte.is_ascii_graphic()
        && !matches!(
            byte,
            b'"' | b'[' | b']' | b'(' | b')' | b'{' | b'}' | b';' | b'<' | b'>' | b'%'
        )
}

/// The maximum number of tags of a game, not counting the seven tag roster.
pub const MAX_TAGS: usize = 4096;

/// Tags that games often have: these names are never taken for misspelt ones.
pub const WELL_KNOWN_TAGS: [&str; 41] = [
    "Annotator",
    "Black",
    "BlackElo",
    "BlackFideId",
    "BlackNA",
    "BlackRatingDiff",
    "BlackTeam",
    "BlackTitle",
    "BlackType",
    "BlackUSCF",
    "Date",
    "ECO",
    "Event",
    "EventDate",
    "EventSponsor",
    "EventType",
    "FEN",
    "GameId",
    "NIC",
    "Opening",
    "PlyCount",
    "Result",
    "Round",
    "SetUp",
    "Site",
    "Source",
    "SourceDate",
    "SubVariation",
    "Termination",
    "TimeControl",
    "UTCDate",
    "UTCTime",
    "Variant",
    "Variation",
    "White",
    "WhiteElo",
    "WhiteFideId",
    "WhiteNA",
    "WhiteRatingDiff",
    "WhiteTeam",
    "WhiteTitle",
];

/// Whether games often have a tag of this name.
pub fn is_well_known_tag(name: &str) -> bool {
    let of_white = name.strip_prefix("White").map(|rest| format!("Black{rest}"));
    WELL_KNOWN_TAGS.contains(&of_white.as_deref().unwrap_or(name))
}
