"""What can be named to be scored: folders of runs, lists of paths; fields under other names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import datasets
import polars as pl
import pytest

from helpers import GOOD, lines, pfgen, write_benchmark, write_run
from pfgen_rs import InputError, load_benchmark, scan, score_file, score_runs
from pfgen_rs.io.run_files import expand_runs


@pytest.fixture
def benchmark(tmp_path: Path) -> Path:
    return write_benchmark(tmp_path / "tiny")


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """A folder with three runs below it, and other things."""
    root = tmp_path / "runs"
    for name, count in (("b", 4), ("a/deep", 2), ("a/other", 4)):
        write_run(root / name, GOOD[:count])
    write_run(root / ".hidden")
    write_run(root / "b" / "checkpoint")  # belongs to the run b
    (root / "README.md").write_text("# runs")
    return root


def test_a_folder_of_runs_is_all_of_them(runs: Path, benchmark: Path) -> None:
    expected = [str(runs / name) for name in ("a/deep", "a/other", "b")]
    assert expand_runs([str(runs)]) == expected
    assert expand_runs([str(runs / "b"), str(runs)]) == [expected[2], *expected[:2]]
    results = score_runs(runs, benchmark)
    assert [result.path for result in results] == [f"{path}/trials.jsonl" for path in expected]
    assert [result.path for result in score_runs([*expected], benchmark)] == [
        result.path for result in results
    ]
    done = pfgen("score", runs, "-b", benchmark, "--format", "json")
    assert {row["name"] for row in json.loads(done.stdout)} == {"deep", "other", "b"}
    scanned = scan(runs, benchmark).select("file").unique(maintain_order=True).collect()
    assert scanned["file"].to_list() == [result.path for result in results]


def test_a_run_that_is_not_packed_would_be_missing(runs: Path, benchmark: Path) -> None:
    (runs / "c").mkdir()
    (runs / "c" / "trial_001.jsonl").write_bytes(lines())
    with pytest.raises(InputError, match=r"c: the run has 1 finished trial .* resume"):
        score_runs(runs, benchmark)


def test_other_folders_are_explained(runs: Path, benchmark: Path, tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"but contains 3 runs in subfolders: score them with score_runs"
    ):
        score_file(runs, benchmark)
    (tmp_path / "loose").mkdir()
    for name in "abcd":
        (tmp_path / "loose" / f"{name}.jsonl").write_bytes(lines())
    with pytest.raises(InputError, match=r"score instead: a\.jsonl, b\.jsonl, c\.jsonl, …"):
        score_runs(tmp_path / "loose", benchmark)


def test_a_list_of_paths_is_a_list_of_runs(runs: Path, benchmark: Path) -> None:
    paths: Any = [runs / "b", runs / "a" / "deep"]
    found = score_runs(paths, benchmark)
    assert [result.height for result in found] == [4, 2]
    assert [result.score for result in found] == [score_file(p, benchmark).score for p in paths]
    with pytest.raises(InputError, match="several runs: score them with score_runs"):
        score_file(paths, benchmark)


def test_several_splits_are_refused(benchmark: Path) -> None:
    split = datasets.Dataset.from_dict({"question": ["Q01"], "answer": [""]})
    with pytest.raises(InputError, match="choose one of 'test'"):
        score_file(datasets.DatasetDict(test=split), benchmark)


RECORDS = [{"q": question, "a": answer} for question, answer in GOOD]
MEMORY: dict[str, Any] = {
    "list of dicts": RECORDS,
    "DataFrame": pl.DataFrame(RECORDS),
    "LazyFrame": pl.LazyFrame(RECORDS),
    "Dataset": datasets.Dataset.from_list(RECORDS),
}
FILES = {
    "a.jsonl": "".join(json.dumps(record) + "\n" for record in RECORDS).encode(),
    "a.json": json.dumps(RECORDS).encode(),
    "a.csv": pl.DataFrame(RECORDS).write_csv().encode(),
    "a.tsv": pl.DataFrame(RECORDS).write_csv(separator="\t").encode(),
}
FIELDS: dict[str, Any] = {"question_field": "q", "answer_field": "a"}
ADVICE = r"found 'q', 'a'; choose another with --{}-field \(in Python: {}_field=\)"


@pytest.mark.parametrize("name", MEMORY)
def test_fields_in_memory(name: str, benchmark: Path) -> None:
    bench = load_benchmark(benchmark)
    assert bench.score_batch(MEMORY[name], **FIELDS).height == len(GOOD)
    assert (
        bench.evaluate(MEMORY[name], **FIELDS).score
        == score_file(MEMORY[name], bench, **FIELDS).score
    )
    cases: list[tuple[str, dict[str, Any]]] = [
        ("question", {}),
        ("answer", {"question_field": "q"}),
    ]
    for field, given in cases:
        with pytest.raises(InputError, match=ADVICE.format(field, field)):
            bench.score_batch(MEMORY[name], **given)


@pytest.mark.parametrize("name", FILES)
def test_fields_in_files(name: str, benchmark: Path, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(FILES[name])
    assert score_file(path, benchmark, **FIELDS).height == len(GOOD)
    with pytest.raises(InputError, match=ADVICE.format("answer", "answer")):
        score_file(path, benchmark, question_field="q")


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        ([1, 2], "found int in row 0"),
        (["Q01", "Q02"], "found str in row 0"),
        ([{"question": "Q01", "answer": "x"}, {"question": "Q01"}], "row 1: missing key 'answer'"),
        (3, "found int"),
        ("run.jsonl", "use score_file for files"),
        (None, "found NoneType"),
        ([{"question": 1, "answer": "x"}], "invalid questions: expected text"),
    ],
)
def test_what_is_no_table(data: Any, problem: str, benchmark: Path) -> None:
    with pytest.raises(InputError, match=problem):
        load_benchmark(benchmark).score_batch(data)


def test_no_rows(benchmark: Path) -> None:
    assert load_benchmark(benchmark).score_batch([]).height == 0
    with pytest.raises(InputError, match="no responses"):
        score_file([], benchmark)
