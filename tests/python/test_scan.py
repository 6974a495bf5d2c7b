"""Files as columns."""

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, Literal

import epdb_chess
import pytest
import samples
from epdb_chess import EpdbError

pa = pytest.importorskip("pyarrow")
pl = pytest.importorskip("polars")
pq = pytest.importorskip("pyarrow.parquet")


def test_schema_and_counts(suite: Path, games: Path) -> None:
    scan = epdb_chess.scan(suite)
    assert scan.schema.names[:3] == ["fen", "key", "cp"]
    assert epdb_chess.scan(suite, columns="all").schema.names[:3] == ["fen", "board", "key"]
    assert len(scan.schema) == len(scan.schema.types)
    assert pa.schema(scan.schema).names == pa.schema(scan).names == scan.schema.names
    assert scan.count() == 4
    assert epdb_chess.scan([suite, suite]).count() == 8
    assert epdb_chess.scan(suite, where="ce > 0").count() == 1
    assert epdb_chess.scan(games).count() == 15
    assert epdb_chess.scan(games, rows="games").count() == 3


def test_arrow(suite: Path) -> None:
    scan = epdb_chess.scan(suite, columns=["id", "key", "cp", "bm"])
    # A stream can be taken several times.
    for table in [pa.table(scan), pa.table(scan), scan.to_arrow()]:
        assert table.column_names == ["id", "key", "cp", "bm"]
        assert table["id"].to_pylist() == ["WAC.001", "WAC.002", "WAC.003", "castling"]
        assert table["cp"].to_pylist() == [900, None, None, None]
        assert table["bm"].to_pylist()[3] == ["O-O", "O-O-O"]
        assert table["key"].to_pylist() == [record.key for record in epdb_chess.read(suite)]
    assert scan.head(2).to_arrow().num_rows == 2
    assert scan.head(0).to_arrow().schema == scan.to_arrow().schema
    batches = epdb_chess.scan(suite, batch_size=3)
    assert [len(batch) for batch in batches] == [3, 1]
    assert [len(batch) for batch in batches.head(2)] == [2]
    assert scan.select(["fen"]).to_arrow().column_names == ["fen"]
    assert scan.filter('id == "WAC.002"').filter("ce > 5").count() == 0


def test_positions_are_no_games(suite: Path, tmp_path: Path) -> None:
    epdb_chess.convert(suite, tmp_path / "a.parquet")
    for path in [suite, tmp_path / "a.parquet"]:
        for where in [None, "White == 'Ada'", "pieces < 3"]:
            with pytest.raises(EpdbError, match='has positions and no games: read the rows "records"'):
                epdb_chess.scan(path, rows="games", where=where).count()


def test_messages_name_arguments_of_python(tmp_path: Path) -> None:
    pq.write_table(pa.table({"fen": [samples.START], "cp": [3]}), tmp_path / "a.parquet")
    (tmp_path / "a.csv").write_text(f"FEN,Evaluation\n{samples.START},3\n")
    for name in ["a.parquet", "a.csv"]:
        with pytest.raises(EpdbError, match='give label_view="white" or label_view="mover"'):
            epdb_chess.scan(tmp_path / name).count()
        assert epdb_chess.scan(tmp_path / name, label_view="mover", where="ce == 3").count() == 1


def test_what_can_never_hold_is_refused(games: Path) -> None:
    for where in ["Result == 1", "speed == 'Blitz'", "castling == 'kqKQ'"]:
        with pytest.raises(EpdbError, match="never"):
            epdb_chess.scan(games, where=where)
    assert epdb_chess.scan(games, rows="games", where="Date >= '2021/01/01' and Date < '2022-01'").count() == 1


def test_a_reader_that_stops_early(tmp_path: Path) -> None:
    path = tmp_path / "many.fen"
    path.write_text((samples.START + "\n") * 50_000)
    scan = epdb_chess.scan(path, batch_size=100)
    reader = pa.RecordBatchReader.from_stream(scan)
    assert reader.read_next_batch().num_rows == 100
    del reader
    assert len(next(iter(scan))) == 100
    capsule = scan.__arrow_c_stream__()
    del capsule
    assert scan.count() == 50_000


