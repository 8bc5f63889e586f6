"""What boards make of outputs: values of samples and tasks, and averages, by profile."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from pfgen_rs.errors import InputError, SettingsError
from pfgen_rs.lazy import pl
from pfgen_rs.llm_jp_eval import board_averages, measures
from pfgen_rs.llm_jp_eval.evaluation_files import TaskData
from pfgen_rs.llm_jp_eval.reading import prediction
from pfgen_rs.llm_jp_eval.registry import Profile, find_profile, find_task, of_task
from pfgen_rs.stats.means import kahan_mean

VARIANTS = ("jmmlu_SymbolChoice", "jmmlu_IncorrectChoice")
"""Tasks made of jmmlu's samples, whose answers must say the same as those to jmmlu."""
SYMBOLS = dict(zip("ABCD", "$&#@", strict=True))
INCORRECT = {label: ",".join(each for each in SYMBOLS if each != label) for label in SYMBOLS}

_TABLE = re.compile("(score|control|jmmlu_robust)_[0-9]+shot|external")
_AGREEMENT = {3: 1.0, 1: 0.5, 0: 0.0}
"""Robustness by the number of equal pairs of three answers."""


def profile_value(
    profile: str,
    task: str,
    gold: str | Sequence[str],
    output: str | Sequence[str],
    *,
    metric: str | None = None,
    shots: int = 0,  # noqa: ARG001
) -> float:
    """Returns the value that a board gives to an output, unrounded.

    `gold`: as it stands in the file. `output`: as the model wrote it. `metric`: by default the task's in this
    profile. Metrics of a whole task take lists of both: `pearson`, `spearman`, `balanced_accuracy`,
    `mean:{metric}`, and `robustness` of one sample (outputs for jmmlu, SymbolChoice and IncorrectChoice;
    golds play no part). `shots`: number of examples; no board scores by it.

    Raises `SettingsError` for unknown names and metrics that the board does not have, `InputError` for golds
    that are no numbers where a metric needs them, and for texts instead of lists or the reverse.
    """
    chosen = find_profile(profile)
    name = metric or main_metric(profile, task)
    if name == "robustness":
        tasks = ("jmmlu", *VARIANTS)
        if isinstance(output, str) or len(output) != len(tasks):
            raise InputError(f"{name} takes three outputs: of {', '.join(tasks)}")
        measures.check_types(output, "invalid outputs: ")
        return robustness(*map(prediction, output, (profile,) * len(tasks), tasks))
    kind, _, of = name.rpartition(":")
    computed = computed_as(chosen, of)
    is_figure = not kind and computed in measures.task_metrics()
    texts: Any = output if kind or is_figure else [output]
    expected: Any = gold if kind or is_figure else [gold]
    measures.check_texts(texts, expected)
    predictions = [prediction(text, profile, task) for text in texts]
    golds = [measures.normalized_gold(text) for text in expected]
    if is_figure:
        return measures.task_figure(computed, predictions, golds)
    if kind not in ("", "mean"):
        raise SettingsError(f"unknown metric {name!r}: expected one such as mean:exact_match")
    value = measures.find_metric(computed).value
    return board_averages.MEANS[chosen.mean](list(map(value, predictions, golds)))


def profile_averages(profile: str, values: Mapping[str, Any]) -> dict[str, float | None]:
    """Returns a board's averages of scores, unrounded; `None` for one that has no member.

    `values`: scores by `{task}_{metric}`, alone or under `scores`. `swallow` takes beside `scores` the counts
    of JMMLU (`jmmlu_counts`: hits and samples by subject) and pairs of gold and prediction by NLI task
    (`nli_records`), see `board_averages.swallow`; `nejumi4` takes tables by number of examples instead, see
    `board_averages.nejumi`. What is missing is left out as the board leaves it out.

    Raises `SettingsError` for unknown profiles, `InputError` for values that are not those of the profile.
    """
    chosen = find_profile(profile)
    nejumi = chosen.averaging == "nejumi"
    own = values.get("scores", values) if isinstance(values, Mapping) else {"values": values}
    for name, value in own.items():
        if not (_TABLE.fullmatch(name) if nejumi else isinstance(value, int | float)):
            expected = "a table such as score_0shot" if nejumi else "a number"
            raise InputError(f"expected {expected}, not {name!r} with {value!r:.60}")
    return board_averages.AVERAGINGS[chosen.averaging](chosen, values)


