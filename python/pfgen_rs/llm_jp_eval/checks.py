"""What values of tasks and profiles must be, so that wrong files are refused before anything is asked."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from pfgen_rs.errors import InputError
from pfgen_rs.llm_jp_eval import measures
from pfgen_rs.llm_jp_eval.board_averages import TOTALS
from pfgen_rs.llm_jp_eval.reading import STEPS
from pfgen_rs.llm_jp_eval.registry import Profile, TaskInfo
from pfgen_rs.metrics.expressions import quietly

_PREFIX = re.compile(r"\A(?:lines|words):")
_FILE = re.compile(r"(?=.)(?:(?!\.\.?/)[A-Za-z0-9_.-]+/)*(?!\.\.?\Z)[A-Za-z0-9_.-]*")


def _groups(expression: str) -> int:
    """Returns the number of groups of a regular expression, -1 for what is none."""
    try:
        return quietly(re.compile, expression).groups
    except (re.error, RecursionError, OverflowError):
        return -1


def _metrics() -> set[str]:
    return {*measures.sample_metrics(), *measures.task_metrics()}


_RULES: Mapping[str, tuple[Callable[[Any], object], str]] = {
    "shots task_shots": (lambda own: own and min(own) >= 0, "list numbers of 0 or more"),
    "few_shots sampling": (lambda own: own >= 0, "be 0 or more"),
    "limit task_limits output_length": (lambda own: own > 0, "be 1 or more"),
    "weights": (lambda own: min(own.values(), default=1) > 0, "have numbers of 1 or more"),
    "reading task_reading": (lambda own: {*own} <= {*STEPS}, f"list some of {', '.join(STEPS)}"),
    "metrics": (lambda own: own and {*own} <= _metrics(), "list names of metrics"),
    "computed": (lambda own: own in _metrics(), "be the name of a metric"),
    "categories averages groups": (len, "have a member"),
    "control": (lambda own: _groups(_PREFIX.sub("", own)) >= 0, "be a regular expression"),
    "cluster": (lambda own: _groups(own) > 0, "be a regular expression with a group"),
    "source": (lambda own: all(map(_FILE.fullmatch, own.files)), "have plain names in 'files'"),
}
"""What values must be, by their keys."""


def check(made: TaskInfo | Profile) -> None:
    """Raises `InputError` with the first key of a task or a profile whose value makes no sense."""
    for keys, (fits, expected) in _RULES.items():
        for key in keys.split():
            own = getattr(made, key, None)
            for name, value in own.items() if isinstance(own, Mapping) else [("", own)]:
                if value is not None and not fits(value):
                    place = f"{key}.{name}".rstrip(".")
                    raise InputError(f"{place!r} must {expected}, not {value!r:.60}")
    if isinstance(made, Profile):
        _check_names(made)


def _check_names(profile: Profile) -> None:
    """Raises `InputError` with the first name in a profile that stands for nothing."""
    nejumi, table = profile.averaging == "nejumi", profile.averages
    if nejumi and not (profile.control and {*TOTALS} <= {*table}):
        raise InputError(f"lacks 'control', or 'averages' of {', '.join(TOTALS)}, as nejumi has")
    metrics = tuple(f"_{name}" for name in _metrics())
    for name, scores in () if nejumi else profile.categories.items():
        if odd := [each for each in scores if not each.endswith(metrics)]:
            raise InputError(f"'categories.{name}' has {odd[0]!r}: expected TASK_METRIC")
    known = [*profile.categories, *table]
    rows = [(f"averages.{n}", each, known[: known.index(n)]) for n, each in table.items()]
    rows.append(("weights", tuple(profile.weights), [*table]))
    rows.append(("average", (profile.average,), ["", *table]))
    rows.append(("sampling", tuple(profile.sampling), ["temperature", "top_p"]))
    for place, names, there in rows:
        if odd := [name for name in names if name not in there]:
            expected = ", ".join(filter(None, there)) or "a name of 'categories' or 'averages'"
            raise InputError(f"{place!r} has the unknown name {odd[0]!r}: expected {expected}")
