//! Merging two records of one position.

use super::kept_games::KeptGames;
use super::opcode::{Opcode, Operands};
use super::record::{Counters, EpdRecord, Operand, Operation};
use super::tally::Tally;

/// Rule for two records whose analyses contradict each other: it chooses the analysis that stays.
///
/// The later record wins if the depths or nodes are equal, or if both records lack them.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug, Default)]
pub enum Prefer {
    /// The analysis of the later record.
    #[default]
    Later,
    /// The analysis of the earlier record.
    First,
    /// The deeper analysis. It has the larger `acd` or, if there is no `acd`, the larger private
    /// depth (an operation such as `Depth`). A record without a depth loses to a record with a
    /// depth.
    Deepest,
    /// The analysis that searched more nodes, by `acn`. A record without `acn` loses to a record
    /// with `acn`.
    Nodes,
}

/// Rule for `bm` and `am` if both records have the operation and differ.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug, Default)]
pub enum BestMoves {
    /// The difference is a conflict: the records are not merged.
    #[default]
    Conflict,
    /// Keep the moves of both records.
    Union,
    /// Keep the moves of the earlier record.
    First,
    /// Keep the moves of the later record.
    Last,
}

/// Rules of [`merge`] for records that differ.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MergeRules {
    /// The record whose analysis stays. It also applies to counters and castling letters.
    pub prefer: Prefer,
    /// The treatment of `bm` and `am` that differ.
    pub best_moves: BestMoves,
    /// Opcodes whose operand is a count. The counts of both records are added. Callers name private
    /// opcodes, because the standard has no opcode for such a count: `acn` and `acs` belong to one
    /// analysis, `rc` to one game.
    pub counts: Vec<Opcode>,
}

impl MergeRules {
    /// Whether the later of two records is chosen if neither has an analysis.
    pub fn prefers_later(&self) -> bool {
        self.prefer != Prefer::First
    }
}

/// Result of [`merge`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Merged {
    /// One record with the operations of both records.
    One(EpdRecord),
    /// The records contradict each other in these opcodes, so both records should stay. The opcodes
    /// are in ASCII order. The list is empty if the records have different positions.
    Conflict(Vec<Opcode>),
}

