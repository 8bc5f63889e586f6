"""Every message that the page of messages quotes is really given."""

import io
import json
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import polars as pl
import pytest

from page_tables import fences
from pfgen_rs import Benchmark, PfgenError, load_benchmark
from pfgen_rs.cli import process
from pfgen_rs.cli.app import app
from pfgen_rs.metrics import expressions
from places import DOCS, ROOT

PAGE = DOCS / "reference" / "messages.md"
GOOD = '{"question": "Q02", "answer": "光合成です。"}\n'
UNCLEAN = '{"question": "Q02", "answer": " 光合成です。\\n\\nQ: 次は？ "}\n'
MINI = ("-b", "mini")
Case = Callable[[Path], str]


def quoted(page: Path) -> list[str]:
    return [text.strip() for language, text in fences(page) if language == "text"]


def told(*arguments: object) -> str:
    """What a command writes to standard error."""
    out, err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        for name, stream in (("stdin", io.TextIOWrapper(io.BytesIO())), ("stdout", out)):
            patch.setattr(sys, name, stream)
        patch.setattr(sys, "stderr", err)
        try:
            app([*map(str, arguments)], prog_name="pfgen-rs")
        except PfgenError as error:
            process.print_error(error)
        except SystemExit:
            pass
    return err.getvalue()


def raised(call: Callable[[], object]) -> str:
    with pytest.raises(PfgenError) as caught:
        call()
    return str(caught.value)


def scored(name: str, content: str | bytes, *options: object) -> Case:
    """What `score` says of a file."""
    data = content.encode() if isinstance(content, str) else content

    def case(tmp: Path) -> str:
        (tmp / name).write_bytes(data)
        made = [tmp / option if isinstance(option, Path) else option for option in options]
        return told("score", tmp / name, *MINI, *made)

    return case


def run(*arguments: object) -> Case:
    """What a command says; paths are below the test's folder."""
    return lambda tmp: told(*(tmp / a if isinstance(a, Path) else a for a in arguments))


def table(**columns: Iterable[object]) -> bytes:
    file = io.BytesIO()
    pl.DataFrame({name: list(values) for name, values in columns.items()}).write_parquet(file)
    return file.getvalue()


def question(**changes: object) -> Case:
    """What `score` says of a benchmark with such a question."""
    base = {"question_id": "Q01", "question": "猫は？", "keywords": [], "answers": {"A": ["猫。"]}}

    def case(tmp: Path) -> str:
        (tmp / "Q01.json").write_text(json.dumps({**base, **changes}), encoding="utf-8")
        return told("explain", "Q01", "猫。", "-b", tmp)

    return case


def left_out(*options: str, makers: Sequence[int | None] = (0, 1)) -> Case:
    """What `score` says of a run to a set of two models, the first of which may have written all of it."""

    def case(tmp: Path) -> str:
        models = {"models": ["org/one", "org/two"], "makers": {"A": list(makers)}}
        question(answers={"A": ["猫。", "犬。"]}, **models)(tmp)
        (tmp / "a.jsonl").write_text('{"question": "Q01", "answer": "猫"}\n', encoding="utf-8")
        return told("score", tmp / "a.jsonl", "-b", tmp, *options)

    return case


def taken_name(tmp: Path) -> str:
    said = ""
    for answer in ("Air.", "Light."):
        folder = Benchmark.from_references({"Why?": [answer]}, name="sky").save(tmp / answer)
        told("data", "publish", folder, "--out", tmp / "sky.tar.xz")
        said = told("data", "install", tmp / "sky.tar.xz")
    return said


def foreign_script(tmp: Path) -> str:
    (tmp / "a.jsonl").write_text('{"question": "Why?", "answer": "Air scatters light."}\n')
    keys = 'candidates = ["a.jsonl"]\nout = "set"\nlanguage = "zh"\nsteps = ["duplicates"]\n'
    (tmp / "a.toml").write_text(keys)
    return told("build", "run", tmp / "a.toml")


