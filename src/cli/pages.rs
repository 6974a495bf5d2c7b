//! Pages of `epdb help` that describe no single command.

use epdb::library::field::BUILTIN_FIELDS;
use epdb::text::codes::{self, Code};

const SOURCES_PAGE: &str = "\
Every command that reads records also reads these, plain, as .gz and as .zst. formats/sources.md says
what becomes of each part, and where it was seen whose view the scores are.

Evaluations of lichess    lichess_db_eval.jsonl: told by its begin or .jsonl, else --from jsonl
  acd, acn, ce, pv        depth, nodes, score and line of the deepest analysis. The file has White's
                          view, ce is that of the side to move (--score-view mover: the file too)
Puzzles of lichess        lichess_db_puzzle.csv: told by its header, else --from csv. Columns go by the
                          names in the header; an unknown one is left out with a warning
  position                the one after the first move, which is the opponent's
  bm, pv, id              the first move and the whole solution, the PuzzleId
  rating, rating_dev, popularity, plays
                          the columns of numbers: op(rating) and so on in --where
  c0, c1, c2, DailyDate   themes, URL of the game, opening tags, when it was the puzzle of the day
Opening books             of Polyglot, .bin, else --from bin. A book has keys and no positions: they are
                          looked for by its moves from the start array (`epdb help book list`)
  bm, c0                  the moves with a weight over 0; all moves with their weights
Scores of chessdb         lines such as `FEN ; 23;` and `FEN ; cdb eval: 23, ply: 6;`: with --labels
  ce, cdb_ply             the score, which is that of the side to move; plies from the start array
