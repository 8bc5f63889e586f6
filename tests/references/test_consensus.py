"""The filter that keeps the answers that agree most with the others."""

import random
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
from left_out import without
from pfgen_rs.errors import ConfigError, SettingsError
from pfgen_rs.references.built import Built
from pfgen_rs.references.config import BuildConfig
from pfgen_rs.references.consensus import Consensus, consensus
from pfgen_rs.references.pipeline import build
from pfgen_rs.references.selection import Select
from pfgen_rs.references.singletons import Singletons

TEXTS = st.lists(st.text("あいうえ、。", max_size=9), max_size=12)


def agreements(answers: list[str]) -> list[float]:
    """Truthfulness of each answer against a reference that consists of the others."""
    settings = oracle.Settings()
    return [
        without(answers, number, settings).truthfulness(answer)
        for number, answer in enumerate(answers)
    ]


@given(TEXTS, st.sampled_from((0.1, 0.5, 0.7, 1.0)), st.integers(0, 8))
def test_what_agrees_most_is_kept(answers: list[str], share: float, at_least: int) -> None:
    found = consensus(pl.Series(answers, dtype=pl.String), share=share, at_least=at_least)
    number = max(-(-len(answers) * round(share * 10) // 10), min(at_least, len(answers)))
    assert int(found.kept.sum()) == number
    if len(answers) < 2:
        return
    expected = agreements(answers)
    kept = [value for value, keep in zip(expected, found.kept, strict=True) if keep]
    gone = [value for value, keep in zip(expected, found.kept, strict=True) if not keep]
    assert found.least == min(kept)
    assert max(gone, default=0.0) <= min(kept)


def test_neither_order_nor_threads_matter() -> None:
    rng = random.Random(5)
    answers = ["".join(rng.choices("あいうえお", k=rng.randrange(3, 9))) for _ in range(300)]
    texts: set[frozenset[str]] = set()
    for threads in (1, 2):
        rng.shuffle(answers)
        found = consensus(pl.Series(answers), share=0.3, threads=threads)
        texts.add(frozenset(np.array(answers)[found.kept].tolist()))
    assert len(texts) == 1


@pytest.mark.parametrize("share", [0.0, 1.1, -1.0])
def test_a_share_is_more_than_nothing_and_at_most_all(share: float) -> None:
    with pytest.raises(SettingsError, match="share must be greater than 0 and at most 1"):
        consensus(pl.Series(["あ"]), share=share)
    with pytest.raises(ConfigError, match="share must be greater than 0 and at most 1"):
        Consensus(share)


def built(tmp_path: Any, **changes: Any) -> Built:
    """A set of 40 answers that agree and 10 that nobody else gives."""
    common = [f"光合成は植物が光から養分を作る働きです。その{n % 4}番目の説明。" for n in range(40)]
    odd = ["".join(chr(0x4E00 + 40 * n + k) for k in range(20)) for n in range(10)]
    rows = [{"question": "光合成とは？", "answer": text} for text in [*odd, *common]]
    pl.DataFrame(rows).write_ndjson(tmp_path / "candidates.jsonl")
    values = {"steps": ("consensus", "select"), "select": Select(20), **changes}
    config = BuildConfig(("candidates.jsonl",), "set", folder=tmp_path, **values)
    return build(config)


def test_the_step_leaves_what_the_selection_needs(tmp_path: Any) -> None:
    [question] = built(tmp_path, consensus=Consensus(0.1)).questions
    [step, _] = question.reports
    assert (step.step, step.before, step.after) == ("consensus", 50, 20)
    assert step.details["sources"]["X"]["least"] > 0.5
    [removed] = step.removed
    assert (removed.count, len(removed.examples)) == (30, 3)
    assert all("光合成" in answer for answer in question.answers["X"])


def test_lengths_leave_what_the_consensus_needs(tmp_path: Any) -> None:
    made = built(
        tmp_path,
        steps=("length", "consensus", "select"),
        select=Select(15),
        consensus=Consensus(0.4),
    )
    assert [report.after for report in made.questions[0].reports] == [38, 16, 15]


def test_singletons_spare_pools_in_which_everything_is_rare(tmp_path: Any) -> None:
    chosen = {"steps": ("singletons",), "select": Select(5)}
    [applied] = built(tmp_path, **chosen, singletons=Singletons(at_least=40)).questions
    assert [report.after for report in applied.reports] == [40]
    made = built(tmp_path, **chosen, singletons=Singletons(at_least=41))
    [report] = made.questions[0].reports
    assert (report.after, report.details["not_applied"], report.removed) == (50, 40, [])
    assert "fewer answers than singletons.at_least would be left" in made.warnings[0]
