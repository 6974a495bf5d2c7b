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
from archive import BLOCK_DIRECTORY, BLOCKS, HEAD, MODEL, OPERATIONS, ORDER, SEPARATORS, Archive, Section
from bits import Items, Refused, crc32c, groups, little, prefix
from coder import M, Adaptive, Rans
from record import STANDARD
from rows import rows_bytes

GOLDEN = Path(__file__).resolve().parents[2] / "formats" / "golden" / "archive"
AT_64 = {5, 8, 18}


class Opened(Archive):
    """An archive of which only the tables have been read; sections may be replaced."""

    def __init__(self, name):
        self.data = (GOLDEN / f"{name}.epa").read_bytes()
        self.open()
        self.new, self.flags = {}, {}

    def sized(self):
        return [(section, self.new.get((section.kind, section.segment), self.bytes_of(section)))
                for section in self.sections] + \
               [(Section(kind, int(kind in archive.MAY_BE_IGNORED), segment, 0, 0, 0), data)
                for (kind, segment), data in self.new.items() if self.find(kind, segment) is None]

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


class Forged(Adaptive):
    """Reads data and keeps the bits, until a rule says another value of a call; zeros follow.

    A rule is called with the name of each call and its model, and returns None, the value, or it and bits that follow."""

    def __init__(self, data):
        super().__init__(data)
        self.bits, self.rule, self.forced, self.depth = [], lambda name, model: None, None, 0

    def bit(self, p):
        one = super().bit(p) if self.forced is None else self.forced.pop(0) if self.forced else 0
        self.bits.append((p, one))
        return one

    def _call(self, name, model, bits_of, read):
        if self.depth == 0 and self.forced is None:
            value = self.rule(name, model)
            value, *then = value if isinstance(value, tuple) else (value,)
            self.forced = None if value is None else bits_of(value) + then
        self.depth += 1
        try:
            return read()
        finally:
            self.depth -= 1

    def adaptive_bit(self, model):
        return self._call("bit", model, lambda value: [value], lambda: super(Forged, self).adaptive_bit(model))

    def symbol(self, model, bits):
        return self._call("symbol", model, lambda value: plain(value, bits), lambda: super(Forged, self).symbol(model, bits))

    def number(self, model):
        return self._call("number", model, number_bits, lambda: super(Forged, self).number(model))

    def raw(self, bits):
        return self._call("raw", None, lambda value: plain(value, bits), lambda: super(Forged, self).raw(bits))

    def uniform(self, n):
        return self._call("uniform", n, lambda value: uniform_bits(value, n), lambda: super(Forged, self).uniform(n))

    def bytes(self):
        return coded_bits(self.bits)


class Scripted(Forged):
    """Reads nothing: each call has the next of some values, and 0 after the last."""

    def __init__(self, values):
        super().__init__(b"")
        self.values, self.forced = list(values), []

    def _call(self, name, model, bits_of, read):
        if self.depth == 0:
            self.forced = bits_of(self.values.pop(0)) if self.values else []
        return super()._call(name, model, bits_of, read)


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


def nth(count, name, value):
    """The rule that says a value of the count-th call of a name, from 0."""
    calls = [0]

    def rule(its_name, model):
        calls[0] += its_name == name
        return value if its_name == name and calls[0] == count + 1 else None
    return rule


def refusal_of(read):
    """Why reading refuses."""
    try:
        read()
    except Refused as refusal:
        return str(refusal)
    return None


def with_coder(module, kind, read):
    """What `read` reads while a module makes its coder by `kind`."""
    its, module.Adaptive = module.Adaptive, kind
    try:
        return read()
    finally:
        module.Adaptive = its


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

    def scripted(self, values):
        """The file with operations of these values, which a reader refuses, for their cost if for nothing else."""
        a = Scripted(values)
        made = [a]

        def read():
            block = operations.BlockReader(b"", self.rows, self.reader.start)
            block.most = 2**30
            block.records()
        refusal_of(lambda: with_coder(operations, lambda data: made.pop() if made else Adaptive(data), read))
        return self.with_operations(a.bytes())


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
    section[3] ^= 1
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


NUMBER = {opcode: nth for nth, opcode in enumerate(STANDARD)}


