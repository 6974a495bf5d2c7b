"""Level fast: formats/archive.md, section 4."""
from bits import crc32c, little, prefix, refuse_if
from board import key, pack, packed_length, unpack
from moves import identity
from record import Record, has_outermost, read_record

ROWS, HEAP, LINES, LISTS, ROW_DIRECTORY, ROW_GUIDE = 5, 6, 8, 9, 18, 19
NO_RIGHTS = (None,) * 4


class Row:
    """A row with its record. `further` is (number of further records, other further ones before), or None."""

    def __init__(self, record, further):
        self.record, self.further = record, further
        self.key, self.board = key(record.position), pack(record.position)


def read(archive):
    rows = []
    for nth, segment in enumerate(archive.segments):
        rows += read_segment(archive, nth, segment)
    archive.records = [row.record for row in rows]
    directory = archive.find(ROW_DIRECTORY)
    refuse_if(directory is None and any(row.further for row in rows), "bit 38 without a row directory")
    if directory is not None:
        check_directory(archive, rows, directory)
    if archive.find(LINES) is not None:
        check_lines(archive, rows)


def read_segment(archive, nth, segment):
    section, heap = archive.find(ROWS, nth), archive.find(HEAP, nth)
    refuse_if(len(section) != 32 * segment.records, "rows that are not 32 bytes a record")
    refuse_if(heap == b"", "an empty heap")
    return [read_row(section[32 * nth:32 * nth + 32], heap or b"", segment, segment.first + nth)
            for nth in range(segment.records)]


def read_row(row, heap, segment, number):
    check = crc32c(prefix(segment.identity, number), row[:29], bytes(3))
    refuse_if(check >> 8 != int.from_bytes(row[29:], "little"), f"the check of row {number}")
    rest = int.from_bytes(row[24:29], "little")
    if rest >> 39:
        return heap_row(row, heap, segment, number, rest)
    refuse_if(rest >> 38, "bit 38 outside the heap")
    position, length = unpack(row[:24])
    refuse_if(not any(row[:8]) or any(row[length:24]), "bytes after the board")
    refuse_if(identity(position).en_passant != position.en_passant, "a board that is not an identity board")
    record = Record(position)
    clock, number, have = rest & 1023, rest >> 10 & 16383, rest >> 24 & 1
    refuse_if(bool(number) != bool(have) or clock and not have, "counters that do not fit bit 24")
    record.counters = (clock, number) if have else None
    refuse_if(rest >> 25 & 1 and position.rights == NO_RIGHTS, "Shredder's letters without a right")
    record.shredder = bool(rest >> 25 & 1) and has_outermost(position)
    given = rest >> 26 & 4095
    if given:
        refuse_if(given > 8 or position.en_passant is not None, "an en passant file that no record has")
        record.given = given - 1
        square = record.given + (16 if position.black else 40)
        refuse_if(identity(position.same_but(en_passant=square)).en_passant is not None,
                  "an en passant square that belongs to the board")
    return Row(record, None)


def heap_row(row, heap, segment, number, rest):
    at, size_class = rest & 2**32 - 1, rest >> 32 & 63
    begin = at + 4 + (8 if rest >> 38 & 1 else 0)
    refuse_if(begin > len(heap), "an offset outside the heap")
    record, end = read_record(heap, begin)
    check = crc32c(prefix(segment.identity, number), heap[at + 4:end])
    refuse_if(int.from_bytes(heap[at:at + 4], "little") != check, "the check of a record of the heap")
    refuse_if(next(n for n in range(64) if end - at <= longest_of(n)) != size_class, "another class of the length")
    board = pack(record.position)
    refuse_if(row[:24] != (bytes(24) if len(board) > 24 else board.ljust(24, b"\0")), "another board than the row's")
    further = None
    if rest >> 38 & 1:
        further = tuple(int.from_bytes(heap[at + n:at + n + 4], "little") for n in (4, 8))
        refuse_if(further[0] == 0, "bit 38 without further records")
    return Row(record, further)


