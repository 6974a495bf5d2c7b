#![allow(clippy::unwrap_used, clippy::expect_used)]

use proptest::prelude::*;

use super::*;
use epdb_chess::model::EpdRecord;
use epdb_chess::text::pgn::{GameReader, PgnReadOptions};

pub(super) fn holds(expression: &str, line: &str) -> bool {
    let expression =
        Expression::parse(expression).unwrap_or_else(|error| panic!("{expression}: {error}"));
    let record = epdb_chess::parse_epd(line.as_bytes()).unwrap();
    expression.holds(&EvalContext {
        line: 12,
        file: "suite.epd",
        ..EvalContext::from_record(&record)
    })
}

pub(super) const WAC: &str = "2rr3k/pp3pp1/1nnqbN1p/3pN3/2pP4/2P3Q1/PPB4P/R4RK1 w - - \
                   acd 9; am Nxc6; bm Qg6; ce 32753; c0 \"first; of 300\"; hmvc 3; fmvn 21; \
                   id \"WAC.001\"; pm Qg6; pv Qg6 fxg6 Nxg6#; Depth 12.5; Eval good; resign;";
pub(super) const MATE: &str = "7k/6Q1/6K1/8/8/8/8/8 b - - 3 60";
pub(super) const STALEMATE: &str = "7k/5Q2/6K1/8/8/8/8/8 b - -";
const SHREDDER: &str = "bqnb1rkr/pp3ppp/3ppn2/2p5/5P2/P2P4/NPP1P1PP/BQ1BNRKR w HFhf - 2 9";
pub(super) const DOUBLE_STEP: &str =
    "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq e3 c9 \"1/2-1/2\"; ce -15;";

#[test]
fn every_field_says_what_the_record_has() {
    for expression in [
        "pieces == 26",
        "material == 'KQRRBNNPPPPPkqrrbnnppppppp'",
        "material == 'QKRRBNNPPPPPkqrrbnnppppppp'",
        "stm == 'w'",
        "legal_moves == 59",
        "ep == '-' && castling == '-'",
        "ply == 40 && line == 12 && file == 'suite.epd'",
        "fen == '2rr3k/pp3pp1/1nnqbN1p/3pN3/2pP4/2P3Q1/PPB4P/R4RK1 w - - 3 21'",
        "epd ~ ' w - -$' && record ~ 'c0 \"first; of 300\"; ce 32753;'",
        "key ~ '^[0-9a-f]{16}$'",
        "acd == 9 && ce == 32753 && ce:white > 32000",
        "id == 'WAC.001' && c0 ~ '; of [0-9]+$'",
        "Depth == 12.5 && Depth > 12 && Depth < 13 && Depth == '12.5'",
        "Eval == 'good' && Eval ~ 'oo' && !(Eval == 3) && !(Eval > 3) && !(Eval != 3)",
        "has(resign) && resign && !has(draw_offer)",
        "!check && !mate && !stalemate && !chess960",
        "!has(result) && has(pieces) && has(bm)",
        "op(Depth) == 12.5",
    ] {
        assert!(holds(expression, WAC), "{expression}");
    }
}

#[test]
fn positions_are_judged_by_the_rules() {
    assert!(holds("check && mate && !stalemate && legal_moves == 0", MATE));
    assert!(holds("!check && !mate && stalemate && legal_moves == 0", STALEMATE));
    assert!(holds("chess960 && castling == 'KQkq' && fen ~ ' w KQkq '", SHREDDER));
    assert!(holds("castling != 'HAha' && castling != 'Kq' && castling != '-'", SHREDDER));
    assert!(holds(
        "ep == 'e3' && result == '1/2-1/2' && result == 0.5 && ce:white == 15",
        DOUBLE_STEP
    ));
    let kingless = "8/8/8/8/8/8/4P3/8 w - -";
    assert!(holds("!check && !mate && !stalemate && !has(legal_moves)", kingless));
}

#[test]
fn counters_are_found_in_either_form() {
    assert!(holds("hmvc == 3 && fmvn == 60 && ply == 119 && has(hmvc)", MATE));
    assert!(holds("hmvc == 3 && fmvn == 21", WAC));
    assert!(!holds("has(hmvc) || fmvn > 0 || has(ply)", STALEMATE));
}

