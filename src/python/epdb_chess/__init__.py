"""EPD, FEN and PGN records, position libraries and archives of chess.

Use `scan` for columns of millions of rows, `read` for records as objects, one after the other, and
`open` to find records by position. `shard` is for work that several machines share, and `epdb_chess.spark`
for Apache Spark.
"""

from . import shard
from ._native import (
    Batch,
    BatchReader,
    Library,
    Reader,
    Record,
    Scan,
    Schema,
    convert,
    from_arrow,
    key,
    moves,
    normalize,
    open,
    pack,
    read,
    report,
    scan,
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
    "Batch",
    "BatchReader",
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
    "Scan",
    "Schema",
    "Token",
    "Written",
    "convert",
    "from_arrow",
    "key",
    "moves",
    "normalize",
    "open",
    "pack",
    "read",
    "report",
    "scan",
    "shard",
    "tally",
    "unpack",
]
