"""Every message that the page of messages quotes is really given."""

from __future__ import annotations

import io
import json
import logging
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import pfgen_rs
from jpeval_data import write_data
from page_tables import codes, fences, japanese, prose
from pfgen_rs import PfgenError, load_benchmark
from pfgen_rs.cli import streams
from pfgen_rs.cli.app import app
from pfgen_rs.llm_jp_eval.data import read_tasks
from pfgen_rs.llm_jp_eval.outputs import batch_line, items
from pfgen_rs.llm_jp_eval.results import PromptSettings
from pfgen_rs.metrics import limited_expressions
from pfgen_rs.training import StepEvaluator
from places import DOCS, ROOT

PAGE = DOCS / "reference" / "messages.md"
FAQ = DOCS / "faq.md"
GOOD = '{"question": "Q02", "answer": "光合成です。"}\n'
UNCLEAN = '{"question": "Q02", "answer": " 光合成です。\\n\\nQ: 次は？ "}\n'
MINI = ("-b", "mini")
SERVER = "http://127.0.0.1:9/v1"  # where nothing listens
FAILING = (
    "import json, sys\n"
    "for line in sys.stdin:\n"
    "    print(json.dumps({'id': json.loads(line)['id'], 'error': 'no'}), flush=True)\n"
)
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
            streams.print_error(error)
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


def outputs_of_other_prompts(tmp: Path) -> str:
    """What `llm-jp-eval score` says of outputs that were made with another number of examples."""
    data = write_data(tmp / "data")
    made = [
        batch_line(each, "m", chat=False)
        for each in items(read_tasks(data, ["jamp"]), None, PromptSettings())
    ]
    lines = (json.dumps({"id": each["custom_id"], "output": ""}) + "\n" for each in made)
    (tmp / "o.jsonl").write_text("".join(lines), "utf-8")
    return told("llm-jp-eval", "score", tmp / "o.jsonl", "--data", data, "--shots", 2)


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


def generated(*options: object, engine: str = "command") -> Case:
    """What `generate` says; its program fails for each task."""

    def case(tmp: Path) -> str:
        program = tmp / "failing.py"
        program.write_text(FAILING, encoding="utf-8")
        command = ("--command", f"{sys.executable} {program}") if engine == "command" else ()
        asked = ("generate", "a/b", "-e", engine, *MINI, "-o", tmp / "runs", "-n", 1)
        return told(*asked, *command, *options)

    return case


def built(text: str) -> Case:
    def case(tmp: Path) -> str:
        (tmp / "answers.jsonl").write_text(GOOD, encoding="utf-8")
        (tmp / "set.toml").write_text(text, encoding="utf-8")
        return told("build", tmp / "set.toml")

    return case


def partial_in_python(tmp: Path) -> str:
    (tmp / "a.jsonl").write_text(GOOD, encoding="utf-8")
    result = pfgen_rs.score_file(tmp / "a.jsonl", load_benchmark("mini"))
    return raised(lambda: result.to_json(tmp / "result.json"))


def damaged_index(tmp: Path) -> str:
    """What the log says of a cached index that is damaged."""
    from pfgen_rs.questions.index_cache import index_files

    load_benchmark("mini").prepare()
    [file] = index_files()
    file.path.write_bytes(b"damaged")
    return logged(lambda: load_benchmark("mini").score("Q02", "光合成です。"))


def without_package(name: str, *arguments: object) -> Case:
    """What a command says where a package is not installed."""

    def case(tmp: Path) -> str:
        with pytest.MonkeyPatch.context() as patch:
            for module in [m for m in sys.modules if m == name or m.startswith(f"{name}.")]:
                patch.delitem(sys.modules, module)
            patch.setitem(sys.modules, name, None)
            return told(*(tmp / a if isinstance(a, Path) else a for a in arguments))

    return case


