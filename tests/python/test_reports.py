"""Reports of what was read and left out, and warnings."""

import pickle
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import epdb_chess
import pytest
import samples
from epdb_chess import EpdbError, EpdbWarning, ReadReport

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
pytest.importorskip("polars")

# A game that ends at an illegal move, twice; a game that is whole; a text that is no game.
GAMES = (
    '[Event "a"]\n\n1. Nf3 Nf3 2. e4 1-0\n\n'
    '[Event "b"]\n\n1. e4 e5 2. Ke3 1-0\n\n'
    '[Event "c"]\n\n1. d4 (1. c4 c5) d5 0-1\n\n'
)
TRUNCATED = "W-PGN-TRUNCATED"
LINES = (
    f"{samples.START} id unquoted;\n"
    f"{samples.START} id also;\n"
    "no position\n"
    f"{samples.START} ce 5;\n"
)


@pytest.fixture
def cut(tmp_path: Path) -> Path:
    path = tmp_path / "cut.pgn"
    path.write_text(GAMES)
    return path


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    path = tmp_path / "lines.epd"
    path.write_text(LINES)
    return path


def warned(work: Callable[[], Any]) -> tuple[Any, list[EpdbWarning]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = work()
    found = [warning.message for warning in caught]
    assert all(isinstance(warning, EpdbWarning) for warning in found), found
    # polars reads on a thread of its own.
    assert all(warning.filename.endswith((__file__, "_frames.py")) for warning in caught)
    return result, found  # type: ignore[return-value]


def test_every_way_to_read_reports_a_game_that_is_cut_short(cut: Path, tmp_path: Path) -> None:
    scan = epdb_chess.scan(cut, rows="games")
    boards = epdb_chess.scan(cut)
    readers: list[epdb_chess.Reader] = []

    def read_all() -> int:
        readers.append(epdb_chess.read(cut))
        return sum(1 for _ in readers[0])

    ways: list[tuple[Callable[[], Any], Callable[[], ReadReport], int]] = [
        (lambda: scan.count(), scan.report, 3),
        (lambda: scan.to_arrow(), scan.report, 3),
        (lambda: list(scan), scan.report, 3),
        (lambda: pa.table(scan), scan.report, 3),
        (lambda: scan.to_polars().collect(), scan.report, 3),
        (lambda: boards.count(), boards.report, 2 + 3 + 3),
        (read_all, lambda: readers[0].report(), 2 + 3 + 3),
    ]
    for work, report, rows in ways:
        _, found = warned(work)
        assert [warning.code for warning in found] == [TRUNCATED]
        assert (found[0].file, found[0].line) == (str(cut), 3)
        assert str(found[0]).startswith(f"{TRUNCATED}: {cut}:3:")
        counts = report()
        assert (counts.rows, counts.rejected, counts.cut_short, counts.complete) == (rows, 0, 2, False)
        assert (counts.warnings, counts.errors) == ({TRUNCATED: 2}, {})
    library, found = warned(lambda: epdb_chess.open(cut))
    assert [warning.code for warning in found] == [TRUNCATED]
    assert (library.report().rows, library.report().cut_short) == (len(library), 2)
    assert library.report().warnings == {TRUNCATED: 2}
    for name, games, records in [("a.pgn", 3, 0), ("a.epd", 0, 8), ("a.epa", 0, 8)]:
        written, found = warned(lambda name=name: epdb_chess.convert(cut, tmp_path / name))
        assert [warning.code for warning in found] == [TRUNCATED]
        assert (written.games, written.records, written.cut_short) == (games, records, 2)
        assert written.warnings == {TRUNCATED: 2}
    counts, found = warned(lambda: epdb_chess.tally(cut, tmp_path / "t.epa"))
    assert [warning.code for warning in found] == [TRUNCATED]
    assert (counts["games"], counts["cut_short"], counts["warnings"]) == (1, 2, {TRUNCATED: 2})


def test_an_archive_is_not_read_when_it_is_opened(suite: Path, tmp_path: Path) -> None:
    epdb_chess.pack(suite, tmp_path / "a.epa")
    library, found = warned(lambda: epdb_chess.open(tmp_path / "a.epa"))
    assert (library.report().rows, found) == (4, [])


def test_rejected_lines_are_counted(lines: Path) -> None:
    scan = epdb_chess.scan(lines, on_error="skip")
    rows, found = warned(scan.count)
    report = scan.report()
    assert (rows, report.rows, report.rejected, report.complete) == (3, 3, 1, True)
    assert sum(report.errors.values()) == 1
    codes = {warning.code for warning in found}
    assert codes == report.warnings.keys() | report.errors.keys()
    assert set(report.warnings.values()) == {2}
    assert len(report.warnings) == 1
    reader, _ = warned(lambda: epdb_chess.read(lines, on_error="skip"))
    assert len(list(reader)) == 3
    assert reader.report() == report
    assert pickle.loads(pickle.dumps(report)) == report
    scan, _ = epdb_chess.scan(lines), warnings.simplefilter("ignore", EpdbWarning)
    with pytest.raises(EpdbError):
        scan.count()
    assert (scan.report().rejected, scan.report().complete) == (1, False)


def test_a_filter_counts_what_it_leaves_out(lines: Path) -> None:
    scan = epdb_chess.scan(lines, on_error="skip", where="has(ce)")
    _, _ = warned(scan.count)
    assert (scan.report().rows, scan.report().left_out) == (1, 2)


def test_a_scan_that_stops_early_says_so(tmp_path: Path) -> None:
    path = tmp_path / "many.fen"
    path.write_text((samples.START + "\n") * 50_000)
    scan = epdb_chess.scan(path, batch_size=100)
    assert scan.report() == ReadReport(0, 0, 0, 0, {}, {}, 0, 0, 0, False, {})
    next(iter(scan))
    assert (scan.report().rows, scan.report().complete) == (100, False)
    few = scan.head(250)
    assert few.count() == 250
    assert (few.report().rows, few.report().complete) == (250, False)
    assert scan.report().rows == 100
    assert scan.count() == scan.report().rows == 50_000


def test_variations_are_counted(cut: Path) -> None:
    scan = epdb_chess.scan(cut)
    warned(scan.count)
    assert scan.report().variation_positions == 2


def test_a_warning_can_be_an_error(cut: Path, tmp_path: Path) -> None:
    scan = epdb_chess.scan(cut)
    for work in [
        scan.count,
        lambda: list(epdb_chess.read(cut)),
        lambda: epdb_chess.open(cut),
        lambda: epdb_chess.convert(cut, tmp_path / "a.epd"),
    ]:
        with warnings.catch_warnings():
            warnings.filterwarnings("error", TRUNCATED)
            with pytest.raises(EpdbWarning, match="cut.pgn:3"):
                work()  # type: ignore[operator]
        with warnings.catch_warnings():
            warnings.filterwarnings("error", "W-PGN-OTHER")
            warnings.filterwarnings("ignore", TRUNCATED)
            work()  # type: ignore[operator]
    with warnings.catch_warnings():
        warnings.filterwarnings("error", TRUNCATED)
        with pytest.raises(Exception, match=TRUNCATED):
            pa.table(scan)
    warning = EpdbWarning("text", "a.pgn", 3, 4, TRUNCATED)
    again = pickle.loads(pickle.dumps(warning))
    assert (str(again), again.file, again.line, again.column, again.code) == ("text", "a.pgn", 3, 4, TRUNCATED)


def test_a_denied_warning_names_its_code_and_reason(lines: Path, cut: Path, tmp_path: Path) -> None:
    reasons = []
    table = tmp_path / "table.parquet"
    pq.write_table(pa.table({"fen": ["4k3/8/8/8/8/8/8/4K3 w KQ - 0 1"] * 2}), table)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for path in [lines, cut, table]:
            options: dict[str, Any] = {"deny_warnings": True}
            for work in [
                lambda: epdb_chess.scan(path, **options).count(),
                lambda: list(epdb_chess.read(path, **options)),
                lambda: epdb_chess.convert(path, tmp_path / "a.epd", **options),
                lambda: epdb_chess.open(path, **options),
            ]:
                with pytest.raises(EpdbError, match="rejected because warnings are denied: .*W-") as error:
                    work()
                assert error.value.code is not None
                assert error.value.code.startswith("W-")
                reasons.append((path, error.value.line, error.value.code))
            reader = epdb_chess.read(path, on_error="skip", **options)
            list(reader)
            for rejected in reader.rejected:
                assert rejected.error.code is not None
    assert len(set(reasons)) == 3


def test_a_character_set_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.pgn"
    path.write_bytes(GAMES.replace('"c"', '"Dvořák"').encode("iso-8859-2"))
    names = {"iso-8859-2": "Dvořák", "latin-1": "Dvoøák"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for charset, name in names.items():
            options = {"charset": charset}
            scan = epdb_chess.scan(path, rows="games", columns=["Event"], **options)  # type: ignore[arg-type]
            assert scan.to_arrow()["Event"].to_pylist()[2] == name
            records = list(epdb_chess.read(path, game_tags=True, charset=charset))
            assert records[-1]["ptp"]["Event"] == name
    with pytest.raises(EpdbError, match="no such character set"):
        epdb_chess.scan(path, charset="latin-99")


def test_threads_do_not_change_the_rows(tmp_path: Path) -> None:
    path = tmp_path / "a.pgn"
    path.write_text(samples.many_games(0, 60))
    columns = {"games": ["White", "Result", "moves"], "records": ["fen", "game", "ply"]}
    for rows, names in columns.items():
        tables = [
            epdb_chess.scan(path, rows=rows, columns=names, threads=threads, batch_size=size)  # type: ignore[arg-type]
            for threads in [None, 1, 2, 5]
            for size in [7, 1000]
        ]
        wanted = tables[0].to_arrow().to_pylist()
        assert len(wanted) >= 60
        for table in tables[1:]:
            assert table.to_arrow().to_pylist() == wanted
    with pytest.raises(ValueError):
        epdb_chess.scan(path, threads=0)


def test_a_field_that_no_record_has_is_a_warning(games: Path, suite: Path, tmp_path: Path) -> None:
    def texts(work: Callable[[], Any]) -> list[str]:
        return [str(warning) for warning in warned(work)[1]]

    scan = epdb_chess.scan
    game = "no record has `game` (number of the position's game, from 0: in Parquet and in 'table --positions'): read the rows, and choose them by their column `game`"
    assert texts(lambda: scan(games, where="game < 2").to_arrow()) == [game]
    assert texts(lambda: pa.table(scan(games, where="game < 2"))) == [game]
    assert texts(lambda: scan(games, where="game < 2").count()) == [game]
    assert texts(lambda: list(epdb_chess.read(games, where="game < 2"))) == [game]
    assert texts(lambda: epdb_chess.convert(games, tmp_path / "a.epd", where="game < 2")) == [game]
    white = "(of a tally: games that White won): did you mean `White`?"
    assert texts(lambda: scan(games, columns=["fen", "white"]).to_arrow()) == [
        f"no row has a value in the column `white` {white}"
    ]
    assert texts(lambda: scan(games, where="white > 0").to_arrow()) == [f"no record has `white` {white}"]
    assert texts(lambda: scan(suite, columns=["Depth"]).to_polars().collect()) == [
        "no row has a value in the column `Depth`"
    ]
    # Some record has it, or nothing was read, or not all of it, or the columns are those of the table.
    for quiet in [
        scan(suite, columns=["D1", "id"], where="D1 > 3"),
        scan(games, columns=["White", "WhiteElo"], where="WhiteElo > 2400"),
        scan(games, rows="games", where="White == 'Ada'"),
        scan(suite, columns=["Depth"]).head(2),
        scan(suite, columns=["Depth"], where="pieces > 99"),
        scan(games, columns=["eval", "clock", "fmvn"]),
        scan(suite),
        scan(suite, columns="all"),
    ]:
        assert texts(quiet.to_arrow) == []
    epdb_chess.convert(games, tmp_path / "a.parquet")
    table = scan(tmp_path / "a.parquet", columns=["game", "White"], where="game < 2")
    assert texts(table.to_arrow) == ["no row has a value in the column `White`"]
    assert set(table.select(["game"]).to_arrow()["game"].to_pylist()) == {0, 1}
