"""Files on a web server: every function that reads gives what it gives for the file."""

from collections.abc import Callable
from pathlib import Path

import epdb_chess
import pytest
import samples
from epdb_chess import EpdbError

SOURCES = ["suite.epd", "games.pgn", "suite.epa", "suite.epdb", "tally.epa", "tally.epdb"]


@pytest.fixture
def folder(suite: Path, games: Path) -> Path:
    folder = suite.parent
    epdb_chess.pack(suite, folder / "suite.epa")
    epdb_chess.convert(suite, folder / "suite.epdb")
    for name in ["tally.epa", "tally.epdb"]:
        epdb_chess.tally(games, folder / name, keep_games=2)
    return folder


@pytest.mark.parametrize("name", SOURCES)
def test_records_and_lookups(name: str, folder: Path, serve: Callable[[Path], str]) -> None:
    address = f"{serve(folder)}/{name}"
    if name != "games.pgn":
        wanted = list(map(str, epdb_chess.read(folder / name)))
        assert list(map(str, epdb_chess.read(address))) == wanted
        assert epdb_chess.scan(address).count() == len(wanted)
    with epdb_chess.open(folder / name) as near, epdb_chess.open(address) as far:
        assert len(near) == len(far)
        for position in [samples.START, samples.AFTER_E4]:
            assert near.explore(position) == far.explore(position)
            assert list(map(str, near[position])) == list(map(str, far[position]))
            games = [[game.tags for game in library.games(position)] for library in [near, far]]
            assert games[0] == games[1]


def test_files_that_are_written(folder: Path, serve: Callable[[Path], str]) -> None:
    address, near, far = serve(folder), folder / "near", folder / "far"
    near.mkdir()
    far.mkdir()
    for source, target in [(folder, near), (address, far)]:
        epdb_chess.tally(f"{source}/games.pgn", target / "tally.epa", keep_games=2)
        epdb_chess.pack(f"{source}/suite.epd", target / "pack.epa")
        epdb_chess.convert(f"{source}/tally.epdb", target / "convert.epa")
        epdb_chess.normalize(f"{source}/suite.epd", target / "normalize.epd")
    for path in sorted(near.iterdir()):
        # The origin of a library names the file with the games.
        wanted, found = map(str, epdb_chess.read(path)), map(str, epdb_chess.read(far / path.name))
        assert list(wanted) == list(found), path.name


def test_an_address_without_a_file(serve: Callable[[Path], str], tmp_path: Path) -> None:
    with pytest.raises(EpdbError, match="no such object"):
        epdb_chess.open(f"{serve(tmp_path)}/none.epa")
