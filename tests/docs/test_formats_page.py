"""The page of file formats and its schemas say what files have that commands really wrote."""

import json
import re
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pytest

import builds
from generating import FakeEngine
from helpers import pfgen
from page_tables import codes, tables
from pfgen_rs import Benchmark, sample_runs, scan, score_file
from pfgen_rs.ask.costs import Prices
from pfgen_rs.ask.engines.command import task_line
from pfgen_rs.ask.protocol import Parameters
from pfgen_rs.generate import Prompter, RunConfig, generate, read_examples
from pfgen_rs.io.compression import SUFFIXES
from pfgen_rs.io.source import DELIMITED, TABLE_SUFFIXES
from pfgen_rs.judge.pairs import sample_path
from pfgen_rs.llm_jp_eval.evaluation_files import sample_path as jpeval_sample
from pfgen_rs.questions.locate import bundled_path
from pfgen_rs.training import StepEvaluator
from places import DOCS

jsonschema = pytest.importorskip("jsonschema")

PAGE = DOCS / "reference" / "formats.md"
SCHEMAS = sorted((PAGE.parent / "schemas").glob("*.json"))


class Made(NamedTuple):
    """What commands wrote or printed, by the schema that it follows."""

    documents: dict[str, list[Any]]
    columns: dict[str, list[str]]
    folder: Path


def of_lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def of(path: Path) -> list[Any]:
    return [json.loads(path.read_text(encoding="utf-8"))]


def printed(*arguments: str | Path) -> list[Any]:
    return [json.loads(pfgen(*arguments).stdout)]


def checkout(folder: Path) -> Path:
    """A checkout of two runs and the bundled questions."""
    (folder / "data").mkdir(parents=True)
    for path in bundled_path().glob("Q*.json*"):
        shutil.copy(path, folder / "data")
    for name, run in sample_runs().items():
        place = folder / "result" / "org" / name / "0123abc"
        shutil.copytree(run, place)
        config = {"model": f"org/{name}", "engine": "vllm", "mode": "chat"}
        (place / "config.json").write_text(json.dumps(config), encoding="utf-8")
    pfgen("report", folder)
    return folder


def evaluated(folder: Path) -> Path:
    """The bundled outputs of llm-jp-eval, scored."""
    sample = jpeval_sample()
    pfgen("llm-jp-eval", "convert", "--raw", sample / "raw_files", "-o", folder / "data")
    outputs = sample / "outputs" / "3-shot.jsonl"
    made = ("--data", folder / "data", "--shots", "3", "--out", folder / "run")
    pfgen("llm-jp-eval", "score", outputs, *made)
    return folder


def trained(folder: Path) -> Path:
    with StepEvaluator("mini", lambda t: ["働きです。"] * len(t), every=1, folder=folder) as made:
        made(0)
        made.wait()
    return folder


def generated(folder: Path) -> Path:
    prices = Prices(1.0, 2.0, "JPY")
    config = RunConfig("fake", "m")
    return generate(
        config, FakeEngine(), benchmark="mini", trials=1, results=folder, prices=prices
    ).folder


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    tmp = tmp_path_factory.mktemp("formats")
    runs = sample_runs()
    table = ("--out", tmp / "out", "--per-response", tmp / "rows.parquet")
    scores = printed("score", *runs.values(), "-b", "mini", *table, "-f", "json")
    run = tmp / "run"
    shutil.copytree(runs["careless"], run)
    shutil.copy(tmp / "out" / "careless" / "result.json", run)
    other = tmp / "other"
    shutil.copytree(run, other)
    result = (run / "result.json").read_text(encoding="utf-8")
    (other / "result.json").write_text(re.sub(r"0\.4", "0.5", result), encoding="utf-8")
    (tmp / "build").mkdir()
    builds.prepare(tmp / "build")
    pfgen("build", tmp / "build" / "set.toml")
    leaderboard = checkout(tmp / "checkout")
    verdicts = [sample_path() / "verdicts" / name for name in ("careful", "hasty", "runs")]
    llm = evaluated(tmp / "llm")
    curve = trained(tmp / "curve")
    everything = {
        "response": of_lines(tmp / "build" / "candidates.jsonl"),
        "generation": of(generated(tmp / "generated") / "generation.json"),
        "example": of_lines(bundled_path() / "questions.jsonl"),
        "question": [each for path in (tmp / "build").rglob("Q*.json") for each in of(path)],
        "result": [of(path)[0] for path in (tmp / "out").glob("*/result.json")],
        "scores": scores,
        "leaderboard": of(leaderboard / "leaderboard.json"),
        "comparison": printed("compare", *runs.values(), "-b", "mini", "-f", "json"),
        "verification": printed("verify", run, other, tmp, "-b", "mini", "-f", "json"),
        "provenance": [each for path in tmp.rglob("provenance.json") for each in of(path)],
        "pair": [each for v in verdicts for each in of_lines(v / "pairs.jsonl")],
        "human": of_lines(sample_path() / "humans.jsonl"),
        "judgment": [each for v in verdicts for each in of_lines(v / "judgments.jsonl")],
        "rating": of_lines(sample_path() / "ratings" / "ratings.jsonl"),
        "llm-jp-eval-scores": of(llm / "run" / "scores.json"),
        "llm-jp-eval-data": [
            each for path in (llm / "data" / "evaluation").rglob("*.json") for each in of(path)
        ],
    }
    columns = {
        "file": pl.read_parquet_schema(tmp / "rows.parquet"),
        "run": pl.read_parquet_schema(leaderboard / "leaderboard.parquet"),
        "step": pl.read_parquet_schema(curve / "curve.parquet"),
    }
    return Made(everything, {name: list(kinds) for name, kinds in columns.items()}, tmp)


