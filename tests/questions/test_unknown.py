"""Questions that a benchmark does not have: which one is meant, and where it is from."""

from __future__ import annotations

import json
import pickle
import time
from pathlib import Path

import pytest

import helpers
import small
from pfgen_rs import Benchmark, InputError, UnknownQuestionError, load_benchmark, scan, score_file
from pfgen_rs.questions import unknown
from pfgen_rs.questions.unknown import PUBLISHED_DIGESTS, digest

TEXT = "光合成とは何ですか？"  # Q02 of mini
INSTALL = "run 'pfgen-rs data install pfgen-bench', then use -b pfgen-bench"
MADE_UP = [f"公開された質問{i}とは？" for i in range(50)]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Nothing is installed here."""
    monkeypatch.setenv("PFGEN_RS_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def published(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Questions that are taken for the published ones, whose texts are not ours to ship."""
    monkeypatch.setattr(unknown, "_PUBLISHED_SET", set(map(digest, MADE_UP)))
    return MADE_UP


@pytest.fixture
def fresh() -> Benchmark:
    return load_benchmark("mini")


def message(benchmark: Benchmark, question: str) -> str:
    with pytest.raises(UnknownQuestionError) as caught:
        benchmark.score(question, "猫")
    assert caught.value.question == question
    return str(caught.value)


MISTYPED = [f"{TEXT}\n", f" {TEXT}", f"{TEXT}\u3000", TEXT.replace("？", "?")]


@pytest.mark.parametrize("asked", [*MISTYPED, "光合成って何ですか？"])
def test_the_nearest_question_is_named(fresh: Benchmark, asked: str) -> None:
    assert message(fresh, asked).startswith(
        f"question {asked!r}: benchmark 'mini' has no question with exactly this text or id; "
        f"the most similar one is Q02, '{TEXT}'; otherwise, choose another benchmark with -b"
    )


@pytest.mark.parametrize("asked", ["Q99", "Ｑ０２", "猫？"])
def test_where_none_is_near_the_ids_are_named(fresh: Benchmark, asked: str) -> None:
    assert "; its ids are Q01 to Q14; otherwise, choose another" in message(fresh, asked)


def test_benchmarks_are_named(tmp_path: Path, fresh: Benchmark) -> None:
    assert "benchmark 'mini' has" in message(pickle.loads(pickle.dumps(fresh)), "猫")
    folder = helpers.write_benchmark(tmp_path / "questions")
    assert str(folder) in message(load_benchmark(folder), "猫") or len(str(folder)) > 50
    assert "the benchmark has no" in message(small.benchmark({"answers": {"A": ["猫"]}}), "猫")


def test_a_published_question_is_recognised(
    published: list[str], fresh: Benchmark, cache: Path
) -> None:
    one = "1 of 1 questions are those of pfgen-bench"
    assert f"{one}: {INSTALL} (in Python," in message(fresh, published[6])
    assert one in message(fresh, published[6].replace("？", "?\n"))
    folder = cache / "benchmarks" / "pfgen-bench"
    folder.mkdir(parents=True)
    record = {"name": "pfgen-bench", "revision": "0", "files": {}}
    (folder / "installed.json").write_text(json.dumps(record), encoding="utf-8")
    assert f"{one}: use -b pfgen-bench (in Python, load_" in message(fresh, published[6])


CROWD = f"50 of 50 questions are those of pfgen-bench: {INSTALL}"


def test_a_file_of_published_questions_is_told_so(
    published: list[str], fresh: Benchmark, tmp_path: Path
) -> None:
    path = tmp_path / "trials.jsonl"
    path.write_bytes(helpers.lines([(text, "猫") for text in published * 2]))
    with pytest.raises(UnknownQuestionError, match=CROWD) as caught:
        score_file(path, fresh)
    assert caught.value.line == 1
    with pytest.raises(InputError, match=f"no line answers a question .*: {CROWD}"):
        score_file(path, fresh, skip_bad_lines=True)
    with pytest.raises(UnknownQuestionError, match=CROWD):
        scan(path, fresh).collect()
    frame = scan(path, fresh).select("question", "answer")
    with pytest.raises(UnknownQuestionError, match=CROWD):
        scan(frame, fresh).collect()
    with pytest.raises(UnknownQuestionError, match=f"row 0: .*{CROWD}"):
        fresh.score_batch(published, published)
    with pytest.raises(UnknownQuestionError, match=CROWD):
        fresh.evaluate(published, published)
    with pytest.raises(UnknownQuestionError, match=CROWD):
        fresh.scorer()(published, published)


