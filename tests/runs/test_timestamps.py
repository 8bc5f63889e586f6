"""Time stamps of responses: read again in every format, and left alone where they are no use."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest

from helpers import GOOD, write_benchmark
from pfgen_rs import Benchmark, Result, load_benchmark, score_file
from pfgen_rs.runs.sample import sample_of, timestamps

TIMES = ["2024-08-14T20:24:04.5", "2024-08-14T20:24:03", "2024-08-13T09:00:00", "2024-08-14T00:00"]


@pytest.fixture
def tiny(tmp_path: Path) -> Benchmark:
    return load_benchmark(write_benchmark(tmp_path / "tiny"))


def records(times: Sequence[object]) -> list[dict[str, object]]:
    pairs = zip(GOOD, times, strict=True)
    return [{"question": q, "answer": a, "timestamp": time} for (q, a), time in pairs]


def run(tiny: Benchmark, path: Path, times: Sequence[object]) -> Result:
    text = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records(times))
    path.write_text(text, encoding="utf-8")
    return score_file(path, tiny)


def microseconds(text: str) -> int:
    return round(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1e6)


def test_times_are_read_in_the_order_of_the_file(tiny: Benchmark, tmp_path: Path) -> None:
    found = timestamps(run(tiny, tmp_path / "run.jsonl", TIMES))
    assert found.problem is None
    assert found.values is not None
    assert found.values.to_list() == [microseconds(time) for time in TIMES]


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".arrow"])
def test_tables_have_times_too(tiny: Benchmark, tmp_path: Path, suffix: str) -> None:
    frame, path = pl.DataFrame(records(TIMES)), tmp_path / f"run{suffix}"
    if suffix == ".csv":
        frame.write_csv(path)
    elif suffix == ".arrow":
        frame.write_ipc(path)
    else:
        times = pl.Series("timestamp", [datetime.fromisoformat(time) for time in TIMES])
        frame.with_columns(times).write_parquet(path)
    found = timestamps(score_file(path, tiny))
    assert found.values is not None, found.problem
    assert found.values.to_list() == [microseconds(time) for time in TIMES]


def test_zones_are_reckoned_with(tiny: Benchmark, tmp_path: Path) -> None:
    times = ["2024-01-01T09:00:00+09:00", "2024-01-01T00:00:00Z", "2024-01-01T01:00:00+00:00"]
    found = timestamps(run(tiny, tmp_path / "run.jsonl", [*times, times[0]]))
    assert found.values is not None
    assert (found.values - found.values[0]).to_list() == [0, 0, 3_600_000_000, 0]


def test_a_run_without_times_has_none(tiny: Benchmark, tmp_path: Path) -> None:
    assert timestamps(run(tiny, tmp_path / "run.jsonl", [None] * 4)) == (None, None)
    in_memory = tiny.evaluate([q for q, _ in GOOD], [a for _, a in GOOD])
    assert timestamps(in_memory) == (None, None)


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        (None, "1 of its 4 responses has no timestamp"),
        ("soon", "its timestamp 'soon' is not valid ISO 8601"),
        ("2024-01-01T00:00:00Z", "some of its timestamps have a time zone and others do not"),
        (17, "cannot be read: .*line 3: 'timestamp' must be text, not 17"),
    ],
)
def test_times_of_no_use_are_told_of(
    tiny: Benchmark, tmp_path: Path, changed: object, problem: str
) -> None:
    times: list[object] = list(TIMES)
    times[2] = changed
    found = timestamps(run(tiny, tmp_path / "run.jsonl", times))
    assert found.values is None
    assert found.problem is not None
    with pytest.raises(ValueError, match=problem):
        _say(found.problem)


def _say(problem: str) -> None:
    raise ValueError(problem)


def test_a_file_that_went_away_has_no_times(tiny: Benchmark, tmp_path: Path) -> None:
    result = run(tiny, tmp_path / "run.jsonl", TIMES)
    (tmp_path / "run.jsonl").unlink()
    found = timestamps(result)
    assert found.values is None
    assert found.problem is not None
    assert "cannot be read" in found.problem


def test_lines_left_out_of_the_scores_have_no_times(tiny: Benchmark, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    lines = [json.dumps(record) for record in records(TIMES)]
    other = json.dumps({"question": "?", "answer": "", "timestamp": "2020-01-01"})
    path.write_text("\n".join([lines[0], "{", other, *lines[1:], ""]), encoding="utf-8")
    found = timestamps(score_file(path, tiny, skip_bad_lines=True))
    assert found.values is not None, found.problem
    assert found.values.to_list() == [microseconds(time) for time in TIMES]


def test_samples_are_in_the_order_of_time(tiny: Benchmark, tmp_path: Path) -> None:
    result = run(tiny, tmp_path / "run.jsonl", TIMES)
    sample = sample_of(result, timestamps=timestamps(result).values)
    assert sample.order is not None
    assert [order.tolist() for order in sample.order] == [[1, 0], [1, 0]]
    average = result.frame.get_column("average").to_list()
    by_trial = sample.by_trial()
    assert by_trial is not None
    assert by_trial.tolist() == [(average[2] + average[3]) / 2, (average[0] + average[1]) / 2]


def test_samples_have_what_the_run_has(tiny: Benchmark, tmp_path: Path) -> None:
    result = run(tiny, tmp_path / "named.jsonl", TIMES)
    sample = sample_of(result)
    assert (sample.name, sample.questions, sample.trials) == ("named", ("Q01", "Q02"), 2)
    assert sample.categories == {"Q01": "biology", "Q02": "physics"}
    assert sample.signature == tiny.signature
    for metric, values in sample.values.items():
        columns = result.frame.partition_by("question_id")
        assert [v.tolist() for v in values] == [c.get_column(metric).to_list() for c in columns]


@pytest.mark.published
def test_published_runs_have_times(
    published_run: str, published_dir: Path, published_benchmark: Benchmark
) -> None:
    result = score_file(published_dir / published_run, published_benchmark)
    found = timestamps(result)
    assert found.values is not None
    sample = sample_of(result, timestamps=found.values)
    by_trial = sample.by_trial()
    assert by_trial is not None
    assert len(by_trial) == result.num_trials
    assert by_trial.mean() == pytest.approx(result.score, abs=6e-5)
