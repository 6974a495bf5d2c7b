//! Terms about the board, compared with squares that are looked at one by one.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use super::tests::{DOUBLE_STEP, MATE, STALEMATE, WAC, holds};
use super::*;
use crate::flip::{Mirror, flip};
use epdb_chess::codec::{ordinal, packed};
use epdb_chess::model::rules::Playable;
use epdb_chess::model::{Board, Castling, Color, EpdRecord, Piece, Position, Side, Square};

/// The piece on a square, looked at alone.
fn piece_on(position: &Position, name: &str) -> char {
    let square = name.parse().unwrap();
    position.board().piece_at(square).map_or('.', |piece| piece.letter().into())
}

/// Whether a piece is one of those that a letter or list of `board()` stands for.
fn is_one_of(piece: char, wanted: &str) -> bool {
    wanted.chars().any(|wanted| match wanted {
        'A' => piece.is_ascii_uppercase(),
        'a' => piece.is_ascii_lowercase(),
        '!' => piece != '.',
        letter => piece == letter,
    })
}

/// Positions of games that are played at random.
fn positions() -> Vec<EpdRecord> {
    let mut all = Vec::new();
    let mut random = 88_172_645_463_325_252_u64;
    for _ in 0..25 {
        let mut playable = Playable::new(&Position::START).unwrap();
        for _ in 0..90 {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let count = ordinal::count(&playable);
            if count == 0 {
                break;
            }
            let mv = ordinal::move_at(&playable, (random % u64::from(count)) as u16).unwrap();
            playable = playable.after(mv);
            all.push(EpdRecord::new(*playable.position()));
        }
    }
    all
}

/// Compares an expression with a function that looks at squares one by one. Both must say yes and no.
fn assert_same(expression: &str, records: &[EpdRecord], naive: impl Fn(&Position) -> bool) {
    let found = compare(expression, records, naive);
    assert!(found[0] > 0 && found[1] > 0, "{expression}: {found:?}");
}

/// Compares an expression with a function that looks at squares one by one. Returns how often both said no, and
/// how often both said yes.
fn compare(
    expression: &str,
    records: &[EpdRecord],
    naive: impl Fn(&Position) -> bool,
) -> [usize; 2] {
    let parsed =
        Expression::parse(expression).unwrap_or_else(|error| panic!("{expression}: {error}"));
    assert_eq!(parsed.pushdown(), Pushdown::All, "{expression}");
    let mut found = [0; 2];
    for record in records {
        let expected = naive(record.position());
        let subject = EvalContext::from_record(record);
        assert_eq!(parsed.holds(&subject), expected, "{expression} on {record}");
        assert_eq!(parsed.root.holds(&subject), expected, "{expression} on {record}");
        let packed = packed::encode(&record.position().identity());
        let setup = packed::setup_of(packed.as_bytes()).unwrap();
        assert_eq!(setup, Setup::from(record.position()), "{record}");
        assert_eq!(parsed.judge(&setup), Some(expected), "{expression} on {record}");
        found[usize::from(expected)] += 1;
    }
    found
}

fn all_squares() -> impl Iterator<Item = String> {
    ('1'..='8').flat_map(|rank| ('a'..='h').map(move |file| format!("{file}{rank}")))
}

