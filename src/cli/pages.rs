//! Pages of `epdb help` that describe no single command.

use epdb_chess::text::codes::{self, Code};
use epdb_library::expression::describe_structures;
use epdb_library::field::BUILTIN_FIELDS;

const UNITS_PAGE: &str = "\
The input decides what a command works on. If games come in (.pgn, .pgc or a table of games), these
commands work on games. If records come in (any other format), they work on records:

Command         games in          games in, --positions  records in
count           games, a number   positions, a number    records, a number
stats           games, a table    positions, a table     records, a table
table           games, a table    positions, a table     records, a table
filter          games, as PGN     positions, as EPD      records, as EPD
filter --count  games, a number   positions, a number    records, a number
export          games, as PGN     positions, as EPD      records, as EPD
sample          games, as PGN     positions, as EPD      records, as EPD
sort            games, as PGN     positions, as EPD      records, as EPD
split           games, as PGN     positions, as EPD      records, as EPD
union           games, as PGN     positions, as EPD      records, as EPD
dedupe          games, as PGN     positions, as EPD      records, as EPD
dedupe --list   games, a table    positions, a table     records, a table
intersect       games, as PGN     positions, as EPD      records, as EPD
subtract        games, as PGN     positions, as EPD      records, as EPD
classify        games, as PGN     positions, as EPD      records, as EPD

`analyze` writes games with evaluations, or analysed records. The formats are those of standard
output; the suffix of -o, or --to, says another one. Positions of games are also read if it says a
format of records: -o FILE.epd, or --to fen.
  --positions         the positions of the main line, the start position included
  --positions=final   the last position; a value needs `=`
  --positions=10..20  the positions after 10 to 20 plies; `epdb help options` has more

At the end, the commands say what they worked on, such as \"epdb: 2 of 3 games\" or \"epdb: 257
positions of 2 games\". Games and records together are an error; with --positions, the command works
on the records and on the positions of the games. `stats` counts both, each by itself.

`head` is `sample --first`, `shuffle` is `sort --random`, `name` is `classify`. `sort` without --by
puts games in the order of archives. Equal games of union, dedupe, intersect and subtract have the same
moves, players, date and result; --by moves and --by exact compare otherwise.

These commands always work on games: tally, search, openings, tfgg, and diff and verify if games
come in. These always work on positions: normalize, purge, edit, flip, play, join, pack, registers,
solve, mate. `convert` and `import` do what their formats say.

Examples:
  epdb filter games.pgn --where 'plies < 40' > short.pgn
  epdb filter games.pgn --positions --where 'pieces <= 7' > endings.epd
  epdb count games.pgn --positions=final --where mate
";

pub(crate) fn units_page() -> String {
    UNITS_PAGE.into()
}

const SOURCES_PAGE: &str = "\
Every command that reads records also reads these formats, plain or compressed (.gz, .zst, .bz2,
.xz), and in archives (.zip, .tar): the only file, or all files with the suffix of one format. A folder,
or a pattern such as 'games/**/*.pgn', stands for the files in it. Below each format are the operations that epdb makes from its data. formats/notes/sources.md describes each field,
and shows from whose point of view each source gives its scores.

Evaluations of lichess    lichess_db_eval.jsonl: recognised by content or .jsonl, else --from jsonl
  acd, acn, ce, pv        depth, nodes, score and line of the deepest analysis. The file gives scores
                          from White's view; ce has the score from the view of the side to move. If
                          your file gives scores from this view already, use --score-view mover
Puzzles of lichess        lichess_db_puzzle.csv: recognised by its header, else --from csv. Columns are
                          found by name (FEN and Moves are needed) and separated by , ; tab or |; unknown
                          columns are ignored with a warning
  position                the position after the first move, which is a move of the opponent
  bm, pv, id              first move of the solution, whole solution, PuzzleId
  rating, rating_dev, popularity, plays
                          the numbers in the columns; --where knows them as op(rating) and so on
  c0, c1, c2, DailyDate   themes, URL of the game, opening tags, date as puzzle of the day
Tables of positions       .csv or .tsv with the column FEN, as of `epdb table`, Kaggle and Hugging Face:
                          recognised by its header
  id, bm, am, c0 ...      the columns with the names of standard opcodes
  ce                      column Evaluation, eval, score or cp: +56, -10, 0 or #-3; or column mate. A
                          file without the column line does not say from whose view: give --score-view
                          white or --score-view mover. A column ce is the mover's
  pv, acd, acn            columns line, depth and knodes
