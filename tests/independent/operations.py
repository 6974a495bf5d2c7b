"""Operations of records in blocks: formats/archive_operations.md."""
import re

import tally
from bits import Refused, refuse_if
from board import DATA
from coder import Adaptive, IntegerModel, bit_model, count, symbol_model
from moves import legal_moves, playable
from record import (LINES, MOST_BYTES, MOVES, OPCODE, STANDARD, Operand, Place, check_operands,
                    operand_of_string, operand_text, write_record)
from rows import HAS_OPERATIONS, has_clock, has_number, position_of, record_of
from texts import TextModel

MOST_SHAPES, MOST_NAMED = 64, 64


class Integers:
    """The averages and models of integers, for records that follow or for others."""

    def __init__(self):
        self.left = [0, 0, 0]
        self.is_near = bit_model()
        self.size = [IntegerModel(), IntegerModel()]
        self.sign = [bit_model(), bit_model()]
        self.has = [0, 0]

    def bit_models(self):
        yield self.is_near
        for j in (0, 1):
            if self.has[j]:
                yield from self.size[j].bit_models()
                yield self.sign[j]


class TallyModels:
    def __init__(self):
        self.parts, self.is_inherited_cell = IntegerModel(), bit_model()
        self.has, self.cell_value = [bit_model() for _ in range(4)], [IntegerModel() for _ in range(4)]
        self.moves, self.surplus = IntegerModel(), IntegerModel()
        self.is_next, self.is_remaining = [bit_model(), bit_model()], [bit_model(), bit_model()]
        self.is_single, self.result = bit_model(), symbol_model(3)
        self.count = [IntegerModel() for _ in range(4)]
        self.rated = [symbol_model(3), symbol_model(3)]
        self.rated_games, self.sum = [IntegerModel(), IntegerModel()], [IntegerModel(), IntegerModel()]
        self.are_same_years, self.years = bit_model(), symbol_model(3)
        self.first_year, self.span = IntegerModel(), IntegerModel()

    def bit_models(self):
        yield from self.parts.bit_models()
        yield self.is_inherited_cell
        yield from self.has
        for model in self.cell_value:
            yield from model.bit_models()
        yield from self.moves.bit_models()
        yield from self.surplus.bit_models()
        yield from self.is_next + self.is_remaining
        yield self.is_single
        yield from self.result[1:]
        for model in self.count:
            yield from model.bit_models()
        for side in (0, 1):
            yield from self.rated[side][1:]
            yield from self.rated_games[side].bit_models()
            yield from self.sum[side].bit_models()
        yield self.are_same_years
        yield from self.years[1:]
        yield from self.first_year.bit_models()
        yield from self.span.bit_models()


class OpcodeEntry:
    """An opcode with its models."""

    def __init__(self, opcode):
        self.opcode, self.v, self.previous = opcode, 0, []
        self.kinds = [symbol_model(3) for _ in range(4)]
        self.forms = [[symbol_model(4), symbol_model(4)] for _ in range(2)]  # follows, later operands
        self.is_next = [bit_model(), bit_model()]
        self.integers = [Integers(), Integers()]
        self.tallies, self.has_tally = TallyModels(), 0

    def bit_models(self):
        for model in self.kinds:
            yield from model[1:]
        for follows in self.forms:
            for model in follows:
                yield from model[1:]
        yield from self.is_next
        for integers in self.integers:
            yield from integers.bit_models()
        if self.has_tally:
            yield from self.tallies.bit_models()


