"""Questions by id, text or `Question`; of those that a benchmark lacks, which is meant."""

from __future__ import annotations

import json
import pickle
import time
from pathlib import Path
from typing import Any

import pytest

import helpers
import pfgen_rs
import small
from pfgen_rs import Benchmark, InputError, UnknownQuestionError, load_benchmark, scan, score_file
from pfgen_rs.errors import BenchmarkNotFoundError
from pfgen_rs.questions import unknown
from pfgen_rs.questions.unknown import PUBLISHED_DIGESTS, digest, explained
from pfgen_rs.report.answers import distinct_windows, run_answers, window_table
from pfgen_rs.report.site.benchmark_page import benchmark_page, references_payload

ODD: list[Any] = [5, None, ["Q02"], {"Q02"}, b"Q02"]


def test_a_question_is_found_by_id_by_text_and_by_itself(mini: Benchmark) -> None:
    question = mini["Q02"]
    for name in ("Q02", question.text, question):
        assert name in mini
        assert mini[name] is mini.find(name) is question
        assert mini.index(name) is mini.index("Q02")
        assert mini.score(name, "光合成") == mini.score("Q02", "光合成")
        assert mini.explain(name, "光合成").question_id == "Q02"


def test_other_questions_are_not_in_it(mini: Benchmark) -> None:
    other = small.question({"question_id": "Q02", "question": "だれ？", "answers": {"A": ["私"]}})
    for name in ("Q99", "光合成", "", other, *ODD):
        assert name not in mini
    for call in (mini.__getitem__, mini.find, mini.index):
        for name in ("Q99", other):
            with pytest.raises(UnknownQuestionError):
                call(name)
        for odd in ODD:
            with pytest.raises(InputError, match="expected its text, its id or a Question, not "):
                call(odd)


@pytest.mark.parametrize("odd", ODD, ids=repr)
def test_what_is_no_question_is_an_input_error(mini: Benchmark, odd: Any) -> None:
    with pytest.raises(InputError):
        mini.score(odd, "猫")
    with pytest.raises(InputError):
        mini.explain(odd, "猫")
    with pytest.raises(InputError):
        mini.score_batch([odd], ["猫"])


def test_a_question_of_another_benchmark_is_found_by_its_text(mini: Benchmark) -> None:
    text = mini["Q03"].text
    other = small.question({"question_id": "Q02", "question": text, "answers": {"A": ["私"]}})
    assert mini.find(other) is mini["Q03"]


def test_a_question_is_shown_in_a_line(mini: Benchmark) -> None:
    assert repr(mini["Q02"]) == (
        "Question('Q02', '光合成とは何ですか？', answers: {A: 1000}, rules: 4)"
    )
    sources = {f"S{i}": ["猫\n"] for i in range(1000)}
    hostile = small.question({"question": "\u202e\n" * 1000, "answers": sources})
    assert len(repr(hostile)) < 1000
    assert repr(hostile).isprintable()


def test_sample_runs_are_there_by_name(mini: Benchmark) -> None:
    runs = pfgen_rs.sample_runs()
    assert list(runs) == ["babbling", "careless", "faithful"]
    scores = [pfgen_rs.score_file(folder, mini).score for folder in runs.values()]
    assert sorted(scores) == scores
    assert all(folder.is_absolute() for folder in runs.values())


@pytest.mark.parametrize("name", ["pfgen_bench", "x" * 10_000], ids=len)
def test_unknown_benchmarks_are_named_with_what_shows_the_others(name: str) -> None:
    with pytest.raises(BenchmarkNotFoundError, match=f"'{name}'.*: .* 'pfgen-rs data list' shows"):
        pfgen_rs.load_benchmark(name)


QUESTION = {
    "question_id": "Q1",
    "question": "q?",
    "answers": {"S": ["abcd", "abc"], "P": ["abcx"], "T": ["xyz", "xyzz", "abcc"]},
}


