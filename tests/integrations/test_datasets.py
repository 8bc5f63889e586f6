"""Scores as columns of Hugging Face datasets: the real package, every format, several processes."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import datasets
import polars as pl
import pytest

import pfgen_rs
from datasets_elsewhere import digests
from helpers import environment, write_benchmark
from pfgen_rs import Benchmark, InputError, SettingsError, UnknownQuestionError
from pfgen_rs.integrations.datasets import scorer
from pfgen_rs.metrics.settings import COLUMNS
from pfgen_rs.questions.locate import bundled_path
from places import SUPPORT
from told import section

RUN = bundled_path() / "runs" / "careless"
ELSEWHERE = SUPPORT / "datasets_elsewhere.py"
PAGE = section("python.md", "Hugging Face datasets")


@pytest.fixture(autouse=True)
def _quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """No bars, no network."""
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    datasets.disable_progress_bars()


@pytest.fixture
def expected(mini: Benchmark) -> pl.DataFrame:
    return pfgen_rs.score_file(RUN, mini).frame


def responses(expected: pl.DataFrame) -> datasets.Dataset:
    return datasets.Dataset.from_dict(
        {
            "prompt": expected["question"].to_list(),
            "text": expected["answer"].to_list(),
            "place": list(range(expected.height)),
        }
    )


def assert_scored(found: datasets.Dataset, expected: pl.DataFrame) -> None:
    """Every figure is that of `score_file`, and what was there has stayed."""
    plain = found.with_format(None)
    assert plain.column_names == ["prompt", "text", "place", *COLUMNS]
    assert plain["place"][:] == list(range(expected.height))
    for metric in COLUMNS:
        assert plain.features[metric] == datasets.Value("float64")
        assert plain[metric][:] == expected[metric].to_list()


@pytest.mark.parametrize("kind", [None, "numpy", "arrow", "pandas", "polars"])
def test_every_format_gets_the_figures_of_score_file(
    kind: str | None, mini: Benchmark, expected: pl.DataFrame
) -> None:
    score = scorer(mini, question_field="prompt", answer_field="text")
    rows = responses(expected).with_format(kind)
    assert_scored(rows.map(score, batched=True, batch_size=37), expected)


@pytest.mark.parametrize("kind", [None, "arrow"])
def test_streams_are_scored_too(kind: str | None, mini: Benchmark, expected: pl.DataFrame) -> None:
    score = scorer(mini, question_field="prompt", answer_field="text")
    stream = responses(expected).to_iterable_dataset().with_format(kind)
    found = list(stream.map(score, batched=True, batch_size=50).with_format(None))
    for metric in COLUMNS:
        assert [row[metric] for row in found] == expected[metric].to_list()


def test_scoring_again_replaces_columns(mini: Benchmark, expected: pl.DataFrame) -> None:
    score = scorer(mini, question_field="prompt", answer_field="text")
    for kind in (None, "arrow", "pandas", "polars"):
        once = responses(expected).map(score, batched=True).with_format(kind)
        assert_scored(once.map(score, batched=True), expected)


def test_other_processes_take_the_same_digests_and_find_the_same(expected: pl.DataFrame) -> None:
    """One with another order of hashes; and two forked from it, which Python warns about from 3.12 on."""
    done = subprocess.run(
        [sys.executable, str(ELSEWHERE), str(RUN)],
        env=environment(HF_HUB_OFFLINE="1", PYTHONHASHSEED="7"),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    taken, scored = json.loads(done.stdout)
    assert taken == digests()
    assert scored == {metric: expected[metric].to_list() for metric in COLUMNS}


def test_digests_tell_settings_apart() -> None:
    found = digests()
    assert found["again"] == found["plain"]
    assert len(set(found.values())) == len(found) - 1


def test_the_cache_is_used_until_the_set_changes(tmp_path: Path) -> None:
    changed = write_benchmark(tmp_path / "changed", {"Q01": {"keywords": []}})
    benches = [write_benchmark(tmp_path / "a"), write_benchmark(tmp_path / "b"), changed]
    rows = datasets.Dataset.from_dict({"question": ["Q01"], "answer": ["猫は眠ります。"]})
    marks = [rows.map(scorer(bench), batched=True)._fingerprint for bench in benches]
    assert marks[0] == marks[1] != marks[2]


def test_metrics_are_chosen_and_sources_have_their_own(mini: Benchmark) -> None:
    source = mini.sources[0]
    score = scorer(mini, metrics=["average", f"fluency_{source}"])
    found = score({"question": ["Q02"], "answer": ["光合成です。"]})
    frame = mini.score_batch(["Q02"], ["光合成です。"])
    assert {key: values.tolist() for key, values in found.items()} == {
        key: frame[key].to_list() for key in ("average", f"fluency_{source}")
    }
    alone = scorer(mini, metrics="average")({"question": ["Q02"], "answer": ["光合成です。"]})
    assert {key: values.tolist() for key, values in alone.items()} == {
        "average": frame["average"].to_list()
    }
    with pytest.raises(SettingsError, match="unknown metric 'score': expected one of fluency, "):
        scorer(mini, metrics=["score"])


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            {"question": ["Q01", "Q02"], "answer": ["答え", None]},
            "column 'answer' of the batch: .*row 1",
        ),
        (
            {"question": [None, "Q02"], "answer": ["答え", "答"]},
            "column 'question' of the batch: .*row 0",
        ),
        ({"question": ["Q01"], "answer": [3]}, "column 'answer' of the batch: .*row 0 is int"),
        (
            {"question": ["Q01"], "text": ["答え"]},
            "missing column 'answer': found question, text",
        ),
    ],
)
def test_what_is_no_text_is_named(
    columns: dict[str, list[Any]], message: str, mini: Benchmark
) -> None:
    with pytest.raises(InputError, match=message):
        datasets.Dataset.from_dict(columns).map(scorer(mini), batched=True)


@pytest.mark.parametrize("kind", [None, "arrow", "pandas", "polars"])
def test_unknown_questions_are_named(kind: str | None, mini: Benchmark) -> None:
    rows = datasets.Dataset.from_dict({"question": ["Q02", "何？"], "answer": ["答え", "答"]})
    with pytest.raises(UnknownQuestionError, match="row 1") as caught:
        rows.with_format(kind).map(scorer(mini), batched=True)
    assert caught.value.question == "何？"


def test_single_rows_are_refused(mini: Benchmark) -> None:
    rows = datasets.Dataset.from_dict({"question": ["Q02"], "answer": ["答え"]})
    with pytest.raises(InputError, match="batched=True"):
        rows.map(scorer(mini))


def test_the_example_of_the_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    [example] = re.findall(r"^```python\n(.*?)^```", PAGE, flags=re.DOTALL | re.MULTILINE)
    exec(compile(example, "python.md", "exec"), {})
    said = re.findall(r"column_names\)  # (.*)", example)[0].split(", ")
    frame = pfgen_rs.load_benchmark().score_batch(["Q02", "Q14"], ["光合成です。", "風呂敷です。"])
    assert capsys.readouterr().out == f"{said}\n{frame['average'].to_list()}\n"


def test_the_page_says_how_to_sum_up(mini: Benchmark, expected: pl.DataFrame) -> None:
    ds = datasets.Dataset.from_polars(expected.select("question", "answer"))
    assert "evaluate(ds.data.table)" in PAGE
    assert mini.evaluate(ds.data.table).score == pfgen_rs.score_file(RUN, mini).score