def test_back_to_records(suite: Path) -> None:
    records = list(epdb_chess.read(suite))
    scan = epdb_chess.scan(suite)
    assert epdb_chess.from_arrow(scan) == records
    assert epdb_chess.from_arrow(scan.to_arrow()) == records
    frame = scan.to_polars().collect()
    assert epdb_chess.from_arrow(frame) == records
    boards = epdb_chess.from_arrow(epdb_chess.scan(suite, columns=["board", "id"]))
    assert [record["id"] for record in boards] == [record["id"] for record in records]
    with pytest.raises(EpdbError):
        epdb_chess.from_arrow(scan.to_arrow().select(["id"]))
    with pytest.raises(TypeError):
        epdb_chess.from_arrow([1, 2])


def test_polars(suite: Path, tmp_path: Path) -> None:
    path = tmp_path / "many.epd"
    lines = [f"4k3/8/8/8/8/8/8/4K3 w - - acs {n % 30}; ce {n % 200 - 100};\n" for n in range(5000)]
    path.write_text("".join(lines))
    scan = epdb_chess.scan(path, columns="all", batch_size=700)
    frame = scan.to_polars()
    whole = pl.DataFrame(scan)
    for query in [
        lambda it: it.filter(pl.col("ce") > 30).select("fen", "acs"),
        lambda it: it.filter((pl.col("ce") >= 30) & (pl.col("acs") < 10)).select("ce"),
        lambda it: it.filter((5 > pl.col("ce")) | (pl.col("acs") == 3)).select("ce", "acs"),
        lambda it: it.filter((pl.col("ce") == 7) & pl.col("fen").str.contains("4k3")),
        lambda it: it.filter(pl.col("ce") == pl.col("acs")).select("ce"),
        lambda it: it.filter(pl.col("ce") > 2.5).select("ce"),
        lambda it: it.filter(pl.col("acs").is_null()),
        lambda it: it.select("acs").head(1500),
        lambda it: it.filter(pl.col("acs") == 29).select("acs").head(3),
        lambda it: it.group_by("acs").agg(pl.col("ce").mean()).sort("acs"),
        lambda it: it.select("operations"),
        lambda it: it.filter(pl.col("ce") > 30).select("operations", "fen"),
    ]:
        assert query(frame).collect().equals(query(whole.lazy()).collect())
    assert scan.head(10).to_polars().filter(pl.col("acs") > 4).collect().height == 5


@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
@pytest.mark.parametrize("limit", [None, 150])
def test_polars_takes_rows_in_the_order_of_the_query(
    engine: Literal["in-memory", "streaming"], limit: int | None, tmp_path: Path
) -> None:
    path = tmp_path / "some.epd"
    lines = [f"4k3/8/8/8/8/8/8/4K3 w - - acs {n % 30}; ce {n % 50 - 20};\n" for n in range(600)]
    path.write_text("".join(lines))
    scan = epdb_chess.scan(path, columns=["fen", "acs", "ce"], batch_size=70)
    scan = scan if limit is None else scan.head(limit)
    whole = pl.DataFrame(scan)
    random = Random(1)

    def step() -> Callable[[Any], Any]:
        rows, start, bound = random.choice([0, 1, 40, 400]), random.randrange(90), random.randrange(-20, 30)
        return random.choice(
            [
                lambda it: it.head(rows),
                lambda it: it.tail(rows),
                lambda it: it.slice(start, rows),
                lambda it: it.filter(pl.col("ce") > bound),
                lambda it: it.filter((pl.col("ce") <= bound) | (pl.col("acs") == 3)),
                lambda it: it.filter(pl.col("acs").is_in([bound, 7])),
                lambda it: it.select("ce", "acs"),
            ]
        )

    chains = [[lambda it: it.head(1), lambda it: it.filter(pl.col("ce") > -20)]]
    chains += [[step() for _ in range(random.randrange(1, 5))] for _ in range(60)]
    for chain in chains:
        lazy, eager = scan.to_polars(), whole
        for apply in chain:
            lazy, eager = apply(lazy), apply(eager)
        assert lazy.collect(engine=engine).equals(eager)


