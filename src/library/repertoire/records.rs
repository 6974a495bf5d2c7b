//! Reads repertoires from records, and writes them as records.

use super::games::BAD;
use super::graph::Evaluation;
use super::graph::{Branch, Node, Place, Repertoire};
use crate::tally_field::tally_of;
use epdb_chess::error::Result;
use epdb_chess::model::rules::{Move, Playable};
use epdb_chess::model::{Color, EpdRecord, Opcode, Operand, Operation};
use epdb_chess::text::{Profile, san};

/// `replies`: the moves of the other side that a repertoire has, the main one first.
const REPLIES: Opcode = named("replies");
/// `transposes`: moves that end a line, because another line continues from the position after the
/// move.
const TRANSPOSES: Opcode = named("transposes");
/// `nags`: the Numeric Annotation Glyphs of a position.
const NAGS: Opcode = named("nags");
/// `glyphs`: moves with the Numeric Annotation Glyphs that judge them, as in `Nf3$1 Qh5$4`. A bad move in
/// `am` has `$2` by default. If the other operations do not determine the order of the moves, `glyphs` lists
/// all moves in order.
const GLYPHS: Opcode = named("glyphs");
/// `remarks`: the comments of a position except the first, which is in `c0`. In comments, two
/// apostrophes stand for a quotation mark, because a string operand cannot contain one.
const REMARKS: Opcode = named("remarks");

/// `chapter`: the number of the chapter to which a record belongs. The record of a chapter's first
/// position has the tags of the chapter in `ptp`.
pub(super) const CHAPTER: Opcode = named("chapter");

const PROPERTIES: [Opcode; 3] = [Opcode::C0, Opcode::CE, NAGS];
/// Opcodes that have candidates (moves not marked as bad), in the order in which they are read:
/// `pm` has the main move.
const CANDIDATES: [Opcode; 4] = [Opcode::PM, Opcode::BM, REPLIES, Opcode::SM];

const fn named(name: &str) -> Opcode {
    match Opcode::new(name.as_bytes()) {
        Ok(opcode) => opcode,
        Err(_) => panic!("not an opcode"),
    }
}

impl Repertoire {
    /// Adds a record. Candidates are the moves in `pm`, `bm`, `replies` and `sm`, and the moves of
    /// the tally that were played in at least `min_games` games; `am` has moves marked as bad.
    /// `c0`, `remarks`, `ce` with `acd`, and `nags` are properties of the position; `glyphs` has
    /// the NAGs of its moves. If `ptp` has `SetUp`, a game begins from the position. A record that
    /// has nothing but a tally is ignored if no move of the tally was played often enough.
    ///
    /// # Errors
    /// The repertoire does not fit into memory.
    pub fn add_record(&mut self, record: &EpdRecord, min_games: u64) -> Result<()> {
        let (candidates, avoided, ends, ordered) = match Playable::new(record.position()) {
            Ok(playable) => (
                candidates(&playable, record, min_games),
                moves_of(&playable, record, Opcode::AM),
                moves_of(&playable, record, TRANSPOSES),
                order_of_glyphs(&playable, record),
            ),
            Err(_) => Default::default(),
        };
        let has_tally = record.operands(Opcode::TALLY).is_some();
        let is_silent = !PROPERTIES.iter().any(|&opcode| record.operands(opcode).is_some());
        if has_tally && is_silent && candidates.is_empty() && avoided.is_empty() {
            return Ok(());
        }
        let is_other = |operation: &&Operation| !is_read(operation.opcode);
        self.other_operations += record.operations().iter().filter(is_other).count() as u64;
        let node = self.add(record.position())?;
        self.add_properties(node, record)?;
        if record_tag(record, "SetUp").is_some_and(|value| value == b"1") {
            self.add_set_up(node);
        }
        let all: Vec<Move> = candidates.iter().chain(&avoided).copied().collect();
        let has_order = all.iter().all(|mv| ordered.contains(mv));
        let ordered = ordered.iter().filter(|mv| has_order && all.contains(mv));
        for mv in ordered.chain(&all) {
            let place = self.add_move(node, *mv)?;
            let branch = &mut self.places[node as usize].branches[place];
            branch.goes_on |= !ends.contains(mv);
            branch.is_avoided |= avoided.contains(mv);
        }
        self.add_glyphs(node, record);
        Ok(())
    }

