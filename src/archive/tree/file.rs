//! Reading and writing of position models.

use foldhash::{HashMap, HashSet};

use super::context::{CONTEXT_BITS, Context, ESCAPE};
use super::mirror::{LAST_RANK, VACATED, faced_column, facing};
use super::nodes::{NO_CONTEXT, NO_NODE, Node, Nodes};
use super::prediction::PredictionModes;
use super::spec::{MAX_DICTIONARY, MAX_LISTED, ModelSpec, NodeSpec, TreeSpec, ordered};
use super::spelling::Spelling;
use super::symbol_tables::SymbolTables;
use super::{Column, Entry, PositionModel};
use crate::adaptive::{
    BitCoder, BitDecoder, BitEncoder, BitModel, IntegerModel, SmallSymbolModel, decode_count,
    encode_count,
};
use crate::columns::{COLUMNS, RANKS, is_rank};
use crate::error::Refusal;

/// Maximum number of nodes of a column that a reader accepts.
const MAX_NODES: usize = 1 << 20;
/// Maximum number of contexts of a column.
const MAX_CONTEXTS: usize = 4;

impl ModelSpec {
    pub(crate) fn write(&self) -> Vec<u8> {
        let mut encoder = BitEncoder::new();
        ModelCodec::default().model(&mut encoder, self);
        encoder.finish()
    }
}

impl PositionModel {
    /// Reads a model. A model that needs more than about `memory_bytes` is refused.
    pub(crate) fn read(bytes: &[u8], memory_bytes: usize) -> Result<PositionModel, Refusal> {
        let mut codec = ModelCodec { limit: memory_bytes, ..ModelCodec::default() };
        let spec = codec.model(&mut BitDecoder::new(bytes), &ModelSpec::default());
        let is_allowed = codec.cost <= memory_bytes;
        let spec = spec.ok_or(if is_allowed { Refusal::Damaged } else { Refusal::Memory })?;
        Ok(PositionModel { cost: codec.cost, ..PositionModel::new(&spec) })
    }

    fn new(spec: &ModelSpec) -> PositionModel {
        let mut nodes: Vec<(u32, Node)> = Vec::new();
        let mut roots: Vec<usize> = Vec::new();
        let mut tables = SymbolTables::new();
        for column in &spec.columns {
            let first = nodes.len();
            for (nth, node) in column.nodes.iter().enumerate() {
                let parent = if nth == 0 { NO_NODE } else { first as u32 + node.parent };
                let context = if nth > 1 { node.context } else { NO_CONTEXT };
                nodes.push((context, Node { parent, symbols: tables.push(node) }));
            }
            roots.push(first + usize::from(column.nodes.len() > 1));
        }
        let (nodes, places) = Nodes::arrange(&nodes);
        let column = |(column, root): (&TreeSpec, usize)| Column {
            contexts: column.contexts.clone(),
            dictionary: column.dictionary.iter().map(|&value| Entry::new(value)).collect(),
            start: nodes.path(places[root]),
        };
        PositionModel {
            columns: spec.columns.iter().zip(roots).map(column).collect(),
            nodes,
            tables,
            mirrors: spec.mirrors,
            spelling: Spelling::new(&spec.spelled),
            modes: spec.modes.as_ref().map(PredictionModes::new),
            cost: 0,
        }
    }
}

/// Approximate memory of a node in bytes.
const NODE_COST: usize = 400;
/// Approximate memory of a symbol in the list of a node, in bytes.
const SYMBOL_COST: usize = 20;

/// The bit and integer models that code a position model.
struct ModelCodec {
    /// Approximate memory of the model so far, in bytes.
    cost: usize,
    limit: usize,
    flags: IntegerModel,
    class_lens: IntegerModel,
    /// Ranks 1 and 8, 2 and 7, and so on face each other. For each value in the dictionary of the facing
    /// rank, a flag says whether this dictionary has the value with the colours exchanged. The flag has
    /// one model for each class of frequency of the value.
    is_faced: Vec<BitModel>,
    /// If the flag is true: the models of the class of frequency of the value in this dictionary.
    faced_class: Vec<SmallSymbolModel<{ CLASSES as usize }>>,
    /// Model of the number of squares in the common prefix of two adjacent entries of a dictionary.
    shared: IntegerModel,
    /// Codes of squares, in the context of the previous square.
    squares: Vec<SmallSymbolModel<16>>,
    values: Vec<IntegerModel>,
}

