"""`pfgen-rs score RUN` without its parser: the same output, or the command itself, and few imports."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from helpers import CATS, GOOD, SEAS, environment, write_benchmark, write_run
from pfgen_rs import sample_runs
from pfgen_rs.cli import process
from pfgen_rs.cli.score_arguments import PlainScore, plain_score

MAIN = """
import json, os, sys
from pfgen_rs.io import known_files
known_files._TICK = -(10**12)  # files may have just changed
import pfgen_rs.cli
try: pfgen_rs.cli.main()
except SystemExit as ended: code = ended.code
else: code = 0
with open(os.environ["LISTED"], "w") as file: json.dump([code, *sys.modules], file)
"""
GENERAL = {"polars", "typer"}
"""What only the command itself loads."""
ABSENT = {*GENERAL, "asyncio", "concurrent.futures", "numpy", "pfgen_rs.stats.checks", "pydantic"}


class Done(NamedTuple):
    """What a process has printed, its exit code, and the modules it has loaded."""

    output: bytes
    errors: bytes
    code: int
    modules: set[str]

    @property
    def shown(self) -> tuple[bytes, bytes, int]:
        return self.output, self.errors, self.code

    @property
    def is_brief(self) -> bool:
        return not self.modules & GENERAL


class Place:
    """A folder with a benchmark, a run, and a cache."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.cache = folder / "cache"
        self.questions = write_benchmark(folder / "questions")
        self.run = write_run(folder / "run", model="a/model")

    def score(self, *arguments: str | Path) -> Done:
        listed = self.folder / "listed.json"
        done = subprocess.run(
            [sys.executable, "-c", MAIN, "score", *map(str, arguments)],
            capture_output=True,
            env=environment(PFGEN_RS_CACHE=str(self.cache), LISTED=str(listed)),
            cwd=self.folder,
            check=False,
        )
        code, *modules = json.loads(listed.read_bytes())
        return Done(done.stdout, done.stderr, code, set(modules))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """One whose questions are known, and whose scorers are cached."""
    place = Place(tmp_path)
    first = place.score("run", "-b", "questions")
    assert (first.code, first.errors) == (0, b"")
    assert not first.is_brief
    return place


FORMS = [
    ["run", "-b", "questions"],
    ["run/trials.jsonl", "--benchmark", "./questions/", "--format", "table"],
    ["-f", "json", "-b", "questions", "run"],
    ["--format=csv", "run", "--benchmark=questions"],
    ["run", "-b", "questions", "--plain"],
]


@pytest.mark.parametrize("form", FORMS, ids=map(" ".join, FORMS))
def test_the_output_is_the_same(place: Place, form: list[str]) -> None:
    brief, general = place.score(*form), place.score(*form, "--summation", "plain")
    assert brief.is_brief
    assert not general.is_brief
    assert brief.shown == general.shown
    assert brief.code == 0
    assert b"model" in brief.output


GAPS = {
    "unequal": [*GOOD, (CATS, "猫")],
    "missing": GOOD[:1],
    "not clean": [(CATS, " 猫"), (SEAS, "Q: 猫")],
}


@pytest.mark.parametrize("answers", GAPS.values(), ids=GAPS)
def test_what_is_said_of_answers_is_the_same(place: Place, answers: list[tuple[str, str]]) -> None:
    write_run(place.folder / "gaps", answers)
    brief = place.score("gaps", "-b", "questions")
    general = place.score("gaps", "-b", "questions", "--summation", "plain")
    assert brief.is_brief
    assert brief.shown == general.shown
    assert b"warning: " in brief.errors


def test_little_is_loaded(tmp_path: Path) -> None:
    """Of the default benchmark, measured by what the command itself loads."""
    place, run = Place(tmp_path), sample_runs()["faithful"]
    general, table, values = place.score(run), place.score(run), place.score(run, "-f", "json")
    assert table.shown == general.shown
    assert not table.modules & ABSENT
    assert not values.modules & {*ABSENT, "numbers", "rich"}
    assert len(table.modules) < len(general.modules) / 2
    assert len(values.modules) < len(general.modules) / 3
    ours = {"pfgen_rs.cli.score_briefly", "pfgen_rs.runs.brief"}
    assert table.modules <= general.modules
    assert ours <= values.modules


@pytest.mark.parametrize("form", [["run"], ["run", "more"], ["run/trials.jsonl", "-f", "csv"]])
def test_files_are_written_without_the_parser(place: Place, form: list[str]) -> None:
    """And are the same; so is what is shown."""
    write_run(place.folder / "more", [(CATS, "猫"), (SEAS, "Q: 海")])
    found: list[tuple[object, dict[str, bytes]]] = []
    for more in ([], ["--summation", "plain"]):
        target = place.folder / str(len(found))
        written = ["--out", str(target), "--per-response", str(target / "scores.parquet")]
        done = place.score(*form, "-b", "questions", *written, *more)
        contents = {
            str(path.relative_to(target)): path.read_bytes()
            for path in sorted(target.rglob("*"))
            if path.is_file()
        }
        assert bool(done.modules & {"pydantic", "typer"}) == bool(more)
        found.append((done.shown, contents))
    assert found[0] == found[1]
    assert len(found[0][1]) == 1 + (2 if "more" in form else 1)