#[test]
fn moves_are_found_in_any_spelling() {
    for expression in [
        "'Qg6' in bm",
        "'g3g6' in bm",
        "bm == 'Qg6'",
        "'Qg6' == bm && am != 'Qg6'",
        "pm in bm && !(am in bm)",
        "pv == 'Qg6 fxg6 Nxg6#' && pv == 'Qg6 fxg6 Nxg6' && pv == 'g3g6 f7g6 e5g6'",
        "pv != 'fxg6 Qg6 Nxg6'",
        "'Nxg6' in pv && pv ~ '#$'",
        "pm == bm && uci(pv) ~ '^g3g6 '",
        "bm in ['Qh4', 'g3g6']",
        "!illegal(bm)",
    ] {
        assert!(holds(expression, WAC), "{expression}");
    }
    let several = "4k3/8/8/8/8/8/4P3/4K3 w - - bm e4 Kd1; sm Kd1;";
    for expression in ["bm == 'e4 Kd1'", "bm == 'Kd1 e2e4'", "sm in bm", "sm != bm"] {
        assert!(holds(expression, several), "{expression}");
    }
    assert!(!holds("bm == 'e4'", several));
    // A set has one of the moves, and a line begins with one.
    let shared = "4k3/8/8/8/8/8/4P3/4K3 w - - am Kd1 Kd2 Kf1; bm Kf1 e4; pv e4 Kd8 Kd1; sm Kd2;";
    for expression in [
        "am in bm",
        "uci(am) in bm",
        "bm in am",
        "sm in am && pv in bm && uci(pv) in bm",
        "bm in ['e4', 'e3'] && uci(bm) in ['e2e4'] && 'Kd1' in pv",
        "!(pv in am) && !(sm in bm) && !(pv in ['Kd1']) && !(bm in ['Kd1'])",
    ] {
        assert!(holds(expression, shared), "{expression}");
    }
    let castling = "4k3/8/8/8/8/8/8/4K2R w K - bm O-O;";
    assert!(holds("'e1g1' in bm && 'O-O' in bm", castling));
}

#[test]
fn illegal_moves_and_mate_targets_differ() {
    let line = "4k3/8/8/8/8/8/4P3/4K3 w - - am Nf3; bm #5;";
    assert!(holds("illegal(am) && !illegal(bm) && bm == '#5' && bm ~ '^#'", line));
    assert!(holds("'Nf3' in am && !('Nf3' in bm)", line));
}

#[test]
fn what_is_missing_compares_false() {
    for expression in [
        "ce == 0",
        "ce != 0",
        "ce < 0",
        "ce >= 0",
        "abs(ce) != 1",
        "id == ''",
        "id != ''",
        "id ~ ''",
        "bm == ''",
        "bm != ''",
        "'e4' in bm",
        "bm in ['e4']",
        "result != 1",
        "ce != dm",
        "Eval == op(Eval)",
        "illegal(bm)",
        "id in ['']",
        "uci(bm) != 'e2e4'",
        "ce:white != 3",
    ] {
        assert!(!holds(expression, STALEMATE), "{expression}");
        assert!(holds(&format!("!({expression})"), STALEMATE), "{expression}");
    }
}

#[test]
fn operators_bind_as_everywhere() {
    assert!(holds("pieces == 3 || pieces == 4 && stm == 'w'", MATE));
    assert!(!holds("(pieces == 3 || pieces == 4) && stm == 'w'", MATE));
    assert!(!holds("!pieces == 3 || mate && !check", STALEMATE));
    assert!(holds("abs(ce) == 15 && abs(abs(ce:white)) == 15 && -15 == ce", DOUBLE_STEP));
    assert!(holds("id < 'WAC.10' && id > 'WAC.0' && id in ['x', \"WAC.001\"]", WAC));
    assert!(holds("ce in [1, 32753]", WAC));
}