class State:
    """The models with which a block begins."""

    def __init__(self):
        self.shape, self.shape_len, self.known_opcode = IntegerModel(), IntegerModel(), IntegerModel()
        self.name_len, self.name_bytes = symbol_model(4), symbol_model(8)
        self.list_len, self.first_number = IntegerModel(), IntegerModel()
        self.rises, self.number_step = bit_model(), IntegerModel()
        self.entries = [OpcodeEntry(opcode) for opcode in STANDARD[:51]]
        self.shapes = []

    def bit_models(self, starting):
        for model in (self.shape, self.shape_len, self.known_opcode):
            yield from model.bit_models()
        yield from self.name_len[1:]
        yield from self.name_bytes[1:]
        for entry in starting:
            yield from entry.bit_models()

    def add_entry(self, name):
        opcode = bytes(name).decode("latin-1")
        refuse_if(not OPCODE.fullmatch(opcode) or any(entry.opcode == opcode for entry in self.entries),
                  "a new opcode that is none, or not new")
        self.entries.append(OpcodeEntry(opcode))


def read_start(data):
    """The state in which each block of a segment begins."""
    state = State()
    if not data:
        return state
    a, n, name_bytes = Adaptive(data), IntegerModel(), symbol_model(8)
    many = a.number(n)
    refuse_if(many > MOST_NAMED, "too many opcodes")
    for _ in range(many):
        state.add_entry([a.symbol(name_bytes, 8) for _ in range(min(a.number(n), 15))])
    many = a.number(n)
    refuse_if(many > MOST_SHAPES, "too many shapes")
    for _ in range(many):
        state.shapes.append(_shape_of_start(a, n, state))
    refuse_if(len({tuple(entry.opcode for entry in shape) for shape in state.shapes}) != many, "a shape twice")
    starting = [entry for entry in state.entries if _begins(a, n, entry)]
    seen = min(a.number(n), 11)
    is_there, is_likely, probability, known = [bit_model(), bit_model()], bit_model(), symbol_model(6), 0
    for model in state.bit_models(starting):
        known = a.adaptive_bit(is_there[known])
        if known:
            likely = a.adaptive_bit(is_likely)
            other = min(count(a.symbol(probability, 6)), 32768)
            model[:] = 65535 - other if likely else other, seen
    return state


def _shape_of_start(a, n, state):
    shape = []
    for _ in range(a.number(n)):
        nth = a.number(n)
        refuse_if(nth >= len(state.entries), "an entry that does not exist")
        shape.append(state.entries[nth])
        check_ascending(shape)
    return shape


def check_ascending(shape):
    refuse_if(len(shape) > 1 and shape[-2].opcode >= shape[-1].opcode, "opcodes that do not ascend")


def _begins(a, n, entry):
    if not a.number(n):
        return False
    for integers in entry.integers:
        integers.left = [min(a.number(n), 512) for _ in range(3)]
        integers.has = [a.number(n), a.number(n)]
    if entry.opcode == "tally":
        entry.has_tally = a.number(n)
    return True


def next_move(row, after):
    """The legal move of a row after which pieces, side to move and rights are those of the next row."""
    target = position_of(after)
    for move in legal_moves(position_of(row)):
        if move.after().same_but(en_passant=None) == target.same_but(en_passant=None):
            return move
    return None


class BlockReader:
    """Reads the operations of the records of a block."""

    def __init__(self, data, rows, start):
        self.a, self.rows = Adaptive(data), rows
        self.state = read_start(start)
        self.texts = TextModel.trained((DATA / "words.txt").read_bytes())
        self.next = [next_move(row, after) for row, after in zip(rows, rows[1:])] + [None]
        self.cost, self.most = 0, min(4096 + 512 * len(data), 2**30)
        self.last_tally, self.rating, self.year = [], 2000, 2000

    def spend(self, cost):
        self.cost += cost
        refuse_if(self.cost > self.most, "operations that cost too much")

    def records(self):
        out = []
        for nth, row in enumerate(self.rows):
            record = record_of(row)
            if row[0] & HAS_OPERATIONS:
                RecordReader(self, nth, record).read()
            out.append(record)
        return out


