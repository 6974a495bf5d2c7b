"""Rows of level default, and records made from them: formats/archive.md, section 5.1, and formats/archive_model.md, section 2.4."""
from bits import little, refuse_if
from board import RIGHTS, Position, check_rights
from model import codes_of, rank_of
from moves import identity
from record import Operand, Record, has_outermost, is_outermost, with_given

# The rank of a column, counted from 0.
RANK_OF = {2: 0, 3: 1, 4: 7, 5: 6, 6: 2, 7: 5, 8: 3, 9: 4}
HAS_OPERATIONS = 2
MOST = 2**32 - 1


def has_clock(form):
    return form >> 2 in (1, 2, 3)


def has_number(form):
    return form >> 2 in (1, 2, 4)


def position_of(row):
    """The position of a row, with the en passant square as the record has it."""
    refuse_if(row[1] >> 17, "bits that are not in the table")
    position = Position(black=bool(row[1] & 1))
    for column, rank in RANK_OF.items():
        codes = codes_of(row[column])
        refuse_if(max(codes) > 12, "a code that is not a piece")
        position.squares[8 * rank:8 * rank + 8] = codes
    refuse_if(row[10] > 8, "an en passant file over 8")
    if row[10]:
        position.en_passant = row[10] - 1 + (16 if position.black else 40)
    position.rights = tuple(_rook(position, slot, row[1] >> 1 + 4 * slot & 15) for slot in range(4))
    check_rights(position)
    for slot in range(4):
        value = row[1] >> 1 + 4 * slot & 15
        refuse_if(value > 1 and is_outermost(position, slot), "a right that names the outermost rook by its file")
    return position


def _rook(position, slot, value):
    if value == 0:
        return None
    refuse_if(value > 9, "a right that is not in the table")
    black, king_side = RIGHTS[slot]
    rank = 56 if black else 0
    if value > 1:
        return rank + value - 2
    rooks = [square for square in range(rank, rank + 8) if position.squares[square] == (10 if black else 4)]
    refuse_if(not rooks, "a right without its rook")
    return rooks[-1] if king_side else rooks[0]


def row_of_position(position, form, number=0, clock=0):
    row = [0] * 13
    row[0], row[11], row[12] = form, number, clock
    row[1] = int(position.black)
    for slot, rook in enumerate(position.rights):
        if rook is not None:
            row[1] |= (1 if is_outermost(position, slot) else 2 + (rook & 7)) << 1 + 4 * slot
    for column, rank in RANK_OF.items():
        row[column] = rank_of(position.squares[8 * rank:8 * rank + 8])
    row[10] = 0 if position.en_passant is None else (position.en_passant & 7) + 1
    return row


def board_key(record):
    """Section 5.5: columns 1 to 9."""
    return row_of_position(with_given(record), 0)[1:10]


def check_form(row):
    form = row[0]
    refuse_if(form >> 2 > 4, "an unknown form")
    refuse_if(form >> 2 == 1 and form & HAS_OPERATIONS, "counters as fields together with operations")
    refuse_if(not has_clock(form) and row[12], "a counter that the form does not have")
    refuse_if(has_number(form) != (row[11] > 0), "a fullmove number of 0, or one that the form does not have")


def record_of(row):
    """The record of a row, without its operations (formats/archive_operations.md)."""
    check_form(row)
    position, form = position_of(row), row[0]
    refuse_if(form & 1 and position.rights == (None,) * 4, "Shredder's letters without a right")
    record = Record(identity(position), shredder=bool(form & 1) and has_outermost(position))
    if position.en_passant is not None and record.position.en_passant is None:
        record.given = position.en_passant & 7
    if form >> 2 == 1:
        record.counters = row[12], row[11]
        return record
    if has_number(form):
        record.operations.append(("fmvn", [Operand("integer", row[11])]))
    if has_clock(form):
        record.operations.append(("hmvc", [Operand("integer", row[12])]))
    return record


def row_after(row, move, mode):
    """Section 2.4 of the model: the row that follows from a move."""
    position = move.after()
    if mode in (15, 17):
        position = position.same_but(en_passant=None)
    form = row[0] ^ (HAS_OPERATIONS if mode >= 16 else 0)
    number = min(row[11] + (move.position.black and has_number(form)), MOST)
    clock = min(row[12] + 1, MOST) if has_clock(form) and not (move.captures() or move.is_pawn_move()) else 0
    after = row_of_position(position, form, number, clock)
    record_of(after)
    return after


def flipped(row):
    out = list(row)
    for a, b in ((2, 4), (3, 5), (6, 7), (8, 9)):
        out[a], out[b] = exchanged(row[b]), exchanged(row[a])
    rights = row[1] >> 1 & 0xFFFF
    out[1] = row[1] & ~0x1FFFF | (row[1] & 1 ^ 1) | (rights >> 8 | (rights & 0xFF) << 8) << 1
    return out


def exchanged(rank):
    return rank_of([n + 6 if 1 <= n <= 6 else n - 6 if 7 <= n <= 12 else n for n in codes_of(rank)])


def rows_bytes(rows):
    return b"".join(little(value, 4) for row in rows for value in row)