    /// True if `pm`, `bm`, `replies` and `am` determine the order of the moves. The order can be lost,
    /// because the moves in `bm` and `am` are sorted.
    fn is_ordered(&self, place: &Place, side: Color) -> bool {
        let avoided = place.branches.iter().filter(|branch| branch.is_avoided).count();
        let candidates = place.branches.len() - avoided;
        place.branches.is_sorted_by_key(|branch| branch.is_avoided)
            && avoided <= 1
            && (place.position.turn() != side || candidates <= 2)
    }

    /// Adds the NAGs in `glyphs` to the moves of a position.
    fn add_glyphs(&mut self, node: Node, record: &EpdRecord) {
        let Ok(playable) = Playable::new(record.position()) else { return };
        for operand in record.operands(GLYPHS).unwrap_or_default() {
            let text = operand.text();
            let mv = move_of_glyphs(&playable, &text);
            let place = self.place(node).branches.iter().position(|it| Some(it.mv) == mv);
            let Some(place) = place else { continue };
            let nags = text.split(|byte| *byte == b'$').skip(1).filter_map(number);
            nags.for_each(|nag| self.add_move_nag(node, place, nag));
        }
    }

    fn add_properties(&mut self, node: Node, record: &EpdRecord) -> Result<()> {
        let others = record.operands(REMARKS).unwrap_or_default().iter().map(Operand::text);
        for comment in record.text_of(Opcode::C0).into_iter().chain(others) {
            self.add_comment(node, &unquoted(&comment))?;
        }
        let ce = record.integer(Opcode::CE).and_then(|ce| i32::try_from(ce).ok());
        if let Some(ce) = ce {
            let depth = record.text_of(Opcode::ACD).and_then(|text| number(&text));
            self.take_evaluation(node, Evaluation { ce, depth });
        }
        let nags = record.operands(NAGS).unwrap_or_default();
        for nag in nags.iter().filter_map(|nag| number(&nag.text())) {
            self.add_nag(node, nag);
        }
        Ok(())
    }

    /// The records of all positions, in order of insertion.
    pub fn records(&self, side: Color) -> impl Iterator<Item = EpdRecord> {
        self.nodes().map(move |node| self.record(node, side))
    }

    /// Number of operations in the added records that a repertoire cannot keep.
    pub const fn other_operations(&self) -> u64 {
        self.other_operations
    }

    pub(super) fn record(&self, node: Node, side: Color) -> EpdRecord {
        let place = self.place(node);
        let mut record = EpdRecord::new(place.position);
        let mut set = |opcode, operands: Vec<Operand>| {
            if !operands.is_empty() {
                record.set(Operation { opcode, operands });
            }
        };
        if let Ok(playable) = Playable::new(&place.position) {
            let operand = |branch: &Branch| Operand::Move {
                mv: branch.mv,
                san: san::format(&playable, branch.mv),
            };
            let candidates: Vec<Operand> = self.candidates(node).map(operand).collect();
            let avoided = place.branches.iter().filter(|branch| branch.is_avoided).map(operand);
            let ends = place.branches.iter().filter(|branch| self.is_transposition(branch));
            set(Opcode::AM, avoided.collect());
            set(TRANSPOSES, tokens(&ends.map(operand).collect::<Vec<_>>()));
            let is_ordered = self.is_ordered(place, side);
            let judged = place.branches.iter().filter(|it| !is_ordered || has_glyphs(it));
            set(GLYPHS, judged.map(|branch| glyphs(&playable, branch)).collect());
            if place.position.turn() == side {
                if let [first, _, ..] = &candidates[..] {
                    set(Opcode::PM, vec![first.clone()]);
                }
                set(Opcode::BM, candidates);
            } else {
                set(REPLIES, tokens(&candidates));
            }
        }
        set_properties(place, &mut set);
        if self.set_up.contains(&node) {
            set(Opcode::PTP, vec![Operand::token("SetUp"), Operand::string("1")]);
        }
        record
    }
}

