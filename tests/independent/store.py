"""Stores: formats/store.md."""
from collections import namedtuple

import xxhash

import kept_games
import tally_origin
from bits import Items, crc32c, little, refuse_if, utf8
from board import key, pack, unpack
from record import read_record, write_record

SEEDS = {"blocks": 1, "crowded": 2, "imports": 3, "game digests": 4, "kept games": 5}
WHOLE = 0xFFFFFFFF
Entry = namedtuple("Entry", "number record board key")
Stub = namedtuple("Stub", "board key records bytes first digest")
Meta = namedtuple("Meta", "version check needed_to_read needed_to_write blocks records positions overflow chunks "
                          "imports next bytes_of_records bytes_of_blocks commit digest_of_blocks digest_of_chunks "
                          "digest_of_imports check_of_checks check_of_origin")
SIZES = (4, 4, 4, 4, *[8] * 10, 16, 16, 16, 4, 4)


def spread(fraction, parts):
    return fraction * parts >> 64, fraction * parts & 2**64 - 1


def digest_of(table, rows):
    """The digest of rows: the sum of the digests of each."""
    total = 0
    for row_key, value in rows:
        as_bytes = row_key if isinstance(row_key, bytes) else little(row_key, 8)
        total += xxhash.xxh3_128_intdigest(as_bytes + value, SEEDS[table])
    return total % 2**128


