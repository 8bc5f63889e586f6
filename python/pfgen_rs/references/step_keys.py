"""Keys of finished work: digests of everything that a result depends on, so that it can be reused.

The key of a step is that of the step before it and its own settings; the first of a question is that of its
candidates. Equal keys mean equal results, except for a selection whose budget is in seconds.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from pfgen_rs import _native
from pfgen_rs.references.candidates import Input
from pfgen_rs.references.config import BuildConfig
from pfgen_rs.references.lengths import kept_number
from pfgen_rs.references.ng_rules import AnswerRules
from pfgen_rs.references.outlines import Outline
from pfgen_rs.references.pool import State

__all__ = ["gathering_key", "pool_key", "step_key"]

_DIGITS = 20  # 80 bits
_UNITLESS = ("normalise", "rules")


def gathering_key(
    config: BuildConfig,
    files: Sequence[tuple[str, int, int]],
    outlines: Sequence[Outline] | None,
    only: Sequence[str],
) -> str:
    """Returns the key of the candidates for `only` some questions in files (path, size, time)."""
    asked = None if outlines is None else [(each.question_id, each.question) for each in outlines]
    folder = str(config.folder.absolute())  # the inputs' names are relative to it
    return _step_digest([_gathering_settings(config), folder, files, asked, sorted(only)])


def pool_key(config: BuildConfig, inputs: Sequence[Input], outline: Outline) -> str:
    """Returns the key of the candidates of one question, by the contents of all files."""
    contents = [(each.sha1, each.candidates, each.left_out) for each in inputs]
    asked = (outline.question_id, outline.question)
    return _step_digest([_gathering_settings(config), contents, asked])


def step_key(
    before: str,
    step: str,
    config: BuildConfig,
    style: str,
    rules: AnswerRules | None,
    state: State,
) -> str:
    """Returns the key of a step by the key of the one before it.

    `style`: the digest of the style; `rules`: those of the question; `state`: what the step starts from.
    """
    settings: Any = asdict(getattr(config, step))
    if step == "normalise":
        settings = style
    elif step == "rules":
        settings = rules and rules.digest
    elif step == "length":
        settings = [config.seed, _length_key_settings(config, state)]
    elif step == "consensus":
        kept = _consensus_key_settings(config, state)
        settings = [config.seed, config.length.target, kept]
    elif step == "select":
        settings = [config.seed, settings]
    unit = None if step in _UNITLESS else config.unit
    examples = None if step == "select" else config.examples
    return _step_digest([before, step, unit, examples, settings])


def _gathering_settings(config: BuildConfig) -> list[Any]:
    tokens = config.unit == "token"
    return [
        _native.__version__,
        asdict(config.fields),
        config.source,
        config.per_source,
        config.skip_bad_lines,
        tokens,
    ]


def _length_key_settings(config: BuildConfig, state: State) -> Mapping[str, Any]:
    """Returns what the step depends on: without a deviation, how many answers to keep of each source.

    So another number to select only matters if it changes how many answers it needs.
    """
    settings, least = config.length, config.needed_after("length")
    if settings.deviation is not None:
        return {**asdict(settings), "at_least": least}
    return {
        "target": settings.target,
        "kept": {
            source: kept_number(int(own.sum()), settings.count, settings.share, None, least)
            for source, own in state.by_source().items()
        },
    }


def _consensus_key_settings(config: BuildConfig, state: State) -> Mapping[str, Any]:
    """Returns how many answers to keep of each source."""
    share, least = config.consensus.share, config.needed_after("consensus")
    heights = {source: int(own.sum()) for source, own in state.by_source().items()}
    return {
        source: kept_number(height, height, share, None, least)
        for source, height in heights.items()
    }


def _step_digest(parts: Sequence[Any]) -> str:
    content = json.dumps(parts, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(content.encode(errors="surrogatepass")).hexdigest()[:_DIGITS]
