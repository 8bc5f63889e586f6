"""What can be named to be scored, and finished trials packed: nothing lost, nothing taken."""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import Any

import datasets
import polars as pl
import pytest
from hypothesis import given, settings, strategies as st

from checkouts import FIRST, add_run, contents, line, make_checkout, text
from helpers import CATS, GOOD, SEAS, lines, pfgen, write_run
from pfgen_rs import InputError, load_benchmark, scan, score_file, score_runs
from pfgen_rs.io.run_files import expand_runs, is_trial_file, packed_trials
from pfgen_rs.report.update import report

TRIALS = [text(GOOD[:2]), text(GOOD[2:])]
SORTED = b"".join(sorted(b"".join(TRIALS).splitlines(keepends=True)))


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run whose trials are finished but not packed."""
    for number, content in enumerate(TRIALS, 1):
        (tmp_path / f"trial_{number:03d}.jsonl").write_bytes(content)
    return tmp_path


def unpacked(run: Path) -> bytes:
    content, _ = packed_trials(run, 2)
    assert content is not None
    return lzma.decompress(content)


@settings(max_examples=30)
@given(
    st.lists(
        st.lists(st.text(st.characters(codec="utf-8")), min_size=2, max_size=2),
        min_size=1,
        max_size=5,
    )
)
def test_any_answers(tmp_path_factory: pytest.TempPathFactory, trials: list[list[str]]) -> None:
    run = tmp_path_factory.mktemp("run")
    for number, answers in enumerate(trials):
        (run / f"trial_{number}.jsonl").write_bytes(text([(CATS, answer) for answer in answers]))
    every = [line(CATS, answer) for answers in trials for answer in answers]
    assert unpacked(run).split(b"\n") == [*sorted(every), b""]


def test_what_is_packed_stays(run: Path) -> None:
    (run / "trials.jsonl.xz").write_bytes(lzma.compress(SORTED, preset=0))
    assert packed_trials(run, 2) == (None, [])


@pytest.mark.parametrize(
    ("name", "before"),
    [("x", b""), ("trials.jsonl.xz", lzma.compress(TRIALS[0])), ("trials.jsonl", TRIALS[0])],
    ids=["none", "packed before", "plain, which trial files count more than"],
)
def test_all_lines_of_trials_are_sorted_bytewise(name: str, before: bytes, run: Path) -> None:
    (run / name).write_bytes(before)
    assert unpacked(run) == SORTED


def test_plain_responses_keep_their_order(tmp_path: Path) -> None:
    (tmp_path / "trials.jsonl").write_bytes(b"".join(TRIALS))
    assert unpacked(tmp_path) == b"".join(TRIALS)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        TRIALS[1][:-1],
        TRIALS[1][:-40],
        line(*GOOD[2]) + b"\n",
        TRIALS[1] + line(*GOOD[0]) + b"\n",
    ],
    ids=["empty", "no line end", "cut short", "a line too few", "a line too many"],
)
def test_unfinished_trials_are_left_out(run: Path, content: bytes) -> None:
    (run / "trial_002.jsonl").write_bytes(content)
    made, unfinished = packed_trials(run, 2)
    assert made is not None
    assert unfinished == [run / "trial_002.jsonl"]
    assert lzma.decompress(made).splitlines() == sorted(TRIALS[0].splitlines())


def test_names_of_trials() -> None:
    names = ["trial_001.jsonl", "trial_1000.jsonl", "trial_001.jsonl.tmp", ".trial_001.jsonl"]
    names += ["trial_.jsonl", "trials.jsonl", "trial_١.jsonl"]
    assert list(filter(is_trial_file, names)) == names[:2]


@pytest.mark.parametrize(
    ("packed", "words"),
    [
        (
            lzma.compress(SORTED + line(SEAS, "空の色です。") + b"\n" + SORTED),
            "has 5 lines that .* remove this file",
        ),
        (lzma.compress(SORTED)[:-9], "the compressed data is damaged or cut short"),
    ],
)
def test_nothing_that_is_nowhere_else_is_overwritten(packed: bytes, words: str, run: Path) -> None:
    (run / "trials.jsonl.xz").write_bytes(packed)
    with pytest.raises(InputError, match=rf"trials\.jsonl\.xz: {words}"):
        packed_trials(run, 2)


def test_a_run_of_trial_files_is_scored(tmp_path: Path) -> None:
    checkout = make_checkout(tmp_path / "checkout")
    run, plain = checkout / FIRST, add_run(checkout, "result/plain/model/0000000")
    (run / "trials.jsonl").unlink()
    for number, content in enumerate([*TRIALS, TRIALS[0][:-1]], 1):
        (run / f"trial_{number:03d}.jsonl").write_bytes(content)
    (plain / "trials.jsonl").write_bytes(SORTED)
    before = contents(run)
    done = pfgen("report", checkout)
    told = "3 runs: 3 scored; 13 files written in the checkout\n"
    assert (done.returncode, done.stdout) == (0, told)
    warnings = [line for line in done.stderr.splitlines() if not line.startswith("scoring ")]
    told = f"warning: {run / 'trial_003.jsonl'}: skipped, because it is not finished"
    assert warnings[0].startswith(told)
    assert contents(run).items() >= before.items()
    for name in ("result.json", "trials.jsonl.xz"):
        assert (run / name).read_bytes() == (plain / name).read_bytes()
    assert report(checkout).written == []


def test_a_run_that_has_just_begun_is_no_run_yet(tmp_path: Path) -> None:
    checkout = make_checkout(tmp_path / "checkout")
    run = add_run(checkout, "result/new/model/0000000")
    (run / "trials.jsonl").unlink()
    for trial in (None, TRIALS[0][:-1]):
        if trial is not None:
            (run / "trial_001.jsonl").write_bytes(trial)
        before = contents(run)
        done = report(checkout)
        assert (done.problems, len(done.runs)) == ([], 2)
        assert contents(run) == before


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


def test_a_folder_of_runs_is_all_of_them(runs: Path, bench: Path) -> None:
    expected = [str(runs / name) for name in ("a/deep", "a/other", "b")]
    assert expand_runs([str(runs)]) == expected
    assert expand_runs([str(runs / "b"), str(runs)]) == [expected[2], *expected[:2]]
    paths = [f"{path}/trials.jsonl" for path in expected]
    for named in (runs, [*expected]):
        assert [result.path for result in score_runs(named, bench)] == paths
    done = pfgen("score", runs, "-b", bench, "--format", "json")
    assert {row["name"] for row in json.loads(done.stdout)} == {"deep", "other", "b"}
    scanned = scan(runs, bench).select("file").unique(maintain_order=True).collect()
    assert scanned["file"].to_list() == paths


def test_other_folders_are_explained(runs: Path, bench: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"but contains 3 runs in subfolders: score them with sco"):
        score_file(runs, bench)
    (tmp_path / "loose").mkdir()
    with pytest.raises(InputError, match=r"loose: the folder has none of .*: it has no files"):
        score_runs(tmp_path / "loose", bench)
    (runs / "c").mkdir()
    (runs / "c" / "trial_001.jsonl").write_bytes(lines())  # which would be missing
    with pytest.raises(InputError, match=r"c: the run has 1 finished trial .* resume"):
        score_runs(runs, bench)


def test_a_list_of_paths_is_a_list_of_runs(runs: Path, bench: Path) -> None:
    paths: Any = [runs / "b", runs / "a" / "deep"]
    found = score_runs(paths, bench)
    assert [result.height for result in found] == [4, 2]
    assert [result.score for result in found] == [score_file(p, bench).score for p in paths]
    with pytest.raises(InputError, match="several runs: score them with score_runs"):
        score_file(paths, bench)


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


NEITHER = "missing 'question' and 'answer': found 'q', 'a'; choose others with --question-field and"
ADVICE = r"found 'q', 'a'; choose another with --answer-field \(in Python: answer_field=\)"


@pytest.mark.parametrize("name", MEMORY)
def test_fields_in_memory(name: str, bench: Path) -> None:
    loaded, data = load_benchmark(bench), MEMORY[name]
    assert loaded.score_batch(data, **FIELDS).height == len(GOOD)
    assert loaded.evaluate(data, **FIELDS).score == score_file(data, bench, **FIELDS).score
    for fields, said in (({}, NEITHER), ({"question_field": "q"}, ADVICE)):
        with pytest.raises(InputError, match=said):
            loaded.score_batch(data, **fields)


@pytest.mark.parametrize("name", FILES)
def test_fields_in_files(name: str, bench: Path, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(FILES[name])
    assert score_file(path, bench, **FIELDS).height == len(GOOD)
    with pytest.raises(InputError, match=ADVICE):
        score_file(path, bench, question_field="q")


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
def test_what_is_no_table(data: Any, problem: str, bench: Path) -> None:
    with pytest.raises(InputError, match=problem):
        load_benchmark(bench).score_batch(data)


def test_no_rows_and_several_splits(bench: Path) -> None:
    assert load_benchmark(bench).score_batch([]).height == 0
    split = datasets.DatasetDict(test=MEMORY["Dataset"])
    with pytest.raises(InputError, match="choose one of 'test'"):
        score_file(split, bench)
    with pytest.raises(InputError, match="no responses"):
        score_file([], bench)
