"""Legal moves, SAN and ordinals: formats/chess.md, sections 3 to 5."""
import chess

from bits import refuse_if
from board import KING, PAWN, FILES, check_rights, double_step_may_have_left, enemy_pawn, is_black, kind, name

PIECE_LETTERS = " PNBRQK"


def chess_board(position):
    """The board of python-chess; an en passant square that no double step can have left is left out."""
    board = chess.Board(None, chess960=True)
    for square, piece in enumerate(position.squares):
        if piece:
            board._set_piece_at(square, kind(piece), not is_black(piece))
    board.turn = not position.black
    board.castling_rights = sum(1 << rook for rook in position.rights if rook is not None)
    board.ep_square = position.en_passant if double_step_may_have_left(position) else None
    return board


def playable(position):
    squares = position.squares
    if squares.count(6) != 1 or squares.count(12) != 1:
        return False
    if any(squares[square] in (1, 7) for square in [*range(8), *range(56, 64)]):
        return False
    return not chess_board(position).was_into_check()


class Move:
    """A legal move; castling is the king taking its own rook. The SAN is without marks of check and mate."""

    def __init__(self, position, move, nth, san):
        self.position, self.nth, self.san = position, nth, san
        self.origin, self.target = move.from_square, move.to_square
        self.promotion = move.promotion or 0
        self._after = None

    def is_same(self, other):
        return (self.origin, self.target, self.promotion) == (other.origin, other.target, other.promotion)

    def castles(self):
        position = self.position
        return kind(position.squares[self.origin]) == KING and self.target in position.rights \
            and is_black(position.squares[self.target]) == position.black

    def captures(self):
        return not self.castles() and (position_has(self.position, self.target) or self.takes_en_passant())

    def takes_en_passant(self):
        return kind(self.position.squares[self.origin]) == PAWN and self.origin & 7 != self.target & 7 \
            and not self.position.squares[self.target]

    def is_pawn_move(self):
        return kind(self.position.squares[self.origin]) == PAWN

    def after(self):
        """The position after the move; its en passant square is set by every double step."""
        if self._after is None:
            self._after = _after(self)
        return self._after

    def text(self):
        """The canonical SAN with its mark."""
        board = chess_board(self.after())
        if not board.is_check():
            return self.san
        return self.san + ("+" if any(board.generate_legal_moves()) else "#")

    def coordinates(self):
        """Notation of UCI, castling as in archive_operations.md, section 3."""
        position, target = self.position, self.target
        if self.castles() and not looks_like_960(position):
            target = (self.origin & 56) + (6 if target > self.origin else 2)
        return name(self.origin) + name(target) + " pnbrqk"[self.promotion].strip()


def position_has(position, square):
    return position.squares[square] != 0


def looks_like_960(position):
    """A king of either colour with a right is off file e, or a rook with a right off a and h."""
    for slot, rook in enumerate(position.rights):
        if rook is not None and (position.king(slot > 1) & 7 != 4 or rook & 7 not in (0, 7)):
            return True
    return False


def _after(move):
    position, origin, target = move.position, move.origin, move.target
    squares, piece = list(position.squares), position.squares[move.origin]
    en_passant, gone = None, {origin, target}
    if move.castles():
        king_side = target > origin
        base = origin & 56
        squares[origin] = squares[target] = 0
        squares[base + (6 if king_side else 2)] = piece
        squares[base + (5 if king_side else 3)] = piece - 2
    else:
        if move.takes_en_passant():
            squares[enemy_pawn(position, target)[0]] = 0
        squares[origin] = 0
        squares[target] = piece
        if move.promotion:
            squares[target] = move.promotion + (6 if position.black else 0)
        if kind(piece) == PAWN and abs(target - origin) == 16:
            en_passant = (origin + target) // 2
    rights = [None if rook in gone else rook for rook in position.rights]
    if kind(piece) == KING:
        rights[2 * position.black] = rights[2 * position.black + 1] = None
    return position.same_but(squares=squares, black=not position.black, rights=rights, en_passant=en_passant)


def _sans(position, moves):
    """The SANs without marks, in the order of `moves`."""
    to = {}
    is_castling = lambda move: move.to_square in position.rights \
        and kind(position.squares[move.from_square]) == KING \
        and is_black(position.squares[move.to_square]) == position.black
    for move in moves:
        if not is_castling(move):
            to.setdefault((position.squares[move.from_square], move.to_square), []).append(move.from_square)
    out = []
    for move in moves:
        piece, origin, target = position.squares[move.from_square], move.from_square, move.to_square
        if is_castling(move):
            out.append("O-O" if target > origin else "O-O-O")
            continue
        takes = "x" if position.squares[target] else ""
        if kind(piece) == PAWN:
            takes = FILES[origin & 7] + "x" if origin & 7 != target & 7 else ""
            out.append(takes + name(target) + ("=" + PIECE_LETTERS[move.promotion] if move.promotion else ""))
            continue
        others = [square for square in to[piece, target] if square != origin]
        where = ""
        if others:
            if all(square & 7 != origin & 7 for square in others):
                where = FILES[origin & 7]
            elif all(square >> 3 != origin >> 3 for square in others):
                where = str((origin >> 3) + 1)
            else:
                where = name(origin)
        out.append(PIECE_LETTERS[kind(piece)] + where + takes + name(target))
    return out


def legal_moves(position):
    """The legal moves in the order of their ordinals; none if the position is not playable."""
    if position._moves is None:
        moves = list(chess_board(position).generate_legal_moves()) if playable(position) else []
        ordered = sorted(zip(_sans(position, moves), moves), key=lambda pair: pair[0])
        position._moves = [Move(position, move, nth, san) for nth, (san, move) in enumerate(ordered)]
    return position._moves


def move_at(position, ordinal):
    moves = legal_moves(position)
    refuse_if(ordinal >= len(moves), f"move ordinal {ordinal}, but there are {len(moves)} legal moves")
    return moves[ordinal]


def identity(position):
    """The position with its en passant square only if a legal en passant capture exists."""
    if position.en_passant is None:
        return position
    if double_step_may_have_left(position) and any(move.takes_en_passant() for move in legal_moves(position)):
        return position
    return position.same_but(en_passant=None)
