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

# A table or a column of Arrow.
_Table: TypeAlias = _ArrowStream | _ArrowArray
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
    def __new__(
        cls, position: _Position, *, profile: Literal["strict", "standard", "lenient"] = "lenient"
    ) -> Self: ...
    @property
    def fen(self) -> str: ...
    @property
    def epd(self) -> str: ...
    @property
    def key(self) -> int: ...
    @property
    def packed(self) -> bytes: ...
    @property
    def turn(self) -> bool: ...
    @property
    def halfmove_clock(self) -> int | None: ...
    @property
    def fullmove_number(self) -> int | None: ...
    def board(self) -> Any: ...
    def copy(self) -> Record: ...
    def get(self, opcode: str, default: Any = None) -> Any: ...
    def keys(self) -> list[str]: ...
    def items(self) -> list[tuple[str, Any]]: ...
    @staticmethod
    def _from_bytes(data: bytes) -> Record: ...
    def _repr_html_(self) -> str: ...
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
    @property
    def rejected(self) -> list[Rejected]: ...
    def report(self) -> ReadReport: ...
    def close(self) -> None: ...
    def __iter__(self) -> Self: ...
    def __next__(self) -> Record: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *_exception: Any) -> None: ...

@final
class Library:
    @property
    def path(self) -> PathLike[str]: ...
    @property
    def closed(self) -> bool: ...
    def one(self, position: _Position) -> Record | None: ...
    @overload
    def get_many(
        self, positions: bytes | Iterable[_Position], *, first: Literal[False] = False
    ) -> list[list[Record]]: ...
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
    ) -> Answers: ...
    @overload
    def explore(
        self,
        position: _Table,
        on: str | None = None,
        *,
        sort: _Sort = "games",
        limit: int | None = None,
        min_games: int = 0,
        children: bool = False,
    ) -> Answers: ...
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
    def games(self, position: _Position) -> list[Game]: ...
    def find_all(
        self,
        position: _Position,
        *,
        minimum_weight: int = 1,
        exclude_moves: Iterable[Any] | None = None,
    ) -> list[Entry]: ...
    def find(
        self,
        position: _Position,
        *,
        minimum_weight: int = 1,
        exclude_moves: Iterable[Any] | None = None,
    ) -> Entry: ...
    def weighted_choice(
        self,
        position: _Position,
        *,
        exclude_moves: Iterable[Any] | None = None,
        random: Random | None = None,
    ) -> Entry: ...
    def report(self) -> ReadReport: ...
    def close(self) -> None: ...
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
    @property
    def schema(self) -> Schema: ...
    def to_arrow(self) -> pa.Table: ...
    def to_polars(self) -> pl.DataFrame: ...
    def __iter__(self) -> Self: ...
    def __next__(self) -> Batch: ...
    def __arrow_c_schema__(self) -> Any: ...
    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...

@final
class Schema:
    @property
    def names(self) -> list[str]: ...
    @property
    def types(self) -> list[str]: ...
    def __len__(self) -> int: ...
    def __arrow_c_schema__(self) -> Any: ...

@final
class Batch:
    def __len__(self) -> int: ...
    def __arrow_c_schema__(self) -> Any: ...
    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...

@final
class BatchReader:
    def __iter__(self) -> Self: ...
    def __next__(self) -> Batch: ...

@final
class Scan:
    @property
    def schema(self) -> Schema: ...
    def count(self) -> int: ...
    def report(self) -> ReadReport: ...
    def head(self, n: int = 5) -> Scan: ...
    def select(self, columns: Sequence[str]) -> Scan: ...
    def filter(self, where: str) -> Scan: ...
    def _part(self, columns: Sequence[str] | None, where: str | None, rows: int | None) -> Scan: ...
    def to_arrow(self) -> pa.Table: ...
    def to_polars(self) -> pl.LazyFrame: ...
    def __iter__(self) -> BatchReader: ...
    def __reduce__(self) -> tuple[Any, ...]: ...
    def __arrow_c_schema__(self) -> Any: ...
    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...

@final
class Plan:
    @staticmethod
    def from_json(text: str) -> Plan: ...
    def to_json(self) -> str: ...
    def __len__(self) -> int: ...
    def __getitem__(self, number: int, /) -> Slice: ...
    def __iter__(self) -> Iterator[Slice]: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __reduce__(self) -> tuple[Any, tuple[str]]: ...

@final
class Slice:
    @property
    def plan(self) -> Plan: ...
    @property
    def number(self) -> int: ...
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
) -> Scan: ...
def _restore_scan(
    paths: _Sources | Slice,
    arguments: dict[str, Any],
    columns: Sequence[str] | None,
    filter: str | None,
    limit: int | None,
) -> Scan: ...
def from_arrow(
    table: _Table, *, label_view: Literal["white", "mover"] | None = None
) -> list[Record]: ...
def read(
    paths: _Sources | Slice,
    *,
    on_error: _OnError = "raise",
    progress: _Progress | None = None,
    **options: Unpack[_ReadOptions],
) -> Reader: ...
def open(
    path: _Source,
    *,
    memory: int = 67108864,
    progress: _Progress | None = None,
    **options: Unpack[_ReadOptions],
) -> Library: ...
def key(position: _Position, *, polyglot: bool = False) -> int: ...
def moves(position: _Position) -> list[Move]: ...
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
) -> Written: ...
def unpack(
    archive: _Path, output: _Path, *, force: bool = False, progress: _Progress | None = None
) -> Written: ...
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
) -> Written: ...
def normalize(
    paths: _Sources,
    output: _Path,
    *,
    on_error: _OnError = "raise",
    progress: _Progress | None = None,
    **options: Unpack[_ReadOptions],
) -> Written: ...
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
) -> dict[str, Any]: ...
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
) -> dict[str, Any]: ...
def plan(paths: _Paths, slices: int) -> Plan: ...
def archives(path: _Path) -> list[PathLike[str]]: ...
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
) -> int: ...
def copies(lists: _Paths, output: _Path) -> tuple[int, int]: ...
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
) -> int: ...
def report(
    paths: _Sources,
    *,
    names: Sequence[str] | None = None,
    theme: str = "id",
    html: _Path | None = None,
    on_error: _OnError = "raise",
    progress: _Progress | None = None,
    **options: Unpack[_ReadOptions],
) -> dict[str, Any]: ...
