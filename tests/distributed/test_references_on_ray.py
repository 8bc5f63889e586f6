"""Building on Ray: the files of a build on one machine, and a worker that dies."""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from builds import IDS, ROWS, files, prepare
from pfgen_rs.errors import BuildError, ConfigError, InputError
from pfgen_rs.references.candidates import Input
from pfgen_rs.references.config import BuildConfig
from pfgen_rs.references.on_ray import build_on_ray
from pfgen_rs.references.pipeline import build
from pfgen_rs.references.selection import Select

ray: Any = pytest.importorskip("ray")
data: Any = pytest.importorskip("ray.data")
pytestmark = pytest.mark.filterwarnings("ignore")  # those of Ray and of what it closes late


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    ray.init(num_cpus=2, object_store_memory=1 << 30, include_dashboard=False, log_to_driver=False)
    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers do not have the tests
    yield
    ray.shutdown()


def dataset(rows: Sequence[Mapping[str, Any]], blocks: int = 5) -> Any:
    """Candidates in any order."""
    shuffled = random.Random(blocks).sample(rows, len(rows))
    return data.from_items(shuffled, override_num_blocks=blocks)


@pytest.fixture
def prepared(tmp_path: Path) -> BuildConfig:
    return prepare(tmp_path)


def built_here(config: BuildConfig) -> tuple[dict[str, bytes], list[Input]]:
    built = build(config.with_changes(out="here"))
    return files(built.folder), built.inputs


def test_the_bytes_of_one_machine(prepared: BuildConfig) -> None:
    prepared = prepared.with_changes(name="one set")
    expected, inputs = built_here(prepared)
    for blocks in (1, 7):
        built = build_on_ray(dataset(ROWS, blocks), prepared, inputs=inputs)
        assert files(built.folder) == expected
    assert [each.outline.question_id for each in built.questions] == list(IDS)


def test_questions_without_outlines_are_numbered(prepared: BuildConfig) -> None:
    config = replace(prepared, questions="", rules=type(prepared.rules)(), name="one set")
    expected, inputs = built_here(config)
    assert list(expected) == ["Q01.json", "Q02.json", "README.md", "provenance.json"]
    assert files(build_on_ray(dataset(ROWS), config, inputs=inputs).folder) == expected


def test_some_questions_and_rows_that_are_skipped(prepared: BuildConfig) -> None:
    config = replace(prepared, only=(IDS[1],), skip_bad_lines=True, name="one set")
    expected, inputs = built_here(config)
    bad: list[dict[str, Any]] = [
        {**ROWS[0], "question": "?"},
        {**ROWS[0], "answer": None},
        {**ROWS[0], "question": None},
    ]
    found = build_on_ray(dataset([*bad, *ROWS]), config, inputs=inputs)
    assert files(found.folder) == expected


def test_errors_write_nothing(prepared: BuildConfig) -> None:
    with pytest.raises(InputError, match="1 of the candidates without an answer"):
        build_on_ray(dataset([*ROWS, {**ROWS[0], "answer": None}]), prepared)
    unknown = replace(prepared, fields=replace(prepared.fields, answer="text"))
    with pytest.raises(InputError, match="no column 'text': expected one of"):
        build_on_ray(dataset(ROWS), unknown)
    with pytest.raises(ConfigError, match="unknown question 'Q99'"):
        build_on_ray(dataset(ROWS), replace(prepared, only=("Q99",)))
    many = replace(prepared, select=Select(count=10_000))
    with pytest.raises(BuildError, match="expected 10,000"):
        build_on_ray(dataset(ROWS), many)
    assert not prepared.path(prepared.out).exists()


def test_a_worker_that_dies(prepared: BuildConfig, tmp_path: Path) -> None:
    prepared = prepared.with_changes(name="one set")
    expected, inputs = built_here(prepared)
    mark = str(tmp_path / "killed")
    rows = dataset(ROWS).map_batches(dying_once, fn_args=(mark,), batch_format="pyarrow")
    built = build_on_ray(rows, prepared, inputs=inputs)
    assert files(built.folder) == expected
    assert Path(mark).exists()


def dying_once(table: Any, mark: str) -> Any:
    """Ends its process unless the file `mark` is there."""
    if not Path(mark).exists():
        Path(mark).touch()
        time.sleep(0.1)
        os.kill(os.getpid(), signal.SIGKILL)
    return table