#[test]
fn terms_about_the_board_agree_with_squares_looked_at_one_by_one() {
    let records = &positions();
    let mut found = [0; 2];
    let mut add = |both: [usize; 2]| found = [found[0] + both[0], found[1] + both[1]];
    for (wanted, forbidden) in [
        ("P", false),
        ("A", false),
        ("a", false),
        ("!", false),
        ("Nn", false),
        ("!", true),
        ("Pa", true),
    ] {
        for square in ["a2", "e4", "d5", "g7", "h6"] {
            let mut ranks = vec!["????????".to_string(); 8];
            let rank = 8 - usize::from(square.as_bytes()[1] - b'0');
            let file = usize::from(square.as_bytes()[0] - b'a');
            let cell = match (wanted, forbidden) {
                ("!", true) => "_".to_string(),
                ("!", false) => "!".to_string(),
                (list, true) => format!("[^{list}]"),
                (list, false) => format!("[{list}]"),
            };
            ranks[rank] = format!("{}{cell}{}", "?".repeat(file), "?".repeat(7 - file));
            let pattern = ranks.join("/");
            let naive =
                |position: &Position| is_one_of(piece_on(position, square), wanted) != forbidden;
            add(compare(&format!("board('{pattern}')"), records, naive));
            add(compare(&format!("fenpattern('{pattern}')"), records, naive));
            if !forbidden {
                add(compare(&format!("on('{wanted}', '{square}')"), records, naive));
                add(compare(&format!("count('{wanted}', '{square}') == 1"), records, naive));
            }
        }
    }
    assert!(found[0] > 10_000 && found[1] > 10_000, "{found:?}");
    let count = |position: &Position, wanted: &str, fits: &dyn Fn(&str) -> bool| {
        let squares = all_squares().filter(|square| fits(square));
        squares.filter(|square| is_one_of(piece_on(position, square), wanted)).count() as i64
    };
    let all = |_: &str| true;
    assert_same("count('P') - count('p') >= 1", records, |it| {
        count(it, "P", &all) - count(it, "p", &all) >= 1
    });
    assert_same("abs(count('A', 'a-h5-8') - count('a', 'e')) < 2 + count('Q')", records, |it| {
        let left = count(it, "A", &|square| &square[1..] >= "5")
            - count(it, "a", &|square| square.starts_with('e'));
        left.abs() < 2 + count(it, "Q", &all)
    });
    assert_same("on('Bb', 'light, c1-d2')", records, |it| {
        count(it, "Bb", &|square| {
            let [file, rank] = [square.as_bytes()[0] - b'a', square.as_bytes()[1] - b'1'];
            (file + rank) % 2 == 1 || (2..=3).contains(&file) && rank <= 1
        }) > 0
    });
    assert_same("stm == 'w' and pieces < 30", records, |it| {
        it.turn() == Color::White && count(it, "!", &all) < 30
    });
    assert_same("fenpattern('*/*/*/*/*P1*/*/*/*')", records, |it| {
        ('a'..'h').zip('b'..='h').any(|(file, next)| {
            piece_on(it, &format!("{file}4")) == 'P' && piece_on(it, &format!("{next}4")) == '.'
        })
    });
    assert_same("fenpattern('*/1*/*/*/*/*/*/*m')", records, |it| {
        piece_on(it, "a7") == '.' && !"Pp".contains(piece_on(it, "h1"))
    });
    assert_same("castling('Kq')", records, |it| {
        let castling = it.castling();
        castling.rook(Color::White, Side::King).is_some()
            && castling.rook(Color::Black, Side::Queen).is_some()
    });
    assert_same("flipcolor(on('N', 'f3,d2') && !on('P', 'e2'))", records, |it| {
        let white =
            (piece_on(it, "f3") == 'N' || piece_on(it, "d2") == 'N') && piece_on(it, "e2") != 'P';
        let black =
            (piece_on(it, "f6") == 'n' || piece_on(it, "d7") == 'n') && piece_on(it, "e7") != 'p';
        white || black
    });
    assert_same("flipvertical(on('P', 'a3') && stm == 'b')", records, |it| {
        it.turn() == Color::Black && (piece_on(it, "a3") == 'P' || piece_on(it, "h3") == 'P')
    });
}

