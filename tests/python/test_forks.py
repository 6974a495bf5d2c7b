"""Lookups in forked processes. A child has the memory of its parent, but none of its threads."""

import multiprocessing
import os
import threading
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import epdb_chess
import pytest
import samples
from epdb_chess import shard

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork"),
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
]

# Numbers of records of one position. So many small blocks are decoded on several threads.
FEW, MANY = 100, 3000


def each_of(library: Any) -> list[str]:
    """The first records that iteration returns."""
    return [str(record) for record in islice(library, 20)]


LOOKUPS: dict[str, Callable[[Any], Any]] = {
    "getitem": lambda lib: [str(record) for record in lib[samples.START]],
    "get_many": lambda lib: [len(found) for found in lib.get_many([samples.START, samples.AFTER_E4])],
    "first": lambda lib: [str(record) for record in lib.get_many([samples.START], first=True)],
    "one": lambda lib: str(lib.one(samples.START)),
    "in": lambda lib: (samples.START in lib, samples.AFTER_E4 in lib),
    "explore": lambda lib: lib.explore(samples.START),
    "games": lambda lib: lib.games(samples.START),
    "find_all": lambda lib: lib.find_all(samples.START),
    "len": lambda lib: len(lib),
    "number": lambda lib: str(lib[3]),
    "iteration": each_of,
}
SLICE: Callable[[Any], Any] = lambda lib: [str(record) for record in lib[-20:-1]]  # noqa: E731


def in_a_fork(work: Callable[[], bool]) -> None:
    child = multiprocessing.get_context("fork").Process(target=lambda: os._exit(not work()))
    child.start()
    child.join(timeout=60)
    is_alive = child.is_alive()
    child.kill()
    assert not is_alive, "the child hangs"
    assert child.exitcode == 0


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("forks")
    lines, many, games = folder / "lines.epd", folder / "many.epd", folder / "games.pgn"
    for path, copies in [(lines, FEW), (many, MANY)]:
        path.write_text("".join(f"{samples.START} ce {n % 90}; c0 \"{n}\";\n" for n in range(copies)))
    games.write_text(samples.many_games(0, 60))
    epdb_chess.pack(many, folder / "default.epa", block=16)
    epdb_chess.pack(lines, folder / "fast.epa", level="fast")
    epdb_chess.convert(lines, folder / "store.epdb")
    epdb_chess.tally(games, folder / "tally.epa", keep_games=3)
    shard.merge([folder / "default.epa"], folder / "shards", shards=2)
    names = ["lines.epd", "games.pgn", "default.epa", "fast.epa", "store.epdb", "tally.epa"]
    return {name: folder / name for name in [*names, "shards/manifest.json"]}


@pytest.mark.parametrize(
    "name",
    ["lines.epd", "games.pgn", "default.epa", "fast.epa", "store.epdb", "tally.epa"]
    + ["shards/manifest.json"],
)
@pytest.mark.parametrize("place", ["file", "address"])
def test_every_lookup_in_a_child(
    name: str, place: str, libraries: dict[str, Path], serve: Callable[[Path], str]
) -> None:
    path: Path | str = libraries[name]
    if place == "address":
        folder = libraries["lines.epd"].parent
        path = f"{serve(folder)}/{name}"
    lookups = LOOKUPS if name == "store.epdb" else {**LOOKUPS, "slice": SLICE}
    with epdb_chess.open(path) as lib:
        wanted = {kind: look_up(lib) for kind, look_up in lookups.items()}
        assert wanted["in"][0]

        def is_right(library: Any) -> bool:
            return all(look_up(library) == wanted[kind] for kind, look_up in lookups.items())

        def with_a_library_of_its_own() -> bool:
            with epdb_chess.open(path) as own:
                return is_right(own)

        in_a_fork(lambda: is_right(lib))
        in_a_fork(with_a_library_of_its_own)
        # A child of a child.
        in_a_fork(lambda: in_a_fork(lambda: is_right(lib)) is None)
        assert is_right(lib)


@pytest.mark.parametrize("kind", LOOKUPS)
def test_each_kind_of_lookup_comes_first(kind: str, libraries: dict[str, Path]) -> None:
    """In the parent, and in the child."""
    with epdb_chess.open(libraries["default.epa"]) as lib:
        wanted = LOOKUPS[kind](lib)
        in_a_fork(lambda: LOOKUPS[kind](lib) == wanted)


def test_forks_while_other_threads_look_up(libraries: dict[str, Path]) -> None:
    with epdb_chess.open(libraries["default.epa"]) as lib:
        wanted = LOOKUPS["getitem"](lib)
        has_ended = threading.Event()

        def look_up() -> None:
            while not has_ended.is_set():
                assert len(lib[samples.START]) == MANY

        threads = [threading.Thread(target=look_up) for _ in range(3)]
        for thread in threads:
            thread.start()
        try:
            for _ in range(8):
                in_a_fork(lambda: LOOKUPS["getitem"](lib) == wanted)
        finally:
            has_ended.set()
            for thread in threads:
                thread.join()
