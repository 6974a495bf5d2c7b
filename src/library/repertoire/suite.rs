//! Records of suites as games, and back.
//!
//! Each first move of a game that is marked `!` is a move of `bm`, and `?` marks the moves of `am`. What
//! PGN has no place for is in one comment before the first move: `[%epd acn 9; acs 3;]`.

use super::games::BAD;
use super::graph::Evaluation;
use super::records::{number, quoted};
use super::tree::begin;
use epdb_chess::model::rules::{Move, Playable};
use epdb_chess::model::{
    BuildError, Counters, Element, EpdRecord, Game, GameBuilder, Opcode, Operand, Operation,
    Position, Start, UNKNOWN_TAG_VALUES,
};
use epdb_chess::text::{CastlingForm, EnPassantForm, ParseOptions, epd, fen, san};

/// A record as a game.
#[derive(Clone, Debug)]
pub struct SuiteGame {
    /// The game.
    pub game: Game,
    /// The opcodes of operations that are not in the game, or only in part.
    pub left_out: Vec<Opcode>,
}

/// Tags that have the text of an operation.
const TAGS: [(Opcode, &str); 2] = [(Opcode::ID, "Event"), (Opcode::ECO, "ECO")];
/// The NAGs of a good and a very good move.
const GOOD: [u8; 2] = [1, 3];
const COMMAND: &str = "[%epd ";

/// Writes a record as a game from its position, from which [`suite_record`] reads the record again. The
/// moves of `bm` are first moves with `!`, and those of `am` first moves with `?`. `pv` continues one of
/// them, or is a variation. `id` and `eco` are the tags `Event` and `ECO`. `ce` with `acd`, and `c0`, are
/// comments before the first move. Another operation, and one that would be read differently, goes into the
/// command `[%epd ...]`.
///
/// ```
/// use epdb_library::repertoire::{suite_game, suite_record};
/// let record = epdb_chess::parse_epd(b"4k3/8/8/8/8/8/4P3/4K3 w - - acn 9; bm e3 e4; id \"A.01\";")?;
/// let written = suite_game(&record)?;
/// assert_eq!(written.game.tag("Event"), Some("A.01"));
/// assert_eq!((written.game.main_line().count(), written.left_out.len()), (1, 0));
/// assert_eq!(suite_record(&written.game), record);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// The game would be too large.
pub fn suite_game(record: &EpdRecord) -> Result<SuiteGame, BuildError> {
    let game = write(record, &[])?;
    let read = suite_record(&game);
    let mut different = differences(record, &read);
    if different.is_empty() && read.operations().len() > record.operations().len() {
        // No move is marked, so all of them would be read as best moves. With a command they are not.
        different.extend(record.operations().iter().filter(|it| it.opcode == Opcode::PV));
    }
    let commanded: Vec<&Operation> = different.iter().copied().filter(|it| fits(it)).collect();
    if commanded.is_empty() {
        let left_out = different.iter().map(|it| it.opcode).collect();
        return Ok(SuiteGame { game, left_out });
    }
    let game = write(record, &commanded)?;
    let read = suite_record(&game);
    let left_out = differences(record, &read).iter().map(|it| it.opcode).collect();
    Ok(SuiteGame { game, left_out })
}

/// The operations of a record that another one lacks or has with other operands.
fn differences<'r>(record: &'r EpdRecord, other: &EpdRecord) -> Vec<&'r Operation> {
    let differs = |it: &&Operation| other.operands(it.opcode) != Some(&it.operands);
    record.operations().iter().filter(differs).collect()
}

/// True if a command can have the operation.
fn fits(operation: &Operation) -> bool {
    let ends_command = |byte: u8| matches!(byte, b']' | b'}') || byte.is_ascii_control();
    let text = operation_text(operation);
    std::str::from_utf8(&text).is_ok() && !text.into_iter().any(ends_command)
}

fn operation_text(operation: &Operation) -> Vec<u8> {
    let mut text = Vec::new();
    operation.write_to(&mut text);
    text
}