/// Column and message of every kind of mistake.
#[test]
fn errors_point_at_the_column_and_say_what_to_write() {
    for (expression, expected) in [
        ("", "column 1: expected a value, found the end"),
        ("pieces", "column 1: `pieces` is not a test: compare it, or use `has(pieces)`"),
        ("pieces = 3", "column 8: `=` compares nothing: write `==`"),
        (
            "pieces == '3'",
            "column 11: `pieces` is a number, but '3' is a text: write 3 without quotes",
        ),
        ("id == 3", "column 7: `id` is a text, but `3` is a number: write '3'"),
        ("piecse == 3", "column 1: unknown field `piecse`: did you mean `pieces`?"),
        (
            "STM == 'w'",
            "column 1: unknown field `STM`: did you mean `stm`? (a tag of that name is `tag(STM)`)",
        ),
        ("stm == w", "column 8: a text stands in quotes: 'w' (an opcode is op(w))"),
        ("Qg6 in bm", "column 1: a text stands in quotes: 'Qg6' (an opcode is op(Qg6))"),
        ("e4 in am", "column 1: a text stands in quotes: 'e4' (an opcode is op(e4))"),
        (
            "has(id) && Qg6 == bm",
            "column 12: a text stands in quotes: 'Qg6' (an opcode is op(Qg6))",
        ),
        ("stm == 'white'", "column 8: `stm` is 'w' or 'b', never 'white'"),
        ("stm == 1", "column 8: `stm` is 'w' or 'b', never `1`"),
        (
            "speed in ['rapid', 'Blitz']",
            "column 20: `speed` is 'ultraBullet', 'bullet', 'blitz', 'rapid', 'classical' or 'correspondence', never 'Blitz'",
        ),
        (
            "speed ~ '^Bl'",
            "column 9: `speed` is 'ultraBullet', 'bullet', 'blitz', 'rapid', 'classical' or 'correspondence': '^Bl' matches none of them",
        ),
        (
            "castling == 'kqKQ'",
            "column 13: `castling` is '-', or letters of 'KQkq' in this order (also files, as in 'HAha'), never 'kqKQ'",
        ),
        ("Result == 1", "column 11: `Result` is '1-0', '0-1', '1/2-1/2', '*' or '0-0', never `1`"),
        (
            "tag(Result) == '1/2'",
            "column 16: `Result` is '1-0', '0-1', '1/2-1/2', '*' or '0-0', never '1/2'",
        ),
        ("result == 2", "column 11: `result` is 1, 0.5 or 0, never 2"),
        ("Round == 9", "column 10: `Round` is a text, but `9` is a number: write '9'"),
        ("ep == 'e9'", "column 7: `ep` is a square such as 'e3', or '-', never 'e9'"),
        (
            "material == 'KXk'",
            "column 13: `material` is written with KQRBNP and kqrbnp; there is no X",
        ),
        ("key < 'e4-e5'", "column 7: `key` has up to 16 hexadecimal digits, never 'e4-e5'"),
        (
            "result == 'draw'",
            "column 11: `result` is '1-0', '1/2-1/2' or '0-1', never 'draw'; else `!has(result)`",
        ),
        ("check == 1", "column 10: `check` is a test by itself: `check` or `!check`"),
        ("resign == 1", "column 11: `resign` has no operands: ask `has(resign)`"),
        ("bm < 'e4'", "column 6: moves are not in order: `==`, `!=` or `in` instead of `<`"),
        ("bm == 4", "column 7: `bm` is moves, but `4` is a number: write '4'"),
        ("bm", "column 1: `bm` is not a test: compare it, or use `has(bm)`"),
        ("4 == 4", "column 1: two constants are compared: one side must be a field"),
        ("ce ~ '3'", "column 1: `~` needs a field of text, and `ce` is not text"),
        ("id ~ 3", "column 6: expected a pattern in quotes, found `3`"),
        ("id ~ '('", "column 6: the pattern is wrong: unclosed group"),
        ("id in ('a')", "column 7: a list stands in brackets: `in ['a', 'b']`"),
        ("id in [a]", "column 8: a list holds numbers and texts; texts stand in quotes: 'a'"),
        ("id in []", "column 8: expected a value, found `]`"),
        ("id in ['a' 'b']", "column 12: expected `,` or `]`, found 'b'"),
        ("'e4' in c0", "column 9: `c0` is one text: look into it with `~`"),
        (
            "'e4' in ce",
            "column 9: `in` needs a list in brackets or an opcode of moves (am, bm, pm, pv, sm and sv)",
        ),
        ("3 in bm", "column 1: `3` is not a move: put moves in quotes, as in 'e4' in bm"),
        ("illegal(ce)", "column 9: illegal() asks about moves: am, bm, pm, pv, sm and sv"),
        ("illegal bm", "column 1: `illegal` asks about an operation: `illegal(bm)`"),
        ("has(check)", "column 5: every record has it: use it alone, as in `check`"),
        ("has()", "column 5: expected an opcode or a field, found `)`"),
        ("uci(id) == 'x'", "column 1: `id` has no moves; uci() takes am, bm, pm, pv, sm and sv"),
        ("len(bm) == 2", "column 1: unknown function `len`: `epdb help where` lists the functions"),
        ("xyz == 2", "column 1: unknown field `xyz`: `epdb help where` lists the fields"),
        (
            "Whte ~ 'x'",
            "column 1: unknown field `Whte`: did you mean `White`? (a tag of that name is `tag(Whte)`)",
        ),
        (
            "White == Kasparov",
            "column 10: a text stands in quotes: 'Kasparov' (an opcode is op(Kasparov))",
        ),
        (
            "WhiteElo == '2500'",
            "column 13: `WhiteElo` is a number, but '2500' is a text: write 2500 without quotes",
        ),
        ("Date > 1990", "column 8: `Date` is a date, but `1990` is a number: write '1990'"),
        (
            "Date > 'May 1990'",
            "column 8: `Date` is a date: '1992.11.04', '1992.11' or '1992', never 'May 1990'",
        ),
        ("Site == '?'", "column 9: a tag with the value '?' counts as missing: use `!has(Site)`"),
        ("tag() == 'x'", "column 5: expected the name of a tag, found `)`"),
        ("abs(id) == 2", "column 5: abs() needs a number, and `id` is not a number"),
        ("ce:black == 2", "column 1: `ce:black`: the other view of ce is `ce:white`"),
        (
            "acd:white == 2",
            "column 1: `acd` has no other view; `ce:white` and `eval:white` are the ones there are",
        ),
        ("check AND mate", "column 7: `AND` joins nothing: write `and` or `&&`"),
        ("check & mate", "column 7: `&` joins nothing: write `&&`"),
        ("NOT check", "column 1: `NOT` is written `not` or `!`"),
        (
            "check == true",
            "column 10: there is no `true`: a flag such as `check` is a test by itself",
        ),
        ("check mate", "column 7: expected `&&`, `||` or the end, found `mate`"),
        ("(check", "column 7: expected `)`, found the end"),
        ("check)", "column 6: this `)` closes nothing"),
        ("id == 'x", "column 7: the text that begins here is not closed by '"),
        ("id == ’x’", "column 7: `’` is not a quotation mark: put texts in ' or \""),
        ("ce == 1e5", "column 7: `1e5` is not a number; put texts in quotes: '1e5'"),
        ("ce == 5 % 2", "column 9: `%` has no meaning here"),
        ("ce <> 5", "column 4: `<>` compares nothing: write `!=`"),
        (
            "a_very_long_opcode_name == 1",
            "column 1: unknown field `a_very_long_opcode_name`: `epdb help where` lists the fields",
        ),
        (
            "op(a_very_long_opcode_name) == 1",
            "column 1: `a_very_long_opcode_name` is not an opcode: an opcode is a letter and up to 14 letters, digits and underscores",
        ),
        ("id == 'ö' && cce &", "column 18: `&` joins nothing: write `&&`"),
        ("board('8/8')", "column 8: expected eight ranks with / between them, found 2"),
        ("board('8/8/8/8/7/8/8/8')", "column 16: rank 4 has 7 squares, not 8"),
        (
            "board('8/8/8/8/4X3/8/8/8')",
            "column 17: `X` is neither a piece: K Q R B N P of White, k q r b n p of Black, A or a for any of White or Black, nor a digit or one of ? _ ! [",
        ),
        (
            "board('8/8/8/8/4*/8/8/8')",
            "column 17: `*` has no meaning in board(): write ? or digits, or use fenpattern()",
        ),
        ("board('8/8/8/8/[RQ7/8/8/8')", "column 16: this `[` is not closed"),
        (
            "board('8/8/8/8/[]7/8/8/8')",
            "column 17: expected a piece: K Q R B N P of White, k q r b n p of Black, A or a for any of White or Black, or ! for any piece",
        ),
        (
            "board('8/8/8/8/8/8/8/8 w')",
            "column 23: only the placement of the pieces is expected, without other fields",
        ),
        ("fenpattern('*/*/*/*/*P*P8/*/*/*')", "column 21: rank 4 has 10 squares, not 8"),
        (
            "board(e4)",
            "column 7: expected a text in quotes, as in board('8/8/8/3P4/8/8/8/8'), found `e4`",
        ),
        (
            "board == 3",
            "column 1: `board` needs a text in parentheses, as in board('8/8/8/3P4/8/8/8/8')",
        ),
        (
            "on('N', 'e9')",
            "column 10: `e9` is not a set of squares such as e5, f1-h1, a-h7 (a rank), d4-6, d (a file), light or dark",
        ),
        (
            "on('N', 'e4, h-a5')",
            "column 14: `h-a5` is not a set of squares such as e5, f1-h1, a-h7 (a rank), d4-6, d (a file), light or dark",
        ),
        ("on('N')", "column 7: expected `,` and squares, as in on('N', 'e5'), found `)`"),
        ("count('P')", "column 1: `count(…)` is not a test: compare it with a field"),
        (
            "count(iqp) > 1",
            "column 7: `iqp` is no set of squares: write count('P', 'a-h7') or count(passed(white))",
        ),
        ("count('P') > 'e'", "column 14: `count(…)` is a number, but 'e' is a text"),
        ("count('P') - id > 2", "column 14: `+` and `-` join numbers, and `id` is not a number"),
        (
            "material('RPvR')",
            "column 11: expected the pieces of two sides, as in 'RPP v R' or 'Q v RR'",
        ),
        ("material('RP v r')", "column 16: `r` is not one of the letters K Q R B N P"),
        ("material('RP v R', w)", "column 20: expected white or black, found `w`"),
        ("castling('KX')", "column 12: `X` is not one of the rights K Q k q"),
        ("iqp(green)", "column 5: expected white or black, found `green`"),
        ("rook_ending(white)", "column 13: `rook_ending` has no side: write it alone"),
        (
            "passed()",
            "column 8: expected a text in quotes, as in passed(white), passed('d') or passed(white, 'd'), found `)`",
        ),
        ("pased(white)", "column 1: unknown function `pased`: did you mean `passed`?"),
        ("pin('RB', 'q')", "column 1: unknown function `pin`: did you mean `pinned`?"),
        ("draw", "column 1: unknown name `draw`: a draw is `result == '1/2-1/2'`"),
        ("key == 0", "column 8: `key` is a text, but `0` is a number: write '0'"),
        ("attacks('R')", "column 12: expected `,` and pieces, as in attacks('R', 'k'), found `)`"),
        (
            "position('e4 e4')",
            "column 11: `e4` is not legal in rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq e3",
        ),
        ("has(captured)", "column 5: `captured` is no field, but a test of its own: `captured(…)`"),
        ("isolatd == 2", "column 1: unknown name `isolatd`: did you mean `isolated`?"),
        (
            "flipcolor(iqp and 'e4' in bm)",
            "column 11: `bm` has no mirror image: put its test outside of flipcolor()",
        ),
        (
            "flipvertical(fen ~ 'Q')",
            "column 14: `fen` has no mirror image: put its test outside of flipvertical()",
        ),
        ("flipcolor(iqp or flipcolor(iqp))", "column 28: this is in flipcolor() already"),
    ] {
        let error = Expression::parse(expression).expect_err(expression);
        assert_eq!(error.to_string(), expected, "{expression}");
    }
}

