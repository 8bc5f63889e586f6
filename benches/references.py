"""Build one question with many reference answers and score with it; print what that costs as JSON.

    python benches/references.py FOLDER

The folder has one question file, and responses to it in `responses.jsonl`; `growth.py` writes both.
"""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path

import timing
from pfgen_rs import load_benchmark
from pfgen_rs.benchmark import Benchmark
from responses import read

REPEATS = 3


def main() -> None:
    """Measure in the folder that the first argument names."""
    folder = Path(sys.argv[1])
    (stored,) = load_benchmark(folder)
    question = dataclasses.replace(
        stored
    )  # does not know its file, and so has no place in the cache
    benchmark = Benchmark([question], "")
    built = timing.seconds(benchmark.prepare)
    responses = read(folder / "responses.jsonl")
    rounds = timing.interleaved([lambda: benchmark.score_batch(responses, threads=1)], REPEATS)
    (scored,) = timing.medians(rounds)
    scorer = benchmark._native_scorer(question)
    found = {
        "references": sum(map(len, question.answers.values())),
        "build_s": built,
        "tables": scorer.size,
        "layout": "compact" if scorer.compact else "wide",
        "seconds_a_response": scored / len(responses),
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
