"""What a build leaves: question files in the published format, and `provenance.json`.

The provenance has all inputs, settings, counts and reasons, without times and paths: equal builds give equal
bytes.
"""

import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

from pfgen_rs import BuildError, OutputError, _native
from pfgen_rs.install.store import PROVENANCE
from pfgen_rs.io.atomic import write_atomic
from pfgen_rs.io.text import counted
from pfgen_rs.metrics.languages import LANGUAGES, is_foreign
from pfgen_rs.metrics.settings import Settings, fitting_length, stated_settings
from pfgen_rs.metrics.units import Unit
from pfgen_rs.questions.about import STATED, About, Makers, indexed_makers
from pfgen_rs.questions.card import CARD, card, may_write
from pfgen_rs.questions.question import (
    combined_digest,
    content_bytes,
    file_digest,
    found_questions,
    lists_in_lines,
    question_of,
)
from pfgen_rs.references.candidates import LOG, Input
from pfgen_rs.references.config import BuildConfig, Outline
from pfgen_rs.references.lengths import OFFICIAL_STD, Spread
from pfgen_rs.references.steps import StepReport

NEARLY = 0.95
"""Share of the answers from which a step removes nearly all."""
_SHOWN = 3  # questions that an error or a warning shows
_SAMPLED = 10  # answers of a source to a question, whose scripts are looked at


@dataclass(frozen=True)
class BuiltQuestion:
    """A question, its number of candidates, what each step did, and its reference answers by source.

    `models`: the number of candidates by model. `lengths`: the spread of the answers' lengths by source.
    `makers`: the model of each reference answer by source, "" where the candidates name none.
    """

    outline: Outline
    candidates: int
    models: Mapping[str, int]
    reports: list[StepReport]
    answers: Mapping[str, Sequence[str]]
    lengths: Mapping[str, Spread]
    makers: Mapping[str, Sequence[str]]

    @property
    def written_by(self) -> tuple[list[str], Makers]:
        """The models that wrote the reference answers, and the index of each answer's one by source."""
        return indexed_makers(self.makers)

    @property
    def funnel(self) -> str:
        """The counts as one line: `7,000 candidates, normalise 3,120, rules 3,000`."""
        steps = [f"{report.step} {report.after:,}" for report in self.reports]
        return ", ".join([f"{self.candidates:,} candidates", *steps])

    @property
    def fewest(self) -> int:
        """The least number of answers that are left of a source."""
        return min(map(len, self.answers.values()), default=0)


def built_names(folder: Path) -> set[str]:
    """Returns the question files that an earlier build wrote to a folder, according to its provenance."""
    try:
        questions = json.loads((folder / PROVENANCE).read_bytes())["questions"]
        return {
            f"{question_id}.json"
            for question_id in questions
            if Path(question_id).name == question_id
        }
    except (OSError, ValueError, LookupError, TypeError):
        return set()


def write_set(
    folder: Path,
    questions: Sequence[BuiltQuestion],
    provenance: Mapping[str, Any],
    scoring: Mapping[str, Any] | None,
    about: About,
) -> None:
    """Write all files of a set atomically, and remove files of an earlier build that do not belong to it.

    The provenance is written last: if it matches the files in the folder, the set is complete. A README.md
    that is no card, or was changed, is kept.
    """
    contents = {
        f"{question.outline.question_id}.json": content_bytes(
            vars(question.outline), question.answers, scoring, about, *question.written_by
        )
        for question in questions
    }
    digests = (file_digest(contents[name]) for name in sorted(contents))
    provenance = {**provenance, "metadata_hash": combined_digest(digests)}
    earlier = built_names(folder)
    for name, content in contents.items():
        write_atomic(folder / name, content)
    for name in sorted(earlier - contents.keys()):
        (folder / name).unlink(missing_ok=True)
    if may_write(folder):
        made = [question_of(json.loads(content)) for content in contents.values()]
        settings = Settings(**(scoring or {}))
        write_atomic(folder / CARD, card(made, settings, provenance["metadata_hash"], provenance))
    else:
        LOG.warning("%s: was not written by a build, or was changed: kept", folder / CARD)
    text = json.dumps(provenance, ensure_ascii=False, indent=2)
    write_atomic(folder / PROVENANCE, f"{lists_in_lines(text)}\n".encode())