class RecordReader:
    def __init__(self, block, nth, record):
        self.block, self.a, self.state = block, block.a, block.state
        self.nth, self.record, self.position = nth, record, record.position
        self.row = block.rows[nth]
        self.follows = int(nth > 0 and block.next[nth - 1] is not None)
        self.moves_list = self.numbers_list = None

    def read(self):
        operations = []
        for entry in self.shape():
            self.block.spend(32)
            operations.append((entry, self.operands(entry)))
        refuse_if(not operations, "no operations at all")
        for entry, operands in operations:
            operands[:] = [self.resolved(operand) for operand in operands]
            check_operands(entry.opcode, operands, self.position)
            self.check_counter(entry.opcode, operands)
            entry.previous = [b"" if operand is self.tally_operand else operand_text(operand, quotes=False)
                            for operand in operands]
        counters = self.record.operations
        self.record.operations = sorted(counters + [(entry.opcode, operands) for entry, operands in operations])
        opcodes = [opcode for opcode, _ in self.record.operations]
        refuse_if(len(set(opcodes)) != len(opcodes), "a counter twice")
        refuse_if(len(write_record(self.record)) > MOST_BYTES, "a record over its limit")

    tally_operand = None

    def check_counter(self, opcode, operands):
        """A counter that belongs into the row is not among the operations."""
        least = {"hmvc": 0, "fmvn": 1}.get(opcode)
        if least is not None and [operand.kind for operand in operands] == ["integer"]:
            refuse_if(least <= operands[0].value < 2**32, "a counter that belongs into the row")

    def shape(self):
        a, state = self.a, self.state
        index = a.number(state.shape)
        refuse_if(index > len(state.shapes), "an index of a shape above their number")
        if index < len(state.shapes):
            entries = state.shapes.pop(index)
        else:
            entries = []
            for _ in range(a.number(state.shape_len)):
                entries.append(self.opcode())
                check_ascending(entries)
                self.block.spend(0)
        state.shapes.insert(0, entries)
        return entries

    def opcode(self):
        a, state = self.a, self.state
        nth = a.number(state.known_opcode)
        refuse_if(nth > len(state.entries), "an entry that does not exist")
        if nth == len(state.entries):
            size = a.symbol(state.name_len, 4)
            state.add_entry([a.symbol(state.name_bytes, 8) for _ in range(size)])
        return state.entries[nth]

    def operands(self, entry):
        operands, last = [], 0
        place = Place(entry.opcode, self.position)
        self.line_row = self.nth
        while True:
            kind = self.a.symbol(entry.kinds[min(len(operands), 3)], 3)
            if kind == 0:
                return operands
            refuse_if(last == 5, "an operand after a tally")
            operands.append(self.operand(entry, kind, len(operands), place))
            self.block.spend(32)
            place.pass_over(operands[-1])
            if kind == 5:
                refuse_if(self.a.symbol(entry.kinds[1], 3) != 0, "an operand after a tally")
                return operands
            last = kind

    def operand(self, entry, kind, nth, place):
        if kind == 1:
            refuse_if(entry.opcode not in MOVES, "a move in an opcode that takes none")
            return Operand("move", self.move(entry, nth, place.now))
        if kind == 2:
            return Operand("integer", self.integer(entry))
        if kind in (3, 4):
            return self.text(entry, kind, nth)
        refuse_if(kind != 5 or entry.opcode != "tally" or nth, "an unknown kind of operand")
        parts = TallyReader(self, entry).read()
        self.tally_operand = Operand("string", tally.tally_text(parts).encode())
        return self.tally_operand

    def move(self, entry, nth, now):
        """Section 1; `line_row` is the number of the row whose next move may come."""
        refuse_if(now is None, "a move where there are none")
        moves, is_line = legal_moves(now), entry.opcode in LINES
        following = self.block.next[self.line_row] if self.line_row is not None else None
        here = following and move_in(moves, following)
        if here and self.a.adaptive_bit(entry.is_next[min(nth, 1)]):
            self.line_row = self.line_row + 1 if is_line else None
            return here
        if is_line:
            self.line_row = None
        refuse_if(not moves, "a move although none is legal")
        return moves[self.a.uniform(len(moves))]

    def integer(self, entry):
        a, follows, v = self.a, self.follows, entry.v
        models = entry.integers[follows]
        left, predicted = models.left, [0, v, -v]
        j = 0 if min(left[1], left[2]) >= left[0] else 2 if left[2] < left[1] else 1
        if j > 0 and not a.adaptive_bit(models.is_near):
            j = 0
        near = int(j > 0)
        n = a.number(models.size[near])
        negative = n > 0 and a.adaptive_bit(models.sign[near])
        value = predicted[j] + (-n if negative else n)
        refuse_if(not -2**63 <= value < 2**64, "an integer out of range")
        for i in range(3):
            left[i] += (value - predicted[i]).bit_length() - left[i] // 4
        entry.v = value
        return value

    # Texts, section 3.

    def text(self, entry, kind, nth):
        form = self.a.symbol(entry.forms[self.follows][min(nth, 1)], 4)
        refuse_if(form > 6, f"texts in the unknown form {form}")
        previous = entry.previous[nth] if nth < len(entry.previous) else b""
        if form in (5, 6):
            return form, kind
        text = self.plain_text(entry, form, previous)
        self.block.spend(len(text))
        return text_operand(kind, text)

    def plain_text(self, entry, form, previous):
        if form == 0:
            return self.block.texts.read(self.a, self.state.entries.index(entry) + 1, previous, self.block)
        if form == 1:
            return previous
        if form == 2:
            return increased(previous)
        if form == 3:
            self.moves_list = self.list_of_moves()
            return b" ".join(move.text().encode() for move in self.moves_list)
        self.numbers_list = self.list_of_numbers()
        return b" ".join(b"%d" % number for number in self.numbers_list)

    def list_of_moves(self):
        many, rest, taken = self.a.number(self.state.list_len), list(legal_moves(self.position)), []
        refuse_if(not 2 <= many <= len(rest), "a list of moves that does not fit")
        for _ in range(many):
            taken.append(rest.pop(self.a.uniform(len(rest))))
        return taken

    def list_of_numbers(self):
        a, state = self.a, self.state
        many = a.number(state.list_len)
        refuse_if(many < 2, "a list of numbers that is too short")
        x = a.number(state.first_number)
        numbers = [x]
        for _ in range(many - 1):
            refuse_if(not 0 <= x < 2**32, "a number out of range")
            rises = a.adaptive_bit(state.rises)
            step = a.number(state.number_step)
            x = x + step if rises else x - step
            numbers.append(x)
            self.block.spend(0 if len(numbers) < self.block.most else self.block.most)
        refuse_if(not 0 <= x < 2**32, "a number out of range")
        return numbers

    def resolved(self, operand):
        """Texts of forms 5 and 6 from the last lists of the record."""
        if isinstance(operand, Operand):
            return operand
        form, kind = operand
        moves = self.moves_list
        refuse_if(moves is None, "a form without a list of moves")
        if form == 5:
            text = " ".join(move.coordinates() for move in moves)
        else:
            refuse_if(len(self.numbers_list or ()) != len(moves), "a form without a list of numbers")
            text = ", ".join(f"{move.text()}={number}" for move, number in zip(moves, self.numbers_list))
        self.block.spend(len(text))
        return text_operand(kind, text.encode())


