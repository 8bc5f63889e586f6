"""Scores as columns of Arrow data: layouts of text, splits into batches, other processes, bad rows."""

import json
import pickle
import random
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest
from hypothesis import given, settings as examples, strategies as st
from polars.testing import assert_frame_equal

import pfgen_rs
from helpers import python, write_benchmark
from pfgen_rs import Benchmark, InputError, Settings, SettingsError, UnknownQuestionError
from pfgen_rs.errors import BenchmarkError
from pfgen_rs.integrations.arrow import ArrowScorer, scorer
from pfgen_rs.metrics.settings import score_names
from places import DOCS
from told import section

PAGE = DOCS / "how-to" / "scale.md"
EXAMPLES = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.M)
ENGINE = re.compile(r"^(?:import|from) (\w+)")
SMALL = 1_000
"""Bytes that a pickle may have."""

LAYOUTS: dict[str, Callable[[Sequence[str | None]], pa.Array]] = {
    "string": lambda texts: pa.array(texts, pa.string()),
    "large_string": lambda texts: pa.array(texts, pa.large_string()),
    "string_view": lambda texts: pa.array(texts, pa.string_view()),
    "dictionary": lambda texts: pa.array(texts, pa.string()).dictionary_encode(),
    "sliced": lambda texts: pa.array(["?", *texts, None], pa.string()).slice(1, len(texts)),
}


@pytest.fixture(scope="module")
def expected() -> pl.DataFrame:
    """The bundled runs, scored from their files."""
    runs = sorted(pfgen_rs.sample_runs().values())
    return pl.concat([pfgen_rs.score_file(run, "mini").frame for run in runs])


def table_of(expected: pl.DataFrame) -> pa.Table:
    return pa.table(
        {
            "place": list(range(expected.height)),
            "question": expected["question"].to_list(),
            "answer": expected["answer"].to_list(),
        }
    )


def batch_of(*rows: tuple[Any, Any]) -> pa.RecordBatch:
    return pa.record_batch(
        {
            "question": pa.array([question for question, _ in rows], pa.string()),
            "answer": pa.array([answer for _, answer in rows], pa.string()),
        }
    )


def assert_as_of_files(found: pa.Table, expected: pl.DataFrame) -> None:
    for name in ("question_id", "length", *score_names(["A", "B"])):
        assert found.column(name).to_pylist() == expected[name].to_list(), name
    assert found.column("place").to_pylist() == list(range(expected.height))
    assert found.column("problem").null_count == expected.height


def test_a_table_gets_the_figures_of_files(mini: Benchmark, expected: pl.DataFrame) -> None:
    score = scorer("mini")
    data = table_of(expected)
    found = score(data)
    assert_as_of_files(found, expected)
    assert found.schema == score.schema(data.schema)
    assert found.schema.names[:3] == ["place", "question", "answer"]
    assert set(found.column("signature").to_pylist()) == {mini.signature}


@given(st.integers(0, 2**32), st.integers(1, 60))
@examples(max_examples=20)
def test_any_split_into_batches_gives_the_same(seed: int, most: int) -> None:
    frame = pfgen_rs.score_file(pfgen_rs.sample_runs()["careless"], "mini").frame
    data, rng = table_of(frame), random.Random(seed)
    none = pa.RecordBatch.from_pylist([], data.schema)
    parts: list[pa.RecordBatch] = []
    at = 0
    while at < len(data):
        size = rng.randint(0, most)
        parts += data.slice(at, size).to_batches() or [none]
        at += size
    found = list(scorer("mini")(iter(parts)))
    assert [len(part) for part in found] == [len(part) for part in parts]
    assert_as_of_files(pa.Table.from_batches(found), frame)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_of_text(layout: str) -> None:
    rows = [("Q02", "光合成です。"), (None, "a"), ("Q14", None), ("風呂敷とは何ですか？", "")] * 20
    plain = batch_of(*rows)
    questions, answers = ([row[place] for row in rows] for place in (0, 1))
    other = pa.record_batch(
        {"question": LAYOUTS[layout](questions), "answer": LAYOUTS[layout](answers)}
    )
    score = scorer("mini")
    mine, theirs = score(other), score(plain)
    assert mine.columns[2:] == theirs.columns[2:]
    assert mine.schema.types[:2] == other.schema.types[:2]