Opening books             Polyglot: recognised by .bin; for other names, give --from bin. A book stores
                          only keys of positions; epdb finds the positions by playing moves
                          (`epdb help book list`)
  bm, c0                  in bm, the moves with a weight over 0; in c0, all moves with their weights
Scores of chessdb         lines such as `FEN ; 23;` and `FEN ; cdb eval: 23, ply: 6;`: with --labels
  ce, cdb_ply             score from the view of the side to move; plies from the start position
Evaluations in games      [%eval 0.34], [%eval #-3,20] in comments: with --game-evals
  ce, acd                 score and depth of the position after the commented move; the game gives the
                          score from White's view
Engines in games          {+0.35/20 1.2s}, {-M8/30 0.5s} of cutechess and fastchess: with --game-evals
  ce, acd                 score and depth of the position before the commented move; the game gives
                          the score from the view of the player who made the move
Parquet                   .parquet, in a program built with --features parquet: tables of records,
                          games or moves that epdb wrote (--schema), and the evaluations, puzzles and
                          games that lichess publishes. formats/notes/tables.md lists the columns

Examples:
  epdb convert lichess_db_eval.jsonl.zst evaluations.epa
  epdb filter lichess_db_puzzle.csv.zst --where 'op(rating) >= 2500 && pieces <= 8' -o hard.epd
  epdb get evaluations.epa '1. e4 c5 2. Nf3'
  epdb convert book.bin book.epd
  epdb convert scored.epd scores.epb --labels
  epdb convert lichess_db_standard_rated.pgn.zst evals.epd --game-evals --where 'has(ce)'
";

pub(crate) fn sources_page() -> String {
    SOURCES_PAGE.into()
}

const REMOTE_PAGE: &str = "\
If epdb was built with --features remote, every command that reads files also reads files at these
addresses:

https://, http://  a file on a web server. Redirects are followed. A redirect from https:// may lead only to
                   https://
s3://BUCKET/KEY    an object in S3, or in a service with the same protocol
hf://datasets/OWNER/NAME/FILE
                   a file of a dataset of Hugging Face, of another revision with @REVISION after NAME

  s3:// and hf:// also take a folder, which ends with /, and patterns: 's3://BUCKET/games/**/*.pgn.zst'

Reading
  A failed request is repeated up to six times, after growing pauses. If the connection breaks, the
  next request begins at the first missing byte. For this, the server must give ETags and lengths. If
  an object is replaced while it is read, this is an error. So no result mixes two versions.
  Messages, logs and files that epdb writes name an address without its query, user name and password.
  Archives of level default are read in ranges of bytes. Opening an archive takes three or four
  requests. A lookup receives only the parts of index, models and blocks that it needs. Many lookups in
  one batch receive all parts of the index together, then all models and blocks. An export reads ahead
  in large ranges. Sharded archives are read at the address of their manifest. Stores, archives
  of level fast, and archives on a server without ranges or ETags are copied to a temporary file first.
  `epdb import` copies text too, and recognises what it imported before, at any address.
  `epdb shard plan` cannot cut a file at an address into slices.

Writing
  `epdb pack --shards` and `epdb shard merge` write sharded archives to s3://BUCKET/PREFIX. The name of a
  shard has the hash of its content. The manifest is replaced last, and only if no other command has
  replaced it in the meantime. Programs that read the old manifest still find the old shards.
  All other outputs are files.

Serving
  `epdb serve` checks each object every 30 seconds, and opens it again after it was replaced.

Environment
  AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION
                        credentials and region for s3://. They are never sent to the target of a
                        redirect, and never taken from an address
  AWS_SKIP_SIGNATURE    true for public objects, without credentials
  AWS_ENDPOINT_URL      another service with the protocol of S3; AWS_ALLOW_HTTP=true allows http://
  HF_TOKEN              token for datasets that are not public; HF_ENDPOINT names another server
  EPDB_REMOTE_INSTANCE_CREDENTIALS
                        true to request credentials from the machine or the container, at their
                        network addresses
  EPDB_REMOTE_TIMEOUT   a request fails after this many seconds without an answer [default: 30]
  EPDB_REMOTE_GAP       two ranges with a gap of fewer bytes than this are received by one request
                        [default: 262144]
  EPDB_REMOTE_CACHE     number of bytes of archives that stay in memory [default: 67108864]
  EPDB_REMOTE_PART      number of bytes in each part of a long shard [default: 16777216]
  EPDB_REMOTE_CHECK     number of seconds between two checks by `epdb serve` [default: 30]

Examples:
  epdb count https://database.lichess.org/standard/lichess_db_standard_rated_2013-01.pgn.zst
  epdb explore s3://bucket/library/manifest.json e4 c5
  epdb count 'hf://datasets/Lichess/chess-position-evaluations/data/*.parquet' --where 'pieces <= 7'
";

const DELTA_PAGE: &str = "\
A large library takes hours to build. A delta is a store of the games that came later, such as those
of today. The library is then the base of the delta. The base is an archive or, better, a sharded
archive.

Count games into a delta
  epdb import DELTA.epdb GAMES --tally --base LIBRARY
  The options of counting are those of the library. A game that the library has is not counted again. But
  a copy with higher ratings replaces the old one where one library of all games would count that copy
  (see --same-game in `epdb help tally`). So give --base to every import. Games of an archive or a
  sharded archive are searched on disk; the games of a store as base are read into memory.
  The delta records which games its base has. If the base has other games later, both are refused:
  count the games of the delta again, into a new store.

Use both as one
  BASE+DELTA.epdb stands for both in every command and in the Python package: it is searched, read and
  copied like one library of all games. `epdb pack BASE+DELTA.epdb -o ALL.epa` makes it one file.
  The numbers of records and kept games that `serve` shows are sums: what is in both files counts
  twice.
  Imports into the delta can go on meanwhile. `serve` opens both again when one of them
  changes. If there is a file with the name BASE+DELTA.epdb, only that file is read.
  A base may be a base and its delta: BASE+DELTA.epdb+TODAY.epdb has two deltas.
  A store and an archive without tallies work too: the records of both are read, first those of the base.

Fold the delta into the base
  epdb shard merge BASE --delta DELTA.epdb --shards N -o FOLDER
  The games move from the delta to FOLDER, a sharded archive. FOLDER is the folder of the base (then
  give --force), or a new folder that becomes the base. Then:
  1. DELTA.epdb gets the name DELTA.epdb.folding, and an empty store gets the name DELTA.epdb. While
     an import is running, the fold is refused.
  2. The shards are written, and the manifest is replaced as a whole. Imports into DELTA.epdb can go on.
  3. DELTA.epdb.folding is removed.
  BASE+DELTA.epdb answers the same all the time, if FOLDER is the folder of the base; after a fold into a
  new folder, FOLDER/manifest.json+DELTA.epdb does. If the fold is interrupted, run the same command again.
  Do not move or remove DELTA.epdb.folding: it may have the only copy of its games. The old shards stay
  in the folder for a day, because programs may be reading them. A later fold or `epdb shard clean`
  removes them.

Examples:
  epdb import today.epdb today.pgn --tally --base library/manifest.json
  epdb explore library/manifest.json+today.epdb e4 c5
  epdb serve masters=library/manifest.json+today.epdb
  epdb shard merge library/manifest.json --delta today.epdb --shards 8 -o library --force
";

const COSTS_PAGE: &str = "\
What a large library costs follows from what two samples of its games cost. The samples should be games
like yours, because openings and comments decide the result: say 6,000 games, and 48,000 games, which
need more than 256 MiB. Make a library from each, and measure the processor time (user and system) and
the peak memory, for example with `/usr/bin/time -v`:

  epdb tally SAMPLE.pgn -o SAMPLE.epa --json --memory 256M

Measures of the smaller and the larger sample, and of the library that is planned
  P1, P2, P    plies, as --json counts them; P is the number of games, times the plies of a game
  R1, R2, R    positions, as --json counts them: one record each
  B1, B2, B    bytes of the library
  T1, T2, T    processor time in seconds
  M1, M2, M    peak memory in bytes

Positions      R = R2 * (P / P2)^h, where h = ln(R2 / R1) / ln(P2 / P1), but not above 1. Games share
               their openings, so the share of new positions falls with the number of games
Bytes          B = R * (B2 / R2 + s * ln(R / N / R2)) in N files, where
               s = (B2 / R2 - B1 / R1) / ln(R2 / R1), but not below 0. An index takes a constant number
               of bits more for each doubling of the records of a file
Time           T = T2 * R / R2 if all positions pass through temporary files, as in a sample that
               needs all its --memory. If they fit into memory, time grows along a line through both
               samples: T = T2 + (T2 - T1) * (R - R2) / (R2 - R1). For a million plies: 10^6 * T / P
Memory         M = M2 + (M2 - M1) * (P - P2) / (P2 - P1). But M is at most M2 plus what --memory is
               above that of the sample. If the sample did not need all its --memory, M is at most M2
               plus the whole --memory. To either, add 29 bytes per game for the digests
Requests       A batch of n lookups in N shards in object storage takes 1 + a * min(N, n) + n * q / e^x
               requests: a to open a shard, q for a lookup with b bytes, and x = n * (b + 65536 * q) / B,
               because requests that are near each other become one. A request brings up to 8 MiB

Slices (`epdb help shard plan`) of an hour of processor time are easy to repeat: T / 3600 slices, each
with P / slices plies, and with digests of its own games only. Measure `epdb shard merge` in the same
way; its input are the records of all slices. Shards of at most 4 GiB are easy to copy.

An example with made-up measures, for 10 million games of 80 plies, so that P = 800,000,000:
  P1 = 800,000     R1 = 512,000      B1 = 1,536,000     T1 = 1.7     M1 = 110 MiB
  P2 = 6,400,000   R2 = 3,276,800    B2 = 13,107,200    T2 = 12.8    M2 = 260 MiB
  h = ln(6.4) / ln(8) = 0.893, so R = 3,276,800 * 125^0.893 = 244 million positions
  s = (4 - 3) / ln(6.4) = 0.539, so a position takes 4 + 0.539 * ln(74.5) = 6.32 bytes: B = 1.54 GB
  T = 12.8 * 74.5 = 953 seconds: 1.19 for a million plies
  M = 260 MiB + 29 * 10 million = 537 MiB, if --memory stays 256M
  Of a library of 12 million positions, opening took 4 requests, and a lookup took 4 with 53 kB. So 1,000
  lookups in one file take 1 + 4 + 1000 * 4 / e^0.204 = 3,270 requests

On 18,875 and 188,742 games of masters, bytes were at most 3 % off, processor time 20 %, and peak memory
13 %. `shard merge` maps its inputs, so the system may show more memory while it has some to spare.
";

pub(crate) fn costs_page() -> String {
    COSTS_PAGE.into()
}

pub(crate) fn delta_page() -> String {
    DELTA_PAGE.into()
}

pub(crate) fn remote_page() -> String {
    REMOTE_PAGE.into()
}

/// Examples: an expression, and the records that it selects.
pub(crate) const EXAMPLES: [(&str, &str); 12] = [
    ("pieces <= 7", "endgames covered by tablebases"),
    ("has(bm) && !illegal(bm)", "records with legal best moves"),
    ("'g3g6' in bm || am in bm", "records with this best move, or with one to avoid"),
    ("on('N', 'e5') and opposite_bishops", "a white knight on e5, bishops of opposite colours"),
    ("count('P') - count('p') >= 2", "White has two pawns more"),
    ("id ~ '^WAC\\.0' && id != 'WAC.023'", "ids that match a pattern, except one"),
    ("stm == 'b' && check && legal_moves == 1", "Black is in check and has one legal move"),
    ("result == '1/2-1/2' && ce:white > 150", "draws that White was winning"),
    ("eval_loss >= 300 && clock < 10", "blunders in time trouble"),
    ("White ~ '^Carlsen' && elo_min >= 2600", "games of a player with strong opponents"),
    (
        "moved('B') and on('p', 'h7') and line('Bxh7 Kxh7')",
        "games in which a bishop is sacrificed on h7",
    ),
    (
        "Date >= '2020' && speed in ['rapid', 'classical']",
        "games from 2020 on that are not too fast",
    ),
];

const GRAMMAR: &str = "\
An expression selects records. It is the value of the option --where of every command that reads records.

Values
  12  'Nf3'  \"a b\"    a number; text, in single or double quotes, without escapes
  bm  ce  id  Depth   any opcode of the standard or of engines (acms, solve_first, pv2 ...), and any
                      private opcode that begins with a capital; write op(NAME) for other opcodes
  White  Date  ECO    any tag of a game that begins with a capital; write tag(NAME) for other tags
  uci(bm)             the moves of an opcode in coordinates
  ce:white            ce from White's point of view (without :white, it is from the point of view
                      of the side to move); eval:white is the same for eval
  abs(ce)             the absolute value of a number
  WhiteElo - BlackElo   sums and differences of numbers, with blanks around + and -