fn write(record: &EpdRecord, commanded: &[&Operation]) -> Result<Game, BuildError> {
    let mut game = GameBuilder::new();
    let (halfmove_clock, fullmove_number) = record.counters();
    let counters = Counters {
        halfmove_clock: halfmove_clock.unwrap_or(0),
        fullmove_number: fullmove_number.unwrap_or(1),
    };
    begin(&mut game, &Start { position: *record.position(), counters }, &[])?;
    for (opcode, tag) in TAGS {
        if let Some(text) = record.text_of(opcode) {
            game.set_tag(tag, &String::from_utf8_lossy(&text))?;
        }
    }
    let mut commented = record.clone();
    for operation in commanded {
        commented.remove(operation.opcode);
    }
    add_comments(&mut game, &commented)?;
    if !commanded.is_empty() {
        let texts: Vec<Vec<u8>> = commanded.iter().map(|it| operation_text(it)).collect();
        let text = texts.join(&b' ');
        game.add_comment(&format!("{COMMAND}{}]", String::from_utf8_lossy(&text)))?;
    }
    add_lines(&mut game, record)?;
    game.finish()
}

fn add_comments(game: &mut GameBuilder, record: &EpdRecord) -> Result<(), BuildError> {
    if let Some(evaluation) = evaluation(record) {
        game.add_comment(&evaluation.command(record.position().turn()))?;
    }
    // Programs join comments that follow each other, so all texts but one are in the command if they can be.
    for operation in record.operations().iter().filter(|it| is_comment(it)) {
        let texts: Vec<_> = operation.operands.iter().map(Operand::text).collect();
        game.add_comment(&String::from_utf8_lossy(&texts.join(&b' ')))?;
    }
    Ok(())
}

/// Writes the moves of `bm` and `am`, and `pv`, which is the main line if it begins with one of `bm`.
fn add_lines(game: &mut GameBuilder, record: &EpdRecord) -> Result<(), BuildError> {
    let best = moves(record, Opcode::BM);
    let avoided = moves(record, Opcode::AM);
    let pv = moves(record, Opcode::PV);
    let mut lines: Vec<Vec<Move>> = best.iter().map(|mv| vec![*mv]).collect();
    match best.iter().position(|mv| pv.first() == Some(mv)) {
        Some(place) => {
            lines.remove(place);
            lines.insert(0, pv);
        }
        None if !pv.is_empty() => lines.push(pv),
        None => {}
    }
    lines.extend(avoided.iter().map(|mv| vec![*mv]));
    let Some((main, variations)) = lines.split_first() else { return Ok(()) };
    play_first(game, main[0], &best, &avoided)?;
    for variation in variations {
        game.begin_variation()?;
        play_first(game, variation[0], &best, &avoided)?;
        variation[1..].iter().try_for_each(|mv| game.play(*mv))?;
        game.end_variation()?;
    }
    main[1..].iter().try_for_each(|mv| game.play(*mv))
}

/// Plays the first move of a line, and marks it.
fn play_first(
    game: &mut GameBuilder,
    mv: Move,
    best: &[Move],
    avoided: &[Move],
) -> Result<(), BuildError> {
    game.play(mv)?;
    if best.contains(&mv) {
        game.add_nag(GOOD[0])?;
    }
    if avoided.contains(&mv) {
        game.add_nag(BAD[0])?;
    }
    Ok(())
}

/// True if the operation is a comment of its own.
fn is_comment(operation: &Operation) -> bool {
    let others = Opcode::C0..=Opcode::C9;
    operation.opcode == Opcode::C0 || others.contains(&operation.opcode) && !fits(operation)
}

fn evaluation(record: &EpdRecord) -> Option<Evaluation> {
    let ce = i32::try_from(record.integer(Opcode::CE)?).ok()?;
    let depth = record.text_of(Opcode::ACD).and_then(|depth| number(&depth));
    Some(Evaluation { ce, depth })
}

