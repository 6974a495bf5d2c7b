"""EPD, FEN and PGN records, position libraries and archives of chess.

Use `read` for records as objects, one after the other, and
`open` to find records by position.
"""

from ._native import (
    Library,
    Reader,
    Record,
    convert,
    key,
    moves,
    normalize,
    open,
    pack,
    read,
    report,
    tally,
    unpack,
)
from ._values import (
    Entry,
    EpdbError,
    Explored,
    ExploredMove,
    FileInTheWayError,
    Game,
    MissingFileError,
    Move,
    Rejected,
    Token,
    Written,
)

__all__ = [
    "Entry",
    "EpdbError",
    "Explored",
    "ExploredMove",
    "FileInTheWayError",
    "Game",
    "Library",
    "MissingFileError",
    "Move",
    "Reader",
    "Record",
    "Rejected",
    "Token",
    "Written",
    "convert",
    "key",
    "moves",
    "normalize",
    "open",
    "pack",
    "read",
    "report",
    "tally",
    "unpack",
]
