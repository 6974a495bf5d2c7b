//! Coding the operations of records, one record after the other.

use std::sync::Arc;

use super::cost::{Cost, cost_of_tally};
use super::field::{FieldModel, Kind};
use super::lazy_text::{LazyText, PositionOf, PreviousOperands, Root, SkippedRecord};
use super::lists::{self, ListModel, RecordLists, TextKind};
use super::opcodes::{NUMBERED, OpcodeModel};
use super::tallies::{self, Relation, TallyModel};
use super::text::TextModel;
use super::text_kinds::TextKinds;
use crate::adaptive::{BitCoder, BitModel, BitModels};
use crate::error::Refusal;
use crate::move_links::MoveLinks;
use epdb_chess::codec::ordinal;
use epdb_chess::model::rules::{Move, Playable};
use epdb_chess::model::{Opcode, Operand, Operands, Operation, San, StandardOpcode, Tally};
use epdb_chess::text::epd::parse_tally;
use epdb_chess::text::san;

/// Number of the opcode `tally`.
pub(super) const TALLY: usize = 50;

/// Maximum number of operands that a decoder accepts: more do not fit into a record.
const MAX_OPERANDS: usize = epdb_chess::codec::record::MAX_LEN;

/// The models of the operations of a block, and its state so far.
pub(super) struct OperationModel {
    pub(super) state: OperationState,
    /// Models of lists, made for the first list.
    lists: Option<ListModel>,
    /// Model of texts, made for the first text.
    text: Option<TextModel>,
    /// Cost of the records so far.
    cost: Cost,
    /// Set if a decoder meets an operand or a text of an unknown kind, which ends the decoding.
    pub(super) unknown: Option<Refusal>,
}

/// The part of an [`OperationModel`] that the initial model of a segment sets.
#[derive(Clone)]
pub(super) struct OperationState {
    pub(super) opcodes: OpcodeModel,
    /// Model of each opcode, made at its first occurrence.
    pub(super) fields: Vec<Option<Box<FieldModel>>>,
}

/// A record to code.
pub(crate) struct Subject<'a> {
    /// Place of the record in the block.
    pub place: usize,
    pub(crate) position: PositionOf,
    /// Empty for a decoder.
    pub operations: &'a [Operation],
}

/// A record that is being coded.
struct CodedRecord {
    /// Place of the record in the block.
    place: usize,
    /// True if a move leads from the previous record's position to the position of this one.
    follows: bool,
    root: Root,
    /// Kinds of the texts of the record, if the coder is an encoder.
    text_kinds: TextKinds,
    lists: RecordLists,
    /// Places and kinds of the texts that are derived from the lists. They are made after
    /// everything else is decoded.
    derived: Vec<(Place, TextKind)>,
    /// True if a decoder skips the record: its texts are made only if a later record needs them.
    is_passed: bool,
    /// Lazy texts so far, except derived ones.
    lazy: Vec<((usize, usize), LazyText)>,
    /// Number of the opcode that has a tally as operand; `None` if there is none.
    tally: Option<usize>,
}

/// Place of an operand. It has the index of the operation in the record, the number of the opcode,
/// and the index of the operand in the operation.
#[derive(Copy, Clone)]
struct Place {
    operation: usize,
    field: usize,
    operand: usize,
}

impl OperationModel {
    /// Makes a model for a block. `cost` is the maximum cost of decoding its records.
    pub(super) fn new(state: OperationState, cost: usize) -> OperationModel {
        OperationModel { state, lists: None, text: None, cost: Cost::up_to(cost), unknown: None }
    }

    /// Cost of the records so far.
    pub(super) const fn cost(&self) -> usize {
        self.cost.spent()
    }

    pub(super) fn record(
        &mut self,
        coder: &mut impl BitCoder,
        links: &mut MoveLinks,
        subject: &Subject,
    ) -> Option<Vec<Operation>> {
        let is_passed = false;
        let mut record = self.begin(links, subject.place, subject.position, is_passed);
        let mut operations = self.operations(coder, links, &mut record, subject.operations)?;
        record.put_derived(&mut operations, &mut self.cost)?;
        for operation in &mut operations {
            let field = self.state.opcodes.field(operation.opcode)?;
            if record.tally == Some(field) {
                self.state.field(field).before.set(&[]);
            } else {
                self.state.field(field).before.set(&operation.operands);
                parse_tally_operand(record.root.get(), operation);
            }
        }
        Some(operations)
    }