#[test]
fn nesting_is_limited_but_length_is_not() {
    for (open, close) in [("(", ")"), ("!", "")] {
        let nested = |depth| format!("{}check{}", open.repeat(depth), close.repeat(depth));
        assert!(Expression::parse(&nested(64)).is_ok());
        let error = Expression::parse(&nested(1_000_000)).expect_err("too deep");
        assert!(error.message.contains("nested deeper than 64 levels"));
    }
    let abs = format!("{}ce{} == 1", "abs(".repeat(100_000), ")".repeat(100_000));
    assert!(Expression::parse(&abs).is_err());
    let long = vec!["check"; 100_000].join(" && ");
    assert!(
        !Expression::parse(&long).unwrap().holds(&EvalContext::from_record(
            &epdb_chess::parse_epd(STALEMATE.as_bytes()).unwrap()
        ))
    );
}

/// Whether an expression holds for a game with these tags.
fn holds_for(expression: &str, tags: &str) -> bool {
    let text = format!("{tags}\n\n1. e4 e5 1-0\n");
    let mut reader = GameReader::new(text.as_bytes(), PgnReadOptions::default());
    let read = reader.next_game().unwrap().unwrap();
    let game = read.game.unwrap();
    let record = EpdRecord::new(game.start().position);
    let expression =
        Expression::parse(expression).unwrap_or_else(|error| panic!("{expression}: {error}"));
    expression.holds(&EvalContext { game: Some(game.into()), ..EvalContext::from_record(&record) })
}