def test_a_predicate_becomes_an_expression() -> None:
    from epdb_chess._frames import _expression

    assert _expression(pl.col("key") == 255) == "key == '00000000000000ff'"
    text = _expression((pl.col("ce") > 30) & (7 >= pl.col("acs")) & (pl.col("id") == "a"))
    assert text is not None
    assert "ce > 30" in text
    assert "acs <= 7" in text
    assert _expression(pl.col("ce").abs() > 30) is None
    assert _expression((pl.col("ce") > 30) | (pl.col("acs") > 3)) is None


def test_duckdb(suite: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    scan = epdb_chess.scan(suite, columns=["id", "cp"])
    query = "select count(*), sum(cp) from scan"
    assert duckdb.sql(query).fetchall() == [(4, 900)]
    assert duckdb.sql(query).fetchall() == [(4, 900)]


def test_moves_of_a_library(games: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.epa"
    epdb_chess.tally(games, path)
    table = epdb_chess.scan(path, rows="moves").to_arrow()
    rows = [row for row in table.to_pylist() if row["fen"].startswith("rnbqkbnr/pppppppp/8/8/8/8")]
    assert sorted((row["uci"], row["white"], row["draws"], row["black"]) for row in rows) == [
        ("d2d4", 0, 1, 0),
        ("e2e4", 1, 0, 1),
    ]


def test_scores_from_the_view_of_white(tmp_path: Path) -> None:
    path = tmp_path / "a.epd"
    path.write_text("4k3/8/8/8/8/8/8/4K3 b - - ce 50;\n")
    column = [epdb_chess.scan(path, score_view=view).to_arrow()["cp"] for view in ("mover", "white")]
    assert [values.to_pylist() for values in column] == [[50], [-50]]


def test_errors(tmp_path: Path, suite: Path) -> None:
    path = tmp_path / "bad.epd"
    path.write_text(samples.START + "\nno position\n")
    scan = epdb_chess.scan(path)
    with pytest.raises(EpdbError) as error:
        scan.count()
    assert (error.value.file, error.value.line) == (str(path), 2)
    with pytest.raises(EpdbError):
        scan.to_arrow()
    with pytest.raises(Exception, match="bad.epd:2"):
        pa.table(scan)
    assert epdb_chess.scan(path, on_error="skip").count() == 1
    with pytest.raises(EpdbError):
        epdb_chess.scan(suite, columns=["no such column"])
    with pytest.raises(EpdbError, match="list of names"):
        epdb_chess.scan(suite, columns="fen")  # type: ignore[arg-type]
    with pytest.raises(EpdbError):
        epdb_chess.scan(suite, where="ce >")
    with pytest.raises(EpdbError):
        epdb_chess.scan(suite, rows="squares")  # type: ignore[arg-type]
    with pytest.raises(FileNotFoundError):
        epdb_chess.scan(tmp_path / "none.epd").count()


def test_fields_are_an_expression_of_polars() -> None:
    boards = [samples.START, None, samples.AFTER_E4, samples.START]
    frame = pl.DataFrame({"position": boards, "n": [1, 2, 3, 4]})
    columns = ["key", "pieces", "material"]
    scanned = epdb_chess.scan(frame.drop_nulls(), on="position", columns=columns).to_polars()
    struct = epdb_chess.fields("position", columns).struct.unnest()
    for found in [frame.select(struct), frame.lazy().select(struct).collect()]:
        assert found.drop_nulls().equals(scanned.collect())
        assert found["pieces"].to_list() == [32, None, 32, 32]
    lazy = frame.lazy().filter(epdb_chess.fields(pl.col("position"), ["legal_moves"]) == 20)
    assert lazy.collect()["n"].to_list() == [1, 3, 4]
    packed = pl.DataFrame(epdb_chess.scan(frame.drop_nulls(), on="position", columns=["board"]))
    keys = packed.select(epdb_chess.fields("board", ["key"]))["board"]
    assert keys.to_list() == scanned.collect()["key"].to_list()
    assert frame.head(0).select(struct).schema == scanned.collect_schema()
    with pytest.raises(Exception, match="no fen"):
        pl.DataFrame({"position": ["no fen"]}).select(epdb_chess.fields("position", ["key"]))
