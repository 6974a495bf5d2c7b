//! `epdb help where`: the page about the language of `--where`.

use epdb::library::field::BUILTIN_FIELDS;

/// Worked examples: an expression, and which records it takes.
pub(crate) const EXAMPLES: [(&str, &str); 12] = [
    ("pieces <= 7", "endings that tablebases know"),
    ("has(bm) && !illegal(bm)", "records with a best move that can be played"),
    ("abs(ce) <= 50 && fmvn < 20", "level positions from the opening"),
    ("'Qg6' in bm || 'g3g6' in bm", "one best move, in any spelling"),
    ("pm in bm", "problems whose answer is right"),
    ("id ~ '^WAC\\.0' && id != 'WAC.023'", "ids by a pattern, one left out"),
    ("material in ['KRPkr', 'KRkrp']", "rook and pawn against rook, either way"),
    ("stm == 'b' && check && legal_moves == 1", "Black is in check and has one way out"),
    ("result == '1/2-1/2' && ce:white > 150", "draws that White was winning"),
    ("White ~ '^Carlsen' && elo_min >= 2600", "games of a player against strong ones"),
    ("Date >= '2020' && speed in ['rapid', 'classical']", "games of a time, and not too fast"),
    ("file ~ 'sts' && line > 100 && !(castling == '-')", "by source, and with castling rights"),
];

const GRAMMAR: &str = "\
An expression says which records are taken: epdb filter, and --where on every command that reads.

Values
  12  -0.5            numbers
  'Nf3'  \"a b\"        texts, in single or double quotes, without escapes
  bm  ce  id  Depth   any opcode of the standard, and private ones that begin with a capital;
                      op(NAME) for all others
  White  Date  ECO    any tag of a game that begins with a capital; tag(NAME) for all others
  uci(bm)             the moves of an opcode in coordinates
  ce:white            ce as White sees it (ce is seen by the side to move)
  abs(ce)             a number without its sign

Tests
  ==  !=  <  <=  >  >=   compare; texts are ordered naturally: WAC.2 before WAC.10
  id ~ 'PATTERN'         the text contains something that fits a regular expression
  id in ['a', 'b']       one of a list
  'e4' in bm  pm in bm   one of the moves; SAN or coordinates, with or without check marks
  has(bm)                the record has it
  illegal(bm)            a move of am, bm, pm, pv, sm or sv cannot be played
  check                  a flag stands by itself
  !  &&  ||  ( )         not, and, or; && binds closer than ||

A comparison with something that a record lacks is false, != too. Operands of opcodes outside the
standard are numbers where they read as one. hmvc and fmvn are found as operations and as the
fields of a six-field FEN. Types are checked before the first record is read, and so are names: an
unknown name in small letters, or one that looks like a slip of the pen, is an error. A tag or
private opcode that no record has is said at the end.

Tags of games
Games have them, the positions that are taken out of games, and records that keep them as ptp. A
name that begins with a capital is a tag, and where there is no such tag a private opcode. A tag
that is empty or says ? is missing.
  White  Event  ECO ...       texts
  WhiteElo  PlyCount ...      numbers: names that end in Elo, Rating, RatingDiff, USCF, PlyCount
  Date  UTCDate  EventDate    dates: names that end in Date; compared with 'YYYY.MM.DD', 'YYYY.MM'
                              or 'YYYY', which mean a day, a month, a year: Date == '1992',
                              Date < '1992.06'. What missing parts leave open is false:
                              1992.??.?? is neither < nor >= '1992.06', but it is < '1993'.
Other tags are numbers where they read as one. speed is that of lichess.org, by the time for forty
moves: ultraBullet below 30 seconds, bullet below 3 minutes, blitz below 8, rapid below 25,
classical below 6 hours, correspondence. Of a game that is taken as a game (--games, count, stats,
an output that is .pgn or .pgc) the fields of positions are those of its last position.

Fields that are no opcodes (also for table --columns and sort --by)
";

/// The whole page.
pub(crate) fn page() -> String {
    let mut page = String::from(GRAMMAR);
    for (name, _, meaning) in BUILTIN_FIELDS {
        page.push_str(&format!("  {name:<13}{meaning}\n"));
    }
    page.push_str("\nExamples (in a shell, put the expression into quotes)\n");
    for (expression, meaning) in EXAMPLES {
        page.push_str(&format!("  {expression:<50}{meaning}\n"));
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;
    use epdb::library::expression::Expression;

    #[test]
    fn every_example_is_an_expression() {
        for (expression, _) in EXAMPLES {
            assert_eq!(Expression::parse(expression).err(), None);
        }
    }
}