/// The pawns of a side with a property, counted square by square.
fn naive_pawns(position: &Position, term: &str, white: bool) -> i64 {
    let (own, enemy, ahead) = if white { ('P', 'p', 1) } else { ('p', 'P', -1) };
    let at = |file: i32, rank: i32| match (file, rank) {
        (0..8, 0..8) => {
            let square = Square::at(file as u8, rank as u8);
            position.board().piece_at(square).map_or('.', |piece| piece.letter().into())
        }
        _ => '.',
    };
    let has = |letter: char, file: i32, fits: &dyn Fn(i32) -> bool| {
        (0..8).any(|rank| fits(rank) && at(file, rank) == letter)
    };
    let any = &|_: i32| true;
    let fits = |file: i32, rank: i32| {
        let is_ahead = |other: i32| (other - rank) * ahead > 0;
        let is_beside_alone = |step: i32| {
            at(file + step, rank) == own
                && [file, file + step]
                    .into_iter()
                    .all(|file| !has(enemy, file, any) && !has(own, file, &|other| other != rank))
                && !has(own, file - step, any)
                && !has(own, file + 2 * step, any)
        };
        let is_isolated = !has(own, file - 1, any) && !has(own, file + 1, any);
        match term {
            "isolated" => is_isolated,
            "connected" => (rank - 1..=rank + 1)
                .any(|rank| at(file - 1, rank) == own || at(file + 1, rank) == own),
            "doubled" => has(own, file, &|other| other != rank),
            "passed" => (file - 1..=file + 1).all(|file| !has(enemy, file, &is_ahead)),
            "backward" => {
                let is_behind = |file| !has(own, file, &|other| !is_ahead(other));
                !is_isolated
                    && is_behind(file - 1)
                    && is_behind(file + 1)
                    && (at(file - 1, rank + 2 * ahead) == enemy
                        || at(file + 1, rank + 2 * ahead) == enemy)
            }
            "hanging" => is_beside_alone(1) || is_beside_alone(-1),
            _ => at(file, rank + ahead) == enemy,
        }
    };
    let pawns = (0..8).flat_map(|file| (0..8).map(move |rank| (file, rank)));
    pawns.filter(|(file, rank)| at(*file, *rank) == own && fits(*file, *rank)).count() as i64
}

#[test]
fn pawns_agree_with_squares_looked_at_one_by_one() {
    let mut records = positions();
    // Positions with few pawns, so that every property occurs.
    let mut random = 1_181_783_497_276_652_981_u64;
    for _ in 0..800 {
        let mut board = Board::EMPTY;
        for letter in *b"PPPPPPPPpppppppp" {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            if !random.is_multiple_of(3) {
                let square = Square::at((random >> 8) as u8 % 8, 1 + (random >> 16) as u8 % 6);
                board.put(square, Piece::from_letter(letter));
            }
        }
        let turn = Color::White;
        let castling = Castling::NONE;
        let position = Position::new(board, turn, castling, None).unwrap();
        records.push(EpdRecord::new(position));
    }
    // Of these, a side has none or at least two.
    let in_pairs = ["connected", "doubled", "hanging"];
    for term in pawns::PAWN_TERMS.iter().map(|term| term.name) {
        for (side, white) in [("white", true), ("black", false)] {
            assert_same(&format!("{term}({side})"), &records, |it| {
                naive_pawns(it, term, white) > 0
            });
            for number in [1, 2] {
                let expression = format!("count({term}({side})) == {number}");
                if number > 1 || !in_pairs.contains(&term) {
                    assert_same(&expression, &records, |it| naive_pawns(it, term, white) == number);
                }
            }
        }
        assert_same(&format!("not {term}"), &records, |it| {
            naive_pawns(it, term, true) + naive_pawns(it, term, false) == 0
        });
        assert_same(&format!("count({term}) > 1"), &records, |it| {
            naive_pawns(it, term, true) + naive_pawns(it, term, false) > 1
        });
    }
}

#[test]
fn material_is_that_of_either_side_or_of_one() {
    let line = "4k3/8/3r4/8/8/8/1R3PP1/4K3 w - -";
    for expression in [
        "material('RPP v R')",
        "material('R v RPP')",
        "material('KRPP v KR', white)",
        "material('R v RPP', black)",
        "material == 'KRPPkr'",
        "rook_ending",
        "balance == 2 && flipcolor(balance == -2)",
    ] {
        assert!(holds(expression, line), "{expression}");
    }
    for expression in [
        "material('RPP v R', black)",
        "material('RP v R')",
        "material != 'KRPPkr'",
        "queen_ending",
        "material('RPP v')",
    ] {
        assert!(!holds(expression, line), "{expression}");
    }
}

#[test]
fn attacks_and_pins_are_those_of_the_pieces() {
    const PINS: &str = "3rk3/8/5q2/1b2n3/8/2NP1P2/3K4/Q3R3 b - -";
    for (expression, is_true) in [
        ("pinned('n')", true),
        ("pinned('q')", false),
        ("pinned('P')", true),
        ("count(pinned('!')) == 2", true),
        ("attacks('R', 'n')", true),
        ("attacks('R', 'k')", false),
        ("attacks('q', 'N')", false),
        ("attacks('Q', 'N')", true),
        ("attacks('b', 'P')", true),
        ("attacks('P', 'n')", false),
        ("count(attacks('a', 'P')) == 4", true),
        ("count(attacks('a', 'P'), 'd') == 1", true),
        ("flipcolor(pinned('N')) and flipvertical(attacks('r', 'P'))", true),
        ("double_check", false),
    ] {
        assert_eq!(holds(expression, PINS), is_true, "{expression}");
    }
    let bare = "4k3/8/8/8/8/8/8/4K2R w K -";
    for expression in ["material('R v')", "material('R v', white)", "material('KR v K')"] {
        assert!(holds(expression, bare), "{expression}");
    }
    assert!(!holds("material('R v', black)", bare));
}