def provenance(
    config: BuildConfig,
    prepared: Mapping[str, Any],
    inputs: Sequence[Input],
    questions: Sequence[BuiltQuestion],
    warnings: Sequence[str],
) -> dict[str, Any]:
    """Returns the content of the file, without times and paths, so equal builds give equal bytes.

    `models` has all names of models once; the numbers of answers by model are lists in the same order.
    `model_scores`, too, if models were ranked; `models_left_out` are places in `models`.
    """
    names = sorted({name for each in questions for name in each.models})
    ranking: dict[str, Any] = {}
    if scores := prepared.get("ranking"):
        out = list(scores)[config.ranking.kept(scores) :]
        ranking["model_scores"] = [scores.get(name) for name in names]
        ranking["models_left_out"] = [names.index(name) for name in out if name in names]
    return {
        "name": config.name or Path(config.out).name,
        "pfgen_rs": _native.__version__,
        "settings": config.provenance(),
        "style": prepared["normalise"].digest,
        "inputs": [asdict(each) for each in inputs],
        "warnings": warnings,
        "lengths": _lengths(config.unit, questions),
        "models": names,
        "makers": _makers(config, questions),
        **ranking,
        "questions": {
            each.outline.question_id: _question_provenance(each, names) for each in questions
        },
    }


def _makers(config: BuildConfig, questions: Sequence[BuiltQuestion]) -> dict[str, Any]:
    """Returns what is known of each model that wrote reference answers, and how many."""
    counts = Counter(n for each in questions for own in each.makers.values() for n in own if n)
    return {n: {"answers": counts[n], **config.models.get(n, {})} for n in sorted(counts)}


def _question_provenance(question: BuiltQuestion, models: Sequence[str]) -> dict[str, Any]:
    def counted(counts: Mapping[str, int]) -> list[int]:
        return [counts.get(name, 0) for name in models]

    return {
        "question": question.outline.question,
        "candidates": question.candidates,
        "models": counted(question.models),
        "steps": [
            {**asdict(report), "models": counted(report.models)} for report in question.reports
        ],
        "answers": {source: len(answers) for source, answers in question.answers.items()},
        "lengths": {source: each._asdict() for source, each in question.lengths.items()},
    }


def _lengths(unit: Unit, questions: Sequence[BuiltQuestion]) -> dict[str, Any]:
    """Returns the means over all questions and sources, beside the spread of the published sets."""
    spreads = [each for question in questions for each in question.lengths.values()]
    columns = zip(*spreads, strict=True) if spreads else (None, None)
    means: dict[str, Any] = {
        name: values and fmean(values) for name, values in zip(Spread._fields, columns, strict=True)
    }
    if unit == "character":
        names = ("smallest", "median", "largest")
        means["official_std"] = dict(zip(names, OFFICIAL_STD, strict=True))
    return means


def refuse_foreign(folder: Path, work: Path, only: Sequence[str]) -> None:
    """Raise `OutputError` if a set cannot or must not be written to `folder`.

    Question files that were not written by a build are never overwritten (unless the `work` folder shows
    that a build was interrupted), and building only some questions never removes the others.
    """
    _refuse_unwritable(folder)
    built = built_names(folder)
    if not work.is_dir():
        for path in found_questions(folder):
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


def _refuse_unwritable(folder: Path) -> None:
    """Raise `OutputError` before the work if its result could not be written."""
    if folder.exists() and not folder.is_dir():
        raise OutputError(f"{folder}: not a directory: choose another folder")
    for place in (folder, *folder.parents):
        if place.exists():
            if not os.access(place, os.W_OK | os.X_OK):
                raise OutputError(f"{place}: not writable: choose another folder")
            return


@dataclass(frozen=True)
class Built:
    """A built set: its folder, its questions, the questions left without answers, and all inputs.

    `warnings`: sentences about steps that remove nothing or nearly all answers; they are also logged.
    """

    folder: Path
    questions: list[BuiltQuestion]
    left_out: list[BuiltQuestion]
    inputs: list[Input]
    warnings: list[str]


