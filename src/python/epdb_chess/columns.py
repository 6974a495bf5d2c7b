# Made by tests/python/pages.py.
r"""The columns of `scan`, `Library.lookup`, `convert` and `from_arrow`, with their types and meanings.

`epdb_chess.scan("games.pgn", columns=["fen", "sm", "ply", "check", "White"])` takes columns of these tables and fields of
`help(epdb_chess.where)`. Of a position of a game, `sm` is the move that was played, in SAN, and `move` the same in UCI.
The points of its game are in `result`; the fields `score`, `white`, `draws`, `black` and `games` are those of a tally.

# Tables: records, games and moves as columns

Version 1 of this page. This version is independent of the versions of the other formats. A new version may add columns
at the end. The names, types and meanings of the columns below do not change.

These are the tables that epdb passes to data frames and databases: in memory, in the format of Apache
Arrow and in Parquet files. Each column may have missing values
(null). A program requests columns by name, and gets them in the order of its request. If it names no columns, it gets
the default columns of the table. No two columns of a table differ only in capital letters, which DuckDB and Spark
ignore. With `columns="all"`, Python gets all columns, and `epdb
convert --schema records-all` writes all columns of records.

Each field of `help(epdb_chess.where)` can also be requested as a column by its name, for example `pieces`, `material` or
`WhiteElo`. In such a column, a number is an int64 if it is always whole, such as `pieces`, and otherwise a float64, as
for all tags. A flag is a boolean, a list of moves is a list of texts, and anything else is a text.

Types: *text* is utf8; *name* is utf8 as a dictionary with int32 indexes; *texts* is a list of utf8; *pairs* is a list of
structs of two utf8, `name` and `value`. All other types are called by their Arrow names. A column has the same type in
memory and in Parquet: there, a uint64 is an INT64 of the logical type UINT_64.

In a Parquet file that epdb writes, `evals_cp` and `evals_mate` of games are from White's view. Text is compressed with
zstd, each row group has statistics, and the column `key` has a bloom filter. If the rows were sorted by `epdb sort --by
key`, `sorting_columns` of each row group say so. Section 5 describes the checks. A line number in a message
is the number of a row, from 1. Section 6 says which values of other programs are read, and section 7 when only columns
are read.

## 1. Records

There is one row for each record. The records of a game are the positions of its main line. The record of the position
before a move has this move as `sm`.

The default columns are `fen`, `key`, `cp`, `mate`, `depth`, `knodes`, `move`, `result`, `ply`, `game`, `clock_ms`,
`elapsed_ms`, `id`, `c0`, `eco`, `am`, `bm`, `pv`, `operations` and `score_view`. They have everything of a record.

  Column: Type. Meaning.
  `fen`: text. The fields of FEN: six fields if both counters are known, otherwise four. Castling rights have the
      letters of the record: those of X-FEN, or of Shredder-FEN.
  `board`: binary. The packed board, see chess.md, with an en passant square as the record has it, so that one
      position may have two boards: to join tables, use `key`. Boards of more than 32 pieces are longer than the
      others.
  `key`: uint64. The position key, see chess.md. In texts, such as those of `epdb table`, it has 16 hexadecimal
      digits; `('0x' \. \. key)::ubigint` of DuckDB converts them.
  `polyglot_key`: uint64. The key of a Polyglot book. It may differ from `key` because Polyglot counts an en passant
      square next to an enemy pawn even if the capture is illegal.
  `cp`: int32. The evaluation in centipawns, from `ce`; null if it is a mate.
  `mate`: int16. The number of moves to mate, from `ce`. The number is from the same view as the score: it is
      negative if that side gets mated, and 0 if the side to move is checkmated. Of `cp` and `mate` at most one has
      a value.
  `depth`: int32. The depth of the analysis, from `acd`.
  `knodes`: int64. Thousands of nodes of the analysis, from `acn`, rounded down.
  `move`: text. A move in coordinates, as in UCI: `sm`, or else `pm`, or else the first move of `pv`.
  `move16`: uint16. The same move in the 16 bits of polyglot.md. Castling is the king taking its rook.
  `result`: name. `1-0`, `1/2-1/2` or `0-1`: the result of the game. Without a game, it is the first result in `c9`,
      in the tag `Result` of `ptp`, or in the other comment registers. Null if it is unknown; in games, `Result` is
      `*` then.
  `ply`: int32. The number of plies before the position, by the fullmove number.
  `game`: uint64. The number of the game that the position is from, counted from 0. All games that were read are
      counted, even games without a position in the table. In slice *s* of a plan (slices are counted from 0), the
      first number is *s* × 2^40, so games of different slices have different numbers.
  `clock_ms`: int64. For positions of games: the milliseconds that the player of the next move has left after this
      move, from `[%clk 0:03:00]` or from the comments of engine matches.
  `elapsed_ms`: int64. For positions of games: the milliseconds that the player used for the next move, from `[%emt
      0:00:02]`, from the comments of engine matches, or by the difference of clocks.
  each standard opcode, for example `bm`: see below. The operands of the operation.
  `operations`: pairs. All operations that the other columns of the table do not have exactly: the opcode, and the
      operands as in EPD, separated by blanks.
  `fen_counters`: boolean. True if the record has its counters as fields of FEN, and not as operations. `hmvc` and
      `fmvn` then have the same counters.
  `score_view`: name. The view of `cp` and `mate`: `mover` or `white`. Null in a row without a score.
  `white_pawns`, `white_knights`, `white_bishops`, `white_rooks`, `white_queens`, `white_kings`, and the same for
      `black_`: uint64. The squares of these pieces: bit 0 is a1, bit 7 is h1, bit 63 is h8.

The metadata of the fields `cp` and `mate` have the key `score_view`. Its value is `mover` if a positive score is good
for the side to move, and `white` if it is good for White. Many programs drop metadata, so the column `score_view` says
the same in each row. `ce` is always from the view of the side to move.

Columns of standard opcodes, by the kind of their operands (see epd_text.md):

  Operands: Opcodes. Type. Value.
  none: `draw_accept` … `resign`. boolean. true.
  one integer: `acn`, `acs`, `ce`, `dm`, `fmvn`, `hmvc`, `rc`, `tcgs`. int64. the number.
  one string: `id`, `c0` … `c9`, `v0` … `v9`, `eco`, `nic`, `tally`, `tally_less`, `kept_games`. text. the string
      without quotes.
  one move: `pm`, `sm`. text. the move in SAN.
  moves: `am`, `bm`, `pv`, `sv`. texts. the moves in SAN.
  others: `cc`, `noop`, `ptp`, `refcom`, `refreq`, `tcri`, `tcsi`, `ts`. text. the operands as in EPD.

If the operands of an operation do not fit its column, the operation is in `operations` instead. Examples are an integer
beyond int64, and a register without a string. `ce` is not in `operations` if the table has `cp`, `mate` and
`score_view` and they give the same `ce`. In the same way, `depth` stands for `acd`, `knodes` for `acn`, `move` for a
`sm` without `pm` and `pv`, and `result` for a `c9` without other comment registers and `ptp`.

**From tables to records.** The position is that of `fen`, or that of `board` if `fen` is missing. Each column of an
opcode and each entry of `operations` gives an operation. If `fen_counters` is true, the counters are those of `fen`.
Otherwise, if there is a `hmvc` or `fmvn`, the counters in `fen` are ignored. Some columns can replace an operation that
neither its own column nor `operations` has: `cp` and `mate` replace `ce`, `depth` replaces `acd`, `knodes` replaces
`acn`, and `move` and `move16` replace `sm`. `cp`, `mate`, `knodes` and the moves do so only if the table does not have
the column of the opcode. In a table with `operations`, a row with `pm` or `pv` has no `sm` by its `move`. In a table
without `c9`, `result` replaces `c9`; if the table has `operations`, only in rows whose operations have no result. So each
record can be restored from a table with the default columns, and from a table with all columns. A position of a game gets
the result of the game as `c9`, unless the table has a column `c9`. Comments between the lines of a text are not part of a
table.

The values of `ply`, `game`, `clock_ms` and `elapsed_ms` are not in the record. But when a Parquet file is read, the
fields `result`, `ply`, `game`, `clock` and `elapsed` of `help(epdb_chess.where)` have them, and a table that is written from
its records has them again. The numbers in `game` stay as they are, so games of two tables may have equal numbers.
`ply`, `game`, `clock_ms` and `elapsed_ms` are used only if they are numbers, and `result` only if it is a text. All
other columns are ignored and may have any type.

**The view of scores.** The view of `cp` and `mate` is that of `--score-view`, or else that of the column `score_view`,
or else that of the metadata. If none of them names it, a row with a score is an error: nothing is guessed.

## 2. Games

There is one row for each game. Variations, comments and NAGs are not in this table. All columns are default columns.

  Column: Type. Meaning.
  `Event`, `Site`, `Date`, `Round`, `White`, `Black`, `Result`, `WhiteElo`, `BlackElo`, `WhiteTitle`, `BlackTitle`,
      `ECO`, `Opening`, `TimeControl`, `Termination`, `UTCDate`, `UTCTime`: name. The value of the tag.
  `white_elo`, `black_elo`: int16. The ratings, if the tags are numbers. `WhiteElo` and `BlackElo` are the texts of
      the tags.
  `game_date`: date32. The tag `Date`, or else `UTCDate`; null if it has no day.
  `base_s`, `increment_s`: int32. The seconds of a `TimeControl` such as `180+2` or `600`.
  `plies`: int32. The number of moves, with null moves.
  `score`: float64. White's points: 1, 0.5 or 0.
  `tags`: pairs. All other tags.
  `start`: text. The six fields of FEN of the first position; null for the start array of chess.
  `moves`: list of uint16. The moves of the main line as in `move16`. A null move is 0.
  `clocks_ms`: list of int32. For each move, the milliseconds that its player has left after the move. Null if no
      comment of the game has a clock.
  `evals_cp`: list of int32. For each move, the evaluation of the position after the move in centipawns; null where
      it is a mate. Null if no comment of the game has such an evaluation.
  `evals_mate`: list of int32. For each move, the number of moves to mate; below 0 if the side from whose view it is
      gets mated, and 0 if the position is checkmate.
  `score_view`: name. The view of `evals_cp` and `evals_mate`: `mover` or `white`. Null if both are null.

The metadata of these fields have the key `score_view`, like those of `cp`. The view is found as for records. A game is
read from the tags, `start`, `moves`, `clocks_ms`, `evals_cp` and `evals_mate`. An `evals_cp` beyond 32000 is read as a
mate: 32767 − *n* is a mate in *n* plies.

When a table of games is written, epdb reports how many comments, NAGs and variations it does not have. A comment with
nothing but a clock and an evaluation is not counted.

## 3. Moves

There is one row for each move of each position of a library. If the library was counted in groups, there is one row for
each move and group of games.

  Column: Type. Meaning.
  `fen`: text. The four fields of EPD, without counters.
  `key`: uint64. The position key.
  `uci`, `san`: text. The move in coordinates and in SAN.
  `white`, `draws`, `black`, `unknown`: int64. The number of games that White won, that were drawn, that Black won,
      and whose result is unknown.
  `rated_games`: int64. The number of games in which the player of the move has a rating.
  `rating_sum`: int64. The sum of these ratings.
  `first_year`, `last_year`: int16. The first and the last year of the games.
  `split_year`, `split_month`, `split_rating`: int16. The group of games: its year, its month, and the lower end of
      its range of ratings (the rating of a game is the mean of both players). Null if the library is not split by
      this property.
  `split_speed`: name. The group of games: the class of its time control.

When the table is read, consecutive rows of one position become one record with a `tally`. The number of games of this
record is the sum over its moves. So positions without a move are lost. The ratings of the opponents are lost too.

## 4. Tables of lichess

These are the columns of the data sets that lichess publishes. A file with such columns is read, even if it has other
columns too. Other columns may have any type.

  Data set: Columns. Read as.
  evaluations: `fen`, `line`, `depth`, `knodes`, `cp`, `mate`. as a line of `lichess_db_eval.jsonl`: scores are from
      White's view.
  puzzles: `PuzzleId`, `FEN`, `Moves`, `Rating`, `RatingDeviation`, `Popularity`, `NbPlays`, `Themes`, `GameUrl` or
      `GameId`, `OpeningTags`, `DailyDate`. as a line of `lichess_db_puzzle.csv`.
  games: tags, and `movetext`. as a game of PGN; each column whose name begins with a capital letter is a tag.

epdb also writes tables of evaluations and of games. In tables of evaluations, depth, nodes and scores are int64. In
tables of games, ratings and their changes are int16, and all other columns are texts. epdb reports how many tags of
games these tables do not have. Two more columns have the tags
`SetUp` and `FEN` of games that do not begin with the start array. epdb does not write puzzles: a record has the
position after the opponent's move, but a puzzle needs the position before it.

sources.md describes how columns of puzzles and evaluations become operations.

## 5. Checks in Parquet files

In a file that epdb writes, `created_by` begins with `epdb version `, and the key-value metadata have two keys.

  Key: Value.
  `epdb:chunks`: For each row group, for each of its column chunks: the CRC-32C of the bytes of the chunk, in 8
      lower-case hexadecimal digits.
  `epdb:check`: 16 such digits. The first 8 are the CRC-32C of the footer, and the last 8 that of all bytes that are
      in no column chunk and not in the footer.

A column chunk begins at its dictionary page, or else at its first data page, and has `total_compressed_size` bytes. The
footer here includes the 8 bytes after it. Its check is made with `0` in place of its own 8 digits. The check of all
other bytes goes over them in their order in the file.

When a file is read, the footer and the column chunks that are needed are checked. `epdb verify` checks all bytes. Many
programs keep the metadata of a file that they rewrite, but not `created_by`. So the two keys mean nothing in a file of
another writer. In such files, the checksums of pages are checked if there are any.

## 6. Values of other programs

A column may have any type whose values fit the type of the table. Whole floats and decimals are numbers, and so is text
with digits. NaN is a missing value. A number that does not fit, such as 0.3 for `cp`, is an error that names the row
and the column. A row of records without a position, or with a text that cannot be a value, such as a quote in `id` or a
semicolon in `bm`, is rejected alone, like a line of text; in the other tables it is an error.
Pairs may also be a map, or a list of lists with two texts each.

Tags of games may be numbers, dates and time stamps. A whole number has no fraction. A time stamp is a date of PGN if
the name of its column ends with `Date`, a time if it ends with `Time`, and otherwise both. A `movetext` must be the
moves of one game.

Columns may be compressed with gzip, brotli, lz4, snappy or zstd. Rows are read in batches that fit the memory. A page
that does not fit twice the memory is an error.

## 7. Columns and fields

Expressions (`help(epdb_chess.where)`) name fields of records. Where a field and a column have the same name, they usually have
the same value. The exceptions:

  Column: Field.
  `cp`, `mate`, `score_view`: `ce`, and `ce:white` for White's view. The field `mate` is true in a checkmate.
  `depth`, `knodes`: `acd`, `acn`.
  `key`: The same number, written as 16 hexadecimal digits.
  `fen`, with four or six fields: `fen`, always with six fields; `epd`, with four.
  `move`: The moves of `sm`, `pm` and `pv`. The field `move` is that of a tally.
  `result`, a text; `score` of a game: `result`: 1, 0.5 or 0, which can also be compared with `'1-0'`. The field
      `score` is that of a tally.
  `clock_ms`, `elapsed_ms`: `clock`, `elapsed`, in seconds.
  `game_date`, `white_elo`, `black_elo` of a game: `Date`, `year`, `month`, `day`, `WhiteElo`, `BlackElo`.
  `base_s`, `increment_s` of a game: `TimeControl`, `speed`.

**By columns.** A Parquet file that epdb wrote has the columns of a scan already. If it has all of them, and the fields of
`where` are columns too or depend on the position alone, no record is built. Then only these columns are read and
checked, on all threads. Row groups are skipped if their statistics or the bloom filter show that no row fits. In all
other cases, each row becomes a record, and all columns that records are read from are checked. Both ways give the same
values.

## Standard opcodes

  acn          the nodes that an analysis searched
  acs          the seconds that an analysis took
  am           moves to avoid
  bm           best moves
  c0           a comment, register 0
  c1           a comment, register 1
  c2           a comment, register 2
  c3           a comment, register 3
  c4           a comment, register 4
  c5           a comment, register 5
  c6           a comment, register 6
  c7           a comment, register 7
  c8           a comment, register 8
  c9           a comment, register 9
  cc           the clocks of both sides
  ce           the evaluation in centipawns, seen by the side to move
  dm           the number of moves to a direct mate
  draw_accept  the side to move accepts a draw
  draw_claim   the side to move claims a draw
  draw_offer   the side to move offers a draw
  draw_reject  the side to move rejects a draw
  eco          the code of the opening in the Encyclopaedia of Chess Openings
  fmvn         the fullmove number
  hmvc         the halfmove clock
  id           the name of the record
  kept_games   games that reached the position and were kept
  nic          the code of the opening in the New in Chess yearbooks
  noop         no meaning, any operands
  pm           the move that is expected
  ptp          tags of a game, with their values
  pv           the principal variation
  rc           how often the position has arisen
  refcom       a command of a referee
  refreq       a request to a referee
  resign       the side to move resigns
  sm           the move that is made
  sv           the line that is played
  tally        what became of the games that reached the position
  tally_less   what is to be taken off the tally of the record that this one is merged with
  tcgs         the number of a game between programs
  tcri         who receives: address and name
  tcsi         who sends: address and name
  ts           date and time of day
  v0           the name of a variation, register 0
  v1           the name of a variation, register 1
  v2           the name of a variation, register 2
  v3           the name of a variation, register 3
  v4           the name of a variation, register 4
  v5           the name of a variation, register 5
  v6           the name of a variation, register 6
  v7           the name of a variation, register 7
  v8           the name of a variation, register 8
  v9           the name of a variation, register 9
"""