/// Models for the nodes of one column and level.
#[derive(Clone, Default)]
struct NodeModels {
    len: IntegerModel,
    first_symbol: IntegerModel,
    symbol_gap: IntegerModel,
    count: IntegerModel,
    escapes: IntegerModel,
    children: IntegerModel,
    first_context: IntegerModel,
    context_gap: IntegerModel,
}

impl Default for ModelCodec {
    fn default() -> ModelCodec {
        ModelCodec {
            cost: 0,
            limit: usize::MAX,
            flags: IntegerModel::default(),
            class_lens: IntegerModel::default(),
            is_faced: vec![BitModel::default(); CLASSES as usize],
            faced_class: vec![SmallSymbolModel::default(); CLASSES as usize],
            shared: IntegerModel::default(),
            squares: vec![SmallSymbolModel::default(); 3 * 16],
            values: vec![IntegerModel::default(); COLUMNS],
        }
    }
}

const CLASSES: u32 = 32;

impl ModelCodec {
    /// Codes a model. A decoder gets an empty `spec` and returns the model that it reads.
    fn model(&mut self, coder: &mut impl BitCoder, spec: &ModelSpec) -> Option<ModelSpec> {
        let mirrors = self.flag(coder, spec.mirrors)?;
        let mut columns: Vec<TreeSpec> = Vec::with_capacity(COLUMNS);
        let none = TreeSpec::default();
        for column in 0..COLUMNS {
            let given = spec.columns.get(column).unwrap_or(&none);
            let contexts = self.contexts(coder, column, &given.contexts)?;
            let is_mirrored = mirrors && column == LAST_RANK;
            let faced = if is_mirrored { None } else { faced_column(column) };
            let faced = faced.and_then(|faced| columns.get(faced));
            let (dictionary, class_lens) = self.dictionary(coder, column, faced, given)?;
            // One level each for the whole dictionary, for symbols that are frequent anywhere, and
            // for each context.
            let levels = contexts.len() + 2;
            let mut tree = TreeCodec {
                codec: self,
                models: vec![NodeModels::default(); levels],
                symbols: dictionary.len(),
                contexts: &contexts,
                earlier: &columns,
                given: &given.nodes,
                children: children(&given.nodes),
                nodes: Vec::new(),
                listed: 0,
            };
            tree.node(coder, 0, 0, 0, 0)?;
            let nodes = tree.nodes;
            columns.push(TreeSpec { contexts, dictionary, class_lens, nodes });
        }
        let spelled = spec.spelled.code(coder);
        let has_modes = self.flag(coder, spec.modes.is_some())?;
        let mut modes = None;
        if has_modes {
            modes = Some(spec.modes.unwrap_or_default().map(|count| {
                decode_count(self.shared.code(coder, encode_count(count).into()) as u32)
            }));
        }
        if coder.is_exhausted() {
            return None;
        }
        Some(ModelSpec { mirrors, columns, spelled, modes })
    }