Tests
  ==  !=  <  <=  >  >=   compare two values; text is in natural order: WAC.2 before WAC.10
  id ~ 'PATTERN'         some part of the text matches this regular expression; '(?i)wac' ignores case
  id in ['a', 'b']       the value is in the list
  'e4' in bm  am in bm   the move (SAN or coordinates), a move of am, or the first one of a line is in bm
  has(bm)                the record has the operation or tag
  illegal(bm)            a move of bm is illegal; also for am, pm, pv, sm and sv
  check                  a field that is true or false, such as check or mate, is a test by itself
  !  &&  ||  ( )         not, and, or (these words mean the same); && binds closer than ||

Tests of the board
  board('8/8/8/3P4/8/8/8/8')
                         a placement: digits and ? are squares of no interest, _ an empty square, ! any
                         piece, A or a any piece of White or Black, [RQ] one of these, [^RQ] none of these
  fenpattern('*/*/*/*/*/5N2/PPP*/*')
                         the form of pgn-extract: digits are empty squares, * any squares, m no pawn
  on('N', 'e5')          a white knight is on e5. Pieces are those of board(); 'Nn' is either. Squares:
                         'd5,e5', 'a1-h4' (a rectangle), 'a-h7' (a rank), 'd4-6', 'd' (a file), 'light', 'dark'
  count('P', 'a-h7')     a number: pieces on these squares, or on all: count('P') - count('p') >= 2
  material('RPP v R')    all pieces but the kings, of either side; material('BP v', white): the other king is bare
  castling('Kq')         all of these castling rights exist
  attacks('R', 'q')      a white rook attacks a black queen; attacks('R', 'Q'): it protects a white one
  pinned('q')            a black queen is pinned to its king; count(pinned('a')), count(attacks('N', 'q'))
  fork  fork('N')        a piece, or a white knight, forks: it attacks two enemy pieces that are worth more or
                         not protected; fork(white), count(fork); `epdb help structures` has the definition
  passed  passed(white)  a side, or White, has such a pawn; passed('d'), passed(white, 'd') on these
                         squares; count(passed(white)) is their number
  iqp  iqp(white)        a side, or White, has this structure; `epdb help structures` lists all names
  quiet                  the side to move is not in check, wins no piece by a capture at once, and cannot promote
  position('e4 c5')      this position, by moves or FEN. An en passant square counts only if a pawn can capture
                         there; epd == '...' compares the text
  flipcolor(E)           E as a whole, or its mirror image with swapped colours: pieces, sides, squares, moves, stm,
                         players, result. flipcolor(then(moved('N'), mate, 1) and result == '1-0')
  flipvertical(E)        E as a whole, or its mirror image in which file a is file h
