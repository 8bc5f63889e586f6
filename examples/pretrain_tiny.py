# /// script
# requires-python = ">=3.11"
# dependencies = ["jax>=0.6", "optax>=0.2.4", "polars", "pfgen_rs[plots]"]
#
# [tool.uv.sources]
# pfgen_rs = { path = ".." }
# ///
"""Pretrain a tiny transformer from scratch, and see its score rise from 0 as it learns to write.

    python examples/pretrain_tiny.py [--steps 800] [--seed 0] [--out pretrain_tiny] [--backend cpu]

The model reads characters: the questions of the bundled benchmark with their sample and reference answers,
about 19,000 texts. So it learns these answers by heart, which is the point: a curve in minutes on two cores.
`pfgen_rs.training.StepEvaluator` asks it all questions every few steps. The folder gets `curve.parquet`,
`curve.png`, `answers/` and `summary.json`; the shares of time are printed at the end.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import polars as pl
from jax import Array, lax
from numpy.typing import NDArray

from characters import Characters, batches, training_texts
from pfgen_rs import PfgenError, load_benchmark
from pfgen_rs.generate import Task
from pfgen_rs.training import StepEvaluator

METRICS = ("score", "fluency", "truthfulness", "helpfulness")

Params = dict[str, Any]
Caches = tuple[Array, Array]
"""Keys and values, each (layers, batch, heads, context, width of a head)."""


@dataclass(frozen=True)
class Config:
    """What may be chosen; every field is an option of the command line."""

    steps: int = 800
    seed: int = 0
    out: Path = Path("pretrain_tiny")
    backend: str = "cpu"  # or cuda, tpu …: what JAX calls it
    every: int = 25  # steps between evaluations
    trials: int = 4  # answers to each question at an evaluation
    batch: int = 16
    width: int = 128
    layers: int = 3
    heads: int = 4
    learning_rate: float = 4e-3


# The model: a transformer, its layers stacked so that one scan runs them all


@partial(jax.jit, static_argnums=(1, 2, 3))
def initial(key: Array, config: Config, vocabulary: int, context: int) -> Params:
    """Random parameters."""
    keys = iter(jax.random.split(key, 6))
    wide, deep = config.width, config.layers

    def normal(*shape: int, scale: float) -> Array:
        return scale * jax.random.normal(next(keys), shape)

    scale = wide**-0.5
    return {
        "tokens": normal(vocabulary, wide, scale=0.02),
        "positions": normal(context, wide, scale=0.02),
        "layers": {
            "attend": normal(deep, wide, 3 * wide, scale=scale),
            "join": normal(deep, wide, wide, scale=scale / deep),
            "widen": normal(deep, wide, 4 * wide, scale=scale),
            "narrow": normal(deep, 4 * wide, wide, scale=scale / 2 / deep),
        },
    }


def norm(x: Array) -> Array:
    """Each vector at length 1 (root mean square)."""
    return x * lax.rsqrt(jnp.mean(x * x, axis=-1, keepdims=True) + 1e-6)


def attention(x: Array, layer: Params, heads: int, at: Array, cache: Any) -> tuple[Array, Caches]:
    """Each of the positions `at` looks at those up to itself; (batch, positions, width) in and out.

    `cache` has keys and values of earlier positions, and gets these; without one these are all there are.
    """
    batch, length, width = x.shape
    parts = (norm(x) @ layer["attend"]).reshape(batch, length, 3, heads, width // heads)
    queries, keys, values = parts.transpose(2, 0, 3, 1, 4)
    if cache is not None:
        keys, values = (
            lax.dynamic_update_slice_in_dim(old, new, at[0], axis=2)
            for old, new in zip(cache, (keys, values), strict=True)
        )
    seen = jnp.arange(keys.shape[2]) <= at[:, None]
    weights = queries @ keys.swapaxes(2, 3) * (width // heads) ** -0.5
    mixed = jax.nn.softmax(jnp.where(seen, weights, -jnp.inf)) @ values
    return mixed.swapaxes(1, 2).reshape(x.shape) @ layer["join"], (keys, values)


def forward(
    params: Params, tokens: Array, heads: int, at: Array, caches: Caches | None = None
) -> tuple[Array, Caches]:
    """Logits of the next tokens, (batch, positions, vocabulary), and the caches with these positions."""

    def block(x: Array, stacked: Any) -> tuple[Array, Caches]:
        layer, cache = stacked
        mixed, cache = attention(x, layer, heads, at, cache)
        x = x + mixed
        return x + jax.nn.gelu(norm(x) @ layer["widen"]) @ layer["narrow"], cache

    x = params["tokens"][tokens] + params["positions"][at]
    x, filled = lax.scan(block, x, (params["layers"], caches))
    return norm(x) @ params["tokens"].T, filled


def loss_of(params: Params, rows: Array, heads: int) -> Array:
    """Mean surprise at each next character, in nats; what fills a row behind its end does not count."""
    logits, _ = forward(params, rows[:, :-1], heads, jnp.arange(rows.shape[1] - 1))
    losses = optax.softmax_cross_entropy_with_integer_labels(logits, rows[:, 1:])
    counts = rows[:, :-1] != 0
    return jnp.sum(losses * counts) / jnp.sum(counts)


@partial(jax.jit, static_argnames="heads")
def sample(params: Params, prompts: Array, seeds: Array, heads: int) -> Array:
    """Rows continued to the full context, each with its own seed; prompts are filled up with 0.

    One scan over positions: where the prompt has a token that one is taken, behind it one is drawn.
    """
    batch, context = prompts.shape
    keys = jax.vmap(jax.random.key)(seeds)  # a trial's questions share their seed, hence the rows
    keys = jax.vmap(jax.random.fold_in)(keys, jnp.arange(batch))
    layers, _, width = params["layers"]["join"].shape
    empty = jnp.zeros((layers, batch, heads, context, width // heads))

    def extend(carry: Any, at: Array) -> tuple[Any, Array]:
        caches, token = carry
        logits, caches = forward(params, token[:, None], heads, at[None], caches)
        now = jax.vmap(jax.random.fold_in, in_axes=(0, None))(keys, at)
        drawn = jax.vmap(jax.random.categorical)(now, logits[:, 0])
        token = jnp.where(prompts[:, at + 1] != 0, prompts[:, at + 1], drawn)
        return (caches, token), token

    _, tokens = lax.scan(extend, ((empty, empty), prompts[:, 0]), jnp.arange(context - 1))
    return jnp.concatenate([prompts[:, :1], tokens.T], axis=1)


# Training, and what it takes


class Clock:
    """Seconds spent on each kind of work."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)

    @contextmanager
    def __call__(self, what: str) -> Iterator[None]:
        """Add what the block takes."""
        began = time.perf_counter()
        yield
        self.seconds[what] += time.perf_counter() - began


