"""Two rounds: which models' answers are kept, and what consensus prefers where something is trusted."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from builds import IDS, ROWS, STEPS, command, files, prepare, write_lines
from pfgen_rs import Benchmark, load_benchmark
from pfgen_rs.errors import ConfigError
from pfgen_rs.references import on_ray
from pfgen_rs.references.built import Built
from pfgen_rs.references.config import BuildConfig, read_outlines
from pfgen_rs.references.consensus import Consensus, consensus
from pfgen_rs.references.pipeline import build
from pfgen_rs.references.ranking import FEWEST, Ranking, ranked
from pfgen_rs.references.selection import Select

WEAK = ("weak/a", "weak/b", "weak/c")
STRONG = tuple(f"strong/{i}" for i in range(11))


def rows() -> list[dict[str, str]]:
    """The candidates by 14 models, three of which write backwards."""
    models, found = (*STRONG, *WEAK), []
    for i, row in enumerate(ROWS):
        model = models[i % len(models)]
        answer = row["answer"][::-1] if model in WEAK else row["answer"]
        found.append({**row, "model": model, "answer": answer, "source": "A"})
    return found


ALL = rows()


@pytest.fixture
def config(tmp_path: Path) -> BuildConfig:
    found = prepare(tmp_path)
    write_lines(tmp_path / "candidates.jsonl", ALL)
    steps = ("ranking", "duplicates", "length", "consensus", "select")
    return replace(found, steps=steps, allow_fewer=True, length=type(found.length)(share=1.0))


def provenance(built: Built) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((built.folder / "provenance.json").read_bytes())
    return found


def texts(built: Built) -> dict[str, list[str]]:
    """The reference answers by question, sorted."""
    return {
        each.outline.question_id: sorted(answer for own in each.answers.values() for answer in own)
        for each in built.questions
    }


def scores_of(benchmark: Benchmark, table: pl.DataFrame) -> pl.Series:
    both = (pl.col("fluency") + pl.col("truthfulness")) / 2
    return benchmark.score_batch(table["question"], table["answer"]).select(both).to_series()


def test_models_that_a_first_set_scores_low_are_left_out(config: BuildConfig) -> None:
    first = build(replace(config, steps=config.steps[1:-1], out="first"))
    table = pl.DataFrame(ALL)
    table = table.with_columns(score=scores_of(load_benchmark(first.folder), table))
    by_question = table.group_by("model", "question").agg(pl.col("score").mean())
    expected = dict(by_question.group_by("model").agg(pl.col("score").mean()).iter_rows())
    built = build(config)
    found = provenance(built)
    scores = dict(zip(found["models"], found["model_scores"], strict=True))
    assert scores == pytest.approx(expected, abs=2e-5)  # published scores are rounded
    out = {name for name in scores if scores[name] < 0.8 * max(scores.values())}
    assert {found["models"][place] for place in found["models_left_out"]} == out == set(WEAK)
    by_text = defaultdict(set)
    for row in ALL:
        by_text[row["answer"]].add(row["model"])
    assert all(by_text[text] - out for own in texts(built).values() for text in own)
    for question in built.questions:
        [report] = [each for each in question.reports if each.step == "ranking"]
        assert sum(each.count for each in report.removed) == report.before - report.after > 0
        assert report.removed[0].reason == "a model that scores below 0.8 of the best one"
        assert not set(report.models) & out


def test_no_fewer_answers_are_left_than_needed(config: BuildConfig) -> None:
    needed = 1_000  # more than the strong models have
    selected = replace(config, only=("Q03",), select=Select(needed), consensus=Consensus(1.0))
    report = build(selected).questions[0].reports[0]
    assert needed <= report.after < report.before
    assert report.details["sources"]["A"]["models"] == len(STRONG) + 1


@pytest.mark.parametrize(
    "models", [("",), ("one",), tuple(map(str, range(FEWEST)))], ids=["none", "one", "few"]
)
def test_too_few_models_are_told(config: BuildConfig, models: tuple[str, ...]) -> None:
    few = [{**row, "model": models[i % len(models)]} for i, row in enumerate(ALL)]
    write_lines(config.folder / "candidates.jsonl", few)
    built = build(config)
    told = "ranking does not apply to 2 of 2 questions (Q03, Q14): it leaves out weak models where"
    assert sum(each.startswith(told) for each in built.warnings) == 1
    assert "model_scores" not in provenance(built)
    without = replace(config, steps=config.steps[1:], out="without")
    assert texts(build(without)) == texts(built)


def test_the_order_of_candidates_does_not_matter(config: BuildConfig) -> None:
    first = build(config)
    random.Random(2).shuffle(shuffled := list(ALL))
    write_lines(config.folder / "candidates.jsonl", shuffled)
    again = build(replace(config, out="again"), threads=1, memory=1)
    assert texts(again) == texts(first)
    assert provenance(again)["model_scores"] == provenance(first)["model_scores"]


@pytest.mark.parametrize("point", ["after consensus", "before ranking", "after ranking"])
def test_a_killed_build_of_two_rounds(config: BuildConfig, point: str) -> None:
    text = (config.folder / "set.toml").read_text(encoding="utf-8")
    expected = files(build(replace(config, steps=STEPS)).folder)
    text = "allow_fewer = true\n" + text.replace("count = 200, share", "share")
    (config.folder / "set").rename(config.folder / "other")
    killed = command(config.folder, config=text, POINT=point, SIGNAL="9")
    assert killed.returncode == -9
    done = command(config.folder, config=text)
    assert done.returncode == 0, done.stderr
    found = files(config.folder / "set")
    assert {name: found[name] for name in IDS_FILES} == {n: expected[n] for n in IDS_FILES}


IDS_FILES = tuple(f"{each}.json" for each in IDS)


def test_two_rounds_on_ray(config: BuildConfig) -> None:
    outlines = tuple(read_outlines(config.path(config.questions)))
    work = on_ray.QuestionGroups(config, outlines, outlines, config.prepared(), True)
    table = pl.DataFrame(ALL).sample(fraction=1.0, shuffle=True, seed=1)
    known = pl.DataFrame(work.identified(table.to_arrow())).partition_by("question_id")

    def results(work: on_ray.QuestionGroups) -> dict[str, Any]:
        parts = [work.grouped(own.to_arrow()) for own in known]
        return {part["question_id"][0]: part["built"][0] for part in parts}

    scores = ranked(results(work).values())
    prepared = {**config.prepared(), "ranking": scores}
    found = results(replace(work, scoring=False, prepared=prepared))
    for question in build(config).questions:
        assert found[question.outline.question_id].answers == question.answers


def test_ranks_over_questions() -> None:
    whole = [{"a": 0.9, "b": 0.5}, {"a": 0.7, "b": 0.5}]
    assert ranked(whole) == pytest.approx({"a": 0.8, "b": 0.5})
    # "c" answers the harder question alone: it is as good as "a" there.
    assert ranked([{"a": 0.9, "b": 0.7}, {"a": 0.4, "b": 0.2, "c": 0.4}])["c"] < 0.65
    tied = ranked([{"b": 0.5, "a": 0.5}])
    assert list(tied) == ["a", "b"]
    assert ranked([{}, {}]) == {}


def test_answers_close_to_the_note_come_first(config: BuildConfig) -> None:
    """The oracle scores with a benchmark whose only reference answer is the note."""
    own = sorted({row["answer"] for row in ALL if row["model"] in STRONG})[:300]
    note = own[17]
    benchmark = Benchmark.from_references({"q": [note]}, length=100)
    table = pl.DataFrame({"question": ["q"] * len(own), "answer": own})
    close = scores_of(benchmark, table).to_numpy()
    answers = pl.Series(own)
    agreed = consensus(answers, share=0.1).kept
    assert (consensus(answers, share=0.1, close=close, anchor=0.0).kept == agreed).all()
    anchored = consensus(answers, share=0.1, close=close, anchor=1.0).kept
    assert set(np.flatnonzero(anchored)) == set(np.argsort(-close, kind="stable")[:30])
    write_lines(config.folder / "candidates.jsonl", [{**ALL[0], "answer": each} for each in own])
    trusted = {"question": ALL[0]["question"], "answer": note}
    write_lines(config.folder / "trusted.jsonl", [trusted])
    step = Consensus(0.34, anchor=1.0, trusted="trusted.jsonl")
    built = build(replace(config, steps=("consensus",), consensus=step))
    nearest = np.argsort(-close, kind="stable")[:102]
    assert texts(built) == {built.questions[0].outline.question_id: sorted(own[i] for i in nearest)}
    assert built.questions[0].reports[0].details["trusted"] == 1


def test_questions_without_anything_trusted_are_told(config: BuildConfig) -> None:
    outlines = [replace(each, note=" ") for each in read_outlines(config.path("questions.toml"))]
    built = build(config, outlines=outlines)
    told = [each for each in built.warnings if each.startswith("consensus ")]
    assert len(told) == 1
    assert "consensus finds no trusted answer to 2 of 2 questions (Q03, Q14): " in told[0]
    unanchored = build(replace(config, consensus=Consensus(anchor=0.0), out="other"))
    assert texts(unanchored) == texts(built)
    assert not [each for each in unanchored.warnings if each.startswith("consensus ")]


def test_fewer_than_wanted_lose_those_that_agree_least(config: BuildConfig) -> None:
    [question] = build(replace(config, only=("Q14",), select=Select(10_000))).questions
    report = question.reports[-2]
    assert report.after == pytest.approx(0.65 * report.before, abs=1)


def test_what_is_refused(config: BuildConfig) -> None:
    write_lines(config.folder / "trusted.jsonl", [{"question": "?", "answer": "答え"}])
    with pytest.raises(ConfigError, match=r"trusted.jsonl: unknown question '\?': expected one of"):
        build(replace(config, consensus=Consensus(trusted="trusted.jsonl")))
    with pytest.raises(ConfigError, match=r"consensus.trusted needs text"):
        BuildConfig(("a",), "b", unit="token", steps=(), consensus=Consensus(trusted="a"))
    with pytest.raises(ConfigError, match=r"anchor must be from 0 to 1, not 2"):
        Consensus(anchor=2)
    with pytest.raises(ConfigError, match=r"least must be from 0 to 1, not -1"):
        Ranking(least=-1)