def unfinished_trial(tmp: Path) -> str:
    """What `report` says of a checkout with a trial that is being written."""
    from helpers import write_benchmark, write_run

    write_benchmark(tmp / "data")
    folder = write_run(tmp / "result" / "a" / "b" / "0123abc", model="a/b")
    (folder / "trials.jsonl").rename(folder / "trial_001.jsonl")
    with (folder / "trial_001.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"question": ')
    return told("report", tmp)


def logged(do: Callable[[], object]) -> str:
    """What is logged meanwhile."""
    handler = logging.StreamHandler(io.StringIO())
    log = logging.getLogger("pfgen_rs")
    log.addHandler(handler)
    try:
        do()
    finally:
        log.removeHandler(handler)
    return str(handler.stream.getvalue())


def slow_expression(tmp: Path) -> str:
    """What a rule that takes exponential time says."""
    question(keywords=[{"t": "(?=(a+)+b)"}])(tmp)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limited_expressions, "TIME_LIMIT", 0.2)
        said = raised(lambda: load_benchmark(tmp).score("Q01", "a" * 60))
    return said.replace("0.2 seconds", "5 seconds")


def trained(folder: Path, trials: int = 1, *, failing: bool = False) -> None:
    """Evaluate a step of training."""

    def answers(tasks: Sequence[object]) -> list[str]:
        if failing:
            raise RuntimeError("no")
        return ["働きです。"] * len(tasks)

    more: dict[str, Any] = {"folder": folder, "trials": trials}
    with StepEvaluator("mini", answers, every=1, on_error="warn", **more) as evaluator:
        evaluator(0)


def other_curve(tmp: Path) -> str:
    trained(tmp)
    return raised(lambda: trained(tmp, 2))


@pytest.fixture(autouse=True)
def _no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test asks the user's server, or a proxy for one that is not there."""
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.setenv(name, "*")
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


