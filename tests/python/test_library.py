"""Records by position."""

import copy
import gc
import json
import pickle
import random
import struct
from pathlib import Path

import epdb_chess
import pytest
import samples
from epdb_chess import EpdbError, Record

chess = pytest.importorskip("chess")


def write_manifest(archive: Path, records: int) -> Path:
    """A sharded archive of one shard: formats/shards.md."""
    blake3 = pytest.importorskip("blake3").blake3
    data = archive.read_bytes()
    shard = {
        "first_key": f"{0:016x}",
        "last_key": f"{2**64 - 1:016x}",
        "file": archive.name,
        "records": records,
        "bytes": len(data),
        "blake3": blake3(data).hexdigest(),
        "footer": int.from_bytes(data[-4:], "little"),
    }
    manifest = {"format": "epdb-ranges", "version": 1, "about": {}, "library": None, "shards": [shard]}
    text = json.dumps(manifest, indent=2).removesuffix("\n}").encode()
    path = archive.with_name("manifest.json")
    path.write_bytes(text + f',\n  "check": "{blake3(text).hexdigest()}"\n}}\n'.encode())
    return path


@pytest.fixture(params=["a.epa", "a.epdb", "fast.epa", "a.epd", "shard.epa"])
def library(request: pytest.FixtureRequest, suite: Path, tmp_path: Path) -> Path:
    path = tmp_path / request.param
    if request.param == "fast.epa":
        epdb_chess.pack(suite, path, level="fast", sorted=True)
    elif request.param == "shard.epa":
        epdb_chess.pack(suite, path)
        return write_manifest(path, 4)
    else:
        epdb_chess.convert(suite, path)
    return path


def test_lookups(library: Path, suite: Path) -> None:
    records = list(epdb_chess.read(suite))
    with epdb_chess.open(library) as lib:
        assert len(lib) == 4
        assert Path(lib.path) == library
        for record in records:
            for position in [record, record.fen, record.packed, record.board(), str(record)]:
                assert lib[position] == [record]
                assert lib.one(position) == record
                assert position in lib
        assert lib[samples.START] == []
        assert lib.one(samples.START) is None
        assert samples.START not in lib
        with pytest.raises(EpdbError):
            lib["no position"]
        with pytest.raises(EpdbError):
            lib[b"no board"]
        with pytest.raises(TypeError):
            lib[None]
    assert lib.closed
    with pytest.raises(EpdbError, match="closed"):
        lib[samples.START]
    with pytest.raises(EpdbError, match="closed"):
        len(lib)


def test_many(library: Path, suite: Path) -> None:
    records = list(epdb_chess.read(suite))
    wanted = [*records, Record(samples.START)]
    expected = [[record] for record in records] + [[]]
    with epdb_chess.open(library) as lib:
        assert lib.get_many(wanted) == expected
        assert lib.get_many(r.board() for r in wanted) == expected
        assert lib.get_many([r.fen for r in wanted]) == expected
        assert lib.get_many(b"".join(r.packed for r in wanted)) == expected
        assert lib.get_many([r.packed for r in wanted], first=True) == [*records, None]
        assert lib.get_many([]) == lib.get_many(b"") == []
        assert lib.get_many(wanted * 5000, first=True) == [*records, None] * 5000
        with pytest.raises(EpdbError, match="byte 0"):
            lib.get_many(b"abc")


def test_numbers(library: Path) -> None:
    with epdb_chess.open(library) as lib:
        records = [lib[number] for number in range(4)]
        assert sorted(r["id"] for r in records) == ["WAC.001", "WAC.002", "WAC.003", "castling"]
        assert lib[-1] == records[-1]
        if library.suffix == ".epdb":
            with pytest.raises(EpdbError, match="archives"):
                lib[1:3]
        else:
            assert lib[1:3] == records[1:3]
            assert lib[:] == records
            assert lib[3:1] == lib[9:] == []
        with pytest.raises(IndexError):
            lib[4]
        with pytest.raises(TypeError):
            lib[::2]


