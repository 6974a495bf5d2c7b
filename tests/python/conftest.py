"""Samples in a temporary folder."""

from pathlib import Path

import pytest
import samples


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    path = tmp_path / "suite.epd"
    path.write_text(samples.SUITE)
    return path


@pytest.fixture
def games(tmp_path: Path) -> Path:
    path = tmp_path / "games.pgn"
    path.write_text(samples.GAMES)
    return path
