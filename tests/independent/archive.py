"""Archives: the file, segments and blocks: formats/archive.md, sections 2, 5.2 to 5.5, 7 and 9."""
import re
import unicodedata
from collections import namedtuple

import zstandard
from blake3 import blake3

import fast
import index
import kept_games
import tally_origin
from bits import Bits, Items, Refused, crc32c, prefix, refuse_if, unpacked, utf8
from board import DATA
from coder import M, Rans
from model import read_model, read_row
from moves import legal_moves
from operations import BlockReader, read_start
from rows import HAS_OPERATIONS, board_key, flipped, position_of, record_of, row_after, rows_bytes
from profiles import read_standard
from text import line_of, read_line

Section = namedtuple("Section", "kind flags segment check offset length")
Segment = namedtuple("Segment", "first first_block records per_block identity coder flags per_index_block")

SEGMENT_TABLE, MODEL, BLOCK_DIRECTORY, BLOCKS, ROWS, HEAP, INDEX, LINES, LISTS = range(1, 10)
NAMES, SIDE_DATA, ORDER, SEPARATORS, START, ORIGIN, DIGESTS, KEPT_GAMES, ROW_DIRECTORY, ROW_GUIDE, ABOUT, HEAD = range(10, 22)
MAY_BE_IGNORED = {INDEX, LINES, LISTS, NAMES, SIDE_DATA, SEPARATORS, ORIGIN, DIGESTS, KEPT_GAMES, ROW_DIRECTORY,
                  ROW_GUIDE, ABOUT, HEAD}
OF_CODER = {0: {ROWS, HEAP, HEAD}}
OF_CODER[3] = {BLOCK_DIRECTORY, BLOCKS, ORDER, SEPARATORS, HEAD}
OF_CODER[2] = OF_CODER[3] | {START}
OF_CODER[1] = OF_CODER[2] | {MODEL}
NEEDED = {0: {ROWS}, 1: {MODEL, BLOCK_DIRECTORY, BLOCKS}, 2: {BLOCK_DIRECTORY, BLOCKS},
          3: {BLOCK_DIRECTORY, BLOCKS}}
OPERATIONS, FLIPPED = 1, 2
WHOLE = 0xFFFFFFFF
MOST_TEXT = 4 * 2**20


class Shipped:
    """The model of coder 2, read once."""

    model = None

    @classmethod
    def get(cls):
        if cls.model is None:
            cls.model = read_model((DATA / "shipped.bin").read_bytes())
        return cls.model


