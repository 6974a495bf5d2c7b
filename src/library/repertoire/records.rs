//! Repertoires from records, and as records.

use super::games::BAD;
use super::graph::Evaluation;
use super::graph::{Branch, Node, Place, Repertoire};
use crate::error::Result;
use crate::library::tally_field::tally_of;
use crate::model::rules::{Move, Playable};
use crate::model::{Color, EpdRecord, Opcode, Operand, Operation};
use crate::text::{Profile, san};

/// `replies`: the moves of the other side that a repertoire continues with, the main one first.
const REPLIES: Opcode = named("replies");
/// `transposes`: moves after which a line ends, because the position continues elsewhere.
const TRANSPOSES: Opcode = named("transposes");
/// `nags`: the Numeric Annotation Glyphs of a position.
const NAGS: Opcode = named("nags");

/// Opcodes of the other properties of a position.
const REMARKS: [Opcode; 3] = [Opcode::C0, Opcode::CE, NAGS];
/// Opcodes of candidates, the main ones first.
const CANDIDATES: [Opcode; 4] = [Opcode::PM, Opcode::BM, REPLIES, Opcode::SM];

const fn named(name: &str) -> Opcode {
    match Opcode::new(name.as_bytes()) {
        Ok(opcode) => opcode,
        Err(_) => panic!("not an opcode"),
    }
}

impl Repertoire {
    /// Adds a record. Candidates are `pm`, `bm`, `replies`, `sm` and the moves of its tally with at
    /// least `min_games` games; `am` has moves marked as bad. `c0`, `ce` with `acd`, and `nags` are
    /// properties of the position. A record whose tally has no such move is ignored if it has
    /// nothing else.
    ///
    /// # Errors
    /// The repertoire does not fit into memory.
    pub fn add_record(&mut self, record: &EpdRecord, min_games: u64) -> Result<()> {
        let (candidates, avoided, ends) = match Playable::new(record.position()) {
            Ok(playable) => (
                candidates(&playable, record, min_games),
                moves_of(&playable, record, Opcode::AM),
                moves_of(&playable, record, TRANSPOSES),
            ),
            Err(_) => Default::default(),
        };
        let has_tally = record.operands(Opcode::TALLY).is_some();
        let is_silent = !REMARKS.iter().any(|&opcode| record.operands(opcode).is_some());
        if has_tally && is_silent && candidates.is_empty() && avoided.is_empty() {
            return Ok(());
        }
        let is_other = |operation: &&Operation| !is_read(operation.opcode);
        self.other_operations += record.operations().iter().filter(is_other).count() as u64;
        let node = self.add(record.position())?;
        self.add_remarks(node, record)?;
        for mv in candidates.iter().chain(&avoided) {
            let place = self.add_move(node, *mv)?;
            let branch = &mut self.places[node as usize].branches[place];
            branch.goes_on |= !ends.contains(mv);
            branch.is_avoided |= avoided.contains(mv);
        }
        Ok(())
    }

    fn add_remarks(&mut self, node: Node, record: &EpdRecord) -> Result<()> {
        if let Some(comment) = record.text_of(Opcode::C0) {
            self.add_comment(node, &String::from_utf8_lossy(&comment))?;
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

    /// The records of all positions, in order of insertion. Judgements of moves are not included,
    /// except marks of bad own moves ([`Repertoire::judged_moves`]).
    pub fn records(&self, side: Color) -> impl Iterator<Item = EpdRecord> {
        self.nodes().map(move |node| self.record(node, side))
    }

    /// Number of operations of added records that are left out.
    pub const fn other_operations(&self) -> u64 {
        self.other_operations
    }

    /// Number of NAGs of moves, which records cannot express.
    pub fn judged_moves(&self) -> usize {
        let is_told = |branch: &Branch, nag: &u8| branch.is_avoided && BAD.contains(nag);
        let left_out =
            |branch: &Branch| branch.nags.iter().filter(|nag| !is_told(branch, nag)).count();
        self.places.iter().flat_map(|place| &place.branches).map(left_out).sum()
    }

    fn record(&self, node: Node, side: Color) -> EpdRecord {
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
            if place.position.turn() == side {
                if let [first, _, ..] = &candidates[..] {
                    set(Opcode::PM, vec![first.clone()]);
                }
                set(Opcode::BM, candidates);
            } else {
                set(REPLIES, tokens(&candidates));
            }
        }
        set_remarks(place, &mut set);
        record
    }
}

/// Whether a repertoire keeps an operation.
fn is_read(opcode: Opcode) -> bool {
    let others = [Opcode::AM, TRANSPOSES, Opcode::ACD, Opcode::TALLY];
    [&REMARKS[..], &CANDIDATES, &others].iter().any(|read| read.contains(&opcode))
}

fn set_remarks(place: &Place, set: &mut impl FnMut(Opcode, Vec<Operand>)) {
    if !place.comments.is_empty() {
        set(Opcode::C0, vec![Operand::string(place.comments.join(" / ").replace('"', "'"))]);
    }
    if let Some(Evaluation { ce, depth }) = place.evaluation {
        set(Opcode::CE, vec![Operand::Integer(ce.into())]);
        set(
            Opcode::ACD,
            depth.map(|depth| Operand::token(depth.to_string())).into_iter().collect(),
        );
    }
    set(NAGS, place.nags.iter().map(|nag| Operand::token(nag.to_string())).collect());
}

/// The operands of a non-standard opcode.
fn tokens(moves: &[Operand]) -> Vec<Operand> {
    moves.iter().map(|mv| Operand::token(mv.text())).collect()
}

fn number<T: std::str::FromStr>(text: &[u8]) -> Option<T> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// The legal moves in the operands of an opcode.
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