/// The legal moves of an operation, up to the first operand that is not a move.
fn moves(record: &EpdRecord, opcode: Opcode) -> Vec<Move> {
    let as_move = |operand: &Operand| match operand {
        Operand::Move { mv, .. } => Some(*mv),
        _ => None,
    };
    record.operands(opcode).unwrap_or_default().iter().map_while(as_move).collect()
}

/// Reads a game as a problem. The first moves that are marked `?`, `??` or `?!` are `am`. Those that are marked
/// `!` are `bm`; without such marks, all others are. `pv` is the first line of several plies that does not
/// begin with a move of `am`. Tags and comments before the first move are read as [`suite_game`] writes them.
/// Comments there such as `am Qxb2` and `dm 3` are operations, and other ones are `c0` to `c9`.
pub fn suite_record(game: &Game) -> EpdRecord {
    let Start { position, counters } = *game.start();
    let mut record = EpdRecord::new(position);
    for (opcode, tag) in TAGS {
        let value = game.tag(tag).filter(|value| *value != UNKNOWN_TAG_VALUES[0]);
        set(&mut record, opcode, value.map(quoted).into_iter().collect());
    }
    let mut commanded = Vec::new();
    let mut others = Vec::new();
    for comment in game.node(0).into_iter().flat_map(|head| head.comments()) {
        let mut comment = comment.to_string();
        while let Some((operations, rest)) = take_command(&position, &comment) {
            commanded.extend(operations);
            comment = rest;
        }
        if !comment.is_empty() {
            others.push(comment);
        }
    }
    set_counters(&mut record, counters);
    let lines = lines(game);
    set_moves(&mut record, &lines, !commanded.is_empty());
    for operation in commanded {
        record.set(operation);
    }
    let mut texts = Vec::new();
    for comment in others {
        take_comment(&mut record, &comment, &mut texts);
    }
    add_avoided(&mut record, &lines);
    let registers = (b'0'..=b'9').filter_map(|digit| Opcode::new(&[b'c', digit]).ok());
    let free: Vec<Opcode> = registers.filter(|it| record.operands(*it).is_none()).collect();
    for (opcode, text) in free.into_iter().zip(&texts) {
        set(&mut record, opcode, vec![quoted(text)]);
    }
    record
}

fn set(record: &mut EpdRecord, opcode: Opcode, operands: Vec<Operand>) {
    if !operands.is_empty() {
        record.set(Operation { opcode, operands });
    }
}

/// Sets the counters that are not those of a position without counters.
fn set_counters(record: &mut EpdRecord, counters: Counters) {
    let Counters { halfmove_clock, fullmove_number } = counters;
    if halfmove_clock != 0 {
        set(record, Opcode::HMVC, vec![Operand::Integer(halfmove_clock.into())]);
    }
    if fullmove_number != 1 {
        set(record, Opcode::FMVN, vec![Operand::Integer(fullmove_number.into())]);
    }
}

/// The operations of a command in a comment, and the rest of the comment; `None` without such a command.
fn take_command(position: &Position, comment: &str) -> Option<(Vec<Operation>, String)> {
    let (before, behind) = comment.split_once(COMMAND)?;
    let (operations, behind) = behind.split_once(']')?;
    let record = parse(position, operations)?;
    let rest = [before.trim(), behind.trim()].join(" ").trim().to_string();
    Some((record.into_operations(), rest))
}

fn parse(position: &Position, operations: &str) -> Option<EpdRecord> {
    let mut line = Vec::new();
    fen::format_fields(position, CastlingForm::Shredder, EnPassantForm::Keep, &mut line);
    line.push(b' ');
    line.extend_from_slice(operations.as_bytes());
    match epd::parse_line(&line, &ParseOptions::default(), &mut Vec::new()) {
        Ok(epd::Line::Record(record)) => Some(record),
        _ => None,
    }
}