    /// Decodes a skipped record, but only the parts that later records need.
    pub(super) fn pass(
        &mut self,
        decoder: &mut impl BitCoder,
        links: &mut MoveLinks,
        place: usize,
        position: PositionOf,
    ) -> Option<()> {
        let is_passed = true;
        let mut record = self.begin(links, place, position, is_passed);
        let operations = self.operations(decoder, links, &mut record, &[])?;
        for (place, text_kind) in std::mem::take(&mut record.derived) {
            if record.root.get().is_none() || !record.lists.have(text_kind) {
                return None;
            }
            record.lazy.push(((place.field, place.operand), LazyText::Derived(text_kind)));
        }
        let passed = Arc::new(SkippedRecord { position, lists: record.lists, texts: record.lazy });
        for operation in operations {
            let field = self.state.opcodes.field(operation.opcode)?;
            let texts = if record.tally == Some(field) { Vec::new() } else { operation.operands };
            let before = PreviousOperands::pass(texts, field, is_line(field), &passed);
            self.state.field(field).before = before;
        }
        Some(())
    }

    /// Begins a record. Only its place and its position are known.
    fn begin(
        &self,
        links: &mut MoveLinks,
        place: usize,
        position: PositionOf,
        is_passed: bool,
    ) -> CodedRecord {
        CodedRecord {
            place,
            follows: links.follows(place),
            root: Root::new(position),
            text_kinds: TextKinds::default(),
            lists: RecordLists::default(),
            derived: Vec::new(),
            is_passed,
            lazy: Vec::new(),
            tally: None,
        }
    }

    /// Codes the operations of a record. Texts that are derived from its lists are still empty.
    fn operations(
        &mut self,
        coder: &mut impl BitCoder,
        links: &mut MoveLinks,
        record: &mut CodedRecord,
        given: &[Operation],
    ) -> Option<Vec<Operation>> {
        let shape = self.state.opcodes.shape(coder, given)?;
        let is_text = |it: &Operand| matches!(it, Operand::Str(_) | Operand::Token(_));
        if given.iter().flat_map(|it| &it.operands).any(is_text) {
            let field = |opcode| self.state.known_field(opcode);
            record.text_kinds = TextKinds::choose(record.root.get(), given, field);
        }
        let mut operations = Vec::with_capacity(shape.len());
        for (nth, &opcode) in shape.iter().enumerate() {
            let given = given.get(nth).map_or(&[][..], |operation| &operation.operands);
            let field = self.state.opcodes.field(opcode)?;
            let operands = self.operands(coder, links, record, nth, field, given)?;
            self.cost.operation()?;
            operations.push(Operation { opcode, operands });
        }
        Some(operations)
    }