/// Merges two records of the same position. `old` is the earlier one.
///
/// - **Analysis** is one unit. It has `acd acn acs ce dm pm pv` and the other operations that engines
///   write: `acms`, `solve_first`, `solve_held`, `run_error`, `pv2`, `ce2` and so on. It also has
///   private depths: opcodes such as `Depth` and `SelDepth`. These begin with an upper-case letter
///   and end in `depth`, in upper or lower case. If both records have an operation of the unit with
///   different operands, the whole unit comes from the record that [`MergeRules::prefer`] chooses.
///   Otherwise all operations of both records stay. But `run_error` stays only if the record that
///   `prefer` chooses has it, or has no `ce`, `pm` and `pv`: an answer ends the error of a search.
/// - **Counters**, as fields or as `hmvc` and `fmvn`, are not part of a position's identity. If they differ,
///   both come from the record that `prefer` chooses. They stay fields if they were fields in that record and
///   the merged record has no operations.
/// - **`bm` and `am`** follow [`MergeRules::best_moves`]. If the merged record would have a move in
///   both operations, and neither record alone has such a move, the records are in conflict under
///   every rule.
/// - **Counts** ([`MergeRules::counts`]) are added, if both are natural numbers and the sum is
///   below 2^64.
/// - **Tallies** (`tally`) are added. Then `tally_less` is subtracted, if all its games are in
///   `tally`.
/// - **Lists of games** (`kept_games`): the best rated and the latest games of both lists are kept.
/// - **Any other operation** is a conflict if it differs. Equal operations become one; an operation
///   that only one record has is kept.
/// - **The en passant square** counts for identity only if a capture is legal. A superfluous square
///   is kept if either record has one, because it could not be restored later. If the records have
///   different squares, or different castling letters, `prefer` chooses the record whose square and
///   letters stay.
/// ```
/// use epdb_chess::model::merge::{BestMoves, MergeRules, Merged, Prefer, merge};
/// # fn main() -> Result<(), epdb_chess::text::Diagnostic> {
/// let old = epdb_chess::parse_epd(b"4k3/8/8/8/8/8/4P3/4K3 w - - acd 9; bm e4; ce 20; pv e4;")?;
/// let new = epdb_chess::parse_epd(b"4k3/8/8/8/8/8/4P3/4K3 w - - acd 7; bm Kf2; ce 31; id \"x\";")?;
///
/// let careful = MergeRules::default();
/// let bm = vec![epdb_chess::model::Opcode::BM];
/// assert_eq!(merge(&old, &new, &careful), Merged::Conflict(bm));
///
/// let rules = MergeRules { prefer: Prefer::Deepest, best_moves: BestMoves::Union, ..Default::default() };
/// let both = b"4k3/8/8/8/8/8/4P3/4K3 w - - acd 9; bm Kf2 e4; ce 20; id \"x\"; pv e4;";
/// assert_eq!(merge(&old, &new, &rules), Merged::One(epdb_chess::parse_epd(both)?));
/// # Ok(())
/// # }
/// ```
pub fn merge(old: &EpdRecord, new: &EpdRecord, rules: &MergeRules) -> Merged {
    if old.position().identity() != new.position().identity() {
        return Merged::Conflict(Vec::new());
    }
    let old_has_fields = old.fen_counters().is_some();
    let new_has_fields = new.fen_counters().is_some();
    let old = &old.with_counter_operations();
    let new = &new.with_counter_operations();
    let takes_new = rules.prefer.takes_new(old, new);
    let (chosen, other) = if takes_new { (new, old) } else { (old, new) };

    let mut merged = EpdRecord::new(*match chosen.position().en_passant() {
        Some(_) => chosen.position(),
        None => other.position(),
    });
    merged.set_dialect(chosen.dialect());
    let analyses_clash = differ(old, new, is_analysis);
    let counters_clash = differ(old, new, is_counter);
    let mut conflicts = Vec::new();
    for opcode in opcodes(old, new) {
        let comes_from_chosen = analyses_clash && is_analysis(opcode)
            || counters_clash && is_counter(opcode)
            || opcode == Opcode::RUN_ERROR && is_answered(chosen);
        let operands = if comes_from_chosen {
            chosen.operands(opcode).map(<[_]>::to_vec)
        } else {
            reconcile(opcode, old.operands(opcode), new.operands(opcode), rules)
        };
        if let Some(operands) = operands {
            merged.set(Operation { opcode, operands });
        } else if !comes_from_chosen {
            conflicts.push(opcode);
        }
    }
    if contradicts_itself(&merged) && !contradicts_itself(old) && !contradicts_itself(new) {
        conflicts.extend([Opcode::AM, Opcode::BM]);
        conflicts.sort();
    }
    if !conflicts.is_empty() {
        return Merged::Conflict(conflicts);
    }
    subtract_tally_less(&mut merged);
    let has_counters_of_new = if has(chosen, is_counter) { takes_new } else { !takes_new };
    let were_fields = if has_counters_of_new { new_has_fields } else { old_has_fields };
    if were_fields {
        restore_counter_fields(&mut merged);
    }
    Merged::One(merged)
}

/// True if two records have an operation of an analysis with different operands. Then [`merge`] keeps
/// only one of their analyses.
pub fn analyses_differ(old: &EpdRecord, new: &EpdRecord) -> bool {
    differ(old, new, is_analysis)
}

impl Prefer {
    fn takes_new(self, old: &EpdRecord, new: &EpdRecord) -> bool {
        match self {
            Prefer::Later => true,
            Prefer::First => false,
            Prefer::Deepest => depth(new) >= depth(old),
            Prefer::Nodes => new.integer(Opcode::ACN) >= old.integer(Opcode::ACN),
        }
    }
}

/// The merged operands of one opcode; `None` if the records are in conflict. Analyses that differ and move counters
/// that differ are not merged here: they come from one record as a whole.
fn reconcile(
    opcode: Opcode,
    old: Option<&[Operand]>,
    new: Option<&[Operand]>,
    rules: &MergeRules,
) -> Option<Vec<Operand>> {
    let (old, new) = match (old, new) {
        (Some(old), Some(new)) => (old, new),
        (one, None) | (None, one) => return one.map(<[_]>::to_vec),
    };
    if rules.counts.contains(&opcode) {
        return sum(old, new);
    }
    if (opcode == Opcode::TALLY || opcode == Opcode::TALLY_LESS)
        && let Some(both) = tally_of_both(old, new)
    {
        return Some(both);
    }
    if opcode == Opcode::KEPT_GAMES
        && let (Some(old), Some(new)) =
            (KeptGames::from_operands(old), KeptGames::from_operands(new))
    {
        return Some(vec![Operand::string(old.merged(&new).to_text())]);
    }
    if old == new {
        return Some(old.to_vec());
    }
    if !is_move_set(opcode) {
        return None;
    }
    match rules.best_moves {
        BestMoves::Conflict => None,
        BestMoves::Union => Some([old, new].concat()),
        BestMoves::First => Some(old.to_vec()),
        BestMoves::Last => Some(new.to_vec()),
    }
}

