//! Named structures and endings, defined in the language of expressions.

use std::fmt::Write;

use super::pawns::PAWN_TERMS;
use epdb_chess::model::Color;

/// A named test of the position.
pub(super) struct Structure {
    pub(super) name: &'static str,
    pub(super) meaning: &'static str,
    /// The side that has the structure in the definition; `None` if it belongs to no side.
    pub(super) side: Option<Color>,
    pub(super) definition: &'static str,
    /// The four fields of a position that has the structure, and of one that has it for no side.
    pub(super) examples: [&'static str; 2],
}

pub(super) const STRUCTURES: [Structure; 16] = [
    Structure {
        name: "iqp",
        meaning: "isolated queen's pawn: a side's only pawn on the d-file is isolated",
        side: Some(Color::White),
        definition: "isolated(white, 'd') && count('P', 'd') == 1",
        examples: [
            "r1bq1rk1/pp2bppp/2n1pn2/8/3P4/P1N2N2/1P2BPPP/R1BQ1RK1 w - -",
            "r1bq1rk1/pp2bppp/2n1pn2/8/3P4/P1N1PN2/1P2BPPP/R1BQ1RK1 w - -",
        ],
    },
    Structure {
        name: "carlsbad",
        meaning: "the exchanged Queen's Gambit: d4 and e3 without a c-pawn, against c6 and d5 without an e-pawn",
        side: Some(Color::White),
        definition: "board('8/8/2p5/3p4/3P4/4P3/8/8') && count('P', 'c') == 0 && count('p', 'e') == 0",
        examples: [
            "r1bqr1k1/pp1nbppp/2p2n2/3p2B1/3P4/2NBP3/PPQ1NPPP/R4RK1 w - -",
            "rnbqk2r/pp2bppp/2p1pn2/3p4/2PP4/2N1PN2/PP3PPP/R1BQKB1R w KQkq -",
        ],
    },
    Structure {
        name: "hedgehog",
        meaning: "pawns on a6, b6, d6 and e6 without a c-pawn, against c4 and e4",
        side: Some(Color::Black),
        definition: "board('8/8/pp1pp3/8/2P1P3/8/8/8') && count('p', 'c') == 0",
        examples: [
            "r3kb1r/1bqn1ppp/pp1ppn2/8/2PNP3/2N2PP1/PP4BP/R1BQ1RK1 w kq -",
            "r3kb1r/1bqn1ppp/p2ppn2/1p6/2PNP3/2N2PP1/PP4BP/R1BQ1RK1 w kq -",
        ],
    },
    Structure {
        name: "maroczy",
        meaning: "Maroczy bind: c4 and e4 without a d-pawn, against a pawn on d6 or d7 without a c-pawn",
        side: Some(Color::White),
        definition: "on('P', 'c4') && on('P', 'e4') && count('P', 'd') == 0 && on('p', 'd6-7') && \
                     count('p', 'c') == 0",
        examples: [
            "r1bqk2r/pp1pppbp/2n2np1/8/2PNP3/2N1B3/PP3PPP/R2QKB1R w KQkq -",
            "r1bqk2r/pp1pppbp/2n2np1/8/3NP3/2N1B3/PPP2PPP/R2QKB1R w KQkq -",
        ],
    },
    Structure {
        name: "stonewall",
        meaning: "pawns on c3, d4, e3 and f4 (of Black: c6, d5, e6 and f5)",
        side: Some(Color::White),
        definition: "board('8/8/8/8/3P1P2/2P1P3/8/8')",
        examples: [
            "rnbq1rk1/pp2b1pp/2p1pn2/3p1p2/2PP4/5NP1/PP2PPBP/RNBQ1RK1 w - -",
            "rnbq1rk1/pp2b1pp/2p1pn2/3p4/2PP1p2/5NP1/PP2PPBP/RNBQ1RK1 w - -",
        ],
    },
    Structure {
        name: "french",
        meaning: "chain of the French Defence: d4 and e5 against d5 and e6",
        side: Some(Color::White),
        definition: "board('8/8/4p3/3pP3/3P4/8/8/8')",
        examples: [
            "rnbqkbnr/pp3ppp/4p3/2ppP3/3P4/8/PPP2PPP/RNBQKBNR w KQkq -",
            "rnbqkbnr/ppp2ppp/4p3/3p4/3PP3/8/PPP2PPP/RNBQKBNR w KQkq -",
        ],
    },
    Structure {
        name: "benoni",
        meaning: "Modern Benoni: d5 and e4 without a c-pawn, against c5 and d6 without an e-pawn",
        side: Some(Color::White),
        definition: "board('8/8/3p4/2pP4/4P3/8/8/8') && count('P', 'c') == 0 && count('p', 'e') == 0",
        examples: [
            "rnbqkb1r/pp3p1p/3p1np1/2pP4/4P3/2N5/PP3PPP/R1BQKBNR w KQkq -",
            "rnbqkb1r/pp2pp1p/3p1np1/2pP4/2P1P3/2N5/PP3PPP/R1BQKBNR w KQkq -",
        ],
    },
    Structure {
        name: "kings_indian",
        meaning: "closed centre of the King's Indian: c4, d5 and e4 against d6 and e5",
        side: Some(Color::White),
        definition: "board('8/8/3p4/3Pp3/2P1P3/8/8/8')",
        examples: [
            "r1bq1rk1/pppnnpbp/3p2p1/3Pp3/2P1P3/2N2N2/PP2BPPP/R1BQ1RK1 w - -",
            "r1bq1rk1/pppn1pbp/3p1np1/4p3/2PPP3/2N2N2/PP2BPPP/R1BQ1RK1 w - -",
        ],
    },
    Structure {
        name: "bishop_pair",
        meaning: "bishops on squares of both colours, against a side without them",
        side: Some(Color::White),
        definition: "on('B', 'light') && on('B', 'dark') && !(on('b', 'light') && on('b', 'dark'))",
        examples: ["4k3/5n2/5b2/8/8/2BB4/8/4K3 w - -", "4k3/5b2/5b2/8/8/2BB4/8/4K3 w - -"],
    },
    Structure {
        name: "double_check",
        meaning: "two pieces of a side give check",
        side: Some(Color::White),
        definition: "stm == 'b' && count(attacks('A', 'k')) >= 2",
        examples: ["4k3/8/3N4/8/8/8/4R3/4K3 b - -", "4k3/8/2N5/8/8/8/4R3/4K3 b - -"],
    },
    Structure {
        name: "opposite_bishops",
        meaning: "each side has just one bishop, on squares of opposite colours",
        side: None,
        definition: "count('B') == 1 && count('b') == 1 && (on('B', 'light') && on('b', 'dark') || \
                     on('B', 'dark') && on('b', 'light'))",
        examples: ["4k3/5b2/8/8/8/2B5/8/4K3 w - -", "4k3/5b2/8/8/8/3B4/8/4K3 w - -"],
    },
    Structure {
        name: "pawn_ending",
        meaning: "only kings and pawns, at least one pawn",
        side: None,
        definition: "count('QRBNqrbn') == 0 && on('Pp', 'a-h')",
        examples: ["4k3/8/8/8/8/8/4P3/4K3 w - -", "4k3/4p3/8/8/8/8/4N3/4K3 w - -"],
    },
    Structure {
        name: "knight_ending",
        meaning: "only kings, knights and pawns; each side has a knight",
        side: None,
        definition: "count('QRBqrb') == 0 && count('N') >= 1 && count('n') >= 1",
        examples: ["4k3/4n3/8/8/8/8/4N3/4K3 w - -", "4k3/4p3/8/8/8/8/4N3/4K3 w - -"],
    },
    Structure {
        name: "bishop_ending",
        meaning: "only kings, bishops and pawns; each side has a bishop",
        side: None,
        definition: "count('QRNqrn') == 0 && count('B') >= 1 && count('b') >= 1",
        examples: ["4k3/4b3/8/8/8/8/4B3/4K3 w - -", "4k3/4n3/8/8/8/8/4B3/4K3 w - -"],
    },
    Structure {
        name: "rook_ending",
        meaning: "only kings, rooks and pawns; each side has a rook",
        side: None,
        definition: "count('QBNqbn') == 0 && count('R') >= 1 && count('r') >= 1",
        examples: ["4k3/4r3/8/8/8/8/4RP2/4K3 w - -", "4k3/4r3/8/8/8/8/4QP2/4K3 w - -"],
    },
    Structure {
        name: "queen_ending",
        meaning: "only kings, queens and pawns; each side has a queen",
        side: None,
        definition: "count('RBNrbn') == 0 && count('Q') >= 1 && count('q') >= 1",
        examples: ["4k3/4q3/8/8/8/8/4QP2/4K3 w - -", "4k3/4r3/8/8/8/8/4QP2/4K3 w - -"],
    },
];

/// A term with its definition in words.
pub(super) struct NamedTerm {
    pub(super) name: &'static str,
    meaning: &'static str,
    pub(super) examples: [&'static str; 2],
}

pub(super) const FORK: NamedTerm = NamedTerm {
    name: "fork",
    meaning: "pieces that attack two enemy pieces or more, pawns aside, each of which is worth more \
              (P 1, N and B 3, R 5, Q 9, K most) or not protected",
    examples: ["r3k3/2N2p2/8/8/8/8/5P2/4K3 b - -", "r3k3/2p2p2/8/3N4/8/8/5P2/4K3 b - -"],
};

pub(super) const QUIET: NamedTerm = NamedTerm {
    name: "quiet",
    meaning: "the side to move is not in check, none of its pieces attacks an enemy piece that is worth more or not \
              protected, and none of its pawns can promote; en passant and pins do not count",
    examples: ["4k3/4p3/3p4/5N2/8/8/5P2/4K3 w - -", "4k3/8/3p4/5N2/8/8/5P2/4K3 w - -"],
};

/// The names of all pawn terms and structures.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    let pawns = PAWN_TERMS.iter().map(|term| term.name);
    pawns.chain([QUIET.name]).chain(STRUCTURES.iter().map(|structure| structure.name))
}

/// The named pawn terms and structures with their definitions and examples, for a page of help.
pub fn describe_structures() -> String {
    let mut text = String::from("Pawns: tests, or sets for count()\n");
    for term in &PAWN_TERMS {
        describe(&mut text, term.name, term.meaning, None, term.examples);
    }
    text.push_str(
        "\nPieces: fork for either side, fork(white) or fork('N'): a test, or a set for count()\n",
    );
    describe(&mut text, FORK.name, FORK.meaning, None, FORK.examples);
    text.push_str("\nStructures of one side: iqp(white), iqp(black), or iqp for either side\n");
    for structure in STRUCTURES.iter().filter(|it| it.side.is_some()) {
        let Structure { name, meaning, definition, examples, .. } = *structure;
        describe(&mut text, name, meaning, Some((structure.side, definition)), examples);
    }
    text.push_str("\nMaterial: tests without a side\n");
    for structure in STRUCTURES.iter().filter(|it| it.side.is_none()) {
        let Structure { name, meaning, definition, examples, .. } = *structure;
        describe(&mut text, name, meaning, Some((None, definition)), examples);
    }
    text.push_str("\nThe side to move: a test without a side\n");
    describe(&mut text, QUIET.name, QUIET.meaning, None, QUIET.examples);
    text
}

fn describe(
    text: &mut String,
    name: &str,
    meaning: &str,
    definition: Option<(Option<Color>, &str)>,
    [example, counterexample]: [&str; 2],
) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "  {name}: {meaning}");
    if let Some((side, definition)) = definition {
        let side = match side {
            Some(Color::White) => "(white)",
            Some(Color::Black) => "(black)",
            None => "",
        };
        let _ = writeln!(text, "      {name}{side} = {definition}");
    }
    let _ = writeln!(text, "      yes  {example}");
    let _ = writeln!(text, "      no   {counterexample}");
}
