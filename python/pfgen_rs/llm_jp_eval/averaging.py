"""Values of categories, averages over categories, and scores as text."""

from collections.abc import Iterable, Mapping

from pfgen_rs.llm_jp_eval.measures import mean, score_metrics
from pfgen_rs.llm_jp_eval.registry import DEFAULT, find_profile, tasks

CATEGORIES = ("NLI", "QA", "RC", "MC", "EL", "FA", "MR", "STS")
"""Categories in the order of the paper's tables; STS is in no average."""

AVERAGED: Mapping[str, tuple[str, ...]] = find_profile(DEFAULT).categories
"""The scores of which each category is the mean. The first seven categories are the paper's."""

AVERAGES: Mapping[str, tuple[str, ...]] = find_profile(DEFAULT).averages
"""The categories of which each average is the mean: the paper's seven, and the nine of version 1.3.0."""


def categories() -> list[str]:
    """Returns all categories of tasks, those of the paper first."""
    return list(dict.fromkeys([*CATEGORIES, *(each.category for each in tasks().values())]))


def averages(scores: Mapping[str, float]) -> dict[str, float]:
    """Returns the values of the nine categories, `AVG` and `AVR`.

    `scores`: values by `{task}_{metric}`, such as `jamp_exact_match`; others than those averaged are ignored.
    A category is the mean of its tasks that were run, 0.0 without any. `AVG` (v1.3.0) is the mean of all nine
    categories, `AVR` (the paper) that of the first seven, so both count categories that were not run as 0.0.
    """
    known = {name: [scores[p] for p in parts if p in scores] for name, parts in AVERAGED.items()}
    values = {name: mean(own) if own else 0.0 for name, own in known.items()}
    means = {name: mean([values[each] for each in parts]) for name, parts in AVERAGES.items()}
    return {**values, "AVG": means["AVG"], "AVR": means["AVR"]}


def lacking_categories(average: str, scores: Iterable[str]) -> list[str]:
    """Returns the categories of an average that have none of these scores, by `{task}_{metric}`."""
    names = set(scores)
    return [each for each in AVERAGES[average] if names.isdisjoint(AVERAGED[each])]


def split_score(name: str, known: Iterable[str]) -> tuple[str, str]:
    """Returns task and metric of a score, `{task}_{metric}`, both of which may have underscores.

    `known`: names of tasks, of which the longest that fits is the task. The metric is empty for what is no
    score of a task, such as a category.
    """
    fitting = [task for task in known if name.startswith(f"{task}_")]
    if fitting:
        task = max(fitting, key=len)
        return task, name[len(task) + 1 :]
    for metric in score_metrics():
        if name.endswith(f"_{metric}"):
            return name.removesuffix(f"_{metric}"), metric
    task, _, metric = name.partition("_")
    return task, metric


def same_score(value: float, stated: float) -> bool:
    """Whether a value is the one that is stated, to the four decimals that are printed."""
    return f"{value:.4f}" == f"{stated:.4f}"


def score_texts(scores: Mapping[str, float], *, with_averages: bool = False) -> dict[str, str]:
    """Returns scores as the reference writes them: four decimals, keys sorted by code point.

    `with_averages`: adds the nine categories and `AVG`, as the reference does where all tasks were asked for.
    """
    shown = dict(scores)
    if with_averages:
        shown |= averages(scores)
        del shown["AVR"]
    return {name: f"{shown[name]:.4f}" for name in sorted(shown)}
