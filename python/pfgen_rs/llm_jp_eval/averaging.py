"""Values of categories, averages over categories, and scores as text."""

from collections.abc import Iterable, Mapping
from typing import Any

from pfgen_rs.llm_jp_eval import board_averages
from pfgen_rs.llm_jp_eval.measures import sample_metrics, task_metrics
from pfgen_rs.llm_jp_eval.registry import DEFAULT, find_profile, tasks

CATEGORIES = ("NLI", "QA", "RC", "MC", "EL", "FA", "MR", "STS")
"""Categories in the order of the paper's tables; STS is in no average."""


def categories() -> list[str]:
    """Returns all categories of tasks, those of the paper first."""
    return list(dict.fromkeys([*CATEGORIES, *(each.category for each in tasks().values())]))


def averages(scores: Mapping[str, float]) -> dict[str, float]:
    """Returns the values of the nine categories, `AVG` and `AVR`.

    `scores`: values by `{task}_{metric}`, such as `jamp_exact_match`; others than those averaged are ignored.
    A category is the mean of its tasks that were run, 0.0 without any. `AVG` (v1.3.0) is the mean of all nine
    categories, `AVR` (the paper) that of the first seven, so both count categories that were not run as 0.0.
    """
    board = find_profile(DEFAULT)
    values = board_averages.means(board, scores)
    return {name: values[name] or 0.0 for name in (*board.categories, "AVG", "AVR")}


def lacking_categories(average: str, scores: Iterable[str], profile: str = DEFAULT) -> list[str]:
    """Returns the categories of an average that have none of these scores, by `{task}_{metric}`."""
    names, chosen = set(scores), find_profile(profile)
    members = chosen.averages[average]
    return [each for each in members if names.isdisjoint(chosen.categories.get(each, ()))]


def shown_averages(profile: str, found: Mapping[str, Any]) -> dict[str, float]:
    """Returns the averages of a profile that say something, by the name to show them under.

    `found`: what `scores.json` says of the profile. Averages of which everything is missing, or a part whose
    place 0.0 takes, are left out; those that leave out what is missing are called partial.
    """
    board, values = find_profile(profile), dict(found["averages"])
    if board.averaging == "means":
        for name, members in board.categories.items():
            if not {*members} & {*found["scores"]}:
                values.pop(name, None)
        for name in board.averages if board.lacking is not None else ():
            if lacking_categories(name, found["scores"], profile):
                values.pop(name, None)
    tasks = {task for task, _ in (split_score(s, board.tasks) for s in found["scores"])}
    return {
        f"{name} (partial)" if name in found["partial"] else name: value
        for name, value in values.items()
        if name in board.groups or name.partition("_")[0] not in tasks
    }


def side_by_side(
    profiles: Mapping[str, Mapping[str, Any]],
) -> tuple[dict[str, dict[str, float]], dict[str, dict[str, float]]]:
    """Returns scores and averages by name, each by profile; `profiles` as `scores.json` has them.

    A profile that asks with several numbers of examples has scores under as many names (`nejumi4 2-shot`).
    """
    scores: dict[str, dict[str, float]] = {}
    means: dict[str, dict[str, float]] = {}
    for profile, found in profiles.items():
        for name, value in found["scores"].items():
            task, _, rest = name.partition("@")
            shots, _, metric = rest.partition("_")
            column = f"{profile} {shots}-shot" if rest else profile
            scores.setdefault(f"{task}_{metric}" if rest else name, {})[column] = value
        for name, value in shown_averages(profile, found).items():
            means.setdefault(name, {})[profile] = value
    return scores, means


def split_score(name: str, known: Iterable[str]) -> tuple[str, str]:
    """Returns task and metric of a score, `{task}_{metric}`, both of which may have underscores.

    `known`: names of tasks, of which the longest that fits is the task. The metric is empty for what is no
    score of a task, such as a category.
    """
    fitting = [task for task in known if name.startswith(f"{task}_")]
    if fitting:
        task = max(fitting, key=len)
        return task, name[len(task) + 1 :]
    for metric in (*sample_metrics(), *task_metrics()):
        if name.endswith(f"_{metric}"):
            return name.removesuffix(f"_{metric}"), metric
    task, _, metric = name.partition("_")
    return task, metric


def same_score(value: float, stated: float) -> bool:
    """Whether a value is the one that is stated, to the four decimals that are printed."""
    return f"{value:.4f}" == f"{stated:.4f}"


def score_texts(
    scores: Mapping[str, float], averages: Mapping[str, float] | None = None
) -> dict[str, str]:
    """Returns scores as the reference writes them: four decimals, keys sorted by code point.

    `averages`: of the same scores, of which the reference does not have the paper's, `AVR`.
    """
    shown = {**scores, **(averages or {})}
    return {name: f"{shown[name]:.4f}" for name in sorted(shown) if name != "AVR"}
