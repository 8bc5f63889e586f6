"""Names of metrics: the same everywhere, and one error for an unknown one."""

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

from made_samples import made
from pfgen_rs import SettingsError, load_benchmark, stats
from pfgen_rs.cli.compare import ComparedMetric
from pfgen_rs.cli.options import MetricName
from pfgen_rs.metrics import settings
from pfgen_rs.report import plots
from pfgen_rs.training import rewards

ANY: Any = "beauty"
USES: dict[str, Callable[[], object]] = {
    "a scorer": lambda: load_benchmark("mini").scorer(ANY),
    "a reward": lambda: rewards.Reward("mini", metric=ANY),
    "an estimate": lambda: stats.estimate(made(), ANY),
    "a comparison": lambda: stats.compare([made("a"), made("b")], metrics=[ANY]),
    "a running mean": lambda: plots.running(made(), ANY),
    "a plot of sources": lambda: plots.source_pairs(pl.DataFrame(), pl.DataFrame(), metric=ANY),
}


@pytest.mark.parametrize("use", USES)
def test_an_unknown_metric_is_one_kind_of_error(use: str) -> None:
    with pytest.raises(SettingsError, match=r"^unknown metric 'beauty': expected one of \w+, "):
        USES[use]()


@pytest.mark.parametrize("choices", [ComparedMetric, MetricName])
def test_choices_of_options_are_the_metrics(choices: type[ComparedMetric]) -> None:
    assert tuple(choice.value for choice in choices if choice.value != "all") == settings.METRICS


def test_columns_of_scores_are_named_so() -> None:
    bench = load_benchmark("mini")
    made = bench.score_batch(["Q02"], ["光合成"]).columns
    expected = [*settings.COLUMNS, *settings.share_names(bench.sources)]
    assert made[-len(expected) :] == expected
    assert settings.share_name("fluency", bench.sources[0]) in made
    assert set(settings.COLUMNS) == set(settings.METRICS)
