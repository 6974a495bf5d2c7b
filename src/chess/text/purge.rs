//! Removal of operations from a line of text; all other bytes stay unchanged.

use std::borrow::Cow;
use std::ops::Range;

use super::codes;
use super::diagnostic::Diagnostic;
use super::epd::{Raw, is_promotion, is_word_before_position, split_operands, string_end};
use super::scan::{Word, is_blank, is_comment};
use crate::model::{Opcode, Operands};

/// The result of [`purge`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Purged<'a> {
    /// The line without the operations; borrowed if there was nothing to remove.
    pub line: Cow<'a, [u8]>,
    /// Number of operations that were removed.
    pub dropped: usize,
    /// Warnings about rules that the line breaks because its `sm` (supplied move) was removed: a
    /// `draw_offer` or `draw_claim` that stays needs an `sm`. Columns are those of the original
    /// line.
    pub warnings: Vec<Diagnostic>,
}

/// Removes all operations with these opcodes from a line. With each operation, one blank is removed
/// too, unless it separates the neighbours of the operation. All other bytes stay.
///
/// The line may have any bytes and may have a line end. It may be an EPD record, or a FEN with
/// operations after its six fields. It is split into operations by the rules of the lenient
/// profile. So the last semicolon may be missing. A semicolon before a standard opcode may also be
/// missing, if the opcode cannot be an operand of the previous operation. A string without a
/// closing quote ends with the line. Comments, blank lines and lines of fewer than four fields have
/// no operations.
///
/// ```
/// use epdb_chess::model::Opcode;
/// use epdb_chess::text::purge::purge;
/// let line = b"4k3/8/8/8/8/8/4P3/4K3 w - - acn  1 ; bm e4;c0 \"bm e4;\";";
/// let purged = purge(line, &[Opcode::BM]);
/// assert_eq!(*purged.line, b"4k3/8/8/8/8/8/4P3/4K3 w - - acn  1 ;c0 \"bm e4;\";"[..]);
/// ```
pub fn purge<'a>(line: &'a [u8], opcodes: &[Opcode]) -> Purged<'a> {
    let segments = segments(line);
    let goes = |operation: &Placed| operation.opcode.is_some_and(|it| opcodes.contains(&it));
    let all = || segments.iter().flat_map(|segment| &segment.operations);
    let dropped = all().filter(|operation| goes(operation)).count();
    if dropped == 0 {
        return Purged { line: Cow::Borrowed(line), dropped, warnings: Vec::new() };
    }

    let mut out = Vec::with_capacity(line.len());
    let mut copied = 0;
    for segment in &segments {
        let operations = &segment.operations;
        if operations.iter().all(goes) {
            out.extend_from_slice(&line[copied..segment.place.start]);
            copied = segment.place.end;
            drop_one_blank(&mut out, &line[copied..]);
            continue;
        }
        for (index, operation) in operations.iter().enumerate().filter(|(_, it)| goes(it)) {
            out.extend_from_slice(&line[copied..operation.place.start]);
            match operations.get(index + 1) {
                Some(next) => copied = next.place.start,
                None => {
                    copied = operation.place.end;
                    while ends_in_blank(&out) {
                        out.pop();
                    }
                }
            }
        }
    }
    out.extend_from_slice(&line[copied..]);

    let named = |operation: &Placed, opcode| operation.opcode == Some(opcode);
    let lost_sm = all().any(|it| goes(it) && named(it, Opcode::SM));
    let left_over = |opcode, code| {
        all().find(|it| lost_sm && !goes(it) && named(it, opcode)).map(|operation| {
            let message = format!("{opcode} stays but needs sm, which is dropped");
            Diagnostic::warning(code, operation.place.start + 1, message)
        })
    };
    let warnings = [
        left_over(Opcode::DRAW_CLAIM, codes::W_CONS_CLAIMSM),
        left_over(Opcode::DRAW_OFFER, codes::W_CONS_OFFERSM),
    ];
    Purged { line: Cow::Owned(out), dropped, warnings: warnings.into_iter().flatten().collect() }
}

/// The text between two semicolons: one operation, or several operations if semicolons are missing.
struct Segment {
    /// The range from the first opcode to the end of the semicolon, if there is one.
    place: Range<usize>,
    operations: Vec<Placed>,
}