def finish_set(
    config: BuildConfig,
    prepared: Mapping[str, Any],
    inputs: Sequence[Input],
    built: Sequence[BuiltQuestion],
) -> Built:
    """Write the set, unless too few answers are left, which raises `BuildError`.

    `prepared`: the style under `normalise`, and the scores of models, if any, under `ranking`. Warnings are
    logged.
    """
    _refuse_fewer(config, built)
    left_out = [each for each in built if not each.answers]
    questions = [each for each in built if each.answers]
    if not questions:
        funnels = "; ".join(f"{each.outline.question_id}: {each.funnel}" for each in built[:_SHOWN])
        raise BuildError(f"no question has any answers left: {funnels}")
    warnings = [*_step_warnings(config, built), *_script_warnings(config, questions)]
    mean = fmean(each.mean for question in questions for each in question.lengths.values())
    target = fitting_length(mean, config.length.target)
    if target != config.length.target:
        warnings.append(
            f"the answers have a mean length of {mean:.1f}, far from {config.length.target} (length.target): "
            f"the length discount begins at {target} {config.unit}s instead"
        )
    unknown = config.models.keys() - {name for each in built for name in each.models}
    if unknown and not config.only:
        warnings.append(f"[models]: no candidate names {', '.join(map(repr, sorted(unknown)))}")
    settings = replace(Settings.for_length(target, config.unit), skipped=config.skipped)
    out, record = config.path(config.out), provenance(config, prepared, inputs, built, warnings)
    about = About(**{key: getattr(config, key) for key in STATED})
    write_set(out, questions, record, stated_settings(settings), about)
    for warning in warnings:
        LOG.warning(warning)
    return Built(out, questions, left_out, list(inputs), warnings)


def _script_warnings(config: BuildConfig, questions: Sequence[BuiltQuestion]) -> list[str]:
    """Returns a sentence if the answers are evidently not in the language of the set, or of its style."""
    key = "language" if config.language else "normalise.style"
    tag = config.language or (config.normalise.style if "normalise" in config.steps else "")
    found = LANGUAGES.get(tag.partition("-")[0].lower())
    if found is None or config.unit == "token":
        return []
    parts = (own[:_SAMPLED] for each in questions for own in each.answers.values())
    text = " ".join(answer for part in parts for answer in part)
    if not is_foreign(text, found):
        return []
    return [
        f"the answers are mostly in another script than {found.name}, which {key} = {tag!r} expects: set "
        f"language (one of {', '.join(LANGUAGES)}) to theirs"
    ]


def _refuse_fewer(config: BuildConfig, built: Sequence[BuiltQuestion]) -> None:
    fewer = {each.outline.question_id: each for each in built if each.fewest < config.wanted}
    if fewer and not config.allow_fewer:
        (first, question), *others = fewer.items()
        counts = {source: f"{len(own):,}" for source, own in question.answers.items()}
        left = ", ".join(f"{count} of source {source}" for source, count in counts.items())
        more = f" (also too few for {', '.join(name for name, _ in others)})" if others else ""
        raise BuildError(
            f"question {first}: {left or 'no answers'} left, expected {config.wanted:,}: "
            f"{question.funnel}{more}; add candidates, relax a step, or allow fewer answers "
            "(--allow-fewer): finished steps are reused"
        )


def _step_warnings(config: BuildConfig, built: Sequence[BuiltQuestion]) -> list[str]:
    """Returns a sentence for each step that removes nothing or nearly all answers to some questions."""
    concerned: dict[tuple[str, str], list[str]] = {}
    for question in built:
        for report in question.reports:
            step, removed = config.step(report.step), report.before - report.after
            if "remark" in report.details:
                said = tuple(report.details["remark"])
                concerned.setdefault(said, []).append(question.outline.question_id)
                continue
            if report.before and not step.expected(report):
                if not removed and step.no:
                    said = (f"{step.name} removes no answers", step.no)
                elif removed > NEARLY * report.before and step.nearly:
                    said = (f"{step.name} removes nearly all answers", step.nearly)
                else:
                    continue
                concerned.setdefault(said, []).append(question.outline.question_id)
    total = counted(len(built), "question")
    return [
        f"{what} to {len(ids)} of {total} ({', '.join(ids[:_SHOWN])}{', …' * (len(ids) > _SHOWN)}): {advice}"
        for (what, advice), ids in concerned.items()
    ]