/// Pieces with two targets: kings, pieces that are worth more, and pieces without protection.
#[test]
fn forks_have_two_targets() {
    // A knight that attacks king and queen; a rook between two bishops, one of them protected.
    const KNIGHT: &str = "4k3/2N5/q7/6p1/1b1R1b2/8/8/7K b - -";
    // A pawn between two knights, a bishop above two pawns, and a king beside two knights.
    const KING: &str = "7k/8/8/n1n2p1p/1P4B1/8/1nK5/2n5 w - -";
    const PROTECTED: &str = "7k/6b1/8/n1n2p1p/1P4B1/8/1nK5/2n5 w - -";
    for (line, expression, is_true) in [
        (KNIGHT, "fork('N')", true),
        (KNIGHT, "fork('R')", false),
        (KNIGHT, "fork(white) and not fork(black)", true),
        (KNIGHT, "count(fork) == 1 and count(fork, 'c7') == 1", true),
        (KING, "fork('P')", true),
        (KING, "fork('K')", true),
        (PROTECTED, "fork('K')", false),
        (KING, "fork('B')", false),
        (KING, "flipcolor(fork('p')) and flipvertical(fork('P')) and not fork('p')", true),
    ] {
        assert_eq!(holds(expression, line), is_true, "{expression}: {line}");
        assert_eq!(Expression::parse(expression).unwrap().pushdown(), Pushdown::All);
    }
}

#[test]
fn quiet_positions_have_no_check_no_winning_capture_and_no_promotion() {
    for (line, is_quiet) in [
        ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -", true),
        // A check; a hanging knight, which only the side to move may take; a rook for a bishop; a promotion.
        ("4k3/8/8/8/8/8/4r3/4K3 w - -", false),
        ("4k3/8/8/3n4/4P3/8/8/4K3 w - -", false),
        ("4k3/8/8/3n4/4P3/8/8/4K3 b - -", true),
        ("4k3/4p3/3r4/8/5B2/8/8/4K3 w - -", false),
        ("4k3/4p3/3b4/8/3R4/8/8/4K3 w - -", true),
        ("8/P7/8/8/8/8/8/k3K3 w - -", false),
        ("n7/P7/2k5/8/8/8/8/4K3 w - -", true),
    ] {
        assert_eq!(holds("quiet", line), is_quiet, "{line}");
        assert!(!is_quiet || holds("flipcolor(quiet)", line), "{line}");
    }
    assert_eq!(Expression::parse("quiet").unwrap().pushdown(), Pushdown::All);
}

/// Every example of the page of structures, for both sides.
#[test]
fn every_structure_has_a_right_example_and_a_right_counterexample() {
    let flipped = |line: &str| {
        let record = epdb_chess::parse_epd(line.as_bytes()).unwrap();
        flip(&record, Mirror::Colors).record.to_string()
    };
    let pawns = pawns::PAWN_TERMS.iter().map(|it| (it.name, it.examples));
    let structures = structures::STRUCTURES.iter().map(|it| (it.name, it.examples));
    let others = [structures::FORK, structures::QUIET].map(|it| (it.name, it.examples));
    for (name, [example, counterexample]) in pawns.chain(structures).chain(others) {
        assert!(holds(name, example), "{name}: {example}");
        assert!(holds(name, &flipped(example)), "{name}: {example}");
        assert!(!holds(name, counterexample), "{name}: {counterexample}");
        assert!(!holds(name, &flipped(counterexample)), "{name}: {counterexample}");
        let parse = |side: &str| Expression::parse(&format!("{name}({side})"));
        if let (Ok(_), Ok(_)) = (parse("white"), parse("black")) {
            let sides =
                |line: &str| ["white", "black"].map(|side| holds(&format!("{name}({side})"), line));
            let [white, black] = sides(example);
            assert_eq!(sides(&flipped(example)), [black, white], "{name}: {example}");
        }
    }
    for structure in &structures::STRUCTURES {
        let definition = Expression::parse(structure.definition).unwrap();
        assert_eq!(definition.pushdown(), Pushdown::All, "{}", structure.name);
    }
}