@pytest.mark.parametrize("name", ["a.epa", "a.epdb", "games.pgn"])
def test_exploring(name: str, games: Path, tmp_path: Path) -> None:
    path = tmp_path / name
    if name != "games.pgn":
        counts = epdb_chess.tally(games, path, keep_games=2)
        assert counts["games"] == 3
        assert counts["positions"] == 12
    with epdb_chess.open(path) as lib:
        explored = lib.explore(chess.Board())
        assert explored is not None
        assert (explored.white, explored.draws, explored.black) == (1, 1, 1)
        assert explored.reached == explored.games == 3
        assert [move.move for move in explored.moves] == ["e2e4", "d2d4"]
        first = explored.moves[0]
        assert first.move.san == "e4"
        assert (first.white, first.draws, first.black, first.games) == (1, 0, 1, 2)
        assert (first.rating, first.opponents) == (2500, 2400)
        assert (first.first_year, first.last_year) == (2020, 2021)
        assert lib.explore("a4") is None
        assert len(lib.explore("e4", limit=1).moves) == 1  # type: ignore[union-attr]
        with pytest.raises(EpdbError):
            lib.explore("e4", sort="beauty")  # type: ignore[arg-type]

        assert [entry.weight for entry in lib.find_all(chess.Board())] == [2, 1]
        assert lib.find(chess.Board()).move == "e2e4"
        move = chess.Move.from_uci("e2e4")
        assert lib.find(chess.Board(), exclude_moves=[move]).move == "d2d4"
        assert lib.find_all(chess.Board(), minimum_weight=2) == [lib.find(chess.Board())]
        draws = [lib.weighted_choice(chess.Board(), random=random.Random(i)) for i in range(30)]
        chosen = {entry.move for entry in draws}
        assert chosen == {"e2e4", "d2d4"}
        with pytest.raises(IndexError):
            lib.weighted_choice("a4")
        if name != "games.pgn":
            found = lib.games("e4")
            assert {game.tags["White"] for game in found} == {"Ada", "Bob"}
            assert {game.move.san for game in found if game.move} == {"e5", "c5"}
            assert all("1. e4" in game.pgn for game in found)
        assert lib.games("a4") == []


def test_missing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        epdb_chess.open(tmp_path / "none.epa")


def test_a_polyglot_book(tmp_path: Path) -> None:
    polyglot = pytest.importorskip("chess.polyglot")
    path = tmp_path / "book.bin"
    board = chess.Board()
    entries = []
    for san, weight in [("e4", 5), ("d4", 3), ("c4", 1)]:
        move = board.parse_san(san)
        raw = move.to_square | move.from_square << 6
        entries.append(struct.pack(">QHHI", polyglot.zobrist_hash(board), raw, weight, 0))
    path.write_bytes(b"".join(entries))
    with polyglot.open_reader(path) as reader, epdb_chess.open(path) as lib:
        expected = [(entry.move.uci(), entry.weight) for entry in reader.find_all(board)]
        assert [(entry.move, entry.weight) for entry in lib.find_all(board)] == expected
        assert lib.find(board).move == reader.find(board).move.uci()
        with pytest.raises(IndexError):
            lib.find("e4 e5")


def test_records_are_not_visited_by_the_garbage_collector(library: Path, suite: Path) -> None:
    with epdb_chess.open(library) as records:
        some = [record.packed for record in epdb_chess.read(suite)]
        found = records.get_many(some) + [records.get_many(some, first=True)]
        assert found and not any(gc.is_tracked(record) for listed in found for record in listed)
        assert not gc.is_tracked(records[some[0]][0])
    assert not any(gc.is_tracked(record) for record in epdb_chess.read(suite))
    # A record that was found can be edited, copied, compared, hashed and pickled like any other.
    one = found[0][0]
    again = copy.copy(one)
    again["id"] = "changed"
    assert again != one and hash(again) == hash(one) and again.fen == one.fen
    assert pickle.loads(pickle.dumps(again)) == again