class Archive:
    """An archive of which everything has been verified. `records` are in the order of their numbers."""

    def __init__(self, data):
        self.data = data
        self.open()
        for section in self.sections:
            refuse_if(crc32c(self.bytes_of(section)) != section.check, "the checksum of a section")
        for nth in range(len(self.segments)):
            refuse_if(self.find(HEAD, nth) not in (None, self.head(nth)), "a head that differs from the tables")
        self.records = []
        if self.is_fast():
            fast.read(self)
        else:
            index.read(self, [self.segment(nth) for nth in range(len(self.segments))])
        refuse_if(len(self.records) != self.count, "another number of records than the footer says")
        self.files = self.verbatim_files() if self.find(NAMES) is not None else None
        self.origin = self.find(ORIGIN) and tally_origin.read_origin(self.find(ORIGIN))
        self.digests = self.find(DIGESTS) and tally_origin.read_groups(self.find(DIGESTS))
        if self.origin and self.origin.games is not None:
            own = tally_origin.set_of(self.digests or [])
            refuse_if(own != self.origin.games, "another set of games")
        self.about = read_about(self.find(ABOUT)) if self.find(ABOUT) is not None else []
        self.games = self.find(KEPT_GAMES) and kept_games.read_section(self.find(KEPT_GAMES))

    def is_fast(self):
        """An archive without records has no segment: its index shows the level."""
        if not self.segments:
            return any(section.kind in (LINES, ROW_DIRECTORY) for section in self.sections)
        return self.segments[0].coder == 0

    # Opening: sections 2.1 to 2.4.

    def open(self):
        data = self.data
        refuse_if(data[:8] != b"\x89EPA\r\n\x1a\n", "not an archive")
        refuse_if(len(data) < 84 or data[-12:-4] != b"\nEPA-END", "truncated")
        for version in (data[8:10], data[-14:-12]):
            refuse_if(version != b"\1\0", f"version {int.from_bytes(version, 'little')}")
        refuse_if(int.from_bytes(data[28:32], "little") != crc32c(data[:28]), "the header")
        refuse_if(any(data[10:12]), "unknown flags of the header")
        self.open_footer(Items(data, len(data) - 52))
        self.open_sections()
        self.open_segments()
        self.check_sections()

    def open_footer(self, items):
        start = items.at
        length, self.count, its_id, _, entries, check, flags, _, _ = (items.int(size) for size in (8, 8, 8, 4, 4, 4, 2, 2, 8))
        refuse_if(items.int(4) != crc32c(self.data[start:start + 48]), "the footer")
        refuse_if(length != len(self.data), "another length of the file")
        refuse_if(flags > 1, "unknown flags of the footer")
        self.renumbered = bool(flags)
        begin = start - 32 * entries
        refuse_if(begin < 32 or crc32c(self.data[begin:start]) != check, "the section table")
        refuse_if(its_id != int.from_bytes(blake3(self.data[begin:start]).digest()[:8], "little"), "the id of the file")
        refuse_if(int.from_bytes(self.data[12:20], "little") not in (0, its_id), "a header of another file")
        table = Items(self.data, begin, start)
        self.sections = [Section(*(table.int(size) for size in (4, 4, 4, 4, 8, 8))) for _ in range(entries)]
        self.table_at = begin

    def open_sections(self):
        end, seen = 32, set()
        for section in self.sections:
            refuse_if(section.flags > 1, "unknown flags of a section")
            refuse_if(not end <= section.offset < end + 64, "a section in another place")
            refuse_if(any(self.data[end:section.offset]), "bytes between sections")
            end = section.offset + section.length
            refuse_if(end > self.table_at, "a section beyond the section table")
            if not 1 <= section.kind <= HEAD:
                refuse_if(not section.flags, f"a section of the unknown kind {section.kind}")
                continue
            refuse_if(section.flags != (section.kind in MAY_BE_IGNORED), "the flag of a section is not that of its kind")
            refuse_if((section.kind, section.segment) in seen, "a section twice")
            seen.add((section.kind, section.segment))
        refuse_if(self.table_at - end >= 64 or any(self.data[end:self.table_at]), "bytes before the section table")

    def open_segments(self):
        table = self.find(SEGMENT_TABLE)
        refuse_if(table is None or len(table) % 32, "the segment table")
        self.identity = crc32c(table)
        items = Items(table)
        self.segments = [Segment(*(items.int(size) for size in (8, 8, 4, 4, 4, 1, 1, 2)))
                         for _ in range(len(table) // 32)]
        first = first_block = 0
        for segment in self.segments:
            refuse_if(segment.coder > 3, f"an unknown coder {segment.coder}")
            refuse_if(segment.flags > 3, "unknown flags of a segment")
            refuse_if((segment.first, segment.first_block) != (first, first_block), "the segment table")
            refuse_if(not segment.records or not 1 <= segment.per_block <= 65535 or not segment.per_index_block,
                      "the segment table")
            refuse_if(segment.flags == 3 or segment.flags and segment.coder in (0, 3), "flags that do not fit")
            refuse_if(segment.coder and segment.per_block % segment.per_index_block,
                      "blocks that are not whole index blocks")
            first += segment.records
            first_block += index_blocks(segment)
        refuse_if(first != self.count, "another sum of records than the footer's")
        refuse_if(len({segment.coder == 0 for segment in self.segments}) > 1, "segments of two levels")
        self.index_blocks = first_block

    def check_sections(self):
        kinds = {(section.kind, section.segment) for section in self.sections if 1 <= section.kind <= HEAD}
        of_segments = set().union(*OF_CODER.values())
        for kind, segment in kinds:
            if kind in of_segments:
                refuse_if(segment >= len(self.segments) or kind not in OF_CODER[self.segments[segment].coder],
                          "a section that its segment does not have")
            else:
                refuse_if(segment != WHOLE, "a section of the file with a segment")
        for nth, segment in enumerate(self.segments):
            refuse_if(any((kind, nth) not in kinds for kind in NEEDED[segment.coder]), "a missing section")
            refuse_if((SEPARATORS, nth) in kinds and segment.flags & FLIPPED, "flipped rows with separators")
        whole = {kind for kind, segment in kinds if segment == WHOLE}
        refuse_if((NAMES in whole) != (SIDE_DATA in whole), "names without side data")
        refuse_if(DIGESTS in whole and ORIGIN not in whole, "digests without an origin")
        refuse_if(ROW_GUIDE in whole and ROW_DIRECTORY not in whole, "a row guide without a directory")
        refuse_if(LISTS in whole and LINES not in whole, "lists without an index")
        allowed = INDEX if not self.is_fast() else ROW_DIRECTORY if self.renumbered else LINES
        refuse_if(whole & {INDEX, LINES, ROW_DIRECTORY} - {allowed}, "an index of another level")

    def head(self, nth):
        """Section 2.7: what the head of a segment repeats."""
        entries = [self.data[at:at + 32] for at in range(self.table_at, len(self.data) - 52, 32)]
        listed = [entry for section, entry in zip(self.sections, entries)
                  if section.segment == nth and section.kind in range(1, HEAD) and section.kind != SEPARATORS]
        head = b"\nEPA-SEG" + self.find(SEGMENT_TABLE)[32 * nth:32 * nth + 32] + b"".join(listed)
        return head + crc32c(head).to_bytes(4, "little")

    def find(self, kind, segment=WHOLE):
        for section in self.sections:
            if (section.kind, section.segment) == (kind, segment):
                return self.bytes_of(section)
        return None

    def bytes_of(self, section):
        return self.data[section.offset:section.offset + section.length]

    # Segments of level default.

    def segment(self, nth):
        """The segment with its rows and records by storage numbers, and the numbers of these records."""
        segment = self.segments[nth]
        reader = SegmentReader(self, nth, segment)
        reader.read()
        return reader

    # Verbatim archives, section 7.

    def verbatim_files(self):
        items, names = Items(self.find(NAMES)), []
        for _ in range(items.int(4)):
            names.append(utf8(items.take(items.groups(9)), "a name"))
        refuse_if(not items.ends(), "other names than their number says")
        files, items, number, chunk = [], Items(self.find(SIDE_DATA)), 0, 0
        while not items.ends():
            number = self.chunk(items, chunk, number, files)
            chunk += 1
        refuse_if(number != self.count or len(files) != len(names), "a script that does not fit its records and names")
        return list(zip(names, map(bytes, files)))

    def chunk(self, items, chunk, number, files):
        head = items.data[items.at:items.at + 16]
        count, length, packed_length, packed_check = (items.int(4) for _ in range(4))
        refuse_if(items.int(4) != crc32c(prefix(self.identity, chunk), head), "a chunk of side data")
        refuse_if(count > 4096 or length > 64 * 2**20, "a chunk over its limits")
        packed = items.take(packed_length)
        refuse_if(crc32c(packed) != packed_check, "a packed script")
        lines = [line_of(record) + b"\n" for record in self.records[number:number + count]]
        refuse_if(len(lines) != count, "more records in chunks than in the file")
        script = unpacked(packed, length, b"".join(lines))
        play_script(Items(script), lines, files)
        return number + count


def read_about(section):
    """Section 2.6: the facts, each a key and a value."""
    text = utf8(section, "facts that are not UTF-8")
    refuse_if(len(section) > 65_536 or text[-1:] != "\n", "facts without a line feed at their end, or too many")
    lines = text[:-1].split("\n")
    for line in lines:
        key, _, value = line.partition(" ")
        refuse_if(not re.fullmatch("[a-z0-9-]{1,32}", key) or not 1 <= len(value.encode()) <= 4096, "the form of a fact")
        refuse_if(any(unicodedata.category(sign) == "Cc" for sign in value), "a control character in a fact")
    refuse_if(any(a.encode() >= b.encode() for a, b in zip(lines, lines[1:])), "facts that do not ascend")
    return [line.split(" ", 1) for line in lines]


def play_script(items, lines, files):
    """Section 7.2: appends to the files what the steps say."""
    lines = iter(lines)

    def line():
        found = next(lines, None)
        refuse_if(found is None or not files, "a script that does not fit its records")
        return found

    while not items.ends():
        step = items.int(1)
        if step == 4:
            files.append(bytearray())
        elif step == 3:
            refuse_if(not files, "bytes before the first file")
            files[-1] += items.take(items.groups(9))
        elif step == 0:
            for _ in range(items.groups(9)):
                text = line()
                files[-1] += text
        elif step == 1:
            keep, drop, new = items.groups(9), items.groups(9), items.take(items.groups(9))
            text = line()
            refuse_if(keep + drop > len(text), "a change beyond its line")
            files[-1] += text[:len(text) - keep - drop] + new + text[len(text) - keep:]
        else:
            raise Refused("an unknown step of a script")
    refuse_if(next(lines, None) is not None, "a script that does not use its records")


def read_text(line):
    """Section 5.2: a line of a block of coder 3."""
    is_fen = not line.endswith(b";") and line.count(b" ") == 5
    return read_line(line) if is_fen else read_standard(line)


def index_blocks(segment):
    """With coder 0 each record counts as one."""
    return segment.records if segment.coder == 0 else -(-segment.records // segment.per_index_block)


class SegmentReader:
    """`rows`, `records` and `numbers` are by storage numbers: the order in the blocks."""

    def __init__(self, archive, nth, segment):
        self.archive, self.nth, self.segment = archive, nth, segment
        self.rows, self.records = [], []
        model = archive.find(MODEL, nth)
        self.model = {1: read_model, 2: lambda _: Shipped.get(), 3: lambda _: None}[segment.coder](model)
        self.start = archive.find(START, nth) or b""
        read_start(self.start)

    def read(self):
        segment, count = self.segment, self.segment.records
        self.numbers = self.order(count)
        at = 0
        for block in self.blocks():
            held = min(segment.per_block, count - at)
            if segment.coder == 3:
                records = self.text_block(block, segment.first + at, held)
                self.rows += [None] * held
            else:
                rows, records = self.block(block, segment.first + at, held)
                self.rows += rows
            self.records += records
            at += held
        if self.numbers is not None:
            refuse_if(any(opcode not in ("hmvc", "fmvn") for record in self.records
                          for opcode, _ in record.operations), "a row with operations in a segment with an order")
        self.numbers = self.numbers or list(range(count))
        self.keys = [board_key(record) for record in self.records]
        self.separators = self.archive.find(SEPARATORS, self.nth)
        if self.separators is not None:
            index.check_separators(self)

    def blocks(self):
        """Section 5.3."""
        section = self.archive.find(BLOCKS, self.nth)
        count = -(-self.segment.records // self.segment.per_block)
        directory = self.archive.find(BLOCK_DIRECTORY, self.nth)
        items = Items(directory)
        width, groups = items.int(1), -(-count // 32)
        refuse_if(not 1 <= width <= 4 or len(directory) != 1 + 8 * groups + width * count, "the block directory")
        at = 0
        for nth in range(count):
            if nth % 32 == 0:
                refuse_if(items.int(8) != at, "blocks that do not follow each other")
            length = items.int(width)
            refuse_if(length < 4 or at + length > len(section), "a block outside its section")
            yield section[at:at + length]
            at += length
        refuse_if(at != len(section), "blocks that do not fill their section")

    def block(self, data, first, count):
        segment, coded = self.segment, b""
        if segment.flags & OPERATIONS:
            items = Items(data)
            data = items.take(items.groups(9))
            coded = items.take(items.end - items.at)
        rans = Rans(data)
        rows = self.coded_rows(rans, count)
        rans.finish(crc32c(prefix(segment.identity, first), rows_bytes(rows), coded))
        if segment.flags & FLIPPED:
            rows = [flipped(row) for row in rows]
        have = any(row[0] & HAS_OPERATIONS for row in rows)
        refuse_if(have and not segment.flags & OPERATIONS, "operations in a segment without them")
        refuse_if(bool(coded) != have, "operations that no record has, or none although one has")
        return rows, BlockReader(coded, rows, self.start).records() if have else [record_of(row) for row in rows]

    def coded_rows(self, rans, count):
        model, rows = self.model, []
        base, symbols = [0] * 13, [0] * 13
        for nth in range(count):
            mode = rans.among(model.modes) if model.modes and nth else 0
            if mode < 14:
                base = list(base)
                read_row(rans, model, base, symbols, mode)
                rows.append(base)
            else:
                rows.append(row_after(rows[-1], self.moved(rans, rows[-1]), mode))
        return rows

    def moved(self, rans, row):
        """Section 2.4 of the model: the move that leads to the next row."""
        moves = legal_moves(position_of(row))
        count = len(moves)
        refuse_if(not 1 <= count <= M, "a mode for a move if there is no legal move")
        ordinal = ((rans.slot() + 1) * count - 1) // M
        start, end = ordinal * M // count, (ordinal + 1) * M // count
        rans.advance(start, end - start)
        return moves[ordinal]

    def text_block(self, data, first, count):
        frame, check = data[:-4], int.from_bytes(data[-4:], "little")
        refuse_if(crc32c(prefix(self.segment.identity, first), frame) != check, "a block of text")
        size = zstandard.frame_content_size(frame)
        refuse_if(not 0 <= size <= MOST_TEXT, "text without its size, or over its limit")
        lines = unpacked(frame, size).split(b"\n")
        refuse_if(lines.pop() or len(lines) != count, "other lines than records")
        records = [read_text(line) for line in lines]
        refuse_if([line_of(record) for record in records] != lines, "a line that is not canonical")
        return records

    def order(self, count):
        """Section 5.4: the number of the record of each storage number."""
        data = self.archive.find(ORDER, self.nth)
        if data is None:
            return None
        pieces = -(-count // 512)
        refuse_if(len(data) < 8 * pieces, "an order with missing pieces")
        ends = [int.from_bytes(data[at:at + 8], "little") for at in range(len(data) - 8 * pieces, len(data), 8)]
        numbers, begin = [], 0
        for nth, end in enumerate(ends):
            refuse_if(not begin + 4 <= end <= len(data) - 8 * pieces, "an order with missing pieces")
            piece, check = data[begin:end - 4], int.from_bytes(data[end - 4:end], "little")
            refuse_if(crc32c(prefix(self.segment.identity, nth), piece) != check, "a piece of an order")
            bits = Bits(piece)
            numbers += piece_of_order(bits, min(512, count - 512 * nth), (count - 1).bit_length())
            bits.finish()
            begin = end
        refuse_if(begin != len(data) - 8 * pieces, "bytes after the last piece")
        refuse_if(sorted(numbers) != list(range(count)), "a number twice, or one above the last")
        return numbers


def piece_of_order(bits, count, width):
    plain, before = bits.bits(5), None
    for _ in range(count):
        ones = 8
        if before is not None and plain < 31:
            ones = bits.ones(8)
        if ones == 8:
            number = bits.bits(width)
        else:
            d = ones << plain | bits.bits(plain)
            number = before + (d // 2 if d % 2 == 0 else -(d + 1) // 2)
        yield number
        before = number
