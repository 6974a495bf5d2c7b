//! Models as bytes.

use super::super::adaptive::{Chance, Coder, Numbers, Reader, Symbols, Writer};
use super::super::error::Refusal;
use super::super::row::{COLUMNS, RANKS, is_rank};
use super::context::{CONTEXT_BITS, Context, ESCAPE};
use super::grown::{Grown, GrownColumn, GrownNode, MAX_DICTIONARY, MAX_LISTED, ordered};
use super::nodes::{NO_CONTEXT, NO_NODE, Node, Nodes};
use super::shares::Shares;
use super::short::{of_short, short};
use super::spelling::Spelling;
use super::ways::Ways;
use super::{Column, LAST_RANK, Model, VACATED};
use std::cmp::Reverse;

/// The most nodes of a column that a reader takes.
const MAX_NODES: usize = 1 << 20;
/// The most contexts of a column.
const MAX_CONTEXTS: usize = 4;

impl Grown {
    /// The bytes of the model, and the model as a reader of them has it.
    pub(in crate::archive) fn write(mut self) -> (Vec<u8>, Model) {
        self.columns.iter_mut().for_each(GrownColumn::settle);
        self.spelled.settle();
        let mut writer = Writer::new();
        let written = Codec::default().model(&mut writer, &self).unwrap_or_default();
        (writer.finish(), Model::new(&written))
    }
}

impl Model {
    /// Reads a model, in about `memory` bytes.
    pub(in crate::archive) fn read(bytes: &[u8], memory: usize) -> Result<Model, Refusal> {
        let mut codec = Codec { limit: memory, ..Codec::default() };
        let grown = codec.model(&mut Reader::new(bytes), &Grown::default());
        let is_allowed = codec.cost <= memory;
        let grown = grown.ok_or(if is_allowed { Refusal::Damaged } else { Refusal::Memory })?;
        Ok(Model { cost: codec.cost, ..Model::new(&grown) })
    }

    fn new(grown: &Grown) -> Model {
        let (mut nodes, mut roots): (Vec<Node>, Vec<usize>) = (Vec::new(), Vec::new());
        let mut shares = Shares::new();
        for column in &grown.columns {
            let first = nodes.len();
            for (nth, node) in column.nodes.iter().enumerate() {
                let parent = if nth == 0 { NO_NODE } else { first as u32 + node.parent };
                let context = if nth > 1 { node.context } else { NO_CONTEXT };
                nodes.push(shares.push(node, parent, context));
            }
            roots.push(first + usize::from(column.nodes.len() > 1));
        }
        let (nodes, places) = Nodes::arrange(&nodes);
        let column = |(column, root): (&GrownColumn, usize)| Column {
            contexts: column.contexts.clone(),
            dictionary: column.dictionary.clone(),
            root: places[root],
        };
        Model {
            columns: grown.columns.iter().zip(roots).map(column).collect(),
            nodes,
            shares,
            mirrors: grown.mirrors,
            spelling: Spelling::new(&grown.spelled),
            ways: grown.ways.as_ref().map(Ways::new),
            cost: 0,
        }
    }
}

/// What a node and a symbol of a list take, about, in bytes.
const NODE_COST: usize = 400;
const SYMBOL_COST: usize = 20;

/// What is learnt while a model is coded.
struct Codec {
    /// What the model so far takes, and may take at the most.
    cost: usize,
    limit: usize,
    flags: Numbers,
    class_lens: Numbers,
    /// Length of the common beginning of neighbours in a dictionary.
    shared: Numbers,
    /// Codes of squares by the two before.
    squares: Vec<Symbols>,
    values: Vec<Numbers>,
    nodes: Vec<NodeCodec>,
}

/// For one column and depth.
#[derive(Default)]
struct NodeCodec {
    len: Numbers,
    hinted: Vec<Chance>,
    first_symbol: Numbers,
    symbol_gap: Numbers,
    count: [Numbers; 5],
    escapes: Numbers,
    children: Numbers,
    first_context: Numbers,
    context_gap: Numbers,
}

impl NodeCodec {
    fn new() -> NodeCodec {
        NodeCodec { hinted: vec![Chance::default(); 64], ..NodeCodec::default() }
    }
}

