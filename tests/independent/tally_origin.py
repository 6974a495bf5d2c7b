"""Origin of tallies and digests of games: formats/tally_origin.md."""
from collections import namedtuple

import xxhash

from bits import Items, little, refuse_if, utf8

Origin = namedtuple("Origin", "flags settings pruned scope games delta plans sources")
Scope = namedtuple("Scope", "split colour names")


def text(items):
    return utf8(items.string(4))


def text_bytes(string):
    return little(len(string.encode()), 4) + string.encode()


def read_origin(data):
    items = Items(data)
    flags = items.int(1)
    refuse_if(flags > 63, "other flags of an origin")
    settings = text(items)
    pruned = text(items) if flags & 2 else None
    scope = _read_scope(items) if flags & 4 else None
    games = _read_set(items) if flags & 8 else None
    delta = (_read_set(items), _read_set(items)) if flags & 16 else None
    plans = [_read_plan(items) for _ in range(items.int(4))] if flags & 32 else []
    refuse_if(bool(flags & 32) != bool(plans), "no plans")
    check_ascending([plan for plan, _, _ in plans])
    sources = [(text(items), items.int(8), items.int(8), items.int(8)) for _ in range(items.int(4))]
    refuse_if(not items.ends(), "bytes after the origin")
    return Origin(flags, settings, pruned, scope, games, delta, plans, sources)


def _read_set(items):
    """Number of games, and sum of the hashes of their digests."""
    return items.int(8), items.int(16)


def _read_plan(items):
    plan, slices = items.take(32), items.int(4)
    present = [items.int(4) for _ in range(items.int(4))]
    check_slices(slices, present)
    return plan, slices, present


def check_slices(slices, present):
    """Some slices of a plan, not all of them."""
    refuse_if(slices > 1_000_000 or not 0 < len(present) < slices, "number of slices")
    refuse_if(present != sorted(set(present)) or present[-1] >= slices, "numbers of slices")


def check_ascending(plans):
    refuse_if(plans != sorted(set(plans)), "plans that do not ascend")


def set_of(digests):
    """The set of the games that have these digests."""
    hashes = (xxhash.xxh3_128_intdigest(digest, seed=6) for digest in digests)
    return len(digests), sum(hashes) % (1 << 128)


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
    for games in filter(None, [origin.games, *(origin.delta or [])]):
        out += little(games[0], 8) + little(games[1], 16)
    if origin.plans:
        out += little(len(origin.plans), 4)
    for plan, slices, present in origin.plans:
        out += plan + b"".join(little(number, 4) for number in [slices, len(present), *present])
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