@pytest.mark.parametrize("path", SCHEMAS, ids=lambda path: path.stem)
def test_real_files_follow_the_schema(path: Path, made: Made) -> None:
    schema = json.loads(path.read_text(encoding="utf-8"))
    checker = jsonschema.Draft202012Validator
    checker.check_schema(schema)
    documents = made.documents[path.stem]
    assert documents
    for document in documents:
        found = next(checker(schema).iter_errors(document), None)
        assert found is None, f"{found.json_path}: {found.message}"


@pytest.mark.parametrize("path", SCHEMAS, ids=lambda path: path.stem)
def test_the_schema_refuses_other_files(path: Path, made: Made) -> None:
    """Every required key is missed, also in the first element of a list."""
    checker = jsonschema.Draft202012Validator(json.loads(path.read_text(encoding="utf-8")))
    document = made.documents[path.stem][0]
    whole = document[0] if isinstance(document, list) else document
    for key in checker.schema.get("required", ()):
        assert not checker.is_valid({k: v for k, v in whole.items() if k != key}), key
    assert not checker.is_valid([{}] if isinstance(document, list) else {})


def test_published_files_follow_the_schemas(published_dir: Path) -> None:
    for name, files in {
        "question": published_dir.glob("data/Q*.json"),
        "result": published_dir.rglob("result.json"),
    }.items():
        path = PAGE.parent / "schemas" / f"{name}.json"
        checker = jsonschema.Draft202012Validator(json.loads(path.read_text(encoding="utf-8")))
        found = [f for file in files for f in of(file) if not checker.is_valid(f)]
        assert found == []


def properties(name: str) -> list[str]:
    """The keys that a schema names, of the elements if it is one of a list; none if there is a choice."""
    schema = json.loads((PAGE.parent / "schemas" / f"{name}.json").read_text(encoding="utf-8"))
    return list(schema.get("items", schema).get("properties", ()))


@pytest.mark.parametrize("page", [PAGE, PAGE.with_suffix(".ja.md")], ids=lambda page: page.name)
def test_tables_have_the_keys_of_the_schemas(page: Path) -> None:
    """Each schema is named once; a list of keys, if one follows before the next, has all of them."""
    text = page.read_text(encoding="utf-8")
    named = re.split(r"schemas/([\w-]+)\.json\)", text)
    assert sorted(named[1::2]) == [path.stem for path in SCHEMAS]
    listed = set()
    for name, following in zip(named[1::2], named[2::2], strict=True):
        rows = following.partition("\n| --- |")
        header = rows[0].rpartition("\n")[2]
        if header.count("|") == 3 and codes(header) == [] and rows[0].count("\n") <= 4:
            cells = [line.split("|")[1] for line in rows[2].partition("\n\n")[0].splitlines()[1:]]
            keys = [key for cell in cells for key in codes(cell)]
            if keys[0] in properties(name):
                assert sorted(keys) == sorted(properties(name)), name
                listed.add(name)
    assert len(listed) >= 11, listed


