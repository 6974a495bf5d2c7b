"""Slices of files, and sharded archives."""

import pickle
from pathlib import Path
from typing import Any

import epdb_chess
import pytest
import samples
from epdb_chess import EpdbError, shard

pa = pytest.importorskip("pyarrow")


@pytest.fixture
def collection(tmp_path: Path) -> list[Path]:
    paths = [tmp_path / "a.pgn", tmp_path / "b.pgn"]
    paths[0].write_text(samples.many_games(0, 900))
    paths[1].write_text(samples.many_games(900, 2000))
    return paths


def records(path: Path) -> list[str]:
    return sorted(str(record) for record in epdb_chess.read(path))


def merged(plan: shard.Plan, folder: Path, **options: Any) -> Path:
    """Lists, decides, counts and merges, with the slices in an order that is not theirs."""
    folder.mkdir()
    lists = [folder / f"{part.number}.games" for part in plan]
    for part in reversed(list(plan)):
        shard.games(part, lists[part.number], **options)
    shard.copies(lists, folder / "copies")
    runs = [folder / f"{part.number}.epa" for part in reversed(list(plan))]
    for part, run in zip(reversed(list(plan)), runs, strict=True):
        epdb_chess.tally(part, run, copies=folder / "copies", **options)
    shard.merge(runs, folder / "library", shards=3)
    return folder / "library" / "manifest.json"


def test_slices_add_up_to_one_tally(collection: list[Path], tmp_path: Path) -> None:
    options: list[dict[str, Any]] = [{}, {"by": ["year"], "max_ply": 6, "same_game": "players"}]
    for nth, counting in enumerate(options):
        whole = tmp_path / f"{nth}.epa"
        counts = epdb_chess.tally(collection, whole, **counting)
        assert counts["games"] > 400
        assert counts["duplicates"] > 400
        for slices in [1, 5]:
            plan = shard.plan(collection, slices)
            library = merged(plan, tmp_path / f"{nth}-{slices}", **counting)
            assert records(library) == records(whole)


def test_a_plan_is_a_sequence_that_can_be_sent(collection: list[Path]) -> None:
    plan = shard.plan(collection, 4)
    assert len(plan) == 4
    assert [part.number for part in plan] == [0, 1, 2, 3]
    assert plan[-1].number == 3
    assert plan == shard.Plan.from_json(plan.to_json()) == pickle.loads(pickle.dumps(plan))
    again = pickle.loads(pickle.dumps(plan[2]))
    assert (again, again.plan) == (plan[2], plan)
    assert again != plan[1]
    with pytest.raises(IndexError):
        plan[4]
    with pytest.raises(IndexError):
        plan[-5]
    with pytest.raises(EpdbError, match="not a plan"):
        shard.Plan.from_json("{}")
    with pytest.raises(EpdbError):
        shard.plan(collection, 0)
    with pytest.raises(EpdbError, match="1000000"):
        shard.plan(collection, 1_000_001)


def test_slices_are_scanned_read_and_packed(collection: list[Path], tmp_path: Path) -> None:
    plan = shard.plan(collection, 5)
    for rows, columns in [("games", ["Event", "tags", "moves"]), ("records", ["fen", "sm", "ply"])]:
        whole = epdb_chess.scan(collection, rows=rows, columns=columns)  # type: ignore[arg-type]
        parts = [epdb_chess.scan(part, rows=rows, columns=columns) for part in plan]  # type: ignore[arg-type]
        assert all(part.count() > 0 for part in parts)
        tables = pa.concat_tables([part.to_arrow() for part in parts])
        assert tables.to_pylist() == whole.to_arrow().to_pylist()
    few = epdb_chess.scan(plan[1], where="ply < 2", columns=["ply"])
    assert set(few.to_arrow()["ply"].to_pylist()) == {0, 1}
    assert "Slice 1 of 5" in repr(few)
    positions = list(epdb_chess.read(collection))
    assert [record for part in plan for record in epdb_chess.read(part)] == positions
    count = 0
    for part in plan:
        count += epdb_chess.pack(part, tmp_path / f"{part.number}.epa", positions="all").records
    runs = [tmp_path / f"{part.number}.epa" for part in plan]
    assert shard.merge(runs, tmp_path / "all", shards=2) == count == len(positions)


def test_games_of_different_slices_have_different_numbers(collection: list[Path]) -> None:
    numbers: list[int] = []
    for part in shard.plan(collection, 3):
        column = epdb_chess.scan(part, columns=["game"]).to_arrow()["game"].unique().to_pylist()
        assert column == list(range(part.number << 40, (part.number << 40) + len(column)))
        numbers += column
    assert len(set(numbers)) == epdb_chess.scan(collection, rows="games").count()


def test_slices_are_merged(collection: list[Path], tmp_path: Path) -> None:
    runs = [tmp_path / "a.epa", tmp_path / "b.epa"]
    for path, run in zip(collection, runs, strict=True):
        epdb_chess.tally(path, run, keep_duplicates=True)
    with pytest.raises(EpdbError, match="allow_overlap=True"):
        shard.merge(runs, tmp_path / "x", shards=2)
    shard.merge(runs, tmp_path / "x", shards=2, allow_overlap=True)
    epdb_chess.tally(collection, tmp_path / "x.epa", keep_duplicates=True)
    assert records(tmp_path / "x" / "manifest.json") == records(tmp_path / "x.epa")
    parts = shard.plan(collection, 2)
    for part, run in zip(parts, runs, strict=True):
        epdb_chess.tally(part, run, unique_games=True, digests=True, same_game="exact", force=True)
    whole = shard.merge(runs, tmp_path / "one", shards=3, min_games=2)
    assert shard.merge(runs[::-1], tmp_path / "two", shards=3, min_games=2) == whole
    folder = tmp_path / "one"
    assert shard.archives(folder / "manifest.json") == sorted(folder.glob("[1-3]-of-3-*.epa"))
    assert shard.archives(runs[0]) == [runs[0]]
    assert shard.archives(collection[0]) == []
    for file in folder.iterdir():
        assert file.read_bytes() == (tmp_path / "two" / file.name).read_bytes()
    with pytest.raises(FileExistsError):
        shard.merge(runs, tmp_path / "one", shards=3)
    with pytest.raises(EpdbError, match="from 1 to"):
        shard.merge(runs, tmp_path / "three", shards=0)


def test_slices_that_may_count_games_twice_are_refused(collection: list[Path], tmp_path: Path) -> None:
    plan, output = shard.plan(collection, 2), tmp_path / "x.epa"
    with pytest.raises(EpdbError, match="unique_games=True"):
        epdb_chess.tally(plan[0], output)
    with pytest.raises(EpdbError, match="leave out copies"):
        epdb_chess.tally(plan[0], output, unique_games=True, keep_duplicates=True)
    with pytest.raises(EpdbError, match="for a slice"):
        epdb_chess.tally(collection, output, unique_games=True)
    with pytest.raises(EpdbError, match="suffix .epa"):
        epdb_chess.tally(plan[0], tmp_path / "x.epdb", unique_games=True)
    with pytest.raises(EpdbError, match="labels"):
        epdb_chess.tally(plan[0], output, unique_games=True, labels=True)
    shard.games(plan[0], tmp_path / "0.games")
    with pytest.raises(EpdbError, match="slices 2 of 2"):
        shard.copies(tmp_path / "0.games", tmp_path / "copies")
    collection[0].write_text("changed")
    with pytest.raises(EpdbError, match="slice 1/2, from byte 0 of .*changed since"):
        epdb_chess.tally(plan[0], output, unique_games=True)
    assert not output.exists()
