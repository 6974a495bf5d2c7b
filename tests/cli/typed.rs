//! Typed operands of unknown types pass through all commands unchanged.

use crate::scratch::Scratch;
use epdb_chess::model::merge::{MergeRules, Merged, merge};
use epdb_chess::model::{Operand, TypedOperand};

const LINES: &str = "\
4k3/8/8/8/8/8/4P3/4K3 w - - ce 12; id \"epdb:32768:\"; tallied \"epdb:7:AQI=\" x \"epdb:7:\";
4k3/8/8/8/8/8/3P4/4K3 w - - bm d4; c0 \"epdb:7:AQJ=\"; noop \"epdb:65535:/+8=\";
";

/// Text, streams, stores, archives of both levels, and back.
#[test]
fn through_every_format() {
    let scratch = Scratch::with("a.epd", LINES);
    let steps = [("a.epd", "b.epb"), ("b.epb", "c.epdb"), ("c.epdb", "d.epa"), ("d.epa", "e.epd")];
    for (from, to) in steps {
        let done = scratch.run(&["convert", from, to]);
        assert_eq!(done.status, 0, "{from} {to}: {}", done.err);
    }
    assert_eq!(scratch.text("e.epd"), LINES);
    assert_eq!(scratch.run(&["pack", "b.epb", "-o", "f.epa", "--level", "fast"]).status, 0);
    assert_eq!(scratch.run(&["normalize", "f.epa"]).out, LINES);
    // Each is shorter in binary than its text.
    let first = &LINES.as_bytes()[..LINES.find('\n').unwrap()];
    let mut bytes = Vec::new();
    epdb_chess::codec::record::encode(&epdb_chess::parse_epd(first).unwrap(), &mut bytes).unwrap();
    assert!(!bytes.windows(5).any(|window| window == b"epdb:"));
    assert!(bytes.windows(6).any(|window| window == [0x51, 7, 0, 2, 1, 2]));
}

#[test]
fn through_questions_and_tables() {
    let scratch = Scratch::with("a.epd", LINES);
    let found = scratch.run(&["filter", "a.epd", "--where", "op(tallied) ~ 'epdb:7:AQI='"]);
    assert_eq!(found.out, format!("{}\n", LINES.lines().next().unwrap()), "{}", found.err);
    let table = scratch.run(&["table", "a.epd", "--columns", "id", "--json"]);
    assert!(table.out.contains("\"epdb:32768:\""), "{}{}", table.out, table.err);
    let flipped = scratch.run(&["flip", "a.epd"]);
    assert!(flipped.out.contains("tallied \"epdb:7:AQI=\" x \"epdb:7:\";"), "{}", flipped.out);
    assert!(flipped.err.contains("4 typed operands kept unchanged"), "{}", flipped.err);
}

#[test]
fn through_merging() {
    let [first, _] =
        [0, 1].map(|nth| epdb_chess::parse_epd(LINES.lines().nth(nth).unwrap().as_bytes()));
    let first = first.unwrap();
    let mut other = first.clone();
    let tallied = epdb_chess::model::Opcode::new(b"tallied").unwrap();
    other.remove(tallied);
    let Merged::One(merged) = merge(&other, &first, &MergeRules::default()) else {
        panic!("one record")
    };
    let operand = TypedOperand::new(7, *b"\x01\x02").unwrap();
    assert_eq!(merged.operands(tallied).unwrap()[0], Operand::typed(&operand));
}
