"""EPD records and streams of them in binary: formats/epd_record.md."""
import base64
import re
from collections import namedtuple

import tally
from bits import Items, Refused, crc32c, little, refuse_if
from board import pack, unpack
from moves import identity, legal_moves, move_at

STANDARD = ("acn acs am bm c0 c1 c2 c3 c4 c5 c6 c7 c8 c9 cc ce dm draw_accept draw_claim draw_offer draw_reject eco "
            "fmvn hmvc id nic noop pm ptp pv rc refcom refreq resign sm sv tcgs tcri tcsi ts v0 v1 v2 v3 v4 v5 v6 v7 "
            "v8 v9 tally kept_games tally_less").split()
NUMBERS = {opcode: number for number, opcode in enumerate(STANDARD)}
WITHOUT = {"draw_accept", "draw_claim", "draw_offer", "draw_reject", "resign"}
INTEGERS = {"acn", "acs", "ce", "dm", "fmvn", "hmvc", "rc", "tcgs"}
STRINGS = {"eco", "id", "nic", *(letter + str(n) for letter in "cv" for n in range(10))}
ONE_MOVE, SETS, LINES = {"pm", "sm"}, {"am", "bm"}, {"pv", "sv"}
MOVES = ONE_MOVE | SETS | LINES
TALLIES = {"tally", "tally_less"}
MOST_BYTES = 16_777_216

OPCODE = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,14}")
INTEGER = re.compile(r"0|-?[1-9][0-9]*")
UNQUOTED = re.compile(rb'[!#-:<-~]+')
NOT_IN_STRINGS = re.compile(rb'[\0-\x1f"\x7f]')
MATE_TARGET = re.compile(rb"#-?(?!0+$)[0-9]{1,4}")
TYPED = re.compile(rb"epdb:([1-9][0-9]{0,4}):([A-Za-z0-9+/]*={0,2})")

# kind: integer, unquoted, string, move or typed; the value of a typed operand is (number, bytes).
Operand = namedtuple("Operand", "kind value")


class Record:
    """`given` is the file of an en passant square that is not part of the identity."""

    def __init__(self, position, given=None, shredder=False, counters=None, operations=()):
        self.position, self.given, self.shredder = position, given, shredder
        self.counters, self.operations = counters, list(operations)
        self.by_name = set()

    def operands(self, opcode):
        return dict(self.operations).get(opcode)


def typed_operand(string):
    """The typed operand that a string spells, else None."""
    match = TYPED.fullmatch(string)
    if not match or int(match[1]) > 65535:
        return None
    try:
        data = base64.b64decode(match[2], validate=True)
    except ValueError:
        return None
    return (int(match[1]), data) if base64.b64encode(data) == match[2] else None


class Place:
    """The position in which the next operand of an operation counts, None if it is unknown."""

    def __init__(self, opcode, position):
        self.opcode = opcode
        self.now = position if opcode in MOVES else None

    def pass_over(self, operand):
        if self.opcode in LINES:
            if operand.kind == "move":
                self.now = operand.value.after()
            elif operand.kind == "unquoted" and not MATE_TARGET.fullmatch(operand.value):
                self.now = None

    def move(self, text):
        """The legal move that an unquoted operand is, else None."""
        return tally.find_san(self.now, text.decode("ascii")) if self.now else None


def operand_of_text(place, text):
    """Section 6: the operand that text without quotes stands for."""
    if place.opcode in INTEGERS and INTEGER.fullmatch(text.decode("ascii")):
        if -2**63 <= int(text) < 2**64:
            return Operand("integer", int(text))
    move = place.move(text)
    return Operand("move", move) if move else Operand("unquoted", text)


def operand_of_string(string):
    typed = typed_operand(string)
    return Operand("typed", typed) if typed else Operand("string", string)


