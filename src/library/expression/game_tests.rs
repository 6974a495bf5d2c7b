//! Expressions for whole games.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use super::*;
use epdb_chess::error::At;
use epdb_chess::text::pgn::{GameReader, PgnReadOptions};

fn game(text: &str) -> Game {
    let mut reader = GameReader::new(text.as_bytes(), PgnReadOptions::default());
    reader.next_game().unwrap().unwrap().game.unwrap().clone()
}

fn first_match(expression: &str, game: &Game) -> Option<u32> {
    let parsed =
        Expression::parse(expression).unwrap_or_else(|error| panic!("{expression}: {error}"));
    parsed.first_match(game, &Place::new("games.pgn", At::Game(1)))
}

/// Both capture a pawn on e4, White the queen on d8; the game ends after 12 plies.
const QUEENS: &str = "[White \"Ann\"] [WhiteElo \"2500\"] [Date \"1999.??.??\"] [Result \"1-0\"] \
    1. e4 d5 2. exd5 Qxd5 3. Nc3 Qe5+ 4. Be2 Nf6 5. d4 Qa5 6. Bd2 Qb6 1-0";

#[test]
fn one_position_makes_all_terms_true() {
    let queens = game(QUEENS);
    for (expression, ply) in [
        // The start is a position of the game.
        ("pieces == 32", Some(0)),
        ("pieces == 31", Some(3)),
        ("pieces == 31 && stm == 'w'", None),
        ("pieces < 31 && check", Some(6)),
        ("pieces < 31 and on('q', 'e5') and Date == '1999'", Some(6)),
        ("on('q', 'e5') and Date == '2000'", None),
        ("White == 'Ann' and WhiteElo > 2400", Some(0)),
        ("White == 'Bob' or check", Some(6)),
        ("not White == 'Bob' and check", Some(6)),
        ("ply == 7 or ply == 5", Some(5)),
        ("'Qxd5' in sm", Some(3)),
        ("hmvc == 2", Some(6)),
    ] {
        assert_eq!(first_match(expression, &queens), ply, "{expression}");
    }
}

#[test]
fn a_date_with_a_wrong_month_has_its_year() {
    let swapped = game("[Date \"2011.19.11\"] 1. e4 *");
    for (expression, ply) in [
        ("year == 2011", Some(0)),
        ("month > 0", None),
        ("Date >= '2011' and Date < '2012'", Some(0)),
    ] {
        assert_eq!(first_match(expression, &swapped), ply, "{expression}");
    }
}

#[test]
fn hints_say_what_may_be_meant() {
    let queens = game(QUEENS);
    for (expression, hint) in [
        ("White ~ 'ann'", "White ~ '(?i)ann'"),
        ("White == 'An'", "White ~ '^An'"),
        ("last(pieces < 31) and check", "last(A && B)"),
        ("White ~ 'Ann'", ""),
        ("last(pieces < 31 and check) and WhiteElo == 2500", ""),
        ("never(mate) and check", ""),
    ] {
        let parsed = Expression::parse(expression).unwrap();
        parsed.first_match(&queens, &Place::new("games.pgn", At::Game(1)));
        let found = parsed.hint().unwrap_or_default();
        assert!(
            found.contains(hint) && found.is_empty() == hint.is_empty(),
            "{expression}: {found}"
        );
    }
}

