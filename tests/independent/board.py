"""Packed boards and positions: formats/chess.md, sections 1, 2, 6 and 7."""
from pathlib import Path

from bits import Refused, refuse_if

# A piece is a number: 1 to 6 a white pawn, knight, bishop, rook, queen, king, 7 to 12 a black one; 0 is no piece.
LETTERS = " PNBRQKpnbrqk"
PAWN, KNIGHT, BISHOP, ROOK, QUEEN, KING = range(1, 7)
FILES = "abcdefgh"
# The place of a right in `Position.rights`.
RIGHTS = [(False, True), (False, False), (True, True), (True, False)]  # (black, king side)
DATA = Path(__file__).resolve().parents[2] / "formats" / "data"
RANDOM = [int(line, 16) for line in (DATA / "polyglot_random64.txt").read_text().split()]


class Position:
    """Placement, side to move, castling rights (squares of the rooks), en passant square."""

    def __init__(self, squares=None, black=False, rights=(None,) * 4, en_passant=None):
        self.squares = squares or [0] * 64
        self.black, self.rights, self.en_passant = black, tuple(rights), en_passant
        self._moves = None

    def same_but(self, **changes):
        fields = dict(squares=self.squares, black=self.black, rights=self.rights, en_passant=self.en_passant)
        return Position(**{**fields, **changes})

    def __eq__(self, other):
        return (self.squares, self.black, self.rights, self.en_passant) == \
            (other.squares, other.black, other.rights, other.en_passant)

    def pieces(self, kind):
        return [square for square in range(64) if self.squares[square] == kind]

    def king(self, black):
        """The square of the king of a side that has exactly one, else None."""
        kings = self.pieces(12 if black else 6)
        return kings[0] if len(kings) == 1 else None


def is_black(piece):
    return piece > 6


def kind(piece):
    return piece - 6 if piece > 6 else piece


def name(square):
    return FILES[square & 7] + str((square >> 3) + 1)


def right_slot(king, rook, black):
    return 2 * black + (0 if rook > king else 1)


def enemy_pawn(position, square):
    """The pawn that may have passed over an en passant square: its square and its kind."""
    return (square - 8, 7) if not position.black else (square + 8, 1)


def check_rights(position):
    """Section 3: rules 1 to 3."""
    for slot, rook in enumerate(position.rights):
        if rook is None:
            continue
        black, king_side = RIGHTS[slot]
        rank = 7 if black else 0
        king = position.king(black)
        refuse_if(king is None or king >> 3 != rank, "a right without one king on its back rank")
        refuse_if(king & 7 in (0, 7), "a right of a king on the a or h file")
        refuse_if(rook >> 3 != rank or position.squares[rook] != (10 if black else 4), "a right without its rook")
        refuse_if((rook > king) != king_side, "a right on the other side of the king")


# Packed boards.

CODES = {7: 0, 1: 1, 8: 2, 2: 3, 9: 4, 3: 5, 10: 6, 4: 7, 11: 8, 5: 9, 12: 10, 6: 11}
PIECES = {code: piece for piece, code in CODES.items()}


def has_plain_form(position):
    count = sum(piece != 0 for piece in position.squares)
    if not 1 <= count <= 32 or position.black and not position.pieces(12):
        return False
    if position.en_passant is not None:
        square, pawn = enemy_pawn(position, position.en_passant)
        return position.squares[square] == pawn
    return True


def code(position, square, plain):
    piece = position.squares[square]
    if square in position.rights:
        return 14 if is_black(piece) else 13
    if plain and piece == 12 and position.black:
        return 15
    if plain and position.en_passant is not None and square == enemy_pawn(position, position.en_passant)[0]:
        return 12
    return CODES[piece] if piece else 12


def nibbles(codes):
    codes = codes + [0] * (len(codes) % 2)
    return bytes(low | high << 4 for low, high in zip(codes[::2], codes[1::2]))


def pack(position):
    if has_plain_form(position):
        taken = [square for square in range(64) if position.squares[square]]
        occupied = sum(1 << square for square in taken)
        return occupied.to_bytes(8, "little") + nibbles([code(position, square, True) for square in taken])
    last = position.black | (0 if position.en_passant is None else (position.en_passant & 7) + 1) << 1
    return bytes(8) + nibbles([code(position, square, False) for square in range(64)]) + bytes([last])


def packed_length(data):
    """The length of the board that begins here."""
    refuse_if(len(data) < 8, "the data end inside a packed board")
    count = int.from_bytes(data[:8], "little").bit_count()
    refuse_if(count > 32, "more than 32 pieces")
    length = 8 + (count + 1) // 2 if count else 41
    refuse_if(len(data) < length, "the data end inside a packed board")
    return length


