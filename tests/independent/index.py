"""Separators and the position index of level default: formats/archive.md, sections 5.5 and 6."""
from bits import Bits, Items, crc32c, prefix, refuse_if
from board import key, pack, pawn_key, white_key

INDEX = 7


def read(archive, segments):
    """The records of all segments by their numbers; the index is that of these records."""
    for segment in segments:
        by_number = sorted(zip(segment.numbers, range(len(segment.records))))
        archive.records += [segment.records[at] for _, at in by_number]
    section = archive.find(INDEX)
    if section is not None:
        refuse_if(entries_of(archive, section) != expected_entries(archive, segments, section),
                  "the index has other records than the file")


# Separators.

def check_separators(segment):
    """Rows ascend, and each separator is between the rows of its block and those of the block before."""
    keys, size = segment.keys, segment.segment.per_index_block
    rows = list(zip(keys, segment.numbers))
    refuse_if(rows != sorted(rows), "rows that do not ascend")
    count = -(-len(keys) // size)
    for nth, separator in enumerate(read_separators(segment, count)):
        refuse_if(separator > keys[nth * size], "a separator above its block")
        refuse_if(nth and separator < keys[nth * size - 1], "a separator below the block before")


def read_separators(segment, count):
    data, groups = segment.separators, -(-count // 64)
    refuse_if(len(data) < 4 * groups, "groups of separators are missing")
    parts_end, begin, parts = len(data) - 4 * groups, 0, []
    ends = [int.from_bytes(data[at:at + 4], "little") for at in range(parts_end, len(data), 4)]
    for nth, end in enumerate([*ends, parts_end]):
        refuse_if(not begin + 4 <= end <= parts_end, "a group of separators is missing")
        part, check = data[begin:end - 4], int.from_bytes(data[end - 4:end], "little")
        refuse_if(crc32c(prefix(segment.segment.identity, nth), part) != check, "a group of separators")
        parts.append(Bits(part))
        begin = end
    last, *firsts = separators(parts[-1], groups + 1, [0] * 9)
    refuse_if(last <= list(segment.keys[-1]), "an end that is not above the last row")
    out = []
    for nth, (bits, first) in enumerate(zip(parts, firsts)):
        out += [first, *separators(bits, min(64, count - 64 * nth) - 1, first)]
    for bits in parts:
        bits.finish()
    return out


def separators(bits, count, before):
    for _ in range(count):
        shared, given = bits.bits(4), bits.bits(4)
        refuse_if(shared + given > 9, "a separator of more than nine columns")
        key = before[:shared]
        for nth in range(given):
            if nth + 1 < given:
                key.append(bits.bits(32))
            else:
                size = bits.bits(2) + 1
                key.append(bits.bits(8 * size) << (32 - 8 * size))
        key += [0] * (9 - len(key))
        yield key
        before = key


# The index.

class Tail:
    def __init__(self, archive, section):
        refuse_if(len(section) < 12, "an index without its tail")
        tail = section[-12:]
        self.b, self.r, self.l, self.e = tail[:4]
        self.n, check = int.from_bytes(tail[4:8], "little"), int.from_bytes(tail[8:], "little")
        refuse_if(self.b + self.r > 64 or self.l > 32 or self.e not in (4, 8) or self.b > 40, "the tail of an index")
        refuse_if(crc32c(prefix(archive.identity, 2**self.b), tail[:8]) != check, "the tail of an index")
        refuse_if(self.n != archive.index_blocks, "another number of index blocks")
        self.directory_at = len(section) - 12 - self.e * 2**self.b
        refuse_if(self.directory_at < 0, "buckets are missing")


def rice(bits, plain):
    high = bits.ones()
    return high << plain | bits.bits(plain)


def below(bits, n):
    log = n.bit_length() - 1
    short = (2 << log) - n
    value = bits.bits(log)
    return value if value < short else (value << 1 | bits.bit()) - short


def bucket(bits, keys, tail):
    key, n = 0, tail.n
    for _ in range(keys):
        key += rice(bits, tail.l)
        log = bits.ones()
        refuse_if(log > 32, "a key with more blocks than exist")
        count = 1 << log | bits.bits(log)
        refuse_if(count > n, "a key with more blocks than exist")
        blocks = [below(bits, n)]
        while len(blocks) < count:
            skipped = 0 if bits.bit() == 1 else 1 + rice(bits, (n // count).bit_length() - 1)
            blocks.append(blocks[-1] + 1 + skipped)
        refuse_if(blocks[-1] >= n or key >= 2**tail.r, "a block or a key beyond the last")
        yield key, blocks
        key += 1


def entries_of(archive, section):
    """The blocks of each cut key."""
    tail, begin, entries = Tail(archive, section), 0, {}
    for nth in range(2**tail.b):
        at = tail.directory_at + tail.e * nth
        end = int.from_bytes(section[at:at + tail.e], "little")
        refuse_if(not begin + 8 <= end <= tail.directory_at, "a bucket is missing")
        data, check = section[begin:end - 4], int.from_bytes(section[end - 4:end], "little")
        refuse_if(crc32c(prefix(archive.identity, nth), data) != check, "a bucket")
        bits = Bits(data[4:])
        for key, blocks in bucket(bits, int.from_bytes(data[:4], "little"), tail):
            entries[nth << tail.r | key] = blocks
        bits.finish()
        begin = end
    refuse_if(begin != tail.directory_at, "bytes after the last bucket")
    return entries


def expected_entries(archive, segments, section):
    tail, left, whole = Tail(archive, section), [], {}
    for segment in segments:
        if segment.separators is not None:
            continue
        for at, record in enumerate(segment.records):
            block = segment.segment.first_block + at // segment.segment.per_index_block
            left.append((record.position, block))
    for part, most in ((pawn_key, 2), (white_key, 2), (key, len(left))):
        blocks = {}
        for position, block in left:
            blocks.setdefault(part(position), set()).add(block)
        for its_key, its_blocks in blocks.items():
            if len(its_blocks) <= most:
                whole.setdefault(its_key >> 64 - tail.b - tail.r, set()).update(its_blocks)
        left = [it for it in left if len(blocks[part(it[0])]) > most]
    return {cut: sorted(blocks) for cut, blocks in whole.items()}