Positions decide these tests before records are decoded, as with pieces, balance, material == and stm. `count`
and `filter` have --explain, which says what the position decides, and the number of records.

Tests of games
For a game, an expression is true if one position of the main line, the start included, makes all of it
true. `!` needs a test without `!` in the same position: iqp and !check. Alone it is refused: almost every
game has a position without check. Positions after a null move are not read, so the one before it is the last one.
  ever(E)  never(E)  all(E)   some position, no position, all positions make E true
  first(E)  last(E)      the first or the last position makes E true
  lasts(E, 4)            four positions in a row make E true
  then(A, B, 10)         B is true 1 to 10 plies after A; for A's own position, add `or (A and B)`. then(A, B) is
                         without a limit, then(A, B, == 10) is exactly 10 plies. More may follow: then(A, B, 10, C, == 1).
                         `search` shows the first such A
  moved('N')             a white knight makes the next move (castling is a move of the king); captured('q')
                         captures a black queen: then(captured('q'), mate, 1); promoted('N') makes a knight of a pawn
  enpassant  retaken     the next move captures en passant; it captures the piece that made the last move
  line('Bxh7+ Kxh7 Ng5+')
                         these are the next moves; check marks and missing squares of origin do not matter
  ply                    plies before the position: iqp and ply <= 40. Tests beside never(...) and so on
                         need one position: iqp and last(rook_ending). stm and ply go into such a term

