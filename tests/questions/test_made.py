"""Benchmarks made of reference answers in memory: as any other, and as the folder that they are saved to."""

import itertools
import json
import pickle
import random
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import oracle
from pfgen_rs import (
    Benchmark,
    InputError,
    OutputError,
    Settings,
    SettingsError,
    load_benchmark,
    score_file,
)
from pfgen_rs.references.check.scores import reference_spread

PARTS = ["The sun|Our sun", " gives| sends", " light and| rays and", " heat.| warmth.|\u3000heat。"]
ANSWERS = ["".join(each) for each in itertools.product(*(part.split("|") for part in PARTS))]
REFERENCES = {"What does the sun do?": ANSWERS[:12], "太陽は何をしますか？": ANSWERS[6:]}
RULES: dict[str, Any] = {
    "Q01": ["light", {"or": ["heat", {"t": "warm(th)?"}], "importance": 0.5}],
    "太陽は何をしますか？": [{"and": ("sun", {"t": "rays", "name": "rays"})}],
}
ROWS = [{"question": q, "answer": answer} for q, own in REFERENCES.items() for answer in own]
LISTS = [{"question": q, "answers": own} for q, own in REFERENCES.items()]
SOURCES = [{"question": q, "answers": {"X": own}} for q, own in REFERENCES.items()]


def pandas(rows: list[dict[str, Any]]) -> Any:
    return pytest.importorskip("pandas").DataFrame(rows)


def dataset(rows: list[dict[str, Any]]) -> Any:
    return pytest.importorskip("datasets").Dataset.from_list(rows)


FORMS: dict[str, Callable[[], Any]] = {
    "mapping": lambda: REFERENCES,
    "by source": lambda: {q: {"X": tuple(own)} for q, own in REFERENCES.items()},
    "series": lambda: {q: pl.Series(own) for q, own in REFERENCES.items()},
    "dicts": lambda: ROWS,
    "iterator": lambda: iter(ROWS),
    "dicts of lists": lambda: LISTS,
    "columns": lambda: pl.DataFrame(ROWS).to_dict(),
    "polars": lambda: pl.DataFrame(ROWS),
    "lazy": lambda: pl.LazyFrame(ROWS),
    "polars lists": lambda: pl.DataFrame(LISTS),
    "polars structs": lambda: pl.DataFrame(SOURCES),
    "arrow": lambda: pl.DataFrame(ROWS).to_arrow(),
    "pandas": lambda: pandas(ROWS),
    "pandas lists": lambda: pandas(LISTS),
    "dataset": lambda: dataset(ROWS),
    "dataset of lists": lambda: dataset(LISTS),
}


@pytest.fixture(scope="module")
def made() -> Benchmark:
    return Benchmark.from_references(REFERENCES, rules=RULES)


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_all_forms_make_the_same_benchmark(form: Callable[[], Any], made: Benchmark) -> None:
    assert Benchmark.from_references(form(), rules=RULES).signature == made.signature


def test_scores_are_those_of_the_specification(made: Benchmark, tmp_path: Path) -> None:
    for path in sorted(made.save(tmp_path / "set").glob("*.json")):
        content = json.loads(path.read_bytes())
        sizes = {k: content["scoring"][k] for k in ("target_length", "zero_length", "max_length")}
        plain = oracle.Question(content, oracle.Settings(**sizes))
        for answer in ("The sun sends rays and warmth.", "Our moon gives light.", "x" * 90):
            assert made.score(content["question"], answer).average == plain.score(answer)["average"]


def test_files_are_as_published(mini: Benchmark, tmp_path: Path) -> None:
    """What the bundled files hold, given as rows, makes files of their bytes."""
    keys = ("category", "note", "keywords", "answers")
    rows = [{"question_id": q.id, "question": q.text} | {k: vars(q)[k] for k in keys} for q in mini]
    again = Benchmark.from_references(rows)
    assert (again.metadata_hash, again.settings) == (mini.metadata_hash, Settings())
    assert load_benchmark(again.save(tmp_path / "a")).signature == mini.signature
    assert load_benchmark(mini.save(tmp_path / "b")).signature == mini.signature