#[test]
fn moves_are_those_that_the_position_plays_next() {
    let queens = game(QUEENS);
    assert!(Expression::parse("line('xd5')").is_err());
    for (expression, ply) in [
        ("moved('Q')", None),
        ("moved('q')", Some(3)),
        ("moved('NB')", Some(4)),
        ("moved('A')", Some(0)),
        ("captured('p')", Some(2)),
        ("captured('P')", Some(3)),
        ("captured('q')", None),
        ("line('Nc3 Qe5')", Some(4)),
        ("line('Nc3 Qe5+ Be2')", Some(4)),
        ("line('Nc3 Qa5')", None),
        ("line('c3 Qe5')", None),
        ("line('d8d5')", Some(3)),
        ("line('exd5')", Some(2)),
        ("line('d5')", Some(1)),
        ("line('Qb6 Bb5')", None),
        ("moved('q') and check", None),
        ("moved('B') and check", Some(6)),
        ("moved('b') or captured('P') and moved('q')", Some(3)),
        ("retaken", Some(2)),
        ("retaken and moved('q')", Some(3)),
        ("retaken and check", None),
        ("pieces == 30 and not on('q', 'd5') and not check", Some(7)),
        ("balance == 1", Some(3)),
        ("balance == 1 and check", None),
    ] {
        assert_eq!(first_match(expression, &queens), ply, "{expression}");
    }
    let special = game(
        "1. e4 Nf6 2. e5 d5 3. exd6 Bf5 4. Nf3 Qxd6 5. Be2 Nc6 6. O-O O-O-O 7. Na3 Qxd2 8. Nc4 h5 \
         9. Nfxd2 h4 10. a3 h3 11. a4 hxg2 12. a5 gxf1=Q+ *",
    );
    for (expression, ply) in [
        ("line('exd6')", Some(4)),
        ("captured('p')", Some(4)),
        ("line('O-O O-O-O')", Some(10)),
        ("line('e1g1')", Some(10)),
        ("line('e1h1')", Some(10)),
        ("line('Kg1')", None),
        ("moved('K')", Some(10)),
        ("moved('k') and moved('K')", None),
        ("moved('R')", None),
        ("line('Nxd2')", Some(16)),
        ("line('Nfxd2')", Some(16)),
        ("line('Ncxd2')", None),
        ("line('Nd2')", None),
        ("line('gxf1=Q')", Some(23)),
        ("line('gxf1=N')", None),
        ("captured('R')", Some(23)),
        ("promoted('q')", Some(23)),
        ("promoted('Qn')", None),
        ("flipcolor(promoted('Q'))", Some(23)),
        ("enpassant", Some(4)),
        ("enpassant and moved('p')", None),
        ("ep_legal", Some(4)),
        ("retaken", None),
        ("position('e4 Nf6 e5 d5')", Some(4)),
        ("position('rnbqkb1r/ppp1pppp/5n2/3pP3/8/8/PPPP1PPP/RNBQKBNR w KQkq - 0 3')", None),
        ("position('rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq -')", Some(1)),
        ("flipcolor(position('rnbqkbnr/pppp1ppp/8/4p3/8/8/PPPPPPPP/RNBQKBNR w KQkq -'))", Some(1)),
    ] {
        assert_eq!(first_match(expression, &special), ply, "{expression}");
    }
}