def operand_text(operand, quotes=True):
    quote = b'"' if quotes else b""
    if operand.kind == "integer":
        return str(operand.value).encode()
    if operand.kind == "move":
        return operand.value.text().encode()
    if operand.kind == "typed":
        number, data = operand.value
        return quote + b"epdb:%d:" % number + base64.b64encode(data) + quote
    return quote + operand.value + quote if operand.kind == "string" else operand.value


def check_operands(opcode, operands, position):
    """What section 6 requires beyond the form of the bytes."""
    place = Place(opcode, position)
    for operand in operands:
        if operand.kind == "integer":
            refuse_if(opcode not in INTEGERS, "an integer where there is none")
        elif operand.kind == "string":
            refuse_if(NOT_IN_STRINGS.search(operand.value), "not a string")
            refuse_if(typed_operand(operand.value), "a typed operand as a string")
        elif operand.kind == "unquoted":
            refuse_if(not UNQUOTED.fullmatch(operand.value), "not an unquoted operand")
            refuse_if(operand_of_text(place, operand.value) != operand, "an integer or a move as text")
        elif operand.kind == "typed":
            refuse_if(operand.value[0] == 0, "type 0")
        place.pass_over(operand)
    if opcode in SETS:
        texts = [operand_text(operand, quotes=False) for operand in operands]
        refuse_if(any(a >= b for a, b in zip(texts, texts[1:])), "the operands of a set ascend")


# Reading.

def read_record(data, at=0):
    """The record that begins at `at`, and where it ends."""
    items = Items(data, at)
    marker = items.int(1)
    refuse_if(marker >> 5 != 5, "this is no marker of a record")
    position, length = unpack(data[at + 1:at + 42])
    items.take(length)
    refuse_if(identity(position).en_passant != position.en_passant, "the board is not an identity board")
    record = Record(position, shredder=bool(marker & 8))
    if marker & 4:
        record.given = items.int(1)
        refuse_if(record.given > 7 or position.en_passant is not None, "not a file of an en passant square")
        refuse_if(identity(with_given(record)).en_passant is not None, "the en passant square belongs to the board")
    refuse_if(record.shredder and not has_outermost(position), "both dialects write these rights alike")
    if marker & 3:
        size = (0, 1, 2, 4)[marker & 3]
        record.counters = items.int(size), items.int(size)
        refuse_if(record.counters[1] == 0, "a fullmove number of 0")
    if marker & 16:
        _read_operations(items, record)
        refuse_if(record.counters, "counters together with operations")
        refuse_if(not record.operations, "operations, but none")
    refuse_if(items.at - at > MOST_BYTES, "a record over its limit")
    refuse_if(write_record(record) != bytes(data[at:items.at]), "not the canonical encoding")
    return record, items.at


def with_given(record):
    """The position with the en passant square as it was given."""
    position = record.position
    if record.given is None:
        return position
    return position.same_but(en_passant=record.given + (16 if position.black else 40))


def is_outermost(position, slot):
    rook, black, king_side = position.rights[slot], slot > 1, slot % 2 == 0
    beyond = range(rook + 1, (rook | 7) + 1) if king_side else range(rook & 56, rook)
    return all(position.squares[square] != (10 if black else 4) for square in beyond)


def has_outermost(position):
    return any(rook is not None and is_outermost(position, slot) for slot, rook in enumerate(position.rights))


def _read_operations(items, record):
    before = ""
    while (tag := items.int(1)) != 0xFF:
        if tag < 0x80:
            refuse_if(tag & 63 >= len(STANDARD), "a reserved tag")
            opcode = STANDARD[tag & 63]
        else:
            refuse_if(not 0x81 <= tag <= 0x8F, "a reserved tag")
            opcode = items.take(tag - 128).decode("latin-1")
            refuse_if(not OPCODE.fullmatch(opcode) or NUMBERS.get(opcode, 99) < 50, "a name that is no opcode")
            if opcode in NUMBERS:
                record.by_name.add(opcode)
        refuse_if(opcode <= before, "operations ascend by opcode")
        before = opcode
        read = _read_short if tag < 0x40 else _read_list
        operands = read(items, opcode, record.position)
        check_operands(opcode, operands, record.position)
        record.operations.append((opcode, operands))


