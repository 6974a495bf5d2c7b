"""The stub has the documentation of the module, because editors show only the stub."""

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import epdb_chess
from epdb_chess import _native

STUB = Path(epdb_chess.__file__).with_name("_native.pyi")


def documented(body: list[ast.stmt], owner: Any, path: str) -> Iterator[tuple[str, str | None, str | None]]:
    """The name, the documentation in the stub and the documentation in the module of each function and class."""
    for node in body:
        if not isinstance(node, ast.FunctionDef | ast.ClassDef) or not hasattr(owner, node.name):
            continue
        is_special = node.name.startswith("__")
        if not is_special:
            found = inspect.getattr_static(owner, node.name)
            doc = getattr(getattr(found, "__func__", found), "__doc__", None)
            yield f"{path}{node.name}", ast.get_docstring(node), doc and inspect.cleandoc(doc)
        if isinstance(node, ast.ClassDef):
            yield from documented(node.body, getattr(owner, node.name), f"{node.name}.")


def test_stubs_are_documented() -> None:
    docs: dict[str, set[tuple[str | None, str | None]]] = {}
    for name, stub, module in documented(ast.parse(STUB.read_text()).body, _native, ""):
        docs.setdefault(name, set()).add((stub, module))
    assert len(docs) > 70
    for name, found in docs.items():
        # Of several signatures, the first one has the documentation.
        stubs = {stub for stub, _ in found if stub}
        modules = {module for _, module in found if module}
        assert stubs == modules, name