def test_rows_that_cannot_be_scored_stay_and_say_why(mini: Benchmark) -> None:
    data = batch_of(
        ("Q02", "光合成"), (None, "a"), ("Q99", "b"), ("Q14", None), (None, None), ("Q02", "光")
    )
    found = scorer("mini")(data)
    problems = [None, "the question is null", "unknown question", "the answer is null"]
    assert found.column("problem").to_pylist() == [*problems, problems[1], None]
    good = mini.score_batch(["Q02", "Q02"], ["光合成", "光"])
    for name in ("question_id", "length", *score_names(mini.sources)):
        values = found.column(name).to_pylist()
        assert values[1:5] == [None] * 4
        assert [values[0], values[5]] == good[name].to_list()


def test_columns_that_are_not_text() -> None:
    bad = pa.array(["光".encode(), b"\xff", "光".encode()[:2], None], pa.binary())
    wrong = "the answer is not UTF-8"
    for question, answer, problems in (
        (["Q02", "Q14"], [1, 2], ["the answer is of type int64, not text"] * 2),
        ([b"Q02", b"Q14"], ["a", "b"], ["the question is of type binary, not text"] * 2),
        (["Q02"], pa.nulls(1), ["the answer is null"]),
        (
            ["Q02"] * 4,
            bad.cast(pa.string(), safe=False),
            [None, wrong, wrong, "the answer is null"],
        ),
    ):
        found = scorer("mini")(pa.record_batch({"question": question, "answer": answer}))
        assert found.column("problem").to_pylist() == problems


def test_answers_are_cleaned_as_those_of_files(tmp_path: Path) -> None:
    rows = [("Q02", " 光合成です。\n\nQ: 次"), ("Q14", "風呂敷です。"), ("Q02", "")]
    path = tmp_path / "answers.jsonl"
    lines = (json.dumps({"question": question, "answer": answer}) for question, answer in rows)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    for clean in ("completion", "qa", "chat"):
        found = scorer("mini", clean=clean)(batch_of(*rows))
        of_file = pfgen_rs.scan(path, "mini", clean=clean).collect()
        assert found.column("answer").to_pylist() == [answer for _, answer in rows]
        for name in ("length", "average", "signature"):
            assert found.column(name).to_pylist() == of_file[name].to_list()


def test_lists_of_tokens(tmp_path: Path) -> None:
    folder = tmp_path / "tokens"
    folder.mkdir()
    question = {
        "question_id": "Q01",
        "question": "一",
        "keywords": [],
        "answers": {"A": [[1, 2, 3], [1, 2, 4]]},
    }
    (folder / "Q01.json").write_text(json.dumps(question), encoding="utf-8")
    score = scorer(folder, settings=Settings(unit="token"))
    rows = pa.array([[1, 2, 3], [-1], None, []], pa.list_(pa.int64()))
    found = score(pa.record_batch({"question": ["Q01"] * 4, "answer": rows}))
    problems = found.column("problem").to_pylist()
    assert [problem is None for problem in problems] == [True, False, False, True]
    assert problems[2] == "the answer is null"
    text = score(pa.record_batch({"question": ["Q01"], "answer": ["1 2 3"]}))
    assert text.column("average").to_pylist() == [None]
    assert text.column("problem")[0].as_py() is not None
    bench = pfgen_rs.load_benchmark(folder, settings=Settings(unit="token"))
    assert found.column("average")[0].as_py() == bench.score("Q01", [1, 2, 3]).average


