"""The examples of the README of the package run."""

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import samples

README = Path(__file__).parents[2] / "src" / "python" / "README.md"
EXAMPLES = re.findall(r"\n(?:### ([^\n]*)\n\n)?```python\n(.*?)```", README.read_text(), re.DOTALL)


def test_there_are_examples() -> None:
    assert len(EXAMPLES) == 17


@pytest.mark.parametrize(("title", "code"), EXAMPLES, ids=[title or "first" for title, _ in EXAMPLES])
def test_example(title: str, code: str, tmp_path: Path) -> None:
    for module in re.findall(r"^(?:import|from) (\w+)", code, re.MULTILINE):
        if find_spec(module) is None:
            pytest.skip(f"{module} is not installed")
    (tmp_path / "suite.epd").write_text(samples.SUITE)
    (tmp_path / "evaluations.epd").write_text(samples.ANSWERS)
    (tmp_path / "games.pgn").write_text(samples.GAMES)
    environment = {
        **os.environ,
        "MPLBACKEND": "agg",
        "PYTHONWARNINGS": "error::UserWarning",
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    run = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert run.returncode == 0, run.stderr
    # Spark reports its start there.
    assert run.stderr == "" or "pyspark" in code
