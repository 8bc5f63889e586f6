"""Evaluation while training: every measure that is asked, as a table.

    python benches/training.py [--json FILE]

With PFGEN_DATA_DIR set questions and answers are the published ones, otherwise those of the bundled
benchmark. What a whole run of pretraining loses to scoring is measured by `pretraining.py`.
"""

from __future__ import annotations

import argparse
import itertools
import os
import random
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import measures
import timing
from measures import Measure
from pfgen_rs.generate import Example, Prompter, Task, read_examples
from pfgen_rs.training import Reward, StepEvaluator
from responses import SEED, World, real_world

TRIALS, QUESTIONS = 100, 50
ANSWERS = 100  # at each step that is evaluated
STEPS = 200
LOGGED, LOGGING = 16, 1.0  # steps that are logged, and seconds that the logger takes for each
COMPLETIONS, GROUP = 64, 8  # of a call, and of each prompt in it
CALLS = 500
REPEATS = 7
SHOWN = 0.99  # the quantile that notes show beside the median


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", type=Path, help="write the measures there, too")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="pfgen-rs-bench-") as folder:
        os.environ["PFGEN_RS_CACHE"] = str(Path(folder, "cache"))
        world = real_world()
        places = Path(folder, "fast"), Path(folder, "slow")
        measured = [
            prompts(world),
            blocking(world, places[0]),
            logging_slowly(world, places[1]),
            rewards(world),
        ]
    print("\n".join(measures.lines(measured)))
    if options.json:
        measures.write_json(options.json, measures.as_json(measured, world.what))


def prompts(world: World) -> Measure:
    """All prompts of a run, from the example answers on."""
    examples = read_examples(world.folder)
    if len(examples) < QUESTIONS:
        examples = [Example(f"{i}: {e.question}", e.answer) for i in range(4) for e in examples]
    examples = examples[:QUESTIONS]

    def build() -> int:
        prompter = Prompter(examples)
        return sum(len(t.prompt) for j in range(1, TRIALS + 1) for t in prompter.tasks(j))

    took = [timing.seconds(build) for _ in range(REPEATS)]
    note = f"{TRIALS} x {len(examples)}, {build():,} characters; median of {REPEATS}"
    return Measure("prompts", statistics.median(took) * 1e3, note)


@dataclass
class Texts:
    """Hands out real answers instead of generating, and knows how long that took."""

    world: World
    seconds: float = 0.0
    drawn: dict[str, Iterator[str]] = field(default_factory=dict)

    def __call__(self, tasks: Sequence[Task]) -> list[str]:
        """Another answer to each task's question."""
        began = time.perf_counter()
        texts = [next(self.answers_to(task.question)) for task in tasks]
        self.seconds = time.perf_counter() - began
        return texts

    def answers_to(self, question: str) -> Iterator[str]:
        """The real answers to a question, again and again."""
        if question not in self.drawn:
            rows = self.world.frame.filter(question=question)
            self.drawn[question] = itertools.cycle(rows["answer"].to_list())
        return self.drawn[question]


def blocking(world: World, folder: Path) -> Measure:
    """What training waits for at a step that is evaluated; a step of training is long enough to score."""
    texts = Texts(world)
    trials = -(-ANSWERS // len(world.benchmark))
    held_up, behind, idle = [], [], []
    with StepEvaluator(world.benchmark, texts, every=2, trials=trials, folder=folder) as evaluator:
        for step in range(2 * STEPS):
            took = timing.seconds(partial(evaluator, step))
            if step % 2:
                idle.append(took)
                continue
            held_up.append(took - texts.seconds)
            behind.append(timing.seconds(evaluator.wait))
    typical, worst = _median_and_most(held_up)
    note = (
        f"median of {STEPS} steps of {trials * len(world.benchmark)} answers, {worst * 1e3:.2f} ms in 99 of "
        f"100; scored and written {statistics.median(behind) * 1e3:.1f} ms later; "
        f"{statistics.median(idle) * 1e6:.1f} us at other steps"
    )
    return Measure("evaluator_blocking", typical * 1e3, note)


def logging_slowly(world: World, folder: Path) -> Measure:
    """What training waits for at a step that is evaluated while a logger takes its time."""
    texts = Texts(world)
    trials = -(-ANSWERS // len(world.benchmark))
    held_up = []

    def logger(*_: object) -> None:
        time.sleep(LOGGING)

    with StepEvaluator(
        world.benchmark, texts, every=1, trials=trials, folder=folder, loggers=logger
    ) as evaluator:
        for step in range(LOGGED):
            took = timing.seconds(partial(evaluator, step))
            held_up.append(took - texts.seconds)
            time.sleep(0.05)  # a step of training, long enough to score
    note = (
        f"median of {LOGGED} steps, the longest {max(held_up) * 1e3:.2f} ms; {len(evaluator.curve)} steps on "
        "the curve"
    )
    return Measure("evaluator_slow_logger", statistics.median(held_up) * 1e3, note)


def rewards(world: World) -> Measure:
    """Rewards of completions, several to a prompt, others in every call."""
    reward, scorer, texts = Reward(world.benchmark), world.benchmark.scorer(), Texts(world)
    prompter, rng = Prompter(read_examples(world.folder)), random.Random(SEED)
    took, alone = [], []
    for call in range(CALLS):
        # Others for the one than for the other, which would find the questions' tables in the cache.
        some, others = (_groups(prompter.tasks(call + 1), rng) for _ in range(2))
        asked, answers = [task.prompt for task in some], texts(some)
        took.append(timing.seconds(partial(reward, asked, answers)))
        asked, answers = [task.question for task in others], texts(others)
        alone.append(timing.seconds(partial(scorer, asked, answers)))
    typical, worst = _median_and_most(took)
    note = (
        f"median of {CALLS} calls with {COMPLETIONS // GROUP} prompts and {GROUP} completions to each, "
        f"others in every call, one thread; {worst * 1e3:.2f} ms in 99 of 100; bench.scorer() alone "
        f"{statistics.median(alone) * 1e3:.2f} ms"
    )
    return Measure("reward", typical * 1e3, note)


def _groups(tasks: Sequence[Task], rng: random.Random) -> list[Task]:
    """The tasks of a call: some at random, each several times."""
    return [task for task in rng.sample(tasks, COMPLETIONS // GROUP) for _ in range(GROUP)]


def _median_and_most(seconds: Sequence[float]) -> tuple[float, float]:
    ordered = sorted(seconds)
    return statistics.median(ordered), ordered[int(SHOWN * (len(ordered) - 1))]


if __name__ == "__main__":
    main()