A comparison with a missing value is false, even with !=. Operands of opcodes that are not in the standard are
numbers if they look like numbers. hmvc and fmvn are found as operations and as the fields of a six-field FEN.
Types and names are checked before the first record is read. Unknown names that begin with a small letter, or look
like a typing error, are errors. A tag or private opcode that occurs in no record is reported at the end.

Tags of games
Tags are found in games, in positions of games, and in records with the operation ptp (tag pairs).
A name that begins with a capital is a tag or, if the record has no such tag, a private opcode. A tag
counts as missing if its value is empty or ?.
  White  Event  ECO ...       text; Result is '1-0', '1/2-1/2', '0-1', '*' or '0-0'
  WhiteElo  PlyCount ...      numbers: names that end in Elo, Rating, RatingDiff, USCF, PlyCount
  Date  UTCDate  EventDate    dates: names that end in Date. Compare them with 'YYYY.MM.DD' for a
                              day, 'YYYY.MM' for a month, or 'YYYY' for a year, also with - or /:
                              Date == '1992', Date < '1992.06'. A comparison that depends on a missing part is false:
                              if Date is 1992.??.??, Date < '1992.06' and Date >= '1992.06' are, Date < '1993' is not.
Other tags are numbers if they look like numbers. The field speed has the classes of lichess.org. It depends on
the total time of a player for 40 moves, increments included: ultraBullet below 30 seconds, bullet below 3 minutes,
blitz below 8 minutes, rapid below 25 minutes, classical below 6 hours, else correspondence.

