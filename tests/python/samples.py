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
8/7p/5k2/5p2/p1p2P2/Pr1pPK2/1P1R3P/8 b - - bm Rxb2; id "WAC.002"; pm Rb4; ce -20;
"""

LINES = [
    "1. e4 e5 2. Nf3 Nc6 3. Bb5 a6 4. Ba4 Nf6 5. O-O Be7 6. Re1 b5 7. Bb3 d6 8. c3 O-O 9. h3 Nb8 10. d4 Nbd7",
    "1. d4 d5 2. c4 e6 3. Nc3 Nf6 4. Bg5 Be7 5. e3 O-O 6. Nf3 h6 7. Bh4 b6 8. cxd5 Nxd5 9. Bxe7 Qxe7",
    "1. e4 {[%eval 0.2] [%clk 0:03:00]} c5 {[%eval 0.31] [%clk 0:02:58]} 2. Nf3 d6 3. d4 cxd4 4. Nxd4 Nf6",
    "1. e4 c6 2. d4 d5",
    '1. c4 e5 2. g3 {a comment with\n\n [Event "inside"]\n\n} Nf6 (2... d5 3. cxd5) 3. Bg2',
    "1. Nf3 d5 2. g3",
]


def many_games(first: int, end: int) -> str:
    """Games, many of which have copies far away, with other ratings."""

    def game(nth: int) -> str:
        # The numbers of copies differ by multiples of 100.
        same = nth % 700 % 100
        own = nth if nth % 5 == 0 else same
        result = ["1-0", "0-1", "1/2-1/2", "*"][same % 4]
        rating = f'[WhiteElo "{1500 + nth % 1000}"]\n' if nth % 3 else ""
        return (
            f'[Event "{nth}"]\n[White "W{same}"]\n[Black "B{own // 100}"]\n'
            f'[Date "{1990 + own // 30}.01.{1 + same % 28:02}"]\n[Result "{result}"]\n'
            f'[TimeControl "{60 + nth % 4 * 200}+0"]\n{rating}\n{LINES[same % 6]} {result}\n\n'
        )

    return "".join(map(game, range(first, end)))
