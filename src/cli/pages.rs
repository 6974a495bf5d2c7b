//! Pages of `epdb help` that describe no single command.

use epdb::library::field::BUILTIN_FIELDS;
use epdb::text::codes::{self, Code};

const SOURCES_PAGE: &str = "\
Every command that reads records also reads these formats, plain, as .gz and as .zst. See
formats/sources.md for each field, and for the evidence of the view that the scores take.

Evaluations of lichess    lichess_db_eval.jsonl: recognised by content or .jsonl, else --from jsonl
  acd, acn, ce, pv        depth, nodes, score and line of the deepest analysis. The file gives scores from
                          White's view; ce gives them from the mover's (--score-view mover: the file does too)
Puzzles of lichess        lichess_db_puzzle.csv: recognised by its header, else --from csv. Columns are
                          found by name; unknown columns are ignored with a warning
  position                the one after the first move, which is the opponent's
  bm, pv, id              first move of the solution, whole solution, PuzzleId
  rating, rating_dev, popularity, plays
                          numeric columns: op(rating) and so on in --where
  c0, c1, c2, DailyDate   themes, URL of the game, opening tags, date as puzzle of the day
Opening books             Polyglot, .bin, else --from bin. A book stores keys, not positions; epdb
                          finds these by moves from the start position (`epdb help book list`)
  bm, c0                  moves with a weight over 0; all moves with their weights
Scores of chessdb         lines such as `FEN ; 23;` and `FEN ; cdb eval: 23, ply: 6;`: with --labels
  ce, cdb_ply             score, from the side to move; plies from the start position
Evaluations in games      [%eval 0.34], [%eval #-3,20] in comments: with --game-evals
  ce, acd                 of the position before the comment; the game gives them from White's view
Engines in games          {+0.35/20 1.2s}, {-M8/30 0.5s} of cutechess and fastchess: with --game-evals
  ce, acd                 of the position before the commented move; the mover's point of view

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

/// Examples: an expression, and the records that it selects.
pub(crate) const EXAMPLES: [(&str, &str); 12] = [
    ("pieces <= 7", "endgames covered by tablebases"),
    ("has(bm) && !illegal(bm)", "records with legal best moves"),
    ("abs(ce) <= 50 && fmvn < 20", "balanced positions from the opening"),
    ("'Qg6' in bm || 'g3g6' in bm", "one best move, in any spelling"),
    ("pm in bm", "problems answered correctly"),
    ("id ~ '^WAC\\.0' && id != 'WAC.023'", "ids that match a pattern, except one"),
    ("material in ['KRPkr', 'KRkrp']", "rook and pawn against rook, either way"),
    ("stm == 'b' && check && legal_moves == 1", "Black is in check and has one legal move"),
    ("result == '1/2-1/2' && ce:white > 150", "draws that White was winning"),
    ("White ~ '^Carlsen' && elo_min >= 2600", "games of a player with strong opponents"),
    (
        "Date >= '2020' && speed in ['rapid', 'classical']",
        "games from 2020 on that are not too fast",
    ),
    ("file ~ 'sts' && line > 100 && !(castling == '-')", "by source, and with castling rights"),
];

const GRAMMAR: &str = "\
An expression selects records: in `epdb filter`, and in --where of every command that reads.

Values
  12  -0.5            numbers
  'Nf3'  \"a b\"        text, in single or double quotes, without escapes
  bm  ce  id  Depth   any opcode of the standard or of engines (acms, solve_first, pv2 ...), and
                      private ones that begin with a capital; op(NAME) for all others
  White  Date  ECO    any tag of a game that begins with a capital; tag(NAME) for all others
  uci(bm)             the moves of an opcode in coordinates
  ce:white            ce from White's point of view (ce itself is the side to move's)
  abs(ce)             the absolute value of a number

Tests
  ==  !=  <  <=  >  >=   compare; text is ordered naturally: WAC.2 before WAC.10
  id ~ 'PATTERN'         some part of the text matches a regular expression
  id in ['a', 'b']       equals one of a list
  'e4' in bm  pm in bm   is one of the moves; SAN or coordinates, with or without check marks
  has(bm)                the record has the operation or tag
  illegal(bm)            a move of am, bm, pm, pv, sm or sv is illegal
  check                  a flag needs no comparison
  !  &&  ||  ( )         not, and, or; && binds closer than ||

A comparison with a missing value is false, also with !=. Operands of opcodes outside the standard
are numbers if they look like one. hmvc and fmvn are found as operations and as the fields of a
six-field FEN. Types and names are checked before the first record is read: an unknown name in
small letters, or one that looks like a typing error, is an error. A tag or private opcode that
occurs in no record is reported at the end.

Tags of games
Games have tags; so do the positions read from games, and records with tags in ptp. A name that
begins with a capital is a tag, or if the record has no such tag, a private opcode. A tag that is
empty or ? is missing.
  White  Event  ECO ...       text
  WhiteElo  PlyCount ...      numbers: names that end in Elo, Rating, RatingDiff, USCF, PlyCount
  Date  UTCDate  EventDate    dates: names that end in Date; compared with 'YYYY.MM.DD', 'YYYY.MM'
                              or 'YYYY', which mean a day, a month, a year: Date == '1992',
                              Date < '1992.06'. A comparison that depends on a missing part is
                              false: 1992.??.?? is neither < nor >= '1992.06', but < '1993'.
