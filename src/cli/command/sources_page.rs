//! `epdb help sources`: what is read that other projects publish.

const PAGE: &str = "\
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

/// The whole page.
pub(crate) fn page() -> String {
    PAGE.into()
}