    fn operands(
        &mut self,
        coder: &mut impl BitCoder,
        links: &mut MoveLinks,
        record: &mut CodedRecord,
        operation: usize,
        field: usize,
        given: &[Operand],
    ) -> Option<Vec<Operand>> {
        let is_line = is_line(field);
        // The position after the moves of a line so far.
        let mut now = None;
        // Tallies come out of the codec of records, so their moves are legal. A tally without
        // moves may also be at a position that is not playable.
        let tally = match given {
            [Operand::Tally(tally)] if field == TALLY => Some(&**tally),
            _ => None,
        };
        let tally = tally.filter(|it| it.has_moves() || record.root.get().is_some());
        // Place of the row whose next move is predicted; `None` if no move is predicted.
        let mut row = Some(record.place);
        let mut read: Vec<Operand> = Vec::new();
        loop {
            let place = Place { operation, field, operand: read.len() };
            let given = given.get(read.len());
            let kind = if tally.is_some() && read.is_empty() {
                Kind::Tally
            } else {
                Kind::from_operand(given)
            };
            let kind = self.state.field(field).kind(coder, read.len(), kind);
            let kind = kind.map_err(|refusal| self.unknown = Some(refusal)).ok()?;
            if record.tally == Some(field) && kind != Kind::End {
                return None;
            }
            let operand = match kind {
                Kind::End => return Some(read),
                Kind::Tally if field == TALLY && read.is_empty() => {
                    record.tally = Some(field);
                    self.tally(coder, links, record, tally)?
                }
                Kind::Tally => return None,
                Kind::Move => {
                    let now = || now.as_ref().or_else(|| record.root.get());
                    let next = row.and_then(|row| links.next_move(row));
                    // `next` is a move of the row's position. After other moves the position may be
                    // another.
                    let is_legal = |&next: &Move| {
                        row == Some(record.place) || now().is_some_and(|now| now.is_legal(next))
                    };
                    let next = next.filter(is_legal);
                    let model = self.state.field(field);
                    let (mv, is_next) = code_move(coder, now, next, model, read.len(), given)?;
                    row = match row {
                        // A line is predicted as long as it follows the rows.
                        Some(row) if is_line && is_next => Some(row + 1),
                        // A set is predicted until it has the move to the next row.
                        Some(row) if !is_line && !is_next => Some(row),
                        _ => None,
                    };
                    let san = if record.is_passed { San::NONE } else { san::format(now()?, mv) };
                    Operand::Move { mv, san }
                }
                Kind::Integer => self.state.field(field).integer(coder, record.follows, given)?,
                Kind::Str => Operand::string(self.text(coder, record, place, given)?),
                Kind::Token => Operand::token(self.text(coder, record, place, given)?),
            };
            if let Operand::Move { mv, .. } = &operand
                && is_line
            {
                now = Some(now.as_ref().or_else(|| record.root.get())?.after(*mv));
            }
            self.cost.operand(&operand)?;
            read.push(operand);
            if read.len() > MAX_OPERANDS || coder.is_exhausted() {
                return None;
            }
        }
    }

    /// Codes a tally. Returns an empty operand for a skipped record. An encoder also gets an empty
    /// operand, because it already has the tally.
    fn tally(
        &mut self,
        coder: &mut impl BitCoder,
        links: &mut MoveLinks,
        record: &CodedRecord,
        given: Option<&Tally>,
    ) -> Option<Operand> {
        let place = record.place;
        let relation = Relation {
            from_last: place.checked_sub(1).and_then(|last| links.next_move(last)),
            to_next: links.next_move(place),
        };
        let max_cost = self.cost.left();
        let model = &mut self.state.field(TALLY).tallies;
        let model = model.get_or_insert_with(|| Box::new(TallyModel::new()));
        let given_parts = given.map(Tally::parts);
        let tally = model.code(coder, &record.root, relation, given_parts, max_cost)?;
        if record.is_passed || given.is_some() {
            self.cost.bytes(cost_of_tally(tally))?;
            return Some(Operand::string([]));
        }
        tallies::operand(record.root.get()?, tally)
    }

    /// Codes a text. The result is empty if the text is made later. Such a text is derived from the
    /// lists of the record, or is made only when it is needed.
    fn text(
        &mut self,
        coder: &mut impl BitCoder,
        record: &mut CodedRecord,
        place: Place,
        given: Option<&Operand>,
    ) -> Option<Vec<u8>> {
        let given = given.map(Operand::text).unwrap_or_default();
        let field = self.state.fields.get_mut(place.field)?.as_mut()?;
        let text_kind = record.text_kinds.text_kind(place.operation, place.operand);
        let text_kind = field.text_kind(coder, record.follows, place.operand, text_kind);
        let text_kind = text_kind.map_err(|refusal| self.unknown = Some(refusal)).ok()?;
        let before = || field.text_before(place.operand).unwrap_or_default();
        match text_kind {
            TextKind::Same => Some(before()),
            TextKind::Successor => lists::successor(&before()),
            TextKind::Plain => {
                let model = self.text.get_or_insert_with(TextModel::pretrained);
                model.code(coder, place.field as u32 + 1, &before(), &given)
            }
            TextKind::Moves => {
                let root = record.root.get()?;
                let model = self.lists.get_or_insert_default();
                model.moves(coder, root, &given, &mut record.lists)?;
                if !record.is_passed {
                    return Some(record.lists.text_of_moves(root));
                }
                let moves = record.lists.moves.to_vec();
                self.cost.list(moves.len())?;
                record.lazy.push(((place.field, place.operand), LazyText::Moves(moves)));
                Some(Vec::new())
            }
            TextKind::Numbers => {
                let model = self.lists.get_or_insert_default();
                model.numbers(coder, &given, &mut record.lists)
            }
            TextKind::Coordinates | TextKind::Pairs => {
                record.derived.push((place, text_kind));
                Some(Vec::new())
            }
        }
    }
}

