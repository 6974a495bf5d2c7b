# Made by tests/python/pages.py.
r"""The language of `where`: expressions that select records or games.

`epdb_chess.scan("games.pgn", where="pieces <= 7 and result == '1-0'")` is an example. Each field of this page is also a
column of `scan`; `help(epdb_chess.columns)` describes the other columns. Names of the command line (--where,
`epdb filter`, `count`, `search`) stand for the argument `where` and the functions of this package.

An expression selects records. It is the value of the option --where of every command that reads records.

Values
  12  'Nf3'  "a b"    a number; text, in single or double quotes, without escapes
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
                         not protected; fork(white), count(fork); `Structures` below has the definition
  passed  passed(white)  a side, or White, has such a pawn; passed('d'), passed(white, 'd') on these
                         squares; count(passed(white)) is their number
  iqp  iqp(white)        a side, or White, has this structure; `Structures` below lists all names
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
  pieces       number of pieces on the board
  material     the pieces, as in 'KRPkr': K Q R B N P, White's first
  stm          side to move, 'w' or 'b'
  legal_moves  number of legal moves
  balance      White's material minus Black's: queen 9, rook 5, 3, 3, pawn 1
  ep           en passant square, or '-'; in a game after every double step
  ep_legal     a pawn can legally capture en passant
  castling     castling rights as in FEN: 'KQkq' in this order, or '-'
  ply          number of plies before the position, by the fullmove number
  line         line (or number of the record) in its source
  file         name of the source
  result       White's points: 1, 0.5 or 0; compare with these or with '1-0'
  game         number of the position's game, from 0: in Parquet and in 'table --positions'
  year         of a game: the year of Date, or else of UTCDate
  month        of a game: the month of the same date, 1 to 12
  day          of a game: the day of the same date, 1 to 31
  speed        of a game: 'bullet', 'blitz' ... by TimeControl (see above)
  elo_min      of a game: the lower of WhiteElo and BlackElo
  elo_avg      of a game: the mean of WhiteElo and BlackElo
  plies        of a game: number of plies in its main line, with null moves
  fen          the six fields of FEN
  epd          the four fields of EPD
  record       the whole record as EPD
  key          position key: a text of 16 hexadecimal digits, in the order of numbers
  repetition   of a game: how often it has had the position so far
  check        the side to move is in check
  mate         the side to move is checkmated
  stalemate    the side to move is stalemated
  chess960     the castling rights are ones that only Chess960 has
  clock        seconds that the mover has left after its move
  elapsed      seconds that the mover used for its move
  eval         evaluation like ce, for the mover: ce, dm, or from a comment
  eval_loss    centipawns that the move lost, 0 to 2000
  reached      of a tally: games that reached the position
  games        of a tally: games with a move played there
  white        of a tally: games that White won
  draws        of a tally: drawn games
  black        of a tally: games that Black won
  score        of a tally: White's share of the points, 0 to 1
  elo          of a tally: mean rating of the side to move
  opp          of a tally: mean rating of the other side
  years        of a tally: first and last year
  move         with 'table --rows moves': the move; else that of sm

Examples (in a shell, put the expression into quotes)
  pieces <= 7                                       endgames covered by tablebases
  has(bm) && !illegal(bm)                           records with legal best moves
  'g3g6' in bm || am in bm                          records with this best move, or with one to avoid
  on('N', 'e5') and opposite_bishops                a white knight on e5, bishops of opposite colours
  count('P') - count('p') >= 2                      White has two pawns more
  id ~ '^WAC\.0' && id != 'WAC.023'                 ids that match a pattern, except one
  stm == 'b' && check && legal_moves == 1           Black is in check and has one legal move
  result == '1/2-1/2' && ce:white > 150             draws that White was winning
  eval_loss >= 300 && clock < 10                    blunders in time trouble
  White ~ '^Carlsen' && elo_min >= 2600             games of a player with strong opponents
  moved('B') and on('p', 'h7') and line('Bxh7 Kxh7')games in which a bishop is sacrificed on h7
  Date >= '2020' && speed in ['rapid', 'classical'] games from 2020 on that are not too fast

Structures
==========
Names for --where. Each has a position that matches (yes) and one that does not (no).

Pawns: tests, or sets for count()
  isolated: pawns without a pawn of their side on a file next to them
      yes  4k3/5ppp/8/8/3P4/8/5PPP/4K3 w - -
      no   4k3/5ppp/8/8/3P4/4P3/5PPP/4K3 w - -
  connected: pawns beside a pawn of their side, protected by one or protecting one
      yes  4k3/5p1p/8/8/3P4/4P3/8/4K3 w - -
      no   4k3/5p1p/8/4P3/8/3P4/8/4K3 w - -
  doubled: pawns that share their file with another pawn of their side
      yes  4k3/5ppp/8/8/8/5P2/5P1P/4K3 w - -
      no   4k3/5ppp/8/5P2/8/8/6PP/4K3 w - -
  passed: pawns without an enemy pawn ahead of them, on their file or a file next to it
      yes  4k3/5ppp/8/8/1P6/8/5PPP/4K3 w - -
      no   4k3/p4ppp/8/8/1P6/8/5PPP/4K3 w - -
  backward: pawns that are behind all pawns of their side on the files next to them (and not isolated), and that an enemy pawn could capture if they advanced
      yes  4k3/8/8/2p5/2P1P3/3P4/8/4K3 w - -
      no   4k3/8/8/2p5/2P5/3PP3/8/4K3 w - -
  hanging: two pawns beside each other on half-open files, without other pawns of their side on these files or next to them
      yes  4k3/pp3ppp/4p3/8/2PP4/8/P4PPP/4K3 w - -
      no   4k3/pp3ppp/4p3/8/2PP4/1P6/5PPP/4K3 w - -
  blocked_pawns: pawns with an enemy pawn on the square in front of them
      yes  4k3/8/8/4p3/4P3/8/8/4K3 w - -
      no   4k3/8/4p3/8/4P3/8/8/4K3 w - -

Pieces: fork for either side, fork(white) or fork('N'): a test, or a set for count()
  fork: pieces that attack two enemy pieces or more, pawns aside, each of which is worth more (P 1, N and B 3, R 5, Q 9, K most) or not protected
      yes  r3k3/2N2p2/8/8/8/8/5P2/4K3 b - -
      no   r3k3/2p2p2/8/3N4/8/8/5P2/4K3 b - -

Structures of one side: iqp(white), iqp(black), or iqp for either side
  iqp: isolated queen's pawn: a side's only pawn on the d-file is isolated
      iqp(white) = isolated(white, 'd') && count('P', 'd') == 1
      yes  r1bq1rk1/pp2bppp/2n1pn2/8/3P4/P1N2N2/1P2BPPP/R1BQ1RK1 w - -
      no   r1bq1rk1/pp2bppp/2n1pn2/8/3P4/P1N1PN2/1P2BPPP/R1BQ1RK1 w - -
  carlsbad: the exchanged Queen's Gambit: d4 and e3 without a c-pawn, against c6 and d5 without an e-pawn
      carlsbad(white) = board('8/8/2p5/3p4/3P4/4P3/8/8') && count('P', 'c') == 0 && count('p', 'e') == 0
      yes  r1bqr1k1/pp1nbppp/2p2n2/3p2B1/3P4/2NBP3/PPQ1NPPP/R4RK1 w - -
      no   rnbqk2r/pp2bppp/2p1pn2/3p4/2PP4/2N1PN2/PP3PPP/R1BQKB1R w KQkq -
  hedgehog: pawns on a6, b6, d6 and e6 without a c-pawn, against c4 and e4
      hedgehog(black) = board('8/8/pp1pp3/8/2P1P3/8/8/8') && count('p', 'c') == 0
      yes  r3kb1r/1bqn1ppp/pp1ppn2/8/2PNP3/2N2PP1/PP4BP/R1BQ1RK1 w kq -
      no   r3kb1r/1bqn1ppp/p2ppn2/1p6/2PNP3/2N2PP1/PP4BP/R1BQ1RK1 w kq -
  maroczy: Maroczy bind: c4 and e4 without a d-pawn, against a pawn on d6 or d7 without a c-pawn
      maroczy(white) = on('P', 'c4') && on('P', 'e4') && count('P', 'd') == 0 && on('p', 'd6-7') && count('p', 'c') == 0
      yes  r1bqk2r/pp1pppbp/2n2np1/8/2PNP3/2N1B3/PP3PPP/R2QKB1R w KQkq -
      no   r1bqk2r/pp1pppbp/2n2np1/8/3NP3/2N1B3/PPP2PPP/R2QKB1R w KQkq -
  stonewall: pawns on c3, d4, e3 and f4 (of Black: c6, d5, e6 and f5)
      stonewall(white) = board('8/8/8/8/3P1P2/2P1P3/8/8')
      yes  rnbq1rk1/pp2b1pp/2p1pn2/3p1p2/2PP4/5NP1/PP2PPBP/RNBQ1RK1 w - -
      no   rnbq1rk1/pp2b1pp/2p1pn2/3p4/2PP1p2/5NP1/PP2PPBP/RNBQ1RK1 w - -
  french: chain of the French Defence: d4 and e5 against d5 and e6
      french(white) = board('8/8/4p3/3pP3/3P4/8/8/8')
      yes  rnbqkbnr/pp3ppp/4p3/2ppP3/3P4/8/PPP2PPP/RNBQKBNR w KQkq -
      no   rnbqkbnr/ppp2ppp/4p3/3p4/3PP3/8/PPP2PPP/RNBQKBNR w KQkq -
  benoni: Modern Benoni: d5 and e4 without a c-pawn, against c5 and d6 without an e-pawn
      benoni(white) = board('8/8/3p4/2pP4/4P3/8/8/8') && count('P', 'c') == 0 && count('p', 'e') == 0
      yes  rnbqkb1r/pp3p1p/3p1np1/2pP4/4P3/2N5/PP3PPP/R1BQKBNR w KQkq -
      no   rnbqkb1r/pp2pp1p/3p1np1/2pP4/2P1P3/2N5/PP3PPP/R1BQKBNR w KQkq -
  kings_indian: closed centre of the King's Indian: c4, d5 and e4 against d6 and e5
      kings_indian(white) = board('8/8/3p4/3Pp3/2P1P3/8/8/8')
      yes  r1bq1rk1/pppnnpbp/3p2p1/3Pp3/2P1P3/2N2N2/PP2BPPP/R1BQ1RK1 w - -
      no   r1bq1rk1/pppn1pbp/3p1np1/4p3/2PPP3/2N2N2/PP2BPPP/R1BQ1RK1 w - -
  bishop_pair: bishops on squares of both colours, against a side without them
      bishop_pair(white) = on('B', 'light') && on('B', 'dark') && !(on('b', 'light') && on('b', 'dark'))
      yes  4k3/5n2/5b2/8/8/2BB4/8/4K3 w - -
      no   4k3/5b2/5b2/8/8/2BB4/8/4K3 w - -
  double_check: two pieces of a side give check
      double_check(white) = stm == 'b' && count(attacks('A', 'k')) >= 2
      yes  4k3/8/3N4/8/8/8/4R3/4K3 b - -
      no   4k3/8/2N5/8/8/8/4R3/4K3 b - -

Material: tests without a side
  opposite_bishops: each side has just one bishop, on squares of opposite colours
      opposite_bishops = count('B') == 1 && count('b') == 1 && (on('B', 'light') && on('b', 'dark') || on('B', 'dark') && on('b', 'light'))
      yes  4k3/5b2/8/8/8/2B5/8/4K3 w - -
      no   4k3/5b2/8/8/8/3B4/8/4K3 w - -
  pawn_ending: only kings and pawns, at least one pawn
      pawn_ending = count('QRBNqrbn') == 0 && on('Pp', 'a-h')
      yes  4k3/8/8/8/8/8/4P3/4K3 w - -
      no   4k3/4p3/8/8/8/8/4N3/4K3 w - -
  knight_ending: only kings, knights and pawns; each side has a knight
      knight_ending = count('QRBqrb') == 0 && count('N') >= 1 && count('n') >= 1
      yes  4k3/4n3/8/8/8/8/4N3/4K3 w - -
      no   4k3/4p3/8/8/8/8/4N3/4K3 w - -
  bishop_ending: only kings, bishops and pawns; each side has a bishop
      bishop_ending = count('QRNqrn') == 0 && count('B') >= 1 && count('b') >= 1
      yes  4k3/4b3/8/8/8/8/4B3/4K3 w - -
      no   4k3/4n3/8/8/8/8/4B3/4K3 w - -
  rook_ending: only kings, rooks and pawns; each side has a rook
      rook_ending = count('QBNqbn') == 0 && count('R') >= 1 && count('r') >= 1
      yes  4k3/4r3/8/8/8/8/4RP2/4K3 w - -
      no   4k3/4r3/8/8/8/8/4QP2/4K3 w - -
  queen_ending: only kings, queens and pawns; each side has a queen
      queen_ending = count('RBNrbn') == 0 && count('Q') >= 1 && count('q') >= 1
      yes  4k3/4q3/8/8/8/8/4QP2/4K3 w - -
      no   4k3/4r3/8/8/8/8/4QP2/4K3 w - -

The side to move: a test without a side
  quiet: the side to move is not in check, none of its pieces attacks an enemy piece that is worth more or not protected, and none of its pawns can promote; en passant and pins do not count
      yes  4k3/4p3/3p4/5N2/8/8/5P2/4K3 w - -
      no   4k3/8/3p4/5N2/8/8/5P2/4K3 w - -
"""
