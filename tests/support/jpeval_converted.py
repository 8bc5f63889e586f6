"""Files of llm-jp-eval converted from the real raw files, once for all tests. A pytest plugin."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pfgen_rs.llm_jp_eval import Conversion, convert


@pytest.fixture(scope="session")
def jpeval_raw(jpeval_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The real raw files, with stand-ins for the two train files of JGLUE that could not be had."""
    folder = tmp_path_factory.mktemp("jpeval-raw") / "raw"
    shutil.copytree(jpeval_dir / "raw", folder)
    for task in ("jnli", "jsquad"):
        stand_in = folder / f"yahoojapan+JGLUE/datasets/{task}-v1.3/test-v1.3.json.xz"
        stand_in.rename(folder / f"{task}_train.json.xz")
    return folder


@pytest.fixture(scope="session")
def jpeval_conversion(jpeval_raw: Path, tmp_path_factory: pytest.TempPathFactory) -> Conversion:
    """All tasks, converted from the real raw files."""
    return convert(jpeval_raw, tmp_path_factory.mktemp("jpeval") / "data")


@pytest.fixture(scope="session")
def jpeval_converted(jpeval_conversion: Conversion) -> Path:
    """The folder with `evaluation/` and `tuning/` of all tasks."""
    return jpeval_conversion.folder


@pytest.fixture(scope="session")
def jpeval_mini(jpeval_dir: Path) -> Path:
    """The made-up data: `raw_files/`, and `evaluation/` and `tuning/` as the reference made them."""
    return jpeval_dir / "golden" / "mini"
