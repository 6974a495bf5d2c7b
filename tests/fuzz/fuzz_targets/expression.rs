//! Any text as an expression: no panic and no overflow, an error has its place in the text, and
//! what is read can be asked of any record.
#![no_main]

use std::sync::LazyLock;

use epdb_library::expression::Expression;
use epdb_library::value::EvalContext;
use epdb_chess::model::EpdRecord;
use libfuzzer_sys::fuzz_target;

const LINES: [&str; 5] = [
    "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq e3 bm c5 e5 Qh9; c9 \"1/2-1/2\"; ce -15; \
     hmvc 0; fmvn 1; id \"WAC.002\"; pv e5 Nf3; Depth 12.5; Eval good; resign;",
    "7k/6Q1/6K1/8/8/8/8/8 b - - 3 60",
    "8/8/8/8/8/8/4P3/8 w - - bm #5; x;",
    "bqnb1rkr/pp3ppp/3ppn2/2p5/5P2/P2P4/NPP1P1PP/BQ1BNRKR w HFhf - 2 9",
    "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - sm O-O; sv O-O O-O-O; am O-O-O;",
];

static RECORDS: LazyLock<Vec<EpdRecord>> = LazyLock::new(|| {
    LINES.iter().map(|line| epdb_chess::parse_epd(line.as_bytes()).expect("a record")).collect()
});

fuzz_target!(|text: &str| {
    match Expression::parse(text) {
        Err(error) => {
            assert!((1..=text.chars().count() + 1).contains(&error.column));
            assert!(!error.message.is_empty());
        }
        Ok(expression) => {
            let answers = |expression: &Expression| -> Vec<bool> {
                RECORDS.iter().map(|record| expression.holds(&EvalContext::from_record(record))).collect()
            };
            let negated = format!("!({text})");
            if let Ok(negated) = Expression::parse(&negated) {
                let contrary: Vec<_> = answers(&negated).iter().map(|answer| !answer).collect();
                assert_eq!(answers(&expression), contrary);
            }
        }
    }
});
