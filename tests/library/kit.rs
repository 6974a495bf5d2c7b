//! The command processor of the SAN Kit, and the routines under it.

use epdb_chess::model::registers::Registers;
use epdb_chess::model::{Color, EpdRecord, Opcode, Operand, Operation, Position};
use epdb_chess::text::{Format, FormatOptions, epd};
use epdb_library::kit::{Completion, KitError, Line, Reply, Session, Step, Verb, complete};
use epdb_library::play::{Stops, after_operation};
use proptest::prelude::*;

const START: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";

/// A session that was given these lines, none of which is wrong.
fn session(lines: &[&str]) -> Session {
    let mut session = Session::new();
    for line in lines {
        session.run(line).unwrap_or_else(|error| panic!("{line}: {error}"));
    }
    session
}

/// The output of a command.
fn shown(session: &mut Session, line: &str) -> String {
    match session.run(line) {
        Ok(Reply::Text(text)) => String::from_utf8(text).unwrap(),
        other => panic!("{line}: {other:?}"),
    }
}

fn fen(session: &mut Session) -> String {
    shown(session, "dvfe")
}

#[test]
fn a_position_is_set_and_shown() {
    let mut session = session(&[]);
    assert_eq!(fen(&mut session), START);
    for verb in ["svfe", "svde"] {
        let set = session.run(&format!("  {verb}  4k3/8/8/8/8/8/4P3/4K3 w - - 5 39 "));
        assert_eq!(set, Ok(Reply::Position(vec![])));
        assert_eq!(fen(&mut session), "4k3/8/8/8/8/8/4P3/4K3 w - - 5 39");
        session.run("new").unwrap();
        assert_eq!(fen(&mut session), START);
    }
    session.run("svfe 4k3/8/8/8/8/8/4P3/4K3 w - - bm e4; id \"x\";").unwrap();
    assert_eq!(shown(&mut session, "epd"), "4k3/8/8/8/8/8/4P3/4K3 w - - bm e4; id \"x\";");
}

#[test]
fn faults_of_a_position_are_reported() {
    let mut session = session(&[]);
    let Ok(Reply::Position(warnings)) = session.run("svfe P7/8/8/8/8/8/8/K7 w - -") else {
        panic!("it is set")
    };
    assert_eq!(warnings.len(), 1);
    assert_eq!(
        warnings[0].message,
        "illegal position: Black has no king, a pawn stands on rank 1 or 8; it is set, but no moves can \
         be played from it"
    );
    assert_eq!(fen(&mut session), "P7/8/8/8/8/8/8/K7 w - - 0 1");
}

#[test]
fn moves_are_played_taken_back_and_made_again() {
    let mut session = session(&["1. e4 c7c5 2.Nf3", "move d6 d2-d4"]);
    let end = "rnbqkbnr/pp2pppp/3p4/2p5/3PP3/5N2/PPP2PPP/RNBQKB1R b KQkq d3 0 3";
    assert_eq!(fen(&mut session), end);
    session.run("back 4").unwrap();
    assert_eq!(fen(&mut session), "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq e3 0 1");
    assert_eq!(session.run("back 2"), Err(KitError::End(1)));
    session.run("forward 4").unwrap();
    assert_eq!(fen(&mut session), end);
    assert_eq!(session.run("forward"), Err(KitError::End(0)));
    session.run("start").unwrap();
    assert_eq!(fen(&mut session), START);
    assert_eq!(session.line().records().count(), 6);
    // The same move goes on along the line, another one begins a new one.
    session.run("e4").unwrap();
    assert_eq!(session.line().records().count(), 6);
    session.run("e5").unwrap();
    assert_eq!(session.line().records().count(), 3);
}

#[test]
fn each_position_keeps_the_operations_that_it_was_given() {
    let mut session = session(&["set c0 the start", "e4", "set bm c5 e7e5", "set resign", "e5"]);
    session.run("back").unwrap();
    let record = shown(&mut session, "record");
    assert!(record.ends_with(" bm c5 e5; fmvn 1; hmvc 0; resign;"), "{record}");
    session.run("remove resign fmvn hmvc").unwrap();
    assert!(shown(&mut session, "record").ends_with("KQkq e3 bm c5 e5;"));
    for wrong in
        ["set bm Ke5", "set ce good", "remove ce", "remove bm ce", "set 9", "set ce 1; dm 2"]
    {
        let before = session.clone();
        assert!(matches!(session.run(wrong), Err(KitError::Operation(_))), "{wrong}");
        assert_eq!(session, before, "{wrong}");
    }
    session.run("start").unwrap();
    assert_eq!(shown(&mut session, "registers"), "c0 \"the start\";");
}