class Model:
    """Parameters, how they are updated, and how they answer."""

    def __init__(self, config: Config, characters: Characters) -> None:
        self.characters, self.heads = characters, config.heads
        warmup, steps = config.steps // 20, config.steps + 1
        rate = optax.warmup_cosine_decay_schedule(0.0, config.learning_rate, warmup, steps)
        self.params = initial(
            jax.random.key(config.seed), config, len(characters.known), characters.context
        )
        self.optimiser = optax.adamw(rate)
        self.state = self.optimiser.init(self.params)

    def learn(self, rows: NDArray[np.int32]) -> float:
        """One step on texts as rows of tokens; the loss before it."""
        self.params, self.state, loss = self._updated(self.params, self.state, rows)
        return float(loss)

    @partial(jax.jit, static_argnums=0, donate_argnums=(1, 2))
    def _updated(self, params: Params, state: Any, rows: Array) -> tuple[Params, Any, Array]:
        loss, gradient = jax.value_and_grad(loss_of)(params, rows, self.heads)
        changes, state = self.optimiser.update(gradient, state, params)
        return optax.apply_updates(params, changes), state, loss

    def answer(self, tasks: Sequence[Task]) -> list[str]:
        """What it answers, as it is now; the evaluator cuts the answers where the next question begins."""
        prompts = [task.prompt for task in tasks]
        seeds = np.array([task.seed for task in tasks])
        rows = np.asarray(sample(self.params, self.characters.rows(prompts), seeds, self.heads))
        texts = map(self.characters.text, rows)
        return [text[len(prompt) :] for text, prompt in zip(texts, prompts, strict=True)]