def operation_cases():
    """Each has the first record with operations of default.epa: `4k3/8/8/8/8/8/4P3/4K3 w - - hmvc 5; …`."""
    new, text = len(STANDARD[:51]), [0, 1, NUMBER["id"], 3]
    end = 0
    for name, values in (
        ("text_form", [*text, 7]),
        ("text_form_15", [*text, 15]),
        ("text_no_digits", [*text, 2]),
        ("text_no_moves", [*text, 5, end]),
        ("text_no_pairs", [*text, 6, end]),
        ("text_one_move", [*text, 3, 1]),
        ("text_moves", [*text, 3, 200]),
        ("text_one_number", [*text, 4, 1]),
        ("text_number_below", [*text, 4, 2, 5, 0, 6]),
        ("operand_kind", [0, 1, NUMBER["id"], 6]),
        ("operand_tally", [0, 1, NUMBER["id"], 5]),
        ("operand_move", [0, 1, NUMBER["id"], 1]),
        ("shape_index", [1]),
        ("shape_empty", [0, 0]),
        ("shape_order", [0, 2, NUMBER["id"], NUMBER["acn"]]),
        ("shape_twice", [0, 2, NUMBER["id"], NUMBER["id"]]),
        ("opcode_number", [0, 1, new + 1]),
        ("opcode_empty", [0, 1, new, 0]),
        ("opcode_digit", [0, 1, new, 1, ord("1")]),
        ("opcode_known", [0, 1, new, 2, ord("i"), ord("d")]),
        ("moves_order", [0, 1, NUMBER["bm"], 1, 1, 1, 0, end]),
        ("moves_twice", [0, 1, NUMBER["bm"], 1, 0, 1, 0, end]),
        ("counter_operation", [0, 1, NUMBER["fmvn"], 2, 5, 0, end]),
        ("cost", [0, 1, NUMBER["acn"], *[2, 0] * 3000]),
    ):
        yield f"operations_{name}", block_of("default").scripted(values)
    yield "operations_empty", block_of("default").with_operations(b"")
    yield "operations_end", block_of("default").with_operations(b"\xff\xff\xff\xff")
    yield "operations_of_none", block_of("operations").with_operations(b"\0")


def searched(wanted, values, make):
    """The first of some values whose case is refused for the reason wanted, made into a case."""
    for value in values:
        made = []
        if wanted in (refusal_of(lambda: made.append(make(value, made))) or ""):
            return made[0].bytes()
    raise AssertionError(wanted)


def model_cases():
    def with_model(data):
        opened = Opened("games")
        opened.new[MODEL, 0] = data
        return opened.file()

    def forged(wanted, values, rule):
        data = Opened("games").find(MODEL, 0)

        def make(value, made):
            a = Forged(data)
            a.rule = rule(value)
            made.append(a)
            with_coder(model, lambda _: a, lambda: model.read_model(data))
        return with_model(searched(wanted, values, make))

    yield "model_flag", forged("unknown flag", [2], lambda value: nth(0, "number", value))
    yield "model_contexts", forged("too many contexts", [5], lambda value: nth(1, "number", value))
    yield "model_context", forged("a context that is not there", range(200), lambda at: nth(at, "number", 15))
    yield "model_values", forged("too many values", [8193], lambda value: nth(2, "number", value))
    yield "model_code", forged("a code above 13", range(200), lambda at: nth(at, "symbol", 14))
    yield "model_value_twice", forged("a value twice", range(400), lambda at: nth(at, "number", 8))
    yield "model_symbol", forged("a symbol that is not there", range(400), lambda at: nth(at, "number", 5000))
    yield "model_end", with_model(b"\xff\xff\xff\xff")


def main():
    GOLDEN.joinpath("invalid").mkdir(exist_ok=True)
    for cases in (text_cases, order_cases, directory_cases, separator_cases, operation_cases, model_cases):
        for name, data in cases():
            (GOLDEN / "invalid" / f"{name}.epa").write_bytes(data)
            why = refusal_of(lambda: Archive(data))
            print(f"{name}: {why}")
            if not why:
                sys.exit(f"{name} is read")


if __name__ == "__main__":
    main()
