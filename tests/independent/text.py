"""EPD text: formats/epd_text.md, sections 2 and 3: canonical text, and what the standard profile reads besides."""
import re

from bits import Refused, refuse_if
from board import FILES, LETTERS, Position, is_black, name, right_slot
from moves import identity
from record import (INTEGERS, LINES, MOVES, NOT_IN_STRINGS, OPCODE, SETS, TALLIES, UNQUOTED, Operand, Place, Record,
                    is_outermost, operand_of_string, operand_of_text, operand_text, with_given)


def placement_text(position):
    ranks = []
    for rank in range(7, -1, -1):
        letters = "".join(LETTERS[piece] for piece in position.squares[8 * rank:8 * rank + 8])
        ranks.append(re.sub(" +", lambda blanks: str(len(blanks[0])), letters))
    return "/".join(ranks)


def castling_text(position, shredder=False):
    letters = ""
    for slot, rook in enumerate(position.rights):
        if rook is not None:
            letter = FILES[rook & 7] if shredder or not is_outermost(position, slot) else "kq"[slot % 2]
            letters += letter if slot > 1 else letter.upper()
    return letters or "-"


def board_text(position, shredder=False):
    square = position.en_passant
    return " ".join([placement_text(position), "b" if position.black else "w", castling_text(position, shredder),
                     "-" if square is None else name(square)])


def line_of(record, letters_as_read=False):
    """The canonical text of a record, without the end of its line."""
    words = [board_text(with_given(record), record.shredder and letters_as_read).encode()]
    words += [str(counter).encode() for counter in record.counters or ()]
    for opcode, operands in record.operations:
        words.append(b" ".join([opcode.encode(), *map(operand_text, operands)]) + b";")
    return b" ".join(words)


# Reading.

def read_placement(text):
    ranks = text.split("/")
    refuse_if(len(ranks) != 8, "E-FEN-RANKS")
    position = Position()
    for rank, letters in zip(range(7, -1, -1), ranks):
        file = 0
        for letter in letters:
            if letter in "12345678":
                file += int(letter)
                continue
            refuse_if(letter not in LETTERS[1:], "E-FEN-CHAR")
            refuse_if(file > 7, "E-FEN-RANKSUM")
            position.squares[8 * rank + file] = LETTERS.index(letter)
            file += 1
        refuse_if(file != 8, "E-FEN-RANKSUM")
    return position


def read_castling(position, text, drop=False):
    """Sets the rights; true if the field is in Shredder's letters and X-FEN writes others."""
    rights = [None] * 4
    for letter in text if text not in ("-", "nil") else "":
        refuse_if(letter.lower() not in "kqabcdefgh", "E-FEN-CASTLE")
        black, king = letter.islower(), position.king(letter.islower())
        rook = _rook(position, letter.lower(), black, king)
        if rook is None or king >> 3 != (7 if black else 0) or king & 7 in (0, 7):
            refuse_if(not drop, "E-POS-CASTLE")
            continue
        slot = right_slot(king, rook, black)
        refuse_if(rights[slot] is not None, "E-FEN-CASTLE")
        rights[slot] = rook
    position.rights = tuple(rights)
    outermost = any(rook is not None and is_outermost(position, slot) for slot, rook in enumerate(rights))
    return outermost and not re.search("[KQkqi-]", text)


def _rook(position, letter, black, king):
    if king is None:
        return None
    rank = 56 if black else 0
    rooks = [square for square in range(rank, rank + 8) if position.squares[square] == (10 if black else 4)]
    if letter == "k":
        rooks = [rook for rook in rooks if rook > king][-1:]
    elif letter == "q":
        rooks = [rook for rook in rooks if rook < king][:1]
    else:
        rooks = [rook for rook in rooks if rook & 7 == FILES.index(letter)]
    return rooks[0] if rooks else None


def read_position(fields, drop=False):
    """The position of four fields as given, and whether they are in Shredder's letters."""
    placement, side, castling, en_passant = fields
    position = read_placement(placement)
    refuse_if(side not in ("w", "b", "W", "B"), "E-FEN-COLOR")
    position.black = side in "bB"
    shredder = read_castling(position, castling, drop)
    if en_passant not in ("-", "nil"):
        refuse_if(not re.fullmatch("[a-h]" + ("3" if position.black else "6"), en_passant), "E-FEN-EP")
        position.en_passant = FILES.index(en_passant[0]) + 8 * int(en_passant[1]) - 8
    return position, shredder


FIELDS = re.compile(rb"[ \t]*([^ \t]+)[ \t]+([^ \t]+)[ \t]+([^ \t]+)[ \t]+([^ \t;]+)")
COUNTERS = re.compile(rb"[ \t]+([0-9]+)[ \t]+([0-9]+)(?=[ \t;]|$)")
TOKEN = re.compile(rb'[ \t]*(?:"([^"]*)"|([^ \t;"]+)|(;))')


def read_line(line, fields_stay=True, drop=False):
    """The record of a line. `fields_stay`: counters as fields stay fields in a line without operations."""
    match = FIELDS.match(line)
    refuse_if(not match, "E-EPD-FIELDS")
    try:
        position, shredder = read_position([field.decode("ascii") for field in match.groups()], drop)
    except UnicodeDecodeError:
        raise Refused("E-EPD-CTRL") from None
    record = Record(identity(position), shredder=shredder)
    if position.en_passant is not None and record.position.en_passant is None:
        record.given = position.en_passant & 7
    at, operations = match.end(), {}
    counters = COUNTERS.match(line, at)
    if counters:
        at = counters.end()
        record.counters = int(counters[1]), int(counters[2])
        refuse_if(record.counters[1] == 0, "E-FEN-FMVN")
    for opcode, operands in _operations(line, at):
        operands = read_operands(record, opcode, operands)
        refuse_if(operations.setdefault(opcode, operands) != operands, "E-EPD-DUP")
    if record.counters and (operations or not fields_stay or max(record.counters) >= 2**32):
        for opcode, counter in zip(("hmvc", "fmvn"), record.counters):
            operand = [Operand("integer", counter)]
            refuse_if(operations.setdefault(opcode, operand) != operand, "E-EPD-DUP")
        record.counters = None
    record.operations = sorted(operations.items())
    return record


def _operations(line, at):
    """(opcode, [(is a string, bytes)]) of each operation."""
    words = []
    while line[at:].strip(b" \t"):
        match = TOKEN.match(line, at)
        refuse_if(not match, "E-EPD-QUOTE")
        at = match.end()
        if match[3]:
            if words:
                yield _opcode(words[0]), words[1:]
            words = []
        elif match[1] is not None:
            refuse_if(NOT_IN_STRINGS.search(match[1]), "E-EPD-CTRL")
            words.append((True, match[1]))
        else:
            refuse_if(not UNQUOTED.fullmatch(match[2]), "E-EPD-CTRL")
            words.append((False, match[2]))
    if words:
        yield _opcode(words[0]), words[1:]


def _opcode(word):
    is_string, opcode = word
    refuse_if(is_string or not OPCODE.fullmatch(opcode.decode("ascii")), "E-EPD-OPCODE")
    return opcode.decode("ascii")


def read_operands(record, opcode, words):
    operands, place = [], Place(opcode, record.position)
    for is_string, word in words:
        operand = operand_of_string(word) if is_string else operand_of_text(place, word)
        operands.append(operand)
        place.pass_over(operand)
    if opcode in SETS:
        by_text = {operand_text(operand, quotes=False): operand for operand in operands}
        operands = [by_text[text] for text in sorted(by_text)]
    return operands
