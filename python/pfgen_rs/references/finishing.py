"""What begins and ends every build: the configured rules, and the files of what was built."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pfgen_rs.errors import BuildError, ConfigError
from pfgen_rs.metrics.settings import STATED, Settings
from pfgen_rs.references import provenance
from pfgen_rs.references.candidates import Input
from pfgen_rs.references.config import LONGEST, BuildConfig
from pfgen_rs.references.funnel import funnel
from pfgen_rs.references.lengths import is_off_target
from pfgen_rs.references.ng_rules import AnswerRules, read_answer_rules
from pfgen_rs.references.normalise import Style
from pfgen_rs.references.outlines import Outline
from pfgen_rs.references.pool import State
from pfgen_rs.references.step_warnings import step_warnings
from pfgen_rs.references.writing import BuiltQuestion, write_set

__all__ = [
    "Built",
    "answers_by_source",
    "configured_rules",
    "configured_style",
    "finish_set",
    "refuse_unknown_rules",
]

_FUNNELS = 3  # questions whose funnels an error shows


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


def configured_style(config: BuildConfig) -> Style:
    """Returns the style that a configuration describes; raises `ConfigError`."""
    files = [config.path(name) for name in config.normalise.extra]
    return Style.standard(files, config.normalise.without)


def configured_rules(config: BuildConfig) -> dict[str, AnswerRules]:
    """Returns the rules of a configuration by question id, none without that step; raises `ConfigError`."""
    if config.rules.file and "rules" in config.steps:
        return read_answer_rules(config.path(config.rules.file))
    return {}


def refuse_unknown_rules(
    config: BuildConfig, rules: Mapping[str, AnswerRules], outlines: Sequence[Outline]
) -> None:
    """Raise `ConfigError` if there are rules for a question that is not there."""
    known = [outline.question_id for outline in outlines]
    unknown = sorted(rules.keys() - set(known))
    if unknown and not config.only:
        raise ConfigError(
            f"unknown question {unknown[0]!r}: expected one of {', '.join(known)}",
            path=config.path(config.rules.file),
        )


def answers_by_source(state: State) -> dict[str, list[str]]:
    """Returns the remaining answers by source, in the order of the candidates."""
    found: dict[str, list[str]] = {}
    for frame in state.frames("answer", "source"):
        for (source,), rows in frame.group_by("source", maintain_order=True):
            found.setdefault(str(source), []).extend(rows.get_column("answer").to_list())
    return dict(sorted(found.items()))


def finish_set(
    config: BuildConfig, style: Style, inputs: Sequence[Input], built: Sequence[BuiltQuestion]
) -> Built:
    """Write the set, unless too few answers are left, which raises `BuildError`."""
    _refuse_fewer_built(config, built)
    left_out = [each for each in built if not each.answers]
    questions = [each for each in built if each.answers]
    if not questions:
        raise BuildError(f"no question has any answers left: {_built_funnels(built)}")
    warnings = step_warnings({each.outline.question_id: each.reports for each in built})
    target, mean = config.length.target, provenance.mean_length(questions)
    if is_off_target(mean, target):
        target = min(max(round(mean), 1), LONGEST)
        warnings.append(
            f"the answers have a mean length of {mean:.1f}, far from {config.length.target} (length.target): "
            f"the set is scored as one of {target} {config.unit}s"
        )
    out, settings = config.path(config.out), Settings.for_length(target, config.unit)
    stated = None if settings == Settings() else {name: getattr(settings, name) for name in STATED}
    record = provenance.provenance(config, style, inputs, built, warnings)
    write_set(out, questions, record, stated)
    return Built(out, questions, left_out, list(inputs), warnings)


def _refuse_fewer_built(config: BuildConfig, built: Sequence[BuiltQuestion]) -> None:
    if config.allow_fewer:
        return
    wanted = config.wanted
    few = [
        question
        for question in built
        if min(map(len, question.answers.values()), default=0) < wanted
    ]
    if few:
        others = [question.outline.question_id for question in few[1:]]
        more = f" (also too few for {', '.join(others)})" if others else ""
        raise BuildError(
            f"question {few[0].outline.question_id}: {_built_answers_left(few[0])} left, "
            f"expected {wanted:,}: {funnel(few[0].candidates, few[0].reports)}{more}; add candidates, "
            "relax a step, or allow fewer answers (--allow-fewer); --resume reuses the finished steps"
        )


def _built_funnels(built: Sequence[BuiltQuestion]) -> str:
    """Returns the funnels of the first few questions."""
    lines = [
        f"{each.outline.question_id}: {funnel(each.candidates, each.reports)}"
        for each in built[:_FUNNELS]
    ]
    return "; ".join(lines) + "; …" * (len(built) > _FUNNELS)


def _built_answers_left(question: BuiltQuestion) -> str:
    counts = {source: len(answers) for source, answers in question.answers.items()}
    if len(counts) < 2:
        return next((f"{count:,}" for count in counts.values()), "no answers")
    return ", ".join(f"{count:,} of source {name}" for name, count in counts.items())
