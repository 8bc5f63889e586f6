"""Candidates in shards give the answers of one machine, and its reports where all survivors are examined."""

from __future__ import annotations

import pickle
import random
import re
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builds import IDS, ROWS, prepare
from pfgen_rs.errors import BuildError, InputError, SettingsError
from pfgen_rs.references import finishing
from pfgen_rs.references.config import (
    BuildConfig,
    Consensus,
    Duplicates,
    Length,
    Select,
    Singletons,
)
from pfgen_rs.references.distributed import ExecutorTasks, InProcess, build_question, survivors
from pfgen_rs.references.distributed.groups import QuestionGroups
from pfgen_rs.references.distributed.local_steps import built_here
from pfgen_rs.references.distributed.shard_frames import ShardSettings, candidate_columns
from pfgen_rs.references.distributed.tasks import merge_in_tree
from pfgen_rs.references.outlines import Outline, read_outlines
from pfgen_rs.references.pipeline import build
from pfgen_rs.references.writing import BuiltQuestion

OUTLINE = Outline("Q01", "問い")
COLUMNS = ("answer", "source", "model")
BASE = BuildConfig(
    candidates=("none",),
    out="set",
    allow_fewer=True,
    steps=("duplicates", "singletons", "length", "select"),
    singletons=Singletons(n=3, at_least=0),
    length=Length(12, count=20, share=1.0),
    select=Select(count=5, proposals=200, max_n=3),
)


SMALL = 8
"""Bytes of a sketch: so few counters that many n-grams share one, in any number of parts."""


