"""Columns in, columns out: lookups of tables, tables as sources, and Parquet by columns."""

import io
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import epdb_chess
import pytest
import samples
from epdb_chess import EpdbError

pa = pytest.importorskip("pyarrow")
pl = pytest.importorskip("polars")
pq = pytest.importorskip("pyarrow.parquet")

pytestmark = pytest.mark.filterwarnings("ignore:W-POS-ILLEGAL")


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """Records with scores, mates, depths and texts, in no order."""
    random, lines = Random(7), []
    for number in range(3000):
        squares = random.sample(range(64), 3)
        board = ["."] * 64
        for square, piece in zip(squares, "KkQ", strict=True):
            board[square] = piece
        rows = ["".join(board[start : start + 8]) for start in range(0, 64, 8)]
        for run in range(8, 0, -1):
            rows = [row.replace("." * run, str(run)) for row in rows]
        operations = []
        if number % 3:
            operations.append(f"ce {random.choice([random.randrange(-900, 900), 32000 + random.randrange(1, 700)])};")
        if number % 5 == 0:
            operations.append(f"acd {number % 40}; acn {number * 100};")
        if number % 7 == 0:
            operations.append(f'id "n{number % 11}";')
        counters = f" {number % 50} {number % 90 + 1}" if number % 2 else ""
        lines.append(f"{'/'.join(rows)} {random.choice('wb')} - -{counters} {' '.join(operations)}")
    path = tmp_path / "many.epd"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_one_type_a_column(many: Path, games: Path, tmp_path: Path) -> None:
    for rows, source in [("records", many), ("games", games)]:
        table = epdb_chess.scan(source, rows=rows, columns="all").to_arrow()  # type: ignore[arg-type]
        assert not any(pa.types.is_map(field.type) for field in table.schema)
        path = tmp_path / f"{rows}.parquet"
        epdb_chess.convert(source, path, schema=rows)  # type: ignore[arg-type]
        stored = pq.read_table(path)
        in_memory = epdb_chess.scan(source, rows=rows, score_view=view(rows)).to_arrow()  # type: ignore[arg-type]
        for field in in_memory.schema:
            kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
            other = stored.schema.field(field.name).type
            assert kind == (other.value_type if pa.types.is_dictionary(other) else other), field.name
    keys = epdb_chess.scan(many, columns=["key", "polyglot_key", "white_kings"]).to_arrow()
    assert {str(field.type) for field in keys.schema} == {"uint64"}
    assert keys["polyglot_key"].null_count == 0
    joined = pl.DataFrame(keys).join(pl.read_parquet(tmp_path / "records.parquet"), on="key")
    assert joined.height >= keys.num_rows
    assert joined["key"].dtype == pl.UInt64


def plain(scan: Any) -> Any:
    """The rows of a scan or a table, without dictionaries, which may have unused entries."""
    table = pa.table(scan)
    kinds = [field.type.value_type if pa.types.is_dictionary(field.type) else field.type for field in table.schema]
    return table.cast(pa.schema(list(zip(table.column_names, kinds, strict=True))))


def view(rows: str) -> Any:
    return "white" if rows == "games" else "mover"


EXPRESSIONS = [
    "ce > 300",
    "ce >= 32001",
    "ce < -100 or ce > 100 && acd >= 20",
    "has(ce)",
    "!has(ce)",
    "acn >= 100000",
    "acd == 5",
    "acd ~ '3'",
    "id == 'n3'",
    "id in ['n1', 'n2'] && ce > 0",
    "key < '1000000000000000'",
    "ply > 20",
    "stm == 'b' && ce > 0",
    "hmvc > 5",
    "pieces == 3 && check",
    "fmvn in [3, 5] || has(id)",
    "abs(ce) + 1 > 500",
    "bm == 'e4'",
    "legal_moves > 20",
]