@pytest.mark.parametrize("first", ["file", "run", "step"])
def test_tables_have_the_columns_of_the_files(first: str, made: Made) -> None:
    [table] = [t for t in tables(PAGE) if t.header[0] == "column" and t.column()[0][0] == first]
    named = [name for row in table.column() for name in row]
    columns = [name for name in made.columns[first] if not name.endswith("_B")]
    assert named == columns


ANSWERS = pl.DataFrame({"question": ["Q02", "Q02"], "answer": ["光合成です。", "光です。"]})


def test_tables_of_scores_in_python_have_its_columns(mini: Benchmark, tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    ANSWERS.write_ndjson(path)
    [table] = [t for t in tables(PAGE) if t.header[0] == "column" and t.column()[0] == ["file"]]
    named = [name for row in table.column() for name in row]

    def known(columns: Iterable[str]) -> list[str]:
        return [name for name in columns if not name.endswith("_B")]

    assert known(scan(path, mini).collect_schema()) == named
    assert known(score_file(path, mini).frame.columns) == named[1:-1]
    scores = ["question_id", *named[named.index("length") : -1]]
    assert known(mini.score_batch(ANSWERS).columns) == scores


def test_formats_that_are_named_are_those_tried() -> None:
    named = {name for row in tables(PAGE)[0].column() for name in row if name.startswith(".")}
    assert named == {".jsonl", *DELIMITED, *TABLE_SUFFIXES, *SUFFIXES}


def test_tasks_as_programs_get_them() -> None:
    [table] = [t for t in tables(PAGE) if t.column()[0] == ["id"] and t.column()[2] == ["prompt"]]
    named = [name for row in table.column()[:-1] for name in row]
    [task, *_] = Prompter(read_examples("mini"), "qa").tasks(1)
    line = json.loads(task_line(1, task, Parameters(9, 1.0, 0.9, ("Q:",))))
    assert named == list(line)


OTHERS: dict[str, Callable[[Path], Iterable[str | Path]]] = {
    "explain": lambda _: ("explain", "Q02", "光合成です。", "-b", "mini"),
    "plan-trials": lambda _: ("plan-trials", sample_runs()["faithful"], "-b", "mini"),
    "index count": lambda _: ("index", "count", "Q02", "光合成", "-b", "mini"),
    "index df": lambda _: ("index", "df", "Q02", "光合成", "-b", "mini"),
    "index top": lambda _: ("index", "top", "Q02", "-b", "mini"),
    "index locate": lambda _: ("index", "locate", "Q02", "光合成", "-b", "mini"),
    "index info": lambda _: ("index", "info"),
    "data list": lambda _: ("data", "list"),
    "judge decide": lambda _: ("judge", "decide", sample_path() / "verdicts" / "careful"),
    "judge agree": lambda _: (
        *("judge", "agree", sample_path() / "verdicts" / "careful"),
        *("--humans", sample_path() / "humans.jsonl"),
    ),
    "judge meta": lambda _: ("judge", "meta", "traps"),
    "judge rank": lambda _: (
        *("judge", "rank", sample_path() / "verdicts" / "careful", "--covariates", "order"),
        *("--humans", sample_path() / "humans.jsonl"),
    ),
    "judge panel": lambda folder: (
        *("judge", "panel", "--out", folder / "panel"),
        *(sample_path() / "verdicts" / "careful", sample_path() / "verdicts" / "hasty"),
    ),
    "llm-jp-eval tasks": lambda _: ("llm-jp-eval", "tasks"),
}


def test_documents_of_other_commands(made: Made) -> None:
    """What the table says of them: object or list, and keys that are there."""
    [table] = [t for t in tables(PAGE) if t.header == ["command", "document"]]
    described = {name: row[1] for row in table.rows for name in codes(row[0])}
    assert set(described) == set(OTHERS)
    for name, text in described.items():
        [found] = printed(*OTHERS[name](made.folder), "-f", "json")
        assert isinstance(found, dict if text.startswith("object") else list), name
        keys = set(re.findall(r'"(\w+)":', json.dumps(found)))
        shared = {"index count", "index df", "index top"}
        if name not in shared:
            assert set(codes(text)) <= keys, name