    /// Codes a flag; `None` for a number other than 0 and 1.
    fn flag(&mut self, coder: &mut impl BitCoder, given: bool) -> Option<bool> {
        match self.flags.code(coder, given.into()) {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    fn contexts(
        &mut self,
        coder: &mut impl BitCoder,
        column: usize,
        given: &[Context],
    ) -> Option<Vec<Context>> {
        let len = self.flags.code(coder, given.len() as u64) as usize;
        if len > MAX_CONTEXTS {
            return None;
        }
        let mut read = Vec::with_capacity(len);
        for place in 0..len {
            let number = given.get(place).map_or(0, |context| context.number().into());
            let number = u8::try_from(self.flags.code(coder, number)).ok()?;
            let context = Context::from_number(number)?;
            if let Context::Column(other) = context
                && usize::from(other) >= column
            {
                return None;
            }
            read.push(context);
        }
        Some(read)
    }

    /// Codes the number of values of each class of frequency, and the values class by class. In a
    /// class, the values ascend. `faced` is the tree of the rank on the other side of the board, if
    /// that rank is coded before this column.
    fn dictionary(
        &mut self,
        coder: &mut impl BitCoder,
        column: usize,
        faced: Option<&TreeSpec>,
        given: &TreeSpec,
    ) -> Option<(Vec<u32>, Vec<u32>)> {
        let faced = faced.map_or_else(Vec::new, |faced| self.faced(coder, faced, given));
        let mut values: Vec<u32> = Vec::with_capacity(given.dictionary.len());
        let mut class_lens = vec![0; CLASSES as usize];
        let mut rest = given.dictionary.as_slice();
        for class in (0..CLASSES).rev() {
            let mut in_class: Vec<u32> = faced
                .iter()
                .filter(|&&(_, of)| of == class)
                .map(|&(value, _)| ordered(column, value))
                .collect();
            let given_len = given.class_lens.get(class as usize).copied().unwrap_or(0);
            let given = rest.split_off(..given_len as usize).unwrap_or_default();
            let others = given.iter().map(|&value| ordered(column, value));
            let others: Vec<u32> = others.filter(|value| !in_class.contains(value)).collect();
            let len = self.class_lens.code(coder, others.len() as u64) as usize;
            let room = MAX_DICTIONARY - values.len();
            if len > room || in_class.len() > room - len || coder.is_exhausted() {
                return None;
            }
            let mut before = 0;
            for nth in 0..len {
                let given = others.get(nth).copied().unwrap_or(0);
                let value = if is_rank(column) {
                    self.rank(coder, column, given, before)
                } else if nth == 0 {
                    self.values[column].code(coder, given.into()) as u32
                } else {
                    let gap = given.wrapping_sub(before);
                    before.wrapping_add(self.values[column].code(coder, gap.into()) as u32)
                };
                in_class.push(value);
                before = value;
            }
            in_class.sort_unstable();
            class_lens[class as usize] = in_class.len() as u32;
            values.extend(in_class.into_iter().map(|value| ordered(column, value)));
        }
        let fits = |&value: &u32| {
            !is_rank(column) || (0..8).all(|file| value >> (4 * file) & 15 <= VACATED)
        };
        let mut seen = HashSet::default();
        let are_right = values.iter().all(|value| fits(value) && seen.insert(*value));
        are_right.then_some((values, class_lens))
    }

    /// Codes the values of the dictionary that face a value of `faced`, the rank on the other side
    /// of the board. A value faces another if it has the same pieces in the other colour. Returns
    /// these values with their classes.
    fn faced(
        &mut self,
        coder: &mut impl BitCoder,
        faced: &TreeSpec,
        given: &TreeSpec,
    ) -> Vec<(u32, u32)> {
        let own = given.dictionary.iter().copied().zip(classes(&given.class_lens));
        let own: HashMap<u32, u8> = own.collect();
        let mut found = Vec::new();
        for (&value, class) in faced.dictionary.iter().zip(classes(&faced.class_lens)) {
            let value = facing(value);
            let class = usize::from(class);
            let has = own.get(&value).copied();
            if coder.adaptive_bit(has.is_some(), &mut self.is_faced[class]) {
                let class = self.faced_class[class].code(coder, has.unwrap_or(0).into());
                found.push((value, class));
            }
        }
        found
    }

    /// Codes a rank, given the previous rank of the list. First comes the number of squares that
    /// both have in common, counted from the a-file; then come the other squares. In both numbers,
    /// the a-file has the highest bits.
    fn rank(&mut self, coder: &mut impl BitCoder, column: usize, rank: u32, before: u32) -> u32 {
        let common = (rank ^ before).leading_zeros() / 4;
        let common = self.shared.code(coder, common.into()).min(8) as u32;
        let row = match column {
            RANKS => 0,
            LAST_RANK => 1,
            _ => 2,
        };
        let mut read = (u64::from(before) >> (32 - 4 * common)) as u32;
        for place in (0..8 - common).rev() {
            let last = (read & 15) as usize;
            let square = self.squares[row * 16 + last].code(coder, rank >> (4 * place) & 15);
            read = read << 4 | square;
        }
        read
    }
}

/// Coder of the nodes of one column.
struct TreeCodec<'a> {
    codec: &'a mut ModelCodec,
    models: Vec<NodeModels>,
    /// Number of symbols of the column.
    symbols: usize,
    contexts: &'a [Context],
    earlier: &'a [TreeSpec],
    given: &'a [NodeSpec],
    children: Vec<Vec<usize>>,
    nodes: Vec<NodeSpec>,
    /// Number of symbols in the lists of all nodes.
    listed: usize,
}

/// Returns the class of each symbol, given the number of symbols of each class.
fn classes(lens: &[u32]) -> Vec<u8> {
    let of_class = |(class, &len)| std::iter::repeat_n(class as u8, len as usize);
    lens.iter().enumerate().rev().flat_map(of_class).collect()
}

fn children(nodes: &[NodeSpec]) -> Vec<Vec<usize>> {
    let mut children = vec![Vec::new(); nodes.len()];
    for (place, node) in nodes.iter().enumerate().skip(1) {
        children[node.parent as usize].push(place);
    }
    children
}

impl TreeCodec<'_> {
    /// Codes a node at a level, and all nodes below it. `source` is the index of the node among the
    /// given nodes. `context` is the value of the node's last context.
    fn node(
        &mut self,
        coder: &mut impl BitCoder,
        source: usize,
        parent: u32,
        level: usize,
        context: u32,
    ) -> Option<()> {
        let none = NodeSpec::default();
        let given = self.given;
        let node = given.get(source).unwrap_or(&none);
        let number = self.nodes.len();
        if number >= MAX_NODES || coder.is_exhausted() {
            return None;
        }
        self.take(NODE_COST)?;
        let list = self.list(coder, level, node)?;
        let models = &mut self.models[level];
        let escapes =
            decode_count(models.escapes.code(coder, encode_count(node.escapes).into()) as u32);
        self.nodes.push(NodeSpec { parent, context, list, escapes });

        let children = self.children.get_mut(source).map(std::mem::take).unwrap_or_default();
        let may_have = level == 0 || level <= self.contexts.len();
        let len = if may_have { models.children.code(coder, children.len() as u64) } else { 0 };
        if level == 0 && len > 1 || len > MAX_NODES as u64 {
            return None;
        }
        let mut before = None;
        for nth in 0..len as usize {
            let child = children.get(nth).copied().unwrap_or(usize::MAX);
            let mut context = given.get(child).map_or(0, |child| child.context);
            if level > 0 {
                context = self.context(coder, level, context, before)?;
            }
            before = Some(context);
            self.node(coder, child, number as u32, level + 1, context)?;
        }
        Some(())
    }