#[test]
fn registers_run_along_the_line_and_from_earlier_values() {
    let mut session = session(&["set c0 a", "e4", "set c1 b", "e5", "set c0 d"]);
    assert_eq!(shown(&mut session, "registers"), "c0 \"d\";");
    session.run("back").unwrap();
    assert_eq!(shown(&mut session, "registers"), "c0 \"a\"; c1 \"b\";");
    let before = Registers { eco: Some((*b"C20").into()), ..Registers::default() };
    session.set_record(EpdRecord::new(Position::START), before);
    assert_eq!(shown(&mut session, "registers"), "eco \"C20\";");
    session.run("new").unwrap();
    assert_eq!(shown(&mut session, "registers"), "all registers are null");
}

#[test]
fn commands_unknown_to_the_processor_are_returned() {
    let mut session = session(&["# a comment", "", "  "]);
    assert_eq!(session.run("next"), Ok(Reply::Go(Step::On(1))));
    assert_eq!(session.run("previous 3"), Ok(Reply::Go(Step::Back(3))));
    assert_eq!(session.run("goto 18446744073709551615"), Ok(Reply::Go(Step::To(u64::MAX))));
    let outside = |verb, operands: &str| Ok(Reply::Outside(verb, operands.to_string()));
    assert_eq!(
        session.run("explore a.epa --sort score "),
        outside(Verb::Explore, "a.epa --sort score")
    );
    assert_eq!(session.run("perft 3"), outside(Verb::Perft, "3"));
    assert_eq!(session.run("tfgg a.pgn 'b c.pgn'"), outside(Verb::Tfgg, "a.pgn 'b c.pgn'"));
    assert_eq!(session.run("exit"), outside(Verb::Quit, ""));
    assert_eq!(session.run("board"), Ok(Reply::Board));
    session.run("flip").unwrap();
    assert_eq!(session.bottom(), Color::Black);
    for verb in Verb::all() {
        assert_eq!(Verb::named(verb.name()), Some(verb));
        assert!(!verb.about().is_empty());
        if verb.operands().is_empty() {
            assert_eq!(session.run(&format!("{} x", verb.name())), Err(KitError::Operands(verb)));
        } else if !verb.operands().starts_with('[') {
            assert_eq!(session.run(verb.name()), Err(KitError::Operands(verb)));
        }
    }
}

#[test]
fn errors_have_the_expected_value_and_the_place() {
    let mut session = session(&["e4"]);
    let mut error = |line: &str| {
        let error = session.run(line).unwrap_err();
        (error.column(), error.to_string())
    };
    let illegal = "error[E-MOVE-ILLEGAL]: `Ke5`: no legal move of this position";
    assert_eq!(
        error(" e5 Ke5"),
        (Some(5), format!("{illegal}; nor is it a command (`help` lists them)"))
    );
    assert_eq!(error("move  Ke5"), (Some(7), illegal.into()));
    assert_eq!(error("back x"), (None, "expected `back [N]`".into()));
    assert_eq!(error("back -1"), (None, "expected `back [N]`".into()));
    assert_eq!(error("dvfe now"), (None, "expected `dvfe`".into()));
    let (column, text) = error("svfe 8/8/8/8/8/8/8/9 w - -");
    assert!(column.is_some_and(|column| column > 5) && text.starts_with("error[E-FEN"), "{text}");
    assert_eq!(error("e5\0").0, Some(3));
    assert_eq!(error("svfe #"), (None, "expected `svfe FEN`".into()));
}

#[test]
fn a_line_has_an_end() {
    let mut line = Line::new(EpdRecord::new(Position::START));
    let there_and_back = "Nf3 Nf6 Ng1 Ng8 ".repeat(Line::MAX_MOVES / 4);
    line.play(there_and_back.as_bytes()).unwrap();
    assert_eq!(line.play(b"e4"), Err(KitError::Full(Line::MAX_MOVES)));
    assert_eq!(line.records().count(), Line::MAX_MOVES + 1);
    line.back(1).unwrap();
    line.play(b"Ng8").unwrap();
}

#[test]
fn a_line_becomes_a_game() {
    let text = "4k3/8/8/8/8/8/4P3/4K3 w - - 5 39";
    let session = session(&[&format!("svfe {text}"), "e4 Kd7"]);
    let game = session.line().game().unwrap();
    assert_eq!((game.tag("SetUp"), game.tag("FEN")), (Some("1"), Some(text)));
    assert_eq!(game.elements().count(), 2);
    let question = "4k3/8/8/8/8/8/4P3/4K3 w - - moves e2e4 e8d7";
    assert_eq!(session.line().question(), question);
    assert_eq!(Line::new(EpdRecord::new(Position::START)).game().unwrap().tag("FEN"), None);
}