impl OperationState {
    pub(super) fn new() -> OperationState {
        OperationState { opcodes: OpcodeModel::new(), fields: Vec::new() }
    }

    /// Forgets the records, and all opcodes except the first `opcodes`. The adapted models are
    /// kept. `shapes` become the lists of opcodes.
    pub(super) fn restart(&mut self, shapes: &[Arc<[Opcode]>], opcodes: usize) {
        self.opcodes.start_with(shapes, opcodes);
        self.fields.truncate(opcodes);
        self.fields.iter_mut().flatten().for_each(|field| field.restart());
    }

    /// Model of the opcode with this number. It is made if it does not exist.
    pub(super) fn field(&mut self, number: usize) -> &mut FieldModel {
        if self.fields.len() <= number {
            self.fields.resize_with(number + 1, || None);
        }
        self.fields[number].get_or_insert_with(|| Box::new(FieldModel::new()))
    }

    /// Model of an opcode, if it occurred.
    fn known_field(&self, opcode: Opcode) -> Option<&FieldModel> {
        self.fields.get(self.opcodes.field(opcode)?)?.as_deref()
    }
}

impl BitModels for OperationState {
    fn each_model(&mut self, visit: &mut impl FnMut(&mut BitModel)) {
        self.opcodes.each_model(visit);
        self.fields.iter_mut().flatten().for_each(|field| field.each_model(visit));
    }
}

/// Turns a string into a tally, if it is a tally that was coded as text.
fn parse_tally_operand(root: Option<&Playable>, operation: &mut Operation) {
    let is_tally = || operation.opcode.standard().is_some_and(|it| it.operands == Operands::Tally);
    if let [Operand::Str(text)] = &operation.operands[..]
        && is_tally()
        && let Ok(tally) = parse_tally(root, text)
    {
        operation.operands = vec![Operand::tally(tally)];
    }
}

impl CodedRecord {
    /// Inserts the texts that are derived from the lists.
    fn put_derived(&self, operations: &mut [Operation], cost: &mut Cost) -> Option<()> {
        for &(place, text_kind) in &self.derived {
            let text = self.lists.derived(self.root.get()?, text_kind)?;
            cost.text(&text)?;
            match &mut operations[place.operation].operands[place.operand] {
                Operand::Str(bytes) | Operand::Token(bytes) => *bytes = text.into_boxed_slice(),
                _ => return None,
            }
        }
        Some(())
    }
}

/// Codes a legal move, the operand of an opcode at a place. `next` is the move that leads to the
/// next row. Returns the move, and a flag that is true if the move is `next`.
fn code_move<'n>(
    coder: &mut impl BitCoder,
    now: impl Fn() -> Option<&'n Playable>,
    next: Option<Move>,
    field: &mut FieldModel,
    place: usize,
    given: Option<&Operand>,
) -> Option<(Move, bool)> {
    let given = match given {
        Some(Operand::Move { mv, .. }) => Some(*mv),
        _ => None,
    };
    let is_next = next.is_some() && field.is_next(coder, place, given == next);
    let mv = match next {
        Some(next) if is_next => next,
        _ => {
            let now = now()?;
            let ordinal = given.map_or(Some(0), |mv| ordinal::ordinal(now, mv))?;
            ordinal::pick(now, |count| Some(coder.uniform(ordinal.into(), count.into())? as u16))?
        }
    };
    Some((mv, is_next))
}

/// True if the operands of the opcode with this number are a line of moves.
fn is_line(field: usize) -> bool {
    let number = u8::try_from(field).ok().filter(|&number| number < NUMBERED);
    let standard = number.and_then(StandardOpcode::with_number);
    standard.is_some_and(|entry| entry.operands == Operands::MoveLine)
}