const TAGS: &str = "[Event \"Rated Blitz\"]\n[Site \"?\"]\n[Date \"1992.11.??\"]\n\
                    [UTCDate \"1993.01.02\"]\n[EventDate \"1992.12.24\"]\n[Round \"9.2\"]\n\
                    [White \"Kasparov, Garry\"]\n[Black \"-\"]\n[WhiteElo \"2790\"]\n\
                    [BlackElo \"2605\"]\n[BlackUSCF \"-\"]\n[TimeControl \"300+3\"]\n[Board \"12\"]";

#[test]
fn tags_of_games_are_fields_of_their_types() {
    for expression in [
        "White ~ 'Kasparov' && White == 'Kasparov, Garry' && Black == '-'",
        "WhiteElo > 2700 && abs(BlackElo) == 2605 && WhiteElo > BlackElo && !has(BlackUSCF)",
        "elo_min == 2605 && elo_avg == 2697.5 && speed == 'blitz' && plies == 2",
        "result == '1-0' && result == 1 && Result == '1-0'",
        "!has(Site) && !(Site == 'x') && !(Site != 'x') && Round == '9.2' && Round < '10'",
        "Board == 12 && tag(Board) > 9 && tag('Board') < 13 && Board in [11, 12]",
        "year == 1992 && Date == '1992' && Date == '1992.11' && Date < '1992-12' && Date ~ '^1992'",
        "Date in ['1991', '1992'] && '1993' > Date && Date >= '1992.11.01' && Date <= '1992.11.30'",
        "Date < EventDate && Date != EventDate && UTCDate >= EventDate && UTCDate == '1993/01/02'",
    ] {
        assert!(holds_for(expression, TAGS), "{expression}");
    }
    let pair = "[White \"Smith, John Q.:Jones, Bob\"]\n[Black \"Roe, Jane\"]";
    for expression in [
        "White == 'Smith, John Q.' && White == 'Jones, Bob' && 'Jones, Bob' == White",
        "White == 'Smith, John Q.:Jones, Bob' && White in ['x', 'Jones, Bob']",
        "!(White != 'Jones, Bob') && White != 'Jones' && Black == 'Roe, Jane'",
    ] {
        assert!(holds_for(expression, pair), "{expression}");
    }
    for undecided in ["Date == '1992.11.04'", "Date != '1992.11.04'", "Date < '1992.11.04'"] {
        assert!(!holds_for(undecided, TAGS), "{undecided}");
    }
    assert!(holds_for("year == 1993 && !has(Date)", "[UTCDate \"1993.01.02\"]"));
    assert!(holds_for("!has(elo_avg) && !has(speed) && !has(year)", "[WhiteElo \"?\"]"));
}

