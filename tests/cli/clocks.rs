//! `clock`, `elapsed`, `eval` and `eval_loss` of positions, as fields of `table`, `--where` and `sort`.

use crate::scratch::Scratch;

const FIELDS: &str = "sm,clock,elapsed,eval,eval:white,eval_loss";

/// A game as lichess writes it: the clock and White's evaluation after each move.
const LICHESS: &str = "\
[Event \"Rated Blitz game\"]
[White \"a\"]
[Black \"b\"]
[Result \"1-0\"]
[TimeControl \"180+2\"]

1. e4 { [%eval 0.36] [%clk 0:03:00] } 1... e5 { [%eval 0.3] [%clk 0:03:00] } \
2. Qh5 { [%eval -0.5] [%clk 0:02:58] } (2. Nf3 { [%clk 0:01:00] } 2... Nc6) \
2... Ke7?? { [%eval #1] [%clk 0:02:31] } 3. Qxe5# { [%clk 0:02:57] } 1-0
";

const CUTECHESS: &str = "\
[White \"a\"]
[Black \"b\"]
[Result \"1-0\"]
[TimeControl \"10+0.1\"]

1. e4 {+0.31/14 1.2s} e5 {-0.20/13 0.85s} 2. Qh5 {+M3/9 0.12s} \
Ke7 {-M2/20 0.001s} 3. Qxe5# {+M1/1 0s, White mates} 1-0
";

const FASTCHESS: &str = "\
[White \"a\"]
[Black \"b\"]
[Result \"*\"]
[TimeControl \"8+0.08\"]

1. e4 {book} e5 {-0.20/13 0.850s, tl=7.23s, n=1000} \
2. Nf3 {+0.35/20 1.321s, tl=6.759s, latency=0.001s, n=12345} *
";

/// A game as the referee of this program writes it.
const REFEREE: &str = "\
[White \"a\"]
[Black \"b\"]
[Result \"*\"]

1. e4 {[%eval 0.36,18] [%clk 0:00:09.25] [%emt 0:00:00.75]} e5 {[%clk 1:00:00]} *
";

fn table(scratch: &Scratch, args: &[&str]) -> Vec<String> {
    let done = scratch.run(&[&["table", "--no-header", "--columns", FIELDS], args].concat());
    assert_eq!(done.status, 0, "{args:?}: {}", done.err);
    done.out.lines().map(|line| line.replace('\t', " ")).collect()
}

#[test]
fn games_of_lichess() {
    let scratch = Scratch::with("lichess.pgn", LICHESS);
    assert_eq!(
        table(&scratch, &["lichess.pgn", "--positions"]),
        [
            "e4 180    ",
            "e5 180  -36 36 0",
            "Qh5 178 4 30 30 80",
            "Ke7 151 31 50 -50 1050",
            "Qxe5# 177 3 32766 32766 0",
            "     ",
        ]
    );
    // A variation has clocks of its own.
    let varied = table(&scratch, &["lichess.pgn", "--positions", "--variations"]);
    assert_eq!(varied.len(), 8);
    assert!(varied.contains(&"Nc6     ".into()), "{varied:?}");
    // The evaluations are the same with ce.
    let with_ce = table(&scratch, &["lichess.pgn", "--positions", "--game-evals"]);
    assert_eq!(with_ce, table(&scratch, &["lichess.pgn", "--positions"]));
    let last = scratch.run(&["table", "--games", "--columns", "clock,eval", "lichess.pgn"]);
    assert_eq!(last.out, "clock\teval\n\t\n");
}

#[test]
fn games_of_engines() {
    let scratch = Scratch::with("cutechess.pgn", CUTECHESS);
    scratch.write("fastchess.pgn", FASTCHESS);
    scratch.write("referee.pgn", REFEREE);
    assert_eq!(
        table(&scratch, &["cutechess.pgn", "--positions"]),
        [
            "e4  1.2 31 31 11",
            "e5  0.85 -20 20 980",
            "Qh5  0.12 32764 32764 0",
            "Ke7  0.001 -32765 32765 0",
            "Qxe5#  0 32766 32766 0",
            "     ",
        ]
    );
    assert_eq!(
        table(&scratch, &["fastchess.pgn", "--positions"]),
        ["e4     ", "e5 7.23 0.85 -20 20 15", "Nf3 6.759 1.321 35 35 ", "     "]
    );
    assert_eq!(
        table(&scratch, &["referee.pgn", "--positions"]),
        ["e4 9.25 0.75   ", "e5 3600  -36 36 ", "     "]
    );
}

#[test]
fn records_with_operations() {
    let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -";
    let black = "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq -";
    let scratch = Scratch::with(
        "a.epd",
        format!(
            "{start} c3 \"[%clk 0:02:58.5] [%emt 0:00:01.5] [%eval 0.3]\"; sm e4;\n\
             {black} ce 40; ce2 -100; pv e5 Nf3; pv2 f6 d4; sm f6;\n\
             {black} ce 40; pv e5 Nf3; sm e5;\n\
             {black} ce 40; pv e5 Nf3; sm a6;\n\
             {black} cc 000:00:03:00 001:00:02:00; dm 2;\n"
        ),
    );
    assert_eq!(
        table(&scratch, &["a.epd"]),
        [
            "e4 178.5 1.5 30 30 ",
            "f6   40 -40 140",
            "e5   40 -40 0",
            "a6   40 -40 ",
            " 86520  32764 -32764 ",
        ]
    );
}

#[test]
fn expressions_and_orders_take_the_fields() {
    let scratch = Scratch::with("lichess.pgn", LICHESS);
    scratch.write("cutechess.pgn", CUTECHESS);
    let out = |args: &[&str]| {
        let done = scratch.run(args);
        assert_eq!(done.status, 0, "{args:?}: {}", done.err);
        done.out
    };
    for (expression, count) in [
        ("eval_loss >= 300", "1"),
        ("clock < 178 && elapsed > 3", "1"),
        ("elapsed == 3", "1"),
        ("eval > 32000", "1"),
        ("eval:white == -50 && has(eval)", "1"),
        ("!has(clock)", "1"),
        ("clock != 0", "5"),
    ] {
        let found = out(&["count", "lichess.pgn", "--positions=all", "--where", expression]);
        assert_eq!(found, format!("{count}\n"), "{expression}");
    }
    let counted = out(&["count", "cutechess.pgn", "--positions=all", "--where", "elapsed < 0.85"]);
    assert_eq!(counted, "3\n");
    let played = |sorted: &str| -> Vec<String> {
        let moves = sorted.lines().filter_map(|line| line.split_once("sm "));
        moves.map(|(_, sm)| sm.trim_end_matches(';').to_string()).collect()
    };
    let by = |order: &str| {
        let sorted = out(&["sort", &format!("--by={order}"), "cutechess.pgn", "--positions"]);
        played(&sorted)
    };
    assert_eq!(by("-elapsed"), ["e4", "e5", "Qh5", "Ke7", "Qxe5#"]);
    assert_eq!(by("elapsed"), ["Qxe5#", "Ke7", "Qh5", "e5", "e4"]);
    assert_eq!(by("eval"), ["Ke7", "e5", "e4", "Qh5", "Qxe5#"]);
    assert_eq!(by("-eval_loss,-eval"), ["e5", "e4", "Qxe5#", "Qh5", "Ke7"]);
    let group = ["--group-by", "stm", "--agg", "mean(elapsed)"];
    let grouped = out(&[&["table", "--positions", "cutechess.pgn"], &group[..]].concat());
    assert_eq!(grouped, "stm\tmean(elapsed)\nb\t0.4255\nw\t0.44\n");
}