/// Whether a repertoire keeps an operation.
fn is_read(opcode: Opcode) -> bool {
    let others =
        [Opcode::AM, TRANSPOSES, GLYPHS, REMARKS, Opcode::ACD, Opcode::TALLY, Opcode::PTP, CHAPTER];
    [&PROPERTIES[..], &CANDIDATES, &others].iter().any(|read| read.contains(&opcode))
}

/// Whether a move has NAGs that do not follow from the other operations.
fn has_glyphs(branch: &Branch) -> bool {
    !(branch.nags.is_empty() || branch.is_avoided && branch.nags == BAD[..1])
}

/// A move with the NAGs that judge it.
fn glyphs(playable: &Playable, branch: &Branch) -> Operand {
    let nags: Vec<String> = branch.nags.iter().map(|nag| format!("${nag}")).collect();
    Operand::token(format!("{}{}", san::format(playable, branch.mv), nags.concat()))
}

fn move_of_glyphs(playable: &Playable, text: &[u8]) -> Option<Move> {
    let san = text.split(|byte| *byte == b'$').next()?;
    Some(san::parse(playable, san, Profile::Lenient).ok()?.mv)
}

fn order_of_glyphs(playable: &Playable, record: &EpdRecord) -> Vec<Move> {
    let operands = record.operands(GLYPHS).unwrap_or_default();
    operands.iter().filter_map(|operand| move_of_glyphs(playable, &operand.text())).collect()
}

pub(super) fn quoted(comment: &str) -> Operand {
    Operand::string(comment.replace('"', "''"))
}

/// The comment of a string operand.
pub(super) fn unquoted(text: &[u8]) -> String {
    String::from_utf8_lossy(text).replace("''", "\"")
}

/// The value of a tag in `ptp`.
pub fn record_tag(record: &EpdRecord, name: &str) -> Option<Vec<u8>> {
    let (pairs, _) = record.operands(Opcode::PTP)?.as_chunks();
    let found = pairs.iter().find(|[tag, _]| tag.text() == name.as_bytes());
    found.map(|[_, value]| value.text())
}

fn set_properties(place: &Place, set: &mut impl FnMut(Opcode, Vec<Operand>)) {
    let mut comments = place.comments.iter().map(|comment| quoted(comment));
    set(Opcode::C0, comments.next().into_iter().collect());
    set(REMARKS, comments.collect());
    if let Some(Evaluation { ce, depth }) = place.evaluation {
        set(Opcode::CE, vec![Operand::Integer(ce.into())]);
        set(
            Opcode::ACD,
            depth.map(|depth| Operand::token(depth.to_string())).into_iter().collect(),
        );
    }
    set(NAGS, place.nags.iter().map(|nag| Operand::token(nag.to_string())).collect());
}

/// Moves as operands of a non-standard opcode.
fn tokens(moves: &[Operand]) -> Vec<Operand> {
    moves.iter().map(|mv| Operand::token(mv.text())).collect()
}

pub(super) fn number<T: std::str::FromStr>(text: &[u8]) -> Option<T> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

fn moves_of(playable: &Playable, record: &EpdRecord, opcode: Opcode) -> Vec<Move> {
    let operands = record.operands(opcode).unwrap_or_default();
    let legal = |operand: &Operand| match operand {
        Operand::Move { mv, .. } => Some(*mv),
        other => Some(san::parse(playable, &other.text(), Profile::Lenient).ok()?.mv),
    };
    operands.iter().filter_map(legal).collect()
}

fn candidates(playable: &Playable, record: &EpdRecord, min_games: u64) -> Vec<Move> {
    let named = CANDIDATES.iter().flat_map(|&opcode| moves_of(playable, record, opcode));
    named.chain(played(playable, record, min_games)).collect()
}

/// The moves of a tally, the most played move first.
fn played(playable: &Playable, record: &EpdRecord, min_games: u64) -> Vec<Move> {
    let Some(tally) = tally_of(record) else { return Vec::new() };
    let often = tally.moves.iter().filter(|one| one.counts.games() >= min_games);
    often
        .filter_map(|one| Some(san::parse(playable, one.san.as_bytes(), Profile::Lenient).ok()?.mv))
        .collect()
}
