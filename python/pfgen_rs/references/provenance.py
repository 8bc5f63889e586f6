"""The provenance of a set: all inputs, settings, counts and reasons, in one file next to it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import fmean
from typing import Any

from pfgen_rs import _native
from pfgen_rs.errors import OutputError
from pfgen_rs.metrics.units import Unit
from pfgen_rs.references.candidates import Input
from pfgen_rs.references.config import BuildConfig
from pfgen_rs.references.lengths import OFFICIAL_STD
from pfgen_rs.references.normalise import Style
from pfgen_rs.references.writing import BuiltQuestion, built_names

__all__ = [
    "mean_length",
    "model_counts",
    "provenance",
    "provenance_settings",
    "refuse_foreign",
]


def provenance_settings(config: BuildConfig) -> dict[str, Any]:
    """Returns all settings that affect the result, including defaults but without paths."""
    found = asdict(config)
    for key in ("folder", "out", "candidates", "questions"):
        del found[key]
    return found


def provenance(
    config: BuildConfig,
    style: Style,
    inputs: Sequence[Input],
    questions: Sequence[BuiltQuestion],
    warnings: Sequence[str],
) -> dict[str, Any]:
    """Returns the content of the file, without times and paths, so equal builds give equal bytes.

    `models` has all names of models once; the numbers of answers by model are lists in the same order.
    """
    names = sorted({name for each in questions for name in each.models})
    return {
        "name": config.name or Path(config.out).name,
        "pfgen_rs": _native.__version__,
        "settings": provenance_settings(config),
        "style": style.digest,
        "inputs": [asdict(each) for each in inputs],
        "warnings": warnings,
        "lengths": _length_provenance(config.unit, questions),
        "models": names,
        "questions": {
            each.outline.question_id: _question_provenance(each, names) for each in questions
        },
    }


def model_counts(provenance: Mapping[str, Any]) -> dict[str, list[dict[str, int]]]:
    """Returns the number of answers by model for each question: of the candidates, and after each step.

    Reads the content of the file as `provenance` returns it, and that of earlier versions, which repeated the
    names everywhere. Models without answers are left out.
    """
    names = provenance.get("models", [])

    def named(counts: Any) -> dict[str, int]:
        pairs = counts.items() if isinstance(counts, dict) else zip(names, counts, strict=True)
        return {name: count for name, count in pairs if count}

    return {
        question_id: [named(each["models"]) for each in (question, *question["steps"])]
        for question_id, question in provenance["questions"].items()
    }


def _question_provenance(question: BuiltQuestion, models: Sequence[str]) -> dict[str, Any]:
    def counted(counts: Mapping[str, int]) -> list[int]:
        return [counts.get(name, 0) for name in models]

    return {
        "question": question.outline.question,
        "candidates": question.candidates,
        "models": counted(question.models),
        "steps": [
            {**report.to_dict(), "models": counted(report.models)} for report in question.reports
        ],
        "answers": {source: len(answers) for source, answers in question.answers.items()},
        "lengths": {
            source: {"mean": each.mean, "std": each.std}
            for source, each in question.lengths.items()
        },
    }


def mean_length(questions: Sequence[BuiltQuestion]) -> float:
    """Returns the mean length in units over all questions and sources."""
    return fmean(each.mean for question in questions for each in question.lengths.values())


def _length_provenance(unit: Unit, questions: Sequence[BuiltQuestion]) -> dict[str, Any]:
    """Returns the means over all questions and sources, beside the spread of the published sets."""
    spreads = [each for question in questions for each in question.lengths.values()]
    found: dict[str, Any] = {
        name: fmean(getattr(each, name) for each in spreads) if spreads else None
        for name in ("mean", "std")
    }
    if unit == "character":
        names = ("smallest", "median", "largest")
        found["official_std"] = dict(zip(names, OFFICIAL_STD, strict=True))
    return found


def refuse_foreign(folder: Path, work: Path, only: Sequence[str]) -> None:
    """Raise `OutputError` if a set cannot or must not be written to `folder`.

    Question files that were not written by a build are never overwritten (unless the `work` folder shows
    that a build was interrupted), and building only some questions never removes the others.
    """
    _refuse_unwritable_provenance(folder)
    built = built_names(folder)
    if not work.is_dir():
        for path in sorted(folder.glob("Q*.json*")):
            if path.name not in built and path.with_suffix("").name not in built:
                raise OutputError(
                    f"{folder}: contains question files not written by pfgen-rs build (such as "
                    f"{path.name}): choose another folder"
                )
    others = sorted(built - {f"{question_id}.json" for question_id in only})
    if only and others:
        raise OutputError(
            f"{folder}: contains a set with other questions ({Path(others[0]).stem}, …), which building "
            "only some questions would remove: choose another folder (--out)"
        )


def _refuse_unwritable_provenance(folder: Path) -> None:
    """Raise `OutputError` before the work if its result could not be written."""
    if folder.exists() and not folder.is_dir():
        raise OutputError(f"{folder}: not a directory: choose another folder")
    for place in (folder, *folder.parents):
        if place.exists():
            if not os.access(place, os.W_OK | os.X_OK):
                raise OutputError(f"{place}: not writable: choose another folder")
            return
