"""Scans as tables of other packages, which are imported when they are needed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from . import _native

if TYPE_CHECKING:
    import polars as pl

    from ._native import Answers, Scan

# Columns of integers that are fields of `where` with the same value.
INTEGER_FIELDS = frozenset(["acn", "acs", "ce", "dm", "fmvn", "hmvc", "ply"])
_COMPARISONS = {"Eq": "==", "Gt": ">", "GtEq": ">=", "Lt": "<", "LtEq": "<="}
_MIRRORED = {"Eq": "Eq", "Gt": "Lt", "GtEq": "LtEq", "Lt": "Gt", "LtEq": "GtEq"}


def to_arrow(scan: Scan | Answers) -> Any:
    import pyarrow as pa  # type: ignore[import-untyped]

    # Batch by batch, so that signals are handled between batches. `pa.table` would import pandas, if it is there.
    schema = pa.schema(scan.schema)
    tables = [pa.RecordBatchReader.from_stream(batch).read_all() for batch in scan]
    return pa.concat_tables(tables) if tables else schema.empty_table()


def to_pandas(scan: Scan | Answers) -> Any:
    return to_arrow(scan).to_pandas()


def fields(fen: str | pl.Expr, columns: Sequence[str]) -> pl.Expr:
    """Chess columns of a column with FENs or packed boards, as an expression of polars.

    `columns` are as in `scan`. One column is the value of the expression; several are the fields of a struct. A null
    has nulls. A position that cannot be read raises an `EpdbError`. Needs the package polars.
    """
    import polars as pl

    def values(positions: pl.Series) -> pl.Series:
        table = positions.drop_nulls().alias("fen").to_frame()
        rows = pl.DataFrame(_native.scan(table, on="fen", columns=columns))
        found = rows.to_struct() if len(columns) > 1 else rows.to_series()
        is_there = positions.is_not_null()
        if not is_there.all():
            places = pl.select(pl.when(is_there).then(is_there.cum_sum() - 1)).to_series()
            found = found.gather(places)
        return found.alias(positions.name)

    none = values(pl.Series("fen", [], pl.String))
    column = pl.col(fen) if isinstance(fen, str) else fen
    return column.map_batches(values, return_dtype=none.dtype, is_elementwise=True)


def to_polars(scan: Scan) -> pl.LazyFrame:
    import polars as pl
    from polars.io.plugins import register_io_source

    def read(
        with_columns: list[str] | None,
        predicate: pl.Expr | None,
        n_rows: int | None,
        batch_size: int | None,
    ) -> Iterator[pl.DataFrame]:
        columns = with_columns
        if columns is not None and predicate is not None:
            columns = list(dict.fromkeys([*columns, *predicate.meta.root_names()]))
        # It has what the other columns of its table do not have, so it is read with all of them.
        if columns is not None and "operations" in columns:
            columns = None
        # With a number of rows, polars wants the first rows of the scan, and filters those.
        where = _expression(predicate) if predicate is not None and n_rows is None else None
        try:
            part = scan._part(columns, where, n_rows)
        except ValueError:
            # A scan with a limit has no filter.
            part = scan._part(columns, None, n_rows)
        for batch in part:
            frame = pl.DataFrame(batch)
            if predicate is not None:
                frame = frame.filter(predicate)
            if with_columns is not None:
                frame = frame.select(with_columns)
            yield frame

    schema = pl.DataFrame(scan.head(0)).schema
    return register_io_source(read, schema=schema)


def _expression(predicate: pl.Expr) -> str | None:
    """The part of a predicate that `where` can say; rows for which it does not hold are not needed."""
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = json.loads(predicate.meta.serialize(format="json"))
    except Exception:
        # The form of expressions belongs to polars; without it, all rows are read.
        return None
    return _conjunction(tree)


def _conjunction(tree: Any) -> str | None:
    binary = tree.get("BinaryExpr") if isinstance(tree, dict) else None
    if not isinstance(binary, dict):
        return None
    left, operator, right = binary.get("left"), binary.get("op"), binary.get("right")
    if operator in ("And", "LogicalAnd"):
        parts = [part for part in (_conjunction(left), _conjunction(right)) if part is not None]
        return " && ".join(f"({part})" for part in parts) or None
    for column, value, comparison in (
        (left, right, operator),
        (right, left, _MIRRORED.get(str(operator))),
    ):
        name = column.get("Column") if isinstance(column, dict) else None
        number = _integer(value)
        if number is None or comparison not in _COMPARISONS:
            continue
        if name in INTEGER_FIELDS:
            return f"{name} {_COMPARISONS[comparison]} {number}"
        if name == "key" and 0 <= number < 2**64:
            return f"key {_COMPARISONS[comparison]} '{number:016x}'"
    return None


def _integer(tree: Any) -> int | None:
    """The value of an integer literal, in any form that polars gives it."""
    if not isinstance(tree, dict) or "Literal" not in tree:
        return None
    value = tree["Literal"]
    while isinstance(value, dict) and len(value) == 1:
        value = next(iter(value.values()))
    return value if isinstance(value, int) and not isinstance(value, bool) else None