#[test]
fn some_terms_are_about_all_positions() {
    let queens = game(QUEENS);
    for (expression, ply) in [
        ("first(pieces == 32)", Some(0)),
        ("first(check)", None),
        ("last(on('q', 'b6'))", Some(12)),
        ("last(check)", None),
        ("last(moved('q'))", None),
        ("all(pieces >= 30)", Some(0)),
        ("all(pieces > 30)", None),
        ("all(!on('q', 'h4'))", Some(0)),
        ("never(on('q', 'h4'))", Some(0)),
        ("never(check)", None),
        ("not never(check)", Some(0)),
        // After 4 plies the queen has not captured yet, and 31 pieces are there once.
        ("lasts(pieces == 31, 1)", Some(3)),
        ("lasts(pieces == 31, 2)", None),
        ("lasts(pieces == 30, 9)", Some(4)),
        ("lasts(pieces == 30, 10)", None),
        ("then(captured('p'), captured('P'), 1)", Some(2)),
        ("then(captured('P'), captured('p'), 10)", None),
        ("then(on('q', 'd5'), on('q', 'a5'), 5)", Some(5)),
        ("then(on('q', 'd5'), on('q', 'a5'), 4)", None),
        ("then(pieces == 32, on('q', 'b6'))", Some(0)),
        ("ever(check) and ever(captured('P'))", Some(3)),
        ("ever(check) and ever(captured('q'))", None),
        ("then(check, check, 5)", None),
        ("then(on('q', 'd5'), on('q', 'a5'), == 5)", Some(5)),
        ("then(on('q', 'd5'), on('q', 'a5'), == 4)", None),
        ("then(on('q', 'd5'), on('q', 'a5'), == 7)", Some(4)),
        ("then(on('q', 'd5'), on('q', 'a5'), == 8)", None),
        ("then(pieces == 32, pieces == 30, == 3, check, == 2)", Some(1)),
        ("then(pieces == 32, pieces == 30, == 4, check, == 2)", Some(0)),
        ("then(pieces == 32, pieces == 30, == 5, check, == 2)", None),
        ("then(pieces == 32, 2 == pieces - 28, == 2)", Some(2)),
        ("flipcolor(then(captured('p'), captured('P'), == 1))", Some(2)),
        ("then(on('q', 'd5'), on('q', 'e5'), 3, on('q', 'a5'), 3)", Some(4)),
        ("then(captured('p'), captured('P'), 1, moved('N'), 1)", Some(2)),
        ("then(captured('p'), moved('N'), captured('P'))", None),
        ("then(pieces == 32, pieces == 31, 1, pieces == 30, 1, check)", Some(2)),
        // The first of several positions counts from which the others follow in time.
        ("then(pieces == 32, check, 4)", Some(2)),
        ("then(pieces == 32, check, 5)", Some(1)),
        ("then(pieces == 32, pieces == 30, 3, check, 2)", Some(1)),
        ("then(pieces == 32, 2 == pieces - 28, 2)", Some(2)),
        // A term about one position says where the match is.
        ("last(on('q', 'b6')) and check", Some(6)),
        ("last(check) and check", None),
        ("check or last(on('q', 'b6'))", Some(6)),
        ("never(on('q', 'h4')) and pieces == 30 and moved('n')", Some(7)),
        // The answer is known at ply 6, before the last position is reached.
        ("pieces == 30 and (check or last(on('q', 'b6')))", Some(6)),
        ("pieces == 30 and (on('q', 'h4') or last(check))", None),
        ("WhiteElo > 2400 and (last(check) or first(pieces == 32))", Some(0)),
        ("WhiteElo > 2600 or last(check)", None),
        ("WhiteElo < 2600 or last(check)", Some(0)),
    ] {
        assert_eq!(first_match(expression, &queens), ply, "{expression}");
    }
}

#[test]
fn a_game_without_moves_has_one_position() {
    let none = game("[FEN \"4k3/8/8/8/8/8/8/4K2R w K - 0 1\"] [SetUp \"1\"] *");
    for (expression, ply) in [
        ("pieces == 3", Some(0)),
        ("first(pieces == 3) && last(pieces == 3) && all(pieces == 3)", Some(0)),
        ("lasts(pieces == 3, 2)", None),
        ("then(pieces == 3, pieces == 3, 1)", None),
        ("moved('K')", None),
    ] {
        assert_eq!(first_match(expression, &none), ply, "{expression}");
    }
    // No side may be in check when the other is to move, so no move can be made.
    let illegal = game("[FEN \"4k3/8/8/8/8/8/8/4KR2 w - - 0 1\"] [SetUp \"1\"] 1. Rf2 -- 2. Rf3 *");
    assert_eq!(first_match("on('R', 'f2')", &illegal), Some(1));
    assert_eq!(first_match("on('R', 'f3')", &illegal), None);
}

#[test]
fn repetitions_are_counted_up_to_the_position() {
    let knights = game("1. Nf3 Nf6 2. Ng1 Ng8 3. Nf3 Nf6 4. Ng1 Ng8 *");
    for (expression, ply) in [
        ("repetition == 1", Some(0)),
        ("repetition == 2", Some(4)),
        ("repetition == 2 and stm == 'b'", Some(5)),
        ("repetition >= 3", Some(8)),
        ("repetition > 3", None),
    ] {
        assert_eq!(first_match(expression, &knights), ply, "{expression}");
    }
}