# A part of each message, and what gives it
CASES: dict[str, Case] = {
    "they score about 0": scored(
        "a.jsonl",
        "".join(f'{{"question": "Q02", "answer": "{text}"}}\n' for text in ["", "", *["No."] * 8]),
    ),
    "No such file or directory\n": run("score", Path("none.jsonl"), *MINI),
    "no file matches": run("score", Path("*.jsonl"), *MINI),
    "the folder has none of": run("score", Path(), *MINI),
    "is not JSON": scored("a.jsonl", "hello\n"),
    "missing key 'question'": scored("a.jsonl", '{"prompt": "Q02", "output": "x"}\n'),
    "must be text, not null": scored("a.jsonl", '{"question": "Q02", "answer": null}\n'),
    "answer is null": scored("a.parquet", table(question=["Q02"] * 2, answer=["x", None])),
    "the column 'answer' must": scored("a.parquet", table(question=["Q02"], answer=[1])),
    "is not UTF-8": scored("a.jsonl", GOOD.encode("cp932")),
    "a quotation mark is missing": scored("a.csv", 'question,answer\nQ02,x"y\nQ02,"z\n'),
    "lone surrogate": scored("a.jsonl", '{"question": "Q02", "answer": "\\ud800"}\n'),
    "has no newline": scored("a.jsonl", (GOOD * 2)[:-1]),
    "run 'pfgen-rs data install": run("explain", "Q02", "x", "-b", "pfgen-bench"),
    "or 'mini'": run("explain", "Q02", "x", "-b", "nothing-like-it"),
    "with exactly this text": scored("a.jsonl", '{"question": "光合成とは？", "answer": "x"}\n'),
    "index cache": damaged_index,
    "not comparable": scored("a.jsonl", GOOD),
    "Score the whole run": scored("a.jsonl", GOOD, "--out", Path("out")),
    "answer them": partial_in_python,
    "contain 'Q:'": scored("a.jsonl", UNCLEAN * 2),
    "took longer": slow_expression,
    "another sample": other_curve,
    "is not evaluated": lambda tmp: logged(lambda: trained(tmp, failing=True)),
    "'--per-response'": run("score", Path("a"), "--per-response", "a.txt"),
    "one of the inputs": scored("a.jsonl", GOOD, "--per-response", Path("a.jsonl")),
    "cannot be written": scored("a.jsonl", GOOD, "--allow-partial", "--out", Path("a.jsonl")),
    "cannot keep all": scored("a.jsonl", GOOD, "--keep", "all", "--per-response", Path("b.csv")),
    "which names the run": scored("a.jsonl", GOOD, "--run-field", "model"),
    "files of pfgen-bench": run("data", "install", "pfgen-bench", "--from", Path()),
    "cannot be downloaded": run("data", "install", "pfgen-bench", "--from", f"{SERVER}/a.tar.gz"),
    "cannot be imported": without_package("obstore", "score", "s3://bucket/a.jsonl", *MINI),
    "api.openai.com": generated(engine="openai"),
    "the connection failed": generated("--base-url", SERVER, "--retries", 0, engine="openai"),
    "before sending all": generated("--command", f"{sys.executable} -c ''"),
    "looks like a secret": generated("--set", "api_key=1"),
    "more are available": generated("--shots", 99),
    "questions.jsonl": lambda tmp: question()(tmp) + generated("-b", tmp)(tmp),
    "imported answers": lambda tmp: (
        scored("a.jsonl", '{"question": "x", "trial": 1, "answer": "y"}\n')(tmp)
        + generated("--import", tmp / "a.jsonl", engine="manual")(tmp)
    ),
    "in a row": generated(),
    "missing key 'candidates'": built(""),
    "unknown key": built('candidates = ["answers.jsonl"]\nout = "made"\nfoo = 1\n'),
    "--allow-fewer": built('candidates = ["answers.jsonl"]\nout = "made"\n'),
    "folder of verdicts": run("judge", "decide", Path()),
    "unknown format: name": lambda tmp: (
        scored("a.jsonl", GOOD)(tmp) + told("judge", "import", tmp / "a.jsonl", "-o", tmp / "b")
    ),
    "no data is installed": run("llm-jp-eval", "run", "a", "-e", "command", "--command", "true"),
    "answer other prompts": outputs_of_other_prompts,
    "not finished": unfinished_trial,
}
SOURCE = {
    "the file changed while it was in use",  # between two readings
    "is not the published file",  # of all published files
    "no credentials were found",  # after a machine of a cloud was asked for some
}
"""Parts of messages that are looked for in the source only."""


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


@pytest.mark.parametrize("part", sorted(SOURCE))
def test_a_quoted_message_is_in_the_source(part: str) -> None:
    source = "".join(
        re.sub(r'"\s*\n\s*f?"', "", path.read_text(encoding="utf-8"))
        for path in (ROOT / "python").rglob("*.py")
    )
    pieces = [piece for piece in re.split(r"…|: |pfgen-bench|\(docs", one(part)) if len(piece) > 8]
    assert pieces
    assert [piece for piece in pieces if piece not in source] == []


def test_every_quoted_message_is_tried() -> None:
    assert len(quoted(PAGE)) == len(CASES) + len(SOURCE)
    assert len({one(part) for part in [*CASES, *SOURCE]}) == len(quoted(PAGE))


def test_both_pages_quote_the_same() -> None:
    assert quoted(PAGE) == quoted(japanese(PAGE))


@pytest.mark.parametrize("page", [FAQ, japanese(FAQ)], ids=lambda page: page.name)
def test_messages_of_the_questions_are_quoted_here(page: Path) -> None:
    """There parts may be left out (…)."""
    shown = [code for code in codes(prose(page)) if code.startswith(("error: ", "warning: "))]
    assert shown
    for message in shown:
        pattern = ".*".join(map(re.escape, message.split("…")))
        assert any(re.match(pattern, each) for each in quoted(PAGE)), message