def test_columns_and_records_agree(many: Path, tmp_path: Path) -> None:
    path = tmp_path / "many.parquet"
    epdb_chess.convert(many, path)
    foreign = tmp_path / "foreign.parquet"
    pl.read_parquet(path).write_parquet(foreign)
    for columns in [None, "all", ["key", "fen"], ["cp"], [], ["pieces", "ce", "id"]]:
        for where in [None, *EXPRESSIONS]:
            wanted = epdb_chess.scan(many, columns=columns, where=where)
            found = epdb_chess.scan(path, columns=columns, where=where)
            assert plain(found).equals(plain(wanted)), (columns, where)
            assert found.report().left_out == wanted.report().left_out, (columns, where)
    for where in EXPRESSIONS:
        assert epdb_chess.scan(foreign, where=where).count() == epdb_chess.scan(many, where=where).count()


def test_tables_of_tables_are_the_same(many: Path, games: Path, tmp_path: Path) -> None:
    for source, schema in [(many, "records"), (games, "records"), (games, "games")]:
        first, second = tmp_path / f"{schema}1.parquet", tmp_path / f"{schema}2.parquet"
        epdb_chess.convert(source, first, schema=schema, force=True)  # type: ignore[arg-type]
        epdb_chess.convert(first, second, schema=schema, force=True)  # type: ignore[arg-type]
        assert pq.read_table(first).equals(pq.read_table(second)), (source, schema)
        rows: Any = schema
        scanned = [epdb_chess.scan(path, rows=rows, score_view=view(schema)) for path in (first, source)]
        assert plain(scanned[0]).equals(plain(scanned[1]))


def test_lookups_of_tables(many: Path, tmp_path: Path) -> None:
    library = tmp_path / "many.epa"
    epdb_chess.pack(many, library)
    fens = epdb_chess.scan(many, columns=["fen", "board"]).to_arrow()
    strange = [samples.START, *fens["fen"].to_pylist()[::7], samples.AFTER_E4]
    with epdb_chess.open(library) as lib:
        wanted = [lib[fen] for fen in strange]
        asked: list[Any] = [
            pa.array(strange),
            pa.chunked_array([strange[:5], strange[5:]]),
            pl.Series(strange),
            pl.DataFrame({"fen": strange, "other": strange}),
            pl.LazyFrame({"fen": strange}),
            pa.table({"fen": strange}),
            strange,
        ]
        for table in asked:
            rows = lib.lookup(table, columns=["fen", "ce", "pieces"]).to_arrow()
            assert rows.column_names == ["query", "matches", "fen", "ce", "pieces"]
            assert rows["query"].to_pylist() == list(range(len(strange)))
            assert rows["matches"].to_pylist() == [len(found) for found in wanted]
            firsts = [found[0].get("ce") if found else None for found in wanted]
            assert rows["ce"].to_pylist() == firsts
        every = lib.lookup(pl.DataFrame({"q": strange}), "q", all=True, columns=["key"]).to_polars()
        keys = [(place, record.key) for place, found in enumerate(wanted) for record in found]
        assert list(every.select("query", "key").iter_rows()) == keys
        boards = lib.lookup(fens, "board").to_arrow()
        assert boards["matches"].to_pylist() == lib.lookup(fens).to_arrow()["matches"].to_pylist()
        # The rows are made once.
        answers = lib.lookup(fens)
        assert sum(len(batch) for batch in answers) == fens.num_rows
        with pytest.raises(EpdbError, match="read before"):
            pa.table(answers)


def test_faults_of_lookups(suite: Path) -> None:
    with epdb_chess.open(suite) as lib:
        fens = pa.array([samples.START, "no position", None])
        rows = lib.lookup(fens, on_error="null").to_arrow()
        assert rows["matches"].to_pylist() == [0, 0, 0]
        assert [text is None for text in rows["error"].to_pylist()] == [True, False, False]
        with pytest.raises(EpdbError, match="row 1"):
            lib.lookup(fens).to_arrow()
        with pytest.raises(EpdbError, match="not a position"):
            lib.lookup(pa.array([1, 2], pa.uint64())).to_arrow()
        with pytest.raises(KeyError):
            lib.lookup(pa.table({"fen": fens}), "other")
        with pytest.raises(EpdbError, match="on="):
            lib.lookup(pa.table({"a": fens, "b": fens})).to_arrow()
        with pytest.raises(TypeError):
            lib.lookup(7)  # type: ignore[arg-type]