@pytest.mark.parametrize(
    ("how", "part"),
    [
        ({}, "n:1-10|t:3|length:29-43-58|helpfulness:none"),
        ({"rules": {"Q02": ["sun"]}}, "n:1-10|t:3|length:29-43-58"),
        ({"n": "2-4", "length": 100}, "n:2-4|t:3|helpfulness:none"),
        ({"unit": "word", "n": (1, 30)}, "n:1-30|t:3|unit:word|length:7-10-30|helpfulness:none"),
    ],
)
def test_a_saved_set_is_the_same_benchmark(how: Any, part: str, tmp_path: Path) -> None:
    bench = Benchmark.from_references(REFERENCES, **how)
    assert bench.signature.split("|", 3)[3].rpartition("|")[0] == part
    loaded = load_benchmark(bench.save(tmp_path / "set"))
    assert (loaded.signature, loaded.settings) == (bench.signature, bench.settings)
    rows = {"question": list(REFERENCES) * 5, "answer": ANSWERS[:10]}
    assert loaded.evaluate(rows).to_bytes(allow_partial=True) == bench.evaluate(rows).to_bytes(
        allow_partial=True
    )
    assert bench.save(tmp_path / "set") == tmp_path / "set"  # again: nothing happens
    assert bench.index_path is None


def test_tokens_and_several_sources(tmp_path: Path) -> None:
    rows = [
        {"question": "q", "answer": [1, 2, 3]},
        {"question": "q", "answer": [2, 3], "source": "B"},
    ]
    bench = Benchmark.from_references(rows, unit="token", source="A")
    assert bench.sources == ["A", "B"]
    assert bench.score("q", [1, 2, 3]).average > bench.score("q", [3, 2, 1]).average
    assert load_benchmark(bench.save(tmp_path / "set")).signature == bench.signature


def test_other_processes_score_alike(made: Benchmark, tmp_path: Path) -> None:
    rows = {"question": list(REFERENCES) * 5, "answer": ANSWERS[:10]}
    result = made.evaluate(rows)
    assert pickle.loads(pickle.dumps(result)).score == result.score
    path = tmp_path / "run.parquet"
    pl.DataFrame(rows).write_parquet(path)
    assert score_file(path, made).score == result.score
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        assert pool.submit(made.evaluate, rows).result().score == result.score
    assert made.scorer()(rows["question"], rows["answer"]).mean() == pytest.approx(
        result.score, abs=1e-4
    )
    assert made.explain("Q01", ANSWERS[0]).score.average == made.score("Q01", ANSWERS[0]).average


NAN = float("nan")
WRONG: list[tuple[Any, str]] = [
    ({}, "no questions"),
    (None, "a table, or dicts, not NoneType"),
    ("a.jsonl", "not str: read files first"),
    ([("q", ["a"])], "row 0: expected a dict, not tuple"),
    ({5: ["a"]}, "expected a text called 'question', not 5"),
    ({"q": "one answer"}, "question 'q': expected a list of answers, not 'one answer'"),
    ({"q": []}, "question 'q': no reference answers"),
    ({"q": ["a", " "]}, "question 'q': answer 1: expected a text, not ' '"),
    ({"q": ["a", None]}, "question 'q': answer 1: expected a text, not None"),
    ({"q": ["a", "\ud800"]}, "question 'q': answer 1 of source 'X' contains a lone surrogate"),
    ({"q": ["a"], "q ": ["b"]}, "question 'q ': duplicate question"),
    ([{"prompt": "q", "text": "a"}], "row 0: expected .* not None: found 'prompt', 'text'"),
    ([{"question": "q", "text": "a"}], "row 0, question 'q': expected an 'answer', or a list"),
    ([{"question": "q", "answer": ["a"]}], "lists are called 'answers'"),
    ([{"question": "q", "answer": "a"}, {"question": "q", "answer": NAN}], "row 1, .* not nan"),
    (pl.DataFrame({"question": ["q", None], "answer": ["a", "b"]}), "row 1: expected a text"),
    ([LISTS[0], LISTS[0]], "row 1, question .*: duplicate question"),
    ([{**ROWS[0], "category": "a"}, {**ROWS[0], "category": "b"}], "two values of 'category'"),
    ([{**ROWS[0], "question_id": 7}], "'question_id' must be text, not 7"),
    ([{**LISTS[0], "question_id": "QA"}, {**LISTS[1], "question_id": "Qa"}], "duplicate id 'Qa'"),
]


