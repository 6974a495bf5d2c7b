"""Files on a web server: every function that reads gives what it gives for the file."""

import pickle
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


def test_storage_options(folder: Path, serve: Callable[[Path], str]) -> None:
    """Options of a dataset hold for all that is read of it, here and where a scan is unpickled."""
    files = folder / "datasets" / "owner" / "name" / "resolve" / "main"
    files.mkdir(parents=True)
    for name in ["suite.epd", "tally.epa", "games.pgn"]:
        (files / name).write_bytes((folder / name).read_bytes())
    options: dict[str, str | bool] = {"endpoint": serve(folder), "token": "secret"}
    address = "hf://datasets/owner/name"
    wanted = list(map(str, epdb_chess.read(folder / "suite.epd")))
    assert list(map(str, epdb_chess.read(f"{address}/suite.epd", storage_options=options))) == wanted
    scan = epdb_chess.scan(f"{address}/suite.epd", storage_options=options)
    copy = pickle.loads(pickle.dumps(scan))
    assert copy.count() == scan.count() == len(wanted)
    with epdb_chess.open(f"{address}/tally.epa", storage_options=options) as library:
        assert samples.START in library
        assert samples.START in pickle.loads(pickle.dumps(library))
    counts = epdb_chess.tally(f"{address}/games.pgn", folder / "far.epa", storage_options=options)
    assert counts["games"] > 0


def test_storage_options_that_are_unknown() -> None:
    with pytest.raises(EpdbError, match="aws_regoin.*is not an option of s3://.*aws_region"):
        epdb_chess.scan("s3://bucket/a.epd", storage_options={"aws_regoin": "eu-west-1"})
    with pytest.raises(EpdbError, match="key.*is not an option of hf://"):
        epdb_chess.read("hf://datasets/o/n/a.epd", storage_options={"key": "x"})
    with pytest.raises(EpdbError, match="only s3:// and hf:// have storage options"):
        epdb_chess.open("https://example.org/a.epd", storage_options={"token": "x"})