/// Adds the tallies of two operations: of two `tally`, or of two `tally_less`.
fn tally_of_both(old: &[Operand], new: &[Operand]) -> Option<Vec<Operand>> {
    let mut both = Tally::from_operands(old)?.clone();
    both.add(Tally::from_operands(new)?).ok()?;
    Some(vec![Operand::tally(both)])
}

/// Subtracts `tally_less` from `tally`, if all games of `tally_less` are in `tally`.
fn subtract_tally_less(record: &mut EpdRecord) {
    let tally = |opcode| record.operands(opcode).and_then(Tally::from_operands);
    let Some(less) = tally(Opcode::TALLY_LESS) else { return };
    if let Some(left) = tally(Opcode::TALLY).and_then(|tally| tally.minus(less)) {
        record.remove(Opcode::TALLY_LESS);
        let operands = vec![Operand::tally(left)];
        record.set(Operation { opcode: Opcode::TALLY, operands });
    }
}

/// Adds two counts. The sum is written in the form of the older count.
fn sum(old: &[Operand], new: &[Operand]) -> Option<Vec<Operand>> {
    let ([old], [new]) = (old, new) else { return None };
    let natural = |operand| u64::try_from(number(operand)?).ok();
    let sum = natural(old)?.checked_add(natural(new)?)?;
    Some(vec![match old {
        Operand::Token(_) => Operand::token(sum.to_string()),
        _ => Operand::Integer(sum.into()),
    }])
}

/// The depth of a record's analysis in plies.
pub fn depth(record: &EpdRecord) -> Option<i128> {
    let value = |operation: &Operation| number(operation.operands.first()?);
    let named = |wanted: fn(Opcode) -> bool| {
        record.operations().iter().filter(|it| wanted(it.opcode)).find_map(value)
    };
    named(|opcode| opcode == Opcode::ACD).or_else(|| named(is_private_depth))
}

/// The value of an integer. Unknown opcodes keep an integer as text; its value counts too.
fn number(operand: &Operand) -> Option<i128> {
    match operand {
        Operand::Integer(value) => Some(*value),
        Operand::Token(text) => std::str::from_utf8(text).ok()?.parse().ok(),
        Operand::Move { .. } | Operand::Str(_) | Operand::Tally(_) => None,
    }
}

fn is_analysis(opcode: Opcode) -> bool {
    const ANALYSIS: [Opcode; 11] = [
        Opcode::ACD,
        Opcode::ACMS,
        Opcode::ACN,
        Opcode::ACS,
        Opcode::CE,
        Opcode::DM,
        Opcode::PM,
        Opcode::PV,
        Opcode::RUN_ERROR,
        Opcode::SOLVE_FIRST,
        Opcode::SOLVE_HELD,
    ];
    ANALYSIS.contains(&opcode) || opcode.is_of_further_line() || is_private_depth(opcode)
}

fn is_private_depth(opcode: Opcode) -> bool {
    let name = opcode.as_bytes();
    let ending = name.last_chunk::<5>();
    name[0].is_ascii_uppercase() && ending.is_some_and(|it| it.eq_ignore_ascii_case(b"depth"))
}

fn is_counter(opcode: Opcode) -> bool {
    matches!(opcode, Opcode::HMVC | Opcode::FMVN)
}

fn is_move_set(opcode: Opcode) -> bool {
    opcode.standard().is_some_and(|entry| entry.operands == Operands::MoveSet)
}

fn has(record: &EpdRecord, wanted: fn(Opcode) -> bool) -> bool {
    record.operations().iter().any(|operation| wanted(operation.opcode))
}

/// Whether some move is both a best move and a move to avoid.
fn contradicts_itself(record: &EpdRecord) -> bool {
    let moves = |opcode| record.operands(opcode).unwrap_or_default();
    let bad = moves(Opcode::AM);
    moves(Opcode::BM).iter().any(|best| bad.iter().any(|bad| bad.text() == best.text()))
}