#[test]
fn lines_are_completed() {
    let session = session(&["set c0 a", "e4", "set ce 3"]);
    let words = |line: &str| match complete(&session, line) {
        Completion::Words { start, words } => format!("{start}: {}", words.join(" ")),
        _ => "files".into(),
    };
    assert_eq!(words("ba"), "0: back");
    assert_eq!(words("1... Nf"), "5: Nf6");
    assert_eq!(words("e5 Nf"), "3: Nf3");
    assert_eq!(words("e2e5 N"), "5: ", "no legal move stands before");
    assert_eq!(words("move g8"), "5: g8f6 g8h6");
    assert_eq!(words("set dr"), "4: draw_accept draw_claim draw_offer draw_reject");
    assert_eq!(words("set c0 N"), "7: ");
    assert_eq!(words("remove "), "7: ce fmvn hmvc");
    assert_eq!(words("help ex"), "5: explore");
    for line in ["write a", "open ", "explore su", "tfgg x y"] {
        assert_eq!(words(line), "files", "{line}");
    }
    let stuck = self::session(&["svfe 8/8/8/8/8/8/8/8 w - -"]);
    let Completion::Words { words, .. } = complete(&stuck, "N") else { panic!("words") };
    assert_eq!(words, Vec::<String>::new());
}

#[test]
fn records_are_made_read_changed_and_written() {
    // Create, set an operation, get it, remove it.
    let mut record = EpdRecord::new(Position::START);
    let id = Operation { opcode: Opcode::ID, operands: vec![Operand::string(*b"x")] };
    record.set(id.clone());
    assert_eq!(record.text_of(Opcode::ID), Some(b"x".to_vec()));
    assert_eq!(record.remove(Opcode::ID), Some(id));
    assert_eq!(record, EpdRecord::new(Position::START));
    // Set the position; read; normal form; write.
    let read = epdb_chess::parse_epd(b"4k3/8/8/8/8/8/4P3/4K3  w - -  sm e4 ; id x").unwrap();
    let normal = b"4k3/8/8/8/8/8/4P3/4K3 w - - id \"x\"; sm e4;";
    assert_eq!(epdb_chess::format_epd(&read), normal);
    // Apply sm.
    let played = after_operation(&read, Opcode::SM, Stops::End, &[Opcode::ID]);
    let mut text = Vec::new();
    let options = FormatOptions { format: Format::Fen, ..Default::default() };
    epd::format(&played.records[0], &options, &mut text);
    assert_eq!(text, b"4k3/8/8/8/4P3/8/8/4K3 b - e3 0 1");
}

#[test]
fn the_kit_has_no_input_or_output_of_its_own() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/library/kit");
    let mut files = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        for word in
            ["std::fs", "std::io", "std::env", "std::process", "std::net", "print!", "println!"]
        {
            assert!(!text.contains(word), "{word}");
        }
        files += 1;
    }
    assert!(files > 2);
}

fn lines_of_any_kind() -> impl Strategy<Value = String> {
    let names: Vec<&str> = Verb::all().map(Verb::name).collect();
    let operands = prop_oneof![
        ".{0,40}",
        "[a-h1-8NBRQKOx=+#-]{0,8}( [a-h1-8NBRQKOx=+#-]{1,6}){0,3}",
        "[0-9]{1,22}",
        "[rnbqkpRNBQKP1-8/]{0,40} [wb] [KQkq-]{1,4} [a-h1-8-]{1,2}( [0-9]{1,12}){0,2}",
        "[a-z]{1,3}[0-9]? [\"a-z0-9; ]{0,12}",
    ];
    prop_oneof![
        operands.clone(),
        (prop::sample::select(names), operands)
            .prop_map(|(name, operands)| format!("{name} {operands}")),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]
    fn a_line_that_is_wrong_changes_nothing(lines in prop::collection::vec(lines_of_any_kind(), 1..6)) {
        let mut session = session(&["set c0 a", "e4 e5 Nf3", "set ce 5", "back"]);
        for line in lines {
            let before = session.clone();
            match session.run(&line) {
                Err(_) => prop_assert_eq!(&session, &before, "{}", line),
                Ok(Reply::Position(_) | Reply::Done) => {}
                Ok(_) => prop_assert_eq!(&session, &before, "{}", line),
            }
            complete(&session, &line);
            prop_assert!(epdb_chess::parse_epd(&epdb_chess::format_epd(session.record())).is_ok());
        }
    }
}
