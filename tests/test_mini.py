"""The grammar engine and the bundled benchmark that is made with it."""

import json
import lzma
import random
from pathlib import Path

import pytest

import build_mini
from grammar import QuestionGrammar, load, loads
from pfgen_rs import Benchmark, Settings, load_benchmark
from places import ROOT
from quality import qualities, table

DATA = ROOT / "data"
MINI = DATA / "mini"
GRAMMARS = sorted((MINI / "grammar").glob("Q*.toml"))
RUNS = ("babbling", "careless", "faithful")

HEADER = """
question_id = "Q01"
question = "何ですか？"
category = "math"
note = "例です。"
keywords = [{ t = "例" }]
"""


def grammar_file(source: str, header: str = HEADER) -> QuestionGrammar:
    return loads(f"{header}\n[sources.A]\n{source}", path="Q01.toml")


def unpacked(path: Path) -> str:
    return lzma.decompress(path.read_bytes()).decode()


# The engine.


def test_a_rule_is_drawn_anew_at_every_mention() -> None:
    grammar = grammar_file('start = ["{x}{x}"]\nrules.x = ["あ", "い"]').sources["A"]
    rng = random.Random(1)
    assert {grammar.sample(rng) for _ in range(200)} == {"ああ", "あい", "いあ", "いい"}
    assert grammar.derivations() == 4


def test_fields_of_a_record_come_from_one_row() -> None:
    rows = 'records.p = [{ a = "1", b = "一" }, { a = "2", b = "二" }]'
    grammar = grammar_file(f'start = ["{{p.a}}{{x}}{{p.a}}"]\nrules.x = ["{{p.b}}"]\n{rows}')
    rng = random.Random(1)
    assert {grammar.sources["A"].sample(rng) for _ in range(100)} == {"1一1", "2二2"}
    assert grammar.sources["A"].derivations() == 2


def test_only_random_random_is_drawn() -> None:
    class Halves(random.Random):
        def random(self) -> float:
            return 0.5

        def getrandbits(self, k: int, /) -> int:
            del k
            raise AssertionError("its sequence is not promised to stay the same")

    grammar = grammar_file('start = ["{x}"]\nrules.x = ["あ", "い", "う"]').sources["A"]
    assert grammar.sample(Halves()) == "い"


# The files made from them.


@pytest.mark.parametrize("path", GRAMMARS, ids=lambda path: path.stem)
def test_question_files_have_the_published_shape(path: Path, mini: Benchmark) -> None:
    text = unpacked(MINI / f"{path.stem}.json.xz")
    question = json.loads(text)
    keys = ["question_id", "question", "category", "note", "keywords", "answers"]
    assert list(question) == keys
    assert text == json.dumps(question, ensure_ascii=False, indent=2)
    assert list(question["answers"]) == list(load(path).sources)
    for answers in question["answers"].values():
        assert len(answers) == len(set(answers)) == 1_000
        assert all(90 <= len(answer) <= 110 for answer in answers)
    assert mini.score(question["question_id"], question["note"]).helpfulness == 1.0


@pytest.mark.parametrize("run", RUNS)
def test_a_run_has_ten_trials_of_every_question(run: str) -> None:
    config = (MINI / "runs" / run / "config.json").read_text(encoding="utf-8")
    model = f'{{"engine": "grammar", "mode": "completion", "model": "mini/{run}"}}\n'
    assert config == model
    lines = unpacked(MINI / "runs" / run / "trials.jsonl.xz").splitlines(keepends=True)
    assert lines == sorted(lines, key=str.encode)
    trials = [json.loads(line) for line in lines]
    pairs = {(trial["question"], trial["timestamp"]) for trial in trials}
    stamps = {f"2026-01-01T00:{trial:02d}:00" for trial in range(10)}
    questions = {load(path).question for path in GRAMMARS}
    assert len(lines) == len(pairs) == 140
    assert pairs == {(question, stamp) for question in questions for stamp in stamps}
    assert all(trial["answer"] for trial in trials)


@pytest.mark.slow
@pytest.mark.parametrize("name", build_mini.SETS)
def test_a_rebuild_has_the_candidates_of_what_is_kept(name: str) -> None:
    """What is chosen of them has changed since; the sets at hand stay, so that their scores do."""
    rebuilt = json.loads(build_mini.contents_of(DATA / name)["provenance.json"])
    kept = json.loads((DATA / name / "provenance.json").read_bytes())
    assert rebuilt["inputs"] == kept["inputs"]
    for question_id, question in kept["questions"].items():
        again = rebuilt["questions"][question_id]["steps"]
        for one, other in zip(question["steps"], again, strict=True):
            counts = "step", "before", "after"
            if one["step"] not in ("length", "select"):
                assert [one[key] for key in counts] == [other[key] for key in counts]


def test_steps_find_what_was_spoilt() -> None:
    found = {each.step: each for each in qualities((MINI / "provenance.json").read_bytes())}
    for step, recall, precision in (
        ("normalise", 0.99, 0.99),
        ("rules", 0.99, 0.99),
        ("singletons", 0.8, 0.99),
        ("length", 0.95, 0.05),
    ):
        assert found[step].recall >= recall, step
        assert found[step].precision >= precision, step
    page = (MINI / "README.md").read_text(encoding="utf-8")
    assert table((MINI / "provenance.json").read_bytes()) in page


def test_english_answers_are_measured_in_words() -> None:
    benchmark = load_benchmark(DATA / "mini-en")  # the set says that its units are words
    assert (
        benchmark.signature
        == load_benchmark(DATA / "mini-en", settings=Settings(unit="word")).signature
    )
    assert len(benchmark) == 3
    for question in benchmark:
        [answers] = question.answers.values()
        assert len(set(answers)) == 1_000
        lengths = benchmark._coder.lengths(list(answers))
        assert 90 <= lengths.mean() <= 110
        found = benchmark.score(question.id, question.note)
        assert "|unit:word|" in found.signature
        assert found.helpfulness == 1.0
        assert found.average > 0.75