def longest_of(size_class):
    return (2 + size_class % 2) << (size_class // 2 + 3)


# The index of unsorted rows: sections 4.3 and 4.4.

class Index:
    """Lines whose checks match, and the lists."""

    def __init__(self, archive):
        section, self.archive = archive.find(LINES), archive
        refuse_if(len(section) % 64 != 12, "lines that are not whole")
        self.count = len(section) // 64
        tail = section[64 * self.count:]
        self.homes = int.from_bytes(tail[:8], "little")
        refuse_if(crc32c(prefix(archive.identity, self.count), tail[:8]) != int.from_bytes(tail[8:], "little"),
                  "the check of the homes")
        refuse_if(not 1 <= self.homes <= self.count, "homes out of range")
        self.lines = [self.line(section[64 * nth:64 * nth + 64], nth) for nth in range(self.count)]
        refuse_if(self.lines[-1][1], "entries beyond the last line")
        self.lists = archive.find(LISTS) or b""

    def line(self, line, nth):
        """The entries of a line, (pointer, mark), and if there may be more of them in the next line."""
        tail = int.from_bytes(line[60:], "little")
        check = crc32c(prefix(self.archive.identity, nth), line[:60], little(tail & 15, 4))
        refuse_if(check >> 4 != tail >> 4, f"the check of line {nth}")
        refuse_if(tail & 15 in (13, 14), "a count of 13 or 14")
        count = min(tail & 15, 12)
        pointers = [int.from_bytes(line[4 * n:4 * n + 4], "little") for n in range(12)]
        return list(zip(pointers[:count], line[48:48 + count])), tail & 15 == 15

    def numbers(self, entry):
        """The records of an entry."""
        if entry < 2**31:
            return [entry]
        at = 4 * (entry - 2**31)
        refuse_if(at + 8 > len(self.lists), "a list beyond the end")
        count = int.from_bytes(self.lists[at:at + 4], "little")
        data = self.lists[at + 8:at + 8 + 4 * count]
        refuse_if(len(data) != 4 * count, "a list beyond the end")
        check = crc32c(prefix(self.archive.identity, at // 4), little(count, 4), data)
        refuse_if(check != int.from_bytes(self.lists[at + 4:at + 8], "little"), "the check of a list")
        return [int.from_bytes(data[n:n + 4], "little") for n in range(0, len(data), 4)]

    def lookup(self, rows, its_key, board):
        nth = its_key * self.homes >> 64
        while True:
            entries, more = self.lines[nth]
            for entry, mark in entries:
                if mark == its_key & 255:
                    found = [number for number in self.numbers(entry) if rows[number].board == board]
                    if found:
                        return found
            if not more:
                return []
            nth += 1


def check_lines(archive, rows):
    """The index has exactly the records, by entries in the order of keys, and lookups find them."""
    index, by_key, by_board = Index(archive), {}, {}
    for number, row in enumerate(rows):
        by_key.setdefault(row.key, []).append(number)
        by_board.setdefault(row.board, []).append(number)
    expected = sorted(by_key.items())
    entries = [(nth, entry, mark) for nth, line in enumerate(index.lines) for entry, mark in line[0]]
    refuse_if(len(entries) != len(expected), "the index has another number of keys")
    room, line = 12, 0
    for (nth, entry, mark), (its_key, numbers) in zip(entries, expected):
        refuse_if(index.numbers(entry) != numbers or mark != its_key & 255, "an entry of other records")
        refuse_if(len(numbers) > 1 and entry < 2**31, "a key of several records without a list")
        home = its_key * index.homes >> 64
        if max(home, line) > line:
            line, room = home, 12
        if not room:
            line, room = line + 1, 12
        room -= 1
        refuse_if(nth != line, "an entry in another line")
    firsts = {}
    for (nth, _, _), (its_key, _) in zip(entries, expected):
        firsts.setdefault(nth, its_key * index.homes >> 64)
    for nth, (held, more) in enumerate(index.lines):
        follows = len(held) == 12 and firsts.get(nth + 1, index.count) <= nth
        refuse_if(more != follows, "the count of a line")
    for board, numbers in by_board.items():
        refuse_if(index.lookup(rows, rows[numbers[0]].key, board) != numbers, "a position that is not found")


# The row directory and its guide: sections 4.5 and 4.6.

def check_directory(archive, rows, directory):
    refuse_if(len(directory) % 64 or not directory, "a row directory that is not whole lines")
    lines = len(directory) // 64
    held = [count_of(directory[64 * nth:64 * nth + 64]) for nth in range(lines)]
    firsts = int.from_bytes(directory[-64:-60], "little") + held[-1]
    refuse_if(firsts > len(rows), "first records that do not exist")
    keys = [row.key for row in rows[:firsts]]
    refuse_if(any(a >= b for a, b in zip(keys, keys[1:])), "keys of first records that do not ascend")
    expected = b"".join(directory_lines(archive.identity, keys, lines))
    refuse_if(directory != expected, "a row directory of other records")
    check_further(rows, firsts)
    guide = archive.find(ROW_GUIDE)
    if guide is not None:
        refuse_if(len(guide) != 2 * lines, "a row guide of another length")
        refuse_if(guide != guide_of(directory, firsts, lines), "a row guide that leads elsewhere")


def count_of(line):
    return int.from_bytes(line[16:20], "little") if line[15] == 255 else line[15]


def directory_lines(identity, keys, lines):
    of_lines = [[] for _ in range(lines)]
    for its_key in keys:
        number, rest = divmod(its_key * lines, 2**64)
        of_lines[number].append((rest >> 61, rest >> 53 & 255))
    first = 0
    for nth, entries in enumerate(of_lines):
        ends = [sum(bucket <= b for bucket, _ in entries) for b in range(8)]
        if len(entries) >= 255:
            body = b"\xff" * 8 + little(len(entries), 4) + bytes(44)
        else:
            body = bytes(ends) + bytes(mark for _, mark in entries[:48]).ljust(48, b"\0")
        check = crc32c(prefix(identity, nth), little(first, 4), bytes(4), body)
        yield little(first, 4) + little(check, 4) + body
        first += len(entries)


def check_further(rows, firsts):
    """Further records follow the first ones, by key, and each key's first record leads to them."""
    at = firsts
    for row in rows[:firsts]:
        if row.further:
            count, before = row.further
            refuse_if(before != at - firsts or at + count > len(rows), "further records that do not exist")
            refuse_if(any(other.key != row.key for other in rows[at:at + count]), "a further record of another key")
            at += count
    refuse_if(at != len(rows) or any(row.further for row in rows[firsts:]), "a further record that nothing leads to")


def guide_of(directory, firsts, lines):
    out = b""
    for nth in range(lines):
        first = int.from_bytes(directory[64 * nth:64 * nth + 4], "little")
        shift = first - nth * firsts // lines
        out += min(max(shift, -32768), 32767).to_bytes(2, "little", signed=True)
    return out