    /// Adds a cost; `None` if the model would exceed its limit.
    fn take(&mut self, cost: usize) -> Option<()> {
        self.codec.cost += cost;
        (self.codec.cost <= self.codec.limit).then_some(())
    }

    /// Codes the symbols of a node, in ascending order, with their counts.
    fn list(
        &mut self,
        coder: &mut impl BitCoder,
        level: usize,
        node: &NodeSpec,
    ) -> Option<Vec<(u16, u32)>> {
        let models = &mut self.models[level];
        let len = models.len.code(coder, node.list.len() as u64) as usize;
        if len > self.symbols || len > MAX_LISTED - self.listed {
            return None;
        }
        self.listed += len;
        self.take(len * SYMBOL_COST)?;
        let models = &mut self.models[level];
        let mut list: Vec<(u16, u32)> = Vec::with_capacity(len);
        let mut next = 0;
        for nth in 0..len {
            let (symbol, _) = node.list.get(nth).copied().unwrap_or_default();
            let gaps = if nth == 0 { &mut models.first_symbol } else { &mut models.symbol_gap };
            let gap = gaps.code(coder, u64::from(symbol).wrapping_sub(next));
            let symbol = next.checked_add(gap).filter(|&symbol| symbol < self.symbols as u64)?;
            list.push((symbol as u16, 0));
            next = symbol + 1;
        }
        for (nth, (_, count)) in list.iter_mut().enumerate() {
            let given = node.list.get(nth).map_or(0, |&(_, count)| count);
            *count = decode_count(models.count.code(coder, encode_count(given).into()) as u32);
        }
        Some(list)
    }

    /// Codes the value of the context of a child; the values of siblings ascend. An escape is coded
    /// as the number after the last symbol.
    fn context(
        &mut self,
        coder: &mut impl BitCoder,
        level: usize,
        context: u32,
        before: Option<u32>,
    ) -> Option<u32> {
        let limit = match self.contexts.get(level - 1)? {
            Context::Column(earlier) => {
                Some(self.earlier.get(usize::from(*earlier))?.dictionary.len() as u32)
            }
            _ => None,
        };
        let shown = |value: u32| match limit {
            Some(limit) if value == u32::from(ESCAPE) => limit,
            _ => value,
        };
        let next = before.map_or(0, |before| shown(before) + 1);
        let models = &mut self.models[level];
        let gaps =
            if before.is_some() { &mut models.context_gap } else { &mut models.first_context };
        let gap = gaps.code(coder, shown(context).wrapping_sub(next).into());
        let value = u32::try_from(gap).ok()?.checked_add(next)?;
        match limit {
            Some(limit) if value == limit => Some(ESCAPE.into()),
            Some(limit) if value > limit => None,
            None if value >> CONTEXT_BITS != 0 => None,
            _ => Some(value),
        }
    }
}