impl Default for Codec {
    fn default() -> Codec {
        Codec {
            cost: 0,
            limit: usize::MAX,
            flags: Numbers::default(),
            class_lens: Numbers::default(),
            shared: Numbers::default(),
            squares: vec![Symbols::new(4); 3 * 256],
            values: vec![Numbers::default(); COLUMNS],
            nodes: (0..COLUMNS * DEPTHS).map(|_| NodeCodec::new()).collect(),
        }
    }
}

/// Levels of nodes: the whole dictionary, what is frequent anywhere, and under each context.
const DEPTHS: usize = MAX_CONTEXTS + 2;
/// Classes of frequency.
const CLASSES: u32 = 32;

impl Codec {
    /// Passes a model through a coder. A reader is given an empty one.
    fn model(&mut self, coder: &mut impl Coder, grown: &Grown) -> Option<Grown> {
        let mirrors = self.flags.code(coder, grown.mirrors.into()) != 0;
        let mut columns: Vec<GrownColumn> = Vec::with_capacity(COLUMNS);
        let none = GrownColumn::default();
        for column in 0..COLUMNS {
            let given = grown.columns.get(column).unwrap_or(&none);
            let contexts = self.contexts(coder, column, &given.contexts)?;
            let dictionary = self.dictionary(coder, column, given)?;
            let sizes: Vec<usize> = columns.iter().map(|column| column.dictionary.len()).collect();
            let mut tree = Tree {
                codec: self,
                column,
                symbols: dictionary.len(),
                contexts: &contexts,
                sizes: &sizes,
                given: &given.nodes,
                children: children(&given.nodes),
                nodes: Vec::new(),
                listed: 0,
                hints: vec![Hint::default(); DEPTHS],
            };
            tree.node(coder, 0, 0, 0, 0)?;
            let nodes = tree.nodes;
            columns.push(GrownColumn { contexts, dictionary, class_lens: Vec::new(), nodes });
        }
        let spelled = grown.spelled.code(coder);
        let has_ways = self.flags.code(coder, grown.ways.is_some().into()) != 0;
        let ways = has_ways.then(|| {
            grown
                .ways
                .unwrap_or_default()
                .map(|count| of_short(self.shared.code(coder, short(count).into()) as u32))
        });
        Some(Grown { mirrors, columns, spelled, ways })
    }

    fn contexts(
        &mut self,
        coder: &mut impl Coder,
        column: usize,
        given: &[Context],
    ) -> Option<Vec<Context>> {
        let len = self.flags.code(coder, given.len() as u64) as usize;
        let number = |place: usize| given.get(place).map_or(0, |context| context.number().into());
        (0..Some(len).filter(|&len| len <= MAX_CONTEXTS)?)
            .map(|place| {
                let number = u8::try_from(self.flags.code(coder, number(place))).ok()?;
                Context::of_number(number).filter(|context| match context {
                    Context::Column(earlier) => usize::from(*earlier) < column,
                    _ => true,
                })
            })
            .collect()
    }

    /// The values class by class, in each class ascending.
    fn dictionary(
        &mut self,
        coder: &mut impl Coder,
        column: usize,
        given: &GrownColumn,
    ) -> Option<Vec<u32>> {
        let mut values: Vec<u32> = Vec::with_capacity(given.dictionary.len());
        let mut rest = given.dictionary.as_slice();
        for class in (0..CLASSES).rev() {
            let in_class = given.class_lens.get(class as usize).copied().unwrap_or(0);
            let len = self.class_lens.code(coder, in_class.into()) as usize;
            if len > MAX_DICTIONARY - values.len() || coder.is_exhausted() {
                return None;
            }
            let mut before = 0;
            for nth in 0..len {
                let given = rest.split_off_first().map_or(0, |&value| ordered(column, value));
                let value = match is_rank(column) {
                    true => self.rank(coder, column, given, before),
                    false if nth == 0 => self.values[column].code(coder, given.into()) as u32,
                    false => {
                        let gap = given.wrapping_sub(before);
                        before.wrapping_add(self.values[column].code(coder, gap.into()) as u32)
                    }
                };
                values.push(ordered(column, value));
                before = value;
            }
        }
        let fits = |&value: &u32| {
            !is_rank(column) || (0..8).all(|file| value >> (4 * file) & 15 <= VACATED)
        };
        values.iter().all(fits).then_some(values)
    }