struct Placed {
    /// The opcode; `None` if the name is not an opcode.
    opcode: Option<Opcode>,
    place: Range<usize>,
}

fn segments(line: &[u8]) -> Vec<Segment> {
    let mut segments = Vec::new();
    let whole = Word { at: 0, text: line }.trimmed();
    let Some(mut rest) = behind_fields(whole) else { return segments };
    loop {
        let separators = |byte: &&u8| is_blank(**byte) || **byte == b';';
        let skipped = rest.text.iter().take_while(separators).count();
        rest = rest.part(skipped, rest.text.len());
        if rest.text.is_empty() {
            return segments;
        }
        let semicolon = find_semicolon(rest.text);
        let operations = operations(rest.part(0, semicolon.unwrap_or(rest.text.len())));
        let behind = rest.part(semicolon.map_or(rest.text.len(), |at| at + 1), rest.text.len());
        segments.push(Segment { place: rest.at..behind.at, operations });
        rest = behind;
    }
}

/// The text after four fields and the two counters of a FEN; `None` if the line is no record.
fn behind_fields(line: Word) -> Option<Word> {
    if is_comment(line.text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line.text)) {
        return None;
    }
    let mut rest = line;
    loop {
        let (word, behind) = rest.split_word();
        if !is_word_before_position(word.text) {
            break;
        }
        rest = behind;
    }
    for _ in 0..3 {
        rest = rest.split_word().1;
    }
    let (en_passant, mut rest) = split_field(rest);
    if en_passant.text.is_empty() {
        return None;
    }
    let mut counters = 0;
    loop {
        let (word, behind) = split_field(rest);
        let is_dashes = !word.text.is_empty() && word.text.iter().all(|&byte| byte == b'-');
        let digits = word.text.strip_prefix(b"-").unwrap_or(word.text);
        if !is_dashes {
            counters += 1;
            let is_counter = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
            if counters > 2 || !is_counter {
                return Some(rest);
            }
        }
        rest = behind;
    }
}

/// Splits off the next word, which may end at a semicolon or comma too. Returns word and rest.
fn split_field<'a>(rest: Word<'a>) -> (Word<'a>, Word<'a>) {
    let rest = rest.trimmed_start();
    let ends = |&byte: &u8| is_blank(byte) || matches!(byte, b';' | b',');
    let end = rest.text.iter().position(ends).unwrap_or(rest.text.len());
    (rest.part(0, end), rest.part(end, rest.text.len()))
}

/// Strings have escapes, as in the lenient profile.
const ESCAPES: bool = true;

/// The next semicolon outside strings.
fn find_semicolon(text: &[u8]) -> Option<usize> {
    let mut from = 0;
    loop {
        let place = from + memchr::memchr2(b';', b'"', &text[from..])?;
        if text[place] == b';' {
            return Some(place);
        }
        from = string_end(text, place + 1, ESCAPES)? + 1;
    }
}

/// Splits the text between two semicolons at opcodes with a missing semicolon before them.
fn operations(text: Word) -> Vec<Placed> {
    let ends = |&byte: &u8| is_blank(byte) || byte == b'"';
    let name_end = text.text.iter().position(ends).unwrap_or(text.text.len());
    let mut raws = Vec::new();
    split_operands(text.part(name_end, text.text.len()), ESCAPES, &mut raws);
    let mut raws = raws.as_slice();

    let name = text.part(0, name_end);
    let mut placed = Placed {
        opcode: Opcode::new(name.text.strip_suffix(b":").unwrap_or(name.text)).ok(),
        place: name.at..name.end(),
    };
    let mut operations = Vec::new();
    loop {
        let count = operands_of(placed.opcode, raws);
        let (own, behind) = raws.split_at(count);
        placed.place.end = own.last().map_or(placed.place.end, Raw::end);
        operations.push(placed);
        let Some((next, left)) = behind.split_first() else { return operations };
        placed = Placed { opcode: next.as_opcode(), place: next.at()..next.end() };
        raws = left;
    }
}

