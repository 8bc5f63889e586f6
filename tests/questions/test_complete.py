"""A set is complete in itself: files of any name say how it is scored, what it is and who wrote it."""

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from pfgen_rs import Benchmark, BenchmarkError, InputError, load_benchmark
from pfgen_rs.benchmark import load_for_scores
from pfgen_rs.questions.question import UnreadAnswers, id_problem

ROWS = [
    {"question": "Why is the sky blue?", "answer": answer, "model": model}
    for answer, model in [
        ("Air scatters blue light.", "org/a"),
        ("Blue light is scattered by air.", "org/b"),
        ("Blue light is what air scatters.", None),
    ]
]
SAID = {
    "name": "sky",
    "language": "en",
    "made_by": "We",
    "licence": "CC-BY-4.0",
    "citation": "We (2026)",
}


def saved(folder: Path, rows: Any = ROWS, **how: Any) -> Benchmark:
    Benchmark.from_references(rows, **how).save(folder)
    return load_benchmark(folder)


def test_what_a_set_says_is_saved_and_read(tmp_path: Path) -> None:
    made = Benchmark.from_references(ROWS, **SAID)  # type: ignore[arg-type]
    read = saved(tmp_path / "set", **SAID)
    assert read.signature == made.signature
    assert read.about == made.about
    assert read.about is not None
    assert {key: getattr(read.about, key) for key in SAID} == SAID
    [question] = read
    assert (question.models, question.makers) == (("org/a", "org/b"), {"X": (0, 1, None)})
    assert read.settings.unit == "word"


def test_who_says_nothing_gets_the_files_of_before(tmp_path: Path) -> None:
    rows = [{**row, "model": None} for row in ROWS]
    read = saved(tmp_path / "set", rows, unit="word")
    assert (read.about, read.models) == (None, [])
    assert set(json.loads((tmp_path / "set" / "Q01.json").read_bytes())) == {
        *("question_id", "question", "category", "note", "keywords", "scoring", "answers")
    }
    # as the version before sets said anything wrote these answers
    assert read.metadata_hash.startswith("a78daf3a")


LETTERS: dict[str, Any] = {**SAID, "unit": "character"}  # such sets are remembered
DIFFERENT: dict[str, tuple[Any, dict[str, Any]]] = {
    "scoring": (ROWS, {**LETTERS, "length": 9}),
    "skipped": (ROWS, {**LETTERS, "skipped": "^$"}),
    "set": (ROWS, {**LETTERS, "name": "air"}),
    "makers": ([{**row, "model": "org/a"} for row in ROWS], LETTERS),
}


@pytest.mark.parametrize("kind", DIFFERENT)
def test_sets_that_differ_in_what_they_say_share_no_index(
    kind: str, tmp_path: Path, cache: Path, settled: None
) -> None:
    rows, how = DIFFERENT[kind]
    one, other = saved(tmp_path / "one", **LETTERS), saved(tmp_path / "other", rows, **how)
    assert one["Q01"].answers == other["Q01"].answers
    answer = "Air scatters light , mostly if it is blue , and blue light is what air scatters !"
    for round_ in ("read", "remembered"):
        for bench, name in ((one, "one"), (other, "other")):
            assert bench.folder is not None
            known = load_for_scores(bench.folder).prepare()
            assert isinstance(known["Q01"].answers, UnreadAnswers) == (round_ == "remembered"), name
            assert known.signature == bench.signature
            assert known.index_path is not None
            assert known.index_path.exists()
            fresh = Benchmark(list(bench), bench.metadata_hash, bench.settings)
            assert known.score("Q01", answer).average == fresh.score("Q01", answer).average
    assert len(list((cache / "indexes").glob("*.pfgenidx"))) == 2
    assert one.signature != other.signature


@pytest.mark.parametrize("compressed", ["", ".gz"])
def test_names_need_not_begin_with_q(compressed: str, tmp_path: Path) -> None:
    rows = [{**ROWS[0], "question_id": f"finance-{i}.v1", "question": f"Why {i}?"} for i in (1, 2)]
    folder = tmp_path / "set"
    plain = saved(folder, rows)
    if compressed:
        for path in folder.glob("finance*"):
            path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
            path.unlink()
    for name in ("provenance.json", "installed.json", "notes.json", ".hidden.json", "deep.json/x"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text('{"question_id" :"x"}' * (name != "notes.json"))
    read = load_benchmark(folder)
    assert [question.id for question in read] == ["finance-1.v1", "finance-2.v1"]
    assert read.metadata_hash == plain.metadata_hash
    (folder / "more.json").write_text('{"question_id": "more"}')
    with pytest.raises(BenchmarkError, match=r"more\.json: missing key 'question'"):
        load_benchmark(folder)
    shutil.rmtree(folder)
    folder.mkdir()
    with pytest.raises(BenchmarkError, match="no question files"):
        load_benchmark(folder)


@pytest.mark.parametrize(
    "bad", ["", ".a", "-a", "a/b", "第1問", "a b", "x" * 62, "provenance", "CON"]
)
def test_names_that_no_question_can_have(bad: str) -> None:
    assert id_problem(bad) is not None
    with pytest.raises(InputError, match="invalid id"):
        Benchmark.from_references([{**ROWS[0], "question_id": bad or "/"}])
    assert id_problem("finance-01") is id_problem("a.b_c") is id_problem("Q01") is None


def test_ids_that_differ_in_case_alone() -> None:
    rows = [{**ROWS[0], "question_id": name, "question": f"{name}?"} for name in ("fin-A", "fin-a")]
    with pytest.raises(InputError, match="duplicate id 'fin-a'"):
        Benchmark.from_references(rows)