/// A flip mirrors all that is in it together.
#[test]
fn whole_ideas_have_mirror_images() {
    let queens = game(QUEENS);
    for (expression, ply) in [
        ("flipcolor(moved('Q') and captured('p'))", Some(3)),
        ("flipcolor(moved('Q') and captured('P'))", None),
        ("flipcolor(then(captured('p'), captured('P'), 1))", Some(2)),
        ("flipcolor(then(captured('P'), captured('p'), 1))", Some(2)),
        ("flipcolor(then(moved('P'), moved('Q') and captured('p'), 1))", None),
        ("then(flipcolor(moved('P')), flipcolor(moved('Q')), 1)", Some(2)),
        ("flipcolor(line('Nf6 Be7'))", None),
        ("flipcolor(line('Nc6 Qe4+ Be7'))", Some(4)),
        ("flipcolor(line('d4'))", Some(1)),
        ("flipvertical(line('d4 e5 dxe5'))", Some(0)),
        ("flipcolor(line('d1d4'))", Some(3)),
        ("flipcolor(stm == 'b' and check)", Some(6)),
        ("flipcolor(check and ply == 6)", Some(6)),
        ("flipcolor(ep == 'e6')", Some(1)),
        ("flipvertical(ep == 'd3')", Some(1)),
        ("flipcolor(balance == -1)", Some(3)),
        ("flipcolor(last(on('Q', 'b3')))", Some(12)),
        ("flipcolor(lasts(count('p') > count('P'), 1))", Some(3)),
        ("flipcolor(never(on('q', 'd1')) and check)", Some(6)),
        ("flipcolor(Black == 'Ann' and result == '0-1')", Some(0)),
        ("flipcolor(Black == 'Ann' and result == '1-0')", None),
        ("flipcolor(result < 0.5 and BlackElo > 2400 and check)", Some(6)),
        ("flipvertical(White == 'Ann' and on('q', 'h5'))", Some(10)),
        ("flipcolor(Date == '1999' and material == 'KQRRBBNNPPPPPPPkqrrbbnnpppppppp')", Some(3)),
    ] {
        assert_eq!(first_match(expression, &queens), ply, "{expression}");
    }
    let castled = game("1. e4 e5 2. Nf3 Nf6 3. Bc4 Bc5 4. O-O *");
    for (expression, ply) in [
        ("flipcolor(line('O-O'))", Some(6)),
        ("flipvertical(line('O-O-O'))", Some(6)),
        ("line('O-O-O')", None),
        ("flipvertical(castling('kq') and not castling('K'))", Some(7)),
    ] {
        assert_eq!(first_match(expression, &castled), ply, "{expression}");
    }
}

/// Every way to look at a game agrees with a look at each record.
#[test]
fn records_of_positions_agree() {
    let queens = game(QUEENS);
    let options = epdb_chess::text::pgn::PositionOptions::default();
    for expression in [
        "check",
        "ply >= 7 && stm == 'b'",
        "'Qa5' in sm",
        "legal_moves > 35",
        "on('q', 'd-e5') && pieces == 30",
        "fen ~ ' 3 7$'",
        "record ~ 'sm Qb6'",
        "hmvc == 3 || pieces == 31",
        "castling ~ 'kq' && ep == 'e3'",
    ] {
        let parsed = Expression::parse(expression).unwrap();
        let place = Place::new("games.pgn", At::Game(1));
        let mut records = epdb_chess::text::pgn::game_positions(&queens, &options);
        let found = records
            .position(|(record, at)| parsed.holds(&EvalContext::new(&record, Some(at), &place)));
        let found = found.map(|ply| ply as u32);
        assert!(found.is_some(), "{expression}");
        assert_eq!(first_match(expression, &queens), found, "{expression}");
    }
}