/// The opcodes that at least one of the records has, in ASCII order.
fn opcodes(old: &EpdRecord, new: &EpdRecord) -> Vec<Opcode> {
    let both = old.operations().iter().chain(new.operations());
    let mut opcodes: Vec<_> = both.map(|operation| operation.opcode).collect();
    opcodes.sort();
    opcodes.dedup();
    opcodes
}

/// True if both records have an operation of this kind with different operands.
fn differ(old: &EpdRecord, new: &EpdRecord, kind: fn(Opcode) -> bool) -> bool {
    old.operations().iter().filter(|it| kind(it.opcode)).any(|operation| {
        new.operands(operation.opcode).is_some_and(|operands| operands != operation.operands)
    })
}

/// True if a record has the answer of a search.
fn is_answered(record: &EpdRecord) -> bool {
    has(record, |opcode| matches!(opcode, Opcode::CE | Opcode::PM | Opcode::PV))
}

/// Turns counters back into FEN fields if there are no other operations.
fn restore_counter_fields(record: &mut EpdRecord) {
    let (Some(halfmove_clock), Some(fullmove_number)) = record.counters() else { return };
    if record.operations().len() == 2 {
        record.remove(Opcode::HMVC);
        record.remove(Opcode::FMVN);
        record.set_fen_counters(Some(Counters { halfmove_clock, fullmove_number }));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]

    use proptest::prelude::*;

    use super::super::{Board, Castling, CastlingDialect, Color, Piece, Position, Square};
    use super::*;

    fn opcode(name: &str) -> Opcode {
        Opcode::new(name.as_bytes()).unwrap()
    }

    /// Parses operations of the start array, such as `acd 9; bm e4 d4`. Operands that are not
    /// numbers become tokens.
    fn record(operations: &str) -> EpdRecord {
        let mut record = EpdRecord::new(Position::START);
        for operation in operations.split_terminator(';') {
            let mut words = operation.split_ascii_whitespace();
            let opcode = opcode(words.next().unwrap());
            let operand = |word: &str| match (opcode.standard(), word.parse()) {
                (Some(_), Ok(value)) => Operand::Integer(value),
                _ => Operand::token(word),
            };
            record.set(Operation { opcode, operands: words.map(operand).collect() });
        }
        record
    }

    fn with_fields(halfmove_clock: u32, fullmove_number: u32) -> EpdRecord {
        let mut record = record("");
        record.set_fen_counters(Some(Counters { halfmove_clock, fullmove_number }));
        record
    }

    fn prefer(prefer: Prefer) -> MergeRules {
        MergeRules { prefer, ..Default::default() }
    }

    fn best_moves(best_moves: BestMoves) -> MergeRules {
        MergeRules { best_moves, ..Default::default() }
    }

    fn one(operations: &str) -> Merged {
        Merged::One(record(operations))
    }

    fn conflict(names: &[&str]) -> Merged {
        Merged::Conflict(names.iter().map(|name| opcode(name)).collect())
    }

    #[test]
    fn analysis_comes_whole_from_one_record() {
        let old = record("acd 9; acn 100; ce 20; pv e4 e5; SelDepth 30; Hash 16");
        let new = record("acd 7; acn 200; ce 31; pm d4; dm 3");
        let old_only = "acd 9; acn 100; ce 20; pv e4 e5; SelDepth 30; Hash 16";
        let new_only = "acd 7; acn 200; ce 31; pm d4; dm 3; Hash 16";
        assert_eq!(merge(&old, &new, &prefer(Prefer::Later)), one(new_only));
        assert_eq!(merge(&old, &new, &prefer(Prefer::First)), one(old_only));
        assert_eq!(merge(&old, &new, &prefer(Prefer::Deepest)), one(old_only));
        assert_eq!(merge(&old, &new, &prefer(Prefer::Nodes)), one(new_only));
    }

    #[test]
    fn what_engines_leave_beside_travels_with_the_analysis() {
        let old = record("acd 9; acms 5; ce 20; pv e4; pv2 d4; ce2 4; solve_first 1 2 3; id x");
        let new = record("acd 7; acms 9; run_error oops; solve_held 4 5 6");
        let rules = MergeRules::default();
        assert_eq!(
            merge(&old, &new, &rules),
            one("acd 7; acms 9; run_error oops; solve_held 4 5 6; id x")
        );
        assert_eq!(merge(&new, &old, &rules), Merged::One(old));
    }

    /// Operations of an analysis by opcode, for the rule of [`stays`].
    type Analysis = std::collections::BTreeMap<&'static str, u8>;

    fn analysis(operations: &Analysis) -> EpdRecord {
        let line: String =
            operations.iter().map(|(name, value)| format!("{name} {value};")).collect();
        record(&line)
    }

    /// The rule in other words: two analyses that agree become one, of two that disagree one stays.
    fn stays(old: &Analysis, new: &Analysis, prefer: Prefer) -> Analysis {
        let agree = old.iter().all(|(name, value)| new.get(name).is_none_or(|it| it == value));
        if agree {
            return old.clone().into_iter().chain(new.clone()).collect();
        }
        let depth = |it: &Analysis| it.get("acd").or(it.get("SelDepth")).copied();
        let prefers_old = match prefer {
            Prefer::Later => false,
            Prefer::First => true,
            Prefer::Deepest => depth(old) > depth(new),
            Prefer::Nodes => old.get("acn") > new.get("acn"),
        };
        if prefers_old { old.clone() } else { new.clone() }
    }

    const PREFER: [Prefer; 4] = [Prefer::Later, Prefer::First, Prefer::Deepest, Prefer::Nodes];

    fn check(old: &Analysis, new: &Analysis) {
        let old_record = analysis(old);
        let new_record = analysis(new);
        for choice in PREFER {
            let expected = Merged::One(analysis(&stays(old, new, choice)));
            assert_eq!(
                merge(&old_record, &new_record, &prefer(choice)),
                expected,
                "{old:?} {new:?}"
            );
        }
    }

    #[test]
    fn every_part_of_an_analysis_meets_every_other_part() {
        // Each operation is missing, or has one of two values.
        const NAMES: [&str; 4] = ["acd", "acn", "pv2", "SelDepth"];
        let parts: Vec<Analysis> = (0..3_u32.pow(4))
            .map(|number| {
                let values =
                    (0..4).map(|place| (NAMES[place as usize], number / 3_u32.pow(place) % 3));
                values.filter(|it| it.1 > 0).map(|(name, value)| (name, value as u8)).collect()
            })
            .collect();
        for old in &parts {
            parts.iter().for_each(|new| check(old, new));
        }
    }

    #[test]
    fn no_part_of_an_analysis_ends_the_others() {
        const NAMES: [&str; 11] =
            ["acd", "acms", "acn", "acs", "ce", "ce2", "dm", "pm", "pv", "pv2", "SelDepth"];
        let part = |bits: u32, value: u8| -> Analysis {
            let places = (0..NAMES.len()).filter(|place| bits >> place & 1 == 1);
            places.map(|place| (NAMES[place], value)).collect()
        };
        let whole = (1 << NAMES.len()) - 1;
        for bits in 0..=whole {
            for (one, other) in [(bits, whole), (bits, whole ^ bits), (bits, bits)] {
                check(&part(one, 1), &part(other, 1));
                check(&part(other, 1), &part(one, 1));
                check(&part(one, 1), &part(other, 2));
            }
        }
    }

    #[test]
    fn an_answer_ends_the_error_of_a_search() {
        let merged = |old, new, choice| merge(&record(old), &record(new), &prefer(choice));
        let both = "dm 2; run_error x; pv e4";
        assert_eq!(merged("dm 2; run_error x", "pv e4", Prefer::Later), one("dm 2; pv e4"));
        assert_eq!(merged("dm 2; run_error x", "pv e4", Prefer::First), one(both));
        assert_eq!(merged("pv e4", "dm 2; run_error x", Prefer::Later), one(both));
        assert_eq!(merged("run_error x", "dm 2", Prefer::Later), one("dm 2; run_error x"));
    }

    #[test]
    fn the_only_analysis_is_taken_whatever_is_preferred() {
        let with = record("ce 5; dm 2");
        let without = record("noop a");
        for choice in [Prefer::Later, Prefer::First, Prefer::Deepest, Prefer::Nodes] {
            let all = one("ce 5; dm 2; noop a");
            assert_eq!(merge(&with, &without, &prefer(choice)), all);
            assert_eq!(merge(&without, &with, &prefer(choice)), all);
        }
    }

    #[test]
    fn depth_is_acd_or_else_private_and_the_later_of_equals_stays() {
        let deepest = prefer(Prefer::Deepest);
        let merged = |old, new| merge(&record(old), &record(new), &deepest);
        assert_eq!(merged("Depth 12; ce 1", "Depth 3; ce 2"), one("Depth 12; ce 1"));
        assert_eq!(merged("Depth 12; ce 1", "acd 13; ce 2"), one("acd 13; ce 2"));
        assert_eq!(merged("acd 1; ce 1", "ce 2"), one("acd 1; ce 1"));
        assert_eq!(merged("acd 5; ce 1", "acd 5; ce 2"), one("acd 5; ce 2"));
        assert_eq!(merged("ce 1", "ce 2"), one("ce 2"));
        assert!(!is_private_depth(opcode("depth")) && is_private_depth(opcode("MAXDEPTH")));
    }

    #[test]
    fn best_moves_that_differ_are_a_conflict_unless_a_rule_decides() {
        let old = record("bm e4 d4; am f3");
        let new = record("bm Nf3 e4; am f3 a4");
        let merged = |rule| merge(&old, &new, &best_moves(rule));
        assert_eq!(merged(BestMoves::Conflict), conflict(&["am", "bm"]));
        assert_eq!(merged(BestMoves::Union), one("bm Nf3 d4 e4; am a4 f3"));
        assert_eq!(merged(BestMoves::First), one("bm e4 d4; am f3"));
        assert_eq!(merged(BestMoves::Last), one("bm Nf3 e4; am f3 a4"));
        let same = merge(&record("bm e4 d4"), &record("bm d4 e4"), &MergeRules::default());
        assert_eq!(same, one("bm e4 d4"));
    }

    #[test]
    fn a_move_is_not_made_both_best_and_bad() {
        for rule in [BestMoves::Conflict, BestMoves::Union, BestMoves::First, BestMoves::Last] {
            let merged = merge(&record("bm e4"), &record("am e4"), &best_moves(rule));
            assert_eq!(merged, conflict(&["am", "bm"]));
        }
        let odd = record("am e4; bm e4");
        assert_eq!(merge(&odd, &odd, &MergeRules::default()), Merged::One(odd));
    }

    #[test]
    fn other_operations_that_differ_are_a_conflict() {
        let merged = |old, new| merge(&record(old), &record(new), &MergeRules::default());
        assert_eq!(merged("noop a; eco B", "noop b; Zz 1"), conflict(&["noop"]));
        assert_eq!(merged("Aa 1; rc 2", "Aa 01; rc 3"), conflict(&["Aa", "rc"]));
        assert_eq!(merged("noop a", "eco b"), one("noop a; eco b"));
    }

    #[test]
    fn counts_that_the_caller_names_add() {
        let rules =
            MergeRules { counts: vec![opcode("Games"), opcode("rc")], ..Default::default() };
        let merged = |old, new| merge(&record(old), &record(new), &rules);
        assert_eq!(merged("Games 3; rc 1", "Games 3; rc 2"), one("Games 6; rc 3"));
        assert_eq!(merged("Games 3", ""), one("Games 3"));
        assert_eq!(merged("Games 3", "Games many"), conflict(&["Games"]));
        assert_eq!(merged("Games 18446744073709551615", "Games 1"), conflict(&["Games"]));
    }

    #[test]
    fn counters_come_from_the_preferred_record_and_keep_their_form() {
        let later = MergeRules::default();
        let first = prefer(Prefer::First);
        let old = with_fields(3, 10);
        let new = record("hmvc 4; fmvn 12");
        assert_eq!(merge(&old, &new, &later), Merged::One(new.clone()));
        assert_eq!(merge(&old, &new, &first), Merged::One(old.clone()));
        assert_eq!(merge(&old, &record("noop"), &later), one("noop; hmvc 3; fmvn 10"));
        assert_eq!(merge(&old, &record(""), &later), Merged::One(old.clone()));
        assert_eq!(merge(&record("fmvn 2"), &record("hmvc 1"), &first), one("fmvn 2; hmvc 1"));
        // Counters are not mixed: fmvn differs, so hmvc of the record that lost is dropped too.
        assert_eq!(merge(&record("fmvn 2; hmvc 9"), &record("fmvn 3"), &later), one("fmvn 3"));
        assert_eq!(merge(&old, &with_fields(0, 1), &later), Merged::One(with_fields(0, 1)));
    }

    #[test]
    fn a_superfluous_en_passant_square_is_kept_and_letters_are_the_preferred_ones() {
        let e3 = Square::from_ascii(b"e3");
        let mut board = *Position::START.board();
        let pawn = board.piece_at(Square::at(4, 1));
        board.put(Square::at(4, 1), None);
        board.put(Square::at(4, 3), pawn);
        let castling = *Position::START.castling();
        let mut given = EpdRecord::new(Position::new(board, Color::Black, castling, e3).unwrap());
        let plain = EpdRecord::new(given.position().with_en_passant(None).unwrap());
        given.set_dialect(CastlingDialect::Shredder);
        let Merged::One(merged) = merge(&given, &plain, &MergeRules::default()) else {
            panic!("one position")
        };
        assert_eq!(merged.position(), given.position());
        assert_eq!(merged.dialect(), CastlingDialect::XFen);
        assert_eq!(merge(&given, &plain, &prefer(Prefer::First)), Merged::One(given));
    }

    #[test]
    fn records_of_two_positions_are_not_merged() {
        let mut board = Board::EMPTY;
        board.put(Square::at(0, 0), Piece::from_letter(b'K'));
        let other = Position::new(board, Color::White, Castling::NONE, None).unwrap();
        let merged = merge(&record(""), &EpdRecord::new(other), &MergeRules::default());
        assert_eq!(merged, conflict(&[]));
    }

    fn any_record() -> impl Strategy<Value = EpdRecord> {
        let names = [
            "acd", "acn", "ce", "pv", "Depth", "am", "bm", "fmvn", "hmvc", "id", "noop", "Aa", "zz",
        ];
        let operands = prop::collection::vec(0..3u8, 1..3);
        let operations =
            prop::collection::vec((prop::sample::select(names.to_vec()), operands), 0..8);
        (operations, prop::option::of(0..3u32)).prop_map(|(operations, clock)| {
            let mut all = record("");
            if let Some(clock) = clock {
                all = with_fields(clock, 1);
            }
            for (name, numbers) in operations {
                let words: Vec<_> = numbers.iter().map(u8::to_string).collect();
                let line = format!("{name} {}", words.join(" "));
                for operation in record(&line).operations() {
                    all.set(operation.clone());
                }
            }
            all
        })
    }

    fn any_rules() -> impl Strategy<Value = MergeRules> {
        let prefer = [Prefer::Later, Prefer::First, Prefer::Deepest, Prefer::Nodes];
        let moves = [BestMoves::Conflict, BestMoves::Union, BestMoves::First, BestMoves::Last];
        (prop::sample::select(prefer.to_vec()), prop::sample::select(moves.to_vec()))
            .prop_map(|(prefer, best_moves)| MergeRules { prefer, best_moves, counts: Vec::new() })
    }

    proptest! {
        #[test]
        fn a_record_merged_with_itself_stays(a in any_record(), rules in any_rules()) {
            prop_assert_eq!(merge(&a, &a, &rules), Merged::One(a));
        }

        #[test]
        fn nothing_vanishes_but_by_a_rule(
            old in any_record(), new in any_record(), rules in any_rules()
        ) {
            let Merged::One(merged) = merge(&old, &new, &rules) else { return Ok(()) };
            let units: [fn(Opcode) -> bool; 2] = [is_analysis, is_counter];
            let merged = merged.with_counter_operations();
            let old = old.with_counter_operations();
            let new = new.with_counter_operations();
            for record in [&old, &new] {
                for operation in record.operations() {
                    let found = merged.operands(operation.opcode);
                    if units.iter().any(|unit| unit(operation.opcode)) {
                        continue;
                    }
                    let found = found.expect("every opcode outside the units is there");
                    if is_move_set(operation.opcode) && rules.best_moves != BestMoves::Union {
                        prop_assert!([&old, &new].iter().any(
                            |it| it.operands(operation.opcode) == Some(found)));
                    } else {
                        prop_assert!(operation.operands.iter().all(|it| found.contains(it)));
                    }
                }
            }
            for operation in merged.operations() {
                let found = [&old, &new].map(|it| it.operands(operation.opcode));
                prop_assert!(!is_analysis(operation.opcode) || found.contains(&Some(&operation.operands)));
            }
            prop_assert_eq!(has(&merged, is_counter), has(&old, is_counter) || has(&new, is_counter));
            for operation in merged.operations() {
                prop_assert!([&old, &new].iter().any(|it| it.operands(operation.opcode).is_some()));
            }
        }
    }
}