/// The position excludes records only if no operation could select them.
#[test]
fn what_a_position_decides_never_changes_the_result() {
    for (expression, pushdown) in [
        ("on('N', 'e5') && ce > 3", Pushdown::Some),
        ("on('N', 'e5') || ce > 3", Pushdown::None),
        ("!(on('N', 'e5') || ce > 3)", Pushdown::Some),
        ("!(on('N', 'e5') && ce > 3)", Pushdown::None),
        ("!(!iqp && ce > 3) && pieces > 20", Pushdown::Some),
        ("on('N', 'e5') && !(ce > 3 || stm == 'b')", Pushdown::Some),
        ("count('P') > ce", Pushdown::None),
        ("count('P') > 2.5 && check", Pushdown::None),
        ("ce > 3", Pushdown::None),
        ("(iqp or stm == 'w') and not pieces in [3, 4]", Pushdown::All),
        ("material in ['KRk', 'Kkr'] || balance > 3", Pushdown::All),
        ("position('e4 e5')", Pushdown::Some),
        ("flipcolor(iqp && mate)", Pushdown::Some),
    ] {
        let parsed = Expression::parse(expression).unwrap();
        assert_eq!(parsed.pushdown(), pushdown, "{expression}");
        for line in [WAC, MATE, STALEMATE, DOUBLE_STEP] {
            let record = epdb_chess::parse_epd(line.as_bytes()).unwrap();
            let subject = EvalContext::from_record(&record);
            let holds = parsed.root.holds(&subject);
            assert_eq!(parsed.holds(&subject), holds, "{expression} on {line}");
            let judged = parsed.judge(&Setup::from(record.position()));
            assert!(judged.is_none_or(|judged| judged == holds), "{expression} on {line}");
        }
    }
    let terms = Expression::parse("iqp(white) and (ce > 3 || flipcolor(on('N', 'e5')  ))").unwrap();
    let terms: Vec<_> =
        terms.terms().map(|term| (term.text.as_str(), term.is_of_position)).collect();
    let expected = [("iqp(white)", true), ("ce > 3", false), ("flipcolor(on('N', 'e5')  )", true)];
    assert_eq!(terms, expected);
}

#[test]
fn numbers_are_added_and_subtracted() {
    assert!(holds(
        "ce - 3 == 32750 && acd + acd - 1 == 17 && -3 + ce == 32750 && 3 - -3 < acd",
        WAC
    ));
    assert!(holds("fmvn-hmvc==18 && Depth - 0.5 == 12 && abs(hmvc - fmvn) == 18", WAC));
    assert!(!holds("ce - dm < 3 || ce - dm >= 3", WAC));
}

/// Neither deep nor long expressions take more than linear time and memory.
#[test]
fn hostile_expressions_about_the_board_are_bounded() {
    let deep = format!("{}iqp{}", "flipcolor(".repeat(100_000), ")".repeat(100_000));
    assert!(Expression::parse(&deep).is_err());
    let not = format!("{}iqp", "!flipvertical(".repeat(60)) + &")".repeat(60);
    assert!(Expression::parse(&not).is_err());
    let stars = "*?".repeat(100_000);
    assert!(Expression::parse(&format!("fenpattern('{stars}/*/*/*/*/*/*/*')")).is_err());
    let worst = ["*P*P*P*P*"; 8].join("/");
    let long = vec![format!("fenpattern('{worst}')"); 200].join(" or ");
    let record = epdb_chess::parse_epd(WAC.as_bytes()).unwrap();
    assert!(!Expression::parse(&long).unwrap().holds(&EvalContext::from_record(&record)));
    let many = vec!["iqp"; 20_000].join(" or ");
    assert!(!Expression::parse(&many).unwrap().holds(&EvalContext::from_record(&record)));
    let sum = vec!["count('P')"; 100_000].join(" + ");
    assert!(
        !Expression::parse(&format!("{sum} == 3"))
            .unwrap()
            .holds(&EvalContext::from_record(&record))
    );
}
