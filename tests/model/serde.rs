//! The feature `serde`: values round-trip.

use std::fmt::Debug;

use epdb_chess::model::rules::Move;
use epdb_chess::model::{EpdRecord, GameResult, Opcode, Operand, Operation, Position, San, Square};
use epdb_chess::text::{ParseOptions, Profile, epd};
use serde::Serialize;
use serde::de::DeserializeOwned;

fn assert_comes_back<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: &T) -> String {
    let json = serde_json::to_string(value).unwrap();
    assert_eq!(&serde_json::from_str::<T>(&json).unwrap(), value, "{json}");
    json
}

#[test]
fn small_types_are_what_they_are_displayed_as() {
    assert_eq!(assert_comes_back(&Opcode::BM), "\"bm\"");
    assert_eq!(assert_comes_back(&"e4".parse::<Square>().unwrap()), "\"e4\"");
    assert_eq!(assert_comes_back(&"e7e8q".parse::<Move>().unwrap()), "\"e7e8q\"");
    assert_eq!(assert_comes_back(&"Nbxd7+".parse::<San>().unwrap()), "\"Nbxd7+\"");
    assert_eq!(assert_comes_back(&GameResult::Draw), "\"1/2-1/2\"");
    assert!(serde_json::from_str::<Square>("\"e9\"").is_err());
    assert!(serde_json::from_str::<Opcode>("\"9x\"").is_err());
}

#[test]
fn positions_are_their_four_fields() {
    let start = "\"rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -\"";
    assert_eq!(assert_comes_back(&Position::START), start);
    // A square that no double step can have left stays too.
    let odd = Position::START.with_en_passant("e6".parse().ok()).unwrap();
    assert!(assert_comes_back(&odd).ends_with(" e6\""));
    assert!(serde_json::from_str::<Position>("\"8/8 w - -\"").is_err());
}

#[test]
fn records_are_their_lines() {
    for line in [
        "4k3/8/8/8/8/8/4P3/4K3 w - - acn 18446744073709551615; bm Kf2 e4; ce -32768; id \"x\";",
        "4k3/8/8/8/8/8/4P3/4K3 w - - 3 40",
        "r3k2r/8/8/8/8/8/8/R3K2R w HAha - bm O-O;",
        "4k3/8/8/8/8/8/4P3/4K3 w - - bm Qh5; pv e4 Kd7 e5;",
        "4k3/8/8/8/8/8/8/4K3 w - - noop; v0 \"a;b\";",
    ] {
        assert_comes_back(&line.parse::<EpdRecord>().unwrap());
    }
    let odd = b"4k3/8/8/8/8/8/4P3/4K3 w - d6 id \"x\";";
    let read = epd::parse_line(odd, &ParseOptions::new(Profile::Standard), &mut Vec::new());
    let epd::Line::Record(record) = read.unwrap() else { panic!("a record") };
    assert_comes_back(&record);
    // Latin-1 is no JSON string, but its bytes are an array.
    let latin1 = epdb_chess::parse_epd(b"4k3/8/8/8/8/8/4P3/4K3 w - - c0 \"x\";").unwrap();
    let mut latin1 = latin1;
    latin1.set(Operation { opcode: Opcode::C0, operands: vec![Operand::string(*b"M\xfcller")] });
    assert!(assert_comes_back(&latin1).starts_with("[52,"));
}

#[test]
fn operations_have_typed_operands() {
    let record: EpdRecord =
        "4k3/8/8/8/8/8/4P3/4K3 w - - acn 18446744073709551615; bm e4; ce -5; id \"x\"; noop y;"
            .parse()
            .unwrap();
    for operation in record.operations() {
        assert_comes_back(operation);
    }
    let bm = serde_json::to_string(&record.operations()[1]).unwrap();
    assert_eq!(bm, r#"{"opcode":"bm","operands":[{"move":{"mv":"e2e4","san":"e4"}}]}"#);
    let integer = serde_json::to_string(&Operand::Integer(-5)).unwrap();
    assert_eq!(integer, r#"{"integer":-5}"#);
}
