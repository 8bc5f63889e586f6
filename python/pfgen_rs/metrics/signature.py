"""The signature of a score: one line that makes it reproducible."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, cast

from pfgen_rs import _native
from pfgen_rs.metrics.settings import SKIPPED, Settings
from pfgen_rs.metrics.units import Unit

_LEFT_OUT = "helpfulness:none"


def fixed_part() -> str:
    """Returns the part of every signature that depends only on the installed version."""
    return f"pfgen|v:{_native.__version__}"


def signature(
    set_hash: str,
    settings: Settings,
    *,
    answered: tuple[int, int] | None = None,
    answers: tuple[int, int] | None = None,
    clean: str | None = None,
    without: str | None = None,
) -> str:
    """Returns the signature of scores against the question set with the metadata hash `set_hash`.

    It always has the variant, the n-gram range and Truthfulness's n; other settings only if they differ from
    the published ones. `answered`: number of questions answered, and in the set; shown if they differ.
    `answers`: number of answers scored, and of the whole run, for partial results. `clean`: mode for which
    answers were cleaned before scoring. `without`: a mark of the reference answers that were left out.
    """
    parts = [
        "pfgen",
        f"set:{set_hash[:8]}",
        f"variant:{settings.variant}",
        f"n:{settings.min_n}-{settings.max_n}",
        f"t:{settings.truthfulness_n}",
        *_unusual(settings),
    ]
    if without is not None:
        parts.append(f"without:{without}")
    if clean is not None:
        parts.append(f"clean:{clean}")
    if answered is not None and answered[0] != answered[1]:
        parts.append(_answered_part(*answered))
    if answers is not None:
        parts.append(f"answers:{answers[0]}/{answers[1]}")
    return "|".join([*parts, f"v:{_native.__version__}"])


def has_helpfulness(result: Mapping[str, Any]) -> bool:
    """Whether Helpfulness is part of the averages of a published result."""
    return _LEFT_OUT not in result.get("signature", "").split("|")


def with_answered(signature: str, answered: int, asked: int) -> str:
    """Returns a benchmark's signature with the number of questions answered, if these are not all."""
    if answered == asked:
        return signature
    settings, version, number = signature.rpartition("|v:")
    return f"{settings}|{_answered_part(answered, asked)}{version}{number}"


def part_of(signature: str, name: str) -> str | None:
    """Returns what a signature says about `name`, such as `14/50` of `questions`; `None` if nothing."""
    parts = (part.partition(":") for part in signature.split("|"))
    return next((value for key, _, value in parts if key == name), None)


def lengths_in(signature: str) -> Settings:
    """Returns the published settings with the lengths and the unit of a signature, which may be empty."""
    names = ("target_length", "zero_length", "max_length")
    stated = (part_of(signature, "length") or "").split("-")
    lengths: dict[str, Any] = dict(zip(names, map(int, filter(None, stated)), strict=False))
    return Settings(unit=cast("Unit", part_of(signature, "unit") or "character"), **lengths)


def comparable(signature: str, clean: str | None) -> str:
    """Returns what runs must share: a run's signature without its numbers of questions and answers.

    `clean`: the modes for which answers were cleaned, for that of the run.
    """
    *parts, version = signature.split("|")
    own = ("clean", "questions", "answers")
    kept = [part for part in parts if part.partition(":")[0] not in own]
    return "|".join([*kept, *([] if clean is None else [f"clean:{clean}"]), version])


def _answered_part(answered: int, asked: int) -> str:
    return f"questions:{answered}/{asked}"


def _unusual(settings: Settings) -> list[str]:
    parts, usual = [], Settings()
    if settings.unit != usual.unit:
        parts.append(f"unit:{settings.unit}")
    if settings.threshold != usual.threshold:
        parts.append(f"threshold:{settings.threshold!r}")
    lengths = (settings.target_length, settings.zero_length, settings.max_length)
    if lengths != (usual.target_length, usual.zero_length, usual.max_length):
        parts.append("length:" + "-".join(map(str, lengths)))
    if set(settings.skipped) != set(SKIPPED):
        # The characters themselves could break the line, so a digest stands for them.
        digest = hashlib.sha256("".join(sorted(set(settings.skipped))).encode()).hexdigest()
        parts.append(f"skip:{digest[:8]}")
    if not settings.helpfulness:
        parts.append(_LEFT_OUT)
    if settings.summation != usual.summation:
        parts.append(f"sum:{settings.summation}")
    return parts