def move_in(moves, move):
    return next((other for other in moves if other.is_same(move)), None)


def text_operand(kind, text):
    return operand_of_string(text) if kind == 3 else Operand("unquoted", text)


def increased(previous):
    match = re.fullmatch(rb"(.*?)([0-9]+)([^0-9]*)", previous, re.DOTALL)
    refuse_if(not match, "no digits to increase")
    return match[1] + b"%0*d" % (len(match[2]), int(match[2]) + 1) + match[3]


class TallyReader:
    """Section 7."""

    def __init__(self, record, entry):
        self.record, self.block, self.a, self.models = record, record.block, record.a, entry.tallies
        refuse_if(not playable(record.position), "a tally of a board that is not playable")

    def read(self):
        a, block, models, inherited = self.a, self.block, self.models, []
        arrived = block.next[self.record.nth - 1] if self.record.nth else None
        if arrived:
            for part in block.last_tally:
                inherited += [(part.cell, counts.by_the_other_side()) for move, counts in part.moves
                              if move.is_same(arrived)]
        parts = []
        for nth in range(a.number(models.parts) + 1):
            block.spend(16)
            parts.append(self.part(self.cell(nth, inherited), inherited))
        tally.check_tally(parts)
        block.last_tally = parts
        return parts

    def cell(self, nth, inherited):
        a, models = self.a, self.models
        if nth < len(inherited) and a.adaptive_bit(models.is_inherited_cell):
            return inherited[nth][0]
        return tuple(a.number(models.cell_value[k]) if a.adaptive_bit(models.has[k]) else None for k in range(4))

    def part(self, cell, inherited):
        a, block, models = self.a, self.block, self.models
        expected = next((counts for its_cell, counts in inherited if its_cell == cell), None)
        remaining, moves = expected, []
        left = list(legal_moves(self.record.position))
        following = block.next[self.record.nth]
        for k in range(a.number(models.moves)):
            block.spend(32)
            here = following and move_in(left, following)
            if not (here and a.adaptive_bit(models.is_next[min(k, 1)])):
                refuse_if(not left, "a move although none is left")
                here = left[a.uniform(len(left))]
            left.remove(here)
            if remaining and remaining.games() and a.adaptive_bit(models.is_remaining[min(k, 1)]):
                counts = tally.Counts(remaining.results, remaining.elo, remaining.opponents)
            else:
                counts = self.new_counts()
            counts.years = self.years(expected)
            remaining = remaining and remaining.less(counts)
            moves.append((here, counts))
        part = tally.Part(cell, 0, moves)
        part.reached = part.games_of_moves() + tally.unsigned(a.number(models.surplus))
        return part

    def years(self, expected):
        a, models, block = self.a, self.models, self.block
        if expected and expected.years and a.adaptive_bit(models.are_same_years):
            return expected.years
        how = a.symbol(models.years, 3)
        refuse_if(how > 2, "an unknown number of years")
        if not how:
            return None
        first = block.year + tally.unsigned(a.number(models.first_year))
        span = 0 if how == 1 else a.number(models.span)
        refuse_if(how == 2 and span == 0, "two years that are one")
        block.year = first + span
        return first, block.year

    def new_counts(self):
        a, models, block = self.a, self.models, self.block
        results = [0] * 4
        if a.adaptive_bit(models.is_single):
            result = a.symbol(models.result, 3)
            refuse_if(result > 3, "an unknown result")
            results[result] = 1
        else:
            results = [a.number(models.count[k]) for k in range(4)]
        counts = tally.Counts(results)
        counts.elo = self.ratings(0, counts.games(), block.rating)
        counts.opponents = self.ratings(1, counts.games(), mean(counts.elo, block.rating))
        block.rating = mean(counts.opponents, block.rating)
        return counts

    def ratings(self, side, games, expected):
        how = self.a.symbol(self.models.rated[side], 3)
        refuse_if(how > 2, "an unknown number of ratings")
        if how == 0:
            return 0, 0
        games = games if how == 1 else self.a.number(self.models.rated_games[side])
        total = expected * games + tally.unsigned(self.a.number(self.models.sum[side]))
        refuse_if(games == 0 or total < 0, "ratings out of range")
        return games, total


def mean(ratings, otherwise):
    games, total = ratings
    return total // games if games else otherwise