def test_payloads_of_pages_keep_what_is_of_each_source_together() -> None:
    benchmark = small.benchmark(QUESTION)
    question = benchmark["Q1"]
    found = references_payload(question)
    assert found["sources"] == ["P", "T", "S"]
    assert found["answers"] == [list(question.answers[source]) for source in "PTS"]
    for gram, *counts in found["ngrams"]["3"]:
        frequency = question.index.document_frequency(gram).by_source
        assert counts == [frequency[source] for source in "PTS"]

    table = window_table(benchmark, "Q1", distinct_windows(["abcd"])).payload()
    assert (table["sources"], table["answers"]) == (["P", "T", "S"], [1, 3, 2])
    for i, column in enumerate(table["counts"]):
        for j, count in enumerate(column):
            window = table["text"][3 * j : 3 * j + 3]
            texts = [f"^{text}$" for text in question.answers["PTS"[i]]]
            assert count == sum(window in text for text in texts)


def test_shares_and_cuts_stay_with_their_source() -> None:
    [found] = run_answers(small.benchmark(QUESTION).evaluate(["q?"] * 2, ["abcd", "xyz"]))
    payload = found.payload()
    assert payload["sources"] == ["P", "T", "S"]
    columns = [f"{m}_{s}" for m in ("fluency", "truthfulness") for s in "PTS"] + ["helpfulness"]
    shares = [[round(v * 1e4) for v in found.scores[column]] for column in columns]
    assert payload["shares"] == shares
    cuts = found.cuts.T.tolist()
    assert payload["cuts"] == [cuts[i] for i in (1, 2, 0, 4, 5, 3, 6)]


def test_the_benchmark_page_has_a_legend_of_published_sources() -> None:
    page = benchmark_page(small.benchmark(QUESTION)).decode()
    assert "P = PLaMo-100b, T = Swallow-MX, S = stockmark-100b" in page
    assert explained(["P", "B"]) == ""
    assert "<td>P, T, S</td>" in page
    assert "PLaMo-100b" not in benchmark_page(load_benchmark("mini")).decode()


# Questions that a benchmark does not have: which one is meant, and where it is from.


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


def test_a_published_question_is_known(published: list[str], fresh: Benchmark, cache: Path) -> None:
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


def test_the_nearest_is_looked_for_a_few_times_a_file(fresh: Benchmark, tmp_path: Path) -> None:
    path = tmp_path / "trials.jsonl"
    asked = [(f"光合成{i}って何ですか？", "猫") for i in range(100)]
    path.write_bytes(helpers.lines([*asked, ("Q02", "猫")]))
    problems = score_file(path, fresh, skip_bad_lines=True).problems
    assert ["most similar" in str(each) for each in problems] == [True] * 5 + [False] * 95
    assert all("choose another benchmark" in str(each) for each in problems)


@pytest.mark.published
def test_the_digests_are_those_of_the_published_questions(published_dir: Path) -> None:
    paths = sorted((published_dir / "data").glob("Q*.json"))
    texts = [json.loads(path.read_bytes())["question"] for path in paths]
    assert [digest(text) for text in texts] == list(PUBLISHED_DIGESTS)
    benchmark = load_benchmark("mini")
    assert "1 of 1 questions are those of pfgen-bench" in message(benchmark, texts[49])
    with pytest.raises(UnknownQuestionError, match="50 of 50 questions are those of pfgen-bench"):
        benchmark.score_batch(texts, texts)


def test_answers_of_the_bundled_set_are_recognised(tmp_path: Path, mini: Benchmark) -> None:
    other = load_benchmark(helpers.write_benchmark(tmp_path))
    use = "mini: use -b mini (in Python, load_benchmark('mini'))"
    with pytest.raises(UnknownQuestionError) as raised:
        other.evaluate([question.text for question in mini], ["猫"] * len(mini))
    assert f"14 of 14 questions are those of {use}" in str(raised.value)
    assert f"1 of 1 questions are those of {use}" in message(other, mini["Q02"].text)