def test_explorations_of_tables(games: Path, tmp_path: Path) -> None:
    library = tmp_path / "a.epa"
    epdb_chess.tally(games, library)
    fens = [samples.AFTER_E4, samples.START, "8/8/8/4k3/8/1K6/8/8 b - - 0 1", samples.START]
    with epdb_chess.open(library) as lib:
        for children in (False, True):
            rows = lib.explore(pa.array(fens), children=children).to_arrow().to_pylist()
            assert lib.explore(fens, children=children).to_arrow().to_pylist() == rows
            wanted = []
            for query, fen in enumerate(fens):
                explored = lib.explore(fen)
                for move in explored.moves if explored else []:
                    reached = {"reached": move.reached, "ce": move.ce} if children else {}
                    wanted.append((query, str(move.move), move.white, move.draws, move.black, reached))
            found = [
                (row["query"], row["uci"], row["white"], row["draws"], row["black"],
                 {"reached": row["reached"], "ce": row["ce"]} if children else {})
                for row in rows
            ]
            assert found == wanted
            assert len(found) == 6
            # The first position: Black lost one game after 1... e5, and won the other after 1... c5.
            counts = [(row["uci"], row["games"], row["score"]) for row in rows if row["query"] == 0]
            assert sorted(counts) == [("c7c5", 1, 0.0), ("e7e5", 1, 1.0)]
        with pytest.raises(EpdbError, match="children"):
            lib.explore(pa.array(fens), sort="reached")


def test_tables_are_sources(suite: Path, games: Path, tmp_path: Path) -> None:
    records = list(epdb_chess.read(suite))
    table = epdb_chess.scan(suite).to_arrow()
    assert list(epdb_chess.read(table)) == records
    assert epdb_chess.pack(table, tmp_path / "a.epa").records == 4
    epdb_chess.convert(pl.DataFrame(table), tmp_path / "a.epd")
    assert list(epdb_chess.read(tmp_path / "a.epd")) == records
    counts = epdb_chess.tally(epdb_chess.scan(games, rows="games").to_arrow(), tmp_path / "g.epa")
    assert counts["games"] == 3
    with epdb_chess.open(table) as lib:
        assert lib.one(records[0]) == records[0]
        assert list(lib) == records
    fens = pl.DataFrame({"position": [record.fen for record in records], "ce": ["a", "b", "c", "d"]})
    scanned = epdb_chess.scan(fens, on="position", columns=["key", "board", "pieces"]).to_arrow()
    assert scanned["key"].to_pylist() == [record.key for record in records]
    boards = scanned["board"]
    assert epdb_chess.scan(boards, columns=["pieces"]).to_arrow()["pieces"] == scanned["pieces"]
    assert len(epdb_chess.from_arrow(boards)) == 4
    with pytest.raises(EpdbError) as error:
        epdb_chess.scan(pa.array([samples.START, "none"]), columns=["key"]).to_arrow()
    assert error.value.line == 2 or "row 2" in str(error.value)


