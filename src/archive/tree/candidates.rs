//! The lists of contexts that are tried for each column. The most promising list comes first.

use super::context::Context::{
    self, BackRank, BothPawns, BothPieces, Column, Material, Pawns, Pieces,
};
use super::context::Side::{Black, White};

const FORM: Context = Column(0);
const TURN_AND_RIGHTS: Context = Column(1);
const RANK_1: Context = Column(2);
const RANK_2: Context = Column(3);
const RANK_8: Context = Column(4);
const RANK_7: Context = Column(5);
const RANK_3: Context = Column(6);
const RANK_6: Context = Column(7);
const RANK_4: Context = Column(8);
const RANK_5: Context = Column(9);
const EN_PASSANT: Context = Column(10);
const FULLMOVE: Context = Column(11);

/// For each column the lists of contexts that are tried. The first lists suit games from the
/// initial array; the last ones suit Chess960 and everything else.
pub(super) const CANDIDATES: [&[&[Context]]; 13] = [
    &[&[]],
    &[&[]],
    &[&[TURN_AND_RIGHTS]],
    &[&[RANK_1, TURN_AND_RIGHTS], &[BackRank(White), RANK_1], &[Material(White), TURN_AND_RIGHTS]],
    &[
        &[TURN_AND_RIGHTS, RANK_1, Material(White)],
        &[RANK_1, TURN_AND_RIGHTS],
        &[BackRank(White), Material(White), RANK_1, TURN_AND_RIGHTS],
    ],
    &[&[RANK_8, Pawns(White), RANK_2], &[BackRank(Black), Pieces(Black), Pawns(White), RANK_8]],
    &[
        &[Material(White), RANK_1, RANK_2, Material(Black)],
        &[Material(White), BackRank(White), TURN_AND_RIGHTS],
        &[Pawns(White), Pieces(White), RANK_2],
    ],
    &[
        &[Material(Black), RANK_8, RANK_7, Pawns(White)],
        &[Material(Black), BackRank(Black), Pawns(White), TURN_AND_RIGHTS],
        &[Pawns(Black), Pieces(Black), RANK_7],
    ],
    &[
        &[Material(White), Material(Black), RANK_1, RANK_2],
        &[Material(White), Material(Black), RANK_3, RANK_1],
        &[BothPawns, Material(White), Material(Black)],
    ],
    &[
        &[BothPawns, BothPieces, RANK_4, TURN_AND_RIGHTS],
        &[BothPawns, BothPieces, RANK_4, RANK_6],
        &[BothPawns, BothPieces, RANK_8],
        &[Material(Black), Material(White), RANK_4, RANK_6],
    ],
    &[&[TURN_AND_RIGHTS, RANK_5, RANK_4], &[RANK_5, RANK_7]],
    &[&[FORM, TURN_AND_RIGHTS], &[FORM, BothPieces, TURN_AND_RIGHTS]],
    &[
        &[FORM, EN_PASSANT, TURN_AND_RIGHTS, FULLMOVE],
        &[RANK_8, BothPieces, RANK_7],
        &[BackRank(Black), BackRank(White), TURN_AND_RIGHTS],
    ],
];