def train(config: Config) -> dict[str, Any]:
    """Train, evaluate every few steps, write curve and plot; gives figures of the run."""
    benchmark = load_benchmark("mini")
    texts = training_texts(benchmark)
    characters = Characters(texts)
    rows = batches(characters.rows(texts), config.batch, config.seed)
    model, clock, loss, tokens = Model(config, characters), Clock(), {0: float("nan")}, 0

    def generate(tasks: Sequence[Task]) -> list[str]:
        with clock("generation"):
            return model.answer(tasks)

    def show(figures: Mapping[str, Any], step: int) -> None:
        columns = "".join(f"{figures[f'pfgen/{name}']:>14.3f}" for name in METRICS)
        print(f"{step:>6}{loss[step]:>8.3f}{columns}", flush=True)

    print(f"{'step':>6}{'loss':>8}" + "".join(f"{name:>14}" for name in METRICS))
    with StepEvaluator(
        benchmark,
        generate,
        every=config.every,
        trials=config.trials,
        seed=config.seed,
        num_examples=0,
        folder=config.out,
        loggers=[show],
    ) as evaluator:
        for step in range(config.steps + 1):
            if step > 0:
                with clock("steps"):
                    batch = next(rows)
                    loss[step] = model.learn(batch)
                    tokens += int(np.count_nonzero(batch))
            with clock("evaluation"):
                evaluator(step, tokens=tokens)
    evaluator.plot(config.out / "curve.png")
    return figures_of(evaluator.curve, clock.seconds)


def figures_of(curve: pl.DataFrame, seconds: Mapping[str, float]) -> dict[str, Any]:
    """The run in numbers: what scoring held training up for, beside the work itself."""
    held_up = seconds["evaluation"] - seconds["generation"]
    work = seconds["steps"] + seconds["generation"]
    return {
        "curve": curve.select("step", *METRICS).to_dict(as_series=False),
        "seconds_of_steps": seconds["steps"],
        "seconds_of_generation": seconds["generation"],
        "seconds_held_up_by_scoring": held_up,
        "scoring_share": held_up / work,
    }


def main() -> None:
    """Read the options, train, and say where the time went."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    for field in fields(Config):
        option = "--" + field.name.replace("_", "-")
        parser.add_argument(
            option, type=type(field.default), default=field.default, help="default: %(default)s"
        )
    config = Config(**vars(parser.parse_args()))
    jax.config.update("jax_platforms", config.backend)  # type: ignore[no-untyped-call]
    try:
        jax.devices()
    except (AssertionError, RuntimeError) as error:
        parser.error(f"JAX has no backend {config.backend!r} here {error}")
    try:
        figures = train(config)
    except PfgenError as error:
        parser.exit(2, f"{error}\n")
    (config.out / "summary.json").write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    print(
        f"\n{figures['seconds_of_steps']:.1f} s of steps, {figures['seconds_of_generation']:.1f} s of "
        f"generation; scoring held training up for {figures['seconds_held_up_by_scoring']:.3f} s, "
        f"{figures['scoring_share']:.3%} of that. See {config.out}/curve.png"
    )


if __name__ == "__main__":
    main()