def dealt(frame: pl.DataFrame, shards: int) -> list[pl.DataFrame]:
    """Consecutive rows, in unequal parts, some of which may be empty."""
    bounds = [frame.height * part**2 // shards**2 for part in range(shards + 1)]
    return [frame[low:high] for low, high in pairwise(bounds)]


def here(frame: pl.DataFrame, config: BuildConfig, folder: Path, outline: Outline) -> BuiltQuestion:
    """What the steps of a build on one machine give."""
    own = ShardSettings(
        config,
        outline.question_id,
        finishing.configured_style(config),
        finishing.configured_rules(config),
    )
    candidates = candidate_columns(frame, config)
    return built_here(outline, candidates, None, config.steps, own.context(folder))


def told(question: BuiltQuestion, *, reports: bool) -> dict[str, Any]:
    """What can be compared of a question."""
    found: dict[str, Any] = {
        "candidates": question.candidates,
        "models": question.models,
        "answers": question.answers,
        "lengths": {name: (each.mean, each.std) for name, each in question.lengths.items()},
    }
    if reports:
        found["reports"] = [report.to_dict() for report in question.reports]
    return found


def rows(count: int, seed: int, letters: str = "あいうえお") -> pl.DataFrame:
    """Answers of some common parts, with and without slips, from three models and two sources."""
    rng = random.Random(seed)
    parts = ["".join(rng.choices(letters, k=4)) for _ in range(6)]
    answers = []
    for _ in range(count):
        answer = "".join(rng.choices(parts, k=rng.randint(1, 5)))
        for _ in range(rng.choice([0, 0, 0, 1, 2])):
            at = rng.randrange(len(answer))
            answer = answer[:at] + chr(rng.randrange(0x4E00, 0x4E10)) + answer[at + 1 :]
        answers.append(answer)
    return pl.DataFrame(
        {
            "answer": answers,
            "source": [rng.choice("AB") for _ in answers],
            "model": [rng.choice(["", "m", "n"]) for _ in answers],
        },
        schema=dict.fromkeys(COLUMNS, pl.String),
    )


@settings(max_examples=20)
@given(
    count=st.sampled_from([0, 1, 7, 60, 400]),
    seed=st.integers(0, 99),
    shards=st.sampled_from([1, 4, 16]),
    threshold=st.integers(0, 2),
    repeat=st.booleans(),
    keep=st.sampled_from(["once", "weight", "all"]),
    at_least=st.sampled_from([0, 30, 300]),
    share=st.sampled_from([1.0, 0.2]),
    deviation=st.sampled_from([None, 0, 4]),
    per_source=st.booleans(),
    memory=st.sampled_from([SMALL, 1 << 10, 1 << 20]),
    examine=st.sampled_from(["needed", "all"]),
)
def test_any_shards_give_the_answers_of_one_machine(
    tmp_path_factory: pytest.TempPathFactory,
    count: int,
    seed: int,
    shards: int,
    threshold: int,
    repeat: bool,
    keep: str,
    at_least: int,
    share: float,
    deviation: int | None,
    per_source: bool,
    memory: int,
    examine: Any,
) -> None:
    config = replace(
        BASE,
        seed=seed,
        per_source=per_source,
        duplicates=Duplicates(keep),
        singletons=Singletons(3, threshold, repeat, at_least),
        length=replace(BASE.length, share=share, deviation=deviation),
    )
    frame = rows(count, seed)
    expected = here(frame, config, tmp_path_factory.mktemp("here"), OUTLINE)
    found = build_question(
        dealt(frame, shards), OUTLINE, config, memory=memory, examine=examine, threads=1
    )
    unexamined = any("unexamined" in report.details for report in found.reports)
    assert not (unexamined and (examine == "all" or repeat))
    assert told(found, reports=not unexamined) == told(expected, reports=not unexamined)


@pytest.mark.parametrize(("bits", "keep"), [(0, "weight"), (4, "weight"), (4, "all")])
@pytest.mark.parametrize(
    ("changes", "length"),
    [
        (Singletons(3, 1, False, 0), Length(12, 20, 1.0)),
        (Singletons(3, 2, True, 0), Length(12, 20, 0.2)),
        (Singletons(3, 1, False, 260), Length(12, 400, 1.0, 3)),
    ],
)
def test_sketches_that_cannot_tell(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    bits: int,
    keep: str,
    changes: Singletons,
    length: Length,
) -> None:
    monkeypatch.setattr(survivors, "_PART_BITS", bits)
    config = replace(BASE, duplicates=Duplicates(keep), singletons=changes, length=length)
    frame = rows(400, 1)
    expected = here(frame, config, tmp_path, OUTLINE)
    for examine in ("all", "needed"):
        found = build_question(dealt(frame, 3), OUTLINE, config, memory=SMALL, examine=examine)
        assert told(found, reports=False) == told(expected, reports=False)


def test_what_need_not_be_known_is_not_examined(tmp_path: Path) -> None:
    frame = rows(6_000, 3, "あいうえおかきく")
    config = replace(BASE, length=Length(12, count=20, share=1.0), duplicates=Duplicates("all"))
    expected = here(frame, config, tmp_path, OUTLINE)
    found = build_question(dealt(frame, 4), OUTLINE, config, memory=64)
    assert told(found, reports=False) == told(expected, reports=False)
    reports = {report.step: report for report in found.reports}
    exact = {report.step: report for report in expected.reports}
    unexamined = reports["singletons"].details["unexamined"]
    assert unexamined > 1_000
    left = reports["singletons"].after
    assert left - unexamined <= exact["singletons"].after <= left
    assert reports["length"].details == exact["length"].details


@pytest.mark.parametrize("number", range(2))
def test_all_steps_on_prepared_candidates(tmp_path: Path, number: int) -> None:
    config = replace(prepare(tmp_path), consensus=Consensus(0.5), seed=3)
    outline = read_outlines(config.path(config.questions))[number]
    assert outline.question_id == IDS[number]
    own = pl.DataFrame([row for row in ROWS if row["question"] == outline.question])
    expected = told(here(own, config, tmp_path / "here", outline), reports=True)
    shards: list[Any] = [*dealt(own, 3), own.clear()]
    shards[1].write_parquet(tmp_path / "shard.parquet")
    shards[1] = tmp_path / "shard.parquet"
    shards[2] = shards[2].to_arrow()
    assert told(build_question(shards, outline, config, examine="all"), reports=True) == expected


@pytest.mark.parametrize("kind", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_executors(tmp_path: Path, kind: Callable[..., Any]) -> None:
    frame = rows(300, 5)
    expected = told(here(frame, BASE, tmp_path, OUTLINE), reports=True)
    options: dict[str, Any] = {}
    if kind is ProcessPoolExecutor:
        options["mp_context"] = get_context("spawn")
    with kind(2, **options) as executor:
        tasks = ExecutorTasks(executor)
        found = build_question(
            dealt(frame, 4), OUTLINE, BASE, tasks=tasks, threads=1, examine="all"
        )
        assert told(found, reports=True) == expected
        with pytest.raises(InputError, match="shard 1: row 0 has no answer"):
            build_question(
                [frame, pl.DataFrame({"answer": [None]}, schema={"answer": pl.String})],
                OUTLINE,
                BASE,
                tasks=tasks,
            )


def test_each_part_is_merged_once() -> None:
    class Counted(InProcess):
        calls = 0

        def run(self, function: Callable[..., Any], *arguments: Any) -> Any:
            self.calls += 1
            return super().run(function, *arguments)

    for count in (1, 2, 8, 9, 65, 100):
        tasks = Counted()
        whole = merge_in_tree(
            tasks, lambda *parts: sum(parts[1:]), [1 << n for n in range(count)], 0
        )
        assert whole == (1 << count) - 1
        assert tasks.calls >= (count - 1) / 7


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"select": Select(seconds=1.0)}, "select.seconds: a budget in seconds"),
        ({"unit": "word"}, "unit 'word'"),
        ({"singletons": Singletons(threshold=3)}, "singletons.threshold must be at most 2"),
        ({"steps": ("singletons", "select")}, "need singletons and length"),
        ({"steps": ("length", "singletons")}, "need the order normalise, rules, duplicates"),
    ],
)
def test_what_shards_cannot_do_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        build_question([rows(9, 0)], OUTLINE, replace(BASE, **changes))


