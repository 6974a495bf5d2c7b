"""The language of `where` and the columns of all tables are in the package, as the program and `formats/` have them."""

import inspect
from pathlib import Path

import epdb_chess
import pages
import pytest
from epdb_chess import EpdbError, _native


def test_columns_are_those_of_the_page() -> None:
    assert Path(epdb_chess.columns.__file__).read_text() == pages.columns()


def test_expressions_are_those_of_the_page() -> None:
    if not pages.PROGRAM.exists():
        pytest.skip("the program is not built")
    assert Path(epdb_chess.where.__file__).read_text() == pages.where()


def test_each_column_is_described(suite: Path) -> None:
    doc = epdb_chess.columns.__doc__ or ""
    for rows in ("records", "games", "moves"):
        for name in epdb_chess.scan(suite, rows=rows, columns="all").schema.names:
            is_described = f"`{name}`" in doc or f"  {name} " in doc
            assert is_described or name.startswith("black_"), name


def test_help_names_nothing_outside_the_package(suite: Path) -> None:
    for _, value in inspect.getmembers(_native):
        members = [value, *vars(value).values()] if isinstance(value, type) else [value]
        for doc in (getattr(member, "__doc__", None) or "" for member in members):
            assert "epdb help" not in doc and "formats/" not in doc, doc
    for where in ["xyz == 2", "len(bm) == 2"]:
        with pytest.raises(EpdbError, match=r"help\(epdb_chess.where\)"):
            epdb_chess.scan(suite, where=where)
    with pytest.raises(EpdbError, match=r"help\(epdb_chess.where\)"):
        epdb_chess.scan(suite, columns=["xyz"])