/// Number of operands up to the semicolon that belong to an operation. The position is not known
/// here, so the legality of `c2` to `c7` as moves is unknown too. These words are read as moves
/// unless a string follows.
fn operands_of(opcode: Option<Opcode>, raws: &[Raw]) -> usize {
    let is_known = |raw: &Raw| raw.as_opcode().is_some_and(|opcode| opcode.standard().is_some());
    let is_square = |raw: &Raw| matches!(raw, Raw::Token(Word { text: [b'c', b'2'..=b'7'], .. }));
    let is_string = |raw: Option<&Raw>| matches!(raw, Some(Raw::Str(..)));
    let wanted = match opcode.and_then(|opcode| opcode.standard()).map(|entry| entry.operands) {
        None | Some(Operands::Any | Operands::TagPairs) => return raws.len(),
        Some(Operands::Str { .. }) => {
            return if is_string(raws.first()) && raws.get(1).is_some_and(is_known) {
                1
            } else {
                raws.len()
            };
        }
        Some(Operands::Move | Operands::MoveSet | Operands::MoveLine) => None,
        Some(Operands::None) => Some(0),
        Some(
            Operands::Integer(..) | Operands::Identifier(_) | Operands::Tally | Operands::KeptGames,
        ) => Some(1),
        Some(Operands::TwoStrings | Operands::Clocks | Operands::Timestamp) => Some(2),
    };
    let begins_next = |&place: &usize| {
        let raw = &raws[place];
        let is_promotion =
            || matches!(raw, Raw::Token(word) if is_promotion(word.text, None, &raws[place + 1..]));
        is_known(raw)
            && !(wanted.is_none() && is_promotion())
            && (!is_square(raw)
                || wanted == Some(place)
                || (wanted.is_none() && is_string(raws.get(place + 1))))
    };
    (0..raws.len()).find(begins_next).unwrap_or(raws.len())
}

/// Removes the blank before a removed operation, unless it separates the text that stays.
fn drop_one_blank(out: &mut Vec<u8>, rest: &[u8]) {
    let [.., before, blank] = out[..] else { return };
    let apart = before == b';' || rest.first().is_none_or(|&byte| is_blank(byte) || byte == b';');
    if apart && is_blank(blank) {
        out.pop();
    }
}