@pytest.mark.parametrize(("references", "problem"), WRONG, ids=[problem for _, problem in WRONG])
def test_wrong_references(references: Any, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        Benchmark.from_references(references)


@pytest.mark.parametrize(
    ("rules", "problem"),
    [
        (["sun"], "rules: expected a mapping of questions"),
        ({"Q01": "sun"}, "question 'What does the sun do.': rules must be a list of rules"),
        ({"Q01": [{"or": ["a", {"tt": "b"}]}]}, r"rules\[0\].or\[1\]: unknown rule {'tt': 'b'}"),
        ({"Q01": ["(a"]}, r"rules\[0\]: invalid regular expression '\(a'"),
        ({"What does the sun?": ["a"]}, "did you mean 'What does the sun do.'"),
        ({"Q01": ["a"], "What does the sun do?": ["a"]}, "rules are given twice"),
    ],
)
def test_wrong_rules(rules: Any, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        Benchmark.from_references(REFERENCES, rules=rules)


@pytest.mark.parametrize("n", ["10-1", 5, (0, 2), "a"])
def test_wrong_lengths_of_ngrams(n: Any) -> None:
    with pytest.raises(SettingsError, match="expected MIN-MAX, such as 1-10"):
        Benchmark.from_references(REFERENCES, n=n)


def test_saving_never_overwrites_another_set(made: Benchmark, tmp_path: Path) -> None:
    other = Benchmark.from_references({"q": ["a b c"]}, length=100)
    folder = other.save(tmp_path / "set")
    before = {path: path.read_bytes() for path in folder.iterdir()}
    with pytest.raises(OutputError, match="contains another set"):
        made.save(folder)
    assert {path: path.read_bytes() for path in folder.iterdir()} == before
    (tmp_path / "file").touch()
    for place, problem in ((tmp_path / "file", "not a directory"), ("s3://a/b", "is a URL")):
        with pytest.raises(OutputError, match=problem):
            made.save(place)
    with pytest.raises(SettingsError, match="max_n 10, not 3"):
        other.with_settings({"max_n": 3}).save(tmp_path / "new")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "set"]


def test_the_spread_is_that_of_sets_drawn_anew() -> None:
    """One set estimates how the scores of an answer differ over sets from the same distribution."""
    draw, questions = random.Random(5), [f"Question {i}?" for i in range(8)]
    slots = [[f"a{s}{c} b{s}{c} c{s}{c}" for c in range(6)] for s in range(5)]

    def answer() -> str:
        return " ".join(draw.choices(slot, range(6, 0, -1))[0] for slot in slots)

    def bench() -> Benchmark:
        own = {question: [answer() for _ in range(60)] for question in questions}
        return Benchmark.from_references(own, unit="word", length=15)

    answers = [answer() for _ in range(50)]
    rows = {"question": [q for q in questions for _ in answers], "answer": answers * 8}
    scores = np.array([bench().score_batch(rows)["average"] for _ in range(20)])
    truth = np.sqrt(scores.var(axis=0, ddof=1).mean())
    found = [reference_spread(bench())["spread"] for _ in range(3)]
    assert np.sqrt(np.square(found).mean()) == pytest.approx(truth, rel=0.25)


def test_a_check_says_what_is_missing() -> None:
    mixed = {"何？": [*ANSWERS[:6], "太陽です。"], "Why?": ANSWERS[6:8]}
    bench = Benchmark.from_references(mixed)
    found = bench.check()
    assert (
        "answers are in different scripts: 6 in Latin, 1 in kana or kanji" in found.problems["Q01"]
    )
    assert "source 'X' has only 2 answers" in found.problems["Q02"]
    text = str(found)
    for said in (
        "in Latin, kana or kanji",
        "too few reference answers to measure",
        "no question has keyword rules: Helpfulness is left out",
        "no example answer: 2 of 2 questions",
        f"Q02: {found.problems['Q02']}",
    ):
        assert said in text
    assert text.splitlines()[-1] == bench.signature
    enough = Benchmark.from_references({"何？": ANSWERS}, rules={"Q01": ["sun"]}).check()
    assert "(here 24 of a source, or more), the score of a run with one answer" in str(enough)
