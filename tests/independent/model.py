"""The model of positions: formats/archive_model.md, section 2."""
from bits import refuse_if
from coder import Adaptive, IntegerModel, bit_model, count, intervals, symbol_model
ESC = 65535
U32 = 0xFFFFFFFF
RANKS = range(2, 10)
MOST_VALUES, MOST_CONTEXTS, MOST_NODES, MOST_SYMBOLS = 8192, 4, 2**20, 2**20


def codes_of(rank):
    return [rank >> 4 * file & 15 for file in range(8)]


def rank_of(codes):
    return sum(code << 4 * file for file, code in enumerate(codes))


def reversed_rank(rank):
    return rank_of(codes_of(rank)[::-1])


def swapped(rank):
    return rank_of([n + 6 if 1 <= n <= 6 else n - 6 if 7 <= n <= 12 else 0 for n in codes_of(rank)])


def pieces(rank, black):
    """1 for each knight, 8 for each bishop, 64, 512, 4096 for each rook, queen, king."""
    base = 8 if black else 2
    return sum(8**(code - base) for code in codes_of(rank) if base <= code < base + 5)


def pawns(rank, black):
    return sum(1 << file for file, code in enumerate(codes_of(rank)) if code == (7 if black else 1))


def rank_kind(column):
    return {2: 0, 4: 1}.get(column, 2)


class Node:
    def __init__(self, parent):
        self.parent, self.children, self.value = parent, {}, None
        self.symbols, self.counts, self.escapes = [], [], 0
        self._intervals = None

    def intervals(self):
        if self._intervals is None:
            listed = sorted(zip(self.symbols, self.counts), key=lambda pair: (-pair[1], pair[0]))
            symbols, counts = [pair[0] for pair in listed], [pair[1] for pair in listed]
            if self.escapes or not symbols:
                symbols.append(ESC)
                counts.append(self.escapes or 1)
            self._intervals = intervals(symbols, counts)
        return self._intervals


class Column:
    """`outermost` is the outermost node."""

    def __init__(self, contexts):
        self.contexts = contexts
        self.dictionary, self.classes = [], []
        self.outermost = None

    def root(self):
        return next(iter(self.outermost.children.values()), self.outermost)


class Model:
    def __init__(self):
        self.columns, self.mirrors, self.spelling, self.modes = [], False, [], None


# Reading rows.

class Facts:
    """What contexts know of the ranks of a row that have been read."""

    def __init__(self):
        self.pieces, self.pawns, self.occupied = [0, 0], [0, 0], {2: 0, 4: 0}

    def add(self, column, rank):
        for black in (0, 1):
            self.pieces[black] += pieces(rank, black)
            self.pawns[black] |= pawns(rank, black)
        if column in self.occupied:
            self.occupied[column] = sum(1 << file for file, code in enumerate(codes_of(rank)) if code)

    def context(self, number):
        white, black = (known % 8192 for known in self.pieces)
        return {
            16: white, 17: black, 18: self.pawns[0], 19: self.pawns[1],
            20: white * 256 + self.pawns[0], 21: black * 256 + self.pawns[1],
            22: self.pawns[0] + 256 * self.pawns[1], 23: white * 8192 + black,
            24: self.occupied[2], 25: self.occupied[4],
        }[number]


def read_row(rans, model, row, symbols, first):
    """Reads the columns from `first` on; row and symbols have those before."""
    facts = Facts()
    for c in range(13):
        if c >= first:
            symbols[c], row[c] = _read_column(rans, model, c, row, symbols, facts)
        if c in RANKS:
            facts.add(c, row[c])


def _read_column(rans, model, c, row, symbols, facts):
    column = model.columns[c]
    node = column.root()
    for number in column.contexts:
        if number < 13:
            value = symbols[number] if symbols[number] != ESC else len(model.columns[number].dictionary)
        else:
            value = facts.context(number)
        if value not in node.children:
            break
        node = node.children[value]
    symbol = read_symbol(rans, node)
    value = column.dictionary[symbol] if symbol != ESC else spelled(rans, model, c)
    return symbol, unmirrored(row[2], value) if c == 4 and model.mirrors else value


def read_symbol(rans, node):
    while node:
        symbol = rans.among(node.intervals())
        if symbol != ESC:
            return symbol
        node = node.parent
    return ESC


def spelled(rans, model, c):
    value = 0
    if c in RANKS:
        before = 14
        for file in range(8):
            before = rans.among(model.spelling[rank_kind(c)][before])
            value |= before << 4 * file
        return value
    for i in range(4):
        value |= rans.byte() << 8 * i
    return value


def unmirrored(rank_1, value):
    """Rank 8: code 0 is the piece of the other colour and the same kind as on rank 1, 13 is empty."""
    out = []
    for mine, code in zip(codes_of(rank_1), codes_of(value)):
        if code == 0:
            code = mine + 6 if 1 <= mine <= 6 else mine - 6 if mine > 6 else 0
        out.append(0 if code == 13 else code)
    return rank_of(out)


# The model as bytes.