def unpack(data):
    """The position of the packed board at the beginning of `data`, and the length of the board."""
    length = packed_length(data)
    codes = [byte >> shift & 15 for byte in data[8:length] for shift in (0, 4)]
    occupied = int.from_bytes(data[:8], "little")
    position = _plain(occupied, codes) if occupied else _escape(codes[:64], data[40])
    check_rights(position)
    refuse_if(pack(position) != bytes(data[:length]), "not the canonical form of the board")
    return position, length


def _rights(position, castling):
    rights = [None] * 4
    for square, code in castling:
        black = code == 14
        king = position.king(black)
        refuse_if(king is None, "a right without one king")
        slot = right_slot(king, square, black)
        refuse_if(rights[slot] is not None, "two rights on one side")
        rights[slot] = square
    position.rights = tuple(rights)


def _plain(occupied, codes):
    taken = [square for square in range(64) if occupied >> square & 1]
    refuse_if(len(codes) > len(taken) and codes[-1], "a code after the last piece")
    position = Position(black=15 in codes)
    refuse_if(10 in codes and 15 in codes, "codes 10 and 15")
    castling, passed = [], []
    for square, code in zip(taken, codes):
        if code == 12:
            passed.append(square)
            position.squares[square] = 1 if position.black else 7
        elif code in (13, 14):
            castling.append((square, code))
            position.squares[square] = 4 if code == 13 else 10
        else:
            position.squares[square] = 12 if code == 15 else PIECES[code]
    refuse_if(len(passed) > 1, "code 12 twice")
    for square in passed:
        refuse_if(square >> 3 != (3 if position.black else 4), "code 12 on another rank")
        position.en_passant = square + (-8 if position.black else 8)
    _rights(position, castling)
    return position


def _escape(codes, last):
    refuse_if(15 in codes, "code 15 in the escape form")
    position = Position(black=bool(last & 1))
    refuse_if(last >> 1 > 8, "an en passant file over 8")
    if last >> 1:
        position.en_passant = (last >> 1) - 1 + (16 if position.black else 40)
    castling = []
    for square, code in enumerate(codes):
        if code in (13, 14):
            castling.append((square, code))
            position.squares[square] = 4 if code == 13 else 10
        elif code != 12:
            position.squares[square] = PIECES[code]
    _rights(position, castling)
    return position


# Position keys.

POLYGLOT_KINDS = {piece: kind for kind, piece in enumerate([7, 1, 8, 2, 9, 3, 10, 4, 11, 5, 12, 6])}


def _key(position, counts):
    key = 0
    for square, piece in enumerate(position.squares):
        if piece:
            key ^= RANDOM[64 * POLYGLOT_KINDS[piece] + square]
    for slot, rook in enumerate(position.rights):
        if rook is not None:
            key ^= RANDOM[768 + slot]
    if counts:
        key ^= RANDOM[772 + (position.en_passant & 7)]
    return key if position.black else key ^ RANDOM[780]


def key(identity):
    """The key of an identity position."""
    return _key(identity, identity.en_passant is not None)


def pawn_key(position):
    """Archive, section 6: the part of the key that comes from pawns."""
    return part_of_key(position, (1, 7))


def white_key(position):
    """Archive, section 6: the part of the key that comes from White's pieces and from all pawns."""
    return part_of_key(position, range(1, 8))


def part_of_key(position, pieces):
    key = 0
    for square, piece in enumerate(position.squares):
        if piece in pieces:
            key ^= RANDOM[64 * POLYGLOT_KINDS[piece] + square]
    return key


def double_step_may_have_left(position):
    """Chess, section 3, rule 2: the en passant square can result from a double step."""
    square = position.en_passant
    if square is None:
        return False
    pawn_square, pawn = enemy_pawn(position, square)
    origin = square - 8 if position.black else square + 8
    return position.squares[square] == position.squares[origin] == 0 and position.squares[pawn_square] == pawn


def polyglot_key(position):
    counts = False
    if double_step_may_have_left(position):
        square = enemy_pawn(position, position.en_passant)[0]
        mine = 7 if position.black else 1
        counts = any(position.squares[square + step] == mine for step in (-1, 1)
                     if square + step >> 3 == square >> 3)
    return _key(position, counts)


def locality_key(position):
    """Of an identity."""
    value = 0
    for pawn in (1, 7):
        for file in range(8):
            ranks = [square >> 3 for square in position.pieces(pawn) if square & 7 == file]
            value = value << 3 | (7 if len(ranks) > 1 else sum(ranks))
    for black in (False, True):
        value = value << 6 | (position.king(black) or 0)
    return value << 4 | key(position) >> 60
