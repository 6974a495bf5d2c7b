"""The package and the program give the same for each kind of library."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import epdb_chess
import pytest
import samples
from epdb_chess import EpdbError, shard

PROGRAM = Path(os.environ.get("EPDB_PROGRAM", Path(__file__).parents[2] / "target" / "debug" / "epdb"))
pytestmark = pytest.mark.skipif(not PROGRAM.exists(), reason="the program is not built")

SOURCES = ["whole.epa", "whole.epdb", "shards/manifest.json", "base.epa+delta.epdb"]
POSITIONS = [samples.START, samples.AFTER_E4, "e4 c5", "d4 d5 c4", "a4"]


def run(folder: Path, *arguments: str, status: int = 0) -> str:
    command = [str(PROGRAM), *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stderr
    return done.stderr if status == 2 else done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("libraries")
    games = {"base.pgn": (0, 60), "later.pgn": (60, 90), "all.pgn": (0, 90)}
    for name, (first, end) in games.items():
        (folder / name).write_text(samples.many_games(first, end))
    for name, of in [("base.epa", "base.pgn"), ("whole.epa", "all.pgn"), ("whole.epdb", "all.pgn")]:
        epdb_chess.tally(folder / of, folder / name, keep_games=2)
    shard.merge([folder / "whole.epa"], folder / "shards", shards=3)
    delta = ["--tally", "--base", "base.epa", "--keep-games", "2"]
    run(folder, "import", "delta.epdb", "later.pgn", *delta)
    return folder


@pytest.fixture(autouse=True)
def in_the_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Messages name files as they were given."""
    monkeypatch.chdir(folder)


@pytest.mark.parametrize("source", SOURCES)
def test_lookups(source: str, folder: Path) -> None:
    with epdb_chess.open(source) as lib:
        for position in POSITIONS:
            status = 0 if position in lib else 1
            assert "".join(f"{it}\n" for it in lib[position]) == run(
                folder, "get", source, position, status=status
            )
            found = lib.explore(position)
            assert (found is None) == (status == 1)
            if found is None:
                continue
            listed = json.loads(run(folder, "explore", source, position, "--json"))
            assert (found.white, found.draws, found.black, found.reached) == tuple(
                listed[name] for name in ["white", "draws", "black", "reached"]
            )
            assert [(row.move.san, row.white, row.draws, row.black) for row in found.moves] == [
                tuple(row[name] for name in ["san", "white", "draws", "black"]) for row in listed["moves"]
            ]
            # Games of unknown result count too.
            weights = {
                row["san"]: sum(row.get(name, 0) for name in ["white", "draws", "black", "unknown"])
                for row in listed["moves"]
            }
            entries = lib.find_all(position)
            assert {entry.move.san: entry.weight for entry in entries} == weights
            assert lib.find(position).weight == max(weights.values()) == entries[0].weight
            games = run(folder, "games", source, position, "-o", "-")
            assert sorted(game.pgn.strip() for game in lib.games(position)) == sorted(
                f"[Event{game}".strip() for game in games.split("[Event")[1:]
            )


def refusal(work: Callable[[], Any]) -> str:
    with pytest.raises(EpdbError) as error:
        work()
    return f"epdb: error: {error.value}\n"


@pytest.mark.parametrize("source", SOURCES)
def test_reading_and_writing(source: str, folder: Path) -> None:
    name = f"{SOURCES.index(source)}"
    reads: dict[str, tuple[Callable[[], Any], list[str]]] = {
        "read": (lambda: list(epdb_chess.read(source)), ["count", source]),
        "scan": (lambda: epdb_chess.scan(source, columns=["fen"]).to_arrow(), ["count", source]),
        "pack": (
            lambda: epdb_chess.pack(source, f"{name}.epa"),
            ["pack", source, "-o", f"{name}-cli.epa"],
        ),
        "convert": (
            lambda: epdb_chess.convert(source, f"{name}.epd"),
            ["convert", source, f"{name}-cli.epd"],
        ),
        "tally": (
            lambda: epdb_chess.tally(source, f"{name}-t.epa"),
            ["tally", source, "-o", f"{name}-t-cli.epa"],
        ),
    }
    for kind, (work, command) in reads.items():
        if kind == "tally":
            assert "games" in refusal(work)
            assert "games" in run(folder, *command, status=2)
        else:
            work()
            run(folder, *command)
    lines = run(folder, "export", source).splitlines()
    assert [str(record) for record in epdb_chess.read(source)] == lines
    assert epdb_chess.scan(source).count() == len(lines)
    for suffix in ["epa", "epd"]:
        assert (folder / f"{name}.{suffix}").read_bytes() == (folder / f"{name}-cli.{suffix}").read_bytes()