    /// A rank, a-file highest, by what it has in common with the one before.
    fn rank(&mut self, coder: &mut impl Coder, column: usize, rank: u32, before: u32) -> u32 {
        let common = (rank ^ before).leading_zeros() / 4;
        let common = self.shared.code(coder, common.into()).min(8) as u32;
        let row = match column {
            RANKS => 0,
            LAST_RANK => 1,
            _ => 2,
        };
        let mut read = (u64::from(before) >> (32 - 4 * common)) as u32;
        for place in (0..8 - common).rev() {
            let two = (read & 0xff) as usize;
            let square = self.squares[row * 256 + two].code(coder, rank >> (4 * place) & 15);
            read = read << 4 | square;
        }
        read
    }
}

/// The nodes of one column.
struct Tree<'a> {
    codec: &'a mut Codec,
    column: usize,
    symbols: usize,
    contexts: &'a [Context],
    /// The dictionary sizes of the earlier columns.
    sizes: &'a [usize],
    given: &'a [GrownNode],
    children: Vec<Vec<usize>>,
    nodes: Vec<GrownNode>,
    /// Symbols in the lists of all nodes.
    listed: usize,
    /// By level of the node that is being coded: what its list and those of its children so far
    /// have in common.
    hints: Vec<Hint>,
}

/// Which symbols the lists under a node have had so far.
#[derive(Clone, Default)]
struct Hint {
    lists: u32,
    /// How many of the lists have each symbol.
    counts: Vec<u32>,
    /// The symbols that most of them have, at most [`HINTED`]: the most frequent first, then by
    /// symbol.
    likely: Vec<u16>,
}

/// So many of the most likely symbols are asked for one by one.
const HINTED: usize = 64;

impl Hint {
    fn add(&mut self, list: &[(u16, u32)]) {
        self.lists += 1;
        for &(symbol, _) in list {
            let index = usize::from(symbol);
            if self.counts.len() <= index {
                self.counts.resize(index + 1, 0);
            }
            self.counts[index] += 1;
            self.rank(symbol);
        }
    }

    /// Puts a symbol whose count grew in its place.
    fn rank(&mut self, symbol: u16) {
        let order = |symbol: u16| (Reverse(self.counts[usize::from(symbol)]), symbol);
        let mut at = match self.likely.iter().position(|&likely| likely == symbol) {
            Some(at) => at,
            None if self.likely.len() < HINTED => {
                self.likely.push(symbol);
                self.likely.len() - 1
            }
            None if order(symbol) < order(self.likely[HINTED - 1]) => {
                self.likely[HINTED - 1] = symbol;
                HINTED - 1
            }
            None => return,
        };
        while at > 0 && order(symbol) < order(self.likely[at - 1]) {
            self.likely.swap(at, at - 1);
            at -= 1;
        }
    }

    /// The most likely symbols, each with the sixteenths of the lists that have it.
    fn likely(&self) -> Vec<(u16, usize)> {
        let part = |lists: u32| (lists * 15 / self.lists.max(1)).min(15) as usize;
        let likely = self.likely.iter();
        likely.map(|&symbol| (symbol, part(self.counts[usize::from(symbol)]))).collect()
    }
}

fn children(nodes: &[GrownNode]) -> Vec<Vec<usize>> {
    let mut children = vec![Vec::new(); nodes.len()];
    for (place, node) in nodes.iter().enumerate().skip(1) {
        children[node.parent as usize].push(place);
    }
    children
}

