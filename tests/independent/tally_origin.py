"""Origin of tallies and digests of games: formats/tally_origin.md."""
from collections import namedtuple

from bits import Items, little, refuse_if, utf8

Origin = namedtuple("Origin", "flags settings pruned scope sources")
Scope = namedtuple("Scope", "split colour names")


def text(items):
    return utf8(items.string(4))


def text_bytes(string):
    return little(len(string.encode()), 4) + string.encode()


def read_origin(data):
    items = Items(data)
    flags = items.int(1)
    refuse_if(flags > 7, "other flags of an origin")
    settings = text(items)
    pruned = text(items) if flags & 2 else None
    scope = _read_scope(items) if flags & 4 else None
    sources = [(text(items), items.int(8), items.int(8), items.int(8)) for _ in range(items.int(4))]
    refuse_if(not items.ends(), "bytes after the origin")
    return Origin(flags, settings, pruned, scope, sources)


def _read_scope(items):
    split, colour = items.int(1), items.int(1)
    names = [text(items) for _ in range(items.int(4))]
    refuse_if(split > 15 or split & 2 and not split & 1, "tallies split by unknown properties")
    refuse_if(colour > 2 or colour and not names, "a colour out of range")
    as_bytes = [name.encode() for name in names]
    refuse_if(b"" in as_bytes or as_bytes != sorted(set(as_bytes)), "names that do not ascend")
    return Scope(split, colour, names)


def write_origin(origin):
    out = bytes([origin.flags]) + text_bytes(origin.settings)
    if origin.flags & 2:
        out += text_bytes(origin.pruned)
    if origin.flags & 4:
        split, colour, names = origin.scope
        out += bytes([split, colour]) + little(len(names), 4) + b"".join(map(text_bytes, names))
    out += little(len(origin.sources), 4)
    for name, *numbers in origin.sources:
        out += text_bytes(name) + b"".join(little(number, 8) for number in numbers)
    return out


def read_digests(data):
    """Digests of 16 bytes that ascend, no hash of 12 bytes twice."""
    refuse_if(len(data) % 16, "digests end early")
    digests = [data[at:at + 16] for at in range(0, len(data), 16)]
    refuse_if(any(a[:12] >= b[:12] for a, b in zip(digests, digests[1:])), "digests do not ascend")
    return digests
