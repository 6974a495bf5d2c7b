"""Opening books of Polyglot: formats/notes/polyglot.md."""
from collections import namedtuple

from bits import refuse_if
from board import name

Entry = namedtuple("Entry", "key move weight learn")


def is_plausible(move):
    """Some piece moves so on some board."""
    if move >> 15 or move >> 12 > 4:
        return False
    files, ranks = abs((move & 7) - (move >> 6 & 7)), abs((move >> 3 & 7) - (move >> 9 & 7))
    if move >> 12:
        return (move >> 9 & 7, move >> 3 & 7) in ((6, 7), (1, 0)) and files <= 1
    return (files, ranks) != (0, 0) and (files == ranks or 0 in (files, ranks) or {files, ranks} == {1, 2})


def read_book(data):
    """The entries by key, those of a key in the order of the file."""
    refuse_if(len(data) % 16, "bytes after the last entry")
    entries = []
    for at in range(0, len(data), 16):
        sizes = ((0, 8), (8, 10), (10, 12), (12, 16))
        entry = Entry(*(int.from_bytes(data[at + start:at + end], "big") for start, end in sizes))
        refuse_if(entry.move and not is_plausible(entry.move), "a move that no piece can make")
        entries.append(entry)
    return sorted(entries, key=lambda entry: entry.key)


def write_book(entries):
    """The bytes of entries of any order: moves with the highest weight first, of equal ones the smaller number."""
    entries = sorted(entries, key=lambda entry: (entry.key, -entry.weight, entry.move))
    return b"".join(number.to_bytes(size, "big") for entry in entries for number, size in zip(entry, (8, 2, 2, 4)))


def move_text(move):
    return name(move >> 6 & 63) + name(move & 63) + " nbrq"[move >> 12].strip() if move else "0000"


def entry_text(entry):
    return f"{entry.key:016x} {move_text(entry.move)} {entry.weight} {entry.learn}"
