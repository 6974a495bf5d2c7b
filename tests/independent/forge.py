#!/usr/bin/env python3
"""Writes invalid archives whose checks all match into formats/golden/archive/invalid: what no writer writes, coded anew.

It changes golden archives, so it runs after the example archive_data and before that makes the list of samples."""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import zstandard
from blake3 import blake3

import archive
import model
import operations
import record
from archive import BLOCK_DIRECTORY, BLOCKS, DIGESTS, HEAD, KEPT_GAMES, MODEL, OPERATIONS, ORDER, ROW_GUIDE, \
    SEPARATORS, START, WHOLE, Archive, Section
from bits import Items, Refused, crc32c, groups, little, prefix
from coder import M, Adaptive, Rans
from record import STANDARD, Operand
from rows import rows_bytes

GOLDEN = Path(__file__).resolve().parents[2] / "formats" / "golden" / "archive"
AT_64 = {5, 8, 18}


class Opened(Archive):
    """An archive of which only the tables have been read; sections may be replaced."""

    def __init__(self, name):
        self.data = (GOLDEN / f"{name}.epa").read_bytes()
        self.open()
        self.new, self.more = {}, []

    def sized(self):
        return [(section, self.new.get((section.kind, section.segment), self.bytes_of(section)))
                for section in self.sections] + \
               [(Section(kind, int(kind in archive.MAY_BE_IGNORED), segment, 0, 0, 0), data)
                for (kind, segment), data in self.new.items() if self.find(kind, segment) is None] + self.more

    def placed(self):
        """The entries of the section table, with zeros for the checks of heads."""
        sizes, at, entries = [(section, data) for section, data in self.sized() if data is not None], 32, []
        for section, data in sizes:
            own = [kind for kind in (other.kind for other, _ in sizes if other.segment == section.segment)
                   if kind not in (HEAD, SEPARATORS)]
            at += -at % 64 if section.kind in AT_64 else 0
            length = 44 + 32 * len(own) if section.kind == HEAD else len(data)
            entries.append((section, b"".join(little(value, size) for value, size in (
                (section.kind, 4), (section.flags, 4), (section.segment, 4), (crc32c(data), 4), (at, 8), (length, 8)))))
            at += length
        return entries

    def head_of(self, nth, placed):
        head = b"\nEPA-SEG" + self.new.get((1, archive.WHOLE), self.find(1))[32 * nth:32 * nth + 32] + b"".join(
            entry for section, entry in placed if section.segment == nth and section.kind not in (HEAD, SEPARATORS))
        return head + little(crc32c(head), 4)

    def file(self):
        """The file with the replaced sections; those replaced by None are left out."""
        out, table, placed = bytearray(self.data[:32]), b"", self.placed()
        for section, data in self.sized():
            if data is None:
                continue
            if section.kind == HEAD:
                data = self.head_of(section.segment, placed)
            if section.kind in AT_64:
                out += bytes(-len(out) % 64)
            table += b"".join(little(value, size) for value, size in (
                (section.kind, 4), (section.flags, 4), (section.segment, 4), (crc32c(data), 4),
                (len(out), 8), (len(data), 8)))
            out += data
        footer, its_id = self.data[-52:], blake3(table).digest()[:8]
        out[12:20] = its_id
        out[28:32] = little(crc32c(out[:28]), 4)
        footer = (little(len(out) + len(table) + 52, 8) + footer[8:16] + its_id + footer[24:28]
                  + little(len(table) // 32, 4) + little(crc32c(table), 4) + footer[36:48])
        return bytes(out + table + footer + little(crc32c(footer), 4))


# Coding.

class RansLog(Rans):
    """Reads rows and keeps their intervals."""

    def __init__(self, data):
        self.log = []
        super().__init__(data)

    def advance(self, start, freq):
        self.log.append((start, freq))
        super().advance(start, freq)


def coded_rows(intervals, check):
    """Archive, model, 1.1: writing."""
    state, words = 2**31 + check % 2**31, []
    for start, freq in reversed(intervals):
        if state >= freq << 49:
            words.append(state % 2**32)
            state >>= 32
        state = (state // freq) * M + state % freq + start
    if state >= 2**56:
        words.append(state % 2**32)
        state >>= 32
    size = max(4, (state.bit_length() + 7) // 8)
    return little(state, size) + b"".join(little(word, 4) for word in reversed(words))


class Calls(Adaptive):
    """Keeps the bits and the values that it gives, with their models. With values it reads nothing: each call has the
    next of them, and 0 after the last; a tuple is a value and bits that follow."""

    def __init__(self, data=b"", values=None):
        super().__init__(data)
        self.bits, self.calls, self.values, self.forced, self.depth = [], [], values, [], 0

    def bit(self, p):
        one = super().bit(p) if self.values is None else self.forced.pop(0) if self.forced else 0
        self.bits.append((p, one))
        return one

    def _call(self, model, bits_of, read):
        if self.depth == 0 and self.values is not None:
            value = self.values.pop(0) if self.values else 0
            value, *then = value if isinstance(value, tuple) else (value,)
            self.forced = bits_of(value) + then
        self.depth += 1
        try:
            value = read()
        finally:
            self.depth -= 1
        if self.depth == 0:
            self.calls.append((model, value))
        return value

    def adaptive_bit(self, model):
        return self._call(model, lambda value: [value], lambda: super(Calls, self).adaptive_bit(model))

    def symbol(self, model, bits):
        return self._call(model, lambda value: plain(value, bits), lambda: super(Calls, self).symbol(model, bits))

    def number(self, model):
        return self._call(model, number_bits, lambda: super(Calls, self).number(model))

    def raw(self, bits):
        return self._call(None, lambda value: plain(value, bits), lambda: super(Calls, self).raw(bits))

    def uniform(self, n):
        return self._call(None, lambda value: uniform_bits(value, n), lambda: super(Calls, self).uniform(n))

    def bytes(self):
        return coded_bits(self.bits)


def plain(value, bits):
    return [value >> n & 1 for n in reversed(range(bits))]


def number_bits(value):
    length = value.bit_length()
    return plain(length, 7) + plain(value, max(length - 1, 0))


def uniform_bits(value, n):
    a, b, out = 0, n, []
    while b - a > 1:
        middle = a + (b - a) // 2
        out.append(int(value < middle))
        a, b = (a, middle) if value < middle else (middle, b)
    return [1 - bit for bit in out]


def coded_bits(bits):
    """Model, 1.2: writing."""
    low, high, out = 0, 0xFFFFFFFF, bytearray()
    for p, one in bits:
        p = min(max(p, 32), 65503)
        cut = low + ((high - low) * p >> 16)
        low, high = (low, cut) if one else (cut + 1, high)
        while low >> 24 == high >> 24:
            out.append(high >> 24)
            low, high = low << 8 & 0xFFFFFFFF, high << 8 & 0xFFFFFFFF | 255
    return bytes(out) + (bytes([high >> 24]) if low else b"")


def refusal_of(read):
    """Why reading refuses."""
    try:
        read()
    except Refused as refusal:
        return str(refusal)
    return None


def with_coders(module, coders, read):
    """What `read` reads while the first coders that a module makes are these."""
    its, left = module.Adaptive, list(coders)
    module.Adaptive = lambda data: left.pop(0) if left else its(data)
    try:
        return read()
    finally:
        module.Adaptive = its


def careless(read):
    """What `read` reads with the rules left out: the rest of a part with a single fault is as it should be."""
    modules = (operations, record, model)
    its = operations.refuse_if
    for module in modules:
        module.refuse_if = lambda *_: None
    try:
        return read()
    finally:
        for module in modules:
            module.refuse_if = its


def overlooked(read, otherwise=None):
    """What is read, or something else where a rule that was left out would have stopped."""
    try:
        return read()
    except (AttributeError, IndexError, KeyError, TypeError):
        return otherwise


class CarelessRecord(operations.RecordReader):
    """`scripts` has the values of the records that are left; the others have an operation without operands."""

    scripts = []

    def read(self):
        self.a.values = list(self.scripts.pop(0)) if self.scripts else []
        overlooked(super().read)

    def opcode(self):
        return overlooked(super().opcode, self.state.entries[NUMBER["noop"]])

    def operand(self, entry, kind, nth, place):
        is_known = kind < 5 or kind == 5 and entry.opcode == "tally"
        read = super().operand if is_known else lambda *_: None
        return overlooked(lambda: read(entry, kind, nth, place)) or Operand("unquoted", b"x")


# Blocks.

class Block:
    """The first block of the first segment, taken apart."""

    def __init__(self, opened):
        self.opened, self.segment = opened, opened.segments[0]
        self.reader = archive.SegmentReader(opened, 0, self.segment)
        self.blocks = list(self.reader.blocks())
        items = Items(self.blocks[0])
        self.count = min(self.segment.per_block, self.segment.records)
        data = items.take(items.groups(9)) if self.segment.flags & OPERATIONS else items.data
        self.operations = items.take(items.end - items.at) if self.segment.flags & OPERATIONS else b""
        self.rans = RansLog(data)
        self.rows = self.reader.coded_rows(self.rans, self.count)

    def with_operations(self, coded):
        """The file with other operations in the block."""
        check = crc32c(prefix(self.segment.identity, self.segment.first), rows_bytes(self.rows), coded)
        rows = coded_rows(self.rans.log, check)
        return self.with_block(groups(len(rows)) + rows + coded)

    def with_block(self, block):
        blocks = [block, *self.blocks[1:]]
        directory, at = b"\x04", 0
        for first in range(0, len(blocks), 32):
            directory += little(at, 8)
            for one in blocks[first:first + 32]:
                directory += little(len(one), 4)
                at += len(one)
        self.opened.new[BLOCK_DIRECTORY, 0] = directory
        self.opened.new[BLOCKS, 0] = b"".join(blocks)
        return self.opened.file()

    def scripted(self, values, plain_before=0):
        """The file with operations of these values in a record, and the others with a plain operation."""
        a = Calls(values=[])
        first = [[0, 1, NUMBER["noop"]]] + [[]] * (plain_before - 1) if plain_before else []
        CarelessRecord.scripts = [*first, values, [1, 0 if first else 1, NUMBER["noop"]]]

        def read():
            block = operations.BlockReader(b"", self.rows, self.reader.start)
            block.most = 2**40
            block.records()
        its, operations.RecordReader = operations.RecordReader, CarelessRecord
        try:
            careless(lambda: with_coders(operations, [a], read))
        finally:
            operations.RecordReader = its
        self.scripted_operations = a.bytes()
        return self.with_operations(self.scripted_operations)


def block_of(name):
    return Block(Opened(name))


# Cases: a name of a file, and its bytes.

def coder_3(change, frame=lambda text: zstandard.ZstdCompressor(level=3).compress(text)):
    """The text of repeated.epa changed, under a frame and a check."""
    opened = Opened("repeated")
    block = object.__new__(Block)
    block.opened, block.blocks = opened, [None]
    text = (GOLDEN / "repeated.epd").read_bytes()
    data = frame(change(text))
    segment = opened.segments[0]
    return block.with_block(data + little(crc32c(prefix(segment.identity, segment.first), data), 4))


def compressed(text):
    return zstandard.ZstdCompressor(level=3).compress(text)


def without_size(text):
    return zstandard.ZstdCompressor(level=3, write_content_size=False).compress(text)


def first_line(text, change):
    line, rest = text.split(b"\n", 1)
    changed = change(line)
    assert changed != line
    return changed + b"\n" + rest


def text_cases():
    same = lambda text: text
    half = lambda text: text.index(b"\n", len(text) // 2) + 1
    yield "text_two_frames", coder_3(same, lambda text: compressed(text[:half(text)]) + compressed(text[half(text):]))
    yield "text_frame_behind", coder_3(same, lambda text: compressed(text) + compressed(b""))
    yield "text_skippable", coder_3(same, lambda text: b"\x50\x2a\x4d\x18\x01\0\0\0x" + compressed(text))
    yield "text_byte_behind", coder_3(same, lambda text: compressed(text) + b"\0")
    yield "text_without_size", coder_3(same, without_size)
    yield "text_blanks", coder_3(lambda text: first_line(text, lambda line: line.replace(b" w ", b"  w ")))
    yield "text_cr", coder_3(lambda text: first_line(text, lambda line: line + b"\r"))
    yield "text_order", coder_3(lambda text: first_line(text, swapped))
    yield "text_shredder", coder_3(lambda text: first_line(text, lambda line: line.replace(b"KQkq", b"HAha")))
    yield "text_castling", coder_3(lambda text: first_line(text, lambda line: line.replace(b"KQkq", b"QKkq")))
    yield "text_quotes", coder_3(lambda text: first_line(text, lambda line: line + b" id x;"))
    yield "text_twice", coder_3(lambda text: first_line(text, lambda line: line + b' c1 "record 0";'))
    yield "text_lenient", coder_3(lambda text: first_line(text, lambda line: line + b" dm 0;"))
    yield "text_comment", coder_3(lambda text: first_line(text, lambda line: b"# " + line))
    yield "text_line_missing", coder_3(lambda text: text.split(b"\n", 1)[1])
    yield "text_end_missing", coder_3(lambda text: text[:-1])


def swapped(line):
    """Two operations in the other order."""
    fields, first, second = line.split(b' c', 2)
    return fields + b" c" + second + b" c" + first


class BitWriter:
    def __init__(self):
        self.value = self.count = 0

    def bits(self, value, count):
        self.value |= value << self.count
        self.count += count

    def ones(self, value, most=None):
        self.bits((1 << value) - 1, value)
        if value != most:
            self.bits(0, 1)

    def bytes(self):
        return little(self.value, (self.count + 7) // 8)


def pieces(segment, parts, size):
    """Parts with their checks, and the ends of all."""
    out, ends = b"", b""
    for nth, part in enumerate(parts):
        out += part + little(crc32c(prefix(segment.identity, nth), part), 4)
        ends += little(len(out), size)
    return out + ends


def order_piece(numbers, width):
    bits = BitWriter()
    bits.bits(31, 5)
    for number in numbers:
        bits.bits(number, width)
    return bits


def order_cases():
    def case(change=lambda numbers: numbers, after=lambda bits: bits.bytes(), ends=8):
        opened = Opened("sorted")
        segment = opened.segments[0]
        numbers = change(archive.SegmentReader(opened, 0, segment).order(segment.records))
        width = (segment.records - 1).bit_length()
        part = after(order_piece(numbers, width))
        opened.new[ORDER, 0] = pieces(segment, [part], ends)
        return opened.file()

    def one_more(bits):
        bits.bits(1, 1)
        return bits.bytes()

    yield "order_twice", case(lambda numbers: [numbers[1], *numbers[1:]])
    yield "order_beyond", case(lambda numbers: [len(numbers), *numbers[1:]])
    yield "order_bits", case(after=one_more)
    yield "order_byte", case(after=lambda bits: bits.bytes() + b"\0")
    yield "order_missing", case(lambda numbers: numbers[:-8])
    yield "order_ends", case(ends=7)
    opened = Opened("sorted")
    opened.new[ORDER, 0] = b""
    yield "order_empty", opened.file()
    opened = Opened("sorted")
    section = bytearray(opened.find(ORDER, 0))
    section[-9] ^= 1  # its one piece ends with the checksum, before the end of the piece
    opened.new[ORDER, 0] = bytes(section)
    yield "order_check", opened.file()


def directory_cases():
    opened = Opened("default")
    opened.new[BLOCK_DIRECTORY, 0] = opened.find(BLOCK_DIRECTORY, 0) + b"\0"
    yield "block_directory_byte", opened.file()


def separator_cases():
    def case(change, after=lambda bits: bits.bytes(), last=lambda key: [*key[:8], key[8] + 1]):
        opened = Opened("sorted")
        segment = opened.segments[0]
        reader = archive.SegmentReader(opened, 0, segment)
        reader.read()
        keys = [reader.keys[at] for at in range(0, segment.records, segment.per_index_block)]
        first, *others = change([list(key) for key in keys])
        parts = [after(separator_bits(others)), separator_bits([last(list(reader.keys[-1])), first]).bytes()]
        section = pieces(segment, parts, 4)
        opened.new[SEPARATORS, 0] = section[:-4]
        return opened.file()

    yield "separators_columns", case(lambda keys: [keys[0], keys[1] + [0], *keys[2:]])
    yield "separators_above", case(lambda keys: [*keys[:3], keys[3][:8] + [keys[3][8] + 1], *keys[4:]])
    yield "separators_order", case(lambda keys: [keys[0], keys[2], keys[1], *keys[3:]])
    yield "separators_byte", case(lambda keys: keys, lambda bits: bits.bytes() + b"\0")
    yield "separators_missing", case(lambda keys: keys[:-1])
    yield "separators_last", case(lambda keys: keys, last=lambda key: key)


def separator_bits(keys):
    bits = BitWriter()
    for key in keys:
        bits.bits(0, 4)
        bits.bits(len(key), 4)
        for column in key[:-1]:
            bits.bits(column, 32)
        bits.bits(3, 2)
        bits.bits(key[-1], 32)
    return bits


def cut_in_a_text():
    """Operations that end within a text."""
    text = "".join(f"{nth * nth} " for nth in range(200)).encode()
    bits = [bit for byte in text for bit in plain(byte, 8)] + plain(0, 8)
    whole = block_of("default")
    whole.scripted([0, 1, NUMBER["id"], 3, (0, *bits), 0])
    for size in range(len(whole.scripted_operations) - 65, 0, -1):
        coded = whole.scripted_operations[:size]
        if ENDS in (refusal_of(operations.BlockReader(coded, whole.rows, whole.reader.start).records) or ""):
            return block_of("default").with_operations(coded)


ENDS = "read more than 64 bytes"
NUMBER = {opcode: nth for nth, opcode in enumerate(STANDARD)}


def operation_cases():
    """Each has the first record with operations of default.epa: `4k3/8/8/8/8/8/4P3/4K3 w - - hmvc 5; …`."""
    new, text = len(STANDARD[:51]), [0, 1, NUMBER["id"], 3]
    end = 0
    for name, values in (
        ("text_form", [*text, 7, *[0] * 2, end]),
        ("text_form_15", [*text, 15, *[0] * 2, end]),
        ("text_no_digits", [*text, 2, end]),
        ("text_no_moves", [*text, 5, end]),
        ("text_no_pairs", [*text, 6, end]),
        ("text_one_move", [*text, 3, 1]),
        ("text_moves", [*text, 3, 200]),
        ("text_one_number", [*text, 4, 1, 5, end]),
        ("text_number_below", [*text, 4, 2, 5, 0, 6, end]),
        ("operand_kind", [0, 1, NUMBER["id"], 6]),
        ("operand_tally", [0, 1, NUMBER["id"], 5]),
        ("operand_move", [0, 1, NUMBER["id"], 1]),
        ("shape_index", [1, 1, NUMBER["noop"]]),
        ("shape_empty", [0, 0]),
        ("shape_order", [0, 2, NUMBER["id"], NUMBER["acn"]]),
        ("shape_twice", [0, 2, NUMBER["id"], NUMBER["id"]]),
        ("opcode_number", [0, 1, new + 1]),
        ("opcode_empty", [0, 1, new, 0]),
        ("opcode_digit", [0, 1, new, 1, ord("1")]),
        ("opcode_known", [0, 1, new, 2, ord("i"), ord("d")]),
        ("moves_order", [0, 1, NUMBER["bm"], 1, 1, 1, 0, end]),
        ("moves_twice", [0, 1, NUMBER["bm"], 1, 0, 1, 0, end]),
        ("cost", [0, 1, NUMBER["acn"], *[2, 0] * 3000]),
    ):
        yield f"operations_{name}", block_of("default").scripted(values)
    block = block_of("default")
    forms = [row[0] >> 2 for row in block.rows if row[0] & 2]
    counter = [1, 1, NUMBER["fmvn"], 2, 5, 0, end]
    yield "operations_counter_operation", block.scripted(counter, plain_before=forms.index(0))
    yield "operations_empty", block_of("default").with_operations(b"")
    yield "operations_end", cut_in_a_text()
    yield "operations_of_none", block_of("operations").with_operations(b"\0")


def section_cases():
    opened = Opened("default")
    opened.more = [(Section(BLOCK_DIRECTORY, 0, 0, 0, 0, 0), opened.find(BLOCK_DIRECTORY, 0))]
    yield "section_twice", opened.file()
    opened = Opened("fast_sorted")
    opened.new[ROW_GUIDE, WHOLE] = opened.find(ROW_GUIDE)[:-2]
    yield "guide_length", opened.file()
    for name, at in (("digests_entry", 11), ("digests_group", 12)):
        opened = Opened("digests")
        section = bytearray(opened.find(DIGESTS))
        section[-28 + at] ^= 1  # the last entry stands before 12 bytes of the number and a checksum
        section[-4:] = little(crc32c(section[-44:-4]), 4)
        opened.new[DIGESTS, WHOLE] = bytes(section)
        yield name, opened.file()
    opened = Opened("digests")
    section = opened.find(DIGESTS)
    opened.new[DIGESTS, WHOLE] = section[:-4] + little(crc32c(section[-44:-4]) ^ 1, 4)
    yield "digests_table", opened.file()
    for name, at in (("kept_games_entry", 0), ("kept_games_block", 20)):
        opened = Opened("kept_games")
        section = bytearray(opened.find(KEPT_GAMES))
        section[-40 + at] ^= 1  # the one entry stands before 16 bytes of numbers and their checksum
        section[-4:] = little(crc32c(section[-40:-4]), 4)
        opened.new[KEPT_GAMES, WHOLE] = bytes(section)
        yield name, opened.file()


def start_cases():
    """65 new opcodes, of which only those that were there have models or occur in a shape."""
    opened = Opened("annotated")
    data = opened.find(START, 0)
    a = Calls(data)
    with_coders(operations, [a], lambda: operations.read_start(data))
    values = [value for _, value in a.calls]
    numbers = a.calls[0][0]
    last = max(nth for nth, (its_model, _) in enumerate(a.calls) if its_model is numbers)
    at, more = 1, operations.MOST_NAMED + 1 - values[0]
    for _ in range(values[0]):
        at += 1 + values[at]
    names = [value for nth in range(more) for value in (2, ord("a") + nth // 26, ord("a") + nth % 26)]
    forged = Calls(values=[values[0] + more, *values[1:at], *names, *values[at:last], *[0] * more, *values[last:]])
    careless(lambda: with_coders(operations, [forged], lambda: operations.read_start(b"\0")))
    opened.new[START, 0] = forged.bytes()
    yield "start_lists", opened.file()


def model_cases():
    """The model of games.epa with one value changed, and with what belongs to that value."""
    data, levels = Opened("games").find(MODEL, 0), []

    class Levels(model.LevelModels):
        def __init__(self):
            super().__init__()
            levels.append(self)

    a = Calls(data)
    its, model.LevelModels = model.LevelModels, Levels
    try:
        reader = with_coders(model, [a], lambda: model.ModelReader(data))
        read = reader.read()
    finally:
        model.LevelModels = its
    values = [value for _, value in a.calls]
    models = [id(its_model) for its_model, _ in a.calls]
    flags = [at for at, its_model in enumerate(models) if its_model == id(reader.flags)]
    begins = [at for at in flags[1:] if at == 1 or models[at - 1] != id(reader.flags)]  # of columns; then the modes

    def with_values(*changes):
        """Each change is a place, the number of values that go, and those that come."""
        new = list(values)
        for at, gone, come in sorted(changes, reverse=True):
            new[at:at + gone] = come
        forged = Calls(values=new)
        careless(lambda: overlooked(lambda: with_coders(model, [forged], lambda: model.read_model(b""))))
        opened = Opened("games")
        opened.new[MODEL, 0] = forged.bytes()
        return opened.file()

    def with_contexts(column, contexts):
        """A column with these contexts after its own, for which its nodes have no children."""
        many, end = values[begins[column]], begins[column + 1]
        own = levels[6 * column + many + 1]
        leaves = [at + 1 for at in range(end) if models[at] == id(own.escapes)]
        return with_values((begins[column], 1, [many + len(contexts)]), (begins[column] + 1 + many, 0, contexts),
                           *((at, 0, [0]) for at in leaves))

    def with_last_value(column, come):
        """A column whose dictionary has more values at its end; `come` has what is read for each."""
        lists = [at for at in range(begins[column], begins[column + 1]) if models[at] == id(reader.class_len)]
        end = next(at for at in range(lists[-1], begins[column + 1]) if models[at] == id(levels[6 * column].len))
        return with_values((lists[-1], 1, [values[lists[-1]] + len(come)]),
                           (end, 0, [value for one in come for value in one]))

    def with_symbol_of_no_row():
        """An outermost node, which no row needs since its root has no escape, with a symbol that there is not."""
        for c, column in enumerate(read.columns):
            root, many = column.root(), len(column.outermost.symbols)
            if root is not column.outermost and root.symbols and not root.escapes:
                begin = next(at for at in range(begins[c], len(models)) if models[at] == id(levels[6 * c].len))
                return with_values((begin, 1, [many + 1]), (begin + 1 + many, 0, [5000]), (begin + 1 + 2 * many, 0, [1]))

    def cut_where_it_ends():
        for size in range(len(data) - 65, 0, -1):
            if ENDS in (refusal_of(lambda: model.read_model(data[:size])) or ""):
                opened = Opened("games")
                opened.new[MODEL, 0] = data[:size]
                return opened.file()

    many = [len(column.contexts) for column in read.columns]
    assert values[begins[13]] == 1, "a model with modes"
    yield "model_flag", with_values((begins[13], 1, [2]))
    few = many.index(min(many))
    yield "model_contexts", with_contexts(few, list(range(16, 21 - many[few])))
    yield "model_context", with_contexts(few, [15])
    clocks = len(read.columns[12].dictionary)
    yield "model_values", with_last_value(12, [[10_000]] + [[1]] * (8192 - clocks))
    yield "model_value_twice", with_last_value(12, [[0]])
    yield "model_code", with_last_value(9, [[0, 14, *[0] * 7]])
    yield "model_symbol", with_symbol_of_no_row()
    yield "model_end", cut_where_it_ends()


def main():
    GOLDEN.joinpath("invalid").mkdir(exist_ok=True)
    for cases in (text_cases, order_cases, directory_cases, separator_cases, section_cases,
                  operation_cases, start_cases, model_cases):
        for name, data in cases():
            (GOLDEN / "invalid" / f"{name}.epa").write_bytes(data)
            why = refusal_of(lambda: Archive(data))
            print(f"{name}: {why}")
            if not why:
                sys.exit(f"{name} is read")


if __name__ == "__main__":
    main()
