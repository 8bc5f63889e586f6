"""Files of llm-jp-eval converted from the real raw files, once for all tests. A pytest plugin."""

from __future__ import annotations

from pathlib import Path

import pytest

from pfgen_rs.llm_jp_eval import Conversion, convert


@pytest.fixture(scope="session")
def jpeval_conversion(jpeval_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Conversion:
    """All tasks, converted from the real raw files; with stand-ins for two train files of JGLUE."""
    return convert(jpeval_dir / "raw", tmp_path_factory.mktemp("jpeval") / "data")


@pytest.fixture(scope="session")
def jpeval_converted(jpeval_conversion: Conversion) -> Path:
    """The folder with `evaluation/` and `tuning/` of all tasks."""
    return jpeval_conversion.folder


@pytest.fixture(scope="session")
def jpeval_mini(jpeval_dir: Path) -> Path:
    """The made-up data: `raw_files/`, and `evaluation/` and `tuning/` as the reference made them."""
    return jpeval_dir / "golden" / "mini"