def _read_integer(items, kind):
    refuse_if(kind & 15 not in (1, 2, 4, 8), "no width of an integer")
    return Operand("integer", items.signed(kind & 15) if kind & 128 else items.int(kind & 15))


def _read_moves(items, size, opcode, place):
    operands = []
    for _ in range(items.int(size)):
        refuse_if(place.now is None, "a move where there are none")
        operands.append(Operand("move", move_at(place.now, items.int(1))))
        place.pass_over(operands[-1])
    return operands


def _read_short(items, opcode, position):
    if opcode in WITHOUT:
        return []
    if opcode in INTEGERS:
        kind = items.int(1)
        refuse_if(kind & 0xF0 not in (0, 0x80), "not the kind of an integer")
        return [_read_integer(items, kind)]
    if opcode in STRINGS:
        return [Operand("string", bytes(items.string(1)))]
    if opcode in ONE_MOVE:
        return [Operand("move", move_at(position, items.int(1)))]
    if opcode in MOVES:
        return _read_moves(items, 1, opcode, Place(opcode, position))
    if opcode in TALLIES:
        return [Operand("string", tally.tally_text(tally.read_tally(items, position)).encode())]
    if opcode == "kept_games":
        return [Operand("string", tally.kept_text(tally.read_kept(items)).encode())]
    raise Refused(f"{opcode} has no short form")


def _read_list(items, opcode, position):
    operands, place = [], Place(opcode, position)
    while (kind := items.int(1)) != 0:
        width = kind & 15
        if kind >> 4 in (0, 8):
            operands.append(_read_integer(items, kind))
        elif kind >> 4 in (1, 2, 5) and width in (1, 2, 4):
            number = items.int(2) if kind >> 4 == 5 else None
            data = bytes(items.string(width))
            operands.append(Operand("unquoted", data) if kind >> 4 == 1 else
                            Operand("string", data) if kind >> 4 == 2 else Operand("typed", (number, data)))
        elif kind in (0x31, 0x32):
            run = _read_moves(items, width, opcode, place)
            refuse_if(not run, "an empty run")
            operands += run
            continue
        elif kind == 0x42:
            ordinal = items.int(2)
            refuse_if(place.now is None or ordinal < 256, "not a wide move")
            operands.append(Operand("move", move_at(place.now, ordinal)))
        else:
            raise Refused("no kind of an operand")
        place.pass_over(operands[-1])
    return operands


# Writing.

def write_record(record):
    position = record.position
    marker, counters, operations = 0xA0, b"", b""
    if record.counters:
        size, bits = next((size, bits) for size, bits in ((1, 1), (2, 2), (4, 3))
                          if max(record.counters) < 256**size)
        marker |= bits
        counters = b"".join(little(counter, size) for counter in record.counters)
    if record.operations:
        marker |= 16
        operations = b"".join(_operation(record, *operation) for operation in record.operations) + b"\xff"
    marker |= 8 * record.shredder
    given = b""
    if record.given is not None:
        marker |= 4
        given = bytes([record.given])
    return bytes([marker]) + pack(position) + given + counters + operations


def _operation(record, opcode, operands):
    if opcode not in NUMBERS or opcode in record.by_name:
        return bytes([128 + len(opcode)]) + opcode.encode() + _list(operands)
    short = _short(record, opcode, operands)
    number = NUMBERS[opcode]
    return bytes([number + 64]) + _list(operands) if short is None else bytes([number]) + short


