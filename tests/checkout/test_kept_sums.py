"""Stale results are rewritten with their sums as Python added them when they were first written."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import readings
from checkouts import MARKS
from pfgen_rs.metrics.settings import Summation
from pfgen_rs.report.update import report

RUN = "result/some/model/1234567"


@pytest.fixture(params=["plain", "compensated"])
def published(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, Summation, bytes]:
    """A checkout with a run whose result is of this reading, and that result."""
    summation: Summation = request.param
    benchmark = readings.write_benchmark(tmp_path / "data")
    (tmp_path / "README.md").write_text(MARKS, encoding="utf-8")
    readings.write_run(tmp_path / RUN, benchmark, "plain")
    assert report(tmp_path).problems == []  # packs the answers
    other = readings.write_result(tmp_path / RUN, benchmark, readings.OTHER[summation])
    content = readings.write_result(tmp_path / RUN, benchmark, summation)
    assert content != other
    return tmp_path, summation, content


def edit(path: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    found = json.loads(path.read_bytes())
    change(found)
    path.write_text(json.dumps(found, ensure_ascii=False, indent=2), encoding="utf-8")


def test_force_keeps_the_reading(published: tuple[Path, Summation, bytes]) -> None:
    checkout, _, content = published
    assert report(checkout, force=True).problems == []
    assert (checkout / RUN / "result.json").read_bytes() == content


def test_a_new_config_keeps_the_reading(published: tuple[Path, Summation, bytes]) -> None:
    checkout, summation, content = published
    run = checkout / RUN
    edit(run / "config.json", lambda config: config.update(model="new/name"))
    report(checkout)
    rewritten = (run / "result.json").read_bytes()
    assert rewritten == content.replace(b"some/model", b"new/name")
    assert rewritten == readings.write_result(run, checkout / "data", summation)


# What has changed since the result was written; its own samples still tell the reading.
CHANGES: dict[str, Callable[[Path], Any]] = {
    "questions": lambda checkout: edit(
        checkout / "data" / "Q02.json", lambda question: question.update(keywords=[])
    ),
    "answers": lambda checkout: edit(
        checkout / RUN / "result.json", lambda result: result.update(input_hash="0" * 40)
    ),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_samples_tell_the_reading(
    published: tuple[Path, Summation, bytes], change: Callable[[Path], Any]
) -> None:
    checkout, summation, _ = published
    change(checkout)
    assert report(checkout).scored == [RUN]
    rewritten = (checkout / RUN / "result.json").read_bytes()
    assert rewritten == readings.write_result(checkout / RUN, checkout / "data", summation)


def test_without_anything_that_tells_sums_are_plain(
    published: tuple[Path, Summation, bytes],
) -> None:
    checkout, _, _ = published
    path = checkout / RUN / "result.json"

    def forget(result: dict[str, Any]) -> None:
        result["input_hash"] = "0" * 40
        for entry in result["questions"].values():
            entry["samples"] = []

    for damage in (lambda: edit(path, forget), lambda: path.write_bytes(b"{"), path.unlink):
        damage()
        report(checkout)
        found = path.read_bytes()
        assert found == readings.write_result(checkout / RUN, checkout / "data", "plain")


def test_a_number_too_large_for_a_float_is_damage(
    published: tuple[Path, Summation, bytes],
) -> None:
    checkout, _, _ = published
    path = checkout / RUN / "result.json"
    edit(path, lambda result: result.update(score=10**400))
    assert report(checkout).problems == []
    assert path.read_bytes() == readings.write_result(checkout / RUN, checkout / "data", "plain")