def test_half_of_the_questions_are_enough(published: list[str], fresh: Benchmark) -> None:
    known = [question.id for question in fresh]
    for some, expected in ((14, "14 of 28 questions are"), (13, "1 of 1 questions are")):
        questions = [*known, *known, *published[:some]]
        with pytest.raises(UnknownQuestionError, match=expected):
            fresh.score_batch(questions, questions)


def test_who_has_the_published_questions_is_not_sent_there(published: list[str]) -> None:
    answers = {"A": ["猫"]}
    questions = [
        {"question_id": str(i), "question": text, "answers": answers}
        for i, text in enumerate(published)
    ]
    benchmark = small.benchmark(*questions)
    asked = [*published, published[4] + " "]
    with pytest.raises(UnknownQuestionError, match=f"similar one is 4, '{published[4]}'") as caught:
        benchmark.score_batch(asked, asked)
    assert "-b pfgen-bench" not in str(caught.value)
    part = small.benchmark(*questions[:30])
    asked = [*published[:30], "猫？"]
    with pytest.raises(UnknownQuestionError, match="its ids are") as caught:
        part.score_batch(asked, asked)
    assert "-b pfgen-bench" not in str(caught.value)


HOSTILE = ["あ" * 1_000_000, "光合成" * 130, "\ud800", "\0\u202e" * 100, "", "Q" * 10_000 + "2"]


@pytest.mark.parametrize("asked", HOSTILE, ids=range(len(HOSTILE)))
def test_messages_are_bounded_for_hostile_questions(fresh: Benchmark, asked: str) -> None:
    start = time.process_time()
    found = message(fresh, asked)
    assert time.process_time() - start < 2
    assert len(found) < 2000
    assert found.isprintable()
    question = {"question_id": "Q" * 999, "question": "光合成" * 10_000, "answers": {"A": ["猫"]}}
    assert len(message(small.benchmark(question), asked)) < 2500


def test_the_nearest_is_looked_for_a_few_times_a_file(
    fresh: Benchmark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    searches = []
    nearest = unknown.Lookalikes._nearest

    def counted(self: unknown.Lookalikes, asked: str) -> str | None:
        searches.append(asked)
        return nearest(self, asked)

    monkeypatch.setattr(unknown.Lookalikes, "_nearest", counted)
    path = tmp_path / "trials.jsonl"
    asked = [(f"光合成{i}って何ですか？", "猫") for i in range(100)]
    path.write_bytes(helpers.lines([*asked, ("Q02", "猫")]))
    result = score_file(path, fresh, skip_bad_lines=True)
    assert [question for question, _ in asked[:5]] == searches
    assert len(result.problems) == 100
    assert "nearest" in str(result.problems[4])
    assert "choose another benchmark" in str(result.problems[5])


@pytest.mark.published
def test_the_digests_are_those_of_the_published_questions(published_dir: Path) -> None:
    paths = sorted((published_dir / "data").glob("Q*.json"))
    texts = [json.loads(path.read_bytes())["question"] for path in paths]
    assert [digest(text) for text in texts] == list(PUBLISHED_DIGESTS)
    benchmark = load_benchmark("mini")
    assert "1 of 1 questions are those of pfgen-bench" in message(benchmark, texts[49])
    with pytest.raises(UnknownQuestionError, match="50 of 50 questions are those of pfgen-bench"):
        benchmark.score_batch(texts, texts)


def test_answers_of_the_bundled_set_scored_with_another_are_recognised(
    tmp_path: Path, mini: Benchmark
) -> None:
    other = load_benchmark(helpers.write_benchmark(tmp_path))
    use = "mini: use -b mini (in Python, load_benchmark('mini'))"
    with pytest.raises(UnknownQuestionError) as raised:
        other.evaluate([question.text for question in mini], ["猫"] * len(mini))
    assert f"14 of 14 questions are those of {use}" in str(raised.value)
    assert f"1 of 1 questions are those of {use}" in message(other, mini["Q02"].text)
