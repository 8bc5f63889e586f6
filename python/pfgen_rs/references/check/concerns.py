"""Warnings about single questions of a reference set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from pfgen_rs.metrics.settings import Settings
from pfgen_rs.references.lengths import OFF_TARGET, OFFICIAL_STD, is_off_target

__all__ = ["LIMITS", "concerns_about"]

Found = Mapping[str, list[dict[str, Any]]]

# Thresholds for warnings. The published set is well within most of them.
LIMITS: dict[str, float] = {
    "answers": 100,  # per source; with fewer, single answers determine what is common
    "repeated": 0.01,  # share of the answers
    "near": 0.05,  # share of texts in pairs of near-duplicates
    "off_target": OFF_TARGET,
    "length_std": 8,  # units
    "own": 0.9,  # mean of Fluency and Truthfulness against the others of the source
    "agreement": 0.7,  # the same against another source
    "note": 0.7,  # Truthfulness of the example answer
}
_SHOWN = 40


def concerns_about(found: Found, settings: Settings, backtracking: Mapping[str, str]) -> list[str]:
    """Returns the warnings about one question; `found` holds its rows of all tables.

    `backtracking`: the regular expressions that only Python can match, with the places of their rules.
    """
    return list(
        chain(
            _concern_about_copies(found),
            _concern_about_lengths(found, settings),
            _concern_about_sources(found),
            _concern_about_note(found),
            _other_concerns(found),
            _concern_about_expressions(backtracking),
        )
    )


def _concern_about_copies(found: Found) -> Iterator[str]:
    [copies] = found["near_duplicates"]
    repeated = copies["answers"] - copies["distinct"]
    if repeated > LIMITS["repeated"] * copies["answers"]:
        yield f"{repeated} of {copies['answers']} answers are exact duplicates of others"
    if copies["in_near_pairs"] > LIMITS["near"] * copies["distinct"]:
        yield f"{copies['in_near_pairs']} of {copies['distinct']} texts are nearly identical to another"


def _concern_about_lengths(found: Found, settings: Settings) -> Iterator[str]:
    for row in found["lengths"]:
        source = _source_in_concern(row["source"])
        if row["answers"] < LIMITS["answers"]:
            yield f"source {source} has only {_concern_count(row['answers'], 'answer')}"
        if is_off_target(row["mean"], settings.target_length):
            yield (
                f"answers of source {source} have a mean length of {row['mean']:.1f}, "
                f"far from {settings.target_length}"
            )
        if row["std"] > LIMITS["length_std"]:
            yield (
                f"lengths of the answers of source {source} vary by ±{row['std']:.1f}"
                f"{_official_lengths_in_concern(settings)}"
            )


def _concern_about_sources(found: Found) -> Iterator[str]:
    for row in found["sources"]:
        source, against, both = (
            _source_in_concern(row["source"]),
            _source_in_concern(row["against"]),
            row["both"],
        )
        if both is None:
            continue
        if source == against and both < LIMITS["own"]:
            yield f"answers of source {source} score only {both:.2f} against the others of that source"
        if source != against and both < LIMITS["agreement"]:
            yield f"answers of source {source} score only {both:.2f} against source {against}"


def _concern_about_note(found: Found) -> Iterator[str]:
    note = found["coverage"][0]
    if not note["length"]:
        yield "no example answer"
        return
    if note["truthfulness"] < LIMITS["note"]:
        yield f"the set hardly covers the example answer (Truthfulness {note['truthfulness']:.2f})"
    if not note["helpfulness"]:
        yield "the example answer satisfies too few keyword rules (Helpfulness 0)"


def _other_concerns(found: Found) -> Iterator[str]:
    for row in found["rules"]:
        if row["remark"] == "hardly any" and row["rule"] is not None:
            yield f"only {row['share']:.0%} of answers satisfy the rule {_source_in_concern(row['label'])}"
    verbatim = sum(row["verbatim"] for row in found.get("contamination", []))
    if verbatim:
        occur = "occurs" if verbatim == 1 else "occur"
        yield f"{_concern_count(verbatim, 'answer')} of runs {occur} verbatim in the set"


def _concern_about_expressions(backtracking: Mapping[str, str]) -> Iterator[str]:
    for pattern, place in backtracking.items():
        yield (
            f"{place}: the regular expression {_source_in_concern(pattern)} is matched by Python, slowly and "
            "with a time limit, because of flags, lookaround, \\b, backreferences or the like"
        )


def _official_lengths_in_concern(settings: Settings) -> str:
    least, _, most = OFFICIAL_STD
    known = settings.unit == "character"
    return f" (published sets: ±{least} to ±{most})" if known else ""


def _source_in_concern(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")


def _concern_count(count: int, thing: str) -> str:
    return f"{count} {thing}{'' if count == 1 else 's'}"
