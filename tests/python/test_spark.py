"""Files in Apache Spark. Runs only where pyspark and Java are installed."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import epdb_chess
import pytest
import samples
from epdb_chess import shard

pyspark = pytest.importorskip("pyspark")

from epdb_chess.spark import EpdbSource, tally  # noqa: E402
from pyspark.sql import SparkSession  # noqa: E402

# A library in which each group of counts has a value.
SPLIT = ["year", "month", "speed", "rating"]

# The first attempt to count a slice is killed after it has written its files.
FAIL_ONCE = """\
import os
import epdb_chess

tally = epdb_chess.tally

def failing(paths, output, **options):
    counts = tally(paths, output, **options)
    try:
        os.close(os.open(os.environ["EPDB_FAILED"], os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return counts
    os._exit(1)

epdb_chess.tally = failing
"""


@contextmanager
def session(master: str, **settings: str) -> Iterator[SparkSession]:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(master)
    for name, value in {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "512m",
        "spark.executor.memory": "512m",
        "spark.ui.enabled": "false",
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",
        "spark.scheduler.maxRegisteredResourcesWaitingTime": "120s",
        # A data source that takes filters would keep those of the first query of a frame.
        "spark.sql.python.filterPushdown.enabled": "true",
        **settings,
    }.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.dataSource.register(EpdbSource)
    try:
        yield spark
    finally:
        spark.stop()


@pytest.fixture
def two_workers(tmp_path: Path) -> Iterator[str]:
    """A stand-alone master with two workers of one processor each."""
    home = Path(pyspark.__file__).parent
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    address = f"spark://127.0.0.1:{port}"
    environment = {
        **os.environ,
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_MEMORY": "256m",
    }

    def start(name: str, *arguments: str) -> subprocess.Popen[bytes]:
        command = [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", *arguments]
        output = (tmp_path / f"{len(running)}.log").open("wb")
        return subprocess.Popen(command, env=environment, stdout=output, stderr=output)

    running: list[subprocess.Popen[bytes]] = []
    local = ["--host", "127.0.0.1", "--webui-port", "0"]
    try:
        running.append(start("master.Master", *local, "--port", port))
        for worker in ["w1", "w2"]:
            size = ["--cores", "1", "--memory", "600m", "--work-dir", str(tmp_path / worker)]
            running.append(start("worker.Worker", *local, *size, address))
        yield address
    finally:
        for process in running:
            process.terminate()
        for process in running:
            process.wait()


@pytest.fixture
def collection(tmp_path: Path) -> list[Path]:
    paths = [tmp_path / "a.pgn", tmp_path / "b.pgn"]
    paths[0].write_text(samples.many_games(0, 900))
    paths[1].write_text(samples.many_games(900, 2000))
    return paths


def failing_once(folder: Path) -> dict[str, str]:
    """Settings with which one task fails once."""
    (folder / "sitecustomize.py").write_text(FAIL_ONCE)
    return {
        "spark.executorEnv.PYTHONPATH": str(folder),
        "spark.executorEnv.EPDB_FAILED": str(folder / "failed"),
    }


def without_spark(paths: list[Path], folder: Path, **options: Any) -> dict[str, bytes]:
    """The files of a library of three shards that was made slice by slice."""
    folder.mkdir()
    plan = shard.plan([path.absolute() for path in paths], 2)
    lists = [folder / f"{part.number}.games" for part in plan]
    for part in plan:
        shard.games(part, lists[part.number], **options)
    shard.copies(lists, folder / "copies")
    runs = [folder / f"{part.number}.epa" for part in plan]
    for part in plan:
        epdb_chess.tally(part, runs[part.number], copies=folder / "copies", **options)
    shard.merge(runs, folder / "library", shards=3)
    return contents(folder / "library")


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def records(path: Path) -> list[str]:
    return sorted(str(record) for record in epdb_chess.read(path))


def rows_of_spark(spark: SparkSession, paths: list[Path], **options: str) -> list[str]:
    reader = spark.read.format("epdb").options(**options)
    rows = reader.load([str(path) for path in paths]).toArrow().to_pylist()
    # Games of each slice have numbers of their own, in ascending order.
    games = sorted({row["game"] for row in rows if row.get("game") is not None})
    numbers = {game: number for number, game in enumerate(games)}
    return sorted(
        repr({name: numbers.get(value) if name == "game" else value for name, value in row.items()})
        for row in rows
    )


def rows_of_scan(paths: list[Path], **options: Any) -> list[str]:
    """The rows of `scan`, with each uint64 as an int64 with the same bits."""

    def signed(value: Any) -> Any:
        is_large = type(value) is int and value >= 1 << 63
        return value - (1 << 64) if is_large else value

    rows = epdb_chess.scan(paths, **options).to_arrow().to_pylist()
    return sorted(repr({name: signed(value) for name, value in row.items()}) for row in rows)


def test_tables_are_those_of_scan(suite: Path, collection: list[Path], tmp_path: Path) -> None:
    answers, library, folder = tmp_path / "answers.epd", tmp_path / "a.epa", tmp_path / "library"
    answers.write_text(samples.ANSWERS + f"{samples.START[:-4]} ce 32765; c9 \"1-0\"; x 1;\n" * 3)
    epdb_chess.tally(collection, library, by=SPLIT)  # type: ignore[arg-type]
    epdb_chess.convert(library, tmp_path / "a.epd")
    shard.merge(library, folder, shards=3)
    board = ["fen", "white_pawns", "black_kings", "pieces", "check", "material", "castling"]
    with session("local[2,4]") as spark:
        for rows, paths, slices in [
            ("records", [suite, answers], 3),
            ("records", collection, 5),
            ("games", collection, 5),
            ("moves", [tmp_path / "a.epd"], 4),
            ("moves", [library], 1),
            ("moves", [folder / "manifest.json"], 1),
        ]:
            found = rows_of_spark(spark, paths, rows=rows, slices=str(slices))
            assert found == rows_of_scan(paths, rows=rows), (rows, paths)
            assert len(found) > 6
        chosen = rows_of_spark(spark, collection, columns=", ".join(board), where="ply > 3", slices="2")
        assert chosen == rows_of_scan(collection, columns=board, where="ply > 3")
        seen = rows_of_spark(spark, [answers], columns="cp,mate", score_view="white")
        assert seen == rows_of_scan([answers], columns=["cp", "mate"], score_view="white")

        def load(path: Path, **options: str) -> Any:
            return spark.read.format("epdb").options(**options).load(str(path))

        frame = load(tmp_path / "*.pgn", rows="games", slices="5")
        assert frame.rdd.getNumPartitions() == 5
        assert frame.count() == 2000
        assert load(folder / "manifest.json").rdd.getNumPartitions() == 3
        few = spark.read.format("epdb").schema("id string, ce long").load(str(suite))
        assert few.filter("ce > 800").collect() == [("WAC.001", 900)]
        # A frame that is used again has all of its rows.
        frame = load(collection[0], columns="ply")
        assert frame.filter("ply > 40").count() < frame.count() == len(rows_of_scan(collection[:1]))
        low, high = frame.filter("ply <= 3"), frame.filter("ply > 3")
        assert low.union(high).count() == frame.count()
        for path, options, fault in [
            (suite, {"row": "games"}, "no option 'row'"),
            (suite, {"pushdown": "true"}, "no option 'pushdown'"),
            (suite, {"columns": "no_such_column"}, "no_such_column"),
            (tmp_path / "none.epd", {}, "none.epd"),
        ]:
            with pytest.raises(Exception, match=fault):
                load(path, **options).collect()
        with pytest.raises(Exception, match="name the files"):
            spark.read.format("epdb").load().collect()


def test_a_library_is_that_of_one_tally(collection: list[Path], tmp_path: Path) -> None:
    counts = epdb_chess.tally(collection, tmp_path / "whole.epa")
    assert counts["games"] > 400
    assert counts["duplicates"] > 400
    with session("local[2,4]", **failing_once(tmp_path)) as spark:
        total = tally(spark, collection, tmp_path / "a", slices=5, shards=3)
        assert (tmp_path / "failed").exists()
        names = ["games", "duplicates", "plies", "positions"]
        assert [total[name] for name in names] == [counts[name] for name in names]
        assert records(tmp_path / "a" / "manifest.json") == records(tmp_path / "whole.epa")
        assert contents(tmp_path / "a") == without_spark(collection, tmp_path / "b")
        with pytest.raises(FileExistsError):
            tally(spark, collection, tmp_path / "a", slices=2, shards=3)
        tally(spark, collection, tmp_path / "d", slices=3, shards=2, keep_duplicates=True)
        epdb_chess.tally(collection, tmp_path / "all.epa", keep_duplicates=True)
        assert records(tmp_path / "d" / "manifest.json") == records(tmp_path / "all.epa")

        # Games that positions list are written by one task.
        options: dict[str, Any] = {"keep_games": 2, "max_ply": 9, "by": ["year"]}
        tally(spark, collection, tmp_path / "a", slices=2, shards=3, force=True, **options)
        kept = without_spark(collection, tmp_path / "c", **options)
        assert kept.items() <= contents(tmp_path / "a").items()
        with epdb_chess.open(tmp_path / "a" / "manifest.json") as library:
            assert library.games("e4")


def test_a_cluster_makes_a_library(
    two_workers: str, collection: list[Path], tmp_path: Path
) -> None:
    with session(two_workers, **failing_once(tmp_path)) as spark:
        tally(spark, collection, tmp_path / "a", slices=7, shards=3, min_games=2)
        executors = spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size()
        assert executors == 3, "the driver and two workers"
        frame = spark.read.format("epdb").option("rows", "games").load(str(tmp_path / "*.pgn"))
        assert frame.count() == 2000
    assert (tmp_path / "failed").exists()
    epdb_chess.tally(collection, tmp_path / "whole.epa")
    common = [str(record) for record in epdb_chess.read(tmp_path / "whole.epa", where="games >= 2")]
    assert records(tmp_path / "a" / "manifest.json") == sorted(common)
