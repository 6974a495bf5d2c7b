"""The native module."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from os import PathLike
from random import Random
from typing import (
    IO,
    TYPE_CHECKING,
    Any,
    Literal,
    Protocol,
    Self,
    TypeAlias,
    TypedDict,
    Unpack,
    final,
    overload,
    type_check_only,
)

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped,unused-ignore]
    import polars as pl
    import pyarrow as pa  # type: ignore[import-untyped,unused-ignore]

from ._values import Entry, Explored, Game, Move, ReadReport, Rejected, Written

__all__ = [
    "Answers",
    "Batch",
    "BatchReader",
    "Library",
    "Plan",
    "Reader",
    "Record",
    "Scan",
    "Schema",
    "Slice",
    "__version__",
    "_restore_scan",
    "archives",
    "convert",
    "copies",
    "from_arrow",
    "games",
    "key",
    "merge",
    "moves",
    "normalize",
    "open",
    "pack",
    "plan",
    "read",
    "report",
    "scan",
    "search",
    "tally",
    "unpack",
]

__version__: str

@type_check_only
class _ArrowStream(Protocol):
    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...

@type_check_only
class _ArrowArray(Protocol):
    def __arrow_c_array__(self, requested_schema: Any = None) -> Any: ...

# A table or a column of Arrow, or a lazy frame of polars.
_Table: TypeAlias = _ArrowStream | _ArrowArray | pl.LazyFrame
_Path: TypeAlias = str | PathLike[str]
_Paths: TypeAlias = _Path | Iterable[_Path]
# What functions read: also bytes, file objects and tables.
_Source: TypeAlias = _Path | bytes | IO[bytes] | IO[str] | _Table
_Sources: TypeAlias = _Source | Iterable[_Source]
_Sort: TypeAlias = Literal[
    "games", "score", "white", "draws", "black", "elo", "performance", "reached", "ce", "name"
]
# A chess.Board, which has no type here because python-chess is optional.
_Position: TypeAlias = Any
_Progress: TypeAlias = Callable[[int, int | None], object]
_OnError: TypeAlias = Literal["raise", "skip"]

@type_check_only
class _TableOptions(TypedDict, total=False):
    profile: Literal["strict", "standard", "lenient"] | None
    format: str | None
    labels: bool | None
    label_view: Literal["white", "mover"] | None
    charset: str | None
    deny_warnings: bool | None
    storage_options: dict[str, str | bool] | None

@type_check_only
class _GameOptions(_TableOptions, total=False):
    positions: str | None
    variations: bool | None
    game_tags: bool | None
    game_openings: bool | None
    game_evals: bool | None
    truncate_games: bool | None

class _ReadOptions(_GameOptions, total=False):
    where: str | None

@final
class Record:
    """A position with its operations: one line of EPD or FEN."""
    def __new__(
        cls, position: _Position, *, profile: Literal["strict", "standard", "lenient"] = "lenient"
    ) -> Self: ...
    @property
    def fen(self) -> str:
        """The position as FEN with six fields."""
    @property
    def epd(self) -> str:
        """The record as EPD: four fields, then the operations."""
    @property
    def key(self) -> int:
        """The 64-bit key of the position: Polyglot's, but an en passant square counts only if a capture
        is legal.
        """
    @property
    def packed(self) -> bytes:
        """The packed board of the position."""
    @property
    def turn(self) -> bool:
        """The side to move: True for White, as in python-chess."""
    @property
    def halfmove_clock(self) -> int | None:
        """Plies since the last pawn move or capture; None if unknown."""
    @property
    def fullmove_number(self) -> int | None:
        """Number of the move; None if unknown."""
    def board(self) -> Any:
        """A chess.Board of the position. Needs the package python-chess."""
    def copy(self) -> Record:
        """A copy, which can be changed without changing this record."""
    def get(self, opcode: str, default: Any = None) -> Any:
        """The value of an opcode, or a default."""
    def keys(self) -> list[str]:
        """The opcodes, in alphabetical order."""
    def items(self) -> list[tuple[str, Any]]:
        """The opcodes with their values."""
    @staticmethod
    def _from_bytes(data: bytes) -> Record:
        """The record of the bytes that pickle keeps."""
    def _repr_html_(self) -> str:
        """The board, for notebooks."""
    def __getitem__(self, opcode: str, /) -> Any: ...
    def __setitem__(self, opcode: str, value: Any, /) -> None: ...
    def __delitem__(self, opcode: str, /) -> None: ...
    def __contains__(self, opcode: str, /) -> bool: ...
    def __iter__(self) -> Iterator[str]: ...
    def __len__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __copy__(self) -> Record: ...
    def __deepcopy__(self, _memo: Any) -> Record: ...
    def __reduce__(self) -> tuple[Any, tuple[bytes]]: ...

@final
class Reader:
    """An iterator over the records of files."""
    @property
    def rejected(self) -> list[Rejected]:
        """Lines and games that were passed over."""
    def report(self) -> ReadReport:
        """A report of the records that were read so far, and of everything that was left out. Reading goes on a
        little ahead of the records that were returned.
        """
    def close(self) -> None:
        """Ends the reading."""
    def __iter__(self) -> Self: ...
    def __next__(self) -> Record: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *_exception: Any) -> None: ...

@final
class Library:
    """An open library: a store, an archive, or any other file of records or games."""
    @property
    def path(self) -> PathLike[str]:
        """The name of the file."""
    @property
    def closed(self) -> bool:
        """Whether the library was closed."""
    def one(self, position: _Position) -> Record | None:
        """The first record of a position; None if there is none."""
    @overload
    def get_many(
        self, positions: bytes | Iterable[_Position], *, first: Literal[False] = False
    ) -> list[list[Record]]:
        """The records of many positions, a list for each. Runs on all threads without the lock of the
        interpreter. `positions` is an iterable, or one bytes object of packed boards in sequence.
        """
    @overload
    def get_many(
        self, positions: bytes | Iterable[_Position], *, first: Literal[True]
    ) -> list[Record | None]: ...
    def lookup(
        self,
        table: _Table | Iterable[_Position],
        on: str | None = None,
        *,
        columns: Sequence[str] | Literal["all"] | None = None,
        all: bool = False,
        score_view: Literal["mover", "white"] = "mover",
        on_error: Literal["raise", "null"] = "raise",
    ) -> Answers:
        """The records of a column of positions, as rows for data frames. `table` is a table or a column of Arrow
        (pyarrow, polars, pandas, DuckDB), or an iterable of positions. `on` is its column of FENs or packed
        boards; without it, the only column, `fen` or `board`.

        Each query has one row with its number `query`, the number of its records `matches`, and `columns` of its
        first record; a query without records has `matches` 0 and nulls. With `all`, each record has a row, and
        a query without records has none. `columns` are as in `scan`. With `on_error="null"`, a query without a
        position has nulls and the reason in the column `error`.
        """
    @overload
    def explore(
        self,
        position: _Table | list[_Position] | tuple[_Position, ...],
        on: str | None = None,
        *,
        sort: _Sort = "games",
        limit: int | None = None,
        min_games: int = 0,
        children: bool = False,
    ) -> Answers:
        """The moves of a position with the results of their games; None if the library lacks the
        position. `sort` is games, score, white, draws, black, elo, performance, reached, ce or name.

        `position` can also be a table, a column of Arrow or a list of positions, as for `lookup`. Then the result has a row for each
        move, with the number of its query; positions without moves in the library have no rows. `games` are those
        with a known result, and `score` is White's share of their points, 0 to 1. The columns `reached` and `ce` need
        `children=True`.
        """
    @overload
    def explore(
        self,
        position: _Position,
        on: None = None,
        *,
        sort: _Sort = "games",
        limit: int | None = None,
        min_games: int = 0,
        children: bool = False,
    ) -> Explored | None: ...
    def games(self, position: _Position) -> list[Game]:
        """The games that the library keeps for a position: the best rated games and the latest games."""
    def find_all(
        self,
        position: _Position,
        *,
        minimum_weight: int = 1,
        exclude_moves: Iterable[Any] | None = None,
    ) -> list[Entry]:
        """The moves of a position with their weights, the largest weight first, as in `chess.polyglot`. The
        weights are those of an opening book, or else the numbers of games.
        """
    def find(
        self,
        position: _Position,
        *,
        minimum_weight: int = 1,
        exclude_moves: Iterable[Any] | None = None,
    ) -> Entry:
        """The entry of the move with the largest weight. Raises IndexError if there is none."""
    def weighted_choice(
        self,
        position: _Position,
        *,
        exclude_moves: Iterable[Any] | None = None,
        random: Random | None = None,
    ) -> Entry:
        """An entry that is chosen at random, in proportion to the weights. Raises IndexError if there
        is none. `random` is a `random.Random`.
        """
    def report(self) -> ReadReport:
        """A report of the records that were read when the library was opened, and of everything that was left
        out. Stores and archives are not read then, so their report counts only their records.
        """
    def close(self) -> None:
        """Closes the file. Later calls raise EpdbError."""
    @overload
    def __getitem__(self, position: int, /) -> Record: ...
    @overload
    def __getitem__(self, position: _Position, /) -> list[Record]: ...
    def __contains__(self, position: _Position, /) -> bool: ...
    def __iter__(self) -> Iterator[Record]: ...
    def __len__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, ...]: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *_exception: Any) -> None: ...

@final
class Answers:
    """Rows about a column of positions, for pyarrow, polars, pandas and DuckDB. They are made while they are read,
    so they can be read once.
    """
    @property
    def schema(self) -> Schema:
        """Names and types of the columns."""
    def to_arrow(self) -> pa.Table:
        """A pyarrow.Table of all rows. Needs the package pyarrow."""
    def to_polars(self) -> pl.DataFrame:
        """A polars.DataFrame of all rows. Needs the package polars."""
    def to_pandas(self) -> pd.DataFrame:
        """A pandas.DataFrame of all rows. Needs the packages pandas and pyarrow."""
    def __iter__(self) -> Self: ...
    def __next__(self) -> Batch: ...
    def __arrow_c_schema__(self) -> Any: ...
    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...

@final
class Schema:
    """Names and types of the columns of a scan."""
    @property
    def names(self) -> list[str]:
        """The names of the columns."""
    @property
    def types(self) -> list[str]:
        """The names of the types of the columns."""
    def __len__(self) -> int: ...
    def __arrow_c_schema__(self) -> Any: ...

@final
class Batch:
    """Some rows of a scan, for `pyarrow.record_batch(batch)`, `pyarrow.table(batch)`, `polars.DataFrame(batch)` and
    `pandas.DataFrame.from_arrow(batch)`.
    """
    def __len__(self) -> int: ...
    def __arrow_c_array__(self, requested_schema: Any = None) -> Any: ...
    def __arrow_c_schema__(self) -> Any: ...
    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...

@final
class BatchReader:
    """An iterator over the batches of a scan."""
    def __iter__(self) -> Self: ...
    def __next__(self) -> Batch: ...

@final
class Scan:
    """Files as a table. Nothing is read before the table is used, and it is read again for each use."""
    @property
    def schema(self) -> Schema:
        """Names and types of the columns; `pyarrow.schema(scan.schema)` converts it."""
    def count(self) -> int:
        """Number of rows. Reads the files."""
    def report(self) -> ReadReport:
        """A report of the rows that the last reading of this scan returned, and of everything that it left out.
        Reading goes on a little ahead of the rows that were returned.
        """
    def head(self, n: int = 5) -> Scan:
        """The first rows of the scan, as a scan."""
    def select(self, columns: Sequence[str]) -> Scan:
        """The same rows with other columns."""
    def filter(self, where: str) -> Scan:
        """Only the rows for which an expression of `where` holds. A scan with a limit has no filter."""
    def _part(self, columns: Sequence[str] | None, where: str | None, rows: int | None) -> Scan:
        """A part of the scan, whose report is that of the scan."""
    def to_arrow(self) -> pa.Table:
        """A pyarrow.Table of all rows. Needs the package pyarrow."""
    def to_polars(self) -> pl.LazyFrame:
        """A polars.LazyFrame. Needs the package polars. polars requests only the columns and rows that it needs."""
    def to_pandas(self) -> pd.DataFrame:
        """A pandas.DataFrame of all rows. Needs the packages pandas and pyarrow."""
    def __array__(self, *_arguments: Any, **_options: Any) -> Any: ...
    def __iter__(self) -> BatchReader: ...
    def __reduce__(self) -> tuple[Any, ...]: ...
    def __arrow_c_schema__(self) -> Any: ...
    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...

@final
class Plan:
    """Files that are cut into slices of about equal size. A plan is a sequence of slices."""
    @staticmethod
    def from_json(text: str) -> Plan:
        """Reads the text of a plan, which `epdb shard plan` writes too."""
    def to_json(self) -> str:
        """The text of the plan, as `epdb shard plan` writes it."""
    def __len__(self) -> int: ...
    def __getitem__(self, number: int, /) -> Slice: ...
    def __iter__(self) -> Iterator[Slice]: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __reduce__(self) -> tuple[Any, tuple[str]]: ...

@final
class Slice:
    """A slice of a plan, which `scan`, `read`, `tally` and `pack` take in the place of paths."""
    @property
    def plan(self) -> Plan:
        """The plan of which this is a slice."""
    @property
    def number(self) -> int:
        """The number of the slice in the plan, from 0."""
    def __eq__(self, other: object, /) -> bool: ...
    def __reduce__(self) -> tuple[Any, tuple[Plan, int]]: ...

def scan(
    paths: _Sources | Slice,
    *,
    rows: Literal["records", "games", "moves"] = "records",
    columns: Sequence[str] | Literal["all"] | None = None,
    where: str | None = None,
    on: str | None = None,
    score_view: Literal["mover", "white"] = "mover",
    batch_size: int = 65536,
    threads: int | None = None,
    on_error: _OnError = "raise",
    progress: _Progress | None = None,
    **options: Unpack[_TableOptions],
) -> Scan:
    """Files, or a slice, as a table of Apache Arrow, for pyarrow, polars, pandas and DuckDB.

    `rows` is records, games or moves. `columns` are columns of the table, which `help(epdb_chess.columns)` lists, or
    fields of `where`, which `help(epdb_chess.where)` lists, or "all" for every column of the table. `where` is an
    expression, such as "pieces <= 7 and has(bm)"; a field that no record has is an `EpdbWarning`. `score_view` is the
    view of scores: mover or white. `threads` is the number of threads, by default one per core.

    With `on_error="skip"`, lines, games and rows without a position that cannot be read are left out and counted in
    `report()`; the column `line` is the number of the line or row, from 1.

    `paths` are files, folders, patterns such as `games/**/*.pgn`, addresses, bytes, file objects, or a list of
    these. It can also be a table or a column of Arrow with FENs or packed boards; `on` is the name of its column of
    positions. `progress` is called with the number of bytes that were read so far, and of all bytes or None.
    """
def _restore_scan(
    paths: _Sources | Slice,
    arguments: dict[str, Any],
    columns: Sequence[str] | None,
    filter: str | None,
    limit: int | None,
) -> Scan:
    """Makes a scan of another process again."""
def from_arrow(
    table: _Table, *, label_view: Literal["white", "mover"] | None = None
) -> list[Record]:
    """The records of a table with the columns of `rows="records"`.

    The table is of pyarrow, polars, pandas or DuckDB, or anything else with `__arrow_c_stream__`.
    `label_view` is the view of `cp` and `mate`, "mover" or "white". It is needed if the table has no column
    `ce`, and neither its column `score_view` nor its metadata name the view.
    """
def read(
    paths: _Sources | Slice,
    *,
    on_error: _OnError = "raise",
    progress: _Progress | None = None,
    **options: Unpack[_ReadOptions],
) -> Reader:
    """Reads the records of files or of a slice: of any format that epdb reads, compressed or not.

    The records of a game are its positions. With `on_error="skip"`, lines and games that cannot be read are
    collected in `rejected`. `paths` and `progress` are as in `scan`.
    """
def open(
    path: _Source,
    *,
    memory: int = 67108864,
    progress: _Progress | None = None,
    **options: Unpack[_ReadOptions],
) -> Library:
    """Opens a file for finding records by position.

    Stores and archives are searched directly. Records of other files are first packed into a temporary
    archive. Games are counted as by `tally`. `path` is one file, or bytes, a file object or a table of Arrow.
    `progress` is as in `scan`.
    """
def key(position: _Position, *, polyglot: bool = False) -> int:
    """The 64-bit key of a position.

    It is the key of Polyglot, except that an en passant square counts only if a capture is legal. With
    `polyglot=True`, the key is exactly that of Polyglot's books.
    """
def moves(position: _Position) -> list[Move]:
    """The legal moves of a position, in alphabetical order of their SAN."""
def pack(
    paths: _Sources | Slice,
    output: _Path,
    *,
    level: Literal["fast", "default"] = "default",
    sorted: bool = False,
    index: bool = True,
    block: int | None = None,
    force: bool = False,
    on_error: _OnError = "raise",
    progress: _Progress | None = None,
    **options: Unpack[_ReadOptions],
) -> Written:
    """Packs the records of files or of a slice into an archive.

    The record of a position of a game has the position and its move `sm`, so `explore` finds no results: `tally` counts
    them. `game_tags=True` also keeps the tags of the game as the operation `ptp`, with `White`, `Black` and `Result`;
    `game_evals=True` keeps evaluations as `ce`.

    `level` is fast or default. `progress` is called with the number of bytes that were read so far, and
    the number of all bytes or None.
    """
def unpack(
    archive: _Path, output: _Path, *, force: bool = False, progress: _Progress | None = None
) -> Written:
    """Writes the records of an archive to a file of another format, chosen by its name."""
def convert(
    input: _Sources | Slice,
    output: _Path,
    *,
    schema: Literal["records", "records-all", "games", "moves", "lichess-evals", "lichess-games"]
    | None = None,
    threads: int | None = None,
    force: bool = False,
    ext: bool = False,
    on_error: _OnError = "raise",
    progress: _Progress | None = None,
    **options: Unpack[_ReadOptions],
) -> Written:
    """Converts files, or a table of Arrow, to another format, chosen by the suffixes of both names.

    Games stay games if the output is .pgn or .pgc; otherwise their positions are written. `schema` is the table of
    a .parquet output: records, records-all with every column, games, moves, lichess-evals or lichess-games. `threads` is the number of threads, by
    default one per core. Comments in .pgc need `ext=True`.
    """
def normalize(
    paths: _Sources,
    output: _Path,
    *,
    on_error: _OnError = "raise",
    progress: _Progress | None = None,
    **options: Unpack[_ReadOptions],
) -> Written:
    """Writes the records of files as canonical EPD, with the comments between them.

    `str(Record(text))` is the canonical form of one line.
    """
def tally(
    paths: _Sources | Slice,
    output: _Path,
    *,
    by: Sequence[Literal["year", "month", "speed", "rating"]] | None = None,
    max_ply: int | None = None,
    players: Sequence[str] | None = None,
    side: Literal["white", "black"] | None = None,
    standard_only: bool = False,
    same_game: Literal["auto", "moves", "players", "exact"] = "auto",
    keep_duplicates: bool = False,
    count_repeats: bool = False,
    keep_games: int | None = None,
    digests: bool = True,
    copies: _Path | None = None,
    unique_games: bool = False,
    force: bool = False,
    on_error: _OnError = "raise",
    progress: _Progress | None = None,
    **options: Unpack[_ReadOptions],
) -> dict[str, Any]:
    """Counts games into a library: the moves played in each position, and their results.

    For a slice, give `copies`, a file that `shard.copies` wrote, so that each game counts once across slices.
    If no game occurs twice in the files, give `unique_games=True` instead. `by` splits the counts by year,
    month, speed or rating. `same_game`, the criterion for repeated games, is auto, moves, players or exact.
    `keep_games` is the number of games that each position keeps for `Library.games`, at most 255.
    Returns the counts as a dict.
    """
def search(
    paths: _Sources | Slice,
    where: str,
    *,
    players: Sequence[str] | None = None,
    side: Literal["white", "black"] | None = None,
    limit: int = 10,
    on_error: _OnError = "raise",
    progress: _Progress | None = None,
    **options: Unpack[_GameOptions],
) -> dict[str, Any]:
    """Searches files of games. Returns totals over the games for which the expression `where` is true, and in
    `matches` the first `limit` games with their first matching positions, as a dict. With `players`, the spellings of
    a name, only games of this player count, and the player's points.

    `searched` is the number of games that were read. The totals are `games`, `wins`, `draws`, `losses`, `unknown`, `points` and `score` of `side`, and lists with the same
    numbers by name: `moves`, `openings`, `years` and `ratings`. `help(epdb_chess.where)` describes expressions.
    """
def plan(paths: _Paths, slices: int) -> Plan:
    """Cuts files into slices of about equal size, which programs can read separately, even on different
    machines.

    Text is cut at lines, and games at lines that begin with `[Event `. A compressed file is cut if
    `pzstd` or `bgzip` made it. Other files are in one slice as a whole.
    """
def archives(path: _Path) -> list[PathLike[str]]:
    """The archives that are read as a whole instead of a file: the archives of a sharded archive, or the file
    itself if it is an archive or a store. Empty if the file can be cut into slices.
    """
def games(
    slice: Slice,
    output: _Path,
    *,
    by: Sequence[Literal["year", "month", "speed", "rating"]] | None = None,
    max_ply: int | None = None,
    players: Sequence[str] | None = None,
    side: Literal["white", "black"] | None = None,
    standard_only: bool = False,
    same_game: Literal["auto", "moves", "players", "exact"] = "auto",
    count_repeats: bool = False,
    keep_games: int | None = None,
    on_error: _OnError = "raise",
    **options: Unpack[_ReadOptions],
) -> int:
    """Lists the games of a slice, so that `copies` finds copies in other slices. Give the same options as for
    `tally`. Returns the number of games.
    """
def copies(lists: _Paths, output: _Path) -> tuple[int, int]:
    """Finds copies of games in the lists of all slices, and decides which copy counts. Returns two numbers: of
    games, and of copies that do not count.

    The first copy of each game counts, with the ratings of the most complete copy.
    """
def merge(
    runs: _Paths,
    output: _Path,
    *,
    shards: int,
    level: Literal["fast", "default"] = "default",
    block: int | None = None,
    min_games: int | None = None,
    where: str | None = None,
    allow_overlap: bool = False,
    force: bool = False,
    storage_options: dict[str, str | bool] | None = None,
) -> int:
    """Adds libraries, or joins archives, into a sharded archive. Returns the number of records.

    `output` is a folder or its address, where `manifest.json` appears last. `min_games` and `where` choose the
    positions after the tallies were added. `allow_overlap` adds libraries that may count the same games.
    """
def report(
    paths: _Sources,
    *,
    names: Sequence[str] | None = None,
    theme: str = "id",
    html: _Path | None = None,
    on_error: _OnError = "raise",
    progress: _Progress | None = None,
    **options: Unpack[_ReadOptions],
) -> dict[str, Any]:
    """Results of engines on test suites: a dict with the report, runs, themes, pairs and problems.

    Each file is a run, as `epdb solve` writes it. `html` is the name of a page to write.
    """
