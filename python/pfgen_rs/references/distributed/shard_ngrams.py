"""The tasks that find seldom n-grams; see `rust/core/src/references/sketch`.

Sketches, n-grams and counts travel as bytes. What merges parts adds them, so each part is merged once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pfgen_rs import _native
from pfgen_rs.references.distributed.shard_frames import Mask

__all__ = [
    "Ngrams",
    "Weights",
    "candidate_keys",
    "count_keys",
    "count_ngrams",
    "keys_in_doubt",
    "merge_counts",
    "merge_keys",
    "merge_sketches",
    "often_sketch",
    "seldom_keys",
    "sketch_mask",
    "sketch_shard",
    "without_keys",
]

Weights = NDArray[np.uint32] | None


@dataclass(frozen=True)
class Ngrams:
    """N-grams of `n` characters that are seldom where they occur at most `threshold` times.

    A sketch has 2^`bits` counters, for one of 2^`part_bits` parts of all n-grams. `threads`: those of a task.
    """

    n: int
    threshold: int
    bits: int = 0
    part: int = 0
    part_bits: int = 0
    threads: int | None = 1


def count_ngrams(ngrams: Ngrams, frame: pl.DataFrame, mask: Mask) -> int:
    """Returns the number of n-grams of the rows in `mask`, repeats included."""
    lengths = _masked_texts(ngrams, frame, mask).lengths()
    return int(np.maximum(lengths - ngrams.n + 1, 0).sum())


def sketch_shard(ngrams: Ngrams, frame: pl.DataFrame, mask: Mask, weights: Weights) -> bytes:
    """Count the n-grams of a shard's rows in a sketch."""
    sketch = _empty_sketch(ngrams)
    sketch.update(_masked_texts(ngrams, frame, mask), _masked_weights(weights, mask))
    return sketch.to_bytes()


def merge_sketches(ngrams: Ngrams, *parts: bytes) -> bytes:
    """Add up sketches of different rows."""
    sketch = _empty_sketch(ngrams)
    for part in parts:
        sketch.merge_bytes(part)
    return sketch.to_bytes()


def often_sketch(ngrams: Ngrams, merged: bytes) -> bytes:
    """Returns what `sketch_mask` needs of a merged sketch: which counters exceed the threshold."""
    sketch = _empty_sketch(ngrams)
    sketch.merge_bytes(merged)
    sketch.keep_often(ngrams.threshold)
    return sketch.to_bytes()


def sketch_mask(
    ngrams: Ngrams, often: bytes, frame: pl.DataFrame, mask: Mask, weights: Weights
) -> Mask:
    """Returns the rows of `mask` without an n-gram that is seldom for certain.

    That is all survivors, and a few others.
    """
    sketch = _empty_sketch(ngrams)
    sketch.merge_bytes(often)
    texts = _masked_texts(ngrams, frame, mask)
    return _spread(mask, sketch.mask(texts, _masked_weights(weights, mask), ngrams.threshold))


def candidate_keys(ngrams: Ngrams, frame: pl.DataFrame, mask: Mask, weights: Weights) -> bytes:
    """Returns the n-grams of a shard's candidates and how often they occur among these."""
    texts = _masked_texts(ngrams, frame, mask)
    own = _masked_weights(weights, mask)
    return _native.NgramKeys.of(texts, own, ngrams.n, ngrams.threads).to_bytes()


def merge_keys(ngrams: Ngrams, *parts: bytes) -> bytes:
    """Join n-grams of different rows, adding up their counts."""
    keys = [_native.NgramKeys.from_bytes(part, ngrams.n, ngrams.threads) for part in parts]
    while len(keys) > 1:
        pairs = zip(keys[::2], keys[1::2], strict=False)
        keys = [one.merged(other) for one, other in pairs] + keys[len(keys) - len(keys) % 2 :]
    return keys[0].to_bytes()


def keys_in_doubt(ngrams: Ngrams, merged: bytes) -> bytes:
    """Returns those that are seldom among the candidates; the others are not, as answers only add."""
    keys = _native.NgramKeys.from_bytes(merged, ngrams.n, ngrams.threads)
    return keys.at_most(ngrams.threshold).to_bytes()


def count_keys(
    ngrams: Ngrams, doubtful: bytes, frame: pl.DataFrame, mask: Mask, weights: Weights
) -> bytes:
    """Count n-grams, and no others, in all rows of a shard."""
    keys = _native.NgramKeys.from_bytes(doubtful, ngrams.n, ngrams.threads)
    keys.count(_masked_texts(ngrams, frame, mask), _masked_weights(weights, mask))
    return keys.counts_to_bytes()


def merge_counts(ngrams: Ngrams, doubtful: bytes, *parts: bytes) -> bytes:
    """Add up counts of the same n-grams in different rows."""
    keys = _native.NgramKeys.from_bytes(doubtful, ngrams.n, ngrams.threads)
    for part in parts:
        keys.merge_counts(part)
    return keys.counts_to_bytes()


def seldom_keys(ngrams: Ngrams, doubtful: bytes, counts: bytes) -> bytes:
    """Returns the n-grams that are seldom among all answers."""
    keys = _native.NgramKeys.from_bytes(doubtful, ngrams.n, ngrams.threads)
    keys.merge_counts(counts)
    return keys.at_most(ngrams.threshold).to_bytes()


def without_keys(ngrams: Ngrams, seldom: bytes, frame: pl.DataFrame, mask: Mask) -> Mask:
    """Returns the rows of `mask` that have none of these n-grams."""
    keys = _native.NgramKeys.from_bytes(seldom, ngrams.n, ngrams.threads)
    return _spread(mask, ~keys.in_texts(_masked_texts(ngrams, frame, mask)))


def _empty_sketch(ngrams: Ngrams) -> _native.NgramSketch:
    return _native.NgramSketch(
        ngrams.n,
        ngrams.bits,
        part=ngrams.part,
        part_bits=ngrams.part_bits,
        threads=ngrams.threads,
    )


def _masked_texts(ngrams: Ngrams, frame: pl.DataFrame, mask: Mask) -> _native.Texts:
    return _native.Texts(frame.get_column("answer").filter(pl.Series(mask)), ngrams.threads)


def _masked_weights(weights: Weights, mask: Mask) -> Weights:
    return None if weights is None else weights[mask]


def _spread(mask: Mask, part: Mask) -> Mask:
    """Returns a mask over all rows from one over those in `mask`."""
    whole = mask.copy()
    whole[mask] = part
    return whole