def slow_expression(tmp: Path) -> str:
    """What a rule that takes exponential time says."""
    question(keywords=[{"t": "(?=(a+)+b)"}])(tmp)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(expressions, "TIME_LIMIT", 0.2)
        said = raised(lambda: load_benchmark(tmp).score("Q01", "a" * 60))
    return said.replace("0.2 seconds", "5 seconds")


def site(*sources: str) -> Case:
    """What `site` says of a table, an empty folder and a folder with a `site.toml`, as named."""

    def case(tmp: Path) -> str:
        (tmp / "board.csv").write_text("model,score\norg/one,1\n", encoding="utf-8")
        (tmp / "lab").mkdir()
        (tmp / "lab" / "site.toml").touch()
        (tmp / "runs").mkdir()
        return told("site", *(tmp / each for each in sources), "--out", tmp / "public")

    return case


# A part of each message, and what gives it
CASES: dict[str, Case] = {
    "they score about 0": scored(
        "a.jsonl",
        "".join(f'{{"question": "Q02", "answer": "{text}"}}\n' for text in ["", "", *["No."] * 8]),
    ),
    "no file matches": run("score", Path("*.jsonl"), *MINI),
    "the folder has none of": run("score", Path(), *MINI),
    "is not JSON": scored("a.jsonl", "hello\n"),
    "the answer could be": scored(
        "a.jsonl", '{"question": "Q02", "answer": "x", "prediction": "y"}\n'
    ),
    "the custom_id of this output": scored(
        "a.jsonl", '{"custom_id": "r", "response": {"body": {"choices": [{"text": "x"}]}}}\n'
    ),
    "must be text, not null": scored("a.jsonl", '{"question": "Q02", "answer": null}\n'),
    "answer is null": scored("a.parquet", table(question=["Q02"] * 2, answer=["x", None])),
    "lone surrogate": scored("a.jsonl", '{"question": "Q02", "answer": "\\ud800"}\n'),
    "run 'pfgen-rs data install": run("explain", "Q02", "x", "-b", "pfgen-bench"),
    "or a name that": run("explain", "Q02", "x", "-b", "nothing-like-it"),
    "two sets have no question": run(
        "build", "check", "mini", "--run", "x", "--against", ROOT / "data" / "mini-en"
    ),
    "another set of this name": taken_name,
    "in another script": foreign_script,
    "with exactly this text": scored("a.jsonl", '{"question": "光合成とは？", "answer": "x"}\n'),
    "not comparable": scored("a.jsonl", GOOD),
    "Score the whole run": scored("a.jsonl", GOOD, "--out", Path("out")),
    "which may lift its score": left_out("--model", "one"),
    "does not say who wrote": scored("a.jsonl", GOOD, "--leave-out", "model", "--model", "one"),
    "no model is known": left_out("--leave-out", "model"),
    "nothing to score with": left_out("--model", "one", "--leave-out", "model", makers=(0, 0)),
    "contain 'Q:'": scored("a.jsonl", UNCLEAN * 2),
    "took longer": slow_expression,
    "passed over": site("runs", "board.csv:model"),
    "as in FILE:COLUMN": site("board.csv"),
    "give it alone": site("lab", "runs"),
}


def one(part: str) -> str:
    """The quoted message with this part."""
    [found] = [each for each in quoted(PAGE) if part in f"{each}\n"]
    return found


@pytest.mark.parametrize("part", CASES)
def test_a_quoted_message_is_given(part: str, tmp_path: Path, cache: Path) -> None:
    message = one(part)
    pattern = ".*".join(map(re.escape, message.split("…")))
    said = CASES[part](tmp_path)
    assert re.search(pattern, said), f"{message}\nwas expected in\n{said}"


def test_every_quoted_message_is_tried() -> None:
    assert sorted(map(one, CASES)) == sorted(quoted(PAGE))
