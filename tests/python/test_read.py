"""Reading of files."""

import bz2
import gzip
from pathlib import Path

import epdb_chess
import pytest
import samples
from epdb_chess import EpdbError, MissingFileError, Record


def test_records(suite: Path) -> None:
    records = list(epdb_chess.read(suite))
    assert [record["id"] for record in records] == ["WAC.001", "WAC.002", "WAC.003", "castling"]
    assert records[0]["bm"] == ["g3g6"]
    assert records[1]["pv"] == ["b3b2", "d2b2", "c4c3"]
    assert list(epdb_chess.read([suite, str(suite)])) == records * 2


def test_compressed(suite: Path, tmp_path: Path) -> None:
    expected = list(epdb_chess.read(suite))
    for name, compress in [("suite.epd.gz", gzip.compress), ("suite.epd.bz2", bz2.compress)]:
        packed = tmp_path / name
        packed.write_bytes(compress(samples.SUITE.encode()))
        assert list(epdb_chess.read(packed)) == expected
    for name in ["a.epb", "a.epa", "a.epdb", "a.epd.zst"]:
        epdb_chess.convert(suite, tmp_path / name)
        assert sorted(map(str, epdb_chess.read(tmp_path / name))) == sorted(map(str, expected))


def test_positions_of_games(games: Path) -> None:
    assert sum(1 for _ in epdb_chess.read(games)) == 7 + 5 + 3
    last = list(epdb_chess.read(games, positions="final", game_tags=True))
    assert [record["ptp"]["White"] for record in last] == ["Ada", "Bob", "Cyd"]
    opening = epdb_chess.read(games, positions="0..1", where='White == "Cyd"')
    assert [record.get("sm") for record in opening] == ["d2d4", "d7d5"]


def test_a_bad_line_is_an_error_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "bad.epd"
    lines = [samples.START, "no position", samples.AFTER_E4 + " ", "8/8 w - -"]
    path.write_text("\n".join(lines) + "\n")
    reader = epdb_chess.read(path)
    assert next(reader).fen == samples.START
    with pytest.raises(EpdbError) as error:
        next(reader)
    assert error.value.file == str(path)
    assert (error.value.line, error.value.column) == (2, 1)
    assert error.value.code is not None and error.value.code.startswith("E-")
    assert str(error.value).startswith(f"{path}:2:")
    # Reading continues after the line.
    assert next(reader).fen == samples.AFTER_E4

    with epdb_chess.read(path, on_error="skip") as reader:
        assert len(list(reader)) == 2
        assert [rejected.raw for rejected in reader.rejected] == [b"no position\n", b"8/8 w - -\n"]
        assert [rejected.error.line for rejected in reader.rejected] == [2, 4]


def test_options(tmp_path: Path, suite: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text(samples.START + " | 23 | 0.5\n")
    record = next(epdb_chess.read(path, labels=True, label_view="white"))
    assert record["ce"] == 23
    assert [r["id"] for r in epdb_chess.read(suite, where="ce > 0")] == ["WAC.001"]
    assert len(list(epdb_chess.read(suite, format="epd", profile="lenient"))) == 4
    with pytest.raises(TypeError, match="colour"):
        epdb_chess.read(suite, colour="red")  # type: ignore[call-arg]
    with pytest.raises(EpdbError):
        epdb_chess.read(suite, where="ce >")
    with pytest.raises(EpdbError):
        epdb_chess.read(suite, on_error="ignore")  # type: ignore[arg-type]
    with pytest.raises(EpdbError):
        epdb_chess.read(suite, positions="some")


def test_a_missing_file_is_an_error_at_once(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError) as error:
        epdb_chess.read(tmp_path / "none.epd")
    assert isinstance(error.value, FileNotFoundError)
    assert isinstance(error.value, EpdbError)


def test_a_closed_reader(tmp_path: Path) -> None:
    path = tmp_path / "many.fen"
    path.write_text((samples.START + "\n") * 20_000)
    reader = epdb_chess.read(path)
    next(reader)
    reader.close()
    with pytest.raises(EpdbError, match="closed"):
        next(reader)
    # Readers that wait do not keep the threads of others.
    readers = [epdb_chess.read(path) for _ in range(8)]
    assert all(isinstance(next(reader), Record) for reader in readers)
    assert sum(1 for _ in epdb_chess.read(path)) == 20_000