@pytest.mark.parametrize("form", ["table", "column", "chunks", "batch", "stream", "polars", "series", "lazy", "on"])
def test_rows_without_a_position_are_left_out_and_named(form: str) -> None:
    fens = [samples.START, "no position", samples.AFTER_E4, None, "8/8;/8 w - -", "8/8 w - -\n"]
    table = pa.table({"fen": fens})
    made: dict[str, Callable[[], Any]] = {
        "table": lambda: table,
        "column": lambda: pa.array(fens),
        "chunks": lambda: pa.chunked_array([fens[:2], fens[2:]]),
        "batch": lambda: table.to_batches()[0],
        "stream": table.to_reader,
        "polars": lambda: pl.DataFrame({"fen": fens}),
        "series": lambda: pl.Series(fens),
        "lazy": lambda: pl.DataFrame({"fen": fens}).lazy(),
        "on": lambda: pa.table({"position": fens, "ce": ["a"] * 6}),
    }
    on = "position" if form == "on" else None
    for where, lines in [(None, [1, 3]), ("stm == 'b'", [3])]:
        scan = epdb_chess.scan(made[form](), on=on, columns=["key", "line"], where=where, on_error="skip")
        assert scan.to_arrow()["line"].to_pylist() == lines
        report = scan.report()
        assert (report.rows, report.rejected, sum(report.errors.values())) == (len(lines), 4, 4)
        assert any(text.startswith("table:2:1: ") for text in report.first.values()), report.first
    with pytest.raises(EpdbError, match="^table:2:1: .*row 2, column `fen`: `no position`") as error:
        epdb_chess.scan(made[form](), on=on, columns=["key"]).to_arrow()
    assert (error.value.line, error.value.file) == (2, "table")
    if form != "on":
        reader = epdb_chess.read(made[form](), on_error="skip")
        assert len(list(reader)) == 2
        assert [rejected.error.line for rejected in reader.rejected] == [2, 4, 5, 6]
        assert all("/" not in str(rejected.error).split(":")[0] for rejected in reader.rejected)


def test_messages_name_what_was_given(tmp_path: Path) -> None:
    text = b"no position\n"
    (tmp_path / "suite.epd").write_bytes(text)
    with (tmp_path / "suite.epd").open("rb") as file:
        given = {"bytes": text, "file": io.BytesIO(text), "suite.epd": file}
        for name, value in given.items():
            with pytest.raises(EpdbError, match=f"^{name}:1:1: "):
                list(epdb_chess.read(value))
            assert "epdb-python" not in repr(epdb_chess.scan(value))


def test_sources(suite: Path, games: Path, tmp_path: Path) -> None:
    text = suite.read_bytes()
    folder = tmp_path / "folder"
    (folder / "a" / "b").mkdir(parents=True)
    for name in ["x.epd", "a/y.epd", "a/b/z.epd"]:
        (folder / name).write_bytes(text)
    (folder / "notes.txt.bak").write_text("not chess")
    cases: list[tuple[Any, int]] = [
        (text, 4),
        (io.BytesIO(text), 4),
        (io.StringIO(text.decode()), 4),
        (games.read_bytes(), 15),
        ([text, suite, str(suite)], 12),
        (folder, 12),
        (str(folder / "**" / "*.epd"), 12),
        (str(folder / "a" / "*.epd"), 4),
    ]
    for source, rows in cases:
        assert epdb_chess.scan(source).count() == rows, source
        assert len(list(epdb_chess.read(source))) == rows, source
    with suite.open("rb") as file:
        assert epdb_chess.scan(file).count() == 4
    absent: list[Any] = [str(folder / "*.pgn"), tmp_path / "folder" / "none"]
    for missing in absent:
        with pytest.raises(EpdbError):
            epdb_chess.scan(missing).count()


def test_scans_and_libraries_pickle(suite: Path, tmp_path: Path) -> None:
    scan = epdb_chess.scan(suite, columns=["fen", "ce"], profile="lenient").filter("pieces > 3").head(2)
    again = pickle.loads(pickle.dumps(scan))
    assert again.to_arrow().equals(scan.to_arrow())
    with pytest.raises(TypeError):
        pickle.dumps(epdb_chess.scan(suite.read_bytes()))
    library = tmp_path / "a.epa"
    epdb_chess.pack(suite, library)
    with epdb_chess.open(library) as lib:
        assert list(pickle.loads(pickle.dumps(lib))) == list(lib)


def test_progress(suite: Path) -> None:
    size = suite.stat().st_size
    ways: list[Any] = [
        lambda calls: epdb_chess.scan(suite, progress=calls).to_arrow(),
        lambda calls: list(epdb_chess.read(suite, progress=calls)),
        lambda calls: epdb_chess.open(suite, progress=calls),
    ]
    for read in ways:
        seen: list[tuple[int, int | None]] = []
        read(lambda done, total, seen=seen: seen.append((done, total)))
        assert seen
        assert seen[-1] == (size, size)

    def fail(done: int, total: int | None) -> None:
        raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        epdb_chess.scan(suite, progress=fail).count()