#[test]
fn records_and_games_refuse_what_they_cannot_answer() {
    let refusals = |text: &str| {
        let parsed = Expression::parse(text).unwrap();
        (parsed.check_records().err(), parsed.check_games().err())
    };
    for text in
        ["last(check)", "check && moved('N')", "never(!check)", "line('e4') || captured('q')"]
    {
        let (records, games) = refusals(text);
        assert!(records.unwrap().message.contains("here are only records"), "{text}");
        assert_eq!(games, None, "{text}");
    }
    for (text, column) in [
        ("!check", 1),
        ("iqp || not on('N', 'e5')", 8),
        ("!check and not mate", 1),
        ("!(WhiteElo > 1 && check)", 1),
        ("flipcolor(!on('N', 'e5'))", 11),
    ] {
        let (records, games) = refusals(text);
        assert_eq!(records, None, "{text}");
        assert_eq!(games.unwrap().column, column, "{text}");
    }
    for text in
        ["!(WhiteElo > 1)", "iqp && not on('N', 'e5')", "!has(White) && check", "all(!check)"]
    {
        assert_eq!(refusals(text).1, None, "{text}");
    }
    for (text, column) in [
        ("stm == 'w' and last(mate)", 1),
        ("iqp or never(check) and ply <= 20 and White == 'Ann'", 8),
        ("flipcolor(ply < 9 and stm == 'b' and then(check, mate))", 11),
    ] {
        let refusal = refusals(text).1.unwrap();
        assert_eq!(
            (refusal.column, refusal.message.contains("put them into that term")),
            (column, true)
        );
    }
    for text in
        ["iqp and ply <= 40 and last(mate)", "stm == 'w' and check", "plies > 4 and never(check)"]
    {
        assert_eq!(refusals(text).1, None, "{text}");
    }
}

#[test]
fn mistakes_in_terms_of_games_are_named() {
    for (text, message) in [
        ("last", "column 1: `last` needs parentheses, as in last(rook_ending)"),
        ("lasts(iqp)", "column 10: expected `,` and a number, as in lasts(iqp, 4), found `)`"),
        (
            "lasts(iqp, 0)",
            "column 12: expected a number of positions, as in lasts(iqp, 4), found `0`",
        ),
        (
            "then(iqp, check, == 0)",
            "column 21: expected a number of plies, as in then(iqp, rook_ending, 40), found `0`",
        ),
        ("then(iqp)", "column 9: expected `,`, as in then(iqp, rook_ending, 40), found `)`"),
        (
            "last(first(check))",
            "column 6: first() is true or false for a whole game, so no other such term can contain it",
        ),
        ("line('e8')", "column 7: `e8`: the promotion piece is missing, as in `e8=Q`"),
        (
            "line(' e4 Zz')",
            "column 11: `Zz`: not the text of a move such as `e4`, `Nbd7`, `exd8=Q+` or `O-O`",
        ),
        ("line('')", "column 7: expected moves, as in 'Bxh7+ Kxh7 Ng5+'"),
        ("moved(N)", "column 7: expected a text in quotes, as in moved('N'), found `N`"),
    ] {
        assert_eq!(Expression::parse(text).unwrap_err().to_string(), message);
    }
    // `line` is a field too.
    assert!(Expression::parse("line >= 3").is_ok());
    let error = Expression::parse_with_columns("last(check)", &["games"]).unwrap_err();
    assert!(error.message.contains("not of these rows"));
}

/// The time for an expression is bounded: too many combinations are refused.
#[test]
fn combinations_are_limited() {
    let pair = "(check or last(mate))";
    let few = [pair; 4].join(" and ");
    assert!(Expression::parse(&few).is_ok());
    let many = [pair; 60].join(" and ");
    assert!(Expression::parse(&many).unwrap_err().message.starts_with("too many combinations"));
    // Tags and positions without such terms have no limit.
    let ids = ["White == 'Ann'"; 100].join(" or ");
    assert!(Expression::parse(&ids).is_ok());
}
