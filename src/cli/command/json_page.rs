//! `epdb help json`: the page about what `--json` prints.

const PAGE: &str = "\
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

/// The whole page.
pub(crate) fn page() -> String {
    PAGE.into()
}