def test_what_cannot_be_is_told(mini: Benchmark) -> None:
    taken = {"question": ["a"], "answer": ["b"], "average": [1], "problem": [2]}
    others: list[Any] = [None, 1, "text", {"question": ["Q02"]}, [{}]]
    cases: Any = (
        ({"answer_field": "text"}, batch_of(("Q02", "a")), "'text': found question, answer"),
        ({}, pa.record_batch(taken), "columns of its own called average, problem"),
        *(({}, other, "expected") for other in others),
    )
    for fields, data, match in cases:
        with pytest.raises(InputError, match=match):
            list(scorer("mini", **fields)(data))
    with pytest.raises(SettingsError, match="not read from a folder"):
        scorer(Benchmark(list(mini), mini.metadata_hash))
    for threads in (0, -1, 5000):
        with pytest.raises(SettingsError, match=f"between 1 and .*, not {threads}"):
            scorer("mini", threads=threads)
    assert list(scorer("mini")([])) == []


def test_a_pickle_is_small_and_scores_the_same(mini: Benchmark, tmp_path: Path) -> None:
    folder = write_benchmark(tmp_path / "mine")
    for made in (scorer("mini"), scorer(mini), scorer(folder, settings=Settings(variant="paper"))):
        pickled = pickle.dumps(made)
        again = pickle.loads(pickled)
        assert len(pickled) < SMALL + len(str(tmp_path))
        assert isinstance(again, ArrowScorer)
        assert repr(again) == repr(made)
        question = next(iter(made.benchmark)).text
        data = batch_of((question, "猫は眠ります。"))
        assert again(data).equals(made(data))


def test_another_set_of_the_same_name_is_refused(tmp_path: Path) -> None:
    folder = write_benchmark(tmp_path / "set")
    pickled = pickle.dumps(scorer(folder))
    write_benchmark(tmp_path / "set", {"Q01": {"keywords": []}})
    done = run_elsewhere("load", pickled.hex())
    assert done.returncode == 1
    assert BenchmarkError.__name__ in done.stderr
    assert "has other questions here than where this was made" in done.stderr


ELSEWHERE = """
import json, lzma, multiprocessing, pickle, sys
import pyarrow as pa
import pfgen_rs
score = pickle.loads(bytes.fromhex(sys.argv[2]))
if sys.argv[1] == "load":
    sys.exit(score.benchmark is None)
with lzma.open(pfgen_rs.sample_runs()["careless"] / "trials.jsonl.xz") as lines:
    records = list(map(json.loads, lines))  # not by polars, whose threads a fork does not copy
tables = [pa.Table.from_pylist(records[at : at + 30]) for at in range(0, len(records), 30)]
tables = [table.select(["question", "answer"]) for table in tables]
if sys.argv[1] == "fork":
    score(tables[0])  # so that the benchmark is loaded before, too
with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
    parts = pool.map(score, tables)
print(json.dumps([value for part in parts for value in part["average"].to_pylist()]))
"""


