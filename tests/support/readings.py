"""A run whose scores depend on how Python's `sum` adds: three sources, in another order in each question."""

from __future__ import annotations

import json
import lzma
import random
from functools import cache
from pathlib import Path

import oracle
from pfgen_rs import Settings, load_benchmark
from pfgen_rs.metrics.settings import Summation

ADD: dict[Summation, oracle.Sum] = {"plain": oracle.left_sum, "compensated": oracle.compensated_sum}
OTHER: dict[Summation, Summation] = {"plain": "compensated", "compensated": "plain"}
COMPENSATED = Settings(summation="compensated")
TEXTS = {"Q01": "一つ目は何ですか？", "Q02": "二つ目は何ですか？"}
_ORDERS = {"Q01": "ABC", "Q02": "CAB"}
_LETTERS = "あいうえおかきくけこ"


def write_benchmark(folder: Path) -> Path:
    """Two questions with reference answers of random letters."""
    rng = random.Random(5)
    folder.mkdir(parents=True)
    for key, order in _ORDERS.items():
        question = {
            "question_id": key,
            "question": TEXTS[key],
            "category": "",
            "note": "",
            "keywords": [{"t": _LETTERS[0], "importance": 0.3}],
            "answers": {source: [_text(rng, 12) for _ in range(7)] for source in order},
        }
        (folder / f"{key}.json").write_text(json.dumps(question), encoding="utf-8")
    return folder


def write_run(folder: Path, benchmark: Path, summation: Summation) -> Path:
    """A run's folder, with its `result.json` as the oracle writes it in this reading."""
    folder.mkdir(parents=True)
    lines = [{"question": TEXTS[key], "answer": text} for key, text in responses(benchmark)]
    content = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    (folder / "trials.jsonl").write_text(content, encoding="utf-8")
    (folder / "config.json").write_text(json.dumps({"model": "some/model"}), encoding="utf-8")
    write_result(folder, benchmark, summation)
    return folder


def write_result(folder: Path, benchmark: Path, summation: Summation) -> bytes:
    """Write the run's `result.json` as the oracle has it in this reading; returns the content."""
    path = max(folder.glob("trials.jsonl*"))  # the packed one, where there is one
    trials = path.read_bytes()
    text = lzma.decompress(trials) if path.suffix == ".xz" else trials
    lines = [json.loads(line) for line in text.splitlines()]
    files = [path.read_bytes() for path in sorted(benchmark.glob("Q*.json"))]
    config = json.loads((folder / "config.json").read_bytes())
    questions = [json.loads(file) for file in files]
    result = oracle.run_result(questions, files, trials, lines, config, ADD[summation])
    content = json.dumps(result, ensure_ascii=False, indent=2).encode()
    (folder / "result.json").write_bytes(content)
    return content


def responses(benchmark: Path) -> list[tuple[str, str]]:
    """Questions (ids) and answers, with some whose average differs between the readings."""
    return _responses(benchmark)


@cache
def _responses(benchmark: Path) -> list[tuple[str, str]]:
    rng = random.Random(1)
    asked = [rng.choice(list(TEXTS)) for _ in range(20_000)]
    answers = [_text(rng, rng.randint(3, 20)) for _ in asked]
    plain, other = (
        load_benchmark(benchmark, settings=settings).score_batch(asked, answers)["average"]
        for settings in (None, COMPENSATED)
    )
    telling = (plain != other).arg_true().to_list()
    assert len(telling) > 10
    rows = sorted({*telling, *range(40)})
    return [(asked[row], answers[row]) for row in rows]


def _text(rng: random.Random, length: int) -> str:
    return "".join(rng.choices(_LETTERS, k=length))