def main_metric(profile: str, task: str) -> str:
    """Returns a task's first metric in a profile. Raises `SettingsError` for unknown tasks."""
    own = of_task(find_profile(profile).metrics, task, ())
    return own[0] if own else find_task(task).metrics[0]


def metrics_of(profile: Profile, data: TaskData) -> tuple[str, ...]:
    """Returns the metrics of a task in a profile: its own, or those that the task's file states."""
    return of_task(profile.metrics, data.task, data.metrics)


def computed_as(profile: Profile, metric: str) -> str:
    """Returns the metric that a profile computes under this name. Raises `SettingsError` for refused ones."""
    if metric in profile.refused:
        raise SettingsError(f"the profile {profile.name!r} has no {metric}")
    return profile.computed.get(metric, metric)


def controlled(profile: str, task: str, text: str) -> bool | None:
    """Whether a prediction has the form that a board demands of the task's; `None` without a demand."""
    form = of_task(find_profile(profile).control, task, "")
    if not form:
        return None
    if form == "float":
        return measures.is_float(text)
    kind, _, rest = form.partition(":")
    if kind == "lines":
        return all(re.match(rest, line) for line in text.split("\n"))
    if kind == "words":
        return all(re.match(rest, word) for word in text.split())
    return re.fullmatch(form, text) is not None


def robustness(plain: str, symbol: str, incorrect: str) -> float:
    """Returns how far predictions for jmmlu and its two variants say the same: 1.0, 0.5 or 0.0."""
    labels = {text: label for forms in (SYMBOLS, INCORRECT) for label, text in forms.items()}
    own = {value: key for key, value in SYMBOLS.items()}
    a, b = plain, own.get(symbol, symbol)
    c = labels.get(incorrect, incorrect)
    return _AGREEMENT[(a == b) + (b == c) + (a == c)]


def board_values(
    profile: Profile, frame: pl.DataFrame, scores: Mapping[str, float]
) -> dict[str, Any]:
    """Returns what a profile's averages are made of (see `profile_averages`).

    `frame`: a row a sample, as `scoring.Evaluation` has it; tasks are called `jamp@2` where a profile asks
    with several numbers of examples. Time is linear in its rows.
    """
    if profile.averaging == "means":
        return {"scores": scores}
    rows = {str(name): own for (name,), own in frame.group_by("task", maintain_order=True)}
    if profile.averaging == "swallow":
        nli = board_averages.nli_tasks(profile)
        pairs = {
            t: list(zip(rows[t]["gold"], rows[t]["pred"], strict=True)) for t in nli if t in rows
        }
        known = rows.get("jmmlu")
        hits = {} if known is None else {"jmmlu": [int(known["value"].sum()), len(known)]}
        return {"scores": scores, "nli_records": pairs, "jmmlu_counts": hits}
    found: dict[str, Any] = {}
    for name, own in rows.items():
        task, _, shots = name.partition("@")
        for kind, column in (("score", "value"), ("control", "control")):
            values = own[column].drop_nulls()
            if len(values):
                table = found.setdefault(f"{kind}_{shots}shot", {})
                table[task] = kahan_mean(values.to_list())
        if task == "jmmlu" and all(f"{each}@{shots}" in rows for each in VARIANTS):
            texts = (rows[f"{each}@{shots}"]["pred"] for each in (task, *VARIANTS))
            agreement = [robustness(*each) for each in zip(*texts, strict=True)]
            found[f"jmmlu_robust_{shots}shot"] = kahan_mean(agreement)
    return found