/// Reads `am`, `dm` and an evaluation; other text is appended to `texts`.
fn take_comment(record: &mut EpdRecord, comment: &str, texts: &mut Vec<String>) {
    if let Some(operation) = titled_operation(record.position(), comment) {
        if record.operands(operation.opcode).is_none() {
            record.set(operation);
        }
        return;
    }
    let Some((evaluation, rest)) = Evaluation::take(comment, record.position().turn()) else {
        texts.push(comment.to_string());
        return;
    };
    if record.operands(Opcode::CE).is_none() {
        set(record, Opcode::CE, vec![Operand::Integer(evaluation.ce.into())]);
        let depth = evaluation.depth.map(|depth| Operand::token(depth.to_string()));
        set(record, Opcode::ACD, depth.into_iter().collect());
    }
    if !rest.is_empty() {
        texts.push(rest);
    }
}

/// The operation of a comment such as `am Qxb2` or `dm 3`.
fn titled_operation(position: &Position, comment: &str) -> Option<Operation> {
    let (name, _) = comment.split_once(' ')?;
    if !matches!(name, "am" | "dm") {
        return None;
    }
    let [operation] =
        <[_; 1]>::try_from(parse(position, &format!("{comment};"))?.into_operations()).ok()?;
    let is_read = |operand: &Operand| matches!(operand, Operand::Move { .. } | Operand::Integer(_));
    operation.operands.iter().all(is_read).then_some(operation)
}

/// A line from the start of a game.
#[derive(Default)]
struct Line {
    moves: Vec<Move>,
    /// Whether the first move is marked as good.
    is_best: bool,
    /// Whether the first move is marked as bad.
    is_avoided: bool,
}

/// The main line of a game, and the variations of its first move.
fn lines(game: &Game) -> Vec<Line> {
    let mut lines = vec![Line::default()];
    // The current line; `None` in a variation of a later move, and after a null move.
    let mut current = Some(0);
    let mut outer = Vec::new();
    for element in game.elements() {
        let line = current.map(|line: usize| &mut lines[line]);
        let is_first = line.as_ref().is_some_and(|line| line.moves.len() == 1);
        match (element, line) {
            (Element::Move(mv), Some(line)) => line.moves.push(mv),
            (Element::Nag(nag), Some(line)) if is_first => {
                line.is_best |= GOOD.contains(&nag);
                line.is_avoided |= BAD.contains(&nag);
            }
            (Element::NullMove, _) => current = None,
            (Element::VariationBegin, _) => {
                outer.push(current);
                current = is_first.then_some(lines.len());
                if is_first {
                    lines.push(Line::default());
                }
            }
            (Element::VariationEnd, _) => current = outer.pop().flatten(),
            _ => {}
        }
    }
    lines.retain(|line| !line.moves.is_empty());
    lines
}

/// Sets `bm` and `pv`. Unmarked moves beside a command are not best moves.
fn set_moves(record: &mut EpdRecord, lines: &[Line], has_command: bool) {
    let Ok(playable) = Playable::new(record.position()) else { return };
    let takes_all = !has_command && !lines.iter().any(|line| line.is_best);
    let best = lines.iter().filter(|line| line.is_best || takes_all && !line.is_avoided);
    let best = best.flat_map(|line| operands(playable, &line.moves[..1])).collect();
    let is_pv =
        |line: &&Line| !line.is_avoided && (line.moves.len() > 1 || !takes_all && !line.is_best);
    let pv = lines.iter().find(is_pv);
    let pv = pv.map(|line| operands(playable, &line.moves)).unwrap_or_default();
    set(record, Opcode::BM, best);
    set(record, Opcode::PV, pv);
}

/// Adds the moves that are marked as bad to `am`.
fn add_avoided(record: &mut EpdRecord, lines: &[Line]) {
    let Ok(playable) = Playable::new(record.position()) else { return };
    let mut avoided = record.operands(Opcode::AM).unwrap_or_default().to_vec();
    for line in lines.iter().filter(|line| line.is_avoided) {
        avoided.extend(operands(playable, &line.moves[..1]));
    }
    set(record, Opcode::AM, avoided);
}

fn operands(mut playable: Playable, line: &[Move]) -> Vec<Operand> {
    let mut operands = Vec::new();
    for &mv in line {
        operands.push(Operand::Move { mv, san: san::format(&playable, mv) });
        playable = playable.after(mv);
    }
    operands
}