def run_elsewhere(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Score the bundled run `careless` with a pickled scorer in two other processes."""
    return python(ELSEWHERE, *arguments)


@pytest.mark.parametrize("method", ["spawn", "fork", "forkserver"])
def test_processes_of_every_kind_score_the_same(method: str) -> None:
    done = run_elsewhere(method, pickle.dumps(scorer("mini")).hex())
    assert done.returncode == 0, done.stderr
    careless = pfgen_rs.score_file(pfgen_rs.sample_runs()["careless"], "mini").frame
    assert json.loads(done.stdout) == careless["average"].to_list()


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_examples_of_the_page_run(number: int, tmp_path: Path, expected: pl.DataFrame) -> None:
    """Those of engines that are installed; in processes of their own, since engines keep their folder."""
    engine = ENGINE.findall(EXAMPLES[number])[0]
    pytest.importorskip(engine)
    answers = table_of(expected)
    pq.write_table(answers, tmp_path / "answers.parquet")
    (tmp_path / "scores").mkdir()
    named = answers.append_column("model", pa.array(["a"] * answers.num_rows))
    pq.write_table(scorer("mini")(named), tmp_path / "scores" / "1.parquet")
    program = tmp_path / "example.py"
    program.write_text(EXAMPLES[number], encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(program)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture
def hugging_face(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The package `datasets` without bars and network."""
    datasets = pytest.importorskip("datasets")
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    datasets.disable_progress_bars()
    return datasets


def test_hugging_face_datasets_are_mapped(hugging_face: Any, expected: pl.DataFrame) -> None:
    rows = hugging_face.Dataset(table_of(expected)).with_format("arrow")
    for mapped in (rows, rows.to_iterable_dataset()):
        found = mapped.map(scorer("mini"), batched=True, batch_size=37).with_format(None)
        assert [row["average"] for row in found] == expected["average"].to_list()


def test_hugging_face_datasets_are_cached_until_scores_change(
    hugging_face: Any, tmp_path: Path
) -> None:
    digest = hugging_face.fingerprint.Hasher.hash
    folder = write_benchmark(tmp_path / "set")
    plain = scorer(folder)
    assert digest(plain) == digest(scorer(folder)) == digest(pickle.loads(pickle.dumps(plain)))
    others = [scorer(folder, settings=Settings(variant="paper")), scorer(folder, clean="qa")]
    write_benchmark(folder, {"Q01": {"keywords": []}})
    changed = scorer(pfgen_rs.load_benchmark(folder))
    marks = {digest(made) for made in (plain, *others, changed)}
    assert len(marks) == 4


def test_the_example_for_hugging_face_datasets_runs(
    hugging_face: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    page = section("python.md", "Hugging Face datasets")
    [example] = re.findall(r"^```python\n(.*?)^```", page, flags=re.DOTALL | re.MULTILINE)
    exec(compile(example, "python.md", "exec"), {})
    frame = pfgen_rs.load_benchmark().score_batch(["Q02", "Q14"], ["光合成です。", "風呂敷です。"])
    assert capsys.readouterr().out == f"{frame['average'].to_list()}\n"
    rows = hugging_face.Dataset.from_polars(
        frame.select("question_id").with_columns(answer=pl.lit("光"))
    )
    table = rows.rename_column("question_id", "question").data.table
    assert pfgen_rs.load_benchmark().evaluate(table).score > 0


# Text that answers no question.


@pytest.mark.parametrize("threads", [1, 2])
def test_text_is_scored_by_one_question_or_the_best(
    threads: int, mini: Benchmark, expected: pl.DataFrame
) -> None:
    texts = [*expected["answer"].to_list()[::3], "", "🦊", "葉" * 300]
    table = pa.table({"id": range(len(texts) + 1), "text": [*texts, None]})
    frames = {q.id: mini.score_batch([q.id] * len(texts), texts) for q in mini}
    columns = ["question_id", "length", *score_names(mini.sources)]
    for question in ("Q14", mini["Q14"].text):
        found = pl.DataFrame(
            scorer("mini", question=question, answer_field="text", threads=threads)(table)
        )
        assert_frame_equal(found[:-1].select(columns), frames["Q14"].select(columns))
    score = scorer("mini", question_field=None, answer_field="text", threads=threads)
    found = pl.DataFrame(pickle.loads(pickle.dumps(score))(table))
    assert found.columns[:3] == ["id", "text", "question_id"]
    assert found["problem"].to_list() == [None] * len(texts) + ["the answer is null"]
    ids = list(frames)
    for row in range(len(texts)):
        averages = [frames[name]["average"][row] for name in ids]
        name = ids[averages.index(max(averages))]
        assert_frame_equal(found[row : row + 1].select(columns), frames[name][row].select(columns))
    assert len(set(found["question_id"][:-3])) > 5
    assert score(table[:0]).num_rows == 0


def test_an_unknown_question_for_all_text_is_an_error(mini: Benchmark) -> None:
    with pytest.raises(UnknownQuestionError, match="Q99"):
        scorer(mini, question="Q99")
    with pytest.raises(InputError, match="missing column 'answer': found text"):
        scorer(mini, question="Q02")(pa.table({"text": ["葉"]}))
