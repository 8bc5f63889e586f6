"""Candidates and configurations of small builds, and the command in a process that can be killed anywhere."""

from __future__ import annotations

import json
import lzma
import random
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from grammar import load
from helpers import python
from pfgen_rs.references.config import BuildConfig, read_config
from places import ROOT

GRAMMARS = ROOT / "data" / "mini" / "grammar"
IDS = ("Q03", "Q14")  # one of two sources, one of one
STEPS = (
    "normalise",
    "rules",
    "ranking",
    "duplicates",
    "singletons",
    "length",
    "consensus",
    "select",
)
RULES = """
[[Q03.rule]]
name = "says-it-sublimes"
require = "昇華"
"""
QUESTIONS = """
[[question]]
question_id = "{}"
question = "{}"
note = "例です。"
keywords = [{{ t = "二酸化炭素" }}]

[[question]]
question_id = "{}"
question = "{}"
note = "風呂敷は、物を包む布です。"
"""


def candidates() -> list[dict[str, str]]:
    """Some hundred candidates a source, a few of which are spoilt or stand there twice."""
    rows: list[dict[str, str]] = []
    for question_id in IDS:
        grammar = load(GRAMMARS / f"{question_id}.toml")
        for source, rules in grammar.sources.items():
            rng = random.Random(question_id + source)
            for i in range(600):
                answer = rules.sample(rng)
                if i % 20 == 1:
                    answer = answer[:30]
                if i % 20 == 2:
                    answer = answer.replace("、", "、 ")
                if i % 20 == 3:
                    answer = rows[-1]["answer"]
                row = {"question": grammar.question, "answer": answer, "source": source}
                rows.append({**row, "model": f"m{i % 3}"})
    random.Random(0).shuffle(rows)
    return rows


ROWS = candidates()


def write_lines(path: Path, rows: Sequence[Mapping[str, object]] = ROWS) -> None:
    """Write candidates as JSON lines, compressed if the name says so."""
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()
    path.write_bytes(lzma.compress(text, preset=0) if path.suffix == ".xz" else text)


def prepare(folder: Path) -> BuildConfig:
    """Write candidates, rules, questions and `CONFIG` to a folder; returns the configuration."""
    write_lines(folder / "candidates.jsonl")
    (folder / "rules.toml").write_text(RULES, encoding="utf-8")
    names = [(each, load(GRAMMARS / f"{each}.toml").question) for each in IDS]
    text = QUESTIONS.format(*(value for pair in names for value in pair))
    (folder / "questions.toml").write_text(text, encoding="utf-8")
    (folder / "set.toml").write_text(CONFIG, encoding="utf-8")
    return read_config(folder / "set.toml")


def files(folder: Path) -> dict[str, bytes]:
    """The contents of the files of a folder by name."""
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


COMMAND = """
import os, signal, sys
from pfgen_rs import cli
from pfgen_rs.references import built, candidates, checkpoints, config
end = lambda: os.kill(os.getpid(), int(os.environ["SIGNAL"]))
point = os.environ.get("POINT", "")

def saved(self, key, state, report, real=checkpoints.Checkpoints.save):
    if point == f"before {report.step}":
        end()
    real(self, key, state, report)
    if point == f"after {report.step}":
        end()

def gathered(record, found, real=candidates.save_gathered):
    if point == "before gathered":
        end()
    real(record, found)
    if point == "after gathered":
        end()

def written(path, content, real=built.write_atomic):
    if point == "writing" and path.name == "Q14.json":
        end()
    real(path, content)

def logged(name, real):
    def run(self, state, context):
        with open(os.environ["LOG"], "a") as log:
            log.write(name + "\\n")
        return real(self, state, context)
    return run

checkpoints.Checkpoints.save = saved
candidates.save_gathered = gathered
built.write_atomic = written
for name, step in config.STEPS.items():
    step.run = logged(name, step.run)
cli.main()
"""
CONFIG = """
candidates = ["candidates.jsonl"]
out = "set"
questions = "questions.toml"
seed = 7
rules.file = "rules.toml"
duplicates.keep = "weight"
singletons.at_least = 0
length = { count = 200, share = 1.0 }

[select]
count = 40
"""


def command(
    folder: Path, *more: str, config: str = CONFIG, first: str = "", **env: str
) -> subprocess.CompletedProcess[str]:
    """Run `first` and `build` in a process that logs its steps and ends where `POINT` says."""
    (folder / "set.toml").write_text(config, encoding="utf-8")
    given = {"LOG": str(folder / "log"), **env}
    done = python(f"{first}\n{COMMAND}", "build", folder / "set.toml", *more, env=given)
    assert "Traceback" not in done.stderr, done.stderr
    return done