class LevelModels:
    """The models of a column and a level of its tree."""

    def __init__(self):
        self.len, self.first, self.gap, self.count, self.escapes, self.children, self.first_value, self.value_gap = \
            (IntegerModel() for _ in range(8))


class ModelReader:
    def __init__(self, data):
        self.a = Adaptive(data)
        self.flags, self.class_len, self.common = IntegerModel(), IntegerModel(), IntegerModel()
        self.squares = [[symbol_model(4) for _ in range(16)] for _ in range(3)]
        self.values = [IntegerModel() for _ in range(13)]
        self.has_swapped = [bit_model() for _ in range(32)]
        self.swapped_class = [symbol_model(5) for _ in range(32)]
        self.model = Model()

    def read(self):
        a, model = self.a, self.model
        mirrors = a.number(self.flags)
        refuse_if(mirrors > 1, "an unknown flag of a model")
        model.mirrors = bool(mirrors)
        for c in range(13):
            self.column(c)
        for _ in range(3):
            numbers = IntegerModel()
            model.spelling.append([intervals(range(14), [count(self.count_number(numbers)) for _ in range(14)])
                                   for _ in range(15)])
        modes = a.number(self.flags)
        refuse_if(modes > 1, "an unknown flag of a model")
        if modes:
            model.modes = intervals(range(18), [count(self.count_number(self.common)) for _ in range(18)])
        return model

    def count_number(self, numbers):
        return self.a.number(numbers) & U32

    def column(self, c):
        a = self.a
        many = a.number(self.flags)
        refuse_if(many > MOST_CONTEXTS, "too many contexts")
        contexts = [a.number(self.flags) for _ in range(many)]
        for number in contexts:
            refuse_if(not (number < c or 16 <= number <= 25), "a context that is not there")
        column = Column(contexts)
        self.model.columns.append(column)
        self.dictionary(c, column)
        TreeReader(self, column).node(0, None)

    def dictionary(self, c, column):
        a, copied = self.a, []
        other = {4: 2, 5: 3, 7: 6, 9: 8}.get(c)
        if other is not None and not (c == 4 and self.model.mirrors):
            for v, k in zip(self.model.columns[other].dictionary, self.model.columns[other].classes):
                if a.adaptive_bit(self.has_swapped[k]):
                    copied.append((swapped(v), a.symbol(self.swapped_class[k], 5)))
        turn = reversed_rank if c in RANKS else lambda v: v
        for k in range(31, -1, -1):
            in_class, before = [turn(v) for v, its_class in copied if its_class == k], 0
            more = a.number(self.class_len)
            refuse_if(len(column.dictionary) + len(in_class) + more > MOST_VALUES, "too many values")
            for nth in range(more):
                before = self.value(c, nth, before)
                in_class.append(before)
            column.dictionary += [turn(v) for v in sorted(in_class)]
            column.classes += [k] * len(in_class)
        refuse_if(len(set(column.dictionary)) != len(column.dictionary), "a value twice in a dictionary")
        if c in RANKS:
            refuse_if(any(code > 13 for v in column.dictionary for code in codes_of(v)), "a code above 13 in a rank")

    def value(self, c, nth, before):
        a = self.a
        if c in RANKS:
            same = min(a.number(self.common), 8)
            v = before >> 4 * (8 - same)
            for _ in range(8 - same):
                v = v << 4 | a.symbol(self.squares[rank_kind(c)][v & 15], 4)
            return v
        number = a.number(self.values[c])
        return (number if nth == 0 else before + number) & U32


class TreeReader:
    """Reads the nodes of a column."""

    def __init__(self, reader, column):
        self.reader, self.a, self.column = reader, reader.a, column
        self.levels = [LevelModels() for _ in range(6)]
        self.nodes = self.listed = 0

    def node(self, level, parent):
        a, k, column = self.a, self.levels[level], self.column
        node = Node(parent)
        if parent is None:
            column.outermost = node
        self.nodes += 1
        many = a.number(k.len)
        self.listed += many
        refuse_if(self.nodes > MOST_NODES or self.listed > MOST_SYMBOLS or many > len(column.dictionary),
                  "too many nodes or symbols")
        symbol = -1
        for nth in range(many):
            symbol += 1 + a.number(k.first if nth == 0 else k.gap)
            refuse_if(symbol >= len(column.dictionary), "a symbol that is not there")
            node.symbols.append(symbol)
        node.counts = [count(self.reader.count_number(k.count)) for _ in node.symbols]
        node.escapes = count(self.reader.count_number(k.escapes))
        self.children(level, k, node)
        return node

    def children(self, level, k, node):
        a, contexts = self.a, self.column.contexts
        many = a.number(k.children) if level <= len(contexts) else 0
        refuse_if(level == 0 and many > 1, "two roots")
        value = -1
        for nth in range(many):
            if level > 0:
                value += 1 + a.number(k.first_value if nth == 0 else k.value_gap)
                refuse_if(value > self.most(contexts[level - 1]), "a value of a context that is not there")
            node.children[value] = self.node(level + 1, node)

    def most(self, number):
        return len(self.reader.model.columns[number].dictionary) if number < 13 else 2**28 - 1


def read_model(data):
    return ModelReader(data).read()