Evaluations in games      [%eval 0.34], [%eval #-3,20] in comments: with --game-evals
  ce, acd                 of the position behind which the comment stands; White's view in the game
Engines in games          {+0.35/20 1.2s}, {-M8/30 0.5s} of cutechess and fastchess: with --game-evals
  ce, acd                 of the position before the move behind which it stands; the mover's view

Examples:
  epdb convert lichess_db_eval.jsonl.zst evaluations.epa
  epdb filter lichess_db_puzzle.csv.zst --where 'op(rating) >= 2500 && pieces <= 8' -o hard.epd
  epdb get evaluations.epa '1. e4 c5 2. Nf3'
  epdb convert book.bin book.epd
  epdb convert scored.epd scores.epb --labels
  epdb convert lichess_db_standard_rated.pgn.zst evals.epd --game-evals --where 'has(ce)'
";

/// The page of `epdb help sources`.
pub(crate) fn sources_page() -> String {
    SOURCES_PAGE.into()
}

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

/// The page of `epdb help where`.
pub(crate) fn where_page() -> String {
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

const TOURNAMENT_HEAD: &str = "\
A tournament is a file in TOML; only two players must be there. Paths are as seen from where epdb is started.

";

/// All but a few keys at work.
const TOURNAMENT_EXAMPLE: &str = include_str!("../../tests/examples/tournament.toml");

const TOURNAMENT_REST: &str = "
Other keys
  challengers = 1             of a gauntlet: so many of the first players meet all others
  tie-breaks = 4              of a knockout: so often a level encounter gets two games more; then the first goes on
  sprt = { elo0 = 0, elo1 = 5, alpha = 0.05, beta = 0.05, model = \"logistic\" }   of two players, or \"normalized\"
  serial = [\"/dev/ttyS0\", \"/dev/ttyS1\"]   two lines with a client at each, in place of listen
  eco = [\"a.tsv\", \"b.tsv\"]   names as of `epdb name`: games get the tags ECO, Opening and Variation
  syzygy = { path = \"DIR:DIR\", pieces = 7, ignore-50 = false }   tablebases decide games behind moves

Without openings games begin from the start array. Openings are positions or games in any format that is
read (`epdb help sources`); those in which nobody can move are left out with a warning; by-round = true gives
all games of a round the same one. In an hourglass (\"*180\") one side gets what the other uses. nodes = N and
depth = PLIES, for all or of a player, limit the search; without a time no clock decides then. Who is left
over in a round of a Swiss tournament gets the points of an encounter; the first of a knockout are free in
the first round. Unless they are said, silences are 5 s, and none where all players are engines. max-moves
and from-move count the moves of each side, those of the opening too. Elo, LOS and the sequential test are
of pairs of games from one opening, of single games only where there is no pair at all.

On one line: -engine, -each (cmd= name= dir= arg= option.NAME= tc= st= nodes= depth=; of -each also timemargin=
in ms), -games, -rounds, -repeat, -concurrency, -openings, -draw (movenumber=0 movecount=8 score=10), -resign
(movecount=3 score=1000 twosided=false), -maxmoves, -sprt, -pgnout, -log, -event, -site, -srand, -tournament,
-seeds, -recover, -listen, -quick, -eco, -tb, -tbpieces, -tbignore50; others without effect are told.
";

/// The page of `epdb help tournament`.
pub(crate) fn tournament_page() -> String {
    [TOURNAMENT_HEAD, TOURNAMENT_EXAMPLE, TOURNAMENT_REST].concat()
}

const JSON_PAGE: &str = "\
--json prints one object a line. Names of objects' fields are only ever added to.

Values of fields and operations (table, diff, and conflicts of dedupe and union)
  integer opcodes (acn acs ce dm fmvn hmvc rc tcgs), WhiteElo ..., pieces, ply ...   numbers
  move opcodes (am bm pm pv sm sv), also in uci()                 arrays of strings, of one too
  strings (id c0-c9 v0-v9 eco nic), tags, dates, fen, material ...  strings
  opcodes without operands (resign draw_offer ...), check, mate ...   true or false
  other standard opcodes (cc noop ptp tcri tcsi ts ...)   one string, blanks between the operands
  acd, private opcodes (Depth, op(x)), tags that are not common   an unquoted operand is a number
                                                  where it reads as one; all else is a string
  what a record lacks                                             null

Objects
  table      one a record: the names of --columns as they were given
  diff       kind: removed, added (place, record) or changed (old_place, new_place, old, new,
             changes: texts, operations: opcode, old, new)
  dedupe, union --conflicts FILE
             first, second: places FILE:LINE; operations: opcode, first, second
  stats      records, white_to_move, ..., opcodes: counts by opcode; of games: games, white_wins,
             ..., tags: counts by tag
  registers  one a record: file, line, fragment (from 1), epd (the position), c, v: arrays of ten, eco, nic;
             null and an empty string differ
  moves      ordinal, san, uci
  explore    white, draws, black, unknown, reached, moves: uci (castling: king takes rook), san,
             averageRating (of the mover), averageOpponentRating, performance, white, draws, black,
             unknown, years, ce, reached, operations, moves; parents: fen, uci, san, white, draws,
             black, reached; operations; opening; what is not known is left out, but opening is null
  games      id, uci, san, winner (null for a draw), result, white, black: name, rating; year, month,
             date, event; what is not known is left out
  perft      place, depth, nodes; expected and agrees where the record has the count
  book list  one an entry: book, key (hexadecimal), fen, uci, san, weight, share (of the weights of
             its position), learn; fen and san are null where the position is not known
  book info  one a book: book, entries, positions, reached_by_book_moves, unknown_positions, ...
  repertoire first part: summary, positions, reached, marked, behind_marked, covered (share of the
             library's games), games, within, never; then one a finding: part (choice, unanswered,
             leaf, unreached, own-move, other-move, line-end), games, share, ply, line, move, moves,
             first (the place of a game), fen; what there is not is left out
  report     part report: verdict, notes, runs, problems, cooks; then parts run (scored, solved, share,
             interval, points, nodes, ms, ce, solved_within_ms, facts ...), theme, pair (only_first,
             only_second, mcnemar_p, holm_p, points_interval ...) and problem (id, fen, bm, am, cook,
             results: one a run, with verdict, answer, points, ce, nodes, ms, first, held, error, defect);
             --tsv has the results in columns, ce_more, nodes_more, ms_more against the first run
  referee    one a player: rank, player, points, games, wins, draws, losses, sonneborn_berger, elo, elo_error,
             nelo, los, pairs (by points 0, 1/2 ... 2), against: player, games, points; null without a bound
  import     file, read, stored, dropped, replaced, merged, conflicts

Bytes that are no UTF-8 become U+FFFD. Whole numbers keep all their digits, up to 2^64 - 1.
";

/// The page of `epdb help json`.
pub(crate) fn json_page() -> String {
    JSON_PAGE.into()
}

const COMPAT_PAGE: &str = "\
Canonical EPD keeps what was written: mate targets, several strings, operands of unknown opcodes.
Some programs refuse such a line as a whole. --compat NAME writes text that they read; how many
operations that changed is said at the end.

--compat python-chess    every line can be given to chess.Board.from_epd
  counters               always hmvc and fmvn, never fields 5 and 6, which python-chess takes for
                         an operation (--counters drop leaves them out)
  bm #5                  dm 5, where the record has no dm
  moves of am, bm, pv    as they are, if all are legal; otherwise one string
  one legal move         as it is (pm, sm, an sv of one move)
  one number             as it is, also in private opcodes
  one string             as it is, but a backslash, which would be an escape, is doubled
  no operands            as they are: python-chess has [] or None
  everything else        one string with the operands as they were, quotes as apostrophes:
                         noop \"a\" \"b\" is written noop \"'a' 'b'\", am #3 is written am \"#3\"
  castling in Chess960   one string, as from_epd does not castle so without chess960=True
With --format fen the output is six fields and no operations; read it with chess.Board(line).
--format fen+ops and --counters fen put fields where python-chess expects operations, and are
refused beside --compat python-chess.

The default output is canonical and stays what the standard says; nothing in it is left out for
the sake of a program.
";

/// The page of `epdb help compat`.
pub(crate) fn compat_page() -> String {
    COMPAT_PAGE.into()
}

/// Options that have to do with a code.
const OPTIONS: [(&str, &str); 14] = [
    (codes::E_EPD_LABEL, "--labels, --score-view white|mover"),
    (codes::E_EPD_PERFT, "--perft"),
    (codes::E_EPD_LINELEN, "--max-line BYTES"),
    (codes::W_CONS_MATED, "--revision 1994"),
    (codes::W_LEN_MOVES, "--keep-moves"),
    (codes::W_LEN_NOTATION, "normalize --repair-moves"),
    (codes::W_LEN_MOVE, "normalize --repair-moves"),
    (codes::E_PGN_SIZE, "--max-game BYTES"),
    (codes::E_PGC_SIZE, "--max-game BYTES"),
    (codes::W_LEN_LATIN1, "--charset CHARSET"),
    (codes::E_PGC_COMMENT, "--ext, --lossy"),
    (codes::E_PGC_NULL, "--ext"),
    (codes::E_PGC_CHARSET, "--translit"),
    (codes::E_PGN_NONCANON, "--profile lenient"),
];

/// The page of a code, in any letter case.
pub(crate) fn code_page(code: &str) -> Option<String> {
    codes::find(code).map(text_of_code)
}

fn text_of_code(entry: &Code) -> String {
    let Code { code, meaning, done, example, advice } = entry;
    let mut page = format!("{code}: {meaning}; {done}.\n");
    if *example != "…" {
        page += &format!("\nExample: {example}\n");
    }
    page += &format!("\nTo do: {advice}.\n");
    if let Some((_, options)) = OPTIONS.iter().find(|(known, _)| known == code) {
        page += &format!("Options: {options}\n");
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

    #[test]
    fn every_code_has_a_page() {
        for entry in codes::ALL {
            let page = code_page(&entry.code.to_lowercase());
            assert!(page.is_some_and(|page| page.starts_with(entry.code)));
        }
        assert_eq!(code_page("head"), None);
    }
}
