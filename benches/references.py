"""Build and use one question with many reference answers; print what it costs as JSON.

    python benches/references.py COUNT

The answers are those of all questions, shuffled, as one source of one question: real text, more varied than
that many answers to one question would be. The responses are those to all questions, too.
"""

from __future__ import annotations

import dataclasses
import json
import random
import sys

import timing
from pfgen_rs.benchmark import Benchmark
from responses import SEED, real_world

RESPONSES = 20_000
REPEATS = 3


def main() -> None:
    """Measure for the number of answers that the first argument says, or all where there are fewer."""
    world = real_world()
    texts = [a for question in world.benchmark for s in question.answers.values() for a in s]
    answers = list(dict.fromkeys(texts))
    random.Random(SEED).shuffle(answers)
    answers = answers[: int(sys.argv[1])]
    first = next(iter(world.benchmark))
    # A copy does not know its file, and so has no place in the cache.
    question = dataclasses.replace(first, answers={"all": answers})
    benchmark = Benchmark([question], world.benchmark.metadata_hash)
    built = timing.seconds(benchmark.prepare)
    responses = world.frame.head(RESPONSES).get_column("answer")
    questions = [question.id] * len(responses)
    scored = timing.medians(
        timing.interleaved(
            [lambda: benchmark.score_batch(questions, responses, threads=1)], REPEATS
        )
    )[0]
    found = {
        "references": len(answers),
        "characters": sum(map(len, answers)),
        "build_s": built,
        "tables": benchmark.native_scorer(question).size,
        "seconds_a_response": scored / len(responses),
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