#[test]
fn tags_that_a_record_keeps_are_fields_and_private_opcodes_too() {
    let line = "8/8/8/8/8/8/8/8 w - - White \"opcode\"; ptp WhiteElo \"2500\" Date \"1990.??.??\" \
                Black \"b\"; Whose x;";
    assert!(holds("White == 'opcode' && WhiteElo == 2500 && year == 1990 && Black == 'b'", line));
    assert!(holds("!has(tag(White)) && has(op(White)) && Whose == 'x'", line));
    let expression = Expression::parse("White == 'x' || Nobody == 'x' || has(bm)").unwrap();
    expression.holds(&EvalContext::from_record(&epdb_chess::parse_epd(line.as_bytes()).unwrap()));
    let unmet: Vec<_> = expression.clone().never_met().map(ToString::to_string).collect();
    assert_eq!(unmet, ["Nobody"]);
}

proptest! {
    /// The parser accepts any text, or refuses it with a column inside the text.
    #[test]
    fn any_text_is_an_expression_or_has_an_error_in_it(text in "[a-z0-9()\\[\\]!&|=<>~'\", :.-]{0,40}") {
        if let Err(error) = Expression::parse(&text) {
            prop_assert!((1..=text.chars().count() + 1).contains(&error.column));
        }
    }

    #[test]
    fn any_words_of_the_language_are_read(words in prop::collection::vec(prop::sample::select(&[
        "(", ")", "!", "&&", "||", "==", "<", "~", "in", "[", "]", ",", "has", "illegal", "abs", "uci",
        "op", "bm", "ce", "id", "check", "pieces", "stm", "material", "result", "'e4'", "'w'", "3",
        "-0.5", "x", "ce:white", "resign", "pv",
    ][..]), 0..12)) {
        let text = words.join(" ");
        if let Ok(expression) = Expression::parse(&text) {
            for line in [WAC, MATE, STALEMATE, SHREDDER, DOUBLE_STEP] {
                expression.holds(&EvalContext::from_record(&epdb_chess::parse_epd(line.as_bytes()).unwrap()));
            }
        }
    }
}