class Store:
    """A store of which everything has been verified; `entries` are in the order of import numbers."""

    def __init__(self, tables, runs=None):
        """`tables`: for each name the rows, (key, value), in the order of keys. `runs`: the bytes of the file of
        runs, if there is one."""
        self.tables, self.entries, self.stubs = tables, [], []
        rows = dict(tables.get("epdb", []))
        self.read_meta(rows.get("meta"))
        self.read_checks(rows.get("block checks"))
        self.read_imports()
        for number in range(self.meta.blocks):
            self.read_block(number)
        self.check_stubs()
        self.check_totals()
        self.read_runs(rows.get("runs"), runs)
        self.read_origin(rows.get("origin of tallies"))
        self.read_kept_games(rows.get("kept games"))
        self.entries.sort(key=lambda entry: entry.number)

    def rows(self, table):
        return self.tables.get(table, [])

    def read_meta(self, row):
        refuse_if(row is None or row[:8] != b"epdb\r\n\x1a\n", "not a store")
        items = Items(row, 8)
        version = items.int(4)
        refuse_if(version != 1, f"version {version}")
        refuse_if(len(row) != 160, "another length of the meta row")
        items.at = 8
        meta = self.meta = Meta(*(items.int(size) for size in SIZES))
        refuse_if(crc32c(row[:12], row[16:]) != meta.check, "the check of the meta row")
        refuse_if(meta.needed_to_read, "features that are needed to read")
        refuse_if(not meta.blocks, "no blocks")
        refuse_if(meta.records > meta.bytes_of_records or meta.records > meta.next or meta.positions > meta.records
                  or meta.overflow > min(meta.chunks, meta.positions), "counts that contradict each other")
        for table, count in (("blocks", meta.blocks), ("crowded", meta.chunks), ("imports", meta.imports)):
            refuse_if(len(self.rows(table)) != count, f"another number of rows of {table}")

    def read_checks(self, row):
        refuse_if(row is None or len(row) != 4 * self.meta.blocks, "block checks for another number of blocks")
        refuse_if(crc32c(row) != self.meta.check_of_checks, "the check of the block checks")
        self.checks = [int.from_bytes(row[at:at + 4], "little") for at in range(0, len(row), 4)]

    # Blocks and buckets, sections 5 and 6.

    def read_block(self, number):
        block = dict(self.rows("blocks")).get(number)
        refuse_if(block is None, f"block {number} is missing")
        items = Items(block)
        count, buckets, width = items.int(4), items.int(4), items.int(1)
        refuse_if(any(items.take(3)), "reserved bytes of a block")
        check, commit = items.int(4), items.int(8)
        refuse_if(not buckets or not 1 <= width <= 8, "a block without buckets, or with an unknown width")
        refuse_if(check != self.checks[number], "a block that the block checks do not have")
        ends = [items.int(4) for _ in range(buckets)]
        refuse_if(crc32c(little(number, 8), block[:12], block[16:items.at]) != check, "the check of a header")
        begin, directory_end, found = 0, items.at, []
        refuse_if(ends[-1] != len(block) - directory_end, "a directory that does not end where the block does")
        for nth, end in enumerate(ends):
            refuse_if(not begin <= end <= ends[-1], "a bucket outside the block")
            place = little(number, 8) + little(nth, 4) + little(width, 4) + little(commit, 8)
            found += self.bucket_of_block(block[directory_end + begin:directory_end + end], place, width,
                                          (number, nth, buckets))
            begin = end
        refuse_if(len(found) != count, "another number of entries")
        order = [(entry.key, entry.board, getattr(entry, "number", 0)) for entry in found]
        refuse_if(any(a >= b for a, b in zip(order, order[1:])), "entries out of order")
        boards = {entry.board for entry in found if isinstance(entry, Entry)}
        for entry in found:
            if isinstance(entry, Entry):
                self.entries.append(entry)
            else:
                refuse_if(entry.board in boards, "a stub and a record of one board")
                self.stubs.append(entry)

    def bucket_of_block(self, data, place, width, where):
        number, nth, buckets = where
        found = []
        for fingerprint, entry in read_bucket(data, place, width):
            part, fraction = spread(entry.key, self.meta.blocks)
            bucket, rest = spread(fraction, buckets)
            refuse_if((part, bucket, rest >> 56) != (number, nth, fingerprint), "an entry that belongs elsewhere")
            found.append(entry)
        return found

    # Chunks, section 7.

    def check_stubs(self):
        chunks = {}
        for row_key, value in self.rows("crowded"):
            refuse_if(len(row_key) < 25, "the key of a chunk")
            chunks.setdefault(row_key[:-8], []).append((row_key, value))
        stubs = {stub.key.to_bytes(8, "big") + stub.board: stub for stub in self.stubs}
        refuse_if(set(chunks) != set(stubs), "a chunk without a stub, or a stub without chunks")
        for prefix, rows in chunks.items():
            self.read_chunks(stubs[prefix], sorted(rows))

    def read_chunks(self, stub, rows):
        found, before = [], -1
        for row_key, value in rows:
            first = int.from_bytes(row_key[-8:], "big")
            width, bucket = value[0] if value else 0, value[1:]
            refuse_if(not 1 <= width <= 8, "an unknown width")
            place = little(stub.key, 8) + little(WHOLE, 4) + little(width, 4) + bytes(8)
            entries = list(read_bucket(bucket, place, width))
            refuse_if(not entries, "a chunk without records")
            for fingerprint, entry in entries:
                refuse_if(fingerprint or not isinstance(entry, Entry), "a fingerprint or a stub in a chunk")
                refuse_if(entry.board != stub.board, "a record of another position")
                refuse_if(entry.number <= before, "numbers that do not ascend")
                before = entry.number
                found.append(entry)
            refuse_if(not (first <= entries[0][1].number) or len(found) > len(entries)
                      and first <= found[-len(entries) - 1].number, "the number in the key of a chunk")
        check = int.from_bytes(rows[0][1][1:5], "little")
        total = sum(len(write_record(entry.record)) for entry in found)
        refuse_if((stub.records, stub.bytes, stub.first, stub.digest) !=
                  (len(found), total, check, digest_of("crowded", rows)), "other chunks than the stub says")
        self.entries += found

    def check_totals(self):
        meta, rows = self.meta, self.rows
        numbers = [entry.number for entry in self.entries]
        refuse_if(len(set(numbers)) != len(numbers), "a number twice")
        refuse_if(any(number >= meta.next for number in numbers), "a number that was not assigned yet")
        totals = (len(numbers), len({entry.board for entry in self.entries}), len(self.stubs),
                  sum(len(write_record(entry.record)) for entry in self.entries),
                  sum(len(value) for _, value in rows("blocks")))
        refuse_if(totals != (meta.records, meta.positions, meta.overflow, meta.bytes_of_records,
                             meta.bytes_of_blocks), "other totals than the meta row says")
        refuse_if((meta.digest_of_blocks, meta.digest_of_chunks, meta.digest_of_imports) !=
                  tuple(digest_of(table, rows(table)) for table in ("blocks", "crowded", "imports")), "a digest")

    # The journal, section 8.

    def read_imports(self):
        rows = self.rows("imports")
        refuse_if([row_key for row_key, _ in rows] != list(range(len(rows))), "a journal with a gap")
        self.imports = [read_import(value) for _, value in rows]
        refuse_if(sum(line.counts[0] for line in self.imports) != self.meta.next,
                  "records read that do not add up to the next number")

    # Runs: formats/notes/runs.md.

    def read_runs(self, row, data):
        flags = self.meta.needed_to_write
        refuse_if(flags > 1, "features that are needed to write")
        refuse_if((row is None) != (flags == 0), "a row of runs without its flag, or the flag without the row")
        self.waiting = []
        if row is None:
            return
        refuse_if(len(row) < 44 or (len(row) - 24) % 20, "the length of the row of runs")
        items = Items(row)
        check, reserved, line, commit = items.int(4), items.int(4), items.int(8), items.int(8)
        refuse_if(crc32c(row[4:]) != check, "the check of the row of runs")
        refuse_if(reserved or commit != self.meta.commit or line >= self.meta.imports, "the head of the row of runs")
        refuse_if(self.imports[line].state != 0, "runs of an import that is not unfinished")
        refuse_if(data is None or data[:8] != b"epdbruns", "a missing file of runs")
        begin = 8
        for _ in range((len(row) - 24) // 20):
            end, count, check = items.int(8), items.int(8), items.int(4)
            refuse_if(not count or end > len(data) or end - begin < 20 * count, "a run out of range")
            refuse_if(crc32c(data[begin:end]) != check, "the check of a run")
            self.read_run(data[begin:end], count)
            begin = end
        refuse_if(sorted(entry.number for entry in self.waiting) !=
                  list(range(self.meta.next, self.meta.next + len(self.waiting))), "numbers of records that wait")

    def read_run(self, data, count):
        items, last = Items(data), (0, -1)
        for _ in range(count):
            refuse_if(items.int(4) != 8, "the length of a key in a run")
            length = items.int(4)
            sort_key = int.from_bytes(items.take(8), "big")
            number = items.int(4)
            refuse_if((sort_key, number) <= last, "a run that is out of order")
            last = sort_key, number
            bytes_of_record = bytes(items.take(length - 4))
            record, end = read_record(bytes_of_record)
            refuse_if(end != length - 4 or key(record.position) != sort_key, "a record in a run")
            self.waiting.append(Entry(self.meta.next + number, record, pack(record.position), sort_key))
        refuse_if(not items.ends(), "bytes after the last record of a run")

    # Libraries, section 9, and section 3 of libraries.md.

    def read_origin(self, row):
        refuse_if((row is None) != (self.meta.check_of_origin == 0), "a missing origin of tallies")
        self.origin, digests = None, self.rows("game digests")
        if row is None:
            return
        refuse_if(crc32c(row) != self.meta.check_of_origin or len(row) < 25 or row[0] > 1, "the origin of tallies")
        items = Items(row, 1)
        count, digest = items.int(8), items.int(16)
        self.origin = tally_origin.read_origin(row[25:])
        refuse_if((count, digest) != ((len(digests), digest_of("game digests", digests)) if row[0] else (0, 0)),
                  "other digests of games than the origin says")
        check_digests(digests)

    def read_kept_games(self, row):
        rows = self.rows("kept games")
        refuse_if(bool(rows) and row is None, "kept games without their row")
        self.games = {}
        for row_key, value in rows:
            id = row_key.to_bytes(8, "big")
            refuse_if(kept_games.id_of(value) != id, "another id than the key")
            kept_games.read_game(value)
            self.games[id] = value
        if row is not None:
            refuse_if(len(row) != 28 or crc32c(row[:24]) != int.from_bytes(row[24:], "little"), "the row kept games")
            refuse_if((int.from_bytes(row[:8], "little"), int.from_bytes(row[8:24], "little")) !=
                      (len(rows), digest_of("kept games", rows)), "other kept games than their row says")


def read_bucket(data, place, width):
    """(fingerprint, entry or stub) of each entry."""
    refuse_if(len(data) < 5 or crc32c(place, data[4:]) != int.from_bytes(data[:4], "little"), "the check of a bucket")
    items = Items(data, 4)
    count = items.groups(5)
    fingerprints, lengths = items.take(count), items.take(count)
    for fingerprint, length in zip(fingerprints, lengths):
        number = items.int(width)
        if length == 0:
            yield fingerprint, read_stub(items, number)
            continue
        if length == 255:
            length = items.int(4)
            refuse_if(length < 255, "a short record with the length of a long one")
        data = bytes(items.take(length))
        record, end = read_record(data)
        refuse_if(end != length, "bytes after a record")
        yield fingerprint, Entry(number, record, pack(record.position), key(record.position))
    refuse_if(not items.ends(), "bytes after the last entry")


def read_stub(items, number):
    refuse_if(number, "a stub with a number")
    board = bytes(items.string(1))
    return Stub(board, key(unpack(board)[0]), items.int(8), items.int(8), items.int(4), items.int(16))


Import = namedtuple("Import", "state place lines first counts name treatment settings")


def read_import(row):
    refuse_if(len(row) < 136, "a line of the journal that is too short")
    items = Items(row)
    state, check = items.int(4), items.int(4)
    refuse_if(crc32c(row[:4], row[8:]) != check, "the check of a line of the journal")
    place, lines, _, name, treatment, known, first = (items.int(size) for size in (8, 8, 4, 4, 4, 4, 8))
    counts = [items.int(8) for _ in range(6)]
    length, hash = items.int(8), items.take(32)
    refuse_if(state > 3 or known > 1 or not known and (length or any(hash)), "a state or a mark out of range")
    refuse_if(counts[0] != counts[1] + counts[2] + counts[4], "counts that do not add up")
    texts = [utf8(items.take(size)) for size in (name, treatment)]
    return Import(state, place, lines, first, counts, *texts, utf8(items.take(items.end - items.at)))


def check_digests(rows):
    """Rows without gaps; a hash of several rows has a higher last part in each."""
    refuse_if([row_key for row_key, _ in rows] != list(range(len(rows))), "rows of digests with a gap")
    ranks = {}
    for _, value in rows:
        refuse_if(not 16 <= len(value) <= 4092 * 16, "a row of digests out of range")
        for digest in tally_origin.read_digests(value):
            hash, number = digest[:12], int.from_bytes(digest[12:], "little")
            refuse_if(ranks.get(hash, -1) >= number, "a hash twice without a higher copy rank")
            ranks[hash] = number