Clocks and evaluations
These fields are about a position, its mover (the side to move) and its move. The move is the next
move of the game or, in records that are not from games, sm. In games the values are in comments:
  clock      [%clk 0:03:00] after the move, or tl=9.1s in a comment of fastchess
  elapsed    [%emt 0:00:02.5] after the move, or the time in a comment of cutechess or fastchess. If there is
             neither: the mover's clock before the move, plus the increment of a TimeControl such as 180+2, minus
             the clock after it; or 1/86400 minus the clock. Else [%timestamp 25] of chess.com, in tenths
  eval       ce or dm if the record has one. Else [%eval 0.34] in the comment before the move, or the
             mover's score in the comment after it, such as +0.35/20 1.2s
  eval_loss  eval minus the evaluation after the move, at least 0. A mate, or an
             evaluation beyond 1000 centipawns, counts as 1000 for the side that is ahead
The last position of a game has no move. So it has eval, but no clock, elapsed or eval_loss. Times are in seconds
with milliseconds. Records that are not from games may have the same comments in c0 to c9, and the clock of the mover
in cc. In such records, the evaluation after sm is that of the line that begins with sm: ce of pv, ce2 of pv2 ...

Fields that are not opcodes (also for table --columns and sort --by)
";

pub(crate) fn structures_page() -> String {
    let head =
        "Names for --where. Each has a position that matches (yes) and one that does not (no).\n\n";
    head.to_string() + &describe_structures()
}

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
A tournament file is TOML. It needs two players; all else is optional. Paths are relative to the current folder.

";

/// A file that uses all but a few keys.
const TOURNAMENT_EXAMPLE: &str = include_str!("../../tests/examples/tournament.toml");

