"""Apache Spark: files as data frames, and libraries that a cluster makes.

Executors read and write files by this package, so it must be installed where they run. Needs pyspark 4.1
or newer.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from glob import glob
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped,unused-ignore]
from pyspark import TaskContext  # type: ignore[import-not-found,unused-ignore]
from pyspark.sql import SparkSession  # type: ignore[import-not-found,unused-ignore]
from pyspark.sql.datasource import (  # type: ignore[import-not-found,unused-ignore]
    DataSource,
    DataSourceReader,
    InputPartition,
)
from pyspark.sql.pandas.types import (  # type: ignore[import-not-found,unused-ignore]
    from_arrow_schema,
    to_arrow_schema,
)
from pyspark.sql.types import StructType  # type: ignore[import-not-found,unused-ignore]

import epdb_chess

from . import shard

__all__ = ["EpdbSource", "tally"]

# Options of the data source that are those of `scan`.
_SCAN_OPTIONS = ("rows", "where", "score_view", "format", "profile", "charset", "on_error")
# Number of rows in a batch, and bytes of files in a slice unless `slices` is given.
_BATCH_ROWS = 8192
_SLICE_BYTES = 64 << 20


class EpdbSource(DataSource):
    """The data source `epdb`: the columns of `epdb_chess.scan`, with a partition for each slice.

    Options: `rows` (records, games or moves), `columns` (names with commas between them), `where`,
    `slices` (a slice for 64 MB of files by default), and `score_view`, `format`, `profile`, `charset` and
    `on_error` of `scan`. Each archive, or each shard of a sharded archive, is one partition. `where`
    chooses rows before Spark gets them. A table that epdb wrote as Parquet is
    better read by `spark.read.parquet`.
    """

    # Spark can also pass filters to a data source. In Spark 4.3.0 a frame that is used again keeps the
    # filters of its first query, so it would lose rows.

    @classmethod
    def name(cls) -> str:
        return "epdb"

    def __init__(self, options: Any) -> None:
        super().__init__(options)
        known = {"path", "paths", "columns", "slices", *_SCAN_OPTIONS}
        unknown = [name for name in options if name.lower() not in known]
        if unknown:
            raise ValueError(f"no option {unknown[0]!r}: the options are {', '.join(sorted(known))}")
        self.scan = {name: options[name] for name in _SCAN_OPTIONS if name in options}

    def schema(self) -> StructType:
        columns = self.options.get("columns")
        names = None if columns is None else [name.strip() for name in columns.split(",")]
        fields = pa.schema(epdb_chess.scan([], columns=names, **self.scan).schema)
        return from_arrow_schema(pa.schema([(field.name, _spark_type(field.type)) for field in fields]))

    def reader(self, schema: StructType) -> DataSourceReader:
        path, several = self.options.get("path", ""), self.options.get("paths")
        if not path and several is None:
            raise ValueError("name the files: load(path)")
        paths = [path] if several is None else json.loads(several)
        return _Reader(_files(paths), int(self.options.get("slices", 0)), self.scan, schema)


class _Reader(DataSourceReader):
    def __init__(self, files: list[str], slices: int, scan: dict[str, Any], schema: StructType) -> None:
        whole = {file: shard.archives(file) for file in files}
        self.archives = [str(archive) for file in files for archive in whole[file]]
        cut = [file for file in files if not whole[file]]
        if not slices:
            slices = max(1, sum(map(os.path.getsize, cut)) // _SLICE_BYTES)
        # The reader goes to each executor once, and partitions have only the numbers of slices.
        self.plan = shard.plan(cut, slices)
        self.slices = slices if cut else 0
        self.scan, self.schema = scan, schema

    def partitions(self) -> list[InputPartition]:
        return [InputPartition(source) for source in [*range(self.slices), *self.archives]]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        _limit_threads()
        source = partition.value
        inputs = self.plan[source] if isinstance(source, int) else source
        schema = to_arrow_schema(self.schema)
        for batch in epdb_chess.scan(inputs, columns=schema.names, batch_size=_BATCH_ROWS, **self.scan):
            for part in pa.table(batch).to_batches():
                columns = map(_converted, part.columns, schema.types)
                yield pa.RecordBatch.from_arrays(list(columns), schema=schema)


def _spark_type(kind: pa.DataType) -> pa.DataType:
    """The type in Spark, which has neither unsigned integers nor dictionaries."""
    if pa.types.is_dictionary(kind):
        return kind.value_type
    if pa.types.is_list(kind):
        return pa.list_(_spark_type(kind.value_type))
    return {pa.uint16(): pa.int32(), pa.uint64(): pa.int64()}.get(kind, kind)


def _converted(column: pa.Array, kind: pa.DataType) -> pa.Array:
    # Spark has no uint64, so it becomes an int64 with the same bits.
    return column.view(kind) if pa.types.is_uint64(column.type) else column.cast(kind)


def _files(paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> list[str]:
    """The absolute paths of files, of which some may be patterns such as `*.pgn`."""
    files = []
    for path in [paths] if isinstance(paths, str | os.PathLike) else paths:
        file = os.path.abspath(path)
        files += [file] if os.path.exists(file) else sorted(glob(file)) or [file]
    return files


def _task() -> TaskContext:
    task = TaskContext.get()
    assert task is not None, "this runs in tasks of Spark only"
    return task


def _limit_threads() -> None:
    """Takes as many threads as the task has processors, because other tasks run beside it."""
    os.environ.setdefault("RAYON_NUM_THREADS", str(_task().cpus()))


def tally(
    spark: SparkSession,
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    output: str | os.PathLike[str],
    *,
    slices: int,
    shards: int,
    min_games: int | None = None,
    unique_games: bool = False,
    keep_duplicates: bool = False,
    digests: bool = True,
    force: bool = False,
    **options: Any,
) -> dict[str, Any]:
    """Counts games into a library, a sharded archive in the folder `output`, by jobs of Spark.

    The result is that of one `epdb_chess.tally` of all files, with each game once, whatever the number of
    slices and however often tasks are repeated. All executors and the driver need the files and the
    folder under the same paths. `options` are those of `epdb_chess.tally`. Returns the counts.
    """
    output = os.path.abspath(output)
    if not force and os.path.exists(os.path.join(output, "manifest.json")):
        raise epdb_chess.FileInTheWayError(f"{output} has a library: force=True replaces it", file=output)
    plan = shard.plan(_files(paths), slices).to_json()
    os.makedirs(output, exist_ok=True)
    work = tempfile.mkdtemp(prefix="_temporary-", dir=output)
    os.chmod(work, os.stat(output).st_mode)
    lists, decided = os.path.join(work, "games-"), os.path.join(work, "copies")
    libraries, merged = os.path.join(work, "library-"), os.path.join(work, "shards")
    runs = [f"{libraries}{number}/slice.epa" for number in range(slices)]
    has_copies = slices > 1 and not unique_games and not keep_duplicates
    counting: dict[str, Any] = {"unique_games": unique_games, "keep_duplicates": keep_duplicates}
    if has_copies:
        counting = {"copies": f"{decided}/copies"}
    # Slices of one plan have no game in common, even if no digests say so.
    overlap = keep_duplicates or not digests

    def list_games(number: int) -> int:
        with _attempt(f"{lists}{number}") as folder:
            return shard.games(shard.Plan.from_json(plan)[number], f"{folder}/games", **options)

    def find_copies(_: int) -> tuple[int, int]:
        with _attempt(decided) as folder:
            return shard.copies([f"{lists}{number}/games" for number in range(slices)], f"{folder}/copies")

    def tally_slice(number: int) -> dict[str, Any]:
        with _attempt(f"{libraries}{number}") as folder:
            run, part = f"{folder}/slice.epa", shard.Plan.from_json(plan)[number]
            counts = epdb_chess.tally(part, run, digests=digests, **counting, **options)
            return {**counts, "rejected": len(counts["rejected"])}

    def merge(_: int) -> int:
        with _attempt(merged) as folder:
            return shard.merge(runs, folder, shards=shards, min_games=min_games, allow_overlap=overlap)

    try:
        if has_copies:
            _run(spark, slices, list_games)
            _run(spark, 1, find_copies)
        counts = _run(spark, slices, tally_slice)
        positions = _run(spark, 1, merge)
        _move_all(merged, output)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    warnings: Counter[str] = sum((Counter(count.pop("warnings")) for count in counts), Counter())
    total = {name: sum(count[name] for count in counts) for name in counts[0]}
    return {**total, "positions": sum(positions), "warnings": dict(warnings)}


def _run(spark: SparkSession, count: int, work: Callable[[int], Any]) -> list[Any]:
    """Calls `work` with each number below `count`, each in a task of its own. Returns the results."""

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        _limit_threads()
        for batch in batches:
            for number in batch.column(0).to_pylist():
                result = json.dumps(work(number))
                yield pa.RecordBatch.from_pydict({"number": [number], "result": [result]})

    numbers = spark.range(0, count, 1, count)
    rows = numbers.mapInArrow(run, "number long, result string").collect()
    return [json.loads(row["result"]) for row in sorted(rows, key=lambda row: row["number"])]


@contextmanager
def _attempt(place: str) -> Iterator[str]:
    """A folder for one attempt of a task, which gets the name `place` when it is complete.

    A task may be repeated, or run twice at once. All attempts write the same bytes, so the first one that
    is complete counts.
    """
    folder = f"{place}-attempt-{_task().taskAttemptId()}"
    os.mkdir(folder)
    yield folder
    try:
        os.rename(folder, place)
    except OSError:
        if not os.path.isdir(place):
            raise
        shutil.rmtree(folder, ignore_errors=True)


def _move_all(folder: str, output: str) -> None:
    """Moves files to another folder of the same disk, the manifest last."""
    for name in sorted(os.listdir(folder), key=lambda name: name == "manifest.json"):
        os.replace(os.path.join(folder, name), os.path.join(output, name))
