"""The tables of a file of redb: formats/notes/redb.md, and docs/design.md of redb, which it names."""
import xxhash

from bits import Items, refuse_if

MAGIC = b"redb\x1a\x0a\xa9\x0d\x0a"
SLOTS = (64, 192)
PRIMARY, UNFLUSHED = 1, 8


class File:
    def __init__(self, data):
        refuse_if(data[:9] != MAGIC or len(data) < 512, "not a file of redb")
        self.data = data
        items = Items(data, 12)
        self.page_size, header_pages, data_pages = items.int(4), items.int(4), items.int(4)
        refuse_if(not self.page_size, "a page size of 0")
        self.region_header = header_pages * self.page_size
        self.region_size = (header_pages + data_pages) * self.page_size
        nth = data[9] & PRIMARY
        if data[9] & UNFLUSHED:
            nth = 1 - nth
        slot = data[SLOTS[nth]:][:128]
        refuse_if(slot[0] != 3, "another file format of redb")
        refuse_if(checksum(slot[:112]) != int.from_bytes(slot[112:], "little"), "the checksum of a commit")
        self.tables = {}
        if slot[1]:
            root = int.from_bytes(slot[8:16], "little"), int.from_bytes(slot[16:32], "little")
            for name, row in self.tree(root, None, None):
                self.tables[name.decode()] = self.table(row)

    def page(self, number):
        order = number >> 59
        index, region = number & (1 << 20 - order) - 1, number >> 20 & 0xFFFFF
        begin = self.page_size + region * self.region_size + self.region_header + index * (self.page_size << order)
        refuse_if(begin + (self.page_size << order) > len(self.data), "a page beyond the file")
        return self.data[begin:begin + (self.page_size << order)]

    def table(self, row):
        """(type of keys, type of values, rows)."""
        items = Items(row)
        refuse_if(items.int(1) != 3, "a table that is not plain")
        count, flag = items.int(8), items.int(1)
        root, length = (items.int(8), items.int(16)), items.int(8)
        widths = [(items.int(1), items.int(4)) for _ in range(2)]
        items.take(8)
        names = items.take(items.int(4)), items.take(items.end - items.at)
        refuse_if(any(name[:1] != b"\1" for name in names), "a type of a table")
        keys, values = (name[1:].decode() for name in names)
        key_width, value_width = (width if has else None for has, width in widths)
        rows = self.tree(root, key_width, value_width) if flag else []
        refuse_if(len(rows) != length or count != length, "another number of rows")
        as_key = {"u64": lambda key: int.from_bytes(key, "little"), "&str": bytes.decode}.get(keys, bytes)
        return keys, values, [(as_key(key), value) for key, value in rows]

    def tree(self, root, key_width, value_width):
        """All rows below a page, (key, value)."""
        number, check = root
        items = Items(self.page(number))
        kind, _, count = items.int(1), items.int(1), items.int(2)
        refuse_if(kind not in (1, 2), "not a page of a tree")
        rows = self.leaf(items, count, key_width, value_width, check) if kind == 1 \
            else self.branch(items, count, key_width, value_width, check)
        return rows

    def leaf(self, items, count, key_width, value_width, check):
        key_ends = None if key_width else [items.int(4) for _ in range(count)]
        value_ends = None if value_width else [items.int(4) for _ in range(count)]
        rows, keys = [], []
        for nth in range(count):
            keys.append(bytes(items.take(key_width or key_ends[nth] - items.at)))
        for nth in range(count):
            rows.append((keys[nth], bytes(items.take(value_width or value_ends[nth] - items.at))))
        refuse_if(checksum(items.data[:items.at]) != check, "the checksum of a page")
        return rows

    def branch(self, items, count, key_width, value_width, check):
        items.take(4)
        checks = [items.int(16) for _ in range(count + 1)]
        numbers = [items.int(8) for _ in range(count + 1)]
        if key_width:
            end = items.at + key_width * count
        else:
            end = [items.int(4) for _ in range(count)][-1]
        refuse_if(checksum(items.data[:end]) != check, "the checksum of a page")
        rows = []
        for child in zip(numbers, checks):
            rows += self.tree(child, key_width, value_width)
        return rows


def checksum(data):
    return xxhash.xxh3_128_intdigest(data)


def read_tables(data):
    return {name: rows for name, (_, _, rows) in File(data).tables.items()}
