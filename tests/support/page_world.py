"""The folder that pages speak of, with runs, answers and a checkout; and what stands for the rest."""

from __future__ import annotations

import json
import lzma
import os
import shutil
import sys
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl

import checkouts
import pfgen_rs
from fault_server import Asked, FaultServer, Handler, body
from helpers import environment, zstd
from pfgen_rs.judge.pairs import sample_path
from pfgen_rs.questions.locate import bundled_path
from places import ROOT

RUNS = {"a": "faithful", "b": "careless", "c": "babbling"}
WIDTH = 80
"""Of the window in which the pages were written."""
SAID = "光合成とは、植物が光を使って養分を作る働きです。"
SERVERS = ("http://127.0.0.1:8000/v1", "http://localhost:8000/v1")
"""Where pages say that a server listens."""

MADE_BEFORE = {
    "pfgen-rs judge decide verdicts": (
        "python people.py; cp -r verdicts verdicts-a; cp -r verdicts verdicts-b"
    )
}
"""What people do between two commands of a page."""

PEOPLE = """
import json
with open("humans.jsonl", "w") as file:
    for number, line in enumerate(open("pairs.jsonl")):
        for rater in "xyz":
            vote = {"id": json.loads(line)["id"], "rater": rater, "verdict": "ABC"[number % 3]}
            print(json.dumps(vote), file=file)
"""

SMALLER = {"--limit 100": "--limit 4"}
"""What the bundled set is too small for."""

PROGRAM = f"""#!{sys.executable}
import json, sys
for line in sys.stdin:
    print(json.dumps({{"id": json.loads(line)["id"], "answer": {SAID!r}}}), flush=True)
"""


def furnish(folder: Path, page: str) -> None:
    """Put into a folder what a page's commands read; it is named as in `docs/`."""
    for name, run in RUNS.items():
        for place in (
            f"runs/{name}",
            f"run-{name}",
            f"pfgen-bench/result/some/model-{name}/1234567",
        ):
            _copy_run(folder / place, run, f"some/model-{name}")
    _write_published_run(folder / "result/my-model/1234567")
    for name in ("benches", "data", "docs", "examples"):
        (folder / name).symlink_to(ROOT / name, target_is_directory=True)
    _write_checkout(folder / "pfgen-bench")
    _write_answers(folder)
    for name, source in SAMPLES.get(page, {}).items():
        found = sample_path() / source
        (shutil.copytree if found.is_dir() else shutil.copy)(found, folder / name)
    (folder / "people.py").write_text(PEOPLE, encoding="utf-8")
    program = folder / "answer.py"
    program.write_text(PROGRAM, encoding="utf-8")
    program.chmod(0o755)


SAMPLES: Mapping[str, Mapping[str, str]] = {
    "how-to/judge-dialogues.md": {"lite.jsonl": "dialogues.jsonl"},
    "reference/judge-formats.md": {"verdicts": "verdicts/careful"},
}
"""Files of the bundled sample of judgments that pages call by other names."""


def _copy_run(folder: Path, run: str, model: str) -> None:
    folder.mkdir(parents=True)
    shutil.copy(pfgen_rs.sample_runs()[run] / "trials.jsonl.xz", folder)
    config = {"engine": "vllm", "mode": "completion", "model": model}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")


def _write_published_run(folder: Path) -> None:
    _copy_run(folder, "faithful", "my-model")
    pfgen_rs.score_file(folder, "mini").to_json(folder / "result.json")


def _write_checkout(folder: Path) -> None:
    """A checkout whose folder can also be named as a benchmark: `-b pfgen-bench`."""
    (folder / "data").mkdir()
    for path in bundled_path().glob("*.*"):
        if path.suffix in (".xz", ".jsonl"):
            shutil.copy(path, folder)
            shutil.copy(path, folder / "data")
    (folder / "README.md").write_text(f"# Title\n{checkouts.MARKS}# End\n", encoding="utf-8")


def _write_answers(folder: Path) -> None:
    """The bundled answers in files of every kind that pages name."""
    rows = pl.concat([_rows_of_run(name) for name in RUNS])
    for place in ("answers.parquet", "samples.parquet", "answers/1.parquet", "answers/2.parquet"):
        (folder / place).parent.mkdir(exist_ok=True)
        rows.write_parquet(folder / place)
    (folder / "samples").mkdir()
    one = b"".join(map(_line, _rows_of_run("a").iter_rows(named=True)))
    for place in ("answers.jsonl", "my-answers.jsonl", "trials.jsonl"):
        (folder / place).write_bytes(one)
    (folder / "trials.jsonl.xz").write_bytes(lzma.compress(one))
    for place in ("answers.jsonl.zst", "samples/1.jsonl.zst", "samples/2.jsonl.zst"):
        (folder / place).write_bytes(zstd.compress(one))


def _rows_of_run(name: str) -> pl.DataFrame:
    rows = pfgen_rs.score_file(pfgen_rs.sample_runs()[RUNS[name]], "mini").frame
    return rows.select(
        "question",
        "answer",
        trial=pl.int_range(1, pl.len() + 1).over("question_id"),
        model=pl.lit(f"some/model-{name}"),
        seed=pl.int_range(pl.len()),
        temperature=pl.lit(1.0),
    )


def _line(row: Mapping[str, Any]) -> bytes:
    return json.dumps(row, ensure_ascii=False).encode() + b"\n"


def _say(handler: Handler, asked: Asked) -> None:
    """An answer that is a verdict and a grade, too; which, depends on what was asked."""
    number = zlib.crc32(asked.prompt.encode())
    said = f"{SAID} [[{1 + number % 5}]] [[{'ABC'[number % 3]}]]"
    likely = [{"token": one, "logprob": -0.5 - (number + n) % 3} for n, one in enumerate("ABC")]
    tokens = [{"token": one, "logprob": -0.5, "top_logprobs": likely} for one in said]
    is_chat = asked.path.endswith("/chat/completions")
    handler.reply(200, body(said, is_chat, logprobs={"content": tokens} if is_chat else None))


@contextmanager
def outside(home: Path) -> Iterator[dict[str, str]]:
    """The environment of a page's commands: a server that answers everything, and no other network."""
    scripts = Path(sys.executable).parent
    with FaultServer(default=_say) as server:
        yield environment(
            COLUMNS=str(WIDTH),
            HOME=str(home),
            HF_HUB_OFFLINE="1",
            OPENAI_API_KEY="key",
            OPENAI_BASE_URL=server.url,
            PATH=os.pathsep.join([str(scripts), os.environ["PATH"]]),
        )


def translated(code: str, env: Mapping[str, str]) -> str:
    """A script with what there is instead of what pages name."""
    for said, meant in {**dict.fromkeys(SERVERS, env["OPENAI_BASE_URL"]), **SMALLER}.items():
        code = code.replace(said, meant)
    return "\n".join([*(made for before, made in MADE_BEFORE.items() if before in code), code])
