//! Sets of pawns that have a property, such as passed pawns.

use epdb_chess::model::{Board, Color, Role};

/// A property of pawns. The definitions are in [`PAWN_TERMS`].
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum PawnTerm {
    Isolated,
    Connected,
    Doubled,
    Passed,
    Backward,
    Hanging,
    Blocked,
}

/// A property of pawns, with an example and a counterexample.
pub(super) struct NamedPawnTerm {
    pub(super) name: &'static str,
    pub(super) term: PawnTerm,
    pub(super) meaning: &'static str,
    /// The four fields of a position in which a side has such a pawn, and of one in which no side has.
    pub(super) examples: [&'static str; 2],
}

pub(super) const PAWN_TERMS: [NamedPawnTerm; 7] = [
    NamedPawnTerm {
        name: "isolated",
        term: PawnTerm::Isolated,
        meaning: "pawns without a pawn of their side on a file next to them",
        examples: ["4k3/5ppp/8/8/3P4/8/5PPP/4K3 w - -", "4k3/5ppp/8/8/3P4/4P3/5PPP/4K3 w - -"],
    },
    NamedPawnTerm {
        name: "connected",
        term: PawnTerm::Connected,
        meaning: "pawns beside a pawn of their side, protected by one or protecting one",
        examples: ["4k3/5p1p/8/8/3P4/4P3/8/4K3 w - -", "4k3/5p1p/8/4P3/8/3P4/8/4K3 w - -"],
    },
    NamedPawnTerm {
        name: "doubled",
        term: PawnTerm::Doubled,
        meaning: "pawns that share their file with another pawn of their side",
        examples: ["4k3/5ppp/8/8/8/5P2/5P1P/4K3 w - -", "4k3/5ppp/8/5P2/8/8/6PP/4K3 w - -"],
    },
    NamedPawnTerm {
        name: "passed",
        term: PawnTerm::Passed,
        meaning: "pawns without an enemy pawn ahead of them, on their file or a file next to it",
        examples: ["4k3/5ppp/8/8/1P6/8/5PPP/4K3 w - -", "4k3/p4ppp/8/8/1P6/8/5PPP/4K3 w - -"],
    },
    NamedPawnTerm {
        name: "backward",
        term: PawnTerm::Backward,
        meaning: "pawns that are behind all pawns of their side on the files next to them (and not isolated), \
                  and that an enemy pawn could capture if they advanced",
        examples: ["4k3/8/8/2p5/2P1P3/3P4/8/4K3 w - -", "4k3/8/8/2p5/2P5/3PP3/8/4K3 w - -"],
    },
    NamedPawnTerm {
        name: "hanging",
        term: PawnTerm::Hanging,
        meaning: "two pawns beside each other on half-open files, without other pawns of their side on these \
                  files or next to them",
        examples: [
            "4k3/pp3ppp/4p3/8/2PP4/8/P4PPP/4K3 w - -",
            "4k3/pp3ppp/4p3/8/2PP4/1P6/5PPP/4K3 w - -",
        ],
    },
    NamedPawnTerm {
        name: "blocked_pawns",
        term: PawnTerm::Blocked,
        meaning: "pawns with an enemy pawn on the square in front of them",
        examples: ["4k3/8/8/4p3/4P3/8/8/4K3 w - -", "4k3/8/4p3/8/4P3/8/8/4K3 w - -"],
    },
];

const FILE_A: u64 = 0x0101_0101_0101_0101;
const FILE_H: u64 = FILE_A << 7;

impl PawnTerm {
    /// The pawns of a side that have the property.
    pub(super) fn on(self, board: &Board, side: Color) -> u64 {
        let white = board.pieces(Color::White, Role::Pawn).bits();
        let black = board.pieces(Color::Black, Role::Pawn).bits();
        match side {
            Color::White => self.of_white(white, black),
            Color::Black => self.of_white(black.swap_bytes(), white.swap_bytes()).swap_bytes(),
        }
    }

    /// The pawns among `own` that have the property, if they move up the board.
    fn of_white(self, own: u64, enemy: u64) -> u64 {
        let own_files = up(own) | down(own);
        match self {
            PawnTerm::Isolated => own & !beside(own_files),
            PawnTerm::Connected => own & beside(own | own << 8 | own >> 8),
            PawnTerm::Doubled => own & (up(own) << 8 | down(own) >> 8),
            PawnTerm::Passed => own & !(down(enemy | beside(enemy)) >> 8),
            PawnTerm::Backward => {
                let attacked = beside(enemy) >> 8;
                own & beside(own_files) & !beside(up(own)) & attacked >> 8
            }
            PawnTerm::Hanging => {
                let enemy_files = up(enemy) | down(enemy);
                let single = own & !(up(own) << 8 | down(own) >> 8) & !enemy_files;
                let left = single & !((own_files & !FILE_H) << 1);
                let right = single & !((own_files & !FILE_A) >> 1);
                let pairs = left & ((right & !FILE_A) >> 1);
                pairs | pairs << 1
            }
            PawnTerm::Blocked => own & enemy >> 8,
        }
    }
}

/// The squares of a set, and all squares above them on their files.
const fn up(set: u64) -> u64 {
    let set = set | set << 8;
    let set = set | set << 16;
    set | set << 32
}

/// The squares of a set, and all squares below them on their files.
const fn down(set: u64) -> u64 {
    let set = set | set >> 8;
    let set = set | set >> 16;
    set | set >> 32
}

/// The squares to the left and to the right of a set.
const fn beside(set: u64) -> u64 {
    (set & !FILE_H) << 1 | (set & !FILE_A) >> 1
}