impl Tree<'_> {
    /// A node at a level and all below it. `source` is its place among the given ones.
    fn node(
        &mut self,
        coder: &mut impl Coder,
        source: usize,
        parent: u32,
        level: usize,
        context: u32,
    ) -> Option<()> {
        let none = GrownNode::default();
        let given = self.given;
        let node = given.get(source).unwrap_or(&none);
        let number = self.nodes.len();
        if number >= MAX_NODES || coder.is_exhausted() {
            return None;
        }
        self.take(NODE_COST)?;
        let list = self.list(coder, level, node)?;
        let codec = &mut self.codec.nodes[self.column * DEPTHS + level];
        let escapes = of_short(codec.escapes.code(coder, short(node.escapes).into()) as u32);
        self.nodes.push(GrownNode { parent, context, list, escapes });

        let children = self.children.get_mut(source).map(std::mem::take).unwrap_or_default();
        let may_have = level == 0 || level <= self.contexts.len();
        let codec = &mut self.codec.nodes[self.column * DEPTHS + level];
        let len = if may_have { codec.children.code(coder, children.len() as u64) } else { 0 };
        if level == 0 && len > 1 || len > MAX_NODES as u64 {
            return None;
        }
        let mut before = None;
        for nth in 0..len as usize {
            let child = children.get(nth).copied().unwrap_or(usize::MAX);
            let context = given.get(child).map_or(0, |child| child.context);
            let context = if level == 0 { 0 } else { self.context(coder, level, context, before)? };
            before = Some(context);
            self.node(coder, child, number as u32, level + 1, context)?;
        }
        Some(())
    }

    /// Counts a cost; `None` when that is more than the model may.
    fn take(&mut self, cost: usize) -> Option<()> {
        self.codec.cost += cost;
        (self.codec.cost <= self.codec.limit).then_some(())
    }

    /// The symbols of a node, ascending, with their counts.
    fn list(
        &mut self,
        coder: &mut impl Coder,
        level: usize,
        node: &GrownNode,
    ) -> Option<Vec<(u16, u32)>> {
        let place = self.column * DEPTHS + level;
        let len = self.codec.nodes[place].len.code(coder, node.list.len() as u64) as usize;
        if len > self.symbols || len > MAX_LISTED - self.listed {
            return None;
        }
        self.listed += len;
        self.take(len * SYMBOL_COST)?;
        let codec = &mut self.codec.nodes[place];
        let mut symbols: Vec<u16> = Vec::with_capacity(len);
        let has = |symbol| node.list.binary_search_by_key(&symbol, |&(symbol, _)| symbol).is_ok();
        let mut asked: Vec<u16> = Vec::new();
        if level > 1 {
            for (symbol, part) in self.hints[level - 1].likely() {
                if symbols.len() == len {
                    break;
                }
                let left = (len - symbols.len()).min(4) - 1;
                if coder.learn(has(symbol), &mut codec.hinted[left * 16 + part]) {
                    symbols.push(symbol);
                }
                asked.push(symbol);
            }
        }
        let unhinted: Vec<u16> = node
            .list
            .iter()
            .map(|&(symbol, _)| symbol)
            .filter(|symbol| !asked.contains(symbol))
            .collect();
        let mut next = 0;
        for place in 0..len - symbols.len() {
            let symbol = unhinted.get(place).copied().unwrap_or_default();
            let gap = u64::from(symbol).wrapping_sub(next);
            let gaps = if place == 0 { &mut codec.first_symbol } else { &mut codec.symbol_gap };
            let symbol = next.checked_add(gaps.code(coder, gap))?;
            if symbol >= self.symbols as u64 {
                return None;
            }
            symbols.push(symbol as u16);
            next = symbol + 1;
        }
        symbols.sort_unstable();
        let mut list: Vec<(u16, u32)> = Vec::with_capacity(len);
        for (place, symbol) in symbols.into_iter().enumerate() {
            let count = node.list.get(place).map_or(0, |&(_, count)| count);
            list.push((
                symbol,
                of_short(codec.count[len.ilog2().min(4) as usize].code(coder, short(count).into())
                    as u32),
            ));
        }
        if level > 1 {
            self.hints[level - 1].add(&list);
        }
        self.hints[level] = Hint::default();
        self.hints[level].add(&list);
        Some(list)
    }

    /// The value of a context that leads to a child; children ascend by it. An escaped symbol is
    /// coded as the one behind the last.
    fn context(
        &mut self,
        coder: &mut impl Coder,
        level: usize,
        context: u32,
        before: Option<u32>,
    ) -> Option<u32> {
        let limit = match self.contexts.get(level - 1)? {
            Context::Column(earlier) => Some(*self.sizes.get(usize::from(*earlier))? as u32),
            _ => None,
        };
        let shown = |value: u32| match limit {
            Some(limit) if value == u32::from(ESCAPE) => limit,
            _ => value,
        };
        let next = before.map_or(0, |before| shown(before) + 1);
        let codec = &mut self.codec.nodes[self.column * DEPTHS + level];
        let gaps = if before.is_some() { &mut codec.context_gap } else { &mut codec.first_context };
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
