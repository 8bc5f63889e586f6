"""For engines on many machines: many real answers, what `scan` makes of them, and a worker that is killed."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import pfgen_rs
from pfgen_rs import Benchmark, load_benchmark, results_from_scores

ROWS, FILES, BAD = 500_000, 20, 50


class Answers(NamedTuple):
    """`folder` has files with the columns `question`, `answer`, `model` and `row`.

    `good`: the rows that can be scored, by `row`; `scored`: what `scan` makes of them.
    """

    folder: Path
    benchmark: Benchmark
    scored: pl.DataFrame
    good: pl.DataFrame


def write_answers(folder: Path) -> Answers:
    """Write the answers of the bundled runs, again and again, into a folder."""
    base = pl.concat(
        pfgen_rs.score_file(run, "mini").frame.select("question", "answer", model=pl.lit(name))
        for name, run in sorted(pfgen_rs.sample_runs().items())
    )
    rows = pl.concat([base] * -(-ROWS // base.height))[:ROWS].with_columns(row=pl.int_range(ROWS))
    step = ROWS // BAD
    is_bad = pl.col("row") % step == step - 1
    is_null = is_bad & (pl.col("row") // step % 2 == 0)
    rows = rows.with_columns(
        answer=pl.when(~is_null).then(pl.col("answer")),
        question=pl.when(is_bad & ~is_null).then(pl.lit("Who?")).otherwise(pl.col("question")),
    ).sample(fraction=1, shuffle=True, seed=7)
    for i in range(FILES):
        piece = rows[ROWS * i // FILES : ROWS * (i + 1) // FILES]
        piece.write_parquet(folder / f"answers-{i:02}.parquet", row_group_size=5_000)
    bench = load_benchmark("mini").prepare()
    good = rows.filter(~is_bad).sort("row")
    return Answers(folder, bench, pfgen_rs.scan(good, bench).collect(), good)


def check_scored(found: pl.DataFrame, answers: Answers) -> None:
    """Every row once, with the values of `scan`, and bad rows with a reason."""
    assert sorted(found["row"]) == list(range(ROWS))
    bad = found.filter(pl.col("problem").is_not_null())
    assert bad.height == BAD
    assert set(bad["problem"]) == {"the answer is null", "unknown question"}
    good = found.filter(pl.col("problem").is_null()).sort("row").drop("problem")
    assert_frame_equal(good, answers.scored, check_exact=True, check_column_order=False)


def check_results(files: Path, answers: Answers) -> None:
    """Results of runs in files are those of one machine."""
    how: dict[str, Any] = {"run_field": "model", "order_field": "row"}
    results = results_from_scores(files, answers.benchmark, **how)
    expected = results_from_scores(answers.scored, answers.benchmark, **how)
    assert len(results[0].problems) == BAD
    by_name = {result.name: result for result in results}
    for one in expected:
        assert by_name.pop(one.name).by_question.equals(one.by_question)
    assert not by_name
    model = expected[0].name
    whole = answers.benchmark.evaluate(answers.good.filter(pl.col("model") == model))
    assert expected[0].by_question.equals(whole.by_question)
    assert (expected[0].score, expected[0].score_std) == (whole.score, whole.score_std)


@contextlib.contextmanager
def one_killed(
    is_worker: Callable[[Any], bool], is_time: Callable[[], bool]
) -> Iterator[list[int]]:
    """Kill -9 the first process below this one that is a worker, as soon as it is time. Yields its id."""
    psutil = pytest.importorskip("psutil")
    killed: list[int] = []
    stop = threading.Event()

    def wait() -> None:
        while not stop.wait(0.02):
            if is_time():
                for process in psutil.Process().children(recursive=True):
                    with contextlib.suppress(psutil.Error):
                        if is_worker(process):
                            process.send_signal(signal.SIGKILL)
                            killed.append(process.pid)
                            return

    thread = threading.Thread(target=wait)
    thread.start()
    try:
        yield killed
    finally:
        stop.set()
        thread.join()