def test_unusable_shards() -> None:
    with pytest.raises(InputError, match="no shards"):
        build_question([], OUTLINE, BASE)
    for shard, message in (
        (pl.DataFrame({"text": ["a"]}), "shard 1: no column 'answer'"),
        (pl.DataFrame({"answer": [1]}), "shard 1: column 'answer' is Int64: expected text"),
        ("nowhere.parquet", "shard 1: not a table or a Parquet file"),
        (object(), "shard 1: not a table or a Parquet file"),
    ):
        with pytest.raises(InputError, match=message):
            build_question([rows(9, 0), shard], OUTLINE, BASE)


def test_a_rule_may_remove_all_of_a_shard_but_not_of_all(tmp_path: Path) -> None:
    config = replace(BASE, steps=("normalise", *BASE.steps), singletons=Singletons(3, 0))
    good = pl.DataFrame({"answer": ["正しい答えです。"] * 3})
    bad = pl.DataFrame({"answer": ["this is English"] * 4})
    both = [good, bad]
    found = build_question(both, OUTLINE, config, examine="all")
    expected = here(pl.concat(both), config, tmp_path, OUTLINE)
    assert told(found, reports=True) == told(expected, reports=True)
    with pytest.raises(BuildError, match=r"question Q01: normalise: '.*' removes all 4 answers"):
        build_question([bad[:1], bad[1:]], OUTLINE, config)


def grouped(config: BuildConfig, table: pl.DataFrame) -> Any:
    """What an engine gets for the rows of each question, by id."""
    outlines = tuple(read_outlines(config.path(config.questions)))
    style, rules = finishing.configured_style(config), finishing.configured_rules(config)
    work = pickle.loads(
        pickle.dumps(QuestionGroups(config, "line", outlines, outlines, style, rules))
    )
    known = pl.DataFrame(work.identified(table.to_arrow()))
    parts = (work.grouped(own.to_arrow()) for _, own in known.group_by("question_id"))
    return {part["question_id"][0]: part["built"][0] for part in parts}


def test_rows_grouped_by_question_in_any_order(tmp_path: Path) -> None:
    config = prepare(tmp_path)
    built = build(config)
    table = pl.DataFrame(ROWS).with_row_index("line").sample(fraction=1.0, shuffle=True, seed=1)
    names = dict(zip((each.outline.question for each in built.questions), IDS, strict=True))
    table = table.with_columns(
        question=pl.when(pl.col("line") % 2 == 0)
        .then(pl.col("question").replace(names))
        .otherwise("question")
    )
    found = grouped(config, table)
    for question in built.questions:
        other = found[question.outline.question_id]
        assert told(other, reports=True) == told(question, reports=True)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"answer": None}, "the row with line 1800 has no answer"),
        ({"question": "?"}, r"question '\?': the row with line 1800: not the text or id"),
        ({"question": None}, "the row with line 1800: not the text or id"),
        ({"line": 7}, "the row with line 7 has the place of another row"),
        ({"line": None}, "the row with line None has no place in the order"),
    ],
)
def test_a_row_that_cannot_be_used_is_named(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    config = prepare(tmp_path)
    table = pl.DataFrame(ROWS).with_row_index("line")
    row = {**table.row(7, named=True), "line": 1800, **changes}
    table = pl.concat([table, pl.DataFrame([row], schema=table.schema)])
    errors = [each for each in grouped(config, table).values() if isinstance(each, InputError)]
    [error] = errors
    assert re.search(message, str(error)), str(error)
    if "answer" in changes or "question" in changes:
        found = grouped(replace(config, skip_bad_lines=True), table)
        assert sorted(found) == list(IDS)
        assert {type(each) for each in found.values()} == {BuiltQuestion}