Other tags are numbers if they look like one. speed is the category of lichess.org, from the time for forty
moves: ultraBullet below 30 seconds, bullet below 3 minutes, blitz below 8, rapid below 25,
classical below 6 hours, correspondence. If games are read as games (--games, count, stats, .pgn or
.pgc output), the fields of positions are those of the last position.

If the output replaces an input, only `filter` may leave out records of it; other commands refuse.

Fields that are not opcodes (also for table --columns and sort --by)
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
A tournament is a TOML file; only two players are required. Paths are relative to the current folder.

";

/// A file that uses all but a few keys.
const TOURNAMENT_EXAMPLE: &str = include_str!("../../tests/examples/tournament.toml");

const TOURNAMENT_REST: &str = "
Other keys
  challengers = 1             gauntlet: this many of the first players meet all others
  tie-breaks = 4              knockout: at most this many pairs of extra games, then the player listed first advances
  sprt = { elo0 = 0, elo1 = 5, alpha = 0.05, beta = 0.05, model = \"logistic\" }   only two players; model may be \"normalized\"
  serial = [\"/dev/ttyS0\", \"/dev/ttyS1\"]   two serial lines with one client each, instead of listen
  eco = [\"a.tsv\", \"b.tsv\"]   names as for `epdb name`: games get the tags ECO, Opening and Variation
  syzygy = { path = \"DIR:DIR\", pieces = 7, ignore-50 = false }   after each move, tablebases may end the game

Without openings games begin from the start position. Openings are positions or games in any format that
epdb reads (`epdb help sources`); openings without a legal move are skipped with a warning. With by-round =
true all games of a round have the same opening. In an hourglass (\"*180\") a player gains the time that the
opponent uses. nodes = N and depth = PLIES, for all or for one player, limit the search; without a time
there is no clock. A bye in a Swiss tournament scores as if all its games were won; in a knockout,
the players listed first get the byes, all in the first round. The default of silences is 5 s, or none if all players are engines.
max-moves and from-move count the moves of each side, including those of the opening. Elo, LOS and SPRT use
pairs of games from one opening; single games only if there are no pairs.

cutechess options: -engine, -each (cmd= name= dir= arg= option.NAME= tc= st= nodes= depth=; -each also
timemargin= in ms), -games, -rounds, -repeat, -concurrency, -openings, -draw (movenumber=0 movecount=8 score=10),
-resign (movecount=3 score=1000 twosided=false), -maxmoves, -sprt, -pgnout, -log, -event, -site, -srand, -tournament,
-seeds, -recover, -listen, -quick, -eco, -tb, -tbpieces, -tbignore50. Other options are reported and ignored.
";

/// The page of `epdb help tournament`.
pub(crate) fn tournament_page() -> String {
    [TOURNAMENT_HEAD, TOURNAMENT_EXAMPLE, TOURNAMENT_REST].concat()
}

const JSON_PAGE: &str = "\
--json prints one object per line. Later versions may add fields but rename none.

Values of fields and operations (table, diff, and conflicts of dedupe and union)
  integer opcodes (acn acs ce dm fmvn hmvc rc tcgs), WhiteElo ..., pieces, ply ...   numbers
  move opcodes (am bm pm pv sm sv), also in uci()                 arrays of strings, also for one move
  strings (id c0-c9 v0-v9 eco nic), tags, dates, fen, material ...  strings
  opcodes without operands (resign draw_offer ...), check, mate ...   true or false
  other standard opcodes (cc noop ptp tcri tcsi ts ...)   one string, spaces between the operands
  acd, private opcodes (Depth, op(x)), uncommon tags   an unquoted operand that looks like a
                                                  number is a number; everything else is a string
  missing values                                                  null

Objects
  table      one per record: the names of --columns as they were given
  diff       kind: removed or added, with place, record; or changed, with old_place, new_place, old, new,
             changes (texts), operations (each with opcode, old, new)
  dedupe, union --conflicts FILE
             first, second: locations FILE:LINE; operations: opcode, first, second
  dedupe, union --list  first, first_id, other, other_id: locations and ids of records of one position;
             for games first, first_game, other, other_game: locations, and players, date and result
  stats      records, white_to_move, ..., opcodes: counts by opcode; for games: games, white_wins,
             ..., tags: counts by tag; for libraries without --census: records,
             file_bytes_per_record, libraries: file, settings, sources, repeated_games ...
  registers  one per record: file, line, fragment (from 1), epd (the position), c and v (arrays of
             ten), eco, nic; a register that is not set is null
  moves      ordinal, san, uci
  explore    white, draws, black, unknown, reached, weight (of all moves of a book), moves, parents,
             operations, opening (may be null); other unknown values are omitted
    moves    uci (castling: king takes rook), san, averageRating and performance (of the mover),
             averageOpponentRating, white, draws, black, unknown, weight, years, ce (for the mover),
             reached, operations, moves (in a tree)
    parents  fen, uci, san, white, draws, black, weight, reached
  openings   one per opening: fen, games, pairs, wins, draws, losses (of White), unknown, score, draw_rate,
             pentanomial (pairs by points 0, 1/2 ... 2 of the first of players); null without a result
  games      id, uci, san, winner (null for a draw), result, white, black: name, rating; year, month,
             date, event; unknown values are omitted
  count      count
  tally      file, games, duplicate_games, games_left_out, ..., plies, positions
  verify     one per file: file, verdict (no damage found, damaged, not checked), findings: texts,
             games_without_checksum
  backsolve  with --dry-run: positions, moves, solved, ..., largest: fen, before, after
  book make  file, entries, positions
  perft      of files: file, line, depth, nodes, expected, agrees (null if the record has no count);
             of a position: one per move: san, uci, nodes; then depth, nodes (of all moves)
  book list  one per entry: book, key (hexadecimal), fen, uci, san, weight, share (of the weights of
             its position), learn; fen and san are null if the position is unknown
  book info  one per book: book, entries, positions, reached_by_book_moves, unknown_positions, ...
  repertoire first one object with part summary: positions, reached, marked, behind_marked, covered (share
             of the library's games), games, within, never, from_set_up; then one object per finding with
             part choice, unanswered, leaf, unreached, own-move, other-move or line-end: games, share, ply,
             line, move, moves, first (the location of a game), fen, set_up; missing values are omitted
  report     part report: verdict, notes, runs, problems, cooks; then parts run (scored, solved, share,
             interval, points, nodes, ms, ce, solved_within_ms, facts ...), theme, pair (only_first,
             only_second, mcnemar_p, holm_p, points_interval ...) and problem (id, fen, bm, am, cook,
             results: one per run, with verdict, answer, points, ce, nodes, ms, first, held, error, defect);
             --tsv has the results in columns; ce_more, nodes_more, ms_more compare with the first run
  referee    one per player: rank, player, points, games, wins, draws, losses, sonneborn_berger, elo, elo_error,
             nelo, los, pairs (by points 0, 1/2 ... 2), against: player, games, points; null if infinite
  import     file, read, stored, dropped, replaced, merged, conflicts

Messages
  --messages json prints every message on standard error as an object: severity (error, warning, note),
  message; findings also have code, file, line, column. The last object of a command that reads has the
  severity summary, and games, records, skipped, cut_short, rejected, left_out, codes (findings by code);
  lost records of damaged archives.

Bytes that are not UTF-8 become U+FFFD. Whole numbers keep all their digits, up to 2^64 - 1.
";

/// The page of `epdb help json`.
pub(crate) fn json_page() -> String {
    JSON_PAGE.into()
}

const COMPAT_PAGE: &str = "\
Canonical EPD keeps mate targets (bm #5), operations with several strings, and the operands of unknown
opcodes. Some programs reject lines with these. --compat NAME writes text that such a program reads, and reports at the end
how many operations it changed.

--compat python-chess    chess.Board.from_epd reads every line
  counters               always hmvc and fmvn, never fields 5 and 6, which python-chess reads as
                         an operation (--counters drop omits them)
  bm #5                  dm 5, if the record has no dm
  moves of am, bm, pv    as they are, if all are legal; otherwise one string
  one legal move         as it is (pm, sm, an sv of one move)
  one number             as it is, also in private opcodes
  one string             as it is, with backslashes doubled, because they are escapes there
  no operands            as they are: python-chess reads [] or None
  everything else        one string with the operands as they were, quotes as apostrophes:
                         noop \"a\" \"b\" is written noop \"'a' 'b'\", am #3 is written am \"#3\"
  castling in Chess960   one string: from_epd needs chess960=True for such castling
With --format fen the output is six fields and no operations; read it with chess.Board(line).
--format fen+ops and --counters fen put fields where python-chess expects operations, and are
refused together with --compat python-chess.

Without --compat the output is canonical EPD of the standard, with nothing left out.
";

/// The page of `epdb help compat`.
pub(crate) fn compat_page() -> String {
    COMPAT_PAGE.into()
}

/// Options that affect a code.
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

/// All codes, one per line, grouped by reader.
pub(crate) fn codes_page() -> String {
    let mut page = String::from(
        "Codes of errors (E) and warnings (W), by what was read. `epdb help CODE` explains one, with an\n\
         example and what to do.\n",
    );
    let group = |entry: &&Code| entry.code.rfind('-').map_or(entry.code, |end| &entry.code[..end]);
    let mut entries: Vec<&Code> = codes::ALL.iter().collect();
    entries.sort_by_key(group);
    for of_one_reader in entries.chunk_by(|one, next| group(one) == group(next)) {
        page.push('\n');
        for Code { code, meaning, .. } in of_one_reader {
            let mut code = *code;
            for line in wrapped(meaning, 80) {
                page += &format!("{code:<18} {line}\n");
                code = "";
            }
        }
    }
    page
}

/// The lines of a text, each at most `width` characters unless a word is longer.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.into()),
        }
    }
    lines
}

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
