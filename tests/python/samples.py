"""Samples that the tests write."""

START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"
AFTER_E4 = "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1"

SUITE = """\
# A suite.
2rr3k/pp3pp1/1nnqbN1p/3pN3/2pP4/2P3Q1/PPB4P/R4RK1 w - - bm Qg6; id "WAC.001"; ce 900;
8/7p/5k2/5p2/p1p2P2/Pr1pPK2/1P1R3P/8 b - - bm Rxb2; id "WAC.002"; pv Rxb2 Rxb2 c3;
5rk1/1ppb3p/p1pb4/6q1/3P1p1r/2P1R2P/PP1BQ1P1/5RKN w - - bm Rg3; id "WAC.003"; D1 20;
r3k2r/8/8/8/8/8/8/R3K2R w KQkq - bm O-O O-O-O; id "castling";
"""

GAMES = """\
[Event "A"]
[White "Ada"]
[Black "Bob"]
[Date "2020.01.01"]
[WhiteElo "2500"]
[BlackElo "2400"]
[Result "1-0"]

1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 1-0

[Event "B"]
[White "Bob"]
[Black "Cyd"]
[Date "2021.01.01"]
[Result "0-1"]

1. e4 {[%clk 0:03:00]} c5 {[%clk 0:02:58]} 2. Nf3 {[%clk 0:02:57]} d6 {[%clk 0:02:51]} 0-1

[Event "C"]
[White "Cyd"]
[Black "Ada"]
[Date "2022.01.01"]
[Result "1/2-1/2"]

1. d4 d5 1/2-1/2
"""

# An engine solved the first of two problems.
ANSWERS = """\
2rr3k/pp3pp1/1nnqbN1p/3pN3/2pP4/2P3Q1/PPB4P/R4RK1 w - - bm Qg6; id "WAC.001"; pm Qg6; ce 900;
8/7p/5k2/5p2/p1p2P2/Pr1pPK2/1P1R3P/8 b - - bm Rxb2; id "WAC.002"; pm Rb1; ce -20;
"""
