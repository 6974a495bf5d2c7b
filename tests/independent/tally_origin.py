"""Origin of tallies and digests of games: formats/libraries.md, sections 1 and 2."""
from collections import namedtuple

import xxhash

from bits import Items, crc32c, little, refuse_if, utf8

Origin = namedtuple("Origin", "flags settings pruned games delta plans sources")
Settings = namedtuple("Settings", "split flags colour same keep plies names where")


def text(items):
    return utf8(items.string(4))


def text_bytes(string):
    return little(len(string.encode()), 4) + string.encode()


def read_origin(data):
    items = Items(data)
    flags = items.int(1)
    refuse_if(flags > 31, "other flags of an origin")
    settings = read_settings(items)
    pruned = text(items) if flags & 2 else None
    games = _read_set(items) if flags & 4 else None
    delta = (_read_set(items), _read_set(items)) if flags & 8 else None
    plans = [_read_plan(items) for _ in range(items.int(4))] if flags & 16 else []
    refuse_if(bool(flags & 16) != bool(plans), "no plans")
    check_ascending([plan for plan, _, _ in plans])
    sources = [(text(items), items.int(8), items.int(8), items.int(8)) for _ in range(items.int(4))]
    refuse_if(not items.ends(), "bytes after the origin")
    return Origin(flags, settings, pruned, games, delta, plans, sources)


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


def read_settings(items):
    split, flags, colour, same, keep = (items.int(1) for _ in range(5))
    plies = items.int(4)
    names = [text(items) for _ in range(items.int(4))]
    where = text(items)
    refuse_if(split > 15 or split & 2 and not split & 1, "tallies split by unknown properties")
    refuse_if(flags > 31, "other flags of settings")
    refuse_if(colour > 2 or colour and not names, "a colour out of range")
    refuse_if(same > 4, "another criterion for copies of a game")
    refuse_if(keep > 100, "too many kept games")
    as_bytes = [name.encode() for name in names]
    refuse_if(b"" in as_bytes or as_bytes != sorted(set(as_bytes)), "names that do not ascend")
    return Settings(split, flags, colour, same, keep, plies, names, where)


def write_settings(settings):
    split, flags, colour, same, keep, plies, names, where = settings
    out = bytes([split, flags, colour, same, keep]) + little(plies, 4) + little(len(names), 4)
    return out + b"".join(map(text_bytes, names)) + text_bytes(where)


SPLITS = ["year", "month", "speed", "rating"]
CRITERIA = [None, "auto", "moves", "players", "exact"]
FLAGS = ["standard-only", "count-repeats", "unique-games", "truncate-games", "deny-warnings"]


def options(settings):
    """The settings as options of `epdb tally`, which is the text of the samples."""
    split, flags, colour, same, keep, plies, names, where = settings
    is_set = {name: flags >> bit & 1 for bit, name in enumerate(FLAGS)}
    by = ",".join(name for bit, name in enumerate(SPLITS) if split >> bit & 1)
    values = [
        ("by", by or None), ("max-ply", None if plies == 0xFFFFFFFF else plies),
        ("player", ";".join(names) or None), ("side", [None, "white", "black"][colour]),
        ("standard-only", is_set["standard-only"]), ("same-game", CRITERIA[same]),
        ("keep-duplicates", same == 0), ("count-repeats", is_set["count-repeats"]),
        ("keep-games", keep or None), ("unique-games", is_set["unique-games"]),
        ("truncate-games", is_set["truncate-games"]), ("deny-warnings", is_set["deny-warnings"]),
        ("where", where or None),
    ]
    flag_names = {*FLAGS, "keep-duplicates"}
    shown = (f"--{name}" if name in flag_names else f"--{name} {value}" for name, value in values if value)
    return " ".join(shown)


def write_origin(origin):
    out = bytes([origin.flags]) + write_settings(origin.settings)
    if origin.flags & 2:
        out += text_bytes(origin.pruned)
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


def read_groups(data):
    """The digests of an archive, after its groups were compared with their table."""
    games = int.from_bytes(data[-12:-4], "little")
    groups = -(-games // 1024)
    refuse_if(len(data) != 16 * (games + groups) + 12, "another number of digests")
    digests, table, check = data[:16 * games], data[16 * games:-4], int.from_bytes(data[-4:], "little")
    refuse_if(crc32c(table) != check, "the checksum of the table of digests")
    for nth in range(groups):
        group = digests[16384 * nth:16384 * nth + 16384]
        refuse_if(table[16 * nth:16 * nth + 16] != group[:12] + little(crc32c(group), 4), "another group of digests")
    return read_digests(digests)


def read_digests(data):
    """Digests of 16 bytes that ascend, no hash of 12 bytes twice."""
    refuse_if(len(data) % 16, "digests end early")
    digests = [data[at:at + 16] for at in range(0, len(data), 16)]
    refuse_if(any(a[:12] >= b[:12] for a, b in zip(digests, digests[1:])), "digests do not ascend")
    return digests
