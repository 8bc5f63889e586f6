"""What judging costs besides the judge: stored judgments decided, agreed with raters and ranked.

    python benches/judgments.py [--json FILE] [--quick]

A made-up folder of verdicts has 500,000 pairs judged in both orders, a million judgments, of 15 models on
5,000 questions, and three raters. Measured are reading and deciding, agreement with 1,000 bootstrap resamples
for questions of different sizes, ranking, and reading single verdicts out of tokens. The machine may be
shared: the best of several runs counts.
"""

from __future__ import annotations

import argparse
import itertools
import math
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

import measures
import timing
from pfgen_rs.judge import VerdictFolder, agree, rank, read_verdict
from pfgen_rs.judge.compare import comparison_config
from pfgen_rs.judge.pairs import Pair
from pfgen_rs.judge.requests import Judge, find_prompt
from pfgen_rs.judge.verdict_folder import open_verdict_folder
from pfgen_rs.judge.verdicts import LETTERS

PAIRS, QUICK_PAIRS = 500_000, 5_000
MODELS = 15  # 105 pairs of models: 100 of them meet on a question
A_QUESTION = 100
RATERS = 3
REPEATS = 3
TOKENS = 300  # of reasons
READS = 200
_ASKED = 5.0  # seconds for deciding and agreeing
_ASKED_READING = 20.0  # microseconds a verdict
Floats = NDArray[np.float64]


def main() -> None:
    """Measure, print, and write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", type=Path, default=None, help="write what was measured")
    parser.add_argument("--quick", action="store_true", help="small sizes, to try the script")
    options = parser.parse_args()
    pairs = QUICK_PAIRS if options.quick else PAIRS
    found: dict[str, Any] = {"machine": measures.machine(), "pairs": pairs, "raters": RATERS}
    with tempfile.TemporaryDirectory(prefix="pfgen-rs-bench-") as folder:
        humans = make_folder(Path(folder), pairs)
        found |= whole(Path(folder), humans)
    found |= {
        "verdict_us": reading(0),
        f"verdict_behind_{TOKENS}_us": reading(TOKENS),
        "asked_verdict_us": _ASKED_READING,
    }
    for name, value in found.items():
        print(f"{name:28} {value:10.2f}" if isinstance(value, float) else f"{name:28} {value}")
    if options.json:
        measures.write_json(options.json, found)


def whole(folder: Path, humans: pl.DataFrame) -> dict[str, float]:
    """Seconds of each stage, and of deciding and agreeing together."""
    stored = VerdictFolder(folder)
    decisions = stored.decisions()
    sizes = {A_QUESTION: decisions, 5: _of_size(decisions, 5), 1: _of_size(decisions, 1)}
    found = stage("decide", stored.decisions)
    for size, frame in sizes.items():
        found |= stage(f"agree_{size}_a_question", partial(agree, frame, humans))
    found |= stage("rank", partial(rank, decisions))
    together = found["decide_s"] + found[f"agree_{A_QUESTION}_a_question_s"]
    return {**found, "decide_and_agree_s": together, "asked_s": _ASKED}


def reading(before: int) -> float:
    """Microseconds for a verdict behind so many tokens of reasons, each with the 20 most likely ones."""
    others = [{"token": f"t{i}", "logprob": -9.0 - i} for i in range(17)]
    filler = {
        "token": "。",
        "logprob": -0.1,
        "top_logprobs": [{"token": "。", "logprob": -0.1}, *others],
    }
    letters = [{"token": each, "logprob": -0.5 - i} for i, each in enumerate(LETTERS)]
    tokens = [filler] * before + [{"token": "A", "logprob": -0.5, "top_logprobs": letters + others}]
    if read_verdict(tokens, which="last").shown != "A":
        raise SystemExit("the verdict is not read as it should be")
    each = best(lambda: [read_verdict(tokens, which="last") for _ in range(READS)])
    return each / READS * 1e6


def best(work: Callable[[], object]) -> float:
    """Seconds of the fastest run."""
    return min(timing.seconds(work) for _ in range(REPEATS))


def stage(name: str, work: Callable[[], object]) -> dict[str, float]:
    """Seconds of the fastest run, and CPU seconds of all threads, which other programs disturb less."""
    return {f"{name}_s": best(work), f"{name}_cpu_s": timing.cpu_seconds(work)}


def make_folder(folder: Path, pairs: int) -> pl.DataFrame:
    """Write pairs and judgments of a judge that prefers what is shown first; returns verdicts of raters."""
    random = np.random.default_rng(0)
    meeting = np.array(list(itertools.combinations(range(MODELS), 2))[:A_QUESTION])
    first, second = meeting[np.arange(pairs) % A_QUESTION].T
    ids = [str(i) for i in range(pairs)]
    names = [f"model-{i:02}" for i in range(MODELS)]
    made = (
        Pair(
            id=ids[i],
            question="",
            models=(names[first[i]], names[second[i]]),
            answers=("あ" * (1 + i % 7), "い" * (1 + i % 5)),
            question_id=f"Q{i // A_QUESTION}",
            task=f"task{i // A_QUESTION % 3}",
        )
        for i in range(pairs)
    )
    config = comparison_config(Judge("made-up", "made-up"), find_prompt("result", "pairwise"))
    open_verdict_folder(folder, config, made)
    digests = pl.read_csv(folder / ".digests.csv", skip_rows=1, has_header=False)
    odds = random.normal(0, 1, (pairs, 3))
    odds[:, 0] += 0.1 * (second - first)
    truth = odds.argmax(axis=1)
    orders = []
    for order in (1, 2):
        seen = odds + random.normal(0, 0.7, (pairs, 3))
        p = _softmax(seen if order == 1 else seen[:, [1, 0, 2]], favoured=0.7)
        orders.append(_judgments(ids, order, p, digests.to_series(order - 1)))
    pl.concat(orders).write_ndjson(folder / "judgments.jsonl")
    return _raters(random, ids, truth)


def _softmax(odds: Floats, favoured: float) -> Floats:
    raised = np.exp(odds + np.array([favoured, 0.0, -0.5]))
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))


def _judgments(ids: list[str], order: int, p: Floats, digests: pl.Series) -> pl.DataFrame:
    shown = np.array(LETTERS)[p.argmax(axis=1)]
    probabilities = pl.DataFrame(p.round(6), schema=list(LETTERS)).to_struct("probabilities")
    return pl.DataFrame(
        {
            "pair": ids,
            "order": order,
            "sample": 0,
            "prompt": "plain",
            "digest": digests,
            "output": shown,
            "finish_reason": "stop",
            "shown": shown,
            "probabilities": probabilities,
            "problem": None,
        }
    )


def _raters(random: np.random.Generator, ids: list[str], truth: NDArray[np.int64]) -> pl.DataFrame:
    verdicts = []
    for rater in range(RATERS):
        wrong = random.random(len(ids)) < 0.25
        letters = np.where(wrong, random.integers(0, 3, len(ids)), truth)
        columns = {"pair": ids, "rater": f"rater{rater}", "verdict": np.array(LETTERS)[letters]}
        verdicts.append(pl.DataFrame(columns))
    return pl.concat(verdicts)


def _of_size(decisions: pl.DataFrame, pairs: int) -> pl.DataFrame:
    """The same decisions with questions of so many pairs."""
    number = math.ceil(len(decisions) / pairs)
    questions = np.arange(len(decisions)) % number
    return decisions.with_columns(question_id=pl.Series(questions).cast(pl.String))


if __name__ == "__main__":
    main()