def _short(record, opcode, operands):
    """The short form, None if it cannot express the operands."""
    if opcode in WITHOUT:
        return None if operands else b""
    kinds = [operand.kind for operand in operands]
    if opcode in MOVES:
        few = all(operand.kind == "move" and operand.value.nth < 256 for operand in operands)
        if not few or len(operands) > 255 or opcode in ONE_MOVE and len(operands) != 1:
            return None
        ordinals = bytes(operand.value.nth for operand in operands)
        return ordinals if opcode in ONE_MOVE else bytes([len(operands)]) + ordinals
    if len(operands) != 1:
        return None
    value = operands[0].value
    if opcode in INTEGERS:
        return _integer(value) if kinds == ["integer"] else None
    if kinds != ["string"]:
        return None
    if opcode in STRINGS:
        return bytes([len(value)]) + value if len(value) < 256 else None
    if opcode in TALLIES:
        parts = tally.parse_tally(value.decode("latin-1"), record.position)
        return tally.write_tally(parts) if parts else None
    if opcode == "kept_games":
        kept = tally.parse_kept(value.decode("latin-1"))
        return tally.write_kept(kept) if kept else None
    return None


def _integer(value):
    sign = value < 0
    for size in (1, 2, 4, 8):
        if (-(1 << 8 * size - 1) <= value) if sign else value < 1 << 8 * size:
            return bytes([size | 128 * sign]) + value.to_bytes(size, "little", signed=sign)


def _sized(kind, data, between=b""):
    size = next(size for size in (1, 2, 4) if len(data) < 256**size)
    return bytes([kind | size]) + between + little(len(data), size) + data


def _list(operands):
    out, run = b"", []

    def end_run():
        nonlocal out, run
        for first in range(0, len(run), 65535):
            out += _sized(0x30, bytes(run[first:first + 65535]))
        run = []

    for operand in operands:
        if operand.kind == "move" and operand.value.nth < 256:
            run.append(operand.value.nth)
            continue
        end_run()
        if operand.kind == "move":
            out += b"\x42" + little(operand.value.nth, 2)
        elif operand.kind == "integer":
            out += _integer(operand.value)
        elif operand.kind == "typed":
            out += _sized(0x50, operand.value[1], little(operand.value[0], 2))
        else:
            out += _sized(0x10 if operand.kind == "unquoted" else 0x20, operand.value)
    end_run()
    return out + b"\0"


# Streams.

MAGIC = b"\x8dEPB\x01"


def read_stream(data):
    """All records of a file; section 13."""
    records, count, ended, items = [], 0, False, Items(data)
    refuse_if(not data, "no bytes are not a stream")
    while not (ended and items.ends()):
        start = items.at
        refuse_if(items.take(5) != MAGIC, "another magic or version")
        kind, length, held, before = items.int(1), items.int(4), items.int(4), items.int(8)
        head, check = data[start:items.at], items.int(4)
        refuse_if(2 <= kind < 128, "a reserved kind")
        refuse_if(kind == 1 and (length or held), "an end frame with a payload")
        refuse_if(kind == 0 and not (length and held), "a frame of records without a record")
        refuse_if(kind == 0 and length > 65536 and held != 1, "a payload over its limit")
        refuse_if(length > MOST_BYTES, "a payload over its limit")
        refuse_if(kind >= 128 and held, "an optional frame with records")
        payload = items.take(length)
        refuse_if(crc32c(head, payload) != check, "wrong checksum")
        refuse_if(before != count, "frames lost, repeated or misplaced")
        ended = kind == 1
        if kind == 0:
            frame = read_records(payload)
            refuse_if(len(frame) != held, "more or fewer records than the frame says")
            records += frame
        count = 0 if ended else count + held
    return records


def read_records(payload):
    records, at = [], 0
    while at < len(payload):
        record, at = read_record(payload, at)
        records.append(record)
    return records


def _frame(kind, payload, held, before):
    head = MAGIC + bytes([kind]) + little(len(payload), 4) + little(held, 4) + little(before, 8)
    return head + little(crc32c(head, payload), 4) + payload


def write_stream(records):
    out, payload, held, before = b"", b"", 0, 0
    for record in [*map(write_record, records), None]:
        if held and (record is None or len(payload) + len(record) > 65536):
            out += _frame(0, payload, held, before)
            payload, held, before = b"", 0, before + held
        if record is not None:
            payload, held = payload + record, held + 1
    return out + _frame(1, b"", 0, before)