@pytest.mark.parametrize(
    "line",
    [
        "run --per-response scores.txt",
        "run --per-response questions/Q01.json/scores.parquet",
        "nothing --out out",
        "run --out questions/Q01.json",
    ],
)
def test_errors_of_files_are_those_of_the_command(place: Place, line: str) -> None:
    plain = place.score(*line.split(), "-b", "questions")
    general = place.score(*line.split(), "-b", "questions", "--summation", "plain")
    assert plain.shown == general.shown
    assert plain.code == 2


def test_libraries_are_restrained_unless_the_user_has_chosen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    heap, threads = "_RJEM_MALLOC_CONF", "OPENBLAS_NUM_THREADS"
    monkeypatch.delenv(heap, raising=False)
    monkeypatch.delenv(threads, raising=False)
    process.restrain_libraries()
    assert (os.environ[heap], os.environ[threads]) == ("narenas:1", "1")
    monkeypatch.setenv(heap, "dirty_decay_ms:500")  # as polars leaves it
    monkeypatch.setenv(threads, "4")
    process.restrain_libraries()
    process.restrain_libraries()
    assert (os.environ[heap], os.environ[threads]) == ("dirty_decay_ms:500,narenas:1", "4")
    monkeypatch.setenv(heap, "narenas:8")
    process.restrain_libraries()
    assert os.environ[heap] == "narenas:8"


def test_changed_questions_are_read_again(place: Place) -> None:
    before = place.score("run", "-b", "questions")
    assert before.is_brief
    path = place.questions / "Q02.json"
    path.write_bytes(path.read_bytes().replace("赤".encode(), "青".encode()))
    changed = place.score("run", "-b", "questions")
    assert not changed.is_brief
    assert changed.output != before.output
    again = place.score("run", "-b", "questions")
    assert again.is_brief
    assert again.shown == changed.shown


def test_a_changed_run_is_scored_again(place: Place) -> None:
    write_run(place.run, [(CATS, "猫"), (SEAS, "海")], "a/model")
    brief = place.score("run", "-b", "questions")
    assert brief.is_brief
    general = place.score("run", "-b", "questions", "--summation", "plain")
    assert brief.shown == general.shown


def test_a_damaged_cache_is_mended(place: Place) -> None:
    expected = place.score("run", "-b", "questions")
    [index] = (place.cache / "indexes").iterdir()
    [known] = (place.cache / "questions").iterdir()
    for path in (index, known):
        content = path.read_bytes()
        path.write_bytes(content[: len(content) // 2])
        told = place.score("run", "-b", "questions")
        assert not told.is_brief
        assert told.output == expected.output
        brief = place.score("run", "-b", "questions")
        assert brief.is_brief
        assert brief.shown == expected.shown
        assert path.read_bytes() == content


def test_without_a_cache_the_command_itself_scores(place: Place) -> None:
    expected = place.score("run", "-b", "questions")
    place.cache = place.folder / "file"
    place.cache.write_bytes(b"")
    for _ in range(2):
        done = place.score("run", "-b", "questions")
        assert not done.is_brief
        assert done.shown == expected.shown


def test_errors_are_those_of_the_command(place: Place) -> None:
    (place.run / "trials.jsonl").write_bytes(b'{"question": "Q01"}\n')
    for run, benchmark in (("run", "questions"), ("none", "questions"), ("run", "nowhere")):
        brief = place.score(run, "-b", benchmark)
        general = place.score(run, "-b", benchmark, "--summation", "plain")
        assert brief.shown == general.shown
        assert brief.code == 2


def test_command_lines_that_are_understood() -> None:
    assert plain_score(["a"]) == PlainScore(["a"])
    assert plain_score(["a", "--plain", "-b", "b", "-b", "c"]) == PlainScore(
        ["a"], "c", "table", True
    )
    assert plain_score(["-f", "csv", "a=b", "c"]) == PlainScore(["a=b", "c"], None, "csv")
    written = ["--out", "o", "a", "--per-response=p"]
    assert plain_score(written) == PlainScore(["a"], out="o", per_response="p")


@pytest.mark.parametrize(
    "line",
    [
        "",
        "-",
        "a -",
        "a -b",
        "a -f xml",
        "a -f JSON",
        "a -fjson",
        "a -f=json",
        "a -b=b",
        "a --bench b",
        "a --out",
        "a --out s3://bucket/o",
        "s3://bucket/a",
        "a -- b",
        "a --plain=1",
        "a -b -f",
        "a --benchmark=",
        "--help",
        "a -h",
    ],
)
def test_all_others_are_for_the_parser(line: str) -> None:
    assert plain_score(line.split()) is None


def test_completion_is_for_the_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_PFGEN_RS_COMPLETE", "complete_bash")
    assert plain_score(["a"]) is None


@pytest.mark.skipif(os.name != "posix", reason="needs a POSIX shell")
def test_a_closed_output_is_told_as_ever(place: Place) -> None:
    for redirected, code in ((">&-", 2), ("| true", 0)):
        line = f'"$0" -c "$1" score run -b questions {redirected}'
        done = subprocess.run(
            ["sh", "-c", line, sys.executable, MAIN],
            capture_output=True,
            env=environment(PFGEN_RS_CACHE=str(place.cache), LISTED=str(place.folder / "listed")),
            cwd=place.folder,
            check=False,
        )
        assert done.returncode == 0
        if code:
            message = b"error: standard output: cannot be written: Bad file descriptor\n"
            assert done.stderr == message
            assert json.loads((place.folder / "listed").read_bytes())[0] == code