def test_notebooks(suite: Path, games: Path, tmp_path: Path) -> None:
    record = epdb_chess.Record(samples.START)
    assert record._repr_html_().count("<td") == 64
    assert "♔" in record._repr_html_()
    with epdb_chess.open(games) as lib:
        explored = lib.explore(samples.START)
        assert explored is not None
        assert explored._repr_html_().count("<tr>") == 1 + len(explored.moves)
    assert epdb_chess.__version__.count(".") == 2


def test_keys_are_unsigned_in_parquet(many: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    epdb_chess.convert(many, path)
    key = pq.ParquetFile(path).schema.column(1)
    assert key.name == "key"
    assert json.loads(key.logical_type.to_json())["isSigned"] is False


@pytest.mark.parametrize("columns", [None, ["fen", "result"], ["fen", "result", "operations"]])
def test_results_of_games_become_records(columns: list[str] | None, games: Path, tmp_path: Path) -> None:
    table = epdb_chess.scan(games, columns=columns).to_arrow()
    results = ["1-0"] * 7 + ["0-1"] * 5 + ["1/2-1/2"] * 3
    assert [record["c9"] for record in epdb_chess.from_arrow(table)] == results
    epdb_chess.convert(table, tmp_path / "a.epd")
    assert [record["c9"] for record in epdb_chess.read(tmp_path / "a.epd")] == results
    # And again.
    again = epdb_chess.scan(tmp_path / "a.epd", columns=columns).to_arrow()
    assert again["result"] == table["result"]
    if "operations" in table.column_names:
        assert again["operations"] == table["operations"]


def test_results_in_records_stay_where_they_are(tmp_path: Path) -> None:
    path = tmp_path / "a.epd"
    operations = ['c9 "1-0";', 'c0 "1-0";', 'c9 "1-0"; c1 "x";', 'ptp Result "0-1";', 'c9 "1-0"; ptp Result "0-1";', 'c9 "*";', ""]
    path.write_text("".join(f"{samples.START} {one}\n" for one in operations))
    records = list(epdb_chess.read(path))
    assert len(records) == 7
    for columns in (None, "all"):
        assert epdb_chess.from_arrow(epdb_chess.scan(path, columns=columns)) == records  # type: ignore[arg-type]
    epdb_chess.convert(path, tmp_path / "a.parquet")
    assert list(epdb_chess.read(tmp_path / "a.parquet")) == records


def test_whole_fields_are_integers(games: Path) -> None:
    whole = ["pieces", "legal_moves", "balance", "repetition", "line", "year", "plies", "eval", "ce:white"]
    table = epdb_chess.scan(games, columns=[*whole, "WhiteElo", "clock", "elo_avg"]).to_arrow()
    assert [field.type for field in table.schema] == [pa.int64()] * len(whole) + [pa.float64()] * 3
    assert table["pieces"][0].as_py() == 32 and table["legal_moves"][0].as_py() == 20


def test_pandas(suite: Path) -> None:
    pd = pytest.importorskip("pandas")
    scan = epdb_chess.scan(suite, columns=["id", "key", "pieces"])
    frame = scan.to_pandas()
    assert list(frame.columns) == ["id", "key", "pieces"] and len(frame) == 4
    assert frame.equals(pd.DataFrame.from_arrow(scan))
    with pytest.raises(TypeError, match="to_pandas"):
        pd.DataFrame(scan)
    with epdb_chess.open(suite) as lib:
        assert list(lib.lookup(scan.select(["fen"]), columns=["id"]).to_pandas()["id"]) == list(frame["id"])
    for batch in scan:
        assert pa.table(batch) == scan.to_arrow()
        assert pa.record_batch(batch).num_rows == 4


def test_a_side_may_be_a_text(games: Path) -> None:
    for side in ("white", "black"):
        tests = [f"passed({side})", f"passed('{side}')"]
        assert len({epdb_chess.scan(games, where=test).count() for test in tests}) == 1