const TOURNAMENT_REST: &str = "
Other keys
  challengers = 1             in a gauntlet, the first N players of this file meet all others (here N = 1)
  tie-breaks = 4              in a knockout, maximum number of pairs of extra games; then the player listed first advances
  sprt = { elo0 = 0, elo1 = 5, alpha = 0.05, beta = 0.05, model = \"logistic\" }   for two players; model may be \"normalized\"
  serial = [\"/dev/ttyS0\", \"/dev/ttyS1\"]   two serial lines with one client each, instead of listen
  eco = [\"a.tsv\", \"b.tsv\"]   tables as for `epdb classify`; games get the tags ECO, Opening and Variation
  syzygy = { path = \"DIR:DIR\", pieces = 7, ignore-50 = false }   after each move, tablebases may end the game

Openings (default: the start position) are positions or games in any format that epdb reads (`epdb help sources`). With
by-round = true in openings, all games of a round have the same opening. In an hourglass (time = \"*180\"), a player
gains the time that the opponent uses. nodes = N and depth = PLIES limit the search, for all players or for one;
without time, there is no clock. In a Swiss tournament, a player with a bye scores as if it had won all games of the
encounter. In a knockout, the players listed first get the byes, all in the first round. Both silences last 5 s by
default, or 0 s if all players are engines. max-moves and from-move count the moves of each side, including those of
the opening. Elo and SPRT use pairs of games from one opening, or else games; LOS uses games. Elo is `-` if all pairs
are equal, or the interval reaches 100 %. Crashes, time forfeits and illegal moves are below the table (exit status 0).

Options of cutechess: -engine, -each (cmd= name= dir= arg= option.NAME= tc= st= nodes= depth=; -each also
timemargin= in ms), -games, -rounds, -repeat, -concurrency, -openings, -draw (movenumber=0 movecount=8 score=10),
-resign (movecount=3 score=1000 twosided=false), -maxmoves, -sprt, -pgnout, -log, -event, -site, -srand, -tournament,
-seeds, -recover, -listen, -quick, -eco, -tb, -tbpieces, -tbignore50. Some other options are reported and ignored.
";

pub(crate) fn tournament_page() -> String {
    [TOURNAMENT_HEAD, TOURNAMENT_EXAMPLE, TOURNAMENT_REST].concat()
}

const JSON_PAGE: &str = "\
--json prints one object per line. Later versions may add fields, but will not rename any field.

Values of fields and operations (in table, in diff, and in conflicts of dedupe and union)
  integer opcodes (acn acs ce dm fmvn hmvc rc tcgs), WhiteElo ..., pieces, ply ...   numbers
  move opcodes (am bm pm pv sm sv), also in uci()                 arrays of strings, also for one move
  strings (id c0-c9 v0-v9 eco nic), tags, dates, fen, material ...  strings
  opcodes without operands (resign draw_offer ...), check, mate ...   true or false
  other standard opcodes (cc noop ptp tcri tcsi ts ...)   one string, spaces between the operands
  acd, private opcodes (Depth, op(x)), uncommon tags   an unquoted operand that looks like a
                                                  number is a number; everything else is a string
  missing values                                                  null

Objects, by command. Brackets show the fields of nested objects.
  table      one per record; the fields are the names of --columns as they were given
  diff       one per difference. If `kind` is `removed` or `added`: place, record. If it is `changed`:
             old_place, new_place, old, new, changes (texts), operations [opcode, old, new]
  dedupe, union --conflicts FILE
             first and second (locations FILE:LINE), operations [opcode, first, second]
  dedupe, union --list
             of records: first, first_id, other, other_id (locations and ids of records of one position);
             of games: first, first_game, other, other_game (locations, and players, date and result)
  stats      of records: records, white_to_move, ..., opcodes (counts by opcode); of games: games,
             white_wins, ..., tags (counts by tag); of libraries without --census: records,
             file_bytes_per_record, libraries [file, settings, sources, repeated_games ...]
  registers  one per record: file, line, fragment (a number, from 1, of the file, game or part of a
             file that the record is in), epd (the position), c and v (arrays of ten values), eco, nic;
             the value of a register that is not set is null
  moves      one per move: ordinal, san, uci
  explore    white, draws, black, unknown, reached, weight (of all moves of a book), moves, parents,
             operations, opening (null if there is no name); other values that are not known are omitted
    moves    uci (castling: king takes rook), san, averageRating and performance (of the mover),
             averageOpponentRating, white, draws, black, unknown, weight, years, ce (for the mover),
             reached, operations, moves (in a tree: the moves after this move)
    parents  fen, uci, san, white, draws, black, weight, reached
  openings   one per opening: fen, games, pairs, wins, draws, losses (of White), unknown, score and
             draw_rate (null if no game has a result), pentanomial (numbers of pairs in which the first
             player scored 0, 0.5, 1, 1.5 and 2), players (null unless there are just two)
  search     one per game: id, uci, san, winner (null if neither), result, white and black [name, rating],
             year, month, date, event. If not known, rating and month are null, year is 0, and others are
             omitted. With --where or --player also ply, move and fen (of the first match). At last an
             object of totals: of (games, or visits of a library without games), side (whose wins are
             counted: white, player, or pattern, the side that has White's part in flipcolor(...)),
             searched (games), counted (games that the sources count; a library may keep fewer), copies
             (games of which another copy is counted too), games, wins, draws, losses, unknown, points,
             score, and moves, openings, years and ratings (arrays with the same numbers by name)
  count      count
  tally      file, games, duplicate_games, games_left_out, ..., plies, positions
  verify     one per file: file, verdict (no damage found, illegal moves, damaged, not canonical,
             not standard text, not checked), findings (texts), warnings, games_without_checksum
  backsolve  with --dry-run: positions, moves, solved, ..., largest [fen, before, after]
  book make  file, entries, positions
  perft      of files, one per count: file, line, depth, nodes, expected and agrees (null if the record
             has no count); of a position, one per move: san, uci, nodes; then the total: depth, nodes
  book list  one per entry: book, key (hexadecimal), fen, uci, san, weight, share (of the weights of
             its position), learn; fen and san are null if the position is not known
  book info  one per book: book, entries, positions, reached_by_book_moves, unknown_positions, ...
  repertoire first one object with the part \"summary\": positions, reached, marked (moves marked as bad),
             behind_marked (positions reached only by these), from_set_up (positions reached only from
             set-up positions), covered (share of the games in which the repertoire answers every move),
             games, within (games that end in the repertoire), never (games that never reach it); then one
             object per finding: part (\"choice\", \"unanswered\", \"leaf\", \"unreached\", \"own-move\",
             \"other-move\" or \"line-end\"), games, share, ply, line, move, moves, first (location of the
             first game), fen, set_up (position that the line begins from); values that do not apply are
             omitted
  report     first one object whose part is \"report\": verdict, notes, runs, problems, cooks; then objects
             whose part is run (scored, solved, share, interval, points, nodes, ms, ce, solved_within_ms,
             facts ...), theme, pair (only_first, only_second, mcnemar_p, holm_p, points_interval ...) or
             problem (id, fen, bm, am, cook, results [verdict, answer, points, ce, nodes, ms, first, held,
             error, defect] of each run); with --tsv, the results are columns, and ce_more, nodes_more and
             ms_more are the differences to the first run
  referee    one per player: rank, player, points, games, wins, draws, losses, sonneborn_berger, elo,
             elo_error, nelo, los, pairs (numbers of pairs with the points 0, 1/2 ... 2), ..., against
             [player, games, points]; an infinite value is null
  import     one per file: file, read, stored, dropped, replaced, merged, conflicts

Messages
  --messages json prints every message on standard error as an object with the fields severity (error,
  warning or note) and message. Findings also have code, file, line and column. The last object of a
  command that reads has the severity \"summary\" and the fields games, records, skipped, cut_short,
  rejected, lost (number of records in damaged parts; omitted if 0), left_out, codes (numbers of
  findings by code).

Bytes that are not UTF-8 become U+FFFD. Whole numbers keep all their digits, up to 2^64 - 1.
";

pub(crate) fn json_page() -> String {
    JSON_PAGE.into()
}

const COMPAT_PAGE: &str = "\
Canonical EPD keeps mate targets (bm #5), operations with several strings, and the operands of
unknown opcodes. Some programs reject lines with these operands. --compat NAME writes text that the
program NAME reads, and reports at the end how many operations were changed.

--compat python-chess    chess.Board.from_epd reads every line
  counters               always hmvc and fmvn, never fields 5 and 6, because python-chess reads
                         such fields as an operation (--counters drop omits the counters)
  bm #5                  dm 5, if the record has no dm
  moves of am, bm, pv    unchanged if all are legal; otherwise one string
  one legal move         unchanged (in pm, in sm, or in an sv that has only one move)
  one number             unchanged, even in private opcodes
  one string             unchanged except that backslashes are doubled, because python-chess reads
                         a backslash as an escape
  no operands            unchanged: python-chess reads [] or None
  everything else        one string with the same operands, in which quotes become apostrophes:
                         noop \"a\" \"b\" is written noop \"'a' 'b'\", am #3 is written am \"#3\"
  castling moves         one string in Chess960 positions, because there from_epd reads castling
                         only with chess960=True
With --format fen, the output has six fields and no operations; read it with chess.Board(line).
--format fen+ops and --counters fen put fields where python-chess expects operations. They are
refused together with --compat python-chess.

Without --compat, the output is canonical EPD of the standard, and nothing is left out.
";

pub(crate) fn compat_page() -> String {
    COMPAT_PAGE.into()
}

/// Codes of errors and warnings, each with the options that change when it is reported.
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
        "Codes of errors (E) and warnings (W), by the kind of text or bytes that was read. `epdb help CODE`\n\
         explains a code, with an example and with advice.\n",
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
    use epdb_library::expression::Expression;

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