fn ends_in_blank(bytes: &[u8]) -> bool {
    bytes.last().is_some_and(|&byte| is_blank(byte))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::*;

    const START: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -";

    fn opcodes(names: &str) -> Vec<Opcode> {
        names.split(',').map(|name| Opcode::new(name.as_bytes()).unwrap()).collect()
    }

    /// Purges operations after the four fields of a position.
    fn purged(names: &str, operations: &str) -> String {
        let line = format!("{START}{operations}");
        let purged = purge(line.as_bytes(), &opcodes(names)).line.into_owned();
        String::from_utf8(purged).unwrap().strip_prefix(START).unwrap().to_owned()
    }

    #[test]
    fn vectors() {
        let vectors = include_str!("../../../tests/vectors/pfop.tsv");
        let rows: Vec<Vec<_>> =
            vectors.lines().skip(1).map(|row| row.split('\t').collect()).collect();
        assert_eq!(rows.len(), 7);
        for row in rows {
            let purged = purge(row[2].as_bytes(), &opcodes(row[1])).line.into_owned();
            assert_eq!(String::from_utf8(purged).unwrap(), row[3], "{}", row[0]);
        }
    }

    #[test]
    fn several_opcodes_and_repeats_go_together() {
        assert_eq!(purged("bm,id", " acn 1; bm e4; bm d4; id \"x\"; rc 2;"), " acn 1; rc 2;");
        assert_eq!(purged("bm,id", " bm e4; id \"x\";"), "");
    }

    #[test]
    fn sloppy_lines_keep_their_layout() {
        assert_eq!(purged("bm", " acn 1 ;bm e4 ;id \"x\"\r\n"), " acn 1 ;id \"x\"\r\n");
        assert_eq!(purged("bm", " acn  1;\tbm\te4;\t id \"x\";  \r"), " acn  1;\t id \"x\";  \r");
        assert_eq!(purged("bm", " bm e4;id \"x\";"), " id \"x\";");
        assert_eq!(purged("bm", " bm e4\r\n"), "\r\n");
        assert_eq!(purged("id", " bm e4; id \"x\"  \n"), " bm e4;  \n");
        assert_eq!(purged("bm", "; bm e4;; acn 1;"), ";; acn 1;");
        assert_eq!(purged("bm", " acn 1; bm e4;id \"x\";"), " acn 1;id \"x\";");
        assert_eq!(purged("acn", " acn;\0bm e4;\0\0"), "\0bm e4;\0\0");
    }

    #[test]
    fn counters_of_a_fen_stay() {
        assert_eq!(purged("bm", " 0 1 bm e4; id \"x\";"), " 0 1 id \"x\";");
        assert_eq!(purged("bm", " 0 1 bm e4;id \"x\";"), " 0 1 id \"x\";");
        assert_eq!(purged("bm", " 0 1 bm e4;"), " 0 1");
        assert_eq!(purged("D1", " 0 1 ;D1 20 ;D2 400"), " 0 1 ;D2 400");
        assert_eq!(purged("D2", " 0 1 ;D1 20 ;D2 400"), " 0 1 ;D1 20 ;");
        assert_eq!(purged("bm", " - - - bm e4;"), " - - -");
        assert_eq!(purged("bm", " 0 1; bm e4;"), " 0 1;");
    }

    #[test]
    fn a_missing_semicolon_before_a_standard_opcode_is_seen() {
        assert_eq!(purged("dm", " bm Rc8+ dm 26;"), " bm Rc8+;");
        assert_eq!(purged("bm", " bm Rc8+ dm 26;"), " dm 26;");
        assert_eq!(purged("bm,dm", " bm Rc8+ dm 26; id \"x\";"), " id \"x\";");
        assert_eq!(purged("dm,ce", " bm Rc8+ dm 26 ce 5; id \"x\";"), " bm Rc8+; id \"x\";");
        assert_eq!(purged("bm", " id \"x\" bm e4"), " id \"x\"");
        assert_eq!(purged("c4", " bm Re7 c4; c4 \"x\";"), " bm Re7 c4;");
        assert_eq!(purged("bm", " c0 say bm e4;"), " c0 say bm e4;");
        assert_eq!(purged("bm", " Ae x bm e4;"), " Ae x bm e4;");
    }

    #[test]
    fn an_open_string_goes_with_its_operation() {
        assert_eq!(purged("bm", " c0 \"open; bm e4;"), " c0 \"open; bm e4;");
        assert_eq!(purged("c0", " bm e4; c0 \"open; id x; \r\n"), " bm e4; \r\n");
    }

    #[test]
    fn lines_without_operations_are_copied() {
        for line in
            ["", "\n", "# a b c bm e4;", "8/8/8/8/8/8/8/8 w -", "bm e4; id x;", "a;b c d bm e4;"]
        {
            let purged = purge(line.as_bytes(), &opcodes("bm,id"));
            assert_eq!(purged.line, Cow::Borrowed(line.as_bytes()));
            assert_eq!(purged.dropped, 0);
        }
    }

    #[test]
    fn an_offer_or_claim_without_its_move_is_a_warning() {
        let codes = |names, operations: &str| -> Vec<_> {
            let line = format!("{START} {operations}");
            let purged = purge(line.as_bytes(), &opcodes(names));
            purged.warnings.iter().map(|it| (it.code, it.column - START.len())).collect()
        };
        assert_eq!(codes("sm", "draw_offer; sm e4;"), [("W-CONS-OFFERSM", 2)]);
        assert_eq!(codes("sm", "sm e4; draw_claim;"), [("W-CONS-CLAIMSM", 9)]);
        assert_eq!(codes("sm,draw_offer", "draw_offer; sm e4;"), []);
        assert_eq!(codes("sm", "draw_offer; bm e4;"), []);
        assert_eq!(codes("bm", "draw_offer; bm e4;"), []);
    }

    proptest! {
        #[test]
        fn any_bytes_lose_nothing_but_the_operations(
            tail in prop::collection::vec(prop::sample::select(b" \t;\"bmdc14:\\\r\n\xff".to_vec()), 0..40),
        ) {
            let line = [START.as_bytes(), &tail].concat();
            let once = purge(&line, &opcodes("bm,d"));
            if once.dropped == 0 {
                prop_assert_eq!(&*once.line, &line[..]);
            }
            // The purged line is a subsequence of the original line.
            let mut rest = line.iter();
            prop_assert!(once.line.iter().all(|byte| rest.any(|it| it == byte)));
            prop_assert!(once.line.starts_with(START.as_bytes()));
        }
    }
}
