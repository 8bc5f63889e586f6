"""What tests of files share."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers import write_benchmark


@pytest.fixture
def bench(tmp_path: Path) -> Path:
    """The folder of a tiny benchmark."""
    return write_benchmark(tmp_path / "bench")
