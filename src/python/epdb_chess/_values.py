"""Values that the native module makes: errors, moves and rows."""

from __future__ import annotations

import os
import sys
import warnings as python_warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_PACKAGE = os.path.join(os.path.dirname(__file__), "")


class EpdbError(ValueError):
    """An error of a file, a line or a value.

    `file`, `line`, `column` and `code` are None if they do not apply. Lines and columns count
    from 1; columns are bytes.
    """

    def __init__(
        self,
        message: str,
        file: str | None = None,
        line: int | None = None,
        column: int | None = None,
        code: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.file = file
        self.line = line
        self.column = column
        self.code = code

    def __str__(self) -> str:
        return self.message

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.message, self.file, self.line, self.column, self.code)


class MissingFileError(EpdbError, FileNotFoundError):
    """A file does not exist."""


class FileInTheWayError(EpdbError, FileExistsError):
    """A file that was to be created exists."""


class EpdbWarning(UserWarning):
    """A repair or a doubt: something in a file was not read as it is written there.

    There is one warning for each `code` in each reading, about its first place. The report of the reading
    counts all. The text begins with the code, so `warnings.filterwarnings("error", "W-PGN-TRUNCATED")`
    raises this warning as an exception. `file`, `line`, `column` and `code` are as in `EpdbError`.
    """

    def __init__(
        self,
        message: str,
        file: str | None = None,
        line: int | None = None,
        column: int | None = None,
        code: str | None = None,
    ) -> None:
        super().__init__(message)
        self.file = file
        self.line = line
        self.column = column
        self.code = code

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (*self.args, self.file, self.line, self.column, self.code)


def warn(warning: EpdbWarning) -> None:
    """Issues a warning about the line that called the package."""
    # A thread of another library that reads a stream has no lines of Python below this one.
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    python_warnings.warn(warning, stacklevel=level)


def records_of(library: Any) -> Iterator[Any]:
    """The records of an archive, some at a time."""
    for start in range(0, len(library), 4096):
        yield from library[start : start + 4096]


class Move(str):
    """A legal move: a string in UCI notation such as `e2e4`, with its SAN.

    `chess.Move.from_uci(move)` and `board.parse_san(move.san)` make moves of python-chess.
    """

    __slots__ = ("san",)
    san: str

    def __new__(cls, uci: str, san: str) -> Move:
        move = super().__new__(cls, uci)
        move.san = san
        return move

    @property
    def uci(self) -> str:
        """The move in UCI notation."""
        return str(self)

    def __str__(self) -> str:
        return str.__str__(self)

    def __repr__(self) -> str:
        return f"Move({str.__str__(self)!r}, {self.san!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str.__str__(self), self.san)


class Token(str):
    """An operand that is written without quotes, of an opcode whose operands have no type."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"Token({str.__str__(self)!r})"


@dataclass(frozen=True, slots=True)
class Rejected:
    """A line or a game that could not be read: its bytes, and the reason."""

    raw: bytes
    error: EpdbError


@dataclass(frozen=True, slots=True)
class ReadReport:
    """What a reading returned, and what it left out.

    `rejected` counts lines and games that could not be read, `cut_short` games that end before an illegal
    move, and `left_out` records and games that `where` excludes. `warnings` and `errors` count findings by
    code. Positions of variations and after null moves, and evaluations in comments that could not be read,
    are counted too. `complete` is true if everything was read to its end and no game was cut short. `first` has the
    first finding of each code, with its place.
    """

    rows: int
    rejected: int
    cut_short: int
    left_out: int
    warnings: dict[str, int]
    errors: dict[str, int]
    variation_positions: int
    null_move_positions: int
    unread_evaluations: int
    complete: bool
    first: dict[str, str]


@dataclass(frozen=True, slots=True)
class ExploredMove:
    """A move of a position, and the results of the games in which it was played.

    Ratings are means; None if no game has one. `reached` counts the games that reached the
    position after the move by any moves. `weight` is that of an opening book. `ce` is the
    evaluation of the position after the move in centipawns, for the mover.
    """

    move: Move
    white: int
    draws: int
    black: int
    rating: float | None
    opponents: float | None
    performance: float | None
    first_year: int | None
    last_year: int | None
    reached: int | None
    weight: int | None
    ce: int | None

    @property
    def games(self) -> int:
        """Games with a known result."""
        return self.white + self.draws + self.black


@dataclass(frozen=True, slots=True)
class Explored:
    """The moves of a position, and the results of all their games.

    `reached` counts the games that reached the position; None if the library has no tallies.
    """

    white: int
    draws: int
    black: int
    reached: int | None
    moves: list[ExploredMove]

    @property
    def games(self) -> int:
        """Games with a known result."""
        return self.white + self.draws + self.black

    def _repr_html_(self) -> str:
        from . import _html

        return _html.explored(self)


@dataclass(frozen=True, slots=True)
class Entry:
    """A move with a weight, like an entry of `chess.polyglot`."""

    move: Move
    weight: int


@dataclass(frozen=True, slots=True)
class Game:
    """A game that a library keeps for a position, and the move that it played there."""

    id: str
    move: Move | None
    result: str
    tags: dict[str, str]
    pgn: str


@dataclass(frozen=True, slots=True)
class Written:
    """Counts of a file that was written.

    `rejected` has the lines and games that could not be read, with `on_error="skip"`. `cut_short` counts
    games cut short by an illegal move or an open comment or variation, and `warnings` counts warnings by code.
    """

    records: int
    games: int
    rejected: list[Rejected]
    cut_short: int
    warnings: dict[str, int]
