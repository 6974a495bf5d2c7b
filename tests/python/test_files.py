"""Functions that write files."""

from pathlib import Path

import epdb_chess
import pytest
import samples
from epdb_chess import EpdbError, FileInTheWayError


def test_pack_and_unpack(suite: Path, tmp_path: Path) -> None:
    archive = tmp_path / "a.epa"
    for level in ["fast", "default"]:
        written = epdb_chess.pack(suite, archive, level=level, force=True)  # type: ignore[arg-type]
        assert (written.records, written.games, written.rejected) == (4, 0, [])
        epdb_chess.unpack(archive, tmp_path / "back.epd")
        assert list(epdb_chess.read(tmp_path / "back.epd")) == list(epdb_chess.read(suite))
    with pytest.raises(FileInTheWayError):
        epdb_chess.pack(suite, archive)
    with pytest.raises(EpdbError, match="not an archive"):
        epdb_chess.unpack(suite, tmp_path / "b.epd")
    with pytest.raises(EpdbError):
        epdb_chess.pack(suite, tmp_path / "b.epa", level="medium")  # type: ignore[arg-type]


def test_parquet_files_are_read_and_written(suite: Path, tmp_path: Path) -> None:
    table = tmp_path / "suite.parquet"
    assert epdb_chess.convert(suite, table).records == 4
    assert list(epdb_chess.read(table)) == list(epdb_chess.read(suite))
    assert epdb_chess.scan(table, columns=["fen"]).count() == 4


def test_normalize_keeps_comments(suite: Path, tmp_path: Path) -> None:
    output = tmp_path / "clean.epd"
    assert epdb_chess.normalize(suite, output).records == 4
    assert output.read_text().splitlines()[0] == "# A suite."
    again = tmp_path / "again.epd"
    epdb_chess.normalize(output, again)
    assert again.read_text() == output.read_text()


def test_convert_games(games: Path, tmp_path: Path) -> None:
    assert epdb_chess.convert(games, tmp_path / "a.pgn").games == 3
    assert epdb_chess.convert(games, tmp_path / "a.pgc", ext=True).games == 3
    with pytest.raises(EpdbError, match="comments"):
        epdb_chess.convert(games, tmp_path / "b.pgc")
    assert not (tmp_path / "b.pgc").exists()
    assert epdb_chess.convert(tmp_path / "a.pgc", tmp_path / "b.pgn").games == 3
    assert (tmp_path / "a.pgn").read_text() == (tmp_path / "b.pgn").read_text()
    assert epdb_chess.convert(games, tmp_path / "a.epd", positions="final").records == 3
    with pytest.raises(EpdbError):
        epdb_chess.convert(tmp_path / "a.epd", tmp_path / "c.pgn")
    with pytest.raises(EpdbError):
        epdb_chess.convert(games, tmp_path / "a.unknown")


def test_a_bad_line_leaves_no_file(tmp_path: Path) -> None:
    path = tmp_path / "bad.epd"
    path.write_text(samples.START + "\nno position\n")
    output = tmp_path / "out.epd"
    with pytest.raises(EpdbError) as error:
        epdb_chess.normalize(path, output)
    assert error.value.line == 2
    assert not output.exists()
    written = epdb_chess.normalize(path, output, on_error="skip")
    assert written.records == 1
    assert [(bad.raw, bad.error.line) for bad in written.rejected] == [(b"no position\n", 2)]


def test_tally_options(games: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.epdb"
    counts = epdb_chess.tally(games, path, by=["year"], max_ply=2, players=["Ada"], side="white")
    assert (counts["games"], counts["left_out"]) == (1, 2)
    assert epdb_chess.tally([games, games], tmp_path / "b.epa")["duplicates"] == 3
    assert epdb_chess.tally([games, games], tmp_path / "c.epa", keep_duplicates=True)["games"] == 6
    with pytest.raises(EpdbError):
        epdb_chess.tally(games, tmp_path / "d.epa", by=["century"])  # type: ignore[list-item]
    with pytest.raises(EpdbError):
        epdb_chess.tally(games, tmp_path / "d.pgn")


def test_kept_games_have_a_limit(games: Path, tmp_path: Path) -> None:
    for number in (256, 1000, -1):
        with pytest.raises(EpdbError, match="at most 255"):
            epdb_chess.tally(games, tmp_path / "a.epdb", keep_games=number)
    epdb_chess.tally(games, tmp_path / "a.epdb", keep_games=255)


def test_search(games: Path) -> None:
    found = epdb_chess.search(games, "ply == 2", limit=1)
    assert found["games"] == found["wins"] + found["draws"] + found["losses"] + found["unknown"]
    assert (found["of"], len(found["matches"]), found["matches"][0]["ply"]) == ("games", 1, 2)
    own = epdb_chess.search([games, games], "plies > 0", players=["Ada"], side="white")
    assert (own["side"], own["games"]) == ("player", 2)
    for wrong in ["!check", "pieces ="]:
        with pytest.raises(EpdbError):
            epdb_chess.search(games, wrong)


def test_report(tmp_path: Path) -> None:
    path = tmp_path / "wac.epd"
    path.write_text(samples.ANSWERS)
    report = epdb_chess.report(path, names=["engine"], html=tmp_path / "page.html")
    assert report["report"]["problems"] == 2
    assert report["runs"][0]["run"] == "engine"
    assert report["runs"][0]["solved"] == 1
    assert len(report["problems"]) == 2
    assert "<html" in (tmp_path / "page.html").read_text()
    with pytest.raises(TypeError):
        epdb_chess.report(path, names=[])


def test_progress(tmp_path: Path) -> None:
    path = tmp_path / "many.fen"
    path.write_text((samples.START + "\n") * 1000)
    calls: list[tuple[int, int | None]] = []
    epdb_chess.normalize(path, tmp_path / "a.epd", progress=lambda *call: calls.append(call))
    assert calls[-1] == (path.stat().st_size, path.stat().st_size)


def test_no_part_of_a_file_replaces_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.epd"
    lines = 'k7/8/8/8/8/8/8/7K w - - id "a";\nnonsense\nk7/8/8/8/8/8/8/7K b - - id "b";\n'
    path.write_text(lines)
    for some in ({"on_error": "skip"}, {"where": "stm == 'w'"}):
        with pytest.raises(EpdbError, match="force=True"):
            epdb_chess.convert(path, str(path), **some)  # type: ignore[arg-type]
        assert path.read_text() == lines
    assert epdb_chess.convert(path, path, on_error="skip", force=True).records == 2
    assert epdb_chess.convert(path, path).records == 2


def test_an_empty_column_has_any_type(tmp_path: Path) -> None:
    frame = epdb_chess.scan(b'k7/8/8/8/8/8/8/7K w - - id "a";\n').to_pandas()
    frame["operations"] = float("nan")
    assert epdb_chess.convert(frame, tmp_path / "a.epd").records == 1
